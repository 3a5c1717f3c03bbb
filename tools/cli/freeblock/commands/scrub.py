# SPDX-License-Identifier: GPL-2.0
"""Drive the kernel's scrubber of a disk, and keep its coverage on stable storage.

Documentation/scan-scrub.rst describes use, states and exit statuses; the file is that of
scrub_state.py.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

from .. import ToolError, UsageError, fbstate, need_defaults, need_one, need_range
from ..base import advice, helpers, statusline
from ..base.streams import one_line
from ..machine import badblocks, due, events, kinds, owner, passes, smart, units
from ..machine.keeper import SAVE_S, Keeper, say
from ..state import health, placement
from ..state.costs import CAVEAT, Meter
from ..state.costs import text as cost_text
from ..state.taskprogress import Blocks
from ..tasks import scrub_state
from ..tasks.scrub_port import ACTIVE, ORDERS, Port

BEFORE_S = 5                    # the foreground's latency is measured that long
LOOK_S = 0.2                    # at the scrubs of --all
DAY_S = 86400
DAYS = 3650                     # more is a mistake
BAD_BLOCKS = 3                  # exit status
BAD_NAMED = 100                 # of `bad`
STATUSES = {
    BAD_BLOCKS: "The scrub has found bad blocks.",
    130: "Interrupted by SIGINT; what was verified is saved.",
    143: "Interrupted by SIGTERM; what was verified is saved.",
}
EXAMPLES = (
    ("freeblock scrub sda run", "Verify a disk, and save its progress every two seconds."),
    ("freeblock scrub /dev/sda2 start --deadline 30",
     "Verify a partition within 30 days, unattended."),
    ("freeblock scrub sda status --json", "Show how far it is, as a JSON object."),
    ("freeblock scrub sda history", "Show when passes ended, how long they took, and their cost."),
    ("freeblock scrub sda bad", "Show the bad blocks, and which partition, volume and file uses "
     "each."),
    ("freeblock scrub sda allow", "Let the scrub of freeblock.conf continue despite many new bad "
     "blocks."),
    ("freeblock scrub sda stop", "Stop it; it continues from there when it is started again."),
    ("freeblock scrub --all", "Verify all hard disks that have the scheduler, side by side."),
)
ACTIONS = ("run", "start", "pause", "resume", "stop", "status", "history", "bad", "allow",
           "install-service")

SERVICE = """\
# /etc/systemd/system/freeblock-scrub@.service
[Unit]
Description=Scrub of %%i in the gaps of its foreground
After=local-fs.target

[Service]
ExecStart=%s scrub %%i run --wait --quiet
KillSignal=SIGTERM
Nice=10
StateDirectory=freeblock
SuccessExitStatus=143
Restart=on-failure
RestartPreventExitStatus=3
RestartSec=60

[Install]
WantedBy=multi-user.target
"""
HOWTO = """\
Write that to /etc/systemd/system/freeblock-scrub@.service, then
  systemctl daemon-reload
  systemctl enable --now freeblock-scrub@%(disk)s
It waits for the disk and its scheduler, continues where the last run was saved,
and ends when the disk has been scrubbed. Begin another pass now and then:
  systemctl restart freeblock-scrub@%(disk)s"""


class Piece:
    """What is to be verified: a disk or a part of it, and the words that start it."""

    def __init__(self, args, port):
        if args.order and not ORDERS.match(args.order):
            raise UsageError("--order: %s is none of sequential, near, staggered=REGIONS" %
                             args.order)
        if args.segment is not None and not (args.order or "").startswith("staggered"):
            raise UsageError("--segment needs --order staggered=REGIONS")
        segments = placement.locate(args.device)
        if len(segments) > 1:
            raise ToolError("%s lies in %d pieces: scrub its disks" % (args.device, len(segments)))
        whole, block = port.disk.identity()["sectors"], port.disk.granule_bytes() // 512
        piece = segments[0]
        self.first = piece.disk_first // block
        end = (piece.disk_first + piece.sectors + block - 1) // block
        self.blocks = end - self.first
        self.range = (self.first * block, min(end * block, whole) - self.first * block)
        words, self.suffix = ["start"], ""
        if piece.sectors != whole:
            words += ["%d %d" % self.range]
            self.suffix = ".%d-%d" % self.range
        words += [args.order] if args.order else []
        words += ["segment=%d" % args.segment] if args.segment is not None else []
        self.words = " ".join(words)


def wait_for(args):
    """The disk; waits for it if so asked."""
    said = None
    while True:
        try:
            name = placement.locate(args.device)[0].disk
            return fbstate.blocks_of(name)
        except ToolError as error:
            if not args.wait:
                raise
            if str(error) != said:
                said = str(error)
                say("waiting: " + said)
        time.sleep(SAVE_S)


def open_state(args, port, piece):
    """The journal; says what there is to say."""
    identity = port.identity()
    journal, said = scrub_state.open_journal(
        args.state or scrub_state.path_of(identity["id"], piece.suffix), identity)
    if said:
        say(said)
    return journal


def deadline_of(args):
    """When the pass should be over, seconds since 1970; None: no matter."""
    return None if args.deadline is None else time.time() + args.deadline * DAY_S


def run_keeper(args):
    """scrub DEVICE run"""
    port = Port(wait_for(args))
    if fbstate.hidden():
        raise fbstate.Hidden(fbstate.hidden())
    piece = Piece(args, port)
    journal = open_state(args, port, piece)
    keeper = Keeper(port, journal, piece, deadline_of(args), args.gate)
    stopped = []

    def stop(number, _frame):
        stopped.append(number)
        keeper.stopped = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    meter = Meter([port.disk.name], args.before)
    progress = Blocks(keeper.blocks, keeper.verified(),
                      journal.identity["block_bytes"], args.quiet)
    try:
        keeper.run(progress, lambda: remark_of(port, meter))
    except OSError as error:
        raise ToolError("%s: %s; the kernel goes on, but nothing is saved: run it again" % (
            error.filename or journal.path, error.strerror)) from error
    finally:
        journal.close()
    cost = meter.report()
    report(args, port, dict(progress.values(), state_file=journal.path,
                            **{"pass": journal.number}), cost)
    if port.state() == "finished":
        tell(port, keeper, journal, cost[port.disk.name])
    return 128 + stopped[0] if stopped else status_of(port)


def tell(port, keeper, journal, cost):
    """The journal, and the records of the disk's passes: a pass is over."""
    bad, unverified = (int(port.values().get(name, 0))
                       for name in ("blocks_bad", "blocks_unverified"))
    if not keeper.piece.suffix:
        due.passed(port.disk.name, journal.began)
        badblocks.forget(journal.identity["id"], keeper.is_verified)
        passes.add(journal.identity["id"], began=journal.began, ended=int(time.time()),
                   blocks=keeper.blocks, bad=bad, unverified=unverified,
                   added_ms=cost["added_ms"], error_ms=cost["error_ms"])
    events.send("scrub_done", port.disk.name, "pass %d of the scrub is done: %d of %d blocks "
                "verified, %d could not be read%s" % (
                    journal.number, keeper.verified(), keeper.blocks, bad,
                    unverified_text(unverified)), FREEBLOCK_BAD_BLOCKS=bad)


def unverified_text(blocks):
    """What is said of blocks that may have come from the drive's cache."""
    return ", %d were read without proof that the medium was" % blocks if blocks else ""


def remark_of(port, meter):
    """What a reader of the progress should know."""
    stuck = port.disk.stuck()
    return "waiting: " + stuck if stuck else \
        "; ".join(cost_text(cost) for cost in meter.report().values())


def status_of(port):
    """BAD_BLOCKS when some were found."""
    return BAD_BLOCKS if int(port.values().get("blocks_bad", 0)) else os.EX_OK


def report(args, port, progress, cost):
    """What is printed at the end."""
    values = port.values()
    if args.json:
        print(json.dumps({"disk": port.disk.name, "scrub": values, "progress": progress,
                          "cost": cost, "caveat": CAVEAT}, indent=1))
        return
    for key, value in values.items():
        print("%s %s" % (key, value))
    if progress:
        print("saved %d of %d blocks in %s" % (progress["done"], progress["blocks"],
                                               progress["state_file"]))
    for one in cost.values():
        print("cost %s" % cost_text(one))


def run_start(args, port):
    """scrub DEVICE start: with what was saved, but nobody saves what comes."""
    piece = Piece(args, port)
    if port.state() in ACTIVE:
        raise ToolError("%s is being scrubbed already; run: freeblock scrub %s status" %
                        (port.disk.name, args.device))
    journal = open_state(args, port, piece)
    try:
        Keeper(port, journal, piece, deadline_of(args)).begin()
    finally:
        journal.close()
    say("started; its progress is not saved: use 'run' for that (or install-service)")


def run_command(args):
    """scrub DEVICE start, pause, resume, stop, status, history, bad, allow"""
    segment = placement.locate(args.device)[0]
    port = Port(fbstate.blocks_of(segment.disk))
    if args.action == "start":
        run_start(args, port)
    elif args.action == "allow":
        print("%s: %d new bad blocks are allowed" % (
            port.disk.name, badblocks.allow(port.identity()["id"])))
    elif args.action == "bad":
        run_bad(args, port)
    elif args.action == "history":
        run_history(args, passes.load(port.identity()["id"]))
    elif args.action != "status":
        if port.state() not in ACTIVE:
            raise ToolError("%s is not being scrubbed (%s); run: freeblock scrub %s start" %
                            (port.disk.name, port.state(), args.device))
        port.command(args.action)
    else:
        port.state()
        report(args, port, None, {})
        return status_of(port)
    return os.EX_OK


def run_bad(args, port):
    """scrub DEVICE bad: of the whole disk, those found last first"""
    ident = port.identity()["id"]
    badblocks.note(port.disk, ident)
    blocks = badblocks.load(ident)[1]
    newest = sorted(blocks, key=lambda first: (-blocks[first][1], first))[:BAD_NAMED]
    found = [{"first": first, "sectors": blocks[first][0], "found": blocks[first][1],
              "used_by": users} for first, users in zip(newest, owner.of(
                  port.disk.name, [(first, blocks[first][0]) for first in newest]))]
    if args.json:
        print(json.dumps(found, indent=1))
        return
    for one in found:
        print("sector %d+%d, found %s: %s" % (
            one["first"], one["sectors"], _day(one["found"]),
            "; and ".join(", ".join(map(one_line, user)) for user in one["used_by"])))
    print("%d bad blocks%s" % (len(blocks), ", %d of them shown" % len(found)
                               if len(found) < len(blocks) else ""))


def _day(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def run_history(args, found):
    """scrub DEVICE history: of the whole disk"""
    if args.json:
        print(json.dumps(found, indent=1))
        return
    if not found:
        print("no pass over the whole disk has ended yet")
    for one in found:
        print("%s to %s (%s): %d blocks, %d bad%s; free reads added %s" % (
            _day(one["began"]), _day(one["ended"]), fbstate.span(one["ended"] - one["began"]),
            one["blocks"], one["bad"], unverified_text(one["unverified"]),
            "%.2f +- %.2f ms to a request" % (one["added_ms"], one["error_ms"])
            if one["added_ms"] is not None else "not known"))


def run_install_service(args):
    """scrub DEVICE install-service"""
    program = helpers.command()
    units.check_program(program, "move it to where only root may change it")
    print(SERVICE % program, end="")
    print(HOWTO % {"disk": os.path.basename(args.device)}, file=sys.stderr)
    return os.EX_OK


def add_parser(subparsers):
    """Add `scrub`."""
    parser = subparsers.add_parser(
        "scrub", help="verify a disk in the background",
        description="Verify a disk or partition in the background. run: start, save the progress "
        "every two seconds, and wait for the end; after a crash, a power cut, a reboot or a "
        "replugged disk it continues. start: start and return; the progress is not saved. "
        "history: show the ended passes; bad: show which files or volumes use bad blocks; "
        "allow: continue a scrub of freeblock.conf after too many new bad blocks; "
        "install-service: print a systemd unit for run.")
    parser.add_argument("device", metavar="DEVICE", nargs="?",
                        help="a disk or partition: sda, /dev/sda2")
    parser.add_argument("action", choices=ACTIONS, nargs="?",
                        metavar="{%s}" % ",".join(ACTIONS), help="what to do (run)")
    parser.add_argument("--all", action="store_true", help="all hard disks with the "
                        "scheduler except USB, virtual and drive-managed SMR disks, which have to "
                        "be named")
    parser.add_argument("--order", metavar="ORDER", help="order of idle reads: near, sequential "
                        "or staggered=REGIONS (near)")
    parser.add_argument("--segment", type=int, metavar="KIB", help="staggered: size of a "
                        "segment (64)")
    parser.add_argument("--deadline", type=float, metavar="DAYS", help="run, start: finish within "
                        "DAYS; if the current rate is too slow, the scrub takes precedence over "
                        "other tasks")
    parser.add_argument("--state", metavar="FILE", help="save the progress there "
                        "(/%s/<id>.coverage)" % scrub_state.FOLDER)
    parser.add_argument("--wait", action="store_true",
                        help="run: wait for module, disk and scheduler")
    parser.add_argument("--before", type=float, default=BEFORE_S, metavar="SECONDS",
                        help="run: first measure the foreground's latency for so long "
                        "(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run, gate=None)


def check_effects(args):
    """Refuse options that would do nothing."""
    if args.action not in ("run", "start"):
        need_defaults(args, "is for run and start", order=None, segment=None, deadline=None,
                      state=None)
    if args.action != "run":
        need_defaults(args, "is for run", wait=False, before=BEFORE_S)
    if args.action not in ("run", "status", "history", "bad"):
        need_defaults(args, "is for run, status, history and bad", json=False)


# ---- all disks

def meant():
    """The disks of --all, and lines about those that it leaves out."""
    found, left = [], []
    for disk in due.disks():
        why = kinds.by_name_only(disk["name"])
        why = why or smart.failing(disk["name"])
        if why:
            left.append("%s is left out: %s: name it, if it is meant" % (disk["name"], why))
        else:
            found.append(disk["name"])
    return found, left


def run_all(args):
    """scrub --all: as of each of them alone; the first status that is not 0."""
    names, left = meant()
    for line in left:
        say(line)
    if not names:
        raise ToolError("no hard disk has the scheduler freeblock: " +
                        advice.enable(fbstate.suited()))
    if args.action == "run":
        return Fleet(args, names).run()
    status = os.EX_OK
    for name in names:
        try:
            print("%s:" % name)
            one = run_command(argparse.Namespace(**{**vars(args), "device": name}))
            status = status or one
        except ToolError as error:
            say("%s: %s" % (name, error))
            status = status or 1
    return status


class Fleet:
    """A process for each disk, which ends as the scrub of that disk alone would. What stops this
    one stops them all."""

    def __init__(self, args, names):
        self.quiet, self.stopped = args.quiet, []
        words = [helpers.command(), "scrub", "run", "--quiet", "--before", "%g" % args.before]
        for name in ("order", "segment", "deadline"):
            value = getattr(args, name)
            words += [] if value is None else ["--" + name, str(value)]
        words += ["--wait"] * args.wait
        self.commands = {name: words[:2] + [name] + words[2:] for name in names}

    def stop(self, number, _frame):
        """A signal has come."""
        self.stopped.append(number)

    @staticmethod
    def relay(name, process):
        """What one says, with the disk's name."""
        for line in process.stdout:
            print("%s: %s" % (name, line.rstrip("\n").removeprefix("freeblock: ")), flush=True)

    def words(self):
        """How far they are."""
        return "; ".join("%s %s" % (name, "-" if share is None else "%.1f %%" % share)
                         for name, share in ((name, health.share_pct(
                             fbstate.Disk(name).job("scrub"))) for name in self.commands))

    def run(self):
        """Until all have ended."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)
        # pylint: disable-next=consider-using-with
        running = {name: subprocess.Popen(words, text=True, errors="replace",
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                   for name, words in self.commands.items()}
        readers = [threading.Thread(target=self.relay, args=one) for one in running.items()]
        for reader in readers:
            reader.start()
        shown, told = statusline.Line(self.quiet), False
        while any(process.poll() is None for process in running.values()):
            shown.show(self.words)
            if self.stopped and not told:
                told = True
                for process in running.values():
                    process.terminate()
            time.sleep(LOOK_S)
        for reader in readers:
            reader.join()
        shown.end()
        return 128 + self.stopped[0] if told else next(
            (process.returncode for process in running.values() if process.returncode), os.EX_OK)


def complete(args):
    """The words of a command line, none of which has to be there."""
    if args.all and args.action is None and args.device in ACTIONS:
        args.device, args.action = None, args.device
    need_one((args.device, "DEVICE"), (args.all, "--all"))
    args.action = args.action or "run"
    if args.all:
        need_defaults(args, "is for one disk: not with --all", state=None, json=False)
    if args.all and args.action == "install-service":
        raise UsageError("install-service is for one disk: /etc/freeblock.conf is for all of them")


def run(args):
    """Do what is asked."""
    complete(args)
    need_range("--before", args.before, 0, 3600)
    if args.deadline is not None:
        need_range("--deadline", args.deadline, 0, DAYS, over=True)
    check_effects(args)
    if args.all:
        return run_all(args)
    if not args.wait:
        placement.device_name(args.device)
    if args.action == "install-service":
        return run_install_service(args)
    return run_keeper(args) if args.action == "run" else run_command(args)
