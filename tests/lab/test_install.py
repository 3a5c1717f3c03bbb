#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What tests/install/run does without a guest: its list of results, what it refuses, and that no
guest outlives it. Prints TAP.

Seen to fail: a list cut off in the middle (a traceback after the first step); rows of older
packages beside those of a whole run; a guest that stays when the run is ended by SIGTERM.
"""

import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(TOP, "tests", "install", "run")
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import treetest  # noqa: E402
from treetest import report  # noqa: E402

# As the run is started, but for what it does: one boot
BOOT = """
import argparse, runpy, sys
sys.argv = [{run!r}, "--build", {folder!r}]
names = runpy.run_path({run!r})
names["end_by_signals"]()
names["boot"](argparse.Namespace(scale=1), {folder!r}, "stage")
"""


def load():
    """The program as a module."""
    loader = importlib.machinery.SourceFileLoader("install_run", RUN)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("install_run", loader))
    loader.exec_module(module)
    return module


def row(guest, step):
    """One of its results."""
    return {"guest": guest, "step": step, "ok": True, "note": "", "date": ""}


def listed(run, path, text, results, begun):
    """What is in a list that had a text before."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    run.write_summary(path, results, begun)
    with open(path, encoding="utf-8") as file:
        return ["%(guest)s %(step)s" % one for one in json.load(file)]


def differ(name, is_, expected):
    """One line of TAP."""
    report(name, [] if is_ == expected else ["%s, not %s" % (is_, expected)])


def lists(run, folder):
    """The list of results."""
    path = os.path.join(folder, "summary.json")
    old = json.dumps([row("debian12", "purge"), row("debian13", "zfs"), row("debian13", "off")])
    differ("a step takes the place of its own row, in the order of the steps",
           listed(run, path, old, [row("debian13", "setup"), row("debian13", "zfs")], set()),
           ["debian12 purge", "debian13 setup", "debian13 off", "debian13 zfs"])
    differ("a whole run, of all of its guest",
           listed(run, path, old, [row("debian13", "install")], {"debian13"}),
           ["debian12 purge", "debian13 install"])
    for text in ('[{"guest": "deb', "", '[{"a": 1}]', "3"):
        differ("a list that is %s: written anew" % (text or "empty"),
               listed(run, path, text, [row("debian12", "install")], set()), ["debian12 install"])


def refusals():
    """What it does not begin with."""
    for words, says in ((["--step", "off"], "invalid choice: 'off'"),
                        (["--guest", "debian11"], "invalid choice: 'debian11'"),
                        (["--step", "zfs", "--step", "purge"], "leaves ZFS in the root")):
        done = subprocess.run([RUN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False)
        differ(" ".join(words) + ": refused", (done.returncode, says in done.stderr), (2, True))


def outlived(folder):
    """A run that is ended while a guest, here one that sleeps, is there."""
    guest = os.path.join(folder, "qemu-system-x86_64")
    with open(guest, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho $$ > '%s/pid'\nexec sleep 300\n" % folder)
    os.chmod(guest, 0o755)
    with subprocess.Popen([sys.executable, "-B", "-c", BOOT.format(run=RUN, folder=folder)],
                          env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"])) as process:
        pid = os.path.join(folder, "pid")
        for _ in range(600):
            if os.path.exists(pid) and os.path.getsize(pid):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
    with open(pid, encoding="ascii") as file:
        there = os.path.exists("/proc/" + file.read().strip())
    differ("ended by SIGTERM: its status, and no guest stays", (process.returncode, there),
           (128 + signal.SIGTERM, False))


def main():
    with tempfile.TemporaryDirectory() as folder:
        lists(load(), folder)
        refusals()
        outlived(folder)
    treetest.finish()


if __name__ == "__main__":
    main()
