# SPDX-License-Identifier: GPL-2.0
"""Results of earlier runs that hold as long as nothing a test reads has changed.

A test's key is a digest of its command, of the machine's packages and kernels, and of the files of
the tree that it may read: all of them, but for those that EXCEPT names for its kind. A file that
nobody thought of so makes a test run once too often, and never once too seldom. Only a test that
passed is kept, and only if make has made what tests use of the tree that they ran in. What is a
draw (fuzzing, guests with a real clock) is run each time.
"""

import fnmatch
import hashlib
import json
import os
import re
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Results of one test that are kept: those of so many states of the tree
STATES = 8
# A test of a kind reads none of these, unless its own file names the word behind the pattern, or
# says what it reads ("# reads: *": all)
_TEXTS = {"Documentation/*": "Documentation|rst", "*.md": "README", "debian/*": "debian"}
_OTHERS = {"tests/%s/*" % name: name for name in
           ("install", "blktests", "mutants", "coverage")}
_FUZZ = {"tests/fuzz/*": "fuzz"}
_LAB = {"tests/lab/[bst]-*.sh": "", "tests/lab/test_*.py": ""}
# a pattern's * takes a / too: "tests/*.py" would be all of the lab
_RUNNER = {"tests/changed.py": "", "tests/check-test.py": "", "tests/kept.py": ""}
_PRODUCT = "lab-freeblock|lab-python|lab-runner"
EXCEPT = {
    "lab": {**_TEXTS, **_OTHERS, **_FUZZ, **_LAB, **_RUNNER, "tests/python/*": "tests/python",
            "tests/unit/*": "unit", "tools/cli/*": _PRODUCT, "bench/*": _PRODUCT,
            "tools/examples/*": "array_scrub|examples|rst"},
    "unit": {**_TEXTS, **_OTHERS, **_FUZZ, **_LAB, **_RUNNER, "tests/python/*": "",
             "tools/cli/*": "", "bench/*": ""},
    "python": {**_OTHERS, **_FUZZ, "tests/lab/[bst]-*.sh": "tests/lab|LAB",
               "tests/lab/test_*.py": "", "tests/unit/*": "unit",
               "tests/python/test_*.py": "tests/python|(import|from) test_"},
}
# Of the environment: what tests, and what makes and runs them, take from it
VARIABLES = re.compile(r"LAB_|SEEDS$|RATES$|FREEBLOCK_(?!BUILD$)|(?!M)\w*FLAGS$|CC$|KDIR$|"
                       r"INSTRUMENT$|\w*SAN_OPTIONS$|PATH$|PY|TZ$|LANG|LC_|FB_")
# Of the cache's own folders: the kernels that guests boot
KERNELS = ("stock-*", "debug-*", "kernel-*")


def cache():
    """The folder of what outlives a checkout."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                        "freeblock")


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def tree():
    """{path: digest} of what git knows, and of what it would add; None without git."""
    done = subprocess.run(["git", "ls-files", "-cosz", "--exclude-standard"], cwd=TOP, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode:
        return None
    found = {}
    for entry in sorted(set(done.stdout.split("\0"))):
        path = entry.rpartition("\t")[2]
        whole = os.path.join(TOP, path)
        if os.path.islink(whole):
            found[path] = os.readlink(whole)
        elif os.path.isfile(whole):
            found[path] = "%o %s" % (os.stat(whole).st_mode & 0o111, _digest(whole))
    return found


def ask(path):
    """Note the tree, of which make now makes what tests use."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tree(), file)


def asked(path):
    """The tree that ask() has noted; None: it has not."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def machine():
    """What tests depend on beside the tree: packages, kernels, data that lie beside the project,
    the environment."""
    said = [_digest("/var/lib/dpkg/status") if os.path.exists("/var/lib/dpkg/status") else ""]
    if os.path.isdir(cache()):
        said += sorted(name for name in os.listdir(cache())
                       if any(fnmatch.fnmatch(name, kernel) for kernel in KERNELS))
    for here, _, files in sorted(os.walk(os.path.join(os.path.dirname(TOP), "shared"))):
        for name in sorted(files):
            info = os.stat(os.path.join(here, name))
            said.append("%s %d %d" % (os.path.join(here, name), info.st_size, info.st_mtime))
    said += ["%s=%s" % item for item in sorted(os.environ.items()) if VARIABLES.match(item[0])]
    return "\n".join(said)


def _matches(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


class Results:
    """What is kept of all tests. A test here is what tests/check calls one: it has a name, a
    command, a file of its own (own: a path in the tree, or None), and may be a draw."""

    def __init__(self, folder=None, made=None):
        """made: the tree() before make made what tests use of it; None: nobody has made it."""
        self.folder = folder or os.path.join(cache(), "checked")
        self.tree, self.made = tree(), made
        self.machine = machine()

    def key(self, test, files):
        """Of a test, with the tree's files."""
        text = ""
        if test.own:
            with open(os.path.join(TOP, test.own), encoding="utf-8") as file:
                text = file.read()
        reads = re.search(r"^# reads: (.*)", text, re.MULTILINE)
        read = [test.own, "tests/check", "tests/*.py", *reads[1].split()] if reads else ["*"]
        left_out = [pattern for pattern, word in EXCEPT.get(test.name.split()[0], {}).items()
                    if not reads and not (word and re.search(word, text))]
        said = [test.name, self.machine, *(word.replace(TOP, "") for word in test.command)]
        said += ["%s %s" % (path, digest) for path, digest in files.items()
                 if path == test.own or _matches(path, read) and not _matches(path, left_out)]
        return hashlib.sha256("\n".join(said).encode()).hexdigest()

    def _path(self, test):
        return os.path.join(self.folder, re.sub(r"[^\w.-]+", "-", test.name) + ".json")

    def _read(self, test):
        try:
            with open(self._path(test), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def of(self, test):
        """What holds of it: {"passed", "missed", "seconds", "day"}; or None."""
        if test.draw or self.tree is None:
            return None
        return self._read(test).get(self.key(test, self.tree))

    def add(self, test, counted, seconds):
        """Keep how it went, for the next run, unless somebody has changed what it reads since make
        began. Two runs at once: the result of one of them is kept."""
        if test.draw or None in (self.tree, self.made) or counted.failed or counted.skipped:
            return
        key = self.key(test, self.tree)
        if {key} != {self.key(test, files) for files in (self.made, tree())}:
            return
        found = self._read(test)
        found.pop(key, None)
        found[key] = {"passed": counted.passed, "missed": counted.missed,
                      "seconds": round(seconds), "day": time.strftime("%Y-%m-%d")}
        os.makedirs(self.folder, exist_ok=True)
        new = "%s.%d" % (self._path(test), os.getpid())
        with open(new, "w", encoding="utf-8") as file:
            json.dump(dict(list(found.items())[-STATES:]), file, indent=1)
            file.write("\n")
        os.rename(new, self._path(test))
