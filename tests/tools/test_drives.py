#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The modern drives: a model and the simulated drive of the same name agree.

Each is read by its own program (vectors_model, vectors_drive), which share no
code; both are asked for the same places and moves, which are worked out here a
third time, from the description's text by the formulas of drive-format.rst.
Also: the files are what tools/make-drives writes. Prints TAP."""

import bisect
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import taptest  # noqa: E402

# Which model is to fit which drive. Tracks that differ by surface have none.
FITS = (("nearline16", "nearline16"), ("nearline16", "nearline16-512e"),
        ("nearline16", "nearline16-wc"), ("nearline16", "nearline16-ppm"),
        ("nearline16-serpentine", "nearline16-serpentine"), ("nearline24", "nearline24"),
        ("archive8", "archive8"), ("cheetah9", "cheetah9"))
SAMPLES = 3000


class Text:
    """What a .fbdrive says, as far as places and moves go."""

    def __init__(self, name):
        self.path = os.path.join(TOP, "tests/mechdisk/drives", name + ".fbdrive")
        self.one, self.zones, self.seeks, self.head_spt = {}, [], [(0, 0)], {}
        with open(self.path, encoding="ascii") as file:
            for line in file:
                self.record(line.split("#")[0].split())
        self.heads = int(self.one["heads"])
        self.ratio = int(self.one["sector_bytes"]) // 512   # 512-byte LBNs in one
        self.starts = [0]
        for i, (first, last, _, _, _, _, spares) in enumerate(self.zones):
            sectors = int(last - first + 1) * sum(self.spts(i))
            self.starts.append(self.starts[-1] + sectors - int(spares))
        self.sectors = self.starts.pop()

    def record(self, words):
        """One line."""
        if words[:1] == ["zone"]:
            self.zones.append([float(word) for word in words[1:]])
        elif words[:1] == ["zone_heads"]:
            self.head_spt[int(words[1])] = [int(word) for word in words[2:]]
        elif words[:1] == ["seek"]:
            self.seeks.append((int(words[1]), int(words[2])))
        elif words:
            self.one[words[0]] = words[1]

    def spts(self, zone):
        """Sectors per track of each head."""
        return self.head_spt.get(zone) or [int(self.zones[zone][2])] * self.heads

    def place(self, lbn):
        """(cylinder, head, sector, angle, sectors per track) of an LBN; none of
        these drives has dead, slipped or remapped sectors."""
        zone = bisect.bisect_right(self.starts, lbn) - 1
        first, _, _, start, track, cyl_skew, _ = self.zones[zone]
        spts = self.spts(zone)
        cyl, left = divmod(lbn - self.starts[zone], sum(spts))
        order = list(range(self.heads))
        if self.one["order"] == "serpentine" and cyl % 2:
            order.reverse()
        step = 0
        while left >= spts[order[step]]:
            left -= spts[order[step]]
            step += 1
        spt = spts[order[step]]
        turns = start + (cyl * (self.heads - 1) + step) * track + cyl * cyl_skew + left / spt
        return int(first) + cyl, order[step], left, turns % 1, spt

    def move_ns(self, cylinders, other_head, write):
        """Seek or head switch, and settling."""
        i = bisect.bisect_left(self.seeks, (cylinders, 0))
        (d0, t0), (d1, t1) = self.seeks[i - 1:i + 1] if i else (self.seeks[0], self.seeks[1])
        ns = t0 + (t1 - t0) * (cylinders - d0) / (d1 - d0)
        if other_head:
            ns = max(ns, int(self.one["head_switch_ns"]))
        return ns + write * int(self.one["write_settle_ns"]) * bool(cylinders or other_head)

    def samples(self):
        """LBNs: all ends of zones and of some tracks, and random ones."""
        rng = random.Random(self.sectors)
        ends = [lbn + more for lbn in self.starts + [self.sectors] for more in (-1, 0, 1)]
        for zone, lbn in enumerate(self.starts):
            for track in range(3 * self.heads):
                end = lbn + track * self.spts(zone)[0]
                ends += [end - 1, end]
        ends += [rng.randrange(self.sectors) for _ in range(SAMPLES)]
        return sorted({lbn for lbn in ends if 0 <= lbn < self.sectors})


class Modern(unittest.TestCase):
    """Descriptions and models."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def csv(self, name, rows):
        """Write rows below a header line."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("header\n")
            file.writelines(",".join(str(value) for value in row) + "\n" for row in rows)
        return path

    def ask(self, kind, path, places, moves, sectors):
        """The program reads the file and finds no mismatch."""
        status, said = taptest.vectors(kind, path, places, moves)
        self.assertEqual(status, 0, said)
        lines = said.splitlines()
        self.assertIn("sectors %d" % sectors, lines)
        self.assertIn("mismatches 0", lines)
        counted = [int(line.split()[1].rstrip(",")) for line in lines
                   if line.startswith(("places ", "moves "))]
        self.assertEqual(len(counted), 2)
        self.assertGreater(min(counted), 100)

    def moves(self, text):
        """Rows of distances and ms: read, read with head switch, both for a write."""
        stroke = text.seeks[-1][0]
        rng = random.Random(1)
        cylinders = {d for d, _ in text.seeks} | {rng.randrange(stroke) for _ in range(100)}
        return [[d] + ["%.6f" % (text.move_ns(d, head, write) / 1e6)
                       for write in (0, 1) for head in (0, 1)] for d in sorted(cylinders)]

    def test_drives(self):
        """Seen to fail: heads in plain order, here and in the drive; the drive's
        cylinder skew one too many."""
        for name in dict.fromkeys([drive for _, drive in FITS] + ["nearline16-surfaces"]):
            with self.subTest(drive=name):
                text = Text(name)
                rows = [[lbn, *self.row(text, lbn, 1, 0)] for lbn in text.samples()]
                self.ask("drive", text.path, self.csv("places.csv", rows),
                         self.csv("moves.csv", self.moves(text)), text.sectors)

    def test_models(self):
        """In 512-byte LBNs, of which some begin in the midst of a sector.

        Seen to fail: 4168 instead of 4160 sectors on the first zone's tracks, and as
        many spares more; head_order serpentine-zone in nearline16.fbmodel; a seek
        of 2 us more."""
        rng = random.Random(2)
        for model, name in FITS:
            with self.subTest(model=model, drive=name):
                text = Text(name)
                rows = []
                for lbn in text.samples():
                    part = rng.randrange(text.ratio)
                    rows.append([lbn * text.ratio + part, *self.row(text, lbn, text.ratio, part)])
                self.ask("model", os.path.join(TOP, "models", model + ".fbmodel"),
                         self.csv("places.csv", rows), self.csv("moves.csv", self.moves(text)),
                         text.sectors * text.ratio)

    @staticmethod
    def row(text, lbn, ratio, part):
        """Place of the part-th of an LBN's @ratio pieces."""
        cyl, head, sector, angle, spt = text.place(lbn)
        return (cyl, head, sector * ratio + part,
                "%.12f" % ((angle + part / (spt * ratio)) % 1), spt * ratio)

    def test_who(self):
        """A model names the drives it fits. Seen to fail: product NEARLINE."""
        for model, name in FITS:
            with open(os.path.join(TOP, "models", model + ".fbmodel"), encoding="ascii") as file:
                lines = file.read().splitlines()
            one = Text(name).one
            self.assertIn("vendor " + one["vendor"], lines)
            self.assertIn("product " + one["product"], lines)
            self.assertFalse([line for line in lines if line.startswith("serial")])

    def test_generated(self):
        """Edited files would drift from the generator. Seen to fail: a blank added
        to nearline16-wc.fbdrive."""
        done = subprocess.run([os.path.join(TOP, "tools", "make-drives"), "--check"], text=True,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    taptest.build()
    taptest.main()
