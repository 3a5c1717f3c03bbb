# SPDX-License-Identifier: GPL-2.0
"""A disk and a workload put to the model, and the answer: as JSON for programs, as a
page or a line for people. Documentation/predict.rst has every key."""

import dataclasses
import os
from dataclasses import dataclass

from .. import ToolError
from ..tuning.report import number, table
from . import compose, freeband, standin, units

ALGORITHMS = ("fcfs", "look", "clook", "sstf", "sptf")
DAY_S = 86400.0
SHOWN = 0.005           # a share of requests that does not print as 0 %
# As the module is set by default (Documentation/admin-guide.rst)
MODULE = {"policy": "auto", "conservatism": "auto", "lift": "all"}
ARRIVALS = {"poisson": "Poisson", "bursty": "in bursts", "constant-open": "evenly spaced",
            "constant-closed": "evenly spaced, one at a time", "closed": "closed"}


@dataclass(frozen=True)
class Settings:
    """What the scheduler would be set to, and the order that costs are told against."""

    order: str
    free: freeband.FreeSettings


def _ms(time):
    return None if time is None else 1e3 * time


def _awake(workload):
    """Share of the time that is not pauses, of which predictions for all but bursts know
    nothing."""
    return 1.0 if workload.arrival_process == "bursty" else workload.request_rate / workload.rate


def order(found, workload):
    """A compose.Prediction as JSON."""
    awake = 1.0 if found.saturated else _awake(workload)
    return {"saturated": found.saturated, "saturated_at_per_s": found.saturation_rate,
            "utilisation_pct": 100 * found.utilisation * awake,
            "throughput_per_s": found.throughput * awake,
            "response_ms": _ms(found.response_time), "queue_ms": _ms(found.queue_delay),
            "service_ms": _ms(found.service_time), "queue_size": found.queue_size,
            "miss_pct": 100 * found.miss_prob, "partial_hit_pct": 100 * found.partial_hit_prob,
            "iterations": found.iterations}


def _random(found):
    """What a request takes that no cache answers and that comes alone; the same in all orders."""
    return {"seek_ms": _ms(found.seek_time), "rotation_ms": _ms(found.rotational_latency),
            "transfer_ms": _ms(found.transfer_time)}


def _responses(found, like, sptf):
    """(without a task, with one), s. Where freeband knows a stand-in only, SPTF's, and what a miss
    takes longer with a task in the share of misses."""
    if not like.roughly or found.saturated or sptf.saturated:
        return found.response_alone, found.foreground_response
    longer = like.misses * (found.foreground_response - found.response_alone)
    return sptf.response_time, sptf.response_time + longer


def _busy_share(found, like, sptf):
    """Of all the time, the share in which the drive is busy for the host."""
    load = like.workload
    if like.roughly and load.arrival_process == "poisson":
        return min(load.request_rate / like.misses * sptf.service_time, 1.0)
    return found.utilisation * load.request_rate / load.rate


def free_json(found, device, like, sptf):
    """A freeband.FreeBandwidth of a StandIn as JSON. It tells of the time outside of pauses;
    means over all the time are made of that here."""
    awake = like.workload.request_rate / like.workload.rate
    rate, whole = awake / 1e6, found.scan_seconds and found.scan_seconds / awake
    course = [] if found.coverage is None else \
        [[float(share), float(each) * rate] for share, each in zip(found.coverage,
                                                                   found.by_coverage)]
    alone, busy = _responses(found, like, sptf)
    return {"roughly": list(like.roughly), "fresh_mb_s": found.fresh * rate,
            "scan_mb_s": device.capacity / whole / 1e6 if whole else None,
            "days_per_scan": whole / DAY_S if whole else None, "mb_s_by_coverage": course,
            "gaps_per_s": found.gaps_per_second * awake, "gap_ms": _ms(found.gap_mean),
            "latency_ms": _ms(found.latency_mean), "latency_pct": 100 * found.latency_share,
            "saturated": found.saturated, "alone_ms": _ms(alone), "response_ms": _ms(busy),
            "cost_pct": None if alone is None else 100 * (busy / alone - 1),
            "slowdown_pct": 100 * found.slowdown,
            "idle_pct": 100 * (1 - _busy_share(found, like, sptf)),
            "idle_ms": _ms(found.idle_mean)}


def _cache(device, disk):
    """A cache as JSON."""
    if device.cache is None:
        return None
    said = dataclasses.asdict(device.cache)
    if said["transfer_rate"] == float("inf"):
        said["transfer_rate"] = None    # JSON knows no infinity
    return dict(said, told_by=disk.cache_from)


def _trace(found):
    """What a trace says beyond its workload."""
    return {"requests": found.requests, "duration_s": found.duration, "pauses_s": found.pauses,
            "mean_response_ms": _ms(found.mean_response),
            "stream_fraction": found.stream_fraction, "hot_half": found.hot_half}


def answer(disk, device, load, workload, trace, settings):
    """All that is foretold of a disk and a workload, as JSON."""
    orders = {name: compose.predict(device, workload, name) for name in ALGORITHMS}
    # what comes nearest to freeblock's own order
    sptf = orders["sptf"]
    like = standin.stand_in(workload, sptf)
    free = freeband.free_bandwidth(device, like.workload, settings.free)
    return {
        "disk": disk.path, "name": device.name, "capacity_bytes": int(device.capacity),
        "revolution_ms": _ms(device.revolution_time), "cache": _cache(device, disk),
        "workload_from": load.name, "workload": workload.to_dict(),
        "trace": _trace(trace) if trace else None, "random": _random(orders["fcfs"]),
        "order": settings.order,
        "orders": {name: order(found, workload) for name, found in orders.items()},
        "free": free_json(free, device, like, sptf)}


def _size(bytes_):
    """With three digits and a unit of 1000s."""
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return "%.3g %s" % (bytes_, unit)
        bytes_ /= 1000
    return "%.3g TB" % bytes_


def _disk_lines(said):
    cache = said["cache"]
    lines = ["disk       %s: %s, %.0f turns/min (%s)" % (
        said["name"], _size(said["capacity_bytes"]), 6e4 / said["revolution_ms"], said["disk"])]
    if not cache:
        return lines + ["cache      none"]
    ahead = {"none": "does not read ahead", "segment": "reads ahead a segment",
             "track": "reads ahead to the track's end",
             "cylinder": "reads ahead to the cylinder's end",
             "stream": "reads ahead to the next track's end"}[cache["read_ahead"]]
    return lines + ["cache      %d segments of %d KiB, %s%s" % (
        cache["segments"], cache["segment_bytes"] / 1024, ahead,
        " (assumed: --cache, --read-ahead)"
        if cache["told_by"] == "assumed" else "")]


def _workload_lines(said):
    work, trace = said["workload"], said["trace"]
    rate = "%.4g requests/s, " % work["request_rate"]
    if work["arrival_process"] == "closed":
        rate = "%d outstanding, think time %.3g ms, " % (
            work["outstanding"], 1e3 * work.get("think_time", 0))
    lines = ["workload   %s: %s%s, %.0f %% reads, %s on the mean, over %s" % (
        said["workload_from"], rate, ARRIVALS[work["arrival_process"]],
        100 * work["read_fraction"], _size(work["request_size"]), _size(work["data_span"]))]
    if work.get("run_length") and work.get("locality_fraction", 1) >= SHOWN:
        lines.append("           %.0f %% in runs of %.1f requests" % (
            100 * work.get("locality_fraction", 1), work["run_length"] / work["request_size"]))
    if work.get("sparse_run_fraction", 0) >= SHOWN:
        lines.append("           %.0f %% in runs with holes, of %.1f requests" % (
            100 * work["sparse_run_fraction"], work["requests_per_sparse_run"]))
    if work.get("bursty_fraction"):
        lines.append("           %.0f %% in bursts of %.1f requests" % (
            100 * work["bursty_fraction"], work["requests_per_burst"]))
    if trace:
        lines.append("           %d requests in %.1f s, pauses of %.1f s in all" % (
            trace["requests"], trace["duration_s"], trace["pauses_s"]))
        if trace["mean_response_ms"] is not None:
            lines.append("           mean response in the trace: %.2f ms" %
                         trace["mean_response_ms"])
    return lines


def _order_row(name, said):
    busy = "full" if said["saturated"] else "%.1f" % said["utilisation_pct"]
    return (name, busy, number(said["response_ms"], "%.2f"), number(said["queue_ms"], "%.2f"),
            "%.2f" % said["service_ms"], "%.0f" % (100 - said["miss_pct"]),
            number(said["saturated_at_per_s"], "%.0f"))


def _saturated_lines(said):
    work = said["workload"]
    full = ["%s at %.4g" % (name, found["saturated_at_per_s"])
            for name, found in said["orders"].items() if found["saturated"]]
    if not full:
        return []
    return ["saturated at (requests/s): %s; asked for are %.4g" % (
        ", ".join(full), work.get("effective_request_rate", work["request_rate"]))]


def _free_lines(said):
    free, now = said["free"], said["orders"][said["order"]]["response_ms"]
    lines = []
    if free["saturated"]:
        lines.append("freeblock  saturated, too; if it served what it can:")
    else:
        lines.append("freeblock  response %.2f ms without a task, %.2f ms with a scan (%+.1f %%); "
                     "%s %s ms" % (free["alone_ms"], free["response_ms"], free["cost_pct"],
                                   said["order"], number(now, "%.2f")))
    lines.append("free       %.2f MB/s at first, %s MB/s over a whole scan: %s days" % (
        free["fresh_mb_s"], number(free["scan_mb_s"], "%.2f"), number(
            free["days_per_scan"], "%.2f")) if free["fresh_mb_s"] else
                 "free       nothing: no request ever waits behind another, or none is chosen")
    lines.append("idle       %.1f %% of the time%s, not counted above" % (
        free["idle_pct"], "" if free["idle_ms"] is None else ", %.1f ms at a stretch" %
        free["idle_ms"]))
    if free["roughly"]:
        lines.append("           (what freeblock gives is told roughly only: %s)" %
                     " and ".join(free["roughly"]))
    return lines


def page(said):
    """An answer for people: lines."""
    heads = ("order", "busy %", "response ms", "waiting ms", "service ms", "hits %", "full at /s")
    orders = table(heads, [_order_row(name, found) for name, found in said["orders"].items()])
    random = "a request alone: seek %(seek_ms).2f, rotation %(rotation_ms).2f, transfer " \
        "%(transfer_ms).2f ms" % said["random"]
    return _disk_lines(said) + _workload_lines(said) + [""] + orders + \
        _saturated_lines(said) + [random, ""] + _free_lines(said)


def _short(path, width):
    """A file's name, its end if it is long."""
    name = os.path.basename(path)
    return name if len(name) <= width else ".." + name[2 - width:]


def _busy(said):
    order = said["orders"][said["order"]]
    return "full" if order["saturated"] else "%.1f" % order["utilisation_pct"]


def _free(key, form):
    """Of what freeblock would get; ~ if that is told roughly."""
    def cell(said):
        value = said["free"][key]
        return number(value, ("~" if said["free"]["roughly"] else "") + form)
    return cell


# head, width, what of an answer; a line has to be as wide as all others without knowing them
_COLUMNS = (
    ("disk", 24, lambda said: _short(said["disk"], 24)),
    ("workload", 24, lambda said: _short(said["workload_from"], 24)),
    ("busy%", 6, _busy),
    ("ms", 8, lambda said: number(said["orders"][said["order"]]["response_ms"], "%.2f")),
    ("scan: ms", 8, _free("response_ms", "%.2f")),
    ("MB/s", 7, _free("scan_mb_s", "%.2f")),
    ("days", 7, _free("days_per_scan", "%.2f")),
    ("idle%", 6, _free("idle_pct", "%.1f")),
)


def _cells(values):
    """A line: two names to the left, numbers to the right."""
    return "  ".join(value.ljust(width) if n < 2 else value.rjust(width)
                     for n, ((_, width, _), value) in enumerate(zip(_COLUMNS, values)))


def head():
    """Above row()s."""
    return _cells([name for name, _, _ in _COLUMNS])


def row(said):
    """An answer as one line."""
    return _cells([get(said) for _, _, get in _COLUMNS])


def settings(order, policy_name, conservatism):
    """Settings of options' texts, None where they are not given; ToolError."""
    if order is not None and order not in ALGORITHMS:
        raise ToolError("--order %s: one of %s" % (order, ", ".join(ALGORITHMS)))
    said = dict(MODULE)
    if policy_name is not None:
        said["policy"] = policy_name
    if conservatism not in (None, "auto"):
        try:
            said["conservatism"] = units.number(conservatism, "s")
        except ToolError as error:
            raise ToolError("--conservatism %s: %s" % (conservatism, error)) from error
    try:
        free = freeband.FreeSettings(**said).check()
    except ToolError as error:
        raise ToolError("--policy, --conservatism: %s" % error) from error
    return Settings(order or ALGORITHMS[2], free)
