# SPDX-License-Identifier: GPL-2.0
"""The bench's rows: what was asked, what the paper has, what was measured."""

import datetime
import json
import os
import statistics
from dataclasses import asdict, dataclass

from freeblock import ToolError
from freeblock.base import safe_file
from .. import commit


class Figure:
    """A part of the bench: what is measured, and rows of it.

    name, title; of the simulator cells(effort) -> {key: cell} and rows(got, cells), else
    measure(quick, out, through) and rows(measured). said: {a row's name: (what the paper says, an
    independent prototype, least, most, goal), or as many of these}."""

    said = {}

    def told(self, rows):
        """The rows, with what is said of them."""
        rows = list(rows)
        for row in rows:
            for name, value in zip(("paper", "reference", "least", "most", "goal"),
                                   self.said.get(row.name, ())):
                setattr(row, name, value)
        return rows

    @staticmethod
    def pictures(_):
        """(name, plots) of each picture; none."""
        return ()


# Of a run of the simulator

def below(low, high):
    """How far `low` is below `high`, per cent."""
    return 100 * (1 - low / high)


def rate(result):
    """Requests per second."""
    return result["requests_per_s"]


def free(result):
    """Free bandwidth, mean of the run."""
    return result["free_mb_s"]


def first(result):
    """Free bandwidth of the first tenth, or of the run if that is not reached."""
    return (result["mb_s_by_tenth"] or [result["free_mb_s"]])[0]


def last_tenth(result):
    """Its share of a scan's time: each tenth has as many blocks."""
    times = [1 / speed for speed in result["mb_s_by_tenth"]]
    return times[-1] / sum(times)


def error_of_mean(values):
    """Its standard error."""
    return statistics.stdev(values) / len(values) ** .5


MET, MISSED, UNASKED, UNMEASURED = "met", "missed", "-", "not measured"


@dataclass
class Row:
    """One number. `paper` and `reference` are texts; `least` and `most` what was asked."""

    name: str
    value: float
    unit: str
    paper: str = ""
    reference: str = ""
    command: str = ""
    least: float = None
    most: float = None
    goal: str = ""
    figure: str = ""
    date: str = ""
    commit: str = ""

    def verdict(self):
        """Whether it is what was asked."""
        if self.value is None:
            return UNMEASURED
        if self.least is None and self.most is None:
            return UNASKED
        low = self.least is not None and self.value < self.least
        high = self.most is not None and self.value > self.most
        return MISSED if low or high else MET

    def asked(self):
        """The bounds as a text."""
        if self.least is not None and self.most is not None:
            return "%g to %g" % (self.least, self.most)
        if self.least is not None:
            return ">= %g" % self.least
        return "<= %g" % self.most if self.most is not None else ""

    def record(self):
        """The row as an object of summary.json."""
        return {**asdict(self), "asked": self.asked(), "verdict": self.verdict()}


def stamp(rows, figure):
    """Say of rows where and when they come from."""
    today, tree = datetime.date.today().isoformat(), commit()
    for row in rows:
        row.figure, row.date, row.commit = figure, today, tree
        row.command = row.command or "tools/freeblock-bench bench --figure " + figure


def load(path):
    """The records of a summary; none when there is no such file."""
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8") as file:
            records = json.load(file)
        return [dict(record, figure=record["figure"], name=record["name"]) for record in records]
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError("%s: not a summary of the bench: %r" % (path, error)) from error


def merge(path, figure, rows):
    """Put a figure's rows into a summary, in the place of those it had."""
    kept = [record for record in load(path) if record["figure"] != figure]
    fresh = [row.record() for row in rows]
    names = [record["name"] for record in kept + fresh]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ToolError("two rows are called: " + ", ".join(sorted(twice)))
    with safe_file.whole_file(path) as file:
        file.write((json.dumps(kept + fresh, indent=1) + "\n").encode())


def shown(value):
    """A value in a table: three digits that count."""
    if value is None:
        return "-"
    size = abs(value)
    return "%.0f" % value if size >= 1000 else "%.3g" % value if size >= 0.1 else "%.2f" % value


def cells(records):
    """Texts of a table's rows."""
    return [(r["name"], ("%s %s" % (shown(r["value"]), r["unit"])).strip(), r["paper"],
             r["reference"], r["asked"], r["verdict"]) for r in records]


def table(records):
    """Lines of a table, as reStructuredText has it."""
    lines = [("what", "measured", "paper", "reference", "asked", "")] + cells(records)
    widths = [max(4, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    rule = " ".join("=" * width for width in widths)
    text = [" ".join("%-*s" % pair for pair in zip(widths, line)).rstrip() for line in lines]
    return [rule, text[0], rule, *text[1:], rule]
