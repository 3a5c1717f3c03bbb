# SPDX-License-Identifier: GPL-2.0
"""How faithful the simulated drive is to real ones.

For each folder of facts about a drive (DiskSim's files and a trace measured on
it): import the drive, replay the trace, compare. The result is a table for
people and programs and, per drive, a picture of the two distributions.
"""

import csv
import glob
import json
import multiprocessing
import os
import re

from freeblock import ToolError, hosts
from . import ablation, disksim, drivetext, libparam, replay, score, traces
from .model import comments, product_name, replace_all

DRIVES = os.path.join(os.environ.get("FREEBLOCK_DRIVES") or
                      os.path.join(hosts.TOP, os.pardir, "shared", "data", "drives"), "disks")
PROCESSES = 2
# Response times from here on are cut off in the pictures, as a share of requests
PICTURE_SHARE = 0.999

# How a drive's trace gives the think time, where that is known: FORMATS.md of
# the drive data ("Which think time the last trace column is"). The two that it
# calls undetermined are read as DiskSim does, which --think auto bears out.
BY_ROTATION = "FORMATS.md: rotation bears it out"
AS_DISKSIM = "as DiskSim reads it; replay --think auto bears it out"
THINK = {
    "atlas10k": ("before", BY_ROTATION),
    "atlas_III": ("before", BY_ROTATION),
    "barracuda": ("before", BY_ROTATION),
    "cheetah4LP": ("before", BY_ROTATION),
    "hp_c2490a": ("after", BY_ROTATION),
    "hp_c3323a": ("after", AS_DISKSIM),
    "st41601n": ("after", AS_DISKSIM),
}

COLUMNS = (  # heading, field, format
    ("drive", "drive", "%-12s"),
    ("think", "think", "%-6s"),
    ("requests", "requests", "%8d"),
    ("mean ms", "mean_measured_ms", "%8.3f"),
    ("demerit ms", "demerit_ms", "%10.3f"),
    ("% of mean", "demerit_pct", "%9.1f"),
    ("within 0.3 ms %", "paired_within_300us_pct", "%15.1f"),
    ("median ms", "paired_median_ms", "%9.3f"),
    ("DiskSim: % of mean", "disksim_demerit_pct", "%18.1f"),
    ("within 0.3 ms %", "disksim_paired_within_300us_pct", "%15.1f"),
)


class Folder:
    """What a folder says about a drive, and what it lacks."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(os.path.normpath(path))
        self.model = self.only("model")
        self.seek = self.only("seek")
        self.diskspecs = self.only("diskspecs")
        self.trace = self.only("trace")

    def only(self, extension):
        found = sorted(glob.glob(os.path.join(glob.escape(self.path), "*." + extension)))
        return found[0] if found else None

    def has_curve(self):
        """A measured seek curve, or the model's own."""
        if self.seek or not self.model:
            return bool(self.seek)
        return "hplplus10" in libparam.read_file(self.model)

    def lacks(self):
        """The missing parts, in words; empty if nothing is missing."""
        parts = ((self.model, "layout (.model)"), (self.has_curve(), "seek curve (.seek)"),
                 (self.diskspecs, "firmware's constants (.diskspecs)"),
                 (self.trace, "trace (.trace)"))
        return ", ".join("no " + name for there, name in parts if not there)


def find_folders(path):
    """The drives' folders; the one given may be one itself."""
    if Folder(path).model:
        return [Folder(os.path.abspath(path))]
    return [Folder(entry.path) for entry in sorted(os.scandir(path), key=lambda e: e.name)
            if entry.is_dir()]


def import_drive(folder, out):
    """The drive's description, made from its facts; its path."""
    path = os.path.join(out, folder.name + ".fbdrive")
    drive, report, files = disksim.load([folder.path])
    drive.vendor = "DISKSIM"
    # whatever the files are called, INQUIRY has room for 16 printable characters
    drive.product = re.sub("[^!-~]|#", "-", product_name(drive.name))[:16]
    drive.comments = comments(report, files)
    replace_all([(path, drivetext.write(drive))])
    return path


def think_reading(name, drive, records):
    """("before" or "after", where that comes from)"""
    if name in THINK:
        return THINK[name]
    found, evidence = replay.find_think(drive, records)
    return found or "after", replay.explain(found, evidence) + \
        ("" if found else "; read as DiskSim does")


def disksim_times(folder, think, count):
    """What DiskSim predicts with that reading, ns; None if that is not known."""
    name = folder.name + (".shift.pred.csv" if think == "before" else ".pred.csv")
    path = os.path.join(folder.path, os.pardir, os.pardir, "disksim-pred", name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="ascii") as file:
        times = [round(float(row["disksim_ms"]) * 1e6) for row in csv.DictReader(file)]
    return times[:count]


def draw(path, title, curves):
    """Cumulative distributions of response times, {name: ns}."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ToolError("the pictures need matplotlib (make setup): %s" % error) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for (name, times), style in zip(curves.items(), ("-", "--", ":")):
        ms = [ns / 1e6 for ns in sorted(times)]
        axes.plot(ms, [(i + 1) / len(ms) for i in range(len(ms))], style, label=name)
    measured = sorted(curves["measured"])
    axes.set_xlim(0, 1.05 * measured[int(PICTURE_SHARE * (len(measured) - 1))] / 1e6)
    axes.set_ylim(0, 1)
    axes.set_xlabel("response time, ms")
    axes.set_ylabel("share of requests")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=100, bbox_inches="tight")
    pyplot.close(figure)


def measure(folder, out):
    """One drive: a row of the table."""
    drive = import_drive(folder, out)
    records = traces.read(folder.trace)
    traces.check_capacity(folder.trace, records, replay.drive_info(drive)["sectors"])
    think, source = think_reading(folder.name, drive, records)
    measured = [record.response_ns for record in records]
    simulated = replay.responses(drive, records, think)
    row = {"drive": folder.name, "think": think, "think_source": source}
    row.update(score.compare(measured, simulated))
    curves = {"measured": measured, "simulated": simulated}
    theirs = disksim_times(folder, think, len(records))
    if theirs:
        curves["DiskSim"] = theirs
        for name, value in score.compare(measured[:len(theirs)], theirs).items():
            row["disksim_" + name] = value
    row["picture"] = folder.name + ".png"
    draw(os.path.join(out, row["picture"]), "%s: demerit %.2f ms, %.1f %% of the mean" % (
        folder.name, row["demerit_ms"], row["demerit_pct"]), curves)
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


def cell(row, field, form):
    if field in row:
        return form % row[field]
    return "-".rjust(len(form % 0))


def print_table(rows):
    widths = [max(len(heading), len(form % ("" if form.endswith("s") else 0)))
              for heading, _, form in COLUMNS]
    print("  ".join(heading.ljust(width) for (heading, _, _), width in zip(COLUMNS, widths)))
    for row in rows:
        print("  ".join(cell(row, field, form).ljust(width)
                        for (_, field, form), width in zip(COLUMNS, widths)))


def add_parser(subparsers):
    """Add `fidelity`."""
    parser = subparsers.add_parser(
        "fidelity", help="compare the simulated drive with real ones",
        description="For each folder of a drive's facts (DiskSim's .model, .seek and .diskspecs, "
        "and a measured .trace): import the drive, replay the trace, compare. Writes table.json, "
        "the imported drives and a picture of each drive's distributions.")
    parser.add_argument("--drives", metavar="FOLDER",
                        help="where the folders are, or one of them (%s)" %
                        DRIVES.replace("%", "%%"))
    parser.add_argument("-o", "--output", metavar="FOLDER",
                        default=os.path.join(hosts.BUILD, "fidelity"),
                        help="where the results go (%(default)s)")
    parser.add_argument("--ablate", action="store_true", help="leave out each parameter of the "
                        "drives in turn, and say by how much the demerit figure grows, in %% of "
                        "the mean")
    parser.set_defaults(run=run)


def ablate_one(folder, out):
    """What each parameter of a drive is worth."""
    drive, records = import_drive(folder, out), traces.read(folder.trace)
    think, _ = think_reading(folder.name, drive, records)
    return ablation.effects(drive, records, think, out)


def ablate(folders, out):
    """A table of what each parameter is worth; ablation.json. 1 if a drive's files are bad."""
    found = {}
    for number, folder in enumerate(folders, 1):
        said = ""
        try:
            found[folder.name] = ablate_one(folder, out)
        except (ToolError, ValueError, OSError) as error:
            said = ": failed: %s" % error
        print("[%d/%d] %s%s" % (number, len(folders), folder.name, said), flush=True)
    if not found:
        return 1
    replace_all([(os.path.join(out, "ablation.json"),
                  (json.dumps(found, indent=1) + "\n").encode("ascii"))])
    print("\n".join(ablation.lines(found)))
    return 0 if len(found) == len(folders) else 1


def run(args):
    """Measure all drives and print the table."""
    drives = args.drives or DRIVES
    if not os.path.isdir(drives):
        if args.drives:
            raise ToolError("%s: no folder of drives" % drives)
        print("freeblock-lab fidelity: skipped: no folder of drives at %s (give --drives)" %
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
    if args.ablate:
        return ablate(folders, args.output)
    rows, errors = measure_all(folders, args.output)
    rows = [rows[name] for name in sorted(rows)]
    replace_all([(os.path.join(args.output, "table.json"),
                  (json.dumps(rows, indent=1) + "\n").encode("ascii"))])
    print_table(rows)
    print("results in %s" % os.path.normpath(args.output))
    return 1 if errors else 0
