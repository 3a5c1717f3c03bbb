# SPDX-License-Identifier: GPL-2.0
"""What was found before each step of a setup, on stable storage before the step is taken.

A file for each disk, "machine" for what disks share, in a directory that outlives a boot. A step
is in it from before it is taken until it is undone; "done" says that it was taken whole. Undoing a
step that was not, or only in part, puts back what was found all the same.
"""

import contextlib
import os

from .. import ToolError, fbstate
from ..base import safe_file, sealed
from . import lock

STATES = "var/lib/freeblock"
FOLDER = STATES + "/setup"
ENDING = ".json"
FORMAT = 1
MACHINE = "machine"
# Ours, innermost first: those that are empty when nothing is set up any more go
FOLDERS = (FOLDER, STATES + "/due", STATES + "/checks", STATES + "/stopped", STATES + "/guard",
           STATES + "/extract", STATES + "/modes", STATES,
           "etc/freeblock/models", "etc/freeblock/enabled", "etc/freeblock")


@contextlib.contextmanager
def locked():
    """Keep other setups away."""
    with lock.held(fbstate.path(FOLDER), "another freeblock setup or off is at work"):
        try:
            yield
        finally:
            sweep()


def sweep():
    """Remove what is empty of our directories, and what a killed process was writing."""
    folder = fbstate.path(FOLDER)
    for name in os.listdir(folder):
        if name.endswith(".new"):
            os.unlink(os.path.join(folder, name))
    for name in FOLDERS:
        with contextlib.suppress(OSError):
            os.rmdir(fbstate.path(name))
    lock.sweep()


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
            return sealed.read(self.path, FORMAT)
        except sealed.Spoiled as error:
            raise ToolError("%s; what it says was found: look at it, put that back, and remove it" %
                            error) from error

    def _write(self):
        sealed.write(self.path, FORMAT,
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
            safe_file.sync_directory(os.path.dirname(self.path))


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
