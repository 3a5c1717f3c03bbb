# SPDX-License-Identifier: GPL-2.0
"""What keeps a scrub of freeblock.conf from reading for a while: a command that fails, a drive that
is too warm, a pass that is ahead of its pace, or too many new bad blocks. Asked before a scrub
starts, and each minute while it runs.
"""

import contextlib
import glob
import math
import subprocess
import time

from .. import fbstate
from . import badblocks, kernel, window

EACH_S = 60
ANSWER_S = 10                   # a command that takes longer says no
COOLER = 2                      # degrees below the limit, before a drive that was too warm is read
AHEAD = .01                     # share of a pass by which it may be ahead of its pace
DAY_S, YEAR_DAYS = 86400, 365
SECTOR, TB = 512, 1e12


def inhibited(command, name):
    """Why a command keeps a disk from being read; None: it does not."""
    status = kernel.shell(command, ANSWER_S, subprocess.DEVNULL, FREEBLOCK_DISK=name)
    if status is None:
        return "inhibit: no answer within %d s: %s" % (ANSWER_S, command)
    return "inhibit: status %d of: %s" % (status, command) if status else None


def celsius(name):
    """The drive's temperature, degrees; None: nothing measures it."""
    pattern = fbstate.path("sys/block", name, "device/hwmon/hwmon*/temp1_input")
    for path in sorted(glob.glob(pattern)):
        # a drive that is going away, or does not answer
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            return int(file.read()) / 1000
    return None


class Gate:
    """Of one disk. said: as of Conf.of(); began: when its pass did, seconds since 1970, None: there
    is none; deadline: when it should be over, None: no matter. share: set by who reads it, a
    function that says how much of the pass is over."""

    def __init__(self, name, said, clock=time.monotonic, began=None, deadline=None):
        self.name, self.said, self._clock = name, said, clock
        self._began, self._deadline, self.share = began, deadline, None
        self._asked, self._why, self._warm, self._ahead = None, None, False, False

    def _least_days(self):
        """How long a pass takes at max_tb_per_year, at least."""
        most = self.said["max_tb_per_year"]
        sectors = fbstate.count(fbstate.read("sys/block", self.name, "size"))
        return YEAR_DAYS * sectors * SECTOR / (most * TB) if most else 0

    def _too_early(self):
        days, least = self.said["pace_days"], self._least_days()
        if None in (days or least or None, self._began, self.share):
            return None
        now, windows = time.time(), self.said["window"]
        # a clock that was set back; and a pass that began late has less time to its deadline
        self._began = min(self._began, now)
        end = min(self._began + (days or 0) * DAY_S, self._deadline or math.inf)
        key, end = max(("pace_days", end), ("max_tb_per_year", self._began + least * DAY_S),
                       key=lambda pair: pair[1])
        whole = window.open_s(windows, self._began, end)
        over = window.open_s(windows, self._began, min(now, end)) / whole if whole else 1
        done = self.share()
        self._ahead = done > over + (0 if self._ahead else AHEAD)
        days = (end - self._began) / DAY_S
        return "%s: %.1f %% of the blocks are verified, %.1f %% of %.3g days are over" % (
            key, 100 * done, 100 * over, days) if self._ahead else None

    def _too_warm(self):
        most = self.said["max_celsius"]
        if most is None:
            return None
        now = celsius(self.name)
        if now is None:
            return "max_celsius: nothing measures the drive's temperature; run: modprobe drivetemp"
        self._warm = now > most - (COOLER if self._warm else 0)
        return "max_celsius: the drive has %.0f degrees C, %d are allowed" % (now, most) \
            if self._warm else None

    def why(self):
        """Why it must not be read now; None: it may."""
        now = self._clock()
        if self._asked is None or now - self._asked >= EACH_S:
            self._asked = now
            command = self.said["inhibit"]
            self._why = badblocks.held(self.name, self.said, self._began) or \
                self._too_early() or self._too_warm() or (
                inhibited(command, self.name) if command else None)
        return self._why
