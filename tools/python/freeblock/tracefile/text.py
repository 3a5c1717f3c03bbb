# SPDX-License-Identifier: GPL-2.0
"""Lines of a text in blocks, packed or not; and which device is meant."""

import bz2
import collections
import gzip
import lzma
import zlib

from . import Error

BLOCK = 16 << 20
PACKED = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open))
# data: whole lines; first: the number of the first, from 1
Block = collections.namedtuple("Block", "data first")


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
            if not piece:
                return
            yield piece


def blocks(path, size=BLOCK):
    """The file's lines, many at a time."""
    rest, first = b"", 1
    for piece in pieces(path, size):
        piece = rest + piece
        end = piece.rfind(b"\n") + 1
        rest = piece[end:]
        if end:
            yield Block(piece[:end], first)
            first += piece.count(b"\n", 0, end)
        elif len(rest) > size:
            raise Error(path, first, "more than %d bytes without an end" % size)
    if rest.strip():
        yield Block(rest + b"\n", first)


def shown(line):
    """A line in a message."""
    text = line.decode("ascii", "backslashreplace").strip()
    return text if len(text) <= 80 else text[:77] + "..."


class Devices:
    """Takes the requests of one device; Error when there are others and none was
    named."""

    def __init__(self, path, wanted):
        self.path = path
        self.wanted = wanted
        self.named = wanted is not None

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
