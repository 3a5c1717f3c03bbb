# SPDX-License-Identifier: GPL-2.0
"""How far an extraction is, told on standard error."""

from ..statusline import Line


def minutes(seconds):
    """A time for people."""
    if seconds < 100:
        return "%d s" % seconds
    if seconds < 6000:
        return "%d min" % round(seconds / 60)
    return "%.1f h" % (seconds / 3600)


class Progress:
    """Stages of known weight, one after the other; a stage tells its own share."""

    def __init__(self, weights, quiet=False, disk_s=lambda: 0.0):
        self._weights = dict(weights)
        self._whole = sum(self._weights.values())
        self._before = 0.0
        self._stage = None
        self._disk_s = disk_s
        self._line = Line(quiet)
        # (share, disk time) where this run began
        self._began = None

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
        done = (self._before + self._weights[self._stage] * min(max(share, 0), 1)) / self._whole
        disk_s = self._disk_s()
        if self._began is None:
            self._began = (done, disk_s)
        self._line.show(lambda: "[%3d %%] %s: %s; disk time %s%s" % (
            100 * done, self._stage, text, minutes(disk_s), self._left(done, disk_s)))

    def _left(self, done, disk_s):
        first, since = self._began
        if done - first < 0.02:
            return ""
        return ", about %s left" % minutes((disk_s - since) * (1 - done) / (done - first))

    def end(self):
        """Clear the line."""
        self._line.end(clear=True)
