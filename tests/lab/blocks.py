# SPDX-License-Identifier: GPL-2.0
"""Were the blocks that a task delivered the right ones?

A CRC-32 is kept of every block delivered, by tests/lab/modules/fbconsumer.c or
by freeblock sg. What the block held when it was read is known from the
simulated drive: a pattern computed from the sector's number where nothing was
ever written, and else one of the contents that the drive's write journal names.
A block is right when its checksum is one of those it could have had while the
task ran:

- the content at the task's start (the last write before it, or the pattern),
- any content written after that.

A block that was delivered more than once is wrong whatever it holds, for each
is promised once.

The journal has a record for each 4096 bytes. A block may be a multiple of
that: then a content is one of the states that it went through, record by record.
"""

import zlib
from collections import namedtuple

import numpy as np

UNIT = 4096  # of the journal
SECTOR = 512
UNIT_SECTORS = UNIT // SECTOR
WORDS = SECTOR // 8

DELIVERED = np.dtype([("block", "<u8"), ("crc", "<u4"), ("times", "<u4")])
JOURNAL = np.dtype([("unit", "<u8"), ("crc", "<u4"), ("pad", "<u4"), ("ns", "<u8")])

DELIVERY = np.dtype([("lbn", "<u8"), ("crc", "<u4"), ("status", "<u4"), ("ns", "<u8")])
GOOD, MEDIUM_ERROR, NOT_TRIED = range(3)

# A write may end after the scheduler has decided to deliver a block and before
# the consumer looks at its clock.
SLACK_NS = 5000000

Result = namedtuple("Result", "delivered wrong again rewritten examples")
Write = namedtuple("Write", "number unit crc ns")


def pattern(lbn, sectors):
    """What sectors hold that were never written: word i of sector lbn is
    lbn * 64 + i, little-endian."""
    return np.arange(lbn * WORDS, (lbn + sectors) * WORDS, dtype="<u8").tobytes()


def join(crcs):
    """Checksum of units in a row from the checksum of each: that of a and b is
    linear in that of a."""
    zeros = bytes(UNIT)
    joined = crcs[0]
    for crc in crcs[1:]:
        joined = zlib.crc32(zeros, joined) ^ zlib.crc32(zeros) ^ crc
    return joined


class Disk:
    """What the blocks of a disk have held.

    journal: bytes of the drive's journal. capacity: of the disk in sectors.
    block_bytes: of a scan's block."""

    def __init__(self, journal, capacity, block_bytes=UNIT):
        if block_bytes < UNIT or block_bytes % UNIT:
            raise ValueError("blocks of %d bytes are not whole units of the journal, %d" %
                             (block_bytes, UNIT))
        self.capacity = capacity
        self.sectors = block_bytes // SECTOR
        self.writes = {}
        records = np.frombuffer(journal, dtype=JOURNAL)
        for number, (unit, crc, ns) in enumerate(zip(*(
                records[field].tolist() for field in ("unit", "crc", "ns")))):
            self.writes.setdefault(unit * UNIT_SECTORS // self.sectors, []).append(
                Write(number, unit, crc, ns))

    def is_outside(self, block):
        """Whether the disk has no such block."""
        return block * self.sectors >= self.capacity

    def whole(self, block, crc):
        """The checksum of a block, continued to the end of its last unit: the
        journal has whole units, with the pattern behind the end of the disk."""
        end = min((block + 1) * self.sectors, self.capacity)
        return zlib.crc32(pattern(end, -end % UNIT_SECTORS), crc)

    def contents(self, block, had_ended):
        """The checksums that whole() of a block may have; had_ended(write): whether
        the write was over before."""
        first = block * self.sectors
        end = min(first + self.sectors, self.capacity)
        writes = self.writes.get(block, ())
        if not writes:
            return {zlib.crc32(pattern(first, end - first + -end % UNIT_SECTORS))}
        crcs = [zlib.crc32(pattern(lbn, UNIT_SECTORS)) for lbn in range(first, end, UNIT_SECTORS)]
        for write in filter(had_ended, writes):
            crcs[write.unit - first // UNIT_SECTORS] = write.crc
        found = {join(crcs)}
        for write in writes:
            if not had_ended(write):
                crcs[write.unit - first // UNIT_SECTORS] = write.crc
                found.add(join(crcs))
        return found


def verify(delivered, journal, capacity, at_start=0, block_bytes=UNIT):
    """Judge a scan by freeblock sg.

    delivered: the bytes of its file of checksums. at_start: how many records of the
    journal had been written when the scan was started. The others: see Disk.

    Result(delivered, wrong, again, rewritten, examples): blocks delivered;
    those with a wrong checksum or delivered again; of these, the latter;
    blocks for which the journal had a say; up to ten lines about wrong ones.
    """
    disk = Disk(journal, capacity, block_bytes)
    got = np.frombuffer(delivered, dtype=DELIVERED)
    wrong = again = rewritten = 0
    examples = []
    seen = set()
    for block, crc, times in zip(*(got[field].tolist() for field in DELIVERED.names)):
        outside = disk.is_outside(block)
        allowed = set() if outside else disk.contents(block, lambda w: w.number < at_start)
        rewritten += block in disk.writes
        twice = times != 1 or block in seen
        seen.add(block)
        if twice or outside or disk.whole(block, crc) not in allowed:
            wrong += 1
            again += twice
            if len(examples) < 10:
                examples.append("block %d: checksum %08x, delivered %d times, can have been %s" % (
                    block, crc, times, ", ".join("%08x" % a for a in sorted(allowed)) or "none"))
    return Result(len(got), wrong, again, rewritten, examples)


def verify_deliveries(deliveries, journal, capacity, at_start=0, block_bytes=UNIT, timed=True):
    """Judge what tests/lab/modules/fbconsumer.c noted.

    It knows when each block was delivered, so more is asked than by verify() if that can be
    relied on (timed): the content must not be older than a write that had ended by then.

    deliveries: the bytes of its file "blocks". The others: see verify().
    """
    disk = Disk(journal, capacity, block_bytes)
    wrong = again = rewritten = 0
    examples = []
    seen = set()
    noted = np.frombuffer(deliveries, dtype=DELIVERY)
    for lbn, crc, status, ns in zip(*(noted[field].tolist() for field in DELIVERY.names)):
        block, rest = divmod(lbn, disk.sectors)
        outside = lbn >= capacity
        allowed = set() if outside else disk.contents(
            block, lambda w, before=ns - SLACK_NS: w.number < at_start or timed and w.ns < before)
        rewritten += block in disk.writes
        twice = block in seen
        seen.add(block)
        odd = rest or outside or status > NOT_TRIED
        if twice or odd or (status == GOOD and disk.whole(block, crc) not in allowed):
            wrong += 1
            again += twice
            if len(examples) < 10:
                examples.append("sector %d: checksum %08x, status %d%s, can have been %s%s" % (
                    lbn, crc, status, ", delivered again" if twice else "",
                    ", ".join("%08x" % a for a in sorted(allowed)[:4]) or "none",
                    ", is stale" if not outside and disk.whole(block, crc) in disk.contents(
                        block, lambda w: False) else ""))
    return Result(len(noted), wrong, again, rewritten, examples)
