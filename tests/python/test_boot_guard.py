# SPDX-License-Identifier: GPL-2.0
"""Tests of the guard: when freeblock is started at boot and when it stays off, and what is said.
Boots are other boot ids on a machine of files. Takes a second.
"""

import errno
import json
import os
from unittest import mock

from fakemachine import WWN, Case, model
from freeblock.base import sealed
from freeblock.machine import guard, kernel

SCHEDULER = "sys/block/sda/queue/scheduler"
KEPT = "etc/freeblock/models/%s-0001.fbmodel" % WWN
MARK = {"boot_id": "one", "time": "noon"}


class Decide(Case):
    """The verdict alone."""

    def test_table(self):
        """Every combination that counts.

        Seen to fail: a mark of this boot that counts; a word that is looked for as part of
        another; a hold that the mark hides."""
        held = {"reason": "it was bad"}
        for cmdline, boot, armed, kept, reason, hold in (
                ("quiet", "one", None, None, "", False),
                ("quiet", "one", MARK, None, "", False),
                ("quiet", "two", MARK, None, "the machine went down within ten minutes of noon, "
                 "when it was started", True),
                # a system that does not say which boot it is: better off
                ("quiet", "", MARK, None, "the machine went down within ten minutes of noon, "
                 "when it was started", True),
                ("quiet", "one", None, held, "it was bad", False),
                ("quiet", "two", MARK, held, "it was bad", False),
                ("ro freeblock.off=1 quiet", "two", MARK, None,
                 "freeblock.off=1 is on the kernel's command line", False),
                ("freeblock.off=10 xfreeblock.off=1", "one", None, None, "", False),
                ("freeblock.off=0", "one", None, None, "", False),
                ("", "one", None, None, "", False)):
            self.assertEqual(guard.decide(cmdline, boot, armed, kept),
                             guard.Verdict(reason, hold), (cmdline, boot, armed, kept))


class Boots(Case):
    """The disk appears, boot after boot."""

    def setUp(self):
        super().setUp()
        self.machine.write("proc/cmdline", "quiet\n")
        self.machine.write(KEPT, model())
        self.boot("one")

    def boot(self, name):
        """Another one, with the module and nothing else."""
        self.enterContext(mock.patch.object(sealed, "boot_id", return_value=name))
        self.machine.boot(enabled=False)
        self.machine.command(["modprobe", "freeblock"])

    def load(self):
        """What the unit runs."""
        return self.do("models", "load", "--at-boot", "--scheduler", "--dir",
                       os.path.join(self.machine.root, "etc/freeblock/models"), "sda")

    def on(self):
        """Whether the disk got the scheduler."""
        return self.machine.read(SCHEDULER) == "freeblock\n"

    def test_well(self):
        """Ten minutes go well, or the shutdown is clean: the next boot starts it again."""
        before = self.tree()
        for name in ("two", "three"):
            status, said = self.load()
            self.assertEqual(status, 0, said)
            self.assertTrue(self.on())
            self.assertEqual(self.do("guard", "passed"), (0, ""))
            self.boot(name)
        self.assertEqual(self.tree(), {**before, **{
            name: what for name, what in self.tree().items() if name.startswith("sys/")},
            "var/lib/freeblock": "dir"})

    def test_went_down(self):
        """It stays off from then on, and says so, until somebody allows it; ten minutes of
        another boot do not.

        Seen to fail: an ask() that does not keep the verdict."""
        self.load()
        self.boot("two")
        for name in ("three", "four"):
            status, said = self.load()
            self.assertEqual(status, 1)
            self.assertRegex(said, "sda: freeblock stays off: the machine went down within ten "
                             "minutes of 2.*; to start it again run: freeblock guard allow")
            self.assertFalse(self.on())
            self.do("guard", "passed")
            self.boot(name)
        status, said = self.do("guard", "status")
        self.assertEqual(status, 1)
        self.assertRegex(said, "freeblock stays off: the machine went down")
        self.assertIn("went down", json.loads(self.do("guard", "status", "--json")[1])["reason"])
        self.assertRegex(self.do("status", "--seconds", "0")[1], "freeblock stays off: the")
        self.do("guard", "allow")
        self.assertEqual(self.do("guard", "status")[0], 0)
        self.assertEqual(self.load()[0], 0)
        self.assertTrue(self.on())

    def test_mark_before(self):
        """The mark is there before the kernel is asked for anything.

        Seen to fail: a unit that looks and leaves no mark."""
        def look(*_):
            self.assertTrue(os.path.exists(os.path.join(self.machine.root, guard.ARMED)))
            raise OSError(5, "as if it had gone down")

        with mock.patch("freeblock.machine.kernel.choose", look):
            self.assertEqual(self.load()[0], 1)

    def test_busy(self):
        """Linux 7 is busy while other disks of the host appear: the scheduler is chosen when it is
        not. Seen to fail: a disk left to its former scheduler."""
        really, left = kernel.patiently, [OSError(errno.EBUSY, "busy")] * 2

        def patiently(work, what):
            if left:
                raise left.pop()
            really(work, what)

        with mock.patch.object(kernel, "patiently", patiently):
            self.assertEqual(self.load()[0], 0)
        self.assertTrue(self.on())

    def test_no_mark_no_start(self):
        """Where no mark can be left it is not started."""
        refuse = OSError(30, "Read-only")
        with mock.patch("freeblock.base.safe_file.write_file", side_effect=refuse):
            self.assertEqual(self.load()[0], 1)
        self.assertFalse(self.on())

    def test_without_model(self):
        """Disks without a model leave no mark."""
        self.machine.disk("sdb", WWN[:-1] + "7")
        before = self.tree()
        self.do("models", "load", "--at-boot", "--scheduler", "--dir",
                os.path.join(self.machine.root, "etc/freeblock/models"), "sdb")
        self.assertEqual(self.tree(), before)

    def test_command_line(self):
        """The word keeps it off for this boot; setup refuses meanwhile, and all say why, though
        nobody could allow it. Seen to fail: a status that says only that there is no module."""
        self.machine.write("proc/cmdline", "ro freeblock.off=1\n")
        for words in (("status",), ("guard", "status")):
            self.assertIn("freeblock stays off: freeblock.off=1 is on the kernel's command line\n",
                          self.do(*words)[1])
        self.assertRegex(self.load()[1], "stays off: freeblock.off=1 is on the kernel's command")
        self.assertRegex(self.do("setup", "/dev/sda", "--observe", "0")[1], "boot without it")
        self.assertFalse(self.on())
        self.machine.write("proc/cmdline", "ro\n")
        self.load()
        self.assertTrue(self.on())

    def test_spoiled(self):
        """A mark that a power cut spoiled counts."""
        self.machine.write(guard.ARMED, "{")
        self.assertRegex(self.load()[1], "stays off: the machine went down")

    def test_no_reason(self):
        """It stays off, too, when the reason is none that can be told.

        Seen to fail: null and "" have it started; a number brings a traceback."""
        for reason in ("null", '""', "5", '["a"]'):
            self.machine.write(guard.HELD, '{"reason": %s}' % reason)
            self.assertRegex(self.load()[1], "stays off: no reason is known", reason)

    def test_setup(self):
        """Setup allows it again, and has the guard watch; off takes both away."""
        self.load()
        self.boot("two")
        self.load()
        before = {name: what for name, what in self.tree().items() if not name.startswith("sys/")}
        self.assertEqual(self.do("setup", "/dev/sda", "--observe", "0")[0], 0)
        self.assertNotIn(guard.HELD, self.tree())
        self.assertIn(guard.ARMED, self.tree())
        self.boot("three")
        self.assertRegex(self.load()[1], "stays off")
        self.assertEqual(self.do("off", "--all")[0], 0)
        self.assertEqual({name: what for name, what in self.tree().items()
                          if not name.startswith("sys/")}, before)
