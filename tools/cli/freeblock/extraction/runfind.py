# SPDX-License-Identifier: GPL-2.0
"""The runs of a drive, from its first unit to its last, by timing alone.

The next runs are guessed from earlier ones (runguess.py) and tested by a few reads each, several
runs at once as long as the guesses are right; what fits no guess is surveyed (runsurvey.py) and
followed to its end (rungrow.py); what follows no law stays a hole."""

from dataclasses import replace

import numpy as np

from .. import ToolError
from .phase import wrap
from .rungrow import Growth
from .runguess import Guesses, Kind
from .runmap import Run, RunMap
from .runperiod import MOST_PERIOD, Periods
from .runread import CHOICES, Meter
from .runsurvey import Surveyor

SAVE_NS = 10e9          # disk time after which what was found is kept: what a signal costs at most
MOST_AHEAD = 24         # runs tested at once
THIRDS = 3              # of a guessed run, in each of which a track is looked at,
MOST_SHARE = 0.95       # but for its last ones; and another
NEAR, FIRST = -1, 12    # of its first ones
SLOPES = (0.6, 0.93)    # of a track, at which its length is told, if it is
MOST_SHORTER = 0.15     # or longer, by this share, than was guessed
NEARLY = 2.5            # slots by which a track's length may seem to be another
FEW_GUESSES = 3         # lengths that are tried where it does not show
LEAST_TRACKS = 3        # of a run that is guessed
JUMPS = 6               # to find a run behind what follows no law
JUMP = 2                # times as far each
HOPELESS = 8            # runs found, or places tried, after which a drive may have none:
MANY = 100              # up to so many runs
FEW_TRACKS = 5          # if they have fewer in the mean,
MOST_RUNS = 65000       # or so many runs are to be expected, which a model does not hold
EARLY = 4               # parts of the disk, in the first of which that shows
PIECE_READS = 8         # of either end of units that stand alone
STRAYS = 4              # units in a row that may live elsewhere
FAILED_PERIODS = 3      # surveys that found no period, after which a drive has none


class NoRuns(ToolError):
    """The drive's LBNs do not stay on surfaces."""


class Finder:
    """A search under way. at: the first unit not looked at yet; period: of the drive's law, where
    that is known."""

    def __init__(self, dev, phase, part=None, period=1):
        self.dev = dev
        self.meter = Meter(dev, phase)
        self.map = RunMap.from_dict(part["map"]) if part else RunMap(dev.blocks)
        self.at = part["at"] if part else 0
        self.end = dev.blocks
        self.guesses = Guesses(self.meter.tolerance)
        self.period = max(self.map.period, period)
        self.failed_periods = 0
        for run in self.map.runs:
            if run.period == 1:
                self.guesses.add(run)
        self.random = np.random.default_rng(self.at)
        self.ahead = 1
        self.guessed = False    # whether the last run's end was only guessed
        self.failed = 0
        self.stride = 1         # tracks to go on by, where a place follows no law

    def part(self):
        """For JSON, from which the search goes on."""
        return {"map": self.map.as_dict(), "at": int(self.at)}

    def find(self, budget_ns=np.inf, save=None, tell=None):
        """Look at all that was not, within so much disk time."""
        saved = begun = self.dev.disk_ns
        while self.at < self.end and self.dev.disk_ns - begun < budget_ns and \
                len(self.map.runs) < MOST_RUNS:
            self.step()
            self._despair()
            if tell:
                tell(self.at / self.dev.blocks, "%d runs, %.1f %% of the disk looked at" % (
                    len(self.map.runs), 100 * self.at / self.dev.blocks))
            if save and self.dev.disk_ns - saved > SAVE_NS:
                saved = self.dev.disk_ns
                save(self.part())
        return self.map

    def _despair(self):
        """NoRuns if the drive seems to have none; most of a drive is not given up for its rest."""
        runs = self.map.runs
        few = HOPELESS <= len(runs) <= MANY and \
            np.mean([run.tracks for run in runs]) < FEW_TRACKS
        many = self.at < self.end / EARLY and len(runs) > MOST_RUNS / 6 and \
            len(runs) * self.end > MOST_RUNS * self.at
        if few or many or self.failed >= HOPELESS and self.failed > len(runs):
            raise NoRuns("%s: no runs of tracks: %d found in %.1f %% of the disk, %d places "
                         "follow no law" % (self.dev.name, len(runs),
                                            100 * self.at / self.dev.blocks, self.failed))

    def step(self):
        """The next run, or several."""
        if self.period > 1:
            found = self._surveyed(self.at)
        else:
            found = self._several() or self._longer() or self._resized() or self._guessed() or \
                self._surveyed(self.at)
        if not found:
            self._hole()

    def _add(self, run, role=None):
        self.map.runs.append(run)
        if run.period == 1:
            self.guesses.add(run, role)
        self.at = run.end

    # ---- several at once

    def _several(self):
        """Take the next runs in that are as guessed; whether there were any."""
        first, runs, roles = self.at, [], []
        for kind, role in self.guesses.ahead(self.ahead):
            count = kind.spt * kind.tracks
            if kind.tracks < LEAST_TRACKS or first + count > self.end:
                break
            runs.append(Run(first, count, kind.spt, 0.0, kind.skew))
            roles.append(role)
            first += count
        if not runs:
            return False
        taken = self._tested(runs)
        for run, role in zip(runs[:taken], roles):
            self._add(run, role)
        self.guessed = self.guessed or taken > 0
        self.ahead = min(2 * self.ahead, MOST_AHEAD) if taken == len(runs) else 1
        return taken > 0

    def _places(self, run):
        """Units that tell whether a run is as guessed: at its ends, and behind tracks chosen at
        random, since what looks right by chance does so at the same places each time."""
        units, at = [run.first], float(run.ends(run.first))
        for low in np.array([NEAR, *range(THIRDS)]) / THIRDS * MOST_SHARE:
            high = low + MOST_SHARE / THIRDS if low >= 0 else FIRST / run.tracks
            share = max(low, 0) + self.random.random(CHOICES) * (high - max(low, 0))
            # the last unit of a track, or the first of the next
            ends = run.first + (1 + (share * run.tracks).astype(int)) * run.spt
            unit, at = self.meter.soonest(at, run, ends - (len(units) % 2))
            units.append(unit)
        return [*units, run.end - 1]

    def _tested(self, runs):
        """How many of these are right; their angles are set."""
        units = np.array([self._places(run) for run in runs])
        angles = self.meter.angles(units.ravel(), paced=True).reshape(units.shape)
        room = 1.3 * self.meter.tolerance
        for number, run in enumerate(runs):
            if not self._fits(run, units[number], angles[number], room):
                again = self.meter.angles(units[number])
                if not self._fits(run, units[number], again, room):
                    return number
        return len(runs)

    def _longer(self):
        """Whether the last run goes on behind the end that was guessed; it then does."""
        run = self.map.runs[-1] if self.map.runs else None
        if not (run and self.guessed) or run.end != self.at or self.at + run.spt > self.end or \
                run.slots % run.spt:
            return False
        self.guessed = False
        units = run.first + np.array([0, run.count - 1])
        growth = Growth(self.meter, run, self.end, True)
        growth.learn(units, run.ends(units))
        if not growth.goes_on():
            return False
        self.map.runs.pop()
        self.guesses.drop()
        self._add(growth.grow())
        return True

    @staticmethod
    def _fits(run, units, angles, room):
        """Whether these angles are on the run's law, whose angle and skew become what they say."""
        off = angles - run.ends(units)
        if not np.all(np.isfinite(off)):
            return False
        off = wrap(off - off[0]) + off[0]
        middle = (off.max() + off.min()) / 2
        if np.max(np.abs(off - middle)) > room:
            return False
        track = run.slot_of(units) // run.spt
        slope = np.sum((track - track.mean()) * off) / np.sum((track - track.mean()) ** 2)
        run.angle = float(off.mean() - slope * track.mean()) + run.angle
        run.skew += float(slope)
        return True

    # ---- one by one

    def _length(self, spt):
        """The length of the track that begins here, if it is nearly this one, or None."""
        near_to, spt = spt, float(spt)
        for share in SLOPES:
            far = int(share * spt)
            if self.at + far >= self.end:
                return None
            near, angle = self.meter.angles([self.at, self.at + far])
            turns = (angle - near) % 1
            if not abs(turns / share - 1) < MOST_SHORTER:
                return None
            spt = far / turns
        return spt if abs(spt / near_to - 1) < MOST_SHORTER else None

    def _resized(self):
        """The next run as guessed but for the length of its tracks, or None: what a border of
        zones makes of it."""
        for kind, _ in self.guesses.ahead(1):
            spt = self._length(kind.spt)
            if spt:
                lengths = range(int(spt) - 1, int(spt) + 3)
                for length in sorted(lengths, key=lambda n: abs(n - spt)):
                    begun = self._begun(Kind(length, kind.tracks, kind.skew))
                    if begun:
                        return self._hinted(begun, kind)
        return None

    def _hinted(self, begun, kind):
        """Follow a run that may be of a kind, but for its track length."""
        run, *seen = begun
        sure = abs(wrap(run.skew - kind.skew)) <= 2 * self.meter.tolerance
        return self._grown(run, self.at, kind.tracks if sure else None,
                           kind.skew if sure else None, seen)

    def _guessed(self):
        """The next run by one of the guesses, or None."""
        kinds, tried = self.guesses.candidates(), {}
        spt = self._length(kinds[0].spt) if kinds else None
        for kind in kinds:
            if spt and abs(kind.spt - spt) > NEARLY:
                continue
            if kind.spt not in tried:
                tried[kind.spt] = self._begun(kind)
            if tried[kind.spt]:
                return self._hinted(tried[kind.spt], kind)
            if not spt and len(tried) == FEW_GUESSES:
                break
        return None

    def _begun(self, kind):
        """(two tracks of a kind from here on, units read, their angles), or None."""
        first, spt = self.at, kind.spt
        if first + 2 * spt >= self.end:
            return None
        units = first + np.array([0, spt // 2, spt - 1, spt, 2 * spt - 1, 2 * spt])
        for _ in range(2):
            angles = self.meter.angles(units)
            run = self._two_tracks(first, spt, units, angles)
            if run:
                return run, units[:5], angles[:5]
            if run is None:
                break
        return None

    def _two_tracks(self, first, spt, units, angles):
        """A run of these angles; None: there is none; False: but for one of them there is."""
        room = 2 * self.meter.tolerance
        track, slot = np.divmod(units - first, spt)
        start = angles - (slot + 1) / spt
        if not np.all(np.isfinite(start)):
            return None
        own = wrap(start - start[0])
        angle = start[0] + np.median(own[:3])
        skew = wrap(start[3] - angle)
        skew += wrap(start[4] - angle - skew) / 2
        off = np.abs(wrap(start - angle - track * skew))
        if np.count_nonzero(off > room):
            return False if np.count_nonzero(off > room) == 1 else None
        return Run(first, 2 * spt, spt, float(angle), float(skew % 1))

    def _followed(self, run, least, tracks=None, skew=None, seen=(), pieces=()):
        """Follow a run to its end, and take pieces in that stand alone before it."""
        if skew is not None:
            run.skew = skew
        growth = Growth(self.meter, run, self.end, skew is not None)
        if seen:
            growth.learn(*seen)
        else:
            units = run.first + np.array([0, run.spt - 1, run.count - 1])
            growth.learn(units, self.meter.angles(units))
        if run.period > 1:
            growth.fit()
        if least < run.first:
            growth.back(least)
        while pieces and (pieces[-1].first >= run.first or self._precedes(growth, pieces)):
            pieces.pop()
        return growth.grow(tracks)

    @staticmethod
    def _precedes(growth, pieces):
        """Whether the last piece is of a run; a few units at its end may live elsewhere."""
        last = pieces[-1]
        if last.end != growth.run.first:
            return False
        if growth.precede(last) or len(pieces) < 2 or last.count > STRAYS:
            return growth.run.first == last.first
        whole = replace(pieces[-2], count=pieces[-2].count + last.count)
        return growth.precede(whole, last.count)

    def _grown(self, run, least, tracks=None, skew=None, seen=()):
        """Follow a run to its end, and take it in."""
        self._add(self._followed(run, least, tracks, skew, seen))
        self.guessed = False
        return run

    def _surveyed(self, first, least=None):
        """The next run by a survey, and what stands alone before it; or None."""
        if self.period > 1:
            found = self._periodic(first, least)
            if found:
                return self._taken(found, least)
        found = Surveyor(self.meter, self.end).survey(first)
        if found:
            self._followed(found[-1], found[-1].first if least is None else least)
        if (not found or found[-1].tracks <= MOST_PERIOD) and self._may_have_period():
            found = self._periodic(first, least) or found
        if not found:
            self.failed += 1
            return None
        return self._taken(found, least)

    def _taken(self, runs, least):
        """Take runs in, the last of which was followed; those before it stand alone."""
        for run in runs[:-1] if least is None else ():
            run.skew = runs[-1].skew
            self._give_back(run)
            if not self._continued(run):
                self._add(run)
        self._give_back(runs[-1])
        self._add(runs[-1])
        self.guessed = False
        return runs[-1]

    def _give_back(self, run):
        """Where a run seems to begin within a track, the units before it may be its own: the law of
        the run before fitted them, too, or nearly."""
        last = self.map.runs[-1] if self.map.runs else None
        if last is None or last.end != run.first:
            return
        slots = int(run.place(run.dead)[1])
        whole = replace(run, first=run.first - slots, count=run.count + slots,
                        dead=run.dead - slots)
        if run.count < run.spt and not slots:
            # a track that stands alone: slots of it that seem to hold nothing
            slots = run.spt - run.count
            whole = replace(run, first=run.first - slots, count=run.spt,
                            angle=run.angle - slots / run.spt)
            slots *= slots == int(last.place(last.slots)[1])
        if not 0 < slots < last.count:
            return
        units = whole.first + np.array([0, slots // 2, slots - 1])
        seen = np.array([self.meter.mean(unit, PIECE_READS) for unit in units])
        room = min(self.meter.tolerance, 1 / (2 * float(run.length(run.place(run.dead)[0]))))
        if np.all(np.abs(wrap(seen - whole.ends(units))) <= room):
            for name in ("first", "count", "dead", "angle"):
                setattr(run, name, getattr(whole, name))
            last.count -= slots
            last.slips = [slip for slip in last.slips if slip[0] < last.end]

    def _continued(self, piece):
        """Whether units that stand alone are the last run's next ones; they then are its own."""
        last = self.map.runs[-1] if self.map.runs else None
        if last is None or last.end != piece.first:
            return False
        longer = replace(last, count=last.count + piece.count)
        units = np.array([piece.first, piece.end - 1])
        seen = np.array([self.meter.mean(unit, PIECE_READS) for unit in units])
        if not np.all(np.abs(wrap(seen - longer.ends(units))) <= self.meter.tolerance):
            return False
        last.count, self.at = longer.count, longer.end
        return True

    def _may_have_period(self):
        """Whether the drive's law may have a period, as far as is known."""
        return self.period == 1 and self.failed_periods < FAILED_PERIODS and \
            not any(run.tracks > MOST_PERIOD for run in self.map.runs)

    def _periodic(self, first, least):
        """Runs from a unit on, the last of which has a period, or None."""
        known = self.period if self.period > 1 else 0
        periods = Periods(Surveyor(self.meter, self.end), known)
        runs = periods.survey(first)
        if not runs:
            self.failed_periods += not known
            return None
        run = runs.pop()
        self.period = run.period
        self._followed(run, first if least is None else least, seen=periods.seen(run), pieces=runs)
        return runs + [run]

    def _hole(self):
        """A place that follows no law: go on behind it."""
        first, length = self.at, self.map.runs[-1].spt if self.map.runs else 512
        for step in self.stride * JUMP ** np.arange(JUMPS):
            place = first + int(step) * length
            if place >= self.end:
                self.at = self.end
                return
            if self._surveyed(place, first):
                self.stride = 1
                return
        self.stride *= JUMP
        self.at = place

    def holes(self, budget_ns=np.inf):
        """Look once more at what was passed over: the kinds of all runs are known now."""
        begun, last, runs = self.dev.disk_ns, self.end, self.map.runs
        for first, end in self.map.holes():
            if self.dev.disk_ns - begun > budget_ns:
                break
            self.map = RunMap(self.dev.blocks)
            self.at, self.end, self.stride, self.guessed = first, end, 1, False
            while self.at < self.end and self.dev.disk_ns - begun < budget_ns:
                self.step()
            runs = runs + self.map.runs
        self.at = self.end = last
        self.map = RunMap(self.dev.blocks, sorted(runs, key=lambda run: run.first))
        return self.map
