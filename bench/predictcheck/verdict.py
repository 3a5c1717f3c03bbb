# SPDX-License-Identifier: GPL-2.0
"""What rows come to: tables for people, and whether the goals are met."""

import re
import statistics

from freeblock import UsageError

# What is asked of each row of a group, whose error may be so many % to either side; of the median
# of each group; ms of a prediction, median
EACH_PCT = {"table 3": 10.0, "table 5": 10.0, "table 6": 10.0, "figure 6": 12.0,
            "beyond the paper": 10.0, "gaps": 20.0, "gaps and idle time": 20.0}
MEDIAN_PCT = {"gaps": 10.0, "gaps and idle time": 10.0}
MEDIAN_OTHERS_PCT = 3.0
TIME_MS = 5.0
# The error of a table's rows, with its sign: a model that is wrong one way shows
BIAS_PCT = {"gaps": 10.0, "gaps and idle time": 10.0}
BIAS_OTHERS_PCT = 2.0


def off(row):
    """How far off a row is, %."""
    return abs(row["error_pct"])


def table(rows):
    """Lines: a heading for each group and drive. What is unknown has its error in brackets."""
    width = max([len(row["label"]) for row in rows] + [8])
    lines, said = [], None
    for row in rows:
        heading = "%s, %s" % (row["group"], row["drive"])
        unit = "ms" if "measured_ms" in row else "mb_s"
        if heading != said:
            said = heading
            lines += ["", said, "%-*s %10s %10s %8s %6s %7s" % (
                width, "workload", "measured", "predicted", "error%", "+-", "paper%")]
        error = "%+.1f" % row["error_pct"]
        lines.append("%-*s %10.3f %10.3f %8s %6s %7s" % (
            width, row["label"], row["measured_" + unit], row["predicted_" + unit],
            "(%s)" % error if row["unknown"] else error,
            "-" if row["error_se_pct"] is None else "%.1f" % row["error_se_pct"],
            "-" if row["paper_error_pct"] is None else "%.1f" % row["paper_error_pct"]))
    return lines


def _goal(name, value, limit, rows, worst=None):
    return {"goal": name, "limit": limit, "value": value, "rows": rows, "worst_row": worst,
            "met": value <= limit}


def verdicts(rows):
    """Of all goals that rows are there for. Rows that are unknown have none."""
    found = []
    for group in dict.fromkeys(row["group"] for row in rows):
        told = [row for row in rows if row["group"] == group and not row["unknown"]]
        if not told:
            continue
        worst, count = max(told, key=off), len(told)
        found += [
            _goal("%s, each, %%" % group, off(worst), EACH_PCT[group], count, worst["name"]),
            _goal("%s, median, %%" % group, statistics.median(map(off, told)),
                  MEDIAN_PCT.get(group, MEDIAN_OTHERS_PCT), count),
            _goal("%s, median with its sign, %%" % group, abs(statistics.median(
                row["error_pct"] for row in told)), BIAS_PCT.get(group, BIAS_OTHERS_PCT), count)]
    timed = [row["prediction_ms"] for row in rows if "measured_ms" in row]
    return found + ([_goal("ms of one prediction, processor, median", statistics.median(timed),
                           TIME_MS, len(timed))] if timed else [])


def verdict_lines(found):
    """Verdicts for people."""
    return ["%-3s %-48s %7.2f of %g; %d rows%s" % (
        "yes" if one["met"] else "NO", one["goal"], one["value"], one["limit"], one["rows"],
        "; worst: " + one["worst_row"] if one["worst_row"] else "") for one in found]


def select(cells, pattern):
    """Those whose name matches."""
    try:
        chosen = re.compile(pattern or "")
    except re.error as error:
        raise UsageError("--cell %s: %s" % (pattern, error)) from error
    return [one for one in cells if chosen.search(one.name)]
