# SPDX-License-Identifier: GPL-2.0
"""The queue (4.3): how long requests wait for one server.

A service is anything with mean() and second_moment() (s, s^2): a distribution.Dist, or
Moments. At and beyond saturation a delay is infinite: that is the answer, not an error.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import ToolError
from .mechanism import gamma_nodes

STATES = 60             # of a chain to begin with
MOST_STATES = 480       # more requests than that are not told apart
NEGLIGIBLE = 1e-7       # what a chain may leave out, probability
MOST_PROCESSES = 200    # of a closed loop that thinks
_NODES = 8              # of a quadrature over a service's length


class Moments(NamedTuple):
    """A time of which no more is known: its first moment (s) and its second (s^2)."""

    first: float
    second: float

    def mean(self):
        """s"""
        return self.first

    def second_moment(self):
        """s^2"""
        return self.second

    def variance(self):
        """s^2; never below 0, whatever rounding did."""
        return max(self.second - self.first ** 2, 0.0)


class Services:
    """Services by the number pending when they begin: arrays first (s) and second (s^2)."""

    def __init__(self, first, second):
        self.first = np.asarray(first, dtype=float)
        self.second = np.asarray(second, dtype=float)

    @staticmethod
    def through(counts, first, second):
        """For 1 .. MOST_STATES pending, through moments at `counts`: straight in the logarithm of
        the number, where what is won by a longer queue is; on as between the last two."""
        at, nodes = np.log(np.arange(1, MOST_STATES + 1)), np.log(counts)
        variance = np.interp(at, nodes, np.maximum(second - np.square(first), 0.0))
        slope = np.log(first[-1] / first[-2]) / (nodes[-1] - nodes[-2])
        mean = np.exp(np.interp(at, nodes, np.log(first)) +
                      slope * np.maximum(at - nodes[-1], 0.0))
        return Services(mean, mean ** 2 + variance)

    @staticmethod
    def same(mean, variance):
        """The same for any number."""
        return Services([mean], [mean ** 2 + variance])

    def gains(self, counts):
        """What is saved, s, and of the variance, s^2, by choosing among `counts`."""
        at = np.arange(1, len(self.first) + 1)
        spread = self.second - self.first ** 2
        return (self.first[0] - np.interp(counts, at, self.first),
                spread[0] - np.interp(counts, at, spread))

    def __len__(self):
        return len(self.first)

    def __getitem__(self, at):
        return Moments(float(self.first[at]), float(self.second[at]))


class Queued(NamedTuple):
    """What a chain finds. response: s, mean; utilisation: share of the time; states[n]: share of
    the departures that leave n requests; service: s, mean; throughput: 1/s. Saturated: response is
    infinite, states None."""

    response: float
    utilisation: float
    states: np.ndarray
    service: float
    throughput: float


def saturated(service):
    """The Queued of a server that is never idle, with services of so many s."""
    return Queued(math.inf, 1.0, None, service, 1 / service)


# Arrivals that know nothing of each other

def mg1_delay(rate, mean, second_moment):
    """E[Queue_Delay], s, of Poisson arrivals (eq. 11): rho^2 (1 + C_s^2) / (2 (1 - rho) rate),
    written as rate E[S^2] / (2 (1 - rho)). rate: 1/s; mean: s; second_moment: s^2. Exact if
    services know nothing of each other and of the queue; infinite if rho >= 1."""
    rho = rate * mean
    return rate * second_moment / (2 * (1 - rho)) if rho < 1 else math.inf


def mm1_delay(rate, mean):
    """E[Queue_Delay], s, if StDev[S] = E[S] (the paper's remark on eq. 11): M/M/1."""
    return mg1_delay(rate, mean, 2 * mean ** 2)


def constant_delay(rate, mean, variance):
    """E[Queue_Delay], s, of arrivals at a constant rate, open: D/G/1 by Kraemer and
    Langenbach-Belz (1976), for which the paper has 0."""
    rho, cv2 = rate * mean, variance / mean ** 2
    if rho >= 1:
        return math.inf
    if cv2 <= 0:
        return 0.0
    return rho * mean * cv2 / (2 * (1 - rho)) * math.exp(-2 * (1 - rho) / (3 * rho * cv2))


def run_correlation(run, rho):
    """How much of the variance between the places of a run counts for the delay (eq. 11), 0 .. 1.

    At rho = 0 a request that comes meets one of them by chance, and it all counts; near 1 the
    server's work is that of whole runs, all equal, and it counts less the shorter they are.
    (1 - rho) / (1 + a rho), with a fitted to an abstract queue; within 0.1."""
    against = max(2.9 / math.sqrt(run) - 1.1, -1.0)
    return min(max((1 - rho) / (1 + against * rho), 0.0), 1.0) if rho > 0 else 1.0


# Bursts

def burst_wait(size, size_cv2, service, gap):
    """E[Burst_Queue_Delay], s, of a request in a burst (eq. 12): (n - 1) / 2 (S - A).

    size: requests of a burst, mean; size_cv2 (not in the paper): of a request drawn at
    random its burst is long, so n - 1 becomes E[n (n - 1)] / E[n]. service, gap (S, A): s.
    0 if the burst is slower than the server: it is none then.
    """
    return max(size * (1 + size_cv2) - 1, 0.0) / 2 * max(service - gap, 0.0)


class Bursts(NamedTuple):
    """Bursts, and requests in none. rate: requests/s of both; fraction: share in bursts; size, cv2:
    of a burst; gap: s from one of its requests to the next; meet: Workload.bursts_meet."""

    rate: float
    fraction: float
    size: float
    cv2: float
    gap: float
    meet: float = 1.0

    def queued(self, services):
        """Queued: within bursts (eq. 12), and for other bursts."""
        wait, mean = drain(self.size * (1 + self.cv2), self.gap, services)
        overall = self.fraction * mean + (1 - self.fraction) * services[0].mean()
        busy = self.rate * overall
        if busy >= 1:
            return saturated(overall)
        delay = self.fraction * wait + self.collisions(mean, services[0], busy)
        return Queued(overall + delay, busy, None, overall, self.rate)

    def collisions(self, mean, alone, busy):
        """Mean wait (s) for other bursts and requests in none; not in the paper, where a burst
        is by definition over when its last request is served.

        Both are Poisson processes, and the work pending is M/G/1's but for what is served while a
        burst still comes: of a lone one 1 - gap / service of its work waits, the busier the more.
        While a burst comes the others' work grows by `busy`, less what time it leaves.
        """
        work = self.size * mean
        late = min(self.gap / mean, 1.0)
        squares = self.rate * self.fraction / self.size * (
            work ** 2 * (1 + self.cv2) + self.size * alone.variance()) * \
            (1 - late * (1 - busy)) + self.rate * (1 - self.fraction) * alone.second_moment()
        behind = (self.size * (1 + self.cv2) - 1) / 2
        grows = max(busy * self.gap - max(self.gap - mean, 0.0), 0.0)
        return self.meet * (squares / 2 / (1 - busy) + self.fraction * behind * grows)


def drain(size, gap, services):
    """(mean wait, mean service) in s of a burst of `size` requests, one each `gap` s, that finds
    nothing pending (eq. 12); with services that depend on how many are pending: step by step."""
    if len(services) == 1:
        mean = services[0].mean()
        return burst_wait(size, 0.0, mean, gap), mean
    whole = max(int(round(size)), 1)
    now = waited = served = 0.0
    for done in range(whole):
        come = whole if gap <= 0 else min(int(now / gap) + 1, whole)
        if come <= done:
            now, come = done * gap, done + 1
        took = services.first[min(come - done, len(services)) - 1]
        served += took
        # those that are there wait; those that come meanwhile wait for the rest
        waited += (come - done - 1) * took
        later = min(whole, int((now + took) / gap) + 1 if gap > 0 else whole) - come
        waited += later * (now + took) - gap * later * (2 * come + later - 1) / 2
        now += took
    return waited / whole * (size - 1) / max(whole - 1, 1) if whole > 1 else 0.0, served / whole


# Services that depend on how many wait

def arrivals_gamma(rate, first, second, most):
    """P(k arrivals in a service), k = 0 .. most - 1, a row for each service: Poisson arrivals
    (rate, 1/s) in gamma times with these moments (arrays)."""
    # a gamma time of no variance has Poisson arrivals; 1e-6 is as good as none
    cv2 = np.maximum(second / first ** 2 - 1, 1e-6)
    shape, scaled = 1 / cv2[:, None], (rate * first * cv2)[:, None]
    count = np.arange(most - 1)
    steps = np.log((shape + count) / (count + 1) * (scaled / (1 + scaled)))
    none = -shape * np.log1p(scaled)
    return np.exp(none + np.concatenate((np.zeros_like(none), np.cumsum(steps, axis=1)), axis=1))


def _states(rate, services, most, alone):
    """Probability of 0 .. most requests left by a departure, of the chain embedded there.

    Between j and j + 1 it goes up as often as down: down only from j + 1 by a service without
    arrivals, up from i <= j by one with more than j - i + 1. All terms are positive, so
    nothing cancels. Departures leave what arrivals find, and Poisson arrivals find what
    there is at any time.
    """
    rows = arrivals_gamma(rate, np.append(alone.mean(), services.first[:most]),
                          np.append(alone.second_moment(), services.second[:most]), most)
    beyond, none = np.maximum(1 - np.cumsum(rows, axis=1), 0.0), rows[1:, 0]
    begins, beyond, last = beyond[0], beyond[1:], len(services) - 1
    found = np.zeros(most + 1)
    found[0] = 1.0
    for j in range(most):
        i = np.arange(1, j + 1)
        up = begins[j] + found[1:j + 1] @ beyond[np.minimum(i - 1, last), j - i + 1]
        found[j + 1] = up / none[min(j, last)]
        if found[j + 1] > 1e200:
            begins, found = begins / found[j + 1], found / found[j + 1]
    return found / found.sum()


def saturation_rate(services):
    """Requests/s beyond which the queue grows without end: the last service is that of a
    queue as long as one likes."""
    return 1 / services[-1].mean()


def state_dependent(rate, services, alone=None):
    """M/G(n)/1, not in the paper: Poisson arrivals of `rate`/s, services[n - 1] that of a request
    chosen among n (the last for all beyond); alone: the service of a request that comes to an idle
    server, if it is another than services[0]. Queued; exact if a service depends on n alone.
    """
    last, alone = services[-1], alone or services[0]
    if rate * last.mean() >= 1:
        return saturated(last.mean())
    most = STATES
    while True:
        states = _states(rate, services, most, alone)
        if states[-1] * most < NEGLIGIBLE:
            break
        if most >= MOST_STATES:
            # at the end nearly all services are the last one; but it may take many to get there
            delay = mg1_delay(rate, last.mean(), last.second_moment())
            least = float(states @ np.arange(len(states))) / rate
            return Queued(max(last.mean() + delay, least), 1 - float(states[0]), None, last.mean(),
                          rate)
        most *= 2
    busy = 1 - float(states[0])
    return Queued(float(states @ np.arange(len(states))) / rate, busy, states, busy / rate, rate)


def constant(rate, services):
    """Queued of arrivals at a constant rate, open, with services that depend on how many are
    pending: the delay is that of D/G/1 with the service for as many as come during a wait."""
    for number in range(len(services)):
        service = services[number]
        delay = constant_delay(rate, service.mean(), service.variance())
        if rate * delay < number + 1:
            return Queued(service.mean() + delay, rate * service.mean(), None, service.mean(), rate)
    return saturated(service.mean()) if math.isinf(delay) else Queued(
        service.mean() + delay, rate * service.mean(), None, service.mean(), rate)


# Closed loops

def closed(count, think, services, alone=None):
    """`count` processes, each with one request or thinking for `think` s (mean), not in the paper.
    Queued, at the times of departures; alone: as in state_dependent().

    Exact for exponential thinking, and without any. The chain embedded at departures: a process
    that thinks comes during a service of s with probability 1 - exp(-s / think). The length of a
    service is taken at the nodes of a quadrature for its first moments.
    """
    count = int(count)
    if think <= 0:
        mean = services[min(count, len(services)) - 1].mean()
        states = np.zeros(count + 1)
        states[count] = 1.0
        return Queued(count * mean, 1.0, states, mean, 1 / mean)
    if count > MOST_PROCESSES:
        raise ToolError("outstanding %d with a think time: more than %d are not computed; "
                        "freeblock sim --outstanding %d --think %g simulates them" % (
                            count, MOST_PROCESSES, count, 1e3 * think))
    begun = [alone or services[0]] + [services[min(n, len(services)) - 1] for n in range(1, count)]
    left = stationary(np.array([_closed_row(count, think, service, n)
                                for n, service in enumerate(begun)]))
    busy = float(left @ np.array([service.mean() for service in begun]))
    cycle = busy + float(left[0]) * think / count
    return Queued(count * cycle - think, busy / cycle, left, busy, 1 / cycle)


def _closed_row(count, think, service, left):
    """From `left` requests after a departure to the number after the next."""
    begun = max(left, 1)
    times, weights = gamma_nodes(service.mean(), service.variance() / service.mean() ** 2, _NODES)
    thinking = count - begun
    thinks = np.exp(-times / think)[:, None]
    row = np.zeros(count)
    k = np.arange(thinking + 1)
    ways = np.array([math.comb(thinking, int(i)) for i in k], dtype=float)
    row[begun - 1 + k] = weights @ (ways * (1 - thinks) ** k * thinks ** (thinking - k))
    return row


def stationary(rows):
    """The distribution that a transition matrix leaves as it is, state by state taken out without
    subtractions (Grassmann, Taksar and Heyman, 1985)."""
    rows = np.array(rows)
    for state in range(len(rows) - 1, 0, -1):
        # from where hardly anything goes down, there is hardly anything below
        into = rows[:state, state] / max(rows[state, :state].sum(), 1e-200)
        rows[:state, state] = into
        rows[:state, :state] += into[:, None] * rows[state, :state]
    found = np.zeros(len(rows))
    found[0] = 1.0
    for state in range(1, len(rows)):
        found[state] = found[:state] @ rows[:state, state]
        if found[state] > 1e100:
            found[:state + 1] /= found[state]
    return found / found.sum()
