# SPDX-License-Identifier: GPL-2.0
"""Is each run where the map says? Reads of units that were not used before, in every run.

A run whose reads end elsewhere is measured again, once; if they still do it is a hole. So no
region of a drive is trusted because the others are right."""

from dataclasses import dataclass, field

import numpy as np

from .runfind import Finder, NoRuns
from .runmap import RunMap
from .runread import CHOICES, Meter

READS = 3000            # in all, if each run has so many:
A_RUN = (5, 300)
CLOSE = (8, 32)         # of each run of a kind of which one was off,
MOST_CLOSE = 20000      # and of all of them
BATCH = 256
LEAST_FIT = 24          # reads of a run that tell its law better than those that found it
ROOM = 1.5              # tolerances that a read may be off
AGAIN_NS = 15e9         # disk time for each run that is measured again, at most
MOST_AGAIN_NS = 300e9   # and for all of them
ONCE_IN_20 = 3.0        # reads that would have been off, of which none was seen

ALONE = 2               # tracks that have a law of their own are too few to show that it is theirs

HOLE = "unmapped: no law was found"
LONE = "a track or two with a law of their own: slots that hold nothing may have been missed"


@dataclass
class Checked:
    """map: as it is now; reads: made; dropped: runs that were off; mended: those measured in their
    places; unread: [unit] that cannot be read."""

    map: RunMap
    reads: int = 0
    dropped: int = 0
    mended: int = 0
    unread: list = field(default_factory=list)

    @property
    def mapped_pct(self):
        """Of the drive's units, those in runs."""
        return 100 * self.map.mapped / self.map.blocks

    @property
    def wrong_pct(self):
        """Not more of the LBNs in runs are elsewhere, but for once in twenty: none of the reads
        of the runs that were kept was off."""
        return min(100 * ONCE_IN_20 / max(self.reads, 1), 100)

    def as_dict(self, unit_sectors):
        """For JSON, in LBNs."""
        tracks = sum(run.tracks for run in self.map.runs)
        doubts = [[first * unit_sectors, end * unit_sectors - 1, HOLE]
                  for first, end in self.map.holes()]
        for run in self.map.runs:
            alone = [(run.first, run.end)] if run.tracks <= ALONE else run.lone()
            doubts += [[first * unit_sectors, end * unit_sectors - 1, LONE] for first, end in alone]
        doubts += [[unit * unit_sectors, (unit + 1) * unit_sectors - 1, "cannot be read"]
                   for unit in self.unread]
        return {"runs": len(self.map.runs), "mapped_pct": self.mapped_pct,
                "wrong_at_most_pct": self.wrong_pct, "reads": self.reads,
                "dropped": self.dropped, "mended": self.mended, "tracks": tracks,
                "tracks_seen": min(self.reads, tracks), "tracks_wrong": self.dropped,
                "doubtful": sorted(doubts)}

    def line(self):
        """For people."""
        return "map: %.2f %% of the LBNs, in %d runs; %d reads in all of them, %d runs were off, " \
            "which %d took the place of; less than %.2g %% of the others are elsewhere" % (
                self.mapped_pct, len(self.map.runs), self.reads, self.dropped, self.mended,
                self.wrong_pct)


def _choices(run, low, high, last, rng):
    """Units of a part of a run, at tracks' ends, which whatever is amiss moves: last ones, or
    first ones."""
    units = run.first + ((low + (high - low) * rng.random(CHOICES)) * run.count).astype(np.int64)
    track, slot = run.place(run.slot_of(units))
    ahead = units + run.length(track) - last - slot
    crossed = np.zeros(len(units), bool)
    for unit, _ in run.slips:
        crossed |= (units < unit) & (unit <= ahead)
    return np.where(crossed, units, np.minimum(ahead, run.end - 1))


def _places(meter, runs, a_run, rng):
    """(numbers of runs, units), ascending, in each part of each run; the last parts are smaller:
    a run that is wrong mostly goes on for too long."""
    units, at = [], 0.0
    ends = np.linspace(0, 1, a_run)
    ends = np.insert(ends, -1, ends[-2:].mean())
    for run in runs:
        for part in range(a_run):
            some = _choices(run, ends[part], ends[part + 1], 1 - part % 2, rng)
            unit, at = meter.soonest(at, run, some)
            units.append(unit)
    return np.repeat(np.arange(len(runs)), a_run), np.array(units, np.int64)


def _off(meter, runs, number, units, unread):
    """Numbers of the runs of which a read is off; the laws of the others become what the reads
    say."""
    bad, seen = set(), []
    for at in range(0, len(units), BATCH):
        some, those = units[at:at + BATCH], number[at:at + BATCH]
        want = np.array([float(runs[one].ends(unit)) for one, unit in zip(those, some)])
        off = meter.off(some, want, ROOM * meter.tolerance, paced=True)
        unread += some[np.isnan(off)].tolist()
        bad |= set(those[np.abs(off) > ROOM * meter.tolerance].tolist())
        seen.append(off)
    seen = np.concatenate(seen)
    for one in set(number.tolist()) - bad:
        mine = (number == one) & np.isfinite(seen)
        if np.count_nonzero(mine) >= LEAST_FIT:
            runs[one].turned(runs[one].place(runs[one].slot_of(units[mine]))[0], seen[mine])
    return bad


def again(dev, phase, first, end, period, budget_ns=AGAIN_NS):
    """The runs that a stretch holds, measured anew."""
    part = {"map": RunMap(dev.blocks).as_dict(), "at": first}
    finder = Finder(dev, phase, part, period)
    finder.end = end
    try:
        return finder.find(budget_ns).runs
    except NoRuns:
        return []


def _suspects(runs, bad):
    """Numbers of the runs that are of a kind with one that is off: what looked right by chance did
    so in all of them."""
    kinds = {(runs[at].spt, runs[at].tracks) for at in bad}
    return [at for at, run in enumerate(runs) if (run.spt, run.tracks) in kinds]


def _wrong(meter, runs, done, rng):
    """Numbers of the runs that are off."""
    number, units = _places(meter, runs, int(np.clip(READS // len(runs), *A_RUN)), rng)
    bad = _off(meter, runs, number, units, done.unread)
    done.reads += len(units)
    close = _suspects(runs, bad)
    if close:
        some = [runs[at] for at in close]
        number, units = _places(meter, some, int(np.clip(MOST_CLOSE // len(some), *CLOSE)), rng)
        done.reads += len(units)
        bad |= {close[at] for at in _off(meter, some, number, units, done.unread)}
    return bad


def check(dev, phase, found, seed=1, tell=None):
    """A Checked of a RunMap."""
    rng = np.random.default_rng(seed)
    meter, done = Meter(dev, phase), Checked(found)
    todo, kept = list(found.runs), []
    for turn in range(2):
        if not todo:
            break
        if tell:
            tell(turn / 2, "reads in %d runs" % len(todo))
        bad = _wrong(meter, todo, done, rng)
        kept += [run for at, run in enumerate(todo) if at not in bad]
        if turn:
            done.mended = len(todo) - len(bad)
            break
        done.dropped, begun, anew = len(bad), dev.disk_ns, []
        for at in sorted(bad):
            if dev.disk_ns - begun < MOST_AGAIN_NS:
                anew += again(dev, phase, todo[at].first, todo[at].end, found.period)
        todo = anew
    done.map = RunMap(found.blocks, sorted(kept, key=lambda run: run.first))
    return done
