# SPDX-License-Identifier: GPL-2.0
"""Runs of the simulator that are kept.

A cell is one run: its settings, {name: text}. Its result is kept under a name
made from the simulator's program, the drive's and the model's text and all
settings, so that a bench that was interrupted goes on where it was, figures
share what they have in common, and nothing old is taken for new.
"""

import hashlib
import json
import os

from freeblock import sim
from freeblock.base import safe_file

# Whose settings those are that a cell does not name
PAPER = "paper"
# A setting's option on the command line of `sim`
OPTIONS = {name: option for option, name, _, _ in sim.SETTINGS}


def digest(path):
    """A file's SHA-256."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def job_of(cell):
    """The simulator's words for a cell: a list of (setting, text)."""
    cell = {"preset": PAPER, **cell}
    lines = [("set", line) for line in cell.get("set", "").split("\n") if line]
    return sim.complete([(name, str(value)) for name, value in sorted(cell.items())
                         if name != "set"] + lines)


def kept_name(job, host=None):
    """What a job's result by a simulator is kept as."""
    told = [digest(host or sim.HOST)]
    for name, value in job:
        told.append((name, digest(value) if name in ("drive", "model") else value))
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32] + ".json"


def kept(path, make):
    """What is kept in a file, by make() if there is none."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with safe_file.whole_file(path) as file:
            file.write(json.dumps(make()).encode("ascii"))
    with open(path, encoding="ascii") as file:
        return json.load(file)


def command(cell, *more):
    """The line a person types for a cell."""
    cell = {"preset": PAPER, **cell}
    words = []
    for name, value in cell.items():
        if name == "set":
            words += ["--set '%s'" % line for line in value.split("\n")]
        else:
            words.append("%s %s" % (OPTIONS[name], value))
    return " ".join(["tools/freeblock sim", *words, *more])


class KeptRuns(sim.Runs):
    """Runs whose results are kept in a folder."""

    def __init__(self, jobs, folder, processes, quiet, host):
        super().__init__(jobs, processes, quiet)
        self.folder = folder
        self.path = host

    def host(self):
        """The simulator."""
        return self.path

    def one(self, number):
        """A run's result: the kept one if there is one."""
        path = os.path.join(self.folder, kept_name(self.jobs[number], self.path))
        if os.path.exists(path):
            self.progress.run(number, 1)
            return kept(path, None)
        result = super().one(number)
        return result if result is None else kept(path, lambda: result)


def run_cells(cells, folder, processes, quiet, host=None):
    """The results of {key: cell}: {key: result}; by the tree's simulator, or another one."""
    host = host or sim.build_host()
    os.makedirs(folder, exist_ok=True)
    jobs = {key: tuple(job_of(cell)) for key, cell in cells.items()}
    distinct = list(dict.fromkeys(jobs.values()))
    results = dict(zip(distinct, KeptRuns(distinct, folder, processes, quiet, host).all()))
    return {key: results[job] for key, job in jobs.items()}
