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
