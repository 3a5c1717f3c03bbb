# SPDX-License-Identifier: GPL-2.0
"""How far a pass is: a line now and then, on the error output."""

import collections
import sys
import time

WINDOW_S = 60
TERMINAL_S, FILE_S = 1, 30      # between lines


class Progress:
    """Bytes done of `total` of a pass, `done` of them before it began."""

    def __init__(self, what, total, done=0, quiet=False, clock=time.monotonic):
        self.what, self.total, self.done = what, total, done
        self.quiet, self.clock = quiet, clock
        self.terminal = sys.stderr.isatty()
        self.shown = clock()
        self.seen = collections.deque([(self.shown, done)])

    def add(self, count):
        """So many bytes more."""
        self.done += count

    def rate(self):
        """Bytes a second in the last minute."""
        (at, done), now = self.seen[0], self.clock()
        return (self.done - done) / (now - at) if now > at else 0.0

    def eta(self):
        """Seconds left; None if it stands still."""
        rate = self.rate()
        return (self.total - self.done) / rate if rate > 0 else None

    def line(self, remark=""):
        """For people."""
        eta = self.eta()
        left = "-" if eta is None else "%d:%02d:%02d" % (eta // 3600, eta // 60 % 60, eta % 60)
        return "%s: %.1f %% of %.1f MB, %.1f MB/s, %s left%s" % (
            self.what, 100.0 * self.done / max(self.total, 1), self.total / 1e6,
            self.rate() / 1e6, left, "; " + remark if remark else "")

    def show(self, remark=str):
        """Print the line, if it is time for it, with what remark() says."""
        now = self.clock()
        if now - self.seen[-1][0] >= 1:
            self.seen.append((now, self.done))
            while len(self.seen) > 2 and now - self.seen[1][0] >= WINDOW_S:
                self.seen.popleft()
        if self.quiet or now - self.shown < (TERMINAL_S if self.terminal else FILE_S):
            return
        self.shown = now
        line = self.line(remark())
        print("\r\033[K" + line if self.terminal else line, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)

    def end(self):
        """The pass is over."""
        if self.terminal and not self.quiet:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
