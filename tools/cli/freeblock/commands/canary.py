# SPDX-License-Identifier: GPL-2.0
"""canary: try freeblock on a disk for some days. The disk goes back to its former scheduler if
background reads cost more than they may, or commands fail; the exit status says which it was.
"""

import argparse
import contextlib
import itertools
import json
import math
import sys
import time

from .. import ToolError, fbstate, need_range
from ..base import helpers
from ..base.statusline import Line
from ..drive import store
from ..machine import kernel
from ..state import costs, latencies
from . import off

DAY_S, LOOK_S = 86400, 60
BREACH, NOT_KNOWN = 3, 4
# what SCSI counts for a disk, in hexadecimal digits
COUNTERS = {"errors": "ioerr_cnt", "timeouts": "iotmo_cnt"}
LEASE = "freeblock-lease-%s-%d"
TURNS = 2                       # leases have two names in turn
SURE = 2                        # standard errors
LEAST = 10                      # requests, of which fewer say nothing
# in sysfs' stat of a disk: flushes that have ended, and the ms that they took
FLUSHES = 15
# option, of which requests, the share that may take longer, and how the rest is called
PERCENTILES = (("max_p99", "read", .01, "99 %"), ("max_p999", "read", .001, "99.9 %"),
               ("max_fua", "fua", .01, "99 %"))
STATUSES = {
    BREACH: "The disk went back to its former scheduler; the last line has the reason.",
    NOT_KNOWN: "The time is over, but the cost is not known: the disk had too few requests, "
               "or debugfs could not be read.",
}
EXAMPLES = (
    ("freeblock canary sda --days 7", "Try for a week; go back if it costs too much."),
    ("freeblock canary sda --lease 10 --json",
     "The same for a day. The disk also goes back 10 minutes after this command has died."),
)


def add_parser(subparsers):
    """Add `canary`."""
    parser = subparsers.add_parser(
        "canary", help="try freeblock on a disk, and go back if it costs too much",
        description="Watch an enabled disk with a scan or scrub for some days. Undoes enable, as "
        "freeblock off does, when background reads cost more than their limit, make too many reads "
        "slow, or when commands fail.")
    parser.add_argument("disk", metavar="DISK", help="sdX, as root; it has the scheduler")
    parser.add_argument("--days", type=float, default=1, metavar="N", help="how long (1)")
    parser.add_argument("--max-slow", type=float, default=1, metavar="PCT", help="share of reads "
                        "that may become slow: slower than three times the 99th percentile (1)")
    parser.add_argument("--max-p99", type=float, metavar="MS", help="time within which 99 %% of "
                        "the reads of others have to complete (no limit)")
    parser.add_argument("--max-p999", type=float, metavar="MS", help="the same for 99.9 %%")
    parser.add_argument("--max-fua", type=float, metavar="MS", help="time within which 99 %% of "
                        "FUA writes have to complete (no limit)")
    parser.add_argument("--max-flush", type=float, metavar="MS", help="maximum mean time of a "
                        "flush (no limit)")
    parser.add_argument("--max-errors", type=int, default=10, metavar="N", help="failed or "
                        "timed-out commands of the disk (10)")
    parser.add_argument("--lease", type=float, metavar="MINUTES", help="go back MINUTES after this "
                        "command died; needs systemd. A boot ends the lease: enable with --no-boot")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def counters(name):
    """What failed on a disk since it is there; None each: it does not count that."""
    found = {}
    for key, file in COUNTERS.items():
        text = fbstate.read("sys/block", name, "device", file)
        try:
            found[key] = int(text or "", 16)
        except ValueError:
            found[key] = None
    return found


def flushes(name):
    """(how many have ended, the ms that they took): they pass by the scheduler, the kernel counts
    them; None: it does not."""
    words = (fbstate.read("sys/block", name, "stat") or "").split()
    return tuple(int(word) for word in words[FLUSHES:FLUSHES + 2]) \
        if len(words) >= FLUSHES + 2 else None


def flushed(now, before):
    """Flushes in between, as a kind of latency; counters of a disk that went and came back began
    again. None: nothing counts them."""
    if None in (now, before):
        return None
    n, ms = (new - (old if before[0] <= now[0] else 0) for new, old in zip(now, before))
    return {"n": n, "mean_ms": round(ms / n, 3) if n else None}


def grew(now, before):
    """By how much counters grew. Those of a disk that went and came back began again."""
    return {key: None if None in (now[key], before[key]) else
            now[key] - (before[key] if before[key] <= now[key] else 0) for key in now}


def look(disk, before, latency):
    """What is known of a disk's trial so far. before: counters() and flushes() at the beginning;
    latency: the histograms since then."""
    kinds = costs.trial(disk) or {}
    return {"disk": disk.name, "cost": costs.cost(disk),
            **{kind: kinds.get(kind) for kind in ("read", "write", "slow")},
            "limit_us": kinds.get("limit_us"), "limit_ppm": kinds.get("limit_ppm"),
            "latency": {operation: latencies.summary(counts)
                        for operation, counts in latency.items()},
            "flush": flushed(flushes(disk.name), before[1]),
            **grew(counters(disk.name), before[0]), "bad_blocks": disk.value("state/bad_blocks")}


def _cost_breach(one):
    cost = one["cost"]
    if cost["stopped"]:
        return "the module has stopped background reads: " + cost["stopped"]
    read = one["read"]
    if not read or not read["known"]:
        return None
    allowed_ns = one["limit_us"] * 1e3 + read["alone_ns"] * one["limit_ppm"] / 1e6
    if read["added_ns"] - SURE * read["error_ns"] > allowed_ns:
        return "%s; %.2f ms are allowed" % (costs.short(cost), allowed_ns / 1e6)
    return None


def _tail_breach(latency, args):
    for option, operation, share, words in PERCENTILES:
        limit_ms, counts = getattr(args, option), latency.get(operation, {})
        if limit_ms is None:
            continue
        slow, total = latencies.slower(counts, limit_ms * 1e6), sum(counts.values())
        if slow >= LEAST and slow - SURE * math.sqrt(slow) > share * total:
            return "%d of %d %s took longer than %g ms, within which %s have to complete" % (
                slow, total, latencies.OPERATIONS[operation], limit_ms, words)
    return None


def _flush_breach(flush, args):
    if args.max_flush is None or not flush or flush["n"] < LEAST or \
            flush["mean_ms"] <= args.max_flush:
        return None
    return "%d flushes took %g ms on the mean, %g are allowed" % (
        flush["n"], flush["mean_ms"], args.max_flush)


def breach(one, latency, args):
    """Why it ends; None: all is well. latency: the histograms since the beginning."""
    found = _cost_breach(one) or _tail_breach(latency, args) or _flush_breach(one["flush"], args)
    if found:
        return found
    slow = one["slow"]
    if slow and slow["ends"] and \
            slow["added_ns"] - SURE * slow["error_ns"] > args.max_slow * 1e7:
        return "%.2f %% of reads have become slow, %g %% are allowed" % (
            slow["added_ns"] / 1e7, args.max_slow)
    failed = sum(one[key] or 0 for key in COUNTERS)
    if failed > args.max_errors:
        return "%d commands failed or timed out, %d are allowed" % (failed, args.max_errors)
    return None


# ---- the lease

def drop_lease(name, turn):
    """One of them is not to elapse."""
    kernel.command(["systemctl", "stop", LEASE % (name, turn % TURNS) + ".timer"])


def renew(name, minutes, turn):
    """Have systemd undo enable after so long, unless this is called again, with the next turn.
    ToolError. The old lease goes when the new one is there: whenever this ends, there is one."""
    drop_lease(name, turn)
    status, answer = kernel.command([
        "systemd-run", "--quiet", "--collect", "--unit", LEASE % (name, turn % TURNS),
        "--on-active", "%ds" % (60 * minutes), helpers.command(), "off", "/dev/" + name])
    if status:
        raise ToolError("--lease: systemd-run: %s" % answer)
    drop_lease(name, turn + 1)


# ---- the command

def _undo(name):
    """As freeblock off; its words are no result."""
    with contextlib.redirect_stdout(sys.stderr):
        return off.run(argparse.Namespace(disk="/dev/" + name, all=False, json=False))


def _line(one, left_s):
    return "%s: %s; %s left" % (one["disk"], costs.short(one["cost"]),
                                fbstate.span(left_s))


def _latency(operation, found):
    return "%d %s: %s" % (found["n"], latencies.OPERATIONS[operation], ", ".join(
        "%s %% within %s ms" % (name, "-" if found[key] is None else "%.1f" % found[key])
        for name, key in (("50", "p50_ms"), ("99", "p99_ms"), ("99.9", "p999_ms"))))


def watch(disk, args, line):
    """Until the time is over, or something is wrong: (what was found, why it ended)."""
    before, end = (counters(disk.name), flushes(disk.name)), time.time() + args.days * DAY_S
    latency = latencies.of(disk)
    if args.max_fua is not None and latency and "fua" not in latency:
        raise ToolError("--max-fua: the module that is loaded does not count FUA writes")
    for turn in itertools.count():
        if args.lease is not None:
            renew(disk.name, args.lease, turn)
        since = latencies.since(latencies.of(disk), latency)
        one = look(disk, before, since)
        why = breach(one, since, args)
        if not why and disk.scheduler() != "freeblock":
            raise ToolError(disk.name + (" has another scheduler now" if disk.scheduler() else
                                         " is gone"))
        left_s = end - time.time()
        if why or left_s <= 0:
            return one, why
        line.show(lambda found=one, left=left_s: _line(found, left))
        time.sleep(min(LOOK_S, left_s))


def run(args):
    """The subcommand."""
    need_range("--days", args.days, 0, 3650, over=True)
    need_range("--max-slow", args.max_slow, 0, 100)
    need_range("--max-errors", args.max_errors, 0, 10 ** 9)
    for option in (*(option for option, *_ in PERCENTILES), "max_flush"):
        if getattr(args, option) is not None:
            need_range("--" + option.replace("_", "-"), getattr(args, option), 0, 60000, over=True)
    if args.lease is not None:
        need_range("--lease", args.lease, 2, 1440)
    disk = fbstate.need(store.disk_of(args.disk)["name"])
    if fbstate.hidden():
        raise fbstate.Hidden(fbstate.hidden())
    line = Line(args.quiet, stays=True)
    try:
        one, why = watch(disk, args, line)
    finally:
        line.end()
    undone = _undo(disk.name) if why else 0
    for turn in range(TURNS) if args.lease is not None else ():
        drop_lease(disk.name, turn)
    if args.json:
        print(json.dumps({**one, "days": args.days, "breach": why,
                          "undone": not undone if why else None}, indent=1))
    else:
        print("%s: %s" % (disk.name, why or costs.short(one["cost"])))
        for operation, found in one["latency"].items():
            print("  %s" % _latency(operation, found))
        if one["flush"] and one["flush"]["n"]:
            print("  %d flushes: %.1f ms on the mean" % tuple(one["flush"].values()))
    if undone:
        return undone
    return BREACH if why else 0 if one["cost"]["known"] and one["read"] else NOT_KNOWN
