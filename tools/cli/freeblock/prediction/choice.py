# SPDX-License-Identifier: GPL-2.0
"""What an order of service chooses among n pending requests: seek and rotational latency of the
next one. Not the paper's one formula for all orders (eq. 4, 4.5).

Requests lie anywhere in the workload's data. Of each the seek time S depends on its
distance, and the latency R is even over a turn and independent of S. `joint()` is the
probability of (S, R) of the choice, in closed form for n independent requests; head positions are
taken at a few quantiles and averaged. LOOK and C-LOOK have a distribution of distances.

The pending requests are not independent of where the head is: near it they have been
taken before. With w(S) = n P(a request is chosen | S), the share that is left at S is
taken to be 1 / (1 + k sqrt(w(S))), and of the others beside the first only a share counts: one that
just missed its turn misses it again, unless transfers are long. k and that share, at no
transfer and what is added by a turn of it (DEPLETION), are fitted to an abstract process,
not to drives (tests/python/test_predict_queue.py makes its positioning times again).
"""

import functools
import math

import numpy as np

from . import seek

BINS = 30               # of a turn
SOURCES = 3             # head positions
PLACES = 1500           # destinations that stand for all
MECHANICAL = ("sstf", "sptf", "sptf-sw")
POLICIES = ("clook",) + MECHANICAL + ("auto",)
DEPLETION = {"sstf": (0.05, 0.85, 0.0), "sptf": (0.15, 0.85, 0.3), "sptf-sw": (0.10, 1.0, 0.0)}
MOST_TRANSFER = 0.7     # turns: as far as that was fitted
CELLS = np.concatenate(([0.0], np.geomspace(1e-6, 1, 120)))      # of distances, of the span
BEGINS = 24             # places where a seek begins


class Choice:
    """Of the chosen request: p[i, j], the probability of a seek of i * step and a latency
    from j to j + 1 steps (s)."""

    def __init__(self, step, p):
        self.step = step
        self.p = p / p.sum()
        self.seek = float(self.p.sum(1) @ np.arange(len(p))) * step
        self.late = (np.arange(p.shape[1]) + 0.5) * step
        self.latency_pmf = self.p.sum(0)
        self.latency = float(self.latency_pmf @ self.late)

    def positioning(self):
        """(mean, s; second moment, s^2) of seek and latency together."""
        both = np.arange(len(self.p))[:, None] * self.step + self.late
        return float((self.p * both).sum()), float((self.p * both ** 2).sum())

    def turns_lost(self, device):
        """s lost on the mean: seeks that take longer than expected miss their turn, and some gain
        one; errors are Laplace's."""
        scale, turn = device.seek_spread / math.sqrt(2), device.revolution_time
        if not scale:
            return 0.0
        late = np.exp(-self.late / scale) - np.exp(-(turn - self.late) / scale)
        return float(self.latency_pmf @ late) / 2 * turn

    @staticmethod
    def mix(weights, choices):
        """One of several, all on one grid."""
        return Choice(choices[0].step, sum(w * c.p for w, c in zip(weights, choices)))


def _places(span):
    """Destinations."""
    return span[0] + (np.arange(PLACES) + 0.5) / PLACES * span[1]


def _seeks(device, span, read_fraction, step):
    """Of each head position the probabilities of seek times on the grid."""
    first, size = span
    places = _places(span)
    at, turns = device.cylinder_of(places), device.slow_turns(places)
    heads = device.cylinder_of(first + (np.arange(SOURCES) + 0.5) / SOURCES * size)
    apart = np.abs(at[None, :] - heads[:, None])
    kinds = [(seek.seek_time(device, apart, write) + turns * device.revolution_time, share)
             for write, share in ((False, read_fraction), (True, 1 - read_fraction)) if share]
    bins = int(np.ceil(max(times.max() for times, _ in kinds) / step)) + 2
    rows = np.arange(SOURCES)[:, None] * bins
    p = np.zeros(SOURCES * bins)
    for times, share in kinds:
        low = np.floor(times / step).astype(int)
        upper = times / step - low
        for add, weight in ((0, 1 - upper), (1, upper)):
            p += np.bincount((rows + low + add).ravel(), (share * weight).ravel(), len(p))
    return p.reshape(SOURCES, bins) / PLACES


def _place_sums(seeks, turn):
    """p of positioning times (seek + latency) by row: bin k from k to k + 1 steps."""
    total = np.cumsum(np.pad(seeks, ((0, 0), (0, turn))), axis=1)
    total[:, turn:] -= total[:, :-turn].copy()
    return total / turn


def _at_random(seeks, turn):
    return np.repeat(seeks[:, :, None] / turn, turn, axis=2)


def _power_drop(tail, n):
    """P(the least of n is in a bin), of the tail behind each bin."""
    tail = np.clip(tail, 0.0, 1.0) ** n
    return -np.diff(tail, axis=1, prepend=1.0)


def _sstf(seeks, turn, n):
    """The shortest seek; its latency is anything."""
    return _at_random(_power_drop(1 - np.cumsum(seeks, axis=1), n), turn)


def _bands(sums, turn):
    """[x, i, j] = sums[x, i + j]"""
    return np.lib.stride_tricks.sliding_window_view(sums, turn, axis=1)


def _sptf(seeks, turn, n):
    """The shortest sum: of all requests with that sum each is as likely as any."""
    sums = _place_sums(seeks, turn)
    least = _power_drop(1 - np.cumsum(sums, axis=1), n)
    share = np.divide(least, sums, out=np.zeros_like(least), where=sums > 1e-15)
    return seeks[:, :, None] / turn * _bands(share, turn)[:, :seeks.shape[1]]


def _between(table, at):
    """table[..., at] for bins and parts of them; 0 before the first, the last behind it."""
    low = np.floor(at).astype(int)
    part = at - low
    top = table.shape[-1] - 1
    first = np.where(low < 0, 0, table[..., np.clip(low, 0, top)])
    second = np.where(low < -1, 0, table[..., np.clip(low + 1, 0, top)])
    return first * (1 - part) + second * part


def _sptf_sw(seeks, turn, n, window):
    """
    The shortest seek of those whose sum is within (1 + window) of the shortest, m. The
    choice (s, t = s + r) has the shortest sum itself if nobody with a sum up to (1 + window) t
    seeks less; else another of the n - 1 has it, at m in [t / (1 + window), t), seeks no
    less, and nobody of the rest is below m, or up to (1 + window) m with less of a seek.
    """
    rows, bins = seeks.shape
    sums = _place_sums(seeks, turn)[:, None, :]
    t = np.arange(bins + turn)
    s = np.arange(bins)[:, None]
    share = seeks[:, :, None]
    upto = np.clip((t - s + 0.5) / turn, 0, 1) * share      # P(S = s, sum up to t)
    less = np.cumsum(upto, axis=1) - upto                   # P(S < s, sum up to t)
    rest = 1 - np.cumsum(sums, axis=2) + sums / 2
    rest = np.clip(rest - _between(less, (1 + window) * (t + 0.5) - 0.5) + less, 0, 1)
    here = ((t >= s) & (t < s + turn)) * share / turn       # P(S = s, sum in t)
    no_less = np.cumsum(here[:, ::-1], axis=1)[:, ::-1]
    others = no_less * rest ** max(n - 2, 0)
    others = np.cumsum(others, axis=2) - others / 2
    others = others - _between(others, (t + 0.5) / (1 + window) - 0.5)
    p = here * (rest ** (n - 1) + (n - 1) * np.maximum(others, 0))
    flat = p.reshape(rows, -1)
    strides = (flat.strides[0], (p.shape[2] + 1) * p.itemsize, p.itemsize)
    return np.lib.stride_tricks.as_strided(np.ascontiguousarray(p), (rows, bins, turn), strides)


def joint(seeks, turn, n, policy, window):
    """[head position, seek, latency] of the choice among n independent requests; n need
    not be whole."""
    if n <= 1 or policy not in MECHANICAL:
        p = _at_random(seeks, turn)
    elif policy == "sstf":
        p = _sstf(seeks, turn, n)
    elif policy == "sptf" or window <= 0:
        p = _sptf(seeks, turn, n)
    else:
        p = _sptf_sw(seeks, turn, n, window)
    return p / p.sum(axis=(1, 2), keepdims=True)


def depleted(seeks, turn, n, policy, window, k):
    """The seeks of pending requests: less near the head than anywhere."""
    chosen = joint(seeks, turn, n, policy, window).sum(axis=2)
    w = np.divide(chosen, seeks, out=np.zeros_like(seeks), where=seeks > 0)
    left = seeks / (1 + k * np.sqrt(w))
    return left / left.sum(axis=1, keepdims=True)


@functools.lru_cache(maxsize=64)
def _device_seeks(device, span, read_fraction):
    step = device.revolution_time / BINS
    return _seeks(device, span, read_fraction, step)


@functools.lru_cache(maxsize=512)
def choice(device, span, read_fraction, n, policy, window=0.6, transfer=0.0):
    """The Choice of a policy among n pending requests on a device. span: (first byte,
    bytes) of the data; window: of sptf-sw; transfer: a request's, in turns."""
    seeks = _device_seeks(device, span, read_fraction)
    if n > 1 and policy in DEPLETION:
        k, share, longer = DEPLETION[policy]
        n = 1 + (share + longer * min(transfer, MOST_TRANSFER)) * (n - 1)
        seeks = depleted(seeks, BINS, n, policy, window, k)
    return Choice(device.revolution_time / BINS,
                  joint(seeks, BINS, n, policy, window).mean(axis=0))


# Orders that sweep: P(distance > x), of the span

def tail_clook(count, x):
    """Of the head's way in C-LOOK, upwards and back over the disk.

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
    """Of LOOK's distance.

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


TAILS = {"clook": tail_clook, "look": tail_look}


@functools.lru_cache(maxsize=64)
def _swept(device, span, read_fraction):
    """Of each of CELLS distances: mean (s) and second moment (s^2) of a seek."""
    first, size = span
    x = (CELLS[:-1] + CELLS[1:]) / 2
    begin = (np.arange(BEGINS) + 0.5) / BEGINS * (1 - x[:, None])
    far = np.floor(device.cylinder_of(first + (begin + x[:, None]) * size) -
                   device.cylinder_of(first + begin * size))
    moments = np.zeros((2, len(x)))
    for write, share in ((False, read_fraction), (True, 1 - read_fraction)):
        same, other = seek.move_time(device, far, write)
        for time, part in ((same, 1 / device.heads), (other, 1 - 1 / device.heads)):
            moments += share * part * np.array([time.mean(axis=1), (time ** 2).mean(axis=1)])
    return moments


@functools.lru_cache(maxsize=512)
def positioning(device, span, read_fraction, n, policy, transfer=0.0):
    """(mean, s; second moment, s^2) of the time from the arm's start to the first sector, of the
    choice of an order among n."""
    if policy not in TAILS:
        found = choice(device, span, read_fraction, n, policy, transfer=transfer)
        mean, square = found.positioning()
        lost = found.turns_lost(device)
        return mean + lost, square + 2 * mean * lost
    cells = np.maximum(-np.diff(TAILS[policy](n, CELLS)), 0.0)
    mean, square = _swept(device, span, read_fraction) @ cells
    turn = device.revolution_time
    # a sweep comes to slow zones as often as they have data
    more = turn * float(device.slow_turns(_places(span)).mean())
    square += more * (2 * mean + turn)
    mean += more
    return mean + turn / 2, square + mean * turn + turn ** 2 / 3
