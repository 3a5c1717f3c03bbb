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
    """The same layout with zones that also begin at these cylinders, where bands begin."""
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
    return Layout(layout.heads, layout.cylinders, layout.order, zones, layout.surface_run)


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
    """Finds the laws of a zone's tracks, and where they change. Bands (places.Layout) are
    counted from the zone's first, and a band's tracks in the order of blocks: a plain drive's
    bands are cylinders. A law's (anglelaw.py) cylinders and tracks are here what the zone's
    cyl_skew and track_skew count where bands are wider: steps within runs, and runs."""

    def __init__(self, timer, zone):
        self.timer, self.zone, self.layout = timer, zone, timer.layout
        self.heads, self.run = timer.layout.heads, timer.layout.surface_run
        self.bands = -(-(zone.last_cyl + 1 - zone.first_cyl) // self.run)
        self.band = np.zeros(0, np.int64)
        self.track = np.zeros(0, np.int64)
        self.angle = np.zeros(0)

    def _width(self, band):
        """Cylinders of bands: of the last maybe fewer."""
        return np.minimum(self.run, self.zone.last_cyl + 1 - self.zone.first_cyl -
                          band * self.run)

    def _place(self, band, track):
        """(cylinder, head) of the track-th of bands."""
        width = self._width(band)
        at, step = np.divmod(track, width)
        cyl = band * self.run + np.where(at & 1, width - 1 - step, step) + self.zone.first_cyl
        order = self.layout.order
        if order == "serpentine-disk":
            band = band + self.zone.first_cyl
        back = 0 if order == "plain" else band & 1
        return cyl, np.where(back, self.heads - 1 - at, at)

    def _count(self, band, track, first):
        """What a law that begins with band `first` counts up to a track."""
        if self.run == 1:
            return band - first, track
        runs = (band - first) * self.heads + track // self._width(band)
        return (band - first) * self.heads * self.run + track - runs, runs

    def time(self, band, track):
        """Take tracks in; their angles."""
        band, track = (np.asarray(values, dtype=np.int64) for values in (band, track))
        angle = self.timer.start(*self._place(band, track))
        self.band = np.concatenate((self.band, band))
        self.track = np.concatenate((self.track, track))
        self.angle = np.concatenate((self.angle, angle))
        return angle

    def _plan(self, first, end):
        """Bands at growing distances, some tracks of each, and any others."""
        apart = _growing(end - first)
        width = int(self._width(first))
        if self.run == 1:
            wanted = {(0, track) for track in range(self.heads)}
            tracks = {0, 1, self.heads // 2, self.heads - 1}
        else:
            wanted = {(0, track) for track in _growing(self.heads * width)}
            # both sides of where heads change tell what that adds
            tracks = {0, 1, width - 1, width, self.heads * width - 1}
        rng = np.random.default_rng(first + self.zone.first_cyl)
        wanted |= {(b, track) for b in apart for track in tracks}
        wanted |= set(zip(rng.integers(0, end - first, RANDOM).tolist(),
                          rng.integers(0, self.heads * width, RANDOM).tolist()))
        plan = np.array(sorted(wanted))
        plan[:, 0] += first
        plan = plan[plan[:, 1] < self.heads * self._width(plan[:, 0])]
        return plan[:, 0], plan[:, 1]

    def _known(self, first, end):
        """The timed tracks of these bands, in order: band, what the law counts, angle."""
        some = np.flatnonzero((self.band >= first) & (self.band < end) & np.isfinite(self.angle))
        some = some[np.argsort(self.band[some], kind="stable")]
        band = self.band[some]
        return (band, *self._count(band, self.track[some], first), self.angle[some])

    @staticmethod
    def _off(law, band, *counted):
        """The middle one of how far tracks of each of the bands are off: (band, by how
        much)."""
        late = law.off(*counted)
        found, at = np.unique(band, return_index=True)
        return found, np.array([abs(np.median(part)) for part in np.split(late, at[1:])])

    def _prefix(self, first, end):
        """(last timed band up to which one law holds, first for which it does not, the law), or
        None if it holds for all."""
        band, *counted = self._known(first, end)
        if not len(band):
            return None
        if np.all(self._off(fit(*counted), band, *counted)[1] <= self.timer.tolerance):
            return None
        bands = np.unique(band)
        for low, high in zip(bands, bands[1:]):
            law = fit(*(values[band <= low] for values in counted))
            here = [values[band == high] for values in (band, *counted)]
            # of one cylinder alone no law can be told
            if (low > bands[0] or self.run > 1) and \
                    self._off(law, *here)[1] > FAR * self.timer.tolerance:
                return int(low), int(high), law
        return None

    def _break(self, first, low, high, law):
        """The first band in (low, high] for which a law does not hold."""
        while high - low > 1:
            half = (low + high) // 2
            tracks = np.arange(min(self.heads * int(self._width(half)), 3))
            band = np.full(len(tracks), half)
            angle = self.time(band, tracks)
            known = np.isfinite(angle)
            counted = [values[known] for values in self._count(band, tracks, first)]
            # a band without blocks belongs to what precedes it
            holds = not np.any(known) or self._off(
                law, band[known], *counted, angle[known])[1] <= FAR * self.timer.tolerance
            low, high = (half, high) if holds else (low, half)
        if self.layout.order == "serpentine-zone" and high & 1:
            high += 1
        return high

    def find(self):
        """[(first cylinder, Law)]."""
        first, end, found = 0, self.bands, []
        while True:
            self.time(*self._plan(first, end))
            change = self._prefix(first, end)
            cut = self._break(first, *change) if change else end
            cut = end if cut >= end else cut
            _, *known = self._known(first, cut)
            found.append((self.zone.first_cyl + first * self.run,
                          fit(*known) if len(known[0]) else Law()))
            if cut == end:
                return found
            first = cut


def _growing(count):
    """Numbers below a count at growing distances from 0, the last among them."""
    apart, at = [0, 1, 2], 2.0
    while at * GROWTH < count - 1:
        at *= GROWTH
        apart.append(int(at))
    return [number for number in apart if number < count] + [count - 1]


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
        zone.cyl_skew = float(law.cyl_skew(layout.heads)) if layout.surface_run == 1 else \
            float(law.cylinder)
    return Layout(cut.heads, cut.cylinders, cut.order, cut.zones, cut.surface_run)
