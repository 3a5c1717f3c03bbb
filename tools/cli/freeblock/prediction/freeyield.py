# SPDX-License-Identifier: GPL-2.0
"""What one gap brings on a map where everything is wanted. Not in the paper.

A gap has the seek to its request and the latency R. Whatever is read on another track
takes off R what the way there and on costs beyond the seek alone ("extra"), and the
conservatism of both ways; what passes in the rest is read, in whole granules on one side
of the track's end. Tracks differ in extra and in where their granules begin, so the
best of several counts. Before a read, what passes on its own track after the arm is
there is read with it (a prepend), at the cost of one conservatism.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from .. import ToolError
from ..formats.fbmodel import granule_sectors
from . import choice
from .seek import seek_time

SECTOR = 512
PHASES = 8              # positions of a granule's beginning in a window
FINE = 4                # latencies per bin of choice.py
MOST_CONSERVATISM = 0.01 # s (sched/tunables.c)
NEAR = 24               # cylinders on either side that are looked at on a fresh map
WAYS = ("seek", "switch", "turn", "in time on track", "in time on cylinder")


@dataclass(frozen=True)
class FreeSettings:
    """Of the scheduler, all limits of the paper's lifted. Times in s, sizes in bytes."""

    policy: str = "auto"
    conservatism: object = "auto"       # s; or "auto": learnt
    granule: float = None               # None: that of models for disks of this size
    max_bytes: float = 262144.0         # of one piece, and of a prepend
    lead: float = 200e-6                # how early a command must be at the drive

    def check(self):
        """self; ToolError names what is wrong, its value, unit and why."""
        if self.policy not in choice.POLICIES:
            raise ToolError("settings: policy %r: not one of %s" % (
                self.policy, ", ".join(choice.POLICIES)))
        con = self.conservatism
        if con == "auto":
            return self
        if isinstance(con, bool) or not isinstance(con, (int, float)) or \
                not math.isfinite(con) or con < 0:
            raise ToolError("settings: conservatism %r (s): not a number of at least 0" % con)
        if con > MOST_CONSERVATISM:
            raise ToolError("settings: conservatism %r (s): more than the module takes, %g" % (
                con, MOST_CONSERVATISM))
        return self


def granule_bytes(device, settings):
    """Of a block: as set, else as extraction would set it."""
    if settings.granule:
        return float(settings.granule)
    return float(SECTOR * granule_sectors(int(device.capacity // SECTOR), 1))


def tracks_nearby(device, distance, con, write):
    """Tracks that a gap may read on whose seek goes over `distance` cylinders, two lists of (extra
    s, how many): on the head's way, and one switch of heads away and farther. extra: what they
    cost beyond the gap's seek; of a way, conservatism is con[kind]. Before a write, settling is
    saved by a head on its track already."""
    switch = device.track_switch
    settle = device.write_settle if write else 0.0
    same = [(con["turn"] + con["seek"], 1.0),
            (con["turn"] - settle + con["seek"], con["in time on track"])]
    other = [(con["seek"] + switch + con["switch"],
              (device.heads - 1) * (1 + con["in time on cylinder"]))]
    step = np.arange(1, NEAR)
    near = seek_time(device, step)
    alone = seek_time(device, distance)
    for on in (np.abs(distance - step), distance + step):
        extra = near + seek_time(device, on) - alone + 2 * con["seek"]
        other += zip(extra, np.full(len(step), 2))
        other += zip(extra + np.maximum(switch - near, 0),
                     np.full(len(step), 2 * (device.heads - 1)))
    return same, other


class Track:
    """Tracks of one length, where `granules` (not a whole number) of tau s pass in a turn.
    Latencies are at the middles of a fine grid, usable times at multiples of its step."""

    def __init__(self, turn, granules, settings, granule):
        self.turn, self.granules, self.tau = turn, granules, turn / granules
        self.step = turn / (choice.BINS * FINE)
        self.late = (np.arange(choice.BINS * FINE) + 0.5) * self.step
        self.most = int(min(settings.max_bytes // granule, granules))
        self.phases = (np.arange(PHASES) + 0.5) / PHASES
        # requests begin and end where a granule does, unless granules are larger than 4 KiB
        self.offset = self.phases if granule > 4096 else np.zeros(1)
        self.count = np.arange(1, self.most + 1)[:, None, None]

    def fits(self, usable):
        """[k, i]: probability that usable[i] s of a track hold k + 1 whole granules on one
        side of its end. It lies anywhere, and so does the first granule in the window."""
        need = (self.count + self.phases[:, None]) * self.tau
        usable = np.minimum(usable, self.turn)
        larger = 1 - (usable - np.clip(2 * (usable - need), 0, usable)) / self.turn
        return np.where(usable >= need, larger, 0.0).mean(axis=1)

    def prepended(self, usable):
        """[k, i]: the same of granules that end, or whose next begins, at a request: both it
        and they are on one track."""
        count = self.count + self.offset[:, None]
        within = np.clip(1 - (count + 0.5) / self.granules, 0, 1)
        return np.where(usable >= count * self.tau, within, 0.0).mean(axis=1)


def _best_of(track, tracks, cap, least=0.0):
    """[k, i]: probability that the best of `tracks` has k + 1 granules for a latency, of
    which at most `cap` s can be used; but pieces that end before `least` s do not count."""
    points = len(track.late)
    one = np.log(np.maximum(1 - track.fits(np.minimum(track.late, cap)), 1e-9))
    weight = np.zeros(3 * points + 1)           # by extra time, from -points on
    for extra, count in tracks:
        cost = extra / track.step
        low = int(np.floor(cost))
        if -points <= low < points:
            weight[points + low] += count * (1 - (cost - low))
            weight[points + low + 1] += count * (cost - low)
    at = np.arange(points)
    found = 1 - np.exp(one @ weight[points + at[None, :] - at[:, None]])
    short = int(np.clip(least / track.tau - 0.5, 0, track.most - 1))
    found[:short] = found[short]
    return found


def _either(one, other):
    """At least so many by the one or the other, which are independent."""
    return 1 - (1 - one) * (1 - other)


def _gap(track, device, settings, distance, con, write):
    """(granules, chance of a plan) by latency: of the best of the tracks, and of what passes on a
    read's own track. No piece counts that ends before the command behind it can be there."""
    cap = device.revolution_time - 2 * con["seek"]
    same, other = tracks_nearby(device, distance, con, write)
    pipe = settings.lead + (device.write_overhead if write else device.read_overhead)
    at_least = _either(
        _best_of(track, same, cap, pipe - con["turn"]),
        _best_of(track, other, cap, pipe - device.track_switch - con["switch"]))
    if not write:
        at_least = _either(at_least, track.prepended(track.late - con["seek"]))
    return at_least.sum(axis=0), at_least[0]


def _lengths(device, granule, parts=2):
    """[(share, granules)]: tracks of a few lengths that stand for all."""
    zones = device.zones
    order = np.argsort(zones.sectors_per_track)
    share = np.cumsum(device.zone_weights()[order])
    group = np.minimum((parts * (share - device.zone_weights()[order] / 2)).astype(int),
                       parts - 1)
    weights = device.zone_weights()[order]
    return [(weights[group == g].sum(),
             np.average(zones.sectors_per_track[order][group == g],
                        weights=weights[group == g]) * SECTOR / granule)
            for g in range(parts) if (group == g).any()]


@functools.lru_cache(maxsize=64)
def gap_yield(device, settings, distance, con):
    """What gaps of each latency (bins of choice.Choice) bring: ([bytes before a read, before a
    write], [chance of a plan]). con: conservatism of (seek, switch, turn), s; and the chances
    that a read on the request's track, and on its cylinder, ends early enough for what
    follows to be at the drive in time."""
    granule = granule_bytes(device, settings)
    con = dict(zip(WAYS, con))
    total = np.zeros((2, 2, choice.BINS))
    for share, granules in _lengths(device, granule):
        track = Track(device.revolution_time, granules, settings, granule)
        for write in (False, True):
            found = np.array(_gap(track, device, settings, distance, con, write))
            total[:, int(write)] += share * found.reshape(2, choice.BINS, FINE).mean(axis=2)
    return total[0] * granule, total[1]
