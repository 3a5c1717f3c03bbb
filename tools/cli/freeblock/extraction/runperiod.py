# SPDX-License-Identifier: GPL-2.0
"""Tracks whose law has a period: heads change after each track, or after a few.

Tracks are surveyed one by one until the last ones have lengths and steps of angle that come again
after some number of tracks, for two periods."""

from dataclasses import dataclass

import numpy as np

from .phase import wrap
from .runmap import Run

MOST_PERIOD = 26        # tracks
PERIODS, MORE = 2, 2    # periods, and tracks besides, that show a period
LEAST = 10              # tracks that show one, however short: late reports may alternate, too
KNOWN = 2               # tracks besides one period, if the drive's is known
READS = 8               # of a track's first unit, by which
APART = 1.8             # tolerances two steps differ for sure,
ALIKE = 1.1             # and within which they are alike
UNLIKE = 3              # slots by which lengths differ that late reports do not make so
WHOLE = 2.5             # by which a whole track may seem to differ from a turn
FEW = 4                 # times as many units has a track, for these to tell its length


@dataclass
class _Track:
    """A surveyed one: its units, slots, and the angle at which it begins."""

    first: int
    count: int
    spt: int
    start: float


class Periods:
    """Surveys tracks with a Surveyor; period: if it is known."""

    def __init__(self, surveyor, period=0):
        self.surveyor, self.period = surveyor, period
        self.meter = surveyor.meter
        self.tracks = []

    def _next(self, first):
        """The next track, or None: it follows no line."""
        line = self.surveyor.line(first)
        if line is None:
            return None
        count = line.end - first
        spt = count
        if abs(count * line.slope - 1) > WHOLE * self.meter.tolerance:
            # a piece of a track, which a slip or a border has cut; few units do not tell its length
            spt = max(int(round(1 / line.slope)), count)
            usual = self.tracks[-1].spt if self.tracks else spt
            spt = usual if count * FEW < usual and count < usual else spt
        return _Track(first, count, spt, self.meter.mean(first, READS) - 1 / spt)

    def survey(self, first):
        """[Run] from a unit on, the last of which has the period; []: there is none."""
        at, most = first, (MOST_PERIOD if not self.period else self.period) * PERIODS + MORE
        while len(self.tracks) < most:
            track = self._next(at)
            if track is None or not np.isfinite(track.start):
                return []
            self.tracks.append(track)
            at += track.count
            run = self._found()
            if run:
                return self._before(run) + [run]
        return []

    def _found(self):
        """The run that the last tracks are of, or None."""
        if self.period:
            lengths = range(self.period, self.period + 1)
        else:
            lengths = range(2, min((len(self.tracks) - MORE) // PERIODS, MOST_PERIOD) + 1)
        for period in lengths:
            many = period + KNOWN if self.period else max(PERIODS * period + MORE, LEAST)
            if len(self.tracks) >= many:
                run = self._of(period, self.tracks[-many:])
                if run:
                    return run
        return None

    def _of(self, period, tracks):
        """A run of tracks that have this period, or None."""
        if any(track.count != track.spt for track in tracks):
            return None
        starts = np.array([track.start for track in tracks])
        steps = np.diff(starts) % 1
        room = ALIKE * self.meter.tolerance
        leads = list(range(period))
        if period == 2 and _middle(steps[1::2]) % 1 < _middle(steps[::2]) % 1:
            # either of two may go to the next cylinder: the longer one, as the arm takes longer
            leads.reverse()
        for lead in leads:
            across = (lead + np.arange(len(steps))) % period == period - 1
            if across.all() or not across.any():
                continue
            skew, step = (_middle(steps[some]) for some in (~across, across))
            off = wrap(steps - np.where(across, step, skew))
            if np.max(np.abs(off)) > room:
                continue
            apart = abs(wrap(step - skew)) > APART * self.meter.tolerance
            spt = [track.spt for track in tracks]
            found = _lengths(spt, period, lead, False) if apart or _shortest(spt, period) else None
            for first in (lead, lead + period) if apart and not found else ():
                found = found or _lengths(spt, period, first, True)
            if found:
                return self._run(found, period, tracks, skew, step)
        return None

    @staticmethod
    def _run(found, period, tracks, skew, step):
        """Of them; a pattern of lengths before them is counted, for what may precede."""
        lengths, lead = found
        run = Run(tracks[0].first, sum(track.count for track in tracks), max(lengths), 0.0, skew,
                  dead=sum(lengths) + sum(lengths[:lead]), lengths=lengths, period=period,
                  turn=float((period - 1) * skew + step))
        run.angle = float(tracks[0].start - run.start(len(lengths) + lead))
        return run

    def seen(self, run):
        """(units, angles) of the run's tracks that were surveyed."""
        some = [track for track in self.tracks if run.first <= track.first < run.end]
        return np.array([track.first for track in some]), \
            np.array([track.start + 1 / track.spt for track in some])

    def _before(self, run):
        """Tracks before it, each alone."""
        return [Run(track.first, track.count, track.spt, track.start, 0.0)
                for track in self.tracks if track.first < run.first]


def _middle(turns):
    """The median of angles that are near each other."""
    return float(turns[0] + np.median(wrap(turns - turns[0])))


def _lengths(spt, period, lead, back):
    """(slots of a period's tracks, `lead`) of tracks of which the first is the lead-th, or None;
    back: every other period goes the other way, and two are told."""
    at = lead + np.arange(len(spt))
    times, place = np.divmod(at, period)
    head = np.where(back & (times % 2 == 1), period - 1 - place, place)
    found = dict(zip(head.tolist(), spt))
    if len(found) < period or any(found[one] != slots for one, slots in zip(head.tolist(), spt)):
        return None
    lengths = [found[one] for one in range(period)]
    return lengths + lengths[::-1] * back, lead


def _shortest(spt, period):
    """Whether lengths of tracks, clearly unlike, come again after no fewer."""
    return max(spt) - min(spt) >= UNLIKE and all(
        spt[less:] != spt[:-less] for less in range(1, period))
