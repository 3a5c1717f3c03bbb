# SPDX-License-Identifier: GPL-2.0
"""Bench: the paper's evaluation and the project's own numbers, measured again.

Each figure is data, pictures and rows; Documentation/bench.rst has them all.
"""

import json
import os

from freeblock import need_range, sim
from freeblock.base.helpers import BUILD
from . import plot
from .evaluation import (cost, days, disks, files, joint, loads, lock, paper, runs, scrub, summary,
                         trips, worth)

FIGURES = {figure.name: figure for figure in (
    paper.Figure7(), files.Files(), paper.Figure8(), paper.Figure9(),
    paper.Figure10(), paper.Scans(), joint.Joint(), loads.Loads(),
    loads.Knowledge(), cost.Cost(), lock.Lock(), days.Days(), disks.Disks(),
    scrub.Scrub(), trips.Trips(), worth.Worth())}


def data_of(figure, got):
    """A figure's data: each run with its key; histograms and settings stay with it."""
    return {"figure": figure.name, "title": figure.title,
            "runs": [{"key": list(key), **result} for key, result in got.items()]}


def keep(figure, out, data, rows, pictures):
    """Write a figure's data and pictures, and put its rows into the summary."""
    rows = figure.told(rows)
    summary.stamp(rows, figure.name)
    with open(os.path.join(out, "figure-%s.json" % figure.name), "w", encoding="utf-8") as file:
        json.dump(data, file)
    for name, plots in pictures:
        plot.panels(os.path.join(out, "figure-%s-%s.png" % (figure.name, name)),
                    figure.title, plots)
    summary.merge(os.path.join(out, "summary.json"), figure.name, rows)
    print("\n%s\n" % figure.title)
    print("\n".join(summary.table([row.record() for row in rows])), flush=True)
    return rows


def simulated(figure, args):
    """The rows of a figure whose runs are there."""
    cells = figure.cells(effort(args))
    got = runs.run_cells(cells, os.path.join(args.output, "cells"), args.jobs, True)
    return keep(figure, args.output, data_of(figure, got), figure.rows(got, cells),
                figure.pictures(got))


def in_lab(figure, args):
    """The rows of a figure that the lab measures."""
    got = figure.measure(args.quick, args.output, args.through)
    return keep(figure, args.output,
                {"figure": figure.name, "title": figure.title, "measured": got},
                figure.rows(got), figure.pictures(got))


def effort(args):
    """How much is run."""
    return paper.QUICK if args.quick else paper.Effort()


def wanted(args):
    """The figures that are asked for."""
    return [FIGURES[name] for name in dict.fromkeys(args.figure or FIGURES)]


def add_parser(subparsers):
    """Add `bench`."""
    parser = subparsers.add_parser(
        "bench", help="the paper's evaluation, measured again",
        description="Run the paper's evaluation in the simulator: data, pictures and rows of "
        "build/bench/summary.json. Runs are kept: what was interrupted goes on.")
    parser.add_argument("--figure", action="append", metavar="NAME", choices=FIGURES,
                        help="only this one; may be repeated (%s)" % ", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="fewer requests and points")
    parser.add_argument("-o", "--output", metavar="DIR", default=os.path.join(BUILD, "bench"),
                        help="where results go (build/bench)")
    parser.add_argument("-j", "--jobs", type=int, default=sim.PROCESSES, metavar="N",
                        help="runs at once (%d)" % sim.PROCESSES)
    parser.add_argument("--through", default="", metavar="COMMAND",
                        help="put in front of each virtual machine, e.g. \"flock FILE\"")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Measure the figures that are wanted; 1 if a row is not what was asked."""
    need_range("--jobs", args.jobs, 1)
    os.makedirs(args.output, exist_ok=True)
    figures, missed = wanted(args), []
    # All at once, the longest first: figures then find their runs
    cells = {(figure.name, *key): cell for figure in reversed(figures) if hasattr(figure, "cells")
             for key, cell in figure.cells(effort(args)).items()}
    runs.run_cells(cells, os.path.join(args.output, "cells"), args.jobs, args.quiet)
    for figure in figures:
        rows = simulated(figure, args) if hasattr(figure, "cells") else in_lab(figure, args)
        missed += [row.name for row in rows if row.verdict() == summary.MISSED]
    print("\n%s\n%d rows are not what was asked" % (os.path.join(args.output, "summary.json"),
                                                    len(missed)))
    for name in missed:
        print("  " + name)
    return 1 if missed else 0
