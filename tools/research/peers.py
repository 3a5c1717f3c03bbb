# SPDX-License-Identifier: GPL-2.0
"""Schedulers side by side: a foreground, and a read of the whole disk beside it.

Runs the matrix of drives, loads and settings in the lab, a few cells to a
virtual machine, and keeps each cell's figures in FOLDER/cells, so that a run that
was stopped goes on and a change of the scheduler repeats its cells only.
Writes peers.json, a table and a picture. Documentation/peers.rst says what is
measured and how to read it.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import time

from freeblock import ToolError, UsageError
from freeblock.hosts import BUILD, TOP
from . import peersum

LAB = os.path.join(TOP, "tests", "lab")
WARMUP_S = 5
# Time for tracing and for reading the trace, about half of it each
CPU_WARMUP_S = 30
# Virtual seconds of one machine at most: what is lost when a bench is stopped
MACHINE_S = 300
MACHINE_TIMEOUT_S = 1500
# Where a reader of the whole disk begins, per mille: from there the mean distance
# to a place drawn uniformly, 1/3 of the disk, is that of a whole scan
READER_PM = 211
NO_JOURNAL = "journal_records 0"
# A write-back cache of 2 MiB, half of it for writes; its sizes are assumptions
ATLAS_CACHE = "cache 8 512 4\nwrite_cache back\nwritten_hits on\nappend_writes on"

# name: drive's file, model, further lines, arrivals per 1000 s at 30, 60 and 85 %
# utilisation (share of the time that the drive is busy, under none, alone)
DRIVES = {
    "atlas10k": ("atlas10k", "atlas10k", "", (35000, 70000, 108000)),
    "nearline16": ("nearline16", "nearline16", "", (24000, 49000, 79000)),
    "atlas10k-wc": ("atlas10k", "atlas10k", ATLAS_CACHE, (35000, 70000, 108000)),
    "nearline16-wc": ("nearline16-wc", "nearline16", "", (24000, 49000, 79000)),
}
RANDOM_LOADS = ("closed", "low", "middle", "high")
# Requests of load.c; resilver: a rebuild's writes and reads beside random reads
STREAMS = {
    "sequential": "stream depth=32 bytes=1048576",
    "streams": ";".join("stream bytes=1048576 begin_pm=%d" % pm for pm in (0, 250, 500, 750)),
    "resilver": "stream reads=0 bytes=1048576 begin_pm=600;random depth=4 reads=100;"
                "stream bytes=1048576 begin_pm=100",
}
LOADS = RANDOM_LOADS + tuple(STREAMS) + ("cpu",)
SECONDS = {"closed": 30, "low": 40, "middle": 40, "high": 40, "sequential": 15, "streams": 15,
           "resilver": 30, "cpu": 20}
# Functions whose time is taken under the load "cpu": the drive's and the scheduler's
TRACED = {"freeblock": ":mod:mechdisk :mod:freeblock", "mq-deadline": ":mod:mechdisk dd_*",
          "bfq": ":mod:mechdisk :mod:bfq", "kyber": ":mod:mechdisk :mod:kyber_iosched",
          "none": ":mod:mechdisk"}
IDLE, BEST_EFFORT = "class=3", "class=2 level=7"
STRICT = "low_latency=0 strict_guarantees=1"
KIB_64, KIB_256, MIB = 1 << 16, 1 << 18, 1 << 20
SIZE_NAMES = {KIB_64: "64k", KIB_256: "256k", MIB: "1m"}


def reader(size, pause_ms=0, class_=IDLE, outstanding=1):
    """A background that reads the disk in order."""
    return "stream %s bytes=%d pause_us=%d begin_pm=%d depth=%d" % (
        class_, size, pause_ms * 1000, READER_PM, outstanding)


def reader_name(size, pause_ms=0, class_=IDLE, outstanding=1):
    """How a reader is called in tables."""
    return "%s %s%s%s" % ("idle" if class_ == IDLE else "be7",
                          "%dx" % outstanding if outstanding > 1 else "", SIZE_NAMES[size],
                          "/%dms" % pause_ms if pause_ms else "")


class Setting:
    """A scheduler, its attributes, and what reads beside the foreground; whether freeblock has the
    drive's model."""

    def __init__(self, peer, background="none", attrs="", depth="", known=True):
        self.peer = peer
        self.known = known
        self.attrs = attrs
        self.depth = depth
        self.background = "none" if background == "none" else \
            "scan" if background == "scan" else "reader"
        self.reads = background if isinstance(background, str) else reader(*background)
        words = [background if isinstance(background, str) else reader_name(*background)]
        words += attrs.split() + (["queue_depth=%s" % depth] if depth else [])
        words += [] if known else ["without a model"]
        self.name = " ".join("alone" if w == "none" else w for w in words)


def grid(peer, sizes, pauses, class_=IDLE, **options):
    """Settings of one peer: readers of each size with each pause."""
    return [Setting(peer, (size, pause, class_), **options) for size in sizes for pause in pauses]


def usual_settings():
    """The peers' settings that are always compared."""
    both = (KIB_64, MIB)
    return [
        Setting("none"), *grid("none", (KIB_64,), (16,), BEST_EFFORT),
        Setting("kyber"), *grid("kyber", (KIB_64,), (16,), BEST_EFFORT),
        Setting("mq-deadline"), *grid("mq-deadline", both, (0,)),
        *grid("mq-deadline", both, (0,), attrs="prio_aging_expire=100"),
        *grid("mq-deadline", (KIB_64,), (64,), BEST_EFFORT),
        Setting("bfq"), *grid("bfq", both, (0,)), *grid("bfq", both, (0,), attrs=STRICT),
    ]


def more_settings():
    """On drives without a write cache: what else is said to help."""
    both = (KIB_64, MIB)
    return [
        *grid("none", (MIB,), (256,), BEST_EFFORT),
        *grid("none", (KIB_64,), (16,), BEST_EFFORT, depth="2"),
        *grid("kyber", (MIB,), (256,), BEST_EFFORT),
        *grid("kyber", (KIB_64,), (16,), BEST_EFFORT, attrs="read_lat_nsec=20000000"),
        *grid("mq-deadline", both, (16, 64, 256)), *grid("mq-deadline", (KIB_256,), (0,)),
        Setting("mq-deadline", (KIB_64, 0, IDLE, 2)),
        *grid("bfq", (MIB,), (0,), attrs="low_latency=0"),
        *grid("bfq", (KIB_64,), (0,), attrs="low_latency=0 slice_idle=0"),
    ]


def wide_settings():
    """With --wide only: neighbours of the others."""
    return [
        *grid("none", (KIB_64,), (0, 64), BEST_EFFORT), *grid("none", (MIB,), (64,), BEST_EFFORT),
        *grid("none", (KIB_64,), (0,), BEST_EFFORT, depth="2"),
        *grid("kyber", (KIB_64,), (64,), BEST_EFFORT),
        *grid("mq-deadline", (MIB,), (0,), attrs="prio_aging_expire=500"),
        *grid("mq-deadline", (KIB_64,), (16,), BEST_EFFORT),
        *grid("mq-deadline", (MIB,), (64, 256), BEST_EFFORT),
        *grid("mq-deadline", (KIB_64,), (16,), BEST_EFFORT,
              attrs="fifo_batch=1 read_expire=100 write_expire=100"),
        *grid("bfq", (KIB_64,), (0,), attrs="low_latency=0"),
        *grid("bfq", (KIB_64,), (16, 64), attrs="low_latency=0"),
        *grid("bfq", (MIB,), (0, 64), BEST_EFFORT, attrs="low_latency=0"),
    ]


def settings(drive, load, attrs, wide=False, known=True):
    """Of freeblock, with these further attributes, and of its peers."""
    ours = [Setting("freeblock", what, attrs, known=known) for what in ("none", "scan")]
    if load in STREAMS or load == "cpu":
        return ours + [Setting(peer) for peer in ("mq-deadline", "none", "bfq", "kyber")]
    more = [] if drive.endswith("-wc") else more_settings()
    return ours + usual_settings() + more + (wide_settings() if wide else [])


def compile_for_guest(name, program):
    """tests/lab/NAME.c, so that it runs in a guest, as the file PROGRAM."""
    source = os.path.join(LAB, name + ".c")
    done = subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-static", "-o", program, source,
                           "-lm", "-lpthread"], check=False)
    if done.returncode:
        raise ToolError("%s does not compile" % source)


def checksum(*paths):
    """Of the contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


class Cell:
    """One measurement: a setting on a drive under a load."""

    def __init__(self, drive, load, setting, seconds, seed):
        self.drive = drive
        self.load = load
        self.setting = setting
        self.seconds = seconds
        self.seed = seed

    def foreground(self):
        """Requests, as load.c takes them."""
        if self.load in STREAMS:
            return STREAMS[self.load]
        if self.load in ("closed", "cpu"):
            return "random depth=10 reads=67"
        rate = DRIVES[self.drive][3][("low", "middle", "high").index(self.load)]
        return "random depth=1024 rate=%d reads=67" % rate

    def warmup(self):
        """Seconds that do not count."""
        return CPU_WARMUP_S if self.load == "cpu" else WARMUP_S

    def variables(self):
        """What tests/lab/peers.sh wants to know, but for the id."""
        drive, model, extra, _ = DRIVES[self.drive]
        trace = TRACED[self.setting.peer] if self.load == "cpu" else ""
        return {"drive": drive + ".fbdrive",
                "model": model + ".fbmodel" if self.setting.known else "",
                "extra": "\n".join(x for x in (NO_JOURNAL, extra) if x),
                "sched": self.setting.peer, "attrs": self.setting.attrs,
                "queue_depth": self.setting.depth, "nr_requests": "256",
                "fg": self.foreground(), "bg": self.setting.reads, "warmup": str(self.warmup()),
                "seconds": str(self.seconds), "seed": str(self.seed), "trace": trace}

    def key(self, sums):
        """Of all that its figures depend on."""
        drive, model, _, _ = DRIVES[self.drive]
        files = [os.path.join(TOP, "tools", "mechdisk", "drives", drive + ".fbdrive")]
        parts = [sums["all"], sorted(self.variables().items())]
        if self.setting.peer == "freeblock":
            files.append(os.path.join(TOP, "models", model + ".fbmodel"))
            parts.append(sums["freeblock"])
        text = json.dumps([parts, checksum(*files)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def line(self, name):
        """A line of shell."""
        words = ["id=" + name] + ["%s=%s" % item for item in self.variables().items()]
        return "cell " + " ".join(shlex.quote(w) for w in words) + "\n"

    def row(self, figures):
        """What summarize() and the tables want."""
        return {"drive": self.drive, "load": self.load, "peer": self.setting.peer,
                "setting": self.setting.name, "background": self.setting.background,
                "seconds": self.seconds, "seed": self.seed, **figures}

    def void(self, figures):
        """Why its figures say nothing; "" if they do."""
        nothing = self.setting.background == "scan" and not figures["bg_mb_s"]
        if nothing and not figures.get("scan_said"):
            return "%s, %s, %s %s: the scan read nothing, and no load is why" % (
                self.drive, self.load, self.setting.peer, self.setting.name)
        return ""

    def virtual_s(self):
        """Virtual seconds it takes, about."""
        return self.seconds + self.warmup() + 3


class Bench:
    """Runs cells and keeps their figures.

    script: the guest's part; programs: compiled for it, from .c files beside it;
    figures: makes sense of the folder that a cell leaves."""

    name = "peers"
    script = "peers.sh"
    programs = ("load",)
    figures = staticmethod(peersum.cell_figures)
    machine_s = MACHINE_S

    def __init__(self, build, folder, through, fresh):
        self.build = build
        self.folder = folder
        self.through = shlex.split(through)
        self.fresh = fresh
        self.measured = set()
        self.cells = os.path.join(folder, "cells")
        os.makedirs(self.cells, exist_ok=True)
        self.release = self._compile()
        self.sums = self._sums()

    def program(self, name):
        """Where a compiled program is."""
        return os.path.join(self.build, name)

    def _compile(self):
        """The programs for the guest; the kernel's release."""
        for name in self.programs:
            compile_for_guest(name, self.program(name))
        said = subprocess.run([os.path.join(LAB, "kernel"), "stock"], text=True, check=False,
                              stdout=subprocess.PIPE)
        if said.returncode:
            raise ToolError("no stock kernel")
        return dict(line.split("=", 1) for line in said.stdout.splitlines())["KVER"]

    def _sums(self):
        folder = os.path.join(self.build, "kernel-" + self.release)
        found = {}
        for here, _, files in os.walk(folder):
            found.update({name: os.path.join(here, name) for name in files})
        for name in ("freeblock.ko", "mechdisk.ko"):
            if name not in found:
                raise ToolError("no %s in %s: make modules" % (name, folder))
        return {"all": self.release + checksum(found["mechdisk.ko"],
                                               *map(self.program, self.programs),
                                               os.path.join(LAB, "guest", "cells.sh"),
                                               os.path.join(LAB, self.script)),
                "freeblock": checksum(found["freeblock.ko"])}

    def path(self, cell):
        """Where a cell's figures are kept."""
        return os.path.join(self.cells, cell.key(self.sums) + ".json")

    def kept(self, cell):
        """The cell's row if it is there."""
        old = self.fresh and cell not in self.measured
        if old or not os.path.exists(self.path(cell)):
            return None
        with open(self.path(cell)) as file:
            return cell.row(json.load(file))

    def files(self, _cells):
        """What the guest needs further, as the lab's --file has it."""
        return [self.program(name) for name in self.programs]

    def machine(self, cells):
        """One virtual machine: measure the cells, keep their figures."""
        out = os.path.join(self.folder, "run")
        listed = os.path.join(self.folder, "cells.sh")
        names = {"c%d" % i: cell for i, cell in enumerate(cells)}
        with open(listed, "w") as file:
            file.writelines(cell.line(name) for name, cell in names.items())
        command = self.through + [
            os.path.join(LAB, "lab"), os.path.join(LAB, self.script), "--quiet",
            "--build", self.build, "--out", out, "--timeout", str(MACHINE_TIMEOUT_S)]
        for spec in self.files(cells) + [listed + ":lab/files/cells"]:
            command += ["--file", spec]
        status = subprocess.run(command, check=False).returncode
        if status:
            raise ToolError("the run in the virtual machine failed (details in %s)" % out)
        self.keep(names, os.path.join(out, "files"))

    def keep(self, names, folder):
        """Keep the cells' figures that say something; the others are measured again next time."""
        void = []
        for name, cell in names.items():
            figures = self.figures(os.path.join(folder, name))
            reason = cell.void(figures)
            if reason:
                void.append("%s (details in %s)" % (reason, os.path.join(folder, name, "status")))
                continue
            with open(self.path(cell), "w") as file:
                json.dump(figures, file, indent=1)
            self.measured.add(cell)
        if void:
            raise ToolError("\n".join(void))

    def run(self, cells):
        """Measure what is not there yet; all rows."""
        wanted = [cell for cell in cells if not self.kept(cell)]
        total = sum(c.virtual_s() for c in wanted)
        print("%s: %d cells, %d of them to be measured: %.0f min of disk time" %
              (self.name, len(cells), len(wanted), total / 60), flush=True)
        began, passed = time.monotonic(), 0
        while wanted:
            batch, length = [], 0
            while wanted and (not batch or length + wanted[0].virtual_s() <= self.machine_s):
                batch.append(wanted.pop(0))
                length += batch[-1].virtual_s()
            print("%s: %s to %s ..." % (self.name, *("%s, %s, %s %s" % (
                c.drive, c.load, c.setting.peer, c.setting.name) for c in (batch[0], batch[-1]))),
                flush=True)
            self.machine(batch)
            passed += length
            wall = time.monotonic() - began
            print("%s: %d %% after %.1f min, %.1f min to go" %
                  (self.name, 100 * passed // total, wall / 60,
                   wall / 60 * (total - passed) / passed), flush=True)
        return [self.kept(cell) for cell in cells]


def number(value, form):
    """For a table."""
    return form % value if value is not None else "-"


COLUMNS = (("req/s", "requests_per_s", "%.1f"), ("p99 ms", "p99_ms", "%.1f"),
           ("p99.9", "p99.9_ms", "%.1f"), ("reads' p50", "reads_p50_ms", "%.1f"),
           ("+-", "reads_p50_ms_se", "%.1f"), ("p99 ms", "reads_p99_ms", "%.1f"),
           ("+-", "reads_p99_ms_se", "%.1f"), ("fg MB/s", "fg_mb_s", "%.2f"),
           ("bg MB/s", "bg_mb_s", "%.2f"), ("+-", "bg_mb_s_se", "%.2f"),
           ("kinst/req", "instructions_per_request", None), ("cpu %", "cpu_pct", "%.2f"),
           ("drive's", "drive_cpu_pct", "%.2f"), ("sched's", "scheduler_cpu_pct", "%.2f"))


def print_group(drive, load, rows):
    """The table of one drive and load."""
    columns = [c for c in COLUMNS if c[0] != "+-" or any(c[1] in row for row in rows)]
    print("\n%s, %s" % (drive, load))
    print("  %-12s %-56s" % ("peer", "setting") + "".join("%11s" % c[0] for c in columns))
    for row in rows:
        cells = [number(row.get(key), form) if form else "%.1f" % (row[key] / 1000)
                 for _, key, form in columns]
        parts = row["parts_mb_s"]
        print("  %-12s %-56s" % (row["peer"], row["setting"]) +
              "".join("%11s" % c for c in cells) +
              ("   = " + " + ".join("%.2f" % p for p in parts) if len(parts) > 1 else ""))
        if row["background"] == "scan" and not row["bg_mb_s"]:
            print("  %-12s nothing was read (free reads: %s)" %
                  ("", row.get("scan_said", "not known")))


def print_comparison(compared):
    """Freeblock against the best of each peer, at equal latency."""
    print("  at freeblock's p99 of reads, %.1f ms, MB/s (freeblock %.2f): " %
          (compared["reads_p99_ms"], compared["bg_mb_s"]) + ", ".join(
              "%s %s" % (peer, "none" if p["interpolated_mb_s"] is None else "%.2f (%s)" %
                         (p["interpolated_mb_s"], p["setting"]))
              for peer, p in compared["peers"].items()))
    if compared["ratio"]:
        print("  %.2f times the best peer (%s)" % (compared["ratio"], compared["best_peer"]))
    else:
        print("  no peer has a background at that latency")


def print_summary(summary):
    """All tables, then what is asked and what is wrong."""
    for (drive, load), rows in peersum.group(summary["means"]).items():
        print_group(drive, load, rows)
        for compared in summary["comparisons"]:
            if (compared["drive"], compared["load"]) == (drive, load):
                print_comparison(compared)
    print()
    for verdict in summary["verdicts"]:
        asked = "at most %g" % verdict["most"] if verdict["most"] is not None else \
            "at least %g" % verdict["least"] if verdict["least"] is not None else "no target"
        word = "NOT REACHED" if not verdict["good"] else \
            "measured" if asked == "no target" else "reached"
        print("%-11s %s: %.3f (%s)" % (word, verdict["name"], verdict["value"], asked))
    for fault in summary["faults"]:
        print("doubtful    " + fault)


COLOURS = {"freeblock": "tab:blue", "none": "tab:gray", "mq-deadline": "tab:green",
           "bfq": "tab:red", "kyber": "tab:orange"}


def picture(path, rows):
    """A panel for each drive and random load: background against p99."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = peersum.group([r for r in rows if r["load"] in RANDOM_LOADS])
    if not groups:
        return False
    drives = sorted({d for d, _ in groups}, key=list(DRIVES).index)
    loads = [load for load in RANDOM_LOADS if any(n == load for _, n in groups)]
    figure, axes = pyplot.subplots(len(drives), len(loads), squeeze=False,
                                   figsize=(4.2 * len(loads), 3.4 * len(drives)))
    for (drive, load), mine in groups.items():
        axis = axes[drives.index(drive)][loads.index(load)]
        for peer, colour in COLOURS.items():
            points = [(r["reads_p99_ms"], r["bg_mb_s"]) for r in mine if r["peer"] == peer]
            if points:
                axis.plot(*zip(*points), "*" if peer == "freeblock" else "o", color=colour,
                          markersize=11 if peer == "freeblock" else 5, label=peer)
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=0.1)
        axis.set_title("%s, %s" % (drive, load), fontsize=9)
        axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("p99 latency of the foreground's reads, ms")
    for line in axes:
        line[0].set_ylabel("background, MB/s")
    axes[0][0].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    return True


def chosen(given, known, what):
    """The words of a comma list, or all."""
    words = [w for w in given.split(",") if w] or list(known)
    for word in words:
        if word not in known:
            raise UsageError("--%s: %s is none of %s" % (what, word, ", ".join(known)))
    return words


def seeds(given):
    """The numbers of a comma list."""
    words = given.split(",")
    if not all(re.fullmatch("[0-9]{1,9}", word) for word in words) or len(set(words)) < len(words):
        raise UsageError("--seed %s: not different numbers with commas between" % given)
    return [int(word) for word in words]


def plan(args):
    """The cells that the arguments ask for."""
    peers = chosen(args.peer, ("freeblock", "mq-deadline", "bfq", "kyber", "none"), "peer")
    names = [name for name in args.setting.split(",") if name]
    return [Cell(drive, load, setting, args.seconds or SECONDS[load], seed)
            for seed in seeds(args.seed)
            for drive in chosen(args.drive, DRIVES, "drive")
            for load in chosen(args.load, LOADS, "load")
            for setting in settings(drive, load, args.set, args.wide, not args.no_model)
            if setting.peer in peers and setting.name in (names or [setting.name])]


def run(args):
    """Measure, merge, show; 1 if something asked for is not reached."""
    build = os.path.abspath(args.build)
    folder = os.path.join(build, "bench", "peers")
    if args.seconds < 0:
        raise UsageError("--seconds %d: not below 0" % args.seconds)
    cells = plan(args)
    if not cells:
        raise UsageError("no setting of these peers is called '%s'" % args.setting)
    bench = Bench(build, folder, args.through, args.fresh)
    rows = [row for row in map(bench.kept, cells) if row] if args.kept else bench.run(cells)
    if not rows:
        raise ToolError("none of these cells has been measured")
    summary = peersum.summarize(rows)
    path = os.path.join(build, "bench", "peers.json")
    with open(path, "w") as file:
        json.dump(summary, file, indent=1)
        file.write("\n")
    print_summary(summary)
    image = os.path.join(build, "bench", "peers.png")
    if picture(image, summary["means"]):
        print("picture: " + os.path.relpath(image))
    print("numbers: " + os.path.relpath(path))
    return 0 if all(v["good"] for v in summary["verdicts"]) and not summary["faults"] else 1


def add_parser(subparsers):
    """The command line of `freeblock-lab peers`."""
    parser = subparsers.add_parser("peers", help="schedulers side by side, in the lab",
                                   description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--drive", default="", help="comma list: %s" % " ".join(DRIVES))
    parser.add_argument("--load", default="", help="comma list: %s" % " ".join(LOADS))
    parser.add_argument("--peer", default="",
                        help="comma list: freeblock mq-deadline bfq kyber none")
    parser.add_argument("--setting", default="", metavar="NAMES",
                        help="comma list: only settings that tables call so")
    parser.add_argument("--kept", action="store_true",
                        help="measure nothing: show what is there")
    parser.add_argument("--wide", action="store_true",
                        help="also neighbours of the usual settings")
    parser.add_argument("--no-model", action="store_true",
                        help="nothing is known of the drive: freeblock has no model of it")
    parser.add_argument("--set", default="", metavar="'KEY=VALUE ...'",
                        help="iosched attributes of freeblock")
    parser.add_argument("--seconds", type=int, default=0,
                        help="disk time that is counted, of each cell (0: %s)" % ", ".join(
                            "%s %d" % item for item in SECONDS.items()))
    parser.add_argument("--seed", default="1", metavar="N,...",
                        help="of the requests (1); of several, means are compared")
    parser.add_argument("--fresh", action="store_true", help="measure what is there already, too")
    parser.add_argument("--through", default="", metavar="COMMAND",
                        help="put in front of each virtual machine's command")
    parser.add_argument("--build", default=BUILD, metavar="DIR", help="where all is made (build)")
    parser.set_defaults(run=run)


