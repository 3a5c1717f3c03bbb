# SPDX-License-Identifier: GPL-2.0
"""Traces of real drives: one request per line, one outstanding.

    R|W  LABEL  LBN  SECTORS  RESPONSE_US  THINK_US

LABEL means nothing. Times may have decimals. What THINK_US is depends on who
wrote the trace: the pause before the record it stands on, or after it.
"""

import collections
import decimal
import re

from freeblock import ToolError
from . import score

# op: "R" or "W"; line: where the record stands in its file, from 1
Record = collections.namedtuple("Record", "op lbn count response_ns think_ns line")

# The simulated drive's clock counts ps in 64 bits: 213 days
CLOCK_DAYS = 100
CLOCK_NS = CLOCK_DAYS * 86400 * 10 ** 9
MAX_DIGITS = 40
LINE = re.compile(r"(R|W)\s+\S+\s+(-?\d+)\s+(-?\d+)\s+(-?\d+(?:\.\d*)?)\s+(-?\d+(?:\.\d*)?)\Z")
FORM = "not R|W LABEL LBN SECTORS RESPONSE_US THINK_US"


class Error(ToolError):
    """A trace that cannot be used: file, line, reason."""

    def __init__(self, path, line, reason):
        super().__init__("%s: line %d: %s" % (path, line, reason))


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value())


def parse(path, number, text):
    """The record that line `number` of `path` holds."""
    match = LINE.match(text.strip())
    if not match:
        raise Error(path, number, FORM)
    if max(map(len, match.groups())) > MAX_DIGITS:
        raise Error(path, number, "a number of more than %d digits" % MAX_DIGITS)
    op, lbn, count, response, think = match.groups()
    record = Record(op, int(lbn), int(count), nanoseconds(response), nanoseconds(think), number)
    for name, value in (("LBN", record.lbn), ("number of sectors", record.count),
                        ("response", record.response_ns), ("think time", record.think_ns)):
        if value < 0:
            raise Error(path, number, "negative " + name)
    if not record.count:
        raise Error(path, number, "no sectors")
    return record


def read(path):
    """All records of a trace; Error if a line is wrong or there is none."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            records = [parse(path, number, text) for number, text in enumerate(file, 1)
                       if text.strip()]
    except OSError as error:
        raise ToolError("%s: %s" % (path, error.strerror)) from error
    if not records:
        raise Error(path, 1, "no records")
    check_times(path, records)
    return records


def check_times(path, records):
    """Error if the times are none that a drive can have taken."""
    total = 0
    for record in records:
        if record.response_ns // 1000 > score.LONGEST_US:
            raise Error(path, record.line, "a response of more than %d s" %
                        (score.LONGEST_US // 10 ** 6))
        total += record.think_ns
        if total > CLOCK_NS:
            raise Error(path, record.line, "think times of more than %d days together" %
                        CLOCK_DAYS)
    if not any(record.response_ns for record in records):
        raise Error(path, records[0].line, "this and all other responses take no time")


def check_capacity(path, records, sectors):
    """Error if a record reaches beyond a drive of `sectors` LBNs."""
    for record in records:
        if record.lbn + record.count > sectors:
            raise Error(path, record.line, "LBNs %d to %d reach beyond the drive's last, %d" %
                        (record.lbn, record.lbn + record.count - 1, sectors - 1))


def waits(records, think):
    """Pause before each record since the completion of the one before, ns."""
    thinks = [record.think_ns for record in records]
    if think == "before":
        return thinks
    if think == "after":
        return [0] + thinks[:-1]
    raise ValueError(think)
