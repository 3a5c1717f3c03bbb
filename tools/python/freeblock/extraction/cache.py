# SPDX-License-Identifier: GPL-2.0
"""What a drive keeps: read-ahead, cache segments, write cache, and whether commands that
should go to the medium do. To be asked while the caches are as the drive has them in
use, not as they are switched for measuring.

A read that the cache answers takes as long as the electronics; one that it does not,
of a block that has just been read, takes a turn: its block has gone by. Each question
is put several times, at blocks that were not read before.
"""

from dataclasses import asdict, dataclass

import numpy as np

from .device import FUA, READ, VERIFY, WRITE
from .pages import Pages, Refused

VOTES = 5
AHEAD_TURNS = 3         # that a drive gets for reading ahead, and a little for each block
AHEAD_NS = 130e3        # of that for each unit: a slow track's
MOST_AHEAD = 1 << 16    # units; and as long as WAIT_S
WAIT_S = 4.0
BEFORE = 4              # units before an end from where reading beyond it is asked for
MOST_SEGMENTS = 256
SLOW = 1.5              # times that an answered read may take
LATE_NS = 150e3         # and in addition


@dataclass
class Cache:
    """What was found; None: cannot be told. verify: "medium", "cache", "nothing" (it comes
    back before any medium could have been read) or "refused". ahead_units: read on
    after a read of one, median of several; ahead_ends: where ("track", "cylinder", or ""
    where it does not depend on the place, or on nothing seen)."""

    reads: bool = None
    kept: bool = None
    ahead: bool = None
    ahead_units: int = None
    ahead_ends: str = ""
    segments: int = None
    hit_ns: float = None
    unit_ns: float = None
    write_cache: bool = None
    write_cache_timed: bool = None
    fua_honest: bool = None
    verify: str = None
    page_segments: int = None

    def as_dict(self):
        """For JSON."""
        return asdict(self)

    def lines(self):
        """For people."""
        found = ["read cache: %s" % _word(self.reads)]
        if self.reads:
            found.append("reads ahead: %s%s" % (_word(self.ahead), self._extent()))
            found.append("segments: %s" % _number(self.segments, MOST_SEGMENTS))
            found.append("a read with FUA goes to the medium: %s" % _word(self.fua_honest))
        found.append("write cache: %s%s" % (_word(self.write_cache), "" if
                                            self.write_cache_timed is None else
                                            " (by its timing: %s)" % _word(self.write_cache_timed)))
        found.append("VERIFY: " + {
            None: "cannot be told", "refused": "refused by the drive",
            "medium": "reads the medium" + ("" if self.reads else " (and there is no cache)"),
            "cache": "of what is in the cache does NOT read the medium",
            "nothing": "does NOT read the medium"}[self.verify])
        return found

    def _extent(self):
        if not self.ahead or self.ahead_units is None:
            return ""
        where = ", to the end of the %s" % self.ahead_ends if self.ahead_ends else ""
        return ", %s units%s" % (_number(self.ahead_units, MOST_AHEAD), where)


def _word(value):
    return {None: "cannot be told", True: "yes", False: "no"}[value]


def _number(value, most):
    return "cannot be told" if value is None else "%s%d" % ("at least " if value >= most else "",
                                                            value)


class _Asker:
    """Puts the questions to a drive."""

    def __init__(self, dev, period_ns, layout=None, seed=1):
        self.dev = dev
        self.period = period_ns
        self.layout = layout
        self.random = np.random.default_rng(seed)
        self.limit_ns = period_ns / 8

    def place(self, room=64):
        """A block that was not read before, with room behind it."""
        room = min(room, self.dev.blocks // 4)
        return int(self.random.integers(room, self.dev.blocks - room))

    def took(self, blocks, counts=1, flags=0, waits=0, op=READ):
        """ns that the last of some commands takes; None if one fails."""
        found = self.dev.run(self.dev.ops(blocks, counts, flags, waits, op))
        if np.any(found["status"] != 0):
            return None
        return float(found["done"][-1] - found["submit"][-1])

    def share(self, question, votes=VOTES):
        """The share of times that a question's answer, a time, is a hit's; None if it
        never came."""
        times = [question() for _ in range(votes)]
        times = [t for t in times if t is not None]
        return np.mean([t < self.limit_ns for t in times]) if times else None

    def often(self, question, votes=VOTES):
        """Whether most are; put as often as it takes to know."""
        hits = misses = 0
        for _ in range(votes):
            time = question()
            hits += time is not None and time < self.limit_ns
            misses += time is not None and time >= self.limit_ns
            if 2 * max(hits, misses) > votes:
                break
        return hits > misses if hits + misses else None


def _again(ask, flags=0, op=READ):
    """A block read, and once more in some way."""
    block = ask.place()
    return ask.took([block, block], 1, [0, flags], 0, [READ, op])


def _ahead(ask, units, block=None):
    """A block that lies so far behind one that was read some turns ago."""
    block = ask.place(units + 1) if block is None else block
    rest = AHEAD_TURNS * ask.period + min(units * AHEAD_NS, WAIT_S * 1e9)
    rest += ask.random.random() * ask.period
    return ask.took([block, block + units], 1, 0, [0, int(rest)])


def _largest(holds, most):
    """The largest number up to most that holds; 0: not even 1."""
    good, bad = 0, 1
    while bad <= most and holds(bad):
        good, bad = bad, 2 * bad
    if bad > most:
        return good if good == most or not holds(most) else most
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def _basics(ask, found):
    """Whether anything is kept, and how long an answer takes."""
    times = [t for t in (_again(ask) for _ in range(2 * VOTES)) if t is not None]
    found.kept = bool(np.mean(np.array(times) < ask.period / 4) > 0.5) if times else None
    found.ahead = ask.often(lambda: _ahead(ask, 1), 2 * VOTES)
    found.reads = bool(found.kept or found.ahead) if found.kept is not None else None
    if not found.reads:
        return
    if not found.kept:
        times = [_ahead(ask, 1) for _ in range(VOTES)]
    found.hit_ns = float(np.median([t for t in times if t is not None and t < ask.period / 4]))
    ask.limit_ns = min(SLOW * found.hit_ns + LATE_NS, ask.limit_ns)


def _transfer(ask, found):
    """What a unit more of a cached read takes."""
    if not found.kept:
        return
    most = min(ask.dev.longest, 64)
    block = ask.place(most)
    sizes = np.unique(np.linspace(1, most, 8).astype(int))
    times = [ask.took([block, block], [most, size]) for size in sizes]
    if len(sizes) > 2 and None not in times and max(times) < ask.period / 2:
        found.unit_ns = max(float(np.polyfit(sizes, times, 1)[0]), 0.0)


def _before_end(ask, name):
    """A block some units before the end of a track, which is that of a cylinder, or is
    not; None if none is found."""
    for _ in range(20):
        block = ask.place(MOST_AHEAD)
        reach = min(block + 3 * ask.layout.heads * 1000, ask.dev.blocks - 1)
        tracks = ask.layout.tracks(block, reach)[:2 * ask.layout.heads + 2]
        ends = np.diff(tracks["cyl"]) != 0
        good = np.flatnonzero((ends == (name == "cylinder")) & (tracks["count"][:-1] > BEFORE) &
                              (tracks["count"][1:] > BEFORE))
        if len(good):
            track = tracks[good[ask.random.integers(len(good))]]
            return int(track["first"] + track["count"]) - BEFORE
    return None


def _extent(ask, found):
    """How far a drive reads on, and whether ends stop it."""
    if not found.ahead:
        return
    most = min(MOST_AHEAD, ask.dev.blocks // 4)
    found.ahead_units = _largest(lambda units: ask.often(lambda: _ahead(ask, units)), most)
    if ask.layout is None or found.ahead_units < 2 * BEFORE:
        return
    for name in ("track", "cylinder"):
        starts = [_before_end(ask, name) for _ in range(VOTES)]
        if None not in starts and \
                not ask.often(lambda left=starts: _ahead(ask, 2 * BEFORE, left.pop())):
            found.ahead_ends = name
            break


def _segments(ask, found):
    """After how many reads elsewhere the first is forgotten; the mode page's number is
    tried first."""
    off = 0 if found.kept else 1
    # what is read ahead has to have come; on a drive that keeps it, at once
    wait = int(off * AHEAD_TURNS * ask.period)

    def kept(count):
        blocks = [ask.place() for _ in range(count)]
        return ask.took(blocks + [blocks[0] + off], 1, 0, [0] + [wait] * count)

    def holds(count):
        return ask.often(lambda: kept(count), 3)

    said = found.page_segments
    if said and holds(said) and not holds(said + 1):
        found.segments = said
    else:
        found.segments = _largest(holds, MOST_SEGMENTS)


def _kept(ask, found, flags, op=READ):
    """How long a command takes of a block that the cache holds."""
    if found.kept:
        return _again(ask, flags, op)
    block = ask.place()
    return ask.took([block, block + 1], 1, [0, flags],
                    [0, int((AHEAD_TURNS + ask.random.random()) * ask.period)], [READ, op])


def _honesty(ask, found):
    """FUA and VERIFY of what the cache holds. A turn's remainder may be short: most of
    several commands must have taken longer than the cache does."""
    if found.reads:
        found.fua_honest = not ask.often(lambda: _kept(ask, found, FUA), 2 * VOTES)
    fresh = ask.share(lambda: ask.took([ask.place(), ask.place()], op=[READ, VERIFY]), 2 * VOTES)
    if fresh is None:
        found.verify = "refused"
    elif fresh > 0.7:
        found.verify = "nothing"
    elif found.reads:
        kept = ask.often(lambda: _kept(ask, found, 0, VERIFY), 2 * VOTES)
        found.verify = "cache" if kept else "medium"
    else:
        found.verify = "medium"


def _writes(ask, found, destructive):
    """The write cache, by its mode page, and by its timing."""
    try:
        page = Pages(ask.dev).read(0x08)
    except Refused:
        page = None
    if page is not None and len(page) > 2:
        found.write_cache = bool(page[2] & 0x04)
        found.page_segments = page[13] if len(page) > 13 else None
    if destructive:
        found.write_cache_timed = ask.often(lambda: _again(ask, 0, WRITE))


def measure(dev, period_ns, layout=None, destructive=False, seed=1):
    """A drive's caches. layout, if known, tells where reading ahead ends; destructive:
    zeros may be written to blocks anywhere."""
    ask, found = _Asker(dev, period_ns, layout, seed), Cache()
    _basics(ask, found)
    _honesty(ask, found)
    _writes(ask, found, destructive)
    if found.reads:
        _transfer(ask, found)
        _extent(ask, found)
        _segments(ask, found)
    return found
