# SPDX-License-Identifier: GPL-2.0
"""sim: simulate, far faster than time.

A grid of runs is made from comma lists, and shown as a table or as JSON.
"""

import itertools
import json
import tempfile

from .. import UsageError, need_range
from ..formats import arrivals
from ..sim import PROCESSES, complete, sweep
from ..sim.report import table
from ..sim.settings import SETTINGS, check

# Files that a run writes
WRITTEN = ("save", "log")
EXAMPLES = (
    ("freeblock sim --drive atlas10k --task scan --baseline",
     "Simulate ten processes beside a scan, with and without the scan."),
    ("freeblock sim --drive nearline16 --task scan --rate 20,50,100 --policy auto,none",
     "A grid of six runs."),
)


def grid(args):
    """(names of the settings that have several values, jobs)"""
    given = [(name, getattr(args, name).split(",")) for _, name, _, _ in SETTINGS
             if getattr(args, name) is not None]
    lines = [("set", line) for line in args.set]
    jobs = [complete(list(zip([name for name, _ in given], values)) + lines)
            for values in itertools.product(*(values for _, values in given))]
    for name in WRITTEN:
        if len(jobs) > 1 and getattr(args, name) is not None:
            raise UsageError("--%s: a file for one run, and these are %d" % (name, len(jobs)))
    return [name for name, values in given if len(values) > 1], jobs


def with_arrivals(jobs, folder, device, unit):
    """(the jobs, their traces as the simulator reads them, in a folder; the traces' own names by
    those)"""
    done = {}
    for number, job in enumerate(jobs):
        found = dict(job)
        if "trace" not in found:
            continue
        key = found["trace"], found["model"]
        if key not in done:
            done[key] = arrivals.converted(found["trace"], folder, found["model"], device, unit)
        jobs[number] = [(name, done[key] if name == "trace" else value) for name, value in job]
    return jobs, {path: trace for (trace, _), path in done.items()}


def tenths(result):
    """A line about a scan's course."""
    return "MB/s by tenth of the scan: " + " ".join(
        "-" if x is None else "%.2f" % x for x in result.get("mb_s_by_tenth", ()))


def probed(result):
    """Lines about what the probe of the drive's look-ahead found."""
    return ["lift %s: %s" % (lift, found["state"])
            for lift, found in result.get("probe", {}).items()]


def add_parser(subparsers):
    """Add `sim`."""
    parser = subparsers.add_parser(
        "sim", help="simulate the scheduler with a simulated drive",
        description="Run the scheduler's core against a simulated drive. A comma list as a value "
        "makes a run of each; several lists make a grid. MB/s are 10^6 bytes; \"from fresh\" "
        "means that the scan began with the run.")
    for option, name, metavar, text in SETTINGS:
        parser.add_argument(option, dest=name, metavar=metavar, help=text.replace("%", "%%"))
    arrivals.add_options(parser)
    parser.add_argument("--set", action="append", default=[], metavar="LINE",
                        help="a line that overrides the drive's description")
    parser.add_argument("--baseline", action="store_true",
                        help="run each without the task, too, and print the slowdown")
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="runs at once (%d)" % PROCESSES)
    parser.add_argument("--json", action="store_true", help="print a list of all results")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Run the grid and print it."""
    need_range("--jobs", args.jobs, 1)
    if args.trace is None and (args.device or args.unit):
        raise UsageError("--%s needs --arrivals FILE" % ("device" if args.device else "unit"))
    check(args, SETTINGS)
    varied, jobs = grid(args)
    with tempfile.TemporaryDirectory(prefix="freeblock-sim-") as folder:
        jobs, names = with_arrivals(jobs, folder, args.device, args.unit)
        results = sweep(jobs, args.baseline, args.jobs, args.quiet)
    for result in results:
        if result["settings"].get("trace") in names:
            result["settings"]["trace"] = names[result["settings"]["trace"]]
    if args.json:
        print(json.dumps(results, indent=1))
        return 0
    print("\n".join(table(varied, results)))
    if len(results) == 1 and results[0].get("mb_s_by_tenth"):
        print(tenths(results[0]))
    if len(results) == 1:
        print("".join(line + "\n" for line in probed(results[0])), end="")
    return 0
