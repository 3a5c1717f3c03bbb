# SPDX-License-Identifier: GPL-2.0
"""A disk's attributes: table 1 of the paper, and the facts of a model or a simulated
drive that make the mechanism exact (zones, skews, overheads)."""

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .. import ToolError
from ..extraction.places import Layout
from ..formats import fbdrive, fbmodel
from ..sim import asdrive, truth

SECTOR = 512            # bytes of a model's LBN


class Zones(NamedTuple):
    """Arrays, a value for each zone, outside first. sectors_per_track: 512-byte slots
    of a track, used or not (mean over heads); skews: turns; bytes: of data; slipped: share
    of the slots that hold nothing amid others that do; first_data, end_data: where in the
    cylinders the zone's data begin and end, as dead and spare sectors do not lie amid them; slow:
    whether a seek there takes a turn more."""

    first_cylinder: np.ndarray
    last_cylinder: np.ndarray
    sectors_per_track: np.ndarray
    track_skew: np.ndarray
    cylinder_skew: np.ndarray
    first_byte: np.ndarray
    bytes: np.ndarray
    slipped: np.ndarray
    first_data: np.ndarray
    end_data: np.ndarray
    slow: np.ndarray


@dataclass(frozen=True)
class CacheSpec:
    """A drive's cache. Bytes, bytes/s, s."""

    segments: int
    segment_bytes: float
    read_ahead: str = "segment"         # none, track, cylinder, segment, stream
    read_ahead_bytes: float = None      # at most so much; None: what read_ahead says
    read_ahead_on_hit: bool = False
    write_policy: str = "through"       # or "back": reported before they are on the medium
    transfer_rate: float = float("inf")         # from the cache to the host
    hit_overhead: float = 0.0           # of a read that the cache answers, report and all


@dataclass(frozen=True, eq=False)
class Device:
    """A disk. Times in s; seek_time[i] is a read's over seek_distance[i] cylinders, straight
    between the points."""

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
    cylinder_switch: float = 0.0        # to the next LBN's track on the next cylinder
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

    @staticmethod
    def from_model(path, cache=None):
        """Of a .fbmodel file. It does not say what the cache does: `cache` does."""
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise ToolError("%s: %s" % (path, error.strerror)) from error
        return _of_model(path, text, cache)

    @staticmethod
    def from_drive(path):
        """Of a simulated drive's .fbdrive file, its cache and firmware included."""
        try:
            fbdrive.check(path)
            scalars, lists = fbdrive.records(path)
            device = _of_model(path, truth.model(path), None, described=True)
            return _with_drive(device, scalars, lists)
        except OSError as error:
            raise ToolError("%s: %s" % (path, error.strerror)) from error
        except (KeyError, ValueError, IndexError, ArithmeticError) as error:
            raise ToolError("%s: not a drive's description: %s" % (path, error)) from error

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

    def slow_turns(self, byte):
        """Turns that a seek to a byte takes more, 0 or 1; arrays, too."""
        zone = np.searchsorted(self.zones.first_byte, byte, side="right") - 1
        return self.zones.slow[zone].astype(float)

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
                 column(lambda z: z.first_cyl + z.dead / z.cyl_slots(heads)),
                 column(lambda z: _end_data(z, heads)), column(lambda z: z.slow)), float(ends[-1])


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


def _of_model(path, text, cache, described=False):
    """A model's text as a Device; described: it is made of a drive's description."""
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
        cylinder_switch=one if same_head else max(one, switch),
        zero_latency=model.text("zero_latency") == "yes",
        seek_spread=float(np.mean([ns for _, ns in spread])) * 1e-9,
        spread_known=bool(model.points["seek_spread"]) or layout.cylinders == 1,
        cache=cache,
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
    after = [_overhead(scalars, lists, kind)[1] * 1e-9 for kind in ("read_miss", "write_miss")]
    return replace(device, bus_rate=rate,
                   bus_watermark=number("bus_watermark_ppm", 0) * 1e-6,
                   read_overhead_after_write=after[0], write_overhead_after_write=after[1],
                   read_report=device.read_report + late,
                   write_report=device.write_report + late,
                   cache=_cache(scalars, lists, sector, rate))


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
    report = float(scalars.get("completion_overhead_ns", ["0"])[0]) + late
    return CacheSpec(
        segments=int(said[0]), segment_bytes=int(said[1]) * sector, read_ahead=ahead[0],
        read_ahead_bytes=int(ahead[1]) * sector if len(ahead) > 1 else None,
        read_ahead_on_hit=scalars.get("read_ahead_on_hit") == ["on"],
        write_policy="back" if back else "through", transfer_rate=rate,
        hit_overhead=(_overhead(scalars, lists, "read_hit")[0] + report) * 1e-9)


def _overhead(scalars, lists, wanted):
    """ns until a command of a kind is understood: after a read, after a write."""
    found = [float(word) for word in scalars.get("command_overhead_ns", ["0", "0"])]
    found = [found[wanted.startswith("write")]] * 2
    for kind, after_read, after_write in lists["overhead_ns"]:
        found = [float(after_read), float(after_write)] if kind == wanted else found
    return found
