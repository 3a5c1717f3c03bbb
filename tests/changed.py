# SPDX-License-Identifier: GPL-2.0
"""Which tests of tests/check a change touches: what ``make quick`` runs."""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
# Folders whose units have a test of their own
UNITS = (("tools/mechdisk/", "unit mechdisk"), ("tools/lib/", "unit lib"),
         ("tools/examples/array_scrub", "unit array_scrub"))
# Parts of tools/build/check-style that take seconds
STYLE = "words sizes python imports shell checkpatch kernel-doc"
# More single programs of tests/unit than that are all of them
SINGLE = 8


def files(base):
    """What differs from a commit, files that git does not know included."""
    said = ""
    for command in (("diff", "--name-only", "--diff-filter=d", base, "--"),
                    ("ls-files", "--others", "--exclude-standard")):
        said += subprocess.run(["git", *command], cwd=TOP, check=True, text=True,
                               stdout=subprocess.PIPE).stdout
    return sorted(set(said.splitlines()))


def _users(folder, pattern):
    """The test_* files of a folder of tests in which a pattern is found: their names."""
    found = []
    for name in sorted(os.listdir(os.path.join(HERE, folder))):
        if name.startswith("test_") and name.endswith((".c", ".py")):
            with open(os.path.join(HERE, folder, name), encoding="utf-8") as file:
                if re.search(pattern, file.read(), re.MULTILINE):
                    found.append(name.rsplit(".", 1)[0])
    return found


def _of_c(path):
    for folder, test in UNITS:
        if path.startswith((folder, "tests/unit/" + test.split()[1])):
            return [test]
    stem = os.path.splitext(path)[0]
    if path.startswith("tests/unit/test_"):
        return ["unit " + os.path.basename(stem)]
    if not path.startswith(("core/", "disk_model", "fb_bitmap")):
        return []
    # a file of core/engine has the header of them all
    header = stem if os.path.exists(os.path.join(TOP, stem + ".h")) else os.path.dirname(stem) + "/"
    return ["unit " + name for name in
            _users("unit", '^#include "%s[^"]*h"' % re.escape(header))] or ["unit core"]


def _of_python(path):
    name = os.path.splitext(os.path.basename(path.replace("/__init__", "")))[0]
    for folder, kind in (("tests/python/test_", "python "), ("tests/lab/test_", "self ")):
        if path.startswith(folder):
            return [kind + name[len("test_"):]]
    # each command's help and messages
    commands = ["python commands"] if path.startswith("tools/cli/freeblock/commands/") else []
    return commands + ["python " + user[len("test_"):] for user in
                       _users("python", r"^\s*(from|import)\b.*\b%s\b" % re.escape(name))]


def tests(base):
    """Names of the tests that a change since a commit touches; of the last commit's change, if
    there is no other."""
    names = {"style"}
    for path in files(base) or files(base + "~1"):
        if path.endswith((".c", ".h")):
            names.update(_of_c(path))
        elif path.endswith(".py"):
            names.update(_of_python(path))
        elif path == "tests/check":
            names.add("self check")
        elif path == "README.md" or path.startswith("Documentation/"):
            names.add("self documents")
    if sum(name.startswith("unit test_") for name in names) > SINGLE:
        names = {name for name in names if not name.startswith("unit test_")} | {"unit core"}
    return names
