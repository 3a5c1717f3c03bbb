# SPDX-License-Identifier: GPL-2.0
"""off: what setup changed is as it was found.

Works from what machine/book.py has on stable storage, so also half-way through a setup, without
the disk, and without the module. Documentation/setup.rst.
"""

import json
import os
import sys

from .. import ToolError, need_one
from ..drive import names, store
from ..machine import book, events, kernel, lock, steps, units

# As they are undone: first what the next boot would start from, and asks nothing of the kernel
LASTING = ("enabled", "model", "measure")
RUNNING = ("scrub", "settings", "load", "scheduler")
REBOOT = "reboot: then every disk has its own scheduler again, for nothing is started at boot " \
    "any more; freeblock off --all clears what is left on record"


STATUSES = {1: "Something could not be put back, or not before a reboot; or an error."}
EXAMPLES = (
    ("freeblock off sda", "Put back what setup found on a disk."),
    ("freeblock off --all", "The same for every disk that was set up."),
)


def add_parser(subparsers):
    """Add `off`."""
    parser = subparsers.add_parser(
        "off", help="undo enable and setup",
        description="Restore the scheduler, the models and the start at boot as they were before "
        "enable or setup; stop the disk's tasks, and unload the module if it is unused. Also works "
        "after an interrupted setup, without the disk, and repeatedly.")
    parser.add_argument("disk", nargs="?", metavar="DISK", help="/dev/sdX, or its world-wide "
                        "name, as root")
    parser.add_argument("--all", action="store_true", help="every disk that was enabled or set up")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
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
        disk = steps.Disk(mine.identity, None, notes=self.notes)
        for name in LASTING:
            self.step(mine, disk, steps.DISK[name])
        try:
            disk.name = present(mine.identity)
        except ToolError as error:
            if mine.steps:
                self.errors.append(str(error))
            return
        if self.has_died and disk.name and disk.kernel.scheduler() == "freeblock":
            self.reboot.append("%s keeps the scheduler" % disk.name)
            return
        if disk.name is None:
            self.running(mine, disk)
            return
        try:
            with lock.of_disk(disk.name, "%s: setup or off of it is at work" % disk.name):
                self.running(mine, disk)
        except lock.Taken as error:
            self.errors.append(str(error))

    def running(self, mine, disk):
        """Its steps that others' work on the disk would meet."""
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
        units.end_check()
        if not self.has_died:
            steps.Scrub.begin_to_end(mine.name for mine in chosen if mine.find("scrub"))
        for mine in chosen:
            self.disk(mine)
        if is_all and not self.reboot and not self.errors:
            self.machine("module")


def present(identity):
    """sdX of a disk now; None: it is not here. ToolError: one that may be it does not say."""
    unsure = None
    for disk in store.disks():
        if not names.is_known(disk):
            unsure = disk["name"] if names.may_be(disk, identity) else unsure
        elif names.same(disk, identity):
            return disk["name"]
    if unsure:
        raise ToolError("%s does not say now which disk it is, and may be %s: the scheduler and "
                        "what belongs to it stay on record; say it again when it does, or is "
                        "gone" % (unsure, names.key(identity)))
    return None


def _taken(name, disk, named):
    """What to say when another disk has the name that these had when they were set up."""
    def place(mine):
        try:
            now = present(mine.identity)
        except ToolError:
            now = None
        return "%s now" % now if now else "not here"

    return "%s is another disk now (%s), which was not set up; set up as %s was %s" % (
        name, names.key(disk) if names.is_known(disk) else "it does not say which", name,
        "; ".join("%s, which is %s (%s %s): freeblock off %s, or off --all, puts back what was "
                  "found on it" % (mine.name, place(mine), mine.identity["vendor"],
                                   mine.identity["product"], mine.name) for mine in named))


def chosen_by(path, books, spoiled):
    """The book of the disk of this name, now or when it was set up, or of this world-wide name;
    none if it was not."""
    name = os.path.basename(os.path.realpath(path) if path.startswith("/dev/") else path)
    if name in spoiled:
        raise ToolError(spoiled[name])
    found = [mine for mine in books if mine.name == name]
    named = [mine for mine in books if mine.identity["name"] == name]
    if found:
        return found
    try:
        disk = store.disk_of(name)
    except ToolError:
        # gone: by the name it had
        if not named:
            raise
        return named
    if names.is_known(disk):
        if names.key(disk) in spoiled:
            raise ToolError(spoiled[names.key(disk)])
        found = [mine for mine in books if mine.name == names.key(disk)]
    else:
        found = [mine for mine in named if names.may_be(disk, mine.identity)]
    if not found and named:
        raise ToolError(_taken(name, disk, named))
    return found


def show(undone, what):
    """For people."""
    for name, step in undone.back:
        every = {**steps.DISK, **steps.MACHINE}
        print("%s: %s" % (name, every[step].forgotten or "undone: " + every[step].says))
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
    need_one((args.disk, "DISK"), (args.all, "--all"))
    with book.locked():
        books, spoiled = book.disks()
        chosen = books if args.all else chosen_by(args.disk, books, spoiled)
        undone = Undoing()
        if args.all:
            undone.errors += spoiled.values()
        undone.run(chosen, args.all or len(chosen) == len(books) and not spoiled)
        if not any(book.disks()):
            events.forget()
    if args.json:
        print(json.dumps({"undone": [{"of": name, "step": step} for name, step in undone.back],
                          "notes": undone.notes, "errors": undone.errors,
                          "reboot": undone.reboot}, indent=1))
    else:
        show(undone, "all disks" if args.all else args.disk)
    return 1 if undone.reboot or undone.errors else 0
