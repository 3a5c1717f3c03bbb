# SPDX-License-Identifier: GPL-2.0
"""DiskSim's g1 layouts, said with zones, dead sectors, slip runs and remaps.

How DiskSim places an LBN: diskmodel/layout_g1.c (g1_ltop_*, g1_map_pbn_skew)
and layout_g1_load.c (dm_layout_g1_compute_blksinband); what is written here
follows their behaviour, not their text.

Within a zone three numberings occur. The *data index* counts sectors in LBN
order, the zone's dead ones first, spare sectors left out. The *physical index*
counts all sectors in the order in which LBNs visit the tracks. A layout is a
monotonic map from the one to the other, so that everything between two
neighbours that are no neighbours is a run of slipped sectors.
"""

import bisect
from dataclasses import dataclass, field
from fractions import Fraction

from freeblock import ToolError

TRACK, PER_CYL, PER_TRACK, PER_CYL_TO_END = 1, 2, 3, 4
AT_END, PER_RANGE, PER_ZONE, PER_ZONE_TO_END = 7, 8, 9, 10
# Each takes a run of slips, and a text of some MB holds no more
MAX_UNITS = 1000000
# Why the others cannot be taken over (FORMATS.md; layout_g1.c)
UNUSABLE = {
    0: "DiskSim's translation for it (g1_ltop_nosparing) returns no place",
    5: "DiskSim's two translations contradict each other on the spares at the front",
    6: "DiskSim's two translations contradict each other on the spares at the front",
}
# Schemes whose angles move on by a sector at each slip (g1_map_pbn_skew)
SKEWED_BY_SLIPS = (PER_CYL, PER_TRACK, PER_CYL_TO_END)
PLAIN, SERPENTINE_ZONE, SERPENTINE_DISK = "plain", "serpentine-zone", "serpentine-disk"


@dataclass
class SourceZone:
    """A zone as the .model file has it; skews are fractions of a turn."""

    first: int
    last: int
    spt: int
    angle: Fraction
    track_skew: Fraction
    cyl_skew: Fraction
    dead: int
    spares: int
    slips: list
    defects: list           # (from, to)
    place: object           # libparam.Place


@dataclass
class Zone:
    """A zone as .fbdrive and .fbmodel have it."""

    first: int
    last: int
    spt: int
    angle: Fraction
    track_skew: Fraction
    cyl_skew: Fraction
    dead: int = 0
    spares: int = 0
    slips: list = field(default_factory=list)       # (first sector, count)
    remaps: list = field(default_factory=list)      # (from, to)
    lbns: int = 0


@dataclass
class Layout:
    """What the scheduler and the simulated drive need to know of a layout."""

    heads: int
    cylinders: int
    order: str
    zones: list
    sectors: int
    notes: list


class Sparing:
    """One zone's map from data index to physical index."""

    def __init__(self, zone, heads, scheme, range_size):
        self.zone = zone
        self.heads = heads
        self.scheme = scheme
        self.range_size = range_size
        self.cyl = zone.spt * heads             # sectors in a cylinder
        self.cyls = zone.last - zone.first + 1
        self.total = self.cyl * self.cyls
        self.doubled = 0        # LBNs that DiskSim itself puts where others are
        self.shifted = False    # on some tracks sectors are numbered from further on

    def lbns(self):
        """How many LBNs the zone holds (dm_layout_g1_compute_blksinband)."""
        zone = self.zone
        lost = {
            TRACK: zone.spares * zone.spt,
            PER_CYL: zone.spares * self.cyls,
            PER_TRACK: zone.spares * self.cyls * self.heads,
            PER_CYL_TO_END: zone.spares * self.cyls + len(zone.slips),
            AT_END: len(zone.slips),
            PER_RANGE: zone.spares * (self.cyls // self.range_size),
            PER_ZONE: zone.spares,
            PER_ZONE_TO_END: zone.spares + len(zone.slips),
        }[self.scheme]
        return self.total - zone.dead - lost

    def unit(self):
        """(sectors, of them data) of the stretch within which slips move data."""
        spares, cyl = self.zone.spares, self.cyl
        if self.scheme == PER_TRACK:
            return self.zone.spt, self.zone.spt - spares
        if self.scheme in (PER_CYL, PER_CYL_TO_END):
            return cyl, cyl - spares
        if self.scheme == PER_RANGE:
            return cyl * self.range_size, cyl * self.range_size - spares
        return self.total, self.total

    def runs(self):
        """The LBNs' places: [(physical index, count)] in LBN order."""
        first = self.zone.dead
        end = first + self.lbns()
        if self.scheme in (PER_CYL, PER_TRACK, PER_CYL_TO_END, PER_RANGE) and \
                self.total // self.unit()[0] > MAX_UNITS:
            raise self.zone.place.error("%d cylinders, tracks or ranges with spares of their own: "
                                        "more than the formats hold" %
                                        (self.total // self.unit()[0]))
        if self.scheme == TRACK:
            runs = self._track_runs(first, end)
        elif self.scheme == PER_CYL_TO_END:
            runs = self._to_end_runs(first, end)
        elif self.scheme in (PER_CYL, PER_TRACK, PER_RANGE):
            runs = self._unit_runs(first, end)
        else:
            runs = stepped(first, end, thresholds(self.zone.slips, lambda i: i))
        return self._checked(self._turned_runs(runs))

    def _track_runs(self, first, end):
        """Scheme 1: slips are numbers of tracks."""
        spt = self.zone.spt
        runs = []
        for track, count in stepped(first // spt, -(-end // spt),
                                    thresholds(self.zone.slips, lambda i: i)):
            runs.append((track * spt, count * spt))
        cut = first % spt
        runs[0] = (runs[0][0] + cut, runs[0][1] - cut)
        runs[-1] = (runs[-1][0], runs[-1][1] - (-end % spt))
        return runs

    def _to_end_runs(self, first, end):
        """Scheme 4: spares end each cylinder, slips push to the zone's end."""
        sectors, data = self.unit()
        steps = thresholds(self.zone.slips, lambda i: i // data * sectors + i % data)
        runs = []
        for start, count in stepped(first, end, steps):
            while count:
                unit, at = divmod(start, data)
                here = min(count, data - at)
                runs.append((unit * sectors + at, here))
                start, count = start + here, count - here
        return runs

    def _unit_runs(self, first, end):
        """Schemes 2, 3 and 8: slips push data within their unit only."""
        sectors, data = self.unit()
        by_unit = {}
        for slip in self.zone.slips:
            by_unit.setdefault(slip // sectors, []).append(slip % sectors)
        runs = []
        for unit in range(first // data, -(-end // data)):
            low, high = max(first - unit * data, 0), min(end - unit * data, data)
            part = stepped(low, high, thresholds(by_unit.get(unit, ()), lambda i: i))
            last = part[-1][0] + part[-1][1]
            if last > sectors:
                raise self.zone.place.error("slips of the zone's cylinders, tracks or range "
                                            "number %d outnumber its spares" % unit)
            if self.scheme == PER_CYL:
                self.doubled += max(last - data, 0)
            runs += [(unit * sectors + start, count) for start, count in part]
        return runs

    def slips_before(self, index):
        """How many slips lie before a physical index, as the angles count them."""
        if self.scheme not in SKEWED_BY_SLIPS:
            return 0
        return sum(slip < index for slip in self.zone.slips)

    def _turned(self, index):
        """Scheme 3: a slip turns each later track by a sector. The zone's angle
        can say so from the next cylinder on; up to there, the track's sectors
        are numbered from further on. So numbered, the sector `index`."""
        if self.scheme != PER_TRACK or not self.zone.slips:
            return index
        spt = self.zone.spt
        cyl, track = divmod(index // spt, self.heads)
        base = cyl * self.cyl
        by = self.slips_before(base + self.physical_head(cyl, track) * spt) - \
            self.slips_before(base)
        if index % spt + by >= spt:
            raise self.zone.place.error(
                "cylinder %d, track %d: %d slips earlier in the cylinder turn the track by more "
                "than its spares" % (self.zone.first + cyl, track, by))
        self.shifted |= by > 0
        return index + by

    def _turned_runs(self, runs):
        """Runs that lie on one track each, or that nothing turns."""
        turned = []
        for start, count in runs:
            first, last = self._turned(start), self._turned(start + count - 1)
            assert last - first == count - 1, "a run leaves its track"
            turned.append((first, count))
        return turned

    def physical_head(self, cyl, track):
        """Head of a cylinder's track in LBN order; set by convert()."""
        raise NotImplementedError

    def _checked(self, runs):
        """Runs, joined where they touch; they must ascend within the zone."""
        joined = []
        for start, count in runs:
            end = joined[-1][0] + joined[-1][1] if joined else 0
            if start < end:
                raise self.zone.place.error("two LBNs would lie in sector %d of the zone" % start)
            if joined and start == end:
                joined[-1] = (joined[-1][0], joined[-1][1] + count)
            else:
                joined.append((start, count))
        if joined[-1][0] + joined[-1][1] > self.total:
            raise self.zone.place.error(
                "slips push the last LBN to sector %d of the zone, which has %d" %
                (joined[-1][0] + joined[-1][1] - 1, self.total))
        return joined

    def remaps(self):
        """[(from, to)], physical indices."""
        pairs = []
        for source, target in self.zone.defects:
            if source == target:
                continue
            if self.scheme == TRACK:
                spt = self.zone.spt
                pairs += [(source * spt + i, target * spt + i) for i in range(spt)]
            elif self.scheme == PER_RANGE:
                sectors = self.unit()[0]
                pairs.append((source, source // sectors * sectors + target % sectors))
            else:
                pairs.append((self._turned(source), self._turned(target)))
        return sorted(pairs)


def thresholds(slips, place):
    """From which data index on each slip counts, ascending.

    DiskSim goes through the slips in the order of the list: one counts for
    data index i if it is not beyond place(i) plus those that counted before.
    place() ascends, so each slip counts from one index on."""
    found = []
    for slip in slips:
        low, high = 0, max(slip, 0) + 1
        while low < high:
            middle = (low + high) // 2
            if place(middle) + bisect.bisect_right(found, middle) >= slip:
                high = middle
            else:
                low = middle + 1
        bisect.insort(found, low)
    return found


def stepped(first, end, steps):
    """Runs of first .. end - 1, each step moving all from there on by one."""
    runs = []
    moved = bisect.bisect_right(steps, first)
    while first < end:
        until = min(steps[moved], end) if moved < len(steps) else end
        if until > first:
            runs.append((first + moved, until - first))
        first = until
        while moved < len(steps) and steps[moved] <= first:
            moved += 1
    return runs


class _Cutter:
    """Cuts a DiskSim zone into zones whose angles are straight lines."""

    def __init__(self, sparing):
        self.sparing = sparing
        self.zone = sparing.zone
        self.runs = sparing.runs()
        self.starts = [start for start, _ in self.runs]
        self.remaps = self._used_remaps()
        self.cuts = self._slip_cuts()

    def holds_lbn(self, index):
        """Does an LBN lie there (before remapping)?"""
        i = bisect.bisect_right(self.starts, index) - 1
        return i >= 0 and index < self.runs[i][0] + self.runs[i][1]

    def next_lbn(self, index):
        """Physical index of the first LBN there or later; None if there is none."""
        if self.holds_lbn(index):
            return index
        i = bisect.bisect_left(self.starts, index)
        return self.starts[i] if i < len(self.starts) else None

    def _used_remaps(self):
        """The remaps of sectors that hold LBNs, into sectors that hold none."""
        pairs = [(a, b) for a, b in self.sparing.remaps() if self.holds_lbn(a)]
        spares = set()
        for source, target in pairs:
            if self.holds_lbn(target) or not 0 <= target < self.sparing.total or \
                    target in spares:
                raise self.zone.place.error("defect %d goes to sector %d, which is not a free "
                                            "spare of the zone" % (source, target))
            spares.add(target)
        return pairs

    def _slip_cuts(self):
        """Cylinders (from the zone's first) at which the angle jumps."""
        cyl = self.sparing.cyl
        cuts = []
        for slip in self.zone.slips:
            if self.sparing.scheme in SKEWED_BY_SLIPS and slip // cyl + 1 < self.sparing.cyls:
                cuts.append(slip // cyl + 1)
        return sorted(set(cuts))

    def _remap_cuts(self):
        """Cylinders at which zones must end, lest a spare lie before other LBNs."""
        cyl, cuts = self.sparing.cyl, set()
        for source, target in self.remaps:
            after = self.next_lbn(target)
            if after is None:
                continue
            cut = target // cyl + 1
            if source > target or cut * cyl > after:
                raise self.zone.place.error(
                    "the spare %d for defect %d lies before other sectors of its cylinder or "
                    "before the defect, which the formats cannot say" % (target, source))
            cuts.add(cut)
        return cuts

    def pieces(self):
        """[(first, end)] cylinders from the zone's first, each with LBNs."""
        bounds = sorted(set(self.cuts) | self._remap_cuts())
        pieces, first = [], 0
        for end in bounds + [self.sparing.cyls]:
            at = self.next_lbn(first * self.sparing.cyl)
            if at is None:                          # nothing but spares: the last zone's
                pieces[-1] = (pieces[-1][0], end)
            elif at < end * self.sparing.cyl:
                # dead cylinders go before, those without data of the zone before here
                pieces.append((first, end))
            elif pieces:
                pieces[-1] = (pieces[-1][0], end)
            else:
                continue                            # dead: they go before the first piece
            first = end
        self._check_remaps(pieces)
        return pieces

    def _check_remaps(self, pieces):
        cyl = self.sparing.cyl
        for source, target in self.remaps:
            for first, end in pieces:
                if first * cyl <= source < end * cyl and not first * cyl <= target < end * cyl:
                    raise self.zone.place.error(
                        "defect %d and its spare %d lie in different pieces of the zone, which "
                        "the formats cannot say" % (source, target))

    def cut(self, first, end, before, after):
        """The Zone of a piece, extended by `before` and `after` empty cylinders."""
        sparing, zone = self.sparing, self.zone
        cyl, low, high = sparing.cyl, first * sparing.cyl, end * sparing.cyl
        data_cyl = self.next_lbn(low) // cyl
        turned = sparing.slips_before(data_cyl * cyl)
        per_cyl = (sparing.heads - 1) * zone.track_skew + zone.cyl_skew
        start = first - before          # cylinders from DiskSim's zone's first
        out = Zone(zone.first + start, zone.first + end - 1 + after, zone.spt,
                   (zone.angle + start * per_cyl + Fraction(turned, zone.spt)) % 1,
                   zone.track_skew % 1, zone.cyl_skew % 1)
        self._fill(out, low, high, before * cyl, after * cyl)
        return out

    def _fill(self, out, low, high, before, after):
        """Dead sectors, slips, spares and remaps of physical indices low .. high - 1."""
        shift = before - low
        at = None
        i = max(bisect.bisect_right(self.starts, low) - 1, 0)
        while i < len(self.runs) and self.runs[i][0] < high:
            start, end = self.runs[i][0], self.runs[i][0] + self.runs[i][1]
            start, end = max(start, low), min(end, high)
            i += 1
            if start >= end:
                continue
            if at is None:
                out.dead = start + shift
            elif start > at:
                out.slips.append((at + shift, start - at))
            out.lbns += end - start
            at = end
        out.spares = before + high - low + after - out.dead - out.lbns
        out.remaps = [(a + shift, b + shift) for a, b in self.remaps if low <= a < high]


def check_source(zones, heads, scheme):
    """The zones of the file must be in order and make sense."""
    if scheme in UNUSABLE:
        raise ToolError("sparing scheme %d cannot be imported: %s" % (scheme, UNUSABLE[scheme]))
    last = -1
    for zone in zones:
        if zone.last < zone.first:
            raise zone.place.error("zone of cylinders %d to %d" % (zone.first, zone.last))
        if zone.first <= last:
            raise zone.place.error("zone begins at cylinder %d, but the one before it ends at %d" %
                                   (zone.first, last))
        last = zone.last
        if scheme == TRACK and len(zone.slips) + len(zone.defects) > zone.spares:
            raise zone.place.error("%d slipped and %d remapped tracks, but only %d spare ones" %
                                   (len(zone.slips), len(zone.defects), zone.spares))
        if scheme == AT_END and zone.spares:
            raise zone.place.error("sparing scheme 7 has no spares, but there are %d" %
                                   zone.spares)
    if not zones:
        raise ToolError("the layout has no zones")
    if heads < 1:
        raise ToolError("the drive has no surfaces")


def choose_order(mapping, heads, pieces):
    """The format's head order that says what DiskSim's mapping says.

    `pieces`: (first cylinder of the new zone, of DiskSim's zone, its place)."""
    if mapping == 0 or heads == 1:
        return PLAIN
    wanted = (SERPENTINE_ZONE, SERPENTINE_DISK) if mapping == 1 else \
        (SERPENTINE_DISK, SERPENTINE_ZONE)
    wrong = None
    for order in wanted:
        wrong = None
        for start, first, place in pieces:
            counted = start if order == SERPENTINE_ZONE else 0
            meant = first if mapping == 1 else 0
            if (counted - meant) % 2:
                wrong = wrong or (start, place)
        if not wrong:
            return order
    raise wrong[1].error(
        "the zone must be cut at cylinder %d for its slips or defects (or empty cylinders come "
        "before it), but an odd number of cylinders from where serpentine counting starts: "
        "the heads' order beyond could not be said" % wrong[0])


def convert(zones, heads, cylinders, mapping, scheme, range_size):
    """The Layout that says what DiskSim's zones mean."""
    check_source(zones, heads, scheme)
    notes, cutters = [], []
    if zones[-1].last >= cylinders:
        # hp_c2490a: DiskSim goes by the zones
        notes.append("the file says %d cylinders, but its zones end at cylinder %d: taken as %d" %
                     (cylinders, zones[-1].last, zones[-1].last + 1))
        cylinders = zones[-1].last + 1
    for zone in zones:
        sparing = Sparing(zone, heads, scheme, range_size)
        sparing.physical_head = _head_order(zone, heads, mapping)
        if sparing.lbns() < 1:
            raise zone.place.error("no sector of the zone is left for LBNs")
        cutters.append(_Cutter(sparing))
    pieces = [cutter.pieces() for cutter in cutters]
    out, starts = [], []
    for i, cutter in enumerate(cutters):
        zone = cutter.zone
        follows = zones[i + 1].first if i + 1 < len(zones) else cylinders
        for first, end in pieces[i]:
            before = zone.first if not out else 0
            after = follows - zone.last - 1 if (first, end) == pieces[i][-1] else 0
            out.append(cutter.cut(first, end, before, after))
            starts.append((out[-1].first, zone.first, zone.place))
        notes += _notes(i, cutter.sparing, pieces[i]) + _idle(i, cutter)
    return Layout(heads, cylinders, choose_order(mapping, heads, starts), out,
                  sum(z.lbns for z in out), notes)


def _head_order(zone, heads, mapping):
    """Function of (cylinder from the zone's first, track in LBN order): head."""
    def head(cyl, track):
        odd = (cyl if mapping == 1 else zone.first + cyl) % 2
        return heads - 1 - track if mapping and odd else track
    return head


def _idle(number, cutter):
    """Slips and defects that move no LBN: perhaps they are mistaken."""
    zone, sparing, notes = cutter.zone, cutter.sparing, []
    end = sparing.total // zone.spt if sparing.scheme == TRACK else sparing.total
    beyond = [slip for slip in zone.slips if slip >= end]
    if beyond:
        notes.append("%s: zone %d: %d of its slips, such as %d, lie beyond its end, %d" %
                     (zone.place, number, len(beyond), beyond[0], end))
    unused = len(sparing.remaps()) - len(cutter.remaps)
    if unused:
        notes.append("%s: zone %d: %d remapped sectors hold no LBN" %
                     (zone.place, number, unused))
    return notes


def _notes(number, sparing, pieces):
    """What a reader should know about how a zone was said."""
    notes = []
    if len(pieces) > 1:
        notes.append("zone %d of the file became %d: its slips turn the angles of later "
                     "cylinders, or its spares lie between cylinders" % (number, len(pieces)))
    if sparing.doubled:
        notes.append("zone %d: slips push %d LBNs into their cylinders' spares; DiskSim's "
                     "LBN-to-place direction puts them where other LBNs are, its other direction "
                     "as here" % (number, sparing.doubled))
    if sparing.shifted:
        notes.append("zone %d: on tracks behind a slip sectors are numbered from further on than "
                     "in DiskSim; angles are the same" % number)
    return notes
