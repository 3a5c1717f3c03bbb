# SPDX-License-Identifier: GPL-2.0
"""observe --predict: the simulator's figures beside those in closed form, and beside what a trace
says itself. Where two differ by more than their bands one of them is wrong, or the model is."""

from . import ToolError

OBSERVED = 0.15         # of a figure of observe's: its band (Documentation/setup.rst)


def row(what, observed, predicted, low, high):
    """A comparison; agree: whether the bands meet, None if one of both has nothing to say."""
    known = observed is not None and low is not None
    return {"what": what, "observed": observed, "predicted": predicted, "low": low, "high": high,
            "agree": bool(low <= observed * (1 + OBSERVED) and observed * (1 - OBSERVED) <= high)
            if known else None}


def beside(model, trace, found, device=None, unit=None):
    """Rows of what observe has `found` of a trace, read as this device and unit, and what predict
    tells of it. Both leave the drive's cache out."""
    from .prediction import answer, batch, question  # pylint: disable=import-outside-toplevel
    load = question.Load(trace, trace=trace, part=device, unit=unit)
    task = batch.Task(load, (question.Disk(model),),
                      answer.settings(None, None, None, scan=False))
    (said,) = batch.answers(task)
    if "error" in said:
        raise ToolError("--predict: %s" % said["error"])
    order, free = said["orders"]["sptf"], said["free"]
    band = order["response_ms"], order["response_low_ms"], order["response_high_ms"]
    return [row("mean response now, ms", found["now_mean_ms"], *band),
            row("mean response in the trace, ms", found["measured_mean_ms"], *band),
            row("free in gaps and idle time, MB/s", found["gaps_and_idle"]["free_mb_s"],
                free["fresh_mb_s"], free["fresh_low_mb_s"], free["fresh_high_mb_s"])]


def lines(rows):
    """For people."""
    told = ["", "%-34s %9s %9s  %s" % ("beside predict", "observed", "predicted", "9 of 10")]
    for each in rows:
        cells = ["-" if each[name] is None else "%.2f" % each[name]
                 for name in ("observed", "predicted", "low", "high")]
        told.append("%-34s %9s %9s  %s-%s%s" % (
            each["what"], *cells, "  THEY DIFFER" * (each["agree"] is False)))
    if any(each["agree"] is False for each in rows):
        told.append("What differs is doubtful: caches of the drive, another disk than the model's, "
                    "requests that wait")
        told.append("for each other, or a kind of requests that predict knows badly "
                    "(predict.rst, \"Bands\").")
    return told
