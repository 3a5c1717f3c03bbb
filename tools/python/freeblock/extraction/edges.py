# SPDX-License-Identifier: GPL-2.0
"""Reads of single units as angles: the earliest of several is nearly what nothing were late.

A read of one unit ends when the unit has passed under the head, and is reported late, never early.
Angles are turns at the end of a unit, as of Phase; their *edge* is what they would be if nothing
were late.
"""

import numpy as np

from .. import ToolError

REFRESH_NS = 2e9        # disk time after which the phase is anchored anew
CALIBRATE = 96          # reads of one unit that tell how late reports are
MOST_CALIBRATE = 2500
MEAN_SLOTS = 0.04       # of a slot, how well their mean is to be known,
USUAL_SPT = 400         # on a track of so many
FINE = 16               # reads of a unit whose edge is to be known well
LATE_MIN = 2e-4         # turns: no clock shows less


def wrap(turns):
    """Into -0.5 .. 0.5."""
    return turns - np.round(turns)


class Reader:
    """Reads of single units, as angles. late: how late reports are at most, turns."""

    def __init__(self, dev, phase):
        self.dev = dev
        self.phase = phase
        self.late = LATE_MIN
        self._refreshed = dev.disk_ns

    def run(self, ops):
        """RESULTs of a batch and their angles, NaN where a read failed."""
        found = self.dev.run(ops)
        if self.dev.disk_ns - self._refreshed > REFRESH_NS:
            self.phase.refresh(self.dev)
            self._refreshed = self.dev.disk_ns
        turns = self.phase.turns(found["done"]) % 1
        turns[found["status"] != 0] = np.nan
        return found, turns

    def angles(self, blocks):
        """The angles of single units, each read once."""
        return self.run(self.dev.ops(blocks))[1]

    def edges(self, blocks, repeats):
        """The edges of single units, each read so many times."""
        blocks = np.asarray(blocks, dtype=np.int64)
        seen = self.angles(np.tile(blocks, repeats)).reshape(repeats, len(blocks))
        return early(seen)

    def calibrate(self, block):
        """How late reports are: more reads where that is more, so that the mean is known to
        a small part of a slot."""
        seen = self._late(block, CALIBRATE)
        spread = float(np.std(seen)) * USUAL_SPT / MEAN_SLOTS
        more = int(np.clip(spread ** 2, 0, MOST_CALIBRATE))
        if more > CALIBRATE:
            seen = self._late(block, more)
        self.late = max(float(seen.max()) * (1 + 2 / len(seen)), LATE_MIN)

    def _late(self, block, reads):
        """How late reads of one unit are, hiccups of the host apart."""
        seen = self.angles(np.full(reads, block))[1:]
        late = wrap(seen - early(seen[:, None])[0])
        late = late[~np.isnan(late)]
        if not len(late):
            raise ToolError("block %d cannot be read" % block)
        return late[late < np.quantile(late, 0.9) * 1.5 + LATE_MIN]

    def slot_repeats(self, unit, share=0.75):
        """Reads of which one is less than `share` of a slot (`unit` turns) late, but for
        once in ten thousand."""
        share = min(share * unit / self.late, 0.99)
        return int(np.clip(np.ceil(-9.2 / np.log(1 - share)), 2, 100))

    def fine_repeats(self, unit):
        """Reads that tell a unit's edge well enough to work out slots from differences."""
        return max(self.slot_repeats(unit, 0.4), FINE)

    def fine_error(self, unit):
        """How far off such an edge may be, but for once in a thousand: turns."""
        return self.late * (1 - 1e-3 ** (1 / self.fine_repeats(unit)))


def early(seen):
    """The earliest angle of each column; NaN where a column has none."""
    bad = np.isnan(seen)
    first = np.argmin(bad, axis=0)
    base = seen[first, np.arange(seen.shape[1])]
    off = np.where(bad, np.inf, wrap(np.where(bad, 0, seen) - base))
    low = off.min(axis=0)
    return np.where(np.isfinite(low), base + low, np.nan) % 1
