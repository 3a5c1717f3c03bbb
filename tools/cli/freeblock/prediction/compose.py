# SPDX-License-Identifier: GPL-2.0
"""The composite device (2, figure 1): a queue above a cache above the mechanism.

Down goes the workload, up come service times. The queue's length feeds back: it decides what
the cache sees of a run (whether the next request is there already) and how many
requests an order may choose from; predict() iterates until both agree.
"""

import functools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from .. import ToolError
from . import choice, queue
from .cache import Cache
from .follow import Gap
from .mechanism import Mechanism

ALGORITHMS = ("fcfs", "look", "clook", "sstf", "sptf")
COUNTS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)    # pending: lengths that are computed
MOST_ITERATIONS = 60
ENOUGH = 5e-4           # of the response time: iterations that differ by so much times their
                        # number agree, as what the cache sees of a run makes jumps
ROUNDING = 1e-9         # share of a disk
KEPT = 32               # mechanisms
# Responses of more services than that: a long queue
LONG_QUEUE = 2.0


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
    read_response: float = None     # of reads, of writes alone; None if there are none
    write_response: float = None


class _Parts:
    """What does not depend on when requests come: kept between predictions."""

    kept = {}

    def __init__(self, device, workload):
        self.device, self.workload = device, workload
        self.mechanism = Mechanism(device, workload)
        self.random = self.mechanism.random(self.mechanism.pending_of_stride)
        self.chosen = {}

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

    def positioning(self, algorithm):
        """[(mean, second moment)] of positioning, s and s^2, among each of COUNTS."""
        if algorithm not in self.chosen:
            load, turn = self.workload, self.device.revolution_time
            transfer = round(self.mechanism.transfer().mean() / turn, 2)
            self.chosen[algorithm] = np.array([choice.positioning(
                self.device, (load.data_start, load.data_span), load.read_fraction, n, algorithm,
                transfer) for n in COUNTS])
        return self.chosen[algorithm]


class _Composite:
    """A device under a workload in one algorithm's order."""

    def __init__(self, device, workload, algorithm):
        self.workload, self.algorithm = workload, algorithm
        self.parts = _Parts.of(device, workload)
        self.cache = Cache(device, self.parts.mechanism, workload)

    def gap(self, waits):
        """When the next request of a run comes, if a share of requests waits for so long."""
        load = self.workload
        kind, between = load.arrival_process, 1 / load.rate
        if kind == "closed":
            return Gap("think", load.think_time, bool(load.think_cv2)) if load.outstanding == 1 \
                else Gap("open", load.think_time / load.outstanding, True, waits)
        if kind == "constant-closed":
            return Gap("closed", between)
        if kind == "bursty" and load.burst_rate:
            between = 1 / load.burst_rate
        return Gap("open", between, kind != "constant-open", waits)

    def services(self, waits):
        """(queue.Services by the number pending, of requests wherever in a run; Followers)."""
        random, behind = self.parts.random, self.cache.followers(self.gap(waits))
        share = behind.share
        mean = (1 - share) * random.mean() + share * behind.mean
        within = (1 - share) * random.variance() + share * behind.variance
        between = share * (1 - share) * (random.mean() - behind.mean) ** 2
        run = 1 / (1 - share)
        spread = within + between * queue.run_correlation(run, min(waits[0], 1.0))
        if self.algorithm == "fcfs":
            return queue.Services.same(mean, spread), behind
        return self._chosen(mean, spread, run), behind

    def _chosen(self, mean, variance, run):
        """Services of this mean (s) and variance (s^2) with one pending, of which the first ones of
        runs choose among the runs that are pending, and save what that brings."""
        first, second = self.parts.positioning(self.algorithm).T
        order = queue.Services.through(COUNTS, first, second)
        runs = np.ceil(np.arange(1, queue.MOST_STATES + 1) / run - 1e-9)
        saved, spread = (gain / run for gain in order.gains(runs))
        mean = np.maximum(mean - saved, mean / 10)
        return queue.Services(mean, mean ** 2 + np.maximum(variance - spread, 0.0))

    @functools.cached_property
    def apart(self):
        """Mean services, s, of reads and of writes that begin a run."""
        n = self.parts.mechanism.pending_of_stride
        return tuple(self.parts.mechanism.random(n, read).mean() for read in (True, False))


def _check(device, workload, algorithm):
    workload.check()
    if algorithm not in ALGORITHMS:
        raise ToolError("algorithm %r: not one of %s" % (algorithm, ", ".join(ALGORITHMS)))
    if workload.data_start + workload.data_span > device.capacity * (1 + ROUNDING):
        raise ToolError("workload: data_start %g and data_span %g (bytes): they end beyond the "
                        "disk's %g bytes" % (workload.data_start, workload.data_span,
                                             device.capacity))


def predict(device, workload, algorithm):
    """What `device` makes of `workload` with a queue in the order of `algorithm`, one of
    ALGORITHMS, and one command at the drive. A Prediction, saturated or not.

    Iterates over 4.5's feedback, damped; ToolError if that does not settle.
    """
    _check(device, workload, algorithm)
    made = _Composite(device, workload, algorithm)
    waits, last = (0.0, 0.0), None
    for iteration in range(1, MOST_ITERATIONS + 1):
        services, behind = made.services(waits)
        found = _queued(workload, services)
        if not behind.share or not math.isfinite(found.response) and waits[0] >= 1 or \
                last is not None and abs(found.response - last) <= ENOUGH * iteration * last:
            return _told(made, found, services, behind, iteration)
        last = found.response
        waits = _damped(waits, found, iteration)
    raise ToolError("the prediction does not settle: after %d iterations the response time still "
                    "changes, last to %g s" % (MOST_ITERATIONS, found.response))


def _damped(waits, found, iteration):
    """(share of requests that wait, s that those wait), nearer to what was found; less and less
    of the way, for a request that is just in time for a turn of the platter makes jumps."""
    if not math.isfinite(found.response):
        return 1.0, max(2 * waits[1], 1.0)
    share = found.utilisation
    wait = max(found.response - found.service, 0.0) / share if share else 0.0
    return tuple(old + (new - old) / math.sqrt(iteration)
                 for old, new in zip(waits, (share, wait)))


def _queued(load, services):
    """queue.Queued for a workload's arrivals."""
    kind, rate, mean = load.arrival_process, load.rate, services[0].mean()
    if kind == "constant-closed":
        return queue.Queued(mean, min(rate * mean, 1.0), None, mean, min(rate, 1 / mean))
    if kind == "closed":
        return queue.closed(load.outstanding, load.think_time, services)
    if kind == "bursty":
        return queue.Bursts(
            load.request_rate, load.bursty_fraction, load.requests_per_burst, load.burst_cv2,
            1 / load.burst_rate if load.burst_rate else 0.0, load.bursts_meet).queued(services)
    if kind == "constant-open":
        return queue.constant(rate, services)
    return queue.state_dependent(rate, services)


def _responses_apart(made, response, behind):
    """Of a response (s; None: saturated) of all, those of reads and of writes: they wait alike, and
    differ by their services where both are random."""
    share = made.workload.read_fraction
    if response is None or share in (0, 1):
        return {"read_response": response if share else None,
                "write_response": None if share else response}
    if behind.share:
        return {}
    read, write = made.apart
    return {"read_response": response + (1 - share) * (read - write),
            "write_response": response - share * (read - write)}


def _told(made, found, services, behind, iterations):
    """A Prediction."""
    saturated = not math.isfinite(found.response)
    limit = queue.saturation_rate(services)
    response = None if saturated else found.response
    return Prediction(
        service_time=found.service,
        queue_delay=None if saturated else max(found.response - found.service, 0.0),
        response_time=response, utilisation=1.0 if saturated else found.utilisation,
        saturated=saturated, saturation_rate=limit,
        queue_size=None if saturated else found.throughput * found.response,
        miss_prob=1 - behind.share + behind.miss, partial_hit_prob=behind.partial,
        iterations=iterations,
        throughput=min(found.throughput, limit) if saturated else found.throughput,
        parts=made.parts, **_responses_apart(made, response, behind))


def doubtful(workload, found):
    """Why a response that was computed is not worth much, or None: requests in runs wait for each
    other, and hits and misses in turns, which the queue does not know."""
    kind = workload.arrival_process
    if not workload.has_runs or kind == "constant-closed":
        return None
    if kind in ("bursty", "constant-open") or kind == "closed" and workload.outstanding > 1:
        return "requests in runs that come %s" % {
            "bursty": "in bursts", "constant-open": "evenly spaced",
            "closed": "from several processes"}[kind]
    if found.saturated or found.response_time > LONG_QUEUE * found.service_time:
        return "requests in runs wait in a long queue"
    return None
