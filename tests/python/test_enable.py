# SPDX-License-Identifier: GPL-2.0
"""Tests of enable: which disks it takes, what it changes and off puts back, what becomes of it at
boot, what [all] of freeblock.conf means then, and scrub --all. The kernel's files are a tree here;
the real ones are those of tests/lab/t-enable.sh. Takes some seconds.
"""

import os
import sys
import time
from unittest import mock

from fakemachine import WWN, Case, model, table
from fakescsi import vpd
from freeblock.base import helpers, sealed
from freeblock.commands import scrub
from freeblock.drive import sgio, store
from freeblock.extraction import pipeline
from freeblock.machine import conf, due, kernel, kinds, units

RECORD = "etc/freeblock/enabled/" + WWN
KEPT = "etc/freeblock/models/%s-0001.fbmodel" % WWN
SDA = "sys/kernel/freeblock/sda/"
OTHER = WWN[:-1] + "5"


class Enable(Case):
    """With a machine of files."""

    def scheduler(self, name="sda"):
        """Of a disk."""
        return self.machine.read("sys/block/%s/queue/scheduler" % name).strip()

    def second(self, name="sdb", wwn=OTHER):
        """Another disk."""
        self.machine.disk(name, wwn)
        self.machine.write("sys/block/%s/device/vpd_pg80" % name, vpd(0x80, name.encode()))

    def usb(self, name):
        """A disk is behind a bridge."""
        folder = os.path.join(self.machine.root, "sys/block", name, "device")
        there = os.path.join(self.machine.root, "sys/devices/usb1", name)
        os.makedirs(os.path.dirname(there))
        os.rename(folder, there)
        os.symlink(there, folder)

    def models_load(self, name="sda", how=("--at-boot", "--scheduler")):
        """What a unit says when a disk appears."""
        return self.do("models", "load", *how, "--dir",
                       os.path.join(self.machine.root, "etc/freeblock/models"), "--journals",
                       os.path.join(self.machine.root, "journals"), name)

    def boot(self):
        """The machine starts; what its units do for a disk that appears."""
        self.do("guard", "passed")
        self.machine.boot(enabled=False)
        self.enterContext(mock.patch.object(sealed, "boot_id", return_value="another"))
        self.machine.command(["modprobe", "freeblock"])
        return self.models_load()


class One(Enable):
    """A disk."""

    def test_and_back(self):
        """Nothing is asked of the drive, and nothing measured; off leaves the machine as it was, to
        the byte; both may be repeated.

        Seen to fail: a record that off leaves; a disk that is opened."""
        before = self.tree()
        with mock.patch.object(sgio, "Disk", side_effect=AssertionError), \
                mock.patch.object(pipeline, "extract", side_effect=AssertionError):
            status, said = self.do("enable", "/dev/sda")
            self.assertEqual(status, 0, said)
            self.assertRegex(said, "^sda: enabled; .*freeblock off /dev/sda puts everything back")
            found = self.tree()
            self.assertRegex(self.do("enable", "sda")[1], "^sda: was enabled already; ")
        self.assertEqual(self.tree(), found)
        self.assertEqual(self.scheduler(), "freeblock")
        self.assertEqual(found[RECORD], b"")
        self.assertIn(units.RULE, found)
        self.assertNotIn("etc/freeblock/models", found)
        self.assertEqual(self.do("off", "sda")[0], 0)
        self.assertEqual(self.tree(), before)

    def test_told_once(self):
        """What a map would be good for, when the disk is enabled, and not again.

        Seen to fail: said each time."""
        self.machine.command(["modprobe", "freeblock"])
        self.machine.write(SDA + "state/knowledge", "none: no model\n")
        said = self.do("enable", "sda")[1]
        self.assertIn("sda: enabled; reads in idle time only: no model; freeblock off", said)
        self.assertIn("nothing more is needed", said)
        self.assertIn("freeblock observe /dev/sda estimates the gain", said)
        self.assertNotIn("observe", self.do("enable", "sda")[1])

    def test_boot(self):
        """It is served again after a boot, without a model.

        Seen to fail: disks with a model alone."""
        self.do("enable", "sda", "--idle-only")
        status, said = self.boot()
        self.assertEqual((status, self.scheduler()), (0, "freeblock"), said)
        self.assertRegex(said, "sda: it is served in idle time, without a model\n"
                         "(?s:.*)sda: idle_only 1")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "1\n")

    def test_not_enabled(self):
        """Another disk is left alone at boot."""
        self.do("enable", "sda")
        self.second()
        self.machine.boot(enabled=False)
        said = self.models_load("sdb")[1]
        self.assertRegex(said, "sdb: there is no model of it")
        self.assertEqual(self.scheduler("sdb"), "mq-deadline")

    def test_no_boot(self):
        """Until the next boot, though the start at boot is enabled for another disk.

        Seen to fail: a record without the boot."""
        self.second()
        self.do("enable", "sdb")
        self.assertEqual(self.do("enable", "sda", "--no-boot")[0], 0)
        self.assertEqual(self.scheduler(), "freeblock")
        said = self.boot()[1]
        self.assertRegex(said, "sda: there is no model of it")
        self.assertEqual(self.scheduler(), "mq-deadline")

    def test_idle_only(self):
        """Set, put back by off, taken back by an enable without it, where the module's own
        parameter holds.

        Seen to fail: an enable that leaves it; one that goes by 0 whatever the parameter."""
        self.do("enable", "sda", "--idle-only")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "1\n")
        self.do("enable", "sda")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "0\n")
        self.machine.write("sys/module/freeblock/parameters/idle_only", "Y\n")
        self.do("enable", "sda")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "1\n")

    def test_max_cost(self):
        """What is allowed is set, and after a boot, whatever freeblock.conf says; more than idle
        reads may cost at most is refused. What it costs is said: not known yet.

        Seen to fail: a record without it."""
        self.machine.write(conf.FILE, "[all]\nidle_mean_us = 700\n")
        status, said = self.do("enable", "sda", "--max-cost", "0.25")
        self.assertEqual(status, 0, said)
        self.assertIn("  cost: not known; freeblock status /dev/sda says what is measured\n", said)
        self.assertEqual(self.machine.read(SDA + "idle_mean_us"), "250\n")
        self.boot()
        self.assertEqual(self.machine.read(SDA + "idle_mean_us"), "250\n")
        self.assertEqual(self.do("enable", "sda", "--max-cost", "51")[0], 2)
        self.do("off", "sda")
        self.do("enable", "sda")
        self.assertEqual(self.machine.read(SDA + "idle_mean_us"), "700\n")

    def test_idle_only_conf(self):
        """By the file, too; the command's word holds in any case."""
        self.machine.write(conf.FILE, "[all]\nidle_only = 1\n")
        self.do("enable", "sda")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "1\n")
        self.machine.write(conf.FILE, "[all]\nidle_only = 0\n")
        self.do("conf", "apply")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "0\n")
        self.do("enable", "sda", "--idle-only")
        self.do("conf", "apply")
        self.assertEqual(self.machine.read(SDA + "idle_only"), "1\n")

    def test_older_module(self):
        """Without the file idle_only: the disk is enabled all the same."""
        self.machine.command(["modprobe", "freeblock"])
        os.unlink(os.path.join(self.machine.root, SDA + "idle_only"))
        self.assertEqual(self.do("enable", "sda")[0], 0)
        self.assertNotIn(SDA + "idle_only", self.tree())

    def test_model(self):
        """One that is kept of the disk is loaded; one that is distrusted is not, and the foreground
        is left alone; what does not load is said, and the disk is served.

        Seen to fail: a model that is passed over; an error where the disk could be served."""
        self.machine.write(KEPT, model())
        self.assertEqual(self.do("enable", "sda")[0], 0)
        self.assertEqual(self.tree()[SDA + "model"], table())
        self.assertEqual(self.machine.read(SDA + "idle_only"), "0\n")
        self.do("off", "sda")
        self.machine.write(KEPT, model(distrusted="so noisy"))
        status, said = self.do("enable", "sda")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"not trusted \(so noisy\)")
        self.assertEqual((self.tree()[SDA + "model"], self.machine.read(SDA + "idle_only")),
                         (b"", "1\n"))
        self.do("off", "sda")
        self.machine.write(KEPT, model())
        with mock.patch.object(store, "load", side_effect=kernel.ToolError("refused: no room")):
            status, said = self.do("enable", "sda")
        self.assertEqual((status, self.scheduler()), (0, "freeblock"))
        self.assertRegex(said, "without its model: refused: no room")

    def test_new_firmware(self):
        """At boot the model fits no more: that is said, and the disk is served.

        Seen to fail: the error that ended it."""
        self.set_up()
        self.machine.write("sys/block/sda/device/rev", "0002\n")
        status, said = self.boot()
        self.assertEqual((status, self.scheduler()), (0, "freeblock"), said)
        self.assertRegex(said, "only for other firmware(?s:.*)served in idle time")

    def test_then_setup(self):
        """A measured model comes later, and off puts back all of it."""
        before = self.tree()
        self.do("enable", "sda", "--idle-only")
        self.assertEqual(self.do("enable", "sda", "--measure-now", "--model", self.file,
                                 "--observe", "0")[0], 0)
        self.assertEqual(self.tree()[SDA + "model"], table())
        self.assertEqual(self.machine.read(SDA + "idle_only"), "0\n")
        self.assertEqual(self.do("off", "--all")[0], 0)
        self.assertEqual(self.tree(), before)

    def test_side_by_side(self):
        """Scrubs of several disks end at once, not one behind the other. Seen to fail: without
        that call; the scrub of a disk that is not meant."""
        self.second()
        os.makedirs(os.path.join(self.machine.root, "run/systemd/system"))
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n")
        self.do("enable", "sda", "sdb")
        really, calls = self.machine.systemctl, []

        def systemctl(*words):
            calls.append(words)
            return really(*words)

        units = ["freeblock-due@sd%s.service" % letter for letter in "ab"]
        with mock.patch.object(self.machine, "systemctl", systemctl):
            self.assertEqual(self.do("off", "sdb")[0], 0)
            self.do("enable", "sdb")
            self.assertEqual(self.do("off", "--all")[0], 0)
        begun = [words[2:] for words in calls if words[:2] == ("--no-block", "stop")]
        self.assertEqual(begun, [(units[1],), tuple(units)])

    def test_killed(self):
        """Off puts back everything, wherever it was killed.

        Seen to fail: a record that is journaled after it was written."""
        self.machine.write(KEPT, model())
        before, count = self.tree(), 0

        def prepare():
            self.assertEqual(self.do("off", "--all")[0], 0)

        for number in self.each_kill(prepare, "enable", "sda", "--idle-only", "--quiet"):
            count += 1
            self.do("off", "--all")
            self.assertEqual(self.tree(), before, number)
        self.assertGreater(count, 25)

    def test_zoned(self):
        """Linux 6.10 and later let a disk with zones have the scheduler.

        Seen to fail: 6.10 taken for 6.1."""
        self.machine.write("sys/block/sda/queue/zoned", "host-managed\n")
        for release, served in (("6.1.0-56-amd64", False), ("6.10.3", True), ("7.2.13", True)):
            with mock.patch.object(kinds.os, "uname", return_value=mock.Mock(release=release)):
                self.assertEqual(kinds.unfit("sda") is None, served, release)

    def test_refused(self):
        """No kind of disk without a word why; nothing is changed.

        Seen to fail: each of the reasons left out."""
        release = mock.patch.object(kinds.os, "uname",
                                    return_value=mock.Mock(release="6.9.12-amd64"))
        self.addCleanup(release.stop)
        release.start()
        self.usb("sda")
        self.assertEqual(self.do("enable", "sda")[0], 0)    # it is named
        self.do("off", "sda")
        self.second()
        before = self.tree()
        for file, value, words in (
                ("queue/rotational", "0", "sdb is left alone: solid state"),
                ("queue/zoned", "host-managed", "sdb is left alone: zoned: Linux before 6.10 "),
                ("queue/scheduler", "none", "sdb is left alone: it takes no scheduler"),
                ("device/type", "5", "sdb is left alone: not a disk"),
                ("device/wwid", WWN, "sda are the same disk by another path")):
            path = "sys/block/sdb/" + file
            was = before.get(path)
            self.machine.write(path, value + "\n")
            if "path" in words:
                self.machine.write("sys/block/sdb/device/vpd_pg80", vpd(0x80, b"SERIAL01  "))
            status, said = self.do("enable", "sdb")
            self.assertEqual((status, self.scheduler("sda")), (1, "mq-deadline"))
            self.assertRegex(said, words)
            if was is None:
                os.unlink(os.path.join(self.machine.root, path))
            else:
                self.machine.write(path, was)
            self.machine.write("sys/block/sdb/device/vpd_pg80", vpd(0x80, b"sdb"))
        self.machine.write("sys/block/sdb/device/wwid", "\n")
        self.machine.write("sys/block/sdb/device/vpd_pg80", vpd(0x80, b""))
        self.assertRegex(self.do("enable", "sdb")[1], "neither a world-wide name .*; until the "
                         "next boot run: echo freeblock > /sys/block/sdb/queue/scheduler")
        self.assertRegex(self.do("enable", "sdz")[1], "/dev/sdz: no such block device")

    def test_left_alone(self):
        """The module serves it not: an error, and why."""
        self.machine.command(["modprobe", "freeblock"])
        self.machine.write(SDA + "state/scheduling", "multipath member\n")
        status, said = self.do("enable", "sda")
        self.assertEqual(status, 1)
        self.assertRegex(said, "enabled in part(?s:.*)leaves this disk alone: multipath member")
        self.assertEqual(self.do("off", "--all")[0], 0)
        self.assertEqual(self.scheduler(), "mq-deadline")

    def test_usage(self):
        """Options that would do nothing."""
        for words in ((), ("sda", "--all"), ("sda", "--model", self.file), ("sda", "--in-use"),
                      ("sda", "--observe", "9"), ("--all", "--measure-now", "--model", self.file),
                      ("sda", "--no-boot", "--program", "/opt/f")):
            self.assertEqual(self.do("enable", *words)[0], 2, words)


class Fleet(Enable):
    """Several disks."""

    def setUp(self):
        super().setUp()
        for number, name in enumerate(("sdb", "sdc", "sdd", "sde", "sr0")):
            self.second(name, WWN[:-1] + "%x" % (number + 6))
        self.usb("sdb")
        self.machine.write("sys/block/sdc/device/vpd_pgb1", vpd(0xb1, bytes([0, 1, 0, 0, 0x20])))
        self.machine.write("sys/block/sdd/queue/rotational", "0\n")
        self.machine.write("sys/block/sr0/device/type", "5\n")

    def test_asks(self):
        """--all asks at a terminal, and needs --yes where there is none.

        Seen to fail: an empty answer taken for yes."""
        status, said = self.do("enable", "--all")
        self.assertEqual((status, self.scheduler()), (2, "mq-deadline"))
        self.assertIn("--all needs --yes where there is no terminal to ask; it is about sda sde",
                      said)
        for answer, scheduler in (("", "mq-deadline"), ("n\n", "mq-deadline"),
                                  ("Yes\n", "freeblock")):
            terminal = mock.Mock(isatty=lambda: True, readline=lambda answer=answer: answer)
            with mock.patch.object(sys, "stdin", terminal):
                self.do("enable", "--all", "--quiet")
            self.assertEqual(self.scheduler(), scheduler, answer)
        self.assertEqual(self.do("enable", "sda", "--yes")[0], 2)

    def test_most(self):
        """max_disks of [all] limits enable and apply. Seen to fail: disks counted twice; those that
        are served already not counted."""
        self.machine.write(conf.FILE, "[all]\nmax_disks = 1\nenable = yes\n")
        for command in (("enable", "--all", "--yes"), ("apply",)):
            status, said = self.do(*command)
            self.assertEqual((status, self.scheduler()), (1, "mq-deadline"))
            self.assertRegex(said, r"freeblock.conf:2: max_disks = 1, and there would be 2: sda, s")
        self.assertEqual(self.do("enable", "sda")[0], 0)
        self.assertEqual(self.do("enable", "sda")[0], 0)
        self.assertEqual(self.do("enable", "sde")[0], 1)
        self.machine.write(conf.FILE, "[wwn *]\nmax_disks = 9\n")
        self.assertRegex(self.do("conf", "check")[1], "a number for the machine, in .all.")

    def test_all(self):
        """All hard disks but those that have to be named, which is said.

        Seen to fail: a bridge, shingles that are hidden, a CD drive; one that ends it."""
        status, said = self.do("enable", "--all", "--yes")
        self.assertEqual(status, 0, said)
        self.assertEqual([name for name in ("sda", "sdb", "sdc", "sdd", "sde", "sr0")
                          if self.scheduler(name) == "freeblock"], ["sda", "sde"])
        self.assertRegex(said, "sdb is left out: it is behind a USB bridge: name it")
        self.assertRegex(said, "sdc is left out: it is, by what it says, a drive-managed SMR disk")
        self.assertNotRegex(said, "sdd|sr0")
        self.assertEqual(self.do("enable", "/dev/sdb", "sdc", "--json")[0], 0)
        self.assertEqual((self.scheduler("sdb"), self.scheduler("sdc")), ("freeblock",) * 2)

    def test_one_fails(self):
        """The others are enabled."""
        status, said = self.do("enable", "sda", "sdd", "sde")
        self.assertEqual((status, self.scheduler("sde")), (1, "freeblock"))
        self.assertRegex(said, "freeblock: sdd is left alone: solid state")

    def test_shingled(self):
        """By VPD page B1h, or since it takes TRIM. Seen to fail: the bits of another byte."""
        self.assertEqual([kinds.by_name_only(name) is None for name in ("sda", "sdc")],
                         [True, False])
        for zoned, named in ((0x10, True), (0x20, False), (0, True)):
            self.machine.write("sys/block/sda/device/vpd_pgb1",
                               vpd(0xb1, bytes([0, 1, 0, 0, zoned])))
            self.assertEqual(kinds.by_name_only("sda") is None, named)
        self.machine.write("sys/block/sda/queue/discard_max_bytes", "2147450880\n")
        self.assertIsNotNone(kinds.by_name_only("sda"))

    def test_conf(self):
        """[all] and nothing else scrubs the fleet; what has to be named needs a section of its
        own, which comes before [all] in any case.

        Seen to fail: [all] for each disk with the scheduler."""
        os.makedirs(os.path.join(self.machine.root, "run/systemd/system"))
        self.machine.write(conf.FILE, "[all]\nscrub_every_days = 30\n")
        self.do("enable", "--all", "--yes")
        self.do("enable", "sdb")
        self.assertEqual(sorted(name for name in os.listdir(os.path.join(
            self.machine.root, "run/units"))), [due.UNIT % "sda", due.UNIT % "sde"])
        self.assertRegex(self.do("conf", "show", "sdb")[1], "sdb: nothing is said of it")
        self.machine.write(conf.FILE, "[all]\nscrub_every_days = 30\n[wwn %s]\nscrub_every_days = "
                           "90\n[wwn %s]\nscrub_every_days = never\n" % (WWN[:-1] + "6", WWN))
        self.do("conf", "due")
        self.assertEqual(sorted(os.listdir(os.path.join(self.machine.root, "run/units"))),
                         [due.UNIT % "sdb", due.UNIT % "sde"])

    def test_conf_enables(self):
        """A disk that is added gets the scheduler by the key enable, and no other does; a section
        of its own overrides [all].

        Seen to fail: solid-state disks; a key that counts without --at-boot, or without
        --scheduler."""
        self.machine.write(conf.FILE, "[all]\nenable = yes\n[wwn %s]\nenable = no\n" % (
            WWN[:-1] + "9"))
        self.machine.command(["modprobe", "freeblock"])
        for how in ((), ("--at-boot",), ("--scheduler",)):
            self.assertRegex(self.models_load("sda", how)[1], "sda: there is no model of it")
            self.assertEqual(self.scheduler(), "mq-deadline")
        got = [name for name in ("sda", "sdb", "sdc", "sdd", "sde", "sr0")
               if not self.models_load(name)[0] and self.scheduler(name) == "freeblock"]
        self.assertEqual(got, ["sda"])
        # a file with a mistake enables nothing, and takes nothing from those that are enabled
        self.do("enable", "sde")
        self.machine.write(conf.FILE, "[all]\nenable = perhaps\n")
        for name, scheduler in (("sda", "mq-deadline"), ("sde", "freeblock")):
            self.machine.write("sys/block/%s/queue/scheduler" % name, "mq-deadline\n")
            self.models_load(name)
            self.assertEqual(self.scheduler(name), scheduler)

    def test_scrub_all(self):
        """A process for each disk that [all] would mean, the first bad status, what each says with
        the disk's name; a signal ends all of them.

        Seen to fail: the last status, the first disk's, the worst; disks that have to be named."""
        self.assertRegex(self.do("scrub", "--all")[1], "no hard disk has the scheduler freeblock: "
                         "there is no rotating disk")
        self.do("enable", "sda", "sdb", "sde")
        with mock.patch.object(helpers, "command") as command:
            for words, ends in ((("--all",), (0, 3)), (("run", "--all"), (3, 0)),
                                (("--all", "run"), (3, 4))):
                script = self.machine.write("freeblock", "#!/bin/sh\necho \"$@\"\n"
                                            "[ $2 = sda ] && exit %d\nexit %d\n" % ends)
                os.chmod(script, 0o755)
                command.return_value = script
                status, said = self.do("scrub", *words, "--quiet", "--order", "near")
                self.assertEqual(status, 3)
                lines = sorted(said.splitlines())
                self.assertEqual(lines[-2:], [
                    "%s: scrub %s run --quiet --before 5 --order near" % (name, name)
                    for name in ("sda", "sde")])
                self.assertRegex(said, "sdb is left out: it is behind a USB bridge: name it")

    def test_scrub_all_stopped(self):
        """Seen to fail: processes that are left."""
        script = self.machine.write("freeblock", "#!/bin/sh\nexec sleep 60\n")
        os.chmod(script, 0o755)
        fleet = scrub.Fleet(mock.Mock(quiet=True, order=None, segment=None, deadline=None,
                                      wait=False, before=5), ["sda", "sde"])
        fleet.commands = {name: [script] for name in fleet.commands}
        began = time.monotonic()
        fleet.stopped.append(15)
        self.assertEqual(fleet.run(), 143)
        self.assertLess(time.monotonic() - began, 30)

    def test_scrub_all_words(self):
        """Other actions, one disk after the other; one that cannot be done ends no other.

        Seen to fail: the first bad status ends it."""
        self.do("enable", "sda", "sde")
        for name in ("sda", "sde"):
            for file, value in (("granule_bytes", 4096), ("sectors", 50129), ("id", name)):
                self.machine.write("sys/kernel/freeblock/%s/%s" % (name, file), "%s\n" % value)
        self.machine.write("sys/kernel/freeblock/sde/scrub", "running\n")
        with mock.patch.object(scrub.placement, "locate",
                               lambda name: [mock.Mock(disk=name)]):
            status, said = self.do("scrub", "--all", "stop")
        self.assertEqual(status, 1)
        self.assertRegex(said, "sda is not being scrubbed")
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sde/scrub"), "stop\n")
        for words in (("--all", "install-service"), ("--all", "status", "--json"), (),
                      ("sda", "--all"), ("--all", "--state", "x")):
            self.assertEqual(self.do("scrub", *words)[0], 2, words)
