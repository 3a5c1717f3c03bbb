# SPDX-License-Identifier: GPL-2.0
"""A few cylinders looked at closely, by timing only: the law of their zone.

A single unit's read ends at the angle of its end. Along a track angles grow by
1/slots a unit, which is found from pairs of units ever farther apart (each distance
tells how many turns lie in twice of it); a track ends where that line breaks. The
steps from one track's start to the next are the skews; where they, or the tracks'
lengths, come again there is the next cylinder. (DIXtrac and Wong's
microbenchmarks find boundaries by jumps of response time; an angle needs no
assumption about seeks.)
"""

from dataclasses import dataclass, field

import numpy as np

from .. import ToolError
from .lattice import Law, wrap

REFRESH_S = 4.0         # disk time after which the phase is looked at again
CALIBRATE = 48          # reads that tell the spread of completions
GUARD = 4e-4            # turns: of the phase, and of angles as floats
MOST_HEADS = 128        # tracks per cylinder (model-format.rst)
MOST_TURNS = 200        # along one line: beyond it there are no skews
SHORT = 16              # units of a track too short for a slope
CLEARLY = 40            # chi square by which one of two explanations is better
MOST_ALIKE = 0.6        # of the tracks that have their head's full length
SLOTS_SURE = 0.15       # standard error with which a track's slots are told
MOST_PAIRS = 16         # of reads at both ends of a track, for that


class Meter:
    """Angles of units' ends, as if no completion were late.

    half: half of the completions' spread, sigma: its standard deviation, turns."""

    def __init__(self, dev, phase):
        self.dev = dev
        self.phase = phase
        self.reads = 0
        self.fresh_ns = -1e18
        self._calibrate()

    def _calibrate(self):
        """How late completions are, from reads of the reference block."""
        self._refresh()
        block = self.phase.block
        found = self.dev.run(self.dev.ops(np.full(CALIBRATE + 1, block)))[1:]
        late = wrap(self.phase.turns(found["done"][found["status"] == 0]))
        low, middle, high = np.quantile(late, [0.1, 0.5, 0.9])
        self.late = float(middle)
        self.half = float(high - low) / 0.8 / 2
        self.sigma = max(self.half / np.sqrt(3), GUARD / 4)

    def _refresh(self):
        if self.dev.disk_ns - self.fresh_ns > REFRESH_S * 1e9:
            self.phase.refresh(self.dev)
            self.fresh_ns = self.dev.disk_ns

    def angles(self, units):
        """Each unit read once, in that order; NaN: it cannot be read."""
        self._refresh()
        found = self.dev.run(self.dev.ops(np.asarray(units, dtype=np.int64)))
        self.reads += len(found)
        angles = self.phase.turns(found["done"]) - self.late
        angles[found["status"] != 0] = np.nan
        return angles

    @property
    def tolerance(self):
        """A single read is not farther off than that."""
        return 1.1 * self.half + GUARD


class Line:
    """Angles along one track: a straight line, learnt point by point."""

    def __init__(self, meter, slope=None, slope_sigma=0.0):
        self.meter = meter
        self.points = []
        self.slope = slope
        self.at = 0.0           # angle of unit 0's end
        self.cov = np.diag([1.0, slope_sigma ** 2 if slope else 1.0])

    def begin(self, angles):
        """The angles of unit 0, read several times."""
        angles = angles[~np.isnan(angles)]
        if not len(angles):
            raise ToolError("units that cannot be read where a track is to be measured")
        self.at = float(angles[0] + np.mean(wrap(angles - angles[0])))
        self.cov[0, 0] = self.meter.sigma ** 2 / len(angles)
        self.points += [(0, a) for a in angles]

    def expected(self, x):
        """(angle, tolerance) of unit x."""
        row = np.array([1.0, x])
        return self.at + self.slope * x, self.meter.tolerance + 4 * np.sqrt(row @ self.cov @ row)

    def fits(self, x, angle):
        """Is a measured angle on the line?"""
        if np.isnan(angle):
            return False
        want, tolerance = self.expected(x)
        return abs(wrap(angle - want)) <= tolerance

    def learn(self, x, angle):
        """A point that is."""
        self.points.append((x, angle))
        row = np.array([1.0, x])
        gain = self.cov @ row / (row @ self.cov @ row + self.meter.sigma ** 2)
        off = wrap(angle - self.at - self.slope * x)
        self.at += gain[0] * off
        self.slope += gain[1] * off
        self.cov = self.cov - np.outer(gain, row @ self.cov)

    @property
    def start(self):
        """Where slot 0 begins, if unit 0 is in it."""
        return self.at - self.slope

    @property
    def start_sigma(self):
        """Its standard error."""
        row = np.array([1.0, -1.0])
        return np.sqrt(row @ self.cov @ row)


@dataclass
class Piece:
    """Units in a row that lie on one track."""

    first: int
    count: int
    line: Line = field(repr=False)
    whole: bool = True      # it ended within what was looked at


class Tracer:
    """Follows tracks from boundary to boundary."""

    def __init__(self, meter):
        self.meter = meter
        self.blocks = meter.dev.blocks
        self.repeats = int(np.clip(round(meter.half / 0.0015), 1, 5))

    def _on(self, first, line, x):
        """Is that unit on the line? Looked at again if not."""
        angle = self.meter.angles([first + x])[0]
        if not line.fits(x, angle):
            angle = self.meter.angles([first + x])[0]
        good = line.fits(x, angle)
        if good:
            line.learn(x, angle)
        return good

    def _break(self, first, line, good, bad):
        """The first unit that is not on it."""
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._on(first, line, middle):
                good = middle
            else:
                bad = middle
        return bad

    def _along(self, first, line, good):
        """On from a unit on the line to where it breaks; (count, ended)."""
        last = self.blocks - 1 - first
        while True:
            if good >= last:
                return last + 1, False
            if good * line.slope > MOST_TURNS:
                raise ToolError("%d units from unit %d on show no change of track: without skews "
                                "tracks cannot be told apart by timing" % (good, first))
            step = max(min(good, int(0.4 / max(line.slope, 1e-9))), 1)
            ahead = min(good + step, last)
            if not self._on(first, line, ahead):
                return self._break(first, line, good, ahead), True
            good = ahead

    def piece(self, first, guess=None):
        """The track from a unit on; `guess`: (places, slots) that it may have."""
        if guess is not None and first + guess[0] < self.blocks:
            return self._guessed(first, *guess)
        return self._unknown(first)

    def _unknown(self, first):
        line = Line(self.meter)
        line.begin(self.meter.angles([first] * 3))
        if first + 1 >= self.blocks:
            line.slope = 1.0
            return Piece(first, 1, line, False)
        angles = self.meter.angles([first + 1] * 3)
        line.slope = float(np.nanmean(wrap(angles - line.at)))
        line.cov[1, 1] = 2 * line.cov[0, 0]
        line.cov[0, 1] = line.cov[1, 0] = -line.cov[0, 0]
        if not -4 * self.meter.tolerance < line.slope < 0.34:
            return Piece(first, 1, line)
        line.points += [(1, a) for a in angles]
        count, ended = self._along(first, line, 1)
        return Piece(first, count, line, ended)

    def _guessed(self, first, count, slots):
        line = Line(self.meter, 1 / slots, 0.03 / slots)
        ahead = sorted({count * i // 8 for i in (1, 2, 3, 4, 5, 6, 7)} | {count - 1, count} - {0})
        units = [0] + ahead
        angles = self.meter.angles(first + np.array(units * self.repeats))
        angles = angles.reshape(self.repeats, len(units))
        line.begin(angles[:, 0])
        good = 0
        for i, x in enumerate(ahead, start=1):
            if not (all(line.fits(x, a) for a in angles[:, i]) or self._on(first, line, x)):
                if x == good + 1:
                    return Piece(first, x, line)
                return Piece(first, self._break(first, line, good, x), line)
            for angle in angles[:, i]:
                if line.fits(x, angle):
                    line.learn(x, angle)
            good = x
        count, ended = self._along(first, line, good)
        return Piece(first, count, line, ended)


def _split(pieces):
    """Tracks without a skew between them run on as one line: cut it by its turns."""
    found = []
    for piece in pieces:
        tracks = round(piece.count * piece.line.slope) if piece.line.slope else 1
        if tracks < 2 or piece.count % tracks:
            found.append(piece)
            continue
        size = piece.count // tracks
        for i in range(tracks):
            line = Line(piece.line.meter, piece.line.slope)
            line.at, line.cov = piece.line.at + i * size * piece.line.slope, piece.line.cov
            line.points = [(x - i * size, a) for x, a in piece.line.points
                           if i * size <= x < (i + 1) * size]
            found.append(Piece(piece.first + i * size, size, line, piece.whole))
    return found


class Pattern:
    """What comes again in a row of tracks."""

    def __init__(self, pieces, hint, sure=False, before=0):
        """hint: tracks of a cylinder, as the drive says, or as other zones have, which
        is `sure`. before: tracks of the zone before these."""
        self.pieces = pieces
        self.hint = hint
        self.sure = sure
        self.before = before
        self.back = False           # odd cylinders run backwards
        self.alike = 0              # tracks that have their head's full length
        starts = np.array([p.line.start for p in pieces])
        self.steps = np.diff(starts)
        # two steps compared are four starts
        self.near = 0.0005 + 4 * 2 * float(np.median([p.line.start_sigma for p in pieces]))
        self.counts = np.array([p.count for p in pieces])
        self.heads = self._heads()

    def _agree(self, values, period, margin=1.0):
        return np.all(np.abs(wrap(values[period:] - values[:-period])) <= margin * self.near)

    def _heads(self):
        """Tracks of a cylinder; None: no regularity seen."""
        steps = self.steps
        if len(steps) < 5:
            return None
        if np.all(np.abs(wrap(steps - steps[0])) <= self.near):
            return self._heads_alike()
        if self.hint and 2 <= self.hint <= len(steps) // 2 and \
                self._agree(steps, self.hint, 1.5):
            # within a cylinder tracks follow each other by one skew: else what comes again are
            # runs of fewer tracks
            return next((heads for heads in range(2, self.hint) if self.hint % heads == 0 and
                         self._agree(steps, heads)), self.hint)
        if self.sure:
            return None
        for heads in range(2, min(len(steps) // 2, MOST_HEADS) + 1):
            if self._agree(steps, heads):
                return heads
        return None

    def _heads_alike(self):
        """All skews alike: by the tracks' lengths, else what the drive says."""
        counts = self.counts[1:-1]
        if not self.sure and np.mean(counts != np.median(counts)) > 0:
            for heads in range(2, min(len(counts) // 2, MOST_HEADS) + 1):
                if np.array_equal(counts[heads:], counts[:-heads]):
                    return heads
        wanted = 2 * self.hint + 1 if self.hint else 2 * MOST_HEADS + 1
        if len(self.steps) < wanted:
            return None
        return self.hint or 1

    def _first_head(self):
        """Which pieces are a cylinder's first track: their number modulo heads."""
        heads = self.heads
        means = np.array([self.steps[i] + np.mean(wrap(self.steps[i::heads] - self.steps[i]))
                          for i in range(heads)])
        usual = np.array([np.median(np.abs(wrap(means - m))) for m in means])
        if heads < 3 or np.max(usual) <= self.near:
            return self._by_lengths(), means
        return (int(np.argmax(usual)) + 1) % heads, means

    def _by_lengths(self):
        """The same where skews do not tell: by lengths that come again backwards, else
        where the zone seems to begin."""
        begin = -self.before % self.heads
        scores = []
        for first in range(self.heads):
            self._lengths(first)
            scores.append(self.alike if self.back else 0)
        best = int(np.argmax(scores))
        return best if scores[best] > scores[begin] else begin

    def _rows(self, first):
        """(cylinder, head in order) of the pieces; the one numbered `first` is 0, 0."""
        return np.divmod(np.arange(len(self.pieces)) - first, self.heads)

    def _lengths(self, first):
        """(places of a cylinder's tracks, of two if odd ones run backwards; the head
        that each belongs to). Slips and spares can only take away."""
        cyl, head = self._rows(first)
        counts = np.where([p.whole for p in self.pieces], self.counts, 0)
        fits, misfit = [], []
        for back in (False, True):
            kind = np.where(back & (cyl % 2 == 1), self.heads - 1 - head, head)
            misfit.append(self._misfit(kind))
            most = np.zeros(self.heads, dtype=np.int64)
            np.maximum.at(most, kind, counts)
            fits.append(np.sum((counts == most[kind]) & (counts > 0)))
        # slips make some tracks shorter, too
        self.back = fits[True] >= fits[False] + 2 and \
            fits[True] >= MOST_ALIKE * np.count_nonzero(counts)
        # slopes know nothing of slips
        self.back |= misfit[False] > misfit[True] + CLEARLY and \
            misfit[True] < 3 * len(self.pieces)
        self.alike = max(fits)
        heads = np.arange(self.heads)
        if self.back:
            heads = np.concatenate((heads, heads[::-1]))
        # spares at a cylinder's end are another head's in odd cylinders
        most = np.zeros(len(heads), dtype=np.int64)
        np.maximum.at(most, (np.arange(len(counts)) - first) % len(heads), counts)
        return (None if np.any(most == 0) else most), heads

    def _misfit(self, kind):
        """How badly (chi square) tracks of a kind agree on their slots."""
        full = np.array([p.count > SHORT and p.line.slope > 0 for p in self.pieces])
        slots = np.array([1 / p.line.slope if f else 1.0 for p, f in zip(self.pieces, full)])
        weight = np.array([p.line.cov[1, 1] ** -1.0 if f else 0.0
                           for p, f in zip(self.pieces, full)]) / slots ** 4
        total = np.bincount(kind, weight, self.heads)
        mean = np.bincount(kind, weight * slots, self.heads) / np.maximum(total, 1e-30)
        return float(np.sum(weight * (slots - mean[kind]) ** 2))

    def law(self):
        """The law of these tracks, or None."""
        if self.heads is None:
            return None
        first, means = self._first_head()
        counts, heads = self._lengths(first)
        if counts is None:
            return None
        slots = Slots(self, first, counts, heads).find()
        steps = np.delete(means, (first - 1) % self.heads) if self.heads > 1 else means
        track = float(steps[0] + np.mean(wrap(steps - steps[0])))
        turn = float(means.sum()) if self.heads > 1 else track
        law = Law(self.heads, counts, slots, self.pieces[first].first,
                  (self.pieces[first].line.start, track, turn))
        self._learn(law, first)
        return law

    def _learn(self, law, first):
        """All points of the tracks that are as long as the law says."""
        for i, piece in enumerate(self.pieces):
            track = i - first
            if piece.count != law.count(track) or not piece.line.points:
                continue
            x, angles = (np.array(v) for v in zip(*piece.line.points))
            good = ~np.isnan(angles)
            law.learn(law.track_place(track) + x[good].astype(np.int64), angles[good],
                      law_sigma(piece.line.meter))


class Slots:
    """Sectors on each kind of track, from the slopes of their lines: more than a
    track holds units, if it has spares."""

    def __init__(self, pattern, first, counts, heads):
        self.pieces = pattern.pieces
        self.meter = pattern.pieces[0].line.meter
        kind = (np.arange(len(self.pieces)) - first) % len(counts)
        self.counts = counts
        self.heads = heads
        self.head_of = heads[kind]
        self.full = np.array([p.count > counts[k] // 2 and p.count > SHORT and p.line.slope > 0
                              for p, k in zip(self.pieces, kind)])

    def _mean(self, members):
        """(slots, standard error) that the lines of some heads' tracks show."""
        lines = [p.line for p, h, full in zip(self.pieces, self.head_of, self.full)
                 if full and h in members]
        if not lines:
            return None, np.inf
        slots = np.array([1 / line.slope for line in lines])
        weight = np.array([line.cov[1, 1] for line in lines]) ** -1.0 / slots ** 4
        return float(np.sum(slots * weight) / weight.sum()), float(weight.sum() ** -0.5)

    def _sharpen(self, members, err):
        """More reads at both ends of some heads' tracks."""
        pieces = [p for p, h, full in zip(self.pieces, self.head_of, self.full)
                  if full and h in members]
        more = int(np.clip(np.ceil((err / SLOTS_SURE) ** 2 * 4 / max(len(pieces), 1)), 1,
                           MOST_PAIRS))
        for piece in pieces:
            ends = np.array([0, piece.count - 1] * more)
            angles = self.meter.angles(piece.first + ends)
            for x, angle in zip(ends, angles):
                if piece.line.fits(x, angle):
                    piece.line.learn(x, angle)

    def _group(self, members, count):
        """Slots of each of some heads whose tracks hold equally many units."""
        mean, err = self._mean(members)
        if err > SLOTS_SURE and mean is not None:
            self._sharpen(members, err)
            mean, err = self._mean(members)
        if mean is not None and len(members) > 1:
            each = [self._mean([m]) for m in members]
            if any(n is not None and abs(n - mean) > 0.5 + 3 * e for n, e in each):
                return [self._group([m], count)[0] for m in members]
        return [self._number(mean, err, count)] * len(members)

    @staticmethod
    def _number(mean, err, count):
        """Slots, of which `count` hold units."""
        if mean is None or err > 2 * SLOTS_SURE and abs(mean - count) <= 0.6 + 3 * err:
            return count
        return max(int(round(mean)), count)

    def find(self):
        """Of each kind of track."""
        most = np.zeros(int(self.heads.max()) + 1, dtype=np.int64)
        np.maximum.at(most, self.heads, self.counts)
        slots = np.zeros(len(most), dtype=np.int64)
        for count in np.unique(most):
            members = np.flatnonzero(most == count)
            slots[members] = self._group(members, int(count))
        values = np.unique(slots)
        alone = np.flatnonzero(most < most.max())
        if len(alone) == 1 and len(values) == 2 and np.all(np.delete(most, alone) == most.max()):
            # as long as the others, with spares of its cylinder?
            mean, err = self._mean(alone)
            if mean is not None and abs(mean - slots.max()) <= 0.5 + 3 * err:
                slots[alone] = slots.max()
        return slots[self.heads]


def law_sigma(meter):
    """Standard deviation of a measured angle from the law."""
    return np.hypot(meter.sigma, GUARD / 4)


def survey(meter, first, hint, sure=False, say=lambda text: None):
    """(law, pieces) of the zone whose units go on from `first`; the law is certain on
    the last of the pieces. hint, sure: as Pattern's. None for the law: the drive ends
    before a pattern shows."""
    tracer = Tracer(meter)
    pieces = []
    unit = first
    wanted = 2 * hint + 4 if hint else 9
    # runs of tracks on a surface that are hardly longer than a cylinder come again later
    most = 2 * (hint or MOST_HEADS) + 8 + (0 if sure else 2 * (hint or 0) + 4)
    begin = 0
    while unit < meter.dev.blocks:
        pieces.append(tracer.piece(unit, _guess(pieces, hint)))
        unit = pieces[-1].first + pieces[-1].count
        if len(pieces) - begin < wanted:
            continue
        law = _law_of(pieces, begin, hint, sure)
        if law and len(law.counts) > law.heads and len(pieces) - begin < 4 * law.heads + 4:
            wanted = 4 * law.heads + 4      # see each kind of track twice
            continue
        if law:
            return law, pieces
        wanted = max(wanted + 4, wanted * 5 // 4)
        if wanted > most:
            say("no pattern in %d tracks from unit %d on; going on" %
                (len(pieces) - begin, pieces[begin].first))
            begin, wanted = len(pieces) - 1, 2 * hint + 4 if hint else 9
        if len(pieces) > 8 * MOST_HEADS:
            raise ToolError("no regular tracks from unit %d to %d" % (first, unit))
    return _law_of(pieces, begin, hint, sure), pieces


def _law_of(pieces, begin, hint, sure):
    """The law of the pieces, of which the first may be none of it: what the zone
    before has left, or slips have cut."""
    for skipped in range(1, (len(pieces) - begin) // 3 + 1):
        law = Pattern(_split(pieces[begin + skipped:]), hint, sure, skipped).law()
        if law:
            return law
    return None


def _guess(pieces, hint):
    """(places, slots) that the next track may have."""
    whole = [p for p in pieces[-2 * MOST_HEADS:] if p.count > SHORT and p.line.slope > 0]
    if not whole:
        return None
    usual = np.median([p.count for p in whole])
    piece = pieces[-hint] if hint and len(pieces) > hint and \
        pieces[-hint].count > 0.7 * usual else whole[-1]
    if piece.count < 0.7 * usual:
        piece = max(whole, key=lambda p: p.count)
    # tracks without a skew between them run on as one line
    count = piece.count // max(round(piece.count * piece.line.slope), 1)
    return count, max(1 / piece.line.slope, count)
