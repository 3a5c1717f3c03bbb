# SPDX-License-Identifier: GPL-2.0
"""What the guard by the measured cost leaves of it, in forty minutes: of loads in which free reads
cost, or did, more than they may.
"""

import os
import random
from dataclasses import dataclass

from freeblock.base.helpers import BUILD
from .paper import ATLAS, NEARLINE
from .summary import Row, error_of_mean
from .runs import command

SECTORS = 31251759104           # of nearline16
READS = {"reads": "1", "size": "4k", "outstanding": "32"}
LOADS = {
    # 1 % of its cylinders
    "hot spot": {"drive": NEARLINE, "task": "scan", "locality": "cylinders:5639", **READS},
    "cached reader": {"drive": NEARLINE, "task": "scan"},
    "trickle": {"drive": ATLAS, "task": "trickle:50", **READS},
}
SEEDS = range(1, 6)
SOON, HALF, WHOLE = 300, 1200, 2400
# settings, and for how long
KINDS = {"alone": ({"task": "none"}, (HALF, WHOLE)), "task": ({}, (WHOLE,)),
         "guard": ({"trial": "auto", "trial_guard": "1"}, (SOON, HALF, WHOLE))}
MEAN_MS, SHARE = 1, .01         # the limits: idle_mean_us and foreground_cost_ppm by default


@dataclass
class GuardRow(Row):
    """Milliseconds that free reads add to a read in the second half, at most by two errors of
    `limit_ms`. `whole_ms`: in all of the run, `unguarded_ms`: without the guard, `soon`: seeds of
    which it stopped something within five minutes."""

    alone_ms: float = None
    limit_ms: float = None
    error_ms: float = None
    whole_ms: float = None
    unguarded_ms: float = None
    soon: int = None


def bursts(path, seed, seconds):
    """Ten reads a second of a stream, which the drive has read ahead, and twenty writes anywhere
    at once every two seconds."""
    draw = random.Random(seed)
    lbn = draw.randrange(SECTORS // 2) // 2048 * 2048
    rows = [(i * 100 + draw.uniform(0, 5), lbn + i * 128, 128, "R") for i in range(seconds * 10)]
    rows += [(2000 * i + 1000 + draw.uniform(0, 1), draw.randrange(SECTORS // 8) * 8, 8, "W")
             for i in range(seconds // 2) for _ in range(20)]
    with open(path, "w", encoding="ascii") as file:
        file.writelines("%.3f %d %d %s\n" % row for row in sorted(rows))


def trace(seed):
    """The file of a seed's bursts."""
    folder = os.path.join(BUILD, "bench")
    path = os.path.join(folder, "bursts-%d-%d" % (seed, WHOLE))
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        bursts(path + ".new", seed, WHOLE)
        os.rename(path + ".new", path)
    return path


def cells():
    """Each load, seed and span: alone, with the task, and with the guard."""
    found = {}
    for load, settings in LOADS.items():
        for seed in SEEDS:
            more = {"trace": trace(seed)} if load == "cached reader" else {}
            for kind, (words, spans) in KINDS.items():
                for span in spans:
                    found["guard", load, kind, span, seed] = {
                        "preset": "module", "seed": str(seed), "seconds": str(span), **settings,
                        **more, **words, **({"trial_seed": str(seed)} if kind == "guard" else {})}
    return found


def late(got, load, kind, seed):
    """The mean of reads in the second half, ms: they are all requests, or come at a rate."""
    half, whole = (got["guard", load, kind, span, seed] for span in (HALF, WHOLE))
    return (whole["read_ms"]["mean"] * whole["requests"] - half["read_ms"]["mean"] *
            half["requests"]) / (whole["requests"] - half["requests"])


def rows(got, ours):
    """A row for each load."""
    found = []
    for load in LOADS:
        def mean(kind, of=load):
            return sum(got["guard", of, kind, WHOLE, seed]["read_ms"]["mean"]
                       for seed in SEEDS) / len(SEEDS)

        added = [late(got, load, "guard", seed) - late(got, load, "alone", seed) for seed in SEEDS]
        value, alone = sum(added) / len(added), mean("alone")
        error = error_of_mean(added)
        limit = min(MEAN_MS + SHARE * alone, alone)
        found.append(GuardRow(
            "guard " + load, value, "ms", most=limit + 2 * error, limit_ms=limit, alone_ms=alone,
            error_ms=error, whole_ms=mean("guard") - alone, unguarded_ms=mean("task") - alone,
            command=command(ours["guard", load, "guard", WHOLE, SEEDS[0]]),
            soon=sum(got["guard", load, "guard", SOON, seed]["trial"]["stops"] > 0
                     for seed in SEEDS)))
    return found
