# SPDX-License-Identifier: GPL-2.0
"""Is each block where the layout says? What is doubtful is named, block by block.

Of every track two things are looked at that a wrong layout cannot have right at once:

* its first and its last block end at the angles that the layout says, by so many reads that half
  a slot shows;
* read as a whole, from a block of the same track a quarter of a turn ahead on, it takes as long as
  its slots: a block that lives elsewhere costs turns, be its spare at the very same angle.

A track that fails, and each with slips, is read block by block. Where two zones meet, blocks that
either's law places at one angle may belong to the other: no timing tells, nor does it matter. On a
drive with more tracks than the time allows, the neighbours of borders, slips and remaps come first,
then stretches chosen at random; the report says how many were looked at.
"""

from dataclasses import dataclass, field

import numpy as np

from .device import FUA, OVERLAP
from .phase import wrap
from .runread import Meter

STRETCH = 64            # tracks looked at in a row
REFERENCES = 48         # blocks that tell how the layout's angles lie to the phase
REPEATS = 16            # reads of each of them
HALF = 0.5              # of a slot: what an angle may be off
LOGICAL = 0.6           # of a logical block, where a slot holds several
SIGMAS = 3              # standard deviations that the mean of a block's reads is hardly off
AGAIN_READS = (1, 4)    # times as many reads of a block that seems to be off, in a row,
ROW = (4, 64)           # and how many at least and at most
AHEAD = 0.25            # turns from the block before a whole track to its first one
LONGER = 0.15           # turns by which a whole track may take longer
AGAIN = 3               # times that a track is read which took longer
NEIGHBOURS = 2          # tracks on both sides of one that is off
MANY = 0.25             # of the tracks in a row: then it is no single blocks that are off
MOST_CLOSE = 256        # tracks read block by block
WHOLE_TURNS = 2.5       # that a track takes, read as a whole and once again at times
ENDS_TURNS = 1.3        # and each read of its two ends
BETWEEN = 3             # tracks between two that are wrong
STRAYS = 4              # blocks of a track that are taken for single ones
MOST_OFF = 0.05         # of the tracks that may be wrong in a model that is trusted
LEAST_OFF = 3           # tracks that may be so on any drive
LEAST_SEEN = 6          # tracks of a zone that tell it
AWAY = np.dtype([("block", "<i8"), ("angle", "<f8")])

ELSEWHERE = "lives in a spare, though not surely in the one of the model"
UNREADABLE = "cannot be read"
ANGLE = "not at the angles that the model says"
WITHIN = "their tracks may begin within physical blocks, behind tracks that the model has wrong"
LONG = "reading this track takes longer than its length"
BESIDE = "beside a hole: their law may have ended before it"


@dataclass
class Audit:
    """doubts: [(first, last, why)] in units; tracks: looked at, of: there are; wrong: of those
    looked at; away: AWAY array of blocks that were found to live elsewhere."""

    doubts: list = field(default_factory=list)
    tracks: int = 0
    of: int = 0
    wrong: int = 0
    away: np.ndarray = None

    @property
    def reason(self):
        """Why the model is not to be trusted, or ""."""
        if self.wrong <= max(MOST_OFF * self.tracks, LEAST_OFF):
            return ""
        return "%d of %d tracks that were looked at are not as the model says" % (
            self.wrong, self.tracks)

    def as_dict(self, unit_sectors):
        """For JSON, in LBNs."""
        return {"tracks_seen": self.tracks, "tracks": self.of, "tracks_wrong": int(self.wrong),
                "doubtful": [[first * unit_sectors, (last + 1) * unit_sectors - 1, why]
                             for first, last, why in joined(self.doubts)]}

    def line(self):
        """For people."""
        return "%d of %d tracks were looked at one by one%s" % (
            self.tracks, self.of, "" if self.tracks >= self.of else
            ": elsewhere slips and blocks that live in spares may have been missed")


def _whole(dev, tracks):
    """Ops that read each track, as few as may be, and how many for each."""
    parts = -(-tracks["count"].astype(np.int64) // dev.longest)
    which = np.repeat(np.arange(len(tracks)), parts)
    part = np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)
    first = tracks["first"][which] + part * dev.longest
    left = tracks["count"][which] - part * dev.longest
    # a track's parts without a gap between them
    flags = np.where(part > 0, FUA | OVERLAP, FUA)
    return dev.ops(first, count=np.minimum(left, dev.longest), flags=flags), parts


def joined(doubts, gap=0):
    """The same, those of one reason in one that are next to each other or within `gap`."""
    found = []
    for first, last, why in sorted(doubts, key=lambda doubt: (doubt[2], doubt[0])):
        if found and found[-1][2] == why and first <= found[-1][1] + 1 + gap * (why == ANGLE):
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last, why])
    return sorted(found)


class _Auditor:
    """An audit under way."""

    def __init__(self, dev, phase, layout, track_s=np.inf):
        self.dev, self.layout = dev, layout
        self.phase, self.meter = phase, Meter(dev, phase)
        self.found = Audit()
        self.away = {}
        self.lost = []          # the first blocks of tracks that are elsewhere as a whole
        self.usual = 0.0
        self.close = 0
        self.shift = 0.0
        self.most = self._affordable(track_s)
        self.half = self._half()
        self._align()

    def _half(self):
        """Of a slot: what an angle may be off. Where physical blocks hold several logical ones
        tracks may begin in their midst, which no layout of whole ones says."""
        if self.dev.logical_bytes >= self.dev.unit_bytes:
            return HALF
        law = self.meter.tolerance * int(self.layout.index.spt.max())
        return min(max(LOGICAL * self.dev.logical_bytes / self.dev.unit_bytes, law), HALF)

    def _affordable(self, track_s):
        """Reads of each track's ends for which there is time: one at least."""
        turns = track_s * 1e9 / self.phase.period_ns
        return max((turns - WHOLE_TURNS) / ENDS_TURNS, 1)

    def _align(self):
        """What the layout calls 0 may be another angle than the phase's."""
        blocks = np.unique(np.random.default_rng(3).integers(0, self.layout.blocks, REFERENCES))
        off = wrap(self.meter.means(blocks, REPEATS) - self._ends(blocks))
        off = off[~np.isnan(off)]
        if len(off):
            around = np.angle(np.mean(np.exp(2j * np.pi * off))) / (2 * np.pi)
            self.shift = float(around + np.median(wrap(off - around)))

    def _ends(self, blocks):
        """The angles at which blocks end, as the layout says."""
        at = self.layout.locate(blocks)
        return at["start"] + 1 / at["spt"]

    def _off(self, blocks, spt, most=REPEATS):
        """By how many slots blocks end elsewhere, by the mean of at most so many reads,
        and of more of those that seem to be off; NaN: not read."""
        enough = int(np.ceil((SIGMAS * self.meter.sigma * np.max(spt) / self.half) ** 2))
        want = self._ends(blocks) + self.shift
        off = wrap(self.meter.means(blocks, int(np.clip(enough, 1, most))) - want) * spt
        for more in AGAIN_READS:
            far = np.flatnonzero(np.abs(off) > self.half)
            # by few reads many may seem to be off
            if not len(far) or more > 1 and len(far) > max(len(blocks) * MANY, LEAST_OFF):
                break
            seen = self.meter.means(blocks[far], int(np.clip(more * enough, *ROW)), row=True)
            off[far] = wrap(seen - want[far]) * np.broadcast_to(spt, len(blocks))[far]
        return off

    def _doubt(self, first, last, why):
        self.found.doubts.append((int(first), int(last), why))

    def hopeless(self):
        """Whether so much is wrong that there is nothing more to learn."""
        return self.found.tracks >= 2 * STRETCH and self.found.wrong > self.found.tracks / 2

    # ---- tracks

    def look(self, tracks):
        """Some tracks in a row."""
        ends = np.stack([tracks["first"], tracks["first"] + tracks["count"] - 1], axis=1).ravel()
        off = self._off(ends, np.repeat(tracks["spt"], 2), self.most)
        unread = np.isnan(off).reshape(-1, 2)
        wrong = (np.abs(off) > self.half).reshape(-1, 2).any(axis=1)
        longer = self._longer(tracks)
        self.found.tracks += len(tracks)
        slips, moved = self._odd(tracks)
        if np.count_nonzero(wrong) > max(len(tracks) * MANY, LEAST_OFF):
            # no single blocks' fault
            self.lost.append(int(tracks[wrong]["first"].min()))
            for track in tracks[wrong]:
                self._doubt(track["first"], track["first"] + track["count"] - 1, ANGLE)
                self._neighbours(track)
            self.found.wrong += np.count_nonzero(wrong)
            slips, moved, longer = slips & ~wrong, moved & ~wrong, longer & ~wrong
            unread[wrong], wrong = False, np.zeros(len(tracks), bool)
        closer = wrong | longer | unread.any(axis=1) | slips | moved
        bad = [not self._units(tracks[i], bool(longer[i])) for i in np.flatnonzero(closer)]
        self.found.wrong += sum(bad)

    def _odd(self, tracks):
        """Which have slips in their midst, and which blocks that are said to live elsewhere."""
        last = tracks["first"] + tracks["count"] - 1
        at = self.layout.locate(last)
        held = at["slot"] - tracks["slot"] + 1
        moved = np.sort(self.layout.index.moved_block)
        inside = np.searchsorted(moved, last, side="right") - np.searchsorted(
            moved, tracks["first"])
        return held != tracks["count"], inside > 0

    def _before(self, tracks, more):
        """For each track: a block of it from whose end its first one is at least AHEAD."""
        spt = tracks["spt"].astype(np.int64)
        away = np.ceil((AHEAD + 0.05 * more) * spt).astype(np.int64)
        free = spt - tracks["count"]
        return tracks["first"] + np.clip(tracks["count"] - 1 - np.maximum(away - free, 0), 0, None)

    def _took(self, tracks, more):
        """Turns by which reading tracks as wholes takes longer than their lengths."""
        before = self._before(tracks, more)
        ops, parts = _whole(self.dev, tracks)
        index = np.cumsum(parts) - parts
        ops = np.insert(ops, index, self.dev.ops(before, flags=FUA))
        ends = index + np.arange(len(tracks)) + parts
        done = self.dev.run(ops)
        at = done["done"].astype(np.float64)
        took = (at[ends] - at[ends - parts]) / self.phase.period_ns
        last = self._home_end(tracks, tracks["first"] + tracks["count"] - 1)
        first = self._home_end(tracks, tracks["first"]) - 1 / tracks["spt"]
        length = last - first
        took -= (first - self._home_end(tracks, before)) % 1 + length
        failed = np.add.reduceat(done["status"] != 0, ends - parts) > 0
        took[failed] = np.inf
        return took

    def _home_end(self, tracks, blocks):
        """Where blocks of tracks end in their own slots, turns from slot 0."""
        index = self.layout.index
        zone = index.zone_of(blocks)
        number = index.number(blocks, zone) - index.number(tracks["first"], zone)
        return (tracks["slot"] + number + 1) / tracks["spt"]

    def _longer(self, tracks):
        """Which tracks take longer than their lengths, or than others. With zero-latency access
        whole ones take less; one whose last block lives elsewhere takes what it would without."""
        took = self._took(tracks, 0)
        # where a track takes several commands nothing is saved
        full = (tracks["count"] == tracks["spt"]) & (tracks["count"] <= self.dev.longest)
        if np.count_nonzero(full) >= LEAST_SEEN:
            self.usual = min(float(np.median(took[full])), 0.0)
        most = LONGER + np.where(full, self.usual, 0.0)
        longer = took > most
        for more in range(1, AGAIN + 1):
            left = np.flatnonzero(longer)
            if not len(left):
                break
            longer[left] = self._took(tracks[left], more) > most[left]
        return longer

    # ---- blocks

    def _units(self, track, longer):
        """A track, block by block; whether all is as the layout says, single blocks apart."""
        first, count, spt = (int(track[name]) for name in ("first", "count", "spt"))
        self.close += 1
        if self.close > MOST_CLOSE:
            self._doubt(first, first + count - 1, ANGLE)
            return False
        leap = max(int(np.ceil(AHEAD * spt)), 1)
        blocks = first + np.concatenate([np.arange(i, count, leap) for i in range(leap)])
        off = self._off(blocks, spt)
        for block in np.sort(blocks[np.isnan(off)]):
            self._doubt(block, block, UNREADABLE)
        wrong = blocks[np.abs(off) > self.half].tolist()
        away = self.layout.moved(np.array(wrong, np.int64))
        strays = set(wrong) | set(self._far(track) if longer else [])
        strays -= set(blocks[self.layout.moved(blocks) | np.isnan(off)].tolist())
        if longer and not strays and not np.isnan(off).any() and \
                not self.layout.moved(blocks).any():
            self._doubt(first, first + count - 1, LONG)
            return False
        ends = first, first + count - 1
        if len(strays) > STRAYS:
            self.lost.append(first)
        if len(strays) > STRAYS or away.any() or strays & set(wrong) & set(ends):
            self._doubt(*ends, ANGLE)
            self._neighbours(track)
            return False
        blocks = sorted(strays)
        angles = self.meter.means(np.array(blocks, np.int64), REPEATS, row=True)
        for block, end in zip(blocks, angles):
            self._doubt(block, block, ELSEWHERE)
            self.away[block] = (end - self.shift) % 1
        return True

    def _neighbours(self, track, why=ANGLE):
        """What is off concerns the tracks on both sides, too: one may be cut in two where a zone
        is thought to begin, and the piece behind fits by its angles."""
        first, last = int(track["first"]), int(track["first"] + track["count"] - 1)
        for _ in range(NEIGHBOURS):
            first = int(self.layout.tracks(max(first - 1, 0), max(first - 1, 0))[0]["first"])
            block = min(last + 1, self.layout.blocks - 1)
            other = self.layout.tracks(block, block)[0]
            last = int(other["first"] + other["count"] - 1)
        self._doubt(first, last, why)

    def _far(self, track):
        """Which of a track's blocks live elsewhere though they end at the right angle: read with
        either neighbour in one command they cost turns."""
        first, last = int(track["first"]), int(track["first"] + track["count"] - 1)
        pairs = self._long_pairs(track, first, last)
        return [block for block in sorted(pairs | {pair + 1 for pair in pairs})
                if (block in pairs or block == last) and (block - 1 in pairs or block == first)]

    def _long_pairs(self, track, low, high):
        """The first blocks of pairs from low to high that take longer to read."""
        if high <= low or not self._takes_longer(track, low, high):
            return set()
        if high - low == 1:
            return {low}
        middle = (low + high) // 2
        return self._long_pairs(track, low, middle) | self._long_pairs(track, middle, high)

    def _takes_longer(self, track, low, high):
        """Whether blocks low to high of a track take more than their slots, whichever block is
        read before."""
        ends = self._home_end(track, np.array([low, high]))
        begin = ends[0] - 1 / track["spt"]
        others = np.arange(track["first"], track["first"] + track["count"])
        gaps = (begin - self._home_end(track, others)) % 1
        least = min(AHEAD, float(gaps.max()))
        leads = others[gaps >= least][np.argsort(gaps[gaps >= least])][:4 * AGAIN:AGAIN]
        for lead in leads:
            one = self.dev.ops([lead, low], count=[1, high - low + 1])
            done = self.dev.run(one)
            took = float(np.diff(done["done"].astype(np.float64))[0]) / \
                self.phase.period_ns
            want = (begin - self._home_end(track, np.array([lead]))[0]) % 1 + ends[1] - begin
            if done["status"].any() or took - want <= LONGER:
                return False
        return True

    # ---- what timing does not tell

    def spares(self):
        """Blocks that live elsewhere: of spares that pass at one angle it is not known which."""
        for block in self.layout.index.moved_block:
            self._doubt(block, block, ELSEWHERE)

    def borders(self):
        """Tracks beside holes."""
        index = self.layout.index
        for number in np.flatnonzero(index.unmapped[1:] | index.unmapped[:-1]) + 1:
            first = int(index.first[number])
            self._neighbours(self.layout.tracks(first, first)[0], BESIDE)

    def behind(self):
        """Where physical blocks hold several logical ones, tracks that are not understood may end
        in the midst of one. Then those behind begin there, and their whole blocks end where the
        model says all the same: up to the zone's end, as each begins where it was found to."""
        if self.dev.logical_bytes == self.dev.unit_bytes:
            return
        ends = np.append(self.layout.index.first[1:], self.layout.blocks)
        for first in self.lost:
            end = ends[np.searchsorted(ends, first, "right")]
            self._doubt(first, int(end) - 1, WITHIN)


def _stretches(layout, tracks, rng):
    """Stretches of tracks, those first in which something is special."""
    index = layout.index
    spots = np.concatenate((index.first[1:-1], index.first[1:-1] - 1, index.slip_block,
                            index.moved_block)).astype(np.int64)
    at = np.searchsorted(tracks["first"], np.clip(spots, tracks["first"][0], layout.blocks - 1),
                         side="right") - 1
    at = np.unique(at // STRETCH)
    rest = np.setdiff1d(np.arange(-(-len(tracks) // STRETCH)), at)
    rng.shuffle(rest)
    for number in np.concatenate((at, rest)):
        yield tracks[number * STRETCH:(number + 1) * STRETCH]


def audit(dev, phase, layout, budget_s, *, seed=1, progress=None):
    """Look at the tracks of a layout, but for its holes', for so much disk time: an Audit."""
    tracks = layout.tracks()
    tracks = tracks[~layout.index.unmapped[layout.index.zone_of(tracks["first"])]]
    job, begun = _Auditor(dev, phase, layout, budget_s / len(tracks)), dev.disk_ns
    job.found.of = len(tracks)
    for some in _stretches(layout, tracks, np.random.default_rng(seed)):
        spent = (dev.disk_ns - begun) / 1e9
        if spent > budget_s or job.hopeless():
            break
        if progress:
            progress(max(spent / budget_s, job.found.tracks / job.found.of),
                     "looking at each track")
        job.look(some)
    job.spares()
    job.borders()
    job.behind()
    # what lies between two places that are wrong fits by chance
    job.found.doubts = joined(job.found.doubts, BETWEEN * int(layout.index.spt.max()))
    job.found.away = np.array(sorted(job.away.items()), AWAY)
    return job.found
