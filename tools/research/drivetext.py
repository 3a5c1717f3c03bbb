# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): written."""

from freeblock.fbmodel import comment_lines, decimal_turn, within
from .drive import check_identity

MAX_HEADS = 64
MAX_CYLINDERS = 10000001     # 0 to 10000000
MAX_SEGMENT = 16777216
MAX_SPT = 65535
MAX_BYTES = 8 << 20
MS_100 = 100000000
SLIPS_A_LINE = 8
ORDERS = {"plain": "plain", "serpentine-zone": "serpentine", "serpentine-disk": "serpentine-disk"}


def turn(fraction, spt):
    """A fraction of a turn, exact if numbers below 2^32 can say it; in sectors if
    it is whole ones."""
    if not fraction:
        return "0"
    if spt % fraction.denominator == 0:
        return "%d/%d" % (fraction * spt, spt)
    if fraction.denominator < 1 << 32:
        return "%d/%d" % (fraction.numerator, fraction.denominator)
    return decimal_turn(fraction)


def switch(value):
    """on or off."""
    return "on" if value else "off"


def _identity(drive):
    check_identity(drive)
    return ["vendor " + drive.vendor, "product " + drive.product, "serial " + drive.product]


def _mechanics(drive):
    lines = ["head_switch_ns %d" % drive.within("head_switch_ns", "the head switch time",
                                                drive.head_switch_ns, 0, MS_100),
             "write_settle_ns %d" % drive.within("write_settle_ns", "the write settle time",
                                                 drive.write_settle_ns, -MS_100, MS_100),
             "zero_latency " + switch(drive.zero_latency), "noise off"]
    if drive.write_move_ns:
        lines.append("write_move_ns %d" % drive.within(
            "write_move_ns", "the least wait before a write", drive.write_move_ns, 0, MS_100))
    return lines


def _electronics(drive):
    lines = []
    for kind, times in drive.overhead_ns.items():
        lines.append("overhead_ns %s %d %d" % (kind, *(
            drive.within(kind, "overhead of a " + kind, ns, 0, MS_100) for ns in times)))
    lines.append("bus_ns %d" % drive.within("bus_ns", "a block's time on the bus", drive.bus_ns,
                                            0, 1000000))
    if drive.watermark_ppm:
        lines.append("bus_watermark_ppm %d" % within("the high water mark", drive.watermark_ppm, 0,
                                                     1000000))
    if drive.reselect_ns:
        lines.append("reselect_ns %d" % drive.within("reselect_ns", "the reselect overhead",
                                                     drive.reselect_ns, 0, MS_100 // 10))
    if any(drive.extra_disconnect_ns):
        lines.append("extra_disconnect_ns " + " ".join(
            "%d" % drive.within("extra_disconnect_ns", "a time of the extra disconnect", ns, 0,
                                MS_100 // 10) for ns in drive.extra_disconnect_ns))
    lines.append("completion_overhead_ns %d %d" % tuple(
        drive.within("completion_ns", "the completion overhead", ns, 0, MS_100 // 10)
        for ns in drive.completion_ns))
    lines += ["jitter_ns 0", "early_seek " + switch(drive.early_seek),
              "firmware " + drive.firmware, "translate on"]
    return lines


def _cache(drive):
    if not drive.cache:
        return ["cache off"]
    segments, sectors, writes = drive.cache
    lines = ["cache %d %d %d" % (
        drive.within("segments", "the number of segments", segments, 1, 64),
        drive.within("segment_sectors", "a segment's size", sectors, 8, MAX_SEGMENT),
        drive.within("write_segments", "the number of write segments", writes,
                     int(drive.write_cache != "off"), segments))]
    ahead = "read_ahead " + drive.read_ahead
    if drive.read_ahead == "segment" and drive.read_ahead_max:
        ahead += " %d" % drive.within("read_ahead_max", "the most to read ahead",
                                      drive.read_ahead_max, 1, MAX_SEGMENT)
    return lines + [
        ahead, "read_ahead_on_hit " + switch(drive.read_ahead_on_hit),
        "read_ahead_join " + switch(drive.read_ahead_join),
        "read_ahead_stop " + ("at-once" if drive.stop_at_once else "sector"),
        "keep_passing " + switch(drive.keep_passing),
        "discard_read " + switch(drive.discard_read),
        "written_hits " + switch(drive.written_hits),
        "append_writes " + switch(drive.append_writes),
        "write_cache " + drive.write_cache, "destage eager"]


def _layout(drive):
    layout = drive.layout
    drive.within("cylinders", "the number of cylinders", layout.cylinders, 1, MAX_CYLINDERS)
    lines = ["heads %d" % drive.within("heads", "the number of heads", layout.heads, 1, MAX_HEADS),
             "order " + ORDERS[layout.order],
             "# zone FIRST LAST SPT ANGLE TRACK_SKEW CYLINDER_SKEW SPARES [dead=N]"]
    for zone in layout.zones:
        line = "zone %d %d %d %s %s %s %d" % (
            zone.first, zone.last, within("sectors per track", zone.spt, 1, MAX_SPT),
            turn(zone.angle, zone.spt), turn(zone.track_skew, zone.spt),
            turn(zone.cyl_skew, zone.spt), zone.spares)
        lines.append(line + (" dead=%d" % zone.dead if zone.dead else ""))
    for number, zone in enumerate(layout.zones):
        words = ["%d" % at if count == 1 else "%d+%d" % (at, count) for at, count in zone.slips]
        for i in range(0, len(words), SLIPS_A_LINE):
            lines.append("slip %d %s" % (number, " ".join(words[i:i + SLIPS_A_LINE])))
    for number, zone in enumerate(layout.zones):
        lines += ["remap %d %d %d" % (number, a, b) for a, b in zone.remaps]
    return lines


def write(drive):
    """The text, as bytes."""
    lines = comment_lines(drive.comments) + ["fbdrive 1"] + _identity(drive)
    lines += ["", "period_ps %d" % drive.within("period_ps", "the period", drive.period_ps,
                                                   10 ** 9, 10 ** 11),
              "seed 1"] + _mechanics(drive)
    lines += [""] + _electronics(drive)
    lines += [""] + _cache(drive)
    lines += [""] + _layout(drive)
    lines += ["", "# Cylinders, ns."]
    lines += ["seek %d %d" % (distance, drive.within("seek", "a seek time", ns, 0, 1000000000))
              for distance, ns in drive.seek]
    data = ("\n".join(lines) + "\n").encode("utf-8")
    within("the description's size in bytes", len(data), 0, MAX_BYTES)
    return data
