# SPDX-License-Identifier: GPL-2.0
"""What the tests of the tree's own files share: reading a file or a program, and lines of TAP."""

import importlib.machinery
import importlib.util
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(TOP, "tools", "cli"), TOP]

count = failed = 0


def report(name, problems):
    """One line of TAP."""
    global count, failed
    count += 1
    failed += bool(problems)
    print("not ok %s - %s" % (name, "; ".join(problems).replace("\n", " ")) if problems
          else "ok " + name, flush=True)


def check(name, good, why=""):
    """The same, of what is good or not."""
    report(name, [] if good else [str(why)])


def program(path):
    """A program of the tree, whose file has no suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader(
        os.path.basename(path).replace("-", "_"), os.path.join(TOP, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def read(path):
    """A file of the tree."""
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def finish():
    """The plan, and the status."""
    print("1..%d" % count)
    sys.exit(1 if failed else 0)
