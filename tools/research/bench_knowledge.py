# SPDX-License-Identifier: GPL-2.0
"""What idle reads bring and cost by what is known of the drive: nothing, rates, or its map.

The settings are the module's own defaults, so that with a map reads in gaps count, too, where the
policy orders. What a request waits is held against the same foreground without a scan, which the
drive orders by itself in both.
"""

from .bench_figures import NEARLINE
from .bench_loads import more
from .bench_rows import Row
from .bench_run import command

LEVELS = ("none", "rates", "map")
SECONDS = 300
SEEDS = 3
CACHED = "nearline16-wc"
STREAMS = {"locality": "streams:4"}
FLUSHES = {"size": "4k/40:16k/30:64k/30", "fsync": "0.5"}
WRITES_P99 = 2                  # their 99 % beside flushes, per cent longer at most


def held(delay_ms):
    """A drive that holds writes back for so long."""
    return {"drive": CACHED, "set": "destage_delay_ns %d" % (delay_ms * 1000000)}


# (drive, load): settings, arrivals a second, what was asked without a map: MB/s at least, reads'
# mean and p99 at most, per cent. Bounds of the means are those of issue and lab, with nothing added
CELLS = {
    (CACHED, "24"): ({}, 24, 98, 4, 5),
    (CACHED, "48"): ({}, 48, 52, 4, 5),
    (CACHED, "79"): ({}, 79, 14, 4, 5),
    (CACHED, "streams-24"): (STREAMS, 24, 85, 10, None),
    (CACHED, "streams-48"): (STREAMS, 48, 45, 10, None),
    (CACHED, "streams-79"): (STREAMS, 79, 18, 10, None),
    (CACHED, "verify-24"): ({"idle_command": "verify"}, 24, 45, None, None),
    (CACHED, "bursts-24"): ({"burst": "8"}, 24, None, None, None),
    (CACHED, "sparse-24"): ({"start": "random:0.9"}, 24, None, None, None),
    ("nearline16-wc-50ms", "24"): (held(50), 24, 90, 4, 5),
    ("nearline16-wc-50ms", "48"): (held(50), 48, 33, 4, 5),
    ("nearline16-wc-500ms", "24"): (held(500), 24, 90, 4, 5),
    ("nearline16-wc-500ms", "48"): (held(500), 48, 33, 4, 5),
    ("nearline16-wc-5s", "24"): (held(5000), 24, 90, 4, 20),
    ("nearline16-wc-5s", "48"): (held(5000), 48, 33, 4, 20),
    (NEARLINE, "24"): ({}, 24, 104, 4, 5),
    (NEARLINE, "48"): ({}, 48, 58, 4, 5),
    (NEARLINE, "79"): ({}, 79, 18, 4, 5),
    (NEARLINE, "flushes-24"): (FLUSHES, 24, None, None, None),
    (NEARLINE, "flushes-48"): (FLUSHES, 48, None, None, None),
    (NEARLINE, "flushes-79"): (FLUSHES, 79, None, None, None),
    ("archive8", "12"): ({}, 12, None, None, None),
    ("archive8", "24"): ({}, 24, None, None, None),
    ("archive8", "40"): ({}, 40, None, None, None),
    ("x300", "24"): ({}, 24, None, None, None),
    ("x300", "48"): ({}, 48, None, None, None),
    ("x300", "79"): ({}, 79, None, None, None),
}
# What only a scan has: the run without one does not know them
OF_SCAN = ("idle_command", "start")


class Knowledge:
    """Free bandwidth and what it costs, by level of knowledge."""

    name = "knowledge"
    title = "Idle reads by what is known of the drive"

    def cells(self, _):
        """Each drive, load, level and seed; the level None is the foreground alone."""
        cells = {}
        for (drive, load), (settings, rate, *_) in CELLS.items():
            for seed in map(str, range(401, 401 + SEEDS)):
                cell = {"preset": "module", "drive": drive, "rate": str(rate), "seed": seed,
                        "seconds": str(SECONDS), **settings}
                cells[drive, load, None, seed] = {name: value for name, value in cell.items()
                                                  if name not in OF_SCAN}
                for level in LEVELS:
                    cells[drive, load, level, seed] = {**cell, "task": "scan", "knowledge": level}
        return cells

    def rows(self, got, cells):
        """Means over the seeds."""
        rows = []
        for drive, load in CELLS:
            runs = {level: [r for key, r in got.items() if key[:3] == (drive, load, level)]
                    for level in (None, *LEVELS)}
            for level in LEVELS:
                typed = next(command(c) for key, c in cells.items()
                             if key[:3] == (drive, load, level))
                rows += self.level_rows((drive, load), level, runs[level], runs[None], typed)
        return rows

    @staticmethod
    def level_rows(cell, level, scan, alone, typed):
        """The figures of one drive at one load and level."""
        free, mean, p99 = CELLS[cell][2:] if level != "map" else (None, None, None)
        writes = WRITES_P99 if CELLS[cell][0] is FLUSHES and level != "map" else None
        figures = (
            ("free_mb_s", sum(r["free_mb_s"] for r in scan) / len(scan), "MB/s", free, None),
            ("read_mean_pct", more("read_ms", "mean", scan, alone), "%", None, mean),
            ("read_p99_pct", more("read_ms", "p99", scan, alone), "%", None, p99),
            ("write_mean_pct", more("write_ms", "mean", scan, alone), "%", None, None),
            ("write_p99_pct", more("write_ms", "p99", scan, alone), "%", None, writes))
        return [Row("knowledge %s %s %s %s" % (*cell, level, name), value, unit, command=typed,
                    least=least, most=most) for name, value, unit, least, most in figures]

    @staticmethod
    def pictures(_):
        """None."""
        return ()
