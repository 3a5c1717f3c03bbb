# SPDX-License-Identifier: GPL-2.0
"""Tests of what an extraction asks of SATA disks by ATA PASS-THROUGH: caches off by SET FEATURES
and back after any end; what the way to the disk cannot do, and that it is said before anything is
changed. Most are of a drive made of bytes (fakescsi.py), laid out as SAT-4 and ACS-4 say; the last
of the simulated one. Takes a few seconds.
"""

import contextlib
import io
import os
from types import SimpleNamespace
from unittest import mock

from taptest import TOP
import test_extract_modes as common
from fakescsi import AtaDrive, Drive
from freeblock import ToolError
from freeblock.drive import ata, modes, sgio, sysfs
from freeblock.extraction import device, pipeline, refuse

OFF = {"WCE": 0, "RCD": 0, "DRA": 0, "QAM": 0x10}
ON = {"WCE": 0x20, "RCD": 0, "DRA": 0x40, "QAM": 0x10}


def sent(drive):
    """The subcommands of SET FEATURES that a drive got."""
    return [cdb[4] for cdb in drive.log if cdb[0] == 0x85 and cdb[14] == 0xef]


class Switching(common.Case):
    """What is switched, and by which command."""

    def test_features(self):
        """Both caches are off inside and on outside, by SET FEATURES alone."""
        drive = AtaDrive()
        with modes.quiet(drive, self.state) as switched:
            self.assertEqual(common.bits(drive), OFF)
            self.assertTrue(switched.off("WCE") and switched.off("DRA"))
            self.assertIn("look-ahead switched off (SET FEATURES 55h)", switched.report)
            self.assertIn("write cache switched off (SET FEATURES 82h)", switched.report)
            self.assertRegex(common.unable(switched)[0], r"read cache stays on.*\(RCD\)")
        self.assert_untouched(drive)
        self.assertEqual(sent(drive), [0x82, 0x55, 0x02, 0xaa])
        self.assertFalse([cdb for cdb in drive.log if cdb[0] == 0x55])

    def test_signs(self):
        """An enclosure's vendor is its own: page 89h tells. A disk without either sign gets no
        ATA command.

        Seen to fail: sign() by the vendor alone: the enclosure's look-ahead stays on."""
        for drive, reached in ((AtaDrive(vendor="ACME"), True), (AtaDrive(sign=False), True),
                               (AtaDrive(vendor="ACME", sign=False), False), (Drive(), False)):
            with modes.quiet(drive, self.state) as switched:
                self.assertEqual(switched.bits, modes.ATA_BITS if reached else modes.BITS)
                self.assertEqual(bool(sent(drive)), reached)
            self.assert_untouched(drive)
            self.assertEqual(any(cdb[0] == 0x85 for cdb in drive.log), reached)

    def test_as_found(self):
        """What is off is left so, and so is what the drive does not have."""
        for supported, enabled, off, words in (
                (0x60, 0x20, [0x82, 0x02], "look-ahead was off already"),
                (0x40, 0x40, [0x55, 0xaa], "write cache was off already"),
                (0x60, 0x00, [], "look-ahead was off already"), (0, 0, [], "look-ahead was off")):
            drive = AtaDrive(supported=supported, enabled=enabled)
            with modes.quiet(drive, self.state) as switched:
                self.assertTrue(switched.off("DRA") and switched.off("WCE"))
                self.assertTrue(any(words in line for line in switched.report), switched.report)
            self.assertEqual(sent(drive), off)
            self.assert_untouched(drive)

    def test_refused(self):
        """A drive that refuses one of the two keeps it, and that is said; the other is switched.

        Seen to fail: Settings.write() that does not put back what it did before the refusal."""
        drive = AtaDrive("stubborn")
        with modes.quiet(drive, self.state) as switched:
            self.assertEqual(common.bits(drive), {**OFF, "DRA": 0x40})
            self.assertIn("look-ahead stays on: the drive says that it can be changed, and refuses "
                          "(SET FEATURES 55h)", common.unable(switched))
        self.assert_untouched(drive)
        drive = AtaDrive("refuses")
        with modes.quiet(drive, self.state) as switched:
            self.assertEqual(common.bits(drive), ON)
        self.assert_untouched(drive)

    def test_deaf(self):
        """One that says yes and does nothing is an error."""
        drive = AtaDrive("deaf")
        with self.assertRaisesRegex(modes.ModeError, "page 85h was written, and reads back other"):
            with modes.quiet(drive, self.state):
                self.fail("got in")
        self.assert_untouched(drive)

    def test_no_way(self):
        """Where ATA commands do not pass, or IDENTIFY DEVICE cannot be believed, mode pages do
        what they can, and the words say why."""
        for manner, why in (("no_pass", "IDENTIFY DEVICE: sense 5/20/00"),
                            ("spoiled", "is spoiled"),
                            ("untold", "does not say which features are on")):
            drive = AtaDrive(manner)
            self.assertRegex(ata.lines(ata.way(drive))[0],
                             r"SET FEATURES does not reach it \(.*%s.*may stay on" % why)
            with modes.quiet(drive, self.state) as switched:
                self.assertEqual(sent(drive), [])
                self.assertEqual(drive.pages[8][2] & 4, 0)
                self.assertRegex(common.unable(switched)[-2], r"read-ahead stays on.*\(DRA\)")
            self.assert_untouched(drive)

    def test_flushes(self):
        """A kernel that has looked while the write cache was off looks again."""
        node = os.path.join(self.root, "sys/block/sdata/device")
        os.makedirs(os.path.join(node, "scsi_disk/0:0:0:0"))
        drive = AtaDrive()
        with mock.patch.object(sysfs, "is_flushed", side_effect=[False, True]), \
                modes.quiet(drive, self.state):
            pass
        self.assertEqual(sysfs.line(node, "rescan"), "1")
        self.assertEqual(len([cdb for cdb in drive.log if cdb[0] == 0x35]), 1)


class Ends(common.Far):
    """All that Far tries: SIGKILL at every step, signals, resets, journals that are spoiled."""

    kind = AtaDrive
    quiet = OFF
    found = ON
    refusal = "SET FEATURES 02h: sense b/00/00"


class Way(common.Case):
    """What the way to the disk cannot do is said first."""

    def refusals(self, drive, depth=""):
        """Kinds, and all words."""
        node = os.path.join(self.root, "node")
        os.makedirs(node, exist_ok=True)
        with open(os.path.join(node, "queue_depth"), "w", encoding="ascii") as file:
            file.write(depth + "\n")
        found = refuse.check_way(ata.way(drive, node))
        self.assertEqual(sent(drive), [])
        return [one.kind for one in found], refuse.text("it", found)

    def test_fine(self):
        """Nothing against a disk whose reads with FUA are carried out, and be it in vain; nor one
        against a SCSI disk, which is not asked."""
        for drive in (AtaDrive(), AtaDrive("fua_error"), AtaDrive("no_pass"), Drive()):
            self.assertEqual(self.refusals(drive, "32")[0], [])
        self.assertEqual(ata.lines(ata.way(Drive())), [])
        self.assertRegex(ata.lines(ata.way(AtaDrive(vendor="ACME")))[0],
                         r"a SATA disk \(VPD page 89h\).*SET FEATURES.*FUA, under NCQ, go round it")

    def test_refused(self):
        """Each reason says what it means and what to do.

        Seen to fail: way() that takes the depth for NCQ: 32, and libata has it off."""
        self.assertEqual(self.refusals(Drive(), "1")[0], ["no queue"])
        kinds, words = self.refusals(AtaDrive("no_fua"), "1")
        self.assertEqual(kinds, ["no queue", "no FUA"])
        self.assertRegex(words, r"(?s)the queue depth is 1\. Seeks are measured with two.*"
                         r"echo 32 > %s/node/queue_depth" % self.root)
        kinds, words = self.refusals(AtaDrive("no_fua"), "32")
        self.assertEqual(kinds, ["no FUA"])
        self.assertRegex(words, r"(?s)read again.*switched NCQ off.*dmesg.*boot again")
        kinds, words = self.refusals(AtaDrive("no_fua", "no_ncq"), "1")
        self.assertEqual(kinds, ["no queue", "no FUA"])
        self.assertRegex(words, r"has no NCQ \(IDENTIFY DEVICE word 76\)")
        self.assertNotRegex(words, "echo")

    def ready(self, drive, **options):
        """What is said on standard error, or the error."""
        args = SimpleNamespace(**{"device": "/dev/sdata", "simulated": None, "in_use": True,
                                  "force": False, "quiet": False, **options})
        drive.close = lambda: None
        out = io.StringIO()
        with mock.patch.object(sgio, "Disk", lambda path: drive), contextlib.redirect_stderr(out):
            pipeline.ready(args)
        self.assertEqual(drive.pages, drive.saved)
        return out.getvalue()

    def test_said(self):
        """It is said, or refused, before the drive is changed; --force does not help."""
        self.assertRegex(self.ready(AtaDrive()), "^/dev/sdata: a SATA disk .*\n$")
        self.assertEqual(self.ready(AtaDrive(), quiet=True), "")
        for force in (False, True):
            with self.assertRaisesRegex(ToolError, "(?s)FUA are refused(?!.*--force)"):
                self.ready(AtaDrive("no_fua"), force=force)


class Simulated(common.Case):
    """The simulated drive, behind an enclosure that has a vendor of its own."""

    LINES = ["jitter_ns 0", "vendor ACME", "translated on"]

    def setUp(self):
        super().setUp()
        drive = os.path.join(TOP, "tools/mechdisk/drives/nearline16-512e.fbdrive")
        self.dev = device.Device.simulated(drive, lines=self.LINES)
        self.addCleanup(self.dev.close)
        self.block = 0

    def ahead(self):
        """Whether a block is there, some turns after the one before it was read. Each time others:
        the read cache stays on."""
        self.block += 100000
        done = self.dev.run(self.dev.ops([self.block, self.block + 1], flags=0,
                                         wait=[0, 50000000]))[1]
        return int(done["done"] - done["submit"]) < 1000000

    def test_look_ahead(self):
        """SET FEATURES 55h stops the drive from reading ahead, and 40h of word 85 says so.

        Seen to fail: mds_pass() without `*caching = t.caching`: the read is answered at once."""
        self.assertTrue(self.ahead())
        with modes.quiet(self.dev, self.state) as switched:
            self.assertEqual(switched.bits, modes.ATA_BITS)
            self.assertEqual(ata.identify(self.dev)[85] & 0x60, 0)
            self.assertFalse(self.ahead())
        self.assertEqual(ata.identify(self.dev)[85] & 0x40, 0x40)
        self.assertEqual(ata.identify(self.dev)[82] & 0x60, 0x60)
        self.assertTrue(self.ahead())
        self.assertEqual(self.left(), [])

    def test_filter(self):
        """The probe passes on what an extraction needs, and no other ATA command."""
        def status(command, feature=0):
            return self.dev.cdb([0x85, 6, 0, 0, feature] + [0] * 9 + [command, 0])[0]

        self.assertEqual([status(0xef, 0x55), status(0xef, 0xaa)], [0, 0])
        # SET FEATURES 03h (transfer mode), WRITE DMA EXT, SECURITY ERASE UNIT, SMART
        self.assertEqual([status(0xef, 0x03), status(0x35), status(0xf4), status(0xb0, 0xd9)],
                         [device.NOT_ALLOWED] * 4)


class Sata(Simulated):
    """The simulated drive below libata, as the user-space host plays it."""

    LINES = ["jitter_ns 0", "interface sata"]
