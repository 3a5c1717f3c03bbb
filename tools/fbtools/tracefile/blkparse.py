# SPDX-License-Identifier: GPL-2.0
"""The text that blkparse prints by default:

    8,0  1  5  0.000012345  697  D  R  223490 + 8 [kjournald]

Counted are requests sent to the drive (D) that it completed (C). Devices are
MAJOR,MINOR. The summary at the end is left out.
"""

import re

import numpy as np

from . import Error, events
from .text import BLOCK, Devices, blocks, shown

START = rb"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Za-z]+\s"
FORM = "not MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROGRAM]"
REQUEST = re.compile(START + rb"+[A-Z]*[RW][A-Z]*\s+\d+ \+ \d+ \[")
# the first words of blkparse's summary
END = re.compile(rb"^(?:CPU\d+ \(|Total \(|Throughput \(R/W\)|Events \()", re.M)
DIGITS = 18
# RWBS of what moves data: not a flush (F alone), a discard (D), a zone command (Z)
MOVES = re.compile(rb"F?[RW][A-Z]*\Z")


def find_error(path, block):
    """Raise Error for the first line of a block that is none of blkparse's."""
    for number, line in enumerate(block.data.splitlines(), block.first):
        if not line.strip():
            continue
        words = line.split()
        if not re.match(START, line) or (wanted(words) and not (
                REQUEST.match(line) and max(len(words[7]), len(words[9]),
                                            len(words[3])) <= DIGITS)):
            raise Error(path, number, "%s: %s" % (FORM, shown(line)))
    raise Error(path, block.first, FORM)


def wanted(words):
    """Whether a line's words are a request sent or completed, with data."""
    return len(words) > 9 and words[5] in (b"D", b"C") and words[8] == b"+" and \
        words[9] != b"0" and MOVES.match(words[6]) is not None


def check(path, block):
    """Error if a line is none of blkparse's."""
    lines = block.data.count(b"\n")
    good = len(re.findall(rb"^" + START, block.data, re.M))
    if good != lines and good != sum(1 for line in block.data.split(b"\n") if line.strip()):
        find_error(path, block)


def parse(path, block, devices):
    """The events of one device in a block."""
    check(path, block)
    rows = [(number, words) for number, words in
            enumerate(map(bytes.split, block.data.split(b"\n")), block.first) if wanted(words)]
    for name in dict.fromkeys(words[0] for _, words in rows):
        first = next(number for number, words in rows if words[0] == name)
        devices.takes(name.decode("ascii"), first)
    mine = (devices.wanted or "").encode("ascii", "replace")
    rows = [words for _, words in rows if words[0] == mine]
    columns = [[words[3].replace(b".", b"") for words in rows], [words[7] for words in rows],
               [words[9] for words in rows]]
    if rows and not all(b"".join(column).isdigit() and len(max(column, key=len)) <= DIGITS
                        for column in columns):
        find_error(path, block)
    time_ns, sector, sectors = (np.array(column, "S").astype(np.int64) for column in columns)
    return events.Events(time_ns, sector, sectors,
                         np.array([b"W" in words[6] for words in rows], dtype=bool),
                         np.array([words[5] == b"C" for words in rows], dtype=bool))


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
