# SPDX-License-Identifier: GPL-2.0
"""The programs in C that the commands run: where they are built, and how."""

import fcntl
import functools
import os
import shutil
import subprocess

from . import ToolError

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")


def build(folder, what):
    """Bring the program made in a folder of the tree up to date; `what` names it in a
    message. Commands run side by side: one builds at a time."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, folder.replace("/", "-") + ".lock"), "w",
              encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "--no-print-directory", "-s", "-C",
                               os.path.join(TOP, folder), "BUILD=" + os.path.abspath(BUILD)],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    if made.returncode:
        raise ToolError("%s does not build:\n%s" % (what, made.stdout.rstrip()))


@functools.lru_cache()
def program(folder, out, name):
    """A program's path: built from a folder of the tree into BUILD/out; where there is no
    tree, the one installed."""
    if os.path.isdir(os.path.join(TOP, folder)):
        build(folder, name)
        return os.path.join(BUILD, out, name)
    path = shutil.which(name)
    if not path:
        raise ToolError("%s is not installed" % name)
    return path
