# SPDX-License-Identifier: GPL-2.0
"""Tests of what freeblock extract finds out about caches, against the descriptions of
simulated drives. Takes 1 s.
"""

import os
import unittest

import numpy as np

from taptest import TOP
from drivetruth import Truth
from freeblock.extraction import cache, device

DRIVES = os.path.join(TOP, "tools", "mechdisk", "drives")


def of(drive, *lines):
    """What is found of a drive that is shipped, and lines set after its own."""
    path = os.path.join(DRIVES, drive + ".fbdrive")
    truth = Truth(path, lines)
    with device.Device.simulated(path, lines=lines) as dev:
        found = cache.measure(dev, truth.period_ns)
        return found, dev.disk_ns


class Drives(unittest.TestCase):
    """Of drives with and without caches."""

    def test_none(self):
        """No cache: nothing to tell, and VERIFY reads the medium."""
        found, _ = of("atlas10k")
        self.assertEqual((found.reads, found.ahead, found.verify), (False, False, "medium"))
        self.assertIn("VERIFY: reads the medium (and there is no cache)", found.lines())

    def test_nearline(self):
        """A cache that reads ahead. Seen to fail: one block asked for each time."""
        found, disk_ns = of("nearline16-wc")
        self.assertEqual((found.reads, found.ahead), (True, True))
        self.assertEqual((found.fua_honest, found.verify), (True, "medium"))
        self.assertLess(disk_ns, 2e9)

    def test_verify(self):
        """A VERIFY that looks at the cache, with jitter. Seen to fail: asked with
        FUA reads in place of VERIFY."""
        found = of("nearline16", "verify cache", "jitter_ns 100000")[0]
        self.assertEqual(found.verify, "cache")
        self.assertIn("does NOT read the medium", " ".join(found.lines()))

    def test_discard(self):
        """A drive that keeps only what it has read ahead. Seen to fail: the block
        that was read asked for again."""
        for more, verify in ((), "medium"), (("verify cache",), "cache"):
            found = of("toy", "cache 7 300 0", "read_ahead segment", "discard_read on", *more)[0]
            self.assertEqual((found.kept, found.ahead), (False, True))
            self.assertEqual((found.fua_honest, found.verify), (True, verify))


class Liar:
    """A drive that heeds no FUA, and reads nothing to verify."""

    blocks = 100000
    longest = 64
    ops = staticmethod(device.Device.ops)

    def __init__(self):
        self.held, self.clock = set(), 0
        self.random = np.random.default_rng(1)

    def run(self, ops):
        """Command after command."""
        found = np.zeros(len(ops), device.RESULT)
        for i, op in enumerate(ops):
            fast = int(op["block"]) in self.held or op["op"] == device.VERIFY
            self.clock += int(op["wait"])
            found["submit"][i] = self.clock
            self.clock += 50000 if fast else int(3e6 + 5e6 * self.random.random())
            found["done"][i] = self.clock
            self.held.add(int(op["block"]))
        return found


class Liars(unittest.TestCase):
    """Of a drive in this file."""

    def test_liar(self):
        """Seen to fail: FUA told to be honest whatever the drive does."""
        found = cache.measure(Liar(), 8333333.0)
        self.assertEqual((found.reads, found.fua_honest, found.verify), (True, False, "nothing"))
        self.assertIs(found.ahead, False)
