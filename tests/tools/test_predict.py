#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock predict: what it says, refuses and prints, and its batches.
Prints TAP; takes some seconds.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

import taptest  # noqa: E402

# The HP 97560 of the paper's table 3: seek curve (ms, cylinders), revolution, cylinders
# (Ruemmler and Wilkes, An introduction to disk drive modeling, table 2)
NEAR, FAR, EDGE, CYLINDERS = (3.24, 0.400), (8.00, 0.008), 383, 1962
TURN_MS = 14.99
# Table 6: (burst size, measured ms, predicted ms) of the subtraces, and of "all"
SUBTRACES = ((48, 388.2, 397.2), (53, 403.5, 423.2), (71, 542.8, 566.3), (91, 712.8, 726.5),
             (46, 367.6, 374.4), (42, 332.7, 336.4), (37, 281.2, 299.4), (50, 398.2, 403.7),
             (77, 573.6, 608.9), (77, 584.3, 608.4))
ALL = (59, 394.0, 394.2)
# Tables 4 and 5: (effective_request_rate, measured ms, utilisation)
TPC = ((18.82, 9.1, 0.147), (31.81, 7.7, 0.225), (17.28, 8.8, 0.135), (16.39, 9.6, 0.141),
       (29.62, 10.7, 0.257))


def mean_seek_ms():
    """Between two random cylinders."""
    total = 0.0
    for distance in range(1, CYLINDERS):
        near = NEAR[0] + NEAR[1] * distance ** 0.5
        far = FAR[0] + FAR[1] * distance
        total += 2 * (CYLINDERS - distance) * (near if distance <= EDGE else far)
    return total / CYLINDERS ** 2


class Errata(unittest.TestCase):
    """The sums of "Errata and readings" in Documentation/predict.rst."""

    def test_followers_wait_a_turn(self):
        """E9: what table 3's predicted writes have as the rotation of a run's followers."""
        seek = mean_seek_ms()
        self.assertAlmostEqual(seek, 12.8, delta=0.05)
        for requests, predicted in ((2, 25.6), (64, 23.0)):
            followers = 1 - 1 / requests
            waited = TURN_MS / 2 + (predicted - (28.3 - seek * followers)) / followers
            self.assertAlmostEqual(waited, 14.9, delta=0.1)

    def test_table_6(self):
        """N1: the row "all" is none of its subtraces' mean, and not 0.7 %."""
        count = len(SUBTRACES)
        self.assertAlmostEqual(sum(row[1] for row in SUBTRACES) / count, 458.5, delta=0.05)
        self.assertAlmostEqual(sum(row[2] for row in SUBTRACES) / count, 474.4, delta=0.05)
        self.assertAlmostEqual(100 * (ALL[2] / ALL[1] - 1), 0.05, delta=0.005)
        each = [row[2] / row[0] for row in SUBTRACES]
        self.assertAlmostEqual(min(each), 7.9, delta=0.05)
        self.assertAlmostEqual(max(each), 8.3, delta=0.05)

    def test_table_5(self):
        """N2: utilisation over rate leaves a delay of 0.6 to 2.0 ms."""
        services = [1e3 * busy / rate for rate, _, busy in TPC]
        self.assertAlmostEqual(min(services), 7.1, delta=0.05)
        self.assertAlmostEqual(max(services), 8.7, delta=0.05)
        delays = [row[1] - service for row, service in zip(TPC, services)]
        self.assertAlmostEqual(min(delays), 0.6, delta=0.05)
        self.assertAlmostEqual(max(delays), 2.0, delta=0.05)


if __name__ == "__main__":
    taptest.main()
