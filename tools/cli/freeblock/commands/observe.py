# SPDX-License-Identifier: GPL-2.0
"""observe: what freeblock would give on a disk that runs under another scheduler.

The disk's requests are recorded from the block layer's trace events, nothing is
changed; then the simulator serves them on a drive made from the disk's model, as
now and with freeblock. Documentation/setup.rst says what that can tell and what
not.
"""

import json
import os
import sys
import tempfile

from .. import ToolError, UsageError, fbstate, need_defaults, need_one, sim
from ..base import advice, helpers
from ..drive import names, store
from ..formats import arrivals, fbmodel
from ..prediction import crosscheck
from ..sim import asdrive

# A scan's last blocks are slower: (share of the disk, read already in the midst of it)
STAGES = ((0.5, 0.25), (0.3, 0.65), (0.15, 0.875), (0.05, 0.975))
DAY_S = 86400.0
# Shorter recordings say nothing ..
LEAST_S = 2.0
SECONDS = 60
# .. and shorter than that less than they seem to
ENOUGH_S = 30
# The module's defaults, but for the probe of the look-ahead, which is over after a minute
MODULE = {"preset": "module", "lift": "all"}


EXAMPLES = (
    ("freeblock observe /dev/sda --seconds 600",
     "Record a disk for ten minutes, and predict what freeblock reads and costs on it."),
    ("freeblock observe --trace sda.blktrace.0 --model sda.fbmodel --json",
     "Predict it from a recording; print a JSON object."),
)


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "observe", help="estimate what freeblock would bring, from a disk's own requests",
        description="Record a disk's requests without changing its scheduler, and simulate "
        "freeblock beside them: background MB/s, days for a whole scan, and cost.")
    parser.add_argument("disk", nargs="?", metavar="DISK", help="/dev/sdX, to be recorded "
                        "(as root)")
    parser.add_argument("--trace", metavar="FILE", help="a recording instead: %s" %
                        arrivals.FORMATS)
    arrivals.add_options(parser)
    parser.add_argument("--model", metavar="FILE", help="the disk's .fbmodel, which freeblock "
                        "extract makes (the one that setup keeps of DISK)")
    parser.add_argument("--seconds", type=int, default=SECONDS, metavar="S",
                        help="how long to record (%(default)s)")
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the recording there")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="of the simulated drive's noise (1)")
    parser.add_argument("--predict", action="store_true", help="also show results of predict for "
                        "these requests, and where both differ by more than their bands")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def model_facts(path):
    """(sectors, sectors of a physical block) of a model."""
    model = fbmodel.Model.of_file(path)
    return model.number("sectors"), model.number("physical_sectors", 1)


def _jobs(common):
    """Runs: as now, freeblock without a task, with a scan at its beginning and in each
    stage, and these with idle time."""
    scan = dict(MODULE, task="scan", idle="off")
    scans = [scan] + [dict(scan, start="random:%g" % done) for _, done in STAGES]
    jobs = [{"policy": "none"}, MODULE] + scans + [dict(job, idle="on") for job in scans]
    return [sim.complete(list({**common, **job}.items())) for job in jobs]


def days(rates, capacity_mb):
    """A whole scan at rates that hold from stage to stage."""
    if min(rates) <= 0:
        return None
    return sum(share * capacity_mb / rate for (share, _), rate in zip(STAGES, rates)) / DAY_S


def _side(results, plain, capacity_mb):
    """What a scan comes to, from its beginning and its stages."""
    rates = [result["free_mb_s"] for result in results[1:]]
    first = results[0]["response_ms"]
    return {"free_mb_s": results[0]["free_mb_s"],
            "stages_mb_s": {"%g" % done: rate for (_, done), rate in zip(STAGES, rates)},
            "days_per_scan": days(rates, capacity_mb),
            "mean_ms": first["mean"], "p99_ms": first["p99"],
            "mean_cost_pct": 100 * (first["mean"] / plain["mean"] - 1),
            "p99_cost_pct": 100 * (first["p99"] / plain["p99"] - 1)}


def predict(model, chunk, sectors, seed=1, quiet=True):
    """What freeblock would give beside these requests."""
    with tempfile.TemporaryDirectory(prefix="freeblock-observe-") as folder:
        trace, drive = (os.path.join(folder, name) for name in ("trace", "disk.fbdrive"))
        arrivals.write(chunk, trace)
        with open(drive, "w", encoding="ascii") as file:
            file.write(asdrive.drive(
                model, max(asdrive.MAX_SECTORS, int(chunk.sectors.max()))))
        seconds = float(chunk.time_ns[-1]) / 1e9
        results = sim.run_jobs(_jobs({"drive": drive, "model": model, "trace": trace,
                                      "seconds": "%.6f" % seconds, "seed": str(seed)}),
                               quiet=quiet)
    now, alone, *scans = results
    answered = chunk.response_ns[chunk.response_ns >= 0]
    capacity_mb = sectors * 512 / 1e6
    half = len(STAGES) + 1
    return {"seconds": seconds, "requests": len(chunk.time_ns),
            "requests_per_s": len(chunk.time_ns) / seconds,
            "reads_pct": 100 * float((~chunk.write).mean()),
            "measured_mean_ms": float(answered.mean()) / 1e6 if len(answered) else None,
            "now_mean_ms": now["response_ms"]["mean"], "now_p99_ms": now["response_ms"]["p99"],
            "utilisation_pct": 100 * now["utilisation"],
            "freeblock_mean_ms": alone["response_ms"]["mean"],
            "gaps": _side(scans[:half], now["response_ms"], capacity_mb),
            "gaps_and_idle": _side(scans[half:], now["response_ms"], capacity_mb)}


def show(found):
    """The result for people."""
    print("%d requests in %.1f s (%.1f/s, %.0f %% reads); the drive busy %.0f %% of the time" % (
        found["requests"], found["seconds"], found["requests_per_s"], found["reads_pct"],
        found["utilisation_pct"]))
    if found["measured_mean_ms"] is not None:
        print("mean response: %.2f ms measured, %.2f ms by the model%s" % (
            found["measured_mean_ms"], found["now_mean_ms"],
            "" if 0.8 < found["now_mean_ms"] / found["measured_mean_ms"] < 1.25 else
            " - they differ: caches, or not this disk's model; trust the rest less"))
    print("%-24s %10s %12s %11s %10s" % ("freeblock would give", "free MB/s", "whole scan",
                                         "mean cost", "p99 cost"))
    for name, key in (("in gaps", "gaps"), ("in gaps and idle time", "gaps_and_idle")):
        side = found[key]
        print("%-24s %10.2f %12s %10.1f%% %9.1f%%" % (
            name, side["free_mb_s"],
            "never" if side["days_per_scan"] is None else fbstate.span(
                side["days_per_scan"] * DAY_S),
            side["mean_cost_pct"], side["p99_cost_pct"]))
    print("(cost: response against the drive's own order, without a scan)")
    if found["caveat"]:
        print("caution: %s" % found["caveat"])
    if "predict" in found:
        print("\n".join(crosscheck.lines(found["predict"])))


def recorded(disk, seconds, out, quiet):
    """Record what a disk is asked; what read_requests() can be given."""
    from ..tuning import record  # pylint: disable=import-outside-toplevel
    if not quiet:
        print("recording %s for %d s" % (disk, seconds), file=sys.stderr)
    return record.record(str(seconds), disk, out)


def judge(model, trace, seed=1, quiet=False, longer="", read_as=()):
    """What freeblock would give beside the requests of a trace; `longer`: how its user would have
    had one that is not too short; `read_as`: device and unit."""
    sectors, physical = model_facts(model)
    chunk = arrivals.read(trace, sectors, physical, *read_as)
    if float(chunk.time_ns[-1]) / 1e9 < LEAST_S:
        raise (ToolError if longer else UsageError)(
            "%s: requests of %.1f s only; at least %g are wanted%s" % (
                trace, float(chunk.time_ns[-1]) / 1e9, LEAST_S, longer))
    found = predict(model, chunk, sectors, seed, quiet)
    return {**found, "caveat": arrivals.caveat(found["requests"], found["seconds"], ENOUGH_S)}


def kept_model(disk):
    """The model that freeblock setup, or models install, has put where they are kept; (path,
    caution): without one, that of another drive."""
    if not disk:
        raise UsageError("--trace needs --model FILE")
    identity = store.disk_of(disk)
    if names.is_known(identity):
        path = os.path.join(fbstate.path(store.DIRECTORY), store.file_name(identity))
        if os.path.exists(path):
            return path, None
    path = stand_in(identity["sectors"])
    if not path:
        raise UsageError("%s has no model in %s; run: %s" % (
            disk, store.DIRECTORY, advice.SETUP % identity["name"]))
    return path, "%s has no model: %s, of another drive, stands in for it, and the figures are " \
        "rough" % (disk, os.path.basename(path))


def stand_in(sectors):
    """The least of the drives that the package has models of, that is not smaller; None: none."""
    folder = helpers.data("models")
    found = [(model_facts(path)[0], path) for path in (
        os.path.join(folder, name) for name in sorted(os.listdir(folder))
        if name.endswith(store.ENDING))]
    return min((one for one in found if one[0] >= sectors), default=(0, None))[1]


def run(args):
    """The subcommand."""
    need_one((args.disk, "DISK"), (args.trace, "--trace FILE"))
    if args.disk:
        store.disk_of(args.disk)
        need_defaults(args, "is for --trace", device=None, unit=None)
    else:
        need_defaults(args, "is for a recording: not with --trace", seconds=SECONDS, output=None)
    stands_in = None
    if not args.model:
        args.model, stands_in = kept_model(args.disk)
    model_facts(args.model)     # its errors before a minute of recording
    with tempfile.TemporaryDirectory(prefix="freeblock-observe-") as folder:
        trace = args.trace or recorded(
            args.disk, args.seconds, args.output or os.path.join(folder, "recording"), args.quiet)
        found = judge(args.model, trace, args.seed, args.quiet,
                      "" if args.trace else " (--seconds)", (args.device, args.unit))
        found["caveat"] = "; ".join(filter(None, (stands_in, found["caveat"]))) or None
        if args.predict:
            found["predict"] = crosscheck.beside(args.model, trace, found, args.device, args.unit)
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)
    return 0
