#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""predict: the course of a whole scan in gaps and in idle time."""

import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "..", "tools")
sys.path[:0] = [os.path.join(TOOLS, "python"), TOOLS, HERE]

import numpy as np  # noqa: E402

import taptest  # noqa: E402
from freeblock import sim  # noqa: E402
from freeblock.prediction import freecourse, freeidle  # noqa: E402
from freeblock.prediction.device import Device  # noqa: E402
from research.predictcheck import cells, days  # noqa: E402

NEARLINE = Device.from_drive(sim.drive_file("nearline16"))
ATLAS = Device.from_drive(sim.drive_file("atlas10k"))


def steady(rate):
    """Gaps that bring so many bytes/s until all has been read."""
    return lambda done: rate * np.ones_like(done)


class Course(unittest.TestCase):
    """What can be said without a simulator."""

    def test_gaps_alone(self):
        """At a steady rate: all of it at that rate."""
        # Seen to fail: shares of the parts that do not add up
        found = freecourse.course(NEARLINE, steady(1e8), None)
        self.assertAlmostEqual(found.seconds * 1e8 / NEARLINE.capacity, 1, delta=0.02)
        self.assertAlmostEqual(found.rate[0], 1e8, delta=1e5)
        read = np.diff(np.append(found.done, 1)) * NEARLINE.capacity
        self.assertAlmostEqual(float(np.sum(read / found.rate)) / found.seconds, 1, delta=0.02)

    def test_no_end(self):
        """Nothing is read: no course."""
        self.assertIsNone(freecourse.course(NEARLINE, steady(0.0), None))

    def test_nobody(self):
        """A disk that nobody uses is read at the speed of reads one behind the other."""
        # Seen to fail: pauses spread over all parts though some are done
        found = freecourse.course(NEARLINE, steady(0.0), None, awake=0.0)
        self.assertAlmostEqual(found.rate[0] / freeidle.undisturbed(NEARLINE), 1, delta=0.02)
        self.assertAlmostEqual(found.seconds * freeidle.undisturbed(NEARLINE) / NEARLINE.capacity,
                               1.05, delta=0.1)

    def test_the_end_is_slow(self):
        """The last tenth is inside, and far from where most idle times begin: where the drive reads
        ahead it takes several times as long as the others, and on one that does not, as its
        tracks' rests do."""
        # Seen to fail: no way to the part that is left; rests as good as any read
        for device, least in ((NEARLINE, 3), (ATLAS, 1.5)):
            found = freecourse.course(device, steady(0.0), freeidle.Idle(0.6, 40.0))
            at = np.append(0, np.cumsum(np.diff(np.append(found.done, 1)) / found.rate))
            passed = np.interp((0.5, 0.6, 0.9, 1), np.append(found.done, 1), at)
            self.assertGreater((passed[3] - passed[2]) / (passed[1] - passed[0]), least)


class Simulated(unittest.TestCase):
    """Whole scans beside the simulator's."""

    def test_days(self):
        """Drives that read ahead and that do not, without and with a write cache, half busy: within
        20 % each, and within 12 % on the mean. Seen to fail: no way to the part that is left; the
        goal used up to 0.8, as in the first seconds; a first read after writes that finds the
        head."""
        off = []
        with tempfile.TemporaryDirectory() as out:
            for cell in cells.whole_cells(("atlas10k", "archive8"), out):
                if "60 %" not in cell.label:
                    continue
                row = cells.compare(cell, 3)
                with self.subTest(cell=cell.name, days=row["measured_days"]):
                    self.assertLess(abs(row["error_pct"]), 20)
                    self.assertTrue(row["low_ms"] <= row["measured_ms"] <= row["high_ms"])
                off.append(abs(row["error_pct"]))
        self.assertEqual(len(off), 4)
        self.assertLess(np.mean(off), days.EACH_PCT)


if __name__ == "__main__":
    taptest.main()
