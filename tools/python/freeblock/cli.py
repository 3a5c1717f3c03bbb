# SPDX-License-Identifier: GPL-2.0
"""The command line: finds the subcommands and runs one."""

import argparse
import errno
import importlib
import os
import pkgutil
import sys

from . import ToolError, UsageError, __path__, __version__

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def commands(word, more):
    """The modules of this package, and of more, that are subcommands, that of this name first."""
    places = [(__package__, __path__)] + [(one.__name__, one.__path__) for one in more]
    names = [(found.name, package) for package, path in places
             for found in pkgutil.iter_modules(path)
             if found.name != "cli" and not found.ispkg]
    first = word and word.replace("-", "_")
    for name, package in sorted(names, key=lambda pair: pair[0] != first):
        module = importlib.import_module("%s.%s" % (package, name))
        if hasattr(module, "add_parser"):
            yield module


def make_parser(word=None, more=()):
    """The parser of the subcommand `word` of this package or of `more`, or of all of them."""
    parser = argparse.ArgumentParser(prog="freeblock", description=(
        "Tools for the freeblock scheduler's drives and models."))
    parser.add_argument("--version", action="version", version="freeblock " + __version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in commands(word, more):
        module.add_parser(subparsers)
        # restore must not depend, early in a boot, on what others import
        if word in subparsers.choices:
            break
    return parser


def main(argv=None, more=()):
    """Run the subcommand that `argv` names, of this package or of `more`; its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    args = make_parser(argv[0] if argv else None, more).parse_args(argv)
    try:
        return args.run(args)
    except ToolError as error:
        print("freeblock: %s" % error, file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        # who read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        # a file that the user named, or that is not where it should be; or its disk is full
        if error.filename is None and error.errno not in UNWRITABLE:
            raise
        print("freeblock: %s: %s" % (error.filename or "what is written", error.strerror),
              file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("freeblock: interrupted", file=sys.stderr)
        return 130
