# SPDX-License-Identifier: GPL-2.0
"""Orders other than first come, first served: what is saved by choosing among n requests.

Not the paper's one formula for all (eq. 4, 4.5; errata E7, E8). Positions are shares x of the
data's span, over which requests are uniform; n counts the one that is chosen. All but one of
the n are taken to be left over from earlier choices, one is fresh, as in a closed loop: in
an open queue more are fresh the shorter it is, which moves the mean response by less than
2 % up to 95 % utilisation (tests/python/test_predict_queue.py).
"""

import functools
from typing import NamedTuple

import numpy as np

from .queue import Services

# Printed by research.predictcheck.abstract: the counts that the tables are of.
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)
MEAN_SEEKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
# SSTF: quantiles (SHARES) of x times n + 1, a row for each of COUNTS.
_SSTF = np.array((
    (0.02028, 0.05043, 0.10201, 0.21118, 0.32696, 0.45105, 0.58584,
     0.73505, 0.90430, 1.10712, 1.36678, 1.55143, 1.71810, 1.86008),
    (0.01530, 0.03839, 0.07851, 0.16527, 0.26128, 0.37060, 0.49750,
     0.64777, 0.83471, 1.09351, 1.52184, 1.87254, 2.20155, 2.51889),
    (0.01343, 0.03414, 0.07032, 0.14977, 0.24020, 0.34481, 0.46880,
     0.62343, 0.82156, 1.10587, 1.59923, 2.07660, 2.55348, 3.03829),
    (0.01266, 0.03262, 0.06638, 0.14174, 0.22852, 0.33050, 0.45235,
     0.60570, 0.80968, 1.10862, 1.65225, 2.20793, 2.82485, 3.46326),
    (0.01202, 0.03020, 0.06211, 0.13309, 0.21524, 0.31372, 0.43407,
     0.58656, 0.79389, 1.11286, 1.71138, 2.35922, 3.20242, 4.13635),
    (0.01141, 0.02924, 0.06031, 0.12908, 0.20876, 0.30378, 0.42187,
     0.57310, 0.78080, 1.10210, 1.73954, 2.47178, 3.44933, 4.66451),
    (0.01131, 0.02854, 0.05822, 0.12391, 0.20112, 0.29321, 0.40653,
     0.55299, 0.75916, 1.08328, 1.75197, 2.56836, 3.77839, 5.45771),
    (0.01073, 0.02749, 0.05690, 0.12164, 0.19603, 0.28677, 0.39708,
     0.54030, 0.74041, 1.05832, 1.73387, 2.60304, 3.95659, 5.95150),
    (0.01029, 0.02703, 0.05558, 0.11894, 0.19247, 0.27975, 0.38898,
     0.52851, 0.72420, 1.03100, 1.69630, 2.60831, 4.15994, 6.56735),
    (0.01032, 0.02651, 0.05502, 0.11757, 0.18968, 0.27632, 0.38205,
     0.51898, 0.71083, 1.01045, 1.65710, 2.56420, 4.22873, 7.02922),
    (0.01034, 0.02616, 0.05430, 0.11569, 0.18667, 0.27129, 0.37516,
     0.50750, 0.69082, 0.97791, 1.58722, 2.44431, 4.17826, 7.55385),
    (0.01012, 0.02602, 0.05422, 0.11563, 0.18691, 0.27099, 0.37335,
     0.50376, 0.68456, 0.96761, 1.55938, 2.38995, 4.07601, 7.81346),
    (0.01016, 0.02604, 0.05361, 0.11516, 0.18639, 0.27034, 0.37351,
     0.50196, 0.67989, 0.95107, 1.51676, 2.29447, 3.87934, 8.04220),
    (0.01001, 0.02603, 0.05348, 0.11412, 0.18457, 0.26847, 0.37029,
     0.49832, 0.67311, 0.94459, 1.49531, 2.23649, 3.81415, 8.17119),
))
# SPTF: how many fresh requests are worth n left over ones, over n; a row for each of
# MEAN_SEEKS, turns.
_WORTH = np.array((
    (1.000, 1.318, 1.357, 1.342, 1.289, 1.230, 1.138,
     1.066, 0.958, 0.887, 0.797, 0.737, 0.663, 0.602),
    (1.000, 1.206, 1.207, 1.187, 1.120, 1.066, 0.979,
     0.926, 0.863, 0.827, 0.773, 0.756, 0.734, 0.725),
    (1.000, 1.122, 1.112, 1.091, 1.023, 0.981, 0.922,
     0.888, 0.846, 0.816, 0.797, 0.785, 0.768, 0.759),
    (1.000, 1.014, 0.992, 0.976, 0.936, 0.908, 0.875,
     0.855, 0.837, 0.825, 0.810, 0.799, 0.782, 0.775),
    (1.000, 0.910, 0.885, 0.879, 0.865, 0.858, 0.850,
     0.827, 0.817, 0.803, 0.792, 0.778, 0.760, 0.750),
    (1.000, 0.937, 0.882, 0.840, 0.798, 0.780, 0.762,
     0.751, 0.740, 0.736, 0.728, 0.713, 0.700, 0.678),
    (1.000, 0.940, 0.905, 0.871, 0.826, 0.794, 0.752,
     0.717, 0.676, 0.659, 0.624, 0.597, 0.581, 0.578),
))

_EDGES = np.concatenate(([0.0], np.geomspace(1e-6, 1, 120)))     # of cells of x
_PLACES = 24            # where seeks begin, for zones
STEP = 25e-6            # s
SW_PERCENT = 60         # the scheduler's own
# Of the least one's rivals in SPTF-SW's window, so many seek less as if by lot: the least is
# short because its seek is. About the mean of by_lot() of research.predictcheck.abstract.
_SW_BY_LOT = 0.55


def run_stride(data_span, queue_size):
    """run_stride_D (4.5), bytes: C Bytes_per_Cylinder / (E[Queue_Size] + 2), the paper's for every
    order. data_span: bytes; queue_size: requests. For comparison: see E7 and E8."""
    return data_span / (queue_size + 2)


# How far: P(distance > x)

def tail_fcfs(_, x):
    """Two random places: (1 - x)^2; (eq. 4) with n = 1."""
    return (1 - x) ** 2


def tail_clook(count, x):
    """Of the head's way, round the circle of C-LOOK and back over the disk; not in the paper.

    What is pending just ahead has been gathered for a whole sweep, what is a share y of the
    sweep away for 1 - y of it: left over requests have density 2 (1 - y), a fresh one 1, so
    P(nothing within y) = (1 - y)^(2 n - 1); exact for n = 1, 2, and of the right mean for all.
    A way y has the jump back in it with probability y, and is 1 - y long then.
    """
    power = 2 * count - 1
    # P(y > x, no jump) + P(1 - y > x, jump): integrals of power (1 - y)^(power - 1) (1 - y or y)
    ahead = power / (power + 1) * (1 - x) ** (power + 1)
    back = 1 / (power + 1) - x ** power * (1 - x * power / (power + 1))
    return ahead + np.maximum(back, 0.0)


def tail_look(count, x):
    """Of LOOK's distance; not in the paper.

    Moving up at p, what lies at y was last passed p - y ago below, p + y above in a sweep
    whose time goes with p^2 (requests are served where they lie, 2 p of them at p). So
    the head is at p with density 2 p, and a left over request at y with 3/2 (p^2 - y^2) below,
    3/2 (2 y - y^2 + p^2) above; fresh ones are uniform. The nearest above is next, or if there is
    none the nearest below.
    """
    x = np.asarray(x, dtype=float)[:, None]
    p = (np.arange(200) + 0.5)[None, :] / 200

    def above(y):
        return 1.5 * (y * y - p * p - (y ** 3 - p ** 3) / 3 + p * p * (y - p))

    def below(y):
        return 1.5 * (p * p * (p - y) - (p ** 3 - y ** 3) / 3)

    def none(left_over, fresh):
        return np.maximum(1 - left_over, 0.0) ** (count - 1) * (1 - fresh)

    up, down = np.minimum(p + x, 1), np.maximum(p - x, 0)
    tail = none(above(up), up - p) - none(above(1.0), 1 - p) + \
        none(above(1.0) + below(down), 1 - p + p - down)
    return (tail * 2 * p).mean(axis=1)


def tail_sstf(count, x):
    """Of SSTF's distance, by the abstract process; not in the paper."""
    logs = np.log(COUNTS)
    at = np.log(min(count, COUNTS[-1]))
    quantiles = np.array([np.interp(at, logs, column) for column in _SSTF.T]) / (count + 1)
    last = min(1.0, 2 * quantiles[-1] - quantiles[-2])
    return 1 - np.interp(x, np.concatenate(([0.0], quantiles, [max(last, quantiles[-1])])),
                         np.concatenate(([0.0], SHARES, [1.0])))


_TAILS = {"fcfs": tail_fcfs, "clook": tail_clook, "look": tail_look, "sstf": tail_sstf}


@functools.lru_cache(maxsize=None)
def _cells(algorithm, count):
    """Probability of each cell of x."""
    return np.maximum(-np.diff(_TAILS[algorithm](count, _EDGES)), 0.0)


@functools.lru_cache(maxsize=None)
def _all_cells(algorithm):
    """_cells() of all COUNTS, a row each."""
    return np.array([_cells(algorithm, count) for count in COUNTS])


# How long

class Arm:
    """Seeks of one device over one span; `write`: a write's."""

    def __init__(self, device, first, last, write):
        distance, time, settle = _seek_points(device, write)
        x = (_EDGES[:-1] + _EDGES[1:]) / 2
        ways = _ways(device, first, last, x)
        at = np.floor(ways)
        seeks = _seek(distance, time, settle, at, device)
        further = _seek(distance, time, settle, at + 1, device)
        part = ways - at
        self.bins = int(max(seeks.max(), further.max()) / STEP) + 3
        self.rows = (_spread(seeks, 1 - part, self.bins) +
                     _spread(further, part, self.bins)) / ways.shape[1]
        self.times = np.arange(self.bins) * STEP
        self.mean_rows = self.rows @ self.times
        self.square_rows = self.rows @ self.times ** 2

    def moments(self, algorithm):
        """Means (s) and second moments (s^2) of the seek, of all COUNTS."""
        cells = _all_cells(algorithm)
        return cells @ self.mean_rows, cells @ self.square_rows

    def random(self):
        """Probabilities of a random seek's times, steps of STEP."""
        return _cells("fcfs", 1) @ self.rows


def _seek_points(device, write):
    """Distances, times, and what comes on top wherever the head moves or not."""
    if write and device.write_seek_distance is not None:
        return device.write_seek_distance, device.write_seek_time, 0.0
    return device.seek_distance, device.seek_time, device.write_settle if write else 0.0


def _seek(distance, time, settle, ways, device):
    """s over `ways` whole cylinders; without one, only to another head."""
    move = np.interp(ways, distance, time) + settle
    stay = (device.track_switch + (settle if device.track_switch else 0.0)) * \
        (1 - 1 / device.heads)
    return np.where(ways < 1, stay, move)


def _ways(device, first, last, x):
    """Cylinders between byte positions x of the span apart, from _PLACES places each."""
    edges = np.append(device.zones.first_byte, device.capacity)
    cylinders = np.append(device.zones.first_cylinder, device.cylinders).astype(float)
    low, high = np.interp((first, last), cylinders, edges)
    start = (np.arange(_PLACES) + 0.5) / _PLACES * (1 - x[:, None])
    begin = np.interp(low + (high - low) * start, edges, cylinders)
    end = np.interp(low + (high - low) * (start + x[:, None]), edges, cylinders)
    return end - begin


def _spread(times, weights, bins):
    """A row of probabilities for each row of times, each split between the bins beside it."""
    at = times / STEP
    low = np.floor(at).astype(np.int64)
    upper = (at - low) * weights
    row = np.arange(len(times))[:, None] * bins
    size = len(times) * bins
    found = np.bincount((row + low).ravel(), (weights - upper).ravel(), size) + \
        np.bincount((row + low + 1).ravel(), upper.ravel(), size)
    return found.reshape(len(times), bins)


_ARMS = {}


def arm(device, workload, write):
    """The Arm of a device over a workload's span; the last ones are kept."""
    first, last = device.span_cylinders(workload)
    key = (id(device), first, last, write)
    found = _ARMS.get(key)
    if found is None or found[0] is not device:
        if len(_ARMS) > 64:
            _ARMS.clear()
        found = _ARMS[key] = (device, Arm(device, first, last, write))
    return found[1]


class Positioning(NamedTuple):
    """Of all COUNTS: means (s) and second moments (s^2) of the time from the end of the overhead
    until the first sector is under the head."""

    first: np.ndarray
    second: np.ndarray


def sorted_positioning(device, workload, algorithm):
    """Of orders that look at the arm alone: the platter is anywhere when it has arrived."""
    turn = device.revolution_time
    first = second = 0.0
    for write, share in ((False, workload.read_fraction), (True, 1 - workload.read_fraction)):
        if share:
            mean, square = arm(device, workload, write).moments(algorithm)
            first = first + share * mean
            second = second + share * square
    return Positioning(first + turn / 2, second + first * turn + turn ** 2 / 3)


# SPTF

def worth(mean_seek, counts=COUNTS):
    """How many fresh requests are as good for SPTF as `counts` of them, most of them left over.

    mean_seek: turns, between two random places. What SPTF leaves is farther away than what is
    fresh, unless nothing moves: then it has just not come round yet.
    """
    rows = np.array([np.interp(min(mean_seek, MEAN_SEEKS[-1]), MEAN_SEEKS, column)
                     for column in _WORTH.T])
    counts = np.asarray(counts, dtype=float)
    return counts * np.interp(np.log(counts), np.log(COUNTS), rows)


class Fresh:
    """Positioning of one fresh request on a grid of STEP: p, tail, and of a choice that takes
    `cost`, the density (1/s) of its platter's wait at 0."""

    def __init__(self, device, workload):
        turn = int(round(device.revolution_time / STEP))
        turn_p = np.full(turn, 1 / turn)
        self.turn = turn * STEP
        self.mean_seek = 0.0
        self.p = np.zeros(1)
        seek_p = np.zeros(1)
        for write, share in ((False, workload.read_fraction), (True, 1 - workload.read_fraction)):
            if share:
                seek = arm(device, workload, write).random()
                self.mean_seek += share * float(seek @ np.arange(len(seek))) * STEP
                late = (device.write_overhead - device.read_overhead) * write
                seek_p = _add(seek_p, share * _later(seek, late))
        self.p = np.convolve(seek_p, turn_p)
        self.seek_p = np.append(seek_p, np.zeros(len(self.p) - len(seek_p)))
        self.times = (np.arange(len(self.p)) + 0.5) * STEP
        self.tail = np.maximum(1 - np.cumsum(self.p), 0.0)
        self.before = np.concatenate(([1.0], self.tail[:-1]))

    def least(self, counts):
        """Rows of probabilities of the least of `counts` (real numbers)."""
        counts = np.asarray(counts)[:, None]
        return self.before[None, :] ** counts - self.tail[None, :] ** counts

    def no_wait_density(self):
        """Of each cost: density (1/s) at 0 of the wait for the platter, if such a one is chosen."""
        turning = self.p * self.turn / STEP     # P(seek within the turn before)
        return np.divide(self.seek_p / STEP, turning, out=np.zeros_like(turning),
                         where=turning > 1e-12)


def _add(left, right):
    """The sum of two rows of different lengths."""
    found = np.zeros(max(len(left), len(right)))
    found[:len(left)] += left
    found[:len(right)] += right
    return found


def _later(p, time):
    """A row of probabilities `time` s later (or earlier, but not before 0)."""
    steps = int(round(time / STEP))
    return np.append(np.zeros(steps), p) if steps >= 0 else _add(p[-steps:], [p[:-steps].sum()])


def sptf_positioning(device, workload, sw_percent=None):
    """Of SPTF: the least positioning time of so many as the n are worth(). With sw_percent of
    SPTF-SWn%: who seeks least of those within that of the least.

    A seek that is longer than believed (device.seek_spread, Laplace) misses its sector if the
    platter's wait was shorter than that, and waits a turn more.
    """
    fresh = Fresh(device, workload)
    counts = worth(fresh.mean_seek / fresh.turn)
    least = fresh.least(counts)
    if sw_percent:
        least = _within_window(fresh, least, counts, sw_percent / 100)
    first, second = least @ fresh.times, least @ fresh.times ** 2
    late = device.seek_spread / np.sqrt(2) / 2          # E[max(noise, 0)], s
    if late:
        density = fresh.no_wait_density()
        missed = least * np.minimum(density * late, 0.5)
        first = first + missed.sum(axis=1) * fresh.turn
        second = second + missed @ (2 * fresh.times * fresh.turn + fresh.turn ** 2)
    return Positioning(first, second)


def _within_window(fresh, least, counts, window):
    """Rows like `least`, of a request within 1 + window of the least one: with probability
    _SW_BY_LOT anyone of those."""
    above = 1 - fresh.tail                              # P(one <= time)
    until = np.interp(fresh.times * (1 + window), fresh.times, above)
    near = np.divide(until - above, fresh.tail, out=np.zeros_like(above), where=fresh.tail > 1e-9)
    others = np.maximum(counts - 1, 0.0)[:, None]
    alone = np.where(near > 1e-9, (1 - (1 - near) ** (others + 1)) /
                     np.maximum((others + 1) * near, 1e-12), 1.0)
    spread = least * (1 - alone) / np.maximum(until - above, 1e-12)
    spread[:, until - above <= 1e-12] = 0.0
    # A choice at t may come from any least time between t / (1 + window) and t.
    summed = np.concatenate((np.zeros((len(least), 1)), np.cumsum(spread, axis=1)), axis=1)
    from_ = np.searchsorted(fresh.times * (1 + window), fresh.times)
    found = least * alone
    found += fresh.p * (summed[:, np.arange(len(fresh.p))] - summed[:, from_])
    return (1 - _SW_BY_LOT) * least + _SW_BY_LOT * found / found.sum(axis=1, keepdims=True)


def positioning(device, workload, algorithm, sw_percent=SW_PERCENT):
    """Positioning of all COUNTS by an algorithm; sw_percent: of SPTF-SWn%."""
    if algorithm in ("sptf", "sptf-sw"):
        return sptf_positioning(device, workload, sw_percent if algorithm == "sptf-sw" else None)
    return sorted_positioning(device, workload, algorithm)


def services(position, rest_mean, rest_variance):
    """Services for 1 .. MOST_STATES pending and for any number beyond: positioning, and what is
    the same for all (overheads, transfer; s, s^2), which knows nothing of it."""
    first = position.first + rest_mean
    variance = np.maximum(position.second - position.first ** 2, 0.0) + rest_variance
    return Services.through(np.array(COUNTS), first, variance)
