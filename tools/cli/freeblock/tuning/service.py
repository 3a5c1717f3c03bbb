# SPDX-License-Identifier: GPL-2.0
"""How long the drive takes for a request of the scrubber.

From a drive's .fbmodel, or from two constants. Requests of the scrubber follow
each other on the disk: the first after idling comes from wherever the
foreground left the arm, each other finds its first sector just gone (the
drive reports before the next command comes) and waits for whole turns, as
the paper's section IV.A has it for VERIFY.
"""

import re
from fractions import Fraction

from .. import UsageError
from ..formats import fbmodel

SECTORS_PER_KIB = 2
LONGEST_NS = 10 ** 11


class Constants:
    """FIRST + PER_KIB * size; `--service A+B*KiB`, A and B in microseconds."""

    def __init__(self, base_ns, per_kib_ns, name):
        self.base_ns = base_ns
        self.per_kib_ns = per_kib_ns
        self.name = name

    def first(self, kib):
        """ns of the first request after idling."""
        return round(self.base_ns + kib * self.per_kib_ns)

    next = first
    random = first


FORM = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*\+\s*(\d{1,9}(?:\.\d{1,6})?)\s*(?:\*\s*KiB)?\Z", re.I)


def constants(text):
    """The service that a text like 8500+5.2*KiB stands for."""
    match = FORM.match(text.strip())
    if not match:
        raise UsageError("--service %s: not A+B*KiB, A and B in microseconds (8500+5.2*KiB)" % text)
    base, per_kib = (Fraction(word) * 1000 for word in match.groups())
    if not base and not per_kib:
        raise UsageError("--service %s: a request that takes no time" % text)
    if base + 4096 * per_kib > LONGEST_NS:
        raise UsageError("--service %s: more than %d s for 4 MiB" % (text, LONGEST_NS // 10 ** 9))
    return Constants(base, per_kib, text.strip())


class Model:
    """A drive as its .fbmodel describes it, on the mean over its LBNs."""

    def __init__(self, path):
        self.name = path
        self.model = fbmodel.Model.of_file(path)
        self.seeks = [(0, 0), *self.model.seeks()]
        self.period_ns = Fraction(self.model.number("period_ps"), 1000)
        self.per_kib_ns = self.transfer()
        self.seek_ns = self.mean_seek()

    def overhead_ns(self):
        """From a completion to when the next command looks for its sector, ns."""
        return self.model.number("read_overhead_ns", 0) + self.model.number("read_report_ns", 0)

    def transfer(self):
        """ns per KiB read in sequence, skews included; the mean over the sectors."""
        heads = self.model.number("heads")
        time = sectors = 0
        for zone in self.model.zones:
            cylinders = zone.last - zone.first + 1
            turns = heads + (heads - 1) * zone.track_skew + zone.cyl_skew
            time += cylinders * turns * self.period_ns
            sectors += cylinders * heads * zone.spt
        return time * SECTORS_PER_KIB / sectors

    def seek_between(self, distance):
        """ns of a seek over a distance, as the format has it."""
        points = self.seeks
        after = next((n for n, point in enumerate(points) if point[0] >= distance),
                     len(points) - 1)
        (d0, t0), (d1, t1) = points[max(after - 1, 0)], points[max(after, 1)]
        return t0 + Fraction(t1 - t0) * (distance - d0) / (d1 - d0)

    def mean_seek(self, steps=400):
        """ns of a seek between two places with any distribution alike: distance x of the
        stroke has density 2 (1 - x)."""
        stroke = self.model.number("cylinders") - 1
        total = 0
        for step in range(steps):
            share = Fraction(2 * step + 1, 2 * steps)
            total += 2 * (1 - share) * self.seek_between(int(share * stroke))
        return total / steps

    def random(self, kib):
        """ns of a request anywhere."""
        return round(self.overhead_ns() + self.seek_ns + self.period_ns / 2 +
                     kib * self.per_kib_ns)

    first = random

    def next(self, kib):
        """ns of a request that continues the one before it."""
        turns = -(-self.overhead_ns() // self.period_ns)
        return round(turns * self.period_ns + kib * self.per_kib_ns)
