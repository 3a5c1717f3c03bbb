# SPDX-License-Identifier: GPL-2.0
"""What was found before each step of a setup, on stable storage before the step is taken.

A file for each disk, "machine" for what disks share, in a directory that outlives a boot. A step
is in it from before it is taken until it is undone; "done" says that it was taken whole. Undoing a
step that was not, or only in part, puts back what was found all the same.
"""

import contextlib
import fcntl
import os

from .. import ToolError, fbstate
from ..extraction import journal

STATES = "var/lib/freeblock"
FOLDER = STATES + "/setup"
ENDING = ".json"
FORMAT = 1
MACHINE = "machine"
# Ours, innermost first: those that are empty when nothing is set up any more go
FOLDERS = (FOLDER, STATES + "/due", STATES + "/guard", STATES + "/extract", STATES + "/modes",
           STATES,
           "etc/freeblock/models", "etc/freeblock")


def _open(folder):
    """Our directory, made if it is missing. For root alone: who may read it may lock it, too."""
    above = os.path.dirname(folder)
    try:
        journal.make_directory(above)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            journal.sync_directory(above)
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError as error:
        raise ToolError("%s: %s: run it as root" % (error.filename, error.strerror)) from error


@contextlib.contextmanager
def locked():
    """Keep other setups away. The lock is the directory's, so that no file of it is left."""
    folder = fbstate.path(FOLDER)
    while True:
        handle = _open(folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # its last owner may have removed it between our open and our lock
            if os.path.isdir(folder) and os.path.samestat(os.fstat(handle), os.stat(folder)):
                break
        except BlockingIOError:
            os.close(handle)
            raise ToolError("another freeblock setup or off is at work: wait for it") from None
        os.close(handle)
    try:
        yield
    finally:
        sweep()
        # a process that hangs in the kernel has the handle, too, and is not waited for
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def sweep():
    """Remove what is empty of our directories, and what a killed process was writing."""
    folder = fbstate.path(FOLDER)
    for name in os.listdir(folder):
        if name.endswith(".new"):
            os.unlink(os.path.join(folder, name))
    for name in FOLDERS:
        with contextlib.suppress(OSError):
            os.rmdir(fbstate.path(name))


class Book:
    """One file. `identity`: whose it is, as store.disk_of() tells; None: read what is there."""

    def __init__(self, name, identity=None):
        self.name = name
        self.path = fbstate.path(FOLDER, name + ENDING)
        content = self._read() or {"identity": identity, "steps": []}
        self.identity = content["identity"]
        self.steps = content["steps"]

    def _read(self):
        try:
            return journal.read_sealed(self.path, FORMAT)
        except journal.Spoiled as error:
            raise ToolError("%s; what it says was found: look at it, put that back, and remove it" %
                            error) from error

    def _write(self):
        journal.write_sealed(self.path, FORMAT,
                             {"identity": self.identity, "steps": self.steps})

    def find(self, name):
        """A step that was taken, if only in part."""
        return next((step for step in self.steps if step["name"] == name), None)

    def take(self, name, found):
        """A step is about to be taken; `found`: what undoes it. What was found before an earlier
        attempt counts."""
        if not self.find(name):
            self.steps.append({"name": name, "found": found, "done": False})
            self._write()

    def done(self, name):
        """It was taken whole."""
        self.find(name)["done"] = True
        self._write()

    def drop(self, name):
        """It was undone; the file goes with its last step."""
        self.steps = [step for step in self.steps if step["name"] != name]
        if self.steps:
            self._write()
        else:
            os.unlink(self.path)
            journal.sync_directory(os.path.dirname(self.path))


def machine():
    """The book of what disks share."""
    return Book(MACHINE)


def disks():
    """(the books of disks, {name of one that cannot be used: why})"""
    folder = fbstate.path(FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found, spoiled = [], {}
    for name in names:
        if name.endswith(ENDING) and name != MACHINE + ENDING:
            key = name[:-len(ENDING)]
            try:
                found.append(Book(key))
            except ToolError as error:
                spoiled[key] = str(error)
    return found, spoiled
