#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Bands of predicted responses: what they are by kind of workload, and whether they hold for
drives and workloads that are drawn anew in each run. Prints TAP; takes a minute.
"""

import os
import sys
import tempfile
import time
import unittest
from types import SimpleNamespace

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools", "python"), os.path.join(TOP, "tools")]

import taptest  # noqa: E402
from freeblock import sim  # noqa: E402
from freeblock.prediction import bands  # noqa: E402
from freeblock.prediction.workload import Workload  # noqa: E402
from research import replay  # noqa: E402
from research.predictcheck import cells, unseenfree, verdict  # noqa: E402

CASES, FREE_CASES = 90, 20
ORDINARY = {"request_rate": 50, "arrival_process": "poisson", "request_size": 8192,
            "read_fraction": 0.5, "data_span": 1e9}
RUNS = {"run_length": 65536}


def told(response=None, read=None, write=None, miss_prob=1, writes_kept=False, utilisation=0.3):
    """What bands know of a prediction, with services of 10 ms."""
    return SimpleNamespace(response_time=response, read_response=read, write_response=write,
                           miss_prob=miss_prob, writes_kept=writes_kept, service_time=0.01,
                           utilisation=utilisation)


class Kinds(unittest.TestCase):
    """By what a prediction is known to be more or less right."""

    def test_kinds(self):
        """Each of some workloads has a band that fits, by the length of its queue, too. Seen to
        fail: a queue that is never full."""
        one, kept = {"arrival_process": "constant-closed"}, {"writes_kept": True}
        bursts, two = {"arrival_process": "bursty"}, {"arrival_process": "closed", "outstanding": 2}
        writes = {"read_fraction": 0}
        for more, found, kind in (
                ({}, {}, "open, random"), ({}, {"response": 1}, "open, random"),
                (RUNS, {"response": 0.011}, "open, runs, light"),
                (RUNS, {"response": 0.03}, "open, runs, busy"),
                (RUNS, {"response": 0.011, "utilisation": 0.7}, "open, runs, busy"),
                (RUNS, {"response": 0.05}, "open, runs, full"), (RUNS, {}, "open, runs, full"),
                (RUNS, {"response": 0.011, "utilisation": 0.9}, "open, runs, full"),
                (RUNS, {"miss_prob": 0.5, "response": 0.01}, "open, runs, hits, light"),
                (one, {}, "alone, random"), (two, {}, "closed, random"),
                (two | {"outstanding": 1} | RUNS, {"miss_prob": 0.5}, "alone, runs, hits"),
                ({"sparse_run_fraction": 0.3}, {"response": 0.01}, "open, runs, light"),
                ({"run_length": 65536, "locality_fraction": 0}, {}, "open, random"),
                (bursts | RUNS, {"miss_prob": 0.5, "response": 0.01}, "bursts, runs, light"),
                (bursts, kept, "bursts, random, write cache"),
                ({}, kept | {"response": 0.1}, "open, random, write cache, light"),
                (RUNS, kept | {"response": 0.01, "utilisation": 0.5},
                 "open, runs, write cache, busy"),
                (RUNS | writes, kept | {"response": 0.01},
                 "open, runs, write cache, writes alone, light"),
                (two | writes, kept, "closed, random, write cache, writes alone")):
            load, said = Workload(**(ORDINARY | more)), told(**found)
            with self.subTest(kind=kind, more=more):
                self.assertEqual(bands.kind(load, said), kind)
                self.assertIn(kind, bands.BANDS)

    def test_doubtful(self):
        """A number where responses have been near to it, none where they have been far, nor where
        few have been seen. Seen to fail: all told; all that were seen often."""
        load, long = Workload(**ORDINARY), Workload(**(ORDINARY | RUNS))
        self.assertIsNone(bands.doubtful(load, told(0.02)))
        self.assertIsNone(bands.doubtful(load, told()))             # saturated, surely
        self.assertRegex(bands.doubtful(long, told(miss_prob=0.5)),
                         r"^open, runs, hits, full: responses were 0\.[0-9]+ to [0-9.]+ times")
        self.assertEqual(bands.band("never drawn")[2], 0)
        for kind, each in bands.BANDS.items():
            for of, (low, high, cases) in each.items():
                self.assertTrue(0 < low < high and low <= 1.1 and high >= 0.9, (kind, of))
                self.assertLessEqual(bands.band("never drawn", of)[0], low)
                self.assertGreaterEqual(cases, 1)

    def test_band(self):
        """Around the prediction, of reads and of writes theirs; none without one."""
        load = Workload(**ORDINARY)
        for of, mean in ((bands.ALL, 0.02), (bands.READS, 0.03), (bands.WRITES, 0.01)):
            low, high = bands.response(load, told(0.02, 0.03, 0.01), of)
            self.assertTrue(0 < low < mean * 1.02 and mean * 0.98 < high)
            self.assertIsNone(bands.response(load, told(), of))

    def test_table(self):
        """What rows come to: nine of ten of others like them lie between."""
        none = {"measured_read_ms": None, "predicted_read_ms": None, "read_low_ms": None,
                "measured_write_ms": None, "predicted_write_ms": None, "write_low_ms": None,
                "unknown": None}
        rows = [dict(none, kind="a", predicted_ms=10, measured_ms=n / 10, low_ms=1, high_ms=8.95)
                for n in range(99)]
        rows.append(dict(none, kind="b", predicted_ms=None, measured_ms=1, low_ms=None,
                         high_ms=None))
        low, high, number = verdict.calibrated(rows)["a"]["all"]
        self.assertEqual((round(low, 3), round(high, 3), number), (0.04, 0.94, 99))
        self.assertEqual(verdict.held(rows)["cases"], 99)
        self.assertAlmostEqual(verdict.held(rows)["held_pct"], 100 * 80 / 99)
        self.assertEqual(verdict.bands_goals(rows), [])
        more = rows + [dict(rows[0])] * 2
        self.assertFalse(verdict.bands_goals(more)[0]["met"])
        reads = [dict(row, measured_read_ms=5, predicted_read_ms=5, read_low_ms=4, read_high_ms=6)
                 for row in rows]
        self.assertEqual(verdict.held(reads, "reads"), {"cases": 100, "held_pct": 100})
        self.assertIn("(0.040, 0.940, 99)", "".join(verdict.bands_lines(rows)))
        few = verdict.calibrated(rows[80:90])["a"]["all"]
        self.assertEqual(few, (0.8, 1.0, 10))


    def test_unknown(self):
        """What is unknown does not count among the errors, and its share is told and bounded. Seen
        to fail: no bound of the share."""
        rows = [{"name": "a", "error_pct": n % 10, "unknown": None} for n in range(70)]
        rows += [{"name": "b", "error_pct": 900, "unknown": "why"}] * 50
        errors, share = verdict.random_goals(rows)
        self.assertEqual((errors["worst"], errors["rows"], errors["met"]), (8, 63, True))
        self.assertAlmostEqual(share["worst"], 100 * 70 / 120)
        self.assertFalse(share["met"])
        self.assertTrue(verdict.random_goals(rows[:100])[1]["met"])
        self.assertFalse(verdict.random_goals([dict(row, unknown=None) for row in rows])[0]["met"])
        self.assertEqual(len(verdict.random_goals(rows[-5:])), 1)


class Held(unittest.TestCase):
    """Nine of ten, of cases that nobody has seen.

    The cases are other ones in each run, so what is right fails by chance: once in some hundreds
    of draws, by the parts below. What is wrong fails in each draw. So one of two has to pass.
    """

    def one_of_two(self, judge):
        """Of two draws, which share nothing, one passes. Seen to fail: none held in either."""
        seed = int(time.time())
        try:
            judge(seed)
        except AssertionError as error:
            print("# seed %d, another is drawn: %s" % (seed, str(error).replace("\n", " ")))
            judge(seed + 1)

    def test_fresh(self):
        """For 77 % at least, and not for all: were it nine of ten, that would fail once in ten
        thousand draws. Seen to fail: bands of a quarter of the width; of ten times that."""
        replay.build_host()
        self.one_of_two(self.fresh)

    def fresh(self, seed):
        """Of one seed."""
        with tempfile.TemporaryDirectory() as folder:
            rows = [cells.compare(cell, seed)
                    for cell in cells.random_cells(CASES, seed, folder)]
        said = verdict.held(rows)
        for of in ("reads", "writes"):
            print("# %s: %.1f %% of %d" % (of, verdict.held(rows, of)["held_pct"],
                                           verdict.held(rows, of)["cases"]))
            self.assertGreater(verdict.held(rows, of)["held_pct"], 74)
        sure = sorted(verdict.off(row) for row in rows if not row["unknown"])
        print("# told: %d of %d, nine of ten within %.1f %%" % (
            len(sure), len(rows), sure[int(0.9 * len(sure))]))
        # Three quarters are within what make validate-predict asks of nine of ten of 200: were one
        # of twelve off by more, that would fail once in ten thousand draws; and were two thirds
        # told, less than 45 % would be as seldom. Seen to fail: all foretold a fifth too long.
        self.assertLess(sure[int(0.75 * len(sure))], verdict.RANDOM_PCT)
        self.assertGreater(len(sure), 0.45 * len(rows))
        missed = [row["name"] for row in rows if row["low_ms"] is not None and
                  not row["low_ms"] <= row["measured_ms"] <= row["high_ms"]]
        print("# seed %d: %.1f %% of %d" % (seed, said["held_pct"], said["cases"]))
        self.assertGreater(said["cases"], CASES * 0.8)
        self.assertGreater(said["held_pct"], 77, missed)
        self.assertLess(said["held_pct"], 100)

    def test_fresh_free(self):
        """The free bandwidth's: for 12 of 20 at least. Were it 86 of 100, that would fail once in
        a thousand draws; bands that are so wide that they cannot fail are none. Seen to fail:
        idle time left out."""
        sim.build_host()
        self.one_of_two(self.fresh_free)
        for kind, (low, high) in bands.FREE.items():
            self.assertTrue(0 < low < high < 3 * low, kind)

    def fresh_free(self, seed):
        """Of one seed."""
        rows = [unseenfree.compare(number, seed) for number in range(FREE_CASES)]
        said = verdict.held_free(rows)
        print("# seed %d: free bandwidth %.1f %% of %d" % (seed, said["held_pct"], said["cases"]))
        self.assertGreaterEqual(said["held_pct"], 60, [row["name"] for row in rows])


if __name__ == "__main__":
    taptest.main()
