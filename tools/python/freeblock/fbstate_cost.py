# SPDX-License-Identifier: GPL-2.0
"""What a task costs the foreground, from counters read before and after.

The scheduler counts the commands that lost a revolution behind or with a read of ours;
each is a revolution that the foreground waited. The block layer's own latency
(/sys/block/<disk>/stat, the same as /proc/diskstats) is shown beside it, but it cannot
tell our reads from the foreground's.

The order of requests is followed, too, whether free reads are wanted or not: SPTF-SW60 costs some
per cent of the drive's time against shortest positioning times (core/order_cost.h).

What all of it costs, the order that makes gaps included, the module finds by following what the
drive would do alone (core/shadow.h). It cannot with a write cache; but then the drive does order
alone, and idle reads are all that costs.
"""

import time

from . import fbstate

CAVEAT = ("latency is the block layer's mean of all requests; while a task runs its own reads "
          "are among them, and the foreground may have changed by itself")
CAUSED = ("miss_prepend", "miss_separate", "miss_after")


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
    there = disk.numbers()
    idle = disk.idle(there)
    counters = {key.partition("/")[2]: value for key, value in there.items()
                if key.startswith("stats/")} if disk.attached() else {}
    caused = [counters.get(key) for key in CAUSED]
    return {
        "at": time.monotonic(),
        "requests": counters.get("fg_requests"),
        "caused": None if None in caused else sum(caused),
        "own": counters.get("miss_fg"),
        "period_ps": there.get("state/period_ps", 0),
        "guard_trips": counters.get("guard_trips"),
        "ordered": counters.get("order_requests"),
        "order_took_us": counters.get("order_took_us"),
        "order_us": counters.get("order_us"),
        "followed": counters.get("cost_requests"),
        "later_us": counters.get("cost_us"),
        "cached": fbstate.read("sys/block", name, "queue", "write_cache") == "write back",
        # of late, as the Waiting policy measures it against its goals
        "idle": {key: idle[key] for key in ("mean_us", "max_us") if key in idle},
        "stat": _block_stat(name),
    }


def _less(after, before, key):
    """How much a counter grew; None if it was not there, or was reset meanwhile."""
    if after[key] is None or before[key] is None or after[key] < before[key]:
        return None
    return after[key] - before[key]


def _change(after, before, key):
    """By how much a sum grew, which may also shrink; None if it was not there."""
    known = after[key] is not None and before[key] is not None
    return after[key] - before[key] if known else None


def _in_all_us(after, before, requests):
    """The mean cost of a request, if it is known of at least half of them; or None."""
    if after["cached"]:
        return after["idle"].get("mean_us")
    followed, later = _less(after, before, "followed"), _change(after, before, "later_us")
    if not followed or not requests or followed < requests / 2 or later is None:
        return None
    return round(later / followed, 3)


def _order(after, before):
    """What the order costs against shortest positioning times: (us a request, per cent of what
    requests take); None each if it is followed for none."""
    ordered = _less(after, before, "ordered")
    if not ordered:
        return None, None
    later, took = (_change(after, before, key) for key in ("order_us", "order_took_us"))
    if later is None or took is None:
        return None, None
    return round(later / ordered, 1), round(100 * later / took, 2) if took > 0 else None


def latency_ms(after, before):
    """Mean latency between two samples; None without requests."""
    if not after["stat"] or not before["stat"]:
        return None
    requests = after["stat"][0] - before["stat"][0]
    ms = after["stat"][1] - before["stat"][1]
    return round(ms / requests, 3) if requests > 0 and ms >= 0 else None


def between(after, before):
    """What lies between two samples of a disk."""
    requests, caused = _less(after, before, "requests"), _less(after, before, "caused")
    cost = {
        "seconds": round(after["at"] - before["at"], 1),
        "requests": requests,
        "misses_caused": caused,
        "misses_own": _less(after, before, "own"),
        "mean_added_us": None,
        "guard_trips": _less(after, before, "guard_trips"),
        "in_all_us": _in_all_us(after, before, requests),
        "latency_ms": latency_ms(after, before),
    }
    cost["order_us"], cost["order_pct"] = _order(after, before)
    if requests and caused is not None:
        cost["mean_added_us"] = round(caused * after["period_ps"] / 1e6 / requests, 3)
    if after["idle"]:
        cost["idle"] = after["idle"]
    return cost


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
            found[name] = between(sample(name), start)
            found[name]["latency_before_ms"] = self.before[name]
        return found


def text(cost):
    """A disk's cost in a line."""
    if cost["requests"] is None:
        return "cost unknown (the disk has another scheduler, or its counters were reset)"
    words = "%d foreground requests, %s misses caused" % (cost["requests"], cost["misses_caused"])
    if cost["mean_added_us"] is not None:
        words += ", %.1f us added to each on average" % cost["mean_added_us"]
    if len(cost.get("idle", ())) == 2:
        words += ", idle reads added %(mean_us).1f us to each, %(max_us)d at most" % cost["idle"]
    if cost.get("order_pct") is not None:
        words += ", the order in which they go %s %.1f us, %.2f %%" % (
            "saves each" if cost["order_us"] < 0 else "adds to each", abs(cost["order_us"]),
            abs(cost["order_pct"]))
    if cost.get("in_all_us") is not None:
        words += "; in all each ends %.1f us %s than without freeblock" % (
            abs(cost["in_all_us"]), "sooner" if cost["in_all_us"] < 0 else "later")
    if cost["latency_ms"] is not None:
        words += "; latency %.2f ms" % cost["latency_ms"]
        if cost.get("latency_before_ms") is not None:
            words += " (before: %.2f ms)" % cost["latency_before_ms"]
    return words
