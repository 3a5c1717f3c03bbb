# SPDX-License-Identifier: GPL-2.0
"""A measured drive as .fbmodel text (Documentation/model-format.rst)."""

from fractions import Fraction

from .. import ToolError
from ..formats.fbmodel import MAX_BYTES, MAX_CYLINDERS, MAX_HEADS, MAX_NS, MAX_SEEKS, MAX_SPT, \
    MAX_ZONES, comment_lines, decimal_turn, granule_sectors, seal, within

MAX_TEXT = 39
HEADS_A_LINE = 16
NS_FIELDS = ("head_switch_ns", "write_settle_ns", "read_overhead_ns", "write_overhead_ns",
             "read_report_ns", "write_report_ns")
SEEK_KINDS = ("seek", "write_seek", "seek_spread")


def _text(name, value):
    """A text record, or nothing if there is nothing to say."""
    value = str(value or "").strip()
    if not value:
        return []
    if len(value) > MAX_TEXT or not value.isascii() or not value.isprintable():
        raise ToolError("%s %r: a model holds 1 to %d printable ASCII characters" %
                        (name, value, MAX_TEXT))
    return ["%s %s" % (name, value)]


def _identity_lines(identity, sectors, unit):
    for name in ("vendor", "product"):
        if not str(identity.get(name) or "").strip():
            raise ToolError("the drive's INQUIRY data have no %s" % name)
    lines = []
    for name in ("vendor", "product", "serial", "revision", "wwn"):
        lines += _text(name, identity.get(name))
    return lines + ["sectors %d" % sectors, "physical_sectors %d" % unit,
                    "granule_sectors %s" % (identity.get("granule_sectors") or
                                            granule_sectors(sectors, unit))]


def _reaching(points, stroke):
    """Points of a seek profile of which the last two lead to a time at the full stroke: those of a
    drive that is mapped in part are near each other, and by chance the farther is the shorter."""
    if len(points) < 2 or points[-1][0] >= stroke:
        return points
    (near, before), (far, ns) = points[-2:]
    if 1 <= ns + (ns - before) / (far - near) * (stroke - far) <= MAX_NS:
        return points
    return points + [(stroke, ns)]


def _mechanics_lines(mechanics, stroke):
    lines = ["period_ps %d" % within("the period, ps", round(mechanics["period_ps"]), 10 ** 9,
                                     10 ** 11),
             "zero_latency " + ("yes" if mechanics["zero_latency"] else "no")]
    for name in NS_FIELDS:
        lines.append("%s %d" % (name, within(name, round(mechanics.get(name, 0)), 0, MAX_NS)))
    for kind in SEEK_KINDS:
        points = list(mechanics.get(kind) or [])
        if kind != "seek_spread":
            points = _reaching(points, stroke)
        within("the number of %s points" % kind, len(points), int(kind == "seek"), MAX_SEEKS)
        for cylinders, ns in points:
            lines.append("%s %d %d" % (kind, cylinders, within(
                "a %s over %d cylinders, ns" % (kind, cylinders), round(ns), 0, MAX_NS)))
    return lines


def _turn(value):
    return decimal_turn(Fraction(value))


def _zone_lines(zone, unit, fewer):
    """A zone and what belongs to it; `fewer` of its spare LBNs hold data."""
    spares = zone.spares * unit - fewer
    slipped = sum(int(count) for _, count in zone.slips) * unit
    if spares < slipped:
        raise ToolError("zone of cylinders %d to %d: %d LBNs do not fill a physical block, and no "
                        "spare is left for them" % (zone.first_cyl, zone.last_cyl, fewer))
    lines = ["zone %d %d spt %d angle %s track_skew %s cyl_skew %s dead %d spares %d%s%s" % (
        zone.first_cyl, zone.last_cyl, within("sectors per track", zone.spt * unit, 1, MAX_SPT),
        _turn(zone.angle), _turn(zone.track_skew), _turn(zone.cyl_skew), zone.dead * unit,
        spares, " unmapped" if zone.unmapped else "", " slow" if zone.slow else "")]
    if zone.head_spt:
        for first in range(0, len(zone.head_spt), HEADS_A_LINE):
            lines.append("head_spt %d %s" % (first, " ".join(
                str(spt * unit) for spt in zone.head_spt[first:first + HEADS_A_LINE])))
    for at, count in zone.slips:
        count = count * unit
        lines.append("slip %d" % (at * unit) if count == 1 else "slip %d %d" % (at * unit, count))
    for source, spare in zone.remaps:
        lines += ["remap %d to %d" % (source * unit + i, spare * unit + i) for i in range(unit)]
    return lines


def fbmodel(layout, identity, mechanics):
    """The sealed text, as bytes.

    identity: vendor, product and, if known, serial, revision, wwn; unit_sectors,
    512-byte LBNs in a unit (default 1); sectors, the drive's LBNs, where its last
    do not fill a unit; comments; distrusted, a reason. mechanics: period_ps,
    zero_latency, NS_FIELDS and points (cylinders, ns) of SEEK_KINDS."""
    unit = identity.get("unit_sectors") or 1
    sectors = identity.get("sectors") or layout.blocks * unit
    over = sectors - layout.blocks * unit
    if not 0 <= over < unit:
        raise ToolError("the drive has %d LBNs, but the zones found hold %d" %
                        (sectors, layout.blocks * unit))
    within("the number of zones", len(layout.zones), 1, MAX_ZONES)
    lines = ["fbmodel 1"] + comment_lines(identity.get("comments") or [])
    lines += _identity_lines(identity, sectors, unit)
    lines += ["cylinders %d" % within("the number of cylinders", layout.cylinders, 1,
                                      MAX_CYLINDERS),
              "heads %d" % within("the number of heads", layout.heads, 1, MAX_HEADS),
              "head_order " + layout.order]
    if layout.surface_run > 1:
        lines.append("surface_run %d" % layout.surface_run)
    if identity.get("distrusted"):
        lines.append("distrusted %s" % identity["distrusted"])
    lines += _mechanics_lines(mechanics, layout.cylinders - 1)
    for zone in layout.zones:
        lines += _zone_lines(zone, unit, over if zone is layout.zones[-1] else 0)
    data = seal(("\n".join(lines) + "\n").encode("ascii"))
    within("the model's size in bytes", len(data), 0, MAX_BYTES)
    return data
