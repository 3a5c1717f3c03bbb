# SPDX-License-Identifier: GPL-2.0
"""Where one run of tracks ends and the next begins.

When a run ends, its law is known, but not yet the next one's. A track that happened to
fit the old law may be the new run's, or the units of two tracks, the old run's last one
and the new run's first one, may have happened to lie on one line. Once the new law is
known, too, both can be asked.
"""

import numpy as np

from .run import Odd, Run
from .track import STRAYS, wrap

ALIKE = 0.1             # slots: what is not measured but calculated may be so far off
SAME = 0.35             # slots: laws that differ less, one of them new, say the same
MOST_REPEATS = 60


class Border:
    """Between two runs, the second of which has just been learned."""

    def __init__(self, reader, old, new):
        self.reader = reader
        self.old = old
        self.new = new

    def settle(self):
        """Move tracks and units to the run that they belong to; the units next to the
        border that live elsewhere."""
        while self.new.head0 and self.old.done > 1 and self._takes_track():
            pass
        self._divide()
        return self._strays_before(), self._strays_behind()

    def _slots_off(self, run, track, blocks):
        """How many slots units of a track are from their places; NaN for none."""
        slots = track["slot"] + blocks - track["first"] + 1 + run.passed(blocks)
        edges = self.reader.edges(blocks, self.reader.slot_repeats(1 / track["spt"], 0.4))
        off = wrap(edges - track["start"] - slots / track["spt"]) * track["spt"]
        return np.where(np.abs(off - np.round(off)) < 0.45, np.round(off), np.nan)

    def _strays_before(self):
        """The old run's last units that are not in their places."""
        track = self.old.tracks()[-1]
        blocks = track["first"] + track["count"] - 1 - np.arange(min(track["count"], STRAYS))
        good = np.flatnonzero(self._slots_off(self.old, track, blocks) == 0)
        return blocks[:good[0]].tolist() if len(good) else []

    def _strays_behind(self):
        """The new run's first units that are not in their places; it may begin a slot or
        two beside where the first of them seemed to say."""
        track = self.new.tracks()[0]
        blocks = track["first"] + np.arange(min(track["count"], STRAYS))
        off = self._slots_off(self.new, track, blocks)
        shift = off[-1]
        if not shift:
            good = np.flatnonzero(off == 0)
            return blocks[:good[0]].tolist()
        slot = track["slot"] + shift
        if len(off) < STRAYS or off[-2] != shift or slot < 0:
            return []
        odd = self.new.odd.get(0) or Odd(0, int(track["count"]))
        self.new.begin(int(track["first"]), Odd(int(slot), odd.count, odd.holes))
        return blocks[off != shift].tolist()

    def _takes_track(self):
        """Have the new run begin with the old one's last track, if it fits; runs mostly
        begin with a cylinder's first track."""
        track, odd = self.old.last()
        longer = Run.from_dict(self.new.as_dict())
        longer.precede()
        start = float(longer.start([0])[0])
        spt = longer.spt[longer.head0]
        ends = np.array([0, odd.count - 1])
        if odd.slot + odd.count < track["spt"] / 2:
            # a part of a track is how runs end
            return False
        edges = self.reader.edges(track["first"] + ends, self.reader.fine_repeats(1 / spt))
        slots = wrap(edges - start) % 1 * spt - 1
        whole = np.round(slots).astype(np.int64)
        off = np.abs(slots - whole).max()
        passed = sum(slots for _, slots in odd.holes)
        room = self.reader.fine_error(1 / spt) * spt + ALIKE
        if np.isnan(edges).any() or whole[1] - whole[0] + 1 != odd.count + passed or \
                not 0 <= whole[0] <= whole[1] < spt or \
                off > max(self._old_off(track, odd, edges), room):
            return False
        self.old.shorten(None)
        self.new.__dict__.update(longer.__dict__)
        self.new.begin(int(track["first"]), Odd(int(whole[0]), odd.count, odd.holes))
        return True

    @staticmethod
    def _old_off(track, odd, edges):
        """How many slots the first and last unit of the old run's last track are off."""
        at = odd.slot + np.array([1, odd.count + sum(slots for _, slots in odd.holes)])
        return np.abs(wrap(edges - track["start"] - at / track["spt"])).max() * track["spt"]

    def _divide(self):
        """The units of the old run's last track that are the new run's first ones."""
        track, odd = self.old.last()
        begun, first_odd = self.new.tracks()[0], self.new.odd.get(0)
        end, room = int(begun["first"]), int(begun["slot"])
        spt, start, slot = int(begun["spt"]), float(begun["start"]), room
        two = odd.slot + odd.count > track["spt"]
        if not room:
            if not two:
                return
            self.new.precede()
            begun = self.new.tracks()[0]
            spt, start = int(begun["spt"]), float(begun["start"])
            room = slot = int(begun["count"])
            first_odd = Odd(0, 0)
        low = max(end - room, int(track["first"]) + 1)
        high = min(end, int(track["first"]) + int(track["spt"]) - odd.slot)
        holes = np.array(odd.holes, dtype=np.int64).reshape(-1, 2)

        def old(unit):
            passed = sum(n * (unit >= at) for at, n in holes)
            return track["start"] + (odd.slot + unit - track["first"] + 1 + passed) / track["spt"]

        def new(unit):
            return start + (slot - (end - unit) + 1) / spt

        first = self._crossing(low, high, old, new, 1 / spt, end - room)
        if first == end:
            if two:
                self.new.begin(end, first_odd)
            return
        self.old.shorten(Odd(odd.slot, first - int(track["first"]),
                             [hole for hole in odd.holes if hole[0] < first]))
        count = first_odd.count if first_odd else int(begun["count"])
        self.new.begin(first, Odd(slot - (end - first), count + end - first,
                                  first_odd.holes if first_odd else []))

    def _crossing(self, low, high, old, new, unit, likely):
        """The first unit, from low to high, whose angle is new(unit) and not old(unit);
        `likely` if there is no telling."""
        blocks = np.arange(low, high)
        differ = np.abs(wrap(new(blocks) - old(blocks)))
        blocks = blocks[differ > SAME * unit]
        left, right = 0, len(blocks)
        while left < right:
            middle = (left + right) // 2
            block = blocks[middle]
            differ = abs(wrap(new(block) - old(block)))
            edge = self.reader.edges([block], min(self.reader.slot_repeats(differ, 0.4),
                                                  MOST_REPEATS))[0]
            if abs(wrap(edge - old(block))) < abs(wrap(edge - new(block))):
                left = middle + 1
            else:
                right = middle
        lowest = blocks[left - 1] + 1 if left else low
        highest = blocks[left] if left < len(blocks) else high
        return int(likely if lowest <= likely <= highest else highest)
