# SPDX-License-Identifier: GPL-2.0
"""The CSV of the MSR Cambridge traces:

    Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime

Timestamp and ResponseTime in 100 ns, Offset and Size in bytes. A device is
HOSTNAME.DISKNUMBER, as in src1.1.
"""

import io
import re

import numpy as np

from . import Error, make_chunk, take
from .text import BLOCK, Devices, blocks, shown

NAMES = ("time", "host", "disk", "op", "offset", "size", "response")
NUMBERS = {"time": np.int64, "disk": np.int64, "offset": np.int64, "size": np.int64,
           "response": np.int64}
FORM = "not TIMESTAMP,HOSTNAME,DISK,Read|Write,OFFSET,SIZE,RESPONSE"
LINE = re.compile(rb"\s*(\d{1,19}),([^,\s]+),(\d{1,9}),(read|write),(\d{1,19}),(\d{1,18}),"
                  rb"(\d{1,18})\s*\Z", re.I)
SHAPE = re.compile(rb"\s*,[^,\s]*,,(?:read|write),,,\s*\Z", re.I)
TICK_NS = 100
SECTOR = 512
MOST = (1 << 63) - 1
# A century: what is longer is no response
MOST_RESPONSE = 10 ** 7 * 86400 * 36525


def line_error(line):
    """What is wrong with a line; None if nothing is."""
    match = LINE.match(line)
    if not match:
        return "%s: %s" % (FORM, shown(line))
    time, offset, size, response = (int(match.group(n)) for n in (1, 5, 6, 7))
    if not size:
        return "a request of no bytes"
    if max(time, offset + size) > MOST:
        return "a number above %d" % MOST
    return "a response of %d s" % (response // 10 ** 7) if response > MOST_RESPONSE else None


def find_error(path, block, otherwise):
    """Raise Error for the first bad line of a block."""
    for number, line in enumerate(block.data.splitlines(), block.first):
        reason = line_error(line) if line.strip() else None
        if reason:
            raise Error(path, number, reason)
    raise Error(path, block.first, "this or one of the next lines: %s" % otherwise)


def shapes_right(block):
    """Whether all lines, their digits left out, look like LINE: cheap, for they are few."""
    shapes = set(block.data.translate(None, b"0123456789").split(b"\n"))
    return all(SHAPE.match(shape) for shape in shapes if shape.strip())


def table(path, block):
    """A block's columns, checked."""
    if not shapes_right(block):
        find_error(path, block, FORM)
    # large, and no other format wants it
    import pandas  # pylint: disable=import-outside-toplevel
    try:
        found = pandas.read_csv(io.BytesIO(block.data), header=None, names=NAMES, dtype={
            **NUMBERS, "host": "category", "op": "category"}, index_col=False, quoting=3,
            na_filter=False, engine="c")
    except (ValueError, OverflowError, pandas.errors.ParserError) as error:
        find_error(path, block, error)
    # numbers above MOST make pandas take another type
    if any(found[name].dtype != kind for name, kind in NUMBERS.items()) or \
            (found["size"] <= 0).any() or (found.response > MOST_RESPONSE).any() or \
            (found.offset > MOST - found["size"]).any():
        find_error(path, block, FORM)
    return found


def codes_of(column, test):
    """Of each row, whether its category passes a test."""
    answers = np.array([test(str(name)) for name in column.cat.categories], dtype=bool)
    return answers[column.cat.codes.to_numpy()]


def of_device(found, devices, first):
    """Which rows are of the device that is wanted."""
    pairs = found.groupby(["host", "disk"], observed=True, sort=False).head(1)
    mine = [(host, disk) for row, host, disk in pairs[["host", "disk"]].itertuples()
            if devices.takes("%s.%d" % (host, disk), first + row)]
    if not mine:
        return np.zeros(len(found), dtype=bool)
    host, disk = mine[0]
    return codes_of(found.host, lambda name: name == host) & (found.disk.to_numpy() == disk)


def read(path, device, size=BLOCK):
    """Chunks of an MSR trace."""
    devices = Devices(path, device)
    began = None
    for block in blocks(path, size):
        if block.first == 1 and block.data[:9].lower() == b"timestamp":
            end = block.data.index(b"\n") + 1
            block = block._replace(data=block.data[end:], first=2)
        if not block.data.strip():
            continue
        found = table(path, block)
        offset = found.offset.to_numpy()
        write = codes_of(found.op, lambda name: name.strip().lower() == "write")
        if began is None:
            # the clock counts from 1601: nanoseconds would not fit
            began = found.time.iloc[0]
        ends = -(-(offset + found["size"].to_numpy()) // SECTOR)
        chunk = make_chunk((found.time.to_numpy() - began) * TICK_NS, offset // SECTOR,
                           ends - offset // SECTOR, write, found.response.to_numpy() * TICK_NS)
        yield take(chunk, of_device(found, devices, block.first))
