# SPDX-License-Identifier: GPL-2.0
"""The rows of build/bench-scrub/summary.json, and the tables for people."""

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
# Table III: of each trace scrub MB/s at 1, 2 and 4 ms, then CFQ's and its mean slowdown, ms
TABLE_3 = {"c6t8d0": (38.75, 50.53, 61.51, 6.25, 938), "c6t5d1": (68.12, 72.83, 73.97, 13.75, 4.4),
           "src11": (73.54, 75.77, 76.40, 13.19, 7.7), "usr1": (62.49, 71.24, 71.58, 13.44, 106)}
TUNED = "waiting, %d ms"
for _name, (_one, _two, _four, _cfq, _slower) in TABLE_3.items():
    for _ms, _scrub in ((1, _one), (2, _two), (4, _four)):
        PAPER["replay-" + _name, "freeblock", TUNED % _ms, "scrub"] = _scrub
        PAPER["replay-" + _name, "freeblock", TUNED % _ms, "mean slowdown against none"] = _ms
    PAPER["replay-" + _name, "bfq", "idle 64k", "scrub"] = _cfq
    PAPER["replay-" + _name, "bfq", "idle 64k", "mean slowdown against none"] = _slower
BASE = ("bfq", "idle 64k")
# Where the paper's staggered scrubber is as fast as its sequential one, or faster (IV-A)
REGIONS = (128, 256, 512)
TWICE, ONCE = "scan and scrub at once, 1 ms", "gaps + idle, 1 ms"
DAY_S = 86400
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


def record(row, measure, unit, value, note="", paper=None):
    """One object of summary.json."""
    made = {"name": "%s, %s, %s %s: %s" % (row["drive"], row["load"], row["peer"],
                                           row["setting"], measure),
            "value": value, "unit": unit, "paper": paper,
            "drive": row["drive"], "load": row["load"], "peer": row["peer"],
            "setting": row["setting"], "measure": measure, "seconds": row["seconds"],
            "seed": row["seed"], "date": row["date"], "commit": row["commit"],
            "command": "make bench-scrub DRIVE=%s LOAD=%s%s" % (
                row["drive"], row["load"], "" if row.get("known", True) else " NO_MODEL=1")}
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
    if not measure:
        return "not available: nothing was scrubbed"
    return "not available: without a scrub was not measured"


def find(group, peer, setting):
    """The figures of a cell; None if it is not there."""
    for row in group:
        if (row["peer"], row["setting"]) == (peer, setting):
            return row
    return None


def quotient(above, below, key, measure, paper=None):
    """A row: one cell's figure by another's; [] if either was not asked for."""
    if not above or not below:
        return []
    for row in (above, below):
        if "lacking" in row:
            return [record(above, measure, "times", None, why_not(row, measure), paper)]
    if not below.get(key) or above.get(key) is None:
        return [record(above, measure, "times", None, "not available: nothing to divide by", paper)]
    return [record(above, measure, "times", above[key] / below[key], "", paper)]


def compared(group):
    """Rows of one drive and load that compare two cells."""
    load, made = group[0]["load"], []
    three = TABLE_3.get(load.partition("replay-")[2])
    for setting, paper in ((TUNED % 1, three[0] / three[3] if three else None), (ONCE, None)):
        made += quotient(find(group, "freeblock", setting), find(group, *BASE), "scrub_mb_s",
                         "scrub against bfq idle 64k", paper)
    for kind in ("verify default 64k 0 ms", "default 64k 0 ms"):
        for regions in REGIONS:
            made += quotient(find(group, "none", "%s staggered %d" % (kind, regions)),
                             find(group, "none", kind), "scrub_mb_s", "scrub against sequential",
                             1.0 if kind.startswith("verify") else None)
    return made + quotient(find(group, "freeblock", TWICE), find(group, "freeblock", ONCE),
                           "media_per_byte", "media reads of two scans against one")


def latent_days(row):
    """Mean time that an error stays undetected on the whole disk at a cell's rate: half a
    pass, where each pass has the same order."""
    if "lacking" in row or not row["scrub_mb_s"]:
        return None
    return row["disk_bytes"] / (row["scrub_mb_s"] * 1e6) / 2 / DAY_S


def cell_rows(row):
    """Rows of one cell."""
    made = []
    for measure, (unit, key) in measures_of(row).items():
        value = None if "lacking" in row else row.get(key)
        made.append(record(row, measure, unit, value,
                           "" if value is not None else why_not(row, measure),
                           PAPER.get((row["load"], row["peer"], row["setting"], measure))))
    if row["goal_ms"] and row["load"] != "quiet":
        slower = None if "lacking" in row else row.get("slowdown_none_ms")
        made.append(record(row, "mean slowdown against its goal", "times",
                           None if slower is None else slower / row["goal_ms"],
                           "" if slower is not None else why_not(row, "mean slowdown")))
    if row["background"] != "none" and row["load"] != "bursts":
        days = latent_days(row)
        made.append(record(row, "mean latent error time of the whole disk", "days", days,
                           "" if days is not None else why_not(row, "")))
    return made


def rows(figures):
    """All objects of summary.json."""
    made = []
    for group in grouped(figures).values():
        against(group)
        for row in group:
            made += cell_rows(row)
        made += compared(group)
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
             "  %-12s %-44s" % ("peer", "setting") + "".join("%11s" % c[0] for c in columns) +
             "  paper"]
    for row in group:
        line = "  %-12s %-44s" % (row["peer"], row["setting"])
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
