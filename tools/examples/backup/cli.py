# SPDX-License-Identifier: GPL-2.0
"""The commands: create, abort, check, restore."""

import argparse
import json
import os
import sys

from . import BackupError, files, passes, restore
from .cow import TableError
from .progress import Bytes
from .snapshot import Invalid

UNREADABLE, INVALID = 3, 4      # exit statuses


def create(args, signals):
    """Make an image, or go on with one."""
    if args.chunk < 4 or args.chunk & (args.chunk - 1):
        raise BackupError("--chunk: %d is not a power of two, 4 at least" % args.chunk)
    os.nice(19)
    result = passes.Backup(args, signals).run()
    return result, UNREADABLE if result["unreadable"] else os.EX_OK


def abort(args, _signals):
    """Undo."""
    return passes.abort(args), os.EX_OK


def check(args, signals):
    """Compare with the digests."""
    return restore.check(args, _progress("checking", args), signals), os.EX_OK


def write_back(args, signals):
    """Restore."""
    result = restore.restore(args, _progress("restoring", args), signals)
    return result, UNREADABLE if result["unreadable"] else os.EX_OK


def _progress(what, args):
    about = files.load(files.Paths(args.image).about) or {"bytes": 0}
    return Bytes(what, about["bytes"], quiet=args.quiet)


def say(result, args):
    """What came of it."""
    if args.json:
        print(json.dumps(result, indent=1))
        return
    words = ["%s: %s" % (result["image"], result["state"])]
    if "bytes" in result:
        words.append("%d bytes" % result["bytes"])
    if result["state"] == "complete":
        words.append("of %s, which was frozen for %.0f ms; %d chunks overwritten meanwhile, the "
                     "store %d %% full%s" % (
                         result["origin"], result["frozen_ms"], result["exceptions"],
                         100 * result["store_used"] // result["store_bytes"],
                         "; verified" if result["verified"] else ""))
    print(", ".join(words))
    for first, sectors in result.get("unreadable", ()):
        print("unreadable: sector %d, %d long" % (first, sectors))


class Parser(argparse.ArgumentParser):
    """Also of the subcommands: what begins like an option is none."""

    def __init__(self, **more):
        super().__init__(allow_abbrev=False, **more)


def parser():
    """Of the command line."""
    top = Parser(
        prog="freeblock-backup", description="An image of a mounted disk at one point in time, "
        "read in the gaps of its foreground. Exit status: 0 good; 1 an error; 2 usage; 3 blocks "
        "could not be read; 4 the image is invalid; 129, 130, 143 interrupted.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    common = Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print the result as an object")
    common.add_argument("--quiet", action="store_true", help="no progress")

    def command(name, run, about):
        one = commands.add_parser(name, help=about, parents=[common])
        one.set_defaults(run=run)
        return one

    one = command("create", create, "make an image; interrupted, the same command goes on")
    one.add_argument("origin", metavar="ORIGIN",
                     help="the dm device snapshot-origin on which the file system is")
    one.add_argument("image", metavar="IMAGE", help="a file that is not there; on another disk")
    one.add_argument("--cow", required=True, metavar="DEVICE", help="block device, better of "
                     "another disk, to which chunks are copied before they are overwritten")
    one.add_argument("--overwrite-cow", action="store_true", help="whatever is on it")
    one.add_argument("--chunk", type=int, default=16, metavar="KIB", help="size of these (16)")
    one.add_argument("--verify", action="store_true", help="compare with the snapshot at the end")
    one.add_argument("--priority", type=int, default=0, metavar="N",
                     help="among freeblock's tasks, -4 to 3 (0)")
    one = command("abort", abort, "undo what an interrupted create has made")
    one.add_argument("image", metavar="IMAGE")
    one = command("check", check, "compare an image with its digests")
    one.add_argument("image", metavar="IMAGE")
    one = command("restore", write_back, "write an image to a device")
    one.add_argument("image", metavar="IMAGE")
    one.add_argument("device", metavar="DEVICE")
    return top


def main(argv):
    """Run a command; its exit status."""
    args = parser().parse_args(argv)
    signals = passes.Signals()
    try:
        result, status = args.run(args, signals)
        say(result, args)
        return status
    except passes.Interrupted:
        print("freeblock-backup: interrupted%s" % (
            "; the same command goes on, abort undoes it" if args.command == "create" else ""),
              file=sys.stderr)
        return 128 + signals.came
    except Invalid as error:
        return _failed(error, args, INVALID, "invalid")
    except (BackupError, TableError, OSError) as error:
        return _failed(error, args, 1, "failed")


def _failed(error, args, status, state):
    print("freeblock-backup: %s" % error, file=sys.stderr)
    if args.json:
        print(json.dumps({"image": os.path.abspath(args.image), "state": state,
                          "reason": str(error)}, indent=1))
    return status
