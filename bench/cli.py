# SPDX-License-Identifier: GPL-2.0
"""The command line of freeblock-bench."""

from freeblock import cli

ABOUT = "What the freeblock scheduler and its simulated drive are measured with."


def make_parser(word=None):
    """The parser of the subcommand `word`, or of all of them."""
    return cli.make_parser(word, "freeblock-bench", __package__, ABOUT)


def main(argv):
    """Run the subcommand that `argv` names; its exit status."""
    return cli.run("freeblock-bench", lambda: make_parser(argv[0] if argv else None), argv)
