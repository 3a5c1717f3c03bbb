# SPDX-License-Identifier: GPL-2.0
"""What free reads cost the foreground: the one number of the module's controlled trial
(Documentation/cost.rst), which every command shows as it is.

Beside it what happened since another look: requests, commands that lost a revolution behind or with
a read of ours, and the block layer's own latency (/sys/block/<disk>/stat, the same as
/proc/diskstats), which cannot tell our reads from the foreground's.
"""

import re
import time

from .. import fbstate

CAVEAT = ("latency is the block layer's mean of all requests; while a task runs its own reads "
          "are among them, and the foreground may have changed by itself")
CAUSED = ("miss_prepend", "miss_separate", "miss_after")
SAID = re.compile(r"free reads add (-?[\d.]+) \+- ([\d.]+) ms \((-?[\d.]+) %\) to a (read|request)")
# of a kind of requests
TRIAL = ("added_ns", "error_ns", "alone_ns", "ppm", "ends", "known")
STOPPED = re.compile("; (.*stopped.*)")


def cost(disk):
    """What free reads cost, in the module's words, and as numbers; None each: not known."""
    words = disk.read("state/cost")
    said = SAID.match(words or "")
    added, error, percent = map(float, said.groups()[:3]) if said else (None, None, None)
    stopped = STOPPED.search(words or "")
    return {"words": words, "known": bool(said), "added_ms": added, "error_ms": error,
            "added_pct": percent, "of": said.group(4) if said else None,
            "stopped": stopped.group(1) if stopped else None}


def trial(disk):
    """The trial's table: {key: number}, and by kind of request a dictionary of numbers; None to who
    may not read debugfs, and without one."""
    found: dict = {}
    try:
        lines = disk.table("trial").splitlines()
    except fbstate.Hidden:
        return None
    for line in lines:
        key, *words = line.split()
        numbers = [int(word) for word in words]
        found[key] = dict(zip(TRIAL, numbers)) if numbers[1:] else numbers[0]
    return found or None


def short(found):
    """A cost in words that stand for themselves."""
    return found["words"] if found["known"] else "cost: %s" % (found["words"] or "not known")


def _block_stat(name):
    """Requests done and milliseconds spent in them, reads and writes."""
    words = (fbstate.read("sys/block", name, "stat") or "").split()
    found = [fbstate.number(word) for word in words]
    if len(found) < 8 or None in found[:8]:
        return None
    return found[0] + found[4], found[3] + found[7]


def sample(name):
    """The counters of a disk, now."""
    disk = fbstate.Disk(name)
    counters = disk.counters()
    caused = [counters.get(key) for key in CAUSED]
    return {
        "at": time.monotonic(),
        "requests": counters.get("fg_requests"),
        "caused": None if None in caused else sum(caused),
        "own": counters.get("miss_fg"),
        "guard_trips": counters.get("guard_trips"),
        "stat": _block_stat(name),
    }


def grew(after, before, key):
    """How much a counter grew; None if it was not there, or was reset meanwhile."""
    if after[key] is None or before[key] is None or after[key] < before[key]:
        return None
    return after[key] - before[key]


def latency_ms(after, before):
    """Mean latency between two samples; None without requests."""
    if not after["stat"] or not before["stat"]:
        return None
    requests = after["stat"][0] - before["stat"][0]
    ms = after["stat"][1] - before["stat"][1]
    return round(ms / requests, 3) if requests > 0 and ms >= 0 else None


def counted(after, before):
    """What the scheduler has counted between two samples of a disk; None each: not known."""
    return {
        "requests": grew(after, before, "requests"),
        "misses_caused": grew(after, before, "caused"),
        "misses_own": grew(after, before, "own"),
        "guard_trips": grew(after, before, "guard_trips"),
    }


def in_all(now):
    """The same since the disk was first seen, or the counters reset."""
    return counted(now, dict.fromkeys(now, 0))


class Meter:
    """The cost of a task on some disks: `seconds` without it first, then with it."""

    def __init__(self, names, seconds):
        first = {name: sample(name) for name in names}
        if seconds:
            time.sleep(seconds)
        self.start = {name: sample(name) for name in names}
        self.before = {name: latency_ms(self.start[name], first[name]) for name in names}

    def report(self):
        """By disk."""
        found = {}
        for name, start in self.start.items():
            now = sample(name)
            found[name] = {**counted(now, start), **cost(fbstate.Disk(name)),
                           "seconds": round(now["at"] - start["at"], 1),
                           "latency_ms": latency_ms(now, start),
                           "latency_before_ms": self.before[name]}
        return found


def counted_text(found):
    """What was counted, in words."""
    if found["requests"] is None:
        return "not counted now"
    return "%d foreground requests, %s misses caused" % (found["requests"], found["misses_caused"])


def text(found):
    """A disk's report in a line."""
    words = counted_text(found)
    if found["requests"] is not None:
        words += "; %s" % short(found)
    if found["latency_ms"] is not None:
        words += "; latency %.2f ms" % found["latency_ms"]
        if found["latency_before_ms"] is not None:
            words += " (before: %.2f ms)" % found["latency_before_ms"]
    return words
