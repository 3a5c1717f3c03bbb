# SPDX-License-Identifier: GPL-2.0
"""A run whose first tracks are known, followed to its end.

Its law is tested at tracks ever farther on: the last unit of a track shows each slot too many or
too few, since behind it the next track begins at another angle. Where the law fails bisection
finds the first unit that is off; a slip moves what is behind it by whole slots, else the run ends.
"""

import numpy as np

from .track import wrap

GROWTH = 2              # times as far from one test to the next, at most: where surfaces are
BETWEEN = 2             # alike the one after the next may begin at the very same angles
FAR = 0.12              # turns: a law less sure than this is tested nearer
FANOUT = 7
PROOFS_ALL = 8          # of a run that goes on behind the end that was guessed
PROOFS = 2              # tracks looked at where a bisection has passed
SLIP_READS = (3, 10)    # of a unit, to tell whether a slip lies before it
SURE_SLIP = 4.5         # standard errors that a slip's shift has to have


class Growth:
    """A run that grows. good: the last track known to be its own; `end`: the first unit that it may
    not have."""

    def __init__(self, meter, run, end, sure_skew=False):
        self.meter, self.run, self.end = meter, run, end
        self.sure_skew = sure_skew
        self.base = run.first - run.dead
        self.random = np.random.default_rng(run.first)
        self.points = []        # (track, angle of its slot 0, unwrapped)
        self.good = max(run.tracks - 1, 0)

    # ---- the law

    def learn(self, units, angles):
        """Angles of units of the run, before its first slip."""
        keep = np.isfinite(angles)
        self._take(*np.divmod(np.asarray(units)[keep] - self.base, self.run.spt),
                   np.asarray(angles)[keep])

    def _take(self, tracks, slots, angles):
        run = self.run
        want = run.angle + tracks * run.skew
        off = wrap(angles - (slots + 1) / run.spt - want)
        self.points += list(zip(tracks.tolist(), (want + off).tolist()))

    def fit(self):
        """The law by all points."""
        track, start = np.array(self.points).T
        if np.ptp(track) < 2:
            return
        middle = track.mean()
        slope = np.sum((track - middle) * start) / np.sum((track - middle) ** 2)
        run = self.run
        self.run.angle = float(start.mean() - slope * middle)
        run.skew = float(slope)
        run.off = float(np.max(np.abs(start - run.angle - slope * track)))

    def room(self, track):
        """How far off a track's angle may be."""
        meter = self.meter
        if self.sure_skew or not self.points:
            return 1.3 * meter.tolerance
        at = np.array([point[0] for point in self.points], dtype=float)
        spread = np.sum((at - at.mean()) ** 2)
        error = 3 * meter.sigma * np.sqrt(1 / len(at) + (track - at.mean()) ** 2 / max(spread, 0.5))
        return 1.2 * meter.tolerance + error

    # ---- tests

    def _test(self, places, shift=0):
        """Which of (track, slot) are where the law has them, slots moved up by `shift`; of those
        behind the end the last unit before it instead, once."""
        spt, run = self.run.spt, self.run
        number = np.array([track * spt + slot for track, slot in places], dtype=np.int64)
        number = np.minimum(number, self.end - 1 - self.base + shift)
        track, slot = np.divmod(number, spt)
        want = run.angle + track * run.skew + (slot + 1) / spt
        room = np.array([self.room(one) for one in track])
        off = self.meter.off(self.base - shift + number, want, room.max())
        good = ~(np.abs(off) > room)
        if not shift:
            known = good & np.isfinite(off)
            self._take(track[known], slot[known], (want + off)[known])
        return good

    def _last(self):
        """The track of the last unit that it may have."""
        return (self.end - 1 - self.base) // self.run.spt

    def _farthest(self):
        """The next track to be tested."""
        track = min(max(GROWTH * self.good, self.good + 2), self._last())
        while track > self.good + 1 and self.room(track) > FAR:
            track = (track + self.good) // 2
        return track

    def goes_on(self):
        """Whether the track behind the last one known is of the run, too, as all before it."""
        last = self.run.spt - 1
        some = np.linspace(0, self.good, PROOFS_ALL, endpoint=False).astype(int)
        return bool(self._test([(self.good + 1, slot) for slot in (0, last // 2, last)]).all() and
                    self._test([(track, last) for track in some[1:]]).all())

    # ---- growing

    def grow(self, tracks=None):
        """Follow it to its end; tracks: how many it probably has."""
        spt = self.run.spt
        while self.good < self._last():
            if tracks and self.sure_skew and self.good < tracks - 1 <= self._last():
                half = (self.good + tracks) // 2
                good = self._test([(half, spt - 1), (tracks - 1, spt - 1), (tracks, 0)])
                bad = next((track for track, held in zip((half, tracks - 1, tracks), good)
                            if not held), None)
                self.good = tracks if bad is None else \
                    self.good if bad == half else half if bad == tracks - 1 else tracks - 1
                tracks = None
            else:
                bad = self._leap(self._farthest())
            self.fit()
            if bad is not None and not self._broken(bad):
                return self.run
        self.run.count = self.end - self.run.first
        return self.run

    def _leap(self, far):
        """Test a track, and some before it: the first that fails, or None."""
        some = self.random.integers(self.good + 1, far + 1, BETWEEN).tolist()
        tracks = sorted({*some, far})
        last = self.run.spt - 1
        good = self._test([place for track in tracks for place in ((track, 0), (track, last))])
        for track, held in zip(tracks, good.reshape(-1, 2).all(axis=1)):
            if not held:
                return track
            self.good = track
        return None

    def back(self, least):
        """Take the tracks before it in, whose units are not before `least`."""
        run, spt, good = self.run, self.run.spt, 0
        low = -((self.base - least) // spt)
        step, bad = -1, None
        while good > low and not run.dead:
            track = max(step, low)
            if not self._test([(track, 0), (track, spt - 1)]).all():
                bad = track
                break
            good, step = track, 2 * step
            self.fit()
        while bad is not None and good - bad > 1:
            half = (good + bad) // 2
            good, bad = (half, bad) if self._test([(half, 0)]).all() else (good, half)
        if good:
            run.angle += good * run.skew
            run.count -= good * spt
            run.first += good * spt
            self.base += good * spt
            self.points = [(track - good, start) for track, start in self.points]
            self.good -= good

    def _broken(self, bad):
        """The law fails at a track; whether the run goes on all the same."""
        spt, bad = self.run.spt, self._first_bad(bad)
        if bad < self._last() - 2 and \
                self._test([(bad + 1, 0), (bad + 1, spt - 1), (bad + 2, spt - 1)]).all():
            # single units live elsewhere
            self.good = bad + 1
            return True
        slot = self._first_off(bad)
        return self._slip(bad, slot) or self._end(bad, slot)

    def _first_bad(self, bad):
        """The first track that fails; a track may hold by chance, several hardly do."""
        last, known = self.run.spt - 1, self.good
        while True:
            while bad - self.good > 1:
                half = (self.good + bad) // 2
                if self._test([(half, 0), (half, last)]).all():
                    self.good = half
                else:
                    bad = half
            if self.good <= known + 1:
                return bad
            some = self.random.integers(known + 1, self.good, PROOFS, endpoint=True)
            some = np.unique(np.append(some, self.good - 1))
            good = self._test([(track, last) for track in some])
            if good.all():
                return bad
            self.good, bad = known, int(some[np.argmin(good)])

    def _first_off(self, track):
        """The first slot of a track whose unit is off."""
        off = self._first_off_of(track, self._slots(track) - 1)
        while off > 0:
            some = np.unique([off - 1, (off - 1) // 2, (off - 1) // 4])
            good = self._test([(track, slot) for slot in some])
            if good.all():
                break
            off = self._first_off_of(track, int(some[np.argmin(good)]))
        return off

    def _first_off_of(self, track, off):
        """The same, by bisection, of those up to one that is off."""
        on = -1
        while off - on > 1:
            some = np.unique(np.linspace(on, off, min(FANOUT, off - on - 1) + 2).astype(int))[1:-1]
            good = self._test([(track, slot) for slot in some])
            wrong = np.flatnonzero(~good)
            if len(wrong):
                off = int(some[wrong[0]])
                on = int(some[wrong[0] - 1]) if wrong[0] else on
            else:
                on = int(some[-1])
        return off

    def _slots(self, track):
        """Of a track, those that may hold units."""
        return min(self.run.spt, self.end - self.base - track * self.run.spt)

    def _end(self, track, slot):
        """The run ends before a slot."""
        self.run.count = self.base + track * self.run.spt + slot - self.run.first
        return False

    def _slip(self, track, slot):
        """Whether what begins there is the same run behind slots that hold nothing."""
        run, spt = self.run, self.run.spt
        unit = self.base + track * spt + slot
        want = run.angle + track * run.skew + (slot + 1) / spt
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
            if shift / spt < 4 * self.meter.tolerance:
                slot = self._before(track, slot, shift)
            run.slips.append((self.base + track * spt + slot, shift))
            self.base -= shift
            self.good = track
            return True
        return False

    def _before(self, track, slot, shift):
        """The slot of the first unit behind a slip of few slots."""
        run, spt = self.run, self.run.spt
        step = shift / spt
        reads = int(np.clip((SURE_SLIP * self.meter.sigma / step) ** 2, *SLIP_READS))
        low, high = -1, slot
        while high - low > 1:
            half = (low + high) // 2
            seen = self.meter.mean(self.base + track * spt + half, reads)
            want = run.angle + track * run.skew + (half + 1) / spt
            low, high = (low, half) if wrap(seen - want) > step / 2 else (half, high)
        return high
