# SPDX-License-Identifier: GPL-2.0
"""Requests chosen together with their free reads."""

import itertools

from freeblock import sim
from freeblock.sim import truth
from .paper import ATLAS, CHEETAH, IN_DRIVE, NEARLINE, WEIGHED
from .summary import Figure, Row, below, first, free, last_tenth, rate
from .runs import command

SEEDS = (1, 2, 3)
SCAN = {"policy": "auto", "task": "scan", **WEIGHED}
LEARNT = {**SCAN, "conservatism_us": "auto"}
IN = {**SCAN, **IN_DRIVE, "hop_steps": "20", "conservatism_us": "0"}
# All but sptf-1pct and open-110 leave the Atlas as many requests/s as SPTF-SW60 has beside its own
# scan (sw60). In the drive, seeks that are corrected by what completions say are wrong by some us,
# and without a margin that loses turns; "exact" is who knows them as they are.
SETTINGS = {"sw60-rate": {**LEARNT, "foreground_cost_ppm": "70400"},
            "sptf-1pct": {**LEARNT, "foreground_cost_ppm": "10000"},
            "in-drive": {**IN, "joint_price": "3.05"},
            "in-drive-exact": {**IN, "joint_price": "2.55", "calibrate": "0"},
            "open-110": {**LEARNT, "rate": "110"},
            "sw60": {**LEARNT, "policy": "sptf-sw"}}
# Without a scan, for what it is compared with
ALONE = {"sptf": {"policy": "sptf"}, "sptf-110": {"policy": "sptf", "rate": "110"}}
OPEN = ("open-110", "sptf-110")
FIGURES = {"free_mb_s": ("MB/s", free),
           "fresh_mb_s": ("MB/s", first),
           "requests_s": ("1/s", rate),
           "p99_ms": ("ms", lambda r: r["response_ms"]["p99"]),
           "mean_ms": ("ms", lambda r: r["response_ms"]["mean"]),
           "last_tenth_pct": ("%", lambda r: 100 * last_tenth(r))}
# A scan's course: how fast it is with such a share read already, one for each tenth, in its middle.
# A scan leaves blocks that lie together, so it is faster than with as many taken at random, one by
# one; but it takes what is easy first, so it is slower than with as much taken in reads at random.
# Whole scans say how far between. Seconds of a run: few blocks are read in it.
COURSE = ["%.2f" % (tenth / 10 + .05) for tenth in range(10)]
COURSES = ("random", "course")
COURSE_S = {ATLAS: 30, CHEETAH: 30, NEARLINE: 300}
# The prices that leave as many requests/s as sw60-rate; in so short a run none would be found
COURSE_PRICE = {ATLAS: "3.5", CHEETAH: "3.5", NEARLINE: "2.9"}
DAY_S = 86400
# What was asked, of the Atlas 10K; under open load of a fresh map
LEAST = {("sw60-rate", "free_mb_s"): 4.4, ("sptf-1pct", "free_mb_s"): 3.4,
         ("open-110", "fresh_mb_s"): 5.4}
MOST_DAYS = 6


class Joint(Figure):
    """Each drive and setting, the mean of three seeds; of one in short."""

    name = "joint"
    title = "Requests chosen together with their free reads: whole scans"

    def cells(self, effort):
        """A large drive's scan is not ended, and it keeps up with no 110 requests/s."""
        cells = {}
        seeds = SEEDS[:1] if effort.seeds == 1 else SEEDS
        for drive in (ATLAS, CHEETAH, NEARLINE):
            end = {"seconds": str(effort.nearline_s)} if drive == NEARLINE else {"whole": "1"}
            ends = [(setting, {**words, **end}) for setting, words in SETTINGS.items()]
            ends += [(setting, {**words, "requests": str(3 * effort.requests)})
                     for setting, words in ALONE.items()]
            for (setting, words), seed in itertools.product(ends, seeds):
                if drive != NEARLINE or setting not in OPEN:
                    cells[drive, setting, seed] = {"drive": drive, **words, "seed": str(seed)}
        for (drive, seconds), kind, share in itertools.product(COURSE_S.items(), COURSES, COURSE):
            cells[drive, kind, share] = {
                "drive": drive, **LEARNT, "joint_price": COURSE_PRICE[drive],
                "start": "%s:%s" % (kind, share), "seconds": str(seconds), "seed": "1"}
        return cells

    @staticmethod
    def days(got, cells):
        """How long a whole scan takes: added up from either course; of the small drives, seen.

        Of the large one it is as far between its courses as on the Atlas. The Cheetah, reckoned
        so, says how right that is.
        """
        days, whole = {}, {}
        for drive, kind in itertools.product(COURSE_S, COURSES):
            tenth_mb = truth.sectors(sim.drive_file(drive)) * 512 / 1e7
            days[drive, kind] = sum(tenth_mb / free(got[drive, kind, share])
                                    for share in COURSE) / DAY_S
            yield Row("joint %s sw60-rate days_%s" % (drive, kind), days[drive, kind], "d",
                      command=command(cells[drive, kind, COURSE[0]]))
        for drive in (ATLAS, CHEETAH):
            runs = [run["scan_s"] for key, run in got.items() if key[:2] == (drive, "sw60-rate")]
            whole[drive] = sum(runs) / len(runs) / DAY_S
            yield Row("joint %s sw60-rate days_whole" % drive, whole[drive], "d",
                      command=command(cells[drive, "sw60-rate", SEEDS[0]]))
        part = ((whole[ATLAS] - days[ATLAS, "course"]) /
                (days[ATLAS, "random"] - days[ATLAS, "course"]))
        told = {drive: days[drive, "course"] +
                part * (days[drive, "random"] - days[drive, "course"]) for drive in COURSE_S}
        yield Row("joint %s sw60-rate days" % NEARLINE, told[NEARLINE], "d", most=MOST_DAYS)
        yield Row("joint %s sw60-rate days_off_pct" % CHEETAH,
                  100 * (told[CHEETAH] / whole[CHEETAH] - 1), "%", least=-15, most=15)

    @staticmethod
    def against(drive, means):
        """What is told against another setting."""
        asked = drive == ATLAS
        for setting, alone in (("sw60-rate", "sptf"), ("sptf-1pct", "sptf"), ("sw60", "sptf"),
                               ("open-110", "sptf-110")):
            if (setting, "p99_ms") not in means:
                continue
            yield Row("joint %s %s p99_pct" % (drive, setting),
                      -below(means[setting, "p99_ms"], means[alone, "p99_ms"]), "%",
                      most=-8 if asked and setting == "sptf-1pct" else None)
            if alone == "sptf":
                yield Row("joint %s %s cost_pct" % (drive, setting),
                          below(means[setting, "requests_s"], means[alone, "requests_s"]), "%")
            else:
                yield Row("joint %s %s mean_pct" % (drive, setting),
                          -below(means[setting, "mean_ms"], means[alone, "mean_ms"]), "%")
        for setting in ("in-drive", "in-drive-exact"):
            yield Row("joint %s share_of_%s" % (drive, setting),
                      100 * means["sw60-rate", "free_mb_s"] / means[setting, "free_mb_s"], "%",
                      least=92 if asked and setting == "in-drive" else None)

    def rows(self, got, cells):
        """Means over the seeds; no last tenth where the scan was not ended."""
        rows = list(self.days(got, cells))
        for drive in (ATLAS, CHEETAH, NEARLINE):
            means = {}
            for setting in [*SETTINGS, *ALONE]:
                runs = [run for key, run in got.items() if key[:2] == (drive, setting)]
                for figure, (unit, value) in FIGURES.items():
                    if not runs or figure in self.missing(drive, setting):
                        continue
                    means[setting, figure] = sum(map(value, runs)) / len(runs)
                    rows.append(Row("joint %s %s %s" % (drive, setting, figure),
                                    means[setting, figure], unit,
                                    command=command(cells[drive, setting, SEEDS[0]]),
                                    least=LEAST.get((setting, figure)) if drive == ATLAS else None))
            rows += self.against(drive, means)
        return rows

    @staticmethod
    def missing(drive, setting):
        """Figures that such a run does not have."""
        if setting in ALONE:
            return ("free_mb_s", "fresh_mb_s", "last_tenth_pct")
        return ("last_tenth_pct", "fresh_mb_s") if drive == NEARLINE else ()
