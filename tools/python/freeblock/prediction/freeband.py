# SPDX-License-Identifier: GPL-2.0
"""Free bandwidth in closed form: what the scheduler of this project would read in the
rotational latencies of a workload, and what that would cost. Not in the paper.

free_bandwidth() puts together the requests pending when the next is chosen (a closed loop,
or a queue with Poisson arrivals whose service depends on its length), the gap before it
(freegap), what a gap brings on a fresh map (freeyield) and as a scan goes on (freescan).
Two commands are at the drive, so that overheads hide behind the command before, and a
closed loop of N processes leaves N - 1 to choose from. Nothing is read in a gap without a
request that waits, nor under clook, which does not predict.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import ToolError
from . import compose, freegap, freescan
from .distribution import Dist
from .freeyield import SECTOR, WAYS, FreeSettings, gap_yield, granule_bytes
from .mechanism import Mechanism
from .queue import Moments, Services, closed

NODES = (1, 2, 3, 5, 8, 13, 21, 34)     # lengths of a queue that are computed; others between
LENGTHS = 96            # of a queue at most: beyond is as good as saturated
# Policy auto chooses requests together with their free reads, which is not reckoned here. In closed
# loops a window of SPTF-SW brings as many free reads, in open ones a smaller one, the smaller the
# more the drive is idle; "loaded" is up to so many idle completions. As blocks get few it is wider
# ("late"), and what the best of so many gaps brings (core/joint.h) is taken; for the later ones
# cost more, they count only so much beside the first. These were set by whole scans of the Atlas
# 10K, cheetah9 and nearline16, and are looked at on others (research/predictcheck/free.py).
AUTO_WINDOW, AUTO_OPEN_WINDOW = .3, .2
AUTO_LATE_WINDOW, AUTO_LATE_OPEN_WINDOW = .4, .3
AUTO_LOADED = 1 / 400
AUTO_CANDIDATES, AUTO_FREE = 3, .3
TARGET = 5e-3           # conservatism "auto": what free reads may cost, of the time
LEAST_AUTO = 20e-6      # s, the least conservatism then
UNIT = 4096             # bytes
LEAST_CV2 = 0.1         # from which on sizes vary, in units
MOST_UNITS = 65
NEAREST = 64.0          # cylinders: to what a gap's mean distance is rounded
LEAST_TRACK = 2.0       # granules: of shorter tracks nearly all lie across a track's end


@dataclass(frozen=True)
class FreeBandwidth:
    """All in SI units; None: does not apply, or has no bound."""

    fresh: float                # bytes/s while everything is wanted
    gaps_per_second: float
    bytes_per_gap: float        # on a fresh map
    plan_share: float           # of the gaps that bring anything then
    gap: Dist                   # seek and rotational latency before the next request, s
    gap_mean: float             # s
    latency_mean: float         # s, the rotational part: what can be used
    latency_share: float        # of the time the head is at work
    requests_per_second: float
    response_alone: float       # s, of foreground requests: without a task,
    foreground_response: float  # and with one
    slowdown: float             # of requests/s; 0 for arrivals from outside
    utilisation: float
    idle_fraction: float        # of time without requests
    idle_mean: float            # s, mean length of an idle period
    saturated: bool
    saturation_rate: float      # requests/s
    coverage: np.ndarray = None         # shares of the disk that are read,
    by_coverage: np.ndarray = None      # and bytes/s there
    scan_seconds: float = None          # a whole scan


class Load:
    """Device, workload and settings: means of service by how many are pending."""

    def __init__(self, device, workload, settings, late=False):
        self.device = device
        self.workload = workload
        self.settings = settings
        self.open_window = AUTO_LATE_OPEN_WINDOW if late else AUTO_OPEN_WINDOW
        self.turn = device.revolution_time
        self.reads = np.array([workload.read_fraction, 1 - workload.read_fraction])
        self.window = settings.sw_percent / 100
        if settings.policy == "auto":
            self.window = AUTO_LATE_WINDOW if late else AUTO_WINDOW
        self.transfer, self.transfer_square = _transfer(device, workload)
        self.overhead = float(self.reads @ (device.read_overhead, device.write_overhead))
        self.report = float(self.reads @ (device.read_report, device.write_report))

    @property
    def policy(self):
        """The policy whose choices these are."""
        return "sptf-sw" if self.settings.policy == "auto" else self.settings.policy

    def choice(self, n):
        """freegap.Choice among n pending ones."""
        low = max(np.searchsorted(NODES, n, side="right") - 1, 0)
        if NODES[low] >= n or low == len(NODES) - 1:
            return self._choice(NODES[low])
        part = math.log(n / NODES[low]) / math.log(NODES[low + 1] / NODES[low])
        return freegap.Choice.mix((1 - part, part), (self._choice(NODES[low]),
                                                     self._choice(NODES[low + 1])))

    def _choice(self, n):
        return freegap.choice(self.device, (self.workload.data_start, self.workload.data_span),
                              self.workload.read_fraction, n, self.policy, self.window,
                              round(self.transfer / self.turn, 2))

    def exact(self, n):
        """The same, exactly for n: closed loops."""
        return self._choice(n)

    def turns_lost(self, choice):
        """s a request loses on the mean: seeks that take longer than reckoned miss their turn,
        and some gain one; errors are Laplace's."""
        if not self.scale:
            return 0.0
        late = np.exp(-choice.late / self.scale) - \
            np.exp(-(self.turn - choice.late) / self.scale)
        return float(choice.latency_pmf @ late) / 2 * self.turn

    def landing_gain(self, choice):
        """s saved on the mean by zero-latency access of who lands within its request, whose
        size is spread like an exponential's as far as it varies."""
        if not self.device.zero_latency:
            return 0.0
        missed = self.turn - choice.late
        size = self.transfer
        fixed = np.maximum(size - missed, 0)
        spread = size * np.exp(-missed / size)
        part = min(self.workload.request_size_cv2, 1.0)
        return float(choice.latency_pmf @ ((1 - part) * fixed + part * spread))

    def service(self, choice):
        """(mean, second moment), s, of the head time of a request without a task."""
        mean = choice.seek + choice.latency + self.transfer + self.turns_lost(choice) - \
            self.landing_gain(choice)
        seek = np.arange(len(choice.p)) * choice.step
        both = seek[:, None] + choice.late
        variance = float((choice.p * both ** 2).sum()) - (choice.seek + choice.latency) ** 2
        lost = self.turns_lost(choice) * self.turn
        return mean, variance + self.transfer_square - self.transfer ** 2 + lost + mean ** 2

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

    def late(self, con, spare=1.0):
        """Chance that a leg with a seek loses its turn: what `spare` granules, or what one
        leaves over, take is slack, too."""
        if not self.scale:
            return 0.0
        spare *= self.tau
        slack = -self.scale / spare * math.expm1(-spare / self.scale)
        return math.exp(-con / self.scale) / 2 * slack

    def kept(self, choice, plans):
        """s that free reads keep a request from gaining on the mean, less what it would have
        lost: turns, and landings within it. plans: chance of a plan by latency."""
        kept = self.landing_gain(choice) * float(choice.latency_pmf @ plans)
        if self.scale:
            early = np.exp(-(self.turn - choice.late) / self.scale)
            late = np.exp(-choice.late / self.scale)
            kept += float(choice.latency_pmf @ (plans * (early - late))) / 2 * self.turn
        return kept

    def loss(self, choice, con, plans):
        """s that free reads cost a request on the mean: one leg of theirs has a seek."""
        share = float(choice.latency_pmf @ plans)
        return share * self.late(con) * self.turn + self.kept(choice, plans)

    def conservatism(self, choice, apart):
        """(seek, switch, turn), s: as set; "auto": what holds the cost to the target
        (core/conservatism.h), of which gains that are kept from the foreground are a part. apart: s
        from a gap to the next, on the mean."""
        given = self.settings.conservatism
        if given != "auto":
            return (float(given),) + tuple(
                float(given) if own is None else float(own)
                for own in (self.settings.switch, self.settings.turn))
        if not self.scale:
            return (LEAST_AUTO,) * 3
        con = 3 * self.scale
        for _ in range(2):
            brings, plans = self.gap(choice, (con, LEAST_AUTO, LEAST_AUTO))
            most = brings[-1] / granule_bytes(self.device, self.settings)
            con = self._auto_con(con, most, float(choice.latency_pmf @ plans),
                                 self.kept(choice, plans), apart)
        return (con, LEAST_AUTO, LEAST_AUTO)

    def _auto_con(self, con, most, share, kept, apart, spare=1.0):
        """con (s) makes plans in a share of the gaps, `apart` s from each other on the mean, the
        best of `most` blocks and `spare` less than there is time for, which keep `kept` s from
        a request: the con that they make."""
        price = 2 * math.exp(con / self.scale) / -math.expm1(-self.tau / self.scale)
        # a gap of nearly a turn is left alone where the turn is worth more
        budget = TARGET * apart - min(1.0, 2 * most / price) * kept
        budget = max(budget, TARGET * apart / 5)
        chance = budget / self.turn / max(share, 1e-3)
        return max(LEAST_AUTO, self.scale / 2,
                   self.scale * math.log(self.late(0.0, spare) / chance))

    def con_at(self, choice, con, apart):
        """A function: con when a share of the gaps has plans, of so many blocks."""
        if self.settings.conservatism != "auto" or not self.scale:
            return lambda share, most: dict(zip(WAYS, self.ways(con)))
        brings, plans = self.gap(choice, con)
        fresh = max(float(choice.latency_pmf @ plans), 1e-3)
        kept = self.kept(choice, plans) / fresh
        full = float(choice.latency_pmf @ brings) / fresh / granule_bytes(self.device,
                                                                          self.settings)

        def found(share, most):
            seek = self._auto_con(con[0], most, share, kept * share, apart,
                                  max(1.0, full - most))
            return dict(zip(WAYS, self.ways((seek,) + con[1:])))
        return found

    def gap(self, choice, con):
        """(bytes by latency, chance of a plan by latency) of gaps before a mixed request."""
        found = gap_yield(self.device, self.settings, self.distance(choice), self.ways(con))
        return self.reads @ found[0], self.reads @ found[1]

    def distance(self, choice):
        """Cylinders, rounded: a gap's mean distance, by its mean seek."""
        settle = self.device.write_settle * self.reads[1]
        seeks = np.maximum.accumulate(self.device.seek_time)
        distance = float(np.interp(choice.seek - settle, seeks, self.device.seek_distance))
        return max(NEAREST * round(distance / NEAREST), 1.0)

    def ways(self, con):
        """The con of gap_yield()."""
        return tuple(round(c, 6) for c in con + (
            self.in_time(con[2]), self.in_time(con[1] + self.device.track_switch)))

    def scene(self, gaps):
        """The freescan.Scene; pieces beyond a plan's first count as gaps of their own."""
        choice, apart, con = gaps.choice, gaps.apart, gaps.con
        ways = self.ways(con)
        distance = self.distance(choice)
        pieces = self._pieces(choice, distance, ways)
        return freescan.Scene(self.device, self.settings, choice, distance,
                              dict(zip(WAYS, ways)), self.reads, pieces,
                              self.con_at(choice, con, apart), chances(self, gaps.queue))

    def _pieces(self, choice, distance, ways):
        """A function of latency: what several pieces bring, by what one does."""
        if "several" not in self.settings.lifted:
            return lambda late: 1.0
        words = self.settings.lifted - {"several"}
        one = dataclasses.replace(self.settings, lift="+".join(sorted(words)) or "none")
        all_of = self.reads @ gap_yield(self.device, self.settings, distance, ways)[0]
        alone = self.reads @ gap_yield(self.device, one, distance, ways)[0]
        ratio = all_of / np.maximum(alone, 1.0)
        return lambda late: float(np.interp(late, choice.late, np.maximum(ratio, 1.0)))


@functools.lru_cache(maxsize=64)
def _transfer(device, workload):
    """(mean, second moment), s, of the time from a request's first sector to its last."""
    mechanism = Mechanism(device, workload)
    share = workload.read_fraction
    parts = [(weight, mechanism.transfer(read=read, size=workload.request_size,
                                         cv2=workload.request_size_cv2))
             for read, weight in ((True, share), (False, 1 - share)) if weight]
    return (sum(w * d.mean() for w, d in parts), sum(w * d.second_moment() for w, d in parts))


# ---- queues ----

@dataclass(frozen=True)
class _Queue:
    """What is pending when a request is chosen. weights[n]: share of all requests that are
    chosen among n + 1 while something is at the drive; idle: share that finds it idle."""

    weights: np.ndarray
    idle: float
    service: float              # s, mean over requests
    response: float             # s
    rate: float                 # requests/s
    utilisation: float


def _closed(load, extra):
    """A closed loop; extra(choice): s a request takes longer with a task."""
    count = int(load.workload.outstanding)
    think = load.workload.think_time
    if think > 0:
        return _thinking(load, count, think, extra)
    choice = load.exact(max(count - 1, 1))
    service = load.service(choice)[0]
    if count == 1:
        service += load.overhead + load.report
        return _Queue(np.zeros(1), 1.0, service, service, 1 / service, 1.0)
    service += extra(choice)
    weights = np.zeros(count - 1)
    weights[-1] = 1.0
    return _Queue(weights, 0.0, service, service * count + load.report, 1 / service, 1.0)


def _service_table(load, extra, most):
    """Service by how many are pending, 1 .. most: means and second moments."""
    nodes = [n for n in NODES if n < most] + [most]
    found = []
    for n in nodes:
        choice = load.choice(n)
        mean, square = load.service(choice)
        more = extra(choice)
        found.append((mean + more, square + 2 * mean * more))
    found = np.array(found)
    at = np.log(np.arange(1, most + 1))
    return [np.interp(at, np.log(nodes), found[:, i]) for i in (0, 1)]


def _thinking(load, count, think, extra):
    """Processes that think: the chain that departures leave, in which a service is chosen among
    those left."""
    mean, square = _service_table(load, extra, max(count - 1, 1))
    hidden = load.overhead + load.report
    alone = Moments(mean[0] + hidden, square[0] + 2 * mean[0] * hidden + hidden ** 2)
    found = closed(count, think, Services(mean, square), alone)
    if found.states is None:
        # very many: there are always more than are told apart
        return _Queue(np.append(np.zeros(count - 2), 1.0), 0.0, found.service, found.response,
                      found.throughput, found.utilisation)
    return _Queue(found.states[1:], float(found.states[0]), found.service, found.response,
                  found.throughput, found.utilisation)


def _arrivals(mean, square, rate, most):
    """[n, k]: chance of k arrivals in a service: Poisson's in a gamma distributed time."""
    cv2 = np.maximum(square / mean ** 2 - 1, 1e-3)[:, None]
    shape = 1 / cv2
    share = rate * mean[:, None] * cv2 / (1 + rate * mean[:, None] * cv2)
    k = np.arange(1, most + 1)
    steps = np.log((shape + k - 1) / k) + np.log(share)
    log = np.cumsum(np.hstack((shape * np.log1p(-share), steps)), axis=1)
    return np.exp(log)


def _open(load, extra):
    """A queue with Poisson arrivals: what departures leave behind, an embedded chain in which
    the service depends on what it was chosen among."""
    rate = load.workload.rate
    mean, square = _service_table(load, extra, LENGTHS)
    if rate * mean[-1] >= 1:
        return None
    first = mean[0] + load.overhead + load.report
    come = _arrivals(np.append(first, mean), np.append(square[0] + first ** 2 - mean[0] ** 2,
                                                       square), rate, LENGTHS)
    chain = np.zeros((LENGTHS + 1, LENGTHS + 1))
    chain[0] = come[0]
    for n in range(1, LENGTHS + 1):
        chain[n, n - 1:] = come[n, :LENGTHS + 2 - n]
    chain[:, -1] += 1 - chain.sum(axis=1)
    lhs = np.vstack((chain.T[:-1] - np.eye(LENGTHS + 1)[:-1], np.ones(LENGTHS + 1)))
    p = np.maximum(np.linalg.solve(lhs, np.append(np.zeros(LENGTHS), 1.0)), 0)
    service = float(p[0] * first + p[1:] @ mean)
    response = float(p @ np.arange(LENGTHS + 1)) / rate
    return _Queue(p[1:], float(p[0]), service, response, rate, min(rate * service, 1.0))


def _queue(load, extra):
    kind = load.workload.arrival_process
    if kind == "closed":
        return _closed(load, extra)
    if kind == "poisson":
        queue = _open(load, extra)
        if load.settings.policy == "auto":
            queue = _auto(load, extra, queue)
        return queue
    raise ToolError("free bandwidth: arrival_process %r: closed and poisson can be predicted"
                    % kind)


def _auto(load, extra, queue):
    """Policy auto: the less of a window the more the drive is idle."""
    for _ in range(2):
        idle = queue.idle if queue else 0.0
        if idle <= AUTO_LOADED:
            break
        load.window = round(load.open_window * (1 - idle), 2)
        queue = _open(load, extra)
    return queue


# ---- the whole ----

def _mean_choice(load, queue):
    """The Choice over all gaps, by what was pending."""
    if not queue.weights.any():
        return load.choice(1)
    if np.count_nonzero(queue.weights) == 1:
        return load.exact(len(queue.weights))
    at = np.flatnonzero(queue.weights > 1e-4 * queue.weights.sum())
    return freegap.Choice.mix(queue.weights[at], [load.choice(n + 1) for n in at])


def chances(load, queue):
    """Of how many requests' gaps the best is taken, on the mean."""
    if load.settings.policy != "auto" or not queue.weights.any():
        return 1.0
    among = np.minimum(np.arange(1, len(queue.weights) + 1), AUTO_CANDIDATES)
    return 1 + AUTO_FREE * float(queue.weights @ (among - 1) / queue.weights.sum())


def _check_tracks(device, settings):
    """ToolError of a device with tracks on which hardly a granule lies whole."""
    shortest = SECTOR * float(np.min(device.zones.sectors_per_track))
    granule = granule_bytes(device, settings)
    if shortest < LEAST_TRACK * granule:
        raise ToolError(
            "%s has tracks of %.0f bytes: free bandwidth cannot be predicted where they are "
            "shorter than two granules of %.0f bytes" % (device.name, shortest, granule))


class _Gaps(NamedTuple):
    """Of a Load: its queue alone, and with a task; the Choice over all gaps, how far (s) they are
    apart, and conservatism; bytes and chance of a plan by latency; share of requests with a gap."""

    alone: _Queue
    queue: _Queue
    choice: freegap.Choice
    apart: float
    con: tuple
    brings: np.ndarray
    plans: np.ndarray
    share: float


def _gaps(load):
    """The _Gaps; None: more requests come than can be served."""
    alone = _queue(load, lambda choice: 0.0)
    if alone is None:
        return None
    choice = _mean_choice(load, alone)
    apart = 1 / max(alone.rate * float(alone.weights.sum()), 1e-9)
    con = load.conservatism(choice, apart)
    brings, plans = load.gap(choice, con)
    reckons = load.settings.policy in freegap.MECHANICAL + ("auto",)
    share = float(alone.weights.sum()) if reckons else 0.0
    queue = alone
    if share:
        queue = _queue(load, lambda c: load.loss(c, con[0], plans)) or alone
    return _Gaps(alone, queue, choice, apart, con, brings, plans, share)


def free_bandwidth(device, workload, settings=None, scan=False):
    """The FreeBandwidth of a workload on a device, on a map where everything is wanted; with
    `scan` the course of a scan of the whole disk, too, which takes longer to say."""
    settings = (settings or FreeSettings()).check()
    workload.check()
    _check_tracks(device, settings)
    load = Load(device, workload, settings)
    if settings.policy == "clook":
        return _swept(load)
    gaps = _gaps(load)
    if gaps is None:
        return _saturated(load)
    found = _result(load, gaps)
    if scan and gaps.share:
        late = gaps
        if settings.policy == "auto":
            load = Load(device, workload, settings, late=True)
            late = _gaps(load) or gaps
        course = freescan.begun_at(
            freescan.scan(load.scene(late), found.gaps_per_second), found.fresh, device.capacity)
        found = dataclasses.replace(found, scan_seconds=course.seconds, coverage=course.done,
                                    by_coverage=course.rate)
    return found


def _result(load, gaps):
    """All figures."""
    alone, queue, choice, _, _, brings, plans, share = gaps
    per_gap = float(choice.latency_pmf @ brings)
    return FreeBandwidth(
        fresh=queue.rate * share * per_gap,
        gaps_per_second=queue.rate * share,
        bytes_per_gap=per_gap,
        plan_share=float(choice.latency_pmf @ plans),
        gap=_gap_dist(choice),
        gap_mean=choice.seek + choice.latency,
        latency_mean=choice.latency,
        latency_share=choice.latency / alone.service,
        requests_per_second=queue.rate,
        response_alone=alone.response,
        foreground_response=queue.response,
        slowdown=1 - queue.rate / alone.rate,
        utilisation=queue.utilisation,
        idle_fraction=1 - queue.utilisation,
        idle_mean=_idle_mean(load, queue),
        saturated=False,
        saturation_rate=_saturation(load))


def _gap_dist(choice):
    """Seek and latency together, as a Dist."""
    rows, bins = choice.p.shape
    p = np.zeros(rows + bins)
    for j in range(bins):
        p[j:j + rows] += choice.p[:, j]
    # a latency lies from j to j + 1 steps: half to either
    p = (p + np.append(0, p[:-1])) / 2
    return Dist(choice.step, p / p.sum())


def _idle_mean(load, queue):
    """s; arrivals from outside end an idle period after 1 / rate."""
    if load.workload.arrival_process != "poisson" or queue.utilisation >= 1:
        return None
    return 1 / load.workload.rate


def _saturation(load):
    """Requests/s that a long queue is served at."""
    return 1 / load.service(load.choice(NODES[-1]))[0]


def _swept(load):
    """The answer for clook, whose distances freegap does not know and under which nothing is
    read: the queue is compose's."""
    said = compose.predict(load.device, load.workload, "clook", early=load.settings.lead)
    choice = load.choice(1)
    none = np.zeros(len(choice.late))
    queue = _Queue(np.zeros(1), 1 - said.utilisation, said.service_time, said.response_time,
                   said.throughput, said.utilisation)
    gaps = _Gaps(queue, queue, choice, math.inf, (0.0, 0.0, 0.0), none, none, 0.0)
    return dataclasses.replace(_result(load, gaps),
                               saturated=said.saturated, saturation_rate=said.saturation_rate)


def _saturated(load):
    """The answer when requests come faster than they can be served."""
    limit = _saturation(load)
    choice = load.choice(NODES[-1])
    con = load.conservatism(choice, 1 / limit)
    brings, plans = load.gap(choice, con)
    queue = _Queue(np.ones(1), 0.0, 1 / limit, None, limit, 1.0)
    found = _result(load, _Gaps(queue, queue, choice, 1 / limit, con, brings, plans, 1.0))
    return dataclasses.replace(found, saturated=True, response_alone=None,
                               foreground_response=None)
