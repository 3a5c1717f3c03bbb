# SPDX-License-Identifier: GPL-2.0
"""Scrubbers beside foregrounds, in the lab: the scrubbing paper's experiments and ours.

Runs a matrix of drives, foregrounds and scrubbers (labcells.py); writes summary.json, a table and
a picture. Documentation/scrub-bench.rst says what is measured and how to read it.
"""

import datetime
import json
import os
import random
import re

from freeblock import UsageError
from freeblock.base import safe_file
from freeblock.base.helpers import TOP
from freeblock.formats import fbmodel
from .plot import panels
from . import commit, labcells, peersum, scrubbench_rows

# 64 KiB requests of the scrubbing paper (IV-B); its chunk and mean think time
REQUEST, CHUNK, THINK_US = 1 << 16, 8 << 20, 100000
SIZES = {"64k": 1 << 16, "256k": 1 << 18, "1m": 1 << 20, "4m": 1 << 22}
# One command of 4 MiB goes to the drive as one, as a SAS adapter has it
EXTRA = "%s\nmax_sectors 8192" % labcells.NO_JOURNAL
LOADS = ("sequential", "random", "quiet", "bursts")
DRIVES = ("atlas10k", "nearline16")
SECONDS = {"sequential": 120, "random": 120, "quiet": 20, "bursts": 300}
QUICK_SECONDS = {"sequential": 60, "random": 60, "quiet": 10, "bursts": 120}
# Bursts lie in a range, which is what is scrubbed: a pass of the disk would take hours.
# Sectors of 512 bytes: 1 GiB in the middle of the disk; whole blocks of both models.
RANGES = {"atlas10k": (8388608, 2097152), "nearline16": (15624999936, 2097152)}
# A segment of freeblock's scrub, KiB: 64, or a block of the model's
SEGMENTS = {"atlas10k": 64, "nearline16": 128}
BURSTS = 12
# "Several tens of sectors close together": 4 runs of 8 to 24 within 2 MiB
RUNS, RUN_SECTORS, BURST_SECTORS = 4, (8, 24), 4096
# A drive that tries for long would be all that is measured; no retries by Linux
ERRORS = "asc=11 recovery_ms=100"

# The settings by name (Setting), by load
USUAL = """
none         alone
mq-deadline  alone
bfq          alone
freeblock    alone
bfq          idle 64k; idle 1m
mq-deadline  idle 64k; idle 1m
mq-deadline  default 64k 0 ms; default 64k 16 ms; default 64k 64 ms; default 64k 256 ms
mq-deadline  default 1m 0 ms; default 1m 16 ms; default 1m 64 ms; default 1m 256 ms
bfq          idle 64k staggered 8; idle 64k staggered 32; idle 64k staggered 128
bfq          idle 64k staggered 512
mq-deadline  default 64k 16 ms staggered 128
mq-deadline  verify default 64k 0 ms; verify default 64k 16 ms
bfq          verify idle 64k
mq-deadline  verify default 64k 0 ms staggered 128
freeblock    gaps only; waiting, 1 ms; waiting, 2 ms; waiting, 4 ms; gaps + idle, 0.5 ms
freeblock    gaps + idle, 1 ms; scrub near, 1 ms; scrub sequential, 1 ms
freeblock    scrub staggered 128, 1 ms; scan and scrub at once, 1 ms
"""
# What the orders and sizes bring on a disk with nothing else to do
QUIET = """
none         alone
""" + "".join("none %sdefault %s 0 ms%s\n" % (kind, size, regions)
              for kind in ("verify ", "") for size, regions in [
                  *((size, "") for size in SIZES),
                  *(("64k", " staggered %d" % n) for n in (2, 8, 32, 64, 128, 256, 512)),
                  *((size, " staggered 128") for size in ("256k", "1m", "4m") if kind)]) + """
freeblock    scrub near; scrub sequential; scrub staggered 128; scrub staggered 512
"""
# Who finds bursts of bad sectors, and when
DETECTING = """
mq-deadline  alone
bfq          idle 64k; idle 64k staggered 128
mq-deadline  default 64k 16 ms; verify default 64k 16 ms
freeblock    gaps only; waiting, 1 ms; waiting, 2 ms; waiting, 4 ms; gaps + idle, 0.5 ms
freeblock    gaps + idle, 1 ms; scrub near, 1 ms; scrub sequential, 1 ms
freeblock    scrub staggered 128, 1 ms
"""
QUICK = re.compile(r"alone|idle 64k|default 64k (0|16) ms|verify default 64k 16 ms|"
                   r"idle 64k staggered 128|gaps only|(gaps \+ idle|waiting), 1 ms|"
                   r"scrub (near|sequential|staggered 128)(, 1 ms)?|"
                   r"verify default 64k 0 ms( staggered (2|128))?")
PROGRAM = re.compile(r"(verify )?(idle|default) (\w+)(?: (\d+) ms)?(?: staggered (\d+))?")
TASK = re.compile(r"(gaps|waiting|scan|scrub (?:near|sequential|staggered (\d+)))[^,]*"
                  r"(?:, ([\d.]+) ms)?")


class Setting:
    """A scheduler, what scrubs, and what is set for it, all as a name says it: a program (VERIFY or
    direct reads, class, size, pause, regions) or freeblock's tasks, and the goal of idle reads.

    reads: words for cells.sh; fbset: written into /sys/kernel/freeblock/<disk>/; attrs: of the
    scheduler."""

    depth = ""

    def __init__(self, peer, name, known=True):
        self.peer, self.name, self.known = peer, name, known or peer != "freeblock"
        self.fbset = self.attrs = ""
        self.reads, self.goal_ms = "none", 0
        self.background = "none" if name == "alone" else "scrub"
        if PROGRAM.fullmatch(name):
            self.reads = program(*PROGRAM.fullmatch(name).groups())
        elif name != "alone":
            self.task(*TASK.fullmatch(name).groups())

    def task(self, kind, regions, goal_ms):
        """One of freeblock's. Without a goal: gaps only; a scrub may then use all idle time."""
        mean_us = round(float(goal_ms) * 1000) if goal_ms else 0 if kind == "gaps" else 10 ** 7
        self.fbset = "idle_wait_us=auto idle_size_kib=auto idle_mean_us=%d" % mean_us
        self.goal_ms = mean_us / 1000
        # No gap is that long: idle time is all that is left
        self.attrs = "conservatism_us=10000" if kind == "waiting" else ""
        self.reads = {"gaps": "scan", "waiting": "scan", "scan": "both"}.get(kind, kind)
        if regions:
            self.reads = "scrub staggered=%s segment=%%d" % regions


def program(verify, class_, size, delay_ms, regions):
    """Words for cells.sh of a scrubber that is a program."""
    return "%s bytes=%d regions=%d pause_us=%d%s%s" % (
        "verify" if verify else "read", SIZES[size], int(regions or 1), int(delay_ms or 0) * 1000,
        " class=3" if class_ == "idle" else "",
        "" if regions else " begin_pm=%d" % labcells.READER_PM)


def settings(load, known=True):
    """Of one foreground; known: freeblock has the drive's model."""
    table = {"quiet": QUIET, "bursts": DETECTING}.get(load, USUAL)
    return list(labcells.named(table, lambda peer, name: Setting(peer, name, known)))


def bursts(drive, seconds, seed):
    """[(second, [(first, count), ...])]: bad sectors, in order of time, in the first two
    thirds of the run."""
    first, count = RANGES[drive]
    draw = random.Random("%s %d" % (drive, seed))
    found = []
    for _ in range(BURSTS):
        at = first + draw.randrange(count - BURST_SECTORS) // 8 * 8
        starts = sorted(draw.sample(range(0, BURST_SECTORS, 64), RUNS))
        found.append((draw.randrange(1, seconds * 2 // 3),
                      [(at + s, draw.randint(*RUN_SECTORS) // 8 * 8) for s in starts]))
    return sorted(found)


class Cell(labcells.Cell):
    """One measurement."""

    def foreground(self):
        if self.load == "quiet":
            # one request at the start, and one behind the window
            return "stream bytes=4096 pause_us=%d" % ((self.seconds + self.warmup()) * 10 ** 6)
        words = "chunks bytes=%d chunk=%d think_us=%d" % (
            REQUEST, CHUNK if self.load == "sequential" else REQUEST, THINK_US)
        return words + " errors_ok=1" if self.load == "bursts" else words

    def planted(self):
        """Bursts of bad sectors."""
        return bursts(self.drive, self.seconds, self.seed) if self.load == "bursts" else []

    def scrub(self):
        """What reads beside the foreground."""
        words = self.setting.reads.replace("%d", str(SEGMENTS[self.drive]))
        if self.load != "bursts" or words == "none":
            return words
        kind, _, rest = words.partition(" ")
        if kind in ("read", "verify"):
            return re.sub(r" begin_pm=\d+", "", words) + " first=%d count=%d" % RANGES[self.drive]
        return ("%s %d %d %s" % (kind, *RANGES[self.drive], rest)).rstrip()

    def unit(self):
        """Sectors of 512 bytes in one of the drive's."""
        return 8 if self.drive.startswith("nearline") else 1

    def variables(self):
        unit = self.unit()
        planted = ";".join("%d %s" % (second, ",".join(
            "%d %d" % (first // unit, count // unit) for first, count in runs))
            for second, runs in self.planted())
        return {**super().variables(), "extra": EXTRA, "fbset": self.setting.fbset,
                "bg": self.scrub(), "bursts": planted, "errors": ERRORS}

    def void(self, figures):
        return super().void(figures) if self.load != "quiet" else ""

    def row(self, figures):
        return {**super().row(figures), "warmup": self.warmup(), "goal_ms": self.setting.goal_ms,
                "known": self.setting.known}


def disk_sectors(drive):
    """Of 512 bytes."""
    path = os.path.join(TOP, "models", labcells.DRIVES[drive][1] + ".fbmodel")
    return fbmodel.Model.of_file(path).number("sectors")


class Bench(labcells.Bench):
    """Of scrubbers."""

    name, machine_s = "bench-scrub", 1200

    @staticmethod
    def figures(folder):
        """A cell's, what the scrubber met, and of which tree and day they are."""
        return {**peersum.cell_figures(folder), "found": scrubbench_rows.found_errors(folder),
                "commit": commit(), "date": datetime.date.today().isoformat()}


def plan(args):
    """The cells that the arguments ask for."""
    seconds = QUICK_SECONDS if args.quick else SECONDS
    cells = [Cell(drive, load, setting, args.seconds or seconds[load], args.seed)
             for drive in labcells.chosen(args.drive, DRIVES, "drive")
             for load in labcells.chosen(args.load, LOADS, "load")
             for setting in settings(load, not args.no_model)
             if not args.quick or QUICK.fullmatch(setting.name)]
    try:
        wanted = re.compile(args.cell)
    except re.error as error:
        raise UsageError("--cell '%s': not a regular expression: %s" % (args.cell,
                                                                        error)) from error
    # Without those alone there is nothing to compare with
    found = [c for c in cells if c.setting.name == "alone" or
             wanted.search("%s %s" % (c.setting.peer, c.setting.name))]
    if args.cell not in ("", "alone") and all(c.setting.name == "alone" for c in found):
        raise UsageError("no cell matches '%s'" % args.cell)
    return found


def picture(path, figures):
    """Foreground's mean latency against the scrubber's MB/s, by drive and load."""
    plots = []
    for where, rows in labcells.group(figures).items():
        lines = {}
        for row in rows:
            if row.get("mean_ms") is not None:
                lines.setdefault("%s, %s" % (row["peer"], re.match(r"\w+", row["setting"]).group()),
                                 []).append((row["mean_ms"], row["bg_mb_s"]))
        if lines:
            plots.append({"title": "%s, %s" % where, "x": "mean latency, ms",
                          "y": "scrub, MB/s", "points": True,
                          "lines": {name: sorted(at) for name, at in lines.items()}})
    if plots:
        panels(path, "Scrubbers beside foregrounds", plots)
    return bool(plots)


def run(args):
    """Measure, write, show; 1 if a cell is not to be trusted."""
    if args.seconds < 0 or args.seed < 0:
        raise UsageError("--seconds %d, --seed %d: not below 0" % (args.seconds, args.seed))
    build = os.path.abspath(args.build)
    folder = os.path.join(build, "bench-scrub")
    cells = plan(args)
    bench = Bench(build, folder, args.through, args.fresh)
    figures = labcells.rows_of(bench, cells, args.kept)
    for cell, row in zip([cell for cell in cells if bench.kept(cell)], figures):
        scrubbench_rows.complete(row, disk_sectors(cell.drive), cell.unit(),
                                 cell.planted())
    path = os.path.join(folder, "summary.json")
    with safe_file.whole_file(path) as file:
        file.write((json.dumps(scrubbench_rows.rows(figures), indent=1) + "\n").encode())
    print("\n".join(scrubbench_rows.tables(figures)))
    faults = labcells.faults(figures)
    for fault in faults:
        print("doubtful    " + fault)
    image = os.path.join(folder, "scrub.png")
    if picture(image, figures):
        print("picture: " + os.path.relpath(image))
    print("numbers: " + os.path.relpath(path))
    return 1 if faults else 0


def add_parser(subparsers):
    """The command line of `freeblock-bench bench-scrub`."""
    parser = subparsers.add_parser("bench-scrub", help="scrubbers beside foregrounds, in the lab",
                                   description=__doc__.split("\n\n", maxsplit=1)[0])
    labcells.add_options(parser, DRIVES, LOADS, SECONDS)
    parser.add_argument("--cell", default="", metavar="REGEX",
                        help="only settings that tables call so, behind their scheduler")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter cells")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the requests (1)")
    parser.set_defaults(run=run)
