# SPDX-License-Identifier: GPL-2.0
"""A trace as the scrubber sees it: idle intervals, and the requests between them.

The disk serves in order of arrival, one at a time (FIFO). It is idle from when
nothing is outstanding until the next request arrives. An interval is kept as
its length and the number of requests of the busy period that ends it: all of
these wait equally longer when the first has to wait, which is all that the
policies need (policy.py). Intervals are spooled to a file that is read in
chunks: memory does not grow with the trace.
"""

import collections
import tempfile

import numpy as np

from .. import ToolError
from .. import tracefile

KIND = np.dtype([("idle_ns", "<i8"), ("requests", "<i4")])
CHUNK = 1 << 19
HOUR_NS = 3600 * 10 ** 9
MAX_HOURS = 24 * 366 * 10
SECTORS_PER_KIB = 2
# idle_ns: int64 > 0; requests: how many in the busy period after it, at least 1
Intervals = collections.namedtuple("Intervals", "idle_ns requests")


def ends_by_response(chunk, end):
    """When nothing is outstanding any more after each request, if the trace tells; of single ones
    of which it does not, they take as long as the others on the mean."""
    known = chunk.response_ns >= 0
    response_ns = np.where(known, chunk.response_ns, int(chunk.response_ns[known].mean()))
    done = np.maximum.accumulate(chunk.time_ns + response_ns)
    return done if end is None else np.maximum(done, end)


def ends_by_service(chunk, end, service):
    """The same for a drive with these service times, in order of arrival."""
    sizes, which = np.unique(chunk.sectors, return_inverse=True)
    times = np.array([service.random(-(-int(size) // SECTORS_PER_KIB)) for size in sizes],
                     np.int64)[which]
    total = np.cumsum(times)
    start = chunk.time_ns - (total - times)
    if end is not None:
        start[0] = max(start[0], end)
    return total + np.maximum.accumulate(start)


class Spool:
    """A trace's idle intervals in a file, and what is known of the whole.

    requests: all of the trace; duration_ns: from the first arrival to the last
    completion; busy_ns; by_hour: requests of each hour; modelled: requests whose
    service the trace does not tell."""

    def __init__(self, chunk=CHUNK):
        self.chunk = chunk
        self.file = tempfile.TemporaryFile(prefix="freeblock-tune-")
        self.requests = self.intervals = self.idle_ns = self.modelled = 0
        self.first_ns = self.end_ns = None
        self.longest_ns = 0
        self.by_hour = np.zeros(0, np.int64)
        # of the busy period that goes on: the idle interval before it (None: the
        # trace's first), its requests so far
        self.idle_before, self.in_period = None, 0

    @property
    def duration_ns(self):
        """From the first arrival to the last completion."""
        return self.end_ns - self.first_ns

    def close(self):
        """Forget it."""
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, chunk, service):
        """Requests that follow the ones before."""
        if self.first_ns is None:
            self.first_ns = int(chunk.time_ns[0])
        if (chunk.response_ns < 0).all():
            ends = ends_by_service(chunk, self.end_ns, service)
            self.modelled += len(ends)
        else:
            ends = ends_by_response(chunk, self.end_ns)
        before = np.empty_like(ends)
        before[1:] = ends[:-1]
        before[0] = chunk.time_ns[0] if self.end_ns is None else self.end_ns
        self.add_gaps(chunk.time_ns - before)
        self.end_ns = int(ends[-1])
        self.requests += len(ends)
        self.add_hours(chunk)

    def add_gaps(self, gaps):
        """For each request how long the disk was idle when it came (0 or less: not)."""
        starts = np.flatnonzero(gaps > 0)
        if not len(starts):
            self.in_period += len(gaps)
            return
        idle = gaps[starts]
        counts = np.diff(np.append(starts, len(gaps)))
        self.in_period += int(starts[0])
        if self.idle_before is not None:
            idle = np.insert(idle, 0, self.idle_before)
            counts = np.insert(counts, 0, self.in_period)
        # the last may go on
        self.idle_before, self.in_period = int(idle[-1]), int(counts[-1])
        self.write(idle[:-1], counts[:-1])

    def write(self, idle, counts):
        """Complete intervals."""
        rows = np.empty(len(idle), KIND)
        rows["idle_ns"], rows["requests"] = idle, counts
        self.file.write(rows.tobytes())
        self.intervals += len(idle)
        if len(idle):
            self.idle_ns += int(idle.sum())
            self.longest_ns = max(self.longest_ns, int(idle.max()))

    def add_hours(self, chunk):
        """Count requests by hour of the trace."""
        hours = (chunk.time_ns - self.first_ns) // HOUR_NS
        if hours[-1] >= MAX_HOURS:
            raise ToolError("a request %d hours after the first" % hours[-1])
        counts = np.bincount(hours)
        longer = max(len(counts), len(self.by_hour))
        self.by_hour = np.pad(self.by_hour, (0, longer - len(self.by_hour))) + \
            np.pad(counts, (0, longer - len(counts)))

    def finish(self):
        """No more requests."""
        if self.idle_before is not None:
            self.write(np.array([self.idle_before]), np.array([self.in_period]))
        self.idle_before = None
        self.file.flush()
        return self

    def chunks(self):
        """The intervals, many at a time."""
        self.file.seek(0)
        place = 0
        while place < self.intervals:
            self.file.seek(place * KIND.itemsize)
            rows = np.frombuffer(self.file.read(self.chunk * KIND.itemsize), KIND)
            place += len(rows)
            yield Intervals(rows["idle_ns"].astype(np.int64), rows["requests"].astype(np.int64))


def of_trace(path, device, service, chunk=CHUNK, unit=None):
    """A trace's intervals; Error if it has none."""
    spool = Spool(chunk)
    try:
        for requests in tracefile.read(path, device, unit):
            spool.add(requests, service)
        spool.finish()
        if not spool.intervals:
            raise tracefile.Error(path, "the whole file", "the disk is never idle: nothing to tune")
    except BaseException:
        spool.close()
        raise
    return spool
