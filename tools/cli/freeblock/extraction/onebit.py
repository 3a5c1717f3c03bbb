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
STRAYS = (0.001, 0.01, 0.04)    # share of moves that something else delays
FINEST_NS = 500.0       # nothing varies less: the clocks
SPREADS = np.geomspace(2e3, 600e3, 20)
# Where to aim, in standard deviations from the estimate: trials near it tell where it
# is, those farther off how much it varies.
NEAR, FAR = 0.15, 1.8
FAR_SHARE, FAR_SHARE_LATER, LATER = 0.25, 0.08, 60      # later: after so many trials


def _laplace(x):
    half = 0.5 * np.exp(-np.sqrt(2) * np.abs(x))
    return np.where(x < 0, half, 1 - half)


def _normal(x):
    x = np.clip(x, -8, 8)
    return 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _logistic(x):
    return 0.5 * (1 + np.tanh(0.9068996821 * x))


# Cumulated distributions of mean 0 and variance 1.
FAMILIES = {"laplace": _laplace, "normal": _normal, "logistic": _logistic}


def likelihood(kind, limits, turn, mean, spread):
    """Of each limit, if the time has that mean and spread (arrays that broadcast). kind:
    of FAMILIES, and the share of strays, which take a turn more or two."""
    family, strays = kind
    cumulated = FAMILIES[family]
    above = cumulated((limits - mean) / spread)
    below = cumulated((limits - turn - mean) / spread)
    return (1 - strays) * (above - below) + strays / 2


def coarse(limits, turn, longest):
    """(instants, how likely the time is about there)."""
    cells = np.arange(CELL_NS / 2, longest, CELL_NS)
    said = np.zeros(len(cells))
    if len(limits):
        kind = ("logistic", STRAYS[1])
        said = np.sum(np.log(likelihood(kind, limits[:, None], turn, cells, COARSE_SD_NS)),
                      axis=0)
    said = np.exp(said - said.max())
    return cells, said / said.sum()


def quantile(cells, weight, share):
    """Where that share of the weight lies below, between cells."""
    cumulated = np.cumsum(weight)
    step = cells[1] - cells[0]
    return float(np.interp(share, np.concatenate(([0], cumulated)),
                           np.concatenate(([cells[0] - step / 2], cells + step / 2))))


def locate(limits, turn, guess, spread, kind):
    """Mean of the time and how sure it is, its spread given."""
    reach = max(4 * spread, 60e3)
    for _ in range(2):
        cells = np.linspace(guess - reach, guess + reach, 161)
        said = np.sum(np.log(likelihood(kind, limits[:, None], turn, cells, spread)), axis=0)
        weight = np.exp(said - said.max())
        weight /= weight.sum()
        guess = float(cells @ weight)
        sure = float(np.sqrt(weight @ (cells - guess) ** 2))
        reach = max(5 * sure, 8 * (cells[1] - cells[0]))
    return guess, max(sure, (cells[1] - cells[0]) / 2)


def profile(limits, turn, guess, reach, kind):
    """For each of SPREADS the logarithm of the likelihood, at its best mean that near."""
    best = np.empty(len(SPREADS))
    cells = guess + reach * np.linspace(-1, 1, 15)
    for i, spread in enumerate(SPREADS):
        said = likelihood(kind, limits[:, None], turn, cells, spread)
        best[i] = np.sum(np.log(said), axis=0).max()
    return best


class Bits:
    """Trials of several times at once, and what they say. The spread is that of the
    time's neighbours, too: nearness[i, j] is what a trial of j counts for i."""

    def __init__(self, count, turn, longest, nearness=None):
        self.turn = turn
        self.longest = longest
        self.limits = [np.zeros(0)] * count
        self.nearness = np.eye(count) if nearness is None else nearness
        self.mean = np.full(count, np.nan)
        self.sure = np.full(count, np.inf)
        self.spread = np.full(count, COARSE_SD_NS)
        self.kind = ("laplace", STRAYS[1])

    def __len__(self):
        return len(self.limits)

    def add(self, which, limits):
        """Trials: of which time, and the latest that it ended."""
        for i in np.unique(which):
            self.limits[i] = np.concatenate((self.limits[i], limits[which == i]))

    def rough(self, i):
        """Median and width of where the time is, after the trials so far."""
        cells, weight = coarse(self.limits[i], self.turn, self.longest)
        low, middle, high = (quantile(cells, weight, share) for share in (0.05, 0.5, 0.95))
        return middle, high - low

    def sample(self, i, count, random):
        """Limits to try that tell most while the time is not known: from everywhere it
        may be."""
        cells, weight = coarse(self.limits[i], self.turn, self.longest)
        shares = (np.arange(count) + random.random(count)) / count
        return np.array([quantile(cells, weight, share) for share in random.permutation(shares)])

    def aim(self, which, random):
        """Limits to try next, once fit() has been called."""
        tried = np.array([len(self.limits[i]) for i in which])
        far = random.random(len(which)) < np.where(tried < LATER, FAR_SHARE, FAR_SHARE_LATER)
        off = random.uniform(-1, 1, len(which)) * np.where(far, FAR, NEAR)
        least = np.maximum(self.sure[which], FINEST_NS)
        return self.mean[which] + off * np.maximum(self.spread[which], least)

    def fit(self):
        """Spread, kind of distribution and mean of all times."""
        guess = np.array([m if np.isfinite(m) else self.rough(i)[0]
                          for i, m in enumerate(self.mean)])
        best = self._best(guess, [(family, self.kind[1]) for family in FAMILIES])
        self.kind = best[1]
        others = [(self.kind[0], strays) for strays in STRAYS if strays != self.kind[1]]
        best = max(best, self._best(guess, others), key=lambda found: found[0])
        self.kind = best[1]
        self.spread = np.array([_top(row) for row in best[2]])
        self.settle(guess)

    def _best(self, guess, kinds):
        """The likeliest of some kinds: (how likely, kind, of each time over SPREADS)."""
        found, reach = [], np.minimum(4 * self.sure, COARSE_SD_NS)
        for kind in kinds:
            own = np.array([profile(limits, self.turn, guess[i], reach[i], kind)
                            for i, limits in enumerate(self.limits)])
            pooled = self.nearness @ own
            found.append((np.sum(own[np.arange(len(own)), pooled.argmax(axis=1)]), kind, pooled))
        return max(found, key=lambda one: one[0])

    def settle(self, guess=None):
        """The means, spreads and kind as they are."""
        guess = self.mean if guess is None else guess
        for i, limits in enumerate(self.limits):
            self.mean[i], self.sure[i] = locate(limits, self.turn, guess[i], self.spread[i],
                                                self.kind)


def _top(said):
    """The spread at the top of a curve over SPREADS, between points by a parabola."""
    at = int(np.argmax(said))
    if not 0 < at < len(said) - 1:
        return SPREADS[at]
    left, middle, right = said[at - 1:at + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return SPREADS[at] * (SPREADS[1] / SPREADS[0]) ** np.clip(shift, -0.5, 0.5)
