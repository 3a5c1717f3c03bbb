# SPDX-License-Identifier: GPL-2.0
"""The track length and skew of tracks of which nothing is known.

Along a track angles grow by 1/spt a unit: found from units ever farther from the first, each
distance telling how many turns lie in the next. Where the line breaks the next track begins."""

from dataclasses import dataclass

import numpy as np

from .runmap import Run
from .phase import wrap

MOST_SPT = 16384        # units on a track
GROWTH = 1.9            # from one distance to the next
FEW = 4                 # times as many units has a track, for these to tell its length
LINES = 4               # tracks looked at until two have the same length
FANOUT = 7              # units read in one go when a break is looked for
BASE_READS = 2
NO_SKEW_TURNS = 2.2     # a line so long has no breaks


@dataclass
class _Line:
    """end: the first unit off the line, or None: there is none; slope: turns a unit."""

    end: int
    slope: float


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
        meter = self.meter
        room = 1.4 * meter.tolerance
        base = meter.mean(first, BASE_READS)
        if np.isnan(base):
            return None
        low, high, on, off = 1 / MOST_SPT / 2, 0.25, 0, None
        steps = [d for d in _distances(2 * MOST_SPT) if first + d < self.end]
        for at in range(0, len(steps), FANOUT):
            part = np.array(steps[at:at + FANOUT])
            # near ones from the last to the first: the head does not come to their midst
            way = -1 if at == 0 else 1
            for distance, seen in zip(part, meter.angles(first + part[::way])[::way]):
                kept = self._narrow(low, high, distance, seen - base, room)
                if kept is None:
                    again = meter.mean(first + distance, 1)
                    kept = self._narrow(low, high, distance, again - base, room)
                if kept is None:
                    off = int(distance)
                    break
                (low, high), on = kept, int(distance)
                if low * on > NO_SKEW_TURNS:
                    return _Line(None, (low + high) / 2)
            if off:
                break
        if off is None:
            return None
        return self._break(first, base, on, off, low, high, room)

    @staticmethod
    def _narrow(low, high, distance, turns, room):
        """The slopes that a unit so far off allows, or None: it is not on the line."""
        if np.isnan(turns):
            return low, high
        least, most = low * distance - room, high * distance + room
        whole = np.ceil(least - turns)
        if turns + whole > most:
            return None
        if turns + whole + 1 <= most:
            return low, high
        return max(low, (turns + whole - room) / distance), \
            min(high, (turns + whole + room) / distance)

    def _break(self, first, base, on, off, low, high, room):
        """Where the line breaks, between two distances."""
        meter = self.meter
        while off - on > 1:
            some = np.unique(np.linspace(on, off, min(FANOUT, off - on - 1) + 2).astype(int))[1:-1]
            seen = meter.angles(first + some) - base
            for distance, turns in zip(some, seen):
                kept = self._narrow(low, high, distance, turns, room)
                if kept is None:
                    again = meter.mean(first + distance, 1) - base
                    kept = self._narrow(low, high, distance, again, room)
                if kept is None:
                    off = int(distance)
                    break
                (low, high), on = kept, int(distance)
        return _Line(first + off, (low + high) / 2)

    def survey(self, first):
        """[Run] of the first tracks from a unit on, the last of which has three tracks and goes
        on, maybe; []: they follow no law."""
        lines, at = [], first
        for _ in range(LINES):
            line = self.line(at)
            if line is None:
                return []
            if line.end is None:
                return self._without_skew(at, line.slope)
            lines.append((at, line))
            if len(lines) > 1:
                run = self._run(at, line)
                if run:
                    return self._before(first, lines[:-1], run) + [run]
            at = line.end
        return []

    def _without_skew(self, first, slope):
        spt = int(round(1 / slope))
        run = Run(first, 3 * spt, spt, self.meter.mean(first, BASE_READS) - 1 / spt, 0.0)
        return [run] if abs(spt * slope - 1) * 3 < 2 * self.meter.tolerance else []

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

    def _before(self, first, lines, run):
        """What lies before a run: its own first track, cut short, or tracks that stand alone."""
        at, line = lines[-1]
        found = []
        if 0 < run.first - at <= run.spt:
            dead = run.spt - (run.first - at)
            want = run.angle - run.skew + (dead + 1) / run.spt
            if abs(wrap(self.meter.mean(at, 1) - want)) <= 2 * self.meter.tolerance:
                run.count += run.first - at
                run.first, run.dead, run.angle = at, dead, run.angle - run.skew
                lines = lines[:-1]
        for at, line in lines:
            count = line.end - at
            spt = min((count, run.spt, max(int(round(1 / line.slope)), count)),
                      key=lambda slots: abs(slots * line.slope - 1) + (slots < count))
            # few units do not tell their track's length
            spt = run.spt if count * FEW < run.spt else spt
            found.append(Run(at, count, spt, self.meter.mean(at, 1) - 1 / spt, 0.0))
        return found
