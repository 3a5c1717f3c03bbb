# SPDX-License-Identifier: GPL-2.0
"""The policy of Documentation/new-policy.rst, applied to a copy of the tree: it builds, and serves
requests in the order of their arrival.

Seen to fail: the page's table line with clook's functions (as fast as clook); a page without the
name (the simulator refuses it).
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import taptest

# What the simulator is built from
PARTS = ("core", "tools", "include", "models", "disk_model.c", "disk_model.h",
         "disk_model_private.h", "fb_bitmap.c", "fb_bitmap.h", "files.h")


def blocks():
    """The page's literal blocks that are C, without their indentation."""
    path = os.path.join(taptest.TOP, "Documentation", "new-policy.rst")
    with open(path, encoding="utf-8") as file:
        text = file.read().split("Run it\n")[0]
    return [re.sub(r"^ {8}", "", block, flags=re.MULTILINE).rstrip() + "\n"
            for block in re.findall(r"::\n\n((?: {8}.*\n|\n)+)", text)]


def insert(path, before, text):
    """Text before the first line of a file that begins so."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith(before))
    lines.insert(at, text)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


class NewPolicy(unittest.TestCase):
    """The page's five changes."""

    def accept(self, path):
        """The command accepts the name."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count('"clook|sstf|'), 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('"clook|sstf|', '"fcfs|clook|sstf|'))

    def test_page(self):
        """As a reader makes them."""
        identifier, name, functions, line = blocks()
        with tempfile.TemporaryDirectory() as folder:
            for part in PARTS:
                source = os.path.join(taptest.TOP, part)
                copy = shutil.copytree if os.path.isdir(source) else shutil.copy
                copy(source, os.path.join(folder, part))
            insert(os.path.join(folder, "core/policy.h"), "\tFB_POLICIES,", "\t" + identifier)
            path = os.path.join(folder, "core/policy.c")
            insert(path, "\t[FB_POLICY_AUTO] = \"auto\"", "\t" + name)
            insert(path, "\t[FB_POLICY_AUTO] = {", "\t" + line)
            self.accept(os.path.join(folder, "tools/cli/freeblock/sim/settings.py"))
            insert(path, "static const struct fb_policy_ops fb_policy_ops[", functions + "\n")
            done = subprocess.run(
                [os.path.join(folder, "tools/freeblock"), "sim", "--json", "--policy",
                 "fcfs,clook,sptf", "--depth", "2", "--seconds", "30", "--seed", "1,2,3"],
                check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**os.environ, "FREEBLOCK_BUILD": os.path.join(folder, "build")})
            self.assertEqual(done.returncode, 0, done.stderr)
            served = [run["requests_per_s"] for run in json.loads(done.stdout)]
        # the seeds in turn, and of each the policies
        fcfs, clook, sptf = (sum(served[i::3]) / 3 for i in range(3))
        # ten outstanding on the Atlas 10K: 110.3 +- .3, 145.4 +- .3, 168.5 +- .7
        for measured, wanted in ((fcfs, 110.3), (clook, 145.4), (sptf, 168.5)):
            self.assertAlmostEqual(measured, wanted, delta=0.02 * wanted)
