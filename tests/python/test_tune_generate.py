#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Synthetic traces: the paper's table II and what V.A says of its traces; and on them what
its V.B says of the policies. Takes some 20 s."""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402
import taptest  # noqa: E402

sys.path.insert(0, os.path.join(taptest.TOP, "tools", "python"))

from freeblock import ToolError, cli  # noqa: E402
from freeblock.tuning import compare, generate, intervals, policy, service, stats  # noqa: E402

TICK_NS = 100
# Table I's disks but those of TPC-C: memoryless, for which no policy can tell
# intervals from each other
DISKS = [name for name, profile in generate.PROFILES.items() if not profile.memoryless]
# Whole days: all times of day alike
DAYS = 1
SERVICE = service.constants("8400+5*KiB")


def spool_of(trace):
    """A trace's idle intervals, without its requests."""
    spool = intervals.Spool()
    spool.write(trace.idle * TICK_NS, trace.counts)
    spool.requests = int(trace.counts.sum())
    spool.first_ns = 0
    spool.end_ns = spool.idle_ns + int(spool.requests * generate.SERVICE_S * 1e9)
    return spool.finish()


@functools.lru_cache(maxsize=None)
def trace_of(name):
    """A disk's trace of one day."""
    return generate.Trace(name, DAYS)


class Table(unittest.TestCase):
    """Table II: to 3 %, for the longest intervals meet their time of day by chance."""

    def test_figures(self):
        """Mean, variance and coefficient of variation of each disk.

        Seen to fail: what the time of day changes not corrected."""
        for name in generate.PROFILES:
            row = generate.compared_of(trace_of(name))
            for what, part in (("mean_s", 0.03), ("cov", 0.03), ("variance_s2", 0.1)):
                with self.subTest(disk=name, what=what):
                    want = row["paper_" + what]
                    self.assertAlmostEqual(row[what], want, delta=part * want)

    def test_too_short(self):
        """Where a trace is too short for its variance, that is said."""
        with self.assertRaisesRegex(ToolError, "too few"):
            generate.Trace("proj2", 0.002)


class Behaviour(unittest.TestCase):
    """V.A and V.B on each disk but TPC-C's."""

    def test_tails(self):
        """More than 80 % of the idle time in less than 15 % of the intervals, less than 10 % of
        which last 100 ms, after which more than 60 % is left; the expected remaining
        time rises with the time idle, which it would not with an exponential distribution.

        Seen to fail: such a distribution."""
        for name in DISKS:
            with self.subTest(disk=name), spool_of(trace_of(name)) as spool:
                lengths = stats.lengths_of(spool)
                self.assertGreater(lengths.share_of_longest(0.15), 0.8)
                self.assertLess(lengths.above(1e8)[0] / lengths.count, 0.1)
                self.assertGreater(lengths.usable(1e8), 0.6)
                expected = [lengths.expected_remaining(wait * 1e9)
                            for wait in (0, 1e-3, 1e-2, 0.1, 1)]
                self.assertEqual(expected, sorted(expected))
                self.assertGreater(expected[-1], 3 * expected[0])

    def test_policies(self):
        """At the same collision rate: Lossless Waiting uses 95 % of Oracle's idle time or more,
        Waiting more than AR everywhere. Of proj2, whose variance is in a few intervals,
        Akaike's criterion leaves AR nothing to predict with: it never fires.

        Seen to fail: Lossless Waiting that waits; AR that is told the length."""
        for name in DISKS:
            with self.subTest(disk=name), spool_of(trace_of(name)) as spool:
                lengths, moments = stats.lengths_of(spool), stats.Moments(spool)
                found, model = compare.curves(spool, lengths, moments, policy.fixed(SERVICE, 64))
                verdict = compare.verdict(found)
                self.assertGreater(verdict["lossless_of_oracle"], 0.95)
                if model.order:
                    self.assertGreater(verdict["waiting_ahead_of_ar"], 0)
                else:
                    self.assertEqual(name, "proj2")


class Period(unittest.TestCase):
    """A day's period."""

    def test_day(self):
        """ANOVA finds 24 h in four days. Seen to fail: no change over the day."""
        with intervals.Spool() as spool:
            first = None
            for arrivals, responses, _, _, _ in generate.Trace("c6t8d0", 4).requests():
                first = arrivals[0] if first is None else first
                spool.first_ns = 0
                spool.add_hours(intervals.tracefile.make_chunk(
                    (arrivals - first) * TICK_NS, arrivals, arrivals, arrivals, responses))
            self.assertEqual(stats.periodicity(spool.by_hour)["period_h"], 24)


class Files(unittest.TestCase):
    """The CSV that the command writes says what was made."""

    def test_written(self):
        """Read again, packed or not: the same intervals, to the tick.

        Seen to fail: responses that reach into the idle interval."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.csv", "a.csv.gz", "a.csv.xz"):
                path = os.path.join(folder, name)
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    self.assertEqual(0, cli.main(["tune", "--generate", "c6t5d0", "--days", "0.02",
                                                  "--seed", "5", "-o", path]))
                    self.assertEqual(0, cli.main(["tune", "--stats", "--json", path]))
                got = json.loads(out.getvalue().splitlines()[-1])["statistics"]
                trace = generate.Trace("c6t5d0", 0.02, 5)
                # the interval before the first request is not in the trace
                self.assertEqual(got["intervals"], len(trace.idle) - 1)
                self.assertEqual(got["requests"], trace.counts.sum())
                self.assertAlmostEqual(got["mean_s"], trace.idle[1:].mean() * 1e-7, places=9)

    def test_whole(self):
        """A trace that is not written to its end leaves what was there, a link included, and
        nothing beside it. Seen to fail: the beginning of the new one, in place; mode 0644."""
        class Full(Exception):
            """In the midst of it."""

        def requests(_):
            yield tuple(np.zeros(3, int) for _ in range(5))
            raise Full

        trace = generate.Trace("c6t5d0", 0.02, 5)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.csv", "a.csv.gz", "a.csv.xz"):
                path, link = os.path.join(folder, name), os.path.join(folder, "link-" + name)
                os.symlink(name, link)
                with open(path, "w", encoding="ascii") as file:
                    file.write("old")
                with mock.patch.object(generate.Trace, "requests", requests):
                    self.assertRaises(Full, trace.write, link)
                with open(path, encoding="ascii") as file:
                    self.assertEqual(file.read(), "old")
                os.chmod(path, 0o640)
                trace.write(link)
                self.assertTrue(os.path.islink(link) and os.path.getsize(path) > 100)
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
            self.assertEqual(len(os.listdir(folder)), 6)

    def test_elsewhere(self):
        """Into what is no file, a pipe, it is written as it comes. Seen to fail: a file in the
        pipe's place."""
        trace = generate.Trace("c6t5d0", 0.02, 5)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as came:
            path = os.path.join(folder, "pipe")
            os.mkfifo(path)
            with subprocess.Popen(["cat", path], stdout=came) as reader:
                trace.write(path)
                self.assertEqual(reader.wait(60), 0)
            came.seek(0)
            self.assertEqual(came.read().count(b"\n"), trace.counts.sum())
            self.assertEqual(os.listdir(folder), ["pipe"])

    def test_descriptor(self):
        """/dev/stdout that is a pipe, as >(program) of bash, has no path to go to. Seen to fail:
        "/proc/1/fd/pipe:[2]: No such file or directory"."""
        trace = generate.Trace("c6t5d0", 0.02, 5)
        with subprocess.Popen(["wc", "-l"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as reader:
            trace.write("/dev/fd/%d" % reader.stdin.fileno())
            self.assertEqual(int(reader.communicate()[0]), trace.counts.sum())


if __name__ == "__main__":
    taptest.main()
