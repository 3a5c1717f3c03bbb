# SPDX-License-Identifier: GPL-2.0
"""A line on standard error that says how far something is: written over itself on a terminal,
now and then a new one in a file."""

import sys
import time

TERMINAL_S, FILE_S = 0.5, 15


class Line:
    """When it is written, and how."""

    def __init__(self, quiet=False, clock=time.monotonic, at_once=True, stays=False):
        self._clock, self._quiet, self._stays = clock, quiet, stays
        self._shown = None if at_once else clock()
        self._wide = 0

    def show(self, text):
        """Write what text() says, if it is time for it."""
        terminal = sys.stderr.isatty()
        now = self._clock()
        if self._quiet or (self._shown is not None and
                           now - self._shown < (TERMINAL_S if terminal else FILE_S)):
            return
        self._shown = now
        line = text()
        print(("\r" if terminal else "") + line.ljust(self._wide if terminal else 0),
              end="" if terminal else "\n", file=sys.stderr, flush=True)
        self._wide = len(line)

    def end(self):
        """The last line stays, or goes."""
        if self._wide and sys.stderr.isatty():
            print("\n" if self._stays else "\r%s\r" % (" " * self._wide), end="",
                  file=sys.stderr, flush=True)
        self._wide = 0
