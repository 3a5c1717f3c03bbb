# SPDX-License-Identifier: GPL-2.0
"""Results for people."""

from ..base import table
from ..base.streams import one_line
from ..base.table import number


def text(result):
    """All about a trace."""
    lines = [one_line(result["trace"]), ""]
    if "fixed" in result:
        lines += best_lines(result) + [""]
    if result["caveat"]:
        lines += ["caution: " + result["caveat"], ""]
    lines += statistics(result["statistics"])
    if "fixed" in result:
        lines += [""] + sizes(result)
    return "\n".join(lines) + "\n"


def best_lines(result):
    """What to set."""
    goals = "mean slowdown %g ms, maximum %g ms" % (result["goals"]["mean_us"] / 1000,
                                                    result["goals"]["max_us"] / 1000)
    best = result["best"]
    if not best:
        why = "no request size ends within the maximum" if not result["fixed"] else \
            "no wait and size scrub at all and keep it"
        return ["nothing satisfies %s: %s" % (goals, why)]
    return ["best for %s (service: %s)" % (goals, result["service"]),
            "    idle_wait_us %d, idle_size_kib %d: %.2f MB/s, slowdown %.3f ms mean, %.1f ms most,"
            " collisions %.2f %%" % (best["wait_us"], best["size_kib"], best["mb_s"],
                                     best["mean_slowdown_us"] / 1000,
                                     best["max_slowdown_us"] / 1000,
                                     100 * best["collision_rate"])]


def statistics(found):
    """The section V.A."""
    lines = ["%d requests in %.1f h, idle %.1f %% of the time in %d intervals" % (
        found["requests"], found["duration_s"] / 3600, 100 * found["idle_share"],
        found["intervals"])]
    if found["modelled_requests"]:
        lines.append("the trace has no response times: those of the drive's model")
    lines.append("idle intervals: mean %.4g s, variance %.5g s^2, CoV %.4g, longest %.4g s" % (
        found["mean_s"], found["variance_s2"], found["cov"], found["longest_s"]))
    lines.append("idle time in the longest: " + ", ".join(
        "%g %%: %.1f %%" % (100 * one["intervals"], 100 * one["idle_time"])
        for one in found["longest"]))
    return lines + [""] + table.lines(
        ["after idling", "more, mean", "1st percentile", "idle time left", "intervals left"],
        [["%g s" % one["waited_s"], number(one["expected_s"]) + " s",
          number(one["percentile_1_s"]) + " s", "%.1f %%" % (100 * one["usable"]),
          "%.2f %%" % (100 * one["longer"])] for one in found["remaining"]])


def setting(one):
    """A row of sizes()."""
    if one["wait_us"] is None:
        return [one["size_kib"], "-", "-", "-", "-"]
    return [one["size_kib"], "%.1f" % (one["wait_us"] / 1000), "%.2f" % one["mb_s"],
            "%.3f" % (one["mean_slowdown_us"] / 1000), "%.1f" % (one["max_slowdown_us"] / 1000)]


def sizes(result):
    """What each size brings at the goal; of many, some."""
    rows = result["fixed"]
    shown = rows if len(rows) <= 12 else \
        [one for n, one in enumerate(rows) if n % 8 == 0 or one is result["best"] or
         n == len(rows) - 1]
    return table.lines(["KiB", "wait ms", "MB/s", "mean ms", "most ms"],
                       [setting(one) for one in shown])
