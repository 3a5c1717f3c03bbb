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
from bench.evaluation import cost, days, lock, paper, runs, scrub, summary

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


class Scrubs(unittest.TestCase):
    """How long a pass takes."""

    def test_rows(self):
        """A hundredth of a pass in 300 s is a pass in .35 days. Reads are held against the
        foreground alone, by the means over the seeds.

        Seen to fail: rates of seeds averaged, not days; the mean's per cent for both."""
        figure = scrub.Scrub()
        cells = figure.cells(None)
        got = {key: {"task_done": .01 if key[3] % 2 else .005,
                     "read_ms": {"mean": 10 if key[2] is None else 10.3,
                                 "p99": 40 if key[2] is None else 40.8}} for key in cells}
        rows = {row.name: row for row in figure.rows(got, cells)}
        one = rows["scrub x300 24 verify"]
        each = 300 / .01 / 86400
        self.assertAlmostEqual(one.days, (2 * each + 2 * each) / 3)
        self.assertAlmostEqual(one.read_mean_pct, 3)
        self.assertAlmostEqual(one.read_p99_pct, 2)
        self.assertEqual(rows["scrub nearline16-wc 48 verify"].verdict(), "met")
        self.assertEqual(rows["scrub nearline16-wc 48 reads' mean"].verdict(), "met")
        self.assertEqual(len(rows), 2 * 11 + 2)


class Days(unittest.TestCase):
    """A pass in 30 days."""

    def test_rows(self):
        """Reads are held against those beside the same scheduler alone, seed by seed; ours against
        the best of the others. What no reader of all was measured with is not known.

        Seen to fail: the seeds' order lost; the worst of the others."""
        added = {"idle class": 3, "VERIFY by SG": 2, "scan": 1, "scrub": 1.5, "alone": 0}
        measured = [{"peer": cell.setting.peer, "setting": cell.setting.name, "seed": cell.seed,
                     "bg_mb_s": 6.2, "reads_mean_ms": cell.seed + added[cell.setting.name],
                     "reads_p99_ms": 40 + 2 * added[cell.setting.name]}
                    for cell in days.cells(1, (701, 702))]
        rows = {row.name: row for row in days.Days().rows(measured)}
        self.assertEqual(rows["days nearline16-wc bfq, idle class"].value, 3000)
        self.assertEqual(rows["days nearline16-wc bfq, idle class"].error, 0)
        self.assertEqual(rows["days nearline16-wc freeblock, scan"].p99_us, 2000)
        self.assertIsNone(rows["days nearline16-wc freeblock, scan"].p999_us)
        self.assertEqual([(row.value, row.verdict()) for name, row in rows.items()
                          if "of the best other's" in name], [(.5, "met"), (.75, "missed")])


class Lock(unittest.TestCase):
    """What the lab's fbheld.ko has counted."""

    def test_figures(self):
        """A function that takes the lock in two places is one; the thread's own holds are in what
        it has run, and the others' are added. A clock of 2 GHz.

        Seen to fail: all holds added to what the thread has run; the last place's longest hold."""
        files = {"held": "nested 84\nkhz 2000000\nfb_a [freeblock] 10 8000 4000 0\n"
                 "fb_b [freeblock] 5 2000000 1000 2000000\nfb_a [freeblock] 10 2000 200 0\n",
                 "threads": "19000000\n", "seconds": "2\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(text)
            found = lock.cell_figures(folder)
            self.assertEqual(found, {"longest_us": 2, "holder": "fb_a", "own_pct": 1, "functions": {
                "fb_a": [10, 250, 2000], "fb_b": [2.5, 200000, 500]}})
            os.unlink(os.path.join(folder, "threads"))
            with self.assertRaisesRegex(ToolError, "threads: is missing"):
                lock.cell_figures(folder)
        rows = {row.name: row.record() for row in lock.Lock.rows({
            "atlas10k 10": found, "atlas10k 255": {**found, "longest_us": 21}})}
        self.assertEqual(rows["lock atlas10k 255"]["longest_us"], 21)
        self.assertEqual(sorted(row["verdict"] for row in rows.values()), ["met", "met", "missed"])


class Cost(unittest.TestCase):
    """The trial beside the truth."""

    def test_rows(self):
        """Each load has what is measured, its error and the truth; the share within two errors is
        of all runs. Of the first load one run in two is three errors off.

        What the guard leaves is that of the second half: 1 ms in all, 2 in the first half, nothing.

        Seen to fail: the error of one run for that of the mean; the first half for the second."""
        figure, got = cost.Cost(), {}
        cells = figure.cells(None)
        for key, cell in cells.items():
            late = key[0] == "guard" and key[2] == "guard" and cell["seconds"] != "2400"
            got[key] = {"read_ms": {"mean": 10 if key[2] == "alone" else 12 if late else 11},
                        "requests": int(cell["seconds"]),
                        "trial": {"read": {"us": 1030, "error_us": 40}, "stops": 1}}
        got[next(key for key in cells if key[2] == "trial")]["trial"]["read"]["us"] = 1120
        rows = {row.name: row.record() for row in figure.rows(got, cells)}
        self.assertEqual(len(rows), len(cost.CELLS) + 5)
        # 1 ms over 7/8 is 1.143
        self.assertEqual(rows["cost of the run itself within two errors"]["value"],
                         100 * .5 / len(cost.CELLS))
        guard = rows["guard cached reader"]
        for name, value in (("value", 0), ("whole_ms", 1), ("unguarded_ms", 1), ("limit_ms", 1.1),
                            ("soon", 5), ("error_ms", 0)):
            self.assertAlmostEqual(guard[name], value, msg=name)
        first = rows["cost nearline16-wc 24"]
        self.assertEqual([first[name] for name in ("value", "measured_us", "true_us")],
                         [1075, 1075, 1000])
        self.assertAlmostEqual(first["error_us"], 40 / 2 ** .5)
        self.assertAlmostEqual(rows["cost within two errors"]["value"],
                               100 - 50 / len(cost.CELLS))


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
