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

from .. import ToolError, UsageError, fbstate, need_at_most_one, need_defaults, need_one, need_range
from ..base.streams import one_line
from ..formats import arrivals
from ..state import placement

PROCESSES = 2
MEAN_MS, MAX_MS = 1.0, 50.0
# A trace that is shorter shows idle time of an hour of the day at most
ENOUGH_S = 3600
MODEL = "nearline16"
Goals = collections.namedtuple("Goals", "mean_us max_us")
# What a worker needs for one trace
Job = collections.namedtuple("Job", "path device unit model service goals sizes_kib search")
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
        description="Read traces, show statistics of their idle intervals, and print the "
        "threshold and read size that scrub fastest within the limits. Formats: %s." %
        arrivals.FORMATS)
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="files, or folders of them")
    add_reading(parser)
    add_goals(parser)
    add_writing(parser)
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
    parser.add_argument("--json", action="store_true", help="one object a trace, a line each, as "
                        "they come")
    parser.add_argument("--apply", metavar="DISK", help="write the best setting of the one trace "
                        "to /sys/kernel/freeblock/DISK")
    parser.add_argument("-o", "--output", metavar="FILE", help="where --record writes")


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
    # what reads traces says of numpy in a way of its own that it is missing
    import numpy  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import


def service_of(job):
    """The drive's service times."""
    from ..sim import MODELS  # pylint: disable=import-outside-toplevel
    from ..tuning import service  # pylint: disable=import-outside-toplevel
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
    from ..tuning import intervals, search, stats  # pylint: disable=import-outside-toplevel
    service = service_of(job)
    trace = intervals.of_trace(job.path, job.device, service, unit=job.unit)
    result = {"trace": job.path, "service": service.name, "statistics": stats.summary(trace),
              "caveat": arrivals.caveat(trace.requests, trace.duration_ns / 1e9, ENOUGH_S)}
    if job.search:
        fixed = search.fixed_sizes(trace, service, job.goals, job.sizes_kib)
        result.update(goals=job.goals._asdict(), fixed=fixed, best=search.best_of(fixed))
    return result


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
    from ..tracefile import blktrace  # pylint: disable=import-outside-toplevel
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
    """Analyse, print, apply; the exit status."""
    from ..tuning import report  # pylint: disable=import-outside-toplevel
    goals, sizes = goals_of(args), sizes_of(args.sizes)
    jobs = [Job(path, args.device, args.unit, args.model, args.service, goals, sizes,
                not args.stats) for path in files_of(traces)]
    if args.apply and len(jobs) != 1:
        raise UsageError("--apply: the setting of one trace, not of %d" % len(jobs))
    service_of(jobs[0])
    status = 0
    for job, result in results_of(jobs, args.jobs):
        if isinstance(result, Refusal):
            print("freeblock: %s" % one_line(result.why), file=sys.stderr)
            status = max(status, result.status)
            continue
        print(json.dumps(result) if args.json else report.text(result), flush=True)
        if args.apply:
            apply_to(args, job, result)
    return status


def to_set(given):
    """The disk of --apply."""
    return fbstate.need(placement.device_name(given))


def apply_to(args, job, result):
    """Write the best setting to the disk's files, both or none."""
    disk, best = to_set(args.apply), result["best"]
    if not best:
        raise ToolError("%s: nothing to apply: no setting keeps the goals" % job.path)
    before = (disk.read("idle_wait_us") or "auto").split()[0]
    disk.write("idle_wait_us", "%d\n" % best["wait_us"])
    try:
        disk.write("idle_size_kib", "%d\n" % best["size_kib"])
    except ToolError:
        disk.write("idle_wait_us", before + "\n")
        raise
    print("written: idle_wait_us = %d, idle_size_kib = %d of %s" % (
        best["wait_us"], best["size_kib"], disk.name), file=sys.stderr)


def check_effects(args):
    """Refuse options that would do nothing."""
    if not args.record:
        need_defaults(args, "is for --record", output=None)
    if args.stats:
        need_defaults(args, "is for what --stats leaves out", mean_slowdown=MEAN_MS,
                      max_slowdown=MAX_MS, sizes=None)
    if args.apply and not args.model and not args.service:
        raise UsageError("--apply needs --model FILE or --service A+B*KiB: without, service times "
                         "are those of a simulated drive")
    need_at_most_one((args.apply, "--apply"), (args.stats, "--stats"))


def check_disks(args):
    """Refuse a disk that is not there, and one that cannot be set: traces may take minutes."""
    if args.record:
        fbstate.need_device(args.record[1])
    if args.apply:
        to_set(args.apply)


def run(args):
    """Do what the arguments say."""
    need_range("--jobs", args.jobs, 1)
    need_at_most_one((args.model, "--model"), (args.service, "--service"))
    need_one((args.traces, "TRACE"), (args.record, "--record SECONDS DISK"))
    if args.record and not args.output:
        raise UsageError("--record needs -o FILE")
    check_effects(args)
    check_disks(args)
    check_needs()
    if args.record:
        from ..tuning import record  # pylint: disable=import-outside-toplevel
        seconds, disk = args.record
        return tune(args, [record.record(seconds, disk, args.output)])
    return tune(args, args.traces)
