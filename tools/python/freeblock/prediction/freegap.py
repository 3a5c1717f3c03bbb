# SPDX-License-Identifier: GPL-2.0
"""The gap before a foreground request: seek and rotational latency of the one that a policy
chooses. Not in the paper.

Requests lie anywhere in the workload's data. Of each the seek time S depends on its
distance, and the latency R is even over a turn and independent of S. A policy chooses
among n: `joint()` is the probability of (S, R) of its choice, in closed form for n
independent requests; head positions are taken at a few quantiles and averaged.

The pending requests are not independent of where the head is: near it they have been
taken before. With w(S) = n P(a request is chosen | S), the share that is left at S is
taken to be 1 / (1 + k sqrt(w(S))), and of the others beside the first only a share counts: who
just missed its turn misses it again, unless transfers are long. k and that share, at no
transfer and what is added by a turn of it (DEPLETION), are fitted to an abstract process,
not to drives: `PYTHONPATH=python python3 -m research.predictcheck.depletion` makes them again.
"""

import functools

import numpy as np

BINS = 30               # of a turn
SOURCES = 3             # head positions
PLACES = 1500           # destinations that stand for all
MECHANICAL = ("sstf", "sptf", "sptf-sw")
POLICIES = ("clook",) + MECHANICAL + ("auto",)
DEPLETION = {"sstf": (0.05, 0.85, 0.0), "sptf": (0.15, 0.85, 0.3), "sptf-sw": (0.10, 1.0, 0.0)}
MOST_TRANSFER = 0.7     # turns: as far as that was fitted


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

    @staticmethod
    def mix(weights, choices):
        """One of several, all on one grid."""
        return Choice(choices[0].step, sum(w * c.p for w, c in zip(weights, choices)))


def seek_time(device, distance, write=False):
    """s, of cylinders (an array); straight between the curve's points."""
    if write and device.write_seek_time is not None:
        points, times = device.write_seek_distance, device.write_seek_time
    else:
        points, times = device.seek_distance, device.seek_time
    settle = device.write_settle if write and device.write_seek_time is None else 0.0
    return np.interp(distance, np.append(0, points), np.append(0, times)) + settle


def _seeks(device, span, read_fraction, step):
    """Of each head position the probabilities of seek times on the grid."""
    first, size = span
    at = device.cylinder_of(first + (np.arange(PLACES) + 0.5) / PLACES * size)
    heads = device.cylinder_of(first + (np.arange(SOURCES) + 0.5) / SOURCES * size)
    apart = np.abs(at[None, :] - heads[:, None])
    kinds = [(seek_time(device, apart, write), share)
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
