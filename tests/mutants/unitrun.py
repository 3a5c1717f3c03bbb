# SPDX-License-Identifier: GPL-2.0
"""The core's unit tests as single programs: their make's commands, and what each one executes.

Build folders are made by tests/unit/Makefile; what is said here is only what it would do.
"""

import glob
import json
import os
import shlex
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UNIT = os.path.join(TOP, "tests", "unit")
COVERAGE = "--coverage -O0"


class Broken(Exception):
    """The tests cannot be built, or fail as they are: no verdict."""


def write_json(path, data):
    """All or nothing."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def make(build, *words):
    """Run the tests' make; what it said."""
    done = subprocess.run(["make", "--no-print-directory", "-j2", "-C", UNIT, "BUILD=" + build,
                           "WERROR=", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode:
        raise Broken("the unit tests cannot be built: " + done.stdout[-800:])
    return done.stdout


def environment():
    """Where the tests find models."""
    return dict(os.environ, FB_ROOT=TOP)


class Commands:
    """What make does: compiles[object name] and links[program name], lists of words."""

    def __init__(self, build, *words):
        make(build, *words)
        self.compiles, self.links = {}, {}
        for line in make(build, "-n", "-B", *words).splitlines():
            words = shlex.split(line)
            if "-o" not in words:
                continue
            made = os.path.basename(words[words.index("-o") + 1])
            (self.compiles if "-c" in words else self.links)[made] = words


def programs(build):
    """The tests' names, sorted."""
    return sorted(os.path.basename(path)[:-2]
                  for path in glob.glob(os.path.join(build, "unit", "test_*.o")))


def report(build, *words):
    """Run gcovr on the files that the core is made of."""
    done = subprocess.run(["gcovr", "--root", TOP, "--filter", TOP + "/core/",
                           "--filter", TOP + r"/\w+\.[ch]$", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, cwd=build)
    if done.returncode:
        raise Broken("gcovr: " + done.stdout[-800:])
    return done.stdout


def trace(build):
    """Build with gcov, run each test alone: path of the report on each, by name."""
    make(build, "INSTRUMENT=" + COVERAGE, "all")
    objects, traces = os.path.join(build, "unit"), {}
    for name in programs(build):
        for path in glob.glob(os.path.join(objects, "*.gcda")):
            os.unlink(path)
        done = subprocess.run([os.path.join(objects, name)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, env=environment())
        if done.returncode:
            raise Broken("%s fails as it is" % name)
        traces[name] = os.path.join(build, "by-test", name + ".json")
        os.makedirs(os.path.dirname(traces[name]), exist_ok=True)
        report(build, "--object-directory", objects, objects, "--json", traces[name])
    return traces
