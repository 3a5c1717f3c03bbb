# SPDX-License-Identifier: GPL-2.0
"""The Waiting policy simulated on a trace's idle intervals (the paper's V.B, V.C).

When the disk has been idle for the threshold, the scrubber sends requests back to
back until a foreground request arrives. That one is a collision if a scrubber's
request is in service: it waits for the rest of it, and so does, being served in
order, every request of the same busy period: the whole period is shifted. The idle
interval that follows is shorter by the shift, and what the interval does not absorb
shifts the next period, too. A foreground request's slowdown is its period's shift:
what it completes later than in the trace. Exact to the ns. Each interval depends on
the one before, so that tools/tune/replay.c goes through them.
"""

import ctypes
import functools

from ..base import helpers


class _Rule(ctypes.Structure):
    """struct replay_rule of tools/tune/replay.c"""

    _fields_ = [(name, ctypes.c_int64) for name in ("threshold", "first", "next")]


class _Sum(ctypes.Structure):
    """struct replay_sum"""

    _fields_ = [(name, ctypes.c_int64) for name in (
        "fired", "used", "collisions", "sent", "delayed", "slowdown", "worst")]


@functools.lru_cache(maxsize=1)
def library():
    """tools/tune/replay.c, compiled."""
    found = ctypes.CDLL(helpers.program("tools/tune", "tune", "replay.so"))
    found.replay_run.restype = None
    found.replay_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                                 ctypes.c_void_p, ctypes.c_void_p]
    return found


def waiting(trace, service, kib, threshold_ns):
    """What requests of one size come to that begin after threshold_ns of idling.

    idle_used: share of the idle time in which it fired; collisions: foreground requests
    that found one of the scrubber in service; delayed: requests that completed later than
    in the trace."""
    rule, found = _Rule(threshold_ns, service.first(kib), service.next(kib)), _Sum()
    library().replay_run(ctypes.addressof(rule), ctypes.addressof(found), len(trace.idle_ns),
                         trace.idle_ns.ctypes.data, trace.counts.ctypes.data)
    return {"fired": found.fired, "collisions": found.collisions,
            "collision_rate": found.collisions / trace.requests,
            "idle_used": found.used / int(trace.idle_ns.sum()),
            "mb_s": found.sent * kib * 1024 / 1e6 / (trace.duration_ns / 1e9),
            "delayed": found.delayed,
            "mean_slowdown_us": found.slowdown / 1e3 / trace.requests,
            "max_slowdown_us": found.worst / 1e3}
