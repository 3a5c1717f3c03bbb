# SPDX-License-Identifier: GPL-2.0
"""Figures 8 and 9 of "Freeblock Scheduling Outside of Disk Firmware" (FAST 2002).

Each figure says which runs it wants, what rows they make, and what to draw.
The workload is the paper's (5.1): requests uniform over the disk, two reads to
a write, multiples of 4 KiB with a mean of 8 KiB, in a closed loop of 10, with
no think time or with 30 ms. Free bandwidth is called "whole scan" when it is the
mean until the last block, and "fresh map" when it is that of the first tenth.
"""

from dataclasses import dataclass

from .bench_rows import Figure, Row
from .bench_run import command

ATLAS, CHEETAH, NEARLINE = "atlas10k", "cheetah9", "nearline16"
POLICIES = ("sstf", "sptf-sw", "sptf")
NAMES = {"none": "the drive's own queue", "sptf": "SPTF", "sptf-sw": "SPTF-SW60",
         "sstf": "SSTF"}

# All of the paper's limits lifted; blocks worth the same, or more where few are left on a
# track and where a scan lags
LIFT = {"lift": "all"}
WEIGHED = {**LIFT, "value": "root", "weight": "balance"}


@dataclass(frozen=True)
class Effort:
    """How much is run."""

    requests: int = 100000      # of a run without a scan
    alone: int = 1000000        # of the run that a slowdown is measured against
    outstanding: tuple = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
    conservatism: tuple = (0, 100, 200, 300, 400, 500, 600)
    beside: tuple = (0, 200, 300, 400, 600)     # conservatism, where the paper has no curve
    seeds: int = 2              # runs where few per mille count
    nearline_s: int = 1200      # disk time of a scan of a large drive, which is not ended


QUICK = Effort(requests=20000, alone=200000, outstanding=(1, 2, 5, 10, 20),
               conservatism=(0, 300, 400), beside=(0, 300, 400), seeds=1, nearline_s=200)


def below(low, high):
    """How far `low` is below `high`, per cent."""
    return 100 * (1 - low / high)


def rate(result):
    """Requests per second."""
    return result["requests_per_s"]


class Figure8(Figure):
    """Policies against the drive's own queue."""

    name = "8"
    title = "Figure 8: foreground requests/s against requests outstanding"
    drives = (ATLAS, CHEETAH, NEARLINE)

    def cells(self, effort):
        """Each drive, think time, policy and number outstanding."""
        cells = {}
        for drive in self.drives:
            for think in (0, 30):
                for policy in ("none",) + POLICIES:
                    for n in effort.outstanding:
                        cells[drive, think, policy, n] = {
                            "drive": drive, "policy": policy, "outstanding": str(n),
                            "think_ms": str(think), "requests": str(effort.requests)}
        for policy in POLICIES:
            cells["off", policy] = {"noise": "off", "policy": policy,
                                    "requests": str(effort.requests)}
        return cells

    def rows(self, got, cells):
        """At ten outstanding, no think time."""
        rows = [Row("SSTF below SPTF, seek noise on, %s" % ATLAS,
                    below(rate(got[ATLAS, 0, "sstf", 10]), rate(got[ATLAS, 0, "sptf", 10])), "%",
                    "13-15", "11", command(cells[ATLAS, 0, "sstf", 10]), 10, 13),
                Row("SSTF below SPTF, seek noise off, %s" % ATLAS,
                    below(rate(got["off", "sstf"]), rate(got["off", "sptf"])), "%",
                    "13-15", "12-14", command(cells["off", "sstf"]), 12, 15)]
        for drive in self.drives:
            rows += self.drive_rows(drive, got, cells)
        return rows

    def drive_rows(self, drive, got, cells):
        """What figure 8 shows, of one drive."""
        ten = {policy: got[drive, 0, policy, 10] for policy in ("none",) + POLICIES}
        apart = max((abs(rate(got[drive, 0, "sptf", n]) / rate(got[drive, 0, "none", n]) - 1)
                     for d, think, policy, n in [k for k in got if len(k) == 4]
                     if (d, think, policy) == (drive, 0, "sptf")))
        paper = "same" if drive != NEARLINE else ""
        return [Row("requests/s of SPTF, 10 outstanding, %s" % drive, rate(ten["sptf"]), "1/s",
                    command=command(cells[drive, 0, "sptf", 10])),
                Row("SPTF above the drive's own queue, 10 outstanding, %s" % drive,
                    -below(rate(ten["sptf"]), rate(ten["none"])), "%", paper, "",
                    command(cells[drive, 0, "none", 10])),
                Row("SPTF and the drive's own queue, most apart, %s" % drive, 100 * apart, "%",
                    paper),
                Row("SPTF-SW60 below SPTF, 10 outstanding, %s" % drive,
                    below(rate(ten["sptf-sw"]), rate(ten["sptf"])), "%",
                    "5-6" if drive == ATLAS else "", "",
                    command(cells[drive, 0, "sptf-sw", 10]))]

    def pictures(self, got):
        """A picture for each drive."""
        for drive in self.drives:
            yield drive, [{
                "title": "%s, think time %d ms" % (drive, think),
                "x": "requests outstanding", "y": "requests/s",
                "lines": {NAMES[policy]: [(k[3], rate(r)) for k, r in got.items()
                                          if k[:3] == (drive, think, policy)]
                          for policy in ("none",) + POLICIES},
            } for think in (0, 30)]


def free(result):
    """Free bandwidth, mean of the run."""
    return result["free_mb_s"]


def first(result):
    """Free bandwidth of the first tenth, or of the run if that is not reached."""
    return (result["mb_s_by_tenth"] or [result["free_mb_s"]])[0]


def total(result):
    """All that the disk delivers."""
    return result["foreground_mb_s"] + result["free_mb_s"]


class Figure9(Figure):
    """Foreground and free bandwidth against conservatism."""

    name = "9"
    title = "Figure 9: foreground and free bandwidth against conservatism"
    drives = (ATLAS, CHEETAH, NEARLINE)

    def cells(self, effort):
        """Each drive, think time, policy and conservatism; and without a scan."""
        cells = {}
        for drive in self.drives:
            for think in (0, 30):
                for policy in POLICIES:
                    load = {"drive": drive, "policy": policy, "think_ms": str(think)}
                    cells[drive, think, policy, "alone"] = {**load, "requests": str(effort.alone)}
                    for us in effort.conservatism if drive == ATLAS else effort.beside:
                        cells[drive, think, policy, us] = {
                            **load, "task": "scan", "conservatism_us": str(us),
                            **self.end(drive, effort)}
        return cells

    @staticmethod
    def end(drive, effort):
        """When a scan ends. That of a large drive would take a quarter of an hour."""
        return {"seconds": str(effort.nearline_s)} if drive == NEARLINE else {"whole": "1"}

    def slowdown(self, got, key):
        """Per cent."""
        return below(rate(got[key]), rate(got[key[:3] + ("alone",)]))

    def rows(self, got, cells):
        """What the paper says of figure 9; other drives and loads beside it."""
        rows = []
        for drive in self.drives:
            for think in (0, 30):
                rows += self.load_rows(drive, think, got, cells)
        return rows

    def load_rows(self, drive, think, got, cells):
        """Of one drive and one think time."""
        load = "%s, think %d ms" % (drive, think)
        mine = drive == ATLAS
        rows = []
        for us, paper, most in ((300, "< 2", 2), (400, "< 0.6", .6)):
            key = drive, think, "sptf-sw", us
            rows.append(Row("slowdown at %d us, SPTF-SW60, %s" % (us, load),
                            self.slowdown(got, key), "%", paper if mine else "",
                            {300: "1.5", 400: "0.5"}[us] if mine and not think else "",
                            command(cells[key], "--baseline"),
                            most=most if mine and not think else None))
            rows += self.free_rows(key, load, got, cells)
        return rows + self.policy_rows(drive, think, load, got)

    def free_rows(self, key, load, got, cells):
        """Free bandwidth at one conservatism, and what the conservatism costs."""
        us, result = key[3], got[key]
        same = [r for k, r in got.items() if k[:3] == key[:3] and k[3] != "alone"]
        rows = [Row("free at %d us, fresh map, %s" % (us, load), first(result), "MB/s",
                    command=command(cells[key]))]
        if key[0] == NEARLINE:
            return rows
        mine = key[0] == ATLAS
        return rows + [
            Row("free at %d us, whole scan, %s" % (us, load), free(result), "MB/s",
                "3.1" if mine else "", "2.9-3.0" if mine and not key[1] else "",
                command(cells[key])),
            Row("free bandwidth given up at %d us, whole scan, %s" % (us, load),
                below(free(result), max(map(free, same))), "%",
                {300: "3", 400: "10"}[us] if mine else ""),
            Row("free bandwidth given up at %d us, fresh map, %s" % (us, load),
                below(first(result), max(map(first, same))), "%",
                {300: "3", 400: "10"}[us] if mine else "")]

    def policy_rows(self, drive, think, load, got):
        """Policies beside each other at 300 us."""
        of = {policy: got[drive, think, policy, 300] for policy in POLICIES}
        asked = drive == ATLAS and not think
        mine = drive == ATLAS
        rows = []
        for what, value in (("fresh map", first),) + (
                (("whole scan", free),) if drive != NEARLINE else ()):
            held = asked and what == "fresh map"
            rows += [
                Row("SSTF / SPTF free bandwidth, 300 us, %s, %s" % (what, load),
                    value(of["sstf"]) / value(of["sptf"]), "", "2.1-2.6" if mine else "",
                    "2.1-2.2" if asked else "", "", 2.0 if held else None, 2.6 if held else None),
                Row("SPTF-SW60 / SSTF free bandwidth, 300 us, %s, %s" % (what, load),
                    value(of["sptf-sw"]) / value(of["sstf"]), "", "> 0.8" if mine else "",
                    "0.83-0.88" if asked else "", "", .8 if held else None)]
            key = drive, think, "sptf-sw", 400
            rows.append(Row("bytes moved with a scan / without, 400 us, %s, %s" % (what, load),
                            1 + value(got[key]) / got[key]["foreground_mb_s"], "",
                            "6" if mine else ""))
        return rows

    def pictures(self, got):
        """A picture for each drive and think time."""
        for drive in self.drives:
            for think in (0, 30):
                yield "%s-think%d" % (drive, think), self.plots(drive, think, got)

    def plots(self, drive, think, got):
        """Foreground, free bandwidth of the whole scan, and of a fresh map."""
        def lines(value):
            return {NAMES[policy]: [(k[3] / 1000, value(r)) for k, r in got.items()
                                    if k[:3] == (drive, think, policy) and k[3] != "alone"]
                    for policy in POLICIES}
        whole = [("free bandwidth, whole scan", "MB/s", free)] if drive != NEARLINE else []
        return [{"title": title, "x": "conservatism, ms", "y": unit, "lines": lines(value)}
                for title, unit, value in [
                    ("%s, think time %d ms: foreground" % (drive, think), "requests/s", rate),
                    *whole, ("free bandwidth, fresh map", "MB/s", first)]]

