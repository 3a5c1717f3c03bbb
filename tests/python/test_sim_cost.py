# SPDX-License-Identifier: GPL-2.0
"""The controlled trial in the simulator: what it says of free reads' cost beside the truth, which
is what the foreground took more than the same foreground without a task, over the share of time in
which free reads were allowed; and what its guard stops.
Takes some ten seconds. Bounds of means are three of their errors, two-sided.
"""

import math
import unittest

from freeblock import ToolError, sim

SCAN = {"drive": "nearline16-wc", "rate": "24", "task": "scan", "seconds": "900"}
STREAMS = {**SCAN, "locality": "streams:4", "size": "64k", "reads": "1"}
SEEDS = ("31", "32", "33")


def runs(cell, **more):
    """A run for each seed."""
    return sim.run_jobs([sim.complete([*{**cell, "seed": seed, "trial_seed": seed,
                                         **more}.items()]) for seed in SEEDS], 1)


def mean(values):
    """Of a list."""
    return sum(values) / len(values)


class Cost(unittest.TestCase):
    """What is measured."""

    def assert_true(self, cell):
        """The mean of the trials' costs is the true one."""
        alone = runs({name: value for name, value in cell.items() if name != "task"})
        trial = runs(cell, trial="4")
        true = 1000 / .75 * (mean([r["read_ms"]["mean"] for r in trial]) -
                             mean([r["read_ms"]["mean"] for r in alone]))
        costs = [r["trial"]["read"] for r in trial]
        error = math.hypot(*(c["error_us"] for c in costs)) / len(costs)
        self.assertLess(abs(mean([c["us"] for c in costs]) - true), 3 * error)
        self.assertTrue(0 < error < max(300, true / 3))
        for result in trial:
            self.assertAlmostEqual(result["trial_share"], .25, delta=.005)
            self.assertEqual(result["cost_us"], result["trial"]["read"]["us"])

    def test_random(self):
        """Random reads and writes, idle reads: 0.6 ms of 15.4.

        Seen to fail: ends counted in the other arm."""
        self.assert_true(SCAN)

    def test_streams(self):
        """Four streams that the drive's cache serves, 64 KiB in 0.1 ms: 1 ms more.

        Seen to fail: nothing left out behind a change of arms; control in which idle reads go
        on."""
        self.assert_true(STREAMS)

    def test_off(self):
        """Without the trial nothing is told of it."""
        result = sim.simulate(**{**SCAN, "seconds": "5"})
        self.assertEqual([name for name in result if name in ("cost_us", "trial")], [])


class Arms(unittest.TestCase):
    """What control stretches do."""

    CLOSED = {"drive": "atlas10k", "task": "fresh", "seconds": "120", "trial": "4"}

    def test_auto(self):
        """The queue is the drive's in control, which is a quarter.

        Seen to fail: control in which blocks are wanted, and order and depth are the policy's."""
        result = sim.simulate(**self.CLOSED)
        self.assertGreater(result["own_order"], result["requests"] / 5)
        self.assertLess(result["own_order"], result["requests"] / 3)
        self.assertGreater(result["most_at_drive"], 2)

    def test_named(self):
        """With a policy by name two commands are at the drive, in control, too."""
        result = sim.simulate(**self.CLOSED, policy="sptf-sw", depth="2")
        self.assertEqual((result["own_order"], result["most_at_drive"]), (0, 2))

    def test_clear(self):
        """One in 32 once it is certain that the cost is below the limit, here of 10 ms."""
        results = runs(SCAN, trial="auto", idle_mean_us="10000", idle_wait_us="100000")
        # 12 blocks of 16 s, and 708 s of which 1/32; moments are drawn: 72, 72, 76 s
        share = mean([result["trial_share"] for result in results])
        self.assertAlmostEqual(share * 900, 48 + 708 / 32, delta=5)
        self.assertEqual([result["trial"]["stops"] for result in results], [0, 0, 0])


class Guard(unittest.TestCase):
    """What it stops."""

    def test_streams(self):
        """Beside cached streams idle reads cost ten times what a request takes. Not more than
        itself is allowed: both kinds stop at once, after twelve blocks, for ten minutes.

        Seen to fail: a limit that is not looked at."""
        result = sim.simulate(**{**STREAMS, "seconds": "700"}, trial="auto", trial_guard="1",
                              trial_most_ppm="1000000")
        self.assertEqual(result["trial"]["level"], "nothing")
        self.assertEqual(result["trial"]["stops"], 1)
        self.assertTrue(700 < result["trial"]["stop"]["us"] < 1400)
        self.assertLess(result["read_ms"]["mean"], .5)

    def test_calm(self):
        """Within the limit nothing stops."""
        result = sim.simulate(**SCAN, trial="auto", trial_guard="1")
        self.assertEqual((result["trial"]["level"], result["trial"]["stops"]), ("all", 0))


class Words(unittest.TestCase):
    """What is refused."""

    def test_refused(self):
        """One stretch is all control; no task; a guard without a trial."""
        for said, more in (("--trial: a block of one stretch", {"trial": "1"}),
                           ("--trial: there is no task", {"trial": "4", "task": "none"}),
                           ("--trial-guard: there is no trial", {"trial_guard": "1"})):
            with self.assertRaises(ToolError) as caught:
                sim.simulate(**{**SCAN, "seconds": "1", **more})
            self.assertIn(said, str(caught.exception))
