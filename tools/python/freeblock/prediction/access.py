# SPDX-License-Identifier: GPL-2.0
"""From the head's landing on the first track to a transfer's end: rotation, sectors,
switches of track and cylinder with the skews that they wait for, zero-latency access,
a bus slower than the medium. Not in the paper, which has (5) and a mean rate.

A transfer is its first track's part, whole tracks, and the last one's part. Lengths are
in sectors of 512 bytes, times in turns of the platter; arrays have the axes zone, place
where the transfer begins, landing of the head, kind of course: the first switch is one of
tracks, and of later ones as few as can be or one more are of cylinders; it is one of
cylinders in time for the skew; it is one of cylinders, too late for it.
"""

import functools

import numpy as np

from .device import SECTOR
from .distribution import Dist, spread_rows

STARTS = 5              # places in a track where a transfer that crosses its end begins
LANDINGS = 12           # landings in a track's part (zero-latency access)
WAITS = 8               # landings anywhere, where data may be late
TRACKS_IN_TURN = 12     # whole tracks whose data may be late, one by one; then extrapolated


def _wrap(turns):
    """To [0, 1); what a rounding error makes nearly a turn is 0."""
    turns = turns - np.floor(turns)
    return np.where(turns > 1 - 1e-9, 0.0, turns)


def _share(values):
    """Within 0 to 1; np.clip() takes longer."""
    return np.minimum(np.maximum(values, 0.0), 1.0)


def _late(margin, spread):
    """Probability that Laplace noise of a standard deviation exceeds a margin, how much it is
    then on average, and how much otherwise."""
    if not spread:
        return (margin < 0) * 1.0, np.maximum(margin, 0), np.minimum(margin, 0)
    scale = spread / np.sqrt(2)
    tail = np.exp(-np.abs(margin) / scale) / 2
    chance = np.where(margin >= 0, tail, 1 - tail)
    # E[X; X > m] of Laplace's distribution is (|m| + scale) e^(-|m|/scale) / 2
    part = (np.abs(margin) + scale) * tail
    return chance, part / np.maximum(chance, 1e-12), -part / np.maximum(1 - chance, 1e-12)


def _axes(vector):
    """A vector over zones with the other axes."""
    return vector[:, None, None, None]


def _units(device, aligned):
    """By zone: how many of a request's sectors cannot be divided from it by a track's end,
    if requests begin at multiples of `aligned` sectors. Slips shift tracks against them."""
    zones = device.zones
    common = np.gcd(np.gcd(np.round(zones.sectors_per_track).astype(np.int64), zones.slip_unit),
                    int(aligned))
    begins = np.round(zones.first_byte / SECTOR).astype(np.int64) % common == 0
    return np.where(begins, common, 0)


class Tracks:
    """A device's tracks under a workload: what transfers need of them, prepared once.
    groups: to which row each of the zones belongs that `weights` are over; aligned: what
    requests begin at multiples of, bytes."""

    def __init__(self, device, weights, groups, read=True, aligned=SECTOR):
        zones, keep = device.zones, weights > 0

        def merged(values):
            return np.bincount(groups, values[keep] * weights[keep]) / self.weights

        self.weights = np.bincount(groups, weights[keep])
        self.sectors = 1 / merged(1 / zones.sectors_per_track)
        self.blocks = self.sectors * SECTOR / device.block
        self.turn, self.heads, self.read = device.revolution_time, device.heads, read
        self.hole = merged(zones.slipped)
        self.zero_latency = device.zero_latency
        self.unit = merged(_units(device, max(aligned, device.block) / SECTOR))
        self.bus = SECTOR / device.bus_rate / self.turn
        self.watermark = device.bus_watermark if read else 0.0
        track, cylinder = merged(zones.track_skew), merged(zones.cylinder_skew)
        self.skews = np.stack([track, track, cylinder, cylinder], axis=1) + self.hole[:, None]
        self._switches(device, 0.0 if read else device.write_settle)

    def _switches(self, device, settle):
        """first (is the first switch of that kind), switches: [zone, kind]; late: of a switch
        of cylinders, [zone]."""
        track = max(device.track_switch + settle, 0.0) / self.turn
        usual = max(device.cylinder_switch + settle, 0.0) / self.turn
        margin = _wrap(self.skews[:, 2] - usual)
        # nearer to the turn before: usually just missed
        margin = np.where(margin > 0.5, margin - 1, margin)
        late, more, less = _late(margin, device.seek_spread / self.turn)
        # noise does not make a switch of heads shorter
        self.late = np.where(device.head_changes & (track > usual + margin + 1e-9), 1.0, late)
        plain = np.full_like(margin, track)
        self.switches = np.stack([plain, plain, usual + np.minimum(less, margin),
                                  usual + np.maximum(more, margin + 1e-6)], axis=1)

    @functools.cached_property
    def gaps(self):
        """(to another track, to another cylinder), vectors over zones: from a whole track's
        end to the next one's first sector; with zero-latency access to the next sector."""
        wait = _wrap(self.skews - self.switches)
        if self.zero_latency:
            wait = _wrap(wait * self.blocks[:, None]) / self.blocks[:, None]
        gap = self.switches + wait
        return gap[:, 0], gap[:, 2] * (1 - self.late) + gap[:, 3] * self.late

    @property
    def slow_bus(self):
        """Whether the medium is faster than the bus, in some zone."""
        return bool(np.any(self.bus * self.sectors > 1))


class _Course:
    """Transfers under way: position (turns from the angle of the first wanted sector of the
    track), time since the landing, when the bus has carried what was read; clock: at the
    landing, since a write's data began to come; None if they are there (turns)."""

    def __init__(self, tracks, count, position, clock):
        self.tracks, self.position, self.clock = tracks, position, clock
        self.time, self.bus = np.zeros_like(position), np.zeros_like(position)
        self.beyond = np.zeros_like(position)   # the head's angle past the part's end, in the end
        self.sectors, self.count, self.passed = _axes(tracks.sectors), count, 0.0

    def kept(self):
        """What switches and parts change."""
        return self.time, self.position, self.bus, self.beyond

    def only(self, some, before):
        """Where not `some`, all is as it was `before`."""
        self.time, self.position, self.bus, self.beyond = (
            np.where(some, now, then) for now, then in zip(self.kept(), before))

    def _await(self, length):
        """Until the data of the next `length` sectors are there, or will be as they are
        wanted; with zero-latency access all data must be."""
        if self.clock is None:
            return
        tracks = self.tracks
        if tracks.zero_latency:
            due = tracks.bus * self.count
        else:
            last = tracks.bus * (self.passed + length) - (length - 1) / self.sectors
            due = np.maximum(last, tracks.bus * (self.passed + 1))
        late = np.maximum(due - self.clock - self.time, 0.0)
        self.time, self.position = self.time + late, self.position + late
        self.passed = self.passed + length

    def part(self, length):
        """`length` sectors from the position 0 on pass; the head has just landed."""
        self._await(length)
        turns = length / self.sectors
        into = _wrap(self.position)
        wait = _wrap(-into)
        begins, passed, end = wait, wait + turns, turns + 0 * into
        if self.tracks.zero_latency:
            blocks = _axes(self.tracks.blocks)
            aligned = np.ceil(into * blocks - 1e-6) / blocks
            inside = (into > 0) & (aligned < turns - 1e-9)
            begins = np.where(inside, aligned - into, wait)
            passed = np.where(inside, begins + 1, passed)
            end = np.where(inside, aligned, end)
        begun = self.time + begins
        self.time, self.position, self.beyond = self.time + passed, end, _wrap(end - turns)
        self._send(begun, length)

    def _send(self, begun, length):
        bus = self.tracks.bus
        if self.tracks.read and bus > 0:
            self.bus = np.maximum(np.maximum(self.bus, begun + 1 / self.sectors) + bus * length,
                                  self.time + bus)

    def switch(self, length, switch, skew):
        """To the next track, whose sectors begin `skew` turns after the end of this one's
        part of `length` sectors."""
        self.time = self.time + switch
        self.position = _wrap(self.position + switch - length / self.sectors - skew)

    def whole(self, count, gap, skew, more, drift):
        """`count` whole tracks from a landing on; `count` - 1 switches amid them take `gap`
        each, and `more` in all for those of cylinders, after which the next track's first
        sector is `drift` turns farther back."""
        if self.clock is not None and not self.tracks.zero_latency:
            self._whole_late(count, skew, more)
            return
        into, hole = _wrap(self.position), _axes(self.tracks.hole)
        if self.tracks.zero_latency:
            blocks = _axes(self.tracks.blocks)
            wait, each = _wrap(-into * blocks) / blocks, 1.0
            end = into + wait + (count - 1) * (gap - skew + hole) + drift
        else:
            wait, each = _wrap(-into), 1 - hole
            end = each + 0 * into
        begun = self.time + wait
        self.time = begun + count * each + (count - 1) * gap + more
        self.position = _wrap(end)
        if self.tracks.read and self.tracks.bus > 0:
            bus, length, first = self.tracks.bus, self.sectors * each, begun + 1 / self.sectors
            # the first or the last track is the one that the bus waits for
            self.bus = np.maximum(np.maximum(self.bus, first) + bus * length * count,
                                  np.maximum(first + (count - 1) * (each + gap) + more +
                                             bus * length, self.time + bus))

    def _whole_late(self, count, skew, more):
        """The same where each track may have to wait for its data."""
        length = self.sectors * (1 - _axes(self.tracks.hole))
        switch = _axes(self.tracks.switches[:, 0])
        begun = self.time
        most = int(min(count.max(), TRACKS_IN_TURN))
        for i in range(most):
            before = self.kept() + (self.passed,)
            if i:
                self.switch(length, switch, skew)
            self.part(length)
            self.only(i < count, before[:-1])
            self.passed = np.where(i < count, self.passed, before[-1])
        left = np.maximum(count - most, 0)
        self.time = self.time + more + left * (self.time - begun) / max(most, 1)
        self.passed = self.passed + left * length


class Access:
    """Transfers of `count` sectors from a place that is even over the tracks' sectors."""

    def __init__(self, tracks, count):
        self.tracks, self.count = tracks, max(count, 1.0)
        self.size = tracks.sectors * (1 - tracks.hole)
        self.full = np.floor(self.count / self.size * (1 + 1e-12))
        self.rest = np.maximum(self.count - self.full * self.size, 0.0)
        # whoever begins less than `rest` sectors before a track's end is on one more track
        self.crossing = _share((self.rest - tracks.unit) / self.size)
        # and whole tracks may begin where tracks do
        self.fitting = np.where(self.full > 0, _share((tracks.unit - self.rest) / self.size), 0.0)

    def _starts(self):
        """[zone, start]: weights, lengths of the first track's part, of whole tracks (how
        many), of the last one's part."""
        size, rest, full = self.size[:, None], self.rest[:, None], self.full[:, None]
        at = (np.arange(STARTS) + 0.5) / STARTS
        even = np.full_like(rest * at, 1 / STARTS)
        low = np.minimum(self.tracks.unit[:, None], rest) / 2
        first = low + at * (rest - 2 * low)
        least = np.maximum(rest, low)
        long = np.where(full > 0, least + at * (size - least), self.count)
        split = (self.crossing[:, None] * even, first, full * np.ones_like(even), rest - first)
        fit = self.fitting[:, None]
        plain = ((1 - self.crossing[:, None] - fit) * even, long,
                 np.maximum(full - 1, 0) * np.ones_like(even),
                 np.where(full > 0, rest + size - long, 0.0))
        if not np.any(self.full):
            plain = [values[:, :1] for values in plain]
            plain[0] = 1 - self.crossing[:, None]
        whole = (fit, np.where(full > 0, size, self.count), np.maximum(full - 1, 0), 0 * fit)
        parts = (split, plain, whole) if np.any(fit) else (split, plain)
        return [np.concatenate(values, axis=1)[:, :, None, None] for values in zip(*parts)]

    def _go(self, course, starts):
        """The weights of a course's kinds, when it is at the end of its transfers."""
        weight, first, whole, last = starts
        course.part(first)
        if np.any((whole > 0) | (last > 0)):
            weight = weight * self._others(course, first, whole, last)
        return weight

    def _reported(self, course):
        """Turns until the medium or the bus is done, without a sector on the bus."""
        return np.maximum(np.maximum(course.time, course.bus - self.tracks.bus),
                          course.time + self._held_back())

    def elements(self, landing=None, clock=None):
        """(weights, least, most), arrays: even distributions, in turns, of the time from the
        landing to the last sector's end, or to what the bus is later.

        landing: its angle in turns past the first wanted sector's beginning, or None:
        anywhere. clock: [zone, how it may be] since when data have been coming; or None."""
        starts = self._starts()
        share, position, wide, clock = self._landings(starts[1] / _axes(self.tracks.sectors),
                                                      landing, clock)
        course = _Course(self.tracks, self.count, position, clock)
        weight = self._go(course, starts)
        end = self._reported(course)
        least = end - wide / 2 if course.clock is not None else end
        return weight * share + 0 * end, least, least + wide

    def _starts_behind(self):
        """As _starts(), of transfers that begin where one of as many sectors has ended; four
        more at a track's beginning, one for each kind of switch to it."""
        tracks, size = self.tracks, self.size[:, None]
        begins = np.minimum(tracks.unit[:, None] / size, 1.0)
        starts = [values[:, :, 0, 0] for values in self._starts()]
        if np.any(self.fitting):
            starts = [values[:, :-1] for values in starts]
        starts[0] = starts[0] / starts[0].sum(axis=1, keepdims=True) * (1 - begins)
        kinds = self._kinds(np.zeros_like(_axes(tracks.unit)))[0][:, 0, 0, :]
        full = self.full[:, None] * np.ones_like(kinds)
        there = (begins * kinds, np.where(full > 0, size, self.count),
                 np.maximum(full - 1, 0), np.where(full > 0, self.rest[:, None], 0.0))
        return [np.concatenate(pair, axis=1)[:, :, None, None] for pair in zip(starts, there)]

    def behind(self, landings):
        """(weights, turns, states), arrays with an axis for `landings`: angles in turns by which
        the head is past the end of a transfer of as many sectors when it is told to go on
        behind it. Times are until the report without a sector on the bus; states are the
        angles by which the head is past the end when its sectors are read or written."""
        tracks, starts = self.tracks, self._starts_behind()
        position = np.asarray(landings)[None, None, :, None] + self.lag()[:, None, None, None]
        position = position + 0 * starts[0]
        course = _Course(tracks, self.count, position,
                         None if tracks.read or not tracks.bus else np.zeros(1))
        kinds, size = tracks.switches.shape[1], starts[0].shape[1]
        course.time[:, size - kinds:] = tracks.switches[:, :, None, None]
        course.position[:, size - kinds:] += (tracks.switches - tracks.skews)[:, :, None, None]
        weight = self._go(course, starts)
        end = self._reported(course)
        return weight + 0 * end, end, course.beyond + 0 * end

    def lag(self):
        """Turns by zone that a read's report is later than its last sector's end by more than
        a sector on the bus, as the bus is slow: a mean."""
        tracks = self.tracks
        if not tracks.read or not (tracks.slow_bus or tracks.watermark):
            return 0.0 * tracks.sectors
        starts = self._starts()
        course = _Course(tracks, self.count, 0.0 * starts[0], None)
        weight = self._go(course, starts)
        return ((self._reported(course) - course.time) * weight).sum(axis=(1, 2, 3)) / \
            (weight + 0 * course.time).sum(axis=(1, 2, 3))

    def first_states(self):
        """As in behind(), (weights, states) after a transfer whose landing was anywhere."""
        starts = self._starts()
        share, position, _, _ = self._landings(starts[1] / _axes(self.tracks.sectors), None, None)
        course = _Course(self.tracks, self.count, position, None)
        weight = self._go(course, starts) * share
        return weight + 0 * course.beyond, course.beyond + 0 * weight

    def _landings(self, turns, landing, clock):
        """Shares, positions, widths (of an even wait on top), clocks."""
        one = np.ones_like(turns)
        if clock is not None:
            clock = np.repeat(clock, WAITS if landing is None else 1, axis=1)[:, None, :, None]
        if landing is not None:
            count = 1 if clock is None else clock.shape[2]
            return one / count, landing * one, 0 * one, clock
        if clock is not None and not self.tracks.zero_latency:
            at = np.tile((np.arange(WAITS) + 0.5) / WAITS, clock.shape[2] // WAITS)
            return one / len(at), at[:, None] * one, one / WAITS, clock
        if not self.tracks.zero_latency:
            return one, 0 * one, one, None
        inside = np.minimum(turns, 1.0)
        at = ((np.arange(LANDINGS) + 0.5) / LANDINGS)[:, None] * inside
        share = np.concatenate((1 - inside, inside / LANDINGS + 0 * at), axis=2)
        return (share, np.concatenate((0 * inside, at), axis=2),
                np.concatenate((1 - inside, 0 * at), axis=2), None)

    def _others(self, course, first, whole, last):
        """The tracks behind the first; the weights of the kinds."""
        tracks = self.tracks
        skew, switch = (values[:, None, None, :] for values in (tracks.skews, tracks.switches))
        track, cylinder = (_axes(gap) for gap in tracks.gaps)
        chances, crossings = self._kinds(np.maximum(whole - (last <= 0), 0))
        begun = course.kept()
        course.switch(first, switch, skew)
        landed, some = course.kept(), whole > 0
        more = crossings * (cylinder - track)
        course.whole(whole, track, skew[..., :1], more,
                     more - crossings * (skew[..., 2:3] - skew[..., :1]))
        through = [np.where(some, now, then) for now, then in zip(course.kept(), begun)]
        course.switch(_axes(self.size), switch[..., :1], skew[..., :1])
        course.only(some, landed)
        course.part(last)
        course.only(last > 0, through)
        return chances

    def _kinds(self, switches):
        """(weights, switches of cylinders) by kind, of `switches` that follow the first one:
        each heads-th is of cylinders."""
        heads, late = self.tracks.heads, _axes(self.tracks.late)
        every = np.floor(switches / heads)
        left = switches - every * heads
        one_more = left / (heads - 1) if heads > 1 else 0.0 * left
        other = (heads - 1) / heads
        weights = np.concatenate(np.broadcast_arrays(
            other * (1 - one_more), other * one_more, (1 - other) * (1 - late),
            (1 - other) * late), axis=3)
        return weights, every + np.array([0.0, 1.0, 0.0, 0.0])

    @property
    def mostly_one_track(self):
        """Whether few transfers need more than one track."""
        return bool(np.all(self.full == 0) and np.all(self.crossing < 0.2))

    def late(self):
        """Turns after its first data that the head may begin to write, if the transfer is on
        one track."""
        last = self.tracks.bus * self.count - (self.count - 1) / self.tracks.sectors
        return float(np.max(last))

    def _held_back(self):
        """Turns by which a bus that waits for its watermark ends after the medium."""
        tracks = self.tracks
        if not tracks.watermark:
            return 0.0
        least = tracks.bus * self.count - (1 - tracks.watermark) * self.count / tracks.sectors
        return _axes(np.maximum(least - tracks.bus, 0.0))

    def rows(self, step, landing=None, moves=None):
        """Probabilities [zone, time], each zone's 1 in all, of the time from the landing to
        the report, without the report's own. moves: (s [zone, how it may be], their own even
        widths) from when a write's data began to come until the landing, to be added."""
        clock = None if moves is None else moves[0] / self.tracks.turn
        weight, least, most = self.elements(landing, clock)
        shape, turn = (len(self.size), -1), self.tracks.turn
        if moves is not None:
            after, wide = (np.repeat(values, weight.shape[2] // values.shape[1], axis=1)[
                :, None, :, None] / turn for values in moves)
            # one even distribution with the variance of two
            wide = np.sqrt(wide ** 2 + (most - least) ** 2)
            middle = (least + most) / 2 + after
            least, most = middle - wide / 2, middle + wide / 2
        return spread_rows(*(np.broadcast_to(values, weight.shape).reshape(shape)
                             for values in (least * turn, most * turn, weight)), step)

    def dist(self, step, landing=None, moves=None):
        """The same as one Dist."""
        return Dist(step, self.tracks.weights @ self.rows(step, landing, moves))
