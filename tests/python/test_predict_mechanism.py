#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the analytic model's mechanism: seeks, rotation, transfers, and what they are made
of. Expectations are sums over all pairs of cylinders, drawn requests, and the drive engine
with one request outstanding. Prints TAP; takes some 3 s."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "python"))

import taptest  # noqa: E402
from freeblock import ToolError, hosts, sim, truth  # noqa: E402
from freeblock.fbmodel import seal  # noqa: E402
from freeblock.prediction import seek  # noqa: E402
from freeblock.prediction.device import Device, ThreePart  # noqa: E402
from freeblock.prediction.distribution import Dist  # noqa: E402
from freeblock.prediction.mechanism import Mechanism, gamma_nodes  # noqa: E402
from freeblock.prediction.workload import Workload  # noqa: E402

# The HP 97560's seek curve (Ruemmler and Wilkes, 1994), s and cylinders
CURVE = ThreePart(3.24e-3, 0.4e-3, 8e-3, 0.008e-3, 383)


def workload(device, size, **more):
    """Requests anywhere on a device, one outstanding."""
    said = {"read_fraction": 1.0, "data_span": device.capacity, **more}
    return Workload(10.0, "constant-closed", size, **said).check()


def paper_disk(**more):
    """A disk in the paper's own terms."""
    return Device.three_part(*CURVE, revolution_time=15e-3, heads=19, cylinders=1962,
                             sectors_per_track=72, **more)


class Distribution(unittest.TestCase):
    """Times on a grid."""

    def test_sums(self):
        """Means of sums, shifts and mixtures are exact; variances but for the grid's."""
        one, step = Dist.uniform(0, 6e-3), 40e-6
        both = one.convolve(Dist.of([1e-3, 2.51e-3], [0.25, 0.75], step)).shift(0.333e-3)
        self.assertAlmostEqual(both.mean(), 3e-3 + 0.25e-3 + 0.75 * 2.51e-3 + 0.333e-3, 12)
        spread = 0.25 * 0.75 * 1.51e-3 ** 2
        self.assertAlmostEqual(both.variance(), 3e-6 + spread, delta=3 * step ** 2)
        mixed = Dist.mix((1, 3), (one, both))
        self.assertAlmostEqual(mixed.mean(), one.mean() / 4 + both.mean() * 3 / 4, 12)
        self.assertAlmostEqual(mixed.p.sum(), 1, 12)

    def test_long(self):
        """The convolution by Fourier's transform is the plain one."""
        long = Dist.of(np.linspace(0, 30e-3, 900), np.linspace(1, 3, 900))
        found = long.convolve(long).p
        self.assertLess(np.max(np.abs(found - np.convolve(long.p, long.p))), 1e-12)

    def test_below_zero(self):
        """What is shifted below 0 is at 0; at_least() is a floor."""
        one = Dist.uniform(0, 6e-3, 10e-6)
        self.assertAlmostEqual(one.shift(-3e-3).mean(), 3e-3 / 4, delta=1e-6)
        self.assertAlmostEqual(one.at_least(3e-3).mean(), 3e-3 + 3e-3 / 4, delta=1e-6)

    def test_gamma(self):
        """Sizes with the gamma distribution's first moments."""
        values, weights = gamma_nodes(8192, 0.5)
        shape, scale = 2.0, 4096.0
        wanted = 1.0
        for power in range(1, 6):
            wanted *= scale * (shape + power - 1)
            self.assertAlmostEqual(weights @ values ** power / wanted, 1, 9)


class Seeks(unittest.TestCase):
    """How far and how long."""

    def test_all_pairs(self):
        """(2): the closed form is the mean over all pairs of cylinders of small disks. Seen to
        fail: the jump at e left out; with the tail at y for y - 1/2."""
        for cylinders in (50, 300, 1000):
            at = np.arange(cylinders)
            time = CURVE.time(np.abs(at[:, None] - at[None, :]))
            mean, second = seek.moments(CURVE, cylinders, least=0.5)
            self.assertAlmostEqual(mean / time.mean(), 1, delta=1e-4)
            self.assertAlmostEqual(second / (time ** 2).mean(), 1, delta=1e-4)

    def test_pending(self):
        """(4) with (2), n whole or not: against the integral of g(y) (n + 1)/C (1 - y/C)^n."""
        edges = np.linspace(0, 1962, 400001)
        y = (edges[1:] + edges[:-1]) / 2
        time = CURVE.time(y)
        for n in (0, 1, 2.5, 7, 40):
            weight = -np.diff((1 - edges / 1962) ** (n + 1))
            mean, second = seek.moments(CURVE, 1962, n)
            self.assertAlmostEqual(mean / (weight @ time), 1, delta=1e-5, msg=n)
            self.assertAlmostEqual(second / (weight @ time ** 2), 1, delta=1e-5, msg=n)
            self.assertEqual(mean, seek.mean_seek(CURVE, 1962, n))

    def test_spacings(self):
        """(4) is the distance between neighbours of n + 1 points drawn on (0, C), and to the
        ends. Seen to fail: the exponent n."""
        rng = np.random.default_rng(4)
        for n in (1, 3):
            points = np.sort(rng.random((100000, n + 1)), axis=1)
            gaps = np.diff(points, axis=1, prepend=0.0, append=1.0).ravel()
            span = seek.Span(paper_disk())
            for share in (0.05, 0.2, 0.5):
                found = span.tail(np.array([share * 1962]), n)[0]
                self.assertAlmostEqual(found, np.mean(gaps > share), delta=3e-3)

    def test_zones(self):
        """Requests even over bytes: against the sum over all pairs of the toy's cylinders, each
        as likely as it has bytes; heads, switches and settling included. Seen to fail:
        cylinders equally likely; no settling; parts of a step rounded up."""
        device = Device.from_drive(sim.drive_file("toy"))
        weight = np.concatenate([np.clip(held - np.arange(count) * slots, 0, slots)
                                 for held, count, slots in zip(
                                     device.zones.bytes / 512, device.zone_cylinders,
                                     device.zones.sectors_per_track * device.heads)])
        weight /= weight.sum()
        at = np.arange(device.cylinders)
        far = np.abs(at[:, None] - at[None, :])
        span = seek.Span(device)
        for y in (0.5, 10.5, 700.5):
            self.assertAlmostEqual(span.tail(np.array([y]))[0], weight @ (far > y) @ weight,
                                   delta=2e-6)
        for read in (True, False):
            settle = 0.0 if read else device.write_settle
            same = np.interp(far, np.append(0, device.seek_distance),
                             np.append(0, device.seek_time))
            other = np.maximum(same, device.track_switch) + settle
            same = np.where(far > 0, same + settle, 0.0)
            mean = weight @ (same / 4 + other * 3 / 4) @ weight
            second = weight @ (same ** 2 / 4 + other ** 2 * 3 / 4) @ weight
            dist = seek.Move(device, span, read).dist()
            self.assertAlmostEqual(dist.mean() / mean, 1, delta=1e-3)
            noise = device.seek_spread ** 2
            self.assertAlmostEqual(dist.variance() / (second - mean ** 2 + noise), 1, delta=4e-3)

    def test_dist_is_closed_form(self):
        """The distribution of a three-part disk has the closed form's moments, for each n."""
        move = seek.Move(paper_disk(), seek.Span(paper_disk()))
        for n in (0, 1, 4):
            mean, second = seek.moments(CURVE, 1962, n, least=0.5)
            dist = move.dist(n)
            self.assertAlmostEqual(dist.mean() / mean, 1, delta=1e-3)
            self.assertAlmostEqual(dist.second_moment() / second, 1, delta=2e-3)

    def test_inverse(self):
        """Cyl[t]: where the table falls again, the longest distance."""
        time = seek.SeekTime([1, 10, 20, 30], [1e-3, 2e-3, 1.5e-3, 3e-3])
        found = time.reach(np.array([0.5e-3, 1.6e-3, 3e-3]), 30)
        self.assertLess(found[0], 1)
        self.assertAlmostEqual(found[1], 20 + 10 * 0.1 / 1.5, delta=0.1)
        self.assertAlmostEqual(found[2], 30, delta=0.1)

    def test_fit(self):
        """A three-part table's own curve is found; another's residual is told."""
        far = np.unique(np.round(np.geomspace(1, 1961, 150)))
        curve, residual = seek.fit(far, CURVE.time(far), 1962)
        self.assertLess(residual, 20e-6)
        self.assertAlmostEqual(curve.b / CURVE.b, 1, delta=0.02)
        self.assertAlmostEqual(curve.d / CURVE.d, 1, delta=0.02)
        self.assertAlmostEqual(seek.mean_seek(curve, 1962) / seek.mean_seek(CURVE, 1962), 1,
                               delta=2e-3)
        steps = seek.fit(far, CURVE.time(far) + 1e-3 * (far % 2), 1962)[1]
        self.assertGreater(steps, 300e-6)
        with self.assertRaisesRegex(ToolError, "4 points of a seek curve, not 2"):
            seek.fit([1, 5], [1e-3, 2e-3], 10)


class Parts(unittest.TestCase):
    """Rotation, transfer, runs."""

    def test_rotation(self):
        """(5); with zero-latency access (1 - L^2) / 2 turns, L the share that is wanted."""
        device = paper_disk()
        plain = Mechanism(device, workload(device, 4096))
        self.assertAlmostEqual(plain.rotation().mean(), 7.5e-3, delta=1e-6)
        self.assertAlmostEqual(plain.rotation().variance(), 15e-3 ** 2 / 12, delta=1e-8)
        device = paper_disk(zero_latency=True)
        found = Mechanism(device, workload(device, 4096 * 3)).rotation().mean() / 15e-3
        # of 24 sectors of 72; one in nine such transfers begins 8 before a track's end, and one
        # 16 before it
        self.assertAlmostEqual(found, (1 - 1 / 9) / 2, delta=0.02)
        found = Mechanism(device, workload(device, 4096)).rotation().mean() / 15e-3
        self.assertAlmostEqual(found, (1 - 1 / 81) / 2 + 1 / 9 * 0.5 / 72, delta=5e-4)

    def test_transfer(self):
        """Sectors, and a skew at each of the (sectors - 8) / 72 ends of tracks amid
        them, since all begin at multiples of 8. Seen to fail: sectors / 72 ends; whole
        tracks left out of those that fit (144)."""
        device = paper_disk(track_switch=1.1e-3)
        for sectors in (8, 72, 144, 200):
            found = Mechanism(device, workload(device, sectors * 512)).transfer().mean()
            skew = device.zones.track_skew[0] * 18 / 19 + device.zones.cylinder_skew[0] / 19
            ends = (sectors - 8) / 72
            self.assertAlmostEqual(found / 15e-3, sectors / 72 + ends * skew, delta=2e-3)

    def test_host(self):
        """Overheads and reports come on top; behind a write others."""
        device = paper_disk(read_overhead=1e-3, write_overhead=2e-3, read_report=0.3e-3,
                            write_overhead_after_write=0.5e-3)
        bare = Mechanism(paper_disk(), workload(paper_disk(), 4096))
        full = Mechanism(device, workload(device, 4096, read_fraction=0.25))
        for read, more in ((True, 1.3e-3), (False, 0.25 * 2e-3 + 0.75 * 0.5e-3)):
            self.assertAlmostEqual(full.random(1, read).mean() - bare.random(1, read).mean(), more,
                                   delta=2e-6)
        mixed = 0.25 * full.random(1, True).mean() + 0.75 * full.random(1, False).mean()
        self.assertAlmostEqual(full.service().mean(), mixed, delta=1e-6)

    def test_runs(self):
        """(3): of four requests of a run one seeks; the others wait for a whole turn. Seen to
        fail: (5) for them; none at a track's beginning; a report left out."""
        device = paper_disk(track_switch=1.1e-3)
        run = Mechanism(device, workload(device, 4096, run_length=16384))
        alone = Mechanism(device, workload(device, 4096))
        self.assertAlmostEqual(run.mean_seek(), alone.mean_seek() / 4, delta=1e-9)
        half = Mechanism(device, workload(device, 4096, run_length=16384, locality_fraction=0.5))
        self.assertAlmostEqual(half.mean_seek(), alone.mean_seek() * 5 / 8, delta=1e-9)
        # all but those at a track's beginning, 8 of 72: they wait for its skew only
        skew = (device.zones.cylinder_skew[0] + 18 * device.zones.track_skew[0]) / 19
        for gap in (0.1e-3, 3e-3):
            skewed = skew if gap < 1e-3 else 1 + skew
            wanted = 15e-3 * (64 + 8 * skewed + 8) / 72 - gap
            self.assertAlmostEqual(run.within_run(gap=gap).mean(), wanted, delta=5e-6)
        # who is told later of the end, and tells later, comes to the same angle
        late = Mechanism(paper_disk(track_switch=1.1e-3, read_report=0.5e-3), run.workload)
        self.assertAlmostEqual(late.within_run(gap=3e-3).mean(),
                               run.within_run(gap=3e-3).mean(), delta=5e-6)
        pauses = Dist.uniform(2e-3, 4e-3)
        self.assertAlmostEqual(run.within_run(gap=pauses).mean(), wanted, delta=0.1e-3)
        stride = Mechanism(device, workload(device, 4096, run_stride=device.capacity / 20))
        self.assertLess(stride.mean_seek(), alone.mean_seek() * 0.75)

    def test_drive(self):
        """A drive's reports are late by a time even from 0 to its jitter: by half of it. Seen to
        fail: by all of it."""
        with open(sim.drive_file("atlas10k"), encoding="ascii") as file:
            text = file.read()
        self.assertIn("\njitter_ns 20000\n", text)
        with tempfile.NamedTemporaryFile("w", suffix=".fbdrive") as file:
            file.write(text.replace("\njitter_ns 20000\n", "\njitter_ns 100000\n"))
            file.flush()
            late, usual = (Device.from_drive(name)
                           for name in (file.name, sim.drive_file("atlas10k")))
        self.assertAlmostEqual(late.read_report - usual.read_report, 40e-6, 12)
        self.assertAlmostEqual(late.write_report - usual.write_report, 40e-6, 12)


class Bad(unittest.TestCase):
    """What is wrong is named, with its unit."""

    def refuse(self, pattern, make):
        """ToolError that says so."""
        with self.assertRaisesRegex(ToolError, pattern):
            make()

    def test_workload(self):
        """Attributes: missing, unknown, out of range, at odds with each other."""
        good = {"request_rate": 10, "arrival_process": "poisson", "request_size": 4096,
                "read_fraction": 1, "data_span": 1e9}
        self.assertEqual(Workload.from_dict(good).to_dict(), good)
        for change, pattern in (
                ({"request_rate": 0}, r"request_rate 0 \(requests/s\): must be at least 1e-09"),
                ({"request_rate": "10"}, r"request_rate '10' \(requests/s\): not a number"),
                ({"read_fraction": 1.5}, r"read_fraction 1.5 \(a fraction\): must be at most 1"),
                ({"arrival_process": "odd"}, "arrival_process 'odd'.*not one of poisson"),
                ({"run_length": 512}, "run_length 512 .*less than request_size, 4096 bytes"),
                ({"data_span": 512}, "request_size 4096 .*more than data_span, 512 bytes"),
                ({"data_span": float("nan")}, r"data_span nan \(bytes\): not a number"),
                ({"arrival_process": "closed"}, "outstanding None .*required"),
                ({"arrival_process": "bursty"}, "bursty_fraction 0 .*must be over 0"),
                ({"think": 1}, "no such attribute: think")):
            self.refuse(pattern, lambda said=change: Workload.from_dict({**good, **said}))
        del good["data_span"], good["request_rate"]
        self.refuse("missing: request_rate, data_span", lambda: Workload.from_dict(good))

    def test_settle(self):
        """Writes may settle sooner than reads by a drive's description, as the C2490A's do, not by
        a model. Seen to fail: a description's refused."""
        with open(sim.drive_file("toy"), encoding="utf-8") as file:
            drive = file.read().replace("write_settle_ns 200000", "write_settle_ns -200000")
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("drive", "model")]
            with open(paths[0], "w", encoding="utf-8") as file:
                file.write(drive)
            with open(paths[1], "wb") as file:
                file.write(truth.model(paths[0]))
            self.assertAlmostEqual(Device.from_drive(paths[0]).write_settle, -200e-6)
            self.refuse("write_settle_ns -200000", lambda: Device.from_model(paths[1]))

    def test_drive(self):
        """Records of a drive's description that no drive has. Seen to fail: an internal error,
        divisions by zero; a drive of 65 heads, or with a hole before its zone, foretold."""
        with open(sim.drive_file("toy"), encoding="ascii") as file:
            text = file.read()
        for old, new, pattern in (
                ("heads 4", "heads 0", "'0' is not within 1 to 64"), ("heads 4", "heads 65", "65"),
                ("period_ps 6000000000", "period_ps 0", "'0' is not within 1000000000 to"),
                ("seed 1", "sector_bytes 100", "'100' is neither 512 nor 4096"),
                ("seed 1", "physical_exponent 99", "'99' is not within 0 to 7"),
                ("seed 1", "rpm_error_ppm -1000000", "not within -10000 to 10000"),
                ("heads 4", "heads\v4", "'heads.4' is no record"),
                ("heads 4", "heads 4\u00a0# of it", "'4[?][?]' is not a number"),
                ("seek 1 700000", "seek 1 -5", "'-5' is not a number"),
                ("laplace 30000", "laplace -5", "'-5' is not a number"),
                ("zone 0 499 220", "zone 0 499 0", "'0' is not within 1 to 65535"),
                ("zone 500 999", "zone 501 999", "zone 1 starts at cylinder 501, not at 500")):
            self.assertIn(old, text)
            with tempfile.NamedTemporaryFile("w", suffix=".fbdrive") as file:
                file.write(text.replace(old, new))
                file.flush()
                self.refuse(pattern, lambda path=file.name: Device.from_drive(path))

    def test_device(self):
        """Files and attributes."""
        self.refuse("nosuch.*No such file", lambda: Device.from_model("/nosuch.fbmodel"))
        self.refuse("nosuch.*No such file", lambda: Device.from_drive("/nosuch.fbdrive"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            for text, pattern in ((b"fbmodel 2\n", "not a model"), (b"fbmodel 1\n", "end record"),
                                  (seal(b"fbmodel 1\nheads x\n"), "no record zone")):
                with open(path, "wb") as file:
                    file.write(text)
                self.refuse(path + ": .*" + pattern, lambda: Device.from_model(path))
            self.refuse(path + ".*not a drive", lambda: Device.from_drive(path))
        self.refuse(r"revolution_time 0 \(s\): must be over 0", lambda: Device.three_part(
            *CURVE, revolution_time=0, heads=1, cylinders=2, sectors_per_track=3))
        self.refuse("data_start .*more than the .* of three-part", lambda: Mechanism(
            paper_disk(), workload(paper_disk(), 4096, data_start=4096)))


def replay(drive, lines, *words):
    """Responses (s) of the engine to commands, one outstanding."""
    host = hosts.program("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
    done = subprocess.run([host, "replay", drive, *words], input="\n".join(lines) + "\n",
                          text=True, stdout=subprocess.PIPE, check=True)
    return np.array(done.stdout.split(), dtype=float) * 1e-9


class Engine(unittest.TestCase):
    """The drive engine, its cache off, one request outstanding, measured against predicted."""

    def judge(self, name, measured, dist, mean=0.01, spread=0.03):
        """Means and standard deviations are that near."""
        said = "%s: %.4f +- %.4f ms, predicted %.4f +- %.4f" % (
            name, measured.mean() * 1e3, measured.std() * 1e3, dist.mean() * 1e3,
            np.sqrt(dist.variance()) * 1e3)
        self.assertAlmostEqual(dist.mean() / measured.mean(), 1, delta=mean, msg=said)
        self.assertAlmostEqual(np.sqrt(dist.variance()) / measured.std(), 1, delta=spread,
                               msg=said)

    def test_random(self):
        """Random requests: drives, sizes, spans, reads and writes. Seen to fail: settling
        left out; zones with equal rates, or independent of the seek; switches that never miss
        their skew; a write's data there at once."""
        for name, size, share, reads in (
                ("atlas10k", 4096, 1, 1), ("atlas10k", 262144, 1, 0), ("atlas10k", 262144, 0.02, 0),
                ("nearline16", 65536, 0.2, 0.5), ("toy", 65536, 1, 0.5), ("cheetah9", 262144, 1, 0),
                ("cheetah9", 4096, 0.05, 1)):
            drive = sim.drive_file(name)
            device = Device.from_drive(drive)
            unit = int(device.block)
            start = int((1 - share) / 2 * device.capacity) // 4096
            load = workload(device, size, read_fraction=reads, data_start=start * 4096,
                            data_span=int(device.capacity * share) // 4096 * 4096)
            rng = np.random.default_rng(3)
            at = start + rng.integers(0, int(load.data_span - size) // 4096, 20000)
            lines = ["%s %d %d 0" % ("RW"[int(write)], lbn * 4096 // unit, size // unit)
                     for lbn, write in zip(at, rng.random(20000) >= reads)]
            with self.subTest(drive=name, size=size, share=share, reads=reads):
                self.judge(name, replay(drive, lines, "--set", "cache off"),
                           Mechanism(device, load).service())

    def test_runs(self):
        """Runs of eight behind which nobody waits, without a cache. Seen to fail: (5) for them;
        zero-latency requests that all end at their last sector."""
        for name, size, read, pause in (("atlas10k", 4096, True, 0), ("cheetah9", 16384, False, 0),
                                        ("toy", 8192, True, 3100000)):
            drive = sim.drive_file(name)
            device = Device.from_drive(drive)
            load = workload(device, size, read_fraction=int(read), run_length=8 * size)
            count, rng = size // 512, np.random.default_rng(2)
            starts = rng.integers(0, int(device.capacity) // 4096 - 8 * size // 4096, 2000) * 8
            lines = ["%s %d %d %d" % ("WR"[read], start + i * count, count, pause)
                     for start in starts for i in range(8)]
            found = Mechanism(device, load)
            with self.subTest(drive=name, size=size):
                measured = replay(drive, lines, "--set", "cache off").reshape(-1, 8)
                self.judge(name, measured[:, 1:].ravel(),
                           found.within_run(read, pause * 1e-9), 0.015, 0.15)
                self.judge(name, measured.ravel(), found.service(gap=pause * 1e-9), 0.015, 0.04)


if __name__ == "__main__":
    taptest.main()
