#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the line that says how far something is. Prints TAP.

Seen to fail: what is left of a longer line stays; a quiet line is shown; a file gets every line.
"""

import contextlib
import io
import os
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

sys.path.insert(0, os.path.join(taptest.TOP, "tools", "python"))

from freeblock.statusline import FILE_S, TERMINAL_S, Line  # noqa: E402


class Shown(unittest.TestCase):
    """What is written, over a clock of the test's own."""

    def said(self, terminal, steps, clear=False, **more):
        """What is written of texts at times, and the end."""
        err = io.StringIO()
        now = [0.0]
        with contextlib.redirect_stderr(err), mock.patch.object(err, "isatty", lambda: terminal):
            line = Line(clock=lambda: now[0], **more)
            for now[0], text in steps:
                line.show(lambda text=text: text)
            line.end(clear)
        return err.getvalue()

    def test_file(self):
        """A line now and then."""
        steps = [(0, "one"), (FILE_S - 1, "two"), (FILE_S, "three")]
        self.assertEqual(self.said(False, steps), "one\nthree\n")
        self.assertEqual(self.said(False, steps, at_once=False), "three\n")
        self.assertEqual(self.said(False, [(0, "one")], at_once=False), "")

    def test_terminal(self):
        """Over itself, and as wide as the one before."""
        steps = [(0, "longer"), (TERMINAL_S / 2, "no"), (TERMINAL_S, "yes")]
        self.assertEqual(self.said(True, steps), "\rlonger\ryes   \n")
        self.assertEqual(self.said(True, steps[:1], clear=True), "\rlonger\r      \r")

    def test_quiet(self):
        """Nothing, and what it would say is not even asked."""
        self.assertEqual(self.said(True, [(0, "x")], quiet=True), "")


if __name__ == "__main__":
    taptest.main()
