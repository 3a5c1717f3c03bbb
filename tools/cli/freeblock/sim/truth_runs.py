# SPDX-License-Identifier: GPL-2.0
"""The true .fbmodel of a simulated drive that is described by runs: a run map.

Its surface is one and its cylinders are the drive's tracks in LBN order: a run is a zone. Of the
way from one track to another a model knows no more than how far they are apart in that order, so
a seek is the middle of what the drive takes over that distance, and its spread is the rest.
"""

import collections
import random
import statistics
from bisect import bisect_right
from itertools import accumulate

from ..formats.fbdrive import options, span

# Distances that are looked at: those up to NEAR, and as many for each doubling behind
NEAR, EACH_DOUBLING = 8, 6
PAIRS = 400             # of tracks so far apart
SPREAD_DISTANCES = 3    # one spread for so many seeks


class Arm:
    """How long a simulated drive's arm takes: straight lines between points, the last one
    continued."""

    def __init__(self, scalars, lists):
        self.points = [(0, 0)] + [(int(distance), int(ns)) for distance, ns in lists["seek"]]
        self.at = [distance for distance, _ in self.points]
        self.switch_ns = int(scalars.get("head_switch_ns", ["0"])[0])

    def ns_between(self, one, other):
        """From a (cylinder, surface) to another, ns."""
        distance = abs(one[0] - other[0])
        behind = min(bisect_right(self.at, distance), len(self.at) - 1)
        (d0, t0), (d1, t1) = self.points[behind - 1:behind + 1]
        ns = t0 + (t1 - t0) * (distance - d0) / (d1 - d0)
        if behind == 1 and distance > d1:
            ns = t1     # of one point there is no line to go on with
        return ns if one[1] == other[1] else max(ns, self.switch_ns)


class Tracks:
    """A drive's tracks in LBN order."""

    def __init__(self, scalars, runs):
        displaced = [int(word) for word in scalars.get("displacement", [])] or [0] * 64
        self.rows = [(int(run[0]), int(run[1]) + displaced[int(run[0])],
                      -1 if run[2] == "out" else 1) for run in runs]
        self.begin = [0, *accumulate(int(run[3]) for run in runs)]
        self.count = self.begin[-1]

    def place(self, track):
        """(cylinder, surface) of a track."""
        run = bisect_right(self.begin, track) - 1
        surface, first, way = self.rows[run]
        return first + way * (track - self.begin[run]), surface


def _distances(most):
    found = set(range(1, min(NEAR, most) + 1)) | {most}
    step, at = 2 ** (1 / EACH_DOUBLING), float(NEAR)
    while at < most:
        found.add(int(at))
        at *= step
    return sorted(found)


def seeks(scalars, lists):
    """[(distance, ns)] and [(distance, standard deviation, ns)], the drive's own noise apart."""
    tracks, arm = Tracks(scalars, lists["run"]), Arm(scalars, lists)
    if tracks.count == 1:
        return [], []
    rng = random.Random(tracks.count)
    points, spreads = [], []
    for distance in _distances(tracks.count - 1):
        begins = [rng.randrange(tracks.count - distance) for _ in range(PAIRS)]
        ns = [arm.ns_between(tracks.place(begin), tracks.place(begin + distance))
              for begin in begins]
        middle = max(int(statistics.median(ns)), 1)
        points.append((distance, middle))
        spreads.append((distance, int((sum((one - middle) ** 2 for one in ns) / PAIRS) ** 0.5)))
    return points, spreads


def seek_lines(scalars, lists, noise_ns):
    """The seek records."""
    points, spreads = seeks(scalars, lists)
    return ["seek %d %d" % point for point in points] + [
        "seek_spread %d %d" % (distance, (ns ** 2 + noise_ns ** 2) ** 0.5)
        for distance, ns in spreads[::SPREAD_DISTANCES]]


def middles(scalars, lists):
    """The cylinder of each run's middle track."""
    tracks = Tracks(scalars, lists["run"])
    return [tracks.place((begin + end) // 2)[0]
            for begin, end in zip(tracks.begin, tracks.begin[1:])]


def zone_words(lists):
    """Words of a zone record for each run, its number of tracks for cylinders; the spares that its
    slips use up are counted."""
    slipped = collections.Counter()
    for words in lists["slip"]:
        slipped[int(words[0])] += sum(span(word)[1] for word in words[1:])
    first = 0
    for number, run in enumerate(lists["run"]):
        tracks, more = int(run[3]), options(run)
        yield [str(first), str(first + tracks - 1), run[4], run[5], "0", run[6],
               str(more.get("spares", 0) + slipped[number]), "dead=%d" % more.get("dead", 0)]
        first += tracks
