# SPDX-License-Identifier: GPL-2.0
"""What a simulated drive is, read from its .fbdrive text, for tests of what freeblock
extract finds: it never sees this."""

from fractions import Fraction

import numpy as np

from freeblock.extraction.places import Layout, Zone
from freeblock.formats import fbdrive

ORDERS = {"plain": "plain", "serpentine": "serpentine-zone", "serpentine-disk": "serpentine-disk"}


def _records(path, more):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, *words in fbdrive.lines((text + "\n" + "\n".join(more)).splitlines()):
        yield name, words


class Truth:
    """A description and the lines set after it. layout: in units; seek: (distances, ns);
    values: the other records, as words."""

    def __init__(self, path, more=()):
        self.values, seek, self.zones, self.head_spt = {}, {}, [], {}
        slips, remaps = {}, {}
        for name, words in _records(path, more):
            if name == "seek":
                seek[int(words[0])] = int(words[1])
            elif name == "zone":
                self.zones.append(words)
            elif name == "zone_heads":
                self.head_spt[int(words[0])] = [int(word) for word in words[1:]]
            elif name == "slip":
                slips.setdefault(int(words[0]), []).extend(words[1:])
            elif name == "remap":
                remaps.setdefault(int(words[0]), []).append((int(words[1]), int(words[2])))
            elif name == "overhead_ns":
                self.values["overhead_ns " + words[0]] = words[1:]
            else:
                self.values[name] = words
        self.unit = 1 << int(self.values.get("physical_exponent", ["0"])[0])
        self.seek = np.array(sorted(seek)), np.array([seek[d] for d in sorted(seek)])
        self.layout = Layout(int(self.values["heads"][0]), int(self.zones[-1][1]) + 1,
                             ORDERS[self.values.get("order", ["plain"])[0]],
                             [self._zone(i, slips.get(i, []), remaps.get(i, []))
                              for i in range(len(self.zones))], self.ns("surface_run", 0, 1))

    def _zone(self, i, slips, remaps):
        """In units."""
        words, unit = self.zones[i], self.unit
        first, last, spt, spares = (int(words[k]) for k in (0, 1, 2, 6))
        angle, track, cyl = (float(Fraction(words[k])) for k in (3, 4, 5))
        dead = int(words[7].partition("=")[2]) if len(words) > 7 else 0
        pairs = [tuple(int(n) for n in (word + "+1").split("+")[:2]) for word in slips]
        heads = self.head_spt.get(i)
        return Zone(first, last, spt // unit, angle, track, cyl, dead // unit, spares // unit,
                    pairs, remaps, heads and [n // unit for n in heads])

    def ns(self, name, at=0, default=0):
        """A number of a record."""
        words = self.values.get(name, [])
        return int(words[at]) if len(words) > at else default

    @property
    def period_ns(self):
        """The real one."""
        off = self.ns("rpm_error_ppm") * 1e-6 + self.ns("rpm_error_ppb") * 1e-9
        return self.ns("period_ps") * 1e-3 / (1 + off)

    @property
    def overhead_ns(self):
        """Of a read of a unit that comes from the medium, until the report."""
        before = self.values.get("command_overhead_ns") or \
            self.values.get("overhead_ns read_miss") or ["0"]
        return int(before[0]) + self.ns("bus_ns") + self.ns("completion_overhead_ns")

    def seek_ns(self, distances):
        """Straight lines between points, the last one continued."""
        at, ns = self.seek
        distances = np.asarray(distances, dtype=float)
        found = np.interp(distances, np.concatenate(([0], at)), np.concatenate(([0], ns)))
        if len(at) > 1:
            slope = (ns[-1] - ns[-2]) / (at[-1] - at[-2])
            found = np.where(distances > at[-1], ns[-1] + (distances - at[-1]) * slope, found)
        return found
