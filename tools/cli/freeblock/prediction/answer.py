# SPDX-License-Identifier: GPL-2.0
"""A disk and a workload put to the model, and the answer for programs: an object for
JSON, of which Documentation/predict.rst has every key. report.py has it for people."""

import dataclasses
import math
import os
import traceback
from dataclasses import dataclass

import numpy as np

from .. import ToolError, UsageError
from ..formats import arrivals
from . import compose, freeband, freeidle, paper, question, units
from .device import SECTOR

ALGORITHMS = compose.ALGORITHMS
ORDER = "clook"
# What comes nearest to a policy of freeblock's; else SPTF
NEAREST = {"clook": "clook", "sstf": "sstf"}
DAY_S = 86400.0
# A trace that is shorter may not be typical
ENOUGH_S = 30
# Its buffers: of 1.5 of the longest tracks, within these bounds (design.rst), bytes
BUFFER_TRACKS, BUFFER_LEAST, BUFFER_MOST = 1.5, 262144, 1310720
NOTABLE = 0.05          # a share of requests in runs, or in streams, that is worth a remark
# A trace's own responses are in doubt if they are shorter than those of all orders by more than
# that, or longer
FAR = 1.25


@dataclass(frozen=True)
class Settings:
    """What the scheduler would be set to, and the order that costs are compared with."""

    order: str
    free: freeband.FreeSettings


def settings(order=None, policy=None, conservatism=None):
    """Settings of options' texts, None where they are not given; ToolError."""
    if order is not None and order not in ALGORITHMS:
        raise UsageError("--order: %s is none of %s" % (order, ", ".join(ALGORITHMS)))
    given = {} if policy is None else {"policy": policy}
    if conservatism not in (None, "auto"):
        try:
            given["conservatism"] = units.number(conservatism, "s")
        except ToolError as error:
            raise UsageError("--conservatism %s: %s" % (conservatism, error)) from error
    try:
        free = freeband.FreeSettings(**given).check()
    except ToolError as error:
        raise UsageError("--policy, --conservatism: %s" % error) from error
    return Settings(order or ORDER, free)


def with_buffers(free, device):
    """FreeSettings with the module's buffers for a device's tracks."""
    longest = float(np.max(device.zones.sectors_per_track)) * SECTOR
    size = min(max(BUFFER_TRACKS * longest, BUFFER_LEAST), BUFFER_MOST)
    return dataclasses.replace(free, max_bytes=size)


def _ms(time):
    return None if time is None else 1e3 * time


def _awake(workload):
    """Share of the time that is not pauses, of which predictions for all but bursts know
    nothing."""
    return 1.0 if workload.arrival_process == "bursty" else workload.request_rate / workload.rate


def doubtful(found, workload, device, trace):
    """Why the response of a compose.Prediction is not worth much, or None."""
    if trace and trace.interleaved >= NOTABLE and device.cache and \
            device.cache.read_ahead != "none":
        return "requests go on from several others in turns, and the drive reads ahead"
    if trace and trace.bursty:
        return "requests come in bursts"
    return compose.doubtful(workload, found)


def order(found, workload, unknown):
    """A compose.Prediction as JSON; unknown: why its response is, if it is."""
    awake = 1.0 if found.saturated else _awake(workload)

    def told(time):
        return None if unknown else _ms(time)
    return {"saturated": found.saturated, "saturated_at_per_s": found.saturation_rate,
            "unknown": unknown, "reckoned_ms": _ms(found.response_time),
            "utilisation_pct": 100 * found.utilisation * awake,
            "throughput_per_s": found.throughput * awake,
            "response_ms": told(found.response_time), "read_ms": told(found.read_response),
            "write_ms": told(found.write_response), "queue_ms": told(found.queue_delay),
            "service_ms": _ms(found.service_time),
            "queue_size": None if unknown else found.queue_size,
            "miss_pct": 100 * found.miss_prob, "partial_hit_pct": 100 * found.partial_hit_prob,
            "iterations": found.iterations}


# Free bandwidth

def stand_in(workload, service_time, bursty=False):
    """(a workload of Poisson or closed arrivals of requests that are each elsewhere, what of the
    workload that only approximates, its requests for each of the workload's). Bursts and even
    spacing: Poisson arrivals of the same rate. A run: one request of all its bytes, as nothing is
    gained between two requests that follow each other. service_time: s of a request; bursty: a
    trace's requests, that are taken for Poisson's."""
    sparse = workload.sparse_run_fraction
    followers = min(workload.locality_fraction, 1 - sparse) * \
        (1 - 1 / workload.requests_per_run) + \
        sparse * (1 - 1 / (workload.requests_per_sparse_run or 1))
    starts = 1 - followers if followers >= NOTABLE else 1.0
    kind = workload.arrival_process
    said = {"run_length": None, "sparse_run_fraction": 0, "request_rate":
            workload.request_rate * starts, "effective_request_rate": workload.rate * starts,
            "request_size": min(workload.request_size / starts, workload.data_span)}
    if kind == "closed":
        said["think_time"] = workload.think_time / starts
    elif kind == "constant-closed":
        pause = max(1 / workload.rate - service_time, 0.0)
        said.update(arrival_process="closed", outstanding=1, think_time=pause / starts)
    else:
        said["arrival_process"] = "poisson"
    roughly = ["runs"] * (starts < 1) + ["bursts"] * (kind == "bursty" or bursty) + \
        ["even spacing"] * (kind == "constant-open")
    return dataclasses.replace(workload, **said), roughly, starts


def _idle(found, device, load):
    """Bytes/s in idle time, outside of pauses."""
    ends = load.rate
    if load.arrival_process == "closed":
        # a process that thinks ends it
        ends = load.outstanding / load.think_time if load.think_time > 0 else math.inf
    if found.saturated or not math.isfinite(ends) or found.idle_fraction <= 0:
        return 0.0
    return freeidle.idle_rate(device, found.idle_fraction, ends)


def free_json(found, device, stands, nearest, unknown=None):
    """A freeband.FreeBandwidth of a stand_in() as JSON; unknown: why the nearest order's responses
    are, if they are. It is of the time outside of pauses; means over all the time are made of
    that here."""
    load, roughly, starts = stands
    awake = load.request_rate / load.rate
    gaps = found.fresh * awake
    # pauses are all idle
    idle = _idle(found, device, load) * awake + freeidle.idle_rate(device, 1 - awake, 0.0)
    alone, busy = found.response_alone, found.foreground_response
    used = found.utilisation
    if roughly and not found.saturated and not nearest.saturated:
        longer = starts * (busy - alone)
        alone, busy = nearest.response_time, nearest.response_time + longer
        if load.arrival_process == "poisson":
            used = min(load.rate / starts * nearest.service_time, 1.0)
    cost = None if alone is None else 100 * (busy / alone - 1)
    slowdown = 100 * found.slowdown
    not_told = ["seek_spread"] * (not device.spread_known) + ["response"] * bool(unknown)
    if not device.spread_known:
        busy = cost = slowdown = None
    if unknown:
        alone = busy = None
    first = gaps + idle
    return {"roughly": roughly, "unknown": not_told, "fresh_mb_s": first / 1e6,
            "gaps_mb_s": gaps / 1e6, "idle_mb_s": idle / 1e6,
            "days_least": device.capacity / first / DAY_S if first else None,
            "gaps_per_s": found.gaps_per_second * awake, "gap_ms": _ms(found.gap_mean),
            "latency_ms": _ms(found.latency_mean), "latency_pct": 100 * found.latency_share,
            "saturated": found.saturated, "alone_ms": _ms(alone), "response_ms": _ms(busy),
            "cost_pct": cost, "slowdown_pct": slowdown, "idle_pct": 100 * (1 - used * awake),
            "idle_ms": _ms(found.idle_mean)}


# The rest

def paper_json(found):
    """A paper.Foretold as JSON."""
    return {"seek_ms": _ms(found.seek_time), "rotation_ms": _ms(found.rotational_latency),
            "transfer_ms": _ms(found.transfer_time), "miss_pct": 100 * found.miss_prob,
            "partial_hit_pct": 100 * found.partial_hit_prob,
            "service_ms": _ms(found.service_time), "queue_ms": _ms(found.queue_delay),
            "response_ms": _ms(found.response_time),
            "lower_workload": found.lower_workload.to_dict()}


def _cache(device, disk):
    """A cache as JSON."""
    if device.cache is None:
        return None
    said = dataclasses.asdict(device.cache)
    if said["transfer_rate"] == float("inf"):
        said["transfer_rate"] = None    # JSON knows no infinity
    return dict(said, told_by=disk.cache_from)


def _likely(response_ms, orders):
    """Whether a response that was measured is near those of the orders (JSON); None if there
    is none, or of all orders none is known."""
    told = [said["response_ms"] for said in orders.values() if said["response_ms"] is not None]
    if response_ms is None or not told:
        return None
    return min(told) / FAR <= response_ms <= max(told) * FAR


def trace_json(found, orders):
    """What a trace says beyond its workload; orders: as JSON."""
    return {"requests": found.requests, "duration_s": found.duration, "pauses_s": found.pauses,
            "caveat": arrivals.caveat(found.requests, found.duration, ENOUGH_S),
            "mean_response_ms": _ms(found.mean_response),
            "likely": _likely(_ms(found.mean_response), orders),
            "interleaved": found.interleaved, "bursty": found.bursty,
            "hot_half": found.hot_half}


def _answer(disk, load, chosen):
    """All that is predicted of a disk and a workload, as JSON; ToolError, OSError."""
    device = question.device_of(disk)
    workload, trace = question.workload_of(load, device)
    question.check_span(workload, device, trace)
    question.check_cache(disk, load, device, workload)
    orders = {name: compose.predict(device, workload, name) for name in ALGORITHMS}
    like = NEAREST.get(chosen.free.policy, "sptf")
    nearest, mechanism = orders[like], orders["fcfs"].parts.mechanism
    stands = stand_in(workload, nearest.service_time, bool(trace and trace.bursty))
    free = freeband.free_bandwidth(device, stands[0], with_buffers(chosen.free, device))
    why = {name: doubtful(found, workload, device, trace) for name, found in orders.items()}
    told = {name: order(found, workload, why[name]) for name, found in orders.items()}
    return {
        "disk": disk.path, "name": device.name, "capacity_bytes": int(device.capacity),
        "revolution_ms": _ms(device.revolution_time), "cache": _cache(device, disk),
        "workload_from": load.name, "workload": workload.to_dict(),
        "trace": trace_json(trace, told) if trace else None,
        "random": {"seek_ms": _ms(mechanism.seek().mean()),
                   "rotation_ms": _ms(mechanism.rotation().mean()),
                   "transfer_ms": _ms(mechanism.transfer().mean())},
        "order": chosen.order, "orders": told,
        "paper": paper_json(paper.foretell(device, workload, mechanism)),
        "free": free_json(free, device, stands, nearest, why[like]),
        "simulate": question.simulation(disk, load, workload)}


def _reason(error):
    """An exception for people; where it is ours, also where."""
    if isinstance(error, ToolError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return "%s: %s" % (error.filename, error.strerror) if error.filename else error.strerror
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "internal error: %s: %s (%s:%d)" % (
        type(error).__name__, error, os.path.basename(frame.filename), frame.lineno)


def answer(item):
    """The answer of a (question.Disk, question.Load, Settings); if there is none, its "error" says
    why, and the others of many are not stopped by it."""
    disk, load, _ = item
    try:
        return _answer(*item)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return {"disk": disk.path, "workload_from": load.name, "error": _reason(error)}
