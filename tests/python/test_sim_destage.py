# SPDX-License-Identifier: GPL-2.0
"""Tests of a scan beside a drive whose write cache is on: who orders, when the drive is clean, what
the scan brings and costs; flushes and FUA. Means of seeds that were not used for tuning. Prints
TAP; 20 s.

Seen to fail with: fb_destage_orders() false (writes wait), true (no gaps); fb_writeback_find()
that finds nothing (63.3 MB/s at 60 %, 0 in a closed loop of one); flushes sent as reads of no
sectors.
"""

import unittest

import taptest
from freeblock import sim

WC = {"drive": "nearline16-wc", "seconds": "200"}
ALONE = {"policy": "none"}
MODULE = {"preset": "paper", "policy": "auto", "depth": "auto", "task": "scan", "idle": "on",
          "conservatism_us": "auto", "lift": "auto", "max_sectors": "2560",
          "max_prepend_sectors": "2560"}
# The 99th percentile of reads rises by 1.2 %, with a standard deviation of 2.7 % from seed to seed
SEEDS = [str(seed) for seed in range(201, 209)]
MANY = [str(seed) for seed in range(201, 213)]


def runs(seeds=SEEDS, **settings):
    """The results of all seeds."""
    return [sim.simulate(**WC, seed=seed, **settings) for seed in seeds]


def mean(results, *path):
    """The mean of one figure."""
    total = 0
    for result in results:
        for name in path:
            result = result[name]
        total += result
    return total / len(results)


class Loads(unittest.TestCase):
    """Poisson arrivals, two reads to a write."""

    def beside(self, rate, free, writes=(0.98, 1.02), **settings):
        """A scan brings `free` MB/s, and reads and writes hardly notice it; `writes`: where the
        latter's p99 with it lies, of that without."""
        alone, scan = runs(**ALONE, rate=rate, **settings), runs(**MODULE, rate=rate, **settings)
        self.assertTrue(free[0] <= mean(scan, "free_mb_s") <= free[1], mean(scan, "free_mb_s"))
        self.assertLess(mean(scan, "read_ms", "mean"), 1.05 * mean(alone, "read_ms", "mean"))
        self.assertLess(mean(scan, "read_ms", "p99"), 1.05 * mean(alone, "read_ms", "p99"))
        slower = mean(scan, "write_ms", "p99") / mean(alone, "write_ms", "p99")
        self.assertTrue(writes[0] < slower < writes[1], slower)
        return alone, scan

    def test_load(self):
        """30 and 60 %: these seeds have 115.9 and 68.2 MB/s, 5 % less and more are let through, and
        reads are 2.7 and 2.2 % longer, of 3.5. The account is true within a half: it has 1.16 and
        .90 of the truth."""
        for rate, free in (("24", (110, 121)), ("48", (65, 72))):
            alone, scan = self.beside(rate, free)
            self.assertLess(mean(scan, "read_ms", "mean"), 1.035 * mean(alone, "read_ms", "mean"))
            true = mean(scan, "read_ms", "mean") - mean(alone, "read_ms", "mean")
            charged = mean(scan, "idle", "mean_us") / 1e3
            self.assertTrue(0.67 < charged / true < 1.5, (charged, true))

    @taptest.missed("1.1 ms of 1 (seeds differ by 0.6)")
    def test_promise_order(self):
        """Idle reads delay the foreground by idle_mean_us at most, whatever the drive's own order:
        here C-LOOK."""
        firmware = {"set": "firmware clook", "rate": "79"}
        alone, scan = runs(**ALONE, **firmware), runs(**MODULE, **firmware)
        taptest.promise("later, ms", mean(scan, "read_ms", "mean") -
                        mean(alone, "read_ms", "mean"), 1)

    def test_closed(self):
        """A closed loop of one has gaps while nothing is left to be written: 8.1 MB/s at .1 %."""
        closed = {"outstanding": "1", "locality": "uniform"}
        alone, scan = runs(SEEDS[:3], **ALONE, **closed), runs(SEEDS[:3], **MODULE, **closed)
        self.assertGreater(mean(scan, "free_mb_s"), 6)
        self.assertGreater(mean(scan, "requests_per_s"), 0.995 * mean(alone, "requests_per_s"))

    def test_fsync(self):
        """Flushes, which the scheduler does not see: as fast as without a scan."""
        alone, scan = self.beside("48", (61, 68), fsync="0.5")
        self.assertGreater(mean(alone, "flush_ms", "mean"), 5)
        self.assertLess(mean(scan, "flush_ms", "mean"), 1.1 * mean(alone, "flush_ms", "mean"))

    def test_fua(self):
        """FUA goes to the medium: its writes are as slow as with the cache off, and meet idle reads
        as reads do: of three sets of eight seeds their p99 was 2.7, 3.8 and 2.4 % longer."""
        some = runs(**ALONE, rate="24", fua="1")
        self.assertGreater(mean(some, "write_ms", "mean"), 10)
        self.beside("24", (102, 114), writes=(1, 1.05), fua="0.3", fsync="0.5")

    def test_delay(self):
        """A drive that holds writes back for 100 ms: as much as with two commands, and cheaper.
        These seeds have 102.0 MB/s."""
        slow = {"set": "destage_delay_ns 100000000", "rate": "24"}
        alone, scan = runs(MANY, **ALONE, **slow), runs(MANY, **MODULE, **slow)
        two = runs(MANY, **{**MODULE, "depth": "2"}, **slow)
        self.assertTrue(97 < mean(scan, "free_mb_s") < 107, mean(scan, "free_mb_s"))
        self.assertGreater(mean(scan, "free_mb_s"), 0.9 * mean(two, "free_mb_s"))
        self.assertLess(mean(scan, "write_ms", "mean"), 1.02 * mean(alone, "write_ms", "mean"))


class Order(unittest.TestCase):
    """Who orders."""

    def test_reads_only(self):
        """A closed loop that only reads has its gaps. Under auto they pay for read_expire, too,
        which the drive's own queue does not keep to."""
        closed = {**MODULE, "idle": "off", "reads": "1", "outstanding": "10"}
        got = mean(runs(**closed), "free_mb_s")
        two = mean(runs(**{**closed, "depth": "2"}), "free_mb_s")
        self.assertGreater(two, 5)
        self.assertGreater(got, 0.95 * two)

    def test_depth_two(self):
        """Two commands stay two commands, with writes that wait."""
        two = runs(**{**MODULE, "depth": "2"}, rate="48")
        self.assertEqual(max(r["most_at_drive"] for r in two), 2)
        self.assertGreater(mean(two, "write_ms", "mean"), 2)
        self.assertEqual(mean(two, "own_order"), 0)

    def test_cache_off(self):
        """With the cache off nothing is believed of one."""
        off = sim.simulate(**{**WC, "drive": "nearline16", **MODULE}, rate="24")
        self.assertNotIn("destage", off["idle"])
        self.assertEqual(off["own_order"], 0)
