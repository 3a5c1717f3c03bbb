# SPDX-License-Identifier: GPL-2.0
"""The angles of a layout whose places are known: a few tracks of each zone are timed,
and zones are cut where one law does not hold for all of their tracks."""

import numpy as np

from .anglelaw import LEAST_TOLERANCE, Law, fit, wrap
from .places import Layout, Zone

# Reads of a track's block, of which the first does not count: more where ends are late
# by more of a turn
READS = (3, 12)
LATE = 1 / 300          # turns for which the fewest do
BATCH = 48              # tracks between two looks at the reference angle
GROWTH = 1.7            # from one timed cylinder of a zone to the next
RANDOM = 24             # further tracks of a zone, anywhere
# Of the time by which reads end late: how far a track may seem to be off, by the reads
# that count
SHARE = 1.8
FAR = 2                 # times that, for what a law says beyond where it was found
TRIES = 4               # of tracks that cannot be read: others instead


def recut(layout, cuts):
    """The same layout with zones that also begin at these cylinders."""
    zones, index = [], layout.index
    for number, zone in enumerate(layout.zones):
        inside = [cut for cut in sorted(set(cuts)) if zone.first_cyl < cut <= zone.last_cyl]
        slots, base = zone.cyl_slots(layout.heads), int(index.base[number])
        bounds = [zone.first_cyl] + inside + [zone.last_cyl + 1]
        slips = np.array(zone.slips, dtype=np.int64).reshape(-1, 2)
        for first, end in zip(bounds, bounds[1:]):
            low, high = ((cyl - zone.first_cyl) * slots for cyl in (first, end))
            begin, stop = index.block_from(np.array([low, high]) + base, number)
            if stop <= begin:
                raise ValueError("no blocks from cylinder %d to %d" % (first, end - 1))
            dead, last = index.number(np.array([begin, stop - 1]), number) - base
            mine = slips[(slips[:, 0] > dead) & (slips[:, 0] < last)] - (low, 0)
            zones.append(Zone(first, end - 1, zone.spt, zone.angle, zone.track_skew,
                              zone.cyl_skew, int(dead) - low,
                              int(high - low - (dead - low) - (stop - begin)), mine,
                              [(a - low, b - low) for a, b in zone.remaps if low <= a < high],
                              zone.head_spt))
    return Layout(layout.heads, layout.cylinders, layout.order, zones)


class Timer:
    """At which angles tracks begin, by reading a block of each."""

    def __init__(self, dev, phase, layout):
        self.dev, self.phase, self.layout = dev, phase, layout
        late = phase.late_ns / phase.period_ns
        self.reads = int(np.clip(1 + np.ceil(2 * late / LATE), *READS))
        self.tolerance = max(SHARE * late / (self.reads - 1), 4 * LEAST_TOLERANCE)

    def start(self, cyl, head):
        """Angles of tracks' slot 0; NaN where no block can be read."""
        cyl, head = np.asarray(cyl), np.asarray(head)
        found = [self._some(cyl[at:at + BATCH], head[at:at + BATCH])
                 for at in range(0, len(cyl), BATCH)]
        return np.concatenate(found) if found else np.zeros(0)

    def _some(self, cyl, head):
        found = np.full(len(cyl), np.nan)
        _, _, spt, start = self.layout.track_base(cyl, head)
        for i in range(TRIES):
            left = np.isnan(found)
            if not np.any(left):
                break
            near = (start + i / TRIES)[left]
            blocks = self.layout.block_at(cyl[left], head[left], near)
            held = np.flatnonzero(left)[blocks >= 0]
            blocks = blocks[blocks >= 0]
            if not len(blocks):
                break
            end = self._ends(blocks)
            found[held] = (end - (self.layout.locate(blocks)["slot"] + 1) / spt[held]) % 1
        return found

    def _ends(self, blocks):
        """The angles at which reads of blocks end."""
        got = self.dev.run(self.dev.ops(np.repeat(blocks, self.reads)))
        self.phase.refresh(self.dev)
        turns = self.phase.turns(got["done"]).reshape(-1, self.reads)
        good = (got["status"] == 0).reshape(-1, self.reads)
        late = wrap(turns - turns[:, -1:])[:, 1:]
        ends = (turns[:, -1] + late.min(axis=1)) % 1
        return np.where(np.all(good, axis=1), ends, np.nan)


class _Zones:
    """Finds the laws of a zone's tracks, and where they change."""

    def __init__(self, timer, zone):
        self.timer, self.zone, self.layout = timer, zone, timer.layout
        self.heads = timer.layout.heads
        self.cyl = np.zeros(0, np.int64)
        self.track = np.zeros(0, np.int64)
        self.angle = np.zeros(0)

    def _head(self, cyl, track):
        """Physical heads of the track-th of cylinders."""
        order, first = self.layout.order, self.zone.first_cyl
        back = 0 if order == "plain" else (cyl - (first if order == "serpentine-zone" else 0)) & 1
        return np.where(back, self.heads - 1 - track, track)

    def time(self, cyl, track):
        """Take tracks in; their angles."""
        cyl, track = (np.asarray(values, dtype=np.int64) for values in (cyl, track))
        angle = self.timer.start(cyl, self._head(cyl, track))
        self.cyl = np.concatenate((self.cyl, cyl))
        self.track = np.concatenate((self.track, track))
        self.angle = np.concatenate((self.angle, angle))
        return angle

    def _plan(self, first, end):
        """Cylinders at growing distances, some tracks of each, and any others."""
        apart, at = [0, 1, 2], 2.0
        while at * GROWTH < end - 1 - first:
            at *= GROWTH
            apart.append(int(at))
        apart = [c for c in apart if c < end - first] + [end - 1 - first]
        tracks = sorted({0, 1, self.heads // 2, self.heads - 1} & set(range(self.heads)))
        wanted = {(0, track) for track in range(self.heads)}
        wanted |= {(c, track) for c in apart for track in tracks}
        rng = np.random.default_rng(first)
        wanted |= set(zip(rng.integers(0, end - first, RANDOM).tolist(),
                          rng.integers(0, self.heads, RANDOM).tolist()))
        plan = np.array(sorted(wanted))
        return plan[:, 0] + first, plan[:, 1]

    def _known(self, first, end):
        """The timed tracks of these cylinders, in order."""
        some = np.flatnonzero((self.cyl >= first) & (self.cyl < end) & np.isfinite(self.angle))
        some = some[np.argsort(self.cyl[some], kind="stable")]
        return self.cyl[some] - first, self.track[some], self.angle[some]

    def _off(self, law, first, cyl, track, angle):
        """The middle one of how far tracks of each of the cylinders are off: (cylinder,
        by how much)."""
        late = law.off(cyl - first, track, angle)
        found, at = np.unique(cyl, return_index=True)
        return found, np.array([abs(np.median(part)) for part in np.split(late, at[1:])])

    def _prefix(self, first, end):
        """(last timed cylinder up to which one law holds, first for which it does not,
        the law), or None if it holds for all."""
        cyl, track, angle = self._known(first, end)
        if not len(cyl):
            return None
        law = fit(cyl, track, angle)
        if np.all(self._off(law, 0, cyl, track, angle)[1] <= self.timer.tolerance):
            return None
        cylinders = np.unique(cyl)
        for low, high in zip(cylinders, cylinders[1:]):
            some = cyl <= low
            law = fit(cyl[some], track[some], angle[some])
            here = cyl == high
            # of one cylinder alone no law can be told
            if low > cylinders[0] and self._off(law, 0, cyl[here], track[here], angle[here])[1] > \
                    FAR * self.timer.tolerance:
                return first + int(low), first + int(high), law
        return None

    def _break(self, first, low, high, law):
        """The first cylinder in (low, high] for which a law does not hold."""
        tracks = np.arange(min(self.heads, 3))
        while high - low > 1:
            half = (low + high) // 2
            cyl = np.full(len(tracks), half)
            angle = self.time(cyl, tracks)
            known = np.isfinite(angle)
            # a cylinder without blocks belongs to what precedes it
            holds = not np.any(known) or self._off(
                law, first, cyl[known], tracks[known], angle[known])[1] <= \
                FAR * self.timer.tolerance
            low, high = (half, high) if holds else (low, half)
        if self.layout.order == "serpentine-zone" and (high - self.zone.first_cyl) & 1:
            high += 1
        return high

    def find(self):
        """[(first cylinder, Law)]."""
        first, end, found = self.zone.first_cyl, self.zone.last_cyl + 1, []
        while True:
            self.time(*self._plan(first, end))
            change = self._prefix(first, end)
            cut = self._break(first, *change) if change else end
            cut = end if cut >= end else cut
            known = self._known(first, cut)
            found.append((first, fit(*known) if len(known[0]) else Law()))
            if cut == end:
                return found
            first = cut


def with_angles(dev, phase, layout, laws=None, save=None, progress=None):
    """The layout with zones' angles and skews, cut where they change. laws: what save()
    was given, after each zone, when an earlier attempt was cut short."""
    timer, laws = Timer(dev, phase, layout), list(laws or [])
    for i, zone in enumerate(layout.zones):
        if laws and laws[-1][0] >= zone.first_cyl:
            continue
        if progress:
            progress(i / len(layout.zones), "angles: zone %d of %d" % (i + 1, len(layout.zones)))
        laws += [(first, law.angle, law.track, law.cylinder)
                 for first, law in _Zones(timer, zone).find()]
        if save:
            save([[int(first)] + [float(value) for value in law] for first, *law in laws])
    cut = recut(layout, [first for first, *_ in laws])
    for zone, (_, *law) in zip(cut.zones, laws):
        law = Law(*law)
        zone.angle, zone.track_skew = float(law.angle), float(law.track)
        zone.cyl_skew = float(law.cyl_skew(layout.heads))
    return Layout(cut.heads, cut.cylinders, cut.order, cut.zones)
