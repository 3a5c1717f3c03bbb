# SPDX-License-Identifier: GPL-2.0
"""What make bench-scrub measures: foregrounds, scrubbers, and the matrix of both."""

import os
import random
import re

from . import peers, scrubbench_traces

# 64 KiB requests of the scrubbing paper (IV-B); its chunk and mean think time
REQUEST, CHUNK, THINK_US = 1 << 16, 8 << 20, 100000
CHUNKS = "chunks bytes=%d chunk=%%d think_us=%d" % (REQUEST, THINK_US)
SIZES = {1 << 16: "64k", 1 << 18: "256k", 1 << 20: "1m", 1 << 22: "4m"}
KIB_64, MIB = 1 << 16, 1 << 20
# One command of 4 MiB goes to the drive as one, as a SAS adapter has it
EXTRA = "%s\nmax_sectors 8192" % peers.NO_JOURNAL
REPLAY = "replay-"
LOADS = ("sequential", "random", "quiet", "bursts") + tuple(
    REPLAY + name for name in scrubbench_traces.GENERATED)
DRIVES = ("atlas10k", "nearline16")
SECONDS = {"sequential": 120, "random": 120, "quiet": 20, "bursts": 300, "replay": 300}
# Bursts lie in a range, which is what is scrubbed: a pass of the disk would take hours.
# Sectors of 512 bytes: 1 GiB in the middle of the disk; whole blocks of both models.
RANGES = {"atlas10k": (8388608, 2097152), "nearline16": (15624999936, 2097152)}
# A segment of freeblock's scrub, KiB: 64, or a block of the model's
SEGMENTS = {"atlas10k": 64, "nearline16": 128}
BURSTS = 12
# "Several tens of sectors close together": 4 runs of 8 to 24 within 2 MiB
RUNS, RUN_SECTORS, BURST_SECTORS = 4, (8, 24), 4096
# A drive that tries for long would be all that is measured; no retries by Linux
ERRORS = "asc=11 recovery_ms=100"


class Setting:
    """A scheduler, what scrubs, and what is set for it.

    group: what CELL= knows it by, beside its name; scrub: words for scrub.sh; needs:
    files of /sys/kernel/freeblock/<disk>/; fbset: what is written there; attrs: of the
    scheduler."""

    depth = ""
    known = True

    def __init__(self, group, peer, name="alone", scrub="none", needs=(), fbset="", attrs=""):
        self.group = group
        self.peer = peer
        self.name = name
        self.scrub = scrub
        self.needs = tuple(needs)
        self.fbset = fbset
        self.attrs = attrs
        self.background = "none" if scrub == "none" else "scrub"
        goal = re.search(r"idle_mean_us=(\d+)", fbset)
        self.goal_ms = int(goal.group(1)) / 1000 if goal else 0


def program(kind, size, delay_ms=0, idle=True, regions=1):
    """(name, words) of a scrubber that is a program: kind read or verify."""
    words = "%s segment=%d regions=%d delay_us=%d%s" % (
        kind, size, regions, delay_ms * 1000, " class=3" if idle else "")
    if regions == 1:
        words += " begin_pm=%d" % peers.READER_PM
    name = "%s%s %s%s%s" % ("" if kind == "read" else "verify ", "idle" if idle else "default",
                            SIZES[size], " %d ms" % delay_ms if delay_ms or not idle else "",
                            " staggered %d" % regions if regions > 1 else "")
    return name, words


def programs(group, peer, kind, sizes, **options):
    """Settings of one scheduler: a program with each size."""
    return [Setting(group, peer, *program(kind, size, **options)) for size in sizes]


def alone():
    """No scrub."""
    return [Setting("alone", peer) for peer in ("none", "mq-deadline", "bfq", "freeblock")]


def idle_class():
    """Back to back in the idle class."""
    return [s for peer in ("bfq", "mq-deadline")
            for s in programs("idle", peer, "read", (KIB_64, MIB))]


def delayed():
    """In the default class, with pauses."""
    return [s for size in (KIB_64, MIB) for ms in (0, 16, 64, 256)
            for s in programs("delay", "mq-deadline", "read", (size,), delay_ms=ms, idle=False)]


def staggered():
    """In the order of Oprea and Juels."""
    found = [s for regions in (8, 32, 128, 512)
             for s in programs("staggered", "bfq", "read", (KIB_64,), regions=regions)]
    return found + programs("staggered", "mq-deadline", "read", (KIB_64,), delay_ms=16,
                            idle=False, regions=128)


def user_level():
    """VERIFY by a program: no scheduler sorts or delays it."""
    return [s for ms in (0, 16) for s in programs(
        "user", "mq-deadline", "verify", (KIB_64,), delay_ms=ms, idle=False)] + \
        programs("user", "bfq", "verify", (KIB_64,)) + \
        programs("user", "mq-deadline", "verify", (KIB_64,), idle=False, regions=128)


IDLE_FILES = ("idle_wait_us", "idle_size_kib", "idle_mean_us", "idle_max_us")


# Of the kernel's scrub; the segment is that of the drive
STAGGERED = "staggered=%d segment=%%d"
# No gap is that long: idle time is all that is left
NO_GAPS = "conservatism_us=10000"


def waiting(mean_us):
    """Idle time is used, for at most mean_us on the mean per foreground request; 0: not."""
    return "idle_wait_us=auto idle_size_kib=auto idle_mean_us=%d" % mean_us


def freeblock():
    """Gaps only, with idle time, the kernel's scrubber."""
    needs = ("scrub",) + IDLE_FILES
    found = [Setting("freeblock", "freeblock", "gaps only", "scan", IDLE_FILES, waiting(0))]
    found += [Setting("freeblock", "freeblock", "waiting, %d ms" % ms, "scan", IDLE_FILES,
                      waiting(ms * 1000), NO_GAPS) for ms in (1, 2, 4)]
    found += [Setting("freeblock", "freeblock", "gaps + idle, %g ms" % (us / 1000), "scan",
                      IDLE_FILES, waiting(us)) for us in (500, 1000)]
    return found + scrubs(needs) + [twice(needs)]


def twice(needs):
    """Two tasks that want the same blocks."""
    return Setting("twice", "freeblock", "scan and scrub at once, 1 ms", "both",
                   needs + ("tasks",), waiting(1000))


def scrubs(needs):
    """The kernel's scrubber in each order."""
    return [
        Setting("freeblock", "freeblock", "scrub near, 1 ms", "scrub near", needs, waiting(1000)),
        Setting("freeblock", "freeblock", "scrub sequential, 1 ms", "scrub sequential", needs,
                waiting(1000)),
        Setting("freeblock", "freeblock", "scrub staggered 128, 1 ms",
                "scrub " + STAGGERED % 128, needs, waiting(1000))]


def quiet():
    """What the orders and sizes bring on a disk with nothing else to do."""
    sizes = (KIB_64, 1 << 18, MIB, 1 << 22)
    found = [Setting("alone", "none")]
    for kind in ("verify", "read"):
        found += programs("size", "none", kind, sizes, idle=False)
        found += [s for regions in (2, 8, 32, 64, 128, 256, 512) for s in programs(
            "regions", "none", kind, (KIB_64,), idle=False, regions=regions)]
    found += programs("size", "none", "verify", sizes[1:], idle=False, regions=128)
    # The goal is out of reach: of the two requests of this foreground one may be met
    for order, words in (("near", "near"), ("sequential", "sequential"),
                         ("staggered 128", STAGGERED % 128), ("staggered 512", STAGGERED % 512)):
        found.append(Setting("freeblock", "freeblock", "scrub " + order, "scrub " + words,
                             ("scrub",) + IDLE_FILES, waiting(10 ** 7)))
    return found


def detecting():
    """Who finds bursts of bad sectors, and when."""
    found = [Setting("alone", "mq-deadline")]
    found += programs("idle", "bfq", "read", (KIB_64,))
    found += programs("staggered", "bfq", "read", (KIB_64,), regions=128)
    found += programs("delay", "mq-deadline", "read", (KIB_64,), delay_ms=16, idle=False)
    found += programs("user", "mq-deadline", "verify", (KIB_64,), delay_ms=16, idle=False)
    return found + [s for s in freeblock() if s.group == "freeblock"]


def settings(load):
    """Of one foreground."""
    if load == "quiet":
        return quiet()
    if load == "bursts":
        return detecting()
    return alone() + idle_class() + delayed() + staggered() + user_level() + freeblock()


QUICK = re.compile(r"alone|idle 64k|default 64k (0|16) ms|verify default 64k 16 ms|"
                   r"idle 64k staggered 128|gaps only|(gaps \+ idle|waiting), 1 ms|"
                   r"scrub (near|sequential|staggered 128)(, 1 ms)?|"
                   r"(verify|read) default 64k 0 ms( staggered (2|128))?")


def is_quick(setting):
    """Whether QUICK=1 has it."""
    return bool(QUICK.fullmatch(setting.name)) and setting.peer in (
        "none", "mq-deadline", "bfq", "freeblock")


def bursts(drive, seconds, seed):
    """[(second, [(first, count), ...])]: bad sectors, in order of time, in the first two
    thirds of the run."""
    first, count = RANGES[drive]
    draw = random.Random("%s %d" % (drive, seed))
    found = []
    for _ in range(BURSTS):
        at = first + draw.randrange(count - BURST_SECTORS) // 8 * 8
        starts = sorted(draw.sample(range(0, BURST_SECTORS, 64), RUNS))
        found.append((draw.randrange(1, seconds * 2 // 3),
                      [(at + s, draw.randint(*RUN_SECTORS) // 8 * 8) for s in starts]))
    return sorted(found)


def without_model(found):
    """The same settings where nothing is known of the drive: freeblock has no model of it."""
    for setting in found:
        setting.known = setting.peer != "freeblock"
    return found


def seconds_of(load, table):
    """How long a cell is measured."""
    return table["replay" if load.startswith(REPLAY) else load]


class Cell(peers.Cell):
    """One measurement; trace: the path of a replay's excerpt."""

    trace = None

    def foreground(self):
        """Requests, as load.c takes them."""
        if self.load == "quiet":
            # one request at the start, and one behind the window
            return "stream bytes=4096 pause_us=%d" % ((self.seconds + self.warmup()) * 10 ** 6)
        if self.load.startswith(REPLAY):
            return "replay depth=1024 trace=/lab/files/" + os.path.basename(self.trace)
        words = CHUNKS % (CHUNK if self.load == "sequential" else REQUEST)
        return words + " errors_ok=1" if self.load == "bursts" else words

    def planted(self):
        """Bursts of bad sectors."""
        return bursts(self.drive, self.seconds, self.seed) if self.load == "bursts" else []

    def scrub(self):
        """What reads beside the foreground."""
        words = self.setting.scrub.replace("%d", str(SEGMENTS[self.drive]))
        if self.load != "bursts" or words == "none":
            return words
        first, count = RANGES[self.drive]
        kind, _, rest = words.partition(" ")
        if kind in ("read", "verify"):
            return re.sub(r" begin_pm=\d+", "", words) + " first=%d count=%d" % (first, count)
        return " ".join(x for x in (kind, "%d %d" % (first, count), rest) if x)

    def unit(self):
        """Sectors of 512 bytes in one of the drive's."""
        return 8 if self.drive.startswith("nearline") else 1

    def variables(self):
        """What tests/lab/scrub.sh wants to know, but for the id."""
        drive, model, _, _ = peers.DRIVES[self.drive]
        unit = self.unit()
        planted = ";".join("%d %s" % (second, ",".join(
            "%d %d" % (first // unit, count // unit) for first, count in runs))
            for second, runs in self.planted())
        known = {"drive": drive + ".fbdrive", "extra": EXTRA,
                 "model": model + ".fbmodel" if self.setting.known else "",
                "sched": self.setting.peer, "attrs": self.setting.attrs,
                "queue_depth": "", "nr_requests": "256",
                "needs": " ".join(self.setting.needs), "fbset": self.setting.fbset,
                "fg": self.foreground(), "bg": self.scrub(), "warmup": str(self.warmup()),
                "seconds": str(self.seconds), "seed": str(self.seed), "bursts": planted,
                "errors": ERRORS}
        # for the key: the name does not tell what is in it
        return {**known, "trace": peers.checksum(self.trace)} if self.trace else known

    def row(self, figures):
        """What the rows are made of."""
        return {**super().row(figures), "group": self.setting.group, "warmup": self.warmup(),
                "goal_ms": self.setting.goal_ms, "known": self.setting.known}

    def title(self):
        """What people call it."""
        return "%s, %s, %s %s" % (self.drive, self.load, self.setting.peer, self.setting.name)
