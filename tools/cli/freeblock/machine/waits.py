# SPDX-License-Identifier: GPL-2.0
"""Why a scrub of freeblock.conf waits, in /run/freeblock/waits/<disk>, written by the program that
holds it and shown by status; and since when one is paused that no program holds, in
/run/freeblock/paused/<disk>, seconds since 1970.
"""

import contextlib
import os

from .. import fbstate
from ..base import advice, safe_file

FOLDER, PAUSED = "run/freeblock/waits", "run/freeblock/paused"
LONG_S = 86400                  # a scrub that is paused for longer was forgotten


def _put(folder, name, text):
    """A file of a disk; None: there is none."""
    if fbstate.read(folder, name) == text:
        return
    path = fbstate.path(folder, name)
    if text:
        safe_file.write_file(path, text.encode())
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def note(name, why):
    """A disk's scrub waits for that; None: it does not wait."""
    _put(FOLDER, name, why)


def read(name):
    """What was noted, or None."""
    return fbstate.read(FOLDER, name) or None


def look(disk, now):
    """Note since when a disk's scrub is paused that no program holds."""
    is_paused = disk.read("scrub") == "paused" and not read(disk.name)
    _put(PAUSED, disk.name, (fbstate.read(PAUSED, disk.name) or "%d" % now) if is_paused else None)


def forgotten(disk, now):
    """What is to be said of a scrub that is paused for long; None: there is none."""
    since = fbstate.count(fbstate.read(PAUSED, disk.name))
    if not since or now - since <= LONG_S or disk.read("scrub") != "paused":
        return None
    return advice.with_run("the scrub is paused for %s" % fbstate.span(now - since),
                           "freeblock scrub %s resume" % disk.name)


def forget():
    """Of all disks: freeblock is off."""
    for folder in map(fbstate.path, (FOLDER, PAUSED)):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            os.unlink(os.path.join(folder, name))
        with contextlib.suppress(OSError):
            os.rmdir(folder)
