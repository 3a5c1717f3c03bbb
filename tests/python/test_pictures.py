# SPDX-License-Identifier: GPL-2.0
# reads: *
"""Tests of freeblock-bench pictures. Takes a second.

Seen to fail: a model with another seek; a place computed upside down.
"""

import os
import re
import unittest
from xml.etree import ElementTree

import taptest
from bench import pictures

SVG = "{http://www.w3.org/2000/svg}"


class Pictures(unittest.TestCase):
    """What is drawn."""

    def test_map(self):
        """The committed picture is that of the model."""
        with open(os.path.join(taptest.TOP, pictures.FOLDER, "map.svg"), encoding="ascii") as file:
            self.assertEqual(file.read(), pictures.draw_map())

    def test_places(self):
        """Points are where the ticks' numbers put them, with more above less; errors are on both
        sides; all is in the picture."""
        drawn = ElementTree.fromstring(pictures.svg("about", [{"x": "x", "y": "y", "lines": [
            {"points": [(0, 0), (40, 10)], "errors": [0, 2], "label": "one"},
            {"points": [(10, 5)], "dots": True}]}]))
        ticks = {text.text: (float(text.get("x")), float(text.get("y")))
                 for text in drawn.iter(SVG + "text")}
        first, last = (tuple(map(float, place.split(","))) for place in
                       next(drawn.iter(SVG + "polyline")).get("points").split())
        self.assertAlmostEqual(last[0], ticks["40"][0], delta=.1)
        self.assertAlmostEqual(last[1], ticks["10"][1] - 4, delta=.1)
        self.assertLess(last[1], first[1])
        dot = next(drawn.iter(SVG + "circle"))
        self.assertAlmostEqual(float(dot.get("cy")), ticks["5"][1] - 4, delta=.1)
        bar = [path.get("d") for path in drawn.iter(SVG + "path") if "V" in path.get("d")][-1]
        low, high = map(float, re.fullmatch(r"M[\d.]+ ([\d.]+)V([\d.]+)", bar).groups())
        self.assertAlmostEqual((low + high) / 2, last[1], delta=.1)
        _, _, width, height = map(float, drawn.get("viewBox").split())
        self.assertTrue(all(0 < x < width and 0 < y < height for x, y in ticks.values()))
        self.assertEqual(drawn.find(SVG + "desc").text, "about")


if __name__ == "__main__":
    unittest.main()
