# SPDX-License-Identifier: GPL-2.0
"""The place of every block, asked of a drive that translates addresses.

A chart is a layout that is believed until an answer contradicts it. If a block lies
where the chart says, so do all before it: what moves one block moves all that follow
in its zone. So the first block that lies elsewhere is found by doubling steps and
halving the last, and says what the chart lacks: a hole before it (a slip or spares),
or a zone that begins there. In the end each track's first and last block and its
length are asked for, as far as tracks are not too many.
"""

import numpy as np

from .. import ToolError
from .diagnostics import GROWN, PRIMARY, defects
from .places import MOVED, Layout, Zone

MAX_HEADS = 128
MAX_SECTORS = 65536
# Ends of tracks that are asked for in the end; of more, so many chosen at random
MOST_CHECKS = 400000
SOME_CHECKS = 20000
# Spares whose tenants are asked for if there is no list of grown defects
MOST_SPARES = 50000
# Cylinders of each zone whose tracks' lengths are asked for in the end, if not all
SOME_CYLINDERS = 16
REPEATS = 2             # periods of slips after which a third and all others are expected
SOME_BANDS = 9          # places at which it is asked how wide bands are,
FEW_BANDS = 3           # so many if all are of one cylinder there


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


class _Slips:
    """Slots of a zone that hold nothing, in runs."""

    def __init__(self, listed=()):
        self.runs = np.zeros((0, 2), np.int64)
        self.guessed = None             # from which slot on they are guesses
        self.listed = np.unique(np.array(listed, dtype=np.int64))
        if len(self.listed):
            self._add(self.listed)

    def _add(self, slots):
        """Slots, ascending, behind all there are."""
        cut = np.flatnonzero(np.diff(slots) > 1) + 1
        begin = np.concatenate(([0], cut))
        count = np.diff(np.concatenate((begin, [len(slots)])))
        self.runs = np.concatenate((self.runs, np.stack((slots[begin], count), axis=1)))

    def total(self):
        """How many."""
        return int(self.runs[:, 1].sum())

    def until(self, end):
        """Forget those from `end` on."""
        runs = self.runs[self.runs[:, 0] < end]
        runs[:, 1] = np.minimum(runs[:, 1], end - runs[:, 0])
        self.runs = runs

    def hole(self, first, end):
        """Slots first to before end hold nothing, end does."""
        behind = self.runs[self.runs.sum(axis=1) > end + 1]
        more = np.maximum(end + 1 - behind[:, 0], 0)
        behind = behind + np.stack((more, -more), axis=1)
        self.until(first)
        runs = self.runs
        if end > first:
            if len(runs) and runs[-1].sum() == first:
                first = runs[-1, 0]
                runs = runs[:-1]
            runs = np.concatenate((runs, [[first, end - first]]))
        self.runs = np.concatenate((runs, behind))

    def forget_guess(self, slot):
        """A guess was wrong: none from there on is worth anything."""
        if self.guessed is not None and slot >= self.guessed:
            self.anew(slot, self.listed)

    def anew(self, slot, listed):
        """From a slot on only those are known that are listed."""
        self.until(slot)
        self.listed, self.guessed = np.unique(np.array(listed, dtype=np.int64)), None
        more = self.listed[self.listed >= slot]
        if len(more):
            self._add(more)

    def guess(self, at, periods, slots):
        """If the runs up to `at` repeat after one of the periods, so will they."""
        if self.guessed is not None or len(self.runs) and self.runs[-1, 0] > at:
            return
        for period in periods:
            last = self.runs[self.runs[:, 0] > at - period]
            before = self.runs[-len(last) * (REPEATS + 1):]
            if at - (REPEATS + 1) * period >= -period and len(before) == len(last) * \
                    (REPEATS + 1) and np.all(before[len(last):] == before[:-len(last)] +
                                             (period, 0)):
                times = np.arange(1, (slots - at) // period + 2)
                more = last[None] + np.stack((times * period, 0 * times), axis=1)[:, None]
                more = more.reshape(-1, 2)
                self.runs = np.concatenate((self.runs, more[more.sum(axis=1) <= slots]))
                self.guessed = at + 1
                return


class Chart:
    """Made by asking; `notes` are for people."""

    def __init__(self, translator, progress=None):
        self.ask = translator
        self.blocks = translator.dev.blocks
        self.progress = progress or (lambda share, text: None)
        self.notes = []
        self.order = "plain"
        self.order_sure = False
        self.moved = {}                 # block: Place
        self.zones = []                 # (Zone, _Slips), the last up to the last cylinder
        self.primary = defects(translator.dev, PRIMARY)
        self.grown = defects(translator.dev, GROWN)
        self.heads = self._count_heads()
        self.cylinders = self._count_cylinders()
        self.run = self._band_width()   # cylinders of a band (places.Layout)
        self.ended = False              # the last zone ends before the drive does
        self._layout = None

    # ---- what there is

    def _count_heads(self):
        if not self.ask.has(0, 0, 0):
            raise ToolError("the drive translates blocks, but not places")
        return last_true(lambda head: self.ask.has(0, head, 0), 0, MAX_HEADS) + 1

    def _count_cylinders(self):
        last = self._place(self.blocks - 1).cyl
        return last_true(lambda cyl: self.ask.has(cyl, 0, 0), last, 1 << 24) + 1

    def _lengths(self, cyl, like):
        """Slots of a cylinder's tracks by head; `like` may be right."""
        found = []
        for head in range(self.heads):
            spt = like[head] if like else 0
            if not (spt and self.ask.has(cyl, head, spt - 1) and
                    not self.ask.has(cyl, head, spt)):
                spt = last_true(lambda slot, head=head: self.ask.has(cyl, head, slot), 0,
                                MAX_SECTORS) + 1
            found.append(spt)
        return found

    def _band_width(self):
        """For how many cylinders blocks stay on a surface: the widest band of some, for a
        zone's last is narrower. Wide bands that run from the last head to the first are noted."""
        if self.heads == 1:
            return 1
        widest, back, lengths = 1, False, None
        blocks = np.random.default_rng(1).integers(0, self.blocks, SOME_BANDS - 1).tolist()
        for seen, block in enumerate([0] + blocks):
            if seen == FEW_BANDS and widest == 1:
                break
            cyl = self._place(block).cyl
            lengths = self._lengths(cyl, lengths)
            here = [self._some_block(cyl, *track) for track in enumerate(lengths)]

            def along(step, cyl=cyl, lengths=lengths, here=here):
                return self._in_band(cyl, cyl + step, lengths, here)

            up = last_true(along, 0, self.cylinders - cyl)
            down = last_true(lambda step, along=along: along(-step), 0, cyl + 1)
            widest = max(widest, up + down + 1)
            held = [block for block in here if block is not None]
            back |= len(held) > 1 and held[1] < held[0]
        if widest > 1 and back:
            self.order = "serpentine-zone"
        return widest

    def _in_band(self, cyl, other, lengths, here):
        """Whether two cylinders are of one band: under each head, of which `here` are blocks,
        there are not more blocks between them than fit on the tracks between. Of two bands the
        tracks of one head may follow each other, too, but not those of two."""
        known = 0
        for head, spt in enumerate(lengths):
            there = self._some_block(other, head, spt)
            if here[head] is None or there is None:
                continue
            if abs(there - here[head]) > (abs(other - cyl) + 0.5) * spt:
                return False
            known += 1
        return known > 1

    def _some_block(self, cyl, head, spt):
        """A block that lives on a track, or None."""
        tried = [spt // 2, spt // 4, 3 * spt // 4] + list(range(spt))
        for slot in tried:
            block, moved = self.ask.tenant(cyl, head, slot) or (None, False)
            if block is not None and not moved:
                return block
        return None

    def _backwards(self, cyl, lengths):
        """Whether a cylinder runs from the last head to the first; None: who knows."""
        seen = []
        for head in range(self.heads):
            block = self._some_block(cyl, head, lengths[head])
            if block is not None:
                seen.append(block)
            if len(seen) == 2:
                return seen[1] < seen[0]
        return None

    def _place(self, block):
        """Where a block lives; moved ones are remembered."""
        place = self.ask.place(block)
        if place.moved:
            self.moved[int(block)] = place
        return place

    # ---- what is believed

    @property
    def layout(self):
        """What the chart says now."""
        if self._layout is None:
            zones = []
            for zone, slips in self.zones:
                zone.slips = slips.runs
                zones.append(zone)
            zone, slips = self.zones[-1]
            if not self.ended:
                zone.last_cyl = self.cylinders - 1
            zone.spares = slips.total()
            self._layout = Layout(self.heads, self.cylinders, self.order, zones, self.run)
        return self._layout

    def _slot(self, place, zone):
        """The number, within a zone, of a place's slot."""
        return sum(self._slot_of_run(place, zone))

    def _slot_of_run(self, place, zone):
        """The same of the first slot of the tracks that follow each other under a place's head,
        and how many slots behind that the place is."""
        spts = zone.head_spt or [zone.spt] * self.heads
        cyl = place.cyl - zone.first_cyl
        begin = cyl - cyl % self.run
        width = min(self.run, zone.last_cyl + 1 - zone.first_cyl - begin)
        if self._is_back(zone, place.cyl):
            track, before = self.heads - 1 - place.head, sum(spts[place.head + 1:])
        else:
            track, before = place.head, sum(spts[:place.head])
        at = width - 1 - (cyl - begin) if track & 1 else cyl - begin
        return begin * sum(spts) + width * before, at * spts[place.head] + place.slot

    def _is_back(self, zone, cyl):
        base = zone.first_cyl if self.order == "serpentine-zone" else 0
        return self.order != "plain" and (cyl - base) // self.run & 1 == 1

    def _band_of(self, zone, number):
        """The first cylinder of the band of a slot, by its number within a zone."""
        cyl = zone.first_cyl + number // zone.cyl_slots(self.heads)
        return cyl - (cyl - zone.first_cyl) % self.run

    def _agrees(self, block):
        """Whether a block lies where the chart says; of blocks that live in spares, the
        next that does not."""
        if block >= self.layout.blocks:
            return False
        block, place = self._at_home(block)
        if place is None:
            return True
        if block >= self.layout.blocks or not self._lies(block, place):
            return False
        if self.order == "plain" or 2 * place.head + 1 != self.heads or \
                block <= self._slot_of_run(place, self.zones[-1][0])[1] + 1:
            return True
        # the middle head's tracks are in their places whichever way the band runs
        block -= self._slot_of_run(place, self.zones[-1][0])[1] + 1
        place = self._place(block)
        return place.moved or self._lies(block, place)

    def _lies(self, block, place):
        said = self.layout.locate(block)
        return (said["cyl"], said["head"], said["slot"]) == (place.cyl, place.head, place.slot)

    def _at_home(self, block):
        """The block, or the first after it, that does not live in a spare, and where it
        does; None behind the last."""
        while block < self.blocks:
            place = self._place(block)
            if not place.moved:
                return block, place
            block += 1
        return block, None

    # ---- what must be mended

    def _listed(self, zone):
        """Primary defects as slots of a zone that may go on to the end."""
        spts = zone.head_spt or [zone.spt] * self.heads
        found = []
        for cyl, head, slot in self.primary.places if self.primary else ():
            if not zone.first_cyl <= cyl <= zone.last_cyl or head >= self.heads or \
                    slot >= spts[head]:
                continue
            some = range(spts[head]) if slot < 0 else (slot,)
            for at in some:
                found.append(self._slot(_At(cyl, head, at), zone))
        return [at for at in found if at > zone.dead]

    def _begin_zone(self, cyl, lengths, place, ahead=0):
        """A zone of which the block `ahead` of that at `place` is the first."""
        back = self._backwards(cyl, lengths)
        if self.run == 1:
            if back and not self.order_sure and self.order == "serpentine-zone" and cyl & 1:
                self.order = "serpentine-disk"
            self.order_sure |= self.order != "plain" and bool(cyl & 1) and back is not None
        if back and self.order == "serpentine-zone":
            cyl -= self.run
            if cyl < 0 or self.zones and cyl <= self.zones[-1][0].first_cyl:
                raise ToolError("cylinder %d runs from the last head to the first, though its "
                                "zone begins there" % (cyl + self.run))
        longest = max(lengths)
        zone = Zone(cyl, self.cylinders - 1, longest,
                    head_spt=lengths if min(lengths) < longest else None)
        self.ended = False
        zone.dead = self._slot(place, zone) - ahead
        if zone.dead < 0:
            raise ToolError("the zone of cylinder %d has no room before its first block" % cyl)
        self.zones.append((zone, _Slips(self._listed(zone))))
        self._layout = None
        return cyl

    def _begin(self):
        block, place = self._at_home(0)
        if not place:
            raise ToolError("all blocks live in spares")
        lengths = self._lengths(place.cyl, None)
        after = place.cyl + 1
        if self.run == 1 and after < self.cylinders and \
                self._backwards(after, self._lengths(after, lengths)):
            self.order = "serpentine-zone"
        if self._backwards(place.cyl, lengths) and not place.cyl // self.run & 1:
            raise ToolError("cylinder %d runs from the last head to the first" % place.cyl)
        cyl = place.cyl if self.run == 1 else 0
        self._begin_zone(cyl, lengths, place, block)
        if cyl:
            self._stretch_front()

    def _stretch_front(self):
        """The first zone begins with cylinders that hold nothing."""
        zone, _ = self.zones[0]
        if self.order == "serpentine-zone" and zone.first_cyl & 1:
            raise ToolError("%d cylinders before the first block: the heads' order is not known" %
                            zone.first_cyl)
        zone.dead += zone.first_cyl * zone.cyl_slots(self.heads)
        zone.first_cyl = 0
        self.zones[0] = zone, _Slips(self._listed(zone))

    def _alike(self, cyl, zone):
        """Whether a cylinder's tracks are as long as the zone's."""
        spts = zone.head_spt or [zone.spt] * self.heads
        return all(not self.ask.has(cyl, head, spt) and self.ask.has(cyl, head, spt - 1)
                   for head, spt in enumerate(spts))

    def _turned(self, cyl, zone):
        """Whether a cylinder runs another way than the zone's do."""
        back = self._backwards(cyl, zone.head_spt or [zone.spt] * self.heads)
        return self.heads > 1 and back is not None and back != self._is_back(zone, cyl)

    def _change(self, zone, before, place):
        """The cylinder at which another zone begins before or at `place`, the first
        wrong one, or None. before: the slot of the last right one."""
        cyl = self._band_of(zone, before)
        # where tracks have other lengths the first blocks may be right all the same
        if not self._alike(cyl, zone):
            return cyl
        if self.run > 1:
            return self._change_at_band(zone, cyl, place)
        if place.cyl != cyl and (not self._alike(place.cyl, zone) or
                                 self._turned(place.cyl, zone)):
            return place.cyl
        return None

    def _change_at_band(self, zone, cyl, place):
        """_change() of bands of several cylinders, of which that of `cyl` is a zone's own at
        least in part. A zone that begins with slots without blocks begins before `place`."""
        if self.ended and place.cyl > zone.last_cyl:
            return zone.last_cyl + 1
        if place.cyl > cyl and not self._alike(place.cyl, zone):
            return last_true(lambda at: self._alike(at, zone), cyl, place.cyl) + 1
        return place.cyl if place.cyl > cyl and self._turned(place.cyl, zone) else None

    def _narrower(self, zone, before, place):
        """Whether the band of slot `before`, the last right one, ends with its cylinder: the
        next head follows there. A zone's last band may be narrower than others."""
        begin = self._band_of(zone, before)
        at = before - (begin - zone.first_cyl) * zone.cyl_slots(self.heads)
        head = self.heads - 1 if self._is_back(zone, begin) else 0
        last = at // (zone.head_spt or [zone.spt] * self.heads)[head]
        return not self.ended and last < self.run - 1 and place.cyl == begin + last and \
            place.head != head

    def _split(self, cyl, block):
        """End the last zone before a cylinder, and begin another there; `block` is the
        first that is not where the zone has it. Returns the new zone's first block."""
        zone, slips = self.zones[-1]
        index, number = self.layout.index, np.int64(len(self.zones) - 1)
        base = (cyl - zone.first_cyl) * zone.cyl_slots(self.heads)
        first = min(int(index.block_from(base + index.base[number], number)), block)
        there, place = self._at_home(first)
        # spares lie in their zones: those of blocks before this cylinder belong before it
        while first < there and self.moved[first].cyl < cyl:
            first += 1
        held = first - int(index.first[number])
        last = int(index.number(index.first[number] + held - 1, number) - index.base[number])
        self._layout = None
        slips.until(last)
        lengths = self._lengths(cyl, zone.head_spt or [zone.spt] * self.heads)
        zone.last_cyl = self._begin_zone(cyl, lengths, place, there - first) - 1
        zone.slips = slips.runs
        zone.spares = zone.slots(self.heads) - zone.dead - held
        return first

    def _mend(self, block):
        """The first block that lies elsewhere: why? Returns the block up to which the
        chart is right now."""
        there, place = self._at_home(block)
        zone, slips = self.zones[-1]
        index, number = self.layout.index, np.int64(len(self.zones) - 1)
        before = int(index.number(np.int64(block - 1), number) - index.base[number])
        if self._narrower(zone, before, place):
            self._layout, self.ended, zone.last_cyl = None, True, place.cyl
            slips.anew(before + 1, self._listed(zone))
            return block
        cyl = self._change(zone, before, place)
        if cyl is not None:
            return self._split(cyl, block)
        self._layout = None
        slot = self._slot(place, zone)
        # blocks that live in spares: those with one before the next block come before
        # the hole, for zones' spares lie behind their blocks
        while block < there and self._slot(self.moved[block], zone) < slot:
            block, before = block + 1, before + 1
        slot -= there - block
        if slot <= before:
            raise ToolError("block %d lies before block %d: not understood" % (block, block - 1))
        slips.forget_guess(before + 1)
        slips.hole(before + 1, slot)
        if slot > before + 1:
            width = zone.cyl_slots(self.heads)
            periods = ([] if zone.head_spt else [zone.spt]) + [width, 2 * width]
            slips.guess(before + 1, periods, zone.slots(self.heads))
        return block

    def _survey(self, first):
        """Make the chart right from `first`, before which it is, to the end."""
        while True:
            self.progress(first / self.blocks, "places: block %d of %d" % (first, self.blocks))
            wrong = last_true(self._agrees, first - 1, self.blocks) + 1
            if wrong >= self.blocks:
                return
            first = self._mend(wrong) + 1
            if not self._agrees(first - 1):
                raise ToolError("block %d cannot be placed" % (first - 1))

    def _finish(self):
        """The last zone's end."""
        zone, slips = self.zones[-1]
        index = self.layout.index
        number = len(self.zones) - 1
        last = int(index.number(np.int64(self.blocks - 1), np.int64(number)) - index.base[number])
        held = self.blocks - int(index.first[number])
        slips.until(last)
        zone.slips = slips.runs
        zone.spares = zone.slots(self.heads) - zone.dead - held
        zones = [zone for zone, _ in self.zones]
        order = self.order
        if order == "serpentine-zone" and self.run == 1 and \
                not any(zone.first_cyl & 1 for zone in zones):
            # then both say the same, but this one lets zones be cut anywhere
            order = "serpentine-disk"
        return Layout(self.heads, self.cylinders, order, zones, self.run)

    # ---- in the end

    def _few(self):
        """Whether each track can be asked for."""
        return self.cylinders * self.heads * 2 <= MOST_CHECKS

    def _ends(self, layout):
        """Blocks to ask for: the first and the last of each track, or of some."""
        if self._few():
            tracks = layout.tracks()
            return np.unique(np.concatenate((tracks["first"],
                                             tracks["first"] + tracks["count"] - 1)))
        self.notes.append("too many tracks to ask for each: %d blocks were chosen at random" %
                          SOME_CHECKS)
        return np.unique(np.random.default_rng(1).integers(0, self.blocks, SOME_CHECKS))

    def _check(self, layout):
        """(block known to be right, one that is not) or None."""
        blocks = self._ends(layout)
        said = layout.locate(blocks)
        good = 0
        for i, block in enumerate(blocks.tolist()):
            if i % 1024 == 0:
                self.progress(i / len(blocks), "places: checked %d of %d" % (i, len(blocks)))
            place = self._place(block)
            if place.moved:
                continue
            if (place.cyl, place.head, place.slot) != tuple(said[i])[1:4]:
                return good, block
            good = block
        return None

    def _forget_behind(self, number):
        """Forget zones behind one, which then is the last."""
        if number + 1 < len(self.zones):
            zone, _ = self.zones[number]
            self.ended = (zone.last_cyl + 1 - zone.first_cyl) % self.run > 0
            del self.zones[number + 1:]
        self._layout = None

    def _back_to(self, layout, good, wrong):
        """Forget what the chart says from the zone of a wrong block on."""
        self._forget_behind(int(layout.index.zone_of(good)))
        return self._mend(last_true(self._agrees, good, wrong) + 1) + 1

    def _check_lengths(self, layout):
        """A zone in the midst of which tracks become longer or shorter, though the
        blocks on them lie as before: (zone, first such cylinder), or None."""
        rng = np.random.default_rng(1)
        for number, zone in enumerate(layout.zones):
            # up to the last that has blocks
            index = layout.index
            last = index.number(index.first[number + 1] - 1, np.int64(number)) - \
                index.base[number]
            last = min(self._band_of(zone, int(last)) + self.run - 1, zone.last_cyl)
            cyls = np.arange(zone.first_cyl, last + 1)
            if not self._few() and len(cyls) > SOME_CYLINDERS:
                cyls = np.append(np.sort(rng.choice(cyls, SOME_CYLINDERS, False)), last)
            for cyl in cyls.tolist():
                if not self._alike(cyl, zone):
                    return number, last_true(lambda at, zone=zone: self._alike(at, zone),
                                             zone.first_cyl, cyl) + 1
        return None

    def _back_to_lengths(self, layout, number, cyl):
        """Forget what the chart says from a cylinder on."""
        self._forget_behind(number)
        zone = self.zones[number][0]
        base = (cyl - zone.first_cyl) * zone.cyl_slots(self.heads)
        block = int(layout.index.block_from(base + layout.index.base[number], np.int64(number)))
        return self._split(cyl, block) + 1

    def make(self):
        """(Layout without angles, MOVED array)."""
        self._begin()
        first, seen = 1, []
        while True:
            self._survey(first)
            layout = self._finish()
            wrong, change = self._check(layout), self._check_lengths(layout)
            if (wrong, change) in seen:
                raise ToolError("%s lies elsewhere whatever is made of it" % (
                    "block %d" % wrong[1] if wrong else "cylinder %d" % change[1]))
            seen.append((wrong, change))
            if wrong:
                first = self._back_to(layout, *wrong)
            elif change:
                first = self._back_to_lengths(layout, *change)
            else:
                break
        self._find_moved(layout)
        moved = [(block, place.cyl, place.head, place.slot)
                 for block, place in sorted(self.moved.items())]
        return layout, np.array(moved, dtype=MOVED)

    def _find_moved(self, layout):
        """Blocks that live in spares."""
        if self.grown is None:
            self._ask_spares(layout)
            return
        for block in self.grown.blocks:
            if block < self.blocks:
                self._place(block)
        for cyl, head, slot in self.grown.places:
            if cyl >= self.cylinders or head >= self.heads:
                self.notes.append("a grown defect at cylinder %d, head %d: not of this drive" %
                                  (cyl, head))
                continue
            zone, number, spt, _ = layout.track_base(cyl, head)
            slots = np.arange(int(spt)) if slot < 0 else np.array([slot])
            blocks = layout.index.block_from(number + slots, zone)
            for block, at in zip(blocks, slots):
                if block < self.blocks and \
                        layout.index.number(block, layout.index.zone_of(block)) == number + at:
                    self._place(block)

    def _empty(self, layout):
        """Slots that hold no block at home: (zone, number among all slots)."""
        index = layout.index
        for number, zone in enumerate(layout.zones):
            base = int(index.base[number])
            last = int(index.number(index.first[number + 1] - 1, np.int64(number)))
            runs = [(base + at, base + at + count) for at, count in zone.slips]
            for first, end in runs + [(last + 1, int(index.base[number + 1]))]:
                yield from ((number, slot) for slot in range(first, end))

    def _ask_spares(self, layout):
        """Without a list of grown defects: who lives in the zones' spares."""
        left = MOST_SPARES
        for number, slot in self._empty(layout):
            if not left:
                self.notes.append("no list of grown defects, and too many spares to ask for "
                                  "all: some blocks may live elsewhere")
                return
            left -= 1
            at = layout.slot_place(np.int64(slot), np.int64(number))
            block, _ = self.ask.tenant(at["cyl"], at["head"], at["slot"]) or (None, False)
            if block is not None:
                self._place(block)


class _At:
    """A place."""

    def __init__(self, cyl, head, slot):
        self.cyl, self.head, self.slot = cyl, head, slot
