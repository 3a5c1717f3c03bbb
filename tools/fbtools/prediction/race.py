# SPDX-License-Identifier: GPL-2.0
"""The race between a drive that reads ahead and the next request of a run (4.2, figure 5).

The paper asks of the i-th request of a run how likely it is to lose that race, in
eq. 9 for constant times between arrivals and with nothing before it lost. Here the whole
run is followed, request by request, of which each begins where the ones before left
the head and the segment: not in the paper. What is left to chance (when the first is
served, when the next come, where holes end, how far the end of the track is) is
integrated over PATHS points of equal weight, a Latin hypercube: an integral that is the
same each time, no simulation with random numbers.

Time begins with the report of a run's first request. Where the head is follows from
one of its passages: at `at` it was at byte `byte`, from there on bytes take `pace`
seconds each, and what has passed comes again each turn.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PATHS = 128
STEPS = 24              # requests of a run that are followed at most
SECTOR = 512
HIT, PARTIAL, MISS = range(3)


@functools.lru_cache(maxsize=None)
def quantiles(dimension):
    """PATHS numbers, evenly over 0 to 1; of different dimensions in unrelated orders."""
    rng = np.random.default_rng(dimension)
    return rng.permutation((np.arange(PATHS) + 0.5) / PATHS)


class Gap(NamedTuple):
    """When the next request of a run comes.

    kind: "open": `between` after the one before came, and waits for that to be served;
    "closed": the same, or when that is reported if that is later; "think": `between`
    after its report; "busy": at once with probability `busy`, else `between` after.
    between: s, mean; cv2: squared coefficient of variation, 0 or else taken for 1;
    wait: of the run's first request in the queue, (probability, s if it waits): "open".
    """

    kind: str
    between: float
    cv2: float = 0.0
    busy: float = 0.0
    wait: tuple = (0.0, 0.0)

    def first_wait(self):
        """s, of each path."""
        share, mean = self.wait
        if self.kind != "open" or share <= 0:
            return np.zeros(PATHS)
        rest = np.minimum(quantiles(900) / share, 1.0)
        return -mean * np.log(np.maximum(rest, 1e-12)) if mean < float("inf") else \
            np.full(PATHS, 1e6)

    def waits(self, step):
        """"busy": whether the next request is there already."""
        return quantiles(2000 + step) < self.busy

    def next(self, step, wait, service):
        """(from the report to the next arrival, at least 0; what that one then waits), s."""
        between = self.between
        if self.cv2:
            between = -self.between * np.log(quantiles(1000 + step))
        if self.kind == "think":
            return between, wait
        if self.kind == "busy":
            return np.where(self.waits(step), 0.0, between), wait
        late = between - service - wait
        return np.maximum(late, 0.0), (np.maximum(-late, 0.0) if self.kind == "open" else wait)


@dataclass(frozen=True)
class Drive:
    """What the race knows of the drive and the requests. s, bytes; arrays: a value a path.

    overhead: until a read, a write is understood that needs the medium; hit_overhead: that
    one does not. report: from the last byte's way to the host until the host knows."""

    turn: float
    pace: np.ndarray            # s a byte, with the switches of a stream
    bus: float                  # s a byte
    read_overhead: float
    write_overhead: float
    hit_overhead: float
    read_report: float          # with a sector's way over the bus
    write_report: float
    zero_latency: bool
    segment: float              # bytes
    most: float                 # bytes read ahead at most; inf: until the segment is full
    border: float               # bytes of a track, if reading ahead ends with it; or inf
    stream: bool                # .. but goes on over the next if it came over an earlier one
    on_hit: bool
    discard: bool
    ahead: bool                 # reads ahead at all
    at_once: bool               # .. after a run's first read

    def read_end(self, start, end, size):
        """Report of a read that was under the head from `start` to `end`."""
        first = SECTOR * (self.pace - self.bus)
        return self.read_report + np.maximum(end, start + first + size * self.bus)


class Steps(NamedTuple):
    """What became of each request of a run but its first: lists, a step each, of arrays, a
    path each. service, wait: s; kind: HIT, PARTIAL, MISS."""

    service: list
    wait: list
    kind: list


class _State:
    """Where a run is: arrays, a value a path. Bytes count from the run's first."""

    def __init__(self, drive, size, write):
        # the first request's report is at 0
        self.time = np.zeros(PATHS)
        self.end = np.full(PATHS, float(size))
        transfer = size * drive.pace
        lag = np.where(write, drive.write_report, drive.read_end(-transfer, 0.0, size))
        self.at, self.byte = -lag, self.end
        if drive.zero_latency:
            # who came down inside it ended there: the end is still to pass
            inside = quantiles(6) * drive.turn < transfer
            self.at = self.at + inside * quantiles(7) * transfer
        self.border = quantiles(1) * drive.border if drive.border < float("inf") else None
        self.begin = self.end if drive.discard else np.zeros(PATHS)
        self.holds = ~write             # the segment is of reads
        ahead = ~write & drive.ahead & drive.at_once
        self.limit = np.where(ahead, self.far(drive, self.end), self.end)

    def far(self, drive, end):
        """How far the drive reads on after a read up to `end`."""
        if self.border is not None:
            tracks = np.ceil(np.maximum(end - self.border, 0.0) / drive.border)
            far = self.border + tracks * drive.border
            return far + drive.border * (self.begin < far - drive.border) if drive.stream else far
        if drive.most < float("inf"):
            return end + drive.most
        return np.maximum(end, self.begin + drive.segment)

    def passes(self, drive, byte, ready):
        """When a byte is under the head, not before `ready`."""
        first = self.at + (byte - self.byte) * drive.pace
        return first + np.ceil(np.maximum(ready - first, 0.0) / drive.turn) * drive.turn


def follow(drive, size, steps, gap, first, write, holes=None):
    """Steps: `steps` more requests of `size` bytes of a run. gap: a Gap. Of each path, first:
    service of the run's first request, s; write: whether the run is one of writes; holes:
    None, or function(step) -> bytes between the end of one and the next."""
    state = _State(drive, size, write)
    done = Steps([], [], [])
    service, wait = first, gap.first_wait()
    for step in range(steps):
        late, wait = gap.next(step, wait, service)
        start = state.end if holes is None else state.end + holes(step)
        service, kind = _serve(drive, state, start, size, state.time + late, write)
        for column, value in zip(done, (service, wait, kind)):
            column.append(value)
    return done


def _serve(drive, state, start, size, arrival, write):
    """One request: (service, kind); `state` goes on."""
    front = np.minimum(state.byte + np.maximum(arrival - state.at, 0.0) / drive.pace, state.limit)
    state.begin = np.maximum(state.begin, front - drive.segment)
    there = state.holds & ~write & (start >= state.begin) & (start <= front)
    held = np.where(there, np.minimum(front - start, size), 0.0)
    hit = there & (held >= size * (1 - 1e-9))
    # reading on goes on for a request that it has begun with, or is about to
    reading = state.limit > front
    rides = there & ~hit & reading
    part = rides | ~hit & (held >= SECTOR)
    begin = start + np.where(part, held, 0.0)
    service, passed = _medium(drive, state, begin, start + size, arrival, write, rides)
    answered = drive.hit_overhead + (size - SECTOR) * drive.bus + drive.read_report
    service = np.where(hit, answered, np.where(part, np.maximum(service, answered), service))
    _go_on(drive, state, start, start + size, arrival, _Did(hit, part, reading, write, passed))
    state.time = arrival + service
    return service, np.where(hit, HIT, np.where(part, PARTIAL, MISS))


def _medium(drive, state, begin, end, arrival, write, rides):
    """Service of bytes from the medium, and when their end has passed."""
    ready = arrival + np.where(write, drive.write_overhead + _data(drive, end - begin),
                               drive.read_overhead)
    ready = np.where(rides, state.at, ready)
    at = state.passes(drive, begin, ready)
    transfer = (end - begin) * drive.pace
    passed = at + transfer
    if drive.zero_latency:
        # the head comes down inside the request and takes what it missed a turn later
        inside = ~rides & (at - ready > drive.turn - transfer) & (transfer < drive.turn)
        passed = np.where(inside, ready + drive.turn, passed)
    read = drive.read_end(np.maximum(at, arrival), passed, end - begin)
    return np.where(write, passed + drive.write_report, read) - arrival, passed


def _data(drive, size):
    """From a write's being understood until the head may begin: its data have to come."""
    if drive.zero_latency:
        return size * drive.bus
    return SECTOR * drive.bus + (size - SECTOR) * np.maximum(drive.bus - drive.pace, 0.0)


class _Did(NamedTuple):
    """What became of a request; arrays, a value a path. passed: its end, s."""

    hit: np.ndarray
    part: np.ndarray
    reading: np.ndarray
    write: np.ndarray
    passed: np.ndarray


def _go_on(drive, state, start, end, arrival, did):
    """What the request leaves behind."""
    fresh = ~did.hit & ~(did.part & did.reading)
    if drive.discard:
        state.begin = np.where(fresh, end, start)
    else:
        state.begin = np.where(did.hit | did.part, state.begin, start)
    limit = state.far(drive, end)
    resumes = did.hit & ~did.reading & (limit > state.limit) & drive.on_hit
    more = resumes | did.reading
    far = np.where(fresh, limit, np.where(more, np.maximum(state.limit, limit), state.limit))
    at = np.where(resumes, state.passes(drive, state.limit, arrival + drive.read_overhead),
                  state.at)
    # the end's next passage, after what was taken off the medium
    state.at = np.where(fresh, state.passes(drive, end, did.passed - 1e-9), at)
    state.byte = np.where(fresh, end, np.where(resumes, state.limit, state.byte))
    state.limit = np.where(did.write | (not drive.ahead), end, far)
    if drive.discard:
        state.begin = end
    state.end = end
