# SPDX-License-Identifier: GPL-2.0
"""Write caches, off and on: the same requests for both, reads and writes told apart.

Loads are shares of what the drive does without a write cache, one request at a time. What is not
in a drive's description is an assumption: of the Atlas 10K and the C2490A there is none of a write
cache.
"""

from freeblock import sim
from freeblock.prediction import compose, workloads
from freeblock.prediction.workload import Workload
from . import devices

GROUP = "write cache"
EACH_PCT = 15.0
LOADS = (0.3, 0.6, 0.85)
READS = (0.0, 0.5, 2 / 3, 1.0)
REQUESTS, WARM = 60000, 3000
SIZE = 8192                     # bytes
# drive of tools/mechdisk/drives, or the imported one; its write cache
ON = {
    "nearline16": ("write_cache back",),
    "atlas10k": ("cache 16 1024 8", "write_cache back"),
    devices.PAPERS_DRIVE: ("cache 4 128 2", "write_cache back"),
}
# of the nearline drive besides, at two reads to a write
POLICIES = ("clook", "sptf")
RULES = {
    "2 segments": ("cache 64 1024 2",),
    "destage idle": ("destage idle",),
    "delay 20 ms": ("destage_delay_ns 20000000",),
    "delay 300 ms": ("destage_delay_ns 300000000",),
    "firmware fcfs": ("firmware fcfs",),
}


def _path(name, out):
    """Of a drive's description, or None if it cannot be had."""
    if name != devices.PAPERS_DRIVE:
        return sim.drive_file(name)
    found = devices.imported(out)
    return found and found.path


def _drive(name, path, words, out):
    return devices.changed(path, "write-%s-%s" % (name, "-".join(
        word.replace(" ", "_") for word in words)), list(words), out)


def all_of(names, out):
    """(drive, label, what, policy) of each cell; `names`: of ON."""
    for name in names:
        path = _path(name, out)
        if not path:
            continue
        off = _drive(name, path, ("write_cache off",), out)
        for load in LOADS:
            for read in READS:
                for cache, words in (("off", ("write_cache off",)), ("on", ON[name])):
                    yield _cell(name, off, _drive(name, path, words, out), cache, load, read)
    if "nearline16" in names:
        yield from _more(sim.drive_file("nearline16"), out)


def _cell(name, off, drive, cache, load, read, policy="fcfs"):
    service = compose.predict(off.device, _workload(1.0, read, off), "fcfs").service_time
    label = "%s, %s, %d %%, %d %% reads" % (cache, policy, round(100 * load), round(100 * read))
    return drive._replace(name=name), label, (load / service, read), policy


def _more(path, out):
    """Cells of other orders and other rules of the cache."""
    off = _drive("nearline16", path, ("write_cache off",), out)
    on = ON["nearline16"]
    for load in LOADS:
        for policy in POLICIES:
            yield _cell("nearline16", off, _drive("nearline16", path, on, out), "on", load, 2 / 3,
                        policy)
        for rule, words in RULES.items():
            for read in (0.0, 2 / 3):
                yield _cell("nearline16", off, _drive("nearline16", path, on + words, out), rule,
                            load, read)


def _workload(rate, read, drive):
    return Workload(rate, "poisson", SIZE, read, drive.disk.capacity)


def case_of(rng, drive, what):
    """workloads.Case of a cell."""
    rate, read = what
    return workloads.poisson(rng, drive.disk, rate, REQUESTS, 1, SIZE, read)
