# SPDX-License-Identifier: GPL-2.0
"""What free reads cost a disk's foreground, and how far the module's controlled trial of that is
(Documentation/cost.rst): the same number as everywhere, with what it comes from.
"""

import json

from .. import UsageError, fbstate
from ..drive import store
from ..machine import stopped
from ..state import costs, health

KINDS = ("read", "write", "all")
LEVELS = ("nothing is stopped", "reads in gaps are stopped", "free reads are stopped",
          "free reads are stopped until somebody acts: freeblock trial %s --on")
WITHIN, ABOVE, NOT_KNOWN = 0, 3, 4
STATUSES = {
    WITHIN: "Free reads cost no more than they may.",
    ABOVE: "Free reads cost more than they may, or were stopped for that.",
    NOT_KNOWN: "It is not known yet, or the trial is off.",
}
EXAMPLES = (
    ("freeblock trial sda", "Show what free reads cost, reads and writes apart."),
    ("freeblock trial sda --off", "Measure no more: free reads are sent all the time."),
)


def look(disk):
    """All that there is to say of a disk."""
    return {"disk": disk.name, "cost": costs.cost(disk), "trial": costs.trial(disk)}


def allowed_ms(trial, kind):
    """What may be added to a request of this kind."""
    return (trial["limit_us"] / 1e3 + trial[kind]["alone_ns"] / 1e6 * trial["limit_ppm"] / 1e6)


def verdict(one):
    """The status of a disk."""
    cost, trial = one["cost"], one["trial"]
    if cost["stopped"]:
        return ABOVE
    if not cost["known"]:
        return NOT_KNOWN
    kind = "read" if cost["of"] == "read" else "all"
    return ABOVE if trial and cost["added_ms"] > allowed_ms(trial, kind) else WITHIN


def kind_line(name, found):
    """Requests of one kind."""
    if not found["ends"]:
        return "  %-7s none without free reads yet" % name
    return "  %-7s %.2f ms without free reads, %+.2f +- %.2f ms (%+.1f %%) with them, from %d%s" % (
        name, found["alone_ns"] / 1e6, found["added_ns"] / 1e6, found["error_ns"] / 1e6,
        found["ppm"] / 1e4, found["ends"], "" if found["known"] else ": not sure yet")


def slow_line(found):
    """Reads as the slowest."""
    return "  slow    %.2f %% of reads without free reads, %+.2f +- %.2f %% with them" % tuple(
        found[key] / 1e7 for key in ("alone_ns", "added_ns", "error_ns"))


def lines(one):
    """A disk for people."""
    trial = one["trial"]
    yield "%s: %s" % (one["disk"], costs.short(one["cost"]))
    if trial is None:
        return
    if not trial["on"]:
        yield "  the trial is off: freeblock trial %s --on" % one["disk"]
        return
    yield "  %s; without free reads: one in %d stretches of %.1f s, %.1f %% of its time so far" % (
        "it runs" if trial["runs"] else "it waits for something to read", trial["stretches"] or 4,
        trial["stretch_us"] / 1e6, 100 * trial["held_us"] / max(trial["on_us"], 1))
    for kind in KINDS:
        yield kind_line("both" if kind == "all" else kind + "s", trial[kind])
    if "slow" in trial and trial["slow"]["ends"]:
        yield slow_line(trial["slow"])
    yield "  allowed: %.2f ms a request and %.1f %%" % (trial["limit_us"] / 1e3,
                                                       trial["limit_ppm"] / 1e4)
    words = LEVELS[trial["level"]]
    yield "  guard: %s%s%s" % (
        words % one["disk"] if "%" in words else words,
        " for " + fbstate.span(trial["left_us"] / 1e6) if trial["left_us"] else "",
        ", stopped %d times" % trial["stops"] if trial["stops"] else "")


def add_parser(subparsers):
    """Add `trial`."""
    parser = subparsers.add_parser(
        "trial", help="show how the cost of background reads was measured",
        description="Show the latency that background reads add to other requests, of all disks "
        "with the scheduler or of the named ones. The module compares random stretches without "
        "background reads with the rest of the time. Root sees more details.")
    parser.add_argument("device", nargs="*", metavar="DEVICE", help="a disk or partition "
                        "(all with the scheduler)")
    parser.add_argument("--on", action="store_true", help="measure, and resume stopped reads")
    parser.add_argument("--off", action="store_true", help="stop measuring")
    parser.add_argument("--json", action="store_true", help="print a JSON list of objects")
    parser.set_defaults(run=run)


def run(args):
    """Switch, show. The worst status of all disks."""
    if args.on and args.off:
        raise UsageError("specify only one of --on, --off")
    disks = health.watched(args.device)
    for disk in disks if args.on or args.off else ():
        disk.write("trial", "1" if args.on else "0")
        stopped.forget(store.disk_of(disk.name))
    found = [look(disk) for disk in disks]
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print("\n".join(line for one in found for line in lines(one)) or
              "no disk has the scheduler freeblock")
    if args.on or args.off:
        return 0
    return ABOVE if any(verdict(one) == ABOVE for one in found) else max(
        map(verdict, found), default=NOT_KNOWN)
