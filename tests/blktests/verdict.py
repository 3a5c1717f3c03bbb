# SPDX-License-Identifier: GPL-2.0
"""What blktests and guest.sh said, and what follows from it.

An Attempt is one run of one id on one device in one mode (control, freeblock, with_scan).
"""

import os
import re
import sys
from collections import namedtuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "lab"))

import logscan

MODES = ("control", "freeblock", "with_scan")
# Of an id that did not simply pass or was not run, in each mode
ATTEMPTS = 3

Attempt = namedtuple("Attempt", "status reason seconds")
Row = namedtuple("Row", "id device control freeblock with_scan reason broken")

_RESULT = re.compile(r"^([\w-]+/(?:\d+|\*\*\*)) .*\[(passed|failed|not run)\]\s*$")
# "runtime  1.2s  ...  1.3s", of the table beside a result
_FIGURE = re.compile(r"^    .*\s\.\.\.(\s|$)")


# --- one attempt ---

def parse_check(text):
    """[(status, [lines said about it])] of what the suite's check printed."""
    found = []
    for line in text.split("\n"):
        match = _RESULT.match(line)
        if match:
            found.append((match.group(2), []))
        elif found and line.startswith("    ") and not _FIGURE.match(line):
            found[-1][1].append(line.strip())
    return found


def _said_of_failure(details):
    """The lines by which an output differs, or what is said instead."""
    differing = [line for line in details if re.match(r"[-+](?![-+]{2} )", line)]
    return "; ".join((differing or [line for line in details if line])[:4])


def judge(text, log, ended):
    """Attempt (without seconds) of one id: what check printed, the kernel's log meanwhile, and
    guest.sh's word on how it ended."""
    if ended == 3:
        return Attempt("fail", text.strip()[:200], None)
    if ended:
        return Attempt("fail", "no end in time" +
                       ("" if ended == 1 else ", and it cannot be killed"), None)
    results = parse_check(text)
    failed = [details for status, details in results if status == "failed"]
    if failed:
        return Attempt("fail", _said_of_failure(failed[0])[:300] or "failed", None)
    reports = logscan.scan(log)
    if reports:
        return Attempt("fail", "kernel log: %s: %s" % (
            reports[0].kind, log.split("\n")[reports[0].lineno - 1].strip()[:160]), None)
    if any(status == "passed" for status, _ in results):
        return Attempt("pass", "", None)
    if results:
        reasons = [line for _, details in results for line in details]
        return Attempt("skip", "; ".join(dict.fromkeys(reasons))[:300] or "no reason given", None)
    said = [line for line in text.split("\n") if line.strip()]
    return Attempt("fail", "no result: " + "; ".join(said[-3:])[:200], None)


# --- an id ---

def status(attempts):
    """pass, fail, flaky, skip, or None of none."""
    kinds = {attempt.status for attempt in attempts}
    if not kinds:
        return None
    if len(kinds) == 1:
        return kinds.pop()
    return "flaky" if "fail" in kinds else "pass"


def wants_more(by_mode):
    """Modes in which an id is to be run again, once each has been had."""
    if {status(by_mode[mode]) for mode in MODES} <= {"pass", "skip"}:
        return []
    return [mode for mode in MODES if len(by_mode[mode]) < ATTEMPTS and
            status(by_mode[mode]) != "skip"]


def _count(attempts):
    return "%d of %d" % (sum(a.status == "pass" for a in attempts), len(attempts))


def is_broken(control, ours):
    """Does one of our columns say that freeblock fails what the control does not? Both are
    statuses; flaky against flaky, or against failing, is no more than chance."""
    if control == "pass":
        return ours != "pass"
    return control == "flaky" and ours in ("fail", "skip")


def _kind_of_failure(said):
    """A name for one that is not freeblock's alone."""
    ours = {said[mode] for mode in MODES[1:]} - {None}
    if said["control"] == "fail" and ours == {"fail"}:
        return "fails under both"
    if ours <= {"pass"}:
        return "fails under mq-deadline" + (" only" if ours else "")
    return "flaky under both"


def row(ident, device, by_mode):
    """Row of an id whose attempts are by_mode[mode]."""
    said = {mode: status(by_mode[mode]) for mode in MODES}
    if said["control"] == "skip":
        said = {mode: said[mode] or "skip" for mode in MODES}
    reasons = {mode: next((a.reason for a in by_mode[mode] if a.status != "pass"), "")
               for mode in MODES}
    broken = [mode for mode in MODES[1:] if said[mode] and is_broken(said["control"], said[mode])]
    missing = [mode for mode in MODES if said[mode] is None]
    parts = []
    if broken:
        parts = ["%s: %s%s" % (mode, "not run: " if said[mode] == "skip" else "", reasons[mode])
                 for mode in broken]
    elif set(said.values()) - {"pass", "skip", None}:
        parts = ["%s: %s" % (_kind_of_failure(said),
                             next(reasons[mode] for mode in MODES if reasons[mode]))]
    elif "skip" in said.values():
        parts = [next(reasons[mode] for mode in MODES if reasons[mode])]
    if "flaky" in said.values():
        parts.append("passed " + ", ".join("%s %s" % (mode, _count(by_mode[mode]))
                                           for mode in MODES if by_mode[mode]))
    # of a pass: what guest.sh saw of the scan
    parts += [a.reason for a in by_mode["with_scan"] if a.status == "pass" and a.reason][:1]
    if missing:
        parts.append("not run yet: " + ", ".join(missing))
    return Row(ident, device, *(said[mode] or "-" for mode in MODES), "; ".join(parts),
               bool(broken))


# --- all of them ---

def table(rows):
    """Lines for people."""
    head = ("id", "device", "control", "freeblock", "with scan", "reason")
    cells = [head] + [tuple(r[:6]) for r in rows]
    widths = [max(len(c[i]) for c in cells) for i in range(5)]
    return ["  ".join(c[i].ljust(widths[i]) for i in range(5)) + "  " + c[5] for c in cells]


def summary(rows):
    """What summary.json holds."""
    return [dict(zip(Row._fields[:6], r[:6])) for r in rows]
