# SPDX-License-Identifier: GPL-2.0
"""The layout of a drive that translates addresses: places by asking (chart.py),
angles by timing (angles.py).

    if translate.supported(dev):
        layout, notes = translate.extract(dev, phase)
"""

import numpy as np

from .. import ToolError
from .angles import recut, with_angles
from .chart import Chart
from .diagnostics import Translator
from .places import Layout

SOME_BLOCKS = 64        # that are tried before a drive is said to translate addresses


def supported(dev):
    """Whether the drive translates blocks into places and back, and its physical blocks
    lie on one track each."""
    ask = Translator(dev)
    if not ask.supported():
        return False
    try:
        for block in np.linspace(0, dev.blocks - 1, SOME_BLOCKS).astype(np.int64):
            place = ask.place(block)
            if ask.tenant(place.cyl, place.head, place.slot) != (block, place.moved):
                return False
    except ToolError:
        return False
    return True


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
        cyl -= beyond % (layout.surface_run * (2 if layout.order == "serpentine-zone" else 1))
        if cyl <= moved["cyl"][i]:
            raise ToolError("block %d lives in a spare that lies before others of its cylinder, "
                            "%d, which a model cannot say" % (moved["block"][i], cyl))
        cuts.add(cyl)
    return recut(layout, cuts)


def _set_remaps(layout, moved):
    """Remaps of the zones."""
    zone, source, spare_zone, spare, _ = _spares(layout, moved)
    wrong = np.flatnonzero(zone != spare_zone)
    if len(wrong):
        raise ToolError("block %d lives in another zone's spare, on cylinder %d, which a model "
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
    return Layout(layout.heads, layout.cylinders, layout.order, layout.zones,
                  layout.surface_run), chart.notes


def extract(dev, phase, state=None, save=None, progress=None):
    """(Layout, notes for people). save(state) is called now and then; with that state,
    which JSON can say, an extraction that was cut short goes on. progress(share of what
    is to be done, text)."""
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
