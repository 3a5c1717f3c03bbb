# SPDX-License-Identifier: GPL-2.0
"""What the disks do, live in a terminal: how fast tasks read, where, what is left of them, what
that costs the foreground, and why nothing is read.
"""

import curses
import sys
import textwrap
import time

from . import ToolError, advice, fbstate, fbstate_cost, fbstate_health, need_range, status

SECTOR = 512
# of a line, if no terminal says it; of the disk's name in it; of the rest at least
WIDTH, INDENT, LEAST = 80, 9, 20
# Sectors of free reads, each in one
SENT = ("prepend_sectors", "separate_sectors", "idle_sectors", "hurried_sectors",
        "promoted_sectors")
COUNTERS = ("free_sectors", *SENT, "idle_us", "idle_used_us")
HELP = "freeblock top: every %g s, q ends"


def look(disk):
    """All that is shown of a disk, but rates."""
    counters = disk.counters()
    return {"disk": disk.name, "sample": fbstate_cost.sample(disk.name),
            "cost": fbstate_cost.short(fbstate_cost.cost(disk)),
            "counters": {name: counters.get(name) for name in COUNTERS},
            "jobs": {name: disk.job(name) for name in status.JOBS}, "tasks": disk.value("tasks"),
            "hindrance": disk.hindrance(), "attached": disk.attached(),
            "knowledge": disk.state("knowledge"), "unmapped": disk.unmapped(),
            "free_reads": disk.state("free_reads"), "idle": disk.state("idle")}


def _grew(now, before, name):
    """By how much a counter grew; None if it is not there, or was reset."""
    new, old = now["counters"][name], before["counters"][name]
    return None if new is None or old is None or new < old else new - old


def _share(part, of_all):
    return "-" if part is None or not of_all else "%.0f %%" % min(100 * part / of_all, 100)


def work_words(name, job):
    """The scan, or the scrub; nothing before the first."""
    share = fbstate_health.share_pct(job)
    if share is None:
        return None
    words = "%s %s, %.1f %%" % (name, job["state"], share)
    if job["state"] == "running":
        words += ", left %s" % fbstate.span(fbstate_health.remaining_s(job))
    return words


def _stuck_lines(hindrance):
    """Why nothing is read, and, on a line of its own, so that it can be copied, what to do."""
    why, command = hindrance
    return ["not scheduling: " + why] + ([advice.RUN + command] if command else [])


def _texts(now, before):
    """What is said of one disk, from two looks at it: a list of texts."""
    if not now["attached"]:
        return ["tasks that wait: %d" % (now["tasks"] or 0),
                *_stuck_lines(now["hindrance"] or (
                    advice.ANOTHER, advice.scheduling(advice.ANOTHER, now["disk"])))]
    seconds = now["sample"]["at"] - before["sample"]["at"]
    free, idle = (_grew(now, before, key) for key in ("free_sectors", "idle_sectors"))
    sent = [_grew(now, before, key) for key in SENT]
    share = _share(idle, None if None in sent else sum(sent))
    requests = fbstate_cost.counted(now["sample"], before["sample"])["requests"]
    work = [words for words in (work_words(*job) for job in now["jobs"].items()) if words]
    return [
        "%s MB/s, %s of it in idle time" % (
            "-" if free is None or seconds <= 0 else "%.1f" % (free * SECTOR / 1e6 / seconds),
            share),
        "foreground %s/s; %s" % (
            "-" if requests is None or seconds <= 0 else "%.1f" % (requests / seconds),
            now["cost"]),
        "; ".join(work + ["tasks: %d" % (now["tasks"] or 0)]),
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


def page(now, before, width=WIDTH):
    """All disks; one that was not there a moment ago is shown from the next time on."""
    old = {one["disk"]: one for one in before}
    return [line for one in now if one["disk"] in old
            for line in lines(one, old[one["disk"]], width)] or \
        ["no disk has the scheduler freeblock", advice.enable(fbstate.suited())]


def looks(named):
    """A look at each disk; none, if those named have gone."""
    return [look(disk) for disk in fbstate_health.watched(named)]


def watch(screen, named, seconds):
    """Until q is pressed. Resizing shows the page at once."""
    screen.timeout(round(seconds * 1000))
    before, shown = looks(named), ["..."]
    while True:
        screen.erase()
        height, width = screen.getmaxyx()
        for row, line in enumerate([HELP % seconds] + shown):
            if row < height and width > 1:
                screen.addnstr(row, 0, line, width - 1)
        screen.refresh()
        key = screen.getch()
        if key in (ord("q"), ord("Q")):
            return
        if key != curses.KEY_RESIZE:
            now = looks(named)
            shown, before = page(now, before, screen.getmaxyx()[1] - 1), now


EXAMPLES = (
    ("freeblock top", "Show all disks that have the scheduler, every two seconds."),
    ("freeblock top --once --seconds 10 sda", "Print ten seconds of one disk, and end."),
)


def add_parser(subparsers):
    """Add `top`."""
    parser = subparsers.add_parser(
        "top", help="show tasks, rates and cost live",
        description="Show rates of tasks and their cost for the foreground, updated until q is "
        "pressed, of all disks with the scheduler or with tasks, or of the named ones.")
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
        print("\n".join(page(looks(args.device), before)))
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
