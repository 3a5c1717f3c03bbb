# SPDX-License-Identifier: GPL-2.0
"""Drives whose units stay on a surface for some tracks before the heads change, by timing:
how many surfaces they have.

Units go on from run to run of tracks, and to timing a run looks like a cylinder of many heads.
But the arm moves within a run and, in a band of as many runs as there are surfaces, hardly from
the middle of one run to the middle of another. So the time from a run's middle to another's grows
in steps: where it does, the next band begins.
"""

import numpy as np

from .. import ToolError
from .lattice import Law
from .mechanics import LONGEST_NS, Bench
from .onebit import Bits
from .places import Layout
from .survey import law_sigma

MOST_SURFACES = 20
MOST_APART = 64         # runs apart that are tried
BANDS = 3               # of which at least so many must be seen
SAMPLED, AIMED = 3, 7   # rounds of trials of each distance
TRIALS = 9              # of each in a round
CLEARLY = 4             # standard errors by which one step of time is another's
LEAST_NS = 12e3         # no step is told that is smaller
MISFIT = 2.5            # mean chi square up to which times are taken for one
MOST_OFF = 25.0         # of one time, in it
# How much better the right number of surfaces fits than others; if the drive says it, too
MARGIN, LEAST_MARGIN = 25.0, 6.0
FLOOR_NS = 10e3         # no time is known better
LATE = 0.5              # of a turn: no move to the next run takes so much longer
WIGGLE = 0.015          # of a time, if runs have no middle track
IN_ROW = 4              # zones that are alike make runs of tracks
EVENLY = 0.002          # of a turn by which skews may differ
FEW, EVENLY_FEW = 3, 0.006      # cylinders of a zone whose skews are known no better
SLOW_SWITCH = 0.85      # of a seek of one cylinder: a head switch that takes so long may be one


def runs_law(meter, runs, first, start, steps, gaps=()):
    """The law of units whose track 0, the first of a run, begins with unit `first`, at the
    angle `start`. runs: (tracks of one, their slots); steps: angles from track to track and
    from run to run; gaps: of the first run, as of a Law. What it says of some units of the
    first run and the next one's first is measured."""
    tracks, slots = runs
    law = Law(tracks, [slots] * tracks, [slots] * tracks, first, (start, *steps))
    for place, size in gaps:
        law.add_gap(place, size)
    units = [law.boundary(track) + slots // 2 for track in
             sorted({0, 1, tracks // 3, 2 * tracks // 3, tracks - 1, tracks})]
    learn(meter, law, np.array([unit for unit in units if unit < meter.dev.blocks - 1]))
    return law


def learn(meter, law, units):
    """Take the angles of units in, those that are where the law says."""
    angles = meter.angles(np.repeat(units, 2))
    units = np.repeat(units, 2)
    off = np.abs((angles - law.angle(law.place(units)) + 0.5) % 1 - 0.5)
    good = off < 4 * meter.tolerance
    law.learn(law.place(units[good]), angles[good], law_sigma(meter))


def count(meter, law, first, end, said=None):
    """How many surfaces a drive has whose units from `first` to before `end` have that law of
    runs; 1: the runs are cylinders; None: who knows. said: how many the drive says."""
    bench, most = _bench(meter, law, first, end)
    if most < 2 * BANDS:
        return None
    within, (times, sure) = _Ways(bench, most, most).measure()
    # where a narrower band begins the law does not hold, and by its angles all seems to be late
    late = np.append(np.diff(times), bench.period) > LATE * bench.period
    known = int(np.argmax(late)) + 1
    found = steps_of(times[:known], sure[:known], said, law.heads % 2 == 0)
    # the seek over a short run takes hardly longer than that to the next track
    return found if found == said or _differ(within) else 1


def moves_within(meter, law, first, end):
    """Whether the arm clearly moves within a run, so that it is no cylinder."""
    bench, most = _bench(meter, law, first, end)
    return most > 0 and law.heads > 2 and _differ(_Ways(bench, most, 0).measure()[0])


def _bench(meter, law, first, end):
    """The drive as if runs were cylinders, and how many of them apart are tried."""
    zone = law.zone(first, end, 0)
    layout = Layout(law.heads, zone.last_cyl + 1, "plain", [zone])
    return Bench(meter.dev, layout, meter.phase), min(MOST_APART, zone.last_cyl - 1)


def _differ(times):
    """Whether two (time, standard error) clearly do."""
    (one, err), (other, more) = times
    return abs(other - one) > max(CLEARLY * np.hypot(err, more), LEAST_NS)


class _Ways:
    """Times of moves: within a run to the next track and to its last, and from run to run.
    most: runs that there are besides, apart: how far from run to run is measured."""

    def __init__(self, bench, most, apart):
        self.bench, self.most = bench, most
        self.bits = Bits(2 + apart, bench.period, LONGEST_NS)

    def _steps(self, way, limit):
        """There, and back, each after half a turn in place."""
        tracks, half = self.bench.layout.heads, self.bench.period / 2
        here, there = ((0, 0), (0, 1)) if way == 0 else ((0, 0), (0, tracks - 1)) if way == 1 \
            else ((0, tracks // 2), (way - 1, tracks // 2))
        if way < 2:
            run = int(self.bench.random.integers(0, self.most))
            here, there = (run, here[1]), (run, there[1])
        unit = self.bench.period / self.bench.layout.zones[0].spt
        gap = max(limit - unit / 2, 0)
        return [(*here, self.bench.period, -1), (*here, half, -1), (*there, gap, way)]

    def _round(self, limits):
        """Trials: limits of each way."""
        order = [(way, limit) for way, some in enumerate(limits) for limit in some]
        steps = []
        for i in self.bench.random.permutation(len(order)):
            steps += self._steps(*order[i])
        found = self.bench.run(steps)
        self.bits.add(found.which, found.limit)

    def measure(self):
        """(times, standard errors) of the two ways within runs, and of those from run to run."""
        bits, random = self.bits, self.bench.random
        for _ in range(SAMPLED):
            self._round([bits.sample(i, TRIALS, random) for i in range(len(bits))])
        for _ in range(AIMED):
            bits.fit()
            self._round([bits.aim(np.full(TRIALS, i), random) for i in range(len(bits))])
        bits.fit()
        wiggle = 0 if self.bench.layout.heads % 2 else WIGGLE
        sure = np.maximum(np.maximum(bits.sure, FLOOR_NS), wiggle * bits.mean)
        return list(zip(bits.mean, sure))[:2], (bits.mean[2:], sure[2:])


def steps_of(times, sure, said=None, halved=False):
    """The number of surfaces that times of moves over 1, 2, ... runs show: even steps in which they
    grow; None: no number explains them clearly better than others do. said: how many the
    drive says it has, of which less is wanted. halved: runs have no middle track, so that those
    which go the other way seem to lie a cylinder apart."""
    fits = {heads: _steps_fit(heads, times, sure, halved)
            for heads in range(2, min(MOST_SURFACES, len(times) // BANDS) + 1)}
    order = sorted(fits, key=lambda heads: fits[heads][0])
    if len(order) < 2:
        return None
    score, misfit, clear = fits[order[0]]
    margin = fits[order[1]][0] - score
    if misfit > MISFIT or clear < BANDS - 1 or \
            margin < (LEAST_MARGIN if order[0] == said else MARGIN):
        return None
    return order[0]


def _steps_fit(heads, times, sure, halved):
    """(how badly steps of so many runs fit times, more steps counting against them; mean chi
    square; how many of the steps are clear). Moves that end on the surface where they began need no
    switch of heads: while that is what others take longest for, they may take less, and do not
    count. Nor do those within a band where some go to the next cylinder, and take twice as long."""
    apart, weight = np.arange(1, len(times) + 1), 1 / sure ** 2
    group, same = apart // heads, apart % heads == 0
    mean, error = _means(group[~same], weight[~same], times[~same])
    beyond = mean > mean[0] + CLEARLY * (error + error[0])
    counts = (~same | beyond[np.minimum(group, len(mean) - 1)]) & (group >= int(halved))
    group, weight, times = group[counts] - int(halved), weight[counts], times[counts]
    mean, error = _means(group, weight, times)
    off = np.minimum(weight * (times - mean[group]) ** 2, MOST_OFF)
    clear = np.diff(mean) > np.maximum(CLEARLY * np.hypot(error[1:], error[:-1]), LEAST_NS)
    free = len(mean) + np.count_nonzero(~counts)
    return np.sum(off) + free * np.log(len(counts)), \
        np.sum(off) / max(len(group) - len(mean), 1), np.count_nonzero(clear)


def _means(group, weight, times):
    """Of each group: mean and standard error."""
    total = np.bincount(group, weight)
    return np.bincount(group, weight * times) / total, total ** -0.5


def refuse_walked(layout, heads, said):
    """ToolError if what every track's angle has shown are runs of tracks: zones in a row that are
    alike but for where they begin; or cylinders of so many tracks (heads; None: nothing shows how
    many) where the drive says that it has another number of surfaces."""
    if any(zone.head_spt for zone in layout.zones):
        return
    shapes = [_even_shape(layout, zone) for zone in layout.zones]
    for row in zip(*(shapes[i:] for i in range(IN_ROW))):
        if all(row) and row[0][0] > 1 and all(_alike(row[0], shape) for shape in row):
            raise ToolError("units seem to stay on a surface for %d tracks before the heads "
                            "change, as on most drives since about 2000: --full does not find out "
                            "how many surfaces there are, --quick tries" % row[0][0])
    if heads and said and heads != said:
        raise ToolError("by every track's angle cylinders have %d tracks, but the drive says that "
                        "it has %d surfaces: either that is wrong, or units stay on a surface for "
                        "%d tracks; --full cannot tell which, --quick tries" % (heads, said, heads))


def _even_shape(layout, zone):
    """(tracks, sectors of one, skew) of a zone whose tracks follow each other by one skew; None:
    by two, or parts of tracks."""
    tracks, over = divmod(zone.slots(layout.heads) - zone.spares, zone.spt)
    if over or zone.dead or len(zone.slips) or not _is_even(zone):
        return None
    return tracks, zone.spt, zone.track_skew


def _is_even(zone):
    """Whether tracks of a zone follow each other by one angle wherever they are, as far as one can
    tell."""
    few = zone.last_cyl - zone.first_cyl < FEW
    return _apart(zone.track_skew, zone.cyl_skew) < (EVENLY_FEW if few else EVENLY)


def _alike(one, other):
    """Whether two shapes are those of one zone's runs."""
    return one[:2] == other[:2] and _apart(one[2], other[2]) < EVENLY


def _apart(one, other):
    """Of two skews, turns."""
    return abs((one - other + 0.5) % 1 - 0.5)


def doubt(layout, switch_ns, seek):
    """Why what is told to be cylinders may be tracks of one surface, or "": angles are the same if
    units stay on a surface for as many tracks as there are heads, or for many with hardly another
    angle where the heads change. seek: (cylinders, ns) of the shortest that is known."""
    cylinders, seek_ns = seek
    several = [zone for zone in layout.zones if zone.last_cyl > zone.first_cyl]
    if several and all(not zone.head_spt and _is_even(zone) for zone in several):
        return "one angle leads from track to track wherever they are, which does not tell where " \
            "a cylinder of %d tracks ends" % layout.heads
    if switch_ns >= SLOW_SWITCH * seek_ns:
        return "a head switch seems to take as long as a seek of %d cylinder%s (%.3f and %.3f " \
            "ms), so what is told to be a cylinder of %d tracks may be tracks of one surface" % (
                cylinders, "s" * (cylinders > 1), switch_ns / 1e6, seek_ns / 1e6, layout.heads)
    return ""


def zone_of(plain, width, surfaces):
    """The zone of model-format.rst whose runs of `width` tracks are another zone's cylinders."""
    runs = plain.last_cyl - plain.first_cyl + 1
    bands = -(-runs // surfaces)
    return type(plain)(**{
        **plain.__dict__, "last_cyl": plain.first_cyl + bands * width - 1,
        "track_skew": plain.cyl_skew, "cyl_skew": plain.track_skew,
        "spares": plain.spares + (bands * surfaces - runs) * width * plain.spt})
