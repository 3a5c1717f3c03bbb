# SPDX-License-Identifier: GPL-2.0
"""What the disks do, live in a terminal: how fast tasks read, where, what is left of them, what
that costs the foreground, and why nothing is read. In details where these fit the screen, else a
line a disk, else several disks a line.
"""

import curses
import sys
import textwrap
import time
from dataclasses import dataclass

from .. import ToolError, fbstate, need_range
from ..base import advice
from ..base.streams import one_line
from ..machine import due, waits
from ..state import costs, disktable, health

SECTOR = 512
# of a line, if no terminal says it; of the disk's name in it; of the rest at least
WIDTH, INDENT, LEAST = 80, 9, 20
# Sectors of free reads, each in one
SENT = ("prepend_sectors", "separate_sectors", "idle_sectors", "hurried_sectors",
        "promoted_sectors")
COUNTERS = ("free_sectors", *SENT, "idle_us", "idle_used_us")
HELP = "freeblock top: every %g s; q ends, v view, s sort, f filter; %s"
VIEWS = ("details", "table", "cells")
SORTS = {"name": lambda row: (len(row.disk), row.disk), "rate": lambda row: -(row.mb_s or 0),
         "cost": lambda row: -((row.cost or {}).get("added_ms") or 0),
         "time left": lambda row: -(row.left_s or 0)}
FILTERS = {"all disks": lambda row: True, "disks to look at": disktable.Row.in_trouble,
           "disks with tasks": lambda row: row.task != "-"}


def look(disk):
    """All that is shown of a disk, but rates."""
    counters = disk.counters()
    return {"disk": disk.name, "sample": costs.sample(disk.name),
            "cost": costs.cost(disk), "bad_blocks": disk.value("state/bad_blocks"),
            "last_pass": due.last_pass(disk.name), "stuck": disk.stuck(),
            "held": waits.read(disk.name),
            "counters": {name: counters.get(name) for name in COUNTERS},
            "jobs": {name: disk.job(name) for name in fbstate.JOBS},
            "tasks_count": disk.value("tasks"),
            "hindrance": disk.hindrance(), "attached": disk.attached(),
            "knowledge": disk.state("knowledge"), "unmapped": disk.unmapped(),
            "free_reads": disk.state("free_reads"), "idle": disk.state("idle")}


def _grew(now, before, name):
    return costs.grew(now["counters"], before["counters"], name)


def _share(part, of_all):
    return "-" if part is None or not of_all else "%.0f %%" % min(100 * part / of_all, 100)


def work_words(name, job):
    """The scan, or the scrub; nothing before the first."""
    share = health.share_pct(job)
    if share is None:
        return None
    words = "%s %s, %.1f %%" % (name, job["state"], share)
    if job["state"] == "running":
        words += ", left %s" % fbstate.span(health.remaining_s(job))
    return words


def _stuck_lines(hindrance):
    """Why nothing is read, and, on a line of its own, so that it can be copied, what to do."""
    why, command = hindrance
    return ["not scheduling: " + why] + ([advice.RUN + command] if command else [])


def _texts(now, before):
    """What is said of one disk, from two looks at it: a list of texts."""
    if not now["attached"]:
        return ["tasks that wait: %d" % (now["tasks_count"] or 0),
                *_stuck_lines(now["hindrance"] or (
                    advice.ANOTHER, advice.scheduling(advice.ANOTHER, now["disk"])))]
    seconds = now["sample"]["at"] - before["sample"]["at"]
    free, idle = (_grew(now, before, key) for key in ("free_sectors", "idle_sectors"))
    sent = [_grew(now, before, key) for key in SENT]
    share = _share(idle, None if None in sent else sum(sent))
    requests = costs.counted(now["sample"], before["sample"])["requests"]
    work = [words for words in (work_words(*job) for job in now["jobs"].items()) if words]
    return [
        "%s MB/s, %s of it in idle time" % (
            "-" if free is None or seconds <= 0 else "%.1f" % (free * SECTOR / 1e6 / seconds),
            share),
        "foreground %s/s; %s" % (
            "-" if requests is None or seconds <= 0 else "%.1f" % (requests / seconds),
            costs.short(now["cost"])),
        "; ".join(work + ["tasks: %d" % (now["tasks_count"] or 0)]),
        *(_stuck_lines(now["hindrance"]) if now["hindrance"] else [
            "%s; idle time: %s, %s of it used" % (
                "knowledge: " + now["knowledge"] if now["unmapped"] else
                "gaps: %s" % (now["free_reads"] or "-"), now["idle"] or "-",
                _share(_grew(now, before, "idle_used_us"), _grew(now, before, "idle_us"))),
            *([advice.RUN + now["unmapped"][1]] if (now["unmapped"] or ("", None))[1] else [])])]


def lines(now, before, width=WIDTH):
    """What is said of one disk, from two looks at it, in lines of this width."""
    indent = max(len(now["disk"]) + 1, INDENT)
    found = [line for text in _texts(now, before) for line in textwrap.wrap(
        text, width=max(width - indent, LEAST), break_on_hyphens=False)]
    return ["%-*s%s" % (indent, "" if row else now["disk"], line)
            for row, line in enumerate(found)]


def row(now, before):
    """A disk as a line of a table, from two looks at it."""
    seconds, free = now["sample"]["at"] - before["sample"]["at"], _grew(now, before, "free_sectors")
    jobs = [(name, job) for name, job in now["jobs"].items()
            if job.get("state") in health.UNFINISHED]
    job = jobs[0][1] if jobs else {}
    return disktable.Row(
        now["disk"], disktable.used(now),
        disktable.task_word([(name, job["state"]) for name, job in jobs] or
                                now["tasks_count"]),
        health.share_pct(job),
        None if free is None or seconds <= 0 else free * SECTOR / 1e6 / seconds,
        health.remaining_s(job), now["cost"], disktable.day(now["last_pass"]),
        now["bad_blocks"],
        disktable.waits_for(now, now["idle"]))


@dataclass
class View:
    """What of it is shown, and how."""

    view: str = None                # one of VIEWS; None: the first whose lines fit
    sort: str = "name"
    filter: str = "all disks"
    first: int = 0                  # line

    def words(self):
        """For the first line of the screen."""
        return "by %s, %s" % (self.sort, self.filter)

    def key(self, key, height):
        """A key was pressed. False: one that means nothing."""
        steps = {curses.KEY_DOWN: 1, curses.KEY_UP: -1, curses.KEY_NPAGE: height - 2,
                 curses.KEY_PPAGE: 2 - height}
        if key in steps:
            self.first = max(self.first + steps[key], 0)
        elif key == ord("v"):
            self.view = _next((None, *VIEWS), self.view)
        elif key == ord("s"):
            self.sort = _next(tuple(SORTS), self.sort)
        elif key == ord("f"):
            self.filter = _next(tuple(FILTERS), self.filter)
        else:
            return False
        return True

    def page(self, now, before, width=WIDTH, height=None):
        """The lines of all disks that pass the filter; one that was not there a moment ago is shown
        from the next time on. height: lines of the screen for them; None: no matter."""
        old = {one["disk"]: one for one in before}
        pairs = [(row(one, old[one["disk"]]), one, old[one["disk"]])
                 for one in now if one["disk"] in old]
        if not pairs:
            return ["no disk has the scheduler freeblock", advice.enable(fbstate.suited())]
        pairs = sorted((pair for pair in pairs if FILTERS[self.filter](pair[0])),
                       key=lambda pair: SORTS[self.sort](pair[0]))
        rows = [pair[0] for pair in pairs]
        made = {"details": lambda: [line for _, one, was in pairs
                                    for line in lines(one, was, width)],
                "table": lambda: disktable.table(rows),
                "cells": lambda: disktable.cells(rows, width)}
        for view in VIEWS if self.view is None else (self.view,):
            found = made[view]()
            if height is None or len(found) <= height:
                break
        return [one_line(line) for line in found]


def _next(words, word):
    return words[(words.index(word) + 1) % len(words)]


def looks(named):
    """A look at each disk; none, if those named have gone."""
    return [look(disk) for disk in health.watched(named)]


def watch(screen, named, seconds):
    """Until q is pressed. Other keys, and another size, show the page at once."""
    screen.timeout(round(seconds * 1000))
    view, before = View(), looks(named)
    now = old = before
    while True:
        screen.erase()
        height, width = screen.getmaxyx()
        shown = view.page(now, old, width - 1, height - 1) if now is not before else ["..."]
        view.first = min(view.first, max(len(shown) - height + 1, 0))
        for line, text in enumerate([HELP % (seconds, view.words())] + shown[view.first:]):
            if line < height and width > 1:
                screen.addnstr(line, 0, text, width - 1)
        screen.refresh()
        key = screen.getch()
        if key in (ord("q"), ord("Q")):
            return
        if key != curses.KEY_RESIZE and not view.key(key, height):
            old, now = now, looks(named)


EXAMPLES = (
    ("freeblock top", "Show all disks that have the scheduler, every two seconds."),
    ("freeblock top --once --seconds 10 sda", "Print ten seconds of one disk, and end."),
)


def add_parser(subparsers):
    """Add `top`."""
    parser = subparsers.add_parser(
        "top", help="show tasks, rates and cost live",
        description="Show rates of tasks and their cost for the foreground, updated until q is "
        "pressed, of all disks with the scheduler or with tasks, or of the named ones. Arrow keys "
        "scroll, v changes between details, a line a disk, and several disks a line, s sorts, f "
        "filters.")
    parser.add_argument("device", nargs="*", metavar="DEVICE", help="a disk or partition "
                        "(all with the scheduler or with tasks)")
    parser.add_argument("--seconds", type=float, default=2, metavar="S",
                        help="interval between updates (2)")
    parser.add_argument("--once", action="store_true",
                        help="print one update, and exit")
    parser.set_defaults(run=run)


def run(args):
    """On the terminal, or once."""
    need_range("--seconds", args.seconds, 0.1, 3600)
    before = looks(args.device)
    if args.once:
        time.sleep(args.seconds)
        print("\n".join(View().page(looks(args.device), before)))
        return 0
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        raise ToolError("this is no terminal: use --once, or freeblock status")
    try:
        curses.wrapper(watch, args.device, args.seconds)
    except curses.error as error:
        raise ToolError("the terminal: %s: use --once" % error) from error
    except KeyboardInterrupt:
        pass
    return 0
