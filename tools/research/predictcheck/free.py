# SPDX-License-Identifier: GPL-2.0
"""Free bandwidth, predicted, beside the simulator of the scheduler: fresh maps and whole
scans over drives, loads, sizes and policies. Both get the drive's description; the
prediction nothing of what was measured.

The toy drive and nearline24 were not looked at while the model was made.

A whole scan of the nearline drive takes the simulator most of an hour: in its place stands one
with a 48th of its cylinders and the same granule, made here. Seeks are shorter there; the
prediction is told of that.
"""

import time
from typing import NamedTuple

from freeblock import sim
from freeblock.prediction import freeband
from freeblock.prediction.device import Device
from freeblock.prediction.workload import Workload
from . import shortdrive

FRESH, WHOLE = "free, fresh map", "free, whole scan"
GOALS = {FRESH: 10.0, WHOLE: 15.0}      # %
SIZES = {"4k": (4096, 0.0), "exp:8k": (8192, 0.5), "64k": (65536, 0.0)}
READS = 2 / 3                           # the simulator's
DEFAULTS = {"policy": "auto", "depth": "auto", "conservatism_us": "auto", "lift": "all",
            "value": "root", "weight": "balance"}
# Arrivals per second at 30, 60 and 86 % of what the drives do under sptf-sw
RATES = {"atlas10k": (40, 84, 130), "cheetah9": (42, 90, 135), "nearline16": (30, 62, 95),
         "atlas10k-hs08": (40, 84, 130), "toy": (70, 140, 200), "nearline24": (38, 75, 108)}
OUTSTANDING = (5, 10, 20)
MANY = ("sptf", "sstf", "sptf-sw")
NO_WHOLE = ("nearline24",)              # nearline16 stands for it
GRANULE = 131072                        # bytes, of its model
SECONDS, LEARNING_SECONDS = 200, 1800   # disk time of a fresh map; auto learns for long


class Cell(NamedTuple):
    """A comparison to be made: its group, drive, and the simulator's settings."""

    group: str
    drive: str
    settings: tuple

    @property
    def label(self):
        """Its settings."""
        said = dict(self.settings)
        load = "%s outstanding" % said["outstanding"] if "outstanding" in said else \
            "%s/s" % said["rate"]
        learnt = ", conservatism auto" if said.get("conservatism_us") == "auto" else ""
        return "%s, %s, %s, lift %s%s" % (said["policy"], load, said.get("size", "exp:8k"),
                                          said["lift"], learnt)

    @property
    def name(self):
        """Of its row."""
        return "%s, %s, %s" % (self.group, self.drive, self.label)


def _loads(drive):
    """Closed loops and arrivals, as the simulator's settings."""
    return [{"outstanding": str(n)} for n in OUTSTANDING] + \
        [{"rate": str(rate)} for rate in RATES[drive]]


def _cell(group, drive, *parts):
    """A cell of settings in parts."""
    settings = {}
    for part in parts:
        settings.update(part)
    return Cell(group, drive, tuple(sorted(settings.items())))


def _fresh(drive):
    """Cells of a map that stays fresh."""
    for load in _loads(drive):
        for policy in MANY:
            for lift in ("none", "all"):
                yield _cell(FRESH, drive, load, {"policy": policy, "lift": lift})
        yield _cell(FRESH, drive, load, DEFAULTS)
    for size in ("4k", "64k"):
        for policy in ("sptf", "sptf-sw"):
            yield _cell(FRESH, drive, {"policy": policy, "lift": "none", "outstanding": "10",
                                       "size": size})


def _whole(drive):
    """Cells of whole scans; few on the nearline drive, of which even a part takes long."""
    if drive == "nearline16":
        load = {"outstanding": "10"}
        yield _cell(WHOLE, drive, load, {"policy": "sptf-sw", "lift": "none"})
        yield _cell(WHOLE, drive, load, {"policy": "sptf-sw", "lift": "all"})
        yield _cell(WHOLE, drive, load, DEFAULTS)
        return
    for load in _loads(drive):
        for policy in MANY if "outstanding" in load else ("sptf-sw",):
            for lift in ("none", "all"):
                yield _cell(WHOLE, drive, load, {"policy": policy, "lift": lift})
        yield _cell(WHOLE, drive, load, DEFAULTS)


def all_cells(drives=tuple(RATES)):
    """Every cell of these drives."""
    return [cell for drive in drives for make in (_fresh, _whole)
            if make is _fresh or drive not in NO_WHOLE for cell in make(drive)]


def files(cell, out):
    """(drive, model) of a cell, None for the simulator's own."""
    if cell.group == WHOLE and cell.drive == "nearline16":
        return shortdrive.make("nearline16", out)
    return sim.drive_file(cell.drive), None


def measured(cell, drive, model):
    """The simulator's result."""
    said = {"drive": drive, "preset": "paper", **dict(cell.settings)}
    if model:
        said.update(model=model, granule="%d" % GRANULE)
    if cell.group == WHOLE:
        said.update(task="scan", whole="1")
    else:
        learns = said.get("conservatism_us") == "auto"
        said.update(task="fresh", seconds=str(LEARNING_SECONDS if learns else SECONDS))
    return sim.simulate(**said)


def workload(said, device):
    """The Workload that the simulator's settings are."""
    size, cv2 = SIZES[said.get("size", "exp:8k")]
    if "rate" in said:
        return Workload(float(said["rate"]), "poisson", size, READS, device.capacity,
                        request_size_cv2=cv2)
    # of a closed loop the rate is a result
    return Workload(1.0, "closed", size, READS, device.capacity, request_size_cv2=cv2,
                    outstanding=int(said["outstanding"]))


def settings(said, granule=None):
    """The FreeSettings that they are."""
    con = said.get("conservatism_us", "400")
    return freeband.FreeSettings(
        policy=said["policy"], lift=said["lift"], granule=granule,
        value=said.get("value", "count"),
        conservatism="auto" if con == "auto" else float(con) * 1e-6)


def compare(cell, out):
    """Simulate and predict: the cell's row. out: a folder for drives that are made."""
    drive, model = files(cell, out)
    device = Device.from_drive(drive)
    said = dict(cell.settings)
    ran = measured(cell, drive, model)
    whole = cell.group == WHOLE
    begun = time.process_time()
    found = freeband.free_bandwidth(device, workload(said, device),
                                    settings(said, GRANULE if model else None), whole)
    took = time.process_time() - begun
    free = device.capacity / found.scan_seconds if whole else found.fresh
    row = {"group": cell.group, "drive": cell.drive, "name": cell.name, "label": cell.label,
           "policy": said["policy"], "measured_mb_s": ran["free_mb_s"],
           "predicted_mb_s": free / 1e6, "error_pct": _error(free / 1e6, ran["free_mb_s"]),
           "goal_pct": GOALS[cell.group], "prediction_s": took}
    for name, measure, predict in (
            ("requests_per_s", ran["requests_per_s"], found.requests_per_second),
            ("response_ms", ran["response_ms"]["mean"], found.foreground_response * 1e3),
            ("latency_ms", ran["gap_latency_ms"], found.latency_mean * 1e3)):
        row["measured_" + name], row["predicted_" + name] = measure, predict
        row[name + "_error_pct"] = _error(predict, measure)
    return row


def _error(predicted, found):
    """%"""
    return 100 * (predicted / found - 1)


def table(found):
    """Lines for people."""
    lines, said = [], None
    for row in found:
        heading = "%s, %s" % (row["group"], row["drive"])
        if heading != said:
            said = heading
            lines += ["", heading, "%-56s %8s %8s %7s %7s %7s %7s" % (
                "", "MB/s", "pred.", "error%", "req/s%", "resp.%", "lat.%")]
        lines.append("%-56s %8.3f %8.3f %+7.1f %+7.1f %+7.1f %+7.1f" % (
            row["label"], row["measured_mb_s"], row["predicted_mb_s"], row["error_pct"],
            row["requests_per_s_error_pct"], row["response_ms_error_pct"],
            row["latency_ms_error_pct"]))
    return lines
