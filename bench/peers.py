# SPDX-License-Identifier: GPL-2.0
"""Schedulers side by side: a foreground, and a read of the whole disk beside it.

Runs the matrix of drives, loads and settings in the lab (labcells.py). Writes peers.json, a table
and a picture. Documentation/peers.rst says what is measured and how to read it.
"""

import json
import math
import os
import re
import statistics

from freeblock import UsageError
from .plot import panels
from . import labcells
from .labcells import READER_PM, find, group

# Time for tracing and for reading the trace, about half of it each
CPU_WARMUP_S = 30
# Arrivals per 1000 s at 30, 60 and 85 % utilisation (share of the time that the drive
# is busy, under none, alone)
RATES = {"atlas10k": (35000, 70000, 108000), "nearline16": (24000, 49000, 79000)}
OPEN = ("low", "middle", "high")
RANDOM_LOADS = ("closed",) + OPEN
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
PEERS = tuple(TRACED)
# What is asked: background at equal p99 of reads against the best peer, that p99
# with scan against without and against none, sequential foregrounds against
# mq-deadline, instructions of a request without task against mq-deadline, CPU with
# scan
LEAST_RATIO, MOST_P99_SCAN, MOST_P99_NONE = 2.0, 1.04, 1.03
LEAST_SEQUENTIAL, MOST_INSTRUCTIONS, MOST_CPU_PCT = 0.98, 2.0, 1.5
# What means of several seeds have a standard error of
SPREAD = ("reads_p50_ms", "reads_p99_ms", "bg_mb_s")
CLASSES = {"idle": "class=3", "be7": "class=2 level=7"}
SIZES = {"64k": 1 << 16, "256k": 1 << 18, "1m": 1 << 20}
READER = re.compile(r"(idle|be7) (?:(\d+)x)?(64k|256k|1m)(?:/(\d+)ms)?")

# The peers' settings by name (Setting): those that are always compared; those that are compared on
# drives without a write cache: what else is said to help; with --wide only: their neighbours
USUAL = """
none         alone; be7 64k/16ms
kyber        alone; be7 64k/16ms
mq-deadline  alone; idle 64k; idle 1m; idle 64k prio_aging_expire=100
mq-deadline  idle 1m prio_aging_expire=100; be7 64k/64ms
bfq          alone; idle 64k; idle 1m; idle 64k low_latency=0 strict_guarantees=1
bfq          idle 1m low_latency=0 strict_guarantees=1
"""
MORE = """
none         be7 1m/256ms; be7 64k/16ms queue_depth=2
kyber        be7 1m/256ms; be7 64k/16ms read_lat_nsec=20000000
mq-deadline  idle 64k/16ms; idle 64k/64ms; idle 64k/256ms; idle 1m/16ms; idle 1m/64ms
mq-deadline  idle 1m/256ms; idle 256k; idle 2x64k
bfq          idle 1m low_latency=0; idle 64k low_latency=0 slice_idle=0
"""
WIDE = """
none         be7 64k; be7 64k/64ms; be7 1m/64ms; be7 64k queue_depth=2
kyber        be7 64k/64ms
mq-deadline  idle 1m prio_aging_expire=500; be7 64k/16ms; be7 1m/64ms; be7 1m/256ms
mq-deadline  be7 64k/16ms fifo_batch=1 read_expire=100 write_expire=100
bfq          idle 64k low_latency=0; idle 64k/16ms low_latency=0; idle 64k/64ms low_latency=0
bfq          be7 1m low_latency=0; be7 1m/64ms low_latency=0
"""


class Setting:
    """A scheduler, its attributes, and what reads beside the foreground, all as a name says it:
    "alone", "scan", or a reader's class, [requests x] size [/ pause]; then attributes."""

    def __init__(self, peer, name="alone", known=True):
        self.peer, self.known = peer, known
        words = name.split()
        attrs = [word for word in words if "=" in word]
        self.depth = "".join(word.partition("=")[2] for word in attrs if "queue_depth" in word)
        self.attrs = " ".join(word for word in attrs if "queue_depth" not in word)
        reads = " ".join(word for word in words if "=" not in word)
        self.background = {"alone": "none", "scan": "scan"}.get(reads, "reader")
        self.reads = reader(*READER.fullmatch(reads).groups()) if READER.fullmatch(reads) else \
            reads.replace("alone", "none")
        self.name = name + ("" if known else " without a model")


def reader(class_, outstanding, size, pause_ms):
    """A background that reads the disk in order, as load.c takes it."""
    return "stream %s bytes=%d pause_us=%d begin_pm=%d depth=%d" % (
        CLASSES[class_], SIZES[size], 1000 * int(pause_ms or 0), READER_PM, int(outstanding or 1))


def settings(drive, load, attrs, wide=False, known=True):
    """Of freeblock, with these further attributes, and of its peers."""
    ours = [Setting("freeblock", " ".join([what, *attrs.split()]), known)
            for what in ("alone", "scan")]
    if load in STREAMS or load == "cpu":
        return ours + [Setting(peer) for peer in ("mq-deadline", "none", "bfq", "kyber")]
    more = "" if drive.endswith("-wc") else MORE
    return ours + list(labcells.named(
        USUAL + more + (WIDE if wide else ""), Setting))


class Cell(labcells.Cell):
    """One measurement: a setting on a drive under a load."""

    def foreground(self):
        if self.load in STREAMS:
            return STREAMS[self.load]
        if self.load in OPEN:
            rate = RATES[self.drive.replace("-wc", "")][OPEN.index(self.load)]
            return "random depth=1024 rate=%d reads=67" % rate
        return "random depth=10 reads=67"

    def warmup(self):
        return CPU_WARMUP_S if self.load == "cpu" else super().warmup()

    def variables(self):
        trace = TRACED[self.setting.peer] if self.load == "cpu" else ""
        return {**super().variables(), "trace": trace}


class Bench(labcells.Bench):
    """Of peers."""

    name = "peers"


def at_equal_latency(points, limit):
    """How much background (p99, MB/s) pairs allow at a p99 of `limit`.

    Returns (measured, interpolated): the most of a point that keeps to the
    limit, and the most on any straight line between a point that does and one that
    does not. The latter favours the peers: tuning in between rarely brings as much.
    Both None if no point keeps to the limit."""
    within = [p for p in points if p[0] <= limit]
    if not within:
        return None, None
    measured = best = max(mb for _, mb in within)
    for p99, mb in points:
        for low99, low in within if p99 > limit else ():
            if mb > low:
                best = max(best, low + (mb - low) * (limit - low99) / (p99 - low99))
    return measured, best


def compare(rows):
    """Freeblock with scan against the peers of the same drive and load."""
    ours = find(rows, "freeblock", background="scan")
    if not ours:
        return None
    limit = ours["reads_p99_ms"]
    out = {"setting": ours["setting"], "reads_p99_ms": limit, "bg_mb_s": ours["bg_mb_s"],
           "peers": {}}
    for peer in sorted({r["peer"] for r in rows} - {"freeblock"}):
        mine = [r for r in rows if r["peer"] == peer]
        measured, best = at_equal_latency([(r["reads_p99_ms"], r["bg_mb_s"]) for r in mine], limit)
        names = [r["setting"] for r in mine if r["reads_p99_ms"] <= limit and
                 r["bg_mb_s"] == measured]
        out["peers"][peer] = {"measured_mb_s": measured, "interpolated_mb_s": best,
                              "setting": names[0] if names else None}
    best, peer = max(((p["interpolated_mb_s"], name) for name, p in out["peers"].items()
                      if p["interpolated_mb_s"] is not None), default=(None, None))
    return {**out, "best_peer": peer, "best_mb_s": best,
            "ratio": ours["bg_mb_s"] / best if best else None}


def verdict(name, value, most=None, least=None):
    """[one verdict]; [] of what was not measured."""
    good = value is not None and (most is None or value <= most) and \
        (least is None or value >= least)
    return [] if value is None else [
        {"name": name, "value": value, "most": most, "least": least, "good": good}]


def ratio(above, below, key):
    """One row's figure by another's; None if it was not measured."""
    if not above or not below or not below.get(key) or above.get(key) is None:
        return None
    return above[key] / below[key]


def cpu_verdicts(alone, scan, deadline):
    """Of the traced cells."""
    for row in filter(None, (alone, scan, deadline)):
        row["ns_per_request_without_drive"] = \
            row["instructions_per_request"] - row["drive_ns_per_request"]
    return verdict("instructions of a request without task against mq-deadline, without the "
                   "drive's", ratio(alone, deadline, "ns_per_request_without_drive"),
                   most=MOST_INSTRUCTIONS) + \
        verdict("% of one GHz with scan, freeblock's own", scan and scan["scheduler_cpu_pct"],
                most=MOST_CPU_PCT) + \
        verdict("% of one GHz with scan, all but the drive's",
                scan and scan["cpu_pct"] - scan["drive_cpu_pct"], most=MOST_CPU_PCT)


def stream_verdicts(alone, scan, deadline):
    """Of loads of several parts each part counts alike: random reads bring few MB/s,
    and in closed loops one part's loss is another's gain."""
    wanted = []
    for row, name in ((alone, ""), (scan, " with scan")):
        if row and deadline and all(deadline["parts_mb_s"]):
            ratios = [ours / theirs for ours, theirs in
                      zip(row["parts_mb_s"], deadline["parts_mb_s"])]
            wanted += verdict("MB/s%s against mq-deadline%s" % (
                name, ", mean of the parts'" if len(ratios) > 1 else ""),
                              statistics.mean(ratios), least=LEAST_SEQUENTIAL)
    return wanted


def random_verdicts(load, alone, scan, none, compared):
    """Of random requests."""
    wanted = verdict("p99 with scan against without", ratio(scan, alone, "reads_p99_ms"),
                     most=MOST_P99_SCAN)
    if load in OPEN:
        wanted += verdict("p99 with scan against none's alone", ratio(scan, none, "reads_p99_ms"),
                          most=MOST_P99_NONE)
    if compared and compared["ratio"]:
        wanted += verdict("background at equal p99 against " + compared["best_peer"],
                          compared["ratio"], least=LEAST_RATIO if load != "low" else None)
    return wanted


def verdicts(drive, load, rows, compared):
    """What is asked of this drive and load, as far as its rows are there."""
    alone, scan, deadline, none = (find(rows, peer, background=background) for peer, background in (
        ("freeblock", "none"), ("freeblock", "scan"), ("mq-deadline", "none"), ("none", "none")))
    found = cpu_verdicts(alone, scan, deadline) if load == "cpu" else \
        stream_verdicts(alone, scan, deadline) if load in STREAMS else \
        random_verdicts(load, alone, scan, none, compared)
    return [{**one, "name": "%s, %s: %s" % (drive, load, one["name"])} for one in found]


def mean_row(rows):
    """One setting's rows, of a seed each, as one: means, and standard errors of SPREAD."""
    first = rows[0]
    out = {key: first[key] for key in ("drive", "load", "peer", "setting", "background", "seconds")}
    out["seeds"] = [row["seed"] for row in rows]
    for key in first:
        values = [row.get(key) for row in rows]
        if key in out or key == "seed" or None in values:
            continue
        if isinstance(first[key], list):
            out[key] = [statistics.mean(parts) for parts in zip(*values)]
        else:
            out[key] = first[key] if isinstance(first[key], str) else statistics.mean(values)
        if key in SPREAD:
            out[key + "_se"] = statistics.stdev(values) / math.sqrt(len(values))
    return out


def means(rows):
    """A row for each setting: as it is if one seed was measured."""
    settings_ = {}
    for row in rows:
        settings_.setdefault(tuple(row[key] for key in ("drive", "load", "peer", "setting")),
                             []).append(row)
    return [mean_row(mine) if len(mine) > 1 else mine[0] for mine in settings_.values()]


def summarize(rows):
    """What is written: all rows, means of several seeds, comparisons and verdicts of these, rows
    not to be trusted."""
    result = {"rows": rows, "means": means(rows), "comparisons": [], "verdicts": [],
              "faults": labcells.faults(rows)}
    for (drive, load), mine in group(result["means"]).items():
        compared = compare(mine) if load in RANDOM_LOADS else None
        if compared:
            result["comparisons"].append({"drive": drive, "load": load, **compared})
        result["verdicts"] += verdicts(drive, load, mine, compared)
    return result


COLUMNS = (("req/s", "requests_per_s", "%.1f"), ("p99 ms", "p99_ms", "%.1f"),
           ("p99.9", "p99.9_ms", "%.1f"), ("reads' p50", "reads_p50_ms", "%.1f"),
           ("+-", "reads_p50_ms_se", "%.1f"), ("p99 ms", "reads_p99_ms", "%.1f"),
           ("+-", "reads_p99_ms_se", "%.1f"), ("fg MB/s", "fg_mb_s", "%.2f"),
           ("bg MB/s", "bg_mb_s", "%.2f"), ("+-", "bg_mb_s_se", "%.2f"),
           ("inst/req", "instructions_per_request", "%.0f"), ("cpu %", "cpu_pct", "%.2f"),
           ("drive's", "drive_cpu_pct", "%.2f"), ("sched's", "scheduler_cpu_pct", "%.2f"))


def note(row):
    """What follows a row."""
    parts = row["parts_mb_s"]
    return ("   = " + " + ".join("%.2f" % p for p in parts) if len(parts) > 1 else "") + \
        ("   nothing was read (free reads: %s)" % row.get("scan_said", "not known")
         if row["background"] == "scan" and not row["bg_mb_s"] else "")


def comparison(compared):
    """Lines: freeblock against the best of each peer, at equal latency."""
    peers = ", ".join("%s %s" % (peer, "none" if p["interpolated_mb_s"] is None else "%.2f (%s)" %
                                 (p["interpolated_mb_s"], p["setting"]))
                      for peer, p in compared["peers"].items())
    return ["  at freeblock's p99 of reads, %.1f ms, MB/s (freeblock %.2f): %s" % (
        compared["reads_p99_ms"], compared["bg_mb_s"], peers),
            "  %.2f times the best peer (%s)" % (compared["ratio"], compared["best_peer"])
            if compared["ratio"] else "  no peer has a background at that latency"]


def text(summary):
    """All tables, then what is asked and what is wrong."""
    lines = []
    for where, rows in group(summary["means"]).items():
        lines += labcells.table(where, rows, [c for c in COLUMNS if c[0] != "+-" or any(
            c[1] in row for row in rows)], note)
        for compared in summary["comparisons"]:
            if (compared["drive"], compared["load"]) == where:
                lines += comparison(compared)
    lines.append("")
    for one in summary["verdicts"]:
        asked = "at most %g" % one["most"] if one["most"] is not None else \
            "at least %g" % one["least"] if one["least"] is not None else "no target"
        word = "NOT REACHED" if not one["good"] else \
            "measured" if asked == "no target" else "reached"
        lines.append("%-11s %s: %.3f (%s)" % (word, one["name"], one["value"], asked))
    return "\n".join(lines + ["doubtful    " + fault for fault in summary["faults"]])


def picture(path, rows):
    """A panel for each drive and random load: background against p99."""
    plots = []
    for where, mine in group([r for r in rows if r["load"] in RANDOM_LOADS]).items():
        points = {peer: sorted((r["reads_p99_ms"], r["bg_mb_s"]) for r in mine
                               if r["peer"] == peer) for peer in PEERS}
        plots.append({"title": "%s, %s" % where, "x": "p99 latency of the foreground's reads, ms",
                      "y": "background, MB/s", "points": True,
                      "lines": {peer: at for peer, at in points.items() if at}})
    if plots:
        panels(path, "Schedulers side by side", plots)
    return bool(plots)


def seeds(given):
    """The numbers of a comma list."""
    words = given.split(",")
    if not all(re.fullmatch("[0-9]{1,9}", word) for word in words) or len(set(words)) < len(words):
        raise UsageError("--seed %s: not different numbers with commas between" % given)
    return [int(word) for word in words]


def plan(args):
    """The cells that the arguments ask for."""
    peers = labcells.chosen(args.peer, PEERS, "peer")
    names = [name for name in args.setting.split(",") if name]
    found = [Cell(drive, load, setting, args.seconds or SECONDS[load], seed)
             for seed in seeds(args.seed)
             for drive in labcells.chosen(args.drive, labcells.DRIVES, "drive")
             for load in labcells.chosen(args.load, LOADS, "load")
             for setting in settings(drive, load, args.set, args.wide, not args.no_model)
             if setting.peer in peers and setting.name in (names or [setting.name])]
    if not found:
        raise UsageError("no setting of these peers is called '%s'" % args.setting)
    return found


def run(args):
    """Measure, merge, show; 1 if something asked for is not reached."""
    build = os.path.abspath(args.build)
    if args.seconds < 0:
        raise UsageError("--seconds %d: not below 0" % args.seconds)
    cells = plan(args)
    bench = Bench(build, os.path.join(build, "bench", "peers"), args.through, args.fresh)
    summary = summarize(labcells.rows_of(bench, cells, args.kept))
    path = os.path.join(build, "bench", "peers.json")
    with open(path, "w") as file:
        json.dump(summary, file, indent=1)
        file.write("\n")
    print(text(summary))
    image = os.path.join(build, "bench", "peers.png")
    if picture(image, summary["means"]):
        print("picture: " + os.path.relpath(image))
    print("numbers: " + os.path.relpath(path))
    return 0 if all(v["good"] for v in summary["verdicts"]) and not summary["faults"] else 1


def add_parser(subparsers):
    """The command line of `freeblock-bench peers`."""
    parser = subparsers.add_parser("peers", help="schedulers side by side, in the lab",
                                   description=__doc__.split("\n\n", maxsplit=1)[0])
    labcells.add_options(parser, labcells.DRIVES, LOADS, SECONDS)
    parser.add_argument("--peer", default="", help="comma list: " + " ".join(PEERS))
    parser.add_argument("--setting", default="", metavar="NAMES",
                        help="comma list: only settings that tables call so")
    parser.add_argument("--wide", action="store_true",
                        help="also neighbours of the usual settings")
    parser.add_argument("--set", default="", metavar="'KEY=VALUE ...'",
                        help="iosched attributes of freeblock")
    parser.add_argument("--seed", default="1", metavar="N,...",
                        help="of the requests (1); of several, means are compared")
    parser.set_defaults(run=run)
