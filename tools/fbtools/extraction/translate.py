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


def supported(dev):
    """Whether the drive translates blocks into places and back."""
    ask = Translator(dev)
    if not ask.supported():
        return False
    try:
        place = ask.place(0)
        return ask.tenant(place.cyl, place.head, place.slot) == (0, place.moved)
    except ToolError:
        return False


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
        first = layout.zones[zone[i]].first_cyl
        if layout.order == "serpentine-zone" and (cyl - first) & 1:
            cyl -= 1
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


def extract(dev, phase, progress=None):
    """(Layout, notes for people). progress: called with the share that is done."""
    def part(low, high):
        return lambda share: progress and progress(low + (high - low) * share)

    chart = Chart(Translator(dev), part(0, 0.5))
    layout, moved = chart.make()
    layout = cut_at_spares(layout, moved)
    _set_remaps(layout, moved)
    layout = Layout(layout.heads, layout.cylinders, layout.order, layout.zones)
    return with_angles(dev, phase, layout, part(0.5, 1)), chart.notes
