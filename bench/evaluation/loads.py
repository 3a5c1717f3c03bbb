# SPDX-License-Identifier: GPL-2.0
"""A scan beside loads of a disk in use, with the module's own defaults: what it brings and costs,
with a map of the drive ("loads"), and by what is known of it ("knowledge").

What a request waits is held against the drive's own queue without a scan. Reads and writes are
told apart, because a write cache answers the latter.
"""

from .paper import ATLAS, NEARLINE
from .summary import Figure, Row
from .runs import command
from ..labcells import ATLAS_CACHE

SECONDS, CACHED = 300, "nearline16-wc"


def more(kind, what, scan, alone):
    """By how much one figure of a kind's times is longer with the scan, per cent, over all
    seeds."""
    with_ms = sum(r[kind][what] for r in scan)
    alone_ms = sum(r[kind][what] for r in alone)
    return 100 * (with_ms / alone_ms - 1) if alone_ms else None


def rows_of(name, scan, alone, typed, **bounds):
    """The figures of one load; bounds: {figure: least of MB/s, most of the others}."""
    figures = {"free_mb_s": sum(r["free_mb_s"] for r in scan) / len(scan)}
    figures.update({"%s_%s_pct" % (kind, what): more(kind + "_ms", what, scan, alone)
                    for kind in ("read", "write") for what in ("mean", "p99")})
    return [Row("%s %s" % (name, figure), value, "MB/s" if figure == "free_mb_s" else "%",
                command=typed, **{"least" if figure == "free_mb_s" else "most": bounds.get(figure)})
            for figure, value in figures.items()]


def runs(got, cells, *key):
    """The results whose keys begin so, and the line that a person types for the first."""
    keys = [k for k in got if k[:len(key)] == key]
    return [got[k] for k in keys], command(cells[keys[0]])


# What the module does with nothing set; its buffers are 1280 KiB on a disk of long tracks
MODULE = {"preset": "paper", "policy": "auto", "depth": "auto", "task": "scan", "idle": "on",
          "conservatism_us": "auto", "lift": "auto", "max_sectors": "2560",
          "max_prepend_sectors": "2560"}
ALONE = {"policy": "none"}
# Requests a burst has on the mean, at the rate of the lowest load; its law has a heavy tail, and a
# mean takes more seeds
BURST = 5
SEEDS, BURST_SEEDS = 3, 12
# name: drive and further lines, arrivals a second at 30, 60 and 85 % utilisation, as in peers.rst
DRIVES = {
    "nearline16": ({"drive": NEARLINE}, (24, 48, 79)),
    "nearline16-wc": ({"drive": CACHED}, (24, 48, 79)),
    "atlas10k": ({"drive": ATLAS}, (35, 70, 108)),
    "atlas10k-wc": ({"drive": ATLAS, "set": ATLAS_CACHE}, (35, 70, 108)),
}
LOADS = ("30", "60", "85", "bursts")
# What was asked: MB/s at least; of nearline16 with its cache on reads' mean and p99, too
ASKED = {("nearline16-wc", "30"): 105, ("nearline16-wc", "60"): 57, ("nearline16-wc", "85"): 16,
         ("nearline16", "30"): 120, ("nearline16", "60"): 82, ("nearline16", "85"): 58}
READS = {"read_mean_pct": 5, "read_p99_pct": 4}
# Thresholds of idle reads, us, held against the one that the module finds: the best of them is
# what an oracle would have set. Bursts are what threatens to mislead it.
WAITS = ("0", "2000", "5000", "20000")
OF_BEST = 0.8


class Loads(Figure):
    """Free bandwidth and what it costs, at four loads of four drives."""

    name = "loads"
    title = "A scan beside half a load, write cache off and on"

    def cells(self, effort):
        """Each drive, load and seed, with the scan and without."""
        cells = {}
        for drive, (settings, rates) in DRIVES.items():
            for load, rate in zip(LOADS, rates + rates[:1]):
                each = BURST_SEEDS if load == "bursts" else SEEDS
                for seed in map(str, range(101, 101 + each * effort.seeds)):
                    cell = {**settings, "rate": str(rate), "seed": seed, "seconds": str(SECONDS)}
                    if load == "bursts":
                        cell["burst"] = str(BURST)
                    cells[drive, load, True, seed] = {**cell, **MODULE}
                    cells[drive, load, False, seed] = {**cell, **ALONE}
                    for wait in WAITS if load == "bursts" else ():
                        cells[drive, load, wait, seed] = {**cell, **MODULE, "idle_wait_us": wait}
        return cells

    def rows(self, got, cells):
        """Means over the seeds."""
        rows = []
        for drive in DRIVES:
            for load in LOADS:
                scan, typed = runs(got, cells, drive, load, True)
                asked = ASKED.get((drive, load))
                rows += rows_of("loads %s %s" % (drive, load), scan,
                                runs(got, cells, drive, load, False)[0], typed, free_mb_s=asked,
                                **(READS if asked and drive == "nearline16-wc" else {}))
                if load == "bursts":
                    rows.append(self.of_best_wait(drive, got, cells, typed))
        return rows

    @staticmethod
    def of_best_wait(drive, got, cells, typed):
        """What the module reads in bursts, of what it would with the best threshold in
        hindsight."""
        free = {how: sum(r["free_mb_s"] for r in runs(got, cells, drive, "bursts", how)[0])
                for how in (True, *WAITS)}
        return Row("loads %s bursts of_best_wait" % drive,
                   free[True] / max(free[wait] for wait in WAITS), "", command=typed,
                   least=OF_BEST)


LEVELS = ("none", "rates", "map")
STREAMS = {"locality": "streams:4"}
FLUSHES = {"size": "4k/40:16k/30:64k/30", "fsync": "0.5"}
WRITES_P99 = 2                  # their 99 % beside flushes, per cent longer at most


def held(delay_ms):
    """A drive that holds writes back for so long."""
    return {"drive": CACHED, "set": "destage_delay_ns %d" % (delay_ms * 1000000)}


# (drive, load): settings, arrivals a second, what was asked without a map: MB/s at least, reads'
# mean and p99 at most, per cent. Bounds of the means are those of issue and lab, with nothing added
CELLS = {
    (CACHED, "24"): ({}, 24, 98, 4, 5),
    (CACHED, "48"): ({}, 48, 52, 4, 5),
    (CACHED, "79"): ({}, 79, 14, 4, 5),
    (CACHED, "streams-24"): (STREAMS, 24, 85, 10, None),
    (CACHED, "streams-48"): (STREAMS, 48, 45, 10, None),
    (CACHED, "streams-79"): (STREAMS, 79, 18, 10, None),
    (CACHED, "verify-24"): ({"idle_command": "verify"}, 24, 45, None, None),
    (CACHED, "bursts-24"): ({"burst": "8"}, 24, None, None, None),
    (CACHED, "sparse-24"): ({"start": "random:0.9"}, 24, None, None, None),
    ("nearline16-wc-50ms", "24"): (held(50), 24, 90, 4, 5),
    ("nearline16-wc-50ms", "48"): (held(50), 48, 33, 4, 5),
    ("nearline16-wc-500ms", "24"): (held(500), 24, 90, 4, 5),
    ("nearline16-wc-500ms", "48"): (held(500), 48, 33, 4, 5),
    ("nearline16-wc-5s", "24"): (held(5000), 24, 90, 4, 20),
    ("nearline16-wc-5s", "48"): (held(5000), 48, 33, 4, 20),
    (NEARLINE, "24"): ({}, 24, 104, 4, 5),
    (NEARLINE, "48"): ({}, 48, 58, 4, 5),
    (NEARLINE, "79"): ({}, 79, 18, 4, 5),
    **{(NEARLINE, "flushes-%d" % rate): (FLUSHES, rate, None, None, None) for rate in (24, 48, 79)},
    **{("archive8", str(rate)): ({}, rate, None, None, None) for rate in (12, 24, 40)},
    **{("x300", str(rate)): ({}, rate, None, None, None) for rate in (24, 48, 79)},
}
# What only a scan has: the run without one does not know them
OF_SCAN = ("idle_command", "start")


class Knowledge(Figure):
    """Free bandwidth and what it costs, by level of knowledge."""

    name = "knowledge"
    title = "Idle reads by what is known of the drive"

    def cells(self, _):
        """Each drive, load, level and seed; the level None is the foreground alone."""
        cells = {}
        for (drive, load), (settings, rate, *_) in CELLS.items():
            for seed in map(str, range(401, 401 + SEEDS)):
                cell = {"preset": "module", "drive": drive, "rate": str(rate), "seed": seed,
                        "seconds": str(SECONDS), **settings}
                cells[drive, load, None, seed] = {name: value for name, value in cell.items()
                                                  if name not in OF_SCAN}
                for level in LEVELS:
                    cells[drive, load, level, seed] = {**cell, "task": "scan", "knowledge": level}
        return cells

    def rows(self, got, cells):
        """Means over the seeds."""
        rows = []
        for key, (settings, _, free, mean, p99) in CELLS.items():
            asked = {"free_mb_s": free, "read_mean_pct": mean, "read_p99_pct": p99,
                     "write_p99_pct": WRITES_P99 if settings is FLUSHES else None}
            for level in LEVELS:
                scan, typed = runs(got, cells, *key, level)
                rows += rows_of("knowledge %s %s %s" % (*key, level), scan,
                                runs(got, cells, *key, None)[0], typed,
                                **(asked if level != "map" else {}))
        return rows
