# SPDX-License-Identifier: GPL-2.0
"""The blocks of a disk that could not be read, in /var/lib/freeblock/<id>.bad, and the budget of
new ones: a scrub of freeblock.conf that exceeds it waits until a person allows more.

The file is a JSON object: "allowed", when somebody last did; "blocks", a list of [first sector,
sectors, when it was found]. Times are seconds since 1970.
"""

import os
import time

from .. import ToolError, fbstate
from ..drive import names, store
from . import records

FOLDER = "var/lib/freeblock"
ENDING = ".bad"
MOST = 4096                     # blocks on record, the newest; the module lists 512
DAY_S = 86400
ALLOW = "freeblock scrub %s allow"


def path_of(ident):
    """Where they are; ident: of the kernel's file id."""
    return fbstate.path(FOLDER, ident.replace("/", "_") + ENDING)


def _is_whole(allowed, blocks):
    """Whether a file has what one of ours has."""
    return type(allowed) is int and isinstance(blocks, list) and all(
        isinstance(block, list) and list(map(type, block)) == [int] * 3 and min(block) >= 0 and
        block[1] for block in blocks)


def _read(path):
    """("allowed", {first sector: (sectors, when it was found)}) of a file; none of a spoilt one."""
    said = records.read(path)
    allowed, blocks = said.get("allowed", 0), said.get("blocks", [])
    if not _is_whole(allowed, blocks):
        return 0, {}
    return allowed, {first: (sectors, found) for first, sectors, found in blocks}


def load(ident):
    """The same of a disk."""
    return _read(path_of(ident))


def _keep(ident, allowed, blocks):
    newest = sorted(blocks, key=lambda first: blocks[first][1])[-MOST:]
    said = {"allowed": allowed, "blocks": [[first, *blocks[first]] for first in sorted(newest)]}
    records.write(path_of(ident), said)


def note(disk, ident, now=None):
    """Put those that the module lists on record, and keep when each was first found."""
    if fbstate.hidden():
        return
    now = int(time.time()) if now is None else now
    allowed, blocks = load(ident)
    listed = [tuple(map(fbstate.count, line.split()[:2]))
              for line in disk.table("bad_blocks").splitlines()]
    new = {first: (sectors, now) for first, sectors in listed if first not in blocks}
    if new:
        _keep(ident, allowed, {**blocks, **new})


def forget(ident, is_good):
    """A pass has ended: those that it has verified are good again. is_good: of a first sector."""
    allowed, blocks = load(ident)
    left = {first: block for first, block in blocks.items() if not is_good(first)}
    if len(left) < len(blocks):
        _keep(ident, allowed, left)


def allow(ident):
    """Somebody has seen those of now; how many were new."""
    allowed, blocks = load(ident)
    now = int(time.time())
    _keep(ident, now, blocks)
    return len(_since(allowed, blocks, 0))


def _since(allowed, blocks, began):
    """When those were found that a pass which began then has found, and nobody has allowed."""
    return [found for _, found in blocks.values() if found > allowed and found >= began]


def _busiest_day():
    """On how many disks new blocks were found within a day, at most."""
    folder, times = fbstate.path(FOLDER), []
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.endswith(ENDING):
            allowed, blocks = _read(os.path.join(folder, name))
            times += [(found, name) for found in _since(allowed, blocks, 0)]
    return max((len({name for other, name in times if begin <= other < begin + DAY_S})
                for begin, _ in times), default=0)


def held(name, said, began):
    """Why a scrub waits for somebody; None: it does not. said: as of Conf.of(); began: when the
    pass did, None: it has not."""
    disk = store.disk_of(name)
    most, most_disks = said["max_bad_blocks"], said["max_bad_disks"]
    if not names.is_known(disk):
        return None
    allowed, blocks = load(names.key(disk))
    new = 0 if began is None else len(_since(allowed, blocks, began))
    if most is not None and new > most:
        return "max_bad_blocks = %d: this pass has found %d new bad blocks; run: %s" % (
            most, new, ALLOW % name)
    disks = 0 if most_disks is None else _busiest_day()
    return "max_bad_disks = %d: new bad blocks on %d disks within a day; run: %s" % (
        most_disks, disks, ALLOW % "--all") if most_disks is not None and disks > most_disks else \
        None


def held_now(name, said, record):
    """The same of the pass that is under way; None, too, if the disk is gone."""
    try:
        return held(name, said, record["began"]) if record and record["began"] else None
    except (ToolError, OSError):
        return None
