# SPDX-License-Identifier: GPL-2.0
"""The tuning tool: service, policy, statistics and search against traces done by hand;
what it writes and refuses. Takes some seconds."""

import contextlib
import io
import json
import os
import stat
import tempfile
import time
import types
import unittest
from unittest import mock

import numpy as np

import taptest
from freeblock import ToolError, cli, fbstate, tracefile
from freeblock.commands.tune import Goals
from freeblock.formats import fbmodel
from freeblock.tracefile import make_chunk
from freeblock.tuning import intervals, policy, record, search, service, stats

MS = 10 ** 6
KERNEL = "sys/kernel/freeblock/sda/"
# 10 ms and 0 per KiB: a request of any size takes 10 ms
TEN = service.constants("10000+0*KiB")


def trace_of(idle_ms, requests):
    """A trace of these intervals, 1 s long."""
    return types.SimpleNamespace(
        idle_ns=np.array([int(ms * MS) for ms in idle_ms], np.int64),
        counts=np.array(requests, np.int64), requests=sum(requests), duration_ns=10 ** 9,
        modelled=0)


class Policies(unittest.TestCase):
    """Idle 25, 4, 3, 33 ms; 2, 3, 1, 5 requests behind each; requests of the scrubber
    take 10 ms, 100 KiB each.

    Seen to fail: shifts that do not go on to the next period, or do not shorten the
    idle time, or count for the first request alone; waiting time used."""

    def check(self, wait_ms, fired, used_ms, requests, delayed, slowdown_ms, worst_ms):
        """One threshold's figures."""
        got = types.SimpleNamespace(**policy.waiting(
            trace_of((25, 4, 3, 33), (2, 3, 1, 5)), TEN, 100, wait_ms * MS))
        self.assertEqual(got.fired, fired)
        self.assertAlmostEqual(got.idle_used, used_ms / 65)
        self.assertAlmostEqual(got.mb_s, requests * 100 * 1024 / 1e6)
        self.assertEqual(got.delayed, delayed)
        self.assertAlmostEqual(got.mean_slowdown_us, slowdown_ms * 1000 / 11)
        self.assertAlmostEqual(got.max_slowdown_us, worst_ms * 1000)

    def test_waiting(self):
        """After 6 ms: in the first interval 19 ms are left, two requests, the second ends
        1 ms late: 2 requests by 1 ms; the 4 ms absorb it. In the last 27 ms, three
        requests, 3 ms late: 5 requests."""
        self.check(6, 2, 46, 5, 7, 2 * 1 + 5 * 3, 3)

    def test_knock_on(self):
        """After 2 ms: 23 ms, three requests, 7 ms late (2 requests); the 4 ms are gone, 3 ms
        late (3 requests); the 3 ms are gone, too, 0 left; 31 ms, four requests, 9 ms
        late (5 requests)."""
        self.check(2, 2, 54, 7, 10, 2 * 7 + 3 * 3 + 5 * 9, 9)

    def test_first_and_next(self):
        """The first request takes as long as one anywhere, each other what continues it does: 4
        ms, then 1 ms each; of 6.5 ms the fourth is left with half."""
        drive = types.SimpleNamespace(first=lambda kib: 4 * MS, next=lambda kib: MS)
        got = policy.waiting(trace_of((6.5,), (1,)), drive, 1, 0)
        self.assertAlmostEqual(got["mb_s"], 4 * 1024 / 1e6)
        self.assertAlmostEqual(got["max_slowdown_us"], 500)

MODEL = b"""fbmodel 1
vendor X
product Y
sectors 20000
cylinders 100
heads 2
head_order plain
period_ps 10000000000
head_switch_ns 1
write_settle_ns 0
zero_latency no
read_overhead_ns 100000
read_report_ns 100000
seek 1 1000000
seek 99 99000000
zone 0 99 spt 100 angle 0 track_skew 0.1 cyl_skew 0.2 dead 0 spares 0
"""


class Services(unittest.TestCase):
    """Of a drive's model, and of constants."""

    def model(self, text):
        """The service of a model's text."""
        with tempfile.NamedTemporaryFile(suffix=".fbmodel") as file:
            file.write(text)
            file.flush()
            return service.Model(file.name)

    def test_model(self):
        """10 ms a turn; 2.3 turns for a cylinder of 200 sectors: 0.23 ms a KiB; 0.2 ms of
        overhead cost a turn; seeks are 1 ms a cylinder, on the mean 33."""
        got = self.model(fbmodel.seal(MODEL))
        self.assertEqual(got.next(100), 33 * MS)
        self.assertAlmostEqual(got.first(100) / MS, 0.2 + 33 + 5 + 23, delta=0.6)

    def test_constants(self):
        """Microseconds."""
        self.assertEqual(service.constants("8500+5.2*KiB").next(100), 8500000 + 520000)
        for text in ("", "5", "a+b", "0+0*KiB", "1+999999999*KiB", "-1+2"):
            with self.assertRaisesRegex(ToolError, "--service"):
                service.constants(text)


class Intervals(unittest.TestCase):
    """From requests to idle intervals."""

    def check(self, times_ms, responses_ms, want):
        """The intervals of these requests, in pieces of any size."""
        for size in (1, 2, 3, 100):
            with self.subTest(size=size):
                chunks = []
                for place in range(0, len(times_ms), size):
                    time_ns = np.array(times_ms[place:place + size]) * MS
                    count = len(time_ns)
                    response = np.array(responses_ms[place:place + size]) * MS
                    chunks.append(make_chunk(time_ns, [8] * count, [8] * count, [False] * count,
                                             np.maximum(response, -1)))
                got = intervals.Intervals(chunks, TEN)
                self.assertEqual(list(zip(got.idle_ns // MS, got.counts)), want)
                yield got

    def test_responses(self):
        """0 to 5, 3 to 7, 10 to 11, 12 to 22 with 15 to 17 inside, 30 to 31.

        Seen to fail: the last request's end taken for the last end."""
        for got in self.check((0, 3, 10, 12, 15, 30), (5, 4, 1, 10, 2, 1),
                              [(3, 1), (1, 2), (8, 1)]):
            self.assertEqual((got.requests, got.duration_ns), (6, 31 * MS))

    def test_no_responses(self):
        """10 ms each, one after the other: 0 to 10, to 20; 25 to 35, to 45; 60 to 70."""
        for got in self.check((0, 3, 25, 26, 60), (-1,) * 5, [(5, 2), (15, 1)]):
            self.assertEqual((got.modelled, got.duration_ns), (5, 70 * MS))


class Statistics(unittest.TestCase):
    """The section V.A of 1, 2, 3, 4 and 90 s."""

    def test_summary(self):
        """Mean 20, variance (19^2 + 18^2 + 17^2 + 16^2 + 70^2) / 4; the longest tenth of
        the intervals is half of the 90 s."""
        got = stats.summary(trace_of((3000, 90000, 1000, 4000, 2000), (1,) * 5))
        self.assertAlmostEqual(got["mean_s"], 20)
        self.assertAlmostEqual(got["variance_s2"], 1532.5)
        self.assertAlmostEqual(got["cov"], 1532.5 ** 0.5 / 20)
        for one, want in zip(got["longest"], (0.045, 0.225, 0.45, 0.675, 0.9, 0.955)):
            self.assertAlmostEqual(one["idle_time"], want)

    def test_remaining(self):
        """After 2.5 s: 3, 4 and 90 are left; after 100 s none.

        Seen to fail: the waiting time not taken off."""
        ordered = np.array([1, 2, 3, 4, 90]) * 1e9
        got = stats.remaining(ordered, 2.5)
        self.assertAlmostEqual(got["expected_s"], 97 / 3 - 2.5)
        self.assertAlmostEqual(got["percentile_1_s"], 0.5)
        self.assertAlmostEqual(got["usable"], (97 - 7.5) / 100)
        self.assertAlmostEqual(got["longer"], 0.6)
        self.assertIsNone(stats.remaining(ordered, 100)["expected_s"])


class Search(unittest.TestCase):
    """The shortest threshold and the best size."""

    GOALS = Goals(200, 50000)
    SERVICE = service.constants("8000+10*KiB")

    def setUp(self):
        random = np.random.default_rng(11)
        self.trace = trace_of(1000 * random.pareto(1.2, 3000) + 0.01,
                              random.integers(1, 5, 3000).tolist())

    def test_thresholds(self):
        """It keeps the goals, as all longer ones do, and the next shorter does not.

        (A much shorter one may: shifts can make the scrubber fire less.)
        Seen to fail: the search goes up by three."""
        kibs = (64, 1024, 4000)
        rows = search.fixed_sizes(self.trace, self.SERVICE, self.GOALS, kibs)
        self.assertEqual([one["size_kib"] for one in rows], list(kibs))
        for one in rows:
            every = [policy.waiting(self.trace, self.SERVICE, one["size_kib"], int(wait) * 1000)
                     for wait in search.THRESHOLDS_US]
            good = [search.within(result, self.GOALS) for result in every]
            place = list(search.THRESHOLDS_US).index(one["wait_us"])
            self.assertTrue(all(good[place:]))
            self.assertGreater(place, 0)
            self.assertFalse(good[place - 1])
            self.assertAlmostEqual(one["mb_s"], every[place]["mb_s"])
        self.assertEqual(search.best_of(rows)["mb_s"], max(one["mb_s"] for one in rows))

    def test_maximum(self):
        """Sizes that alone take longer than the maximum are left out: 8 + 42 ms.

        Seen to fail: sizes not left out."""
        rows = search.fixed_sizes(self.trace, self.SERVICE, self.GOALS, (64, 4200, 4201))
        self.assertEqual([one["size_kib"] for one in rows], [64, 4200])


def tune(*words):
    """The command's status, output and errors."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["tune", *words])
    return status, out.getvalue(), err.getvalue()


class Command(unittest.TestCase):
    """The command line, with three requests a minute apart and a fourth 9 ms after."""

    TRACE = "".join("%d,h,0,Read,0,4096,50000\n" % (10 ** 7 * 60 * n) for n in range(3)) + \
        "1200090000,h,0,Read,0,4096,50000\n"
    SERVICE = ("--service", "10000+10*KiB")

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.trace = self.put("trace", self.TRACE)

    def put(self, name, text):
        """A file's path."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_nothing(self):
        """Goals that nothing keeps are said so, and nothing is applied."""
        status, out, _ = tune(self.trace, *self.SERVICE, "--max-slowdown", "10")
        self.assertEqual(status, 0)
        self.assertIn("nothing satisfies mean slowdown 1 ms, maximum 10 ms: no request size ends",
                      out)
        self.disk()
        with mock.patch.object(fbstate, "ROOT", self.folder):
            status, _, err = tune(self.trace, *self.SERVICE, "--max-slowdown", "10", "--apply",
                                  "sda")
        self.assertEqual(status, 1)
        self.assertIn("nothing to apply", err)

    def test_folder(self):
        """Each trace is a line; a bad one is told and counts in the status, as a word that is wrong
        does."""
        self.put("other", self.TRACE.replace("60", "61"))
        bad = self.put("bad", self.TRACE + "x\n")
        status, out, err = tune(self.folder, *self.SERVICE, "--json", "--jobs", "2")
        self.assertEqual(status, 2)
        self.assertEqual({os.path.basename(json.loads(line)["trace"])
                          for line in out.splitlines()}, {"trace", "other"})
        self.assertIn("%s: line 5: " % bad, err)
        self.assertEqual(len(err.splitlines()), 1)

    def disk(self):
        """One that the module serves: its two files."""
        self.put("sys/class/block/sda/size", "50129\n")
        self.put("sys/block/sda/queue/scheduler", "none mq-deadline [freeblock]\n")
        return self.put(KERNEL + "idle_wait_us", "77 (auto)\n"), \
            self.put(KERNEL + "idle_size_kib", "auto\n")

    def apply(self):
        """--apply, of a disk of files."""
        with mock.patch.object(fbstate, "ROOT", self.folder):
            return tune(self.trace, *self.SERVICE, "--json", "--apply", "sda")

    def test_apply(self):
        """Both files are written; a missing module, a disk of another scheduler, a file that
        refuses are told. Seen to fail: the first file not put back."""
        self.put("sys/class/block/sda/size", "50129\n")
        self.put("sys/block/sda/queue/scheduler", "[mq-deadline] freeblock\n")
        status, _, err = self.apply()
        self.assertEqual((status, "module freeblock is not loaded" in err), (1, True))
        os.makedirs(os.path.join(self.folder, "sys/kernel/freeblock"))
        status, _, err = self.apply()
        self.assertEqual((status, "sda does not have the scheduler freeblock" in err), (1, True))
        files = self.disk()
        status, out, err = self.apply()
        best = json.loads(out)["best"]
        self.assertEqual(status, 0, err)
        self.assertEqual(self.said(files), [str(best["wait_us"]), str(best["size_kib"])])
        self.disk()
        really = fbstate.Disk.write

        def refuse(disk, name, text):
            if name == "idle_size_kib":
                raise ToolError("idle_size_kib: refused")
            really(disk, name, text)

        with mock.patch.object(fbstate.Disk, "write", refuse):
            status, _, err = self.apply()
        self.assertEqual((status, self.said(files)), (1, ["77", "auto"]))
        self.assertIn("idle_size_kib: refused", err)

    @staticmethod
    def said(files):
        """What is in files."""
        found = []
        for path in files:
            with open(path, encoding="ascii") as file:
                found.append(file.read().strip())
        return found

    def test_bad_words(self):
        """Options that make no sense end with a line that says why."""
        for words, reason in (((), "specify TRACE or --record"),
                              ((self.trace, "--jobs", "0"), "--jobs"),
                              ((self.trace, "--mean-slowdown", "0"), "--mean-slowdown"),
                              ((self.trace, "--max-slowdown", "nan"), "--max-slowdown"),
                              ((self.trace, "--sizes", "64,x"), "--sizes"),
                              ((self.trace, "--model", "none"), "no model none"),
                              ((self.trace, "--model", "a", "--service", "1+1"),
                               "only one of --model, --service"),
                              ((self.folder + "/nothing",), "No such file"),
                              ((self.trace, "--apply", "sda"), "--apply needs .*--model")):
            with self.subTest(words=words):
                status, out, err = tune(*words)
                self.assertEqual((status, out), (taptest.status_of(err), ""))
                self.assertRegex(err, r"\Afreeblock: .*%s.*\n\Z" % reason)
        self.assertEqual(open(self.trace, encoding="ascii").read(), self.TRACE)


EVENTS = """     fio-812     [001] d..1.   100.000010: block_rq_issue: 8,0 R 4096 () 2048 + 8 [fio]
          <idle>-0       [000] d.h1.   100.005010: block_rq_complete: 8,0 R () 2048 + 8 [0]
     kworker/1:1-33      [001] d..1.   100.006000: block_rq_issue: 8,0 FF 0 () 0 + 0 [kworker/1:1]
"""


class Record(unittest.TestCase):
    """Recordings."""

    def test_events(self):
        """What the events say can be read."""
        ends = os.pipe()
        with os.fdopen(ends[0], "rb", buffering=0) as pipe, os.fdopen(ends[1], "wb") as writer, \
                tempfile.NamedTemporaryFile() as file:
            writer.write(EVENTS.encode("ascii"))
            writer.flush()
            record.copy_events(pipe, file, time.monotonic() + 0.2)
            file.flush()
            (chunk,) = tracefile.read(file.name)
        self.assertEqual([column.tolist() for column in chunk],
                         [[100000010000], [2048], [8], [False], [5000000]])

    def test_refused(self):
        """Not root; no disk; a partition; no whole seconds; nowhere to put it."""
        with mock.patch("os.geteuid", return_value=1000), \
                mock.patch.object(record, "device_of", return_value=("/dev/null", 8, 0)):
            self.assertIn("only root", tune("--record", "5", os.devnull, "-o", "x")[2])
        with mock.patch("os.geteuid", return_value=0):
            self.assertIn("not a block device", tune("--record", "5", os.devnull, "-o", "x")[2])
            self.assertIn("no such block device", tune("--record", "5", "/dev/none", "-o", "x")[2])
            self.assertIn("whole seconds", tune("--record", "5x", os.devnull, "-o", "x")[2])
            disk = types.SimpleNamespace(st_mode=stat.S_IFBLK, st_rdev=os.makedev(8, 1))
            with mock.patch("os.stat", return_value=disk), \
                    mock.patch("os.path.exists", return_value=True):
                self.assertRaisesRegex(ToolError, "is a partition", record.device_of, "sda1")
