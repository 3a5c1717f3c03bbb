#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock.extraction.walk: every track, every hole and every block that lives
elsewhere, found by timing alone, against where the simulated drive says that each of
its LBNs is. Prints TAP.
"""

import json
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
from freeblock import ToolError  # noqa: E402
from freeblock.extraction.device import Device  # noqa: E402
from freeblock.extraction.layout import PLACE  # noqa: E402
from freeblock.extraction.phase import Phase  # noqa: E402
from freeblock.extraction.walk import walk  # noqa: E402

TOY = os.path.join(taptest.TOP, "tools", "mechdisk", "drives", "toy.fbdrive")
PROGRAM = None
NOISE = "noise laplace 30000\njitter_ns 20000\n"


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

    def drive(self, layout, more=""):
        """The description of a layout's drive."""
        path = os.path.join(self.folder, "drive.fbdrive")
        with open(path, "w", encoding="ascii") as file:
            file.write(layouts.drive_text(layout, more))
        return path

    def walked(self, path, lines=(), **more):
        """Found of a drive."""
        with Device.simulated(path, lines=lines) as dev:
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


def small(seed, sparing, order="plain", **more):
    """Some dozens of cylinders in three zones."""
    return layouts.random_layout(seed, sparing, order, **{
        "cylinders": (20, 40), "spt": (60, 200), **more})


class Drives(Case):
    """Whole drives."""

    def test_toy(self):
        """Slips, remaps in the midst and at the end of tracks, zone offsets."""
        found = self.walked(TOY)
        self.assertEqual((found.heads, found.known_heads), (4, True))
        truth = self.compare(TOY, found)
        self.assertEqual(found.away["block"].tolist(), [2998, 249995, 440078, 899797])
        places = found.layout().locate(np.arange(self.blocks))
        for name in ("cyl", "head", "slot"):
            self.assertEqual(np.count_nonzero(places[name] != truth[name]), 0, name)

    def test_sparing(self):
        """Each sparing scheme, with and without zero-latency access, 2 to 7 heads.

        Seen to fail: without the pass for blocks that live elsewhere; with the borders of
        runs left where the walk met them."""
        for i, sparing in enumerate(layouts.SPARINGS):
            with self.subTest(sparing=sparing):
                drawn = small(i + 1, sparing, heads=2 + i % 6)
                path = self.drive(drawn, NOISE + "zero_latency %s\n" % ("on", "off")[i % 2])
                found = self.walked(path)
                self.assertEqual(found.heads, drawn.heads)
                self.compare(path, found)
                remaps = sum(len(zone.remaps) for zone in drawn.zones)
                self.assertEqual(len(found.away), remaps)

    def test_surfaces(self):
        """Tracks that differ in length by head tell in which order heads are visited."""
        for order in layouts.ORDERS:
            with self.subTest(order=order):
                drawn = small(3, "zone", order, heads=5, surfaces=True)
                path = self.drive(drawn, NOISE)
                found = self.walked(path)
                truth = self.compare(path, found)
                self.assertEqual(found.order == "plain", order == "plain")
                places = found.layout().locate(np.arange(self.blocks))
                for name in ("spt", "slot"):
                    self.assertEqual(np.count_nonzero(places[name] != truth[name]), 0, name)

    def test_jitter(self):
        """Reports without jitter, and late by several slots, on tracks with a spare at the
        end that slips use up without a change of the units they hold.

        Seen to fail: with last units of such tracks believed as soon as they are no later
        than reports may be; without the mean lateness taken off."""
        drawn = small(5, "none", heads=3, spt=(180, 200))
        for zone in drawn.zones:
            tracks = range(zone.slots(3) // zone.spt)
            zone.slips = [(track * zone.spt + (50 if track % 40 == 7 else zone.spt - 1), 1)
                          for track in tracks]
            zone.spares = len(tracks)
        for jitter, angle in ((0, 1e-4), (100000, 0.002)):
            with self.subTest(jitter=jitter):
                path = self.drive(drawn, NOISE + "jitter_ns %d\n" % jitter)
                self.compare(path, self.walked(path), angle)

    def test_equal_skews(self):
        """Where a new cylinder begins does not show: the drive has to say its heads."""
        drawn = small(4, "none", heads=3)
        for zone in drawn.zones:
            zone.cyl_skew = zone.track_skew
        path = self.drive(drawn, NOISE)
        found = self.walked(path, heads=3)
        self.assertEqual((found.heads, found.known_heads), (3, False))
        self.compare(path, found)

    def test_no_skew(self):
        """Tracks, or cylinders, that begin at the angle where the one before ends; all of
        them: it is said that nothing can be told.

        Seen to fail: such a line of tracks taken for a track."""
        text = "fbdrive 1\nperiod_ps 6000000000\nheads 4\nzone 0 59 140 0 %s 100\n" \
            "seek 1 700000\nseek 59 2000000\nhead_switch_ns 1000000\n" + NOISE
        path = os.path.join(self.folder, "drive.fbdrive")
        for skews in ("0 0.2", "0.2 0", "0 0"):
            with open(path, "w", encoding="ascii") as file:
                file.write(text % skews)
            if skews == "0 0":
                with self.assertRaisesRegex(ToolError, "without skews"):
                    self.walked(path)
            else:
                self.compare(path, self.walked(path, heads=4))


class Resumed(Case):
    """A walk that was cut off."""

    def test_resume(self):
        """From what was saved last, with another reference for angles.

        Seen to fail: with angles not aligned to those of the saved state."""
        drawn = small(6, "remaps", heads=4, cylinders=(60, 70))
        path = self.drive(drawn, NOISE)
        states = []

        def save(state):
            states.append(json.dumps(state))
            if len(states) == 2:
                raise InterruptedError

        with Device.simulated(path) as dev:
            self.assertRaises(InterruptedError, walk, dev, Phase.measure(dev, seconds=5),
                              save=save)
            before = dev.disk_ns
        with Device.simulated(path, seed=7) as dev:
            self.blocks, self.unit = dev.blocks, 1
            begun = dev.disk_ns
            found = walk(dev, Phase.measure(dev, block=17, seconds=5), json.loads(states[-1]))
            after = dev.disk_ns - begun
        self.compare(path, found)
        whole = self.walked(path)
        self.assertEqual(found.tracks["first"].tolist(), whole.tracks["first"].tolist())
        self.assertLess(after, self.minutes * 6e10 - before / 2)

    def test_other(self):
        """A state of another drive is refused."""
        with Device.simulated(TOY) as dev:
            phase = Phase.measure(dev, seconds=1)
            self.assertRaisesRegex(ToolError, "of a drive with 5 blocks", walk, dev, phase,
                                   {"blocks": 5})


if __name__ == "__main__":
    PROGRAM = layouts.host_program()
    taptest.main()
