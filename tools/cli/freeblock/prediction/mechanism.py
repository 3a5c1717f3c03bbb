# SPDX-License-Identifier: GPL-2.0
"""The disk mechanism (4.1): the time of a random request that no cache answers, from its arrival at
an idle drive to its report, as a distribution: eq. 1, 2, 4 and 5, with zones, switches of track,
zero-latency access, overheads and the bus, which the paper leaves out.
"""

import numpy as np

from . import seek
from .device import SECTOR
from .distribution import STEP, Dist

ALIGNED = 4096          # bytes
SIZES = 4               # sizes that stand for a distribution of sizes
SPLITS = 4              # places where a track's end divides a request


def gamma_nodes(mean, cv2, count=SIZES):
    """(values, weights) with the first 2 * count - 1 moments of the gamma distribution with
    that mean and squared coefficient of variation: Gauss's rule from the recurrence of
    Laguerre's polynomials (Golub and Welsch, 1969)."""
    if cv2 <= 0:
        return np.array([float(mean)]), np.ones(1)
    alpha = 1 / cv2 - 1
    i = np.arange(count)
    beside = np.sqrt(i[1:] * (i[1:] + alpha))
    values, vectors = np.linalg.eigh(np.diag(2 * i + alpha + 1) + np.diag(beside, 1) +
                                     np.diag(beside, -1))
    return values * cv2 * mean, vectors[0] ** 2


def _late(margin, spread):
    """Chance that Laplace's noise of a standard deviation exceeds a margin."""
    if not spread:
        return (margin < 0) * 1.0
    tail = np.exp(-np.abs(margin) / spread * np.sqrt(2)) / 2
    return np.where(margin >= 0, tail, 1 - tail)


class Mechanism:
    """A device under a workload. Times are Dists or s. read: True, False, or None for the
    workload's mixture."""

    def __init__(self, device, workload, step=STEP):
        self.device, self.workload, self.step = device, workload, step
        self.turn = device.revolution_time
        weights = device.zone_weights(workload)
        self.zones = np.flatnonzero(weights > 0)
        self.weights = weights[self.zones]
        self.sectors = device.zones.sectors_per_track[self.zones]
        self.sizes = gamma_nodes(workload.request_size, workload.request_size_cv2)
        self._kept = {}

    def _once(self, key, make):
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _either(self, read, make):
        """make(True), make(False), or their mixture."""
        share = self.workload.read_fraction
        if read is not None or share in (0, 1):
            return make(share > 0 if read is None else bool(read))
        return Dist.mix((share, 1 - share), (make(True), make(False)))

    # the host's side

    def _overheads(self, read):
        """(behind a read, behind a write), s."""
        device = self.device
        usual, other = (device.read_overhead, device.read_overhead_after_write) if read else \
            (device.write_overhead, device.write_overhead_after_write)
        return usual, usual if other is None else other

    def overhead(self, read=True):
        """s, mean: from the arrival at an idle drive until the arm moves."""
        usual, other = self._overheads(read)
        return self.workload.read_fraction * usual + (1 - self.workload.read_fraction) * other

    @property
    def overhead_behind_write(self):
        """s: of a write behind a write."""
        return self._overheads(False)[1]

    def report(self, read=True):
        """s, mean: from the last sector's end to the report."""
        return self.device.read_report if read else self.device.write_report + self.read_first

    @property
    def read_first(self):
        """s: a write that covers a physical block in part reads it before, and writes it a turn
        later. Requests of less than a block, or always of parts of one, are taken to do so each
        time; others are aligned."""
        load, block = self.workload, self.device.block
        parts = not load.request_size_cv2 and load.request_size % block
        return self.turn if load.request_size < block or parts else 0.0

    # seeks

    def seek(self, n=1, read=None):
        """Dist of the move to one of n random requests, eq. 2 and 4, settling included."""
        return self._either(read, lambda r: self._once(
            ("seek", n, r), lambda: seek.move(self.device, self.workload, n, not r, self.step)))

    @property
    def pending_of_stride(self):
        """The n of eq. 4 whose mean distance C / (n + 2) is the workload's run stride less the
        run (4.5's run_stride read backwards); 1 if it has none."""
        stride = self.workload.run_stride
        if stride is None:
            return 1.0
        run = self.workload.run_length or self.workload.request_size
        # a stride backwards, over the run it begins with, is as long a seek
        gap = max(abs(stride - run), self.workload.request_size)
        return max(self.workload.data_span / gap - 2, 0.0)

    # rotation and transfer

    @property
    def aligned(self):
        """Bytes that requests begin at multiples of: 4096, as file systems have it, if their size
        is a multiple of that, else the disk's blocks."""
        whole = self.workload.request_size % ALIGNED == 0 and not self.workload.request_size_cv2
        return ALIGNED if whole else self.device.block

    def gaps(self, read=True):
        """[(share, gap, switch)], turns by zone, of the kinds of track's ends: from there to the
        next track's first sector, and to where the head can read again. The gap is the skew, and
        turns more where the switch takes longer; seeks vary."""
        device, zones = self.device, self.device.zones
        settle = 0.0 if read else device.write_settle
        found = []
        for share, skew, took in ((1 - 1 / device.heads, zones.track_skew, device.track_switch),
                                  (1 / device.heads, zones.cylinder_skew, device.cylinder_switch)):
            switch = max(took + settle, 0.0) / self.turn
            skew = skew[self.zones] + zones.slipped[self.zones]
            gap = skew + np.ceil(np.maximum(switch - skew, 0.0))
            found.append((share, gap, switch))
        share, gap, switch = found.pop()
        late = _late(gap - switch, device.seek_spread / self.turn)
        early = _late(1 - gap + switch, device.seek_spread / self.turn)
        return found + [(share * (1 - late - early), gap, switch), (share * late, gap + 1, gap),
                        (share * early, gap - 1, gap - 1)]

    def switch(self, read=True):
        """s by zone, mean: from a track's end to the next one's first sector."""
        return self.turn * sum(share * gap for share, gap, _ in self.gaps(read))

    def _switches(self, sectors):
        """By zone, mean: how many tracks' ends are amid so many sectors."""
        unit = max(self.aligned, self.device.block) / SECTOR
        unit = np.where(self.sectors % unit < 1e-6, unit, 1.0)
        return np.maximum(sectors - unit, 0.0) / (self.sectors *
                                                  (1 - self.device.zones.slipped[self.zones]))

    def _held(self, sectors, read):
        """s by zone that the bus takes longer than the medium, as it is slower or waits."""
        bus, share = SECTOR / self.device.bus_rate, self.device.bus_watermark
        medium = sectors * self.turn / self.sectors
        if not read:
            return np.zeros_like(medium)
        return np.maximum(np.maximum(sectors * bus - medium, sectors * bus - (1 - share) * medium
                                     if share else 0.0) - bus, 0.0)

    def transfer(self, read=None):
        """Dist of TT[request_size]: the sectors, and switches of track amid them, from the instant
        the first is under the head."""
        return self._either(read, self._transfer)

    def _transfer(self, read):
        values, weights = self.sizes
        least, shares = [], []
        for size, weight in zip(values / SECTOR, weights):
            ends = self._switches(size)
            for more in (0, 1):
                part = ends % 1 if more else 1 - ends % 1
                least.append(size * self.turn / self.sectors +
                             (np.floor(ends) + more) * self.switch(read))
                shares.append(weight * part * self.weights)
        return Dist.of(np.ravel(least), np.ravel(shares), self.step)

    def access(self, read=True):
        """Dist of the time from the head's landing on the track to the last sector's end on the
        bus: rotational latency (eq. 5) and transfer jointly."""
        parts = []
        for size, weight in zip(self.sizes[0] / SECTOR, self.sizes[1]):
            held = self._held(size, read)
            parts += [(weight * self.weights * share, low * self.turn + held,
                       high * self.turn + held) for share, low, high in self._landings(size, read)]
        share, low, high = (np.ravel(column) for column in zip(*parts))
        return Dist.spread(low, high, share, self.step)

    def _landings(self, sectors, read):
        """[(share, least, most turns)], by zone, of an access whose landing is anywhere. With
        zero-latency access the head that lands amid the sectors of a track has them a turn
        later."""
        turns, ends = sectors / self.sectors, self._switches(sectors)
        crossing = np.minimum(ends, 1.0)
        if not self.device.zero_latency:
            switch = self.switch(read) / self.turn
            return [(1 - ends % 1, turns + np.floor(ends) * switch,
                     1 + turns + np.floor(ends) * switch),
                    (ends % 1, turns + (np.floor(ends) + 1) * switch,
                     1 + turns + (np.floor(ends) + 1) * switch)]
        found = [((1 - crossing) * (1 - turns), turns, 1 + 0 * turns),
                 ((1 - crossing) * turns, 1 + 0 * turns, 1 + 0 * turns)]
        for place in (np.arange(SPLITS) + 0.5) / SPLITS:
            first = place * np.minimum(turns, 1.0)
            for kind, gap, move in self.gaps(read):
                share, rest = crossing / SPLITS * kind, self._rest(turns - first, ends, gap, move)
                found += [(share * (1 - first), first + rest, 1 + rest),
                          (share * first, 1 + rest, 1 + first + rest)]
        return [(np.maximum(share, 0.0), low, high) for share, low, high in found]

    @staticmethod
    def _rest(turns, ends, gap, move):
        """Turns by zone, with zero-latency access, from a first track's end to a request's: whole
        tracks take a turn each wherever the head lands, and so does a part that it lands in."""
        whole = np.floor(np.minimum(turns, np.maximum(ends - 1, 0.0)))
        last = turns - whole
        missed = 1 + move - gap         # of the last part, that passes before the head is there
        inside = (missed > 1e-9) & (missed < last)
        return whole * (1 + move) + np.where(inside, 1 + move, gap + last)

    def rotation(self):
        """Dist of the rotational latency RL of a random request, eq. 5: even over a turn; with
        zero-latency access what a landing in the transfer saves of it is taken off."""
        if not self.device.zero_latency:
            return Dist.uniform(0, self.turn, self.step)
        share = float(self.weights @ np.minimum(
            self.workload.request_size / SECTOR / self.sectors, 1.0))
        return Dist.mix((1 - share, share), (
            Dist.uniform(0, (1 - share) * self.turn, self.step),
            Dist.constant((1 - share) * self.turn, self.step)))

    # whole requests

    def data(self):
        """s until the data of a write have come so far that the head may begin."""
        bus, size = SECTOR / self.device.bus_rate, self.workload.request_size / SECTOR
        medium = self.turn / float(self.weights @ self.sectors)
        return size * bus if self.device.zero_latency else \
            bus + (size - 1) * max(bus - medium, 0.0)

    def random(self, n=1, read=None):
        """Dist of Mech_Service_Time, eq. 1, of one of n randomly placed requests, from its arrival
        at an idle drive to its report."""
        def make(r):
            landing = self.seek(n, r) if r else self.seek(n, r).at_least(self.data())
            dist, share = landing.convolve(self.access(r)), self.workload.read_fraction
            return Dist.mix((share, 1 - share), [dist.shift(each + self.report(r))
                                                 for each in self._overheads(r)])
        return self._either(read, lambda r: self._once(("random", n, r), lambda: make(r)))

    def positioning(self):
        """Dist of ST + RL of a random read (eq. 9)."""
        return self._once("position", lambda: self.seek(1, True).convolve(self.rotation()))
