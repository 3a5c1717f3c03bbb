# SPDX-License-Identifier: GPL-2.0
"""The .fbmodel text (Documentation/model-format.rst) of a drive that DiskSim describes."""

from freeblock import ToolError
from freeblock.fbmodel import MAX_BYTES, MAX_CYLINDERS, MAX_HEADS, MAX_NS, MAX_SEEKS, MAX_SPT, \
    MAX_ZONES, comment_lines, decimal_turn, seal, within
from .drive import check_identity


def _seek_lines(drive):
    """Seek records; a settle below zero needs a write profile of its own."""
    stroke = drive.layout.cylinders - 1
    lines = ["write_settle_ns %d" % drive.within(
        "write_settle_ns", "the write settle time", max(drive.write_settle_ns, 0), 0, MAX_NS)]
    within("the number of seek points", len(drive.seek), 0, MAX_SEEKS)
    kinds = [("seek", 0)]
    if drive.write_settle_ns < 0:
        kinds.append(("write_seek", drive.write_settle_ns))
    for kind, more in kinds:
        points = [(d, ns + more) for d, ns in drive.seek]
        for distance, ns in points:
            lines.append("%s %d %d" % (
                kind, drive.within("seek", "a seek distance", distance, 1, stroke),
                drive.within("seek", "a %s over %d cylinders" % (kind, distance), ns, 0, MAX_NS)))
        _check_stroke(drive, kind, points, stroke)
    return lines


def _check_stroke(drive, kind, points, stroke):
    """The line through the last points must make sense up to the full stroke."""
    (d0, t0), (d1, t1) = ([(0, 0)] + points)[-2:]
    if d1 < stroke:
        if len(points) == 1:
            raise ToolError("%s: one %s point, at %d cylinders, does not reach the stroke of %d" %
                            (drive.places.get("seek", "the drive"), kind, d1, stroke))
        drive.within("seek", "a %s over the full stroke" % kind,
                     t1 + (t1 - t0) * (stroke - d1) // (d1 - d0), 1, MAX_NS)


def _zone_lines(layout):
    lines = []
    within("the number of zones", len(layout.zones), 1, MAX_ZONES)
    for zone in layout.zones:
        lines.append("zone %d %d spt %d angle %s track_skew %s cyl_skew %s dead %d spares %d" % (
            zone.first, zone.last, within("sectors per track", zone.spt, 1, MAX_SPT),
            decimal_turn(zone.angle), decimal_turn(zone.track_skew),
            decimal_turn(zone.cyl_skew), zone.dead, zone.spares))
        lines += ["slip %d" % at if count == 1 else "slip %d %d" % (at, count)
                  for at, count in zone.slips]
        lines += ["remap %d to %d" % pair for pair in zone.remaps]
    return lines


def overheads(drive):
    """(read overhead, write overhead, read report, write report), ns, of a
    command at an idle drive that must go to the medium, after a read."""
    read = drive.overhead_ns.get("read_miss", (0, 0))[0]
    write = drive.overhead_ns.get("write_miss", (0, 0))[0]
    if any(drive.extra_disconnect_ns):
        write = drive.extra_disconnect_ns[0] + drive.extra_disconnect_ns[4]
    return read, write, drive.completion_ns[0] + drive.bus_ns, drive.completion_ns[1]


def write(drive):
    """The sealed text, as bytes."""
    check_identity(drive)
    layout = drive.layout
    lines = ["fbmodel 1"] + comment_lines(drive.comments)
    lines += ["vendor " + drive.vendor, "product " + drive.product,
              "sectors %d" % layout.sectors, "physical_sectors 1", "granule_sectors 8",
              "cylinders %d" % drive.within("cylinders", "the number of cylinders",
                                            layout.cylinders, 1, MAX_CYLINDERS),
              "heads %d" % drive.within("heads", "the number of heads", layout.heads, 1,
                                        MAX_HEADS),
              "head_order " + layout.order,
              "period_ps %d" % drive.within("period_ps", "the period", drive.period_ps, 10 ** 9,
                                            10 ** 11),
              "head_switch_ns %d" % drive.within("head_switch_ns", "the head switch time",
                                                 drive.head_switch_ns, 0, MAX_NS),
              "zero_latency " + ("yes" if drive.zero_latency else "no")]
    names = ("read_overhead_ns", "write_overhead_ns", "read_report_ns", "write_report_ns")
    lines += ["%s %d" % (name, within(name, ns, 0, MAX_NS))
              for name, ns in zip(names, overheads(drive))]
    lines += _seek_lines(drive) + _zone_lines(layout)
    data = seal(("\n".join(lines) + "\n").encode("utf-8"))
    within("the model's size in bytes", len(data), 0, MAX_BYTES)
    return data
