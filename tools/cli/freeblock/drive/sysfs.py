# SPDX-License-Identifier: GPL-2.0
"""What the kernel knows of a SCSI disk: the device's directory in sysfs, and its write cache."""

import os

from .. import ToolError, fbstate


def of_node(path):
    """The directory of a SCSI device, by the name of its node; None: there is none."""
    # a simulated drive has a path, too
    folder, name = os.path.split(os.path.realpath(path))
    if folder != "/dev":
        return None
    for folder in ("sys/class/scsi_generic", "sys/block"):
        found = fbstate.path(folder, name, "device")
        if os.path.isdir(found):
            return os.path.realpath(found)
    return None


def line(*parts):
    """A file's text; "" if it is not there."""
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def names(path):
    """What is in a directory; nothing if it is not there."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def is_served(path):
    """Whether freeblock is the scheduler of the disk at a path."""
    name = os.path.basename(os.path.realpath(path))
    return "[freeblock]" in line(fbstate.path("sys/block", name, "queue", "scheduler"))


def is_flushed(device):
    """Whether the kernel flushes this disk, since it takes it to have a write cache."""
    folder = os.path.join(device, "scsi_disk")
    return any(line(folder, name, "cache_type").startswith("write back") for name in names(folder))


def look_again(device):
    """Have the kernel ask the disk for its caches, and flush accordingly from now on."""
    if not names(os.path.join(device, "scsi_disk")) or is_flushed(device):
        return False
    path = os.path.join(device, "rescan")
    hint = "the kernel does not know that the write cache is on, and would not flush it: " \
        "echo 1 > %s" % path
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("1\n")
    except OSError as error:
        raise ToolError("%s: %s" % (hint, error.strerror)) from error
    if not is_flushed(device):
        raise ToolError(hint)
    return True
