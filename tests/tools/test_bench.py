#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The bench: a figure with few requests end to end, its summary, its verdicts.
Takes a few seconds."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

sys.path.insert(0, os.path.join(taptest.TOP, "tools"))

from fbtools import ToolError, bench_figures, bench_rows, bench_run, cli  # noqa: E402

TINY = bench_figures.Effort(requests=3000, alone=3000, outstanding=(1, 10), conservatism=(300, 400),
                            beside=(300, 400), scan_seeds=1, seeds=1, nearline_s=10)
KEYS = {"name", "value", "unit", "paper", "reference", "command", "asked", "verdict", "figure",
        "date"}


def bench(*words):
    """A bench's status, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["bench", "--quiet", *words])
    return status, out.getvalue(), err.getvalue()


class Verdicts(unittest.TestCase):
    """A bound counts as met when it is reached."""

    def test_bounds(self):
        """Seen to fail: a bound that is met only when passed."""
        for value, least, most, want in (
                (3.0, 3.0, None, "met"), (2.99, 3.0, None, "missed"), (2.0, None, 2.0, "met"),
                (2.01, None, 2.0, "missed"), (11, 10, 13, "met"), (9, 10, 13, "missed"),
                (14, 10, 13, "missed"), (5, None, None, "-"), (None, 1, None, "not measured")):
            row = bench_rows.Row("x", value, "MB/s", least=least, most=most)
            self.assertEqual(row.verdict(), want, (value, least, most))

    def test_merge(self):
        """A figure's rows replace its own and no others.

        Seen to fail: rows that are appended."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            for figure, names in (("8", "ab"), ("9", "c"), ("8", "d")):
                rows = [bench_rows.Row(name, 1, "") for name in names]
                bench_rows.stamp(rows, figure)
                bench_rows.merge(path, figure, rows)
            self.assertEqual([r["name"] for r in bench_rows.load(path)], ["c", "d"])
            with self.assertRaisesRegex(ToolError, "two rows are called: d"):
                bench_rows.merge(path, "9", [bench_rows.Row("d", 1, "")])

    def test_not_a_summary(self):
        """Another file is refused and stays."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            for text in ('{"a": 1}', "[1]", "nothing"):
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                with self.assertRaisesRegex(ToolError, "not a summary"):
                    bench_rows.merge(path, "9", [])
                with open(path, encoding="ascii") as file:
                    self.assertEqual(file.read(), text)


class EndToEnd(unittest.TestCase):
    """Figure 8 with few requests."""

    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = folder.name

    def figure8(self):
        """Its status and output."""
        with mock.patch.object(bench_figures, "QUICK", TINY):
            return bench("--quick", "--figure", "8", "--out", self.out, "--processes", "1")

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
            self.assertRegex(row["command"], "^tools/freeblock (sim|bench) ")
        self.assertIn("figure-8-atlas10k.png", os.listdir(self.out))
        with open(os.path.join(self.out, "figure-8.json"), encoding="ascii") as file:
            runs = json.load(file)["runs"]
        self.assertTrue(all(run["requests"] >= TINY.requests for run in runs))
        with mock.patch("fbtools.sim.Runs.one", side_effect=AssertionError("run again")):
            again = self.figure8()
        self.assertEqual(again[:2], (status, said))

    def test_row_is_its_command(self):
        """A row's value is what its command measures.

        Seen to fail: a command without its think time."""
        cell = {"drive": "atlas10k", "policy": "sptf", "think_ms": "30", "requests": "3000",
                "set": "jitter_ns 0\nbus_ns 0"}
        got = bench_run.run_cells({"x": cell}, os.path.join(self.out, "cells"), 1, True)["x"]
        words = bench_run.command(cell, "--json").replace("'", "").split("--set")
        typed = words[0].split()[2:]
        for line in words[1:]:
            line, _, flag = line.strip().partition(" --")
            typed += ["--set", line] + (["--" + flag] if flag else [])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(cli.main(["sim", "--quiet", *typed]), 0)
        self.assertEqual(json.loads(out.getvalue())[0]["requests_per_s"], got["requests_per_s"])

    def test_kept(self):
        """A result is kept under its settings, drive and program.

        Seen to fail: a name without the settings' values."""
        cell = {"drive": "atlas10k", "requests": "1000"}
        names = {bench_run.kept_name(bench_run.job_of({**cell, **more})) for more in (
            {}, {"seed": "2"}, {"seed": "3"}, {"drive": "atlas10k-hs08"}, {"set": "jitter_ns 0"})}
        self.assertEqual(len(names), 5)
        with mock.patch.object(bench_run.sim, "HOST", __file__):
            names.add(bench_run.kept_name(bench_run.job_of(cell)))
        self.assertEqual(len(names), 6)

    def test_bad(self):
        """No such figure, no processes: a message, nothing written."""
        with self.assertRaises(SystemExit):
            bench("--figure", "12", "--out", self.out)
        status, _, errors = bench("--processes", "0", "--out", self.out)
        self.assertEqual((status, os.listdir(self.out)), (1, []))
        self.assertIn("at least 1", errors)


if __name__ == "__main__":
    bench_run.sim.build_host()
    taptest.main()
