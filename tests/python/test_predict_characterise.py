# SPDX-License-Identifier: GPL-2.0
"""Traces made with known attributes are read back: prediction/characterise.py. Takes a
second. Bounds are 4.5 standard deviations, derived where they are used."""

import unittest

import numpy as np

from freeblock import ToolError, tracefile
from freeblock.prediction import characterise

SIGMAS = 4.5
GIB = 1 << 21           # sectors


def trace(seconds, sector, sectors, write=False, response=None, reach=0.0):
    """The characterise.Trace of arrays or numbers."""
    count = len(seconds)

    def column(value):
        return np.broadcast_to(value, count)

    return characterise.characterise(tracefile.make_chunk(
        np.asarray(seconds) * 1e9, column(sector), column(sectors), column(write),
        -1 * np.ones(count) if response is None else column(response) * 1e9), reach)


def poisson(rng, count, rate):
    """Arrival times, s."""
    return np.cumsum(rng.exponential(1 / rate, count))


class Attributes(unittest.TestCase):
    """One attribute after another."""

    def setUp(self):
        self.rng = np.random.default_rng(7)

    def near(self, found, expected, sigma):
        """Within SIGMAS standard deviations."""
        self.assertLess(abs(found - expected), SIGMAS * sigma, "%g, not %g +- %g" % (
            found, expected, sigma))

    def test_random(self):
        """Rate: n gaps have a mean of relative deviation 1/sqrt(n). Shares: binomial.
        Quantiles at 1 % deviate by sqrt(0.01 * 0.99 / n) of the span. Requests elsewhere, 0.5 % at
        either end of the disk, do not widen it."""
        n, start, span = 40000, 100 * GIB, 500 * GIB
        sizes, sector = self.rng.choice([8, 16, 128], n), self.rng.integers(
            start, start + span - 128, n)
        what = trace(poisson(self.rng, n, 80.0), sector, sizes, self.rng.random(n) < 0.3)
        load = what.workload
        self.assertEqual((load.arrival_process, what.requests, what.bursty), ("poisson", n, False))
        self.near(load.request_rate, 80, 80 / n ** 0.5)
        self.near(load.read_fraction, 0.7, (0.7 * 0.3 / n) ** 0.5)
        mean, variance = np.mean([8, 16, 128]), np.var([8, 16, 128])
        self.near(load.request_size, mean * 512, (variance / n) ** 0.5 * 512)
        self.assertAlmostEqual(load.request_size_cv2, sizes.var() / sizes.mean() ** 2, 6)
        slack = SIGMAS * (0.0099 / n) ** 0.5 * span * 512
        self.assertLess(abs(load.data_start - start * 512), slack)
        self.assertLess(abs(load.data_span - span * 512), 2 * slack)
        # two requests in 4e8 sectors follow one another by chance once in 1e4 traces
        self.assertEqual((load.run_length, load.sparse_run_fraction), (None, 0))
        # parts of 156 requests each deviate by 8 % from one another
        self.assertGreater(what.hot_half, 0.45)
        sector[::200], sector[100::200] = 8, 4000 * GIB
        what = trace(poisson(self.rng, n, 10), sector, 8)
        self.assertLess(abs(what.workload.data_span / 512 - span), 0.02 * span)
        self.assertEqual(what.last_byte, (4000 * GIB + 8) * 512)

    def test_runs(self):
        """Runs of 4 requests, 60 % of the requests in them; with holes of 24 sectors sparse runs if
        that is within reach, else nothing. Streams in turns are no runs. Seen to fail: any distance
        forward taken for a run."""
        first = self.rng.integers(0, 400 * GIB - 64, 4000)
        alone = self.rng.random(4000) < 0.5
        sector = np.concatenate([[at] if lone else at + 16 * np.arange(4)
                                 for at, lone in zip(first, alone)])
        what = trace(poisson(self.rng, len(sector), 50), sector, 16)
        self.assertAlmostEqual(what.workload.run_length, 4 * 16 * 512, 6)
        self.assertAlmostEqual(what.workload.locality_fraction,
                               4 * np.count_nonzero(~alone) / len(sector), 9)
        self.assertEqual(what.interleaved, 0)
        sector = (first[:1000, None] + np.arange(6) * 32).ravel()
        times = poisson(self.rng, len(sector), 50)
        load = trace(times, sector, 8, reach=24 * 512).workload
        self.assertEqual((load.requests_per_sparse_run, load.sparse_run_length,
                          load.sparse_run_fraction, load.run_length),
                         (6, (6 * 8 + 5 * 24) * 512, 1, None))
        self.assertEqual(trace(times, sector, 8, reach=23 * 512).workload.sparse_run_fraction, 0)
        sector = (np.arange(5) * 10 * GIB + np.arange(400)[:, None] * 16).ravel()
        what = trace(poisson(self.rng, len(sector), 50), sector, 16)
        self.assertIsNone(what.workload.run_length)
        self.assertAlmostEqual(what.interleaved, 1 - 5 / len(sector), 9)

    def test_pauses(self):
        """Pauses over a second are left out of the effective rate, and make no bursts; pairs do.
        Seen to fail: none left out; pauses taken for bursts."""
        gaps = self.rng.exponential(0.05, 20000)
        gaps[::100] += 8
        sector = self.rng.integers(0, 400 * GIB, len(gaps))
        what = trace(np.cumsum(gaps), sector, 8)
        pauses = gaps[1:][gaps[1:] > 1].sum()
        self.assertAlmostEqual(what.pauses, pauses, 6)
        self.assertAlmostEqual(what.workload.effective_request_rate,
                               (len(gaps) - 1) / (gaps[1:].sum() - pauses), 6)
        self.assertFalse(what.bursty)
        gaps[1::2] = 0.001
        self.assertTrue(trace(np.cumsum(gaps), sector, 8).bursty)

    def test_closed(self):
        """Constant arrivals, closed ones if responses show it, and one process that thinks: its
        mean deviates by 1/sqrt(n). Arrivals so seldom that none finds another are not closed. Seen
        to fail: no matter how seldom."""
        n = 4000
        sector, seconds = self.rng.integers(0, GIB, n), np.arange(n) / 120
        late = np.full(n, 0.005)
        late[7] = 0.02
        for response, kind in ((None, "constant-open"), (0.005, "constant-closed"),
                               (late, "constant-open")):
            self.assertEqual(trace(seconds, sector, 8, False, response).workload.arrival_process,
                             kind)
        think = self.rng.exponential(0.03, n)
        what = trace(np.cumsum(think + 0.008) - 0.008, sector, 8, response=0.008)
        load = what.workload
        self.assertEqual((load.arrival_process, load.outstanding), ("closed", 1))
        self.near(load.think_time, 0.03, 0.03 / n ** 0.5)
        self.near(load.think_cv2, 1, 2 / n ** 0.5)
        self.assertAlmostEqual(what.mean_response, 0.008, 9)
        seldom = trace(poisson(self.rng, 400, 2), sector[:400], 8, response=1e-6)
        self.assertEqual(seldom.workload.arrival_process, "poisson")

    def test_refused(self):
        """What has no rate."""
        for seconds, words in (([1], "1 requests"), ([1, 1], "at one time")):
            with self.assertRaises(ToolError) as caught:
                trace(seconds, 8, 8)
            self.assertIn(words, str(caught.exception))
