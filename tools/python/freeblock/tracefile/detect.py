# SPDX-License-Identifier: GPL-2.0
"""Which program wrote a trace."""

import re

from . import Error, blkparse, blktrace, iolog, msr
from .text import open_binary, shown

BEGIN = 4096


def reader(path):
    """The function (path, device) -> chunks that reads this file."""
    path = str(path)
    if blktrace.members(path):
        return blktrace.read
    with open_binary(path) as file:
        begin = file.read(BEGIN)
    if blktrace.is_one(begin):
        return blktrace.read
    lines = [line for line in begin.split(b"\n") if line.strip()] or [b""]
    if lines[0].startswith(b"fio version"):
        return iolog.read
    if lines[0].count(b",") >= 3 and re.match(rb"(?i)\s*(\d+|timestamp)\s*,", lines[0]):
        return msr.read
    if re.match(blkparse.START, lines[0]):
        return blkparse.read
    raise Error(path, 1, "neither blktrace, blkparse's text, fio's iolog nor MSR's CSV: %s" %
                shown(lines[0]))
