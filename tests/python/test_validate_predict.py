# SPDX-License-Identifier: GPL-2.0
"""validate-predict: the generators' requests have the attributes that the prediction gets,
errors are bounded in some cells of each table, to either side, verdicts can fail.

Seen to fail: no pauses, one page size, longer holes, too many sparse runs in TPC-C's; bursts of one
size, no strays in the AS/400's; a fixed seed; errors without abs().
"""

import json
import os
import tempfile
import unittest
from unittest import mock

import numpy as np

import taptest
from bench import replay
from bench.predictcheck import cells, workloads

DISK = workloads.Disk(2.0e9 // 4096 * 4096, 512)
COARSE = workloads.Disk(DISK.capacity, 4096)


def rng():
    """The same numbers in each test."""
    return np.random.default_rng(7)


class Generators(unittest.TestCase):
    """Requests against their workload."""

    def near(self, got, wanted, share, what):
        """Within a share of what is wanted."""
        self.assertLess(abs(got / wanted - 1), share, "%s: %g, not %g" % (what, got, wanted))

    def within(self, case, disk):
        """Every request lies in the span, and on sectors."""
        w, r = case.workload, case.requests
        self.assertGreaterEqual(r.first.min(), w.data_start)
        self.assertLessEqual((r.first + r.size).max(), w.data_start + w.data_span)
        self.assertFalse((r.first % disk.sector).any() or (r.size % disk.sector).any())

    def test_tpcc(self):
        """Table 4's numbers, the pauses over 1 s taken out for the effective rate."""
        for disk in (DISK, COARSE):
            for name, said in workloads.TPCC.items():
                case = workloads.tpcc(rng(), disk, name, 60000)
                w, r = case.workload, case.requests
                between = np.diff(r.ns) / 1e9
                self.near(1 / between.mean(), said.request_rate, 0.04, "rate")
                self.near(len(between) / between[between < 1].sum(),
                          said.effective_request_rate, 0.03, "effective rate")
                self.near(r.size.mean(), w.request_size, 0.02, "size")
                self.assertAlmostEqual(r.size.var() / r.size.mean() ** 2, w.request_size_cv2, 1)
                self.assertAlmostEqual(r.read.mean(), said.read_fraction, 1)
                self.near(w.data_span / disk.capacity, said.cylinders, 0.01, "span")
                self.sparse_runs(r, w)
                self.within(case, disk)

    def sparse_runs(self, requests, workload):
        """Followers of a sparse run begin within two pages of the end before them."""
        hole = requests.first[1:] - (requests.first + requests.size)[:-1]
        page = requests.size.min()
        follows = ((hole >= 0) & (hole <= (workloads.HOLES - 1) * page)).mean()
        runs = workload.sparse_run_fraction / workload.requests_per_sparse_run
        self.assertAlmostEqual(follows, workload.sparse_run_fraction - runs, 2)

    def test_as400(self):
        """Rate, bursts (10 ms apart: hardly two of one) and their sizes, strays."""
        for said in workloads.AS400[::4]:
            case = workloads.as400(rng(), DISK, [said], 40)
            w, r = case.workload, case.requests
            self.near(len(r.ns) / (r.ns[-1] / 1e9), w.request_rate, 0.03, "rate")
            self.assertAlmostEqual(r.read.mean(), said.read_fraction, 1)
            begins = np.flatnonzero(np.diff(r.ns, prepend=-10 ** 9) > 30 * 10 ** 6)
            sizes = np.diff(np.append(begins, len(r.ns)))
            bursts = sizes[sizes > 5]
            self.near(bursts.mean(), w.requests_per_burst, 0.04, "burst")
            self.near(bursts.var() / bursts.mean() ** 2, w.burst_cv2, 0.3, "its variance")
            self.assertAlmostEqual(bursts.sum() / len(r.ns), w.bursty_fraction, 1)
            self.within(case, DISK)


class Rows(unittest.TestCase):
    """Measured and predicted."""

    @classmethod
    def setUpClass(cls):
        replay.build_host()
        cls.out = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.every = {cell.name: cell for cell in cells.all_cells()}

    def test_seed(self):
        """The same seed gives the same row, but for the time it took; another does not."""
        cell = self.every["table 6, atlas10k-paper, subtrace 6"]
        rows = [cells.compare(cell, (seed,), self.out) for seed in (1, 1, 2)]
        for row in rows:
            self.assertGreater(row.pop("prediction_ms"), 0)
        self.assertEqual(rows[0], rows[1])
        self.assertNotEqual(rows[0]["measured"], rows[2]["measured"])

    def test_errors(self):
        """The mean error of two seeds, to either side; the service's, too. Seen to fail: half a
        turn behind a request of a run; a queue that knows nothing of turns in a run."""
        for name, most in (("table 3, atlas10k-paper, 120/s, runs of 1, reads", 2),
                           ("table 3, atlas10k-paper, 120/s, runs of 64, reads", 5),
                           ("table 3, atlas10k, 100/s, runs of 64, writes", 3),
                           ("table 3, nearline16, 120/s, runs of 2, writes", 2),
                           ("table 5, atlas10k, log.14", 3), ("table 5, nearline16, stk.20", 2),
                           ("table 6, atlas10k-paper, subtrace 3", 4),
                           ("figure 6, atlas10k, runs of 4, fcfs, 40 %", 5),
                           ("figure 6, nearline16, runs of 4, look, 40 %", 3),
                           ("figure 6, nearline16, runs of 1, clook, 60 %", 3),
                           ("figure 6, atlas10k, runs of 1, sptf, 60 %", 3),
                           ("beyond the paper, nearline16, poisson, sstf, 100 % of the disk, 70 %",
                            3)):
            row = cells.compare(self.every[name], (1, 2), self.out)
            with self.subTest(row=row):
                self.assertIsNone(row["unknown"])
                self.assertLess(abs(row["error_pct"]), most)
                self.assertLess(abs(row["service_error_pct"]), most)


class Verdicts(unittest.TestCase):
    """They can fail."""

    def test_met(self):
        """Each row, the median, the median with its sign; rows that are unknown do not count. Seen
        to fail: errors that are too low."""
        def row(error, unknown=None):
            return {"group": "table 3", "error_pct": error, "unknown": unknown,
                    "prediction_ms": 1.0}
        for errors, met in (((-9, 1, 1), [True] * 4), ((-11, 1, 1), [False, True, True, True]),
                            ((4, -5, 1), [True, False, True, True]),
                            ((-2.5, -2.5, 1), [True, True, False, True])):
            rows = [row(error) for error in errors] + [row(99.0, "why")]
            self.assertEqual([value <= limit for _, limit, value, _ in cells.verdicts(rows)], met,
                             errors)


class Command(unittest.TestCase):
    """The whole of it."""

    def test_run(self):
        """Table and summary, the mean of seeds; a pattern that is none, or matches nothing."""
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(cells, "TIME_MS", float("inf")):
            words = ("validate-predict", "--jobs", "1", "--output", folder, "--seed", "1,2",
                     "--cell")
            status, out, err = taptest.freeblock_lab(
                *words, "nearline16, (runs of 1, fcfs, [24]0 %|stk.20)")
            self.assertEqual(status, 0, err)
            self.assertIn("runs of 1, fcfs, 20 %", out)
            with open(os.path.join(folder, "summary.json"), encoding="ascii") as file:
                rows = json.load(file)
            self.assertEqual([row["label"][-4:] for row in rows], ["k.20", "20 %", "40 %"])
            self.assertEqual(rows[0]["seeds"], [1, 2])
            self.assertGreater(rows[0]["error_se_pct"], 0)
            for cell, why in (("(", "--cell (: "), ("no such", "nothing to compare")):
                self.assertIn(why, taptest.freeblock_lab(*words, cell)[2])
