#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Instructions of the core, counted by valgrind: choices and searches, each call apart.

    make -C tests/unit/count count [BUILD=dir] [COUNT_ONLY=regex]

On a processor that does one instruction per ns, 1000 are a microsecond. Prints a table;
writes the same to BUILD/bench/count.json."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
POLICIES = ("clook", "sstf", "sptf", "sptf-sw", "auto")
DRIVES = ("atlas10k", "nearline16", "nearline24")
# Search budgets: steps, and steps for one of several pieces; 0: the paper's limits, else
# all lifted.
BUDGET = {"paper": (200, 0), "paper-short": (50, 0), "lifted": (400, 60),
          "lifted-short": (50, 15)}


def cases():
    """(name, arguments of count[, what is counted of it])"""
    for cylinders in (0, 40):
        for policy in POLICIES[1 if cylinders else 0:]:
            yield ("choose %s %s" % (policy, "near" if cylinders else "all over"),
                   ["choose", "models/atlas10k.fbmodel", policy, str(cylinders)])
        for price in (3, 7):
            for what in ("round", "rank", "onward", "shadow", "begin"):
                yield ("joint %s %d %s" % (what, price, "near" if cylinders else "all over"),
                       ["rank", "models/atlas10k.fbmodel", str(price), str(cylinders)], what)
    for drive in DRIVES:
        model = "models/%s.fbmodel" % drive
        for limits, budget in BUDGET.items():
            for done, where in ((0, "random"), (50, "random"), (95, "random"), (99, "random"),
                                (50, "edge"), (95, "edge"), (99, "edge")):
                yield ("search %s %s %d %s" % (drive, limits, done, where),
                       ["search", model, str(done), where, *map(str, budget)])


def totals(folder):
    """Instructions of each call: a file is written before and after it."""
    found = []
    for path in glob.glob(os.path.join(folder, "out*")):
        with open(path, encoding="ascii", errors="replace") as file:
            match = re.search(r"^desc: Trigger: --dump-after=.*?^(?:summary|totals): (\d+)$",
                              file.read(), re.M | re.S)
        if match:
            found.append(int(match.group(1)))
    return sorted(found)


def run(program, args, what=None):
    """One case: (instructions of each call, ascending; what the program says)"""
    call = "count_" + (what or {"search": "search", "choose": "choice"}[args[0]])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--dump-before=" + call,
             "--dump-after=" + call, "--callgrind-out-file=" + os.path.join(folder, "out"),
             program] + args, cwd=TOP, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            sys.exit("count: %s: %s" % (" ".join(args), done.stderr.strip()))
        return totals(folder), json.loads(done.stdout or "{}")


def figures(name, counts, said):
    """A row of the table."""
    def quantile(q):
        return counts[min(len(counts) - 1, int(q * len(counts)))]
    return dict(said, name=name, calls=len(counts), mean=round(sum(counts) / len(counts)),
                p50=quantile(.5), p99=quantile(.99), most=counts[-1])


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False,
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="regular expression: cases to run")
    parser.add_argument("--json", help="file to write")
    args = parser.parse_args()
    rows = []
    print("%-36s %8s %8s %8s %8s %6s %7s" % ("instructions", "mean", "median", "p99", "most",
                                             "steps", "KiB"))
    for name, *words in cases():
        if not re.search(args.only, name):
            continue
        row = figures(name, *run(args.program, *words))
        rows.append(row)
        print("%-36s %8d %8d %8d %8d" % (name, row["mean"], row["p50"], row["p99"], row["most"]) +
              (" %6.1f %7.1f" % (row["steps"], row["kib"]) if "steps" in row else ""), flush=True)
    if args.json:
        os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
        with open(args.json, "w", encoding="ascii") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
