# SPDX-License-Identifier: GPL-2.0
"""The law of one zone: where its tracks begin, in units and in angles.

A zone's units are numbered from 0 in *places*: `first` is place 0's unit, at the
begin of a cylinder. Where nothing is amiss unit u is at place u - first. A *gap* of
x places holds no units (slipped sectors, spares of a range of cylinders): units
behind it are x places further on. Tracks are numbered from 0, too; track t has the
h = t mod heads-th place in its cylinder c = t div heads, holds `counts` places and
has `slots` sectors. The sector in its slot s ends at the angle

        A + h T + c G + (s + 1) / slots          (G = C + (heads - 1) T)

which is Documentation/model-format.rst's with a cylinder's turn in one number, the
one that grows exact with distance. Places may be negative until the zone's first
unit is known.
"""

import numpy as np

from .. import ToolError
from .places import Zone

MAX_GAPS = 400000       # a model's text of 16 MiB holds no more


def wrap(turns):
    """Into -0.5 .. 0.5."""
    return turns - np.round(turns)


class Law:
    """counts, slots: of a cylinder's tracks in the order of units, or of two
    cylinders where odd ones run backwards."""

    def __init__(self, heads, counts, slots, first, theta=(0.0, 0.0, 0.0)):
        self.heads = int(heads)
        self.counts = np.asarray(counts, dtype=np.int64)
        self.slots = np.asarray(slots, dtype=np.int64)
        self.first = int(first)
        self.theta = np.array(theta, dtype=float)       # A, T, G
        self.weight = np.zeros((3, 3))
        self.gap_at = np.zeros(0, dtype=np.int64)       # places
        self.gap_size = np.zeros(0, dtype=np.int64)
        self._index()

    def _index(self):
        self.before = np.concatenate(([0], np.cumsum(self.counts)))
        self.slots_before = np.concatenate(([0], np.cumsum(self.slots)))
        self.period = int(self.before[-1])
        self._index_gaps()

    def _index_gaps(self):
        order = np.argsort(self.gap_at, kind="stable")
        self.gap_at, self.gap_size = self.gap_at[order], self.gap_size[order]
        self.gone = np.concatenate(([0], np.cumsum(self.gap_size)))
        self._gap_from = self.gap_at - self.gone[:-1]

    # ---- places, tracks, units

    def place(self, units):
        """Places of units."""
        units = np.asarray(units, dtype=np.int64) - self.first
        if not len(self.gap_at):
            return units
        return units + self.gone[np.searchsorted(self._gap_from, units, side="right")]

    def unit(self, place):
        """The first unit at that place or behind it."""
        passed = int(np.searchsorted(self.gap_at, place, side="left"))
        units = place - int(self.gone[passed])
        if passed:
            over = int(self.gap_at[passed - 1] + self.gap_size[passed - 1]) - place
            units += max(over, 0)
        return self.first + units

    def track_place(self, track):
        """A track's first place."""
        cyls, rest = divmod(int(track), len(self.counts))
        return cyls * self.period + int(self.before[rest])

    def boundary(self, track):
        """A track's first unit."""
        return self.unit(self.track_place(track))

    def count(self, track):
        """Places of a track."""
        return int(self.counts[int(track) % len(self.counts)])

    def track(self, units):
        """Tracks of units."""
        return self.split(self.place(units))[0]

    def split(self, places):
        """(track, place on it, its slots) of places."""
        cyls, rest = np.divmod(places, self.period)
        kind = np.searchsorted(self.before, rest, side="right") - 1
        return cyls * len(self.counts) + kind, rest - self.before[kind], self.slots[kind]

    def slot_index(self, places):
        """Slots of places, counted from track 0's first."""
        cyls, rest = np.divmod(places, self.period)
        kind = np.searchsorted(self.before, rest, side="right") - 1
        return cyls * self.slots_before[-1] + self.slots_before[kind] + rest - self.before[kind]

    # ---- angles

    def _terms(self, places):
        """(rows of A, T, G's factors, how far into the turn the place ends)."""
        track, at, slots = self.split(np.atleast_1d(places))
        cyl, head = np.divmod(track, self.heads)
        rows = np.stack([np.ones(len(track)), head, cyl], axis=1).astype(float)
        return rows, (at + 1) / slots

    def angle(self, places):
        """At which the sectors at places end, any number of turns."""
        rows, part = self._terms(places)
        return rows @ self.theta + part

    def sigma(self, places):
        """Standard errors of those."""
        rows, _ = self._terms(places)
        known = np.linalg.pinv(self.weight)
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, known, rows), 0))

    def learn(self, places, angles, sigma):
        """Take measured angles in."""
        rows, part = self._terms(places)
        off = wrap(angles - rows @ self.theta - part)
        self.weight = self.weight + rows.T @ rows / sigma ** 2
        # the cylinders' column is by orders of magnitude the largest
        scale = 1 / np.sqrt(np.maximum(np.diag(self.weight), 1e-30))
        scaled = self.weight * scale[:, None] * scale[None, :]
        step = np.linalg.lstsq(scaled, scale * (rows.T @ off) / sigma ** 2, rcond=1e-12)[0]
        self.theta = self.theta + scale * step

    # ---- gaps

    def add_gap(self, place, size):
        """Places from there on hold no units."""
        self.gap_at = np.append(self.gap_at, int(place))
        self.gap_size = np.append(self.gap_size, int(size))
        self._index_gaps()

    def add_gaps(self, places, size):
        """The same, many of one size."""
        self.gap_at = np.append(self.gap_at, np.asarray(places, dtype=np.int64))
        self.gap_size = np.append(self.gap_size, np.full(len(places), int(size)))
        self._index_gaps()

    def cut_gaps(self, place):
        """Forget those from that place on."""
        keep = self.gap_at < place
        self.gap_at, self.gap_size = self.gap_at[keep], self.gap_size[keep]
        self._index_gaps()

    def shrink(self, place, size):
        """The gap that ends nearest to a place loses its first `size` places to units
        that other gaps have moved on; whether there is one."""
        fits = np.flatnonzero(self.gap_size >= size)
        if not len(fits):
            return False
        ends = self.gap_at[fits] + self.gap_size[fits]
        near = fits[np.argmin(np.abs(ends - place))]
        if abs(int(self.gap_at[near]) - place) > 2 * int(self.counts.max()) + size:
            return False
        self.gap_at[near] += size
        self.gap_size[near] -= size
        keep = self.gap_size > 0
        self.gap_at, self.gap_size = self.gap_at[keep], self.gap_size[keep]
        self._index_gaps()
        return True

    def spell_out(self, first, end):
        """Between two units let the spares that come with each track or cylinder be
        gaps like others, so that each can be another one."""
        low, high = (int(p) for p in self.place(np.array([first, end - 1])))
        starts, sizes = self._missing(low, high)
        if len(starts) > MAX_GAPS:
            raise ToolError("%d slips in a zone: more than a model can say" % len(starts))
        self.first = first - int(self.slot_index(low))
        self.counts = self.slots.copy()
        self.gap_at, self.gap_size = starts, sizes
        self._index()

    def rebase(self, unit):
        """Let the cylinder of a unit be cylinder 0, of two where odd ones run back."""
        place = int(self.place(unit))
        cyls = place // self.period
        passed = int(np.searchsorted(self.gap_at, place, side="left"))
        gone = int(self.gone[passed])
        self.gap_at, self.gap_size = self.gap_at[passed:], self.gap_size[passed:]
        moved = cyls * self.period
        self.gap_at = self.gap_at - moved
        self.first += moved - gone
        self._move(cyls * (len(self.counts) // self.heads))
        self._index_gaps()

    def _move(self, cyls):
        """Count cylinders from another one."""
        shift = np.eye(3)
        shift[0, 2] = cyls
        self.theta = shift @ self.theta
        back = np.linalg.inv(shift)
        self.weight = back.T @ self.weight @ back

    # ---- as a zone

    def _missing(self, low, high):
        """Slots that hold no units between places low and high, both of which do:
        [(index from track 0, count)]."""
        starts = [self.slot_index(self.gap_at)]
        ends = [self.slot_index(self.gap_at + self.gap_size - 1) + 1]
        if np.any(self.slots != self.counts):
            first, last = self.split(np.array([low, high]))[0]
            if last - first > 100 * MAX_GAPS:
                raise ToolError("spares on every track or cylinder of a zone of %d tracks: more "
                                "than a model can say" % (last - first))
            tracks = np.arange(first, last)
            kind = tracks % len(self.counts)
            kept = self.slots[kind] > self.counts[kind]
            base = tracks // len(self.counts) * self.slots_before[-1] + self.slots_before[kind]
            starts.append((base + self.counts[kind])[kept])
            ends.append((base + self.slots[kind])[kept])
        starts, ends = np.concatenate(starts), np.concatenate(ends)
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], np.maximum.accumulate(ends[order])
        keep = (starts > self.slot_index(low)) & (starts < self.slot_index(high))
        starts, ends = starts[keep], ends[keep]
        if not len(starts):
            return starts, ends
        new = np.ones(len(starts), dtype=bool)
        new[1:] = starts[1:] > ends[:-1]
        last = np.append(new[1:], True)
        return starts[new], (ends[last] - starts[new])

    def zone(self, first, end, first_cyl):
        """Units first to end - 1 as a Zone that begins at a cylinder, and fills as
        few as it can."""
        low, high = (int(p) for p in self.place(np.array([first, end - 1])))
        base_cyl = int(self.split(low)[0]) // self.heads
        turn = len(self.counts) // self.heads
        base = self.slot_index(np.int64(base_cyl // turn * self.period))
        if base_cyl % turn:
            base += self.slots_before[self.heads]
        starts, sizes = self._missing(low, high)
        if len(starts) > MAX_GAPS:
            raise ToolError("%d slips in a zone: more than a model can say" % len(starts))
        dead = int(self.slot_index(low) - base)
        last = int(self.slot_index(high) - base)
        cyl_slots = int(self.slots_before[self.heads])
        cyls = -(-(last + 1) // cyl_slots)
        track, turned = self.theta[1] % 1, self.theta[2]
        head_spt = None
        if np.any(self.slots != self.slots[0]):
            # odd cylinders of the zone run backwards
            head_spt = [int(n) for n in np.roll(self.slots, -self.heads * (base_cyl % turn))
                        [:self.heads]]
        return Zone(first_cyl, first_cyl + cyls - 1, int(self.slots.max()),
                    angle=float((self.theta[0] + base_cyl * turned) % 1),
                    track_skew=float(track),
                    cyl_skew=float((turned - (self.heads - 1) * self.theta[1]) % 1),
                    dead=dead, spares=cyls * cyl_slots - dead - (end - first),
                    slips=[(int(a - base), int(n)) for a, n in zip(starts, sizes)],
                    head_spt=head_spt)

    # ---- as JSON

    def as_dict(self):
        """What JSON can say."""
        return {"heads": self.heads, "counts": self.counts.tolist(), "slots": self.slots.tolist(),
                "first": self.first, "theta": self.theta.tolist(),
                "weight": self.weight.tolist(),
                "gaps": np.stack([self.gap_at, self.gap_size], axis=1).tolist()}

    @classmethod
    def from_dict(cls, said):
        """The inverse."""
        law = cls(said["heads"], said["counts"], said["slots"], said["first"], said["theta"])
        law.weight = np.array(said["weight"])
        gaps = np.array(said["gaps"], dtype=np.int64).reshape(-1, 2)
        law.gap_at, law.gap_size = gaps[:, 0].copy(), gaps[:, 1].copy()
        law._index_gaps()
        return law
