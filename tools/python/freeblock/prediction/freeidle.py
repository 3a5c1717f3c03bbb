# SPDX-License-Identifier: GPL-2.0
"""What reads in idle time would add (Documentation/idle.rst), roughly. Not in the paper.

The Waiting policy: when nobody has asked for anything for `wait` s, one read follows the other
until somebody does. Poisson's idle periods have exponential lengths, so that exp(-rate wait) of
the idle time is behind the threshold. A read is at most one track, near where the head is: a
move, half a turn until its first sector (no more than a turn in all with zero-latency
access), and the transfer; of a drive that reads ahead the transfer alone. Who comes during a
read meets it.
"""

import math
from typing import NamedTuple

import numpy as np

from . import freegap

NEAR = 8        # cylinders: where the next blocks are, "near"


class IdleReads(NamedTuple):
    """Bytes/s they read; s a read takes; share of the requests that meet one; share of the
    idle time that is used."""

    rate: float
    read_time: float
    collisions: float
    used: float


def _read_time(device, held):
    """s of a read of `held` bytes behind another: a stream's, where the drive reads ahead."""
    turn, part = device.revolution_time, held / device.track_bytes()
    skew = float(device.zone_weights() @ device.zones.track_skew)
    if device.cache and device.cache.read_ahead != "none":
        return part * (1 + skew) * turn
    seek = float(np.mean(freegap.seek_time(device, np.arange(1, NEAR + 1))))
    other = 1 - 1 / device.heads
    move = other * device.track_switch + (1 - other) * max(seek, device.track_switch)
    turns = min(1.0, 0.5 + part) if device.zero_latency else 0.5 + part
    return move + turns * turn


def idle_reads(device, found, request_rate, wait, size):
    """IdleReads with a threshold (s) and a longest read (bytes; a granule at least), of
    Poisson arrivals at request_rate (1/s) on a map with much left. found: their
    FreeBandwidth. Beside the simulator: within 11 % on the nearline drive, mostly within 10 %
    on the Atlas; half of it on cheetah9, which streams though nothing says so."""
    held = min(float(size), device.track_bytes())
    took = _read_time(device, held) + device.read_overhead + device.read_report
    used = math.exp(-request_rate * wait)
    return IdleReads(found.idle_fraction * used * held / took, took, found.idle_fraction * used,
                     used)
