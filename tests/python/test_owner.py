# SPDX-License-Identifier: GPL-2.0
"""Tests of which partition, volume, md member or file a bad block belongs to. The block devices are
files of sysfs, and LVM's, xfs' and Ceph's tools are stand-ins; ext4 is a real one, in a file. Takes
a second.
"""

import json
import os
import random
import re
import shutil
import subprocess
from unittest import mock

import fakedisk
import taptest
from freeblock.machine import badblocks, kernel, owner

FSMAP = {0: "static fs metadata 8", 96: "inode 131 0..7 8", 104: "free space 800",
         904: "unknown 8", 912: "inodes 64"}


class Tools:
    """In place of the system's tools: name -> what it says, or its status; real: those run."""

    def __init__(self, real=(), **said):
        self.really, self.real, self.said, self.asked = kernel.command, real, said, []

    def command(self, words, text="", seconds=None):
        """In place of kernel.command()."""
        name = os.path.basename(words[0])
        assert seconds, "it may hang"
        self.asked.append([name, *words[1:]])
        if name in self.real:
            return self.really(words, text, seconds)
        said = self.said.get(name, 127)
        said = said(words) if callable(said) else said
        return (said, "") if isinstance(said, int) else (0, said)


class Case(fakedisk.Case):
    """A disk of two partitions in sysfs."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000, 4096, {"id": "naa.5000"})
        for name, start, sectors, number in (("sda1", 800, 800, "8:1"),
                                             ("sda2", 2000, 4000, "8:2")):
            self.tree.partition("sda", name, start, sectors)
            self.tree.write("sys/devices/sda/%s/dev" % name, number)

    def of(self, first, sectors=8, **tools):
        """What uses sectors of sda, with these tools."""
        self.tools = Tools(**tools)
        with mock.patch.object(kernel, "command", self.tools.command):
            (found,) = owner.of("sda", [(first, sectors)])
        return found

    def on(self, below, name, number, **files):
        """A device that lies on another."""
        self.tree.mapped(name, files.pop("label", name), 4000)
        where = "sys/devices/" + name
        if "md" in files:
            self.tree.remove(where + "/dm")
        for file, value in {"dev": number, **files.pop("md", {}), **files}.items():
            self.tree.write("%s/%s" % (where, file), value)
        self.tree.write("sys/class/block/%s/holders/%s" % (below, name), "")


class Devices(Case):
    """Down to what holds a file system."""

    def test_partitions(self):
        """By the partition table; a block on the edge belongs to both sides.

        Seen to fail: sectors counted from the disk's beginning."""
        self.assertEqual(self.of(0), [["unallocated"]])
        self.assertEqual(self.of(1600), [["unallocated"]])
        self.assertEqual(self.of(1599, blkid="swap"), [["partition sda1", "swap space"]])
        self.assertEqual(self.of(1599, 402, blkid="swap"), [
            ["partition sda1", "swap space"], ["partition sda2", "swap space"]])

    def test_tools(self):
        """One that is missing, or too slow, is named. Seen to fail: unallocated."""
        self.assertEqual(self.of(800), [["partition sda1", "unknown (install util-linux)"]])
        self.assertEqual(self.of(800, blkid=124),
                         [["partition sda1", "unknown (blkid did not end within 30 s)"]])
        self.assertEqual(self.of(800, blkid="ext4"), [["partition sda1",
                                                       "unknown (install e2fsprogs)"]])
        self.assertEqual(self.of(800, blkid=""), [["partition sda1",
                                                   "unknown (no file system)"]])

    def lvs(self, tags=""):
        """As LVM prints it, with a warning."""
        return "  WARNING: stale\n" + json.dumps({"report": [{"lv": [{
            "vg_name": "vg0", "lv_name": "home", "vg_extent_size": "100", "lv_tags": tags}]}]})

    def test_lvm(self):
        """Volume and extent; what no volume has is unallocated; a Ceph OSD's deep scrub is named.

        Seen to fail: the offset of another segment; the extent of the physical volume."""
        self.on("sda2", "dm-0", "253:0", label="vg0-home", **{"dm/uuid": "LVM-xyz"})
        table = "0 500 linear 8:16 900\n500 300 linear 8:2 1000\n"
        said = {"dmsetup": table, "lvs": self.lvs(), "blkid": "swap"}
        self.assertEqual(self.of(3110, **said), [["partition sda2", "LVM volume vg0/home, extent 6",
                                                  "swap space"]])
        self.assertEqual(self.of(2992, **said), [["partition sda2", "unallocated"]])
        self.assertEqual(self.of(3110, **{**said, "lvs": self.lvs("a=1,ceph.osd_id=3,b")}), [[
            "partition sda2", "LVM volume vg0/home, extent 6",
            "Ceph OSD 3; run: ceph osd deep-scrub 3"]])
        self.assertEqual(self.of(3110, **{**said, "lvs": "nonsense"}), [[
            "partition sda2", "LVM volume vg0-home", "swap space"]])
        self.assertEqual(self.of(3110), [["partition sda2", "unknown (install dmsetup)"]])
        self.on("sda2", "dm-0", "253:0", label="secret", **{"dm/uuid": "CRYPT-x"})
        self.assertEqual(self.of(4104, blkid="swap", dmsetup="0 900 crypt aes key 0 8:2 2000"), [[
            "partition sda2", "device-mapper secret", "swap space"]])

    def test_md(self):
        """Member and stripe; a mirror has a file system. Seen to fail: parity counted as data."""
        def array(level):
            self.on("sda2", "md0", "9:0", md={
                "md/level": level, "md/chunk_size": 51200, "md/raid_disks": 4,
                "md/dev-sda2/slot": 2, "md/dev-sda2/offset": 1000})
            return self.of(3250, blkid="swap")

        self.assertEqual(array("raid5"), [["partition sda2", "md md0 (raid5), member 2",
                                           "stripe 2 (sectors 600 to 899 of md0)"]])
        self.assertEqual(array("raid6")[0][2], "stripe 2 (sectors 400 to 599 of md0)")
        self.assertEqual(array("raid10"), [["partition sda2", "md md0 (raid10), member 2"]])
        self.assertEqual(array("raid1"), [["partition sda2", "md md0 (raid1), member 2",
                                           "swap space"]])
        self.assertEqual(self.of(2500), [["partition sda2", "md md0 (raid1), member 2",
                                          "its superblock or bitmap"]])

    def test_xfs(self):
        """By its own map, if it is mounted. Seen to fail: the disk's sectors."""
        def xfs_io(words):
            first = int(words[3].split()[2])
            begin = max(at for at in FSMAP if at <= first)
            return "\t0: 8:2 [%d..%d]: %s" % (begin, begin + 7, FSMAP[begin])

        said = {"blkid": "xfs", "xfs_io": xfs_io, "find": "/home/a b"}
        self.assertEqual(self.of(2096, **said), [[
            "partition sda2", "unknown (xfs tells it only of a mounted file system)"]])
        self.tree.write("proc/self/mountinfo", "36 1 8:2 / /my\\040home rw - xfs /dev/sda2 rw")
        for first, words in ((2096, "file /home/a b (inode 131)"), (2000, "metadata of xfs"),
                             (2104, "unallocated"), (2912, "metadata of xfs"),
                             (2904, "unknown (xfs without reverse mappings)")):
            self.assertEqual(self.of(first, **said), [["partition sda2", words]])
        self.assertEqual(self.tools.asked[1][-1], "/my home")


class Ext4(Case):
    """A real one."""

    def setUp(self):
        super().setUp()
        if not all(shutil.which(name, path="/sbin:/usr/sbin") for name in ("mkfs.ext4", "debugfs")):
            self.skipTest("no e2fsprogs")
        self.image = os.path.join(self.tree.root, "dev", "sda2")
        self.tree.write("sys/devices/sda/sda2/size", 16 << 11)
        with open(self.image, "wb") as file:
            file.truncate(16 << 20)
        self.debugfs(None, "mkfs.ext4", "-q", "-b", "1024", self.image)
        source = os.path.join(self.tree.root, "source")
        with open(source, "wb") as file:
            file.write(random.Random(1).randbytes(40000))
        self.debugfs('mkdir "d"\nwrite %s d/file\n' % source,
                     "debugfs", "-w", "-f", "-", self.image)

    @staticmethod
    def debugfs(text, name, *words):
        """What it prints."""
        program = shutil.which(name, path="/sbin:/usr/sbin")
        return subprocess.run([program, *words], input=text, text=True, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def test_files(self):
        """Its blocks, by debugfs' own list of them, and its neighbours.

        Seen to fail: blocks of 512 bytes; a free block counted as metadata."""
        blocks = [int(block) for block in self.debugfs(
            None, "debugfs", "-R", "blocks d/file", self.image).split()]
        free = int(re.findall(r"Free blocks: .*-(\d+)$", self.debugfs(
            None, "dumpe2fs", self.image), re.M)[0])
        journal = int(self.debugfs(None, "debugfs", "-R", "blocks <8>", self.image).split()[0])
        tools = Tools(real=("blkid", "debugfs"))
        with mock.patch.object(kernel, "command", tools.command):
            found = owner.of("sda", [(2000 + 2 * block, 2) for block in (
                blocks[0], blocks[-1], free, 2, journal)] + [(2000 + 2 * blocks[0], 4)])
        file = "file /d/file (inode 13)"
        self.assertEqual([one[0][1] for one in found], [
            file, file, "unallocated", "metadata of ext4", "the journal of ext4", file])
        self.assertEqual([words[0] for words in tools.asked], ["blkid"] + ["debugfs"] * 4,
                         "each but once, however many blocks there are")

    def test_command(self):
        """freeblock scrub sda bad. Seen to fail: the oldest first."""
        blocks = [int(block) for block in self.debugfs(
            None, "debugfs", "-R", "blocks d/file", self.image).split()]
        self.tree.write("var/lib/freeblock/naa.5000.bad", json.dumps({
            "allowed": 0, "blocks": [[0, 8, 5], [2000 + 2 * blocks[0], 2, 86400 * 9]]}))
        tools = Tools(real=("blkid", "debugfs"))
        with mock.patch.object(kernel, "command", tools.command):
            status, out, err = taptest.freeblock("scrub", "sda", "bad")
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, r"^sector %d\+2, found 1970-01-.*: partition sda2, file /d/file "
                             r"\(inode 13\)\nsector 0\+8, .*: unallocated\n2 bad blocks\n$" % (
                                 2000 + 2 * blocks[0]))
            (first, _) = json.loads(taptest.freeblock("scrub", "sda", "bad", "--json")[1])
        self.assertEqual(first["used_by"], [["partition sda2", "file /d/file (inode 13)"]])
        self.assertEqual(len(badblocks.load("naa.5000")[1]), 2)
