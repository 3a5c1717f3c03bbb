# SPDX-License-Identifier: GPL-2.0
"""What is compared: the workloads of the analytic model's paper (section 5: tables 3 to 6, figure
6) served by the drive's engine with a queue in the driver, and free bandwidth with the module's
defaults beside the simulator of the scheduler. Predictions get the drive's description, and nothing
of what was measured. The toy drive and nearline24 were not looked at while free bandwidth's model
was made.
"""

import functools
import json
import os
import statistics
import subprocess
import time
import zlib
from typing import NamedTuple

import numpy as np

from freeblock import ToolError, sim
from freeblock.base import safe_file
from freeblock.base.helpers import TOP
from freeblock.formats import fbdrive
from freeblock.prediction import answer, compose, freeband
from freeblock.prediction.device import Device
from freeblock.prediction.workload import Workload
from .. import replay
from . import workloads

# The paper's cache (section 5): one segment of 128 KiB, write-through; reading ahead goes on
# until it is full, and (4.2) only a miss starts it
SEGMENT = 128 * 1024            # bytes
AS_PAPER = ("cache 1 %d 1", "write_cache off", "read_ahead segment", "read_ahead_on_hit off",
            "keep_passing off", "discard_read off")
# name: (description, cached as the paper's); hp_c2490a is the drive of the paper's tables 4 and 5
DRIVES = {"hp_c2490a": (os.path.join(TOP, "bench/drives/hp_c2490a.fbdrive"), True),
          "atlas10k-paper": ("atlas10k", True), "atlas10k": ("atlas10k", False),
          "nearline16-paper": ("nearline16", True), "nearline16": ("nearline16", False)}

# Utilisations of figure 6, and requests measured at each: delays vary the more the
# nearer it is to 1
SWEEP = {0.2: 40000, 0.4: 80000, 0.6: 100000, 0.8: 300000}
POLICIES = compose.ALGORITHMS
# Rounds, and requests in each, that find the rate for a utilisation
ROUNDS, ROUND = 4, 8000
TABLE_REQUESTS, DATABASE_REQUESTS, MIXED_REQUESTS = 40000, 100000, 200000
REPEATS, REPEATS_ALL = 60, 20   # of a subtrace, of all ten
# Beyond the paper, reads and writes of mixed sizes: (policies, utilisation, arrivals, share of the
# disk)
BEYOND = ((POLICIES, 0.4, "poisson", 1.0), (POLICIES, 0.7, "poisson", 1.0),
          (("fcfs", "sptf"), 0.7, "poisson", 0.1), (("fcfs", "sstf"), 0.7, "constant-open", 1.0))

# Arrivals per second at 30, 60 and 86 % of what the drives do
RATES = {"atlas10k": (40, 84, 130), "cheetah9": (42, 90, 135), "nearline16": (30, 62, 95),
         "atlas10k-hs08": (40, 84, 130), "toy": (70, 140, 200), "nearline24": (38, 75, 108)}
OUTSTANDING = (5, 10, 20)
SECONDS = 600                   # disk time, of which conservatism learns for some
GAPS, BOTH = "gaps", "gaps and idle time"


class Cell(NamedTuple):
    """A comparison to be made. what: arguments of its group's generator; of free bandwidth the
    simulator's load."""

    group: str
    drive: str
    label: str
    what: tuple
    policy: str = "fcfs"

    @property
    def name(self):
        """Of its row."""
        return "%s%s, %s, %s" % ("free, " * (self.group in (GAPS, BOTH)), self.group, self.drive,
                                 self.label)


def all_cells():
    """Every cell."""
    found = []
    for drive in DRIVES:
        found += [Cell("table 3", drive, "%d/s, runs of %d, %s" % (
            rate, run, "reads" if read else "writes"), (run, read, rate))
            for rate in (120, 100, 160) for read in (1, 0) for run in (1, 2, 64)]
        found += [Cell("table 5", drive, name, (name,)) for name in workloads.TPCC]
        found += [Cell("table 6", drive, "subtrace %d" % n, (n, n + 1, REPEATS))
                  for n in range(len(workloads.AS400))]
        found.append(Cell("table 6", drive, "all", (0, len(workloads.AS400), REPEATS_ALL)))
        found += [Cell("figure 6", drive, "runs of %d, %s, %d %%" % (
            run, policy, round(100 * share)), (run, share), policy)
            for run in (1, 4) for policy in POLICIES for share in SWEEP]
        found += [Cell("beyond the paper", drive, "%s, %s, %d %% of the disk, %d %%" % (
            arrival, policy, round(100 * part), round(100 * share)), (arrival, part, share), policy)
            for policies, share, arrival, part in BEYOND for policy in policies]
    # closed loops that do not think are never idle
    return found + [Cell(group, drive, "%s %s" % load, load) for drive in RATES
                    for group in (GAPS, BOTH)
                    for load in [("rate", rate) for rate in RATES[drive]] + [
                        ("outstanding", count) for count in OUTSTANDING] * (group == GAPS)]


# ---- the paper's workloads, on the drive's engine


@functools.lru_cache()
def described(name, out):
    """(path of a drive's description, with the paper's cache if it has that; workloads.Disk;
    Device)."""
    source, cached = DRIVES[name]
    source = sim.drive_file(source)
    sector = int(fbdrive.records(source)[0].get("sector_bytes", ["512"])[0])
    with open(source, encoding="utf-8") as file:
        lines = [file.read().rstrip("\n")]
    if cached:
        lines += [line % (SEGMENT // sector) if "%" in line else line for line in AS_PAPER]
    path = os.path.join(out, name + ".fbdrive")
    with safe_file.whole_file(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
    return path, workloads.Disk(float(replay.drive_info(path)["sectors"] * sector), sector), \
        Device.from_drive(path)


def measure(path, disk, case, policy, skip=0):
    """What `mechdisk-host queue` makes of a case's requests."""
    words = [replay.HOST, "queue", path, "--policy", policy, "--skip", str(skip)]
    words += ["--closed"] * case.requests.closed
    ran = subprocess.run(words, check=False, capture_output=True, text=True,
                         input=case.requests.records(disk))
    if ran.returncode:
        raise ToolError(ran.stderr.strip().replace("mechdisk-host: ", "", 1))
    return json.loads(ran.stdout)


def _at_utilisation(cell, path, disk, rng, count):
    """The workload and requests of the rate that gives the utilisation wanted: services are
    measured at a rate, the rate is set by them, and so on."""
    def generate(rate, number):
        if cell.group == "figure 6":
            return workloads.poisson(rng, disk, rate, number, cell.what[0])
        return workloads.mixed(rng, disk, rate, number, *cell.what[:2])

    rate = 1.0
    for _ in range(ROUNDS):
        said = measure(path, disk, generate(rate, ROUND), cell.policy)
        rate = cell.what[-1] / said["service_ms"] * 1e3
    return generate(rate, count)


def make_case(cell, path, disk, rng):
    """(its workload and requests, how many of these only warm the drive up)"""
    if cell.group in ("figure 6", "beyond the paper"):
        count = SWEEP[cell.what[-1]] if cell.group == "figure 6" else MIXED_REQUESTS
        return _at_utilisation(cell, path, disk, rng, count), count // 20
    if cell.group == "table 3":
        run, read, rate = cell.what
        return workloads.parallel(rng, disk, run, read, TABLE_REQUESTS, rate), 0
    if cell.group == "table 5":
        return workloads.tpcc(rng, disk, cell.what[0], DATABASE_REQUESTS), 0
    first, end, repeats = cell.what
    return workloads.as400(rng, disk, workloads.AS400[first:end], repeats), 0


def _of_engine(cell, seed, out):
    """A seed's figures; requests depend on seed and name alone."""
    path, disk, device = described(cell.drive, out)
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode())])
    case, skip = make_case(cell, path, disk, rng)
    said = measure(path, disk, case, cell.policy, skip)
    began = time.process_time()
    found = compose.predict(device, case.workload, cell.policy)
    return {"measured": said["response_ms"], "predicted": 1e3 * (found.response_time or np.inf),
            "service_error_pct": 100 * (1e3 * found.service_time / said["service_ms"] - 1),
            "prediction_ms": 1e3 * (time.process_time() - began),
            "unknown": compose.doubtful(case.workload, found)}


# ---- free bandwidth, in the simulator


def _free(cell):
    """The answer's "free". Requests are the simulator's by default; of a closed loop the rate is a
    result."""
    device = Device.from_drive(sim.drive_file(cell.drive))
    kind, count = cell.what
    load = Workload(float(count) if kind == "rate" else 1.0,
                    "poisson" if kind == "rate" else "closed", 8192, 2 / 3, device.capacity,
                    request_size_cv2=0.5, outstanding=None if kind == "rate" else count)
    found = freeband.free_bandwidth(device, load, answer.with_buffers(
        answer.settings().free, device))
    nearest = compose.predict(device, load, "sptf")
    return answer.free_json(found, device, answer.stand_in(load, nearest.service_time), nearest)


def _of_simulator(cell, seed, _out):
    """A seed's figures."""
    ran = sim.simulate(drive=cell.drive, task="fresh", lift="all", seconds=str(SECONDS),
                       seed=str(seed), idle="off" if cell.group == GAPS else "on",
                       **{cell.what[0]: str(cell.what[1])})
    told = _free(cell)
    return {"measured": ran["free_mb_s"],
            "predicted": told["gaps_mb_s" if cell.group == GAPS else "fresh_mb_s"],
            "response_error_pct": 100 * (told["response_ms"] / ran["response_ms"]["mean"] - 1),
            "unknown": None}


def compare(cell, seeds, out):
    """Measure and predict: the cell's row, of the mean over seeds. measured, predicted: ms, or MB/s
    of free bandwidth."""
    ran = [(_of_simulator if cell.group in (GAPS, BOTH) else _of_engine)(cell, seed, out)
           for seed in seeds]
    errors = [100 * (each["predicted"] / each["measured"] - 1) for each in ran]
    return {"group": cell.group, "drive": cell.drive, "name": cell.name, "label": cell.label,
            "policy": cell.policy, "seeds": list(seeds), "error_pct": statistics.mean(errors),
            "error_se_pct": statistics.stdev(errors) / len(errors) ** 0.5
            if len(errors) > 1 else None,
            "unknown": next(filter(None, (each["unknown"] for each in ran)), None),
            **{key: statistics.mean(each[key] for each in ran) for key in ran[0]
               if key != "unknown"}}


# ---- what rows come to

# How far off, to either side, each row of a group may be, %, and a group's median, without and with
# its sign, as a model that is wrong one way shows; ms of a prediction, median
EACH_PCT = {"table 3": 10.0, "table 5": 10.0, "table 6": 10.0, "figure 6": 12.0,
            "beyond the paper": 10.0, GAPS: 20.0, BOTH: 20.0}
MEDIAN_PCT, SIGNED_PCT, FREE_MEDIAN_PCT = 3.0, 2.0, 10.0
TIME_MS = 5.0


def verdicts(rows):
    """[(goal, limit, value, rows)] of all goals that rows are there for. Rows that are unknown have
    none."""
    found = []
    for group in dict.fromkeys(row["group"] for row in rows):
        errors = [row["error_pct"] for row in rows if row["group"] == group and not row["unknown"]]
        free = group in (GAPS, BOTH)
        if errors:
            found += [("%s, each, %%" % group, EACH_PCT[group], max(map(abs, errors)), len(errors)),
                      ("%s, median, %%" % group, FREE_MEDIAN_PCT if free else MEDIAN_PCT,
                       statistics.median(map(abs, errors)), len(errors)),
                      ("%s, median with its sign, %%" % group,
                       FREE_MEDIAN_PCT if free else SIGNED_PCT,
                       abs(statistics.median(errors)), len(errors))]
    timed = [row["prediction_ms"] for row in rows if "prediction_ms" in row]
    return found + [("ms of one prediction, processor, median", TIME_MS, statistics.median(timed),
                     len(timed))] * bool(timed)
