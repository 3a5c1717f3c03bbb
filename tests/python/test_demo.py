# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""Test of make demo: some seconds of both acts, in their virtual machines. Takes a minute.

Seen to fail: a name that tests/lab/blocks.py no longer has; the disk of today without its model.
"""

import json
import os
import subprocess
import tempfile
import unittest

import taptest
from bench import modern


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
            self.assertRegex(done.stdout, r"a disk of 16 TB that is half busy is scanned in \d")
            demo = os.path.join(folder, "demo")
            with open(os.path.join(demo, "summary.json"), encoding="ascii") as file:
                found = json.load(file)
            self.assertGreater(os.path.getsize(os.path.join(demo, "demo.png")), 10000)
        self.assertEqual(found["blocks_wrong"], 0)
        self.assertGreater(found["blocks_delivered"], 1000)
        self.assertGreater(found["free_mb_s"], 4)
        self.assertLessEqual(found["max_at_device"], 2)
        today = found["modern"]
        self.assertEqual(today["errors"], 0)
        # six seconds, of which it learns the first: a tenth of what a minute brings
        for name in ("scan_mb_s", "once_mb_s", "free_mb_s", "peer_mb_s"):
            self.assertGreater(today[name], 1, name)
        self.assertAlmostEqual(today["days_per_pass"], 16e12 / 86400e6 / today["free_mb_s"],
                               delta=0.1)

    def test_refused(self):
        """Settings that the module would not take are refused before a machine starts. Seen to
        fail: a policy that there is not; a conservatism above the module's most."""
        for word in ("POLICY=best", "POLICY=", "CONSERVATISM_US=10001", "CONSERVATISM_US=-1",
                     "SEED=0", "RUNTIME_S=x", "DRIVE=none", "NOISE=loud", "MODERN=2", "DRIFT=1"):
            done = subprocess.run([os.path.join(taptest.TOP, "tools", "demo"), "--build",
                                   "/dev/null/x", word], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            for part in word.split("=")[:1 if word.startswith("DRIFT") else 2]:
                self.assertIn(part, done.stderr)


class Modern(unittest.TestCase):
    """What is made of the runs of the disk of today."""

    @staticmethod
    def rows(scan=60, read_ms=10.5):
        """Five rows, all alike but for what is told."""
        row = {"bg_mb_s": 0, "reads_mean_ms": 10.0, "reads_p99_ms": 40.0, "writes_mean_ms": 0.1,
               "drive_busy_pct": 50, "late_pm": 0, "errors": 0}
        return [row, row | {"bg_mb_s": 50, "reads_mean_ms": 13}, row | {"bg_mb_s": 61},
                row | {"bg_mb_s": scan},
                row | {"bg_mb_s": 25, "reads_mean_ms": read_ms}]

    def test_summary(self):
        """Against mq-deadline alone. Seen to fail: against the idle class."""
        said = modern.summarize(self.rows())
        self.assertEqual((said["free_mb_s"], said["scan_mb_s"], said["peer_mb_s"]), (25, 60, 50))
        self.assertEqual((said["read_mean_pct"], said["peer_read_mean_pct"]), (5, 30))
        self.assertEqual(said["days_per_pass"], 7.41)
        self.assertEqual(modern.faults(said), [])

    def test_faults(self):
        """Each limit. Seen to fail: none of them looked at."""
        for change, words in (({"scan": 40}, "the scan of .* less than"),
                              ({"read_ms": 11.2}, "take 12.0 % longer")):
            faults = modern.faults(modern.summarize(self.rows(**change)))
            self.assertEqual(len(faults), 1)
            self.assertRegex(faults[0], words)
        rows = self.rows()
        rows[4] = rows[4] | {"bg_mb_s": 3, "errors": 2}
        self.assertEqual(len(modern.faults(modern.summarize(rows))), 2)
        rows[4] = rows[4] | {"bg_mb_s": 0}
        self.assertIsNone(modern.summarize(rows)["days_per_pass"])
