# SPDX-License-Identifier: GPL-2.0
"""What tests here share."""

import contextlib
import fcntl
import importlib
import io
import os
import re
import subprocess
import sys
from unittest import mock

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")


def build():
    """Compile model_places. Tests run side by side: one at a time."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "tools.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "--no-print-directory", "-C", HERE, "BUILD=" + BUILD],
                       check=True)


def build_library():
    """libfreeblock, and the made-up module for LD_PRELOAD, whose path is returned."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, "tools-lib.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for folder, target in (("tests/unit/lib", "fake"), ("tools/lib", "all")):
            subprocess.run(["make", "-s", "--no-print-directory", "-C", os.path.join(TOP, folder),
                            "BUILD=" + BUILD, target], check=True)
    return os.path.join(BUILD, "unit-lib", "fake.so")


def model_places(path, what, given):
    """What the scheduler makes of a model: exit status, and lines for "lbns" or "moves"."""
    done = subprocess.run([os.path.join(BUILD, "tools", "model_places"), path, what], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          input="\n".join(map(str, given)))
    return done.returncode, done.stdout


def built_silently():
    """A context in which commands say nothing of what they build."""
    helpers = importlib.import_module("freeblock.base.helpers")
    return mock.patch.object(helpers, "line_of_build",
                             lambda: helpers.statusline.Line(quiet=True))


def _main(package, words):
    """Exit status, output and errors of a command whose command line this package has."""
    cli = importlib.import_module(package + ".cli")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), built_silently():
        status = cli.main(list(words))
    return status, out.getvalue(), err.getvalue()


def freeblock(*words):
    """Exit status, output and errors of tools/freeblock with these words, run in this
    process: what is patched counts. The status is one that the command declares."""
    status, out, err = _main("freeblock", words)
    command = sys.modules.get("freeblock.commands.%s" % words[0].replace("-", "_") if words else "")
    declared = {**sys.modules["freeblock"].STATUSES, **getattr(command, "STATUSES", {})}
    assert status in declared, (words, status)
    return status, out, err


def freeblock_lab(*words):
    """The same of tools/freeblock-bench."""
    return _main("bench", words)


def status_of(said):
    """The exit status that belongs to a refusal: argparse's, if it is an option that is wrong."""
    option = r"freeblock(?:-bench)?: (?:--|specify |\S+: (?:no such|not a) block device)"
    return 2 if re.match(option, said) else 1


def missed(why):
    """For a test of a promise that is known not to be kept: by how much. It is listed at the end of
    make check, which does not fail for it."""
    return pytest.mark.xfail(reason=why, raises=AssertionError)


def promise(what, value, most):
    """A figure of the documents' that is promised to be no more: it is printed in any case."""
    print("# %s: %.2f, %g at most" % (what, value, most), flush=True)
    assert value <= most, (what, value, most)
