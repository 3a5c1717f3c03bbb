# SPDX-License-Identifier: GPL-2.0
"""A simulated drive that serves somebody: probes in its idle time, in place of background.Task.

Reads of others arrive at random and are served at once, one by one. A probe is sent when the drive
has been idle for `wait_s`; whoever arrives meanwhile waits for it, which is counted. The simulated
drive does the timing; the wait stands for the kernel's Waiting policy.
"""

import random
from types import SimpleNamespace

from freeblock import background
from freeblock.extraction.device import FUA, Device

MEAN_GAP_S = 1e9            # nobody else


class Task:
    """Takes probes of `dev`. `between`: the chance that somebody comes just behind a probe."""

    def __init__(self, dev, gap_s=MEAN_GAP_S, wait_s=0.01, between=0.0, seed=1):
        self.dev, self.gap_s, self.wait_s, self.between = dev, gap_s, wait_s, between
        self.random = random.Random(seed)
        self.geometry = SimpleNamespace(sectors=dev.blocks * dev.unit_sectors, granule_sectors=8)
        self.others = self.late = 0     # reads of others; those that waited for a probe
        self.late_ns = self.busy_ns = 0  # for how long, in all; time that others took
        self.began_ns = dev.now()
        self.idle_ns = self.began_ns    # since when the drive has been idle
        self.arrives_ns = self._arrival(self.idle_ns)
        self.until_ns = 0               # no probe before
        self.next = False               # nothing has come since the last probe

    def close(self):
        """Nothing to do."""

    def _arrival(self, now):
        return now + self.random.expovariate(1 / (self.gap_s * 1e9))

    # the clock of the probes

    def monotonic_ns(self):
        """The drive's, or until when nobody was to send a probe."""
        return max(self.dev.now(), self.until_ns)

    def sleep(self, seconds):
        """Others go on."""
        self.until_ns = self.monotonic_ns() + int(seconds * 1e9)
        while self.arrives_ns < self.until_ns:
            self._serve()

    def _op(self, block, at_ns):
        """A read that is sent at an instant, or as soon as possible behind it."""
        return self.dev.ops([block], wait=max(int(at_ns - self.dev.now()), 0), flags=FUA)

    def _serve(self, late_since=None):
        """The read of others that comes next."""
        block = self.random.randrange(self.dev.blocks)
        at = max(self.arrives_ns, self.dev.now())
        found = self.dev.run(self._op(block, at))[0]
        self.others += 1
        if late_since:
            self.late += 1
            self.late_ns += late_since
        self.busy_ns += int(found["done"]) - int(found["submit"])
        self.idle_ns, self.next = int(found["done"]), False
        self.arrives_ns = self._arrival(self.arrives_ns)

    def probe(self, places, _timeout):
        """As background.Task.probe()."""
        return [self._probe(first, sectors) for first, sectors in places]

    def _probe(self, first, sectors):
        if not self.next:
            while self.arrives_ns < self.idle_ns + self.wait_s * 1e9:
                self._serve()
        at = max(self.idle_ns if self.next else self.idle_ns + self.wait_s * 1e9, self.dev.now(),
                 self.until_ns)
        found = self.dev.run(self._op(first // self.dev.unit_sectors, at))[0]
        done, follows = int(found["done"]), self.next
        alone = self.arrives_ns >= done
        self.idle_ns, self.next = done, True
        status = background.OK if not found["status"] else background.UNREADABLE
        probe = background.Probe(first, sectors, status, int(found["submit"]), done,
                                 background.ALONE * alone | background.NEXT * follows)
        while self.arrives_ns < self.dev.now():
            self._serve(self.dev.now() - self.arrives_ns)
        if self.random.random() < self.between:
            self.arrives_ns = self.dev.now()
            self._serve()
        return probe


def simulated(drive, **options):
    """(Device, Task) of a drive's file."""
    dev = Device.simulated(drive, host_ns=100000, host_jitter_ns=5000)
    return dev, Task(dev, **options)
