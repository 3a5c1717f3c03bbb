# SPDX-License-Identifier: GPL-2.0
"""What uses sectors of a disk: partition, LVM volume and extent, md member and stripe, and the file
of ext4 or xfs, or the Ceph OSD. Asked of sysfs and of those systems' own tools, each within a
time limit; nothing is written.
"""

import collections
import json
import os
import re
import shutil

from .. import fbstate
from . import kernel

CLASS = "sys/class/block"
ANSWER_S = 30
SEARCH_S = 300                  # debugfs looks through all inodes, find through all names
SECTOR = 512
# what is to be installed for a program
PACKAGES = {"debugfs": "e2fsprogs", "blkid": "util-linux", "xfs_io": "xfsprogs", "lvs": "lvm2",
            "dmsetup": "dmsetup", "find": "findutils"}
# what blkid calls what is no file system
OTHERS = {"swap": "swap space", "zfs_member": "a ZFS pool: zpool scrub finds the file",
          "btrfs": "btrfs: btrfs scrub finds the file", "ceph_bluestore": "a Ceph OSD"}
JOURNAL = 8                     # ext4's inode of it
STRIPES = {"raid4": 1, "raid5": 1, "raid6": 2}          # parity members
UNALLOCATED, UNKNOWN = "unallocated", "unknown"

Piece = collections.namedtuple("Piece", "path device first sectors")
Piece.__doc__ = "Sectors of a block device; path: what lies between the disk and it, in words."


class Silent(Exception):
    """A tool that is missing, or did not answer; the words say which."""


def _ask(words, seconds=ANSWER_S, text=""):
    """What a tool says, given this to read. Silent."""
    name = words[0]
    program = shutil.which(name) or shutil.which(name, path="/sbin:/usr/sbin") or name
    status, said = kernel.command([program, *words[1:]], text, seconds)
    if status == 127:
        raise Silent("install " + PACKAGES[name])
    if status == 124:
        raise Silent("%s did not end within %d s" % (name, seconds))
    return said


# ---- down to the device that holds a file system

def folder(device, *parts):
    """Where a block device, or a file of its folder, is in sysfs."""
    return os.path.join(CLASS, device, *parts)


def listed(*parts):
    """The names in a folder, sorted; none if there is none."""
    path = fbstate.path(*parts)
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def number(device, *parts):
    """What a file of a block device's folder says, 0 if it is not there."""
    return fbstate.count(fbstate.read(folder(device, *parts)))


def _cut(piece, first, sectors):
    """The part of a piece that lies in an extent of its device; None: there is none."""
    begin = max(piece.first, first)
    end = min(piece.first + piece.sectors, first + sectors)
    return (begin - first, end - begin) if begin < end else None


def _partitions(piece):
    for name in listed(folder(piece.device)):
        if fbstate.read(folder(piece.device, name, "partition")) is None:
            continue
        found = _cut(piece, number(piece.device, name, "start"),
                     number(piece.device, name, "size"))
        if found:
            yield Piece(piece.path + ["partition " + name], name, *found)


def _md(piece, array):
    """Of an array only raid1 has its data as they stand on a member."""
    level, member = fbstate.read(folder(array, "md/level")), folder(array, "md", "dev-" +
                                                                      piece.device)
    at = piece.first - fbstate.count(fbstate.read(member, "offset"))
    slot = "md %s (%s), member %s" % (array, level, fbstate.read(member, "slot"))
    if at < 0:
        yield Piece(piece.path + [slot, "its superblock or bitmap"], None, 0, 0)
    elif level == "raid1":
        yield Piece(piece.path + [slot], array, at, piece.sectors)
    else:
        chunk = number(array, "md/chunk_size") // SECTOR
        data = number(array, "md/raid_disks") - STRIPES.get(level, 0)
        words = [slot]
        if chunk and level in STRIPES:
            stripe = at // chunk
            words.append("stripe %d (sectors %d to %d of %s)" % (
                stripe, stripe * chunk * data, (stripe + 1) * chunk * data - 1, array))
        yield Piece(piece.path + words, None, 0, 0)


def _volume(device, name):
    """(what a device-mapper device is called, sectors of an extent, Ceph's OSD or None)."""
    if not (fbstate.read(folder(device, "dm/uuid")) or "").startswith("LVM-"):
        return "device-mapper " + name, 0, None
    said = _ask(["lvs", "--reportformat", "json", "--units", "s", "--nosuffix", "-o",
                 "vg_name,lv_name,vg_extent_size,lv_tags", "/dev/mapper/" + name])
    try:
        # warnings stand before and behind it
        volume = json.loads(said[said.index("{"):said.rindex("}") + 1])["report"][0]["lv"][0]
        osd = re.search(r"(?:^|,)ceph\.osd_id=(\d+)", volume["lv_tags"])
        return "LVM volume %(vg_name)s/%(lv_name)s" % volume, \
            int(volume["vg_extent_size"]), osd and osd[1]
    except (ValueError, KeyError, IndexError, TypeError):
        return "LVM volume " + name, 0, None


def _mapped(piece, device):
    """Targets that have the data as they stand below: linear, and crypt."""
    name = fbstate.read(folder(device, "dm/name"))
    below = fbstate.read(folder(piece.device, "dev"))
    for line in _ask(["dmsetup", "table", name]).splitlines():
        words = line.split()
        at = {"linear": 3, "crypt": 6}.get(words[2]) if len(words) > 4 else None
        if at is None or len(words) < at + 2 or words[at] != below:
            continue
        found = _cut(piece, int(words[at + 1]), int(words[1]))
        if found:
            first = int(words[0]) + found[0]
            called, extent, osd = _volume(device, name)
            called += ", extent %d" % (first // extent) if extent else ""
            yield Piece(piece.path + [called] + (
                ["Ceph OSD %s; run: ceph osd deep-scrub %s" % (osd, osd)] if osd else []),
                        None if osd else device, first, found[1])


def _above(piece):
    """The same sectors of what lies on this device; none: it holds a file system, or nothing."""
    found = list(_partitions(piece))
    holders = listed(folder(piece.device, "holders"))
    for holder in holders:
        if fbstate.read(folder(holder, "md/level")) is not None:
            found += _md(piece, holder)
        elif fbstate.read(folder(holder, "dm/name")) is not None:
            found += _mapped(piece, holder)
    used = holders or any(fbstate.read(folder(piece.device, name, "partition")) is not None
                          for name in listed(folder(piece.device)))
    return found, used


def down(piece):
    """[(piece, what is known of it without a file system, or None)]"""
    try:
        found, used = _above(piece)
    except Silent as why:
        return [(piece, "%s (%s)" % (UNKNOWN, why))]
    if not found:
        return [(piece, UNALLOCATED if used else None)]
    return [leaf for one in found
            for leaf in (down(one) if one.device else [(one, "")])]


# ---- file systems

def _ext4_blocks(device):
    said = _ask(["debugfs", "-R", "show_super_stats -h", device])
    size = re.search(r"^Block size: +(\d+)", said, re.M)
    if not size:
        raise Silent("debugfs cannot read " + device)
    return int(size[1]) // SECTOR


def _ext4(device, ranges):
    """What each range of sectors belongs to."""
    each = _ext4_blocks(device)
    blocks = [range(first // each, (first + sectors - 1) // each + 1) for first, sectors in ranges]
    wanted = [str(block) for one in blocks for block in one]
    said = _ask(["debugfs", "-R", "icheck " + " ".join(wanted), device], SEARCH_S)
    inodes = {int(block): int(inode) for block, inode in
              re.findall(r"^(\d+)\t(\d+)$", said, re.M)}
    said = _ask(["debugfs", "-f", "-", device],
                text="".join("testb %s\n" % block for block in wanted))
    in_use = set(map(int, re.findall(r"^Block (\d+) marked in use$", said, re.M)))
    files = {inode for inode in inodes.values() if inode != JOURNAL}
    names = {}
    if files:
        said = _ask(["debugfs", "-R", "ncheck " + " ".join(map(str, sorted(files))), device],
                    SEARCH_S)
        for inode, path in re.findall(r"^(\d+)\t(.+)$", said, re.M):
            names.setdefault(int(inode), path.replace("//", "/"))

    def words(block):
        inode = inodes.get(block)
        if inode == JOURNAL:
            return "the journal of ext4"
        if inode is not None:
            return "file %s (inode %d)" % (names.get(inode, "without a name"), inode)
        return "metadata of ext4" if block in in_use else UNALLOCATED

    return ["; ".join(dict.fromkeys(words(block) for block in one)) for one in blocks]


def _mount_of(device):
    """Where the whole of it is mounted; None: nowhere."""
    mounted = fbstate.read(folder(os.path.basename(device), "dev"))
    for line in (fbstate.read("proc/self/mountinfo") or "").splitlines():
        words = line.split(" ")
        if words[2] == mounted and words[3] == "/":
            return re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), words[4])
    return None


def _xfs_one(mount, first, sectors):
    said = _ask(["xfs_io", "-r", "-c", "fsmap -d %d %d" % (first, first + sectors - 1), mount])
    found = []
    for owner in re.findall(r"^\s*\d+: \d+:\d+ \[\d+\.\.\d+\]: (.*?) \d+$", said, re.M):
        inode = re.match(r"inode (\d+)", owner)
        if inode:
            path = _ask(["find", mount, "-xdev", "-inum", inode[1], "-print", "-quit"], SEARCH_S)
            found.append("file %s (inode %s)" % (path or "without a name", inode[1]))
        elif owner.startswith("unknown"):
            found.append(UNKNOWN + " (xfs without reverse mappings)")
        else:
            found.append(UNALLOCATED if owner == "free space" else "metadata of xfs")
    if not found:
        raise Silent("xfs_io does not say it")
    return "; ".join(dict.fromkeys(found))


def _xfs(device, ranges):
    mount = _mount_of(device)
    if mount is None:
        raise Silent("xfs tells it only of a mounted file system")
    return [_xfs_one(mount, *one) for one in ranges]


SYSTEMS = {"ext2": _ext4, "ext3": _ext4, "ext4": _ext4, "xfs": _xfs}


def files(device, ranges):
    """What each range (first, sectors) of a device or image belongs to, in words."""
    try:
        kind = _ask(["blkid", "-p", "-o", "value", "-s", "TYPE", device]).strip()
        if kind in SYSTEMS:
            return SYSTEMS[kind](device, ranges)
        return [OTHERS.get(kind) or "%s (%s)" % (UNKNOWN, kind or "no file system")] * len(ranges)
    except Silent as why:
        return ["%s (%s)" % (UNKNOWN, why)] * len(ranges)


def of(disk, ranges):
    """For each range (first, sectors) of a disk, the list of what uses it: each a list of words,
    from the partition to the file."""
    found = [down(Piece([], disk, *one)) for one in ranges]
    asked = collections.defaultdict(list)
    for leaf in (leaf for one in found for leaf, known in one if known is None):
        asked[leaf.device].append((leaf.first, leaf.sectors))
    told = {device: iter(files(fbstate.path("dev", device), wanted))
            for device, wanted in asked.items()}
    return [[leaf.path + [word for word in (next(told[leaf.device]) if known is None else known,)
                          if word] for leaf, known in one] for one in found]
