# SPDX-License-Identifier: GPL-2.0
"""guard: whether freeblock is started at boot, and why not; what its units call."""

import json

from ..machine import guard

ACTIONS = {
    "status": "say whether it would be started when a disk appears, and why not",
    "allow": "have it started again, after it was kept off",
    "passed": "ten minutes went well, or the machine is shut down (the units say this)",
}


STATUSES = {1: "guard status: freeblock is not started at boot; or an error."}
EXAMPLES = (
    ("freeblock guard status", "Say whether freeblock is started at boot."),
    ("freeblock guard allow", "Have it started again, after it was kept off."),
)


def add_parser(subparsers):
    """Add `guard`."""
    parser = subparsers.add_parser(
        "guard", help="show or allow the start at boot",
        description="A crash of the machine within ten minutes after the start of freeblock "
        "disables its start at boot, until `guard allow`, `setup` or `models enable`. The word "
        "freeblock.off=1 on the kernel command line disables it for one boot.")
    kinds = parser.add_subparsers(dest="action", required=True, metavar="WHAT")
    for name, text in ACTIONS.items():
        kind = kinds.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        kind.set_defaults(run=run)
        if name == "status":
            kind.add_argument("--json", action="store_true", help="as an object")


def run(args):
    """The subcommand; the status of `status` is 1 if it stays off."""
    if args.action == "status":
        why = guard.look().reason
        if args.json:
            print(json.dumps({"starts": not why, "reason": why or None}))
        else:
            print(guard.words(why) if why else
                  "freeblock is started when disks with models appear, if that is enabled")
        return 1 if why else 0
    getattr(guard, args.action)()
    return 0
