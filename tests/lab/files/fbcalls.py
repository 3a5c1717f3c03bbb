# SPDX-License-Identifier: GPL-2.0
"""Calls of /dev/freeblock one by one, good and bad: lines "NAME|GOT|WANT", which lib.sh's calls
compares. Structures and numbers are written down here as include/uapi/freeblock.h has them.

    fbcalls.py errors BLOCKDEV PARTITION        every call that is wrong
    fbcalls.py versions BLOCKDEV                structures longer and shorter than ours
    fbcalls.py arrays BLOCKDEV                  all ranges or none; room; POLLOUT
    fbcalls.py values BLOCKDEV                  a user_data for each block
    fbcalls.py events BLOCKDEV                  caught up; POLLPRI; what it waits for; a read()
                                                that is interrupted
    fbcalls.py stopped BLOCKDEV                 stopped while its event waits for room
    fbcalls.py coverage BLOCKDEV PARTITION      bits are set when a block is read()
    fbcalls.py resized BLOCKDEV RESCAN GIB      another capacity, and the old one again: RESCAN and
                                                GIB are sysfs files
    fbcalls.py unreadable BLOCKDEV FIRST        a block that is, among four from there on
    fbcalls.py gone BLOCKDEV                    set-up of a disk without freeblock
"""

import array
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import time
import types

FORMATS = {
    "api": "size:I version:I features:Q offered:Q",
    "setup": "size:I fd:i flags:I priority:i deadline_ns:Q buffer_kib:I order:I regions:I "
             "segment_sectors:I foreground_ppm:I pad:I name:16s sectors:Q start_sector:Q blocks:Q "
             "granule_sectors:I record_bytes:I ranges_max:I pad2:I",
    "ranges": "size:I range_bytes:I ranges:Q nranges:I flags:I",
    "progress": "size:I state:I waiting_for:I entering:I total:Q done:Q failed:Q flying:Q "
                "queued:I buffer_blocks:I stalled_ns:Q",
    "urgency": "size:I priority:i deadline_ns:Q foreground_ppm:I pad:I",
    "bits": "size:I pad:I first:Q count:Q bits:Q",
    "reason": "size:I pad:I text:192s",
    "record": "header_bytes:H type:H status:I first:Q user_data:Q sectors:I data_bytes:I",
}
FIELDS = {kind: [word.split(":") for word in text.split()] for kind, text in FORMATS.items()}
STRUCTS = {kind: struct.Struct("=" + "".join(code for _, code in fields))
           for kind, fields in FIELDS.items()}
SIZES = {kind: one.size for kind, one in STRUCTS.items()}
# name: number, structure, directions (1: to the kernel, 2: from it)
CALLS = {"api": (0, "api", 3), "setup": (1, "setup", 3), "add": (2, "ranges", 1),
         "remove": (3, "ranges", 1), "promote": (4, "ranges", 1), "start": (5, None, 0),
         "pause": (6, None, 0), "resume": (7, None, 0), "stop": (8, None, 0),
         "urgency": (9, "urgency", 1), "progress": (10, "progress", 3), "get": (11, "bits", 1),
         "set": (12, "bits", 1), "reason": (13, "reason", 3)}
EVENTS, COVERAGE, PROBES = 1, 2, 4
NO_DATA, KEEP, MEDIUM, STAGGERED = 2, 4, 1, 2
RUNNING, PAUSED, FINISHED, STOPPED = 1, 2, 3, 4
WAIT_NONE, WAIT_CAPACITY, WAIT_READER = 0, 3, 7
OUT, IN, PRI = select.POLLOUT, select.POLLIN, select.POLLPRI
ERR, HUP = select.POLLERR, select.POLLHUP
MANY = 1024


def op(number, size=0, directions=0):
    """An ioctl's number."""
    return directions << 30 | size << 16 | 0xfb << 8 | number


def packed(kind, /, **values):
    """A structure of ours."""
    values.setdefault("size", SIZES[kind])
    return bytearray(STRUCTS[kind].pack(*(values.get(name, b"" if "s" in code else 0)
                                          for name, code in FIELDS[kind])))


def unpacked(kind, data):
    """Its fields."""
    return types.SimpleNamespace(**dict(zip((name for name, _ in FIELDS[kind]),
                                            STRUCTS[kind].unpack_from(data))))


def is_(name, got, want):
    """A line."""
    print("%s|%s|%s" % (name, got, want), flush=True)


def name_of(error):
    """As the module's documents have it: Linux has two names for one."""
    return errno.errorcode[error.errno].replace("ENOTSUP", "EOPNOTSUPP")


def sectors_of(path):
    """The length of a block device."""
    with open(path, "rb") as file:
        return file.seek(0, 2) // 512


class Device:
    """An open /dev/freeblock."""

    def __init__(self, features=0, agree=True):
        self.fd = os.open("/dev/freeblock", os.O_RDONLY)
        if agree:
            self.do("api", version=1, features=features)

    def close(self):
        """End."""
        os.close(self.fd)

    def raw(self, number, data=0):
        """errno's name, or "0"."""
        try:
            fcntl.ioctl(self.fd, number, data, *[True] * isinstance(data, bytearray))
        except OSError as error:
            return name_of(error)
        return "0"

    def call(self, name, data=None, /, **values):
        """(errno's name, the structure that came back)"""
        number, kind, directions = CALLS[name]
        if data is None:
            data = packed(kind, **values) if kind else 0
        return self.raw(op(number, SIZES.get(kind, 0), directions), data), data

    def do(self, name, /, **values):
        """What must work; the fields that came back."""
        said, data = self.call(name, **values)
        if said != "0":
            sys.exit("%s: %s: %s" % (name, said, self.reason()))
        return unpacked(CALLS[name][1], data) if data else None

    def reason(self):
        """Of the last call that failed."""
        return unpacked("reason", self.call("reason")[1]).text.rstrip(b"\0").decode()

    def says(self, want, name, call, data=None, /, **values):
        """A line: how a call ends; what fails has a reason. The structure."""
        got, data = self.call(call, data, **values)
        why = self.reason() if got != "0" else ""
        is_(name, got + (" without a reason" if got != "0" and want != "0" and not why else ""),
            want)
        if why:
            print("# %s: %s" % (name, why), file=sys.stderr)
        return data

    def mentions(self, name, what):
        """A line: what the reason has."""
        is_(name + ": the reason", what if what in self.reason() else self.reason(), what)

    def ranges(self, want, name, call, *ranges, **values):
        """The same for a call with ranges: (first, count[, user_data])."""
        self.keep = array.array("Q", [n for r in ranges for n in (*r, 0)[:3]])
        values = {"range_bytes": 24, "ranges": self.keep.buffer_info()[0] if ranges else 0,
                  "nranges": len(ranges), **values}
        self.says(want, name, call, **values)

    def progress(self):
        """Its fields."""
        return self.do("progress")

    def polled(self, seconds=0, events=IN | OUT | PRI):
        """What poll() reports."""
        poll = select.poll()
        poll.register(self.fd, events)
        return sum(got for _, got in poll.poll(1000 * seconds))

    def until(self, condition):
        """Wait, for half a minute at most."""
        for _ in range(3000):
            if condition():
                return True
            time.sleep(0.01)
        return False

    def polled_for(self, events):
        """What poll() reports of these, once it reports all of them."""
        self.until(lambda: self.polled() & events == events)
        return self.polled() & events

    def read(self, n=1 << 16):
        """(record, data) of one read(); none at the end."""
        data, at = os.read(self.fd, n), 0
        while at < len(data):
            record = unpacked("record", data[at:])
            yield record
            at += record.header_bytes + record.data_bytes

    def read_says(self, want, name, n):
        """A line: how a read() fails."""
        try:
            got = "0" if os.read(self.fd, n) is not None else ""
        except OSError as error:
            got = name_of(error)
        is_(name, got, want)

    def drain(self, n=1 << 16):
        """Read all that comes: how many records, and the last one."""
        count, last = 0, None
        while records := list(self.read(n)):
            count, last = count + len(records), records[-1]
        return count, last


def set_up(path, features=0, /, **values):
    """A task; its device and set-up."""
    dev = Device(features)
    bdev = os.open(path, os.O_RDONLY)
    setup = unpacked("setup", dev.says("0", "set-up", "setup", fd=bdev, **values))
    os.close(bdev)
    return dev, setup


# ---- errors ----

def bad_api(dev, bdev):
    for want, name, values in (
            ("EINVAL", "size 0", {"size": 0}), ("EINVAL", "a byte too small", {"size": 23}),
            ("E2BIG", "size 1 GiB", {"size": 1 << 30}),
            ("EPROTONOSUPPORT", "version 0", {"version": 0}),
            ("EPROTONOSUPPORT", "version 2", {"version": 2}),
            ("EOPNOTSUPP", "unknown feature", {"features": 1 << 63})):
        dev.says(want, "api: " + name, "api", **{"version": 1, **values})
    dev.says("EFAULT", "api: no argument", "api", 0)
    dev.says("EBADFD", "set-up: without api", "setup", fd=bdev)
    api = unpacked("api", dev.says("0", "api", "api", version=1))
    is_("api: features offered", api.offered, EVENTS | COVERAGE | PROBES)
    dev.says("EALREADY", "api: twice", "api", version=1)


def bad_before_setup(dev):
    # without direction and size, as they were before the interface was frozen
    for number in (0, 1, 2, 3, 4, 9, 10, 11, 12, 13):
        is_("old number of call %d" % number, dev.raw(op(number), bytearray(256)), "ENOTTY")
    for name, number in (("a call the other way", op(2, 24, 2)), ("unknown call", op(99)),
                         ("a call of a grown size", op(0, 32, 3)),
                         ("a call of another size", op(1, 4, 2)),
                         ("another's call", 0x80081272)):
        is_(name, dev.raw(number, bytearray(64)), "ENOTTY")
    is_("reason: no argument", dev.raw(op(13, SIZES["reason"], 3), 0), "EFAULT")
    dev.read_says("EBADFD", "read: not set up", 64)
    dev.ranges("EBADFD", "add: not set up", "add", (0, 8))
    dev.says("EBADFD", "start: not set up", "start")
    is_("poll: not set up", dev.polled(), ERR)


def bad_setups(dev, bdev, path):
    blind, file = os.open(path, os.O_WRONLY), os.open("/proc/self/exe", os.O_RDONLY)
    for want, name, values in (
            ("EINVAL", "a byte too small", {"size": 103}), ("EINVAL", "unknown flag", {"flags": 8}),
            ("EINVAL", "priority 4", {"priority": 4}), ("EINVAL", "priority -5", {"priority": -5}),
            ("EINVAL", "more than half for itself", {"foreground_ppm": 500001}),
            ("EINVAL", "63 KiB", {"buffer_kib": 63}),
            ("EINVAL", "65537 KiB", {"buffer_kib": 65537}),
            ("EINVAL", "order 3", {"order": 3}),
            ("EINVAL", "regions without staggered", {"regions": 4}),
            ("EINVAL", "staggered without regions", {"order": STAGGERED}),
            ("EINVAL", "segments that are no blocks",
             {"order": STAGGERED, "regions": 4, "segment_sectors": 9}),
            ("EINVAL", "endless name", {"name": b"x" * 16}),
            ("EINVAL", "name of two words", {"name": b"two words"}), ("EINVAL", "pad", {"pad": 1}),
            ("EBADF", "no such fd", {"fd": 999}), ("EBADF", "negative fd", {"fd": -1}),
            ("EBADF", "fd for writing only", {"fd": blind}), ("ENOTBLK", "a file", {"fd": file}),
            ("ENOTBLK", "the device itself", {"fd": dev.fd})):
        dev.says(want, "set-up: " + name, "setup", **{"fd": bdev, **values})
    dev.says("EFAULT", "set-up: no argument", "setup", 0)
    if not os.fork():           # no more root: it may not, though all is open
        os.setuid(65534)
        dev.says("EPERM", "set-up: without CAP_SYS_RAWIO", "setup", fd=bdev)
        os._exit(0)
    os.wait()


def bad_ranges(dev, sectors):
    for call in "add", "remove":
        for want, name, values in (
                ("EINVAL", "empty", (0, 0)), ("EINVAL", "begins within a block", (4, 12)),
                ("EINVAL", "ends within a block", (8, 12)),
                ("0" if call == "add" else "EINVAL", "user_data", (0, 8, 1)),
                ("ERANGE", "too long", (0, sectors + 8)),
                ("ERANGE", "beyond the end", ((sectors + 7) // 8 * 8, 8)),
                ("ERANGE", "beyond 64 bits", (8, (1 << 64) - 8)),
                ("ERANGE", "from the last sector there can be", ((1 << 64) - 1, 1))):
            dev.ranges(want, "%s: %s" % (call, name), call, values)
    dev.ranges("0", "remove", "remove", (0, 8))
    dev.says("EFAULT", "add: no argument", "add", 0)
    dev.ranges("EFAULT", "add: no ranges", "add", nranges=1)
    dev.ranges("EINVAL", "add: none", "add")
    dev.ranges("EINVAL", "add: too many", "add", nranges=1025)
    dev.ranges("EINVAL", "add: unknown flag", "add", (0, 8), flags=2)
    dev.ranges("EINVAL", "remove: uncovered", "remove", (0, 8), flags=1)
    dev.ranges("EOPNOTSUPP", "add: uncovered, without coverage", "add", (0, 8), flags=1)
    dev.ranges("EBADFD", "promote: not started", "promote", (0, 8))


def bad_before_start(dev):
    dev.read_says("EBADFD", "read: not started", 64)
    dev.says("EBADFD", "pause: not started", "pause")
    dev.says("EBADFD", "stop: not started", "stop")
    is_("poll: not started", dev.polled(), ERR | OUT)
    dev.says("EINVAL", "urgency: priority 4", "urgency", priority=4)
    dev.says("EINVAL", "urgency: pad", "urgency", priority=3, pad=1)
    dev.says("0", "urgency", "urgency", priority=3)
    dev.says("EFAULT", "progress: no argument", "progress", 0)
    dev.says("EOPNOTSUPP", "get coverage: without it", "get", count=8)
    dev.says("EOPNOTSUPP", "set coverage: without it", "set", count=8)


def bad_while_running(dev):
    dev.says("EALREADY", "start: started", "start")
    dev.says("EALREADY", "resume: not paused", "resume")
    dev.polled_for(IN)
    dev.read_says("EMSGSIZE", "read: too small for a record", 16)
    dev.mentions("read: too small for a record", "a buffer of 16 bytes, the next record has ")
    dev.says("0", "pause", "pause")
    dev.says("EALREADY", "pause: paused", "pause")
    is_("state: paused", dev.progress().state, PAUSED)
    dev.says("0", "resume", "resume")
    dev.says("0", "stop", "stop")
    try:
        dev.drain()
        is_("read: stopped", "0", "ECANCELED")
    except OSError as error:
        is_("read: stopped", name_of(error), "ECANCELED")
    dev.ranges("ESHUTDOWN", "add: stopped", "add", (0, 8))
    dev.says("ESHUTDOWN", "pause: stopped", "pause")
    is_("state: stopped", dev.progress().state, STOPPED)
    is_("poll: stopped", dev.polled(), IN | HUP)


def errors(path, partition):
    bdev, sectors = os.open(path, os.O_RDONLY), sectors_of(path)
    dev = Device(agree=False)
    bad_api(dev, bdev)
    bad_before_setup(dev)
    bad_setups(dev, bdev, path)
    dev.says("0", "set-up", "setup", fd=bdev)
    dev.says("EALREADY", "set-up: twice", "setup", fd=bdev)
    others = [Device() for _ in range(8)]
    for n, other in enumerate(others):
        other.says("0" if n < 7 else "EBUSY", "set-up: task %d" % (n + 2), "setup", fd=bdev)
    for other in others:
        other.close()
    dev.says("EINVAL", "start: nothing declared", "start")
    bad_ranges(dev, sectors)
    bad_before_start(dev)
    dev.ranges("0", "add", "add", (0, sectors))
    dev.says("0", "start", "start")
    bad_while_running(dev)
    dev.close()
    dev, setup = set_up(partition)
    dev.ranges("ERANGE", "add: beyond the partition, within the disk", "add",
               (0, setup.sectors + 8))


# ---- versions: what programs of the future may have, a field more ----

def longer(dev, name, /, **values):
    """A field more: 0 is as good as without, others are not."""
    size = SIZES[CALLS[name][1]]
    data = packed(CALLS[name][1], **{**values, "size": size + 8}) + bytes(8)
    data[size + 7] = 1
    dev.says("E2BIG", name + ": an unknown field is not 0", name, data)
    if name != "reason":
        dev.mentions(name, "behind byte %d" % size)
    data[size + 7] = 0
    dev.says("0", name + ": an unknown field is 0", name, data)
    is_("its size stays", struct.unpack_from("I", data)[0], size + 8)
    return data


def versions(path):
    bdev, dev = os.open(path, os.O_RDONLY), Device(agree=False)
    longer(dev, "api", version=1)
    is_("set-up: what it returns", unpacked("setup", longer(dev, "setup", fd=bdev)).sectors,
        sectors_of(path))
    pair = array.array("Q", [0, 8, 0, 0, 0, 8, 0, 1])
    values = {"range_bytes": 32, "ranges": pair.buffer_info()[0], "nranges": 2}
    dev.says("E2BIG", "a range's unknown field is not 0", "add", **values)
    pair[7] = 0
    longer(dev, "add", **values)
    dev.says("EINVAL", "ranges that are too short", "add", **{**values, "range_bytes": 23})
    # a newer module may know more than we: also run with one that has 8 bytes more
    data = dev.says("0", "progress", "progress", packed("progress") + b"\7")
    is_("progress: what we know is there", unpacked("progress", data).buffer_blocks > 0, True)
    is_("progress: no more is written", data[-1], 7)
    for name in "progress", "urgency", "reason":
        longer(dev, name)


# ---- arrays ----

def arrays(path):
    dev, setup = set_up(path, flags=NO_DATA)
    is_("ranges_max", setup.ranges_max, MANY)
    blocks, granule = min(setup.blocks & ~1, 64), setup.granule_sectors
    # blocks 0, 2, 4 ... of the first ones, again and again
    ranges = [(i * 2 % blocks * granule, granule) for i in range(MANY)]
    dev.ranges("EINVAL", "the last of 1024 ranges is bad", "add", *ranges[:-1],
               (ranges[-1][0], granule - 1))
    dev.mentions("the last of 1024", "range 1023:")
    dev.says("EINVAL", "so none is declared", "start")
    for _ in range(4):
        is_("room: poll()", dev.polled() & OUT, OUT)
        dev.ranges("0", "1024 ranges", "add", *ranges)
    is_("no room: poll()", dev.polled() & OUT, 0)
    dev.ranges("ENOSPC", "no room: one more", "add", ranges[0])
    dev.mentions("no room", ": start, and then poll for POLLOUT")
    is_("no room before the start: poll()", dev.polled(0.1), ERR)
    dev.says("0", "start", "start")
    # poll() sleeps until there is room
    for _ in range(10):
        if dev.polled(3) & OUT or not list(dev.read()):
            break
    is_("room again: poll()", dev.polled() & OUT, OUT)
    dev.drain()
    is_("blocks", dev.progress().done, blocks // 2)
    is_("state: finished", dev.progress().state, FINISHED)
    is_("finished: who waits for room hears of it", dev.polled() & OUT, OUT)
    dev.ranges("ESHUTDOWN", "add: finished", "add", ranges[0])


def values(path):
    """A user_data for each block, as many at a time as there is room for."""
    dev, setup = set_up(path, flags=NO_DATA | KEEP)
    os.set_blocking(dev.fd, False)
    dev.says("0", "start", "start")
    granule, at, got, mixed = setup.granule_sectors, 0, 0, 0
    while got < setup.blocks:
        try:
            for record in dev.read(4096):
                got += 1
                mixed += record.user_data != ~(record.first // granule) & (1 << 64) - 1
        except BlockingIOError:
            pass
        ready = dev.polled(60, IN | OUT if at < setup.blocks else IN)
        if not ready:
            break
        if ready & OUT:
            blocks = range(at, min(at + MANY, setup.blocks))
            dev.ranges("0", "values: POLLOUT keeps its word", "add", *(
                (block * granule, min(granule, setup.sectors - block * granule),
                 ~block & (1 << 64) - 1) for block in blocks))
            at = blocks.stop
    is_("values: blocks", got, setup.blocks)
    is_("values: wrong ones", mixed, 0)


# ---- events ----

def caught_up(dev, user_data):
    """Read until all has been delivered; the sectors before that, or what was strange."""
    sectors = 0
    while records := list(dev.read()):
        for record in records:
            if record.type == 1:
                odd = record.first or record.sectors or record.user_data or record.data_bytes
                return "strange" if odd or record is not records[-1] else sectors
            if record.user_data != user_data:
                return "another user_data"
            sectors += record.sectors
    return "the end"


def interrupted(dev):
    """A read() for which there is nothing. The first signals may be early, and Python reads on."""
    class Heard(Exception):
        """The third signal."""

    heard = []

    def hear(*_):
        heard.append(1)
        if len(heard) == 3:
            raise Heard

    signal.signal(signal.SIGALRM, hear)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        got = os.read(dev.fd, 64)
    except Heard:
        got = "EINTR"
    signal.setitimer(signal.ITIMER_REAL, 0)
    is_("read: interrupted", got, "EINTR")


def events(path):
    dev, setup = set_up(path, EVENTS, flags=KEEP, buffer_kib=64)
    granule = setup.granule_sectors
    is_("nothing has changed: poll()", dev.polled() & PRI, 0)
    dev.says("0", "start", "start")
    is_("it runs: poll()", dev.polled() & PRI, PRI)
    is_("it runs", dev.progress().state, RUNNING)
    is_("which is known now: poll()", dev.polled() & PRI, 0)
    dev.ranges("0", "add", "add", (0, 8 * granule, 5))
    is_("caught up after", caught_up(dev, 5), 8 * granule)
    is_("once: poll()", dev.polled(0.2) & IN, 0)
    interrupted(dev)
    dev.ranges("0", "add again", "add", (granule, 2 * granule))
    is_("caught up after", caught_up(dev, 0), 2 * granule)
    dev.ranges("0", "add, and wait for the event", "add", (0, 8 * granule, 5))
    dev.until(lambda: dev.progress().queued >= 8)
    time.sleep(0.5)
    dev.ranges("0", "before it is read add more", "add", (8 * granule, 8 * granule, 5))
    is_("caught up after all of it", caught_up(dev, 5), 16 * granule)
    is_("once: poll()", dev.polled(0.2) & IN, 0)
    dev.says("0", "pause", "pause")
    is_("paused: poll()", dev.polled_for(PRI), PRI)
    dev.progress()
    dev.says("0", "resume", "resume")
    dev.progress()
    dev.ranges("0", "add more than the buffer holds", "add", (0, 64 * granule, 9))
    is_("it waits: poll()", dev.polled_for(PRI | IN), PRI | IN)
    dev.until(lambda: dev.progress().waiting_for == WAIT_READER)
    is_("for the reader", dev.progress().waiting_for, WAIT_READER)
    is_("with a full buffer", dev.progress().queued, dev.progress().buffer_blocks)
    is_("caught up after", caught_up(dev, 9), 64 * granule)
    is_("waits for none", dev.progress().waiting_for, WAIT_NONE)


def stopped(path):
    """A task that is stopped while its callback waits for room does not hold up the others."""
    other, setup = set_up(path, flags=KEEP, buffer_kib=64)
    other.says("0", "another: start", "start")
    dev, setup = set_up(path, EVENTS, flags=KEEP, buffer_kib=64)
    dev.ranges("0", "add a block more than the buffer holds", "add",
               (0, (dev.progress().buffer_blocks + 1) * setup.granule_sectors))
    dev.says("0", "start", "start")
    dev.until(lambda: dev.progress().waiting_for == WAIT_READER)
    is_("the buffer is full", dev.progress().queued, dev.progress().buffer_blocks)
    dev.says("0", "stop", "stop")
    other.ranges("0", "another: add", "add", (0, setup.granule_sectors))
    other.ranges("0", "another: promote", "promote", (0, setup.granule_sectors))
    while not other.progress().queued:
        time.sleep(0.001)
    is_("another has its block before this one's end is known", dev.progress().state, RUNNING)
    is_("which comes", dev.until(lambda: dev.progress().state == STOPPED), True)


# ---- coverage ----

def coverage(_path, partition):
    dev, setup = set_up(partition, COVERAGE)
    blocks = setup.blocks
    bits = array.array("B", bytes((blocks + 7) // 8))
    at = bits.buffer_info()[0]

    def covered():
        bits[:] = array.array("B", b"\xff" * len(bits))
        dev.do("get", count=blocks, bits=at)
        return sum(bin(byte).count("1") for byte in bits)

    def fill(byte=0, value=0):
        bits[:] = array.array("B", bytes(len(bits)))
        bits[byte] = value

    is_("of a partition that begins within a block", setup.start_sector % setup.granule_sectors > 0,
        True)
    is_("coverage: nothing at first", covered(), 0)
    for want, name, change in (
            ("EINVAL", "none", {"count": 0}), ("EINVAL", "pad", {"pad": 1}),
            ("EINVAL", "from a block within a byte", {"first": 4}),
            ("EINVAL", "to a block within a byte", {"count": 4}),
            ("ERANGE", "beyond the end", {"first": (blocks + 7) // 8 * 8}),
            ("ERANGE", "too many", {"count": blocks + 8}), ("EFAULT", "no bits", {"bits": 0})):
        dev.says(want, "coverage: " + name, "set", **{"count": 8, "bits": at, **change})
    if blocks % 8:
        fill(blocks // 8, 0x80)
        dev.says("EINVAL", "coverage: bits behind the last", "set", count=blocks, bits=at)
    fill(0, 1)
    dev.says("0", "coverage: the first block", "set", count=blocks, bits=at)
    is_("coverage: the first block", covered(), 1)
    dev.ranges("0", "add what lacks", "add", (0, setup.sectors), flags=1)
    dev.says("0", "start", "start")
    dev.says("EBUSY", "set coverage: started", "set", count=blocks, bits=at)
    dev.until(lambda: dev.progress().queued >= 4)
    is_("coverage: what is queued is not in it", covered(), 1)
    for _ in range(4):
        list(dev.read(setup.record_bytes))
    is_("coverage: what was read is", covered(), 5)
    got, last = dev.drain(setup.record_bytes)
    is_("blocks", got + 4, blocks - 1)
    is_("coverage: all in the end", covered(), blocks)
    is_("last status", last.status, 0)


# ---- disks ----

def write_text(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def resized(path, rescan, gib):
    sectors = sectors_of(path)
    dev, _ = set_up(path, flags=KEEP)

    def read(want):
        got = 0
        while got < want:
            got += sum(record.sectors for record in dev.read())
        return got

    dev.says("0", "start", "start")
    dev.ranges("0", "add", "add", (0, 800))
    is_("sectors", read(800), 800)
    dev.progress()
    write_text(gib, "1")
    write_text(rescan, "1")
    is_("resized", sectors_of(path) != sectors, True)
    dev.ranges("0", "resized: add", "add", (800, 800))
    is_("resized: poll()", dev.polled_for(PRI), PRI)
    dev.until(lambda: dev.progress().waiting_for != WAIT_NONE)
    is_("resized: says so", dev.progress().waiting_for, WAIT_CAPACITY)
    is_("resized: nothing comes", dev.polled(0.5) & IN, 0)
    bdev = os.open(path, os.O_RDONLY)
    Device().says("ENODATA", "resized: set-up", "setup", fd=bdev)
    write_text(gib, "0")
    write_text(rescan, "1")
    is_("as before", sectors_of(path), sectors)
    # a foreground request: the module notices another capacity when there is one
    os.system("dd if=%s of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null" % path)
    is_("as before: sectors", read(800), 800)


def unreadable(path, first):
    dev, setup = set_up(path)
    dev.ranges("0", "add", "add", (int(first), 4 * setup.granule_sectors))
    dev.says("0", "start", "start")
    bad = 0
    while records := list(dev.read()):
        bad += sum(record.status == 1 for record in records)
    is_("unreadable", bad, 1)
    is_("unreadable: of all blocks", dev.progress().done, 4)
    is_("unreadable: as the progress has it", dev.progress().failed, 1)


def gone(path):
    Device().says("ENODEV", "set-up: a disk that never had freeblock", "setup",
                  fd=os.open(path, os.O_RDONLY))


WHAT = {one.__name__: one for one in (errors, versions, arrays, values, events, stopped, coverage,
                                      resized, unreadable, gone)}
WHAT[sys.argv[1]](*sys.argv[2:])
