# SPDX-License-Identifier: GPL-2.0
"""A scan beside loads of a disk in use: half busy, mixed, with the write cache off and on.

The settings are the module's own defaults; what a request waits is held against the drive's own
queue without a scan. Reads and writes are told apart, because a write cache answers the latter.
"""

from .bench_figures import ATLAS, NEARLINE
from .bench_rows import Row
from .bench_run import command
from .peers import ATLAS_CACHE

# What the module does with nothing set; its buffers are 1280 KiB on a disk of long tracks
MODULE = {"preset": "paper", "policy": "auto", "depth": "auto", "task": "scan", "idle": "on",
          "conservatism_us": "auto", "lift": "auto", "max_sectors": "2560",
          "max_prepend_sectors": "2560"}
ALONE = {"policy": "none"}
SECONDS = 300
# Requests a burst has on the mean, at the rate of the lowest load; its law has a heavy tail, and a
# mean takes more seeds
BURST = 5
SEEDS, BURST_SEEDS = 3, 12
# name: drive and further lines, arrivals a second at 30, 60 and 85 % utilisation, as in peers.rst
DRIVES = {
    "nearline16": ({"drive": NEARLINE}, (24, 48, 79)),
    "nearline16-wc": ({"drive": "nearline16-wc"}, (24, 48, 79)),
    "atlas10k": ({"drive": ATLAS}, (35, 70, 108)),
    "atlas10k-wc": ({"drive": ATLAS, "set": ATLAS_CACHE}, (35, 70, 108)),
}
LOADS = ("30", "60", "85", "bursts")
# What was asked of nearline16 with its cache on: MB/s at least
ASKED = {("nearline16-wc", "30"): 97, ("nearline16-wc", "60"): 50, ("nearline16-wc", "85"): 14,
         ("nearline16", "30"): 110, ("nearline16", "60"): 75.5, ("nearline16", "85"): 54}
READ_MEAN_PCT, READ_P99_PCT = 5, 4


def more(kind, what, scan, alone):
    """By how much one figure of a kind's times is longer with the scan, per cent, over all
    seeds."""
    with_ms = sum(r[kind][what] for r in scan)
    alone_ms = sum(r[kind][what] for r in alone)
    return 100 * (with_ms / alone_ms - 1) if alone_ms else None


# Thresholds of idle reads, us, held against the one that the module finds: the best of them is
# what an oracle would have set. Bursts are what threatens to mislead it.
WAITS = ("0", "2000", "5000", "20000")
OF_BEST = 0.8


def of_best_wait(drive, runs, typed):
    """What the module reads in bursts, of what it would with the best threshold in hindsight."""
    free = {how: sum(r["free_mb_s"] for r in runs[how]) for how in (True, *WAITS)}
    best = max(free[wait] for wait in WAITS)
    return Row("loads %s bursts of_best_wait" % drive, free[True] / best, "", command=typed,
               least=OF_BEST)


class Loads:
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
                    cells[drive, load, seed, True] = {**cell, **MODULE}
                    cells[drive, load, seed, False] = {**cell, **ALONE}
                    for wait in WAITS if load == "bursts" else ():
                        cells[drive, load, seed, wait] = {**cell, **MODULE, "idle_wait_us": wait}
        return cells

    def rows(self, got, cells):
        """Means over the seeds."""
        rows = []
        for drive in DRIVES:
            for load in LOADS:
                runs = {how: [r for key, r in got.items() if key[:2] == (drive, load) and
                              key[3] == how] for how in (True, False, *WAITS)}
                typed = next(command(c) for key, c in cells.items()
                             if key[:2] == (drive, load) and key[3] is True)
                rows += self.load_rows(drive, load, runs[True], runs[False], typed)
                if load == "bursts":
                    rows.append(of_best_wait(drive, runs, typed))
        return rows

    @staticmethod
    def load_rows(drive, load, scan, alone, typed):
        """The figures of one drive at one load."""
        asked = ASKED.get((drive, load))
        on = drive == "nearline16-wc" and asked
        figures = (
            ("free_mb_s", sum(r["free_mb_s"] for r in scan) / len(scan), "MB/s", asked, None),
            ("read_mean_pct", more("read_ms", "mean", scan, alone), "%", None,
             READ_MEAN_PCT if on else None),
            ("read_p99_pct", more("read_ms", "p99", scan, alone), "%", None,
             READ_P99_PCT if on else None),
            ("write_mean_pct", more("write_ms", "mean", scan, alone), "%", None, None),
            ("write_p99_pct", more("write_ms", "p99", scan, alone), "%", None, None))
        return [Row("loads %s %s %s" % (drive, load, name), value, unit, command=typed,
                    least=least, most=most) for name, value, unit, least, most in figures]

    @staticmethod
    def pictures(_):
        """None."""
        return ()
