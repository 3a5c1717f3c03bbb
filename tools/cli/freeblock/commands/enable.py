# SPDX-License-Identifier: GPL-2.0
"""enable: have disks served from now on, at once: nothing is measured, and nobody is disturbed.

Each step is journaled before it is taken, as setup's are, so that `freeblock off` puts it back.
Documentation/setup.rst.
"""

import argparse
import json
import sys

from .. import ToolError, UsageError, need_defaults, need_one
from ..base import advice
from ..base.streams import one_line
from ..drive import names, store
from ..machine import book, conf, enabled, kinds, lock, steps
from ..state import costs
from . import setup

STATUSES = {1: "A disk could not be enabled; or an error."}
EXAMPLES = (
    ("freeblock enable /dev/sda", "Use freeblock for a disk from now on, and after each boot."),
    ("freeblock enable --all --yes --idle-only",
     "All hard disks, without asking; the order of their other requests is never changed."),
    ("freeblock enable /dev/sda --measure-now",
     "Measure the disk first, for reads in the gaps of its other requests, too."),
)
# for what --measure-now does alone
MEASURING = {"model": None, "measure": False, "in_use": False, "force": False,
             "observe": setup.OBSERVE_S}


def add_parser(subparsers):
    """Add `enable`."""
    parser = subparsers.add_parser(
        "enable", help="use the scheduler for disks, now and after each boot",
        description="Use the scheduler freeblock for disks, now and after each boot. Takes a "
        "second; the disks may be mounted and busy. Nothing is measured: background tasks read "
        "while a disk is idle. 'freeblock off' undoes it.")
    parser.add_argument("disks", metavar="DISK", nargs="*", help="/dev/sdX, as root; any number")
    parser.add_argument("--all", action="store_true", help="all hard disks except USB, virtual "
                        "and drive-managed SMR disks, which have to be named")
    parser.add_argument("--yes", action="store_true", help="with --all: do not ask first")
    parser.add_argument("--idle-only", action="store_true", help="read in idle time only; never "
                        "reorder, delay or merge other requests")
    parser.add_argument("--measure-now", action="store_true", help="measure each drive first "
                        "(some ten minutes), as freeblock setup does")
    setup.add_measuring(parser.add_argument_group("with --measure-now"))
    setup.add_common(parser)
    parser.set_defaults(run=run)


# ---- which disks

def chosen(args):
    """(names, lines about what --all leaves out)"""
    if args.disks:
        return list(dict.fromkeys(map(setup.whole_disk, args.disks))), []
    found, left = [], []
    for disk in store.disks():
        name = disk["name"]
        why = kinds.unfit(name)
        if why in ("solid state", "not a disk"):
            continue
        named = kinds.by_name_only(name)
        why = why or (named and "%s: name it, if it is meant" % named) or \
            (None if names.is_known(disk) else names.UNKNOWN)
        if why:
            left.append("%s is left out: %s" % (name, why))
        else:
            found.append(name)
    if not found:
        raise ToolError("\n".join(left + ["there is no hard disk to enable"]))
    return found, left


def check(disk):
    """ToolError with the reason against this disk; nothing has been changed yet."""
    enabled.need_fit(disk.name)
    if not names.is_known(disk.identity):
        raise ToolError("%s: %s; until the next boot run: %s" % (
            disk.name, names.UNKNOWN, advice.CHOOSE % ("freeblock", disk.name)))
    others = setup.paths(disk)
    if others:
        raise ToolError("%s is left alone: %s are the same disk by another path, and the paths of "
                        "a multipath device take no scheduler" % (disk.name, ", ".join(others)))
    if disk.options.no_boot and steps.fitting_model(disk):
        setup.check_no_boot()


def need_room(disks, said):
    """ToolError if the machine would serve more disks than max_disks of freeblock.conf."""
    limits = [(section.values["max_disks"], section) for section in said.sections
              if "max_disks" in section.values]
    if not limits:
        return
    most, section = limits[-1]
    all_of = {*disks, *(disk["name"] for disk in enabled.served())}
    if len(all_of) > most:
        raise ToolError("%s: max_disks = %d, and there would be %d: %s" % (
            section.where("max_disks"), most, len(all_of), ", ".join(sorted(all_of))))


def confirm(disks):
    """Ask at a terminal; UsageError where there is none."""
    if not sys.stdin.isatty():
        raise UsageError("--all needs --yes where there is no terminal to ask; it is about %s" %
                         " ".join(disks))
    print("Enable freeblock on %d disk%s: %s? [y/N] " % (
        len(disks), "s" * (len(disks) != 1), " ".join(disks)), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ToolError("nothing was changed")


# ---- one of them

def _note_model(disk):
    """Use the model that is kept of it only if that is to be trusted; whether there is one."""
    path = steps.fitting_model(disk)
    if not path:
        return False
    why = store.Model.of_file(path).header.get("distrusted")
    if why and not disk.options.idle_only:
        disk.options.idle_only = True
        disk.notes.append("the model that is kept of it is not trusted (%s): other requests are "
                          "left in their order, as by --idle-only" % why)
    return not why


def _load(mine, disk):
    """Have the model that is kept of it used; without it the disk is served, too."""
    try:
        return setup.take(steps.DISK["load"], mine, disk)
    except ToolError as error:
        disk.notes.append("without its model: %s" % error)
        return False


def enable(disk):
    """All steps; their names."""
    taken, mine, machine = [], book.Book(disk.key, disk.identity), book.machine()
    has_model = _note_model(disk)
    for step in steps.PLAIN:
        if step.name in steps.AT_BOOT and disk.options.no_boot:
            continue
        if step.name == "load":
            if has_model and _load(mine, disk):
                taken.append(step.name)
        elif setup.take(step, machine if step.name in steps.MACHINE else mine, disk):
            taken.append(step.name)
        if step.name == "scheduler" and disk.kernel.stuck():
            raise ToolError("%s: the module leaves this disk alone: %s" % (
                disk.name, disk.kernel.stuck()))
    return taken


def one(name, args):
    """Enable a disk; what to say of it."""
    options = argparse.Namespace(**{**vars(args), "disk": name})
    if args.measure_now:
        return setup.set_up(options)
    disk = steps.Disk(store.disk_of(name), name, options)
    check(disk)
    with lock.of_disk(name, "%s: setup or off of it is at work" % name):
        try:
            taken = enable(disk)
        except (ToolError, OSError, KeyboardInterrupt):
            print("freeblock: %s is enabled in part: freeblock off /dev/%s puts everything back" % (
                name, name), file=sys.stderr)
            raise
    return {"disk": name, "id": disk.key, "steps": taken, "notes": disk.notes,
            "knowledge": disk.kernel.state("knowledge"),
            "cost": costs.cost(disk.kernel)}


def show(done):
    """For people; said once: what a map would be good for, and that it need not be."""
    if "observed" in done:
        setup.show(done)
        return
    for note in done["notes"]:
        print("- " + one_line(note))
    name = done["disk"]
    level, _, why = (done["knowledge"] or "").partition(": ")
    print("%s: %s; %sfreeblock off /dev/%s puts everything back" % (
        name, "enabled" if done["steps"] else "was enabled already",
        "reads in idle time only: %s; " % why if why else
        "reads in idle time and in gaps; " if level else "", name))
    setup.show_cost(done)
    if done["steps"] and (done["knowledge"] or "").endswith(": no model"):
        print("  nothing more is needed. A map of the drive adds the gaps between requests: "
              "freeblock observe /dev/%s estimates the gain, freeblock setup /dev/%s measures the "
              "drive" % (name, name))


def run(args):
    """The subcommand."""
    need_one((args.disks, "DISK"), (args.all, "--all"))
    if not args.measure_now:
        need_defaults(args, "is for --measure-now", **MEASURING)
    if args.yes and not args.all:
        raise UsageError("--yes is for --all")
    if args.model and (args.all or len(args.disks) > 1):
        raise UsageError("--model is for one disk")
    setup.check_words(args)
    found, wrong = [], []
    disks, left = chosen(args)
    if not args.measure_now:
        setup.check_machine(args)
    for line in left if not args.quiet else ():
        print(one_line(line), file=sys.stderr)
    need_room(disks, conf.load())
    if args.all and not args.yes:
        confirm(disks)
    for name in disks:
        try:
            if args.measure_now:
                found.append(one(name, args))
            else:
                with book.locked():
                    found.append(one(name, args))
        except (ToolError, OSError) as error:
            if len(disks) == 1:
                raise
            wrong.append("%s: %s" % (name, error) if not str(error).startswith(name) else
                         str(error))
            continue
        if not args.json:
            show(found[-1])
    if args.json:
        print(json.dumps(found, indent=1))
    if wrong:
        raise ToolError("\n".join(wrong))
    return 0
