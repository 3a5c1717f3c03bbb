# SPDX-License-Identifier: GPL-2.0
"""What the cells of the comparison of schedulers come to: parsing, merging,
comparing at equal latency, verdicts. Only text and numbers; peers.py runs them.
"""

import math
import os
import re
import statistics

from freeblock import ToolError

PERCENTILES = (50, 90, 95, 99, 99.9)
# Fewer requests than this make no 99.9th percentile: it would be the longest or
# the one before
LEAST_FOR_P999 = 2000
# A drive has not kept its own time (lab.rst) when more of its commands than these,
# per mille, were answered more than 10 us late
MOST_LATE_PM = 10.0
WRITE = 1 << 31
# What is asked: background at equal p99 of reads against the best peer, that p99
# with scan against without and against none, sequential foregrounds against
# mq-deadline, instructions of a request without task against mq-deadline, CPU with
# scan
LEAST_RATIO = 2.0
MOST_P99_SCAN = 1.04
MOST_P99_NONE = 1.03
LEAST_SEQUENTIAL = 0.98
MOST_INSTRUCTIONS = 2.0
MOST_CPU_PCT = 1.5
# What means of several seeds have a standard error of
SPREAD = ("reads_p50_ms", "reads_p99_ms", "bg_mb_s")
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
    """The counters of one snapshot (load.c): {name: number}."""
    parts = {}
    for part in re.split(r"^== ", text, flags=re.M)[1:]:
        path, _, content = part.partition("\n")
        parts[path] = content
    found = {}
    for path, content in parts.items():
        if path == "/proc/timer_list":
            # One CPU: its idle time, in whatever way it was idle, and the
            # instant at which the list was made
            for name in ("idle_sleeptime", "iowait_sleeptime"):
                match = re.search(r"\.%s\s*:\s*(\d+) nsecs" % name, content)
                if not match:
                    raise ToolError("no %s in /proc/timer_list" % name)
                found["idle_ns"] = found.get("idle_ns", 0) + int(match.group(1))
            found["now_ns"] = int(re.search(r"^now at (\d+) nsecs", content, re.M).group(1))
        elif path.endswith("/stat"):
            found["util_ms"] = int(content.split()[9])
        elif path.endswith("/stats"):
            found["drive_busy_ns"] = keys(content)["busy_ns"]
        elif path.endswith("/numbers"):
            found["blocks"] = sum(keys(content).get(name, 0) for name in DELIVERED)
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


def cell_figures(folder):
    """The figures of one cell out of what the guest left in its folder."""
    begin = snapshot(read_text(os.path.join(folder, "snap.begin")))
    end = snapshot(read_text(os.path.join(folder, "snap.end")))
    window = end["now_ns"] - begin["now_ns"]
    parts, latencies = [], []
    while os.path.exists(os.path.join(folder, "fg%d.said" % len(parts))):
        name = os.path.join(folder, "fg%d" % len(parts))
        parts.append(keys(read_text(name + ".said")))
        if os.path.exists(name + ".lat"):
            latencies += read_latencies(name + ".lat")
    requests = sum(p["requests"] for p in parts)
    if not requests:
        raise ToolError("%s: no foreground request in the window" % folder)
    cpu = window - (end["idle_ns"] - begin["idle_ns"])
    background = keys(read_text(os.path.join(folder, "bg.said"))).get("bytes", 0)
    if "blocks" in end:
        granule = int(read_text(os.path.join(folder, "granule_bytes")) or 0)
        background += (end["blocks"] - begin["blocks"]) * granule
    drive = keys(read_text(os.path.join(folder, "drive")))
    figures = {
        "requests_per_s": requests * 1e9 / window,
        "fg_mb_s": sum(p["bytes"] for p in parts) * 1e3 / window,
        "parts_mb_s": [p["bytes"] * 1e3 / window for p in parts],
        "bg_mb_s": background * 1e3 / window,
        "instructions_per_request": cpu / requests,
        "cpu_pct": 100 * cpu / window,
        "drive_busy_pct": 100 * (end["drive_busy_ns"] - begin["drive_busy_ns"]) / window,
        "late_max_ns": drive["late_max_ns"],
        "late_pm": 1000 * drive["late_over_10us"] / drive["commands"],
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


def at_equal_latency(points, limit):
    """How much background (p99, MB/s) pairs allow at a p99 of `limit`.

    Returns (measured, interpolated): the most of a point that keeps to the
    limit, and the most on any straight line between a point that does and one that
    does not. The latter favours the peers: tuning in between rarely brings as much.
    Both None if no point keeps to the limit."""
    within = [p for p in points if p[0] <= limit]
    if not within:
        return None, None
    measured = max(mb for _, mb in within)
    best = measured
    for p99, mb in points:
        if p99 <= limit:
            continue
        for low99, low in within:
            if mb > low:
                best = max(best, low + (mb - low) * (limit - low99) / (p99 - low99))
    return measured, best


def compare(rows):
    """Freeblock with scan against the peers of the same drive and load."""
    scans = [r for r in rows if r["peer"] == "freeblock" and r["background"] == "scan"]
    if not scans:
        return None
    ours = scans[0]
    out = {"setting": ours["setting"], "reads_p99_ms": ours["reads_p99_ms"],
           "bg_mb_s": ours["bg_mb_s"], "peers": {}}
    for peer in sorted({r["peer"] for r in rows} - {"freeblock"}):
        mine = [r for r in rows if r["peer"] == peer]
        measured, best = at_equal_latency([(r["reads_p99_ms"], r["bg_mb_s"]) for r in mine],
                                          ours["reads_p99_ms"])
        names = [r["setting"] for r in mine if r["reads_p99_ms"] <= ours["reads_p99_ms"] and
                 r["bg_mb_s"] == measured]
        out["peers"][peer] = {"measured_mb_s": measured, "interpolated_mb_s": best,
                              "setting": names[0] if names else None}
    most = [(p["interpolated_mb_s"], name) for name, p in out["peers"].items()
            if p["interpolated_mb_s"] is not None]
    out["best_peer"] = max(most)[1] if most else None
    out["best_mb_s"] = max(most)[0] if most else None
    out["ratio"] = ours["bg_mb_s"] / out["best_mb_s"] if out["best_mb_s"] else None
    return out


def find(rows, peer, background):
    """The first row of that peer and background, or None."""
    for row in rows:
        if row["peer"] == peer and row["background"] == background:
            return row
    return None


def ratio(name, above, below, key, most=None, least=None):
    """One verdict: above's figure by below's, and what it must keep to."""
    if not above or not below or not below.get(key) or above.get(key) is None:
        return None
    value = above[key] / below[key]
    good = (most is None or value <= most) and (least is None or value >= least)
    return {"name": name, "value": value, "most": most, "least": least, "good": good}


def cpu_verdicts(where, alone, scan, deadline):
    """Of the traced cells."""
    wanted = []
    for row in (alone, scan, deadline):
        if row:
            row["ns_per_request_without_drive"] = \
                row["instructions_per_request"] - row["drive_ns_per_request"]
    wanted.append(ratio(where + "instructions of a request without task against mq-deadline, "
                        "without the drive's", alone, deadline, "ns_per_request_without_drive",
                        most=MOST_INSTRUCTIONS))
    if scan:
        wanted.append({"name": where + "% of one GHz with scan, freeblock's own",
                       "value": scan["scheduler_cpu_pct"], "most": MOST_CPU_PCT, "least": None,
                       "good": scan["scheduler_cpu_pct"] <= MOST_CPU_PCT})
        share = scan["cpu_pct"] - scan["drive_cpu_pct"]
        wanted.append({"name": where + "% of one GHz with scan, all but the drive's",
                       "value": share, "most": MOST_CPU_PCT, "least": None,
                       "good": share <= MOST_CPU_PCT})
    return [w for w in wanted if w]


def stream_verdicts(where, alone, scan, deadline):
    """Of loads of several parts each part counts alike: random reads bring few MB/s,
    and in closed loops one part's loss is another's gain."""
    wanted = []
    for row, name in ((alone, ""), (scan, " with scan")):
        if not row or not deadline or not all(deadline["parts_mb_s"]):
            continue
        ratios = [ours / theirs for ours, theirs in
                  zip(row["parts_mb_s"], deadline["parts_mb_s"])]
        value = sum(ratios) / len(ratios)
        wanted.append({"name": where + "MB/s%s against mq-deadline" % name +
                       (", mean of the parts'" if len(ratios) > 1 else ""), "value": value,
                       "most": None, "least": LEAST_SEQUENTIAL,
                       "good": value >= LEAST_SEQUENTIAL})
    return wanted


def verdicts(drive, load, rows):
    """What is asked of this drive and load, as far as its rows are there."""
    where = "%s, %s: " % (drive, load)
    alone, scan = find(rows, "freeblock", "none"), find(rows, "freeblock", "scan")
    deadline, none = find(rows, "mq-deadline", "none"), find(rows, "none", "none")
    if load == "cpu":
        return cpu_verdicts(where, alone, scan, deadline)
    if load in ("sequential", "streams", "resilver"):
        return stream_verdicts(where, alone, scan, deadline)
    wanted = [ratio(where + "p99 with scan against without", scan, alone, "reads_p99_ms",
                    most=MOST_P99_SCAN)]
    if load in ("low", "middle", "high"):
        wanted.append(ratio(where + "p99 with scan against none's alone", scan, none,
                            "reads_p99_ms", most=MOST_P99_NONE))
    compared = compare(rows)
    if compared and compared["ratio"]:
        wanted.append({"name": where + "background at equal p99 against %s" %
                       compared["best_peer"], "value": compared["ratio"], "most": None,
                       "least": LEAST_RATIO if load != "low" else None,
                       "good": load == "low" or compared["ratio"] >= LEAST_RATIO})
    return [w for w in wanted if w]


def group(rows):
    """{(drive, load): rows}, in the order of the rows."""
    groups = {}
    for row in rows:
        groups.setdefault((row["drive"], row["load"]), []).append(row)
    return groups


def mean_row(rows):
    """One setting's rows, of a seed each, as one: means, and standard errors of SPREAD."""
    first = rows[0]
    out = {key: first[key] for key in ("drive", "load", "peer", "setting", "background", "seconds")}
    out["seeds"] = [row["seed"] for row in rows]
    for key in first:
        values = [row.get(key) for row in rows]
        if key in out or key == "seed" or None in values:
            continue
        if isinstance(first[key], list):
            out[key] = [statistics.mean(parts) for parts in zip(*values)]
        else:
            out[key] = first[key] if isinstance(first[key], str) else statistics.mean(values)
        if key in SPREAD:
            out[key + "_se"] = statistics.stdev(values) / math.sqrt(len(values))
    return out


def means(rows):
    """A row for each setting: as it is if one seed was measured."""
    settings = {}
    for row in rows:
        settings.setdefault(tuple(row[key] for key in ("drive", "load", "peer", "setting")),
                            []).append(row)
    return [mean_row(mine) if len(mine) > 1 else mine[0] for mine in settings.values()]


def summarize(rows):
    """What is written: all rows, means of several seeds, comparisons and verdicts of these, rows
    not to be trusted."""
    result = {"rows": rows, "means": means(rows), "comparisons": [], "verdicts": [], "faults": []}
    for (drive, load), mine in group(result["means"]).items():
        compared = compare(mine) if load in ("closed", "low", "middle", "high") else None
        if compared:
            result["comparisons"].append({"drive": drive, "load": load, **compared})
        result["verdicts"] += verdicts(drive, load, mine)
    for row in rows:
        name = "%s, %s, %s %s, seed %d" % (row["drive"], row["load"], row["peer"],
                                           row["setting"], row["seed"])
        if row["errors"]:
            result["faults"].append("%s: %d errors" % (name, row["errors"]))
        if row["late_pm"] > MOST_LATE_PM:
            result["faults"].append("%s: the drive was late with %.1f of 1000 commands" %
                                    (name, row["late_pm"]))
    return result
