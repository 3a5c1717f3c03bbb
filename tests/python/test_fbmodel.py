# SPDX-License-Identifier: GPL-2.0
"""Tests of the one reader of .fbmodel texts.

Seen to fail: a record of the format that the reader refuses; head_spt's first number taken for
a track's; an end record nobody looks at; a record said twice.
"""

import glob
import os
import re
import unittest
from fractions import Fraction

import taptest

from freeblock import ToolError
from freeblock.formats import fbmodel

TEXT = """fbmodel 1
# made by hand
vendor ACME
product BIG  DISK
sectors 5
cylinders 2
heads 2
seek 1 1000
seek_spread 1 20

zone 0 1 spt 3 angle 0.25 track_skew 1/8 cyl_skew 0 dead 1 spares 2
head_spt 0 3
head_spt 1 2
slip 3
slip 7 2
remap 4 to 9
"""


def model(text):
    """What is read of a text once it is sealed."""
    return fbmodel.Model(fbmodel.seal(text.encode()), "m")


class Read(unittest.TestCase):
    """What is in a text."""

    def test_all(self):
        """Each kind of record."""
        found = model(TEXT)
        self.assertEqual((found.header["vendor"], found.text("product"), found.number("sectors")),
                         ("ACME", "BIG  DISK", 5))
        self.assertEqual(found.number("physical_sectors", 1), 1)
        self.assertEqual(found.points, {"seek": [(1, 1000)], "write_seek": [],
                                        "seek_spread": [(1, 20)]})
        self.assertEqual(found.zones, [fbmodel.Zone(
            0, 1, 3, Fraction(1, 4), Fraction(1, 8), Fraction(0), 1, 2, [3, 2],
            [(3, 1), (7, 2)], [(4, 9)])])

    def test_shipped(self):
        """Every model that is shipped: its sectors are those of its zones."""
        paths = glob.glob(os.path.join(taptest.TOP, "models", "*.fbmodel"))
        self.assertGreater(len(paths), 8)
        for path in paths:
            found = fbmodel.Model.of_file(path)
            found.need("seek", "seek_spread")
            heads = found.number("heads")
            held = sum((zone.last - zone.first + 1) * (sum(zone.head_spt) or heads * zone.spt) -
                       zone.dead - zone.spares for zone in found.zones)
            self.assertEqual(found.number("sectors"), held, path)

    def test_records(self):
        """The header's records are those of the document."""
        with open(os.path.join(taptest.TOP, "Documentation", "model-format.rst"),
                  encoding="utf-8") as file:
            header = file.read().partition("\nHeader\n")[2].partition("\nSeek profile\n")[0]
        named = re.findall(r"``([a-z_]+) \S+``", "\n".join(
            line for line in header.splitlines() if line.startswith("``")))
        self.assertEqual(sorted(named), sorted(fbmodel.HEADER))

    def test_refused(self):
        """The line, and why."""
        for old, new, pattern in (
                ("sectors 5\n", "sectors 5\nsectors 5\n", "m: line 6: 'sectors 5': said twice"),
                ("vendor", "color", "m: line 3: 'color ACME': the format has no such record"),
                ("seek 1 1000", "seek 1", "m: line 8: 'seek 1': it is not whole"),
                ("seek 1 1000", "seek 1 x", "m: line 8: 'seek 1 x': a number of it is none"),
                ("sectors 5\n", "slip 1\n", "m: line 5: .* before the first zone"),
                ("1/8", "1/0", "m: line 11: .*: a number of it is none"),
                ("dead 1 ", "", "m: line 11: .*: it is not whole")):
            self.assertIn(old, TEXT)
            with self.assertRaisesRegex(ToolError, pattern):
                model(TEXT.replace(old, new, 1))
        for text, pattern in ((TEXT.encode(), "end record"), (b"", "not a model"),
                              (fbmodel.seal(TEXT.encode())[:-1], "end record"),
                              (fbmodel.seal(TEXT.encode()).replace(b"ACME", b"ACNE"), "end record"),
                              (fbmodel.seal(b"fbmodel 2\n"), "not a model")):
            with self.assertRaisesRegex(ToolError, "^m: .*" + pattern):
                fbmodel.Model(text, "m")

    def test_missing(self):
        """What is asked for and is not there, or is no number."""
        found = model(TEXT)
        for ask, pattern in ((lambda: found.number("period_ps"), "no record period_ps"),
                             (lambda: found.number("vendor"), "vendor ACME: not a whole number"),
                             (lambda: found.need("write_seek"), "no record write_seek"),
                             (lambda: model("fbmodel 1\n").need(), "no record zone")):
            with self.assertRaisesRegex(ToolError, "^m: .*" + pattern):
                ask()

    def test_surface_run(self):
        """What the module refuses is refused here, too. Seen to fail: any whole number."""
        for value, order, pattern in (
                ("0", "plain", "0: not from 1 to 65535"), ("65536", "plain", "65536: not from"),
                ("9" * 20, "plain", "9: not from"), ("\u0663", "plain", ": not a whole number"),
                ("2", "serpentine-disk", "2: goes with head_order plain or serpentine-zone")):
            found = model(TEXT.replace("heads 2\n", "heads 2\nhead_order %s\nsurface_run %s\n" %
                                       (order, value)))
            with self.assertRaisesRegex(ToolError, "^m: surface_run .*" + pattern):
                found.surface_run()
        self.assertEqual(model(TEXT).surface_run(), 1)
