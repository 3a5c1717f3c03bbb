# SPDX-License-Identifier: GPL-2.0
"""What the tests of the tree's own files share: reading a file, and lines of TAP."""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

count = failed = 0


def report(name, problems):
    """One line of TAP."""
    global count, failed
    count += 1
    failed += bool(problems)
    print("not ok %s - %s" % (name, "; ".join(problems)) if problems else "ok " + name, flush=True)


def read(path):
    """A file of the tree."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def finish():
    """The plan, and the status."""
    print("1..%d" % count)
    sys.exit(1 if failed else 0)
