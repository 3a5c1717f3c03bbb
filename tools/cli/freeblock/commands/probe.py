# SPDX-License-Identifier: GPL-2.0
"""probe: what a drive answers and how it behaves, as a file that does not say whose it is. It sends
INQUIRY, MODE SENSE, READ CAPACITY, IDENTIFY DEVICE, READ and VERIFY only, and needs no module.
"""

import json
import os
import random
import statistics
import sys
import threading
import time

from .. import ToolError, __version__, fbstate, need_range
from ..base import safe_file
from ..base.statusline import Line
from ..drive import ata, names, sgio, store
from ..drive.pages import CHANGEABLE, CURRENT, Pages, command

READ_16, VERIFY_16, CAPACITY_16, FUA = 0x88, 0x8f, 0x9e, 0x08
# Vital product data and mode pages that are of the model, not of the unit
VPD_PAGES = (0x86, 0x8a, 0xb0, 0xb1, 0xb2, 0xb6, 0xb9)
MODE_PAGES = (0x01, 0x02, 0x07, 0x08, 0x0a, 0x1a, 0x1c)
# IDENTIFY DEVICE: serial numbers of drive and medium, world-wide name, the vendor's own, check sum
ATA_OWN = {*range(10, 20), *range(108, 116), *range(129, 160), *range(176, 206), 255}
PLACES, REPEATS, RANDOM, DEPTH, BAND = 5, 20, 300, 32, 20
LARGE_BYTES, LARGE_READS = 256 * 1024, 64
IDLE_S, TIMES = (1, 10, 60, 300), 3     # the first read after so long, so many times
IDLE_SHARE = .8                         # of the minutes
EXAMPLES = (
    ("freeblock probe /dev/sda --report sda.json", "Write the report of a drive that is idle."),
    ("freeblock probe /dev/sda --minutes 2", "Print a short one, without the longest idle times."),
)


def add_parser(subparsers):
    """Add `probe`."""
    parser = subparsers.add_parser(
        "probe", help="report what a drive answers and how it behaves",
        description="Ask a drive for its pages, time reads and verifications, and report that as "
        "JSON without serial number, world-wide name and host name. Sends reads only, for half an "
        "hour, and needs no module. Requests of others disturb the times.")
    parser.add_argument("disk", metavar="DISK", help="/dev/sdX, as root; best without other users")
    parser.add_argument("--report", metavar="FILE", help="write it there (standard output)")
    parser.add_argument("--minutes", type=float, default=30, metavar="M", help="how long at most; "
                        "less leaves out long idle times (%(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run, json=False)


# ---- answers

def _or_none(ask, *words):
    """What it says; None if the drive refuses, or sends what is none."""
    try:
        return ask(*words)
    except ToolError:
        return None


def _hex(data):
    return data.hex() if data else None


def capacity(dev):
    """(blocks, bytes of one, the answer)"""
    data = command(dev, "READ CAPACITY", [CAPACITY_16, 0x10] + [0] * 11 + [32, 0, 0], data_in=32)
    return int.from_bytes(data[:8], "big") + 1, int.from_bytes(data[8:12], "big"), data


def answers(dev, name):
    """What the drive says of itself, without what is of this unit alone."""
    inquiry, pages, listed = names.standard(dev), Pages(dev), names.supported(dev)
    words = _or_none(ata.identify, dev)
    return {
        "vendor": names.text(inquiry[8:16]), "product": names.text(inquiry[16:32]),
        "revision": names.text(inquiry[32:36]), "inquiry": _hex(inquiry[:8]),
        "capacity": _hex(capacity(dev)[2]), "vpd_listed": sorted(listed),
        "vpd": {"%02x" % page: _hex(names.vpd(dev, page)) for page in VPD_PAGES if page in listed},
        "modes": {"%02x" % page: {key: _hex(_or_none(pages.read, page, control)) for key, control in
                                  (("current", CURRENT), ("changeable", CHANGEABLE))}
                  for page in MODE_PAGES},
        "ata": words and [None if at in ATA_OWN else word for at, word in enumerate(words)],
        "queue_depth": fbstate.number(fbstate.read("sys/block", name, "device/queue_depth") or ""),
        "rotational": fbstate.read("sys/block", name, "queue/rotational"),
    }


# ---- behaviour

class Meter:
    """Times commands of one drive."""

    def __init__(self, dev, seed=1):
        self.dev, self.rng = dev, random.Random(seed)
        self.blocks, self.block_bytes, _ = capacity(dev)

    def us(self, code, first, blocks=1, flags=0):
        """How long a READ or VERIFY takes."""
        cdb = bytes([code, flags]) + first.to_bytes(8, "big") + blocks.to_bytes(4, "big") + bytes(2)
        size = 0 if code == VERIFY_16 else blocks * self.block_bytes
        began = time.perf_counter_ns()
        command(self.dev, "READ" if size else "VERIFY", cdb, data_in=size)
        return (time.perf_counter_ns() - began) / 1e3

    def place(self, room=1 << 16):
        """Anywhere, with room behind it."""
        return self.rng.randrange(max(self.blocks - room, 1))


def _spread(values):
    """Of several times, us."""
    values = sorted(values)
    return {"n": len(values), "min": round(values[0]),
            **{"p%d" % share: round(values[min(len(values) * share // 100, len(values) - 1)])
               for share in (50, 90, 99)}, "max": round(values[-1])}


def again(meter, code, flags=0):
    """The same block again and again: a revolution each, or it comes from a cache."""
    def times():
        for _ in range(PLACES):
            place = meter.place()
            meter.us(code, place, 1, flags)
            yield from (meter.us(code, place, 1, flags) for _ in range(REPEATS))
    return _spread(times())


def ahead(meter):
    """The block behind the one that was just read: quick, if the drive reads ahead."""
    found = []
    for _ in range(PLACES * REPEATS):
        place = meter.place()
        meter.us(READ_16, place)
        found.append(meter.us(READ_16, place + 1))
    return _spread(found)


def rates(meter):
    """MB/s of sequential reads, from the first block to the last."""
    blocks = LARGE_BYTES // meter.block_bytes
    found = []
    for band in range(BAND):
        first = min(meter.blocks * band // (BAND - 1), meter.blocks - blocks * LARGE_READS)
        took_us = sum(meter.us(READ_16, max(first, 0) + blocks * number, blocks)
                      for number in range(LARGE_READS) if meter.blocks >= blocks * LARGE_READS)
        found.append(round(LARGE_BYTES * LARGE_READS / took_us, 1) if took_us else None)
    return found


def seeks(meter):
    """Reads at distances of a half, a quarter, ... of the disk: [distance in blocks, times]."""
    found, distance = [], meter.blocks // 2
    while distance >= 1024:
        times = []
        for _ in range(REPEATS):
            place = meter.rng.randrange(meter.blocks - distance)
            meter.us(READ_16, place)
            times.append(meter.us(READ_16, place + distance))
        found.append([distance, _spread(times)])
        distance //= 4
    return found


def at_random(meter, depth):
    """Random reads, so many at a time: times, and requests a second. With queueing and an order
    of the drive's own there are more of them in a second."""
    found, left, lock = [], [meter.place() for _ in range(RANDOM)], threading.Lock()

    def work():
        while True:
            with lock:
                if not left:
                    return
                place = left.pop()
            try:
                took = meter.us(READ_16, place, 8)
            except ToolError:
                return
            with lock:
                found.append(took)

    began = time.perf_counter_ns()
    workers = [threading.Thread(target=work) for _ in range(depth)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if len(found) < RANDOM:
        raise ToolError("%d of %d random reads failed" % (RANDOM - len(found), RANDOM))
    return {"per_s": round(RANDOM * 1e9 / (time.perf_counter_ns() - began), 1), **_spread(found)}


def after_idle(meter, minutes):
    """{idle seconds: times of the first read}: long ones show states that save power."""
    left, found = minutes * 60 * IDLE_SHARE, {}
    for seconds in IDLE_S:
        left -= seconds * TIMES
        if left < 0:
            break
        times = []
        for _ in range(TIMES):
            time.sleep(seconds)
            times.append(meter.us(READ_16, meter.place()))
        found["%d" % seconds] = _spread(times)
    return found


def report(dev, name, minutes, tell):
    """All of it; a part that the drive refuses is None. tell: gets the name of what is done."""
    meter = Meter(dev)
    parts = {
        "read_again_us": lambda: again(meter, READ_16),
        "read_fua_again_us": lambda: again(meter, READ_16, FUA),
        "verify_again_us": lambda: again(meter, VERIFY_16),
        "read_ahead_us": lambda: ahead(meter),
        "sequential_mb_s": lambda: rates(meter),
        "seeks_us": lambda: seeks(meter),
        "random_us": lambda: at_random(meter, 1),
        "random_queued_us": lambda: at_random(meter, DEPTH),
        "after_idle_us": lambda: after_idle(meter, minutes),
    }
    found = {"report": 1, "freeblock": __version__, "kernel": os.uname().release.split("-")[0],
             "drive": answers(dev, name), "behaviour": {}}
    for part, measure in parts.items():
        tell(part)
        try:
            found["behaviour"][part] = measure()
        except ToolError as why:
            found["behaviour"][part] = None
            found.setdefault("refused", {})[part] = str(why)
    return found


# ---- for people

def _source(took, hit, read):
    """Where a block came from, by how long hits of the cache and random reads take, us."""
    if hit > read / 4:
        return "not known: nothing is read from the cache"
    # nearer to which of them, on a logarithmic scale
    return "from the cache" if took < statistics.geometric_mean((hit, read)) else "from the medium"


def truth(found):
    """Whether what the drive claims to do on the medium takes as long as that, in words."""
    behaviour = found["behaviour"]
    cached, ran = behaviour["read_again_us"], behaviour["random_us"]
    for part, what in (("read_fua_again_us", "READ with FUA"), ("verify_again_us", "VERIFY")):
        times = behaviour[part]
        if times is None:
            yield what + ": refused"
        elif cached and ran:
            yield "%s of the same block: %.1f ms: %s" % (
                what, times["p50"] / 1e3, _source(times["p50"], max(cached["p50"], 1), ran["p50"]))
    queued = behaviour["random_queued_us"]
    if ran and queued:
        yield "random reads: %.0f/s, %.0f/s with %d at a time" % (
            ran["per_s"], queued["per_s"], DEPTH)


def run(args):
    """The subcommand."""
    need_range("--minutes", args.minutes, 0, 240, over=True)
    path = fbstate.need_device(args.disk)
    name, line, now = store.disk_of(args.disk)["name"], Line(args.quiet, stays=True), [""]
    dev = sgio.Disk(fbstate.path(path))

    def tell(part):
        now[0] = part
        line.show(lambda: "%s: %s" % (name, now[0]))

    try:
        found = report(dev, name, args.minutes, tell)
    finally:
        line.end()
        dev.close()
    text = json.dumps(found, indent=1) + "\n"
    if not args.report:
        sys.stdout.write(text)
        return 0
    with safe_file.whole_file(args.report) as file:
        file.write(text.encode())
    for words in truth(found):
        print(words)
    print("%s: names no serial number and no host; look at it before you send it" % args.report)
    return 0
