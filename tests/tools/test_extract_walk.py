#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of fbtools.extraction.walk: every track, every hole and every block that lives
elsewhere, found by timing alone, against where the simulated drive says that each of
its LBNs is. Prints TAP.
"""

import os
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import numpy as np  # noqa: E402

import layouts  # noqa: E402
import taptest  # noqa: E402
from fbtools.extraction.device import Device  # noqa: E402
from fbtools.extraction.layout import PLACE  # noqa: E402
from fbtools.extraction.phase import Phase  # noqa: E402
from fbtools.extraction.walk import walk  # noqa: E402

TOY = os.path.join(taptest.TOP, "tests", "mechdisk", "drives", "toy.fbdrive")
PROGRAM = None


def wrap(turns):
    """Into -0.5 .. 0.5."""
    return turns - np.round(turns)


def expected(found, blocks):
    """PLACE array of blocks, as tracks and holes have them; cyl: number of the track,
    zone: run."""
    tracks = found.tracks
    which = np.searchsorted(tracks["first"], blocks, side="right") - 1
    track = tracks[which]
    passed = np.concatenate(([0], np.cumsum(found.holes["count"])))
    before = passed[np.searchsorted(found.holes["block"], blocks, side="right")] - \
        passed[np.searchsorted(found.holes["block"], track["first"], side="right")]
    places = np.zeros(len(blocks), PLACE)
    places["cyl"], places["spt"] = which, track["spt"]
    places["slot"] = track["slot"] + blocks - track["first"] + before
    places["start"] = (track["start"] + places["slot"] / track["spt"]) % 1
    return places


class Case(unittest.TestCase):
    """A drive, the walk over it, and the truth."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def walked(self, path, lines=(), **more):
        """Found of a drive."""
        with Device.simulated(path, set=lines) as dev:
            self.blocks, self.unit = dev.blocks, dev.unit_bytes // dev.logical_bytes
            found = walk(dev, Phase.measure(dev, seconds=5), **more)
            self.minutes = dev.disk_ns / 6e10
        return found

    def compare(self, path, found, angle=0.002):
        """Everything that was found is as it is, and nothing is missing."""
        blocks = np.arange(self.blocks)
        truth = layouts.drive_places(PROGRAM, path, blocks, self.unit)
        mine = expected(found, blocks)
        home = ~np.isin(blocks, found.away["block"])
        where = truth["cyl"].astype(np.int64) * 256 + truth["head"]
        begins = np.diff(where[home]) != 0
        wrong = np.flatnonzero(begins != (np.diff(mine["cyl"][home]) != 0))
        self.assertEqual(blocks[home][1:][wrong].tolist(), [], "boundaries of tracks")
        for name in ("spt", "slot"):
            wrong = np.flatnonzero(home & (mine[name] != truth[name]))
            self.assertEqual(wrong[:10].tolist(), [], name)
        off = wrap(mine["start"] - truth["start"])[home]
        off = wrap(off - off[0])
        off -= np.median(off)
        self.assertLess(np.quantile(np.abs(off), 0.99), angle, "angles, turns")
        return truth


class Toy(Case):
    """The drive of the tests, with all that a layout can have."""

    def test_toy(self):
        """Slips, remaps, zone offsets, plain order."""
        found = self.walked(TOY)
        self.assertEqual((found.heads, found.known_heads), (4, True))
        self.compare(TOY, found)


if __name__ == "__main__":
    PROGRAM = layouts.host_program()
    taptest.main()
