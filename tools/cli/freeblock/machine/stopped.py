# SPDX-License-Identifier: GPL-2.0
"""Disks on which free reads were stopped for good, for what they cost (Documentation/cost.rst): the
module forgets that at a boot, so it is on record in /var/lib/freeblock/stopped, until somebody
acts.
"""

import contextlib
import os

from .. import fbstate
from ..base import safe_file
from ..drive import names
from ..state import costs
from . import book

FOLDER = book.STATES + "/stopped"


def path_of(identity):
    """Where a disk's record is."""
    return fbstate.path(FOLDER, names.key(identity))


def words(disk):
    """What the module says, of a disk that is stopped for good; else None."""
    said = costs.cost(disk)["stopped"] or ""
    return said if said.startswith("stopped for good") else None


def keep(identity, said):
    """Put it on record."""
    safe_file.write_file(path_of(identity), said.encode() + b"\n")


def forget(identity):
    """Somebody has acted."""
    if not names.is_known(identity):
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path_of(identity))


def restore(identity):
    """Stop free reads on a disk that has just got the scheduler, if they are to be; what it was
    stopped for, or None. Not where nothing is measured: somebody wants it so."""
    disk = fbstate.Disk(identity["name"])
    said = fbstate.read(FOLDER, names.key(identity)) if names.is_known(identity) else None
    if said is None or disk.read("trial") != "1":
        return None
    disk.write("trial", "stop")
    return said
