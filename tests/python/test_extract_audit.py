# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock.extraction.audit: what is wrong in a layout is named, and nothing else is.
And some drives drawn at random (bench.extractrandom).

Seen to fail: tracks not read as wholes; what is usual not minded (both: alike); angles taken for
right (wrong_slip, distrusted).
"""

import os
import shutil
import tempfile
import unittest
from dataclasses import replace
from unittest import mock

import numpy as np

import taptest
from freeblock.extraction import audit
from freeblock.extraction.device import Device
from freeblock.extraction.phase import Phase
from freeblock.extraction.places import Layout
from freeblock.formats import fbmodel
from freeblock.formats.fbmodel import seal
from freeblock.sim import truth
from bench import extractrandom, extractscore

# Five heads of different lengths in serpentine order: slips, and a remap (added) whose spare passes
# a sixth of a slot beside its home
DRIVE = """fbdrive 1
product FIVE
serial FIVE01
period_ps 8333333333
seed 5
heads 5
order serpentine
translate off
head_switch_ns 700000
zero_latency on
noise laplace 30000
command_overhead_ns 60000 90000
bus_ns 1500
completion_overhead_ns 15000
jitter_ns 10000
seek 1 800000
seek 79 1800000
zone 0 39 200 0 0.11 0.19 400
zone 40 79 190 0.3 0.11 0.19 190
zone_heads 0 200 192 197 200 188
slip 0 4000 20123 30777
"""
DRAWN = 6                       # random drives


class Case(unittest.TestCase):
    """A drive and its true layout."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "drive.fbdrive")

    def drive(self, more=""):
        """The drive with something more: its layout in units."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write(DRIVE + more)
        return Layout.of_model(fbmodel.Model(truth.model(self.path), self.path))

    def audited(self, layout, budget_s=300):
        """What the audit says of a layout of the drive."""
        with Device.simulated(self.path) as dev:
            return audit.audit(dev, Phase.measure(dev, seconds=5), layout, budget_s)

    @staticmethod
    def named(found, why):
        """The blocks that are named for a reason."""
        return {block for first, last, reason in found.doubts if reason == why
                for block in range(first, last + 1)}


class Audits(Case):
    """The true layout, and spoilt ones."""

    def test_true(self):
        """Of the truth nothing is named."""
        layout = self.drive()
        found = self.audited(layout)
        self.assertEqual((found.doubts, found.wrong, found.reason), ([], 0, ""))
        self.assertEqual(found.tracks, found.of)

    def test_true_late(self):
        """The same where reports are late by 30 us, which is more of a short zone's turn than
        half a slot needs, and where some tracks take two commands and others one."""
        # Seen to fail: a mean of few reads against one of many (zones turned by 0.002); what
        # tracks save that are read by one command asked of those that take two
        for change in ((("jitter_ns 10000", "jitter_ns 30000"),
                        ("zone 0 39 200 0 0.11 0.19 400", "zone 0 39 200 0 0.11 0.19 0"),
                        ("zone 40 79 190 0.3 0.11 0.19 190", "zone 40 139 60 0.3 0.11 0.19 0")),
                       (("zone 0 39 200 0 0.11 0.19 400", "zone 0 15 1040 0 0.11 0.19 0"),
                        ("zone 40 79 190 0.3 0.11 0.19 190", "zone 16 31 1000 0.3 0.11 0.19 0"))):
            text = DRIVE
            for old, new in (*change, ("zone_heads 0 200 192 197 200 188\n", ""),
                             ("slip 0 4000 20123 30777\n", "")):
                text = text.replace(old, new)
            with mock.patch.dict(globals(), DRIVE=text):
                found = self.audited(self.drive())
            self.assertEqual((found.doubts, found.reason), ([], ""))

    def test_midst(self):
        """A read that finds the head within its block ends early, on a drive that begins anywhere;
        the block is where it is. Seen to fail: the earliest read believed (every twelfth track of
        a random drive was read block by block, and the time did not suffice for half of them)."""
        text = DRIVE.replace("zone_heads 0 200 192 197 200 188\n", "").replace(
            " 200 0 0.11", " 1600 0 0.11").replace(" 190 0.3 ", " 1520 0.3 ")
        with mock.patch.dict(globals(), DRIVE=text[:text.index("slip")] + "physical_exponent 3\n"):
            layout = self.drive()
        places = layout.locate(np.arange(layout.blocks // 8) * 8)
        layout = Layout(layout.heads, layout.cylinders, layout.order, [
            replace(zone, spt=zone.spt // 8, spares=zone.spares // 8) for zone in layout.zones])
        blocks = np.unique(np.concatenate((np.arange(20, 4000, 20), np.arange(23, 4000, 100))))
        self.assertEqual(layout.locate(blocks)["start"].tolist(), places["start"][blocks].tolist())
        with Device.simulated(self.path) as dev:
            off = audit._Auditor(dev, Phase.measure(dev, seconds=5), layout)._off(
                blocks, layout.locate(blocks)["spt"])
        self.assertLess(np.abs(off).max(), audit.HALF)

    def test_alike(self):
        """A block whose spare passes where the block itself would, to half a slot, in the midst of
        a track; or the last block of a whole one, which costs no more than a drive with
        zero-latency access saves on other tracks."""
        layout = self.drive()
        tracks = layout.tracks(0, 30000)
        tracks = tracks[tracks["count"] == tracks["spt"]]
        lasts = tracks["first"] + tracks["count"] - 1
        for slots in (np.arange(100, 30000),
                      layout.index.number(lasts, np.zeros(len(lasts), np.int64))):
            layout = self.drive("remap 0 %d %d\n" % self.alike(slots))
            block = int(layout.index.moved_block[0])
            zones = [replace(zone, remaps=[]) for zone in layout.zones]
            found = self.audited(Layout(layout.heads, layout.cylinders, layout.order, zones))
            named = [row for row in found.doubts if row[0] <= block <= row[1]]
            self.assertEqual(len(named), 1, found.doubts)
            if slots[0] == 100:
                self.assertEqual(found.doubts, [[block, block, audit.ELSEWHERE]])
                self.assertEqual(found.away["block"].tolist(), [block])

    def alike(self, slots):
        """A slot of zone 0, of these, and a spare of it at the same angle, to a quarter of one."""
        layout = self.drive()
        end = int(layout.index.number(layout.index.first[1] - 1, np.int64(0)))
        at = layout.slot_place(slots, np.zeros(len(slots), np.int64))
        spares = np.arange(end + 50, end + 150)
        for spare, place in zip(spares, layout.slot_place(spares, np.zeros(100, np.int64))):
            off = np.abs((at["start"] + 1 / at["spt"] - place["start"] - 1 / place["spt"] + 0.5)
                         % 1 - 0.5) * at["spt"]
            near = np.flatnonzero((off < 0.25) & (off > 0.1))
            if len(near):
                return int(slots[near[0]]), int(spare)
        raise AssertionError("no such spare")

    def test_wrong_slip(self):
        """A slip some tracks late: all blocks between are named, no others but neighbours'."""
        layout = self.drive()
        first = replace(layout.zones[0], slips=[(4000, 1), (20123, 1), (31777, 1)])
        found = self.audited(Layout(layout.heads, layout.cylinders, layout.order,
                                    [first, layout.zones[1]]))
        named = self.named(found, audit.ANGLE)
        self.assertLessEqual(set(range(30777 - 2, 31777 - 2)), named)
        self.assertLess(len(named), 1000 + 10 * 200)
        self.assertEqual(found.reason, "")

    def test_distrusted(self):
        """A skew that is off: too much is wrong to be trusted."""
        layout = self.drive()
        zones = [replace(zone, track_skew=0.12) for zone in layout.zones]
        found = self.audited(Layout(layout.heads, layout.cylinders, layout.order, zones))
        self.assertIn("are not as the model says", found.reason)

    def test_physical(self):
        """Behind tracks that are elsewhere others may begin within a physical block, where it has
        several, up to the zone's end; behind a block that lives elsewhere they do not."""
        layout = self.drive()
        wrong = Layout(layout.heads, layout.cylinders, layout.order, [
            replace(layout.zones[0], slips=[(4000, 1), (20123, 1), (31777, 1)]), layout.zones[1]])
        for exponent, first in ((0, None), (3, 30777)):
            with Device.simulated(self.path) as dev:
                phase = Phase.measure(dev, seconds=5)
                dev.logical_bytes = dev.unit_bytes >> exponent
                found = audit.audit(dev, phase, wrong, 300)
            within = self.named(found, audit.WITHIN)
            self.assertEqual(bool(within), exponent > 0)
            if exponent:
                self.assertEqual(max(within), int(wrong.index.first[1]) - 1)
                self.assertLess(abs(min(within) - first), 1000)

    def test_hole(self):
        """The tracks of a hole are not looked at; those beside it are named, since a law may have
        ended before it. Seen to fail: each of both."""
        layout = self.drive()
        hole = replace(layout.zones[1], angle=0.0, unmapped=True)
        found = self.audited(Layout(layout.heads, layout.cylinders, layout.order,
                                    [layout.zones[0], hole]))
        first = int(layout.index.first[1])
        self.assertEqual((found.wrong, found.of), (0, len(layout.tracks(0, first - 1))))
        (begin, end, why), = found.doubts
        self.assertEqual(why, audit.BESIDE)
        self.assertLess(begin, first - 188)
        self.assertLess(first - begin, 3 * 200)
        self.assertGreaterEqual(end, first)

    def test_unread(self):
        """Blocks that cannot be read are named."""
        layout = self.drive("medium_error 5000 2 recovery_ms=20\n")
        found = self.audited(layout)
        self.assertEqual(found.doubts, [[5000, 5001, audit.UNREADABLE]])

    def test_no_time(self):
        """What there was no time for is said."""
        found = self.audited(self.drive(), budget_s=1)
        self.assertLess(found.tracks, found.of)
        self.assertIn("may have been missed", found.line())


class Five(Case):
    """The drive, found by timing alone."""

    def test_layout(self):
        """Both ways find all of it; the remap is named. Seen to fail: no audit; tracks not read as
        wholes (--quick)."""
        self.drive("remap 0 9345 38800\n")
        for full in (False, True):
            with self.subTest(full=full):
                row = extractrandom.extracted(self.path, self.folder, full, True)
                self.assertEqual((row["result"], row["lbns_named"]), ("exact", 1), row)


class Staying(Case):
    """LBNs that stay on a surface for a few tracks, and laws with one skew."""

    def test_few_tracks(self):
        """A few tracks on a surface make a period; the same if the drive translates addresses, as
        no order of heads is theirs. Seen to fail: no period looked for; nothing but an error."""
        for heads, run in ((3, 10), (4, 4)):
            with open(self.path, "w", encoding="ascii") as file:
                file.write("fbdrive 1\nperiod_ps 8333333333\nheads %d\nsurface_run %d\n"
                           "zone 0 79 200 0.3 0.13 0.0725 500\nseek 1 400000\nseek 79 900000\n"
                           "head_switch_ns 500000\n" % (heads, run))
            row = extractrandom.extracted(self.path, self.folder, True, True)
            self.assertEqual((row["result"], row["lbns_named"]), ("exact", 0), row)
        args = extractrandom.options(self.path, self.folder, True)
        args.no_translation = False
        with mock.patch.object(extractrandom, "options", return_value=args):
            row = extractrandom.extracted(self.path, self.folder, True, True)
        self.assertEqual(row["result"], "exact", row)

    def test_one_skew(self):
        """Zones whose tracks follow each other by one skew, but are of other lengths."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write("fbdrive 1\nperiod_ps 8333333333\nheads 2\nseek 1 400000\nseek 149 900000\n"
                       "head_switch_ns 500000\n" + "".join(
                           "zone %d %d %d 0 0.13 0.13 0\n" % (30 * i, 30 * i + 29, 200 - 10 * i)
                           for i in range(5)))
        row = extractrandom.extracted(self.path, self.folder, True, True)
        self.assertEqual((row.get("refused"), row.get("lbn_mismatches")), (None, 0), row)


class Judging(unittest.TestCase):
    """What counts as told."""

    def test_untold(self):
        wrong = np.array([10, 50]), np.array([5, 2])
        for told, left in (((), 7), (((10, 14, ""),), 2), (((0, 11, ""), (13, 60, "")), 1),
                           (((9, 13, ""), (11, 20, ""), (50, 50, "")), 1),
                           (((0, 99, ""), (3, 4, "")), 0)):
            self.assertEqual(extractscore.untold(wrong, told), left)
        self.assertEqual(extractscore.untold((wrong[0][:0], wrong[1][:0]), ((1, 2, ""),)), 0)

    def test_untold_angles(self):
        """Angles are judged with and without what is named. Seen to fail: all, both times."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "d.fbdrive")
            with open(path, "w", encoding="ascii") as file:
                file.write("fbdrive 1\nperiod_ps 6000000000\nheads 1\nseek 1 400000\n"
                           "zone 0 89 100 0 0.1 0.1 0\nzone 90 99 100 0.3 0.1 0.1 0\n")
            lines = [line.replace("angle 0.3", "angle 0.35")
                     for line in truth.model(path).decode().splitlines()[:-1]]
            off = seal(("\n".join(lines) + "\n").encode())
            said = extractscore.score(path, off, "timing", [[9000, 9999, ""]])
        self.assertAlmostEqual(said["angle_err_p99_turn"], 0.05, 4)
        self.assertAlmostEqual(said["angle_err_p99_untold_turn"], 0, 6)

    def test_verdict(self):
        row = {"lbn_mismatches": 0, "lbns_untold": 0, "angle_err_p99_turn": 0.0001,
               "angle_err_p99_untold_turn": 0.0001}
        wrong = {"lbn_mismatches": 3, "lbns_untold": 1}
        for change, trusted, kind in (
                ({}, True, "exact"), ({"lbn_mismatches": 3}, True, "wrong_told"),
                (wrong, True, "wrong_untold"), (wrong, False, "wrong_told"),
                ({"angle_err_p99_turn": 0.01}, True, "wrong_told"),
                ({"angle_err_p99_turn": 0.01, "angle_err_p99_untold_turn": 0.01}, True,
                 "wrong_untold")):
            self.assertEqual(extractrandom.verdict({**row, **change}, trusted), kind)


class Drawn(unittest.TestCase):
    """Random drives: a few of one seed; make soak draws a thousand."""

    def test_told(self):
        """No model is wrong without a word; what was measured is not measured again."""
        with tempfile.TemporaryDirectory() as folder:
            words = ("bench-extract", "--random", str(DRAWN), "--seed", "1", "--output", folder)
            code, out, err = taptest.freeblock_lab(*words)
            self.assertEqual(code, 0, out + err)
            self.assertIn("0 wrong and not told", out)
            self.assertIn("%d of them measured before" % DRAWN, taptest.freeblock_lab(*words)[2])
