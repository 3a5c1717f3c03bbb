# SPDX-License-Identifier: GPL-2.0
"""What commands advise, without a kernel: each of the module's reasons has a command, which names
the disk. tests/lab/t-advice.sh runs them. Takes a second.
"""

import os
import re
import unittest
from unittest import mock

import fakedisk
from taptest import TOP
from freeblock import fbstate
from freeblock.base import advice

SYSFS = fakedisk.KERNEL + "sda"
# it is no disk of the block layer, which could be named
NO_ADVICE = {"no disk"}


def function(file, name):
    """The body of one of the module's."""
    with open(os.path.join(TOP, file), encoding="utf-8") as text:
        return re.search(r"^[^\n]*\b%s\([^;]*?\n\{\n.*?^\}$" % name, text.read(), re.M | re.S)[0]


def returned(file, name):
    """The texts that it returns."""
    return set(re.findall(r'return (?:[^;"]*\? )?"([^"]+)"', function(file, name)))


def reasons():
    """Why a disk is not served: what fb_level_unserved() returns."""
    with open(os.path.join(TOP, "disk", "disk.c"), encoding="utf-8") as file:
        twin = set(re.findall(r'fb_disk_multipath\[\] = "([^"]+)"', file.read()))
    return returned("disk/level.c", "fb_level_unserved") | \
        returned("disk/disk.c", "fb_disk_unfit") | twin


def unmapped():
    """Why no map is used: what fb_level_unmapped() returns besides, and the phase."""
    with open(os.path.join(TOP, "snapshot.c"), encoding="utf-8") as file:
        phase = set(re.findall(r'why = "([^"]+)";', file.read()))
    return phase | returned("disk/level.c", "fb_level_unmapped") | \
        returned("disk/disk.c", "fb_disk_mapless")


class Reasons(unittest.TestCase):
    """state/scheduling."""

    def test_all(self):
        """Seen to fail: a reason that was reworded in the module alone."""
        found = reasons()
        self.assertGreater(len(found), 4)
        self.assertEqual({why for why in found if not advice.scheduling(why, "sda")}, NO_ADVICE)
        for why in found - NO_ADVICE:
            self.assertRegex(advice.scheduling(why, "sda"), r"[/ ]sda(/|$)")

    def test_known(self):
        """Each that the table has is the module's. Seen to fail: as above."""
        self.assertEqual({*advice.UNFIT, advice.ANOTHER, advice.CAPACITY} | NO_ADVICE, reasons())
        for begin in (*advice.PLAIN, *advice.MODEL, *advice.MEASURE):
            self.assertTrue(any(why.startswith(begin) for why in unmapped()), begin)

    def test_knowledge(self):
        """A command for each reason for which a map that was there is not used; none where the disk
        is as it should be.

        Seen to fail: a reason that was reworded in the module alone; advice for "no model"."""
        found = unmapped()
        self.assertGreater(len(found), 7)
        self.assertEqual({why for why in found if not advice.knowledge(why, "sda")},
                         set(advice.PLAIN))
        for why in (*(found - set(advice.PLAIN)), advice.DISTRUSTED + "so noisy"):
            self.assertRegex(advice.knowledge(why, "sda"), r"[/ ]sda(/| |$)")


class Commands(fakedisk.Case):
    """Those that depend on what is there."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 1000, 4096)

    def stop(self, *tasks, **jobs):
        """What stops these."""
        self.tree.write(fakedisk.DEBUG + "sda/tasks", "\n".join(tasks))
        self.tree.values(SYSFS, {"scan": "idle", "scrub": "idle", **jobs})
        return advice.stop_tasks(fbstate.Disk("sda"))

    def test_stop(self):
        """Scan and scrub by their names, those of programs by their numbers.

        Seen to fail: the scrub's number, too; a program's task that is called scan left out."""
        stop = "echo stop %s> /sys/kernel/freeblock/sda/"
        self.assertEqual(self.stop("3 scrub running 0 9 1 0 8", scrub="running"),
                         "freeblock scrub /dev/sda stop")
        self.assertEqual(self.stop("3 scan paused 0 9 1 0 8", "4 my scan running 0 9 1 0 8",
                                   scan="paused"),
                         stop % "" + "scan; " + stop % "4 " + "tasks")
        self.assertEqual(self.stop("5 scan running 0 9 1 0 8"), stop % "5 " + "tasks")
        self.assertEqual(self.stop(), "freeblock status sda")
        self.tree.remove(fakedisk.DEBUG.rstrip("/"))
        self.tree.write(SYSFS + "/scrub", "running")
        self.assertEqual(advice.stop_tasks(fbstate.Disk("sda")), "freeblock scrub /dev/sda stop")

    def test_load(self):
        """By what there is: installed, built, or not yet."""
        release = os.uname().release
        built = self.tree.root + "/build/kernel-%s/freeblock/freeblock.ko" % release
        with mock.patch.multiple(fbstate.helpers, TOP="/src", BUILD=self.tree.root + "/build",
                                 IN_TREE=True):
            self.assertEqual(fbstate.how_to_load(), "run: make -C /src modules KDIR=/lib/modules/"
                             "$(uname -r)/build && insmod " + built)
            self.tree.write(built[len(self.tree.root) + 1:], "")
            self.assertEqual(fbstate.how_to_load(), "run: insmod " + built)
            self.tree.write("lib/modules/%s/modules.dep" % release,
                            "updates/freeblock.ko.xz: kernel/lib/libcrc32c.ko.xz")
            self.assertEqual(fbstate.how_to_load(), "run: modprobe freeblock")
            self.assertEqual(fbstate.how_to_load(tried=True), "run: insmod " + built)
        with mock.patch.object(fbstate.helpers, "IN_TREE", False):
            self.assertIn("apt install freeblock-dkms", fbstate.how_to_load(tried=True))
            self.tree.write("etc/redhat-release", "AlmaLinux release 9.4")
            self.assertIn("dnf install freeblock-dkms", fbstate.how_to_load(tried=True))

    def test_memory(self):
        """More than there is."""
        for mib, more in ((1, 1024), (1024, 2048)):
            self.assertTrue(advice.memory(mib).startswith("echo %d >" % more))
