# SPDX-License-Identifier: GPL-2.0
"""apply: bring the machine to what /etc/freeblock.conf says, for programs that run it again and
again: it changes what differs, and its exit status says whether that was anything.
"""

import argparse
import sys

from .. import ToolError, fbstate
from ..base.streams import one_line
from ..drive import names, store
from ..machine import book, conf, enabled, kinds
from . import enable

CHANGED = 3
STATUSES = {
    1: "A disk could not be changed; or an error, such as a mistake in freeblock.conf.",
    CHANGED: "Something was changed; with --check: would be.",
}
EXAMPLES = (
    ("freeblock apply", "Enable the disks of freeblock.conf, and set their limits."),
    ("freeblock apply --check --diff", "Show what would be changed, and change nothing."),
)


def add_parser(subparsers):
    """Add `apply`."""
    parser = subparsers.add_parser(
        "apply", help="bring the machine to the state of /etc/freeblock.conf",
        description="Enable the disks for which freeblock.conf(5) sets enable = yes, and set its "
        "limits on all disks that have the scheduler. Takes no disk away: see freeblock off.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--diff", action="store_true", help="show old and new values")
    parser.set_defaults(run=run, json=False)


def to_enable(said):
    """Names of disks that are to get the scheduler, and do not have it."""
    served = enabled.served()
    return [disk["name"] for disk in store.disks()
            if said.of(disk)["enable"] == "yes" and names.is_known(disk) and
            not kinds.unfit(disk["name"]) and disk not in served]


def _enable(name):
    """As freeblock enable does, without options."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    enable.add_parser(parser.add_subparsers())
    with book.locked():
        enable.one(name, parser.parse_args(["enable", "/dev/" + name, "--quiet"]))


def _line(name, key, old, new, diff):
    return "%s: %s %s" % (name, key, "%s -> %s" % (old, new) if diff else new)


def enable_all(said, args):
    """(how many disks got the scheduler, what went wrong)"""
    wrong = []
    found = to_enable(said)
    enable.need_room(found, said)
    for name in found:
        try:
            old = fbstate.Disk(name).scheduler()
            if not args.check:
                _enable(name)
            print(_line(name, "scheduler", old, "freeblock", args.diff))
        except (ToolError, OSError) as error:
            wrong.append("%s: %s" % (name, error))
    return len(found) - len(wrong), wrong


def set_all(said, args):
    """(how many values differed, what went wrong)"""
    changed, wrong = 0, []
    for disk in enabled.served():
        try:
            for change in conf.changes(disk, said):
                if not args.check:
                    conf.write(disk["name"], change)
                print(one_line(_line(disk["name"], change.key, change.old, change.new, args.diff)))
                changed += 1
        except (ToolError, OSError) as error:
            wrong.append(str(error))
    return changed, wrong


def run(args):
    """The subcommand."""
    said = conf.load()
    started, wrong = enable_all(said, args)
    changed, more = set_all(said, args)
    if wrong + more:
        print("freeblock: %d values were changed" % (started + changed), file=sys.stderr)
        raise ToolError("\n".join(wrong + more))
    return CHANGED if started + changed else 0
