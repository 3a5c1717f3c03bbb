#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/english: which sentences it finds, and where. Prints TAP."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

ENGLISH = taptest.program("tools/english")
LONG = " ".join(["word"] * 31)
PAGE = """.. SPDX-License-Identifier: GPL-2.0

====
Said
====

One drive. What is known
counts::

        nobody reads code

- an item that goes on
- another; ``told``

===== ==========
key   what
===== ==========
a     cost, as
      it is said
b     fine
===== ==========
"""


class English(unittest.TestCase):
    """Sentences and pages."""

    def test_faults(self):
        """Each rule, and what is none of its business.

        Seen to fail: words in literals; a question taken for a subject that is no thing."""
        for sentence, want in (
                ("The drive is idle.", []), ("What does it cost?", []),
                ("What it costs is measured.", ["the subject is no thing"]),
                ("It prints ``what is told``.", []), ("The size is told.", ["'told'"]),
                ("Whatever Nobody wants.", ["the subject is no thing", "'whatever'", "'nobody'"]),
                (LONG, ["31 words"]), (LONG[:-5], []), ("``%s``" % LONG, [])):
            self.assertEqual(list(ENGLISH.faults(sentence)), want, sentence)

    def test_page(self):
        """Paragraphs, items and cells of tables, with their lines; no titles, and no code."""
        found = list(ENGLISH.look("F", ENGLISH.paragraphs(PAGE)))
        self.assertEqual(found, [
            "F:7: the subject is no thing: What is known counts::",
            "F:12: 'goes on': an item that goes on", "F:18: 'said': cost, as it is said"])

    def test_mean(self):
        """Of a file."""
        self.assertEqual(list(ENGLISH.look("F", [(1, LONG[:-5]), (2, "One two.")])), [])
        self.assertEqual(list(ENGLISH.look("F", [(1, LONG[:-5]), (2, LONG[:-80] + ".")])),
                         ["F: 22.5 words a sentence on the mean"])

    def test_help(self):
        """All commands, and commands of commands."""
        places = [place for place, _ in ENGLISH.helps("", ENGLISH.cli.make_parser())]
        self.assertLess({"status", "conf check", "status --check"}, set(places))


if __name__ == "__main__":
    taptest.main()
