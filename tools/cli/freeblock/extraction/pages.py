# SPDX-License-Identifier: GPL-2.0
"""Mode pages over any device that carries out commands: MODE SENSE and MODE SELECT.

SPC-4 6.13 and 7.5. Drives differ in which of the commands they know (those of 6 bytes
alone, before SPC-2), in whether they leave block descriptors out when asked to (DBD), and in
how long a page is: the caching page had 10 bytes in SCSI-2 and has 18 since. All lengths
are the drive's.
"""

import collections

from .. import ToolError

SENSE_6, SENSE_10 = 0x1a, 0x5a
SELECT_6, SELECT_10 = 0x15, 0x55
NO_DESCRIPTORS = 0x08           # DBD
PAGE_FORMAT = 0x10              # PF: pages as in the standard; SP, 01h, is never set
CURRENT, CHANGEABLE = 0, 1
# fits the 6-byte command; a multiple of 4, which some bridges want
ROOM = 252
GOOD, CHECK = 0, 2
RECOVERED, ILLEGAL, ATTENTION = 1, 5, 6
# unit attentions in a row: a reset, a change of parameters by another initiator, ...
TRIES = 5

Sense = collections.namedtuple("Sense", "key asc ascq")


class Refused(ToolError):
    """The drive did not carry out a command."""

    def __init__(self, what, status, sense):
        self.sense = sense_of(sense)
        super().__init__("%s: %s" % (what, "sense %x/%02x/%02x" % self.sense if status == CHECK
                                     else "status %02x" % status))


def sense_of(data):
    """Key and codes of sense data in either format (SPC-4 4.5); zeros if there are none."""
    data = bytes(data or b"").ljust(14, b"\0")
    if data[0] & 0x7f in (0x72, 0x73):
        return Sense(data[1] & 0x0f, data[2], data[3])
    if data[0] & 0x7f in (0x70, 0x71):
        return Sense(data[2] & 0x0f, data[12], data[13])
    return Sense(0, 0, 0)


def command(dev, what, cdb, data_out=b"", data_in=0):
    """Carry out a command that is not timed; what it sent. Refused if it failed."""
    for _ in range(TRIES):
        status, sense, data = dev.cdb(bytes(cdb), bytes(data_out), data_in)
        key = sense_of(sense).key
        if status == GOOD or (status == CHECK and key == RECOVERED):
            return bytes(data or b"")
        if status != CHECK or key != ATTENTION:
            break
    raise Refused(what, status, sense)


class Pages:
    """The mode pages of a drive."""

    def __init__(self, dev):
        self.dev = dev
        # how the drive wants to be asked: 10 bytes?, without descriptors?
        self.way = None

    def _ask(self, way, page, control):
        ten, bare = way
        flags = NO_DESCRIPTORS if bare else 0
        code = control << 6 | page
        cdb = [SENSE_10, flags, code, 0, 0, 0, 0, 0, ROOM, 0] if ten else \
            [SENSE_6, flags, code, 0, ROOM, 0]
        return _page(command(self.dev, "MODE SENSE, page %02xh" % page, cdb, data_in=ROOM),
                     ten, page)

    def read(self, page, control=CURRENT):
        """A page's bytes from its code on, the saveable bit cleared; None: the drive has none.
        ToolError: it sent what is none."""
        ways = [self.way] if self.way else [(ten, bare) for ten in (True, False)
                                            for bare in (True, False)]
        wrong = None
        for way in ways:
            try:
                found = self._ask(way, page, control)
            except Refused:
                continue
            except ToolError as error:
                wrong = error
                continue
            self.way = way
            return found
        if wrong:
            raise wrong
        return None

    def write(self, page):
        """Make these a page's current values; nothing is saved. Refused if it is refused."""
        head = bytes(8 if self.way[0] else 4)   # no descriptors: capacity stays (SPC-4 7.5.5)
        listed = head + bytes([page[0] & 0x3f]) + page[1:]
        if self.way[0]:
            cdb = [SELECT_10, PAGE_FORMAT, 0, 0, 0, 0, 0, 0, len(listed), 0]
        else:
            cdb = [SELECT_6, PAGE_FORMAT, 0, 0, len(listed), 0]
        command(self.dev, "MODE SELECT, page %02xh" % page[0], cdb, data_out=listed)


def _page(data, ten, page):
    """The page in what MODE SENSE sent; ToolError if it is not there, or not whole."""
    head = 8 if ten else 4
    if len(data) < head:
        raise ToolError("MODE SENSE, page %02xh: only %d bytes" % (page, len(data)))
    if ten:
        length, blocks = int.from_bytes(data[:2], "big") + 2, int.from_bytes(data[6:8], "big")
    else:
        length, blocks = data[0] + 1, data[3]
    found = data[head + blocks:min(length, len(data))]
    # saveable or not does not concern us; a sub-page is another page
    if len(found) < 3 or found[0] & 0x40 or found[0] & 0x3f != page:
        raise ToolError("MODE SENSE, page %02xh: the drive sent something else: %s" %
                        (page, data[:min(length, len(data))].hex(" ")))
    if len(found) < 2 + found[1]:
        raise ToolError("MODE SENSE, page %02xh: cut short: %d of %d bytes" %
                        (page, len(found), 2 + found[1]))
    return bytes([page]) + found[1:2 + found[1]]
