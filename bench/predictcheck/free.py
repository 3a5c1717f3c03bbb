# SPDX-License-Identifier: GPL-2.0
"""Free bandwidth with the module's defaults, predicted, beside the simulator of the scheduler: a
map that stays fresh, in gaps alone and with idle time. Both get the drive's description; the
prediction gets nothing of what was measured.

The toy drive and nearline24 were not looked at while the model was made.
"""

import statistics
import time
from typing import NamedTuple

from freeblock import sim
from freeblock.prediction import answer, compose, freeband
from freeblock.prediction.device import Device
from freeblock.prediction.workload import Workload

SIZE, CV2, READS = 8192, 0.5, 2 / 3     # the simulator's defaults
# Arrivals per second at 30, 60 and 86 % of what the drives do
RATES = {"atlas10k": (40, 84, 130), "cheetah9": (42, 90, 135), "nearline16": (30, 62, 95),
         "atlas10k-hs08": (40, 84, 130), "toy": (70, 140, 200), "nearline24": (38, 75, 108)}
OUTSTANDING = (5, 10, 20)
SECONDS = 600                           # disk time, of which conservatism learns for some
KINDS = ("gaps", "gaps and idle time")


class Cell(NamedTuple):
    """A comparison to be made: drive, one of KINDS, and the simulator's load."""

    drive: str
    group: str
    load: tuple

    @property
    def name(self):
        """Of its row."""
        return "free, %s, %s, %s %s" % (self.group, self.drive, *self.load)


def all_cells(drives=tuple(RATES)):
    """Every cell of these drives. Closed loops that do not think are never idle."""
    return [Cell(drive, kind, load) for drive in drives for kind in KINDS
            for load in [("rate", rate) for rate in RATES[drive]] + [
                ("outstanding", count) for count in OUTSTANDING] * (kind == KINDS[0])]


def predicted(cell):
    """(the answer's "free", s of the processor's time it took)."""
    device = Device.from_drive(sim.drive_file(cell.drive))
    closed = cell.load[0] == "outstanding"
    # of a closed loop the rate is a result
    load = Workload(1.0 if closed else float(cell.load[1]), "closed" if closed else "poisson", SIZE,
                    READS, device.capacity, request_size_cv2=CV2,
                    outstanding=cell.load[1] if closed else None)
    began = time.process_time()
    chosen = answer.with_buffers(answer.settings().free, device)
    found = freeband.free_bandwidth(device, load, chosen)
    nearest = compose.predict(device, load, "sptf")
    told = answer.free_json(found, device, answer.stand_in(load, nearest.service_time), nearest)
    return told, time.process_time() - began


def compare(cell, seeds):
    """Simulate and predict: the cell's row, of the mean over seeds."""
    ran = [sim.simulate(drive=cell.drive, task="fresh", lift="all", seconds=str(SECONDS),
                        seed=str(seed), idle="off" if cell.group == KINDS[0] else "on",
                        **{cell.load[0]: str(cell.load[1])}) for seed in seeds]
    told, took = predicted(cell)
    free = told["gaps_mb_s" if cell.group == KINDS[0] else "fresh_mb_s"]
    errors = [100 * (free / each["free_mb_s"] - 1) for each in ran]
    measured = statistics.mean(each["response_ms"]["mean"] for each in ran)
    return {"group": cell.group, "drive": cell.drive, "name": cell.name, "label":
            "%s %s" % cell.load, "seeds": list(seeds), "unknown": None, "paper_error_pct": None,
            "measured_mb_s": statistics.mean(each["free_mb_s"] for each in ran),
            "predicted_mb_s": free, "error_pct": statistics.mean(errors),
            "error_se_pct": statistics.stdev(errors) / len(errors) ** 0.5
            if len(errors) > 1 else None,
            "response_error_pct": 100 * (told["response_ms"] / measured - 1),
            "prediction_ms": 1e3 * took}
