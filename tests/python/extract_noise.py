#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""How late completions may be reported before the rotation is hidden: tables.

Simulated drives whose completions are late by the drive's own jitter (uniform) and, on top,
by the host; what is found is compared with the description. See
Documentation/extract.rst:

    tests/python/extract_noise.py            the period; half a minute
    tests/python/extract_noise.py --layout   the layout; some minutes
"""

import argparse
import os
import re

import numpy as np

from conftest import TOP        # and where the packages are
from layouts import drive_places, host_program
from freeblock import ToolError
from freeblock.extraction import device, phase, refuse, runcheck, runfind

DRIVES = ("atlas10k", "nearline16-512e")
# jitter of the drive, then kind and size of the host's, ns
LEVELS = ((0, "", 0), (20000, "", 0), (100000, "", 0), (100000, "uniform", 100000),
          (100000, "uniform", 300000), (100000, "exponential", 50000),
          (100000, "exponential", 100000), (100000, "exponential", 200000),
          (20000, "exponential", 500000), (20000, "uniform", 1000000))
# of the drive, and of the host, uniform, ns
LAYOUT_LEVELS = ((0, 0), (20000, 0), (100000, 0), (20000, 100000), (100000, 100000),
                 (20000, 200000), (20000, 300000))
UNITS = 5000            # that are looked up in a layout
OFF = 0.002             # turns


class Late:
    """A drive whose completions the host sees late."""

    def __init__(self, dev, kind, size_ns, seed=1):
        self._dev = dev
        self._kind = kind
        self._size_ns = size_ns
        self._random = np.random.default_rng(seed)

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


def drive_path(name):
    """A shipped description."""
    return os.path.join(TOP, "tools", "mechdisk", "drives", name + ".fbdrive")


def period_row(name, jitter, kind, size):
    """Lateness, error of the period, refused or not."""
    path = drive_path(name)
    with open(path, encoding="utf-8") as file:
        truth = int(re.search(r"^period_ps (\d+)", file.read(), re.M)[1]) / 1000
    with device.Device.simulated(path, lines=["jitter_ns %d" % jitter]) as dev:
        try:
            found = phase.Phase.measure(Late(dev, kind, size))
        except ToolError:
            return "not seen", "-", "yes"
        return ("%.0f" % (found.late_ns / 1e3), "%.2f" % (abs(found.period_ns / truth - 1) * 1e6),
                "yes" if refuse.check_noise(found) else "no")


def layout_row(program, name, jitter, host):
    """Lateness, shares of units in wrong places and at wrong angles, disk time."""
    path = drive_path(name)
    with device.Device.simulated(path, lines=["jitter_ns %d" % jitter], host_jitter_ns=host) as dev:
        try:
            turning = phase.Phase.measure(dev, seconds=5)
            late = turning.late_ns
            found = runfind.Finder(dev, turning).find()
            layout = runcheck.check(dev, turning, found).map.layout()
        except ToolError as error:
            return "-", str(error), "", ""
        unit, seconds = dev.unit_sectors, dev.disk_ns / 1e9
    units = np.unique(np.random.default_rng(3).integers(0, layout.blocks, UNITS))
    truth, got = drive_places(program, path, units, unit), layout.locate(units)
    off = got["start"] + 1 / got["spt"] - truth["start"] - 1 / truth["spt"]
    off = (off - off[0] + 0.5) % 1
    off = np.abs(off - np.median(off))
    return ("%.0f" % (late / 1e3), "%.2f" % (100 * np.mean(truth["slot"] != got["slot"])),
            "%.1f" % (100 * np.mean(off > OFF)), "%.0f" % seconds)


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(allow_abbrev=False,
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--layout", action="store_true", help="of layouts, not of periods")
    if parser.parse_args().layout:
        form = "%-16s %9s %8s %11s %10s %17s %7s"
        print(form % ("drive", "drive us", "host us", "9 of 10 us", "moved %", "over 0.2 % turn %",
                      "disk s"))
        program = host_program()
        for name in DRIVES:
            for jitter, host in LAYOUT_LEVELS:
                print(form % (name, jitter // 1000, host // 1000,
                              *layout_row(program, name, jitter, host)), flush=True)
        return
    form = "%-16s %9s  %-18s %11s %14s %8s"
    print(form % ("drive", "drive us", "host us", "9 of 10 us", "period off ppm", "refused"))
    for name in DRIVES:
        for jitter, kind, size in LEVELS:
            print(form % (name, jitter // 1000, "%s %d" % (kind, size // 1000) if kind else "-",
                          *period_row(name, jitter, kind, size)), flush=True)


if __name__ == "__main__":
    main()
