# SPDX-License-Identifier: GPL-2.0
"""The table of worth (bench/evaluation/worth.py): each of its edits still applies, and what it
leaves compiles. 2 s.

Seen to fail: a macro of core/joint.h renamed, an edit that leaves a name that is not declared.
"""

import subprocess
import tempfile
import unittest

from bench.evaluation import worth


class Worth(unittest.TestCase):
    """Edits."""

    def test_edits(self):
        """Each stands for itself, and compiles: a header in what includes it."""
        for mechanism in worth.MECHANISMS:
            with tempfile.TemporaryDirectory() as folder:
                worth.tree(folder, mechanism.edits)
                for name in {name for name, *_ in mechanism.edits}:
                    self.compile(folder, name)

    def compile(self, folder, name):
        """A file of the tree, edited."""
        done = subprocess.run(
            ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter",
             "-Wno-unused-function", "-fsyntax-only", "-x", "c", "-I" + folder, "-"],
            input='#include "%s"\n' % name, check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (0, ""), name)
