# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock repair: which window of which array a bad block is in, what is left alone, and
that the window is put back however the check ends. md is files of sysfs that answer as Linux 6.1
does; tests/lab/t-repair.sh has the real one. Takes a second.
"""

import json
from unittest import mock

import fakedisk
import taptest
from freeblock import fbstate
from freeblock.commands import repair
from freeblock.machine import badblocks, mdcheck

ARRAY = "sys/devices/md0/md/"
FILES = {"level": "raid5", "chunk_size": 65536, "component_size": 4096, "degraded": 0,
         "sync_action": "idle", "array_state": "clean", "sync_min": 0, "sync_max": "max",
         "sync_completed": "none", "mismatch_cnt": 0}
OFFSET = 2048


class Md:
    """What md does when its files are written."""

    def __init__(self, tree, differ=0, ends=True, lazy=0):
        self.tree, self.differ, self.ends, self.done, self.lazy = tree, differ, ends, [], lazy

    def write(self, array, file, value):
        """In place of mdcheck._write()."""
        assert array == "md0"
        self.done.append((file, value))
        if value == "idle" and self.lazy:
            self.lazy -= 1              # what has not begun cannot be ended
            return
        self.tree.write(ARRAY + file, value)
        if (file, value) == ("sync_action", "check") and self.ends:
            # md waits at sync_max until somebody says idle
            self.tree.write(ARRAY + "sync_completed", fbstate.read(ARRAY + "sync_max") + " / 8192")
            self.tree.write(ARRAY + "mismatch_cnt", self.differ)


class Repair(fakedisk.Case):
    """sda and sdb in a RAID5 of 64-KiB chunks, sda by a partition."""

    def setUp(self):
        super().setUp()
        for name in ("sda", "sdb"):
            self.tree.disk(name, 40000, 4096, {"id": "naa.5000" + name})
            self.tree.write("sys/devices/%s/device/wwid" % name, "naa.5000" + name)
        self.tree.partition("sda", "sda1", 800, 30000)
        self.tree.mirror("md0", 16384, {"sda1": (OFFSET, "in_sync"), "sdb": (OFFSET, "in_sync")})
        self.tree.values(ARRAY, FILES)
        self.tree.write("sys/class/block/sda1/holders/md0", "")
        self.unreadable = set()
        self.unreadable_there = range(0)
        self.patch(mock.patch.object(mdcheck, "readable", self.readable),
                   mock.patch.object(mdcheck, "LOOK_S", 0),
                   mock.patch.object(mdcheck, "STILL_S", .02))

    def readable(self, device, first, sectors):
        """In place of mdcheck.readable()."""
        if device == "sdb":
            return not set(range(first, first + sectors)) & set(self.unreadable_there)
        return first not in self.unreadable

    def bad(self, *blocks):
        """Blocks of sda that a scrub has found."""
        self.tree.write(fakedisk.DEBUG + "sda/bad_blocks",
                        "".join("%d 8 medium\n" % one for one in blocks).rstrip("\n"))
        self.unreadable = set(blocks)

    def repair(self, *words, md=None):
        """(status, its list) of repair."""
        self.md = md or Md(self.tree)
        with mock.patch.object(mdcheck, "_write", self.md.write):
            status, said, errors = taptest.freeblock("repair", "sda", "--json", *words)
        self.assertEqual(errors, "")
        return status, json.loads(said)

    def window(self):
        """Of the array."""
        return [fbstate.read(ARRAY + name) for name in ("sync_min", "sync_max", "sync_action")]

    def test_window(self):
        """Whole chunks of the member's data; the offsets of partition and array count; md checks,
        never repairs, and gets its window back.

        Seen to fail: sectors of the disk; "repair"; a window that stays."""
        at = 800 + OFFSET + 300
        self.bad(at)

        def check(window):
            self.unreadable.clear()
            return checked(window)      # md has rewritten it

        checked = mdcheck.check
        with mock.patch.object(mdcheck, "check", check):
            status, found = self.repair("--yes")
        self.assertEqual((status, found[0]["state"]), (0, "repaired"))
        self.assertEqual(self.md.done, [
            ("sync_min", 0), ("sync_max", 384), ("sync_min", 256), ("sync_action", "check"),
            ("sync_action", "idle"), ("sync_min", 0), ("sync_max", "max")])
        self.assertEqual(self.window(), ["0", "max", "idle"])
        self.assertEqual(badblocks.load("naa.5000sda")[1], {})

    def test_outside(self):
        """What no array has, or not as data, has a reason and is left."""
        self.bad(8, 800 + 80, 800 + OFFSET + 8190)
        status, found = self.repair("--yes")
        no_data = "md0 has no data there: it may be its superblock or bitmap"
        self.assertEqual((status, [one["why"] for one in found]), (
            repair.LEFT, ["no md array has it", no_data, no_data]))
        self.tree.write(ARRAY + "level", "raid10")
        self.bad(800 + OFFSET)
        self.assertIn("md0 is raid10: only", str(self.repair("--yes")[1]))
        self.assertEqual(self.md.done, [])

    def test_refused(self):
        """Nothing is written to an array that has no redundancy to spare. Seen to fail: each of
        them, taken out."""
        self.bad(800 + OFFSET + 300)
        for file, value, why in (
                ("degraded", 1, "md0 is degraded"),
                ("sync_action", "resync", "md0 is busy: resync"),
                ("array_state", "readonly", "md0 is readonly"),
                ("dev-sdb/state", "in_sync,faulty", "member sdb is in_sync,faulty"),
                ("dev-sdb/bad_blocks", "%d 8" % (OFFSET + 380), "member sdb has a bad sector"),
                # 4095 bytes, as the kernel cuts it
                ("dev-sdb/bad_blocks", "16 8\n" * 819, "member sdb has a bad sector")):
            before = fbstate.read(ARRAY + file) or ""
            self.tree.write(ARRAY + file, value)
            status, found = self.repair("--yes")
            self.assertEqual((status, self.md.done), (repair.LEFT, []), file)
            self.assertIn(why, found[0]["why"])
            self.tree.write(ARRAY + file, before)
        # no scrub has found it, the last sector of the window
        self.unreadable_there = [OFFSET + 383]
        self.assertIn("member sdb has a bad sector", self.repair("--yes")[1][0]["why"])
        self.unreadable_there = [OFFSET + 255, OFFSET + 384]
        self.assertIn("still cannot be read", self.repair("--yes")[1][0]["why"])

    def test_pages(self):
        """Of a RAID1 only the pages that cannot be read are in windows: md would overwrite what is
        beside them with another member's. What it counts there is no difference."""
        self.tree.write(ARRAY + "level", "raid1")
        self.tree.write(ARRAY + "chunk_size", 0)
        self.bad(800 + OFFSET + 64)
        status, found = self.repair("--dry-run")
        self.assertEqual(found[0]["why"], "md0 would check sectors 64 to 71")
        at = 800 + OFFSET + 64
        self.unreadable = {at, at + 8, at + 24}
        windows, left = mdcheck.windows("sda", [(at, 32)])
        self.assertEqual(([(one.first, one.last) for one in windows], left),
                         ([(64, 72), (72, 80), (88, 96)], []))

    def test_failed(self):
        """A member that md has failed when it wrote is told, and nothing is called repaired."""
        self.bad(800 + OFFSET)

        def check(_):
            self.unreadable.clear()
            self.tree.write(ARRAY + "degraded", 1)
            return 0

        with mock.patch.object(mdcheck, "check", check):
            status, found = self.repair("--yes")
        self.assertEqual((status, found[0]["why"]), (
            repair.LEFT, "after the check: md0 is degraded"))

    def test_others(self):
        """Somebody else's check is left; a spoilt journal keeps nothing else back."""
        self.bad(800 + OFFSET)
        with mock.patch.object(mdcheck, "_forget"), mock.patch.object(mdcheck, "_put_back"):
            self.repair("--yes")
        self.tree.values(ARRAY, {**FILES, "sync_action": "check"})
        self.tree.write("var/lib/freeblock/repair/md1.json", "{}")
        self.tree.write("var/lib/freeblock/repair/md2.json.new", "")
        with mock.patch.object(mdcheck, "_write", self.md.write):
            self.assertEqual([done for done, _ in mdcheck.put_back_all()], [True, False])
        self.assertEqual(self.window(), ["0", "max", "check"])

    def test_differ(self):
        """Sectors that differ are counted, and left."""
        self.bad(800 + OFFSET)
        self.assertIn("; 3 sectors of the window differ", self.repair(
            "--yes", md=Md(self.tree, differ=3))[1][0]["why"])

    def test_stuck(self):
        """A check that does not move is ended, and the window is put back. Seen to fail: one that
        is told to end before it has begun."""
        self.bad(800 + OFFSET)
        status, found = self.repair("--yes", md=Md(self.tree, ends=False, lazy=2))
        self.assertEqual(status, repair.LEFT)
        self.assertIn("the check has not moved", found[0]["why"])
        self.assertEqual(self.window(), ["0", "max", "idle"])

    def test_killed(self):
        """A window that a killed check has left is put back, by restore; one of another boot is
        md's already; one that somebody has set since is left.

        Seen to fail: the window of somebody else."""
        self.bad(800 + OFFSET)
        for last, after in (("128", ["0", "max", "idle"]), ("4096", ["64", "4096", "check"])):
            with mock.patch.object(mdcheck, "_forget"), mock.patch.object(mdcheck, "_put_back"):
                self.repair("--yes")
            self.tree.write(ARRAY + "sync_max", last)
            self.tree.write(ARRAY + "sync_min", 64)
            with mock.patch.object(mdcheck, "_write", self.md.write):
                self.assertEqual(len(mdcheck.put_back_all()), 1)
                self.assertEqual(mdcheck.put_back_all(), [])
            self.assertEqual(self.window(), after)
            self.tree.values(ARRAY, FILES)

    def test_asks(self):
        """Without a terminal --yes is needed; --dry-run changes nothing."""
        self.bad(800 + OFFSET)
        self.assertEqual(taptest.freeblock("repair", "sda")[0], 2)
        status, found = self.repair("--dry-run")
        self.assertEqual((status, found[0]["why"]), (0, "md0 would check sectors 0 to 127"))
        self.assertEqual(self.md.done, [])
        self.assertEqual(taptest.freeblock("repair", "sdz")[1:], (
            "", "freeblock: /dev/sdz: no such block device\n"))
