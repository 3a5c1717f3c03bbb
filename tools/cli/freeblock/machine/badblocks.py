# SPDX-License-Identifier: GPL-2.0
"""The blocks of a disk that could not be read, in /var/lib/freeblock/<id>.bad, and the budget of
new ones: a scrub of freeblock.conf that exceeds it waits until a person allows more.

The file is a JSON object: "allowed", when somebody last did; "blocks", a list of [first sector,
sectors, when it was found]; "listed", a list of [first sector, how often it was found] as the
module last listed them: a block that is good again stays in that list, and is new only when it is
found once more. Times are seconds since 1970.
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


def _are_whole(rows, length, least):
    """Whether these are lists of so many numbers, of which that at `least` is not 0."""
    return isinstance(rows, list) and all(
        isinstance(row, list) and list(map(type, row)) == [int] * length and min(row) >= 0 and
        row[least] for row in rows)


def _read(path):
    """("allowed", {first sector: (sectors, when it was found)}, {first sector: how often}) of a
    file; none of a spoilt one."""
    said = records.read(path)
    allowed, blocks, seen = (said.get("allowed", 0), said.get("blocks", []),
                             said.get("listed", []))
    if type(allowed) is not int or not _are_whole(blocks, 3, 1) or not _are_whole(seen, 2, 1):
        return 0, {}, {}
    return allowed, {first: (sectors, found) for first, sectors, found in blocks}, dict(seen)


def load(ident):
    """("allowed", {first sector: (sectors, when it was found)}) of a disk."""
    return _read(path_of(ident))[:2]


def _keep(ident, allowed, blocks, seen):
    newest = sorted(blocks, key=lambda first: blocks[first][1])[-MOST:]
    records.write(path_of(ident), {
        "allowed": allowed, "blocks": [[first, *blocks[first]] for first in sorted(newest)],
        "listed": [list(one) for one in sorted(seen.items())]})


def _listed(disk):
    """{first sector: (sectors, how often it was found)} by the module, since it was loaded."""
    words = [line.split() for line in disk.table("bad_blocks").splitlines()]
    # an older module does not count
    return {fbstate.count(one[0]): (fbstate.count(one[1]),
                                    fbstate.count(one[3]) if len(one) > 3 else 1)
            for one in words}


def note(disk, ident, now=None):
    """Put those that the module lists on record, and keep when each was first found."""
    if fbstate.hidden():
        return
    now = int(time.time()) if now is None else now
    allowed, blocks, before = _read(path_of(ident))
    listed = _listed(disk)
    seen = {first: times for first, (_, times) in listed.items()}
    new = {first: (sectors, now) for first, (sectors, times) in listed.items()
           if first not in blocks and times != before.get(first)}
    if seen != before:
        _keep(ident, allowed, {**blocks, **new}, seen)


def forget(ident, is_good):
    """Those that a pass has verified, or md has rewritten, are good again. is_good: of a first
    sector."""
    allowed, blocks, seen = _read(path_of(ident))
    left = {first: block for first, block in blocks.items() if not is_good(first)}
    if len(left) < len(blocks):
        _keep(ident, allowed, left, seen)


def allow(ident):
    """Somebody has seen those of now; how many were new."""
    allowed, blocks, seen = _read(path_of(ident))
    now = int(time.time())
    _keep(ident, now, blocks, seen)
    return len(_since(allowed, blocks, 0))


def _since(allowed, blocks, began):
    """When those were found that a pass which began then has found, and nobody has allowed."""
    return [found for _, found in blocks.values() if found > allowed and found >= began]


def _busiest_day():
    """On how many disks new blocks were found within a day, at most."""
    folder, times = fbstate.path(FOLDER), []
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.endswith(ENDING):
            allowed, blocks, _ = _read(os.path.join(folder, name))
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
