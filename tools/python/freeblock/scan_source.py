# SPDX-License-Identifier: GPL-2.0
"""Blocks of a disk, read in the background: /dev/freeblock/<disk>.

What include/uapi/freeblock.h says, for Python; names are those there.
"""

import errno
import fcntl
import os
import struct

from . import ToolError, fbstate

VERSION = 1
KEEP = 1 << 2
PRIORITY = 4
SETUP = struct.Struct("<IiIIQIIII16sQQII32x")
RANGE = struct.Struct("<QQ16x")
REASON_LEN = 192
RECORD = struct.Struct("<QIIIHHQ")
OK, MEDIUM, UNTRIED = 0, 1, 2           # status of a record
BUFFER = 1 << 20                        # bytes read at once


def _ioc(direction, number, size):
    return direction << 30 | size << 16 | 0xfb << 8 | number


IOC_SETUP = _ioc(3, 0, SETUP.size)
IOC_ADD = _ioc(1, 1, RANGE.size)
IOC_START = _ioc(0, 4, 0)
IOC_REASON = _ioc(2, 10, REASON_LEN)


def parse(raw):
    """(first sector, sectors, status, data) of each record that a read delivered."""
    at, view = 0, memoryview(raw)
    while at < len(raw):
        lbn, sectors, data_bytes, status, version, head, _ = RECORD.unpack_from(raw, at)
        if version != VERSION:
            raise ToolError("the module speaks version %d of its device, this tool %d" %
                            (version, VERSION))
        at += head + data_bytes
        yield lbn, sectors, status, view[at - data_bytes:at]


class Source:
    """A task on a disk that delivers ranges: an iterator of (first sector, sectors), of the
    whole disk, whole blocks."""

    def __init__(self, disk, ranges):
        self.disk = disk
        self.ranges = ranges
        self.next = next(ranges, None)
        self.gone = False
        self.fd = self.data = -1
        try:
            self.fd = self._open("dev/freeblock/" + disk, os.O_NONBLOCK)
            self.data = self._open("dev/" + disk, 0)
            self._setup()
            self.feed()
            self._call(IOC_START, 0)
        except BaseException:
            self.close()
            raise

    def _open(self, name, flags):
        path = fbstate.path(name)
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
        except OSError as error:
            raise ToolError(fbstate.refusal(self.disk, path, error)) from error

    def _call(self, number, argument):
        """An ioctl; what it refuses is said in the kernel's words."""
        try:
            return fcntl.ioctl(self.fd, number, argument)
        except OSError as error:
            raise ToolError("/dev/freeblock/%s: %s" % (
                self.disk, self.reason() or error.strerror)) from error

    def reason(self):
        """Why the last call failed."""
        try:
            return fcntl.ioctl(self.fd, IOC_REASON, bytes(REASON_LEN)).split(b"\0")[0].decode()
        except OSError:
            return ""

    def _setup(self):
        asked = SETUP.pack(VERSION, self.data, KEEP, PRIORITY, 0, 0, 0, 0, 0, b"scan", 0, 0, 0, 0)
        told = SETUP.unpack(self._call(IOC_SETUP, asked))
        self.sectors, self.buffer = told[10], max(BUFFER, told[13])

    def feed(self):
        """Declare more of the ranges, as many as can wait to be entered. There may be
        millions, when a scan goes on."""
        while self.next:
            first, count = self.next
            count = min(count, self.sectors - first)
            try:
                fcntl.ioctl(self.fd, IOC_ADD, RANGE.pack(first, count))
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    return
                raise ToolError("/dev/freeblock/%s: %s" % (
                    self.disk, self.reason() or error.strerror)) from error
            self.next = next(self.ranges, None)

    def fileno(self):
        """For poll()."""
        return self.fd

    def records(self):
        """What has been read meanwhile."""
        try:
            raw = os.read(self.fd, self.buffer)
        except OSError as error:
            self.gone = error.errno == errno.ENODEV
            if self.gone or error.errno == errno.EAGAIN:
                return
            if error.errno == errno.ECANCELED:
                raise ToolError("%s: the task was stopped (freeblock status); the same command "
                                "goes on" % self.disk) from error
            raise
        self.gone = False
        yield from parse(raw)

    def close(self):
        """End the task: what was not read is read by nobody."""
        for fd in (self.data, self.fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self.data = -1
