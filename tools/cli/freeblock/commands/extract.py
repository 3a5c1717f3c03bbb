# SPDX-License-Identifier: GPL-2.0
"""extract: measure a drive and write the model that the scheduler wants.

Documentation/extract.rst tells what is measured and how; extraction/ does it.
"""

import json
import os

from .. import fbstate, need_defaults, need_one, need_range

STATE = "/var/lib/freeblock/extract"


STATUSES = {130: "Interrupted by a signal; the drive's modes were put back."}
EXAMPLES = (
    ("freeblock extract /dev/sda -o sda.fbmodel", "Measure a disk that is not in use."),
    ("freeblock extract --simulated tools/mechdisk/drives/toy.fbdrive -o toy.fbmodel",
     "Measure a simulated drive."),
)


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "extract", help="measure a drive: its .fbmodel for the scheduler",
        description="Measure where a drive keeps its sectors and how fast it moves, by timing "
        "reads, and write the model with which freeblock predicts it. Nothing is written to the "
        "disk. An interrupted extraction continues where it was.")
    parser.add_argument("device", nargs="?", metavar="DEVICE", type=fbstate.device_path,
                        help="/dev/sdX or /dev/sgX, as root")
    parser.add_argument("--simulated", metavar="FILE", help="a simulated drive instead, from its "
                        ".fbdrive file")
    parser.add_argument("-o", "--output", dest="out", metavar="FILE", help="where the model goes "
                        "(WWN-REVISION.fbmodel here)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="single tracks are looked at for "
                     "three minutes of disk time (default)")
    how.add_argument("--full", action="store_true", help="for ten, and seeks are measured "
                     "longer")
    parser.add_argument("--no-translation", action="store_true",
                        help="by timing alone, though the drive may translate addresses")
    parser.add_argument("--in-use", action="store_true", help="even if the disk is in use: it "
                        "will be slow meanwhile, and the measurements worse")
    parser.add_argument("--force", action="store_true", help="even where extract would refuse")
    parser.add_argument("--state-dir", metavar="DIR", help="where what was found so far is kept "
                        "(%s)" % STATE)
    parser.add_argument("--fresh", action="store_true", help="ignore an interrupted extraction")
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="disk time for finding "
                        "where the LBNs are; the same command continues from there (no limit)")
    parser.add_argument("--like", action="append", metavar="FILE", help="a model of a drive of "
                        "this make: if the drive's reads fit its arm, that is not measured")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the choice of places "
                        "(1)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print what was found as a JSON object")
    parser.set_defaults(run=run)


def show(report):
    """What was found, for people."""
    drive, layout, found = report["drive"], report["layout"], report["mechanics"]
    runs = layout["how"] == "runs"
    print("%s %s %s: %d LBNs, %s (%s)" % (
        drive["vendor"], drive["product"], drive["revision"], drive["sectors"],
        "%d tracks" % layout["cylinders"] if runs else "%d heads, %d cylinders, %d zones" % (
            layout["heads"], layout["cylinders"], layout["zones"]), layout["how"]))
    print("rotation %.6f ms (%.2f rpm, error %.2f ppm);%s seek 1 to %d %s %.3f to %.3f ms" % (
        found["period_ps"] / 1e9, 60e12 / found["period_ps"], found["period_err_ppm"],
        "" if runs else " head switch %.3f ms;" % (found["head_switch_ns"] / 1e6),
        found["seek"][-1][0], "tracks" if runs else "cylinders", found["seek"][0][1] / 1e6,
        found["seek"][-1][1] / 1e6))
    for line in report["notes"]:
        print("- " + line)
    print("%-8s %6s %10s %10s %9s %9s %7s" % ("reads", "", "in 50 us", "in 100 us", "p50 us",
                                             "p99 us", "misses"))
    for share in report["validation"]["shares"]:
        print("%-8s %6d %9.1f%% %9.1f%% %9.1f %9.1f %6.1f%%" % tuple(
            share[key] for key in ("name", "requests", "within_50us_pct", "within_100us_pct",
                                   "error_p50_us", "error_p99_us", "misses_pct")))
    if not report["validation"]["trusted"]:
        print("NOT TRUSTED: %s. The scheduler will load it and be transparent." %
              report["validation"]["reason"])
    print("%s, after %.1f minutes of disk time" % (report["model"], report["disk_time_s"] / 60))


def run(args):
    """The subcommand."""
    need_one((args.device, "DEVICE"), (args.simulated, "--simulated FILE"))
    if args.device:
        fbstate.need_device(args.device)
    if args.simulated:
        need_defaults(args, "is for a device: nobody else uses a simulated drive", in_use=False)
    need_range("--seed", args.seed, 0)
    if args.budget is not None:
        need_range("--budget", args.budget, 0.1)
    from ..extraction import pipeline, state  # pylint: disable=import-outside-toplevel
    report = pipeline.extract(args, args.state_dir or (
        os.path.join(os.getcwd(), "extract-state") if args.simulated else STATE))
    if args.json:
        print(json.dumps(report, indent=1, default=state.plain))
    else:
        show(report)
    return 0
