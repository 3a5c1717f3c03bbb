# SPDX-License-Identifier: GPL-2.0
"""What the walk over all tracks found, put together: one disk of its runs.

Timing does not tell cylinders that hold nothing, nor which head is which: cylinders are
counted as if there were none such, and heads from the one that the first run begins
with. Where heads' tracks differ in length, that tells in which order they are visited.
"""

import numpy as np

from .layout import HOLE, compress

# A block that lives elsewhere: the edge of its angle there, and its run.
AWAY = np.dtype([("block", "<i8"), ("angle", "<f8"), ("run", "<i4")])


class Found:
    """runs; away: AWAY array; heads, and whether the skews told them (known_heads); bad:
    blocks that cannot be read."""

    def __init__(self, runs, away, heads, known_heads, bad):
        self.runs = runs
        self.away = np.array(sorted(away), AWAY)
        self.heads = heads
        self.known_heads = known_heads
        self.bad = sorted(bad)

    @property
    def tracks(self):
        """TRACK array of the disk, heads as they are visited."""
        return np.concatenate([self._tracks(i)[0] for i in range(len(self.runs))])

    @property
    def holes(self):
        """HOLE array."""
        return np.array(sum((run.holes() for run in self.runs), []), HOLE)

    def _first_cyl(self, number):
        """A run's first cylinder."""
        return sum(run.cylinders for run in self.runs[:number])

    def _tracks(self, number):
        """A run's tracks that hold units, and its first cylinder."""
        tracks = self.runs[number].tracks()
        first = self._first_cyl(number)
        tracks["cyl"] += first
        tracks["start"] %= 1
        return tracks[tracks["count"] > 0], first

    def _directions(self):
        """For each run: +1 if its first cylinder's heads are visited as the first run's
        are, -1 if the other way, 0: it cannot be told. And whether every other cylinder
        is visited the other way; None: it cannot be told."""
        shapes = [np.array(run.spt, dtype=float) / max(run.spt) for run in self.runs]
        heads = self.heads
        turning = None
        for shape in shapes:
            up = np.abs(shape[:heads] - shape[heads:]).sum()
            down = np.abs(shape[:heads] - shape[heads:][::-1]).sum()
            if abs(up - down) * max(self.runs[0].spt) > 1.5:
                turning = bool(turning) or down < up
        found = []
        for shape in shapes:
            up = np.abs(shape[:heads] - shapes[0][:heads]).sum()
            down = np.abs(shape[:heads] - shapes[0][:heads][::-1]).sum()
            found.append(int(np.sign(np.round((down - up) * max(self.runs[0].spt)))))
        return found, turning

    @property
    def order(self):
        """In which order heads are visited, or None: it cannot be told."""
        directions, turning = self._directions()
        if turning is None:
            return None
        if not turning:
            return "plain"
        as_disk = [1 - 2 * (self._first_cyl(i) & 1) for i in range(len(self.runs))]
        told = [(way, disk) for way, disk in zip(directions, as_disk) if way]
        if all(way == disk for way, disk in told) and any(disk < 0 for _, disk in told):
            return "serpentine-disk"
        return "serpentine-zone"

    def _heads(self, array, order, firsts):
        """The heads of an array's cylinders and heads as visited."""
        cyl = array["cyl"].astype(np.int64)
        if order == "plain":
            return array["head"]
        if order == "serpentine-zone":
            cyl = cyl - np.array(firsts)[np.searchsorted(firsts, cyl, side="right") - 1]
        return np.where(cyl & 1, self.heads - 1 - array["head"], array["head"])

    def layout(self, order=None, cylinders=None):
        """The Layout; `order`: where timing does not tell it, "plain" if not given;
        cylinders: of the drive."""
        order = self.order or order or "plain"
        firsts = [self._first_cyl(i) for i in range(len(self.runs))]
        tracks = self.tracks
        tracks["head"] = self._heads(tracks, order, firsts)
        cylinders = max(cylinders or 0, firsts[-1] + self.runs[-1].cylinders)
        return compress(tracks, self.heads, order, cylinders, self.holes, away=self.away)
