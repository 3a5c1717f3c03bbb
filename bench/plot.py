# SPDX-License-Identifier: GPL-2.0
"""The bench's pictures."""

from freeblock import ToolError


def pyplot():
    """matplotlib's, drawing into files."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ToolError("the pictures need matplotlib (make setup): %s" % error) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as found  # pylint: disable=import-outside-toplevel
    return found


def panels(path, title, plots):
    """Some plots, four to a line.

    plots: [{title, x, y, lines: {label: [(x, y), ...]}, steps (a histogram), log,
    points (no lines between them)}]"""
    plt = pyplot()
    wide = min(len(plots), 4)
    high = -(-len(plots) // wide)
    figure, axes = plt.subplots(high, wide, figsize=(6.4 * wide, 4.8 * high), squeeze=False)
    for axis in axes.flat[len(plots):]:
        axis.set_visible(False)
    for axis, plot in zip(axes.flat, plots):
        for number, (label, points) in enumerate(plot["lines"].items()):
            draw = axis.step if plot.get("steps") else axis.plot
            style = {"where": "post"} if plot.get("steps") else {"marker": "osv^Dx+*"[number % 8],
                                                                 "markersize": 4}
            if plot.get("points"):
                style["linestyle"] = ""
            draw([x for x, _ in points], [y for _, y in points], label=label, **style)
        axis.set_title(plot.get("title", ""))
        axis.set_xlabel(plot["x"])
        axis.set_ylabel(plot["y"])
        if plot.get("log"):
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    figure.suptitle(title)
    figure.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(figure)
