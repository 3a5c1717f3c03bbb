# SPDX-License-Identifier: GPL-2.0
"""A drive as a list of runs: stretches of units with one track length and one skew.

Heads and cylinders stay undecided: tracks are numbered in the order of units. Slot s of a run's
track t ends at angle + t * skew + (s + 1) / spt. What no run holds is a *hole*.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from .places import Layout, Zone


@dataclass
class Run:
    """first: unit; count: units; dead: slots of the first track before it; slips: [(unit, slots
    passed over before it)], ascending; off: how far its reads were off, turns;
    unmapped: a hole."""

    first: int
    count: int
    spt: int
    angle: float
    skew: float
    dead: int = 0
    slips: list = field(default_factory=list)
    off: float = 0.0
    unmapped: bool = False

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
        return -(-self.slots // self.spt)

    def slot_of(self, units):
        """Numbers of units' slots."""
        units = np.asarray(units, dtype=np.int64)
        found = units - self.first + self.dead
        for unit, slots in self.slips:
            found = found + np.where(units >= unit, slots, 0)
        return found

    def ends(self, units):
        """Angles at which units end, not wrapped."""
        track, slot = np.divmod(self.slot_of(units), self.spt)
        return self.angle + track * self.skew + (slot + 1) / self.spt

    def zone(self, first_track):
        """As a zone of a drive with one head, and the track behind it."""
        tracks = self.tracks
        slips = [(int(self.slot_of(unit)) - slots, slots) for unit, slots in self.slips]
        spares = tracks * self.spt - self.dead - self.count
        return Zone(first_track, first_track + tracks - 1, int(self.spt), self.angle % 1, 0.0,
                    self.skew % 1, int(self.dead), int(spares), slips,
                    unmapped=self.unmapped), first_track + tracks


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

    def layout(self):
        """As a Layout of one head, whose cylinders are tracks."""
        zones, at = [], 0
        for run in self.filled():
            zone, at = run.zone(at)
            zones.append(zone)
        return Layout(1, at, "plain", zones)

    def as_dict(self):
        """What JSON can say."""
        return {"blocks": self.blocks, "runs": [list(asdict(run).values()) for run in self.runs]}

    @staticmethod
    def from_dict(said):
        """The inverse of as_dict()."""
        return RunMap(said["blocks"], [Run(*row[:6], [tuple(slip) for slip in row[6]], row[7])
                                       for row in said["runs"]])
