# SPDX-License-Identifier: GPL-2.0
"""Distributions of times on a uniform grid, the currency between the components.

p[k] is the probability of a time within half a step of k * step. What is rounded
so stays exact under mixtures; sums (convolutions) keep means exactly and
variances but for the grid's own step^2 / 12 each.
"""

from functools import cached_property

import numpy as np

STEP = 40e-6            # s; the usual grid
NARROW = 2.0            # steps; narrower even distributions are points
_FFT_FROM = 512         # bins from which the Fourier transform is the faster convolution


def nice_length(length):
    """A length not below that the Fourier transform likes."""
    best = 1 << (length - 1).bit_length()
    return min([best] + [m * (1 << max((-(-length // m) - 1).bit_length(), 0)) for m in (3, 5, 9)])


def _split(at, weights, rows, size):
    """[row, size]: weights, each between the two points of the grid beside `at`; both are
    arrays of as many rows, or `at` has one for all."""
    first = np.floor(at).astype(np.int64)
    upper = (at - first) * weights
    cell = (first + size * np.arange(rows)[:, None]).ravel()
    found = np.bincount(cell, (weights - upper).ravel(), size * rows)
    found[1:] += np.bincount(cell, upper.ravel(), size * rows)[:-1]
    return found.reshape(rows, size)


def spread_rows(low, high, weights, step):
    """[row, time]: probabilities of mixtures, a row each, of even distributions from low to
    high s: arrays of as many rows, or one for all. What is below 0 is at 0. Narrow ones are
    points; of others the density's jumps are put on the grid and summed up. Means are kept,
    but for step / 16 at most."""
    low, high = np.minimum(low, high) / step, np.maximum(low, high) / step
    base = max(int(np.ceil(-low.min())), 0)
    low, high = low + base, high + base
    size, rows = int(high.max()) + 3, len(weights)
    narrow = high - low < NARROW
    p = _split((low + high) / 2, weights * narrow, rows, size)
    if not np.all(narrow):
        jump = weights * ~narrow / np.maximum(high - low, NARROW)
        density = np.cumsum(_split(low, jump, rows, size) - _split(high, jump, rows, size), axis=1)
        p += np.maximum(density, 0.0) / 2
        p[:, 1:] += np.maximum(density[:, :-1], 0.0) / 2
    if base:
        p = np.concatenate((p[:, :base + 1].sum(axis=1, keepdims=True), p[:, base + 1:]), axis=1)
    return p / p.sum(axis=1, keepdims=True)


class Dist:
    """A time: step (s), p (probabilities of 0, step, 2 * step ...). Not to be changed."""

    def __init__(self, step, p):
        self.step = float(step)
        self.p = np.asarray(p, dtype=float)

    @staticmethod
    def constant(value, step=STEP):
        """Always `value` s: the two points beside it, its mean kept."""
        return Dist.of(np.array([value]), np.array([1.0]), step)

    @staticmethod
    def uniform(low, high, step=STEP):
        """Even from low to high s."""
        if high - low < step:
            return Dist.constant((low + high) / 2, step)
        top = int(np.ceil(high / step + 0.5))
        edges = np.clip((np.arange(-1, top) + 0.5) * step, low, high)
        edges[0], edges[-1] = low, high
        return Dist(step, np.diff(edges) / (high - low))

    @staticmethod
    def of(values, weights, step=STEP):
        """Of discrete values (s): each split between the two points beside it, means kept."""
        at = np.asarray(values, dtype=float) / step
        low = np.floor(at).astype(np.int64)
        upper = (at - low) * weights
        p = np.bincount(low, weights - upper, int(low.max()) + 2)
        p[1:] += np.bincount(low, upper, len(p) - 1)[:len(p) - 1]
        return Dist(step, p / p.sum())

    @staticmethod
    def spread(low, high, weights, step=STEP):
        """One of many even distributions, each from low to high s: arrays; means are kept."""
        return Dist(step, spread_rows(np.ravel(low)[None], np.ravel(high)[None],
                                      np.ravel(weights)[None], step)[0])

    @staticmethod
    def mix(weights, dists):
        """One of `dists`, each as likely as its weight says."""
        weights = np.asarray(weights, dtype=float)
        p = np.zeros(max(len(d.p) for d in dists))
        for weight, dist in zip(weights / weights.sum(), dists):
            p[:len(dist.p)] += weight * dist.p
        return Dist(dists[0].step, p)

    @cached_property
    def times(self):
        """The grid, s."""
        return np.arange(len(self.p)) * self.step

    def mean(self):
        """s"""
        return float(self.p @ self.times)

    def second_moment(self):
        """s^2"""
        return float(self.p @ self.times ** 2)

    def variance(self):
        """s^2"""
        return max(self.second_moment() - self.mean() ** 2, 0.0)

    def cdf(self):
        """Of each grid point: probability of no more."""
        return np.minimum(np.cumsum(self.p), 1.0)

    def tail(self):
        """Of each grid point: probability of more."""
        return 1.0 - self.cdf()

    def at_most(self, time):
        """Probability of at most `time` s, straight between the borders of bins."""
        edges = (np.arange(len(self.p) + 1) - 0.5) * self.step
        return float(np.interp(time, edges, np.concatenate(([0.0], self.cdf())), 0.0, 1.0))

    def quantile(self, share):
        """The least grid point that at least `share` of the times do not exceed."""
        return float(np.searchsorted(self.cdf(), share - 1e-12) * self.step)

    def convolve(self, other):
        """The sum of two independent times."""
        if min(len(self.p), len(other.p)) < 64 or \
                max(len(self.p), len(other.p)) < _FFT_FROM:
            return Dist(self.step, np.convolve(self.p, other.p))
        length = len(self.p) + len(other.p) - 1
        size = nice_length(length)
        p = np.fft.irfft(np.fft.rfft(self.p, size) * np.fft.rfft(other.p, size), size)[:length]
        return Dist(self.step, np.maximum(p, 0.0))

    def shift(self, time):
        """`time` s more; what falls below 0 is at 0."""
        at = time / self.step
        low = int(np.floor(at))
        upper = at - low
        p = np.append(self.p * (1 - upper), 0.0)
        p[1:] += self.p * upper
        if low >= 0:
            return Dist(self.step, np.concatenate((np.zeros(low), p)))
        if -low >= len(p):
            return Dist(self.step, [p.sum()])
        kept = p[-low:].copy()
        kept[0] += p[:-low].sum()
        return Dist(self.step, kept)

    def at_least(self, time):
        """The larger of it and `time` s."""
        at = time / self.step
        low = int(np.floor(at))
        if low < 0:
            return self
        p = np.zeros(max(len(self.p), low + 2))
        p[:len(self.p)] = self.p
        below = p[:low + 1].sum()
        p[:low + 1] = 0.0
        p[low] += below * (1 - at + low)
        p[low + 1] += below * (at - low)
        return Dist(self.step, p)

    def cut(self, least=1e-9):
        """Without the end that is less likely than `least`, which goes to the last bin kept."""
        keep = int(np.searchsorted(-self.tail(), -least)) + 1
        if keep >= len(self.p):
            return self
        p = self.p[:keep].copy()
        p[-1] += self.p[keep:].sum()
        return Dist(self.step, p)
