#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The queue of freeblock predict: chains against formulas that are known and against brute
force, the orders' constants against the abstract process they are of, and what predict()
makes of them. Prints TAP; takes some seconds. No drive is measured here: that is make
validate-predict's.
"""

import math
import os
import sys
import unittest
from dataclasses import replace

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools", "python"), os.path.join(TOP, "tools")]

import numpy as np  # noqa: E402
import taptest  # noqa: E402
from freeblock import ToolError  # noqa: E402
from freeblock.prediction import compose, policies, queue, runqueue  # noqa: E402
from freeblock.prediction.device import Device  # noqa: E402
from freeblock.prediction.distribution import Dist  # noqa: E402
from freeblock.prediction.queue import Moments, Services  # noqa: E402
from freeblock.prediction.workload import Workload  # noqa: E402
from research.predictcheck import abstract  # noqa: E402

MEAN = 0.01             # s, of a service


def exponential(mean):
    """Its moments."""
    return Moments(mean, 2 * mean ** 2)


def brute(rate, service, steps=2500, warm=700, replicas=400, seed=3):
    """(mean response, share of busy time) of a queue whose service(rng, pending) says how long
    the next takes, for an array of numbers pending: many queues side by side."""
    rng = np.random.default_rng(seed)
    left = np.zeros(replicas, dtype=int)
    work = idle = seen = 0.0
    for step in range(warm + steps):
        took = service(rng, np.maximum(left, 1))
        alone = left == 0
        now_left = np.maximum(left, 1) - 1 + rng.poisson(rate * took)
        if step >= warm:
            work += took.sum()
            idle += alone.sum() / rate
            seen += now_left.sum()
        left = now_left
    return seen / (steps * replicas) / rate, work / (work + idle)


class Formulas(unittest.TestCase):
    """What is known in closed form."""

    def test_mm1_md1(self):
        """Response of M/M/1 is 1 / (mu - lambda); the delay of M/D/1 is half that of M/M/1.
        Seen to fail: eq. 11 without its 2."""
        for rate in (20.0, 50.0, 80.0, 95.0):
            known = 1 / (1 / MEAN - rate)
            self.assertAlmostEqual(queue.mm1_delay(rate, MEAN) + MEAN, known, delta=1e-12)
            self.assertAlmostEqual(queue.mg1_delay(rate, MEAN, MEAN ** 2), (known - MEAN) / 2,
                                   delta=1e-12)
            for services, wanted in ((Services.of([exponential(MEAN)]), known),
                                     (Services.same(MEAN, 0.0), MEAN + (known - MEAN) / 2),
                                     ([Dist.constant(MEAN)], MEAN + (known - MEAN) / 2)):
                found = queue.state_dependent(rate, services)
                self.assertAlmostEqual(found.response / wanted, 1, delta=1e-4)
                self.assertAlmostEqual(found.utilisation, rate * MEAN, delta=1e-4)

    def test_mm1_states(self):
        """M/M/1's states are geometric: (1 - rho) rho^n."""
        states = queue.state_dependent(60.0, Services.of([exponential(MEAN)])).states
        for n in (0, 1, 5, 20):
            self.assertAlmostEqual(states[n], 0.4 * 0.6 ** n, delta=1e-9)

    def test_quantiles(self):
        """M/M/1's response is exponential. Seen to fail: n^2 in place of n (n - 1)."""
        found = queue.state_dependent(70.0, Services.of([exponential(MEAN)]))
        for share in (0.5, 0.9, 0.99):
            said = queue.quantile(found.response, found.square, share)
            self.assertAlmostEqual(said / (-math.log(1 - share) * found.response), 1, delta=0.02)

    def test_saturated(self):
        """A queue that is never empty is an answer: endless. Seen to fail: 0 s."""
        for rate in (100.0, 130.0):
            self.assertEqual(queue.mg1_delay(rate, MEAN, 2 * MEAN ** 2), math.inf)
            self.assertEqual(queue.constant_delay(rate, MEAN, MEAN ** 2), math.inf)
            found = queue.state_dependent(rate, Services.same(MEAN, 1e-5))
            self.assertEqual((found.response, found.utilisation), (math.inf, 1.0))

    def test_choice_saturates_later(self):
        """What counts is the service of a long queue, not that of a lonely request."""
        falling = Services.through(np.array([1, 2, 4, 8]), MEAN / np.array([1, 1.2, 1.5, 2.0]),
                                   np.full(4, 1e-5))
        self.assertLess(queue.state_dependent(140.0, falling).response, 0.2)
        self.assertGreater(queue.saturation_rate(falling), 200)

    def test_machine_repair(self):
        """N processes that think for an exponential time, exponential services: M/M/1//N in closed
        form. Without thinking N / S per second, N S each. Seen to fail: nobody there as
        long as one process thinks, not until the first of N comes."""
        for count, think in ((1, 0.02), (4, 0.03), (10, 0.05)):
            terms = [1.0]
            for n in range(count):
                terms.append(terms[-1] * (count - n) * MEAN / think)
            busy = 1 - terms[0] / sum(terms)
            found = queue.closed(count, think, Services.of([exponential(MEAN)]))
            self.assertAlmostEqual(found.throughput * MEAN / busy, 1, delta=0.001)
            self.assertAlmostEqual(found.response, count / found.throughput - think, delta=1e-9)
        found = queue.closed(5, 0.0, Services.of([exponential(MEAN)]))
        self.assertAlmostEqual(found.response, 5 * MEAN, delta=1e-12)

    def test_bursts(self):
        """Eq. 12 by hand, of random sizes by enumeration; a burst no faster than the server is
        none; services that all take the same drain as eq. 12 has it. Seen to fail: bursts
        weighed as if a request drawn at random had a burst of mean size."""
        self.assertAlmostEqual(queue.burst_delay(5, 0, 0.010, 0.004, 0.5), 0.5 * 2 * 0.006)
        sizes = np.array([2, 10])
        waits = np.concatenate([np.arange(n) for n in sizes]) * 0.006
        cv2 = sizes.var() / sizes.mean() ** 2
        self.assertAlmostEqual(queue.burst_wait(6, cv2, 0.010, 0.004), waits.mean())
        self.assertEqual(queue.burst_wait(6, cv2, 0.010, 0.011), 0.0)
        same = queue.Services(np.full(40, 0.010), np.full(40, 0.010 ** 2))
        for gap in (0.0, 0.004, 0.009):
            wait, service = queue.drain(12, gap, same)
            self.assertAlmostEqual(wait, queue.burst_wait(12, 0, 0.010, gap), delta=1e-9)
            self.assertAlmostEqual(service, 0.010)
        whole = queue.Bursts(5.0, 0.9, 6.0, cv2, 0.004, 0).queued(Services.same(0.010, 0.0))
        self.assertAlmostEqual(whole.response - whole.service, 0.9 * waits.mean(), delta=1e-6)

    def test_bursts_meet(self):
        """Bursts whose work is more than the time between them wait for each other; more work than
        time is saturation."""
        rare, often = (queue.Bursts(rate, 1.0, 20.0, 0.3, 0.001).queued(
            Services.same(0.010, 1e-5)) for rate in (20.0, 95.0))
        self.assertGreater(often.response, 1.2 * rare.response)
        self.assertEqual(queue.Bursts(101.0, 1.0, 20.0, 0.3, 0.001).queued(
            Services.same(0.010, 0.0)).response, math.inf)

    def test_bursts_by_chance(self):
        """Those that meet against Lindley's recursion: bursts of 8, or of 2 and 14, and strays,
        Poisson all. Seen to fail: bursts of different sizes as if all were of the mean one."""
        draw = np.random.default_rng(5)
        rate, size, service, count = 40.0, 8, 0.010, 40000
        for gap, apart in ((0.0, 0), (0.003, 0), (0.008, 0), (0.003, 6)):
            sizes = size + apart * draw.choice((-1, 1), count)
            begins = np.sort(draw.uniform(0, sizes.sum() / rate / 0.8, count))
            place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            came = np.repeat(begins, sizes) + gap * place
            strays = draw.uniform(0, begins[-1], round(0.2 * rate * begins[-1]))
            came = np.sort(np.concatenate((came, strays)))
            work = np.cumsum(service - np.diff(came, prepend=came[0] - 1))
            waits = work - np.minimum.accumulate(work)
            found = queue.Bursts(rate, 0.8, size, (apart / size) ** 2, gap).queued(
                Services.same(service, 0.0))
            self.assertAlmostEqual((found.response - service) / waits.mean(), 1, delta=0.06,
                                   msg=(gap, apart))

    def test_crowd(self):
        """Closed loops of many: chains and crowds agree where one becomes the other; more than
        the server follows wait for it; think times that are short against a service."""
        one = Services.same(0.010, 1e-5)
        for think in (1.0, 1.9, 2.2, 4.0):
            chain = queue.closed(queue.MOST_PROCESSES, think, one)
            crowd = queue.crowd(queue.MOST_PROCESSES, think, one)
            self.assertAlmostEqual(crowd.throughput / chain.throughput, 1, delta=0.02)
        found = queue.closed(10 ** 6, 1.0, one)
        self.assertAlmostEqual(found.response, 10 ** 6 * 0.010 - 1, delta=10)
        found = queue.closed(18, 1e-5, one)
        self.assertAlmostEqual(found.response, 18 * 0.010 - 1e-5, delta=1e-6)


class BruteForce(unittest.TestCase):
    """Chains against simulations of the same queue."""

    def test_state_dependent(self):
        """Gamma services that fall with the number pending, once as moments, once as Dists.
        Seen to fail: the service chosen by the number left without the one that is served."""
        first = MEAN * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.55])
        cv2 = 0.2
        services = Services(first, first ** 2 * (1 + cv2))

        def draw(rng, pending):
            return first[np.minimum(pending, 6) - 1] * rng.gamma(1 / cv2, cv2, len(pending))

        grid = np.arange(4000) * 25e-6
        rng = np.random.default_rng(1)
        shape = rng.gamma(1 / cv2, cv2, 40000)
        dists = [Dist.of(mean * shape[::8], np.full(5000, 1 / 5000)) for mean in first]
        self.assertLess(dists[0].mean(), grid[-1])
        for rate in (70.0, 130.0):
            response, busy = brute(rate, draw)
            found = queue.state_dependent(rate, services)
            self.assertAlmostEqual(found.response / response, 1, delta=0.012)
            self.assertAlmostEqual(found.utilisation / busy, 1, delta=0.01)
            self.assertAlmostEqual(queue.state_dependent(rate, dists).response / response, 1,
                                   delta=0.02)

    def test_in_turns(self):
        """A long service, then three short ones, the second of which is longer if it did not
        wait: with independent services the delay would be 1.5 times as long. Seen to fail:
        long ones all the time; "waited" and "came" exchanged."""
        long, short, came = 0.020, 0.004, 0.006
        rate, place = 90.0, np.zeros(400, dtype=int)

        def draw(rng, left):
            took = np.where(place == 0, long * rng.gamma(10, 0.1, 400),
                            np.where((left == 0) & (place == 1), came, short))
            np.copyto(place, (place + 1) % 4)
            return took

        first = runqueue.Turn(Moments(long, long ** 2 * 1.1), Services.same(long, long ** 2 * 0.1))
        turns = [runqueue.Turn(Moments(time, time ** 2), Services.same(short, 0.0))
                 for time in (came, short, short)]
        found, _ = runqueue.in_turns(rate, first, [runqueue.Kind(1.0, turns, 3.0)])
        response, busy = self._brute_turns(rate, draw)
        self.assertAlmostEqual(found.response / response, 1, delta=0.015)
        self.assertAlmostEqual(found.utilisation / busy, 1, delta=0.01)

    @staticmethod
    def _brute_turns(rate, draw):
        """brute(), but the service is told who was left: 0 for nobody."""
        rng = np.random.default_rng(5)
        left = np.zeros(400, dtype=int)
        work = idle = seen = 0.0
        for step in range(4500):
            took = draw(rng, left)
            now_left = np.maximum(left, 1) - 1 + rng.poisson(rate * took)
            if step >= 2000:
                work, idle = work + took.sum(), idle + (left == 0).sum() / rate
                seen += now_left.sum()
            left = now_left
        return seen / (2500 * 400) / rate, work / (work + idle)

    def test_long_runs(self):
        """Places that go on as the last ones did are as if they were all said. Seen to fail: a
        period begun one place later; steady ones counted once."""
        first = runqueue.Turn(Moments(0.02, 5e-4), Services.same(0.02, 1e-4))
        odd, even = (runqueue.Turn(Moments(time, time ** 2 * 1.1),
                                   Services.same(time, time ** 2 / 9))
                     for time in (0.002, 0.004))
        for count in (39.0, 200.4):
            whole = math.ceil(count)
            said = runqueue.Kind(0.7, ([odd, even] * whole)[:whole], count)
            short = runqueue.Kind(0.7, [odd, even, odd, even], count, 2)
            (one, place), (two, _) = (runqueue.in_turns(200.0, first, [kind])
                                      for kind in (said, short))
            self.assertAlmostEqual(two.response / one.response, 1, delta=1e-5)
            self.assertAlmostEqual(two.service / one.service, 1, delta=1e-5)
            self.assertEqual(len(place), whole)

    def test_many_turns(self):
        """Queues too long for the chain: against it where it is not, with and without a choice.
        Seen to fail: all of the variance between places, and none."""
        first = runqueue.Turn(Moments(0.02, 4.4e-4), Services.same(0.02, 4e-5))
        falling = runqueue.Turn(first.came, Services(0.02 - 2e-4 * np.arange(30),
                                                     np.full(30, 4.4e-4)))
        turns = [runqueue.Turn(Moments(0.003, 1e-5), Services.same(0.003, 1e-6))]
        for begin in (first, falling):
            for count, rate in ((3.0, 100.0), (15.0, 180.0)):
                kind = runqueue.Kind(1.0, turns, count)
                exact, _ = runqueue.in_turns(rate, begin, [kind])
                self.assertAlmostEqual(runqueue._many_turns(rate, begin, [kind]).response /
                                       exact.response, 1, delta=0.06)
        seen = abstract.turn_share(5, 1, 8, 0.6, steps=3000)
        self.assertAlmostEqual(runqueue.run_correlation(8, 0.6), seen, delta=0.1)

    def test_single_requests_are_turns_of_one(self):
        """in_turns() without runs is state_dependent()."""
        services = Services(MEAN * np.array([1.0, 0.8, 0.7]), MEAN ** 2 * np.array([1.3, 1.0, 0.8]))
        wanted = queue.state_dependent(90.0, services)
        found, _ = runqueue.in_turns(90.0, runqueue.Turn(services[0], services), [])
        self.assertAlmostEqual(found.response / wanted.response, 1, delta=1e-3)

    def test_chosen_early(self):
        """Two at the server, the next chosen when the one before begins: those who come meanwhile
        do not count. Against brute force that remembers each choice; chosen at the last moment
        it is state_dependent(). Seen to fail: those who came meanwhile counted."""
        first = MEAN * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.55])
        services, rate = Services(first, first ** 2 * 1.2), 120.0
        rng = np.random.default_rng(9)
        others, among = np.zeros((2, 400), dtype=int)
        seen = 0
        for step in range(4500):
            # `among`: of how many the one that begins now was chosen; it leaves `others`
            took = first[np.clip(among, 1, 6) - 1] * rng.gamma(5, 0.2, 400)
            left = others + rng.poisson(rate * took)
            seen += left.sum() * (step >= 2000)
            among, others = others, np.maximum(left - 1, 0)
        response = seen / (2500 * 400) / rate
        said = queue.chosen_early(rate, services).response
        self.assertAlmostEqual(said / response, 1, delta=0.02)
        now = queue.state_dependent(rate, services).response
        self.assertGreater(response, 1.1 * now)
        said = queue.chosen_early(rate, services, 0.0).response
        self.assertAlmostEqual(said / now, 1, delta=1e-3)

    @staticmethod
    def _lindley(gap, service, steps=2500):
        """Mean wait of arrivals `gap` s apart; service(step, waits) of as many queues."""
        wait, total = np.zeros(1000), 0.0
        for step in range(500 + steps):
            total += wait.mean() * (step >= 500)
            wait = np.maximum(wait + service(step, wait) - gap, 0.0)
        return total / steps

    def test_batches(self):
        """Requests that come several at once, with services that fall with the number pending; one
        at a time they are state_dependent()'s. Seen to fail: the time that those who come in a
        service wait for its end left out; batches of the mean size."""
        first = MEAN * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.55])
        services, rate, rng = Services(first, first ** 2 * 1.2), 22.0, np.random.default_rng(2)
        alone = queue.in_batches(120.0, [(1.0, 1.0)], services)
        self.assertAlmostEqual(alone.response / queue.state_dependent(120.0, services).response, 1,
                               delta=1e-4)
        left, area, total = np.zeros(400, dtype=int), 0.0, 0.0
        for step in range(3000):
            pause = rng.exponential(1 / rate, 400) * (left == 0)
            left = np.where(left == 0, rng.choice((1, 9), 400), left)
            took = first[np.minimum(left, 6) - 1] * rng.gamma(5, 0.2, 400)
            spent, come = left * took, rng.poisson(rate * took)
            left = left - 1
            for number in range(come.max()):
                more = np.flatnonzero(come > number)
                size = rng.choice((1, 9), len(more))
                left[more] += size
                spent[more] += size * took[more] * rng.random(len(more))
            if step >= 1000:
                area, total = area + spent.sum(), total + (took + pause).sum()
        found = queue.in_batches(rate, [(1.0, 0.5), (9.0, 0.5)], services)
        self.assertAlmostEqual(found.response / (area / total / (5 * rate)), 1, delta=0.015)

    def test_constant(self):
        """D/G/1 against Lindley's recursion, Erlang services; no variance, no delay.
        Seen to fail: the sum without its 1 / k."""
        rng = np.random.default_rng(7)
        self.assertEqual(queue.constant_delay(50.0, MEAN, 0.0), 0.0)
        for cv2 in (0.1, 0.5):
            for rho in (0.6, 0.85):
                seen = self._lindley(MEAN / rho, lambda _, wait, c=cv2: MEAN * rng.gamma(
                    1 / c, c, len(wait)))
                found = queue.constant_delay(rho / MEAN, MEAN, cv2 * MEAN ** 2)
                self.assertAlmostEqual(found / MEAN, seen / MEAN, delta=0.02)

    def test_constant_choice_and_runs(self):
        """Constant arrivals with services that fall with the number pending, near what a lonely
        request would saturate; and with a long service and three short ones in turn.
        Seen to fail: the service of one pending; waits within a run left out."""
        rng = np.random.default_rng(8)
        first = MEAN * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.55])
        gap = MEAN / 0.97
        seen = self._lindley(gap, lambda _, wait: first[np.minimum(
            wait / gap, 5).astype(int)] * rng.gamma(5, 0.2, len(wait)))
        found = queue.constant(1 / gap, Services(first, first ** 2 * 1.2))
        self.assertAlmostEqual(found.response / (seen + found.service), 1, delta=0.06)
        long, short, gap = 0.020, 0.004, 0.0095
        seen = self._lindley(gap, lambda step, wait: np.full(len(wait), short) if step % 4 else
                             long * rng.gamma(20, 0.05, len(wait)))
        found = queue.constant_runs(1 / gap, Moments(long, 1.05 * long ** 2),
                                    Moments(short, short ** 2), [(1.0, 4)])
        self.assertAlmostEqual(found.response / (seen + found.service), 1, delta=0.03)
        self.assertAlmostEqual(found.service, 0.008)
        self.assertEqual(queue.constant_runs(130.0, Moments(long, 5e-4), Moments(short, 2e-5),
                                             [(1.0, 4)]).response, math.inf)
        place, size = 0, 1

        def mixed(_, wait):
            nonlocal place, size
            place += 1
            if place >= size:
                place, size = 0, int(rng.choice((1, 7)))
            return np.full(len(wait), long if place == 0 else short)

        gap = 0.0105
        seen = self._lindley(gap, mixed, 9000)
        found = queue.constant_runs(1 / gap, Moments(long, long ** 2), Moments(short, short ** 2),
                                    [(0.5, 7), (0.5, 1)])
        self.assertAlmostEqual(found.response / (seen + found.service), 1, delta=0.15)


class Orders(unittest.TestCase):
    """S(n): derived distances and fitted constants against the abstract process."""

    def test_derived(self):
        """Means and mean squares of LOOK's and C-LOOK's distances. Seen to fail: C-LOOK's
        exponent n + 1 (eq. 4) in place of 2 n - 1; LOOK's requests uniform."""
        x = np.linspace(0, 1, 4001)
        for policy, tail in (("look", policies.tail_look), ("clook", policies.tail_clook)):
            for count in (1, 2, 5, 16):
                said = tail(count, x)
                seen = abstract.distances(policy, count, replicas=200, steps=300)
                mean, square = (np.trapz(f, x) for f in (said, 2 * x * said))
                self.assertAlmostEqual(mean / seen.mean(), 1, delta=0.02)
                self.assertAlmostEqual(square / np.mean(seen ** 2), 1, delta=0.05)

    def test_one_stride_for_all(self):
        """E7, E8: 4.5 has C / 2 for a lonely request, where two places are C / 3 apart, and one
        distance for all orders; SSTF's is less, C-LOOK's more."""
        x = np.linspace(0, 1, 4001)
        self.assertAlmostEqual(policies.run_stride(6.0, 0), 3.0)
        self.assertAlmostEqual(np.trapz(policies.tail_fcfs(1, x), x), 1 / 3, delta=1e-4)
        self.assertLess(np.trapz(policies.tail_sstf(8, x), x), 0.9 * policies.run_stride(1.0, 8))
        self.assertGreater(np.trapz(policies.tail_clook(8, x), x),
                           1.05 * policies.run_stride(1.0, 8))

    def test_fitted(self):
        """Some of the tables' numbers are made again. Seen to fail: a row of each exchanged with
        its neighbour."""
        for row in (1, 5):
            count = policies.COUNTS[row]
            again = abstract.sstf_quantiles(count) * (count + 1)
            self.assertLess(np.abs(again / policies._SSTF[row] - 1)[3:-2].max(), 0.02)
        for column, count in ((2, 3), (5, 8)):
            for row in (2, 5):
                again = abstract.worth(abstract.MEAN_SEEKS[row], count)
                self.assertAlmostEqual(again, policies._WORTH[row, column], delta=0.01)

    def test_by_lot(self):
        """SPTF-SW's one constant is about what the abstract process has."""
        again = np.mean([abstract.by_lot(0.9, count, samples=10000) for count in (4, 16)])
        self.assertAlmostEqual(again, policies._SW_BY_LOT, delta=0.08)

    def test_same_constants(self):
        """policies.py and the program that makes its tables mean the same."""
        for name in ("COUNTS", "SHARES", "MEAN_SEEKS"):
            self.assertEqual(getattr(policies, name), getattr(abstract, name))

    def test_open_queue(self):
        """An open queue of uniform requests served by SSTF and by SPTF up to 90 %: what is left
        over there is not what is left over in the closed process that S(n) is of. Response
        within 3 %. Seen to fail: n - 1 in place of n; SPTF's requests all taken for fresh
        ones."""
        seek = abstract.seek_of(0.9)
        for policy, rate in (("sstf", 0.66), ("sptf", 0.76)):
            services = self._services(policy, seek)
            said = queue.state_dependent(rate, services)
            response, busy = abstract.opened(policy, seek, rate, replicas=300, steps=500, room=60)
            self.assertGreater(busy, 0.84)
            self.assertAlmostEqual(said.response / response, 1, delta=0.03)

    @staticmethod
    def _services(policy, seek):
        """S(n) as policies.py makes it, of the abstract process' seeks; a turn is 1."""
        if policy == "sptf":
            draw = np.random.default_rng(11)
            size = 200000
            cost = np.sort(seek(np.abs(draw.random(size) - draw.random(size))) + draw.random(size))
            tail = 1 - np.arange(size) / size
            first = [np.diff(cost, prepend=0.0) @ tail ** count
                     for count in policies.worth(0.9)]
            second = [np.diff(cost ** 2, prepend=0.0) @ tail ** count
                      for count in policies.worth(0.9)]
        else:
            x = np.linspace(0, 1, 20001)
            middle = (x[1:] + x[:-1]) / 2
            weights = np.array([-np.diff(policies.tail_sstf(n, x)) for n in policies.COUNTS])
            first = weights @ seek(middle) + 0.5
            second = weights @ seek(middle) ** 2 + weights @ seek(middle) + 1 / 3
        return policies.services(policies.Positioning(np.array(first), np.array(second)),
                                 abstract.AFTER, abstract.AFTER ** 2)


class Composite(unittest.TestCase):
    """predict()."""

    def setUp(self):
        self.device = Device.three_part(
            0.0015, 0.00012, 0.004, 0.0000015, 1000, 0.008, 8, 10000, 200, track_switch=0.001,
            read_overhead=0.0002)
        self.load = Workload(50.0, "poisson", 8192.0, 1.0, self.device.capacity)

    def test_kept(self):
        """What is kept from one prediction to the next is that of this disk and workload alone,
        whatever they are called. Seen to fail: disks told apart by their names."""
        slow, fast = (Device.three_part(1e-3, b, 3e-3, 1e-6, 300, turn, 4, 2000, 128)
                      for b, turn in ((0.5e-3, 16e-3), (0.1e-3, 4e-3)))
        alike = replace(slow, name="another")
        load = Workload(40.0, "poisson", 8192.0, 1.0, slow.capacity / 2).check()
        others = [replace(load, **change) for change in (
            {"request_size": 65536.0}, {"data_span": slow.capacity / 50},
            {"data_start": slow.capacity / 2, "run_stride": 1e6}, {"request_rate": 20.0})]
        for algorithm in ("fcfs", "sstf", "sptf"):
            with self.subTest(algorithm):
                found = compose.predict(fast, load, algorithm).response_time
                other = compose.predict(slow, load, algorithm).response_time
                self.assertGreater(other, 1.5 * found)
                self.assertEqual(compose.predict(alike, load, algorithm).response_time, other)
                for other in others:
                    self.assertGreater(abs(compose.predict(
                        fast, other, algorithm).response_time / found - 1), 0.02, other)
                self.assertEqual(compose.predict(fast, load, algorithm).response_time, found)

    def test_places_differ(self):
        """The variance of services that are of two kinds, within them and between. Seen to fail:
        without the latter."""
        kinds = Moments(0.010, 1.1e-4), Moments(0.002, 5e-6)
        served = compose._Served(*kinds, 0.75, 0.25, 0.0)   # pylint: disable=protected-access
        second = 0.25 * 1.1e-4 + 0.75 * 5e-6
        self.assertAlmostEqual(served.mean, 0.004, 12)
        self.assertAlmostEqual(served.within + served.between, second - 0.004 ** 2, 12)

    def test_is_eq_11(self):
        """First come, first served, no runs: service plus eq. 11's delay; once through."""
        found = compose.predict(self.device, self.load, "fcfs")
        random = compose.Mechanism(self.device, self.load).random(1, True)
        self.assertAlmostEqual(found.service_time / random.mean(), 1, delta=1e-6)
        wanted = queue.mg1_delay(50.0, random.mean(), random.second_moment())
        self.assertAlmostEqual(found.queue_delay / wanted, 1, delta=1e-4)
        self.assertAlmostEqual(found.response_time, found.service_time + found.queue_delay)
        self.assertAlmostEqual(found.queue_size, 50.0 * found.response_time)
        self.assertEqual(found.iterations, 1)
        self.assertGreater(found.response_quantile(0.9), 1.5 * found.response_time)
        self.assertIsNone(compose.predict(self.device, self.load, "sstf").response_quantile(0.9))

    def test_orders(self):
        """The more an order sees the sooner it answers, and the later it saturates."""
        busy = replace(self.load, request_rate=1.05 / compose.predict(
            self.device, self.load, "fcfs").service_time)
        self.assertTrue(compose.predict(self.device, busy, "fcfs").saturated)
        said = [compose.predict(self.device, busy, name)
                for name in ("clook", "look", "sstf", "sptf")]
        self.assertFalse(any(one.saturated for one in said))
        times = [one.response_time for one in said]
        self.assertEqual(times, sorted(times, reverse=True))
        limits = [one.saturation_rate for one in said]
        self.assertGreater(limits[3], limits[2])
        swift = compose.predict(self.device, busy, "sptf-sw")
        self.assertLess(times[3], swift.response_time)

    def test_saturated(self):
        """Beyond saturation: no response, no negative number, and the rate from which on; any
        arrivals. Seen to fail: an infinite response that is told."""
        for kind, more in (("poisson", {}), ("constant-open", {}),
                           ("bursty", {"requests_per_burst": 5, "bursty_fraction": 1,
                                       "burst_rate": 1e4})):
            load = replace(self.load, request_rate=2000.0, arrival_process=kind, **more)
            for run in (None, 4 * 8192.0):
                found = compose.predict(self.device, replace(load, run_length=run), "look")
                self.assertTrue(found.saturated)
                self.assertIsNone(found.response_time)
                self.assertEqual(found.utilisation, 1.0)
                self.assertGreater(2000, found.saturation_rate)
                self.assertGreater(found.saturation_rate, 50)
                self.assertLessEqual(found.throughput, found.saturation_rate)

    def test_closed(self):
        """Without thinking the drive never rests: N requests in N services."""
        for count in (1, 8):
            load = replace(self.load, arrival_process="closed", outstanding=count)
            found = compose.predict(self.device, load, "sptf")
            self.assertAlmostEqual(found.throughput * found.response_time, count, delta=1e-6)
            self.assertAlmostEqual(found.utilisation, 1.0)

    def test_two_deep(self):
        """Chosen early answers later than chosen late, and closed loops choose among one less; not
        said of runs."""
        late, soon = (compose.predict(self.device, replace(self.load, request_rate=85.0), "sptf",
                                      early).response_time for early in (math.inf, 0.0002))
        self.assertGreater(late, 1.05 * soon)
        closed = [compose.predict(self.device, replace(self.load, arrival_process="closed",
                                                       outstanding=count), "sptf", early)
                  for count, early in ((9, math.inf), (8, None))]
        hidden = 1 / closed[1].throughput - 1 / closed[0].throughput
        self.assertAlmostEqual(hidden, self.device.read_overhead, delta=1e-6)
        with self.assertRaisesRegex(ToolError, "runs"):
            compose.predict(self.device, replace(self.load, run_length=32768.0), "sptf", math.inf)

    def test_runs_settle(self):
        """Runs have a feedback: iterated, counted, settled at all loads."""
        for rate in (5, 40, 80, 110, 120):
            load = replace(self.load, request_rate=float(rate), run_length=4 * 8192.0)
            found = compose.predict(self.device, load, "fcfs")
            self.assertTrue(found.saturated or found.response_time > found.service_time)
            self.assertTrue(1 <= found.iterations < compose.MOST_ITERATIONS)

    def test_sptf_skips(self):
        """Without reading ahead the next request of a run waits a turn, and SPTF takes the one
        after it first, however they come: far shorter than SSTF. Seen to fail: it waits, too."""
        for kind, more in (("poisson", {}), ("bursty", {
                "requests_per_burst": 12, "bursty_fraction": 1, "burst_rate": 1e4})):
            load = replace(self.load, request_rate=60.0, arrival_process=kind,
                           run_length=6 * 8192.0, **more)
            sptf, sstf = (compose.predict(self.device, load, name).response_time
                          for name in ("sptf", "sstf"))
            self.assertLess(sptf, 0.8 * sstf)

    def test_refused(self):
        """An order nobody knows; a feedback that does not settle says so."""
        with self.assertRaisesRegex(ToolError, "elevator"):
            compose.predict(self.device, self.load, "elevator")
        kept = compose.ENOUGH, compose.CLOSE
        compose.ENOUGH = compose.CLOSE = -1.0
        try:
            with self.assertRaisesRegex(ToolError, "does not settle"):
                compose.predict(self.device, replace(self.load, run_length=4 * 8192.0), "fcfs")
        finally:
            compose.ENOUGH, compose.CLOSE = kept


if __name__ == "__main__":
    taptest.main()
