#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/research/score.py: figures computed by hand, and those of the
script that came with the data of real drives. Prints TAP."""

import csv
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools", "python"), os.path.join(TOP, "tools")]

from research import score, traces  # noqa: E402

DRIVES = os.environ.get("FREEBLOCK_DRIVES") or os.path.join(TOP, "..", "shared", "data", "drives")
# Their script takes whole microseconds of a rounded product; ours are exact.
TOLERANCE_MS = 0.002
count = failed = 0


def check(name, right, said=""):
    global count, failed
    count += 1
    failed += not right
    print("ok " + name if right else "not ok %s - %s" % (name, said))


def near(name, got, want, tolerance):
    check(name, abs(got - want) <= tolerance, "got %r, want %r" % (got, want))


def us(*times):
    return [int(1000 * t) for t in times]


def refuses(name, call):
    try:
        call()
        check(name, False, "no error")
    except ValueError:
        check(name, True)


def by_hand():
    """Below 100 us the buckets are 1 us wide, so that quantiles are known:
    all at 10 us are 10 + p.

    Seen to fail: buckets that grow by 10 %; a first bucket of 2 us; quantiles
    at the bucket's bottom; a time counted below itself; 0.3 ms taken as within
    0.3 ms."""
    near("equal distributions", score.demerit_ms(us(5, 7, 9), us(9, 5, 7)), 0, 0)
    near("shifted by 20 us", score.demerit_ms(us(*[10] * 8), us(*[30] * 8)), 0.020, 1e-12)
    # Half at 10 (10 + 2p) and half at 20 (19 + 2p), all at 20 (20 + p): the
    # integral of (p - 10)^2 to 1/2 and of (p - 1)^2 from there is 571/12.
    near("half of them shifted by 10 us", score.demerit_ms(us(10, 20), us(20, 20)),
         (571 / 12) ** 0.5 / 1000, 1e-6)
    near("both in the bucket of 102 and 103 us", score.demerit_ms(us(102), us(103)), 0, 0)
    figures = score.compare(us(100, 200, 300, 400), us(400, 500, 700, 1000))
    want = {"requests": 4, "mean_measured_ms": 0.25, "mean_predicted_ms": 0.65,
            "paired_median_ms": 0.4, "paired_p90_ms": 0.6, "paired_mean_ms": 0.4}
    for name, value in want.items():
        near(name, figures[name], value, 1e-12)
    near("an error of 0.3 ms is not within 0.3 ms", figures["paired_within_300us_pct"], 0, 0)
    near("one below is", score.compare(us(1, 1), us(301, 300.999))["paired_within_300us_pct"],
         50, 0)
    near("share of the mean", figures["demerit_pct"], figures["demerit_ms"] / 0.25 * 100, 1e-9)
    refuses("different lengths", lambda: score.compare(us(1, 2), us(1)))


def theirs():
    """The module score.py that lies beside the data."""
    spec = importlib.util.spec_from_file_location("theirs", os.path.join(DRIVES, "score.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def against_theirs(reference, name):
    """One file of DiskSim's predictions, by both."""
    drive = name.split(".")[0]
    with open(os.path.join(DRIVES, "disksim-pred", name), encoding="ascii") as file:
        predicted_ms = [row[-1] for row in csv.reader(file)][1:]
    records = traces.read(os.path.join(DRIVES, "disks", drive, drive + ".trace"))
    measured = [record.response_ns for record in records][:len(predicted_ms)]
    ours = score.demerit_ms(measured, [1000 * traces.nanoseconds(ms) for ms in predicted_ms])
    near("demerit figure of " + name, ours,
         reference.demerit([ns / 1e6 for ns in measured], [float(ms) for ms in predicted_ms]),
         TOLERANCE_MS)


by_hand()
if os.path.exists(os.path.join(DRIVES, "disksim-pred")):
    for prediction in sorted(os.listdir(os.path.join(DRIVES, "disksim-pred"))):
        against_theirs(theirs(), prediction)
else:
    check("demerit figures of DiskSim's predictions # SKIP no %s; set FREEBLOCK_DRIVES" %
          DRIVES, True)
print("1..%d" % count)
sys.exit(1 if failed else 0)
