# SPDX-License-Identifier: GPL-2.0
"""Tests of the seam through which freeblock extract times a drive, against the simulated
drive, whose truth is in its description.

A drive of which every time is known: 60 sectors of 0.1 ms on a turn of 6 ms, one
surface, no skews, no overheads, so that LBN n starts at angle n/60 and a read of it ends
0.1 ms later.

Seen to fail with: OVERLAP taken for an op like others; three commands at the drive;
waits counted from the submission; disk time from the
last submission; FUA not passed on; units taken for blocks; a medium error that is none;
SP or block descriptors let through, LOG SENSE's SP, too; MODE SELECT that does not reach the
drive; a stop that does not flush; a seed that is not the drive's; a limit of a whole turn; an
interrupt that is raised before the answer has been read.
"""

import os
import signal
import subprocess
import tempfile
import threading
import unittest

import numpy
from taptest import TOP
from freeblock import ToolError
from freeblock.base import helpers
from freeblock.drive import names
from freeblock.extraction import device
from freeblock.extraction.device import FUA, OVERLAP, READ, VERIFY, WRITE, Device

DRIVES = os.path.join(TOP, "tools", "mechdisk", "drives")
PLAIN = """fbdrive 1
vendor TEST
product PLAIN
revision 1
serial PLAIN1
period_ps 6000000000
seed 1
heads 1
order plain
head_switch_ns 0
write_settle_ns 200000
zero_latency off
noise off
command_overhead_ns 0 0
bus_ns 0
completion_overhead_ns 0
jitter_ns 0
firmware fcfs
zone 0 99 60 0 0 0 0
seek 1 1000000
seek 99 1000000
"""
TURN, SECTOR, HOST = 6000000, 100000, 10000     # ns
CACHE = ["cache 8 64 4", "write_cache back"]


class Case(unittest.TestCase):
    """With simulated drives."""

    def drive(self, name=None, **options):
        """A drive of the tree, or the plain one."""
        if name is None:
            with tempfile.NamedTemporaryFile("w", suffix=".fbdrive") as file:
                file.write(PLAIN)
                file.flush()
                dev = Device.simulated(file.name, **options)
        else:
            dev = Device.simulated(os.path.join(DRIVES, name + ".fbdrive"), **options)
        self.addCleanup(dev.close)
        return dev

    def same(self, got, want):
        """Equal, as lists."""
        self.assertEqual(numpy.asarray(got).tolist(), list(want))


class Times(Case):
    """When commands are sent, and when they end."""

    def test_wait(self):
        """Ops follow each other after the host's time, or as long as they are to wait."""
        dev = self.drive()
        r = dev.run(dev.ops([0, 1, 2, 3], wait=[0, 0, 5000, 250000]))
        self.same(r["submit"][1:] - r["done"][:-1], [HOST, HOST, 250000])
        # 10 us after its predecessor's sector has passed, the next one has begun
        self.same(r["done"][1:] - r["done"][:-1], [TURN + SECTOR] * 3)
        again = dev.run(dev.ops(5, wait=1000000))
        self.same(again["submit"] - r["done"][-1], [1000000])
        self.assertEqual(dev.now(), again["done"][0])

    def test_overlap(self):
        """Two neighbours sent together are read in one turn, else in two; and never
        more than two are at the drive."""
        dev = self.drive()
        dev.run(dev.ops(59))
        r = dev.run(dev.ops([9, 10], flags=[FUA, FUA | OVERLAP]))
        self.same(numpy.diff(r["submit"]), [HOST])
        self.same(numpy.diff(r["done"]), [SECTOR])
        r = dev.run(dev.ops([20, 21], flags=FUA))
        self.same(numpy.diff(r["done"]), [TURN + SECTOR])
        r = dev.run(dev.ops(numpy.arange(0, 60, 5), flags=FUA | OVERLAP))
        at_drive = [(r["submit"][:i] <= t).sum() - (r["done"][:i] < t).sum()
                    for i, t in enumerate(r["submit"])]
        self.assertEqual(max(at_drive), 1)
        self.same(numpy.diff(r["done"]), [5 * SECTOR] * 11)

    def test_shallow(self):
        """A drive that takes one command at a time is sent one. Seen to fail: a host of its own
        depth, two whatever queue_depth says."""
        dev = self.drive(lines=["queue_depth 1"])
        r = dev.run(dev.ops([9, 10, 20], flags=[FUA, FUA | OVERLAP, FUA | OVERLAP]))
        self.assertTrue((r["submit"][1:] >= r["done"][:-1]).all())

    def test_overlap_waits_for_all(self):
        """What does not overlap is sent when all is over, whatever came first."""
        dev = self.drive(lines=["firmware sptf"])
        dev.run(dev.ops(0))
        # the first one sent is on its way when the nearer two come
        r = dev.run(dev.ops([50, 20, 30], flags=[FUA, FUA | OVERLAP, FUA]))
        self.assertEqual(r["submit"][2], r["done"][:2].max() + HOST)

    def test_disk_time(self):
        """Time at the drive, waits included, and what was spent before."""
        dev = self.drive()
        first = dev.now()
        before = dev.disk_ns
        dev.run(dev.ops([1, 2, 3], wait=1000000))
        self.assertEqual(dev.disk_ns - before, dev.now() - first)
        counted = dev.disk_ns
        dev.disk_before_ns = 5000
        self.assertEqual(dev.disk_ns, counted + 5000)

    def test_long_batch(self):
        """More ops than a batch may have, in their order; fast enough."""
        dev = self.drive()
        blocks = numpy.arange((1 << 20) + 77) % 60
        r = dev.run(dev.ops(blocks))
        self.assertEqual(len(r), len(blocks))
        self.assertTrue((numpy.diff(r["submit"].astype("i8")) > 0).all())
        self.assertEqual(r["status"].any(), False)

    def test_seed(self):
        """The seed is that of the drive's angle and noise."""
        def ends(seed):
            dev = self.drive("toy", seed=seed)
            return dev.run(dev.ops([5, 500000]))["done"].tolist()
        self.assertEqual(ends(7), ends(7))
        self.assertNotEqual(ends(7), ends(8))


class Outcomes(Case):
    """What commands come to."""

    def test_medium_error(self):
        """A bad sector is a result; what comes after it is as if it were not."""
        dev = self.drive(lines=["medium_error 30 2 recovery_ms=5"])
        r = dev.run(dev.ops([29, 30, 32, 28], count=[1, 1, 1, 4], op=[READ, READ, READ, VERIFY]))
        self.same(r["status"], [0, device.MEDIUM, 0, device.MEDIUM])
        self.same(r["asc"], [0, 0x1100, 0, 0x1100])
        # it keeps trying for 5 ms
        self.assertGreater(r["done"][1] - r["done"][0], 5000000)
        status, sense, _ = dev.cdb(bytes((0x28, 0, 0, 0, 0, 28, 0, 0, 5, 0)), data_in=5 * 512)
        self.assertEqual((status, sense[2] & 15, sense[12]), (2, 3, 0x11))
        self.assertEqual(int.from_bytes(sense[3:7], "big"), 30)

    def test_no_such_op(self):
        """What cannot be sent is a result, at no cost; the others are carried out."""
        dev = self.drive()
        r = dev.run(dev.ops([0, 6000, 5999, 5999, 1, 1], count=[1, 1, 1, 2, 0, 1],
                            op=[READ, READ, READ, READ, READ, 3]))
        self.same(r["status"], [0, -22, 0, -22, -22, -22])
        self.same(r["submit"][[1, 3, 4, 5]], r["done"][[1, 3, 4, 5]])
        self.assertEqual(dev.now(), r["done"][2])
        self.same(dev.run(dev.ops(0, count=dev.longest + 1))["status"], [device.ILLEGAL])
        with self.assertRaises(ValueError):
            dev.ops(-1)

    def test_writes(self):
        """Refused, by whatever command."""
        write = bytes((0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0))
        dev = self.drive()
        r = dev.run(dev.ops([0, 1], op=[WRITE, READ]))
        self.same(r["status"], [device.NOT_ALLOWED, 0])
        self.assertEqual(dev.cdb(write, data_out=bytes(512))[0], device.NOT_ALLOWED)
        for cdb in ((0x04, 0, 0, 0, 0, 0), (0x1d, 4, 0, 0, 0, 0), (0x55, 0x11) + (0,) * 8,
                    (0x2f, 2) + (0,) * 8, (0x9e, 0x18) + (0,) * 14, (0x48, 1) + (0,) * 8):
            self.assertEqual(dev.cdb(bytes(cdb))[0], device.NOT_ALLOWED, cdb)
        # a number of blocks in a block descriptor would last, saved or not; and LOG SENSE's SP
        for cdb, data in (((0x15, 0x10, 0, 0, 12, 0), (0, 0, 0, 8) + (0,) * 8),
                          ((0x55, 0x10) + (0,) * 6 + (16, 0), (0,) * 7 + (8,) + (0,) * 8),
                          ((0x4d, 1) + (0,) * 8, ())):
            self.assertEqual(dev.cdb(bytes(cdb), data_out=bytes(data))[0],
                             device.NOT_ALLOWED, cdb)

    def test_errors(self):
        """A drive that there is not, a description that is none: said without a traceback."""
        with self.assertRaisesRegex(ToolError, "no-such-drive.fbdrive: No such file"):
            self.drive("no-such-drive")
        with self.assertRaisesRegex(ToolError, "line [0-9]+: 'colour' is no record"):
            self.drive(lines=["colour green"])
        with self.assertRaisesRegex(ToolError, "/dev/null: not a SCSI generic device"):
            Device.open("/dev/null")
        with self.assertRaisesRegex(ToolError, "/no/sg0: No such file"):
            Device.open("/no/sg0")

    def test_probe_dies(self):
        """A probe that ends is a message, not a hang."""
        dev = self.drive()
        dev._process.kill()
        with self.assertRaisesRegex(ToolError, "ended with status -9"):
            dev.run(dev.ops([0] * 100))

    def test_interrupted(self):
        """An interrupt ends the batch early; then the drive can be used on, to put things
        back."""
        dev = self.drive()
        many = dev.ops(numpy.arange(1 << 20) % 60)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                dev.run(many)
        timer.join()
        self.assertEqual(dev.cdb(bytes(6))[0], 0)
        self.same(dev.run(dev.ops([3, 4]))["status"], [0, 0])


class Commands(Case):
    """Commands as such."""

    def test_identity(self):
        """Who it is, and how large, in units."""
        dev = self.drive("nearline16-512e")
        self.assertEqual((dev.unit_sectors, dev.unit_bytes, dev.logical_bytes), (8, 4096, 512))
        _, _, data = dev.cdb(bytes((0x9e, 0x10) + (0,) * 11 + (32, 0, 0)), data_in=32)
        self.assertEqual(int.from_bytes(data[:8], "big") + 1, dev.blocks * 8)
        self.assertEqual((dev.inquiry["vendor"], dev.inquiry["product"]),
                         ("MECHDISK", "NEARLINE16"))
        self.assertRegex(dev.inquiry["wwn"], "^naa.3[0-9a-f]{15}$")
        self.assertEqual(dev.inquiry["serial"], "MDNL16-512E")
        self.assertEqual(list(names.vpd(dev, 0)[4:]), [0, 0x80, 0x83, 0xb0, 0xb1])
        self.assertEqual(names.vpd(dev, 0x99), b"")

    def test_unit(self):
        """A unit is its eight blocks: where and how long."""
        dev = self.drive("nearline16-512e", lines=["jitter_ns 0"])
        units = (80, 1000 * 1000 * 1000)
        said = subprocess.run([os.path.join(helpers.BUILD, "mechdisk-host", "mechdisk-host"),
                               "locate", os.path.join(DRIVES, "nearline16-512e.fbdrive")],
                              input="".join("%d\n" % (8 * u) for u in units), text=True,
                              check=True, stdout=subprocess.PIPE).stdout.splitlines()
        places = [line.split() for line in said]
        ends = dev.run(dev.ops([units[0], units[0], units[0] + 1, units[1]]))["done"].astype("i8")
        turn = ends[1] - ends[0]
        pair = dev.run(dev.ops([units[0], units[0] + 1], count=[2, 1]))["done"].astype("i8")
        self.assertAlmostEqual((pair[1] - pair[0]) / turn % 1, 0, delta=1e-6)
        # a neighbour ends eight sectors later, a far one where its angle is
        self.assertAlmostEqual((ends[2] - ends[1]) / turn % 1, 8 / int(places[0][5]), delta=1e-6)
        ends_at = [float(p[6]) + 8 / int(p[5]) for p in places]
        self.assertAlmostEqual((ends[3] - ends[1]) / turn % 1, (ends_at[1] - ends_at[0]) % 1,
                               delta=1e-6)

    def test_caching_page(self):
        """The read cache is switched off in the current values, and answers no more."""
        dev = self.drive(lines=CACHE)
        dev.run(dev.ops([7, 7], flags=0))
        self.assertLess(self.took(dev, 7), SECTOR)
        status, _, page = dev.cdb(bytes((0x5a, 8, 8, 0, 0, 0, 0, 0, 64, 0)), data_in=64)
        self.assertEqual((status, page[8] & 0x3f), (0, 8))
        self.assertEqual(page[10] & 5, 4)
        page = bytearray(page)
        page[0:2] = b"\0\0"
        page[8] &= 0x3f
        page[10] |= 1                   # RCD
        select = bytes((0x55, 0x10, 0, 0, 0, 0, 0, 0, len(page), 0))
        self.assertEqual(dev.cdb(select, data_out=page)[0], 0)
        self.assertGreater(self.took(dev, 7), SECTOR)
        page[10] |= 0x40                # no such field
        status, sense, _ = dev.cdb(select, data_out=page)
        self.assertEqual((status, sense[2] & 15, sense[12]), (2, device.ILLEGAL, 0x26))

    @staticmethod
    def took(dev, block):
        """A read that a cache may answer, ns."""
        r = dev.run(dev.ops(block, flags=0))
        return int(r["done"][0] - r["submit"][0])


class Status(unittest.TestCase):
    """The programs in C that extract starts."""

    def test_usage(self):
        """A command line that is wrong ends with 2, as in all commands. Seen to fail: 1."""
        for program, *words in (
                (("tools/judge", "judge", "freeblock-judge"),),
                (("tools/probe", "extract", "extract-probe"),),
                (("tools/probe", "extract", "extract-probe"), "/dev/null", "--rubbish")):
            with self.subTest(program=program, words=words):
                done = subprocess.run([helpers.program(*program), *words], check=False, text=True,
                                      capture_output=True, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn("usage: " + program[-1], done.stderr)
                self.assertEqual(" ".join(words[1:]) + ": no such option" in done.stderr,
                                 bool(words))

    def test_full(self):
        """Output that cannot be written is no matter of usage. Seen to fail: 2."""
        program = helpers.program("tools/judge", "judge", "freeblock-judge")
        model = os.path.join(TOP, "models", "atlas10k.fbmodel")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([program, model], check=False, text=True, stdout=full,
                                  stderr=subprocess.PIPE, input="0 9000000 R 0 8\n")
        self.assertEqual(done.returncode, 1, done.stderr)
