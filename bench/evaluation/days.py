# SPDX-License-Identifier: GPL-2.0
"""A pass in 30 days: what background reads at that pace cost reads, by who does them."""

import os
from dataclasses import dataclass
from statistics import mean

from freeblock.base.helpers import BUILD
from .. import scrubbench
from .summary import Figure, Row, error_of_mean

DRIVE = "nearline16-wc"
# Half busy: requests/s; so much has to be read a second for 16 TB in 30 days
RATE, PACE_MB_S = 48, 6.2
SECONDS, SEEDS = 120, range(701, 704)
QUICK_SECONDS, QUICK_SEEDS = 40, range(701, 702)
# One command for each beginning of a period: 256 KiB, as fast as the pace wants it
SEGMENT = 1 << 18
EVERY_US = round(SEGMENT / PACE_MB_S)
PROGRAM = "%%s bytes=%d every_us=%d begin_pm=%d" % (SEGMENT, EVERY_US,
                                                      scrubbench.labcells.READER_PM)
ALONE = "alone"
# (scheduler, who reads): words for cells.sh; the class of an idle reader is 3
READERS = {
    ("mq-deadline", "idle class"): PROGRAM % "read" + " class=3",
    ("bfq", "idle class"): PROGRAM % "read" + " class=3",
    ("mq-deadline", "VERIFY by SG"): PROGRAM % "verify",
    ("freeblock", "scan"): "scan",
    ("freeblock", "scrub"): "scrub near",
}
TIMES = ("reads_mean_ms", "reads_p99_ms", "reads_p99.9_ms")
OURS = "freeblock"
BELOW_BEST = 0.5    # of what the best peer adds to the mean


class Setting:
    """A scheduler and who reads; as scrubbench.Setting."""

    depth, attrs, goal_ms, known = "", "", 0, True

    def __init__(self, peer, name):
        self.peer, self.name = peer, name
        self.reads = READERS.get((peer, name), "none")
        self.background = "none" if name == ALONE else "scrub"
        self.fbset = "max_kib_s=%d" % round(PACE_MB_S * 1e6 / 1024) if peer == OURS else ""


class Cell(scrubbench.Cell):
    """Random requests, two of three reads."""

    def foreground(self):
        return "random depth=1024 rate=%d reads=67" % (1000 * RATE)

    def scrub(self):
        return self.setting.reads


def cells(seconds, seeds):
    """Each reader and each scheduler alone, by seed."""
    who = sorted({(peer, ALONE) for peer, _ in READERS}) + list(READERS)
    return [Cell(DRIVE, "half", Setting(*names), seconds, seed)
            for seed in seeds for names in who]


@dataclass
class DaysRow(Row):
    """What reads take longer, us: their mean, and at the ends of the distribution."""

    error: float = None
    p99_us: float = None
    p999_us: float = None
    mb_s: float = None


def added_us(rows, peer, name, key):
    """By how much this figure is longer than without a reader, by seed; None: not measured."""
    pairs = [(row, alone) for row in rows for alone in rows
             if (row["peer"], row["setting"]) == (peer, name) and row["seed"] == alone["seed"]
             and (alone["peer"], alone["setting"]) == (peer, ALONE)]
    return [1000 * (row[key] - alone[key]) for row, alone in pairs
            if None not in (row.get(key), alone.get(key))]


class Days(Figure):
    """A pass in 30 days, by several readers."""

    name = "days"
    title = "A pass of 16 TB in 30 days, half busy: what reads take longer"

    @staticmethod
    def measure(quick, out, through):
        """A row of figures for each cell, kept."""
        bench = scrubbench.Bench(BUILD, os.path.join(out, "days"), through, False)
        return bench.run(cells(QUICK_SECONDS, QUICK_SEEDS) if quick else cells(SECONDS, SEEDS))

    def rows(self, measured):
        """Means over the seeds; ours against the best of the others."""
        rows = [self.row(measured, *names) for names in READERS]
        theirs = min(row.value for row, (peer, _) in zip(rows, READERS) if peer != OURS)
        return rows + [
            Row("days %s: %s's mean, of the best other's" % (DRIVE, name), row.value / theirs, "",
                most=BELOW_BEST) for row, (peer, name) in zip(rows, READERS) if peer == OURS]

    @staticmethod
    def row(measured, peer, name):
        """One reader's."""
        longer, p99, p999 = (added_us(measured, peer, name, key) for key in TIMES)
        return DaysRow(
            "days %s %s, %s" % (DRIVE, peer, name), mean(longer), "us",
            command="tools/freeblock-bench bench --figure days",
            error=error_of_mean(longer) if len(longer) > 1 else None,
            p99_us=mean(p99), p999_us=mean(p999) if p999 else None,
            mb_s=mean(row["bg_mb_s"] for row in measured
                      if (row["peer"], row["setting"]) == (peer, name)))
