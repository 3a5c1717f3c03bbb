# SPDX-License-Identifier: GPL-2.0
"""Is a drive that serves still where its model says? A few reads in some of the runs, each time.

A run whose reads end elsewhere becomes unmapped, and the changed model is loaded at once. Then the
run is measured again, and so may older holes be. A single block that is elsewhere has been remapped
and does not count. Where most reads are elsewhere, the whole model is dropped.
"""

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from .. import ToolError
from . import runcheck, shared
from .phase import Phase, wrap
from .places import Layout
from .runmap import Run, RunMap
from .runread import Meter

READS = 256             # each in another run, if the model has enough runs
BATCH = 32              # of them, for which the phase is good
CLOSE = 16              # more of a run of which one is elsewhere,
STRAYS = 2              # and as many of these may be
AGREE = 0.5             # of the first reads: as many show how the model lies to the platters
TRIES = 2               # before the whole model is dropped
ROOM = 1.5              # tolerances that a read may be off
PHASE_S = 5.0
LEAST_MAPPED = 0.01     # of a model that may be used
LOST = "the drive is no longer as it was when it was measured"


@dataclass
class Checked:
    """reads: of the model's runs; dropped: runs that were elsewhere; anew: LBNs that were unmapped,
    and are mapped; text: of the model now, None: as it was; mapped: its share of the LBNs."""

    reads: int = 0
    dropped: int = 0
    anew: int = 0
    text: bytes = None
    mapped: float = 0.0

    def line(self):
        """For people."""
        return "%d reads: %s; %.2f %% of the LBNs are mapped" % (
            self.reads, "as the model says" if self.text is None else
            "%d runs were elsewhere, %d LBNs mapped again" % (self.dropped, self.anew),
            100 * self.mapped)


def in_units(model, unit):
    """A model's Layout in physical blocks of so many LBNs, as Layout.to_model() wants it."""
    layout = Layout.of_model(model)
    sectors = layout.blocks
    layout.zones[-1].spares += sectors % unit
    zones = [replace(zone, spt=zone.spt // unit, dead=zone.dead // unit,
                     spares=zone.spares // unit,
                     slips=[(at // unit, count // unit) for at, count in zone.slips],
                     remaps=[(at // unit, spare // unit) for at, spare in zone.remaps[::unit]],
                     head_spt=zone.head_spt and [spt // unit for spt in zone.head_spt])
             for zone in layout.zones]
    found = replace(layout, zones=zones, _index=None)
    if found.blocks != sectors // unit:
        raise ToolError("%s: its tracks hold no whole number of physical blocks: it is not "
                        "checked" % model.name)
    return found


class _Look:
    """A drive beside its model, as a Layout."""

    def __init__(self, dev, layout, seed):
        self.dev, self.layout = dev, layout
        self.random = np.random.default_rng(seed)
        self.phase = Phase.measure(dev, seconds=PHASE_S)
        self.meter = Meter(dev, self.phase)
        self.room = ROOM * self.meter.tolerance
        self.reads = 0
        self.lie = 0.0          # where the model's angle 0 is, as the phase has it

    def _ends(self, zones):
        """Units, one anywhere in each of these zones, and the angles at which they end."""
        index = self.layout.index
        units = index.first[zones] + (self.random.random(len(zones)) *
                                      index.held[zones]).astype(np.int64)
        at = self.layout.locate(units)
        self.reads += len(units)
        return units, at["start"] + 1 / at["spt"]

    def _agree(self, off):
        """Whether most reads say the same of where the model's angle 0 is, which it then is."""
        near = np.abs(wrap(off[:, None] - off)) <= self.room
        best = off[near[near.sum(axis=1).argmax()]]
        if len(best) < AGREE * len(off):
            return False
        self.lie = float(np.angle(np.mean(np.exp(2j * np.pi * best))) / (2 * np.pi))
        return True

    def mapped(self):
        """Numbers of the zones that hold blocks, and are mapped."""
        index = self.layout.index
        return np.flatnonzero(~index.unmapped & (index.held > 0))

    def wrong(self, reads):
        """Numbers of the zones that are elsewhere, of as many as are read."""
        mapped = self.mapped()
        if not len(mapped):
            return mapped
        some = self.random.integers(len(mapped)) + np.arange(reads)
        some = np.sort(mapped[some % len(mapped)])
        units, ends = self._ends(some)
        seen = [self.meter.angles(units[at:at + BATCH]) for at in range(0, len(units), BATCH)]
        off = wrap(np.concatenate(seen) - ends)
        if not np.isfinite(off).any():
            # the drive has failed them, which says nothing of where they are
            return mapped[:0]
        if not self._agree(off[np.isfinite(off)]):
            return mapped
        return [zone for zone in np.unique(some[np.abs(wrap(off - self.lie)) > self.room])
                if self._elsewhere(zone)]

    def _elsewhere(self, zone):
        """Whether a zone is, by more reads of it."""
        units, ends = self._ends(np.full(CLOSE, zone))
        off = self.meter.off(units, ends + self.lie, self.room)
        return np.count_nonzero(np.abs(off) > self.room) > STRAYS

    def filled(self, layout, budget_ns):
        """(the layout with runs that were found in its holes, how many units they hold)."""
        zones, at, anew, until = [], 0, 0, self.dev.disk_ns + budget_ns
        for unmapped, group in groupby(range(len(layout.zones)),
                                       lambda number: layout.zones[number].unmapped):
            numbers = list(group)
            some = [layout.zones[number] for number in numbers]
            left_ns = until - self.dev.disk_ns
            if unmapped and left_ns > 0:
                runs = self._anew(layout, numbers, left_ns)
                for run in runs:
                    zone, at = run.zone(at, layout.heads)
                    zones.append(replace(zone, slow=all(old.slow for old in some)))
                anew += sum(run.count for run in runs if not run.unmapped)
                continue
            for zone in some:
                cylinders = zone.last_cyl - zone.first_cyl + 1
                zones.append(replace(zone, first_cyl=at, last_cyl=at + cylinders - 1))
                at += cylinders
        return replace(layout, cylinders=at, zones=zones, _index=None), anew

    def _anew(self, layout, numbers, budget_ns):
        """The runs of a hole, with what is still one."""
        first, end = (int(layout.index.first[at]) for at in (numbers[0], numbers[-1] + 1))
        zone = layout.zones[numbers[0]]
        before = Run(0, first, zone.spt, 0.0, zone.cyl_skew, unmapped=True)
        runs = runcheck.again(self.dev, self.phase, first, end, layout.heads, budget_ns)
        right = runcheck.check(self.dev, self.phase, RunMap(self.dev.blocks, runs)).map.runs
        found = [run for run in right if layout.heads % run.period == 0 and
                 (run.pattern == run.period or layout.order == "serpentine-zone")]
        for run in found:
            run.angle -= self.lie
        return RunMap(end, [before, *found]).filled()[1:]


def _text(model, layout, unit):
    """The model with another layout."""
    moves = {**shared.mechanics_of(model), "period_ps": model.number("period_ps")}
    for kind in shared.SEEK_KINDS:
        moves[kind] = [point for point in moves[kind] if point[0] < layout.cylinders]
    said = model.header.get("distrusted")
    lost = _mapped(layout) < LEAST_MAPPED
    return layout.to_model({
        **model.header, "unit_sectors": unit, "sectors": model.number("sectors"),
        "comments": ["Runs were measured anew in service (freeblock models check)"],
        "distrusted": said if said and said != LOST else LOST if lost else None}, moves)


def _mapped(layout):
    """The share of its units."""
    return float(np.sum(layout.index.held[~layout.index.unmapped]) / layout.blocks)


def check(dev, model, use, seed=1, reads=READS, budget_ns=0, holes=True):
    """A Checked of a drive and its model (freeblock.fbmodel). use(text): what is called with a
    model that replaces it, at once; budget_ns: disk time for what is not mapped, though nothing
    may have been dropped (holes)."""
    layout, done = in_units(model, dev.unit_sectors), Checked()

    def changed(now):
        done.text = _text(model, now, dev.unit_sectors)
        use(done.text)

    for number in range(TRIES):
        look = _Look(dev, layout, seed + number)
        wrong = look.wrong(reads)
        done.reads += look.reads
        if not len(wrong) or len(wrong) < AGREE * len(look.mapped()):
            break
    if len(wrong):
        done.dropped = len(wrong)
        layout = replace(layout, _index=None, zones=[
            replace(zone, unmapped=True, slips=[], remaps=[]) if number in wrong else zone
            for number, zone in enumerate(layout.zones)])
        changed(layout)
    # where a cylinder's number says which way its tracks go, runs between others would turn them
    fills = layout.surface_run == 1 and layout.order != "serpentine-disk"
    if budget_ns and (holes or done.dropped) and fills and _mapped(layout) < 1:
        layout, anew = look.filled(layout, budget_ns)
        done.anew = anew * dev.unit_sectors
        if anew:
            changed(layout)
    done.mapped = _mapped(layout)
    return done
