# SPDX-License-Identifier: GPL-2.0
"""Tests of the store of models: under which name, for which disk, what is refused; of the
rule for udev and the unit for systemd, and that nothing is left of them. The kernel's files
are a tree here; the real ones are those of tests/lab/t-models.sh. Takes a second.
"""

import contextlib
import errno
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from taptest import TOP
from fakemachine import WWN, model, table, tree
from fakescsi import Drive, vpd
from freeblock import ToolError, cli, fbstate
from freeblock.drive import journal, modes, names, sgio, store
from freeblock.machine import lock, units

KEPT = WWN + "-0001.fbmodel"


class Case(unittest.TestCase):
    """With a machine of its own that has the disk sda."""

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.object(fbstate, "ROOT", self.root))
        self.folder = os.path.join(self.root, "etc", "models")
        self.state = os.path.join(self.root, "state")
        self.disk("sda")

    def write(self, name, data):
        """A file below the root."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else (data + "\n").encode())
        return path

    def read(self, name):
        """Its content."""
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read()

    def disk(self, name, **more):
        """A disk in sysfs, with the scheduler."""
        for what, value in {"device/vendor": "ACME", "device/model": "DISK 9  ",
                            "device/rev": "0001", "device/wwid": WWN, "size": "50129",
                            "device/vpd_pg80": vpd(0x80, b"SERIAL01  "),
                            "queue/scheduler": "none mq-deadline [freeblock]", **more}.items():
            self.write("sys/block/%s/%s" % (name, what), value)
        self.write("sys/kernel/freeblock/%s/model" % name, b"")
        self.write("sys/kernel/freeblock/%s/model_status" % name, "loaded: 7 bytes, 'ACME' 'D'")
        self.write("sys/kernel/freeblock/%s/state/model" % name, "1")

    def loaded(self, name="sda"):
        """What was written into the kernel."""
        return self.read("sys/kernel/freeblock/%s/model" % name)

    def models(self, *words):
        """A subcommand's status and what it said."""
        out = io.StringIO()
        more = ["--dir", self.folder]
        if words[0] == "load":
            more += ["--journals", self.state]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = cli.main(["models", words[0], *more, *words[1:]])
        return status, out.getvalue()

    def keep(self, *words, **records):
        """Install a model with these records."""
        return self.models("install", self.write("new.fbmodel", model(**records)), *words)


class Store(Case):
    """Install, list, remove."""

    def test_install(self):
        """Under world-wide name and firmware, whole or not at all; again replaces it."""
        self.assertEqual(self.keep(), (0, "installed: %s/%s\n" % (self.folder, KEPT)))
        self.assertEqual(os.listdir(self.folder), [KEPT])
        self.assertEqual(self.read("etc/models/" + KEPT), model())
        self.keep(read_overhead_ns="5")
        self.assertIn(b"read_overhead_ns 5\n", self.read("etc/models/" + KEPT))
        with mock.patch.object(os, "replace", side_effect=OSError(28, "No space left", "x")):
            self.assertEqual(self.keep()[0], 1)
        self.assertIn(b"read_overhead_ns 5\n", self.read("etc/models/" + KEPT))
        self.assertEqual(self.models("list"), (0, "%s: ACME DISK 9, 50129 sectors; sda, loaded\n" %
                                               KEPT))
        listed = json.loads(self.models("list", "--json")[1])
        self.assertEqual([(one["name"], one["vendor"], one["sectors"], one["disk"], one["loaded"],
                           one["error"]) for one in listed],
                         [(KEPT, "ACME", 50129, "sda", True, None)])
        self.assertEqual(self.models("remove", KEPT), (0, ""))
        self.assertEqual(self.models("list"), (0, "no models in %s\n" % self.folder))
        self.assertEqual(self.models("list", "--json"), (0, "[]\n"))
        self.assertRegex(self.models("remove", "../x")[1], "no such model")

    def test_at_once(self):
        """While a check or setup is at the disk, its models stay as they are where these look.
        Seen to fail: both replaced a model."""
        self.keep()
        words = (1, "freeblock: sda: a check, setup or off of it is at work (process %d): wait for "
                 "it\n" % os.getpid())
        with mock.patch.object(store, "DIRECTORY", self.folder), lock.of_disk("sda", "taken"):
            self.assertEqual(self.keep(read_overhead_ns="5"), words)
            self.assertEqual(self.models("remove", KEPT), words)
            self.assertEqual(self.read("etc/models/" + KEPT), model())
        self.assertEqual(self.keep(read_overhead_ns="5")[0], 0)

    def test_whose(self):
        """A model that does not say whose it is needs --disk; one that does must fit."""
        self.assertRegex(self.keep(wwn=None)[1], "does not say of which drive.*--disk")
        self.assertEqual(self.keep("--disk", "sda", wwn=None, revision=None)[0], 0)
        self.assertEqual(os.listdir(self.folder), [KEPT])
        for records, words in (({"wwn": "naa.1"}, "for the drive naa.1, the disk has naa.5000"),
                               ({"revision": "0002"}, "for firmware 0002, the disk has 0001"),
                               ({"serial": "X"}, "for serial X, the disk has SERIAL01"),
                               ({"product": "OTHER"}, "for product OTHER, the disk has DISK 9"),
                               ({"sectors": "7"}, "for 7 sectors, the disk has 50129")):
            status, said = self.keep("--disk", "sda", **records)
            self.assertEqual(status, 1)
            self.assertRegex(said, words)
        self.assertRegex(self.keep("--disk", "sdz")[1], "/dev/sdz: no such block device")
        self.assertRegex(self.keep(distrusted="60 % within 50 us")[1], "distrusted: 60 % within")

    def test_spoiled(self):
        """What is no model, cut, or edited."""
        good = model()
        for text, words in ((b"", "not a model"), (good[:-4], "end record"),
                            (good[:-1], "end record"),
                            (good.replace(b"ACME", b"ACMF"), "end record"),
                            (good + b"x\n", "end record"), (b"x" + good, "not a model")):
            status, said = self.models("install", self.write("x", text))
            self.assertEqual(status, 1)
            self.assertRegex(said, words)
        self.assertFalse(os.path.exists(self.folder))
        self.write("etc/models/" + KEPT, good[:-4])
        self.assertRegex(self.models("list")[1], "end record is missing or wrong.*; sda, loaded")

    def test_strange(self):
        """One that cannot be opened, and what is no file, hide no other. Seen to fail: no end at
        the FIFO."""
        self.assertEqual(self.keep()[0], 0)
        os.symlink("nowhere", os.path.join(self.folder, "link.fbmodel"))
        os.mkfifo(os.path.join(self.folder, "fifo.fbmodel"))
        os.mkdir(os.path.join(self.folder, "folder.fbmodel"))
        status, said = self.models("list", "--json")
        self.assertEqual(status, 0, said)
        self.assertEqual([(one["name"], one["error"]) for one in json.loads(said)],
                         [("link.fbmodel", "No such file or directory"), (KEPT, None)])

    def test_names(self):
        """Files' names are plain whatever drives call themselves; without a world-wide name it
        is vendor, product and serial, as the drive itself would be asked."""
        self.disk("sdb", **{"device/wwid": "t10.ATA  x", "device/rev": "a/ b"})
        disk = store.disk_of("/dev/sdb")
        self.assertEqual(store.file_name(disk), "ACME-DISK_9-SERIAL01-a_b.fbmodel")
        asked = names.inquire(Drive(vpds={0x80: vpd(0x80, b"SERIAL01")}))
        self.assertEqual(names.key(asked), "ACME-DISK_9-SERIAL01")
        self.assertEqual(names.key(names.inquire(Drive())), WWN)


class Load(Case):
    """A disk appears."""

    def test_load(self):
        """The model of this disk and firmware is loaded."""
        self.keep()
        status, said = self.models("load", "sda")
        self.assertEqual((status, said), (0, "sda: %s/%s: loaded: 7 bytes, 'ACME' 'D'\n" %
                                          (self.folder, KEPT)))
        self.assertEqual(self.loaded(), table())

    def test_none(self):
        """A disk without a model is nothing special; one that is not there is."""
        self.disk("sdb", **{"device/wwid": "naa.5000c500a1b2c3d5"})
        self.keep()
        self.assertEqual(self.models("load", "sdb"),
                         (0, "sdb: there is no model of it in %s\n" % self.folder))
        self.assertRegex(self.models("load", "sdz")[1], "/dev/sdz: no such block device")
        self.assertEqual(self.loaded("sdb"), b"")

    def test_firmware(self):
        """After an update of the firmware the old model is not loaded.

        Seen to fail: choose() by world-wide name alone."""
        self.keep()
        self.write("sys/block/sda/device/rev", "0002")
        status, said = self.models("load", "sda")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"has firmware 0002, and there are models only for other firmware "
                         r"\(%s\): measure it again; run: freeblock setup /dev/sda$" % KEPT)
        self.assertEqual(self.loaded(), b"")

    def test_mismatch(self):
        """A file under the wrong name is refused.

        Seen to fail: load() without check()."""
        for records, words in (({"wwn": "naa.5000c500a1b2c3d5"}, "for the drive naa.*d5"),
                               ({"serial": "SERIAL02"}, "for serial SERIAL02"),
                               ({"sectors": "50130"}, "for 50130 sectors")):
            self.write("etc/models/" + KEPT, model(**records))
            status, said = self.models("load", "sda")
            self.assertEqual(status, 1)
            self.assertRegex(said, words)
            self.assertEqual(self.loaded(), b"")

    def test_kernel_refuses(self):
        """Its reason is passed on."""
        self.keep()
        self.write("sys/kernel/freeblock/sda/model_status", "refused: line 3: no")
        self.assertRegex(self.models("load", "sda")[1], KEPT + ": refused: line 3: no")

    def test_another_writer(self):
        """One that loads meanwhile: model_status says nothing of that.

        Seen to fail: what it says passed on."""
        self.keep()

        def busy(path, mode="r", really=open, **how):
            if path.endswith("freeblock/sda/model"):
                raise OSError(errno.EBUSY, "Device or resource busy")
            return really(path, mode, **how)

        with mock.patch("builtins.open", busy):
            self.assertRegex(self.models("load", "sda")[1], KEPT + ": Device or resource busy; the "
                             "kernel log says why; run: dmesg")

    def test_scheduler(self):
        """It is chosen only if that is wanted; without it nothing can be loaded."""
        self.keep()
        self.write("sys/block/sda/queue/scheduler", "none [mq-deadline] freeblock")
        shutil.rmtree(os.path.join(self.root, "sys/kernel/freeblock/sda"))
        status, said = self.models("load", "sda")
        self.assertEqual(status, 0)
        self.assertRegex(said, "not loaded: it does not have the scheduler")
        self.assertEqual(self.read("sys/block/sda/queue/scheduler"),
                         b"none [mq-deadline] freeblock\n")
        self.write("sys/module/freeblock/x", "")
        self.models("load", "--scheduler", "sda")
        self.assertEqual(self.read("sys/block/sda/queue/scheduler"), b"freeblock\n")

    def test_no_model_no_scheduler(self):
        """A disk without a model keeps its scheduler."""
        self.write("sys/block/sda/queue/scheduler", "none [mq-deadline] freeblock")
        self.models("load", "--scheduler", "sda")
        self.assertIn(b"[mq-deadline]", self.read("sys/block/sda/queue/scheduler"))

    def test_several(self):
        """One that fails does not keep the others from theirs; the log gets both."""
        self.keep()
        log = []
        with mock.patch("syslog.syslog", lambda level, line: log.append((level, line))):
            status, _ = self.models("load", "--syslog", "sdz", "sda")
        self.assertEqual((status, self.loaded()), (2, table()))
        self.assertEqual([level for level, _ in log], [3, 6])
        self.assertRegex(log[0][1], "/dev/sdz: no such block device")

    def test_modes_first(self):
        """A disk that a killed extraction left changed is put right when it appears; that of
        another disk is not touched."""
        drive, other = Drive(), Drive()
        other.vpd[0x83] = other.vpd[0x83][:-1] + b"\xd5"
        for one in (drive, other):
            with contextlib.suppress(modes.ModeError), modes.quiet(one, self.state):
                one.gone = True
            one.gone, one.close = False, lambda: None
        self.assertNotEqual(drive.pages, drive.saved)
        os.makedirs(os.path.join(self.root, "sys/block/sda/device/scsi_device"))
        with mock.patch.object(sgio, "Disk", lambda path: drive):
            status, said = self.models("load", "sda")
        self.assertEqual(status, 0)
        self.assertRegex(said, "ACME DISK 9 SERIAL01 .*: put back\n")
        self.assertEqual(drive.pages, drive.saved)
        self.assertEqual(len(os.listdir(self.state)), 1)


class Enable(Case):
    """Rule and unit."""

    def setUp(self):
        super().setUp()
        self.target = self.enterContext(tempfile.TemporaryDirectory())

    def do(self, word, *more):
        """Enable or disable below the target."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = cli.main(["models", word, "--root", self.target, *more])
        return status, out.getvalue()

    def test_and_back(self):
        """One command, and one to undo it; each may be repeated; nothing is left, whether the
        directories were there before or not.

        Seen to fail: disable() without its rmdir()."""
        for there in ((), ("etc/udev/rules.d", "etc/systemd/system"),
                      ("etc/systemd/system/sysinit.target.wants",)):
            shutil.rmtree(self.target)
            os.mkdir(self.target)
            for name in there:
                os.makedirs(os.path.join(self.target, name))
            before = tree(self.target)
            self.assertRegex(self.do("enable")[1], "^enabled: ")
            enabled = tree(self.target)
            self.assertRegex(self.do("enable")[1], "^enabled already: ")
            self.assertEqual(tree(self.target), enabled)
            self.assertEqual(self.do("disable"), (0, "disabled\n"))
            self.assertEqual(tree(self.target), before)
            self.assertEqual(self.do("disable"), (0, "disabled already\n"))

    def text(self, name):
        """A file that was made."""
        with open(os.path.join(self.target, name), encoding="utf-8") as file:
            return file.read()

    def test_content(self):
        """What udev and systemd are told."""
        self.do("enable")
        for name, target in units.LINKS.items():
            self.assertEqual(os.path.realpath(os.path.join(self.target, name)),
                             os.path.realpath(os.path.join(self.target, target)))
        program = os.path.join(TOP, "tools", "freeblock")
        rule = self.text(units.RULE)
        self.assertIn('ENV{SYSTEMD_WANTS}+="freeblock-disk@%k.service"\n', rule)
        self.assertNotIn("RUN", rule)
        self.assertIn("ExecStart=%s models load --at-boot %%i\n" % program, self.text(units.DISK))
        self.assertIn("ExecStart=%s restore\n" % program, self.text(units.RESTORE))
        self.assertIn("ExecStart=%s guard passed\n" % program, self.text(units.PASSED))
        for name in units.FILES:
            self.assertNotRegex(self.text(name), "@[A-Z]+@")
        self.assertIn(journal.DIRECTORY, self.text(units.RESTORE))
        self.do("enable", "--scheduler", "--dir", "/srv/m", "--program", "/opt/freeblock")
        self.assertIn("=/opt/freeblock models load --at-boot --scheduler --dir /srv/m %i\n",
                      self.text(units.DISK))
        self.do("disable")
        self.assertEqual(tree(self.target), {})

    def put(self, name, text):
        """A file as somebody else has it."""
        with open(os.path.join(self.target, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_renew(self):
        """What an older version enabled becomes what this one would, with the words that were
        given then; what somebody has disabled stays so; a unit that the older one did not have is
        enabled.

        Seen to fail: the defaults for what was given; all links made."""
        self.assertEqual(self.do("renew"), (0, "nothing to renew\n"))
        self.assertEqual(tree(self.target), {})
        for words in ((), ("--scheduler", "--dir", "/srv/m", "--program", "/opt/freeblock")):
            self.do("enable", *words)
            mine = words[-2:]
            self.assertEqual(self.do("renew", *mine), (0, "nothing to renew\n"))
            enabled = tree(self.target)
            self.put(units.GUARD, self.text(units.GUARD) + "# older\n")
            self.put(units.DISK, self.text(units.DISK).replace("--at-boot ", ""))
            timer = next(name for name, unit in units.LINKS.items() if unit == units.DUE_TIMER)
            for name in (timer, units.DUE, units.DUE_TIMER):
                os.unlink(os.path.join(self.target, name))
            self.assertRegex(self.do("renew", "--program", "/opt/other")[1], "freeblock is started "
                             "at boot, not /opt/other: renew it by that one")
            self.assertEqual(self.do("renew", *mine), (0, "renewed\n"))
            self.assertEqual(tree(self.target), enabled)
            os.unlink(os.path.join(self.target, timer))
            self.put(units.GUARD, units.MARK + "\n")
            self.assertEqual(self.do("renew", *mine), (0, "renewed\n"))
            self.assertFalse(os.path.lexists(os.path.join(self.target, timer)))
            self.do("disable")

    def test_as_commands(self):
        """What stands in the units are commands that this tool takes."""
        self.do("enable", "--scheduler")
        words = [re.search(r"^ExecStart=(.*)$", self.text(name), re.M).group(1).split()
                 for name in units.FILES if "ExecStart=/bin/true" not in self.text(name) and
                 name.endswith(".service")]
        self.assertEqual(len(words), 7)
        for program, *rest in words:
            self.assertTrue(os.access(program, os.X_OK))
            cli.make_parser(rest[0]).parse_args(rest)

    def test_not_ours(self):
        """Files of others are neither replaced nor removed."""
        path = os.path.join(self.target, units.RULE)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="ascii") as file:
            file.write("# mine\n")
        before = tree(self.target)
        self.assertRegex(self.do("enable")[1], "is there, and not ours")
        self.assertRegex(self.do("disable")[1], "not ours: left alone")
        self.assertEqual(tree(self.target), before)

    def test_paths(self):
        """A path that would have to be quoted is refused. Seen to fail: --dir's, which told of
        --program."""
        self.assertRegex(self.do("enable", "--program", "/my tools/freeblock")[1], "cannot name")
        self.assertRaisesRegex(ToolError, "would not take this path, .* or give --program another",
                               units.check_program, "/my tools/freeblock")
        self.assertRegex(self.do("enable", "--dir", "/my models")[1], "give --dir a link")
        self.assertEqual(tree(self.target), {})

    def test_programs(self):
        """What is started at boot nobody but root may change, and it lies in nobody's home; nor
        does a link to it.

        Seen to fail: the directories of the file alone."""
        folder = os.path.join(self.target, "home")
        path = os.path.join(folder, "freeblock")
        os.mkdir(folder)
        with open(path, "w", encoding="ascii"):
            pass
        os.chmod(folder, 0o777)
        why = "everybody may write to .*/home" if not os.getuid() else "another user than root"
        self.assertRaisesRegex(ToolError, why, units.check_program, path)
        os.chmod(folder, 0o755)
        me = mock.Mock(pw_uid=1000, pw_dir=folder, pw_name="me")
        with mock.patch("pwd.getpwall", return_value=[me]), \
                mock.patch("os.stat", return_value=mock.Mock(st_uid=0, st_mode=0o755)):
            self.assertRaisesRegex(ToolError, "home is the home of me. Install the packages",
                                   units.check_program, path)
            units.check_program("/usr/bin/freeblock")
            os.symlink("/usr/bin/true", os.path.join(folder, "link"))
            os.symlink("home/link", os.path.join(self.target, "on"))
            for name in ("home/link", "on", "./home/../on"):
                self.assertRaisesRegex(ToolError, "home is the home of me", units.check_program,
                                       os.path.join(self.target, name))
            os.symlink("round", os.path.join(self.target, "round"))
        self.assertRaises(OSError, units.check_program, os.path.join(self.target, "round"))

    def test_systemd(self):
        """systemd finds no fault with the units."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        self.do("enable")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               *(os.path.join(self.target, name).replace("@", "@sda")
                                 for name in units.FILES if name != units.RULE)], check=False,
                              text=True, capture_output=True)
        said = [line for line in done.stderr.splitlines() if "freeblock-" in line]
        self.assertEqual(said, [])
