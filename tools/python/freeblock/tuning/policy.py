# SPDX-License-Identifier: GPL-2.0
"""Policies simulated on a trace's idle intervals (the paper's V.B, V.C).

When the scrubber fires in an interval it sends requests back to back until a
foreground request arrives. That one is a collision if a scrubber's request is
in service: it waits for the rest of it, and so does, being served in order,
every request of the same busy period: the whole period is shifted. What idle
interval follows is shorter by the shift, and what the interval does not
absorb shifts the next period, too. A foreground request's slowdown is its
period's shift: what it completes later than in the trace. Exact to the ns. Each
interval depends on the one before, so that tools/native/tune/replay.c goes through them.
"""

import collections
import ctypes
import functools

import numpy as np

from .. import hosts


class Sizes:
    """What the scrubber sends while it fires: request after request.

    ends_ns[k], kib[k]: when request k ends after it began to fire, and how much is
    read by then; from the last on all are as the last: step_ns, step_kib."""

    def __init__(self, service, first_kib, following=()):
        """first_kib, then `following`, of which the last goes on."""
        sizes = [first_kib, *following] if following else [first_kib, first_kib]
        times = [service.first(sizes[0])] + [service.next(size) for size in sizes[1:]]
        self.ends_ns = np.cumsum(np.array(times, np.int64))
        self.kib = np.cumsum(np.array(sizes, np.int64))
        self.step_ns, self.step_kib = times[-1], sizes[-1]
        self.longest_ns = max(times)


def fixed(service, kib):
    """All requests of one size."""
    return Sizes(service, kib)


def growing(service, start_kib, factor, more_kib, most_kib):
    """Each request `factor` times the one before and `more_kib` larger, whole KiB, up to
    most_kib: the paper's exponential (more_kib 0) and linear approach."""
    sizes = [start_kib]
    while sizes[-1] < most_kib:
        sizes.append(min(max(int(sizes[-1] * factor + more_kib), sizes[-1] + 1), most_kib))
    return Sizes(service, sizes[0], sizes[1:])


def swapping(service, start_kib, switch_ns, most_kib):
    """Requests of start_kib until one ends after switch_ns of firing, then most_kib."""
    first, step = service.first(start_kib), service.next(start_kib)
    count = 1 + max(-(-(switch_ns - first) // step), 0)
    return Sizes(service, start_kib, [start_kib] * (count - 1) + [most_kib])


# A policy with its parameter. threshold_ns: an interval must have lasted so long
# (as shortened by shifts); wait: that time passes before it fires, else it fires
# from the interval's begin; lengths: it must have been so long in the trace
# (Oracle); prediction_ns: what AR must predict at least
Rule = collections.namedtuple("Rule", "sizes threshold_ns wait length_ns prediction_ns",
                              defaults=(0, True, 0, None))


def waiting(sizes, threshold_ns):
    """Fires after threshold_ns of idling."""
    return Rule(sizes, threshold_ns)


def lossless(sizes, threshold_ns):
    """Fires in the intervals that Waiting fires in, but from their begin."""
    return Rule(sizes, threshold_ns, wait=False)


def oracle(sizes, length_ns):
    """Knows which intervals of the trace are longer than length_ns."""
    return Rule(sizes, 0, wait=False, length_ns=length_ns)


def autoregression(sizes, prediction_ns, threshold_ns=0):
    """Fires (after threshold_ns) in intervals predicted to be longer than prediction_ns."""
    return Rule(sizes, threshold_ns, prediction_ns=prediction_ns)


class _Rule(ctypes.Structure):
    """struct replay_rule of tools/native/tune/replay.c"""

    _fields_ = [(name, ctypes.c_int64) for name in ("threshold", "wait", "length")] + \
        [("predicted", ctypes.c_double), ("sizes", ctypes.c_int64), ("ends", ctypes.c_void_p),
         ("kib", ctypes.c_void_p), ("step", ctypes.c_int64), ("step_kib", ctypes.c_int64)]


class _Sum(ctypes.Structure):
    """struct replay_sum"""

    _fields_ = [(name, ctypes.c_int64) for name in (
        "shift", "fired", "used", "collisions", "kib", "delayed", "slowdown", "worst")]


@functools.lru_cache(maxsize=1)
def library():
    """tools/native/tune/replay.c, compiled."""
    found = ctypes.CDLL(hosts.program("tools/native/tune", "tune", "replay.so"))
    found.replay_run.restype = None
    found.replay_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64] + \
        3 * [ctypes.c_void_p]
    return found


class Run:
    """One rule on one trace."""

    def __init__(self, rule):
        self.rule = rule
        sizes = rule.sizes
        self.predicts = rule.prediction_ns is not None
        self.given = _Rule(rule.threshold_ns, rule.wait, rule.length_ns,
                           rule.prediction_ns if self.predicts else 0, len(sizes.ends_ns),
                           sizes.ends_ns.ctypes.data, sizes.kib.ctypes.data, sizes.step_ns,
                           sizes.step_kib)
        self.sum = _Sum()

    def add(self, chunk, predicted):
        """The intervals that follow."""
        library().replay_run(ctypes.addressof(self.given), ctypes.addressof(self.sum),
                             len(chunk.idle_ns), chunk.idle_ns.ctypes.data,
                             chunk.requests.ctypes.data,
                             predicted.ctypes.data if self.predicts else None)

    def result(self, spool):
        """What it came to, of the whole trace.

        fired: intervals it fired in; idle_used: share of the idle time it did in;
        collisions: foreground requests that found one of the scrubber in service;
        delayed: requests that completed later than in the trace."""
        found = self.sum
        seconds = spool.duration_ns / 1e9
        return {"fired": found.fired, "collisions": found.collisions,
                "collision_rate": found.collisions / spool.requests,
                "fired_rate": found.fired / spool.intervals,
                "idle_used": found.used / spool.idle_ns,
                "mb_s": found.kib * 1024 / 1e6 / seconds, "delayed": found.delayed,
                "mean_slowdown_us": found.slowdown / 1e3 / spool.requests,
                "max_slowdown_us": found.worst / 1e3}


def simulate(spool, rules, model=None):
    """The results of several rules, in one reading of the trace. model: for those that
    predict, with predictions(chunks)."""
    runs = [Run(rule) for rule in rules]
    source = model.predictions(spool.chunks()) if model else \
        ((chunk, None) for chunk in spool.chunks())
    for chunk, predicted in source:
        for run in runs:
            run.add(chunk, predicted)
    return [run.result(spool) for run in runs]
