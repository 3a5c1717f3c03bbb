# SPDX-License-Identifier: GPL-2.0
"""pictures: the documents' pictures, drawn from a model and from runs of the simulator.

A picture is an SVG of panels, each with axes, lines and a legend; its description names the runs.
"""

import math
import os
import statistics

from freeblock import sim
from freeblock.base import safe_file
from freeblock.base.helpers import TOP
from freeblock.formats import fbmodel

FOLDER = os.path.join("Documentation", "pictures")
WIDTH, HEIGHT, MARGIN, GAP = 250, 170, 46, 70
COLOURS = ("#1f77b4", "#d62728", "#7f7f7f", "#2ca02c")
TICKS = 5
MODEL = os.path.join("models", "nearline16.fbmodel")
TRACKS = 40                     # whose starts are drawn
# What reads a disk, and what it is read beside
DRIVE, RATES, SECONDS, SEEDS = "nearline16-wc", range(8, 81, 8), 300, (1, 2, 3)
READERS = {"scan, no model": {"knowledge": "none"}, "scan": {}, "scrub": {"idle_command": "verify"}}


def _nice(least, most):
    """Round values between two, about TICKS of them."""
    step = next(step for step in (mantissa * 10 ** power for power in range(-6, 10)
                                  for mantissa in (1, 2, 5)) if (most - least) / step <= TICKS)
    return [step * n for n in range(math.ceil(least / step), int(most / step + 1e-9) + 1)]


class _Panel:
    """Axes over the points of some lines, at a place of the picture."""

    def __init__(self, left, plot):
        points = [point for line in plot["lines"] for point in line["points"]]
        self.left, self.plot = left, plot
        self.xs = min(0, *(x for x, _ in points)), max(x for x, _ in points)
        self.ys = min(0, *(y for _, y in points)), max(y for _, y in points) * 1.25

    def place(self, x, y):
        """Of a point."""
        return (self.left + WIDTH * (x - self.xs[0]) / (self.xs[1] - self.xs[0]),
                MARGIN + HEIGHT * (self.ys[1] - y) / (self.ys[1] - self.ys[0]))

    def axes(self):
        """Frame, ticks, names."""
        bottom = MARGIN + HEIGHT
        yield '<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#000"/>' % (
            self.left, MARGIN, WIDTH, HEIGHT)
        for tick in _nice(*self.xs):
            yield '<text x="%.1f" y="%d" text-anchor="middle">%g</text>' % (
                self.place(tick, 0)[0], bottom + 14, tick)
        for tick in _nice(*self.ys):
            y = self.place(self.xs[0], tick)[1]
            yield '<path d="M%d %.1fh%d" stroke="#ddd"/>' % (self.left, y, WIDTH)
            yield '<text x="%d" y="%.1f" text-anchor="end">%g</text>' % (self.left - 4, y + 4, tick)
        yield '<text x="%d" y="%d" text-anchor="middle">%s</text>' % (
            self.left + WIDTH // 2, bottom + 30, self.plot["x"])
        yield '<text x="%d" y="%d">%s</text>' % (self.left - 30, MARGIN - 8, self.plot["y"])

    def lines(self):
        """Lines or points, and their legend."""
        for number, line in enumerate(self.plot["lines"]):
            colour = COLOURS[number % len(COLOURS)]
            places = ["%.1f,%.1f" % self.place(x, y) for x, y in line["points"]]
            if line.get("dots"):
                yield "".join('<circle cx="%s" cy="%s" r="2" fill="%s"/>' % (
                    *place.split(","), colour) for place in places)
            else:
                yield '<polyline points="%s" fill="none" stroke="%s"/>' % (" ".join(places), colour)
            for (x, y), error in zip(line["points"], line.get("errors", ())):
                yield '<path d="M%.1f %.1fV%.1f" stroke="%s"/>' % (
                    *self.place(x, y - error), self.place(x, y + error)[1], colour)
            if line.get("label"):
                yield '<text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>' % (
                    self.left + WIDTH - 6, MARGIN + 16 + 14 * number, colour, line["label"])


def svg(about, plots):
    """A picture of panels side by side. plots: [{x, y, lines: [{points, label, errors, dots}]}]"""
    panels = [_Panel(MARGIN + number * (WIDTH + GAP), plot) for number, plot in enumerate(plots)]
    head = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
            'font-size="11">' % (MARGIN + len(plots) * (WIDTH + GAP), 2 * MARGIN + HEIGHT))
    return "\n".join([head, "<desc>%s</desc>" % about, '<rect width="100%" height="100%" '
                      'fill="#fff"/>'] + [text for panel in panels
                                          for text in (*panel.axes(), *panel.lines())] +
                     ["</svg>", ""])


def _starts(model):
    """(track, angle at which its first sector passes) of the first tracks."""
    zone, heads = model.zones[0], model.number("heads")
    for track in range(TRACKS):
        cylinder, head = divmod(track, heads)
        yield track, float((zone.angle + (track - cylinder) * zone.track_skew +
                            cylinder * zone.cyl_skew) % 1)


def _lengths(model):
    """(TB, sectors per track) over the disk."""
    heads, at = model.number("heads"), 0
    for zone in model.zones:
        yield at * 512 / 1e12, zone.spt
        at += (zone.last - zone.first + 1) * heads * zone.spt - zone.spares - zone.dead
        yield at * 512 / 1e12, zone.spt


def draw_map():
    """What a model has of a drive."""
    model = fbmodel.Model.of_file(os.path.join(TOP, MODEL))
    return svg(MODEL, [
        {"x": "track, in the order of the LBNs", "y": "angle of its first sector, turns",
         "lines": [{"points": list(_starts(model)), "dots": True}]},
        {"x": "place on the disk, TB", "y": "sectors of 512 bytes in a track",
         "lines": [{"points": list(_lengths(model))}]},
        {"x": "distance, thousand cylinders", "y": "time of a seek, ms",
         "lines": [{"points": [(cylinders / 1e3, ns / 1e6)
                               for cylinders, ns in model.seeks()]}]}])


def _runs(**more):
    """Results of all rates and seeds: {rate: [one of each seed]}."""
    jobs = [sim.complete(list({"preset": "module", "drive": DRIVE, "rate": rate, "seed": seed,
                               "seconds": SECONDS, **more}.items()))
            for rate in RATES for seed in SEEDS]
    found = sim.run_jobs(jobs)
    return {rate: found[n * len(SEEDS):(n + 1) * len(SEEDS)] for n, rate in enumerate(RATES)}


def draw_load():
    """How fast a disk is read, and what a read of others takes longer, by its load."""
    alone = _runs(task="none")
    speeds, costs = [], []
    for label, more in READERS.items():
        speed, cost, errors = [], [], []
        for rate, said in _runs(task="scan", **more).items():
            added = [one["read_ms"]["mean"] - other["read_ms"]["mean"]
                     for one, other in zip(said, alone[rate])]
            speed.append((rate, statistics.mean(one["free_mb_s"] for one in said)))
            cost.append((rate, statistics.mean(added)))
            errors.append(statistics.stdev(added) / math.sqrt(len(added)))
        speeds.append({"points": speed, "label": label})
        costs.append({"points": cost, "label": label, "errors": errors})
    return svg("tools/freeblock sim --preset module --drive %s --rate %s --seconds %d --seed %s "
               "--task none,scan; --knowledge none; --idle-command verify" % (
                   DRIVE, ",".join(map(str, RATES)), SECONDS, ",".join(map(str, SEEDS))), [
        {"x": "requests/s of others", "y": "background reads, MB/s", "lines": speeds},
        {"x": "requests/s of others", "y": "added to their reads, ms", "lines": costs}])


PICTURES = {"map": draw_map, "load": draw_load}


def add_parser(subparsers):
    """Add `pictures`."""
    parser = subparsers.add_parser(
        "pictures", help="draw the documents' pictures", description="Draw the pictures of the "
        "documents from a model and from runs of the simulator, into Documentation/pictures. Takes "
        "two minutes.")
    parser.add_argument("name", nargs="*", choices=[[], *PICTURES], metavar="NAME",
                        help="of a picture: %s (all)" % ", ".join(PICTURES))
    parser.set_defaults(run=run)


def run(args):
    """The subcommand."""
    os.makedirs(os.path.join(TOP, FOLDER), exist_ok=True)
    for name in args.name or PICTURES:
        path = os.path.join(FOLDER, name + ".svg")
        with safe_file.whole_file(os.path.join(TOP, path)) as file:
            file.write(PICTURES[name]().encode())
        print(path)
    return 0
