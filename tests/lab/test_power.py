#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how power cuts are judged (powerdisk.py, powerjudge.py): drives made up by hand, with
each promise broken once. Prints TAP."""

import os
import random
import struct
import tempfile
import zlib

import numpy as np

import power_guest
import powerdisk
import powerjudge
import treetest
from treetest import check
from freeblock import scrub_state

SECTOR = powerdisk.SECTOR
CUT = 1000
BLOCKS = 64

def sectors(letters):
    """A sector for each letter."""
    return b"".join(letter.encode() * SECTOR for letter in letters)


def dump(now, *log):
    """A dead drive whose first sectors are as `now` says. log: (kind, lbn, count or the old
    sectors, from, to)."""
    raw = b""
    for kind, lbn, what, start, end in log:
        old = sectors(what) if kind == powerdisk.OLD else b""
        raw += powerdisk.RECORD.pack(kind, len(what) if old else what, lbn, start, end) + old
    with tempfile.NamedTemporaryFile() as file:
        file.write(powerdisk.HEAD.pack(powerdisk.MARK, 1, len(raw)) + struct.pack("<Q", 0) +
                   sectors(now).ljust(powerdisk.BLOCK, b".") + raw)
        file.flush()
        return powerdisk.Dump(file.name, CUT)


def fates(now, *log, physical=1):
    """All that the sectors may hold after the loss, over many draws."""
    found = set()
    for seed in range(200):
        drive = dump(now, *log)
        drive.roll_back()
        drive.lose(random.Random(seed), physical)
        raw = drive.platters.read(0, len(now))
        found.add("".join(chr(raw[i * SECTOR]) for i in range(len(now))))
    return found


def test_platters():
    """What a loss leaves."""
    old, write, flush = powerdisk.OLD, powerdisk.WRITE, powerdisk.FLUSH
    check("never written: words from the start of the disk",
          powerdisk.Platters({}).read(8, 1)[:16] == struct.pack("<2Q", 512, 513))
    check("written before the cut: it is there",
          fates("bb", (old, 0, "aa", 100, 900)) == {"bb"})
    check("under way at the cut: up to a sector",
          fates("bb", (old, 0, "aa", 100, 1001)) == {"aa", "ba", "bb"})
    check("in the cache: lost, torn or kept",
          fates("bb", (old, 0, "aa", 100, 0)) == {"aa", "ba", "bb"})
    check("physical blocks of two sectors: torn between them", fates(
        "abbb", (old, 1, "aaa", 100, 0), physical=2) == {"aaaa", "abaa", "abbb"})
    check("under way, too", fates(
        "abbb", (old, 1, "aaa", 100, 1001), physical=2) == {"aaaa", "abaa", "abbb"})
    check("brought from there to the medium: it is there",
          fates("bb", (old, 0, "aa", 100, 0), (write, 0, 2, 200, 900)) == {"bb"})
    check("by an earlier job: it is not", "aa" in fates(
        "bb", (write, 0, 2, 50, 900), (old, 0, "aa", 100, 0)))
    check("two in the cache: each by itself", fates(
        "cc", (old, 0, "aa", 100, 0), (old, 0, "bb", 200, 0)) ==
        {"aa", "ba", "bb", "ca", "cb", "cc"})
    check("a durable one below one in the cache stays", fates(
        "c", (old, 0, "a", 100, 200), (old, 0, "b", 300, 0)) == {"b", "c"})
    check("a flush that is obeyed", not dump(
        "b", (old, 0, "a", 100, 0), (write, 0, 1, 300, 400),
        (flush, 0, 0, 200, 401)).flushes_disobeyed())
    check("a flush that is not", dump(
        "b", (old, 0, "a", 100, 0), (write, 0, 1, 300, 400),
        (flush, 0, 0, 200, 399)).flushes_disobeyed())
    check("one that came before the write", not dump(
        "b", (old, 0, "a", 300, 0), (flush, 0, 0, 200, 399)).flushes_disobeyed())


def test_claims():
    """What is claimed, against what was read."""
    judge = powerjudge.Judge("x")
    judge.read = np.zeros(BLOCKS * 8, bool)
    judge._saw(dump("a", (powerdisk.VERIFY, 8, 16, 0, CUT), (powerdisk.READ, 24, 7, 0, 10),
                    (powerdisk.READ, 32, 8, 0, CUT + 1), (powerdisk.WRITE, 40, 8, 0, 10)))
    for block, good in ((1, True), (2, True), (3, False), (4, False), (5, False)):
        bits = np.zeros(BLOCKS, bool)
        bits[block] = True
        judge.lines.clear()
        judge._claims("claim", bits)
        check("block %d %s be claimed" % (block, "may" if good else "may not"),
              judge.lines[0].startswith("ok") == good)


def test_formats():
    """Files of the tools' own making, spoiled."""
    identity = {"id": "x", "sectors": BLOCKS * 8, "block_bytes": 4096, "blocks": BLOCKS}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "coverage")
        journal = scrub_state.Journal(path, identity)
        journal.save(b"\1" + bytes(7), 5)
        journal.save(b"\3" + bytes(7), 5)
        journal.close()
        with open(path, "rb") as file:
            raw = file.read()
    bits, ignored = powerjudge.coverage_of(raw)
    check("coverage: two blocks", bits.nonzero()[0].tolist() == [0, 1] and not ignored)
    bits, ignored = powerjudge.coverage_of(raw[:-1])
    check("coverage: a torn record says nothing", bits.nonzero()[0].tolist() == [0] and ignored)
    check("coverage: a header that is damaged",
          powerjudge.coverage_of(raw.replace(b"sectors", b"Sectors")) is None)


def test_files():
    """What a writer was promised."""
    def wrong(notes, found):
        files = powerjudge.Files()
        files.note(notes)
        return files.wrong(found)

    check("as it was synced", not wrong("try f1 5 700\nsync f1 5 700\n", {"f1": [700, 5]}))
    check("gone", wrong("try f1 5 700\nsync f1 5 700\n", {}))
    check("an older one", wrong("sync f1 4 600\nsync f1 5 700\n", {"f1": [600, 4]}))
    check("a later one that was tried", not wrong("sync f1 5 700\ntry f1 6 800\n",
                                                  {"f1": [800, 6]}))
    check("neither", wrong("sync f1 5 700\ntry f1 6 800\n", {"f1": [800, None]}))
    old, torn = [4] * 8, [5] * 3 + [4] * 5
    check("in place: as synced", not wrong("sync b0 4 0\n", {"b0": old}))
    check("in place: torn while tried", not wrong("sync b0 4 0\ntry b0 5 0\n", {"b0": torn}))
    check("in place: torn though synced", wrong("sync b0 4 0\nsync b0 5 0\n", {"b0": torn}))
    check("appended: as synced", not wrong("sync a 7 10\n", {"a": [[7, 10]]}))
    check("appended: short", wrong("sync a 7 10\nsync a 8 20\n", {"a": [[7, 10]]}))


def test_guest():
    """The guest knows its own bytes, and others."""
    data = power_guest.content("f1", 9, 1300)
    check("a whole file", power_guest.whole_generation("f1", data) == 9)
    check("a spoiled one", power_guest.whole_generation("f1", data[:-1] + b"!") is None)
    block = power_guest.block_content("b0", 3, 0)
    mixed = block[:SECTOR] + power_guest.block_content("b0", 4, 0)[SECTOR:2 * SECTOR] + \
        bytes(SECTOR) + b"?" * SECTOR
    check("sectors in place", list(power_guest.placed_generations("b0", mixed)) ==
          [3, 4, 0, None])
    line = power_guest.LINE.pack(b"line", 1, 2, zlib.crc32(b"xy")) + b"xy"
    check("lines up to the bad one",
          list(power_guest.lines(line + line[:-1] + b"!")) == [(1, 2)])


test_platters()
test_claims()
test_formats()
test_files()
test_guest()
treetest.finish()
