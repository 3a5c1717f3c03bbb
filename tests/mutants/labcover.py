# SPDX-License-Identifier: GPL-2.0
"""Which branches of the module do the lab's scripts take? Runs them with the modules that
tools/build/build-modules stock-gcov has built."""

import glob
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import unitrun

LAB = os.path.join(unitrun.TOP, "tests", "lab")
# Macros of the kernel whose branches are not the source's: assertions, waiting, bits (a number
# known when compiled, or not), messages that are thinned out
MACROS = re.compile(
    r"\b(?:lockdep_\w+|(?:VM_)?WARN_ON(?:_ONCE)?|BUG_ON|wait_event\w*|\w+_ratelimited"
    r"|rcu_dereference\w*|_*(?:set|clear|test|change|test_and_\w+)_bit|hweight\w+|__ffs|__fls"
    r"|FB_COMPAT_\w+|WRITE_ONCE|READ_ONCE\(\*per_cpu)\(")
# What tracepoints are made of
NOT_SOURCE = re.compile(r"disk/trace_events\.h")


def objects_folder(build):
    """Where the module was built; None if it was not."""
    found = glob.glob(os.path.join(build, "kernel-*-gcov", "freeblock"))
    return max(found, key=os.path.getmtime, default=None)


def key_of(script, objects):
    """A sum of what a run depends on: the kernel is in the modules' version magic."""
    total = hashlib.sha256()
    folders = [os.path.join(LAB, name) for name in ("guest", "files", "modules")] + \
        [os.path.join(unitrun.TOP, name) for name in ("models", "tools/mechdisk/drives")]
    paths = [os.path.join(LAB, script + ".sh"),
             *glob.glob(os.path.join(objects, "..", "*", "*.ko"))]
    for folder in folders:
        paths += glob.glob(os.path.join(folder, "*"))
    for path in sorted(filter(os.path.isfile, paths)):
        with open(path, "rb") as file:
            total.update(os.path.basename(path).encode() + file.read())
    return total.hexdigest()


def ran(out, script):
    """The result of the run in this folder."""
    try:
        with open(os.path.join(out, "result.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        raise unitrun.Broken("%s came to no result, see %s" % (script, out)) from None


def way_of(script):
    """Its clock and CPUs with the stock kernel, as options of the lab's; none: the lab's own."""
    with open(os.path.join(LAB, script + ".sh"), encoding="utf-8") as file:
        way = re.search(r"^# lab: kernel=stock clock=(\w+) smp=(\d+)", file.read(), re.M)
    return ["--clock", way[1], "--smp", way[2]] if way else []


def run(script, build, through, objects):
    """Run it, unless it ran well with the same; the folder with what it took, its result."""
    out = os.path.join(build, "coverage", "lab", script)
    stamp = os.path.join(out, "key")
    key = key_of(script, objects)
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == key:
                return out, ran(out, script)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    began = time.monotonic()
    with open(os.path.join(out, "log"), "w", encoding="utf-8") as log:
        subprocess.run(shlex.split(through) +
                       [os.path.join(LAB, "lab"), os.path.join(LAB, script + ".sh"),
                        "--gcov", "--timeout", "1200", "--out", out, "--build", build,
                        *way_of(script)],
                       stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                       check=False)
    result = ran(out, script)
    if not os.path.isdir(os.path.join(out, "files", "gcov")):
        raise unitrun.Broken("%s brought no branches back, see %s" % (script, out))
    if not result["problems"]:
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(key)
    print("coverage: %s: %d s" % (script, time.monotonic() - began), file=sys.stderr, flush=True)
    return out, result


def trace(out, objects):
    """gcovr's report on one run; its path."""
    folder, path = os.path.join(out, "objects"), os.path.join(out, "trace.json")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(out, "files", "gcov"), folder)
    for data in glob.glob(os.path.join(folder, "**", "*.gcda"), recursive=True):
        note = os.path.relpath(data, folder)[:-len("gcda")] + "gcno"
        os.symlink(os.path.join(objects, note), os.path.join(folder, note))
    unitrun.report(folder, "--object-directory", folder, folder, "--json", path, root=objects)
    shutil.rmtree(folder)
    return path


class Lines:
    """Of each line of each file how often it was executed, and each of its branches."""

    def __init__(self):
        self.files = {}
        self.left_out = {}

    def add(self, path, top=None):
        """Add gcovr's report. With @top, the source's folder, branches that macros make are left
        out."""
        with open(path, encoding="utf-8") as file:
            report = json.load(file)["files"]
        for one in report:
            name = one["file"]
            if NOT_SOURCE.match(name):
                continue
            text = []
            if top:
                with open(os.path.join(top, name), encoding="utf-8") as file:
                    text = file.read().split("\n")
            lines = self.files.setdefault(name, {})
            self.left_out[name] = 0
            for line in one["lines"]:
                branches = [branch["count"] for branch in line["branches"]]
                if text and branches and MACROS.search(text[line["line_number"] - 1]):
                    self.left_out[name] += len(branches)
                    branches = []
                count, before = lines.get(line["line_number"], (0, [0] * len(branches)))
                lines[line["line_number"]] = (
                    count + line["count"], [a + b for a, b in zip(before, branches)])

    def taken(self):
        """How many branches."""
        return sum(bool(count) for lines in self.files.values()
                   for _, counts in lines.values() for count in counts)

    def support(self, other):
        """What the other, of another compiler's build, knows of files that are here: a line
        with all of its branches taken there, as many as here at least, is taken here."""
        for name, lines in self.files.items():
            for number, (count, branches) in lines.items():
                theirs = other.files.get(name, {}).get(number, (0, []))[1]
                if all(theirs) and len(theirs) >= len(branches) > 0:
                    lines[number] = (count, [max(one, 1) for one in branches])

    def summary(self, name):
        """Of one file, for people and programs."""
        lines = self.files[name]
        branches = [count for _, counts in lines.values() for count in counts]
        taken = sum(map(bool, branches))
        return {"file": name, "branches": len(branches), "taken": taken,
                "percent": round(100 * taken / len(branches), 1) if branches else None,
                "lines_percent": round(100 * sum(bool(count) for count, _ in lines.values()) /
                                       max(len(lines), 1), 1),
                "left_out": self.left_out[name],
                "not_taken_at": sorted(number for number, (_, counts) in lines.items()
                                       if not all(counts))}
