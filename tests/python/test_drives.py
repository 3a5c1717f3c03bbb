# SPDX-License-Identifier: GPL-2.0
"""The modern drives: a model and the simulated drive of the same name agree.

Each is read by its own program (model_places, mechdisk-host), which share no
code; both are asked for the same places and moves. (That a drive does as
drive-format.rst says: tests/unit/mechdisk; random small drives: test_extract_layout.py.)
Also: they are what the data sheets say that Documentation/drives.rst names."""

import itertools
import os
import random
import unittest

import numpy as np

import taptest
from taptest import TOP
from bench import replay
from freeblock.formats import fbdrive

# Which model is to fit which drive.
FITS = (("nearline16", "nearline16"), ("nearline16", "nearline16-512e"),
        ("nearline16", "nearline16-wc"), ("nearline16", "nearline16-ppm"),
        ("nearline16-serpentine", "nearline16-serpentine"),
        ("nearline16-surfaces", "nearline16-surfaces"), ("nearline24", "nearline24"),
        ("archive8", "archive8"), ("x300", "x300"), ("cheetah9", "cheetah9"))
# Data sheets: bytes, turns a minute, seeks over a cylinder, on the mean and over all, mean MB/s
NEARLINE = (16000900661248, 7200, (1.0, 8.5, 16.5), 189)
SHEETS = {"nearline16": NEARLINE, "nearline16-surfaces": NEARLINE, "nearline16-512e": NEARLINE,
          "nearline24": (24000277250048, 7200, (1.0, 8.5, 16.5), 240),
          "archive8": (8001563222016, 5400, (1.2, 12, 24), 137),
          "x300": (5000981078016, 7199.6, (0.4, 7.5, 14.6), 183)}
SAMPLES = 3000


def model_path(name):
    """A shipped model's file."""
    return os.path.join(TOP, "models", name + ".fbmodel")


class Text:
    """What a .fbdrive says of itself, and what to ask about it."""

    def __init__(self, name):
        self.path = os.path.join(TOP, "tools/mechdisk/drives", name + ".fbdrive")
        with open(self.path, encoding="ascii") as file:
            lines = list(fbdrive.lines(file))
        self.one = {words[0]: words[1] for words in lines}
        self.seeks = [int(words[1]) for words in lines if words[0] == "seek"]
        self.seek_ms = [int(words[2]) / 1e6 for words in lines if words[0] == "seek"]
        self.ratio = int(self.one["sector_bytes"]) // 512   # 512-byte LBNs in one
        head_spt = {int(words[1]): [int(word) for word in words[2:]]
                    for words in lines if words[0] == "zone_heads"}
        zones = [words[1:] for words in lines if words[0] == "zone"]
        self.tracks = []       # LBN of each zone's start, sectors on its first tracks
        self.sectors = 0
        for i, (first, last, spt, _, _, _, spares) in enumerate(zones):
            spts = head_spt.get(i) or [int(spt)] * int(self.one["heads"])
            self.tracks.append((self.sectors, spts))
            self.sectors += (int(last) - int(first) + 1) * sum(spts) - int(spares)

    def samples(self):
        """LBNs: all ends of zones and of some tracks, and random ones."""
        rng = random.Random(self.sectors)
        ends = [self.sectors - 1]
        for start, spts in self.tracks:
            for end in itertools.accumulate(spts * 3, initial=start):
                ends += [end - 1, end, end + 1]
        ends += [rng.randrange(self.sectors) for _ in range(SAMPLES)]
        return sorted({lbn for lbn in ends if 0 <= lbn < self.sectors})

    def distances(self):
        """Cylinders to move: all that the description names, and random ones."""
        rng = random.Random(1)
        return sorted({0, *self.seeks, *(rng.randrange(self.seeks[-1]) for _ in range(100))})


def asked(kind, path, what, numbers):
    """The number of sectors, and a row of numbers for each LBN, or distance of "moves"."""
    if kind == "drive":
        said = replay.run_host({"lbns": "locate"}.get(what, what), path,
                               lines=["%d\n" % number for number in numbers])
        sectors, rows = replay.drive_info(path)["sectors"], said.splitlines()
    else:
        status, said = taptest.model_places(path, what, numbers)
        assert status == 0, said
        (_, sectors), rows = said.splitlines()[0].split(), said.splitlines()[1:]
    assert len(rows) == len(numbers), (len(rows), len(numbers))
    rows = [[float(word) for word in row.split()] for row in rows]
    # the drive's zone is not the model's to tell
    return int(sectors), [row[:1] + row[2:] for row in rows] \
        if (kind, what) == ("drive", "lbns") else rows


def apart(angle, turn):
    """How far two angles are from each other."""
    return abs((angle - turn + 0.5) % 1 - 0.5)


class Modern(unittest.TestCase):
    """Descriptions and models."""

    def test_places(self):
        """In 512-byte LBNs, of which some begin in the midst of a sector.

        Seen to fail: 4168 instead of 4160 sectors on the first zone's tracks, and as
        many spares more; head_order serpentine-zone in nearline16.fbmodel; a skew too
        many in the drive, from the second cylinder on."""
        rng = random.Random(2)
        for model, name in FITS:
            with self.subTest(model=model, drive=name):
                text = Text(name)
                ratio, lbns = text.ratio, text.samples()
                parts = [rng.randrange(ratio) for _ in lbns]
                sectors, drive = asked("drive", text.path, "lbns", lbns)
                self.assertEqual(sectors, text.sectors)
                sectors, places = asked("model", model_path(model), "lbns", [
                    lbn * ratio + part for lbn, part in zip(lbns, parts)])
                self.assertEqual(sectors, text.sectors * ratio)
                for (lbn, cyl, head, at, spt, turn), part, (*got, angle) in zip(
                        drive, parts, places):
                    self.assertEqual(got, [lbn * ratio + part, cyl, head, at * ratio + part,
                                           spt * ratio])
                    self.assertLess(apart(angle, turn + part / (spt * ratio)), 1e-6, lbn)

    def test_moves(self):
        """A read's, with a head switch, and both for a write. Seen to fail: a drive that
        settles for 2 us more."""
        for model, name in FITS:
            with self.subTest(model=model, drive=name):
                text = Text(name)
                _, drive = asked("drive", text.path, "moves", text.distances())
                _, moves = asked("model", model_path(model), "moves", text.distances())
                for want, got in zip(drive, moves):
                    for ns, took in zip(want, got):
                        self.assertLess(abs(took - ns), 1000, (want, got))

    def test_who(self):
        """A model names the drives it fits. Seen to fail: product NEARLINE."""
        for model, name in FITS:
            with open(model_path(model), encoding="ascii") as file:
                lines = file.read().splitlines()
            one = Text(name).one
            self.assertIn("vendor " + one["vendor"], lines)
            self.assertIn("product " + one["product"], lines)
            self.assertFalse([line for line in lines if line.startswith("serial")])

    def test_sheets(self):
        """The mean seek is the data sheet's within .1 ms, over all pairs of cylinders; the rate is
        that of all tracks, in a turn each. Seen to fail: a spare more in the last zone; the knee
        at twice its distance; zones of 540 to 270 sectors."""
        for name, (size, rpm, (single, mean, full), rate) in SHEETS.items():
            with self.subTest(name):
                text = Text(name)
                sector = 512 * text.ratio
                self.assertEqual(text.sectors * sector, size)
                self.assertAlmostEqual(int(text.one["period_ps"]) * rpm / 60e12, 1, delta=1e-9)
                cylinders = text.seeks[-1] + 1
                apart_by = np.arange(1, cylinders)
                ms = np.interp(apart_by, text.seeks, text.seek_ms)
                self.assertEqual((ms[0], ms[-1]), (single, full))
                self.assertTrue((np.diff(ms) >= 0).all())
                self.assertAlmostEqual(np.average(ms, weights=cylinders - apart_by), mean,
                                       delta=0.1)
                spt = np.mean([spts for _, spts in text.tracks])
                self.assertAlmostEqual(spt * sector * rpm / 60e6 / rate, 1, delta=0.01)


def setUpModule():
    """What texts are asked of."""
    taptest.build()
    replay.build_host()
