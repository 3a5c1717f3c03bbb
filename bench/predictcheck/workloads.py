# SPDX-License-Identifier: GPL-2.0
"""The paper's validation workloads (section 5), each as the attributes that a prediction
gets and as requests for a drive. The same seed gives the same requests.

The paper gives attributes, not traces. What it leaves open is chosen here and said at each
generator; prediction and drive get the same.
"""

from typing import NamedTuple

import numpy as np

from freeblock.prediction.mechanism import ALIGNED
from freeblock.prediction.workload import Workload

# Of the TPC-C tables, and of what they leave between the requests of a sparse run
DATABASE_PAGE = 2048            # bytes
HOLES = 3                       # 0, 1 or 2 pages, each as likely
PAUSE_LEAST, PAUSE_MEAN = 1.0, 5.0      # s without a request: over 1 s they do not count
# Of the AS/400's bursts
BURST_SPACING = 3e-3            # s between two requests of one, on the mean
BURSTY = 0.95                   # share of the requests that are in one
BURST_SPREAD = 0.5              # sizes even within so much of their mean
SUBTRACE = 1000                 # requests
STRAYS_FROM = 0.6               # of the time from one burst to the next


class Disk(NamedTuple):
    """What a generator must know of a disk."""

    capacity: float             # bytes
    sector: int                 # bytes


class Requests(NamedTuple):
    """Arrays, a value for each request. closed: ns is the least time from the arrival of the
    request before to its own, which comes when that one has ended. Else it is when it comes."""

    ns: np.ndarray
    first: np.ndarray           # byte
    size: np.ndarray            # bytes
    read: np.ndarray            # bool
    closed: bool = False

    def records(self, disk):
        """As `mechdisk-host queue` reads them."""
        columns = (np.where(self.read, "R", "W"), self.first // disk.sector,
                   self.size // disk.sector, self.ns)
        return "".join("%s %d %d %d\n" % row
                       for row in zip(*(column.tolist() for column in columns)))


class Case(NamedTuple):
    """A workload, and requests that have its attributes."""

    workload: Workload
    requests: Requests


def _ns(seconds):
    return np.round(np.asarray(seconds) * 1e9).astype(np.int64)


def starts(rng, unit, first, span, length):
    """Multiples of `unit` bytes, even over a span, so that what begins there ends within it."""
    low = int(first) // unit
    room = (int(span) - np.asarray(length, dtype=np.int64)) // unit + 1
    return (low + rng.integers(0, room)) * unit


def _runs(rng, disk, count, run, size):
    """First bytes of `count` requests: runs of `run` contiguous ones, even over the disk,
    aligned as a file system's are."""
    runs = -(-count // run)
    unit = ALIGNED if size % ALIGNED == 0 else disk.sector
    begins = starts(rng, unit, 0, disk.capacity, np.full(runs, run * size))
    return (begins[:, None] + np.arange(run) * size).ravel()[:count]


def poisson(rng, disk, rate, count, run=1, size=8192, read_fraction=1.0):
    """Figure 6: each request comes by a Poisson process, those of a run, too; each run
    begins anywhere on the disk."""
    first = _runs(rng, disk, count, run, size)
    runs = -(-count // run)
    read = np.repeat(rng.random(runs) < read_fraction, run)[:count]
    requests = Requests(_ns(np.cumsum(rng.exponential(1 / rate, count))), first,
                        np.full(count, size), read)
    workload = Workload(
        request_rate=rate, arrival_process="poisson", request_size=size,
        read_fraction=read_fraction, data_span=disk.capacity,
        run_length=run * size if run > 1 else None)
    return Case(workload.check(), requests)


def mixed(rng, disk, rate, count, arrival="poisson", share=1.0):
    """Not in the paper: two reads to one write, multiples of 4 KiB with mean 8 KiB (the OLTP of
    "Freeblock Scheduling Outside of Disk Firmware", 5.1), over the first `share` of the
    disk; Poisson or constant-open."""
    size = rng.geometric(0.5, count) * ALIGNED
    span = share * disk.capacity // ALIGNED * ALIGNED
    between = rng.exponential(1 / rate, count) if arrival == "poisson" else \
        np.full(count, 1 / rate)
    requests = Requests(_ns(np.cumsum(between)), starts(rng, ALIGNED, 0, span, size), size,
                        rng.random(count) < 2 / 3)
    workload = Workload(
        request_rate=rate, arrival_process=arrival, request_size=2 * ALIGNED,
        request_size_cv2=0.5, read_fraction=2 / 3, data_span=span)
    return Case(workload.check(), requests)


def parallel(rng, disk, run, read_fraction, count, rate=120.0, size=16384):
    """Table 3, the parallel scientific file system: constant arrivals, closed; read_fraction
    is 0 or 1."""
    requests = Requests(np.full(count, round(1e9 / rate)), _runs(rng, disk, count, run, size),
                        np.full(count, size), np.full(count, read_fraction == 1), closed=True)
    workload = Workload(
        request_rate=rate, arrival_process="constant-closed", request_size=size,
        read_fraction=read_fraction, data_span=disk.capacity,
        run_length=run * size if run > 1 else None)
    return Case(workload.check(), requests)


class Database(NamedTuple):
    """A column of table 4."""

    request_rate: float             # 1/s
    effective_request_rate: float
    request_size: float             # bytes
    read_fraction: float
    sparse_requests: float          # table 4's sparse_run_length: a number of requests
    sparse_run_fraction: float
    cylinders: float                # fraction


TPCC = {
    "stk.11": Database(13.32, 18.82, 2048, 0.79, 2.0, 0.17, 0.05),
    "log.14": Database(23.23, 31.81, 5126, 0.02, 30.2, 0.94, 0.22),
    "stk.17": Database(13.90, 17.28, 2052, 0.57, 2.1, 0.04, 0.02),
    "stk.20": Database(13.80, 16.39, 2049, 0.76, 2.0, 0.01, 0.05),
    "cst.24": Database(22.53, 29.62, 2048, 0.83, 2.0, 0.01, 0.05),
}


def _with_pauses(rng, arrivals, said):
    """Arrivals at effective_request_rate with pauses put in, so that they come at request_rate."""
    idle = arrivals[-1] * (said.effective_request_rate / said.request_rate - 1)
    pauses = np.zeros(len(arrivals))
    count = max(round(idle / PAUSE_MEAN), 1)
    at = rng.choice(np.arange(1, len(arrivals)), min(count, len(arrivals) - 1), replace=False)
    pauses[at] = PAUSE_LEAST + rng.exponential(PAUSE_MEAN - PAUSE_LEAST, len(at))
    return arrivals + np.cumsum(pauses)


def _stretches(rng, said, count):
    """Numbers of requests of sparse runs, and 1s for requests in none, in random order; at
    least `count` requests in all."""
    f, mean = said.sparse_run_fraction, said.sparse_requests
    sparse = f / (f + mean * (1 - f))
    draws = round(1.2 * count / (1 + sparse * (mean - 1))) + 100
    # two at least, each more as likely as the last
    more = rng.geometric(1 / (mean - 1), draws) + 1
    lengths = np.where(rng.random(draws) < sparse, more, 1)
    return lengths[:int(np.searchsorted(np.cumsum(lengths), count)) + 1]


def tpcc(rng, disk, name, count):
    """Tables 4 and 5. Poisson at effective_request_rate between pauses; sizes geometric in
    pages (of 2 KiB, or a sector if that is more) with table 4's mean; sparse runs of two
    requests at least, the next 0 to 2 pages on, all in one direction; the middle cylinders."""
    said = TPCC[name]
    page = max(DATABASE_PAGE, disk.sector)
    mean = said.request_size / DATABASE_PAGE
    lengths = _stretches(rng, said, count)
    number = int(lengths.sum())
    size = rng.geometric(1 / mean, number) * page
    step = size + rng.integers(0, HOLES, number) * page
    # bytes of its stretch before each request, and of the whole stretch
    begins = np.cumsum(lengths) - lengths
    passed = np.cumsum(step) - step
    before = passed - np.repeat(passed[begins], lengths)
    whole = np.add.reduceat(step, begins)
    span = said.cylinders * disk.capacity // disk.sector * disk.sector
    start = (disk.capacity - span) / 2 // disk.sector * disk.sector
    first = np.repeat(starts(rng, disk.sector, start, span, whole), lengths) + before
    read = np.repeat(rng.random(len(lengths)) < said.read_fraction, lengths)
    arrivals = np.cumsum(rng.exponential(1 / said.effective_request_rate, count))
    requests = Requests(_ns(_with_pauses(rng, arrivals, said)), first[:count], size[:count],
                        read[:count])
    hole = (HOLES - 1) / 2 * page
    workload = Workload(
        request_rate=said.request_rate, effective_request_rate=said.effective_request_rate,
        arrival_process="poisson", request_size=mean * page, request_size_cv2=1 - 1 / mean,
        read_fraction=said.read_fraction, data_span=span, data_start=start,
        requests_per_sparse_run=said.sparse_requests,
        sparse_run_length=said.sparse_requests * mean * page +
        (said.sparse_requests - 1) * hole, sparse_run_fraction=said.sparse_run_fraction)
    return Case(workload.check(), requests)


class Subtrace(NamedTuple):
    """A row of table 6, and its length: the paper says 53 to 444 s, not which is which, so
    they are spread over that range in order, by equal factors."""

    burst: int                  # requests
    read_fraction: float
    seconds: float


AS400 = tuple(Subtrace(burst, read, seconds) for (burst, read), seconds in zip(
    ((48, 0.67), (53, 0.53), (71, 0.51), (91, 0.52), (46, 0.59), (42, 0.52), (37, 0.57),
     (50, 0.47), (77, 0.42), (77, 0.38)), np.geomspace(53, 444, 10)))


def _sizes(burst):
    """Least and most requests of a burst of that mean."""
    least = round(burst * (1 - BURST_SPREAD))
    return least, 2 * burst - least


def _cycle(rng, said, size, begin):
    """Arrivals (s) of a burst, and of the strays after it."""
    cycle = said.seconds * said.burst / BURSTY / SUBTRACE
    burst = begin + np.cumsum(rng.exponential(BURST_SPACING, size)) - BURST_SPACING
    strays = rng.poisson(said.burst * (1 / BURSTY - 1))
    at = begin + cycle * (STRAYS_FROM + (1 - STRAYS_FROM) * (np.arange(strays) + 0.5) /
                          max(strays, 1))
    return np.concatenate((np.maximum(burst, begin), at)), begin + cycle


def _subtrace(rng, said, number, begin):
    """Arrivals (s) of the `number`-th repetition of a subtrace, and when it is over: whole
    bursts, in the long run as many as make a thousand requests each time."""
    least, most = _sizes(said.burst)
    each = SUBTRACE * BURSTY / said.burst
    parts = []
    for _ in range(round(number * each), round((number + 1) * each)):
        arrivals, begin = _cycle(rng, said, rng.integers(least, most + 1), begin)
        parts.append(arrivals)
    return np.concatenate(parts), begin


def as400_workload(disk, subtraces, size):
    """Attributes of subtraces of equally many requests each: bursts are counted, so the
    longer ones weigh less."""
    bursts = np.array([said.burst for said in subtraces], dtype=float)
    weight = (1 / bursts) / (1 / bursts).sum()
    width = np.array([np.diff(_sizes(said.burst))[0] + 1 for said in subtraces])
    mean = float(weight @ bursts)
    second = float(weight @ (bursts ** 2 + (width ** 2 - 1) / 12))
    return Workload(
        request_rate=SUBTRACE * len(subtraces) / sum(said.seconds for said in subtraces),
        arrival_process="bursty", request_size=size,
        read_fraction=float(np.mean([said.read_fraction for said in subtraces])),
        data_span=disk.capacity, requests_per_burst=mean, burst_cv2=second / mean ** 2 - 1,
        bursty_fraction=BURSTY, burst_rate=1 / BURST_SPACING, bursts_meet=0).check()


def as400(rng, disk, subtraces, repeats, size=4096):
    """Table 6: bursts, and strays between them, anywhere on the disk; the subtraces one after
    the other, `repeats` times. Of 4 KiB, the AS/400's page: with 3 ms between two requests of
    a burst the C2490A then takes the 16 ms or so longer for each that table 6's times are
    per half a burst."""
    arrivals, reads, begin = [], [], 0.0
    for number in range(repeats):
        for said in subtraces:
            came, begin = _subtrace(rng, said, number, begin)
            arrivals.append(came)
            reads.append(rng.random(len(came)) < said.read_fraction)
    ns = np.sort(_ns(np.concatenate(arrivals)))
    count = len(ns)
    requests = Requests(ns, _runs(rng, disk, count, 1, size), np.full(count, size),
                        np.concatenate(reads))
    return Case(as400_workload(disk, subtraces, size), requests)
