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
from freeblock import fbdrive, fbdrive_check, sim, truth
from bench import realdrive
from bench.realdrive import Drive, Traits

DRIVES = os.path.join(TOP, "tests", "drives")
TENTH = Fraction(1, 10)
NUMBERS = range(40)


def bands(runs, surfaces):
    """The runs by band; each has all surfaces once."""
    return [runs[i:i + surfaces] for i in range(0, len(runs), surfaces)]


class Drawn(unittest.TestCase):
    """Random drives."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "d.fbdrive")

    def records(self, drive):
        """Of a drive that mechdisk and Python take."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write(drive.text())
        done = subprocess.run([layouts.host_program(), "info", self.path], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = fbdrive.records(self.path)
        fbdrive_check.check(self.path, *found)
        return found

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

    def test_traits(self):
        """What is said of surfaces is so. Seen to fail: lengths of one surface for all; outward
        runs that begin at their outermost track."""
        base = {"tb": 1, "heads": 4, "tracks": 100, "lengths": False, "share": TENTH}
        for name, wants in (
                ("lengths", lambda runs: len({run[4] for run in runs}) > 1),
                ("counts", lambda runs: len({run[3] for run in runs}) > 1),
                ("skews", lambda runs: len({run[6] for run in runs}) > 1)):
            for on in (False, True):
                found = self.records(Drive("a", Traits(**{**base, name: on})))[1]["run"]
                self.assertEqual(wants(found[:4]), on, name)
        for on in (False, True):
            found = self.records(Drive("a", Traits(**base | {"borders": on})))[1]["run"]
            unlike = sum(len({run[4] for run in band}) > 1 for band in bands(found, 4))
            self.assertEqual(unlike > 5, on)
        for order, ways, surfaces in (
                ("FF", ["in", "in", "in", "in"] * 2, "01230123"),
                ("AF", ["in", "out", "in", "out"] * 2, "01230123"),
                ("FA", ["in", "in", "in", "in"] * 2, "01233210"),
                ("AA", ["in", "out", "in", "out", "out", "in", "out", "in"], "01233210")):
            found = self.records(Drive("a", Traits(**base | {"order": order})))[1]["run"][:8]
            self.assertEqual([run[2] for run in found], ways)
            self.assertEqual("".join(run[0] for run in found), surfaces)
            self.assertEqual([int(run[1]) // 100 for run in found], [0] * 4 + [1] * 4)
        found = self.records(Drive("a", Traits(**base | {"order": "size", "lengths": True})))
        for band in bands(found[1]["run"], 4):
            lengths = [int(run[4]) for run in band]
            self.assertEqual(lengths, sorted(lengths, reverse=True))

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

    def test_slips(self):
        """As many as wanted, or nearly; some of whole groups of tracks. Seen to fail: none."""
        drive = Drive("a", Traits(tb=2, tracks=300, defects=200, groups=(263, 28), share=TENTH))
        lists = self.records(drive)[1]
        counts = [fbdrive_check.span(word)[1] for words in lists["slip"] for word in words[1:]]
        self.assertTrue(200 <= len(counts) <= 700, len(counts))
        long = [count // 2000 for count in counts if count > 20 * 2000]
        self.assertEqual(len(long), 2)


class Kept(unittest.TestCase):
    """tests/drives."""

    def test_written(self):
        """They are what the generator writes, and it writes twenty."""
        done = subprocess.run([os.path.join(DRIVES, "make"), "--check"], check=False,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        found = [name for name in os.listdir(DRIVES) if name.endswith(".fbdrive")]
        self.assertEqual(len(found), 20)

    def test_taken(self):
        """By mechdisk and by Python, and small as text."""
        for name in sorted(os.listdir(DRIVES)):
            path = os.path.join(DRIVES, name)
            if not name.endswith(".fbdrive"):
                continue
            with self.subTest(name):
                done = subprocess.run([layouts.host_program(), "info", path], check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                fbdrive_check.check(path, *fbdrive.records(path))
                self.assertLess(os.path.getsize(path), 32768)

    def test_free(self):
        """The scheduler takes the true model of one and reads in the gaps. Seen to fail: seeks
        that take a third of the time (65 requests/s, 2.7 MB/s)."""
        path = os.path.join(DRIVES, "aa-115-54gb-190-slips.fbdrive")
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "m.fbmodel")
            with open(model, "wb") as file:
                file.write(truth.model(path))
            found = sim.simulate(drive=path, model=model, task="fresh", seconds="20",
                                 preset="paper")
        self.assertTrue(84 < found["requests_per_s"] < 100, found["requests_per_s"])
        self.assertTrue(6 < found["free_mb_s"] < 10, found["free_mb_s"])
