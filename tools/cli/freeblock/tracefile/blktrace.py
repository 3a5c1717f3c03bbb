# SPDX-License-Identifier: GPL-2.0
"""The binary files that blktrace writes, one per CPU: NAME.blktrace.0, .1, ...

Whichever of them is named, or NAME: all are read together. A single stream
(blktrace -o -, blkparse -d) may have any name. The records are those of
include/uapi/linux/blktrace_api.h, in either byte order. Devices are
MAJOR,MINOR. Requests as in eventtext.py.
"""

import glob
import os
import re

import numpy as np

from . import Error, events
from .text import Devices, open_binary

MAGIC = 0x65617400
MAGIC_MASK = 0xffffff00
VERSION = 7
FIELDS = (("magic", "u4"), ("sequence", "u4"), ("time", "u8"), ("sector", "u8"), ("bytes", "u4"),
          ("action", "u4"), ("pid", "u4"), ("device", "u4"), ("cpu", "u4"), ("error", "u2"),
          ("pdu", "u2"))
ORDERS = {order: np.dtype([(name, order + kind) for name, kind in FIELDS]) for order in "<>"}
RECORD = ORDERS["<"].itemsize
# Low half of the action: what happened; high half: of what kind
ACTIONS = {b"Q"[0]: 1, b"D"[0]: 7, b"C"[0]: 8}
COMPLETED = 8
WRITE = 1 << 17
# commands other than reads and writes (BLK_TC_PC), messages (NOTIFY), DISCARD, data of a
# driver's own (DRV_DATA)
NO_DATA = 1 << 25 | 1 << 26 | 1 << 29 | 1 << 30
PIECE = 4 << 20
SECTOR = 512


def members(path):
    """The files of a recording that a name stands for; none for other names."""
    base = re.sub(r"\.blktrace\.\d+\Z", "", path)
    if base == path and os.path.exists(path):
        return []
    return sorted(found for found in glob.glob(glob.escape(base) + ".blktrace.*")
                  if re.search(r"\.blktrace\.\d+\Z", found))


def is_one(begin):
    """Whether a file that begins so is blktrace's."""
    return order_of(begin) is not None


def order_of(begin):
    """The byte order of a record; None if it is none."""
    for order in ORDERS:
        magic = int.from_bytes(begin[:4], "little" if order == "<" else "big")
        if len(begin) >= 4 and magic & MAGIC_MASK == MAGIC:
            return order
    return None


def run_of(data, offset, kind):
    """Records without anything between them, from an offset; then the next offset.

    Each is followed by as many bytes as its pdu says, mostly none."""
    records = np.frombuffer(data, kind, (len(data) - offset) // RECORD, offset)
    good = records["magic"] & MAGIC_MASK == MAGIC
    stop = np.flatnonzero(~good[:64] | (records["pdu"][:64] > 0))
    if not len(stop):
        stop = np.flatnonzero(~good | (records["pdu"] > 0))
    if not len(stop):
        return records, offset + len(records) * RECORD
    last = int(stop[0])
    if not good[last]:
        return records[:last], offset + last * RECORD
    return records[:last + 1], offset + (last + 1) * RECORD + int(records["pdu"][last])


def records_of(path, source):
    """A file's records, many at a time; one that is cut off at its end is left out."""
    rest, before, kind = b"", 0, None
    with open_binary(path) as file:
        while True:
            piece = file.read(PIECE)
            data = rest + piece
            if kind is None and data:
                kind = ORDERS[check_magic(path, data, 0)]
            offset, found = 0, []
            while len(data) - offset >= RECORD:
                check_magic(path, data[offset:offset + 4], before + offset)
                records, after = run_of(data, offset, kind)
                if after > len(data):
                    # the last one's pdu is not there yet
                    after -= RECORD + int(records["pdu"][-1])
                    records = records[:-1]
                found.append(records)
                stuck = after == offset
                offset = after
                if stuck:
                    break
            if found:
                yield np.concatenate(found)
            before, rest = before + offset, data[offset:]
            if not piece:
                break
    if rest:
        source.note("%sits last record, at byte %d, is cut off: left out" % (
            "" if path == source.path else os.path.basename(path) + ": ", before))


def check_magic(path, data, place):
    """The byte order of the record that begins here; Error if none does."""
    order = order_of(data)
    if order is None:
        raise Error(path, "byte %d" % place, "no record of blktrace begins here")
    version = data[0] if order == "<" else data[3]
    if version != VERSION:
        raise Error(path, "byte %d" % place, "records of version %d, not %d" % (version, VERSION))
    return order


def name_of(device):
    """MAJOR,MINOR of a kernel device number."""
    return "%d,%d" % (device >> 20, device & 0xfffff)


def events_of(path, records, devices, actions):
    """Those of these actions."""
    what = records["action"] & 0xffff
    records = records[np.isin(what, [ACTIONS[action] for action in actions]) &
                      (records["action"] & NO_DATA == 0) & (records["bytes"] > 0)]
    mine = np.zeros(len(records), dtype=bool)
    for device in np.unique(records["device"]):
        if devices.takes(name_of(int(device)), "a record of %s" % name_of(int(device))):
            mine |= records["device"] == device
    records = records[mine]
    if len(records) and records["time"].max() >= 1 << 62:
        raise Error(path, "a record", "a time of %d ns" % records["time"].max())
    return events.Events(records["time"].astype(np.int64), records["sector"].astype(np.int64),
                         records["bytes"].astype(np.int64) // SECTOR,
                         records["action"] & WRITE != 0,
                         records["action"] & 0xffff == COMPLETED)


def one_file(path, source, devices, actions):
    """A file's events, many at a time. The devices' messages must name this file."""
    for records in records_of(path, source):
        found = events_of(path, records, devices, actions)
        if len(found.time_ns):
            yield found


class Source:
    """A file being read beside others."""

    def __init__(self, batches):
        self.batches = batches
        self.kept = None
        self.done = False

    def fill(self):
        """Have something, or be done."""
        while not self.done and (self.kept is None or not len(self.kept.time_ns)):
            self.kept = next(self.batches, None)
            self.done = self.kept is None
        if not self.done:
            self.kept = events.take(self.kept, np.argsort(self.kept.time_ns, kind="stable"))

    def until(self, time_ns):
        """Take out what is up to a time."""
        count = np.searchsorted(self.kept.time_ns, time_ns, "right")
        found = events.take(self.kept, slice(count))
        self.kept = events.take(self.kept, slice(count, None))
        return found


def merged(sources):
    """The events of several files by time: as far as the file that is behind."""
    while True:
        for source in sources:
            source.fill()
        sources = [source for source in sources if not source.done]
        if not sources:
            return
        limit = min(int(source.kept.time_ns[-1]) for source in sources)
        yield events.join([source.until(limit) for source in sources])


def read(source):
    """Chunks of a recording."""
    names = members(source.path) or [source.path]
    names = [name for name in names if os.path.getsize(name)]

    def batches(actions):
        devices = Devices(source)
        return merged([Source(one_file(name, source, devices, actions)) for name in names])

    return events.requests(source, batches)
