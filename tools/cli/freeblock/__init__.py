# SPDX-License-Identifier: GPL-2.0
"""The package behind tools/freeblock. Programs of others import background and fbstate,
tracefile.read(), and sim.simulate(); folders are layers (pyproject.toml).

numpy and the like are imported by what needs them, when it runs.
"""

# As debian/changelog and the module's package have it (tests/lab/test_packages.py)
__version__ = "0.2.0"

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


class NoDevice(UsageError):
    """A device is named that is not there."""

    def __init__(self, name):
        super().__init__("%s: no such block device" % (
            name if "/" in name or not name else "/dev/" + name))


def need_one(*ways):
    """UsageError unless one of these was given, and no more: (value, what the user calls it)."""
    given = [name for value, name in ways if value]
    names = [name for _, name in ways]
    if not given:
        raise UsageError("specify %s or %s" % (", ".join(names[:-1]), names[-1]))
    need_at_most_one(*ways)


def need_at_most_one(*ways):
    """The same, but that none may be."""
    given = [name for value, name in ways if value]
    if len(given) > 1:
        raise UsageError("specify only one of %s" % ", ".join(given))


def need_range(name, value, least, most=None, over=False):
    """UsageError if a value is outside of its bounds; `over`: the least is outside, too."""
    if value >= least and (most is None or value <= most) and not (over and value == least):
        return
    raise UsageError("%s: %g is %s" % (
        name, value, "less than %g" % least if most is None else
        "not over %g and at most %g" % (least, most) if over else
        "not between %g and %g" % (least, most)))


def need_defaults(args, why, **defaults):
    """UsageError for the first of these options that says something else, and would be ignored."""
    for name, default in defaults.items():
        if getattr(args, name) != default:
            raise UsageError("--%s %s" % (name.replace("_", "-"), why))
