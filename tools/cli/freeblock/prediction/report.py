# SPDX-License-Identifier: GPL-2.0
"""An answer (answer.py) for people: a page for one, a line for each of several."""

import os

from ..base import table
from ..base.table import number
from ..sim import asdrive

SHOWN = 0.005           # a share of requests that does not print as 0 %
ARRIVALS = {"poisson": "Poisson", "bursty": "in bursts", "constant-open": "evenly spaced",
            "constant-closed": "evenly spaced, one at a time", "closed": "closed"}


def _size(bytes_):
    """With three digits and a unit of 1000s."""
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return "%.3g %s" % (bytes_, unit)
        bytes_ /= 1000
    return "%.3g TB" % bytes_


def _kib(bytes_):
    """As drives' buffers are told: KiB, or MiB if it is a whole number of them."""
    if bytes_ % 1048576 == 0:
        return "%d MiB" % (bytes_ / 1048576)
    return "%.4g KiB" % (bytes_ / 1024)


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
    if cache["read_ahead_bytes"]:
        ahead = "reads ahead %s at most" % _kib(cache["read_ahead_bytes"])
    lines.append("cache      %d segments of %s, %s%s" % (
        cache["segments"], _kib(cache["segment_bytes"]), ahead,
        " (assumed: --cache, --read-ahead)"
        if cache["told_by"] == "assumed" else ""))
    return lines


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
            100 * work["bursty_fraction"], work.get("requests_per_burst", 1)))
    if trace:
        lines.append("           %d requests in %.1f s, pauses of %.1f s in all" % (
            trace["requests"], trace["duration_s"], trace["pauses_s"]))
        if trace["caveat"]:
            lines.append("           caution: %s" % trace["caveat"])
        if trace["mean_response_ms"] is not None:
            lines.append("           mean response in the trace: %.2f ms" %
                         trace["mean_response_ms"])
        if trace["likely"] is False:
            lines.append("           That is far from the response in all orders: caches, another "
                         "drive than the model's,")
            lines.append("           or requests that wait for each other; trust the rest less")
    return lines


def _response(said, of="response"):
    """A time of an order, or that it is unknown."""
    return "unknown" if said["unknown"] else number(said[of + "_ms"], "%.2f")


def _full(said):
    """That an order cannot follow, with a question mark if the model may well be wrong there."""
    return "full?" if said["unknown"] else "full"


def _order_row(name, said):
    busy = _full(said) if said["saturated"] else "%.1f" % said["utilisation_pct"]
    return (name, busy, _response(said), number(said["queue_ms"], "%.2f"),
            "%.2f" % said["service_ms"], "%.0f" % (100 - said["miss_pct"]),
            number(said["saturated_at_per_s"], "%.0f"))


def _apart_lines(said):
    """Reads and writes apart, if there are both."""
    if not 0 < said["workload"]["read_fraction"] < 1:
        return []
    rows = [(name, _response(found, "read"), _response(found, "write"))
            for name, found in said["orders"].items() if found["read_ms"] is not None]
    return [""] + table.lines(("order", "reads ms", "writes ms"), rows) if rows else []


def _unknown_lines(said):
    """Why responses are not told, once each."""
    why = {}
    for name, found in said["orders"].items():
        if found["unknown"]:
            why.setdefault(found["unknown"], []).append(name)
    return ["unknown    %s: %s" % (", ".join(names), text) for text, names in why.items()]


def _saturated_lines(said):
    work = said["workload"]
    full = ["%s at %.4g" % (name, found["saturated_at_per_s"])
            for name, found in said["orders"].items() if found["saturated"]]
    if not full:
        return []
    return ["saturated at (requests/s): %s; asked for are %.4g" % (
        ", ".join(full), work.get("effective_request_rate", work["request_rate"]))]


def _free_response(said):
    """What requests take under freeblock."""
    free, order = said["free"], said["orders"][said["order"]]
    now = _full(order) if order["saturated"] else _response(order)
    now += " ms" * (order["response_ms"] is not None)
    if free["saturated"]:
        return "freeblock  saturated, too; if it served what it can:"
    if "response" in free["unknown"]:
        cost = "" if free["cost_pct"] is None else ", a scan %+.1f %%" % free["cost_pct"]
        return "freeblock  response unknown%s; %s %s" % (cost, said["order"], now)
    with_scan = "unknown with a scan (the model has no seek_spread)" if free["unknown"] else \
        "%.2f ms with a scan (%+.1f %%)" % (free["response_ms"], free["cost_pct"])
    return "freeblock  response %.2f ms without a task, %s; %s %s" % (
        free["alone_ms"], with_scan, said["order"], now)


def _free_lines(said):
    free, lines = said["free"], [_free_response(said)]
    if "seek_spread" in free["unknown"]:
        lines.append("           (free MB/s, idle time: as if seeks varied by %.0f us)" %
                     (asdrive.SPREAD_NS / 1e3))
    if free["fresh_mb_s"]:
        lines.append("free       %.2f MB/s at first, %.2f in gaps, %.2f in idle time: a scan takes "
                     "%.2f days at least" % (free["fresh_mb_s"], free["gaps_mb_s"],
                                             free["idle_mb_s"], free["days_least"]))
        lines.append("           a whole scan: %s" % said["simulate"])
    else:
        lines.append("free       nothing: the disk is never idle, and no request waits behind "
                     "another, the policy does not predict (clook), or no gap is as long as "
                     "the conservatism")
    lines.append("idle       %.1f %% of the time%s" % (
        free["idle_pct"], "" if free["idle_ms"] is None else ", %.1f ms at a stretch" %
        free["idle_ms"]))
    if free["roughly"]:
        lines.append("           (what freeblock gives is approximate: %s)" %
                     " and ".join(free["roughly"]))
    return lines


def page(said):
    """An answer for people: lines."""
    heads = ("order", "busy %", "response ms", "waiting ms", "service ms", "hits %",
             "full at /s")
    orders = table.lines(heads, [_order_row(name, found) for name, found in said["orders"].items()])
    random = "a request alone: seek %(seek_ms).2f, rotation %(rotation_ms).2f, transfer " \
        "%(transfer_ms).2f ms" % said["random"]
    return _disk_lines(said) + _workload_lines(said) + [""] + orders + \
        _apart_lines(said) + _unknown_lines(said) + _saturated_lines(said) + [random, ""] + \
        _free_lines(said)


def _short(path, width):
    """A file's name, its end if it is long."""
    name = os.path.basename(path)
    return name if len(name) <= width else ".." + name[2 - width:]


def _busy(said):
    order = said["orders"][said["order"]]
    return _full(order) if order["saturated"] else "%.1f" % order["utilisation_pct"]


def _free(key, form):
    """Of what freeblock would get; ~ if that is approximate."""
    def cell(said):
        value = said["free"][key]
        if value is None and key == "response_ms" and said["free"]["unknown"]:
            return "unknown"
        return number(value, ("~" if said["free"]["roughly"] else "") + form)
    return cell


# head, width, what of an answer; a line has to be as wide as all others without knowing them
_COLUMNS = (
    ("disk", 24, lambda said: _short(said["disk"], 24)),
    ("workload", 24, lambda said: _short(said["workload_from"], 24)),
    ("busy%", 6, _busy),
    ("ms", 8, lambda said: _response(said["orders"][said["order"]])),
    ("scan: ms", 8, _free("response_ms", "%.2f")),
    ("MB/s", 7, _free("fresh_mb_s", "%.2f")),
    ("days >", 7, _free("days_least", "%.2f")),
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
