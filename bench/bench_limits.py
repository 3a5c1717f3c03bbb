# SPDX-License-Identifier: GPL-2.0
"""Figure 10 of the paper, and whole scans: what limits a scheduler outside the drive."""

from .bench_figures import ATLAS, CHEETAH, LIFT, NEARLINE, WEIGHED, below, first, free, rate
from .bench_rows import Figure, Row
from .bench_run import command

# A scheduler in the drive: it knows how long each seek will take and where the
# platter is, no command has to travel, it may read whatever passes, as long as it
# likes, and its search has ten times the time of ours. Left out: it could
# also give up a read that turns out to be late.
IN_DRIVE = {"noise": "off", "set": "command_overhead_ns 0 0\nbus_ns 0\njitter_ns 0",
            "lead_us": "0", "max_sectors": "65536", "max_prepend_sectors": "65536",
            "pipe_read_us": "0", "pipe_write_us": "0", "hop_steps": "0", "steps": "2000"}
SIDES = {"in the drive": {**IN_DRIVE, "lift": "all"},
         "in the drive, one request per track": IN_DRIVE,
         "external": {}}
SCANS = {"paper's limits, 300 us": {"conservatism_us": "300"},
         "paper's limits, auto": {"conservatism_us": "auto"},
         "limits lifted, auto": {"conservatism_us": "auto", **LIFT},
         "limits lifted, auto, blocks weighed": {"conservatism_us": "auto", **WEIGHED},
         "in the drive": {**SIDES["in the drive"], "conservatism_us": "0"},
         "in the drive, blocks weighed": {**IN_DRIVE, **WEIGHED, "hop_steps": "20",
                                          "conservatism_us": "0"}}
# Think times of whole scans, ms, by drive
THINKS = {ATLAS: (0, 30), CHEETAH: (0,)}


def last_tenth(result):
    """Its share of a scan's time: each tenth has as many blocks."""
    times = [1 / speed for speed in result["mb_s_by_tenth"]]
    return times[-1] / sum(times)


class Figure10(Figure):
    """In the drive, in the drive with one request per track, external."""

    name = "10"
    title = "Figure 10: free bandwidth in the drive's firmware and outside"

    def cells(self, effort):
        """Each side and conservatism: whole scans."""
        return {(side, us): {"drive": ATLAS, "policy": "sptf-sw", "think_ms": "0",
                             "task": "scan", "conservatism_us": str(us), **settings, "whole": "1"}
                for side, settings in SIDES.items() for us in effort.conservatism}

    def rows(self, got, cells):
        """Of whole scans, and of fresh maps."""
        rows = []
        least = min(us for _, us in got)
        for side, us, paper, reference in (
                ("in the drive", least, "4.8", "4.55"),
                ("in the drive, one request per track", least, "", ""),
                ("external", 300, "3.1", "2.9-3.0"), ("external", 400, "3.1", "")):
            name = "%s, conservatism %d us, %s" % (side, us, ATLAS)
            line = command(cells[side, us])
            rows += [Row("whole scan, " + name, free(got[side, us]), "MB/s", paper, reference,
                         line),
                     Row("fresh map, " + name, first(got[side, us]), "MB/s", "",
                         "9.6" if (side, us) == ("in the drive", least) else "", line)]
        return rows + self.share_rows(got, least)

    @staticmethod
    def share_rows(got, least):
        """What is lost, and to what."""
        best = got["in the drive", least]
        rows = []
        for what, value in (("whole scan", free), ("fresh map", first)):
            mine = value(got["external", 300])
            rows += [
                Row("external, 300 us, of in the drive, %s" % what, 100 * mine / value(best), "%",
                    "65", "66" if value is free else ""),
                Row("lost by conservatism of 300 us in the drive, %s" % what,
                    below(value(got["in the drive", 300]), value(best)), "%", "about 17"),
                Row("lost by one request per track, in the drive at 300 us, %s" % what,
                    below(value(got["in the drive, one request per track", 300]),
                          value(got["in the drive", 300])), "%", "about 17"),
                Row("in the drive, one request per track, above external at 300 us, %s" % what,
                    -below(value(got["in the drive, one request per track", 300]), mine), "%",
                    "2-3")]
        return rows

    def pictures(self, got):
        """Whole scan and fresh map."""
        yield ATLAS, [{"title": title, "x": "conservatism, ms", "y": "MB/s",
                       "lines": {side: [(us / 1000, value(r)) for (s, us), r in got.items()
                                        if s == side] for side in SIDES}}
                      for title, value in (("whole scan", free), ("fresh map", first))]


class Scans(Figure):
    """Whole scans by tenth."""

    name = "scans"
    title = "Whole scans: speed by tenth, scans per day"

    def cells(self, effort):
        """Each drive, think time and kind of scan."""
        cells = {}
        for drive, thinks in THINKS.items():
            for think in thinks:
                load = {"drive": drive, "policy": "sptf-sw", "think_ms": str(think)}
                cells[drive, think, "alone"] = {**load, "requests": str(effort.alone)}
                for name, settings in SCANS.items():
                    cells[drive, think, name] = {**load, "task": "scan", **settings, "whole": "1"}
        return cells

    def rows(self, got, cells):
        """Speed, scans a day, slowdown, and where the time goes."""
        rows = []
        for key, r in got.items():
            drive, think, name = key
            if name == "alone":
                continue
            line = command(cells[key], "--baseline")
            where = "%s, %s, think %d ms" % (name, drive, think)
            paper = name == "paper's limits, 300 us" and drive == ATLAS
            inside = name == "in the drive" and drive == ATLAS
            rows += [
                Row("whole scan, " + where, free(r), "MB/s", "3.1" if paper else "", "", line),
                Row("whole scans per day, " + where, r["scans_per_day"], "1/day",
                    "37" if paper else "over 47" if inside else "", "", line),
                Row("time for the last tenth, whole scan, " + where,
                    100 * last_tenth(r), "%", "", "50" if paper else "", line)]
            if not name.startswith("in the drive"):
                rows.append(Row("slowdown by a whole scan, " + where,
                                below(rate(r), rate(got[drive, think, "alone"])), "%",
                                command=line))
        return rows

    def pictures(self, got):
        """By tenth."""
        for drive, thinks in THINKS.items():
            yield drive, [{
                "title": "%s, think time %d ms" % (drive, think),
                "x": "tenth of the scan", "y": "MB/s",
                "lines": {name: list(enumerate(got[drive, think, name]["mb_s_by_tenth"], 1))
                          for name in SCANS},
            } for think in thinks]


class Nearline(Figure):
    """The whole scan of a large drive: one run, half an hour and more."""

    name = "nearline"
    title = "Nearline: the whole scan of 16 TB beside 10 outstanding"

    def cells(self, effort):
        """All limits lifted."""
        load = {"drive": NEARLINE, "policy": "sptf-sw"}
        return {("alone",): {**load, "requests": str(effort.alone)},
                ("lifted",): {**load, "task": "scan", "conservatism_us": "auto", **WEIGHED,
                              "balance_s": "60", "whole": "1"}}

    def rows(self, got, cells):
        """How long it takes."""
        r, line = got["lifted",], command(cells["lifted",], "--baseline")
        return [Row("days of a whole scan, limits lifted, %s" % NEARLINE, r["scan_s"] / 86400, "d",
                    "", "7.5 external, 6.0 lifted, 5.0 in-firmware", line, None, 6.0, "5.5"),
                Row("whole scan, limits lifted, %s" % NEARLINE, free(r), "MB/s", command=line),
                Row("time for the last tenth, whole scan, limits lifted, %s" % NEARLINE,
                    100 * last_tenth(r), "%", command=line),
                Row("slowdown by a whole scan, limits lifted, %s" % NEARLINE,
                    below(rate(r), rate(got["alone",])), "%", command=line)]
