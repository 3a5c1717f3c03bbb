# SPDX-License-Identifier: GPL-2.0
"""How far a task is: rate over the last minute, time left, a line now and then."""

import collections
import time

from .fbstate import span
from .statusline import Line

WINDOW_S = 60


class Progress:
    """Blocks done of `total`; `done` of them before we began."""

    def __init__(self, total, done, block_bytes, quiet=False, clock=time.monotonic):
        self.total, self.done, self.block = total, done, block_bytes
        self.began_with = done
        self.clock = clock
        self.told = Line(quiet, clock)
        self.seen = collections.deque([(clock(), done)])
        self.start = self.seen[0][0]

    def set(self, done):
        """So many blocks are done now."""
        now = self.clock()
        self.done = done
        if now - self.seen[-1][0] >= 1:
            self.seen.append((now, done))
            while len(self.seen) > 2 and now - self.seen[1][0] >= WINDOW_S:
                self.seen.popleft()

    def rate(self):
        """Blocks a second of late."""
        (at, done), now = self.seen[0], self.clock()
        return (self.done - done) / (now - at) if now > at else 0.0

    def eta(self):
        """Seconds left at this rate; None if it stands still."""
        rate = self.rate()
        return (self.total - self.done) / rate if rate > 0 else None

    def values(self):
        """For programs."""
        eta = self.eta()
        return {"blocks": self.total, "done": self.done, "before": self.began_with,
                "block_bytes": self.block, "seconds": round(self.clock() - self.start, 1),
                "bytes_per_s": round(self.rate() * self.block),
                "eta_s": None if eta is None else round(eta)}

    def line(self, more=""):
        """For people."""
        share = 100.0 * self.done / self.total if self.total else 100.0
        return "%5.1f %%  %d of %d blocks  %.1f MB/s  left %s%s" % (
            share, self.done, self.total, self.rate() * self.block / 1e6, span(self.eta()),
            "  " + more if more else "")

    def show(self, remark):
        """Print the line, if it is time for it, with what remark() says."""
        self.told.show(lambda: self.line(remark()))

    def end(self):
        """The line is complete."""
        self.told.end()
