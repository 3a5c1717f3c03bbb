# SPDX-License-Identifier: GPL-2.0
"""What kind of disk one is, by what the kernel says: which are left alone, and which are meant only
if they are named, never by [all] or --all.
"""

import os
import re

from .. import fbstate

# of the queue's limits and of VPD page B1h (SBC-4 6.6.2), a disk that hides its shingles
CHARACTERISTICS, ZONED_AT, DRIVE_MANAGED = "device/vpd_pgb1", 8, 2
# SCSI peripheral types: disks, and disks with zones
TYPES = ("", "0", "20")
# the first Linux that keeps writes to zones in order below any scheduler
ZONES_SINCE = (6, 10)


def _line(name, what):
    return (fbstate.read("sys/block", name, what) or "").strip()


def _folder(name):
    return os.path.realpath(fbstate.path("sys/block", name, "device"))


def _characteristics(name):
    """VPD page B1h as the kernel keeps it; b"" if it does not."""
    try:
        with open(fbstate.path("sys/block", name, CHARACTERISTICS), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _release():
    """The running kernel's version, (6, 1)."""
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])


def unfit(name):
    """Why nothing could be read from a disk: as the module says it, where that does; None: it can
    be served."""
    if _line(name, "device/type") not in TYPES:
        return "not a disk"
    if _line(name, "queue/rotational") == "0":
        return "solid state"
    if _line(name, "queue/zoned") not in ("", "none") and _release() < ZONES_SINCE:
        return "zoned: Linux before %d.%d gives such a disk to mq-deadline only; boot a newer " \
            "kernel" % ZONES_SINCE
    if _line(name, "queue/scheduler") == "none":
        return "it takes no scheduler"
    return None


def _is_shingled(name):
    """Whether the drive says that it is drive-managed SMR, or behaves so: no disk with tracks that
    stand alone has use for TRIM."""
    page = _characteristics(name)
    if len(page) > ZONED_AT and page[ZONED_AT] >> 4 & 3 == DRIVE_MANAGED:
        return True
    return fbstate.count(_line(name, "queue/discard_max_bytes")) > 0


def by_name_only(name):
    """Why a disk is served only if it is named; None: [all] and --all mean it, too."""
    if "/usb" in _folder(name):
        return "it is behind a USB bridge"
    scsi = os.path.basename(os.path.realpath(fbstate.path("sys/block", name, "device/subsystem")))
    if scsi not in ("scsi", "subsystem"):
        return "it is no SCSI or SATA disk"
    if _is_shingled(name):
        return "it is, by what it says, a drive-managed SMR disk"
    return None
