# SPDX-License-Identifier: GPL-2.0
"""How long to wait for a test: limits are those of a quiet machine like the one that they
were set on, and are stretched on a slower one, and while other work is waiting for its CPUs.
"""

import os
import time

# The best of some loops on the two cores that the limits were set on
LOOP_S = 0.040
LOOPS = 400000
POLL_S = 2


def slowness():
    """How much slower than there a CPU is, 1 at least. The best loop is one that nobody
    interrupted, so that this is the machine and not its load."""
    best = 1e9
    for _ in range(7):
        began = time.perf_counter()
        number = 0
        for step in range(LOOPS):
            number = (number * 31 + step) & 0xffffff
        best = min(best, time.perf_counter() - began)
    return max(1.0, best / LOOP_S)


def scale():
    """LAB_TIMEOUT_SCALE, if somebody set it, else as this machine is."""
    return float(os.environ.get("LAB_TIMEOUT_SCALE") or round(slowness(), 2))


def crowd():
    """Processes that share a CPU now, 1 at least."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def wait(ended, seconds, crowded=crowd):
    """Whether ended(how long to wait) came true within `seconds` of a machine for itself."""
    while seconds > 0.001:
        sharing = crowded()
        step = min(POLL_S, seconds * sharing)
        if ended(step):
            return True
        seconds -= step / sharing
    return False
