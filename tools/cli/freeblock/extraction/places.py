# SPDX-License-Identifier: GPL-2.0
"""Where a drive's units lie: the zones of Documentation/model-format.rst.

A unit is the larger of logical and physical block; blocks number units. All
counts here are in units, angles in turns. A zone's *slots* are numbered from 0
in the order in which units visit its tracks, dead and spare ones included. Each
query takes and gives whole numpy arrays.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from .. import ToolError
from .modeltext import fbmodel

ORDERS = ("plain", "serpentine-zone", "serpentine-disk")

# A track that holds units: its first unit, how many (remapped ones included),
# the angle at which slot 0 begins, slots, and the slot of its first unit.
TRACK = np.dtype([("first", "<i8"), ("count", "<i4"), ("start", "<f8"), ("spt", "<i4"),
                  ("cyl", "<i4"), ("head", "<i2"), ("slot", "<i4")])
# A block that lives in a spare, and where.
MOVED = np.dtype([("block", "<i8"), ("cyl", "<i4"), ("head", "<i2"), ("slot", "<i4")])
PLACE = np.dtype([("zone", "<i4"), ("cyl", "<i4"), ("head", "<i2"), ("slot", "<i4"),
                  ("spt", "<i4"), ("start", "<f8")])


def _pairs(values):
    """A list of pairs as an array of two columns."""
    return np.array(values, dtype=np.int64).reshape(-1, 2)


@dataclass
class Zone:
    """As a zone record of a model and the records that belong to it. head_spt:
    slots per track by physical head, None where all have `spt`; unmapped: no angle is known; slow:
    seeks there take a turn more."""

    first_cyl: int
    last_cyl: int
    spt: int
    angle: float = 0.0
    track_skew: float = 0.0
    cyl_skew: float = 0.0
    dead: int = 0
    spares: int = 0
    slips: list = field(default_factory=list)
    remaps: list = field(default_factory=list)
    head_spt: list = None
    unmapped: bool = False
    slow: bool = False

    def cyl_slots(self, heads):
        """Slots of a cylinder."""
        return sum(self.head_spt) if self.head_spt else heads * self.spt

    def slots(self, heads):
        """All slots."""
        return (self.last_cyl - self.first_cyl + 1) * self.cyl_slots(heads)


class _Index:
    """A layout's zones as arrays. A *number* counts the slots of all zones."""

    def __init__(self, layout):
        zones, heads = layout.zones, layout.heads
        self.heads = heads

        def column(get, kind=np.int64):
            return np.array([get(zone) for zone in zones], dtype=kind)

        self.first_cyl = column(lambda z: z.first_cyl)
        self.cyls = column(lambda z: z.last_cyl - z.first_cyl + 1)
        self.cyl_slots = column(lambda z: z.cyl_slots(heads))
        slots = column(lambda z: z.slots(heads))
        self.base = np.concatenate(([0], np.cumsum(slots)))
        self.dead = column(lambda z: z.dead)
        self.held = slots - self.dead - column(lambda z: z.spares)
        self.first = np.concatenate(([0], np.cumsum(self.held)))
        self.angle = column(lambda z: z.angle, float)
        self.track_skew = column(lambda z: z.track_skew, float)
        self.cyl_skew = column(lambda z: z.cyl_skew, float)
        # what a cylinder adds, less whole turns, so that many stay exact
        self.turn = (self.cyl_skew + (heads - 1) * self.track_skew) % 1
        self.spt = np.array([z.head_spt or [z.spt] * heads for z in zones], dtype=np.int64)
        self.before = self._cumulated()
        self.unmapped = column(lambda z: z.unmapped, bool)
        self._index_slips(zones)
        self._index_remaps(zones)

    def _cumulated(self):
        """[zone, backwards?, track]: slots of a cylinder's tracks before it."""
        both = np.stack([self.spt, self.spt[:, ::-1]], axis=1)
        return np.concatenate((np.zeros(both.shape[:2] + (1,), np.int64),
                               np.cumsum(both, axis=2)), axis=2)

    def _index_slips(self, zones):
        slips = [_pairs(zone.slips) for zone in zones]
        self.slip_zone = np.repeat(np.arange(len(zones)), [len(s) for s in slips])
        joined = np.concatenate(slips) if slips else _pairs([])
        self.slip_at = joined[:, 0] + self.base[self.slip_zone]
        self.slip_count = joined[:, 1]
        self.slipped = np.concatenate(([0], np.cumsum(self.slip_count)))
        self.zone_slip = np.searchsorted(self.slip_zone, np.arange(len(zones)))
        # from which block on each slip counts
        within = self.slipped[:-1] - self.slipped[self.zone_slip[self.slip_zone]]
        self.slip_block = self.first[self.slip_zone] + joined[:, 0] - within - \
            self.dead[self.slip_zone]

    def _index_remaps(self, zones):
        remaps = [_pairs(zone.remaps) for zone in zones]
        zone = np.repeat(np.arange(len(zones)), [len(r) for r in remaps])
        joined = np.concatenate(remaps) if remaps else _pairs([])
        self.moved_block = self.block_from(joined[:, 0] + self.base[zone], zone)
        self.moved_to = joined[:, 1] + self.base[zone]

    def zone_of(self, blocks):
        """The blocks' zones."""
        return np.searchsorted(self.first, blocks, side="right") - 1

    def number(self, blocks, zone):
        """The numbers of the blocks' slots, remaps apart."""
        index = self.dead[zone] + blocks - self.first[zone]
        if len(self.slip_at):
            passed = np.searchsorted(self.slip_block, blocks, side="right")
            index = index + self.slipped[passed] - self.slipped[self.zone_slip[zone]]
        return index + self.base[zone]

    def block_from(self, number, zone):
        """The first block whose slot, remaps apart, is `number` or later; a zone's
        end for slots behind its last block."""
        slips = 0
        if len(self.slip_at):
            begun = np.searchsorted(self.slip_at, number, side="left")
            slips = self.slipped[begun] - self.slipped[self.zone_slip[zone]]
            last = np.maximum(begun - 1, 0)
            over = self.slip_at[last] + self.slip_count[last] - number
            slips = slips - np.where(begun > self.zone_slip[zone], np.maximum(over, 0), 0)
        held = number - self.base[zone] - self.dead[zone] - slips
        return self.first[zone] + np.clip(held, 0, self.held[zone])

    def move(self, blocks, number):
        """Numbers with the blocks' remaps heeded."""
        if not len(self.moved_block):
            return number
        at = np.minimum(np.searchsorted(self.moved_block, blocks), len(self.moved_block) - 1)
        return np.where(self.moved_block[at] == blocks, self.moved_to[at], number)

    def is_moved(self, blocks):
        """Which blocks live in spares."""
        return np.isin(blocks, self.moved_block)


@dataclass
class Layout:
    """A whole drive. zones follow each other from cylinder 0; surface_run: cylinders whose
    tracks of a surface follow each other in the order of units before those of the next;
    not to be changed once asked.

    Below, cylinders are often counted from their zone's first, and a *band* is as many of
    them as a surface_run; a band's heads are counted in the order of units (`track`)."""

    heads: int
    cylinders: int
    order: str
    zones: list
    surface_run: int = 1
    _index: _Index = field(default=None, repr=False, compare=False)

    @property
    def index(self):
        """The zones as arrays."""
        if self._index is None:
            self._index = _Index(self)
        return self._index

    @property
    def blocks(self):
        """Capacity in units."""
        return int(self.index.first[-1])

    def _band(self, zone, cyl):
        """The first cylinder of the band, and how many it has."""
        first = cyl - cyl % self.surface_run
        return first, np.minimum(self.surface_run, self.index.cyls[zone] - first)

    def _backwards(self, zone, cyl):
        """Whether bands run from the last head to the first."""
        if self.order == "plain":
            return np.zeros(np.shape(cyl), dtype=np.int64)
        if self.order == "serpentine-disk":
            cyl = cyl + self.index.first_cyl[zone]
        return cyl // self.surface_run & 1

    def track_of(self, zone, cyl, head):
        """A head's number in the order of units, or the other way round."""
        return np.where(self._backwards(zone, cyl), self.heads - 1 - head, head)

    @staticmethod
    def _step(count, track, at):
        """The cylinder of a band whose track is the at-th under a head, or the inverse."""
        return np.where(track & 1, count - 1 - at, at)

    def _number(self, zone, cyl, track):
        """The number of a track among those of its zone, in the order of units."""
        first, count = self._band(zone, cyl)
        return first * self.heads + track * count + self._step(count, track, cyl - first)

    def _numbered(self, zone, number):
        """The inverse: cylinder and head in the order of units."""
        first, count = self._band(zone, number // self.heads)
        track, at = np.divmod(number - first * self.heads, count)
        return first + self._step(count, track, at), track

    def slot_place(self, number, zone):
        """PLACE array of slots, given by their numbers among those of all zones."""
        index = self.index
        places = np.empty(np.shape(number), PLACE)
        number = number - index.base[zone]
        first, count = self._band(zone, number // index.cyl_slots[zone])
        number = number - first * index.cyl_slots[zone]
        back = self._backwards(zone, first)
        track = np.zeros(np.shape(number), dtype=np.int64)
        for i in range(1, self.heads):
            track += number >= count * index.before[zone, back, i]
        number = number - count * index.before[zone, back, track]
        head = self.track_of(zone, first, track)
        spt = index.spt[zone, head]
        at, slot = np.divmod(number, spt)
        cyl = first + self._step(count, track, at)
        places["zone"], places["cyl"] = zone, cyl + index.first_cyl[zone]
        places["head"], places["slot"], places["spt"] = head, slot, spt
        places["start"] = (self._track_start(zone, cyl, track) + slot / spt) % 1
        return places

    def _track_start(self, zone, cyl, track):
        """Angle of slot 0 of a track."""
        index = self.index
        if self.surface_run == 1:
            return (index.angle[zone] + cyl * index.turn[zone] % 1 +
                    track * index.track_skew[zone]) % 1
        runs = cyl // self.surface_run * self.heads + track
        return (index.angle[zone] + runs * index.track_skew[zone] % 1 +
                (self._number(zone, cyl, track) - runs) * index.cyl_skew[zone]) % 1

    def locate(self, blocks):
        """PLACE array: zone, cyl, head, slot, spt, and the angle at which the
        slot begins, of each block."""
        blocks = np.asarray(blocks, dtype=np.int64)
        if np.any((blocks < 0) | (blocks >= self.blocks)):
            raise ValueError("a block beyond the drive's %d" % self.blocks)
        zone = self.index.zone_of(blocks)
        return self.slot_place(self.index.move(blocks, self.index.number(blocks, zone)), zone)

    def extra_turns(self, places):
        """Of each place but the first, the turns that a seek to it from the one before takes
        more."""
        far = np.abs(np.diff(places["cyl"])) > 1
        return far & np.array([zone.slow for zone in self.zones])[places["zone"][1:]]

    def moved(self, blocks):
        """Which blocks live in spares."""
        return self.index.is_moved(np.asarray(blocks, dtype=np.int64))

    def track_base(self, cyl, head):
        """(zone, number of slot 0, slots, angle of slot 0) of tracks."""
        cyl, head = np.asarray(cyl, dtype=np.int64), np.asarray(head, dtype=np.int64)
        if np.any((cyl < 0) | (cyl >= self.cylinders) | (head < 0) | (head >= self.heads)):
            raise ValueError("a track that the drive does not have")
        index = self.index
        zone = np.searchsorted(index.first_cyl, cyl, side="right") - 1
        cyl = cyl - index.first_cyl[zone]
        track, spt = self.track_of(zone, cyl, head), index.spt[zone, head]
        first, count = self._band(zone, cyl)
        number = index.base[zone] + first * index.cyl_slots[zone] + \
            count * index.before[zone, self._backwards(zone, cyl), track] + \
            spt * self._step(count, track, cyl - first)
        return zone, number, spt, self._track_start(zone, cyl, track)

    def block_at(self, cyl, head, turns):
        """The block whose unit begins next at or after an angle on a track; -1
        where the track holds none, or none whose angle is known. Spares' tenants and
        blocks that have moved away do not count."""
        zone, number, spt, start = self.track_base(cyl, head)
        index = self.index
        # what lies a rounding error before the angle begins at it
        ahead = (np.asarray(turns) - start) % 1 * spt
        slot = np.ceil(ahead - 1e-6).astype(np.int64) % spt
        first, end = index.block_from(number, zone), index.block_from(number + spt, zone)
        blocks = index.block_from(number + slot, zone)
        blocks = np.where(blocks >= end, first, blocks)
        for _ in range(int(np.max(end - first, initial=0))):
            away = index.is_moved(blocks) & (end > first)
            if not np.any(away):
                break
            blocks = np.where(away, blocks + 1, blocks)
            blocks = np.where(blocks >= end, first, blocks)
        empty = (end <= first) | index.is_moved(blocks) | index.unmapped[zone]
        return np.where(empty, -1, blocks)

    def tracks(self, first_block=0, last_block=None):
        """TRACK array of all tracks that hold units from first_block to last_block,
        in the order of blocks."""
        last_block = self.blocks - 1 if last_block is None else last_block
        index = self.index
        ends = np.array([first_block, last_block], dtype=np.int64)
        zone = index.zone_of(ends)
        at = self.slot_place(index.number(ends, zone), zone)
        cyl = at["cyl"] - index.first_cyl[zone]
        ends = index.first_cyl[zone] * self.heads + \
            self._number(zone, cyl, self.track_of(zone, cyl, at["head"].astype(np.int64)))
        return self._tracks(*self.ordered(np.arange(ends[0], ends[1] + 1)))

    def ordered(self, numbers):
        """(cylinders, heads) of tracks, numbered in the order of units from cylinder 0 on."""
        first = self.index.first_cyl
        zone = np.searchsorted(first, numbers // self.heads, side="right") - 1
        cyl, track = self._numbered(zone, numbers - first[zone] * self.heads)
        return cyl + first[zone], self.track_of(zone, cyl, track)

    def _tracks(self, cyl, head):
        zone, number, spt, start = self.track_base(cyl, head)
        first = self.index.block_from(number, zone)
        count = self.index.block_from(number + spt, zone) - first
        keep = count > 0
        found = np.empty(np.count_nonzero(keep), TRACK)
        for name, values in (("first", first), ("count", count), ("start", start), ("spt", spt),
                             ("cyl", cyl), ("head", head)):
            found[name] = values[keep]
        found["slot"] = self.index.number(first[keep], zone[keep]) - number[keep]
        return found

    def to_model(self, identity, mechanics):
        """modeltext.fbmodel()."""
        return fbmodel(self, identity, mechanics)

    def as_dict(self):
        """What JSON can say."""
        zones = [asdict(zone) for zone in self.zones]
        for zone in zones:
            for name in ("slips", "remaps"):
                zone[name] = _pairs(zone[name]).tolist()
        return {"heads": self.heads, "cylinders": self.cylinders, "order": self.order,
                "surface_run": self.surface_run, "zones": zones}

    @staticmethod
    def from_dict(said):
        """The inverse of as_dict()."""
        zones = [Zone(**dict(zone, **{name: list(map(tuple, zone[name]))
                                      for name in ("slips", "remaps")})) for zone in said["zones"]]
        return Layout(said["heads"], said["cylinders"], said["order"], zones, said["surface_run"])

    @staticmethod
    def of_model(model):
        """As a model (freeblock.fbmodel) has it: in LBNs of 512 bytes."""
        model.need()
        if model.text("head_order") not in ORDERS:
            raise ToolError("%s: head_order %s: not one of %s" % (
                model.name, model.text("head_order"), ", ".join(ORDERS)))
        zones = [Zone(zone.first, zone.last, zone.spt, float(zone.angle), float(zone.track_skew),
                      float(zone.cyl_skew), zone.dead, zone.spares, list(zone.slips),
                      list(zone.remaps), zone.head_spt or None, zone.unmapped, zone.slow)
                 for zone in model.zones]
        return Layout(model.number("heads"), model.number("cylinders"), model.text("head_order"),
                      zones, model.surface_run())
