# SPDX-License-Identifier: GPL-2.0
"""Free bandwidth as coverage grows, and the time of a whole scan. Not in the paper.

The state of a disk under a scan is, by mean field, how many tracks have m blocks left, and
which share of the blocks is left that lie across the end of a track (straddlers: they can
only be read with the switch of heads in between, mostly when nothing else is in reach, and
are what a scan ends with). A track's blocks lie in runs, whose number grows while pieces are
cut out of them: 1 + RUNS (m - 1) (1 - m / M) / v of them, v the size of pieces now.

A gap looks at tracks in shells of cylinders around its two ends; a shell's extra time says
how long a window of each of its tracks it may use. The best of them all is read. So the
chance that nothing is worth k blocks is a product over tracks, and what is chosen is shared
among them as their chances are. Tracks of the outermost and of the innermost quarter of the data are followed; between
them the time is interpolated, and the last quarter to be done ends the scan.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from . import freegap, freeyield

RUNS = 1.4              # runs that a piece cut out leaves, against what random places would
CLASSES = 12            # latencies that stand for all
SHELLS = 24             # of cylinders, ever wider ...
REACH = 6000            # ... up to so many
SHORT = 24              # blocks: windows of tracks with more go by whole blocks, else by halves
GROUPS = 4              # parts of the data, from the longest tracks to the shortest
POINTS = np.append(np.linspace(0, 0.98, 50), 1 - np.geomspace(0.01, 1e-4, 5))
STEP = 0.06             # of what is left
MOST_USED = 0.9         # of the tracks of a kind, in a step
TAIL_STEP = 0.3         # the same when nearly nothing is
TAIL = 2e-3
LEFTOVER = 256          # the last so many blocks are read one a second when as many gaps in a
FRUITLESS = 256         # row have found nothing (fb_gap.c)


# ---- windows of tracks ----

def _line(most, length, windows):
    """[k, m, w]: chance that a window has k of one run of m on a track of `length`, or more,
    k up to `most`; a window that the track's end lies in has one side of it."""
    k = np.arange(most + 1)[:, None, None]
    m = np.arange(length + 1)[None, :, None]
    measure = (m - k) * np.clip(windows - k, 0, 1) + windows - k
    found = np.where((k <= m) & (windows >= k), np.clip(measure / length, 0, 1), 0.0)
    found[0] = 1.0
    return found


def _ring(most, m, length, windows):
    """[k, w]: chances of exactly k of one run of m, anywhere on a ring of `length`."""
    k = np.arange(most + 2)[:, None]
    measure = (m - k) * np.clip(windows - k, 0, 1) + windows - k
    found = np.where((k <= m) & (windows >= k), np.clip(measure / max(length, 1), 0, 1), 0.0)
    if m >= length:
        found = (k <= np.minimum(m, windows)).astype(float)
    found[0] = 1.0
    return found[:-1] - found[1:]


def _runs_of(most, m, runs, length, windows):
    """[k, w]: chances of exactly k of m in so many runs of one length, at random places
    beside each other: with one taken out, the rest is a shorter ring."""
    total = np.zeros((most + 1, len(windows)))
    total[0] = 1.0
    used = 0
    for i in range(runs):
        part = m // runs + (i < m % runs)
        if not part:
            break
        more = np.zeros_like(total)
        for a in range(min(used, most) + 1):
            one = _ring(most, part, length - used, np.maximum(windows - a, 0))
            more[a:] += total[a] * one[:most + 1 - a]
        total, used = more, used + part
    return total


@functools.lru_cache(maxsize=32)
def windows_of(length, most):
    """(windows, [runs - 1, k, m, w]): chances that a window holds k or more, k = 0 .. most, of
    m blocks left in 1, 2 or 3 runs."""
    windows = np.arange(0, length + 0.01, 1.0 if length > SHORT else 0.5)
    size = len(windows)
    found = [_line(length, length, windows)]
    less = 0.75 * np.arange(size)            # with the end within: the better side, mean
    low = less.astype(int)
    for runs in (2, 3):
        p = np.stack([_runs_of(length, m, runs, length, windows)
                      for m in range(length + 1)], axis=1)
        ring = np.clip(np.cumsum(p[::-1], axis=0)[::-1], 0, 1)
        cut = ring[:, :, low] * (1 - less + low) + \
            ring[:, :, np.minimum(low + 1, size - 1)] * (less - low)
        found.append(ring + (cut - ring) * windows / length)
    return windows, np.array(found)[:, :most + 1]


# ---- gaps ----

class Gaps(NamedTuple):
    """Classes of gaps: weight[c]; tracks[c, w]: those that offer a window of that length;
    across[c, w]: those whose end may be crossed within such a one."""

    weight: np.ndarray
    tracks: np.ndarray
    across: np.ndarray


def _shells(device, distance, con, limit):
    """[(extra s, tracks)] of the cylinders around both ends of a gap."""
    edges = np.unique(np.round(np.geomspace(1, min(limit, REACH) + 1, SHELLS)))
    middle = (edges[:-1] + edges[1:] - 1) / 2
    count = np.diff(edges) * 2 * device.heads
    near = freegap.seek_time(device, middle) - freegap.seek_time(device, distance) + \
        2 * con["seek"]
    outward = near + freegap.seek_time(device, distance + middle)
    inward = near + freegap.seek_time(device, np.abs(distance - middle))
    between = middle < distance / 2
    return list(zip(outward, count)) + list(zip(inward[between], count[between]))


def _spread(at, counts, size):
    """Counts at places between the points of a grid, split between their neighbours."""
    at = np.clip(at, 0, size - 1.001)
    low = at.astype(int)
    part = at - low
    found = np.zeros(size)
    np.add.at(found, low, counts * (1 - part))
    np.add.at(found, low + 1, counts * part)
    return found


def _classes(choice):
    """Latencies that stand for equal shares of the gaps."""
    share = (np.arange(CLASSES) + 0.5) / CLASSES
    return np.interp(share, np.append(0, np.cumsum(choice.latency_pmf)),
                     np.append(0, choice.late + choice.step / 2))


class Scene(NamedTuple):
    """What gaps_of() needs: device, settings, choice, mean distance, con by kind, share of
    reads and of writes, pieces per plan by latency (a function)."""

    device: object
    settings: object
    choice: object
    distance: float
    con: dict
    reads: np.ndarray
    pieces: object


def gaps_of(scene, tau, windows):
    """Gaps for tracks whose blocks pass in tau s; windows: the grid of those."""
    device, con = scene.device, scene.con
    step, size = windows[1], len(windows)
    cap = device.revolution_time - con["seek"] * (2 if scene.settings.lifted else 1)
    skews = [(float(device.zone_weights() @ skew) * device.revolution_time, share)
             for skew, share in ((device.zones.track_skew, 1 - 1 / device.heads),
                                 (device.zones.cylinder_skew, 1 / device.heads))]
    rows = []
    for write, share in zip((False, True), scene.reads):
        if not share:
            continue
        near = freeyield.tracks_nearby(device, scene.distance, scene.settings, con, write, 1)
        offers = near.same + near.other + _shells(device, scene.distance, con, device.cylinders)
        if not scene.settings.separate:
            offers = []
        extra, count = np.array(offers).reshape(-1, 2).T
        for late in _classes(scene.choice):
            usable = np.minimum(late - extra, cap)
            seen = usable > tau / 2
            tracks = _spread(usable[seen] / tau / step, count[seen], size)
            if not write:
                tracks += _spread(np.array([(late - con["seek"]) / tau + 0.5]) / step,
                                  np.ones(1), size)
            across = np.zeros(size)
            for skew, part in skews:
                left = usable - skew - tau
                across += part * _spread(left[left > 0] / tau / step, count[left > 0], size)
            rows.append((share / CLASSES * scene.pieces(late), tracks, across))
    return Gaps(*(np.array(column) for column in zip(*rows)))


# ---- the course of a scan ----

class Course(NamedTuple):
    """Of tracks of one length: gaps per track when a share is done, and that share."""

    gaps: np.ndarray
    done: np.ndarray


class _State:
    """Tracks by blocks left, and straddlers."""

    def __init__(self, granules, straddlers, most):
        self.granules = granules
        self.straddlers = straddlers
        self.length = max(int(round(granules - straddlers)), 1)
        self.scale = (granules - straddlers) / self.length
        self.most = max(min(most, self.length), 1)
        self.blocks = np.arange(self.length + 1)
        self.tracks = np.zeros(self.length + 1)
        self.tracks[-1] = 1.0
        self.across = 1.0
        self.piece = float(self.most)

    def left(self):
        """Share of the blocks."""
        return (float(self.tracks @ self.blocks) * self.scale +
                self.straddlers * self.across) / self.granules

    def chances(self, table):
        """[k, m, w] by the number of runs now."""
        runs = 1 + RUNS * (self.blocks - 1) * (1 - self.blocks / self.length) / \
            max(self.piece, 1.0)
        runs = np.clip(runs, 1, 3)[:, None]
        weights = (np.clip(2 - runs, 0, 1), 1 - np.abs(runs - 2), np.clip(runs - 2, 0, 1))
        return sum(np.maximum(w, 0) * part for w, part in zip(weights, table))

    def advance(self, take, also, step, forced):
        """`step` gaps per track on, of which each takes pieces of k of tracks with m
        (take[k - 1, m]), or k - 1 and a straddler (also[k - 1, m]); and `forced` straddlers.
        Who is nearly used up gives no more than it has."""
        out = take.sum(axis=0) + also[1:].sum(axis=0)
        share = np.minimum(step, MOST_USED * self.tracks / np.maximum(out, 1e-300))
        change = -out * share
        for rates, moved in ((take, 1), (also[1:], 1)):
            for k in range(len(rates)):
                gone = k + moved
                change[:len(change) - gone] += (rates[k] * share)[gone:]
        self.tracks = self.tracks + change
        held = self.straddlers * self.across
        if held > 0:
            self.across *= math.exp(-step * (float(also.sum()) + forced) / held)


def _taken(state, gaps, table, bin_share):
    """(take, also, plans, blocks): what a gap takes, as in _State.advance(); chance that it
    takes anything; blocks. bin_share: of a turn that a step between windows is."""
    chance = state.chances(table)
    exact = np.maximum(chance[:-1] - chance[1:], 0)
    last = chance[-1:]
    wanted = np.concatenate((exact[1:], last))              # exactly k, the most or more
    before = exact[:state.most]                             # 0 .. most - 1 before the end
    before = (np.cumsum(before, axis=2) - before / 2) * bin_share
    none = gaps.tracks @ np.log(np.maximum(
        1 - np.tensordot(chance[1:], state.tracks, (1, 0)), 1e-12)).T
    tracks = np.tensordot(gaps.tracks, wanted * state.tracks[None, :, None], (1, 2))
    across = np.tensordot(gaps.across, before * state.tracks[None, :, None], (1, 2)) * \
        (state.straddlers * state.across)
    hazard = across.sum(axis=2)
    at_least = 1 - np.exp(none - np.cumsum(hazard[:, ::-1], axis=1)[:, ::-1])
    best = np.maximum(at_least - np.pad(at_least[:, 1:], ((0, 0), (0, 1))), 0)
    weight = tracks.sum(axis=2) + hazard
    share = np.where(weight > 1e-12, best * gaps.weight[:, None] / np.maximum(weight, 1e-12), 0)
    take = np.einsum("ck,ckm->km", share, tracks)
    also = np.einsum("ck,ckm->km", share, across)
    k = np.arange(1, len(take) + 1)
    plain = take.sum(axis=1) @ k + also.sum(axis=1) @ (k - 1)
    return take, also, float(gaps.weight @ at_least[:, 0]), \
        float(plain) * state.scale + float(also.sum())


def course(scene, granules, straddlers, most, blocks, gaps_per_second):
    """The Course of tracks of so many granules; blocks: of all such tracks; gaps_per_second:
    of the whole disk."""
    state = _State(granules, straddlers, most)
    windows, table = windows_of(state.length, state.most)
    step = windows[1]
    tau = scene.device.revolution_time / granules
    gaps = gaps_of(scene, tau, windows)
    passed, at, done = 0.0, [0.0], [0.0]
    left = 1.0
    while left * blocks > 1 and len(at) < 500:
        take, also, plans, rate = _taken(state, gaps, table, step / granules)
        forced = math.exp(-FRUITLESS * plans) / gaps_per_second if left * blocks < LEFTOVER else 0
        share = TAIL_STEP if left < TAIL else STEP
        move = share * left * granules / max(rate + forced, 1e-15)
        state.advance(take, also, move, forced)
        if take.sum() + also.sum() > 0:
            state.piece = rate / float(take.sum() + also.sum())
        passed += move
        left = min(state.left(), left)
        at.append(passed)
        done.append(1 - left)
    return Course(np.array(at), np.array(done))


def straddlers_of(device, granule):
    """Blocks that lie across a track's end, per track: where tracks are whole multiples of a
    part of a block, and begin so, some ends fall between blocks. Slipped sectors are not
    known here; they leave one in so many blocks' sectors."""
    size = max(int(granule // freeyield.SECTOR), 1)
    slots = np.round(device.zones.sectors_per_track).astype(int)
    first = np.round(device.zones.first_byte / freeyield.SECTOR).astype(int)
    common = np.gcd(slots, size)
    between = np.where(first % common == 0, common / size, 0.0)
    tracks = device.zone_cylinders / device.zone_cylinders.sum()
    return 1 - float(tracks @ between)


class Scan(NamedTuple):
    """Seconds of a whole scan; shares done, the bytes/s until each, and the times (s)."""

    seconds: float
    done: np.ndarray
    rate: np.ndarray
    times: np.ndarray


def _groups(device):
    """Bytes of a track, of each of GROUPS parts of the data by the length of tracks."""
    order = np.argsort(-device.zones.sectors_per_track)
    share = device.zone_weights()[order]
    length = (device.zones.bytes / (device.zone_cylinders * device.heads))[order]
    edge = np.append(0, np.cumsum(share))
    mean = []
    for group in range(GROUPS):
        held = np.minimum(edge[1:], (group + 1) / GROUPS) - np.maximum(edge[:-1],
                                                                      group / GROUPS)
        mean.append(float(np.average(length, weights=np.maximum(held, 0))))
    return mean


def scan(scene, gaps_per_second):
    """A Scan from a fresh map."""
    device, granule = scene.device, freeyield.granule_bytes(scene.device, scene.settings)
    straddlers = straddlers_of(device, granule)
    most = int(scene.settings.max_bytes // granule)
    blocks = device.capacity / granule / GROUPS
    lengths = _groups(device)
    ends = [course(scene, length / granule, straddlers, most, blocks, gaps_per_second) for length in (lengths[0], lengths[-1])]
    rows = []
    for length in lengths:
        part = (lengths[0] - length) / max(lengths[0] - lengths[-1], 1e-9)
        passed = [np.interp(POINTS, c.done, c.gaps) for c in ends]
        last = [c.gaps[-1] for c in ends]
        per_track = gaps_per_second * length / device.capacity
        rows.append(np.append((1 - part) * passed[0] + part * passed[1],
                              (1 - part) * last[0] + part * last[1]) / per_track)
    done = np.append(POINTS, 1.0)
    times = np.unique(np.concatenate(rows))
    covered = np.mean([np.interp(times, row, done) for row in rows], axis=0)
    return Scan(float(times[-1]), covered[1:],
                np.diff(covered) / np.maximum(np.diff(times), 1e-12) * device.capacity, times[1:])
