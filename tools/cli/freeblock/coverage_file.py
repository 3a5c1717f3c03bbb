# SPDX-License-Identifier: GPL-2.0
"""Which blocks are done, in a file that is whole or not there.

Documentation/coverage-format.rst has the format; tools/lib/coverage_file.c reads and writes the
same.
"""

import errno
import os
import struct
import zlib
from typing import NamedTuple

MAGIC, VERSION = b"FBCOVER\n", 1
HEADER = struct.Struct("<8sIII4xQQQ128s")
CRC = struct.Struct("<I4x")
LENGTH = HEADER.size + CRC.size
CHUNK = 1 << 20     # bytes of bits handled at once


class Error(OSError):
    """What failed: errno, and why in words, the kernel's where it has some."""

    def __str__(self):
        return self.strerror


class Place(NamedTuple):
    """What a coverage is valid for: a block device as it lies on its disk."""

    granule_sectors: int
    start_sector: int
    sectors: int
    blocks: int
    disk: str           # unique id; "" if it has none

    def header(self):
        """The head of a file."""
        head = HEADER.pack(MAGIC, VERSION, LENGTH, *self[:4], self.disk.encode()[:127])
        return head + CRC.pack(zlib.crc32(head))


def save(path, place, chunks):
    """Replace a file as a whole by this coverage, bytes in pieces; on the disk when done."""
    fresh = path + ".new"
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC,
                     0o600)
        try:
            with open(fd, "wb") as file:
                _write(file, place, chunks)
        except BaseException:
            os.unlink(fresh)
            raise
        os.rename(fresh, path)
        _sync_folder(path)
    except Error:
        raise
    except OSError as error:
        raise Error(error.errno, "%s: %s" % (path, error.strerror)) from error


def _write(file, place, chunks):
    file.write(place.header())
    crc = 0
    for bits in chunks:
        crc = zlib.crc32(bits, crc)
        file.write(bits)
    file.write(crc.to_bytes(4, "little"))
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path):
    """A rename is on the disk when its folder is."""
    fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def load(path, place):
    """An iterator of the coverage's bytes in pieces, after all of the file was found good and
    to be of this place; else an Error."""
    try:
        file = open(path, "rb")     # pylint: disable=consider-using-with
    except OSError as error:
        raise Error(error.errno, "%s: %s" % (path, error.strerror)) from error
    try:
        _judge_header(path, file.read(LENGTH), place)
        crc = 0
        for bits in _pieces(path, file, place):
            crc = zlib.crc32(bits, crc)
        if file.read(4) != crc.to_bytes(4, "little") or file.read(1):
            raise Error(errno.EBADMSG, path + ": damaged: its checksum or length is wrong")
    except BaseException:
        file.close()
        raise
    return _again(path, file, place)


def _again(path, file, place):
    with file:
        file.seek(LENGTH)
        yield from _pieces(path, file, place)


def _pieces(path, file, place):
    left = (place.blocks + 7) // 8
    while left:
        bits = file.read(min(left, CHUNK))
        if not bits:
            raise Error(errno.EBADMSG, path + ": cut short")
        left -= len(bits)
        yield bits


def _judge_header(path, raw, place):
    if not raw.startswith(MAGIC):
        raise Error(errno.EBADMSG, path + ": not a file of coverage")
    if len(raw) < LENGTH:
        raise Error(errno.EBADMSG, path + ": cut short")
    _, version, length, *numbers, disk = HEADER.unpack_from(raw)
    # the checksum's place is the version's
    if version != VERSION:
        raise Error(errno.EPROTONOSUPPORT, "%s: version %d of the format; this program knows %d" %
                    (path, version, VERSION))
    if CRC.unpack_from(raw, HEADER.size)[0] != zlib.crc32(raw[:HEADER.size]) or length != LENGTH:
        raise Error(errno.EBADMSG, path + ": damaged: its header's checksum is wrong")
    there = Place(*numbers, disk.rstrip(b"\0").decode(errors="replace"))
    for name, was, now in zip(Place._fields, there, place):
        if was != now:
            raise Error(errno.EXDEV, "%s: of another disk or partition: %s %s there, %s here" %
                        (path, name.replace("_", " "), was, now))
