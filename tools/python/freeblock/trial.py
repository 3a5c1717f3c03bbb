# SPDX-License-Identifier: GPL-2.0
"""What free reads cost this disk's foreground as it is used now, by trying it: windows of time
with and without free reads in turn, the foreground's latency in each as the module counts it, and
a verdict. Documentation/trial.rst describes it.
"""

import errno
import json
import math
import os
import signal
import sys
import time

from . import NoDevice, ToolError, UsageError, fbstate, fbstate_where, need_range, status, \
    trial_stats
from .extraction import store
from .machine import kernel, loaded, lock
from .scrub_port import Port
from .trial_undo import Undo

# the module's counters of a window
COUNTERS = ("fg_reads", "fg_writes", "fg_read_ns", "fg_write_ns", "free_sectors", "guard_trips")
KINDS = {"reads": ("read",), "writes": ("write",), "all": ("read", "write")}
STATUS = {"within": 0, "above": 3}
NOT_TOLD = 4
STATUSES = {
    STATUS["within"]: "Free reads cost no more than --limit.",
    STATUS["above"]: "Free reads cost more than --limit.",
    NOT_TOLD: "The pairs of windows do not decide it.",
    129: "Ended by SIGHUP; everything was put back.",
    130: "Interrupted by SIGINT; everything was put back.",
    143: "Ended by SIGTERM; everything was put back.",
}
EXAMPLES = (
    ("freeblock trial sda", "Measure what free reads cost, in 20 pairs of windows: 17 minutes."),
    ("freeblock trial sda --work scan --limit 5 --json",
     "Try it with a scan, at a limit of 5 %; print a JSON object."),
)
WORK = "scrub"
SECTOR = 512


class Stopped(Exception):
    """A signal: its number."""


class Over(Exception):
    """Nothing is left to read."""


class Trial:
    """The windows of one disk, and what was found in them."""

    def __init__(self, args, disk, undo):
        self.args, self.disk, self.undo = args, disk, undo
        self.paused, self.pairs = [], []
        self.work, self.notes = "the tasks that were there", []
        # the module, though it was not there before
        self.stays = False

    def begin(self):
        """Something is to be read: by the tasks that run, or by a scrub or scan of our own."""
        name = self.args.work
        if self.running():
            if name:
                raise UsageError("--work %s: tasks are running on %s already, for which the trial "
                                 "reads: leave it out, or stop them first" % (name, self.disk.name))
            return
        name = self.work = name or WORK
        words = "start"
        if name == "scrub":
            port = Port(self.disk)
            if port.state() == "finished":
                raise ToolError("%s: the pass of the scrub is finished, and a trial with a scrub "
                                "would begin another: use --work scan" % self.disk.name)
            if port.coverage(port.identity()) is not None:
                words = "start resume-coverage"
        self.change("start " + name, name, words)

    def change(self, what, file, text):
        """Make a change that can be put back."""
        self.undo.say(what)
        try:
            self.disk.write(file, text)
        except ToolError:
            self.undo.say("not " + what)
            raise

    def running(self):
        """The tasks that are read for."""
        return [number for number, task in status.tasks(self.disk).items()
                if task["state"] == "running"]

    def pause(self):
        """No more free reads."""
        for number in self.running():
            try:
                self.change("pause %d" % number, "tasks", "pause %d" % number)
                self.paused.append(number)
            except ToolError as error:
                if not ended(error):
                    raise

    def resume(self):
        """Free reads, if anything is left to read."""
        for number in self.paused:
            try:
                self.disk.write("tasks", "resume %d" % number)
            except ToolError as error:
                if not ended(error):
                    raise
            self.undo.say("not pause %d" % number)
        self.paused = []
        if not self.running():
            raise Over()

    def counters(self):
        """Those of now, and when that is."""
        counters = self.disk.counters()
        found = {name: counters.get(name) for name in COUNTERS}
        if None in found.values():
            raise ToolError("%s: its counters are not there any more (%s): nothing is told" % (
                self.disk.name, self.disk.stuck() or "this module is another than the tools"))
        return {"at": time.monotonic(), **found}

    def window(self, with_reads):
        """One window, once what was before has had its time to fade."""
        if with_reads:
            self.resume()
        else:
            self.pause()
        time.sleep(self.args.settle)
        before = self.counters()
        time.sleep(self.args.seconds)
        after = self.counters()
        found = {name: after[name] - before[name] for name in after}
        if min(found.values()) < 0:
            raise ToolError("%s: its counters were reset meanwhile: nothing is told" %
                            self.disk.name)
        if with_reads:
            if not self.running():
                raise Over()
            found["state"] = "%s; idle time: %s" % (self.disk.state("free_reads"),
                                                    self.disk.state("idle"))
        return seen(found)

    def pair(self, with_first):
        """Two windows. They do not count if a task began while there should have been none."""
        found = {"with_first": with_first}
        for with_reads in (with_first, not with_first):
            found["with" if with_reads else "without"] = self.window(with_reads)
        if found["without"]["free_mb_s"]:
            self.notes.append("a pair does not count: somebody began to read in its window without "
                              "free reads")
        else:
            self.pairs.append(found)
            self.tell()

    def tell(self):
        """How far it is."""
        if not self.args.quiet:
            print(progress(self.pairs, self.args), file=sys.stderr, flush=True)

    def run(self):
        """All pairs, or until nothing is left to read."""
        self.begin()
        try:
            for with_first in trial_stats.orders(self.args.pairs, self.args.seed):
                self.pair(with_first)
        except Over:
            self.notes.append("nothing was left to read after %d of %d pairs" % (
                len(self.pairs), self.args.pairs))


def ended(error):
    """Whether a command came too late for a task, which has ended, or somebody else said it."""
    return getattr(error.__cause__, "errno", None) in (errno.ENOENT, errno.EALREADY, errno.EINVAL)


def seen(window):
    """A window as it is judged: latencies and rates."""
    seconds, found = window["at"], {"seconds": round(window["at"], 3)}
    for kind, ways in KINDS.items():
        requests = sum(window["fg_%ss" % way] for way in ways)
        waited = sum(window["fg_%s_ns" % way] for way in ways)
        found[kind] = {"per_s": round(requests / seconds, 3), "requests": requests,
                       "mean_ms": round(waited / requests / 1e6, 6) if requests else None}
    found["free_mb_s"] = round(window["free_sectors"] * SECTOR / seconds / 1e6, 6)
    found["guard_trips"] = window["guard_trips"]
    if "state" in window:
        found["state"] = window["state"]
    return found


def progress(pairs, args):
    """The pair that has just ended."""
    last, left = pairs[-1], args.pairs - len(pairs)
    words = ["-" if last[side]["all"]["mean_ms"] is None else "%.2f ms" %
             last[side]["all"]["mean_ms"] for side in ("without", "with")]
    return "pair %d of %d: without free reads %s; with %s, %.1f MB/s; left %s" % (
        len(pairs), args.pairs, words[0], words[1], last["with"]["free_mb_s"],
        fbstate.span(left * 2 * (args.seconds + args.settle)))


def compared(pairs, value):
    """A value of all windows with free reads, and without."""
    return trial_stats.paired(*([value(pair[side]) for pair in pairs]
                                for side in ("with", "without")))


def result_of(trial, interrupted):
    """All that was found."""
    pairs, disk = trial.pairs, trial.disk
    cost = {kind: compared(pairs, lambda one, kind=kind: one[kind]["mean_ms"]) for kind in KINDS}
    rates = [pair["with"]["free_mb_s"] for pair in pairs]
    free = math.fsum(rates) / len(rates) if rates else None
    why = pairs[-1]["with"]["state"] if pairs else "no pair of windows is complete"
    word, words = trial_stats.verdict(cost["all"], free, trial.args.limit, why)
    size = (disk.value("sectors") or 0) * SECTOR
    return {
        "disk": disk.name, "work": trial.work, "interrupted": interrupted,
        "planned_pairs": trial.args.pairs, "pairs": pairs, "cost_ms": cost,
        "per_s": compared(pairs, lambda one: one["all"]["per_s"]), "free_mb_s": free,
        "days": size / 1e6 / free / 86400 if free else None,
        "guard_trips": sum(pair["with"]["guard_trips"] for pair in pairs),
        "limit_pct": trial.args.limit, "verdict": word, "words": words,
        "kept": trial.args.keep and not interrupted, "module_stays": trial.stays,
        "notes": trial.notes,
    }


def row(name, found):
    """A line of the table."""
    if found is None:
        return "  %-16s too few pairs with such requests" % name
    line = "  %-16s %9.2f %9.2f   %+.2f (%+.2f to %+.2f)" % (
        name, found["without"], found["with"], found["more"], found["low"], found["high"])
    return line + ("" if found["more_pct"] is None else ", %+.1f %%" % found["more_pct"])


def lines(found):
    """For people."""
    yield "%s: %d of %d pairs of windows, without and with free reads: %s" % (
        found["disk"], len(found["pairs"]), found["planned_pairs"], found["work"])
    yield "  %-16s %9s %9s   more, with 95 of 100 chances between" % ("", "without", "with")
    for kind, cost in found["cost_ms"].items():
        yield row("%s, mean ms" % kind, cost)
    yield row("requests/s", found["per_s"])
    if found["free_mb_s"]:
        yield "  free reads       %.2f MB/s: all of the disk in %s" % (
            found["free_mb_s"], fbstate.span(found["days"] * 86400))
    if found["guard_trips"]:
        yield "  the guard stopped reads in gaps %d times" % found["guard_trips"]
    yield from ("  " + note for note in found["notes"])
    yield "verdict: " + found["words"]
    yield "%s: %s" % (found["disk"], "the scheduler stays, and what reads goes on"
                      if found["kept"] else "all is as it was before" +
                      ", but that the module stays loaded" * found["module_stays"])


def is_loaded():
    """Whether the module's files are there."""
    return os.path.isdir(fbstate.path(fbstate.KERNEL))


def choose(args, name, undo):
    """The disk with the scheduler, the module loaded first if it is not."""
    disk = fbstate.Disk(name)
    scheduler = disk.scheduler()
    if scheduler is None:
        raise NoDevice(name)
    with lock.of_module():
        _choose(args, disk, scheduler, undo)
    disk = fbstate.blocks_of(name)
    if disk.stuck():
        raise ToolError("%s: %s" % (name, disk.stuck()))
    return disk


def _choose(args, disk, scheduler, undo):
    """The same, while nobody else loads or unloads the module."""
    if not is_loaded():
        undo.say("module")
        # before, too: a trial that is killed meanwhile has it unloaded
        loaded.note()
        kernel.load("trial")
        loaded.note()
    elif scheduler != "freeblock" and loaded.is_for_trial():
        undo.say("module")
    if scheduler != "freeblock":
        undo.say("scheduler " + scheduler)
    if scheduler != "freeblock":
        try:
            # a model for other firmware is none
            if not store.is_kept(args.dir, store.disk_of(disk.name)) or \
                    not store.load(args.dir, disk.name, True):
                store.choose_scheduler(disk.name)
        except ToolError:
            # what was refused, as to who is not root, need not be put back, nor could it be
            if disk.scheduler() == scheduler:
                undo.say("not scheduler " + scheduler)
            raise


def attempt(args, name):
    """The trial, and what was found; whatever happens, all is put back."""
    def stop(number, _frame):
        raise Stopped(number)

    with lock.of_disk(name, "%s: another trial, setup or off of it is at work" % name):
        return _attempt(args, name, stop)


def _attempt(args, name, stop):
    """The same, with nobody else at it. The process that puts back has the lock, too."""
    undo, trial, interrupted, was_loaded = Undo(name), None, None, is_loaded()
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        try:
            trial = Trial(args, choose(args, name, undo), undo)
            trial.run()
            if args.keep:
                undo.say("keep")
        except Stopped as error:
            interrupted = error.args[0]
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        undo.close()
    if trial:
        trial.stays = not was_loaded and is_loaded()
    return trial, interrupted


def check(args):
    """Refuse what makes no sense."""
    for name, value, least, most in (
            ("pairs", args.pairs, trial_stats.LEAST_PAIRS, 1000),
            ("seconds", args.seconds, 0.5, 86400), ("settle", args.settle, 0, 3600),
            ("limit", args.limit, 0.01, 1000)):
        need_range("--" + name, value, least, most)


def add_parser(subparsers):
    """Add `trial`."""
    parser = subparsers.add_parser(
        "trial", help="what free reads cost this disk's foreground, tried in turn",
        description="Measure the foreground's latency in windows of time with and without free "
        "reads, in pairs whose order is drawn, and say what free reads cost, with its confidence, "
        "and what they bring. Reads for the tasks that run on the disk; if there are none, a scrub "
        "is started for the time of the trial, on a disk without the scheduler that one, too, with "
        "the model that is installed; the module is loaded if it is not. All is put back at the "
        "end, however it comes.")
    parser.add_argument("device", metavar="DEVICE", help="sdX, or /dev/sdX, as root")
    parser.add_argument("--pairs", type=int, default=20, metavar="N",
                        help="pairs of windows (%(default)s)")
    parser.add_argument("--seconds", type=float, default=20, metavar="S",
                        help="seconds of a window that are measured (%(default)s)")
    parser.add_argument("--settle", type=float, default=5, metavar="S",
                        help="seconds at the beginning of each that are not (%(default)s)")
    parser.add_argument("--limit", type=float, default=10, metavar="PERCENT",
                        help="by how much requests may take longer, per cent "
                        "(%(default)s)")
    parser.add_argument("--work", choices=("scrub", "scan"), help="what is started "
                        "where no task runs (%s)" % WORK)
    parser.add_argument("--keep", action="store_true", help="leave the scheduler, and what reads, "
                        "as in the windows with free reads")
    parser.add_argument("--seed", type=int, metavar="N",
                        help="of the order of windows (another each time)")
    parser.add_argument("--dir", metavar="DIR", default=store.DIRECTORY,
                        help="where models are kept (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Try, print."""
    check(args)
    pieces = fbstate_where.locate(args.device)
    if len({piece.disk for piece in pieces}) > 1:
        raise ToolError("%s lies on several disks: name one of them" % args.device)
    trial, interrupted = attempt(args, pieces[0].disk)
    if trial is None:
        return 128 + interrupted
    found = result_of(trial, bool(interrupted))
    print(json.dumps(found, indent=1) if args.json else "\n".join(lines(found)))
    if interrupted:
        return 128 + interrupted
    return STATUS.get(found["verdict"], NOT_TOLD)
