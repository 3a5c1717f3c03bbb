# SPDX-License-Identifier: GPL-2.0
"""How faithful the simulated drive is to real ones.

For each folder with a trace measured on a drive: replay the trace on the description of the drive,
compare. The result is a table for people and programs and, per drive, a picture of the two
distributions. Descriptions are those of bench/drives, or a .fbdrive in the folder.
"""

import csv
import glob
import json
import multiprocessing
import os

from freeblock import ToolError
from freeblock.base import helpers, safe_file
from . import plot
from . import replay, score, tables, traces

OURS = os.path.join(helpers.TOP, "bench", "drives")
DRIVES = os.path.join(os.environ.get("FREEBLOCK_DRIVES") or
                      os.path.join(helpers.TOP, os.pardir, "shared", "data", "drives"), "disks")
PROCESSES = 2
# Response times from here on are cut off in the pictures, as a share of requests
PICTURE_SHARE = 0.999

# Where a trace's think times lie, before or after the request that they stand beside: FORMATS.md of
# the drive data
THINK = {"atlas10k": "before", "atlas_III": "before", "barracuda": "before",
         "cheetah4LP": "before", "hp_c2490a": "after", "hp_c3323a": "after", "st41601n": "after"}

COLUMNS = (  # heading, field, format
    ("drive", "drive", "%s"), ("think", "think", "%s"), ("requests", "requests", "%d"),
    ("mean ms", "mean_measured_ms", "%.3f"), ("demerit ms", "demerit_ms", "%.3f"),
    ("% of mean", "demerit_pct", "%.1f"), ("within 0.3 ms %", "paired_within_300us_pct", "%.1f"),
    ("median ms", "paired_median_ms", "%.3f"),
    ("DiskSim: % of mean", "disksim_demerit_pct", "%.1f"),
    ("within 0.3 ms %", "disksim_paired_within_300us_pct", "%.1f"))


class Folder:
    """What there is of a drive in a folder, and what it lacks."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(os.path.normpath(path))
        self.trace = self.only("trace")
        ours = os.path.join(OURS, self.name + ".fbdrive")
        self.drive = self.only("fbdrive") or (ours if os.path.exists(ours) else None)

    def only(self, extension):
        """The first file with it, or None."""
        found = sorted(glob.glob(os.path.join(glob.escape(self.path), "*." + extension)))
        return found[0] if found else None

    def lacks(self):
        """The missing parts, in words; empty if nothing is missing."""
        parts = ((self.drive, "description (.fbdrive)"), (self.trace, "trace (.trace)"))
        return ", ".join("no " + name for there, name in parts if not there)


def find_folders(path):
    """The drives' folders; the one given may be one itself."""
    if Folder(path).trace:
        return [Folder(os.path.abspath(path))]
    return [Folder(entry.path) for entry in sorted(os.scandir(path), key=lambda e: e.name)
            if entry.is_dir()]


def disksim_times(folder, think, count):
    """What DiskSim predicts with that reading, ns; None if that is not known."""
    name = folder.name + (".shift.pred.csv" if think == "before" else ".pred.csv")
    path = os.path.join(folder.path, os.pardir, os.pardir, "disksim-pred", name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="ascii") as file:
        times = [round(float(row["disksim_ms"]) * 1e6) for row in csv.DictReader(file)]
    return times[:count]


def curve(times_ns):
    """Points (ms, share of requests) of a distribution, without its longest."""
    ms = sorted(ns / 1e6 for ns in times_ns)
    return [(at, (i + 1) / len(ms)) for i, at in enumerate(ms[:int(PICTURE_SHARE * len(ms)) + 1])]


def measure(folder, out):
    """One drive: a row of the table."""
    records = traces.read(folder.trace)
    traces.check_capacity(folder.trace, records, replay.drive_info(folder.drive)["sectors"])
    think = THINK.get(folder.name, "after")
    measured = [record.response_ns for record in records]
    simulated = replay.responses(folder.drive, records, think)
    row = {"drive": folder.name, "think": think}
    row.update(score.compare(measured, simulated))
    curves = {"measured": measured, "simulated": simulated}
    theirs = disksim_times(folder, think, len(records))
    if theirs:
        curves["DiskSim"] = theirs
        for name, value in score.compare(measured[:len(theirs)], theirs).items():
            row["disksim_" + name] = value
    row["picture"] = folder.name + ".png"
    plot.panels(os.path.join(out, row["picture"]), "%s: demerit %.2f ms, %.1f %% of the mean" % (
        folder.name, row["demerit_ms"], row["demerit_pct"]), [{
            "x": "response time, ms", "y": "share of requests", "steps": True,
            "lines": {name: curve(times) for name, times in curves.items()}}])
    return row


def try_measure(work):
    """(folder's name, row or None, error or None)"""
    folder, out = work
    try:
        return folder.name, measure(folder, out), None
    except (ToolError, ValueError, OSError) as error:
        return folder.name, None, str(error)


def measure_all(folders, out):
    """Rows by folder's name, and errors likewise; says how it gets on."""
    rows, errors = {}, {}
    with multiprocessing.Pool(PROCESSES) as pool:
        results = pool.imap_unordered(try_measure, [(folder, out) for folder in folders])
        for done, (name, row, error) in enumerate(results, 1):
            said = "failed: " + error if error else "demerit %.1f %% of the mean, " \
                "%.1f %% within 0.3 ms" % (row["demerit_pct"], row["paired_within_300us_pct"])
            print("[%d/%d] %s: %s" % (done, len(folders), name, said), flush=True)
            (errors if error else rows)[name] = error or row
    return rows, errors


def add_parser(subparsers):
    """Add `fidelity`."""
    parser = subparsers.add_parser(
        "fidelity", help="compare the simulated drive with real ones",
        description="For each folder with a trace measured on a drive (.trace): replay it on the "
        "drive's description (a .fbdrive beside it, or that of the folder's name in "
        "bench/drives), compare. Writes table.json and a picture of each drive's "
        "distributions.")
    parser.add_argument("--drives", metavar="FOLDER",
                        help="where the folders are, or one of them (%s)" %
                        DRIVES.replace("%", "%%"))
    parser.add_argument("-o", "--output", metavar="FOLDER",
                        default=os.path.join(helpers.BUILD, "fidelity"),
                        help="where the results go (%(default)s)")
    parser.set_defaults(run=run)


def run(args):
    """Measure all drives and print the table."""
    drives = args.drives or DRIVES
    if not os.path.isdir(drives):
        if args.drives:
            raise ToolError("%s: no folder of drives" % drives)
        print("freeblock-bench fidelity: skipped: no folder of drives at %s (give --drives)" %
              os.path.normpath(drives))
        return 0
    folders = find_folders(drives)
    for folder in folders:
        if folder.lacks():
            print("%s: left out: %s" % (folder.name, folder.lacks()))
    folders = [folder for folder in folders if not folder.lacks()]
    if not folders:
        raise ToolError("%s: no folder in it has all that it takes to compare a drive" % drives)
    replay.build_host()
    try:
        os.makedirs(args.output, exist_ok=True)
    except OSError as error:
        raise ToolError("%s: %s" % (args.output, error.strerror)) from error
    rows, errors = measure_all(folders, args.output)
    rows = [rows[name] for name in sorted(rows)]
    with safe_file.whole_file(os.path.join(args.output, "table.json")) as file:
        file.write((json.dumps(rows, indent=1) + "\n").encode("ascii"))
    print("\n".join(tables.lines(rows, COLUMNS)))
    print("results in %s" % os.path.normpath(args.output))
    return 1 if errors else 0
