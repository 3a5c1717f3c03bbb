# SPDX-License-Identifier: GPL-2.0
"""What a guest of make moments said, and what follows from it.

A Guest's outcome is a dictionary, as it is kept on disk: seed, clock, events ([kind, happened,
reason]), found ([class, words]), totals ({key: number}), problems (the lab's paragraphs), status
(ok, or how it ended otherwise).
"""

import collections
import re

CLASSES = ("hang", "leak", "wrong", "error", "untrue")
COLUMNS = ("hangs", "leaks", "bytes_wrong", "foreground_errors", "untrue_states", "reports")

_PROBLEM = (
    ("leak", re.compile(r"^kernel log: kmemleak|^kmemleak|cannot be removed|^kernel log: slab")),
    ("hang", re.compile(r"^process hangs|^no end after|^kernel log: (hung task|lockup)"
                        r"|^the guest did not report an end")),
    ("wrong", re.compile(r"^verify")),
)


def new(seed, clock):
    """The outcome of a guest that has said nothing."""
    return {"seed": seed, "clock": clock, "events": [], "found": [], "totals": {},
            "problems": [], "status": "no end", "now": None}


def hear(outcome, line):
    """Takes a line of the guest's in; True: an event is over."""
    if line.startswith("not ok "):
        outcome["problems"].append("check: " + line)
        return False
    if not line.startswith("mo "):
        return False
    word, _, rest = line[3:].partition(" ")
    if word == "begin":
        outcome["now"] = rest
    elif word == "event":
        kind, state, reason = rest.partition(" ")[2].split("|", 2)
        outcome["events"].append([kind, state == "happened", reason])
        outcome["now"] = None
        return True
    elif word == "found":
        kind, _, words = rest.partition(" ")
        outcome["found"].append([kind, words])
    elif word == "total":
        words = rest.split()
        outcome["totals"].update(zip(words[::2], map(int, words[1::2])))
    elif word == "end":
        outcome["status"] = rest
    return False


def is_lost(outcome):
    """Has it said itself that it cannot go on?"""
    return outcome["status"] not in ("ok", "no end")


def problem_class(paragraph):
    """Which count a paragraph of the lab's goes to: leak, hang, wrong, report, or check."""
    if paragraph.startswith("check: "):
        return "check"
    for kind, regex in _PROBLEM:
        if regex.search(paragraph):
            return kind
    return "report"


def counts(outcome):
    """{column: number} of one guest."""
    found = collections.Counter(kind for kind, _ in outcome["found"])
    problems = collections.Counter(map(problem_class, outcome["problems"]))
    totals = outcome["totals"]
    wrong = totals.get("wrong", 0) if totals else 512 * found["wrong"]
    hung = found["hang"] + problems["hang"]
    if outcome["status"] != "ok" and not hung and not problems["report"]:
        hung = 1  # it ended in the middle, and nobody can say why
    # a check that failed beside nothing else is a state that is not true
    others = sum(found.values()) + sum(problems[k] for k in ("leak", "hang", "wrong", "report"))
    untrue = found["untrue"] + (problems["check"] if not others else 0)
    return {
        "hangs": hung, "leaks": found["leak"] + problems["leak"],
        "bytes_wrong": wrong + 4096 * problems["wrong"], "foreground_errors": found["error"],
        "untrue_states": untrue, "reports": problems["report"],
    }


def is_good(outcome):
    """Nothing was found in it."""
    return outcome["status"] == "ok" and not any(counts(outcome).values())


def happened(outcomes):
    """Events that truly happened."""
    return sum(event[1] for outcome in outcomes for event in outcome["events"])


def row(kernel, outcomes):
    """What summary.json says of a kernel."""
    sums = collections.Counter()
    for outcome in outcomes:
        sums.update(counts(outcome))
    refused = collections.Counter("%s: %s" % (kind, re.sub(r"\d+", "N", reason))
                                  for o in outcomes for kind, yes, reason in o["events"] if not yes)
    totals = collections.Counter()
    for outcome in outcomes:
        totals.update(outcome["totals"])
    return {"kernel": kernel, "events": happened(outcomes),
            **{column: sums[column] for column in COLUMNS},
            "refused": sum(refused.values()), "refused_why": dict(refused.most_common()),
            "guests": len(outcomes), "seeds": [o["seed"] for o in outcomes],
            "failed_seeds": [o["seed"] for o in outcomes if not is_good(o)],
            "requests": totals["reads"] + totals["writes"],
            "bytes_checked": totals["bytes_checked"],
            "errors_of_the_disk": {"medium": totals["own_medium"], "gone": totals["own_gone"],
                                   "memory": totals["own_memory"]},
            "tasks": {key: totals[key] for key in ("tasks", "finished", "closed", "stopped")},
            "task_blocks": totals["task_blocks"],
            "longest_wait_ms": max((o["totals"].get("longest_ms", 0) for o in outcomes), default=0)}


def table(by_kernel):
    """Lines: event kind, how often it happened on each kernel; refused in brackets."""
    kinds = sorted({event[0] for outcomes in by_kernel.values() for o in outcomes
                    for event in o["events"]})
    lines = ["%-24s" % "event" + "".join("%16s" % kernel for kernel in by_kernel)]
    for kind in kinds:
        cells = []
        for outcomes in by_kernel.values():
            mine = [event for o in outcomes for event in o["events"] if event[0] == kind]
            no = sum(not event[1] for event in mine)
            cells.append("%d%s" % (len(mine) - no, " (+%d)" % no if no else ""))
        lines.append("%-24s" % kind + "".join("%16s" % cell for cell in cells))
    lines.append("%-24s" % "all" + "".join("%16d" % happened(o) for o in by_kernel.values()))
    for column in COLUMNS:
        lines.append("%-24s" % column.replace("_", " ") + "".join(
            "%16d" % row(kernel, outcomes)[column] for kernel, outcomes in by_kernel.items()))
    lines.append("(+n): drawn, and refused or could not be made; they do not count:")
    for kernel, outcomes in by_kernel.items():
        for why, n in row(kernel, outcomes)["refused_why"].items():
            lines.append("  %s %5d  %s" % (kernel, n, why))
    return lines
