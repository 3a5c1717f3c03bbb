# SPDX-License-Identifier: GPL-2.0
"""How often chance trips the guard by the measured cost, in days of eight hours.

A pair of runs with the same arrivals, alone and with the task, has what each request takes in
either arm. The trial's control stretches are drawn again and again over such records, with the
module's own code (bench/trips): where free reads cost nothing, which is the run alone in
both arms, and where the limit is what they cost in truth.
"""

import os
import subprocess

from freeblock import ToolError, sim
from freeblock.base import helpers
from .paper import NEARLINE
from .summary import Figure, Row
from .runs import digest, job_of, kept, kept_name

CACHED = "nearline16-wc"
LIMIT_NS = 1000000              # idle_mean_us by default
LOADS = {
    (NEARLINE, "24"): {"rate": "24"},
    (CACHED, "streams-24"): {"rate": "24", "locality": "streams:4", "size": "64k"},
    (CACHED, "bursts-24"): {"rate": "24", "burst": "4"},
}
FULL = {"seconds": 28800, "seeds": 10, "draws": 300}
QUICK = {"seconds": 7200, "seeds": 2, "draws": 50}
FIRST_SEED = 601
# %, of the days, that may trip
MOST = {"none": 1, "limit": 5}


def cells(drive, settings, seed, effort):
    """The run alone, and with the task."""
    cell = {"preset": "module", "drive": drive, "reads": "1", "seed": str(seed),
            "seconds": str(effort["seconds"]), **settings}
    return cell, {**cell, "task": "scan"}


def redraw(program, logs, limit, seed, effort):
    """(days that tripped, days)."""
    words = [program, *logs, str(effort["seconds"]), limit, str(seed), str(effort["draws"])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError("trips: %s" % done.stderr.strip())
    return [int(word) for word in done.stdout.split()[:2]]


def one(program, folder, key, effort):
    """What a pair of runs gives, by case; kept."""
    drive, load, seed = key
    jobs = [job_of(cell) for cell in cells(drive, LOADS[drive, load], seed, effort)]

    def make():
        logs = [os.path.join(folder, "trips-%d.log" % number) for number in range(len(jobs))]
        sim.run_jobs([tuple(job) + (("log", log),) for job, log in zip(jobs, logs)],
                     sim.PROCESSES)
        first = 1000 * seed
        found = {"none": redraw(program, [logs[0], logs[0]], str(LIMIT_NS), first, effort),
                 "limit": redraw(program, logs, "true", first, effort)}
        for log in logs:
            os.unlink(log)
        return found

    return kept(os.path.join(folder, "trips-%s-%d-%s-%s" % (
        digest(program)[:16], effort["draws"], kept_name(jobs[0])[:16], kept_name(jobs[1]))), make)


class Trips(Figure):
    """Days in which chance stopped something."""

    name = "trips"
    title = "How often chance trips the guard, of days of eight hours"

    @staticmethod
    def measure(quick, out, _through):
        """[drive, load, {case: [trips, days]}] for each load and seed."""
        effort = QUICK if quick else FULL
        sim.build_host()
        program = helpers.program("bench/trips", "trips", "freeblock-trips")
        folder = os.path.join(out, "cells")
        os.makedirs(folder, exist_ok=True)
        return [[drive, load, one(program, folder, (drive, load, FIRST_SEED + seed), effort)]
                for drive, load in LOADS for seed in range(effort["seeds"])]

    @staticmethod
    def rows(got):
        """The share of days, by load and case."""
        rows = []
        for load in LOADS:
            for case, most in MOST.items():
                days = [found[case] for *where, found in got if tuple(where) == load]
                share = 100 * sum(trips for trips, _ in days) / sum(drawn for _, drawn in days)
                rows.append(Row("trips %s %s %s" % (*load, case), share, "%", most=most))
        return rows
