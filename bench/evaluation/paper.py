# SPDX-License-Identifier: GPL-2.0
"""Figures 7 to 10 of "Freeblock Scheduling Outside of Disk Firmware" (FAST 2002), and whole scans.

Each figure says which runs it wants, what rows they make, and what to draw; SAID has what the paper
and others say of rows. The workload is the paper's (5.1): requests uniform over the disk, two reads
to a write, multiples of 4 KiB with a mean of 8 KiB, in a closed loop of 10, with no think time or
with 30 ms. Free bandwidth is called "whole scan" when it is the mean until the last block, and
"fresh map" when it is that of the first tenth.
"""

import itertools
from dataclasses import dataclass

from .summary import Figure, Row, below, first, free, last_tenth, rate
from .runs import command

ATLAS, CHEETAH, NEARLINE = DRIVES = ("atlas10k", "cheetah9", "nearline16")
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

# Figure 7: a report's error is counted in buckets of 10 us (sim.rst)
BUCKET_US = 10
OUTERMOST = 100     # buckets beyond a millisecond are one on either side
LOADS = {"4 KiB": {"size": "4k"}, "40 KiB": {"size": "40k"},
         "4 KiB within 50 cylinders": {"size": "4k", "locality": "cylinders:50"}}


def within(result, microseconds):
    """The share of reports not further off, per cent; a multiple of the bucket."""
    most = microseconds // BUCKET_US
    errors = result["prediction_errors_10us"].items()
    return 100 * sum(n for bucket, n in errors if -most < int(bucket) <= most) / \
        result["predicted"]


def density(result):
    """(us, share of reports per bucket) of all buckets but the outermost."""
    errors = result["prediction_errors_10us"]
    return [(BUCKET_US * (n - 1), max(errors.get(str(n), 0), .5) / result["predicted"])
            for n in range(1 - OUTERMOST, OUTERMOST + 1)]


class Figure7(Figure):
    """Prediction errors. Small files on ext4 need a kernel: files.py."""

    name = "7"
    title = "Figure 7: errors of predicted completions"
    said = {"reports within 50 us, 4 KiB, atlas10k": ("97.5",),
            "a turn later than predicted, 4 KiB, atlas10k": ("1.8",),
            "a turn earlier than predicted, 4 KiB, atlas10k": ("0.7",),
            "reports within 150 us, 40 KiB, atlas10k": ("75",),
            "reports within 50 us, 4 KiB, cheetah9": ("99.3",),
            "a turn later than predicted, 4 KiB, cheetah9": ("0.7 both",),
            **{"reports within 50 us, 4 KiB within 50 cylinders, " + drive: ("as well",)
               for drive in (ATLAS, CHEETAH)}}

    def cells(self, effort):
        """Each drive and kind of request."""
        return {(drive, name): {"drive": drive, **LOADS[name], "requests": str(effort.requests)}
                for drive in DRIVES for name in LOADS}

    def rows(self, got, cells):
        """Shares."""
        return [Row("%s, %s, %s" % (what, name, drive), value, "%",
                    command=command(cells[drive, name], "--json"))
                for (drive, name), r in got.items() for what, value in (
                    ("reports within 50 us", 100 * r["reports_within_50us"]),
                    ("reports within 150 us", within(r, 150)),
                    ("a turn later than predicted", 100 * r["turn_late"]),
                    ("a turn earlier than predicted", 100 * r["turn_early"]))]

    def pictures(self, got):
        """Densities; those beyond a millisecond are not drawn."""
        yield "all", [{"title": drive, "x": "reported - predicted, us",
                       "y": "share of requests per 10 us", "steps": True, "log": True,
                       "lines": {name: density(got[drive, name]) for name in LOADS}}
                      for drive in DRIVES]


class Figure8(Figure):
    """Policies against the drive's own queue."""

    name = "8"
    title = "Figure 8: foreground requests/s against requests outstanding"
    said = {"SSTF below SPTF, seek noise on, atlas10k": ("13-15", "11", 10, 13),
            "SSTF below SPTF, seek noise off, atlas10k": ("13-15", "12-14", 12, 15),
            "SPTF-SW60 below SPTF, 10 outstanding, atlas10k": ("5-6",),
            **{what + drive: ("same",) for drive in (ATLAS, CHEETAH) for what in (
                "SPTF above the drive's own queue, 10 outstanding, ",
                "SPTF and the drive's own queue, most apart, ")}}

    def cells(self, effort):
        """Each drive, think time, policy and number outstanding."""
        return {**{(drive, think, policy, n): {
            "drive": drive, "policy": policy, "outstanding": str(n), "think_ms": str(think),
            "requests": str(effort.requests)} for drive, think, policy, n in itertools.product(
                DRIVES, (0, 30), ("none",) + POLICIES, effort.outstanding)},
                **{("off", policy): {"noise": "off", "policy": policy,
                                     "requests": str(effort.requests)} for policy in POLICIES}}

    def rows(self, got, cells):
        """At ten outstanding, no think time."""
        rows = [Row("SSTF below SPTF, seek noise %s, %s" % (noise, ATLAS),
                    below(rate(got[sstf]), rate(got[sptf])), "%", command=command(cells[sstf]))
                for noise, sstf, sptf in (
                    ("on", (ATLAS, 0, "sstf", 10), (ATLAS, 0, "sptf", 10)),
                    ("off", ("off", "sstf"), ("off", "sptf")))]
        for drive in DRIVES:
            ten = {policy: got[drive, 0, policy, 10] for policy in ("none",) + POLICIES}
            line = {policy: command(cells[drive, 0, policy, 10]) for policy in ten}
            apart = max(abs(rate(r) / rate(got[drive, 0, "none", key[3]]) - 1)
                        for key, r in got.items() if key[:3] == (drive, 0, "sptf"))
            rows += [Row("requests/s of SPTF, 10 outstanding, " + drive, rate(ten["sptf"]), "1/s",
                         command=line["sptf"]),
                     Row("SPTF above the drive's own queue, 10 outstanding, " + drive,
                         -below(rate(ten["sptf"]), rate(ten["none"])), "%", command=line["none"]),
                     Row("SPTF and the drive's own queue, most apart, " + drive, 100 * apart, "%"),
                     Row("SPTF-SW60 below SPTF, 10 outstanding, " + drive,
                         below(rate(ten["sptf-sw"]), rate(ten["sptf"])), "%",
                         command=line["sptf-sw"])]
        return rows

    def pictures(self, got):
        """A picture for each drive."""
        for drive in DRIVES:
            yield drive, [{
                "title": "%s, think time %d ms" % (drive, think),
                "x": "requests outstanding", "y": "requests/s",
                "lines": {NAMES[policy]: [(k[3], rate(r)) for k, r in got.items()
                                          if k[:3] == (drive, think, policy)]
                          for policy in ("none",) + POLICIES},
            } for think in (0, 30)]


def _said_of_figure_9():
    """What the paper says of its drive, and the prototype of no think time."""
    said = {}
    for think in (0, 30):
        def put(name, paper, reference="", least=None, most=None, think=think):
            more = () if think else (reference, least, most)
            said["%s, atlas10k, think %d ms" % (name, think)] = (paper, *more)
        put("slowdown at 300 us, SPTF-SW60", "< 2", "1.5", None, 2)
        put("slowdown at 400 us, SPTF-SW60", "< 0.6", "0.5", None, .6)
        for us, given_up in ((300, "3"), (400, "10")):
            put("free at %d us, whole scan" % us, "3.1", "2.9-3.0")
            for what in ("whole scan", "fresh map"):
                put("free bandwidth given up at %d us, %s" % (us, what), given_up)
        for what, bound in (("whole scan", (None, None, None)), ("fresh map", (2.0, 2.6, .8))):
            put("SSTF / SPTF free bandwidth, 300 us, " + what, "2.1-2.6", "2.1-2.2", *bound[:2])
            put("SPTF-SW60 / SSTF free bandwidth, 300 us, " + what, "> 0.8", "0.83-0.88", bound[2])
            put("bytes moved with a scan / without, 400 us, " + what, "6")
    return said


class Figure9(Figure):
    """Foreground and free bandwidth against conservatism."""

    name = "9"
    title = "Figure 9: foreground and free bandwidth against conservatism"
    said = _said_of_figure_9()

    def cells(self, effort):
        """Each drive, think time, policy and conservatism; and without a scan. The scan of a large
        drive, which would take a quarter of an hour, is not ended."""
        cells = {}
        for drive, think, policy in itertools.product(DRIVES, (0, 30), POLICIES):
            load = {"drive": drive, "policy": policy, "think_ms": str(think)}
            cells[drive, think, policy, "alone"] = {**load, "requests": str(effort.alone)}
            for us in effort.conservatism if drive == ATLAS else effort.beside:
                cells[drive, think, policy, us] = {
                    **load, "task": "scan", "conservatism_us": str(us),
                    **({"seconds": str(effort.nearline_s)} if drive == NEARLINE else
                       {"whole": "1"})}
        return cells

    def rows(self, got, cells):
        """Of each drive and think time."""
        return [row for drive, think in itertools.product(DRIVES, (0, 30))
                for row in self.load_rows(drive, think, got, cells)]

    @staticmethod
    def kinds(drive):
        """(name, figure) of free bandwidth."""
        return (("fresh map", first), ("whole scan", free))[:1 if drive == NEARLINE else 2]

    def load_rows(self, drive, think, got, cells):
        """Of one drive and one think time."""
        load = "%s, think %d ms" % (drive, think)
        of = {key[2:]: r for key, r in got.items() if key[:2] == (drive, think)}
        scans = [r for (policy, us), r in of.items() if policy == "sptf-sw" and us != "alone"]
        for us in (300, 400):
            cell, r = cells[drive, think, "sptf-sw", us], of["sptf-sw", us]
            yield Row("slowdown at %d us, SPTF-SW60, %s" % (us, load),
                      below(rate(r), rate(of["sptf-sw", "alone"])), "%",
                      command=command(cell, "--baseline"))
            for what, value in self.kinds(drive):
                yield Row("free at %d us, %s, %s" % (us, what, load), value(r), "MB/s",
                          command=command(cell))
            for what, value in self.kinds(drive)[::-1] if drive != NEARLINE else ():
                yield Row("free bandwidth given up at %d us, %s, %s" % (us, what, load),
                          below(value(r), max(map(value, scans))), "%")
        for what, value in self.kinds(drive):
            at300 = {policy: value(of[policy, 300]) for policy in POLICIES}
            for name, ratio in (("SSTF / SPTF", at300["sstf"] / at300["sptf"]),
                                ("SPTF-SW60 / SSTF", at300["sptf-sw"] / at300["sstf"])):
                yield Row("%s free bandwidth, 300 us, %s, %s" % (name, what, load), ratio, "")
            r = of["sptf-sw", 400]
            yield Row("bytes moved with a scan / without, 400 us, %s, %s" % (what, load),
                      1 + value(r) / r["foreground_mb_s"], "")

    def pictures(self, got):
        """A picture for each drive and think time."""
        for drive, think in itertools.product(DRIVES, (0, 30)):
            yield "%s-think%d" % (drive, think), [
                {"title": title, "x": "conservatism, ms", "y": unit, "lines": {
                    NAMES[policy]: [(k[3] / 1000, value(r)) for k, r in got.items()
                                    if k[:3] == (drive, think, policy) and k[3] != "alone"]
                    for policy in POLICIES}}
                for title, unit, value in [
                    ("%s, think time %d ms: foreground" % (drive, think), "requests/s", rate),
                    *(("free bandwidth, " + what, "MB/s", value)
                      for what, value in self.kinds(drive)[::-1])]]


# A scheduler in the drive: it knows how long each seek will take and where the
# platter is, no command has to travel, it may read whatever passes, as long as it
# likes, and its search has ten times the time of ours. Left out: it could
# also give up a read that turns out to be late.
IN_DRIVE = {"noise": "off", "set": "command_overhead_ns 0 0\nbus_ns 0\njitter_ns 0",
            "lead_us": "0", "max_sectors": "65536", "max_prepend_sectors": "65536",
            "pipe_read_us": "0", "pipe_write_us": "0", "hop_steps": "0", "steps": "2000"}
INSIDE, SINGLE, OUTSIDE = "in the drive", "in the drive, one request per track", "external"
SIDES = {INSIDE: {**IN_DRIVE, "lift": "all"}, SINGLE: IN_DRIVE, OUTSIDE: {}}
BOTH = (("whole scan", free), ("fresh map", first))


class Figure10(Figure):
    """In the drive, in the drive with one request per track, external."""

    name = "10"
    title = "Figure 10: free bandwidth in the drive's firmware and outside"
    said = {"whole scan, in the drive, conservatism 0 us, atlas10k": ("4.8", "4.55"),
            "fresh map, in the drive, conservatism 0 us, atlas10k": ("", "9.6"),
            "whole scan, external, conservatism 300 us, atlas10k": ("3.1", "2.9-3.0"),
            "whole scan, external, conservatism 400 us, atlas10k": ("3.1",),
            "external, 300 us, of in the drive, whole scan": ("65", "66"),
            "external, 300 us, of in the drive, fresh map": ("65",),
            **{name % what: (paper,) for what, _ in BOTH for name, paper in (
                ("lost by conservatism of 300 us in the drive, %s", "about 17"),
                ("lost by one request per track, in the drive at 300 us, %s", "about 17"),
                ("in the drive, one request per track, above external at 300 us, %s", "2-3"))}}

    def cells(self, effort):
        """Each side and conservatism: whole scans."""
        return {(side, us): {"drive": ATLAS, "policy": "sptf-sw", "think_ms": "0",
                             "task": "scan", "conservatism_us": str(us), **settings, "whole": "1"}
                for side, settings in SIDES.items() for us in effort.conservatism}

    def rows(self, got, cells):
        """Of whole scans, and of fresh maps; what is lost, and to what."""
        rows = [Row("%s, %s, conservatism %d us, %s" % (what, *key, ATLAS), value(got[key]), "MB/s",
                    command=command(cells[key]))
                for key in ((INSIDE, 0), (SINGLE, 0), (OUTSIDE, 300), (OUTSIDE, 400))
                for what, value in BOTH]
        for what, value in BOTH:
            best, inside, single, mine = (value(got[key]) for key in (
                (INSIDE, 0), (INSIDE, 300), (SINGLE, 300), (OUTSIDE, 300)))
            rows += [Row(name % what, share, "%") for name, share in (
                ("external, 300 us, of in the drive, %s", 100 * mine / best),
                ("lost by conservatism of 300 us in the drive, %s", below(inside, best)),
                ("lost by one request per track, in the drive at 300 us, %s",
                 below(single, inside)),
                ("in the drive, one request per track, above external at 300 us, %s",
                 -below(single, mine)))]
        return rows

    def pictures(self, got):
        """Whole scan and fresh map."""
        yield ATLAS, [{"title": title, "x": "conservatism, ms", "y": "MB/s",
                       "lines": {side: [(us / 1000, value(r)) for (s, us), r in got.items()
                                        if s == side] for side in SIDES}}
                      for title, value in BOTH]


class Scans(Figure):
    """Whole scans by tenth."""

    name = "scans"
    title = "Whole scans: speed by tenth, scans per day"
    kinds = {"paper's limits, 300 us": {"conservatism_us": "300"},
             "paper's limits, auto": {"conservatism_us": "auto"},
             "limits lifted, auto": {"conservatism_us": "auto", **LIFT},
             "limits lifted, auto, blocks weighed": {"conservatism_us": "auto", **WEIGHED},
             "in the drive": {**SIDES[INSIDE], "conservatism_us": "0"},
             "in the drive, blocks weighed": {**IN_DRIVE, **WEIGHED, "hop_steps": "20",
                                              "conservatism_us": "0"}}
    # drive, think time, ms
    loads = ((ATLAS, 0), (ATLAS, 30), (CHEETAH, 0))
    said = {"%s%s, atlas10k, think %d ms" % (what, kind, think): said
            for think in (0, 30) for what, kind, said in (
                ("whole scan, ", "paper's limits, 300 us", ("3.1",)),
                ("whole scans per day, ", "paper's limits, 300 us", ("37",)),
                ("whole scans per day, ", "in the drive", ("over 47",)),
                ("time for the last tenth, whole scan, ", "paper's limits, 300 us", ("", "50")))}

    def cells(self, effort):
        """Each drive, think time and kind of scan."""
        cells = {}
        for drive, think in self.loads:
            load = {"drive": drive, "policy": "sptf-sw", "think_ms": str(think)}
            cells[drive, think, "alone"] = {**load, "requests": str(effort.alone)}
            for name, settings in self.kinds.items():
                cells[drive, think, name] = {**load, "task": "scan", **settings, "whole": "1"}
        return cells

    def rows(self, got, cells):
        """Speed, scans a day, slowdown, and where the time goes."""
        for (drive, think, name), r in got.items():
            if name == "alone":
                continue
            where = "%s, %s, think %d ms" % (name, drive, think)
            figures = [("whole scan, ", free(r), "MB/s"),
                       ("whole scans per day, ", r["scans_per_day"], "1/day"),
                       ("time for the last tenth, whole scan, ", 100 * last_tenth(r), "%")]
            if not name.startswith("in the drive"):
                figures.append(("slowdown by a whole scan, ",
                                below(rate(r), rate(got[drive, think, "alone"])), "%"))
            for what, value, unit in figures:
                yield Row(what + where, value, unit,
                          command=command(cells[drive, think, name], "--baseline"))

    def pictures(self, got):
        """By tenth."""
        for drive in (ATLAS, CHEETAH):
            yield drive, [{
                "title": "%s, think time %d ms" % (drive, think),
                "x": "tenth of the scan", "y": "MB/s",
                "lines": {name: list(enumerate(got[drive, think, name]["mb_s_by_tenth"], 1))
                          for name in self.kinds},
            } for other, think in self.loads if other == drive]
