# SPDX-License-Identifier: GPL-2.0
"""How fast a scrub is, and what it costs reads: by what proves that a block can be read."""

from dataclasses import dataclass
from statistics import mean

from .paper import NEARLINE
from .summary import Figure, Row, error_of_mean
from .runs import command

CACHED = "nearline16-wc"
# arrivals a second
LOADS = {CACHED: (24, 48, 79), NEARLINE: (24, 48, 79), "x300": (24, 48, 79), "archive8": (12, 24)}
# VERIFY reads from the medium; a READ may be answered by the cache, and is the scan's
PROOFS = {"verify": {"idle_command": "verify"}, "read": {}}
SECONDS = 300
SEEDS = range(601, 604)
MOST_DAYS = 4                   # of nearline16-wc, which has its write cache on, at 48/s
MOST_PCT = {"mean": 4, "p99": 5}


@dataclass
class ScrubRow(Row):
    """Days for a pass, their spread over the seeds, and by how much reads are longer."""

    days: float = None
    error: float = None
    read_mean_pct: float = None
    read_p99_pct: float = None


class Scrub(Figure):
    """Days for a pass of the whole disk, in gaps and idle time, with the module's settings."""

    name = "scrub"
    title = "How long a pass takes, and what it costs reads"

    @staticmethod
    def cells(_):
        """Each drive, load, proof and seed; the proof None is the foreground alone."""
        cells = {}
        for drive, rates in LOADS.items():
            for rate in rates:
                for seed in SEEDS:
                    cell = {"preset": "module", "drive": drive, "rate": str(rate),
                            "seed": str(seed), "seconds": str(SECONDS)}
                    cells[drive, rate, None, seed] = cell
                    for proof, settings in PROOFS.items():
                        cells[drive, rate, proof, seed] = {**cell, "task": "scan", **settings}
        return cells

    @staticmethod
    def rows(got, cells):
        """Means over the seeds."""
        rows = []
        for drive, rate, proof, seed in cells:
            if proof is None or seed != SEEDS[0]:
                continue
            alone, with_it = ([got[drive, rate, how, one] for one in SEEDS]
                              for how in (None, proof))
            days = [SECONDS / run["task_done"] / 86400 for run in with_it]
            longer = {what: 100 * (mean(run["read_ms"][what] for run in with_it) /
                                   mean(run["read_ms"][what] for run in alone) - 1)
                      for what in MOST_PCT}
            asked = (drive, rate, proof) == (CACHED, 48, "verify")
            rows.append(ScrubRow(
                "scrub %s %d %s" % (drive, rate, proof), mean(days), "days",
                command=command(cells[drive, rate, proof, seed]), most=MOST_DAYS if asked else None,
                days=mean(days), error=error_of_mean(days), read_mean_pct=longer["mean"],
                read_p99_pct=longer["p99"]))
            if asked:
                rows += [Row("scrub %s %d reads' %s" % (drive, rate, what), longer[what], "%",
                             most=most) for what, most in MOST_PCT.items()]
        return rows
