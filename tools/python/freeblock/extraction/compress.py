# SPDX-License-Identifier: GPL-2.0
"""Zones from tracks: what was measured of each track of a drive, said as a model
says it, so that each unit lies in the same place."""

from dataclasses import replace

import numpy as np

from .. import ToolError
from .anglelaw import Breaks, fit, wrap
from .places import HOLE, MOVED, ORDERS, Layout, Zone


# A block farther from all spares that are known than so much of a slot is in none
BETWEEN = 0.35


def _directions(tracks, heads):
    """(cylinders with two tracks or more, whether each runs from the last head
    to the first)."""
    cyl, head = tracks["cyl"], tracks["head"].astype(np.int64)
    same = cyl[1:] == cyl[:-1]
    step = np.diff(head)[same]
    known, at = np.unique(cyl[1:][same], return_index=True)
    back = step[at] < 0
    if np.any((step < 0) != back[np.searchsorted(known, cyl[1:][same])]) or heads == 1 and len(at):
        raise ToolError("blocks visit a cylinder's heads neither upwards nor downwards")
    return known, back


def find_order(tracks, heads):
    """The head order that tracks, in the order of blocks, show."""
    cyl, back = _directions(tracks, heads)
    if not np.any(back):
        return "plain"
    return "serpentine-disk" if np.array_equal(back, (cyl & 1).astype(bool)) else \
        "serpentine-zone"


def _stab(intervals, fits):
    """As few cylinders as do that lie in each of the intervals (low, high]."""
    found = []
    for low, high in sorted(intervals, key=lambda pair: (pair[1], pair[0])):
        if not found or found[-1] <= low:
            found.append(fits(low, high))
    return found


def _lone(tracks, heads, known, back):
    """Whether cylinders of a serpentine zone with a single track run backwards."""
    cyl, at = np.unique(tracks["cyl"], return_index=True)
    lone = ~np.isin(cyl, known)
    cyl, head = cyl[lone], tracks["head"][at[lone]]
    if not len(known):
        return cyl, np.zeros(len(cyl), bool)
    before = np.maximum(np.searchsorted(known, cyl) - 1, 0)
    after = np.minimum(before + 1, len(known) - 1)
    follows = back[before] ^ ((cyl - known[before]) & 1).astype(bool)
    leads = back[after] ^ ((known[after] - cyl) & 1).astype(bool)
    # mostly a zone's last, and the first in order of its cylinder
    return cyl, np.where(head == np.where(follows, heads - 1, 0), follows, leads)


def _backwards(tracks, heads, order):
    """For each cylinder to the last: whether it runs from the last head to the
    first."""
    found = np.zeros(int(tracks["cyl"].max()) + 1, bool)
    if order == "serpentine-disk":
        found[1::2] = True
    elif order == "serpentine-zone" and heads > 1:
        known, back = _directions(tracks, heads)
        found[known] = back
        cyl, back = _lone(tracks, heads, known, back)
        found[cyl] = back
    return found


class _Splitter:
    """At which cylinders zones must begin."""

    def __init__(self, tracks, heads, order):
        self.tracks, self.heads, self.order = tracks, heads, order
        self.known, back = _directions(tracks, heads)
        self.back = _backwards(tracks, heads, order)
        self.wanted, self.whole = set(), []
        wrong = np.flatnonzero(self.back[self.known] != back)
        if len(wrong):
            raise ToolError("head order %s, but cylinder %d runs the other way" % (
                order, self.known[wrong[0]]))

    def _begin(self, low, high):
        """Where in (low, high] a zone may begin: cylinders of serpentine zones run
        forwards there. `high` has units; the ones before may have none."""
        if self.order != "serpentine-zone" or not self.back[high]:
            return high
        if high - 1 <= low:
            raise ToolError("a zone begins at cylinder %d, which runs backwards" % high)
        return high - 1

    def _lengths(self):
        """Where a head's tracks become longer or shorter."""
        tracks = self.tracks
        by = np.lexsort((tracks["cyl"], tracks["head"]))
        cyl, head, spt = (tracks[name][by] for name in ("cyl", "head", "spt"))
        at = np.flatnonzero((head[1:] == head[:-1]) & (spt[1:] != spt[:-1]))
        return set(zip(cyl[at].tolist(), cyl[at + 1].tolist()))

    def _turns(self):
        """Where cylinders of a serpentine zone do not alternate."""
        if self.order != "serpentine-zone":
            return set()
        phase = (self.known & 1) ^ self.back[self.known]
        at = np.flatnonzero(phase[1:] != phase[:-1])
        return set(zip(self.known[at].tolist(), self.known[at + 1].tolist()))

    def _angles(self, splits):
        """Where the angles' law changes between those."""
        tracks, found = self.tracks, set()
        bounds = [0] + splits + [int(tracks["cyl"].max()) + 1]
        head = tracks["head"].astype(np.int64)
        track = np.where(self.back[tracks["cyl"]], self.heads - 1 - head, head)
        for first, end in zip(bounds, bounds[1:]):
            some = slice(*np.searchsorted(tracks["cyl"], (first, end)))
            breaks = Breaks(tracks["cyl"][some].astype(np.int64), track[some],
                            tracks["start"][some])
            for at in breaks.find(first, end):
                for low, high in self.whole:
                    at = high + 1 if low < at <= high else at
                if at < end and self.order == "serpentine-zone" and self.back[at]:
                    at += 1     # the nearest that may begin a zone
                if first < at < end:
                    found.add((at - 1, at))
        return found

    def splits(self):
        """The cylinders, 0 left out."""
        must = self._lengths() | self._turns() | self.wanted
        found = _stab(must, self._begin)
        return _stab(must | self._angles(found), self._begin)

    def learn(self, apart, together):
        """Cylinders (low, high] within which a zone must begin, or low to high
        within which, should only angles say so, none does."""
        if apart:
            self.wanted.add(apart)
        elif together in self.whole:
            raise ToolError("a block of cylinder %d lives in another zone's spare, on cylinder "
                            "%d, which a model cannot say" % together)
        else:
            self.whole.append(together)


class _Filler:
    """A zone of the tracks of cylinders first to last."""

    def __init__(self, tracks, holes, heads, order, first, last):
        self.tracks, self.holes, self.heads = tracks, holes, heads
        if not len(tracks):
            raise ToolError("no units on cylinders %d to %d" % (first, last))
        self.zone = Zone(first, last, 0)
        self._measure_lengths()
        cyl = tracks["cyl"].astype(np.int64)
        # as Layout will say it: a lone track's direction follows from the order
        back = np.zeros(len(cyl), np.int64) if order == "plain" else \
            (cyl - (first if order == "serpentine-zone" else 0)) & 1
        head = tracks["head"].astype(np.int64)
        self.track = np.where(back, heads - 1 - head, head)
        spts = np.array(self.zone.head_spt or [self.zone.spt] * heads)
        before = np.stack([np.concatenate(([0], np.cumsum(part)))
                           for part in (spts, spts[::-1])])
        self.number = (cyl - first) * self.zone.cyl_slots(heads) + before[back, self.track]

    def _measure_lengths(self):
        """spt and head_spt; a head never seen is as long as the longest."""
        spts = [0] * self.heads
        heads, at = np.unique(self.tracks["head"], return_index=True)
        for head, spt in zip(heads, self.tracks["spt"][at]):
            spts[head] = int(spt)
        self.zone.spt = max(spts)
        spts = [spt or self.zone.spt for spt in spts]
        if len(set(spts)) > 1:
            self.zone.head_spt = spts

    def _runs(self):
        """Stretches of slots without a gap: (first slots, ends)."""
        tracks, holes = self.tracks, self.holes
        at = np.searchsorted(tracks["first"], holes["block"], side="right") - 1
        wide = _wide(tracks, holes)
        begin = self.number + tracks["slot"]
        end = begin + tracks["count"] + wide
        # a hole begins where the blocks before it on its track, and their holes, end
        sums = np.cumsum(holes["count"]) - holes["count"]
        base = np.concatenate(([0], np.cumsum(wide)))[at]
        hole = begin[at] + holes["block"] - tracks["first"][at] + sums - base
        begins = np.sort(np.concatenate((begin, hole + holes["count"])))
        ends = np.sort(np.concatenate((end, hole)))
        over = np.flatnonzero(begins[1:] < ends[:-1])
        if len(over):
            raise ToolError("zone of cylinders %d to %d: units on a track that has no room for "
                            "them" % (self.zone.first_cyl, self.zone.last_cyl))
        return begins, ends

    def fill(self):
        """Dead slots, slips, spares, and angles."""
        zone, tracks = self.zone, self.tracks
        begins, ends = self._runs()
        zone.dead = int(begins[0])
        gaps = begins[1:] - ends[:-1]
        zone.slips = np.stack((ends[:-1], gaps), axis=1)[gaps > 0]
        zone.spares = int(zone.slots(self.heads) - zone.dead - tracks["count"].sum())
        law = fit(tracks["cyl"].astype(np.int64) - zone.first_cyl, self.track, tracks["start"])
        zone.angle, zone.track_skew = float(law.angle), float(law.track)
        zone.cyl_skew = float(law.cyl_skew(self.heads))
        return zone


def _targets(layout, moved):
    """For each moved block: its zone and its spare's, slots within them, and
    the spare's zone's data's end."""
    index = layout.index
    block = moved["block"].astype(np.int64)
    zone = index.zone_of(block)
    source = index.number(block, zone) - index.base[zone]
    spare_zone, number, spt, _ = layout.track_base(moved["cyl"], moved["head"])
    if np.any((moved["slot"] < 0) | (moved["slot"] >= spt)):
        raise ToolError("a block lives in a slot that its track does not have")
    spare = number + moved["slot"] - index.base[spare_zone]
    last = index.first[spare_zone + 1] - 1
    end = index.number(last, spare_zone) - index.base[spare_zone] + 1
    return zone, source, spare_zone, spare, end


def _add_remaps(layout, moved):
    """Remaps of the layout's zones; what _Splitter.learn() needs if these are not
    the zones in whose ends the spares lie, else None."""
    zone, source, spare_zone, spare, end = _targets(layout, moved)
    index = layout.index
    for i in np.flatnonzero(spare < end):
        number = spare[i] + index.base[spare_zone[i]]
        behind = int(layout.locate(index.block_from(number, spare_zone[i]))["cyl"])
        if behind > moved["cyl"][i]:
            return (int(moved["cyl"][i]), behind), None
        raise ToolError("block %d lives in a spare that lies before others of its cylinder, %d, "
                        "which a model cannot say" % (moved["block"][i], behind))
    for i in np.flatnonzero(zone != spare_zone):
        return None, (int(layout.locate(moved["block"][i])["cyl"]), int(moved["cyl"][i]))
    for number in np.unique(zone):
        some = zone == number
        layout.zones[number].remaps = sorted(zip(source[some].tolist(), spare[some].tolist()))
    return None


def _zones(tracks, holes, heads, order, bounds):
    """A zone from each bound to the next."""
    found = []
    for first, end in zip(bounds, bounds[1:]):
        some = tracks[slice(*np.searchsorted(tracks["cyl"], (first, end)))]
        blocks = (some["first"][0], some["first"][-1] + some["count"][-1]) if len(some) else (0, 0)
        mine = holes[slice(*np.searchsorted(holes["block"], blocks))]
        found.append(_Filler(some, mine, heads, order, first, end - 1).fill())
    return found


def _lacks(layout, number, away):
    """Whether some block of a zone passes at an angle at which none of its spares does."""
    zone = layout.zones[number]
    mine = away[layout.index.zone_of(away["block"]) == number]
    return any(_off_spares(layout, number, angle, 0) > BETWEEN / zone.spt
               for angle in mine["angle"])


def _roomy(layout, away):
    """The layout with spares at the end of each zone of which a block is away: cylinders
    without units more, where timing alone has seen none. Not where bands would get wider."""
    if layout.surface_run > 1:
        return layout
    lacking = {int(number) for number in np.unique(layout.index.zone_of(away["block"]))
               if _lacks(layout, number, away)}
    more, zones = 0, []
    for number, zone in enumerate(layout.zones):
        zone = replace(zone, first_cyl=zone.first_cyl + more)
        # two, lest serpentine cylinders behind them run the other way
        more += (1 if layout.order == "plain" else 2) if number in lacking else 0
        zone.last_cyl += more
        zone.spares += zone.slots(layout.heads) - layout.zones[number].slots(layout.heads)
        zones.append(zone)
    return Layout(layout.heads, layout.cylinders + more, layout.order, zones)


def _spare_slots(layout, number):
    """Numbers of the free slots behind a zone's last block: of the nearest ones."""
    index, zone = layout.index, layout.zones[number]
    last = int(index.number(index.first[number + 1] - 1, np.int64(number)))
    end = min(int(index.base[number + 1]), last + 1 + 2 * zone.cyl_slots(layout.heads))
    taken = [int(index.base[number]) + to for _, to in zone.remaps]
    return np.setdiff1d(np.arange(last + 1, end), taken)


def _off_spares(layout, number, angle, skip):
    """How far the nearest of a zone's spares, the first `skip` left out, ends from an
    angle."""
    slots = _spare_slots(layout, number)[skip:]
    if not len(slots):
        return 1.0
    at = layout.slot_place(slots, np.full(len(slots), number))
    return float(np.min(np.abs(wrap(at["start"] + 1 / at["spt"] - angle))))


def _wide(tracks, holes):
    """How many slots slip in the midst of each track."""
    at = np.searchsorted(tracks["first"], holes["block"], side="right") - 1
    return np.bincount(at, weights=holes["count"], minlength=len(tracks)).astype(np.int64)


def _long_enough(tracks, holes):
    """The tracks, those that hold more than their lengths as long as that: the units
    were seen there, lengths are reckoned from angles."""
    held = tracks["slot"] + tracks["count"] + _wide(tracks, holes)
    if np.any(held > tracks["spt"]):
        tracks = tracks.copy()
        tracks["spt"] = np.maximum(tracks["spt"], held)
    return tracks


def _handed_back(layout, tracks, holes, away):
    """The tracks with blocks that live elsewhere, and may be the last of a zone or the
    first of the next, in the zone of which a spare passes at their angle."""
    wide, tracks = _wide(tracks, holes), tracks.copy()
    angles = dict(zip(away["block"].tolist(), away["angle"].tolist()))
    for number in range(1, len(layout.zones)):
        first = int(layout.index.first[number])
        at = int(np.searchsorted(tracks["first"], first))
        track, last = tracks[at], tracks[at - 1]
        room = min(last["spt"] - last["slot"] - last["count"] - wide[at - 1], track["count"] - 1)
        more = 0
        while more < room and first + more in angles:
            angle = angles[first + more]
            if _off_spares(layout, number - 1, angle, more + 1) >= \
                    _off_spares(layout, number, angle, 0):
                break
            more += 1
        last["count"] += more
        track["first"] += more
        track["count"] -= more
        track["slot"] += more
    return tracks


def house(layout, away):
    """The layout with remaps of blocks of which only the angle is known: to those free
    spares of their zones that end nearest to it."""
    layout = _roomy(layout, away)
    index, zone = layout.index, layout.index.zone_of(away["block"])
    for number in np.unique(zone):
        slots = _spare_slots(layout, number)
        at = layout.slot_place(slots, np.full(len(slots), number))
        free, base = np.ones(len(slots), bool), int(index.base[number])
        for block, angle in away[["block", "angle"]][zone == number]:
            if not np.any(free):
                raise ToolError("more blocks live elsewhere than the zone of cylinders %d to %d "
                                "has spares" % (layout.zones[number].first_cyl,
                                                layout.zones[number].last_cyl))
            off = np.abs(wrap(at["start"] + 1 / at["spt"] - angle))
            nearest = int(np.argmin(np.where(free, off, 1)))
            free[nearest] = False
            home = int(index.number(np.int64(block), number)) - base
            layout.zones[number].remaps.append((home, int(slots[nearest]) - base))
        layout.zones[number].remaps.sort()
    return Layout(layout.heads, layout.cylinders, layout.order, layout.zones, layout.surface_run)


def turned(layout, laws):
    """The layout with the angles of zones later by so much: {zone: Law}."""
    zones = list(layout.zones)
    for number, law in laws.items():
        zone = zones[number]
        zones[number] = replace(zone, angle=(zone.angle + law.angle) % 1,
                                track_skew=(zone.track_skew + law.track) % 1,
                                cyl_skew=(zone.cyl_skew + law.cyl_skew(layout.heads)) % 1)
    return Layout(layout.heads, layout.cylinders, layout.order, zones, layout.surface_run)


def compress(tracks, heads, order=None, cylinders=None, holes=None, moved=None, away=None):
    """The Layout that places each unit as the tracks do.

    tracks: TRACK array of the whole drive in the order of blocks, `start` NaN
    where not measured; order: None to find it; cylinders: of the drive, if it is
    known that some hold nothing; holes: HOLE array of slots that slip in the midst
    of tracks; moved: MOVED array of blocks that live in spares, which their own
    tracks count as if they lived there; away: the same of whose place only the angle
    at which the unit ends is known (fields block and angle)."""
    holes = np.empty(0, HOLE) if holes is None else np.sort(holes, order="block")
    moved = np.empty(0, MOVED) if moved is None else moved
    _check(tracks)
    tracks = _long_enough(tracks, holes)
    seen = find_order(tracks, heads)
    if not order or (order, seen) == ("serpentine-zone", "serpentine-disk"):
        # where both serpentine orders say the same, the latter lets zones begin anywhere
        order = seen
    if order not in ORDERS:
        raise ValueError("head order %s" % order)
    cylinders = cylinders or int(tracks["cyl"].max()) + 1
    layout = _without_away(tracks, heads, order, cylinders, holes, moved)
    if away is None or not len(away):
        return layout
    back = _handed_back(layout, tracks, holes, away)
    if np.any(back["first"] != tracks["first"]):
        layout = _without_away(back, heads, order, cylinders, holes, moved)
    return house(layout, away)


def _without_away(tracks, heads, order, cylinders, holes, moved):
    """compress() of what has a place."""
    splitter = _Splitter(tracks, heads, order)
    while True:
        bounds = [0] + splitter.splits() + [cylinders]
        layout = Layout(heads, cylinders, order, _zones(tracks, holes, heads, order, bounds))
        lesson = _add_remaps(layout, moved)
        if not lesson:
            return Layout(heads, cylinders, order, layout.zones)
        splitter.learn(*lesson)


def _check(tracks):
    """Tracks must follow each other."""
    if not len(tracks):
        raise ToolError("no tracks")
    first, count = tracks["first"], tracks["count"]
    if first[0] != 0 or np.any(first[1:] != first[:-1] + count[:-1]) or np.any(count <= 0):
        raise ToolError("the tracks do not hold all blocks from 0 in order")
    if np.any(np.diff(tracks["cyl"]) < 0):
        raise ToolError("the tracks' cylinders do not ascend")
