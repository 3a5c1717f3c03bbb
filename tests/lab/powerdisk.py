# SPDX-License-Identifier: GPL-2.0
"""What is on the platters of a simulated drive that has lost its power.

The drive's log (drive-format.rst, "Power") has each job at the medium with its time, and for
each write command what its sectors held before. A write to the medium that had ended before the
power went is there; one that was under way is there up to a sector. What was in the cache
alone has a fate that is drawn: lost, kept or torn at a sector, each by itself, for a drive may
bring its cache to the medium in any order. A drive with physical blocks tears between these.
Nothing here is shared with the drive's engine.
"""

import struct
from bisect import bisect_left
from collections import namedtuple

BLOCK, SECTOR = 4096, 512
HEAD = struct.Struct("<8sQQ")
MARK = b"platters"
RECORD = struct.Struct("<IIQQQ")
READ, WRITE, VERIFY, FLUSH, OLD = range(5)

Job = namedtuple("Job", "kind lbn count start end")


class Write:
    """A write command. `end`: when the head had written it; 0: it went to the cache. `old`: what
    its sectors held before; `new`: after, known once the platters have been rolled back."""

    def __init__(self, job, old):
        self.lbn, self.count, self.start, self.end = job.lbn, job.count, job.start, job.end
        self.old, self.new = old, None
        self.durable = 0        # when; 0: not at all


class Platters:
    """What each sector holds."""

    def __init__(self, pages):
        self.pages = pages      # block -> bytearray

    def block(self, number):
        """A block's bytes; what was never written counts words from the start of the disk."""
        if number not in self.pages:
            words = BLOCK // 8
            self.pages[number] = bytearray(struct.pack(
                "<%dQ" % words, *range(number * words, (number + 1) * words)))
        return self.pages[number]

    def read(self, lbn, count):
        """The bytes of some sectors."""
        return b"".join(self._sector(lbn + i) for i in range(count))

    def _sector(self, lbn):
        at = lbn * SECTOR % BLOCK
        return bytes(self.block(lbn * SECTOR // BLOCK)[at:at + SECTOR])

    def write(self, lbn, data):
        """Put bytes there: whole sectors."""
        for i in range(len(data) // SECTOR):
            at = (lbn + i) * SECTOR % BLOCK
            self.block((lbn + i) * SECTOR // BLOCK)[at:at + SECTOR] = \
                data[i * SECTOR:(i + 1) * SECTOR]


class Dump:
    """A drive that is dead, as its guest left it in a file."""

    def __init__(self, path, cut_ns):
        self.cut_ns = cut_ns
        with open(path, "rb") as file:
            mark, blocks, log_bytes = HEAD.unpack(file.read(HEAD.size))
            if mark != MARK:
                raise ValueError("%s: no platters" % path)
            numbers = struct.unpack("<%dQ" % blocks, file.read(8 * blocks))
            self.platters = Platters({n: bytearray(file.read(BLOCK)) for n in numbers})
            log = file.read(log_bytes)
        self.jobs, self.writes = [], []
        at = 0
        while at < len(log):
            kind, count, lbn, start, end = RECORD.unpack_from(log, at)
            at += RECORD.size
            job = Job(kind, lbn, count, start, end)
            if kind == OLD:
                self.writes.append(Write(job, log[at:at + count * SECTOR]))
                at += count * SECTOR
            else:
                self.jobs.append(job)
        self._settle()

    def _settle(self):
        """When each write was on the medium: a cached one with the first job from then on that
        wrote all of it."""
        written = [job for job in self.jobs if job.kind == WRITE]
        starts = [job.start for job in written]
        for write in self.writes:
            write.durable = write.end
            if write.end:
                continue
            for job in written[bisect_left(starts, write.start):]:
                if job.lbn <= write.lbn and write.lbn + write.count <= job.lbn + job.count:
                    write.durable = job.end
                    break

    def flushes_disobeyed(self):
        """Flushes that were answered before what was cached when they came was on the medium."""
        late = []
        for flush in self.jobs:
            if flush.kind != FLUSH or flush.end > self.cut_ns:
                continue
            if any(not w.end and w.start < flush.start and not 0 < w.durable <= flush.end
                   for w in self.writes):
                late.append(flush)
        return late

    def was_read(self):
        """(first sector, sectors) of what the head had read when the power went."""
        for job in self.jobs:
            if job.kind in (READ, VERIFY) and job.end <= self.cut_ns:
                yield job.lbn, job.count

    def _survivors(self, write, draw, torn):
        """How many of a write's sectors, from its first on, are on the medium. `torn`: sectors
        of the job that was under way that were written, and where it began."""
        if write.end:
            return draw.randrange(write.count + 1)
        if torn and write.durable > self.cut_ns:
            return max(0, min(write.count, torn.lbn + torn.count - write.lbn))
        return draw.choice((0, write.count, draw.randrange(write.count + 1)))

    def roll_back(self):
        """Take the platters back to where the log begins. Each write knows afterwards what it
        wrote."""
        for write in reversed(self.writes):
            write.new = self.platters.read(write.lbn, write.count)
            self.platters.write(write.lbn, write.old)

    def lose(self, draw, physical=1):
        """After roll_back(): bring the platters to what they hold after the loss. Returns a
        word about it. `physical`: sectors of a physical block, which is written whole or not."""
        under_way = [job for job in self.jobs
                     if job.kind == WRITE and job.start <= self.cut_ns < job.end]
        torn = under_way[-1] if under_way else None
        if torn:
            torn = torn._replace(count=draw.randrange(torn.count + 1))
        lost = kept = parts = 0
        for write in self.writes:
            count = write.count
            if not 0 < write.durable <= self.cut_ns:
                count = self._survivors(write, draw, torn)
                if count < write.count:
                    end = write.lbn + count
                    count = max(0, end - end % physical - write.lbn)
                lost, kept, parts = lost + (not count), kept + (count == write.count), \
                    parts + (0 < count < write.count)
            self.platters.write(write.lbn, write.new[:count * SECTOR])
        return "%d lost, %d kept, %d torn" % (lost, kept, parts)

    def write(self, path):
        """Leave the platters for the next guest."""
        numbers = sorted(self.platters.pages)
        with open(path, "rb+") as file:
            file.write(HEAD.pack(MARK, len(numbers), 0))
            file.write(struct.pack("<%dQ" % len(numbers), *numbers))
            for number in numbers:
                file.write(self.platters.pages[number])
