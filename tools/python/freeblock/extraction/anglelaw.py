# SPDX-License-Identifier: GPL-2.0
"""At which angles the tracks of a zone begin: A + h T + c U, in turns, for the
h-th track in order of the c-th cylinder (U: the zone's cyl_skew plus (heads - 1)
track_skew). Found from measured angles, which know nothing of whole turns."""

from dataclasses import dataclass

import numpy as np

# Angles that disagree by less are not worth a zone of their own: 1 us at 7200 rpm
LEAST_TOLERANCE = 1.2e-4
SIGMAS = 5
STAGES = 3              # passes over the angles of each stage of fit()


def wrap(turns):
    """Turns less whole ones, -0.5 to 0.5."""
    return (turns + 0.5) % 1 - 0.5


def middle(turns):
    """The median of angles that lie close together."""
    around = np.angle(np.mean(np.exp(2j * np.pi * turns))) / (2 * np.pi)
    return (around + np.median(wrap(turns - around))) % 1


@dataclass
class Law:
    """The parameters; `of` says at which angle tracks begin."""

    angle: float = 0.0
    track: float = 0.0
    cylinder: float = 0.0

    def of(self, cyl, track):
        """Angles of slot 0."""
        return (self.angle + cyl * self.cylinder % 1 + track * self.track) % 1

    def off(self, cyl, track, start):
        """How much later than that angles are."""
        return wrap(start - self.of(cyl, track))

    def moved(self, cylinders):
        """The law of a zone that begins so many cylinders later."""
        return Law((self.angle + cylinders * self.cylinder) % 1, self.track, self.cylinder)

    def cyl_skew(self, heads):
        """As a zone says it."""
        return (self.cylinder - (heads - 1) * self.track) % 1


def _steps(order, value, start):
    """Differences of angles between neighbours in `order` that have the same
    `value`, and how far apart in order they are."""
    by = np.lexsort((order, value))
    gap = np.diff(order[by])
    same = (np.diff(value[by]) == 0) & (gap > 0)
    return gap[same], np.diff(start[by])[same]


def _first_guess(cyl, track, start):
    """Skews from the closest neighbours."""
    found = []
    for order, value in ((track, cyl), (cyl, track)):
        gap, step = _steps(order, value, start)
        found.append(middle(step[gap == gap.min()]) / gap.min() if len(gap) else 0.0)
    law = Law(0.0, *found)
    nearest = cyl == cyl.min()
    law.angle = middle(law.off(cyl[nearest], track[nearest], start[nearest]))
    return law


def _correct(law, cyl, track, start):
    """The law nearer to these angles, those far off left aside."""
    late = law.off(cyl, track, start)
    apart = np.abs(late - np.median(late))
    keep = apart <= SIGMAS * 1.4826 * np.median(apart) + 1e-9
    columns = [np.ones(keep.sum())]
    vary = [np.ptp(values[keep]) > 0 for values in (track, cyl)]
    columns += [values[keep].astype(float) for values, wanted in zip((track, cyl), vary) if wanted]
    more = list(np.linalg.lstsq(np.stack(columns, axis=1), late[keep], rcond=None)[0])
    angle = more.pop(0)
    for_track = more.pop(0) if vary[0] else 0.0
    for_cyl = more.pop(0) if vary[1] else 0.0
    return Law((law.angle + angle) % 1, (law.track + for_track) % 1,
               (law.cylinder + for_cyl) % 1)


def fit(cyl, track, start):
    """The Law of tracks by cylinder from the zone's first, order within it, and
    angle. Needs neighbours of both kinds, and no gap that doubles the distance
    from the first cylinder: what a shorter stretch says must tell how many whole
    turns lie in the longer."""
    known = np.isfinite(start)
    cyl, track, start = cyl[known], track[known], start[known]
    if not len(start):
        return Law()
    law = _first_guess(cyl, track, start)
    first, reach = cyl.min(), 2
    while True:
        within = cyl - first <= reach
        for _ in range(STAGES):
            law = _correct(law, cyl[within], track[within], start[within])
        if within.all():
            return law
        reach *= 2


def fit_error(cyl, track, start):
    """What the law of small angles says of each of them, -0.5 to 0.5, and its standard errors."""
    late = wrap(fit(cyl, track, start).of(cyl, track))
    columns = np.stack([np.ones(len(cyl)), cyl - np.mean(cyl), track - np.mean(track)], axis=1)
    rest = wrap(start - late)
    spread = 1.4826 * np.median(np.abs(rest - np.median(rest)))
    spread *= np.sqrt(len(cyl) / max(len(cyl) - 3, 1))
    # a zone of one cylinder, or a drive of one head, has a column of zeros
    inverse = np.linalg.pinv(columns.T @ columns)
    return late, spread * np.sqrt(np.sum(columns @ inverse * columns, axis=1))


def noise(cyl, track, start):
    """Standard deviation of single angles, from how steps to the next track (of a
    drive with one head: cylinder) differ from cylinder to cylinder."""
    if np.ptp(track) if len(track) else 0:
        by = np.lexsort((track, cyl))
        near = (np.diff(cyl[by]) == 0) & (np.diff(track[by]) == 1)
        kind = track[by][:-1][near]
    else:
        by = np.argsort(cyl)
        near = np.diff(cyl[by]) == 1
        kind = np.zeros(near.sum(), np.int64)
    step = np.diff(start[by])[near]
    by = np.argsort(kind, kind="stable")
    change = wrap(np.diff(step[by]))[np.diff(kind[by]) == 0]
    # each is of four angles
    return 1.4826 * float(np.median(np.abs(change))) / 2 if len(change) > 2 else 0.0


class Breaks:
    """Where the law of tracks changes: at cylinders only."""

    def __init__(self, cyl, track, start):
        known = np.isfinite(start)
        self.cyl, self.track, self.start = cyl[known], track[known], start[known]
        self.tolerance = max(SIGMAS * noise(self.cyl, self.track, self.start), LEAST_TOLERANCE)

    def _bad(self, first, end):
        """Cylinders from first to before end whose tracks do not fit the rest."""
        some = slice(*np.searchsorted(self.cyl, (first, end)))
        cyl, track, start = self.cyl[some], self.track[some], self.start[some]
        if not len(cyl):
            return np.zeros(0, np.int64)
        late = fit(cyl - first, track, start).off(cyl - first, track, start)
        found, at = np.unique(cyl, return_index=True)
        # a cylinder is as far off as its middle track: a single one may be measured wrong
        late = [abs(np.median(part)) for part in np.split(late, at[1:])]
        return found[np.array(late) > self.tolerance]

    def _holds(self, first, end):
        """Whether one law holds: no two neighbours and not the last are off."""
        bad = self._bad(first, end)
        return not len(bad) or (np.all(np.diff(bad) > 1) and bad[-1] != end - 1)

    def _stretch(self, first, end):
        """The end of the longest stretch from `first` that has one law."""
        length = 2
        while first + length < end and self._holds(first, first + length):
            length *= 2
        low, high = first + max(length // 2, 1), min(first + length, end)
        if self._holds(first, high):
            return high
        while high - low > 1:
            half = (low + high) // 2
            if self._holds(first, half):
                low = half
            else:
                high = half
        return low

    def find(self, first, end):
        """Cylinders within first .. end at which another law begins."""
        found = []
        while True:
            first = self._stretch(first, end)
            if first >= end:
                return found
            found.append(first)
