# SPDX-License-Identifier: GPL-2.0
"""How far a task is."""

import time

from ..base.progress import Progress
from ..base.statusline import Line
from ..fbstate import span

WINDOW_S = 60


class Blocks(Progress):
    """Blocks done of `total`; `done` of them before we began. The rate is of late."""

    def __init__(self, total, done, block_bytes, quiet=False, clock=time.monotonic):
        super().__init__(total, done, Line(quiet, clock, stays=True), WINDOW_S, clock)
        self.block = block_bytes

    def values(self):
        """For programs."""
        eta = self.eta()
        return {"blocks": self.total, "done": self.done, "before": self.began_with,
                "block_bytes": self.block, "seconds": round(self.clock() - self.start, 1),
                "bytes_per_s": round(self.rate() * self.block),
                "eta_s": None if eta is None else round(eta)}

    def line(self, more=""):
        """For people."""
        return "%5.1f %%  %d of %d blocks  %.1f MB/s  left %s%s" % (
            100 * self.share(), self.done, self.total, self.rate() * self.block / 1e6,
            span(self.eta()), "  " + more if more else "")

    def tell(self, remark=str):
        """Print the line, if it is time for it, with what remark() says."""
        self.show(lambda: self.line(remark()))
