# SPDX-License-Identifier: GPL-2.0
"""Statistics of idle intervals: the paper's section V.A."""

import numpy as np

SECOND_NS = 10 ** 9
# Bins of the histogram per doubling of the length: a bin is 0.27 % wide
PER_OCTAVE = 256
BINS = 63 * PER_OCTAVE
MOST_LAGS = 64
LONGEST_PERIOD_H = 168
# A period is told that chance would make in one of so many traces
CHANCE = 0.01
LONGEST_SHARES = (0.01, 0.05, 0.10, 0.15, 0.20, 0.50)
# Waits that the figures are told for, s
WAITS_S = (0.001, 0.01, 0.1, 1.0, 10.0)


class Lengths:
    """How many intervals of each length there are: counts and sums in bins.

    What depends on lengths below or above some other is exact but for the bin that
    it is in, in which they are taken as spread evenly."""

    def __init__(self):
        self.counts = np.zeros(BINS + 1)
        self.sums = np.zeros(BINS + 1)
        self.edges = np.append(2.0 ** (np.arange(BINS) / PER_OCTAVE), 2.0 ** 63)

    def add(self, idle_ns):
        """More intervals."""
        bins = (np.log2(idle_ns) * PER_OCTAVE).astype(np.int64)
        self.counts += np.bincount(bins, minlength=BINS + 1)
        self.sums += np.bincount(bins, idle_ns, minlength=BINS + 1)

    def finish(self):
        """No more."""
        self.counts_above = np.append(np.cumsum(self.counts[::-1])[::-1], 0)
        self.sums_above = np.append(np.cumsum(self.sums[::-1])[::-1], 0)
        self.count, self.sum = self.counts_above[0], self.sums_above[0]
        return self

    def above(self, length_ns):
        """(number, sum) of the intervals longer than this."""
        if length_ns < 1:
            return self.count, self.sum
        place = min(int(np.log2(length_ns) * PER_OCTAVE), BINS - 1)
        part = (self.edges[place + 1] - length_ns) / (self.edges[place + 1] - self.edges[place])
        part = min(max(part, 0), 1)
        return (self.counts_above[place + 1] + part * self.counts[place],
                self.sums_above[place + 1] + part * self.sums[place])

    def length_exceeded_by(self, number):
        """The length that so many intervals exceed."""
        place = int(np.searchsorted(-self.counts_above, -number, "right")) - 1
        place = min(max(place, 0), BINS - 1)
        if not self.counts[place]:
            return self.edges[place]
        part = (self.counts_above[place] - number) / self.counts[place]
        return self.edges[place] + part * (self.edges[place + 1] - self.edges[place])

    def share_of_longest(self, share):
        """Share of the idle time that is in the longest `share` of the intervals."""
        number = share * self.count
        length = self.length_exceeded_by(number)
        above, total = self.above(length)
        return (total + (number - above) * length) / self.sum

    def expected_remaining(self, waited_ns):
        """Mean of how much longer the disk stays idle; None if it never was so long."""
        number, total = self.above(waited_ns)
        return total / number - waited_ns if number > 0 else None

    def remaining_percentile(self, waited_ns, share=0.01):
        """How much longer at least, but in `share` of the cases."""
        number, _ = self.above(waited_ns)
        if number <= 0:
            return None
        return max(self.length_exceeded_by((1 - share) * number) - waited_ns, 0)

    def usable(self, waited_ns):
        """Share of the idle time that is left when each interval's begin is waited for."""
        number, total = self.above(waited_ns)
        return max(total - number * waited_ns, 0) / self.sum


class Moments:
    """Mean, variance, and autocovariances for AR, of a trace's intervals."""

    def __init__(self, spool, lags=MOST_LAGS):
        self.count = spool.intervals
        self.mean_ns = spool.idle_ns / spool.intervals
        self.lags = min(lags, max(self.count // 2, 1) - 1)
        sums = np.zeros(self.lags + 1)
        before = np.zeros(0)
        for chunk in spool.chunks():
            here = np.concatenate((before, chunk.idle_ns - self.mean_ns))
            for lag in range(self.lags + 1):
                start = max(len(before), lag)
                if start < len(here):
                    sums[lag] += np.dot(here[start:], here[start - lag:len(here) - lag])
            before = here[len(here) - min(self.lags, len(here)):]
        self.covariance = sums / self.count

    @property
    def variance(self):
        """ns^2, of the sample (n - 1)."""
        return self.covariance[0] * self.count / max(self.count - 1, 1)

    @property
    def cov(self):
        """Coefficient of variation: standard deviation over mean."""
        return self.variance ** 0.5 / self.mean_ns


def autocorrelation(moments):
    """{acf, Ljung-Box p, lags beyond the 95 % band}: is the next interval's length to be
    told from those before?"""
    from statsmodels.tsa.stattools import q_stat  # pylint: disable=import-outside-toplevel
    if moments.covariance[0] <= 0 or not moments.lags:
        return {"acf": [1.0], "ljung_box_p": None, "strong": False, "beyond_band": 0}
    acf = moments.covariance / moments.covariance[0]
    _, chances = q_stat(acf[1:], moments.count)
    beyond = int((np.abs(acf[1:]) > 1.96 / moments.count ** 0.5).sum())
    return {"acf": [float(x) for x in acf], "ljung_box_p": float(chances[-1]),
            "beyond_band": beyond, "strong": bool(chances[-1] < CHANCE and
                                                  beyond > moments.lags // 2)}


def anova(values, period):
    """(F, log of its chance) of values that are alike every `period` of them."""
    from scipy.stats import f  # pylint: disable=import-outside-toplevel
    from statsmodels.stats.oneway import anova_oneway  # pylint: disable=import-outside-toplevel
    groups = np.arange(len(values)) % period
    with np.errstate(divide="ignore", invalid="ignore"):
        found = anova_oneway(values, groups, use_var="equal", welch_correction=False)
    statistic = float(found.statistic)
    if np.isnan(statistic):
        return 0.0, 0.0
    return statistic, float(f.logsf(statistic, period - 1, len(values) - period))


def periodicity(by_hour):
    """The period with the strongest evidence, h; 1: none (the paper's figure 9).

    One-way ANOVA of log(1 + requests) of whole hours, grouped by the hour modulo the
    period, for periods of 2 h to a week that the trace has three times at least. The
    least chance is taken; it counts when chance alone would give one so small among
    that many periods in one of 100 traces."""
    values = np.log1p(np.asarray(by_hour[:-1], float))
    longest = min(LONGEST_PERIOD_H, len(values) // 3)
    none = {"period_h": 1, "f": None, "log10_p": None, "hours": len(values)}
    if longest < 2 or not np.ptp(values):
        return none
    tried = [(anova(values, period), period) for period in range(2, longest + 1)]
    (statistic, log_p), period = min(tried, key=lambda one: one[0][1])
    if log_p > np.log(CHANCE / len(tried)):
        return none
    return {**none, "period_h": period, "f": statistic, "log10_p": log_p / np.log(10)}


def lengths_of(spool):
    """The histogram of a trace's intervals."""
    lengths = Lengths()
    for chunk in spool.chunks():
        lengths.add(chunk.idle_ns)
    return lengths.finish()


def seconds(value_ns):
    """ns in s; None stays."""
    return None if value_ns is None else float(value_ns) / SECOND_NS


def summary(spool, lengths, moments):
    """All of the section's figures."""
    waits = [{"waited_s": wait, "expected_s": seconds(lengths.expected_remaining(wait * 1e9)),
              "percentile_1_s": seconds(lengths.remaining_percentile(wait * 1e9)),
              "usable": float(lengths.usable(wait * 1e9)),
              "longer": float(lengths.above(wait * 1e9)[0] / lengths.count)} for wait in WAITS_S]
    return {"requests": spool.requests, "duration_s": spool.duration_ns / 1e9,
            "intervals": spool.intervals, "idle_share": spool.idle_ns / spool.duration_ns,
            "modelled_requests": spool.modelled,
            "mean_s": moments.mean_ns / 1e9, "variance_s2": moments.variance / 1e18,
            "cov": moments.cov, "longest_s": spool.longest_ns / 1e9,
            "longest": [{"intervals": share, "idle_time": float(lengths.share_of_longest(share))}
                        for share in LONGEST_SHARES],
            "remaining": waits, "period": periodicity(spool.by_hour),
            "autocorrelation": autocorrelation(moments)}


def series(spool, lengths):
    """What the paper's figures 8 and 10 to 13 show."""
    longest = min(max(spool.longest_ns / 1e9, 1e-4), 1e4)
    waits = [float(x) for x in np.geomspace(1e-5, longest, 80)]
    return {"requests_by_hour": [int(x) for x in spool.by_hour],
            "longest": [(share, float(lengths.share_of_longest(share)))
                        for share in np.linspace(0, 0.5, 51).tolist()],
            "waited_s": waits,
            "expected": [seconds(lengths.expected_remaining(x * 1e9)) for x in waits],
            "percentile_1": [seconds(lengths.remaining_percentile(x * 1e9)) for x in waits],
            "usable": [float(lengths.usable(x * 1e9)) for x in waits]}
