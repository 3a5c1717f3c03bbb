# SPDX-License-Identifier: GPL-2.0
"""Were the blocks that a scan delivered the right ones?

The scan keeps a CRC-32 of every block it delivered. What the block held when
it was read is known from the simulated drive: a pattern computed from the
sector's number where nothing was ever written, and else one of the contents
that the drive's write journal names. A block is right when its checksum is one
of those it could have had during the scan:

- the content at the scan's start (the last write before it, or the pattern),
- any content written after the scan's start.

A block that was delivered more than once is wrong whatever it holds, for the
scan promises each block once.
"""

import zlib
from collections import namedtuple

import numpy as np

BLOCK = 4096
SECTOR = 512
WORDS = SECTOR // 8

DELIVERED = np.dtype([("block", "<u8"), ("crc", "<u4"), ("times", "<u4")])
JOURNAL = np.dtype([("block", "<u8"), ("crc", "<u4"), ("pad", "<u4"), ("ns", "<u8")])

DELIVERY = np.dtype([("lbn", "<u8"), ("crc", "<u4"), ("status", "<u4"), ("ns", "<u8")])
GOOD, MEDIUM_ERROR, NOT_TRIED = range(3)

# A write may end after the scheduler has decided to deliver a block and before
# the consumer looks at its clock.
SLACK_NS = 5000000

Result = namedtuple("Result", "delivered wrong again rewritten examples")


def pattern(lbn, sectors):
    """What sectors hold that were never written: word i of sector lbn is
    lbn * 64 + i, little-endian."""
    return np.arange(lbn * WORDS, (lbn + sectors) * WORDS, dtype="<u8").tobytes()


def pattern_crc(block, capacity, block_bytes=BLOCK):
    """Checksum of a block never written; the disk's last may be short."""
    per_block = block_bytes // SECTOR
    lbn = block * per_block
    return zlib.crc32(pattern(lbn, min(per_block, capacity - lbn)))


def verify(delivered, journal, capacity, at_start=0):
    """Judge a scan.

    delivered: the bytes of debugfs scan_crc. journal: those of the drive's
    journal. capacity: of the disk in sectors. at_start: how many records of
    the journal had been written when the scan was started.

    Result(delivered, wrong, again, rewritten, examples): blocks delivered;
    those with a wrong checksum or delivered again; of these, the latter;
    blocks for which the journal had a say; up to ten lines about wrong ones.
    """
    got = np.frombuffer(delivered, dtype=DELIVERED)
    records = np.frombuffer(journal, dtype=JOURNAL)
    before, during = {}, {}
    for record in records[:at_start]:
        before[int(record["block"])] = int(record["crc"])
    for record in records[at_start:]:
        during.setdefault(int(record["block"]), set()).add(int(record["crc"]))
    wrong = again = rewritten = 0
    examples = []
    seen = set()
    for block, crc, times in zip(got["block"].tolist(), got["crc"].tolist(),
                                 got["times"].tolist()):
        allowed = set(during.get(block, ()))
        if block in before:
            allowed.add(before[block])
        rewritten += bool(allowed)
        outside = block * (BLOCK // SECTOR) >= capacity
        if block not in before and not outside and crc not in allowed:
            allowed.add(pattern_crc(block, capacity))
        twice = times != 1 or block in seen
        seen.add(block)
        if twice or outside or crc not in allowed:
            wrong += 1
            again += twice
            if len(examples) < 10:
                examples.append("block %d: checksum %08x, delivered %d times, can have been %s" % (
                    block, crc, times, ", ".join("%08x" % a for a in sorted(allowed)) or "none"))
    return Result(len(got), wrong, again, rewritten, examples)


def verify_deliveries(deliveries, journal, capacity):
    """Judge what tests/lab/modules/fbconsumer.c noted.

    It knows when each block was delivered, so more is asked than by verify():
    the content must not be older than a write that had ended by then.

    deliveries: the bytes of its file "blocks". journal, capacity: as above.
    """
    writes = {}
    for record in np.frombuffer(journal, dtype=JOURNAL):
        writes.setdefault(int(record["block"]), []).append(
            (int(record["ns"]), int(record["crc"])))
    wrong = again = rewritten = 0
    examples = []
    seen = set()
    noted = np.frombuffer(deliveries, dtype=DELIVERY)
    for lbn, crc, status, ns in zip(*(noted[f].tolist() for f in DELIVERY.names)):
        block, rest = divmod(lbn, BLOCK // SECTOR)
        history = writes.get(block, [])
        rewritten += bool(history)
        ended = [c for at, c in history if at < ns - SLACK_NS]
        allowed = {c for at, c in history if at >= ns - SLACK_NS}
        outside = lbn >= capacity
        if ended:
            allowed.add(ended[-1])
        elif not outside:
            allowed.add(pattern_crc(block, capacity))
        twice = block in seen
        seen.add(block)
        odd = rest or outside or status > NOT_TRIED
        if twice or odd or (status == GOOD and crc not in allowed):
            wrong += 1
            again += twice
            if len(examples) < 10:
                examples.append("sector %d: checksum %08x, status %d%s, can have been %s%s" % (
                    lbn, crc, status, ", delivered again" if twice else "",
                    ", ".join("%08x" % a for a in sorted(allowed)[:4]) or "none",
                    ", is stale" if crc in [c for _, c in history] else ""))
    return Result(len(noted), wrong, again, rewritten, examples)
