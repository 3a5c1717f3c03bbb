# SPDX-License-Identifier: GPL-2.0
"""Who orders in the simulator (core/orders.h), and what that costs: streams, hot spots, Zipf's law,
a task that wants little.

Seen to fail: a simulator without the stream rule (a stream of 64 KiB writes, 25 % of its requests);
a joint price that rises by 1/16 a window (hot spot, 86 %); an account of the order against one with
deadlines, too (hot spot, 97 %; 32 outstanding, 96 %); an account that takes the odds for what they
say (32 outstanding of Zipf's law, 98.9 %); demand for a few blocks that keeps the policy's order
(trickle, 95 %); a window to hold a command back that is over already (the clock).
"""

import os
import tempfile
import unittest

import taptest
from freeblock import sim
from bench.evaluation.guard import bursts

# Of nearline16, 1 % of its cylinders
HOT = {"drive": "nearline16", "locality": "cylinders:5639", "outstanding": "32", "reads": "1",
       "size": "4k"}


def runs(seeds, **settings):
    """A run of each seed."""
    return sim.run_jobs([sim.complete([("seed", str(seed))] + list(settings.items()))
                         for seed in seeds])


def mean(results, *keys):
    """Of one figure."""
    values = []
    for result in results:
        for key in keys:
            result = result[key]
        values.append(result)
    return sum(values) / len(values)


def rate_beside(seeds, task, **settings):
    """(requests/s beside a task, of those without it; the runs beside it)."""
    alone = runs(seeds, task="none", **settings)
    beside = runs(seeds, task=task, **settings)
    found = mean(beside, "requests_per_s") / mean(alone, "requests_per_s")
    print("# %s: %.4f of the requests, each %s; %.1f MB/s free" % (
        task, found, " ".join("%.3f" % (b["requests_per_s"] / a["requests_per_s"])
                              for a, b in zip(alone, beside)), mean(beside, "free_mb_s")),
          flush=True)
    return found, beside


class Orders(unittest.TestCase):
    """Who orders."""

    def test_stream(self):
        """Streams leave no gaps: the drive orders, whatever they do."""
        for reads, size in (("0", "64k"), ("0.5", "64k"), ("1", "4k")):
            with self.subTest(reads=reads, size=size):
                found, beside = rate_beside((1, 2), "scan", drive="nearline16", size=size,
                                            locality="streams:1", outstanding="8", reads=reads,
                                            seconds="5")
                self.assertGreaterEqual(found, 0.99)
                self.assertLess(mean(beside, "free_mb_s"), 1)
                self.assertGreater(mean(beside, "own_order"), 0.9 * mean(beside, "requests"))

    def test_hot_spot(self):
        """It is no stream, and costs what it may, against the drive's own queue, from the first
        second. The five seeds are from 2.4 to 3.5 % above their own runs without a scan, 2.8 % on
        the mean."""
        found, beside = rate_beside((1, 2, 3, 4, 5), "scan", seconds="60", **HOT)
        self.assertEqual(mean(beside, "own_order"), 0)
        self.assertGreaterEqual(found, 0.99)
        self.assertLessEqual(found, 1.03)
        for result in beside:
            self.assertLess(result["response_ms"]["max"], 700)

    def test_deep(self):
        """Zipf's law and requests anywhere: the policy orders, and what it costs to keep to
        read_expire, which the drive's own queue does not, comes out of foreground_cost_ppm. The
        price is found in the first minutes, which count. Of 16 seeds beside 16 outstanding 0.984
        to 1.001, mean 0.9918 +-0.0010."""
        for locality, outstanding, seconds in (("zipf", "16", "120"), ("zipf", "32", "240"),
                                               ("uniform", "32", "240")):
            with self.subTest(locality=locality, outstanding=outstanding):
                found, beside = rate_beside(range(1, 11), "scan", drive="nearline16",
                                            locality=locality, outstanding=outstanding, reads="1",
                                            size="4k", seconds=seconds)
                self.assertEqual(mean(beside, "own_order"), 0)
                self.assertGreaterEqual(found, 0.99)
                self.assertLessEqual(found, 1.01)
                self.assertGreater(mean(beside, "free_mb_s"), 30)
                self.assertLess(mean(beside, "response_ms", "max"), 800)

    def test_trickle(self):
        """A block wanted every 50 ms is not worth the policy's order but beside two outstanding,
        for which it is the drive's."""
        for outstanding in ("32", "4", "2"):
            with self.subTest(outstanding=outstanding):
                found, beside = rate_beside((1, 2, 3, 4, 5), "trickle:50", drive="atlas10k",
                                            outstanding=outstanding, reads="1", size="4k",
                                            seconds="40")
                self.assertGreaterEqual(found, 0.99)
                self.assertLessEqual(found, 1.01)
                share = mean(beside, "own_order") / mean(beside, "requests")
                if outstanding == "2":
                    self.assertLess(share, 0.05)
                else:
                    self.assertGreater(share, 0.85)

    def test_clock(self):
        """Arrivals at random, with a clock that does not go back: the simulator ends if it does."""
        for result in runs((1, 2, 3, 4), task="scan", rate="50", seconds="60", drive="atlas10k"):
            self.assertGreater(result["requests"], 2000)


class Cached(unittest.TestCase):
    """Requests that the drive alone would answer sooner."""

    figures = []

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(1, 6):
                path = os.path.join(folder, "trace")
                bursts(path, seed, 120)
                settings = {"drive": "nearline16", "trace": path, "seconds": "120"}
                cls.figures.append([runs((seed,), task=task, **settings)[0]
                                    for task in ("none", "scan")])

    def ratio(self, kind):
        """Mean response beside a scan, of that without, over all seeds."""
        alone, beside = (mean([pair[i] for pair in self.figures], kind, "mean") for i in (0, 1))
        print("# %s: %.2f and %.2f ms" % (kind, alone, beside), flush=True)
        return beside / alone

    @taptest.missed("13 %: two commands at the drive, and what its cache has waits behind a burst")
    def test_promise(self):
        """foreground_cost_ppm is 10000."""
        self.assertLessEqual(self.ratio("response_ms"), 1.01)

    def test_today(self):
        """What it costs today: who betters this sets other bounds. Seeds were from 1.11 to 1.15
        in the mean response, and from 6.2 to 6.9 ms in that of reads."""
        self.assertGreater(self.ratio("response_ms"), 1.08)
        self.assertLess(self.ratio("response_ms"), 1.19)
        self.assertGreater(mean([pair[1] for pair in self.figures], "read_ms", "mean"), 5)
        self.assertLess(mean([pair[1] for pair in self.figures], "read_ms", "mean"), 8)
