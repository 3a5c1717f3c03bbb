# SPDX-License-Identifier: GPL-2.0
"""Texts with a line for each event of the block layer.

What blkparse prints by default, with -t, or of several files:

    8,0  1  5  0.000012345  697  D  R  223490 + 8 [kjournald]

The kernel's trace events, as tracefs, trace-cmd report and perf script print them:

    kworker-697 [001] d.. 12.000012: block_rq_issue: 8,0 R 4096 () 223490 + 8 [kjournald]

Devices are MAJOR,MINOR. Which events are requests, events.py says.
"""

import collections
import re

import numpy as np

from . import events
from .text import Devices, shown

B = rb"[ \t]+"
# RWBS of what moves data: not a flush (F alone), a discard (D), a zone command (Z)
MOVES = rb"(F?[RW][A-Z]*)"
EXTENT = rb"(\d{1,15}) \+ (\d{1,9}) "
# Lines are objects here: fewer of them at a time
BLOCK = 2 << 20

# A program's text. line: what each line is, if other lines are errors; request: seconds, their
# fraction, device, event, RWBS, sector, sectors of a request; like: what looks like one but for
# its numbers; end: what ends the events; form: for people
Text = collections.namedtuple("Text", "start line request like end form")
START = B.join((rb"[ \t]*\d+,\d+", rb"\d+", rb"\d+", rb"\d+\.\d{9}", rb"\d+", rb"[A-Za-z]+", rb""))
ADDED = rb"Input file .* added\s*$"
# the first words of blkparse's summary, also of a program
SUMMARY = rb"(?:CPU\d+ \(|Total \(|Throughput \(R/W\)|Events \(|.*\n Reads Queued:)"
BLKPARSE = Text(
    re.compile(b"(?:" + START + rb"|" + ADDED + rb"|" + SUMMARY + b")", re.M),
    re.compile(rb"^(?:" + START + rb"|" + ADDED + b")", re.M),
    re.compile(B.join((rb"^[ \t]*(?P<device>\d+,\d+)", rb"\d+", rb"\d+",
                       rb"(?P<s>\d{1,9})\.(?P<f>\d{9})", rb"\d+", rb"(?P<event>[QDC])", MOVES)) +
               B + EXTENT + rb"(?:\([ \d]*\) )?\[", re.M),
    re.compile(B.join((rb"^[ \t]*\S+", rb"\S+", rb"\S+", rb"\S+", rb"\S+", rb"[QDC]", MOVES)) +
               B + rb"\S+ \+ \S+ ", re.M),
    re.compile(rb"^" + SUMMARY, re.M),
    "not MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROGRAM]")
NAMES = rb"(?P<event>rq_issue|rq_complete|bio_queue|bio_complete): +"
POINT = rb": +(?:block:)?block_"
KERNEL = Text(
    re.compile(rb".*" + POINT + rb"\w+: |# tracer: |cpus=\d+\s*$", re.M),
    None,
    re.compile(rb"^.*?[ \t](?P<s>\d{1,9})\.(?P<f>\d{6}(?:\d{3})?)" + POINT + NAMES +
               rb"(?P<device>\d+,\d+) " + MOVES + rb" (?:\d+ )?(?:\(.*?\) )?" + EXTENT, re.M),
    re.compile(rb"^.*" + POINT + NAMES + rb"\S+ " + MOVES + rb" ", re.M),
    None,
    "not SECONDS.MICROSECONDS: block_rq_issue|block_rq_complete: MAJOR,MINOR RWBS BYTES () "
    "SECTOR + SECTORS")
ACTIONS = {b"rq_issue": b"D", b"rq_complete": b"C", b"bio_queue": b"Q", b"bio_complete": b"C"}
LOST = re.compile(rb"\bLOST (\d+) (?:EVENTS|events)")


def check(source, text, block, requests):
    """Error if a line is none of the program's."""
    good = len(text.like.findall(block.data)) == requests
    if good and text.line:
        lines = block.data.count(b"\n")
        fine = len(text.line.findall(block.data))
        good = fine == lines or fine == sum(1 for line in block.data.split(b"\n") if line.strip())
    if good:
        return
    for number, line in enumerate(block.data.split(b"\n"), block.first):
        if line.strip() and (text.line and not text.line.match(line) or
                             text.like.match(line) and not text.request.match(line)):
            raise source.error(number, "%s: %s" % (text.form, shown(line)))
    raise source.error(block.first, text.form)


def line_of(text, block, device):
    """The first line of a block with a request of a device."""
    for match in text.request.finditer(block.data):
        if match.group("device") == device:
            return block.first + block.data.count(b"\n", 0, match.start())
    raise ValueError(device)


def nanoseconds(seconds, fractions):
    """Of texts, the fractions having 6 or 9 digits."""
    return np.array(seconds, "S").astype(np.int64) * 10 ** 9 + np.array(
        [fraction.ljust(9, b"0") for fraction in fractions], "S").astype(np.int64)


def parse(source, text, block, devices, actions):
    """The events of one device in a block that are of these actions."""
    groups = text.request.groupindex
    order = [groups[name] - 1 for name in ("s", "f", "device", "event")]
    order += [n for n in range(text.request.groups) if n not in order]
    rows = [[row[n] for n in order] for row in text.request.findall(block.data)]
    check(source, text, block, len(rows))
    for lost in LOST.findall(block.data):
        source.note("%s events were lost when it was recorded" % lost.decode("ascii"))
    for row in rows:
        row[3] = ACTIONS.get(row[3], row[3])
    rows = [row for row in rows if row[3] in actions and row[6].strip(b"0")]
    for name in dict.fromkeys(row[2] for row in rows):
        devices.takes(name.decode("ascii"), line_of(text, block, name))
    mine = (devices.wanted or "").encode("ascii", "replace")
    rows = [row for row in rows if row[2] == mine]
    seconds, fractions, _, event, kinds, first, count = zip(*rows) if rows else 7 * ((),)
    return events.Events(nanoseconds(seconds, fractions), np.array(first, "S").astype(np.int64),
                         np.array(count, "S").astype(np.int64),
                         np.array([b"W" in kind for kind in kinds], dtype=bool),
                         np.array([action == b"C" for action in event], dtype=bool))


def batches(source, text, actions, size):
    """The events of a text, many at a time, up to its summary."""
    devices = Devices(source)
    ended = []

    def of_block(block):
        end = text.end and text.end.search(block.data)
        if ended:
            return None
        if end:
            ended.append(True)
            block = block._replace(data=block.data[:end.start()])
        return parse(source, text, block, devices, actions) if block.data.strip() else None

    for found in source.each(of_block, size):
        if found is not None:
            yield found
        if ended:
            return


def reader(text):
    """The function (source) -> chunks that reads such a text."""
    return lambda source, size=BLOCK: events.requests(
        source, lambda actions: batches(source, text, actions, size))
