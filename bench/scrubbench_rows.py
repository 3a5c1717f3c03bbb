# SPDX-License-Identifier: GPL-2.0
"""The rows of build/bench-scrub/summary.json, and the tables for people."""

import os

from . import labcells, peersum
from .labcells import find

# measure: unit, its key in the figures
MEASURES = {
    "foreground throughput": ("MB/s", "fg_mb_s"),
    "foreground requests": ("1/s", "requests_per_s"),
    "foreground mean": ("ms", "mean_ms"), "foreground p50": ("ms", "p50_ms"),
    "foreground p95": ("ms", "p95_ms"), "foreground p99": ("ms", "p99_ms"),
    "foreground p99.9": ("ms", "p99.9_ms"), "foreground max": ("ms", "max_ms"),
    "foreground change against none": ("%", "change_none_pct"),
    "foreground change against mq-deadline": ("%", "change_mq-deadline_pct"),
    "mean slowdown against none": ("ms", "slowdown_none_ms"),
    "mean slowdown against mq-deadline": ("ms", "slowdown_mq-deadline_ms"),
    "scrub": ("MB/s", "bg_mb_s"), "drive busy": ("%", "drive_busy_pct"),
}
DETECTION = {
    "bursts planted": ("", "bursts"), "bursts found": ("", "bursts_found"),
    "time to detect, mean, at least": ("s", "detect_least_s"),
    "time to detect, mean of those found": ("s", "detect_mean_s"),
    "time to detect, median": ("s", "detect_median_s"),
    "time to detect, longest": ("s", "detect_max_s"),
}
# What the paper has, on its own drives (SAS, 15000/min): (load, peer, setting, measure).
# Figure 3: 3.9 MB/s is a program's VERIFY with 16 ms between requests, 3 the kernel's;
# figure 6a: CFQ's idle class, and "less than 3 MB/s" with 16 ms and more.
PAPER = {
    ("sequential", "mq-deadline", "verify default 64k 16 ms", "scrub"): 3.9,
    ("sequential", "mq-deadline", "default 64k 16 ms", "scrub"): 3.0,
    ("sequential", "bfq", "idle 64k", "foreground change against none"): -20.6,
    ("sequential", "bfq", "idle 64k", "scrub"): 9.0,
}
BASE = "idle 64k"
# Where the paper's staggered scrubber is as fast as its sequential one, or faster (IV-A)
REGIONS = (128, 256, 512)
TWICE, ONCE = "scan and scrub at once, 1 ms", "gaps + idle, 1 ms"
DAY_S, SECTOR = 86400, 512
# Schedulers whose figures without scrub all are compared with
BASES = ("none", "mq-deadline")


def found_errors(folder):
    """[(s since the start, first sector, sectors)]: what the scrubber met."""
    lines = (map(int, line.split()) for line in peersum.read_text(
        os.path.join(folder, "found")).splitlines())
    return [(ns / 1e9, first, count) for ns, first, count in lines]


def detections(planted, found):
    """Seconds from each burst to the first error met in it; None: not met.

    planted: [(second, [(first, count), ...])]; found as of found_errors(). A range in
    LBNs counts from its first to its last sector: between runs nothing is bad."""
    times = []
    for second, runs in planted:
        met = [at - second for at, first, count in found if at >= second and any(
            first < run + length and run < first + count for run, length in runs)]
        times.append(min(met) if met else None)
    return times


def complete(row, sectors, unit, planted):
    """Put into a row what takes the disk to tell, of so many sectors of 512 bytes, `unit` of which
    are one of the drive's: what the drive read for each byte scrubbed. Foregrounds of reads only:
    what they read is not the scrubber's. And its errors by what was planted."""
    row["disk_bytes"] = sectors * SECTOR
    read = (row["sectors_read"] + row["sectors_verified"]) * unit * SECTOR
    beside = read - row["fg_mb_s"] * row["window_s"] * 1e6
    if row["load"] == "bursts" and row["peer"] == "freeblock":
        # its own counters begin anew with each pass
        row["bg_mb_s"] = max(0, beside / row["window_s"] / 1e6)
    if row["bg_mb_s"]:
        row["media_per_byte"] = beside / (row["bg_mb_s"] * row["window_s"] * 1e6)
    if planted:
        times = detections(planted, row["found"])
        met = sorted(t for t in times if t is not None)
        until_end = [row["warmup"] + row["seconds"] - second for second, _ in planted]
        least = [left if t is None else t for t, left in zip(times, until_end)]
        row.update(bursts=len(planted), bursts_found=len(met),
                   detect_least_s=sum(least) / len(least))
        if met:
            row.update(detect_mean_s=sum(met) / len(met), detect_max_s=met[-1],
                       detect_median_s=peersum.percentile(met, 50))
    return row


def against(rows):
    """Put into each row of one drive and load what it is against those without scrub."""
    for base in BASES:
        alone = find(rows, base, background="none")
        for row in rows if alone else ():
            if alone["fg_mb_s"]:
                row["change_%s_pct" % base] = 100 * (row["fg_mb_s"] / alone["fg_mb_s"] - 1)
            if row.get("mean_ms") is not None and alone.get("mean_ms") is not None:
                row["slowdown_%s_ms" % base] = row["mean_ms"] - alone["mean_ms"]


def record(row, measure, unit, value, paper=None):
    """One object of summary.json."""
    made = {"name": "%s, %s, %s %s: %s" % (row["drive"], row["load"], row["peer"],
                                           row["setting"], measure),
            "value": value, "unit": unit, "paper": paper,
            "drive": row["drive"], "load": row["load"], "peer": row["peer"],
            "setting": row["setting"], "measure": measure, "seconds": row["seconds"],
            "seed": row["seed"], "date": row["date"], "commit": row["commit"],
            "command": "make bench-scrub DRIVE=%s LOAD=%s%s" % (
                row["drive"], row["load"], "" if row.get("known", True) else " NO_MODEL=1")}
    if value is None:
        made["note"] = "not available: " + why_not(measure)
    return made


def why_not(measure):
    """Why there is no value."""
    return "fewer than 2000 requests" if measure == "foreground p99.9" else \
        "no burst was found" if measure.startswith("time to detect") else \
        "nothing was scrubbed" if "whole disk" in measure else \
        "without a scrub was not measured"


def measures_of(row):
    """Which of them a cell has."""
    named = dict(MEASURES)
    if row["load"] == "quiet":
        named = {m: v for m, v in named.items() if not m.startswith(("foreground", "mean"))}
    if row["background"] == "none":
        named.pop("scrub")
    elif row["load"] == "bursts":
        named.update(DETECTION)
    return named


def quotient(above, below, key, measure, paper=None):
    """A row: one cell's figure by another's; [] if either is not there."""
    if not above or not below or not below.get(key) or above.get(key) is None:
        return []
    return [record(above, measure, "times", above[key] / below[key], paper)]


def compared(group):
    """Rows of one drive and load that compare two cells."""
    made = []
    for setting in ("waiting, 1 ms", ONCE):
        made += quotient(find(group, "freeblock", setting=setting),
                         find(group, "bfq", setting=BASE), "bg_mb_s", "scrub against bfq idle 64k")
    for kind in ("verify default 64k 0 ms", "default 64k 0 ms"):
        for regions in REGIONS:
            made += quotient(find(group, "none", setting="%s staggered %d" % (kind, regions)),
                             find(group, "none", setting=kind), "bg_mb_s",
                             "scrub against sequential",
                             1.0 if kind.startswith("verify") else None)
    return made + quotient(find(group, "freeblock", setting=TWICE),
                           find(group, "freeblock", setting=ONCE),
                           "media_per_byte", "media reads of two scans against one")


def latent_days(row):
    """Mean time that an error stays undetected on the whole disk at a cell's rate: half a
    pass, where each pass has the same order."""
    return row["disk_bytes"] / (row["bg_mb_s"] * 1e6) / 2 / DAY_S if row["bg_mb_s"] else None


def cell_rows(row):
    """Rows of one cell."""
    made = [record(row, measure, unit, row.get(key),
                   PAPER.get((row["load"], row["peer"], row["setting"], measure)))
            for measure, (unit, key) in measures_of(row).items()]
    if row["goal_ms"] and row["load"] != "quiet":
        slower = row.get("slowdown_none_ms")
        made.append(record(row, "mean slowdown against its goal", "times",
                           None if slower is None else slower / row["goal_ms"]))
    if row["background"] != "none" and row["load"] != "bursts":
        made.append(record(row, "mean latent error time of the whole disk", "days",
                           latent_days(row)))
    return made


def rows(figures):
    """All objects of summary.json."""
    made = []
    for group in labcells.group(figures).values():
        against(group)
        for row in group:
            made += cell_rows(row)
        made += compared(group)
    return made


COLUMNS = (("fg MB/s", "fg_mb_s", "%.3f"), ("vs none", "change_none_pct", "%+.1f%%"),
           ("mean", "mean_ms", "%.2f"), ("+mean", "slowdown_none_ms", "%+.2f"),
           ("p50", "p50_ms", "%.1f"), ("p95", "p95_ms", "%.1f"), ("p99", "p99_ms", "%.1f"),
           ("p99.9", "p99.9_ms", "%.1f"), ("max ms", "max_ms", "%.1f"),
           ("scrub MB/s", "bg_mb_s", "%.2f"))
FOUND = (("found", "bursts_found", "%d"), ("after s", "detect_least_s", "%.1f"),
         ("longest", "detect_max_s", "%.1f"))


def papers(row):
    """The paper's numbers of a cell, as a text."""
    said = "; ".join("%s %g" % (measure, value) for (*where, measure), value in PAPER.items()
                     if tuple(where) == (row["load"], row["peer"], row["setting"]))
    return "  paper: " + said if said else ""


def tables(figures):
    """Lines for people."""
    lines = []
    for where, group in labcells.group(figures).items():
        against(group)
        lines += labcells.table(where, group, COLUMNS + (FOUND if where[1] == "bursts" else ()),
                                papers)
    return lines + [""]
