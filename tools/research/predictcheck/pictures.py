# SPDX-License-Identifier: GPL-2.0
"""Figure 6: the error over the utilisation, a line for each policy."""

import os

from freeblock import ToolError
from . import verdict

STYLES = {"fcfs": "o-", "look": "s--", "clook": "^-.", "sstf": "v:", "sptf": "D-"}


def draw(path, title, lines):
    """lines: {policy: [(utilisation, error in %)]}"""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ToolError("the pictures need matplotlib (make setup): %s" % error) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for policy, points in lines.items():
        axes.plot(*zip(*sorted(points)), STYLES[policy], label=policy, markersize=4)
    for limit in (-verdict.SWEEP_PCT, verdict.SWEEP_PCT):
        axes.axhline(limit, color="grey", linewidth=0.8)
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set_xlim(0, 0.9)
    axes.set_xlabel("utilisation, measured")
    axes.set_ylabel("error of the predicted mean response time, %")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    figure.savefig(path, dpi=100, bbox_inches="tight")
    pyplot.close(figure)


def figure_6(rows, out):
    """A picture for each drive and run length; their paths."""
    groups = {}
    for row in rows:
        if row["group"] == "figure 6" and row["error_pct"] is not None:
            groups.setdefault((row["drive"], row["what"][0]), {}).setdefault(
                row["policy"], []).append((row["measured_utilisation"], row["error_pct"]))
    paths = []
    for (drive, run), lines in groups.items():
        path = os.path.join(out, "figure6-%s-runs%d.png" % (drive, run))
        draw(path, "%s, 8 KiB reads, Poisson, runs of %d" % (drive, run), lines)
        paths.append(path)
    return paths
