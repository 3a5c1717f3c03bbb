# SPDX-License-Identifier: GPL-2.0
"""Synthetic: traces like those of the scrubbing paper, whose own are not at hand.

What the paper tells of them is met: table II (mean and coefficient of variation of idle
intervals), table I (requests in a week), and from V.A that hazard rates fall, that less than 10 %
of the intervals are longer than 100 ms, that lengths are correlated, and that there is a period of
24 h. Lengths are those of the lesser of a Lomax and an exponential variable: survival
(1 + x/s)^-a e^(-rx), hazard a/(x + s) + r, which falls everywhere. Three parameters for mean,
variance and the share above 100 ms.

Not told, and chosen here: how strong period and correlation are, the foreground's service times
(exponential), requests per busy period (geometric).
"""

import collections

import numpy as np
from scipy.optimize import brentq
from scipy.signal import lfilter

from freeblock import ToolError, need_range, openers

# s, coefficient of variation, requests (table I; the paper's week)
Profile = collections.namedtuple("Profile", "mean cov requests")
PROFILES = {
    "src11": Profile(0.4640, 21.693, 45746222),
    "usr1": Profile(0.0997, 8.6516, 45283980),
    "proj2": Profile(0.1384, 200.75, 29266482),
    "prn1": Profile(0.2280, 12.641, 11233411),
    "c6t8d0": Profile(0.1502, 13.845, 9529855),
    "c6t5d1": Profile(0.4503, 29.807, 4588778),
    "c6t5d0": Profile(0.4345, 9.0731, 3365078),
    "c3t3d0": Profile(0.4555, 8.2301, 2742326),
}
WEEK_S, HOUR_S = 604800, 3600
SERVICE_S = 0.003
# Share above 100 ms: the first with which mean and variance can be met
ABOVE_S, ABOVE_SHARES = 0.1, (0.08, 0.06, 0.045, 0.03, 0.02, 0.01)
MET = 0.01
# Latent correlation: (share, factor per interval) of first-order autoregressions
CORRELATED = ((0.2, 0.8), (0.2, 0.995))
# Activity over the day: exp(+-DAILY) around its mean, at its highest at 15 h
DAILY, HIGHEST_H = 0.7, 15
# What is longer than an hour does not come from how busy a time of day is
MODULATED_S = 3600
ROUNDS = 4
TICK_S = 1e-7
BEGIN_TICKS = 128166372000000000
CAPACITY = 100 * 10 ** 9
GRAIN = 4096
MOST_GRAINS = 16
SEQUENTIAL = 0.5
BATCH = 1 << 14
LEAST_INTERVALS = 1000


def survival(x, a, s, r):
    """Share of the intervals longer than x."""
    return (1 + x / s) ** -a * np.exp(-r * x)


class Fit:
    """a, s and r for a mean and a coefficient of variation among `count` intervals, of which
    the longest is that which one of 2 * count exceeds."""

    GRID = np.concatenate(([0], np.geomspace(1e-9, 3e6, 1500)))

    def __init__(self, mean, cov, count):
        self.mean, self.cov, self.count = mean, cov, count
        for share in ABOVE_SHARES:
            if (self.share_above(0.2) < share) == (self.share_above(2.5) < share):
                continue
            self.a = brentq(self.off_share, 0.2, 2.5, args=(share,), xtol=1e-4)
            self.r = self.rate(self.a)
            self.s = self.scale(self.a, self.r)
            if abs(self.cov_of(self.a, self.r) / cov - 1) < MET:
                return
        raise ToolError("%d idle intervals are too few for a mean of %.4g s and a coefficient of "
                        "variation of %.4g" % (count, mean, cov))

    def moments(self, a, s, r):
        """(mean, mean square)"""
        left = survival(self.GRID, a, s, r)
        left[left * self.count < 0.5] = 0
        return np.trapz(left, self.GRID), 2 * np.trapz(left * self.GRID, self.GRID)

    def scale(self, a, r):
        """s that gives the mean; the least there is if none does."""
        low, high = np.log(1e-15), np.log(1e5)

        def off(s):
            return self.moments(a, np.exp(s), r)[0] - self.mean

        if off(low) > 0:
            return np.exp(low)
        return np.exp(brentq(off, low, high, xtol=1e-6))

    def cov_of(self, a, r):
        """The coefficient of variation with the right mean."""
        mean, square = self.moments(a, self.scale(a, r), r)
        return max(square / mean ** 2 - 1, 1e-12) ** 0.5

    def rate(self, a):
        """r that gives the coefficient of variation; the least or most if none does."""
        low, high = np.log(1e-9), np.log(0.8 / self.mean)

        def off(r):
            return np.log(self.cov_of(a, np.exp(r)) / self.cov)

        if off(low) < 0:
            return np.exp(low)
        if off(high) > 0:
            return np.exp(high)
        return np.exp(brentq(off, low, high, xtol=1e-5))

    def share_above(self, a):
        """Share longer than 100 ms, with mean and variation right."""
        r = self.rate(a)
        return survival(ABOVE_S, a, self.scale(a, r), r)

    def off_share(self, a, share):
        """By how much that is not the share wanted."""
        return self.share_above(a) - share

    def lengths(self):
        """The lengths of all intervals, ascending."""
        grid = np.concatenate(([0], np.geomspace(1e-9, 3e6, 200000)))
        left = np.log(np.maximum(survival(grid, self.a, self.s, self.r), 1e-300))
        wanted = np.log((self.count - np.arange(self.count) - 0.5) / self.count)
        return np.interp(-wanted, -left, grid)


def latent(count, random):
    """Correlated normal variables."""
    rest = 1 - sum(share for share, _ in CORRELATED)
    found = rest ** 0.5 * random.standard_normal(count)
    for share, factor in CORRELATED:
        noise = random.standard_normal(count) * (1 - factor ** 2) ** 0.5
        found += share ** 0.5 * lfilter([1], [1, -factor], noise)
    return found


def of_hour(hour):
    """Factor of the lengths at an hour of the day; its mean over intervals is 1."""
    factors = np.exp(-DAILY * np.cos(2 * np.pi * (np.arange(24) - HIGHEST_H) / 24))
    return factors[hour % 24] * np.mean(1 / factors)


def modulated(lengths, counts):
    """Lengths as they are at their time of day, hour after hour."""
    found = lengths.copy()
    short = lengths < MODULATED_S
    busy = counts * SERVICE_S
    place, now = 0, 0.0
    while place < len(lengths):
        hour = int(now // HOUR_S)
        span = slice(place, place + (1 << 17))
        part = np.where(short[span], of_hour(hour), 1) * lengths[span]
        ends = now + np.cumsum(part + busy[span])
        take = max(int(np.searchsorted(ends, (hour + 1) * HOUR_S)), 1)
        take = min(take, len(part))
        found[place:place + take] = part[:take]
        place, now = place + take, float(ends[take - 1])
    return found


class Trace:
    """Idle intervals and busy periods like those of a profile, for so many days.

    idle: lengths in ticks of 100 ns; counts: requests in the busy period after each."""

    def __init__(self, name, days=7.0, seed=1):
        if name not in PROFILES:
            raise ToolError("no disk %s in the paper's table II: %s" % (name, " ".join(PROFILES)))
        need_range("--seed", seed, 0)
        profile = PROFILES[name]
        self.name = name
        self.random = np.random.default_rng([seed, sum(name.encode("ascii"))])
        share = days / 7
        intervals = share * (WEEK_S - profile.requests * SERVICE_S) / profile.mean
        count = int(round(intervals))
        if count < LEAST_INTERVALS:
            raise ToolError("%g days of %s have %d idle intervals: too few" % (days, name, count))
        self.counts = self.random.geometric(
            min(1, count / (share * profile.requests)), count).astype(np.int64)
        lengths = self.fitted(profile, count)
        self.idle = np.maximum(np.rint(lengths / TICK_S).astype(np.int64), 1)

    def fitted(self, profile, count):
        """Lengths in a correlated order and changed by the time of day, such that the
        profile's mean and variance come out."""
        ranks = np.argsort(latent(count, self.random), kind="stable")
        want = np.array([profile.mean, profile.cov])
        aim = want.copy()
        for _ in range(ROUNDS):
            base = np.empty(count)
            base[ranks] = Fit(*aim, count).lengths()
            found = modulated(base, self.counts)
            got = np.array([found.mean(), found.std() / found.mean()])
            aim *= want / got
        return found

    def batches(self):
        """(idle before each request, requests of each period that begins) as arrays of one
        batch of busy periods after the other."""
        for place in range(0, len(self.idle), BATCH):
            yield self.idle[place:place + BATCH], self.counts[place:place + BATCH]

    def requests(self):
        """(arrival, response in ticks, offset, size, write) of many requests at a time."""
        now, last = BEGIN_TICKS, 0
        for idle, counts in self.batches():
            total = int(counts.sum())
            starts = np.cumsum(counts) - counts
            gaps = np.zeros(total, np.int64)
            gaps[starts] = idle
            service = np.maximum(np.rint(self.random.exponential(
                SERVICE_S / TICK_S, total)).astype(np.int64), 2)
            ends = now + np.cumsum(gaps + service)
            # those that do not end an idle interval come while the one before is served
            before = np.concatenate(([last], service[:-1]))
            early = np.floor(self.random.random(total) * before).astype(np.int64)
            early[starts] = 0
            arrivals = ends - service - early
            yield (arrivals, ends - arrivals, *self.places(total),
                   self.random.random(total) < 0.4)
            now, last = int(ends[-1]), int(service[-1])

    def places(self, total):
        """Offsets and sizes: half of the requests continue the one before."""
        sizes = GRAIN * self.random.integers(1, MOST_GRAINS + 1, total)
        fresh = self.random.random(total) >= SEQUENTIAL
        fresh[0] = True
        runs = np.cumsum(fresh) - 1
        begins = GRAIN * self.random.integers(0, CAPACITY // GRAIN, int(runs[-1]) + 1)
        passed = np.cumsum(sizes) - sizes
        offsets = begins[runs] + passed - passed[np.flatnonzero(fresh)][runs]
        return offsets % CAPACITY, sizes

    def write(self, path):
        """The CSV of the MSR traces, whole or not at all."""
        form = ("%%d,synthetic-%s,0,%%s,%%d,%%d,%%d\n" % self.name).__mod__
        with openers.whole_file(path) as file:
            for arrivals, responses, offsets, sizes, writes in self.requests():
                kinds = np.where(writes, "Write", "Read").tolist()
                rows = zip(arrivals.tolist(), kinds, offsets.tolist(), sizes.tolist(),
                           responses.tolist())
                file.write("".join(map(form, rows)).encode("ascii"))


def add_parser(subparsers):
    """Add `synthetic`."""
    parser = subparsers.add_parser(
        "synthetic", help="a trace like one of the scrubbing paper's",
        description="Write a trace with the statistics that the scrubbing paper tells of a disk of "
        "its table II: %s." % ", ".join(PROFILES))
    parser.add_argument("name", metavar="NAME", help="of the disk")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to")
    parser.add_argument("--days", type=float, default=7.0, metavar="D", help="its length (7)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of its randomness (1)")
    parser.set_defaults(run=run)


def run(args):
    """Write one."""
    need_range("--days", args.days, 0, 366, over=True)
    Trace(args.name, args.days, args.seed).write(args.output)
    return 0
