# SPDX-License-Identifier: GPL-2.0
"""makes: drives of one make, what is common to them, and what each has of its own.

Drives are drawn about one description: each differs from it by its tolerances. The true model of
the description is tried on each, as freeblock setup tries models of other drives: as it is, and
with the drive's own period; and, to see what a deviation costs, on drives that differ in one thing
only.
"""

import json
import os
import random
import re
import sys
import tempfile

from freeblock import ToolError, need_range
from freeblock.hosts import TOP

# relative standard deviations; defects: of each zone's spares, the share that is used
PERIOD, SEEK, OVERHEAD, SKEW = 2e-4, 0.02, 0.05, 2e-4
KINDS = {"period": ("period",), "seeks": ("seek",), "overheads": ("overhead",),
         "skews": ("skew",), "defects": ("defects",),
         "all": ("period", "seek", "overhead", "defects"),
         "all, skews": ("period", "seek", "overhead", "defects", "skew")}


def _factor(rng, sigma):
    """Within three of them."""
    return 1 + sigma * max(-3, min(3, rng.gauss(0, 1)))


def _decimal(word):
    """A number of the text: a fraction, or a decimal."""
    above, _, below = word.partition("/")
    return float(above) / float(below or 1)


def _defects(rng, number, zone, heads):
    """Slips and remaps of a zone, of a tenth of its spares at most."""
    words = zone.split()
    first, last, spt, spares = int(words[1]), int(words[2]), int(words[3]), int(words[7])
    data = (last - first + 1) * heads * spt - spares
    slips = sorted(rng.sample(range(data), rng.randrange(spares // 10 + 1)))
    remaps = rng.sample(range(spares // 2), rng.randrange(spares // 20 + 1))
    lines = ["slip %d %s" % (number, " ".join(map(str, slips)))] if slips else []
    taken = set(slips)
    for at, block in zip(remaps, sorted(rng.sample(range(data), len(remaps)))):
        if block not in taken:
            lines.append("remap %d %d %d" % (number, block, data + spares // 2 + at))
    return lines


def drawn(text, seed, what):
    """The description of a drive of this make that differs in these things."""
    rng, lines, zones = random.Random(seed), [], []
    seek, overhead = _factor(rng, SEEK), _factor(rng, OVERHEAD)
    for line in text.splitlines():
        words = line.split()
        word = words[0] if words else ""
        if word == "zone":
            zones.append(line)
            if "skew" in what:
                words[5:7] = ["%.12f" % (_decimal(value) * _factor(rng, SKEW))
                              for value in words[5:7]]
        if word == "serial":
            words[1] = "MAKE%05d" % seed
        elif word == "seed":
            words[1] = str(seed)
        elif word == "period_ps" and "period" in what:
            words[1] = "%d" % (int(words[1]) * _factor(rng, PERIOD))
        elif word in ("seek", "write_seek") and "seek" in what:
            words[2] = "%d" % (int(words[2]) * seek)
        elif re.fullmatch(r"\w*overhead_ns|head_switch_ns", word) and "overhead" in what:
            words[1:] = ["%d" % (int(value) * overhead) for value in words[1:]]
        elif word in ("slip", "remap") and "defects" in what:
            continue
        lines.append(" ".join(words))
    if "defects" in what:
        heads = int(re.search(r"^heads (\d+)", text, re.M).group(1))
        for number, zone in enumerate(zones):
            lines += _defects(rng, number, zone, heads)
    return "\n".join(lines) + "\n"


def tried(path, model):
    """How the model does on this drive: as it is, and with the drive's period."""
    from freeblock.extraction import shared, validate    # pylint: disable=import-outside-toplevel
    from freeblock.extraction.device import Device       # pylint: disable=import-outside-toplevel
    from freeblock.extraction.phase import Phase         # pylint: disable=import-outside-toplevel
    with Device.simulated(path) as dev, tempfile.NamedTemporaryFile(suffix=".fbmodel") as draft:
        phase, found = Phase.measure(dev), {}
        for name, period in (("as_is", model.number("period_ps")),
                             ("own_period", round(phase.period_ns * 1000))):
            draft.seek(0)
            draft.truncate()
            draft.write(shared.adapted(model, dev.inquiry, period))
            draft.flush()
            verdict = validate.validate(dev, draft.name, seed=shared.SEED)
            found[name] = {"within_50us_pct": verdict.total.within_50us_pct,
                           "misses_pct": verdict.total.misses_pct,
                           "trusted": not verdict.reason, "fits": shared.fits(verdict)}
        return found


def spread(values):
    """(least, mean, most)"""
    return [round(value, 2) for value in (min(values), sum(values) / len(values), max(values))]


def row(name, drives):
    """What is told of one kind."""
    found = {"differs": name, "drives": len(drives)}
    for way in ("as_is", "own_period"):
        found[way] = {"within_50us_pct": spread([one[way]["within_50us_pct"] for one in drives]),
                      "misses_pct": spread([one[way]["misses_pct"] for one in drives]),
                      "trusted": sum(one[way]["trusted"] for one in drives),
                      "fits": sum(one[way]["fits"] for one in drives)}
    return found


def add_parser(subparsers):
    """Add `makes`."""
    parser = subparsers.add_parser(
        "makes", help="how far the model of one drive fits others of its make", description=__doc__)
    parser.add_argument("--drive", default="toy", metavar="NAME", help="whose make (%(default)s)")
    parser.add_argument("--drives", type=int, default=60, metavar="N",
                        help="of those that differ in all (%(default)s); of others a sixth")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first (1)")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.set_defaults(run=run)


def run(args):
    """Draw, try, print."""
    from freeblock.extraction import store               # pylint: disable=import-outside-toplevel
    need_range("--drives", args.drives, 6)
    need_range("--seed", args.seed, 0)
    path = os.path.join(TOP, "tools", "mechdisk", "drives", args.drive + ".fbdrive")
    if not os.path.exists(path):
        raise ToolError("%s: no such file: --drive names one of that folder" % path)
    with open(path, encoding="ascii") as file:
        text = file.read()
    model, rows = store.Model.of_file(os.path.join(TOP, "models", args.drive + ".fbmodel")), []
    with tempfile.TemporaryDirectory() as folder:
        for name, what in KINDS.items():
            drives = []
            for number in range(args.drives if name == "all" else args.drives // 6):
                path = os.path.join(folder, "drawn.fbdrive")
                with open(path, "w", encoding="ascii") as file:
                    file.write(drawn(text, args.seed + number, what))
                drives.append(tried(path, model))
            rows.append(row(name, drives))
            if not args.json:
                show(rows[-1])
    if args.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
    return 0


def show(one):
    """For people."""
    words = ["%s: within 50 us %.1f %% (%.1f to %.1f), %d of %d fit" % (
        way.replace("_", " "), one[way]["within_50us_pct"][1], one[way]["within_50us_pct"][0],
        one[way]["within_50us_pct"][2], one[way]["fits"], one["drives"])
             for way in ("as_is", "own_period")]
    print("%-12s %s" % (one["differs"], "; ".join(words)), flush=True)
