# SPDX-License-Identifier: GPL-2.0
"""Disks as a table, a line each, or as cells, several a line: for `status` and `top`."""

import time
from dataclasses import dataclass

from .. import fbstate
from ..base.streams import one_line
from ..base.table import lines, number

HEAD = ("DISK", "USED", "TASK", "DONE", "MB/s", "LEFT", "ADDED TO A READ", "LAST PASS", "BAD",
        "WAITS FOR")
LEFT = [n for n, head in enumerate(HEAD) if head not in ("DONE", "MB/s", "LEFT", "BAD")]
# three on 79 columns
CELL_HEAD = "%-6s%6s%5s%7s " % ("DISK", "MB/s", "DONE", "ADD ms")
BETWEEN = "  "


@dataclass
class Row:
    """A disk. None: not known."""

    disk: str
    used: str = "-"                 # which times it reads in
    task: str = "-"
    done_pct: float = None          # of the task
    mb_s: float = None              # of all tasks
    left_s: int = None              # of the task
    cost: dict = None               # as of costs.cost()
    last_pass: str = None           # the day on which the last pass of the scrub ended
    bad: int = None                 # blocks
    waits_for: str = None           # what keeps it from reading, or from using gaps

    def added(self):
        """What free reads add, for people. Of a request where there are few reads."""
        if not self.cost or not self.cost["known"]:
            words = (self.cost or {}).get("words") or "not known"
            return words.partition(";")[0] + (", stopped" if self.is_stopped() else "")
        return "%.2f +- %.2f ms (%.1f %%)%s" % (
            self.cost["added_ms"], self.cost["error_ms"], self.cost["added_pct"],
            ", stopped" if self.is_stopped() else "")

    def is_stopped(self):
        """Whether the guard has stopped free reads for their cost."""
        return bool(self.cost and self.cost["stopped"])

    def in_trouble(self):
        """Whether somebody should look at it."""
        return bool(self.bad) or self.is_stopped() or self.used == "off"

    def words(self):
        """Its line's fields."""
        return (self.disk, self.used, self.task, number(self.done_pct, "%.1f %%"),
                number(self.mb_s, "%.1f"), fbstate.span(self.left_s), self.added(),
                self.last_pass or "-", number(self.bad, "%d"), self.waits_for or "-")

    def cell(self):
        """The same in few letters; "!": look at it."""
        known = self.cost and self.cost["known"]
        return "%-6s%6s%5s%7s%s" % (
            self.disk, number(self.mb_s, "%.1f"), number(self.done_pct, "%.0f%%"),
            "%.2f" % self.cost["added_ms"] if known else "-", "!" if self.in_trouble() else " ")


def used(one):
    """When a disk reads: in gaps of busy times, in idle time, or not at all; "-": nor is it to."""
    if one["stuck"] or not one["attached"]:
        return "off" if one["attached"] or one["tasks_count"] else "-"
    knowledge, free_reads = one["knowledge"], one["free_reads"]
    gaps = (knowledge or "").partition(":")[0] == "map" and free_reads == "on"
    return "gaps, idle" if gaps else "idle"


def task_word(tasks):
    """Its tasks, (name, state) each, or their number."""
    if not tasks:
        return "-"
    if isinstance(tasks, int):
        return "%d task%s" % (tasks, "s" * (tasks > 1))
    name, state = tasks[0]
    return name + ("" if state == "running" else " " + state) + (
        " +%d" % (len(tasks) - 1) if len(tasks) > 1 else "")


def waits_for(one, idle):
    """What keeps a disk from reading, or from using gaps; None: nothing does. That a disk never had
    a map is no reason to wait."""
    if one["stuck"] or one["held"]:
        return one["stuck"] or one["held"]
    why, command = one["unmapped"] or ("", None)
    if command:
        return why
    for words in (idle, None if why else one["free_reads"]):
        state, _, why = (words or "").partition(": ")
        if state in ("off", "paused") and why:
            return why
    return None


def day(seconds):
    """The date of a moment; "never" for None."""
    return "never" if seconds is None else time.strftime("%Y-%m-%d", time.localtime(seconds))


def _sum(values):
    """Of those that are known; None: none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def total(rows):
    """A line about all of them."""
    troubled = sum(row.in_trouble() for row in rows)
    return "%d disk%s, %s MB/s, %s bad blocks, %s" % (
        len(rows), "s" * (len(rows) != 1), number(_sum(row.mb_s for row in rows), "%.1f"),
        number(_sum(row.bad for row in rows), "%d"),
        "%d to look at" % troubled if troubled else "all well")


def table(rows):
    """Lines: the header, a line a row, the total."""
    words = [tuple(map(one_line, row.words())) for row in rows]
    return lines(HEAD, words, LEFT) + [total(rows)]


def cells(rows, width):
    """The same with several disks a line, read from left to right."""
    columns = max((width + len(BETWEEN)) // (len(CELL_HEAD) + len(BETWEEN)), 1)
    shown = [row.cell() for row in rows]
    return [BETWEEN.join([CELL_HEAD] * min(columns, max(len(rows), 1)))] + [
        BETWEEN.join(shown[i:i + columns]).rstrip() for i in range(0, len(shown), columns)
    ] + [total(rows)]
