# SPDX-License-Identifier: GPL-2.0
"""Free bandwidth: what freeblock would read in the rotational latencies of a workload, and
what that would cost. Not in the paper.

free_bandwidth() puts together the requests pending when the next is chosen (queue.py), the gap
before it (choice.py), and what a gap brings on a map where everything is wanted (freeyield.py).
Two commands are at the drive, so that overheads hide behind the command before, and a
closed loop of N processes leaves N - 1 to choose from. A request that finds the drive idle has a
gap, too, but waits for its plan first; not of a drive that reads ahead, whose head has gone on
meanwhile. Nothing is read in a gap under clook, which does not predict.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import ToolError
from . import choice, compose, freeidle, queue
from .freeyield import SECTOR, FreeSettings, gap_yield, granule_bytes
from .mechanism import Mechanism
from .queue import Moments, Services

NODES = (1, 2, 3, 5, 8, 13, 21, 34)     # lengths of a queue that are computed; others between
# Policy auto chooses requests together with their free reads. In closed loops a window of SPTF-SW
# brings as many free reads, in open ones a smaller one, the smaller the more the drive is idle;
# "loaded" is up to so many idle completions. Set by runs of the Atlas 10K, cheetah9 and nearline16
AUTO_WINDOW, AUTO_OPEN_WINDOW = .3, .2
AUTO_LOADED = 1 / 400
SW_WINDOW = .6          # of sptf-sw, the module's
TARGET = 5e-3           # conservatism "auto": what free reads may cost, of the time
LEAST_AUTO = 20e-6      # s, the least conservatism then
UNIT = 4096             # bytes
LEAST_CV2 = 0.1         # from which on sizes vary, in units
MOST_UNITS = 65
NEAREST = 64.0          # cylinders: to what a gap's mean distance is rounded
PAUSE, PAUSES = 300e-6, 4        # s; core/engine/engine.h, FB_ENGINE_PAUSES
LEAST_TRACK = 2.0       # granules: of shorter tracks nearly all lie across a track's end


@dataclass(frozen=True)
class FreeBandwidth:
    """All in SI units; None: does not apply."""

    fresh: float                # bytes/s while everything is wanted
    gaps_per_second: float
    gap_mean: float             # s, seek and rotational latency before the next request
    latency_mean: float         # s, the rotational part: what can be used
    latency_share: float        # of the time the head is at work
    response_alone: float       # s, of foreground requests: without a task,
    foreground_response: float  # and with one
    slowdown: float             # of requests/s; 0 for arrivals from outside
    utilisation: float
    idle_fraction: float        # of time without requests
    idle_mean: float            # s, mean length of an idle period
    saturated: bool
    saturation_rate: float      # requests/s
    requests_per_second: float


class Load:
    """Device, workload and settings: means of service by how many are pending."""

    def __init__(self, device, workload, settings):
        self.device, self.workload, self.settings = device, workload, settings
        self.turn = device.revolution_time
        self.reads = np.array([workload.read_fraction, 1 - workload.read_fraction])
        self.window = AUTO_WINDOW if settings.policy == "auto" else SW_WINDOW
        transfer = Mechanism(device, workload).transfer()
        self.transfer, self.transfer_variance = transfer.mean(), transfer.variance()
        self.overhead = float(self.reads @ (device.read_overhead, device.write_overhead))
        self.report = float(self.reads @ (device.read_report, device.write_report))

    def choice(self, n):
        """choice.Choice among n pending ones."""
        policy = "sptf-sw" if self.settings.policy == "auto" else self.settings.policy
        return choice.choice(self.device, (self.workload.data_start, self.workload.data_span),
                             self.workload.read_fraction, n, policy, self.window,
                             round(self.transfer / self.turn, 2))

    def service(self, chosen):
        """(mean, second moment), s, of the head time of a request without a task."""
        first, second = chosen.positioning()
        lost = chosen.turns_lost(self.device)
        mean = first + self.transfer + lost
        return mean, second - first ** 2 + self.transfer_variance + lost * self.turn + mean ** 2

    @functools.cached_property
    def scale(self):
        """s: of a seek's errors, Laplace's."""
        return self.device.seek_spread / math.sqrt(2)

    @functools.cached_property
    def tau(self):
        """s that a granule takes to pass."""
        return self.turn * granule_bytes(self.device, self.settings) / self.device.track_bytes()

    def in_time(self, way):
        """Chance that the drive is long enough at work between the end of a read and the
        request's (a way of `way` s, what a granule leaves over, and the request itself) for
        the command after that to be there in time; sizes that vary are in units of 4 KiB."""
        granule = granule_bytes(self.device, self.settings)
        if 2 * self.settings.max_bytes < self.device.track_bytes():
            return 1.0          # pieces are cut long before
        size = self.workload.request_size
        units, share = np.array([size / UNIT]), np.ones(1)
        if self.workload.request_size_cv2 >= LEAST_CV2:
            units = np.arange(1, MOST_UNITS)
            more = max(1 - UNIT / size, 0.0)
            share = (1 - more) * more ** (units - 1)
        pipe = self.settings.lead + max(self.device.read_overhead, self.device.write_overhead)
        short = pipe - way - units * UNIT / granule * self.tau
        return float(share @ np.clip(1 - short / self.tau, 0, 1))

    def late(self, con):
        """Chance that a way with a seek loses its turn: what a granule leaves over is slack."""
        if not self.scale:
            return 0.0
        slack = -self.scale / self.tau * math.expm1(-self.tau / self.scale)
        return math.exp(-con / self.scale) / 2 * slack

    def loss(self, chosen, con, plans):
        """s that free reads cost a request on the mean: one way of theirs has a seek."""
        return float(chosen.latency_pmf @ plans) * self.late(con) * self.turn

    def conservatism(self, chosen, apart):
        """(seek, switch, turn), s: as set; "auto": what holds the cost to the target
        (core/conservatism.h). apart: s from a gap to the next, on the mean."""
        if self.settings.conservatism != "auto":
            return (float(self.settings.conservatism),) * 3
        con = 3 * self.scale
        for _ in range(2 * bool(self.scale)):
            plans = self.gap(chosen, (con, LEAST_AUTO, LEAST_AUTO))[1]
            # so many of the ways may lose their turn, of those that there are
            chance = TARGET * apart / self.turn / max(float(chosen.latency_pmf @ plans), 1e-3)
            con = max(self.scale / 2, self.scale * math.log(self.late(0.0) / chance))
        return max(con, LEAST_AUTO), LEAST_AUTO, LEAST_AUTO

    def gap(self, chosen, con):
        """(bytes by latency, chance of a plan by latency) of gaps before a mixed request."""
        ways = tuple(round(c, 6) for c in con + (
            self.in_time(con[2]), self.in_time(con[1] + self.device.track_switch)))
        found = gap_yield(self.device, self.settings, self.distance(chosen), ways)
        return self.reads @ found[0], self.reads @ found[1]

    def idle_gap(self, con):
        """Bytes that a request brings which finds the drive idle."""
        if freeidle.reads_ahead(self.device):
            return 0.0
        chosen = self.choice(1)
        brings = self.gap(chosen, con)[0]
        at = np.arange(len(brings))
        wait = PAUSE / self.turn * len(brings)
        return float(chosen.latency_pmf @ np.where(at >= PAUSES * wait,
                                                   np.interp(at - wait, at, brings), 0))

    def distance(self, chosen):
        """Cylinders, rounded: a gap's mean distance, by its mean seek."""
        settle = self.device.write_settle * self.reads[1]
        seeks = np.maximum.accumulate(self.device.seek_time)
        distance = float(np.interp(chosen.seek - settle, seeks, self.device.seek_distance))
        return max(NEAREST * round(distance / NEAREST), 1.0)


# ---- what is pending ----

def _services(load, extra, alone):
    """(queue.Services by how many are pending, Moments of one that comes to an idle drive) with two
    commands at the drive. extra(choice): s a request takes longer with a task; alone: s."""
    found = []
    for n in NODES:
        chosen = load.choice(n)
        mean, square = load.service(chosen)
        more = extra(chosen)
        found.append((mean + more, square + 2 * mean * more + more ** 2))
    first, second = np.array(found).T
    return Services.through(NODES, first, second), Moments(
        first[0] + alone, second[0] + 2 * first[0] * alone + alone ** 2)


def _queue(load, extra):
    """(queue.Queued, shares of the requests that are chosen among 1, 2 .. while something is at the
    drive)."""
    work, hidden = load.workload, load.overhead + load.report
    services, alone = _services(load, extra, hidden)
    if work.arrival_process == "poisson":
        found = queue.state_dependent(work.rate, services, alone)
    elif work.arrival_process == "closed":
        if work.think_time <= 0:
            return _full(load, int(work.outstanding), services, alone)
        found = queue.closed(work.outstanding, work.think_time, services, alone)
    else:
        raise ToolError("free bandwidth: arrival_process %r: closed and poisson can be predicted"
                        % work.arrival_process)
    return found, np.zeros(1) if found.states is None else found.states[1:]


def _full(load, count, services, alone):
    """_queue() of processes that do not think: of `count` one is at the drive."""
    service = (alone if count == 1 else services[min(count - 1, len(services)) - 1]).mean()
    weights = np.append(np.zeros(max(count - 2, 0)), float(count > 1))
    response = service if count == 1 else service * count + load.report
    return queue.Queued(response, 1.0, None, service, 1 / service), weights


def _auto_queue(load, extra):
    """_queue(); under policy auto the window is the smaller the more the drive is idle."""
    found, weights = _queue(load, extra)
    if load.settings.policy != "auto" or load.workload.arrival_process != "poisson":
        return found, weights
    for _ in range(2):
        idle = 1 - float(weights.sum()) if math.isfinite(found.response) else 0.0
        if idle <= AUTO_LOADED:
            break
        load.window = round(AUTO_OPEN_WINDOW * (1 - idle), 2)
        found, weights = _queue(load, extra)
    return found, weights


def _mean_choice(load, weights):
    """The Choice over all gaps, by what was pending."""
    if not weights.any():
        return load.choice(1)
    at = np.flatnonzero(weights > 1e-4 * weights.sum())
    if len(at) == 1:
        return load.choice(int(at[0]) + 1)
    # between two lengths, by the logarithm
    place = np.interp(np.log(at + 1), np.log(NODES), np.arange(len(NODES)))
    low = np.minimum(place.astype(int), len(NODES) - 2)
    share = np.bincount(low, weights[at] * (1 - place + low), len(NODES)) + \
        np.bincount(low + 1, weights[at] * (place - low), len(NODES))
    return choice.Choice.mix(share[share > 0], [load.choice(NODES[i])
                                                for i in np.flatnonzero(share)])


# ---- the whole ----

def _check_tracks(device, settings):
    """ToolError of a device with tracks on which hardly a granule lies whole."""
    shortest = SECTOR * float(np.min(device.zones.sectors_per_track))
    granule = granule_bytes(device, settings)
    if shortest < LEAST_TRACK * granule:
        raise ToolError(
            "%s has tracks of %.0f bytes: free bandwidth cannot be predicted where they are "
            "shorter than two granules of %.0f bytes" % (device.name, shortest, granule))


class _Found(NamedTuple):
    """queue.Queued without a task, and with one; the Choice over all gaps; bytes by latency; share
    of requests that have a gap as something is at the drive."""

    alone: queue.Queued
    busy: queue.Queued
    chosen: choice.Choice
    brings: np.ndarray
    share: float
    idle_gap: float = 0.0       # bytes before each of the others


def free_bandwidth(device, workload, settings=None):
    """The FreeBandwidth of a workload on a device, on a map where everything is wanted."""
    settings = (settings or FreeSettings()).check()
    workload.check()
    _check_tracks(device, settings)
    load = Load(device, workload, settings)
    if settings.policy == "clook":
        return _swept(load)
    alone, weights = _auto_queue(load, lambda chosen: 0.0)
    saturated = not math.isfinite(alone.response)
    if saturated:
        weights = np.append(np.zeros(NODES[-1] - 1), 1.0)
    chosen, share = _mean_choice(load, weights), float(weights.sum())
    con = load.conservatism(chosen, 1 / max(alone.throughput * share, 1e-9))
    brings, plans = load.gap(chosen, con)
    busy = alone
    if share and not saturated:
        busy, _ = _queue(load, lambda each: load.loss(each, con[0], plans))
        if not math.isfinite(busy.response):
            busy = alone
    idle_gap = load.idle_gap(con) if share < 1 and not saturated else 0.0
    return _result(load, _Found(alone, busy, chosen, brings, share, idle_gap))


def _result(load, found):
    """All figures."""
    alone, busy, chosen, brings, share, idle_gap = found
    saturated = not math.isfinite(alone.response)
    responses = [None if saturated else each.response for each in (alone, busy)]
    lasting = load.workload.arrival_process == "poisson" and busy.utilisation < 1
    return FreeBandwidth(
        fresh=busy.throughput * (share * float(chosen.latency_pmf @ brings) +
                                 (1 - share) * idle_gap),
        gaps_per_second=busy.throughput * (1 if idle_gap else share),
        gap_mean=chosen.seek + chosen.latency,
        latency_mean=chosen.latency, latency_share=chosen.latency / alone.service,
        response_alone=responses[0], foreground_response=responses[1],
        slowdown=1 - busy.throughput / alone.throughput, utilisation=busy.utilisation,
        idle_fraction=1 - busy.utilisation,
        idle_mean=1 / load.workload.rate if lasting else None, saturated=saturated,
        saturation_rate=1 / load.service(load.choice(NODES[-1]))[0],
        requests_per_second=busy.throughput)


def _swept(load):
    """The answer for clook, under which nothing is read: the queue is compose's, with one command
    at the drive."""
    said = compose.predict(load.device, load.workload, "clook")
    alone = queue.Queued(math.inf if said.saturated else said.response_time, said.utilisation, None,
                         said.service_time, said.throughput)
    chosen = load.choice(1)
    return dataclasses.replace(
        _result(load, _Found(alone, alone, chosen, np.zeros(len(chosen.late)), 0.0)),
        saturation_rate=said.saturation_rate)
