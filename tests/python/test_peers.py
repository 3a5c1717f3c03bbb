# SPDX-License-Identifier: GPL-2.0
"""Tests of the comparison of schedulers (bench/peers.py, and labcells.py and peersum.py,
which other benches share) that need no machine: parsing what the guest leaves, comparing at equal
latency, cells that are not kept. Every figure is worked out by hand."""

import os
import struct
import tempfile
import unittest

from freeblock import ToolError
from freeblock.base.helpers import TOP
from bench import peers, peersum

SNAPSHOT = """== now
%(now)d
== /proc/timer_list
Timer List Version: v0.9
now at %(now)d nsecs
cpu: 0
  .idle_sleeps    : 7
  .idle_sleeptime : %(idle)d nsecs
  .iowait_sleeptime: %(wait)d nsecs
== /sys/block/sda/stat
  1 2 3 4 5 6 7 8 9 %(util)d 11
== /sys/kernel/mechdisk/d1/stats
commands 5
busy_ns %(busy)d
== /sys/kernel/debug/freeblock/sda/numbers
state/scheduling yes
scan_stats/blocks_total 2245870
scan_stats/blocks_delivered %(blocks)d
"""

STATUS = """scheduling %s
free_reads off: the drive orders, as its write cache is in use
idle paused: the mean slowdown is at its goal
guard_trips 2
miss_fg 3
"""


def write(folder, name, data):
    """A file for the parser."""
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def guest_folder(folder):
    """A window of 10 s in which the CPU was busy for 2 s (6 s idle, 2 s waiting for
    I/O), with 1000 requests, and 500 blocks of 4096 bytes."""
    write(folder, "snap.begin", SNAPSHOT % {"now": 5 * 10**9, "idle": 10**9, "wait": 10**8,
                                            "util": 100, "busy": 10**9, "blocks": 100})
    write(folder, "snap.end", SNAPSHOT % {"now": 15 * 10**9, "idle": 7 * 10**9,
                                          "wait": 21 * 10**8, "util": 9100, "busy": 9 * 10**9,
                                          "blocks": 600})
    write(folder, "fg0.said", "requests 1000\nbytes 8192000\nseconds 10\nerrors 0\n")
    # 1..1000 us, each third a write
    write(folder, "fg0.lat", b"".join(
        struct.pack("<I", us | (peersum.WRITE if us % 3 == 0 else 0)) for us in range(1, 1001)))
    write(folder, "drive", "commands 2000\nlate_max_ns 12000\nlate_over_10us 4\n")
    write(folder, "status", STATUS % "yes")
    write(folder, "granule_bytes", "4096\n")


class Parsing(unittest.TestCase):
    """Seen to fail: time waiting for I/O taken as busy; a 99th percentile that is
    the 990th from above; the highest bit taken for time."""

    def test_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            guest_folder(folder)
            got = peersum.cell_figures(folder)
        self.assertAlmostEqual(got["requests_per_s"], 100)
        self.assertAlmostEqual(got["fg_mb_s"], 0.8192)
        self.assertAlmostEqual(got["bg_mb_s"], 500 * 4096 / 1e7)
        self.assertAlmostEqual(got["instructions_per_request"], 2e6)
        self.assertAlmostEqual(got["cpu_pct"], 20)
        self.assertAlmostEqual(got["drive_busy_pct"], 80)
        self.assertAlmostEqual(got["late_pm"], 2)
        self.assertEqual((got["guard_trips"], got["miss_fg"], got["errors"]), (2, 3, 0))
        self.assertAlmostEqual(got["p50_ms"], 0.5)
        self.assertAlmostEqual(got["reads_p50_ms"], 0.5)
        self.assertAlmostEqual(got["p99_ms"], 0.99)
        self.assertAlmostEqual(got["max_ms"], 1.0)
        self.assertNotIn("p99.9_ms", got)


class EqualLatency(unittest.TestCase):
    """Seen to fail: interpolation from a point that does not keep to the limit."""

    def test_interpolated(self):
        points = [(40, 0), (50, 1), (60, 3), (70, 2)]
        # Of those at 55, the line from (40, 0) to (60, 3) is above that from (50, 1)
        self.assertEqual(peers.at_equal_latency(points, 55), (1, 2.25))
        self.assertEqual(peers.at_equal_latency(points, 100), (3, 3))
        self.assertEqual(peers.at_equal_latency(points, 39), (None, None))


class Cells(unittest.TestCase):
    """When one is measured anew."""

    sums = {"all": "a", "freeblock": "b"}

    def cell(self, setting, **more):
        args = {"drive": "atlas10k", "load": "closed", "seconds": 30, "seed": 1, **more}
        return peers.Cell(args["drive"], args["load"], setting, args["seconds"], args["seed"])

    def test_void(self):
        """A scan that read nothing where the model was given up makes no row, and its cell is not
        kept; the others of its virtual machine are, also that of a scan to which the foreground
        left nothing. Seen to fail: all kept, as they were once; neither kept."""
        names = {"c0": self.cell(peers.Setting("freeblock", "scan")),
                 "c1": self.cell(peers.Setting("freeblock")),
                 "c2": self.cell(peers.Setting("freeblock", "scan"), seed=2),
                 "c3": self.cell(peers.Setting("freeblock", "scan"), seed=3)}
        bench = peers.Bench.__new__(peers.Bench)
        bench.sums, bench.fresh, bench.measured = self.sums, False, set()
        with tempfile.TemporaryDirectory() as bench.cells:
            for name in names:
                folder = os.path.join(bench.cells, name)
                os.mkdir(folder)
                guest_folder(folder)
            for name in "c0", "c3":
                write(os.path.join(bench.cells, name), "snap.end", SNAPSHOT % {
                    "now": 15 * 10**9, "idle": 7 * 10**9, "wait": 21 * 10**8, "util": 9100,
                    "busy": 9 * 10**9, "blocks": 100})
            write(os.path.join(bench.cells, "c0"), "status", STATUS % "no: the model is distrusted")
            with self.assertRaisesRegex(ToolError, "^atlas10k, closed, freeblock scan: the scan "
                                        "read nothing, and no load is why "
                                        r"\(details in \S+/c0/status\)$"):
                bench.keep(names, bench.cells)
            self.assertEqual([bool(bench.kept(cell)) for cell in names.values()],
                             [False, True, True, True])
            said = peers.text(peers.summarize([bench.kept(names["c3"])]))
        self.assertIn("nothing was read (free reads: off: the drive orders, as its write cache is "
                      "in use)\n", said)

    def test_rightly(self):
        """What the module says where a load leaves nothing, in its words of today; all else is a
        fault. Seen to fail: whatever is said where the disk is scheduled; another word there."""
        with open(os.path.join(TOP, "snapshot.c"), encoding="ascii") as file:
            source = file.read()
        for said in peersum.RIGHTLY:
            self.assertIn('return "%s";' % said, source)
        self.assertEqual(peersum.scan_said("scheduling yes\nfree_reads on\n"), "on")
        for status in ("", "free_reads on\n", "scheduling no model\nfree_reads on\n",
                       "scheduling yes\nfree_reads no task\n", "scheduling yes\nfree_reads off: "
                       "they cost the foreground too many turns\n"):
            self.assertEqual(peersum.scan_said(status), "")
