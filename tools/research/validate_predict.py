# SPDX-License-Identifier: GPL-2.0
"""validate-predict: the analytic model against the simulated drive (make validate-predict).

The workloads of the paper's validation (section 5: tables 3 to 6, figure 6) are made from
their attributes; the drive engine, with a queue in the driver, serves them; `predict` gets the
same attributes and the drive's description. Documentation/results.rst has the tables.
"""

import json
import multiprocessing
import os
import sys

from freeblock import ToolError, UsageError, sim
from freeblock.hosts import BUILD
from . import fidelity
from .replay import replace_all

OUT = os.path.join(BUILD, "predict")
PROCESSES = 2
TABLES = {"3": "table 3", "5": "table 5", "6": "table 6", "figure6": "figure 6",
          "beyond": "beyond the paper", "traces": "traces", "writes": "write cache",
          "days": "whole scan"}
APART = ("traces", "writes", "days")    # .. whose cells are not of the drives named
FREE = "free"           # free bandwidth: alone, for it takes an hour


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "validate-predict", help="compare the analytic model with the simulated drive",
        description="Predict and measure the workloads of the analytic model's paper on simulated "
        "drives. Prints tables and whether the goals are met (status 1 if one is not); writes "
        "summary.json and pictures.")
    parser.add_argument("--drive", metavar="NAMES", help="of hp_c2490a, atlas10k-paper, atlas10k, "
                        "nearline16-paper, nearline16, separated by commas; -paper: with the "
                        "paper's cache (all); of --table days: atlas10k, cheetah9, nearline16, "
                        "archive8; or nearline24, atlas10k-hs08")
    parser.add_argument("--table", metavar="NAMES", help="of %s, separated by commas (all); or %s, "
                        "alone: free bandwidth beside the simulator" % (", ".join(TABLES), FREE))
    parser.add_argument("--random", type=int, metavar="N", help="instead of all these: N drives "
                        "and workloads drawn at random by --seed; "
                        "with --table %s their free bandwidth" % FREE)
    parser.add_argument("--cell", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the requests (1)")
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="processes at once (%(default)s)")
    parser.add_argument("-o", "--output", default=OUT, metavar="DIR",
                        help="where results go (build/predict)")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.set_defaults(run=run)


def chosen(args):
    """(cells to compare, what is left out)"""
    from .predictcheck import (  # pylint: disable=import-outside-toplevel
        cells, days, devices, verdict, writecells)
    if args.random:
        return verdict.select(list(cells.random_cells(args.random, args.seed, args.output)),
                              args.cell), []
    names = (args.table or ",".join(TABLES)).split(",")
    for name in names:
        if name not in TABLES:
            raise UsageError("--table %s: not one of %s" % (name, ", ".join(TABLES)))
    wanted = dict.fromkeys(args.drive.split(",") if args.drive else
                           [*devices.names(), *days.DRIVES])
    scanned = {**days.DRIVES, **days.OTHERS}
    known = dict.fromkeys(devices.names() * (names != ["days"]) + [*scanned] * ("days" in names))
    for name in wanted if args.drive else ():
        if name not in known:
            raise UsageError("--drive %s: of --table %s there are %s" % (
                name, ",".join(names), ", ".join(known)))
    drives, said = devices.find([name for name in wanted if name not in scanned or
                                 name in devices.names() and names != ["days"]], args.output)
    every = cells.all_cells(drives, [TABLES[name] for name in names if name not in APART])
    if "traces" in names:
        every += cells.trace_cells(drives, args.output)
        if not os.path.isdir(fidelity.DRIVES):
            said.append("the real drives' traces are left out: no %s (set FREEBLOCK_DRIVES)" %
                        os.path.normpath(fidelity.DRIVES))
    if "writes" in names:
        every += cells.write_cells([name for name in writecells.ON if not args.drive or
                                    name in args.drive.split(",")], args.output)
    if "days" in names:
        every += cells.whole_cells([name for name in wanted if name in scanned], args.output)
    return verdict.select(every, args.cell), said


def one(work):
    """(number, row) of a cell."""
    from .predictcheck import cells  # pylint: disable=import-outside-toplevel
    number, cell, seed = work
    return number, cells.compare(cell, seed)


def spread(task, work, jobs):
    """What task() gives for each item of work, (number, ...), in order; says how it gets on."""
    progress = sim.RunsDone(len(work), False)
    rows = [None] * len(work)
    with multiprocessing.Pool(jobs) as pool:
        for number, row in pool.imap_unordered(task, work):
            rows[number] = row
            progress.run(number, 1)
    progress.end()
    return rows


def compare_all(wanted, seed, jobs):
    """The rows of all cells."""
    return spread(one, [(number, cell, seed) for number, cell in enumerate(wanted)], jobs)


def write(rows, out):
    """summary.json; bands.json of what was drawn at random."""
    from .predictcheck import unseen, verdict  # pylint: disable=import-outside-toplevel
    files = {"summary.json": rows}
    if rows[0]["group"] == unseen.GROUP:
        files["bands.json"] = {**verdict.held(rows), **{
            of: verdict.held(rows, of) for of in ("reads", "writes")}}
    replace_all([(os.path.join(out, name), (json.dumps(what, indent=1) + "\n").encode("ascii"))
                 for name, what in files.items()])


def show(rows, found):
    """Everything for people."""
    from .predictcheck import unseen, verdict  # pylint: disable=import-outside-toplevel
    tables = verdict.table(rows) + verdict.by_drive(rows)
    if rows[0]["group"] == unseen.GROUP:
        tables = verdict.random_lines(rows)
    print("\n".join(tables + [""] +
                    verdict.verdict_lines(found)))


def one_free(work):
    """(number, row) of a cell of free bandwidth."""
    from .predictcheck import free  # pylint: disable=import-outside-toplevel
    number, cell, out = work
    return number, free.compare(cell, out)


def run_free(args):
    """Table "free": free bandwidth beside the simulator. Rows are in free.json."""
    from .predictcheck import free, verdict  # pylint: disable=import-outside-toplevel
    drives = args.drive.split(",") if args.drive else list(free.RATES)
    for name in drives:
        if name not in free.RATES:
            raise UsageError("--drive %s: of free bandwidth there are %s" % (
                name, ", ".join(free.RATES)))
    wanted = verdict.select(free.all_cells(drives), args.cell)
    os.makedirs(args.output, exist_ok=True)
    if not wanted:
        raise ToolError("nothing to compare")
    sim.build_host()
    rows = spread(one_free, [(number, cell, args.output) for number, cell in enumerate(wanted)],
                  args.jobs)
    replace_all([(os.path.join(args.output, "free.json"),
                  (json.dumps(rows, indent=1) + "\n").encode("ascii"))])
    found = [verdict.within(group, [row for row in rows if row["group"] == group], goal)
             for group, goal in free.GOALS.items() if any(r["group"] == group for r in rows)]
    print(json.dumps(rows, indent=1) if args.json else
          "\n".join(free.table(rows) + [""] + verdict.verdict_lines(found)))
    return 0 if all(one["met"] for one in found) else 1


def one_free_random(work):
    """(number, row) of a case drawn at random."""
    from .predictcheck import unseenfree  # pylint: disable=import-outside-toplevel
    number, seed = work
    return number, unseenfree.compare(number, seed)


def run_free_random(args):
    """Free bandwidth of loads and drives drawn at random; rows are in free.json, how many bands
    have held in free-bands.json."""
    from .predictcheck import verdict  # pylint: disable=import-outside-toplevel
    os.makedirs(args.output, exist_ok=True)
    sim.build_host()
    rows = spread(one_free_random, [(number, args.seed) for number in range(args.random)],
                  args.jobs)
    said = verdict.held_free(rows)
    replace_all([(os.path.join(args.output, name),
                  (json.dumps(what, indent=1) + "\n").encode("ascii"))
                 for name, what in (("free.json", rows), ("free-bands.json", said))])
    lines, met = verdict.free_lines(rows)
    print(json.dumps(rows, indent=1) if args.json else "\n".join(lines))
    return 0 if met else 1


def run(args):
    """The subcommand."""
    from .predictcheck import pictures, verdict  # pylint: disable=import-outside-toplevel
    from . import replay  # pylint: disable=import-outside-toplevel
    if args.jobs < 1 or args.seed < 0:
        raise UsageError("--jobs %d, --seed %d: at least 1 and 0" % (args.jobs, args.seed))
    alone = args.table in (None, FREE)
    if args.random is not None and (args.random < 1 or not alone or args.drive):
        raise UsageError("--random %d: at least 1, without --drive, and of --table %s alone" % (
            args.random, FREE))
    if args.table == FREE:
        return run_free_random(args) if args.random else run_free(args)
    replay.build_host()
    sim.build_host()
    wanted, left_out = chosen(args)
    for line in left_out:
        print(line, file=sys.stderr)
    if not wanted:
        raise ToolError("nothing to compare")
    rows = compare_all(wanted, args.seed, args.jobs)
    write(rows, args.output)
    pictures.figure_6(rows, args.output)
    found = verdict.verdicts(rows)
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows, found)
        print("rows and pictures: %s" % os.path.normpath(args.output))
    return 0 if all(one["met"] for one in found) else 1
