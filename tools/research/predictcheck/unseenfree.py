# SPDX-License-Identifier: GPL-2.0
"""What a scan would read, in gaps and in idle time, with the module's defaults: loads and drives
drawn at random, told by `predict` and read by the simulator of the scheduler."""

import numpy as np

from freeblock import sim
from freeblock.prediction import answer, bands, compose, freeband, standin
from freeblock.prediction.device import Device
from freeblock.prediction.workload import Workload
from ..bench_loads import MODULE

GROUP = "free, random"
# description, further lines of it
DRIVES = (("nearline16", ""), ("nearline16-wc", ""), ("nearline24", ""), ("archive8", ""),
          ("archive8", "write_cache off"), ("nearline16-surfaces", ""),
          ("nearline16-serpentine", ""), ("atlas10k", ""), ("cheetah9", ""))
PAGES = (1, 2, 4, 16)           # of 4 KiB, mean
UTILISATION = 0.15, 0.85
OUTSTANDING = 2, 20
CLOSED = 0.25                   # share of the cases
SECONDS = 100                   # of disk time


def draw(number, seed):
    """(settings of the simulator, Device, Workload)"""
    rng = np.random.default_rng([seed, number])
    drive, lines = DRIVES[rng.integers(len(DRIVES))]
    device = Device.from_drive(sim.drive_file(drive))
    if lines:
        device = answer.through(device)
    pages, reads = int(rng.choice(PAGES)), float(rng.choice([2 / 3, 2 / 3, 1.0, rng.random()]))
    load = Workload(1.0, "poisson", pages * 4096.0, reads, device.capacity,
                    request_size_cv2=1 - 1 / pages)
    said = {"drive": drive, "set": lines, "reads": "%.6f" % reads, "size": "exp:%dk" % (4 * pages),
            "seed": str(number + 1), "seconds": str(SECONDS), **MODULE}
    if rng.random() < CLOSED:
        count = int(rng.integers(OUTSTANDING[0], OUTSTANDING[1] + 1))
        return {**said, "outstanding": str(count)}, device, Workload(
            1.0, "closed", load.request_size, reads, device.capacity,
            request_size_cv2=load.request_size_cv2, outstanding=count)
    service = compose.predict(answer.through(device) if device.cache else device, load,
                              "fcfs").service_time
    rate = float("%.3g" % (rng.uniform(*UTILISATION) / service))
    return {**said, "rate": "%g" % rate}, device, Workload(
        rate, "poisson", load.request_size, reads, device.capacity,
        request_size_cv2=load.request_size_cv2)


def told(device, load):
    """The answer's "free" of a device and a workload."""
    settings = answer.settings(None, None, None, scan=False)
    nearest = compose.predict(device, load, "sptf")
    like = standin.stand_in(load, nearest.service_time)
    found = freeband.free_bandwidth(device, like.workload,
                                    answer.with_buffers(settings.free, device), False)
    return answer.free_json(found, device, like, nearest)


def compare(number, seed):
    """The row of a case."""
    said, device, load = draw(number, seed)
    ran, free = sim.simulate(**said), told(device, load)
    label = "%s%s, %s, %s, %d %% reads" % (
        said["drive"], said["set"] and " " + said["set"],
        "%s/s" % said["rate"] if "rate" in said else "%s outstanding" % said["outstanding"],
        said["size"], round(100 * load.read_fraction))
    return {"group": GROUP, "drive": said["drive"], "name": "%s %d-%d, %s" % (
        GROUP, seed, number, label), "label": label, "kind": bands.free_kind(device, load),
            "measured_mb_s": ran["free_mb_s"], "predicted_mb_s": free["fresh_mb_s"],
            "low_mb_s": free["fresh_low_mb_s"], "high_mb_s": free["fresh_high_mb_s"],
            "measured_idle_mb_s": ran["idle"]["mb_s"], "predicted_idle_mb_s": free["idle_mb_s"],
            "error_pct": _error(free["fresh_mb_s"], ran["free_mb_s"])}


def _error(predicted, measured):
    """%; 0 of nothing foretold and nothing read, None if nothing was read."""
    if not measured:
        return None if predicted else 0.0
    return 100 * (predicted / measured - 1)
