# SPDX-License-Identifier: GPL-2.0
"""What free reads cost a read: measured by the controlled trial, and the truth.

The truth is the same foreground with the task all the time and without it. The trial sees one run
only, of which an eighth is control; what that run itself took more is another truth, for beside a
trial the account of idle reads comes to other thresholds.
"""

from dataclasses import dataclass
from math import hypot
from statistics import mean

from . import guard
from .paper import ATLAS, CHEETAH, NEARLINE
from .summary import Figure, Row
from .runs import command

CACHED = "nearline16-wc"
SECONDS = 1800
SEEDS = (0, 1)
FIRST_SEED = 501                # of arrivals and trial: each run has its own
TRIAL, TREATED = {"trial": "8"}, 7 / 8
STREAMS = {"locality": "streams:4", "size": "64k", "reads": "1"}
OPEN, CLOSED = {"task": "scan"}, {"task": "fresh"}


def rate(per_s, **settings):
    """Arrivals at random beside a scan."""
    return {**OPEN, "rate": str(per_s), **settings}


def firmware(words):
    """A drive with a cache that takes commands in another order, or writes later."""
    return {"set": words}


CELLS = {
    (CACHED, "24"): rate(24),
    (CACHED, "48"): rate(48),
    (CACHED, "79"): rate(79),
    (CACHED, "streams-24"): rate(24, **STREAMS),
    (CACHED, "flushes-24"): rate(24, fsync="0.5"),
    (CACHED, "bursts-24"): rate(24, burst="4"),
    (CACHED, "arrival-48"): rate(48, **firmware("firmware fcfs")),
    (CACHED, "address-48"): rate(48, **firmware("firmware clook")),
    (CACHED, "held-500ms-24"): rate(24, **firmware("destage_delay_ns 500000000")),
    (NEARLINE, "24"): rate(24),
    (NEARLINE, "48"): rate(48),
    (NEARLINE, "79"): rate(79),
    (NEARLINE, "none-48"): rate(48, knowledge="none"),
    ("archive8", "24"): rate(24),
    ("x300", "48"): rate(48),
    (ATLAS, "closed-10"): CLOSED,
    (ATLAS, "hot-10"): {**CLOSED, "locality": "cylinders:100"},
    (ATLAS, "named-10"): {**CLOSED, "policy": "sptf-sw", "depth": "2"},
    (CHEETAH, "closed-10"): CLOSED,
    (NEARLINE, "closed-10"): CLOSED,
}
OF_SCAN = ("task", "knowledge")
INSIDE = 90                     # %, of 40 runs: 95 and less than two of its errors


@dataclass
class CostRow(Row):
    """Microseconds that free reads add to a read, and the error of what is measured."""

    measured_us: float = None
    error_us: float = None
    true_us: float = None


class Cost(Figure):
    """The trial's cost beside the true one."""

    name = "cost"
    title = "What free reads cost a read: measured by the trial, and true"

    def cells(self, _):
        """Each drive, load and seed: alone, with the task, and with the trial."""
        cells = guard.cells()
        for number, ((drive, load), settings) in enumerate(CELLS.items()):
            for seed in SEEDS:
                drawn = str(FIRST_SEED + number * len(SEEDS) + seed)
                cell = {"preset": "module", "drive": drive, "seed": drawn,
                        "seconds": str(SECONDS), **settings}
                cells[drive, load, "alone", seed] = {
                    name: value for name, value in cell.items() if name not in OF_SCAN}
                cells[drive, load, "task", seed] = cell
                cells[drive, load, "trial", seed] = {**cell, **TRIAL, "trial_seed": drawn}
        return cells

    def rows(self, got, cells):
        """A row for each drive and load, and how often the trial's error holds; of the guard."""
        rows, inside, own = [], [], []
        for drive, load in CELLS:
            runs = {kind: [got[drive, load, kind, seed] for seed in SEEDS]
                    for kind in ("alone", "task", "trial")}
            true = 1000 * (mean([r["read_ms"]["mean"] for r in runs["task"]]) -
                           mean([r["read_ms"]["mean"] for r in runs["alone"]]))
            trials = [r["trial"]["read"] for r in runs["trial"]]
            inside += [abs(t["us"] - true) <= 2 * t["error_us"] for t in trials]
            own += [abs(t["us"] - 1000 * (r["read_ms"]["mean"] - a["read_ms"]["mean"]) / TREATED) <=
                    2 * t["error_us"] for t, r, a in zip(trials, runs["trial"], runs["alone"])]
            measured = mean([t["us"] for t in trials])
            rows.append(CostRow(
                "cost %s %s" % (drive, load), measured, "us",
                command=command(cells[drive, load, "trial", SEEDS[0]]), measured_us=measured,
                error_us=hypot(*(t["error_us"] for t in trials)) / len(trials), true_us=true))
        rows.append(Row("cost within two errors", 100 * mean(inside), "%", least=INSIDE,
                        goal="95"))
        rows.append(Row("cost of the run itself within two errors", 100 * mean(own), "%",
                        least=INSIDE, goal="95"))
        return rows + guard.rows(got, cells)
