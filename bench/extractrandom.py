# SPDX-License-Identifier: GPL-2.0
"""bench-extract --random: small drives drawn at random, by timing alone (make extract RANDOM=N).

Is each model right, or is it said which LBNs are not? A wrong model is *told* if the extraction
was refused, or marks the model as distrusted, or names all LBNs that are elsewhere or at other
angles. Surfaces are left aside, since timing alone tells nothing of them.
"""

import argparse
import glob
import hashlib
import json
import multiprocessing
import os
import shutil
import sys

from freeblock import ToolError, UsageError, sim
from freeblock.base.helpers import TOP
from . import realdrive
from .evaluation.runs import kept

PROCESSES = 2
# Two in so many, one of each mode, are measured to the end: the arm, and the scheduler's own
# predictions
WHOLE = 50
# What a model's text needs besides the layout
MOVES = {"period_ps": 6000000000, "zero_latency": True, "head_switch_ns": 500000,
         "write_settle_ns": 200000, "seek": [(1, 800000), (2, 900000)]}
MOST_ANGLE = 0.002              # of a turn, 99th percentile: a model worse than that is wrong
MOSTLY_PCT = 99.9               # mapped of a drive of real size that is exact
# Of a seed's drives the numbers
STEP = 1000000
EXACT, TOLD, UNTOLD = "exact", "wrong_told", "wrong_untold"
SOURCES = ("tools/cli/freeblock/extraction/*.py", "bench/randomdrive.py",
           "bench/realdrive.py",
           "bench/extractrandom.py", "bench/extractscore.py",
           "tools/mechdisk/*.[ch]")


def fingerprint():
    """Of all that decides what comes out: rows of another are not used."""
    found = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(glob.glob(os.path.join(TOP, pattern))):
            with open(path, "rb") as file:
                found.update(file.read())
    return found.hexdigest()[:16]


def options(path, folder, full):
    """What an extraction wants of the command line."""
    return argparse.Namespace(
        simulated=path, device=None, out=os.path.join(folder, "extracted.fbmodel"), full=full,
        no_translation=True, in_use=False, force=False, like=(),
        fresh=True, seed=1, quiet=True, budget=None)


def layout_alone(args, folder):
    """(model text, audit, whether it is trusted) of where blocks live; how the arm moves takes ten
    times as long and says nothing of that."""
    from freeblock.drive import modes  # pylint: disable=import-outside-toplevel
    from freeblock.extraction import pipeline  # pylint: disable=import-outside-toplevel
    with pipeline.open_device(args) as dev:
        work = pipeline.Extraction(dev, args, folder)
        with modes.quiet(dev, os.path.join(folder, "modes")) as switched:
            _, found, seen = work.measure_layout(switched)
        return found.to_model(work.identity(), MOVES), seen["audit"], not seen["reason"]


def whole(args, folder):
    """The same of a whole extraction, with the scheduler's word about its model."""
    from freeblock.extraction import pipeline  # pylint: disable=import-outside-toplevel
    report = pipeline.extract(args, folder)
    with open(args.out, "rb") as file:
        return file.read(), report["audit"], report["validation"]["trusted"]


def verdict(said, trusted):
    """A kind of outcome, by the score."""
    if not said["lbn_mismatches"] and said["angle_err_p99_turn"] <= MOST_ANGLE:
        return EXACT
    named = not said["lbns_untold"] and said["angle_err_p99_untold_turn"] <= MOST_ANGLE
    return TOLD if named or not trusted else UNTOLD


def verdict_of_angles(said):
    """The same of a drive of real size, by LBNs chosen at random."""
    if said["trusted_wrong_pct"]:
        return UNTOLD
    return EXACT if said["mapped_pct"] > MOSTLY_PCT and not said["wrong_pct"] else TOLD


def extracted(path, folder, full, alone, small=True):
    """What came of a drive's extraction: a row."""
    from . import extractmap, extractscore as score  # pylint: disable=import-outside-toplevel
    measure_it = layout_alone if alone else whole
    try:
        text, seen, trusted = measure_it(options(path, folder, full), folder)
    except ToolError as error:
        return {"result": TOLD, "refused": " ".join(str(error).split())}
    except (ValueError, IndexError, KeyError, TypeError, ArithmeticError) as error:
        # nobody is told anything by that
        return {"result": UNTOLD, "crashed": "%s: %s" % (type(error).__name__, error)}
    if not small:
        said = extractmap.judge(path, text, seen["doubtful"], trusted)
        return dict(said, result=verdict_of_angles(said), trusted=trusted)
    said = score.score(path, text, "timing", seen["doubtful"])
    row = {key: said[key] for key in (
        "lbn_mismatches", "lbns_untold", "track_boundaries_wrong",
        "angle_err_p99_turn", "angle_err_p99_untold_turn")}
    named = sum(last - first + 1 for first, last, _ in seen["doubtful"])
    return dict(row, result=verdict(said, trusted), lbns_named=named,
                lbns=said["compared"], trusted=trusted)


def one(work):
    """The row of a drive, by number."""
    number, out, kind = work
    drive = realdrive.drawn(kind, number)
    folder = os.path.join(out, "drive-%d" % number)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "drive.fbdrive")
    with open(path, "w", encoding="ascii") as file:
        file.write(drive.text())
    full, alone = number % 2 == 1, number % WHOLE < WHOLE - 2
    small = kind == "small"
    if not small:
        full, alone = False, True
    row = extracted(path, folder, full, alone, small)
    if small and alone and row["result"] == UNTOLD and "crashed" not in row:
        # who extracts a drive is told the scheduler's word, too
        row, alone = extracted(path, folder, full, False), False
    row.update(number=number, mode="full" if full else "quick", whole=not alone,
               features=sorted(drive.features))
    if row["result"] == EXACT:
        shutil.rmtree(folder)
    return row


def kept_one(work):
    """The same, kept: (path, number, out, kind)."""
    path, *drive = work
    return kept(path, lambda: one(drive))


def measure(count, seed, out, kind="small", fresh=False, jobs=PROCESSES):
    """The rows of so many drives of a seed, those kept from before included."""
    sim.build_host()
    rows = os.path.join(out, "rows")
    if fresh:
        shutil.rmtree(rows, ignore_errors=True)
    form, numbers = os.path.join(rows, fingerprint() + "-%s-%d.json"), range(
        seed * STEP, seed * STEP + count)
    work = [(form % (kind, number), number, out, kind) for number in numbers]
    before = {number for path, number, *_ in work if os.path.exists(path)}
    print("%d %s drives of seed %d, %d of them measured before" % (
        count, kind, seed, len(before)), file=sys.stderr)
    found = {}
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for row in pool.imap_unordered(kept_one, work):
            found[row["number"]] = row
            if row["result"] != EXACT and row["number"] not in before:
                print(line(row), file=sys.stderr)
            print("%d of %d drives" % (len(found), count), end="\r", file=sys.stderr, flush=True)
    return [found[number] for number in numbers]


def line(row):
    """A drive that is not exact, for people."""
    why = row.get("refused") or row.get("crashed") or (
        "%.3f %% mapped, %.3f %% wrong and not named" % (row["mapped_pct"], row["wrong_pct"])
        if "mapped_pct" in row else None) or \
        "%d LBNs elsewhere, %d of them not named (%d of %d are)%s" % (
            row["lbn_mismatches"], row["lbns_untold"], row["lbns_named"], row["lbns"],
            "" if row["trusted"] else "; distrusted")
    return "drive %d (%s; %s): %s: %s" % (row["number"], row["mode"], ", ".join(row["features"]),
                                          row["result"].replace("_", " "), why)


def _shares(row):
    """(mapped and right, mapped, wrong and trusted) of a drive's LBNs, percent."""
    if "mapped_pct" in row:
        return row["mapped_pct"] - row["wrong_pct"], row["mapped_pct"], row["trusted_wrong_pct"]
    if "lbns" not in row:
        return 0.0, 0.0, 0.0
    named, wrong = (min(100 * row[key] / row["lbns"], 100)
                    for key in ("lbns_named", "lbns_untold"))
    return 100 - named - wrong, 100 - named, wrong * row["trusted"]


def summary(rows):
    """What random.json holds. mapped_right, holes, trusted_wrong: percent of LBNs, in the mean of
    the drives; of one that was refused all is a hole."""
    kinds = [row["result"] for row in rows]
    right, mapped, wrong = (sum(column) / len(rows) for column in zip(*map(_shares, rows)))
    named = [row for row in rows if "lbns" in row and row.get("trusted")]
    return {"drives": len(rows), "mapped_right": right, "holes": 100 - mapped,
            "trusted_wrong": wrong, "exact": kinds.count(EXACT), "wrong_told": kinds.count(TOLD),
            "wrong_untold": kinds.count(UNTOLD),
            "refused": sum("refused" in row for row in rows),
            "distrusted": sum(row.get("trusted") is False for row in rows),
            "lbns_named_pct": 100 * sum(row["lbns_named"] for row in named) /
            max(sum(row["lbns"] for row in named), 1)}


def run(args):
    """bench-extract --random."""
    if args.random < 1:
        raise UsageError("--random %d: at least 1" % args.random)
    rows = measure(args.random, args.seed, os.path.join(args.output, "random"), args.kind,
                   args.fresh)
    said = dict(summary(rows), seed=args.seed, kind=args.kind)
    with open(os.path.join(args.output, "random.json"), "w", encoding="ascii") as file:
        json.dump(said, file, indent=1)
    if args.json:
        print(json.dumps(said, indent=1))
    else:
        for row in rows:
            if row["result"] != EXACT:
                print(line(row))
        print("%(drives)d drives (seed %(seed)d): %(mapped_right).3f %% of LBNs mapped and right, "
              "%(holes).3f %% holes, %(trusted_wrong).3f %% wrong and trusted" % said)
        print("%(exact)d exact, %(wrong_told)d wrong and told (%(refused)d refused, "
              "%(distrusted)d distrusted), %(wrong_untold)d wrong and not told" % said)
        if args.kind == "small":
            print("models that are trusted name %(lbns_named_pct).2f %% of their LBNs as doubtful" %
                  said)
    return 1 if said["wrong_untold"] else 0
