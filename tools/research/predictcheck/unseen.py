# SPDX-License-Identifier: GPL-2.0
"""Drives and workloads drawn at random, that nobody chose: what predictions are worth where
nothing was tuned for them."""

import os
from typing import NamedTuple

import numpy as np

from freeblock import ToolError, sim
from freeblock.prediction import workloads
from freeblock.prediction.workload import Workload
from . import devices

GROUP = "random"
POLICIES = ("fcfs", "look", "clook", "sstf", "sptf")
ARRIVALS = ("poisson", "poisson", "constant-open", "bursty", "constant-closed", "closed")
DRIVES = ("atlas10k", "atlas10k-hs08", "cheetah9", "toy", "archive8", "nearline16",
          "nearline16-512e", "nearline16-serpentine", "nearline16-surfaces", "nearline24")
CACHES = ("none", "track", "cylinder", "segment", "stream")
SIZES = (512, 1024, 2048, 4096, 8192, 16384, 65536, 131072, 1048576)     # bytes
PAGE = workloads.ALIGNED
UTILISATION = 0.05, 0.85
BURSTY_UTILISATION = 0.05, 0.6
LEAST_SPAN = 0.01
MOST_RUN = 128                  # requests
MOST_PROCESSES = 32
REQUESTS, MOST_REQUESTS = 30000, 200000
ROUNDS, ROUND = 3, 3000
WARM = 20                       # one of so many requests warms the drive up


class Draw(NamedTuple):
    """A case to be made at any rate. sizes: "fixed", "pages"; places: "random", "runs",
    "sparse", "stride"."""

    policy: str
    arrival: str
    utilisation: float
    sizes: str
    size: float                 # bytes, mean
    read: float
    start: float                # byte
    span: float                 # bytes
    places: str
    run: float                  # requests of a run, mean
    even: bool                  # all runs are as long
    local: float                # share of the requests in runs
    stride: float               # of the span
    hole: int                   # bytes, mean
    burst: float                # requests, mean
    bursty: float               # share of the requests in bursts
    spacing: float              # of a service, between two requests of a burst
    processes: int
    think: float                # s
    steady: bool                # .. always as long

    @property
    def label(self):
        """For people."""
        words = ["%s, %s" % (self.arrival, self.policy), "%s %d B" % (self.sizes, self.size),
                 "%d %% reads" % round(100 * self.read), self.places]
        if self.places != "random":
            words[-1] += " of %.1f, %d %%" % (self.run, round(100 * self.local))
        if self.arrival == "closed":
            words[0] += ", %d, %.1f ms%s" % (self.processes, 1e3 * self.think,
                                             " always" * self.steady)
        elif self.arrival == "bursty":
            words[0] += ", of %.0f, %d %%" % (self.burst, round(100 * self.bursty))
        return "; ".join(words)


def _log_uniform(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_drive(rng, bases):
    """(a base: name and path; lines that change it)"""
    base = bases[rng.integers(len(bases))]
    lines = ["noise %s" % rng.choice(["off", "laplace 30000", "laplace 150000"]),
             "jitter_ns %d" % rng.choice([0, 20000, 100000]),
             "zero_latency %s" % rng.choice(["on", "off"])]
    with open(base[1], encoding="utf-8") as file:
        text = file.read()
    sector = 4096 if "sector_bytes 4096" in text else 512
    if "overhead_ns read_miss" not in text:
        lines.append("command_overhead_ns %d %d" % tuple(rng.integers(0, 1000000, 2)))
    back = False
    if rng.random() < 0.6:
        segment = int(rng.choice([131072, 524288, 2097152])) // sector
        ahead = str(rng.choice(CACHES))
        limited = ahead == "segment" and rng.random() < 0.5
        count, back = int(rng.choice([1, 4, 16])), rng.random() < 0.5
        count *= 1 + back
        lines += ["cache %d %d %d" % (count, segment, -(-count // 2)),
                  "read_ahead %s" % ahead + " %d" % (segment // 2) * limited,
                  "read_ahead_on_hit %s" % rng.choice(["on", "off"])]
    lines.append("write_cache %s" % ("back" if back else "off"))
    if back:
        lines += ["destage %s" % rng.choice(["eager", "eager", "idle"]),
                  "destage_delay_ns %d" % rng.choice([0, 0, 0, 20000000]),
                  "append_writes %s" % rng.choice(["on", "off"]),
                  "firmware %s" % rng.choice(["sptf", "sptf", "clook", "fcfs"])]
    return base, lines


def draw(rng, capacity, sector):
    """A Draw for a disk of that capacity, of sectors of so many bytes."""
    sizes = str(rng.choice(["fixed", "fixed", "pages"]))
    size = float(max(int(rng.choice(SIZES)), sector)) if sizes == "fixed" else \
        float(PAGE * _log_uniform(rng, 1.3, 32))
    places = str(rng.choice(["random", "random", "runs", "runs", "sparse", "stride"]))
    arrival = str(rng.choice(ARRIVALS))
    span = _log_uniform(rng, LEAST_SPAN, 1) * capacity // PAGE * PAGE
    low, high = BURSTY_UTILISATION if arrival == "bursty" else UTILISATION
    # a run is no longer than a tenth of the span
    longest = max(min(MOST_RUN, span / size / 10), 2)
    return Draw(
        policy=str(rng.choice(POLICIES)), arrival=arrival,
        utilisation=float(rng.uniform(low, high)), sizes=sizes, size=size,
        read=float(rng.choice([1, 0, 2 / 3, rng.random()])),
        start=float(rng.uniform(0, capacity - span) // PAGE * PAGE), span=span, places=places,
        run=1.0 if places == "random" else float(round(_log_uniform(rng, 2, longest))),
        even=bool(rng.random() < 0.5), local=float(rng.choice([1, rng.uniform(0.2, 1)])),
        stride=_log_uniform(rng, 0.003, 0.2), hole=int(rng.choice([1, 4, 16])) * PAGE,
        burst=_log_uniform(rng, 2, 60), bursty=float(rng.choice([1, 0.9, 0.5])),
        spacing=_log_uniform(rng, 0.05, 1), processes=int(_log_uniform(rng, 1, MOST_PROCESSES)),
        think=float(rng.choice([0, 0.003, 0.03])), steady=bool(rng.random() < 0.5))


def _lengths(rng, said, count):
    """Requests of each stretch: of runs, and 1s for those in none; `count` at least in all."""
    runs = said.local / (said.local + said.run * (1 - said.local))
    number = round(1.5 * count / (1 + runs * (said.run - 1))) + 200
    long = np.full(number, round(said.run)) if said.even or said.run <= 2 else \
        rng.geometric(1 / (said.run - 1), number) + 1
    lengths = np.where(rng.random(number) < runs, long, 1)
    return lengths[:int(np.searchsorted(np.cumsum(lengths), count)) + 1]


def _size(rng, said, count):
    """(bytes of each request, their squared coefficient of variation)"""
    if said.sizes == "fixed":
        return np.full(count, int(said.size)), 0.0
    mean = said.size / PAGE
    return rng.geometric(1 / mean, count) * PAGE, 1 - 1 / mean


def _walk(rng, said, unit, whole):
    """First bytes of stretches whose starts are said.stride of the span apart, in the mean,
    back and forth: their distances are as eq. 4's of n = 1 / stride - 2."""
    step = rng.beta(1, 1 / said.stride - 1, len(whole)) * rng.choice([-1, 1], len(whole))
    at = np.abs((0.5 + np.cumsum(step)) % 2)
    at = np.minimum(at, 2 - at)             # reflected at both ends
    return ((said.start + at * (said.span - whole)) // unit * unit).astype(np.int64)


def _stretches(rng, said, count):
    """(the Draw as it is made, requests of each stretch, bytes of each request, their cv2, bytes
    behind each request, of each stretch with these)"""
    while True:
        lengths = np.ones(count, int) if said.run <= 1 else _lengths(rng, said, count)
        number = int(lengths.sum())
        size, cv2 = _size(rng, said, number)
        hole = rng.integers(0, 2 * said.hole // PAGE + 1, number) * PAGE * \
            (said.places == "sparse")
        whole = np.add.reduceat(size + hole, np.cumsum(lengths) - lengths)
        if whole.max() <= said.span:
            return said, lengths, size, cv2, hole, whole
        # one in some thousand Draws: a long run with long holes, in a short span
        said = said._replace(run=float(max(said.run // 2, 1)))


def _places(rng, said, disk, count):
    """(first bytes, sizes, reads, attributes)"""
    said, lengths, size, cv2, hole, whole = _stretches(rng, said, count)
    unit = PAGE if said.size % PAGE == 0 or said.sizes == "pages" else disk.sector
    begins = np.cumsum(lengths) - lengths
    passed = np.cumsum(size + hole) - size - hole
    before = passed - np.repeat(passed[begins], lengths)
    starts = _walk(rng, said, unit, whole) if said.places == "stride" else \
        workloads.starts(rng, unit, said.start, said.span, whole)
    read = np.repeat(rng.random(len(lengths)) < said.read, lengths)
    told = {"request_size": float(said.size), "request_size_cv2": cv2,
            "read_fraction": said.read, "data_span": said.span, "data_start": said.start}
    if said.places == "sparse":
        told.update(requests_per_sparse_run=said.run, sparse_run_fraction=said.local,
                    sparse_run_length=said.run * said.size + (said.run - 1) * said.hole)
    elif said.run > 1:
        told.update(run_length=said.run * said.size, locality_fraction=said.local)
    if said.places == "stride":
        told["run_stride"] = said.stride * said.span
    return (np.repeat(starts, lengths) + before)[:count], size[:count], read[:count], told


def _bursty(rng, said, rate, spacing, count):
    """(arrivals (s), attributes): bursts and strays, each by a Poisson process."""
    number = round(count * said.bursty / said.burst) + 1
    least = max(round(said.burst / 2), 1)
    sizes = rng.integers(least, max(round(2 * said.burst) - least, least) + 1, number)
    length = count / rate
    first = np.repeat(np.sort(rng.uniform(0, length, number)), sizes)
    gaps = rng.exponential(spacing, len(first))
    begins = np.cumsum(sizes) - sizes
    gaps[begins] = 0
    within = np.cumsum(gaps) - np.repeat(np.cumsum(gaps)[begins], sizes)
    strays = rng.uniform(0, length, max(count - len(first), 0))
    at = np.sort(np.concatenate((first + within, strays)))[:count]
    mean = float(sizes.mean())
    return at, {"request_rate": len(at) / float(at[-1]), "requests_per_burst": mean,
                "burst_cv2": float(sizes.var() / mean ** 2), "burst_rate": 1 / spacing,
                "bursty_fraction": min(len(first) / (len(first) + len(strays)), 1.0)}


def make(rng, said, disk, rate, spacing, count):
    """A workloads.Case of a Draw."""
    first, size, read, told = _places(rng, said, disk, count)
    told.update(request_rate=rate, arrival_process=said.arrival)
    ns = np.full(count, 1e9 / rate)
    if said.arrival == "poisson":
        ns = np.cumsum(rng.exponential(1e9 / rate, count))
    elif said.arrival == "constant-open":
        ns = np.cumsum(ns)
    elif said.arrival == "bursty":
        at, burst = _bursty(rng, said, rate, spacing, count)
        ns = at * 1e9
        told.update(burst)
        first, size, read = first[:len(ns)], size[:len(ns)], read[:len(ns)]
    elif said.arrival == "closed":
        ns = np.full(count, said.think * 1e9) if said.steady else \
            rng.exponential(said.think * 1e9, count)
        told.update(outstanding=said.processes, think_time=said.think,
                    think_cv2=float(not said.steady and said.think > 0))
    requests = workloads.Requests(np.round(ns).astype(np.int64), first, size, read,
                                  said.arrival == "constant-closed",
                                  said.processes if said.arrival == "closed" else 0)
    return workloads.Case(Workload(**told).check(), requests)


def _service(ran):
    """s of work for a request: at the drive, or of the mechanism, where writes are put on the
    medium after they are reported."""
    return max(ran["service_ms"] / 1e3, ran["medium_utilisation"] / ran["requests_per_s"])


def case_of(rng, drive, said):
    """(Case at the utilisation wanted, how many requests only warm the drive up)"""
    rate, spacing = 1.0, 0.0
    for number in range(ROUNDS if said.arrival != "closed" else 0):
        case = make(rng, said._replace(arrival="constant-closed" if not number else said.arrival),
                    drive.disk, rate, spacing, ROUND)
        service = _service(devices.measure(drive, case, said.policy))
        rate, spacing = said.utilisation / service, said.spacing * service
    count = min(round(REQUESTS / (1 - min(said.utilisation, 0.84))), MOST_REQUESTS)
    while True:
        case = make(rng, said, drive.disk, rate, spacing, count)
        try:
            devices.measure(drive, case, said.policy)
            return case, count // WARM
        except ToolError as error:
            # long runs of slow requests: the queue grows as long as one lasts
            if "requests wait" not in str(error):
                raise
            rate /= 2


def drives(out):
    """(name, path) of those there are: ours, and the real ones if their facts are at hand."""
    return [(name, sim.drive_file(name)) for name in DRIVES] + devices.real(out)


def drawn(number, seed, bases, out):
    """The drive and the Draw of a number."""
    rng = np.random.default_rng([seed, number])
    base, lines = draw_drive(rng, bases)
    drive = devices.changed(base[1], "random-%d-%d-%s" % (seed, number, base[0]), lines,
                            os.path.join(out, GROUP))
    return drive, draw(rng, *drive.disk)
