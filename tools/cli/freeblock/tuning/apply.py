# SPDX-License-Identifier: GPL-2.0
"""A setting written to the scheduler's files."""

import os

from .. import ToolError, fbstate
from ..base import advice

# Other root for tests
ROOT = "FREEBLOCK_SYSFS"


def folder_of(disk):
    """The folder of a disk: sda, /dev/sda, or a link to it."""
    root = os.environ.get(ROOT) or "/sys/kernel/freeblock"
    if not os.environ.get(ROOT):
        fbstate.need_device(disk)
    if not os.path.isdir(root):
        raise ToolError("%s: not there: the module freeblock is not loaded; %s" % (
            root, fbstate.how_to_load()))
    name = os.path.basename(os.path.realpath(disk) if "/" in disk else disk)
    folder = os.path.join(root, name)
    if name in ("", ".", "..") or not os.path.isdir(folder):
        raise ToolError("%s: the scheduler freeblock is not on %s; run: %s" % (
            folder, disk, advice.CHOOSE % ("freeblock", name)))
    return folder


def put(path, text):
    """Write one file; Error with a reason."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        hint = " (run it as root)" if isinstance(error, PermissionError) else ""
        raise ToolError("%s: %s refused: %s%s" % (path, text.strip(), error.strerror, hint)) \
            from error


def get(path):
    """What a file says; Error with a reason."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError as error:
        raise ToolError("%s: %s" % (path, error.strerror)) from error


def write(disk, wait_us, size_kib):
    """[(file, value)] written; when the second is refused the first is as before."""
    folder = folder_of(disk)
    wait = os.path.join(folder, "idle_wait_us")
    size = os.path.join(folder, "idle_size_kib")
    before = get(wait)
    get(size)
    put(wait, "%d\n" % wait_us)
    try:
        put(size, "%d\n" % size_kib)
    except ToolError:
        put(wait, (before.split() or ["auto"])[0] + "\n")
        raise
    return [(wait, wait_us), (size, size_kib)]
