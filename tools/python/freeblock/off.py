# SPDX-License-Identifier: GPL-2.0
"""off: what setup changed is as it was found.

Works from what machine/book.py has on stable storage, so also half-way through a setup, without
the disk, and without the module. Documentation/setup.rst.
"""

import json
import os
import sys

from . import ToolError, UsageError
from .extraction import identity as names
from .extraction import store
from .machine import book, kernel, steps

# As they are undone: first what the next boot would start from, and asks nothing of the kernel
LASTING = ("model", "measure")
RUNNING = ("scrub", "settings", "load", "scheduler")
REBOOT = "reboot: then every disk has its own scheduler again, for nothing is started at boot " \
    "any more; freeblock off --all clears what is left on record"


def add_parser(subparsers):
    """Add `off`."""
    parser = subparsers.add_parser(
        "off", help="put back everything that setup changed",
        description="Put back what freeblock setup found: scheduler, models, the start at boot; "
        "the disk's tasks end, and the module goes if nobody else uses it. Works half-way through "
        "a setup, without the disk and without the module, and may be repeated. The status is 1 if "
        "something could not be put back, or not before a reboot.")
    parser.add_argument("disk", nargs="?", metavar="DISK", help="/dev/sdX, as root")
    parser.add_argument("--all", action="store_true", help="every disk that was set up")
    parser.add_argument("--json", action="store_true", help="print the result as an object")
    parser.set_defaults(run=run)


class Undoing:
    """What is put back, and what cannot be."""

    def __init__(self):
        self.has_died = kernel.has_died()
        self.back, self.notes, self.errors = [], [], []
        self.reboot = []

    def step(self, journal_of, disk, step):
        """Undo one, if it was taken; whether that is done."""
        taken = journal_of.find(step.name)
        if taken is None:
            return True
        try:
            step.undo(disk, taken["found"])
            journal_of.drop(step.name)
        except kernel.NeedsReboot as error:
            self.reboot.append(str(error))
            return False
        except (ToolError, OSError) as error:
            self.errors.append("%s: not undone: %s: %s" % (disk.name or journal_of.name, step.says,
                                                           error))
            return False
        self.back.append((disk.name or journal_of.name, step.name))
        return True

    def disk(self, mine):
        """All steps of a disk."""
        disk = steps.Disk(mine.identity, present(mine.identity), notes=self.notes)
        for name in LASTING:
            self.step(mine, disk, steps.DISK[name])
        if self.has_died and disk.name and disk.kernel.scheduler() == "freeblock":
            self.reboot.append("%s keeps the scheduler" % disk.name)
            return
        for name in RUNNING:
            if not self.step(mine, disk, steps.DISK[name]):
                return

    def machine(self, name):
        """A step that disks share."""
        try:
            ours = book.machine()
        except ToolError as error:
            self.errors.append(str(error))
            return False
        return self.step(ours, steps.Disk(None, None, notes=self.notes), steps.MACHINE[name])

    def run(self, chosen, is_all):
        """Put back all that these disks, or all of them, need no more."""
        if self.has_died:
            self.reboot.append("this kernel has had an oops (dmesg says where), so nothing is "
                               "asked of it")
        # first of all: whatever comes, the next boot is without it
        if is_all or self.has_died:
            self.machine("boot")
        for mine in chosen:
            self.disk(mine)
        if is_all and not self.reboot and not self.errors:
            self.machine("module")


def present(identity):
    """sdX of a disk now; None: it is not here."""
    for disk in store.disks():
        if names.is_known(disk) and names.same(disk, identity):
            return disk["name"]
    return None


def chosen_by(path, books, spoiled):
    """The book of the disk of this name, now or when it was set up; none if it was not."""
    name = os.path.basename(os.path.realpath(path) if path.startswith("/dev/") else path)
    try:
        key = names.key(store.disk_of(name))
    except ToolError:
        # gone: by the name it had
        found = [mine for mine in books if mine.identity["name"] == name]
        if not found:
            raise
        return found
    if key in spoiled:
        raise ToolError(spoiled[key])
    return [mine for mine in books if mine.name == key]


def show(undone, what):
    """For people."""
    for name, step in undone.back:
        every = {**steps.DISK, **steps.MACHINE}
        print("%s: undone: %s" % (name, every[step].says))
    for note in undone.notes:
        print("- " + note)
    for error in undone.errors:
        print("freeblock: " + error, file=sys.stderr)
    if undone.reboot:
        print("freeblock: %s; %s" % ("; ".join(undone.reboot), REBOOT), file=sys.stderr)
    elif not undone.errors:
        print("%s: %s" % (what, "as it was found" if undone.back else "nothing was set up"))


def run(args):
    """The subcommand."""
    if bool(args.disk) == args.all:
        raise UsageError("one of: DISK, --all")
    with book.locked():
        books, spoiled = book.disks()
        chosen = books if args.all else chosen_by(args.disk, books, spoiled)
        undone = Undoing()
        if args.all:
            undone.errors += spoiled.values()
        undone.run(chosen, args.all or len(chosen) == len(books) and not spoiled)
    if args.json:
        print(json.dumps({"undone": [{"of": name, "step": step} for name, step in undone.back],
                          "notes": undone.notes, "errors": undone.errors,
                          "reboot": undone.reboot}, indent=1))
    else:
        show(undone, "all disks" if args.all else args.disk)
    return 1 if undone.reboot or undone.errors else 0
