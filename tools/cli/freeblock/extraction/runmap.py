# SPDX-License-Identifier: GPL-2.0
"""A drive as a list of runs: stretches of units whose tracks follow one law.

Heads stay undecided: tracks are numbered in the order of units. Slot s of a run's track t ends at
angle + t * skew + (s + 1) / spt. Where heads change after each track the law has a *period*: track
t is the p-th of the c-th period, and begins at angle + c * turn + p * skew. `lengths` are the slots
of a period's tracks, or of two periods', where every other one visits the heads backwards. What no
run holds is a *hole*.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from .places import Layout, Zone


@dataclass
class Run:
    """first: unit; count: units; dead: slots of the first track before it; slips: [(unit, slots
    passed over before it)], ascending; unmapped: a hole."""

    first: int
    count: int
    spt: int
    angle: float
    skew: float
    dead: int = 0
    slips: list = field(default_factory=list)
    unmapped: bool = False
    lengths: list = field(default_factory=list)
    period: int = 1
    turn: float = 0.0

    @property
    def pattern(self):
        """Tracks until lengths come again."""
        return len(self.lengths) or 1

    @property
    def _before(self):
        """Slots before each track of the pattern, and all of them."""
        return np.concatenate(([0], np.cumsum(self.lengths or [self.spt])))

    @property
    def end(self):
        """The first unit behind it."""
        return self.first + self.count

    @property
    def slots(self):
        """From the first track's first one to that of the last unit."""
        return self.dead + self.count + sum(slots for _, slots in self.slips)

    @property
    def tracks(self):
        """How many."""
        first, last = self.place(np.array([self.dead, self.slots - 1]))[0]
        return int(last - first) + 1

    def slot_of(self, units):
        """Numbers of units' slots."""
        units = np.asarray(units, dtype=np.int64)
        found = units - self.first + self.dead
        for unit, slots in self.slips:
            found = found + np.where(units >= unit, slots, 0)
        return found

    def unit_from(self, number):
        """The first unit in a slot or behind it."""
        found = self.first + number - self.dead
        for unit, slots in self.slips:
            found = found if found < unit else max(unit, found - slots)
        return int(min(max(found, self.first), self.end))

    def lone(self):
        """[(first, end)] of its tracks whose length no other whole one has: slots that hold nothing
        may have been missed."""
        tracks = np.arange(*(self.place(np.array([self.dead, self.slots - 1]))[0] + [0, 1]))
        length = self.length(tracks)
        whole = (self.number(tracks) >= self.dead) & (self.number(tracks + 1) <= self.slots)
        once = [spt for spt in set(self.lengths) if np.sum(whole & (length == spt)) < 2]
        return [(self.unit_from(self.number(track)), self.unit_from(self.number(track + 1)))
                for track in tracks[np.isin(length, once)]]

    def place(self, numbers):
        """(tracks, slots on them) of slots."""
        if not self.lengths:
            return np.divmod(numbers, self.spt)
        before = self._before
        times, rest = np.divmod(numbers, before[-1])
        at = np.searchsorted(before, rest, side="right") - 1
        return times * self.pattern + at, rest - before[at]

    def number(self, tracks, slots=0):
        """The inverse."""
        if not self.lengths:
            return tracks * self.spt + slots
        times, at = np.divmod(tracks, self.pattern)
        return times * self._before[-1] + self._before[at] + slots

    def length(self, tracks):
        """Slots of tracks."""
        return np.array(self.lengths or [self.spt])[np.asarray(tracks) % self.pattern]

    def start(self, tracks):
        """Angles at which tracks begin, not wrapped."""
        if not self.lengths:
            return self.angle + tracks * self.skew
        period, at = np.divmod(tracks, self.period)
        return self.angle + period * self.turn + at * self.skew

    def columns(self, tracks):
        """What the law multiplies by turn and skew, or by the skew alone."""
        tracks = np.asarray(tracks, dtype=float)
        if self.period == 1:
            return tracks[..., None]
        return np.stack(np.divmod(tracks, self.period), axis=-1)

    def turned(self, tracks, off):
        """Take in that tracks begin `off` the law."""
        columns = self.columns(tracks)
        middle = columns.mean(axis=0)
        slopes = np.linalg.lstsq(columns - middle, off - off.mean(), rcond=None)[0]
        self.angle += float(off.mean() - slopes @ middle)
        self.skew += float(slopes[-1])
        self.turn += float(slopes[0]) if self.lengths else 0.0

    def ends(self, units):
        """Angles at which units end, not wrapped."""
        track, slot = self.place(self.slot_of(units))
        return self.start(track) + (slot + 1) / self.length(track)

    def trim(self):
        """Count no whole patterns before the first unit."""
        times, self.dead = divmod(int(self.dead), int(self._before[-1]))
        self.angle = float(self.start(times * self.pattern))

    def zone(self, first_cyl, heads):
        """As a zone of a drive with so many heads, a multiple of the period, and the cylinder
        behind it."""
        lengths = (self.lengths[:self.period] or [self.spt]) * (heads // self.period)
        cylinders = -(-self.slots // sum(lengths))
        # two may turn out to be in front of one unit
        behind = {}
        for unit, slots in sorted(self.slips):
            behind[unit] = behind.get(unit, 0) + slots
        slips = [(int(self.slot_of(unit)) - slots, slots) for unit, slots in behind.items()]
        spares = cylinders * sum(lengths) - self.dead - self.count
        step = self.turn - (self.period - 1) * self.skew if self.lengths else self.skew
        alike = len(set(lengths)) == 1
        return Zone(first_cyl, first_cyl + cylinders - 1, int(max(lengths)), self.angle % 1,
                    self.skew % 1 if heads > 1 else 0.0, step % 1, int(self.dead), int(spares),
                    slips, head_spt=None if alike else [int(spt) for spt in lengths],
                    unmapped=self.unmapped), first_cyl + cylinders


@dataclass
class RunMap:
    """runs in ascending order; blocks: units of the drive."""

    blocks: int
    runs: list = field(default_factory=list)

    def holes(self):
        """[(first, end)] of what no run holds."""
        found, at = [], 0
        for run in self.runs:
            if run.first > at:
                found.append((at, run.first))
            at = run.end
        return found + ([(at, self.blocks)] if at < self.blocks else [])

    @property
    def mapped(self):
        """Units that runs hold."""
        return sum(run.count for run in self.runs)

    def filled(self):
        """The runs, and unmapped ones where the holes are, with tracks like their neighbours'."""
        found, runs = [], list(self.runs)
        for first, end in self.holes():
            near = [run for run in runs if run.end <= first][-1:] or runs[:1]
            spt, skew = (near[0].spt, near[0].skew) if near else (1, 0.0)
            found.append(Run(first, end - first, spt, 0.0, skew, unmapped=True))
        return sorted(runs + found, key=lambda run: run.first)

    @property
    def period(self):
        """Tracks of a period, one for the whole drive."""
        return max((run.period for run in self.runs), default=1)

    def layout(self):
        """As a Layout: a cylinder is a period, or a track."""
        zones, at, heads = [], 0, self.period
        for run in self.filled():
            zone, at = run.zone(at, heads)
            zones.append(zone)
        back = any(run.pattern > run.period for run in self.runs)
        return Layout(heads, at, "serpentine-zone" if back else "plain", zones)

    def as_dict(self):
        """What JSON can say."""
        return {"blocks": self.blocks, "runs": [asdict(run) for run in self.runs]}

    @staticmethod
    def from_dict(said):
        """The inverse of as_dict()."""
        return RunMap(said["blocks"], [
            Run(**dict(row, slips=[tuple(slip) for slip in row["slips"]]))
            for row in said["runs"]])
