# SPDX-License-Identifier: GPL-2.0
"""Blocks in the midst of tracks that live elsewhere.

Reading a whole track takes a turn and the switch to it, whatever the order in which the
drive takes its units; with a unit that lives elsewhere, the way there and back comes on
top. Tracks that take longer than their like are read again, and where that does not
help, unit by unit.
"""

import numpy as np

from .device import FUA, OVERLAP
from .track import wrap

TRACKS = 384            # read in one batch
LONGER = 0.12           # turns: a seek's spread is far less, the way to a spare more
AGAIN = 4               # readings of a track that took longer
LEAP = 0.12             # turns between units that are read in one turn


def whole(dev, tracks):
    """Ops that read each track, as few as may be, and how many for each."""
    parts = -(-tracks["count"].astype(np.int64) // dev.longest)
    which = np.repeat(np.arange(len(tracks)), parts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = tracks["first"][which] + part * dev.longest
    left = tracks["count"][which] - part * dev.longest
    # a track's parts without a gap between them
    flags = np.where(part > 0, FUA | OVERLAP, FUA)
    return dev.ops(first, count=np.minimum(left, dev.longest), flags=flags), parts


class Scan:
    """The tracks of a walk, read as wholes."""

    def __init__(self, job):
        self.job = job
        self.dev = job.dev
        self.reader = job.reader

    def _took(self, ops, parts, before):
        """Turns from the end of what came before each track to its end; NaN where a read
        failed."""
        found, _ = self.reader.run(ops)
        ends = np.cumsum(parts) - 1
        done = found["done"][ends].astype(np.float64)
        took = np.diff(done, prepend=before if before is not None else np.nan)
        bad = np.add.reduceat(found["status"] != 0, ends - parts + 1) > 0
        took[bad] = np.nan
        return took / self.reader.phase.period_ns

    def batch(self, number, tracks):
        """Look at some successive tracks of a run."""
        took = self._took(*whole(self.dev, tracks), None)
        usual = np.zeros(len(tracks))
        for new in (False, True):
            alike = (tracks["head"] == 0) == new
            known = took[alike & ~np.isnan(took)]
            # of those that did not lose a turn on their way
            usual[alike] = np.quantile(known, 0.2) if len(known) else 0
        with np.errstate(invalid="ignore"):
            longer = ~(took < usual + LONGER)
        for i in np.flatnonzero(longer):
            if not self._soon(tracks[i:i + 1], usual[i]):
                self._units(number, tracks[i])

    def _soon(self, track, usual):
        """Whether a track can be read in the usual time."""
        first, count = int(track["first"][0]), int(track["count"][0])
        before = first - 1 if first else min(count, self.dev.blocks - 1)
        ops, parts = whole(self.dev, track)
        one = np.concatenate((self.dev.ops([before]), ops))
        took = self._took(np.tile(one, AGAIN), np.tile([1, parts[0]], AGAIN), None)
        return bool(np.nanmin(np.append(took[1::2], np.inf)) < usual + LONGER)

    def _units(self, number, track):
        """Each unit of a track."""
        run = self.job.runs[number]
        leap = max(int(np.ceil(LEAP * track["spt"])), 1)
        at = np.concatenate([np.arange(i, track["count"], leap) for i in range(leap)])
        blocks = track["first"] + at
        edges = track["start"] + (track["slot"] + at + 1 + run.passed(blocks)) / track["spt"]
        found, angles = self.reader.run(self.dev.ops(blocks))
        off = wrap(angles - edges)
        room = 0.5 / track["spt"]
        with np.errstate(invalid="ignore"):
            doubtful = blocks[~((off > -room) & (off < self.reader.late + room))]
        strays = self._surely(run, track, doubtful)
        if not strays:
            again, _ = self.reader.run(self.dev.ops(blocks))
            strays = blocks[self._far(found, edges) & self._far(again, edges)].tolist()
        self.job.note_strays(strays, number)

    def _far(self, found, edges):
        """Which of some units that should lie on one track are away from it though at the
        right angle: the ways there and back take a turn more."""
        took = np.diff(found["done"].astype(np.float64)) / self.reader.phase.period_ns
        turns = np.round(took - np.diff(edges) % 1)
        longer = turns > np.median(turns)
        return np.concatenate(([False], longer[:-1] & longer[1:], [False]))

    def _surely(self, run, track, blocks):
        """Those that are not where they should be, however often they are read."""
        if not len(blocks):
            return []
        at = blocks - track["first"]
        edges = track["start"] + (track["slot"] + at + 1 + run.passed(blocks)) / track["spt"]
        off = wrap(self.reader.edges(blocks, AGAIN) - edges)
        room = 0.5 / track["spt"]
        with np.errstate(invalid="ignore"):
            return blocks[~((off > -room) & (off < self.reader.late + room))].tolist()


def scan(job):
    """Note what of the job's tracks lives elsewhere; yields how much is done."""
    look = Scan(job)
    while job.scanned[0] < len(job.runs):
        number, at = job.scanned
        tracks = job.runs[number].tracks()
        some = tracks[at:at + TRACKS]
        some = some[some["count"] > 0]
        if len(some):
            look.batch(number, some)
            yield float(some["first"][-1] + some["count"][-1]) / job.dev.blocks
        job.scanned = [number, at + TRACKS] if at + TRACKS < len(tracks) else [number + 1, 0]
