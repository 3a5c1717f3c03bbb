# SPDX-License-Identifier: GPL-2.0
"""One track, measured by nothing but when reads end.

A read of one unit ends when the unit has passed under the head, and is reported late,
never early. On a track, units lie on a line: each ends 1/spt turn after the one before.
Where the next track begins the line breaks, because tracks are skewed against each
other; where a slot holds no unit, it moves on by a slot; a unit that lives elsewhere
is off the line, but the next is on it again.

Angles are turns at the end of a unit, as of Phase; their *edge* is what they would be if
nothing were late.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import ToolError

REFRESH_NS = 2e9        # disk time after which the phase is anchored anew
CALIBRATE = 96          # reads of one unit that tell how late reports are
MOST_CALIBRATE = 2500
MEAN_SLOTS = 0.04       # of a slot, how well their mean is to be known,
USUAL_SPT = 400         # on a track of so many
LATE_MIN = 2e-4         # turns: no clock shows less
FINE = 16               # reads of a unit whose edge is to be known well
MOST_SPT = 65536        # units on a track
SLIPS = 2.5             # units in a row that may hold nothing on a track
STRAYS = 4              # units in a row that may live elsewhere
PARTS = (0.17, 0.3, 0.5, 0.63, 0.82)    # of a track, where its units are looked at


def wrap(turns):
    """Into -0.5 .. 0.5."""
    return turns - np.round(turns)


class Lost(ToolError):
    """What is read fits no track."""


class Reader:
    """Reads of single units, as angles. late: how late reports are at most, mean_late:
    and on the average, turns."""

    def __init__(self, dev, phase):
        self.dev = dev
        self.phase = phase
        self.shift = 0.0        # of this session's angles against the first one's
        self.late = self.mean_late = LATE_MIN
        self._lates = np.zeros(1)
        self._refreshed = dev.disk_ns

    def run(self, ops):
        """RESULTs of a batch and their angles, NaN where a read failed."""
        found = self.dev.run(ops)
        if self.dev.disk_ns - self._refreshed > REFRESH_NS:
            self.phase.refresh(self.dev)
            self._refreshed = self.dev.disk_ns
        turns = (self.phase.turns(found["done"]) - self.shift) % 1
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

    def above(self, block, edge, repeats):
        """How far a unit's angle lies behind `edge`, by the earliest of some reads."""
        return float(np.nanmin(wrap(self.angles(np.full(repeats, block)) - edge)))

    def calibrate(self, block):
        """How late reports are: more reads where that is more, so that the mean is known to
        a small part of a slot."""
        seen = self._late(block, CALIBRATE)
        spread = float(np.std(seen)) * USUAL_SPT / MEAN_SLOTS
        more = int(np.clip(spread ** 2, 0, MOST_CALIBRATE))
        if more > CALIBRATE:
            seen = self._late(block, more)
        self.late = max(float(seen.max()) * (1 + 2 / len(seen)), LATE_MIN)
        self.mean_late = float(seen.mean())
        self._lates = np.sort(seen)

    def least_late(self, reads):
        """How late the earliest of so many reads is on the mean, turns."""
        above = (1 - np.arange(len(self._lates) + 1) / len(self._lates)) ** reads
        return float(self._lates @ -np.diff(above))

    def _late(self, block, reads):
        """How late reads of one unit are, hiccups of the host apart."""
        seen = self.angles(np.full(reads, block))[1:]
        late = wrap(seen - early(seen[:, None])[0])
        late = late[~np.isnan(late)]
        if not len(late):
            raise Lost("block %d cannot be read" % block)
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


@dataclass
class Surveyed:
    """A track: its first unit, how many, slots per turn, the edge of the first unit's
    angle, slots passed over behind which units: [(unit, slots)], units of it that live
    elsewhere, and the edge of the unit after its last (None at the disk's end)."""

    first: int
    count: int
    spt: int
    angle: float
    holes: list = field(default_factory=list)
    strays: list = field(default_factory=list)
    after: float = None

    @property
    def slots(self):
        """From the first unit to the last one."""
        return self.count + sum(slots for _, slots in self.holes)

    def split(self):
        """Tracks without a skew between them are one line: the tracks, by its turns."""
        turns, rest = divmod(self.count, self.spt) if self.spt else (1, 0)
        if turns < 2 or rest or self.holes or self.strays:
            return [self]
        return [Surveyed(self.first + i * self.spt, self.spt, self.spt, self.angle,
                         after=self.after if i == turns - 1 else self.angle)
                for i in range(turns)]


class _Line:
    """Units of one track and their edges, in turns on from the first, unwrapped."""

    def __init__(self, reader, first, spt):
        self.reader = reader
        self.first = first
        self.free = spt is None
        self.slope = 1 / spt if spt else None
        self.known = {0: 0.0}
        self.base = None

    def room(self, repeats):
        """How far off a unit of the line may be."""
        return (1.5 if repeats < 4 else 1) * self.reader.late + SLIPS * self.slope

    def guess(self, at):
        """Where a unit would be, by the nearest known one before it."""
        near = max(k for k in self.known if k <= at)
        return self.known[near] + (at - near) * self.slope

    def off(self, at, edge):
        """How far an edge is off that."""
        return float(wrap(edge - self.base - self.guess(at)))

    def take(self, at, edge):
        """The unit is on the line."""
        self.known[at] = self.guess(at) + self.off(at, edge)
        far = max(self.known)
        if far >= 8:
            self.slope = self.known[far] / far

    def grow(self, edges, repeats):
        """Units at growing distances, {distance: edge}: (the last on the line, the
        first off it or None)."""
        self.base = edges[0]
        good = 0
        for at in sorted(edges)[1:]:
            if np.isnan(edges[at]):
                continue
            if self.slope is None:
                self.slope = float(wrap(edges[at] - self.base)) / at
            if abs(self.off(at, edges[at])) > self.room(repeats):
                return good, at
            self.take(at, edges[at])
            good = at
            if self.free and at <= 4:
                self.slope = max(self.known[at] / at, 1 / MOST_SPT)
        return good, None


class Surveyor:
    """Measures tracks."""

    def __init__(self, reader):
        self.reader = reader
        self.blocks = reader.dev.blocks

    def _distances(self, first, spt, count):
        """Where to look: ever farther from the first unit, and around the end that is
        expected."""
        far = min(self.blocks - 1 - first, 2 * spt if spt else MOST_SPT)
        ladder = {0} | {1 << i for i in range(18) if 1 << i <= far}
        if count:
            ladder |= {d for d in (count // 2, count - 1, count, count + 1) if 0 < d <= far}
        return np.array(sorted(ladder))

    def _on(self, line, at, repeats=2):
        """Whether a unit is on the line, and if so it is known."""
        edge = self.reader.edges([line.first + at], repeats)[0]
        if np.isnan(edge) or abs(line.off(at, edge)) > line.room(repeats):
            return False
        line.take(at, edge)
        return True

    def _end(self, line, good, bad):
        """How many units the track has; those of it that live elsewhere."""
        strays = []
        while True:
            while bad - good > 1:
                middle = (good + bad) // 2
                if self._on(line, middle):
                    good = middle
                else:
                    bad = middle
            back = next((bad + i for i in (1, STRAYS) if line.first + bad + i < self.blocks and
                         self._on(line, bad + i)), None)
            if back is None:
                return bad, strays
            while back - 1 > bad and self._on(line, back - 1):
                back -= 1
            strays += range(bad, back)
            good, bad = back, self._next_off(line, back)

    def _next_off(self, line, good):
        """A unit behind one on the line that is off it, by steps that double."""
        step = 1
        while True:
            at = good + step
            if line.first + at >= self.blocks:
                return self.blocks - line.first
            if not self._on(line, at):
                return at
            good, step = at, step * 2

    def track(self, first, spt=None, count=None, most=None):
        """The track that begins with a unit; what is expected of it, if anything. With more
        than `most` units it must be two tracks, and is not looked at closely."""
        unit = 1 / (spt or USUAL_SPT)
        repeats = int(np.clip(np.ceil(2 * self.reader.late / unit), 3, 12))
        distances = self._distances(first, spt, count)
        edges = self.reader.edges(first + distances, repeats)
        if np.isnan(edges[0]):
            raise Lost("block %d cannot be read" % first)
        line = _Line(self.reader, first, spt)
        good, bad = line.grow(dict(zip(distances.tolist(), edges)), repeats)
        if spt is None and good < 8:
            raise Lost("the units from %d on are on no line" % first)
        if bad is None:
            bad = self._next_off(line, good)
        units, strays = self._end(line, good, bad)
        if most and units > most:
            return Surveyed(first, units, spt, line.base)
        return self._describe(line, units, strays, spt)

    def _describe(self, line, count, strays, expected):
        """Slots per turn, slips, and what comes next."""
        found = Surveyed(line.first, count, expected or 0, line.base, strays=[
            line.first + at for at in strays])
        if line.first + count < self.blocks:
            found.after = float(self.reader.edges(
                [line.first + count], self.reader.slot_repeats(line.slope, 0.5))[0])
        if count > 8:
            self._slots(line, found, expected)
        return found

    def _fine(self, line, count, strays):
        """Edges of some units, so well that slots are told: distances, and turns from the
        first. Those that are off the line are strays."""
        # at no regular distances, lest slips look like another number of slots
        places = sorted({0, count - 1} | {int(part * count) for part in PARTS} -
                        {at - line.first for at in strays})
        unit = line.slope
        repeats = self.reader.fine_repeats(unit)
        places = np.array(places)
        edges = self.reader.edges(line.first + places, repeats)
        line.base = edges[0]
        off = wrap(edges - line.base - places * line.slope)
        good = np.abs(off) <= line.room(repeats) + line.slope
        strays += [line.first + int(at) for at in places[~good & ~np.isnan(off)]]
        return places[good], (places * line.slope + off)[good]

    def _slots(self, line, found, expected):
        """Slots per turn: the number with which the units are whole slots apart and the
        fewest slots are passed over; of equals what was expected."""
        places, turns = self._fine(line, found.count, found.strays)
        found.angle = line.base
        far, whole = places[-1], turns[-1]
        best = None
        room = min(self.reader.fine_error(line.slope) / line.slope + 0.1, 0.45)
        for passed in range(int(SLIPS * 4)):
            for spt in {int(round((far + passed) / whole)), expected or 0} - {0}:
                slots = turns * spt - places
                steps = np.diff(np.round(slots))
                if np.any(steps < 0) or np.round(slots[-1]) != passed:
                    continue
                off = np.abs(slots - np.round(slots)).max()
                cost = off + 0.05 * passed - (0.1 if spt == expected else 0)
                if off < room and (best is None or cost < best[0]):
                    best = cost, spt
        if best is None:
            raise Lost("the units from %d to %d are not whole slots apart" %
                       (found.first, found.first + found.count - 1))
        found.spt = best[1]
        passed = np.round(turns * found.spt - places).astype(np.int64)
        found.holes = self.holes(found, dict(zip(places.tolist(), passed.tolist())))

    def holes(self, found, passed):
        """Behind which units of a track slots are passed over: [(unit, slots)]; `passed`:
        {distance: slots passed over up to there} of some units."""
        away = {unit - found.first for unit in found.strays}

        def between(low, high):
            if passed[low] == passed[high]:
                return []
            if high - low == 1 or all(at in away for at in range(low + 1, high)):
                return [(found.first + high, passed[high] - passed[low])]
            middle = (low + high) // 2
            while middle in away:
                middle += 1
            if middle == high:
                middle = low + 1
            passed[middle] = self._passed(found, middle, passed[high])
            return between(low, middle) + between(middle, high)

        known = sorted(passed)
        holes = sum((between(low, high) for low, high in zip(known, known[1:])), [])
        if any(slots < 0 for _, slots in holes):
            raise Lost("the units from %d on are in no order" % found.first)
        return holes

    def _passed(self, found, at, most):
        """How many slots are passed over before a unit."""
        edge = found.angle + at / found.spt
        lowest = most
        repeats = self.reader.slot_repeats(1 / found.spt, 0.45)
        while repeats > 0 and lowest > 0:
            over = self.reader.above(found.first + at, edge, min(repeats, 4))
            lowest = min(lowest, int(np.round(over * found.spt)))
            repeats -= 4
        return lowest
