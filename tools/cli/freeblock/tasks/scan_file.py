# SPDX-License-Identifier: GPL-2.0
"""Files of digests: what freeblock scan writes and compares with.

Documentation/digest-format.rst describes the format. A header in text says what was read;
then comes a record of fixed length for each block, so that blocks may come in any order;
the end is written when all records are on stable storage, and the file renamed from
FILE.part to FILE. Each record has a checksum over the file's nonce, the block's number and
its content: what was torn by a power cut, or left in the file system by an older file, is
not a record, and its block is read again.
"""

import fcntl
import hashlib
import os
import re
import struct
import time
import zlib

from .. import ToolError
from ..base import safe_file
from ..state.placement import Segment

PAGE = 4096
RECORD = struct.Struct("<16sB3xI")
STATES = {"good": 1, "unreadable": 2, "not tried": 3}
GOOD, UNREADABLE, NOT_TRIED = 1, 2, 3
CHUNK = 4096                    # records read at a time
MISSING = re.compile(rb"\x00+")


def blake2b(data):
    """16 bytes of BLAKE2b."""
    return hashlib.blake2b(data, digest_size=16).digest()


def crc32c():
    """The function that makes CRC-32C, little-endian and padded to 16 bytes."""
    try:
        import crcmod.predefined  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise ToolError("crc32c needs the package python3-crcmod: apt-get install "
                        "python3-crcmod") from error
    function = crcmod.predefined.mkCrcFun("crc-32c")
    return lambda data: struct.pack("<I12x", function(data))


def digest_function(algorithm):
    """What makes a block's digest."""
    if algorithm == "blake2b-128":
        return blake2b
    if algorithm == "crc32c":
        return crc32c()
    raise ToolError("no such algorithm: '%s' (blake2b-128, crc32c)" % algorithm)


ALGORITHMS = ("blake2b-128", "crc32c")


class Layout:
    """Which blocks a device's segments lie in, and their numbers in the file.

    A block is that of the disk's coverage map. One at the edge of a segment belongs to
    the device in part: only that part is digested.
    """

    def __init__(self, segments, block_bytes):
        self.segments = segments
        self.block = block_bytes // 512
        self.bases = []
        self.blocks = 0
        for segment in segments:
            self.bases.append(self.blocks)
            last = (segment.disk_first + segment.sectors - 1) // self.block
            self.blocks += last - segment.disk_first // self.block + 1

    def disks(self):
        """The disks' names."""
        return sorted({segment.disk for segment in self.segments})

    def places(self, disk, lbn, sectors):
        """Of a piece of a disk, block by block: number, first sector, end, both of the
        disk and within the device."""
        for base, segment in zip(self.bases, self.segments):
            low = max(lbn, segment.disk_first)
            high = min(lbn + sectors, segment.disk_first + segment.sectors)
            if segment.disk != disk or low >= high:
                continue
            zero = segment.disk_first // self.block
            for block in range(low // self.block, (high - 1) // self.block + 1):
                yield (base + block - zero, max(low, block * self.block),
                       min(high, (block + 1) * self.block))

    def _of(self, number):
        at = max(i for i, base in enumerate(self.bases) if base <= number)
        segment = self.segments[at]
        block = segment.disk_first // self.block + number - self.bases[at]
        low = max(block * self.block, segment.disk_first)
        high = min((block + 1) * self.block, segment.disk_first + segment.sectors)
        return segment, low, high

    def block_of(self, number):
        """A block's disk, first sector and sectors there, and first sector of the device."""
        segment, low, high = self._of(number)
        return segment.disk, low, high - low, segment.first + low - segment.disk_first

    def ranges(self, got):
        """What must be read of each disk, where the byte of a block is 0: (disk, first,
        sectors), whole blocks of the disk, joined."""
        run = None
        for base, segment in zip(self.bases, self.segments):
            zero = segment.disk_first // self.block
            last = (segment.disk_first + segment.sectors - 1) // self.block
            for match in MISSING.finditer(got, base, base + last - zero + 1):
                first = (zero + match.start() - base) * self.block
                sectors = (match.end() - match.start()) * self.block
                if run and run[0] == segment.disk and run[1] + run[2] == first:
                    run = (run[0], run[1], run[2] + sectors)
                    continue
                if run:
                    yield run
                run = (segment.disk, first, sectors)
        if run:
            yield run


class Header:
    """What a file says of itself: algorithm, disks by id, segments, block."""

    def __init__(self, given, algorithm, block_bytes, segments, disks, nonce=None, started=None):
        self.given = given
        self.algorithm = algorithm
        self.layout = Layout(segments, block_bytes)
        self.disks = disks              # name -> {"id", "sectors"}
        self.nonce = nonce or os.urandom(8)
        self.started = started or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.length = 0

    def text(self):
        """The bytes at the beginning of the file."""
        lines = ["fbdigest 1", "nonce " + self.nonce.hex(), "started " + self.started,
                 "device " + self.given, "algorithm " + self.algorithm,
                 "block_bytes %d" % (self.layout.block * 512), "blocks %d" % self.layout.blocks]
        lines += ["disk %s %s %d" % (name, disk["id"], disk["sectors"])
                  for name, disk in sorted(self.disks.items())]
        lines += ["segment %d %d %s %d" % segment for segment in self.layout.segments]
        body = ("\n".join(lines) + "\n").encode()
        room = len(body) + len("end 12345678 \n")
        self.length = (room + PAGE - 1) // PAGE * PAGE
        return (body + b"end %08x" % zlib.crc32(body)).ljust(self.length - 1) + b"\n"

    def same_as(self, other):
        """None if both are about the same blocks; else what differs. Names of disks may."""
        for name, mine, theirs in (
                ("algorithm", self.algorithm, other.algorithm),
                ("block size", self.layout.block * 512, other.layout.block * 512),
                ("disks and pieces of them", self.pieces(), other.pieces())):
            if mine != theirs:
                return "%s: %s there, %s here" % (name, theirs, mine)
        return None

    def pieces(self):
        """The segments with what the disks are instead of their names."""
        return [(s.first, s.sectors, self._who(s.disk), s.disk_first)
                for s in self.layout.segments]

    def _who(self, name):
        disk = self.disks[name]
        return "%s of %d sectors" % (name if disk["id"] == "-" else disk["id"], disk["sectors"])


def parse_header(path, file):
    """The header of an open file."""
    text = file.read(PAGE)
    while b"\nend " not in text:
        more = file.read(PAGE)
        if not text.startswith(b"fbdigest 1\n") or not more:
            raise ToolError("%s: not a file of digests, or its header is damaged" % path)
        text += more
    body, _, rest = text.partition(b"\nend ")
    body += b"\n"
    if not body.startswith(b"fbdigest 1\n") or rest[:8] != b"%08x" % zlib.crc32(body):
        raise ToolError("%s: its header is damaged: checksum" % path)
    one, disks, segments = {}, {}, []
    for line in body.decode().splitlines():
        key, _, value = line.partition(" ")
        words = value.split()
        if key == "disk":
            disks[words[0]] = {"id": words[1], "sectors": int(words[2])}
        elif key == "segment":
            segments.append(Segment(int(words[0]), int(words[1]), words[2], int(words[3])))
        else:
            one[key] = value
    header = Header(one["device"], one["algorithm"], int(one["block_bytes"]), segments, disks,
                    bytes.fromhex(one["nonce"]), one["started"])
    header.text()
    return header


class Records:
    """The records of a file: read, checked, written. Numbers are those of blocks."""

    def __init__(self, path, mode="rb"):
        self.path = path
        # pylint: disable-next=consider-using-with
        self.file = open(path, mode, buffering=0)
        try:
            self.header = parse_header(path, self.file)
        except ToolError:
            self.file.close()
            raise

    def close(self):
        """Close the file."""
        self.file.close()

    def _check(self, number, head):
        return zlib.crc32(head, zlib.crc32(self.header.nonce + number.to_bytes(8, "little")))

    def pack(self, number, state, digest):
        """The bytes of a record."""
        return RECORD.pack(digest, state, self._check(number, digest + bytes((state,))))

    def unpack(self, number, raw):
        """State and digest; None if these are no record of this block."""
        digest, state, check = RECORD.unpack(raw)
        if not GOOD <= state <= NOT_TRIED or \
                check != self._check(number, digest + bytes((state,))):
            return None
        return state, digest

    def get(self, number):
        """A block's state and digest, or None."""
        raw = os.pread(self.file.fileno(), RECORD.size,
                       self.header.length + number * RECORD.size)
        return self.unpack(number, raw) if len(raw) == RECORD.size else None

    def all(self):
        """(number, state, digest) of all records."""
        total, empty = self.header.layout.blocks, bytes(RECORD.size)
        for base in range(0, total, CHUNK):
            count = min(CHUNK, total - base)
            raw = os.pread(self.file.fileno(), count * RECORD.size,
                           self.header.length + base * RECORD.size)
            if not raw.strip(b"\0"):
                continue
            for i in range(len(raw) // RECORD.size):
                one = raw[i * RECORD.size:(i + 1) * RECORD.size]
                found = self.unpack(base + i, one) if one != empty else None
                if found:
                    yield (base + i, *found)

    def end_at(self):
        """Where the line stands that closes a finished file."""
        return self.header.length + self.header.layout.blocks * RECORD.size

    def finished(self):
        """The closing line's counts, or None."""
        raw = os.pread(self.file.fileno(), PAGE, self.end_at())
        body, _, check = raw.rpartition(b" check ")
        if not body.startswith(b"fbdigest-end ") or \
                check != b"%08x\n" % zlib.crc32(self.header.nonce + body):
            return None
        words = body.decode().split()
        return dict(zip(words[1::2], words[2::2]))


def open_finished(path):
    """A file to compare with."""
    if not os.path.exists(path) and os.path.exists(path + ".part"):
        raise ToolError("%s.part is not finished: finish it with -o %s first" % (path, path))
    records = Records(path)
    if records.finished() is None:
        raise ToolError("%s: not finished, or cut short" % path)
    return records


class Writer(Records):
    """A file being made: FILE.part. What was put counts when sync() has returned."""

    def __init__(self, path, header):
        self.final = path
        part = path + ".part"
        if os.path.exists(path):
            raise ToolError("%s is there already; compare with it: --verify %s; or move it away" %
                            (path, path))
        _create(part, header)
        super().__init__(part, "r+b")
        self.pending = {}
        self.state = bytearray(self.header.layout.blocks)
        try:
            self._adopt(header)
        except BaseException:
            self.close()
            raise

    def _adopt(self, header):
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ToolError("%s: another freeblock scan writes it" % self.path) from error
        differs = header.same_as(self.header)
        if differs:
            raise ToolError("%s was begun for something else (%s); finish that, or remove it" %
                            (self.path, differs))
        # this run's names, that run's nonce
        header.nonce, header.started = self.header.nonce, self.header.started
        header.length, self.header = self.header.length, header
        # those not tried are tried again
        for number, state, _ in self.all():
            self.state[number] = state % NOT_TRIED

    def count(self, state):
        """How many blocks are in this state."""
        return self.state.count(state)

    def has(self, number):
        """Whether a block was delivered, in this run or before."""
        return self.state[number] or number in self.pending

    def put(self, number, state, digest):
        """A block was delivered."""
        self.pending[number] = self.pack(number, state, digest)

    def sync(self):
        """Bring what was put to stable storage; then it counts."""
        run, at = [], None
        numbers = sorted(self.pending)
        for number in numbers:
            if run and at + len(run) != number:
                self._write(at, run)
                run = []
            if not run:
                at = number
            run.append(self.pending[number])
        if run:
            self._write(at, run)
        if numbers:
            os.fdatasync(self.file.fileno())
        for number in numbers:
            self.state[number] = RECORD.unpack(self.pending[number])[1]
        self.pending.clear()

    def _write(self, number, run):
        _write_all(self.file.fileno(), b"".join(run), self.header.length + number * RECORD.size)

    def finish(self):
        """All is there: close the file with its end, and give it its name."""
        self.sync()
        body = ("fbdigest-end finished %s good %d unreadable %d not_tried %d" % (
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), self.count(GOOD),
            self.count(UNREADABLE), self.count(NOT_TRIED))).encode()
        end = body + b" check %08x\n" % zlib.crc32(self.header.nonce + body)
        _write_all(self.file.fileno(), end, self.end_at())
        os.fsync(self.file.fileno())
        os.rename(self.path, self.final)
        safe_file.sync_directory(os.path.dirname(self.final) or ".")


def _write_all(fd, data, offset):
    while data:
        done = os.pwrite(fd, data, offset)
        data, offset = data[done:], offset + done


def _create(path, header):
    """An empty file with this header, whole or not at all, unless there is one. Of two at
    once one makes it: the other would put its own over what the first writes to."""
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not os.path.exists(path):
            safe_file.write_file(path, header.text())
    finally:
        os.close(folder)
