# SPDX-License-Identifier: GPL-2.0
"""A disk's attributes: table 1 of the paper, and the facts of a model or a simulated
drive that make the mechanism exact (zones, skews, overheads)."""

import functools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .. import ToolError, asdrive, fbdrive, fbdrive_check, fbmodel, truth
from ..extraction.places import Layout

SECTOR = 512            # bytes of a model's LBN
ALGORITHMS = ("fcfs", "look", "clook", "sstf", "sptf", "sptf-sw")


class Zones(NamedTuple):
    """Arrays, a value for each zone, outside first. sectors_per_track: 512-byte slots
    of a track, used or not (mean over heads); skews: turns; bytes: of data; slipped: share
    of the slots that hold nothing amid others that do; slip_unit: what divides all runs of
    such slots (0: there are none); first_data, end_data: where in the cylinders the zone's
    data begin and end, as dead and spare sectors do not lie amid them."""

    first_cylinder: np.ndarray
    last_cylinder: np.ndarray
    sectors_per_track: np.ndarray
    track_skew: np.ndarray
    cylinder_skew: np.ndarray
    first_byte: np.ndarray
    bytes: np.ndarray
    slipped: np.ndarray
    slip_unit: np.ndarray
    first_data: np.ndarray
    end_data: np.ndarray


class ThreePart(NamedTuple):
    """The paper's seek curve: a + b sqrt(dis) up to e cylinders, c + d dis beyond.
    a, c: s; b: s/sqrt(cylinder); d: s/cylinder; e: cylinders."""

    a: float
    b: float
    c: float
    d: float
    e: float

    def time(self, distance):
        """s, of distances in cylinders (an array); 0 at 0."""
        distance = np.asarray(distance, dtype=float)
        near = self.a + self.b * np.sqrt(np.maximum(distance, 0))
        far = self.c + self.d * distance
        return np.where(distance <= 0, 0.0, np.where(distance <= self.e, near, far))


@dataclass(frozen=True)
class CacheSpec:
    """A drive's cache. Bytes, bytes/s, s."""

    segments: int
    segment_bytes: float
    read_ahead: str = "segment"         # none, track, cylinder, segment, stream
    read_ahead_bytes: float = None      # at most so much; None: what read_ahead says
    read_ahead_on_hit: bool = False
    read_ahead_trigger: str = "any"     # or "same-track"
    write_policy: str = "through"       # or "back"
    write_segments: int = 0             # so many writes are held
    write_hit: float = 0.0              # of a write that the cache takes: report and all, without
                                        # the transfer
    write_hit_after_write: float = None         # .. behind another write; None: the same
    append_writes: bool = False         # what continues a write that is held goes with it
    destage: str = "eager"              # held writes take turns with reads; "idle": after them
    destage_delay: float = 0.0          # .. but not before they have been held for so long
    destage_order: str = "sptf"         # of ALGORITHMS
    transfer_rate: float = float("inf")         # from the cache to the host
    hit_overhead: float = 0.0           # of a read that the cache answers, report and all
    discard_read: bool = False
    keep_passing: bool = False          # what passes before the wanted data takes room, too
    read_ahead_join: bool = True        # a read goes along with reading ahead though nothing of
                                        # it has been read yet


@dataclass(frozen=True, eq=False)
class Device:
    """A disk. Times in s; seek_time[i] is a read's over seek_distance[i] cylinders, straight
    between the points; `curve` is what the paper has in their place."""

    name: str
    revolution_time: float
    heads: int
    cylinders: int
    capacity: float                     # bytes
    zones: Zones
    seek_distance: np.ndarray
    seek_time: np.ndarray
    write_settle: float = 0.0           # longer before a write, unless the head stays
    write_seek_distance: np.ndarray = None      # a write's own points, settling included
    write_seek_time: np.ndarray = None
    track_switch: float = 0.0           # to another track of the cylinder, before a read
    cylinder_switch: float = 0.0        # to the next LBN's track on the next cylinder,
    head_changes: bool = True           # which belongs to another head
    zero_latency: bool = False
    read_overhead: float = 0.0          # from arrival at an idle drive until the arm moves
    write_overhead: float = 0.0
    read_overhead_after_write: float = None     # if the request before was a write; None: no
    write_overhead_after_write: float = None    # different
    read_report: float = 0.0            # from the last sector's end to the report
    write_report: float = 0.0
    seek_spread: float = 0.0            # standard deviation of a seek's time
    spread_known: bool = True           # False: seek_spread is what drives of a kind have, and
                                        # what hangs on it is not told
    bus_rate: float = float("inf")      # bytes/s, between drive and host; a read's last
                                        # sector is in read_report
    bus_watermark: float = 0.0          # share of a read that is there before any of it crosses
    block: float = SECTOR               # bytes; what requests are aligned to
    cache: CacheSpec = None
    algorithm: str = "fcfs"
    curve: ThreePart = None

    @staticmethod
    def from_model(path, cache=None, algorithm="fcfs"):
        """Of a .fbmodel file. It does not say what the cache does: `cache` does."""
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise ToolError("%s: %s" % (path, error.strerror)) from error
        return _of_model(path, text, cache, algorithm)

    @staticmethod
    def from_drive(path):
        """Of a simulated drive's .fbdrive file, its cache and firmware included."""
        try:
            scalars, lists = fbdrive.records(path)
            fbdrive_check.check(path, scalars, lists)
            device = _of_model(path, truth.model(path), None, "fcfs", described=True)
            return _with_drive(device, scalars, lists)
        except OSError as error:
            raise ToolError("%s: %s" % (path, error.strerror)) from error
        except (KeyError, ValueError, IndexError, ArithmeticError) as error:
            raise ToolError("%s: not a drive's description: %s" % (path, error)) from error

    @staticmethod
    def three_part(a, b, c, d, e, revolution_time, heads, cylinders, sectors_per_track,
                   **more):
        """In the paper's own terms: one zone, skews that just cover the switches. `more`:
        other attributes by name; without a cylinder_switch it is a one-cylinder seek."""
        _check_three_part((a, b, c, d, e), revolution_time, heads, cylinders,
                          sectors_per_track)
        curve = ThreePart(a, b, c, d, e)
        distance = _curve_points(cylinders, e)
        more.setdefault("track_switch", 0.0)
        more.setdefault("cylinder_switch", float(curve.time(1)))
        held = float(cylinders * heads * sectors_per_track * SECTOR)
        zones = Zones(*(np.array([value]) for value in (
            0, cylinders - 1, float(sectors_per_track),
            _skew(more["track_switch"], revolution_time, sectors_per_track),
            _skew(more["cylinder_switch"], revolution_time, sectors_per_track), 0.0, held,
            0.0, 0, 0.0, float(cylinders))))
        return Device(more.pop("name", "three-part"), revolution_time, heads, cylinders, held,
                      zones, distance, curve.time(distance), curve=curve, **more)

    @functools.cached_property
    def zone_cylinders(self):
        """Cylinders of each zone."""
        return self.zones.last_cylinder - self.zones.first_cylinder + 1

    @functools.cached_property
    def bytes_per_cylinder(self):
        """Mean over the disk: the paper's Ave_Bytes_per_Cylinder."""
        return self.capacity / self.cylinders

    def cylinder_of(self, byte):
        """Where a byte lies, cylinders and parts of them; arrays, too."""
        zones = self.zones
        ends = zones.first_byte + zones.bytes
        return np.interp(byte, np.stack((zones.first_byte, ends), axis=1).ravel(),
                         np.stack((zones.first_data, zones.end_data), axis=1).ravel())

    def span_cylinders(self, workload):
        """First and last cylinder (floats: where in them) of the workload's data."""
        end = workload.data_start + workload.data_span
        if end > self.capacity * (1 + 1e-9):
            raise ToolError("workload: data_start + data_span: %.0f bytes, more than the "
                            "%.0f of %s" % (end, self.capacity, self.name))
        first, last = self.cylinder_of(np.array([workload.data_start, end]))
        return float(first), float(last)

    def track_bytes(self, workload=None):
        """Mean bytes of a track, over the workload's data if it is given."""
        data = self.zones.bytes / (self.zone_cylinders * self.heads)
        return float(np.average(data, weights=self.zone_weights(workload)))

    def zone_weights(self, workload=None):
        """Share of a workload's accesses (None: uniform over the disk) in each zone."""
        if workload is None:
            return self.zones.bytes / self.capacity
        start = workload.data_start
        low = np.maximum(self.zones.first_byte, start)
        high = np.minimum(self.zones.first_byte + self.zones.bytes, start + workload.data_span)
        within = np.maximum(high - low, 0.0)
        return within / within.sum()


def _skew(switch, turn, sectors):
    """Whole sectors that cover a switch, in turns."""
    return float(np.ceil(switch / turn * sectors) / sectors % 1)


def _curve_points(cylinders, e):
    """Distances that show a three-part curve: close at first, then ever farther apart."""
    near = np.unique(np.round(np.geomspace(1, max(cylinders - 1, 1), 200)))
    at = np.array([e, e + 1])
    return np.union1d(near, np.floor(at[(at >= 1) & (at < cylinders)]))


def _check_three_part(curve, turn, heads, cylinders, sectors):
    for name, value, unit in zip(
            ("b", "d", "e", "revolution_time", "heads", "cylinders", "sectors_per_track"),
            (curve[1], curve[3], curve[4], turn, heads, cylinders, sectors),
            ("s/sqrt(cylinder)", "s/cylinder", "cylinders", "s", "1", "1", "1")):
        if not np.isfinite(value) or value < 0 or name not in "bde" and value == 0:
            raise ToolError("device: %s %r (%s): must be %s 0" % (
                name, value, unit, "at least" if name in "bde" else "over"))


def _end_data(zone, heads):
    """Where in the cylinders a zone's last sector with data ends: what is spare lies behind."""
    slipped = sum(count for _, count in zone.slips)
    used = zone.slots(heads) - max(zone.spares - slipped, 0)
    return zone.first_cyl + used / zone.cyl_slots(heads)


def _zones(layout):
    """Zones, and their bytes in all."""
    heads = layout.heads
    held = np.array([zone.slots(heads) - zone.dead - zone.spares for zone in layout.zones],
                    dtype=float) * SECTOR
    ends = np.cumsum(held)

    def column(get):
        return np.array([get(zone) for zone in layout.zones])

    track_skew, cylinder_skew = column(lambda z: z.track_skew), column(lambda z: z.cyl_skew)
    if layout.surface_run > 1:
        # the next track is mostly the neighbour on the same surface
        track_skew = cylinder_skew = cylinder_skew + \
            (track_skew - cylinder_skew) / layout.surface_run
    return Zones(column(lambda z: z.first_cyl), column(lambda z: z.last_cyl),
                 column(lambda z: z.cyl_slots(heads) / heads), track_skew, cylinder_skew,
                 ends - held, held,
                 column(lambda z: sum(count for _, count in z.slips) / z.slots(heads)),
                 column(lambda z: math.gcd(*(count for _, count in z.slips))),
                 column(lambda z: z.first_cyl + z.dead / z.cyl_slots(heads)),
                 column(lambda z: _end_data(z, heads))), float(ends[-1])


def _points(pairs, unit=1e-9):
    """Distances and times of records, or Nones."""
    if not pairs:
        return None, None
    both = np.array(sorted(pairs), dtype=float)
    return both[:, 0], both[:, 1] * unit


def _settle(model, described):
    """s; by a drive's description writes may settle sooner than reads, by a model they do not."""
    text = model.text("write_settle_ns")
    if described and text.startswith("-") and text[1:].isdecimal():
        return int(text) * 1e-9
    return model.number("write_settle_ns") * 1e-9


def _of_model(path, text, cache, algorithm, described=False):
    """A model's text as a Device; described: it is made of a drive's description."""
    if algorithm not in ALGORITHMS:
        raise ToolError("algorithm %r: not one of %s" % (algorithm, ", ".join(ALGORITHMS)))
    model = fbmodel.Model(text, path)
    distance, time = _points(model.seeks())
    layout = Layout.of_model(model)
    zones, held = _zones(layout)
    write_distance, write_time = _points(model.points["write_seek"])
    spread = model.points["seek_spread"] or [(1, asdrive.SPREAD_NS)]
    switch = model.number("head_switch_ns") * 1e-9
    same_head = layout.order != "plain" or layout.heads == 1
    one = float(np.interp(1, np.append(0, distance), np.append(0, time)))
    return Device(
        " ".join((model.header.get("vendor", ""), model.header.get("product", ""))).strip() or path,
        model.number("period_ps") * 1e-12, layout.heads, layout.cylinders,
        held, zones, distance, time, write_settle=_settle(model, described),
        write_seek_distance=write_distance, write_seek_time=write_time, track_switch=switch,
        cylinder_switch=one if same_head else max(one, switch), head_changes=not same_head,
        zero_latency=model.text("zero_latency") == "yes",
        seek_spread=float(np.mean([ns for _, ns in spread])) * 1e-9,
        spread_known=bool(model.points["seek_spread"]) or layout.cylinders == 1,
        cache=cache, algorithm=algorithm,
        block=SECTOR * float(model.number("physical_sectors", 1)),
        **{name: model.number(name + "_ns", 0) * 1e-9
           for name in ("read_overhead", "write_overhead", "read_report", "write_report")})


def _with_drive(device, scalars, lists):
    """What only the drive's own description says."""
    def number(name, default, at=0):
        return float(scalars.get(name, [default] * (at + 1))[at])

    sector = number("sector_bytes", SECTOR)
    bus = number("bus_ns", 0) * 1e-9
    rate = sector / bus if bus else float("inf")
    late = number("jitter_ns", 20000) * 1e-9 / 2
    after = _after_write(scalars, lists)
    return replace(device, bus_rate=rate,
                   bus_watermark=number("bus_watermark_ppm", 0) * 1e-6,
                   read_overhead_after_write=after[0], write_overhead_after_write=after[1],
                   read_report=device.read_report + late,
                   write_report=device.write_report + late,
                   algorithm=scalars.get("firmware", ["sptf"])[0],
                   cache=_cache(scalars, lists, sector, rate))


def _after_write(scalars, lists):
    """(read, write) overheads, s, if the command before was a write."""
    found = [float(word) for word in scalars.get("command_overhead_ns", ["0", "0"])]
    for kind, _, after_write in lists["overhead_ns"]:
        if kind in ("read_miss", "write_miss"):
            found[kind == "write_miss"] = float(after_write)
    return found[0] * 1e-9, found[1] * 1e-9


def _cache(scalars, lists, sector, rate):
    """A CacheSpec, or None."""
    said = scalars.get("cache", ["off"])
    back = scalars.get("write_cache", ["off"])[0] != "off"
    off = scalars.get("read_cache") == ["off"]
    if said[0] == "off" or off and not back:
        return None
    ahead = scalars.get("read_ahead", ["none"])
    if off or scalars.get("look_ahead") == ["off"]:
        ahead = ["none"]
    late = float(scalars.get("jitter_ns", ["20000"])[0]) / 2
    report = [float(word) + late for word in (scalars.get("completion_overhead_ns", ["0"]) * 2)[:2]]
    write = [each + report[1] for each in _hit_overheads(scalars, lists, "write_hit")]
    # "stream" takes no second one while it holds one
    room = 1 if scalars.get("write_cache", ["off"])[0] == "stream" else int(said[2])
    return CacheSpec(
        segments=int(said[0]), segment_bytes=int(said[1]) * sector, read_ahead=ahead[0],
        read_ahead_bytes=int(ahead[1]) * sector if len(ahead) > 1 else None,
        read_ahead_on_hit=scalars.get("read_ahead_on_hit") == ["on"],
        read_ahead_trigger=scalars.get("read_ahead_trigger", ["any"])[0],
        write_policy="back" if back else "through", write_segments=room if back else 0,
        write_hit=write[0] * 1e-9, write_hit_after_write=write[1] * 1e-9,
        append_writes=scalars.get("append_writes") == ["on"],
        destage=scalars.get("destage", ["eager"])[0],
        destage_delay=float(scalars.get("destage_delay_ns", ["0"])[0]) * 1e-9,
        destage_order=scalars.get("firmware", ["sptf"])[0],
        transfer_rate=rate,
        hit_overhead=(_hit_overheads(scalars, lists, "read_hit")[0] + report[0]) * 1e-9,
        discard_read=scalars.get("discard_read") == ["on"],
        keep_passing=scalars.get("keep_passing") == ["on"],
        read_ahead_join=scalars.get("read_ahead_join", ["on"]) == ["on"])


def _hit_overheads(scalars, lists, wanted):
    """ns until a command that the cache answers is understood: after a read, after a write."""
    found = [float(word) for word in scalars.get("command_overhead_ns", ["0", "0"])]
    found = [found[wanted == "write_hit"]] * 2
    for kind, after_read, after_write in lists["overhead_ns"]:
        found = [float(after_read), float(after_write)] if kind == wanted else found
    return found
