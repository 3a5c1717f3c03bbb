# SPDX-License-Identifier: GPL-2.0
"""An extraction from its beginning to its end: refuse, be quiet, measure, write, validate.

Each stage's result, and what the long ones have so far, is kept on disk (state.py): an
extraction that was interrupted goes on with the stage it was in.
"""

import contextlib
import os
import sys
import tempfile

import numpy as np

from .. import ToolError
from ..base import safe_file
from ..base.streams import one_line
from ..drive import ata, journal, modes, names, sgio, store, sysfs
from . import audit, chart, inservice, mechanics, refuse, runcheck, runfind, runmap, \
    shared, slow, spares, translate, validate
from .device import Device
from .places import Layout
from .progress import Stages
from .state import State

# Shares of the whole, about: disk time in minutes on small drives
WEIGHTS = {
    "translate": {"phase": 1, "layout": 3, "audit": 0, "slow": .3, "mechanics": 8,
                  "validation": 1},
    "runs": {"phase": 1, "layout": 3, "audit": 2, "slow": .3, "mechanics": 6,
             "validation": 1}}
# Disk time for looking at tracks one by one
AUDIT_S, FULL_AUDIT_S = 180, 600
# Disk time for the seek profile where translation leaves all of it below six minutes
SEEKS_S = 220
# Disk time for what was passed over when runs were looked for
HOLES_S = 120
# Of a drive with more units single tracks are not looked at
FULL_BLOCKS = 80 * 10 ** 6
# With less of it in runs there is no model of a drive
LEAST_MAPPED = 0.01
# Of what is doubtful, for people
MOST_DOUBTS = 20
# Each stage chooses its places anew: what was measured in one is not used in another
SEEDS = {"mechanics": 1000003, "validation": 2000003, "audit": 4000037,
         "slow": 6000011}


def _by_runs(dev, phase, part, save, tell, budget_s):
    """The Finder of a drive's runs when it has found them, or has spent its budget."""
    finder = runfind.Finder(dev, phase, part)
    try:
        finder.find(budget_s * 1e9, save, tell)
    except runfind.NoRuns:
        if finder.map.mapped < LEAST_MAPPED * dev.blocks:
            raise
        finder.at = finder.end
    if finder.at >= finder.end:
        finder.holes(HOLES_S * 1e9)
    save(finder.part())
    if finder.map.mapped < LEAST_MAPPED * dev.blocks:
        raise ToolError("%s: %.2f %% of the LBNs are mapped: too few for a model%s" % (
            dev.name, 100 * finder.map.mapped / dev.blocks,
            "; the same command goes on from there" if finder.at < finder.end else ""))
    return finder


class Extraction:
    """One extraction under way."""

    def __init__(self, dev, args, state_dir):
        self.dev = dev
        self.args = args
        translated = not args.no_translation and translate.supported(dev)
        self.how = how = "translate" if translated else "runs"
        key = {"inquiry": dev.inquiry, "blocks": dev.blocks, "how": how, "full": args.full,
               "seed": args.seed}
        self.state = State(os.path.join(state_dir, self.name()), key, args.fresh)
        dev.disk_before_ns = self.state.disk_ns
        self.progress = Stages(WEIGHTS[how], args.quiet, lambda: dev.disk_ns / 1e9)
        self.budget_s = 60 * (args.budget or np.inf)
        self.notes = []
        self.comments = []      # of the model's file
        self.unfinished = False     # the budget did not suffice
        self.models = [store.Model.of_file(path) for path in args.like or ()]
        shared.check(self.models, dev.inquiry, dev.blocks * dev.unit_sectors)
        if self.state.resumed:
            self.notes.append("resumed what was interrupted after %d s of disk time" %
                              (self.state.disk_ns / 1e9))

    def name(self):
        """The drive's, for files."""
        who = self.dev.inquiry
        return names.file_name("%s-%s" % (
            names.key(who) if names.is_known(who) else who["product"], who["revision"]))

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

    def go_on(self):
        """The same command finds the rest of the layout: what followed is measured anew."""
        self.notes.append("the budget of --budget is spent: the same command goes on from there")
        self.state.only("layout", {"part": self.unfinished}, self.dev.disk_ns)

    def seed(self, stage):
        """Of a stage's random places."""
        return self.args.seed + SEEDS[stage]

    # ---- stages

    def find_layout(self, phase):
        """Where the units lie, as a Layout or a RunMap."""
        def measure(part, save, tell):
            notes = []
            if self.how == "translate" and "map" not in (part or {}):
                try:
                    found, notes = translate.extract(self.dev, phase, part, save, tell)
                    return {"layout": found.as_dict(), "notes": notes}
                except chart.Unsaid as error:
                    notes, part = ["by timing alone: %s" % error], None
            finder = _by_runs(self.dev, phase, part, save, tell, self.budget_s)
            return {"runs": finder.map.as_dict(), "notes": notes, "rest": finder.part()
                    if finder.at < finder.end else None}

        said = self.stage("layout", measure)
        self.notes += said["notes"]
        if "layout" in said:
            return Layout.from_dict(said["layout"])
        self.how, self.unfinished = "runs", said["rest"]
        return runmap.RunMap.from_dict(said["runs"])

    def looks_closer(self):
        """Whether single tracks are looked at."""
        return self.dev.blocks <= FULL_BLOCKS

    def look_closer(self, phase, found):
        """(the layout, some of it mended, what is doubtful of it), of one found by runs."""
        def measure(_part, _save, tell):
            checked = runcheck.check(self.dev, phase, found, self.seed("audit"), tell)
            laid, notes, reason = checked.map.layout(), [checked.line()], ""
            seen = checked.as_dict(self.dev.unit_sectors)
            if self.looks_closer():
                laid, more, closer = self.audited(phase, laid, tell)
                notes, reason = notes + more, closer.reason
                doubts = seen["doubtful"]
                seen.update(closer.as_dict(self.dev.unit_sectors))
                seen["doubtful"] = sorted(doubts + seen["doubtful"])
            return {"notes": notes + doubt_lines(seen["doubtful"]), "reason": reason,
                    "audit": seen, "layout": laid.as_dict()}

        if self.how == "translate":
            self.progress.skip("audit")
            return found, {"audit": {"doubtful": [], "tracks": found.heads * found.cylinders,
                                     "tracks_seen": 0, "tracks_wrong": 0}, "reason": ""}
        said = self.stage("audit", measure)
        self.notes += said["notes"]
        self.comments = said["notes"]
        return Layout.from_dict(said["layout"]), said

    def audited(self, phase, laid, tell):
        """(the layout with blocks that turn out to live elsewhere, notes, the Audit)."""
        closer = audit.audit(self.dev, phase, laid, FULL_AUDIT_S if self.args.full else AUDIT_S,
                             seed=self.seed("audit"), progress=tell)
        notes = [closer.line()]
        if len(closer.away):
            try:
                laid = spares.house(laid, closer.away)
            except ToolError as error:
                notes.append("not in the model: %s" % error)
        return laid, notes, closer

    def find_mechanics(self, phase, found):
        """How fast the arm moves."""
        def measure(part, save, tell):
            return mechanics.measure(
                self.dev, found, phase, mode="full" if self.args.full else "quick",
                state=part, keep=save, progress=tell, seed=self.seed("mechanics"),
                budget_s=SEEKS_S if self.how == "translate" and not self.args.full else None)

        return self.stage("mechanics", measure)

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

    def find_slow(self, phase, found):
        """The layout, with the zones that seeks take a turn longer to; drives that translate
        addresses have none."""
        if self.how == "translate":
            self.progress.skip("slow")
            return found

        def measure(_part, _save, tell):
            return slow.find(self.dev, found, phase.period_ns, self.seed("slow"), tell)

        where = self.stage("slow", measure)
        self.notes += ["seeks to LBN %d to %d take a turn more" % tuple(
            unit * self.dev.unit_sectors for unit in one) for one in where]
        return slow.marked(found, where)

    def measure_layout(self, switched):
        """(phase, layout, what look_closer() says of it)."""
        self.progress.stage("phase")(0, "rotation")
        phase, notes = measured_phase(self.dev, switched, self.args, self.how == "runs" and
                                      self.looks_closer() and not self.args.full)
        self.notes += notes
        broken, notes = refuse.check_stretches(self.dev, phase.period_ns)
        self.notes += refused(self.dev.name, broken, self.args) + notes
        return phase, *self.look_closer(phase, self.find_layout(phase))

    def measure(self, switched):
        """All but the validation: (layout, mechanics as modeltext wants them, audit)."""
        phase, found, seen = self.measure_layout(switched)
        found = self.find_slow(phase, found)
        moves = self.borrow_mechanics(phase, found) or \
            self.find_mechanics(phase, found)
        moves.update(period_ps=phase.period_ns * 1000, period_err_ppm=phase.period_err_ppm,
                     late_ns=phase.late_ns)
        if self.how == "runs":
            self.notes.append("surfaces: unknown: a map by runs says nothing of them")
            self.comments = [*self.comments, self.notes[-1]]
        return found, moves, seen

    def identity(self, reason=""):
        """The model's header."""
        comments = ["Extracted by freeblock extract (%s) in %d s of disk time" % (
            self.how, self.dev.disk_ns / 1e9)] + self.comments
        return dict(self.dev.inquiry, unit_sectors=self.dev.unit_sectors,
                    sectors=self.dev.blocks * self.dev.unit_sectors, comments=comments,
                    distrusted=reason)

    def write(self, path, found, moves, reason=""):
        """The model's file."""
        safe_file.write_file(os.path.abspath(path),
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
                           "surfaces_known": self.how == "translate",
                           "order": found.order, "zones": len(found.zones),
                           "slips": sum(len(zone.slips) for zone in found.zones),
                           "remaps": sum(len(zone.remaps) for zone in found.zones)},
                "mechanics": {name: moves[name] for name in kept if name in moves},
                "notes": self.notes, "validation": verdict.as_dict(), "model": path,
                "disk_time_s": self.dev.disk_ns / 1e9}


def doubt_lines(doubts):
    """For people: stretches of LBNs, [first, last, why]."""
    said = ["doubtful: LBN %d to %d: %s" % tuple(doubt) for doubt in doubts[:MOST_DOUBTS]]
    if len(doubts) > MOST_DOUBTS:
        said.append("doubtful: %d stretches more, which --json lists" % (len(doubts) - MOST_DOUBTS))
    return said


def serves(args):
    """Whether the drive is in use, so that it is measured in service."""
    node = sysfs.of_node(args.device) if args.device and not args.in_use else None
    return bool(node and refuse.check_use(node))


def open_device(args):
    """The drive that the command line names."""
    if serves(args):
        return inservice.InService.open(args.device)
    if args.simulated:
        return Device.simulated(args.simulated, seed=args.seed)
    return Device.open(args.device, in_use=args.in_use)


def refused(name, refusals, args, hard=False):
    """ToolError with all of these reasons, or with --force, if that helps, notes about them."""
    hard = hard or any(refusal.kind in refuse.ALWAYS for refusal in refusals)
    if refusals and (hard or not args.force):
        raise ToolError(refuse.text(name, refusals) + (
            "" if hard else "\n  --force measures it nevertheless"))
    return ["not refused (--force): " + refusal.reason for refusal in refusals]


def measured_phase(dev, switched, args, short=False):
    """(Phase, notes): what is under the head, if reads show it."""
    found, phase = refuse.check_measured(dev, switched, short)
    return phase, refused(dev.name, found, args, phase is None)


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
        phase, _ = measured_phase(dev, switched, args)
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
            found, moves, seen = work.measure(switched)
            with tempfile.NamedTemporaryFile(suffix=".fbmodel") as draft:
                draft.write(found.to_model(work.identity(), moves))
                draft.flush()
                verdict = work.validate(draft.name, moves)
        verdict.reason = verdict.reason or seen["reason"]
        work.progress.end()
        work.notes += switched.report
        work.write(path, found, moves, verdict.reason)
        if work.unfinished:
            work.go_on()
        else:
            work.state.end()
        return dict(work.report(found, moves, verdict, path), audit=seen["audit"])
