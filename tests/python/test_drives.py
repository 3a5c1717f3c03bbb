# SPDX-License-Identifier: GPL-2.0
"""The modern drives: a model and the simulated drive of the same name agree.

Each is read by its own program (model_places, mechdisk-host), which share no
code; both are asked for the same places and moves. (That a drive does as
drive-format.rst says: tests/unit/mechdisk.) Random small drives, whose tracks differ
from head to head, are said in both formats, and both programs asked for every LBN.
Also: the files are what tools/make-drives writes, and what the data sheets say that
Documentation/drives.rst names."""

import itertools
import os
import random
import subprocess
import tempfile
import unittest

import numpy as np

import taptest
from taptest import TOP
from bench import replay
from freeblock import fbdrive
from freeblock.fbmodel import seal

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
SMALL_DRIVES = 60
# Head orders, as a description and as a model name them.
ORDERS = (("plain", "plain"), ("serpentine", "serpentine-zone"),
          ("serpentine-disk", "serpentine-disk"))


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

    def test_generated(self):
        """Edited files would drift from the generator. Seen to fail: a blank added
        to nearline16-wc.fbdrive."""
        done = subprocess.run([os.path.join(TOP, "tools", "make-drives"), "--check"], text=True,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Small:
    """A random drive, in both formats."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.heads = self.rng.randrange(1, 10)
        self.sectors = cylinders = 0
        drive, model = [], []
        for number in range(self.rng.randrange(1, 5)):
            last = cylinders + self.rng.randrange(7) + (not number)     # a seek needs two
            for lines, more in zip((drive, model), self.zone(number, cylinders, last)):
                lines += more
            cylinders = last + 1
        order = self.rng.choice(ORDERS)
        self.drive = ["fbdrive 1", "period_ps 6000000000", "head_switch_ns 1000",
                      "write_settle_ns 0", "heads %d" % self.heads, "order " + order[0],
                      "seek 1 1000", "seek %d 2000" % cylinders, *drive]
        self.model = ["fbmodel 1", "vendor MECHDISK", "product SIMULATED",
                      "sectors %d" % self.sectors, "cylinders %d" % cylinders,
                      "heads %d" % self.heads, "head_order " + order[1],
                      "period_ps 6000000000", "head_switch_ns 1000", "write_settle_ns 0",
                      "zero_latency no", "seek %d 2000" % (cylinders - 1), *model]

    def spts(self):
        """Sectors per track of each head; as often as not they are equal."""
        longest = self.rng.randrange(1, 40)
        if self.rng.random() < 0.4:
            return [longest] * self.heads
        spts = [self.rng.randrange(1, longest + 1) for _ in range(self.heads)]
        spts[self.rng.randrange(self.heads)] = longest
        return spts

    def turn(self):
        """A fraction."""
        return "0.%09d" % self.rng.randrange(10 ** 9)

    def holes(self, dead, end):
        """[(sector, count)] between the first LBN and a sector @end, not beyond it."""
        found, at = [], dead + self.rng.randrange(30)
        while at + 3 < end and self.rng.random() < 0.9:
            found.append((at, self.rng.choice((1, 1, 1, 2, 3))))
            at += found[-1][1] + self.rng.choice((0, 1, self.rng.randrange(60)))
        return found

    def zone(self, number, first, last):
        """Lines of the description and of the model."""
        spts = self.spts()
        room = (last - first + 1) * sum(spts)
        dead = self.rng.choice((0, 0, self.rng.randrange(room // 4 + 1)))
        slips = self.holes(dead, dead + (room - dead) // 2)
        slipped = sum(count for _, count in slips)
        left = self.rng.randrange((room - dead - slipped) // 4 + 1)    # spares at the end
        self.sectors += room - dead - slipped - left
        taken = {at + i for at, count in slips for i in range(count)}
        homes = [at for at in range(dead, room - left) if at not in taken]
        remaps = sorted(zip(self.rng.sample(homes, min(len(homes), left) // 3),
                            self.rng.sample(range(room - left, room), left)))
        angles = self.turn(), self.turn(), self.turn()
        drive = ["zone %d %d %d %s %s %s %d dead=%d" % (first, last, max(spts), *angles,
                                                       slipped + left, dead)]
        model = ["zone %d %d spt %d angle %s track_skew %s cyl_skew %s dead %d spares %d" % (
            first, last, max(spts), *angles, dead, slipped + left)]
        if len(set(spts)) > 1:
            cut = self.rng.randrange(1, self.heads)
            drive.append("zone_heads %d %s" % (number, " ".join(map(str, spts))))
            model += ["head_spt 0 " + " ".join(map(str, spts[:cut])),
                      "head_spt %d %s" % (cut, " ".join(map(str, spts[cut:])))]
        drive += ["slip %d %d+%d" % (number, *slip) for slip in slips]
        model += ["slip %d %d" % slip for slip in slips]
        drive += ["remap %d %d %d" % (number, *remap) for remap in remaps]
        model += ["remap %d to %d" % remap for remap in remaps]
        return drive, model


class Surfaces(unittest.TestCase):
    """Places of small drives, all of them.

    Seen to fail: in the model, a backward cylinder's sectors counted forwards; a
    track's sectors as short as those of the longest; each zone with the head_spt of
    the first."""

    def ask(self, kind, path, text, sectors):
        """Every LBN's place."""
        with open(path, "wb") as file:
            file.write(("\n".join(text) + "\n").encode() if kind == "drive" else text)
        said, rows = asked(kind, path, "lbns", range(sectors))
        self.assertEqual(said, sectors)
        return rows

    def test_all(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(SMALL_DRIVES):
                small = Small(seed)
                drive = self.ask("drive", os.path.join(folder, "drive"), small.drive,
                                 small.sectors)
                model = self.ask("model", os.path.join(folder, "model"),
                                 seal(("\n".join(small.model) + "\n").encode()), small.sectors)
                for (*want, turn), (*got, angle) in zip(drive, model):
                    self.assertEqual(got, want, "drive %d" % seed)
                    self.assertLess(apart(angle, turn), 1e-8, (seed, want))


def setUpModule():
    """What texts are asked of."""
    taptest.build()
    replay.build_host()
