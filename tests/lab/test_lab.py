#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the lab's own judgement: the log scanner, the counting, and what judges blocks.

Prints TAP itself, so that the check runner counts it like a guest script.
Each report is one that Linux 6.1 prints (lib/, mm/, kernel/locking/), or 7.2 in
other words, and each must be found alone in an otherwise clean log.

Seen to fail with the patterns of 6.1 only: a task that is blocked in I/O wait, a leak of percpu
memory, a name in debugfs twice, a deprecated workqueue, a softirq that keeps a lock.
"""

import zlib

import numpy as np

import blocks
import logscan
import tap
import treetest
from treetest import check

CLEAN = """\
[    0.210000] kasan: KernelAddressSanitizer initialized
[    0.220000] kmemleak: Kernel memory leak detector initialized (mem pool available: 39834)
[    2.000000] freeblock: loading out-of-tree module taints kernel.
[    3.000001] sd 0:0:0:0: [sda] tag#12 Sense Key : Medium Error [current]
[    3.000002] critical medium error, dev sda, sector 1234 op 0x0:(READ) flags 0x0
[    3.000003] Buffer I/O error on dev sda, logical block 154, async page read
[    3.200000] debug: no BUGs here; WARNINGs are counted
[    3.300000] kobject_add_internal failed for sda (error: -12 parent: freeblock)
[    3.400000] workqueue: work func blk_x enqueued on deprecated workqueue. Use system_percpu_wq.
"""

PLANTED = {
    "WARN": "------------[ cut here ]------------",
    "WARNING line": "WARNING: CPU: 0 PID: 1 at block/elevator.c:12 elv_x+0x1/0x2",
    "WARNING line (7.2)": "WARNING: block/elevator.c:12 at elv_x+0x1/0x2, CPU#0: fio/1",
    "BUG at": "kernel BUG at block/blk-mq.c:100!",
    "BUG null": "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "page fault": "BUG: unable to handle page fault for address: ffffc90000000000",
    "Oops": "Oops: 0000 [#1] PREEMPT SMP KASAN PTI",
    "GPF": "general protection fault, probably for non-canonical address 0xdffffc0000000",
    "panic": "Kernel panic - not syncing: Fatal exception",
    "lockdep circular": "WARNING: possible circular locking dependency detected",
    "lockdep recursive": "WARNING: possible recursive locking detected",
    "lockdep state": "WARNING: inconsistent lock state",
    "lockdep key": "INFO: trying to register non-static key.",
    "lockdep wait context": "[ BUG: Invalid wait context ]",
    "lockdep freed": "WARNING: held lock freed!",
    "rcu": "WARNING: suspicious RCU usage",
    "irq inversion": "WARNING: possible irq lock inversion dependency detected",
    "KASAN": "BUG: KASAN: use-after-free in fb_x+0x12/0x20 [freeblock]",
    "KCSAN": "BUG: KCSAN: data-race in fb_x [freeblock] / fb_y [freeblock]",
    "UBSAN": "UBSAN: shift-out-of-bounds in core/search.c:10:3",
    "sleeping": "BUG: sleeping function called from invalid context at mm/slab.h:500",
    "atomic": "BUG: scheduling while atomic: fio/100/0x00000002",
    "kmemleak": "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "kmemleak, percpu (7.2)": "unreferenced object (percpu) 0x607f0c6a1234 (size 8):",
    "softirq": "huh, entered softirq 4 BLOCK 0000abcd with preempt_count 00000101, exited with 0?",
    "NOHZ": "NOHZ tick-stop error: local softirq work is pending, handler #10!!!",
    "atomic work (7.2)": "BUG: workqueue leaked atomic, lock or RCU: kworker/u8:1[33]",
    "hung task": "INFO: task fio:123 blocked for more than 60 seconds.",
    "hung in I/O (7.2)": "INFO: task fio:123 blocked in I/O wait for more than 60 seconds.",
    "soft lockup": "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [fbsearch:99]",
    "workqueue": "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!",
    "rcu stall": "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "self stall": "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "debugobjects": "ODEBUG: free active (active state 0) object type: hrtimer hint: fb_t+0x0/0x1",
    "list": "list_add corruption. next->prev should be prev (x), but was y.",
    "refcount": "refcount_t: underflow; use-after-free.",
    "slab": "BUG fb_request (Tainted: G  O): Objects remaining in fb_request on shutdown",
    "kmem_cache": "kmem_cache_destroy fb_request: Slab cache still has objects when it "
                  "is destroyed",
    "bad page": "BUG: Bad page state in process fio  pfn:12345",
    "alloc": "fio: page allocation failure: order:4, mode:0x40c00(GFP_NOIO)",
    "segfault": "fio[123]: segfault at 0 ip 0000 sp 0000 error 4 in fio[400000]",
    "trace": "Call Trace:",
    "oom": "fio invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0",
    "debugfs": "debugfs: Directory 'sda' with parent 'freeblock' already present!",
    "debugfs (7.2)": "debugfs: 'sda' already exists in 'freeblock'",
    "deprecated (7.2)": "workqueue: work func fb_x [freeblock] enqueued on deprecated workqueue. "
                        "Use system_{percpu|dfl}_wq instead.",
    "kobject": "kobject_add_internal failed for sda with -EEXIST, don't try to register things "
               "with the same name in the same directory.",
    "sysfs": "sysfs: cannot create duplicate filename '/kernel/freeblock/sda'",
}
RACE = """\
[    9.000001] BUG: KCSAN: data-race in sbitmap_get / blk_mq_run_hw_queues
[    9.000003] write to 0xffff888006e00218 of 8 bytes by interrupt on cpu 1:
[    9.000004]  sbitmap_get+0x12/0x40
[    9.000007] read to 0xffff888006e00218 of 8 bytes by task 77 on cpu 2:
[    9.000009]  %s
[    9.000014] Reported by Kernel Concurrency Sanitizer on:
[    9.000016] ==================================================================
"""


def test_logscan():
    check("a clean log has no report", not logscan.scan(CLEAN))
    for name, line in PLANTED.items():
        for form in ("[    9.000000] ", "[    9.000000][  T123] ", "<4>[    9.000000] "):
            lines = CLEAN.split("\n")
            lines.insert(4, form + line)
            found = logscan.scan("\r\n".join(lines))
            if len(found) != 1 or found[0].lineno != 5 or line not in found[0].excerpt:
                check("planted: " + name, False, "%r: %r" % (form, found))
                break
        else:
            check("planted: " + name, True)
    both = logscan.scan(PLANTED["KASAN"] + "\n" + "[9.1] x\n" * 200 + PLANTED["hung task"])
    check("two reports, two problems", [p.kind for p in both] == ["KASAN", "hung task"], both)
    lack = "[9.0] SLUB: Unable to allocate memory on node -1, gfp=0xcc0(GFP_KERNEL)\n"
    check("no slab, also of a script that starves", len(logscan.scan(CLEAN + lack)) == 1 and
          not logscan.scan(CLEAN + lack, starved=True) and
          len(logscan.scan(lack + PLANTED["alloc"], starved=True)) == 1)
    own, ours = RACE % "worker_thread+0x5a/0x6f0", RACE % "fb_reader_thread+0x40/0x50 [freeblock]"
    check("the kernel's own data races are counted", not logscan.scan(own + own) and
          list(logscan.stock_races(own + own).values()) == [2])
    check("ours are reports", [one.kind for one in logscan.scan(ours)] == ["KCSAN"] and
          not logscan.stock_races(ours))


def test_tap():
    good = tap.parse("# note\nok a\nok b # SKIP no disk\nok 3 - c\n1..3\n")
    check("a good run", (good.passed, good.failed, good.skipped, good.errors) ==
          (["a", "c"], [], ["b # SKIP no disk"], []), good)
    known = tap.parse("ok a\nnot ok promise: b - got '9', not ge 10 # MISSED by a tenth\n1..2\n")
    check("a promise known to be missed is neither passed nor failed",
          (known.passed, known.failed, len(known.missed), known.errors) == (["a"], [], 1, []))
    check("one that is not known to be is a failure",
          tap.parse("not ok promise: b - got '9', not ge 10\n1..1\n").failed)
    for name, text in (
            ("no plan", "ok a\nok b\n"), ("a short run", "ok a\n1..2\n"),
            ("a check after the plan", "ok a\n1..1\nnot ok b\n"), ("silence", ""),
            ("nothing checked", "1..0\n"),
            ("a command that there is not", "/lab/script: line 2: keep: not found\nok a\n1..1\n"),
            ("a sum that is none", "/lab/lib.sh: line 9: arithmetic syntax error\nok a\n1..1\n")):
        check(name + " is an error", bool(tap.parse(text).errors))


def right(block):
    """A block never written, computed here without the module's help."""
    return zlib.crc32(b"".join(word.to_bytes(8, "little")
                               for word in range(block * 512, block * 512 + 512)))


def test_blocks():
    """Planted wrong blocks are found, and no right one is called wrong."""
    def wrong(rows, writes=(), **how):
        """rows: (block, crc, status, ms); writes: (block, crc, ms)"""
        noted = np.array([(b * 8, c, s, ms * 1000000) for b, c, s, ms in rows],
                         dtype=blocks.DELIVERY)
        records = np.array([(b, c, 0, ms * 1000000) for b, c, ms in writes], dtype=blocks.JOURNAL)
        return blocks.verify_deliveries(noted.tobytes(), records.tobytes(), 8001, **how).wrong

    good, write = [(b, right(b), 0, b) for b in range(50)], [(5, 77, 50)]
    for name, rows, writes, want in (
            ("never written", good, (), 0), ("a wrong checksum", [(5, 1, 0, 10)], (), 1),
            ("a second delivery", good + [(5, 0, 1, 90)], (), 1),
            ("after a write", [(5, 77, 0, 100)], write, 0),
            ("before a write", [(5, right(5), 0, 40)], write, 0),
            ("stale after a write", [(5, right(5), 0, 100)], write, 1),
            ("another block's write", [(6, 77, 0, 100)], write, 1)):
        check("blocks: " + name, wrong(rows, writes) == want)
    late = [(5, 77, 0, 100)], [(5, 77, 50), (5, 78, 60)]
    check("blocks: with a real clock, deliveries may be late",
          (wrong(*late), wrong(*late, timed=False)) == (1, 0))


test_logscan()
test_tap()
test_blocks()
treetest.finish()
