# SPDX-License-Identifier: GPL-2.0
"""Processes that a test starts, and those that they start: who runs, and who does no more."""

import os
import signal
import time

# Nobody waits for so long but for what never comes, however busy the machine is
PATIENCE_S = 300


def _look(pid):
    """(name, state, parent) of a process; ("", "X", 0) when it is gone."""
    try:
        with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(") ")
    except OSError:
        return "", "X", 0
    state, parent = rest.split()[:2]
    return name, state, int(parent)


def is_running(pid):
    """Whether a process is there and not just a name for its exit status."""
    return _look(pid)[1] not in "XZ"


def children(parent, name=None):
    """Those that a process has started; of one name, if it is given."""
    seen = {int(pid): _look(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    return [pid for pid, (its_name, _, its_parent) in seen.items()
            if its_parent == parent and name in (None, its_name)]


def kill(pids):
    """Those that there still are."""
    for pid in filter(is_running, pids):
        os.kill(pid, signal.SIGKILL)


def wait_for(done):
    """Until it is so; AssertionError if it never is."""
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "waited for %d s" % PATIENCE_S
        time.sleep(.05)
