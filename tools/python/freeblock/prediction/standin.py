# SPDX-License-Identifier: GPL-2.0
"""A workload in the terms of freeband, which knows Poisson and closed arrivals of requests
that are each elsewhere. What is not of that kind is stood in for, and said to be.

Bursts and even spacing: Poisson arrivals of the same rate. A run: one request of all its
bytes, as nothing is gained between two requests that follow each other.
"""

import dataclasses
from typing import NamedTuple

from .workload import Workload

NOTABLE = 0.05          # a share of requests that is worth a remark


class StandIn(NamedTuple):
    """What freeband is asked. roughly: what of the workload is only approximated; starts:
    requests of the stand-in for each of the workload's."""

    workload: Workload
    roughly: tuple
    starts: float


def stand_in(workload, service_time):
    """The StandIn of a workload whose requests take service_time (s)."""
    followers = _followers(workload)
    runs = followers >= NOTABLE
    starts = 1 - followers if runs else 1.0
    said = dict(_arrivals(workload, service_time, starts), run_length=None,
                sparse_run_fraction=0)
    if runs:
        said.update(request_rate=workload.request_rate * starts,
                    effective_request_rate=workload.rate * starts,
                    request_size=min(workload.request_size / starts, workload.data_span))
    roughly = ["runs"] * runs
    if workload.arrival_process == "bursty":
        roughly.append("bursts")
    elif workload.arrival_process == "constant-open":
        roughly.append("even spacing")
    return StandIn(dataclasses.replace(workload, **said), tuple(roughly), starts)


def _followers(workload):
    """Share of the requests that are behind the first of a run or a sparse run."""
    sparse = workload.sparse_run_fraction
    runs = min(workload.locality_fraction, 1 - sparse)
    return runs * (1 - 1 / workload.requests_per_run) + \
        sparse * (1 - 1 / (workload.requests_per_sparse_run or 1))


def _arrivals(workload, service_time, starts):
    """Attributes."""
    if workload.arrival_process == "closed":
        return {"think_time": workload.think_time / starts}
    if workload.arrival_process == "constant-closed":
        pause = max(1 / workload.rate - service_time, 0.0)
        return {"arrival_process": "closed", "outstanding": 1, "think_time": pause / starts}
    return {"arrival_process": "poisson"}
