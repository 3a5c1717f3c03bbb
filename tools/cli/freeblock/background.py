# SPDX-License-Identifier: GPL-2.0
"""Blocks of a disk, read in the background through /dev/freeblock.

    with background.Task("/dev/sda", coverage=True) as task:
        task.want()
        for record in task:
            use(record.first, record.data)

What include/uapi/freeblock.h says, for Python; Documentation/libfreeblock.rst has more
examples. Whatever fails raises Error, which has errno and the kernel's words. Sectors have
512 bytes and are counted from the start of the block device. Threads may use a task at once, but
one at a time takes records, and nobody uses it beside or after close().
"""

import array
import collections
import errno
import fcntl
import os
import select
import struct
import threading
import time
from typing import NamedTuple

from . import coverage_file
from .coverage_file import Error

DEVICE = "/dev/freeblock"
VERSION = 1
EVENTS, COVERAGE, PROBES = 1, 2, 4              # features
MEDIUM, NO_DATA, KEEP = 1, 2, 4                 # flags of the set-up
NEAR, SEQUENTIAL, STAGGERED = 0, 1, 2           # order while the disk is idle
UNCOVERED = 1                                   # flag of ADD
BITS_MAX = 8 << 20
REASON_LEN = 192
NEW, RUNNING, PAUSED, FINISHED, STOPPED = range(5)      # state
# progress.waiting_for; tools/lib/libfreeblock.c says the same
WAITING_FOR = (
    "nothing", "the disk is gone", "the disk has another scheduler",
    "the disk's capacity has changed", "the model is distrusted",
    "the device cannot be scheduled", "paused after too many errors or slow recoveries",
    "the buffer is full until records are taken", "the write cache hides the medium",
    "free reads cost the foreground too much", "the disk is busy and no gap fits",
    "the disk has not been idle for long enough", "the drive sleeps, or rests so that it can",
)
BLOCKS, CAUGHT_UP = 0, 1                        # type of a record; others are skipped
OK, UNREADABLE, UNTRIED, UNVERIFIED = range(4)  # its status
PROBES_MAX = 256
ALONE, NEXT, FROM_MEDIUM = 1, 2, 4              # flags of a probe
BUFFER = 1 << 20                                # bytes read at once


class Layout:
    """A structure of the header: its fields, each as a character of struct and a name."""

    def __init__(self, name, text):
        self.name = name
        words = text.split()
        self.fields = dict(zip(words[1::2], words[::2]))
        self.struct = struct.Struct("=" + "".join(self.fields.values()))

    @property
    def size(self):
        """Bytes."""
        return self.struct.size

    def offsets(self):
        """Name of each field -> its offset and length."""
        at, found = 0, {}
        for name, letter in self.fields.items():
            found[name] = at, struct.calcsize("=" + letter)
            at += found[name][1]
        return found

    def pack(self, **values):
        """The structure, with its own size; what is not given is 0."""
        values = {"size": self.size, **values}
        return bytearray(self.struct.pack(*(
            values.get(name, b"" if letter.endswith("s") else 0)
            for name, letter in self.fields.items())))

    def unpack(self, raw, at=0):
        """Name of each field -> its value."""
        return dict(zip(self.fields, self.struct.unpack_from(raw, at)))


API = Layout("freeblock_ioc_api", "I size I version Q features Q offered")
SETUP = Layout("freeblock_ioc_setup", """
    I size i fd I flags i priority Q deadline_ns I buffer_kib I order I regions
    I segment_sectors I foreground_ppm I pad 16s name Q sectors Q start_sector Q blocks
    I granule_sectors I record_bytes I ranges_max I pad2""")
RANGE = Layout("freeblock_range", "Q first Q count Q user_data")
RANGES = Layout("freeblock_ioc_ranges", "I size I range_bytes Q ranges I nranges I flags")
PROGRESS = Layout("freeblock_ioc_progress", """
    I size I state I waiting_for I entering Q total Q done Q failed Q flying I queued
    I buffer_blocks Q stalled_ns""")
URGENCY = Layout("freeblock_ioc_urgency",
                 "I size i priority Q deadline_ns I foreground_ppm I pad")
BITS = Layout("freeblock_ioc_bits", "I size I pad Q first Q count Q bits")
REASON = Layout("freeblock_ioc_reason", "I size I pad %ds text" % REASON_LEN)
RECORD = Layout("freeblock_record", """
    H header_bytes H type I status Q first Q user_data I sectors I data_bytes""")
PROBE = Layout("freeblock_probe", """
    Q first I count I status Q sent_ns Q ended_ns I flags I pad""")
PROBE_CALL = Layout("freeblock_ioc_probes", """
    I size I probe_bytes Q probes I nprobes I timeout_ms I done I pad""")
LAYOUTS = (API, SETUP, RANGE, RANGES, PROGRESS, URGENCY, BITS, REASON, RECORD, PROBE, PROBE_CALL)

WRITE, READ = 1 << 30, 2 << 30      # of a call's number, as <asm-generic/ioctl.h> has them

# A call's number keeps the size of its structure's first version
(IOC_API, IOC_SETUP, IOC_ADD, IOC_REMOVE, IOC_PROMOTE, IOC_START, IOC_PAUSE, IOC_RESUME, IOC_STOP,
 IOC_URGENCY, IOC_PROGRESS, IOC_GET_COVERAGE, IOC_SET_COVERAGE, IOC_REASON, IOC_PROBE) = (
     way | first << 16 | 0xfb00 | number for number, (way, first) in enumerate((
         (READ | WRITE, 24), (READ | WRITE, 104), (WRITE, 24), (WRITE, 24), (WRITE, 24),
         (0, 0), (0, 0), (0, 0), (0, 0), (WRITE, 24), (READ | WRITE, 64), (WRITE, 32), (WRITE, 32),
         (READ | WRITE, 200), (READ | WRITE, 32))))


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


def parse(raw):
    """The records that a read brought."""
    at, view = 0, memoryview(raw)
    while at < len(raw):
        end = at + RECORD.size
        if end <= len(raw):
            head = RECORD.unpack(raw, at)
            begin = at + head["header_bytes"]
            end = begin + head["data_bytes"]
        if end > len(raw) or head["header_bytes"] < RECORD.size:
            raise Error(errno.EBADMSG, "a record that is not understood; is this program too "
                        "old for the module?")
        if head["type"] in (BLOCKS, CAUGHT_UP):
            yield Record(head["first"], head["sectors"], head["status"], view[begin:end],
                         head["user_data"], head["type"])
        at = end


def waiting_for(number):
    """progress.waiting_for in words."""
    return WAITING_FOR[number] if number < len(WAITING_FOR) else \
        "something that this program does not know"


def disk_id(fd):
    """The unique id of an open block device's disk; "" if it has none."""
    device = os.fstat(fd).st_rdev
    for place in ("device/wwid", "../device/wwid"):
        try:
            with open("/sys/dev/block/%d:%d/%s" % (os.major(device), os.minor(device), place),
                      "rb") as file:
                return file.read(127).partition(b"\n")[0].decode(errors="replace")
        except OSError:
            continue
    return ""


class Task:
    """What one program wants of one block device; an iterator of what comes."""

    def __init__(self, path, *, flags=0, events=False, coverage=False, probes=False, name="",
                 **setup):
        """flags: MEDIUM, NO_DATA, KEEP; setup: priority, order, deadline_ns and the other
        fields of the header's struct freeblock_ioc_setup."""
        self._reading = threading.Lock()    # of the four that follow
        self._waiting = collections.deque()
        self._read_wants = 0                # _wants when they were read
        self._current = None                # not done until the next is asked for
        self._error = None
        self._calling = threading.Lock()    # a call and why it failed
        self._wants = 0                     # how often something was wanted; under it
        self.started = False
        self.fd = -1
        try:
            self._open(DEVICE)
            self._call(IOC_API, API.pack(version=VERSION, features=EVENTS * events |
                                         COVERAGE * coverage | PROBES * probes), DEVICE)
            self._setup(path, dict(setup, flags=flags, name=name.encode()))
        except BaseException:
            self.close()
            raise

    def _open(self, path):
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            hint = "; load the module freeblock" if error.errno == errno.ENOENT else ""
            raise Error(error.errno, "%s: %s%s" % (path, error.strerror, hint)) from error

    def _setup(self, path, setup):
        unknown = set(setup) - set(SETUP.fields)
        if unknown:
            raise TypeError("no such option: " + ", ".join(sorted(unknown)))
        if len(setup["name"]) > 15:
            raise Error(errno.EINVAL, "the name %r has more than 15 characters" % setup["name"])
        try:
            block = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise Error(error.errno, "%s: %s" % (path, error.strerror)) from error
        try:
            told = SETUP.unpack(self._call(IOC_SETUP, SETUP.pack(fd=block, **setup), path))
            self.disk = disk_id(block)
        finally:
            os.close(block)
        self.geometry = Geometry(*(told[name] for name in Geometry._fields))
        self.ranges_max = told["ranges_max"]
        self._bytes = max(BUFFER, told["record_bytes"])

    def _call(self, number, argument, what):
        """A call of the module; its argument as the module leaves it."""
        with self._calling:
            try:
                fcntl.ioctl(self.fd, number, argument)
            except OSError as error:
                raise Error(error.errno, "%s: %s" % (
                    what, self._reason() or error.strerror)) from error
            self._wants += number == IOC_ADD
        return argument

    def _reason(self):
        """Why the last call failed; "" if that cannot be had."""
        told = REASON.pack()
        try:
            fcntl.ioctl(self.fd, IOC_REASON, told)
        except OSError:
            return ""
        return REASON.unpack(told)["text"].partition(b"\0")[0].decode(errors="replace")

    def _change(self, number, ranges, flags, what):
        numbers = array.array("Q")
        for first, sectors, *user_data in ranges:
            if sectors is None:
                sectors = max(0, self.geometry.sectors - first)
            numbers.extend((first, sectors, user_data[0] if user_data else 0))
        self._call(number, RANGES.pack(range_bytes=RANGE.size, ranges=numbers.buffer_info()[0],
                                       nranges=len(numbers) // 3, flags=flags), what)

    def want(self, first=0, sectors=None, user_data=0, uncovered=False):
        """Want sectors, all that follow unless it is said how many; `uncovered`: what the
        coverage lacks of them."""
        self.want_ranges([(first, sectors, user_data)], uncovered)

    def want_ranges(self, ranges, uncovered=False):
        """Want ranges, each (first, sectors) or (first, sectors, user_data): all or, if it
        fails, none. At most ranges_max; ENOSPC: too many wait to be entered: start(), then poll()
        for POLLOUT.
        """
        self._change(IOC_ADD, ranges, UNCOVERED * uncovered, "want")

    def unwant(self, first=0, sectors=None):
        """Want sectors no longer. Those in flight still come."""
        self._change(IOC_REMOVE, [(first, sectors)], 0, "unwant")

    def promote(self, first=0, sectors=None):
        """Have wanted sectors read now, as an ordinary foreground read."""
        self._change(IOC_PROMOTE, [(first, sectors)], 0, "promote")

    def probe(self, places, timeout=0):
        """Read places, each (first, sectors), in idle time, one after the other: a Probe for each
        that was done, the first ones, after `timeout` seconds at most (0: no limit). At most
        PROBES_MAX places, of a task made with `probes`, after start()."""
        raw = array.array("B", b"".join(PROBE.pack(first=first, count=sectors)
                                        for first, sectors in places))
        told = PROBE_CALL.unpack(self._call(IOC_PROBE, PROBE_CALL.pack(
            probe_bytes=PROBE.size, probes=raw.buffer_info()[0], nprobes=len(places),
            timeout_ms=int(1000 * timeout)), "probe"))
        return [Probe(*PROBE.struct.unpack_from(raw, number * PROBE.size)[:6])
                for number in range(told["done"])]

    def start(self):
        """Begin to read; taking the first record does it if nobody has."""
        self._call(IOC_START, 0, "start")
        self.started = True

    def _start(self):
        """Start; False if what was wanted is there already."""
        try:
            self.start()
        except Error as error:
            if error.errno == errno.EINVAL and self._wants:
                return False
            if error.errno != errno.EALREADY:
                raise
        return True

    def pause(self):
        """Read nothing until resume()."""
        self._call(IOC_PAUSE, 0, "pause")

    def resume(self):
        """Go on after pause()."""
        self._call(IOC_RESUME, 0, "resume")

    def stop(self):
        """Read nothing any more; what was read can still be taken."""
        self._call(IOC_STOP, 0, "stop")

    def urgency(self, priority=0, deadline_ns=0, foreground_ppm=0):
        """Change these, at any time."""
        self._call(IOC_URGENCY, URGENCY.pack(priority=priority, deadline_ns=deadline_ns,
                                             foreground_ppm=foreground_ppm), "urgency")

    def progress(self):
        """How far the task is."""
        told = PROGRESS.unpack(self._call(IOC_PROGRESS, PROGRESS.pack(), "progress"))
        told["waiting_for"] = waiting_for(told["waiting_for"])
        return Progress(*(told[name] for name in Progress._fields))

    def fileno(self):
        """For poll(): POLLIN: a record or the end; POLLOUT: ranges can be wanted; POLLPRI:
        progress() has news; POLLHUP: the disk is gone, or the task was stopped. Take what
        there is first (`ready()`): records wait in this object, too."""
        return self.fd

    def _take(self):
        """The next record that is there, None at the end; an Error of EAGAIN if there is none
        yet."""
        with self._reading:
            self._current = None
            self._skip_late()
            while not self._waiting:
                if self._error:
                    raise self._error
                try:
                    # a failure between another call and its reason would change that
                    with self._calling:
                        self._read_wants = self._wants
                        raw = os.read(self.fd, self._bytes)
                except OSError as error:
                    raise _failed_read(error) from error
                if not raw:
                    return None
                self._fill(raw)
                self._skip_late()
            self._current = self._waiting.popleft()
            return self._current

    def _skip_late(self):
        """An event that waits is no longer true when more has been wanted since; another one
        follows."""
        while self._waiting and self._waiting[0].type == CAUGHT_UP:
            with self._calling:
                if self._wants == self._read_wants:
                    return
            self._waiting.popleft()

    def _fill(self, raw):
        """What cannot be understood is said when all before it has been taken."""
        try:
            self._waiting.extend(parse(raw))
        except Error as error:
            self._error = error

    def next(self, timeout=None):
        """The next record, None when all wanted has come. TimeoutError after so many seconds.
        Errors: ECANCELED: stopped before that; ENODEV: the disk is gone, later calls may go on.
        """
        if not self.started and not self._start():
            return None
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return self._take()
            except Error as error:
                if error.errno != errno.EAGAIN:
                    raise
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(errno.ETIMEDOUT, "no record yet")
            poller = select.poll()
            poller.register(self.fd, select.POLLIN)
            poller.poll(None if left is None else left * 1000)

    def ready(self):
        """The records that are there, without waiting for more."""
        try:
            record = self._take()
            while record:
                yield record
                if not self._waiting:
                    break
                record = self._take()
        except Error as error:
            if error.errno != errno.EAGAIN:
                raise

    def __iter__(self):
        return self

    def __next__(self):
        record = self.next()
        if record is None:
            raise StopIteration
        return record

    def _place(self):
        geometry = self.geometry
        return coverage_file.Place(geometry.granule_sectors, geometry.start_sector,
                                   geometry.sectors, geometry.blocks, self.disk)

    def _chunk(self, number, first, bits):
        self._call(number, BITS.pack(first=first, count=min(BITS_MAX, self.geometry.blocks - first),
                                     bits=bits.buffer_info()[0]), "coverage")

    def _coverage(self):
        """Which blocks are done, in pieces."""
        for first in range(0, self.geometry.blocks, BITS_MAX):
            count = min(BITS_MAX, self.geometry.blocks - first)
            bits = array.array("B", bytes((count + 7) // 8))
            # nothing is read between the two: what waits is all that is not done
            with self._reading:
                self._chunk(IOC_GET_COVERAGE, first, bits)
                self._uncover(bits, first, count)
            yield bits.tobytes()

    def _uncover(self, bits, first, count):
        """The module counts a block when it was read from it; what waits here would be lost
        with the program."""
        granule, start = self.geometry.granule_sectors, self.geometry.start_sector
        for record in (self._current, *self._waiting):
            if not record or not record.sectors:
                continue
            low = (start + record.first) // granule - start // granule
            high = (start + record.first + record.sectors - 1) // granule - start // granule
            for block in range(max(low, first), min(high, first + count - 1) + 1):
                bits[(block - first) // 8] &= ~(1 << (block - first) % 8)

    def save_coverage(self, path):
        """Write down which blocks are done, in a file that is replaced as a whole. The last
        record taken is done when the next is asked for; what was made of those before is to be
        on the disk first."""
        coverage_file.save(os.fspath(path), self._place(), self._coverage())

    def restore_coverage(self, path):
        """Go on where save_coverage() was, before the start; then want(uncovered=True) wants the
        rest. Errors, and nothing has changed: ENOENT, EXDEV: of another disk or partition,
        EPROTONOSUPPORT: of another version, EBADMSG: damaged."""
        first = 0
        for bits in coverage_file.load(os.fspath(path), self._place()):
            self._chunk(IOC_SET_COVERAGE, first, array.array("B", bits))
            first += 8 * len(bits)

    def set_coverage(self, bits):
        """Before the start: which blocks are done, a bit each."""
        for first in range(0, self.geometry.blocks, BITS_MAX):
            self._chunk(IOC_SET_COVERAGE, first,
                        array.array("B", bits[first // 8:(first + BITS_MAX) // 8]))

    def close(self):
        """End the task: what was not read is read by nobody."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _failed_read(error):
    words = {
        errno.ECANCELED: "the task was stopped before all was delivered",
        errno.ENODEV: "the disk is gone",
        errno.EAGAIN: "no record yet",
    }
    return Error(error.errno, words.get(error.errno, error.strerror))
