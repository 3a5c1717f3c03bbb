# SPDX-License-Identifier: GPL-2.0
"""repair: let md rewrite the bad blocks that a scrub has found, from other members of the array."""

import json
import os
import sys

from . import ToolError, UsageError, fbstate
from .machine import badblocks, mdcheck
from .extraction import identity as names
from .extraction import store

LEFT = 3
STATUSES = {LEFT: "A block is left that cannot be read."}
EXAMPLES = (
    ("freeblock repair sda --dry-run", "Show what would be done for each bad block."),
    ("freeblock repair sda", "Ask, and let md rewrite the bad blocks of sda."),
)


def add_parser(subparsers):
    """Add `repair`."""
    parser = subparsers.add_parser(
        "repair", help="let md rewrite bad blocks from an array's redundancy",
        description="Let the md array of a disk check a small window around each bad block that a "
        "scrub has found. This is md's check, never its repair. md rewrites sectors that it cannot "
        "read, and only counts sectors that differ. freeblock itself writes nothing to a disk. An "
        "array that is degraded, busy, or has another bad sector there is left alone.")
    parser.add_argument("disk", metavar="DISK", help="sdX, as root")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    parser.add_argument("--json", action="store_true", help="print a JSON list, an object a block")
    parser.set_defaults(run=run)


def confirm(name, windows):
    """Ask at a terminal; UsageError where there is none."""
    if not sys.stdin.isatty():
        raise UsageError("repair needs --yes, or --dry-run, where there is no terminal to ask")
    print("Let %s rewrite %d bad blocks of %s? [y/N] " % (
        ", ".join(sorted({one.array for one in windows})),
        sum(len(one.blocks) for one in windows), name), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ToolError("nothing was changed")


def repair(name, window, dry):
    """What comes of the blocks of a window: (block, state, words) each."""
    why = mdcheck.refusal(window)
    if why or dry:
        return [(block, "left" if why else "would", why or "%s would check sectors %d to %d" % (
            window.array, window.first, window.last - 1)) for block in window.blocks]
    try:
        differ = mdcheck.check(window)
    except ToolError as error:
        return [(block, "left", str(error)) for block in window.blocks]
    also = "; %d sectors of the window differ between members: md has not changed them" % differ \
        if differ else ""
    return [(block, "repaired", "rewritten by " + window.array + also)
            if mdcheck.readable(name, *block) else
            (block, "left", "%s has checked it, and it still cannot be read%s" %
             (window.array, also)) for block in window.blocks]


def run(args):
    """All bad blocks on record."""
    disk = fbstate.Disk(os.path.basename(fbstate.need_device(args.disk)))
    who = store.disk_of(disk.name)
    if not names.is_known(who):
        raise ToolError("%s has no serial number: no bad blocks are on record" % disk.name)
    ident = names.key(who)
    if disk.name in fbstate.names():
        badblocks.note(disk, ident)
    blocks = [(first, sectors) for first, (sectors, _) in sorted(badblocks.load(ident)[1].items())]
    well = [block for block in blocks if mdcheck.readable(disk.name, *block)]
    windows, left = mdcheck.windows(disk.name, [block for block in blocks if block not in well])
    if windows and not args.dry_run and not args.yes:
        confirm(disk.name, windows)
    found = [(block, "readable", "can be read again") for block in well] + \
        [(block, "left", why) for block, why in left]
    for window in windows:
        found += repair(disk.name, window, args.dry_run)
    if not args.dry_run:
        mended = {block[0] for block, state, _ in found if state in ("repaired", "readable")}
        badblocks.forget(ident, mended.__contains__)
    report(disk.name, sorted(found), args.json)
    return LEFT if any(state == "left" for _, state, _ in found) else 0


def report(name, found, as_json):
    """A line a block and a total, or a list."""
    if as_json:
        print(json.dumps([{"first": block[0], "sectors": block[1], "state": state, "why": words}
                          for block, state, words in found], indent=1))
        return
    for block, _, words in found:
        print("sector %d+%d: %s" % (*block, words))
    states = [state for _, state, _ in found]
    print("%s: %d bad blocks, %d repaired, %d can be read again, %d left" % (
        name, len(found), states.count("repaired"), states.count("readable"),
        states.count("left")))
