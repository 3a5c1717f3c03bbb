# SPDX-License-Identifier: GPL-2.0
"""What each mechanism of the core is worth: the simulator with it and without.

The module has no switches for this: an edit of a copy of core/ takes a mechanism out, and a
simulator is built from the copy. What an edit replaces must stand there once.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from statistics import mean

from freeblock import ToolError, sim
from freeblock.base.helpers import TOP
from .paper import ATLAS, NEARLINE
from .summary import Figure, Row, error_of_mean
from .runs import command, run_cells

CACHED = "nearline16-wc"
DRIVES = (NEARLINE, CACHED, ATLAS)
SEEDS = ("601", "602", "603")
SECONDS, QUICK_SECONDS = "1200", "200"


@dataclass(frozen=True)
class Mechanism:
    """How a mechanism is taken out, and beside what it shows."""

    name: str
    edits: tuple                # (file, what stands there once, what stands there instead)
    load: str
    left: bool = False          # what counts is how many blocks are left in the end


# Reads alone beside a cache: with writes the drive orders by itself, and gaps are not used
LOADS = {
    "gaps": {drive: {"reads": "1"} if drive == CACHED else {} for drive in DRIVES},
    "hot": {drive: {"locality": "cylinders:100", **({"reads": "1"} if drive == CACHED else {})}
            for drive in DRIVES},
    "busy": {NEARLINE: {"rate": "79"}, CACHED: {"rate": "79", "reads": "1"},
             ATLAS: {"rate": "108"}},
    "rest": {drive: {"range": "0+524288", "start": "random:0.9",
                     **({"reads": "1"} if drive == CACHED else {})} for drive in DRIVES},
    "idle": {drive: {"rate": "35" if drive == ATLAS else "48"} for drive in DRIVES},
    "verify": {drive: {"rate": "35" if drive == ATLAS else "48", "idle_command": "verify"}
               for drive in DRIVES},
    "streams": {drive: {"rate": "35" if drive == ATLAS else "24", "locality": "streams:4"}
                for drive in DRIVES},
    "warm": {drive: {"set": "seek_drift 30000 1", **({"reads": "1"} if drive == CACHED else {})}
             for drive in DRIVES},
}
# What only a scan has
OF_SCAN = ("task", "start", "range", "idle_command")

MECHANISMS = (
    Mechanism("hold-back", (
        ("core/engine/flight.c", "if (!e->hold || e->drive_orders", "if (true || e->drive_orders"),
    ), "busy"),
    Mechanism("several-pieces", (
        ("core/search.c", "if (!(s->lim.lift & FB_LIFT_SEVERAL) || s->npieces == FB_PLAN_PIECES)",
         "if (true)"),
    ), "gaps"),
    Mechanism("probe", (
        ("core/engine/gap.c", "fb_lookahead_allowed(probe, mail->lim.lift, now_ns)",
         "mail->lim.lift & FB_LIFT_SEVERAL"),
    ), "gaps"),
    Mechanism("odds", (
        ("core/plan.h", "lim->odds = odds;", "lim->odds = NULL;"),
        ("core/plan.h", "lim->conservatism_ns = odds->floor_ns[FB_CONSERVATISM_SEEK];",
         "lim->conservatism_ns = 300000;"),
        ("core/plan.h", "lim->still_ns = odds->floor_ns[FB_CONSERVATISM_STILL];",
         "lim->still_ns = 0;"),
    ), "gaps"),
    Mechanism("kinds", (
        ("core/conservatism.h", "return cyls ? FB_CONSERVATISM_SEEK : FB_CONSERVATISM_STILL;",
         "return FB_CONSERVATISM_SEEK;"),
        ("core/plan.h", "lim->still_ns = odds->floor_ns[FB_CONSERVATISM_STILL];",
         "lim->still_ns = odds->floor_ns[FB_CONSERVATISM_SEEK];"),
    ), "gaps"),
    Mechanism("spare", (
        ("core/search.c", "	for (; miss > each; miss = less, n++) {",
         "	for (; false; miss = less, n++) {"),
    ), "gaps"),
    Mechanism("candidates", (
        ("core/joint.h", "#define FB_JOINT_CANDIDATES ", "#define FB_JOINT_CANDIDATES 1 + 0 * "),
    ), "gaps"),
    Mechanism("onward", (
        ("core/joint.c", "#define FB_JOINT_ONWARD (FB_ONE * 3 / 10)", "#define FB_JOINT_ONWARD 0"),
    ), "gaps"),
    Mechanism("age", (
        ("core/joint.c", "#define FB_JOINT_AGE 4588", "#define FB_JOINT_AGE 0"),
    ), "gaps"),
    Mechanism("joint-price", (
        ("core/joint.c", "	j->price = FB_JOINT_PRICE_START;",
         "	j->price = FB_JOINT_PRICE_START;\n	j->fixed = true;"),
    ), "hot"),
    Mechanism("seek-fit", (
        ("core/completion.c", "if (!l->calib ||", "if (true || !l->calib ||"),
    ), "warm"),
    Mechanism("leftover", (
        ("core/leftover.c", "return l->fruitless == FB_LEFTOVER_FRUITLESS &&", "return false &&"),
    ), "rest", left=True),
    Mechanism("near-order", (
        ("core/idle_order.c", "o->find(o, ask, out)",
         "fb_idle_order_sequential(o, ask, out)"),
    ), "idle"),
    Mechanism("destage-wait", (
        ("core/destage.c", "	if (!d->on || d->sure)\n		return 0;",
         "	if (true)\n		return 0;"),
    ), "idle"),
    Mechanism("destage-margin", (
        ("core/destage.c", "max_t(s64, ns + d->margin_ns, 0)", "max_t(s64, ns, 0)"),
    ), "idle"),
    Mechanism("writeback", (
        ("core/writeback.c", "	w->ends = true;", "	w->ends = false;"),
    ), "idle"),
    # of commands for which nothing is read ahead
    Mechanism("alone-size", (
        ("core/idle/reader.c", "	if (ask->head && !ahead)", "	if (false)"),
    ), "verify"),
    Mechanism("streams", (
        ("core/idle/streams.c", "	return lost_ns;\n", "	return 0 * lost_ns;\n"),
    ), "streams"),
    Mechanism("threshold", (
        ("core/idle_policy.c", "	w->fixed_ns = wait_ns;", "	w->fixed_ns = 5000000;"),
    ), "idle"),
)


def edited(text, old, new, where):
    """A text with what stands there once replaced."""
    if text.count(old) != 1:
        raise ToolError("%s: %r stands there %d times, not once: the table of worth.py is "
                        "older than the code" % (where, old, text.count(old)))
    return text.replace(old, new)


def tree(folder, edits):
    """Make a folder that the simulator can be built from: a copy of core/ with the edits, and
    links to the rest. A file that is as it was keeps its time."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(TOP):
        link = os.path.join(folder, name)
        if name not in ("core", "build", ".git") and not os.path.lexists(link):
            os.symlink(os.path.join(TOP, name), link)
    shutil.rmtree(os.path.join(folder, "core"), ignore_errors=True)
    shutil.copytree(os.path.join(TOP, "core"), os.path.join(folder, "core"))
    for name, old, new in edits:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            text = edited(file.read(), old, new, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def host(folder, mechanism):
    """The path of a simulator without a mechanism."""
    root = os.path.join(folder, mechanism.name)
    tree(root, mechanism.edits)
    done = subprocess.run(
        ["make", "--no-print-directory", "-s", "-j", str(sim.PROCESSES), "-C",
         os.path.join(TOP, "tools", "sim"), "ROOT=" + root,
         "BUILD=" + os.path.join(root, "build")],
        check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise ToolError("the simulator without %s does not build:\n%s" % (
            mechanism.name, done.stdout))
    return os.path.join(root, "build", "sim", "freeblock-sim")


def cell(drive, load, seed, seconds):
    """A run beside a load, as the module does it."""
    return {"preset": "module", "drive": drive, "seed": seed, "seconds": seconds, "task": "scan",
            **LOADS[load][drive]}


def alone(settings):
    """The same foreground without a scan."""
    return {name: value for name, value in settings.items() if name not in OF_SCAN}


@dataclass
class WorthRow(Row):
    """MB/s, or blocks left, with a mechanism and without, and what both cost the foreground."""

    with_it: float = None
    without: float = None
    spread: float = None
    with_cost_pct: float = None
    without_cost_pct: float = None

    def record(self):
        """As an object of summary.json; a name of Python's is not one there."""
        record = super().record()
        record["with"] = record.pop("with_it")
        return record


def costs(runs, bases):
    """How much longer a request takes on the mean, per cent."""
    return mean([100 * (run["response_ms"]["mean"] / base["response_ms"]["mean"] - 1)
                 for run, base in zip(runs, bases)])


class Worth(Figure):
    """The table of worth."""

    name = "worth"
    title = "What each mechanism is worth: free MB/s with and without it"

    @staticmethod
    def measure(quick, out, _):
        """{(mechanism, drive): runs with it, without it, and of the foreground alone}"""
        seconds = QUICK_SECONDS if quick else SECONDS
        kept, folder = os.path.join(out, "cells"), os.path.join(out, "worth")
        cells = {(load, drive, seed): cell(drive, load, seed, seconds)
                 for load in LOADS for drive in DRIVES for seed in SEEDS}
        bases = {("alone", *key): alone(settings) for key, settings in cells.items()}
        got = run_cells({**cells, **bases}, kept, sim.PROCESSES, True)
        found = {}
        for mechanism in MECHANISMS:
            keys = [key for key in cells if key[0] == mechanism.load]
            less = run_cells({key: cells[key] for key in keys}, kept, sim.PROCESSES, True,
                             host(folder, mechanism))
            for drive in DRIVES:
                own = [key for key in keys if key[1] == drive]
                found["%s %s" % (mechanism.name, drive)] = {
                    "left": mechanism.left, "command": command(cells[own[0]]),
                    "with": [got[key] for key in own], "without": [less[key] for key in own],
                    "alone": [got[("alone", *key)] for key in own]}
        return found

    @staticmethod
    def rows(got):
        """A row for each mechanism and drive; the value is how many per cent more are read, or
        left."""
        rows = []
        for name, runs in got.items():
            have, less = ([sum(r["left_by_tenth"]) if runs["left"] else r["free_mb_s"]
                           for r in runs[kind]] for kind in ("with", "without"))
            worth = 100 * (mean(have) / mean(less) - 1) if mean(less) else None
            rows.append(WorthRow(
                "worth " + name, worth, "%", command=runs["command"], with_it=mean(have),
                without=mean(less), spread=error_of_mean([a - b for a, b in zip(have, less)]),
                with_cost_pct=costs(runs["with"], runs["alone"]),
                without_cost_pct=costs(runs["without"], runs["alone"])))
        return rows
