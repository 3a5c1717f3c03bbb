# SPDX-License-Identifier: GPL-2.0
"""SCSI commands to a disk from Python, by the ioctl SG_IO: for questions and mode pages.

Needs no program that would have to be built first, and no module sg: /dev/sdX will do. So it
works early in a boot. Nothing is timed here.
"""

import array
import errno
import fcntl
import os
import struct

from .. import ToolError, fbstate
from . import names

SG_IO = 0x2285
NONE, TO_DEVICE, FROM_DEVICE = -1, -2, -3
TIMEOUT_MS = 30000              # a disk that spins up answers within
SENSE = 64
# struct sg_io_hdr of <scsi/sg.h>: interface, direction, lengths of command and sense, iovecs,
# length, pointers to data, command and sense, time-out, flags, id, the user's pointer; then
# status (4 bytes, the last one the sense data's length), host's and driver's, rest, ...
HEADER = struct.Struct("@iiBBHIPPPIIiPBBBBHHiII0P")
STATUS, SENSE_LENGTH, HOST_STATUS, REST = 13, 16, 17, 19


class Disk:
    """/dev/sdX or /dev/sgX."""

    def __init__(self, path):
        self.name = path
        # read-only suffices for root, and no udev event comes of its being closed
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise ToolError("%s: %s%s" % (path, error.strerror, ": run as root" if error.errno in (
                errno.EACCES, errno.EPERM) else "")) from error

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Carry out one command: (status, sense data, what it sent)."""
        size = len(data_out) or data_in
        # memory that stays where it is
        command, data, sense = (array.array("B", b) for b in (
            bytes(cdb), bytes(data_out).ljust(max(size, 1), b"\0"), bytes(SENSE)))
        header = bytearray(HEADER.pack(
            ord("S"), TO_DEVICE if data_out else FROM_DEVICE if data_in else NONE, len(cdb), SENSE,
            0, size, data.buffer_info()[0], command.buffer_info()[0], sense.buffer_info()[0],
            TIMEOUT_MS, *[0] * 12))
        try:
            fcntl.ioctl(self._fd, SG_IO, header)
        except OSError as error:
            raise ToolError("%s: %s" % (self.name, "it takes no SCSI commands"
                                        if error.errno in (errno.ENOTTY, errno.EINVAL)
                                        else error.strerror)) from error
        done = HEADER.unpack(header)
        if done[HOST_STATUS]:
            raise ToolError("%s: the adapter did not carry out a command (host status %02x)" % (
                self.name, done[HOST_STATUS]))
        received = data.tobytes()[:data_in - max(done[REST], 0)] if data_in else b""
        return done[STATUS], sense.tobytes()[:done[SENSE_LENGTH]], received

    def close(self):
        """Give it back."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def disks():
    """Paths of all SCSI disks of the system."""
    folder = fbstate.path("sys/block")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if os.path.isdir(os.path.join(folder, name, "device", "scsi_device")):
            yield "/dev/" + name


def find(wanted):
    """The disk with this identity, open; None if it is not there."""
    for path in disks():
        try:
            dev = Disk(path)
        except ToolError:
            continue
        try:
            if names.same(names.inquire(dev), wanted):
                return dev
        except ToolError:
            pass        # one that does not answer, or cannot be told from others
        dev.close()
    return None
