# SPDX-License-Identifier: GPL-2.0
"""Disks whose mechanics cannot be measured, or mean nothing: which, why, and what to do.

check() and check_way() ask before anything is measured or changed; check_measured() looks at the
rotation and the cache once modes.quiet() has done what it could. All say everything that they find.

Sources: SBC-4 6.6.2 (block device characteristics, VPD page B1h), SBC-5 6.6.6 (concurrent
positioning ranges, B9h) and 6.6.2 (MACT), SAT-4 12.4.2 (ATA information, 89h), ACS-4 7.13
(IDENTIFY DEVICE, words 69 and 169), ZBC-2 6.5.2 (zoned block device characteristics, B6h),
Linux 6.1 drivers/scsi (which devices of a RAID controller are volumes).
"""

import collections
import os
import re
import struct

import numpy as np

from .. import ToolError, fbstate
from ..drive import ata, names
from ..drive.pages import Refused, command
from ..drive.sysfs import line
from ..drive.sysfs import names as listed
from .phase import Phase

Refusal = collections.namedtuple("Refusal", "kind reason todo")
Refusal.__doc__ = "kind: a word for programs; reason and todo: for people."
# --force does not help: there is no way to measure nevertheless
ALWAYS = ("no queue", "no FUA")

DISK, HOST_MANAGED = 0x00, 0x14                 # peripheral device types
TYPES = {0x01: "a tape", 0x05: "a CD drive", 0x07: "an optical memory", 0x08: "a changer",
         0x0c: "a RAID controller itself", 0x0d: "an enclosure", 0x0e: "a simplified disk",
         0x1e: "a well-known logical unit"}
BDC, ZBDC, CPR = 0xb1, 0xb6, 0xb9               # pages of vital product data
IDENTIFY_AT = 60                # of page 89h (SAT-4 12.4.2): IDENTIFY DEVICE data, words of ACS-4
ZONED_WORD, TRIM_WORD = 69, 169
NON_ROTATING = 1
# ZONED of page B1h. 2h is what sg3_utils 1.46 calls host-managed: SBC-4, and Linux, say
# device-managed
HOST_AWARE, DEVICE_MANAGED = 1, 2
MACT = 0x40
# the zoned block device extension of page B6h
EXTENSIONS = {1: "host-aware", 2: "domains and realms"}

# A controller's driver (proc_name of its host): which channel its volumes are on; others
# are disks that it passes through. None: all that it shows are volumes.
RAID_HOSTS = {
    "megaraid_sas": lambda channel: channel >= 2,       # MEGASAS_MAX_PD_CHANNELS
    "aacraid": lambda channel: channel == 0,            # CONTAINER_CHANNEL
    "mpt2sas": lambda channel: channel == 1,            # RAID_CHANNEL
    "mpt3sas": lambda channel: channel == 1,
    "mptsas": lambda channel: channel == 1,             # MPTSAS_RAID_CHANNEL
    "megaraid": None, "megaraid_legacy": None, "ips": None, "myrb": None, "myrs": None,
    "3w-xxxx": None, "3w-9xxx": None, "3w-sas": None, "stex": None, "hptiop": None,
    "mvumi": None,
}
# and volumes by what they call themselves: (vendor, product) as regular expressions
RAID_NAMES = (("LSILOGIC", "Logical Volume"), ("LSI|AVAGO|BROADCOM", "MR.*|Logical Volume"),
              ("DELL", "PERC.*|.*Virtual Disk.*"), ("HPE?", "LOGICAL VOLUME"),
              ("IBM|Lenovo", "(?:ServeRAID|RAID).*"), ("Adaptec|ASR.*", ".*"), ("AMCC|3ware", ".*"),
              ("Areca", ".*"), ("Intel", ".*(?:RAID|Multi-Flex).*"))
VIRTUAL_HOSTS = ("virtio_scsi", "vmw_pvscsi", "storvsc_host", "scsifront", "scsi_debug",
                 "tcm_loopback", "iscsi_tcp", "ibmvscsi", "ibmvfc")
VIRTUAL_NAMES = (("QEMU", ".*"), ("VMware", ".*"), ("Msft", "Virtual.*"), ("VBOX", ".*"),
                 ("ATA", "(?:QEMU|VBOX|VMware).*"), ("Linux", "scsi_debug.*"), ("LIO-ORG", ".*"),
                 ("Google", "PersistentDisk.*"), ("Nutanix", ".*"))

# Completions are late, never early. With nine of ten less late than this layouts are found, and
# the period to 1 ppm; not far beyond layouts are wrong: see Documentation/extract.rst
MOST_LATE_NS = 150000
# Likewise where slips are to be found to the block: on an Atlas 10K at 84 us they were not
MOST_LATE_SLIPS_NS = 50000
QUIETER = "an idle host, a real-time priority (chrt -f 60), interrupts not coalesced, no bridge " \
    "or expander in between"
REPEATS = 24                    # blocks that are read twice to see the cache
# a read that ends so soon after the same block's read before, in turns, met no medium
CACHED_TURN = 0.5
# Stretches of blocks that a drive may have moved about. Remapped defects break one of a thousand or
# so; a conventional disk's read takes at most a turn longer than others
STRETCHES, STRETCH = 256, 32
STRETCH_TRIES = 3
DETOUR_TURNS = 1.3
MOST_BROKEN = 1 / 64
FASTEST_TURN_NS = 2000000       # 30 000 rpm: no drive's turn is shorter
MOST_CACHED = 0.05


# ---- what the drive says

def check_drive(dev):
    """What is to be said about a drive by its own words."""
    kind = names.standard(dev)[0]
    if kind >> 5:
        return [Refusal("no disk", "no logical unit is there (peripheral qualifier %d)" %
                        (kind >> 5), "see lsscsi -g")]
    kind &= 0x1f
    if kind not in (DISK, HOST_MANAGED):
        return [Refusal("no disk", "it is %s (device type %02xh), not a disk" % (
            TYPES.get(kind, "another device"), kind), "see the TYPE column of lsscsi -g")]
    pages = names.supported(dev)
    bdc = names.vpd(dev, BDC) if BDC in pages else b""
    told = names.vpd(dev, ata.INFORMATION) if ata.INFORMATION in pages else b""
    found = _solid_state(bdc) + _zoned(kind, bdc, names.vpd(dev, ZBDC) if ZBDC in pages else b"")
    found = found or _identified(told)
    found += _actuators(bdc, names.vpd(dev, CPR) if CPR in pages else b"")
    return found + _capacity(dev)


def _solid_state(bdc):
    if len(bdc) >= 6 and int.from_bytes(bdc[4:6], "big") == NON_ROTATING:
        return [Refusal("solid state", "it does not rotate (VPD page B1h)",
                        "there are no rotational gaps in a solid-state disk: leave its scheduler "
                        "as it is")]
    return []


def _zoned(kind, bdc, zbdc):
    zoned = bdc[8] >> 4 & 3 if len(bdc) > 8 else 0
    extension = zbdc[4] >> 4 if len(zbdc) > 4 else 0
    if kind == HOST_MANAGED:
        why = "host-managed (device type 14h)"
    elif zoned == HOST_AWARE or extension:
        why = "%s (VPD page B6h)" % EXTENSIONS.get(extension, "extension %d" % extension) \
            if extension else "host-aware (VPD page B1h)"
    elif zoned == DEVICE_MANAGED:
        return [_shingled("it says so: device-managed, VPD page B1h")]
    else:
        return []
    return [_zones(why)]


def _zones(why):
    return Refusal("zoned", "it is shingled, with zones: " + why,
                   "the scheduler uses no map of such disks: it needs none")


def _shingled(why):
    return Refusal("shingled", "it is shingled, and moves data about on its own (%s): a place "
                   "found today is another tomorrow" % why,
                   "use a drive with conventional recording (CMR)")


def _identified(told):
    """What IDENTIFY DEVICE data, which an adapter passes on, say of shingling."""
    def word(number):
        at = IDENTIFY_AT + 2 * number
        return int.from_bytes(told[at:at + 2], "little") if len(told) >= at + 2 else 0

    zoned = word(ZONED_WORD) & 3
    if zoned == DEVICE_MANAGED:
        return [_shingled("it says so: device-managed, IDENTIFY DEVICE word 69")]
    if zoned == HOST_AWARE:
        return [_zones("host-aware (IDENTIFY DEVICE word 69)")]
    if word(TRIM_WORD) & 1:
        return [_shingled("it can trim blocks, IDENTIFY DEVICE word 169, which means something "
                          "only to a disk whose blocks have no places of their own")]
    return []


def _actuators(bdc, cpr):
    ranges = [struct.unpack_from(">QQ", cpr, at + 8) for at in range(64, len(cpr) - 31, 32)]
    if len(ranges) > 1:
        return [_multi("; ".join("LBN %d to %d" % (first, first + count - 1)
                                 for first, count in ranges), len(ranges))]
    if len(bdc) > 8 and bdc[8] & MACT:
        return [_multi("it does not say which LBNs belong to which", 0)]
    return []


def _multi(ranges, count):
    return Refusal("multi-actuator", "it has %s actuators that move on their own: %s" % (
        count or "several", ranges), "a model has one arm; no part of such a disk can be "
        "measured or scheduled alone through one queue")


def _capacity(dev):
    """READ CAPACITY (16), (10) where that is not known."""
    try:
        data = command(dev, "READ CAPACITY (16)", [0x9e, 0x10] + [0] * 11 + [32, 0, 0], data_in=32)
        last, size = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big")
    except Refused:
        try:
            data = command(dev, "READ CAPACITY (10)", [0x25] + [0] * 9, data_in=8)
        except Refused as error:
            return [Refusal("no medium", "%s: it is not ready" % error,
                            "spin it up; run: sg_start " + dev.name)]
        last, size = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
    # all ones and zero: a drive that has lost its format
    if not size or not last or last == (1 << 64) - 1:
        return [Refusal("no capacity", "it has no blocks", "it is not formatted: sg_format")]
    return []


# ---- what the system says

def _host(sysfs):
    """The directory of the adapter, the name of its driver, and the channel."""
    at = re.search(r"^(.*?/(host\d+))/.*?(\d+):(\d+):(\d+):(\d+)(?:/|$)", sysfs)
    if not at:
        return "", "", 0
    proc = line(at[1], "scsi_host", at[2], "proc_name")
    if proc in ("", "(null)", "<NULL>"):
        # some drivers have none: the one of the adapter's device
        link = os.path.join(os.path.dirname(at[1]), "driver")
        proc = os.path.basename(os.path.realpath(link)) if os.path.islink(link) else ""
    return at[1], proc, int(at[4])


def _named(listed, vendor, product):
    return any(re.fullmatch(v, vendor, re.I) and re.fullmatch(p, product, re.I)
               for v, p in listed)


def check_system(sysfs):
    """What is to be said about a disk by how it is attached."""
    found = []
    _, proc, channel = _host(sysfs)
    vendor, product = line(sysfs, "vendor"), line(sysfs, "model")
    level = line(sysfs, "raid_level")          # hpsa, smartpqi; a disk passed through: N/A
    volume = RAID_HOSTS.get(proc, lambda channel: False)
    if level not in ("", "N/A") or volume is None or volume(channel) or \
            _named(RAID_NAMES, vendor, product):
        found.append(Refusal("RAID volume", "it is a volume of a RAID controller (%s)" % ", ".join(
            x for x in (proc, level, ("%s %s" % (vendor, product)).strip()) if x),
            "have the controller pass the disk itself through (HBA or JBOD mode)"))
    if proc in VIRTUAL_HOSTS or _named(VIRTUAL_NAMES, vendor, product):
        found.append(Refusal("virtual", "it is a virtual disk (%s)" % (proc or vendor),
                             "measure on the machine that has the real one"))
    if "/usb" in sysfs:
        found.append(Refusal("USB bridge", "it is behind a USB bridge, whose delays hide the "
                             "rotation, and which changes commands",
                             "attach the disk itself to SATA or SAS"))
    for name in listed(os.path.join(sysfs, "block"))[:1]:
        found += _queue(os.path.join(sysfs, "block", name, "queue"))
    return found


def _queue(queue):
    found = []
    if line(queue, "rotational") == "0":
        found.append(Refusal("solid state", "it does not rotate (queue/rotational in sysfs)",
                             "if it does: echo 1 > %s" % os.path.join(queue, "rotational")))
    zoned = line(queue, "zoned")
    if zoned not in ("", "none"):
        found.append(_zones(zoned + " (queue/zoned in sysfs)"))
    folder = os.path.join(queue, "independent_access_ranges")
    ranges = [(int(line(folder, name, "sector") or 0), int(line(folder, name, "nr_sectors") or 0))
              for name in sorted(listed(folder), key=lambda name: name.zfill(4))]
    if len(ranges) > 1:
        found.append(_multi("; ".join("sectors %d to %d" % (first, first + count - 1)
                                      for first, count in ranges), len(ranges)))
    return found


def check_use(sysfs):
    """Who uses the disk: mounts, swap, md, device mapper."""
    users = []
    for disk in listed(os.path.join(sysfs, "block")):
        folder = os.path.join(sysfs, "block", disk)
        parts = [disk] + [name for name in listed(folder) if name.startswith(disk)]
        for part in parts:
            where = folder if part == disk else os.path.join(folder, part)
            users += ["%s belongs to %s" % (part, holder)
                      for holder in listed(os.path.join(where, "holders"))]
            users += ["%s is mounted on %s" % (part, point)
                      for point in _mounts(line(where, "dev"))]
            users += ["%s is swap" % part for name in _swaps() if name == part]
    if not users:
        return []
    return [Refusal("in use", "it is in use: " + "; ".join(users),
                    "unmount it, swapoff, or stop the array (see lsblk); or have it measured in "
                    "idle time (freeblock enable, first); or say --in-use: reads only, and others' "
                    "requests spoil measurements")]


def _mounts(number):
    """Where the block device MAJOR:MINOR is mounted."""
    lines = line(fbstate.path("proc/self/mountinfo")).splitlines()
    # octal escapes stand for blanks (proc(5))
    return [re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), words[4])
            for words in (line.split() for line in lines) if len(words) > 4 and words[2] == number]


def _swaps():
    lines = line(fbstate.path("proc/swaps")).splitlines()[1:]
    return [os.path.basename(os.path.realpath(line.split()[0])) for line in lines if line.split()]


def check(dev, sysfs=None, in_use=False):
    """Why this disk is not measured: Refusals; none: it may be.

    sysfs: the SCSI device's directory (sysfs.of_node()); None: a simulated drive has none.
    in_use: it may be in use."""
    found = check_drive(dev)
    if sysfs:
        # the drive and the system often say the same
        said = {refusal.kind for refusal in found}
        found += [refusal for refusal in check_system(sysfs) if refusal.kind not in said]
        found += [] if in_use else check_use(sysfs)
    return found


def check_way(way):
    """What the way to the drive lacks: without it nothing can be measured.

    way: what ata.way() found."""
    found = []
    if way.depth == 1 or way.ncq is False:
        found.append(Refusal("no queue", "one command at a time reaches it: %s. Seeks are measured "
                             "with two at the drive: else what the host needs between commands "
                             "counts as the arm's time" % (
                                 "it has no NCQ (IDENTIFY DEVICE word 76)" if way.ncq is False else
                                 "the queue depth is 1"), _queued(way)))
    if not way.fua:
        found.append(Refusal("no FUA", "reads with FUA are refused: the kernel has them under NCQ "
                             "only. No command switches a SATA disk's read cache off: without FUA "
                             "it answers blocks that are read again", _queued(way)))
    return found


def _queued(way):
    """How to get NCQ."""
    if way.ncq is False:
        return "a disk with NCQ can be measured"
    if way.depth == 1:
        return "echo 32 > %s; if it stays 1 the kernel was told so: boot without " \
            "libata.force=noncq" % way.queue
    return "the kernel has switched NCQ off, mostly after errors (dmesg | grep -i ncq): see to " \
        "cable and disk, and boot again"


# ---- what is measured

def check_cache(dev, switched, period_ns=0):
    """Whether reads meet the medium, the modes being what they are: blocks all over the disk
    are read twice in a row, and the second read cannot end before a turn has passed.

    period_ns: a turn if it is known."""
    ops = dev.ops([block for i in range(REPEATS)
                   for block in [dev.blocks * (2 * i + 1) // (2 * REPEATS)] * 2])
    done = dev.run(ops)
    good = (done["status"][0::2] == 0) & (done["status"][1::2] == 0)
    # in service the first one may have been read again, later
    apart = np.abs(done["done"][1::2].astype("f8") - done["done"][0::2].astype("f8"))
    cached = (apart[good] < CACHED_TURN * (period_ns or FASTEST_TURN_NS)).sum()
    if cached <= MOST_CACHED * max(good.sum(), 1):
        return []
    why = "the read cache cannot be switched off" if not switched.off("RCD") else \
        "though its read cache is said to be off"
    return [Refusal(
        "cache", "reads with FUA are answered by a cache (%d of %d repeated ones), %s" % (
            cached, good.sum(), why),
        "switch caches off where they are: in the drive (sdparm --set=RCD), in the controller")]


def check_stretches(dev, turn_ns):
    """(Refusals, notes): do blocks in a row lie in a row? Stretches of some blocks are read all
    over the disk, each from the block before it: such a read takes a turn and the blocks'
    length, on the way from a track to the next one a turn more. Where a drive has moved some of
    them elsewhere it goes there and back. No read tells that none has ever moved."""
    count = min(STRETCH, dev.longest, max(dev.blocks // 4, 1))
    begins = (dev.blocks - count - 1) * (2 * np.arange(STRETCHES) + 1) // (2 * STRETCHES) + 1
    longer = np.arange(STRETCHES)
    usual = None
    for _ in range(STRETCH_TRIES):
        ops = dev.ops(np.stack([begins[longer] - 1, begins[longer]], axis=1).ravel(),
                      count=np.tile([1, count], len(longer)))
        done = dev.run(ops)
        good = (done["status"].reshape(-1, 2) == 0).all(axis=1)
        took = np.diff(done["done"].astype("f8").reshape(-1, 2), axis=1)[:, 0] / turn_ns
        usual = np.median(took) if usual is None else usual
        longer = longer[good & (took > usual + DETOUR_TURNS)]
        if not len(longer):
            break
    if len(longer) > MOST_BROKEN * STRETCHES:
        return [_shingled("of %d stretches of %d blocks, read in a row, %d take the way elsewhere "
                          "and back" % (STRETCHES, count, len(longer)))], []
    return [], ["shingled by the drive itself: unknown: it does not say, and of %d stretches of %d "
                "blocks %d lie in several places" % (STRETCHES, count, len(longer))]


def check_noise(phase, short=False):
    """Whether completions are reported so late that the period stays doubtful.

    phase: a Phase that was measured; short: of a drive whose single tracks are looked at, but not
    for long."""
    if phase.late_ns > MOST_LATE_NS:
        limit, what, todo = MOST_LATE_NS, "layouts are not found", QUIETER
    elif short and phase.late_ns > MOST_LATE_SLIPS_NS:
        limit, what = MOST_LATE_SLIPS_NS, "slips are not found to the block"
        todo = "--full looks longer; " + QUIETER
    else:
        return []
    return [Refusal("jitter", "completions are reported up to %.0f us late (nine of ten are "
                    "earlier; beyond %.0f us %s)" % (phase.late_ns / 1e3, limit / 1e3, what), todo)]


def check_measured(dev, switched, short=False):
    """(Refusals, Phase): what shows only when the drive reads: a cache that answers, an adapter
    that hides the rotation, late reports. The Phase is None if there is no rotation to be seen.

    switched: what modes.quiet() gave; short: as check_noise() has it."""
    phase, why = None, ""
    try:
        phase = Phase.measure(dev)
    except ToolError as error:
        why = str(error)
    found = check_cache(dev, switched, phase.local_ns if phase else 0)
    if phase:
        return found + check_noise(phase, short), phase
    return found or [Refusal("rotation", "its rotation cannot be seen: %s; an adapter, bridge or "
                             "controller hides it, or nothing rotates" % why, QUIETER)], None


def text(name, refusals):
    """What to tell people: a line for each reason, and one for what to do about it."""
    return "%s is not measured:\n%s" % (name, "\n".join(
        "  %s\n    (%s)" % (r.reason, r.todo) for r in refusals))
