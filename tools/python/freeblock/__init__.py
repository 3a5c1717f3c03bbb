# SPDX-License-Identifier: GPL-2.0
"""The modules behind tools/freeblock.

A module with a function add_parser(subparsers) is a subcommand: it adds its
parser there and sets the default "run" to a function of the arguments that
returns the exit status. numpy and the like are imported by what needs them,
when it runs.
"""

# As debian/changelog and the module's package have it (tests/lab/test_packages.py)
__version__ = "0.1"


class ToolError(Exception):
    """What the user did or gave is wrong: shown without a traceback."""


class UsageError(ToolError):
    """The command line is wrong: the exit status is argparse's."""
