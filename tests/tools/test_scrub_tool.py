#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock scrub: its journal of coverage under every kind of crash, and the
command against a made-up sysfs. Prints TAP; takes some seconds.
"""

import os
import random
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import taptest  # noqa: E402
from fbtools import ToolError, scrub_state  # noqa: E402

DISK = {"id": "naa.5000", "sectors": 8 * 1000, "block_bytes": 4096, "blocks": 1000}


def subset(some, of):
    """Whether all bits of `some` are in `of`."""
    return scrub_state.contains(of, some)


class Case(unittest.TestCase):
    """With a folder and a state file of its own."""

    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "state", "disk.coverage")

    def load(self, raw):
        """The map of a file with these bytes, and what was said; ToolError if refused."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as file:
            file.write(raw)
        journal, said = scrub_state.open_journal(self.path, DISK)
        journal.close()
        return bytes(journal.bits), said

    def written(self):
        """The file's bytes."""
        with open(self.path, "rb") as file:
            return file.read()


class Growth:
    """A journal that grows as a scrub does, and what was true after each save."""

    def __init__(self, path, saves, seed):
        self.journal, _ = scrub_state.open_journal(path, DISK)
        self.random = random.Random(seed)
        self.bits = bytearray(scrub_state.map_bytes(DISK["blocks"]))
        self.saved = []                 # (length of the file, map)
        for _ in range(saves):
            self.step()

    def step(self):
        """Some blocks more, a run and single ones; saved."""
        first = self.random.randrange(900)
        blocks = list(range(first, first + self.random.randrange(80)))
        for block in blocks + self.random.sample(range(1000), 5):
            self.bits[block // 8] |= 1 << block % 8
        self.journal.save(bytes(self.bits))
        self.saved.append((self.journal.size, bytes(self.bits)))


class Crashes(Case):
    """Whatever becomes of the file, nothing is counted that was not delivered, and what
    was saved before the harm is there.

    Seen to fail with: no checksum of a record (a flipped bit counts a block); words put
    in place of those there, not or-ed; a new file for each save without a rename (cut
    short, it has less than the save before).
    """

    def setUp(self):
        super().setUp()
        grown = Growth(self.path, 6, 1)
        grown.journal.close()
        self.saved, self.raw = grown.saved, self.written()
        self.assertEqual(len(self.raw), self.saved[-1][0])

    def test_cut(self):
        """Cut short at each byte: what was saved by then, never less as it grows."""
        before = bytes(len(self.saved[0][1]))
        for length in range(self.saved[0][0], len(self.raw) + 1):
            bits, _ = self.load(self.raw[:length])
            least = [saved for size, saved in self.saved if size <= length][-1]
            self.assertTrue(subset(least, bits) and subset(bits, self.saved[-1][1]), length)
            self.assertTrue(subset(before, bits), length)
            before = bits
        self.assertEqual(before, self.saved[-1][1])

    def test_flipped(self):
        """A spoiled byte takes away its record at most."""
        truth = self.saved[-1][1]
        for at in range(scrub_state.HEADER, len(self.raw)):
            raw = bytearray(self.raw)
            raw[at] ^= 1 << at % 8
            bits, said = self.load(bytes(raw))
            self.assertTrue(subset(bits, truth), at)
            self.assertIn("no whole record", said)
            lost = scrub_state.count(truth) - scrub_state.count(bits)
            self.assertLess(lost, scrub_state.count(truth) // 2, at)

    def test_header(self):
        """Without a header one can rely on the file is kept aside, and nothing counts."""
        end = self.raw.index(b"\nend ") + len("\nend 12345678")
        for at in range(end):
            raw = bytearray(self.raw)
            raw[at] ^= 1
            bits, said = self.load(bytes(raw))
            self.assertEqual(scrub_state.count(bits), 0, at)
            self.assertIn("kept as %s.damaged-%d" % (self.path, at + 1), said)

    def test_sectors(self):
        """A power cut leaves any of the sectors out."""
        truth, rng = self.saved[-1][1], random.Random(2)
        for _ in range(200):
            raw = bytearray(self.raw)
            for at in range(scrub_state.HEADER, len(raw), 64):
                if rng.random() < 0.3:
                    raw[at:at + 64] = bytes(len(raw[at:at + 64]))
            bits, _ = self.load(bytes(raw))
            self.assertTrue(subset(bits, truth))

    def test_other_file(self):
        """What an older file left behind the end is none of this one's."""
        grown = Growth(self.path + "2", 3, 77)
        grown.journal.close()
        with open(self.path + "2", "rb") as file:
            stale = file.read()[scrub_state.HEADER:]
        bits, said = self.load(self.raw + stale)
        self.assertEqual(bits, self.saved[-1][1])
        self.assertIn("%d of" % len(stale), said)


class Journals(Case):
    """Saving, compacting, passes, refusals."""

    def test_reopened(self):
        """It goes on across runs, and the file stays small."""
        truth = bytearray(scrub_state.map_bytes(1000))
        for seed in range(5):
            grown = Growth(self.path, 0, seed)
            self.assertEqual(grown.journal.bits, truth)
            grown.bits[:] = truth
            for _ in range(3):
                grown.step()
            truth = grown.bits
            grown.journal.close()
        with mock.patch.object(scrub_state, "SLACK", 0):
            grown = Growth(self.path, 0, 9)
            grown.bits[:] = truth
            for _ in range(100):
                grown.step()
                self.assertLess(os.path.getsize(self.path), 3 * len(truth) + 2000)
            grown.journal.close()
        self.assertEqual(self.load(self.written())[0], grown.bits)

    def test_crash_while_compacting(self):
        """Before the rename the old file counts, after it the new one: the same map."""
        grown = Growth(self.path, 4, 5)
        saved = bytes(grown.bits)
        for broken in ("write_all", "os.fsync", "os.rename", "sync_folder"):
            with mock.patch.object(scrub_state, "SLACK", -1 << 20), \
                    mock.patch("fbtools.scrub_state." + broken, side_effect=OSError(5, "")):
                more = bytearray(grown.bits)
                more[0] |= 255
                with self.assertRaises(OSError):
                    grown.journal.save(bytes(more))
            bits, _ = scrub_state.replay(self.written(), b"", bytearray(len(saved))), None
            raw = self.written()
            found = bytearray(len(saved))
            nonce = bytes.fromhex(scrub_state.parse_header("", raw[:512])["nonce"])
            scrub_state.replay(raw, nonce, found)
            self.assertTrue(subset(saved, found) and subset(found, more), broken)
            self.assertIsNotNone(bits)

    def test_never_less(self):
        """A map that lacks what was saved is a fault, not a save."""
        grown = Growth(self.path, 2, 3)
        with self.assertRaises(ValueError):
            grown.journal.save(bytes(len(grown.bits)))
        grown.journal.close()
        self.assertEqual(self.load(self.written())[0], grown.bits)

    def test_pass(self):
        """Another pass begins with nothing, and says its number."""
        grown = Growth(self.path, 2, 3)
        grown.journal.begin_pass()
        grown.journal.close()
        journal, _ = scrub_state.open_journal(self.path, DISK)
        self.assertEqual((scrub_state.count(journal.bits), journal.number), (0, 2))
        journal.close()

    def test_foreign(self):
        """Another disk's file is refused and left as it is."""
        Growth(self.path, 2, 3).journal.close()
        raw = self.written()
        for key, value, word in (("id", "naa.6", "disk naa.5000 there, naa.6 here"),
                                 ("sectors", 9, "sectors 8000"), ("block_bytes", 1, "4096")):
            with self.assertRaisesRegex(ToolError, word):
                scrub_state.open_journal(self.path, {**DISK, key: value})
        self.assertEqual(self.written(), raw)

    def test_two(self):
        """Only one may save to a file."""
        grown = Growth(self.path, 1, 3)
        with self.assertRaisesRegex(ToolError, "another freeblock scrub"):
            scrub_state.open_journal(self.path, DISK)
        grown.journal.close()

    def test_large(self):
        """The map of a 24 TB drive: one more block is one small record."""
        disk = {"id": "naa.1", "sectors": 46875000000, "block_bytes": 262144,
                "blocks": 91552735}
        journal, _ = scrub_state.open_journal(self.path, disk)
        bits = bytearray(scrub_state.map_bytes(disk["blocks"]))
        journal.save(bytes(bits))
        bits[5000000] = 1
        journal.save(bytes(bits))
        self.assertEqual(journal.size, scrub_state.HEADER + 16 + 8)
        journal.close()


if __name__ == "__main__":
    taptest.main()
