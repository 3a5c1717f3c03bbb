# SPDX-License-Identifier: GPL-2.0
"""From the head's landing on the first track to a transfer's end: rotation, sectors,
switches of track and cylinder with the skews that they wait for, zero-latency access,
a bus slower than the medium. Not in the paper, which has (5) and a mean rate.

A transfer is its first track's part, whole tracks, and the last one's part. Lengths are
in sectors, times in turns of the platter; arrays have the axes zone, where the transfer
begins, where in the first part the head lands, kind of the first switch.
"""

import functools

import numpy as np

from .distribution import Dist

STARTS = 6              # places in a track where a transfer that crosses its end begins
LANDINGS = 24           # places in a track's part where the head lands
NOISES = 8              # quantiles of the seek noise at a switch of cylinders
ZONES = 8               # at most so many zones are told apart


def _wrap(turns):
    """To [0, 1); what a rounding error makes nearly a turn is 0."""
    turns = turns - np.floor(turns)
    return np.where(turns > 1 - 1e-9, 0.0, turns)


def _laplace(spread):
    """Mid-quantiles of Laplace noise of that standard deviation."""
    share = (np.arange(NOISES // 2) + 0.5) / NOISES
    far = -np.log(2 * share)
    far *= spread / np.sqrt(np.mean(far ** 2)) if spread else 0.0
    return np.concatenate((far, -far))


class Tracks:
    """A device's tracks under a workload: what transfers need of them, prepared once.
    Vectors over zones, of which many are merged; the heads' skews are as the zone's."""

    def __init__(self, device, weights, read=True):
        zones, keep = device.zones, weights > 0
        group = self._groups(int(keep.sum()))

        def merged(values):
            return np.bincount(group, values[keep] * weights[keep]) / self.weights

        self.weights = np.ones(group.max() + 1)
        self.weights = merged(np.ones(len(weights)))
        self.sectors = self.weights / merged(1 / zones.sectors_per_track) / self.weights
        self.turn, self.heads, self.read = device.revolution_time, device.heads, read
        self.hole = merged(zones.slipped)
        self.skews = np.stack([merged(zones.track_skew), merged(zones.cylinder_skew)]) + self.hole
        self.zero_latency = device.zero_latency
        self.unit = device.block / 512
        self.bus = 512 / device.bus_rate / self.turn
        self.watermark = device.bus_watermark if read else 0.0
        settle = 0.0 if read else device.write_settle
        switch = max(device.track_switch + settle, 0.0)
        cylinder = np.maximum(device.cylinder_switch + settle + _laplace(device.seek_spread), 0)
        self.switches = np.concatenate(([switch], cylinder)) / self.turn
        other = (self.heads - 1) / self.heads
        self.chances = np.concatenate(([other], np.full(NOISES, (1 - other) / NOISES)))

    @staticmethod
    def _groups(count):
        return np.arange(count) * min(count, ZONES) // count

    @functools.cached_property
    def skew(self):
        """[zone, kind of switch]"""
        return np.repeat(self.skews.T, (1, len(self.switches) - 1), axis=1)

    @functools.cached_property
    def gaps(self):
        """[zone, kind]: from a whole track's end to the next one's first wanted sector; with
        zero-latency access to the next sector's beginning."""
        gap = _wrap(self.skew - self.switches)
        if self.zero_latency:
            sectors = self.sectors[:, None]
            gap = _wrap(gap * sectors) / sectors
        return self.switches + gap

    @functools.cached_property
    def gap_means(self):
        """(to another track, to another cylinder), vectors over zones."""
        return self.gaps[:, 0], self.gaps[:, 1:].mean(axis=1)


class _Course:
    """Transfers under way: position (turns from the first wanted sector's angle), time passed
    since the landing, when the bus has carried what was read (turns)."""

    def __init__(self, tracks, time, position, bus):
        self.tracks, self.time, self.position, self.bus = tracks, time, position, bus
        self.sectors = tracks.sectors[:, None, None, None]

    def part(self, length):
        """`length` sectors from the position 0 on pass; the head has just landed."""
        turns = length / self.sectors
        into = _wrap(self.position)
        wait = _wrap(-into)
        begins, passed, end = wait, wait + turns, turns + 0 * into
        if self.tracks.zero_latency:
            aligned = np.ceil(into * self.sectors - 1e-6) / self.sectors
            inside = (into > 0) & (aligned < turns - 1e-9)
            begins = np.where(inside, aligned - into, wait)
            passed = np.where(inside, begins + 1, passed)
            end = np.where(inside, aligned, end)
        begun = self.time + begins
        self.time, self.position = self.time + passed, end
        self._send(begun, length)

    def _send(self, begun, length):
        bus = self.tracks.bus
        if bus > 0:
            self.bus = np.maximum(np.maximum(self.bus, begun + 1 / self.sectors) + bus * length,
                                  self.time + bus)

    def switch(self, length, switch, skew):
        """To the next track, whose sectors begin `skew` turns after the end of this one's
        part of `length` sectors."""
        self.time = self.time + switch
        self.position = _wrap(self.position + switch - length / self.sectors - skew)

    def whole(self, count, gap, skew, more):
        """`count` whole tracks from a landing on, with `count` - 1 switches amid them that take
        `gap` each and `more` in all for those of cylinders."""
        tracks = self.tracks
        into = _wrap(self.position)
        hole = tracks.hole[:, None, None, None]
        if tracks.zero_latency:
            wait = _wrap(-into * self.sectors) / self.sectors
            drift = wait + (count - 1) * (gap - skew + hole) + more
            end = into + drift
            each = 1.0
        else:
            wait, each = _wrap(-into), 1 - hole
            end = each + 0 * into
        some = count > 0
        begun, passed = self.time + wait, wait + count * each + (count - 1) * gap + more
        if tracks.bus > 0:
            length, first = self.sectors * each, begun + 1 / self.sectors
            last = first + (count - 1) * (each + gap) + more
            self.bus = np.where(some, np.maximum(np.maximum(
                np.maximum(self.bus, first) + tracks.bus * length * count,
                last + tracks.bus * length), self.time + passed + tracks.bus), self.bus)
        self.time = np.where(some, self.time + passed, self.time)
        self.position = np.where(some, _wrap(end), self.position)


class Access:
    """Transfers of `sectors` sectors from a place that is even over the tracks' sectors."""

    def __init__(self, tracks, sectors):
        self.tracks, self.count = tracks, max(sectors, 1.0)
        size = tracks.sectors * (1 - tracks.hole)
        self.size = size
        self.full = np.floor(self.count / size * (1 + 1e-12))
        self.rest = self.count - self.full * size
        # the last part of those that begin within `rest` sectors of a track's end is on yet
        # another track
        self.crossing = np.clip((self.rest - tracks.unit) / size, 0.0, 1.0)

    def _starts(self):
        """Weights and lengths [zone, start]: of the first track's part, of whole tracks, of the
        last track's part."""
        size, rest = self.size[:, None], self.rest[:, None]
        unit = self.tracks.unit
        at = (np.arange(STARTS) + 0.5) / STARTS
        cross, simple = self.crossing[:, None], 1 - self.crossing[:, None]
        low = np.minimum(unit / 2, rest / 2)
        first = low + at * (rest - 2 * low)
        split = (cross / STARTS + 0 * first, first, self.full[:, None] + 0 * first, rest - first)
        long = np.maximum(rest, unit) + at * (size - np.maximum(rest, unit))
        long = np.where(self.full[:, None] > 0, long, self.count)
        last = np.where(self.full[:, None] > 0, rest + size - long, 0.0)
        plain = (simple / STARTS + 0 * first, long, np.maximum(self.full[:, None] - 1, 0) +
                 0 * first, last)
        return [np.concatenate(pair, axis=1) for pair in zip(split, plain)]

    def elements(self, landing=None):
        """(weights, least, most): arrays of even distributions, in turns, of the time from the
        landing to the last sector's end, and bus time beyond it. landing: the angle (turns
        from the first wanted sector's beginning) where it is, or None: anywhere."""
        weight, first, whole, last = (values[:, :, None, None] for values in self._starts())
        weight = weight * self.tracks.weights[:, None, None, None]
        share, position, wide = self._landings(first / self.tracks.sectors[:, None, None, None],
                                               landing)
        course = _Course(self.tracks, np.zeros_like(position), position, np.zeros_like(position))
        course.part(first)
        if np.any((whole > 0) | (last > 0)):
            weight = weight * self.tracks.chances
            self._others(course, first, whole, last)
        end = np.maximum(course.time, course.bus - self.tracks.bus)
        end = np.maximum(end, course.time + self._held_back())
        weight, wide = np.broadcast_arrays(weight * share, wide + 0 * end)[0:2]
        end = np.broadcast_to(end, weight.shape)
        return weight, end, end + np.broadcast_to(wide, weight.shape)

    def _landings(self, turns, landing):
        """Shares, positions, widths (turns of waiting, even, that come on top)."""
        if landing is not None:
            return np.ones_like(turns), landing + 0 * turns, 0 * turns
        if not self.tracks.zero_latency:
            return np.ones_like(turns), 0 * turns, 1 + 0 * turns
        inside = np.minimum(turns, 1.0)
        at = ((np.arange(LANDINGS) + 0.5) / LANDINGS)[:, None] * inside
        share = np.concatenate((1 - inside, np.repeat(inside / LANDINGS, LANDINGS, axis=2)), axis=2)
        wide = np.concatenate((1 - inside, 0 * at), axis=2)
        return share, np.concatenate((0 * inside, at), axis=2), wide

    def _others(self, course, first, whole, last):
        """The tracks behind the first."""
        tracks = self.tracks
        skew, switch = tracks.skew[:, None, None, :], tracks.switches
        before = (course.time, course.position, course.bus)
        course.switch(first, switch, skew)
        track, cylinder = (gap[:, None, None, None] for gap in tracks.gap_means)
        plain = tracks.skews[0][:, None, None, None]
        more = cylinder - track
        course.whole(whole, track, plain, self._crossings(whole - 1) * more)
        between = np.where(whole > 0, tracks.switches[0], 0.0)
        some = whole > 0
        after = (course.time, course.position)
        course.switch((1 - tracks.hole[:, None, None, None]) * course.sectors, between, plain)
        course.time = np.where(some, course.time + (self._crossings(whole) -
                                                    self._crossings(whole - 1)) * more, after[0])
        course.position = np.where(some, course.position, after[1])
        done = (course.time, course.position, course.bus)
        course.part(last)
        for name, value, none in zip(("time", "position", "bus"), done, before):
            kept = np.where(some, value, none)
            setattr(course, name, np.where(last > 0, getattr(course, name), kept))

    def _crossings(self, switches):
        """Of `switches` that follow the first one, how many change cylinders, by the first's
        kind: after one of cylinders each heads-th, else a mean."""
        heads = self.tracks.heads
        switches = np.maximum(switches, 0.0)
        every = np.floor(switches / heads)
        left = switches - every * heads
        kinds = len(self.tracks.switches)
        after_track = every + (left / (heads - 1) if heads > 1 else 0.0)
        return np.where(np.arange(kinds) == 0, after_track, every)

    def _held_back(self):
        """Turns by which a bus that waits for its watermark ends after the medium."""
        tracks = self.tracks
        least = tracks.bus * self.count - (1 - tracks.watermark) * self.count / tracks.sectors
        return np.maximum(least - tracks.bus, 0.0)[:, None, None, None] if tracks.watermark else 0.0

    def dist(self, step, landing=None):
        """Dist of the time from the landing to the report, without the report's own."""
        weight, least, most = self.elements(landing)
        turn = self.tracks.turn
        return Dist.spread(least * turn, most * turn, weight, step)
