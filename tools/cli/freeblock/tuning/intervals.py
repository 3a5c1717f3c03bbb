# SPDX-License-Identifier: GPL-2.0
"""A trace as the scrubber sees it: idle intervals, and the requests between them.

The disk serves in order of arrival, one at a time (FIFO). It is idle from when
nothing is outstanding until the next request arrives. An interval is kept as
its length and the number of requests of the busy period that ends it: all of
these wait equally longer when the first has to wait, which is all that the
policy needs (policy.py).
"""

import numpy as np

from .. import tracefile

SECTORS_PER_KIB = 2


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


class Intervals:
    """A trace's idle intervals (idle_ns), the requests of the busy period after each (counts), and
    of all: requests, duration_ns from the first arrival to the last completion, and modelled,
    requests whose service the trace does not tell."""

    def __init__(self, chunks, service):
        self.requests = self.modelled = 0
        first = end = None
        idle, begins = [], []
        for chunk in chunks:
            if (chunk.response_ns < 0).all():
                ends = ends_by_service(chunk, end, service)
                self.modelled += len(ends)
            else:
                ends = ends_by_response(chunk, end)
            if first is None:
                first = end = int(chunk.time_ns[0])
            gaps = chunk.time_ns - np.append(end, ends[:-1])
            starts = np.flatnonzero(gaps > 0)
            idle.append(gaps[starts])
            begins.append(self.requests + starts)
            end = int(ends[-1])
            self.requests += len(ends)
        self.idle_ns = np.concatenate(idle or [np.zeros(0, np.int64)]).astype(np.int64)
        self.counts = np.diff(np.concatenate([*begins, [self.requests]])).astype(np.int64)
        self.duration_ns = end - first if idle else 0


def of_trace(path, device, service, unit=None):
    """A trace's intervals; Error if it has none."""
    found = Intervals(tracefile.read(path, device, unit), service)
    if not len(found.idle_ns):
        raise tracefile.Error(path, "the whole file", "the disk is never idle: nothing to tune")
    return found
