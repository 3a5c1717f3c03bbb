# SPDX-License-Identifier: GPL-2.0
"""Checksum a disk, or compare it with its checksums, in the gaps of its foreground.

Blocks come through /dev/freeblock/<disk> in the order that costs least; what a digest of
each is written to, and how it survives interruptions, is in scan_file.py.
Documentation/scan-scrub.rst describes use, output and exit statuses.
"""

import itertools
import json
import os
import re
import select
import signal
import time

from .. import ToolError, UsageError, background, fbstate, need_range
from ..base.streams import one_line
from ..state import placement
from ..state.costs import CAVEAT, Meter
from ..state.costs import text as cost_text
from ..state.taskprogress import Blocks
from ..tasks import scan_file, scan_source
from ..tasks.scan_file import GOOD, NOT_TRIED, UNREADABLE

# Of five seconds that an interruption may cost: reads for two, and their way to the disk
SYNC_S = 2.0
POLL_S = 0.5
BAD_BLOCKS, DIFFERENT = 3, 4    # exit statuses
STATUSES = {
    0: "All blocks were read, and equal their digests if they were compared.",
    BAD_BLOCKS: "Blocks could not be read; they are listed.",
    DIFFERENT: "Blocks differ from their digests; they are listed.",
    130: "Interrupted by SIGINT; what was read is saved.",
    143: "Interrupted by SIGTERM; what was read is saved.",
}
EXAMPLES = (
    ("freeblock scan /dev/sda -o /root/sda.digests", "Write a digest of each block of a disk."),
    ("freeblock scan /dev/sda --verify /root/sda.digests", "Compare the disk with them."),
    ("freeblock scan /dev/md0 --member sdb1 -o /root/sdb1.digests",
     "Read one member of an md raid1."),
)
BAD = re.compile(b"[%c%c]" % (UNREADABLE, NOT_TRIED))
NAMES = {state: name for name, state in scan_file.STATES.items()}


class Verifier:
    """In place of a file that is written: compares with one that is there."""

    def __init__(self, old, header):
        self.header = header
        self.old = old
        self.state = bytearray(header.layout.blocks)
        self.differing = []

    def has(self, number):
        """Whether a block was delivered in this run."""
        return self.state[number]

    def put(self, number, state, digest):
        """A block was delivered."""
        self.state[number] = state
        found = difference(number, self.old.get(number), (state, digest))
        if found:
            self.differing.append(found)

    def count(self, state):
        """How many blocks are in this state."""
        return self.state.count(state)

    def sync(self):
        """Nothing is kept."""

    def finish(self):
        """Nothing is kept."""

    def close(self):
        """Nothing is kept."""


def difference(number, old, new):
    """None if a block's two records say the same; else what it was and is."""
    if old == new:
        return None
    return number, describe(old), describe(new)


def describe(record):
    """A record in a word."""
    if record is None:
        return "missing"
    state, digest = record
    return digest.hex() if state == GOOD else NAMES[state].replace(" ", "-")


def compare(old, new):
    """All differences of two finished files."""
    found, records = [], {}
    for number, state, digest in old.all():
        records[number] = (state, digest)
        if len(records) >= scan_file.CHUNK:
            found += _compare_some(records, new)
    return found + _compare_some(records, new)


def _compare_some(records, new):
    found = [difference(number, old, new.get(number)) for number, old in records.items()]
    records.clear()
    return [one for one in found if one]


class Scan:
    """One run: blocks from the disks, digests to the sink."""

    def __init__(self, sink, quiet, before_s):
        self.sink = sink
        self.layout = sink.header.layout
        self.digest = scan_file.digest_function(sink.header.algorithm)
        self.stopped = None
        self.synced = time.monotonic()
        self.disks = {name: fbstate.Disk(name) for name in self.layout.disks()}
        self.meter = Meter(self.disks, before_s)
        self.done = self.layout.blocks - sink.state.count(0)
        self.progress = Blocks(self.layout.blocks, self.done, self.layout.block * 512, quiet)

    def stop(self, number, _frame):
        """A signal: save, and end."""
        self.stopped = number

    def take(self, disk, record):
        """A record of the device: blocks, and their data unless they could not be read."""
        for number, low, high in self.layout.places(disk, record.first, record.sectors):
            self.done += not self.sink.has(number)
            if record.status == background.OK:
                piece = record.data[(low - record.first) * 512:(high - record.first) * 512]
                self.sink.put(number, GOOD, self.digest(piece))
            else:
                self.sink.put(number, UNREADABLE if record.status == background.UNREADABLE
                              else NOT_TRIED, bytes(16))

    def tick(self, gone):
        """Now and then: save, show."""
        if time.monotonic() - self.synced >= SYNC_S:
            self.sink.sync()
            self.synced = time.monotonic()
        self.progress.set(self.done)
        self.progress.tell(lambda: self.remark(gone))

    def remark(self, gone):
        """What a reader of the progress should know."""
        if gone:
            return "waiting: the disk is gone"
        stuck = [why for why in (disk.stuck() for disk in self.disks.values()) if why]
        if stuck:
            return "waiting: " + stuck[0]
        return "; ".join(cost_text(cost) for cost in self.meter.report().values())

    def wanted(self, disk, state):
        """An iterator of the ranges of a disk that are missing, by the blocks' states; None if
        none is."""
        ranges = (rest for name, *rest in self.layout.ranges(state) if name == disk)
        first = next(ranges, None)
        return itertools.chain((first,), ranges) if first else None

    def run(self):
        """Read until all is there or a signal comes. What has been put is saved in any
        case."""
        old = {number: signal.signal(number, self.stop)
               for number in (signal.SIGINT, signal.SIGTERM)}
        sources = []
        try:
            for disk in self.disks:
                missing = self.wanted(disk, self.sink.state)
                if missing:
                    whole = self.wanted(disk, bytes(self.layout.blocks))
                    sources.append(scan_source.Source(disk, missing, whole))
            self._loop(sources)
        finally:
            for source in sources:
                source.close()
            self.sink.sync()
            self.progress.set(self.done)
            self.progress.end()
            for number, handler in old.items():
                signal.signal(number, handler)

    def _loop(self, sources):
        """Until all has been delivered, or a signal came. Those whose disk is gone are
        asked now and then: poll() would not wait for them."""
        poller = select.poll()
        by_fd = {source.fileno(): source for source in sources}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        ticked = time.monotonic()
        while self.stopped is None and self.missing():
            more = {fd for fd, source in by_fd.items() if source.more}
            for fd in more | {fd for fd, _ in poller.poll(0 if more else POLL_S * 1000)}:
                for record in by_fd[fd].records():
                    self.take(by_fd[fd].disk, record)
            gone = [source for source in sources if source.gone]
            if gone:
                time.sleep(POLL_S)
            if gone or time.monotonic() - ticked >= POLL_S:
                ticked = time.monotonic()
                self.tick(gone)

    def missing(self):
        """How many blocks are not there yet."""
        return self.layout.blocks - self.done


def header_of(args):
    """What this run is about: the device's segments, their disks, the block."""
    segments = placement.locate(args.device, args.member)
    disks = {segment.disk: fbstate.blocks_of(segment.disk) for segment in segments}
    granules = {name: disk.granule_bytes() for name, disk in disks.items()}
    if len(set(granules.values())) > 1:
        raise ToolError("%s lies on disks with blocks of different sizes (%s): scan their "
                        "partitions one by one" % (args.device, ", ".join(
                            "%s: %d" % one for one in sorted(granules.items()))))
    return scan_file.Header(args.device, args.algorithm, max(granules.values()), segments,
                            {name: disk.identity() for name, disk in disks.items()})


def read_all(scan, old):
    """Run a scan, and finish its file; what differs from `old`."""
    scan.run()
    if isinstance(scan.sink, Verifier):
        return sorted(scan.sink.differing)
    differing = []
    if scan.stopped is None:
        differing = compare(old, scan.sink) if old else []
        scan.sink.finish()
    return differing


def result_of(scan, differing, args):
    """What is printed at the end, as an object."""
    sink, layout = scan.sink, scan.layout
    bad = [match.start() for match in BAD.finditer(sink.state)]
    result = {
        "device": args.device, "file": args.output, "verify": args.verify,
        "algorithm": sink.header.algorithm, "finished": scan.stopped is None,
        "progress": scan.progress.values(), "good": sink.count(GOOD),
        "unreadable": sink.count(UNREADABLE), "not_tried": sink.count(NOT_TRIED),
        "bad": [dict(_place(layout, number), state=NAMES[sink.state[number]]) for number in bad],
        "cost": scan.meter.report(), "caveat": CAVEAT,
    }
    if args.verify:
        result["differing"] = [dict(_place(layout, number), was=was, now=now)
                               for number, was, now in differing]
    return result


def _place(layout, number):
    disk, lbn, sectors, first = layout.block_of(number)
    return {"sector": first, "sectors": sectors, "disk": disk, "lbn": lbn}


def print_result(result):
    """For people."""
    where = "sector %(sector)d, %(sectors)d long (%(disk)s %(lbn)d)"
    for block in result["bad"]:
        print("%s %s" % (block["state"], where % block))
    for block in result.get("differing", ()):
        print("differs %s: was %s, is %s" % (where % block, block["was"], block["now"]))
    progress = result["progress"]
    print("%s: %d of %d blocks of %d bytes%s: %d good, %d unreadable, %d not tried%s" % (
        one_line(result["device"]), progress["done"], progress["blocks"], progress["block_bytes"],
        ", %d of them before" % progress["before"] if progress["before"] else "",
        result["good"], result["unreadable"], result["not_tried"],
        ", %d differ" % len(result["differing"]) if "differing" in result else ""))
    for name, cost in result["cost"].items():
        print("%s: %s" % (name, cost_text(cost)))
    if not result["finished"]:
        print("interrupted%s" % ("; the same command goes on" if result["file"] else ""))


def add_parser(subparsers):
    """Add `scan`."""
    parser = subparsers.add_parser(
        "scan", help="checksum a disk in the background, or compare with checksums",
        description="Read every block in the background, and write a digest of each to a file, or "
        "compare with such a file. Reads a disk, partition, LVM linear volume or member of an md "
        "raid1. After an interruption the same command continues.")
    parser.add_argument("device", metavar="DEVICE", help="/dev/sda, sda2, /dev/vg/volume, /dev/md0")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the digests there (FILE.part "
                        "until it is complete); use another disk")
    parser.add_argument("--verify", metavar="FILE", help="compare with these digests")
    parser.add_argument("--algorithm", choices=scan_file.ALGORITHMS, help="of the digests "
                        "(blake2b-128, with --verify that of the file)")
    parser.add_argument("--member", metavar="NAME", help="of an md raid1: the member to read")
    parser.add_argument("--before", type=float, default=5, metavar="SECONDS",
                        help="first measure the foreground's latency for so long (5)")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def check(args):
    """Refuse what makes no sense; what to compare with, or None."""
    placement.device_name(args.device)
    if not args.output and not args.verify:
        raise UsageError("specify -o FILE, --verify FILE or both")
    need_range("--before", args.before, 0, 3600)
    old = scan_file.open_finished(args.verify) if args.verify else None
    if old and args.algorithm not in (None, old.header.algorithm):
        raise ToolError("%s: digests are %s, not %s" % (args.verify, old.header.algorithm,
                                                        args.algorithm))
    args.algorithm = old.header.algorithm if old else args.algorithm or scan_file.ALGORITHMS[0]
    return old


def run(args):
    """Scan, print what came of it."""
    old = check(args)
    header = header_of(args)
    if old:
        differs = header.same_as(old.header)
        if differs:
            raise ToolError("%s is about something else: %s" % (args.verify, differs))
    sink = scan_file.Writer(args.output, header) if args.output else Verifier(old, header)
    try:
        scan = Scan(sink, args.quiet, args.before)
        result = result_of(scan, read_all(scan, old), args)
    except OSError as error:
        raise ToolError("%s: %s; what was saved by then counts, the same command goes on" % (
            error.filename or args.output, error.strerror)) from error
    finally:
        sink.close()
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        print_result(result)
    return status_of(scan, result)


def status_of(scan, result):
    """The exit status."""
    if scan.stopped is not None:
        return 128 + scan.stopped
    if result.get("differing"):
        return DIFFERENT
    return BAD_BLOCKS if result["bad"] else os.EX_OK
