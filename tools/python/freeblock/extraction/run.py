# SPDX-License-Identifier: GPL-2.0
"""A run of tracks that follow one law, such as a zone: how long each is and at which
angle it begins, as known so far.

Tracks are numbered in the order of their units. The i-th lies on the run's cylinder
(head0 + i) / heads, as its (head0 + i) % heads-th; slot 0 of the h-th of cylinder c
begins at angle + (h + (heads - 1) * c) * track_skew + c * cyl_skew.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from .layout import TRACK
from .track import wrap

WHOLE_SLOTS = 8         # that a track may begin late because they hold nothing
SPT_SAMPLES = 8         # square root of the tracks that tell a slot as long as the jitter


@dataclass
class Odd:
    """A track that is not as the pattern says: the slot of its first unit, its units,
    and slots passed over before which units: [(unit, slots)]."""

    slot: int
    count: int
    holes: list = field(default_factory=list)


@dataclass
class Run:
    """first: unit; next: the one that the next track begins with; done: tracks found;
    spt, tail: slots, and those at the end that hold nothing, of the tracks of two
    cylinders; odd: {track: Odd}; sums: of the least squares that make the law."""

    first: int
    heads: int
    head0: int
    spt: list
    tail: list
    law: list
    next: int = 0
    done: int = 0
    odd: dict = field(default_factory=dict)
    base: list = None
    sums: list = None
    late: list = None

    def __post_init__(self):
        self.base = self.base or list(self.law)
        self.sums = self.sums or [[0.0] * 4 for _ in range(3)]
        self.late = self.late or [[0, 0.0] for _ in self.spt]

    def as_dict(self):
        """What JSON can say."""
        said = asdict(self)
        said["odd"] = [[i, odd.slot, odd.count, odd.holes] for i, odd in self.odd.items()]
        return said

    @staticmethod
    def from_dict(said):
        """The inverse of as_dict()."""
        odd = {i: Odd(slot, count, [tuple(hole) for hole in holes])
               for i, slot, count, holes in said["odd"]}
        return Run(**{**said, "odd": odd})

    # ---- the law

    def _columns(self, tracks):
        """What angle, track skew and cylinder skew are multiplied by."""
        cyl, head = np.divmod(self.head0 + np.asarray(tracks), self.heads)
        return np.stack([np.ones(len(cyl)), head + (self.heads - 1) * cyl, cyl], axis=1)

    def start(self, tracks):
        """The angles at which tracks begin."""
        return self._columns(tracks) @ np.array(self.law)

    def place(self, tracks):
        """The tracks' places in the pattern."""
        return (self.head0 + np.asarray(tracks)) % len(self.spt)

    def learn(self, tracks, off):
        """Angles lie `off` the law, on these tracks."""
        x = self._columns(tracks)
        # off what it was at first, so that the sums stay one equation
        y = off + x @ (np.array(self.law) - self.base)
        scale = np.array([1.0, 1e3, 1e3])
        x = x / scale
        sums = np.array(self.sums)
        sums[:, :3] += x.T @ x
        sums[:, 3] += x.T @ y
        self.sums = sums.tolist()
        found = np.linalg.lstsq(sums[:, :3], sums[:, 3], rcond=1e-14)[0]
        self.law = (np.array(self.base) + found / scale).tolist()

    def check_spt(self, tracks, spread, late):
        """Last units' angles lie `spread` turns behind first ones' beyond what the slots
        between say: where enough tracks agree, their slots per turn were wrong. `late`: how
        late reports are. Whether something changed."""
        places = self.place(tracks)
        changed = False
        for place in np.unique(places):
            sums = self.late[place]
            mine = spread[places == place]
            sums[0] += len(mine)
            sums[1] += float(mine.sum())
            slots = sums[1] / sums[0] * self.spt[place]
            # the mean is then within an eighth of a slot, but for once in 1000
            enough = max((SPT_SAMPLES * late * self.spt[place]) ** 2, 4)
            if sums[0] >= enough and abs(slots) > 0.5:
                self.spt[place] -= int(np.round(slots))
                self.tail[place] -= int(np.round(slots))
                self.late[place] = [0, 0.0]
                changed = True
        return changed

    # ---- tracks

    def expect(self, count):
        """The next tracks as they should be: TRACK array (cyl, head: within the run and
        in the order of units)."""
        return self._tracks(np.arange(self.done, self.done + count), self.next)

    def _tracks(self, index, first):
        tracks = np.zeros(len(index), TRACK)
        place = self.place(index)
        tracks["spt"] = np.array(self.spt)[place]
        tracks["count"] = tracks["spt"] - np.array(self.tail)[place]
        for i in sorted(self.odd):
            if len(index) and index[0] <= i <= index[-1]:
                tracks["slot"][i - index[0]] = self.odd[i].slot
                tracks["count"][i - index[0]] = self.odd[i].count
        tracks["first"] = first + np.concatenate(
            ([0], np.cumsum(tracks["count"].astype(np.int64))))[:-1]
        tracks["start"] = self.start(index)
        tracks["cyl"], tracks["head"] = np.divmod(self.head0 + index, self.heads)
        return tracks

    def accept(self, tracks):
        """These, of expect(), are right."""
        self.done += len(tracks)
        self.next += int(tracks["count"].sum())

    def accept_odd(self, odd):
        """The next track is another than expected, or none."""
        usual = self.expect(1)[0]
        if (odd.slot, odd.count) != (0, usual["count"]) or odd.holes:
            self.odd[self.done] = odd
        self.done += 1
        self.next += odd.count

    def precede(self):
        """One more track before the first, as the pattern has it."""
        if not self.head0:
            # on another cylinder, with which the pattern of two begins anew
            self.law[0] -= self.law[2] + (self.heads - 1) * self.law[1]
            self.spt = self.spt[self.heads:] + self.spt[:self.heads]
            self.tail = self.tail[self.heads:] + self.tail[:self.heads]
        self.head0 = (self.head0 - 1) % self.heads
        self.base, self.sums = list(self.law), [[0.0] * 4 for _ in range(3)]
        self.odd = {i + 1: odd for i, odd in self.odd.items()}
        self.done += 1
        self.first -= self.spt[self.head0] - self.tail[self.head0]

    def begin(self, first, odd):
        """The first track is another, and begins with that unit."""
        self.odd.pop(0, None)
        if (odd.slot, odd.count) != (0, self.spt[self.head0] - self.tail[self.head0]) or odd.holes:
            self.odd[0] = odd
        self.first = first

    def last(self):
        """The last track: TRACK and its Odd, as it was accepted."""
        track = self.tracks()[-1]
        return track, self.odd.get(self.done - 1) or Odd(0, int(track["count"]))

    def shorten(self, odd):
        """The last track is another; None: it is none of this run."""
        self.next -= int(self.tracks()[-1]["count"])
        self.odd.pop(self.done - 1, None)
        self.done -= 1
        if odd:
            self.accept_odd(odd)

    def tracks(self):
        """All tracks found."""
        return self._tracks(np.arange(self.done), self.first)

    def passed(self, blocks):
        """How many slots are passed over before these blocks, on their tracks: as many as
        holes() say between a track's first unit and the block."""
        holes = np.array(self.holes(), dtype=np.int64).reshape(-1, 2)
        if not len(holes):
            return np.zeros(len(blocks), dtype=np.int64)
        first = self.tracks()["first"]
        begins = first[np.searchsorted(first, blocks, side="right") - 1]
        total = np.concatenate(([0], np.cumsum(holes[:, 1])))
        return total[np.searchsorted(holes[:, 0], blocks, side="right")] - \
            total[np.searchsorted(holes[:, 0], begins, side="right")]

    def holes(self):
        """(unit, slots passed over before it) in the midst of tracks."""
        return sorted(hole for odd in self.odd.values() for hole in odd.holes)

    @property
    def cylinders(self):
        """How many the tracks lie on."""
        return -(-(self.head0 + self.done) // self.heads)


def _middle(turns):
    """The median of angles that are near each other."""
    return turns[0] + np.median(wrap(turns - turns[0]))


@dataclass
class Room:
    """How far steps from track to track may be off, turns; a track whose first slots hold
    nothing is off by whole slots."""

    unit: float
    error: float

    def cost(self, off):
        """How ill these steps fit."""
        slots = np.round(off / self.unit)
        whole = (np.abs(off - slots * self.unit) < self.error) & (np.abs(slots) <= WHOLE_SLOTS)
        return float(np.sum(np.where(np.abs(off) < self.error, 0, np.where(whole, 0.3, 1))))


def skews(starts, heads, head0, room):
    """Track skew, cylinder skew and how ill they fit the steps from track to track, if
    the first track is a cylinder's head0-th; None: it cannot be told."""
    steps = np.diff(starts) % 1
    across = (head0 + np.arange(len(steps))) % heads == heads - 1
    if not across.any() or (heads > 1 and across.all()):
        return None
    cyl = _middle(steps[across])
    track = _middle(steps[~across]) if heads > 1 else 0.0
    off = wrap(steps - np.where(across, cyl, track))
    # the first track may begin late: dead sectors
    return track, cyl, room.cost(off[1:])


def across(starts, heads, head0):
    """The steps from cylinder to cylinder, and their median."""
    steps = np.diff(starts) % 1
    steps = steps[(head0 + np.arange(len(steps))) % heads == heads - 1]
    return [float(_middle(steps)), *steps.tolist()]


def phase_of(starts, heads, room):
    """(head0, track skew, cylinder skew, cost) for that many heads."""
    best = None
    for head0 in range(heads):
        found = skews(starts, heads, head0, room)
        if found and (best is None or found[2] < best[3]):
            best = (head0,) + found
    return best


def count_heads(starts, spt, room):
    """The fewest heads that explain where tracks begin, if the skew between cylinders
    is another than within; 1 if all steps are alike; None: not enough is known."""
    if len(starts) < 6:
        return None
    for heads in range(1, (len(starts) - 2) // 2 + 1):
        found = phase_of(starts, heads, room)
        if not found or heads > 1 and abs(wrap(found[1] - found[2])) < room.error:
            continue
        if fit(starts, spt, heads, found[0], found[1:3]):
            return heads
    return None


def fit(starts, spt, heads, head0, skew):
    """The law and the slot with which each track's units begin, mostly 0, or None if they
    follow no law; `skew`: (track, cylinder)."""
    run = Run(0, heads, head0, [1], [0], [0.0, *skew])
    index = np.arange(len(starts))
    off = wrap(starts - run.start(index))
    later = off[1:] if len(off) > 1 else off
    run.law[0] = float(_middle(later))
    slots = np.zeros(len(starts), dtype=np.int64)
    for _ in range(2):
        off = wrap(starts - run.start(index))
        slots = np.round(off * spt).astype(np.int64)
        rest = off - slots / spt
        columns = run._columns(index)    # pylint: disable=protected-access
        run.law = (np.array(run.law) + np.linalg.lstsq(columns, rest, rcond=1e-9)[0]).tolist()
    slots[0] %= spt[0]
    good = np.abs(rest * spt) < 0.35
    if not good.all() or np.any(slots < 0) or np.count_nonzero(slots[1:]) > len(slots) // 4:
        return None
    return run.law, slots
