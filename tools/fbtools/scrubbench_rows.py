# SPDX-License-Identifier: GPL-2.0
"""The rows of build/bench-scrub/summary.json, and the tables for people."""

import datetime

from .bench_rows import commit

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
    "scrub": ("MB/s", "scrub_mb_s"), "drive busy": ("%", "drive_busy_pct"),
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
# Schedulers whose figures without scrub all are compared with
BASES = ("none", "mq-deadline")


def grouped(figures):
    """{(drive, load): figures}, in their order."""
    groups = {}
    for row in figures:
        groups.setdefault((row["drive"], row["load"]), []).append(row)
    return groups


def against(rows):
    """Put into each row of one drive and load what it is against those without scrub."""
    for base in BASES:
        found = [r for r in rows if r["peer"] == base and r["background"] == "none" and
                 "lacking" not in r]
        for row in rows:
            if not found or "lacking" in row:
                continue
            if found[0]["fg_mb_s"]:
                row["change_%s_pct" % base] = 100 * (row["fg_mb_s"] / found[0]["fg_mb_s"] - 1)
            if row.get("mean_ms") is not None and found[0].get("mean_ms") is not None:
                row["slowdown_%s_ms" % base] = row["mean_ms"] - found[0]["mean_ms"]


def record(row, measure, unit, value, note=""):
    """One object of summary.json."""
    paper = PAPER.get((row["load"], row["peer"], row["setting"], measure))
    made = {"name": "%s, %s, %s %s: %s" % (row["drive"], row["load"], row["peer"],
                                           row["setting"], measure),
            "value": value, "unit": unit, "paper": paper,
            "drive": row["drive"], "load": row["load"], "peer": row["peer"],
            "setting": row["setting"], "measure": measure, "seconds": row["seconds"],
            "seed": row["seed"], "command": "make bench-scrub DRIVE=%s LOAD=%s" % (
                row["drive"], row["load"])}
    if note:
        made["note"] = note
    return made


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


def why_not(row, measure):
    """Why there is no value."""
    if "lacking" in row:
        return "not available: " + row["lacking"]
    if measure == "foreground p99.9":
        return "not available: fewer than 2000 requests"
    if measure.startswith("time to detect"):
        return "not available: no burst was found"
    return "not available: without a scrub was not measured"


def rows(figures):
    """All objects of summary.json."""
    made = []
    for group in grouped(figures).values():
        against(group)
        for row in group:
            for measure, (unit, key) in measures_of(row).items():
                value = None if "lacking" in row else row.get(key)
                made.append(record(row, measure, unit, value,
                                   "" if value is not None else why_not(row, measure)))
    today, tree = datetime.date.today().isoformat(), commit()
    for one in made:
        one.update(date=today, commit=tree)
    return made


COLUMNS = (("fg MB/s", "fg_mb_s", "%.3f"), ("vs none", "change_none_pct", "%+.1f%%"),
           ("mean", "mean_ms", "%.2f"), ("+mean", "slowdown_none_ms", "%+.2f"),
           ("p50", "p50_ms", "%.1f"), ("p95", "p95_ms", "%.1f"), ("p99", "p99_ms", "%.1f"),
           ("p99.9", "p99.9_ms", "%.1f"), ("max ms", "max_ms", "%.1f"),
           ("scrub MB/s", "scrub_mb_s", "%.2f"))
FOUND = (("found", "bursts_found", "%d"), ("after s", "detect_least_s", "%.1f"),
         ("longest", "detect_max_s", "%.1f"))


def paper_of(row):
    """The paper's numbers of a cell, as a text."""
    return "; ".join("%s %g" % (measure, value) for (*where, measure), value in PAPER.items()
                     if tuple(where) == (row["load"], row["peer"], row["setting"]))


def table(drive, load, group):
    """Lines of one drive and load."""
    columns = COLUMNS + (FOUND if load == "bursts" else ())
    lines = ["", "%s, %s" % (drive, load),
             "  %-12s %-32s" % ("peer", "setting") + "".join("%11s" % c[0] for c in columns) +
             "  paper"]
    for row in group:
        line = "  %-12s %-32s" % (row["peer"], row["setting"])
        if "lacking" in row:
            lines.append(line + "  not available: " + row["lacking"])
            continue
        cells = ["-" if row.get(key) is None else form % row[key] for _, key, form in columns]
        lines.append((line + "".join("%11s" % c for c in cells) + "  " + paper_of(row)).rstrip())
    return lines


def tables(figures):
    """Lines for people."""
    lines = []
    for (drive, load), group in grouped(figures).items():
        against(group)
        lines += table(drive, load, group)
    return lines + [""]
