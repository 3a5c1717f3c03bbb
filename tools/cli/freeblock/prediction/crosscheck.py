# SPDX-License-Identifier: GPL-2.0
"""observe --predict: the simulator's figures beside those in closed form, and beside what a trace
says itself. Where two differ by more than both may be off one is wrong, or the model is."""

from .. import ToolError

OFF = 0.15              # of a figure, of either (Documentation/predict.rst)


def row(what, observed, predicted):
    """A comparison; agree: whether the two are within OFF of each other, None if one has nothing
    to say."""
    known = observed is not None and predicted is not None
    return {"what": what, "observed": observed, "predicted": predicted,
            "agree": bool(predicted * (1 - OFF) <= observed * (1 + OFF) and
                          observed * (1 - OFF) <= predicted * (1 + OFF)) if known else None}


def beside(model, trace, found, device=None, unit=None):
    """Rows of what observe has `found` of a trace, read as this device and unit, and what predict
    tells of it. Both leave the drive's cache out."""
    from . import answer, question  # pylint: disable=import-outside-toplevel
    load = question.Load(trace, trace=trace, part=device, unit=unit)
    said = answer.answer((question.Disk(model), load, answer.settings()))
    if "error" in said:
        raise ToolError("--predict: %s" % said["error"])
    response, free = said["orders"]["sptf"]["response_ms"], said["free"]
    return [row("mean response now, ms", found["now_mean_ms"], response),
            row("mean response in the trace, ms", found["measured_mean_ms"], response),
            row("free in gaps and idle time, MB/s", found["gaps_and_idle"]["free_mb_s"],
                free["fresh_mb_s"])]


def lines(rows):
    """For people."""
    told = ["", "%-34s %9s %9s" % ("beside predict", "observed", "predicted")]
    for each in rows:
        cells = ["-" if each[name] is None else "%.2f" % each[name]
                 for name in ("observed", "predicted")]
        told.append("%-34s %9s %9s%s" % (
            each["what"], *cells, "  THEY DIFFER" * (each["agree"] is False)))
    if any(each["agree"] is False for each in rows):
        told.append("What differs is doubtful: caches of the drive, another disk than the model's, "
                    "requests that wait")
        told.append("for each other, or a kind of requests that predict knows badly "
                    "(predict.rst).")
    return told
