# SPDX-License-Identifier: GPL-2.0
"""The text that blkparse prints by default:

    8,0  1  5  0.000012345  697  D  R  223490 + 8 [kjournald]

Counted are requests sent to the drive (D) that it completed (C). Devices are
MAJOR,MINOR. The summary at the end is left out.
"""

import re

import numpy as np

from . import Error, events
from .text import Devices, blocks, shown

B = rb"[ \t]+"
START = B.join((rb"[ \t]*\d+,\d+", rb"\d+", rb"\d+", rb"\d+\.\d{9}", rb"\d+", rb"[A-Za-z]+", rb""))
FORM = "not MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROGRAM]"
LINES = re.compile(rb"^" + START, re.M)
# RWBS of what moves data: not a flush (F alone), a discard (D), a zone command (Z)
MOVES = rb"([DC])" + B + rb"(F?[RW][A-Z]*)" + B
# What is a request, and what looks like one but for its numbers
LIKE = re.compile(B.join((rb"^[ \t]*\S+", rb"\S+", rb"\S+", rb"\S+", rb"\S+", MOVES)) +
                  rb"\S+ \+ \S+ ", re.M)
REQUEST = re.compile(B.join((rb"^[ \t]*(\d+,\d+)", rb"\d+", rb"\d+", rb"(\d{1,9}\.\d{9})", rb"\d+",
                             MOVES)) + rb"(\d{1,15}) \+ (\d{1,9}) \[", re.M)
# the first words of blkparse's summary
END = re.compile(rb"^(?:CPU\d+ \(|Total \(|Throughput \(R/W\)|Events \()", re.M)
# Lines are objects here: fewer of them at a time
BLOCK = 2 << 20


def find_error(path, block):
    """Raise Error for the first line of a block that is none of blkparse's."""
    for number, line in enumerate(block.data.split(b"\n"), block.first):
        if line.strip() and (not re.match(START, line) or
                             LIKE.match(line) and not REQUEST.match(line)):
            raise Error(path, number, "%s: %s" % (FORM, shown(line)))
    raise Error(path, block.first, FORM)


def check(path, block, requests):
    """Error if a line is none of blkparse's."""
    lines = block.data.count(b"\n")
    good = len(LINES.findall(block.data))
    if good != lines and good != sum(1 for line in block.data.split(b"\n") if line.strip()):
        find_error(path, block)
    if len(LIKE.findall(block.data)) != requests:
        find_error(path, block)


def line_of(block, device):
    """The first line of a block with a request of a device."""
    for match in REQUEST.finditer(block.data):
        if match.group(1) == device:
            return block.first + block.data.count(b"\n", 0, match.start())
    raise ValueError(device)


def parse(path, block, devices):
    """The events of one device in a block."""
    rows = REQUEST.findall(block.data)
    check(path, block, len(rows))
    for name in dict.fromkeys(row[0] for row in rows):
        devices.takes(name.decode("ascii"), line_of(block, name))
    mine = (devices.wanted or "").encode("ascii", "replace")
    rows = [row[1:] for row in rows if row[0] == mine]
    seconds, actions, kinds, first, count = zip(*rows) if rows else 5 * ((),)
    time_ns = np.array([text.replace(b".", b"") for text in seconds], "S").astype(np.int64)
    found = events.Events(time_ns, np.array(first, "S").astype(np.int64),
                          np.array(count, "S").astype(np.int64),
                          np.array([b"W" in kind for kind in kinds], dtype=bool),
                          np.array([action == b"C" for action in actions], dtype=bool))
    return events.take(found, found.sectors > 0)


def without_summary(found):
    """Blocks up to blkparse's summary."""
    for block in found:
        end = END.search(block.data)
        if end:
            yield block._replace(data=block.data[:end.start()])
            return
        yield block


def read(path, device, size=BLOCK):
    """Chunks of what blkparse printed."""
    devices = Devices(path, device)
    return events.requests(parse(path, block, devices)
                           for block in without_summary(blocks(path, size)) if block.data.strip())
