# SPDX-License-Identifier: GPL-2.0
"""The paper's own equations of a disk and a workload, one after the other as they are printed,
for comparison: predictions are made by compose.py. First come, first served; Documentation/
predict.rst says what they leave out.
"""

import math
from typing import NamedTuple

from . import queue
from .cache import Cache
from .workload import Workload


class Foretold(NamedTuple):
    """Means, s; fractions of the requests. None: the paper does not say, or there is none."""

    seek_time: float            # E[ST_ran] (eq. 2 and 4) of one pending request
    rotational_latency: float   # E[RL] (eq. 5)
    transfer_time: float        # TT[request_size] (4.1): of the mean rate
    miss_prob: float            # eq. 8
    partial_hit_prob: float     # eq. 9
    service_time: float         # E[Cache_Service_Time] (eq. 6)
    queue_delay: float          # E[Queue_Delay] (eq. 11, 12)
    response_time: float        # eq. 10
    lower_workload: Workload    # what the mechanism is asked for (4.4)


def queue_delay(workload, service):
    """E[Queue_Delay], s: of Poisson arrivals (eq. 11) with the StDev = E that the paper takes in
    the absence of other information; of bursts (eq. 12) and what follows it; 0 of constant
    arrivals that the disk follows. service: s. Infinite at a utilisation of 1; None of several
    closed processes, which the paper has not."""
    kind = workload.arrival_process
    if kind == "bursty":
        gap = 1 / workload.burst_rate if workload.burst_rate else 0.0
        return workload.bursty_fraction * queue.burst_wait(
            workload.requests_per_burst, 0.0, service, gap)
    if kind == "closed":
        return None
    if kind == "constant-closed":
        return 0.0
    if kind == "constant-open":
        return 0.0 if workload.rate * service < 1 else math.inf
    return queue.mm1_delay(workload.rate, service)


def foretell(device, workload, mechanism):
    """Foretold of a device and a workload, `mechanism` being theirs."""
    cache = Cache(device, mechanism, workload)
    found = cache.by_equations()
    delay = queue_delay(workload, found.service_time)
    delay = None if delay is None or math.isinf(delay) else delay
    track = device.track_bytes(workload)
    return Foretold(
        mechanism.seek(1).mean(), device.revolution_time / 2,
        workload.request_size / track * device.revolution_time, found.miss_prob,
        found.partial_hit_prob, found.service_time, delay,
        None if delay is None else delay + found.service_time, cache.lower_workload)
