# SPDX-License-Identifier: GPL-2.0
"""The command line: finds the subcommands and runs one."""

import argparse
import errno
import importlib
import pkgutil
import re
import sys

from . import STATUSES, ToolError, UsageError, __version__
from .base import streams

ABOUT = "Control freeblock, an I/O scheduler that reads a disk in the background while it is " \
    "busy or idle. Start with enable, then scrub or scan; off undoes everything."
# Where they are
COMMANDS = __package__ + ".commands"
EXAMPLES = (
    ("freeblock enable /dev/sda", "Use the scheduler for a disk, now and after each boot."),
    ("freeblock setup /dev/sda", "Also measure the drive, to read in the gaps between requests."),
    ("freeblock scrub sda run", "Verify the whole disk in the background."),
    ("freeblock status sda", "Show the progress, and the cost for other requests."),
    ("freeblock off sda", "Undo enable and setup."),
)
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
# Commands of freeblock-bench, with which freeblock is measured: it is no part of what is installed
RESEARCH = ("bench", "bench-extract", "bench-scrub", "fidelity", "figures", "peers", "pictures",
            "validate-predict", "yardstick")


class Parser(argparse.ArgumentParser):
    """Of a program, and, as argparse makes them of the same class, of its subcommands. What begins
    like an option is none: it would become another's, or nobody's, with the next version."""

    examples: tuple = ()
    # status -> what it means
    statuses: dict = {}

    def __init__(self, **more):
        super().__init__(allow_abbrev=False, **more)

    def format_help(self):
        """argparse's, then examples and exit statuses."""
        text = super().format_help()
        for title, lines in (
                ("examples", ["  %s\n      %s" % one for one in self.examples]),
                ("exit status", ["  %-5d %s" % one for one in sorted(self.statuses.items())])):
            if lines:
                text += "\n%s:\n%s\n" % (title, "\n".join(lines))
        return text


def _commands(package, word):
    """The modules of a package that are subcommands, that of this name first."""
    folder = importlib.import_module(package).__path__
    names = [found.name for found in pkgutil.iter_modules(folder)
             if found.name != "cli" and not found.ispkg]
    first = word and word.replace("-", "_")
    for name in sorted(names, key=lambda name: name != first):
        module = importlib.import_module("%s.%s" % (package, name))
        if hasattr(module, "add_parser"):
            yield module


def make_parser(word=None, prog="freeblock", package=COMMANDS, about=ABOUT):
    """The parser of the subcommand `word` of a program whose subcommands are modules of a
    package, or of all of them."""
    parser = Parser(prog=prog, description=about)
    if package == COMMANDS:
        parser.examples, parser.statuses = EXAMPLES, STATUSES
    parser.add_argument("--version", action="version", version="%s %s" % (prog, __version__))
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in _commands(package, word):
        module.add_parser(subparsers)
        command = list(subparsers.choices.values())[-1]
        command.statuses = {**STATUSES, **getattr(module, "STATUSES", {})}
        command.examples = getattr(module, "EXAMPLES", ())
        # restore must not depend, early in a boot, on what others import
        if word in subparsers.choices:
            break
    return parser


def run(prog, make, argv):
    """Run the subcommand that `argv` names of the program whose parser make() returns; its exit
    status."""
    with streams.Standard() as standard:
        status = _status(prog, make, argv)
        lost = standard.lost()
        if lost:
            print("%s: standard output: %s" % (prog, lost), file=sys.stderr)
        return status or int(bool(lost))


def _check_words(argv):
    """UsageError if one is empty, as of a variable that is not set: a command that is asked about
    nothing in particular would take that for all there is."""
    for before, word in zip(["", *argv], argv):
        if not word or re.fullmatch(r"--[\w-]+=", word):
            raise UsageError("''%s: an empty word: is a variable of the shell not set?" % (
                " behind " + (word[:-1] or before) if word or before else ""))


def _do(parser, argv):
    """Run the subcommand; its exit status, when all that it printed is on its way."""
    try:
        args = parser.parse_args(argv)
    except SystemExit as error:
        if error.code:
            raise
        # the help, which is output as any other
        status = 0
    else:
        _check_words(argv)
        status = args.run(args)
    sys.stdout.flush()
    return status


def _why(error):
    """What the system refused: a file that the user named, or that is not where it should be; its
    disk is full; or what every process has only so many of."""
    where = error.filename
    if where is None and error.errno in UNWRITABLE:
        where = "what is written"
    what = error.strerror or str(error)
    return streams.one_line(what if where is None else "%s: %s" % (where, what))


def _status(prog, make, argv):
    """Run the subcommand; its exit status, whatever comes of it."""
    try:
        return _do(make(), argv)
    except ToolError as error:
        # some say one thing a line
        print("\n".join(map(streams.one_line, ("%s: %s" % (
            prog, error)).expandtabs().split("\n"))),
              file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        streams.drop_results()
        return 1
    except ImportError as error:
        # others are parts of the product, or their users say what is to be done
        if error.name != "numpy":
            raise
        print("%s: %s needs the Debian package python3-numpy, which is not installed" % (
            prog, argv[0]), file=sys.stderr)
        return 1
    except OSError as error:
        print("%s: %s" % (prog, _why(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("%s: interrupted" % prog, file=sys.stderr)
        return 130


def _parser_of(word):
    """The parser of a subcommand of freeblock; it says where those are that it had once."""
    if word in RESEARCH:
        raise UsageError("'%s' measures freeblock itself: it is one of tools/freeblock-bench, "
                         "in a checkout" % word)
    return make_parser(word)


def main(argv=None):
    """Run the subcommand of freeblock that `argv` names; its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    return run("freeblock", lambda: _parser_of(argv[0] if argv else None), argv)
