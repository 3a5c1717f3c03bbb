# SPDX-License-Identifier: GPL-2.0
"""What the module does on each disk: scheduling or why not, tasks with rate and time left,
idle time, bad blocks, and what free reads cost the foreground.
"""

import json
import math
import sys
import time

from .. import ToolError, UsageError, fbstate, need_defaults, need_range
from ..base import advice
from ..base.streams import drop_results, one_line
from ..machine import alarms, checked, due, guard, passes, waits
from ..state import costs, disktable, health, placement

IDLE = ("idle_wait_us", "idle_size_kib", "idle_mean_us", "idle_max_us")
BAD_SHOWN = 10
ALL_PCT = 99.95               # mapped of a disk, of which nothing is said
YEAR_S = 365 * 86400
SECONDS = 1                     # between the two looks


def tables(disk):
    """What debugfs alone has: tasks and bad blocks; None each if it cannot be read."""
    try:
        return {"tasks": disk.tasks(), "bad_blocks": disk.table("bad_blocks").splitlines()}
    except fbstate.Hidden:
        return {"tasks": None, "bad_blocks": None}


def add_rates(now, before, seconds):
    """Rate and time left of each task, from two looks at it."""
    for number, task in now.items():
        old = before.get(number)
        task["bytes_per_s"] = task["eta_s"] = None
        if old and old["name"] == task["name"] and seconds > 0:
            blocks = max(task["done"] - old["done"], 0) / seconds
            # the kernel's granule is in sectors
            task["bytes_per_s"] = round(blocks * task["granule"] * 512)
            if blocks and task["state"] == "running":
                task["eta_s"] = round((task["total"] - task["done"]) / blocks)


def add_left(now, disk):
    """Time left of a scan or scrub of the kernel that has read nothing between the two looks, at
    its mean rate: idle reads come in bursts."""
    for task in now.values():
        if task["eta_s"] is None and task["state"] == "running" and task["name"] in fbstate.JOBS:
            left = health.remaining_s(disk.job(task["name"]))
            task["eta_s"] = None if left is None else round(left)


def mapped_pct(disk):
    """Share of the disk's LBNs whose places its model has, percent; None: there is no model."""
    mapped, sectors = disk.value("state/mapped_sectors"), disk.value("sectors")
    return 100 * mapped / sectors if mapped and sectors else None


def read_tb(disk):
    """What scrubs of the whole disk have read in the last year, TB; those that the drive verifies
    without a transfer count."""
    since, block, job = time.time() - YEAR_S, disk.granule_bytes(), disk.job("scrub")
    ended = sum(one["blocks"] for one in passes.load(disk.identity()["id"])
                if one["ended"] >= since)
    now = job.get("blocks_verified", 0) if job.get("state") in health.UNFINISHED else 0
    return round((ended + now) * block / 1e12, 3)


def look(disk):
    """All there is to say of a disk, but rates."""
    state = disk.state
    return {
        "disk": disk.name, "id": disk.read("id"), "sectors": disk.value("sectors"),
        "scheduler": disk.scheduler(), "attached": disk.attached(),
        "scheduling": state("scheduling"), "stuck": disk.stuck(),
        "knowledge": state("knowledge"), "unmapped": disk.unmapped(),
        "mapped_pct": mapped_pct(disk), "map_check": checked.last(disk.name),
        "model": disk.read("model_status"), "granule_bytes": disk.granule_bytes(),
        "free_reads": state("free_reads"), **tables(disk),
        "tasks_count": disk.value("tasks"), "bad_blocks_count": disk.value("state/bad_blocks"),
        "held": waits.read(disk.name), "read_tb_year": read_tb(disk),
        "max_tb_per_year": alarms.said_of(disk, alarms.wanted())["max_tb_per_year"],
        "scrub": disk.job("scrub"),
        "last_pass": due.last_pass(disk.name),
        "idle": {name: disk.read(name) for name in IDLE if disk.read(name) is not None},
        "idle_status": disk.idle(), "recovery": state("recovery"),
        "cost": costs.cost(disk),
        "foreground": costs.in_all(costs.sample(disk.name)),
    }


def task_lines(one):
    """Its tasks for people; their number if that is all there is."""
    count = one["tasks_count"] if one["tasks"] is None else len(one["tasks"])
    if not count:
        yield "  no tasks"
    elif one["tasks"] is None:
        yield "  tasks: %d" % count
    for number, task in sorted((one["tasks"] or {}).items()):
        share = 100.0 * task["done"] / task["total"] if task["total"] else 0.0
        yield "  task %d %s: %s, priority %d, %.1f %% of %d blocks, %d failed, %s MB/s, left %s" % (
            number, task["name"], task["state"], task["priority"], share, task["total"],
            task["failed"], "-" if task["bytes_per_s"] is None else
            "%.1f" % (task["bytes_per_s"] / 1e6), fbstate.span(task["eta_s"]))


def shown(value, form, unit):
    """A number of the module's for people; "-" if it is not known."""
    return "-" if value is None else form % (value / unit)


def idle_lines(settings, found):
    """What reads in idle time do, have done, and may do."""
    if not settings and not found:
        return
    own = {name: " (auto)" for name, value in settings.items() if value == "auto"}
    yield "  idle time: %s; first read after %s ms%s, of %s KiB%s at most" % (
        found.get("state", "-"), shown(found.get("wait_us"), "%.1f", 1e3),
        own.get("idle_wait_us", ""), shown(found.get("size_kib"), "%d", 1),
        own.get("idle_size_kib", ""))
    idle_us = found.get("idle_us")
    share = 100 * found.get("used_us", 0) / idle_us if idle_us else None
    yield "    %s reads, %s MB, in %s %% of it; %s of them delayed a request" % (
        shown(found.get("reads"), "%d", 1), shown(found.get("sectors"), "%.1f", 1e6 / 512),
        shown(share, "%.0f", 1), shown(found.get("collisions"), "%d", 1))
    mean, most = (fbstate.number(settings.get(name) or "")
                  for name in ("idle_mean_us", "idle_max_us"))
    yield "    cost limits: %s ms a request on the mean, %s ms at most" % (
        shown(mean, "%.2f", 1e3), shown(most, "%.2f", 1e3))


def knowledge_words(knowledge, unmapped):
    """What is known of the drive, and what would end why that is no map."""
    return advice.with_run(knowledge, unmapped[1]) if unmapped else knowledge


def lines(one):
    """A disk for people."""
    yield "%s: scheduler %s, %s" % (one["disk"], one["scheduler"] or "none: it is not there",
                                    "scheduling" if not one["stuck"] else
                                    "not scheduling: " + one["stuck"])
    yield "  id %s, %.1f GB, model %s, blocks of %d KiB, free reads %s" % (
        one["id"], (one["sectors"] or 0) * 512 / 1e9, one["model"] or "none",
        one["granule_bytes"] // 1024,
        one["free_reads"] or "-")
    if one["knowledge"]:
        yield "  knowledge: " + knowledge_words(one["knowledge"], one["unmapped"])
    if one["mapped_pct"] is not None and one["mapped_pct"] < ALL_PCT:
        # never more than there is
        share = math.floor(one["mapped_pct"] * 10) / 10
        yield "  map: %.1f %% of the disk%s" % (
            share, "" if one["unmapped"] else ", gaps used in %.1f %% of the disk" % share)
    for line in checked.lines(one["map_check"]):
        yield "  " + line
    yield from task_lines(one)
    if one["held"]:
        yield "  the scrub waits: " + one["held"]
    yield "  scrubs read %.3g TB in the last year%s" % (
        one["read_tb_year"], "; max_tb_per_year %d" % one["max_tb_per_year"]
        if one["max_tb_per_year"] else "")
    yield from idle_lines(one["idle"], one["idle_status"])
    bad = one["bad_blocks"]
    yield "  bad blocks: %d" % ((one["bad_blocks_count"] or 0) if bad is None else len(bad))
    for block in (bad or [])[:BAD_SHOWN]:
        yield "    " + block
    yield "  a bad sector's recovery: %s" % (one["recovery"] or "not known")
    yield "  cost: %s" % (one["cost"]["words"] or "not known")
    yield "  foreground: " + costs.counted_text(one["foreground"])


def row(one):
    """A disk as a line of the table."""
    running = list((one["tasks"] or {}).values())
    first = running[0] if running else None
    rates = [task["bytes_per_s"] for task in running if task.get("bytes_per_s") is not None]
    return disktable.Row(
        one["disk"], disktable.used(one),
        disktable.task_word([(task["name"], task["state"]) for task in running] or
                                one["tasks_count"]),
        100 * first["done"] / first["total"] if first and first["total"] else None,
        sum(rates) / 1e6 if rates else None, first.get("eta_s") if first else None, one["cost"],
        disktable.day(one["last_pass"]), one["bad_blocks_count"],
        disktable.waits_for(one, one["idle_status"].get("state")))


def check_words(disk):
    """What a disk that is well does."""
    job = disk.job("scrub")
    share = health.share_pct(job)
    if share is None or job["state"] not in ("running", "paused"):
        return "well"
    return "scrub %s, %.1f %%, left %s" % (
        job["state"], share, fbstate.span(health.remaining_s(job)))


def check(args):
    """(severity, line), as plugins of Nagios and its kin say it."""
    try:
        health.need_days(args.scrub_days)
        disks = health.watched([args.device] if args.device else [])
        said = alarms.wanted()
        found = {disk.name: alarms.of_disk(disk, args.scrub_days, said) for disk in disks}
    except (ToolError, OSError) as error:
        return health.UNKNOWN, str(error)
    if not disks:
        return health.UNKNOWN, "no disk has the scheduler freeblock"
    wrong = ["%s: %s" % (name, why) for name, each in found.items()
             for why in each.values() if why]
    blind = fbstate.hidden() if any(disk.is_active("scrub") for disk in disks) else None
    if blind and not wrong:
        return health.UNKNOWN, "how far the scrub is cannot be told: " + blind
    return (max(map(health.severity, found.values())),
            "; ".join(wrong or ["%s: %s" % (disk.name, check_words(disk)) for disk in disks]))


def run_check(args):
    """One line on standard output, whatever happens."""
    severity, line = check(args)
    try:
        print("FREEBLOCK %s - %s" % (health.WORDS[severity],
                                     one_line(" ".join(line.split()))), flush=True)
    except BrokenPipeError:
        # the status says it, too
        drop_results()
    return severity


STATUSES = {
    1: "An error; with --check: warning.",
    2: "The command line is wrong; with --check: critical.",
    3: "With --check: unknown.",
}
EXAMPLES = (
    ("freeblock status", "Show all disks that the module knows, a line each."),
    ("freeblock status sda", "Show all that is known of one disk."),
    ("freeblock status sda --json", "The same as a JSON list."),
    ("freeblock status --check --scrub-days 30",
     "Print one line for a monitoring system; warn of a scrub that takes more than 30 days."),
)


def add_parser(subparsers):
    """Add `status`."""
    parser = subparsers.add_parser(
        "status", help="show disks, their tasks, progress and cost",
        description="Show state, tasks, rates and cost: a line for each disk that the module "
        "knows, or details of one. Takes a second, to measure rates.")
    parser.add_argument("device", nargs="?", metavar="DEVICE",
                        help="a disk or partition (all that the module knows)")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S",
                        help="interval over which rates are measured (%(default)s; 0: no "
                        "rates)")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="show details of all disks")
    parser.add_argument("--json", action="store_true", help="print a JSON list of objects")
    parser.add_argument("--check", action="store_true", help="print one line for a monitoring "
                        "system, and set the exit status")
    health.add_days(parser)
    parser.set_defaults(run=run)


def say_off():
    """That the guard keeps it off, if it does."""
    why = guard.look().reason
    if why:
        print(guard.words(why), file=sys.stderr)


def show(found, details):
    """For people."""
    if not found:
        print("the module knows no disk: " + advice.enable(fbstate.suited()))
    elif details:
        print("\n".join(one_line(line) for one in found for line in lines(one)))
    else:
        print("\n".join(disktable.table([row(one) for one in found])))


def run(args):
    """Look twice, print."""
    if args.check:
        need_defaults(args, "is not for --check, which says one line, and at once", json=False,
                      seconds=SECONDS)
        return run_check(args)
    if args.scrub_days is not None:
        raise UsageError("--scrub-days needs --check")
    need_range("--seconds", args.seconds, 0, 3600)
    named = placement.locate(args.device) if args.device else ()
    say_off()
    known = [fbstate.need(name).name for name in sorted({piece.disk for piece in named})] or \
        fbstate.names()
    disks = [fbstate.Disk(name) for name in known]
    before, began = [tables(disk)["tasks"] for disk in disks], time.monotonic()
    if args.seconds and any(before):
        time.sleep(args.seconds)
    found = [look(disk) for disk in disks]
    for disk, one, old in zip(disks, found, before):
        add_rates(one["tasks"] or {}, old or {}, time.monotonic() - began)
        add_left(one["tasks"] or {}, disk)
    if found and fbstate.hidden():
        print("tasks, bad blocks and numbers are not shown: " + fbstate.hidden(), file=sys.stderr)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        show(found, args.verbose or args.device)
    return 0
