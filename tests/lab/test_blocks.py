#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tests/lab/blocks.py: every planted wrong block must be found, and
no right one called wrong. Prints TAP.

Seen to fail, besides the planted blocks: units joined without the first one's
share, writes before the scan forgotten, a short block not continued, a state
that is one unit's instead of the block's."""

import zlib

import numpy as np

import blocks
import treetest

CAPACITY = 8 * 1000 + 1


def check(name, got, want):
    """One line of TAP."""
    treetest.check(name, got == want, "got %s, want %s" % (got, want))


def delivered(*rows):
    return np.array(list(rows), dtype=blocks.DELIVERED).tobytes()


def journal(*rows):
    return np.array([(b, c, 0, i) for i, (b, c) in enumerate(rows)],
                    dtype=blocks.JOURNAL).tobytes()


def right(block):
    """A block never written, computed here without the module's help."""
    data = b"".join((word).to_bytes(8, "little")
                    for word in range(block * 512, block * 512 + 512))
    return zlib.crc32(data)


def wrong(rows, writes=(), at_start=0):
    return blocks.verify(delivered(*rows), journal(*writes), CAPACITY, at_start).wrong


good = [(b, right(b), 1) for b in range(50)]
check("blocks never written", wrong(good), 0)
check("all are counted", blocks.verify(delivered(*good), b"", CAPACITY).delivered, 50)
check("nothing delivered", blocks.verify(b"", b"", CAPACITY)[:3], (0, 0, 0))
check("planted: a wrong checksum", wrong(good[:9] + [(9, right(9) ^ 1, 1)]), 1)
swapped = list(good)
swapped[3], swapped[4] = (3, right(4), 1), (4, right(3), 1)
check("planted: two blocks exchanged", wrong(swapped), 2)
check("planted: delivered twice", wrong(good[:9] + [(9, right(9), 2)]), 1)
check("planted: listed twice", wrong(good + [good[7]]), 1)
check("planted: never delivered but listed", wrong([(1, right(1), 0)]), 1)
check("planted: beyond the disk", wrong([(1001, right(1001), 1)]), 1)
check("the examples name the block", "block 9:" in blocks.verify(
    delivered((9, 0, 1)), b"", CAPACITY).examples[0], True)

check("the short last block", wrong([(1000, zlib.crc32(blocks.pattern(8000, 1)), 1)]), 0)
check("planted: the short last block in full", wrong([(1000, right(1000), 1)]), 1)

check("read after a write during the scan", wrong([(5, 77, 1)], [(5, 77)]), 0)
check("read before a write during the scan", wrong([(5, right(5), 1)], [(5, 77)]), 0)
check("planted: another block's write", wrong([(5, 77, 1)], [(6, 77)]), 1)
check("written before the scan", wrong([(5, 77, 1)], [(5, 77)], 1), 0)
check("planted: stale, the pattern though written before", wrong([(5, right(5), 1)], [(5, 77)], 1),
      1)


def wrong_deliveries(rows, writes=(), **how):
    """rows: (block, crc, status, ms); writes: (block, crc, ms)"""
    noted = np.array([(b * 8, c, s, ms * 1000000) for b, c, s, ms in rows], dtype=blocks.DELIVERY)
    records = np.array([(b, c, 0, ms * 1000000) for b, c, ms in writes], dtype=blocks.JOURNAL)
    return blocks.verify_deliveries(noted.tobytes(), records.tobytes(), CAPACITY, **how).wrong


check("deliveries of blocks never written", wrong_deliveries(
    [(b, right(b), 0, b) for b in range(50)]), 0)
check("planted: a delivery with a wrong checksum", wrong_deliveries([(5, 1, 0, 10)]), 1)
check("planted: a second delivery",
      wrong_deliveries([(5, right(5), 0, 10), (5, right(5), 0, 11)]), 1)
check("planted: a second delivery, failed", wrong_deliveries([(5, right(5), 0, 10), (5, 0, 1, 11)]),
      1)
check("delivered after a write", wrong_deliveries([(5, 77, 0, 100)], [(5, 77, 50)]), 0)
check("delivered before a write", wrong_deliveries([(5, right(5), 0, 40)], [(5, 77, 50)]), 0)
check("planted: stale, the pattern after a write", wrong_deliveries([(5, right(5), 0, 100)],
                                                                    [(5, 77, 50)]), 1)
check("planted: stale, a write after another", wrong_deliveries(
    [(5, 77, 0, 100)], [(5, 77, 50), (5, 78, 60)]), 1)
UNTIMED = [(5, 77, 0, 100)], [(5, 77, 50), (5, 78, 60)]
check("with a real clock, deliveries may be late", wrong_deliveries(*UNTIMED, timed=False), 0)
check("planted: with a real clock, stale since before the start", wrong_deliveries(
    *UNTIMED, at_start=2, timed=False), 1)
# Blocks of 16 KiB: four units of the journal. What they hold is written here in full, and
# its checksum is zlib's own.
LARGE = 4 * blocks.UNIT
LARGE_CAPACITY = 32 * 20 + 9


def held(block, **units):
    """A large block in which these units (u0 .. u3) hold this byte over and over."""
    data = bytearray(b"".join(word.to_bytes(8, "little")
                              for word in range(block * LARGE // 8, (block + 1) * LARGE // 8)))
    for name, byte in units.items():
        at = int(name[1:]) * blocks.UNIT
        data[at:at + blocks.UNIT] = bytes([byte]) * blocks.UNIT
    return bytes(data)


def unit(block, number, byte):
    """A record of the journal."""
    return block * 4 + number, zlib.crc32(bytes([byte]) * blocks.UNIT)


def wrong_large(block, data, writes=(), at_start=0):
    return blocks.verify(delivered((block, zlib.crc32(data), 1)), journal(*writes),
                         LARGE_CAPACITY, at_start, LARGE).wrong


W = [unit(3, 0, 1), unit(3, 2, 2), unit(3, 0, 3)]
check("16 KiB never written", wrong_large(3, held(3)), 0)
check("planted: 16 KiB of another place", wrong_large(3, held(4)), 1)
for name, data, right_since in (("not yet", held(3), 0), ("one of three", held(3, u0=1), 1),
                                ("two of three", held(3, u0=1, u2=2), 2),
                                ("all", held(3, u0=3, u2=2), 3)):
    check("16 KiB, writes: " + name, wrong_large(3, data, W), 0)
    for at_start in range(4):
        check("16 KiB, %d written before, writes: %s" % (at_start, name),
              wrong_large(3, data, W, at_start), int(at_start > right_since))
END = held(20)[:9 * 512]
check("16 KiB, the short last block", wrong_large(20, END), 0)
check("planted: 16 KiB, the last block in full", wrong_large(20, held(20)), 1)
check("planted: 16 KiB, beyond the disk", wrong_large(21, held(21)), 1)
try:
    blocks.Disk(b"", 8, 2048)
    check("blocks of 2 KiB are refused", "no", "refused")
except ValueError:
    check("blocks of 2 KiB are refused", "refused", "refused")

treetest.finish()
