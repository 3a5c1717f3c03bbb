# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock scan against a made-up sysfs and a made-up disk: where devices lie on
disks, files of digests and their end in a power cut, whole runs, interruptions. Prints
TAP; takes some seconds. With the module it is tested in the lab (tests/lab/t-resume.sh).
"""

import contextlib
import hashlib
import io
import json
import os
import random
import signal
import threading
import time
from unittest import mock

import fakedisk
import taptest
from freeblock import ToolError, background
from freeblock.commands import scan
from freeblock.state import placement
from freeblock.state.placement import Segment
from freeblock.tasks import scan_file


def freeblock(*words):
    """A subcommand's status, output and errors."""
    return taptest.freeblock("scan", *words)


class Case(fakedisk.Case):
    """With a tree and a disk of its own: sda, 1000 sectors in blocks of 8, partitions
    sda1 (100 to 299, in the middle of blocks) and sda2 (304 to 999)."""

    def setUp(self):
        super().setUp()
        self.disk = fakedisk.Medium(1000, 8)
        self.tree.disk("sda", 1000, 4096)
        self.tree.partition("sda", "sda1", 100, 200)
        self.tree.partition("sda", "sda2", 304, 696)
        self.patch(*self.disk.patches())
        self.out = os.path.join(self.folder, "digests")

    def scan(self, *words):
        """Status, object, errors."""
        status, out, err = freeblock(*words, "--json", "--quiet", "--before", "0")
        return status, json.loads(out) if out else None, err

    def expected(self, first, sectors):
        """Digests of a piece of the disk, in the disk's blocks."""
        found, at = [], first
        while at < first + sectors:
            end = min((at // 8 + 1) * 8, first + sectors)
            found.append(hashlib.blake2b(self.disk.data[at * 512:end * 512],
                                         digest_size=16).digest())
            at = end
        return found

    def digests(self, path):
        """What a file says: number -> state and digest."""
        records = scan_file.Records(path)
        found = {number: (state, digest) for number, state, digest in records.all()}
        records.close()
        return found


class Where(Case):
    """Devices and their pieces of disks."""

    def test_plain(self):
        """Disks and partitions, by any name."""
        os.makedirs(os.path.join(self.tree.root, "dev/disk/by-id"))
        os.symlink("../../sda2", os.path.join(self.tree.root, "dev/disk/by-id/x-part2"))
        for name, segment in (("sda", Segment(0, 1000, "sda", 0)),
                              ("/dev/sda", Segment(0, 1000, "sda", 0)),
                              ("/dev/sda1", Segment(0, 200, "sda", 100)),
                              ("/dev/disk/by-id/x-part2", Segment(0, 696, "sda", 304))):
            self.assertEqual(placement.locate(name), [segment])
        for name, pattern in (("sdz", "^/dev/sdz: no such block device$"),
                              ("/dev/sdz", "^/dev/sdz: no such block device$"),
                              ("/dev/disk", "not a block device"), ("/", "not a block device"),
                              ("", "no such block device"), ("..", "no such block device")):
            with self.assertRaisesRegex(ToolError, pattern):
                placement.locate(name)

    def mapped(self, *table):
        """The segments of a device with this table."""
        self.tree.mapped("dm-0", "vg-lv", 500)
        self.tree.disk("sdb", 1000, 4096)
        with mock.patch.object(placement, "dm_table", return_value=list(table)):
            return placement.locate("dm-0")

    def test_volume(self):
        """A linear volume on two disks, one through a partition; back again."""
        found = self.mapped("0 300 linear 8:2 16", "300 200 linear 8:16 64")
        self.assertEqual(found, [Segment(0, 300, "sda", 320), Segment(300, 200, "sdb", 64)])
        layout = scan_file.Layout(found, 4096)
        self.assertEqual(layout.blocks, 38 + 25)
        seen = []
        for number in range(layout.blocks):
            disk, lbn, sectors, first = layout.block_of(number)
            self.assertEqual([(number, lbn, lbn + sectors)],
                             list(layout.places(disk, lbn, sectors)))
            seen += range(first, first + sectors)
        self.assertEqual(seen, list(range(500)))

    def test_volumes_refused(self):
        """What is not linear, or not understood, is named."""
        for table, pattern in ((["0 500 striped 2 128 8:2 0 8:16 0"], "dm-0 is striped, not lin"),
                               (["0 500 crypt aes 0 8:2 0"], "crypt, not linear"),
                               (["100 400 linear 8:2 0"], "not understood in its table: '100"),
                               (["0 900 linear 8:2 0"], "sectors 0 to 899 lie beyond")):
            with self.assertRaisesRegex(ToolError, pattern):
                self.mapped(*table)

    def test_mirror(self):
        """A member's data begin behind its superblock."""
        self.tree.mirror("md0", 600, {"sda2": (16, "in_sync"), "sdb": (32, "spare")})
        self.assertEqual(placement.locate("md0", "sda2"), [Segment(0, 600, "sda", 320)])
        for member, pattern in ((None, "raid1 of sda2, sdb: say which.*--member sda2"),
                                ("sda", "say which"), ("sda2x", "no such block device")):
            with self.assertRaisesRegex(ToolError, pattern):
                placement.locate("md0", member)
        self.tree.disk("sdb", 1000, 4096)
        with self.assertRaisesRegex(ToolError, r"sdb is not in sync with md0 \(spare\)"):
            placement.locate("md0", "sdb")
        self.tree.mirror("md1", 600, {"sda2": (16, "in_sync")}, level="raid5")
        with self.assertRaisesRegex(ToolError, "md1 is md raid5"):
            placement.locate("md1", "sda2")
        with self.assertRaisesRegex(ToolError, "sda is not an md array"):
            placement.locate("sda", "sda2")


class Files(Case):
    """Files of digests."""

    def header(self, **changes):
        """Of a scan of sda2."""
        values = {"given": "sda2", "algorithm": "blake2b-128", "block_bytes": 4096,
                  "segments": [Segment(0, 696, "sda", 304)],
                  "disks": {"sda": {"id": "naa.5", "sectors": 1000}}}
        return scan_file.Header(**{**values, **changes})

    def test_header(self):
        """It is read as it was written; a spoiled byte is noticed."""
        many = [Segment(8 * i, 8, "sda", 400 - 8 * i) for i in range(50)] * 6
        for segments in ([Segment(0, 696, "sda", 304)], many):
            header = self.header(segments=segments)
            raw = header.text()
            self.assertEqual(len(raw) % 4096, 0)
            found = scan_file.parse_header("x", io.BytesIO(raw))
            self.assertEqual(found.text(), raw)
            self.assertIsNone(header.same_as(found))
        for at in range(raw.index(b"\nend ") + 13):
            bad = bytearray(raw)
            bad[at] ^= 1
            with self.assertRaisesRegex(ToolError, "damaged"):
                scan_file.parse_header("x", io.BytesIO(bytes(bad)))

    def test_other(self):
        """A file for something else is not gone on with; names of disks may change."""
        scan_file.Writer(self.out, self.header()).close()
        for changes, pattern in (
                ({"algorithm": "crc32c"}, "algorithm: blake2b-128 there"),
                ({"block_bytes": 8192}, "block size: 4096 there, 8192 here"),
                ({"segments": [Segment(0, 696, "sda", 296)]}, "pieces"),
                ({"disks": {"sda": {"id": "naa.6", "sectors": 1000}}}, "naa.5 of 1000 sectors")):
            with self.assertRaisesRegex(ToolError, pattern):
                scan_file.Writer(self.out, self.header(**changes))
        scan_file.Writer(self.out, self.header(
            segments=[Segment(0, 696, "sdq", 304)],
            disks={"sdq": {"id": "naa.5", "sectors": 1000}})).close()

    def test_two_at_once(self):
        """Of two that begin at the same moment one writes; the other is refused.

        Seen to fail with _create() without the folder's lock."""
        writers, refused = [], []

        def begin():
            try:
                writers.append(scan_file.Writer(self.out, self.header()))
            except ToolError as error:
                refused.append(str(error))

        really = scan_file._write_all
        with mock.patch.object(scan_file, "_write_all",
                               lambda *args: (time.sleep(0.2), really(*args))):
            both = [threading.Thread(target=begin) for _ in range(2)]
            for thread in both:
                thread.start()
            for thread in both:
                thread.join()
        self.assertEqual((len(writers), len(refused)), (1, 1))
        self.assertRegex(refused[0], "another freeblock scan writes it")
        self.assertEqual(os.fstat(writers[0].file.fileno()).st_ino,
                         os.stat(self.out + ".part").st_ino)
        writers[0].close()

    def test_spoiled_record(self):
        """A record with any byte spoiled is none, and its block is wanted again.

        Seen to fail with the record's check not looked at."""
        writer = scan_file.Writer(self.out, self.header())
        for number in range(87):
            writer.put(number, scan_file.GOOD, scan_file.blake2b(b"%d" % number))
        writer.sync()
        at = writer.header.length + 40 * 24
        for byte in (i for i in range(24) if not 17 <= i < 20):
            raw = bytearray(os.pread(writer.file.fileno(), 24, at))
            raw[byte] ^= 4
            self.assertIsNone(writer.unpack(40, bytes(raw)))
        os.pwrite(writer.file.fileno(), os.pread(writer.file.fileno(), 24, at - 24), at)
        writer.close()
        writer = scan_file.Writer(self.out, self.header())
        self.assertEqual([i for i in range(87) if not writer.state[i]], [40])
        writer.close()

    def test_power_cut(self):
        """Of what was not synced, any part may be lost or torn; all that was synced counts,
        and nothing that was not delivered.

        Seen to fail with sync() that counts before it writes, and with no check of records.
        """
        for seed in range(40):
            rng = random.Random(seed)
            path = self.out + str(seed)
            cut = fakedisk.PowerCut()
            with cut:
                writer = scan_file.Writer(path, self.header())
                order = rng.sample(range(87), 87)
                digests = {n: scan_file.blake2b(b"%d %d" % (seed, n)) for n in order}
                synced = set()
                for step, number in enumerate(order):
                    writer.put(number, scan_file.GOOD, digests[number])
                    if rng.random() < 0.1:
                        with contextlib.suppress(fakedisk.Cut):
                            cut.armed = rng.random() < 0.2
                            writer.sync()
                        if cut.happened:
                            break
                        synced = {n for n in order if writer.state[n]}
                        self.assertEqual(synced, set(order[:step + 1]))
                writer.close()
            cut.apply(path + ".part", rng)
            writer = scan_file.Writer(path, self.header())
            counted = {n: d for n, _, d in writer.all()}
            self.assertTrue(synced <= set(counted), seed)
            self.assertEqual(counted, {n: digests[n] for n in counted})
            writer.close()

    def test_crc32c(self):
        """The checksum of RFC 3720, B.4."""
        try:
            function = scan_file.crc32c()
        except ToolError as error:
            self.skipTest(str(error))
        self.assertEqual(function(bytes(32)), b"\xaa\x36\x91\x8a" + bytes(12))


class Runs(Case):
    """Whole runs."""

    def test_whole(self):
        """A disk, and partitions that begin and end within blocks; then compared."""
        for device, first, sectors in (("sda", 0, 1000), ("sda1", 100, 200),
                                       ("/dev/sda2", 304, 696)):
            out = self.out + os.path.basename(device)
            status, result, err = self.scan(device, "-o", out)
            self.assertEqual((status, err), (0, ""))
            want = self.expected(first, sectors)
            self.assertEqual(self.digests(out),
                             {number: (1, digest) for number, digest in enumerate(want)})
            self.assertEqual((result["good"], result["progress"]["done"]),
                             (len(want), len(want)))
            self.assertFalse(os.path.exists(out + ".part"))
            self.assertEqual(self.scan(device, "--verify", out)[0], 0)

    def test_changed(self):
        """Changed and unreadable blocks are listed where they are. With a file, too.

        Seen to fail with difference() that compares states only."""
        self.assertEqual(self.scan("sda1", "-o", self.out)[0], 0)
        self.disk.data[(100 + 55) * 512] ^= 1
        self.disk.bad[200] = background.UNREADABLE
        for words in ([], ["-o", self.out + "2"]):
            status, result, _ = self.scan("sda1", "--verify", self.out, *words)
            self.assertEqual(status, scan.DIFFERENT)
            self.assertEqual([(d["sector"], d["lbn"], d["sectors"], d["now"])
                              for d in result["differing"]][1:], [(100, 200, 8, "unreadable")])
            self.assertEqual(result["differing"][0]["sector"], 52)
            self.assertEqual(result["bad"], [{"sector": 100, "sectors": 8, "disk": "sda",
                                              "lbn": 200, "state": "unreadable"}])
        status, out, _ = freeblock("sda1", "--verify", self.out, "--quiet", "--before", "0")
        self.assertRegex(out, r"differs sector 52, 8 long \(sda 152\): was \w{32}, is \w{32}\n")
        self.assertIn("25 good, 1 unreadable, 0 not tried, 2 differ", out)

    def test_bad(self):
        """Bad blocks do not stop a scan; those not tried are tried again next time."""
        self.disk.bad.update({200: background.UNREADABLE, 208: background.UNTRIED})
        self.disk.stop_after = 20
        self.assertEqual(self.scan("sda1", "-o", self.out)[0], 130)
        self.disk.stop_after = None
        del self.disk.bad[208]
        status, result, _ = self.scan("sda1", "-o", self.out)
        self.assertEqual((status, result["unreadable"], result["not_tried"]),
                         (scan.BAD_BLOCKS, 1, 0))

    def test_signals(self):
        """SIGINT and SIGTERM save; the same command goes on, and repeats nothing."""
        for number, after in ((signal.SIGINT, 30), (signal.SIGTERM, 31)):
            self.disk.signal, self.disk.stop_after = number, after
            status, result, _ = self.scan("sda", "-o", self.out)
            self.assertEqual((status, result["finished"]), (128 + number, False))
        self.disk.stop_after = None
        status, result, _ = self.scan("sda", "-o", self.out)
        # signals come within batches of three
        self.assertEqual((status, result["progress"]["before"]), (0, 30 + 33))
        self.assertEqual(self.disk.twice, 0)

    def test_gone(self):
        """A disk that goes is waited for."""
        self.disk.gone_for = 3
        status, result, _ = self.scan("sda", "-o", self.out)
        self.assertEqual((status, result["good"]), (0, 125))

    def test_full(self):
        """What cannot be saved is said, and what was saved counts."""
        really, writes = scan_file._write_all, []

        def write(fd, data, offset):
            writes.append(offset)
            if len(writes) == 5:
                raise OSError(28, "No space left on device")
            really(fd, data, offset)

        with mock.patch.object(scan_file, "_write_all", write), \
                mock.patch.object(scan, "SYNC_S", 0), mock.patch.object(scan, "POLL_S", 0):
            status, _, err = self.scan("sda", "-o", self.out)
        self.assertEqual(status, 1)
        self.assertRegex(err, "digests: No space left on device; what was saved by then counts")
        self.assertEqual(self.scan("sda", "-o", self.out)[0], 0)

    def test_cost(self):
        """What the foreground paid is said beside it."""
        self.tree.write("sys/kernel/freeblock/sda/state/cost",
                        "free reads add 0.61 +- 0.20 ms (3.1 %) to a read")
        self.tree.counters("sda", fg_requests=100, miss_prepend=1, miss_separate=0, miss_after=0,
                           miss_fg=5, guard_trips=0)
        self.disk.at_end = lambda: self.tree.counters(
            "sda", fg_requests=1100, miss_prepend=2, miss_separate=3, miss_after=1, miss_fg=9,
            guard_trips=0)
        _, result, _ = self.scan("sda", "-o", self.out)
        cost = result["cost"]["sda"]
        self.assertEqual((cost["requests"], cost["misses_caused"], cost["misses_own"],
                          cost["added_ms"]), (1000, 5, 4, .61))

    def test_refused(self):
        """What to do next is said."""
        for words, pattern in (
                (["sda"], "specify -o FILE, --verify FILE or both"),
                (["sdz", "-o", self.out], "sdz: no such block device"),
                (["sda", "--verify", self.out], "digests: No such file"),
                (["sda", "-o", self.out, "--before", "-1"], "--before: -1 is not between")):
            status, _, err = freeblock(*words)
            self.assertEqual(status, taptest.status_of(err))
            self.assertRegex(err, pattern)
        self.tree.write("sys/kernel/freeblock/sda/granule_bytes", "")
        status, _, err = freeblock("sda", "-o", self.out)
        self.assertRegex(err, "sda: the loaded module is older .*run: freeblock setup /dev/sda$")
        self.tree.remove("sys/kernel/freeblock/sda")
        self.assertRegex(freeblock("sda", "-o", self.out)[2],
                         "does not have the scheduler freeblock; run: freeblock enable /dev/sda$")
        self.tree.remove("sys/kernel/freeblock")
        self.assertRegex(freeblock("sda", "-o", self.out)[2],
                         "not loaded; run: ")

    def test_finished_file(self):
        """A finished file is not written over; an unfinished one not compared with."""
        self.disk.stop_after = 10
        self.scan("sda", "-o", self.out)
        self.assertRegex(self.scan("sda", "--verify", self.out)[2], "finish it with -o")
        self.disk.stop_after = None
        self.scan("sda", "-o", self.out)
        self.assertRegex(self.scan("sda", "-o", self.out)[2], "is there already; compare")
        with open(self.out, "r+b") as file:
            file.truncate(os.path.getsize(self.out) - 1)
        self.assertRegex(self.scan("sda", "--verify", self.out)[2], "not finished, or cut short")
