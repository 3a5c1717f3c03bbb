# SPDX-License-Identifier: GPL-2.0
"""The simulated drive against DiskSim's, in closed loops.

Each row of the yardstick is a run of DiskSim 4.0's Atlas 10K under the OLTP
workload of "Freeblock Scheduling Outside of Disk Firmware", 5.1. The same loop
runs on tools/mechdisk's Atlas 10K; throughput, mean seek and mean rotational
wait are compared. Rows in which DiskSim's driver schedules are left out.
"""

import json
import multiprocessing
import os

from freeblock import ToolError
from freeblock.base import helpers
from . import replay

FOLDER = os.path.join(os.environ.get("FREEBLOCK_DRIVES") or
                      os.path.join(helpers.TOP, os.pardir, "shared", "data", "drives"), "yardstick")
FILES = ("constantN.json", "think30.json")
DRIVE = os.path.join(helpers.TOP, "tools", "mechdisk", "drives", "atlas10k.fbdrive")
# The yardstick's drive has no noise and no jitter; as in its files, a write's
# overhead is longer after a write, and the arm waits for the report
# ("Preseeking level" 0).
SETTINGS = ("noise off", "jitter_ns 0", "overhead_ns write_miss 344920 496730", "early_seek off")
# The yardstick's 20,000 requests leave rotation a standard error of 0.5 %
REQUESTS = 200000
TOLERANCE_PCT = 2
PROCESSES = 2
# Ours and the yardstick's names of what is compared
COMPARED = (("requests_per_s", "rps"), ("seek_ms", "seekms"), ("rotation_ms", "rot"))


def read_rows(folder):
    rows = []
    for name in FILES:
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="ascii") as file:
                rows += [row for row in json.load(file) if row["where"] == "disk"]
        except (OSError, ValueError) as error:
            raise ToolError("%s: %s" % (path, error)) from error
    return rows


def run_row(row):
    """The row's loop on the simulated drive: its figures and how far off."""
    words = ["--policy", row["pol"].lower().replace("-", ""),
             "--depth", str(row["depth"]), "--think-ns", str(round(row["think"] * 1e6)),
             "--bus-ns", str(round(row["bus"] * 1e6)), "--requests", str(REQUESTS)]
    got = json.loads(replay.run_host("loop", DRIVE, words + replay.settings(SETTINGS)))
    result = {name: row[name] for name in ("think", "bus", "pol", "depth")}
    for ours, theirs in COMPARED:
        result[ours] = got[ours]
        result["disksim_" + ours] = row[theirs]
        result[ours + "_off_pct"] = 100 * (got[ours] / row[theirs] - 1)
    result["agrees"] = all(abs(result[ours + "_off_pct"]) <= TOLERANCE_PCT for ours, _ in COMPARED)
    return result


def print_results(results):
    print("%5s %7s %-6s %5s  %21s  %23s  %23s" %
          ("think", "bus", "policy", "depth", "requests/s (DiskSim)",
           "seek ms (DiskSim)", "rotation ms (DiskSim)"))
    for r in results:
        print("%5g %7g %-6s %5d  %6.1f (%5.1f) %+5.1f %%  %6.3f (%6.3f) %+5.1f %%  "
              "%6.3f (%6.3f) %+5.1f %%  %s" % (
                  r["think"], r["bus"], r["pol"], r["depth"],
                  *(r[form % name] for name, _ in COMPARED
                    for form in ("%s", "disksim_%s", "%s_off_pct")),
                  "" if r["agrees"] else "differs"))


def add_parser(subparsers):
    """Add `yardstick`."""
    parser = subparsers.add_parser(
        "yardstick", help="compare the simulated drive with DiskSim in closed loops",
        description="Run each row of DiskSim's closed loops on the simulated Atlas 10K. The status "
        "is 1 if a row differs by more than %d %%." % TOLERANCE_PCT)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.set_defaults(run=run)


def run(args):
    """Run the rows and print how they compare."""
    if not os.path.isdir(FOLDER):
        print("freeblock-bench yardstick: skipped: no %s (set FREEBLOCK_DRIVES)" %
              os.path.normpath(FOLDER))
        return 0
    replay.build_host()
    with multiprocessing.Pool(PROCESSES) as pool:
        results = pool.map(run_row, read_rows(FOLDER))
    agree = sum(r["agrees"] for r in results)
    if args.json:
        print(json.dumps(results, indent=1))
    else:
        print_results(results)
        print("%d of %d rows agree within %d %%" % (agree, len(results), TOLERANCE_PCT))
    return 0 if agree == len(results) else 1
