# SPDX-License-Identifier: GPL-2.0
"""Coverage of a scrub on stable storage: a journal of words of the disk's map.

Documentation/coverage-format.rst describes the format. A header in text says which disk and
which pass; then come records, each a run of 64-bit words of the map, a bit for a block
that has been verified, with a checksum over the file's nonce and the record. Words are
or-ed together, so that each record is true by itself: one that was torn, lost or spoiled
takes away only what it says, and nothing but a whole record adds anything. When the
journal is much longer than the map it is written anew and renamed.
"""

import fcntl
import os
import re
import struct
import zlib

from .. import ToolError, fbstate
from ..base import safe_file
from .scan_file import _write_all as write_all

FOLDER = "var/lib/freeblock"
HEADER = 512
HEAD = struct.Struct("<4sII")           # mark, first word, words; the checksum follows
CHECK = struct.Struct("<I")
MARK = b"fbco"
WORD = 8
CHUNK = 4096                            # bytes of two maps that are compared at once
BRIDGE = 2                              # words written though unchanged, to save a head
MOST_WORDS = 8192                       # of a record
SLACK = 1 << 20                         # of the journal, before it is written anew


# how many bits of a number are set; Python 3.9 has no bit_count()
_ones = getattr(int, "bit_count", lambda number: bin(number).count("1"))


def path_of(ident, suffix=""):
    """Where the coverage of a disk is kept, or, with a suffix, of a piece of it; ident: of the
    kernel's file id."""
    return fbstate.path(FOLDER, ident.replace("/", "_") + suffix + ".coverage")


class Damaged(ToolError):
    """A file whose header cannot be relied on."""


def map_bytes(blocks):
    """Length of a map: whole words."""
    return (blocks + 63) // 64 * WORD


def count(bits):
    """How many bits are set."""
    return _ones(int.from_bytes(bits, "little"))


def count_some(bits, first, blocks):
    """How many of the bits from `first` on are set."""
    some = int.from_bytes(bits[first // 8:(first + blocks + 7) // 8], "little")
    return _ones(some >> first % 8 & (1 << blocks) - 1)


def contains(bits, others):
    """Whether each bit of `others` is in `bits`, too."""
    for at in range(0, len(others), CHUNK):
        mine, theirs = bits[at:at + CHUNK], others[at:at + CHUNK]
        if mine != theirs and \
                int.from_bytes(theirs, "little") & ~int.from_bytes(mine, "little"):
            return False
    return True


def changed_runs(old, new):
    """(first word, bytes) of the runs of words that differ."""
    start = end = None
    for at in range(0, len(new), CHUNK):
        if old[at:at + CHUNK] == new[at:at + CHUNK]:
            continue
        for word in range(at // WORD, min(at + CHUNK, len(new)) // WORD):
            here = slice(word * WORD, word * WORD + WORD)
            if old[here] == new[here]:
                continue
            if start is not None and (word - end > BRIDGE or word - start >= MOST_WORDS):
                yield start, bytes(new[start * WORD:end * WORD])
                start = None
            if start is None:
                start = word
            end = word + 1
    if start is not None:
        yield start, bytes(new[start * WORD:end * WORD])


class Journal:
    """The coverage of one pass over one disk, open for saving.

    `identity` is a dictionary: id, sectors, block_bytes, blocks. `bits` is what is on
    stable storage. `began` is by what the kernel knows the pass, 0 if it has not yet said
    so; `finished` is true when it came to its end, be it with bad blocks.
    """

    def __init__(self, path, identity):
        self.path, self.identity = path, dict(identity)
        self.number, self.began, self.finished = 1, 0, False
        self.nonce = os.urandom(8)
        self.bits = bytearray(map_bytes(identity["blocks"]))
        self.file = None
        self.size = 0
        self._lock(path)

    def _lock(self, path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        # pylint: disable-next=consider-using-with
        self.lock = open(path + ".lock", "w", encoding="ascii", opener=safe_file.no_link)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.lock.close()
            raise ToolError("%s: another freeblock scrub saves to it; run: freeblock status" %
                            path) from error

    def close(self):
        """What is saved stays; nothing else is."""
        if self.file:
            self.file.close()
        self.lock.close()

    def header(self):
        """The bytes at the beginning of the file."""
        body = ("fbcoverage 1\nnonce %s\nid %s\nsectors %d\nblock_bytes %d\nblocks %d\npass %d\n"
                "began %d\nfinished %d\n" % (self.nonce.hex(), self.identity["id"],
                                  self.identity["sectors"], self.identity["block_bytes"],
                                  self.identity["blocks"], self.number, self.began,
                                  self.finished)).encode()
        return (body + b"end %08x" % zlib.crc32(body)).ljust(HEADER - 1) + b"\n"

    def record(self, first, words):
        """The bytes of a record."""
        head = HEAD.pack(MARK, first, len(words) // WORD)
        return head + CHECK.pack(zlib.crc32(words, zlib.crc32(self.nonce + head))) + words

    def save(self, bits, began, finished=False):
        """Bring the map to stable storage; when it returns it is there. Bits are never
        taken away."""
        if not contains(bits, self.bits):
            raise ValueError("coverage shrinks")
        said = (self.began, self.finished)
        self.began, self.finished = began, finished
        if self.file is None or said != (began, finished) or \
                self.size > SLACK + 2 * len(self.bits):
            self._write_anew(bits)
            return
        data = b"".join(self.record(*run) for run in changed_runs(self.bits, bits))
        if data:
            write_all(self.file.fileno(), data, self.size)
            os.fdatasync(self.file.fileno())
            self.size += len(data)
            self.bits[:] = bits

    def _write_anew(self, bits):
        self.nonce = os.urandom(8)
        data = self.header() + b"".join(
            self.record(*run) for run in changed_runs(bytes(len(bits)), bits))
        safe_file.write_file(self.path, data)
        # pylint: disable-next=consider-using-with
        file = open(self.path, "rb+", buffering=0, opener=safe_file.no_link)
        if self.file:
            self.file.close()
        self.file, self.size = file, len(data)
        self.bits[:] = bits

    def begin_pass(self):
        """Forget the coverage: another pass over the disk."""
        self.number, self.began, self.finished = self.number + 1, 0, False
        self.bits = bytearray(len(self.bits))
        self._write_anew(bytes(len(self.bits)))


def parse_header(path, raw):
    """What a file says of itself."""
    body, _, rest = raw.partition(b"\nend ")
    body += b"\n"
    if len(raw) < HEADER or not body.startswith(b"fbcoverage 1\n") or \
            rest[:8] != b"%08x" % zlib.crc32(body):
        raise Damaged("%s: not a file of coverage, or its header is damaged" % path)
    found = dict(line.split(" ", 1) for line in body.decode().splitlines())
    for key in ("sectors", "block_bytes", "blocks", "pass", "began", "finished"):
        found[key] = int(found[key])
    return found


def replay(raw, nonce, bits):
    """Or all whole records of a file into `bits`. Returns where the last one ends and
    how many bytes were no record."""
    at, end, ignored = HEADER, HEADER, 0
    while at < len(raw):
        words = _record_at(raw, at, nonce, len(bits))
        if words is None:
            following = re.compile(MARK).search(raw, at + 1)
            step = (following.start() if following else len(raw)) - at
            ignored += step
            at += step
            continue
        first, data = words
        old = int.from_bytes(bits[first * WORD:first * WORD + len(data)], "little")
        bits[first * WORD:first * WORD + len(data)] = \
            (old | int.from_bytes(data, "little")).to_bytes(len(data), "little")
        at += HEAD.size + CHECK.size + len(data)
        end = at
    return end, ignored


def _record_at(raw, at, nonce, length):
    """First word and bytes of the record there, or None."""
    data_at = at + HEAD.size + CHECK.size
    if data_at > len(raw):
        return None
    mark, first, words = HEAD.unpack_from(raw, at)
    if mark != MARK or (first + words) * WORD > length or data_at + words * WORD > len(raw):
        return None
    data = raw[data_at:data_at + words * WORD]
    check = zlib.crc32(data, zlib.crc32(nonce + raw[at:at + HEAD.size]))
    return (first, data) if CHECK.unpack_from(raw, at + HEAD.size)[0] == check else None


def foreign(header, identity):
    """None, or why a file is not about this disk."""
    for key, what in (("id", "disk"), ("sectors", "sectors"), ("block_bytes", "bytes a block"),
                      ("blocks", "blocks")):
        if header[key] != identity[key]:
            return "%s %s there, %s here" % (what, header[key], identity[key])
    return None


def open_journal(path, identity):
    """The journal at `path`, made if there is none. A damaged one is put aside; one of
    another disk refused. Returns it and what there is to say, or None."""
    journal = Journal(path, identity)
    try:
        return journal, _load(journal)
    except Damaged as error:
        aside = put_aside(path)
        return journal, "%s; it is kept as %s, and scrubbing begins anew" % (error, aside)
    except BaseException:
        journal.close()
        raise


def _load(journal):
    try:
        with open(journal.path, "rb", opener=safe_file.no_link) as file:
            raw = file.read()
    except FileNotFoundError:
        return None
    header = parse_header(journal.path, raw[:HEADER])
    why = foreign(header, journal.identity)
    if why:
        raise ToolError("%s is not of this disk: %s; give another --state, or move it away" %
                        (journal.path, why))
    journal.number, journal.began = header["pass"], header["began"]
    journal.finished = bool(header["finished"])
    _, ignored = replay(raw, bytes.fromhex(header["nonce"]), journal.bits)
    if ignored:
        return "%s: %d of %d bytes are no whole record: ignored, what they said is verified " \
            "again" % (journal.path, ignored, len(raw))
    return None


def put_aside(path):
    """Rename a file to the first free FILE.damaged-N; that name."""
    number = 1
    while os.path.exists("%s.damaged-%d" % (path, number)):
        number += 1
    aside = "%s.damaged-%d" % (path, number)
    os.rename(path, aside)
    return aside
