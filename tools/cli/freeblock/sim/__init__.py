# SPDX-License-Identifier: GPL-2.0
"""The simulator, the scheduler's core against a simulated drive, and descriptions of its drives.

The program in tools/sim does one run; here a few are done at once. Documentation/sim.rst describes
settings and results.
"""

import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from .. import ToolError, UsageError
from ..base import helpers, statusline
from ..base.helpers import BUILD
from ..base.progress import Progress
from .settings import SETTINGS, with_option

HOST = os.path.join(BUILD, "sim", "freeblock-sim")
DRIVES = helpers.data("drives")
MODELS = helpers.data("models")
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


def build_host():
    """Bring the simulator up to date; its path."""
    return helpers.program("tools/sim", "sim", "freeblock-sim")


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
