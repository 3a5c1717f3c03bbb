# SPDX-License-Identifier: GPL-2.0
"""predict: what a disk would do with a workload, and a scan beside it get, in closed form.

Documentation/predict.rst says what the numbers mean, and how good they are.
"""

import itertools
import json
import sys

from .. import UsageError, sim
from ..base.streams import one_line
from ..formats import arrivals


STATUSES = {1: "A disk or workload was refused; the others were predicted. Or an error."}
EXAMPLES = (
    ("freeblock predict --model sda.fbmodel --trace sda.blktrace.0",
     "Predict response times and free bandwidth from a model and a trace."),
    ("freeblock predict --drive atlas10k --set request_rate=50 arrival_process=poisson "
     "request_size=8k read_fraction=0.7 data_span=8GB",
     "The same from a simulated drive and a few attributes of a workload."),
)


def add_parser(subparsers):
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "predict", help="compute response times and free bandwidth by an analytic model",
        description="Compute response time by scheduling order, utilisation, idle time and free "
        "MB/s from a drive's model and a workload, without a simulation. Several "
        "drives and workloads are combined.")
    disks = parser.add_argument_group("disks")
    disks.add_argument("--model", nargs="+", action="extend", default=[], metavar="FILE",
                       help="a disk's .fbmodel (freeblock extract makes it)")
    disks.add_argument("--drive", nargs="+", action="extend", default=[], metavar="FILE",
                       help="a simulated drive: a .fbdrive, or a name in tools/mechdisk/drives")
    disks.add_argument("--cache", metavar="NxSIZE|off", help="segments of a model's read cache "
                       "(64x4M)")
    disks.add_argument("--read-ahead", metavar="KIND[:SIZE]", help="it reads ahead: none, track, "
                       "cylinder, segment, stream; at most SIZE (segment:2M)")
    disks.add_argument("--read-ahead-on-hit", metavar="0|1", help="after a hit, too (1)")
    disks.add_argument("--cache-rate", metavar="SIZE", help="a second, from the cache to the host "
                       "(600MB)")
    disks.add_argument("--cache-hit", metavar="TIME", help="from a request to the report of what "
                       "the cache has, without the transfer (50us)")
    disks.add_argument("--write-cache", metavar="off", help="of a model: none is computed (off)")
    loads = parser.add_argument_group("workloads")
    loads.add_argument("--trace", nargs="+", action="extend", default=[], metavar="FILE",
                       help=arrivals.FORMATS)
    arrivals.add_options(loads)
    loads.add_argument("--workload", nargs="+", action="extend", default=[], metavar="FILE",
                       help="attributes as JSON")
    loads.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                       help="an attribute: of a workload that is nothing else, or changed in all "
                       "that files say")
    free = parser.add_argument_group("scheduling")
    free.add_argument("--order", metavar="NAME", help="order to compare costs with: fcfs, look, "
                      "clook, sstf, sptf (clook)")
    free.add_argument("--policy", metavar="NAME", help="freeblock's: clook, sstf, sptf, sptf-sw, "
                      "auto (auto)")
    free.add_argument("--conservatism", metavar="TIME", help="added to each seek of a free read, "
                      "as 300us, or auto: learnt (auto)")
    many = parser.add_argument_group("many")
    many.add_argument("--pairs", action="store_true", help="the first disk with the first "
                      "workload and so on, not each with each")
    many.add_argument("--json", action="store_true", help="an object a line for each disk and "
                      "workload")
    many.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def _cache(args):
    """(CacheSpec or None, where it is from) of models."""
    from ..prediction import question  # pylint: disable=import-outside-toplevel
    given = {name: getattr(args, name) for name in question.CACHE_OPTIONS
             if getattr(args, name) is not None}
    if not given:
        return question.ASSUMED, "assumed"
    if not args.model:
        raise UsageError("--%s needs --model FILE: a .fbdrive has its own" %
                         next(iter(given)).replace("_", "-"))
    return question.cache_spec(given), "options"


def disks_of(args):
    """All question.Disks, in the order they were given, models first."""
    from ..prediction import question  # pylint: disable=import-outside-toplevel
    cache, cache_from = _cache(args)
    found = [question.Disk(path, cache=cache, cache_from=cache_from) for path in args.model]
    found += [question.Disk(sim.drive_file(name), described=True, cache_from="drive")
              for name in args.drive]
    if not found:
        raise UsageError("specify --model FILE or --drive FILE")
    return found


def loads_of(args):
    """All question.Loads, traces first."""
    from ..prediction import question  # pylint: disable=import-outside-toplevel
    changes = question.settings(args.set)
    for name in ("device", "unit"):
        if getattr(args, name) is not None and not args.trace:
            raise UsageError("--%s needs --trace FILE" % name)
    found = [question.Load(path, trace=path, part=args.device, unit=args.unit, changes=changes)
             for path in args.trace]
    found += [question.Load(path, file=path, changes=changes) for path in args.workload]
    if not found and not changes:
        raise UsageError("specify --trace FILE, --workload FILE or --set KEY=VALUE")
    return found or [question.Load("--set", changes=changes)]


def items_of(args):
    """What answer.answer() is asked: each disk with each load, or the first with the first."""
    from ..prediction import answer  # pylint: disable=import-outside-toplevel
    disks, loads = disks_of(args), loads_of(args)
    if args.pairs and len(loads) != len(disks):
        raise UsageError("--pairs: %d disks but %d workloads" % (len(disks), len(loads)))
    chosen = answer.settings(args.order, args.policy, args.conservatism)
    pairs = zip(disks, loads) if args.pairs else itertools.product(disks, loads)
    return [(disk, load, chosen) for disk, load in pairs]


def _refusal(answer):
    """Why there is none for a disk and a workload; whose line it is stands before the line."""
    disk, load, why = answer["disk"], answer["workload_from"], answer["error"]
    if why.startswith(disk + ": "):
        return "%s (with %s)" % (why, load)
    return "%s, %s: %s" % (disk, load, why.removeprefix(load + ": "))


class Printer:
    """Answers on standard output, what went wrong and progress on standard error."""

    def __init__(self, args, count):
        self.json = args.json
        self.single = count == 1
        self.progress = sim.RunsDone(count, args.quiet or count == 1)
        self.done = self.failed = 0

    def show(self, answer):
        """One answer."""
        from ..prediction import report  # pylint: disable=import-outside-toplevel
        self.progress.end()
        self.failed += "error" in answer
        if "error" in answer:
            print("freeblock: " + one_line(_refusal(answer)), file=sys.stderr)
        if self.json:
            print(json.dumps(answer), flush=True)
        elif "error" not in answer:
            lines = report.page(answer) if self.single else [report.row(answer)]
            print("\n".join(map(one_line, lines)), flush=True)
        self.progress.run(self.done, 1)
        self.done += 1


def run(args):
    """The subcommand."""
    items = items_of(args)
    from ..prediction import answer, report  # pylint: disable=import-outside-toplevel
    count, printer = len(items), Printer(args, len(items))
    if count > 1 and not args.json:
        print(report.head(), flush=True)
    for item in items:
        printer.show(answer.answer(item))
    printer.progress.end()
    if printer.failed and count > 1:
        print("freeblock: %d of %d could not be predicted" % (printer.failed, count),
              file=sys.stderr)
    return 1 if printer.failed else 0
