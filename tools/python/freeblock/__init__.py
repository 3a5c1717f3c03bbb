# SPDX-License-Identifier: GPL-2.0
"""The modules behind tools/freeblock.

A module with a function add_parser(subparsers) is a subcommand: it adds its
parser there and sets the default "run" to a function of the arguments that
returns the exit status. Its STATUSES and EXAMPLES (command line, what it does) are printed by its
help and its manual page. numpy and the like are imported by what needs them,
when it runs.
"""

# As debian/changelog and the module's package have it (tests/lab/test_packages.py)
__version__ = "0.1"

# What the exit status of every command means. A command that has others, or means more by one of
# these, says so in STATUSES of its module: its help and its manual page print both
STATUSES = {
    0: "Success.",
    1: "An error, a bad result, or output that could not be written.",
    2: "The command line is wrong.",
    130: "Interrupted by SIGINT.",
}


class ToolError(Exception):
    """What the user did or gave is wrong: shown without a traceback."""


class UsageError(ToolError):
    """The command line is wrong: the exit status is argparse's."""


def need_defaults(args, why, **defaults):
    """UsageError for the first of these options that says something else, and would be ignored."""
    for name, default in defaults.items():
        if getattr(args, name) != default:
            raise UsageError("--%s %s" % (name.replace("_", "-"), why))
