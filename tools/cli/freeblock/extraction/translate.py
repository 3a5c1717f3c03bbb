# SPDX-License-Identifier: GPL-2.0
"""The layout of a drive that translates addresses: places by asking (chart.py), angles by timing.

    if translate.supported(dev):
        layout, notes = translate.extract(dev, phase)

The law of a zone's angles is found as that of a run (rungrow.py), of which each track is one unit:
tracks at growing distances are read, and where the law fails the zone is cut.
"""

import numpy as np

from .. import ToolError
from .chart import Chart, Unsaid
from .diagnostics import Translator
from .places import Layout, Zone
from .rungrow import Growth
from .runmap import Run
from .runread import GUARD, Meter

SOME_BLOCKS = 64        # that are tried before a drive is said to translate addresses
READS = 5               # of a track's block, besides the first, which does not count
SHARES = (0.5, 0.25, 0.75)      # of a track, at which a block that can be read is looked for


def supported(dev):
    """Whether the drive translates blocks into places and back, its physical blocks
    lie on one track each, and tracks are not too many to ask for."""
    ask = Translator(dev)
    if not ask.supported():
        return False
    try:
        Chart(ask)
        for block in np.linspace(0, dev.blocks - 1, SOME_BLOCKS).astype(np.int64):
            place = ask.place(block)
            if ask.tenant(place.cyl, place.head, place.slot) != (block, place.moved):
                return False
    except ToolError:
        return False
    return True


class _Tracks(Meter):
    """A meter for which each track, (cylinder, head), is a unit that ends where it begins."""

    def __init__(self, dev, phase, layout, cyl, head):
        super().__init__(dev, phase)
        self.blocks = Meter(dev, phase)
        self.layout, self.cyl, self.head = layout, cyl, head
        self.tolerance = (self.tolerance - GUARD) / READS ** 0.5 + GUARD
        self.sigma /= READS ** 0.5

    def angles(self, units, paced=False):
        """Where tracks begin; NaN: none of their blocks can be read."""
        units = np.asarray(units, dtype=np.int64)
        found = np.full(len(units), np.nan)
        cyl, head = self.cyl[units], self.head[units]
        _, _, spt, start = self.layout.track_base(cyl, head)
        for share in SHARES:
            left = np.flatnonzero(np.isnan(found))
            blocks = self.layout.block_at(cyl[left], head[left], start[left] + share)
            left, blocks = left[blocks >= 0], blocks[blocks >= 0]
            if not len(left):
                break
            slot = self.layout.locate(blocks)["slot"]
            found[left] = self.blocks.means(blocks, READS, row=True) - (slot + 1) / spt[left]
        return found


def recut(layout, cuts):
    """The same layout with zones that also begin at these cylinders."""
    zones, index = [], layout.index
    for number, zone in enumerate(layout.zones):
        inside = [cut for cut in sorted(set(cuts)) if zone.first_cyl < cut <= zone.last_cyl]
        slots, base = zone.cyl_slots(layout.heads), int(index.base[number])
        bounds = [zone.first_cyl] + inside + [zone.last_cyl + 1]
        slips = np.array(zone.slips, dtype=np.int64).reshape(-1, 2)
        for first, end in zip(bounds, bounds[1:]):
            low, high = ((cyl - zone.first_cyl) * slots for cyl in (first, end))
            begin, stop = index.block_from(np.array([low, high]) + base, number)
            if stop <= begin:
                raise ValueError("no blocks from cylinder %d to %d" % (first, end - 1))
            dead, last = index.number(np.array([begin, stop - 1]), number) - base
            mine = slips[(slips[:, 0] > dead) & (slips[:, 0] < last)] - (low, 0)
            zones.append(Zone(first, end - 1, zone.spt, zone.angle, zone.track_skew,
                              zone.cyl_skew, int(dead) - low,
                              int(high - low - (dead - low) - (stop - begin)), mine,
                              [(a - low, b - low) for a, b in zone.remaps if low <= a < high],
                              zone.head_spt))
    return Layout(layout.heads, layout.cylinders, layout.order, zones)


def _grown(meter, run, seen, end):
    """Follow a run of tracks that begins with some whose angles are known."""
    growth = Growth(meter, run, end)
    growth.learn(*seen)
    growth.fit()
    return growth.grow()


def _law(meter, period, end):
    """The Run of the tracks of a zone that follow one law from the first one on."""
    seen = np.arange(min(2, end))
    angles = meter.angles(seen)
    skew = float(angles[-1] - angles[0]) % 1 if len(seen) > 1 else 0.0
    run = Run(0, len(seen), 1, float(angles[0]), skew)
    run = _grown(meter, run, (seen, angles), min(period, end) if period > 1 else end)
    if period == 1 or end <= period:
        return run
    more = np.array([0, 1, period, min(period + 1, end - 1)])
    angles = meter.angles(more)
    run = Run(0, period + 1, 1, run.angle, run.skew, lengths=[1] * period, period=period,
              turn=float(angles[2] - angles[0]) % 1)
    return _grown(meter, run, (more, angles), end)


def _laws(dev, phase, layout, zone):
    """[(first cylinder, angle, track_skew, cyl_skew)] of a zone's laws."""
    found, first, heads = [], zone.first_cyl, layout.heads
    while first <= zone.last_cyl:
        many = (zone.last_cyl + 1 - first) * heads
        cyl, head = layout.ordered(np.arange(many) + first * heads)
        run = _law(_Tracks(dev, phase, layout, cyl, head), heads, many)
        step = run.turn - (run.period - 1) * run.skew if run.period > 1 else run.skew
        found.append((first, run.angle % 1, run.skew % 1 * (heads > 1), step % 1))
        if run.count == many:
            break
        cyls = max(run.count // heads, 1)
        first += cyls + (layout.order == "serpentine-zone" and cyls & 1)
    return found


def with_angles(dev, phase, layout, laws, save, progress):
    """The layout with zones' angles and skews, cut where they change. laws: what save()
    was given, after each zone, when an earlier attempt was cut short."""
    for i, zone in enumerate(layout.zones):
        if laws and laws[-1][0] >= zone.first_cyl:
            continue
        progress(i / len(layout.zones), "angles: zone %d of %d" % (i + 1, len(layout.zones)))
        laws = laws + _laws(dev, phase, layout, zone)
        save(laws)
    cut = recut(layout, [first for first, *_ in laws])
    for zone, (_, *law) in zip(cut.zones, laws):
        zone.angle, zone.track_skew, zone.cyl_skew = law
    return Layout(cut.heads, cut.cylinders, cut.order, cut.zones)


def _spares(layout, moved):
    """For each moved block: its zone, its slot, its spare's zone and slot, and the
    slot behind the last block of that zone."""
    index = layout.index
    block = moved["block"].astype(np.int64)
    zone = index.zone_of(block)
    spare_zone, number, _, _ = layout.track_base(moved["cyl"], moved["head"])
    behind = index.number(index.first[spare_zone + 1] - 1, spare_zone) + 1
    return zone, index.number(block, zone), spare_zone, number + moved["slot"], behind


def cut_at_spares(layout, moved):
    """The layout with zones cut behind spares that blocks live in: a model wants those
    at zones' ends."""
    _, _, zone, spare, behind = _spares(layout, moved)
    cuts = set()
    for i in np.flatnonzero(spare < behind):
        block = layout.index.block_from(spare[i], zone[i])
        cyl = int(layout.locate(block)["cyl"])
        beyond = cyl - layout.zones[zone[i]].first_cyl
        # where a zone may begin
        cyl -= layout.order == "serpentine-zone" and beyond & 1
        if cyl <= moved["cyl"][i]:
            raise Unsaid("block %d lives in a spare that lies before others of its cylinder, %d, "
                         "which a model cannot say" % (moved["block"][i], cyl))
        cuts.add(cyl)
    return recut(layout, cuts)


def _set_remaps(layout, moved):
    """Remaps of the zones."""
    zone, source, spare_zone, spare, _ = _spares(layout, moved)
    wrong = np.flatnonzero(zone != spare_zone)
    if len(wrong):
        raise Unsaid("block %d lives in another zone's spare, on cylinder %d, which a model "
                     "cannot say" % (moved["block"][wrong[0]], moved["cyl"][wrong[0]]))
    base = layout.index.base
    for number in np.unique(zone):
        some = zone == number
        layout.zones[number].remaps = sorted(zip((source[some] - base[number]).tolist(),
                                                 (spare[some] - base[number]).tolist()))


def _places(dev, progress):
    """(Layout without angles, notes)."""
    chart = Chart(Translator(dev), progress)
    layout, moved = chart.make()
    layout = cut_at_spares(layout, moved)
    _set_remaps(layout, moved)
    return Layout(layout.heads, layout.cylinders, layout.order, layout.zones), chart.notes


def extract(dev, phase, state=None, save=None, progress=None):
    """(Layout, notes for people); Unsaid if a model cannot say where blocks live. save(state) is
    called now and then; with that state, which JSON can say, an extraction that was cut short
    goes on. progress(share of what is to be done, text)."""
    def part(low, high):
        return lambda share, text: progress and progress(low + (high - low) * share, text)

    state = dict(state or {})

    def keep(laws):
        state["laws"] = laws
        if save:
            save(state)

    if "layout" in state:
        layout = Layout.from_dict(state["layout"])
    else:
        layout, state["notes"] = _places(dev, part(0, 0.5))
        state["layout"] = layout.as_dict()
        keep([])
    layout = with_angles(dev, phase, layout, state["laws"], keep, part(0.5, 1))
    return layout, state["notes"]
