# SPDX-License-Identifier: GPL-2.0
"""Reads of single units as angles, and whether they end where a law says.

Every read ends late by chance; angles here have the middle of that taken away, so that what is on
a law lies within `tolerance` of it on both sides."""

import numpy as np

from .phase import wrap

GUARD = 3e-4            # turns: of the phase, and of what laws are known
ROOM = 1.15             # times the lateness seen that a read may be off
MOST_READS = 12         # of one unit, for a mean
AGAIN = 2               # reads of what is off, before it is believed
CHOICES = 8             # units of which the one that comes round first is read
LEAD = (0.04, 0.3, 0.7)         # turns from a read's end until the next can begin: least, at first,
LATER, SOONER = 0.006, 0.0003   # and most; by how much it is changed: one in twenty is lost
MARGIN = 0.01           # more, lest the head comes to the midst of a unit
PACED = 0.2             # turns behind it up to which a read tells whether it is right


class Meter:
    """Angles of units. late: the middle of how late reads are, turns; tolerance: a single read is
    hardly ever farther off; sigma: its standard deviation."""

    def __init__(self, dev, phase):
        self.dev, self.phase = dev, phase
        self.reads = 0
        late = np.concatenate(phase.late) / phase.period_ns
        high = float(np.quantile(late, 0.98))
        self.late = float(np.mean(late[late <= high]))
        self.tolerance = ROOM * max(high - self.late, self.late) + GUARD
        self.sigma = float(np.std(late[late <= high])) + GUARD / 4
        self.lead = LEAD[1]
        self._fresh = -np.inf

    def angles(self, units, paced=False):
        """Each unit read once, in that order; NaN: it cannot be read. paced: soonest() chose most
        of them."""
        if self.dev.clock_ns - self._fresh > self.dev.refresh_ns:
            self.phase.refresh(self.dev)
            self._fresh = self.dev.clock_ns
        found = self.dev.run(self.dev.ops(np.asarray(units, dtype=np.int64)))
        self.reads += len(found)
        turns = self.phase.turns(found["done"]) - self.late
        turns[found["status"] != 0] = np.nan
        if paced:
            self._learn_lead(np.diff(found["done"].astype(float)) / self.phase.local_ns,
                             np.diff(turns) % 1)
        return turns

    def _learn_lead(self, took, apart):
        """How soon the next read can begin: those that were to begin soon took a turn more, or
        not."""
        paced = (apart > self.lead) & (apart < self.lead + PACED)
        lost = np.count_nonzero(took[paced] > apart[paced] + 0.5)
        self.lead += lost * LATER - (np.count_nonzero(paced) - lost) * SOONER
        self.lead = float(np.clip(self.lead, LEAD[0], LEAD[2]))

    def soonest(self, at, run, units):
        """(the unit of these of a run that comes round first, the angle at its end), when the read
        before ends at an angle."""
        ends = run.ends(units)
        best = int(np.argmin((ends - 1 / run.spt - at - self.lead - MARGIN) % 1))
        return int(units[best]), float(ends[best])

    def means(self, units, reads, row=False):
        """The angles of units by so many reads of each, outliers apart. row: of one unit behind the
        other, after one more: a drive that begins anywhere ends early a read that finds the head
        within the unit, which only the first one does."""
        units = np.asarray(units, dtype=np.int64)
        if row:
            seen = self.angles(np.repeat(units, reads + 1)).reshape(-1, reads + 1)[:, 1:]
        else:
            seen = self.angles(np.tile(units, reads)).reshape(reads, -1).T
        unread = np.isnan(seen).all(axis=1)
        seen[unread] = 0
        first = seen[np.arange(len(seen)), np.argmax(np.isfinite(seen), axis=1)]
        off = wrap(seen - first[:, None])
        middle = np.nanmedian(off, axis=1)
        near = np.abs(off - middle[:, None]) <= 2 * self.tolerance
        # of two that are far apart neither is near their middle
        many = near.sum(axis=1)
        mean = np.where(many, np.where(near, off, 0).sum(axis=1) / np.maximum(many, 1), middle)
        return np.where(unread, np.nan, first + mean)

    def mean(self, unit, reads):
        """The same of one unit, read in a row."""
        return float(self.means([unit], min(max(int(reads), 1), MOST_READS), row=True)[0])

    def off(self, units, want, room, paced=False):
        """How far units end from where they should, the nearest of a few reads of those farther
        off than `room`; NaN: they cannot be read."""
        units, want = np.asarray(units, dtype=np.int64), np.asarray(want, dtype=float)
        found = wrap(self.angles(units, paced) - want)
        for _ in range(AGAIN):
            far = np.flatnonzero(np.abs(found) > room)
            if not len(far) or len(far) > max(len(units) / 2, 2):
                break
            again = wrap(self.angles(units[far]) - want[far])
            better = np.abs(again) < np.abs(found[far])
            found[far[better]] = again[better]
        return found
