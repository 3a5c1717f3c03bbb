# SPDX-License-Identifier: GPL-2.0
"""Random small layouts of all sparing schemes, as the simulated drive's text,
and what the drive says of its places."""

import os
import random
import subprocess

import numpy as np

from freeblock.extraction.places import PLACE, Layout, Zone
from taptest import BUILD, TOP

SPARINGS = ("none", "zone", "track", "cylinder", "defects", "remaps", "border", "dead")
ORDERS = {"plain": "plain", "serpentine-zone": "serpentine", "serpentine-disk": "serpentine-disk"}


def host_program():
    """Compile the simulated drive's program once; its path."""
    subprocess.run(["make", "-s", "--no-print-directory", "-C",
                    os.path.join(TOP, "tools", "mechdisk", "host"), "BUILD=" + BUILD], check=True)
    return os.path.join(BUILD, "mechdisk-host", "mechdisk-host")


def _bounds(zone, heads):
    """Slot numbers at which tracks of a zone end (plain order)."""
    spts = zone.head_spt or [zone.spt] * heads
    return np.cumsum(spts * (zone.last_cyl - zone.first_cyl + 1))


def _spared(rng, zone, heads, sparing, order):
    """Give a zone the spares, slips, remaps and dead slots of a scheme."""
    slots, cyl = zone.slots(heads), zone.cyl_slots(heads)
    slips = set()
    if sparing == "track" and zone.head_spt and order != "plain":
        sparing = "cylinder"
    if sparing == "track":
        keep = rng.randint(1, 2)
        slips = {int(end) - i for end in _bounds(zone, heads) for i in range(1, keep + 1)}
    elif sparing == "cylinder":
        keep = rng.randint(1, 3)
        slips = {end - i for end in range(cyl, slots + 1, cyl) for i in range(1, keep + 1)}
    elif sparing == "border":
        slips = {0, 1, cyl - 1, cyl, cyl + zone.spt}
    if sparing in ("track", "cylinder", "defects", "dead"):
        zone.dead = rng.choice((0, 1, zone.spt + 2)) if sparing == "dead" else 0
        slips |= {rng.randrange(zone.dead, slots - 3 * cyl // 2) for _ in range(rng.randint(0, 6))}
    spare = {"none": 0, "zone": rng.randint(1, cyl)}.get(sparing, rng.randint(3, 2 * zone.spt))
    # what no LBN follows is a spare, not a slip
    data_end = slots - spare
    while data_end - 1 in slips:
        data_end -= 1
    slips = sorted(at for at in slips if at < data_end)
    zone.slips = _runs(slips)
    zone.spares = slots - data_end + len(slips)
    if sparing in ("remaps", "border"):
        taken = set(slips)
        sources = [at for at in rng.sample(range(zone.dead, data_end), 3) if at not in taken]
        if sparing == "border":
            sources = sorted({data_end - 1, *sources} - taken)
        targets = rng.sample(range(data_end, slots), min(len(sources), slots - data_end))
        zone.remaps = list(zip(sorted(sources), targets))


def _runs(slips):
    runs = []
    for at in slips:
        if runs and sum(runs[-1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((at, 1))
    return runs


def random_layout(seed, sparing, order="plain", heads=None, surfaces=False, zones=3,
                  cylinders=(3, 14), spt=(12, 40), run=1):
    """A Layout. surfaces: tracks differ in length from head to head; run: its surface_run."""
    rng = random.Random(seed)
    heads = heads or rng.randint(1, 7)
    found, first, longest = [], 0, rng.randint(*spt)
    skews = rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.3)
    for _ in range(zones):
        zone = Zone(first, first + rng.randint(*cylinders), longest, rng.random(), *skews)
        if surfaces:
            zone.head_spt = [longest - rng.randint(0, 3) for _ in range(heads)]
            zone.head_spt[rng.randrange(heads)] = longest
        _spared(rng, zone, heads, sparing, order)
        found.append(zone)
        first = zone.last_cyl + 1
        longest -= rng.randint(1, 3) if rng.random() < 0.7 else 0
        if rng.random() < 0.5:
            skews = rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.3)
    return Layout(heads, first, order, found, run)


def spares(layout):
    """The blocks that live in spares, and where: [(block, cylinder, head, slot)]."""
    blocks = np.sort(layout.index.moved_block)
    at = layout.locate(blocks)
    return list(zip(*(values.tolist() for values in (blocks, at["cyl"], at["head"], at["slot"]))))


def drive_text(layout, more="", sector_bytes=512, unit=1):
    """The layout as .fbdrive text, its units of `unit` sectors each."""
    lines = ["fbdrive 1", "period_ps 6000000000", "seed 1", "heads %d" % layout.heads,
             "order " + ORDERS[layout.order], "surface_run %d" % layout.surface_run,
             "sector_bytes %d" % sector_bytes,
             "head_switch_ns 500000", "write_settle_ns 200000", "noise off", "bus_ns 1000",
             "seek 1 800000", "seek %d 3000000" % max(layout.cylinders - 1, 2)]
    if unit > 1:
        lines.append("physical_exponent %d" % (unit.bit_length() - 1))
    for zone in layout.zones:
        lines.append("zone %d %d %d %.17f %.17f %.17f %d dead=%d" % (
            zone.first_cyl, zone.last_cyl, zone.spt * unit, zone.angle, zone.track_skew,
            zone.cyl_skew, zone.spares * unit, zone.dead * unit))
    for number, zone in enumerate(layout.zones):
        if zone.head_spt:
            lines.append("zone_heads %d %s" % (number, " ".join(
                str(spt * unit) for spt in zone.head_spt)))
    for number, zone in enumerate(layout.zones):
        lines += ["slip %d %d+%d" % (number, at * unit, n * unit) for at, n in zone.slips]
    for number, zone in enumerate(layout.zones):
        lines += ["remap %d %d %d" % (number, a * unit + i, b * unit + i)
                  for a, b in zone.remaps for i in range(unit)]
    return "\n".join(lines) + "\n" + more


def drive_places(program, path, blocks, unit=1):
    """PLACE array of blocks, as the simulated drive has them."""
    given = "\n".join(str(int(block) * unit) for block in blocks) + "\n"
    done = subprocess.run([program, "locate", path], input=given, text=True, check=True,
                          stdout=subprocess.PIPE)
    rows = np.array(done.stdout.split(), dtype=float).reshape(-1, 7)
    places = np.empty(len(rows), PLACE)
    for column, name in enumerate(("zone", "cyl", "head"), 1):
        places[name] = rows[:, column]
    places["slot"], places["spt"] = rows[:, 4] // unit, rows[:, 5] // unit
    places["start"] = rows[:, 6]
    return places
