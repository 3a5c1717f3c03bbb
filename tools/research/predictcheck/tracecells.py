# SPDX-License-Identifier: GPL-2.0
"""Traces: the attributes that characterise.py finds, and the drive engine with the very requests.

Of real drives (one request at a time, with think times; what the drive itself took stands in the
row's name), like those of the scrubbing paper, like fio's, and with heavy tails.
"""

import os

import numpy as np

from freeblock.prediction import characterise, compose, workloads
from freeblock.prediction.workload import Workload
from freeblock.tracefile import make_chunk
from .. import fidelity, synthetic, traces
from . import devices

GROUP = "traces"
SECTOR = characterise.SECTOR
PAGE = workloads.ALIGNED
# Days of some 20,000 to 40,000 requests
SCRUBBED = {"c6t8d0": 0.02, "usr1": 0.005, "prn1": 0.02}
REQUESTS = 30000
BUSY = 0.4                      # of the time, were all requests random
TAIL = 1.5                      # of Pareto times between arrivals: without variance
STREAMS = 4


def found(drive, chunk):
    """The workload, as `predict --trace` has it: bursts by the service of what comes alone."""
    reach = characterise.reach_of(drive.device)
    trace = characterise.characterise([chunk], reach)
    if trace.workload.arrival_process == "poisson":
        trace = characterise.characterise([chunk], reach, compose.predict(
            drive.device, trace.workload, "fcfs").service_time)
    return characterise.of_device(trace, drive.device)


def _case(drive, ns, first, size, read, response=-1, processes=0, waits=None):
    """workloads.Case of arrays; waits: of --processes."""
    chunk = make_chunk(ns, first // SECTOR, size // SECTOR, ~read,
                       np.broadcast_to(response, len(ns)))
    return workloads.Case(found(drive, chunk), workloads.Requests(
        ns if waits is None else waits, first, size, read, processes=processes))


def records_of(name):
    """A real drive's trace, and when its requests came after the answer to the one before, ns."""
    folder = fidelity.Folder(os.path.join(fidelity.DRIVES, name))
    records = traces.read(folder.trace)
    return records, traces.waits(records, fidelity.THINK.get(name, ("after", ""))[0])


def real(drive, _rng, name):
    """A real drive's trace."""
    records, waits = records_of(name)
    took = np.array([record.response_ns for record in records])
    arrivals = np.cumsum(np.array(waits) + np.append(0, took[:-1]))
    first, size = (np.array([getattr(record, field) for record in records]) * drive.disk.sector
                   for field in ("lbn", "count"))
    read = np.array([record.op == "R" for record in records])
    return _case(drive, arrivals, first, size, read, took, 1, np.array(waits))


def scrubbed(drive, _rng, name):
    """Like a trace of the scrubbing paper, folded into the drive."""
    made = synthetic.Trace(name, SCRUBBED[name]).requests()
    ticks, response, first, size, write = (np.concatenate(one) for one in zip(*made))
    ns, room = (ticks - ticks[0]) * 100, int(drive.disk.capacity) // PAGE * PAGE
    first = np.minimum(first % room, room - size)
    return _case(drive, ns, first, size, ~write, response * 100)


def _rate(drive, size):
    """Requests/s of which random ones would keep the drive busy for BUSY of the time."""
    load = Workload(request_rate=1.0, arrival_process="poisson", request_size=size,
                    read_fraction=0.7, data_span=drive.disk.capacity)
    return BUSY / compose.predict(drive.device, load).service_time


def _uniform(rng, drive, size):
    return workloads.starts(rng, PAGE, 0, drive.disk.capacity, size)


def mixed(drive, rng, _):
    """fio's randrw, 70 % reads, of 4 to 64 KiB, rate_process=poisson."""
    size = PAGE * rng.integers(1, 17, REQUESTS)
    between = rng.exponential(1e9 / _rate(drive, float(size.mean())), REQUESTS)
    return _case(drive, np.cumsum(between).astype(np.int64), _uniform(rng, drive, size), size,
                 rng.random(REQUESTS) < 0.7)


def streams(drive, rng, _):
    """fio's read, several jobs at once, each its own part of the disk, 64 KiB."""
    size = np.full(REQUESTS, 16 * PAGE)
    job = rng.integers(0, STREAMS, REQUESTS)
    part = int(drive.disk.capacity) // STREAMS // PAGE * PAGE
    number = np.zeros(REQUESTS, np.int64)
    for one in range(STREAMS):
        number[job == one] = np.arange(np.count_nonzero(job == one))
    between = rng.exponential(1e9 / _rate(drive, float(size[0])), REQUESTS)
    return _case(drive, np.cumsum(between).astype(np.int64), job * part + number * size, size,
                 np.ones(REQUESTS, bool))


def heavy(drive, rng, _):
    """Pareto times between arrivals, anywhere, 8 KiB, 70 % reads."""
    size = np.full(REQUESTS, 2 * PAGE)
    between = rng.pareto(TAIL, REQUESTS) * (TAIL - 1) * 1e9 / _rate(drive, float(size[0]))
    return _case(drive, np.cumsum(between).astype(np.int64), _uniform(rng, drive, size), size,
                 rng.random(REQUESTS) < 0.7)


KINDS = {"real": real, "scrubbed": scrubbed, "fio, mixed": mixed, "fio, streams": streams,
         "heavy tails": heavy}


def all_of(drives, out):
    """(drive, label, (kind, name)) of all: the traces that are made on these drives as they are,
    those of real ones on theirs."""
    for drive in drives:
        if drive.name not in devices.OURS or devices.OURS[drive.name][1]:
            continue
        for name in SCRUBBED:
            yield drive, "like " + name, ("scrubbed", name)
        for kind in ("fio, mixed", "fio, streams", "heavy tails"):
            yield drive, kind, (kind, "")
    for name, path in devices.real(out):
        name = name.replace("real-", "", 1)
        took = np.mean([record.response_ns for record in records_of(name)[0]])
        yield devices.Measured(name, path), "its own, %.2f ms there" % (took / 1e6), ("real", name)


def case_of(rng, drive, what):
    """workloads.Case."""
    kind, name = what
    return KINDS[kind](drive, rng, name)
