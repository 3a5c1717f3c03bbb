# SPDX-License-Identifier: GPL-2.0
"""Idle reads of a drive of which nothing is known, in the simulator: what they bring and what they
cost, with the write cache on, with writes held back, and off; what a map adds. Takes 15 s.

Means of three seeds, 100 s each, against the same foreground without a scan. Each bound is told
with the means of four such threes (seeds 1 to 12), which is their spread. Seen to fail: a cursor
that stays where it is (order near without fb_idle_order_ask.aimed; cached, 45 MB/s), late reads
that are charged in full (held, 69 MB/s), a drive that holds writes back and is not read over them
(held, 82 MB/s), idle reads that do not wait for the drive to write (held, reads +7.5 %), an account
that sees nothing (verify, 73 MB/s).
"""

import os
import unittest

from taptest import TOP
from freeblock import ToolError, sim

SEEDS = ("1", "2", "3")
CELL = {"drive": "nearline16-wc", "rate": "24", "seconds": "100", "preset": "module"}
NONE = {"task": "scan", "knowledge": "none"}
OF_SCAN = ("idle_command", "start")


def means(level="none", **settings):
    """(MB/s, by how many per cent reads take longer)"""
    alone = {name: value for name, value in settings.items() if name not in OF_SCAN}
    cells = [sim.complete([*{**CELL, "seed": seed, **more}.items()])
             for seed in SEEDS for more in ({**settings, **NONE, "knowledge": level}, alone)]
    got = sim.run_jobs(cells)
    scan, alone = got[::2], got[1::2]
    return (sum(r["free_mb_s"] for r in scan) / len(SEEDS),
            100 * (sum(r["read_ms"]["mean"] for r in scan) /
                   sum(r["read_ms"]["mean"] for r in alone) - 1))


class Knowledge(unittest.TestCase):
    """A drive of which only the size is known."""

    def assert_means(self, free, reads, **settings):
        """Both means lie between bounds."""
        got = means(**settings)
        for value, (low, high), what in zip(got, (free, reads), ("MB/s", "reads, %")):
            self.assertTrue(low <= value <= high, "%s: %.1f, not %g to %g" %
                            (what, value, low, high))

    def test_cached(self):
        """Means of three: 107.5 to 109.5 MB/s, reads 3.3 to 3.7 % longer."""
        self.assert_means((104, 113), (2.4, 4.8))

    def test_held(self):
        """Writes stay in the cache for half a second. 98.7 to 102.6 MB/s, .1 to 1.1 %."""
        self.assert_means((95, 106), (-1, 2.8), set="destage_delay_ns 500000000")

    def test_off(self):
        """No write cache. 108.1 to 110.5 MB/s, 2.7 to 3.2 %."""
        self.assert_means((106, 113), (1.8, 4.2), drive="nearline16")

    def test_verify(self):
        """VERIFY, which nothing is read ahead for, so that the goal is what limits. 35.9 to 38.0
        MB/s, 5.1 to 5.7 %."""
        self.assert_means((32, 42), (3.4, 6.5), idle_command="verify")

    def test_map(self):
        """A map tells where to read when the drive does not read ahead, or little is left. VERIFY:
        65.5 to 72.4 MB/s, 5.3 to 5.7 %; a tenth left at random: 12.9 to 13.4 MB/s, 5.6 to 6.7 %,
        without a map 4.9 to 5.2 MB/s. Seen to fail: the head that is not looked at."""
        self.assert_means((60, 77), (4, 7.5), level="map", idle_command="verify")
        self.assert_means((11.4, 15), (4.6, 8), level="map", start="random:0.9")

    def test_levels(self):
        """Rates are learnt on the way; the model's file is not read, and its numbers are unused."""
        cell = {**CELL, **NONE, "seconds": "20"}
        none, rates, other = (sim.simulate(**{**cell, **more}) for more in (
            {}, {"knowledge": "rates"}, {"model": os.path.join(TOP, "README.md")}))
        for result in (none, rates, other):
            for name in ("wall_s", "settings"):
                result.pop(name)
        self.assertEqual(none, rates)
        self.assertEqual(none, other)
        self.assertNotIn("head", none)

    def test_refused(self):
        """Words that are none; more commands at the drive than its own order needs."""
        for said, more in (("--knowledge: not none, rates or map: 'some'", {"knowledge": "some"}),
                           ("--depth: without a map", {"depth": "2"})):
            with self.assertRaises(ToolError) as caught:
                sim.simulate(**{**CELL, **NONE, "seconds": "1", **more})
            self.assertIn(said, str(caught.exception))
