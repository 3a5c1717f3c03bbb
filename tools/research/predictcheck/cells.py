# SPDX-License-Identifier: GPL-2.0
"""What is compared: the cells of the paper's tables and of figure 6, each a workload on a
drive, and what became of each: its row."""

import time
import zlib
from typing import NamedTuple

import numpy as np

from freeblock.prediction import bands, compose, workloads
from . import days, devices, tracecells, unseen, verdict, writecells

# Utilisations of figure 6, and requests measured at each: delays vary the more the
# nearer it is to 1
SWEEP = {0.1: 100000, 0.2: 100000, 0.3: 100000, 0.4: 200000, 0.5: 200000, 0.6: 200000,
         0.7: 400000, 0.8: 600000}
POLICIES = ("fcfs", "look", "clook", "sstf", "sptf")
GOAL_RUNS = (1, 4)
MORE_RUNS = (2, 8)              # of the paper's drive alone; the paper shows 1 and 4
# Rounds, and requests in each, that find the rate for a utilisation
ROUNDS, ROUND = 4, 8000
TABLE_REQUESTS = 40000
DATABASE_REQUESTS = 100000
REPEATS, REPEATS_ALL = 60, 20   # of a subtrace, of all ten
# The paper's errors, %: tables 3, 5 and 6; of figure 6 only the largest is known
TABLE_3 = {(1, 1): 0.3, (2, 1): 5.1, (64, 1): 0.3, (1, 0): 0.2, (2, 0): 1.0, (64, 0): 2.3}
TABLE_3_RATES = (120, 100, 160)
TABLE_3_GIVEN = 120             # the rate that the paper's errors are of
TABLE_5 = {"stk.11": 7.5, "log.14": 15.7, "stk.17": 0.1, "stk.20": 4.4, "cst.24": 2.5}
TABLE_6 = (2.3, 4.9, 4.3, 1.9, 1.9, 1.1, 6.5, 1.4, 6.1, 4.1)
TABLE_6_ALL = 0.7
FIGURE_6 = {("sstf", 1, 0.8): 29.0}
GROUPS = ("table 3", "table 5", "table 6", "figure 6", "beyond the paper")
# Beyond the paper: (policies, utilisation, arrivals, share of the disk)
BEYOND = ((POLICIES, 0.4, "poisson", 1.0), (POLICIES, 0.7, "poisson", 1.0),
          (("fcfs", "sptf"), 0.7, "poisson", 0.1), (("fcfs", "sstf"), 0.7, "constant-open", 1.0))
BEYOND_REQUESTS = 300000


class Cell(NamedTuple):
    """A comparison to be made. what: arguments of its group's generator."""

    group: str
    drive: devices.Measured
    label: str
    what: tuple
    policy: str = "fcfs"
    paper_error_pct: float = None
    goal_pct: float = verdict.EACH_PCT

    @property
    def name(self):
        """Of its row."""
        return "%s, %s, %s" % (self.group, self.drive.name, self.label)


def table_3(drive):
    """Parallel scientific file system."""
    for rate in TABLE_3_RATES:
        for (run, read), paper in TABLE_3.items():
            yield Cell("table 3", drive, "%d/s, runs of %d, %s" % (
                rate, run, "reads" if read else "writes"), (run, read, rate),
                paper_error_pct=paper if rate == TABLE_3_GIVEN else None)


def table_5(drive):
    """TPC-C, of table 4's attributes."""
    for name, paper in TABLE_5.items():
        yield Cell("table 5", drive, name, (name,), paper_error_pct=paper)


def table_6(drive):
    """AS/400: the subtraces, and all of them."""
    for number, paper in enumerate(TABLE_6):
        yield Cell("table 6", drive, "subtrace %d" % number, (number, number + 1, REPEATS),
                   paper_error_pct=paper)
    yield Cell("table 6", drive, "all", (0, len(TABLE_6), REPEATS_ALL),
               paper_error_pct=TABLE_6_ALL)


def figure_6(drive):
    """Poisson, by policy, run length and utilisation."""
    runs = GOAL_RUNS + MORE_RUNS * (drive.name == devices.PAPERS_DRIVE)
    for run in runs:
        for policy in POLICIES:
            for share in SWEEP:
                yield Cell("figure 6", drive, "runs of %d, %s, %d %%" % (
                    run, policy, round(100 * share)), (run, share), policy,
                    FIGURE_6.get((policy, run, share)),
                    verdict.SWEEP_PCT if run in GOAL_RUNS else None)


def beyond(drive):
    """What the paper does not have: reads and writes of mixed sizes."""
    for policies, share, arrival, part in BEYOND:
        for policy in policies:
            yield Cell("beyond the paper", drive, "%s, %s, %d %% of the disk, %d %%" % (
                arrival, policy, round(100 * part), round(100 * share)), (arrival, part, share),
                policy)


TABLES = {"table 3": table_3, "table 5": table_5, "table 6": table_6, "figure 6": figure_6,
          "beyond the paper": beyond}


def random_cells(number, seed, out):
    """So many drives and workloads drawn at random (unseen.py)."""
    bases = unseen.drives(out)
    for index in range(number):
        drive, said = unseen.drawn(index, seed, bases, out)
        yield Cell(unseen.GROUP, drive, said.label, said, said.policy, goal_pct=None)


def trace_cells(drives, out):
    """Traces (tracecells.py)."""
    for drive, label, what in tracecells.all_of(drives, out):
        yield Cell(tracecells.GROUP, drive, label, what, goal_pct=None)


def write_cells(names, out):
    """Write caches, off and on (writecells.py)."""
    for drive, label, what, policy in writecells.all_of(names, out):
        yield Cell(writecells.GROUP, drive, label, what, policy, goal_pct=writecells.EACH_PCT)


def whole_cells(names, out):
    """Whole scans (days.py)."""
    for drive, label, what in days.all_of(names, out):
        yield Cell(days.GROUP, drive, label, what, "auto", goal_pct=days.EACH_PCT)


def all_cells(drives, groups=GROUPS):
    """The cells of these groups on these drives."""
    return [cell for drive in drives for group in groups for cell in TABLES[group](drive)]


def _poisson(cell, rng, rate, count):
    """Figure 6's workload at a rate."""
    return workloads.poisson(rng, cell.drive.disk, rate, count, cell.what[0])


def _mixed(cell, rng, rate, count):
    """That beyond the paper."""
    arrival, part, _ = cell.what
    return workloads.mixed(rng, cell.drive.disk, rate, count, arrival, part)


def _at_utilisation(cell, rng, generate, count):
    """(workload and requests, how many only warm up) of the rate that gives the utilisation
    wanted: services are measured at a rate, the rate is set by them, and so on."""
    rate = 1.0
    for _ in range(ROUNDS):
        said = devices.measure(cell.drive, generate(cell, rng, rate, ROUND), cell.policy)
        rate = cell.what[-1] / said["service_ms"] * 1e3
    return generate(cell, rng, rate, count), count // 20


def make_case(cell, rng):
    """(its workload and requests, how many of these only warm the drive up)"""
    disk = cell.drive.disk
    if cell.group == unseen.GROUP:
        return unseen.case_of(rng, cell.drive, cell.what)
    if cell.group == tracecells.GROUP:
        return tracecells.case_of(rng, cell.drive, cell.what), 0
    if cell.group == writecells.GROUP:
        return writecells.case_of(rng, cell.drive, cell.what), writecells.WARM
    if cell.group == "figure 6":
        return _at_utilisation(cell, rng, _poisson, SWEEP[cell.what[-1]])
    if cell.group == "beyond the paper":
        return _at_utilisation(cell, rng, _mixed, BEYOND_REQUESTS)
    if cell.group == "table 3":
        run, read, rate = cell.what
        return workloads.parallel(rng, disk, run, read, TABLE_REQUESTS, rate), 0
    if cell.group == "table 5":
        return workloads.tpcc(rng, disk, cell.what[0], DATABASE_REQUESTS), 0
    first, end, repeats = cell.what
    return workloads.as400(rng, disk, workloads.AS400[first:end], repeats), 0


def standard_error(batches):
    """Of the mean of equal stretches' means."""
    return float(np.std(batches, ddof=1) / np.sqrt(len(batches)))


def ms(seconds):
    """None stays None."""
    return None if seconds is None else 1e3 * seconds


def error_pct(measured, predicted):
    """Of a prediction; None if there is none."""
    return None if predicted is None else 100 * (predicted / measured - 1)


def timed(predict, *args):
    """(its result, ms of the processor's time that it took: that does not depend on what else
    the machine does)"""
    began = time.process_time()
    result = predict(*args)
    return result, 1e3 * (time.process_time() - began)


def compare(cell, seed):
    """Measure and predict: the cell's row. Its requests depend on seed and name alone."""
    if cell.group == days.GROUP:
        return days.compare(cell, seed)
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode())])
    case, skip = make_case(cell, rng)
    said = devices.measure(cell.drive, case, cell.policy, skip)
    predicted, took = timed(compose.predict, cell.drive.device, case.workload, cell.policy)
    row = {
        "group": cell.group, "drive": cell.drive.name, "name": cell.name, "label": cell.label,
        "policy": cell.policy, "measured_ms": said["response_ms"],
        "measured_se_ms": standard_error(said["response_batches_ms"]),
        "predicted_ms": ms(predicted.response_time),
        "kind": bands.kind(case.workload, predicted),
        "unknown": bands.doubtful(case.workload, predicted),
        "error_pct": error_pct(said["response_ms"], ms(predicted.response_time)),
        "paper_error_pct": cell.paper_error_pct, "goal_pct": cell.goal_pct,
        "measured_service_ms": said["service_ms"],
        "predicted_service_ms": ms(predicted.service_time),
        "measured_delay_ms": said["delay_ms"], "predicted_delay_ms": ms(predicted.queue_delay),
        "measured_utilisation": said["utilisation"],
        "predicted_utilisation": predicted.utilisation, "saturated": predicted.saturated,
        "measured_hit_share": said["hits"] / said["requests"],
        "measured_partial_hit_share": said["partial_hits"] / said["requests"],
        "predicted_miss_share": predicted.miss_prob,
        "predicted_partial_hit_share": predicted.partial_hit_prob,
        "request_rate": case.workload.request_rate, "requests": said["requests"],
        "what": list(cell.what), "prediction_ms": took,
    }
    row.update(_apart(said, case.workload, predicted))
    if predicted.writes_kept:
        row["measured_utilisation"] = said["medium_utilisation"]
    return row


def _apart(said, workload, predicted):
    """Of a row: reads and writes apart, and the bands."""
    found = {}
    for name, of, told in (("", bands.ALL, predicted.response_time),
                           ("read_", bands.READS, predicted.read_response),
                           ("write_", bands.WRITES, predicted.write_response)):
        low, high = bands.response(workload, predicted, of) or (None, None)
        found.update({name + "low_ms": ms(low), name + "high_ms": ms(high)})
        if name:
            found["measured_%sms" % name] = said[name + "response_ms"]
            found["predicted_%sms" % name] = ms(told)
    return found
