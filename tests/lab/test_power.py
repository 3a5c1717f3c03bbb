#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of how power cuts are judged (powerdisk.py, powerjudge.py): drives made up by hand, with
each promise broken once. Prints TAP."""

import os
import random
import struct
import tempfile

import numpy as np

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
    check("in place: torn though synced", wrong("sync b0 4 0\nsync b0 5 0\n",
                                                {"b0": [5] * 3 + [4] * 5}))
    check("appended: as synced", not wrong("sync a 7 10\n", {"a": [[7, 10]]}))
    check("appended: short", wrong("sync a 7 10\nsync a 8 20\n", {"a": [[7, 10]]}))


test_platters()
test_claims()
test_formats()
test_files()
treetest.finish()
