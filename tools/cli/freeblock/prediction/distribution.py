# SPDX-License-Identifier: GPL-2.0
"""Distributions of times on a uniform grid, which the components hand to each other.

p[k] is the probability of a time within half a step of k * step. Sums keep means exactly.
"""

from functools import cached_property

import numpy as np

STEP = 40e-6            # s; the usual grid
PARTS = 8               # points that stand for an even distribution between two times


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
        at = np.maximum(np.asarray(values, dtype=float), 0.0) / step
        low = np.floor(at).astype(np.int64)
        upper = (at - low) * weights
        p = np.bincount(low, weights - upper, int(low.max()) + 2)
        p[1:] += np.bincount(low, upper, len(p) - 1)[:len(p) - 1]
        return Dist(step, p / p.sum())

    @staticmethod
    def spread(low, high, weights, step=STEP):
        """One of many even distributions, each from low to high s: arrays."""
        low, high, weights = (np.ravel(each)[:, None] for each in (low, high, weights))
        values = low + (high - low) * (np.arange(PARTS) + 0.5) / PARTS
        return Dist.of(values.ravel(), (weights / PARTS + 0 * values).ravel(), step)

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

    def at_most(self, time):
        """P(no more than `time` s); straight between the points."""
        return float(np.interp(time / self.step, np.arange(len(self.p)) + 0.5, np.cumsum(self.p),
                               left=0.0))

    def quantiles(self, shares):
        """Times (s) that shares of it do not exceed; an array."""
        below = np.append(0.0, np.cumsum(self.p))
        return np.maximum(np.interp(shares, below, (np.arange(len(below)) - 0.5) * self.step), 0.0)

    def convolve(self, other):
        """The sum of two independent times."""
        return Dist(self.step, np.convolve(self.p, other.p))

    def shift(self, time):
        """`time` s more."""
        return self.convolve(Dist.constant(time, self.step))

    def at_least(self, time):
        """The larger of it and `time` s."""
        return Dist.of(np.maximum(self.times, time), self.p, self.step)
