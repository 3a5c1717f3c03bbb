# SPDX-License-Identifier: GPL-2.0
"""Why a scrub of freeblock.conf waits, in /run/freeblock/waits/<disk>: written by the program that
holds it, shown by status.
"""

import contextlib
import os

from .. import fbstate
from ..extraction import journal

FOLDER = "run/freeblock/waits"


def note(name, why):
    """A disk's scrub waits for that; None: it does not wait."""
    if read(name) == why:
        return
    path = fbstate.path(FOLDER, name)
    if why:
        journal.make_directory(os.path.dirname(path))
        journal.write_file(path, why.encode())
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def read(name):
    """What was noted, or None."""
    return fbstate.read(FOLDER, name) or None


def forget():
    """Of all disks: freeblock is off."""
    folder = fbstate.path(FOLDER)
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        os.unlink(os.path.join(folder, name))
    with contextlib.suppress(OSError):
        os.rmdir(folder)
