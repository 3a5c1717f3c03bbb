#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Are the files in sysfs and debugfs that the tree names there? Each path of one, in whatever
file of the tree, has an entry in Documentation/ABI (which test_abi.py compares with the
module), and so has each value that the tools read. A second. Prints TAP.

Seen to fail: an entry left out; a tool that reads a counter of another name.
"""

import os
import re
import subprocess

import abi
import treetest
from treetest import TOP, report
from freeblock import fbstate
from freeblock.state import costs

DISK = "/sys/kernel/freeblock/<disk>/"
SCHED = "/sys/block/<disk>/queue/iosched/"
DEBUG = "/sys/kernel/debug/freeblock/<disk>/"
# How a folder is written: in documents and programs, and in the lab's scripts (guest/lib.sh)
FOLDERS = (
    (DISK, r"sys/kernel/freeblock/[^/\s]+/|\$\(fb [^\n)]*[)\"]+/"),
    (SCHED, r"queue/iosched/"),
    (DEBUG, r"sys/kernel/debug/freeblock/[^/\s]+/|\$\(debug [^\n)]*[)\"]+/"),
)
# what fuzzers found
INPUTS = "tests/fuzz/corpus/"


def files():
    """What git knows or would take, each once."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP, text=True,
                            check=True, stdout=subprocess.PIPE).stdout.splitlines()
    return [name for name in sorted(set(listed)) if not name.startswith(INPUTS) and
            os.path.isfile(os.path.join(TOP, name)) and
            not os.path.islink(os.path.join(TOP, name))]


def named(text):
    """The files that a text names: (line, path). What ends with / is a folder."""
    for number, line in enumerate(text.splitlines(), 1):
        for folder, pattern in FOLDERS:
            for found in re.finditer("(?:%s)([a-z_0-9]+(?:/[a-z_0-9]*)?)" % pattern, line):
                yield number, folder + found.group(1)


def missing(text, there):
    """Lines that name a file without an entry."""
    folders = {os.path.dirname(path) for path in there}
    return ["%d: %s" % (number, path) for number, path in named(text)
            if path not in there and path.rstrip("/") not in folders]


def values():
    """What the tools read of a disk."""
    return {DISK + path for path in fbstate.IDLE.values()} | \
        {DISK + "stats/" + key for key in costs.CAUSED} | \
        {DISK + "scan_stats/" + key for key in fbstate.JOB} | \
        {DISK + "state/" + key for key in fbstate.STATE}


def main():
    """All checks."""
    there = set(abi.files(abi.text()))
    numbers = {DISK + name for name in abi.numbers(abi.text())}
    report("there are entries", [] if len(there) > 50 else ["too few"])
    for name in files():
        with open(os.path.join(TOP, name), "rb") as file:
            found = missing(file.read().decode(errors="replace"), there)
        if found:
            report("%s names what is there" % name, found)
    report("the tools read what is there", sorted(values() - there - numbers))
    treetest.finish()


if __name__ == "__main__":
    main()
