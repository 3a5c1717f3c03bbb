# SPDX-License-Identifier: GPL-2.0
"""Traces for make bench-scrub: an excerpt of one, as load.c replays it.

Those of the scrubbing paper are not at hand: synthetic.py makes some with the statistics
that its table II tells. Any file that `freeblock tune` reads will do, too.
"""

import os

from freeblock import ToolError, fbmodel, tracefile
from freeblock.hosts import TOP
from . import labcells

GENERATED = ("c6t8d0", "c6t5d1", "src11", "usr1")
# Of the paper's week; what is replayed is some minutes of it
DAYS = 0.25
BLOCK = 8
LONGEST = 1 << 20


def disk_sectors(drive):
    """Sectors of 512 bytes."""
    path = os.path.join(TOP, "models", labcells.DRIVES[drive][1] + ".fbmodel")
    return fbmodel.Model.of_file(path).number("sectors")


def window(times, seconds):
    """(first, last + 1) of the requests of that part, `seconds` long and beginning a
    multiple of them after the trace, whose number is nearest to the mean; the first of
    several. times: ascending, seconds."""
    length = times[-1] - times[0]
    parts = int(length // seconds)
    if not parts:
        raise ToolError("a trace of %.0f s has no part of %d s" % (length, seconds))
    counts = [0] * parts
    for at in times:
        number = int((at - times[0]) // seconds)
        if number < parts:
            counts[number] += 1
    mean = sum(counts) / parts
    best = min(range(parts), key=lambda i: (abs(counts[i] - mean), i))
    first = sum(counts[:best])
    return first, first + counts[best]


def lines(requests, begin, sectors):
    """load.c's lines; requests: (seconds, sector, count, write), begin: seconds.

    Places are taken modulo the disk's size, and widened to blocks of 4 KiB."""
    found = []
    for at, sector, count, write in requests:
        first = sector % sectors // BLOCK * BLOCK
        count = -(-(sector % BLOCK + count) // BLOCK) * BLOCK
        count = min(count, LONGEST)
        first = min(first, (sectors - count) // BLOCK * BLOCK)
        found.append("%d %s %d %d\n" % (round((at - begin) * 1e6), "W" if write else "R", first,
                                        count))
    return found


def read(path):
    """A trace's requests as (seconds, sector, count, write)."""
    return [(at / 1e9, sector, count, write) for chunk in tracefile.read(path)
            for at, sector, count, write in zip(*(c.tolist() for c in chunk[:4]))]


def generated(name, seed):
    """The same of one that is made."""
    from . import synthetic             # scipy's: slow to load; pylint: disable=C0415
    found = []
    for arrivals, _, offsets, sizes, writes in synthetic.Trace(name, DAYS, seed).requests():
        found += zip((arrivals * synthetic.TICK_S).tolist(), (offsets // 512).tolist(),
                     (sizes // 512).tolist(), writes.tolist())
    return sorted(found)


def write_excerpt(path, requests, seconds, sectors):
    """An excerpt that begins with its first second."""
    times = [request[0] for request in requests]
    first, last = window(times, seconds)
    part = requests[first:last]
    if not part:
        raise ToolError("no request in the excerpt for %s" % path)
    begin = times[0] + int((part[0][0] - times[0]) // seconds) * seconds
    with open(path + ".new", "w", encoding="ascii") as file:
        file.writelines(lines(part, begin, sectors))
    os.replace(path + ".new", path)


def excerpt(folder, name, drive, seconds, seed):
    """The path of an excerpt of a trace that is made, which is made if it is not there."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "%s-%s-%d-%d.trace" % (name, drive, seconds, seed))
    if not os.path.exists(path):
        write_excerpt(path, generated(name, seed), seconds, disk_sectors(drive))
    return path


def excerpt_of(trace, folder, drive, seconds):
    """The same of a file."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "%s-%s-%d.trace" % (labcells.checksum(trace)[:16], drive, seconds))
    if not os.path.exists(path):
        write_excerpt(path, read(trace), seconds, disk_sectors(drive))
    return path
