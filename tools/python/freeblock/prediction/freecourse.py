# SPDX-License-Identifier: GPL-2.0
"""The course of a whole scan in gaps and in idle time (Documentation/idle.rst). Not in the paper.

The data are taken in REGIONS equal parts. Foreground requests end anywhere in them. A gap reads
where it is, here and there, the less the more of that part has been read (freescan). An idle time
begins there, too. A drive that reads ahead goes on where idle reads have ended before; what gaps
have read of what it passes it passes in vain. When nothing is left of a part, idle times go to
the nearest that has something left. So parts with long tracks, which pass faster, are done first,
and what ends a scan are the inner ones: more requests meet idle reads on their way, the way back is
longer for all, and the threshold follows.
"""

from typing import NamedTuple

import numpy as np

from . import freegap, freeidle

REGIONS = 48
STEP = 0.02             # of a part: what a step of time reads of it at most
LEFT = 1e-3             # of a part, that is as good as nothing
# Of the goal of idle reads, what is made use of in the long run: without a write cache, with one
KEPT = {False: 0.72, True: 0.92}
# Without read-ahead the reads of a part get shorter, as gaps and other reads have left pieces, when
# less than so much of it is left: they bring that share's power of what they do at first. Set by
# the tenths of one whole scan of the Atlas 10K (68 requests/s, seed 1)
PIECES, SHORTER = 0.7, 0.6


class Course(NamedTuple):
    """Seconds of a whole scan; shares done, and the bytes/s from each on."""

    seconds: float
    done: np.ndarray
    rate: np.ndarray


class _State:
    """How far each part is: what idle reads have not passed, and of that, how much is wanted."""

    def __init__(self, device, idle):
        self.device = device
        zones, size = device.zones, device.capacity / REGIONS
        middle = (np.arange(REGIONS) + 0.5) * size
        track = zones.bytes / (device.zone_cylinders * device.heads)
        zone = np.searchsorted(zones.first_byte, middle, side="right") - 1
        self.size = size
        self.rate = track[zone] / device.track_bytes()      # of reading on, over the mean
        at = device.cylinder_of(middle)
        self.apart = np.abs(at[:, None] - at[None, :])
        seeks = freegap.seek_time(device, self.apart)
        self.away = seeks.mean(axis=0)          # s from each to where a request may be
        self.near = float(freegap.seek_time(device, device.cylinders / REGIONS / 4))
        self.pieces = bool(idle) and not idle.spread and not freeidle.reads_ahead(device)
        self.ahead = np.ones(REGIONS)
        self.wanted = np.ones(REGIONS)

    def left(self):
        """Of each part."""
        return self.ahead * self.wanted

    def begins(self):
        """(part in which idle times that begin in each read, freeidle.Begins)"""
        left = np.flatnonzero(self.ahead)
        to = left[self.apart[:, left].argmin(axis=1)]
        turn = self.device.revolution_time / 2
        more = np.where(self.ahead > 0, 0.0, 1.5 * turn + freegap.seek_time(
            self.device, self.apart[:, left].min(axis=1)))
        if freeidle.reads_ahead(self.device):
            # within a part, too, the head is where nothing is left, and what is begins somewhere
            more = np.where(self.ahead > 0, (1 - self.left()) * (self.near + turn), more)
        return to, freeidle.Begins(more, self.away[to] - self.away, self.rate[to])

    def brought(self, passed):
        """Bytes/s that idle reads bring of each part, which are at the medium for so many."""
        if freeidle.reads_ahead(self.device):
            return passed * self.wanted
        return passed * np.minimum(self.left() / PIECES, 1) ** SHORTER if self.pieces else passed

    def advance(self, idle, gaps):
        """Take a step in which idle reads and gaps bring so many bytes/s of each part; its
        seconds."""
        sweep = idle / self.size / np.maximum(self.wanted, LEFT)
        scattered = gaps / self.size / np.maximum(self.ahead, LEFT)
        step = STEP / float(np.max(sweep + scattered))
        self.ahead = np.maximum(self.ahead - sweep * step, 0)
        self.wanted = np.maximum(self.wanted - scattered * step, 0)
        self.ahead[self.left() < LEFT] = 0
        return step


def course(device, gaps, idle, awake=1.0):
    """The Course; None if it has no end. gaps: a function, bytes/s that gaps bring when such shares
    (an array) of all parts have been read; idle: a freeidle.Idle, None without idle reads; awake:
    share of the time that both hold for; in the rest nobody asks for anything."""
    state = _State(device, idle)
    pauses = freeidle.undisturbed(device) * (1 - awake)
    seconds, done, rates = 0.0, [], []
    while state.ahead.any():
        left = state.ahead > 0
        wanted = state.left() * state.rate
        read = awake * gaps(1 - state.left().mean()) * wanted / wanted.sum()
        passed = np.where(left, pauses * state.rate / left.sum(), 0)
        if idle:
            to, begins = state.begins()
            found = freeidle.idle_reads(device, idle, begins, KEPT[bool(idle.spread)]).rate
            passed += awake * np.bincount(to, found, REGIONS) / REGIONS
        brought = state.brought(passed)
        whole = float(np.sum(read + brought))
        if whole <= 0:
            return None
        done.append(1 - float(state.left().mean()))
        rates.append(whole)
        seconds += state.advance(brought, read)
    return Course(seconds, np.array(done), np.array(rates))
