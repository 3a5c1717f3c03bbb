# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock sim: queueing theory on a drive so simple that its service
times are known, the numbers of the freeblock paper on the Atlas 10K, whole
scans, large drives, sweeps, and settings that must be refused.
"""

import functools
import json
import math
import os
import re
import signal
import subprocess
import tempfile
import unittest

import processes
import taptest
from freeblock import sim
from freeblock.formats import fbmodel
from freeblock.sim import truth


def simulate(**settings):
    """A run; unless named with the paper's settings, which most figures here were measured with."""
    return sim.simulate(**{"preset": "paper", **settings})


# One surface, 64 sectors on a turn of 6 ms, no skews, no noise, no overheads;
# any seek takes 3/16 turn, so that the mean wait for one of the 8 places of a track
# is half a turn. A read of 4 KiB: 1.125 + U(0, 6) + 0.75 ms.
DRIVE = """fbdrive 1
vendor TEST
product PLAIN
revision 1
serial 1
period_ps 6000000000
seed 1
heads 1
order plain
head_switch_ns 0
write_settle_ns 0
zero_latency off
noise off
command_overhead_ns 0 0
bus_ns 0
completion_overhead_ns 0
jitter_ns 0
firmware fcfs
zone 0 9999 64 0 0 0 0
seek 1 1125000
seek 9999 1125000
"""
MODEL = b"""fbmodel 1
vendor TEST
product PLAIN
sectors 640000
physical_sectors 1
granule_sectors 8
cylinders 10000
heads 1
head_order plain
period_ps 6000000000
head_switch_ns 0
write_settle_ns 0
zero_latency no
read_overhead_ns 0
write_overhead_ns 0
read_report_ns 0
write_report_ns 0
seek 1 1125000
seek 9999 1125000
zone 0 9999 spt 64 angle 0 track_skew 0 cyl_skew 0 dead 0 spares 0
"""
SEEK_MS, TURN_MS, TRANSFER_MS = 1.125, 6, 0.75
# Of the Atlas 10K's first zone (433 cylinders of 6 tracks of 334 sectors, 89 of
# them spares) the last sectors, and the first ones of the next
ZONE_END = 433 * 6 * 334 - 89


def freeblock(*words):
    """A subcommand's status, output and errors."""
    return taptest.freeblock("sim", *words)


def simulators(parent):
    """Those that a process has started."""
    return processes.children(parent, "freeblock-sim")


class Case(unittest.TestCase):
    """With the plain drive in a folder of its own."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.drive = os.path.join(folder, "plain.fbdrive")
        self.model = os.path.join(folder, "plain.fbmodel")
        with open(self.drive, "w", encoding="ascii") as file:
            file.write(DRIVE)
        with open(self.model, "wb") as file:
            file.write(fbmodel.seal(MODEL))

    def plain(self, **settings):
        """A run on the plain drive: reads of 4 KiB."""
        return simulate(**{"drive": self.drive, "model": self.model, "size": "4k",
                               "reads": "1", **settings})

    def near(self, got, want, share):
        """They differ by less than `share` of what is wanted."""
        self.assertLessEqual(abs(got - want), share * want, "got %g, want %g" % (got, want))

    def between(self, low, value, high):
        """A value is in a range."""
        self.assertGreaterEqual(value, low)
        self.assertLessEqual(value, high)


class Queueing(Case):
    """What theory says. Standard errors are below a third of what is allowed."""

    def test_one_process(self):
        """The only one in the system: response is service.

        Seen to fail: a histogram whose upper buckets are one octave off."""
        # thinking at random: the platter may stand anywhere
        r = self.plain(outstanding="1", policy="clook", requests="200000", think_ms="20",
                       think="exponential")
        mean = SEEK_MS + TURN_MS / 2 + TRANSFER_MS
        self.near(r["response_ms"]["mean"], mean, .005)
        self.near(r["requests_per_s"], 1000 / (mean + 20), .01)
        for share, name in ((.5, "p50"), (.99, "p99"), (.999, "p99.9")):
            self.near(r["response_ms"][name], SEEK_MS + share * TURN_MS + TRANSFER_MS, .01)
        self.assertGreater(r["reports_within_50us"], .999)

    def test_little(self):
        """N = X (R + Z), whoever schedules and however long they think.

        Seen to fail: thinking that begins when a request arrives."""
        for policy in ("none", "sptf"):
            for think, spread in (("0", "constant"), ("30", "constant"), ("30", "exponential")):
                r = simulate(policy=policy, outstanding="20", think_ms=think, think=spread,
                                 requests="50000")
                self.near(r["requests_per_s"] * (r["response_ms"]["mean"] + float(think)) / 1000,
                          20, .01)

    def test_pollaczek_khinchine(self):
        """Poisson arrivals, first come first served: W = L E[S^2] / 2 (1 - U).

        Seen to fail: intervals that are constant."""
        rate, mean = 100, SEEK_MS + TURN_MS / 2 + TRANSFER_MS
        square = mean ** 2 + TURN_MS ** 2 / 12
        use = rate * mean / 1000
        wait = rate / 1000 * square / 2 / (1 - use)
        r = self.plain(policy="none", rate=str(rate), requests="400000")
        self.near(r["requests_per_s"], rate, .01)
        self.near(r["utilisation"], use, .01)
        self.near(r["response_ms"]["mean"], mean + wait, .02)

    def test_bursts(self):
        """Bursts leave the rate as it is, and are as long as was asked for on the mean: so many
        gaps are of 2 ms. Seen to fail: 40.8, 32.8 and 26 requests/s instead of 30."""
        path = os.path.join(os.path.dirname(self.drive), "log")
        for burst in 1, 1.5, 4:
            r = self.plain(rate="30", burst=str(burst), requests="600000", log=path)
            self.near(r["requests_per_s"], 30, .02)
            with open(path, encoding="ascii") as lines:
                arrived = sorted(int(line.split()[0]) for line in lines)
            short = sum(b - a < 1e7 for a, b in zip(arrived, arrived[1:])) / len(arrived)
            between_ms = burst * 1000 / 30 - 2 * (burst - 1)
            self.near(short, 1 - (math.exp(-10 / 2) * (burst - 1) +
                                  math.exp(-10 / between_ms)) / burst, .02)

    def test_mix(self):
        """Sizes and directions as asked. Seen to fail: shares that are ignored."""
        for text, sectors in (("exp:8k", 16), ("exp:24k", 48), ("64k", 128),
                              ("4k/3:64k/1", (3 * 8 + 128) / 4)):
            r = self.plain(size=text, requests="100000", policy="clook")
            self.near(r["foreground_mb_s"] * 1e6 / r["requests_per_s"] / 512, sectors, .02)


class Numbers(Case):
    """The Atlas 10K with ten outstanding: the freeblock paper (5.2, 5.3) and the
    rates that an independent prototype found; the lab has to reach them, too.

    Seen to fail: a choice that is never revised, no conservatism, no write settle in
    the model, a gap that begins where the head is and not where it will be, none
    with a queue of two."""

    def atlas(self, **settings):
        """300 s on the Atlas 10K."""
        return simulate(seconds="300", **settings)

    def test_foreground(self):
        """The policies against each other."""
        self.between(169, self.atlas(policy="sptf", noise="off")["requests_per_s"], 180)
        rate = {p: self.atlas(policy=p)["requests_per_s"] for p in ("sptf", "sptf-sw", "sstf")}
        self.between(165, rate["sptf"], 175)
        self.between(4, 100 * (1 - rate["sptf-sw"] / rate["sptf"]), 8)
        self.between(10, 100 * (1 - rate["sstf"] / rate["sptf"]), 14)
        # the paper's figure 8: the firmware's SPTF and ours are the same
        self.near(self.atlas(policy="none")["requests_per_s"], rate["sptf"], .02)

    def test_free(self):
        """Free bandwidth on a fresh map, and what it costs."""
        alone = self.atlas(policy="sptf-sw")["requests_per_s"]
        for conservatism, low, slow in (("300", 6.5, 2), ("400", 6, 1)):
            r = self.atlas(task="scan", conservatism_us=conservatism)
            self.between(low, r["free_mb_s"], 9)
            self.between(-.5, 100 * (1 - r["requests_per_s"] / alone), slow)
            self.assertEqual(r["map"], "from fresh")

    def test_predictions(self):
        """The paper's figure 7: 97.5 % of 4 KiB requests within 50 us."""
        r = self.atlas(policy="clook", size="4k")
        self.between(.97, r["reports_within_50us"], .99)
        self.assertEqual(sum(r["prediction_errors_10us"].values()), r["predicted"])
        # from an idle drive, too. Seen to fail: no command overhead after idleness.
        r = self.atlas(policy="clook", size="4k", rate="60")
        self.between(.97, r["reports_within_50us"], .99)

    def test_limits(self):
        """Each limit does what it says. Seen to fail: each of them ignored."""
        r = self.atlas(task="scan", separate="0")
        self.assertEqual(r["separates"], 0)
        self.assertGreater(r["prepends"], 1000)
        r = self.atlas(task="scan", max_prepend_sectors="0")
        self.assertEqual(r["prepends"], 0)
        self.assertGreater(r["separates"], 1000)
        free = [self.atlas(task="scan", max_sectors=n, max_prepend_sectors=n)["blocks_per_read"]
                for n in ("8", "64", "512")]
        self.assertLessEqual(free[0], 1)
        self.assertLess(free[1], 8)
        self.assertGreater(free[2], 10)
        self.assertLess(self.atlas(task="scan", steps="2")["tracks_per_search"], 3)

    def test_lift(self):
        """The paper's limits, lifted: more free bandwidth, no more slowdown.

        Seen to fail: lift ignored, plans of which only the first piece is sent, or not the
        prepend."""
        r = {lift: self.atlas(task="scan", conservatism_us="300", lift=lift)
             for lift in ("none", "source+dest", "all")}
        self.assertGreater(r["source+dest"]["free_mb_s"], 1.03 * r["none"]["free_mb_s"])
        self.assertGreater(r["all"]["free_mb_s"], r["source+dest"]["free_mb_s"])
        self.assertEqual((r["none"]["several"], r["source+dest"]["several"]), (0, 0))
        self.assertGreater(r["all"]["several"], 1000)
        # what is left of a plan is dropped when the drive is ahead of us
        self.assertGreater(r["all"]["separates"] + r["all"]["prepends"],
                           r["all"]["plans"] + .9 * r["all"]["several"])
        self.near(r["all"]["requests_per_s"], r["none"]["requests_per_s"], .01)

    def test_guard(self):
        """It stops free reads that cost too much. Seen to fail: a guard never asked."""
        free = {}
        for ppm in ("0", "5000"):
            r = self.atlas(task="scan", conservatism_us="0", guard_ppm=ppm)
            free[ppm] = r["free_mb_s"]
            self.assertEqual(r["guard_trips"] > 0, ppm != "0")
        self.assertLess(free["5000"], free["0"] / 2)

    def test_weight(self):
        """Where blocks are worth more, more are read. Seen to fail: weights ignored."""
        share = {}
        for weight in ("flat", "edge:8"):
            left = self.atlas(task="scan", weight=weight)["left_by_tenth"]
            self.assertEqual(len(left), 10)
            share[weight] = (left[0] + left[9]) / sum(left)
        self.assertLess(share["edge:8"], .95 * share["flat"])

    def test_worth(self):
        """Roots cost a fresh map some speed, balance keeps regions together. Seen to fail: each
        of them ignored."""
        r = {words: self.atlas(task="scan", conservatism_us="100", **dict([words]))
             for words in (("value", "count"), ("value", "root"))}
        self.assertGreater(r["value", "count"]["free_mb_s"], r["value", "root"]["free_mb_s"])
        balanced = self.atlas(task="scan", weight="balance")["left_by_tenth"]
        left = self.atlas(task="scan")["left_by_tenth"]
        self.assertLess(max(balanced) - min(balanced), max(left) - min(left))


class Probe(Case):
    """Reads on the head's own tracks, as a probe of the drive's look-ahead allows
    (Atlas 10K with a cache).

    Seen to fail: commands that are not marked, their outcome not told, the drive's word
    that look-ahead is off not heard (test_off), a probe that refuses nothing (test_triggered)."""

    CACHE = "cache 10 400 0"
    IDLE = CACHE + "\nread_ahead track"
    TRIGGERED = IDLE + "\nread_ahead_trigger same-track\nread_ahead_least 400"

    def atlas(self, lines, lift):
        """100 s."""
        return simulate(task="scan", seconds="100", lift=lift, set=lines)

    def test_not_triggered(self):
        """A drive that reads ahead when it has nothing else to do: allowed in less
        than a minute, which brings more."""
        for lines in (self.CACHE, self.IDLE):
            r = self.atlas(lines, "auto")
            for lift in r["probe"].values():
                self.assertRegex(lift["state"], r"^allowed \(not triggered in \d+ trials\)$")
                self.between(5, lift["decided_s"], 60)
                self.assertEqual(lift["refusals"], 0)
            several = self.atlas(lines, "several")
            self.assertGreater(r["free_mb_s"], 1.02 * several["free_mb_s"])
            self.near(r["requests_per_s"], several["requests_per_s"], .003)

    def test_triggered(self):
        """One that reads on behind a second read on a track, whoever waits: refused, after
        a few turns."""
        several = self.atlas(self.TRIGGERED, "several")
        r = self.atlas(self.TRIGGERED, "auto")
        self.assertRegex(r["probe"]["source"]["state"], r"^refused \(\d+ of \d\d? late\)")
        self.between(1, r["probe"]["source"]["refusals"], 2)
        self.near(r["requests_per_s"], several["requests_per_s"], .003)
        everything = self.atlas(self.TRIGGERED, "all")
        self.assertLess(everything["requests_per_s"], .96 * several["requests_per_s"])

    def test_learnt(self):
        """With a conservatism that is learnt, too. Seen to fail: none at all where the
        head stays, for then it is predicted a turn off."""
        r = {lift: simulate(task="scan", seconds="400", conservatism_us="auto", lift=lift,
                                set=self.IDLE) for lift in ("several", "auto")}
        self.assertEqual([lift["refusals"] for lift in r["auto"]["probe"].values()], [0, 0])
        self.assertGreater(r["auto"]["free_mb_s"], 1.02 * r["several"]["free_mb_s"])

    def test_overtaken(self):
        """While a drive reads on for more than a turn another command comes, which
        it may take first. Seen to fail: what was overtaken does not count."""
        r = {lift: simulate(drive="nearline16", task="scan", seconds="100", lift=lift,
                                set="read_ahead_trigger same-track\nread_ahead_least 512")
                for lift in ("several", "auto")}
        self.near(r["auto"]["requests_per_s"], r["several"]["requests_per_s"], .007)
        for lift in r["auto"]["probe"].values():
            self.assertGreaterEqual(lift["refusals"], 1)

    def test_off(self):
        """A drive that says that it does not read ahead: no probe."""
        for lines in ("", self.IDLE + "\nlook_ahead off"):
            r = self.atlas(lines, "auto")
            self.assertEqual([lift["state"] for lift in r["probe"].values()],
                             ["allowed (look-ahead off)"] * 2)
            self.assertEqual(r["free_mb_s"], self.atlas(lines, "all")["free_mb_s"])


class Order(Case):
    """What an order costs, told by itself and seen against sptf."""

    def test_open(self):
        """Gaps of an idle drive that reads ahead, and so moves its head by itself, cost 1 % at most
        as well: three seeds have .5 %, with a standard error of .1. Seen to fail: pauses while one
        in eight is late (4.0 %)."""
        load = {"drive": "nearline16", "rate": "24", "requests": "20000", "idle": "off"}
        alone, beside = ([simulate(**load, **more, seed=seed)["response_ms"]["mean"]
                          for seed in "123"] for more in (
            {"policy": "sptf"}, {"policy": "auto", "task": "scan", "lift": "all",
                                 "conservatism_us": "auto"}))
        self.between(0, 100 * (sum(beside) / sum(alone) - 1), 1)

    def test_told(self):
        """Of three seeds the Atlas pays 6.05 % of its requests/s for SPTF-SW60 (5.80 to 6.26), and
        is told 5.59 (5.37 to 5.85); for SSTF 11.90 and 11.11; the Cheetah 6.19 and 5.90.

        Seen to fail: without the odds of a lost turn (7.5 % for 6)."""
        for drive, policy, true in (("atlas10k", "sptf-sw", 6.05), ("atlas10k", "sstf", 11.9),
                                    ("cheetah9", "sptf-sw", 6.19)):
            cost, told = [], []
            for seed in ("1", "2", "3"):
                alone, run = (simulate(drive=drive, policy=p, seed=seed, seconds="300")
                              for p in ("sptf", policy))
                cost.append(100 * (1 - run["requests_per_s"] / alone["requests_per_s"]))
                told.append(run["order"]["cost_pct"])
                self.assertNotIn("order", alone)
                self.assertGreater(run["order"]["followed"], .98 * run["requests"])
            self.between(true - .5, sum(cost) / 3, true + .5)
            self.between(-.2, (sum(cost) - sum(told)) / 3, 1)


@functools.cache
def joint(seeds=3, **settings):
    """Seeds from 1 on with sptf alone, and with a scan and auto."""
    common = {"seconds": "900", **{k: v for k, v in settings.items() if k == "rate"}}
    scan = {"task": "scan", "conservatism_us": "auto", "lift": "all", "value": "root",
            "weight": "balance"}
    seeds = [str(seed) for seed in range(1, seeds + 1)]
    return ([simulate(policy="sptf", **common, seed=s) for s in seeds],
            [simulate(policy="auto", **{**settings, **scan, **common}, seed=s) for s in seeds])


class Joint(Case):
    """Requests chosen together with their free reads (Atlas 10K)."""

    @staticmethod
    def lost(asked):
        """Per cent of the requests/s, on the mean of nine seeds, beside ten outstanding."""
        alone, runs = joint(9, foreground_cost_ppm=asked)
        return sum(100 * (1 - r["requests_per_s"] / a["requests_per_s"])
                   for r, a in zip(runs, alone)) / 9

    @staticmethod
    def longer(rate, what):
        """A mean or p99 of response times under an open load, as a multiple of that alone."""
        alone, runs = joint(rate=rate)
        return sum(r["response_ms"][what] / a["response_ms"][what]
                   for r, a in zip(runs, alone)) / 3

    def test_promise(self):
        """They cost foreground_cost_ppm at most, of throughput, by default 1 %.

        Nine seeds have a mean of 0.91; of 24 the standard deviation is 0.12."""
        taptest.promise("cost, %", self.lost("10000"), 1)

    def test_promise_more(self):
        """And if somebody allows more: nine seeds have a mean of 5.64, deviation of 24: 0.16."""
        taptest.promise("cost, %", self.lost("60000"), 6)

    def test_promise_open(self):
        """And of the mean response time, under open loads."""
        for rate in ("60", "110"):
            taptest.promise("cost at %s/s, %%" % rate, 100 * (self.longer(rate, "mean") - 1), 1)

    def test_cost(self):
        """They cost what was asked for, against sptf without a scan, and the account says so.

        15/16 of it, less what short waits are said to lose too much: nine seeds have .70 and 5.13 %
        (standard deviations .12 and .16 of one), and the account says .22 and .42 more. Seen to
        fail: a shadow that goes on from where the real head is, a shadow that arrivals do not
        reach, lost turns not counted, a shadow that is lost at every 500th choice."""
        for asked, low, high, free in (("10000", .65, 1.05, 5.3), ("60000", 5.0, 5.8, 6.2)):
            cost, runs = self.lost(asked), joint(9, foreground_cost_ppm=asked)[1]
            self.between(low, cost, high)
            self.between(-.6, cost - sum(r["joint_cost_ppm"] for r in runs) / 9e4, .2)
            self.assertGreater(min(r["order"]["followed"] / r["requests"] for r in runs), .999)
            self.assertGreater(sum(r["free_mb_s"] for r in runs) / 9, free)

    def test_default(self):
        """Who names nothing gets what the module does that was told nothing: t-sysfs.sh holds it
        to these files. Seen to fail: 400 us of conservatism, and idle time left alone, as was once.
        """
        ours = {"hold_back": "hold", "read_expire": "read_expire_ms", "search_us": "steps",
                "write_expire": "write_expire_ms"}
        told = {}
        for name in ("sysfs-block-freeblock", "sysfs-kernel-freeblock"):
            with open(os.path.join(taptest.TOP, "Documentation", "ABI", "testing", name),
                      encoding="utf-8") as file:
                told.update(re.findall(r"^What:\s+/sys/\S*/(\w+)\n(?:(?!What:).*\n)*?"
                                       r"\t\tDefault:\s+(\S+)$", file.read(), re.M))
        run = sim.simulate(requests="10", task="scan")
        got = {name: str(value) for name, value in run["settings"].items()}
        del told["model"]                       # of the disk, not a setting
        del told["trial"]                       # a run of minutes is over before it tells much
        common = {name: ours.get(name, name) for name in told if ours.get(name, name) in got}
        self.assertEqual(len(common), 16, common)
        self.assertEqual({name: got[common[name]] for name in common},
                         {name: told[name] for name in common})
        self.assertIn("idle", run)

    def test_preset(self):
        """The paper's settings, wherever the word stands, but for what is named. Seen to fail:
        words read before the preset is known; depth told as 0 where it was 2, or the queue."""
        found = [sim.run_jobs([sim.complete(words)])[0]["settings"] for words in (
            [("requests", "10"), ("preset", "paper")],
            [("conservatism_us", "300"), ("requests", "10"), ("preset", "paper")],
            [("preset", "paper"), ("requests", "10"), ("preset", "module")])]
        self.assertEqual([[each[name] for name in ("policy", "conservatism_us", "lift", "idle")]
                          for each in found], [["sptf-sw", 400, "none", "off"],
                                               ["sptf-sw", 300, "none", "off"],
                                               ["auto", "auto", "auto", "on"]])
        self.assertEqual([each["depth"] for each in found], [2, 2, "auto"])
        self.assertEqual(sim.simulate(requests="10", policy="none")["settings"]["depth"], 32)

    def test_open(self):
        """Under open loads auto costs what was asked for, of the mean response time.

        Of three seeds .58 (.53 to .66) % at 60/s and .54 (.33 to .71) at 110/s, in which the
        first minutes, until the price is found, have a part."""
        for rate, low, high, p99, free in (("60", .3, 1, 1, 1.62), ("110", .3, 1, .94, 3.85)):
            runs = joint(rate=rate)[1]
            self.between(low, 100 * (self.longer(rate, "mean") - 1), high)
            self.assertLess(self.longer(rate, "p99"), p99)
            self.assertGreater(sum(r["free_mb_s"] for r in runs) / 3, free)

    def test_buffers(self):
        """Reads are as long as the module's buffers: 1.5 of the longest track, 256 to 1280 KiB.
        Seen to fail: 256 KiB for all."""
        for drive, sectors in (("atlas10k", "512"), ("nearline16", "2560")):
            free = [sim.simulate(drive=drive, task="scan", seconds="20", **words)["free_mb_s"]
                    for words in ({}, {"max_sectors": sectors, "max_prepend_sectors": sectors})]
            self.assertEqual(free[0], free[1], drive)


class Price(Case):
    """What two commands at the drive cost against its own queue (Atlas 10K)."""

    def at_load(self, **settings):
        """Response at a load, about 30, 60 and 86 % of the drive's time."""
        return [simulate(rate=rate, requests="60000", **settings)
                for rate in ("32", "68", "110")]

    def test_hold(self):
        """The second command held back: our SPTF is as quick as the drive's.

        Seen to fail: nothing held back, held back for half of the time."""
        for ours, drive in zip(self.at_load(policy="sptf"), self.at_load(policy="none")):
            for figure, share in (("mean", .02), ("p99", .025)):
                self.between(.98, ours["response_ms"][figure] / drive["response_ms"][figure],
                             1 + share)
        early = self.at_load(policy="sptf", hold="0")[2]
        self.assertGreater(early["response_ms"]["mean"], 1.08 * drive["response_ms"]["mean"])

    def test_policy(self):
        """With a scan: auto holds p99 to that of the drive's own queue, sptf-sw does not."""
        drive = self.at_load(policy="none")
        for policy, most in (("auto", 1.03), ("sptf-sw", None)):
            ratio = [r["response_ms"]["p99"] / d["response_ms"]["p99"]
                     for r, d in zip(self.at_load(policy=policy, task="scan"), drive)]
            if most:
                self.assertLess(max(ratio), most)
            else:
                self.assertGreater(max(ratio), 1.1)

    def test_closed(self):
        """Where nothing can come meanwhile, nothing is lost. Seen to fail: no lead."""
        for task in ("none", "scan"):
            r = [simulate(requests="60000", task=task, hold=hold) for hold in "01"]
            self.assertGreater(r[1]["requests_per_s"], .998 * r[0]["requests_per_s"])
            if task == "scan":
                self.assertGreater(r[1]["free_mb_s"], .99 * r[0]["free_mb_s"])

    def test_long_writes(self):
        """A write whose data are long on their way is not held back, or it would miss its turn:
        11.6 MB/s in place of 20.2 of 64 KiB, 18.5 of 20.0 of 1 MiB. Seen to fail: held back."""
        for size in ("64k", "1024k"):
            load = {"reads": "0", "size": size, "locality": "streams:1", "outstanding": "2",
                    "seconds": "20"}
            ours, drive = (simulate(policy=policy, task=task, **load)["foreground_mb_s"]
                           for policy, task in (("auto", "scan"), ("none", "none")))
            self.assertGreater(ours, .94 * drive)

    def test_depth_auto(self):
        """Without a task all is as if the drive alone ordered. Seen to fail: a depth that
        stays two."""
        for ours, drive in zip(self.at_load(depth="auto"), self.at_load(policy="none")):
            self.assertEqual(ours["response_ms"], drive["response_ms"])
            self.assertGreaterEqual(ours["own_order"], ours["requests"])

    def test_search(self):
        """A search takes time, which held back there is. Seen to fail: time that it does
        not take."""
        free = {(hold, us): simulate(rate="68", requests="60000", task="scan", hold=hold,
                                         search_us=us) for hold in "01" for us in ("0", "200")}
        self.assertEqual(free["0", "0"]["unsearched"], 0)
        self.assertGreater(free["1", "200"]["unsearched"], 10)
        self.assertGreater(free["1", "200"]["free_mb_s"], .95 * free["1", "0"]["free_mb_s"])
        self.assertLess(free["0", "200"]["free_mb_s"], .7 * free["0", "0"]["free_mb_s"])

    def test_depth_changes(self):
        """A short scan under the guard: to and fro, and nothing is lost. Seen to fail:
        no waiting until the drive has ended what it had."""
        common = {"rate": "110", "task": "scan", "conservatism_us": "150", "guard_ppm": "3000",
                  "requests": "60000"}
        ours = simulate(depth="auto", **common)
        self.assertGreater(ours["guard_trips"], 3)
        self.between(.2, ours["own_order"] / ours["requests"], .99)
        self.assertGreater(ours["reports_within_50us"], .96)
        self.assertLess(ours["out_of_order"], 30)
        two = simulate(depth="2", **common)
        self.assertEqual(two["own_order"], 0)
        self.assertLess(ours["response_ms"]["p99"], two["response_ms"]["p99"])
        r = simulate(depth="auto", rate="110", task="scan", range="0+8000", requests="60000")
        self.assertEqual(r["map"], "whole")
        self.assertGreater(r["own_order"], r["requests"] / 4)


class Auto(Case):
    """Conservatism auto: what free reads cost is what was asked for, whatever the drive."""

    def cost(self, target="5000", **settings):
        """Slowdown in percent; its standard error is 0.1."""
        alone = simulate(requests="200000", **settings)
        r = simulate(requests="200000", task="fresh", lift="all", conservatism_us="auto",
                         target_slowdown_ppm=target, **settings)
        return 100 * (1 - r["requests_per_s"] / alone["requests_per_s"])

    def off(self, share):
        """A model of the Atlas 10K whose seeks are too short or too long."""
        with open(sim.model_file("atlas10k"), "rb") as file:
            lines = [line.split() for line in file.read().splitlines()]
        with open(self.model, "wb") as file:
            file.write(fbmodel.seal(b"\n".join(
                b"seek %s %d" % (words[1], share * int(words[2])) if words[:1] == [b"seek"] else
                b" ".join(words) for words in lines)))
        return self.model

    def test_target(self):
        """On the right model. Seen to fail: a price that stays."""
        for target in ("2000", "15000"):
            self.between(.4 * float(target) / 1e4, self.cost(target),
                         1.2 * float(target) / 1e4 + .3)

    def test_wrong(self):
        """Other spreads, outliers, jitter, a model that is wrong.

        Seen to fail: a price that stays at 4 gaps."""
        for settings in ({"noise": "gauss:60"}, {"noise": "laplace:200"},
                         {"set": "outliers 1000 3000000\njitter_ns 100000"},
                         {"set": "period_ps 5985635909\nhead_switch_ns 226000"},
                         {"model": self.off(.97)}):
            with self.subTest(settings):
                self.between(.15, self.cost(**settings), .85)

    @taptest.missed("0.94 % of 0.5, with a model whose seeks are 3 % too long")
    def test_promise(self):
        """Free reads cost target_slowdown_ppm at most, also with a model that errs."""
        taptest.promise("cost, %", self.cost(model=self.off(1.03)), .5)


class Drift(Case):
    """A drive that warms up: 200 ppm in an hour, seeks 3 % longer after 20 minutes."""

    def warm(self, **settings):
        """An hour of it, at few requests."""
        return simulate(set="rpm_drift 200 3600\nseek_drift 30000 1200", seconds="3600",
                            **settings)

    def test_followed(self):
        """95 % hold, and would not without corrections; these are near the truth.
        Seen to fail: a phase that waits for full windows; corrections that are not applied."""
        for rate, least in (("5", .955), ("0.5", .945)):
            r = self.warm(rate=rate)
            self.assertGreater(r["reports_within_50us"], least)
            self.assertEqual(r["head"]["misfit"], 0)
        self.assertLess(self.warm(rate="5", calibrate="0")["reports_within_50us"], .945)

    def test_learnt(self):
        """How much longer seeks take."""
        r = simulate(set="seek_drift 30000 1", seconds="600")
        self.assertLess(abs(r["calibration"]["ppm"] - 30000), 6000)
        r = simulate(seconds="600")
        self.assertLess(abs(r["calibration"]["ppm"]), 4000)


class Scans(Case):
    """To the last block."""

    def test_range(self):
        """Every block once, over the end of a zone.

        Seen to fail: a drive that reports a granule twice; no reads of leftovers."""
        first, count = (ZONE_END - 4000) // 8 * 8, 8000
        r = simulate(task="scan", range="%d+%d" % (first, count), whole="1")
        self.assertEqual(r["map"], "whole")
        self.assertEqual(r["task_done"], 1)
        self.near(r["free_mb_s"] * r["seconds"] * 1e6, count * 512, 1e-6)
        self.assertEqual(len(r["mb_s_by_tenth"]), 10)
        # a tenth each: their times add up to the whole
        self.near(sum(count * 512 / 1e7 / x for x in r["mb_s_by_tenth"]), r["seconds"], .01)
        self.assertNotIn("scans_per_day", r)

    def test_whole(self):
        """A whole small disk. Its last block is short."""
        r = simulate(drive="toy", task="scan", whole="1")
        self.near(r["scans_per_day"], 86400 / r["seconds"], 1e-6)
        self.near(r["free_mb_s"] * r["seconds"] * 1e6, 1023760 * 512, 1e-4)
        # the fuller the map, the more a gap can give
        self.assertGreater(r["mb_s_by_tenth"][0], 2 * r["mb_s_by_tenth"][9])

    def test_large(self):
        """Blocks of 4 KiB at the drive, sectors of 512 bytes in the model: the same
        as the drive that emulates 512. Seen to fail: LBNs not converted at the door."""
        rate = {}
        for drive in ("nearline16", "nearline16-512e"):
            r = simulate(drive=drive, task="scan", seconds="100")
            rate[drive] = r["requests_per_s"]
            self.assertGreater(r["reports_within_50us"], .97)
            self.assertGreater(r["free_mb_s"], 10)
        self.near(rate["nearline16-512e"], rate["nearline16"], .005)


class Repeats(Case):
    """The same again."""

    def test_seed(self):
        """A run is a function of its settings. Seen to fail: a seed from the clock."""
        runs = [simulate(task="scan", seed=seed, seconds="20") for seed in "112"]
        for r in runs:
            del r["wall_s"]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0]["requests_per_s"], runs[2]["requests_per_s"])


class Sweeps(Case):
    """Many runs."""

    def test_grid(self):
        """Lists make a grid in order; baselines are the runs without a task.

        Seen to fail: baselines that keep the task; results in the order of ending."""
        status, out, _ = freeblock("--json", "--preset", "paper", "--task", "scan",
                                   "--conservatism", "0,400",
                                   "--outstanding", "5,10", "--seconds", "20", "--baseline")
        self.assertEqual(status, 0)
        results = json.loads(out)
        self.assertEqual([(r["settings"]["outstanding"], r["settings"]["conservatism_us"])
                          for r in results], [(5, 0), (5, 400), (10, 0), (10, 400)])
        for r in results:
            alone = simulate(outstanding=str(r["settings"]["outstanding"]), seconds="20")
            self.assertEqual(r["baseline"]["requests_per_s"], alone["requests_per_s"])
            self.assertAlmostEqual(r["slowdown_pct"], 100 * (
                1 - r["requests_per_s"] / alone["requests_per_s"]))
        self.assertGreater(results[2]["slowdown_pct"], results[3]["slowdown_pct"] + 5)

    def test_ended(self):
        """Whose caller is ended does not run on: nobody hears its progress; nor do they when it
        alone is interrupted. Seen to fail: run without --progress; an interrupt that waits for
        the runs."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                self.check_ended(number)

    def check_ended(self, number):
        """A signal ends the program and its two runs."""
        with subprocess.Popen([os.path.join(taptest.TOP, "tools", "freeblock"), "sim", "--quiet",
                               "--seconds", "9999999", "--seed", "1,2"],
                              preexec_fn=lambda: signal.signal(signal.SIGINT,
                                                               signal.default_int_handler),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                processes.wait_for(lambda: len(simulators(process.pid)) == 2)
                ours = simulators(process.pid)
                process.send_signal(number)
                processes.wait_for(lambda: process.poll() is not None)
                processes.wait_for(lambda: not any(map(processes.is_running, ours)))
            finally:
                processes.kill([process.pid, *ours])

    def test_written(self):
        """A file that a run writes is not given to several. Seen to fail: the last run's log is
        kept, without a word."""
        path = os.path.join(os.path.dirname(self.drive), "written")
        for option in ("--log", "--save"):
            status, out, err = freeblock("--seed", "1,2", "--seconds", "1", "--task", "scan",
                                         option, path)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("%s: a file for one run, and these are 2" % option, err)
            self.assertFalse(os.path.exists(path))

    def test_table(self):
        """A line a run, the settings that vary first, files by name."""
        status, out, err = freeblock("--drive", "atlas10k,toy", "--policy", "none,sptf",
                                     "--seconds", "5")
        self.assertEqual((status, err), (0, ""))
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(lines[0][:3], ["drive", "policy", "req/s"])
        self.assertEqual([line[:2] for line in lines[1:]],
                         [["atlas10k", "none"], ["atlas10k", "sptf"], ["toy", "none"],
                          ["toy", "sptf"]])
        self.assertTrue(all(math.isfinite(float(line[2])) for line in lines[1:]))


class Written(Case):
    """The files that a run writes, and reads again."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.dirname(self.drive)
        self.path = os.path.join(self.folder, "written")

    def read(self):
        """What has been written."""
        with open(self.path, encoding="ascii") as file:
            return file.read()

    def sim(self, *words):
        """A second of the toy drive's scan."""
        return freeblock("--quiet", "--drive", "toy", "--task", "scan", "--seconds", "1", *words)

    def test_full(self):
        """A disk without space."""
        for option in ("--log", "--save"):
            status, out, err = self.sim(option, "/dev/full")
            self.assertEqual((status, out), (1, ""), option)
            self.assertIn("/dev/full: No space left on device", err)

    def test_whole_or_not(self):
        """What was there stays until the new one is complete, behind a link, too. Seen to fail:
        the log of a run that failed in the place of the one before."""
        link = self.path + "-link"
        os.symlink(self.path, link)
        with open(self.path, "w", encoding="ascii") as file:
            file.write("before")
        for option in ("--log", "--save"):
            status, _, err = freeblock("--quiet", "--rate", "1000", "--task", "scan", option, link)
            self.assertEqual((status, self.read()), (1, "before"), err)
            self.assertEqual(self.sim(option, link)[0], 0)
            self.assertNotIn("before", self.read())
            with open(self.path, "w", encoding="ascii") as file:
                file.write("before")
        self.assertTrue(os.path.islink(link))

    def test_cut(self):
        """A map that is not whole is refused, wherever it was cut; what has nothing left is not.
        Seen to fail: what was cut off passes for read."""
        self.assertEqual(self.sim("--save", self.path)[0], 0)
        whole = self.read()
        lines = whole.count("\n")
        self.assertTrue(whole.endswith("\nend %d\n" % (lines - 2)))
        self.assertEqual(self.sim("--start", self.path)[0], 0)
        half = whole.index("\n", len(whole) // 2) + 1
        for cut, line in ((whole[:half], whole[:half].count("\n") + 1),
                          (whole[:half - 1], whole[:half].count("\n") + 1),
                          (whole[:whole.rindex("end")], lines), (whole[:-2], lines),
                          (whole + "1 1\n", lines)):
            with open(self.path, "w", encoding="ascii") as file:
                file.write(cut)
            status, out, err = self.sim("--start", self.path)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("%s:%d: " % (self.path, line), err)
            self.assertIn("the map's last line", err)
        with open(self.path, "w", encoding="ascii") as file:
            file.write(whole.split("\n", maxsplit=1)[0] + "\nend 0\n")
        self.assertEqual(self.sim("--start", self.path)[0], 0)

    def test_nothing_left(self):
        """A scan that was over before: no time, and no rate or slowdown. Seen to fail: nan, which
        is no JSON; a slowdown of 100 %."""
        with open(self.path, "w", encoding="ascii") as file:
            file.write("freeblock-map 8 127970\nend 0\n")
        words = ("--quiet", "--drive", "toy", "--task", "scan", "--whole", "1",
                 "--start", self.path)
        self.assertEqual(freeblock(*words)[::2], (0, ""))
        status, out, err = freeblock(*words, "--json", "--idle", "on")
        self.assertEqual(status, 0, err)
        self.assertNotIn("nan", out.lower())
        self.assertNotIn("inf", out.lower())
        result = json.loads(out)[0]
        self.assertEqual([result[name] for name in ("seconds", "requests_per_s", "free_mb_s",
                                                    "utilisation", "task_done")], [0, 0, 0, 0, 1])
        sim.add_baselines([result], [[]], {(): {**result, "requests_per_s": 5}})
        self.assertIsNone(result["slowdown_pct"])

    def test_same(self):
        """One name for both files, however it is spelt. Seen to fail: the map is written over
        the log."""
        for name in (self.path, os.path.join(self.folder, ".", "written")):
            status, out, err = self.sim("--log", self.path, "--save", name)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("save, log: both", err)
            self.assertFalse(os.path.exists(self.path))
        self.assertEqual(self.sim("--log", "/dev/null", "--save", "/dev/null")[0], 0)


class Refusals(Case):
    """What cannot be simulated: status 2 if a setting is wrong, else 1, and a message that names
    it. Seen to fail: 1 for whatever the simulator itself refuses."""

    def refused(self, words, *said, status=2):
        """A command line that must fail."""
        ended, out, err = freeblock("--seconds", "1", *words.split())
        self.assertEqual((ended, out), (status, ""), err)
        for text in said:
            self.assertIn(text, err)

    def narrow(self):
        """Drive and model with tracks of 5 sectors. Seen to fail: a band in which no unit begins
        and ends had 2^64 - 1 of them, and the run no end."""
        zone = ("zone 0 9999 64 ", "zone 0 9999 5 ")
        path = os.path.join(os.path.dirname(self.drive), "narrow.fb")
        with open(path + "drive", "w", encoding="ascii") as file:
            file.write(DRIVE.replace(*zone))
        with open(path + "model", "wb") as file:
            file.write(truth.model(path + "drive"))
        return path + "drive", path + "model"

    def test_values(self):
        """Single settings."""
        for words, *said in (
                ("--policy best", "--policy: best is none of"), ("--preset mine", "--preset: mine"),
                ("--noise loud", "noise", "loud"),
                ("--noise laplace:x", "laplace:x"), ("--noise laplace:nan", "laplace:nan"),
                ("--noise gauss:-1", "gauss:-1"), ("--noise gauss:10001", "gauss:10001"),
                ("--seconds 0", "seconds", "default"), ("--requests 0", "requests", "default"),
                ("--depth 0", "depth", "default"), ("--granule 0", "granule", "default"),
                ("--size 5", "size", "'5'"),
                ("--size 4k/50:8k", "size"), ("--size exp:", "size"),
                ("--size exp:2k", "size", "4096"), ("--size 4k/0", "share"),
                ("--locality cylinders:0", "cylinders:N"), ("--locality near", "locality"),
                ("--locality cylinders:99999", "10042 cylinders"),
                ("--seed 4 --locality cylinders:1 --drive %s --model %s" % self.narrow(),
                 "shorter than a request"), ("--reads 1.5", "reads", "1.5"),
                ("--rate 30 --burst 0.5", "burst", "0.5"), ("--burst 2001", "burst", "2001"),
                ("--rate 700 --burst 4", "rate", "666.667/s"),
                ("--outstanding 0", "outstanding"), ("--outstanding 2.5", "whole number"),
                ("--think-spread wide", "--think-spread: wide is none"), ("--rate -1", "rate"),
                ("--steps x", "steps"), ("--task read", "task"), ("--seed ''", "seed"),
                ("--depth 33", "depth"), ("--depth 1.5", "depth", "1.5"), ("--hold 2", "hold"),
                ("--depth automatic", "--depth: automatic is not a number"),
                ("--task scan --joint-price 0.001", "--joint-price: ", "less than 1/256"),
                ("--lift all+", "lift"), ("--lift most", "lift", "'most'"),
                ("--lift auto+dest", "lift", "'auto+dest'"), ("--lift=", "lift", "''"),
                ("--lift none+dest", "lift", "'none+dest'"),
                ("--weight edge:0", "weight"), ("--weight rim", "weight", "'rim'"),
                ("--value cube", "--value: cube is none of count, root"),
                ("--balance 0", "--balance: "),
                ("--conservatism automatic", "--conservatism: automatic is not a num"),
                ("--conservatism -1", "--conservatism: "),
                ("--target-slowdown-ppm 0", "--target-slowdown-ppm: "),
                ("--jobs 0", "--jobs")):
            with self.subTest(words):
                self.refused(words, *said)

    def test_together(self):
        """Settings that do not go together."""
        for words, *said in (
                ("--whole 1", "whole", "task"),
                ("--task fresh --whole 1", "whole", "ends"),
                ("--task scan --policy none", "policy none"),
                ("--task scan --depth 4", "two commands"),
                ("--task scan --range 8", "range"), ("--task scan --range 4+800", "whole blocks"),
                ("--task scan --range 17966952+100", "range", "17966953"),
                ("--task scan --granule 1000", "granule"),
                ("--drive nearline16 --task scan --granule 512", "granule", "4096"),
                ("--drive nearline16 --size 512", "size: ", "512", "whole blocks", "4096"),
                ("--drive nearline16 --size 4k/90:6k/10", "size: ", "6144", "4096"),
                ("--task scan --granule 524288 --max-sectors 1023", "--max-sectors: ")):
            with self.subTest(words):
                self.refused(words, *said)

    def test_files(self):
        """Settings that are right, of what is not there, does not fit, or cannot keep up."""
        for words, *said in (
                ("--drive nothing", "nothing"),
                ("--drive /nowhere.fbdrive --model %s" % self.model, "/nowhere.fbdrive"),
                ("--drive %s" % self.drive, "--model"),
                ("--rate 1000 --seconds 60", "rate", "keep up"),
                ("--drive toy --model %s" % self.model, "640000", "1023760"),
                ("--drive nearline16-surfaces --model %s" % self.model, "640000")):
            with self.subTest(words):
                self.refused(words, *said, status=1)

    def test_last_line(self):
        """A file whose last line lacks its end, and is right, a comment, or wrong. Seen to fail:
        what is set glued to it, so that it was part of the comment, or took the blame."""
        for last, said in (("heads 2", "set:1: "), ("# the end", "set:1: "),
                           ("heads many", ":22: ")):
            with self.subTest(last):
                path = self.drive + "-cut.fbdrive"
                with open(path, "w", encoding="ascii") as file:
                    file.write(DRIVE + last)
                self.refused("--drive %s --model %s --set=rubbish" % (path, self.model), said,
                             status=1 if "many" in last else 2)

    def test_no_requests(self):
        """Nothing to compare with. Seen to fail: a division by 0."""
        words = "--seconds 1 --rate 1e-9 --baseline --task scan".split()
        status, out, err = freeblock(*words, "--json")
        self.assertEqual((status, json.loads(out)[0]["slowdown_pct"]), (0, None), err)
        self.assertEqual(freeblock(*words)[0], 0)

    def test_texts(self):
        """A bad line is named, the simulator does not start on it."""
        self.refused("--set=rubbish", "set:1: ", "rubbish")
        with open(self.drive, "a", encoding="ascii") as file:
            file.write("heads many\n")
        self.refused("--drive %s --model %s" % (self.drive, self.model), self.drive + ":22",
                     "many", status=1)
        with open(self.model, "ab") as file:
            file.write(b"more\n")
        self.refused("--model %s" % self.model, self.model, status=1)
