# SPDX-License-Identifier: GPL-2.0
"""Openers, for open(): root writes in folders where others may have put a link."""

import errno
import os

from . import ToolError


def new_file(path, flags):
    """Make the file: what a killed process has left there, or somebody else has put there, a link
    say, is neither written to nor followed."""
    flags |= os.O_EXCL
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, 0o644)


def no_link(path, flags):
    """Refuse a symbolic link: it would have root read, or write over, a file of somebody else's
    choice."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ToolError("%s: a symbolic link, which is not followed: name the file itself" %
                            path) from error
        raise
