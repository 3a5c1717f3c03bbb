# SPDX-License-Identifier: GPL-2.0
"""Mode pages over any device that carries out commands: MODE SENSE (10) and MODE SELECT (10).

SPC-4 6.14 and 7.5. Drives differ in whether they leave block descriptors out when asked to (DBD),
and in how long a page is: the caching page had 10 bytes in SCSI-2 and has 18 since. All lengths
are the drive's.
"""

import collections

from .. import ToolError

MODE_SENSE, MODE_SELECT = 0x5a, 0x55
NO_DESCRIPTORS = 0x08           # DBD
PAGE_FORMAT = 0x10              # PF: pages as in the standard; SP, 01h, is never set
CURRENT, CHANGEABLE = 0, 1
ROOM = 252                      # a multiple of 4, which some bridges want
HEAD = 8                        # bytes before descriptors and pages
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

    def read(self, page, control=CURRENT):
        """A page's bytes from its code on, the saveable bit cleared; None: the drive has none.
        ToolError: it sent what is none."""
        cdb = [MODE_SENSE, NO_DESCRIPTORS, control << 6 | page, 0, 0, 0, 0, 0, ROOM, 0]
        try:
            data = command(self.dev, "MODE SENSE, page %02xh" % page, cdb, data_in=ROOM)
        except Refused:
            return None
        return _page(data, page)

    def write(self, page):
        """Make these a page's current values; nothing is saved. Refused if it is refused."""
        # no descriptors: capacity stays (SPC-4 7.5.5)
        listed = bytes(HEAD) + bytes([page[0] & 0x3f]) + page[1:]
        command(self.dev, "MODE SELECT, page %02xh" % page[0],
                [MODE_SELECT, PAGE_FORMAT, 0, 0, 0, 0, 0, 0, len(listed), 0], data_out=listed)


def _page(data, page):
    """The page in what MODE SENSE sent; ToolError if it is not there, or not whole."""
    if len(data) < HEAD:
        raise ToolError("MODE SENSE, page %02xh: only %d bytes" % (page, len(data)))
    length, blocks = int.from_bytes(data[:2], "big") + 2, int.from_bytes(data[6:8], "big")
    found = data[HEAD + blocks:min(length, len(data))]
    # saveable or not does not concern us; a sub-page is another page
    if len(found) < 3 or found[0] & 0x40 or found[0] & 0x3f != page:
        raise ToolError("MODE SENSE, page %02xh: the drive sent something else: %s" %
                        (page, data[:min(length, len(data))].hex(" ")))
    if len(found) < 2 + found[1]:
        raise ToolError("MODE SENSE, page %02xh: cut short: %d of %d bytes" %
                        (page, len(found), 2 + found[1]))
    return bytes([page]) + found[1:2 + found[1]]
