# SPDX-License-Identifier: GPL-2.0
"""The image, and what lies beside it.

    IMAGE               sector n at byte 512 n; there only when it is complete
    IMAGE.json          what it is of, when it was taken
    IMAGE.sums          a digest of each MiB
    IMAGE.part          the image while it is made
    IMAGE.part.json     what is needed to go on
    IMAGE.part.coverage the blocks that are in IMAGE.part (freeblock.background)
    IMAGE.invalid       one that cannot become complete; IMAGE.invalid.json says why
"""

import errno
import fcntl
import hashlib
import json
import os

from freeblock.base.safe_file import write_file

from . import BackupError
from .cow import SECTOR

FORMAT = "freeblock-backup 1"
MIB = 1 << 20
ZEROS = bytes(MIB)
SUMS_HEAD = "freeblock-backup sums 1 blake2b-128 of each MiB\n"


def replace(path, text):
    """Replace a file as a whole, on the disk when done."""
    write_file(path, text.encode())


def text(**values):
    """An object of ours, as a file has it."""
    return json.dumps({**values, "format": FORMAT}, indent=1) + "\n"


def load(path):
    """An object of ours; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise BackupError("%s: %s" % (path, error)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BackupError("%s: not of this program, or of another version of it" % path)
    return found


def remove(*paths):
    """Remove what is there of these."""
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


def digest(data):
    """Of a MiB, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Paths:
    """Names around an image."""

    def __init__(self, image):
        self.image = os.path.abspath(image)
        self.about = self.image + ".json"
        self.sums = self.image + ".sums"
        self.part = self.image + ".part"
        self.state = self.part + ".json"
        self.coverage = self.part + ".coverage"
        self.invalid = self.image + ".invalid"


class State:
    """What a backup under way must not forget, and the lock that it is one program's."""

    def __init__(self, paths):
        self.paths = paths
        self.lock = None
        while self.lock is None:
            self._lock(paths.part + ".lock")
        # what a program that was killed had half written
        remove(paths.state + ".new")
        self.values = load(paths.state)

    def _lock(self, path):
        """Take the lock, unless the file is one that another program has just removed."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise BackupError("another program is working on %s" % self.paths.image) from error
        if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(fd)):
            self.lock = fd
        else:
            os.close(fd)

    def save(self, **values):
        """Change these."""
        self.values = {**(self.values or {}), **values}
        replace(self.paths.state, text(**self.values))

    def forget(self):
        """Nothing is under way any more."""
        remove(self.paths.coverage, self.paths.coverage + ".new", self.paths.state)
        self.values = None

    def invalid(self, reason):
        """What there is of the image is no image."""
        if os.path.exists(self.paths.part):
            os.rename(self.paths.part, self.paths.invalid)
            replace(self.paths.invalid + ".json", text(
                **{**(self.values or {}), "state": "invalid", "reason": reason}))
        self.forget()

    def close(self):
        """Let others work on it."""
        remove(self.paths.part + ".lock")
        os.close(self.lock)


class Image:
    """The file that sectors are written to."""

    def __init__(self, path, size, fresh):
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_TRUNC if fresh else 0)
        self.path, self.fresh = path, fresh
        self.fd = os.open(path, flags, 0o600)
        if fresh:
            os.ftruncate(self.fd, size)
        elif os.fstat(self.fd).st_size != size:
            raise BackupError("%s: its length is not that of the device" % path)

    def put(self, first, data):
        """Sectors in the first pass: zeros need no room in a file that is new."""
        if not self.fresh or bytes(data) != ZEROS[:len(data)]:
            self.write(first, data)

    def write(self, first, data):
        """Sectors that are to be there, whatever was."""
        at, left = first * SECTOR, memoryview(data)
        while left:
            done = os.pwrite(self.fd, left, at)
            at, left = at + done, left[done:]

    def read(self, at, length):
        """Bytes."""
        return read_all(self.fd, at, length, self.path)

    def sync(self):
        """On the disk when done."""
        os.fsync(self.fd)

    def close(self):
        """Close it."""
        os.close(self.fd)


def read_all(fd, at, length, name):
    """So many bytes, or an OSError."""
    pieces = []
    while length:
        piece = os.pread(fd, length, at)
        if not piece:
            raise OSError(errno.EIO, "ends too early", name)
        pieces.append(piece)
        at, length = at + len(piece), length - len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def mibs(size):
    """(offset, length) of each MiB."""
    for at in range(0, size, MIB):
        yield at, min(MIB, size - at)


def write_sums(path, digests):
    """The digests of an image."""
    replace(path, SUMS_HEAD + "".join(one + "\n" for one in digests))


def read_sums(path, size):
    """The digests of an image of `size` bytes."""
    with open(path, encoding="ascii", errors="replace") as file:
        head, digests = file.readline(), file.read().split()
    if head != SUMS_HEAD or len(digests) != -(-size // MIB):
        raise BackupError("%s: not the digests of %d bytes" % (path, size))
    return digests
