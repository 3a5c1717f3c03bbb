# SPDX-License-Identifier: GPL-2.0
"""A layout with the blocks that the audit of its tracks has found to live in spares."""

from dataclasses import replace

import numpy as np

from .. import ToolError
from .phase import wrap
from .places import Layout

# A block farther from all spares that are known than so much of a slot is in none
BETWEEN = 0.35


def _lacks(layout, number, away):
    """Whether some block of a zone passes at an angle at which none of its spares does."""
    zone = layout.zones[number]
    mine = away[layout.index.zone_of(away["block"]) == number]
    return any(_off_spares(layout, number, angle, 0) > BETWEEN / zone.spt
               for angle in mine["angle"])


def _roomy(layout, away):
    """The layout with spares at the end of each zone of which a block is away: cylinders
    without units more, where timing alone has seen none."""
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
    return Layout(layout.heads, layout.cylinders, layout.order, layout.zones)
