#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""How late completions may be reported before the rotation is hidden: a table.

Simulated drives whose completions are late by the drive's own jitter (uniform) and, on top,
by the host (uniform or exponential, in this program); the period that Phase finds, against
the description's. For Documentation/extract-safety.rst; half a minute:

    tests/tools/extract_noise.py
"""

import os
import re
import sys

import numpy

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

from fbtools import ToolError  # noqa: E402
from fbtools.extraction import device, phase, refuse  # noqa: E402

DRIVES = ("atlas10k", "nearline16-512e")
# jitter of the drive, then kind and size of the host's, ns
LEVELS = ((0, "", 0), (20000, "", 0), (100000, "", 0), (100000, "uniform", 100000),
          (100000, "uniform", 300000), (100000, "exponential", 50000),
          (100000, "exponential", 100000), (100000, "exponential", 200000),
          (20000, "exponential", 500000), (20000, "uniform", 1000000))


class Late:
    """A drive whose completions the host sees late."""

    def __init__(self, dev, kind, size_ns, seed=1):
        self._dev = dev
        self._kind = kind
        self._size_ns = size_ns
        self._random = numpy.random.default_rng(seed)

    def __getattr__(self, name):
        return getattr(self._dev, name)

    def run(self, ops):
        """As the drive's, later."""
        results = self._dev.run(ops).copy()
        if self._kind == "uniform":
            late = self._random.random(len(results)) * self._size_ns
        elif self._kind == "exponential":
            late = self._random.exponential(self._size_ns, len(results))
        else:
            return results
        results["done"] += late.astype("u8")
        return results


def row(name, jitter, kind, size):
    """One line of the table."""
    path = os.path.join(TOP, "tests", "mechdisk", "drives", name + ".fbdrive")
    with open(path, encoding="utf-8") as file:
        truth = int(re.search(r"^period_ps (\d+)", file.read(), re.M)[1]) / 1000
    with device.Device.simulated(path, set=["jitter_ns %d" % jitter]) as dev:
        try:
            found = phase.Phase.measure(Late(dev, kind, size))
        except ToolError:
            return "not seen", "-", "yes"
        return ("%.0f" % (found.late_ns / 1e3), "%.2f" % (abs(found.period_ns / truth - 1) * 1e6),
                "yes" if refuse.check_noise(found) else "no")


def main():
    """Print the table."""
    form = "%-16s %9s  %-18s %11s %13s %8s"
    print(form % ("drive", "jitter us", "host us", "9 of 10 us", "period off ppm", "refused"))
    for name in DRIVES:
        for jitter, kind, size in LEVELS:
            print(form % (name, jitter // 1000, "%s %d" % (kind, size // 1000) if kind else "-",
                          *row(name, jitter, kind, size)), flush=True)


if __name__ == "__main__":
    main()
