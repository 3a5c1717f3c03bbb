# SPDX-License-Identifier: GPL-2.0
"""Disks of QEMU's own for a guest, behind controllers whose drivers are the kernel's.

A script asks for them, "# lab-devices: ich9-ahci megasas:bad=4803,kind=medium": a controller of
each of these, with one disk. They have no mechanics. QEMU serves them in threads of its own, in the
host's time, of which the instruction clock knows nothing: a guest that waits for one of them would
find that all its time-outs have passed. So these guests have the real clock.

The words behind the colon are:

    mib=N           size of the disk (16)
    bad=SECTOR      a sector that cannot be read, at whose place any read fails
    kind=medium     how: with MEDIUM ERROR, where the device says such a thing (default)
    kind=other      with whatever QEMU makes of EIO, ABORTED COMMAND for one
"""

import errno
import json
import os

# Of a controller: what its disk hangs on, QEMU's words for both, and the kernel's modules for it.
# {n} is the disk's number. Of 0 turns a minute, QEMU's default, the kernel would think as of solid
# state at times.
NAMED = "bus=bus{n}.0,drive=disk{n},serial=LAB{n},wwn=0x5000c5000000000{n},rotation_rate=7200"
SCSI_HD = "scsi-hd," + NAMED
CONTROLLERS = {
    "ich9-ahci": (["ich9-ahci,id=bus{n}", "ide-hd," + NAMED], ["ahci"]),
    "virtio-scsi": (["virtio-scsi-pci,id=bus{n}", SCSI_HD], ["virtio_pci", "virtio_scsi"]),
    "lsi53c895a": (["lsi53c895a,id=bus{n}", SCSI_HD], ["sym53c8xx"]),
    "megasas": (["megasas,id=bus{n}", SCSI_HD], ["megaraid_sas"]),
    "mptsas1068": (["mptsas1068,id=bus{n},sas_address=0x500605b00000000{n}", SCSI_HD], ["mptsas"]),
    "uas": (["qemu-xhci,id=xhci{n}", "usb-uas,id=bus{n},bus=xhci{n}.0", SCSI_HD],
            ["xhci-pci", "uas"]),
    "usb-storage": (["qemu-xhci,id=xhci{n}",
                     "usb-storage,bus=xhci{n}.0,drive=disk{n},serial=LAB{n}"],
                    ["xhci-pci", "usb-storage"]),
    "nvme": (["nvme,drive=disk{n},serial=LAB{n}"], ["nvme"]),
    "virtio-blk": (["virtio-blk-pci,drive=disk{n},serial=LAB{n}"], ["virtio_pci", "virtio_blk"]),
}
KINDS = {"medium": errno.ENODATA, "other": errno.EIO}


class Disk:
    """What one word of "# lab-devices:" asks for."""

    def __init__(self, word):
        self.controller, _, rest = word.partition(":")
        if self.controller not in CONTROLLERS:
            raise ValueError("lab-devices: no controller '%s': there are %s" %
                             (self.controller, " ".join(CONTROLLERS)))
        self.mib, self.bad, self.kind = 16, None, "medium"
        for item in filter(None, rest.split(",")):
            name, _, value = item.partition("=")
            if name == "kind" and value in KINDS:
                self.kind = value
            elif name in ("mib", "bad") and value.isdigit():
                setattr(self, name, int(value))
            else:
                raise ValueError("lab-devices: '%s' in '%s'" % (item, word))

    def modules(self):
        """The kernel's modules that drive it."""
        return CONTROLLERS[self.controller][1]

    def node(self, name, path):
        """QEMU's description of what the disk is made of."""
        node = {"driver": "file", "filename": path, "cache": {"no-flush": True}}
        if self.bad is not None:
            node = {"driver": "blkdebug", "image": node, "inject-error": [
                {"event": "none", "iotype": "read", "errno": KINDS[self.kind],
                 "sector": self.bad, "once": False}]}
        return {"driver": "raw", "node-name": name, "file": node}

    def words(self, n, folder):
        """QEMU's words for it, the n-th of a guest; its content is in a file of this folder."""
        yield from ("-blockdev", json.dumps(self.node("disk%d" % n, content(n, folder))))
        for device in CONTROLLERS[self.controller][0]:
            yield from ("-device", device.format(n=n))


def content(n, folder):
    """The file with the content of a guest's n-th disk."""
    return os.path.join(folder, "disk%d" % n)


def create(disks, folder):
    """Fresh contents, all zeros."""
    for n, disk in enumerate(disks):
        with open(content(n, folder), "wb") as file:
            file.truncate(disk.mib << 20)


def remove(disks, folder):
    """The contents are no longer needed."""
    for n in range(len(disks)):
        os.unlink(content(n, folder))


def asked_disks(words):
    """Those that a script asks for."""
    return [Disk(word) for word in words]
