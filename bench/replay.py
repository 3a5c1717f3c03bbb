# SPDX-License-Identifier: GPL-2.0
"""Replay a trace of a real drive on the simulated one, in simulated time.

The simulated drive is tools/mechdisk's engine, run by the program in
tools/mechdisk/host, which is built when it is missing or older than its
sources. Request by request: wait as the trace says, submit, note the response.
"""

import cmath
import collections
import json
import math
import os
import subprocess

from freeblock import ToolError, UsageError, arrivals, hosts, openers
from freeblock.hosts import BUILD
from . import score, traces

HOST = os.path.join(BUILD, "mechdisk-host", "mechdisk-host")

# A read that takes less than a quarter turn was not waiting for the platter
# (the hit test of DIXtrac, CMU-CS-99-176).
MISS_TURNS = 0.25
# Beyond 2 cylinders the layouts known for real drives do not predict angles.
NEAR_CYLINDERS = 2
# A longer read may end when the bus has carried it, not when its last sector
# has passed.
SHORT_SECTORS = 16
# How clear the reading of the think time must be: the mean of 60 random unit
# vectors is longer than 0.4 once in 15,000 times (exp(-60 * 0.4^2)).
LEAST_PAIRS = 60
LEAST_CONCENTRATION = 0.4
LEAST_FACTOR = 2

# What the simulated drive makes of a record: response in ns, kind (read_miss
# and so on), sectors that came from the cache
Outcome = collections.namedtuple("Outcome", "response_ns kind held")


def build_host():
    """Bring the simulated drive's program up to date."""
    hosts.build("tools/mechdisk/host", "the simulated drive")


def run_host(subcommand, drive, options=(), lines=()):
    """What the host program prints."""
    ran = subprocess.run([HOST, subcommand, drive, *options], check=False, text=True,
                         input="".join(lines), capture_output=True)
    if ran.returncode:
        raise ToolError(ran.stderr.strip().replace("mechdisk-host: ", "", 1) or
                    "%s %s: status %d" % (HOST, subcommand, ran.returncode))
    return ran.stdout


def settings(lines):
    """Options that append lines to a drive's description."""
    return [word for line in lines for word in ("--set", line)]


def drive_info(drive):
    """Numbers of a drive: sectors, turn_ps and so on."""
    return json.loads(run_host("info", drive))


def simulate(drive, records, think):
    """The Outcome of each record on the simulated drive; `think` is "before" or
    "after"."""
    lines = ["%s %d %d %d\n" % (record.op, record.lbn, record.count, wait)
             for record, wait in zip(records, traces.waits(records, think))]
    printed = run_host("replay", drive, ["--details"], lines).splitlines()
    outcomes = []
    for line in printed:
        response, kind, held, _, _ = line.split()
        outcomes.append(Outcome(int(response), kind, int(held)))
    return outcomes


def responses(drive, records, think):
    """Response time of each record on the simulated drive, ns."""
    return [outcome.response_ns for outcome in simulate(drive, records, think)]


def short_misses(drive, records, turn_ns):
    """Whether each record is a short read that waited for the platter, by its
    measured response and in the simulated drive's view."""
    outcomes = simulate(drive, records, "after")
    return [record.count <= SHORT_SECTORS and record.response_ns > MISS_TURNS * turn_ns and
            outcome.kind == "read_miss" and not outcome.held
            for record, outcome in zip(records, outcomes)]


def near_pairs(misses, places):
    """Indices i where i and i + 1 both missed, a few cylinders apart in one zone.

    `places` are (zone, cylinder, ...) of each record."""
    return [i for i in range(len(misses) - 1)
            if misses[i] and misses[i + 1] and places[i][0] == places[i + 1][0] and
            abs(places[i][1] - places[i + 1][1]) <= NEAR_CYLINDERS]


def concentration(pairs, records, ends, think_ns, turn_ns):
    """How well time between completions agrees with the angle between ends.

    1: always the same difference; 0: no relation. `think_ns(i)` is the pause
    between records i and i + 1."""
    total = 0
    for i in pairs:
        elapsed = (think_ns(i) + records[i + 1].response_ns) / turn_ns
        total += cmath.exp(2j * math.pi * (elapsed - (ends[i + 1] - ends[i])))
    return abs(total) / len(pairs)


def locate(drive, lbns):
    """(zone, cylinder, angle of the sector's end in turns) of each LBN."""
    printed = run_host("locate", drive, lines=["%d\n" % lbn for lbn in lbns])
    places = [line.split() for line in printed.splitlines()]
    return [(int(zone), int(cylinder), float(angle) + 1 / int(spt))
            for _, zone, cylinder, _, _, spt, angle in places]


def find_think(drive, records):
    """Which reading of the think time the drive's rotation bears out.

    Between the completions of two reads that waited for the platter, it turns by
    the angle between their last sectors, give or take whole turns: with the right
    reading of the pause between them, the difference is the same for all pairs.

    Returns "before", "after" or None, and the evidence: number of pairs and
    each reading's concentration."""
    turn_ns = drive_info(drive)["turn_ps"] / 1000
    places = locate(drive, [record.lbn + record.count - 1 for record in records])
    pairs = near_pairs(short_misses(drive, records, turn_ns), places)
    evidence = {"pairs": len(pairs)}
    if len(pairs) < LEAST_PAIRS:
        return None, evidence
    ends = [place[2] for place in places]
    for name, shift in (("before", 1), ("after", 0)):
        evidence[name] = concentration(pairs, records, ends,
                                       lambda i, s=shift: records[i + s].think_ns, turn_ns)
    found, other = sorted(("before", "after"), key=evidence.get, reverse=True)
    if evidence[found] < LEAST_CONCENTRATION or \
       evidence[found] < LEAST_FACTOR * evidence[other]:
        return None, evidence
    return found, evidence


def explain(found, evidence):
    """The evidence of find_think() in words."""
    if "before" not in evidence:
        return "think time: undetermined, %d pairs of near reads are too few" % evidence["pairs"]
    return "think time: %s (concentration %.2f before, %.2f after, %d pairs)" % (
        found or "undetermined", evidence["before"], evidence["after"], evidence["pairs"])


def spare(output, inputs):
    """Error if a file would be written over what it is made from."""
    if any(os.path.realpath(output) == os.path.realpath(other) for other in inputs):
        raise ToolError("%s: would be written over, but is read" % output)


def replace_all(outputs):
    """Write files [(path, data)], each whole or not at all."""
    for path, data in outputs:
        with openers.whole_file(path) as file:
            file.write(data)


def csv_text(records, predicted_ns):
    """One row per record."""
    rows = ["i,rw,lbn,size,measured_ms,simulated_ms"]
    rows += ["%d,%s,%d,%d,%.6f,%.6f" % (i, record.op, record.lbn, record.count,
                                        record.response_ns / 1e6, ns / 1e6)
             for i, (record, ns) in enumerate(zip(records, predicted_ns))]
    return "\n".join(rows) + "\n"


def score_trace(drive, trace, think, out=None, device=None, unit=None):
    """Replay a trace file and compare; figures by name.

    `think` may also be "auto"; device and unit are for the formats of others, whose pauses are
    before their requests."""
    if out:
        spare(out, [drive, trace])
    build_host()
    records = traces.of_others(trace, device, unit)
    if records:
        think = "before"
    elif not think:
        raise UsageError("--think before, after or auto: %s does not say it" % trace)
    else:
        records = traces.read(trace)
    traces.check_capacity(trace, records, drive_info(drive)["sectors"])
    figures = {}
    if think == "auto":
        think, figures["think_evidence"] = find_think(drive, records)
        if not think:
            raise ToolError("%s: %s: give --think before or after" %
                        (trace, explain(think, figures["think_evidence"])))
    predicted = responses(drive, records, think)
    if out:
        replace_all([(out, csv_text(records, predicted).encode("ascii"))])
    figures["think"] = think
    figures.update(score.compare([record.response_ns for record in records], predicted))
    return figures


def add_parser(subparsers):
    """Add `replay`."""
    parser = subparsers.add_parser(
        "replay", help="replay a real drive's trace on the simulated drive",
        description="Replay a trace of a real drive on its simulated likeness and say how far "
        "the response times are apart: the demerit figure (distributions) and paired errors.")
    parser.add_argument("--drive", required=True, metavar="FILE",
                        help="description of the simulated drive (.fbdrive)")
    parser.add_argument("--measured", required=True, metavar="FILE",
                        help="R|W LABEL LBN SECTORS RESPONSE_US THINK_US, one request per line; "
                        "or another trace with response times: " + arrivals.FORMATS)
    arrivals.add_options(parser)
    parser.add_argument("--think", choices=("before", "after", "auto"),
                        help="whether THINK_US passes before or after the request that it "
                        "stands beside; auto: what the drive's rotation bears out")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("-o", "--output", metavar="CSV",
                        help="write each request's response times there")
    parser.set_defaults(run=run)


def run(args):
    """Replay and print the figures."""
    figures = score_trace(args.drive, args.measured, args.think, args.output, args.device,
                          args.unit)
    if args.json:
        print(json.dumps(figures))
        return 0
    if "think_evidence" in figures:
        print(explain(figures["think"], figures["think_evidence"]))
    print("%d requests, mean response %.3f ms measured, %.3f ms simulated" %
          (figures["requests"], figures["mean_measured_ms"], figures["mean_predicted_ms"]))
    print("demerit figure %.3f ms, %.1f %% of the mean response" %
          (figures["demerit_ms"], figures["demerit_pct"]))
    print("paired errors: median %.3f ms, p90 %.3f ms, %.1f %% within 0.3 ms" %
          (figures["paired_median_ms"], figures["paired_p90_ms"],
           figures["paired_within_300us_pct"]))
    return 0
