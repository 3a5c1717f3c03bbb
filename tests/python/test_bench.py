# SPDX-License-Identifier: GPL-2.0
"""The bench: a figure with few requests end to end, its summary, its verdicts.
Takes a few seconds."""

import json
import os
import tempfile
import unittest
from unittest import mock

import taptest
from freeblock import ToolError
from bench.evaluation import paper, runs, summary

TINY = paper.Effort(requests=3000, alone=3000, outstanding=(1, 10), conservatism=(300, 400),
                            beside=(300, 400), seeds=1, nearline_s=10)
KEYS = {"name", "value", "unit", "paper", "reference", "command", "asked", "verdict", "figure",
        "date"}


def setUpModule():
    """The simulator, which tests patch."""
    runs.sim.build_host()


def bench(*words):
    """A bench's status, output and errors."""
    return taptest.freeblock_lab("bench", "--quiet", *words)


class Verdicts(unittest.TestCase):
    """A bound counts as met when it is reached."""

    def test_bounds(self):
        """Seen to fail: a bound that is met only when passed."""
        for value, least, most, want in (
                (3.0, 3.0, None, "met"), (2.99, 3.0, None, "missed"), (2.0, None, 2.0, "met"),
                (2.01, None, 2.0, "missed"), (11, 10, 13, "met"), (9, 10, 13, "missed"),
                (14, 10, 13, "missed"), (5, None, None, "-"), (None, 1, None, "not measured")):
            row = summary.Row("x", value, "MB/s", least=least, most=most)
            self.assertEqual(row.verdict(), want, (value, least, most))

    def test_merge(self):
        """A figure's rows replace its own and no others.

        Seen to fail: rows that are appended."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            for figure, names in (("8", "ab"), ("9", "c"), ("8", "d")):
                rows = [summary.Row(name, 1, "") for name in names]
                summary.stamp(rows, figure)
                summary.merge(path, figure, rows)
            self.assertEqual([r["name"] for r in summary.load(path)], ["c", "d"])
            with self.assertRaisesRegex(ToolError, "two rows are called: d"):
                summary.merge(path, "9", [summary.Row("d", 1, "")])


class EndToEnd(unittest.TestCase):
    """Figure 8 with few requests."""

    def setUp(self):
        self.out = self.enterContext(tempfile.TemporaryDirectory())

    def figure8(self):
        """Its status and output."""
        with mock.patch.object(paper, "QUICK", TINY):
            return bench("--quick", "--figure", "8", "--output", self.out, "--jobs", "1")

    def test_figure8(self):
        """Rows, data, pictures, a table; the second time nothing is run."""
        status, said, errors = self.figure8()
        with open(os.path.join(self.out, "summary.json"), encoding="ascii") as file:
            rows = json.load(file)
        missed = [row["name"] for row in rows if row["verdict"] == "missed"]
        self.assertEqual((status, errors), (1 if missed else 0, ""))
        for row in rows:
            self.assertLessEqual(KEYS, set(row))
            self.assertIn(row["name"], said)
            self.assertRegex(row["command"], "^tools/freeblock(-bench bench| sim) ")
        self.assertIn("figure-8-atlas10k.png", os.listdir(self.out))
        with open(os.path.join(self.out, "figure-8.json"), encoding="ascii") as file:
            done = json.load(file)["runs"]
        self.assertTrue(all(run["requests"] >= TINY.requests for run in done))
        with mock.patch("freeblock.sim.Runs.one", side_effect=AssertionError("run again")):
            again = self.figure8()
        self.assertEqual(again[:2], (status, said))

    def test_kept(self):
        """A result is kept under its settings, drive and program.

        Seen to fail: a name without the settings' values."""
        cell = {"drive": "atlas10k", "requests": "1000"}
        names = {runs.kept_name(runs.job_of({**cell, **more})) for more in (
            {}, {"seed": "2"}, {"seed": "3"}, {"drive": "atlas10k-hs08"}, {"set": "jitter_ns 0"})}
        self.assertEqual(len(names), 5)
        with mock.patch.object(runs.sim, "HOST", __file__):
            names.add(runs.kept_name(runs.job_of(cell)))
        self.assertEqual(len(names), 6)
