# SPDX-License-Identifier: GPL-2.0
"""Find what a kernel log must not contain.

scan(text) returns a list of Problem(kind, line number, excerpt). The patterns
are those of reports, not of words: "loading out-of-tree module taints kernel"
or a SCSI error that a test provoked is no report. Nothing is ever exempted;
a test that provokes a report is a test of something broken.
"""

import re
from collections import namedtuple

Problem = namedtuple("Problem", "kind lineno excerpt")

# What stands before a message: a level, a time stamp, a caller's id.
_HEAD = r"^(?:<\d+>)?\s*(?:\[\s*\d+\.\d+\])?(?:\[\s*[TC]\d+\])?\s*"

_PATTERNS = [(kind, re.compile(regex)) for kind, regex in (
    ("sleeping function called", r"sleeping function called from invalid context"),
    ("scheduling while atomic", r"scheduling while atomic"),
    ("KASAN", r"\bKASAN:"),
    ("KCSAN", r"\bKCSAN:"),
    ("UBSAN", r"\bUBSAN:"),
    ("lockdep", r"possible (?:circular|recursive) locking|possible irq lock inversion"
                r"|possible deadlock|inconsistent lock state|bad unlock balance"
                r"|held lock freed|lock held when returning|still has locks held"
                r"|SOFTIRQ-safe|HARDIRQ-safe|suspicious RCU usage|Invalid wait context"
                r"|non-static key|DEBUG_LOCKS_WARN_ON|lockdep is turned off"
                r"|turning off the locking correctness validator"
                r"|(?:BUG|WARNING): .*(?:MAX_LOCK|lock bh|nested lock)"),
    ("kmemleak", r"new suspected memory leaks|" + _HEAD + r"unreferenced object 0x"),
    ("hung task", r"blocked for more than \d+ seconds"),
    ("lockup", r"soft lockup|hard LOCKUP|workqueue lockup|detected stalls? on"
               r"|self-detected stall|rcu: INFO: .*stall"),
    ("debugobjects", r"\bODEBUG:"),
    ("list corruption", r"list_(?:add|del)(?:_valid)? corruption|list_(?:add|del) double"),
    ("refcount", r"refcount_t: "),
    ("slab", r"Objects remaining in|=+\s*BUG |BUG kmalloc|Redzone overwritten"
             r"|Bad page (?:state|map)|kfree_debugcheck|still has objects when it is destroyed"),
    ("allocation failure", r"page allocation failure|SLUB: Unable to allocate"),
    ("Oops", r"\bOops(?::|\b.*\[#\d)|general protection fault|unable to handle (?:kernel|page)"
             r"|Unable to handle|double fault|divide error|invalid opcode|stack segment"),
    ("panic", r"Kernel panic|Attempted to kill init|Out of memory:|invoked oom-killer"),
    ("user crash", r"\bsegfault at |traps: .* trap "),
    ("irq", r"nobody cared|Disabling IRQ #"),
    ("BUG", r"\bBUG: |\bkernel BUG at |" + _HEAD + r"BUG "),
    ("WARNING", _HEAD + r"WARNING: |" + _HEAD + r"-+\[ cut here \]-+"),
    ("call trace", r"\bCall Trace:"),
    ("module", r"Unloading module .* while in use|sysfs: cannot create duplicate"
               r"|kobject_add_internal failed|debugfs: (?:File|Directory) .* already present"),
)]

# A report ends where one of these stands, or after so many lines.
_END = re.compile(r"-+\[ end trace|</TASK>|^=+$|Memory state around")
_MAX_LINES = 60
_BEFORE = 2


def _kind(line):
    for kind, regex in _PATTERNS:
        if regex.search(line):
            return kind
    return None


def scan(text):
    """The reports in the kernel log `text`, in order, each once.

    A report's later lines often match again (its call trace, for one), so
    lines within a report's excerpt open no new one."""
    lines = text.replace("\r", "").split("\n")
    problems = []
    at = 0
    while at < len(lines):
        kind = _kind(lines[at])
        if kind is None:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and end - at < _MAX_LINES:
            end += 1
            if _END.search(lines[end - 1]) and end - at > 4:
                break
        excerpt = "\n".join(lines[max(0, at - _BEFORE):end])
        problems.append(Problem(kind, at + 1, excerpt))
        at = end
    return problems
