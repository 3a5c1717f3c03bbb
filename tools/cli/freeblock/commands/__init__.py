# SPDX-License-Identifier: GPL-2.0
"""The subcommands, a module each.

Its function add_parser(subparsers) adds a parser whose default "run" is a function of the
arguments that returns the exit status. Its STATUSES and EXAMPLES (command line, what it does) are
printed by its help and its manual page.
"""
