# SPDX-License-Identifier: GPL-2.0
"""validate-predict: the analytic model against simulated drives (make validate-predict). Each row
is the mean over seeds; predictcheck/cells.py says what is compared."""

import functools
import json
import multiprocessing
import os
import re

from freeblock import ToolError, UsageError, need_range, sim
from freeblock.base import safe_file
from freeblock.base.helpers import BUILD
from . import replay, tables

OUT = os.path.join(BUILD, "predict")
PROCESSES = 2
SEEDS = "1,2,3"
COLUMNS = (("group", "group", "%s"), ("drive", "drive", "%s"), ("workload", "label", "%s"),
           ("measured", "measured", "%.3f"), ("predicted", "predicted", "%.3f"),
           ("error%", "error_pct", "%+.1f"), ("+-", "error_se_pct", "%.1f"),
           ("unknown", "unknown", "%s"))


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "validate-predict", help="compare the analytic model with simulated drives",
        description="Predict and measure the workloads of the analytic model's paper, and free "
        "bandwidth, on simulated drives. Prints a table and whether the goals are met (status 1 if "
        "one is not); writes summary.json.")
    parser.add_argument("--cell", metavar="REGEX", default="", help="only rows whose name (group, "
                        "drive, workload) matches")
    parser.add_argument("--seed", metavar="NUMBERS", default=SEEDS, help="of the requests, "
                        "separated by commas (%(default)s)")
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="processes at once (%(default)s)")
    parser.add_argument("-o", "--output", default=OUT, metavar="DIR",
                        help="where results go (build/predict)")
    parser.set_defaults(run=run)


def one(work, seeds, out):
    """(number, row) of a cell."""
    from .predictcheck import cells  # pylint: disable=import-outside-toplevel
    number, cell = work
    return number, cells.compare(cell, seeds, out)


def compare_all(wanted, seeds, args):
    """The rows of all cells, in order; says how it gets on."""
    progress = sim.RunsDone(len(wanted), False)
    rows = [None] * len(wanted)
    with multiprocessing.Pool(args.jobs) as pool:
        job = functools.partial(one, seeds=seeds, out=args.output)
        for number, row in pool.imap_unordered(job, enumerate(wanted)):
            rows[number] = row
            progress.run(number, 1)
    progress.end()
    return rows


def run(args):
    """The subcommand."""
    from .predictcheck import cells  # pylint: disable=import-outside-toplevel
    need_range("--jobs", args.jobs, 1)
    if not re.fullmatch(r"\d{1,9}(,\d{1,9})*", args.seed):
        raise UsageError("--seed %s: numbers of at least 0, separated by commas" % args.seed)
    try:
        wanted = [cell for cell in cells.all_cells() if re.search(args.cell, cell.name)]
    except re.error as error:
        raise UsageError("--cell %s: %s" % (args.cell, error)) from error
    if not wanted:
        raise ToolError("--cell %s: nothing to compare" % args.cell)
    replay.build_host()
    sim.build_host()
    os.makedirs(args.output, exist_ok=True)
    rows = compare_all(wanted, tuple(map(int, args.seed.split(","))), args)
    with safe_file.whole_file(os.path.join(args.output, "summary.json")) as file:
        file.write((json.dumps(rows, indent=1) + "\n").encode("ascii"))
    print("\n".join(tables.lines(rows, COLUMNS)) + "\n")
    found = cells.verdicts(rows)
    for goal, limit, value, count in found:
        print("%-3s %-48s %7.2f of %g; %d rows" % (
            "yes" if value <= limit else "NO", goal, value, limit, count))
    print("rows: %s" % os.path.normpath(args.output))
    return 0 if all(value <= limit for _, limit, value, _ in found) else 1
