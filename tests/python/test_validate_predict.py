# SPDX-License-Identifier: GPL-2.0
"""validate-predict: errors are bounded in some cells of each table, to either side.

Seen to fail: errors without abs().
"""

import json
import os
import tempfile
import unittest
from unittest import mock

import taptest
from bench import replay
from bench.predictcheck import cells


class Rows(unittest.TestCase):
    """Measured and predicted."""

    @classmethod
    def setUpClass(cls):
        replay.build_host()
        cls.out = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.every = {cell.name: cell for cell in cells.all_cells()}

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
