# SPDX-License-Identifier: GPL-2.0
"""The analytic model's components (tools/cli/freeblock/prediction): the paper's equations by
hand, queues against simulations of the same queue, choices against draws, workloads and devices
that are refused. tests/python/test_validate_predict.py has them together, beside the drive engine.
Takes some seconds.
"""

import dataclasses
import math
import unittest

import numpy as np

from freeblock import ToolError, sim
from freeblock.prediction import cache, choice, compose, follow, queue, seek
from freeblock.prediction.device import CacheSpec, Device
from freeblock.prediction.distribution import Dist
from freeblock.prediction.mechanism import Mechanism
from freeblock.prediction.queue import Moments, Services
from freeblock.prediction.workload import Workload

ATLAS = Device.from_drive(sim.drive_file("atlas10k"))
MEAN = 0.008            # s


def workload(device=ATLAS, rate=40.0, **more):
    """Random reads of 8 KiB over a disk."""
    return Workload(**{"request_rate": rate, "arrival_process": "poisson", "request_size": 8192.0,
                       "read_fraction": 1.0, "data_span": device.capacity, **more}).check()


def brute(rate, draw, steps=2500):
    """(mean response, utilisation) of 400 queues side by side with Poisson arrivals; draw(rng,
    pending): services."""
    rng, left = np.random.default_rng(5), np.zeros(400, dtype=int)
    work = idle = seen = 0.0
    for step in range(2000 + steps):
        took = draw(rng, np.maximum(left, 1))
        now = np.maximum(left, 1) - 1 + rng.poisson(rate * took)
        if step >= 2000:
            work, idle = work + took.sum(), idle + (left == 0).sum() / rate
            seen += now.sum()
        left = now
    return seen / (steps * 400) / rate, work / (work + idle)


class Equations(unittest.TestCase):
    """By hand."""

    def test_queue(self):
        """Eq. 11: M/M/1 and M/D/1 at a utilisation of 1/2; none of constant services that come
        evenly; infinite when full. Seen to fail: C_s for C_s squared."""
        self.assertAlmostEqual(queue.mm1_delay(50, 0.01), 0.01)
        self.assertAlmostEqual(queue.mg1_delay(50, 0.01, 0.01 ** 2), 0.005)
        self.assertEqual(queue.mg1_delay(100, 0.01, 1e-4), math.inf)
        self.assertEqual(queue.constant_delay(50, 0.01, 0.0), 0)
        self.assertEqual(queue.constant_delay(101, 0.01, 1e-6), math.inf)

    def test_bursts(self):
        """Eq. 12: five requests 4 ms apart of 10 ms each wait 2 (10 - 4) ms; of bursts of 2 and 8
        three quarters more are before one. Bursts that meet wait for each other. Seen to fail: the
        mean size alone."""
        self.assertAlmostEqual(queue.burst_wait(5, 0, 0.010, 0.004), 0.012)
        self.assertAlmostEqual(queue.burst_wait(5, 0.36, 0.010, 0.0), 0.010 * (68 / 10 - 1) / 2)
        same = Services.same(0.010, 0.0)
        alone, met = (queue.Bursts(10.0, 1.0, 5, 0.0, 0.004, meet).queued(same).response
                      for meet in (0, 1))
        self.assertAlmostEqual(alone, 0.022)
        self.assertAlmostEqual(met, 0.0246, delta=1e-4)
        falling = Services([0.01] + 9 * [0.005], [1e-4] + 9 * [25e-6])
        self.assertLess(queue.drain(5, 0.0, falling)[0], queue.drain(5, 0.0, same)[0] / 1.7)

    def test_cache(self):
        """Eq. 7 to 9 and 6. Seen to fail: a segment that is not the most; a first request that is a
        partial hit."""
        self.assertEqual(cache.data_read(8192, 65536), 73728)
        self.assertEqual(cache.data_read(8192, 65536, 16384), 16384)
        self.assertEqual(cache.requests_serviced_by_one_disk_access(8192, 65536, 40000), 4)
        self.assertAlmostEqual(cache.miss_probability(4, 0.5), 0.625)
        self.assertAlmostEqual(cache.hurried_miss_probability(0.02, 0.01, 4), 0.5)
        self.assertAlmostEqual(cache.hurried_miss_probability(0.01, 0.02, 4), 0.25)
        even = Dist.uniform(0.0, 0.010)
        # the third comes 2 x 4 ms after the first, 3 x 1 ms of transfer before its end
        self.assertAlmostEqual(cache.partial_hit_probability(even, 3, 1000, 1e6, 0.004), 0.5,
                               delta=0.01)
        self.assertEqual(cache.partial_hit_probability(even, 1, 1000, 1e6, 0.004), 0)
        self.assertAlmostEqual(cache.cache_service_time(1e4, 1e7, 0.25, 0.02), 0.006)

    def test_seeks(self):
        """Eq. 4: one of n pending over C cylinders is C / (n + 2) away on the mean. Seen to fail:
        the power n."""
        disk = dataclasses.replace(
            ATLAS, heads=1, track_switch=0.0, write_settle=0.0,
            seek_distance=np.array([1.0, ATLAS.cylinders]),
            seek_time=np.array([1e-6, 1e-6 * ATLAS.cylinders]))
        load = workload(disk, data_span=1e9)
        first, last = disk.cylinder_of(np.array([0.0, 1e9]))
        for pending in (0, 1, 4, 20):
            mean = seek.move(disk, load, pending, step=1e-6).mean() * 1e6
            self.assertAlmostEqual(mean / ((last - first) / (pending + 2)), 1, delta=0.04)

    def test_slow(self):
        """To half of the data each seek takes a turn more. Seen to fail: zones taken for fast."""
        zones = ATLAS.zones
        half = zones.first_byte + zones.bytes / 2 > ATLAS.capacity / 2
        disk = dataclasses.replace(ATLAS, zones=zones._replace(slow=half))
        for pending in (1, 4):
            more = seek.move(disk, workload(), pending).mean() - \
                seek.move(ATLAS, workload(), pending).mean()
            share = float(zones.bytes[half].sum() / ATLAS.capacity)
            self.assertAlmostEqual(more / (share * ATLAS.revolution_time), 1, delta=0.01)
        for policy in ("sstf", "clook"):
            fast, slow = (choice.positioning(one, (0, ATLAS.capacity), 1.0, 1, policy)[0]
                          for one in (ATLAS, disk))
            self.assertAlmostEqual((slow - fast) / (share * ATLAS.revolution_time), 1, delta=0.05)

    def test_rotation(self):
        """Eq. 5: half a turn; with zero-latency access less of a long request's."""
        turn = ATLAS.revolution_time
        plain = dataclasses.replace(ATLAS, zero_latency=False)
        self.assertAlmostEqual(Mechanism(plain, workload()).rotation().mean(), turn / 2, 5)
        large = workload(request_size=ATLAS.track_bytes() / 2)
        slow, quick = (Mechanism(disk, large).access().mean() for disk in (plain, ATLAS))
        self.assertGreater(slow - quick, 0.05 * turn)

    def test_lower_workload(self):
        """4.4: misses at their rate, in runs of what each brings in."""
        spec = CacheSpec(4, 65536.0, "segment")
        disk = dataclasses.replace(ATLAS, cache=spec)
        load = workload(disk, 20.0, run_length=4 * 8192.0)
        lower = cache.Cache(disk, Mechanism(disk, load), load).lower_workload
        self.assertAlmostEqual(lower.request_rate, 5)
        self.assertEqual(lower.run_length, 65536)


class Queues(unittest.TestCase):
    """Against simulations of the same queue."""

    def test_state_dependent(self):
        """Gamma services that fall with the number pending. Seen to fail: the service chosen by
        the number left without the one that is served."""
        first, cv2 = MEAN * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.55]), 0.2
        for rate in (70.0, 130.0):
            response, busy = brute(rate, lambda rng, pending: first[
                np.minimum(pending, 6) - 1] * rng.gamma(1 / cv2, cv2, len(pending)))
            found = queue.state_dependent(rate, Services(first, first ** 2 * (1 + cv2)))
            self.assertAlmostEqual(found.response / response, 1, delta=0.012)
            self.assertAlmostEqual(found.utilisation / busy, 1, delta=0.01)

    def test_runs(self):
        """A long service, then three short ones: of the variance between them only a part counts.
        Seen to fail: all of it, half as long again; none."""
        long, short, place = 0.020, 0.004, np.zeros(400, dtype=int)

        def draw(rng, _):
            took = np.where(place == 0, long * rng.gamma(10, 0.1, 400), short)
            np.copyto(place, (place + 1) % 4)
            return took

        mean = (long + 3 * short) / 4
        for rho in (0.4, 0.7):
            between = 3 / 16 * (long - short) ** 2 * queue.run_correlation(4, rho)
            found = queue.state_dependent(rho / mean, Services.same(mean, long ** 2 / 40 + between))
            self.assertAlmostEqual(found.response / brute(rho / mean, draw)[0], 1, delta=0.03)

    def test_closed(self):
        """Processes that think, exponential services: the machine repair model. Without thinking
        the server is never idle. Seen to fail: one that is served thinks, too."""
        found = queue.closed(3, 0.02, Services.same(0.01, 0.01 ** 2))
        weights = np.array([1, 3 * 0.5, 6 * 0.25, 6 * 0.125])
        busy = 1 - weights[0] / weights.sum()
        self.assertAlmostEqual(found.throughput, busy / 0.01, delta=0.01 * busy / 0.01)
        found = queue.closed(5, 0.0, Services([0.01, 0.009, 0.008, 0.007, 0.006], np.zeros(5)))
        self.assertEqual((found.utilisation, found.response), (1, 0.03))

    def test_saturated(self):
        """An answer, later where an order chooses; a rate just below it is served."""
        services = Services([0.010, 0.008], [1.2e-4, 8e-5])
        self.assertEqual(queue.state_dependent(126, services).response, math.inf)
        self.assertLess(queue.state_dependent(124, services).response, 3)
        self.assertEqual(queue.constant(101, Services.same(0.01, 1e-6)).response, math.inf)
        self.assertEqual(Moments(1.0, 0.5).variance(), 0)


class Choices(unittest.TestCase):
    """What orders choose: (seek, latency) in turns, of seeks 0.2 + 1.5 sqrt(distance)."""

    @staticmethod
    def seeks(bins=choice.BINS):
        """Of nine heads the probabilities of seek times."""
        heads, at = (np.arange(9) + 0.5) / 9, (np.arange(4000) + 0.5) / 4000
        times = bins * (0.2 + 1.5 * np.sqrt(np.abs(at - heads[:, None])))
        rows = np.zeros((9, int(times.max()) + 2))
        for row, each in zip(rows, times):
            row += np.bincount(np.round(each).astype(int), minlength=len(row)) / len(at)
        return rows

    @staticmethod
    def drawn(policy, n):
        """Mean of seek and latency of choices among n, the others left over by earlier ones."""
        rng, many = np.random.default_rng(3), 200
        at, angle, found = rng.random((many, n)), rng.random((many, n)), []
        head, platter, rows = rng.random(many), np.zeros(many), np.arange(many)
        for step in range(260):
            moves = 0.2 + 1.5 * np.sqrt(np.abs(at - head[:, None]))
            cost = moves + (angle - platter[:, None] - moves) % 1
            within = cost <= 1.6 * cost.min(axis=1)[:, None]
            best = {"sstf": moves, "sptf": cost,
                    "sptf-sw": np.where(within, moves, np.inf)}[policy].argmin(axis=1)
            if step >= 60:
                found.append(cost[rows, best].mean())
            head, platter = at[rows, best], platter + cost[rows, best]
            at[rows, best], angle[rows, best] = rng.random((2, many))
        return np.mean(found)

    def test_left_over(self):
        """Among those that earlier choices left, near the head fewer: positioning times to 4 %.
        Seen to fail: as if they were independent, 8 % too short."""
        for policy in choice.MECHANICAL:
            k, share, _ = choice.DEPLETION[policy]
            for n in (4, 16):
                count = 1 + share * (n - 1)
                rows = choice.depleted(self.seeks(), choice.BINS, count, policy, 0.6, k)
                found = choice.Choice(1 / choice.BINS, choice.joint(
                    rows, choice.BINS, count, policy, 0.6).mean(axis=0))
                self.assertAlmostEqual((found.seek + found.latency) / self.drawn(policy, n), 1,
                                       delta=0.04, msg=(policy, n))

    def test_sweeps(self):
        """C-LOOK's distances beside a process that serves so: mean to 2 %; of one it is a third of
        the span. Seen to fail: a jump back that is not counted."""
        rng, many, n = np.random.default_rng(1), 400, 6
        at, head, far, rows = rng.random((many, n)), rng.random(many), [], np.arange(many)
        for step in range(500):
            best = ((at - head[:, None]) % 1).argmin(axis=1)
            if step > 100:
                far.append(np.abs(at[rows, best] - head))
            head = at[rows, best]
            at[rows, best] = rng.random(many)
        x = np.linspace(0, 1, 4001)
        self.assertAlmostEqual(np.trapz(choice.tail_clook(n, x), x) / np.mean(far), 1, delta=0.02)
        for tail in choice.TAILS.values():
            self.assertAlmostEqual(np.trapz(tail(1, x), x), 1 / 3, delta=0.005)


class Runs(unittest.TestCase):
    """Requests behind the first of their run."""

    def followers(self, gap, device=ATLAS, **more):
        """cache.Followers of runs of eight reads."""
        load = workload(device, run_length=8 * 8192.0, **more)
        return cache.Cache(device, Mechanism(device, load), load).followers(gap)

    def test_without_cache(self):
        """The next request at once has just passed: nearly a turn each (E9), whatever eq. 5 says.
        Seen to fail: half a turn."""
        found = self.followers(follow.Gap("think", 0.0),
                               dataclasses.replace(ATLAS, zero_latency=False))
        self.assertAlmostEqual(found.share, 7 / 8)
        self.assertAlmostEqual(found.mean / ATLAS.revolution_time, 1, delta=0.1)
        self.assertEqual(found.miss, found.share)

    def test_hits(self):
        """What is read ahead in time is a hit; what comes at once hits in part, and waits for the
        medium; beyond a segment of four requests each fifth misses again. Seen to fail: reading on
        beyond the segment."""
        spec = CacheSpec(4, 1 << 20, "segment", hit_overhead=1e-4)
        disk = dataclasses.replace(ATLAS, cache=spec)
        slow, quick = (self.followers(follow.Gap("think", gap), disk) for gap in (0.02, 0.0))
        self.assertEqual((slow.miss, slow.partial), (0, 0))
        self.assertAlmostEqual(slow.mean, 1e-4 + 8192 / ATLAS.bus_rate, delta=1e-6)
        self.assertGreater(quick.partial, 0.5)
        self.assertLess(quick.mean, 0.2 * ATLAS.revolution_time)
        small = dataclasses.replace(disk, cache=dataclasses.replace(spec, segment_bytes=32768.0))
        self.assertAlmostEqual(self.followers(follow.Gap("think", 0.02), small).miss, 1 / 8)


class Refused(unittest.TestCase):
    """What is wrong is named, with its unit."""

    def test_predict(self):
        """An order that there is not; data beyond the disk; a model that is not there."""
        for wrong, text in (
                (lambda: compose.predict(ATLAS, workload(), "scan"), "'scan': not one of"),
                (lambda: compose.predict(ATLAS, workload(data_start=1e6), "fcfs"), "beyond"),
                (lambda: Device.from_model("/nope"), "/nope: No such file")):
            with self.assertRaises(ToolError) as caught:
                wrong()
            self.assertIn(text, str(caught.exception))
