# SPDX-License-Identifier: GPL-2.0
"""Scrubbers beside foregrounds, in the lab: the scrubbing paper's experiments and ours.

Runs a matrix of drives, foregrounds and scrubbers, keeps each cell's figures in
build/bench-scrub/cells, writes summary.json, a table and a picture.
Documentation/scrub-bench.rst says what is measured and how to read it.
"""

import datetime
import json
import os
import re

from freeblock import ToolError, UsageError
from freeblock.hosts import BUILD
from freeblock.plot import panels
from . import peers, scrubbench_cells, scrubbench_rows, scrubbench_sums, scrubbench_traces
from .bench_rows import commit

FREEBLOCK_PART = os.path.join(peers.LAB, "scrub-fb.sh")
SECTOR = 512
QUICK_SECONDS = {"sequential": 60, "random": 60, "quiet": 10, "bursts": 120, "replay": 120}


class Bench(peers.Bench):
    """The same, with scrubbers."""

    name = "bench-scrub"
    script = "scrub.sh"
    programs = ("load", "scrubload")
    machine_s = 1200

    @staticmethod
    def figures(folder):
        """A cell's, and of which tree and day they are."""
        return {**scrubbench_sums.cell_figures(folder), "commit": commit(),
                "date": datetime.date.today().isoformat()}

    def _sums(self):
        sums = super()._sums()
        sums["freeblock"] += peers.checksum(FREEBLOCK_PART)
        return sums

    def files(self, cells):
        """Programs, freeblock's part of the script, traces."""
        traces = {cell.trace for cell in cells if cell.trace}
        return super().files(cells) + [FREEBLOCK_PART] + sorted(traces)


def own_load(args):
    """The name of the replay of a file of the user's; "" without one."""
    return scrubbench_cells.REPLAY + os.path.basename(args.trace) if args.trace else ""


def settings_of(load, known):
    """Of one foreground; known: freeblock has the drive's model."""
    found = scrubbench_cells.settings(load)
    return found if known else scrubbench_cells.without_model(found)


def plan(args):
    """The cells that the arguments ask for."""
    own = own_load(args)
    known = scrubbench_cells.LOADS + ((own,) if own else ())
    seconds = QUICK_SECONDS if args.quick else scrubbench_cells.SECONDS
    cells = [scrubbench_cells.Cell(
        drive, load, setting, args.seconds or scrubbench_cells.seconds_of(load, seconds), args.seed)
             for drive in peers.chosen(args.drive, scrubbench_cells.DRIVES, "drive")
             for load in peers.chosen(args.load or own, known, "load")
             for setting in settings_of(load, not args.no_model)
             if not args.quick or scrubbench_cells.is_quick(setting)]
    try:
        wanted = re.compile(args.cell)
    except re.error as error:
        raise UsageError("--cell '%s': not a regular expression: %s" % (args.cell,
                                                                        error)) from error
    # Without these there is nothing to compare with
    found = [c for c in cells if c.setting.group == "alone" or
             wanted.search("%s %s" % (c.setting.peer, c.setting.name)) or
             wanted.fullmatch(c.setting.group)]
    if args.cell and all(c.setting.group == "alone" for c in found) and args.cell != "alone":
        raise UsageError("no cell matches '%s'" % args.cell)
    return found


def give_traces(cells, folder, args):
    """Give replays what they replay; Error if it cannot be made."""
    for cell in cells:
        seconds = cell.seconds + cell.warmup()
        if args.trace and cell.load == own_load(args):
            cell.trace = scrubbench_traces.excerpt_of(args.trace, folder, cell.drive, seconds)
        elif cell.load.startswith(scrubbench_cells.REPLAY):
            cell.trace = scrubbench_traces.excerpt(
                folder, cell.load[len(scrubbench_cells.REPLAY):], cell.drive, seconds, cell.seed)


def rows_of(bench, cells, kept):
    """Figures of all cells, or of those that are there."""
    if not kept:
        bench.run(cells)
    found = []
    for cell in cells:
        row = bench.kept(cell)
        if row:
            scrubbench_sums.with_disk(row, scrubbench_traces.disk_sectors(cell.drive),
                                      SECTOR * cell.unit())
            found.append(scrubbench_sums.with_detections(row, cell.planted()))
    return found


def picture(path, figures):
    """Foreground's mean latency against the scrubber's MB/s, by drive and load."""
    plots = []
    for (drive, load), rows in scrubbench_rows.grouped(figures).items():
        lines = {}
        for row in rows:
            if "lacking" not in row and row.get("mean_ms") is not None:
                lines.setdefault("%s, %s" % (row["peer"], row["group"]), []).append(
                    (row["mean_ms"], row["scrub_mb_s"]))
        if lines:
            plots.append({"title": "%s, %s" % (drive, load), "x": "mean latency, ms",
                          "y": "scrub, MB/s", "points": True,
                          "lines": {name: sorted(at) for name, at in lines.items()}})
    if plots:
        panels(path, "Scrubbers beside foregrounds", plots)
    return bool(plots)


def run(args):
    """Measure, write, show; 1 if a cell is not to be trusted."""
    if args.seconds < 0 or args.seed < 0:
        raise UsageError("--seconds %d, --seed %d: not below 0" % (args.seconds, args.seed))
    build = os.path.abspath(args.build)
    folder = os.path.join(build, "bench-scrub")
    cells = plan(args)
    give_traces(cells, os.path.join(folder, "traces"), args)
    bench = Bench(build, folder, args.through, args.fresh)
    figures = rows_of(bench, cells, args.kept)
    if not figures:
        raise ToolError("none of these cells has been measured")
    faults = scrubbench_sums.check(figures)
    path = os.path.join(folder, "summary.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(scrubbench_rows.rows(figures), file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)
    print("\n".join(scrubbench_rows.tables(figures)))
    for fault in faults:
        print("doubtful    " + fault)
    image = os.path.join(folder, "scrub.png")
    if picture(image, figures):
        print("picture: " + os.path.relpath(image))
    print("numbers: " + os.path.relpath(path))
    return 1 if faults else 0


def add_parser(subparsers):
    """The command line of `freeblock-lab bench-scrub`."""
    parser = subparsers.add_parser("bench-scrub", help="scrubbers beside foregrounds, in the lab",
                                   description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--drive", default="",
                        help="comma list: %s" % " ".join(scrubbench_cells.DRIVES))
    parser.add_argument("--load", default="",
                        help="comma list: %s" % " ".join(scrubbench_cells.LOADS))
    parser.add_argument("--cell", default="", metavar="REGEX",
                        help="only settings that tables call so, or a group of them")
    parser.add_argument("--trace", default="", metavar="FILE",
                        help="replay this one (any that `freeblock tune` reads), as load "
                             "replay-NAME")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter cells")
    parser.add_argument("--no-model", action="store_true",
                        help="nothing is known of the drive: freeblock has no model of it")
    parser.add_argument("--kept", action="store_true",
                        help="measure nothing: show what is there")
    parser.add_argument("--seconds", type=int, default=0,
                        help="disk time that is counted, of each cell (0: %s)" % ", ".join(
                            "%s %d" % item for item in scrubbench_cells.SECONDS.items()))
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the requests (1)")
    parser.add_argument("--fresh", action="store_true", help="measure what is there already, too")
    parser.add_argument("--through", default="", metavar="COMMAND",
                        help="put in front of each virtual machine's command")
    parser.add_argument("--build", default=BUILD, metavar="DIR", help="where all is made (build)")
    parser.set_defaults(run=run)
