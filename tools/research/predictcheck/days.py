# SPDX-License-Identifier: GPL-2.0
"""How long a whole scan takes in gaps and in idle time, with the module's defaults: told by
`predict`, and as the simulator of the scheduler reads it.

Drives of TB are simulated with a part of their cylinders (shortdrive.py), and days are so many
times as long. Of the Atlas 10K and cheetah9 there is no cache in their descriptions: that is an
assumption.
"""

import dataclasses
import time

from freeblock import sim
from freeblock.prediction import answer, compose, freeband, standin
from freeblock.prediction.workload import Workload
from ..bench_loads import MODULE
from ..peers import ATLAS_CACHE
from . import devices, shortdrive

GROUP = "whole scan"
EACH_PCT = 12.0
GRANULE = 131072                # bytes, of the drives of TB
LOADS = (30, 60, 85)            # %
SIZE, CV2, READS = 8192.0, 0.5, 2 / 3
MS = 86.4e6                     # of a day
# name: whether it is simulated with a part of its cylinders; lines without a cache of writes and
# with one; arrivals a second at LOADS
DRIVES = {
    "atlas10k": (False, "", ATLAS_CACHE, (35, 70, 108)),
    "cheetah9": (False, "", ATLAS_CACHE, (37, 74, 113)),
    "nearline16": (True, "", "write_cache back", (24, 48, 79)),
    "archive8": (True, "write_cache off", "", (18, 36, 58)),
}
# Nobody looked at these while the model was made
OTHERS = {
    "nearline24": (True, "", "write_cache back", (30, 60, 95)),
    "atlas10k-hs08": (False, "", ATLAS_CACHE, (35, 70, 108)),
}


def all_of(names, out):
    """(devices.Measured, label, (rate, model, cylinders' share)) of each cell of some of DRIVES and
    OTHERS."""
    for name in names:
        short, *caches, rates = {**DRIVES, **OTHERS}[name]
        path, model, part = sim.drive_file(name), sim.model_file(sim.drive_file(name)), 1
        if short:
            path, model = shortdrive.make(name, out, stretch=True)
            part = shortdrive.SHORTER
        for cache, lines in zip(("off", "on"), caches):
            drive = devices.changed(path, "whole-%s-%s" % (name, cache), lines.split("\n"), out)
            for load, rate in zip(LOADS, rates):
                yield drive._replace(name=name), "cache %s, %d %%" % (cache, load), (
                    rate, model, part)


def measured(cell, seed):
    """The simulator's result."""
    rate, model, part = cell.what
    more = {"granule": str(GRANULE)} if part > 1 else {}
    return sim.simulate(drive=cell.drive.path, model=model, rate=str(rate), seed=str(seed),
                        whole="1", **more, **MODULE)


def told(cell):
    """The answer's "free"."""
    device = cell.drive.device
    load = Workload(float(cell.what[0]), "poisson", SIZE, READS, device.capacity,
                    request_size_cv2=CV2)
    nearest = compose.predict(device, load, "sptf")
    free = dataclasses.replace(
        answer.with_buffers(answer.settings(None, None, None).free, device),
        granule=GRANULE if cell.what[2] > 1 else None)
    found = freeband.free_bandwidth(device, load, free, True)
    return answer.free_json(found, device, standin.stand_in(load, nearest.service_time), nearest,
                            scan=True)


def compare(cell, seed):
    """The row of a cell."""
    ran = measured(cell, seed)
    begun = time.process_time()
    free, part = told(cell), cell.what[2]
    days = part * ran["scan_s"] / answer.DAY_S
    row = {"group": GROUP, "drive": cell.drive.name, "name": cell.name, "label": cell.label,
           "policy": cell.policy, "goal_pct": cell.goal_pct, "paper_error_pct": None,
           "measured_days": days, "predicted_days": part * free["days_whole"],
           "low_days": part * free["days_whole_low"], "high_days": part * free["days_whole_high"],
           "measured_first_mb_s": ran["mb_s_by_tenth"][0], "predicted_first_mb_s":
           free["fresh_mb_s"], "error_pct": 100 * (part * free["days_whole"] / days - 1),
           "prediction_s": time.process_time() - begun, "unknown": None}
    row.update({"%s_ms" % name: MS * row["%s_days" % name]
                for name in ("measured", "predicted", "low", "high")})
    return row
