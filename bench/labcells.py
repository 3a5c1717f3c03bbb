# SPDX-License-Identifier: GPL-2.0
"""Benches in the lab: cells, each a setting on a drive under a load, a few of them to a virtual
machine.

A cell's figures are kept under a checksum of all that they depend on, so that a bench that was
stopped goes on, and a change of the scheduler repeats its cells only.
"""

import hashlib
import json
import os
import shlex
import subprocess
import time

from freeblock import ToolError, UsageError
from freeblock.base.helpers import BUILD, TOP
from . import peersum, tables

LAB = os.path.join(TOP, "tests", "lab")
WARMUP_S = 5
MACHINE_TIMEOUT_S = 1500
NO_JOURNAL = "journal_records 0"
# A write-back cache of 2 MiB, half of it for writes; its sizes are assumptions
ATLAS_CACHE = "cache 8 512 4\nwrite_cache back\nwritten_hits on\nappend_writes on"
# name: drive's file, model, further lines
DRIVES = {"atlas10k": ("atlas10k", "atlas10k", ""), "nearline16": ("nearline16", "nearline16", ""),
          "atlas10k-wc": ("atlas10k", "atlas10k", ATLAS_CACHE),
          "nearline16-wc": ("nearline16-wc", "nearline16", "")}
# Where a reader of the whole disk begins, per mille: from there the mean distance
# to a place drawn uniformly, 1/3 of the disk, is that of a whole scan
READER_PM = 211


def run(script, out, timeout, through="", build=BUILD, files=(), variables=()):
    """Run a script of the lab; the folder of what it left."""
    words = [*shlex.split(through), os.path.join(LAB, "lab"), os.path.join(LAB, script), "--build",
             os.path.abspath(build), "--out", out, "--timeout", str(timeout), "--quiet"]
    for file in files:
        words += ["--file", file]
    for item in dict(variables).items():
        words += ["--set", "%s=%s" % item]
    done = subprocess.run(words, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        raise ToolError("the lab's run of %s is no measurement (details in %s):\n%s" % (
            script, out, "\n".join(done.stdout.splitlines()[-10:])))
    return os.path.join(out, "files")


def compile_for_guest(name, program):
    """tests/lab/NAME.c, so that it runs in a guest, as the file PROGRAM."""
    source = os.path.join(LAB, name + ".c")
    done = subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-static", "-o", program, source,
                           "-lm", "-lpthread"], check=False)
    if done.returncode:
        raise ToolError("%s does not compile" % source)


def checksum(*paths):
    """Of the contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


class Cell:
    """One measurement. setting: peer, name and background, words for the guest (attrs, depth), and
    whether freeblock has the drive's model (known)."""

    def __init__(self, drive, load, setting, seconds, seed):
        self.drive, self.load, self.setting = drive, load, setting
        self.seconds, self.seed = seconds, seed

    def foreground(self):
        """Requests, as load.c takes them."""
        raise NotImplementedError

    def warmup(self):
        """Seconds that do not count."""
        return WARMUP_S

    def variables(self):
        """What the guest's script wants to know, but for the id."""
        drive, model, extra = DRIVES[self.drive]
        return {"drive": drive + ".fbdrive", "extra": "\n".join(filter(None, (NO_JOURNAL, extra))),
                "model": model + ".fbmodel" if self.setting.known else "",
                "sched": self.setting.peer, "attrs": self.setting.attrs,
                "queue_depth": self.setting.depth, "nr_requests": "256",
                "fg": self.foreground(), "bg": self.setting.reads, "warmup": str(self.warmup()),
                "seconds": str(self.seconds), "seed": str(self.seed)}

    def key(self, sums):
        """Of all that its figures depend on."""
        drive, model, _ = DRIVES[self.drive]
        files = [os.path.join(TOP, "tools", "mechdisk", "drives", drive + ".fbdrive")]
        parts = [sums["all"], sorted(self.variables().items())]
        if self.setting.peer == "freeblock":
            files.append(os.path.join(TOP, "models", model + ".fbmodel"))
            parts.append(sums["freeblock"])
        text = json.dumps([parts, checksum(*files)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def line(self, name):
        """A line of shell."""
        words = ["id=" + name] + ["%s=%s" % item for item in self.variables().items()]
        return "cell " + " ".join(shlex.quote(w) for w in words) + "\n"

    def row(self, figures):
        """What tables want."""
        return {"drive": self.drive, "load": self.load, "peer": self.setting.peer,
                "setting": self.setting.name, "background": self.setting.background,
                "seconds": self.seconds, "seed": self.seed, **figures}

    def void(self, figures):
        """Why its figures say nothing; "" if they do."""
        if not figures["requests_per_s"]:
            return "%s: no foreground request in the window" % self
        if self.setting.background == "scan" and not figures["bg_mb_s"] and \
                not figures["scan_said"]:
            return "%s: the scan read nothing, and no load is why" % self
        return ""

    def virtual_s(self):
        """Virtual seconds it takes, about."""
        return self.seconds + self.warmup() + 3

    def __str__(self):
        return "%s, %s, %s %s" % (self.drive, self.load, self.setting.peer, self.setting.name)


class Bench:
    """Runs cells and keeps their figures.

    figures: makes sense of the folder that a cell leaves; machine_s: virtual seconds of one machine
    at most, what is lost when a bench is stopped."""

    name, machine_s = "", 300
    figures = staticmethod(peersum.cell_figures)

    def __init__(self, build, folder, through, fresh):
        self.build, self.folder, self.through, self.fresh = build, folder, through, fresh
        self.measured = set()
        self.cells = os.path.join(folder, "cells")
        os.makedirs(self.cells, exist_ok=True)
        self.load = os.path.join(build, "load")
        compile_for_guest("load", self.load)
        self.sums = self._sums()

    def _sums(self):
        said = subprocess.run([os.path.join(LAB, "kernel"), "stock"], text=True, check=False,
                              stdout=subprocess.PIPE)
        if said.returncode:
            raise ToolError("no stock kernel")
        release = dict(line.split("=", 1) for line in said.stdout.splitlines())["KVER"]
        folder = os.path.join(self.build, "kernel-" + release)
        found = {name: os.path.join(here, name) for here, _, files in os.walk(folder)
                 for name in files}
        for name in ("freeblock.ko", "mechdisk.ko"):
            if name not in found:
                raise ToolError("no %s in %s: make modules" % (name, folder))
        return {"all": release + checksum(
            found["mechdisk.ko"], self.load,
            os.path.join(LAB, "cells.sh")),
                "freeblock": checksum(found["freeblock.ko"])}

    def path(self, cell):
        """Where a cell's figures are kept."""
        return os.path.join(self.cells, cell.key(self.sums) + ".json")

    def kept(self, cell):
        """The cell's row if it is there."""
        old = self.fresh and cell not in self.measured
        if old or not os.path.exists(self.path(cell)):
            return None
        with open(self.path(cell)) as file:
            return cell.row(json.load(file))

    def machine(self, cells):
        """One virtual machine: measure the cells, keep their figures."""
        listed = os.path.join(self.folder, "cells.sh")
        files = [self.load, listed + ":lab/files/cells"]
        names = {"c%d" % i: cell for i, cell in enumerate(cells)}
        with open(listed, "w") as file:
            file.writelines(cell.line(name) for name, cell in names.items())
        self.keep(names, run("cells.sh", os.path.join(self.folder, "run"), MACHINE_TIMEOUT_S,
                             self.through, self.build, files))

    def keep(self, names, folder):
        """Keep the cells' figures that say something; the others are measured again next time."""
        void = []
        for name, cell in names.items():
            figures = self.figures(os.path.join(folder, name))
            reason = cell.void(figures)
            if reason:
                void.append("%s (details in %s)" % (reason, os.path.join(folder, name, "status")))
                continue
            with open(self.path(cell), "w") as file:
                json.dump(figures, file, indent=1)
            self.measured.add(cell)
        if void:
            raise ToolError("\n".join(void))

    def run(self, cells):
        """Measure what is not there yet; all rows."""
        wanted = [cell for cell in cells if not self.kept(cell)]
        total = sum(c.virtual_s() for c in wanted)
        print("%s: %d cells, %d of them to be measured: %.0f min of disk time" %
              (self.name, len(cells), len(wanted), total / 60), flush=True)
        began, passed = time.monotonic(), 0
        while wanted:
            batch, length = [], 0
            while wanted and (not batch or length + wanted[0].virtual_s() <= self.machine_s):
                batch.append(wanted.pop(0))
                length += batch[-1].virtual_s()
            print("%s: %s to %s ..." % (self.name, batch[0], batch[-1]), flush=True)
            self.machine(batch)
            passed += length
            wall = time.monotonic() - began
            print("%s: %d %% after %.1f min, %.1f min to go" %
                  (self.name, 100 * passed // total, wall / 60,
                   wall / 60 * (total - passed) / passed), flush=True)
        return [self.kept(cell) for cell in cells]


def named(table, make):
    """make(peer, name) of the settings of a table: lines "PEER NAME; NAME"."""
    for line in filter(None, table.splitlines()):
        peer, names = line.split(None, 1)
        for name in names.split(";"):
            yield make(peer, name.strip())


def rows_of(bench, cells, kept):
    """The cells' rows, measured if need be, or those that are there."""
    rows = [row for row in map(bench.kept, cells) if row] if kept else bench.run(cells)
    if not rows:
        raise ToolError("none of these cells has been measured")
    return rows


def group(rows):
    """{(drive, load): rows}, in the order of the rows."""
    groups = {}
    for row in rows:
        groups.setdefault((row["drive"], row["load"]), []).append(row)
    return groups


def find(rows, peer, **wanted):
    """The first row of that peer and, for example, background; None if there is none."""
    return next((row for row in rows if row["peer"] == peer and
                 all(row[key] == value for key, value in wanted.items())), None)


def faults(rows):
    """What makes rows doubtful."""
    found = []
    for row in rows:
        name = "%s, %s, %s %s, seed %d" % tuple(row[key] for key in (
            "drive", "load", "peer", "setting", "seed"))
        if row["errors"] and row["load"] != "bursts":
            found.append("%s: %d errors" % (name, row["errors"]))
        if row["late_pm"] > peersum.MOST_LATE_PM:
            found.append("%s: the drive was late with %.1f of 1000 commands" % (name,
                                                                               row["late_pm"]))
    return found


def table(title, rows, columns, note):
    """Lines of one drive and load; columns: (head, key, format), note(row): what follows."""
    lines = tables.lines(rows, (("peer", "peer", "%s"), ("setting", "setting", "%s"), *columns))
    return ["", "%s, %s" % title] + ["  " + line + said for line, said in zip(
        lines, ["", *map(note, rows)])]


def chosen(given, known, what):
    """The words of a comma list, or all."""
    words = [w for w in given.split(",") if w] or list(known)
    for word in words:
        if word not in known:
            raise UsageError("--%s: %s is none of %s" % (what, word, ", ".join(known)))
    return words


def add_options(parser, drives, loads, seconds):
    """Options of every bench of cells."""
    parser.add_argument("--drive", default="", help="comma list: %s" % " ".join(drives))
    parser.add_argument("--load", default="", help="comma list: %s" % " ".join(loads))
    parser.add_argument("--no-model", action="store_true",
                        help="nothing is known of the drive: freeblock has no model of it")
    parser.add_argument("--seconds", type=int, default=0,
                        help="disk time that is counted, of each cell (0: %s)" % ", ".join(
                            "%s %d" % item for item in seconds.items()))
    parser.add_argument("--kept", action="store_true",
                        help="measure nothing: show what is there")
    parser.add_argument("--fresh", action="store_true", help="measure what is there already, too")
    parser.add_argument("--through", default="", metavar="COMMAND",
                        help="put in front of each virtual machine's command")
    parser.add_argument("--build", default=BUILD, metavar="DIR", help="where all is made (build)")
