# SPDX-License-Identifier: GPL-2.0
"""What freeblock takes of a host with sixty disks: of a CPU, told from fewer, and of memory. It
needs a kernel: the lab (tests/lab/disks.sh)."""

import os
from dataclasses import dataclass

from freeblock.base.helpers import BUILD
from .. import labcells
from .lock import cell_figures, read_text
from .summary import Figure, Row

DRIVE, DISKS = "nearline16-wc", 60
# Requests/s with which a drive is in use for 30 % of the time
RATE = 24
FULL = {"DISKS": "8", "WARMUP": "10", "WINDOW": "10"}
QUICK = {"DISKS": "2", "WARMUP": "5", "WINDOW": "5"}
CORES, MEMORY_MIB = .2, 1024


@dataclass
class DisksRow(Row):
    """What the disks took, and read meanwhile."""

    mb_s: float = None


class Disks(Figure):
    """CPU and memory."""

    name = "disks"
    title = "Sixty disks of 16 TB, each scanned beside a load of 30 %"

    @staticmethod
    def measure(quick, out, through):
        """{"cores", "mb_s", "memory_mib"}, of DISKS disks."""
        load, settings = os.path.join(BUILD, "load"), QUICK if quick else FULL
        labcells.compile_for_guest("load", load)
        folder = labcells.run(
            "disks.sh", os.path.join(out, "disks"), 1800, through, files=[load],
            variables={"DRIVE": DRIVE, "RATE": str(1000 * RATE), "ATTACHED": str(DISKS),
                       **settings})
        times = DISKS / int(settings["DISKS"])
        sectors = int(read_text(folder, "read")) / int(read_text(folder, "seconds"))
        return {"cores": cell_figures(folder)["own_pct"] / 100 * times,
                "mb_s": sectors * 512 / 1e6 / int(settings["DISKS"]),
                "memory_mib": int(read_text(folder, "memory")) / 1024}

    @staticmethod
    def rows(measured):
        """A row for each."""
        return [DisksRow("disks %d %s" % (DISKS, DRIVE), measured["cores"], "CPUs of one GHz",
                         most=CORES, mb_s=measured["mb_s"]),
                Row("disks %d %s, memory" % (DISKS, DRIVE), measured["memory_mib"], "MiB",
                    most=MEMORY_MIB)]
