# SPDX-License-Identifier: GPL-2.0
"""freeblock-lab model: make models of drives."""

import json
import os
import sys
import tempfile

from freeblock import ToolError, UsageError
from . import disksim, drivetext, modeltext

TERMS = ("Facts from DiskSim 4.0's description of the drive. DiskSim's copyright and \"No "
         "Warranty\" statements (COPYING.disksim) must go with this file.")


# A value that has no counterpart: does that change what the drive does?
LOST = {True: " (not simulated)", False: " (no loss)", None: ""}


def add_parser(subparsers):
    """Add `model` and its actions."""
    model = subparsers.add_parser("model", help="make models of drives")
    actions = model.add_subparsers(dest="action", required=True, metavar="ACTION")
    parser = actions.add_parser(
        "import", help="from DiskSim's files",
        description="Turns DiskSim's description of a drive (.parv, .diskspecs, .model, .seek) "
                    "into the simulated drive's (.fbdrive) and the scheduler's (.fbmodel). Says "
                    "what it leaves aside. Documentation/import.rst")
    parser.add_argument("source", nargs="+", metavar="SOURCE",
                        help="a name under $FREEBLOCK_DRIVES/disks, a folder, or files")
    parser.add_argument("--drive", metavar="OUT.fbdrive", help="where the drive goes")
    parser.add_argument("--model", metavar="OUT.fbmodel", help="where the model goes")
    parser.add_argument("--vendor", default="DISKSIM", help="for INQUIRY (DISKSIM)")
    parser.add_argument("--product", help="for INQUIRY (the .model file's name)")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE",
                        help="'[BLOCK/]NAME=VALUE # SOURCE': a parameter's right value, and "
                             "where that comes from")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.set_defaults(run=run_import)


def product_name(name):
    """A product from a file's name."""
    return name[:-len("_validate")] if name.endswith("_validate") else name


def comments(report, files):
    """What both outputs say about where they come from."""
    lines = ["Made by 'freeblock-lab model import' from %s." %
             ", ".join(os.path.basename(file) for file in files), TERMS]
    for item in report.overrides:
        lines.append("Override: %s = %s (file: %s); source: %s" % (
            item["parameter"], item["value"], item["file_value"] or "nothing", item["source"]))
    return lines


def spare(outputs, inputs):
    """Error if a file would be written over what it is made from."""
    for path in outputs:
        for other in inputs:
            if os.path.realpath(path) == os.path.realpath(other):
                raise ToolError("%s: would be written over, but is read" % path)


def replace_all(outputs):
    """Write all files [(path, data)] or none; through symbolic links, but never
    in the place of a device or the like."""
    temporary = []
    try:
        for path, data in outputs:
            if os.path.isdir(path):
                raise ToolError("%s: is a folder" % path)
            if os.path.exists(path) and not os.path.isfile(path):
                raise ToolError("%s: is no ordinary file" % path)
            path = os.path.realpath(path)
            handle, name = tempfile.mkstemp(dir=os.path.dirname(path) or ".",
                                            prefix=os.path.basename(path) + ".")
            temporary.append((name, path))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, 0o666 & ~_umask())
        for name, path in temporary:
            os.replace(name, path)
    except OSError as error:
        raise ToolError("%s: %s" % (path, error.strerror)) from error
    finally:
        for name, _ in temporary:
            if os.path.exists(name):
                os.unlink(name)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def summary(drive):
    """The drive in numbers."""
    layout = drive.layout
    return {"product": drive.product, "heads": layout.heads, "cylinders": layout.cylinders,
            "order": layout.order, "zones": len(layout.zones),
            "slips": sum(len(z.slips) for z in layout.zones),
            "remaps": sum(len(z.remaps) for z in layout.zones),
            "sectors": layout.sectors, "seek_points": len(drive.seek),
            "period_ps": drive.period_ps}


def show(drive, report, files, outputs, out):
    """The report for people."""
    out.write("%s: %s\n" % (drive.product, ", ".join(
        "%s %s" % (key, value) for key, value in summary(drive).items() if key != "product")))
    out.write("read: %s\n" % ", ".join(files))
    out.write("used: %d parameters\n" % len(report.used))
    for note in report.notes:
        out.write("info: %s\n" % note)
    for item in report.overrides:
        out.write("override: %(parameter)s = %(value)s (file: %(file_value)s): %(source)s\n" %
                  item)
    statistics = [item for item in report.ignored if item["reason"] == disksim.STATISTICS]
    if statistics:
        out.write("ignored (no loss): %s: %s\n" % (disksim.STATISTICS, ", ".join(
            "%s:%d %s" % (os.path.basename(item["file"]), item["line"], item["parameter"])
            for item in statistics)))
    for item in report.ignored:
        if item not in statistics:
            out.write("ignored%s: %s:%d: %s = %s: %s\n" % (
                LOST[item["lost"]], os.path.basename(item["file"]), item["line"],
                item["parameter"], item["value"], item["reason"]))
    for path, _ in outputs:
        out.write("wrote: %s\n" % path)


def run_import(args):
    """Import a drive."""
    if not args.drive and not args.model:
        raise UsageError("specify --drive FILE, --model FILE or both")
    if args.drive and args.model and os.path.realpath(args.drive) == os.path.realpath(args.model):
        raise UsageError("--drive and --model name the same file")
    drive, report, files = disksim.load(args.source, args.override)
    spare([path for path in (args.drive, args.model) if path], files)
    drive.vendor = args.vendor
    drive.product = args.product or product_name(drive.name)
    drive.comments = comments(report, files)
    outputs = []
    if args.drive:
        outputs.append((args.drive, drivetext.write(drive)))
    if args.model:
        outputs.append((args.model, modeltext.write(drive)))
        if drive.write_settle_ns < 0:
            report.note("the model cannot say that a write's settling shortens a head switch: it "
                        "believes %d ns, the drive has %d" % (
                            drive.head_switch_ns,
                            max(drive.head_switch_ns + drive.write_settle_ns, 0)))
    replace_all(outputs)
    if args.json:
        json.dump({"drive": summary(drive), "files": files, "used": report.used,
                   "ignored": report.ignored, "notes": report.notes,
                   "overrides": report.overrides, "wrote": [path for path, _ in outputs]},
                  sys.stdout, indent=1)
        print()
    else:
        show(drive, report, files, outputs, sys.stdout)
    return 0
