# SPDX-License-Identifier: GPL-2.0
"""The programs in C that the commands run, and the files that they read: in a checkout those
of the tree, where programs are built when they are wanted; else those installed with the package,
which runs no compiler.
"""

import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile

from .. import ToolError
from . import statusline

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(PACKAGE)))
# A checkout's programs are of the same age as its commands: one that is installed, too, is not
# mixed with it
IN_TREE = os.path.exists(os.path.join(TOP, "tools", "build", "host.mk"))
# What a compiler's and a linker's command has, and no other of our makefiles
COMPILES = " -o "
# Where a package has what it brings along; Debian's are links, to /usr/lib and /usr/share
HELPERS = os.path.join(PACKAGE, "helpers")
DATA = os.path.join(PACKAGE, "data")


def _build_folder():
    """Where programs of the tree are built: beside it, or in the cache of a user who may not
    write there."""
    beside = os.path.join(TOP, "build")
    if os.access(beside if os.path.isdir(beside) else TOP, os.W_OK):
        return beside
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "freeblock", "build")


BUILD = os.environ.get("FREEBLOCK_BUILD") or _build_folder()


def data(name):
    """A folder of files: "boot", "drives", "models"."""
    if not IN_TREE:
        return os.path.join(DATA, name)
    return os.path.join(TOP, {"drives": "tools/mechdisk/drives", "models": "models",
                              "boot": "tools/boot"}[name])


def command():
    """The path by which this command is started again, by udev and systemd."""
    if IN_TREE:
        return os.path.join(TOP, "tools", "freeblock")
    if os.path.basename(sys.argv[0]) == "freeblock":
        return os.path.abspath(sys.argv[0])
    return shutil.which("freeblock") or os.path.join(sys.prefix, "bin", "freeblock")


def _lock(folder):
    """Commands run side by side: one builds a folder at a time."""
    path = os.path.join(BUILD, folder.replace("/", "-") + ".lock")
    try:
        os.makedirs(BUILD, exist_ok=True)
        return open(path, "w", encoding="ascii")
    except OSError as error:
        raise ToolError("%s: %s: programs are built there (FREEBLOCK_BUILD=%s/... would have them "
                        "built elsewhere)" %
                        (path, error.strerror, tempfile.gettempdir())) from None


def build(folder, what):
    """Bring the program made in a folder of the tree up to date; `what` names it in a
    message."""
    for path in (TOP, os.path.abspath(BUILD)):
        if set(" :") & set(path):
            raise ToolError("%s: make takes no spaces or colons in a folder's name: move it, or "
                            "install the packages" % path)
    words = ["make", "--no-print-directory", "-C", os.path.join(TOP, folder),
             "BUILD=" + os.path.abspath(BUILD)]
    with _lock(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not subprocess.run([*words, "-s", "-q"], check=False, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode:
                return
            planned = subprocess.run([*words, "-n"], check=False, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        except FileNotFoundError:
            raise ToolError("%s is built when it is first wanted, and there is no make here: "
                            "make setup, or install the packages" % what) from None
        said = _make(words, what, planned.splitlines())
    if said is not None:
        raise ToolError("%s does not build:\n%s" % (what, said))


def line_of_build():
    """Where it is shown how far a build is. Tests, which compare errors, show nothing."""
    return statusline.Line()


def _make(words, what, planned):
    """Run make, and show how far it is; what compilers said if it failed, else None."""
    count, done, said = sum(COMPILES in line for line in planned), 0, []
    shown = line_of_build()
    with subprocess.Popen(words, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as made:
        shown.show(lambda: "freeblock: building %s, once: %d files" % (what, count))
        for line in made.stdout:
            if line.rstrip("\n") not in planned:
                said.append(line)
            done += COMPILES in line
            shown.show(lambda done=done: "freeblock: building %s: %d of %d files" % (
                what, done, count))
    shown.end()
    return "".join(said).rstrip() if made.returncode else None


@functools.lru_cache()
def program(folder, out, name):
    """A program's path: built from a folder of the tree into BUILD/out, or installed."""
    if IN_TREE:
        build(folder, name)
        return os.path.join(BUILD, out, name)
    path = os.path.join(HELPERS, name)
    if not os.path.exists(path):
        raise ToolError("%s is missing: the package is not whole" % path)
    return path
