# SPDX-License-Identifier: GPL-2.0
"""A file being read: its lines in blocks, packed or not; which device is meant; what its reader
has to say of it."""

import bz2
import collections
import gzip
import lzma
import sys
import zlib

import numpy as np

from ..base.streams import one_line
from . import Error

BLOCK = 16 << 20
PACKED = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open))
MOST_NS = 36525 * 86400 * 10 ** 9
BOM = b"\xef\xbb\xbf"
# data: whole lines; first: the number of the first, from 1; cut: it is the last line, alone, and
# the file ends in it
Block = collections.namedtuple("Block", "data first cut", defaults=(False,))


def open_binary(path):
    """The file's bytes, unpacked."""
    with open(path, "rb") as file:
        begin = file.read(8)
    for magic, opener in PACKED:
        if begin.startswith(magic):
            return opener(path, "rb")
    return open(path, "rb")


def pieces(path, size=BLOCK):
    """The file's bytes, unpacked, in pieces."""
    with open_binary(path) as file:
        while True:
            try:
                piece = file.read(size)
            except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
                raise Error(path, "the packed file", str(error)) from error
            except OSError as error:
                # bz2 says so of what it cannot unpack
                if error.errno is not None:
                    raise
                raise Error(path, "the packed file", str(error)) from error
            if not piece:
                return
            yield piece


def blocks(path, size=BLOCK):
    """The file's lines, many at a time."""
    rest, first = b"", 1
    for piece in pieces(path, size):
        piece = rest + piece
        if first == 1:
            piece = piece.removeprefix(BOM)
        end = piece.rfind(b"\n") + 1
        rest = piece[end:]
        if end:
            yield Block(piece[:end], first)
            first += piece.count(b"\n", 0, end)
        elif len(rest) > size:
            raise Error(path, first, "more than %d bytes without an end" % size)
    if rest.strip():
        yield Block(rest + b"\n", first, True)


def shown(line):
    """A line in a message."""
    text = line.decode("ascii", "backslashreplace").strip()
    return text if len(text) <= 80 else text[:77] + "..."


def on_stderr(text):
    """A note where no one else takes it."""
    print("freeblock: " + one_line(text), file=sys.stderr)


class Input:
    """A file, and how it is to be read.

    unit_ns: of its times, where the user says so, else None. sure: whether the unit is known: a
    reader that guesses says no."""

    def __init__(self, path, device=None, unit_ns=None, note=on_stderr):
        self.path = str(path)
        self.device = device
        self.unit_ns = unit_ns
        self.sure = True
        self._note, self._noted = note, set()

    def note(self, text):
        """What a user should know of the file; once."""
        if text not in self._noted:
            self._noted.add(text)
            self._note("%s: %s" % (self.path, text))

    def error(self, place, reason):
        """An Error at a line, or another place."""
        return Error(self.path, place, reason)

    def nanoseconds(self, times, unit_ns, place):
        """Of an array of times; Error, at a place, for what is too long."""
        if len(times) and float(np.abs(times).max()) * unit_ns > MOST_NS:
            raise self.error(place, "this or a later time: more than a century after the first")
        times = times * unit_ns
        return times if times.dtype.kind == "i" else np.rint(times).astype(np.int64)

    def each(self, parse, size=BLOCK):
        """What parse() makes of each block. A last line that is cut off is left out."""
        for block in blocks(self.path, size):
            try:
                found = parse(block)
            except Error:
                if not block.cut or block.first == 1:
                    raise
                self.note("line %d, the last, is cut off: left out" % block.first)
                return
            yield found


class Devices:
    """Takes the requests of one device; Error when there are others and none was
    named."""

    def __init__(self, source):
        self.path = source.path
        self.wanted = source.device
        self.named = self.wanted is not None

    def takes(self, name, line):
        """Whether the line's device is the one."""
        if self.wanted is None:
            self.wanted = name
        if name == self.wanted:
            return True
        if self.named:
            return False
        raise Error(self.path, line, "a second device, %s, after %s: name one with --device" %
                    (name, self.wanted))
