# SPDX-License-Identifier: GPL-2.0
"""bench-extract: extract simulated drives and compare with what they are (make extract).

Each run is `freeblock extract` at a simulated drive; what it wrote is then judged by the
drive's description, which the extraction never saw, and used: the scheduler reads free
blocks with the extracted and with the true model.
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from freeblock import ToolError, UsageError, need_range, sim
from freeblock.base.helpers import BUILD, TOP
from freeblock.formats import fbdrive
from freeblock.sim import truth
from . import tables
from .realdrive import KINDS

OUT = os.path.join(BUILD, "extract")
PROCESSES = 2
# What of the table is run when nothing is named: (name, drive, mode, lines set)
STANDARD = (
    ("atlas10k", "atlas10k", "translate", ()),
    ("atlas10k", "atlas10k", "full", ()),
    ("atlas10k", "atlas10k", "quick", ()),
    ("nearline16-wc", "nearline16-wc", "quick", ()),
    ("toy", "toy", "full", ()),
    ("cheetah9", "cheetah9", "full", ()),
    ("nearline16-surfaces", "nearline16-surfaces", "quick", ()),
    ("x300", "x300", "quick", ()),
    ("atlas10k-jitter0", "atlas10k", "quick", ("jitter_ns 0",)),
    ("atlas10k-jitter100", "atlas10k", "quick", ("jitter_ns 100000",)),
)
# Of those the one that is to be refused: its reports are too late to sample tracks
TO_REFUSE = "atlas10k-jitter100"
MODES = {"translate": ["--quick"], "full": ["--full", "--no-translation"],
         "quick": ["--quick", "--no-translation"]}
SIM = {"task": "fresh", "seconds": "1200", "preset": "paper"}
KEYS = ("drive", "mode", "lbn_mismatches", "track_boundaries_wrong", "angle_err_p99_turn",
        "rotation_err_ppm", "seek_err_max_us", "seek_err_true_max_us", "within_50us_pct",
        "within_100us_pct", "disk_time_s", "free_mb_s_extracted", "free_mb_s_true",
        "slowdown_pct_extracted", "slowdown_pct_true", "mapped_pct", "wrong_pct",
        "trusted_wrong_pct", "disk_minutes", "free_ratio")


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "bench-extract", help="extract simulated drives and judge what was found",
        description="Extract the models of simulated drives, compare with the drives' descriptions "
        "and with the scheduler's results under the true models. Writes summary.json and models.")
    parser.add_argument("--drive", metavar="DRIVES", help="names in tools/mechdisk/drives or "
                        ".fbdrive files, separated by commas (a standard list)")
    parser.add_argument("--mode", metavar="MODES", help="of translate, full, quick (those that "
                        "the drive's size allows)")
    parser.add_argument("--set", action="append", default=[], metavar="LINE",
                        help="a line added to the drives' descriptions")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the drives' noise, or "
                        "of the random drives (1)")
    parser.add_argument("--random", type=int, metavar="N", help="instead: N drives drawn at "
                        "random, by timing alone: random.json; what was cut off goes on")
    parser.add_argument("--kind", choices=KINDS, default="small",
                        help="of these: small ones (default), of real sizes with traits that are "
                        "published, or such with a tenth of their bands")
    parser.add_argument("--fresh", action="store_true", help="measure all random drives anew")
    parser.add_argument("-o", "--output", default=OUT, metavar="DIR", help="where results go "
                        "(build/extract)")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def runs_of(args):
    """(name, drive file, mode, lines) of all that is asked for."""
    modes = args.mode.split(",") if args.mode else None
    for mode in modes or ():
        if mode not in MODES:
            raise UsageError("--mode: %s is none of %s" % (mode, ", ".join(MODES)))
    if not args.drive:
        return [(name, sim.drive_file(drive), mode, list(lines) + args.set)
                for name, drive, mode, lines in STANDARD if mode in (modes or MODES)]
    found = []
    for drive in args.drive.split(","):
        path = sim.drive_file(drive)
        name = os.path.splitext(os.path.basename(path))[0]
        for mode in modes or possible(path):
            found.append((name, path, mode, list(args.set)))
    return found


def possible(path):
    """The modes that make sense for a drive."""
    from freeblock.extraction import pipeline  # pylint: disable=import-outside-toplevel
    scalars, _ = fbdrive.records(path)
    small = truth.sectors(path) <= pipeline.FULL_BLOCKS
    tells = scalars.get("translate", ["on"]) == ["on"] and scalars.get("interface") != ["sata"]
    found = ["translate"] if tells and small else []
    return found + (["full"] if small else []) + ["quick"]


def free_bandwidth(drive, model, lines, seed):
    """(free MB/s, slowdown in %) of a scan on the drive with a model."""
    said = [("drive", drive), ("model", model), ("seed", str(seed))]
    said += [("set", line) for line in lines]
    job = said + list(SIM.items())
    alone, scan = sim.run_jobs([sim.baseline_job(job), job], processes=1)
    return scan["free_mb_s"], 100 * (1 - scan["requests_per_s"] / alone["requests_per_s"])


def one(name, drive, mode, lines, seed, out):
    """A run: its row of the summary."""
    from . import extractmap, extractscore as score  # pylint: disable=import-outside-toplevel
    folder = os.path.join(out, "%s-%s" % (name, mode))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    described, model, true = (os.path.join(folder, what) for what in (
        name + ".fbdrive", "extracted.fbmodel", "true.fbmodel"))
    with open(drive, encoding="utf-8") as file, open(described, "w", encoding="utf-8") as copy:
        copy.write(file.read() + "\n" + "".join(line + "\n" for line in lines))
    words = [os.path.join(TOP, "tools", "freeblock"), "extract", "--simulated", described,
             "--state-dir", folder, "-o", model, "--seed", str(seed), "--json", *MODES[mode]]
    with open(os.path.join(folder, "log"), "wb") as log:
        done = subprocess.run([sys.executable, *words], check=False, stdout=subprocess.PIPE,
                              stderr=log)
    row = dict.fromkeys(KEYS)
    row.update(drive=name, mode=mode)
    if done.returncode:
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
            said = log.read()
        row["refused"] = " ".join(said[said.rfind("freeblock: "):].split()) or "no reason given"
        row.update(mapped_pct=0.0, wrong_pct=0.0, trusted_wrong_pct=0.0)
        return row
    report = json.loads(done.stdout)
    with open(model, "rb") as file:
        text = file.read()
    told, trusted = report["audit"]["doubtful"], report["validation"]["trusted"]
    if not fbdrive.records(described)[1]["run"]:
        tracks = report["layout"]["how"] == "runs" and report["layout"]["heads"] == 1
        judged = score.score(described, text, "tracks" if tracks else report["layout"]["how"])
        row.update({key: value for key, value in judged.items() if key in row and key != "mode"})
    row.update(extractmap.judge(described, text, told, trusted))
    whole = report["validation"]["shares"][-1]
    row.update(within_50us_pct=whole["within_50us_pct"], how=report["layout"]["how"],
               within_100us_pct=whole["within_100us_pct"], disk_time_s=report["disk_time_s"],
               disk_minutes=report["disk_time_s"] / 60, trusted=trusted,
               bound_us=report["validation"]["bound_us"])
    with open(true, "wb") as file:
        file.write(truth.model(described))
    for which, path in (("extracted", model), ("true", true)):
        row["free_mb_s_" + which], row["slowdown_pct_" + which] = free_bandwidth(
            described, path, [], seed)
    row["free_ratio"] = row["free_mb_s_extracted"] / row["free_mb_s_true"]
    return row


COLUMNS = (
    ("drive", "drive", "%s"), ("mode", "mode", "%s"),
    ("mapped%", "mapped_pct", "%.2f"), ("wrong%", "wrong_pct", "%.2f"),
    ("LBNs wrong", "lbn_mismatches", "%d"), ("tracks", "track_boundaries_wrong", "%d"),
    ("angle p99", "angle_err_p99_turn", "%.5f"), ("ppm", "rotation_err_ppm", "%.3f"),
    ("seek us", "seek_err_max_us", "%.1f"), ("in 50us%", "within_50us_pct", "%.1f"),
    ("in 100us%", "within_100us_pct", "%.1f"), ("disk min", "disk_minutes", "%.1f"),
    ("free", "free_mb_s_extracted", "%.2f"), ("true", "free_mb_s_true", "%.2f"),
    ("slow%", "slowdown_pct_extracted", "%.2f"), ("true", "slowdown_pct_true", "%.2f"))


def show(rows):
    """The table for people."""
    print("\n".join(tables.lines([row for row in rows if "refused" not in row], COLUMNS)))
    for row in rows:
        if "refused" in row:
            print("%s %s: %s" % (row["drive"], row["mode"], row["refused"]))


def run(args):
    """The subcommand."""
    need_range("--seed", args.seed, 0)
    if args.random is not None:
        from . import extractrandom  # pylint: disable=import-outside-toplevel
        return extractrandom.run(args)
    runs = runs_of(args)
    sim.build_host()
    os.makedirs(args.output, exist_ok=True)
    rows = [None] * len(runs)

    def numbered(number):
        name, drive, mode, lines = runs[number]
        try:
            rows[number] = one(name, drive, mode, lines, args.seed, args.output)
        except ToolError as error:
            # the others' results are wanted all the same
            rows[number] = dict(dict.fromkeys(KEYS), drive=name, mode=mode, refused=str(error))
        print("%d of %d runs done: %s %s" % (sum(row is not None for row in rows), len(rows),
                                             name, mode), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(numbered, range(len(runs))))
    with open(os.path.join(args.output, "summary.json"), "w", encoding="ascii") as file:
        json.dump(rows, file, indent=1)
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows)
        print("summary and models: %s" % args.output)
    return 1 if any(("refused" in row) != (row["drive"] == TO_REFUSE) for row in rows) else 0
