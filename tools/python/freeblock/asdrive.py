# SPDX-License-Identifier: GPL-2.0
"""A disk as its .fbmodel describes it, as a drive for the simulator to run (.fbdrive)."""

import math

from . import ToolError

ORDERS = {"plain": "plain", "serpentine-zone": "serpentine", "serpentine-disk": "serpentine-disk"}
SAME = ("period_ps", "heads", "head_switch_ns", "write_settle_ns")
WORDS_A_LINE = 60
# Where a model does not say how much seeks vary, ns: the least of what was measured on
# drives (nearline16.fbdrive); a model with seek_spread records is better
SPREAD_NS = 50000
MOST_SPREAD_NS = 10000000
# Longest command that Linux sends by default to most adapters, in 512 bytes
MAX_SECTORS = 1024
# Least time from a sector's end to the answer that it provokes, ns: without any, reads one
# behind the other would never lose the turn that they lose on a drive
LEAST_REPORT_NS = 5000


class _Zones:
    """What is collected of the zones while their records are read."""

    def __init__(self):
        self.lines, self.heads, self.slips, self.remaps = [], {}, {}, []

    def zone(self, words):
        """zone FIRST LAST spt N angle A track_skew T cyl_skew C dead N spares N"""
        said = dict(zip(words[2::2], words[3::2]))
        self.lines.append("zone %s %s %s %s %s %s %s dead=%s" % (
            words[0], words[1], said["spt"], said["angle"], said["track_skew"],
            said["cyl_skew"], said["spares"], said["dead"]))

    def add(self, name, words):
        """A record that belongs to the last zone."""
        number = len(self.lines) - 1
        if name == "head_spt":
            self.heads.setdefault(number, []).extend(words[1:])
        elif name == "slip":
            self.slips.setdefault(number, []).append("%s+%s" % (
                words[0], words[1] if len(words) > 1 else 1))
        else:
            self.remaps.append("remap %d %s %s" % (number, words[0], words[2]))

    def text(self):
        """All records, in the order that the format asks for."""
        lines = list(self.lines)
        lines += ["zone_heads %d %s" % (number, " ".join(words))
                  for number, words in self.heads.items()]
        for number, words in self.slips.items():
            lines += ["slip %d %s" % (number, " ".join(words[i:i + WORDS_A_LINE]))
                      for i in range(0, len(words), WORDS_A_LINE)]
        return lines + self.remaps


def _spread(points):
    """One standard deviation for all distances: the noise that a drive's text can say."""
    if not points:
        return SPREAD_NS
    middle = sorted(ns for _, ns in points)[len(points) // 2]
    return min(middle, MOST_SPREAD_NS)


def drive(path, max_sectors=MAX_SECTORS):
    """The .fbdrive text of the disk that a model describes, which takes commands of at most
    `max_sectors`.

    The drive has the model's layout and mechanics and no cache; its seeks vary by the
    median of seek_spread."""
    scalars, seeks, spreads, zones = {}, [], [], _Zones()
    with open(path, encoding="utf-8", errors="replace") as file:
        if file.readline().split() != ["fbmodel", "1"]:
            raise ToolError("%s: not a model of version 1 (Documentation/model-format.rst)" %
                            path)
        for line in file:
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            name = words.pop(0)
            if name == "seek":
                seeks.append("seek " + " ".join(words))
            elif name == "seek_spread":
                spreads.append((int(words[0]), int(words[1])))
            elif name == "zone":
                zones.zone(words)
            elif name in ("head_spt", "slip", "remap"):
                zones.add(name, words)
            else:
                scalars[name] = words
    lines = _head(scalars, _spread(spreads)) + ["max_sectors %d" % max_sectors]
    return "\n".join(lines + zones.text() + seeks) + "\n"


def _head(scalars, spread_ns):
    """All but layout and seeks. Sectors are the model's, of 512 bytes."""
    def number(name):
        return int(scalars.get(name, ["0"])[0])

    physical = number("physical_sectors") or 1
    return ["fbdrive 1"] + ["%s %s" % (name, scalars[name][0]) for name in SAME] + [
        "order " + ORDERS[scalars["head_order"][0]],
        "physical_exponent %d" % int(math.log2(physical)),
        "zero_latency " + ("on" if scalars["zero_latency"] == ["yes"] else "off"),
        "noise laplace %d" % spread_ns,
        "command_overhead_ns %d %d" % (number("read_overhead_ns"), number("write_overhead_ns")),
        "completion_overhead_ns %d %d" % (max(number("read_report_ns"), LEAST_REPORT_NS),
                                          number("write_report_ns")),
        "jitter_ns 20000", "firmware sptf"]
