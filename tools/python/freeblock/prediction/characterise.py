# SPDX-License-Identifier: GPL-2.0
"""A workload's attributes (table 2 of the paper) from a trace, chunk by chunk.

What the paper leaves to its authors' thesis is decided here:

run             requests that each begin where the one before them in the trace ends
sparse run      the same with holes: each begins at most `reach` bytes after the end of
                the one before, one at least not at it. Directions do not matter
burst           requests that each come while those before them in it would still be served,
                `service_time` each (4.3; E20); burst_rate is the even one with which
                eq. 12 gives the wait that they would have
span            the range that all but a share of 1 - SPAN_SHARE of the requests lie in,
                as wide as a uniform workload's would be of which that is the share
pauses          arrivals more than PAUSE apart: left out of effective_request_rate
arrival process closed if responses say that never two were outstanding though chance
                would have them be; else by the squared coefficient of variation of the times
                between arrivals: below CONSTANT_CV2 constant, above BURSTY_CV2 bursty (if
                the bursts are more than chance makes at effective_request_rate: pauses alone
                are no bursts), else Poisson (1)
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from .. import ToolError
from .workload import Workload

SECTOR = 512
PAUSE = 1.0             # s (paper, 5)
SPAN_SHARE = 0.98       # of the requests, as many left out at either end
CONSTANT_CV2 = 0.25     # between arrivals: a Poisson process has 1, one that is constant
BURSTY_CV2 = 2.0        # but for jitter a sixteenth, bursts of ten four and more
BEYOND_CHANCE = 1.5     # times the requests found before one in a burst that chance makes
RECENT = 32             # requests among whose ends an interleaved stream is looked for
BINS = 1 << 16          # of the map of what is accessed
BIN_BYTES = 1 << 20     # at first; doubled when an address lies beyond
PARTS = 256             # of the span, for hot spots: large enough to hold many requests each
LEAST_GAP = 1e-6        # of a service: requests at one time
INTERLEAVED = 0.02      # of the requests; a share of which predictions are to know
OVERLAPS = 10           # that many are expected of a workload that is open
NEVER_NS = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Trace:
    """What a trace's requests are like. Bytes, s, 1/s, fractions of the requests."""

    workload: Workload
    requests: int
    duration: float             # from first to last arrival
    pauses: float               # of that, in pauses
    arrival_cv2: float          # of the times between arrivals, squared
    first_byte: float           # the least and the last byte accessed
    last_byte: float
    hot_half: float             # share of the span that takes half of the requests in it
    touched: float              # share of the span with any request, by bins of `bin_bytes`
    bin_bytes: float
    runs: int
    sparse_runs: int
    bursts: int
    stream_fraction: float      # go on from one of the last RECENT requests
    interleaved_fraction: float # .. but not from the last one
    reads_after_reads: float    # of what goes on in a run or sparse run: reads after reads
    mean_response: float        # None if the trace has none
    idle_response: float        # of those that found nothing outstanding


class Moments:
    """Count, sum and sum of squares of numbers that come in chunks."""

    def __init__(self):
        self.count, self.sum, self.squares = 0, 0.0, 0.0

    def add(self, values):
        """More of them."""
        values = np.asarray(values, dtype=float)
        self.count += len(values)
        self.sum += float(values.sum())
        self.squares += float(values @ values)

    def mean(self):
        """0 if there are none."""
        return self.sum / self.count if self.count else 0.0

    def cv2(self):
        """Squared coefficient of variation."""
        mean = self.mean()
        return max(self.squares / self.count / mean ** 2 - 1, 0.0) if mean else 0.0


class Groups:
    """Neighbours that are linked, over the borders of chunks. Of each group its number
    of requests and what `sums` (arrays, a value a request) come to; and the `first` and
    the last of `last`."""

    def __init__(self):
        self.open = None

    def add(self, linked, sums, first, last):
        """linked: whether each belongs to the one before it. A row for each group that has
        ended: count, sums .., first, last."""
        starts = np.flatnonzero(~linked)
        if not len(starts) or starts[0]:
            starts = np.concatenate(([0], starts))
        ends = np.append(starts[1:], len(linked))
        rows = np.column_stack([ends - starts] + [np.add.reduceat(one, starts) for one in sums] +
                               [first[starts], last[ends - 1]]).astype(np.int64)
        if self.open is not None and linked[0]:
            rows[0, :-2] += self.open[:-2]
            rows[0, -2] = self.open[-2]
        elif self.open is not None:
            rows = np.vstack((self.open, rows))
        self.open = rows[-1]
        return rows[:-1]

    def end(self):
        """The last group."""
        return np.empty((0, 0)) if self.open is None else self.open[None, :]


class Places:
    """How many requests begin in each part of the disk: parts of equal size, which
    double as need be."""

    def __init__(self):
        self.bins = np.zeros(BINS, dtype=np.int64)
        self.width = BIN_BYTES // SECTOR
        self.first, self.end = None, 0

    def add(self, sector, end):
        """Arrays."""
        self.first = int(sector.min()) if self.first is None else \
            min(self.first, int(sector.min()))
        self.end = max(self.end, int(end.max()))
        while self.end > self.width * BINS:
            pairs = self.bins.reshape(-1, 2).sum(axis=1)
            self.bins = np.concatenate((pairs, np.zeros_like(pairs)))
            self.width *= 2
        self.bins += np.bincount(sector // self.width, minlength=BINS)

    def span(self):
        """(first, end) in sectors: a uniform workload's with the same inner quantiles."""
        share = np.concatenate(([0], np.cumsum(self.bins))) / self.bins.sum()
        used = np.flatnonzero(self.bins)
        edges = np.column_stack((used, used + 1)).ravel()
        rest = (1 - SPAN_SHARE) / 2
        low, high = np.interp([rest, 1 - rest], share[edges], edges * self.width)
        more = (high - low) * rest / SPAN_SHARE
        return max(low - more, self.first), min(high + more, self.end)

    def hot(self, first, end):
        """(share of the span that has half of its requests, share that has any): the
        first by PARTS, the second by bins."""
        inside = self.bins[int(first // self.width):int(-(-end // self.width))]
        parts = np.add.reduceat(inside, np.unique(np.arange(PARTS) * len(inside) // PARTS))
        half = np.interp(inside.sum() / 2, np.append(0, np.cumsum(np.sort(parts)[::-1])),
                         np.arange(len(parts) + 1))
        return float(half / len(parts)), float(np.count_nonzero(inside) / len(inside))


class _Arrivals:
    """When requests come."""

    def __init__(self, service_time):
        self.service = None if service_time is None else service_time * 1e9
        self.work = 0.0         # ns of service that the last request found before it
        self.first = self.last = None
        self.gaps, self.pauses = Moments(), 0.0
        self.groups, self.bursts = Groups(), Moments()
        self.waited = 0.0       # ns, of all requests in bursts

    def add(self, time):
        """Arrival times, ns."""
        if self.first is None:
            self.first = int(time[0])
        gap = np.diff(time) if self.last is None else np.diff(time, prepend=self.last)
        self.last = int(time[-1])
        self.gaps.add(gap * 1e-9)
        self.pauses += float(gap[gap > PAUSE * 1e9].sum()) * 1e-9
        if self.service is not None:
            linked = np.zeros(len(time), dtype=bool)
            before = self.found_before(gap)
            self.waited += float(before.sum())
            linked[len(time) - len(gap):] = before > 0
            self.ended(self.groups.add(linked, (), time, time))

    def found_before(self, gap):
        """ns of service that each request finds still to be done (Lindley's equation)."""
        if not len(gap):
            return gap
        work = self.work + np.cumsum(self.service - gap)
        work -= np.minimum(np.minimum.accumulate(work), 0.0)
        self.work = float(work[-1])
        return work

    def burst_gap(self):
        """ns between two requests of a burst with which eq. 12 gives the wait of these: those of a
        trace's are not even, the long ones' the longest."""
        behind = (self.bursts.squares / self.bursts.sum - 1) / 2
        return self.service - self.waited / self.bursts.sum / behind

    def ended(self, rows):
        """Groups of requests that are over."""
        rows = rows[rows[:, 0] > 1] if len(rows) else rows
        if len(rows):
            self.bursts.add(rows[:, 0])

    def attributes(self, requests):
        """Of a Workload."""
        self.ended(self.groups.end())
        duration = (self.last - self.first) * 1e-9
        if duration <= 0:
            raise ToolError("trace: all %d requests at one time: no rate" % requests)
        found = {"request_rate": (requests - 1) / duration}
        if 0 < self.pauses < duration:
            found["effective_request_rate"] = (requests - 1) / (duration - self.pauses)
        if self.bursts.count:
            found["requests_per_burst"] = self.bursts.mean()
            found["burst_cv2"] = self.bursts.cv2()
            found["bursty_fraction"] = self.bursts.sum / requests
            found["burst_rate"] = 1e9 / max(self.burst_gap(), LEAST_GAP * self.service)
        return found


class _Chains:
    """Runs and sparse runs."""

    def __init__(self, reach):
        self.reach = reach // SECTOR
        self.groups = Groups()
        self.run, self.sparse, self.sparse_bytes = Moments(), Moments(), Moments()
        self.run_bytes, self.stride, self.open_start = Moments(), Moments(), None
        self.reads = self.reads_follow = 0
        self.before = None              # the last request: end, write

    def add(self, sector, end, write):
        """Arrays."""
        before_end = np.concatenate(([-1 if self.before is None else self.before[0]], end[:-1]))
        before_write = np.concatenate(([self.before is not None and self.before[1]], write[:-1]))
        hole = sector - before_end
        linked = (hole >= 0) & (hole <= self.reach) & (before_end >= 0)
        self.before = int(end[-1]), bool(write[-1])
        after_read = linked & ~before_write
        self.reads += int(np.count_nonzero(after_read))
        self.reads_follow += int(np.count_nonzero(after_read & ~write))
        self.ended(self.groups.add(linked, (end - sector, linked & (hole > 0)), sector, end))

    def ended(self, rows):
        """Chains that are over: rows of requests, sectors, holes, first, end."""
        if not len(rows):
            return
        starts = rows[:, 3] if self.open_start is None else np.append(self.open_start, rows[:, 3])
        self.stride.add(np.abs(np.diff(starts)))
        self.open_start = rows[-1, 3]
        several = rows[:, 0] > 1
        contiguous, holed = rows[several & (rows[:, 2] == 0)], rows[rows[:, 2] > 0]
        self.run.add(contiguous[:, 0])
        self.run_bytes.add(contiguous[:, 1] * SECTOR)
        self.sparse.add(holed[:, 0])
        self.sparse_bytes.add((holed[:, 4] - holed[:, 3]) * SECTOR)

    def attributes(self, requests, span):
        """Of a Workload; span: bytes."""
        self.ended(self.groups.end())
        found = {}
        if self.run.count:
            found["run_length"] = self.run_bytes.mean()
            found["locality_fraction"] = self.run.sum / requests
            if self.near(span):
                found["run_stride"] = self.stride.mean() * SECTOR
        if self.sparse.count:
            found["requests_per_sparse_run"] = self.sparse.mean()
            found["sparse_run_length"] = self.sparse_bytes.mean()
            found["sparse_run_fraction"] = self.sparse.sum / requests
        return found

    def near(self, span):
        """Whether runs begin closer to one another than at random. There the distance is
        span/3 in the mean, its standard deviation over n of them span * sqrt(1/15 / n): 1/18
        of variance and, as neighbours share a point, twice 1/180."""
        if not self.stride.count:
            return False
        return self.stride.mean() * SECTOR < \
            span * (1 / 3 - 4 * (1 / 15 / self.stride.count) ** 0.5)


class _Streams:
    """Requests that go on from one of the last few."""

    def __init__(self):
        self.ends = np.full(RECENT, -1, dtype=np.int64)
        self.next = self.other = 0

    def add(self, sector, end):
        """Arrays."""
        ends = np.concatenate((self.ends, end))
        last = sector == ends[RECENT - 1:-1]
        any_of = last.copy()
        for back in range(2, RECENT + 1):
            any_of |= sector == ends[RECENT - back:-back]
        self.ends = ends[-RECENT:]
        self.next += int(np.count_nonzero(last))
        self.other += int(np.count_nonzero(any_of & ~last))


class _Responses:
    """What the trace says of responses."""

    def __init__(self):
        self.known, self.all, self.idle = True, Moments(), Moments()
        self.busy_until = NEVER_NS
        self.think = Moments()

    def add(self, time, response):
        """Arrays, ns."""
        self.known &= bool((response >= 0).all())
        if not self.known:
            return
        until = np.maximum.accumulate(np.maximum(time + response, self.busy_until))
        before = np.concatenate(([self.busy_until], until[:-1]))
        self.busy_until = int(until[-1])
        idle = time >= before
        self.all.add(response * 1e-9)
        self.idle.add(response[idle] * 1e-9)
        thought = idle & (before > NEVER_NS)
        self.think.add((time[thought] - before[thought]) * 1e-9)

    def closed(self, rate):
        """Whether never two were outstanding, though of as many open arrivals some would."""
        return self.known and self.idle.count == self.all.count and \
            rate * self.all.sum > OVERLAPS


class Characteriser:
    """Takes a trace's chunks, says what they are like."""

    def __init__(self, reach=0.0, service_time=None):
        _check(reach, service_time)
        self.requests = self.writes = 0
        self.sizes, self.places, self.streams = Moments(), Places(), _Streams()
        self.arrivals, self.responses = _Arrivals(service_time), _Responses()
        self.chains = _Chains(int(reach))

    def add(self, chunk):
        """A tracefile.Chunk."""
        if not len(chunk.time_ns):
            return
        end = chunk.sector + chunk.sectors
        self.requests += len(end)
        self.writes += int(np.count_nonzero(chunk.write))
        self.sizes.add(chunk.sectors * float(SECTOR))
        self.places.add(chunk.sector, end)
        self.arrivals.add(chunk.time_ns)
        self.responses.add(chunk.time_ns, chunk.response_ns)
        self.chains.add(chunk.sector, end, chunk.write)
        self.streams.add(chunk.sector, end)

    def result(self):
        """A Trace; ToolError if the requests are too few to have a rate."""
        if self.requests < 2:
            raise ToolError("trace: %d requests: two at least are needed for a rate" %
                            self.requests)
        first, end = self.places.span()
        span = max((end - first) * SECTOR, self.sizes.mean())
        found = self.arrivals.attributes(self.requests)
        found.update(self.chains.attributes(self.requests, span))
        found.update(self.process(found))
        workload = Workload(request_size=self.sizes.mean(), request_size_cv2=self.sizes.cv2(),
                            read_fraction=1 - self.writes / self.requests,
                            data_start=first * SECTOR, data_span=span, **found).check()
        return self.describe(workload, first, end)

    def process(self, found):
        """The arrival process and what belongs to it alone."""
        cv2 = self.arrivals.gaps.cv2()
        if self.responses.closed(found["request_rate"]):
            if cv2 < CONSTANT_CV2:
                return {"arrival_process": "constant-closed"}
            return {"arrival_process": "closed", "outstanding": 1,
                    "think_time": self.responses.think.mean(),
                    "think_cv2": self.responses.think.cv2()}
        if cv2 < CONSTANT_CV2:
            return {"arrival_process": "constant-open"}
        if cv2 > BURSTY_CV2 and found.get("burst_rate", 0) > found["request_rate"] and \
                self.beyond_chance(found):
            # those found are over before anything else comes
            return {"arrival_process": "bursty", "bursts_meet": 0}
        # bursts that chance makes are no attribute of a Poisson process
        return {"arrival_process": "poisson", "requests_per_burst": 1, "burst_cv2": 0,
                "bursty_fraction": 0, "burst_rate": None}

    def beyond_chance(self, found):
        """Whether bursts are more than the busy periods of two requests and more that Poisson
        arrivals bring about where each takes the service time. Their sizes are Borel's: one of a
        single request has the chance exp(-rho), the mean is 1 / (1 - rho)."""
        rho = found.get("effective_request_rate", found["request_rate"]) * \
            self.arrivals.service * 1e-9
        if rho >= 1:
            return True
        single = math.exp(-rho)
        others = (1 / (1 - rho) - single) / (1 - single) - 1
        chance = (1 - single * (1 - rho)) * others
        return found["bursty_fraction"] * (found["requests_per_burst"] - 1) > \
            BEYOND_CHANCE * chance

    def describe(self, workload, first, end):
        """The Trace."""
        hot, touched = self.places.hot(first, end)
        chains, responses = self.chains, self.responses
        known = responses.known
        return Trace(
            workload, self.requests, (self.arrivals.last - self.arrivals.first) * 1e-9,
            self.arrivals.pauses, self.arrivals.gaps.cv2(), float(self.places.first * SECTOR),
            float(self.places.end * SECTOR), hot, touched, float(self.places.width * SECTOR),
            chains.run.count, chains.sparse.count, self.arrivals.bursts.count,
            (self.streams.next + self.streams.other) / self.requests,
            self.streams.other / self.requests,
            chains.reads_follow / chains.reads if chains.reads else 1.0,
            responses.all.mean() if known else None, responses.idle.mean() if known else None)


def _check(reach, service_time):
    if not 0 <= reach < float("inf"):
        raise ToolError("characterise: reach %r (bytes): must be at least 0" % reach)
    if service_time is not None and not 0 < service_time < float("inf"):
        raise ToolError("characterise: service_time %r (s): must be over 0" % service_time)


def reach_of(device):
    """How far apart requests can be for one to be read ahead by the one before, bytes: the
    x of figure 4, by the paper the cache's segment, or what is read ahead at most. A drive
    that does not read ahead has the next request still on its track."""
    cache = device.cache
    if cache is None or cache.read_ahead == "none":
        return device.track_bytes()
    most = cache.segment_bytes
    if cache.read_ahead_bytes is not None:
        most = min(most, cache.read_ahead_bytes)
    elif cache.read_ahead in ("track", "stream"):
        most = min(most, device.track_bytes() * (2 if cache.read_ahead == "stream" else 1))
    elif cache.read_ahead == "cylinder":
        most = min(most, device.bytes_per_cylinder)
    return float(most)


def of_device(trace, device):
    """A Trace's Workload, as this device sees it: not in the paper. Where a cache reads ahead in
    several segments, streams that are served in turns each have theirs, and are runs: all that
    goes on from one of the last RECENT requests is behind the first of one."""
    cache, load = device.cache, trace.workload
    if cache is None or cache.read_ahead == "none" or cache.segments < 2 or \
            trace.interleaved_fraction < INTERLEAVED:
        return load
    runs = max(trace.requests * (1 - trace.stream_fraction), 1.0)
    return dataclasses.replace(
        load, run_length=trace.requests / runs * load.request_size, locality_fraction=1,
        run_stride=None, requests_per_sparse_run=None, sparse_run_length=None,
        sparse_run_fraction=0).check()


def characterise(chunks, reach=0.0, service_time=None):
    """A Trace from chunks of tracefile.read: reach (bytes) is the hole that a sparse run
    may have, service_time (s) what each request of a burst takes; None: no bursts."""
    what = Characteriser(reach, service_time)
    for chunk in chunks:
        what.add(chunk)
    return what.result()
