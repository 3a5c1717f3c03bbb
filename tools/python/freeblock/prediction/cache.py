# SPDX-License-Identifier: GPL-2.0
"""The cache (4.2, 4.4): which requests it answers, and what those take that it does not.

First the paper's equations, each a function. They count whole requests in the mean, take
arrivals for constant, and say nothing of a drive whose bus is slower than its medium.
What predictions are made of is Cache: runs followed one request after the other
(race.py), of which eq. 8 and 9 are the first approximation.
"""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import race
from .distribution import Dist
from .queue import Moments
from .race import Gap


# The paper's equations

def data_read(request_size, read_ahead_length, segment=math.inf):
    """What a miss brings into the cache (eq. 7). Bytes; at most a segment (E11)."""
    return min(request_size + read_ahead_length, max(segment, request_size))


def requests_serviced_by_one_disk_access(request_size, run_length, read):
    """floor(min(run_length, data_read) / request_size), not numbered in the paper. Bytes.
    At least 1. Valid for runs of one length that is a multiple of the request's (E6)."""
    return max(math.floor(min(run_length, read) / request_size * (1 + 1e-12)), 1)


def miss_probability(serviced, read_fraction=1.0):
    """1 / requests_serviced_by_one_disk_access (eq. 8) of reads, 1 of writes (the remark after
    eq. 6). Valid if the drive wins each race."""
    return read_fraction / serviced + 1 - read_fraction


def hurried_miss_probability(mech_service_time, interarrival_time, serviced):
    """Mech_Service_Time / (interarrival_time requests_serviced_by_one_disk_access), not
    numbered: in place of eq. 8 if interarrival_time < Mech_Service_Time (E13; s). Never
    over 1."""
    if interarrival_time >= mech_service_time:
        return miss_probability(serviced)
    if interarrival_time <= 0:
        return 1.0
    return min(mech_service_time / (interarrival_time * serviced), 1.0)


def partial_hit_probability(positioning, request, request_size, rate, interarrival_time):
    """Of the `request`-th of a run (from 1), that it comes before its data have been read
    ahead (eq. 9 and what precedes it): Pr[z <= ST + RL], z = (i - 1) interarrival_time -
    TT[i request_size]. positioning: Dist of ST + RL (s); rate: of the medium (bytes/s);
    s. Valid for constant arrivals of one run with nothing lost before, at a drive that is
    not held up by its bus."""
    z = (request - 1) * interarrival_time - request * request_size / rate
    return 1 - positioning.at_most(z) if request > 1 else 0.0


def mean_partial_hits(positioning, requests, request_size, rate, interarrival_time):
    """Partial_Hit_Prob of all requests: eq. 9's of those of a run of `requests`, their mean
    (E15)."""
    return sum(partial_hit_probability(positioning, i, request_size, rate, interarrival_time)
               for i in range(1, requests + 1)) / requests


def cache_service_time(request_size, transfer_rate, miss_prob, mech_service_time,
                       partial_hit_prob=0.0, partial_time=0.0):
    """E[Cache_Service_Time] (eq. 6, with the product that partial hits add; E10: adds the whole
    transfer to the host to that from the medium). Bytes, bytes/s, s."""
    return request_size / transfer_rate + miss_prob * mech_service_time + \
        partial_hit_prob * partial_time


# What predictions are made of

def _mixed(shares, positions):
    """One Position of several, each as likely as its share says."""
    weights = np.array(shares) / sum(shares)
    return Position(sum(shares), *(
        Moments(float(weights @ [one.first for one in some]),
                float(weights @ [one.second for one in some]))
        for some in ([at.waited for at in positions], [at.came for at in positions])))


class Equations(NamedTuple):
    """The paper's cache model. Fractions of the requests; E[Cache_Service_Time], s."""

    miss_prob: float
    partial_hit_prob: float
    service_time: float


class Followers(NamedTuple):
    """Requests of a run behind its first. weights: share of all the workload's requests,
    for each of the run's requests that was followed; steps: race.Steps of as many."""

    weights: np.ndarray
    steps: race.Steps

    def share(self, kind):
        """Of all the workload's requests, those of a kind that are behind a run's first."""
        return float(sum(weight * np.mean(kinds == kind)
                         for weight, kinds in zip(self.weights, self.steps.kind)))

    def mean(self):
        """Service, s; 0 if there are none."""
        total = self.weights.sum()
        return float(self.weights @ [np.mean(one) for one in self.steps.service] / total) \
            if total else 0.0

    def dist(self, step):
        """Dist of their service."""
        values = np.concatenate(self.steps.service)
        return Dist.of(values, np.repeat(self.weights, race.PATHS) / race.PATHS, step)


class _Kind(NamedTuple):
    """Runs of one kind, all of one direction. share: of all requests, in them; requests: of a
    run; hole: mean bytes between two."""

    share: float
    requests: float
    hole: float
    read: bool


class Position(NamedTuple):
    """The i-th requests of runs. share: of all requests; waited: their service if they were
    there when the one before was reported; came: if they came later."""

    share: float
    waited: Moments
    came: Moments


def _position(share, values, waits):
    """A Position of services, s, and whether they are of requests that waited."""
    waited, came = (Moments(float(some.mean()), float(some @ some) / len(some))
                    if len(some) else None for some in (values[waits], values[~waits]))
    return Position(share, waited or came, came or waited)


class Cache:
    """A device's cache under a workload.

    Gaps (race.Gap) say when a run's next request comes. The queue above knows that; left
    out, it is as the workload has it, with nobody waiting.

    As in the paper, writes go through to the medium (a write-back cache is taken for one that
    writes through: what holds once it is full), what was read before is not read again
    (4.2: the host's cache sees to that), and of several segments one is used at a time. Runs
    and sparse runs are all reads or all writes."""

    def __init__(self, device, mechanism, workload):
        self.device, self.mechanism, self.workload = device, mechanism, workload
        self.spec = device.cache
        sparse = workload.sparse_run_fraction if self.sparse_requests > 1 else 0.0
        runs = workload.locality_fraction if workload.requests_per_run > 1 else 0.0
        self.in_sparse, self.in_runs = sparse, min(runs, 1 - sparse)
        self._followed = {}

    # Who follows whom

    @property
    def sparse_requests(self):
        """Mean number of requests of a sparse run."""
        return self.workload.requests_per_sparse_run or 1

    @functools.cached_property
    def follower_share(self):
        """Of all requests, those behind the first of their run or sparse run."""
        load = self.workload
        return self.in_runs * (1 - 1 / load.requests_per_run) + \
            self.in_sparse * (1 - 1 / self.sparse_requests)

    @functools.cached_property
    def hole(self):
        """Mean bytes between the requests of a sparse run; without sparse_run_length such
        that the run is as long as a segment (4.2)."""
        load, requests = self.workload, self.sparse_requests
        if requests <= 1:
            return 0.0
        length = load.sparse_run_length
        if length is None:
            length = self.spec.segment_bytes if self.spec else requests * load.request_size
        return max((length - requests * load.request_size) / (requests - 1), 0.0)

    def default_gap(self):
        """As the workload has it, nobody waiting."""
        load = self.workload
        between = 1 / load.rate
        if load.arrival_process == "closed":
            return Gap("think", load.think_time, load.think_cv2)
        if load.arrival_process == "constant-closed":
            return Gap("closed", between)
        if load.arrival_process == "bursty" and load.burst_rate:
            return Gap("open", 1 / load.burst_rate, 1.0)
        return Gap("open", between, float(load.arrival_process != "constant-open"))

    @functools.cached_property
    def _medium(self):
        """What the race knows of the medium: zones by path, as likely as accesses to them."""
        device = self.device
        zones, heads, turn = device.zones, device.heads, device.revolution_time
        edges = np.cumsum(device.zone_weights(self.workload))
        at = np.minimum(np.searchsorted(edges, race.quantiles(race.ZONE)), len(edges) - 1)
        track = zones.sectors_per_track * race.SECTOR
        unit = np.gcd(np.round(track).astype(np.int64), int(self.mechanism.aligned))
        switch = turn * (_gap(zones.track_skew, device.track_switch / turn) * (heads - 1) +
                         _gap(zones.cylinder_skew, device.cylinder_switch / turn)) / heads
        move = (device.track_switch * (heads - 1) + device.cylinder_switch) / heads
        return {"turn": turn, "move": move, "track": track[at], "switch": switch[at],
                "unit": unit[at], "pace": turn / track[at], "zero_latency": device.zero_latency,
                "block": device.block}

    @functools.cached_property
    def _writer(self):
        device, size = self.device, self.workload.request_size
        bus, pace = 1 / device.bus_rate, self._medium["pace"]
        # a write's data come as the head needs them, with zero-latency access all before it
        data = size * bus if device.zero_latency else \
            race.SECTOR * bus + (size - race.SECTOR) * np.maximum(bus - pace, 0.0)
        after = device.write_overhead_after_write
        medium = dict(self._medium, move=max(self._medium["move"] + device.write_settle, 0.0))
        return race.Drive(bus=0.0, overhead=device.write_overhead if after is None else after,
                          report=self.mechanism.report(False), data=data, **medium)

    @functools.cached_property
    def drive(self):
        """What the race knows of the device, for reads."""
        device, spec = self.device, self.spec
        bus = 1 / device.bus_rate
        read = {"bus": bus, "overhead": device.read_overhead, "report": device.read_report}
        if spec is None or spec.read_ahead == "none":
            return race.Drive(**read, **self._medium)
        return race.Drive(
            **read, **self._medium, ahead=True, same_track=spec.read_ahead_trigger == "same-track",
            hit_overhead=max(spec.hit_overhead - device.read_report + race.SECTOR * bus, 0.0),
            segment=spec.segment_bytes, most=spec.read_ahead_bytes or math.inf,
            border={"track": 1, "stream": 1, "cylinder": device.heads}.get(spec.read_ahead, 0),
            stream=spec.read_ahead == "stream",
            on_hit=spec.read_ahead_on_hit, discard=spec.discard_read, keeps=spec.keep_passing,
            join=0.0 if spec.read_ahead_join else race.SECTOR)

    # Services

    def first(self, n=1):
        """Dist of the service of a request that begins a run, or is in none: what the
        mechanism takes; `n` pending."""
        share = self.workload.read_fraction
        return Dist.mix([share, 1 - share], [self.mechanism.random(n, True),
                                             self.mechanism.random(n, False)]) \
            if 0 < share < 1 else self.mechanism.random(n, share > 0)

    def followers(self, n=1, gap=None):
        """Followers, a list: of runs and of sparse runs, each of reads and of writes, as far
        as there are any; `n` pending, gap: race.Gap."""
        gap = gap or self.default_gap()
        return [self._followers(n, gap, kind) for kind in self.kinds]

    @functools.cached_property
    def kinds(self):
        """Kinds of runs that there are."""
        load = self.workload
        kinds = [_Kind(share * direction, requests, hole, read)
                 for share, requests, hole in (
                     (self.in_runs, load.requests_per_run, 0.0),
                     (self.in_sparse, self.sparse_requests, self.hole))
                 for read, direction in ((True, load.read_fraction),
                                         (False, 1 - load.read_fraction))]
        return [kind for kind in kinds if kind.share > 0]

    @property
    def bases(self):
        """Of all requests, those that begin a run, by kind, as followers() has them."""
        return [kind.share / kind.requests for kind in self.kinds]

    def _followers(self, n, gap, kind):
        """Of one kind of run."""
        key = gap, kind, n if gap.by_service else None
        if key not in self._followed:
            first = self.mechanism.random(n, kind.read)
            values = np.interp(race.quantiles(race.FIRST), np.append(0.0, first.cdf()),
                               (np.arange(len(first.p) + 1) - 0.5) * first.step)
            steps, most, skip = self._worth(gap, kind)
            self._followed[key] = race.follow(
                self.drive if kind.read else self._writer, self.workload.request_size, steps,
                gap, np.maximum(values, 0.0),
                (lambda step: 2 * kind.hole * race.quantiles(race.HOLES + step))
                if kind.hole else None, most, skip)
        steps = self._followed[key]
        return Followers(self._weights(steps, kind) * kind.share / kind.requests, steps)

    def _worth(self, gap, kind):
        """How many requests of a run to follow, how much to spend on it, and how many bytes to
        pass over before the last of them."""
        steps = min(math.ceil(kind.requests) - 1, race.STEPS)
        # what is rare need not be known well
        most = max(race.SOON, round(race.COST * min(1.0, 5 * kind.share)))
        if gap.kind != "busy" and not gap.cv2 and not kind.hole:
            return steps, most, 0.0
        # by chance: as many whatever becomes of them, queues count places
        if not self._refills(kind.read):
            return min(steps, race.SOON), math.inf, 0.0
        period = self._period(kind)
        if 2 * period <= most:
            return min(steps, 2 * period), math.inf, 0.0
        early = min(steps, 2 * race.SOON, most)
        if kind.requests <= period or early >= period - 1:
            return early, math.inf, 0.0
        return early + 1, math.inf, (period - 1 - early) * (
            self.workload.request_size + kind.hole)

    def _weights(self, steps, kind):
        """How often each step counts in a run of so many requests: those that are not followed
        go on as the last ones do."""
        count = len(steps.service)
        weights = np.ones(count)
        more = kind.requests - 1 - count
        if more < 0:
            weights[-1] = 1 + more
            return weights
        if steps.refill:
            return self._refilled(count, kind)
        period = 1 if steps.steady else self._period(kind)
        if period > count:
            period = min(race.SOON // 2, count)
        whole = int(more // period)
        weights[count - period:] += whole
        rest = more - whole * period
        weights[count - period:count - period + int(rest)] += 1
        weights[count - period + int(rest)] += rest - int(rest)
        return weights

    def _refilled(self, count, kind):
        """The same where the last step is the request that finds the segment used up: after it
        all goes on as after the run's first."""
        period, behind = self._period(kind), kind.requests - 1
        refills = int(behind // period)
        weights = np.full(count, refills + 0.0)
        # of the last segment only so many are wanted
        weights[:-1] += np.clip(behind - refills * period - np.arange(count - 1), 0, 1)
        weights[-2] += behind - weights.sum()
        return weights

    def _refills(self, read):
        """Whether a long run misses again and again, each time a segment has been read."""
        drive = self.drive
        return read and drive.ahead and drive.most == math.inf and not drive.border and \
            not drive.discard

    def _period(self, kind):
        """After so many requests a long run goes on as before."""
        if self._refills(kind.read):
            size, drive = self.workload.request_size, self.drive
            # less what passes before, mean, of a track that the head comes down on anywhere
            room = drive.segment - drive.keeps * float(drive.track.mean()) / 3
            return max(int((room + kind.hole) // (size + kind.hole)), 1)
        return race.SOON // 2

    def service(self, n=1, gap=None):
        """Dist of the service of all requests, `n` pending."""
        followers = self.followers(n, gap)
        first = self.first(n)
        return Dist.mix([1 - self.follower_share] + [one.weights.sum() for one in followers],
                        [first] + [one.dist(first.step) for one in followers])

    def by_equations(self):
        """What (6) to (9) alone make of the workload: Equations. Means of constant arrivals, each
        1 / rate after the one before, which finds nobody; sparse runs as 4.2 has them."""
        load, drive = self.workload, self.drive
        serviced = self.sparse_requests, 1.0
        if drive.ahead:
            read = data_read(load.request_size, self.read_ahead_length, drive.segment)
            serviced = self.sparse_requests, requests_serviced_by_one_disk_access(
                load.request_size, load.requests_per_run * load.request_size, read)
        kinds = [(self.in_sparse, serviced[0] if drive.ahead else 1.0),
                 (self.in_runs, serviced[1]), (1 - self.in_sparse - self.in_runs, 1.0)]
        miss = sum(share * self._missing(count) for share, count in kinds)
        partial = sum(share * self._in_part(count) for share, count in kinds)
        mech = self.mechanism.random(1, load.read_fraction > 0).mean()
        transfer = load.request_size / 2 * float(drive.pace.mean())
        return Equations(miss, partial, cache_service_time(
            load.request_size, self.device.bus_rate, miss, mech, partial, transfer))

    def _missing(self, serviced):
        """Miss_Prob if a disk access serves so many reads."""
        between, share = 1 / self.workload.rate, self.workload.read_fraction
        mech = self.mechanism.random(1, True).mean()
        return share * hurried_miss_probability(mech, between, serviced) + 1 - share \
            if serviced > 1 else 1.0

    def _in_part(self, serviced):
        """Partial_Hit_Prob if a disk access serves so many reads; none that misses (E15)."""
        if serviced <= 1:
            return 0.0
        load = self.workload
        positioning = self.mechanism.positioning(True)
        found = mean_partial_hits(positioning, int(serviced), load.request_size,
                                  1 / float(self.drive.pace.mean()), 1 / load.rate)
        return load.read_fraction * min(found, 1 - hurried_miss_probability(
            self.mechanism.random(1, True).mean(), 1 / load.rate, serviced))

    def by_position(self, n=1, busy=0.5):
        """[[Position ..], ..]: of runs, and of sparse runs, from their second request on; with
        `busy` of them waiting and the others at random times after. First ones are first(n).

        For queues: services take turns, a long one and then short ones, so that the work of
        a run varies far less than that of as many independent services, and so do delays:
        (11) is twice what is measured at a utilisation of 0.8 and runs of 4."""
        gap = Gap("busy", 1 / self.workload.rate, 1.0, busy)
        return [self._row(kind, gap, base)
                for kind, base in zip(self.followers(n, gap), self.bases)]

    @staticmethod
    def _row(kind, gap, base):
        """Positions of one kind of run."""
        row = [_position(float(weight), values, gap.waits(i))
               for i, (weight, values) in enumerate(zip(kind.weights, kind.steps.service))]
        if not kind.steps.refill:
            return row
        # who finds the segment used up is now this one and now that: one of the last ones,
        # as are those after that
        more = [max(at.share - base, 0.0) for at in row[:-2]]
        last = _mixed(more + [row[-2].share, row[-1].share], row)
        return [at._replace(share=at.share - extra) for at, extra in zip(row, more)] + [last]

    @functools.cached_property
    def _as_it_comes(self):
        return self.followers()

    @property
    def miss_prob(self):
        """Share of the requests that wait for the mechanism to position itself."""
        return 1 - self.follower_share + sum(one.share(race.MISS) for one in self._as_it_comes)

    @property
    def partial_hit_prob(self):
        """Share of the requests of which some bytes were there, others not."""
        return sum(one.share(race.PARTIAL) for one in self._as_it_comes)

    # 4.4

    @property
    def lower_workload(self):
        """What the mechanism is asked for (4.4), read ahead in one piece: misses at their
        rate, and runs as long as what each of them brings in (E23)."""
        load, spec = self.workload, self.spec
        if spec is None or spec.read_ahead == "none":
            return load
        read = data_read(load.request_size, self.read_ahead_length, spec.segment_bytes)
        length = read if load.run_length is None else max(read, load.run_length)
        if load.sparse_run_fraction and load.sparse_run_length:
            length = max(length, load.sparse_run_length)
        return replace(load, request_rate=load.request_rate * self.miss_prob,
                       run_length=min(length, load.data_span),
                       requests_per_sparse_run=None, sparse_run_length=None,
                       sparse_run_fraction=0, effective_request_rate=None)

    @property
    def read_ahead_length(self):
        """Bytes read ahead at most after a read (eq. 7); of a track or cylinder, on average."""
        spec, device = self.spec, self.device
        if spec is None or spec.read_ahead == "none":
            return 0.0
        if spec.read_ahead == "cylinder":
            return device.bytes_per_cylinder / 2
        if spec.read_ahead in ("track", "stream"):
            return device.track_bytes(self.workload) / 2
        if spec.read_ahead_bytes:
            return spec.read_ahead_bytes
        return spec.segment_bytes - (0 if spec.discard_read else
                                     min(self.workload.request_size, spec.segment_bytes))


def _gap(skew, switch):
    """From a track's end to the next one's beginning, turns: it comes `skew` after, or a turn
    later if the switch takes longer."""
    return skew + np.ceil(np.maximum(switch - skew, 0.0))
