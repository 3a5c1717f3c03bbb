# SPDX-License-Identifier: GPL-2.0
"""The numbers that the project set itself, as far as a simulator can tell them."""

import itertools

from .bench_figures import ATLAS, LIFT, WEIGHED, below
from .bench_rows import Figure, Row
from .bench_run import command

LOAD = {"drive": ATLAS, "policy": "sptf-sw"}
# Constants tried, us, and what auto may cost, ppm
CONSTANTS = (150, 200, 250, 300, 350, 400, 500)
TARGETS = (2500, 5000, 10000, 15000)
LIFTED_TARGETS = (2500, 4000, 5000)
# How a scan with all limits lifted values blocks: each alike, or those more that are
# few on their track, and where a scan lags
LIFTED = {"blocks alike": LIFT, "blocks weighed": WEIGHED}
# Poisson arrivals per second that keep the drive busy for 30, 60 and 85 % of the
# time in its own order, as in peers.rst
LOADS = {"30 %": "35", "60 %": "70", "85 %": "108"}
ADAPTIVE = {"policy": "auto", "depth": "auto"}
OPEN = {"none": {"policy": "none"}, "without a scan": ADAPTIVE,
        "with a scan": {**ADAPTIVE, "task": "fresh", "conservatism_us": "auto", **LIFT}}


def pooled(results):
    """Requests per second, and free MB/s, of several runs as if of one."""
    seconds = sum(r["seconds"] for r in results)
    return (sum(r["requests"] for r in results) / seconds,
            sum(r.get("free_mb_s", 0) * r["seconds"] for r in results) / seconds)


def at_slowdown(curve, slowdown):
    """MB/s that constants allow at a slowdown, on straight lines; None beyond them.

    curve: [(slowdown, MB/s)], in any order. A constant that costs more and brings less
    than another is no part of it."""
    best = []
    for cost, gain in sorted(curve):
        if not best or gain > best[-1][1]:
            best.append((cost, gain))
    for (cost0, gain0), (cost1, gain1) in zip(best, best[1:]):
        if cost0 <= slowdown <= cost1:
            return gain0 + (gain1 - gain0) * (slowdown - cost0) / (cost1 - cost0)
    return None


class Numbers(Figure):
    """The rows of the project's table that need no kernel."""

    name = "numbers"
    title = "The project's numbers"

    def cells(self, effort):
        """Whole scans and fresh maps with some seeds, open arrivals."""
        cells = {}
        for seed in map(str, range(1, effort.seeds + 1)):
            cells["alone", seed] = {**LOAD, "seed": seed, "requests": str(effort.alone)}
            for key, settings in self.scans(effort).items():
                cells[(*key, seed)] = {**LOAD, "task": "scan", **settings, "whole": "1",
                                       "seed": seed}
            for target, (name, settings) in itertools.product(LIFTED_TARGETS, LIFTED.items()):
                cells["fresh", "auto %d ppm, %s" % (target, name), seed] = {
                    **LOAD, "task": "fresh", "conservatism_us": "auto",
                    "target_slowdown_ppm": str(target), **settings, "seed": seed,
                    "requests": str(effort.alone // 2)}
        for load, per_s in LOADS.items():
            for name, settings in OPEN.items():
                cells["open", load, name] = {"drive": ATLAS, **settings, "rate": per_s,
                                             "requests": str(3 * effort.requests)}
        return cells

    @staticmethod
    def scans(effort):
        """{(kind, name): settings}"""
        scans = {}
        constants = CONSTANTS if effort.seeds > 1 else (200, 300, 400)
        for us in constants:
            scans["paper", "%d us" % us] = {"conservatism_us": str(us)}
        for target in TARGETS:
            scans["paper", "auto %d ppm" % target] = {
                "conservatism_us": "auto", "target_slowdown_ppm": str(target)}
        for target, (name, settings) in itertools.product(LIFTED_TARGETS, LIFTED.items()):
            scans["lifted", "auto %d ppm, %s" % (target, name)] = {
                "conservatism_us": "auto", "target_slowdown_ppm": str(target), **settings}
        for us in (300, 400):
            scans["lifted", "%d us, blocks alike" % us] = {"conservatism_us": str(us), **LIFT}
        return scans

    @staticmethod
    def points(got, kind, alone):
        """{name: (slowdown %, MB/s)} of all runs of a kind, seeds pooled."""
        base = pooled([r for key, r in got.items() if key[0] == alone])[0]
        names = dict.fromkeys(key[1] for key in got if key[0] == kind)
        points = {}
        for name in names:
            requests, mb_s = pooled([r for key, r in got.items() if key[:2] == (kind, name)])
            points[name] = (below(requests, base), mb_s)
        return points

    def rows(self, got, cells):
        """All of them."""
        return self.scan_rows(got, cells) + self.auto_rows(got, cells) + self.open_rows(got, cells)

    def scan_rows(self, got, cells):
        """The most free bandwidth of the settings that keep to a slowdown; 0 if none does."""
        rows = []
        for what, kind, alone, limit, paper, reference, least, goal in (
                ("whole scan, limits as in the paper", "paper", "alone", 2.0,
                 "3.1 (65 % of in-firmware)", "2.9-3.0", 3.0, "3.3"),
                ("whole scan, all limits lifted", "lifted", "alone", 0.6, "", "3.7", 3.7, "4.0"),
                ("fresh map, all limits lifted", "fresh", "alone", 0.6, "", "7.9", 7.8,
                 "8.3")):
            points = self.points(got, kind, alone)
            kept = {name: p for name, p in points.items() if p[0] <= limit}
            best = max(kept, key=lambda name, p=kept: p[name][1]) if kept else None
            line = command(cells[kind, best, "1"], "--baseline") if best else ""
            rows.append(Row("%s, slowdown at most %g %%" % (what, limit),
                            kept[best][1] if best else 0.0, "MB/s", paper, reference, line,
                            least, None, goal))
            if best:
                rows.append(Row("its slowdown (%s), %s" % (best, what), kept[best][0], "%",
                                command=line))
        return rows

    def auto_rows(self, got, cells):
        """Free bandwidth at equal slowdown: auto against constants."""
        points = self.points(got, "paper", "alone")
        curve = [p for name, p in points.items() if name.endswith(" us")]
        rows = []
        for target in TARGETS:
            name = "auto %d ppm" % target
            cost, gain = points[name]
            best = at_slowdown(curve, cost)
            line = command(cells["paper", name, "1"], "--baseline")
            asked = {"least": 5, "goal": "9", "reference": "5-9"} if target == 5000 else {}
            rows += [Row("auto of %d ppm above the best constant at its slowdown, whole scan" %
                         target, 100 * (gain / best - 1) if best else None, "%", command=line,
                         **asked),
                     Row("slowdown by auto of %d ppm, whole scan" % target, cost, "%",
                         command=line)]
        return rows

    @staticmethod
    def open_rows(got, cells):
        """The 99th percentile under arrivals of their own."""
        rows = []
        for load in LOADS:
            p99 = {name: got["open", load, name]["response_ms"]["p99"] for name in OPEN}
            none = got["open", load, "none"]
            rows += [
                Row("load that is called %s: the drive is busy under none" % load,
                    100 * none["utilisation"], "%", command=command(cells["open", load, "none"])),
                Row("p99 with a scan against without, load %s" % load,
                    -below(p99["with a scan"], p99["without a scan"]), "%", "", "",
                    command(cells["open", load, "with a scan"]), None, 4, "+2"),
                Row("p99 without a scan against none, load %s" % load,
                    -below(p99["without a scan"], p99["none"]), "%", "", "",
                    command(cells["open", load, "without a scan"]), None, 3, "0"),
                Row("p99 with a scan against none, load %s" % load,
                    -below(p99["with a scan"], p99["none"]), "%", "", "",
                    command(cells["open", load, "with a scan"])),
                Row("free MB/s, fresh map, load %s" % load,
                    got["open", load, "with a scan"]["free_mb_s"], "MB/s", "", "",
                    command(cells["open", load, "with a scan"]))]
        return rows
