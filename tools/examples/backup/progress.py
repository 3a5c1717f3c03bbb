# SPDX-License-Identifier: GPL-2.0
"""How far a pass is: a line now and then, on the error output."""

import time

from freeblock.fbstate import span
from freeblock.state.taskprogress import Blocks


class Bytes(Blocks):
    """Bytes done of `total` of a pass, `done` of them before it began."""

    def __init__(self, what, total, done=0, quiet=False, clock=time.monotonic):
        super().__init__(total, done, 1, quiet, clock)
        self.what = what

    def add(self, count):
        """So many bytes more."""
        self.set(self.done + count)

    def line(self, more=""):
        """For people."""
        return "%s: %.1f %% of %.1f MB, %.1f MB/s, %s left%s" % (
            self.what, 100.0 * self.done / max(self.total, 1), self.total / 1e6,
            self.rate() / 1e6, span(self.eta()), "; " + more if more else "")
