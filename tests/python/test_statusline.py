# SPDX-License-Identifier: GPL-2.0
"""Tests of the line that says how far something is.

Seen to fail: what is left of a longer line stays; a quiet line is shown; a file gets every line.
"""

import contextlib
import io
import unittest
from unittest import mock

from freeblock.base.statusline import FILE_S, TERMINAL_S, Line
from freeblock.extraction.progress import Stages


class Shown(unittest.TestCase):
    """What is written, over a clock of the test's own."""

    def said(self, terminal, steps, **more):
        """What is written of texts at times, and the end."""
        err = io.StringIO()
        now = [0.0]
        with contextlib.redirect_stderr(err), mock.patch.object(err, "isatty", lambda: terminal):
            line = Line(clock=lambda: now[0], **more)
            for now[0], text in steps:
                line.show(lambda text=text: text)
            line.end()
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
        self.assertEqual(self.said(True, steps), "\rlonger\ryes   \r   \r")
        self.assertEqual(self.said(True, steps, stays=True), "\rlonger\ryes   \n")

    def test_quiet(self):
        """Nothing, and what it would say is not even asked."""
        self.assertEqual(self.said(True, [(0, "x")], quiet=True), "")


class Far(unittest.TestCase):
    """How far something is."""

    def test_stages(self):
        """What an earlier run has done counts for the share, not for the time left.

        Seen to fail: without begin()."""
        now = [0.0]
        err = io.StringIO()
        with contextlib.redirect_stderr(err), mock.patch("freeblock.base.statusline.FILE_S", 0):
            one = Stages({"walk": 60, "turn": 40}, disk_s=lambda: now[0])
            one.skip("walk")
            tell = one.stage("turn")
            for now[0], share in ((1, 0), (2, 0.01), (21, 0.5)):
                tell(share, "at %g" % share)
            one.end()
        self.assertEqual(err.getvalue().splitlines(), [
            "[ 60 %] turn: at 0; disk time 1s", "[ 60 %] turn: at 0.01; disk time 2s",
            "[ 80 %] turn: at 0.5; disk time 21s, about 20s left"])
