# SPDX-License-Identifier: GPL-2.0
"""A drive's layout by timing a sample of its units: `extract --quick`.

Of each zone a few cylinders are surveyed (survey.py), which gives its law
(lattice.py): where every track begins, in units and in angles. The law is then
tried at distances that double. Each trial reads two track boundaries, so that it
says three things: that the boundaries are where the law has them (exact units),
that the angles are (so that skews, known better with each, extend twice as far the
next time), and if not, by how many units all has moved. Units move where slots hold
none: slipped sectors, or spares of some cylinders. Bisection finds where; what comes
again at equal distances becomes part of the law. Where no move explains what is
read, the zone ends; bisection finds where, and the next zone is surveyed.

    found = quick(dev, phase)
    found.layout, found.report
"""

from dataclasses import dataclass, field

import numpy as np

from .. import ToolError
from . import surfaces
from .lattice import Law, wrap
from .pages import Pages
from .places import Layout
from .survey import GUARD, Meter, law_sigma, survey

GEOMETRY = 0x04         # mode page: rigid disk geometry (SBC-1 8.3.9)
LIMIT_S = 600           # of disk time
PATIENCE = 1.5          # times that, then the rest of the drive is left unexplained
REACH = 4               # longest tracks by which a trial looks for moved units
MOST_REPEATS = 16       # of a read that is to tell slots apart
ALIKE = 3               # equal steps that make slips a series; 2 if they are large
LARGE_GAP = 4
NARROW = 6              # tracks within which gaps lie too dense to be told apart
SMALL_MOVE = 16         # up to which a gap is looked at slot by slot
SERIES_TRIES = 3
SETTLE_TRIES = 20       # gaps in a zone's first tracks
BORDER = 12             # units on both sides of a border that are all looked at
POLISH = 64             # units of each zone that are read once more
MOST_WRONG = 0.15       # share of units that a law may place elsewhere
NEAR_MOVE = 64          # places that a closer look takes into account
UNREADABLE = 8          # units where a zone begins that cannot be read
MENDS = 20              # gaps that it finds at most
SEARCHES = 1000         # units read to find what trials have missed
CHECKS = 500            # of the finished layout
ANGLE_LIMIT = 0.002     # turns off that a checked unit may be
MORE_CYLINDERS = 0.05   # of what was seen that the drive may have besides
RUNS = 4                # stretches in a row that are alike but for where they begin


@dataclass
class Found:
    """layout: places.Layout; laws: [(first unit, Law)]; report: what was verified."""

    layout: Layout
    laws: list
    report: dict = field(default_factory=dict)


class Zoner:
    """One zone: its law, and how far it holds."""

    def __init__(self, meter, law, old, first, budget):
        self.meter = meter
        self.law = law
        self.old = old              # of the zone before, or None
        self.first = first          # the zone's first unit
        self.blocks = meter.dev.blocks
        self.budget = budget        # -> whether there is disk time left
        self.series = None          # (places, size) of gaps that come again
        self.failed_series = {}     # how often each did not
        self.approximate = 0        # places of gaps that were not looked for
        self.moves = {}             # gaps seen so far, for the rate

    # ---- readings

    def _tolerance(self, places):
        return self.meter.tolerance + 4 * self.law.sigma(places.ravel()).reshape(places.shape)

    def _fit(self, units, angles, moved):
        """Do measured angles fit units that lie `moved` (one column each) further on?"""
        places = self.law.place(units[:, None] + np.atleast_1d(moved)[None, :])
        want = self.law.angle(places.ravel()).reshape(places.shape)
        return np.abs(wrap(angles[:, None] - want)) <= self._tolerance(places)

    def _read(self, units, moved=0):
        """Angles of units; those that do not fit `moved` are read again."""
        angles = self.meter.angles(units)
        wrong = ~self._fit(units, angles, moved)[:, 0]
        if np.any(wrong):
            angles[wrong] = self.meter.angles(units[wrong])
        return angles, self._fit(units, angles, moved)[:, 0]

    def _around(self, track):
        """Units about a track's two boundaries, in the order in which they pass."""
        begin, count = self.law.boundary(track), self.law.count(track)
        units = begin + np.array([-1, 0, count // 3, 2 * count // 3, count - 1, count])
        return np.unique(units[(units >= self.first) & (units < self.blocks)])

    def moved_at(self, track, low=0, high=None):
        """How many places further on than the law says the units at a track's begin
        lie, from `low` to `high`; None: none of these."""
        units = self._around(track)
        if len(units) < 4:
            return None
        angles, fits = self._read(units)
        if np.count_nonzero(~fits) <= 1 and len(units) > 4 or np.all(fits):
            self._learn(units[fits], angles[fits], 0)
            return 0
        high = REACH * int(self.law.slots.max()) if high is None else high
        return self._search(track, units, angles, low, high)

    def _search(self, track, units, angles, low, high):
        moves = np.arange(low, high + 1)
        fits = np.count_nonzero(self._fit(units, angles, moves), axis=0)
        moves = moves[fits >= len(units) - 1]
        for cluster in self._clusters(moves)[:8]:
            found = self._exact(track, units, angles, cluster)
            if found is not None:
                return found
        return None

    @staticmethod
    def _clusters(moves):
        """Runs of neighbours, the nearest to 0 first."""
        if not len(moves):
            return []
        runs = np.split(moves, np.flatnonzero(np.diff(moves) > 1) + 1)
        return sorted(runs, key=lambda run: np.min(np.abs(run)))

    def _exact(self, track, units, angles, moves):
        """Which of some neighbouring moves puts the boundary where it is."""
        begin = self.law.boundary(track)
        more = np.arange(begin - moves.max() - 2, begin - moves.min() + 2)
        more = more[(more >= self.first) & (more < self.blocks)]
        if len(more) < 4:
            return None
        again = self.meter.angles(more)
        near = np.count_nonzero(self._fit(more, again, moves), axis=0)
        units, angles = np.concatenate((units, more)), np.concatenate((angles, again))
        fits = np.count_nonzero(self._fit(units, angles, moves), axis=0)
        best = np.flatnonzero(fits == fits.max())
        # all next to the boundary: on a track alone many moves look alike
        if len(best) != 1 or near[best[0]] < len(more) or fits.max() < len(units) - 1:
            return None
        moved = int(moves[best[0]])
        good = self._fit(units, angles, moved)[:, 0]
        self._learn(units[good], angles[good], moved)
        return moved

    def _learn(self, units, angles, moved):
        self.law.learn(self.law.place(units + moved), angles, law_sigma(self.meter))

    def _steady(self, track, low, high, last):
        """moved_at(), a few tracks on if something is in the way there."""
        for ahead in range(4):
            if track + ahead > last:
                break
            moved = self.moved_at(track + ahead, low, high)
            if moved is not None:
                return track + ahead, moved
        return None

    # ---- gaps

    def _move_of(self, unit, moved, repeats):
        """Which move from 0 to `moved` fits a unit best."""
        angles = self.meter.angles([unit] * repeats)
        angles = angles[~np.isnan(angles)]
        if not len(angles):
            return 0
        angle = angles[0] + np.mean(wrap(angles - angles[0]))
        # whole tracks away angles come again: what is more likely first
        for moves in ([np.array([0, moved])] if moved > SMALL_MOVE else []) + \
                [np.arange(moved + 1)]:
            off = np.abs(wrap(angle - self.law.angle(self.law.place(unit + moves))))
            if off.min() <= self.meter.tolerance:
                break
        return int(moves[np.argmin(off)])

    def _gap(self, good, bad, moved):
        """Between unit `good`, where the law says, and unit `bad`, moved: the first
        that is moved, and by how much it is."""
        slots = int(self.law.slots.max())
        sure = int(np.clip(np.ceil((6 * max(self.meter.sigma, GUARD / 2) * slots) ** 2), 1,
                           MOST_REPEATS))
        # of a large move a slot more or less does not matter on the way
        doubt, repeats = (0, sure) if moved <= SMALL_MOVE else (2, 1)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._move_of(middle, moved, repeats) > doubt:
                bad = middle
            else:
                good = middle
        size = self._move_of(bad, moved, sure)
        if moved > SMALL_MOVE and abs(size - moved) <= 2:
            size = moved
        return bad, max(size, 1)

    def _first_move(self, low, high, moved):
        """Tracks next to each other of which the law holds at the first and no more
        at the second, and the move there, the last of `above`, which tells of others
        behind. An empty `above`: between them nothing fits."""
        above = [(high, moved)]
        while above[-1][0] - low > 1:
            high, moved = above[-1]
            middle = self._between(low, high, moved)
            if middle is None:
                return low, above if high - low <= NARROW else []
            track, found = middle
            if found == 0:
                low = track
            else:
                above.append(middle)
        return low, above

    def _between(self, low, high, moved):
        """(track, move) of a track between two, tried about their middle."""
        return self._first_seen(about_middle(low, high), min(0, moved), max(moved, 0))

    def _first_seen(self, tracks, low, high):
        """(track, move) of the first of some tracks at which a move is seen."""
        for track in tracks:
            found = self.moved_at(track, low, high)
            if found is not None:
                return track, found
        return None

    def resolve(self, low, high, moved):
        """Units are where the law says at track `low`, and moved at track `high`:
        find the gaps between. The track up to which the law, with these, holds."""
        waiting = [(high, moved)]
        while waiting:
            high, moved = waiting.pop()
            if moved == 0:
                low = high
                continue
            if moved < 0:
                return low
            if not self.budget():
                self._spread(low, high, moved)
                waiting = [(t, m - moved) for t, m in waiting]
                low = high
                continue
            low, above = self._first_move(low, high, moved)
            if not above:
                return low
            track, moved = above.pop()
            at, size = self._gap(self.law.boundary(low), self.law.boundary(track) +
                                 self.law.count(track) // 3, moved)
            series = self.series
            self._add(int(self.law.place(at)), size)
            if self.series is not series:
                return low      # all behind is to be looked at anew
            waiting = [(t, m - size) for t, m in waiting + above + [(track, moved)]]
        return low

    def _spread(self, low, high, moved):
        """No time to look: gaps at equal distances."""
        begin, end = self.law.track_place(low), self.law.track_place(high)
        pieces = min(moved, 4096)
        for i in range(pieces):
            size = moved * (i + 1) // pieces - moved * i // pieces
            self.law.add_gap(begin + (end - begin) * (2 * i + 1) // (2 * pieces), size)
        self.approximate += moved

    def _add(self, place, size):
        """A gap, and what follows if it is one of a series."""
        self.law.add_gap(place, size)
        known = self.moves.setdefault(size, [])
        known.append(place)
        need = 2 if size >= LARGE_GAP else ALIKE
        if len(known) < need or self.series:
            return
        steps = np.diff(known[-need:])
        period = self.law.period
        step = int(round(steps[-1] / period)) * period
        if step <= 0 or np.any(np.abs(steps - step) > 8) or \
                self.failed_series.get((step, size), 0) >= SERIES_TRIES:
            return
        last = int(self.law.place(self.blocks - 1))
        self.law.add_gaps(np.arange(place + step, last, step), size)
        self.series = (step, size, place)

    def _end_series(self, low, high):
        """The law with its series holds at track `low`, not at `high`: the series ends
        between; cut it there."""
        while high - low > 1:
            middle = (low + high) // 2
            moved = self.moved_at(middle, 1 - self.series[1])
            if moved is not None and moved >= 0:
                low = middle
            else:
                high = middle
        self.law.cut_gaps(self.law.track_place(low) + self.law.count(low))
        failed = self.failed_series.get(self.series[:2], 0)
        self.failed_series[self.series[:2]] = failed + 1
        self.moves[self.series[1]] = []
        self.series = None

    # ---- how far

    def extend(self, start):
        """From a track where the law is sure to where it ends: the last track at whose
        begin it holds."""
        last = self._last_track()
        low, step = start, 2 * self.law.heads
        high = last + 1
        while low < last and low + 1 < high:
            wanted = min(low + step, last, high - 1)
            gaps = len(self.law.gap_at)
            found = self._try(wanted, low, high - 1)
            if found is None:
                high = wanted
                step = max((high - low) // 2, 1)
                continue
            last = self._last_track()
            if len(self.law.gap_at) != gaps:
                # what lay beyond may have moved too far to be recognised
                step, high = max(found - low, self.law.heads), last + 1
            low = found
            step = step * 2 if high > last else max((high - low) // 2, 1)
            high = min(high, last + 1)
        return low

    def _last_track(self):
        """The last that ends before the drive does."""
        track = int(self.law.track(self.blocks - 1))
        return track - 1

    def _try(self, track, low, last):
        """The law at a track, made to fit by gaps if it can be: the track up to which
        it then holds, or None."""
        reach = None
        if self.series:
            reach = -self.series[1] * (2 + (track - low) * len(self.law.counts) * self.law.period
                                       // self.series[0])
            reach = max(reach, -4 * int(self.law.slots.max()))
        found = self._steady(track, reach or 0, None, last)
        if found is None:
            return self._try_series(track, low)
        track, moved = found
        if moved < 0:
            self._end_series(low, track)
            return low
        if moved > 0:
            # a zone of the same skews differs on the last tracks of cylinders alone
            other = (track // self.law.heads + 1) * self.law.heads - 1
            other += self.law.heads if other == track else 0
            again = self.moved_at(other, moved) if other < last else None
            if again is None and other + 2 < last and self.moved_at(other + 2, moved) == moved:
                return None
            if again is not None and again != moved:
                return None     # a zone of other tracks looks like ever more gaps
            gaps = len(self.law.gap_at)
            track = self.resolve(low, track, moved)
            if track == low and len(self.law.gap_at) == gaps:
                return None
        return track

    def _try_series(self, track, low):
        """Nothing fits: if there is a series, perhaps because it has ended long ago."""
        if not self.series:
            return None
        kept = self.law.gap_at.copy(), self.law.gap_size.copy()
        self.law.cut_gaps(self.law.track_place(low) + 1)
        found = self.moved_at(track)
        self.law.gap_at, self.law.gap_size = kept
        self.law.add_gaps([], 0)
        if found is None:
            return None
        self._end_series(low, track)
        return low

    def end(self, low):
        """The first unit behind the zone, of which the law still holds at the begin
        of track `low`."""
        begin = self.law.boundary(low)
        limit = min(self.law.boundary(low + 4), self.blocks)
        units = np.unique(np.linspace(begin, limit - 1, 48).astype(np.int64))
        _, fits = self._read(units)
        if np.all(fits) and limit == self.blocks:
            return limit
        wrong = np.flatnonzero(~fits[:-1] & ~fits[1:])
        if not len(wrong):
            return limit if fits[-1] else int(units[-1])
        bad = int(units[wrong[0]])
        good = int(units[wrong[0] - 1]) if wrong[0] else begin - 1
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._read(np.array([middle]))[1][0]:
                good = middle
            else:
                bad = middle
        return bad

    def sure(self, start, low):
        """Of a law that fits at tracks `start` and `low`: up to where it does between, too. Where
        each track follows the one before by the same skew, and half a turn more now and then, it
        fits at many."""
        while low - start > 2:
            begin, end = self.law.boundary(start), self.law.boundary(low)
            units = np.random.default_rng(self.first).integers(begin, end, POLISH)
            _, fits = self._read(units)
            wrong = np.sort(units[~fits])
            if len(wrong) <= MOST_WRONG * POLISH:
                break
            low = self.between(start, int(self.law.track(wrong[1])))
        return low

    def between(self, good, bad):
        """The last track at which the law holds, from one where it does to one where not."""
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self.moved_at(middle, 0, 0) == 0 else (good, middle)
        return good

    # ---- between what was looked at

    def polish(self, end):
        """Units at random, of the zone's that end before `end`: its angles get more
        exact, and where they do not fit a closer look is taken."""
        units = np.random.default_rng(self.first).integers(self.first, end, POLISH)
        angles, fits = self._read(units)
        self._learn(units[fits], angles[fits], 0)
        self.look_closer(units[~fits], end)

    def look_closer(self, units, end):
        """Units, of the zone's that end before `end`, that do not fit."""
        for unit in units:
            if self.budget() and not self._read(np.array([unit]))[1][0]:
                self._closer(int(unit), end)

    def _closer(self, unit, end):
        """Slips that spares behind them take up: units between them have moved, but
        none before and behind."""
        law = self.law
        track, last = int(law.track(unit)), int(law.track(end - 1)) - 1
        if np.any(law.slots != law.counts) and self.moved_at(track, -NEAR_MOVE, NEAR_MOVE):
            law.spell_out(self.first, end)
            track, last = int(law.track(unit)), int(law.track(end - 1)) - 1
        kept = law.first, law.gap_at.copy(), law.gap_size.copy()
        low, high = self._unmoved(track, -1, last), self._unmoved(track, 1, last)
        seen = None
        if low is not None and high is not None:
            seen = self._first_seen([t for t in (track, track + 1, track - 1, track + 2)
                                     if low < t < high], -NEAR_MOVE, NEAR_MOVE)
        if seen is None:
            return
        if not (self._mend(low, seen[0]) and self._mend(seen[0], high)):
            law.first, law.gap_at, law.gap_size = kept
            law.add_gaps([], 0)

    def _unmoved(self, track, way, last):
        """The nearest track that way at which the law holds."""
        step = 1
        lowest = int(self.law.track(self.first)) + 1
        while step < 64 * self.law.heads:
            other = min(max(track + way * step, lowest), last)
            if self.moved_at(other, 0, 0) == 0:
                return other
            if other in (lowest, last):
                return None
            step *= 2
        return None

    def _mend(self, low, high):
        """The law holds at track `low`: let it hold at `high`, too."""
        for _ in range(MENDS):
            moved = self.moved_at(high, -NEAR_MOVE, NEAR_MOVE)
            if moved is None:
                return False
            if moved == 0:
                return True
            good, bad = low, high
            while bad - good > 1:
                found = self._first_seen(about_middle(good, bad), -NEAR_MOVE, NEAR_MOVE)
                if found is None:
                    break
                if found[1]:
                    bad, moved = found
                else:
                    good = found[0]
            if moved > 0:
                if self.resolve(good, bad, moved) == good:
                    return False
            elif not self.law.shrink(self.law.track_place(bad), -moved):
                return False
        return False

    # ---- back to the zone's first unit

    def settle(self):
        """From where the law was found back to the zone's first unit; the first unit
        that the law, with gaps, explains."""
        top = int(self.law.track(self.law.first)) if self.law.first > self.first else 0
        lowest = int(self.law.track(self.first)) + 1
        reach = -REACH * int(self.law.slots.max())
        for track in range(lowest, top + 1):
            if self.law.boundary(track) <= self.first:
                continue
            moved = self.moved_at(track, reach, 0)
            if moved is None:
                continue
            if moved:
                self.law.first -= moved
                self.resolve(track, top + 1, -moved)
            return self._settle_before(track)
        return self._settle_before(top)

    def _settle_before(self, track):
        """The law holds from a track on; how far before?"""
        good = self.law.boundary(track)
        for _ in range(SETTLE_TRIES):
            if good <= self.first:
                return self.first
            bad = self._last_wrong(good)
            if bad is None:
                return self._settle_first(good)
            while good - bad > 1:
                middle = (good + bad) // 2
                if self._read(np.array([middle]))[1][0]:
                    good = middle
                else:
                    bad = middle
            if not self._settle_over(good):
                return good
        return good

    def _last_wrong(self, good):
        """The last of some units before `good` that the law does not explain; one
        alone is a unit that lives elsewhere."""
        units = np.unique(np.linspace(self.first, good - 1, 32).astype(np.int64))
        _, fits = self._read(units)
        wrong = np.flatnonzero(~fits[1:] & ~fits[:-1])
        return int(units[wrong[-1] + 1]) if len(wrong) else None

    def _settle_over(self, begin):
        """The law does not hold right before `begin`: because of a gap (which it then
        gets), or because those units are the zone's before (false)?"""
        most = REACH * int(self.law.slots.max())
        units = np.unique(np.linspace(self.first, begin - 1, 6).astype(np.int64))
        old = None
        if self.old is not None:
            old = explained(self.meter, self.old, units, self._careful(units), np.arange(most))
        units = np.unique(np.maximum(begin - np.array([1, 2, 4, 7, 11]), self.first))
        own = explained(self.meter, self.law, units, self._careful(units), -np.arange(most))
        if own is None or old is not None and old < -own:
            if old:
                self.old.add_gap(int(self.old.place(self.first)), old)
            return False
        self.law.first -= own
        self.law.add_gap(int(self.law.place(begin)), -own)
        return own != 0

    def _careful(self, units):
        """Angles from several reads each."""
        angles = np.stack([self.meter.angles(units) for _ in range(4)])
        off = wrap(angles - angles[0])
        read = np.count_nonzero(~np.isnan(off), axis=0)
        return angles[0] + np.nansum(off, axis=0) / np.maximum(read, 1)

    def _settle_first(self, good):
        """Units of the zone's first track may have moved by less than one read shows."""
        place = self.law.place(self.first)
        slots = int(self.law.split(place)[2])
        repeats = int(np.clip((6 * self.meter.sigma * slots) ** 2, 2, MOST_REPEATS))
        angles = self.meter.angles([self.first] * repeats)
        if np.all(np.isnan(angles)):
            return self.first
        off = np.nanmean(wrap(angles - self.law.angle(place)))
        size = -int(round(off * slots))
        if size <= 0:
            return self.first
        self.law.first += size
        while size > 0:
            at, part = self._gap(self.first, good, size)
            self.law.add_gap(int(self.law.place(at)), part)
            size -= part
        return self.first


def about_middle(low, high):
    """Up to five numbers between two, the middle one first."""
    middle = (low + high) // 2
    return sorted(range(max(low + 1, middle - 2), min(high, middle + 3)),
                  key=lambda n: abs(n - middle))


def explained(meter, law, units, angles, moves):
    """Which of some moves, best first, explains angles; None: none does."""
    places = law.place(units[:, None] + moves[None, :])
    off = np.abs(wrap(angles[:, None] - law.angle(places.ravel()).reshape(places.shape)))
    good = np.flatnonzero(np.all(off <= meter.tolerance + GUARD, axis=0))
    if not len(good):
        return None
    near = good[good <= good[0] + 4]
    return int(moves[near[np.argmin(off[:, near].mean(axis=0))]])


class Sampler:
    """The whole drive, zone by zone."""

    def __init__(self, dev, phase, *, hint=None, cylinders=None, limit_s=LIMIT_S, save=None,
                 progress=None):
        self.dev = dev
        self.meter = Meter(dev, phase)
        self.hint = self.said = hint
        self.cylinders = cylinders
        self.save = save or (lambda state: None)
        self.progress = progress or (lambda fraction, text: None)
        self.begun_ns = dev.disk_ns
        self.limit_s = limit_s
        self.zones = []             # [first unit, Law]
        self.notes = []
        self.approximate = 0
        self.next = 0
        self.stay = 1               # tracks for which units stay on a surface
        self.surfaces = None        # then: how many there are

    def _budget(self, times=1):
        """Whether there is disk time left; for what cannot be left out, more."""
        return self.dev.disk_ns - self.begun_ns < times * self.limit_s * 1e9

    def _note(self, text):
        self.notes.append(text)
        self._tell(text)

    def _tell(self, text):
        self.progress(min(self.next / self.dev.blocks, 1.0), text)

    # ---- state

    def state(self):
        """What resume() takes, for JSON."""
        return {"next": int(self.next), "hint": self.hint, "notes": self.notes,
                "approximate": int(self.approximate),
                "run": int(self.stay), "surfaces": self.surfaces,
                "anchor": [int(self.meter.phase.block)],
                "zones": [[int(first), law.as_dict()] for first, law in self.zones]}

    def resume(self, state):
        """Go on from there. The phase must be of the same reference block."""
        if state["anchor"] != [int(self.meter.phase.block)]:
            raise ToolError("the state saved was measured against block %d, not %d" %
                            (state["anchor"][0], self.meter.phase.block))
        self.next, self.hint = state["next"], state["hint"]
        self.notes, self.approximate = list(state["notes"]), state["approximate"]
        self.zones = [(first, Law.from_dict(law)) for first, law in state["zones"]]
        self.stay, self.surfaces = state.get("run", 1), state.get("surfaces")

    # ---- zones

    def run(self):
        """All zones."""
        while self.next < self.dev.blocks:
            if self.zones and not self._budget(PATIENCE):
                self._note("no time left")
                self._skip(self.next, self.dev.blocks)
                break
            self._zone()
            self.save(self.state())
        self._tell("%d zones found" % len(self.zones))

    def _zone(self):
        """The zone that goes on from the first unit not explained."""
        first = self.next
        law, _ = survey(self.meter, self._readable(first), self.hint, bool(self.zones), self._note)
        if law is None:
            self._leftover(first)
            return
        old = self.zones[-1][1] if self.zones else None
        zoner = Zoner(self.meter, law, old, first, self._budget)
        begin = zoner.settle()
        if not self.zones and begin:
            self._note("units 0 to %d: not explained" % (begin - 1))
            begin = 0
        zoner.first = begin = self._refine(law, begin)
        start = max(int(law.track(law.first)), 0)
        low = zoner.extend(start)
        if _uneven(law) < ANGLE_LIMIT * law.heads:
            low = zoner.sure(start, low)
        end = zoner.end(low)
        if end <= max(begin, first):
            self._skip(first, law.period)
            return
        self.hint = law.heads
        if self.surfaces or not self.zones and self._starts_with_runs(zoner, end):
            if _uneven(law) >= ANGLE_LIMIT and law.heads == self.stay:
                self._end_in_band(zoner, end)
            else:
                self._zone_of_runs(law, begin, end)
            return
        self._append(zoner, end)
        self._look_for_runs()

    def _append(self, zoner, end):
        """A zone more, which ends before that unit."""
        law, begin = zoner.law, zoner.first
        self.next = end
        self.zones.append((begin, law))
        law.rebase(begin)
        zoner.polish(end)
        self.approximate += zoner.approximate
        self._tell("zone %d: units %d to %d, %d tracks a %s of %d sectors" % (
            len(self.zones) - 1, begin, end - 1, law.heads,
            "surface" if self.surfaces else "cylinder", law.slots.max()))

    # ---- units that stay on a surface for some tracks

    def _start(self, law, unit):
        """The angle at which a law has the sector of a unit begin."""
        place = law.place(np.array([unit]))
        return float(law.angle(place)[0]) - 1 / int(law.split(place)[2][0])

    def _across(self, law, first, tracks):
        """The angle from a track to the next, exactly, by tracks that begin with unit `first`."""
        last = first + (tracks - 1) * int(law.slots[0])
        about = float(law.theta[1])
        apart = self._start(law, last) - self._start(law, first)
        return about + float(wrap(apart - (tracks - 1) * about)) / max(tracks - 1, 1)

    def _starts_with_runs(self, zoner, end):
        """Whether what looks like the first zone's cylinders, which end before a unit, are short
        runs of tracks, each on one surface. As many tracks as the drive says it has surfaces are
        believed to be a cylinder."""
        law = zoner.law
        if law.heads in (1, self.said) or _uneven(law) < ANGLE_LIMIT or np.ptp(law.slots) or \
                len(law.counts) > law.heads:
            return False
        if self.said is None and not surfaces.moves_within(self.meter, law, zoner.first, end):
            return False
        self.stay = law.heads
        self.surfaces = 1 if self.said == 1 else \
            surfaces.count(self.meter, law, zoner.first, end, self.said)
        # two tracks have one move between them, which cannot be compared
        if not self.surfaces or self.surfaces == 1 != self.said and law.heads == 2:
            self._refuse_runs(zoner.first, law.heads)
        if self.surfaces == 1 != self.said:
            self.stay, self.surfaces = 1, None
            if self.said is not None:
                self._note("the drive says that it has %d surfaces, timing shows cylinders of %d "
                           "tracks" % (self.said, law.heads))
            return False
        self._note_runs()
        return True

    def _note_runs(self):
        self._note("units stay on a surface for %d tracks; surfaces: %d" %
                   (self.stay, self.surfaces))

    def _look_for_runs(self):
        """If the last zones are runs of tracks, each on one surface (model-format.rst,
        surface_run), make one zone of them, and find out how many surfaces there are."""
        row = self._runs_in_row()
        if not row:
            return
        first, law = row[1]
        slots = int(law.slots[0])
        tracks, over = divmod(row[2][0] - first, slots)
        starts = [self._start(one, unit) for unit, one in row[1:]]
        joined = None
        if not over and tracks > 1:
            turn = np.diff(starts)
            turn = float(turn[0] + np.mean(wrap(turn - turn[0])))
            joined = surfaces.runs_law(
                self.meter, (tracks, slots), first - tracks * slots, starts[0] - turn,
                (self._across(law, first, tracks), turn))
            zoner = Zoner(self.meter, joined, None, row[0][0], self._budget)
            zoner.first = zoner.settle()
            surfaces.learn(self.meter, joined, first + np.arange(2 * RUNS) * (tracks * slots) // 4)
            end = zoner.end(zoner.extend(tracks))
            self.stay = tracks
            self.surfaces = surfaces.count(self.meter, joined, zoner.first, end, self.said)
        # to timing alone cylinders of so many heads are runs if the arm is as fast
        if not joined or not self.surfaces or \
                self.surfaces == 1 and self.said not in (None, tracks):
            self._refuse_runs(first, tracks)
        del self.zones[-RUNS:]
        if self.surfaces == 1:
            self.stay, self.surfaces, self.hint = 1, None, tracks
            self._append(zoner, end)
        else:
            self._note_runs()
            self._end_in_band(zoner, end)

    def _zone_of_runs(self, law, begin, end):
        """A zone of a drive whose surfaces are known, of which the first run is from `begin` to
        before `end`, by a law that knows no surfaces."""
        track, at, slots = (int(part[0]) for part in law.split(law.place(np.array([begin]))))
        tracks = int(law.track(end - 1)) - track + 1
        place = law.track_place(track)
        gaps = [(a - place, n) for a, n in zip(law.gap_at, law.gap_size) if a > place + at]
        first, start = begin - at, self._start(law, begin) - at / slots
        turn = 0.0
        if end < self.dev.blocks:
            angles = self.meter.angles([end] * 4)
            turn = float(angles[0] + np.nanmean(wrap(angles - angles[0]))) - 1 / slots - start
        about = self._across(law, law.boundary(track + 1), tracks - 1) if tracks > 2 else \
            float(law.theta[1])
        runs = surfaces.runs_law(self.meter, (tracks, slots), first, start, (about, turn), gaps)
        zoner = Zoner(self.meter, runs, None, begin, self._budget)
        self._end_in_band(zoner, max(zoner.end(zoner.extend(tracks - 1)), end))

    def _end_in_band(self, zoner, end):
        """A zone of runs, of which its law says the truth up to before unit `end`: only where a
        band ends, if its last is narrower. That is then a zone of its own."""
        law, width = zoner.law, zoner.law.heads
        band = width * self.surfaces
        law.rebase(zoner.first)
        last = int(law.track(end - 1))
        begin = (last - 1) // band * band
        low = zoner.sure(begin, last - 1)
        # a band that is narrower by a few tracks differs on few
        if low >= begin + width - 1 and zoner.moved_at(begin + width - 1, 0, 0) != 0:
            low = zoner.between(begin, begin + width - 1)
        if low < last - 1:
            end = zoner.end(low)
        if end <= zoner.first:
            self._skip(zoner.first, width * int(law.slots[0]))
            return
        bands, over = divmod(int(law.track(end - 1)) + 1, band)
        if not bands or not 0 < over < width:
            self._append(zoner, end)
            return
        cut = law.boundary(bands * band)
        slots, turn = int(law.slots[0]), float(law.theta[2])
        step = float(law.theta[1])
        change = turn - (width - 1) * step
        narrow = surfaces.runs_law(
            self.meter, (over, slots), cut, float(law.theta[0]) + bands * self.surfaces * turn,
            (step, change + (over - 1) * step))
        self._append(zoner, cut)
        more = Zoner(self.meter, narrow, None, cut, self._budget)
        self._append(more, max(more.end(more.extend(max(over - 1, 0))), end))

    def _refuse_runs(self, first, tracks):
        """ToolError: surfaces were not told apart."""
        raise ToolError("units stay on a surface for some tracks before the heads change (%d of "
                        "them from unit %d on), as on most drives since about 2000, and timing did "
                        "not show how many surfaces there are. A model of it must be written by "
                        "hand, with a record surface_run (Documentation/model-format.rst)" %
                        (tracks, first))

    def _runs_in_row(self):
        """The last zones, [first unit, Law], if each is a run of tracks: in a row they are as
        long as each other, as are their tracks, and the skew is one."""
        row = self.zones[-RUNS:]
        laws = [law for _, law in row]
        firsts = np.array([first for first, _ in row] + [self.next])
        slots = np.concatenate([law.slots for law in laws])
        if len(row) < RUNS or np.ptp(np.diff(firsts)) or np.ptp(slots) or np.any(np.abs(
                wrap([law.theta[1] - laws[0].theta[1] for law in laws])) > ANGLE_LIMIT):
            return None
        return row

    def _readable(self, first):
        """The first unit from one on that can be read, of some."""
        units = np.arange(first, min(first + UNREADABLE, self.dev.blocks))
        good = np.flatnonzero(~np.isnan(self.meter.angles(units)))
        return int(units[good[0]]) if len(good) else first

    def _skip(self, first, count):
        """Units that no law fits count as the zone's before."""
        self.next = min(first + count, self.dev.blocks)
        if not self.zones:
            raise ToolError("units 0 to %d show no regular tracks" % (self.next - 1))
        self._note("units %d to %d: not explained" % (first, self.next - 1))

    def _leftover(self, first):
        """The drive ends before a zone shows its pattern."""
        if not self.zones:
            raise ToolError("the drive's %d units show no regular tracks" % self.dev.blocks)
        self._note("units %d to %d: too few for a zone" % (first, self.dev.blocks - 1))
        self.next = self.dev.blocks

    def _refine(self, law, begin):
        """The border to the zone before, exactly."""
        if not self.zones:
            return begin
        old = self.zones[-1][1]
        units = np.arange(max(begin - BORDER, self.zones[-1][0] + 1),
                          min(begin + BORDER, self.dev.blocks))
        angles = self.meter.angles(units)
        sigma = self.meter.tolerance
        misfit = [np.abs(wrap(angles - one.angle(one.place(units)))) > sigma + GUARD
                  for one in (old, law)]
        # if the border were before units[i]
        cost = np.concatenate(([0], np.cumsum(misfit[0]))) + \
            np.concatenate((np.cumsum(misfit[1][::-1])[::-1], [0]))
        best = np.flatnonzero(cost == cost.min())
        edges = np.append(units, units[-1] + 1)[best]
        return int(edges[np.argmin(np.abs(edges - begin))])

    # ---- the result

    def predict(self, units):
        """Angles at which units end."""
        units = np.asarray(units, dtype=np.int64)
        firsts = np.array([first for first, _ in self.zones])
        zone = np.searchsorted(firsts, units, side="right") - 1
        angles = np.empty(len(units))
        for i in np.unique(zone):
            law = self.zones[i][1]
            pick = zone == i
            angles[pick] = law.angle(law.place(units[pick]))
        return angles

    def _off(self, units):
        """How far the angles of units are off what the laws say, turns."""
        angles = np.concatenate([self.meter.angles(part) for part in np.array_split(
            units, len(units) // 50 + 1)])
        return wrap(angles - self.predict(units))

    def search(self, count=SEARCHES, seed=1):
        """Random units of the whole drive; a closer look at those that do not fit."""
        units = np.random.default_rng(seed).integers(0, self.dev.blocks, count)
        units = units[~(np.abs(self._off(units)) <= self.meter.tolerance)]
        ends = [first for first, _ in self.zones[1:]] + [self.dev.blocks]
        for (first, law), end in zip(self.zones, ends):
            zoner = Zoner(self.meter, law, None, first, self._budget)
            zoner.look_closer(units[(units >= first) & (units < end)], end)

    def check(self, count=CHECKS, seed=2):
        """Random units of the whole drive: are they where the laws say?"""
        units = np.random.default_rng(seed).integers(0, self.dev.blocks, count)
        off = self._off(units)
        for i in np.flatnonzero(~(np.abs(off) <= self.meter.tolerance)):
            again = self.meter.angles([units[i]] * 4)
            off[i] = np.nan if np.all(np.isnan(again)) else \
                np.nanmean(wrap(again - self.predict([units[i]])))
        limit = max(ANGLE_LIMIT, self.meter.tolerance)
        bad = units[~(np.abs(off) <= limit)]
        good = np.abs(off[np.abs(off) <= limit])
        return {"checked": int(count), "right": int(count - len(bad)),
                "limit_turn": float(limit),
                "median_off_turn": float(np.median(good)) if len(good) else None,
                "p99_off_turn": float(np.quantile(good, 0.99)) if len(good) else None,
                "wrong_units": [int(u) for u in np.sort(bad)]}

    def layout(self):
        """The laws as a Layout."""
        ends = [first for first, _ in self.zones[1:]] + [self.dev.blocks]
        zones = []
        cyl = 0
        for (first, law), end in zip(self.zones, ends):
            zones.append(law.zone(first, end, cyl))
            if self.surfaces:
                zones[-1] = surfaces.zone_of(zones[-1], law.heads, self.surfaces)
                if law.heads > self.stay or law.heads < self.stay and \
                        zones[-1].last_cyl >= cyl + law.heads:
                    self._refuse_runs(first, law.heads)
            cyl = zones[-1].last_cyl + 1
        if self.surfaces:
            # more cylinders would make bands wider
            return Layout(self.surfaces, cyl, "plain", zones, self.stay)
        more = self._more_cylinders(cyl)
        zones = _widened(zones, more, self.zones[0][1].heads)
        back = any(len(law.counts) > law.heads for _, law in self.zones)
        return Layout(self.zones[0][1].heads, zones[-1].last_cyl + 1,
                      "serpentine-zone" if back else "plain", zones)

    def _more_cylinders(self, seen):
        """Cylinders without units, of which timing shows nothing."""
        if not self.cylinders:
            self._note("cylinders without units are not known: the drive does not say how many "
                       "cylinders it has")
            return 0
        more = self.cylinders - seen
        if not 0 <= more <= max(seen * MORE_CYLINDERS, 64):
            self._note("the drive says that it has %d cylinders, %d hold units: not used" %
                       (self.cylinders, seen))
            return 0
        return more


def _uneven(law):
    """How much the skew to the next cylinder differs from that to the next track, turns."""
    return abs(wrap(law.theta[2] - law.heads * law.theta[1]))


def _widened(zones, more, heads):
    """`more` cylinders of spares, at the ends of zones in proportion to their size."""
    total = zones[-1].last_cyl + 1
    found, moved = [], 0
    for zone in zones:
        upto = (zone.last_cyl + 1) * more // total
        extra = upto - moved
        found.append(type(zone)(**{**zone.__dict__, "first_cyl": zone.first_cyl + moved,
                                   "last_cyl": zone.last_cyl + upto,
                                   "spares": zone.spares + extra * zone.cyl_slots(heads)}))
        moved = upto
    return found


def geometry(dev):
    """(cylinders, heads) as mode page 4 has them; (None, None) if it makes no sense."""
    try:
        page = Pages(dev).read(GEOMETRY)
    except ToolError:
        page = None
    if not page or len(page) < 6:
        return None, None
    cylinders, heads = int.from_bytes(page[2:5], "big"), page[5]
    if not 1 <= heads <= 128 or not 1 <= cylinders < 1 << 24:
        return None, None
    return cylinders, heads


def quick(dev, phase, *, state=None, save=None, progress=None, limit_s=LIMIT_S, checks=CHECKS):
    """The layout of a drive. save(state) is called after each zone: given back as
    `state` it goes on there. progress(fraction, text)."""
    cylinders, heads = geometry(dev)
    begun = dev.disk_ns
    sampler = Sampler(dev, phase, hint=heads, cylinders=cylinders, limit_s=limit_s, save=save,
                      progress=progress)
    if state:
        sampler.resume(state)
    sampler.run()
    sampler.search()
    layout = sampler.layout()
    report = sampler.check(checks)
    report.update(zones=len(sampler.zones), reads=sampler.meter.reads, notes=sampler.notes,
                  approximate_units=int(sampler.approximate),
                  disk_s=(dev.disk_ns - begun) * 1e-9,
                  lateness_turn=2 * sampler.meter.half)
    return Found(layout, sampler.zones, report)
