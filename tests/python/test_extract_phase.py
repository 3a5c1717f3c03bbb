# SPDX-License-Identifier: GPL-2.0
"""Tests of the rotation period and phase that freeblock extract measures, against the
descriptions of simulated drives, and against a drive in this file whose speed drifts,
whose host hiccups, or whose answers come too late. Takes 1 s.
"""

import os
import unittest

import numpy as np

from taptest import TOP
from freeblock import ToolError
from freeblock.extraction import device
from freeblock.extraction.phase import Phase

DRIVES = os.path.join(TOP, "tools", "mechdisk", "drives")
TURN_NS = 8333333.0


class Fake:
    """A drive whose blocks all end at angle 0. `drift`: parts its period grows a second;
    `jitter`, `slow`: ns; `hiccups`: share of reads reported 0 to 3 turns late; `cached`:
    nothing is read from the medium."""

    blocks = 1000
    ops = staticmethod(device.Device.ops)

    def __init__(self, drift=0.0, jitter=20000.0, slow=100000.0, hiccups=0.0, cached=False):
        self.drift, self.jitter, self.slow = drift, jitter, slow
        self.hiccups, self.cached = hiccups, cached
        self.clock = 0.0
        self.random = np.random.default_rng(1)

    def turns_at(self, ns):
        """Turns since the beginning: 1 / (TURN_NS * (1 + drift * t)), integrated."""
        return ns / TURN_NS - self.drift * ns * ns * 1e-9 / (2 * TURN_NS)

    def instant(self, turns):
        """When that many turns are done."""
        ns = turns * TURN_NS
        for _ in range(6):
            ns += (turns - self.turns_at(ns)) * TURN_NS
        return ns

    def wait(self, seconds):
        """Nobody asks for a while."""
        self.clock += seconds * 1e9

    def run(self, ops):
        """Read after read."""
        found = np.zeros(len(ops), device.RESULT)
        for i, op in enumerate(ops):
            self.clock += float(op["wait"])
            found["submit"][i] = self.clock
            end = self.clock + self.slow
            if not self.cached:
                end = self.instant(np.ceil(self.turns_at(end)))
            if self.random.random() < self.hiccups:
                end += self.random.random() * 3 * TURN_NS
            self.clock = end + self.random.random() * self.jitter
            found["done"][i] = self.clock
        return found


class OfSimulatedDrives(unittest.TestCase):
    """What the description says is the truth; extract never sees it."""

    def check(self, drive, period_ns, ppm, *lines):
        """A measured period against the description's."""
        with device.Device.simulated(os.path.join(DRIVES, drive), lines=lines) as dev:
            phase = Phase.measure(dev)
            self.assertLess(abs(phase.period_ns / period_ns - 1) * 1e6, ppm)
            self.assertLess(phase.period_err_ppm, ppm + 0.1)
            self.assertLess(dev.disk_ns, 25e9)

    def test_period(self):
        """Of drives that turn as they say and not, with and without jitter."""
        self.check("atlas10k.fbdrive", 5985037.406, 0.1)
        self.check("nearline16-ppm.fbdrive", 8333333.333 / (1 + 2350e-9), 0.1)
        self.check("archive8.fbdrive", 11111111.111 * (1 - 9000e-6 / 1.009), 0.1,
                   "rpm_error_ppm 9000")
        self.check("toy.fbdrive", 6000000, 0.5, "jitter_ns 100000")
        self.check("toy.fbdrive", 6000000, 0.01, "jitter_ns 0")
        # the block in the middle cannot be read. Seen to fail: no other one tried
        self.check("toy.fbdrive", 6000000, 0.5, "medium_error 511880 1 recovery_ms=20")

    def test_angles(self):
        """Other blocks of the reference's track end where they should, minutes later.
        Seen to fail: anchors at the mean of the reads' ends, not at their lower edge."""
        with device.Device.simulated(os.path.join(DRIVES, "atlas10k.fbdrive")) as dev:
            phase = Phase.measure(dev, block=800)
            for _ in range(3):
                found = dev.run(dev.ops([800] + [833] * 20, wait=[20 * 10 ** 9] + [0] * 20))
                late = ((phase.turns(found["done"][1:]) - 33 / 334 + 0.5) % 1 - 0.5) * 5985037
                self.assertLess(abs(late.min()), 10000)
                self.assertLess(late.max(), 35000)
                phase.refresh(dev)


class OfAFake(unittest.TestCase):
    """A drive that does what simulated ones cannot."""

    def lag(self, dev, phase):
        """How far a read's predicted angle is off, ns."""
        found = dev.run(dev.ops([5] * 10))
        late = ((phase.turns(found["done"]) + 0.5) % 1 - 0.5) * TURN_NS
        return late.min()

    def test_drift(self):
        """200 ppm an hour, and a refresh every 5 s. Seen to fail: without refresh; with
        lines alone through the anchors."""
        dev = Fake(drift=200e-6 / 3600)
        phase = Phase.measure(dev)
        for _ in range(120):
            dev.wait(5)
            self.assertLess(abs(self.lag(dev, phase)), 15000)
            phase.refresh(dev)
        now = TURN_NS * (1 + dev.drift * dev.clock * 1e-9)
        self.assertLess(abs(phase.local_ns / now - 1) * 1e6, 1)

    def test_pause(self):
        """A quarter of an hour of something else, at a drifting drive. Seen to fail: the
        period before taken for that after."""
        dev = Fake(drift=200e-6 / 3600)
        phase = Phase.measure(dev)
        dev.wait(900)
        phase.refresh(dev)
        dev.wait(5)
        self.assertLess(abs(self.lag(dev, phase)), 10000)

    def test_hiccups(self):
        """A tenth of the reads is reported at any later time. Seen to fail: anchors at the
        mean of the reads' ends."""
        dev = Fake(hiccups=0.1)
        phase = Phase.measure(dev)
        self.assertLess(abs(phase.period_ns / TURN_NS - 1) * 1e6, 1)

    def test_slow(self):
        """A drive that takes more than a turn to begin. Seen to fail: without
        Phase._divided()."""
        phase = Phase.measure(Fake(slow=1.3 * TURN_NS))
        self.assertLess(abs(phase.period_ns / TURN_NS - 1) * 1e6, 0.5)

    def test_cached(self):
        """Reads that do not come from the medium tell nothing."""
        with self.assertRaisesRegex(ToolError, "not come from the medium"):
            Phase.measure(Fake(cached=True))
