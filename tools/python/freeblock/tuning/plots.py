# SPDX-License-Identifier: GPL-2.0
"""The paper's figures 8 to 15 as pictures."""

import os
import re

from ..plot import pyplot

MARKS = "osv^Dx+*"
MARKERS = {"markersize": 3, "linewidth": 1}


def name_of(trace):
    """A trace in a file's name."""
    return re.sub(r"[^\w.-]+", "-", os.path.basename(trace))


def picture(path, title, across, up, lines, log=""):
    """One plot of lines {label: [(x, y), ...]}."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(6.4, 4.8))
    for number, (label, points) in enumerate(lines.items()):
        points = [(x, y) for x, y in points if y is not None and (y > 0 or "y" not in log)]
        axis.plot([x for x, _ in points], [y for _, y in points], label=label,
                  marker=MARKS[number % len(MARKS)], **MARKERS)
    if "x" in log:
        axis.set_xscale("log")
    if "y" in log:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_title(title, fontsize="medium")
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    axis.grid(alpha=0.3)
    if 1 < len(lines) <= 20:
        axis.legend(fontsize="small")
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)
    return path


def bars(path, title, across, up, values):
    """How often there is each of some whole numbers."""
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(6.4, 4.8))
    axis.hist(values, bins=[n + 0.5 for n in range(max(values + [24]) + 1)])
    axis.set_title(title, fontsize="medium")
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)
    return path


def of_trace(folder, result):
    """Figures 8, 14 and 15: one of each trace."""
    name = name_of(result["trace"])
    series = result["series"]
    made = [picture(os.path.join(folder, "figure-08-%s.png" % name), "Requests per hour: " + name,
                    "hour", "requests", {name: list(enumerate(series["requests_by_hour"]))})]
    if "policies" not in result:
        return made
    made.append(picture(
        os.path.join(folder, "figure-14-%s.png" % name), "Idle time used: " + name,
        "collisions per request", "share of idle time", {
            label: [(one["collision_rate"], one["idle_used"]) for one in points]
            for label, points in result["policies"]["curves"].items()}))
    made.append(picture(
        os.path.join(folder, "figure-15-%s.png" % name), "Sizes: " + name, "mean slowdown, ms",
        "MB/s", {label: [(one["mean_slowdown_us"] / 1000, one["mb_s"]) for one in points
                         if one["mean_slowdown_us"] <= 4 * result["goals"]["mean_us"]]
                 for label, points in result["tradeoff"].items()}))
    return made


def of_all(folder, results):
    """Figures 9 to 13: all traces in one."""
    periods = [one["statistics"]["period"]["period_h"] for one in results]
    series = {name_of(one["trace"]): one["series"] for one in results}
    made = [bars(os.path.join(folder, "figure-09.png"), "Periods by ANOVA (1: none)", "period, h",
                 "traces", periods),
            picture(os.path.join(folder, "figure-10.png"), "Idle time in the longest intervals",
                    "longest intervals, %", "share of idle time",
                    {name: [(100 * x, y) for x, y in one["longest"]]
                     for name, one in series.items()})]
    for number, key, title in ((11, "expected", "Expected idle time remaining, s"),
                               (12, "percentile_1", "1st percentile of idle time remaining, s"),
                               (13, "usable", "Share of idle time remaining")):
        made.append(picture(os.path.join(folder, "figure-%d.png" % number), title, "idle for, s",
                            title, {name: list(zip(one["waited_s"], one[key]))
                                    for name, one in series.items()},
                            "x" if key == "usable" else "xy"))
    return made
