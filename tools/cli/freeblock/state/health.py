# SPDX-License-Identifier: GPL-2.0
"""What an administrator wants to be told of a disk, from one look at it (machine/alarms.py has
what freeblock.conf adds).

A module that was told to do nothing for a disk is no alarm: a disk with another scheduler is
looked at only while tasks wait for it, or if it was named.
"""

from .. import fbstate, need_range
from ..base import advice
from . import costs, placement

OK, WARNING, CRITICAL, UNKNOWN = range(4)
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
# what state/free_reads says while the guard has stopped them
GUARD = "off: they cost the foreground too many turns"
SEVERITY = {"bad_blocks": CRITICAL, "slow_recoveries": CRITICAL, "guard": WARNING, "cost": WARNING,
            "map": WARNING, "scheduling": WARNING, "scrub_late": WARNING,
            "scrub_held": WARNING, "scrub_paused": WARNING}
UNFINISHED = ("running", "paused", "stopping", "stopped")
DAY = 86400
# The rate of a shorter start says nothing of a pass of days
SURE_S = 600


def watched(named=()):
    """The disks to be looked at: those named, else those with the scheduler or with tasks."""
    if named:
        known = {piece.disk for device in named for piece in placement.locate(device)}
        return [fbstate.need(name) for name in sorted(known)]
    disks = [fbstate.Disk(name) for name in fbstate.names()]
    return [disk for disk in disks if disk.attached() or disk.value("tasks")]


def remaining_blocks(job):
    """Blocks that a scan or scrub has not had; None before the first."""
    keys = ("blocks_total", "blocks_before", "blocks_delivered", "block_sectors")
    if "state" not in job or not all(isinstance(job.get(key), int) for key in keys):
        return None
    return max(job["blocks_total"] - job["blocks_before"] - job["blocks_delivered"], 0)


def share_pct(job):
    """How much of the whole of a scan or scrub is done, what was done before this start included,
    per cent; None before the first."""
    left = remaining_blocks(job)
    if left is None:
        return None
    return 100 - 100 * left / job["blocks_total"] if job["blocks_total"] else 100.0


def needed_s(job):
    """Seconds that the rest of a pass takes at the mean rate of this start, or, of one that was
    stopped, of the last; None if it is over, or the rate is not known."""
    left, rate = remaining_blocks(job), job.get("rate_kib_s")
    if job.get("state") not in UNFINISHED or left is None or not rate:
        return None
    return left * job["block_sectors"] / 2 / rate


def remaining_s(job):
    """The same while it runs; else None."""
    return needed_s(job) if job.get("state") == "running" else None


def foretold_s(job):
    """needed_s(), for an alarm; None, too, if this start has lasted for minutes only."""
    needed = needed_s(job)
    if needed is None:
        return None
    lasted_s = job["blocks_delivered"] * job["block_sectors"] / 2 / job["rate_kib_s"]
    return needed if lasted_s >= SURE_S else None


def scrub_due(job, days):
    """When a pass should be over, seconds since 1970, and by what; None if nobody wants that."""
    due = [(job["began"] + days * DAY, "more than %g days" % days)] \
        if days is not None and job.get("began") else []
    if job.get("deadline"):
        due.append((job["deadline"], "until after its deadline"))
    return min(due, default=None) if job.get("state") in ("running", "paused") else None


def scrub_late(job, due, now):
    """Whether a pass will not be over by then.

    A pass that waits or is paused is late only once its time is over."""
    running = job.get("state") == "running"
    return now + (foretold_s(job) or 0 if running else 0) > due


def alarms(disk, scrub_days, now):
    """Of this disk: name -> None, or what is wrong, in words. Without an entry: not known."""
    found = {}
    bad, slow = disk.value("state/bad_blocks"), disk.value("state/alarms")
    if bad is not None:
        found["bad_blocks"] = "%d bad block%s" % (bad, "s" * (bad != 1)) if bad else None
    if slow is not None:
        found["slow_recoveries"] = "tasks were paused %d times (slow reads, errors, resets: see " \
            "the log)" % slow if slow else None
    stuck, free = disk.stuck(), disk.state("free_reads")
    found["scheduling"] = "not scheduling: " + stuck if stuck else None
    if free is not None:
        found["guard"] = "the guard stopped free reads" if free == GUARD else None
    cost = costs.cost(disk)
    if cost["words"]:
        found["cost"] = "free reads cost too much: " + cost["stopped"] if cost["stopped"] else None
    if disk.state("knowledge"):
        why, command = disk.unmapped() or ("", None)
        # a disk whose map has proved wrong; one that never had any is as it should be
        found["map"] = advice.with_run("served in idle time only: " + why, command) \
            if disk.state("model") == "1" and command else None
    job = disk.job("scrub")
    due = scrub_due(job, scrub_days)
    if due:
        late = scrub_late(job, due[0], now)
        found["scrub_late"] = "the scrub will take " + due[1] if late else None
    return found


def severity(found):
    """Of the worst alarm."""
    return max((SEVERITY[name] for name, why in found.items() if why), default=OK)


def add_days(parser):
    """The option for the alarm scrub_late."""
    parser.add_argument("--scrub-days", type=float, metavar="DAYS",
                        help="a pass of the scrub should take no longer; without it a scrub is "
                        "late by its deadline only, if it has one")


def need_days(days):
    """It makes sense."""
    if days is not None:
        need_range("--scrub-days", days, 0, 36500, over=True)
