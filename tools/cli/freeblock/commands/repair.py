# SPDX-License-Identifier: GPL-2.0
"""repair: let md rewrite the bad blocks that a scrub has found, from other members of the array."""

import contextlib
import json
import os
import signal
import sys

from .. import ToolError, UsageError, fbstate
from ..base.streams import one_line
from ..drive import names, store
from ..machine import badblocks, mdcheck

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
        "read, and only counts sectors that differ. A member that refuses the write is failed by "
        "md. freeblock itself writes nothing to a disk. An array that is degraded, busy, or has "
        "another bad sector there is left alone.")
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
        len({block for one in windows for block in one.blocks}), name), end="", file=sys.stderr,
        flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ToolError("nothing was changed")


@contextlib.contextmanager
def ended_by_signals():
    """What ends us, as a terminal that goes does, leaves no check half-way."""
    def end(number, _):
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def repair(name, window, dry):
    """What comes of the blocks of a window: (block, state, words) each."""
    try:
        why = mdcheck.refusal(window)
        if why or dry:
            return [(block, "left" if why else "would", why or "%s would check sectors %d to %d" % (
                window.array, window.first, window.last - 1)) for block in window.blocks]
        return repaired(name, window)
    except (ToolError, OSError) as error:
        return [(block, "left", str(error)) for block in window.blocks]


def repaired(name, window):
    """The same of one that md checks now."""
    with ended_by_signals():
        differ = mdcheck.check(window)
    why = mdcheck.refusal(window)
    if why:
        return [(block, "left", "after the check: " + why) for block in window.blocks]
    also = "; %d sectors of the window differ between members: md has not changed them" % differ \
        if differ else ""
    return [(block, "repaired", "rewritten by " + window.array + also)
            if mdcheck.readable(name, *block) else
            (block, "left", "%s has checked it, and it still cannot be read%s" %
             (window.array, also)) for block in window.blocks]


def run(args):
    """All bad blocks on record."""
    disk = fbstate.Disk(os.path.basename(os.path.realpath(
        fbstate.path(fbstate.need_device(args.disk)))))
    who = store.disk_of(disk.name)
    if not names.is_known(who):
        raise ToolError("%s has no serial number: no bad blocks are on record" % disk.name)
    ident = names.key(who)
    if disk.name in fbstate.names():
        badblocks.note(disk, ident)
    blocks = [(first, sectors) for first, (sectors, _) in sorted(badblocks.load(ident)[1].items())]
    well = [block for block in blocks if mdcheck.readable(disk.name, *block)]
    windows, left = mdcheck.windows(disk.name, [block for block in blocks if block not in well])
    for _, line in () if args.dry_run else mdcheck.put_back_all():
        print(one_line(line), file=sys.stderr)
    if windows and not args.dry_run and not args.yes:
        confirm(disk.name, windows)
    found = [(block, "readable", "can be read again") for block in well] + \
        [(block, "left", why) for block, why in left]
    for window in windows:
        found += repair(disk.name, window, args.dry_run)
    # a block in several windows is what the worst of them is
    worst = {block: (block, state, words) for block, state, words in
             sorted(found, key=lambda one: one[1] == "left")}
    found = [worst[block] for block in sorted(worst)]
    if not args.dry_run:
        good = {block[0] for block, state, _ in found if state != "left"}
        badblocks.forget(ident, good.__contains__)
    report(disk.name, found, args.json)
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
