# SPDX-License-Identifier: GPL-2.0
"""Which parameters of a drive's description matter: each is left out in turn, so that its default
holds, and the trace is replayed without it."""

import os

from freeblock import ToolError, fbdrive
from . import replay, score

# Not parameters, or nothing works without them
KEPT = {"fbdrive", "vendor", "product", "revision", "serial", "seed", "noise", "sector_bytes",
        "period_ps", "heads", "order", "zone", "seek"}
BY_KIND = {"overhead_ns"}       # several lines, told apart by their first word
LEAST = 0.05                    # of the mean, %: no difference below it
LEAST_RECORDS = 100             # a few responses are as good without a parameter by chance


def parameter(line):
    """The parameter that a line of a description sets; None of what is kept."""
    words = next(fbdrive.lines([line]), None)
    if not words or words[0] in KEPT:
        return None
    return " ".join(words[:2]) if words[0] in BY_KIND else words[0]


def without(text, name):
    """A description without a parameter."""
    return "".join(line + "\n" for line in text.split("\n") if parameter(line) != name)


def effects(path, records, think, out):
    """{parameter: by how many % of the mean response the demerit figure grows without it; None if
    there is no such drive without it}; ToolError of a trace that is too short"""
    if len(records) < LEAST_RECORDS:
        raise ToolError("a trace of %d requests: of fewer than %d it cannot be told what a "
                        "parameter is worth" % (len(records), LEAST_RECORDS))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    measured = [record.response_ns for record in records]
    whole = score.compare(measured, replay.responses(path, records, think))["demerit_pct"]
    found, less = {}, os.path.join(out, "without.fbdrive")
    for name in dict.fromkeys(filter(None, map(parameter, text.split("\n")))):
        with open(less, "w", encoding="utf-8") as file:
            file.write(without(text, name))
        try:
            simulated = replay.responses(less, records, think)
        except ToolError:
            found[name] = None
            continue
        found[name] = score.compare(measured, simulated)["demerit_pct"] - whole
    os.remove(less)
    return found


def lines(drives):
    """A table for people; drives: {name: its effects()}. What makes no difference anywhere is
    named below it."""
    names = list(dict.fromkeys(name for each in drives.values() for name in each))
    shown = [name for name in names if any(
        each.get(name, 0) is None or abs(each.get(name, 0)) >= LEAST for each in drives.values())]
    wide = max(map(len, shown), default=0)
    said = ["%-*s %s" % (wide, "without", " ".join("%11s" % drive for drive in drives))]
    for name in shown:
        cells = ("%11s" % ("needed" if value is None else "%+.1f" % value if abs(value) >= LEAST
                           else ".") for value in (each.get(name, 0) for each in drives.values()))
        said.append("%-*s %s" % (wide, name, " ".join(cells)))
    return said + ["no difference: %s" % ", ".join(name for name in names if name not in shown)]
