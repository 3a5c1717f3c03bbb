# SPDX-License-Identifier: GPL-2.0
"""Requests chosen together with their free reads."""

from freeblock import sim, truth
from .bench_figures import ATLAS, CHEETAH, NEARLINE, WEIGHED, free, rate
from .bench_limits import IN_DRIVE, last_tenth
from .bench_rows import Row
from .bench_run import command

SEEDS = (1, 2, 3)
# A price of 3.5 gaps a turn leaves as many requests/s as SPTF-SW60 has
SETTINGS = {"sw60-rate": {"conservatism_us": "auto", **WEIGHED, "joint_price": "3.5"},
            "sptf-1pct": {"conservatism_us": "auto", **WEIGHED, "foreground_cost_ppm": "10000"},
            "in-drive": {**IN_DRIVE, **WEIGHED, "hop_steps": "20", "conservatism_us": "0",
                         "joint_price": "3.5"},
            "open-110": {"conservatism_us": "auto", **WEIGHED, "rate": "110"}}
FIGURES = {"free_mb_s": ("MB/s", free),
           "requests_s": ("1/s", rate),
           "p99_ms": ("ms", lambda r: r["response_ms"]["p99"]),
           "last_tenth_pct": ("%", lambda r: 100 * last_tenth(r))}
# A scan's course: how fast it is with such a share read already, anywhere on the disk; one for each
# tenth, in its middle. Seconds of a run: few blocks of a drive are read in it.
COURSE = ["%.2f" % (tenth / 10 + .05) for tenth in range(10)]
COURSE_S = {ATLAS: 30, NEARLINE: 300}
DAY_S = 86400
# What was asked, of the Atlas 10K
LEAST = {("sw60-rate", "free_mb_s"): 4.3, ("sptf-1pct", "free_mb_s"): 3.3,
         ("open-110", "free_mb_s"): 4.7}


class Joint:
    """Each drive and setting, the mean of three seeds; of one in short."""

    name = "joint"
    title = "Requests chosen together with their free reads: whole scans"

    def cells(self, effort):
        """A large drive's scan is not ended, and it keeps up with no 110 requests/s."""
        cells = {}
        for drive in (ATLAS, CHEETAH, NEARLINE):
            end = {"seconds": str(effort.nearline_s)} if drive == NEARLINE else {"whole": "1"}
            for setting, words in SETTINGS.items():
                for seed in SEEDS[:1] if effort.seeds == 1 else SEEDS:
                    if (drive, setting) != (NEARLINE, "open-110"):
                        cells[drive, setting, seed] = {"drive": drive, "policy": "joint",
                                                       "task": "scan", **words, **end,
                                                       "seed": str(seed)}
        for drive, seconds in COURSE_S.items():
            for share in COURSE:
                cells[drive, "course", share] = {
                    "drive": drive, "policy": "joint", "task": "scan", **SETTINGS["sw60-rate"],
                    "start": "random:" + share, "seconds": str(seconds), "seed": "1"}
        return cells

    @staticmethod
    def days(got, cells):
        """How long a whole scan takes: added up from its course; and, of the Atlas, seen."""
        for drive in COURSE_S:
            runs = [got[drive, "course", share] for share in COURSE]
            tenth_mb = truth.sectors(sim.drive_file(drive)) * 512 / 1e7
            yield Row("joint %s sw60-rate days_from_course" % drive,
                      sum(tenth_mb / free(run) for run in runs) / DAY_S, "d",
                      command=command(cells[drive, "course", COURSE[0]]))
        whole = [run["scan_s"] for key, run in got.items() if key[:2] == (ATLAS, "sw60-rate")]
        yield Row("joint %s sw60-rate days_whole" % ATLAS, sum(whole) / len(whole) / DAY_S, "d",
                  command=command(cells[ATLAS, "sw60-rate", SEEDS[0]]))

    def rows(self, got, cells):
        """Means over the seeds; no last tenth where the scan was not ended."""
        rows = list(self.days(got, cells))
        for drive, setting in dict.fromkeys(key[:2] for key in got if key[1] in SETTINGS):
            results = [run for key, run in got.items() if key[:2] == (drive, setting)]
            for figure, (unit, value) in FIGURES.items():
                if figure == "last_tenth_pct" and drive == NEARLINE:
                    continue
                rows.append(Row("joint %s %s %s" % (drive, setting, figure),
                                sum(map(value, results)) / len(results), unit,
                                command=command(cells[drive, setting, SEEDS[0]]),
                                least=LEAST.get((setting, figure)) if drive == ATLAS else None))
        return rows

    @staticmethod
    def pictures(got):
        """By tenth, of the first seed."""
        for drive in (ATLAS, CHEETAH):
            yield drive, [{"x": "tenth of the scan", "y": "MB/s", "lines": {
                setting: list(enumerate(got[drive, setting, SEEDS[0]]["mb_s_by_tenth"], 1))
                for setting in SETTINGS}}]
