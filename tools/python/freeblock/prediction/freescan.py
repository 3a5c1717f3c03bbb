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
among them as their chances are. Tracks of the outermost and of the innermost quarter of the
data are followed; between them the time is interpolated, and the last quarter to be done
ends the scan.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from . import freegap, freeyield

RUNS = 1.4              # runs that a piece cut out leaves, against what random places would
EDGES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97, 0.99, 0.997, 1)
SHELLS = 24             # of cylinders, ever wider ...
BUDGET = 200            # steps of a search, and for one of several pieces (sim.rst)
HOP_BUDGET = 30
ARMS, PASSED = 4, 32    # arms go outward, and pass so many poor cylinders in a step
REACH = 6000            # ... up to so many
MOST_BLOCKS = 64        # of a track, that are told apart
SHORT = 24              # blocks: windows of tracks with more go by whole blocks, else by halves
GROUPS = 4              # parts of the data, from the longest tracks to the shortest
POINTS = np.append(np.linspace(0, 0.98, 50), 1 - np.geomspace(0.01, 1e-4, 5))
NODES_FROM, NODES = 7, 9        # blocks left: each so far, then so many more
STEP = 0.1              # of what is left
MOST_USED = 0.9         # of the tracks of a kind, in a step
TAIL_STEP = 0.3         # the same when nearly nothing is
TAIL = 2e-3
SAME_PIECE = 0.05
OTHER_PLANS = 0.3       # of the logarithm of their share: then con is reckoned again
LEFTOVER = 256          # the last so many blocks are read one a second when as many gaps in a
FRUITLESS = 256         # row have found nothing (disk/reader.c)
# What a track's blocks are worth: the power of how many are left; and how far parts that would be
# done later catch up with the others, as their blocks are worth more (core/block_value.c). The
# latter was set by whole scans of the Atlas 10K, cheetah9 and nearline16.
POWERS = {"count": 1.0, "root": 0.4}
CAUGHT_UP = {"count": 0.0, "root": 0.3}
WORTHS = 24             # classes of what pieces are worth then


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


def _longest(length, nodes, runs, windows):
    """[k, node, w]: chance that one of the runs has k or more in the window: where a piece is
    much shorter than a track it has blocks of one run."""
    found = []
    for m in nodes:
        low = m // runs
        one = [np.cumsum(_ring(length, part, length, windows)[::-1], axis=0)[::-1]
               for part in (low, low + 1)]
        more = m % runs
        found.append(1 - (1 - one[0]) ** (runs - more) * (1 - one[1]) ** more)
    return np.clip(np.stack(found, axis=1), 0, 1)


def _nodes(length):
    """Numbers of blocks left that are reckoned with; others lie between."""
    return np.unique(np.append(np.arange(min(NODES_FROM, length)), np.round(
        np.geomspace(min(NODES_FROM, length), length, NODES)).astype(int)))


@functools.lru_cache(maxsize=32)
def windows_of(length, most):
    """(windows, [runs - 1, k, m, w]): chances that a window holds k or more, k = 0 .. most, of
    m blocks left in 1, 2 or 3 runs."""
    windows = np.arange(0, length + 0.01, 1.0 if length > SHORT else 0.5)
    size = len(windows)
    found = [_line(length, length, windows)]
    less = 0.75 * np.arange(size)            # with the end within: the better side, mean
    low = less.astype(int)
    nodes = _nodes(length)
    at = np.interp(np.arange(length + 1), nodes, np.arange(len(nodes)))
    below = np.minimum(at.astype(int), len(nodes) - 2)
    part = (at - below)[:, None]
    for runs in (2, 3):
        p = np.stack([_runs_of(length, m, runs, length, windows) for m in nodes], axis=1)
        ring = np.clip(np.cumsum(p[::-1], axis=0)[::-1], 0, 1)
        if 2 * most < length:
            ring[2:] = _longest(length, nodes, runs, windows)[2:]
        ring = ring[:, below] * (1 - part) + ring[:, below + 1] * part
        cut = ring[:, :, low] * (1 - less + low) + \
            ring[:, :, np.minimum(low + 1, size - 1)] * (less - low)
        found.append(ring + (cut - ring) * windows / length)
    return windows, np.array(found)[:, :most + 1]


# ---- gaps ----

class Gaps(NamedTuple):
    """Classes of gaps: share[c] of all; more[c]: pieces of a plan beyond its first;
    tracks[c, s, w]: those of shell s that offer a window of that length; across[c, s, w]:
    those whose end may be crossed within such a one; looked[c, s]: tracks that the search
    looks at, and passed[s]: steps in which it passes over others."""

    share: np.ndarray
    more: np.ndarray
    tracks: np.ndarray
    across: np.ndarray
    looked: np.ndarray
    passed: np.ndarray

    def within(self, budget, rich):
        """(tracks[c, w], across[c, w]) that a search of `budget` steps comes to; rich: share of
        the tracks that have enough to be looked at."""
        cost = self.looked * rich + self.passed
        before = np.cumsum(cost, axis=1) - cost
        seen = np.clip((budget - before) / np.maximum(cost, 1e-9), 0, 1)
        return np.einsum("cs,csw->cw", seen, self.tracks), \
            np.einsum("cs,csw->cw", seen, self.across)


def _shells(device, distance, con):
    """[(cylinders away, extra s, tracks)] of the cylinders around both ends of a gap."""
    edges = np.unique(np.round(np.geomspace(1, min(device.cylinders, REACH) + 1, SHELLS)))
    middle = (edges[:-1] + edges[1:] - 1) / 2
    count = np.diff(edges) * 2 * device.heads
    near = freegap.seek_time(device, middle) - freegap.seek_time(device, distance) + \
        2 * con["seek"]
    outward = near + freegap.seek_time(device, distance + middle)
    inward = near + freegap.seek_time(device, np.abs(distance - middle))
    between = middle < distance / 2
    found = list(zip(middle, outward, count)) + \
        list(zip(middle[between], inward[between], count[between]))
    return sorted(found)


def _spread(at, counts, size):
    """[s, w]: counts of shells at places between the points of a grid, split between their
    neighbours; none below it."""
    seen = at > 0
    at = np.clip(at, 0, size - 1.001)
    low = at.astype(int)
    part = at - low
    found = np.zeros((len(at), size))
    rows = np.arange(len(at))
    found[rows, low] = np.where(seen, counts * (1 - part), 0)
    found[rows, low + 1] += np.where(seen, counts * part, 0)
    return found


def _classes(choice):
    """(latencies, shares): classes of gaps, finer where latencies are long and few."""
    edges = np.array(EDGES)
    share = np.diff(edges)
    late = np.interp(edges[:-1] + share / 2, np.append(0, np.cumsum(choice.latency_pmf)),
                     np.append(0, choice.late + choice.step / 2))
    return late, share


class Scene(NamedTuple):
    """What gaps_of() needs: device, settings, choice, mean distance, con by kind, share of
    reads and of writes, pieces per plan by latency (a function); and what con is (a function)
    when only a share of the gaps has a plan, of so many blocks; chances: requests among whose gaps
    the next is chosen, by what they bring."""

    device: object
    settings: object
    choice: object
    distance: float
    con: dict
    reads: np.ndarray
    pieces: object
    con_at: object
    chances: float


def gaps_of(scene, tau, windows):
    """Gaps for tracks whose blocks pass in tau s; windows: the grid of those."""
    rows = []
    for write, share in zip((False, True), scene.reads):
        offers = _offers(scene, write)
        for late, part in zip(*_classes(scene.choice)):
            if share:
                rows.append((share * part, scene.pieces(late) - 1,
                             *_class_of(scene, offers, late, write, tau, windows)))
    away = _offers(scene, False)[0]
    passed = np.diff(away, prepend=0) * ARMS / PASSED
    return Gaps(*(np.array(column) for column in zip(*rows)), passed)


def _offers(scene, write):
    """(cylinders away, extra s, tracks) of shells; the first are no cylinder away."""
    near = freeyield.tracks_nearby(scene.device, scene.distance, scene.settings, scene.con,
                                   write, 1)
    offers = [(0.0, *offer) for offer in near.same + near.other]
    offers += _shells(scene.device, scene.distance, scene.con)
    return np.array(offers).T


def _class_of(scene, offers, late, write, tau, windows):
    """(tracks, across, looked) of Gaps for one class: gaps with `late` s of latency."""
    device, con = scene.device, scene.con
    step, size = windows[1], len(windows)
    cap = device.revolution_time - con["seek"] * (2 if scene.settings.lifted else 1)
    _, extra, count = offers
    count = count if scene.settings.separate else np.zeros(len(count))
    usable = np.minimum(late - extra, cap)
    tracks = _spread((usable - tau / 2) / tau / step + 0.5 / step, count, size) * \
        (usable > tau / 2)[:, None]
    across = np.zeros((len(extra), size))
    zones, turn = device.zones, device.revolution_time
    for skew, part in ((zones.track_skew, 1 - 1 / device.heads),
                       (zones.cylinder_skew, 1 / device.heads)):
        left = usable - float(device.zone_weights() @ skew) * turn - tau
        across += part * _spread(left / tau / step, count, size)
    if not write:
        # what is read with the request costs no search
        tracks[0] += _spread(np.array([(late - con["seek"]) / tau + 0.5]) / step, np.ones(1),
                             size)[0]
    return tracks, across, count * (usable > tau / 2)


# ---- the course of a scan ----

class Course(NamedTuple):
    """Of tracks of one length: gaps per track when a share is done, and that share."""

    gaps: np.ndarray
    done: np.ndarray


class _State:
    """Tracks by blocks left, and straddlers."""

    def __init__(self, granules, straddlers, most, power):
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
        self.kept = None
        self.order, self.begins, self.worth = self._worths(power)

    def _worths(self, power):
        """What pieces of k blocks of tracks with m (of m + 1, the last across the track's end) are
        worth, m^power - (m - k)^power, in classes:
        (all k and m by their class, where in these each class begins, [k - 1, m]: its number)."""
        k = np.arange(1, self.most + 1)[:, None]
        worth = np.maximum(self.blocks, k) ** power - np.maximum(self.blocks - k, 0) ** power
        if power < 1:
            finest = np.log(worth.max() / worth.min()) / WORTHS
            worth = np.round(np.log(worth / worth.min()) / max(finest, 1e-9))
        _, classes = np.unique(worth, return_inverse=True)
        order = np.argsort(classes.ravel(), kind="stable")
        begins = np.searchsorted(classes.ravel()[order], np.arange(classes.max() + 1))
        return order, begins, classes.reshape(worth.shape)

    def by_worth(self, chances):
        """[class, w]: sums of chances [k - 1, m, w]."""
        flat = chances.reshape(-1, chances.shape[-1])
        return np.add.reduceat(flat[self.order], self.begins, axis=0)

    def left(self):
        """Share of the blocks."""
        return (float(self.tracks @ self.blocks) * self.scale +
                self.straddlers * self.across) / self.granules

    def rich(self):
        """Share of the tracks that have as much as a piece now, and may be looked at."""
        need = max(self.piece, 1.0)
        more = np.append(np.cumsum(self.tracks[::-1])[::-1], 0.0)
        have = float(np.interp(need, np.arange(len(more)), more))
        lone = self.tracks[0] * self.straddlers * self.across if need < 1.5 else 0.0
        return have + float(lone)

    def windows(self, table, bin_share):
        """([k - 1, m, w]: chances of exactly k blocks in a window, of the most or more;
        [k - 1, m, w]: that k - 1 are before a track's end which lies in it), by the number of
        runs now; kept while pieces are of about one size."""
        if self.kept and abs(self.kept[0] / self.piece - 1) < SAME_PIECE:
            return self.kept[1:]
        runs = 1 + RUNS * (self.blocks - 1) * (1 - self.blocks / self.length) / \
            max(self.piece, 1.0)
        runs = np.clip(runs, 1, 3)[:, None]
        weights = (np.clip(2 - runs, 0, 1), 1 - np.abs(runs - 2), np.clip(runs - 2, 0, 1))
        chance = sum(np.maximum(w, 0) * part for w, part in zip(weights, table))
        exact = np.maximum(chance[:-1] - chance[1:], 0)
        before = (np.cumsum(exact, axis=2) - exact / 2) * bin_share
        self.kept = (self.piece, np.concatenate((exact[1:], chance[-1:])), before)
        return self.kept[1:]

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


def _taken(state, gaps, search, table, bin_share):
    """(take, also, plans, blocks): what a gap takes, as in _State.advance(); chance that it
    takes anything; blocks. search: its steps, and the gaps of which the best is taken; bin_share:
    of a turn that a step between windows is."""
    budget, chances = search
    wanted, before = state.windows(table, bin_share)
    offered, crossed = gaps.within(budget, state.rich())
    one = state.by_worth(wanted * state.tracks[:, None])
    at_least = np.clip(np.cumsum(one[::-1], axis=0)[::-1], 0, 1 - 1e-12)
    end = state.by_worth(before * state.tracks[:, None]) * (state.straddlers * state.across)
    hazard = crossed @ end.T
    none = offered @ np.log(1 - at_least).T - np.cumsum(hazard[:, ::-1], axis=1)[:, ::-1]
    at_least = 1 - np.exp(chances * none)
    best = np.maximum(at_least - np.pad(at_least[:, 1:], ((0, 0), (0, 1))), 0)
    weight = offered @ one.T + hazard
    # a further piece is as likely near as the first blocks that come are wanted
    often = gaps.share * (1 + gaps.more * state.left())
    share = np.where(weight > 1e-12, best * often[:, None] / np.maximum(weight, 1e-12), 0)
    take, also = (np.einsum("kmw,kmw->km", chances, (share.T @ tracks)[state.worth]) *
                  state.tracks for chances, tracks in ((wanted, offered), (before, crossed)))
    also *= state.straddlers * state.across
    k = np.arange(1, len(take) + 1)
    plain = take.sum(axis=1) @ k + also.sum(axis=1) @ (k - 1)
    return take, also, float(gaps.share @ at_least[:, 0]), \
        float(plain) * state.scale + float(also.sum())


def course(scene, granules, straddlers, most, blocks, gaps_per_second):
    """The Course of tracks of so many granules; blocks: of all such tracks; gaps_per_second:
    of the whole disk."""
    state = _State(granules, straddlers, most, POWERS[scene.settings.value])
    windows, table = windows_of(state.length, state.most)
    step = windows[1]
    tau = scene.device.revolution_time / granules
    gaps, plans, last = None, 1.0, 1.0
    budget = HOP_BUDGET if "several" in scene.settings.lifted else BUDGET
    passed, at, done = 0.0, [0.0], [0.0]
    left = 1.0
    while left * blocks > 1 and len(at) < 500:
        if gaps is None or abs(math.log(max(plans, 1e-6) / last)) > OTHER_PLANS:
            if gaps is not None:
                scene = scene._replace(con=scene.con_at(plans, state.piece))
                last = max(plans, 1e-6)
            gaps = gaps_of(scene, tau, windows)
        take, also, plans, rate = _taken(state, gaps, (budget, scene.chances), table,
                                         step / granules)
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
    lengths = _groups(device)
    # where a track has very many blocks, some together count as one
    unit = max(math.ceil(lengths[0] / granule / MOST_BLOCKS), 1)
    granule, straddlers = unit * granule, straddlers / unit
    most = int(scene.settings.max_bytes // granule)
    blocks = device.capacity / granule / GROUPS
    ends = [course(scene, length / granule, straddlers, most, blocks, gaps_per_second)
            for length in (lengths[0], lengths[-1])]
    rows = []
    for length in lengths:
        part = (lengths[0] - length) / max(lengths[0] - lengths[-1], 1e-9)
        passed = [np.interp(POINTS, c.done, c.gaps) for c in ends]
        last = [c.gaps[-1] for c in ends]
        per_track = gaps_per_second * length / device.capacity
        rows.append(np.append((1 - part) * passed[0] + part * passed[1],
                              (1 - part) * last[0] + part * last[1]) / per_track)
    caught_up = CAUGHT_UP[scene.settings.value]
    rows = (1 - caught_up) * np.array(rows) + caught_up * np.mean(rows, axis=0)
    done = np.append(POINTS, 1.0)
    times = np.unique(np.concatenate(rows))
    covered = np.mean([np.interp(times, row, done) for row in rows], axis=0)
    return Scan(float(times[-1]), covered[1:],
                np.diff(covered) / np.maximum(np.diff(times), 1e-12) * device.capacity, times[1:])


def begun_at(scan_, fresh, capacity):
    """A Scan that begins with what a fresh map brings (bytes/s), told by freeyield: that knows of
    neighbouring tracks that their blocks begin at nearly the same angle, and are no new
    chances. It matters the less the fewer blocks are left."""
    if not fresh or not scan_.rate[0]:
        return scan_
    part = np.diff(scan_.done, prepend=0)
    left = 1 - scan_.done + part / 2
    rate = scan_.rate * (1 + (fresh / scan_.rate[0] - 1) * left)
    times = np.cumsum(part * capacity / np.maximum(rate, 1e-12))
    return Scan(float(times[-1]), scan_.done, rate, times)
