# SPDX-License-Identifier: GPL-2.0
"""A workload in the terms of freeband, which knows Poisson and closed arrivals of requests
that are each elsewhere. What is not of that kind is stood in for, and said to be.

Bursts and even spacing: Poisson arrivals of the same rate. Runs that the cache answers: what
is left for the mechanism, as many requests as miss, each of all the bytes that it brings.
"""

import dataclasses
from typing import NamedTuple

from .workload import Workload

NOTABLE = 0.05          # a share of requests that is worth a remark


class StandIn(NamedTuple):
    """What freeband is asked. roughly: what of the workload is only approximated; misses:
    requests of the stand-in for each of the workload's."""

    workload: Workload
    roughly: tuple
    misses: float


def stand_in(workload, found):
    """The StandIn of a workload; found: its compose.Prediction."""
    runs = workload.requests_per_run > 1 and workload.locality_fraction >= NOTABLE or \
        workload.sparse_run_fraction >= NOTABLE
    misses = found.miss_prob if runs and found.miss_prob < 1 - NOTABLE else 1.0
    said = dict(_arrivals(workload, found.service_time, misses), run_length=None,
                sparse_run_fraction=0)
    if misses < 1:
        said.update(request_rate=workload.request_rate * misses,
                    effective_request_rate=workload.rate * misses,
                    request_size=min(workload.request_size / misses, workload.data_span))
    roughly = ["runs"] * runs
    if workload.arrival_process == "bursty":
        roughly.append("bursts")
    elif workload.arrival_process == "constant-open":
        roughly.append("even spacing")
    return StandIn(dataclasses.replace(workload, **said), tuple(roughly), misses)


def _arrivals(workload, service_time, misses):
    """Attributes."""
    if workload.arrival_process == "closed":
        return {"think_time": workload.think_time / misses}
    if workload.arrival_process == "constant-closed":
        pause = max(1 / workload.rate - service_time, 0.0)
        return {"arrival_process": "closed", "outstanding": 1, "think_time": pause / misses}
    return {"arrival_process": "poisson"}
