# SPDX-License-Identifier: GPL-2.0
"""The cache (4.2, 4.4): which requests it answers, and how long the others take.

First the paper's equations, each a function. They count whole requests in the mean, take
arrivals for constant, and say nothing of a drive whose bus is slower than its medium.
Predictions are made of Cache: a run's requests one after the other (follow.py), of which eq. 8
and 9 are the first approximation.
"""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import follow
from .device import SECTOR

STEPS, EVEN_STEPS = 24, 64      # requests of a run that are followed; of evenly spaced ones


# The paper's equations

def data_read(request_size, read_ahead_length, segment=math.inf):
    """What a miss brings into the cache (eq. 7). Bytes; at most a segment."""
    return min(request_size + read_ahead_length, max(segment, request_size))


def requests_serviced_by_one_disk_access(request_size, run_length, read):
    """floor(min(run_length, data_read) / request_size), not numbered in the paper. Bytes.
    At least 1. Valid for runs of one length that is a multiple of the request's."""
    return max(math.floor(min(run_length, read) / request_size * (1 + 1e-12)), 1)


def miss_probability(serviced, read_fraction=1.0):
    """1 / requests_serviced_by_one_disk_access (eq. 8) of reads, 1 of writes (the remark after
    eq. 6). Valid if the drive has read on before the next request comes."""
    return read_fraction / serviced + 1 - read_fraction


def hurried_miss_probability(mech_service_time, interarrival_time, serviced):
    """Mech_Service_Time / (interarrival_time requests_serviced_by_one_disk_access), not
    numbered: in place of eq. 8 if interarrival_time < Mech_Service_Time (s). Never over 1."""
    if interarrival_time >= mech_service_time:
        return miss_probability(serviced)
    if interarrival_time <= 0:
        return 1.0
    return min(mech_service_time / (interarrival_time * serviced), 1.0)


def partial_hit_probability(positioning, request, request_size, rate, interarrival_time):
    """Of the `request`-th of a run (from 1), that it comes before its data have been read
    ahead (eq. 9 and what precedes it): Pr[z <= ST + RL], z = (i - 1) interarrival_time -
    TT[i request_size]. positioning: Dist of ST + RL (s); rate: of the medium (bytes/s); s."""
    z = (request - 1) * interarrival_time - request * request_size / rate
    return 1 - positioning.at_most(z) if request > 1 else 0.0


def mean_partial_hits(positioning, requests, request_size, rate, interarrival_time):
    """Partial_Hit_Prob of all requests: eq. 9's of those of a run of `requests`, their mean."""
    return sum(partial_hit_probability(positioning, i, request_size, rate, interarrival_time)
               for i in range(1, requests + 1)) / requests


def cache_service_time(request_size, transfer_rate, miss_prob, mech_service_time,
                       partial_hit_prob=0.0, partial_time=0.0):
    """E[Cache_Service_Time] (eq. 6, with the product that partial hits add). It adds the whole
    transfer to the host to that from the medium. Bytes, bytes/s, s."""
    return request_size / transfer_rate + miss_prob * mech_service_time + \
        partial_hit_prob * partial_time


class Equations(NamedTuple):
    """The paper's cache model. Fractions of the requests; E[Cache_Service_Time], s."""

    miss_prob: float
    partial_hit_prob: float
    service_time: float


class _Kind(NamedTuple):
    """Runs of one kind, all of one direction. share: of all requests, in them; requests: of a
    run; hole: mean bytes between two."""

    share: float
    requests: float
    hole: float
    read: bool


class Followers(NamedTuple):
    """Requests behind the first of their run: share of all requests; mean and variance of their
    service (s, s^2); share of all requests that miss, and of those that hit in part."""

    share: float
    mean: float
    variance: float
    miss: float
    partial: float


class Cache:
    """A device's cache under a workload.

    As in the paper writes go through to the medium, what was read before is not read again (the
    host's cache sees to that), and of several segments one is used at a time. Runs and sparse runs
    are all reads or all writes."""

    def __init__(self, device, mechanism, workload):
        self.device, self.mechanism, self.workload = device, mechanism, workload
        self.spec = device.cache
        sparse = workload.sparse_run_fraction if self.sparse_requests > 1 else 0.0
        runs = workload.locality_fraction if workload.requests_per_run > 1 else 0.0
        self.in_sparse, self.in_runs = sparse, min(runs, 1 - sparse)

    # which request follows which

    @property
    def sparse_requests(self):
        """Mean number of requests of a sparse run."""
        return self.workload.requests_per_sparse_run or 1

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
    def reads_ahead(self):
        """Whether the drive reads ahead."""
        return self.spec is not None and self.spec.read_ahead != "none"

    @property
    def read_ahead_length(self):
        """Bytes read ahead at most after a read (eq. 7); of a track or cylinder, on average."""
        spec, device = self.spec, self.device
        if not self.reads_ahead:
            return 0.0
        if spec.read_ahead == "cylinder":
            return device.bytes_per_cylinder / 2
        if spec.read_ahead in ("track", "stream"):
            return device.track_bytes(self.workload) / 2
        if spec.read_ahead_bytes:
            return spec.read_ahead_bytes
        return max(spec.segment_bytes - self.workload.request_size, 0.0)

    # services

    def drive(self, read):
        """What follow.run() knows of the drive, for reads or writes."""
        device, mechanism, spec = self.device, self.mechanism, self.spec
        edges = np.cumsum(mechanism.weights)
        zone = np.minimum(np.searchsorted(edges, follow.quantiles(follow.ZONE)), len(edges) - 1)
        track = mechanism.sectors[zone] * SECTOR
        ahead = read and self.reads_ahead
        borders = {"track": 1, "stream": 2, "cylinder": device.heads}
        return follow.Drive(
            turn=device.revolution_time, track=track, switch=self._switches(read, zone),
            unit=np.where(track % mechanism.aligned < 1, mechanism.aligned, SECTOR),
            bus=1 / device.bus_rate if read else 0.0,
            overhead=device.read_overhead if read else mechanism.overhead_behind_write,
            data=0.0 if read else mechanism.data(),
            move=device.revolution_time * sum(
                share * move for share, _, move in mechanism.gaps(read)).mean(),
            report=mechanism.report(read), zero_latency=device.zero_latency, ahead=ahead,
            hit_overhead=spec.hit_overhead if ahead else 0.0,
            segment=spec.segment_bytes if ahead else 0.0,
            most=(spec.read_ahead_bytes or math.inf) if ahead else 0.0,
            border=borders.get(spec.read_ahead, 0) if ahead else 0,
            on_hit=ahead and spec.read_ahead_on_hit)

    def _switches(self, read, zone):
        """s by path, from a track's end to the next one's first sector: of one kind each."""
        kinds = [(share + 0 * gap, gap) for share, gap, _ in self.mechanism.gaps(read)]
        until, gaps = (np.array(column)[:, zone] for column in zip(*kinds))
        until = np.cumsum(until, axis=0)
        kind = (follow.quantiles(follow.SWITCH) > until).sum(axis=0).clip(max=len(kinds) - 1)
        return self.device.revolution_time * gaps[kind, np.arange(follow.PATHS)]

    def followers(self, gap):
        """Followers; gap: follow.Gap."""
        found = [self._followers(kind, gap) for kind in self.kinds]
        share = sum(each.share for each in found)
        if not share:
            return Followers(0.0, 0.0, 0.0, 0.0, 0.0)
        mean = sum(each.share * each.mean for each in found) / share
        square = sum(each.share * (each.variance + each.mean ** 2) for each in found) / share
        return Followers(share, mean, max(square - mean ** 2, 0.0),
                         sum(each.miss for each in found), sum(each.partial for each in found))

    def _followers(self, kind, gap):
        """Of one kind of run. Those that are not followed are as the later half of the others."""
        steps = min(math.ceil(kind.requests) - 1, STEPS if gap.spread else EVEN_STEPS)
        first = self.mechanism.random(1, kind.read).quantiles(follow.quantiles(follow.FIRST))
        services, kinds = follow.run(self.drive(kind.read), self.workload.request_size, steps, gap,
                                     first, kind.hole)
        weights = np.ones(steps)
        again = self._period(kind, steps)
        weights[steps - again:] += (kind.requests - 1 - steps) / again
        share = kind.share / kind.requests * weights
        means = services.mean(axis=1)
        mean = float(weights @ means) / weights.sum()
        square = float(weights @ (services ** 2).mean(axis=1)) / weights.sum()
        return Followers(float(share.sum()), mean, max(square - mean ** 2, 0.0),
                         float(share @ (kinds == follow.MISS).mean(axis=1)),
                         float(share @ (kinds == follow.PARTIAL).mean(axis=1)))

    def _period(self, kind, steps):
        """After so many requests a long run goes on as before: where the segment is used up."""
        period = 1
        if kind.read and self.reads_ahead:
            size = self.workload.request_size + kind.hole
            period = max(int(self.spec.segment_bytes / size), 1)
        return max(steps // 2 // period, 1) * period if period <= steps else max(steps // 2, 1)

    # the paper's equations alone

    def by_equations(self):
        """What eq. 6 to 9 alone make of the workload: Equations. Means of constant arrivals, each
        1 / rate after the one before; sparse runs as 4.2 has them."""
        load, serviced = self.workload, (self.sparse_requests, 1.0)
        if self.reads_ahead:
            read = data_read(load.request_size, self.read_ahead_length, self.spec.segment_bytes)
            serviced = self.sparse_requests, requests_serviced_by_one_disk_access(
                load.request_size, load.requests_per_run * load.request_size, read)
        kinds = [(self.in_sparse, serviced[0] if self.reads_ahead else 1.0),
                 (self.in_runs, serviced[1]), (1 - self.in_sparse - self.in_runs, 1.0)]
        miss = sum(share * self._missing(count) for share, count in kinds)
        partial = sum(share * self._in_part(count) for share, count in kinds)
        mech = self.mechanism.random(1, load.read_fraction > 0).mean()
        return Equations(miss, partial, cache_service_time(
            load.request_size, self.device.bus_rate, miss, mech, partial,
            load.request_size / 2 / self.medium_rate))

    @property
    def medium_rate(self):
        """Bytes/s that pass under the head, mean."""
        return self.device.track_bytes(self.workload) / self.device.revolution_time

    def _missing(self, serviced):
        """Miss_Prob if a disk access serves so many reads."""
        between, share = 1 / self.workload.rate, self.workload.read_fraction
        mech = self.mechanism.random(1, True).mean()
        return share * hurried_miss_probability(mech, between, serviced) + 1 - share \
            if serviced > 1 else 1.0

    def _in_part(self, serviced):
        """Partial_Hit_Prob if a disk access serves so many reads; none of those that miss."""
        if serviced <= 1:
            return 0.0
        load = self.workload
        found = mean_partial_hits(self.mechanism.positioning(), int(serviced), load.request_size,
                                  self.medium_rate, 1 / load.rate)
        return load.read_fraction * min(found, 1 - hurried_miss_probability(
            self.mechanism.random(1, True).mean(), 1 / load.rate, serviced))

    @property
    def lower_workload(self):
        """What the mechanism is asked for (4.4), read ahead in one piece: misses at their
        rate, and runs as long as what each of them brings in."""
        load = self.workload
        if not self.reads_ahead:
            return load
        read = data_read(load.request_size, self.read_ahead_length, self.spec.segment_bytes)
        length = max(read, load.run_length or 0,
                     (load.sparse_run_length or 0) if load.sparse_run_fraction else 0)
        return replace(load, request_rate=load.request_rate * self.by_equations().miss_prob,
                       run_length=min(length, load.data_span),
                       requests_per_sparse_run=None, sparse_run_length=None,
                       sparse_run_fraction=0, effective_request_rate=None)
