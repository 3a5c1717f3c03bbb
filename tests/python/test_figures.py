# SPDX-License-Identifier: GPL-2.0
# reads: *
"""Tests of freeblock-bench figures: figures of a demo come into its file and into the documents,
and a document that gives another one is named.

Seen to fail: the questions and results.rst of 2026-11-27 beside the README of the day after.
"""

import json
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

    def replace(self, path, old, new):
        """Edit a document."""
        text = self.text(path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new, 1))

    def write(self, path, text):
        """Put it into a document."""
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(text)

    def demo(self, **more):
        """A summary of a demo, each of whose figures is another than the file's."""
        tables = {"demo": {}, "modern": {}}
        for name in figures.kept()["demo"]["figures"]:
            table, _, row = name.partition(": ")
            row, _, column = row.rpartition("/")
            if not row.startswith("reads' "):
                tables[table].setdefault(row, {})[column] = None
        said = {"usual": True, "modern": {who + key: 12.345 for who in ("peer_", "scan_", "")
                                          for key in ("read_mean_pct", "read_p99_pct")}, **more}
        for table, columns, at in (("demo", figures.DEMO, said),
                                   ("modern", figures.MODERN, said["modern"])):
            at["table"] = [["  " + row, *(("123456" if row == "blocks delivered" else "9.5")
                                          if column in cells else "-" for column in columns)]
                           for row, cells in tables[table].items()]
        path = os.path.join(self.folder, "demo", "summary.json")
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="ascii") as file:
            json.dump(said, file)

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
        self.replace("Documentation/troubleshooting.rst", "days at the rate", "days at a rate")
        status, _, err = taptest.freeblock_lab("figures", "--check")
        self.assertEqual(status, 1)
        self.assertIn("Documentation/troubleshooting.rst: found 0 times: takes <", err)

    def test_demo(self):
        """Those of a demo come into the file and into each document; lines of tables keep their
        columns."""
        self.demo()
        before = self.text("README.md").splitlines()
        status, out, err = taptest.freeblock_lab("figures", "--build", self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(set(out.splitlines()), {"changed: " + path for path in (
            "README.md", "Documentation/results.rst", "Documentation/troubleshooting.rst",
            "Documentation/lab.rst")})
        self.assertEqual(figures.differences(), [])
        self.assertIn("takes 9.5 days", self.text("Documentation/troubleshooting.rst"))
        self.assertIn("9.5, +12 %, +12 %", self.text("Documentation/results.rst"))
        after = self.text("README.md").splitlines()
        self.assertEqual(len(before), len(after))
        changed = [pair for pair in zip(before, after) if pair[0] != pair[1]]
        self.assertGreater(len(changed), 15)
        for old, new in changed:
            self.assertEqual(len(old), len(new), new)
        self.assertTrue(any(line.endswith(" 123456") for line in after))
