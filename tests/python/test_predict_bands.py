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


def told(response=None, read=None, write=None, miss_prob=1, writes_kept=False):
    """What bands know of a prediction."""
    return SimpleNamespace(response_time=response, read_response=read, write_response=write,
                           miss_prob=miss_prob, writes_kept=writes_kept)


class Kinds(unittest.TestCase):
    """By what a prediction is known to be more or less right."""

    def test_kinds(self):
        """Each kind has a band, and each of some workloads one that fits."""
        for more, miss, kind in (
                ({}, 1, "open, random"), (RUNS, 1, "open, runs"),
                (RUNS, 0.5, "open, runs, hits"), ({"arrival_process": "constant-closed"}, 1,
                                                  "closed, random"),
                ({"sparse_run_fraction": 0.3}, 1, "open, runs"),
                ({"run_length": 65536, "locality_fraction": 0}, 1, "open, random"),
                ({"arrival_process": "bursty"} | RUNS, 0.5, "bursts, runs")):
            load = Workload(**(ORDINARY | more))
            with self.subTest(kind=kind, more=more):
                self.assertEqual(bands.kind(load, told(miss_prob=miss)), kind)
                self.assertIn(kind, bands.BANDS)
                kept = "%s, %s, write cache" % tuple(kind.split(", ")[:2])
                self.assertEqual(bands.kind(load, told(miss_prob=miss, writes_kept=True)), kept)
                self.assertIn(kept, bands.BANDS)

    def test_band(self):
        """Around the prediction, of reads and of writes theirs; none without one."""
        load = Workload(**ORDINARY)
        for of, mean in ((bands.ALL, 0.02), (bands.READS, 0.03), (bands.WRITES, 0.01)):
            low, high = bands.response(load, told(0.02, 0.03, 0.01), of)
            self.assertTrue(0 < low < mean * 1.01 and mean * 0.99 < high)
            self.assertIsNone(bands.response(load, told(), of))

    def test_table(self):
        """What rows come to: nine of ten of others like them lie between."""
        none = {"measured_read_ms": None, "predicted_read_ms": None, "read_low_ms": None,
                "measured_write_ms": None, "predicted_write_ms": None, "write_low_ms": None}
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
        few = verdict.calibrated(rows[80:90])["a"]["all"]
        self.assertEqual(few, (0.8, 1.0, 10))


class Held(unittest.TestCase):
    """Nine of ten, of cases that nobody has seen."""

    def test_fresh(self):
        """For 77 % at least, and not for all: were it nine of ten, that would fail once in ten
        thousand runs. Seen to fail: bands of a quarter of the width; of ten times that."""
        replay.build_host()
        seed = int(time.time())
        with tempfile.TemporaryDirectory() as folder:
            rows = [cells.compare(cell, seed)
                    for cell in cells.random_cells(CASES, seed, folder)]
        said = verdict.held(rows)
        for of in ("reads", "writes"):
            print("# %s: %.1f %% of %d" % (of, verdict.held(rows, of)["held_pct"],
                                           verdict.held(rows, of)["cases"]))
            self.assertGreater(verdict.held(rows, of)["held_pct"], 74)
        missed = [row["name"] for row in rows if row["low_ms"] is not None and
                  not row["low_ms"] <= row["measured_ms"] <= row["high_ms"]]
        print("# seed %d: %.1f %% of %d" % (seed, said["held_pct"], said["cases"]))
        self.assertGreater(said["cases"], CASES * 0.8)
        self.assertGreater(said["held_pct"], 77, missed)
        self.assertLess(said["held_pct"], 100)

    def test_fresh_free(self):
        """The free bandwidth's: for 12 of 20 at least. Were it 86 of 100, that would fail once in
        four hundred runs; bands that are so wide that they cannot fail are none. Seen to fail:
        idle time left out."""
        sim.build_host()
        seed = int(time.time())
        rows = [unseenfree.compare(number, seed) for number in range(FREE_CASES)]
        said = verdict.held_free(rows)
        print("# seed %d: free bandwidth %.1f %% of %d" % (seed, said["held_pct"], said["cases"]))
        self.assertGreaterEqual(said["held_pct"], 60, [row["name"] for row in rows])
        for kind, (low, high) in bands.FREE.items():
            self.assertTrue(0 < low < high < 3 * low, kind)


if __name__ == "__main__":
    taptest.main()
