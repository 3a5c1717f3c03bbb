# SPDX-License-Identifier: GPL-2.0
"""What a drive says of where its blocks are: the Translate Address page (40h) of
SEND DIAGNOSTIC and RECEIVE DIAGNOSTIC RESULTS, and READ DEFECT DATA (SBC).

Everything here is in units; the drive's own addresses, LBNs, and sectors of the
physical formats, are its logical blocks.
"""

import struct
from dataclasses import dataclass

from .. import ToolError
from .pages import sense_of

SEND_DIAGNOSTIC, RECEIVE_DIAGNOSTIC = 0x1d, 0x1c
DEFECTS_10, DEFECTS_12 = 0x37, 0xb7
PAGE = 0x40
PAGE_FORMAT = 0x10
RAREA, ALTSEC, ALTTRK = 0x80, 0x40, 0x20
SHORT_BLOCK, LONG_BLOCK, INDEX, SECTOR = 0, 3, 4, 5
ADDRESS = 8             # bytes of one, in all formats
WHOLE_TRACK = 0xffffffff
PRIMARY, GROWN = 0x10, 0x08
ILLEGAL_REQUEST = 5
MOST = 1 << 20          # bytes of an answer
# Beyond so many a list is of no use: a model could not say it either
MOST_DEFECTS = 4000000


def _pack(form, address):
    """An address in the format of a parameter list; address: a logical block's
    number, or (cylinder, head, sector)."""
    if form == SHORT_BLOCK:
        return struct.pack(">II", address, 0)
    if form == LONG_BLOCK:
        return struct.pack(">Q", address)
    cyl, head, sector = address
    return struct.pack(">I", cyl << 8 | head) + struct.pack(">I", sector)


def _unpack(form, data):
    """The inverse of _pack()."""
    first, second = struct.unpack(">II", data)
    if form == SHORT_BLOCK:
        return first
    if form == LONG_BLOCK:
        return first << 32 | second
    return first >> 8, first & 0xff, second


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
        # what drives older than SBC-2 know, too, as long as it can say all LBNs
        self.block_form = SHORT_BLOCK if dev.blocks * self.lbns < 1 << 32 else LONG_BLOCK
        self.asked = 0

    def _translate(self, given, wanted, address):
        """(flags, address), the latter None if there is none; None if the drive
        says that the address does not exist."""
        self.asked += 1
        page = struct.pack(">BBHBB", PAGE, 0, 10, given, wanted) + _pack(given, address)
        cdb = struct.pack(">BBBHB", SEND_DIAGNOSTIC, PAGE_FORMAT, 0, len(page), 0)
        status, sense, _ = self.dev.cdb(cdb, data_out=page)
        if status:
            if sense_of(sense).key == ILLEGAL_REQUEST:
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
        """Whether the drive translates at all."""
        try:
            answer = self._translate(self.block_form, SECTOR, 0)
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
        answer = self._translate(self.block_form, SECTOR, int(block) * self.lbns)
        if not answer or answer[1] is None:
            raise ToolError("%s: the drive does not say where its block %d lies" %
                            (self.dev.name, block))
        cyl, head, sector = answer[1]
        return Place(cyl, head, self._slot(sector), bool(answer[0] & (ALTSEC | ALTTRK)))

    def tenant(self, cyl, head, slot):
        """(block, moved) that lives at a place, (None, False) if none does; None if
        there is no such place."""
        address = int(cyl), int(head), int(slot) * self.lbns
        answer = self._translate(SECTOR, self.block_form, address)
        if not answer:
            return None
        flags, block = answer
        if block is None or flags & RAREA:
            return None, False
        return block // self.lbns, bool(flags & (ALTSEC | ALTTRK))

    def has(self, cyl, head, slot):
        """Whether there is such a place."""
        return self.tenant(cyl, head, slot) is not None


def _read_defects(dev, command, which, first):
    """(format, descriptors' bytes in all or None, descriptors) from the first-th on;
    None if the drive refuses."""
    if command == DEFECTS_12:
        cdb = struct.pack(">BBIIBB", command, which | SECTOR, first, MOST, 0, 0)
        head = 8
    else:
        cdb = struct.pack(">BBBBBBBHB", command, 0, which | SECTOR, 0, 0, 0, 0, 0xffff, 0)
        head = 4
    status, sense, data = dev.cdb(cdb, data_in=MOST if head == 8 else 0xffff)
    # a list in another format than asked for is a recovered error
    if status and sense_of(sense).key != 1 or len(data) < head or not data[1] & which:
        return None
    length = int.from_bytes(data[head // 2:head], "big")
    return data[1] & 7, length, data[head:head + length]


def _whole_list(dev, which):
    """(format, descriptors) or None."""
    found = _read_defects(dev, DEFECTS_12, which, 0)
    if not found:
        found = _read_defects(dev, DEFECTS_10, which, 0)
        # all ones: longer than can be said; of no use if not whole
        if not found or found[1] == 0xffff or len(found[2]) < found[1]:
            return None
        return found[0], found[2]
    form, length, data = found
    size = 4 if form == SHORT_BLOCK else ADDRESS
    while len(data) < length:
        more = _read_defects(dev, DEFECTS_12, which, len(data) // size)
        # drives older than the index begin again
        if not more or not more[2] or more[2][:64] == data[:64] or \
                len(data) > MOST_DEFECTS * size:
            return None
        data += more[2]
    return form, data


@dataclass
class Defects:
    """What a drive knows to be defective: places as (cyl, head, slot), slot -1 for
    the whole track, or, if that is how it counts them, blocks."""

    places: list
    blocks: list


def defects(dev, which):
    """The PRIMARY or GROWN Defects, sorted; None if the drive does not say, or in a
    format that is not understood: whatever it is asked for it may choose one."""
    found = _whole_list(dev, which)
    if not found or found[0] not in (SHORT_BLOCK, LONG_BLOCK, INDEX, SECTOR):
        return None
    form, data = found
    lbns = dev.unit_sectors * 512 // dev.logical_bytes
    size = 4 if form == SHORT_BLOCK else ADDRESS
    places, blocks = set(), set()
    for at in range(0, len(data) - size + 1, size):
        if form in (SHORT_BLOCK, LONG_BLOCK):
            blocks.add(int.from_bytes(data[at:at + size], "big") // lbns)
            continue
        cyl, head, sector = _unpack(form, data[at:at + size])
        if sector != WHOLE_TRACK:
            sector //= lbns if form == SECTOR else dev.unit_bytes
        places.add((cyl, head, -1 if sector == WHOLE_TRACK else sector))
    return Defects(sorted(places), sorted(blocks))
