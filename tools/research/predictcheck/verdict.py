# SPDX-License-Identifier: GPL-2.0
"""What rows come to: tables for people, and whether the goals are met."""

import math
import operator
import re
import statistics

from freeblock import UsageError
from . import days, unseen, writecells

# What is asked of each of the tables' workloads, the median of all, each of figure 6, ms of a
# prediction
EACH_PCT, MEDIAN_PCT, SWEEP_PCT, TIME_MS = 10.0, 3.0, 12.0, 5.0
# Ours: nine of ten of what nobody chose and predictions are told of, and how many these are, %
RANDOM_PCT, LEAST_TOLD_PCT = 15.0, 60.0
HELD_PCT = 85.0, 95.0   # of the bands that are told, those that hold
LEAST_BANDS = 100       # cases for a verdict on them
WORST = 10              # rows shown
PAPER = {
    "tables": "the paper: 17 % at most, most below 7.5 %",
    "figure 6": "the paper: 29 % at most (SSTF, 80 %, runs of 1), most below 15 %",
}
COLUMNS = (  # heading, width, format, value
    ("util%", 6, "%.1f", lambda r: 100 * r["measured_utilisation"]),
    ("measured", 9, "%.3f", lambda r: r["measured_ms"]),
    ("+-", 6, "%.3f", lambda r: r["measured_se_ms"]),
    ("predicted", 9, "%.3f", lambda r: r["predicted_ms"]),
    ("error%", 7, "%+.1f", lambda r: r["error_pct"]),
    ("paper%", 6, "%.1f", lambda r: r["paper_error_pct"]),
    ("service", 8, "%.3f", lambda r: r["measured_service_ms"]),
    ("pred.", 8, "%.3f", lambda r: r["predicted_service_ms"]),
    ("delay", 8, "%.3f", lambda r: r["measured_delay_ms"]),
    ("pred.", 8, "%.3f", lambda r: r["predicted_delay_ms"]),
    ("hits%", 5, "%.1f", lambda r: 100 * r["measured_hit_share"]),
    ("part%", 5, "%.1f", lambda r: 100 * r["measured_partial_hit_share"]),
)


def apart_error(row, name):
    """%, of a row's "read", "write" (responses) or "utilisation"; None if there is nothing to
    compare, endless if it is not foretold."""
    end = "" if name == "utilisation" else "_ms"
    measured, predicted = (row["%s_%s%s" % (kind, name, end)] for kind in
                           ("measured", "predicted"))
    if measured is None:
        return None
    return math.inf if predicted is None else 100 * (predicted / measured - 1)


APART = ("read", "write", "utilisation")
APART_COLUMNS = (
    ("reads", 9, "%.3f", lambda r: r["measured_read_ms"]),
    ("predicted", 9, "%.3f", lambda r: r["predicted_read_ms"]),
    ("error%", 7, "%+.1f", lambda r: apart_error(r, "read")),
    ("writes", 9, "%.3f", lambda r: r["measured_write_ms"]),
    ("predicted", 9, "%.3f", lambda r: r["predicted_write_ms"]),
    ("error%", 7, "%+.1f", lambda r: apart_error(r, "write")),
    ("busy%", 6, "%.1f", lambda r: 100 * r["measured_utilisation"]),
    ("predicted", 9, "%.1f", lambda r: 100 * r["predicted_utilisation"]),
    ("error%", 7, "%+.1f", lambda r: apart_error(r, "utilisation")),
)
DAYS_COLUMNS = [(head, 9, form, operator.itemgetter(key)) for head, key, form in (
    ("days", "measured_days", "%.4f"), ("predicted", "predicted_days", "%.4f"),
    ("error%", "error_pct", "%+.1f"), ("9 of 10", "low_days", "%.4f"), ("", "high_days", "%.4f"),
    ("MB/s at 1st", "measured_first_mb_s", "%.2f"), ("pred.", "predicted_first_mb_s", "%.2f"))]


def cell(row, form, value):
    """A table's cell."""
    got = value(row)
    return "-" if got is None else form % got


def table(rows):
    """Lines of a table of the paper's rows, a heading for each group and drive."""
    width = max([len(row["label"]) for row in rows] + [8])
    lines, said = [], None
    for row in rows:
        heading = "%s, %s" % (row["group"], row["drive"])
        columns = {writecells.GROUP: APART_COLUMNS, days.GROUP: DAYS_COLUMNS}.get(
            row["group"], COLUMNS)
        if heading != said:
            said = heading
            lines += ["", said, "%-*s" % (width, "workload") + "".join(
                " %*s" % (size, head) for head, size, _, _ in columns)]
        lines.append("%-*s" % (width, row["label"]) + "".join(
            " %*s" % (size, cell(row, form, value)) for _, size, form, value in columns))
    return lines


def off(row):
    """How far off a row is, %; endless if there is no prediction."""
    return float("inf") if row["error_pct"] is None else abs(row["error_pct"])


def within(name, rows, goal, paper=None):
    """A verdict: all rows' errors within a goal."""
    worst = max(rows, key=off)
    return {"goal": name, "limit": goal, "worst": off(worst), "worst_row": worst["name"],
            "median": statistics.median(map(off, rows)), "rows": len(rows),
            "rows_within": sum(off(row) <= goal for row in rows),
            "met": off(worst) <= goal, "paper": paper}


def median_goal(rows):
    """The verdict on the median of the tables' rows."""
    middle = statistics.median(map(off, rows))
    return {"goal": "median of tables 3, 5 and 6", "limit": MEDIAN_PCT, "worst": middle,
            "median": middle, "rows": len(rows), "met": middle <= MEDIAN_PCT,
            "paper": PAPER["tables"]}


def apart_goals(rows):
    """The verdicts on reads, writes and the utilisation of a write cache's cells."""
    found = []
    for name in APART:
        told = [dict(row, error_pct=apart_error(row, name)) for row in rows
                if apart_error(row, name) is not None]
        if told:
            found.append(within("write cache, %s, each" % name, told, writecells.EACH_PCT))
    return found


def random_goals(rows):
    """The verdicts on what was drawn at random: nine of ten of those that are told, for of the
    worst of few no more can be asked, and how many are."""
    told = [row for row in rows if not row["unknown"]]
    found = [within("random, nine of ten of those told",
                    sorted(told, key=off)[:math.ceil(0.9 * len(told))], RANDOM_PCT)] if told else []
    share = 100 * len(told) / len(rows)
    return found + [{"goal": "random, told (not unknown), %, at least", "limit": LEAST_TOLD_PCT,
                     "worst": share, "median": share, "rows": len(rows),
                     "met": share >= LEAST_TOLD_PCT or len(rows) < LEAST_BANDS, "paper": None}]


def held_free(rows):
    """Of rows of the free bandwidth: {"cases", "held_pct"}."""
    within_it = sum(row["low_mb_s"] <= row["measured_mb_s"] <= row["high_mb_s"] for row in rows)
    return {"cases": len(rows), "held_pct": 100 * within_it / len(rows)}


def free_lines(rows):
    """(lines: errors and bands of the free bandwidth by kind, and the worst rows; whether the bands
    that are told hold as often as they should)"""
    lines = ["%-20s %5s %8s %8s" % ("free, random", "rows", "median%", "worst%")]
    by_kind = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    for kind, each in sorted(by_kind.items()):
        errors = sorted(map(off, each))
        lines.append("%-20s %5d %8.1f %8.1f" % (kind, len(each), statistics.median(errors),
                                                errors[-1]))
    lines += ["", "bands by kind, as these rows have them:"]
    for kind, each in sorted(by_kind.items()):
        ratios = [row["measured_mb_s"] / row["predicted_mb_s"] for row in each
                  if row["predicted_mb_s"]]
        lines.append("    \"%s\": (%.3f, %.3f),  # of %d" % (kind, *_five(ratios)))
    lines += ["", "worst:"] + ["%+7.1f %%: %s" % (row["error_pct"], row["name"])
                               for row in sorted(rows, key=off)[:-WORST - 1:-1]
                               if row["error_pct"] is not None]
    said, (low, high) = held_free(rows), HELD_PCT
    met = len(rows) < LEAST_BANDS or low <= said["held_pct"] <= high
    return lines + ["", "%s bands that hold: %.1f %% of %d, %g to %g asked of %d and more" % (
        "yes" if met else "NO ", said["held_pct"], said["cases"], low, high, LEAST_BANDS)], met


# Of which requests bands are told: how a row's keys begin
KINDS = {"all": "", "reads": "read_", "writes": "write_"}


def held(rows, of="all"):
    """Of the rows with a band: {"cases", "held_pct"}, None without any."""
    name = KINDS[of]
    told = [row for row in rows if row[name + "low_ms"] is not None and
            row["measured_%sms" % name] is not None]
    within_it = sum(row[name + "low_ms"] <= row["measured_%sms" % name] <= row[name + "high_ms"]
                    for row in told)
    return {"cases": len(told), "held_pct": 100 * within_it / len(told) if told else None}


def bands_goals(rows):
    """The verdicts on bands of what was drawn at random: of all requests, of reads, of writes, as
    far as there are enough."""
    found, (low, high) = [], HELD_PCT
    for of in KINDS:
        said = held(rows, of)
        if said["cases"] < LEAST_BANDS:
            continue
        found.append({"goal": "bands that hold, %s, %%, at least %g and at most" % (of, low),
                      "limit": high, "worst": said["held_pct"], "median": said["held_pct"],
                      "rows": said["cases"], "met": low <= said["held_pct"] <= high,
                      "paper": None})
    return found


def calibrated(rows):
    """{kind: {of which requests: (low, high, rows)}}: of measured over predicted response the 5 and
    the 95 of 100 that a row not among these exceeds as often."""
    by_kind = {}
    for row in rows:
        for of, name in KINDS.items():
            measured, predicted = row["measured_%sms" % name], row["predicted_%sms" % name]
            if measured is not None and predicted is not None:
                by_kind.setdefault(row["kind"], {}).setdefault(of, []).append(
                    measured / predicted)
    return {kind: {of: _five(ratios) for of, ratios in sorted(each.items())}
            for kind, each in sorted(by_kind.items())}


def _five(ratios):
    """(the 5 of 100 that is lowest, that is highest, how many there are). Of fewer than 20 the
    first and the last, and 1."""
    count, few = len(ratios), [1.0] * (len(ratios) < 20)
    ratios, rank = sorted(ratios + few), 0.05 * (count + 1)
    return (ratios[max(math.floor(rank) - 1, 0)], ratios[-max(math.floor(rank), 1)], count)


def bands_lines(rows):
    """Lines of prediction/bands.py, as rows have them."""
    lines = []
    for kind, each in calibrated(rows).items():
        lines.append("    \"%s\": {" % kind)
        lines.append("        " + ", ".join("\"%s\": (%.3f, %.3f, %d)" % (of, *band)
                                            for of, band in each.items()) + "},")
    return lines


def random_lines(rows):
    """Lines: errors of what was drawn at random, by what it was; and the worst of it."""
    lines = ["", "%-20s %5s %8s %8s %8s" % ("random", "rows", "median%", "90 of 100", "worst%")]
    groups = {"all": rows, "told": [row for row in rows if not row["unknown"]],
              "unknown": [row for row in rows if row["unknown"]]}
    first = [key for key, each in groups.items() if each]
    for row in rows:
        for key in (row["what"][1], row["policy"], "places: " + row["what"][8], "hits" if
                    row["measured_hit_share"] > 0.01 else "no hits"):
            groups.setdefault(key, []).append(row)
    for key in first + sorted(key for key in groups if key not in first and groups[key]):
        errors = sorted(map(off, groups[key]))
        lines.append("%-20s %5d %8.1f %8.1f %8.1f" % (
            key, len(errors), statistics.median(errors),
            errors[math.ceil(0.9 * len(errors)) - 1], errors[-1]))
    lines += ["", "bands by kind, as these rows have them:"] + bands_lines(rows)
    return lines + ["", "worst:"] + ["%+7.1f %%, +- %.1f: %s" % (
        row["error_pct"] if row["error_pct"] is not None else math.inf,
        100 * row["measured_se_ms"] / row["measured_ms"], row["name"])
        for row in sorted(rows, key=off)[:-WORST - 1:-1]]


def time_goal(rows):
    """The verdict on a prediction's time, ms."""
    middle = statistics.median(row["prediction_ms"] for row in rows)
    return {"goal": "ms of one prediction, processor, median", "limit": TIME_MS, "worst": middle,
            "median": middle, "rows": len(rows), "met": middle <= TIME_MS, "paper": "a few ms"}


def verdicts(rows):
    """Of all goals that rows are there for."""
    found = []
    tables = [row for row in rows if row["group"].startswith("table")]
    for group in dict.fromkeys(row["group"] for row in tables):
        found.append(within("%s, each workload" % group,
                            [row for row in tables if row["group"] == group], EACH_PCT,
                            PAPER["tables"]))
    if tables:
        found.append(median_goal(tables))
    sweep = [row for row in rows if row["group"] == "figure 6" and row["goal_pct"]]
    for policy in dict.fromkeys(row["policy"] for row in sweep):
        found.append(within("figure 6, %s, each utilisation, runs of 1 and 4" % policy,
                            [row for row in sweep if row["policy"] == policy], SWEEP_PCT,
                            PAPER["figure 6"]))
    others = [row for row in rows if row["group"] not in ("figure 6", writecells.GROUP) and
              row["goal_pct"] and row not in tables]
    found += apart_goals([row for row in rows if row["group"] == writecells.GROUP])
    for kind in dict.fromkeys((row["group"], row["goal_pct"]) for row in others):
        found.append(within("%s, each" % kind[0], [
            row for row in others if (row["group"], row["goal_pct"]) == kind], kind[1]))
    drawn = [row for row in rows if row["group"] == unseen.GROUP]
    found += random_goals(drawn) if drawn else []
    found += bands_goals(drawn)
    timed = [row for row in rows if row.get("prediction_ms") is not None]
    return found + ([time_goal(timed)] if timed else [])


def verdict_lines(found):
    """Verdicts for people."""
    lines = []
    for one in found:
        lines.append("%-3s %-48s %7.2f of %g; median %.2f%s%s" % (
            "yes" if one["met"] else "NO", one["goal"], one["worst"], one["limit"],
            one["median"], "; %d of %d within" % (one["rows_within"], one["rows"])
            if "rows_within" in one else "; %d rows" % one["rows"],
            "; " + one["paper"] if one["paper"] else ""))
        if "worst_row" in one:
            lines.append("    worst: " + one["worst_row"])
    return lines


def by_drive(rows):
    """Lines: median and largest error of each group on each drive."""
    lines = ["", "%-17s %-18s %5s %9s %8s  %s" % ("group", "drive", "rows", "median%", "worst%",
                                                  "worst row")]
    groups = {}
    for row in rows:
        groups.setdefault((row["group"], row["drive"]), []).append(row)
    for (group, drive), members in groups.items():
        worst = max(members, key=off)
        lines.append("%-17s %-18s %5d %9.2f %8.2f  %s" % (
            group, drive, len(members), statistics.median(map(off, members)), off(worst),
            worst["label"]))
    return lines


def select(cells, pattern):
    """Those whose name matches."""
    try:
        chosen = re.compile(pattern or "")
    except re.error as error:
        raise UsageError("--cell %s: %s" % (pattern, error)) from error
    return [one for one in cells if chosen.search(one.name)]
