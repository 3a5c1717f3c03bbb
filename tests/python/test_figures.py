# SPDX-License-Identifier: GPL-2.0
# reads: *
"""Tests of freeblock-bench figures: a document that gives another one is named.

Seen to fail: the questions and results.rst of 2026-11-27 beside the README of the day after.
"""

import os
import re
import shutil
import tempfile
import unittest
from unittest import mock

import taptest
from bench import figures


class Figures(unittest.TestCase):
    """In a copy of the documents."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for path in {figures.FILE, *(place[0] for place in figures.TABLES + figures.TEXTS),
                     *(path for _, path, _ in figures.MISSED)}:
            target = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(os.path.join(taptest.TOP, path), target)
        patch = mock.patch.object(figures, "TOP", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def text(self, path):
        """Of a document."""
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        """Put it into a document."""
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(text)

    def test_here(self):
        """The documents of this checkout give the file's figures."""
        with mock.patch.object(figures, "TOP", taptest.TOP):
            self.assertEqual(figures.differences(), [])
            self.assertEqual(taptest.freeblock_lab("figures", "--check"), (
                0, "all figures are those of Documentation/figures.json\n", ""))

    def test_another(self):
        """A document that gives another figure is named, be it in a table or in a sentence; so is
        a promise that is missed by more than the file says."""
        for path, place in (
                ("README.md", r"free MB/s +-? +([\d.]+)"), ("README.md", r"adds ([\d.]+) ms, and"),
                ("Documentation/troubleshooting.rst", r"takes ([\d.]+) days"),
                ("Documentation/results.rst", r"``make demo``  .*, \+([\d.]+) %, \+"),
                (figures.FILE, r'model 3 % off, %": "([\d.]+)"')):
            text = self.text(path)
            at = re.search(place, text).span(1)
            another = "%g" % (float(text[at[0]:at[1]]) + 1)
            self.write(path, text[:at[0]] + another + text[at[1]:])
            status, out, _ = taptest.freeblock_lab("figures", "--check")
            self.assertEqual((status, out.splitlines()[0].startswith(path)), (1, True), out)
            self.write(path, text)
        text = self.text("Documentation/troubleshooting.rst")
        self.assertIn("days at the rate", text)
        self.write("Documentation/troubleshooting.rst",
                   text.replace("days at the rate", "days at a rate"))
        status, _, err = taptest.freeblock_lab("figures", "--check")
        self.assertEqual(status, 1)
        self.assertIn("Documentation/troubleshooting.rst: found 0 times: takes <", err)
