#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does make coverage add up right? What gcovr says of two runs, and of two compilers' builds of one
file. Prints TAP.

Seen to fail with: a line of the other build that is taken in part, or has fewer branches, counted
as taken; branches of macros counted; the second run's counts in place of the sum.
"""

import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "mutants"))
sys.dont_write_bytecode = True

import labcover  # noqa: E402

SOURCE = """\
if (a && b)
	lockdep_assert_held(&c->lock);
WARN_ON_ONCE(d);
while (e)
	set_bit(f, g);
"""
count = failed = 0


def check(name, good, why=""):
    global count, failed
    count += 1
    failed += not good
    print("ok " + name if good else "not ok %s - %s" % (name, why))


def report(folder, name, lines, path="disk/x.c"):
    """A report of gcovr's: {line: (count, branches' counts)}."""
    where = os.path.join(folder, name)
    with open(where, "w", encoding="utf-8") as file:
        json.dump({"files": [{"file": path, "lines": [
            {"line_number": number, "count": times, "branches": [{"count": n} for n in branches]}
            for number, (times, branches) in lines.items()]}]}, file)
    return where


with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "disk"))
    with open(os.path.join(folder, "disk", "x.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    first = report(folder, "first", {1: (5, [5, 0, 0, 5]), 2: (5, [0, 5]), 3: (5, [0, 5]),
                                     4: (1, [1, 0])})
    second = report(folder, "second", {1: (2, [0, 2, 0, 0]), 2: (0, [0, 0]), 3: (0, [0, 0]),
                                       4: (0, [0, 0])})
    lab = labcover.Lines()
    lab.add(first, folder)
    lab.add(second, folder)
    got = lab.summary("disk/x.c")
    check("two runs are added", (got["branches"], got["taken"]) == (6, 4), got)
    check("lines that are not taken in full are named", got["not_taken_at"] == [1, 4], got)
    check("branches of the kernel's macros are left out, and counted", got["left_out"] == 4, got)
    check("lines", got["lines_percent"] == 100, got)
    check("how many are taken", lab.taken() == 4, lab.taken())

    for name, lines, taken in (
            ("a line taken in full elsewhere is taken", {1: (9, [1, 1, 1, 1])}, 4),
            ("one with more branches there, too", {1: (9, [1, 1, 1, 1, 1, 1])}, 4),
            ("one taken in part there is not", {1: (9, [1, 1, 1, 0])}, 2),
            ("one with fewer branches there is not", {1: (9, [1, 1])}, 2),
            ("one without branches there is not", {1: (9, [])}, 2)):
        unit, other = labcover.Lines(), labcover.Lines()
        unit.add(report(folder, "unit", {1: (5, [5, 0, 0, 5])}))
        other.add(report(folder, "other", lines), None)
        unit.support(other)
        check(name, unit.summary("disk/x.c")["taken"] == taken, unit.summary("disk/x.c"))

    none = labcover.Lines()
    none.add(report(folder, "trace", {1: (1, [1, 0])}, "disk/trace_events.h"))
    check("tracepoints are no source", not none.files, none.files)
print("1..%d" % count)
sys.exit(1 if failed else 0)
