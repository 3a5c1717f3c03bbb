# SPDX-License-Identifier: GPL-2.0
"""AR(p) on the lengths of idle intervals, p by Akaike's criterion (the paper's V.B)."""

import numpy as np


class Model:
    """X_t = mean + sum a_i (X_(t-i) - mean) + noise.

    Fitted to the whole trace by Yule and Walker's equations, which statsmodels solves
    for every order at once (Levinson and Durbin). That the policy's model knows the
    whole trace is in its favour."""

    def __init__(self, moments):
        # pylint: disable-next=import-outside-toplevel
        from statsmodels.tsa.stattools import levinson_durbin
        self.mean_ns = moments.mean_ns
        self.order, self.factors = 0, np.zeros(0)
        if moments.lags < 1 or moments.covariance[0] <= 0:
            return
        _, _, _, errors, factors = levinson_durbin(moments.covariance, moments.lags, isacov=True)
        errors[0] = moments.covariance[0]
        orders = np.arange(moments.lags + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            criterion = moments.count * np.log(errors) + 2 * (orders + 1)
        self.order = int(np.nanargmin(criterion))
        self.factors = np.array([factors[lag, self.order] for lag in range(1, self.order + 1)])

    def predictions(self, chunks):
        """Each chunk with what is predicted for its intervals, ns; before the trace all
        were of mean length."""
        before = np.zeros(self.order)
        for chunk in chunks:
            here = np.concatenate((before, chunk.idle_ns - self.mean_ns))
            predicted = np.full(len(chunk.idle_ns), self.mean_ns)
            if self.order:
                predicted += np.convolve(here, self.factors)[self.order - 1:len(here) - 1]
                before = here[-self.order:]
            yield chunk, predicted

    def quantiles(self, spool, shares):
        """Of all predictions: the lengths that 1 - share of them exceed.

        From the whole distribution in bins of 0.03 % of its central range."""
        low, high = np.inf, -np.inf
        for _, predicted in self.predictions(spool.chunks()):
            low, high = min(low, predicted.min()), max(high, predicted.max())
        if low >= high:
            return [low for _ in shares]
        edges = mean_and_edges(low, high, self.mean_ns)
        counts = np.zeros(len(edges) + 1)
        for _, predicted in self.predictions(spool.chunks()):
            counts += np.bincount(np.searchsorted(edges, predicted), minlength=len(counts))
        reached = np.cumsum(counts)[:-1] / counts.sum()
        return [float(edges[min(np.searchsorted(reached, share), len(edges) - 1)])
                for share in shares]


def mean_and_edges(low, high, mean):
    """Edges of bins, fine around the mean, where most predictions are."""
    span = max(high - mean, mean - low)
    fine = np.geomspace(span * 1e-7, span, 5000)
    edges = np.concatenate((mean - fine[::-1], [mean], mean + fine))
    return edges[(edges > low) & (edges < high)]
