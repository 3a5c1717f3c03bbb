# SPDX-License-Identifier: GPL-2.0
"""The race between a drive that reads ahead and the next request of a run (4.2, figure 5).

The paper asks of the i-th request of a run how likely it is to lose that race, in
eq. 9 for constant times between arrivals and with nothing before it lost. Here the whole
run is followed, request by request, of which each begins where the ones before left
the head and the segment: not in the paper. What is left to chance (when the first is
served, when the next come, where holes end, where in a track and in which zone the run
begins) is integrated over PATHS points of equal weight, a Latin hypercube: an integral that
is the same each time, no simulation with random numbers.

Arrays have a value for each path. Bytes count from the run's first, time from the report
of its first request. Byte x comes under the head `origin` + stream(x) after that, and again
each turn: stream(x) is how long a stream takes to come to it.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

PATHS = 256             # with 16384 the mean service of 40 workloads is the same within 0.9 %
STEPS = 64              # requests of a run that are followed at most
COST = 18               # .. if so many take long to
SOON = 4                # after so many a run with gaps by chance goes on as it did, but for refills
QUICK = 0.25            # what one takes that does not take long
SECTOR = 512
HIT, PARTIAL, MISS = range(3)
_HITS, _MISSES = np.full(PATHS, HIT), np.full(PATHS, MISS)
# Dimensions of the hypercube; those that each step has one of begin at these numbers
TRACK, CYLINDER, FIRST, ZONE, INSIDE, WITHIN, WAIT = range(7)
BETWEEN, BUSY, HOLES = 1000, 2000, 3000


@functools.lru_cache(maxsize=None)
def quantiles(dimension):
    """PATHS numbers, evenly over 0 to 1; of different dimensions in unrelated orders."""
    rng = np.random.default_rng(dimension)
    return rng.permutation((np.arange(PATHS) + 0.5) / PATHS)


@functools.lru_cache(maxsize=None)
def exponential(dimension):
    """The same of an exponential distribution of mean 1, its mean exact."""
    values = -np.log(quantiles(dimension))
    return values / values.mean()


class Gap(NamedTuple):
    """When the next request of a run comes.

    kind: "open": `between` after the one before came, and waits for that to be served;
    "closed": the same, or when that is reported if that is later; "think": `between`
    after its report; "busy": at once with probability `busy` (a tuple: of the second,
    third .. request, the last for all beyond), else `between` after.
    between: s, mean; cv2: squared coefficient of variation, 0 or else taken for 1;
    wait: of the run's first request in the queue, (probability, s if it waits): "open".
    """

    kind: str
    between: float
    cv2: float = 0.0
    busy: float = 0.0
    wait: tuple = (0.0, 0.0)

    @property
    def by_service(self):
        """Whether it depends on how long requests take."""
        return self.kind in ("open", "closed")

    def first_wait(self):
        """s"""
        share, mean = self.wait
        if self.kind != "open" or share <= 0 or not np.isfinite(mean):
            return np.zeros(PATHS)
        return -mean * np.log(np.minimum(quantiles(WAIT) / share, 1.0))

    def waits(self, step):
        """"busy": whether the next request is there already."""
        busy = self.busy
        if isinstance(busy, tuple):
            busy = busy[min(step, len(busy) - 1)]
        return quantiles(BUSY + step) < busy

    def next(self, step, wait, service):
        """(from the report to the next arrival, at least 0; what that one then waits), s."""
        between = self.between * (exponential(BETWEEN + step) if self.cv2 else 1.0)
        if self.kind == "think":
            return between, wait
        if self.kind == "busy":
            return np.where(self.waits(step), 0.0, between), wait
        late = between - service - wait
        return np.maximum(late, 0.0), (np.maximum(-late, 0.0) if self.kind == "open" else wait)


@dataclass(frozen=True)
class Drive:
    """What the race knows of the drive and of requests of one direction. s, bytes.

    overhead: until a request is understood that needs the medium; data: until a write's are
    there, too. hit_overhead: until a read that hits is understood. report: from the end of
    the last sector, a read's with its way over the bus, until the host knows."""

    turn: float
    pace: np.ndarray            # s a byte of a track
    track: np.ndarray           # bytes
    switch: np.ndarray          # s from a track's end to the next one's beginning
    move: float                 # s that the head takes for it
    unit: np.ndarray            # bytes from a track's beginning to the first: multiples of that
    bus: float                  # s a byte; 0 for writes
    overhead: float
    report: float
    zero_latency: bool
    block: float                # bytes, the medium's
    data: float = 0.0
    hit_overhead: float = 0.0
    ahead: bool = False         # reads ahead at all
    same_track: bool = False    # .. but only after one that goes on where the last one from the
                                # medium ended, on its track
    segment: float = 0.0        # bytes
    most: float = float("inf")  # bytes read ahead at most; inf: until the segment is full
    border: int = 0             # tracks with whose end reading ahead ends: of a cylinder, 1; or 0
    stream: bool = False        # .. but with the next ones' if it came over earlier ones
    on_hit: bool = False
    discard: bool = False
    join: float = 0.0           # of a request so many bytes are there before reading on goes
                                # on for it
    keeps: bool = False         # what passes on a track before the first wanted byte takes room

    @functools.cached_property
    def period(self):
        """s from a track's beginning to the next one's."""
        return self.track * self.pace + self.switch

    @functools.cached_property
    def slow_bus(self):
        """Whether a read's bytes come faster than the bus carries them."""
        return self.bus > self.pace.min()

    def reported(self, start, end, size):
        """When a request is reported that was under the head from `start` to `end`."""
        if self.slow_bus:
            first = SECTOR * (self.pace - self.bus)
            end = np.maximum(end, start + first + size * self.bus)
        return self.report + end


class Steps(NamedTuple):
    """What became of each request of a run but its first: lists, a step each, of arrays.
    service, wait: s; kind: HIT, PARTIAL, MISS. steady: the last one again and again; refill:
    the last is the one that finds the segment used up, those before it are left out."""

    service: list
    wait: list
    kind: list
    steady: bool = False
    refill: bool = False


class _State:
    """Where a run is. The segment has the bytes from `begin` on; got: up to there for sure;
    limit: where reading ahead ends; last: where the last read from the medium ended; head:
    past() of that, without reading ahead; next: stream() of `end`."""

    def __init__(self, drive, size):
        self.time = 0.0
        self.begin, self.end = 0.0, np.full(PATHS, float(size))
        self.phase = np.floor(quantiles(TRACK) * drive.track / drive.unit) * drive.unit
        before = np.floor(quantiles(CYLINDER) * drive.border)
        self.border = self.phase + before * drive.track
        past, self.next = self.past(drive, self.end)
        self.head = past
        transfer = past - self.stream(drive, 0.0)
        lag = drive.reported(-transfer, 0.0, size)
        if drive.zero_latency:
            # who came down inside it ended there: the end is still to pass
            lag = lag - (quantiles(INSIDE) * drive.turn < transfer) * quantiles(WITHIN) * transfer
        self.origin = -lag - past
        self.begin = self.end if drive.discard else -self.passed(
            drive, 0.0, quantiles(INSIDE) * drive.turn)
        self.last = self.got = self.end
        self.limit = self.end
        if drive.ahead and not drive.same_track:
            self.limit = self.far(drive, self.end)

    def stream(self, drive, byte):
        """When a stream comes to a byte."""
        byte = byte + self.phase
        return byte * drive.pace + np.floor(byte / drive.track) * drive.switch

    def past(self, drive, end):
        """(when a stream has passed all bytes before `end`, when it comes to that one): they
        differ at a track's end."""
        byte = end + self.phase
        tracks, in_track = byte / drive.track, byte * drive.pace
        return in_track + (np.ceil(tracks) - 1) * drive.switch, \
            in_track + np.floor(tracks) * drive.switch

    def passed(self, drive, start, wait):
        """Bytes before `start`, of its track, that pass and are kept in so many s."""
        if not drive.keeps:
            return 0.0
        return np.minimum(wait / drive.pace, (start + self.phase) % drive.track)

    def front(self, drive, time):
        """How far reading ahead has come."""
        time = time - self.origin
        tracks = np.floor(time / drive.period)
        into = np.minimum((time - tracks * drive.period) / drive.pace, drive.track)
        byte = tracks * drive.track + into - self.phase
        return np.minimum(np.maximum(byte, self.got), self.limit)

    def move(self, drive, start, head):
        """s that the head takes from its track to that of `start`; both as stream() has them, or
        past() for the head."""
        return drive.move * (_track(drive, start, 1e-9) != _track(drive, head, -1e-9))

    def next_passage(self, drive, stream, ready):
        """When what a stream comes to at `stream` is under the head, not before `ready`."""
        first = self.origin + stream
        return first + np.ceil((ready - first) / drive.turn) * drive.turn

    def skip(self, drive, size, gap, requests):
        """So many bytes are read, with so many requests that hit."""
        self.time = self.time + requests * (gap.between + drive.hit_overhead + drive.report) + \
            size * drive.bus
        self.end = self.end + size
        self.next = self.stream(drive, self.end)

    def far(self, drive, end):
        """How far the drive reads on after a read up to `end`."""
        if drive.border:
            size = drive.border * drive.track
            far = np.ceil((end + self.border) / size) * size - self.border
            return far + size * (self.begin < far - size) if drive.stream else far
        if drive.most < float("inf"):
            return end + drive.most
        return np.maximum(end, self.begin + drive.segment)


def follow(drive, size, steps, gap, first, holes=None, most=COST, skip=0.0):
    """Steps: at most `steps` more requests of `size` bytes of a run, fewer if that would take
    long: only `most` of which not all paths are hits. gap: a Gap; first: service of the run's
    first request, s; holes: None, or function(step) -> bytes between the end of one and the
    next; skip: bytes before the last step that are passed over as hits."""
    state = _State(drive, size)
    done = Steps([], [], [], refill=skip > 0)
    service, wait, cost = first, gap.first_wait(), 0
    for step in range(steps):
        before = service
        if skip and step == steps - 1:
            state.skip(drive, skip, gap, skip / size)
        late, wait = gap.next(step, wait, service)
        arrival = state.time + late
        if holes is None:
            start, at = state.end, state.next
        else:
            start = state.end + holes(step)
            at = state.stream(drive, start)
        serve = _serve if drive.ahead else _through
        service, kind = serve(drive, state, (start, at), size, arrival)
        state.time = arrival + service
        for column, value in zip(done, (service, wait, kind)):
            column.append(value)
        cost += 1 if kind is not _HITS and drive.ahead else QUICK
        if holes is None and not drive.ahead and np.abs(service - before).max() < 1e-9:
            return done._replace(steady=True)
        if cost >= most:
            break
    return done


def _through(drive, state, start, size, arrival):
    """One request that goes to the medium in any case: (service, kind); `state` goes on."""
    end = start[0] + size
    past, following = state.past(drive, end)
    ready = np.maximum(arrival + drive.overhead + drive.data, arrival + drive.overhead +
                       state.move(drive, start[1], state.head))
    at, passed = _medium(drive, state, start[1], past, ready)
    state.head = past
    state.end, state.next = end, following
    # as large numbers are not exact
    state.origin = np.maximum(state.origin, at - start[1])
    return drive.reported(at, passed, size) - arrival, _MISSES


def _track(drive, stream, rounding):
    """The number of the track that a stream is on; `rounding` errors do not take it over a
    track's beginning, or its end."""
    return np.floor(stream / drive.period + rounding)


def _medium(drive, state, start, past, ready, rides=None):
    """(when the first byte, when all are taken) if the head may begin at `ready`; start, past:
    stream() of the first and past() of the last; rides: those for which it is there already."""
    at = state.next_passage(drive, start, ready)
    if rides is not None:
        at = np.where(rides, state.origin + start, at)
    transfer = past - start
    if not drive.zero_latency:
        return at, at + transfer
    # the head comes down inside the request, begins with the next whole block, and takes
    # what it missed a turn later; what is on the next track comes when it always does
    block = drive.block * drive.pace
    into = np.ceil((ready - at + drive.turn) / block - 1e-6) * block
    inside = (into < transfer) & (_track(drive, start, 1e-9) == _track(drive, past, -1e-9))
    if rides is not None:
        inside &= ~rides
    return at, at + np.where(inside, into, transfer)


def _serve(drive, state, start, size, arrival):
    """One request of a drive that reads ahead: (service, kind); `state` goes on."""
    start, from_start = start
    end = start + size
    front = state.front(drive, arrival)
    if drive.border or drive.most < float("inf"):
        state.begin = np.maximum(state.begin, front - drive.segment)
    answered = drive.hit_overhead + (size - SECTOR) * drive.bus + drive.report
    reading = state.limit > front
    inside = start >= state.begin
    hit = inside & (end <= front * (1 + 1e-9))
    past, following = state.past(drive, end)
    if hit.all():
        service, kind, did = np.full(PATHS, answered), _HITS, None
    else:
        held = front - start
        there = inside & (held > -1) & ~hit        # but for a byte, a rounding error
        rides = there & reading & (held > drive.join - 1)
        part = rides | there & (held >= SECTOR)
        begin = np.where(part, front, start)
        head = state.stream(drive, front)
        begin_at = np.where(part, head, from_start)
        ready = arrival + drive.overhead + state.move(drive, begin_at, head)
        at, passed = _medium(drive, state, begin_at, past, ready, rides)
        service = drive.reported(np.maximum(at, arrival), passed, end - begin) - arrival
        service = np.where(hit, answered, np.where(part, np.maximum(service, answered), service))
        kind = np.where(hit, HIT, np.where(part, PARTIAL, MISS))
        did = (part, rides, passed, state.passed(drive, start, np.maximum(at - ready, 0.0)))
    _go_on(drive, state, (start, end, following), arrival, hit, reading, did)
    return service, kind


def _go_on(drive, state, ends, arrival, hit, reading, did):
    """What the request leaves behind. ends: first byte, next byte, stream() of that; did: what
    those did that were no hits, or None."""
    start, end, following = ends
    fresh = False
    if did is not None:
        part, rides, passed, kept = did
        fresh = ~(hit | rides)
        state.begin = np.where(hit | part, state.begin, start - kept)
    if drive.discard:
        state.begin = np.where(fresh, end, state.end)
    limit = state.far(drive, end)
    if drive.on_hit:
        resumes = hit & ~reading & (limit > state.limit)
        stream = state.stream(drive, state.limit)
        at = state.next_passage(drive, stream, arrival + drive.overhead)
        state.origin = np.where(resumes, at - stream, state.origin)
        state.got = np.where(resumes, state.limit, state.got)
        reading = reading | resumes
    state.limit = np.where(reading, np.maximum(state.limit, limit), state.limit)
    if did is not None:
        at = state.next_passage(drive, following, passed - 1e-9)
        state.origin = np.where(fresh, at - following, state.origin)
        state.got = np.where(fresh, end, state.got)
        if drive.same_track:
            same = np.floor((start + state.phase) / drive.track) == \
                np.ceil((state.last + state.phase) / drive.track) - 1
            state.last = np.where(hit, state.last, end)
            limit = np.where(same, limit, end)
        state.limit = np.where(fresh, limit, state.limit)
    if drive.discard:
        state.begin = end
    state.end, state.next = end, following
