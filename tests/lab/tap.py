# SPDX-License-Identifier: GPL-2.0
"""Count TAP lines: what a guest script says about its own checks.

A script says "ok NAME" or "not ok NAME - reason" for each check, "ok NAME #
SKIP reason" for one that does not apply, "not ok NAME # MISSED reason" for a promise that is
known to be missed, and at its very end the plan "1..N".
A script that dies early prints no plan; the plan is what tells a complete
run from a broken one, so its absence or a wrong number is a failure. The shell goes on behind a
command that it does not know, or an expression that it does not understand: a check that was
meant is then not made, and nothing else would say so.
"""

import re
from collections import namedtuple

Tap = namedtuple("Tap", "passed failed skipped plan errors missed")

_LINE = re.compile(r"^(ok|not ok)\b\s*(?:\d+\s+)?(?:-\s+)?(.*)$")
_PLAN = re.compile(r"^1\.\.(\d+)\s*$")
# busybox's, and dash's, which leaves out the word
SHELL = re.compile(r"^/lab/\S+: (?:\S+ )?(?:line )?\d+: .*(?:: not found|syntax error|bad number|"
                   r"illegal number|unknown operand|parameter not set)", re.I)


def parse(text):
    """Tap of `text`: lists of names, and of errors in the protocol itself."""
    passed, failed, skipped, missed, plans, errors = [], [], [], [], [], []
    for line in text.replace("\r", "").split("\n"):
        plan = _PLAN.match(line)
        if plan:
            plans.append(int(plan.group(1)))
            continue
        if SHELL.match(line):
            errors.append("the shell: " + line)
        match = _LINE.match(line)
        if not match:
            continue
        if plans:
            errors.append("a check after the plan: " + line)
        name = match.group(2)
        if match.group(1) == "not ok":
            (missed if re.search(r"#\s*MISSED\b", name, re.I) else failed).append(name)
        elif re.search(r"#\s*SKIP\b", name, re.I):
            skipped.append(name)
        else:
            passed.append(name)
    total = len(passed) + len(failed) + len(skipped) + len(missed)
    if not plans:
        errors.append("no plan: the script did not reach its end")
    elif len(plans) > 1:
        errors.append("%d plans" % len(plans))
    elif plans[0] != total:
        errors.append("planned %d checks, ran %d" % (plans[0], total))
    elif total == 0:
        errors.append("the script checked nothing")
    return Tap(passed, failed, skipped, plans[0] if plans else None, errors, missed)
