# SPDX-License-Identifier: GPL-2.0
"""Put back what a trial has changed, however it ends: also when it is killed.

A child process waits for the trial's end. The trial tells it, before each change, what will have
to be put back. When the pipe is closed, by close() or because there is no trial any more, the
child puts back, the last change first.
"""

import errno
import os
import signal
import sys
import time

from . import ToolError, fbstate
from .machine import kernel, loaded, lock

# A choice of scheduler may be refused for a while (EBUSY of Linux 7)
RETRY_S, RETRIES = 0.1, 50
# what was to be put back is so already, or has gone
WELL = (errno.EALREADY, errno.ENOENT, errno.ENODEV)


def put_back(disk, change):
    """Undo one change: "scheduler NAME", "start scrub", "pause ID", "module"."""
    what, _, word = change.partition(" ")
    if what == "module":
        with lock.of_module():
            _unload()
        return
    if what == "scheduler":
        _write(fbstate.path("sys/block", disk, "queue/scheduler"), word)
        return
    file, text = ("tasks", "resume " + word) if what == "pause" else (word, "stop")
    _write(fbstate.path(fbstate.KERNEL, disk, file), text)


def _unload():
    """The module goes, unless it is another's by now."""
    kept = kernel.is_loaded() and not loaded.is_noted()
    why = "setup, or a trial with --keep, has it now" if kept else kernel.unload()
    if why:
        print("freeblock: the module stays loaded: " + why, file=sys.stderr, flush=True)
    else:
        loaded.forget()


def _write(path, text):
    """Write a file of the kernel; what is so already is no error."""
    for _ in range(RETRIES):
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            return
        except OSError as error:
            if error.errno in WELL:
                return
            if error.errno != errno.EBUSY:
                raise
        time.sleep(RETRY_S)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)


def _attend(disk, lines):
    """The child: remember changes to the end of the trial, then put back. The exit status."""
    changes = []
    for line in lines:
        change = line.rstrip("\n")
        if change == "keep":
            changes = [one for one in changes if one.startswith("pause ")]
            loaded.forget()
        elif change.startswith("not "):
            changes = [one for one in changes if "not " + one != change]
        else:
            changes.append(change)
    status = 0
    for change in reversed(changes):
        try:
            put_back(disk, change)
        except OSError as error:
            print("freeblock: %s: could not be put back: %s: %s" % (disk, change, error.strerror),
                  file=sys.stderr, flush=True)
            status = 1
        except ToolError as error:
            print("freeblock: %s: could not be put back: %s" % (disk, error), file=sys.stderr,
                  flush=True)
            status = 1
    return status


class Undo:
    """What is to be put back on one disk."""

    def __init__(self, disk):
        self.disk = disk
        sys.stdout.flush()
        sys.stderr.flush()
        reader, self.writer = os.pipe()
        self.child = os.fork()
        if self.child:
            os.close(reader)
            return
        status = 1
        try:
            # what ends the trial, Ctrl-C or a closed terminal, is not to end this
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.close(self.writer)
            with os.fdopen(reader, encoding="ascii") as lines:
                status = _attend(disk, lines)
        finally:
            os._exit(status)

    def say(self, change):
        """A change is about to be made, "pause ID" and so on; or "not pause ID": it has been
        undone, or could not be made; or "keep": all but pauses stay as they are."""
        os.write(self.writer, (change + "\n").encode())

    def close(self):
        """Put back, and wait for it. ToolError if that failed."""
        os.close(self.writer)
        _, status = os.waitpid(self.child, 0)
        if status:
            raise ToolError("%s: not all could be put back, see above; run: freeblock status %s" %
                            (self.disk, self.disk))
