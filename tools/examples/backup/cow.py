# SPDX-License-Identifier: GPL-2.0
"""Which chunks of an origin a persistent dm snapshot has copied away: its exception table.

The format is that of the kernel's drivers/md/dm-snap-persistent.c. Everything is
little-endian. The store is divided into chunks. Chunk 0 begins with a header: four u32, the magic
"SnAp", whether the snapshot is valid, the version, the chunk size in sectors. Then come areas: a
chunk of metadata, and as many chunks of data as it has room for exceptions. An exception is two
u64: the chunk of the origin, and the chunk of the store that has what was there. new = 0 is no
place of data, and ends the table.

The table may be read while the snapshot is in use and grows, and then has all exceptions that
were committed before the reading began:

- the kernel only appends. It writes an area anew as a whole, with what was there at the same
  place; a reader that gets some sectors from before such a write and some from after it finds
  all that was committed before in either;
- the area behind is zeroed before the last exception of an area is committed: who finds an area
  full finds the next one zeroed, or in use;
- the origin is written only when the exception is on the store (the commit is a flush and a
  write with FUA). So whoever has read from the origin what was written after the snapshot was
  taken, and reads the table then, finds the exception.

It is to be read past the page cache (O_DIRECT), as the kernel writes past it.

Suspending the snapshot, which one might think of, is wrong: a suspended snapshot makes no
exceptions, and the origin is written all the same (__origin_write() in dm-snap.c).
"""

import struct
from typing import NamedTuple

SECTOR = 512
MAGIC = 0x70416e53              # "SnAp"
VERSION = 1
HEADER = struct.Struct("<4I")
EXCEPTION = struct.Struct("<2Q")
# of the kernel: a page at least, and a power of two
LEAST_SECTORS, MOST_SECTORS = 8, 1 << 20


class TableError(Exception):
    """The store does not hold what a snapshot's store holds."""


class Table(NamedTuple):
    """What was copied away."""

    chunk_sectors: int
    chunks: list            # of the origin, ascending


def chunk_size(raw):
    """Sectors of a chunk, by the beginning of the store."""
    if len(raw) < HEADER.size:
        raise TableError("the store is too short for a header")
    magic, valid, version, sectors = HEADER.unpack_from(raw)
    if magic != MAGIC:
        raise TableError("the store does not begin as a snapshot's does")
    if not valid:
        raise TableError("the snapshot is marked as invalid: its store was full, or could not be "
                         "written")
    if version != VERSION:
        raise TableError("version %d of the store's format; this program knows %d" %
                         (version, VERSION))
    if not LEAST_SECTORS <= sectors <= MOST_SECTORS or sectors & (sectors - 1):
        raise TableError("a chunk of %d sectors" % sectors)
    return sectors


class _Areas:
    """The store's areas, and what an exception there may say."""

    def __init__(self, read, store_sectors, origin_sectors):
        self.chunk = chunk_size(read(0, LEAST_SECTORS * SECTOR))
        self.read = read
        self.room = self.chunk * SECTOR // EXCEPTION.size
        self.store_chunks = store_sectors // self.chunk
        self.origin_chunks = -(-origin_sectors // self.chunk)
        self.found = {}         # chunk of the origin -> chunk of the store
        self.used = set()

    def area(self, number):
        """Enter an area's exceptions; whether it is full."""
        place = 1 + number * (self.room + 1)
        if place >= self.store_chunks:
            raise TableError("the table goes on behind the end of the store")
        length = self.chunk * SECTOR
        raw = self.read(place * length, length)
        if len(raw) != length:
            raise TableError("the store ends within area %d" % number)
        for old, new in EXCEPTION.iter_unpack(raw):
            if not new:
                return False
            self.enter(old, new)
        return True

    def enter(self, old, new):
        """An exception: each chunk once, and on either side one that can be."""
        if old >= self.origin_chunks:
            raise TableError("chunk %d of %d is copied" % (old, self.origin_chunks))
        if new >= self.store_chunks or new % (self.room + 1) == 1:
            raise TableError("chunk %d is said to be at %d, which is no place of data" % (old, new))
        if old in self.found or new in self.used:
            raise TableError("chunk %d, at %d, comes twice" % (old, new))
        self.found[old] = new
        self.used.add(new)


def read_table(read, store_sectors, origin_sectors):
    """The table of a store; read(offset, length) brings bytes of it. TableError if it is none."""
    areas = _Areas(read, store_sectors, origin_sectors)
    number = 0
    while areas.area(number):
        number += 1
    return Table(areas.chunk, sorted(areas.found))


def plan(table, origin_sectors, most_sectors=2048):
    """What to read through the snapshot: ranges (first sector, sectors), ascending, adjacent
    chunks joined, none longer than `most_sectors` or a chunk; the origin may end within the last
    chunk."""
    most = max(most_sectors // table.chunk_sectors, 1)
    ranges, at = [], 0
    while at < len(table.chunks):
        end = at + 1
        while end < len(table.chunks) and end - at < most and \
                table.chunks[end] == table.chunks[at] + end - at:
            end += 1
        first = table.chunks[at] * table.chunk_sectors
        last = min((table.chunks[end - 1] + 1) * table.chunk_sectors, origin_sectors)
        ranges.append((first, last - first))
        at = end
    return ranges


def without(ranges, covered):
    """What of `ranges` is in none of `covered`; both (first, sectors), the second ascending and
    apart."""
    left = []
    for first, sectors in ranges:
        end = first + sectors
        for low, length in covered:
            if low + length <= first:
                continue
            if low >= end:
                break
            if low > first:
                left.append((first, low - first))
            first = low + length
        if first < end:
            left.append((first, end - first))
    return left
