# SPDX-License-Identifier: GPL-2.0
"""An extraction from its beginning to its end: refuse, be quiet, measure, write, validate.

Each stage's result, and what the long ones have so far, is kept on disk (state.py): an
extraction that was interrupted goes on with the stage it was in.
"""

import contextlib
import os
import sys
import tempfile
from dataclasses import asdict

import numpy as np

from .. import ToolError
from ..streams import one_line
from . import ata, audit, cache, compress, identity, inservice, journal, layout, mechanics, modes, \
    pictures, refuse, runcheck, runfind, runmap, sample, sgio, shared, store, surfaces, sysfs, \
    translate, validate, walk
from .device import Device
from .phase import Phase
from .progress import Stages
from .state import State

# Shares of the whole, about: disk time in minutes on small drives
WEIGHTS = {
    "translate": {"phase": 1, "layout": 3, "audit": 1, "mechanics": 8, "cache": 1, "validation": 1},
    "full": {"phase": 1, "layout": 10, "audit": 5, "mechanics": 12, "cache": 1, "validation": 1},
    "quick": {"phase": 1, "layout": 3, "audit": 2, "mechanics": 6, "cache": 1, "validation": 1}}
# Disk time for looking at tracks one by one
AUDIT_S = {"translate": 60, "full": 600, "quick": 180}
# Disk time for the seek profile where translation leaves all of it below five minutes
SEEKS_S = 190
# Disk time for what was passed over when runs were looked for
HOLES_S = 120
# Every track of a drive with more units takes days
FULL_BLOCKS = 80 * 10 ** 6
# Each stage chooses its places anew: what was measured in one is not used in another
SEEDS = {"mechanics": 1000003, "validation": 2000003, "cache": 3000017, "audit": 4000037}


def _translated(dev, phase, part, save, tell):
    return translate.extract(dev, phase, state=part, save=save, progress=tell)


def _walked(dev, phase, part, save, tell):
    cylinders, heads = sample.geometry(dev)
    found = walk.walk(dev, phase, state=part, save=save, progress=tell, heads=heads)
    notes = ["%d blocks cannot be read; where they lie is taken from their neighbours" %
             len(found.bad)] if found.bad else []
    if not found.known_heads:
        notes.append("the number of heads, %d, is the drive's own word: timing does not tell" %
                     found.heads)
    laid = found.layout(cylinders=cylinders)
    surfaces.refuse_walked(laid, found.heads if found.known_heads else None, heads)
    return laid, notes


def _sampled(dev, phase, part, save, tell):
    found = sample.quick(dev, phase, state=part, save=save, progress=tell)
    return found.layout, found.report["notes"]


def _by_runs(dev, phase, part, save, tell, budget_s):
    """The RunMap of a drive, or None: it has no runs."""
    if part and "runs" not in part:
        return None
    finder = runfind.Finder(dev, phase, part and part["runs"])
    begun = dev.disk_ns
    try:
        found = finder.find(budget_s * 1e9, lambda runs: save({"runs": runs}), tell)
    except runfind.NoRuns:
        return None
    if finder.at >= finder.end:
        found = finder.holes(HOLES_S * 1e9)
    save({"runs": finder.part()})
    if finder.at < finder.end and found.mapped < runcheck.LEAST_MAPPED_PCT / 100 * dev.blocks:
        raise ToolError("%s: %.1f %% of the LBNs are mapped after %.1f minutes of disk time, all "
                        "that --budget allows: the same command goes on from there" % (
                            dev.name, 100 * found.mapped / dev.blocks,
                            (dev.disk_ns - begun) / 60e9))
    return found


# how: (dev, phase, state, save, progress) -> (Layout, notes for people)
LAYOUTS = {"translate": _translated, "full": _walked, "quick": _sampled}


class Extraction:
    """One extraction under way."""

    def __init__(self, dev, args, state_dir):
        self.dev = dev
        self.args = args
        translated = not args.no_translation and translate.supported(dev)
        self.how = how = "translate" if translated else "full" if args.full else "quick"
        key = {"inquiry": dev.inquiry, "blocks": dev.blocks, "how": how, "full": args.full,
               "seed": args.seed, "destructive": args.destructive}
        self.state = State(os.path.join(state_dir, self.name()), key, args.fresh)
        dev.disk_before_ns = self.state.disk_ns
        self.progress = Stages(WEIGHTS[how], args.quiet, lambda: dev.disk_ns / 1e9)
        self.budget_s = 60 * (args.budget or np.inf)
        self.notes = []
        self.comments = []      # of the model's file
        self.surfaces_known = True
        self.models = [store.Model.of_file(path) for path in args.like or ()]
        shared.check(self.models, dev.inquiry, dev.blocks * dev.unit_sectors)
        if self.state.resumed:
            self.notes.append("resumed what was interrupted after %d s of disk time" %
                              (self.state.disk_ns / 1e9))

    def name(self):
        """The drive's, for files."""
        who = self.dev.inquiry
        return identity.file_name("%s-%s" % (
            identity.key(who) if identity.is_known(who) else who["product"], who["revision"]))

    def save(self, stage):
        """What a stage calls with what it has so far."""
        return lambda value: self.state.put(stage, {"part": value}, self.dev.disk_ns)

    def stage(self, name, measure):
        """A stage's result: the one kept, or what measure(part, save, tell) returns."""
        kept = self.state.get(name) or {}
        if "whole" in kept:
            self.progress.skip(name)
            return kept["whole"]
        tell = self.progress.stage(name)
        whole = measure(kept.get("part"), self.save(name), tell)
        self.state.put(name, {"whole": whole}, self.dev.disk_ns)
        return whole

    def seed(self, stage):
        """Of a stage's random places."""
        return self.args.seed + SEEDS[stage]

    # ---- stages

    def find_layout(self, phase):
        """Where the units lie."""
        def measure(part, save, tell):
            runs = None
            if self.how == "quick":
                runs = _by_runs(self.dev, phase, part, save, tell, self.budget_s)
                if runs and runs.mapped >= runcheck.LEAST_MAPPED_PCT / 100 * self.dev.blocks:
                    return {"runs": runs.as_dict(), "notes": []}
                if isinstance(self.dev, inservice.InService):
                    raise ToolError("%s: %.2f %% of the LBNs are mapped so far: too few for a "
                                    "model; the same command goes on from there" % (
                                        self.dev.name, 100 * runs.mapped / self.dev.blocks
                                        if runs else 0))
                # runs that are not understood may be cylinders of an orderly drive
                part = None if runs else part
            try:
                found, notes = LAYOUTS[self.how](self.dev, phase, part, save, tell)
            except ToolError:
                if not runs:
                    raise
                return {"runs": runs.as_dict(), "notes": []}
            return {"layout": found.as_dict(), "notes": notes}

        said = self.stage("layout", measure)
        self.notes += said["notes"]
        if "runs" in said:
            self.how = "runs"
            return runmap.RunMap.from_dict(said["runs"])
        return layout.Layout.from_dict(said["layout"])

    def look_closer(self, phase, found):
        """(the layout with blocks that turn out to live elsewhere, what stays doubtful)."""
        def check(_part, _save, tell):
            seen = runcheck.check(self.dev, phase, found, self.seed("audit"), tell)
            return {"layout": seen.map.layout().as_dict(),
                    "notes": seen.lines(self.dev.unit_sectors),
                    "reason": seen.reason, "audit": seen.as_dict(self.dev.unit_sectors)}

        def measure(_part, _save, tell):
            seen = audit.audit(self.dev, phase, found, AUDIT_S[self.how], seed=self.seed("audit"),
                               told=self.how == "translate", progress=tell)
            mended, notes = compress.turned(found, seen.turned), seen.lines(self.dev.unit_sectors)
            if len(seen.away):
                try:
                    mended = compress.house(mended, seen.away)
                except ToolError as error:
                    notes.append("not in the model: %s" % error)
            return {"layout": mended.as_dict(), "notes": notes, "reason": seen.reason,
                    "audit": seen.as_dict(self.dev.unit_sectors)}

        said = self.stage("audit", check if self.how == "runs" else measure)
        self.notes += said["notes"]
        self.comments = said["notes"]
        return layout.Layout.from_dict(said["layout"]), said

    def find_mechanics(self, phase, found):
        """How fast the arm moves."""
        def measure(part, save, tell):
            return asdict(mechanics.measure(
                self.dev, found, phase, mode="full" if self.args.full else "quick",
                state=part, keep=save, progress=tell, seed=self.seed("mechanics"),
                budget_s=SEEKS_S if self.how == "translate" and not self.args.full else None))

        return mechanics.Mechanics(**self.stage("mechanics", measure))

    def borrow_mechanics(self, phase, found):
        """The same of a drive of its make, if this one's reads fit them; None: there is none."""
        for model in self.models:
            moves = {**shared.mechanics_of(model), "period_ps": phase.period_ns * 1000}
            verdict = shared.try_text(self.dev, found.to_model(self.identity(), moves), phase)
            well = shared.fits(verdict)
            self.notes.append("the arm is that of %s" % shared.told(model, verdict) if well else
                              "the arm is another than that of %s" % shared.told(model, verdict))
            if well:
                self.progress.skip("mechanics")
                return moves
        return None

    def find_cache(self, phase, found, switched):
        """What the drive answers without its platters, its caches as they are in use."""
        if not switched.may_switch:
            self.notes.append("caches: not measured in service")
            return {}

        def measure(_part, _save, tell):
            tell(0, "look-ahead, segments, VERIFY")
            with switched.as_found():
                kept = cache.measure(self.dev, phase.local_ns, found, self.args.destructive,
                                     self.seed("cache"))
            return kept.as_dict()

        kept = cache.Cache(**self.stage("cache", measure))
        self.notes += kept.lines()
        return kept.as_dict()

    def measure_layout(self, switched):
        """(phase, layout, what look_closer() says of it)."""
        self.progress.stage("phase")(0, "rotation")
        self.notes += refused(self.dev.name, refuse.check_measured(self.dev, switched), self.args)
        phase = Phase.measure(self.dev)
        self.notes += refused(self.dev.name, refuse.check_noise(
            phase, self.how == "quick" and self.dev.blocks <= FULL_BLOCKS), self.args)
        broken, notes = refuse.check_stretches(self.dev, phase.period_ns)
        self.notes += refused(self.dev.name, broken, self.args) + notes
        return phase, *self.look_closer(phase, self.find_layout(phase))

    def measure(self, switched):
        """All but the validation: (layout, mechanics as modeltext wants them, cache, audit)."""
        phase, found, seen = self.measure_layout(switched)
        moves = self.borrow_mechanics(phase, found) or \
            self.find_mechanics(phase, found).as_model()
        moves.update(period_ps=phase.period_ns * 1000, period_err_ppm=phase.period_err_ppm,
                     late_ns=phase.late_ns)
        self.doubt_surfaces(found, moves)
        return found, moves, self.find_cache(phase, found, switched), seen

    def doubt_surfaces(self, found, moves):
        """Say so if nothing tells tracks of a cylinder from those of neighbouring ones."""
        why = None
        if self.how == "runs":
            why = "a map by runs says nothing of them"
        elif self.how != "translate" and found.heads > 1 and found.surface_run == 1:
            why = surfaces.doubt(found, moves["head_switch_ns"], min(moves["seek"]))
        if why:
            self.surfaces_known = False
            self.notes.append("surfaces: unknown: " + why)
            self.comments = [*self.comments, self.notes[-1]]

    def identity(self, reason=""):
        """The model's header."""
        comments = ["Extracted by freeblock extract (%s) in %d s of disk time" % (
            self.how, self.dev.disk_ns / 1e9)] + self.comments
        return dict(self.dev.inquiry, unit_sectors=self.dev.unit_sectors,
                    sectors=self.dev.blocks * self.dev.unit_sectors, comments=comments,
                    distrusted=reason)

    def write(self, path, found, moves, reason=""):
        """The model's file."""
        journal.write_file(os.path.abspath(path),
                           found.to_model(self.identity(reason), moves))

    def validate(self, path, moves):
        """The verdict about a written model."""
        return validate.validate(self.dev, path, seed=self.seed("validation"),
                                 jitter_us=moves["late_ns"] / 1000,
                                 progress=self.progress.stage("validation"))

    def report(self, found, moves, verdict, path):
        """What was found, for show() and JSON."""
        kept = ("period_ps", "period_err_ppm", "head_switch_ns", "seek", "seek_spread",
                "read_overhead_ns", "read_report_ns", "write_settle_ns", "zero_latency", "late_ns")
        return {"drive": dict(self.dev.inquiry, sectors=self.dev.blocks * self.dev.unit_sectors),
                "layout": {"how": self.how, "heads": found.heads, "cylinders": found.cylinders,
                           "surfaces_known": self.surfaces_known,
                           "order": found.order, "zones": len(found.zones),
                           "slips": sum(len(zone.slips) for zone in found.zones),
                           "remaps": sum(len(zone.remaps) for zone in found.zones)},
                "mechanics": {name: moves[name] for name in kept if name in moves},
                "notes": self.notes, "validation": verdict.as_dict(), "model": path,
                "disk_time_s": self.dev.disk_ns / 1e9}


def serves(args):
    """Whether the drive is in use, so that it is measured in service."""
    node = sysfs.of_node(args.device) if args.device and not args.in_use else None
    return bool(node and refuse.check_use(node))


def open_device(args):
    """The drive that the command line names."""
    if serves(args):
        return inservice.InService.open(args.device)
    if args.simulated:
        return Device.simulated(args.simulated, seed=args.seed, destructive=args.destructive)
    return Device.open(args.device, in_use=args.in_use, destructive=args.destructive)


def refused(name, refusals, args):
    """ToolError with all of these reasons, or with --force notes about them."""
    hard = any(refusal.kind in refuse.ALWAYS for refusal in refusals)
    if refusals and (hard or not args.force):
        raise ToolError(refuse.text(name, refusals) + (
            "" if hard else "\n  --force measures it nevertheless"))
    return ["not refused (--force): " + refusal.reason for refusal in refusals]


def ready(args):
    """Refuse what cannot be measured, and say what the way to the drive cannot do, before
    anything is changed: notes about it."""
    if serves(args):
        return refused(args.device, refuse.check_system(sysfs.of_node(args.device)), args)
    node = sysfs.of_node(args.device) if args.device else None
    # the probe would not take a disk that one command at a time reaches
    with contextlib.closing(sgio.Disk(args.device) if args.device else open_device(args)) as dev:
        way = ata.way(dev, node)
        notes = refused(dev.name, refuse.check(dev, node, args.in_use) + refuse.check_way(way),
                        args) + ata.lines(way)
    for line in () if args.quiet else notes:
        print("%s: %s" % (dev.name, one_line(line)), file=sys.stderr, flush=True)
    return notes


def check_outputs(args):
    """What is to be written can be, as far as one can tell before an hour of measuring."""
    path = os.path.abspath(args.out or "model")
    folder = os.path.dirname(path)
    if args.out and os.path.isdir(path):
        raise ToolError("%s: a directory: -o names a file" % args.out)
    if not os.path.isdir(folder):
        raise ToolError("%s: no such directory" % folder)
    if not os.access(folder, os.W_OK):
        raise ToolError("%s: may not be written: -o names another place" % folder)
    if args.pictures:
        os.makedirs(args.pictures, exist_ok=True)


def quiet(dev, args, state_dir):
    """The drive's modes as they have to be; in service, as they are."""
    if isinstance(dev, inservice.InService):
        return contextlib.nullcontext(inservice.Untouched())
    # freeblock restore, at boot, looks in one place, wherever the rest is kept
    return modes.quiet(dev, os.path.join(state_dir, "modes") if args.simulated else
                       journal.DIRECTORY)


def find_shared(args, models, state_dir):
    """(text, words about it) of the first of these models of other drives that fits this one with
    its own period, and notes; the text is None if none does. Some half a minute each."""
    notes = []
    with contextlib.ExitStack() as stack:
        ready(args)
        dev = stack.enter_context(open_device(args))
        switched = stack.enter_context(quiet(dev, args, state_dir))
        refused(dev.name, refuse.check_measured(dev, switched), args)
        phase = Phase.measure(dev)
        for model in models:
            text = shared.adapted(model, dev.inquiry, round(phase.period_ns * 1000))
            verdict = shared.try_text(dev, text, phase)
            notes.append(shared.told(model, verdict))
            if shared.fits(verdict):
                return text, notes
    return None, notes


def extract(args, state_dir):
    """All of it; the report."""
    check_outputs(args)
    with contextlib.ExitStack() as stack:
        forced = ready(args)
        dev = stack.enter_context(open_device(args))
        work = Extraction(dev, args, state_dir)
        work.notes += forced
        path = args.out or work.name() + ".fbmodel"
        with quiet(dev, args, state_dir) as switched:
            found, moves, cached, seen = work.measure(switched)
            with tempfile.NamedTemporaryFile(suffix=".fbmodel") as draft:
                draft.write(found.to_model(work.identity(), moves))
                draft.flush()
                verdict = work.validate(draft.name, moves)
        verdict.reason = verdict.reason or seen["reason"]
        work.progress.end()
        work.notes += switched.report
        work.write(path, found, moves, verdict.reason)
        if args.pictures:
            pictures.draw(args.pictures, found, dev.unit_sectors, moves, verdict)
        work.state.end()
        return dict(work.report(found, moves, verdict, path), cache=cached, audit=seen["audit"])
