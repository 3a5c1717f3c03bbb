# SPDX-License-Identifier: GPL-2.0
"""DiskSim's description of a drive, turned into what the formats can say.

Reads .parv, .diskspecs, .model (libparam texts that source one another) and
.seek, and makes a drive.Drive of them. Every parameter is either used or
listed as ignored, with the reason; one that DiskSim does not know is an error.
What the parameters mean: DiskSim 4.0's reference manual and its
src/modules/*.modspec, diskmodel/*.c.
"""

import math
import os
import re
from fractions import Fraction

from freeblock import ToolError
from freeblock.fbmodel import MAX_CYLINDERS, MAX_HEADS
from . import dslayout, libparam
from .drive import Drive

STATISTICS = "what DiskSim prints"
# What describes how DiskSim was run and no drive: block type -> what it is
RUN_BLOCKS = {
    "disksim_global": "DiskSim's run",
    "disksim_stats": STATISTICS,
    "disksim_iodriver": "the host's device driver",
    "disksim_logorg": "the mapping of logical onto physical drives",
    "disksim_pf": "the process flow",
    "disksim_synthio": "the synthetic load",
    "disksim_iosim": "the scaling of a load",
    "disksim_iomap": "the mapping of a trace's drives",
    "disksim_syncset": "drives that rotate in step",
    "disksim_cachemem": "a host's or controller's cache",
    "disksim_cachedev": "a host's or controller's cache",
}
_BUS_ALONE = "the drive shares its bus with nobody"
_ENDS_AHEAD = "the next command always ends reading ahead"
_QUEUE = "the simulated drive's queue has no such rule"
_SEEK = "the seek curve comes from elsewhere"

# Layouts of later versions: why they are refused
LATER = {kind: "a %s layout cannot be imported: only dm_layout_g1 can (freeblock extract makes a "
         "model of the drive itself)" % kind for kind in ("dm_layout_g2", "dm_layout_g4")}

# Parameters that are not used: name -> (value at which nothing is lost or None, reason)
IGNORED = {
    "dm_disk": {
        "Block count": (None, "DiskSim, too, counts what the zones hold"),
    },
    "dm_mech_g1": {
        "Access time type": ("trackSwitchPlusRotation", "DiskSim 4.0 knows no other one"),
        "Constant access time": (None, "has no effect in DiskSim 4.0"),
        "Average seek time": (None, _SEEK),
        "Constant seek time": (None, _SEEK),
        "Single cylinder seek time": (None, _SEEK),
        "Full strobe seek time": (None, _SEEK),
        "Full seek curve": (None, _SEEK),
        "HPL seek equation values": (None, _SEEK),
        "First ten seek times": (None, _SEEK),
        "Percent error in rpms": (0, "DiskSim ignores it, too"),
    },
    "dm_layout_g1": {
        "Rangesize for sparing": (None, "the sparing scheme has no ranges"),
    },
    "dm_layout_g1_zone": {},
    "disksim_disk": {
        "Hold bus entire read xfer": (None, _BUS_ALONE),
        "Hold bus entire write xfer": (None, _BUS_ALONE),
        "Never disconnect": (None, _BUS_ALONE),
        "Disconnect write if seek": (None, _BUS_ALONE),
        "Allow sneaky full read hits": (0, "hits do not pass what is under way"),
        "Allow sneaky partial read hits": (0, "hits do not pass what is under way"),
        "Allow sneaky intermediate read hits": (0, "hits do not pass what is under way"),
        "Allow write prebuffering": (0, "queued writes' data cross the bus in order"),
        "Print stats": (None, STATISTICS),
        "Avg sectors per cylinder": (None, "a hint for hosts; the drive does not use it"),
        "Max queue length": (None, "how many commands the host queues is set in the lab"),
        "Use separate write segment": (0, "no segment is set aside for writes"),
        "Low (write) water mark": (None, "a write's data are in the buffer before the medium "
                                         "is reached"),
        "Set watermark by reqsize": (1, "the mark is a share of the request"),
        "Calc sector by sector": (None, "has no effect in DiskSim"),
        "Minimum read-ahead (blks)": (0, _ENDS_AHEAD),
        "Maximum read-ahead (blks)": (None, "how far it reads on says 'Buffer continuous read'"),
        "Write hit stop prefetch": (1, _ENDS_AHEAD),
        "Read directly to buffer": (1, "a sector is in the buffer when it has passed"),
        "Immed transfer partial hit": (1, "what is in the buffer is sent at once"),
        "Other reselect overhead": (0, "a write that left the bus twice reselects like others"),
        "Read disconnect afterread": (0, "passes while the medium is waited for"),
        "Read disconnect afterwrite": (0, "passes while the medium is waited for"),
        "Write disconnect overhead": (0, "passes while the medium is waited for"),
        "Extradisc command overhead": (None, "'Extra write disconnect' is 0"),
        "Extradisc disconnect overhead": (None, "'Extra write disconnect' is 0"),
        "Extradisc inter-disconnect delay": (None, "'Extra write disconnect' is 0"),
        "Extradisc 2nd disconnect overhead": (None, "passes while the medium is waited for"),
        "Extradisc seek delta": (None, "'Extra write disconnect' is 0"),
    },
    "disksim_ioqueue": {
        "Cylinder mapping strategy": (None, "the drive knows its own layout"),
        "Write initiation delay": (0, _QUEUE),
        "Read initiation delay": (0, _QUEUE),
        "Sequential stream scheme": (0, _QUEUE),
        "Maximum concat size": (None, _QUEUE),
        "Overlapping request scheme": (0, _QUEUE),
        "Sequential stream diff maximum": (None, _QUEUE),
        "Scheduling timeout scheme": (0, _QUEUE),
        "Timeout time/weight": (None, _QUEUE),
        "Timeout scheduling": (None, _QUEUE),
        "Scheduling priority scheme": (0, _QUEUE),
        "Priority scheduling": (None, _QUEUE),
    },
    "disksim_bus": {
        "type": (None, _BUS_ALONE),
        "Arbitration type": (None, _BUS_ALONE),
        "Arbitration time": (0, "transfers start without arbitration"),
        "Print stats": (None, STATISTICS),
    },
    "disksim_ctlr": {
        "type": (1, "the controller only passes on"),
        "Scale for delays": (0, "the controller only passes on"),
        "Maximum queue length": (None, "the controller only passes on"),
        "Print stats": (None, STATISTICS),
        "Scheduler": (None, "the controller only passes on"),
        "Cache": (None, "the controller only passes on"),
        "Max per-disk pending count": (None, "the controller only passes on"),
    },
}

_STREAM = "the course of requests in a driver's or drive's queue, of which traces with one " \
    "outstanding show nothing"
_HELD = "a hit beside a command that is under way is answered later than by the drive"
# What it may cost that a parameter is not obeyed whose value is another than the harmless one
COSTS = {
    "Access time type": "positioning takes another time altogether",
    "Percent error in rpms": "the angle drifts: pairs that follow pauses are off by up to a turn",
    "Allow sneaky full read hits": _HELD,
    "Allow sneaky partial read hits": _HELD,
    "Allow sneaky intermediate read hits": _HELD,
    "Allow write prebuffering": "with several outstanding a write's data come later than they "
                                "could: up to its transfer on the bus",
    "Use separate write segment": "mixed reads and writes: what was read ahead is dropped by "
                                  "writes sooner, or later, than the drive does: hits become "
                                  "misses, a seek and half a turn each",
    "Set watermark by reqsize": "the transfer of a read begins earlier or later: up to its length",
    "Minimum read-ahead (blks)": "the next command begins sooner than at the drive: up to the "
                                 "passing of so many blocks",
    "Write hit stop prefetch": "after cached writes, what was read ahead is less",
    "Read directly to buffer": "each read ends later at the drive: up to a segment's copy",
    "Immed transfer partial hit": "a partial hit's first sectors cross earlier than at the drive",
    "Other reselect overhead": "writes of drives that disconnect twice end sooner by it",
    "Read disconnect afterread": "reads that are not waited for end sooner by it",
    "Read disconnect afterwrite": "reads that are not waited for end sooner by it",
    "Write disconnect overhead": "writes that are not waited for end sooner by it",
    "Write initiation delay": _STREAM,
    "Read initiation delay": _STREAM,
    "Sequential stream scheme": _STREAM,
    "Overlapping request scheme": _STREAM,
    "Scheduling timeout scheme": _STREAM,
    "Scheduling priority scheme": _STREAM,
    "Arbitration time": "each command and each transfer takes so much longer at the drive",
    "type": "a controller that schedules or caches changes everything",
    "Scale for delays": "each command takes the controller's delays longer",
}

# Parameters that are used
USED = {
    "dm_disk": ("Number of data surfaces", "Number of cylinders", "Mechanical Model",
                "Layout Model"),
    "dm_mech_g1": ("Seek type", "Add. write settling delay", "Head switch time",
                   "Rotation speed (in rpms)"),
    "dm_layout_g1": ("LBN-to-PBN mapping scheme", "Sparing scheme used", "Skew units", "Zones"),
    "dm_layout_g1_zone": (
        "First cylinder number", "Last cylinder number", "Blocks per track",
        "Offset of first block", "Skew units", "Empty space at zone front",
        "Skew for track switch", "Skew for cylinder switch", "Number of spares", "slips",
        "defects"),
    "disksim_disk": (
        "Model", "Scheduler", "Per-request overhead time", "Time scale for overheads",
        "Bulk sector transfer time", "Allow almost read hits", "Allow read hits on write data",
        "Preseeking level",
        "Number of buffer segments", "Maximum number of write segments",
        "Segment size (in blks)", "High (read) water mark", "Enable caching in buffer",
        "Buffer continuous read", "Read-ahead over requested", "Read-ahead on idle hit",
        "Read any free blocks", "Fast write level", "Immediate buffer read",
        "Immediate buffer write", "Combine seq writes", "Stop prefetch in sector",
        "Read hit over. after read", "Read hit over. after write",
        "Read miss over. after read", "Read miss over. after write",
        "Write hit over. after read", "Write hit over. after write",
        "Write miss over. after read", "Write miss over. after write",
        "Read completion overhead", "Write completion overhead", "Data preparation overhead",
        "First reselect overhead", "Extra write disconnect", "Minimum seek delay"),
    "disksim_ioqueue": ("Scheduling policy",),
    "disksim_bus": ("Read block transfer time", "Write block transfer time"),
    "disksim_ctlr": ("Bulk sector transfer time",),
}
# How --override calls the blocks
SHORT = {"disk": "disksim_disk", "model": "dm_disk", "mech": "dm_mech_g1",
         "layout": "dm_layout_g1", "queue": "disksim_ioqueue", "zone": "dm_layout_g1_zone",
         "bus": "disksim_bus", "ctlr": "disksim_ctlr"}


class Report:
    """What became of the parameters, for people and as JSON."""

    def __init__(self):
        self.used = []
        self.ignored = []
        self.notes = []
        self.overrides = []

    def note(self, text):
        """Something a reader should know."""
        self.notes.append(text)

    def ignore(self, place, name, value, reason, lost=None):
        """A parameter without a counterpart; lost: does its value matter?"""
        self.ignored.append({"file": place.file, "line": place.line, "parameter": name,
                             "value": value, "reason": reason, "lost": lost})


class Reader:
    """One block's parameters, taken one by one."""

    def __init__(self, block, label, report):
        self.block = block
        self.label = label
        self.report = report
        self.taken = set()
        known = set(USED[block.kind]) | set(IGNORED[block.kind])
        for param in block.params.values():
            if param.name not in known:
                raise param.place.error("'%s' is no parameter of %s" % (param.name, block.kind))

    def get(self, name, required=True):
        """The parameter, which from now on counts as used."""
        param = self.block.params.get(name)
        if param is None:
            if required:
                raise self.block.place.error("%s has no '%s'" % (self.block.kind, name))
            return None
        if name not in self.taken:
            self.taken.add(name)
            self.report.used.append({"file": param.place.file, "line": param.place.line,
                                     "parameter": self.label + "/" + name,
                                     "value": libparam.text_of(param.value)})
        return param

    def place(self, name):
        """Where the parameter stands, or its block if it is left out."""
        param = self.block.params.get(name)
        return param.place if param else self.block.place

    def number(self, name, low=None, high=None, required=True):
        """A number within low .. high, as a Fraction."""
        param = self.get(name, required)
        if param is None:
            return Fraction(0)
        if not isinstance(param.value, libparam.Number):
            raise param.error("'%s' is no number" % libparam.text_of(param.value))
        value = param.value.value
        if (low is not None and value < low) or (high is not None and value > high):
            raise param.error("%s is not within %s .. %s" % (
                param.value, "" if low is None else low, "" if high is None else high))
        return value

    def integer(self, name, low=0, high=2 ** 31 - 1, required=True):
        """A whole number within low .. high."""
        value = self.number(name, low, high, required)
        if value.denominator != 1:
            raise self.get(name).error("%s is no whole number" % float(value))
        return int(value)

    def milliseconds(self, name, low=0, required=True):
        """A time, in exact nanoseconds."""
        return self.number(name, low, None, required) * 1000000

    def flag(self, name):
        """0 or 1."""
        return bool(self.integer(name, 0, 1))

    def word(self, name):
        """A single word."""
        param = self.get(name)
        if not isinstance(param.value, str):
            raise param.error("'%s' is no word" % libparam.text_of(param.value))
        return param.value

    def numbers(self, name, integers=False, required=True):
        """A list of numbers."""
        param = self.get(name, required)
        if param is None:
            return []
        values = param.value
        if not isinstance(values, list) or any(not isinstance(v, libparam.Number) or
                                               (integers and (not v.integer or v.value < 0))
                                               for v in values):
            raise param.error("is no list of %snumbers" % ("whole " if integers else ""))
        return [int(v.value) if integers else v.value for v in values]

    def child(self, name, kind, label=None):
        """Reader of the block that is a parameter's value."""
        param = self.get(name)
        if not isinstance(param.value, libparam.Block) or param.value.kind != kind:
            found = getattr(param.value, "kind", None)
            raise param.error(LATER[found] if found in LATER else "is no %s block" % kind)
        return Reader(param.value, label or self.label, self.report)

    def finish(self):
        """Account for what nobody asked for."""
        for param in self.block.params.values():
            if param.name in self.taken:
                continue
            if param.name not in IGNORED[self.block.kind]:
                raise param.error("is understood, but nothing here uses it")
            harmless, reason = IGNORED[self.block.kind][param.name]
            lost = None if harmless is None else not _same(param.value, harmless)
            if lost:
                reason += "; may cost: " + COSTS[param.name]
            self.report.ignore(param.place, self.label + "/" + param.name,
                               libparam.text_of(param.value), reason, lost)


def _same(value, harmless):
    if isinstance(value, libparam.Number):
        return value.value == harmless
    return value == harmless


def rounded(value):
    """To the nearest whole number, halves up."""
    return math.floor(value + Fraction(1, 2))


# ---- the seek curve ----

MAX_SEEK_MS = 1000
# Plain numbers, not so long that computing with them takes for ever
_DISTANCE = re.compile(r"-?[0-9]{1,9}")
_TIME = re.compile(r"-?(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?")


def read_seek(path, report):
    """[(cylinders, ns)] of a .seek file, exact duplicates dropped."""
    points, promised = [], None
    for number, line in enumerate(libparam.read_file(path).splitlines(), 1):
        place = libparam.Place(path, number)
        if not line.strip():
            continue
        if line.startswith("Seek distances measured:") and not points and promised is None:
            promised = line.partition(":")[2].strip()
            continue
        point = _seek_point(line, place)
        if points and point == points[-1]:
            report.note("%s: the same as the line before, dropped" % place)
            continue
        if points and point[0] <= points[-1][0]:
            raise place.error("distance %d after %d: distances must ascend" %
                              (point[0], points[-1][0]))
        points.append(point)
    if not points:
        raise ToolError("%s: no seek times" % path)
    if promised is not None and promised != str(len(points)):
        report.note("%s: announces %s distances, has %d" % (path, promised, len(points)))
    falls = sum(a[1] > b[1] for a, b in zip(points, points[1:]))
    if falls:
        report.note("%s: at %d of %d distances a seek is shorter than at the one before; "
                    "taken as it is" % (path, falls, len(points)))
    return points


def _seek_point(line, place):
    words = [word.strip() for word in line.split(",")]
    if len(words) not in (2, 3) or not _DISTANCE.fullmatch(words[0]) or \
            not all(_TIME.fullmatch(word) for word in words[1:]):
        raise place.error("'%.60s' is not 'distance, ms[, deviation]'%s" % (
            line.strip(), "; a fourth column, of writes, cannot be imported: leave it out, and "
            "give the difference as --override 'Add. write settling delay=MS'"
            if len(words) == 4 else ""))
    distance, time = int(words[0]), Fraction(words[1])
    if distance < 1 or time < 0:
        raise place.error("distance %d, %s ms: distances begin at 1, times are not negative" %
                          (distance, words[1]))
    if time > MAX_SEEK_MS:
        raise place.error("a seek time is %s ms, which the format does not hold (0 to %d)" %
                          (words[1], MAX_SEEK_MS))
    return distance, rounded(time * 1000000)


def fit_stroke(points, stroke, report):
    """The points, none beyond the full stroke."""
    inside = [p for p in points if p[0] <= stroke]
    if len(inside) == len(points):
        return points
    beyond = points[len(inside)]
    before = inside[-1] if inside else (0, 0)
    if before[0] < stroke:
        slope = Fraction(beyond[1] - before[1], beyond[0] - before[0])
        inside.append((stroke, rounded(before[1] + slope * (stroke - before[0]))))
    report.note("%d seek distances are longer than the stroke of %d cylinders: cut there" %
                (len(points) - len(inside) + 1, stroke))
    return inside


ROOT_ERROR_NS = 50      # of straight lines instead of a root; half of what is allowed


def root_points(first, last, factor, constant):
    """Points of constant + factor * sqrt(d), so dense that lines between them do."""
    points, d = [], first
    while d <= last:
        points.append((d, rounded(constant + Fraction(factor * math.sqrt(d)))))
        step = 1
        # the most a chord lies below the root: (sqrt b - sqrt a)^2 / 4 (sqrt a + sqrt b)
        while d + step < last:
            a, b = math.sqrt(d), math.sqrt(d + step + 1)
            if abs(factor) * (b - a) ** 2 / (4 * (a + b)) > ROOT_ERROR_NS:
                break
            step += 1
        d += step
    if last >= first and points[-1][0] != last:
        raise AssertionError("the root's last point is missing")
    return points


def hplplus10(mech, stroke):
    """Seek points of ten listed times, a root and a straight line
    (dm_mech_g1_seek_1st10_plus_hpl)."""
    ten = mech.numbers("First ten seek times")
    values = mech.numbers("HPL seek equation values")
    if len(ten) != 10:
        raise mech.get("First ten seek times").error("%d times instead of ten" % len(ten))
    if len(values) != 6:
        raise mech.get("HPL seek equation values").error("%d values instead of six" % len(values))
    border = math.ceil(values[0])           # the first distance of the straight line
    root, factor, line, slope = (v * 1000000 for v in values[1:5])
    points = [(d, rounded(ten[d - 1] * 1000000)) for d in range(1, min(10, stroke) + 1)]
    points += root_points(11, min(border - 1, stroke), float(factor), root)
    start = max(border, 11)
    if start <= stroke:
        points.append((start, rounded(line + slope * start)))
    if start < stroke:
        points.append((stroke, rounded(line + slope * stroke)))
    if min(ns for _, ns in points) < 0:
        raise mech.get("HPL seek equation values").error("a seek takes less than no time")
    return points


def seek_points(mech, stroke, find, report):
    """The read seek curve, whose first point is at one cylinder, and where it stands."""
    kind = mech.word("Seek type")
    if kind == "extracted":
        curve = mech.get("Full seek curve")
        path = find(mech.word("Full seek curve"), curve.place)
        points = fit_stroke(read_seek(path, report), stroke, report)
        where = path
        report.note("%s: %d seek times" % (path, len(points)))
    elif kind == "hplplus10":
        points = hplplus10(mech, stroke)
        where = mech.place("First ten seek times")
    else:
        raise mech.get("Seek type").error(
            "'%s' cannot be imported: DiskSim 4.0 does not compute it right; extracted and "
            "hplplus10 can" % kind)
    if points[0][0] > 1:
        points.insert(0, (1, rounded(Fraction(points[0][1], points[0][0]))))
    return points, where


# ---- the layout ----

def read_zone(reader, units, report):
    """One zone; skews as fractions of a turn."""
    if "Skew units" in reader.block.params:
        units = skew_units(reader)
    spt = reader.integer("Blocks per track", 1, 65535)

    def angle(name):
        value = reader.number(name, required=False)
        # DiskSim truncates skews in sectors: (int)d * sector_width
        turns = value if units == "revolutions" else Fraction(math.trunc(value), spt)
        if not 0 <= turns < 1:
            report.note("%s: %s is %.6g turns; whole turns do not count" % (
                reader.place(name), name, turns))
        return turns

    defects = reader.numbers("defects", integers=True, required=False)
    if len(defects) % 2:
        raise reader.get("defects").error("%d numbers: not pairs" % len(defects))
    zone = dslayout.SourceZone(
        first=reader.integer("First cylinder number", 0, MAX_CYLINDERS - 1),
        last=reader.integer("Last cylinder number", 0, MAX_CYLINDERS - 1), spt=spt,
        angle=angle("Offset of first block"), track_skew=angle("Skew for track switch"),
        cyl_skew=angle("Skew for cylinder switch"),
        dead=reader.integer("Empty space at zone front", required=False),
        spares=reader.integer("Number of spares", required=False),
        slips=reader.numbers("slips", integers=True, required=False),
        defects=list(zip(defects[::2], defects[1::2])), place=reader.block.place)
    reader.finish()
    return zone


def skew_units(reader):
    """sectors or revolutions."""
    if "Skew units" not in reader.block.params:
        return "sectors"
    word = reader.word("Skew units")
    if word not in ("sectors", "revolutions"):
        raise reader.get("Skew units").error("'%s' is neither sectors nor revolutions" % word)
    return word


def zone_blocks(layout):
    """The zones' blocks."""
    param = layout.get("Zones")
    if not isinstance(param.value, list) or any(
            not isinstance(v, libparam.Block) or v.kind != "dm_layout_g1_zone"
            for v in param.value):
        raise param.error("is no list of dm_layout_g1_zone blocks")
    return param.value


def read_layout(layout, heads, cylinders, report):
    """The dslayout.Layout."""
    units = skew_units(layout)
    mapping = layout.integer("LBN-to-PBN mapping scheme", 0, 2)
    scheme = layout.integer("Sparing scheme used", 0, 10)
    range_size = layout.integer("Rangesize for sparing", 1) \
        if scheme == dslayout.PER_RANGE else 1
    if scheme in dslayout.UNUSABLE:
        raise layout.get("Sparing scheme used").error(
            "sparing scheme %d cannot be imported: %s" % (scheme, dslayout.UNUSABLE[scheme]))
    zones = [read_zone(Reader(block, "zone:%d" % i, report), units, report)
             for i, block in enumerate(zone_blocks(layout))]
    if not zones:
        raise layout.get("Zones").error("there are none")
    result = dslayout.convert(zones, heads, cylinders, mapping, scheme, range_size)
    layout.finish()
    for note in result.notes:
        report.note(note)
    return result


# ---- the drive as a whole ----

class Source:
    """The blocks that describe one drive, and the components between it and the host."""

    def __init__(self, text, find, report):
        self.text = text
        self.find = find
        self.report = report
        self.blocks = {}
        for block in text.blocks:
            self._sort(block)
        disks = self.blocks.get("disksim_disk", [])
        models = self.blocks.get("dm_disk", [])
        if len(disks) > 1:
            raise disks[1].place.error("a second drive: which one is meant?")
        if not disks and len(models) != 1:
            raise ToolError("%s: describes no drive" % text.files[0] if not models else
                            "%s: describes more than one drive" % text.files[0])
        self.disk = disks[0] if disks else None
        self.model = self._model() if disks else models[0]

    def _sort(self, block):
        if block.kind not in RUN_BLOCKS and block.kind not in USED:
            raise block.place.error("block type '%s' is not known" % block.kind)
        self.blocks.setdefault(block.kind, []).append(block)

    def _model(self):
        param = self.disk.params.get("Model")
        if param is None or not isinstance(param.value, libparam.Block) or \
                param.value.kind != "dm_disk":
            raise self.disk.place.error("disksim_disk has no Model of type dm_disk")
        return param.value

    def path(self):
        """Names of the component blocks between the host and the drive; None: all."""
        if not self.disk or not self.text.topology:
            return None
        wanted = {c for c, block in self.text.instances.items() if block == self.disk.name}

        def search(node, above):
            above = above + [node.name]
            if node.name in wanted:
                return above
            for child in node.children:
                found = search(child, above) if isinstance(child, libparam.Topology) else None
                if found:
                    return found
            return None
        found = search(self.text.topology, [])
        return {self.text.instances.get(name) for name in found} if found else None

    def component(self, short):
        """The blocks that an override's short name means, by label."""
        if short == "disk":
            return {"disk": self.disk} if self.disk else {}
        if short == "model":
            return {"model": self.model}
        if short in ("mech", "layout"):
            name = "Mechanical Model" if short == "mech" else "Layout Model"
            param = self.model.params.get(name)
            return {short: param.value} if param and isinstance(param.value, libparam.Block) \
                else {}
        if short == "queue":
            param = self.disk.params.get("Scheduler") if self.disk else None
            return {"queue": param.value} if param and isinstance(param.value, libparam.Block) \
                else {}
        if short == "zone":
            layout = self.component("layout").get("layout")
            zones = layout.params.get("Zones") if layout else None
            return {"zone:%d" % i: block for i, block in enumerate(zones.value)} if zones else {}
        return {"%s:%s" % (short, block.name): block for block in self.blocks.get(SHORT[short], [])}

    def override(self, item):
        """Apply one --override: [BLOCK/]NAME=VALUE [# where that comes from]."""
        key, equals, rest = item.partition("=")
        value, _, source = rest.partition("#")
        key, value, source = key.strip(), value.strip(), source.strip()
        block_name, slash, name = key.rpartition("/")
        # "Timeout time/weight" has a slash of its own
        if slash and block_name.partition(":")[0] not in SHORT:
            block_name, name = "", key
        if not equals or not name or not value:
            raise ToolError("--override '%s' is not [BLOCK/]NAME=VALUE [# SOURCE]" % item)
        label, block = self._override_block(block_name, name, item)
        old = block.params.get(name)
        place = old.place if old else libparam.Place("--override " + key, 1)
        param = libparam.Param(name, libparam.parse_value(value, "--override " + key), place)
        param.override = source or "no source given"
        block.params[name] = param
        self.report.overrides.append({
            "parameter": label + "/" + name, "value": value, "source": param.override,
            "file_value": libparam.text_of(old.value) if old else None})

    def _override_block(self, block_name, name, item):
        short, _, which = block_name.partition(":")
        candidates = {}
        for kind in ([short] if short else SHORT):
            if name in USED[SHORT[kind]] or name in IGNORED[SHORT[kind]]:
                candidates.update(self.component(kind))
        if which:
            candidates = {k: v for k, v in candidates.items() if k == block_name}
        if not candidates:
            raise ToolError("--override '%s': there is no such parameter here" % item)
        if len(candidates) > 1:
            raise ToolError("--override '%s': which of %s?" % (item, ", ".join(candidates)))
        return next(iter(candidates.items()))

    def ignore_run(self):
        """List the blocks that say nothing about the drive."""
        for kind, what in RUN_BLOCKS.items():
            for block in self.blocks.get(kind, []):
                names = ", ".join(block.params)
                self.report.ignore(block.place, "%s %s" % (kind, block.name), names,
                                   "describes %s, not the drive" % what
                                   if what != STATISTICS else what, False)


def bus_ns(source, disk, report):
    """Exact ns that a block takes from the drive to the host, the slowest on the way,
    and where that stands."""
    times = {"disk": disk.milliseconds("Bulk sector transfer time")}
    places = {"disk": disk.place("Bulk sector transfer time")}
    on_way = source.path()
    for block in source.blocks.get("disksim_bus", []):
        bus = Reader(block, "bus:" + block.name, report)
        read = bus.milliseconds("Read block transfer time")
        write = bus.milliseconds("Write block transfer time")
        if on_way is None or block.name in on_way:
            times[bus.label] = max(read, write)
            places[bus.label] = bus.place("Read block transfer time")
            if read != write:
                report.note("%s: a block takes %s ns to read and %s ns to write; the simulated "
                            "bus is the slower" % (bus.label, float(read), float(write)))
        bus.finish()
    for block in source.blocks.get("disksim_ctlr", []):
        ctlr = Reader(block, "ctlr:" + block.name, report)
        time = ctlr.milliseconds("Bulk sector transfer time")
        if on_way is None or block.name in on_way:
            times[ctlr.label] = time
            places[ctlr.label] = ctlr.place("Bulk sector transfer time")
        ctlr.finish()
    slowest = max(times, key=times.get)
    report.note("bus: %s ns a block, as of %s" % (float(times[slowest]), slowest))
    return times[slowest], places[slowest]


def overheads(drive, disk):
    """Command overheads and what happens on the bus."""
    scale = disk.number("Time scale for overheads", 0)

    def ns(name):
        return rounded(scale * disk.milliseconds(name))

    each = scale * disk.milliseconds("Per-request overhead time")
    for kind in ("Read hit", "Read miss", "Write hit", "Write miss"):
        drive.overhead_ns[kind.lower().replace(" ", "_")] = tuple(
            rounded(each + scale * disk.milliseconds("%s over. after %s" % (kind, before)))
            for before in ("read", "write"))
        drive.places[kind.lower().replace(" ", "_")] = disk.place(kind + " over. after read")
    drive.places.update(reselect_ns=disk.place("First reselect overhead"),
                        completion_ns=disk.place("Read completion overhead"),
                        write_move_ns=disk.place("Minimum seek delay"),
                        extra_disconnect_ns=disk.place("Extradisc command overhead"))
    prepare = scale * disk.milliseconds("Data preparation overhead")
    drive.reselect_ns = rounded(scale * disk.milliseconds("First reselect overhead") + prepare)
    # what is there already is prepared after the command, without reselecting
    drive.overhead_ns["read_hit"] = tuple(
        time + rounded(prepare) for time in drive.overhead_ns["read_hit"])
    # a write comes back to the bus when it is on the medium (disk_check_bus)
    reselect = 0 if disk.integer("Fast write level", 0) else \
        scale * disk.milliseconds("First reselect overhead")
    drive.completion_ns = (
        ns("Read completion overhead"),
        rounded(scale * disk.milliseconds("Write completion overhead") + reselect))
    # the mechanics' own least wait is not scaled (disk_check_hda)
    drive.write_move_ns = rounded(disk.milliseconds("Minimum seek delay"))
    if disk.flag("Extra write disconnect"):
        drive.extra_disconnect_ns = (
            rounded(each + scale * disk.milliseconds("Extradisc command overhead")),
            ns("Extradisc disconnect overhead"), ns("Extradisc inter-disconnect delay"),
            0, ns("Extradisc seek delta"))


def firmware(drive, disk, report):
    """Queue, cache and buffer behaviour."""
    queue = disk.child("Scheduler", "disksim_ioqueue", "queue")
    policy = queue.integer("Scheduling policy", 1)
    policies = {1: "fcfs", 3: "clook", 4: "sstf", 7: "sstf", 8: "sptf"}
    if policy not in policies:
        raise queue.get("Scheduling policy").error(
            "policy %d cannot be imported: the simulated drive has 1 (FCFS), 3 (C-LOOK), 4 and 7 "
            "(SSTF) and 8 (SPTF)" % policy)
    drive.firmware = policies[policy]
    queue.finish()
    preseek = disk.integer("Preseeking level", 0, 2)
    drive.early_seek = preseek == 2
    if preseek == 1:
        report.note("Preseeking level 1 (when the report is ready) is taken as 0 (when it has "
                    "been made)")
    drive.watermark_ppm = rounded(disk.number("High (read) water mark", 0, 1) * 1000000)
    drive.zero_latency = bool(disk.integer("Immediate buffer read", 0, 2))
    for_write = disk.integer("Immediate buffer write", 0, 2)
    if bool(for_write) != drive.zero_latency:
        report.note("Immediate buffer write is %d: zero-latency access is as for reads here" %
                    for_write)
    if disk.integer("Immediate buffer read", 0, 2) == 2 or for_write == 2:
        report.note("Immediate buffer read or write 2 is taken as 1")
    cache(drive, disk, report)


def cache(drive, disk, report):
    """The segments and what the drive does with them."""
    level = disk.integer("Enable caching in buffer", 0, 2)
    segments = disk.integer("Number of buffer segments", 0)
    sectors = disk.integer("Segment size (in blks)", 1)
    writes = disk.integer("Maximum number of write segments", 0)
    if level:
        drive.cache = (segments, sectors, writes)
    drive.places.update(segments=disk.place("Number of buffer segments"),
                        segment_sectors=disk.place("Segment size (in blks)"),
                        write_segments=disk.place("Maximum number of write segments"),
                        read_ahead_max=disk.place("Maximum read-ahead (blks)"))
    if level == 2:
        report.note("Enable caching in buffer 2 is taken as 1")
    read_ahead(drive, disk, report)
    drive.keep_passing = disk.flag("Read any free blocks")
    drive.stop_at_once = disk.flag("Stop prefetch in sector")
    drive.written_hits = disk.flag("Allow read hits on write data")
    drive.append_writes = disk.flag("Combine seq writes")
    drive.write_cache = ("off", "stream", "back")[disk.integer("Fast write level", 0, 2)]
    for name, wanted in (("Fast write level", drive.write_cache != "off"),
                         ("Read any free blocks", drive.keep_passing),
                         ("Buffer continuous read", drive.read_ahead != "none")):
        if wanted and not level:
            raise disk.get(name).error("makes no sense where 'Enable caching in buffer' is 0")


def read_ahead(drive, disk, report):
    """How far the drive reads on (disk_buffer_get_max_readahead)."""
    level = disk.integer("Buffer continuous read", 0, 4)
    drive.read_ahead = ("none", "track", "cylinder", "segment", "stream")[level]
    if level == 3:
        drive.read_ahead_max = disk.integer("Maximum read-ahead (blks)") or \
            disk.integer("Segment size (in blks)")
    drive.read_ahead_on_hit = disk.flag("Read-ahead on idle hit")
    drive.read_ahead_join = disk.flag("Allow almost read hits")
    over = disk.integer("Read-ahead over requested", -1, 1)
    drive.discard_read = over == -1
    if over == 0:
        report.ignore(disk.get("Read-ahead over requested").place,
                      "disk/Read-ahead over requested", "0",
                      "without a maximum it reads on for a segment, whatever the segment holds",
                      level == 3 and not disk.integer("Maximum read-ahead (blks)"))


def make_drive(source):
    """The Drive that the source describes."""
    report = source.report
    model = Reader(source.model, "model", report)
    heads = model.integer("Number of data surfaces", 1, MAX_HEADS)
    cylinders = model.integer("Number of cylinders", 1, MAX_CYLINDERS)
    mech = model.child("Mechanical Model", "dm_mech_g1", "mech")
    layout = model.child("Layout Model", "dm_layout_g1", "layout")
    drive = Drive(layout=read_layout(layout, heads, cylinders, report))
    rpm = mech.integer("Rotation speed (in rpms)", 1)
    drive.period_ps = 60 * 10 ** 12 // rpm          # DiskSim's is whole ps, too
    drive.seek, curve = seek_points(mech, drive.layout.cylinders - 1, source.find, report)
    drive.places.update(
        seek=curve, heads=model.place("Number of data surfaces"),
        cylinders=model.place("Number of cylinders"),
        period_ps=mech.place("Rotation speed (in rpms)"),
        head_switch_ns=mech.place("Head switch time"),
        write_settle_ns=mech.place("Add. write settling delay"))
    drive.head_switch_ns = rounded(mech.milliseconds("Head switch time"))
    drive.write_settle_ns = rounded(mech.milliseconds("Add. write settling delay", None))
    mech.finish()
    _check_count(model, drive.layout, report)
    model.finish()
    if source.disk:
        disk = Reader(source.disk, "disk", report)
        disk.get("Model")
        exact, drive.places["bus_ns"] = bus_ns(source, disk, report)
        drive.bus_ns = rounded(exact)
        overheads(drive, disk)
        firmware(drive, disk, report)
        disk.finish()
    else:
        report.note("no .diskspecs: firmware and bus of the simulated drive are its defaults")
    source.ignore_run()
    return drive


def _check_count(model, layout, report):
    count = model.block.params.get("Block count")
    if count and isinstance(count.value, libparam.Number) and \
            count.value.value != layout.sectors:
        report.note("%s: Block count is %s, the zones hold %d" %
                    (count.place, count.value, layout.sectors))


# ---- finding the files ----

ORDER = (".parv", ".diskspecs", ".model")


def drives_folder():
    """Where drives known by name are."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.environ.get("FREEBLOCK_DRIVES") or \
        os.path.normpath(os.path.join(top, "..", "shared", "data", "drives"))


def top_file(names):
    """(the file to begin with, folders and files in which to look for others)."""
    paths = []
    for name in names:
        by_name = os.path.join(drives_folder(), "disks", name)
        paths.append(name if os.path.exists(name) or not os.path.isdir(by_name) else by_name)
    files = []
    for path in paths:
        if os.path.isdir(path):
            files += [os.path.join(path, f) for f in sorted(os.listdir(path))]
        elif os.path.exists(path):
            files.append(path)
        else:
            raise ToolError("%s: no such file or folder, and no drive of that name in %s" %
                            (path, os.path.join(drives_folder(), "disks")))
    for ending in ORDER:
        found = [f for f in files if f.endswith(ending)]
        if len(found) > 1:
            raise ToolError("more than one %s file (%s): give one" % (ending, ", ".join(found)))
        if found:
            return found[0], files
    raise ToolError("%s: no .parv, .diskspecs or .model file" % ", ".join(names))


def finder(files):
    """Function that says where a file named in another one is."""
    def find(name, place):
        beside = os.path.join(os.path.dirname(place.file), name)
        if os.path.isfile(beside):
            return beside
        for file in files:
            if os.path.basename(file) == os.path.basename(name):
                return file
        raise place.error("there is no file '%s'" % name)
    return find


def load(names, overrides=()):
    """(Drive, Report, files read) of the drive in `names`: a name, a folder, or files."""
    top, files = top_file(names)
    find = finder(files)
    read = []

    def finding(name, place):
        path = find(name, place)
        if path not in read:
            read.append(path)
        return path
    report = Report()
    text = libparam.parse(top, finding)
    source = Source(text, finding, report)
    for item in overrides:
        source.override(item)
    drive = make_drive(source)
    drive.name = os.path.splitext(os.path.basename(source.model.place.file))[0]
    return drive, report, [top] + [path for path in read if path != top]
