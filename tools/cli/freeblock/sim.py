# SPDX-License-Identifier: GPL-2.0
"""Simulate: the scheduler's core against a simulated drive, far faster than time.

The program in tools/sim does one run; here a grid of runs is made from comma
lists, done by a few processes at once, and shown as a table or as JSON.
Documentation/sim.rst describes settings and results.
"""

import itertools
import json
import math
import os
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from . import ToolError, UsageError, arrivals, hosts, need_range, statusline
from .hosts import BUILD
from .progress import Progress

HOST = os.path.join(BUILD, "sim", "freeblock-sim")
DRIVES = hosts.data("drives")
MODELS = hosts.data("models")
PROCESSES = 2
USAGE = 2                       # the program's status when a setting is wrong
# A whole scan's slowdown is measured against so many requests without it: the
# standard error of their rate is below 0.05 %.
BASELINE_REQUESTS = 1000000
# What a run without a task does not depend on
OF_TASK = ("task", "range", "granule", "conservatism_us", "target_slowdown_ppm", "max_sectors",
           "max_prepend_sectors", "separate", "lift", "pipe_read_us", "pipe_write_us", "weight",
           "balance_s", "value", "hop_steps", "steps", "search_us", "guard_ppm", "whole", "idle",
           "idle_wait_us", "idle_size_kib", "idle_mean_us", "idle_max_us", "order", "segment_kib",
           "idle_command", "trial", "trial_s", "trial_seed", "trial_guard", "trial_most_ppm",
           "start", "save", "log", "foreground_cost_ppm", "joint_price", "max_kib_s")

# Files that a run reads, and writes
READ = ("model", "trace")
WRITTEN = ("save", "log")

# option, setting, what stands for its value, help
SETTINGS = (
    ("--preset", "preset", "module|paper", "defaults; paper: sptf-sw, two commands, 400 us of "
     "conservatism, no limit lifted, weights flat, gaps only (module)"),
    ("--drive", "drive", "NAME", "a drive of tools/mechdisk/drives, or a .fbdrive file "
     "(atlas10k)"),
    ("--model", "model", "FILE", "its .fbmodel (that of the same name)"),
    ("--knowledge", "knowledge", "none|rates|map", "what the scheduler knows of the drive: its "
     "model (map), or only its size, and rates as it learns them (map)"),
    ("--noise", "noise", "KIND", "seek noise: off, laplace or gauss, with :US for the standard "
     "deviation (the drive's)"),
    ("--seed", "seed", "N", "of drive and foreground (1)"),
    ("--policy", "policy", "clook|sstf|sptf|sptf-sw|none|auto", "none: the drive's own order; "
     "auto: each request with its free read (auto)"),
    ("--foreground-cost-ppm", "foreground_cost_ppm", "PPM", "what free reads may cost in all "
     "under auto (10000)"),
    ("--max-kib-s", "max_kib_s", "KIB", "free reads are no faster than that; 0: no limit (0)"),
    ("--joint-price", "joint_price", "GAPS", "of a turn under joint, in mean gaps (0: found)"),
    ("--sw-percent", "sw_percent", "N", "of sptf-sw (60)"),
    ("--depth", "depth", "N", "commands at the drive, or auto: two while free reads are wanted, "
     "else its own queue (auto; with policy none as many as it takes)"),
    ("--hold", "hold", "0|1", "keep the second command back until the first is about to end (1)"),
    ("--outstanding", "outstanding", "N", "processes of the closed loop (10)"),
    ("--think", "think_ms", "MS", "their think time (0)"),
    ("--think-spread", "think", "constant|exponential", "(constant)"),
    ("--rate", "rate", "PER_S", "Poisson arrivals instead of the closed loop (0: the closed loop)"),
    ("--reads", "reads", "SHARE", "of all requests, 0 to 1 (2/3)"),
    ("--fua", "fua", "SHARE", "of the writes that have FUA (0)"),
    ("--fsync", "fsync", "SHARE", "of the writes that a flush follows (0)"),
    ("--burst", "burst", "N", "arrivals come in bursts of N on the mean, heavy-tailed (0: singly)"),
    ("--size", "size", "SIZES", "of requests: 4k, exp:8k, or 4k/50:8k/30:64k/20 (exp:8k)"),
    ("--locality", "locality", "WHERE", "uniform, zipf, cylinders:N, streams:N or append:N "
     "(uniform)"),
    ("--arrivals", "trace", "FILE", "arrivals from a file with lines MS LBN SECTORS R|W. Or "
     "another file of requests: " + arrivals.FORMATS),
    ("--read-expire", "read_expire_ms", "MS", "longest wait of a read, 0: none (500)"),
    ("--write-expire", "write_expire_ms", "MS", "longest wait of a write, 0: none (5000)"),
    ("--commit", "commit_us", "US", "how long a free slot waits for an answer (300)"),
    ("--lead", "lead_us", "US", "how early a command must be at the drive (200)"),
    ("--task", "task", "TASK", "none; scan: read every block once; fresh: want again "
     "what was read; trickle:MS: a block every so often (none)"),
    ("--range", "range", "FIRST+COUNT", "sectors that the scan wants (all)"),
    ("--granule", "granule", "BYTES", "coverage granule (the model's)"),
    ("--conservatism", "conservatism_us", "US", "added to each seek of the freeblock decision, "
     "or auto: learnt (auto)"),
    ("--target-slowdown-ppm", "target_slowdown_ppm", "PPM", "what free reads may cost then (5000)"),
    ("--max-sectors", "max_sectors", "N", "longest separate read (auto: as the module's buffers)"),
    ("--max-prepend-sectors", "max_prepend_sectors", "N", "longest prepend (auto: the same)"),
    ("--separate", "separate", "0|1", "separate reads (1)"),
    ("--lift", "lift", "LIMITS", "of the paper's that are lifted: source+dest+several, or all, "
     "or auto: as a probe of the drive's look-ahead allows (auto)"),
    ("--pipe-read", "pipe_read_us", "US", "least head time of a command before a read (auto)"),
    ("--pipe-write", "pipe_write_us", "US", "least head time of a command before a write (auto)"),
    ("--weight", "weight", "W", "what a block is worth where it lies: flat, balance, edge or "
     "edge:K (balance)"),
    ("--balance", "balance_s", "S", "disk time between two looks at the balance (5)"),
    ("--value", "value", "count|root", "what a track's blocks are worth (root)"),
    ("--hop-steps", "hop_steps", "N", "search budget for one of several pieces (32; 0: no bound)"),
    ("--steps", "steps", "N", "search budget, tracks (100)"),
    ("--search", "search_us", "US", "how long a search takes (0)"),
    ("--guard", "guard_ppm", "PPM", "turns that free reads may cost, 0: no bound "
     "(auto: as the module lets them)"),
    ("--calibrate", "calibrate", "0|1", "correct seek times by what completions say (1)"),
    ("--destage", "destage", "0|1", "wait while a write cache is written to the medium (1)"),
    ("--idle", "idle", "off|on", "also read in idle time (on)"),
    ("--idle-wait", "idle_wait_us", "US", "idle so long before the first idle read (auto)"),
    ("--idle-size", "idle_size_kib", "KIB", "longest idle read (auto)"),
    ("--idle-mean", "idle_mean_us", "US", "what they may cost a request on the mean (1000)"),
    ("--idle-max", "idle_max_us", "US", "and at most (50000)"),
    ("--order", "order", "ORDER", "of idle reads: near, sequential, staggered, or "
     "staggered:REGIONS (near)"),
    ("--segment", "segment_kib", "KIB", "of a region at a time, staggered (64)"),
    ("--idle-command", "idle_command", "read|verify", "(read)"),
    ("--trial", "trial", "N", "one stretch of N is control: no free reads, and the drive is served "
     "as without a task; auto: as many as are of use (0: no trial)"),
    ("--trial-stretch", "trial_s", "S", "length of a stretch (4)"),
    ("--trial-seed", "trial_seed", "N", "of the moments at which control begins (1)"),
    ("--trial-guard", "trial_guard", "0|1", "stop free reads that cost too much by the trial (0)"),
    ("--trial-most-ppm", "trial_most_ppm", "PPM", "bound of its limit, of what a request takes "
     "alone (1000000; 0: none)"),
    ("--start", "start", "MAP", "what is read already: none, random:SHARE of the blocks, "
     "course:SHARE in reads, or a file of --save (none)"),
    ("--save", "save", "FILE", "write there what is left at the end"),
    ("--log", "log", "FILE", "write there arrival and response of each request, ns"),
    ("--seconds", "seconds", "S", "disk time of a run (60)"),
    ("--requests", "requests", "N", "number of foreground requests after which it ends"),
    ("--whole", "whole", "0|1", "end when the scan is complete (0)"),
)
# Of these, what stands for a number; some may be auto
NUMBERS = ("BYTES", "GAPS", "KIB", "MS", "N", "PER_S", "PPM", "S", "US")
# header, width, format, value of a result
COLUMNS = (
    ("req/s", 8, "%.1f", lambda r: r["requests_per_s"]),
    ("slow%", 6, "%.2f", lambda r: r.get("slowdown_pct")),
    ("order%", 6, "%.2f", lambda r: r["order"]["cost_pct"] if r.get("order", {}).get("followed")
     else None),
    ("mean_ms", 8, "%.2f", lambda r: r["response_ms"]["mean"]),
    ("p99_ms", 8, "%.1f", lambda r: r["response_ms"]["p99"]),
    ("read_ms", 8, "%.2f", lambda r: r["read_ms"]["mean"] or None),
    ("write_ms", 8, "%.2f", lambda r: r["write_ms"]["mean"] or None),
    ("util%", 6, "%.1f", lambda r: 100 * r["utilisation"]),
    ("in50us%", 7, "%.2f", lambda r: 100 * r["reports_within_50us"] if r.get("predicted")
     else None),
    ("free_MB/s", 9, "%.2f", lambda r: r.get("free_mb_s")),
    ("done%", 6, "%.2f", lambda r: 100 * r["task_done"] if "task_done" in r else None),
    ("scans/d", 8, "%.3f", lambda r: r.get("scans_per_day")),
    ("speed", 7, "%.0fx", lambda r: r["seconds"] / max(r["wall_s"], 1e-3)),
)


def check(args, settings):
    """Refuse, before anything is built, what can be told without the program: a word that is none
    of a setting's, what is no number, a file that is not there."""
    for option, name, metavar, _ in settings:
        for word in (getattr(args, name) or "").split(",") if getattr(args, name) else ():
            if "|" in metavar and word not in metavar.split("|"):
                raise UsageError("%s: %s is none of %s" % (
                    option, word, metavar.replace("|", ", ")))
            if metavar in NUMBERS and word != "auto" and not is_number(word):
                raise UsageError("%s: %s is not a number" % (option, word))
            if metavar == "FILE" and name in READ:
                os.stat(word)


def is_number(word):
    """Whether it is one, as C has them."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def with_option(said, settings):
    """What the program says of a setting, said of its option."""
    name, colon, rest = said.partition(": ")
    options = {setting: option for option, setting, _, _ in settings}
    return options.get(name, name) + colon + rest


def build_host():
    """Bring the simulator up to date; its path."""
    return hosts.program("tools/sim", "sim", "freeblock-sim")


def drive_file(name):
    """The .fbdrive that a name or a path stands for."""
    if "/" in name or name.endswith(".fbdrive"):
        return name
    path = os.path.join(DRIVES, name + ".fbdrive")
    if not os.path.exists(path):
        raise ToolError("no drive %s in %s" % (name, DRIVES))
    return path


def model_file(drive):
    """The model of a drive: that of its name, or of the drive it is a variant of
    (nearline16-wc: nearline16); the simulator checks that the capacity is the same."""
    name = os.path.splitext(os.path.basename(drive))[0]
    while True:
        path = os.path.join(MODELS, name + ".fbmodel")
        if os.path.exists(path):
            return path
        name, dash, _ = name.rpartition("-")
        if not dash:
            raise ToolError("no model for %s in %s: give --model" % (drive, MODELS))


class RunsDone(Progress):
    """How far a number of runs are."""

    def __init__(self, runs, quiet):
        super().__init__(runs, 0, statusline.Line(quiet, at_once=False))
        self._shares = [0.0] * runs
        self._lock = threading.Lock()

    def run(self, number, share):
        """A run has come so far."""
        with self._lock:
            self._shares[number] = share
            self.set(sum(self._shares))
            self.show(self.text)

    def text(self):
        """For people."""
        return "%d of %d runs done, %.1f %%, %d s left" % (
            sum(share >= 1 for share in self._shares), self.total, 100 * self.share(),
            self.eta() or 0)


class Runs:
    """Runs of the simulator, a few at once."""

    def __init__(self, jobs, processes, quiet):
        self.jobs = jobs
        self.processes = processes
        self.progress = RunsDone(len(jobs), quiet)
        self.failed = False

    def host(self):
        """The simulator."""
        return build_host()

    def one(self, number):
        """A run's result; None when another has failed."""
        if self.failed:
            return None
        words = ["%s=%s" % item for item in self.jobs[number]]
        # names of files come back in the settings, whatever bytes they are made of
        with subprocess.Popen([self.host(), "--progress", *words], text=True,
                              errors="surrogateescape", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            said = []
            for line in process.stderr:
                word, _, rest = line.partition(" ")
                if word == "progress":
                    self.progress.run(number, float(rest))
                else:
                    said.append(line)
                if self.failed:
                    process.kill()
            printed = process.stdout.read()
        if process.returncode:
            self.failed = True
            kind = UsageError if process.returncode == USAGE else ToolError
            raise kind(with_option("".join(said).strip().replace("freeblock-sim: ", "", 1),
                                   SETTINGS) or
                       "%s: status %d" % (" ".join(words), process.returncode))
        self.progress.run(number, 1)
        return json.loads(printed)

    def all(self):
        """Their results in order."""
        with ThreadPoolExecutor(self.processes) as pool:
            try:
                results = list(pool.map(self.one, range(len(self.jobs))))
            except KeyboardInterrupt:
                # nobody has interrupted the simulators, if it was not the terminal
                self.failed = True
                raise
        self.progress.end()
        return results


def run_jobs(jobs, processes=PROCESSES, quiet=True):
    """The results of several runs; each job is a list of (setting, text)."""
    build_host()
    return Runs(jobs, processes, quiet).all()


def simulate(**settings):
    """The result of one run. `drive` may be a name."""
    return run_jobs([complete(list(settings.items()))])[0]


def complete(job):
    """A job with its files found."""
    job = [(name, drive_file(value) if name == "drive" else value) for name, value in job]
    names = dict(job)
    if "drive" not in names:
        job.append(("drive", drive_file("atlas10k")))
    if "model" not in names:
        job.extend(found_model(dict(job)))
    return job


def found_model(names):
    """The setting that names the model of a job's drive; none where it need not have one."""
    try:
        return [("model", model_file(names["drive"]))]
    except ToolError:
        if names.get("knowledge", "map") == "map":
            raise
        return [("model", "")]


def baseline_job(job):
    """The same run without a task."""
    kept = [(name, value) for name, value in job if name not in OF_TASK]
    if dict(job).get("whole", "0") != "0":
        kept = [(name, value) for name, value in kept if name not in ("seconds", "requests")]
        kept.append(("requests", str(BASELINE_REQUESTS)))
    return kept


def grid(args):
    """(names of the settings that have several values, jobs)"""
    given = [(name, getattr(args, name).split(",")) for _, name, _, _ in SETTINGS
             if getattr(args, name) is not None]
    lines = [("set", line) for line in args.set]
    jobs = [complete(list(zip([name for name, _ in given], values)) + lines)
            for values in itertools.product(*(values for _, values in given))]
    for name in WRITTEN:
        if len(jobs) > 1 and getattr(args, name) is not None:
            raise UsageError("--%s: a file for one run, and these are %d" % (name, len(jobs)))
    return [name for name, values in given if len(values) > 1], jobs


def with_arrivals(jobs, folder, device, unit):
    """(the jobs, their traces as the simulator reads them, in a folder; the traces' own names by
    those)"""
    done = {}
    for number, job in enumerate(jobs):
        found = dict(job)
        if "trace" not in found:
            continue
        key = found["trace"], found["model"]
        if key not in done:
            done[key] = arrivals.converted(found["trace"], folder, found["model"], device, unit)
        jobs[number] = [(name, done[key] if name == "trace" else value) for name, value in job]
    return jobs, {path: trace for (trace, _), path in done.items()}


def add_baselines(results, jobs, baselines):
    """Tell each result its slowdown against the run without a task."""
    for result, job in zip(results, jobs):
        base = baselines[tuple(baseline_job(job))]
        result["baseline"] = {key: base[key] for key in
                              ("seconds", "requests_per_s", "response_ms", "read_ms", "write_ms",
                               "utilisation")}
        result["slowdown_pct"] = 100 * (1 - result["requests_per_s"] / base["requests_per_s"]) \
            if base["requests_per_s"] and result["seconds"] else None


def sweep(jobs, baseline, processes, quiet):
    """The results of all jobs, each with its baseline if wanted."""
    extra = list(dict.fromkeys(tuple(baseline_job(job)) for job in jobs)) if baseline else []
    results = run_jobs(jobs + extra, processes, quiet)
    if baseline:
        add_baselines(results, jobs, dict(zip(extra, results[len(jobs):])))
    return results[:len(jobs)]


def shown(name, value):
    """A setting in the table."""
    text = str(value)
    if name in ("drive", "model"):
        text = os.path.splitext(os.path.basename(text))[0]
    return text


def table(varied, results):
    """Lines of a table; columns without any value are left out."""
    columns = [(head, width, [form % value(r) if value(r) is not None else "-" for r in results])
               for head, width, form, value in COLUMNS
               if any(value(r) is not None for r in results)]
    for name in reversed(varied):
        cells = [shown(name, r["settings"][name]) for r in results]
        columns.insert(0, (name, max(map(len, cells + [name])), cells))
    lines = ["  ".join("%*s" % (width, head) for head, width, _ in columns)]
    for i in range(len(results)):
        lines.append("  ".join("%*s" % (width, cells[i]) for _, width, cells in columns))
    return lines


def tenths(result):
    """A line about a scan's course."""
    return "MB/s by tenth of the scan: " + " ".join(
        "-" if x is None else "%.2f" % x for x in result.get("mb_s_by_tenth", ()))


def probed(result):
    """Lines about what the probe of the drive's look-ahead found."""
    return ["lift %s: %s" % (lift, found["state"])
            for lift, found in result.get("probe", {}).items()]


EXAMPLES = (
    ("freeblock sim --drive atlas10k --task scan --baseline",
     "Simulate ten processes beside a scan, with and without the scan."),
    ("freeblock sim --drive nearline16 --task scan --rate 20,50,100 --policy auto,none",
     "A grid of six runs."),
)


def add_parser(subparsers):
    """Add `sim`."""
    parser = subparsers.add_parser(
        "sim", help="simulate the scheduler with a simulated drive",
        description="Run the scheduler's core against a simulated drive. A comma list as a value "
        "makes a run of each; several lists make a grid. MB/s are 10^6 bytes; \"from fresh\" "
        "means that the scan began with the run.")
    for option, name, metavar, text in SETTINGS:
        parser.add_argument(option, dest=name, metavar=metavar, help=text.replace("%", "%%"))
    arrivals.add_options(parser)
    parser.add_argument("--set", action="append", default=[], metavar="LINE",
                        help="a line that overrides the drive's description")
    parser.add_argument("--baseline", action="store_true",
                        help="run each without the task, too, and print the slowdown")
    parser.add_argument("-j", "--jobs", type=int, default=PROCESSES, metavar="N",
                        help="runs at once (%d)" % PROCESSES)
    parser.add_argument("--json", action="store_true", help="print a list of all results")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args):
    """Run the grid and print it."""
    need_range("--jobs", args.jobs, 1)
    if args.trace is None and (args.device or args.unit):
        raise UsageError("--%s needs --arrivals FILE" % ("device" if args.device else "unit"))
    check(args, SETTINGS)
    varied, jobs = grid(args)
    with tempfile.TemporaryDirectory(prefix="freeblock-sim-") as folder:
        jobs, names = with_arrivals(jobs, folder, args.device, args.unit)
        results = sweep(jobs, args.baseline, args.jobs, args.quiet)
    for result in results:
        if result["settings"].get("trace") in names:
            result["settings"]["trace"] = names[result["settings"]["trace"]]
    if args.json:
        print(json.dumps(results, indent=1))
        return 0
    print("\n".join(table(varied, results)))
    if len(results) == 1 and results[0].get("mb_s_by_tenth"):
        print(tenths(results[0]))
    if len(results) == 1:
        print("".join(line + "\n" for line in probed(results[0])), end="")
    return 0
