# SPDX-License-Identifier: GPL-2.0
"""Which disks are enabled: they get the scheduler when they appear, with a model or without.

A file for each in /etc/freeblock/enabled, named as its model is, without the firmware: "idle_only"
in it says that no foreground request is ordered, held or joined; "boot ID", that it counts
until that boot ends; "max_cost_us N", what free reads may add. freeblock.conf enables disks, too.
"""

from .. import ToolError, fbstate
from ..base import sealed
from ..drive import names, store
from . import kinds

FOLDER = "etc/freeblock/enabled"
IDLE_ONLY, BOOT, MAX_COST = "idle_only", "boot", "max_cost_us"


def served():
    """The disks that have the scheduler, each as of store.disk_of()."""
    return [disk for disk in store.disks()
            if fbstate.Disk(disk["name"]).scheduler() == "freeblock"]


def path_of(identity):
    """Where a disk's record is."""
    return fbstate.path(FOLDER, names.key(identity))


def text(idle_only, until_boot, cost_us=None):
    """What a record says."""
    return "".join(line + "\n" for line in (
        [IDLE_ONLY] * bool(idle_only) + ["%s %s" % (BOOT, sealed.boot_id())] * bool(until_boot) +
        ["%s %d" % (MAX_COST, cost_us or 0)] * (cost_us is not None)))


def read(identity):
    """The words of a disk's record; None: it has none, or one of an earlier boot."""
    if not names.is_known(identity):
        return None
    try:
        with open(path_of(identity), encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return None
    words = [line.strip() for line in lines]
    boots = [word.split()[1:] for word in words if word.split()[:1] == [BOOT]]
    return words if not boots or [sealed.boot_id()] in boots else None


def is_enabled(identity, said):
    """Whether a disk is to have the scheduler; said: as of Conf.of()."""
    return read(identity) is not None or said["enable"] == "yes"


def is_idle_only(identity, said):
    """Whether its foreground is to be left alone: 1 or 0; None: nothing says so."""
    words = read(identity)
    if words is not None and IDLE_ONLY in words:
        return 1
    if said["idle_only"] is not None or words is None:
        return said["idle_only"]
    # as the module has it by itself
    return int(fbstate.read("sys/module/freeblock/parameters/idle_only") == "Y")


def max_cost_us(identity):
    """What free reads may add to a request, on the mean; None: nothing says so."""
    costs = [word.split()[1:] for word in read(identity) or () if word.split()[:1] == [MAX_COST]]
    return int(costs[0][0]) if costs and costs[0] and costs[0][0].isdecimal() else None


def need_fit(name):
    """ToolError if nothing could be read from the disk."""
    why = kinds.unfit(name)
    if why:
        raise ToolError("%s is left alone: %s" % (name, why))
