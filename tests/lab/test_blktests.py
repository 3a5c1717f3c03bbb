#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does make blktests read the suite's results rightly, and judge them? Texts as the suite's check
prints them, of each kind of result; verdicts of every combination that matters; and guests that
are made up, of which one falls silent and one crashes. Prints TAP.

Seen to fail: with a failure beside a pass read as a pass (a test in two conditions), with the
kernel's log not looked at, with an id that fails once in three with freeblock and never
without taken for flaky.
"""

import importlib.machinery
import importlib.util
import os
import stat
import sys
import tarfile
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
BLKTESTS = os.path.join(os.path.dirname(HERE), "blktests")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
sys.path.insert(0, BLKTESTS)

import root  # noqa: E402
import treetest  # noqa: E402
import verdict  # noqa: E402
from treetest import report  # noqa: E402
from verdict import Attempt  # noqa: E402

PASSED = """block/001 (stress device hotplugging)                       
    runtime    ...  
block/001 (stress device hotplugging)                        [passed]
    runtime    ...  21.032s
"""
ON_DISK = """block/004 => sda (run lots of flushes)                      
block/004 => sda (run lots of flushes)                       [passed]
    runtime       ...  11.030s
    write iops    ...  101
"""
SKIPPED = """block/011 => sda (disable PCI device while doing I/O)        [not run]
    command setpci is not available
    /dev/sda is not a PCI device
"""
GROUP_SKIPPED = "throtl/***                                                   [not run]\n" \
    "    driver null_blk is not available\n"
FAILED = """block/017 (do I/O and check the inflight counter)            [failed]
    runtime    ...  3.1s
    --- tests/block/017.out	2026-01-01 00:00:00.000000000 +0000
    +++ /tmp/results/nodev/block/017.out.bad	2026-01-01 00:00:10.000000000 +0000
    @@ -1,5 +1,5 @@
     Running block/017
    -sysfs inflight reads 1
    +sysfs inflight reads 0
"""
CONDITIONS = """throtl/001 (nullb) (basic functionality)                     [failed]
    runtime    ...  5.1s
    --- tests/throtl/001.out
    +++ /tmp/results/nodev_nullb/throtl/001.out.bad
    -1
    +2
throtl/001 (sdebug) (basic functionality)                    [passed]
    runtime    ...  4.1s
"""
HALF_SKIPPED = """throtl/006 (nullb) (test if meta IO has higher priority)     [not run]
    driver ext4 is not available
throtl/006 (sdebug) (test if meta IO has higher priority)    [passed]
"""
DIED = "./check: line 12: oops\nKilled\n"
WARNING = "[   12.0] run blktests block/001\n[   13.0] WARNING: CPU: 0 PID: 1 at block/x.c:1\n" \
    "[   13.1] Call Trace:\n"
QUIET = "[   12.0] sd 0:0:0:0: [sda] tag#1 FAILED Result: hostbyte=DID_OK\n"

# name, what check printed, kernel's log, end, status, words of the reason
JUDGED = (
    ("a pass", PASSED, QUIET, 0, "pass", ""),
    ("a pass on a disk, with figures", ON_DISK, "", 0, "pass", ""),
    ("not run, with all its reasons", SKIPPED, "", 0, "skip",
     "command setpci is not available; /dev/sda is not a PCI device"),
    ("a group that is not run", GROUP_SKIPPED, "", 0, "skip", "driver null_blk is not available"),
    ("a failure, by the lines that differ", FAILED, "", 0, "fail",
     "-sysfs inflight reads 1; +sysfs inflight reads 0"),
    ("a failure in one of two conditions", CONDITIONS, "", 0, "fail", "-1; +2"),
    ("a pass in one of two conditions", HALF_SKIPPED, "", 0, "pass", ""),
    ("a pass with a report in the kernel's log", PASSED, WARNING, 0, "fail",
     "kernel log: WARNING: [   13.0] WARNING: CPU: 0 PID: 1 at block/x.c:1"),
    ("no result", DIED, "", 0, "fail", "no result: ./check: line 12: oops; Killed"),
    ("nothing printed", "", "", 0, "fail", "no result: "),
    ("ended by us", PASSED.split("[")[0], "", 1, "fail", "no end in time"),
    ("cannot be ended", "", "", 2, "fail", "no end in time, and it cannot be killed"),
    ("no device", "device null_blk cannot be made", "", 3, "fail",
     "device null_blk cannot be made"),
)

P, F, S, N = "P", "F", "S", "N"
# attempts with control, freeblock, with a scan; what the row says; broken; the reason
VERDICTS = (
    ("passes everywhere", "P", "P", "P", "pass pass pass", False, ""),
    ("fails under both", "FFF", "FFF", "FFF", "fail fail fail", False, "fails under both: why F"),
    ("is run nowhere", "S", "", "", "skip skip skip", False, "why S"),
    ("fails with freeblock", "PPP", "FFF", "FFF", "pass fail fail", True,
     "freeblock: why F; with_scan: why F"),
    ("fails beside a scan", "PPP", "PPP", "FFF", "pass pass fail", True, "with_scan: why F"),
    ("is flaky under both", "PFP", "FPP", "PPF", "flaky flaky flaky", False,
     "flaky under both: why F; passed control 2 of 3, freeblock 2 of 3, with_scan 2 of 3"),
    ("is flaky with freeblock only", "PPP", "PFP", "PPP", "pass flaky pass", True,
     "freeblock: why F; passed control 3 of 3, freeblock 2 of 3, with_scan 3 of 3"),
    ("is flaky with control, never passes with freeblock", "PFF", "FFF", "PPP",
     "flaky fail pass", True,
     "freeblock: why F; passed control 1 of 3, freeblock 0 of 3, with_scan 3 of 3"),
    ("is better with freeblock", "FFF", "PPP", "PPP", "fail pass pass", False,
     "fails under mq-deadline only: why F"),
    ("is not run with freeblock", "P", "S", "P", "pass skip pass", True,
     "freeblock: not run: why S"),
    ("passes beside a scan that stands still", "P", "P", "N", "pass pass pass", False, "no scan"),
    ("was not come to", "P", "P", "", "pass pass -", False, "not run yet: with_scan"),
)


def attempts(letters):
    kinds = {P: "pass", F: "fail", S: "skip", N: "pass"}
    why = {P: "", F: "why F", S: "why S", N: "no scan"}
    return [Attempt(kinds[letter], why[letter], 1.0)
            for letter in letters]


def by_mode(*letters):
    return dict(zip(verdict.MODES, map(attempts, letters)))


def judged():
    problems = []
    for name, text, log, ended, status, reason in JUDGED:
        got = verdict.judge(text, log, ended)
        if (got.status, got.reason) != (status, reason):
            problems.append("%s: %s" % (name, got))
    return problems


def verdicts():
    problems = []
    for name, control, ours, scan, said, broken, reason in VERDICTS:
        got = verdict.row("block/001", "own", by_mode(control, ours, scan))
        if " ".join(got[2:5]) != said or got.broken != broken or got.reason != reason:
            problems.append("%s: %s" % (name, got))
    return problems


def repeats():
    """What is run again, and until when."""
    everywhere = list(verdict.MODES)
    wanted = (("P", "P", "P", []), ("S", "S", "S", []), ("P", "F", "P", everywhere),
              ("F", "P", "P", everywhere), ("PP", "FFF", "PPP", ["control"]),
              ("P", "S", "F", ["control", "with_scan"]), ("PPP", "FFF", "PPF", []))
    return ["%s: %s" % (case, verdict.wants_more(by_mode(*case[:3]))) for case in wanted
            if verdict.wants_more(by_mode(*case[:3])) != case[3]]


# --- guests that are made up ---

GUEST = """#!/bin/sh
echo "bt begin own block/001"
echo "bt out block/001 (x) [passed]"
echo "bt end own block/001 0"
echo "bt begin simulated block/002"
%s
"""


def run_module():
    loader = importlib.machinery.SourceFileLoader("run", os.path.join(BLKTESTS, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


def guests():
    """An id is found to have stopped its guest; the others are left for the next one."""
    problems = []
    run = run_module()
    run.SILENCE_S = 1
    plan = [("block/001", "own"), ("block/002", "simulated"), ("block/003", "own")]
    for what, last, reason in (
            ("crashes", "", "it crashed"), ("hangs", "sleep 600", "silent for"),
            ("calls what there is not",
             "echo '/lab/script: 9: keep: not found'; echo bt end simulated block/002 0", "keep")):
        with tempfile.TemporaryDirectory() as folder:
            run.LAB = os.path.join(folder, "lab")
            with open(run.LAB, "w") as file:
                file.write(GUEST % last)
            os.chmod(run.LAB, stat.S_IRWXU)
            args = types.SimpleNamespace(out=folder, build=folder, root="", through="", scale=0.1)
            boot = run.Boot(args, "control", "real", plan, 1)
            found = list(boot.run())
            if [item[:2] for item in found] != plan[:2] or boot.left != plan[2:] or \
                    [item[2].status for item in found] != ["pass", "fail"] or \
                    reason not in found[1][2].reason:
                problems.append("one that %s: %s, left %s" % (what, found, boot.left))
            results = run.Results(folder, dict.fromkeys(verdict.MODES, "key"))
            for ident, device, attempt in found:
                results.add("control", ident, device, attempt)
            runner = run.Runner(args, plan[1:], run.Results(folder, results.keys))
            wanted = runner.wanted(["control"], False)
            if wanted != {("control", "real"): [("block/003", "own")]}:
                problems.append("after one that %s, wanted: %s" % (what, wanted))
            results.add("control", "block/003", "own", Attempt("skip", "why", 1.0))
            wanted = runner.wanted(["freeblock"], False)
            if wanted != {("freeblock", "icount"): [("block/002", "simulated")]}:
                problems.append("with freeblock, wanted: %s" % wanted)
    return problems


def suites():
    """A suite that somebody names and that is none is an error, not "skipped"."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("none", "text", "empty")]
        with open(paths[1], "w") as file:
            file.write("no archive")
        with tarfile.open(paths[2], "w:gz"):
            pass
        for path in paths:
            try:
                problems.append("%s: %s" % (path, root.suite(path, folder)))
            except OSError as error:
                if path not in str(error):
                    problems.append("%s: %s" % (path, error))
    return problems


report("results of one id", judged())
report("verdicts", verdicts())
report("what is run again", repeats())
report("guests that stop, and what goes on", guests())
report("suites that are none", suites())
treetest.finish()
