# SPDX-License-Identifier: GPL-2.0
"""Tests of tools/examples/backup without a kernel: a snapshot's table, made by hand, by a
model of the kernel's writer, torn and with garbage; what is read again; the image and what
lies beside it; whole backups of a made-up disk that is written to meanwhile.
In the lab it is tested with the real ones (tests/lab/s-backup.sh).
"""

import contextlib
import io
import json
import os
import random
import struct
import tempfile
import unittest
from unittest import mock

from backup import BackupError, cli, cow, files, passes, snapshot
from freeblock import background

CHUNK = 8               # sectors: 256 exceptions fit into an area
BYTES = CHUNK * 512
ROOM = BYTES // 16


def header(magic=0x70416e53, valid=1, version=1, chunk=CHUNK):
    """The first chunk of a store."""
    return struct.pack("<4I", magic, valid, version, chunk).ljust(BYTES, b"\0")


class Store:
    """A store as the kernel writes it (dm-snap-persistent.c): an area at a time, as a whole, the
    next one zeroed before."""

    def __init__(self, chunks=1024, garbage=b"\xa5"):
        self.data = bytearray(garbage * (chunks * BYTES))
        self.data[:BYTES] = header()
        self.area, self.entries, self.next = 0, [], 2
        self._put(1, bytes(BYTES))

    def _put(self, chunk, raw):
        self.data[chunk * BYTES:(chunk + 1) * BYTES] = raw

    def place(self):
        """Where the area in use is."""
        return 1 + self.area * (ROOM + 1)

    def add(self, old):
        """An exception is committed; the states of the store on the way."""
        self.entries.append((old, self.next))
        self.next += 1
        if self.next % (ROOM + 1) == 1:
            self.next += 1
        full = len(self.entries) == ROOM
        if full:
            self._put(self.place() + ROOM + 1, bytes(BYTES))
        raw = b"".join(struct.pack("<2Q", *one) for one in self.entries).ljust(BYTES, b"\0")
        self._put(self.place(), raw)
        if full:
            self.area, self.entries = self.area + 1, []

    def read(self, at, length):
        """What a device reads as."""
        return bytes(self.data[at:at + length])

    def table(self, origin=1 << 20):
        """Read it."""
        return cow.read_table(self.read, len(self.data) // 512, origin)


def raw_store(*entries, chunks=64):
    """A store with these in its first area, as they are."""
    area = b"".join(struct.pack("<2Q", *one) for one in entries).ljust(BYTES, b"\0")
    return (header() + area).ljust(chunks * BYTES, b"\0")


def parse(raw, origin=1 << 20):
    """A store's table."""
    return cow.read_table(lambda at, length: raw[at:at + length], len(raw) // 512, origin)


class Table(unittest.TestCase):
    """What a store says."""

    def test_by_hand(self):
        """Bytes as the kernel's source has them."""
        raw = bytearray(8 * 4096)
        raw[:16] = bytes.fromhex("536e4170" "01000000" "01000000" "08000000")
        raw[4096:4096 + 32] = bytes.fromhex("0500000000000000" "0200000000000000"
                                            "0003000000000000" "0300000000000000")
        self.assertEqual(parse(bytes(raw)), (8, [5, 768]))

    def test_areas(self):
        """None, some, a full area, and more than one: all, and nothing of what was there."""
        for count in (0, 1, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM, 3 * ROOM + 7):
            store, chunks = Store(), random.Random(count).sample(range(1 << 17), count)
            for chunk in chunks:
                store.add(chunk)
            self.assertEqual(store.table(), (CHUNK, sorted(chunks)), count)

    def test_torn(self):
        """Read while the kernel writes: sectors from before and after any of its steps. What had
        been committed before is found, and nothing that never was."""
        draw, store, steps = random.Random(1), Store(), []
        for chunk in range(2 * ROOM + 20):
            steps.append(bytes(store.data))
            store.add(7 * chunk)
        for _ in range(200):
            begin = draw.randrange(len(steps))
            later = [steps[min(begin + n, len(steps) - 1)] for n in range(4)]

            def read(at, length, later=later):
                return b"".join(draw.choice(later)[sector:sector + 512]
                                for sector in range(at, at + length, 512))

            found = cow.read_table(read, len(store.data) // 512, 1 << 20).chunks
            self.assertEqual(found[:begin], [7 * n for n in range(begin)])
            self.assertEqual(found, [7 * n for n in range(len(found))])

    def test_headers(self):
        """No store, an invalid one, another version, sizes that cannot be."""
        for raw, words in ((b"", "too short"), (bytes(4096), "does not begin"),
                           (b"\xff" * 4096, "does not begin"),
                           (header(magic=0x536e4170), "does not begin"),
                           (header(valid=0), "marked as invalid"), (header(version=2), "version 2"),
                           (header(chunk=0), "chunk of 0"), (header(chunk=4), "chunk of 4"),
                           (header(chunk=24), "chunk of 24"),
                           (header(chunk=1 << 31), "chunk of 2147483648")):
            with self.assertRaisesRegex(cow.TableError, words):
                parse(raw)

    def test_garbage(self):
        """Exceptions that cannot be."""
        for entries, words in (
                ([(1 << 17, 2)], "chunk 131072 of 131072"), ([(5, 64)], "no place of data"),
                ([(5, 1)], "no place of data"), ([(5, 2), (5, 3)], "comes twice"),
                ([(5, 2), (6, 2)], "comes twice"), ([(0xa5a5a5a5a5a5a5a5, 2)], "is copied"),
                ([(n, n + 2) for n in range(ROOM)], "no place of data")):
            with self.assertRaisesRegex(cow.TableError, words):
                parse(raw_store(*entries))
        with self.assertRaisesRegex(cow.TableError, "no place of data"):
            parse(raw_store((5, ROOM + 2), chunks=600))
        with self.assertRaisesRegex(cow.TableError, "behind the end"):
            parse(raw_store(*((n, n + 2) for n in range(ROOM)), chunks=ROOM + 2))
        with self.assertRaisesRegex(cow.TableError, "within area 0"):
            cow.read_table(lambda at, length: header()[at:at + length], 1 << 20, 1 << 20)


class Plan(unittest.TestCase):
    """What is read again."""

    def test_joined(self):
        """Adjacent chunks, up to the limit; the last chunk is as long as the origin is."""
        table = cow.Table(8, [0, 1, 2, 5, 9, 10, 12])
        self.assertEqual(cow.plan(table, 1000),
                         [(0, 24), (40, 8), (72, 16), (96, 8)])
        self.assertEqual(cow.plan(table, 99, 16), [(0, 16), (16, 8), (40, 8), (72, 16), (96, 3)])
        self.assertEqual(cow.plan(cow.Table(4096, [0, 1]), 1 << 20), [(0, 4096), (4096, 4096)])
        self.assertEqual(cow.plan(cow.Table(8, []), 1000), [])

    def test_without(self):
        """Unreadable sectors that the snapshot had."""
        for ranges, covered, left in (
                ([(10, 10)], [], [(10, 10)]), ([(10, 10)], [(0, 10), (20, 5)], [(10, 10)]),
                ([(10, 10)], [(8, 20)], []), ([(10, 10)], [(12, 2), (16, 8)], [(10, 2), (14, 2)]),
                ([(0, 4), (8, 4)], [(2, 8)], [(0, 2), (10, 2)])):
            self.assertEqual(cow.without(ranges, covered), left)


class World:
    """A disk of blocks of 8 sectors, an origin and a snapshot over it, and somebody who writes:
    in place of dmsetup and /dev/freeblock."""

    def __init__(self, blocks=300, seed=1):
        self.draw = random.Random(seed)
        self.disk = bytearray(self.draw.randbytes(blocks * BYTES))
        self.disk[8 * BYTES:24 * BYTES] = bytes(16 * BYTES)
        self.frozen, self.store, self.valid = None, None, True
        self.calls = []
        self.writes, self.stop_after, self.bad, self.room = 1.0, None, set(), 1 << 20
        self.boot, self.sectors = "a", blocks * 8

    def write(self):
        """Somebody writes a block through the origin."""
        block = self.draw.randrange(len(self.disk) // BYTES)
        if self.frozen is not None and self.valid and block not in self.store.olds:
            if len(self.store.olds) >= self.room:
                self.valid = False
            else:
                self.store.add(block)
                self.store.olds.add(block)
        self.disk[block * BYTES:(block + 1) * BYTES] = self.draw.randbytes(BYTES)

    def task(self, *_, **__):
        """background.Task."""
        return FakeTask(self)

    def patches(self):
        """What of the program is replaced."""
        origin = mock.Mock(sectors=self.sectors, below="8:0", disk="/dev/sda")
        origin.name = "data"
        return (mock.patch.object(passes, "Origin", return_value=origin),
                mock.patch.object(passes, "Snapshot", lambda *words: FakeSnapshot(self, *words)),
                mock.patch.object(passes, "Reader", lambda _: FakeReader(self)),
                mock.patch.object(passes, "prepare_store"),
                mock.patch.object(passes, "_idle_class"),
                mock.patch.object(passes, "boot_id", lambda: self.boot),
                mock.patch.object(passes, "WATCH_S", 0), mock.patch.object(passes, "SAVE_S", 0),
                mock.patch.object(os, "nice"),
                mock.patch.object(background, "Task", self.task))


class FakeSnapshot:
    """snapshot.Snapshot."""

    def __init__(self, world, _origin, store, token, _lock):
        self.world, self.store, self.name = world, store, token

    def take(self, _chunk):
        """The point in time."""
        self.world.calls.append("take")
        self.world.frozen = bytes(self.world.disk)
        self.world.store = Store()
        self.world.store.olds = set()
        return 0.01

    def there(self):
        """Not removed."""
        return self.world.frozen is not None

    active = there

    def used(self):
        """Of the store."""
        if not self.world.valid:
            raise snapshot.Invalid("the snapshot is lost")
        return len(self.world.store.olds), 1000

    def table(self):
        """Read it."""
        return self.world.store.table(self.world.sectors)

    def remove(self):
        """The end."""
        if self.world.frozen is not None:
            self.world.calls.append("remove")
        self.world.frozen = None


class FakeReader:
    """passes.Reader."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read(self, at, length):
        """Of the snapshot."""
        self.world.write()
        return memoryview(self.world.frozen)[at:at + length]


class FakeTask:
    """background.Task: blocks in any order, and writes between them."""

    geometry = background.Geometry(0, 0, 0, 8)

    def __init__(self, world):
        self.world = world
        blocks = len(world.disk) // BYTES
        self.covered, self.order = set(), list(range(blocks))
        world.draw.shuffle(self.order)
        self.last = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def restore_coverage(self, path):
        """What an earlier run had."""
        with open(path, encoding="ascii") as file:
            self.covered = set(json.load(file))

    def save_coverage(self, path):
        """For a later run."""
        with open(path, "w", encoding="ascii") as file:
            json.dump(sorted(self.covered), file)

    def want(self, uncovered=False):
        """All that is not covered."""
        self.order = [one for one in self.order if not uncovered or one not in self.covered]

    def start(self):
        """Refused if nothing is wanted."""
        if not self.order:
            raise background.Error(22, "nothing is declared")

    def progress(self):
        """How far."""
        return mock.Mock(total=len(self.order), entering=0, waiting_for="nothing")

    def next(self, _timeout):
        """A block as it is on the disk now."""
        world = self.world
        if self.last is not None:
            self.covered.add(self.last)
        if world.stop_after is not None:
            world.stop_after -= 1
            if world.stop_after < 0:
                raise passes.Interrupted
        if not self.order:
            return None
        self.last = self.order.pop()
        data = bytes(world.disk[self.last * BYTES:(self.last + 1) * BYTES])
        while world.draw.random() < world.writes / (1 + world.writes):
            world.write()
        if self.last in world.bad:
            bad, self.last = self.last, None
            return background.Record(bad * 8, 8, background.UNREADABLE, memoryview(b""), 0, 0)
        return background.Record(self.last * 8, 8, background.OK, memoryview(data), 0, 0)


class Whole(unittest.TestCase):
    """Backups of such a disk."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.image = os.path.join(folder, "image")
        self.world = World()
        for patch in self.world.patches():
            self.enterContext(patch)

    def command(self, *words):
        """Status, object, errors."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main([*words, "--json", "--quiet"])
        return status, json.loads(out.getvalue() or "null"), err.getvalue()

    def create(self, *more):
        """A backup."""
        return self.command("create", "data", self.image, "--cow", "/dev/null", *more)

    def read(self, name=""):
        """A file beside the image, or itself."""
        with open(self.image + name, "rb") as file:
            return file.read()

    def left(self):
        """Names of what is there."""
        return sorted(os.listdir(os.path.dirname(self.image)))

    def test_written_meanwhile(self):
        """The image is what was frozen, though more than half was written since; sums, and
        nothing is left but the result."""
        frozen = bytes(self.world.disk)
        status, result, errors = self.create("--verify")
        self.assertEqual((status, errors), (0, ""))
        self.assertTrue(self.read() == frozen)
        self.assertGreater(result["exceptions"], 100)
        self.assertFalse(bytes(self.world.disk) == frozen)
        self.assertEqual(self.left(), ["image", "image.json", "image.sums"])
        self.assertEqual(self.world.calls, ["take", "remove"])
        self.assertEqual(self.command("check", self.image)[0], 0)
        self.assertIn("is there already", self.create()[2])

    def test_verify_notices(self):
        """A block that is wrong in the image."""
        put = files.Image.put

        def wrong(image, first, data):
            put(image, first, bytes(len(data)) if first == 800 else data)

        self.world.writes = 0
        with mock.patch.object(files.Image, "put", wrong):
            status, result, _ = self.create("--verify")
        self.assertEqual((status, result["state"]), (4, "invalid"))
        self.assertIn("differs from the snapshot in 1 MiB, at byte 0", result["reason"])
        self.assertEqual(self.left(), ["image.invalid", "image.invalid.json"])

    def test_sparse(self):
        """Zeros take no room; but where there was something else they are written."""
        self.world.writes = 0
        self.world.disk = bytearray(len(self.world.disk))
        self.world.disk[:BYTES] = b"x" * BYTES
        self.assertEqual(self.create()[0], 0)
        self.assertLess(os.stat(self.image).st_blocks * 512, 10 * BYTES)
        image = files.Image(self.image, len(self.world.disk), False)
        image.put(0, bytes(BYTES))
        image.close()
        self.assertEqual(self.read()[:BYTES], bytes(BYTES))

    def test_interrupted(self):
        """Again and again, at any place: in the end the image is what was frozen at first, and
        what had been read is not read again."""
        frozen, runs, seen = bytes(self.world.disk), 0, 0
        self.world.stop_after = 40
        status = None
        while status != 0:
            signals = mock.Mock(came=2)
            with mock.patch.object(passes, "Signals", return_value=signals):
                status, result, errors = self.create()
            seen += result["read_bytes"] if result else 0
            if status:
                self.assertEqual(status, 130, errors)
                self.assertIn("image.part.coverage", self.left())
                with open(self.image + ".part.coverage", encoding="ascii") as file:
                    runs, self.world.stop_after = runs + 1, 40
                    self.assertLess(len(json.load(file)), 300)
        self.assertGreater(runs, 5)
        self.assertTrue(self.read() == frozen)
        self.assertEqual(self.world.calls, ["take", "remove"])
        self.assertTrue(result["resumed"])

    def interrupt(self):
        """A backup that was stopped."""
        self.world.stop_after = 40
        with mock.patch.object(passes, "Signals", return_value=mock.Mock(came=15)):
            self.assertEqual(self.create()[0], 143)
        self.world.stop_after = None

    def test_refusals(self):
        """No going on after a boot, without the snapshot, elsewhere; abort clears away."""
        self.interrupt()
        self.world.boot = "b"
        status, _, errors = self.create()
        self.assertEqual(status, 1)
        self.assertIn("the machine was booted since", errors)
        self.world.boot = "a"
        for name, value in (("origin", "other"), ("bytes", 5), ("below", "8:1")):
            with open(self.image + ".part.json", encoding="utf-8") as file:
                kept = file.read()
            files.replace(self.image + ".part.json",
                          files.text(**{**json.loads(kept), name: value}))
            self.assertIn("another " + name, self.create()[2])
            files.replace(self.image + ".part.json", kept)
        self.world.frozen = None
        self.assertIn("it was removed", self.create()[2])
        self.assertEqual(self.command("abort", self.image)[0], 0)
        self.assertEqual(self.left(), [])
        self.assertIn("nothing is under way", self.command("abort", self.image)[2])

    def test_one_at_a_time(self):
        """Two programs with one image."""
        state = files.State(files.Paths(self.image))
        self.assertIn("another program", self.create()[2])
        state.close()
        self.assertEqual(self.create()[0], 0)
        self.assertIn("is there already", self.create()[2])

    def test_store_full(self):
        """Noticed at any time: the image is invalid and says why, the snapshot is removed."""
        for room in (0, 20, 100):
            self.world.valid, self.world.room = True, room
            status, result, errors = self.create("--verify")
            self.assertEqual((status, result["state"]), (4, "invalid"))
            self.assertIn("the snapshot is lost", errors)
            self.assertIn("the snapshot is lost",
                          files.load(self.image + ".invalid.json")["reason"])
            self.assertIsNone(self.world.frozen)
            self.assertEqual(self.left(), ["image.invalid", "image.invalid.json"])
            self.assertIn("marked as invalid",
                          self.command("restore", self.image, "/dev/null")[2])

    def test_unreadable(self):
        """Blocks that the disk cannot read: said, unless the snapshot has them."""
        self.world.writes, self.world.bad = 0, {5, 77}
        status, result, _ = self.create("--verify")
        self.assertEqual((status, result["unreadable"]), (3, [[40, 8], [616, 8]]))
        files.remove(self.image)
        self.world.writes, self.world.bad = 50, {5}
        status, result, _ = self.create("--verify")
        self.assertEqual((status, result["unreadable"]), (0, []))

    def test_restore(self):
        """Back on a file; a damaged image, a short target: nothing is written."""
        self.assertEqual(self.create()[0], 0)
        target = self.image + "-target"
        with open(target, "wb") as file:
            file.write(b"t" * (len(self.world.disk) + 512))
        status, result, _ = self.command("restore", self.image, target)
        self.assertEqual((status, result["state"]), (0, "restored"))
        self.assertTrue(self.read("-target")[:-512] == self.read())
        with open(self.image, "r+b") as file, open(target, "wb") as old:
            file.seek(1 << 20)
            file.write(b"damage")
            old.write(b"t" * len(self.world.disk))
        before = self.read("-target")
        for command in (("check", self.image), ("restore", self.image, target)):
            status, _, errors = self.command(*command)
            self.assertEqual(status, 1)
            self.assertIn("the MiB at byte 1048576", errors)
        self.assertTrue(self.read("-target") == before)
        os.truncate(target, 5)
        self.assertIn("5 bytes, and", self.command("restore", self.image, target)[2])
        files.remove(self.image + ".json")
        self.assertIn("no complete image", self.command("check", self.image)[2])


class Words(unittest.TestCase):
    """Progress."""

    def test_tables(self):
        """Origins that are none of ours."""
        for table, words in (("0 8 linear 8:0 0", "no snapshot-origin"), ("", "no snapshot-origin"),
                             ("0 8 snapshot-origin 8:0\n8 8 linear 8:0 0", "no snapshot-origin")):
            with mock.patch.object(snapshot, "dmsetup", return_value=table), \
                    self.assertRaisesRegex(BackupError, words):
                snapshot.Origin("data")
