# SPDX-License-Identifier: GPL-2.0
"""Find what a kernel log must not contain.

scan(text) returns a list of Problem(kind, line number, excerpt). The patterns
are those of reports, not of words: "loading out-of-tree module taints kernel"
or a SCSI error that a test provoked is no report. A test that provokes a report
is a test of something broken.

Nor is what the kernel says when it had no memory for a name in sysfs (-12): scripts make
allocations fail. Of one that makes pages fail (scan(text, starved=True)) nor is SLUB's complaint
that it got none, nor vmalloc()'s for something of the kernel's own. Two kinds of report are let
pass. One is a bound of mptsas's own that UBSAN reports when that is loaded. The other is a data
race (KCSAN) in the kernel's own code: it is known by its two call traces, none of which has a frame
in a module of ours, or by its being within a sleep. Whatever else such a report says, and one that
is cut off, is a problem. stock_races(text) names the races that were let pass.
"""

import re
from collections import Counter, namedtuple

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
    ("kmemleak", r"new suspected memory leaks|" + _HEAD +
     r"unreferenced object(?: \(percpu\))? 0x"),
    ("hung task", r"blocked(?: in I/O wait)? for more than \d+ seconds"),
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
    ("softirq", r"huh, entered softirq|NOHZ tick-stop error"),
    ("BUG", r"\bBUG: |\bkernel BUG at |" + _HEAD + r"BUG "),
    ("WARNING", _HEAD + r"WARNING: |" + _HEAD + r"-+\[ cut here \]-+"),
    ("call trace", r"\bCall Trace:"),
    ("module", r"Unloading module .* while in use|sysfs: cannot create duplicate"
               r"|kobject_add_internal failed (?!for .* \(error: -12 )"
               r"|debugfs: (?:File|Directory) .* already present|debugfs: '.*' already exists in"
               # a function of a module: the kernel's own are not ours to change
               r"|work func \S+ \[\w+\] enqueued on deprecated workqueue"),
)]

# A report ends where one of these stands, or after so many lines.
_END = re.compile(r"-+\[ end trace|</TASK>|^=+$|Memory state around")
_MAX_LINES = 60
_BEFORE = 2

# The module of a frame stands behind it: "fb_gap_open+0x1a/0x90 [freeblock]"
_MODULE = re.compile(r"[\w.]+(?:\+0x[0-9a-f]+/0x[0-9a-f]+)? \[([a-z]\w*)\]")
# Debian's and the kernel's that the lab loads; what is not among them is ours
_STOCK_MODULES = frozenset((
    "null_blk", "scsi_debug", "dm_mod", "dm_flakey", "dm_delay", "dm_multipath", "ext4", "jbd2",
    "mbcache", "xfs", "libcrc32c", "crc16", "crc32c_generic", "bfq", "kyber_iosched",
    "mptbase", "mptscsih", "mptsas"))
_NO_SLAB = re.compile(r"SLUB: Unable to allocate")
_NO_VMALLOC = re.compile(r"vmalloc error: size \d+, .*failed")
_RACE = re.compile(r"BUG: KCSAN: data-race in (.*\S)")
# Whoever sleeps until a time reads what the timer's end writes, on the sleeper's stack: whatever
# called that, the race is the kernel's
_SLEEP = re.compile(r"(?:^|/ )hrtimer_wakeup(?: /|$)")
# QEMU's controller has more ports than mptbase.h declares
_STOCK_UBSAN = re.compile(r"UBSAN: array-index-out-of-bounds in \S*/fusion/mptsas\.c:")
_UBSAN_END = re.compile(r"---\[ end trace \]---")
_RULER = re.compile(_HEAD + r"=+$")


def _kind(line):
    for kind, regex in _PATTERNS:
        if regex.search(line):
            return kind
    return None


def _ours(report):
    """The modules of ours that have a frame in these lines."""
    return {name for line in report for name in _MODULE.findall(line)} - _STOCK_MODULES


def _stock_race(lines, at):
    """If a report begins here, of a data race that no module of ours has part in: (its title,
    the line behind it); else None."""
    title = _RACE.search(lines[at])
    if not title:
        return None
    for end in range(at + 1, min(at + _MAX_LINES, len(lines))):
        if _RULER.match(lines[end]):
            report = lines[at:end]
            break
        if _kind(lines[end]):
            return None
    else:
        return None
    if _SLEEP.search(title.group(1)):
        return title.group(1), end + 1
    return None if _ours(report) else (title.group(1), end + 1)


def _no_vmalloc(lines, at):
    """If a report begins here that vmalloc() got no memory, for nothing of ours: the line behind
    its call trace; else None."""
    if not _NO_VMALLOC.search(lines[at]):
        return None
    for end in range(at + 1, min(at + _MAX_LINES, len(lines))):
        if "</TASK>" in lines[end]:
            return None if _ours(lines[at:end]) else end + 1
        if _kind(lines[end]) not in (None, "call trace"):
            return None
    return None


def _stock_ubsan(lines, at):
    """If a report begins here of an array's bound in a driver of the kernel's, which declares a
    shorter array than it has: the line behind it; else None."""
    if at + 1 >= len(lines) or "[ cut here ]" not in lines[at] or \
            not _STOCK_UBSAN.search(lines[at + 1]):
        return None
    for end in range(at + 2, min(at + _MAX_LINES, len(lines))):
        if _UBSAN_END.search(lines[end]):
            return None if _ours(lines[at:end]) else end + 1
        if _kind(lines[end]) not in (None, "call trace"):
            return None
    return None


def _split(text):
    return text.replace("\r", "").split("\n")


def stock_races(text):
    """{title: how often} of the data races in the kernel log `text` that are the kernel's own."""
    lines = _split(text)
    races = [_stock_race(lines, at) for at in range(len(lines))]
    return dict(Counter(race[0] for race in races if race))


def scan(text, starved=False):
    """The reports in the kernel log `text`, in order, each once.

    A report's later lines often match again (its call trace, for one), so
    lines within a report's excerpt open no new one."""
    lines = _split(text)
    problems = []
    at = 0
    while at < len(lines):
        stock = _stock_race(lines, at)
        if stock:
            at = stock[1]
            continue
        behind = _stock_ubsan(lines, at) or (_no_vmalloc(lines, at) if starved else None)
        if behind:
            at = behind
            continue
        kind = _kind(lines[at])
        if kind is None or (starved and _NO_SLAB.search(lines[at])):
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
