# SPDX-License-Identifier: GPL-2.0
"""A run's requests one after the other (4.2): which are hits, partial hits and misses, and how long
each takes. The paper's eq. 8 and 9 ask that of a request with nothing before it late.

Arrays have a value for each of PATHS paths of equal weight, over which what is left to chance
(gaps, zone, place in a track) is spread evenly: an integral that is the same each time, no
simulation with random numbers. Bytes count from the run's first, time (s) from the report of its
first request. Byte x is under the head `origin` + stream(x) after that, and each turn again.
"""

import functools
from typing import NamedTuple

import numpy as np

PATHS = 128
HIT, PARTIAL, MISS = range(3)
# Dimensions that are spread; those that each step has one of begin at these numbers
TRACK, FIRST, ZONE, WAIT, INSIDE, SWITCH = range(6)
BETWEEN, HOLES = 1000, 2000


@functools.lru_cache(maxsize=None)
def quantiles(dimension):
    """PATHS numbers, evenly over 0 to 1; of different dimensions in unrelated orders."""
    rng = np.random.default_rng(dimension)
    return rng.permutation((np.arange(PATHS) + 0.5) / PATHS)


class Gap(NamedTuple):
    """When the next request of a run comes. kind: "open": `between` after the one before came;
    "closed": the same, or when that is reported if that is later; "think": `between` after its
    report. between: s, mean; spread: exponential, else constant; wait: of the run's first request
    in the queue, (probability, s if it waits): "open"."""

    kind: str
    between: float
    spread: bool = False
    wait: tuple = (0.0, 0.0)

    def first_wait(self):
        """s"""
        share, mean = self.wait
        if self.kind != "open" or share <= 0 or not np.isfinite(mean):
            return np.zeros(PATHS)
        return -mean * np.log(np.minimum(quantiles(WAIT) / share, 1.0))

    def next(self, step, wait, service):
        """(from the report to the next arrival, at least 0; what that one then waits), s."""
        between = self.between * (-np.log(quantiles(BETWEEN + step)) if self.spread else 1.0)
        if self.kind == "think":
            return between, wait
        late = between - service - (wait if self.kind == "open" else 0.0)
        return np.maximum(late, 0.0), np.maximum(-late, 0.0)


class Drive(NamedTuple):
    """What is known of the drive, for requests of one direction. s, bytes."""

    turn: float
    track: np.ndarray           # bytes
    switch: np.ndarray          # s from a track's end to the next one's beginning
    unit: np.ndarray            # requests begin at multiples of that in a track
    bus: float                  # s a byte; 0 of writes
    overhead: float             # until a request is understood that needs the medium
    data: float                 # .. until a write's data are there, from then on
    move: float                 # .. until the head is on the next track, if it is there
    report: float               # from the end of the last sector
    zero_latency: bool
    ahead: bool                 # reads ahead
    hit_overhead: float
    segment: float
    most: float                 # bytes read ahead at most; inf: until the segment is full
    border: int                 # tracks with whose end reading ahead ends; 0: none
    on_hit: bool                # reads on after a hit, too

    @property
    def pace(self):
        """s a byte of a track."""
        return self.turn / self.track


class _State:
    """Where a run is. The segment has the bytes from `begin` on; got: up to there for sure; limit:
    where reading ahead ends; end: of the last request."""

    def __init__(self, drive, size):
        self.drive, self.size, self.time = drive, size, 0.0
        self.phase = np.floor(quantiles(TRACK) * drive.track / drive.unit) * drive.unit
        self.begin, self.end = np.zeros(PATHS), np.full(PATHS, float(size))
        past, first = self.past(self.end), self.stream(0.0)
        lag = self.reported(first - past, 0.0, size)
        if drive.zero_latency:
            # where the head landed inside the request, its end is still to pass
            inside = quantiles(INSIDE) * drive.turn
            lag = lag - np.where(inside < past - first, past - first - inside, 0.0)
        self.origin = -lag - past
        self.got = self.end
        self.limit = self.far(self.end) if drive.ahead else self.end

    def stream(self, byte):
        """When a stream comes to a byte."""
        at = byte + self.phase
        return at * self.drive.pace + np.floor(at / self.drive.track * (1 + 1e-12)) * \
            self.drive.switch

    def past(self, end):
        """When a stream has passed all bytes before `end`."""
        at = end + self.phase
        return at * self.drive.pace + (np.ceil(at / self.drive.track * (1 - 1e-12)) - 1) * \
            self.drive.switch

    def track(self, byte):
        """The number of the track that holds a byte."""
        return np.floor((byte + self.phase) / self.drive.track * (1 + 1e-12))

    def front(self, time):
        """How far reading ahead has come."""
        time, drive = time - self.origin, self.drive
        tracks = np.floor(time / (drive.turn + drive.switch))
        into = np.minimum(time - tracks * (drive.turn + drive.switch), drive.turn)
        byte = (tracks + into / drive.turn) * drive.track - self.phase
        return np.minimum(np.maximum(byte, self.got), self.limit)

    def far(self, end):
        """How far the drive reads on after a read up to `end`."""
        drive = self.drive
        if drive.border:
            size = drive.border * drive.track
            return np.ceil((end + self.phase) / size) * size - self.phase
        if drive.most < np.inf:
            return end + drive.most
        return np.maximum(end, self.begin + drive.segment)

    def passage(self, stream, ready):
        """When what a stream comes to at `stream` is under the head, not before `ready`."""
        first, turn = self.origin + stream, self.drive.turn
        return first + np.ceil((ready - first) / turn - 1e-9) * turn

    def reported(self, start, end, size):
        """When bytes are reported that were under the head from `start` to `end`."""
        drive = self.drive
        return np.maximum(end, start + size * drive.bus) + drive.report

    def serve(self, start, arrival):
        """One request: (service, kind)."""
        drive, end = self.drive, start + self.size
        first, last = self.track(start), self.track(end - 1)
        ready = arrival + drive.overhead + np.maximum(
            drive.data, drive.move * (first != self.track(self.end - 1)))
        front = self.front(arrival) if drive.ahead else self.begin
        if drive.border or drive.most < np.inf:
            # what is read on takes the place of what has been read
            self.begin = np.maximum(self.begin, front - drive.segment)
        inside, reading = drive.ahead & (start >= self.begin), self.limit > front
        hit = inside & (end <= front * (1 + 1e-9))
        part = inside & ~hit & (front > start)
        rides = part & reading
        from_byte = np.where(part, front, start)
        stream = self.stream(from_byte)
        at = np.where(rides, self.origin + stream, self.passage(stream, ready))
        done = at + self.past(end) - stream
        if drive.zero_latency:
            # the head lands inside the request, and has all of it a turn later
            done = np.where(~rides & (ready < done - drive.turn) & (first == last),
                            ready + drive.turn, done)
        took = self.reported(np.maximum(at, arrival), done, end - from_byte) - arrival
        answered = drive.hit_overhead + self.size * drive.bus
        self._go_on(start, end, hit, part, reading, (ready, done))
        return np.where(hit, answered, np.where(part, np.maximum(took, answered), took)), \
            np.where(hit, HIT, np.where(part, PARTIAL, MISS))

    def _go_on(self, start, end, hit, part, reading, times):
        """What a request leaves behind; times: when it was understood, when the medium was done."""
        drive, (ready, done) = self.drive, times
        fresh = ~hit & ~(part & reading)
        self.begin = np.where(hit | part, self.begin, start)
        limit = self.far(end) if drive.ahead else end
        if drive.on_hit:
            again = hit & ~reading & (limit > self.limit)
            stream = self.stream(self.limit)
            self.origin = np.where(again, self.passage(stream, ready) - stream, self.origin)
            self.got = np.where(again, self.limit, self.got)
            reading = reading | again
        stream = self.stream(end)
        self.origin = np.where(fresh, self.passage(stream, done) - stream, self.origin)
        self.got = np.where(fresh, end, self.got)
        self.limit = np.where(fresh, limit, np.where(
            reading, np.maximum(self.limit, limit), self.limit))
        self.end = end


def run(drive, size, steps, gap, first, hole=0.0):
    """(services (s), kinds), arrays [step, path], of `steps` more requests of `size` bytes of a
    run. first: service of the run's first request, s; hole: mean bytes between two."""
    state = _State(drive, size)
    service, wait = first, gap.first_wait()
    services, kinds = [], []
    for step in range(steps):
        late, wait = gap.next(step, wait, service)
        start = state.end + 2 * hole * quantiles(HOLES + step) if hole else state.end
        arrival = state.time + late
        service, kind = state.serve(start, arrival)
        state.time = arrival + service
        services.append(service)
        kinds.append(kind)
    return np.array(services), np.array(kinds)
