# SPDX-License-Identifier: GPL-2.0
"""pytest that speaks TAP, as tests/check wants it, and what tests here share."""

import contextlib
import fcntl
import importlib.machinery
import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
from unittest import mock

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")


def program(name):
    """A program of the tree, whose file has no suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader(
        os.path.basename(name).replace("-", "_"), os.path.join(TOP, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def build():
    """Compile vectors_model and vectors_drive. Tests run side by side: one at a time."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "tools.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "--no-print-directory", "-C", HERE, "BUILD=" + BUILD],
                       check=True)


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
    hosts = importlib.import_module("freeblock.hosts")
    del sys.path[:2]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(
            hosts, "line_of_build", lambda: hosts.statusline.Line(quiet=True)):
        status = cli.main(list(words))
    return status, out.getvalue(), err.getvalue()


def freeblock(*words):
    """Exit status, output and errors of tools/freeblock with these words, run in this
    process: what is patched counts. The status is one that the command declares."""
    status, out, err = _main("freeblock", words)
    command = sys.modules.get("freeblock.%s" % words[0].replace("-", "_") if words else "")
    declared = {**sys.modules["freeblock"].STATUSES, **getattr(command, "STATUSES", {})}
    assert status in declared, (words, status)
    return status, out, err


def freeblock_lab(*words):
    """The same of tools/freeblock-lab."""
    return _main("research", words)


def status_of(said):
    """The exit status that belongs to a refusal: argparse's, if it is an option that is wrong."""
    return 2 if re.match(r"freeblock(?:-lab)?: (?:--|specify |\S+: (?:no such|not a) block device)",
                         said) else 1


def missed(why):
    """For a test of a promise that is known not to be kept: by how much. It is listed at the end of
    make check, which does not fail for it."""
    return pytest.mark.xfail(reason=why, raises=AssertionError)


def promise(what, value, most):
    """A figure of the documents' that is promised to be no more: it is printed in any case."""
    print("# %s: %.2f, %g at most" % (what, value, most), flush=True)
    assert value <= most, (what, value, most)


class _Tap:
    """A plugin of pytest: a line for each test; a test's subtests count as one."""

    def __init__(self):
        self.ended = self.failed = 0
        self.outcomes = {}

    @staticmethod
    @pytest.hookimpl
    def pytest_pycollect_makemodule(module_path, parent):
        """The calling script is not imported once more."""
        return _Script.from_parent(parent, path=module_path)

    def pytest_collectreport(self, report):
        """What cannot be collected is a failure."""
        if report.failed:
            self.say("not ok", "collecting %s" % report.nodeid, str(report.longrepr))

    def pytest_runtest_logreport(self, report):
        """A test has come through its set-up, itself, or what follows it."""
        kept = self.outcomes.setdefault(report.nodeid, {"failed": "", "skipped": "", "missed": ""})
        if report.failed:
            kept["failed"] += report.longreprtext + "\n"
        elif report.skipped and hasattr(report, "wasxfail"):
            kept["missed"] = report.wasxfail
        elif report.skipped:
            kept["skipped"] = report.longrepr[2].partition("Skipped: ")[2] or "skipped"

    def pytest_runtest_logfinish(self, nodeid):
        """It is over."""
        kept = self.outcomes.pop(nodeid)
        name = nodeid.partition("::")[2].replace("::", ".")
        if kept["failed"]:
            self.say("not ok", name, kept["failed"])
        elif kept["missed"]:
            self.say("not ok", "%s # MISSED %s" % (name, kept["missed"]), failed=False)
        else:
            self.say("ok", name + (" # SKIP " + kept["skipped"] if kept["skipped"] else ""))

    def say(self, word, name, why="", failed=True):
        """One TAP line, after what explains it; failed: whether "not ok" is a failure."""
        for line in why.splitlines():
            print("# " + line)
        print("%s %s" % (word, name), flush=True)
        self.ended += 1
        self.failed += word != "ok" and failed


class _Script(pytest.Module):
    """The calling script."""

    def _getobj(self):
        return sys.modules["__main__"]


def main():
    """Run the calling script's tests, or those its arguments name (Class.test), by pytest, with
    signals as in a terminal: under nohup, or in the background, tests of interrupts would wait
    for ever."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    script = os.path.abspath(sys.argv[0])
    names = ["%s::%s" % (script, name.replace(".", "::")) for name in sys.argv[1:]] or [script]
    tap = _Tap()
    # what tests print goes where it did; no files beside them, no settings from elsewhere
    status = pytest.main(["--capture=no", "-c", os.devnull, "--rootdir", HERE,
                          *(word for name in ("terminal", "cacheprovider", "faulthandler",
                                              "warnings", "unraisableexception", "threadexception")
                            for word in ("-p", "no:" + name)), *names], plugins=[tap])
    if status > pytest.ExitCode.TESTS_FAILED and not tap.failed and tap.ended:
        tap.say("not ok", "pytest", "it ended with %s" % status)
    print("1..%d" % tap.ended)
    sys.exit(0 if status == pytest.ExitCode.OK and not tap.failed else 1)
