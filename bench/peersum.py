# SPDX-License-Identifier: GPL-2.0
"""What a cell of a bench in the lab has left in its folder: read into figures."""

import math
import os
import re

from freeblock import ToolError

PERCENTILES = (50, 90, 95, 99, 99.9)
# Fewer requests than this make no 99.9th percentile: it would be the longest or
# the one before
LEAST_FOR_P999 = 2000
# A drive has not kept its own time (lab.rst) when more of its commands than these,
# per mille, were answered more than 10 us late
MOST_LATE_PM = 10.0
WRITE = 1 << 31
# What the module says of free reads (snapshot.c) where a load leaves a scan nothing
RIGHTLY = ("on", "off: the drive orders, as its write cache is in use")

DELIVERED = ("scan_stats/blocks_delivered", "scrub_stats/blocks_delivered")


def keys(text):
    """The numbers of "key value" lines; lines of another kind are left out."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and re.fullmatch(r"-?\d+", words[1]):
            found[words[0]] = int(words[1])
    return found


def snapshot(text):
    """The counters of one snapshot (load.c): {"now_ns", "idle_ns", "drive": {name: number},
    "numbers": the scheduler's}."""
    found = {"drive": {}, "numbers": {}}
    for part in re.split(r"^== ", text, flags=re.M)[1:]:
        path, _, content = part.partition("\n")
        if path == "/proc/timer_list":
            # One CPU: its idle time, in whatever way it was idle, and the
            # instant at which the list was made
            for name in ("idle_sleeptime", "iowait_sleeptime"):
                match = re.search(r"\.%s\s*:\s*(\d+) nsecs" % name, content)
                if not match:
                    raise ToolError("no %s in /proc/timer_list" % name)
                found["idle_ns"] = found.get("idle_ns", 0) + int(match.group(1))
            found["now_ns"] = int(re.search(r"^now at (\d+) nsecs", content, re.M).group(1))
        elif path.endswith("/stats"):
            found["drive"] = keys(content)
        elif path.endswith("/numbers"):
            found["numbers"] = keys(content)
    if "now_ns" not in found:
        raise ToolError("a snapshot without /proc/timer_list")
    return found


def percentile(ordered, percent):
    """Of a sorted list: the least value that so many per cent do not exceed."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def latency_figures(values):
    """Milliseconds: mean and percentiles of latencies in us (load.c's)."""
    ordered = sorted(v & ~WRITE for v in values)
    reads = sorted(v for v in values if not v & WRITE)
    writes = [v & ~WRITE for v in values if v & WRITE]
    figures = {"latencies": len(ordered)}
    if not ordered:
        return figures
    figures["mean_ms"] = sum(ordered) / len(ordered) / 1000
    for percent in PERCENTILES:
        if percent < 99.5 or len(ordered) >= LEAST_FOR_P999:
            figures["p%g_ms" % percent] = percentile(ordered, percent) / 1000
    figures["max_ms"] = ordered[-1] / 1000
    if reads:
        figures["reads_p50_ms"] = percentile(reads, 50) / 1000
        figures["reads_p99_ms"] = percentile(reads, 99) / 1000
        if len(reads) >= LEAST_FOR_P999:
            figures["reads_p99.9_ms"] = percentile(reads, 99.9) / 1000
        figures["reads_mean_ms"] = sum(reads) / len(reads) / 1000
    if writes:
        figures["writes_mean_ms"] = sum(writes) / len(writes) / 1000
    return figures


def read_text(path):
    """A file's text, "" if there is none."""
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as file:
        return file.read()


def read_latencies(path):
    """load.c's file: 32 bits each, little endian."""
    with open(path, "rb") as file:
        raw = file.read()
    return [int.from_bytes(raw[i:i + 4], "little") for i in range(0, len(raw), 4)]


def scan_said(status):
    """Why a scan may read nothing, in the module's own words, from its status at the end; "" if
    nothing it says makes that right: then it read nothing by mistake."""
    words = dict(line.partition(" ")[::2] for line in status.splitlines())
    said = words.get("free_reads", "")
    return said if said in RIGHTLY and words.get("scheduling") == "yes" else ""


def traced_nothing(folder):
    """What the tracer shows for a function that does nothing, ns."""
    found = re.fullmatch(r"write_null (\d+) (\d+)\n",
                         read_text(os.path.join(folder, "trace.nothing")))
    if not found or int(found.group(1)) < 10000:
        raise ToolError("%s: the tracer's own time is not known" % folder)
    return int(found.group(2)) / int(found.group(1))


def traced(folder, requests_per_s):
    """Of a traced cell: ns of a foreground request, and share of the CPU, that the
    drive's and the scheduler's functions took without the tracer's own time.
    {} if the cell is not traced."""
    text = read_text(os.path.join(folder, "trace.sums"))
    if not text:
        return {}
    stats = read_text(os.path.join(folder, "trace.stats"))
    if not re.search(r"^overrun: 0$", stats, re.M):
        raise ToolError("%s: the trace is not complete" % folder)
    stamps = [float(re.search(r"^%s ts:\s*([\d.]+)" % name, stats, re.M).group(1))
              for name in ("oldest event", "now")]
    seconds = stamps[1] - stamps[0]
    found = {"drive_ns": 0, "scheduler_ns": 0, "functions": {},
             "tracer_ns_per_call": traced_nothing(folder)}
    for line in text.splitlines():
        name, calls, total = line.split()
        part = "drive_ns" if name.startswith("mdh_") else "scheduler_ns"
        took = int(total) - int(calls) * found["tracer_ns_per_call"]
        found[part] += took
        found["functions"][name] = [int(calls) / seconds, took / seconds]
    for part in ("drive", "scheduler"):
        total = found.pop(part + "_ns")
        found[part + "_cpu_pct"] = total / seconds / 1e7
        found[part + "_ns_per_request"] = total / seconds / requests_per_s
    return found


def foreground(folder):
    """What the loads said, and their latencies."""
    parts, latencies = [], []
    while os.path.exists(os.path.join(folder, "fg%d.said" % len(parts))):
        name = os.path.join(folder, "fg%d" % len(parts))
        parts.append(keys(read_text(name + ".said")))
        if os.path.exists(name + ".lat"):
            latencies += read_latencies(name + ".lat")
    return parts, latencies


def background_bytes(folder, begin, end):
    """Of the window: a program's, or blocks that freeblock's tasks delivered; of two tasks those
    of the one that had more."""
    said = keys(read_text(os.path.join(folder, "bg.said")))
    granule = int(read_text(os.path.join(folder, "granule_bytes")) or 0)
    return said.get("bytes", 0) + granule * max(
        end["numbers"].get(name, 0) - begin["numbers"].get(name, 0) for name in DELIVERED)


def cell_figures(folder):
    """The figures of one cell out of what the guest left in its folder."""
    begin, end = (snapshot(read_text(os.path.join(folder, "snap." + name)))
                  for name in ("begin", "end"))
    window = end["now_ns"] - begin["now_ns"]
    parts, latencies = foreground(folder)
    requests = sum(p["requests"] for p in parts)
    cpu = window - (end["idle_ns"] - begin["idle_ns"])
    drive = keys(read_text(os.path.join(folder, "drive")))
    media = {name: end["drive"].get(name, 0) - begin["drive"].get(name, 0)
             for name in ("busy_ns", "sectors_read", "sectors_verified")}
    figures = {
        "window_s": window / 1e9,
        "requests_per_s": requests * 1e9 / window,
        "fg_mb_s": sum(p["bytes"] for p in parts) * 1e3 / window,
        "parts_mb_s": [p["bytes"] * 1e3 / window for p in parts],
        "bg_mb_s": background_bytes(folder, begin, end) * 1e3 / window,
        "instructions_per_request": cpu / requests if requests else None,
        "cpu_pct": 100 * cpu / window,
        "drive_busy_pct": 100 * media.pop("busy_ns") / window, **media,
        "late_max_ns": drive.get("late_max_ns"),
        "late_pm": 1000 * drive["late_over_10us"] / max(1, drive["commands"]),
        "errors": sum(p["errors"] for p in parts),
    }
    figures.update(latency_figures(latencies))
    figures.update(traced(folder, figures["requests_per_s"]))
    said = read_text(os.path.join(folder, "status"))
    figures["scan_said"] = scan_said(said)
    status = keys(said)
    figures.update({key: status[key] for key in (
        "guard_trips", "miss_fg", "miss_prepend", "miss_separate", "miss_after", "prepends",
        "separates", "pred_total", "pred_within_50us", "early_turn", "search_ns", "choice_ns",
        "max_in_flight") if key in status})
    return figures
