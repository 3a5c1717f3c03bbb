# SPDX-License-Identifier: GPL-2.0
"""What reads in idle time bring (Documentation/idle.rst), with the module's defaults. Not in the
paper.

The Waiting policy: when nobody has asked for anything for a while, one read follows the other until
somebody does. Poisson's idle periods have exponential lengths, so that of what is left behind a
threshold t and the way s of the first read exp(-rate (t + s)) is used. Who comes meets a read, and
those behind him in his busy period wait as long: of all requests on the mean exp(-rate t) times
what is left of a read. The threshold is such that this stays below a goal.

Reads of a drive that reads ahead follow each other at the medium's rate and are short. Else each
loses what passes until it is understood, and the way to where a granule begins.

With a write-back cache the medium is idle when the cache is empty, which the host can only reckon:
a margin makes one first read in three come before that.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

from .freeyield import FreeSettings, granule_bytes

GOAL = 1e-3             # s, what idle reads may cost a request on the mean (idle_mean_us)
KEPT = 0.8              # .. of which so much is made use of: charges vary
SIZE = 65536            # bytes of a read at least
LATE = 1 / 3            # of the first reads behind writes (core/destage.c)


class IdleReads(NamedTuple):
    """rate: bytes/s that they read; used: of the idle time; wait: s, the threshold; read_time: s of
    a read."""

    rate: float
    used: float
    wait: float
    read_time: float


def stream_rate(device):
    """Bytes/s of reading on over the data, where the head is anywhere in them."""
    share = device.zone_weights()
    turn, heads = device.revolution_time, device.heads
    zones = device.zones
    lost = (zones.track_skew * (heads - 1) + zones.cylinder_skew) / heads
    track = zones.bytes / (device.zone_cylinders * heads)
    return float(share @ (track / (turn * (1 + lost))))


def first_way(device):
    """s from an idle time's beginning to the first block of a map on which all is wanted: to
    another head or cylinder, and half a granule's passing."""
    granule = granule_bytes(device, FreeSettings())
    move = max(device.track_switch, device.cylinder_switch)
    return device.read_overhead + move + granule / 2 / stream_rate(device)


def _read(device):
    """(s of a read behind another, its bytes)"""
    granule = granule_bytes(device, FreeSettings())
    held = max(SIZE, granule)
    rate = stream_rate(device)
    if device.cache and device.cache.read_ahead != "none":
        return held / rate, held
    return held / rate + device.read_overhead + device.read_report + granule / 2 / rate, held


def undisturbed(device):
    """Bytes/s of reads one behind the other while nobody asks for anything."""
    took, held = _read(device)
    return held / took


def margin(spread):
    """s that idle reads wait for a cache to be empty too long, if how long it takes has such a
    standard deviation (s): normal, and LATE of them come before."""
    normal = NormalDist()
    at = normal.inv_cdf(1 - LATE)
    return spread * (normal.pdf(at) + at * (1 - LATE))


def idle_reads(device, idle, rate, spread=None):
    """IdleReads on a map on which all is wanted. idle: share of the time in which the medium has
    nothing to do; rate: 1/s at which such times end; spread: s, standard deviation of a
    destage, if there is a write-back cache."""
    took, held = _read(device)
    until = first_way(device) + (margin(spread) if spread else 0.0)
    # who comes before the first block has been read waits for that, else for what is left of one
    early = -math.expm1(-rate * until)
    rest = early * (until + took) / 2 + (1 - early) * took / 2
    hit = min(1.0, KEPT * GOAL / rest)
    used = hit * (1 - early)
    # busy periods are longer by as much
    idle = max(idle * (1 - rate * hit * rest), 0.0)
    return IdleReads(idle * used * held / took, used, -math.log(hit) / rate, took)
