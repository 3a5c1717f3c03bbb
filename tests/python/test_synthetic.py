# SPDX-License-Identifier: GPL-2.0
"""Synthetic traces: the paper's table II, and what its V.A says of its traces."""

import os
import tempfile
import unittest

import numpy as np

import taptest
from freeblock import tracefile
from bench import synthetic

TICK_NS = 100


class Traces(unittest.TestCase):
    """A day of each disk: all times of day alike."""

    def test_table(self):
        """Mean and coefficient of variation to 3 %, for the longest intervals meet their time of
        day by chance; less than 10 % last 100 ms, and are most of the idle time.

        Seen to fail: what the time of day changes not corrected."""
        for name, profile in synthetic.PROFILES.items():
            with self.subTest(disk=name):
                idle = synthetic.Trace(name, 1).idle * synthetic.TICK_S
                self.assertAlmostEqual(idle.mean() / profile.mean, 1, delta=.03)
                self.assertAlmostEqual(idle.std() / idle.mean() / profile.cov, 1, delta=.03)
                longer = idle[idle > .1]
                self.assertLess(len(longer), .1 * len(idle))
                self.assertGreater(longer.sum() - .1 * len(longer), .6 * idle.sum())

    def test_written(self):
        """Read again: the same intervals, to the tick. Seen to fail: responses that reach into the
        idle interval."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            words = ("synthetic", "c6t5d0", "--days", "0.02", "--seed", "5", "-o", path)
            self.assertEqual(taptest.freeblock_lab(*words), (0, "", ""))
            rows = [np.concatenate(one) for one in zip(*tracefile.read(path))]
        trace = synthetic.Trace("c6t5d0", 0.02, 5)
        self.assertEqual(len(rows[0]), trace.counts.sum())
        gaps = rows[0][1:] - np.maximum.accumulate(rows[0] + rows[4])[:-1]
        # the interval before the first request is not in the trace
        np.testing.assert_array_equal(gaps[gaps > 0], trace.idle[1:] * TICK_NS)

    def test_refused(self):
        """A disk that is none, days too few for its variance, a seed below 0."""
        for words, why in (("src12 --days 1", "no disk src12"),
                           ("proj2 --days 0.002", "too few"), ("src11 --seed -1", "--seed: -1")):
            status, _, err = taptest.freeblock_lab("synthetic", *words.split(), "-o", "/dev/null")
            self.assertEqual(status, taptest.status_of(err))
            self.assertIn(why, err)
