# SPDX-License-Identifier: GPL-2.0
"""Seeks: how far, and how long.

Where requests are uniform over bytes, distances follow from the cylinders' capacities;
on one zone that is the paper's uniform range of cylinders. A cylinder is a whole one:
the paper's SD is continuous, and its (2) gives the requests that stay on a cylinder the
time a; here they have distance 0 (see tail()).
"""

import functools

import numpy as np

from .. import ToolError
from .device import ThreePart
from .distribution import STEP, Dist, spread_rows

ZONES = 6               # at most so many zones are told apart
FIT_SPLITS = 60         # places tried for the border of a three-part fit


class SeekTime:
    """SeekTime[dis] from points, straight between them, from (0, 0) to the first, and beyond
    the last as between the last two; or from a ThreePart curve. Times in s."""

    def __init__(self, distance, time, curve=None):
        self.curve = curve
        self.distance = np.concatenate(([0.0], distance))
        self.points = np.concatenate(([0.0], time))

    @staticmethod
    def of(device, read=True):
        """A device's. A write's has its settling in it."""
        if read:
            return SeekTime(device.seek_distance, device.seek_time, device.curve)
        if device.write_seek_distance is not None:
            return SeekTime(device.write_seek_distance, device.write_seek_time)
        curve = device.curve and device.curve._replace(
            a=device.curve.a + device.write_settle, c=device.curve.c + device.write_settle)
        return SeekTime(device.seek_distance, np.maximum(device.seek_time +
                                                         device.write_settle, 0.0), curve)

    def time(self, distance):
        """s, of distances (an array)."""
        if self.curve:
            return self.curve.time(distance)
        found = np.interp(distance, self.distance, self.points)
        if len(self.points) > 2:
            slope = (self.points[-1] - self.points[-2]) / (self.distance[-1] - self.distance[-2])
            found = found + slope * np.maximum(distance - self.distance[-1], 0.0)
        return np.maximum(found, 0.0)

    def reach(self, time, most):
        """Cyl[t], the inverse: how far, up to `most` cylinders, a seek gets in `time` s (an
        array). Of times that several distances have, the longest."""
        far = np.union1d(np.arange(0, min(most, 512) + 1.0), np.linspace(0, most, 2048))
        # times that fall again are those of all longer seeks, too
        least = np.minimum.accumulate(self.time(far)[::-1])[::-1]
        return np.interp(time, least, far)


def _power_integral(x, m):
    """Integral of (1 - u^2)^m over u from 0 to x: recurrence from m's fraction upwards,
    which is integrated by Gauss's rule (for a whole m: x)."""
    low = m - np.floor(m)
    if low:
        # (1 - u^2)^low is singular at 1 only: u = sin(v) makes it smooth
        node, weight = np.polynomial.legendre.leggauss(24)
        half = np.arcsin(x) / 2
        found = half * np.sum(weight * np.cos(half * (node + 1)) ** (2 * low + 1))
    else:
        found = x
    for i in range(1, int(np.floor(m)) + 1):
        k = low + i
        found = (x * (1 - x * x) ** k + 2 * k * found) / (2 * k + 1)
    return found


def moments(curve, cylinders, pending=1, least=0.0):
    """(mean in s, second moment in s^2) of a seek by a ThreePart curve: (2) with (4), in
    closed form. `pending` n >= 0 requests, whole or not, uniform over `cylinders` C >= 1.

    E[g(SD)] = g(0+) + integral of g'(y) (1 - y/C)^(n+1) dy, and the jump at e; with y = C u^2
    the root's part is an integral of (1 - u^2)^(n+1). The paper's is `least` = 0; 0.5 leaves
    out the requests that stay on a cylinder (ours, see Move.tails)."""
    a, b, c, d, e = curve
    m, e, size = pending + 1, min(max(e, least), cylinders), float(cylinders)

    def above(y, power):
        return (1 - y / size) ** power

    root = _power_integral(np.sqrt(e / size), m) - _power_integral(np.sqrt(least / size), m)
    near = 2 * np.sqrt(size) * root / 2         # of 1 / (2 sqrt y)
    line = size / (m + 1) * (above(least, m + 1) - above(e, m + 1))
    rest, q = size / (m + 1) * above(e, m + 1), 1 - e / size
    rest_y = size ** 2 * (q ** (m + 1) / (m + 1) - q ** (m + 2) / (m + 2))
    first, left, right = a + b * np.sqrt(least), a + b * np.sqrt(e), c + d * e
    mean = first * above(least, m) + b * near + (right - left) * above(e, m) + d * rest
    second = first ** 2 * above(least, m) + 2 * a * b * near + b * b * line + \
        (right ** 2 - left ** 2) * above(e, m) + 2 * d * (c * rest + d * rest_y)
    return float(mean), float(second)


def mean_seek(curve, cylinders, pending=1):
    """E[ST_ran] in s, (2) and (4): of a ThreePart curve in s and cylinders."""
    return moments(curve, cylinders, pending)[0]


def fit(distance, time, cylinders):
    """(ThreePart, residual): the curve nearest to a table of cylinders and s; the residual is
    the root of the mean square in s, over the distances of random requests on `cylinders`,
    so that it says what the fit does to a mean. Not in the paper, whose drives have one."""
    if len(distance) < 4:
        raise ToolError("a three-part curve needs 4 points of a seek curve, not %d" %
                        len(distance))
    table = SeekTime(distance, time)
    far = np.unique(np.round(np.geomspace(1, max(cylinders - 1, 2), 400)))
    weight = np.gradient(far) * np.maximum(1 - far / cylinders, 1e-6)
    weight, wanted = np.sqrt(weight / weight.sum()), table.time(far)
    best = None
    for split in np.unique(np.linspace(2, len(far) - 2, FIT_SPLITS).astype(int)):
        parts, error = [], 0.0
        for part, base in ((slice(0, split), np.sqrt(far)), (slice(split, None), far)):
            terms = np.stack((np.ones_like(base), base), axis=1)[part] * weight[part, None]
            found = np.linalg.lstsq(terms, wanted[part] * weight[part], rcond=None)[0]
            error += np.sum((terms @ found - wanted[part] * weight[part]) ** 2)
            parts += list(found)
        if best is None or error < best[0]:
            best = (error, ThreePart(*parts, far[split - 1]))
    return best[1], float(np.sqrt(best[0]))


class Span:
    """Where a workload's requests lie on a device: cylinders from `first` to `last`, each zone
    as likely as it has bytes of the data; many zones are merged to ZONES groups."""

    def __init__(self, device, workload=None):
        zone_weights = device.zone_weights(workload)
        inside = zone_weights > 0
        count = int(inside.sum())
        self.groups = np.arange(count) * min(count, ZONES) // count
        self.weights = np.bincount(self.groups, zone_weights[inside])
        self.first, self.last = device.span_cylinders(workload) if workload else \
            (0.0, float(device.cylinders))
        begins = np.unique(self.groups, return_index=True)[1]
        low = device.zones.first_data[inside][begins]
        high = device.zones.end_data[inside][np.append(begins[1:], count) - 1]
        low[0], high[-1] = max(low[0], self.first), min(high[-1], self.last)
        # between two groups may be spare cylinders
        self.edges = np.stack((low, high), axis=1).ravel()
        self.cylinders = max(self.last - self.first, 1.0)

    @functools.cached_property
    def below(self):
        """The distribution function of cylinders at the edges."""
        return np.append(0.0, np.repeat(np.cumsum(self.weights), 2)[:-1])

    @functools.cached_property
    def _area(self):
        """At the edges: the integral of the distribution function; between them, its slope."""
        length, rise = np.diff(self.edges), np.diff(self.below)
        area = np.cumsum((self.below[1:] + self.below[:-1]) / 2 * length)
        slope = np.divide(rise, length, out=np.zeros_like(rise), where=length > 0)
        return np.append(0.0, area), np.append(slope, 0.0)

    def _integral(self, x):
        """Integral of the distribution function of cylinders up to x."""
        area, slope = self._area
        zone = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(slope) - 1)
        into = np.maximum(x - self.edges[zone], 0.0)
        return area[zone] + into * (self.below[zone] + into * slope[zone] / 2)

    def tails(self, distance):
        """[group, y]: Pr[SD >= y] (an array of y > 0 in cylinders) of two accesses, uniform
        over bytes, if the second is in that group of zones. Exact. Not in the paper."""
        if self.last - self.first < 1.0:
            # less than a cylinder: no distance but 0
            return np.zeros((len(self.weights), len(distance)))
        low, high = self.edges[::2, None], self.edges[1::2, None]
        inside = self._integral(high + distance) - self._integral(high - distance) - \
            self._integral(low + distance) + self._integral(low - distance)
        return np.clip(1 - inside / (high - low), 0.0, 1.0)

    def tail(self, distance, pending=1):
        """Pr[SD >= y] of n pending requests (an array of y > 0 in cylinders): (4), which needs
        cylinders of equal capacity, with n = 1 replaced by the chance of two accesses that
        are uniform over bytes: its (n + 1)/2th power. Exact for n = 1, and for one zone."""
        return (self.weights @ self.tails(np.asarray(distance, dtype=float))) ** \
            ((pending + 1) / 2)

    def distances(self, seek_time):
        """Whole distances between which a seek curve is nearly straight."""
        most = int(np.ceil(self.cylinders))
        points = seek_time.distance[(seek_time.distance >= 1) & (seek_time.distance < most)]
        return np.unique(np.concatenate((
            np.ceil(np.geomspace(1, most, 64)), np.ceil(np.linspace(1, most, 32)), points,
            points[points < 32] - 1, [1, most])).clip(1))


class Move:
    """Times until the head is on the track of a request, for a device and a span; heads are
    as likely as each other. Not in the paper: same-cylinder head switches, settling, the
    drive's seek noise (as Laplace's distribution)."""

    def __init__(self, device, span, read=True, step=STEP):
        self.span, self.step, self.spread = span, step, device.seek_spread
        seek_time = SeekTime.of(device, read)
        settle = 0.0 if read else device.write_settle
        self.switch = max(device.track_switch + settle, 0.0)
        self.other = (device.heads - 1) / device.heads
        self.far = span.distances(seek_time)
        ends = np.append(self.far[1:], self.far[-1])
        low, high = seek_time.time(self.far), seek_time.time(np.where(
            ends < 2 * self.far, ends, ends - 1))
        # seeks that a switch of heads outlasts
        self.short = np.flatnonzero(np.minimum(low, high) < self.switch)
        self.low = np.concatenate((low, np.maximum(low[self.short], self.switch)))
        self.high = np.concatenate((high, np.maximum(high[self.short], self.switch)))

    @functools.cached_property
    def tails(self):
        """[group, distance]: Pr[SD >= far]. Cylinders are whole: two places y apart are some
        whole number k of them apart, k - 1 < y < k + 1, on the mean y; so Pr[k or more] is
        Pr[y >= k - 1/2], for C equal cylinders but for 1 / (4 C^2). Not in the paper."""
        return self.span.tails(self.far - 0.5)

    def _rows(self, reached):
        """[row, time]: probabilities, from Pr[SD >= far] of each row."""
        weight = -np.diff(reached, append=0.0)
        longer = weight[:, self.short] * self.other
        weight[:, self.short] -= longer
        rows = spread_rows(self.low, self.high, np.concatenate((weight, longer), axis=1) + 1e-300,
                           self.step)
        rows = self._noisy(rows) * reached[:, :1]
        same = 1 - reached[:, 0]
        for time, share in ((0.0, 1 - self.other), (self.switch, self.other)):
            still = Dist.constant(time, self.step).p
            short = len(still) - rows.shape[1]
            if short > 0:
                rows = np.pad(rows, ((0, 0), (0, short)))
            rows[:, :len(still)] += np.outer(same * share, still)
        return rows

    def _noisy(self, rows):
        """With the noise of seeks; the kernel is short, so it is added up."""
        scale = self.spread / np.sqrt(2)
        if scale < self.step / 3:
            return rows
        count = int(np.ceil(5 * scale / self.step))
        kernel = np.exp(-np.abs(np.arange(-count, count + 1)) * self.step / scale)
        noisy = np.zeros((len(rows), rows.shape[1] + 2 * count))
        for i, share in enumerate(kernel / kernel.sum()):
            noisy[:, i:i + rows.shape[1]] += share * rows
        noisy[:, count] += noisy[:, :count].sum(axis=1)
        return noisy[:, count:]

    def rows(self, pending=1):
        """[group, time]: probabilities of a random request's move to each group of zones, (2)
        and (4) numerically for any seek curve."""
        return self._rows(self.tails ** ((pending + 1) / 2))

    def dist(self, pending=1):
        """Dist of a random request's move."""
        reached = (self.span.weights @ self.tails) ** ((pending + 1) / 2)
        return Dist(self.step, self._rows(reached[None])[0])
