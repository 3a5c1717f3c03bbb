# SPDX-License-Identifier: GPL-2.0
"""validate-predict: the analytic model against the simulated drive (make validate-predict).

The workloads of the paper's validation (section 5: tables 3 to 6, figure 6) are made from
their attributes; the drive engine, with a queue in the driver, serves them; `predict` gets the
same attributes and the drive's description. Table "free" is free bandwidth beside the simulator of
the scheduler. Each row is the mean over seeds.
"""

import json
import multiprocessing
import os
import sys

from freeblock import ToolError, UsageError, sim
from freeblock.hosts import BUILD
from .replay import replace_all

OUT = os.path.join(BUILD, "predict")
PROCESSES = 2
FREE = "free"
SEEDS = (1, 2, 3)


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "validate-predict", help="compare the analytic model with the simulated drive",
        description="Predict and measure the workloads of the analytic model's paper, and free "
        "bandwidth, on simulated drives. Prints tables and whether the goals are met (status 1 if "
        "one is not); writes summary.json.")
    parser.add_argument("--drive", metavar="NAMES", help="separated by commas (all that a table "
                        "has; -paper: with the paper's cache)")
    parser.add_argument("--table", metavar="NAMES", help="of 3, 5, 6, figure6, beyond, free, "
                        "separated by commas (all)")
    parser.add_argument("--cell", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--seed", metavar="NUMBERS", help="of the requests, separated by commas "
                        "(%s)" % ",".join(map(str, SEEDS)))
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="processes at once (%(default)s)")
    parser.add_argument("-o", "--output", default=OUT, metavar="DIR",
                        help="where results go (build/predict)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.set_defaults(run=run)


def _seeds(text):
    try:
        found = SEEDS if text is None else tuple(map(int, text.split(",")))
    except ValueError:
        found = (-1,)
    if min(found) < 0:
        raise UsageError("--seed %s: numbers of at least 0, separated by commas" % text)
    return found


def chosen(args):
    """(cells to compare, what is left out)"""
    from .predictcheck import cells, devices, free, verdict  # pylint: disable=import-outside-toplevel
    tables = args.table.split(",") if args.table else [*cells.TABLES, FREE]
    for name in tables:
        if name != FREE and name not in cells.TABLES:
            raise UsageError("--table %s: not one of %s" % (name, ", ".join(
                [*cells.TABLES, FREE])))
    paper = [name for name in tables if name != FREE]
    known = dict.fromkeys(devices.names() * bool(paper) + [*free.RATES] * (FREE in tables))
    wanted = args.drive.split(",") if args.drive else [*known]
    for name in wanted:
        if name not in known:
            raise UsageError("--drive %s: of --table %s there are %s" % (
                name, ",".join(tables), ", ".join(known)))
    drives, said = devices.find([name for name in wanted if name in devices.names()] if paper
                                else [], args.output)
    every = cells.all_cells(drives, paper)
    if FREE in tables:
        every += free.all_cells([name for name in wanted if name in free.RATES])
    return verdict.select(every, args.cell), said


def one(work):
    """(number, row) of a cell."""
    from .predictcheck import cells, free  # pylint: disable=import-outside-toplevel
    number, cell, seeds = work
    return number, (free if isinstance(cell, free.Cell) else cells).compare(cell, seeds)


def compare_all(wanted, seeds, jobs):
    """The rows of all cells, in order; says how it gets on."""
    progress = sim.RunsDone(len(wanted), False)
    rows = [None] * len(wanted)
    with multiprocessing.Pool(jobs) as pool:
        work = [(number, cell, seeds) for number, cell in enumerate(wanted)]
        for number, row in pool.imap_unordered(one, work):
            rows[number] = row
            progress.run(number, 1)
    progress.end()
    return rows


def run(args):
    """The subcommand."""
    from .predictcheck import verdict  # pylint: disable=import-outside-toplevel
    from . import replay  # pylint: disable=import-outside-toplevel
    if args.jobs < 1:
        raise UsageError("--jobs: %d is less than 1" % args.jobs)
    seeds = _seeds(args.seed)
    replay.build_host()
    sim.build_host()
    wanted, left_out = chosen(args)
    for line in left_out:
        print(line, file=sys.stderr)
    if not wanted:
        raise ToolError("nothing to compare")
    rows = compare_all(wanted, seeds, args.jobs)
    replace_all([(os.path.join(args.output, "summary.json"),
                  (json.dumps(rows, indent=1) + "\n").encode("ascii"))])
    found = verdict.verdicts(rows)
    print(json.dumps(rows, indent=1) if args.json else "\n".join(
        verdict.table(rows) + [""] + verdict.verdict_lines(found) +
        ["rows: %s" % os.path.normpath(args.output)]))
    return 0 if all(one["met"] for one in found) else 1
