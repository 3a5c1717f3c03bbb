#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Test of make demo: some seconds of it, in its virtual machine. Prints TAP; takes half a
minute.

Seen to fail: a name that tests/lab/blocks.py no longer has.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import taptest  # noqa: E402


class Demo(unittest.TestCase):
    """What it promises: a table, a picture, a verdict, numbers."""

    def test_short(self):
        """A run too short for the numbers promised of the full one."""
        modules = [name for name in os.listdir(taptest.BUILD) if name.startswith("kernel-")] \
            if os.path.isdir(taptest.BUILD) else []
        if not modules:
            self.skipTest("no modules in %s (make modules)" % taptest.BUILD)
        with tempfile.TemporaryDirectory() as folder:
            # its results are not those of a demo that someone ran
            os.makedirs(os.path.join(taptest.BUILD, "lab"), exist_ok=True)
            os.symlink(os.path.join(taptest.BUILD, "lab"), os.path.join(folder, "lab"))
            for name in modules:
                os.symlink(os.path.join(taptest.BUILD, name), os.path.join(folder, name))
            done = subprocess.run([os.path.join(taptest.TOP, "tools", "demo"), "--build", folder,
                                   "RUNTIME_S=3"], check=False, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            self.assertIn("verdict: the scan got", done.stdout)
            demo = os.path.join(folder, "demo")
            with open(os.path.join(demo, "summary.json"), encoding="ascii") as file:
                found = json.load(file)
            self.assertGreater(os.path.getsize(os.path.join(demo, "demo.png")), 10000)
        self.assertEqual(found["blocks_wrong"], 0)
        self.assertGreater(found["blocks_delivered"], 1000)
        self.assertGreater(found["free_mb_s"], 4)
        self.assertLessEqual(found["max_at_device"], 2)


if __name__ == "__main__":
    taptest.main()
