# SPDX-License-Identifier: GPL-2.0
"""What a drive says of where its blocks are: the Translate Address page (40h) of
SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS (SBC).

Everything here is in units; the drive's own addresses, LBNs, and sectors of the
physical format, are its logical blocks.
"""

import struct
from dataclasses import dataclass

from .. import ToolError
from ..drive.pages import ILLEGAL, sense_of

SEND_DIAGNOSTIC, RECEIVE_DIAGNOSTIC = 0x1d, 0x1c
PAGE = 0x40
PAGE_FORMAT = 0x10
RAREA, ALTSEC, ALTTRK = 0x80, 0x40, 0x20
BLOCK, SECTOR = 0, 5
ADDRESS = 8             # bytes of one, in all formats


def _pack(form, address):
    """An address in the format of a parameter list; address: a logical block's
    number, or (cylinder, head, sector)."""
    if form == BLOCK:
        return struct.pack(">II", address, 0)
    cyl, head, sector = address
    return struct.pack(">II", cyl << 8 | head, sector)


def _unpack(form, data):
    """The inverse of _pack()."""
    first, second = struct.unpack(">II", data)
    return first if form == BLOCK else (first >> 8, first & 0xff, second)


@dataclass
class Place:
    """Where a block lives; moved: in a spare."""

    cyl: int
    head: int
    slot: int
    moved: bool


class Translator:
    """Asks a drive for addresses. `asked` counts the questions."""

    def __init__(self, dev):
        self.dev = dev
        self.lbns = dev.unit_sectors * 512 // dev.logical_bytes
        self.asked = 0

    def _translate(self, given, wanted, address):
        """(flags, address), the latter None if there is none; None if the drive
        says that the address does not exist."""
        self.asked += 1
        page = struct.pack(">BBHBB", PAGE, 0, 10, given, wanted) + _pack(given, address)
        cdb = struct.pack(">BBBHB", SEND_DIAGNOSTIC, PAGE_FORMAT, 0, len(page), 0)
        status, sense, _ = self.dev.cdb(cdb, data_out=page)
        if status:
            if sense_of(sense).key == ILLEGAL:
                return None
            raise ToolError("%s: SEND DIAGNOSTIC fails (status %d, sense key %d)" %
                            (self.dev.name, status, sense_of(sense).key))
        cdb = struct.pack(">BBBHB", RECEIVE_DIAGNOSTIC, 0, 0, 252, 0)
        status, sense, data = self.dev.cdb(cdb, data_in=252)
        if status or len(data) < 6 or data[0] != PAGE or data[4] & 7 != given or \
                data[5] & 7 != wanted:
            raise ToolError("%s: RECEIVE DIAGNOSTIC RESULTS does not answer a Translate Address "
                            "page (status %d, %s)" % (self.dev.name, status, data[:6].hex(" ")))
        length = min(int.from_bytes(data[2:4], "big") + 4, len(data)) - 6
        found = data[6:6 + ADDRESS]
        return data[5], _unpack(wanted, found) if length >= ADDRESS else None

    def supported(self):
        """Whether the drive translates at all, in the form that those older than SBC-2 know, too,
        which can say 2^32 LBNs."""
        if self.dev.blocks * self.lbns >= 1 << 32:
            return False
        try:
            answer = self._translate(BLOCK, SECTOR, 0)
        except ToolError:
            return False
        return bool(answer) and answer[1] is not None

    def _slot(self, sector):
        slot, rest = divmod(sector, self.lbns)
        if rest:
            raise ToolError("%s: physical blocks that straddle tracks are not understood" %
                            self.dev.name)
        return slot

    def place(self, block):
        """Where a block lives."""
        answer = self._translate(BLOCK, SECTOR, int(block) * self.lbns)
        if not answer or answer[1] is None:
            raise ToolError("%s: the drive does not say where its block %d lies" %
                            (self.dev.name, block))
        cyl, head, sector = answer[1]
        return Place(cyl, head, self._slot(sector), bool(answer[0] & (ALTSEC | ALTTRK)))

    def tenant(self, cyl, head, slot):
        """(block, moved) that lives at a place, (None, False) if none does; None if
        there is no such place."""
        address = int(cyl), int(head), int(slot) * self.lbns
        answer = self._translate(SECTOR, BLOCK, address)
        if not answer:
            return None
        flags, block = answer
        if block is None or flags & RAREA:
            return None, False
        return block // self.lbns, bool(flags & (ALTSEC | ALTTRK))

    def has(self, cyl, head, slot):
        """Whether there is such a place."""
        return self.tenant(cyl, head, slot) is not None
