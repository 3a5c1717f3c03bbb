# SPDX-License-Identifier: GPL-2.0
"""Where a block device lies on disks: partitions, LVM linear volumes, md raid1 members.

A map is a list of segments in the device's order; all counts are 512-byte sectors.
What is not a plain piece of a disk is refused, with the reason.
"""

import collections
import os
import shutil
import stat
import subprocess

from .. import NoDevice, ToolError, UsageError, fbstate

Segment = collections.namedtuple("Segment", "first sectors disk disk_first")
Segment.__doc__ = "Sectors from `first` on of the device are those from disk_first on of `disk`."
CLASS = "sys/class/block"


def device_name(given):
    """The kernel's name of a device given as /dev/..., a link to that, or a name."""
    if "/" not in given:
        if given.strip(".") and os.path.isdir(fbstate.path(CLASS, given)):
            return given
        raise NoDevice(given)
    full = fbstate.path(given)
    if not os.path.exists(full):
        raise NoDevice(given)
    name = os.path.basename(os.path.realpath(full))
    mode = os.stat(full)
    if stat.S_ISBLK(mode.st_mode):
        link = fbstate.path("sys/dev/block/%d:%d" % (os.major(mode.st_rdev),
                                                     os.minor(mode.st_rdev)))
        name = os.path.basename(os.path.realpath(link))
    if not name or not os.path.isdir(fbstate.path(CLASS, name)):
        raise UsageError("%s: not a block device" % given)
    return name


def locate(given, member=None):
    """The segments of the device that `given` names; `member` of an md raid1."""
    name = device_name(given)
    if member is not None:
        member = device_name(member)
        if not _has(name, "md"):
            raise ToolError("%s is not an md array: no --member" % name)
    found = _segments(name, member)
    at = 0
    for segment in found:
        assert segment.first == at
        at += segment.sectors
    return found


def _has(name, *parts):
    return os.path.exists(fbstate.path(CLASS, name, *parts))


def _number(name, *parts):
    text = fbstate.read(CLASS, name, *parts)
    found = fbstate.number(text or "")
    if not isinstance(found, int) or found < 0:
        raise ToolError("%s: %s says %s, not how many sectors: is it still there?" % (
            name, os.path.join("/", CLASS, name, *parts),
            "nothing" if text is None else "'%s'" % text))
    return found


def _segments(name, member=None):
    if _has(name, "partition"):
        disk = os.path.basename(os.path.dirname(os.path.realpath(fbstate.path(CLASS, name))))
        return _cut(_segments(disk), _number(name, "start"), _number(name, "size"))
    if _has(name, "dm"):
        return _mapped(name)
    if _has(name, "md"):
        return _mirrored(name, member)
    return [Segment(0, _number(name, "size"), name, 0)]


def _cut(segments, first, sectors):
    """The part of a device from `first` on, as a device of its own."""
    found, at = [], 0
    for piece in segments:
        begin = max(first, piece.first)
        end = min(first + sectors, piece.first + piece.sectors)
        if begin < end:
            found.append(Segment(at, end - begin, piece.disk,
                                 piece.disk_first + begin - piece.first))
            at += end - begin
    if at != sectors:
        raise ToolError("sectors %d to %d lie beyond their device" % (first, first + sectors - 1))
    return found


def dm_table(name):
    """The lines of a device-mapper table."""
    program = shutil.which("dmsetup") or shutil.which("dmsetup", path="/sbin:/usr/sbin")
    if program is None:
        raise ToolError("%s is a device-mapper device, whose table only dmsetup shows: install "
                        "dmsetup, or name the disk or partition below it (/sys/block/%s/slaves)" %
                        (name, name))
    done = subprocess.run([program, "table", fbstate.read(CLASS, name, "dm/name")], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise ToolError("dmsetup table: %s" % done.stdout.strip())
    return done.stdout.splitlines()


def _mapped(name):
    found, at = [], 0
    for line in dm_table(name):
        words = line.split()
        if len(words) < 3 or not (words[0] + words[1]).isdigit() or int(words[0]) != at:
            raise ToolError("%s: not understood in its table: '%s'" % (name, line))
        if words[2] != "linear":
            raise ToolError("%s is %s, not linear: its blocks are not plain pieces of a disk; "
                            "name the disks below it" % (name, words[2]))
        below = os.path.basename(os.path.realpath(fbstate.path("sys/dev/block", words[3])))
        for piece in _cut(_segments(below), int(words[4]), int(words[1])):
            found.append(piece._replace(first=at))
            at += piece.sectors
    return found


def _mirrored(name, member):
    level = fbstate.read(CLASS, name, "md/level")
    if level != "raid1":
        raise ToolError("%s is md %s: only of raid1 each member holds the data; name the disks "
                        "below it" % (name, level))
    members = sorted(entry[len("dev-"):] for entry in os.listdir(fbstate.path(CLASS, name, "md"))
                     if entry.startswith("dev-"))
    if member not in members:
        raise ToolError("%s is an md raid1 of %s: say which to read, --member %s" %
                        (name, ", ".join(members), members[0] if members else "NAME"))
    state = fbstate.read(CLASS, name, "md/dev-" + member, "state") or ""
    if "in_sync" not in state.split(","):
        raise ToolError("%s is not in sync with %s (%s): wait, or choose another --member" %
                        (member, name, state))
    return _cut(_segments(member), _number(name, "md/dev-" + member, "offset"),
                _number(name, "size"))
