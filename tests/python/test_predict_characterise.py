#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Traces made with known attributes are read back: prediction/characterise.py. Takes a
second. Bounds are 4.5 standard deviations, derived where they are used."""

import dataclasses
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402

import taptest  # noqa: E402

sys.path.insert(0, os.path.join(taptest.TOP, "tools", "python"))

from freeblock import ToolError, tracefile  # noqa: E402
from freeblock.prediction import characterise  # noqa: E402
from freeblock.prediction.device import CacheSpec, Device  # noqa: E402

SIGMAS = 4.5
GIB = 1 << 21           # sectors


def chunk(seconds, sector, sectors, write=False, response=None):
    """A tracefile.Chunk of arrays or numbers."""
    count = len(seconds)

    def column(value):
        return np.broadcast_to(value, count)

    return tracefile.make_chunk(
        np.asarray(seconds) * 1e9, column(sector), column(sectors), column(write),
        -1 * np.ones(count) if response is None else column(response) * 1e9)


def pieces(whole, size):
    """The same in chunks of `size` requests."""
    for at in range(0, len(whole.time_ns), size):
        yield tracefile.take(whole, slice(at, at + size))


def runs(rng, count, requests, sectors, hole=0, start=0, span=400 * GIB):
    """First sectors of `count` runs of `requests` each, anywhere in the span."""
    first = start + rng.integers(0, span - requests * (sectors + hole), count)
    return (first[:, None] + np.arange(requests) * (sectors + hole)).ravel()


def poisson(rng, count, rate):
    """Arrival times, s."""
    return np.cumsum(rng.exponential(1 / rate, count))


class Attributes(unittest.TestCase):
    """One attribute after another."""

    def setUp(self):
        self.rng = np.random.default_rng(7)

    def near(self, found, expected, sigma):
        """Within SIGMAS standard deviations."""
        self.assertLess(abs(found - expected), SIGMAS * sigma, "%g, not %g +- %g" % (
            found, expected, sigma))

    def test_random(self):
        """Rate: n gaps have a mean of relative deviation 1/sqrt(n). cv2: of exponential gaps
        it deviates by 2/sqrt(n) (delta method: the 4th moment is 24). Shares: binomial.
        Quantiles at 1 % deviate by sqrt(0.01 * 0.99 / n) of the span."""
        n, start, span = 40000, 100 * GIB, 500 * GIB
        sizes = self.rng.choice([8, 16, 128], n)
        what = characterise.characterise(pieces(chunk(
            poisson(self.rng, n, 80.0), self.rng.integers(start, start + span - 128, n), sizes,
            self.rng.random(n) < 0.3), 1000))
        load = what.workload
        self.assertEqual(load.arrival_process, "poisson")
        self.assertEqual(what.requests, n)
        self.near(load.request_rate, 80, 80 / n ** 0.5)
        self.near(what.arrival_cv2, 1, 2 / n ** 0.5)
        self.near(load.read_fraction, 0.7, (0.7 * 0.3 / n) ** 0.5)
        mean, variance = np.mean([8, 16, 128]), np.var([8, 16, 128])
        self.near(load.request_size, mean * 512, (variance / n) ** 0.5 * 512)
        self.assertAlmostEqual(load.request_size_cv2, sizes.var() / sizes.mean() ** 2, 6)
        slack = what.bin_bytes + SIGMAS * (0.0099 / n) ** 0.5 * span * 512
        self.assertLess(abs(load.data_start - start * 512), slack)
        self.assertLess(abs(load.data_span - span * 512), 2 * slack)
        # two requests in 4e8 sectors follow one another by chance once in 1e4 traces
        self.assertIsNone(load.run_length)
        self.assertEqual(load.sparse_run_fraction, 0)
        # parts of 156 requests each deviate by 8 % from one another
        self.assertGreater(what.hot_half, 0.45)

    def test_span_without_strays(self):
        """Requests elsewhere, 0.5 % at either end of the disk, do not widen the span."""
        n = 20000
        sector = self.rng.integers(300 * GIB, 320 * GIB, n)
        sector[::200] = 8
        sector[100::200] = 4000 * GIB
        what = characterise.characterise([chunk(poisson(self.rng, n, 10), sector, 8)])
        self.assertLess(abs(what.workload.data_start / 512 - 300 * GIB), 0.5 * GIB)
        self.assertLess(abs(what.workload.data_span / 512 - 20 * GIB), 0.5 * GIB)
        self.assertEqual(what.first_byte, 8 * 512)
        self.assertEqual(what.last_byte, (4000 * GIB + 8) * 512)

    def test_hot_spot(self):
        """90 % of the requests in a tenth of the span: half of all in 5/90 of it."""
        n = 40000
        sector = self.rng.integers(0, 100 * GIB, n)
        hot = self.rng.random(n) < 8 / 9        # as 1 in 10 of the others are there, too
        sector[hot] = self.rng.integers(20 * GIB, 30 * GIB, hot.sum())
        what = characterise.characterise([chunk(poisson(self.rng, n, 10), sector, 8)])
        self.assertLess(abs(what.hot_half - 0.5 / 0.9 * 0.1), 0.01)

    def test_runs(self):
        """Runs of 4 requests, 60 % of the requests in them. Those in runs: the number of
        runs is given, so the share is exact but for chance neighbours (none). Seen to fail: a
        run over chunks counted as two; any distance forward taken for a run."""
        count = 2000
        first = self.rng.integers(0, 400 * GIB - 64, 2 * count)
        alone = self.rng.random(2 * count) < 0.5
        sector = np.concatenate([[at] if lone else at + 16 * np.arange(4)
                                 for at, lone in zip(first, alone)])
        n, in_runs = len(sector), 4 * np.count_nonzero(~alone)
        for size in (7, 1000, n):
            what = characterise.characterise(pieces(chunk(
                poisson(self.rng, n, 50), sector, 16), size))
            load = what.workload
            self.assertAlmostEqual(load.run_length, 4 * 16 * 512, 6)
            self.assertAlmostEqual(load.locality_fraction, in_runs / n, 9)
            self.assertIsNone(load.run_stride)
            self.assertEqual(what.runs, np.count_nonzero(~alone))
            self.assertAlmostEqual(what.stream_fraction, 0.75 * in_runs / n, 9)
            self.assertEqual(what.interleaved_fraction, 0)

    def test_stride(self):
        """The mean distance of the starts of runs, over chunks of any size, too; none is given if
        they are anywhere (by chance in one of 3e4 traces)."""
        first = np.cumsum(self.rng.integers(1000, 9000, 500))
        sector = (first[:, None] + np.arange(4) * 16).ravel()
        for size in (5, len(sector)):
            load = characterise.characterise(pieces(chunk(
                poisson(self.rng, len(sector), 50), sector, 16), size)).workload
            self.assertAlmostEqual(load.run_stride, np.diff(first).mean() * 512, 6)
        for _ in range(20):
            load = characterise.characterise([chunk(
                poisson(self.rng, 400, 50), runs(self.rng, 100, 4, 16), 16)]).workload
            self.assertIsNone(load.run_stride)

    def test_wider_and_wider(self):
        """Addresses that grow as the trace goes on: the map that was is folded. Seen to
        fail: its halves kept."""
        sector = np.sort(self.rng.integers(0, 8000 * GIB, 20000))
        what = characterise.characterise(pieces(chunk(
            poisson(self.rng, len(sector), 50), sector, 8), 100))
        self.assertLess(abs(what.workload.data_span / 512 - 8000 * GIB), 80 * GIB)

    def test_streams(self):
        """Five sequential readers in turn: no runs, but streams."""
        sector = (np.arange(5) * 10 * GIB + np.arange(400)[:, None] * 16).ravel()
        what = characterise.characterise(pieces(chunk(
            poisson(self.rng, len(sector), 50), sector, 16), 13))
        self.assertIsNone(what.workload.run_length)
        self.assertAlmostEqual(what.interleaved_fraction, 1 - 5 / len(sector), 9)

    def test_sparse_runs(self):
        """Holes of 24 sectors: sparse runs if that is within reach, else nothing."""
        sector = runs(self.rng, 1000, 6, 8, 24)
        times = poisson(self.rng, len(sector), 50)
        for size in (11, len(sector)):
            load = characterise.characterise(
                pieces(chunk(times, sector, 8), size), reach=24 * 512).workload
            self.assertEqual(load.requests_per_sparse_run, 6)
            self.assertEqual(load.sparse_run_length, (6 * 8 + 5 * 24) * 512)
            self.assertEqual(load.sparse_run_fraction, 1)
            self.assertIsNone(load.run_length)
        load = characterise.characterise([chunk(times, sector, 8)], reach=23 * 512).workload
        self.assertEqual(load.sparse_run_fraction, 0)

    def test_reads_after_reads(self):
        """Of runs all of one direction, and of requests that choose theirs one by one."""
        sector = runs(self.rng, 3000, 4, 8)
        times = poisson(self.rng, len(sector), 50)
        whole = np.repeat(self.rng.random(3000) < 0.4, 4)
        each = self.rng.random(len(sector)) < 0.4
        share = [characterise.characterise([chunk(times, sector, 8, write)]).reads_after_reads
                 for write in (whole, each)]
        self.assertEqual(share[0], 1)
        # 9000 that go on, 0.6 of them from reads
        self.near(share[1], 0.6, (0.24 / 5400) ** 0.5)

    def test_bursts(self):
        """Bursts of 5 at 1 ms, 100 ms apart; some requests alone."""
        groups = np.where(self.rng.random(1200) < 0.25, 1, 5)
        begin = np.cumsum(0.1 + 0.004 * (groups == 5))
        seconds = np.concatenate([at + 0.001 * np.arange(size)
                                  for at, size in zip(begin, groups)])
        sector = self.rng.integers(0, 400 * GIB, len(seconds))
        for size in (3, len(seconds)):
            what = characterise.characterise(pieces(chunk(seconds, sector, 8), size),
                                             service_time=0.01)
            load = what.workload
            self.assertEqual(load.arrival_process, "bursty")
            self.assertAlmostEqual(load.requests_per_burst, 5, 9)
            self.assertAlmostEqual(load.burst_cv2, 0, 9)
            self.assertAlmostEqual(load.bursty_fraction, groups[groups == 5].sum() /
                                   groups.sum(), 9)
            self.assertAlmostEqual(load.burst_rate, 1000, 3)
        self.assertEqual(characterise.characterise(
            [chunk(seconds, sector, 8)]).workload.arrival_process, "poisson")

    def test_burst_goes_on(self):
        """As long as its earlier requests would still be served (4.3), though the next one takes
        longer to come than one service. Seen to fail: told by the time between two alone."""
        burst = np.array([0, 0.001, 0.002, 0.017, 0.018, 0.047, 0.061])
        seconds = (np.arange(200)[:, None] * 0.5 + burst).ravel()
        sector = self.rng.integers(0, 400 * GIB, len(seconds))
        for size in (3, len(seconds)):
            load = characterise.characterise(pieces(chunk(seconds, sector, 8), size),
                                             service_time=0.01).workload
            # five have 50 ms of service: the sixth comes amid them, the last after all six
            self.assertEqual(load.requests_per_burst, 6)
            self.assertAlmostEqual(load.bursty_fraction, 6 / 7)
            # they find 0, 9, 18, 13, 22 and 3 ms of work; 2.5 are before each: 2.5 (10 ms - gap)
            self.assertAlmostEqual(load.burst_rate, 1 / (0.010 - 0.065 / 6 / 2.5), 3)

    def test_streams_and_cache(self):
        """Streams in turns are runs to a cache that reads ahead for each, and no runs to others;
        requests anywhere are runs to none. Seen to fail: one segment is enough; no cache needed."""
        number = np.arange(4000)
        sector = number % 4 * 10 * GIB + number // 4 * 16
        several = CacheSpec(4, 1 << 20, "segment")
        for where, cache, run in (
                (sector, several, 4000 / 4 * 8192), (sector, None, None),
                (sector, dataclasses.replace(several, segments=1), None),
                (sector, dataclasses.replace(several, read_ahead="none"), None),
                (self.rng.permutation(number) * 1000, several, None)):
            what = characterise.characterise([chunk(poisson(self.rng, 4000, 50.0), where, 16)])
            load = characterise.of_device(what, mock.Mock(cache=cache))
            self.assertEqual(load.run_length and round(load.run_length), run)

    def test_pauses_are_no_bursts(self):
        """Poisson arrivals with pauses between them vary much; pairs, though as short as
        chance makes bursts, are too many. Seen to fail: chance not allowed for."""
        gaps = self.rng.exponential(0.05, 20000)
        gaps[::100] += 8
        sector = self.rng.integers(0, 400 * GIB, len(gaps))
        what = characterise.characterise([chunk(np.cumsum(gaps), sector, 8)], service_time=0.01)
        self.assertGreater(what.arrival_cv2, characterise.BURSTY_CV2)
        self.assertEqual(what.workload.arrival_process, "poisson")
        gaps[1::2] = 0.001
        what = characterise.characterise([chunk(np.cumsum(gaps), sector, 8)], service_time=0.01)
        self.assertEqual(what.workload.arrival_process, "bursty")

    def test_pauses(self):
        """Pauses over a second are left out of the effective rate, others are not. Seen to fail:
        none left out."""
        gaps = np.tile([0.02] * 99 + [7.0], 40)
        gaps[50::400] = 0.9
        seconds = np.cumsum(gaps)
        what = characterise.characterise(pieces(chunk(
            seconds, self.rng.integers(0, GIB, len(gaps)), 8), 77))
        duration, pauses = seconds[-1] - seconds[0], 40 * 7.0
        self.assertAlmostEqual(what.pauses, pauses, 6)
        self.assertAlmostEqual(what.workload.request_rate, (len(gaps) - 1) / duration, 6)
        self.assertAlmostEqual(what.workload.effective_request_rate,
                               (len(gaps) - 1) / (duration - pauses), 6)

    def test_constant(self):
        """Constant arrivals; closed ones if responses show it."""
        n = 3000
        sector = self.rng.integers(0, GIB, n)
        seconds = np.arange(n) / 120
        self.assertEqual(characterise.characterise(
            [chunk(seconds, sector, 8)]).workload.arrival_process, "constant-open")
        self.assertEqual(characterise.characterise(pieces(chunk(
            seconds, sector, 8, response=0.005), 100)).workload.arrival_process,
                         "constant-closed")
        late = np.full(n, 0.005)
        late[7] = 0.02
        self.assertEqual(characterise.characterise(pieces(chunk(
            seconds, sector, 8, response=late), 100)).workload.arrival_process,
                         "constant-open")

    def test_seldom(self):
        """Open arrivals that are so seldom that none finds another: not taken for closed ones. Seen
        to fail: no matter how seldom."""
        what = characterise.characterise([chunk(
            poisson(self.rng, 400, 2), self.rng.integers(0, GIB, 400), 8, response=1e-6)])
        self.assertEqual(what.workload.arrival_process, "poisson")
        self.assertEqual(what.idle_response, what.mean_response)

    def test_closed(self):
        """One process that thinks: its mean deviates by 1/sqrt(n)."""
        n = 4000
        think = self.rng.exponential(0.03, n)
        seconds = np.cumsum(think + 0.008) - 0.008
        what = characterise.characterise(pieces(chunk(
            seconds, self.rng.integers(0, GIB, n), 8, response=0.008), 99))
        self.assertEqual(what.workload.arrival_process, "closed")
        self.assertEqual(what.workload.outstanding, 1)
        self.near(what.workload.think_time, 0.03, 0.03 / n ** 0.5)
        self.near(what.workload.think_cv2, 1, 2 / n ** 0.5)
        self.assertAlmostEqual(what.idle_response, 0.008, 9)

    def test_reach(self):
        """The x of figure 4 is what a drive can read ahead."""
        def disk(**cache):
            return Device.three_part(1e-3, 1e-4, 3e-3, 1e-6, 300, 0.01, 4, 1000, 100,
                                     cache=CacheSpec(**cache) if cache else None)
        self.assertEqual(characterise.reach_of(disk()), 100 * 512)
        self.assertEqual(characterise.reach_of(disk(
            segments=1, segment_bytes=65536, read_ahead="none")), 100 * 512)
        self.assertEqual(characterise.reach_of(disk(segments=1, segment_bytes=65536)), 65536)
        self.assertEqual(characterise.reach_of(disk(
            segments=1, segment_bytes=65536, read_ahead_bytes=8192)), 8192)
        self.assertEqual(characterise.reach_of(disk(
            segments=1, segment_bytes=1 << 20, read_ahead="track")), 100 * 512)

    def test_refused(self):
        """What has no rate, and arguments that make no sense."""
        for wrong, words in ((lambda: characterise.characterise([]), "0 requests"),
                             (lambda: characterise.characterise([chunk([1, 1], 8, 8)]),
                              "at one time"),
                             (lambda: characterise.characterise([], reach=-1), "reach -1"),
                             (lambda: characterise.characterise([], service_time=0),
                              "service_time 0")):
            with self.assertRaises(ToolError) as caught:
                wrong()
            self.assertIn(words, str(caught.exception))

    def test_file(self):
        """Through the shared reader, from a file of fio's."""
        lines = ["fio version 3 iolog", "0 /dev/sda add", "0 /dev/sda open"]
        lines += ["%d /dev/sda %s %d 4096" % (10000 * i, ("read", "write")[i % 4 == 0], 4096 * i)
                  for i in range(200)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log")
            with open(path, "w", encoding="ascii") as file:
                file.write("\n".join(lines) + "\n")
            load = characterise.characterise(tracefile.read(path)).workload
        self.assertAlmostEqual(load.request_rate, 100, 9)
        self.assertEqual((load.read_fraction, load.run_length), (0.75, 200 * 4096))

    def test_million(self):
        """A million requests: says how long it takes."""
        n = 1 << 20
        whole = chunk(poisson(self.rng, n, 100), runs(self.rng, n // 8, 8, 16), 16)
        began = time.process_time()
        what = characterise.characterise(pieces(whole, 1 << 16), 65536, 0.01)
        print("# %.2f s for %d requests" % (time.process_time() - began, n))
        self.assertEqual(what.workload.run_length, 8 * 16 * 512)


if __name__ == "__main__":
    taptest.main()
