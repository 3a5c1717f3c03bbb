# SPDX-License-Identifier: GPL-2.0
"""A workload's attributes (table 2 of the paper) from a trace.

What the paper leaves to its authors' thesis is decided here:

run             requests that each begin where the one before them in the trace ends
sparse run      the same with holes: each begins at most `reach` bytes after the end of
                the one before, one at least not at it. Directions do not matter
span            the range that all but a share of 1 - SPAN_SHARE of the requests lie in,
                as wide as a uniform workload's would be of which that is the share
pauses          arrivals more than PAUSE apart: left out of effective_request_rate
arrival process closed if responses say that never two were outstanding though chance
                would have them be; else constant if the squared coefficient of variation of the
                times between arrivals is below CONSTANT_CV2, else Poisson (1). Over BURSTY_CV2
                without the pauses requests come in bursts, of which a Trace only says so
"""

from dataclasses import dataclass

import numpy as np

from .. import ToolError
from .workload import Workload

SECTOR = 512
PAUSE = 1.0             # s (paper, 5)
SPAN_SHARE = 0.98       # of the requests, as many left out at either end
CONSTANT_CV2 = 0.25     # between arrivals: a Poisson process has 1, one that is constant
BURSTY_CV2 = 2.0        # but for jitter a sixteenth, bursts of ten four and more
RECENT = 32             # requests of which one may be continued, of several streams in turns
PARTS = 256             # of the span, for hot spots: large enough to hold many requests each
OVERLAPS = 10           # that many are expected of a workload that is open


@dataclass(frozen=True)
class Trace:
    """What a trace's requests are like. Bytes, s, fractions of the requests."""

    workload: Workload
    requests: int
    duration: float             # from first to last arrival
    pauses: float               # of that, in pauses
    last_byte: float            # accessed
    hot_half: float             # share of the span that takes half of the requests in it
    interleaved: float          # go on from one of the last RECENT requests, not from the last one
    bursty: bool                # they come in bursts
    mean_response: float        # None if the trace has none


def _cv2(values):
    """Squared coefficient of variation."""
    mean = float(np.mean(values)) if len(values) else 0.0
    return float(np.var(values)) / mean ** 2 if mean else 0.0


def _span(sector, end):
    """(first, end) in sectors: a uniform workload's with the same inner quantiles."""
    rest = (1 - SPAN_SHARE) / 2
    low, high = np.quantile(sector, [rest, 1 - rest])
    more = (high - low) * rest / SPAN_SHARE
    return max(low - more, float(sector.min())), min(high + more, float(end.max()))


def _hot(sector, first, end):
    """Share of the span that has half of its requests, by PARTS."""
    inside = np.histogram(sector, PARTS, (first, max(end, first + 1)))[0]
    half = np.interp(inside.sum() / 2, np.append(0, np.cumsum(np.sort(inside)[::-1])),
                     np.arange(PARTS + 1))
    return float(half / PARTS)


def _runs(sector, end, reach):
    """Attributes of runs and sparse runs, of those that there are."""
    hole = sector[1:] - end[:-1]
    linked = (hole >= 0) & (hole <= reach // SECTOR)
    begins = np.flatnonzero(np.append(True, ~linked))
    last = np.append(begins[1:], len(sector)) - 1
    count = last - begins + 1
    holes = np.add.reduceat(np.append(0, linked & (hole > 0)), begins) > 0
    length = (end[last] - sector[begins]) * float(SECTOR)
    found, run, sparse = {}, (count > 1) & ~holes, (count > 1) & holes
    if run.any():
        found["run_length"] = float(length[run].mean())
        found["locality_fraction"] = float(count[run].sum() / len(sector))
    if sparse.any():
        found["requests_per_sparse_run"] = float(count[sparse].mean())
        found["sparse_run_length"] = float(length[sparse].mean())
        found["sparse_run_fraction"] = float(count[sparse].sum() / len(sector))
    return found


def _interleaved(sector, end):
    """Share of the requests that go on from one of the last few, but not from the last one."""
    ends = np.concatenate((np.full(RECENT, -1), end))
    any_of = np.zeros(len(sector), dtype=bool)
    for back in range(2, RECENT + 1):
        any_of |= sector == ends[RECENT - back:-back]
    return float(np.mean(any_of & (sector != ends[RECENT - 1:-1])))


def _closed(time, response):
    """Think times (s) of one process whose requests these are; None if they are not. Never two
    are outstanding then, though of as many open arrivals some would be."""
    think = (time[1:] - time[:-1] - response[:-1]) * 1e-9
    overlaps = float(response.sum()) * len(time) / max(float(time[-1] - time[0]), 1.0)
    return think if (response >= 0).all() and (think >= 0).all() and overlaps > OVERLAPS else None


def _process(time, response, gaps):
    """The arrival process and what belongs to it alone."""
    even, think = _cv2(gaps) < CONSTANT_CV2, _closed(time, response)
    if think is None:
        return {"arrival_process": "constant-open" if even else "poisson"}
    if even:
        return {"arrival_process": "constant-closed"}
    return {"arrival_process": "closed", "outstanding": 1, "think_time": float(think.mean()),
            "think_cv2": _cv2(think)}


def reach_of(device):
    """How far apart requests can be for one to be read ahead by the one before, bytes: the
    x of figure 4, by the paper the cache's segment, or what is read ahead at most. A drive
    that does not read ahead has the next request still on its track."""
    cache = device.cache
    if cache is None or cache.read_ahead == "none":
        return device.track_bytes()
    most = {"track": device.track_bytes(), "stream": 2 * device.track_bytes(),
            "cylinder": device.bytes_per_cylinder}.get(cache.read_ahead, cache.segment_bytes)
    return float(min(cache.segment_bytes, cache.read_ahead_bytes or most))


def characterise(chunk, reach=0.0):
    """A Trace of a tracefile.Chunk; reach (bytes): the hole that a sparse run may have."""
    count, time, sector = len(chunk.time_ns), chunk.time_ns, chunk.sector
    if count < 2:
        raise ToolError("trace: %d requests: two at least are needed for a rate" % count)
    end, gaps = sector + chunk.sectors, np.diff(time) * 1e-9
    duration, pauses = float(gaps.sum()), float(gaps[gaps > PAUSE].sum())
    if duration <= 0:
        raise ToolError("trace: all %d requests at one time: no rate" % count)
    found = {"request_rate": (count - 1) / duration, **_runs(sector, end, reach),
             **_process(time, chunk.response_ns, gaps)}
    if 0 < pauses < duration:
        found["effective_request_rate"] = (count - 1) / (duration - pauses)
    first, last = _span(sector, end)
    size = chunk.sectors * float(SECTOR)
    workload = Workload(
        request_size=float(size.mean()), request_size_cv2=_cv2(size),
        read_fraction=1 - float(np.mean(chunk.write)), data_start=first * SECTOR,
        data_span=max((last - first) * SECTOR, float(size.mean()), found.get("run_length", 0)),
        **found).check()
    known = bool((chunk.response_ns >= 0).all())
    return Trace(
        workload, count, duration, pauses, float(end.max()) * SECTOR, _hot(sector, first, last),
        _interleaved(sector, end), workload.arrival_process == "poisson" and
        _cv2(gaps[gaps <= PAUSE]) > BURSTY_CV2,
        float(chunk.response_ns.mean()) * 1e-9 if known else None)
