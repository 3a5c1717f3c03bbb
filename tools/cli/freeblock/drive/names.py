# SPDX-License-Identifier: GPL-2.0
"""Which disk it is, whatever its name is today.

Asked of the drive itself, by INQUIRY (SPC-4 6.6, 7.8): so it is the same wherever the disk is
met. The world-wide name is written as the kernel writes it (/sys/block/sdX/device/wwid).
"""

import re

from .. import ToolError
from .pages import Refused, command

INQUIRY = 0x12
SERIAL, DEVICE_ID = 0x80, 0x83
ROOM = 252
UNKNOWN = "the disk says neither a world-wide name nor a serial number: it could not be " \
    "recognised again"
# designator type and length: which of several is taken, as in the kernel's scsi_vpd_lun_id()
NAA, EUI64, NAME = 3, 2, 8
RANKS = {(NAA, 16): 7, (EUI64, 16): 6, (EUI64, 12): 5, (NAA, 8): 4, (EUI64, 8): 3}


def standard(dev):
    """Standard INQUIRY data."""
    return command(dev, "INQUIRY", [INQUIRY, 0, 0, 0, 96, 0], data_in=96)


def vpd(dev, page):
    """A page of vital product data, its header included; b"": the drive has none such."""
    cdb = [INQUIRY, 1, page, ROOM >> 8, ROOM & 0xff, 0]
    try:
        data = command(dev, "INQUIRY, page %02xh" % page, cdb, data_in=ROOM)
        if len(data) >= 4 and data[1] == page and \
                int.from_bytes(data[2:4], "big") + 4 > len(data) == ROOM:
            room = int.from_bytes(data[2:4], "big") + 4
            cdb[3:5] = room >> 8 & 0xff, room & 0xff
            data = command(dev, "INQUIRY, page %02xh" % page, cdb, data_in=room)
    except Refused:
        return b""
    # some bridges answer with another page, or with nothing behind the header
    if len(data) < 5 or data[1] != page:
        return b""
    return data[:int.from_bytes(data[2:4], "big") + 4]


def supported(dev):
    """The pages of vital product data that the drive lists: others are not asked for, since
    there are drives and bridges that do not survive it."""
    return set(vpd(dev, 0)[4:])


def text(data):
    """Letters of a fixed field."""
    return "".join(chr(b) if 0x20 <= b < 0x7f else "?" if b else " " for b in data).strip()


def designators(page):
    """(type, bytes) of those in page 83h that name the logical unit."""
    at = 4
    while at + 4 <= len(page):
        length = page[at + 3]
        if at + 4 + length > len(page):
            return
        # association 0: the logical unit, not a port or the target
        if not page[at + 1] & 0x30:
            yield page[at + 1] & 0x0f, page[at + 4:at + 4 + length]
        at += 4 + length


def wwn_of(page):
    """The world-wide name in page 83h; "" if there is none."""
    best, name = 0, ""
    for kind, value in designators(page):
        rank = RANKS.get((kind, len(value)), 0)
        if rank > best:
            best, name = rank, ("naa." if kind == NAA else "eui.") + value.hex()
        elif not best and not name and kind == NAME:
            name = text(value)
    return name


def inquire(dev):
    """What names a disk for good: wwn, serial, vendor, product, revision; "" what it does not
    say."""
    data = standard(dev).ljust(36, b"\0")
    pages = supported(dev)
    return {"vendor": text(data[8:16]), "product": text(data[16:32]), "revision": text(data[32:36]),
            "serial": text(vpd(dev, SERIAL)[4:]) if SERIAL in pages else "",
            "wwn": wwn_of(vpd(dev, DEVICE_ID)) if DEVICE_ID in pages else ""}


def is_known(identity):
    """Whether it will be known for the same disk tomorrow."""
    return bool(identity["wwn"] or identity["serial"])


def key(identity):
    """A file's name for the disk: its world-wide name, or vendor, product and serial."""
    if identity["wwn"]:
        return file_name(identity["wwn"])
    if identity["serial"]:
        return file_name("-".join(identity[name] for name in ("vendor", "product", "serial")))
    raise ToolError(UNKNOWN)


def file_name(words):
    """Text as (part of) a file's name."""
    return re.sub(r"[^\w.-]+", "_", words, flags=re.ASCII).strip("_.")


def same(one, other):
    """Whether two are the same disk by all that both say, though its firmware may have been updated
    in between: a serial number that cannot be read now does not make it another."""
    return key(one) == key(other) and \
        (not one["serial"] or not other["serial"] or one["serial"] == other["serial"])


def may_be(unknown, identity):
    """Whether a disk that does not say which one it is may be this one."""
    return all(unknown[field] == identity[field] for field in ("vendor", "product", "sectors"))
