# SPDX-License-Identifier: GPL-2.0
"""A disk as its .fbmodel describes it, as a drive for the simulator to run (.fbdrive)."""

import math
from itertools import groupby

from ..formats import fbmodel
from ..formats.fbmodel import decimal_turn

ORDERS = {"plain": "plain", "serpentine-zone": "serpentine", "serpentine-disk": "serpentine-disk"}
SAME = ("period_ps", "heads", "head_switch_ns", "write_settle_ns")
WORDS_A_LINE = 60
# Where a model does not say how much seeks vary, ns: the least of what was measured on
# drives (nearline16.fbdrive); a model with seek_spread records is better
SPREAD_NS = 50000
MOST_SPREAD_NS = 10000000
# What a drive of today takes off the positioning time for a wait, and the longest wait: published,
# Documentation/drives.rst, Ageing
AGE_PER_MILLE = 6
AGE_BOUND_MS = 2000
# Longest command that Linux sends by default to most adapters, in 512 bytes
MAX_SECTORS = 1024
MOST_SLOW = 16          # regions that a drive's text holds
# Least time from a sector's end to the answer that it provokes, ns: without any, reads one
# behind the other would never lose the turn that they lose on a drive
LEAST_REPORT_NS = 5000


def _zone_lines(zones):
    """All records of the layout, in the order that the format asks for."""
    lines = ["zone %d %d %d %s %s %s %d dead=%d" % (
        zone.first, zone.last, zone.spt, decimal_turn(zone.angle), decimal_turn(zone.track_skew),
        decimal_turn(zone.cyl_skew), zone.spares, zone.dead) for zone in zones]
    slow = [list(some) for is_slow, some in groupby(zones, lambda zone: zone.slow) if is_slow]
    lines += ["slow_region %d %d" % (some[0].first, some[-1].last) for some in slow[:MOST_SLOW]]
    lines += ["zone_heads %d %s" % (number, " ".join("%d" % spt for spt in zone.head_spt))
              for number, zone in enumerate(zones) if zone.head_spt]
    for number, zone in enumerate(zones):
        words = ["%d+%d" % slip for slip in zone.slips]
        lines += ["slip %d %s" % (number, " ".join(words[i:i + WORDS_A_LINE]))
                  for i in range(0, len(words), WORDS_A_LINE)]
    return lines + ["remap %d %d %d" % (number, *remap) for number, zone in enumerate(zones)
                    for remap in zone.remaps]


def _spread(points):
    """One standard deviation for all distances: the noise that a drive's text can say."""
    if not points:
        return SPREAD_NS
    middle = sorted(ns for _, ns in points)[len(points) // 2]
    return min(middle, MOST_SPREAD_NS)


def firmware(period_ps):
    """How the queue of a drive of today goes (Documentation/drives.rst, Ageing)."""
    return "firmware sptf age_ns=%d bound_ms=%d" % (
        round(period_ps * AGE_PER_MILLE / 1000 / 1000), AGE_BOUND_MS)


def drive(path, max_sectors=MAX_SECTORS):
    """The .fbdrive text of the disk that a model describes, which takes commands of at most
    `max_sectors`.

    The drive has the model's layout and mechanics and no cache; its seeks vary by the
    median of seek_spread."""
    model = fbmodel.Model.of_file(path)
    seeks = model.seeks()
    lines = _head(model) + ["max_sectors %d" % max_sectors] + _zone_lines(model.zones)
    lines += ["seek %d %d" % point for point in seeks]
    return "\n".join(lines) + "\n"


def _head(model):
    """All but layout and seeks. Sectors are the model's, of 512 bytes."""
    return ["fbdrive 1"] + ["%s %d" % (name, model.number(name)) for name in SAME] + [
        "order " + ORDERS[model.text("head_order")],
        "surface_run %d" % model.surface_run(),
        "physical_exponent %d" % int(math.log2(model.number("physical_sectors", 1))),
        "zero_latency " + ("on" if model.text("zero_latency") == "yes" else "off"),
        "noise laplace %d" % _spread(model.points["seek_spread"]),
        "command_overhead_ns %d %d" % (model.number("read_overhead_ns", 0),
                                       model.number("write_overhead_ns", 0)),
        "completion_overhead_ns %d %d" % (
            max(model.number("read_report_ns", 0), LEAST_REPORT_NS),
            model.number("write_report_ns", 0)),
        "jitter_ns 20000", firmware(model.number("period_ps"))]
