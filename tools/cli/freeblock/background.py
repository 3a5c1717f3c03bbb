# SPDX-License-Identifier: GPL-2.0
"""Blocks of a disk, read in the background through /dev/freeblock: libfreeblock for Python.

    with background.Task("/dev/sda", coverage=True) as task:
        task.want()
        for record in task:
            use(record.first, record.data)

Documentation/libfreeblock.rst has more examples. Whatever fails raises Error, which has errno and
the kernel's words. Sectors have 512 bytes and are counted from the start of the block device.
Threads may use a task at once, but one at a time takes records, and nobody uses it beside or after
close().
"""

import array
import ctypes
import errno
import fcntl
import functools
import os
import struct
import time
from typing import NamedTuple

from .base import helpers

# As tools/lib/freeblock/freeblock.h has them
MEDIUM, NO_DATA, KEEP = 1, 2, 4                 # flags of a task
EVENTS, COVERAGE, PROBES = 0x100, 0x200, 0x400  # more of them
NEAR, SEQUENTIAL, STAGGERED = 0, 1, 2           # order while the disk is idle
UNCOVERED = 1                                   # flag of want()
REST = 2 ** 64 - 1
SONAME = "libfreeblock.so.1"
NEW, RUNNING, PAUSED, FINISHED, STOPPED = range(5)      # state
BLOCKS, CAUGHT_UP = 0, 1                        # type of a record
OK, UNREADABLE, UNTRIED, UNVERIFIED = range(4)  # its status
LONGEST_MS = 2 ** 31 - 1                        # that fb_next() can wait
# Calls that the library does not have, as include/uapi/freeblock.h has them
IOC_SET_COVERAGE, IOC_REASON, IOC_PROBE = 0x4020fb0c, 0xc0c8fb0d, 0xc020fb0e
BITS, REASON = struct.Struct("=IIQQQ"), struct.Struct("=II192s")
PROBE, PROBE_CALL = struct.Struct("=QIIQQII"), struct.Struct("=IIQIIII")
PROBES_MAX, BITS_MAX = 256, 8 << 20
ALONE, NEXT, FROM_MEDIUM = 1, 2, 4              # flags of a probe

LETTERS = {"I": ctypes.c_uint32, "i": ctypes.c_int32, "Q": ctypes.c_uint64,
           "P": ctypes.c_void_p, "z": ctypes.c_char_p, "l": ctypes.c_long}


def _structure(name, text):
    """A structure of the header: its fields, each as one of LETTERS and a name."""
    words = text.split()
    return type(name, (ctypes.Structure,), {"_fields_": [
        (field, LETTERS[letter]) for letter, field in zip(words[::2], words[1::2])]})


Options = _structure("Options", """
    I size I flags i priority I order Q deadline_ns I regions I segment_sectors
    I foreground_ppm I buffer_kib z name""")
RawGeometry = _structure("RawGeometry", "Q sectors Q start_sector Q blocks I granule_sectors")
RawRange = _structure("RawRange", "Q first Q sectors Q user_data")
RawRecord = _structure("RawRecord", """
    Q first Q user_data P data Q data_bytes I sectors I status I type""")
RawProgress = _structure("RawProgress", """
    I size I state I waiting_for I entering Q total Q done Q failed Q flying I queued
    I buffer_blocks Q stalled_ns""")
# What each function returns, and what it takes; all but the first take a task first
FUNCTIONS = {
    "error": "z", "waiting_for": "zI", "open": "Pzs", "close": "iP", "geometry": "gP", "fd": "iP",
    "want": "iPQQQI", "want_ranges": "lPsQI", "unwant": "iPQQ", "promote": "iPQQ", "start": "iP",
    "next": "iPsi", "progress": "iPs", "pause": "iP", "resume": "iP", "stop": "iP",
    "urgency": "iPiQI", "coverage_save": "iPz", "coverage_restore": "iPz"}


@functools.lru_cache()
def _library():
    """libfreeblock, by the names of its functions without their fb_."""
    library = ctypes.CDLL(helpers.program("tools/lib", "lib", "libfreeblock.so")
                          if helpers.IN_TREE else SONAME, use_errno=True)
    kinds = {**LETTERS, "s": ctypes.c_void_p, "g": ctypes.POINTER(RawGeometry)}
    found = {}
    for name, letters in FUNCTIONS.items():
        function = getattr(library, "fb_" + name)
        function.restype, *function.argtypes = [kinds[letter] for letter in letters]
        found[name] = function
    return found


class Error(OSError):
    """What failed: errno, and why in words, the kernel's where it has some."""

    def __str__(self):
        return self.strerror


class Record(NamedTuple):
    """Blocks that came, or an event (type CAUGHT_UP, without sectors: all came that was wanted)."""

    first: int
    sectors: int
    status: int         # OK, UNREADABLE, UNTRIED, UNVERIFIED
    data: memoryview    # empty unless OK
    user_data: int
    type: int


class Probe(NamedTuple):
    """A read of some sectors, and when it was at the drive (CLOCK_MONOTONIC; 0: it was not)."""

    first: int
    sectors: int
    status: int         # OK, UNREADABLE, UNTRIED
    sent_ns: int
    ended_ns: int
    flags: int          # ALONE, NEXT, FROM_MEDIUM


class Geometry(NamedTuple):
    """The block device as it was when the task was made."""

    sectors: int
    start_sector: int
    blocks: int
    granule_sectors: int


class Progress(NamedTuple):
    """How far a task is; counts are of blocks."""

    state: int
    waiting_for: str    # in words
    entering: int
    total: int
    done: int
    failed: int
    flying: int
    queued: int
    buffer_blocks: int
    stalled_ns: int


def _failure():
    """Why the last call of the library failed."""
    number = ctypes.get_errno()
    return Error(number, _library()["error"]().decode(errors="replace"))


class Task:
    """What one program wants of one block device; an iterator of what comes."""

    def __init__(self, path, *, flags=0, events=False, coverage=False, probes=False, name=None,
                 **setup):
        """flags: MEDIUM, NO_DATA, KEEP; setup: priority, order, deadline_ns and the other
        fields of struct fb_options."""
        unknown = set(setup) - {field for field, _ in Options._fields_}
        if unknown:
            raise TypeError("no such option: " + ", ".join(sorted(unknown)))
        options = Options(size=ctypes.sizeof(Options), name=name and name.encode(), **setup)
        options.flags = flags | EVENTS * events | COVERAGE * coverage | PROBES * probes
        self._task = _library()["open"](os.fsencode(path), ctypes.addressof(options))
        if not self._task:
            raise _failure()
        self.fd = self._call("fd")
        raw = self._function("geometry")(self._task).contents
        self.geometry = Geometry(*(getattr(raw, field) for field in Geometry._fields))

    def _function(self, name):
        if not self._task:
            raise Error(errno.EBADF, "the task is closed")
        return _library()[name]

    def _call(self, name, *arguments):
        """A function of the library; what it returns."""
        found = self._function(name)(self._task, *arguments)
        if found < 0:
            raise _failure()
        return found

    def want(self, first=0, sectors=None, user_data=0, uncovered=False):
        """Want sectors, all that follow unless it is said how many; `uncovered`: what the
        coverage lacks of them."""
        self._call("want", first, REST if sectors is None else sectors, user_data,
                   UNCOVERED * uncovered)

    def want_ranges(self, ranges, uncovered=False):
        """Want ranges, each (first, sectors) or (first, sectors, user_data); how many of them, from
        the first on, are wanted now. ENOSPC: too many wait to be entered: start(), then poll() for
        POLLOUT."""
        raw = (RawRange * len(ranges))(*ranges)
        return self._call("want_ranges", ctypes.addressof(raw), len(raw), UNCOVERED * uncovered)

    def unwant(self, first=0, sectors=None):
        """Want sectors no longer. Those in flight still come."""
        self._call("unwant", first, REST if sectors is None else sectors)

    def promote(self, first=0, sectors=None):
        """Have wanted sectors read now, as an ordinary foreground read."""
        self._call("promote", first, REST if sectors is None else sectors)

    def start(self):
        """Begin to read; taking the first record does it if nobody has."""
        self._call("start")

    def pause(self):
        """Read nothing until resume()."""
        self._call("pause")

    def resume(self):
        """Go on after pause()."""
        self._call("resume")

    def stop(self):
        """Read nothing any more; what was read can still be taken."""
        self._call("stop")

    def urgency(self, priority=0, deadline_ns=0, foreground_ppm=0):
        """Change these, at any time."""
        self._call("urgency", priority, deadline_ns, foreground_ppm)

    def progress(self):
        """How far the task is."""
        raw = RawProgress(size=ctypes.sizeof(RawProgress))
        self._call("progress", ctypes.addressof(raw))
        told = {field: getattr(raw, field) for field in Progress._fields}
        told["waiting_for"] = _library()["waiting_for"](raw.waiting_for).decode()
        return Progress(**told)

    def fileno(self):
        """For poll(): POLLIN: a record or the end; POLLOUT: ranges can be wanted; POLLPRI:
        progress() has news; POLLHUP: the disk is gone, or the task was stopped. Take what
        there is first (`ready()`): records wait in the library, too."""
        return self.fd

    def next(self, timeout=None):
        """The next record, None when all wanted has come. TimeoutError after so many seconds.
        Errors: ECANCELED: stopped before that; ENODEV: the disk is gone, later calls may go on.
        """
        until = None if timeout is None else time.monotonic() + timeout
        raw = ctypes.POINTER(RawRecord)()
        while True:
            left_ms = -1 if until is None else \
                min(max(round(1000 * (until - time.monotonic())), 0), LONGEST_MS)
            found = self._function("next")(self._task, ctypes.addressof(raw), left_ms)
            if found > 0:
                one = raw.contents
                return Record(one.first, one.sectors, one.status, memoryview(
                    ctypes.string_at(one.data, one.data_bytes) if one.data else b""),
                    one.user_data, one.type)
            if not found:
                return None
            error = _failure()
            if error.errno == errno.ETIMEDOUT:
                raise TimeoutError(errno.ETIMEDOUT, "no record yet")
            # a signal, whose handler runs now
            if error.errno != errno.EINTR:
                raise error

    def ready(self):
        """The records that are there, without waiting for more."""
        try:
            record = self.next(0)
            while record:
                yield record
                record = self.next(0)
        except TimeoutError:
            return

    def __iter__(self):
        return self

    def __next__(self):
        record = self.next()
        if record is None:
            raise StopIteration
        return record

    def save_coverage(self, path):
        """Write down which blocks are done, in a file that is replaced as a whole. The last
        record taken is done when the next is asked for; what was made of those before is to be
        on the disk first."""
        self._call("coverage_save", os.fsencode(path))

    def restore_coverage(self, path):
        """Go on where save_coverage() was, before the start; then want(uncovered=True) wants the
        rest. Errors, and nothing has changed: ENOENT, EXDEV: of another disk or partition,
        EPROTONOSUPPORT: of another version, EBADMSG: damaged."""
        self._call("coverage_restore", os.fsencode(path))

    def _ioctl(self, number, argument, what):
        """A call of the module that the library does not have."""
        self._function("fd")
        try:
            fcntl.ioctl(self.fd, number, argument)
        except OSError as error:
            reason = bytearray(REASON.pack(REASON.size, 0, b""))
            try:
                fcntl.ioctl(self.fd, IOC_REASON, reason)
            except OSError:
                reason[:] = bytes(REASON.size)
            words = REASON.unpack(reason)[2].partition(b"\0")[0].decode(errors="replace")
            raise Error(error.errno, "%s: %s" % (what, words or error.strerror)) from error

    def set_coverage(self, bits):
        """Before the start: which blocks are done, a bit each."""
        for first in range(0, self.geometry.blocks, BITS_MAX):
            some = array.array("B", bits[first // 8:(first + BITS_MAX) // 8])
            self._ioctl(IOC_SET_COVERAGE, BITS.pack(
                BITS.size, 0, first, min(BITS_MAX, self.geometry.blocks - first),
                some.buffer_info()[0]), "coverage")

    def probe(self, places, timeout=0):
        """Read places, each (first, sectors), in idle time, one after the other: a Probe for each
        that was done, the first ones, after `timeout` seconds at most (0: no limit). At most
        PROBES_MAX places, of a task made with `probes`, after start()."""
        raw = array.array("B", b"".join(PROBE.pack(first, sectors, 0, 0, 0, 0, 0)
                                        for first, sectors in places))
        call = bytearray(PROBE_CALL.pack(PROBE_CALL.size, PROBE.size, raw.buffer_info()[0],
                                         len(places), int(1000 * timeout), 0, 0))
        self._ioctl(IOC_PROBE, call, "probe")
        return [Probe(*PROBE.unpack_from(raw, number * PROBE.size)[:6])
                for number in range(PROBE_CALL.unpack(call)[5])]

    def close(self):
        """End the task: what was not read is read by nobody."""
        if self._task:
            _library()["close"](self._task)
        self._task, self.fd = None, -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
