# SPDX-License-Identifier: GPL-2.0
"""The track length and skew of tracks of which nothing is known.

Along a track angles grow by 1/spt a unit: found from units ever farther from the first, each
distance telling how many turns lie in the next. Where the line breaks the next track begins."""

from dataclasses import dataclass

import numpy as np

from .phase import wrap
from .runmap import Run

MOST_SPT = 16384        # units on a track
GROWTH = 1.9            # from one distance to the next
FEW = 4                 # times as many units has a track, for these to tell its length
LINES = 4               # tracks looked at until two have the same length
FANOUT = 7              # units read in one go when a break is looked for
BASE_READS = 2


@dataclass
class _Line:
    """Angles that grow alike from unit `first` on, whose own is `base`. low, high: turns a unit,
    between which that is; on: how many units it was followed; end: the first one off it."""

    first: int
    base: float
    room: float
    low: float = 1 / MOST_SPT / 2
    high: float = 0.25
    on: int = 0
    end: int = None

    @property
    def slope(self):
        """Turns a unit."""
        return (self.low + self.high) / 2

    def takes(self, distance, angle):
        """Whether a unit so far off is on the line, which then is known better; one that cannot be
        read is."""
        turns = angle - self.base
        if not np.isnan(turns):
            least, most = self.low * distance - self.room, self.high * distance + self.room
            whole = np.ceil(least - turns)
            if turns + whole > most:
                return False
            if turns + whole + 1 > most:
                self.low = max(self.low, (turns + whole - self.room) / distance)
                self.high = min(self.high, (turns + whole + self.room) / distance)
        self.on = distance
        return True


def _distances(most):
    found, at = [], 1.0
    while at <= most:
        if not found or int(at) > found[-1]:
            found.append(int(at))
        at *= GROWTH
    return found


class Surveyor:
    """Surveys tracks with a Meter; units from `end` on are none of the drive's."""

    def __init__(self, meter, end):
        self.meter, self.end = meter, end

    def line(self, first):
        """The _Line that begins with a unit, or None: it cannot be read, or follows none."""
        line = _Line(first, self.meter.mean(first, BASE_READS), 1.4 * self.meter.tolerance)
        if np.isnan(line.base):
            return None
        steps, off = _distances(min(2 * MOST_SPT, self.end - 1 - first)), None
        for at in range(0, len(steps), FANOUT):
            # near ones from the last to the first: the head does not come to their midst
            off = off or self._off(line, steps[at:at + FANOUT], -1 if at == 0 else 1)
        if off is None:
            return None
        while off - line.on > 1:
            some = np.linspace(line.on, off, min(FANOUT, off - line.on - 1) + 2).astype(int)
            off = self._off(line, np.unique(some)[1:-1].tolist()) or off
        line.end = first + off
        return line

    def _off(self, line, distances, way=1):
        """The first of some distances at which a unit is off a line, by two reads, or None; they
        are read that way."""
        seen = self.meter.angles(line.first + np.array(distances)[::way])[::way]
        for distance, angle in zip(distances, seen):
            if not line.takes(distance, angle) and \
                    not line.takes(distance, self.meter.mean(line.first + distance, 1)):
                return distance
        return None

    def survey(self, first):
        """[Run] of the first tracks from a unit on, the last of which has three tracks and goes
        on, maybe; []: they follow no law."""
        lines = []
        for _ in range(LINES):
            line = self.line(first)
            if line is None:
                return []
            run = self._run(first, line) if lines else None
            if run:
                return self._before(lines, run) + [run]
            lines.append(line)
            first = line.end
        return []

    def _run(self, first, line):
        """The track from one break to the next as a run of three tracks, if the two behind it are
        like it."""
        spt = line.end - first
        if abs(spt * line.slope - 1) > 3 * self.meter.tolerance or spt < 3:
            return None
        starts = [self.meter.mean(unit, 1) - 1 / spt for unit in (first, line.end)]
        if first + 3 * spt > self.end or not np.all(np.isfinite(starts)):
            return None
        run = Run(first, 3 * spt, spt, starts[0], float((starts[1] - starts[0]) % 1))
        units = np.array([first + spt - 1, line.end, first + 2 * spt - 1, first + 2 * spt,
                          first + 3 * spt - 1])
        room = 2 * self.meter.tolerance
        off = self.meter.off(units, run.ends(units), room)
        if np.any(np.abs(off) > room) or not np.all(np.isfinite(off[-2:])):
            return None
        return run

    def _before(self, lines, run):
        """What lies before a run: its own first track, cut short, or tracks that stand alone."""
        at, found = lines[-1].first, []
        if 0 < run.first - at <= run.spt:
            dead = run.spt - (run.first - at)
            want = run.angle - run.skew + (dead + 1) / run.spt
            if abs(wrap(self.meter.mean(at, 1) - want)) <= 2 * self.meter.tolerance:
                run.count += run.first - at
                run.first, run.dead, run.angle = at, dead, run.angle - run.skew
                lines = lines[:-1]
        for line in lines:
            count = line.end - line.first
            spt = min((count, run.spt, max(int(round(1 / line.slope)), count)),
                      key=lambda slots: abs(slots * line.slope - 1) + (slots < count))
            # few units do not tell their track's length
            spt = run.spt if count * FEW < run.spt else spt
            found.append(Run(line.first, count, spt,
                             self.meter.mean(line.first, 1) - 1 / spt, 0.0))
        return found
