# SPDX-License-Identifier: GPL-2.0
"""How far an extracted model is from the truth, which for a simulated drive is known.

For tests and `make extract` only: an extraction never sees the truth. The truth is
the drive's description as a model (freeblock.sim.truth), made sure of by asking the
simulated drive itself where some LBNs lie.
"""

import numpy as np

from freeblock import ToolError
from freeblock.extraction.phase import wrap
from freeblock.extraction.places import Layout
from freeblock.formats import fbdrive, fbmodel
from freeblock.sim import truth
from . import replay

# Of drives of more physical blocks only so many LBNs, chosen at random, and those at
# zones' borders are compared
MOST_BLOCKS = 40000000
SOME_BLOCKS = 500000
MANY_ZONES = 2000
ASKED = 500             # LBNs of which the simulated drive is asked
ASKED_TURN = 1e-6


def seek_ns(points, distances):
    """Times over distances, as a model's points say it: straight lines from (0, 0) on,
    the last one continued."""
    at = np.array([(0, 0)] + list(points), dtype=float)
    found = np.interp(distances, at[:, 0], at[:, 1])
    if len(at) > 2:
        (d0, t0), (d1, t1) = at[-2:]
        distances = np.asarray(distances, dtype=float)
        found = np.where(distances > d1, t1 + (t1 - t0) / (d1 - d0) * (distances - d1), found)
    return found


def _asked(path, lbns):
    """Cylinder, head, sector, sectors per track and angle as the simulated drive has
    them."""
    rows = np.array(replay.located(path, lbns), dtype=float).reshape(-1, 7)
    return [rows[:, i].astype(np.int64) for i in range(2, 6)] + [rows[:, 6]]


def true_model(path):
    """(model, Layout) of a drive's description."""
    model = fbmodel.Model(truth.model(path), path)
    layout = Layout.of_model(model)
    # the drive counts in its own logical blocks
    scalars, _ = fbdrive.records(path)
    scale = int(scalars.get("sector_bytes", ["512"])[0]) // 512
    own = np.unique(np.random.default_rng(1).integers(0, layout.blocks // scale, ASKED))
    cyl, head, sector, spt, angle = _asked(path, own)
    said = layout.locate(own * scale)
    if np.any(said["cyl"] != cyl) or np.any(said["head"] != head) or \
            np.any(said["slot"] != sector * scale) or np.any(said["spt"] != spt * scale) or \
            np.max(np.abs(wrap(said["start"] - angle))) > ASKED_TURN:
        raise ToolError("%s: read wrongly: the simulated drive has its LBNs elsewhere" % path)
    return model, layout


def _borders(layout):
    """LBNs around the beginnings of zones."""
    first = layout.index.first[1:-1, None]
    near = first + (np.arange(-512, 512) if len(first) < MANY_ZONES else np.arange(-8, 8))
    return np.clip(near.ravel(), 0, layout.blocks - 1)


def _runs(layouts, unit):
    """(first LBNs, how many) of stretches within which each of the layouts has all LBNs
    one behind the other on a track; of very large drives some LBNs."""
    blocks = layouts[0].blocks
    if blocks // unit > MOST_BLOCKS:
        some = np.random.default_rng(2).integers(0, blocks, SOME_BLOCKS)
        some = np.unique(np.concatenate([some] + [_borders(layout) for layout in layouts]))
        return some, np.ones(len(some), np.int64)
    begin = []
    for layout in layouts:
        moved = layout.index.moved_block
        begin += [layout.tracks()["first"], layout.index.slip_block, moved, moved + 1]
    begin = np.unique(np.concatenate(begin))
    begin = begin[begin < blocks]
    return begin, np.diff(np.append(begin, blocks))


def _tracks_of(layout, lbns, at):
    """First LBNs of the tracks on which LBNs' slots, remaps apart, lie, how many those
    tracks hold, and how many slots behind the first's the LBNs' lie."""
    zone = layout.index.zone_of(lbns)
    number = layout.index.number(lbns, zone)
    home = np.where(layout.moved(lbns), 0, 1)
    if not np.all(home):
        at = layout.slot_place(number, zone)
    base = number - at["slot"]
    first = layout.index.block_from(base, zone)
    count = layout.index.block_from(base + at["spt"], zone) - first
    return first, count, number - layout.index.number(first, zone)


def _middle(values, weights, share):
    """The value below which a share of the weights lies."""
    by = np.argsort(values)
    sums = np.cumsum(weights[by])
    return float(values[by][np.searchsorted(sums, share * sums[-1])])


class _Comparison:
    """What differs between two layouts, over runs of LBNs."""

    def __init__(self, want, got, unit, translated):
        self.want, self.got, self.translated = want, got, translated
        self.exact = want.blocks // unit <= MOST_BLOCKS
        self.lbns, self.count = _runs((want, got), unit)
        self.places = [layout.locate(self.lbns) for layout in (want, got)]
        self.tracks = [_tracks_of(layout, self.lbns, at)
                       for layout, at in zip((want, got), self.places)]

    def wrong_runs(self):
        """(first LBNs, how many, which tell) of those that are not where they should be: their
        place, or, where cylinders and heads cannot be known, their track's LBNs and their slots on
        it. Those at the right angle, half a slot at most beside it, do not tell: no timing shows
        where one zone begins that goes on as another ends. Those in spares do."""
        want, got = self.places
        wrong = want["spt"] != got["spt"]
        tell = self.want.moved(self.lbns) != self.got.moved(self.lbns)
        if self.translated:
            for name in ("cyl", "head", "slot"):
                wrong |= want[name] != got[name]
        else:
            wrong |= tell
            for mine, other in list(zip(*self.tracks))[::2]:
                wrong |= mine != other
        late = self.late()
        grown = wrap(late + (self.count - 1) * (1 / got["spt"] - 1 / want["spt"]))
        tell |= np.maximum(np.abs(late), np.abs(grown)) * want["spt"] > 0.5
        return self.lbns[wrong], self.count[wrong], tell[wrong]

    def late(self):
        """By how much the angles are off, one offset, common to all, left aside."""
        late = wrap(self.places[1]["start"] - self.places[0]["start"])
        around = np.sum(self.count * np.exp(2j * np.pi * late))
        late = wrap(late - np.angle(around) / (2 * np.pi))
        return wrap(late - _middle(late, self.count, 0.5))

    def wrong_tracks(self):
        """Boundaries of tracks that only one of them has; of very large drives, sampled
        tracks that do not begin and end alike."""
        ours, theirs = self.tracks
        if self.exact:
            return len(np.setxor1d(ours[0], theirs[0]))
        apart = (ours[0] != theirs[0]) | (ours[1] != theirs[1])
        return len(np.unique(ours[0][apart]))

    def angle_p99(self, told=()):
        """Of how far angles are off; but for runs that begin in a stretch told."""
        count = self.count.copy()
        for first, last, *_ in told:
            count[(self.lbns >= first) & (self.lbns <= last)] = 0
        if not count.any():
            return 0.0
        return _middle(np.abs(self.late()), count, 0.99)


def _observable(model, distances):
    """Time of a read over distances but for the turning of the platters: overhead,
    seek and report together. No host can tell them apart: what the report takes
    longer looks as if the platters stood further on, and the arm arrived sooner."""
    return model.number("read_overhead_ns", 0) + model.number("read_report_ns", 0) + \
        seek_ns(model.points["seek"], distances)


def seek_errors(want, got):
    """(largest error at the distances that the extracted model lists, at those that
    the truth lists), us."""
    found = []
    for distances in ([d for d, _ in model.points["seek"]] for model in (got, want)):
        distances = np.array(distances)
        off = _observable(got, distances) - _observable(want, distances)
        found.append(float(np.max(np.abs(off))) / 1000)
    return found


def untold(wrong, told):
    """How many LBNs of runs (first LBNs, how many) lie in none of the stretches told, [first,
    last, ...]."""
    begin = np.array([row[0] for row in told], np.int64)
    end = np.array([row[1] for row in told], np.int64) + 1
    first, count = wrong
    # the stretches may overlap: what is wrong is cut at all of their ends
    cuts = np.unique(np.concatenate((first, first + count, begin, end)))
    inside = np.zeros(len(cuts), np.int64)
    for values, way in ((begin, 1), (end, -1)):
        np.add.at(inside, np.searchsorted(cuts, values), way)
    bad = np.zeros(len(cuts), np.int64)
    for values, way in ((first, 1), (first + count, -1)):
        np.add.at(bad, np.searchsorted(cuts, values), way)
    left = (np.cumsum(bad) > 0) & (np.cumsum(inside) <= 0)
    return int(np.diff(cuts, append=cuts[-1:])[left].sum()) if len(cuts) else 0


def score(path, model_text, mode, told=()):
    """What `make extract` writes of a run: lbn_mismatches, track_boundaries_wrong,
    angle_err_p99_turn, rotation_err_ppm, seek_err_max_us (and seek_err_true_max_us,
    at the truth's distances), compared: how many LBNs were. mode: with
    "translate" in it, cylinders and heads must be right, too; "tracks": seek distances are of
    tracks. told: stretches of LBNs [first,
    last, ...] that the extraction named as doubtful; lbns_untold: mismatches that tell in none,
    angle_err_p99_untold_turn: of the others."""
    true, want = true_model(path)
    found = fbmodel.Model(model_text, "the extracted model")
    got = Layout.of_model(found)
    if want.blocks != got.blocks:
        raise ToolError("the model has %d LBNs, the drive %d" % (got.blocks, want.blocks))
    both = _Comparison(want, got, true.number("physical_sectors"), "translate" in mode)
    period = found.number("period_ps") / true.number("period_ps")
    at_found, at_true = seek_errors(true, found)
    if mode == "tracks":
        at_found = at_true = None
    first, count, tell = both.wrong_runs()
    return {"mode": mode, "lbn_mismatches": int(count.sum()),
            "lbns_untold": untold((first[tell], count[tell]), told),
            "track_boundaries_wrong": both.wrong_tracks(),
            "angle_err_p99_turn": both.angle_p99(),
            "angle_err_p99_untold_turn": both.angle_p99(told),
            "rotation_err_ppm": abs(period - 1) * 1e6,
            "seek_err_max_us": at_found, "seek_err_true_max_us": at_true,
            "compared": int(both.count.sum())}
