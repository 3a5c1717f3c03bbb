# SPDX-License-Identifier: GPL-2.0
"""What a drive keeps, and whether commands that should go to the medium do. To be asked while the
caches are as the drive has them in use, not as they are switched for measuring.

A read that the cache answers takes as long as the electronics; one that it does not,
of a block that has just been read, takes a turn: its block has gone by. Each question
is put several times, at blocks that were not read before.
"""

from dataclasses import asdict, dataclass

import numpy as np

from .device import FUA, READ, VERIFY

VOTES = 10
AHEAD_TURNS = 3         # that a drive gets for reading ahead
SLOW = 1.5              # times that an answered read may take
LATE_NS = 150e3         # and in addition
MOST_FRESH = 0.7        # of VERIFYs of blocks that no cache has, that may be as fast as a cache


@dataclass
class Cache:
    """What was found; None: cannot be told. kept: a block that was read is; ahead: those behind it
    are, too. verify: "medium", "cache", "nothing" (it comes back before any medium could have been
    read) or "refused"."""

    reads: bool = None
    kept: bool = None
    ahead: bool = None
    fua_honest: bool = None
    verify: str = None

    def as_dict(self):
        """For JSON."""
        return asdict(self)

    def lines(self):
        """For people."""
        found = ["read cache: %s" % _word(self.reads)]
        if self.reads:
            found.append("reads ahead: %s" % _word(self.ahead))
            found.append("a read with FUA goes to the medium: %s" % _word(self.fua_honest))
        found.append("VERIFY: " + {
            None: "cannot be told", "refused": "refused by the drive",
            "medium": "reads the medium" + ("" if self.reads else " (and there is no cache)"),
            "cache": "of what is in the cache does NOT read the medium",
            "nothing": "does NOT read the medium"}[self.verify])
        return found


def _word(value):
    return {None: "cannot be told", True: "yes", False: "no"}[value]


class _Asker:
    """Puts the questions to a drive. limit_ns: what a cache answers takes no longer."""

    def __init__(self, dev, period_ns, seed):
        self.dev, self.period, self.limit_ns = dev, period_ns, period_ns / 8
        self.random = np.random.default_rng(seed)

    def block(self):
        """A block that was not read before, with some behind it."""
        return int(self.random.integers(0, self.dev.blocks - 1))

    def took(self, blocks, flags=0, waits=0, op=READ):
        """ns that the last of some commands takes; None if one fails."""
        found = self.dev.run(self.dev.ops(blocks, 1, flags, waits, op))
        if np.any(found["status"] != 0):
            return None
        return float(found["done"][-1] - found["submit"][-1])

    def again(self, flags=0, op=READ):
        """A command for a block that was just read."""
        block = self.block()
        return self.took([block, block], [0, flags], 0, [READ, op])

    def behind(self, flags=0, op=READ):
        """The same for the block behind one that was read some turns ago."""
        block = self.block()
        rest = int((AHEAD_TURNS + self.random.random()) * self.period)
        return self.took([block, block + 1], [0, flags], [0, rest], [READ, op])

    @staticmethod
    def times(question):
        """Its answers, those that came."""
        times = [question() for _ in range(VOTES)]
        return np.array([time for time in times if time is not None])

    def fast(self, question):
        """The share of its answers that may be a cache's; None: there are none."""
        times = self.times(question)
        return float(np.mean(times < self.limit_ns)) if len(times) else None

    def often(self, question):
        """Whether most may."""
        share = self.fast(question)
        return None if share is None else share > 0.5


def _reads(ask, found):
    """Whether anything is kept, and how long an answer takes."""
    times = ask.times(ask.again)
    found.kept = bool(np.mean(times < ask.period / 4) > 0.5) if len(times) else None
    found.ahead = ask.often(ask.behind)
    found.reads = bool(found.kept or found.ahead) if found.kept is not None else None
    if found.reads:
        times = times if found.kept else ask.times(ask.behind)
        hit_ns = np.median(times[times < ask.period / 4])
        ask.limit_ns = min(SLOW * hit_ns + LATE_NS, ask.limit_ns)


def _honesty(ask, found):
    """FUA and VERIFY of what the cache holds. A turn's remainder may be short: most of
    several commands must have taken longer than the cache does."""
    held = ask.again if found.kept else ask.behind
    if found.reads:
        found.fua_honest = not ask.often(lambda: held(FUA))
    fresh = ask.fast(lambda: ask.took([ask.block(), ask.block()], op=[READ, VERIFY]))
    if fresh is None:
        found.verify = "refused"
    elif fresh > MOST_FRESH:
        found.verify = "nothing"
    else:
        kept = found.reads and ask.often(lambda: held(0, VERIFY))
        found.verify = "cache" if kept else "medium"


def measure(dev, period_ns, seed=1):
    """A drive's caches."""
    ask, found = _Asker(dev, period_ns, seed), Cache()
    _reads(ask, found)
    _honesty(ask, found)
    return found
