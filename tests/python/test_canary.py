# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock canary on a machine of files: what ends it, what it leaves."""

import json
import os
import shutil
from unittest import mock

import fakedisk
import taptest
from fakemachine import Case
from freeblock.commands import canary
from freeblock.machine import kernel

DEBUG = fakedisk.DEBUG + "sda/"
STATE = fakedisk.KERNEL + "sda/state/"
TRIAL = """on 1
limit_us 1000
limit_ppm 10000
read %d %d 10000000 40000 4000 1
write 0 1000 5000000 0 100 1
slow %d 500000 10000000 0 4000 1
all 0 0 0 0 0 0
"""


class Canary(Case):
    """An enabled disk; each look is a minute later."""

    def setUp(self):
        super().setUp()
        self.do("enable", "/dev/sda")
        self.clock, self.leases, self.active = 1e6, [], set()
        self.refuses, self.least = False, 99
        self.events = {}                # minute -> what happens then
        self.look(400000, 100000, 0)
        for file, value in (("ioerr_cnt", "0x3"), ("iotmo_cnt", "0x0")):
            self.machine.write("sys/block/sda/device/" + file, value + "\n")
        for patch in (mock.patch.object(canary.time, "sleep", self.sleep),
                      mock.patch.object(canary.time, "time", lambda: self.clock),
                      mock.patch.object(kernel, "command", self.command)):
            self.enterContext(patch)

    def look(self, added_ns, error_ns, slow, words="free reads add 0.40 +- 0.10 ms (4.0 %) to a "
                                                   "read"):
        """What the module knows from now on."""
        self.machine.write(DEBUG + "trial", TRIAL % (added_ns, error_ns, slow))
        self.machine.write(STATE + "cost", words + "\n")

    def sleep(self, seconds):
        """Time passes."""
        self.clock += seconds
        self.events.pop(round((self.clock - 1e6) / 60), lambda: None)()

    def command(self, words, text=""):
        """systemd's timers are noted."""
        if words[0] == "systemd-run":
            if self.refuses:
                return 1, "refused"
            self.assertNotIn(words[4], self.active)
            self.leases.append(words)
            self.active.add(words[4])
        elif words[-1].startswith("freeblock-lease-sda"):
            self.active.discard(words[-1].removesuffix(".timer"))
        else:
            return self.machine.command(words, text)
        # whenever the command dies
        self.least = min(self.least, len(self.active)) if self.leases else self.least
        return 0, ""

    def canary(self, *words):
        """(exit status, the result, scheduler afterwards)"""
        status, out, err = taptest.freeblock("canary", "sda", "--json", "--quiet", *words)
        return (status, json.loads(out) if out else err,
                self.machine.read("sys/block/sda/queue/scheduler").strip())

    def test_well(self):
        """A day without anything; the disk keeps the scheduler."""
        status, found, scheduler = self.canary()
        self.assertEqual((status, found["breach"], found["undone"], scheduler),
                         (0, None, None, "freeblock"))
        self.assertEqual(self.clock, 1e6 + 86400)
        self.assertEqual((found["cost"]["added_ms"], found["read"]["ends"], found["errors"],
                          found["timeouts"]), (.4, 4000, 0, 0))
        self.look(0, 0, 0, "not known")
        self.assertEqual(self.canary("--days", "0.01")[0], 4)
        # what it looks at has gone; seen to fail: that was well
        self.look(400000, 100000, 0)
        self.clock, self.events = 1e6, {
            3: lambda: shutil.rmtree(os.path.join(self.machine.root, fakedisk.DEBUG))}
        status, found, _ = self.canary("--days", "0.01")
        self.assertEqual((status, found["read"], self.events), (4, None, {}))

    def test_latency(self):
        """Of the time of the canary alone. Seen to fail: all since the disk is known."""
        old = "1048576 5000 0 7\n"
        self.machine.write(DEBUG + "latency", old)
        self.events = {3: lambda: self.machine.write(
            DEBUG + "latency", old + "5242880 1980 0 200\n10485760 20 0 0\n")}
        status, found, _ = self.canary("--days", "0.01")
        self.assertEqual((status, found["latency"]["read"]), (
            0, {"n": 2000, "p50_ms": 4.724, "p99_ms": 5.243, "p999_ms": 10.276}))
        self.assertEqual((found["latency"]["write"]["p99_ms"], found["latency"]["fua"]["n"]),
                         (None, 200))
        self.machine.write(DEBUG + "latency", old)
        self.clock, self.events = 1e6, {3: lambda: self.machine.write(
            DEBUG + "latency", old + "5242880 500 0 20\n")}
        said = taptest.freeblock("canary", "sda", "--days", "0.01", "--quiet")[1]
        self.assertIn("  500 reads: 50 % within 4.7 ms, 99 % within 5.2 ms, 99.9 % within - ms\n",
                      said)
        self.assertIn("  20 FUA writes: 50 % within 4.7 ms, ", said)
        # as an older module has it
        self.machine.write(DEBUG + "latency", "1048576 5000 0\n")
        self.assertEqual(list(self.canary("--days", "0.01")[1]["latency"]), ["read", "write"])

    def test_breach(self):
        """Each that ends it, in its minute; the disk has its former scheduler then.

        Seen to fail: bounds without the error; errors since the boot; no way back; a counter that
        began again, taken from another."""
        def failed(count):
            self.machine.write("sys/block/sda/device/iotmo_cnt", "0x%x\n" % count)

        def comes_back():
            failed(33)
            self.machine.write("sys/block/sda/device/ioerr_cnt", "0x0\n")

        for event, ends in (
                (lambda: self.look(1299000, 100000, 0), None),
                (lambda: self.look(1301000, 100000, 0), "free reads add .*; 1.10 ms are allowed"),
                (lambda: self.look(0, 0, 10999999), None),
                (lambda: self.look(0, 0, 11000001), "1.10 % of reads have become slow, 1 % are"),
                (lambda: self.look(0, 0, 0, "not known; stopped at 5.10 +- 0.40 ms (30.1 %)"),
                 "has stopped background reads: stopped at 5.10"),
                (lambda: failed(10), None), (lambda: failed(21), "11 commands failed or timed"),
                (comes_back, "12 commands failed or timed")):
            self.clock, self.events = 1e6, {7: event}
            status, found, scheduler = self.canary("--days", "0.1")
            if ends is None:
                self.assertEqual((status, found["breach"], scheduler), (0, None, "freeblock"))
                continue
            self.assertRegex(found["breach"], ends)
            self.assertEqual((status, found["undone"], scheduler), (3, True, "mq-deadline"))
            self.assertEqual([path for path in self.tree() if "enabled" in path], [])
            self.do("enable", "/dev/sda")
            self.look(400000, 100000, 0)

    def test_percentiles(self):
        """Reads of the canary's time that were too slow end it; as many as may be, or a few of
        few, do not.

        Seen to fail: reads before it counted; a bucket that the limit divides counted; ten of ten
        reads counted for nothing."""
        old = "1048576 100 0 100\n20971520 5000 0 5000\n"
        for words, fast, slow, ends in (
                (("--max-p99", "10"), 9990, 110, None), (("--max-p99", "10"), 9870, 130, "130 of"),
                (("--max-p99", "30"), 9000, 1000, None), (("--max-p999", "10"), 99970, 30, None),
                (("--max-p999", "10"), 99870, 130, "130 of 100000 reads took longer than 10 ms, "
                 "within which 99.9 % have"), (("--max-p99", "19"), 9000, 1000, None),
                (("--max-p99", "10"), 0, 9, None), (("--max-p99", "10"), 0, 10, "10 of 10 "),
                (("--max-fua", "10"), 9990, 110, None),
                (("--max-fua", "10"), 9870, 130, "130 of 10000 FUA writes took longer than 10")):
            self.machine.write(DEBUG + "latency", old)
            kind = "%d 0 0" if words[0] != "--max-fua" else "0 0 %d"
            self.clock, self.events = 1e6, {7: lambda page="1048576 %s\n20971520 %s\n" % (
                kind, kind) % (100 + fast, 5000 + slow): self.machine.write(
                    DEBUG + "latency", page)}
            status, found, scheduler = self.canary("--days", "0.1", *words)
            self.assertEqual((status, scheduler), (3, "mq-deadline") if ends else
                             (0, "freeblock"), (words, fast, slow))
            if ends:
                self.assertRegex(found["breach"], ends)
                self.do("enable", "/dev/sda")
                self.look(400000, 100000, 0)

    def test_flushes(self):
        """Those of the canary's time, as the kernel counts them, end it if they took too long.

        Seen to fail: all since the boot; the mean of ten for nothing."""
        stat = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d %d\n"
        for words, n, each_ms, ends in (
                ((), 100, 900, None), (("--max-flush", "20"), 100, 20, None),
                (("--max-flush", "20"), 9, 900, None),
                (("--max-flush", "20"), 10, 21, "10 flushes took 21 ms on the mean, 20 are")):
            self.machine.write("sys/block/sda/stat", stat % (5000, 500000))
            self.clock, self.events = 1e6, {7: lambda n=n, each_ms=each_ms: self.machine.write(
                "sys/block/sda/stat", stat % (5000 + n, 500000 + n * each_ms))}
            status, found, _ = self.canary("--days", "0.1", *words)
            self.assertEqual(found["flush"], {"n": n, "mean_ms": each_ms})
            self.assertEqual(status, 3 if ends else 0)
            if ends:
                self.assertRegex(found["breach"], ends)
                self.do("enable", "/dev/sda")
        # the disk went and came back: its counters began again
        self.clock, self.events = 1e6, {7: lambda: self.machine.write(
            "sys/block/sda/stat", stat % (20, 100))}
        self.assertEqual(self.canary("--days", "0.1")[1]["flush"], {"n": 20, "mean_ms": 5})
        self.clock, self.events = 1e6, {7: lambda: self.machine.write(
            "sys/block/sda/stat", stat % (30, 200))}
        self.assertIn("  10 flushes: 10.0 ms on the mean\n",
                      taptest.freeblock("canary", "sda", "--days", "0.01", "--quiet")[1])
        os.unlink(os.path.join(self.machine.root, "sys/block/sda/stat"))
        self.assertEqual(self.canary("--days", "0.1")[1]["flush"], None)

    def test_lease(self):
        """It is renewed at each look, and dropped at the end; there is one whenever the command
        dies meanwhile, and after one that is refused.

        Seen to fail: kept at the end; dropped before the next was there."""
        self.events = {2: lambda: self.assertEqual((self.least, len(self.active)), (1, 1))}
        self.assertEqual(self.canary("--days", "0.002", "--lease", "10")[0], 0)
        runs = self.leases
        self.assertEqual(len(runs), 4)
        self.assertEqual(runs[0][6:7] + runs[0][-2:], ["600s", "off", "/dev/sda"])
        self.assertEqual(runs[0][:6], ["systemd-run", "--quiet", "--collect", "--unit",
                                       "freeblock-lease-sda-0", "--on-active"])
        self.assertEqual((self.active, self.events), (set(), {}))
        self.clock, self.events = 1e6, {2: lambda: setattr(self, "refuses", True)}
        self.assertEqual(self.canary("--lease", "10")[0], 1)
        self.assertEqual(len(self.active), 1)

    def test_refused(self):
        """What makes no sense; a disk that gets another scheduler meanwhile."""
        self.machine.write(DEBUG + "latency", "1048576 5000 0\n")
        status, said, _ = self.canary("--max-fua", "10")
        self.assertEqual((status, "does not count FUA writes" in said), (1, True))
        for words in (("--days", "0"), ("--max-slow", "101"), ("--lease", "1"),
                      ("--max-errors", "-1"), ("--max-p99", "0"), ("--max-p999", "60001"),
                      ("--max-flush", "0"), ("--max-fua", "0")):
            self.assertEqual(self.canary(*words)[0], 2, words)
        self.events = {3: lambda: self.machine.write("sys/block/sda/queue/scheduler", "none\n")}
        status, said, _ = self.canary()
        self.assertEqual(status, 1)
        self.assertIn("sda has another scheduler now", said)
        self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
        self.clock, self.events = 1e6, {3: lambda: os.unlink(
            os.path.join(self.machine.root, "sys/block/sda/queue/scheduler"))}
        status, _, said = taptest.freeblock("canary", "sda", "--quiet")
        self.assertEqual((status, said), (1, "freeblock: sda is gone\n"))
