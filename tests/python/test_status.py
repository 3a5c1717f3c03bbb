# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock status against a made-up sysfs. Takes a second."""

import json
import os
import re
import unittest
from unittest import mock

import fakedisk
import taptest
from taptest import TOP
from freeblock import fbstate
from freeblock.commands import status
from freeblock.machine import passes
from freeblock.state.taskprogress import Blocks

SYSFS = fakedisk.KERNEL + "sda/"
DEBUGFS = fakedisk.DEBUG + "sda/"


class Status(fakedisk.Case):
    """One disk at work, one that is not."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000000, 65536)
        self.tree.disk("sdb", 1000, "", {"state/scheduling": "solid state", "state/model": 0})
        self.tree.partition("sda", "sda1", 0, 8000)
        self.clock = 100.0
        self.patch(mock.patch.object(status.time, "sleep", self.sleep),
                   mock.patch.object(status.time, "monotonic", lambda: self.clock))

    def sleep(self, seconds):
        """Time passes, and the task advances."""
        self.clock += seconds
        self.task(200 + 100 * int(seconds))

    def task(self, done):
        """Tasks: one with a blank in its name, one that waits."""
        self.tree.write(SYSFS + "tasks", 2)
        self.tree.write(DEBUGFS + "tasks", "3 my scan running 4 62500 %d 2 128\n"
                        "7 scrub paused 1 100 50 0 128" % done)

    @staticmethod
    def status(*words):
        """Exit status, output, errors."""
        return taptest.freeblock("status", *words)

    def full(self):
        """All files that there can be."""
        self.task(200)
        self.tree.write(SYSFS + "idle_wait_us", "auto")
        self.tree.write(SYSFS + "idle_mean_us", "1000")
        self.tree.values(SYSFS + "state", {
            "idle": "waiting", "idle_mean_ns": 41250, "idle_wait_us": 100000,
            "idle_size_kib": 128, "free_reads": "on",
            "period_ps": 8000000000,
            "cost": "free reads add 0.61 +- 0.20 ms (3.1 %) to a read"})
        self.tree.counters("sda", fg_requests=1000, miss_prepend=1, miss_separate=2, miss_after=1,
                           miss_fg=9, guard_trips=0, bad_blocks=2, idle_max_us=900,
                           idle_reads_ended=12, idle_collisions=3, idle_sectors=2000,
                           idle_used_us=5000, idle_us=10000)
        self.tree.write(DEBUGFS + "bad_blocks", "4096 8 medium\n8192 8 medium")

    def test_text(self):
        """What a person sees."""
        self.full()
        code, out, _ = self.status("-v", "--seconds", "2")
        self.assertEqual(code, 0)
        for line in (
                "sda: scheduler freeblock, scheduling",
                "  task 3 my scan: running, priority 4, 0.6 % of 62500 blocks, 2 failed, "
                "6.6 MB/s, left 10m21s",
                "  task 7 scrub: paused, priority 1, 50.0 % of 100 blocks, 0 failed, 0.0 MB/s, "
                "left -",
                "  idle time: waiting; first read after 100.0 ms (auto), of 128 KiB at most",
                "    12 reads, 1.0 MB, in 50 % of it; 3 of them delayed a request",
                "    cost limits: 1.00 ms a request on the mean, - ms at most",
                "  bad blocks: 2", "    8192 8 medium",
                "  cost: free reads add 0.61 +- 0.20 ms (3.1 %) to a read",
                "  foreground: 1000 foreground requests, 4 misses caused",
                "sdb: scheduler freeblock, not scheduling: solid state; run: echo mq-deadline > "
                "/sys/block/sdb/queue/scheduler"):
            self.assertIn(line + "\n", out)

    def test_table(self):
        """A line a disk; one whose blocks cannot be read, or whose tasks wait, is to be looked at.
        Seen to fail: the rate of the first task alone; a disk that nobody wants served counted."""
        self.full()
        self.tree.write("sys/devices/sda/device/wwid", "naa.5000c500a1b2c3d4")
        self.tree.values(SYSFS + "state", {
            "knowledge": "map", "free_reads": "off: reads end at no angle of the model"})
        self.tree.write("var/lib/freeblock/due/naa.5000c500a1b2c3d4.json",
                        '{"first": 1, "began": null, "ended": 864000}')
        self.assertEqual(self.status("--seconds", "2")[1].splitlines(), [
            "DISK  USED  TASK         DONE  MB/s    LEFT  ADDED TO A READ          LAST PASS   "
            "BAD  WAITS FOR",
            "sda   idle  my scan +1  0.6 %   6.6  10m21s  0.61 +- 0.20 ms (3.1 %)  1970-01-11  "
            "  2  reads end at no angle of the model",
            "sdb   off   -               -     -       -  not known                never       "
            "  0  solid state; run: echo mq-deadline > /sys/block/sdb/queue/scheduler",
            "2 disks, 6.6 MB/s, 2 bad blocks, 2 to look at"])
        self.tree.write("sys/kernel/freeblock/sdb/state/attached", 0)
        self.tree.values(SYSFS + "state", {
            "bad_blocks": 0, "free_reads": "on", "idle": "paused: the mean slowdown is at its goal",
            "cost": "not known; stopped at 5.10 +- 0.40 ms (30.1 %)"})
        out = self.status("--seconds", "0")[1].splitlines()
        self.assertRegex(out[1], "^sda   gaps, idle  my scan .*  not known, stopped  1970-01-11 +0 "
                         " the mean slowdown is at its goal$")
        self.assertRegex(out[2], "^sdb   -           -  ")
        # without a map it is as it should be; one that is lost is not
        self.tree.values(SYSFS + "state", {"free_reads": "off: no map of the drive is in use",
                                           "idle": "waiting", "knowledge": "none: no model"})
        self.assertRegex(self.status("--seconds", "0")[1].splitlines()[1], " 0  -$")
        lost = "none: reads end at no angle of the model"
        self.tree.write(SYSFS + "state/knowledge", lost)
        self.assertRegex(self.status("--seconds", "0")[1].splitlines()[1],
                         " 0  reads end at no angle of the model$")
        self.assertEqual(out[3], "2 disks, - MB/s, 0 bad blocks, 1 to look at")

    def test_mapped(self):
        """How much of the disk the model has, never rounded up; nothing of a whole map, or none.
        Seen to fail: the share of what is not mapped."""
        for mapped, words in ((2967999, "37.0"), (7599999, "94.9"), (8000000, None), (0, None)):
            self.tree.write(SYSFS + "state/mapped_sectors", mapped)
            for why in ("", "rates: idle_only is set"):
                self.tree.write(SYSFS + "state/knowledge", why or "map")
                out = self.status("sda")[1]
                line = "  map: %s %% of the disk%s\n" % (
                    words, "" if why else ", gaps used in %s %% of the disk" % words)
                self.assertEqual((line in out, "  map: " in out), (words is not None,) * 2)
            (one,) = json.loads(self.status("sda", "--json")[1])
            self.assertEqual(one["mapped_pct"], mapped / 80000 or None)

    def test_knowledge(self):
        """What is known of the drive, by name; a command where a map is lost that was there, and no
        word more where there was none.

        Seen to fail: advice to measure, of each disk that has no model."""
        noisy = "none: the model is distrusted: so noisy"
        for knowledge, command in (("map", ""), ("none: no model", ""), ("none: USB bridge", ""),
                                   ("none: idle_only is set", ""),
                                   (noisy, "; run: echo 1 > /sys/kernel/freeblock/sda/model_force"),
                                   ("none: reads end at no angle of the model",
                                    "; run: freeblock setup /dev/sda --measure")):
            self.tree.write(SYSFS + "state/knowledge", knowledge)
            out = self.status("sda", "--seconds", "0")[1]
            self.assertIn("sda: scheduler freeblock, scheduling\n", out)
            self.assertIn("\n  knowledge: %s%s\n" % (knowledge, command), out)
        # what is not served has no need of knowledge
        self.tree.write(SYSFS + "state/scheduling", "another scheduler")
        self.tree.write(SYSFS + "state/knowledge", "none: another scheduler")
        self.assertIn("\n  knowledge: none: another scheduler\n",
                      self.status("sda", "--seconds", "0")[1])

    def cost(self, words):
        """What `status` makes of the module's line: for programs, for people."""
        self.tree.write(SYSFS + "state/cost", words)
        (one,) = json.loads(self.status("sda", "--json")[1])
        return one["cost"], self.status("sda")[1]

    def test_cost(self):
        """The trial's number, for programs, too; negative where it is, and none where it is not
        known. Seen to fail: a number without its sign; 0 for not known."""
        self.full()
        cost, text = self.cost("free reads add -0.68 +- 0.09 ms (-1.1 %) to a request")
        self.assertEqual(list(cost.values())[1:],
                         [True, -.68, .09, -1.1, "request", None])
        self.assertIn("\n  cost: %s\n" % cost["words"], text)
        for words in ("not known", "not measured"):
            cost, text = self.cost(words)
            self.assertEqual(list(cost.values()), [words, False] + 5 * [None])
            self.assertIn("\n  cost: %s\n" % words, text)
        cost, _ = self.cost("not known; reads in gaps stopped at 5.10 +- 0.40 ms (30.1 %)")
        self.assertEqual((cost["known"], cost["stopped"]),
                         (False, "reads in gaps stopped at 5.10 +- 0.40 ms (30.1 %)"))

    def test_odd_names(self):
        """What a module calls its task neither ends a line nor moves the cursor. Seen to fail: a
        line that was not understood; the name as it is."""
        self.full()
        self.tree.write(DEBUGFS + "tasks", "3 a\x1b[2J\x0bb running 4 62500 9 2 128\n")
        code, out, err = self.status("-v", "--seconds", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertIn(r"\nsda   idle  a\x1b[2J\x0bb  ".replace(r"\n", "\n"),
                      self.status("--seconds", "0")[1])
        self.assertIn(r"  task 3 a\x1b[2J\x0bb: running, priority 4", out)
        self.assertNotIn("\x1b", taptest.freeblock("status", "--check")[1])

    def test_json(self):
        """The same for programs; a partition stands for its disk."""
        self.full()
        code, out, _ = self.status("sda1", "--json")
        (one,) = json.loads(out)
        self.assertEqual((code, one["disk"], one["stuck"],
                          one["foreground"]["misses_caused"]),
                         (0, "sda", None, 4))
        task = one["tasks"]["3"]
        self.assertEqual((task["name"], task["bytes_per_s"], task["eta_s"]),
                         ("my scan", 100 * 65536, 622))

    def test_terabytes(self):
        """What scrubs have read in a year: passes that ended, and what is under way.

        Seen to fail: passes of the year before; blocks of 512 bytes."""
        self.full()
        one = dict.fromkeys(passes.KEYS, 0)
        for ended, blocks in ((1000, 9000000), (400 * 86400, 15000000)):
            passes.add("naa.sda", **{**one, "ended": ended, "blocks": blocks})
        self.tree.write(SYSFS + "scrub", "paused")
        self.tree.write(SYSFS + "scrub_stats/blocks_verified", 5000000)
        with mock.patch.object(status.time, "time", lambda: 366.0 * 86400):
            (found,) = json.loads(self.status("sda", "--json")[1])
            self.assertEqual((found["read_tb_year"], found["max_tb_per_year"]), (1.311, None))
            self.assertIn("  scrubs read 1.31 TB in the last year\n", self.status("sda")[1])

    def test_documented(self):
        """monitoring.rst names each key of what programs get. Seen to fail: known left out."""
        self.full()
        with open(os.path.join(TOP, "Documentation", "monitoring.rst"), encoding="utf-8") as file:
            page = file.read().partition("\nfreeblock status --json\n")[2]
        told = set(re.findall(r"``(\w+)``", page.partition("\nfreeblock metrics\n")[0]))
        (one,) = json.loads(self.status("sda", "--json")[1])
        keys = set(one) | set(one["cost"]) | set(one["foreground"]) | \
            set(one["tasks"]["3"]) | set(one["idle"])
        self.assertEqual(keys - told, set())
        self.assertEqual(told - keys - {"model_status", "medium", "yes", "scrub_stats", "order",
                                        "scan", "running", "paused", "stats", "map", "read",
                                        "request", "status", "top", "metrics", "scrub",
                                        "idle_size_kib", "idle_mean_us",
                                        "idle_max_us"}, set())

    def test_left(self):
        """Of a scrub that has read nothing in this second, at its mean rate: 15625 blocks of 64 KiB
        at 1000 KiB/s. Seen to fail: "left -", now and then."""
        self.task = lambda _: self.tree.write(
            DEBUGFS + "tasks", "7 scrub running 1 62500 46875 0 128\n8 scan paused 1 9 1 0 128")
        self.task(0)
        self.tree.write(SYSFS + "scrub", "running")
        self.tree.values(SYSFS + "scrub_stats", {
            "sectors": 8000000, "block_sectors": 128, "blocks_total": 62500, "blocks_before": 0,
            "blocks_delivered": 46875, "rate_kib_s": 1000})
        said = self.status("sda")[1]
        self.assertRegex(said, "7 scrub: running, .* 0.0 MB/s, left 16m40s")
        self.assertRegex(said, "8 scan: paused, .* left -")

    def test_little(self):
        """Files that are not there are no error."""
        for folder in (SYSFS + "state", DEBUGFS):
            self.tree.remove(folder)
        code, out, _ = self.status("sda")
        self.assertEqual(code, 0)
        self.assertIn("no tasks", out)
        self.assertIn("foreground: not counted now", out)

    def test_switched(self):
        """With another scheduler counters stand still, and are not shown.

        Seen to fail: counters read whatever the scheduler."""
        self.full()
        self.tree.values(SYSFS + "state", {"attached": 0, "scheduling": "another scheduler",
                                           "free_reads": "", "period_ps": ""})
        out = self.status("sda")[1]
        self.assertIn("not scheduling: another scheduler; run: echo freeblock > /sys/block/sda/",
                      out)
        self.assertIn("free reads -\n", out)
        self.assertIn("foreground: not counted now", out)

    def test_gone(self):
        """A disk that is gone gets no advice that cannot be followed.

        Seen to fail: the advice of another scheduler."""
        self.full()
        self.tree.values(SYSFS + "state", {"attached": 0, "scheduling": "another scheduler"})
        os.unlink(os.path.join(self.tree.root, "sys/block/sda"))
        out = self.status("-v")[1]
        self.assertIn("sda: scheduler none: it is not there, not scheduling: the disk is not "
                      "there\n", out)

    def without_tables(self, said):
        """What is left then, and why, once."""
        code, out, err = self.status("-v")
        self.assertEqual(code, 0)
        self.assertEqual(err, "tasks, bad blocks and numbers are not shown: "
                         "/sys/kernel/debug/freeblock " + said + "\n")
        for line in ("  tasks: 2", "  bad blocks: 2", "  no tasks"):
            self.assertIn(line + "\n", out)
        self.assertNotIn("4096 8 medium", out)
        one = json.loads(self.status("sda", "--json")[1])[0]
        self.assertEqual((one["tasks"], one["tasks_count"], one["bad_blocks"]), (None, 2, None))

    def test_without_debugfs(self):
        """Not mounted, or not root: the rest is shown all the same.

        Seen to fail: one line for each disk, tasks given as none."""
        self.full()
        with mock.patch.object(fbstate.os, "listdir", self.denied):
            self.without_tables("cannot be read: run it as root")
        self.tree.remove("sys/kernel/debug")
        self.without_tables("is not there; run: mount -t debugfs none /sys/kernel/debug")

    @staticmethod
    def denied(folder, really=os.listdir):
        """debugfs is for root."""
        if "debug" in folder:
            raise PermissionError(13, "Permission denied")
        return really(folder)

    def test_refused(self):
        """What to do next is said."""
        self.assertRegex(self.status("sdz")[2], "sdz: no such block device")
        self.assertRegex(self.status("--seconds", "-1")[2], "--seconds: -1 is not between")
        self.tree.write(DEBUGFS + "tasks", "nonsense")
        self.assertRegex(self.status("sda")[2], "sda: tasks: not understood: 'nonsense'")
        self.tree.remove("sys/kernel/freeblock/sdb")
        self.assertRegex(self.status("sdb")[2],
                         "sdb does not have the scheduler freeblock; run: freeblock enable "
                         "/dev/sdb")
        # a volume of ZFS'; seen to fail: told to set it up
        for folder in ("class/block", "block", "devices/virtual/block"):
            self.tree.write("sys/%s/zd0/size" % folder, "8")
        self.assertRegex(self.status("zd0")[2], "zd0 is no disk .* name the disks that hold it")
        self.tree.remove("sys/kernel/freeblock/sda")
        self.assertIn("the module knows no disk: there is no rotating disk", self.status()[1])
        self.tree.remove("sys/kernel/freeblock")
        code, _, err = self.status()
        self.assertEqual(code, 1)
        self.assertRegex(err, "not loaded; run: make -C /.* && insmod /")


class Rates(unittest.TestCase):
    """Progress: the rate of the last minute, not of all."""

    def test_rate(self):
        """100 blocks a second for five minutes, then 10 for two.

        Seen to fail with a rate over all the time."""
        now = [0.0]
        progress = Blocks(100000, 500, 4096, clock=lambda: now[0])
        done = 500
        for second in range(420):
            now[0] += 1
            done += 100 if second < 300 else 10
            progress.set(done)
        self.assertEqual((progress.rate(), progress.eta()), (10, (100000 - done) / 10))
        self.assertRegex(progress.line("x"), r"31.7 %  31700 of 100000 blocks  0.0 MB/s  left 1h5")
        self.assertEqual(progress.values()["before"], 500)

    def test_standstill(self):
        """No rate, no time left."""
        now = [0.0]
        progress = Blocks(10, 5, 4096, clock=lambda: now[0])
        now[0] = 10
        progress.set(5)
        self.assertIsNone(progress.eta())
