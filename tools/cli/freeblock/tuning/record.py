# SPDX-License-Identifier: GPL-2.0
"""A recording of what a disk is asked now: with blktrace, or from the block layer's
trace events."""

import os
import re
import select
import shutil
import stat
import subprocess
import time

from .. import ToolError, UsageError, fbstate

TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
DEBUGFS = "/sys/kernel/debug/block"
INSTANCE = "freeblock-tune-%d"
EVENTS = ("block_rq_issue", "block_rq_complete")
MAX_SECONDS = 366 * 86400


def seconds_of(text):
    """How long to record."""
    if not re.fullmatch(r"\d{1,9}", text) or not 1 <= int(text) <= MAX_SECONDS:
        raise UsageError("recording for %s s: want whole seconds from 1 to %d" % (
            text, MAX_SECONDS))
    return int(text)


def device_of(disk):
    """(path, MAJOR, MINOR) of a whole disk."""
    path = fbstate.need_device(disk)
    found = os.stat(path)
    if not stat.S_ISBLK(found.st_mode):
        raise UsageError("%s: not a block device" % path)
    major, minor = os.major(found.st_rdev), os.minor(found.st_rdev)
    if os.path.exists("/sys/dev/block/%d:%d/partition" % (major, minor)):
        raise ToolError("recording: %s is a partition: name the whole disk, whose idle time it is" %
                        path)
    return path, major, minor


def record(seconds, disk, out):
    """Record; what a reader can be given."""
    seconds = seconds_of(seconds)
    path, major, minor = device_of(disk)
    if os.geteuid():
        raise ToolError("recording: only root may trace the block layer")
    if shutil.which("blktrace") and os.path.isdir(DEBUGFS):
        return with_blktrace(seconds, path, out)
    for root in TRACEFS:
        if os.path.isdir(os.path.join(root, "instances")):
            return with_events(root, seconds, (major, minor), out)
    raise ToolError("recording: neither blktrace with debugfs nor tracefs is there (mount -t "
                    "tracefs tracefs /sys/kernel/tracing)")


def with_blktrace(seconds, path, out):
    """NAME.blktrace.0 and its like."""
    folder, name = os.path.split(os.path.abspath(out))
    done = subprocess.run(["blktrace", "-d", path, "-w", str(seconds), "-a", "issue", "-a",
                           "complete", "-D", folder, "-o", name], check=False, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise ToolError("recording: blktrace: %s" % (done.stderr.strip() or
                                                    "status %d" % done.returncode))
    return out


def put(path, text):
    """Write a file of tracefs."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        raise ToolError("recording: %s: %s refused: %s" % (path, text, error.strerror)) from error


def with_events(root, seconds, device, out):
    """The events as tracefs prints them."""
    folder = os.path.join(root, "instances", INSTANCE % os.getpid())
    try:
        os.mkdir(folder)
    except OSError as error:
        raise ToolError("recording: %s: %s" % (folder, error.strerror)) from error
    try:
        put(os.path.join(folder, "trace_clock"), "mono")
        for event in EVENTS:
            events = os.path.join(folder, "events", "block", event)
            # the kernel's dev_t
            put(os.path.join(events, "filter"), "dev == %d" % (device[0] << 20 | device[1]))
            put(os.path.join(events, "enable"), "1")
        with open(os.path.join(folder, "trace_pipe"), "rb", buffering=0) as pipe, \
                open(out, "wb") as file:
            # a disk that is asked nothing has a recording, too
            file.write(b"# tracer: nop\n")
            copy_events(pipe, file, time.monotonic() + seconds)
    finally:
        os.rmdir(folder)
    return out


def copy_events(pipe, file, until):
    """Copy the lines that come from a pipe until a time."""
    os.set_blocking(pipe.fileno(), False)
    rest = b""
    while True:
        left = until - time.monotonic()
        if left <= 0 or not select.select([pipe], [], [], left)[0]:
            return
        piece = pipe.read(1 << 16)
        if not piece:
            time.sleep(0.01)
            continue
        lines, end, rest = (rest + piece).rpartition(b"\n")
        file.write(lines + end)
