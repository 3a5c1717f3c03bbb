# SPDX-License-Identifier: GPL-2.0
"""A disk and a workload put to the model, and the answer for programs: an object for
JSON, of which Documentation/predict.rst has every key. report.py has it for people."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from .. import ToolError, UsageError, arrivals
from . import bands, compose, freeband, freecourse, freeidle, paper, standin, units
from .device import SECTOR

ALGORITHMS = ("fcfs", "look", "clook", "sstf", "sptf")
ORDER = "clook"
# What comes nearest to a policy of freeblock's; else SPTF
NEAREST = {"clook": "clook", "sstf": "sstf"}
DAY_S = 86400.0
# A trace that is shorter may not be typical
ENOUGH_S = 30
# As the module is set by default (Documentation/admin-guide.rst)
MODULE = {"policy": "auto", "conservatism": "auto", "lift": "all", "value": "root"}
# Its buffers: of 1.5 of the longest tracks, within these bounds (design.rst), bytes
BUFFER_TRACKS, BUFFER_LEAST, BUFFER_MOST = 1.5, 262144, 1310720
# A scan in gaps alone that takes longer than that, s, has no end: a hundred years
ENDLESS_S = 100 * 365.25 * DAY_S
# While fewer reads than that have come since the last write, a drive with a write-back cache orders
# alone, and nothing is read in gaps (core/destage.c)
READS_ALONE = 32


@dataclass(frozen=True)
class Settings:
    """What the scheduler would be set to, the order that costs are told against, and whether
    the course of a whole scan is wanted, which takes longest to say."""

    order: str
    free: freeband.FreeSettings
    scan: bool


def settings(order, policy_name, conservatism, scan=True):
    """Settings of options' texts, None where they are not given; ToolError."""
    if order is not None and order not in ALGORITHMS:
        raise UsageError("--order: %s is none of %s" % (order, ", ".join(ALGORITHMS)))
    said = dict(MODULE)
    if policy_name is not None:
        said["policy"] = policy_name
    if conservatism not in (None, "auto"):
        try:
            said["conservatism"] = units.number(conservatism, "s")
        except ToolError as error:
            raise UsageError("--conservatism %s: %s" % (conservatism, error)) from error
    try:
        free = freeband.FreeSettings(**said).check()
    except ToolError as error:
        raise UsageError("--policy, --conservatism: %s" % error) from error
    return Settings(order or ORDER, free, scan)


def with_buffers(free, device):
    """FreeSettings with the module's buffers for a device's tracks."""
    longest = float(np.max(device.zones.sectors_per_track)) * SECTOR
    size = min(max(BUFFER_TRACKS * longest, BUFFER_LEAST), BUFFER_MOST)
    return dataclasses.replace(free, max_bytes=size, max_prepend_bytes=size)


def _ms(time):
    return None if time is None else 1e3 * time


def _awake(workload):
    """Share of the time that is not pauses, of which predictions for all but bursts know
    nothing."""
    return 1.0 if workload.arrival_process == "bursty" else workload.request_rate / workload.rate


def _banded(name, time, workload, found, of):
    """A time and its band, as JSON; the band alone if that says more."""
    low, high = bands.response(workload, found, of) or (None, None)
    told = None if bands.doubtful(workload, found, of) else time
    return {name + "_ms": _ms(told), name + "_low_ms": _ms(low), name + "_high_ms": _ms(high)}


def order(found, workload):
    """A compose.Prediction as JSON."""
    awake = 1.0 if found.saturated else _awake(workload)
    unknown = bands.doubtful(workload, found)
    return {"saturated": found.saturated, "saturated_at_per_s": found.saturation_rate,
            "unknown": unknown, "reckoned_ms": _ms(found.response_time),
            "utilisation_pct": 100 * found.utilisation * awake,
            "throughput_per_s": found.throughput * awake,
            **_banded("response", found.response_time, workload, found, bands.ALL),
            **_banded("read", found.read_response, workload, found, bands.READS),
            **_banded("write", found.write_response, workload, found, bands.WRITES),
            "p99_ms": None if unknown else _ms(found.response_quantile(0.99)),
            "queue_ms": None if unknown else _ms(found.queue_delay),
            "service_ms": _ms(found.service_time),
            "queue_size": None if unknown else found.queue_size,
            "miss_pct": 100 * found.miss_prob, "partial_hit_pct": 100 * found.partial_hit_prob,
            "iterations": found.iterations}


def _random(found):
    """What a request takes that no cache answers and that comes alone; the same in all orders."""
    return {"seek_ms": _ms(found.seek_time), "rotation_ms": _ms(found.rotational_latency),
            "transfer_ms": _ms(found.transfer_time)}


def _responses(found, like, nearest):
    """(without a task, with one), s. Where freeband knows a stand-in only, the nearest
    order's, and what a run's first request takes longer with a task in the share of these."""
    if not like.roughly or found.saturated or nearest.saturated:
        return found.response_alone, found.foreground_response
    longer = like.starts * (found.foreground_response - found.response_alone)
    return nearest.response_time, nearest.response_time + longer


def _busy_share(found, like, nearest):
    """Of all the time, the share in which the drive is busy for the host."""
    load = like.workload
    if like.roughly and load.arrival_process == "poisson":
        return min(load.request_rate / like.starts * nearest.service_time, 1.0)
    return found.utilisation * load.request_rate / load.rate


def _caches_writes(device, workload):
    """Whether writes are answered before they are on the medium, of which the model knows
    nothing: they take less, and free reads are fewer, as nobody knows where the head is."""
    return device.cache is not None and device.cache.write_policy == "back" and \
        workload.read_fraction < 1


def _cost(found, unknown, alone, busy):
    """What a scan costs: (response with one, s; %; % of requests/s), all None where it is not
    known how much seeks vary, as that is what it comes from."""
    if "seek_spread" in unknown:
        return None, None, None
    return busy, None if alone is None else 100 * (busy / alone - 1), 100 * found.slowdown


def through(device):
    """The same device with its write cache off."""
    return dataclasses.replace(device, cache=dataclasses.replace(
        device.cache, write_policy="through"))


def _cached_idle(device, workload):
    """(share of the time in which the medium has nothing to do, standard deviation of a destage, s)
    of a drive that orders reads and destages alone."""
    found = compose.predict(through(device), workload, "sptf")
    mechanism, share = found.parts.mechanism, workload.read_fraction
    beside = share * (mechanism.overhead(True) + mechanism.report(True)) + \
        (1 - share) * (mechanism.overhead(False) + mechanism.report(False))
    busy = 1.0 if found.saturated else found.utilisation - found.throughput * beside
    return max(1 - busy, 0.0), math.sqrt(mechanism.random(1, False).variance())


def _idle(found, device, like):
    """(freeidle.Idle, None without idle reads; share of what gaps bring that is left) of the time
    outside of pauses."""
    load = like.workload
    caches, gaps, spread = _caches_writes(device, load), 1.0, None
    idle = found.idle_fraction
    if caches:
        gaps = load.read_fraction ** READS_ALONE
        gaps = gaps if gaps > 1 / READS_ALONE else 0.0
        idle, spread = _cached_idle(device, load)
    rate = load.rate
    if load.arrival_process == "closed":
        # who thinks ends it
        rate = load.outstanding / load.think_time if load.think_time > 0 else math.inf
    if found.saturated or not math.isfinite(rate) or idle <= 0:
        return None, gaps
    return freeidle.Idle(idle, rate, spread), gaps


def _scanned(found, gaps, awake):
    """(s that a whole scan in gaps alone takes, [share read, MB/s] pairs); None and none of a drive
    whose gaps are left alone, or bring too little for the scan to have an end."""
    if not found.scan_seconds or gaps < 1 or found.scan_seconds > ENDLESS_S * awake:
        return None, []
    course = [] if found.coverage is None else \
        [[float(share), float(each) * awake / 1e6]
         for share, each in zip(found.coverage, found.by_coverage)]
    return found.scan_seconds / awake, course


def _whole(found, device, idle, gaps, awake):
    """(least, told, most) days of a whole scan in gaps and in idle time; Nones without an end."""
    def brings(done):
        if gaps < 1 or found.by_coverage is None:
            return gaps * found.fresh * (1 - done)
        return np.interp(done, found.coverage, found.by_coverage)
    course = freecourse.course(device, brings, idle, awake)
    if course is None:
        return None, None, None
    return tuple(factor * course.seconds / DAY_S for factor in (bands.DAYS[0], 1.0, bands.DAYS[1]))


def days_of(least, whole):
    """(days at least, (least, told, most) days of a whole scan), which do not contradict each
    other. The former are a scan's that goes on as fast as it may begin, which no band goes below.
    But a whole scan that is told to take less yet, as idle reads may use more of their goal in the
    long run, is not cut short: its own band says then what it takes at least."""
    low, told, most = whole
    if least is None or told is None:
        return least, whole
    if least > told:
        return low, whole
    return least, (max(low, least), told, most)


def free_json(found, device, like, nearest, doubtful=None, scan=False):
    """A freeband.FreeBandwidth of a StandIn as JSON; doubtful: why the nearest order's responses
    are unknown, if they are; scan: with the days of a whole one. It tells of the time outside of
    pauses; means over all the time are made of that here."""
    awake = like.workload.request_rate / like.workload.rate
    times, share = _idle(found, device, like)
    gaps = found.fresh * share * awake
    idle = float(freeidle.idle_reads(device, times).rate[0]) if times else 0.0
    # pauses are all idle
    idle = idle * awake + freeidle.undisturbed(device) * (1 - awake)
    first = gaps + idle
    low, high = bands.FREE[bands.free_kind(device, like.workload)]
    whole, course = _scanned(found, share, awake)
    least, days = days_of(device.capacity / (high * first) / DAY_S if first else None,
                        _whole(found, device, times, share, awake) if scan else (None,) * 3)
    alone, busy = _responses(found, like, nearest)
    unknown = ["seek_spread"] * (not device.spread_known) + \
        ["response"] * bool(like.roughly and doubtful)
    busy, cost, slowdown = _cost(found, unknown, alone, busy)
    if "response" in unknown:
        alone = busy = None
    roughly = list(like.roughly) + ["write cache"] * _caches_writes(device, like.workload)
    return {"roughly": roughly, "unknown": unknown,
            "fresh_mb_s": first / 1e6, "fresh_low_mb_s": low * first / 1e6,
            "fresh_high_mb_s": high * first / 1e6, "gaps_mb_s": gaps / 1e6,
            "idle_mb_s": idle / 1e6,
            "days_least": least,
            "days_whole_low": days[0], "days_whole": days[1], "days_whole_high": days[2],
            "scan_mb_s": device.capacity / whole / 1e6 if whole else None,
            "days_per_scan": whole / DAY_S if whole else None, "mb_s_by_coverage": course,
            "gaps_per_s": found.gaps_per_second * awake, "gap_ms": _ms(found.gap_mean),
            "latency_ms": _ms(found.latency_mean), "latency_pct": 100 * found.latency_share,
            "saturated": found.saturated, "alone_ms": _ms(alone), "response_ms": _ms(busy),
            "cost_pct": cost, "slowdown_pct": slowdown,
            "idle_pct": 100 * (1 - _busy_share(found, like, nearest)),
            "idle_ms": _ms(found.idle_mean)}


def paper_json(found):
    """A paper.Foretold as JSON."""
    curve = found.curve
    return {"seek_curve": curve and {"a_ms": _ms(curve.a), "b_ms": _ms(curve.b),
                                     "c_ms": _ms(curve.c), "d_ms": _ms(curve.d),
                                     "e_cylinders": float(curve.e),
                                     "residual_ms": _ms(found.residual)},
            "seek_ms": _ms(found.seek_time), "rotation_ms": _ms(found.rotational_latency),
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


def _in_band(response_ms, orders):
    """Whether a response that was measured lies in the band of any order (JSON); None if there
    is none, or no band."""
    bands_ms = [(said["response_low_ms"], said["response_high_ms"]) for said in orders.values()
                if said["response_low_ms"] is not None]
    if response_ms is None or not bands_ms:
        return None
    return any(low <= response_ms <= high for low, high in bands_ms)


def trace_json(found, orders):
    """What a trace says beyond its workload; orders: as JSON."""
    return {"requests": found.requests, "duration_s": found.duration, "pauses_s": found.pauses,
            "caveat": arrivals.caveat(found.requests, found.duration, ENOUGH_S),
            "mean_response_ms": _ms(found.mean_response),
            "in_band": _in_band(_ms(found.mean_response), orders),
            "stream_fraction": found.stream_fraction, "hot_half": found.hot_half}


def answer(disk, device, load, workload, trace, settings):
    """All that is foretold of a disk and a workload, as JSON."""
    orders = {name: compose.predict(device, workload, name) for name in ALGORITHMS}
    nearest = orders[NEAREST.get(settings.free.policy, "sptf")]
    like = standin.stand_in(workload, nearest.service_time)
    free = freeband.free_bandwidth(device, like.workload, with_buffers(settings.free, device),
                                   settings.scan)
    told = {name: order(found, workload) for name, found in orders.items()}
    return {
        "disk": disk.path, "name": device.name, "capacity_bytes": int(device.capacity),
        "revolution_ms": _ms(device.revolution_time), "cache": _cache(device, disk),
        "workload_from": load.name, "workload": workload.to_dict(),
        "trace": trace_json(trace, told) if trace else None, "random": _random(orders["fcfs"]),
        "order": settings.order, "orders": told,
        "paper": paper_json(paper.foretell(device, workload, orders["fcfs"].parts.mechanism)),
        "free": free_json(free, device, like, nearest, bands.doubtful(workload, nearest),
                          settings.scan)}
