# SPDX-License-Identifier: GPL-2.0
"""Runs in the queue (4.3): services that take turns, a long one and then short ones. Not in
the paper, whose services know nothing of each other.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from .queue import (
    MOST_STATES, STATES, TURNS_NEGLIGIBLE, Moments, Queued, Services, arrivals_gamma,
    mg1_delay, state_dependent, stationary, service_at)

TURNS_MOST = 120        # states of a chain of matrices, which cost more
STEADY = 1e-7           # change of a probability from one period of a run to the next
FAR = 500               # requests


class Turn(NamedTuple):
    """A place in a run. came, waited: services (Moments) of a request that comes to an idle
    server, or was there; waited: Services by the number pending."""

    came: Moments
    waited: Services


class Kind(NamedTuple):
    """Runs of one kind. share: of all first requests, those that begin such a run; turns: of its
    requests but the first; count: how many those are, on the mean; if more than turns, the
    further ones are as the last `period` turns are, over and over."""

    share: float
    turns: list
    count: float
    period: int = 1

    @property
    def whole(self):
        """How many requests but the first each of these runs has."""
        return int(self.count + 1e-9)

    @property
    def part(self):
        """The share of them that has one more."""
        return max(self.count - self.whole, 0.0)

    def place(self, number):
        """Which of the turns the request of that number (from 0) takes."""
        beyond = number - len(self.turns)
        return number if beyond < 0 else len(self.turns) - self.period + beyond % self.period


def in_turns(rate, first, kinds, uneven=True):
    """(Queued, probabilities that the second, third .. request of a run was waiting when the one
    before was done); not in the paper, whose services know nothing of each other.

    Poisson arrivals, first come first served but for the choice among runs: first: Turn of the
    first request of a run, kinds: a list of Kind, what remains of 1 are single requests.
    Services take turns, a long one and then short ones: the work of whole runs varies far
    less than that of as many requests in any order, and with M/G/1 (eq. 11) delays come out
    half as long again. The chain at departures, a matrix for each place in a run; exact if a
    service depends on its place and on the number pending alone.
    """
    busy = rate * _mean_turn(first, kinds)
    if busy >= 1:
        return Queued(math.inf, 1.0, None, busy / rate, rate), np.ones(1)
    most = STATES * 2 // 5 if busy < 0.4 else STATES * 2 // 3 if busy < 0.6 else STATES
    while most <= TURNS_MOST:
        found, waiting, tail = _turns_chain(rate, first, kinds, most)
        if tail * most < TURNS_NEGLIGIBLE:
            return found, waiting
        most *= 2
    found = _many_turns(rate, first, kinds)
    delay = uneven_runs_delay(rate, first, kinds) if uneven else 0.0
    return found._replace(response=max(found.response, found.service + delay)), waiting


def run_correlation(run, rho):
    """How much of the variance between the places of a run counts for the delay (eq. 11), 0 .. 1;
    not in the paper.

    At rho = 0 a request that comes meets one of them by chance, and it all counts; near 1 the
    server's work is whole runs', all equal, and it counts less the shorter they are. (1 - rho) /
    (1 + a rho), a fitted to turn_share() of research.predictcheck.abstract; within 0.1.
    """
    against = max(2.9 / math.sqrt(run) - 1.1, -1.0)
    return min(max((1 - rho) / (1 + against * rho), 0.0), 1.0) if rho > 0 else 1.0


def uneven_runs_delay(rate, first, kinds, chance=1):
    """Delay (s) of Poisson arrivals (chance 1; 0: constant ones) in runs of which some, of slow
    requests, bring more work than
    time and others less; not in the paper. Of whole runs, whose work less the time they come in
    is X: E[X^2] / (2 E[-X]) - E[I^2] / (2 E[I]) (Marshall 1968), the idle times I taken to be
    those that X alone would leave; and what a slow run adds while it comes. 0 if they would
    be too many for a queue of a run's length: longer ones are served faster."""
    each = [(1 - sum(kind.share for kind in kinds), 1.0, 0.0, first.waited[0].variance())]
    begin = _waited(first, 1)
    for kind in kinds:
        after = [_waited(turn, kind.count + 1) for turn in kind.turns]
        mean = float(np.mean([one.mean() for one in after]))
        each.append((kind.share, kind.count + 1, mean, begin.variance() + kind.count * float(
            np.mean([one.variance() for one in after]))))
    share, count, behind, variance = np.array(each).T
    work = begin.mean() + (count - 1) * behind
    mean, size = float(share @ work), float(share @ count)
    spare = size / rate - mean
    if spare <= 0:
        return 0.0
    grown = work - count / rate
    squares = chance * (mean ** 2 / size + float(share @ variance)) + float(share @ grown ** 2)
    idle = np.maximum(-grown, 0.0)
    before = squares / (2 * spare) - float(share @ idle ** 2) / (2 * float(share @ idle))
    while_it_comes = share * count * (count - 1) / 2 * np.maximum(behind - 1 / rate, 0.0)
    return before + float(while_it_comes.sum()) / size


def _waited(turn, count):
    """A turn's service with so many pending."""
    return service_at(turn.waited, max(round(count), 1))


def _many_turns(rate, first, kinds):
    """in_turns() of queues too long for its chain: a request's place is left to chance, but what
    the places differ by counts as run_correlation() says."""
    places = [(1.0, first)]
    for kind in kinds:
        weights = np.ones(len(kind.turns))
        for number in range(len(kind.turns), len(kind.turns) + kind.period):
            weights[kind.place(number)] += max(kind.count - len(kind.turns), 0) / kind.period
        if kind.count < len(kind.turns):
            weights[-1] += kind.count - len(kind.turns)
        places += [(kind.share * weight, turn) for weight, turn in zip(weights, kind.turns)]
    run = sum(weight for weight, _ in places)
    at = np.arange(MOST_STATES)
    means = np.array([turn.waited.first[np.minimum(at, len(turn.waited) - 1)]
                      for _, turn in places])
    seconds = np.array([turn.waited.second[np.minimum(at, len(turn.waited) - 1)]
                        for _, turn in places])
    weights = np.array([weight for weight, _ in places]) / run
    mean, square = weights @ means, weights @ means ** 2
    within, between = weights @ seconds - square, square - mean ** 2
    variance = within + run_correlation(run, min(rate * mean[-1], 1.0)) * between
    if np.ptp(mean) == 0:
        delay = mg1_delay(rate, mean[0], mean[0] ** 2 + variance[0])
        return Queued(delay + mean[0], min(rate * mean[0], 1.0), None, mean[0], rate)
    return state_dependent(rate, Services(mean, mean ** 2 + variance))


def _mean_turn(first, kinds):
    """s: of a service in an endless queue."""
    work, count = first.waited[-1].mean(), 1.0
    for kind in kinds:
        means = [turn.waited[-1].mean() for turn in kind.turns]
        followed = min(kind.whole, len(means))
        further = kind.whole - followed
        work += kind.share * (sum(means[:followed]) + further * np.mean(means[-kind.period:]) +
                              kind.part * means[kind.place(kind.whole)])
        count += kind.share * kind.count
    return work / count


def _turn_matrix(rate, turn, most):
    """From 0 .. most requests left by a departure to those left by the next, more than `most`
    counted as `most`; and the means of the services (s)."""
    waited = turn.waited
    at = np.minimum(np.arange(most), len(waited) - 1)
    means = np.concatenate(([turn.came.first], waited.first[at]))
    second = np.concatenate(([turn.came.second], waited.second[at]))
    matrix = np.zeros((most + 1, most + 1))
    if len(waited) == 1:
        coming = arrivals_gamma(rate, means[:2], second[:2], most + 1)
        matrix[0] = coming[0]
        # each row is the one above it, one to the right
        padded = np.concatenate((np.zeros(most - 1), coming[1]))
        matrix[1:] = np.lib.stride_tricks.sliding_window_view(padded, most + 1)[::-1]
    else:
        coming = arrivals_gamma(rate, means, second, most + 1)
        matrix[0] = coming[0]
        for left in range(1, most + 1):
            matrix[left, left - 1:] = coming[left, :most + 2 - left]
    matrix[:, -1] += np.maximum(1 - matrix.sum(axis=1), 0.0)
    return matrix, means


class _Sums:
    """Over all departures of a run's life, weighted: number, those left, those that leave
    nobody, work; and of the requests behind a first, by their turn, who waited."""

    def __init__(self, turns):
        self.number = self.left = self.empty = self.work = 0.0
        self.behind, self.waiting = np.zeros((2, turns))

    def add(self, states, means, weight, turn=None):
        """A service that begins with `states`, the probabilities of those left before it."""
        self.number += weight
        self.left += weight * float(states @ np.arange(len(states)))
        self.empty += weight * float(states[0])
        self.work += weight * float(states @ means)
        if turn is not None:
            self.behind[turn] += weight
            self.waiting[turn] += weight * (1 - float(states[0]))

    def add_run(self, states, kind, made):
        """The requests of a run behind its first, `states` before them; made: (matrix, means) of
        each turn. When one period is as the one before it, so are all to come; FAR into a run
        it is taken to be."""
        number, weight, before = 0, kind.share, None
        while number < kind.whole:
            turn = kind.place(number)
            if turn == len(kind.turns) - kind.period:
                left = (kind.whole - number) // kind.period
                steady = before is not None and (
                    number > FAR or np.abs(states - before).max() < STEADY)
                weight = kind.share * left if steady and left > 1 else kind.share
                number += (left - 1) * kind.period if weight > kind.share else 0
                before = states
            self.add(states, made[turn][1], weight, turn)
            states = states @ made[turn][0]
            number += 1
            if turn == len(kind.turns) - 1:
                weight = kind.share
        if kind.part:
            turn = kind.place(kind.whole)
            self.add(states, made[turn][1], kind.share * kind.part, turn)


def _whole_run(begin, kind, made):
    """From what the departure before a run leaves to what its last one leaves."""
    followed = min(kind.whole, len(kind.turns))
    for matrix, _ in made[:followed]:
        begin = begin @ matrix
    over = [matrix for matrix, _ in made[-kind.period:]]
    times, rest = divmod(kind.whole - followed, kind.period)
    if times:
        begin = begin @ np.linalg.matrix_power(functools.reduce(np.matmul, over), times)
    for matrix in over[:rest]:
        begin = begin @ matrix
    if kind.part:
        last = made[kind.place(kind.whole)][0]
        begin = kind.part * (begin @ last) + (1 - kind.part) * begin
    return begin


def _turns_chain(rate, first, kinds, most):
    """in_turns() with so many states; the probability of the last one, too."""
    begin, means = _turn_matrix(rate, first, most)
    run = begin * (1 - sum(kind.share for kind in kinds))
    made = [[_turn_matrix(rate, turn, most) for turn in kind.turns] for kind in kinds]
    for kind, matrices in zip(kinds, made):
        run = run + kind.share * _whole_run(begin, kind, matrices)
    states = stationary(run)
    sums = _Sums(max((len(kind.turns) for kind in kinds), default=1))
    sums.add(states, means, 1.0)
    for kind, matrices in zip(kinds, made):
        sums.add_run(states @ begin, kind, matrices)
    size, empty = sums.left / sums.number, sums.empty / sums.number
    service = sums.work / sums.number
    waiting = np.divide(sums.waiting, sums.behind, out=np.full(len(sums.behind), 1 - empty),
                        where=sums.behind > 0)
    return Queued(size / rate, 1 - empty, states, service, rate), waiting, float(states[-1])
