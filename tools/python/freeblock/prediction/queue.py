# SPDX-License-Identifier: GPL-2.0
"""The queue (4.3): how long requests wait for one server.

A service is anything with mean() and second_moment() (s, s^2): a distribution.Dist, or
Moments. At and beyond saturation a delay is infinite: that is the answer, not an error.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .mechanism import gamma_nodes

STATES = 60             # of a chain to begin with
MOST_STATES = 480       # more requests than that are not told apart
NEGLIGIBLE = 1e-7       # what a chain may leave out, probability
RARE = 1e-3             # utilisation below which pairs of requests are too few to be counted
TURNS_NEGLIGIBLE = 1e-4 # .. and what it may leave out
EARLY_ITERATIONS = 12
EARLY_ENOUGH = 1e-3     # of the response
SUMMED = 200            # terms of a sum; beyond, its integral
MOST_PROCESSES = 200    # of a closed loop; more are as good as Poisson arrivals
CROWD_STEPS = 40        # bisections for their rate
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
    def of(services):
        """Of a list of services."""
        return Services([s.mean() for s in services], [s.second_moment() for s in services])

    @staticmethod
    def through(counts, first, variance):
        """For 1 .. MOST_STATES pending, through values at `counts`: straight in the logarithm of
        the number, where what is won by a longer queue is; on as between the last two."""
        at, nodes = np.log(np.arange(1, MOST_STATES + 1)), np.log(counts)
        mean = np.interp(at, nodes, np.log(first))
        spread = np.interp(at, nodes, variance)
        beyond = at > nodes[-1]
        slope = np.log(first[-1] / first[-2]) / (nodes[-1] - nodes[-2])
        mean[beyond] = np.log(first[-1]) + slope * (at[beyond] - nodes[-1])
        mean = np.exp(mean)
        return Services(mean, mean ** 2 + spread)

    @staticmethod
    def same(mean, variance):
        """The same for any number."""
        return Services([mean], [mean ** 2 + variance])

    def between(self, count):
        """The service with `count` pending, a real number."""
        at = np.arange(1, len(self.first) + 1)
        return Moments(float(np.interp(count, at, self.first)),
                       float(np.interp(count, at, self.second)))

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
    """What a chain finds. response: s, mean; utilisation: share of the time; states[n]:
    share of the time with n requests, the one being served included; service: s, mean;
    throughput: 1/s; square: E[response^2], s^2, of Poisson arrivals served in order. Saturated:
    response and size are infinite, states None."""

    response: float
    utilisation: float
    states: np.ndarray
    service: float
    throughput: float
    square: float = None

    @property
    def size(self):
        """E[Queue_Size]: mean number of requests, the one being served included."""
        return math.inf if self.states is None else \
            float(self.states @ np.arange(len(self.states)))


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
    """E[Queue_Delay], s, of arrivals at a constant rate, open: D/G/1, not in the paper.

    Spitzer's identity (1956): the sum over k of E[(S_1 + .. + S_k - k / rate)+] / k, with gamma
    services, of which k are one again. Within 0.02 services of Lindley's recursion for Erlang
    services. (Kraemer and Langenbach-Belz' formula gives half of it at rho = 0.85 and
    C_s^2 = 0.1.)
    """
    spare = 1 / rate - mean
    if spare <= 0:
        return math.inf
    if variance <= 0:
        return 0.0
    # beyond 8 standard deviations nothing comes
    last = 64 * variance / spare ** 2 + 1
    each = np.arange(1.0, min(last, SUMMED) + 1)
    total = float(np.sum(_excess(each, rate, mean, variance) / each))
    if last > SUMMED:
        far = np.geomspace(SUMMED + 0.5, last, 200)
        total += float(np.trapz(_excess(far, rate, mean, variance) / far, far))
    return total


def _excess(count, rate, mean, variance):
    """E[max(X - count / rate, 0)] of the sum X of `count` gamma services, s."""
    shape = count * mean ** 2 / variance
    limit = count / rate
    at = limit * mean / variance
    return np.maximum(count * mean * _gamma_tail(shape + 1, at) - limit * _gamma_tail(shape, at), 0)


def _gamma_tail(shape, at):
    """P(a gamma time of that shape and scale 1 is over `at`); Wilson and Hilferty (1931): its
    cube root is nearly normal. Within 0.001 for shapes over 2."""
    ninth = 1 / (9 * shape)
    score = (np.cbrt(at / shape) - 1 + ninth) / np.sqrt(2 * ninth)
    return np.array([math.erfc(x) for x in score]) / 2


# Bursts

def burst_wait(size, size_cv2, service, gap):
    """E[Burst_Queue_Delay], s, of a request in a burst (eq. 12): (n - 1) / 2 (S - A).

    size: requests of a burst, mean; size_cv2 (not in the paper): of a request drawn at
    random its burst is long, so n - 1 becomes E[n (n - 1)] / E[n]. service, gap (S, A): s.
    0 if the burst is slower than the server: it is none then.
    """
    return max(size * (1 + size_cv2) - 1, 0.0) / 2 * max(service - gap, 0.0)


def burst_delay(size, size_cv2, service, gap, bursty_fraction=1.0):
    """E[Queue_Delay], s, the paper's after eq. 12: strays wait for nothing, no burst meets
    another."""
    return bursty_fraction * burst_wait(size, size_cv2, service, gap)


class Bursts(NamedTuple):
    """Bursts and strays. rate: requests/s of both; fraction: share in bursts; size, cv2: of a
    burst; gap: s from one of its requests to the next; meet: Workload.bursts_meet."""

    rate: float
    fraction: float
    size: float
    cv2: float
    gap: float
    meet: float = 1.0

    @property
    def behind(self):
        """Requests of its burst that are before a request, mean."""
        return (self.size * (1 + self.cv2) - 1) / 2

    def collisions(self, service, alone, busy):
        """Mean waits (s) of a request in a burst, and of a stray, for other bursts and strays; not
        in the paper, where a burst is by definition over when its last request is served.

        Bursts and strays are Poisson processes, and the work pending is M/G/1's but for what is
        served while a burst still comes: of one that is alone 1 - gap / service of its work waits,
        the busier the more (a fluid queue with M/G/oo input has just this). While a burst comes
        the others' work grows by `busy`, less what time it leaves.
        """
        mean = self.size * service.mean()
        variance = self.size * service.variance() + self.cv2 * mean ** 2
        bursts = self.rate * self.fraction / self.size
        late = min(self.gap / service.mean(), 1.0)
        squares = bursts * (mean ** 2 + variance) * (1 - late * (1 - busy)) + \
            self.rate * (1 - self.fraction) * alone.second_moment()
        pending = squares / 2 / (1 - busy)
        grows = max(busy * self.gap - max(self.gap - service.mean(), 0.0), 0.0)
        return self.meet * (pending + self.behind * grows), self.meet * pending

    def queued(self, services):
        """Queued: within bursts (eq. 12), and by collisions."""
        wait, overall = self._drained(services)
        alone = services[0].mean()
        mean = (overall - (1 - self.fraction) * alone) / self.fraction if self.fraction else alone
        busy = self.rate * overall
        if busy >= 1:
            return Queued(math.inf, 1.0, None, overall, 1 / overall)
        spread = Moments(mean, mean ** 2 + services[0].variance())
        others, strays = self.collisions(spread, services[0], busy)
        delay = self.fraction * (wait + others) + (1 - self.fraction) * strays
        if self.meet == 1 and len(services) > 1:
            found = self._chosen(services, delay / self._together(services, mean), overall)
            if found:
                return found
        return Queued(overall + delay, busy, None, overall, self.rate)

    def _together(self, services, mean):
        """What queued() has for the delay if all requests of a burst come at once, s."""
        wait = burst_wait(self.size, self.cv2, mean, 0.0)
        others, strays = self._replace(gap=0.0).collisions(
            Moments(mean, mean ** 2 + services[0].variance()), services[0], self.rate * mean)
        return self.fraction * (wait + others) + (1 - self.fraction) * strays

    def _chosen(self, services, shorter, mean):
        """queued() where services depend on how many are pending and bursts come by chance: of
        bursts that come at once, by in_batches(), whose delay is `shorter` as much as is without
        a choice for the time that bursts take to come, and whose services are longer as much
        as those (mean, s) of bursts that meet nobody. None if that is too long a queue."""
        bursts = self.rate * self.fraction / self.size
        strays = self.rate * (1 - self.fraction)
        sizes = [(1.0, strays / (bursts + strays))] + [
            (size, weight * bursts / (bursts + strays)) for size, weight in self._sizes()]
        found = in_batches(bursts + strays, sizes, services)
        if not found:
            return None
        at_once = self._replace(gap=0.0)._drained(services)[1]
        service = found.service * mean / at_once
        return Queued(service + shorter * (found.response - found.service), self.rate * service,
                      None, service, self.rate) if self.rate * service < 1 else None

    def _drained(self, services):
        """(mean wait in bursts, mean service of all), s, of bursts that meet nobody."""
        drained = [(size, weight, *drain(size, self.gap, services))
                   for size, weight in self._sizes()]
        requests = sum(size * weight for size, weight, *_ in drained)
        wait = sum(size * weight * wait for size, weight, wait, _ in drained) / requests
        mean = sum(size * weight * mean for size, weight, _, mean in drained) / requests
        return wait, self.fraction * mean + (1 - self.fraction) * services[0].mean()

    def _sizes(self):
        """(size, weight): two with the mean and the variance of a burst's."""
        if self.cv2 <= 0:
            return [(self.size, 1.0)]
        # not below one request: the lower one is farther from the mean if there is room
        low = max(1.0, self.size * (1 - math.sqrt(self.cv2)))
        below = self.size - low
        if below <= 0:
            return [(self.size, 1.0)]
        above = self.cv2 * self.size ** 2 / below
        return [(low, above / (above + below)), (self.size + above, below / (above + below))]


def drain(size, gap, services):
    """(mean wait, mean service) in s of a burst of `size` requests, one each `gap` s, that finds
    nobody (eq. 12); with services that depend on how many are pending: step by step."""
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
        # who is there waits; who comes meanwhile waits for the rest
        waited += (come - done - 1) * took
        later = min(whole, int((now + took) / gap) + 1 if gap > 0 else whole) - come
        waited += sum(now + took - (come + i) * gap for i in range(later))
        now += took
    return waited / whole * (size - 1) / max(whole - 1, 1) if whole > 1 else 0.0, served / whole


def in_batches(rate, sizes, services):
    """Queued of batches that come by Poisson arrivals (`rate`/s), with services that depend on
    how many are pending: state_dependent() for them, not in the paper. sizes: (requests,
    probability). None if the queue is longer than MOST_STATES."""
    most = STATES
    while most < MOST_STATES:
        most *= 2
        if most < 2 * max(size for size, _ in sizes):
            continue
        batch = np.zeros(most + 1)
        for size, weight in sizes:
            part = size - int(size)
            batch[int(size):int(size) + 2] += weight * np.array([1 - part, part])
        left, times = _batch_states(rate, batch, services, most)
        if left[-1] * most < TURNS_NEGLIGIBLE:
            return _batch_sums(rate, batch, left, *times)
    return None


def _batch_sums(rate, batch, left, lasts, areas):
    """Queued of a chain of batches: over all of its steps."""
    mean = float(batch @ np.arange(len(batch)))
    begun = left[1:] + left[0] * batch[1:]
    last, area = float(begun @ lasts), float(begun @ areas)
    whole = last + left[0] / rate
    return Queued(area / whole / (rate * mean), last / whole, None, last / whole / (rate * mean),
                  rate * mean)


# Services that depend on how many wait

def service_at(services, count):
    """The service begun with `count` pending, itself included; the last one for all beyond."""
    return services[min(count, len(services)) - 1]


def arrivals(rate, service, most):
    """P(k arrivals in a service), k = 0 .. most - 1; Poisson arrivals of `rate`/s.

    Of a Dist exactly; of Moments as if it were a gamma time, a negative binomial number,
    which has the right mean and variance.
    """
    if hasattr(service, "p"):
        return _arrivals_dist(rate, service, most)
    return arrivals_gamma(rate, np.array([service.mean()]),
                           np.array([service.second_moment()]), most)[0]


def arrivals_gamma(rate, first, second, most):
    """arrivals() of gamma times with these moments (arrays), a row each."""
    # A gamma time of no variance has Poisson arrivals; 1e-6 is as good as none.
    cv2 = np.maximum(second / first ** 2 - 1, 1e-6)
    shape, scaled = 1 / cv2[:, None], (rate * first * cv2)[:, None]
    count = np.arange(most - 1)
    steps = np.log((shape + count) / (count + 1) * (scaled / (1 + scaled)))
    none = -shape * np.log1p(scaled)
    return np.exp(none + np.concatenate((np.zeros_like(none), np.cumsum(steps, axis=1)), axis=1))


def fewer(means, counts):
    """P(fewer than a count come) of Poisson numbers; arrays. Counts over 60: as of the normal
    distribution."""
    small = np.minimum(counts, 61)
    below = np.cumsum(poisson(np.asarray(means, dtype=float), 61), axis=1)
    few = np.where(small > 0, below[np.arange(len(means)), np.maximum(small - 1, 0)], 0.0)
    score = (means + 0.5 - counts) / np.sqrt(2 * np.maximum(means, 1e-9))
    return np.where(counts <= 60, few, np.array([math.erfc(x) for x in score]) / 2)


def poisson(means, most):
    """Rows of Poisson probabilities of 0 .. most - 1."""
    means = np.maximum(means, 1e-300)[:, None]
    steps = np.log(means / np.arange(1, most))
    return np.exp(np.concatenate((np.zeros_like(means), np.cumsum(steps, axis=1)), axis=1) - means)


def _arrivals_dist(rate, service, most):
    """arrivals() of a Dist: neighbouring bins together, 8 of them are far less than a gap."""
    width = max(len(service.p) // 160, 1)
    pad = -len(service.p) % width
    p = np.pad(service.p, (0, pad)).reshape(-1, width)
    times = np.pad(service.times, (0, pad)).reshape(-1, width)
    weights = p.sum(axis=1)
    kept = weights > 0
    middle = (p * times).sum(axis=1)[kept] / weights[kept]
    return weights[kept] @ poisson(rate * middle, most)


def _batch_states(rate, batch, services, most):
    """(_states() of batches, (means of services (s) with 1 .. most pending, the time that all
    who are there meanwhile spend, s)). The number that comes in a service, of gamma length,
    by its generating function."""
    at = np.minimum(np.arange(most), len(services) - 1)
    first, second = services.first[at], services.second[at]
    cv2 = np.maximum(second / first ** 2 - 1, 1e-6)[:, None]
    length = 1 << (2 * most).bit_length()
    spread = 1 + rate * first[:, None] * cv2 * (1 - np.fft.rfft(batch, length))
    coming = np.fft.irfft(np.exp(-np.log(spread) / cv2), length, axis=1)[:, :most + 1]
    beyond = np.maximum(1 - np.cumsum(coming, axis=1), 0.0)
    begun = np.flatnonzero(batch[1:]) + 1
    left = np.zeros(most + 1)
    left[0] = 1.0
    for j in range(most):
        i = np.arange(1, j + 1)
        # after a pause a batch begins, and all of it but one is left at least
        over = sum(batch[x] * (beyond[x - 1, j - x + 1] if j >= x - 1 else 1.0) for x in begun)
        up = left[0] * over + left[1:j + 1] @ beyond[i - 1, j - i + 1]
        left[j + 1] = up / max(coming[j, 0], 1e-200)
        if left[j + 1] > 1e200:
            left /= left[j + 1]
    areas = first * np.arange(1, most + 1) + rate * float(batch @ np.arange(most + 1)) * second / 2
    return left / left.sum(), (first, areas)


def _up_crossings(rate, services, most):
    """beyond[n - 1, k]: P(more than k arrivals in the service begun at n); none[n - 1]: P(0)."""
    if isinstance(services, Services):
        rows = arrivals_gamma(rate, services.first[:most], services.second[:most], most)
    else:
        rows = np.array([arrivals(rate, service, most) for service in services[:most]])
    return np.maximum(1 - np.cumsum(rows, axis=1), 0.0), rows[:, 0]


def _states(rate, services, most, alone=None):
    """Probability of 0 .. most requests left by a departure, of the chain embedded there.

    Between j and j + 1 it goes up as often as down: down only from j + 1 by a service without
    arrivals, up from i <= j by one with more than j - i + 1. All terms are positive, so
    nothing cancels. Departures leave what arrivals find, and Poisson arrivals find what
    there is at any time.
    """
    beyond, none = _up_crossings(rate, services, most)
    begins = beyond[0] if alone is None else np.maximum(
        1 - np.cumsum(arrivals(rate, alone, most)), 0.0)
    last = len(services) - 1
    found = np.zeros(most + 1)
    found[0] = 1.0
    for j in range(most):
        i = np.arange(1, j + 1)
        up = begins[j] + found[1:j + 1] @ beyond[np.minimum(i - 1, last), j - i + 1]
        found[j + 1] = up / none[min(j, last)]
        if found[j + 1] > 1e200:
            found /= found[j + 1]
    return found / found.sum()


def saturation_rate(services):
    """Requests/s beyond which the queue grows without end: the last service is that of a
    queue as long as one likes."""
    return 1 / services[-1].mean()


def state_dependent(rate, services, alone=None):
    """M/G(n)/1, not in the paper: Poisson arrivals of `rate`/s, services[n - 1] that of a request
    chosen among n (the last for all beyond); alone: the service of who finds nobody, if it is
    another than services[0]. Queued; exact if a service depends on n alone.
    """
    mean_last = services[-1].mean()
    if rate * mean_last >= 1:
        return Queued(math.inf, 1.0, None, mean_last, 1 / mean_last)
    most = STATES
    while True:
        states = _states(rate, services, most, alone)
        if states[-1] * most < NEGLIGIBLE:
            break
        if most >= MOST_STATES:
            # at the end nearly all services are the last one; but it may take many to get there
            delay = mg1_delay(rate, mean_last, services[-1].second_moment())
            least = float(states @ np.arange(len(states))) / rate
            return Queued(max(mean_last + delay, least), 1 - float(states[0]), None, mean_last,
                          rate)
        most *= 2
    utilisation = 1 - float(states[0])
    size = float(states @ np.arange(len(states)))
    return Queued(size / rate, utilisation, states, utilisation / rate, rate,
                  _square(rate, states, alone or services[0]))


def _square(rate, states, first):
    """E[response^2], s^2, of Poisson arrivals served in order: those left behind came during a
    response, so pairs of them are the square of its Poisson mean. Where they are hardly ever seen
    they are less than what is rounded: the square is then M/G/1's (Takacs), of a service whose
    third moment is that of a gamma distribution."""
    mean, square = first.mean(), first.second_moment()
    if rate * mean > RARE:
        count = np.arange(len(states))
        return float(states @ (count * (count - 1.0))) / rate ** 2
    wait = mg1_delay(rate, mean, square)
    third = square * (2 * square / mean - mean)
    return square + 2 * wait * (mean + wait) + rate * third / 3 / (1 - rate * mean)


# Two commands at the drive

def chosen_early(rate, services, early=math.inf):
    """state_dependent() if each request is chosen before the one before it is done; not in the
    paper. early: s before that; inf: when the service before begins.

    Who comes after the choice does not take part in it. So a service that begins with n
    pending was chosen among n less those that came meanwhile: given n, how many that were
    is asked of the chain itself, and the chain made anew, until both agree.
    """
    chosen, last = services, None
    for _ in range(EARLY_ITERATIONS):
        found = state_dependent(rate, chosen)
        if found.states is None or last is not None and \
                abs(found.response - last) < EARLY_ENOUGH * last:
            return found
        last = found.response
        chosen = _chosen_before(rate, services, chosen, found.states, early)
    return found


def _chosen_before(rate, services, chosen, left, early):
    """Services by the number pending when they begin, that were chosen before; left: of `chosen`,
    the states that departures leave."""
    number = np.arange(1, len(left))
    began = left[1:].copy()
    began[0] += left[0]
    if early < math.inf:
        came = number[:, None] - number[None, :]
        weights = poisson(np.array([rate * early]), len(left))[0][np.maximum(came, 0)]
        among = number - 1
    else:
        # a row for each number a service begins with, a column for that the one before it did
        at = np.minimum(number, len(chosen)) - 1
        coming = arrivals_gamma(rate, chosen.first[at], chosen.second[at], len(left))
        came = number[:, None] - number[None, :] + 1
        weights = coming[number[None, :] - 1, np.maximum(came, 0)] * began
        among = np.maximum(number - 2, 0)
    weights = np.where(came >= 0, weights, 0.0)
    # the last one has all that is not told apart
    sums = weights.sum(axis=1, keepdims=True)
    weights = np.where(sums > 0, weights / np.maximum(sums, 1e-300), number == number[:, None])
    last = np.minimum(among, len(services) - 1)
    return Services(np.append(weights @ services.first[last], services.first[len(left) - 1:]),
                    np.append(weights @ services.second[last], services.second[len(left) - 1:]))


# Constant arrivals

def constant(rate, services):
    """Queued of arrivals at a constant rate, open, with services that depend on how many are
    pending; not in the paper. Who begins finds those waiting who came while he waited: the
    delay is that of D/G/1 with the service for so many."""
    low, high = 1.0, float(len(services))
    service = services[0]
    for _ in range(40):
        middle = (low + high) / 2
        service = services.between(middle)
        delay = constant_delay(rate, service.mean(), service.variance())
        low, high = (middle, high) if 1 + rate * delay > middle else (low, middle)
        if high - low < 1e-4 * high:
            break
    mean = service.mean()
    if len(services) > 1 and low > 0.99 * len(services) or not math.isfinite(delay):
        return Queued(math.inf, 1.0, None, mean, 1 / mean)
    return Queued(mean + delay, rate * mean, None, mean, rate)


def constant_runs(rate, first, behind, sizes):
    """Queued of arrivals at a constant rate, open, in runs, first come first served; not in the
    paper. sizes: (share of the runs, requests of each). Runs are the customers of a D/G/1
    queue, longer ones of more spare time; within one each waits for what is left of the
    one before, the first one's length at the nodes of a quadrature."""
    shares, counts = np.array(sizes, dtype=float).T
    size = float(shares @ counts)
    mean = (first.mean() + (size - 1) * behind.mean()) / size
    spread = float(shares @ counts ** 2) - size ** 2
    lengths, weights = gamma_nodes(first.mean(), first.variance() / first.mean() ** 2, _NODES)
    # work goes up with a first request, if at all, and down with each behind: what runs of
    # different sizes make of that is no more than it goes up
    down = max(1 / rate - behind.mean(), 0.0)
    step = min(down, float(weights @ np.maximum(lengths - 1 / rate, 0.0)))
    before = constant_delay(rate / size, size * mean, first.variance() + (size - 1) *
                            behind.variance() + spread * down * step)
    if not math.isfinite(before):
        return Queued(math.inf, 1.0, None, mean, 1 / mean)
    now = np.full(len(lengths), before)
    waited = now.copy()
    for place in range(1, math.ceil(counts.max())):
        now = np.maximum(now + (lengths if place == 1 else behind.mean()) - 1 / rate, 0.0)
        waited += now * (shares @ np.clip(counts - place, 0.0, 1.0))
        if not now.any():
            break
    delay = float(weights @ waited) / size
    return Queued(mean + delay, rate * mean, None, mean, rate)


def quantile(mean, square, share):
    """The time that a share of times with these moments (s, s^2) do not exceed, if they have a
    gamma distribution: Wilson and Hilferty's approximation."""
    shape = 1 / (square / mean ** 2 - 1)
    ninth = 1 / (9 * shape)
    return mean * max(1 - ninth + NormalDist().inv_cdf(share) * math.sqrt(ninth), 0.0) ** 3


# Closed loops

def closed(count, think, services, alone=None):
    """`count` processes, each with one request or thinking for `think` s (mean), not in the paper.
    Queued, at the times of departures; alone: the service of who finds nobody, if it is
    another than services[0].

    Exact for exponential thinking, and without any. The chain embedded at departures: who
    thinks comes during a service of s with probability 1 - exp(-s / think), each by himself.
    The length of a service is taken at the nodes of a quadrature for its first moments.
    """
    count = int(count)
    if think <= 0:
        mean = service_at(services, count).mean()
        states = np.zeros(count + 1)
        states[count] = 1.0
        return Queued(count * mean, 1.0, states, mean, 1 / mean)
    if count > MOST_PROCESSES:
        return crowd(count, think, services)
    begun = [alone or services[0]] + [service_at(services, n) for n in range(1, count)]
    rows = [_closed_row(count, think, service, n) for n, service in enumerate(begun)]
    left = stationary(np.array(rows))
    means = np.array([service.mean() for service in begun])
    busy = float(left @ means)
    cycle = busy + float(left[0]) * think / count
    return Queued(count * cycle - think, busy / cycle, left, busy, 1 / cycle)


def crowd(count, think, services):
    """closed() of very many: as good as Poisson arrivals at the rate at which so many, on the
    mean, think or wait; where the server does not follow, all but it think."""
    limit = saturation_rate(services)
    if count - limit * think > MOST_STATES:
        # with so many pending it is never idle
        return Queued(count / limit - think, 1.0, None, 1 / limit, limit)
    low, high = 0.0, min(limit, count / think)
    for _ in range(CROWD_STEPS):
        rate = (low + high) / 2
        found = state_dependent(rate, services)
        low, high = (rate, high) if rate * (think + found.response) < count else (low, rate)
    rate = (low + high) / 2
    found = state_dependent(rate, services)
    return found._replace(response=max(count / rate - think, found.service), throughput=rate)


def _closed_row(count, think, service, left):
    """From `left` requests after a departure to the number after the next."""
    begun = max(left, 1)
    times, weights = gamma_nodes(service.mean(), service.variance() / service.mean() ** 2, _NODES)
    thinking = count - begun
    thinks = np.exp(-times / think)[:, None]
    row = np.zeros(count)
    k = np.arange(thinking + 1)
    ways = np.array([math.comb(thinking, int(i)) for i in k], dtype=float)
    chances = ways * (1 - thinks) ** k * thinks ** (thinking - k)
    row[begun - 1 + k] = weights @ chances
    return row


def stationary(rows):
    """The distribution that a transition matrix leaves as it is. Grassmann, Taksar and Heyman
    (1985): state by state is taken out, without subtractions; LAPACK's threads take longer to
    wake than this takes."""
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
