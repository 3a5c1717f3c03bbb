# SPDX-License-Identifier: GPL-2.0
"""Tests of the comparison of schedulers (bench/peers.py, and labcells.py and peersum.py,
which other benches share) that need no machine: parsing what the guest leaves, comparing at equal
latency, verdicts, keys of kept cells. Every figure is worked out by hand."""

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


def row(peer, background, p99, mb_s, **more):
    """A row with what the comparison looks at."""
    return {"drive": "d", "load": "middle", "peer": peer, "setting": "%s %g" % (background, mb_s),
            "background": background, "reads_p99_ms": p99, "bg_mb_s": mb_s, "errors": 0,
            "late_pm": 0, "seconds": 30, "seed": 1, "instructions_per_request": 1000} | more


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

    def test_traced(self):
        """1 s of a trace, 100 requests/s; seen to fail with the tracer's time in it."""
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(peersum.traced(folder, 100), {})
            write(folder, "trace.sums", "mdh_work 50 1000000\ndd_has_work 400 300000\n"
                                        "dd_insert_requests 100 200000\n")
            self.assertRaises(ToolError, peersum.traced, folder, 100)
            write(folder, "trace.nothing", "write_null 20000 10000000\n")
            stats = "overrun: %d\ncommit overrun: 0\noldest event ts:    10.500\n" \
                    "now ts:    11.500\n"
            write(folder, "trace.stats", stats % 0)
            got = peersum.traced(folder, 100)
            write(folder, "trace.stats", stats % 1)
            self.assertRaises(ToolError, peersum.traced, folder, 100)
        # of each call 500 ns are the tracer's
        self.assertAlmostEqual(got["drive_ns_per_request"], 9750)
        self.assertAlmostEqual(got["scheduler_ns_per_request"], 2500)
        self.assertAlmostEqual(got["scheduler_cpu_pct"], 0.025)

    def test_scrub(self):
        """A scan's 500 blocks and a scrub's 400 are 500; what the drive read and verified. Seen to
        fail: their sum, 900."""
        with tempfile.TemporaryDirectory() as folder:
            guest_folder(folder)
            for name, blocks, read in ("snap.begin", 50, 100), ("snap.end", 450, 1100):
                text = peersum.read_text(os.path.join(folder, name)).replace(
                    "commands 5\n", "commands 5\nsectors_read %d\nsectors_verified %d\n" % (
                        read, read // 50))
                write(folder, name, text + "scrub_stats/blocks_delivered %d\n" % blocks)
            got = peersum.cell_figures(folder)
        self.assertAlmostEqual(got["bg_mb_s"], 0.2048)
        self.assertEqual((got["sectors_read"], got["sectors_verified"]), (1000, 20))


class EqualLatency(unittest.TestCase):
    """Seen to fail: interpolation from a point that does not keep to the limit."""

    def test_interpolated(self):
        points = [(40, 0), (50, 1), (60, 3), (70, 2)]
        # Of those at 55, the line from (40, 0) to (60, 3) is above that from (50, 1)
        self.assertEqual(peers.at_equal_latency(points, 55), (1, 2.25))
        self.assertEqual(peers.at_equal_latency(points, 100), (3, 3))
        self.assertEqual(peers.at_equal_latency(points, 39), (None, None))

    def test_compare(self):
        rows = [row("freeblock", "none", 50, 0), row("freeblock", "scan", 55, 6),
                row("bfq", "none", 40, 0), row("bfq", "reader", 50, 1),
                row("bfq", "reader", 60, 3), row("none", "none", 56, 0)]
        got = peers.compare(rows)
        self.assertEqual(got["best_peer"], "bfq")
        self.assertAlmostEqual(got["ratio"], 6 / 2.25)
        self.assertEqual(got["peers"]["bfq"]["measured_mb_s"], 1)
        self.assertEqual(got["peers"]["bfq"]["setting"], "reader 1")
        self.assertIsNone(got["peers"]["none"]["interpolated_mb_s"])
        self.assertIsNone(peers.compare(rows[2:]))


class Seeds(unittest.TestCase):
    """Seen to fail: the first seed's rows compared; a standard deviation for the error."""

    def test_means(self):
        """Of 1 and 3, 2, with a standard error of 1; what not every row has is in none."""
        rows = [row("freeblock", "scan", 50, 1, parts_mb_s=[1, 2], seed=1, reads_p50_ms=5,
                    scan_said="on"),
                row("none", "none", 50, 0),
                row("freeblock", "scan", 54, 3, setting="scan 1", parts_mb_s=[3, 4], seed=2)]
        scan, none = peers.means(rows)
        self.assertEqual((scan["seeds"], scan["reads_p99_ms"], scan["reads_p99_ms_se"]),
                         ([1, 2], 52, 2))
        self.assertEqual((scan["bg_mb_s"], scan["bg_mb_s_se"], scan["parts_mb_s"]), (2, 1, [2, 3]))
        self.assertFalse({"seed", "reads_p50_ms", "reads_p50_ms_se", "scan_said"} & set(scan))
        self.assertIs(none, rows[1])
        got = peers.summarize(rows)
        self.assertEqual((got["rows"], got["comparisons"][0]["reads_p99_ms"]), (rows, 52))
        self.assertIsNotNone(got["comparisons"][0]["peers"]["none"]["interpolated_mb_s"])


class Verdicts(unittest.TestCase):
    """Seen to fail: a bound compared the wrong way round."""

    def judged(self, rows):
        return {v["name"].partition(": ")[2]: v["good"]
                for v in peers.summarize(rows)["verdicts"]}

    def test_random(self):
        rows = [row("freeblock", "none", 50, 0), row("freeblock", "scan", 52.1, 1.9),
                row("mq-deadline", "none", 50, 0),
                row("mq-deadline", "reader", 52, 1), row("none", "none", 50.6, 0)]
        got = self.judged(rows)
        self.assertFalse(got["p99 with scan against without"])
        self.assertTrue(got["p99 with scan against none's alone"])
        self.assertFalse(got["background at equal p99 against mq-deadline"])
        rows[0].update(reads_p99_ms=51)
        rows[1].update(bg_mb_s=2.1)
        self.assertTrue(all(self.judged(rows).values()))


class Cells(unittest.TestCase):
    """Which cells there are, what the guest is told, when one is measured anew.

    Seen to fail: the scheduler's module in each key; attributes not in the key."""

    sums = {"all": "a", "freeblock": "b"}

    def cell(self, setting, **more):
        args = {"drive": "atlas10k", "load": "closed", "seconds": 30, "seed": 1, **more}
        return peers.Cell(args["drive"], args["load"], setting, args["seconds"], args["seed"])

    def test_keys(self):
        bfq = self.cell(peers.Setting("bfq"))
        ours = self.cell(peers.Setting("freeblock", "scan"))
        other = {"all": "a", "freeblock": "c"}
        self.assertEqual(bfq.key(self.sums), bfq.key(other))
        self.assertNotEqual(ours.key(self.sums), ours.key(other))
        different = {c.key(self.sums) for c in (
            bfq, ours, self.cell(peers.Setting("bfq"), seed=2),
            self.cell(peers.Setting("bfq"), seconds=31),
            self.cell(peers.Setting("bfq"), load="low"),
            self.cell(peers.Setting("bfq"), drive="nearline16"),
            self.cell(peers.Setting("bfq", "alone low_latency=0")),
            self.cell(peers.Setting("bfq", "alone queue_depth=1")),
            self.cell(peers.Setting("bfq", "idle 1m/16ms")))}
        self.assertEqual(len(different), 9)

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
