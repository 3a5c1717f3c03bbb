# SPDX-License-Identifier: GPL-2.0
"""Tests of the mechanics that freeblock extract measures: overheads, head switch, seek
profile and spread, zero-latency access, against the descriptions of simulated drives,
whose layouts it is given. Takes 10 s.
"""

import os
import unittest
from unittest import mock

import numpy as np

from taptest import TOP
from drivetruth import Truth
from freeblock import ToolError
from freeblock.extraction import mechanics, onebit, slow
from freeblock.extraction.device import Device
from freeblock.extraction.phase import Phase

DRIVES = os.path.join(TOP, "tools", "mechdisk", "drives")
SLOW = (500, 999)       # the toy's second zone


def bench_of(drive, *lines):
    """(device, truth, what the measurements need) of a drive that is shipped."""
    path = os.path.join(DRIVES, drive)
    truth = Truth(path, lines)
    dev = Device.simulated(path, lines=lines)
    return dev, truth, mechanics.Bench(dev, truth.layout, Phase.measure(dev, seconds=3))


def within(bench):
    """(ns between two commands on a track, ns of a head switch)."""
    with mock.patch.object(mechanics, "distances", lambda _: [1]):
        moves = mechanics.Moves(bench)
    moves.measure(3e3, 200, 60)
    same = moves.within(mechanics.SAME)
    return same, moves.within(mechanics.SWITCH) - same


class Bits(unittest.TestCase):
    """Times from trials of one bit, of times made up."""

    def made_up(self, draw, times=12, count=300):
        """What is made of trials of times drawn by `draw`, the same spread of all; every
        50th a turn late."""
        random = np.random.default_rng(1)
        bits = onebit.Bits(times, 6e6, mechanics.LONGEST_NS, np.ones((times, times)))
        which = np.repeat(np.arange(times), 10)
        for _ in range(count // 10):
            aims = np.concatenate([bits.sample(i, 10, random) for i in range(times)]) \
                if len(bits.limits[0]) < 40 else bits.aim(which, random)
            took = draw(random, len(aims)) + 6e6 * (random.random(len(aims)) < 0.02)
            limits = aims % 6e6
            bits.add(which, limits + 6e6 * np.ceil(np.maximum((took - limits) / 6e6, 0)))
            if len(bits.limits[0]) in (40, 100, 200):
                bits.fit()
        bits.fit()
        return bits

    def test_laplace(self):
        """Mean and spread of what is longer than two turns. Seen to fail: limits half a
        spread off."""
        bits = self.made_up(lambda random, n: random.laplace(13e6, 120e3 / np.sqrt(2), n))
        self.assertLess(np.max(np.abs(bits.mean - 13e6)), 30e3)
        self.assertLess(abs(np.mean(bits.mean) - 13e6), 8e3)
        self.assertLess(np.max(np.abs(bits.spread / 120e3 - 1)), 0.25)

    def test_normal(self):
        """Of another kind. Seen to fail: limits half a spread off."""
        bits = self.made_up(lambda random, n: random.normal(1e6, 40e3, n))
        self.assertLess(np.max(np.abs(bits.mean - 1e6)), 10e3)
        self.assertLess(np.max(np.abs(bits.spread / 40e3 - 1)), 0.25)


class OfTheToy(unittest.TestCase):
    """All of it, at a small drive with defects."""

    def test_quick(self):
        """Seen to fail: seeks that begin a unit later than planned."""
        path = os.path.join(DRIVES, "toy.fbdrive")
        truth = Truth(path)
        states = []
        with Device.simulated(path) as dev:
            phase = Phase.measure(dev, seconds=5)
            found = mechanics.measure(dev, truth.layout, phase, keep=states.append)
            self.assertLess(dev.disk_ns, 60e9)
        self.assertLess(abs(found["read_overhead_ns"] + found["read_report_ns"] -
                            truth.overhead_ns), 10e3)
        self.assertLess(abs(found["head_switch_ns"] - 500e3), 5e3)
        self.assertIs(found["zero_latency"], False)
        at, ns = np.array(found["seek"]).T
        self.assertLess(np.max(np.abs(ns - truth.seek_ns(at))), 30e3)
        self.assertLess(np.max(np.abs(np.interp(truth.seek[0], at, ns) - truth.seek[1])), 30e3)
        for _, spread in found["seek_spread"]:
            self.assertLess(abs(spread - 30e3), 15e3)
        self.check_again(truth, found, states[-1])

    def check_again(self, truth, found, state):
        """Taken up after the last trial, little is left to do; and a model can be made."""
        with Device.simulated(os.path.join(DRIVES, "toy.fbdrive")) as dev:
            bench = mechanics.Bench(dev, truth.layout, Phase.measure(dev, seconds=3))
            seeks, began = mechanics.Moves(bench, state), dev.disk_ns
            seeks.measure(mechanics.SURE_NS["quick"], mechanics.LEAST["quick"], 300)
            self.assertLess(dev.disk_ns - began, 2e9)
            self.assertEqual([d for d, _ in seeks.means()], [d for d, _ in found["seek"]])
        text = truth.layout.to_model({"vendor": "A", "product": "B"},
                                     {**found, "period_ps": 6e9})
        self.assertIn(b"\nseek_spread 1 ", text)


    def test_slow(self):
        """A zone to which each seek takes a turn more is found, and its turns are no part of the
        seek profile; without one nothing is found. Seen to fail: turns that stay in."""
        path = os.path.join(DRIVES, "toy.fbdrive")
        for lines in ([], ["slow_region %d %d" % SLOW]):
            truth = Truth(path, lines)
            with Device.simulated(path, lines=lines) as dev:
                phase = Phase.measure(dev, seconds=5)
                found = slow.find(dev, truth.layout, phase.period_ns)
                slow.marked(truth.layout, found)
                self.assertEqual([(zone.first_cyl, zone.last_cyl) for zone in truth.layout.zones
                                  if zone.slow], [SLOW] * len(lines))
                self.assertEqual(len(found), len(lines))
                seeks = mechanics.Moves(mechanics.Bench(dev, truth.layout, phase))
                seeks.bench.settled_ns = truth.overhead_ns + 50e3
                seeks.measure(mechanics.SURE_NS["quick"], mechanics.LEAST["quick"], 40)
                at, ns = np.array(seeks.means()).T
                self.assertLess(np.max(np.abs(ns - truth.seek_ns(at))), 30e3)
                self.assertGreater(len(at), 0.9 * len(seeks.list))


class OfOthers(unittest.TestCase):
    """What the toy does not show."""

    def test_overheads(self):
        """A drive with a cache, its electronics slower than a head switch. Seen to fail:
        waits that begin at the end of the unit before, not when the command is sent."""
        dev, truth, bench = bench_of("nearline16.fbdrive", "overhead_ns read_miss 700000 700000",
                                     "jitter_ns 0", "head_switch_ns 300000")
        with dev:
            self.assertLess(abs(mechanics.overhead(bench) - truth.overhead_ns), 5e3)
            self.assertLess(abs(within(bench)[1] - 300e3), 5e3)

    def test_no_overhead(self):
        """Electronics that take no time, measured 54 ns too short: a model can say it. Seen to
        fail: an extraction ended, when all was measured, with an overhead of -27 ns."""
        moves = mock.MagicMock(rounds=0)
        moves.within.return_value = 0.0
        with mock.patch.multiple(
                mechanics, Bench=mock.MagicMock(), Moves=mock.MagicMock(return_value=moves),
                overhead=mock.MagicMock(return_value=-54.0), zero_latency=mock.MagicMock()):
            found = mechanics.measure(mock.MagicMock(), mock.MagicMock(), mock.MagicMock())
        self.assertEqual((found["read_overhead_ns"], found["read_report_ns"]), (0, 0))

    def test_jitter(self):
        """Completions that are up to 100 us late. Seen to fail: aims that do not heed it."""
        dev, truth, bench = bench_of("nearline16-512e.fbdrive", "jitter_ns 100000")
        with dev:
            self.assertLess(abs(mechanics.overhead(bench) - truth.overhead_ns), 10e3)
            self.assertLess(abs(within(bench)[1] - 1000e3), 10e3)

    def test_order(self):
        """A drive that reads on a little after each read, and then chooses the next, which
        by then are two: what it reads on is no part of a seek. Seen to fail: without pairs."""
        dev, truth, bench = bench_of("toy.fbdrive", "cache 16 1000 0", "read_ahead segment",
                                     "read_ahead_least 8")
        with dev:
            seeks = mechanics.Moves(bench)
            seeks.search(lambda share: None)
            self.assertTrue(bench.pairs)
            rough = np.array([float(seeks.bits.rough(i)) for i in range(len(seeks.list))])
            error = (rough - rough[0] - truth.seek_ns(seeks.list))[2:]
            self.assertLess(abs(np.median(error)), 100e3)

    def test_wrong_layout(self):
        """A layout that is not the drive's is found out. Seen to fail: without the check."""
        dev, truth, bench = bench_of("toy.fbdrive")
        with dev:
            for zone in truth.layout.zones:
                zone.track_skew += 0.03
            with self.assertRaisesRegex(ToolError, "not where the layout says"):
                mechanics.overhead(bench)
                mechanics.Moves(bench).measure(6e3, 90, 300)

    def test_arm_waits(self):
        """A drive whose arm moves on with the report: that shows, and is no part of a move."""
        dev, truth, bench = bench_of("toy.fbdrive", "early_seek off", "jitter_ns 0")
        with dev:
            mechanics.overhead(bench)
            overlap, switch = within(bench)
            self.assertLess(abs(overlap - 13200), 5e3)
            self.assertLess(abs(switch - 500e3), 5e3)
            self.assertEqual(truth.ns("head_switch_ns"), 500000)

    def test_zero_latency(self):
        """Drives that begin anywhere, and not. Seen to fail: the other way round."""
        for word, wanted in (("on", True), ("off", False)):
            dev, _, bench = bench_of("atlas10k.fbdrive", "zero_latency " + word)
            with dev:
                self.assertIs(mechanics.zero_latency(bench), wanted)


class Distances(unittest.TestCase):
    """Which seeks are measured."""

    def test_density(self):
        """The paper's, and not too many on a large drive; a full stroke at last."""
        small, large = mechanics.distances(10042), mechanics.distances(564000)
        self.assertEqual(len(small), 138)
        self.assertEqual(small[-3:], [9900, 10000, 10041])
        self.assertLess(len(large), 130)
        self.assertEqual(large[-1], 563999)
        self.assertEqual(mechanics.distances(3), [1, 2])
