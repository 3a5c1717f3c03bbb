# SPDX-License-Identifier: GPL-2.0
"""Two commands at the drive, without a task: responses predicted by compose.predict(early=)
against those of `freeblock sim`. Run as a module (PYTHONPATH=python
python3 -m research.predictcheck.twodeep, in
tools/; some seconds) it prints the table of Documentation/predict.rst, "Two commands".
"""

import math

from freeblock import sim
from freeblock.prediction import compose
from freeblock.prediction.device import Device
from freeblock.prediction.workload import Workload

RATES = {"atlas10k": (32, 68, 110), "nearline16": (24, 48, 79)}       # 30, 60, 86 % busy
POLICIES = ("clook", "sstf", "sptf", "sptf-sw")
# --hold: how long before the end the next is chosen, s; --lead is 200 us
EARLY = {0: math.inf, 1: 200e-6}
REQUESTS = 50000


def load(device, rate):
    """The simulator's foreground: multiples of 4 KiB, geometric, 8 KiB in the mean, two reads
    to a write."""
    return Workload(rate, "poisson", 8192.0, 2 / 3, device.capacity, request_size_cv2=0.5)


def compare(drive, rate, policy, hold):
    """(simulated, predicted) mean response, s."""
    seen = sim.simulate(preset="paper", drive=drive, rate=rate, policy=policy, hold=hold,
                        requests=REQUESTS, read_expire_ms=0, write_expire_ms=0)
    device = Device.from_drive(sim.drive_file(drive))
    said = compose.predict(device, load(device, float(rate)), policy, EARLY[hold])
    return seen["response_ms"]["mean"] * 1e-3, said.response_time


def main():
    """Milliseconds simulated, and how far off the prediction is."""
    for drive, rates in RATES.items():
        for policy in POLICIES:
            for hold in EARLY:
                cells = []
                for rate in rates:
                    seen, said = compare(drive, rate, policy, hold)
                    cells.append("%6.2f %+5.1f %%" % (1e3 * seen, 100 * (said / seen - 1)))
                print("%-10s %-7s --hold %d  %s" % (drive, policy, hold, "  ".join(cells)))


if __name__ == "__main__":
    main()
