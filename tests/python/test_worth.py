# SPDX-License-Identifier: GPL-2.0
"""The table of worth (bench/evaluation/worth.py): each of its edits still applies, and what
it leaves compiles. 2 s.

Seen to fail: a macro of core/joint.h renamed, an edit that leaves a name that is not declared.
"""

import subprocess
import tempfile
import unittest

from freeblock import ToolError
from bench.evaluation import worth
from bench.evaluation.summary import Row


def run(free, mean):
    """What of a result counts."""
    return {"free_mb_s": free, "response_ms": {"mean": mean}}


class Worth(unittest.TestCase):
    """Edits and rows."""

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

    def test_old(self):
        """What an edit replaces stands there once."""
        self.assertEqual(worth.edited("a b", "b", "c", "x"), "a c")
        for text in ("a", "b b"):
            with self.assertRaisesRegex(ToolError, "x: 'b' stands there"):
                worth.edited(text, "b", "c", "x")

    def test_rows(self):
        """Means, their difference's error, and what both cost."""
        row, = worth.Worth.rows({"probe atlas10k": {
            "left": False, "command": "c",
            "with": [run(6, 11), run(8, 11)], "without": [run(5, 10), run(5, 10)],
            "alone": [run(0, 10), run(0, 10)]}})
        self.assertIsInstance(row, Row)
        record = row.record()
        self.assertEqual([record[name] for name in ("name", "with", "without", "spread")],
                         ["worth probe atlas10k", 7, 5, 1])
        self.assertAlmostEqual(record["value"], 40)
        self.assertAlmostEqual(record["with_cost_pct"], 10)
        self.assertAlmostEqual(record["without_cost_pct"], 0)
