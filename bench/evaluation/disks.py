# SPDX-License-Identifier: GPL-2.0
"""What freeblock takes of a host with sixty disks: of a CPU, worked out from fewer, and of memory.
It needs a kernel: the lab (tests/lab/disks.sh)."""

import os
from dataclasses import dataclass

from freeblock.base.helpers import BUILD
from .. import labcells
from .days import PACE_MB_S
from .lock import cell_figures, read_text
from .summary import Figure, Row

DRIVE, DISKS = "nearline16-wc", 60
# Requests/s with which a drive is in use for 30 % of the time
RATE = 24
# By the pace of a pass in 30 days, and as fast as the cost limit allows, which a guest can simulate
# for two. What is to be read is entered at first: a tenth of a second of the CPU for each disk
PACED, FAST = "a pass in 30 days", "a scan"
CELLS = {
    PACED: {"DISKS": 8, "WARMUP": 50, "WINDOW": 20, "PACE": round(PACE_MB_S * 1e6 / 1024)},
    FAST: {"DISKS": 2, "WARMUP": 20, "WINDOW": 5, "PACE": 0},
}
MEMORY = "memory"
CORES, MEMORY_MIB = .2, 1024


@dataclass
class DisksRow(Row):
    """What the disks took, and read meanwhile."""

    mb_s: float = None


def _run(out, through, variables):
    """The folder of what a guest left."""
    load = os.path.join(BUILD, "load")
    labcells.compile_for_guest("load", load)
    return labcells.run("disks.sh", out, 1800, through, files=[load], variables={
        "DRIVE": DRIVE, "RATE": 1000 * RATE, "ATTACHED": 0, "DISKS": 0, **variables})


class Disks(Figure):
    """CPU and memory."""

    name = "disks"
    title = "Sixty disks of 16 TB, each read beside a load of 30 %"

    @staticmethod
    def measure(quick, out, through):
        """{MEMORY: MiB, cell: (cores, MB/s of one disk)}, of DISKS disks."""
        out = os.path.join(out, "disks")
        folder = _run(os.path.join(out, MEMORY), through, {"ATTACHED": DISKS})
        found = {MEMORY: int(read_text(folder, "memory")) / 1024}
        for name, cell in CELLS.items():
            if quick:
                cell = {**cell, "DISKS": 2, "WARMUP": 20, "WINDOW": 5}
            folder = _run(os.path.join(out, name.replace(" ", "-")), through, cell)
            sectors = int(read_text(folder, "read")) / int(read_text(folder, "seconds"))
            found[name] = (cell_figures(folder)["own_pct"] / 100 * DISKS / cell["DISKS"],
                           sectors * 512 / 1e6 / cell["DISKS"])
        return found

    @staticmethod
    def rows(measured):
        """A row for each."""
        return [*(DisksRow("disks %d %s, %s" % (DISKS, DRIVE, name), measured[name][0],
                           "CPUs of one GHz", most=CORES, mb_s=measured[name][1])
                  for name in CELLS),
                Row("disks %d %s, memory" % (DISKS, DRIVE), measured[MEMORY], "MiB",
                    most=MEMORY_MIB)]
