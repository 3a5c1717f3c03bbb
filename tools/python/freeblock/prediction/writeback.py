# SPDX-License-Identifier: GPL-2.0
"""A write-back cache between the queue and the mechanism, which the paper names (3.1, 4.4) and
leaves open.

Workload transformations, as the paper has them for its components: of what the queue hands
down, writes end as soon as the cache has them, and go on to the mechanism as destages, jobs of
their own at the same rate, in the drive's order; reads go on as they are, and meet destages
there. While one waits the writes behind it in the queue stay there. So the number of writes in
the cache (`held`) is a chain, embedded at the ends of reads, with two kinds of time between them:
free, the queue being empty, when writes come as they arrive and destages follow each other until
a read comes; and holds, from when a read is the next in the queue until it is done, when writes
only leave. What the chain says of holds is the service that the queue above sees; what the queue
says of how often it is empty goes back into the chain, until both agree.
"""

import math
from typing import NamedTuple

import numpy as np

from . import queue
from .mechanism import gamma_nodes
from .queue import Moments, Services

NODES = 5               # of a quadrature over a destage's length
BEYOND = (8, 40, 160)         # writes that find no room and are told apart, at least
NEGLIGIBLE = 1e-4       # probability that more of them wait
ITERATIONS = 40
# How much of the variance of the number of destages in a hold does not count for delays: it is
# large after holds in which few were let in, and the other way round
EVENED = 0.4
MOST_FULL = 0.999       # share of evenly spaced writes that find no room: some are left to queue
MOST_ROOM = 96          # writes; more are hardly ever held
LEAST = 0.05            # of a time, what no choice saves
LONG = 2                # destages: a delay that is longer spreads them over all the time
ENOUGH = 1e-4           # of the share of time the queue is empty


class Jobs(NamedTuple):
    """What the mechanism is asked for, s. read: Moments of a read that the mechanism is
    positioned for, from its arrival at an idle drive to its report; overhead: of that, until the
    arm moves; report: after the last sector; gains: (saved s, saved s^2 of the variance) arrays by
    the number that the queue's order chooses among; rivals: s saved by the drive's order among 1,
    2 .. jobs; worth: how many that have just come are worth as many, of which all but one are left
    over; hit: Moments of a read that the cache answers, hits: their share of the reads.
    destage: Services, by the number held; row: the same of destages that no read comes between,
    lone: Moments of one of these that begins when nothing else is held; write: s until the cache
    has a write."""

    read: Moments
    overhead: float
    report: float
    gains: tuple
    rivals: np.ndarray
    worth: np.ndarray
    hit: Moments
    hits: float
    destage: Services
    row: Services
    lone: Moments
    write: float


class Rules(NamedTuple):
    """Of the cache. room: writes it holds; turns: "eager": destages take turns with reads; "idle":
    reads go first; delay: s that data stay at least, while nobody waits for room; in_order: the
    drive serves by arrival; even: requests come evenly spaced, not by chance; most: as many wait at
    most for room (None: no bound); bursts: while one comes the queue is not empty; long: share of
    the writes that are longer than a segment, and reported when they are on the medium."""

    room: int
    turns: str
    delay: float
    in_order: bool
    even: bool = False
    most: int = None
    bursts: bool = False
    long: float = 0.0


class Found(NamedTuple):
    """queue.Queued of all requests; read, write: s, their mean responses (None: there are none);
    busy: share of the time the mechanism works; limit: requests/s that can be served; waits: s that
    a write waits for room, mean."""

    queued: queue.Queued
    read: float
    write: float
    busy: float
    limit: float
    waits: float


class _Holds:
    """From a read's turn at the drive to its end, by the number of writes held then. writes: 1/s
    that come to be destaged meanwhile."""

    def __init__(self, jobs, rules, states, writes):
        self.jobs, self.rules, self.states, self.writes = jobs, rules, states, writes
        held = np.arange(states)
        # moments of a destage among those held, and beside a read
        self.alone = self._destage(np.clip(held, 1, rules.room))
        beside = [np.where(held > rules.room, *pair) for pair in zip(
            self.alone, self._destage(np.minimum(held, rules.room) + 1))]
        self._solve(self._chance(held), self._read(held), beside)

    def _solve(self, chance, read, destage):
        """The read is chosen, or a destage and then the hold of one less: means (first) and second
        moments of holds, s of the mechanism for destages and for reads in them, number of destages,
        and how many are held at their end."""
        left = 1 - chance
        step = left[:, None] * self.coming(*destage, -1)
        inverse = np.linalg.inv(np.eye(self.states) - step)
        self.first = inverse @ (chance * read[0] + left * destage[0])
        self.second = inverse @ (chance * read[1] + left * destage[1] +
                                 2 * destage[0] * (step @ self.first))
        self.destages = inverse @ (left * destage[0])
        self.reads = inverse @ (chance * (read[0] - self.jobs.report))
        self.count = inverse @ left
        self.end = inverse @ (chance[:, None] * self.coming(*read, 0))
        # through a destage that is under way when the read comes to the drive, if there is any
        self.under = self.coming(*self.alone, -1)
        self.under[0, 0] = 1.0

    def coming(self, first, second, more):
        """Rows: from the number held at the begin of a time to that at its end, which is `more` and
        what has come."""
        if not self.writes:
            return np.eye(self.states, k=more)
        found = np.zeros((self.states, self.states))
        for n in range(-more, self.states):
            if n <= self.rules.room + 1:
                come = _numbers(Moments(first[n], second[n]), self.writes, self.states, False)
            found[n, n + more:] = _cut(come, self.states - n - more)
        return found

    def _destage(self, count):
        """(mean, second moment) arrays of a destage chosen among so many."""
        at = np.minimum(count, len(self.jobs.destage)) - 1
        return self.jobs.destage.first[at], self.jobs.destage.second[at]

    def _chance(self, held):
        """That a read is chosen before any of those held: it has just come, and they have been left
        over, so that they are worth fewer."""
        if self.rules.turns == "idle":
            chance = np.ones(len(held))
        elif self.rules.in_order:
            chance = (held == 0).astype(float)
        else:
            chance = np.minimum(1 / self.jobs.worth[np.minimum(held, len(self.jobs.worth) - 1)],
                                1.0)
        # those before it in the queue wait for room
        chance[held > self.rules.room] = 0.0
        return chance

    def _read(self, held):
        """(mean, second moment) arrays of a read's service, chosen among those held and itself,
        its overhead behind a destage."""
        read, rivals = self.jobs.read, self.jobs.rivals
        among = held if self.rules.turns == "eager" else 0 * held
        mean = read.mean() - self.jobs.overhead - rivals[np.minimum(among, len(rivals) - 1)]
        mean = np.maximum(mean, self.jobs.report + LEAST * read.mean())
        return mean, mean ** 2 + read.variance()


class _Chain:
    """The cache under Poisson arrivals of `rate` (1/s), a share `reads` of them reads."""

    def __init__(self, jobs, rules, rate, reads):
        self.jobs, self.rules, self.rate, self.reads = jobs, rules, rate, reads
        self.early = _early(rules, rate * (1 - reads), jobs.destage)
        self.writes = rate * (1 - reads) * (1 - self.early)
        # .. by chance, not in batches; in a closed loop they come as fast as they are let in
        self.spread = rules.most is None and rules.delay > LONG * float(jobs.destage.first[0])
        for more in BEYOND if rules.most is None else (rules.most + 1,):
            self.states = rules.room + more
            self.holds = _Holds(jobs, rules, self.states, self.writes if self.spread else 0.0)
            self._free()
            if self._tail() < NEGLIGIBLE:
                break

    def _tail(self):
        """How likely as many as are told apart are held, while no read comes."""
        return self.visits[0, -1] / self.visits[0].sum()

    def _free(self):
        """Times in which no read waits, from each number held on: visits: rows of how many
        destages begin with how many held; exits: rows of what a read finds, idle [0] or behind a
        destage under way."""
        states, writes, reads = self.states, self.writes, self.rate * self.reads
        stay, leave = np.zeros((states, states)), np.zeros((states, states))
        first, second = self.holds.alone
        for n in range(1, states):
            if n <= self.rules.room:
                even = self.rules.even and ("begun" if n == 1 else "anyhow")
                none, before = _during(_numbers(Moments(first[n], second[n]), writes + reads,
                                                states, even), reads / (writes + reads))
            stay[n, n - 1:], leave[n, n - 1:] = (_cut(row, states - n + 1)
                                                 for row in (none, before))
        step = stay.copy()
        writes_first = writes / (writes + reads)
        step[0, 1] = writes_first
        self.visits = np.linalg.inv(np.eye(states) - step)
        self.idle = self.visits[:, 0] * (1 - writes_first)
        self.behind = self.visits[:, 1:] @ leave[1:]
        self.work = self.visits[:, 1:] @ first[1:]
        # what comes after the read while that destage lasts; one less is held then
        self.behind = self.behind @ self.holds.coming(*self.residual(), 0)
        excess = np.maximum(np.arange(states) - self.rules.room, 0)
        over = np.where(excess > 0, first * excess, 0) + \
            (excess > 0) * writes * second / 2
        self.waiting = self.visits[:, 1:] @ over[1:]

    def residual(self):
        """(mean, second moment) arrays of what is left of a destage that a read meets, by the
        number held behind it."""
        first, second = (np.append(each[1:], each[-1]) for each in self.holds.alone)
        third = second * (2 * second / first - first)       # of a gamma time
        mean, square = second / (2 * first), third / (3 * first)
        if self.rules.even:
            # with nothing behind it, it has most often begun one interval before
            times, weights = _nodes(Moments(first[0], second[0]))
            left = np.maximum(times - 1 / (self.writes + self.rate * self.reads), 0.0)
            late = float(weights @ (left > 0))
            if late > 0:
                mean[0] = float(weights @ left) / late
                square[0] = float(weights @ left ** 2) / late
        return mean, square

    def solve(self, empty):
        """_Balance if the queue is empty for so much of the time."""
        batch = self._batch(empty)
        free = self.idle[:, None] * self.holds.end[0] + self.behind @ self.holds.end
        begun = self.holds.under @ self.holds.end
        left = queue.stationary(_rows(batch @ ((1 - empty) * begun + empty * free)))
        return _Balance(self, empty, left @ batch)

    def _batch(self, empty):
        """Rows: from the number held at the end of a read to that when the next one of the queue
        has its turn, or when the queue is empty. The writes between come at once: if what is in the
        queue has a geometric distribution, so have they, the same in both cases."""
        if self.spread:
            return np.eye(self.states)
        return _shift(_geometric(_batch(empty, self.reads), self.states), self.states)


class _Balance:
    """A chain's stationary state."""

    def __init__(self, chain, empty, held):
        self.chain, self.empty, self.after = chain, empty, held
        self.behind = held @ chain.behind
        self.idle = float(held @ chain.idle)

    @property
    def batch(self):
        """Writes between two reads of a busy queue, mean."""
        return 0.0 if self.chain.spread else _batch(self.empty, self.chain.reads)

    @property
    def held(self):
        """Writes held when a read comes, mean."""
        count = np.arange(self.chain.states)
        return float((1 - self.empty) * self.after @ count + self.empty * self.behind @ count)

    def found_busy(self):
        """(Moments of a hold that follows another with something held, its destages, the chance of
        that)."""
        holds = self.chain.holds
        weights = self.after[1:]
        total = float(weights.sum())
        if total < 1e-12:
            return Moments(0.0, 0.0), 0.0, 0.0
        d, d2 = holds.alone[0][1:], holds.alone[1][1:]
        h, h2 = (holds.under[1:] @ each for each in (holds.first, holds.second))
        count = 1 + float(weights @ holds.under[1:] @ holds.count) / total
        found = Moments(float(weights @ (d + h)) / total,
                        float(weights @ (d2 + 2 * d * h + h2)) / total)
        # while the drive takes the writes of the batch the mechanism is at work already
        early = min(self.batch * self.chain.jobs.write / total,
                    found.mean() - self.chain.jobs.read.mean())
        return _sooner(found, max(early, 0.0)), count, total

    def found_free(self):
        """Moments of a hold that begins when the queue is empty."""
        chain, holds = self.chain, self.chain.holds
        rest, rest2 = chain.residual()
        read = chain.jobs.read
        mean = self.idle * read.mean() + float(self.behind @ (rest + holds.first))
        square = self.idle * read.second_moment() + float(
            self.behind @ (rest2 + 2 * rest * holds.first + holds.second))
        return Moments(mean, square)

    def work(self):
        """(s of the mechanism for destages, for reads) from a read's end to the next one's."""
        chain, holds = self.chain, self.chain.holds
        jobs = chain.jobs
        own = jobs.read.mean() - jobs.overhead - jobs.report
        free = float(self.after @ chain.work) + float(self.behind @ holds.destages)
        under = self.after[1:] @ holds.under[1:]
        busy = float(self.after[1:] @ holds.alone[0][1:] + under @ holds.destages)
        reads = self.empty * (self.idle * own + float(self.behind @ holds.reads)) + \
            (1 - self.empty) * (float(self.after[0]) * own + float(under @ holds.reads))
        return self.empty * free + (1 - self.empty) * busy, reads

    def waiting(self):
        """s that writes wait for room, all of them together, from a read's end to the next."""
        chain = self.chain
        room = chain.rules.room
        excess = np.maximum(np.arange(chain.states) - room, 0)
        forced = excess * (excess + 1) / 2 * chain.holds.alone[0]
        return self.empty * float(self.after @ chain.waiting) + \
            float(((1 - self.empty) * self.after + self.empty * self.behind) @ forced)


def _batch(empty, reads):
    """Writes between two reads of a queue that is empty for a share of the time."""
    return (1 - empty) * (1 - reads) / reads


def _sooner(one, time):
    """Moments of a time that is shorter by `time`."""
    return Moments(one.mean() - time, (one.mean() - time) ** 2 + one.variance())


def _rows(matrix):
    """Rows that sum to 1."""
    return matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-300)


def _geometric(mean, states):
    """Probabilities of 0, 1 ..; what is beyond is in the last."""
    share = mean / (1 + mean)
    found = (1 - share) * share ** np.arange(states)
    found[-1] += 1 - found.sum()
    return found


def _shift(batch, states):
    """Rows: a batch on top of 0, 1 ..; no more than there are states."""
    found = np.zeros((states, states))
    for n in range(states):
        found[n, n:] = batch[:states - n]
        found[n, -1] += batch[states - n:].sum()
    return found


def _cut(row, count):
    """Its first `count`, what is beyond in the last of them."""
    found = row[:count].copy()
    found[-1] += row[count:].sum()
    return found


def _early(rules, rate, destage, lone=None):
    """Share of the writes (`rate`/s of all) that wait for the medium: that are too long, or find
    the cache full of such as are not destaged yet, and have one destaged before its time. lone:
    Moments of a destage, where all that comes are writes, evenly spaced."""
    if not rules.delay:
        return rules.long
    if lone is not None:
        # the write that came as many before as there is room for is still there
        took, weights = _nodes(lone)
        full = min(float(weights @ (rules.delay + took > rules.room / rate)), MOST_FULL)
    else:
        took = float(destage.first[0])
        busy = min(rate * took, 0.95)
        full = _erlang_b(rate * (rules.delay + took / (1 - busy)), rules.room)
    return 1 - (1 - rules.long) * (1 - full)


def _erlang_b(offered, room):
    """Share of Poisson arrivals that find all of `room` places taken."""
    found = 1.0
    for count in range(1, room + 1):
        found = offered * found / (count + offered * found)
    return found


def _numbers(service, rate, most, even):
    """Chances of 0, 1 .. most - 1 arrivals in a service; what is beyond is in the last. Poisson's
    (1/s), or evenly spaced (even): "begun" with the first of them, or anyhow."""
    times, weights = _nodes(service)
    if not even:
        found = weights @ queue.poisson(rate * times, most)
    else:
        least = np.floor(rate * times)
        part = (rate * times - least) * (even != "begun")
        at = np.minimum(least.astype(int), most - 1)
        found = np.bincount(at, weights * (1 - part), most) + \
            np.bincount(np.minimum(at + 1, most - 1), weights * part, most)
    found[-1] += max(1 - found.sum(), 0.0)
    return found


def _nodes(service):
    """(values, weights) of a service's length."""
    return gamma_nodes(service.mean(), max(service.second_moment() / service.mean() ** 2 - 1,
                                           1e-6), NODES)


def _during(number, reads):
    """Of chances of 0, 1 .. arrivals in a service, of which a share `reads` are reads: (chances of
    so many writes and no read, of so many writes before the first read)."""
    writes = (1 - reads) ** np.arange(len(number))
    beyond = np.append(np.cumsum(number[:0:-1])[::-1], 0.0)
    return number * writes, beyond * writes * reads


def balance(jobs, rules, rate, reads, queued):
    """Found of a queue above a cache. rate: requests/s that come while the queue is empty; reads:
    share of them, over 0; queued: a function that gives the queue.Queued of (Services, the Moments
    of who finds it empty)."""
    chain = _Chain(jobs, rules, rate * (1 - reads * jobs.hits),
                   reads * (1 - jobs.hits) / (1 - reads * jobs.hits))
    limit = 1 / services(chain.solve(0.0), reads)[0][-1].mean()
    low, high, empty = 0.0, 1.0, 0.5
    for _ in range(ITERATIONS):
        now = chain.solve(0.0 if rules.bursts else empty)
        found = queued(*services(now, reads))
        off = max(1 - found.utilisation, 0.0) - empty
        low, high = (empty, high) if off > 0 else (low, empty)
        if rules.bursts or abs(off) < ENOUGH or high - low < ENOUGH:
            break
        # what the queue says, unless it is known to be beyond
        empty = empty + off if low < empty + off < high else (low + high) / 2
    return _found(now, reads, found, limit)


def _write_service(chain):
    """Moments of a write's service, s: it finds room, or has the drive make some."""
    jobs, room = chain.jobs, chain.rules.room
    mean = jobs.write + chain.early * chain.holds.alone[0][room]
    return Moments(mean, mean ** 2 + chain.early * chain.holds.alone[1][room])


def _mixed(parts):
    """Moments of one of several times: (share, Moments)."""
    return Moments(sum(share * one.mean() for share, one in parts),
                   sum(share * one.second_moment() for share, one in parts))


def services(now, reads):
    """(Services of all requests by how many the queue's order chooses among, behind another;
    Moments of one that finds the queue empty). What the order takes one after the other lies one
    beside the other, be it read or destaged: it saves of each."""
    jobs = now.chain.jobs
    write = _write_service(now.chain)
    busy, count, share = now.found_busy()
    saved, less = jobs.gains
    kinds = ((1 - share, jobs.read, saved, less, 1),
             (share, busy, (1 + count) * np.maximum(saved - jobs.rivals[min(
                 int(round(now.held)), len(jobs.rivals) - 1)], 0.0), 0.0, 1 + count))
    evened = 0.0 if now.chain.spread or now.chain.rules.turns == "idle" else EVENED
    others = _mixed([(1 - reads, write), (reads * jobs.hits, jobs.hit)])
    first, second = others.mean(), others.second_moment()
    for part, one, off, spread, parts in kinds:
        mean = np.maximum(one.mean() - off, jobs.report + LEAST * one.mean())
        first = first + reads * (1 - jobs.hits) * part * mean
        whole = mean ** 2 + np.maximum(one.variance() - spread, 0.0)
        each = np.minimum(mean ** 2 / parts + parts * jobs.read.variance(), whole)
        second = second + reads * (1 - jobs.hits) * part * (
            evened * each + (1 - evened) * whole)
    alone = _mixed([(1 - reads, write), (reads * jobs.hits, jobs.hit),
                    (reads * (1 - jobs.hits), now.found_free())])
    return Services(first, second), alone


def _found(now, reads, found, limit):
    """The Found of a _Balance and what the queue makes of it."""
    chain = now.chain
    jobs = chain.jobs
    missed = reads * (1 - jobs.hits)
    work, own = now.work()
    write = _write_service(chain).mean()
    waits = now.waiting() / ((1 - reads) / missed) if reads < 1 else 0.0
    read = (found.service - (1 - reads) * write) / reads
    delay = found.response - found.service
    # a read that is late for the mechanism's turn is so for all of a destage
    share = chain.early * chain.holds.alone[0][chain.rules.room] * (1 - reads) / missed
    behind, alone = services(now, reads)
    saved = (1 - now.empty) * behind[0].mean() + now.empty * alone.mean() - found.service
    busy = min(found.throughput * (missed * (work + own + share) - max(saved, 0.0)), 1.0)
    return Found(found._replace(response=found.response + (1 - reads) * waits), delay + read,
                 delay + write + waits, busy, limit, waits)


def writes_alone(jobs, rules, rate):
    """Found without any reads: of the mechanism's queue of destages the first `room` have been
    answered. rate: 1/s."""
    row, lone = _one_by_one(jobs, rules)
    early = _early(rules, rate, row, lone if rules.even else None)
    last = float(row.first[-1])
    if rules.even:
        excess, busy = _even_writes(row, lone, rules, rate * (1 - early))
    else:
        found = queue.state_dependent(rate * (1 - early), row, lone)
        busy, size = found.utilisation, found.response * rate * (1 - early)
        excess = max(size - rules.room, 0.0) if found.states is None else float(
            found.states @ np.maximum(np.arange(len(found.states)) - rules.room, 0))
    response = jobs.write + early * last + excess / rate
    return Found(queue.Queued(response, min(rate * jobs.write, 1.0), None, jobs.write, rate), None,
                 response, min(busy + rate * early * last, 1.0), 1 / last, response - jobs.write)


def _one_by_one(jobs, rules):
    """(Services of destages without reads by how many are to be done, which choose among as many as
    there is room for; Moments of one alone). With room for one the next is never there in time."""
    every, lone = (jobs.destage, jobs.destage[0]) if rules.room == 1 else (jobs.row, jobs.lone)
    at = np.minimum(np.arange(queue.MOST_STATES), min(rules.room, len(every)) - 1)
    return Services(every.first[at], every.second[at]), lone


def write_limit(jobs, rules):
    """Writes/s that can be put on the medium without reads."""
    return 1 / float(_one_by_one(jobs, rules)[0].first[-1])


def _even_writes(row, lone, rules, rate):
    """(writes that wait for room, mean; share of the time the mechanism works) of evenly spaced
    writes: a chain at the ends of destages, of which the first state's begins with `lone`."""
    if rate * float(row.first[-1]) >= 1 and rules.most is None:
        return math.inf, 1.0
    states = rules.room + (rules.most + 1 if rules.most else BEYOND[1])
    rows = np.zeros((states, states))
    rows[0] = _cut(_numbers(lone, rate, states, "begun"), states)
    for n in range(1, states):
        rows[n, n - 1:] = _cut(_numbers(row[n - 1], rate, states, "anyhow"), states - n + 1)
    share = queue.stationary(rows)
    took = np.append(lone.mean(), row.first[:states - 1])
    over = np.maximum(np.arange(states) - rules.room, 0)
    grown = np.append(0.0, (over[1:] > 0) * rate * row.second[:states - 1] / 2)
    cycle = float(share.sum()) / rate
    busy = float(share @ took) / cycle
    # one at a time: the next comes when the last has found room
    return float(share @ (over * took + (0.0 if rules.most else grown))) / cycle / max(busy, 1.0), \
        min(busy, 1.0)


def with_bursts(found, jobs, rules, bursts):
    """writes_alone() of queue.Bursts: who finds no room waits for what is more than the cache holds
    of the work before him, which is taken to have an exponential distribution."""
    row, _ = _one_by_one(jobs, rules)
    last, told = float(row.first[-1]), bursts.queued(row)
    delay = told.response - told.service
    if not math.isfinite(delay):
        return found._replace(write=math.inf, busy=1.0, queued=told)
    waits = delay * math.exp(-(rules.room - 1) * last / delay) if delay > 0 else 0.0
    return found._replace(write=jobs.write + waits, waits=waits, queued=found.queued._replace(
        response=jobs.write + waits))
