# SPDX-License-Identifier: GPL-2.0
"""SCSI commands to a disk from Python, by the ioctl SG_IO: for questions and mode pages.

Needs no program that would have to be built first, and no module sg: /dev/sdX will do. So it
works early in a boot. Nothing is timed here.
"""

import ctypes
import errno
import fcntl
import os

from .. import ToolError, fbstate
from . import identity as names

SG_IO = 0x2285
NONE, TO_DEVICE, FROM_DEVICE = -1, -2, -3
TIMEOUT_MS = 30000              # a disk that spins up answers within
SENSE = 64
CHECK = 2


class Header(ctypes.Structure):
    """struct sg_io_hdr of <scsi/sg.h>."""
    _fields_ = [("interface_id", ctypes.c_int), ("dxfer_direction", ctypes.c_int),
                ("cmd_len", ctypes.c_ubyte), ("mx_sb_len", ctypes.c_ubyte),
                ("iovec_count", ctypes.c_ushort), ("dxfer_len", ctypes.c_uint),
                ("dxferp", ctypes.c_void_p), ("cmdp", ctypes.c_void_p),
                ("sbp", ctypes.c_void_p), ("timeout", ctypes.c_uint),
                ("flags", ctypes.c_uint), ("pack_id", ctypes.c_int),
                ("usr_ptr", ctypes.c_void_p), ("status", ctypes.c_ubyte),
                ("masked_status", ctypes.c_ubyte), ("msg_status", ctypes.c_ubyte),
                ("sb_len_wr", ctypes.c_ubyte), ("host_status", ctypes.c_ushort),
                ("driver_status", ctypes.c_ushort), ("resid", ctypes.c_int),
                ("duration", ctypes.c_uint), ("info", ctypes.c_uint)]


class Disk:
    """/dev/sdX or /dev/sgX."""

    def __init__(self, path):
        self.path = path
        # read-only suffices for root, and no udev event comes of its being closed
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise ToolError("%s: %s%s" % (path, error.strerror, ": run as root" if error.errno in (
                errno.EACCES, errno.EPERM) else "")) from error

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Carry out one command: (status, sense data, what it sent)."""
        sense = ctypes.create_string_buffer(SENSE)
        command = ctypes.create_string_buffer(bytes(cdb), len(cdb))
        size = len(data_out) or data_in
        data = ctypes.create_string_buffer(bytes(data_out), max(size, 1))
        header = Header(interface_id=ord("S"), cmd_len=len(cdb), mx_sb_len=SENSE,
                        dxfer_direction=TO_DEVICE if data_out else FROM_DEVICE if data_in else NONE,
                        dxfer_len=size, dxferp=ctypes.addressof(data),
                        cmdp=ctypes.addressof(command), sbp=ctypes.addressof(sense),
                        timeout=TIMEOUT_MS)
        try:
            fcntl.ioctl(self._fd, SG_IO, header)
        except OSError as error:
            raise ToolError("%s: %s" % (self.path, "it takes no SCSI commands"
                                        if error.errno in (errno.ENOTTY, errno.EINVAL)
                                        else error.strerror)) from error
        if header.host_status:
            raise ToolError("%s: the adapter did not carry out a command (host status %02x)" % (
                self.path, header.host_status))
        received = data.raw[:data_in - max(header.resid, 0)] if data_in else b""
        return header.status, sense.raw[:header.sb_len_wr], received

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
