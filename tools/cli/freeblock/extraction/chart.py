# SPDX-License-Identifier: GPL-2.0
"""The place of every block, asked of a drive that translates addresses.

Blocks are walked through from track to track: where the next track ends is expected from the one
before, so that two questions a track suffice; where blocks skip slots within a track more are asked
for. Then the lengths of all tracks are asked for. The order of heads is the one by which the slots
of all these blocks ascend. Between two whose slots are as far apart as they are nothing is missing;
else there are slips or spares, and who lives there is asked for, too.
"""

import numpy as np

from .. import ToolError
from .places import MOVED, ORDERS, Layout, Zone

MAX_HEADS = 128
MAX_SECTORS = 65536
MOST_TRACKS = 1 << 20   # of a drive, that can be asked for one by one
MOST_SPARES = 1 << 20   # whose tenants are asked for
TELL = 1024             # tracks between two reports

POINT = np.dtype([("block", "<i8"), ("cyl", "<i8"), ("head", "<i8"), ("slot", "<i8")])


class Unsaid(ToolError):
    """Places that a model cannot say."""


def last_true(holds, low, high):
    """The last number from low, for which it holds, to before high for which it does."""
    step = 1
    while low + step < high and holds(low + step):
        low += step
        step *= 2
    high = min(high, low + step)
    while high - low > 1:
        half = (low + high) // 2
        low, high = (half, high) if holds(half) else (low, half)
    return low


class _Walk:
    """Goes through all blocks. moved: {block: Place} of those in spares that were met; points: rows
    of POINT, of blocks at home: the first and the last of each track, and some between."""

    def __init__(self, translator, progress):
        self.ask, self.blocks = translator, translator.dev.blocks
        self.progress = progress
        self.moved, self.points = {}, []
        self._asked = {}        # what home() answered about this track

    def place(self, block):
        """Where a block lives; moved ones are remembered."""
        place = self.ask.place(block)
        if place.moved:
            self.moved[int(block)] = place
        return place

    def home(self, block):
        """The block, or the first after it, that does not live in a spare, and where it does;
        None behind the last."""
        while block < self.blocks:
            place = self._asked.get(block) or self.place(block)
            if not place.moved:
                self._asked[block] = place
                return block, place
            block += 1
        return block, None

    def all(self):
        """POINT array of the whole drive."""
        block, usual, tracks = 0, {}, 0
        while True:
            first, at = self.home(block)
            if at is None:
                break
            if tracks % TELL == 0:
                self.progress(first / self.blocks, "places: block %d of %d" % (first, self.blocks))
            last = self._last(first, at, usual.get(at.head, 1))
            usual[at.head], tracks, block = last - first + 1, tracks + 1, last + 1
            self.points.append((first, at.cyl, at.head, at.slot))
            if last > first:
                self._split(first, at, *self.home(last))
            self._asked = {key: self._asked[key] for key in self._asked if key > last}
        if not self.points:
            raise ToolError("all blocks live in spares")
        return np.array(self.points, POINT)

    def _last(self, first, at, usual):
        """The last block at home on the track of the first; usually it holds so many."""
        def here(block):
            place = self.home(block)[1]
            return place is not None and (place.cyl, place.head) == (at.cyl, at.head)

        low, high = first, self.blocks
        for block in (first + usual - 1, first + usual):
            if block >= high or not here(block):
                high = min(block, high)
                break
            low = block
        return last_true(here, low, high) if high - low > 1 else low

    def _split(self, first, at, last, end):
        """Note the last of two blocks of a track, and others where slots between are skipped."""
        between = None
        if end.slot - at.slot != last - first:
            between = self._between(first, last)
        if between:
            middle, place = between
            self._split(first, at, middle, place)
            self._split(middle, place, last, end)
        else:
            self.points.append((last, end.cyl, end.head, end.slot))

    def _between(self, first, last):
        """(a block at home between two, its place), or None."""
        block, place = self.home((first + last + 1) // 2)
        if block < last:
            return block, place
        for block in range((first + last - 1) // 2, first, -1):
            place = self.place(block)
            if not place.moved:
                return block, place
        return None


class Chart:
    """Made by asking; `notes` are for people."""

    def __init__(self, translator, progress=None):
        self.ask = translator
        self.progress = progress or (lambda share, text: None)
        self.notes = []
        self.heads = self._count_heads()
        self.cylinders = self._count_cylinders()
        if self.heads * self.cylinders > MOST_TRACKS:
            raise ToolError("%d tracks are too many to ask for" % (self.heads * self.cylinders))
        self.walk = _Walk(translator, self.progress)

    def _count_heads(self):
        if not self.ask.has(0, 0, 0):
            raise ToolError("the drive translates blocks, but not places")
        return last_true(lambda head: self.ask.has(0, head, 0), 0, MAX_HEADS) + 1

    def _count_cylinders(self):
        last = self.ask.place(self.ask.dev.blocks - 1).cyl
        return last_true(lambda cyl: self.ask.has(cyl, 0, 0), last, 1 << 24) + 1

    def _lengths(self):
        """[cylinder, head]: slots of all tracks; the next is expected to be as long."""
        found = np.zeros((self.cylinders, self.heads), np.int64)
        for cyl in range(self.cylinders):
            if cyl % TELL == 0:
                self.progress(cyl / self.cylinders, "track lengths")
            for head in range(self.heads):
                spt = found[cyl - 1, head] if cyl else 0
                if not (spt and self.ask.has(cyl, head, spt - 1) and
                        not self.ask.has(cyl, head, spt)):
                    spt = 1 + last_true(lambda slot, at=(cyl, head): self.ask.has(*at, slot), 0,
                                        MAX_SECTORS)
                found[cyl, head] = spt
        return found

    # ---- the order of tracks

    def _layout(self, lengths, cuts, order):
        """Zones that begin at these cylinders, as if they held nothing."""
        zones = []
        for first, end in zip(cuts, [*cuts[1:], self.cylinders]):
            spts = lengths[first].tolist()
            zones.append(Zone(first, end - 1, max(spts), head_spt=spts if min(spts) < max(spts)
                              else None))
        return Layout(self.heads, self.cylinders, order, zones)

    @staticmethod
    def _numbers(layout, points):
        """Numbers of the points' slots among those of all zones."""
        return layout.track_base(points["cyl"], points["head"])[1] + points["slot"]

    def _disorder(self, layout, points):
        """The first point that does not lie behind the one before, or how many there are."""
        wrong = np.diff(self._numbers(layout, points)) < np.diff(points["block"])
        return int(np.argmax(wrong)) + 1 if wrong.any() else len(points)

    def _cut(self, lengths, points, order, most):
        """Cylinders at which zones begin, fewer than `most`, if heads follow each other in an
        order; else None. Where slots descend another zone begins."""
        changes = np.append(0, np.flatnonzero((np.diff(lengths, axis=0) != 0).any(axis=1)) + 1)
        # a zone that holds nothing belongs to the one before
        held = np.unique(np.searchsorted(changes, points["cyl"], side="right") - 1)
        cuts = [0, *changes[held[1:]].tolist()]
        bad = self._disorder(self._layout(lengths, cuts, order), points)
        while bad < len(points) and len(cuts) < most:
            cyl, tried = int(points["cyl"][bad]), []
            for cut in {max(cyl - 1, 0), cyl} - {*cuts}:
                more = sorted({*cuts, cut})
                tried.append((self._disorder(self._layout(lengths, more, order), points), more))
            best, more = max(tried, default=(0, cuts))
            if best <= bad:
                return None
            bad, cuts = best, more
        return cuts if len(cuts) < most else None

    def _ordered(self, lengths, points):
        """The Layout with the fewest zones, as if they held nothing, in which slots of the points
        ascend."""
        best, most = None, self.cylinders + 1
        # serpentine-disk lets zones be cut anywhere
        for order in (ORDERS[0], *ORDERS[:0:-1]):
            cuts = self._cut(lengths, points, order, most)
            if cuts:
                best, most = self._layout(lengths, cuts, order), len(cuts)
        if best is None:
            raise Unsaid("blocks follow each other in no order of heads that a model can say")
        return best

    # ---- what lies between

    def _gaps(self, layout, points):
        """(points behind which slots are skipped, blocks after which, how many slots): blocks that
        live in spares lie between two points before the gap if their spares do, else behind it."""
        number, block = self._numbers(layout, points), points["block"]
        slots = np.diff(number) - np.diff(block)
        at = np.flatnonzero(slots)
        after = block[at].copy()
        for i in np.flatnonzero(block[at + 1] > after + 1):
            for moved in range(after[i] + 1, block[at[i] + 1]):
                place = self.walk.moved[moved]
                spare = layout.track_base(place.cyl, place.head)[1] + place.slot
                if spare > number[at[i] + 1]:
                    break
                after[i] = moved
        return at, after, slots[at]

    def _filled(self, layout, points):
        """The layout, its zones with the blocks that they hold."""
        number, block, base = self._numbers(layout, points), points["block"], layout.index.base
        at, after, slots = self._gaps(layout, points)
        # by block: its slot's number, less its own
        begin = np.append(0, after + 1)
        shift = number[0] - block[0] + np.append(0, np.cumsum(slots))
        owner = np.searchsorted(base, number, side="right") - 1
        firsts = [0]
        for zone in range(1, len(layout.zones)):
            i = int(np.searchsorted(owner, zone))
            gap = np.flatnonzero(at == i - 1)
            firsts.append(int(after[gap[0]] + 1 if len(gap) else block[i] - number[i] + base[zone]))
        for zone, low, first, end in zip(layout.zones, base, firsts,
                                         [*firsts[1:], self.walk.blocks]):
            zone.dead = int(first + shift[np.searchsorted(begin, first, side="right") - 1] - low)
            zone.spares = zone.slots(layout.heads) - zone.dead - (end - first)
            some = (after >= first) & (after < end - 1)
            zone.slips = np.stack((after[some] + 1 + shift[:-1][some] - low, slots[some]), axis=1)
        return Layout(layout.heads, layout.cylinders, layout.order, layout.zones)

    def _ask_spares(self, layout):
        """Who lives in slots that hold no block at home."""
        index, left = layout.index, MOST_SPARES
        for number, zone in enumerate(layout.zones):
            base, end = (int(value) for value in index.base[number:number + 2])
            behind = int(index.number(index.first[number + 1] - 1, np.int64(number))) + 1
            empty = [np.arange(at, at + count) + base for at, count in zone.slips]
            slots = np.concatenate([*empty, np.arange(behind, end)])[:left]
            left -= len(slots)
            self.progress(number / len(layout.zones), "spares")
            places = layout.slot_place(slots, np.full(len(slots), number))
            for cyl, head, slot in zip(places["cyl"], places["head"], places["slot"]):
                block, _ = self.ask.tenant(cyl, head, slot) or (None, False)
                if block is not None:
                    self.walk.place(block)
        if not left:
            self.notes.append("too many spares to ask for all: some blocks may live elsewhere")

    def make(self):
        """(Layout without angles, MOVED array)."""
        points, lengths = self.walk.all(), self._lengths()
        layout = self._filled(self._ordered(lengths, points), points)
        self._ask_spares(layout)
        moved = [(block, place.cyl, place.head, place.slot)
                 for block, place in sorted(self.walk.moved.items())]
        return layout, np.array(moved, dtype=MOVED)
