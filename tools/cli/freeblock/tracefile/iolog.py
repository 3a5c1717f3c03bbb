# SPDX-License-Identifier: GPL-2.0
"""The iolog of fio.

Version 3: US FILE ACTION [OFFSET LENGTH], the time in microseconds from the
start (fio's manual leaves the unit open; fio writes microseconds, and other
programs milliseconds or nanoseconds).
Version 2: FILE ACTION [OFFSET LENGTH]; its only times are those of "wait",
microseconds since the wait before: a log without any is refused. Neither tells
response times. Devices are the files.
"""

import numpy as np

from . import make_chunk
from .text import BLOCK, Devices, shown

HEADERS = {b"fio version 2 iolog": 2, b"fio version 3 iolog": 3}
FORMS = {2: "not FILE ACTION [OFFSET LENGTH]", 3: "not MICROSECONDS FILE ACTION [OFFSET LENGTH]"}
MANAGE = (b"add", b"open", b"close")
MOVE = (b"read", b"write")
OTHER = (b"sync", b"datasync", b"trim")
DIGITS = 15
SECTOR = 512
UNIT_NS = 1000


class Log:
    """What is known of a log so far."""

    def __init__(self, source):
        self.source, self.error = source, source.error
        self.unit_ns = source.unit_ns or UNIT_NS
        source.sure = False
        self.version = None
        self.now = 0
        self.waited = False
        self.devices = Devices(source)

    def number(self, line, word, what):
        """A number of a line."""
        if not word.isdigit() or len(word) > DIGITS:
            raise self.error(line, "%s %s is no number of up to %d digits" % (
                what, shown(word), DIGITS))
        return int(word)

    def header(self, number, line):
        """The first line."""
        self.version = HEADERS.get(line.strip())
        if not self.version:
            raise self.error(number, "%s: only versions 2 and 3 have what is needed" % shown(line))

    def request(self, number, line):
        """(time, offset, length, write) of a line; None if it is none."""
        words = line.split()
        if self.version == 3 and words:
            time = self.number(number, words.pop(0), "time")
            if time < self.now:
                raise self.error(number, "the time goes back from %d to %d" % (
                    self.now, time))
            self.now = time
        if len(words) == 2 and words[1] in MANAGE:
            return None
        if len(words) != 4:
            raise self.error(number, "%s: %s" % (FORMS[self.version], shown(line)))
        name, action, offset, length = words
        offset = self.number(number, offset, "offset")
        length = self.number(number, length, "length")
        return self.act(number, name, action, offset, length)

    def act(self, number, name, action, offset, length):
        """An action with its two numbers."""
        if action == b"wait" and self.version == 2:
            self.waited = True
            self.now += offset
            return None
        if action in OTHER:
            return None
        if action not in MOVE:
            raise self.error(number, "unknown action %s" % shown(action))
        if not length:
            raise self.error(number, "a request of no bytes")
        if not self.devices.takes(name.decode("utf-8", "replace"), number):
            return None
        return self.now, offset, length, action == b"write"

    def chunk(self, block):
        """A block's requests."""
        rows = []
        for number, line in enumerate(block.data.split(b"\n"), block.first):
            if not line.strip():
                continue
            if self.version is None:
                self.header(number, line)
                continue
            row = self.request(number, line)
            if row:
                rows.append(row)
        columns = np.array(rows, np.int64).reshape(-1, 4)
        ends = -(-(columns[:, 1] + columns[:, 2]) // SECTOR)
        first = columns[:, 1] // SECTOR
        time_ns = self.source.nanoseconds(columns[:, 0], self.unit_ns, block.first)
        return make_chunk(time_ns, first, ends - first, columns[:, 3] > 0,
                          np.full(len(columns), -1))


def read(source, size=BLOCK):
    """Chunks of an iolog."""
    log = Log(source)
    yield from source.each(log.chunk, size)
    if log.version == 2 and not log.waited:
        raise source.error("the whole file", "version 2 without \"wait\": it has no times (fio "
                           "3.31 and later write version 3, which has)")
