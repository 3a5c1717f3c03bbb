# SPDX-License-Identifier: GPL-2.0
"""Requests of a trace as the simulator reads them, lines MS LBN SECTORS R|W; and the options of
the commands that read traces."""

import os

from .. import ToolError
from . import fbmodel

FORMATS = "blktrace, blkparse, ftrace, trace-cmd report, perf script, biosnoop, fio, DiskSim, or " \
    "a table of MSR, SPC, SYSTOR '17, Alibaba, Tencent, FIU"
UNITS = ("ns", "us", "ms", "s")
# The simulator's longest request, 1 MiB
MOST_SECTORS = 2048
# Fewer say little of how often requests come: the standard error of a rate is 4.5 %
LEAST_REQUESTS = 500


def add_options(parser):
    """What a reader of traces has to know of them."""
    parser.add_argument("--device", metavar="NAME", help="which device of a trace of several, as "
                        "the trace has it: 8,0, src1.1, /dev/sda")
    parser.add_argument("--unit", choices=UNITS, help="of a trace's times, if they are not "
                        "in that of its format")


def caveat(requests, seconds, least_s):
    """Why what is found in a trace may be chance; None if it is long enough."""
    if seconds >= least_s and requests >= LEAST_REQUESTS:
        return None
    return "only %d requests in %.3g s: a trace of less than %d requests or %g s may not be " \
        "typical; record longer" % (requests, seconds, LEAST_REQUESTS, least_s)


def read(path, sectors, physical, device=None, unit=None):
    """A trace's requests from its first on as one chunk, in whole physical blocks of a disk; those
    too long for the simulator in pieces."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    from .. import tracefile  # pylint: disable=import-outside-toplevel
    chunk = tracefile.join(list(tracefile.read(path, device, unit)))
    end = chunk.sector + chunk.sectors
    if int(end.max()) > sectors:
        raise ToolError("%s: a request ends at LBN %d, the model's disk has %d: is it this disk's "
                        "model?" % (path, int(end.max()), sectors))
    first = chunk.sector // physical * physical
    count = -(-(end - first) // physical) * physical
    most = MOST_SECTORS // physical * physical
    pieces = -(-count // most)
    number = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    chunk = tracefile.take(chunk._replace(time_ns=chunk.time_ns - chunk.time_ns[0], sector=first,
                                          sectors=count), np.repeat(np.arange(len(end)), pieces))
    return chunk._replace(sector=chunk.sector + number * most,
                          sectors=np.minimum(chunk.sectors - number * most, most))


def converted(path, folder, model, device=None, unit=None):
    """A file that the simulator of a model's disk can read: this one, or one that is written to a
    folder."""
    from ..tracefile import columns, detect  # pylint: disable=import-outside-toplevel
    if getattr(detect.reader(path), "form", None) is columns.ARRIVALS and not unit:
        return path
    found = fbmodel.Model.of_file(model)
    chunk = read(path, found.number("sectors"), found.number("physical_sectors", 1), device, unit)
    name = os.path.join(folder, "arrivals-%d" % len(os.listdir(folder)))
    write(chunk, name)
    return name


def write(chunk, path):
    """As the simulator reads them."""
    kinds = ["W" if write else "R" for write in chunk.write]
    with open(path, "w", encoding="ascii") as file:
        for row in zip(chunk.time_ns / 1e6, chunk.sector, chunk.sectors, kinds):
            file.write("%.6f %d %d %s\n" % row)
