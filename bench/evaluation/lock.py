# SPDX-License-Identifier: GPL-2.0
"""How long the module holds its lock, interrupts off, and what its own functions take of a CPU of
1 GHz, an instruction a nanosecond. It needs a kernel: the lab (tests/lab/lock.sh)."""

import os
from dataclasses import dataclass

from freeblock import ToolError
from freeblock.base.helpers import BUILD
from .. import labcells
from .paper import ATLAS, NEARLINE
from .summary import Figure, Row

# Requests that wait beside the two at the drive; 10: about the paper's closed loop; 125: nearly
# as many as core/order_cost.h follows, which chooses among its own then, too
PENDING = (1, 10, 125, 255)
CLOSED = 10
DRIVES = (ATLAS, NEARLINE, NEARLINE + "-wc")
FULL = {"WARMUP": "10", "WINDOW": "30"}
QUICK = {"WARMUP": "10", "WINDOW": "20"}
LONGEST_US = 20
OWN_PCT = 1.5


@dataclass
class LockRow(Row):
    """The longest hold, who has it, and the share of the CPU."""

    longest_us: float = None
    own_pct: float = None
    holder: str = ""


def read_text(folder, name):
    """A file of a cell."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise ToolError("%s: is missing: the run in the lab did not end" % path)
    with open(path, encoding="ascii") as file:
        return file.read()


def cell_figures(folder):
    """{longest_us, own_pct, holder, functions} out of what the guest left in a folder.

    functions: {name: [holds a second, mean ns, longest ns]}
    """
    told = [line.split() for line in read_text(folder, "held").splitlines()]
    words = {line[0]: int(line[1]) for line in told if len(line) == 2}
    seconds, per_ns = int(read_text(folder, "seconds")), 1e6 / words["khz"]
    functions, others = {}, 0
    for line in (line for line in told if len(line) > 2):
        calls, cycles, longest, apart = (int(word) for word in line[-4:])
        old = functions.setdefault(line[0], [0, 0, 0])
        functions[line[0]] = [old[0] + calls, old[1] + cycles, max(old[2], longest)]
        others += apart
    if not functions:
        raise ToolError("%s: the lock was never held" % folder)
    holder = max(functions, key=lambda name: functions[name][2])
    own_ns = int(read_text(folder, "threads")) + others * per_ns
    return {"longest_us": functions[holder][2] * per_ns / 1000, "holder": holder,
            "own_pct": own_ns / seconds / 1e7,
            "functions": {name: [calls / seconds, cycles * per_ns / calls, longest * per_ns]
                          for name, (calls, cycles, longest) in sorted(functions.items())}}


class Lock(Figure):
    """The lock's time, by drive and requests pending."""

    name = "lock"
    title = "The longest time under the lock, and the CPU of the module's own functions"

    @staticmethod
    def measure(quick, out, through):
        """{"DRIVE PENDING": figures}."""
        cells = [(drive, pending) for drive in DRIVES[:1] if quick
                 for pending in (CLOSED, PENDING[-1])] or [
                     (drive, pending) for drive in DRIVES for pending in PENDING]
        load = os.path.join(BUILD, "load")
        labcells.compile_for_guest("load", load)
        files = labcells.run(
            "lock.sh", os.path.join(out, "lock"), 1800, through, files=[load],
            variables={"CELLS": " ".join("%s:%d" % cell for cell in cells),
                       **(QUICK if quick else FULL)})
        return {"%s %d" % cell: cell_figures(os.path.join(files, "%s-%d" % cell))
                for cell in cells}

    @staticmethod
    def rows(measured):
        """One for each cell, and what is asked of the CPU in the paper's closed loop."""
        rows = [LockRow("lock " + name, found["longest_us"], "us", most=LONGEST_US,
                        longest_us=found["longest_us"], own_pct=found["own_pct"],
                        holder=found["holder"]) for name, found in measured.items()]
        own = measured["%s %d" % (ATLAS, CLOSED)]["own_pct"]
        return rows + [Row("own functions, %s, closed loop with a scan" % ATLAS, own,
                           "% of one GHz", most=OWN_PCT)]
