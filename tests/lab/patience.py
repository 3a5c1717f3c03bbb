# SPDX-License-Identifier: GPL-2.0
"""How long to wait for a test. Limits are seconds of a quiet machine like the one that they
were set on. They are stretched on a slower one; they do not run while a test waits for a CPU
that others have; and what still reports when its time is over is not dead.
"""

import os
import time

# The best of some loops on the two cores that the limits were set on
LOOP_S = 0.040
LOOPS = 400000
POLL_S = 1
# What reports goes on until so much of its limit has passed in silence, and so many limits
SILENCE = 1 / 3
MOST = 3
# The least that a second counts, so that a limit ends on any machine
LEAST = 0.01
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def slowness():
    """How much slower than there a CPU is, 1 at least: in CPU time, and by the best loop, so
    that this is the machine and not its load."""
    best = 1e9
    for _ in range(7):
        began = time.process_time()
        number = 0
        for step in range(LOOPS):
            number = (number * 31 + step) & 0xffffff
        best = min(best, time.process_time() - began)
    return max(1.0, best / LOOP_S)


def scale():
    """LAB_TIMEOUT_SCALE, if somebody set it, else as this machine is."""
    return float(os.environ.get("LAB_TIMEOUT_SCALE") or round(slowness(), 2))


def _stat(path):
    """State, parent and CPU seconds, of children that have ended too; None: no such process."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            words = file.read().rpartition(") ")[2].split()
    except OSError:
        return None
    return words[0], int(words[1]), sum(map(int, words[11:15])) * _TICK_S


class Work:
    """What a process and those that it started do with their time."""

    def __init__(self, pid):
        self.pid = pid
        self.cpu_s = 0.0

    def look(self):
        """CPU seconds used so far, and how many threads want a CPU now."""
        stats = {int(name): _stat("/proc/%s/stat" % name)
                 for name in os.listdir("/proc") if name.isdigit()}
        children = {}
        for pid, stat in stats.items():
            if stat:
                children.setdefault(stat[1], []).append(pid)
        cpu_s, running, queue = 0.0, 0, [self.pid]
        while queue:
            pid = queue.pop()
            queue += children.get(pid, [])
            if stats.get(pid):
                cpu_s += stats[pid][2]
                running += self._running(pid)
        return cpu_s, running

    @staticmethod
    def _running(pid):
        try:
            threads = os.listdir("/proc/%d/task" % pid)
        except OSError:
            return 0
        stats = (_stat("/proc/%d/task/%s/stat" % (pid, thread)) for thread in threads)
        return sum(1 for stat in stats if stat and stat[0] == "R")

    def charge(self, seconds):
        """How much of the last `seconds` counts: all, if everybody slept, else what CPU time
        there was for those who wanted it."""
        cpu_s, running = self.look()
        used, self.cpu_s = max(0.0, cpu_s - self.cpu_s), cpu_s
        if running:
            share = used / min(running, os.cpu_count() or 1)
            seconds = min(seconds, max(share, seconds * LEAST))
        return seconds


def wait(ended, limit, charge=lambda seconds: seconds, reports=lambda: 0, clock=time.monotonic):
    """Whether ended(how long to wait) came true before `limit` was spent. What has reported
    (reports() has changed) goes on beyond it until it falls silent, see SILENCE and MOST."""
    spent = heard = 0.0
    said, before = reports(), clock()
    while spent < limit or (said and spent - heard < limit * SILENCE and spent < limit * MOST):
        if ended(min(POLL_S, limit)):
            return True
        now = clock()
        spent += charge(now - before)
        before = now
        if reports() != said:
            said, heard = reports(), spent
    return False
