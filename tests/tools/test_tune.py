#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The tuning tool: policies, statistics and search against traces done by hand."""

import os
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

sys.path.insert(0, os.path.join(taptest.TOP, "tools"))

import numpy as np  # noqa: E402

from fbtools.tuning import intervals, policy, service  # noqa: E402

MS = 10 ** 6
# 10 ms and 0 per KiB: a request of any size takes 10 ms
TEN = service.constants("10000+0*KiB")


def spool_of(idle_ms, requests, chunk=2):
    """A spool of these intervals, read two at a time."""
    spool = intervals.Spool(chunk)
    spool.write(np.array([int(ms * MS) for ms in idle_ms]), np.array(requests))
    spool.first_ns, spool.end_ns = 0, 10 ** 9
    spool.requests = sum(requests)
    return spool.finish()


def simulate(spool, *rules, model=None):
    """Results as objects."""
    return [types.SimpleNamespace(**one) for one in policy.simulate(spool, list(rules), model)]


class Policies(unittest.TestCase):
    """Idle 25, 4, 3, 33 ms; 2, 3, 1, 5 requests behind each; requests of the scrubber
    take 10 ms, 100 KiB each."""

    def setUp(self):
        self.spool = spool_of((25, 4, 3, 33), (2, 3, 1, 5))
        self.sizes = policy.fixed(TEN, 100)

    def tearDown(self):
        self.spool.close()

    def check(self, rule, fired, used_ms, requests, delayed, slowdown_ms, worst_ms, **more):
        """One rule's figures."""
        (got,) = simulate(self.spool, rule, **more)
        self.assertEqual(got.fired, fired)
        self.assertAlmostEqual(got.idle_used, used_ms / 65)
        self.assertAlmostEqual(got.mb_s, requests * 100 * 1024 / 1e6)
        self.assertEqual(got.delayed, delayed)
        self.assertAlmostEqual(got.mean_slowdown_us, slowdown_ms * 1000 / 11)
        self.assertAlmostEqual(got.max_slowdown_us, worst_ms * 1000)

    def test_waiting(self):
        """After 6 ms: in the first interval 19 ms are left, two requests, the second ends
        1 ms late: 2 requests by 1 ms; the 4 ms absorb it. In the last 27 ms, three
        requests, 3 ms late: 5 requests."""
        self.check(policy.waiting(self.sizes, 6 * MS), 2, 46, 5, 7, 2 * 1 + 5 * 3, 3)

    def test_knock_on(self):
        """After 2 ms: 23 ms, three requests, 7 ms late (2 requests); the 4 ms are gone, 3 ms
        late (3 requests); the 3 ms are gone, too, 0 left; 31 ms, four requests, 9 ms
        late (5 requests)."""
        self.check(policy.waiting(self.sizes, 2 * MS), 2, 54, 7, 10, 2 * 7 + 3 * 3 + 5 * 9, 9)

    def test_lossless(self):
        """The same intervals as Waiting for 2 ms but from the begin: 25, three requests, 5 ms
        late (2 requests); 1 ms late (3 requests); 2 ms are left, no more than the 2:
        not used; 33, four requests, 7 ms (5)."""
        self.check(policy.lossless(self.sizes, 2 * MS), 2, 58, 7, 10, 2 * 5 + 3 * 1 + 5 * 7, 7)

    def test_oracle(self):
        """Those above 3.5 ms in the trace: 25 (5 ms late), 4 (gone, 1 ms late), 33."""
        self.check(policy.oracle(self.sizes, int(3.5 * MS)), 2, 58, 7, 10, 2 * 5 + 3 + 5 * 7, 7)

    def test_autoregression(self):
        """Predicted are 30, 1, 50 and 9 ms, wanted more than 10: the first, 5 ms late (2), 1
        ms late (3), then 2 of the 3 ms, 8 ms late (1), absorbed."""
        given = np.array([30, 1, 50, 9]) * float(MS)

        def predictions(chunks):
            place = 0
            for chunk in chunks:
                yield chunk, given[place:place + len(chunk.idle_ns)].copy()
                place += len(chunk.idle_ns)

        model = types.SimpleNamespace(predictions=predictions)
        self.check(policy.autoregression(self.sizes, 10 * MS), 2, 27, 4, 6, 10 + 3 + 8, 8,
                   model=model)
        # and after waiting 3 ms: 22, three requests, 8 ms late (2), 4 (3), 1 (1)
        self.check(policy.autoregression(self.sizes, 10 * MS, 3 * MS), 1, 22, 3, 6,
                   2 * 8 + 3 * 4 + 1, 8, model=model)

    def test_no_rest(self):
        """A request that ends as the foreground's comes delays nobody."""
        with spool_of((20,), (1,)) as spool:
            (got,) = simulate(spool, policy.waiting(self.sizes, 0))
        self.assertEqual((got.fired, got.collisions, got.delayed), (1, 0, 0))


if __name__ == "__main__":
    taptest.main()
