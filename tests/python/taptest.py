# SPDX-License-Identifier: GPL-2.0
"""unittest that speaks TAP, as tests/check wants it, and what tests here share."""

import contextlib
import fcntl
import importlib
import io
import os
import re
import signal
import subprocess
import sys
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")


def build():
    """Compile vectors_model and vectors_drive. Tests run side by side: one at a
    time. Ends the script if that fails."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "tools.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        failed = subprocess.run(["make", "-s", "--no-print-directory", "-C", HERE,
                                 "BUILD=" + BUILD], check=False).returncode
    if failed:
        print("not ok the programs do not compile\n1..1")
        sys.exit(1)


def build_library():
    """libfreeblock, and the made-up module for LD_PRELOAD, whose path is returned."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "lib.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for folder, target in (("tests/unit/lib", "fake"), ("tools/lib", "all")):
            subprocess.run(["make", "-s", "--no-print-directory", "-C", os.path.join(TOP, folder),
                            "BUILD=" + BUILD, target], check=True)
    return os.path.join(BUILD, "unit-lib", "fake.so")


def vectors(kind, *args, given=None):
    """Run vectors_KIND; its exit status and what it said."""
    done = subprocess.run([os.path.join(BUILD, "tools", "vectors_" + kind), *args], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=given,
                          check=False)
    return done.returncode, done.stdout


def _main(package, words):
    """Exit status, output and errors of a command whose command line this package has."""
    sys.path[:0] = [os.path.join(TOP, "tools", "python"), os.path.join(TOP, "tools")]
    cli = importlib.import_module(package + ".cli")
    del sys.path[:2]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(list(words))
    return status, out.getvalue(), err.getvalue()


def freeblock(*words):
    """Exit status, output and errors of tools/freeblock with these words, run in this
    process: what is patched counts."""
    return _main("freeblock", words)


def freeblock_lab(*words):
    """The same of tools/freeblock-lab."""
    return _main("research", words)


def status_of(said):
    """The exit status that belongs to a refusal: argparse's, if it is an option that is wrong."""
    return 2 if re.match(r"freeblock(?:-lab)?: (?:--|one of: )", said) else 1


class _Result(unittest.TestResult):
    """Prints a line for each test; a test's subtests count as one."""

    def __init__(self):
        super().__init__()
        self.broken = {}

    def say(self, word, test, more=""):
        """One TAP line."""
        print("%s %s%s" % (word, test.id().partition(".")[2], more), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.broken[test.id()] = False

    def _bad(self, test, error, more=""):
        self.broken[test.id()] = True
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print("# %s%s" % (more, line))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, err)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._bad(test, err, "%s: " % subtest.params)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        # a subtest's skip is its test's, which says one line
        test = getattr(test, "test_case", test)
        if self.broken.pop(test.id(), None) is not None:
            self.say("ok", test, " # SKIP " + reason)

    def stopTest(self, test):
        if test.id() in self.broken:
            self.say("not ok" if self.broken[test.id()] else "ok", test)
        super().stopTest(test)


def main():
    """Run the calling script's tests, or those its arguments name, with signals as in a
    terminal: under nohup, or in the background, tests of interrupts would wait for ever."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = unittest.TestLoader()
    module = sys.modules["__main__"]
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else \
        loader.loadTestsFromModule(module)
    result = _Result()
    suite.run(result)
    print("1..%d" % suite.countTestCases() if result.testsRun else "1..0")
    sys.exit(0 if result.wasSuccessful() else 1)
