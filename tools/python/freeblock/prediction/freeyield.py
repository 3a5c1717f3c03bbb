# SPDX-License-Identifier: GPL-2.0
"""What one gap brings on a map where everything is wanted. Not in the paper.

A gap has the seek to its request and the latency R. Whatever is read on another track
takes off R what the way there and on costs beyond the seek alone ("extra"), and the
conservatism of both ways; what passes in the rest is read, in whole granules on one side
of the track's end. Tracks differ in extra and in where their granules begin, so the
best of several counts. Before a read, what passes on its own track after the arm is
there is read with it (a prepend), at the cost of one conservatism.
"""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import ToolError
from ..extraction.modeltext import granule_sectors
from . import freegap

SECTOR = 512
PIECES = 4              # of one plan at most (core/search.h, FB_PLAN_PIECES)
PHASES = 8              # positions of a granule's beginning in a window
FINE = 4                # latencies per bin of freegap
MOST_CONSERVATISM = 0.01 # s (sched/tunables.c)
NEAR = 24               # cylinders on either side that are looked at on a fresh map
LIFTS = ("source", "dest", "several")
WAYS = ("seek", "switch", "turn", "in time on track", "in time on cylinder")


@dataclass(frozen=True)
class FreeSettings:
    """Of the scheduler and its task, as in Documentation/sim.rst. Times in s, sizes in bytes."""

    policy: str = "sptf-sw"
    sw_percent: float = 60.0
    conservatism: object = 400e-6       # s; or "auto": learnt
    lift: str = "none"                  # "none", "all", or words of LIFTS joined by "+"
    granule: float = None               # None: that of models for disks of this size
    max_bytes: float = 262144.0         # of one piece
    max_prepend_bytes: float = 262144.0
    separate: bool = True
    switch: float = None                # conservatism of head switches; None: conservatism
    turn: float = None                  # and on one track
    lead: float = 200e-6                # how early a command must be at the drive
    value: str = "count"                # of blocks; "root": of few on a track, and of a part of the
    #                                     disk that lags, each is worth more (core/block_value.h)

    @property
    def lifted(self):
        """Limits that are lifted."""
        return frozenset(LIFTS if self.lift == "all" else
                         () if self.lift == "none" else self.lift.split("+"))

    def check(self):
        """self; ToolError names what is wrong, its value, unit and why."""
        if self.policy not in freegap.POLICIES:
            raise ToolError("settings: policy %r: not one of %s" % (
                self.policy, ", ".join(freegap.POLICIES)))
        for word in self.lifted:
            if word not in LIFTS:
                raise ToolError("settings: lift %r: not none, all, or of %s" % (
                    self.lift, "+".join(LIFTS)))
        if self.value not in ("count", "root"):
            raise ToolError("settings: value %r: not count or root" % self.value)
        for field in dataclasses.fields(self):
            _check_number(field.name, getattr(self, field.name))
        if self.conservatism != "auto" and self.conservatism > MOST_CONSERVATISM:
            raise ToolError("settings: conservatism %r (s): more than the module takes, %g" % (
                self.conservatism, MOST_CONSERVATISM))
        return self


def _check_number(name, value):
    """A number of the settings."""
    if name in ("policy", "lift", "separate", "value") or value is None or \
            (name == "conservatism" and value == "auto"):
        return
    unit = "bytes" if "bytes" in name or name == "granule" else \
        "%" if name == "sw_percent" else "s"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or \
            not math.isfinite(value) or value < 0 or (name == "granule" and not value):
        raise ToolError("settings: %s %r (%s): not a number of at least 0" % (name, value, unit))


def granule_bytes(device, settings):
    """Of a block: as set, else as extraction would set it."""
    if settings.granule:
        return float(settings.granule)
    return float(SECTOR * granule_sectors(int(device.capacity // SECTOR), 1))


class Tracks(NamedTuple):
    """Tracks that a gap may read on, [(extra s, how many)]: on the head's way, or one switch
    of heads away and farther. extra: what they cost beyond the gap's seek."""

    same: list
    other: list


def tracks_nearby(device, distance, settings, con, write, reach=NEAR):
    """Tracks for a gap whose seek goes over `distance` cylinders; of a way, conservatism is
    con[kind]. Before a write, settling is saved by who is on its track already."""
    switch = device.track_switch
    settle = device.write_settle if write else 0.0
    last = {"source": (con["turn"], 1.0), "dest": (con["turn"] - settle, con["in time on track"])}
    same = [(last[lift][0] + con["seek"], last[lift][1])
            for lift in last if lift in settings.lifted]
    other = [(con["seek"] + switch + con["switch"],
              (device.heads - 1) * (1 + con["in time on cylinder"]))]
    step = np.arange(1, reach)
    near = freegap.seek_time(device, step)
    alone = freegap.seek_time(device, distance)
    for on in (np.abs(distance - step), distance + step):
        extra = near + freegap.seek_time(device, on) - alone + 2 * con["seek"]
        other += zip(extra, np.full(len(step), 2))
        other += zip(extra + np.maximum(switch - near, 0),
                     np.full(len(step), 2 * (device.heads - 1)))
    return Tracks(same, other)


class Track:
    """Tracks of one length, where `granules` (not a whole number) of tau s pass in a turn.
    Latencies are at the middles of a fine grid, usable times at multiples of its step."""

    def __init__(self, turn, granules, settings, granule):
        self.turn = turn
        self.granules = granules
        self.tau = turn / granules
        self.step = turn / (freegap.BINS * FINE)
        self.late = (np.arange(freegap.BINS * FINE) + 0.5) * self.step
        self.most = int(min(settings.max_bytes // granule, granules))
        self.longest_is_bound = self.most < granules / 2
        self.prepend_most = min(settings.max_prepend_bytes / granule, granules)
        # requests begin and end where a granule does, unless granules are larger than 4 KiB
        self.aligned = granule <= 4096
        self.kept = {}
        self.offset = (np.arange(PHASES) + 0.5) / PHASES if granule > 4096 else np.zeros(1)

    def fits(self, usable, anywhere=True):
        """[k, i]: probability that usable[i] s of a track hold k + 1 whole granules on one
        side of its end. It lies anywhere, and so does the first granule in the window, unless
        that is to begin with one."""
        phases = (np.arange(PHASES) + 0.5) / PHASES if anywhere else np.zeros(1)
        need = (np.arange(1, self.most + 1)[:, None, None] + phases[:, None]) * self.tau
        usable = np.minimum(usable, self.turn)
        larger = 1 - (usable - np.clip(2 * (usable - need), 0, usable)) / self.turn
        return np.where(usable >= need, larger, 0.0).mean(axis=1)

    def misses(self, cap):
        """Logarithms of the chances that a window has no k + 1; windows of at most `cap` s."""
        if cap not in self.kept:
            self.kept[cap] = np.log(np.maximum(
                1 - self.fits(np.minimum(self.late, cap)), 1e-9))
        return self.kept[cap]

    def prepended(self, usable):
        """[k, i]: the same of granules that end, or whose next begins, at a request: both it
        and they are on one track."""
        count = np.arange(1, self.most_prepended + 1)[:, None, None] + self.offset[:, None]
        within = np.clip(1 - (count + 0.5) / self.granules, 0, 1)
        allowed = (usable >= count * self.tau) & (count <= self.prepend_most)
        return np.where(allowed, within, 0.0).mean(axis=1)

    @property
    def most_prepended(self):
        """Granules of the longest prepend."""
        return int(self.prepend_most)


def _best_of(track, tracks, cap, least=0.0):
    """[k, i]: probability that the best of `tracks` has k + 1 granules for a latency, of
    which at most `cap` s can be used; but pieces that end before `least` s do not count."""
    points = len(track.late)
    one = track.misses(cap)
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


def _pmf(at_least):
    """[k, i]: probabilities of 0, 1, ... of those of at least 1, 2, ..."""
    edge = np.ones((1, at_least.shape[1]))
    return -np.diff(np.vstack((edge, at_least, 0 * edge)), axis=0)


def _either(one, other):
    """At least so many by the one or the other, which are independent."""
    most = max(len(one), len(other))
    one, other = (np.pad(a, ((0, most - len(a)), (0, 0))) for a in (one, other))
    return 1 - (1 - one) * (1 - other)


class Pieces(NamedTuple):
    """Chances of a piece of a plan: at_least[k, i] of k + 1 granules; time (s) that can be
    used; `phase`: part of a granule that passes before the first whole one, at most;
    `longest`: chance that a track farther off has as many as one piece may have, which ends
    the search; far: usable time there."""

    at_least: np.ndarray
    usable: np.ndarray
    phase: float
    longest: np.ndarray
    far: np.ndarray

    def granules(self, track, rest=None):
        """Expected granules; rest: those of further pieces by usable time."""
        p = _pmf(self.at_least)
        k = np.arange(len(p))[:, None]
        value = (p * k).sum(axis=0)
        if rest is None:
            return value
        follow = _left(track, self.usable, k[1:], self.phase, rest)
        value = value + (p[1:] * follow).sum(axis=0)
        if len(p) > track.most and track.longest_is_bound:
            far = _left(track, self.far, track.most, 1.0, rest)
            value += np.minimum(self.longest, p[track.most]) * (far - follow[track.most - 1])
        return value


def _left(track, usable, k, phase, rest):
    """What the time left after a piece of k granules brings."""
    waited = np.clip(usable / track.tau - k, 0, phase) / 2
    return np.interp(usable - (k + waited) * track.tau, track.late, rest, left=0.0)


def _at_once(track, con, cap, pipe):
    """[k, i] of the source track alone, where the head is between two granules."""
    extra = np.ceil(con["turn"] / track.tau) * track.tau + con["seek"]
    found = track.fits(np.minimum(track.late - extra, cap), False)
    short = int(np.clip((pipe - con["turn"]) / track.tau - 0.5, 0, track.most - 1))
    found[:short] = found[short]
    return found


def _first(track, device, tracks, con, cap, pipe):
    """The first piece, of what `tracks` offer; none that ends before `pipe` s."""
    source = con["turn"] + con["seek"]
    if track.aligned and (source, 1.0) in tracks.same:
        others = [offer for offer in tracks.same if offer != (source, 1.0)]
        same = _either(_at_once(track, con, cap, pipe),
                       _best_of(track, others, cap, pipe - con["turn"]))
    else:
        same = _best_of(track, tracks.same, cap, pipe - con["turn"])
    other = _best_of(track, tracks.other, cap, pipe - device.track_switch - con["switch"])
    nearest = min((extra for extra, _ in tracks.other), default=0.0)
    return Pieces(_either(same, other),
                  track.late - (tracks.same[0][0] if tracks.same else nearest), 1.0,
                  other[track.most - 1], track.late - nearest)


def _rest(track, device, settings, con, cap):
    """Granules by usable time of pieces beyond the first; None if there are none. On its own
    track the next begins where granules do, on another one anywhere; the search looks at
    the former first, for the first piece was on the cylinder's first track mostly."""
    if "several" not in settings.lifted:
        return None
    hop = device.track_switch + con["switch"]
    other = _best_of(track, [(hop, 2 * (device.heads - 1))], cap)
    if not settings.lifted & {"source", "dest"}:
        pieces = Pieces(other, track.late - hop, 1.0, other[track.most - 1], track.late - hop)
    else:
        skipped = np.ceil(con["turn"] / track.tau) * track.tau
        k = np.arange(1, track.most + 1)[:, None]
        same = (track.late - skipped >= k * track.tau) * (1 - k / track.granules)
        pieces = Pieces(_either(same, other), track.late - skipped, 0.0,
                        other[track.most - 1] * (1 - same[track.most - 1]), track.late - hop)
    rest = None
    for _ in range(PIECES - 1):
        rest = pieces.granules(track, rest)
    return rest


def _gap(track, device, settings, distance, con, write):
    """(granules, chance of a plan) by latency."""
    cap = device.revolution_time - con["seek"] * (2 if settings.lifted else 1)
    tracks = tracks_nearby(device, distance, settings, con, write) if settings.separate else \
        Tracks([], [])
    pipe = settings.lead + (device.write_overhead if write else device.read_overhead)
    pieces = _first(track, device, tracks, con, cap, pipe)
    rest = _rest(track, device, settings, con, cap) if settings.separate else None
    if not write:
        before = track.prepended(track.late - con["seek"])
        reaches = before[track.most - 1] if len(before) >= track.most else 0.0
        pieces = pieces._replace(at_least=_either(pieces.at_least, before),
                                 longest=pieces.longest * (1 - reaches))
    return pieces.granules(track, rest), pieces.at_least[0]


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
    """What gaps of each latency (bins of freegap) bring: ([bytes before a read, before a
    write], [chance of a plan]). con: conservatism of (seek, switch, turn), s; and the chances
    that a read on the request's track, and on its cylinder, ends early enough for what
    follows to be at the drive in time."""
    granule = granule_bytes(device, settings)
    con = dict(zip(WAYS, con))
    total = np.zeros((2, 2, freegap.BINS))
    for share, granules in _lengths(device, granule):
        track = Track(device.revolution_time, granules, settings, granule)
        for write in (False, True):
            found = np.array(_gap(track, device, settings, distance, con, write))
            total[:, int(write)] += share * found.reshape(2, freegap.BINS, FINE).mean(axis=2)
    return total[0] * granule, total[1]
