# SPDX-License-Identifier: GPL-2.0
"""The true .fbmodel of a simulated drive, from its .fbdrive text.

For judging what was extracted, never for extracting. What a model cannot say (caches,
outliers, bad sectors) is left out; what it could say wrongly is refused.
"""

from fractions import Fraction

from ..formats.fbdrive import records
from ..formats.fbmodel import decimal_turn, granule_sectors, seal
from . import truth_runs

ORDERS = {"plain": "plain", "serpentine": "serpentine-zone", "serpentine-disk": "serpentine-disk"}
HEADS_A_LINE = 16
DEFAULT_NOISE_NS = 120000


def period_ps(scalars):
    """One revolution at the drive's real speed."""
    error = Fraction(int(scalars.get("rpm_error_ppm", ["0"])[0]), 10 ** 6)
    if "rpm_error_ppb" in scalars:
        error = Fraction(int(scalars["rpm_error_ppb"][0]), 10 ** 9)
    return round(int(scalars["period_ps"][0]) / (1 + error))


def _overheads(scalars, lists):
    """(read, write): from arrival until the arm moves, ns, at an idle drive."""
    read, write = (int(word) for word in scalars.get("command_overhead_ns", ["0", "0"]))
    for kind, after_read, _ in lists["overhead_ns"]:
        read = int(after_read) if kind == "read_miss" else read
        write = int(after_read) if kind == "write_miss" else write
    return read, write


class _Zone:
    """A zone record, all in 512-byte LBNs."""

    def __init__(self, words, scale):
        self.first, self.last, spt = (int(word) for word in words[:3])
        self.spt = spt * scale
        self.angle, self.track_skew, self.cyl_skew = (Fraction(word) for word in words[3:6])
        self.spares = int(words[6]) * scale
        self.dead = sum(int(word[len("dead="):]) for word in words[7:]) * scale
        self.heads = []
        self.slow = False
        self.slips = []
        self.remaps = []

    def sectors(self, heads):
        """LBNs that it holds."""
        turn = sum(self.heads) if self.heads else self.spt * heads
        return (self.last - self.first + 1) * turn - self.dead - self.spares

    def _slips(self, heads):
        """Those before the zone's last LBN: a slipped spare is not used, and no model says so."""
        end = self.dead + self.sectors(heads)
        for at, count in self.slips:
            if at < end:
                yield "slip %d %d" % (at, count)
                end += count

    def text(self, heads):
        """Its records."""
        lines = ["zone %d %d spt %d angle %s track_skew %s cyl_skew %s dead %d spares %d%s" % (
            self.first, self.last, self.spt, decimal_turn(self.angle),
            decimal_turn(self.track_skew), decimal_turn(self.cyl_skew), self.dead, self.spares,
            " slow" * self.slow)]
        for first in range(0, len(self.heads), HEADS_A_LINE):
            lines.append("head_spt %d %s" % (
                first, " ".join("%d" % n for n in self.heads[first:first + HEADS_A_LINE])))
        return lines + list(self._slips(heads)) + self.remaps


def zones(lists, scale):
    """The zones with what belongs to them; the runs as zones of one surface."""
    found = [_Zone(words, scale)
             for words in lists["zone"] or truth_runs.zone_words(lists)]
    for words in lists["zone_heads"]:
        found[int(words[0])].heads = [int(word) * scale for word in words[1:]]
    for words in lists["slip"]:
        for word in words[1:]:
            at, count = (int(part) for part in (word + "+1").split("+")[:2])
            found[int(words[0])].slips.append((at * scale, count * scale))
    for zone, start, end in lists["remap"]:
        found[int(zone)].remaps += ["remap %d to %d" % (int(start) * scale + i,
                                                        int(end) * scale + i)
                                     for i in range(scale)]
    return found


def heads_of(scalars, lists):
    """How many surfaces its model has."""
    return 1 if lists["run"] else int(scalars["heads"][0])


def _header(scalars, lists, layout, scale):
    heads = heads_of(scalars, lists)
    read, write = _overheads(scalars, lists)
    report = [int(word) for word in scalars.get("completion_overhead_ns", ["0"])]
    bus = int(scalars.get("bus_ns", ["0"])[0])
    held = sum(zone.sectors(heads) for zone in layout)
    physical = scale << int(scalars.get("physical_exponent", ["0"])[0])
    vendor = "ATA" if scalars.get("interface") == ["sata"] else \
        scalars.get("vendor", ["MECHDISK"])[0]
    return ["fbmodel 1", "vendor " + vendor,
            "product " + scalars.get("product", ["SIMULATED"])[0],
            "sectors %d" % held, "physical_sectors %d" % physical,
            "granule_sectors %d" % granule_sectors(held, physical),
            "cylinders %d" % (layout[-1].last + 1), "heads %d" % heads,
            "head_order " + ORDERS[scalars.get("order", ["plain"])[0]],
            *["surface_run " + words[0] for words in [scalars.get("surface_run")] if words],
            "period_ps %d" % period_ps(scalars),
            "head_switch_ns " + ("0" if lists["run"] else
                                 scalars.get("head_switch_ns", ["0"])[0]),
            "write_settle_ns " + scalars.get("write_settle_ns", ["0"])[0],
            "zero_latency " + ("yes" if scalars.get("zero_latency") == ["on"] else "no"),
            "read_overhead_ns %d" % read, "write_overhead_ns %d" % write,
            "read_report_ns %d" % (report[0] + bus), "write_report_ns %d" % report[-1]]


def seek_spread_ns(scalars):
    """Standard deviation of a seek's time, ns; the default is the drive's."""
    noise = scalars.get("noise", ["laplace"])
    return 0 if noise[0] == "off" else int((noise + [str(DEFAULT_NOISE_NS)])[1])


def sectors(path):
    """Its capacity in LBNs of 512 bytes."""
    scalars, lists = records(path)
    scale = int(scalars.get("sector_bytes", ["512"])[0]) // 512
    return sum(zone.sectors(heads_of(scalars, lists)) for zone in zones(lists, scale))


def model(path):
    """The sealed .fbmodel text, bytes, of the drive described in a file."""
    scalars, lists = records(path)
    scale = int(scalars.get("sector_bytes", ["512"])[0]) // 512
    layout = zones(lists, scale)
    middles = truth_runs.middles(scalars, lists) if lists["run"] else [
        (zone.first + zone.last) // 2 for zone in layout]
    for zone, cyl in zip(layout, middles):
        zone.slow = any(int(first) <= cyl <= int(last) for first, last in lists["slow_region"])
    lines = _header(scalars, lists, layout, scale)
    if layout[-1].last:
        # one cylinder has no seeks, whatever is said of them
        lines += truth_runs.seek_lines(scalars, lists, seek_spread_ns(scalars)) \
            if lists["run"] else [
                "seek %s %s" % (distance, ns) for distance, ns in lists["seek"]] + [
                    "seek_spread 1 %d" % seek_spread_ns(scalars)]
    for zone in layout:
        lines += zone.text(heads_of(scalars, lists))
    return seal(("\n".join(lines) + "\n").encode("ascii"))
