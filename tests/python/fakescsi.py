# SPDX-License-Identifier: GPL-2.0
"""Drives made of bytes for the tests of what is asked of drives: INQUIRY with any pages,
mode pages with any manners, ATA commands. They live on when their host dies: Server carries out
commands for other processes, Remote sends them there.
"""

import os
import socket
import struct
import tempfile
import threading

from freeblock import ToolError

# SBC-3 table 169 with WCE, RCD and DRA changeable; SPC-4 table 394 with the queue algorithm
CACHING = bytes.fromhex("0812 04 00 ffff 0000 ffff ffff 00 10 0000 00 000000")
CACHING_MAY = bytes.fromhex("0812 05 00 0000 0000 0000 0000 20 00 0000 00 000000")
CONTROL = bytes.fromhex("0a0a 02 10 00 00 0000 ffff 0000")
CONTROL_MAY = bytes.fromhex("0a0a 00 f0 00 00 0000 0000 0000")
WWN = bytes.fromhex("5000c500a1b2c3d4")
ILLEGAL = 5


def inquiry(vendor="ACME", product="DISK 9", revision="0001", kind=0):
    """Standard INQUIRY data."""
    return bytes([kind, 0, 6, 2, 91, 0, 0, 2]) + vendor.encode().ljust(8) + \
        product.encode().ljust(16) + revision.encode().ljust(4) + bytes(60)


def vpd(page, data):
    """A page of vital product data."""
    return bytes([0, page]) + struct.pack(">H", len(data)) + data


def sense(key, asc, ascq=0):
    """Sense data of the fixed format."""
    data = bytearray(18)
    data[0], data[7] = 0x70, 10
    data[2], data[12], data[13] = key, asc, ascq
    return bytes(data)


class Drive:
    """The drive. `manners` are words:

    descriptors sends a block descriptor whatever DBD says
    refuses     refuses every MODE SELECT
    one_bit     refuses a MODE SELECT that changes more than one bit
    deaf        takes MODE SELECT and does nothing
    attention   reports a unit attention first, to every other command
    descriptor_sense  sense data of the other format
    short       sends less of a page than its length says
    old         knows READ CAPACITY (10) only
    not_ready   has not been spun up
    """

    name = "a drive of bytes"

    def __init__(self, *manners, pages=None, may=None, vpds=None, standard=None):
        self.manners = set(manners)
        self.pages = dict(pages if pages is not None else {8: CACHING, 10: CONTROL})
        self.may = dict(may if may is not None else {8: CACHING_MAY, 10: CONTROL_MAY})
        self.saved = dict(self.pages)
        self.standard = standard or inquiry()
        self.vpd = {0x80: vpd(0x80, b"SERIAL01"),
                    0x83: vpd(0x83, bytes([1, 3, 0, 8]) + WWN)} if vpds is None else vpds
        self.log = []
        self.gone = False
        self.told = False
        self.blocks, self.block_bytes = 1000000, 512

    def reset(self):
        """As by a bus reset: saved values are current again."""
        self.pages = dict(self.saved)

    def _sense(self, key, asc, ascq=0):
        if "descriptor_sense" in self.manners:
            return 2, bytes([0x72, key, asc, ascq, 0, 0, 0, 0]), b""
        return 2, sense(key, asc, ascq), b""

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Carry out a command."""
        if self.gone:
            raise ToolError("%s: it is gone" % self.name)
        self.log.append(bytes(cdb))
        if "attention" in self.manners:
            self.told = not self.told
            if self.told:
                return self._sense(6, 0x29)
        answer = {0x12: self._inquiry, 0x5a: self._mode_sense, 0x55: self._mode_select,
                  0x25: self._capacity, 0x9e: self._capacity,
                  0x35: lambda *_: b""}.get(cdb[0])
        if not answer:
            return self._sense(ILLEGAL, 0x20)
        said = answer(bytes(cdb), bytes(data_out))
        return said if isinstance(said, tuple) else (0, b"", said[:data_in])

    def _inquiry(self, cdb, _):
        room = int.from_bytes(cdb[3:5], "big")
        if not cdb[1] & 1:
            return self.standard[:room]
        pages = dict(self.vpd)
        if self.vpd:
            pages[0] = vpd(0, bytes(sorted([0, *self.vpd])))
        return pages[cdb[2]][:room] if cdb[2] in pages else self._sense(ILLEGAL, 0x24)

    def _capacity(self, cdb, _):
        if "not_ready" in self.manners:
            return self._sense(2, 4, 2)
        if cdb[0] == 0x25:
            return struct.pack(">II", min(self.blocks - 1, 0xffffffff), self.block_bytes)
        if "old" in self.manners:
            return self._sense(ILLEGAL, 0x20)
        return struct.pack(">QI", self.blocks - 1 & (1 << 64) - 1, self.block_bytes) + bytes(20)

    def _mode_sense(self, cdb, _):
        page, control = cdb[2] & 0x3f, cdb[2] >> 6
        found = {0: self.pages, 1: self.may}.get(control, {}).get(page)
        if found is None:
            return self._sense(ILLEGAL, 0x24)
        found = bytes([found[0] | 0x80]) + found[1:]
        blocks = b"" if cdb[1] & 8 and "descriptors" not in self.manners else \
            bytes.fromhex("00ffffff00000200")
        body = blocks + (found[:-3] if "short" in self.manners else found)
        data = struct.pack(">HBBBBH", len(body) + 6, 0, 0x10, 0, 0, len(blocks)) + body
        return data[:int.from_bytes(cdb[7:9], "big")]

    def _mode_select(self, cdb, data):
        length = int.from_bytes(cdb[7:9], "big")
        page = data[8 + int.from_bytes(data[6:8], "big"):]
        now = self.pages.get(page[0] & 0x3f)
        # PF and not SP, what SPC wants to be 0, the length as it was
        if cdb[1] != 0x10:
            return self._sense(ILLEGAL, 0x24)
        if length != len(data) or data[0] or page[0] & 0xc0 or now is None or \
                len(page) != len(now) or page[1] != now[1]:
            return self._sense(ILLEGAL, 0x26)
        may = self.may.get(page[0], bytes(len(now)))
        changed = [(a ^ b, m) for a, b, m in zip(page, now, may)]
        bits = sum(1 for x, m in changed if x)
        if any(x & ~m for x, m in changed) or "refuses" in self.manners or \
                ("one_bit" in self.manners and bits > 1):
            return self._sense(ILLEGAL, 0x26)
        if "deaf" not in self.manners:
            self.pages[page[0]] = page
        return b""


class AtaDrive(Drive):
    """A SATA disk behind the kernel's translation, or an enclosure's: its mode pages let nothing
    be changed but the write cache (libata), its caches are those of SET FEATURES. What is on of
    them is pages[85h], whose third byte has bits 5 and 6 of word 85. More manners:

    no_pass     ATA PASS-THROUGH is not known
    spoiled     IDENTIFY DEVICE with a wrong sum
    untold      word 87 does not say that words 85 to 87 are valid
    stubborn    refuses SET FEATURES 55h (look-ahead off)
    refuses     all SET FEATURES
    deaf        takes SET FEATURES and does nothing
    no_fua      refuses reads with FUA, as libata without NCQ
    fua_error   a read with FUA is carried out, and finds a bad sector
    no_ncq      word 76 does not say NCQ
    """

    name = "/dev/sdata"

    def __init__(self, *manners, vendor="ATA", sign=True, supported=0x60, enabled=0x60, **more):
        vpds = more.pop("vpds", {0x80: vpd(0x80, b"SERIAL01"),
                                 0x83: vpd(0x83, bytes([1, 3, 0, 8]) + WWN)})
        super().__init__(*manners, standard=inquiry(vendor), may={
            8: CACHING_MAY[:2] + b"\x04" + bytes(17), 10: CONTROL_MAY[:3] + bytes(9)},
            vpds={**vpds, **({0x89: vpd(0x89, bytes(568))} if sign else {})}, **more)
        self.supported = supported
        self.pages[0x85] = bytes([0x85, 1, enabled])
        self.saved = dict(self.pages)

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Carry out a command."""
        if cdb[0] not in (0x85, 0x88):
            return super().cdb(cdb, data_out, data_in)
        if self.gone:
            raise ToolError("%s: it is gone" % self.name)
        self.log.append(bytes(cdb))
        return self._read(cdb) if cdb[0] == 0x88 else self._pass(cdb)

    def _read(self, cdb):
        if cdb[1] & 8 and "no_fua" in self.manners:
            return self._sense(ILLEGAL, 0x24)
        if "fua_error" in self.manners:
            return self._sense(3, 0x11)
        return 0, b"", bytes(512)

    def _pass(self, cdb):
        if "no_pass" in self.manners:
            return self._sense(ILLEGAL, 0x20)
        # the protocols of SAT-4, table 172: no data, PIO in; one block to the host
        if cdb[14] == 0xec and cdb[1] == 4 << 1 and cdb[2] == 0x0e and cdb[6] == 1:
            return 0, b"", self._identify()
        if cdb[14] == 0xef and cdb[1] == 3 << 1 and self._set(cdb[4]):
            return 0, b"", b""
        return self._sense(0x0b, 0)

    def _identify(self):
        data = bytearray(512)

        def word(number, value):
            struct.pack_into("<H", data, 2 * number, value)

        word(76, 0 if "no_ncq" in self.manners else 0x0100)
        word(82, self.supported)
        word(83, 0x4000)
        word(85, self.pages[0x85][2])
        word(87, 0 if "untold" in self.manners else 0x4000)
        data[510] = 0xa5
        data[511] = -sum(data) % 256 ^ ("spoiled" in self.manners)
        return bytes(data)

    def _set(self, subcommand):
        bit, on = {0x02: (0x20, True), 0x82: (0x20, False),
                   0xaa: (0x40, True), 0x55: (0x40, False)}.get(subcommand, (0, False))
        if not bit & self.supported or "refuses" in self.manners or \
                ("stubborn" in self.manners and subcommand == 0x55):
            return False
        now = self.pages[0x85][2]
        if "deaf" not in self.manners:
            self.pages[0x85] = bytes([0x85, 1, now | bit if on else now & ~bit])
        return True


class Server:
    """Carries out commands for others, on a socket."""

    def __init__(self, drive):
        self.drive = drive
        self.folder = tempfile.TemporaryDirectory()
        self.address = os.path.join(self.folder.name, "drive")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.address)
        self.socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                to, _ = self.socket.accept()
            except OSError:
                return
            with to:
                self._serve(to)

    def _serve(self, to):
        with to.makefile("rwb") as file:
            while len(head := file.read(12)) == 12:
                cdb, out, room = struct.unpack("<III", head)
                cdb, data = file.read(cdb), file.read(out)
                status, said, answer = self.drive.cdb(cdb, data, room)
                try:
                    file.write(struct.pack("<III", status, len(said), len(answer)) + said + answer)
                    file.flush()
                except (BrokenPipeError, ConnectionResetError):
                    return

    def close(self):
        """The end."""
        self.socket.close()
        self.folder.cleanup()


class Remote:
    """A drive behind a server."""

    name = "/dev/far"

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(address)
        self.file = self.socket.makefile("rwb")

    def cdb(self, cdb, data_out=b"", data_in=0):
        """Have it carried out there."""
        self.file.write(struct.pack("<III", len(cdb), len(data_out), data_in) +
                        bytes(cdb) + bytes(data_out))
        self.file.flush()
        status, said, answer = struct.unpack("<III", self.file.read(12))
        return status, self.file.read(said), self.file.read(answer)

    def close(self):
        """Hang up."""
        self.file.close()
        self.socket.close()
