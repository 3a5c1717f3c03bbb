# SPDX-License-Identifier: GPL-2.0
"""Bench: the paper's evaluation and the project's own numbers, measured again.

Each figure is data, pictures and rows; Documentation/bench.rst has them all.
"""

import json
import os

from . import (ToolError, bench_figures, bench_limits, bench_numbers, bench_plot, bench_predict,
               bench_rows, bench_run, sim)
from .replay import BUILD

FIGURES = {figure.name: figure for figure in (
    bench_predict.Figure7(), bench_figures.Figure8(), bench_figures.Figure9(),
    bench_limits.Figure10(), bench_limits.Scans(), bench_numbers.Numbers(),
    bench_limits.Nearline())}
# What --quick leaves out: it cannot be made short
LONG = ("nearline",)


def data_of(figure, got):
    """A figure's data: each run with its key; histograms and settings stay with it."""
    return {"figure": figure.name, "title": figure.title,
            "runs": [{"key": list(key), **result} for key, result in got.items()]}


def make(figure, effort, out, processes, quiet):
    """Measure a figure, draw it, and put its rows into the summary."""
    cells = figure.cells(effort)
    got = bench_run.run_cells(cells, os.path.join(out, "cells"), processes, quiet)
    rows = figure.rows(got, cells)
    bench_rows.stamp(rows, figure.name)
    with open(os.path.join(out, "figure-%s.json" % figure.name), "w", encoding="utf-8") as file:
        json.dump(data_of(figure, got), file)
    for name, plots in figure.pictures(got):
        bench_plot.panels(os.path.join(out, "figure-%s-%s.png" % (figure.name, name)),
                          figure.title, plots)
    bench_rows.merge(os.path.join(out, "summary.json"), figure.name, rows)
    return rows


def wanted(args):
    """The figures that are asked for."""
    names = args.figure or [name for name in FIGURES if not (args.quick and name in LONG)]
    return [FIGURES[name] for name in dict.fromkeys(names)]


def add_parser(subparsers):
    """Add `bench`."""
    parser = subparsers.add_parser(
        "bench", help="the paper's evaluation, measured again",
        description="Run the paper's evaluation in the simulator: data, pictures and rows of "
        "build/bench/summary.json. Runs are kept: what was interrupted goes on.")
    parser.add_argument("--figure", action="append", metavar="NAME", choices=FIGURES,
                        help="only this one; may be repeated (%s)" % ", ".join(FIGURES))
    parser.add_argument("--quick", action="store_true", help="fewer requests and points")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(BUILD, "bench"),
                        help="where results go (build/bench)")
    parser.add_argument("--processes", type=int, default=sim.PROCESSES, metavar="N",
                        help="runs at once (%d)" % sim.PROCESSES)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Measure the figures that are wanted; 1 if a row is not what was asked."""
    if args.processes < 1:
        raise ToolError("--processes: at least 1")
    os.makedirs(args.out, exist_ok=True)
    effort = bench_figures.QUICK if args.quick else bench_figures.Effort()
    figures, missed = wanted(args), []
    # All at once, the longest first: figures then find their runs
    cells = {(figure.name, *key): cell for figure in reversed(figures)
             for key, cell in figure.cells(effort).items()}
    bench_run.run_cells(cells, os.path.join(args.out, "cells"), args.processes, args.quiet)
    for figure in figures:
        rows = make(figure, effort, args.out, args.processes, True)
        print("\n%s\n" % figure.title)
        print("\n".join(bench_rows.table([row.record() for row in rows])), flush=True)
        missed += [row.name for row in rows if row.verdict() == bench_rows.MISSED]
    print("\n%s\n%d rows are not what was asked" % (os.path.join(args.out, "summary.json"),
                                                    len(missed)))
    for name in missed:
        print("  " + name)
    return 1 if missed else 0
