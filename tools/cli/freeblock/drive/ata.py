# SPDX-License-Identifier: GPL-2.0
"""What is asked of a SATA disk by ATA PASS-THROUGH (16), since its translation lacks it.

The kernel's translation (libata) lets mode pages change the write cache alone. So write cache
and look-ahead of a SATA disk are switched by SET FEATURES, and Settings shows both as one more
page, beside the mode pages: what works with pages works with it.

Sources: SAT-4 12.2 (ATA PASS-THROUGH), ACS-4 7.13 (IDENTIFY DEVICE: words 76, 82 to 87, 255),
7.45 (SET FEATURES), Linux 6.1 drivers/ata/libata-core.c, ata_rwcmd_protocol() (no reads with FUA
but those of NCQ).
"""

import collections

from .. import ToolError
from . import names, sysfs
from .pages import CHANGEABLE, CURRENT, ILLEGAL, Pages, Refused, command

VENDOR, INFORMATION = "ATA", 0x89               # of an INQUIRY; page of vital product data
PASS_16, IDENTIFY, SET_FEATURES = 0x85, 0xec, 0xef
NO_DATA, PIO_IN = 3 << 1, 4 << 1                # protocols, byte 1
TO_HOST_BLOCKS = 0x0e                           # byte 2: the count says how many, to the host
READ_16, FUA = 0x88, 0x08
ROOM = 4096                                     # of the largest block

# No mode page has this number: they have six bits
PAGE = PASS_16
BYTE = 2
WRITE_CACHE, LOOK_AHEAD = 0x20, 0x40            # bits of words 82 (supported) and 85 (enabled)
# the subcommands of SET FEATURES that switch it off and on
SUBCOMMANDS = {WRITE_CACHE: (0x82, 0x02), LOOK_AHEAD: (0x55, 0xaa)}
NCQ = 0x0100                                    # of word 76

Way = collections.namedtuple("Way", "sata features ncq depth fua queue")
Way.__doc__ = """What the way to a disk can do. sata: by which sign it is a SATA one, "" if by none;
features: "", or why SET FEATURES does not reach it; ncq: the drive knows NCQ (None: it cannot be
asked); depth: commands that reach it at once (None: it is not known); fua: reads with FUA do;
queue: the file with the depth, or ""."""


def sign(dev):
    """By which sign a disk is a SATA one; "": by none. The vendor alone is no sign of its
    absence: enclosures give their disks a vendor of their own."""
    if INFORMATION in names.supported(dev):
        return "VPD page 89h"
    return "vendor ATA" if names.text(names.standard(dev)[8:16]) == VENDOR else ""


def identify(dev):
    """The words of IDENTIFY DEVICE. Refused if the command does not reach a drive; ToolError if
    something else answers."""
    cdb = bytes([PASS_16, PIO_IN, TO_HOST_BLOCKS, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, IDENTIFY, 0])
    data = command(dev, "IDENTIFY DEVICE", cdb, data_in=512)
    # word 255: a signature and a sum, which old drives lack
    if len(data) != 512 or data[510] == 0xa5 and sum(data) % 256:
        raise ToolError("IDENTIFY DEVICE: what came is spoiled (%d bytes)" % len(data))
    return [int.from_bytes(data[at:at + 2], "little") for at in range(0, 512, 2)]


def _settings(words):
    """Words 82 and 85, if they are valid: words 83 and 87 say so. ToolError if not."""
    if any(words[valid] >> 14 != 1 for valid in (83, 87)):
        raise ToolError("IDENTIFY DEVICE does not say which features are on")
    return words[82], words[82] & words[85]


def _set(dev, subcommand):
    """SET FEATURES. Refused if the drive refuses it."""
    cdb = bytes([PASS_16, NO_DATA, 0, 0, subcommand] + [0] * 9 + [SET_FEATURES, 0])
    command(dev, "SET FEATURES %02xh" % subcommand, cdb)


class Settings(Pages):
    """A drive's mode pages, and what SET FEATURES switches as page PAGE: its third byte has
    bits 5 and 6 of word 85, and those of word 82 are the changeable ones."""

    def read(self, page, control=CURRENT):
        """As Pages.read()."""
        if page != PAGE:
            return super().read(page, control)
        supported, enabled = _settings(identify(self.dev))
        value = supported if control == CHANGEABLE else enabled
        return bytes([PAGE, 1, value & (WRITE_CACHE | LOOK_AHEAD)])

    def write(self, page):
        """As Pages.write(): of what is refused in part nothing stays changed."""
        if page[0] != PAGE:
            super().write(page)
            return
        changed = self.read(PAGE)[BYTE] ^ page[BYTE]
        done = []
        for bit, subcommands in SUBCOMMANDS.items():
            if not changed & bit:
                continue
            on = bool(page[BYTE] & bit)
            try:
                _set(self.dev, subcommands[on])
            except Refused:
                for back in done:
                    _set(self.dev, back)
                raise
            done.append(subcommands[not on])


def _features(dev):
    """("" or why SET FEATURES is of no use, whether the drive knows NCQ)."""
    try:
        words = identify(dev)
        _settings(words)
    except ToolError as error:
        return str(error), None
    return "", bool(words[76] & NCQ and words[76] != 0xffff)


def reaches(dev):
    """Whether SET FEATURES does: it is a SATA disk, and the way passes ATA commands on."""
    return bool(sign(dev)) and not _features(dev)[0]


def _reads_with_fua(dev):
    """Whether one is carried out, and be it in vain."""
    cdb = bytes([READ_16, FUA] + [0] * 11 + [1, 0, 0])
    try:
        command(dev, "READ (16) with FUA", cdb, data_in=ROOM)
    except Refused as error:
        return error.sense.key != ILLEGAL
    return True


def way(dev, node=None):
    """What the way to a disk can do; nothing is changed. node: its directory in sysfs."""
    sata = sign(dev)
    features, ncq = _features(dev) if sata else ("", None)
    said = sysfs.line(node, "queue_depth") if node else ""
    return Way(sata, features, ncq, int(said) if said.isdigit() else None,
               not sata or _reads_with_fua(dev), node + "/queue_depth" if said else "")


def lines(found):
    """For people: what is done of a SATA disk, and what its way cannot do."""
    if not found.sata:
        return []
    head = "a SATA disk (%s): " % found.sata
    if found.features:
        return [head + "SET FEATURES does not reach it (%s): its look-ahead may stay on, and is "
                "switched by mode pages if they can" % found.features]
    return [head + "look-ahead and write cache are switched by SET FEATURES, and back at the end; "
            "no command switches its read cache: reads with FUA, under NCQ, go round it"]
