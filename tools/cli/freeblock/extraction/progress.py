# SPDX-License-Identifier: GPL-2.0
"""How far an extraction is, told on standard error."""

from ..base.progress import Progress
from ..base.statusline import Line
from ..fbstate import span

# Of all, before what is left can be told
TOLD_FROM = 0.02


class Stages(Progress):
    """Stages of known weight, one after the other; a stage tells its own share. The clock is the
    disk's time."""

    def __init__(self, weights, quiet=False, disk_s=lambda: 0.0):
        self._weights = dict(weights)
        super().__init__(sum(self._weights.values()), 0, Line(quiet), clock=disk_s)
        self._before = 0.0
        self._stage = None
        self._begun = False

    def stage(self, name):
        """The stage that begins; what came before it is done."""
        if self._stage is not None:
            self._before += self._weights[self._stage]
        self._stage = name
        return self.tell

    def skip(self, name):
        """A stage that was done in an earlier run."""
        self.stage(name)

    def tell(self, share, text=""):
        """The stage has come so far, 0 to 1."""
        done = self._before + self._weights[self._stage] * min(max(share, 0), 1)
        if not self._begun:
            # what was skipped was done in no time
            self.begin(done)
            self._begun = True
        self.set(done)
        self.show(lambda: "[%3d %%] %s: %s; disk time %s%s" % (
            100 * self.share(), self._stage, text, span(self.clock()), self._left()))

    def _left(self):
        if self.done - self.began_with < TOLD_FROM * self.total or self.eta() is None:
            return ""
        return ", about %s left" % span(self.eta())
