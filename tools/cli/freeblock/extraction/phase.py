# SPDX-License-Identifier: GPL-2.0
"""How fast a drive's platters turn, and what is under the head when a read ends.

A turn is measured by reading one block over and over: each read ends when the
block has passed under the head, so the ends lie whole turns apart, whatever the
drive or the host did in between. They are reported late, never early: the lower
edge of what is seen is the truth. Groups of such reads (*anchors*), the gaps
between them growing only as fast as the number of turns in a gap is beyond
doubt, give the period without anything that the drive says of itself.

Angles are turns, 0 where the reference block ends. Every read of one unit ends a
constant time after its block's end has passed, so that time is no part of them.

    phase = Phase.measure(dev)
    angle = phase.turns(dev.run(dev.ops(blocks))["done"])   # late, never early
    phase.refresh(dev)                                      # every few seconds
"""

import numpy as np

from .. import ToolError

FIRST_READS = 24        # of the first group: the period to about 100 ppm
TRIED = 8               # blocks, to find one that can be read
PERIOD_NS = (0.9e6, 110e6)      # what drives have, and a little more
SURE_TURNS = 0.15       # error of a gap up to which its turns are beyond doubt
GROWTH = 4              # times the measured time a gap has at most
SURE_BEND = 15          # F of a parabola against a line that chance does not reach
DOUBT_S = 60            # a gap so long may have changed the period, too
# A line, and a parabola: a period that drifts 200 ppm an hour moves the phase by
# 25 us in half a minute, but only 0.1 us away from a parabola over a minute.
WINDOW_S = 30
AGAIN_S = 5.0           # for measuring anew after that
NOISE_NS = 30e3         # spread of the ends up to which ten reads show their edge
CLOCK_NS = 500          # what host clocks and drives' own are good for


def wrap(turns):
    """Into -0.5 .. 0.5."""
    return turns - np.round(turns)


def _ends(dev, block, count, wait=0):
    """Instants at which `count` reads of a block ended, the first `wait` ns after
    the operation before, and not counted: it alone may have met the head in the
    midst of the block, after which some drives end in its midst, too."""
    waits = np.zeros(count + 1, dtype=np.uint64)
    waits[0] = int(wait)
    found = dev.run(dev.ops(np.full(count + 1, block), wait=waits))
    good = found["status"] == 0
    good[0] = False
    if np.count_nonzero(good) < 3:
        raise ToolError("block %d, which is to tell the angle, cannot be read (status %d, "
                        "ASC 0x%02x)" % (block, found["status"][-1], found["asc"][-1]))
    # what was read again comes later
    return np.sort(found["done"][good].astype(np.float64))


def _readable(dev):
    """The first block from the middle on, by steps, that can be read."""
    middle, step = dev.blocks // 2, max(dev.blocks // 64, 1)
    for block in range(middle, min(middle + TRIED * step, dev.blocks), step):
        if dev.run(dev.ops(block))["status"][0] == 0:
            return block
    return middle


def lower_edge(late):
    """What would be if nothing were late; far outliers on either side apart."""
    late = np.sort(late)
    middle = np.median(late)
    width = np.median(np.abs(late - middle))
    return late[late >= middle - max(5 * width, CLOCK_NS)][0]


def _period_of(ends):
    """The period that the ends of reads back to back show, and how sure, ns."""
    steps = np.diff(ends)
    if np.median(steps) < PERIOD_NS[0]:
        raise ToolError("reads of one block end %.0f us after each other: they do not come "
                        "from the medium" % (np.median(steps) / 1e3))
    shortest = np.sort(steps)[len(steps) // 8]
    # step by step: others may have come in between
    steps = np.round(steps / np.median(steps[steps < 1.25 * shortest]))
    turns = np.concatenate(([0], np.cumsum(steps)))
    slope, _ = np.polyfit(turns, ends, 1)
    off = ends - ends[0] - slope * turns
    noise = 1.5 * np.median(np.abs(off - np.median(off)))
    keep = np.abs(off - np.median(off)) <= 4 * noise + CLOCK_NS
    if np.count_nonzero(keep) * 4 < len(keep) * 3 or np.ptp(turns[keep]) < 4:
        raise ToolError("reads of one block do not end whole turns apart")
    slope, _ = np.polyfit(turns[keep], ends[keep], 1)
    spread = np.std(turns[keep]) * np.sqrt(np.count_nonzero(keep))
    return slope, 3 * (noise + CLOCK_NS) / spread


def _polynomial(t, values, degree):
    """Value and slope at 0 of a polynomial through points, and what is left of them."""
    powers = t[:, None] ** np.arange(degree + 1)
    found = np.linalg.lstsq(powers, values, rcond=None)[0]
    return found[0], found[1], values - powers @ found


class Phase:
    """What is under the head, as long as refresh() is called now and then. A gap of
    more than a minute costs the count of turns, which nobody needs, and five seconds;
    what ended before it has to be asked about before it.

    block: the reference; period_ns, period_err_ppm: of all that was measured, or of
    the last minute if the drive's speed drifts; local_ns: of the last minute."""

    def __init__(self, block, reads):
        self.block = block
        self.reads = reads
        self.late = []          # ns, of each read of an anchor
        self.at = []            # the anchors: ns
        self.count = []         # their turns
        self.flat = np.zeros(0)         # their turns, smoothed
        self.local_ns = 0.0     # the period now
        self.local_err_ppm = 0.0

    @classmethod
    def measure(cls, dev, block=None, seconds=20.0, reads=10):
        """From nothing, in about `seconds`, of which the drive waits for commands
        most; groups have `reads` reads, more where the host's noise needs them."""
        phase = cls(_readable(dev) if block is None else int(block), reads)
        phase._begin(dev)
        phase._grow(dev, seconds)
        return phase

    @property
    def late_ns(self):
        """Nine of ten reads are not reported later than that."""
        return float(np.quantile(np.concatenate(self.late), 0.9)) if self.late else 0.0

    def _begin(self, dev):
        """The first anchor, and the period it shows."""
        ends = _ends(dev, self.block, FIRST_READS)
        period, err = _period_of(ends)
        self.local_ns = self._divided(dev, period)
        self.local_err_ppm = 1e6 * err / self.local_ns
        self.at, self.count, self.flat = [], [], np.zeros(0)
        # as many as the others, whose edges are off as far
        self._add(ends[:self.reads])
        wanted = self.reads * self.late_ns / NOISE_NS
        self.reads = int(np.clip(wanted, self.reads, FIRST_READS))

    def _divided(self, dev, period):
        """A drive that is slow to answer needs two turns for each read: reads that
        begin anywhere end whole turns apart, too."""
        waits = (period * np.array([0, .2, .4, .6, .8, 1.2, 1.4, 1.6, 1.8])).astype(np.uint64)
        found = dev.run(dev.ops(np.full(len(waits), self.block), wait=waits))
        turns = np.diff(found["done"].astype(np.float64))[1:] / period
        for parts in (1, 2, 3):
            if np.median(np.abs(wrap(turns * parts))) < 0.05:
                return period / parts
        raise ToolError("reads of one block do not end whole turns apart: %s" %
                        " ".join("%.2f" % t for t in turns))

    def _add(self, ends):
        """An anchor of the ends of a group of reads."""
        turns = (ends - ends[0]) / self.local_ns
        middle = np.angle(np.mean(np.exp(2j * np.pi * turns))) / (2 * np.pi)
        off = wrap(turns - middle) * self.local_ns
        edge = lower_edge(off)
        late = off - edge
        self.late.append(late[late >= 0])
        # whole turns on, so that it is near what it was made of
        at = ends[0] + middle * self.local_ns + edge
        at += np.round((np.median(ends) - at) / self.local_ns) * self.local_ns
        last = self.count[-1] if self.count else 0
        gap = np.round((at - self.at[-1]) / self.local_ns) if self.count else 0
        self.at.append(at)
        self.count.append(last + gap)
        self._smooth()

    def _edge_ns(self):
        """How far a group's lower edge is off."""
        return max(self.late_ns * 1.5 / self.reads, CLOCK_NS / 2)

    def _grow(self, dev, seconds):
        """Anchors ever farther apart."""
        while self.at[-1] - self.at[0] < seconds * 1e9:
            sure = SURE_TURNS * self.local_ns / (self.local_err_ppm * 1e-6)
            span = max(self.at[-1] - self.at[0], FIRST_READS * self.local_ns)
            gap = min(sure, GROWTH * span, max(seconds * 1e9 / 8, self.local_ns))
            self._add(_ends(dev, self.block, self.reads, gap))

    def _curve(self, pick, origin):
        """A line through anchors, a parabola if a line does not fit: turns at the
        origin, the period there and its error in ppm."""
        t = (np.array(self.at)[pick] - origin) * 1e-9
        n = np.array(self.count)[pick]
        base = n[0] - np.round(t[0] * 1e9 / self.local_ns)
        rest = n - base - t * 1e9 / self.local_ns
        slope, curved = 0.0, False
        turns, left = rest[-1], np.zeros(1)
        if len(t) > 1:
            turns, slope, left = _polynomial(t, rest, 1)
        if len(t) > 5:
            bent = _polynomial(t, rest, 2)
            curved = np.sum(left ** 2) > (1 + SURE_BEND / (len(t) - 3)) * np.sum(bent[2] ** 2)
        if curved:
            turns, slope, left = bent
        noise = np.sqrt(np.sum(left ** 2) / max(len(t) - 2, 1)) * self.local_ns
        # at its end a parabola is four times as uncertain as a line
        spread = np.std(t) * np.sqrt(len(t)) / (4 if curved else 1)
        err = max(noise, self._edge_ns()) * 1e-3 / spread if spread else self.local_err_ppm
        return base + turns, 1 / (1 / self.local_ns + slope * 1e-9), err

    def _smooth(self):
        """Take the newest anchor in: its neighbours' phase, and the period now."""
        at = np.array(self.at)
        self.flat = np.concatenate((self.flat, [self.count[-1]]))
        for i in np.flatnonzero(at >= at[-1] - WINDOW_S * 1e9):
            self.flat[i] = self._curve(np.abs(at - at[i]) <= WINDOW_S * 1e9, at[i])[0]
        pick = at >= min(at[-1] - 2 * WINDOW_S * 1e9, at[max(len(at) - 5, 0)])
        _, self.local_ns, self.local_err_ppm = self._curve(pick, at[-1])

    def _overall(self):
        """The period and its error, of all anchors if the drive's speed was the same."""
        at = np.array(self.at)
        everything = np.ones(len(at), dtype=bool)
        _, early, err = self._curve(everything, at[0])
        _, late, _ = self._curve(everything, at[-1])
        if abs(late / early - 1) < 1e-9 and err < self.local_err_ppm:
            return late, err
        return self.local_ns, self.local_err_ppm

    @property
    def period_ns(self):
        """A turn, ns."""
        return self._overall()[0]

    @property
    def period_err_ppm(self):
        """Its standard error."""
        return self._overall()[1]

    def turns(self, done_ns):
        """The angle at each of these instants, 0 to 1; between anchors what they say,
        beyond the last what the period now says."""
        done = np.asarray(done_ns, dtype=np.float64)
        count = np.interp(done, self.at, self.flat)
        after = self.flat[-1] + (done - self.at[-1]) / self.local_ns
        count = np.where(done > self.at[-1], after, count)
        if np.any(done < self.at[0]):
            # the period of all anchors is some work
            before = self.flat[0] + (done - self.at[0]) / self.period_ns
            count = np.where(done < self.at[0], before, count)
        return count % 1

    def refresh(self, dev):
        """Another anchor: a seek and about `reads` turns."""
        ends = _ends(dev, self.block, self.reads)
        if ends[0] - self.at[-1] > DOUBT_S * 1e9:
            self._begin(dev)
            self._grow(dev, AGAIN_S)
        else:
            self._add(ends)
