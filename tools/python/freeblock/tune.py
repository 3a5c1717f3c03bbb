# SPDX-License-Identifier: GPL-2.0
"""Tune: what a trace of a disk says about when to scrub it, and how.

The paper is Practical Scrubbing (Amvrosiadis, Oprea, Schroeder, DSN 2012),
section V. Documentation/tune.rst describes it.
"""

import collections
import concurrent.futures
import json
import os
import sys

from . import ToolError, UsageError, arrivals, fbstate, need_at_most_one, need_defaults, \
    need_one, need_range
from .streams import one_line

PROCESSES = 2
MEAN_MS, MAX_MS = 1.0, 50.0
DAYS, SEED = 7.0, 1
# A trace that is shorter shows idle time of an hour of the day at most
ENOUGH_S = 3600
MODEL = "nearline16"
Goals = collections.namedtuple("Goals", "mean_us max_us")
# What a worker needs for one trace
Job = collections.namedtuple("Job", "path device unit model service goals sizes_kib policies "
                             "adaptive plots")
# What is wrong with a trace, and the exit status
Refusal = collections.namedtuple("Refusal", "why status")


EXAMPLES = (
    ("freeblock tune sda.blktrace.0 --model sda.fbmodel",
     "Find the wait and request size that scrub fastest beside the requests of a trace."),
    ("freeblock tune --record 600 sda -o sda.trace --model sda.fbmodel --apply sda",
     "Record ten minutes, and apply what is found."),
    ("freeblock tune sda.blktrace.0 --stats", "Print the statistics of its idle intervals."),
)


def add_parser(subparsers):
    """Add `tune`."""
    parser = subparsers.add_parser(
        "tune", help="find the best idle threshold and read size from traces",
        description="Read traces, show statistics of their idle intervals, simulate policies, "
        "and print the threshold and read size that scrub fastest within the limits. Formats: "
        "%s." % arrivals.FORMATS)
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="files, or folders of them")
    add_reading(parser)
    add_goals(parser)
    add_writing(parser)
    add_making(parser)
    parser.set_defaults(run=run)


def add_reading(parser):
    """Options about what is read."""
    arrivals.add_options(parser)
    parser.add_argument("--record", nargs=2, metavar=("SECONDS", "DISK"), help="record the disk's "
                        "requests now (as root), and tune for them")
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="traces at once (%d)" % PROCESSES)


def add_goals(parser):
    """Options about the drive and what may be."""
    parser.add_argument("--model", metavar="FILE", help="the disk's .fbmodel, or the name of one "
                        "in models/ (%s)" % MODEL)
    parser.add_argument("--service", metavar="A+B*KiB", help="microseconds of a scrubber's request "
                        "instead, as 8500+5.2*KiB")
    parser.add_argument("--mean-slowdown", type=float, default=MEAN_MS, metavar="MS",
                        help="goal: mean slowdown per foreground request (%g)" % MEAN_MS)
    parser.add_argument("--max-slowdown", type=float, default=MAX_MS, metavar="MS",
                        help="goal: the most one may be slowed down (%g)" % MAX_MS)
    parser.add_argument("--sizes", metavar="KIB,..", help="sizes of the scrubber's requests to try "
                        "(64 to 4096 in steps of 64)")


def add_writing(parser):
    """Options about what comes out."""
    parser.add_argument("--stats", action="store_true", help="only the statistics")
    parser.add_argument("--no-adaptive", action="store_true",
                        help="leave out sizes that change while it scrubs")
    parser.add_argument("--plots", metavar="FOLDER", help="the paper's figures 8 to 15 as PNG")
    parser.add_argument("--json", action="store_true", help="one object a trace, a line each, as "
                        "they come")
    parser.add_argument("--apply", metavar="DISK", help="write the best setting of the one trace "
                        "to /sys/kernel/freeblock/DISK")


def add_making(parser):
    """Options of synthetic traces."""
    parser.add_argument("--generate", metavar="NAME", help="write a synthetic trace like one of "
                        "the paper's table II: src11, usr1, proj2, prn1, c6t8d0, c6t5d1, c6t5d0, "
                        "c3t3d0, disk66, disk88")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (.gz, .xz: packed)")
    parser.add_argument("--days", type=float, default=DAYS, metavar="D",
                        help="its length (%g)" % DAYS)
    parser.add_argument("--seed", type=int, default=SEED, metavar="N",
                        help="of its randomness (%d)" % SEED)
    parser.add_argument("--table2", action="store_true", help="the paper's table II beside what "
                        "--generate makes")


def goals_of(args):
    """The goals, us."""
    for name, value in (("--mean-slowdown", args.mean_slowdown),
                        ("--max-slowdown", args.max_slowdown)):
        need_range(name, value, 0, 1e6, over=True)
    return Goals(args.mean_slowdown * 1000, args.max_slowdown * 1000)


def sizes_of(text):
    """The sizes to try, KiB."""
    if text is None:
        return list(range(64, 4096 + 1, 64))
    words = text.split(",")
    if not all(word.isdecimal() and 1 <= int(word) <= 1 << 20 for word in words):
        raise UsageError("--sizes %s: whole KiB from 1 to %d" % (text, 1 << 20))
    return sorted({int(word) for word in words})


def check_needs():
    """Error if a library is missing."""
    # the others say of numpy in a way of their own that it is missing
    import numpy  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
    try:
        import pandas  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
        import statsmodels  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
    except ImportError as error:
        raise ToolError("tune needs python3-pandas and python3-statsmodels (make setup): %s" %
                        error) from error


def service_of(job):
    """The drive's service times."""
    from .sim import MODELS  # pylint: disable=import-outside-toplevel
    from .tuning import service  # pylint: disable=import-outside-toplevel
    if job.service:
        return service.constants(job.service)
    name = job.model or MODEL
    if "/" in name or name.endswith(".fbmodel"):
        return service.Model(name)
    path = os.path.join(MODELS, name + ".fbmodel")
    if not os.path.exists(path):
        raise ToolError("no model %s in %s" % (name, MODELS))
    return service.Model(path)


def analyse(job):
    """All about one trace."""
    from .tuning import intervals, stats  # pylint: disable=import-outside-toplevel
    service = service_of(job)
    with intervals.of_trace(job.path, job.device, service, unit=job.unit) as spool:
        lengths, moments = stats.lengths_of(spool), stats.Moments(spool)
        result = {"trace": job.path, "service": service.name,
                  "statistics": stats.summary(spool, lengths, moments),
                  "series": stats.series(spool, lengths),
                  "caveat": arrivals.caveat(spool.requests, spool.duration_ns / 1e9, ENOUGH_S)}
        if job.policies:
            result.update(simulated(job, spool, lengths, moments, service))
    return result


def simulated(job, spool, lengths, moments, service):
    """Policies, sizes, and what is best."""
    from .tuning import compare, policy, search  # pylint: disable=import-outside-toplevel
    curves, model = compare.curves(spool, lengths, moments,
                                   policy.fixed(service, search.LEAST_KIB))
    fixed = search.fixed_sizes(spool, service, job.goals, job.sizes_kib)
    best = search.best_of(fixed)
    varying = search.adaptive(spool, service, job.goals, job.sizes_kib, best) \
        if job.adaptive else {}
    most = max((one["size_kib"] for one in fixed), default=0)
    rows = search.figure_rows(fixed, best, varying) if job.plots else []
    return {"policies": {"ar_order": model.order, "curves": curves,
                         "verdict": compare.verdict(curves)},
            "goals": job.goals._asdict(), "fixed": fixed, "best": best, "adaptive": varying,
            "tradeoff": search.tradeoff(spool, service, rows, most)}


def files_of(names):
    """The traces that the names stand for; a recording of several files once."""
    found = []
    for name in names:
        if os.path.isdir(name):
            inside = sorted(os.path.join(name, one) for one in os.listdir(name)
                            if not one.startswith("."))
            found += [one for one in inside if os.path.isfile(one)]
            if not any(os.path.isfile(one) for one in inside):
                raise ToolError("%s: no files in this folder" % name)
        else:
            found.append(name)
    return list(dict.fromkeys(first_of_recording(name) for name in found))


def first_of_recording(name):
    """A recording's first file for each of them."""
    from .tracefile import blktrace  # pylint: disable=import-outside-toplevel
    members = blktrace.members(name)
    return members[0] if members else name


def results_of(jobs, processes):
    """Each job with its result or its Refusal, as they come."""
    if len(jobs) == 1 or processes == 1:
        for job in jobs:
            yield job, guarded(job)
        return
    with concurrent.futures.ProcessPoolExecutor(min(processes, len(jobs))) as pool:
        running = {pool.submit(guarded, job): job for job in jobs}
        for done in concurrent.futures.as_completed(running):
            yield running[done], done.result()


def guarded(job):
    """A job's result, or its Refusal."""
    try:
        return analyse(job)
    except ToolError as error:
        return Refusal(str(error), 2 if isinstance(error, UsageError) else 1)
    except OSError as error:
        return Refusal("%s: %s" % (error.filename or job.path, error.strerror), 1)


def tune(args, traces):
    """Analyse, print, draw, apply; the exit status."""
    from .tuning import plots, report  # pylint: disable=import-outside-toplevel
    goals, sizes = goals_of(args), sizes_of(args.sizes)
    jobs = [Job(path, args.device, args.unit, args.model, args.service, goals, sizes,
                not args.stats, not args.no_adaptive, args.plots) for path in files_of(traces)]
    if args.apply and len(jobs) != 1:
        raise UsageError("--apply: the setting of one trace, not of %d" % len(jobs))
    service_of(jobs[0])
    if args.plots:
        os.makedirs(args.plots, exist_ok=True)
    good, status = [], 0
    for job, result in results_of(jobs, args.jobs):
        if isinstance(result, Refusal):
            print("freeblock: %s" % one_line(result.why), file=sys.stderr)
            status = max(status, result.status)
            continue
        good.append(result)
        print(json.dumps(result) if args.json else report.text(result), flush=True)
        if args.plots:
            plots.of_trace(args.plots, result)
        if args.apply:
            apply_to(args, job, result)
    if args.plots and good:
        plots.of_all(args.plots, sorted(good, key=lambda one: one["trace"]))
    return status


def apply_to(args, job, result):
    """Write the best setting to the disk's files."""
    from .tuning import apply  # pylint: disable=import-outside-toplevel
    if not result["best"]:
        raise ToolError("%s: nothing to apply: no setting keeps the goals" % job.path)
    written = apply.write(args.apply, result["best"]["wait_us"], result["best"]["size_kib"])
    print("written: %s" % ", ".join("%s = %s" % pair for pair in written), file=sys.stderr)


def generate(args):
    """Write a synthetic trace."""
    from .tuning import generate as maker  # pylint: disable=import-outside-toplevel
    trace = maker.Trace(args.generate, check_days(args.days), args.seed)
    trace.write(args.output)
    show_table2(args, [maker.compared_of(trace)])
    return 0


def check_days(days):
    """Days of a synthetic trace."""
    need_range("--days", days, 0, 366, over=True)
    return days


def table2(args):
    """The paper's table II beside what is generated."""
    from .tuning import generate as maker  # pylint: disable=import-outside-toplevel
    rows = [maker.compared_of(maker.Trace(name, check_days(args.days), args.seed))
            for name in maker.PROFILES]
    show_table2(args, rows)
    return 0


def show_table2(args, rows):
    """Generated traces beside the paper's."""
    from .tuning import report  # pylint: disable=import-outside-toplevel
    print(json.dumps(rows, indent=1) if args.json else report.table2(rows))


def check_effects(args):
    """Refuse options that would do nothing."""
    goals = {"mean_slowdown": MEAN_MS, "max_slowdown": MAX_MS, "sizes": None, "no_adaptive": False}
    if args.generate or args.table2:
        need_defaults(args, "is for traces that are read", device=None, unit=None, jobs=PROCESSES,
                      model=None, service=None, stats=False, plots=None, apply=None, **goals)
    else:
        need_defaults(args, "is for --generate and --table2", days=DAYS, seed=SEED)
    if not args.generate and not args.record:
        need_defaults(args, "is for --generate and --record", output=None)
    if args.stats:
        need_defaults(args, "is for what --stats leaves out", **goals)
    if args.apply and not args.model and not args.service:
        raise UsageError("--apply needs --model FILE or --service A+B*KiB: without, service times "
                         "are those of a simulated drive")
    need_at_most_one((args.apply, "--apply"), (args.stats, "--stats"))


def check_disks(args):
    """Refuse a disk that is not there, and one that cannot be set: traces may take minutes."""
    if args.record:
        fbstate.need_device(args.record[1])
    if args.apply:
        from .tuning import apply  # pylint: disable=import-outside-toplevel
        apply.folder_of(args.apply)


def run(args):
    """Do what the arguments say."""
    need_range("--jobs", args.jobs, 1)
    need_at_most_one((args.model, "--model"), (args.service, "--service"))
    need_one((args.traces, "TRACE"), (args.record, "--record SECONDS DISK"),
             (args.generate, "--generate NAME"), (args.table2, "--table2"))
    if args.generate and not args.output:
        raise UsageError("--generate needs -o FILE")
    if args.record and not args.output:
        raise UsageError("--record needs -o FILE")
    check_effects(args)
    check_disks(args)
    check_needs()
    if args.generate:
        return generate(args)
    if args.table2:
        return table2(args)
    if args.record:
        from .tuning import record  # pylint: disable=import-outside-toplevel
        return tune(args, [record.record(*args.record, args.output)])
    return tune(args, args.traces)
