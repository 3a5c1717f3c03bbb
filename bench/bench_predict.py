# SPDX-License-Identifier: GPL-2.0
"""Figure 7 of the paper: how far completions are from their predictions.

A report's error is counted in buckets of 10 us (sim.rst). Small files on ext4
need a kernel: tests/lab/b-ext4.sh.
"""

from .bench_figures import ATLAS, CHEETAH, NEARLINE
from .bench_rows import Figure, Row
from .bench_run import command

BUCKET_US = 10
OUTERMOST = 100     # buckets beyond a millisecond are one on either side
# name, settings, what the paper says: (within 50 us, within 150 us, a turn late, early)
LOADS = {
    ATLAS: (("4 KiB", {"size": "4k"}, ("97.5", "", "1.8", "0.7")),
            ("40 KiB", {"size": "40k"}, ("", "75", "", "")),
            ("4 KiB within 50 cylinders", {"size": "4k", "locality": "cylinders:50"},
             ("as well", "", "", ""))),
    CHEETAH: (("4 KiB", {"size": "4k"}, ("99.3", "", "0.7 both", "")),
              ("40 KiB", {"size": "40k"}, ("", "", "", "")),
              ("4 KiB within 50 cylinders", {"size": "4k", "locality": "cylinders:50"},
               ("as well", "", "", ""))),
    NEARLINE: (("4 KiB", {"size": "4k"}, ("", "", "", "")),
               ("40 KiB", {"size": "40k"}, ("", "", "", "")),
               ("4 KiB within 50 cylinders", {"size": "4k", "locality": "cylinders:50"},
                ("", "", "", ""))),
}


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
    """Prediction errors."""

    name = "7"
    title = "Figure 7: errors of predicted completions"

    def cells(self, effort):
        """Each drive and kind of request."""
        return {(drive, name): {"drive": drive, **settings, "requests": str(effort.requests)}
                for drive, loads in LOADS.items() for name, settings, _ in loads}

    def rows(self, got, cells):
        """The paper's shares."""
        rows = []
        for drive, loads in LOADS.items():
            for name, _, paper in loads:
                r, line = got[drive, name], command(cells[drive, name], "--json")
                rows += [Row("%s, %s, %s" % (what, name, drive), value, "%", said, "", line)
                         for what, value, said in (
                             ("reports within 50 us", 100 * r["reports_within_50us"], paper[0]),
                             ("reports within 150 us", within(r, 150), paper[1]),
                             ("a turn later than predicted", 100 * r["turn_late"], paper[2]),
                             ("a turn earlier than predicted", 100 * r["turn_early"], paper[3]))]
        return rows

    def pictures(self, got):
        """Densities; those beyond a millisecond are not drawn."""
        yield "all", [{"title": drive, "x": "reported - predicted, us",
                       "y": "share of requests per 10 us", "steps": True, "log": True,
                       "lines": {name: density(got[drive, name]) for name, _, _ in loads}}
                      for drive, loads in LOADS.items()]
