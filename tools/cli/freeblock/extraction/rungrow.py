# SPDX-License-Identifier: GPL-2.0
"""A run whose first tracks are known, followed to its end.

Its law is tested at tracks ever farther on: the last unit of a track shows each slot too many or
too few, since behind it the next track begins at another angle. Where the law fails bisection
finds the first unit that is off; a slip moves what is behind it by whole slots, else the run ends.
"""

import numpy as np

from .phase import wrap

GROWTH = 2              # times as far from one test to the next, at most: where surfaces are
BETWEEN = 2             # alike the one after the next may begin at the very same angles
FAR = 0.12              # turns: a law less sure than this is tested nearer
FAR_SKEW = 8            # tracks between points that tell more than a skew that was sure
FANOUT = 7
PROOFS_ALL = 8          # of a run that goes on behind the end that was guessed
PROOFS = 2              # tracks looked at where a bisection has passed, and those 2^n before
SLIP_READS = (3, 11)    # of a unit, to tell whether a slip lies before it
SURE_SLIP = 8           # standard errors that a slip's shift has to have
PIECE_READS = 8         # of either end of what may be a piece of the run's first tracks
MOST_SLIPPED = 4        # slots passed over within it
HALF = 0.5              # of a slot
NARROW = 4              # tolerances of a shift that one read hardly shows


class Growth:
    """A run that grows. good: the last track known to be its own; sure: one that began it, or is
    behind its last slip; `end`: the first unit that it may not have."""

    def __init__(self, meter, run, end, sure_skew=False):
        self.meter, self.run, self.end = meter, run, end
        self.sure_skew = sure_skew
        self.base = run.end - run.slots
        self.random = np.random.default_rng(run.first)
        self.points = []        # (track, angle of its slot 0, unwrapped)
        self.good = self.sure = max(int(run.place(run.slots - 1)[0]), 0)

    # ---- the law

    def learn(self, units, angles):
        """Angles of units of the run, before its first slip."""
        keep = np.isfinite(angles)
        tracks, slots = self.run.place(np.asarray(units)[keep] - self.base)
        self._take(tracks, slots, np.asarray(angles)[keep])

    def _take(self, tracks, slots, angles):
        run = self.run
        want = run.start(tracks)
        off = wrap(angles - (slots + 1) / run.length(tracks) - want)
        self.points += list(zip(tracks.tolist(), (want + off).tolist()))

    def fit(self):
        """The law by all points."""
        track, start = np.array(self.points).T
        if np.ptp(track) >= (FAR_SKEW if self.sure_skew else max(2, self.run.period + 1)):
            self.sure_skew = False
            self.run.turned(track, start - self.run.start(track))

    def room(self, tracks):
        """How far off the angles of tracks may be."""
        meter = self.meter
        if self.sure_skew or not self.points:
            return np.full(np.shape(tracks), 1.3 * meter.tolerance)
        columns = self.run.columns([point[0] for point in self.points])
        middle = columns.mean(axis=0)
        columns = columns - middle
        spread = columns.T @ columns + np.eye(len(middle)) / 2
        away = self.run.columns(tracks) - middle
        error = 3 * meter.sigma * np.sqrt(
            1 / len(columns) + np.sum(away @ np.linalg.inv(spread) * away, axis=-1))
        return 1.2 * meter.tolerance + error

    # ---- tests

    def _test(self, places, shift=0, learn=True):
        """Which of (track, slot) are where the law has them, slots moved up by `shift`; of those
        behind the end the last unit before it instead, once. What is before the first track that is
        off tells the law: behind a slip units may seem right that are not."""
        run = self.run
        number = run.number(*np.array(places, dtype=np.int64).T)
        number = np.minimum(number, self.end - 1 - self.base + shift)
        track, slot = run.place(number)
        want = run.start(track) + (slot + 1) / run.length(track)
        room = self.room(track)
        off = self.meter.off(self.base - shift + number, want, room.max())
        good = ~(np.abs(off) > room)
        if learn and not shift:
            known = np.isfinite(off) & (track < np.min(track[~good], initial=track.max() + 1))
            self._take(track[known], slot[known], (want + off)[known])
        return good

    def _last(self):
        """The track of the last unit that it may have."""
        return int(self.run.place(self.end - 1 - self.base)[0])

    def _end_of(self, track):
        """The last slot of a track, as a place."""
        return track, int(self.run.length(track)) - 1

    def _farthest(self):
        """The next track to be tested."""
        track = min(max(GROWTH * self.good, self.good + 2), self._last())
        while track > self.good + 1 and self.room(track) > FAR:
            track = (track + self.good) // 2
        return track

    def goes_on(self):
        """Whether the track behind the last one known is of the run, too, as all before it."""
        track, last = self._end_of(self.good + 1)
        some = np.linspace(0, self.good, PROOFS_ALL, endpoint=False).astype(int)
        return bool(self._test([(track, slot) for slot in (0, last // 2, last)]).all() and
                    self._test([self._end_of(track) for track in some[1:]]).all())

    # ---- growing

    def grow(self, tracks=None):
        """Follow it to its end; tracks: how many it probably has."""
        self._grow(tracks)
        self._refine()
        self.run.trim()
        return self.run

    def _grow(self, tracks):
        while self.good < self._last():
            if tracks and self.sure_skew and self.good < tracks - 1 <= self._last():
                half = (self.good + tracks) // 2
                good = self._test([self._end_of(half), self._end_of(tracks - 1), (tracks, 0)])
                bad = next((track for track, held in zip((half, tracks - 1, tracks), good)
                            if not held), None)
                self.good = tracks if bad is None else \
                    self.good if bad == half else half if bad == tracks - 1 else tracks - 1
                tracks = None
            else:
                bad = self._leap(self._farthest())
            self.fit()
            if bad is not None and not self._broken(bad):
                return
        self.run.count = self.end - self.run.first

    def _leap(self, far):
        """Test a track, and some before it: the first that fails, or None."""
        some = self.random.integers(self.good + 1, far + 1, BETWEEN).tolist()
        tracks = sorted({*some, far})
        good = self._test([place for track in tracks for place in ((track, 0),
                                                                   self._end_of(track))])
        for track, held in zip(tracks, good.reshape(-1, 2).all(axis=1)):
            if not held:
                return track
            self.good = track
        return None

    def back(self, least):
        """Take the tracks before it in, whose units are not before `least`."""
        run = self.run
        begin, slot = (int(value) for value in run.place(run.dead))
        if slot:
            return
        low, slot = (int(value) for value in run.place(least - self.base))
        low, good, step, bad = low + (slot > 0), begin, 1, None
        while good > low:
            track = max(begin - step, low)
            if not self._test([(track, 0), self._end_of(track)]).all():
                bad = track
                break
            good, step = track, 2 * step
            self.fit()
        while bad is not None and good - bad > 1:
            half = (good + bad) // 2
            good, bad = (half, bad) if self._test([(half, 0)]).all() else (good, half)
        self._begin(good)

    def _begin(self, track):
        """The run's first track is another; of patterns before it one is counted."""
        run, end = self.run, self.run.end
        passed = track - track % run.pattern - run.pattern
        run.angle = float(run.start(passed))
        self.base += int(run.number(passed))
        run.dead = int(run.number(track - passed))
        run.first = self.base + run.dead
        run.count = end - run.first
        self.points = [(at - passed, start) for at, start in self.points]
        self.good -= passed
        self.sure = max(self.sure - passed, 0)

    def precede(self, piece, strays=0):
        """Whether units just before the run are of it, too, behind slots passed over within them,
        or between; they then are the run's. Its law is known, but for that. strays: of the last
        units, those that live elsewhere."""
        run, meter = self.run, self.meter
        spt = int(run.length(run.place(run.dead)[0]))
        room = min(2 * meter.tolerance, HALF / spt)
        first, last = (meter.mean(unit, PIECE_READS) for unit in (piece.first,
                                                                   piece.end - 1 - strays))
        for after in range(MOST_SLIPPED + 1):
            end = run.dead - 1 - after
            if not abs(wrap(last - self._end_angle(end - strays))) <= room:
                continue
            for within in range(min(MOST_SLIPPED, piece.count - 1) + 1):
                begin = end - piece.count + 1 - within
                if begin >= 0 and abs(wrap(first - self._end_angle(begin))) <= room:
                    slips = [(piece.end - 1 - strays, within), (run.first, after)]
                    run.slips = [slip for slip in slips if slip[1]] + run.slips
                    run.count += piece.count
                    run.first, run.dead = piece.first, begin
                    return True
        return False

    def _end_angle(self, slot):
        track, at = self.run.place(slot)
        return float(self.run.start(track) + (at + 1) / self.run.length(track))

    def _broken(self, bad):
        """The law fails at a track; whether the run goes on all the same."""
        bad = self._first_bad(bad)
        if bad < self._last() - 2 and \
                self._test([(bad + 1, 0), self._end_of(bad + 1), self._end_of(bad + 2)]).all():
            # single units live elsewhere
            self.good = self.sure = bad + 1
            return True
        slot = self._first_off(bad)
        return self._slip(bad, slot) or self._end(bad, slot)

    def _first_bad(self, bad):
        """The first track that fails; a track may hold by chance, several hardly do."""
        while True:
            while bad - self.good > 1:
                half = (self.good + bad) // 2
                if self._test([(half, 0), self._end_of(half)]).all():
                    self.good = half
                else:
                    bad = half
            if self.good <= self.sure + 1:
                return bad
            # another run may cross this one's law: what lies before it does not hold
            back = self.good - 2 ** np.arange(int(self.good - self.sure).bit_length())
            some = self.random.integers(self.sure + 1, self.good, PROOFS, endpoint=True)
            some = np.unique(np.append(some, back[back > self.sure]))
            good = self._test([self._end_of(int(track)) for track in some])
            if good.all():
                return bad
            self.good, bad = self.sure, int(some[np.argmin(good)])

    def _first_off(self, track):
        """The first slot of a track whose unit is off."""
        off = self._first_off_of(track, self._slots(track) - 1)
        while off > 0:
            some = np.unique([off - 1, (off - 1) // 2, (off - 1) // 4])
            good = self._test([(track, slot) for slot in some], learn=False)
            if good.all():
                break
            off = self._first_off_of(track, int(some[np.argmin(good)]))
        return off

    def _first_off_of(self, track, off):
        """The same, by bisection, of those up to one that is off."""
        on = -1
        while off - on > 1:
            some = np.unique(np.linspace(on, off, min(FANOUT, off - on - 1) + 2).astype(int))[1:-1]
            good = self._test([(track, slot) for slot in some], learn=False)
            # where most are off, none was read twice
            wrong = next((at for at in np.flatnonzero(~good)
                          if not self._test([(track, some[at])], learn=False).all()), len(some))
            on = int(some[wrong - 1]) if wrong else on
            off = int(some[wrong]) if wrong < len(some) else off
        return off

    def _slots(self, track):
        """Of a track, those that may hold units."""
        return min(int(self.run.length(track)), self.end - self.base - int(self.run.number(track)))

    def _end(self, track, slot):
        """The run ends before a slot."""
        self.run.count = self.base + int(self.run.number(track, slot)) - self.run.first
        return False

    def _slip(self, track, slot):
        """Whether what begins there is the same run behind slots that hold nothing."""
        run, spt = self.run, int(self.run.length(track))
        unit = self.base + int(run.number(track, slot))
        want = run.start(track) + (slot + 1) / spt
        off = (self.meter.mean(unit, SLIP_READS[0]) - want) % 1
        if np.isnan(off) or track + 1 >= self._last():
            return False
        near = int(round(off * spt))
        shifts = [near, near - 1, near + 1, spt - slot]
        for shift in [shift for shift in dict.fromkeys(shifts) if 0 < shift < spt]:
            # the next track may have a slip, too, but for its first slot
            places = [(track, (slot + shift + spt) // 2), (track, spt - 1), (track + 1, 0)]
            places = places[2:] if slot + shift >= spt - 1 else places
            if not self._test(places, shift).all():
                continue
            slot = self._slots(track) - 1 if self._narrow(shift, track) else slot
            run.slips.append((self.base + int(run.number(track, slot)), shift))
            self.base -= shift
            self.good = self.sure = track
            return True
        return False

    def _narrow(self, shift, track):
        """Whether a shift may be taken for lateness."""
        return shift / int(self.run.length(track)) < NARROW * self.meter.tolerance

    def _refine(self):
        """The first units behind slips of few slots, now that the law is known well."""
        run = self.run
        run.slips = [slip for slip in run.slips if slip[0] < run.end]
        for number, (unit, shift) in enumerate(run.slips):
            track, high = (int(value) for value in run.place(run.slot_of(unit) - shift))
            if not self._narrow(shift, track):
                continue
            spt, first = int(run.length(track)), unit - high
            low = max(run.slips[number - 1][0] - first, 0) - 1 if number else -1
            reads = int(np.clip((SURE_SLIP * self.meter.sigma * spt / shift) ** 2, *SLIP_READS))
            while high - low > 1:
                half = (low + high) // 2
                seen = self.meter.mean(first + half, reads)
                want = run.start(track) + (half + 1) / spt
                low, high = (low, half) if wrap(seen - want) > shift / spt / 2 else (half, high)
            run.slips[number] = (first + high, shift)
