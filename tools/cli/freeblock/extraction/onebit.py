# SPDX-License-Identifier: GPL-2.0
"""Times that show in one bit a trial: was a turn lost or not.

A command whose sector passes under the head `limit` ns after the arm could move is
served then if the move took no longer, or k turns later: the move took more than
limit + (k - 1) turns, and at most limit + k turns. Of many such trials each time is
found by maximum likelihood: where it lies, and how much it varies.
"""

import numpy as np

CELL_NS = 25e3          # of the first, coarse search
COARSE_SD_NS = 80e3     # what it takes moves to vary by
STRAYS = 0.01           # share of moves that something else delays, by a turn or two
FINEST_NS = 500.0       # nothing varies less: the clocks
SPREADS = np.geomspace(2e3, 600e3, 20)
# Where to aim, in standard deviations from the estimate: trials near it tell where it
# is, those farther off how much it varies.
NEAR, FAR = 0.15, 1.8
FAR_SHARE = 0.15


def likelihood(limits, turn, mean, spread):
    """Logarithm of how likely some limits are (a column, or one for each row), if the time has
    a logistic distribution of that mean and spread."""
    above, below = (0.5 * (1 + np.tanh(0.9068996821 * (at - mean) / spread))
                    for at in (limits[:, None], limits[:, None] - turn))
    return np.sum(np.log((1 - STRAYS) * (above - below) + STRAYS / 2), axis=0)


def weights(limits, turn, cells, spread=COARSE_SD_NS):
    """How likely the mean is in each of some cells."""
    said = likelihood(limits, turn, cells, spread)
    said = np.exp(said - said.max())
    return said / said.sum()


def locate(limits, turn, guess, spread):
    """Mean of the time and how sure it is, its spread given."""
    reach = max(4 * spread, 60e3)
    for _ in range(2):
        cells = np.linspace(guess - reach, guess + reach, 161)
        weight = weights(limits, turn, cells, spread)
        guess = float(cells @ weight)
        sure = float(np.sqrt(weight @ (cells - guess) ** 2))
        reach = max(5 * sure, 8 * (cells[1] - cells[0]))
    return guess, max(sure, (cells[1] - cells[0]) / 2)


def profile(limits, turn, guess, reach):
    """For each of SPREADS the logarithm of the likelihood, at its best mean that near."""
    cells = guess + reach * np.linspace(-1, 1, 15)
    return np.array([likelihood(limits, turn, cells, spread).max() for spread in SPREADS])


class Bits:
    """Trials of several times at once, and what they say. The spread is that of the
    time's neighbours, too: nearness[i, j] is what a trial of j counts for i."""

    def __init__(self, count, turn, longest, nearness=None):
        self.turn = turn
        self.cells = np.arange(CELL_NS / 2, longest, CELL_NS)
        self.limits = [np.zeros(0)] * count
        self.nearness = np.eye(count) if nearness is None else nearness
        self.mean = np.full(count, np.nan)
        self.sure = np.full(count, np.inf)
        self.spread = np.full(count, COARSE_SD_NS)

    def __len__(self):
        return len(self.limits)

    def add(self, which, limits):
        """Trials: of which time, and the latest that it ended."""
        for i in np.unique(which):
            self.limits[i] = np.concatenate((self.limits[i], limits[which == i]))

    def rough(self, i, shares=0.5):
        """Below where the time lies with such chances, after the trials so far."""
        chance = np.cumsum(weights(self.limits[i], self.turn, self.cells))
        return np.interp(shares, np.append(0, chance), np.append(0, self.cells + CELL_NS / 2))

    def sample(self, i, count, random):
        """Limits to try that tell most while the time is not known: from everywhere it
        may be."""
        return self.rough(i, random.permutation((np.arange(count) + random.random(count)) / count))

    def aim(self, which, random):
        """Limits to try next, once fit() has been called."""
        far = random.random(len(which)) < FAR_SHARE
        off = random.uniform(-1, 1, len(which)) * np.where(far, FAR, NEAR)
        least = np.maximum(self.sure[which], FINEST_NS)
        return self.mean[which] + off * np.maximum(self.spread[which], least)

    def fit(self):
        """Spread and mean of all times."""
        for i in np.flatnonzero(np.isnan(self.mean)):
            self.mean[i] = self.rough(i)
        reach = np.minimum(4 * self.sure, COARSE_SD_NS)
        said = self.nearness @ [profile(limits, self.turn, self.mean[i], reach[i])
                                for i, limits in enumerate(self.limits)]
        weight = np.exp(said - said.max(axis=1, keepdims=True))
        self.spread = np.exp(weight @ np.log(SPREADS) / weight.sum(axis=1))
        self.settle()

    def settle(self):
        """The means, spreads as they are."""
        for i, limits in enumerate(self.limits):
            self.mean[i], self.sure[i] = locate(limits, self.turn, self.mean[i], self.spread[i])
