# SPDX-License-Identifier: GPL-2.0
"""Drives of real sizes with published traits: those drawn at random, and those of tests/drives.
What they are is read from the simulated drive (mechdisk-host locate) and from their records. Prints
TAP; takes some ten seconds."""

import collections
import os
import subprocess
import tempfile
import unittest
from fractions import Fraction

import numpy as np

import layouts
from taptest import TOP
from freeblock.formats import fbdrive
from freeblock.sim import truth
from bench import realdrive
from bench.realdrive import Drive

DRIVES = os.path.join(TOP, "tests", "drives")
TENTH = Fraction(1, 10)
NUMBERS = range(40)


class Drawn(unittest.TestCase):
    """Random drives."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "d.fbdrive")

    def records(self, drive):
        """Of a drive that mechdisk takes."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write(drive.text())
        done = subprocess.run([layouts.host_program(), "info", self.path], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return fbdrive.records(self.path)

    def test_taken(self):
        """A number is the same drive for ever, a drive is as large as it says or a tenth, and half
        of them are SATA. Seen to fail: outward runs that begin at their outermost
        track, so that tracks are in two runs."""
        kinds = collections.Counter()
        for number in NUMBERS:
            for share in (TENTH,) if number % 8 else (TENTH, Fraction(1)):
                drive = Drive(number, share=share)
                self.assertEqual(drive.text(), Drive(number, share=share).text())
                scalars, lists = self.records(drive)
                self.assertEqual(len(lists["run"]), len(drive.runs))
                tb = truth.sectors(self.path) * 512e-12
                if drive.traits.tracks < 1000:
                    self.assertTrue(0.9 < tb / drive.traits.tb / float(share) < 1.2,
                                    (number, tb, drive.traits))
                self.assertLess(len(drive.runs), 65536)
                kinds[scalars.get("interface", ["scsi"])[0]] += 1
                kinds.update(drive.features)
        self.assertEqual(abs(kinds["sata"] - kinds["scsi"]) < 10, True)
        self.assertEqual([order for order in realdrive.ORDERS if not kinds[order]], [])

    def test_angles(self):
        """Each track starts where the one before it has passed, a skew later, and a constant more
        where the run changes: by the drive itself. Seen to fail: a repeat's angle without the
        change to its first run."""
        for number in (1, 5, 11):
            drive = Drive(number, share=TENTH)
            lists = self.records(drive)[1]
            runs, begin = lists["run"][:400], 0
            firsts, lasts = [], []
            for run, (tracks, sectors) in zip(range(len(runs)), drive.runs):
                held = tracks * sectors - sum(n for _, n in drive.slips.get(run, []))
                if run not in drive.slips:
                    firsts.append((run, begin))
                    lasts.append((run, begin + held - sectors))
                begin += held
            places = layouts.drive_places(layouts.host_program(), self.path, [
                lbn for _, lbn in firsts + lasts])["start"]
            start = {run: place for (run, _), place in zip(firsts, places)}
            last = {run: place for (run, _), place in zip(lasts, places[len(firsts):])}
            late = [(start[run + 1] - last[run] - float(Fraction(runs[run][6]))) % 1
                    for run in last if run + 1 in start]
            self.assertGreater(len(late), 100)
            np.testing.assert_allclose(late, float(drive.change), atol=1e-9)


class Kept(unittest.TestCase):
    """tests/drives."""

    def test_taken(self):
        """By mechdisk, and small as text."""
        for name in sorted(os.listdir(DRIVES)):
            path = os.path.join(DRIVES, name)
            if not name.endswith(".fbdrive"):
                continue
            with self.subTest(name):
                done = subprocess.run([layouts.host_program(), "info", path], check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertLess(os.path.getsize(path), 32768)
