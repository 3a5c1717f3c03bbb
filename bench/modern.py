# SPDX-License-Identifier: GPL-2.0
"""A disk of today for make demo: 16 TB, 7200 rpm, its write cache on, half busy, and beside it a
read of all of it: by a program in mq-deadline's idle I/O class; by freeblock's scan, without a
model of the drive and with it; and by freeblock's scrub, which has the drive VERIFY. All with the
module's defaults.

Documentation/peers.rst says how such runs are measured.
"""

import os

from freeblock import ToolError
from . import labcells, peers, peersum

DRIVE = "nearline16-wc"
# Of the whole disk: what a pass takes is reckoned from it
CAPACITY_BYTES = 16e12
# Random requests, two reads to a write, each 1000 s: the drive is busy half of the time
RATE = 40000
# As the reader in the idle class, both begin where the seeks to them are of mean length
SETTINGS = (
    ("mq-deadline, alone", peers.Setting("mq-deadline")),
    ("mq-deadline, idle class", peers.Setting("mq-deadline", "idle 1m")),
    ("freeblock, no model", peers.Setting("freeblock", "scan %d" % labcells.READER_PM,
                                          known=False)),
    ("freeblock, scan", peers.Setting("freeblock", "scan %d" % labcells.READER_PM)),
    ("freeblock, scrub", peers.Setting("freeblock", "scrub %d" % labcells.READER_PM)),
)
# What it has to reach; Documentation/results.rst has means of seeds and their spread
LEAST_SCAN, LEAST_SCRUB = 45.0, 12.0
MOST_MEAN_PCT = 9.0
COLOURS = ("tab:gray", "tab:green", "tab:cyan", "tab:blue", "tab:purple")
PERCENTILES = (50, 90, 95, 99)


def figures(folder):
    """Those of a cell, and the course of its reads' latencies: ms at 0, 0.5 ... 99.5 %."""
    found = peersum.cell_figures(folder)
    reads = sorted(v for v in peersum.read_latencies(os.path.join(folder, "fg0.lat"))
                   if not v & peersum.WRITE)
    if not reads:
        raise ToolError("%s: no read in the window" % folder)
    found["reads_ms"] = [peersum.percentile(reads, half / 2) / 1000 for half in range(200)]
    return found


class Cell(peers.Cell):
    """One of the runs."""

    def foreground(self):
        return "random depth=1024 rate=%d reads=67" % RATE


class Bench(peers.Bench):
    """All in one virtual machine."""

    name = "a disk of today"
    figures = staticmethod(figures)
    machine_s = float("inf")


def measure(build, folder, seconds, seed):
    """Their rows, in the order of SETTINGS."""
    cells = [Cell(DRIVE, "half", setting, seconds, seed) for _, setting in SETTINGS]
    return Bench(build, folder, "", True).run(cells)


def days(mb_s):
    """What a pass takes at that rate; None without one."""
    return CAPACITY_BYTES / (mb_s * 1e6 * 86400) if mb_s else None


def percent(new, old):
    """By how much it is more."""
    return 100 * (new / old - 1)


def summarize(rows):
    """What summary.json says of this act. Latencies are against those that the disk's users
    have without freeblock and with nobody who reads all of it: mq-deadline, alone."""
    alone, peer, once, scan, scrub = rows
    said = {}
    for who, row in (("", scrub), ("scan_", scan), ("once_", once), ("peer_", peer)):
        rate = row["bg_mb_s"]
        said.update({
            (who or "free_") + "mb_s": round(rate, 3),
            who + "days_per_pass": round(days(rate), 2) if rate else None,
            **{who + name: round(percent(row[key], alone[key]), 2) for name, key in (
                ("read_mean_pct", "reads_mean_ms"), ("read_p99_pct", "reads_p99_ms"),
                ("write_mean_pct", "writes_mean_ms"))}})
    return {**said, "drive_busy_pct": round(alone["drive_busy_pct"], 1),
            "late_pm": round(max(row["late_pm"] for row in rows), 2),
            "errors": sum(row["errors"] for row in rows)}


def _cells(rows, form, value):
    return tuple("-" if value(row) is None else form % value(row) for row in rows)


def print_table(rows):
    """A column for each run; the rows."""
    lines = [("",) + tuple(name.partition(",")[0] for name, _ in SETTINGS),
             ("",) + tuple(name.partition(", ")[2] for name, _ in SETTINGS)]
    for title, form, value in (
            ("background reads, MB/s", "%.1f", lambda row: row["bg_mb_s"] or None),
            ("  days for 16 TB at that rate", "%.1f", lambda row: days(row["bg_mb_s"])),
            ("reads: mean latency, ms", "%.2f", lambda row: row["reads_mean_ms"]),
            *(("  %d %%" % share, "%.2f", lambda row, at=2 * share: row["reads_ms"][at])
              for share in PERCENTILES),
            ("writes: mean latency, ms", "%.2f", lambda row: row["writes_mean_ms"]),
            ("drive busy, %", "%.0f", lambda row: row["drive_busy_pct"])):
        lines.append((title,) + _cells(rows, form, value))
    width = max(len(line[0]) for line in lines)
    print()
    for line in lines:
        print("  %-*s" % (width, line[0]) + "".join("%14s" % word for word in line[1:]))
    print()
    return lines[2:]


def faults(said):
    """What is wrong, as sentences."""
    found = []
    if said["errors"]:
        found.append("the load saw %d errors on the disk of today" % said["errors"])
    for who, name, least in (("scan", "scan_mb_s", LEAST_SCAN),
                             ("scan without a model", "once_mb_s", LEAST_SCAN),
                             ("scrub", "free_mb_s", LEAST_SCRUB)):
        if said[name] < least:
            found.append("the %s of the disk of today got less than %.0f MB/s" % (who, least))
    for who in ("scan_", "once_", ""):
        if said[who + "read_mean_pct"] > MOST_MEAN_PCT:
            found.append("reads of the disk of today take %.1f %% longer" %
                         said[who + "read_mean_pct"])
    return found


def verdict(said):
    """In a sentence."""
    if None in said.values():
        return "the runs with the disk of today were too short to tell of it"
    return ("a disk of 16 TB that is half busy is scanned in %.1f days while its reads take "
            "%.1f %% longer, with nothing known of it; with its model in %.1f for %.1f %% "
            "(scrubbed in %.1f for %.1f %%); by mq-deadline's idle class in %.1f, for %.1f %%" % (
                said["once_days_per_pass"], said["once_read_mean_pct"],
                said["scan_days_per_pass"], said["scan_read_mean_pct"],
                said["days_per_pass"], said["read_mean_pct"],
                said["peer_days_per_pass"], said["peer_read_mean_pct"]))


def draw(left, right, rows):
    """Left: how long reads take. Right: their percentiles, side by side."""
    for (name, _), row, colour in zip(SETTINGS, rows, COLOURS):
        rate = ": %.0f MB/s" % row["bg_mb_s"] if row["bg_mb_s"] else ""
        left.plot(row["reads_ms"], [half / 2 for half in range(200)], color=colour,
                  label=name + rate)
    left.set_xlim(0, 1.1 * max(row["reads_ms"][-1] for row in rows))
    left.set_ylim(0, 100)
    left.set_xlabel("latency of a foreground read, ms")
    left.set_ylabel("reads at most so long, %")
    left.legend(loc="lower right", frameon=False)
    left.grid(alpha=0.3)
    for i, (row, colour) in enumerate(zip(rows, COLOURS)):
        places = [share + 0.16 * (i - 2) for share in range(len(PERCENTILES))]
        right.bar(places, [row["reads_ms"][2 * share] for share in PERCENTILES], 0.15,
                  color=colour)
    right.set_xticks(range(len(PERCENTILES)), ["%d %%" % share for share in PERCENTILES])
    right.set_ylabel("latency of a foreground read, ms")
    right.grid(alpha=0.3, axis="y")
