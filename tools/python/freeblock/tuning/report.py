# SPDX-License-Identifier: GPL-2.0
"""Results for people."""

from ..streams import one_line
from .compare import used_at


def number(value, form="%.4g"):
    """A number, or - for none."""
    return "-" if value is None else form % value


def table(head, rows):
    """Lines of a table; the first column to the left."""
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    return ["  ".join(cell.ljust(width) if n == 0 else cell.rjust(width)
                      for n, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in cells]


def text(result):
    """All about a trace."""
    lines = [one_line(result["trace"]), ""]
    if "policies" in result:
        lines += best_lines(result) + [""]
    if result["caveat"]:
        lines += ["caution: " + result["caveat"], ""]
    lines += statistics(result["statistics"])
    if "policies" in result:
        lines += [""] + policies(result["policies"])
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
    period, acf = found["period"], found["autocorrelation"]
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
    lines.append("period: none" if period["period_h"] == 1 else
                 "period: %d h (F %.4g, p 10^%.0f)" % (
                     period["period_h"], period["f"], period["log10_p"]))
    lines.append("autocorrelation: %s; lag 1 %.3f, %d of %d lags beyond the 95 %% band" % (
        "strong" if acf["strong"] else "weak", acf["acf"][1] if len(acf["acf"]) > 1 else 0,
        acf["beyond_band"], len(acf["acf"]) - 1))
    lines.append("")
    return lines + table(
        ["after idling", "more, mean", "1st percentile", "idle time left", "intervals left"],
        [["%g s" % one["waited_s"], number(one["expected_s"]) + " s",
          number(one["percentile_1_s"]) + " s", "%.1f %%" % (100 * one["usable"]),
          "%.2f %%" % (100 * one["longer"])] for one in found["remaining"]])


# Collisions in % of the idle intervals for which idle time is told
RATES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def policies(found):
    """The figure 14."""
    curves, verdict = found["curves"], found["verdict"]
    lines = ["idle time used, %% (AR of order %d)" % found["ar_order"]]
    lines += table(["collisions in % of intervals"] + ["%g" % rate for rate in RATES],
                   [[name] + [number(percent(used_at(points, rate / 100)), "%.1f")
                              for rate in RATES] for name, points in curves.items()])
    if verdict["lossless_of_oracle"] is not None:
        lines.append("Lossless Waiting uses at least %.2f %% of what Oracle uses" %
                     (100 * verdict["lossless_of_oracle"]))
    for name, value in verdict.items():
        other = name.replace("waiting_ahead_of_", "")
        if value is None and other != name:
            lines.append("Waiting never has as many collisions as %s" % other)
        elif other != name:
            lines.append("Waiting is ahead of %s by at least %.2f %% of the idle time" % (
                other, 100 * value))
    return lines


def percent(share):
    """A share in %; None stays."""
    return None if share is None else 100 * share


def setting(one):
    """A row of sizes()."""
    more = ", ".join("%s %g" % (name, one[key]) for key, name in (
        ("factor", "factor"), ("more_kib", "plus KiB"), ("switch_s", "after s")) if key in one)
    if one["wait_us"] is None:
        return [one["approach"], one["size_kib"], "-", "-", "-", "-", more]
    return [one["approach"], one["size_kib"], "%.1f" % (one["wait_us"] / 1000),
            "%.2f" % one["mb_s"], "%.3f" % (one["mean_slowdown_us"] / 1000),
            "%.1f" % (one["max_slowdown_us"] / 1000), more]


def sizes(result):
    """The figure 15 at the goal, and table III."""
    rows = result["fixed"]
    shown = rows if len(rows) <= 12 else \
        [one for n, one in enumerate(rows) if n % 8 == 0 or one is result["best"] or
         n == len(rows) - 1]
    shown = shown + [one for one in (result.get("adaptive") or {}).values() if one]
    return table(["approach", "KiB", "wait ms", "MB/s", "mean ms", "most ms", ""],
                 [setting(one) for one in shown])


def table2(rows):
    """The paper's table II beside what is generated."""
    return "\n".join(table(
        ["disk", "intervals", "requests", "mean s", "paper", "variance", "paper", "CoV", "paper"],
        [[one["name"], one["intervals"], one["requests"], number(one["mean_s"]),
          number(one["paper_mean_s"]), number(one["variance_s2"], "%.5g"),
          number(one["paper_variance_s2"], "%.5g"), number(one["cov"], "%.5g"),
          number(one["paper_cov"], "%.5g")] for one in rows]))
