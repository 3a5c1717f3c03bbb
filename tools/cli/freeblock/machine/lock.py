# SPDX-License-Identifier: GPL-2.0
"""One at a time: a lock on a directory, so that no file of it is left. It ends with its process,
and with those that the process has started, however they end.
"""

import contextlib
import fcntl
import os
import time

from .. import ToolError, fbstate
from ..base import safe_file

# A folder for each disk that is set up or put back
DISKS = "run/freeblock/disks"
# One for whoever loads the module, unloads it, or counts on it until a disk has the scheduler
MODULE = "run/freeblock/loading"
# A module is loaded, and a scheduler chosen, in seconds; the kernel may take a minute for that
PATIENCE_S, LOOK_S = 90, 0.05
# Whoever removes the directory between our looks at it comes to his end
TRIES = 1000


class Taken(ToolError):
    """Others have the lock."""


def _open(folder):
    """The directory, made if it is missing. For root alone: who may read it may lock it, too."""
    above = os.path.dirname(folder)
    safe_file.make_directory(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        safe_file.sync_directory(above)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def _owner(handle):
    """" (process N)" of who has it; "" if the kernel does not tell."""
    mine = os.fstat(handle)
    name = "%02x:%02x:%d" % (os.major(mine.st_dev), os.minor(mine.st_dev), mine.st_ino)
    with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[1] == "FLOCK" and words[5] == name:
                return " (process %s)" % words[4]
    return ""


def _lock(folder, others):
    """The locked directory's handle."""
    for _ in range(TRIES):
        # its last owner may have removed it, or a folder above, at any moment
        try:
            handle = _open(folder)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.stat(folder)):
                return handle
        except FileNotFoundError:
            pass
        except BlockingIOError:
            who = _owner(handle)
            os.close(handle)
            raise Taken("%s%s: wait for it" % (others, who)) from None
        os.close(handle)
    raise Taken("%s, again and again: wait for them" % others)


@contextlib.contextmanager
def held(folder, others):
    """Keep others away; a ToolError that says `others` if they are there."""
    try:
        handle = _lock(folder, others)
    except PermissionError as error:
        raise ToolError("%s: %s: run it as root" % (error.filename, error.strerror)) from error
    try:
        yield
    finally:
        # a process that hangs in the kernel has the handle, too, and is not waited for
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


@contextlib.contextmanager
def of_disk(name, others):
    """The same for sdX, of whoever gives it another scheduler. Nothing is left of it."""
    with held(fbstate.path(DISKS, name), others):
        try:
            yield
        finally:
            _remove(os.path.join(DISKS, name))


@contextlib.contextmanager
def _of_module():
    """The module's, if nobody has it. Nothing is left of it."""
    with held(fbstate.path(MODULE), "another setup or off loads or unloads the module"):
        try:
            yield
        finally:
            _remove(MODULE)


@contextlib.contextmanager
def of_module():
    """The same, once others are through. Whoever has a disk's, too, has that one first."""
    until = time.monotonic() + PATIENCE_S
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(_of_module())
                break
            except Taken:
                if time.monotonic() > until:
                    raise
            time.sleep(LOOK_S)
        yield


def _remove(*folders):
    """What is empty of them and of those above."""
    for folder in (*folders, DISKS, os.path.dirname(DISKS)):
        with contextlib.suppress(OSError):
            os.rmdir(fbstate.path(folder))


def sweep():
    """Remove what killed owners have left."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(fbstate.path(DISKS)):
            with contextlib.suppress(Taken), of_disk(name, name):
                pass
    if os.path.isdir(fbstate.path(MODULE)):
        with contextlib.suppress(Taken), _of_module():
            pass
    _remove()
