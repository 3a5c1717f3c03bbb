# SPDX-License-Identifier: GPL-2.0
"""The composite device (2, figure 1): a queue above a cache above the mechanism.

Down goes the workload, up come service times. The queue's length feeds back: it decides what
the cache sees of a run (whether the next request is there already) and how many
requests an order may choose from; predict() iterates until both agree.
"""

import functools
import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .. import ToolError
from . import policies, queue, runqueue, writeback
from .cache import Cache
from .device import ALGORITHMS, SECTOR
from .mechanism import Mechanism
from .race import MISS, PARTIAL, Gap

MOST_ITERATIONS = 60
ENOUGH = 1e-3           # of the response time: two iterations that differ by less agree
CLOSE = 0.003           # of a share of requests: no need to try again
ROUNDING = 1e-9         # share of a disk
KEPT = 32               # mechanisms


@dataclass(frozen=True)
class Prediction:
    """Means; s, requests/s, fractions. A saturated queue has no response: None, and
    saturation_rate says from which rate on."""

    service_time: float             # E[Cache_Service_Time]: from the drive's start to its report
    queue_delay: float              # E[Queue_Delay]; None if saturated
    response_time: float            # their sum (eq. 10), the paper's Device_Service_Time; or None
    utilisation: float              # of the drive; 1 if saturated
    saturated: bool
    saturation_rate: float          # requests/s of this kind the drive can serve
    queue_size: float               # requests, the one being served included; None if saturated
    miss_prob: float
    partial_hit_prob: float
    iterations: int
    throughput: float               # requests/s
    parts: object = field(repr=False, compare=False)
    response_square: float = None   # s^2, second moment; None if not known
    read_response: float = None     # of reads, of writes alone; None if there are none
    write_response: float = None
    writes_kept: bool = False       # a cache answers writes before they are on the medium;
                                    # utilisation is then the mechanism's, overheads apart

    def response_quantile(self, share):
        """s: so many of the responses (0 .. 1) take no longer, in order of arrival; None where it
        is not known: runs, another order, other arrivals than Poisson's, saturated. As of a gamma
        distribution; not in the paper."""
        return None if self.response_square is None else \
            queue.quantile(self.response_time, self.response_square, share)

    # Of a random request that the mechanism positions itself for, nobody else pending, s

    @property
    def seek_time(self):
        """E[ST]"""
        return self.parts.mechanism.seek(1, self.parts.reads).mean()

    @property
    def rotational_latency(self):
        """E[RL]"""
        return self.parts.mechanism.rotation(self.parts.reads is not False).mean()

    @property
    def transfer_time(self):
        """E[TT[request_size]]"""
        return self.parts.transfer


class _Parts:
    """What does not depend on when requests come: kept between predictions."""

    kept = {}

    def __init__(self, device, workload):
        self.device, self.workload = device, workload
        self.mechanism = Mechanism(device, workload)
        share = workload.read_fraction
        self.reads = None if 0 < share < 1 else share > 0
        self.random = self.mechanism.random(self.mechanism.pending_of_stride, self.reads)
        self.orders = {}

    @classmethod
    def of(cls, device, workload):
        """Of a device and a workload; those of the last ones are kept."""
        still = replace(workload, request_rate=1.0, effective_request_rate=None, burst_rate=None,
                        arrival_process="poisson", requests_per_burst=1, burst_cv2=0,
                        bursty_fraction=0, bursts_meet=1, outstanding=None, think_time=0,
                        think_cv2=0)
        key = (id(device), still)
        found = cls.kept.pop(key, None)
        if found is None or found.device is not device:
            found = cls(device, still)
        cls.kept[key] = found
        while len(cls.kept) > KEPT:
            del cls.kept[next(iter(cls.kept))]
        return found

    @functools.cached_property
    def transfer(self):
        """s, mean, of a request."""
        return self.mechanism.transfer(self.workload.request_size,
                                       read=self.reads is not False).mean()

    def order(self, algorithm):
        """queue.Services of requests that are positioned for, by the number to choose from."""
        if algorithm not in self.orders:
            fcfs = policies.positioning(self.device, self.workload, "fcfs")
            spread = float(fcfs.second[0] - fcfs.first[0] ** 2)
            position = policies.positioning(self.device, self.workload, algorithm)
            anywhere = self.mechanism.random(1, self.reads)
            self.orders[algorithm] = policies.services(
                position, anywhere.mean() - float(fcfs.first[0]),
                max(anywhere.variance() - spread, 0.0))
        return self.orders[algorithm]

    @functools.cached_property
    def savings(self):
        """Of what orders save among requests anywhere, the share that is left to them: seeks
        that the workload's stride makes short have less to give. Not in the paper."""
        seek = self.mechanism.seek(self.mechanism.pending_of_stride, self.reads).mean()
        anywhere = self.mechanism.seek(1, self.reads).mean()
        return min(seek / anywhere, 1.0) if anywhere > 0 else 1.0


class _Served(NamedTuple):
    """Services with nobody to choose from: of requests that begin a run, and of the `share` that
    are behind one; and how many miss, or hit in part."""

    first: queue.Moments
    behind: queue.Moments
    share: float
    miss: float
    partial: float

    @property
    def mean(self):
        """s, of all."""
        return (1 - self.share) * self.first.mean() + self.share * self.behind.mean()

    @property
    def within(self):
        """s^2: variance of a request that has the same place in its run."""
        return (1 - self.share) * self.first.variance() + self.share * self.behind.variance()

    @property
    def between(self):
        """s^2: variance by the place."""
        return self.share * (1 - self.share) * (self.first.mean() - self.behind.mean()) ** 2


def _moments(dist):
    return queue.Moments(dist.mean(), dist.second_moment())


class _Composite:
    """A device under a workload in one algorithm's order."""

    def __init__(self, device, workload, algorithm, early=None):
        self.workload, self.algorithm, self.early = workload, algorithm, early
        self.parts = _Parts.of(device, workload)
        self.cache = Cache(device, self.parts.mechanism, workload)
        self.rate = workload.rate
        self.share = self.cache.follower_share
        self.run = 1 / (1 - self.share)
        self.order = None if algorithm == "fcfs" else self.parts.order(algorithm)

    @property
    def keeps_writes(self):
        """Whether there are writes and a cache that answers them before they are on the medium; one
        that is longer than a segment waits for it."""
        spec = self.parts.device.cache
        return spec is not None and spec.write_policy == "back" and spec.write_segments > 0 and \
            self.workload.read_fraction < 1 and self.workload.request_size <= spec.segment_bytes

    def gap(self, waits):
        """When the next request of a run comes, if a share of requests waits for so long."""
        gap = self.cache.default_gap()
        if self.workload.arrival_process == "closed" and self.workload.outstanding > 1:
            return Gap("busy", self.workload.think_time / self.workload.outstanding, 0.0, waits[0])
        return gap._replace(wait=waits) if gap.kind == "open" else gap

    def served(self, waits):
        """_Served, if a share of the requests waits for so long (`waits`)."""
        random = self.parts.random
        first = queue.Moments(random.mean(), random.second_moment())
        if not self.share:
            return _Served(first, first, 0.0, 1.0, 0.0)
        followers = self.cache.followers(gap=self.gap(waits))
        weights = [one.weights.sum() for one in followers]
        dists = [one.dist(random.step) for one in followers]
        mean, second = (sum(w * value for w, value in zip(weights, values)) / sum(weights)
                        for values in ([d.mean() for d in dists],
                                       [d.second_moment() for d in dists]))
        share = sum(weights)
        return _Served(first, queue.Moments(mean, second), share,
                       1 - share + sum(one.share(MISS) for one in followers),
                       sum(one.share(PARTIAL) for one in followers))

    @functools.cached_property
    def services_apart(self):
        """Mean services, s, of reads and of writes, nobody waiting."""
        mechanism, firsts = self.parts.mechanism, {True: 1.0, False: 1.0}
        own = {read: mechanism.random(mechanism.pending_of_stride, read).mean()
               for read in (True, False)}
        shares = {True: self.workload.read_fraction, False: 1 - self.workload.read_fraction}
        behind = {True: 0.0, False: 0.0}
        if self.share:
            for kind, one in zip(self.cache.kinds, self.cache.followers()):
                share = float(one.weights.sum()) / shares[kind.read]
                firsts[kind.read] -= share
                behind[kind.read] += share * one.mean()
        return tuple(firsts[read] * own[read] + behind[read] for read in (True, False))

    def services(self, served):
        """queue.Services by the number pending, of requests wherever in a run."""
        if self.order is None:
            return queue.Services.same(served.mean, served.within + served.between)
        found = self._chosen(served.mean, served.within + served.between, 1 - served.share)
        less = self.skipped * served.share * served.behind.mean() / 2
        count = np.arange(len(found))
        mean = np.where(count > 0, np.maximum(found.first - less, found.first / 2), found.first)
        return queue.Services(mean, mean ** 2 + found.second - found.first ** 2)

    @property
    def skipped(self):
        """Of the requests behind the first of a run, those that SPTF takes every other one of
        first: what is not read ahead would wait a turn."""
        if not self.algorithm.startswith("sptf") or not self.share:
            return 0.0
        return 1 - self.workload.read_fraction * self.cache.drive.ahead

    def pipelined(self, served):
        """services() with another command at the drive: while one is served the next is
        understood."""
        alone = self.services(served)
        first = np.resize(alone.first, queue.MOST_STATES)
        spread = np.resize(alone.second - alone.first ** 2, queue.MOST_STATES)
        mechanism, reads = self.parts.mechanism, self.workload.read_fraction
        hidden = reads * mechanism.overhead(True) + (1 - reads) * mechanism.overhead(False)
        first[1:] -= hidden
        return queue.Services(first, first ** 2 + spread)

    def _chosen(self, mean, variance, share):
        """Services of this mean (s) and variance (s^2) with one pending, a share of which choose
        among the runs that are pending, and save what that brings."""
        count = np.arange(1, queue.MOST_STATES + 1)
        runs = np.ceil(count / self.run - 1e-9)
        gain = share * (self._whole_runs() if self.algorithm.startswith("sptf") and
                        self.share else 1.0)
        gain *= self.parts.savings
        first, spread = self.order.gains(runs)
        mean = mean - gain * first
        return queue.Services(mean, mean ** 2 + np.maximum(variance - gain * spread, 0.0))

    def turns(self, busy):
        """(runqueue.Turn of a run's first request, a list of runqueue.Kind); busy: share of those
        behind a first that are there when the one before is done."""
        random = self.parts.random
        alone = queue.Moments(random.mean(), random.second_moment())
        rows = self.cache.by_position(busy=busy)
        if self.order is None:
            waited = queue.Services.same(alone.mean(), alone.variance())
        else:
            behind = sum(at.share * at.waited.mean() for row in rows for at in row) / self.share
            waited = self._broken(self._chosen(alone.mean(), alone.variance(), 1.0), behind)
        return runqueue.Turn(alone, waited), [
            self._kind(row, base) for row, base in zip(rows, self.cache.bases)]

    def _broken(self, first, behind):
        """`first`, Services of a run's first request, and what it costs to come back to a run that
        was left before all of it had come; not in the paper.

        Requests come run by run, so of `runs` that are pending only the newest is not
        complete. The order takes it with probability 1 / runs, and leaves it if fewer come
        than are missing while it is served: one behind another takes `behind` s.
        """
        count = np.arange(1, len(first) + 1)
        runs = np.ceil(count / self.run - 1e-9)
        missing = np.rint(self.run * runs - count).astype(int)
        coming = self.rate * (first.first + (self.run - 1) * behind)
        left = queue.fewer(coming, missing) / runs
        left[runs < 2] = 0.0
        more = np.maximum(first.first - behind, 0.0)
        return queue.Services(first.first + left * more,
                              first.second + left * more * (2 * first.first + more))

    def _kind(self, row, base):
        """runqueue.Kind of the cache's Positions; base: share of all requests that begin one."""
        turns = [runqueue.Turn(_moments(at.came), self._behind(_moments(at.waited))) for at in row]
        # those that were not followed are as the last ones were
        period = sum(at.share > base * (1 + 1e-9) for at in row)
        return runqueue.Kind(base / (1 - self.share), turns, sum(at.share for at in row) / base,
                          max(period, 1))

    def _behind(self, one):
        """Services of a request behind the first of its run that waited, by the number pending.

        SPTF does not wait a turn for the next request if the one after that is there, too: of
        those `skipped` it takes every other one, and the rest a turn later. So two take a
        turn together."""
        left = 1 - self.skipped / 2
        if left == 1:
            return queue.Services.same(one.mean(), one.variance())
        return queue.Services.of([one] + [queue.Moments(one.first * left, one.second * left)])

    def _whole_runs(self):
        """How much of what SPTF saves by choosing among runs is left; not in the paper.

        It enters a run wherever the platter stands, and who enters it in the middle has to come
        back for its beginning: what was saved is lost. The chance of that is the angle of all
        requests but one; runs of more than a turn are entered more than once, and SPTF is
        worse than no choice, but not by more than it could win.
        """
        transfer = self.parts.transfer / self.parts.device.revolution_time
        ahead = max(1 - (self.run - 1) * transfer, -1.0)
        return self.skipped + (1 - self.skipped) * ahead


def predict(device, workload, algorithm=None, early=None):
    """What `device` makes of `workload` with a queue in the order of `algorithm`: one of
    device.ALGORITHMS; None: the device's own. A Prediction, saturated or not.

    early: None: one command at the drive. Else two, of which the next is chosen so many s
    before the one before it is done; inf: when that begins. Not in the paper; of Poisson and
    closed arrivals without runs.

    Iterates over 4.5's feedback, damped; ToolError if that does not settle.
    """
    workload.check()
    algorithm = algorithm or device.algorithm
    if algorithm not in ALGORITHMS:
        raise ToolError("algorithm %r: not one of %s" % (algorithm, ", ".join(ALGORITHMS)))
    if workload.data_start + workload.data_span > device.capacity * (1 + ROUNDING):
        raise ToolError("workload: data_start %g and data_span %g (bytes): they end beyond the "
                        "disk's %g bytes" % (workload.data_start, workload.data_span,
                                             device.capacity))
    made = _Composite(device, workload, algorithm, early)
    if early is not None and (made.share or workload.arrival_process not in ("poisson", "closed")):
        raise ToolError("two commands at the drive: predicted of Poisson and closed arrivals "
                        "without runs, not of %s" % (
                            "runs" if made.share else workload.arrival_process))
    if early is None and made.keeps_writes:
        return _written_back(made)
    if made.share and workload.arrival_process == "poisson":
        return _in_turns(made)
    waits, last = (0.0, 0.0), None
    for iteration in range(1, MOST_ITERATIONS + 1):
        served = made.served(waits)
        found = _queued(made, served)
        if not made.share or not math.isfinite(found.response) and waits[0] >= 1 or \
                last is not None and abs(found.response - last) <= ENOUGH * last:
            return _told(made, found, served, iteration)
        last = found.response
        waits = _damped(waits, found, iteration)
    raise _unsettled(found)


# A write-back cache

def _jobs(made):
    """writeback.Jobs of a device under a workload."""
    device, load, spec = made.parts.device, made.workload, made.parts.device.cache
    reads = _Composite(device, replace(load, read_fraction=1), made.algorithm)
    writes = _Composite(device, replace(load, read_fraction=0), "fcfs")
    served = reads.served((0.0, 0.0))
    hit = spec.hit_overhead + load.request_size / spec.transfer_rate
    hits = min(max(1 - served.miss, 0.0), 0.999)
    # behind a write a command may be understood sooner
    overhead = made.parts.mechanism.overhead(True)
    mean = (served.mean - hits * hit) / (1 - hits) + overhead - \
        reads.parts.mechanism.overhead(True)
    again = spec.write_hit if spec.write_hit_after_write is None else spec.write_hit_after_write
    write = load.read_fraction * spec.write_hit + (1 - load.read_fraction) * again + \
        load.request_size / spec.transfer_rate
    square = served.mean ** 2 + served.within + served.between
    square = max((square - hits * hit ** 2) / (1 - hits), mean ** 2)
    count = np.arange(1, queue.MOST_STATES + 1)
    # of those that the mechanism is positioned for, such as begin a run can be chosen
    chosen = min((1 - reads.share) / (1 - hits), 1.0)
    none = np.zeros(len(count))
    own = (none, none) if reads.order is None else \
        tuple(chosen * each for each in reads.order.gains(1 + (count - 1) * load.read_fraction))
    rivals = none if spec.destage_order == "fcfs" else \
        chosen * reads.parts.order(spec.destage_order).gains(count)[0]
    mean_seek = policies.Fresh(device, load).mean_seek / device.revolution_time
    return writeback.Jobs(
        queue.Moments(mean, square), overhead, reads.parts.mechanism.report(True), own, rivals,
        policies.worth(mean_seek, count), queue.Moments(hit, hit ** 2), hits,
        _destages(writes, spec), *_in_a_row(writes, spec), write)


def _destages(writes, spec):
    """queue.Services of destages by how many the drive chooses among. Of runs those that are held
    go one behind the other, as the next is ready when the one before has passed."""
    mechanism, count = writes.parts.mechanism, np.arange(1, queue.MOST_STATES + 1)
    served = writes.served((0.0, 0.0))
    transfer = writes.parts.transfer
    mean = max(served.mean - mechanism.overhead(False) - mechanism.report(False) +
               mechanism.read_first, transfer)
    together = 1 / (1 - writes.share * (1 - 1 / count))
    variance = (served.within + served.between) / together
    mean = transfer + (mean - transfer) / together
    if spec.destage_order == "fcfs":
        return queue.Services(mean, mean ** 2 + variance)
    first, spread = writes.parts.order(spec.destage_order).gains(
        np.maximum(count / together, 1.0))
    mean = np.maximum(mean - (1 - writes.share) * first, transfer)
    return queue.Services(mean, mean ** 2 + np.maximum(
        variance - (1 - writes.share) * spread, 0.0))


def _in_a_row(writes, spec):
    """(queue.Services of destages by how many the drive chooses among, Moments of one that begins
    when nothing else is held) of a drive that nobody reads from. What goes on in a run while the
    one before it is put on the medium follows it there, for the cache has it in time; what comes
    later waits for its sector."""
    mechanism, count = writes.parts.mechanism, np.arange(1, queue.MOST_STATES + 1)
    served = writes.served((0.0, 0.0))
    transfer, share = writes.parts.transfer, writes.share
    beside = mechanism.overhead(False) + mechanism.report(False) - mechanism.read_first
    first = max(served.first.mean() - beside, transfer)
    saved, spread = (np.zeros(len(count)),) * 2 if spec.destage_order == "fcfs" else \
        writes.parts.order(spec.destage_order).gains(1 + (count - 1) * (1 - share))
    begins, behind = np.maximum(first - saved, transfer), transfer + _passed(writes)
    late, uneven = _late(writes)
    mean = (1 - share) * begins + share * behind
    variance = (1 - share) * np.maximum(served.first.variance() - spread, 0.0) + \
        share * (1 - share) * (begins - behind) ** 2
    lone = (1 - share) * first + share * (behind + late)
    return queue.Services(mean, mean ** 2 + variance), queue.Moments(
        lone, lone ** 2 + (1 - share) * served.first.variance() + share * uneven +
        share * (1 - share) * (first - behind - late) ** 2)


def _passed(writes):
    """s that what lies between two requests of a run takes to pass, mean."""
    cache, device = writes.cache, writes.parts.device
    holes = sum(kind.share * (1 - 1 / kind.requests) * kind.hole for kind in cache.kinds)
    track = float(device.zone_weights(writes.workload) @ device.zones.sectors_per_track) * SECTOR
    return holes / writes.share / track * device.revolution_time if writes.share else 0.0


def _late(writes):
    """(mean, s; variance, s^2) of the wait of a request of a run for its sector, which has passed
    since the one before it was done."""
    turn, load = writes.parts.device.revolution_time, writes.workload
    if load.arrival_process != "poisson":
        return turn / 2, turn ** 2 / 12
    # of an exponential time what is over whole turns
    return turn - 1 / load.rate + turn / math.expm1(min(load.rate * turn, 700.0)), turn ** 2 / 12


def _longer(load, most):
    """Share of the requests that are longer than so many bytes: sizes that vary are taken to be
    exponential beyond the least."""
    if not load.request_size_cv2:
        return float(load.request_size > most)
    spread = load.request_size * min(math.sqrt(load.request_size_cv2), 1.0)
    return math.exp(-max(most - (load.request_size - spread), 0.0) / spread)


def _room(writes, spec):
    """Writes that the cache holds: what continues another is in one segment with it, or not."""
    if not spec.append_writes:
        return spec.write_segments
    each = min(writes.run, spec.segment_bytes / writes.workload.request_size)
    return min(max(int(spec.write_segments * each), 1), max(writeback.MOST_ROOM,
                                                            spec.write_segments))


def _written_back(made):
    """predict() of a cache that answers writes before they are on the medium."""
    load, spec = made.workload, made.parts.device.cache
    rules = writeback.Rules(_room(made, spec), spec.destage, spec.destage_delay,
                            spec.destage_order == "fcfs")
    jobs, kind = _jobs(made), load.arrival_process
    rules = rules._replace(
        long=_longer(load, spec.segment_bytes), even=kind.startswith("constant"),
        bursts=kind == "bursty",
        most=1 if kind == "constant-closed" else
        min(load.outstanding, writeback.BEYOND[-1]) if kind == "closed" else None)
    found = _closed_writes(made, jobs, rules) if kind == "closed" else \
        _balanced(made, jobs, rules, load.rate, 0.0)
    if kind == "bursty" and not load.read_fraction:
        found = writeback.with_bursts(found, jobs, rules, _bursts(load))
    saturated = not math.isfinite(found.queued.response)
    return Prediction(
        service_time=found.queued.service,
        queue_delay=None if saturated else found.queued.response - found.queued.service,
        response_time=None if saturated else found.queued.response,
        utilisation=1.0 if saturated else found.busy, saturated=saturated,
        saturation_rate=found.limit,
        queue_size=None if saturated else found.queued.throughput * found.queued.response,
        miss_prob=1 - load.read_fraction * jobs.hits, partial_hit_prob=0.0, iterations=1,
        throughput=min(found.queued.throughput, found.limit), parts=made.parts,
        read_response=None if saturated else found.read,
        write_response=None if saturated else found.write, writes_kept=True)


def _balanced(made, jobs, rules, rate, waits):
    """writeback.Found at a rate (1/s) of arrivals; waits: s that a process waits for room before
    its next request."""
    load = made.workload
    if load.read_fraction:
        return writeback.balance(jobs, rules, rate, load.read_fraction,
                                 functools.partial(_above, load, waits))
    return writeback.writes_alone(jobs, rules, rate)


def _closed_writes(made, jobs, rules):
    """_balanced() of a closed loop: who waits for room asks for nothing meanwhile."""
    load = made.workload
    count, think = load.outstanding, load.think_time
    writes = 1 - load.read_fraction
    if writes == 1:
        limit = writeback.write_limit(jobs, rules)
        rate = min(count / (think + jobs.write), limit)
        response = max(count / rate - think, jobs.write)
        return writeback.Found(queue.Queued(response, 1.0, None, response, rate), None, response,
                               min(rate / limit, 1.0), limit, response - jobs.write)
    waits = 0.0
    for _ in range(MOST_ITERATIONS):
        found = _balanced(made, jobs, rules, count / (think + jobs.write + waits), writes * waits)
        last, waits = waits, (waits + found.waits) / 2
        if abs(waits - last) <= ENOUGH * max(found.queued.response, jobs.write):
            break
    response = max(count / found.queued.throughput - think, 0.0)
    return found._replace(queued=found.queued._replace(response=response))


def _above(load, waits, services, alone):
    """queue.Queued of the queue above a cache."""
    kind = load.arrival_process
    if kind == "constant-closed":
        mean = alone.mean()
        return queue.Queued(mean, min(load.rate * mean, 1.0), None, mean, min(load.rate, 1 / mean))
    if kind == "closed":
        return queue.closed(load.outstanding, load.think_time + waits, services, alone)
    if kind == "bursty":
        return _bursts(load).queued(services)
    if kind == "constant-open":
        return queue.constant(load.rate, services)
    return queue.state_dependent(load.rate, services, alone)


def _in_turns(made):
    """predict() of Poisson arrivals in runs: what is iterated is the share of requests that were
    there when the one before them in their run was done, by their place."""
    busy, last = np.array([min(made.rate * made.parts.random.mean() / made.run, 1.0)]), None
    # SPTF takes a slow run's requests several in a turn when many of them are there
    uneven = not made.algorithm.startswith("sptf")
    for iteration in range(1, MOST_ITERATIONS + 1):
        first, kinds = made.turns(tuple(busy))
        found, waiting = runqueue.in_turns(made.rate, first, kinds, uneven)
        # how many places are followed depends on who waits, too
        busy = np.interp(np.arange(len(waiting)), np.arange(len(busy)), busy)
        if math.isinf(found.response) or np.max(np.abs(waiting - busy)) < CLOSE or \
                last is not None and abs(found.response - last) <= ENOUGH * last:
            return _told(made, found, made.served((float(np.mean(busy)), 0.0)), iteration)
        last = found.response
        busy = busy + (waiting - busy) / math.sqrt(iteration)
    raise _unsettled(found)


def _unsettled(found):
    return ToolError("the prediction does not settle: after %d iterations the response time still "
                     "changes, last to %g s" % (MOST_ITERATIONS, found.response))


def _damped(waits, found, iteration):
    """(share of requests that wait, s that those wait), nearer to what was found; less and less
    of the way, for who is just in time for a turn of the platter makes jumps."""
    if not math.isfinite(found.response):
        return 1.0, max(2 * waits[1], 1.0)
    share = found.utilisation
    wait = max(found.response - found.service, 0.0) / share if share else 0.0
    return tuple(old + (new - old) / math.sqrt(iteration)
                 for old, new in zip(waits, (share, wait)))


def _queued(made, served):
    """queue.Queued for a workload's arrivals."""
    load, rate, mean = made.workload, made.rate, served.mean
    kind = load.arrival_process
    if kind == "constant-closed":
        return queue.Queued(mean, min(rate * mean, 1.0), None, mean, min(rate, 1 / mean))
    if made.early is not None:
        return _two_deep(made, made.pipelined(served))
    if kind == "closed":
        return queue.closed(load.outstanding, load.think_time, made.services(served))
    if kind == "bursty":
        return _bursts(load).queued(made.services(served))
    if kind == "constant-open":
        return _constant(made, served)
    return queue.state_dependent(rate, made.services(served))


def _bursts(load):
    """queue.Bursts of a workload."""
    return queue.Bursts(
        load.request_rate, load.bursty_fraction, load.requests_per_burst, load.burst_cv2,
        1 / load.burst_rate if load.burst_rate else 0.0, load.bursts_meet)


def _constant(made, served):
    """queue.Queued of constant arrivals, open; a choice among runs counts only where without one
    they would be too many."""
    if made.share:
        begin = [(base / (1 - made.share), kind.requests)
                 for base, kind in zip(made.cache.bases, made.cache.kinds)]
        single = max(1 - sum(share for share, _ in begin), 0.0)
        found = queue.constant_runs(made.rate, served.first, served.behind,
                                    begin + [(single, 1.0)])
        if made.order is None or math.isfinite(found.response):
            delay = runqueue.uneven_runs_delay(made.rate, *made.turns((found.utilisation,)), 0)
            return found._replace(response=max(found.response, found.service + delay))
    return queue.constant(made.rate, made.services(served))


def _two_deep(made, services):
    """queue.Queued with two commands at the drive. In a closed loop who is being served is not
    among the next, unless he is missed when he thinks: a service begins with those that the
    one before left, all of which were there shortly before."""
    load = made.workload
    if load.arrival_process == "closed" and load.think_time > 0 and math.isfinite(made.early):
        return queue.closed(load.outstanding, load.think_time, services)
    if load.arrival_process == "closed":
        return queue.closed(load.outstanding, load.think_time, queue.Services(
            np.append(services.first[:1], services.first),
            np.append(services.second[:1], services.second)))
    return queue.chosen_early(made.rate, services, made.early)


def _apart(made, response, mean):
    """Of a response (s; None: saturated) of all, with services of `mean` (s), those of reads and of
    writes: they wait alike, and differ by their services."""
    share = made.workload.read_fraction
    if response is None or share in (0, 1):
        return {"read_response": response if share else None,
                "write_response": None if share else response}
    read, write = made.services_apart
    # services may have got shorter since by a choice, for both
    more = (read - write) * min(1.0, mean / (share * read + (1 - share) * write))
    return {"read_response": response + (1 - share) * more,
            "write_response": response - share * more}


def _told(made, found, served, iterations):
    """A Prediction."""
    saturated = not math.isfinite(found.response)
    limit = queue.saturation_rate(made.services(served))
    return Prediction(
        service_time=found.service,
        queue_delay=None if saturated else max(found.response - found.service, 0.0),
        response_time=None if saturated else found.response,
        utilisation=1.0 if saturated else found.utilisation, saturated=saturated,
        saturation_rate=limit,
        queue_size=None if saturated else found.throughput * found.response,
        miss_prob=served.miss, partial_hit_prob=served.partial, iterations=iterations,
        throughput=min(found.throughput, limit) if saturated else found.throughput,
        parts=made.parts, response_square=None if made.order else found.square,
        **_apart(made, None if saturated else found.response, served.mean))
