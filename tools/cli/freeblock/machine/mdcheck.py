# SPDX-License-Identifier: GPL-2.0
"""Sectors of an md member that cannot be read, rewritten from the array's redundancy by md itself:
its check (never its repair) of a small window, md/sync_min to md/sync_max. Nothing is written to a
disk from here.

md rewrites what it cannot read during a check, and only counts what differs. Of a RAID1 it rewrites
the whole unit that it has read at once: so the window there is a page. The two files are in a
journal before they are changed. The end of the check puts them back; after a kill the next check or
`freeblock restore` does. md forgets them at a boot.
"""

import collections
import contextlib
import mmap
import os
import time

from .. import ToolError, fbstate
from ..base import safe_file, sealed
from . import lock
from .owner import folder, listed, number

FOLDER = "var/lib/freeblock/repair"
ENDING = ".json"
FORMAT = 1
# Levels whose sync_min counts sectors of a member (raid10's counts those of the array)
LEVELS = ("raid1", "raid4", "raid5", "raid6")
RESTING = ("clean", "active", "active-idle", "write-pending")
SECTOR = 512
PAGE = 8                        # sectors: md's least unit
STILL_S, LOOK_S = 300, 0.1      # a check that does not move so long has failed

Window = collections.namedtuple("Window", "array member first last blocks")
Window.__doc__ = "Sectors of the members' data, [first, last), and the disk's blocks in it."


def _md(array, *parts):
    return os.path.join("sys/class/block", array, "md", *parts)


def _said(array, *parts):
    return fbstate.read(_md(array, *parts)) or ""


def _write(array, file, value):
    try:
        with open(fbstate.path(_md(array, file)), "w", encoding="ascii") as out:
            out.write(str(value))
    except OSError as error:
        raise ToolError("%s: %s: %s: %s" % (array, file, value, error.strerror)) from error


def _members(disk):
    """(member, its first sector on the disk, array) of a disk and its partitions."""
    for device in [disk] + [name for name in listed(folder(disk)) if name.startswith(disk)]:
        begin = 0 if device == disk else number(device, "start")
        for holder in listed(folder(device, "holders")):
            # a container of volumes has none
            if fbstate.read(_md(holder, "level")):
                yield device, begin, holder


def _place(disk, first, sectors):
    """(array, member, first sector of the member's data) of a block; a ToolError: why none."""
    why = "no md array has it"
    for member, begin, array in _members(disk):
        at = first - begin
        if not 0 <= at < number(member, "size"):
            continue
        at -= fbstate.count(_said(array, "dev-" + member, "offset"))
        if at < 0 or at + sectors > 2 * fbstate.count(_said(array, "component_size")):
            why = "%s has no data there: it may be its superblock or bitmap" % array
        elif _said(array, "level") not in LEVELS:
            why = "%s is %s: only %s can be repaired" % (
                array, _said(array, "level"), ", ".join(LEVELS))
        else:
            return array, member, at
    raise ToolError(why)


def _units(disk, array, first, sectors):
    """(first, sectors) of what md is to rewrite of a block: of a RAID1 the pages that cannot be
    read, as it overwrites what it need not in those beside them."""
    if _said(array, "level") != "raid1":
        return [(first, sectors)]
    pages = [(at, min(PAGE, first + sectors - at)) for at in range(first, first + sectors, PAGE)]
    return [page for page in pages if not readable(disk, *page)]


def windows(disk, blocks):
    """([Window], [(block, why it is in none)]) of a disk's blocks, each (first, sectors)."""
    found, left = {}, []
    for first, sectors in blocks:
        try:
            array, member, at = _place(disk, first, sectors)
        except ToolError as why:
            left.append(((first, sectors), str(why)))
            continue
        least = max(PAGE, fbstate.count(_said(array, "chunk_size")) // SECTOR)
        for begin, length in _units(disk, array, first, sectors):
            begin += at - first
            end = min(-(-(begin + length) // least) * least,
                      2 * fbstate.count(_said(array, "component_size")))
            begin = begin // least * least
            one = found.setdefault((array, member, begin), Window(array, member, begin, end, []))
            found[array, member, begin] = one._replace(last=max(one.last, end))
            one.blocks.append((first, sectors))
    return list(found.values()), left


def _bad_there(window, member):
    """Whether another member has a bad sector in the window: one that md knows, or one that cannot
    be read now. sysfs cuts md's list at a page: what it leaves out may be there."""
    offset = fbstate.count(_said(window.array, "dev-" + member, "offset"))
    begin, sectors = window.first + offset, window.last - window.first
    for file in ("bad_blocks", "unacknowledged_bad_blocks"):
        known = _said(window.array, "dev-" + member, file)
        if len(known) >= mmap.PAGESIZE - 2:
            return True
        for line in known.splitlines():
            first, length = map(int, line.split())
            if first < begin + sectors and first + length > begin:
                return True
    return not readable(member, begin, sectors)


def refusal(window):
    """Why the array cannot be checked now; None: it can."""
    array = window.array
    if _said(array, "degraded") != "0":
        return "%s is degraded" % array
    if _said(array, "sync_action") != "idle":
        return "%s is busy: %s" % (array, _said(array, "sync_action"))
    if _said(array, "array_state") not in RESTING:
        return "%s is %s" % (array, _said(array, "array_state") or "gone")
    for name in listed(folder(array, "md")):
        if name.startswith("dev-"):
            state = _said(array, name, "state").split(",")
            if "faulty" in state or not {"in_sync", "spare", "journal"} & {*state} or \
                    name[4:] == window.member and "in_sync" not in state:
                return "%s: member %s is %s" % (array, name[4:], ",".join(state))
            if name[4:] != window.member and "in_sync" in state and _bad_there(window, name[4:]):
                return "%s: member %s has a bad sector there, too" % (array, name[4:])
    return None


def _book(array):
    return fbstate.path(FOLDER, array + ENDING)


def _end(array):
    """End a check. One that has been asked for, but not begun, begins all the same: again."""
    until = time.monotonic() + STILL_S
    while _said(array, "sync_action") == "check" and time.monotonic() < until:
        _write(array, "sync_action", "idle")
        time.sleep(LOOK_S)


def _put_back(array, found):
    """End our check of an array, and give its window back, unless another has been set."""
    if found["boot_id"] != sealed.boot_id() or \
            _said(array, "sync_max") not in (str(found["last"]), found["sync_max"]):
        return
    if _said(array, "sync_max") == str(found["last"]):
        _end(array)
        # each window between the two is larger than it need be, never smaller
        _write(array, "sync_min", 0)
        _write(array, "sync_max", found["sync_max"])
    if _said(array, "sync_min") != found["sync_min"]:
        _write(array, "sync_min", found["sync_min"])


def put_back_all():
    """What killed checks have left: (whether that is done, a line about it) each."""
    books, lines = fbstate.path(FOLDER), []
    for name in sorted(os.listdir(books)) if os.path.isdir(books) else ():
        array = name[:-len(ENDING)]
        if not name.endswith(ENDING):
            continue
        try:
            with _held(array):
                found = sealed.read(_book(array), FORMAT)
                if found is None:
                    continue
                if fbstate.read(_md(array, "level")):
                    _put_back(array, found)
                _forget(array)
        except lock.Taken as why:
            lines.append((True, "%s: left alone: %s" % (array, why)))
        except (ToolError, OSError) as why:
            lines.append((False, "%s: the window of a check: not put back: %s" % (array, why)))
        else:
            lines.append((True, "%s: the window of a check that was killed: put back" % array))
    return lines


def _forget(array):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_book(array))
        safe_file.sync_directory(fbstate.path(FOLDER))
    with contextlib.suppress(OSError):
        os.rmdir(fbstate.path(FOLDER))


def _held(array):
    return lock.held(fbstate.path("run/freeblock/repair-" + array),
                     "%s: another freeblock repair is at work" % array)


def _at(array):
    """How far the check is; None: it is over."""
    if _said(array, "sync_action") != "check":
        return None
    words = _said(array, "sync_completed").split()
    return int(words[0]) if words and words[0].isdigit() else 0


def _wait(window):
    """The check reaches the window's end."""
    seen, moved = -1, time.monotonic()
    while True:
        at = _at(window.array)
        if at is None:
            # at the array's end md ends it by itself
            if window.last < 2 * fbstate.count(_said(window.array, "component_size")):
                raise ToolError("%s: somebody else has ended the check" % window.array)
            return
        if at >= window.last:
            return
        if at != seen:
            seen, moved = at, time.monotonic()
        if time.monotonic() - moved > STILL_S:
            raise ToolError("%s: the check has not moved for %d s" % (window.array, STILL_S))
        time.sleep(LOOK_S)


def check(window):
    """Let md check the window; how many of its sectors differ between members. May take minutes
    beside a busy foreground. A ToolError: it was refused, or did not end."""
    array = window.array
    with _held(array):
        safe_file.make_directory(fbstate.path(FOLDER))
        left = sealed.read(_book(array), FORMAT)
        if left:
            _put_back(array, left)
        why = refusal(window)
        if why:
            raise ToolError(why)
        found = {"sync_min": _said(array, "sync_min"), "sync_max": _said(array, "sync_max"),
                 "last": window.last, "boot_id": sealed.boot_id()}
        sealed.write(_book(array), FORMAT, found)
        try:
            # never a window that ends before it begins, which md refuses
            _write(array, "sync_min", 0)
            _write(array, "sync_max", window.last)
            _write(array, "sync_min", window.first)
            _write(array, "sync_action", "check")
            _wait(window)
            # a RAID1's has what could not be read, too
            return fbstate.count(_said(array, "mismatch_cnt")) \
                if _said(array, "level") != "raid1" else 0
        finally:
            _put_back(array, found)
            _forget(array)


def readable(disk, first, sectors):
    """Whether a block can be read, past the page cache."""
    with mmap.mmap(-1, sectors * SECTOR) as memory:
        try:
            handle = os.open(fbstate.path("dev", disk), os.O_RDONLY | os.O_DIRECT)
        except OSError as error:
            raise ToolError("/dev/%s: %s" % (disk, error.strerror)) from error
        try:
            return os.preadv(handle, [memory], first * SECTOR) == sectors * SECTOR
        except OSError:
            return False
        finally:
            os.close(handle)
