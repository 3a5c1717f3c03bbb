#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of predicted free bandwidth: the gap of what a policy chooses against the process that
the closed form is of, what a gap brings against windows that are drawn, limits and order of the
results, and some runs of the simulator. Prints TAP; 5 s.
"""

import dataclasses
import os
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools", "python"), os.path.join(TOP, "tools")]

import numpy as np  # noqa: E402

import taptest  # noqa: E402
from freeblock import ToolError, sim  # noqa: E402
from freeblock.prediction import (  # noqa: E402
    answer, compose, freeband, freegap, freeidle, freescan, freeyield)
from freeblock.prediction.device import Device  # noqa: E402
from freeblock.prediction.freeband import free_bandwidth  # noqa: E402
from freeblock.prediction.freeyield import FreeSettings  # noqa: E402
from freeblock.prediction.workload import Workload  # noqa: E402
from research.bench_loads import MODULE  # noqa: E402
from research.predictcheck import depletion, unseenfree  # noqa: E402

ATLAS = Device.from_drive(sim.drive_file("atlas10k"))
CURVE = (0.2, 1.5)


def workload(device=ATLAS, **more):
    """Ten processes, 8 KiB, two thirds reads."""
    if "rate" in more:
        return Workload(more.pop("rate"), "poisson", 8192, 2 / 3, device.capacity,
                        request_size_cv2=0.5)
    return Workload(100.0, "closed", 8192, 2 / 3, device.capacity, request_size_cv2=0.5,
                    **{"outstanding": 10, **more})


def predicted(settings=None, device=ATLAS, scan=False, **more):
    """The prediction for such a load."""
    return free_bandwidth(device, workload(device, **more), settings, scan)


class Queues(unittest.TestCase):
    """freeband's own chains beside those of queue.py, which know other services."""

    def told(self, policy, **more):
        """(response without a task, compose's with two commands at the drive), s."""
        settings = FreeSettings(policy=policy)
        return predicted(settings, **more).response_alone, compose.predict(
            ATLAS, workload(**more), policy, early=settings.lead).response_time

    def test_responses(self):
        """Poisson arrivals and processes that think, to 4 %. Seen to fail: a second moment
        without the square of the mean, a service's choice among one less of those that think."""
        for more in ({"rate": 32.0}, {"rate": 68.0}, {"think_time": 0.1}):
            for policy in ("sstf", "sptf", "sptf-sw"):
                with self.subTest(policy=policy, **more):
                    found, wanted = self.told(policy, **more)
                    self.assertAlmostEqual(found / wanted, 1, delta=0.04)

    def test_idle(self):
        """Poisson arrivals end an idle stretch after the mean time between them, pauses of the
        trace apart. Seen to fail: pauses in it."""
        paused = dataclasses.replace(workload(rate=30.0), effective_request_rate=40.0)
        self.assertAlmostEqual(free_bandwidth(ATLAS, paused).idle_mean, 0.025)
        self.assertIsNone(predicted().idle_mean)

    def test_sweeps(self):
        """Under clook nothing is read, and the queue is C-LOOK's, where FCFS could not follow;
        beyond, it is saturated. Seen to fail: clook's queue as if served in order."""
        for more in ({"rate": 110.0}, {"think_time": 0.1}):
            found, wanted = self.told("clook", **more)
            self.assertEqual(found, wanted)
        # 17.6 ms: freeblock sim --preset paper --policy clook --think 100 \
        #       --think-spread exponential --hold 1
        self.assertAlmostEqual(self.told("clook", think_time=0.1)[0] * 1e3, 17.6, delta=0.5)
        found = predicted(FreeSettings(policy="clook"), rate=68.0)
        self.assertEqual((found.fresh, found.slowdown, found.saturated), (0, 0, False))
        full = predicted(FreeSettings(policy="clook"), rate=500.0)
        self.assertEqual((full.saturated, full.response_alone, full.idle_fraction),
                         (True, None, 0))


class Gap(unittest.TestCase):
    """The chosen request's seek and latency."""

    def drawn(self, policy, n, draws=40000):
        """(mean seek, mean latency) of choices among n independent requests."""
        random = np.random.default_rng(3)
        heads = (np.arange(9) + 0.5) / 9
        head = heads[random.integers(0, 9, draws)]
        apart = np.abs(random.random((draws, n)) - head[:, None])
        seek = CURVE[0] + CURVE[1] * np.sqrt(apart)
        late = random.random((draws, n))
        total = seek + late
        if policy == "sstf":
            best = seek.argmin(axis=1)
        elif policy == "sptf":
            best = total.argmin(axis=1)
        else:
            within = total <= 1.6 * total.min(axis=1)[:, None]
            best = np.where(within, seek, np.inf).argmin(axis=1)
        at = np.arange(draws), best
        return seek[at].mean(), late[at].mean()

    def test_closed_form_of_independent_requests(self):
        """Each policy's choice, to 2 %."""
        # Seen to fail: without the factor n - 1 of who else had the shortest sum
        for policy in freegap.MECHANICAL:
            for n in (2, 7):
                with self.subTest(policy=policy, n=n):
                    p = freegap.joint(depletion.seeks(CURVE), freegap.BINS, n, policy, 0.6)
                    choice = freegap.Choice(1 / freegap.BINS, p.mean(axis=0))
                    seek, late = self.drawn(policy, n)
                    self.assertAlmostEqual(choice.seek / seek, 1, delta=0.02)
                    self.assertAlmostEqual(choice.latency / late, 1, delta=0.02)

    def test_one_pending_is_random(self):
        """Of one there is no choice: half a turn."""
        for policy in freegap.MECHANICAL:
            gap = predicted(FreeSettings(policy=policy), outstanding=2)
            self.assertAlmostEqual(gap.latency_mean / ATLAS.revolution_time, 0.5, places=6)

    def test_gap_is_a_distribution(self):
        """Its mean is that of seek and latency."""
        found = predicted()
        self.assertAlmostEqual(found.gap.p.sum(), 1, places=9)
        self.assertAlmostEqual(found.gap.mean(), found.gap_mean, places=9)


class Yield(unittest.TestCase):
    """What a gap brings."""

    def test_window_of_a_track(self):
        """Whole granules on one side of the track's end, against windows that are drawn."""
        # Seen to fail: the track's end forgotten
        track = freeyield.Track(1.0, 20.5, FreeSettings(), 4096)
        fits = track.fits(np.array([0.3]))[:, 0]
        random = np.random.default_rng(5)
        end, phase = random.random((2, 200000))
        # the window is [0, 0.3); the track ends somewhere, granules begin at phase
        before = np.where(end < 0.3, end, 0.3)
        after = np.where(end < 0.3, 0.3 - end, 0.0)
        count = np.floor(np.maximum(before, after) / track.tau - phase)
        for k in (1, 3, 5, 6):
            self.assertAlmostEqual(fits[k - 1], (count >= k).mean(), delta=0.06)

    def test_more_conservatism_less_free(self):
        """Monotone in conservatism, and in what is allowed."""
        found = [predicted(FreeSettings(conservatism=c * 1e-6)) for c in range(0, 1000, 200)]
        self.assertEqual(found, sorted(found, key=lambda f: -f.bytes_per_gap))
        self.assertEqual(found, sorted(found, key=lambda f: -f.slowdown))
        prepends = predicted(FreeSettings(separate=False)).fresh
        limited = predicted(FreeSettings()).fresh
        lifted = predicted(FreeSettings(lift="all")).fresh
        self.assertLess(prepends, limited)
        self.assertLess(limited, lifted)

    def test_no_more_than_the_latency(self):
        """Even without conservatism no more is read than passes in the latency."""
        found = predicted(FreeSettings(conservatism=0.0, policy="sstf"))
        passes = found.latency_mean / ATLAS.revolution_time * ATLAS.track_bytes()
        self.assertLess(found.bytes_per_gap, passes)

    def test_no_gap_without_choice(self):
        """None in a closed loop of one, nor under an order that predicts nothing."""
        self.assertEqual(predicted(outstanding=1).fresh, 0)
        self.assertEqual(predicted(FreeSettings(policy="clook")).fresh, 0)


class Queue(unittest.TestCase):
    """Arrivals from outside."""

    def test_saturated_is_an_answer(self):
        """More than the drive can do: said so, with the rate that it can."""
        found = predicted(rate=1000.0)
        self.assertTrue(found.saturated)
        self.assertIsNone(found.foreground_response)
        self.assertGreater(found.saturation_rate, 150)
        self.assertGreater(found.fresh, 0)

    def test_light_load_is_m_g_1(self):
        """Hardly any load: the response is the service, and idle is what is left."""
        found = predicted(rate=0.1)
        self.assertLess(found.fresh, 1e3)
        self.assertAlmostEqual(found.idle_fraction, 1 - 0.1 * found.response_alone, delta=1e-4)
        self.assertAlmostEqual(found.idle_mean, 10)

    def test_idle_reads(self):
        """The less the more often the idle time ends, behind a write cache, and on drives whose
        reads do not follow each other; a threshold where they would cost more than the goal."""
        # Seen to fail: no margin behind a cache; no threshold
        nearline = Device.from_drive(sim.drive_file("nearline16"))
        rare, often = (freeidle.idle_reads(nearline, freeidle.Idle(0.5, rate))
                       for rate in (10.0, 60.0))
        self.assertGreater(rare.rate, often.rate)
        self.assertAlmostEqual(rare.rate[0] / (0.5 * freeidle.stream_rate(nearline)), 1, delta=0.05)
        self.assertEqual(rare.wait, 0)
        self.assertLess(freeidle.idle_reads(nearline, freeidle.Idle(0.5, 60.0, 4e-3)).rate,
                        0.95 * often.rate)
        self.assertGreater(freeidle.idle_reads(ATLAS, freeidle.Idle(0.5, 30.0)).wait, 5e-3)

    def test_idle_simulated(self):
        """Gaps and idle time, write cache off and on, within 15 % of the simulator. Seen to fail:
        gaps beside a write cache; no margin behind one; buffers of 256 KiB."""
        for drive, rate in (("nearline16", 48), ("nearline16", 79), ("nearline16-wc", 24),
                            ("nearline16-wc", 48)):
            device = Device.from_drive(sim.drive_file(drive))
            load = workload(device, rate=float(rate))
            # in 100 s the policy has learnt, and that is 20 % less at 48/s with a cache
            ran = [sim.simulate(drive=drive, rate=str(rate), seconds="400", seed=seed, **MODULE)
                   for seed in "123"]
            found = np.mean([each["free_mb_s"] for each in ran])
            with self.subTest(drive=drive, rate=rate, spread=np.std([r["free_mb_s"] for r in ran])):
                self.assertAlmostEqual(unseenfree.told(device, load)["fresh_mb_s"] / found, 1,
                                       delta=0.15)

    def test_long_writes(self):
        """Beside long writes, too, idle time is within 30 % of the simulator: 106 MB/s told for 99,
        and 85 for 73. Seen to fail: a third of a turn that each of them costs, 46 for 99."""
        for drive, lines, rate, reads in (("nearline16-serpentine", "", 25.0, 0.15),
                                          ("archive8", "write_cache off", 14.0, 0.18)):
            device = Device.from_drive(sim.drive_file(drive))
            device = answer.through(device) if lines else device
            load = Workload(rate, "poisson", 65536.0, reads, device.capacity,
                            request_size_cv2=15 / 16)
            ran = [sim.simulate(drive=drive, set=lines, rate="%g" % rate, reads="%g" % reads,
                                size="exp:64k", seconds="100", seed=seed, **MODULE)["idle"]["mb_s"]
                   for seed in "123"]
            told = unseenfree.told(device, load)["idle_mb_s"]
            with self.subTest(drive=drive, told=told, spread=np.std(ran)):
                self.assertAlmostEqual(told / np.mean(ran), 1, delta=0.3)

    def test_idle_without_read_ahead(self):
        """Where the drive does not read ahead: what a read takes, and how much is read, within 20 %
        of the simulator. Seen to fail: reads one behind the other at the medium's rate; no turn
        lost; one without zero latency as with it."""
        for drive, rate in (("cheetah9", 35), ("cheetah9", 70), ("atlas10k", 35), ("atlas10k", 70)):
            device = Device.from_drive(sim.drive_file(drive))
            load = workload(device, rate=float(rate))
            ran = [sim.simulate(drive=drive, rate=str(rate), seconds="100", seed=seed, **MODULE)
                   for seed in "123"]
            took = np.mean([each["idle"]["read_ms"] for each in ran])
            found = [each["free_mb_s"] for each in ran]
            with self.subTest(drive=drive, rate=rate, took=took, spread=np.std(found)):
                told = freeidle.idle_reads(device, freeidle.Idle(0.5, float(rate))).read_time
                self.assertAlmostEqual(told * 1e3 / took, 1, delta=0.2)
                self.assertAlmostEqual(unseenfree.told(device, load)["fresh_mb_s"] /
                                       np.mean(found), 1, delta=0.2)

    def test_late_reads(self):
        """The chance that a read begins too late, with the slack of the least of three, against
        draws. Seen to fail: the slack of one; nothing to spare."""
        draw = np.random.default_rng(1)
        device = dataclasses.replace(ATLAS, seek_spread=0.1e-3)
        slack = draw.uniform(0, 0.2e-3, (freeidle.LANDINGS, 200000)).min(axis=0) + freeidle.SEND
        late = draw.laplace(0, 0.1e-3 / np.sqrt(2), 200000) > slack
        self.assertAlmostEqual(freeidle.late(device, 0.2e-3), late.mean(), delta=0.005)
        self.assertEqual(freeidle.late(dataclasses.replace(ATLAS, seek_spread=0.0), 0.2e-3), 0)

    def test_bad_settings_are_named(self):
        """Each with its value and unit."""
        for settings, text in ((FreeSettings(policy="sptf-sv"), "policy 'sptf-sv'"),
                               (FreeSettings(lift="sauce"), "lift 'sauce'"),
                               (FreeSettings(value="roots"), "value 'roots'"),
                               (FreeSettings(conservatism=-1.0), "conservatism -1.0 (s)"),
                               (FreeSettings(conservatism=300.0), "conservatism 300.0 (s)"),
                               (FreeSettings(granule=0), "granule 0 (bytes)")):
            with self.assertRaises(ToolError) as caught:
                predicted(settings)
            self.assertIn(text, str(caught.exception))


class Scan(unittest.TestCase):
    """The course of a scan."""

    def test_windows_of_runs(self):
        """What windows hold of blocks in runs, against tracks that are drawn."""
        # Seen to fail: a second run with all of the window though the first has a part of it
        length, m, window = 20, 8, 6
        windows, table = freescan.windows_of(length, length)
        at = list(windows).index(window)
        random = np.random.default_rng(7)
        for runs in (1, 2, 3):
            counts = np.zeros(length + 1)
            for _ in range(4000):
                track = self.drawn_track(random, length, m, runs)
                begin = random.random() * length
                first, end = int(np.ceil(begin)), int(begin + window)
                sides = (track[first:end], track[:max(end - length, 0)])
                counts[max(side.sum() for side in sides)] += 1
            for k in (1, 3, 5):
                self.assertAlmostEqual(table[runs - 1][k, m, at], counts[k:].sum() / 4000,
                                       delta=0.09)

    @staticmethod
    def drawn_track(random, length, m, runs):
        """A track with m blocks left, in so many runs of about one length; one run lies within
        the track, several anywhere on the ring."""
        parts = [m // runs + (i < m % runs) for i in range(runs)]
        if runs == 1:
            track = np.zeros(length, dtype=int)
            begin = random.integers(0, length - m + 1)
            track[begin:begin + m] = 1
            return track
        words = [[1] * part for part in parts] + [[0]] * (length - m)
        order = random.permutation(len(words))
        flat = np.concatenate([words[i] for i in order]).astype(int)
        return np.roll(flat, random.integers(0, length))

    def test_straddlers(self):
        """Tracks of whole blocks have none; of odd lengths all but one in a block's sectors."""
        def of(sectors):
            device = Device.three_part(1e-3, 1e-5, 2e-3, 1e-7, 100, 0.006, 4, 1000, sectors)
            return freescan.straddlers_of(device, 4096.0)
        self.assertEqual(of(320), 0)
        self.assertEqual(of(324), 0.5)
        self.assertEqual(of(321), 7 / 8)

    def test_course(self):
        """A scan gets slower and slower, is done at the end, and took the sum of its parts."""
        found = predicted(scan=True)
        self.assertEqual(found.coverage[-1], 1)
        self.assertTrue((np.diff(found.coverage) >= 0).all())
        read = np.diff(found.coverage, prepend=0) * ATLAS.capacity
        some = found.by_coverage > 0
        self.assertAlmostEqual((read[some] / found.by_coverage[some]).sum() /
                               found.scan_seconds, 1, delta=0.01)
        begun = np.interp(0.02, found.coverage, found.by_coverage)
        self.assertAlmostEqual(begun / found.fresh, 1, delta=0.1)
        half, most = np.interp((0.5, 0.95), found.coverage, found.by_coverage)
        self.assertLess(most, half)
        self.assertLess(half, begun)

    def test_values(self):
        """Blocks that are worth more where few are left: a scan is slower at first, faster at its
        end, and over sooner."""
        # Seen to fail: pieces chosen by how many blocks they have all the same
        count, root = (predicted(FreeSettings(policy="sptf", value=value), scan=True)
                       for value in ("count", "root"))
        speeds = [np.interp((0.3, 0.97), found.coverage, found.by_coverage)
                  for found in (count, root)]
        self.assertLess(speeds[1][0], 0.95 * speeds[0][0])
        self.assertGreater(speeds[1][1], 1.2 * speeds[0][1])
        self.assertLess(root.scan_seconds, count.scan_seconds)

    def test_chosen_together(self):
        """Where requests are chosen with their free reads the best of several gaps is taken; with
        one that waits there is no choice."""
        for policy, weights, more in (("auto", (0.5, 0.0, 0.5), 1), ("auto", (1.0,), 0),
                                      ("sptf-sw", (0.5, 0.0, 0.5), 0)):
            load = mock.Mock(settings=FreeSettings(policy=policy))
            self.assertAlmostEqual(
                freeband.chances(load, mock.Mock(weights=np.array(weights))),
                1 + more * freeband.AUTO_FREE)

    def test_begun_at(self):
        """A course begins with the fresh map's figure and ends as it was; its time is that of its
        speeds. Seen to fail: scaled as a whole; the time left as it was."""
        done = np.array([0.02, 0.5, 0.9, 1.0])
        told = freescan.Scan(1.0, done, np.array([40.0, 30.0, 20.0, 2.0]), done)
        begun = freescan.begun_at(told, 20.0, 1e3)
        self.assertAlmostEqual(begun.rate[0], 20.0 + 20.0 * 0.01)
        self.assertAlmostEqual(begun.rate[3], 2.0 - 1.0 * 0.05)
        self.assertAlmostEqual(begun.seconds, float(1e3 * np.sum(
            np.diff(done, prepend=0) / begun.rate)))
        self.assertAlmostEqual(begun.times[-1], begun.seconds)
        self.assertIs(freescan.begun_at(told, 0.0, 1e3), told)


class Simulated(unittest.TestCase):
    """Beside the simulator, on a map that stays fresh; the whole grid is in validate-predict."""

    def agree(self, within, settings, **more):
        """The free bandwidth of both, relative."""
        names = {"conservatism_us": "%g" % (settings.conservatism * 1e6), "lift": settings.lift,
                 "policy": settings.policy, "task": "fresh", "seconds": "60"}
        ran = sim.simulate(preset="paper", drive="atlas10k", **names,
                           **{k: "%g" % v for k, v in more.items()})
        found = predicted(settings, **more)
        self.assertAlmostEqual(found.fresh / ran["free_mb_s"] / 1e6, 1, delta=within)
        self.assertAlmostEqual(found.requests_per_second / ran["requests_per_s"], 1, delta=0.05)

    def test_closed_loops(self):
        """Ten outstanding, by policy, the paper's limits and lifted: 10 %."""
        for policy in ("sptf", "sptf-sw"):
            for lift in ("none", "all"):
                with self.subTest(policy=policy, lift=lift):
                    self.agree(0.1, FreeSettings(policy=policy, lift=lift), outstanding=10)

    def test_whole_scan(self):
        """Of the Atlas 10K by sstf: 15 %."""
        # Seen to fail: blocks across the ends of tracks never read
        ran = sim.simulate(preset="paper", drive="atlas10k", policy="sstf", outstanding="10",
                           lift="all", task="scan", whole="1")
        found = predicted(FreeSettings(policy="sstf", lift="all"), scan=True)
        self.assertAlmostEqual(found.scan_seconds / ran["scan_s"], 1, delta=0.15)

    def test_whole_scan_as_it_is(self):
        """Of the Atlas 10K with the module's defaults, in gaps alone: 12 %."""
        # Seen to fail: the best of one gap, and as many gaps at the end as at first (22 % too long)
        ran = sim.simulate(drive="atlas10k", outstanding="10", task="scan", whole="1")
        found = predicted(answer.with_buffers(answer.settings(None, None, None).free, ATLAS),
                          scan=True)
        self.assertAlmostEqual(found.scan_seconds / ran["scan_s"], 1, delta=0.12)

    def test_poisson(self):
        """At 70 % of what the drive can do: 10 %."""
        self.agree(0.1, FreeSettings(), rate=84)


if __name__ == "__main__":
    taptest.main()
