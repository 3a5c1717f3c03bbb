# SPDX-License-Identifier: GPL-2.0
"""mechdisk-host queue: the order in which each policy serves small queues made by hand, the
closed mode and what it refuses.

The drive: 60 sectors of 0.1 ms on a turn of 6 ms, one surface, no skews (LBN n starts at angle
n/60 of its cylinder n // 60), each seek 1 ms. One request goes to cylinder 50 at once; the
others come while it is served.

Seen to fail: SSTF by LBN; SPTF without the overhead; a closed request that comes at its time
though the one before is still served.
"""

import os
import subprocess
import tempfile
import unittest

from bench import replay

DRIVE = """fbdrive 1
period_ps 6000000000
heads 1
noise off
jitter_ns 0
zone 0 99 60 0 0 0 0
seek 1 1000000
seek 99 1000000
"""
MS = 1000000


def at(cylinder, sector, ns=1, count=1, op="R"):
    """A line of input."""
    return "%s %d %d %d" % (op, 60 * cylinder + sector, count, ns)


class Queue(unittest.TestCase):
    """All of it."""

    @classmethod
    def setUpClass(cls):
        replay.build_host()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.drive = os.path.join(cls.folder.name, "drive")
        with open(cls.drive, "w", encoding="ascii") as file:
            file.write(DRIVE)

    def run_host(self, lines, *options, subcommand="queue"):
        """Exit status, output and errors."""
        done = subprocess.run([replay.HOST, subcommand, self.drive, *options], text=True,
                              input="".join(line + "\n" for line in lines), capture_output=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def details(self, lines, *options):
        """[(number, arrival, start, end)] in the order of service."""
        status, out, err = self.run_host(lines, "--details", *options)
        self.assertEqual((status, err), (0, ""))
        rows = [line.split() for line in out.splitlines()]
        return [tuple(map(int, row)) for row in rows]

    def order(self, lines, *options):
        """The requests' numbers in the order of service, without the first."""
        return [row[0] for row in self.details(lines, *options)][1:]

    def test_order(self):
        """By arm position, for each policy."""
        lines = [at(50, 0, 0), at(60, 30), at(45, 30), at(90, 0), at(10, 0), at(60, 10)]
        for policy, order in (("fcfs", [2, 3, 4, 5, 6]), ("look", [6, 2, 4, 3, 5]),
                              ("clook", [6, 2, 4, 5, 3]), ("sstf", [3, 6, 2, 4, 5])):
            with self.subTest(policy=policy):
                self.assertEqual(self.order(lines, "--policy", policy), order)

    def test_sptf(self):
        """After LBN 0 of its cylinder the angle is 1/60, a seek takes 10 sectors: sector 5
        of the same track waits 4; then, from 6, sector 40 waits 24, 9 waits 53, 12 waits 56;
        then, from 41, 9 waits 18, 12 waits 21. An overhead of 0.5 ms lets sector 5 slip by."""
        lines = [at(50, 0, 0), at(60, 40), at(51, 9), at(0, 12), at(50, 5)]
        self.assertEqual(self.order(lines, "--policy", "sptf"), [5, 2, 3, 4])
        self.assertEqual(self.order(lines, "--policy", "sptf", "--set",
                                    "command_overhead_ns 500000 0")[0], 2)
        rows = self.details(lines, "--policy", "sptf")
        self.assertEqual([end - start for _, _, start, end in rows][1:],
                         [5 * MS // 10, 35 * MS // 10, 29 * MS // 10, 63 * MS // 10])

    def test_closed(self):
        """Each comes its time after the one before came, but not before that has ended."""
        rows = self.details([at(50, 0, 0), at(50, 30, 100), at(50, 0, 20 * MS)], "--closed")
        (_, _, _, end), (_, second, _, second_end), (_, third, *_) = rows
        self.assertEqual(second, end)
        self.assertLess(second_end, third)
        self.assertEqual(third, second + 20 * MS)
        self.assertTrue(all(row[1] == row[2] for row in rows))

    def test_refused(self):
        """Bad input, with its line and reason."""
        for lines, options, reason in (
                ([at(0, 0, 5), at(0, 0, 4)], (), "line 2: arrives before the one before it"),
                ([at(0, 0), "X 0 1 0"], (), "line 2: does not begin with R, W or V"),
                ([at(0, 0), "R 0 1"], (), "line 2: not R|W|V LBN COUNT and a time in ns"),
                (["R 0 0 0"], (), "line 1: no sectors"),
                (["R 0 4294967296 0"], (), "line 1: more than 4294967295 sectors"),
                (["R 5999 2 0"], (), "line 1: beyond the drive's last LBN"),
                ([], (), "0 requests: none to count"),
                ([at(0, 0)], ("--skip", "1"), "1 requests: none to count"),
                ([at(0, 0)], ("--policy", "elevator"), "elevator: no such policy"),
                ([at(0, 0, 0)] * 20000, (), "they come faster than the drive serves them")):
            with self.subTest(reason=reason):
                status, out, err = self.run_host(lines, *options)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(reason, err)
        status, _, err = self.run_host([], "--policy", "look", subcommand="loop")
        self.assertEqual(status, 1)
        self.assertIn("queue has it", err)
