# SPDX-License-Identifier: GPL-2.0
"""Traces that people have, whole, cut off and damaged, put to the reader and to the commands; and
those of ../shared/cases where it is there. Takes a minute.

Seen to fail: discards taken for requests (1 << 30), passthrough commands, too; a second file's
"Input file" refused; the iolog's ns believed; a cut last line refused; a header's order ignored.
"""

import json
import os
import random
import tempfile
import unittest
from unittest import mock

import samples
import taptest
from freeblock import tracefile
from freeblock.commands import observe

SHARED = os.path.join(taptest.TOP, "..", "shared", "cases")
MODEL, LARGE = (os.path.join(taptest.TOP, "models", name + ".fbmodel")
                for name in ("atlas10k", "nearline16"))
# Of ../shared/cases: what is said of those that cannot be used
SAID = {"fio3-ms.iolog": "--unit", "fio3-ns.iolog": "--unit", "fmt-csv.txt": "blkparse -i",
        "fmt-plain.txt": "blkparse -i"}
# .. and what is idle in those about which more is known, %
IDLE = {"plain.blktrace.0": 99.0, "discards.blktrace.0": 99.0, "passthrough.blktrace.0": 99.0}
NO_TRACES = (".conf", ".py", ".sh", ".md")
DAMAGED = 12            # ways in which each is cut off, and in which bytes are changed


class Case(unittest.TestCase):
    """Tests that write files."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(folder, "trace")
        self.notes = []

    def put(self, data):
        """The file."""
        with open(self.path, "wb") as file:
            file.write(data)

    def read(self, data, unit=None):
        """The requests of a trace as one chunk."""
        self.put(data)
        return tracefile.join(list(tracefile.read(self.path, None, unit, self.notes.append)))

    def tune(self, path, *more):
        """(exit status, results, errors) of tune, with two sizes."""
        status, out, err = taptest.freeblock("tune", path, "--json", "--sizes", "64,1024", *more)
        self.assertNotIn("Traceback", err)
        return status, json.loads(out) if out else None, err

    def observe(self, path, model=MODEL):
        """The same of observe."""
        status, out, err = taptest.freeblock("observe", "--trace", path, "--model", model,
                                             "--quiet", "--json")
        self.assertNotIn("Traceback", err)
        return status, json.loads(out) if out else None, err


class Own(Case):
    """What samples.py makes."""

    def test_read(self):
        """Each has the requests that it was made from."""
        want = sorted(samples.REQUESTS, key=lambda one: one.sector)
        for name, sample in samples.READABLE.items():
            with self.subTest(name=name):
                found = self.read(sample.data)
                rows = sorted(zip(*(column.tolist() for column in found)), key=lambda row: row[1])
                self.assertEqual([row[1:4] for row in rows],
                                 [(one.sector, one.sectors, one.write) for one in want])
                # each from the first, whatever the clock counts from
                off = [row[0] - one.time for row, one in zip(rows, want)]
                self.assertLessEqual(max(off) - min(off), sample.time, "times")
                for row, one in zip(rows, want):
                    if sample.response is None:
                        self.assertEqual(row[4], -1)
                    else:
                        self.assertLessEqual(abs(row[4] - one.response), sample.response)

    def test_refused(self):
        """A line that says what to do, and the status of a wrong word."""
        for name, (data, said) in samples.REFUSED.items():
            with self.subTest(name=name):
                self.put(data)
                for status, out, err in (self.tune(self.path), self.observe(self.path)):
                    self.assertEqual((status, out), (2, None))
                    self.assertIn(said, err)
                    self.assertTrue(err.startswith("freeblock: %s: " % self.path), err)
                    self.assertEqual(err.count("\n"), 1, err)

    def test_unit(self):
        """What was refused for its times is read when the unit is said."""
        for name, unit in (("iolog in ms", "ms"), ("iolog in ns", "ns"), ("fiu in us", "us"),
                           ("alibaba in ms", "us"), ("disksim in ns", "ns")):
            with self.subTest(name=name):
                found = self.read(samples.REFUSED[name][0], unit)
                seconds = (found.time_ns[-1] - found.time_ns[0]) / 1e9
                true = (samples.REQUESTS[-1].time - samples.REQUESTS[0].time) / 1e9
                # "alibaba in ms" counts us from the wrong year
                self.assertAlmostEqual(seconds, true, delta=0.01)

    def test_commands(self):
        """tune and observe on each, and that it is short is said."""
        for name, sample in samples.READABLE.items():
            with self.subTest(name=name):
                self.put(sample.data)
                status, found, err = self.tune(self.path)
                self.assertEqual((status, found["statistics"]["requests"]),
                                 (0, len(samples.REQUESTS)), err)
                self.assertGreater(found["statistics"]["idle_share"], 0.7)
                self.assertIn("record longer", found["caveat"])
        for name in ("msr", "biosnoop", "spc", "blktrace with discards", "ftrace", "blkparse, Q"):
            with self.subTest(name=name):
                self.put(samples.READABLE[name].data)
                status, found, err = self.observe(self.path)
                self.assertEqual((status, found["requests"]), (0, len(samples.REQUESTS)), err)
                self.assertIn("record longer", found["caveat"])

    def test_others(self):
        """sim and predict read the same."""
        for name in ("msr", "systor", "trace-cmd report", "fio clat", "blktrace"):
            with self.subTest(name=name):
                self.put(samples.READABLE[name].data)
                status, out, err = taptest.freeblock(
                    "sim", "--arrivals", self.path, "--drive", "atlas10k", "--task", "none",
                    "--json", "--quiet")
                self.assertEqual(status, 0, err)
                (found,) = json.loads(out)
                self.assertEqual(found["settings"]["trace"], self.path)
                status, out, err = taptest.freeblock(
                    "predict", "--trace", self.path, "--model", MODEL, "--json")
                self.assertEqual(status, 0, err)
                self.assertEqual(json.loads(out)["trace"]["requests"], len(samples.REQUESTS))
                self.assertIn("record longer", json.loads(out)["trace"]["caveat"])

    def test_long(self):
        """Requests longer than the simulator's are served in pieces. Seen to fail: refused, though
        Linux sends 1280 KiB."""
        lines = ["%d,usr,1,Read,%d,%d,100000" % (
            (samples.BEGAN + n * 10 ** 8) // 100, n << 26, 2560 << 9) for n in range(50)]
        self.put(("\n".join(lines) + "\n").encode())
        status, found, err = self.observe(self.path)
        self.assertEqual(status, 0, err)
        self.assertEqual(found["requests"], 100)


class Damaged(Case):
    """What is cut off is read as far as it is whole; garbage is refused."""

    def test_cut(self):
        """At random places in the second half: most of the requests are there, and no error."""
        rng = random.Random(2)
        for name, sample in samples.READABLE.items():
            for _ in range(DAMAGED):
                at = rng.randrange(len(sample.data) // 2, len(sample.data))
                with self.subTest(name=name, at=at):
                    found = self.read(sample.data[:at])
                    self.assertGreater(len(found.time_ns), 0.4 * len(samples.REQUESTS))
                    # a number that is cut off must not look like a pause of years
                    self.assertLess(found.time_ns[-1] - found.time_ns[0], 60e9)

    def test_said(self):
        """That something was left out is said."""
        for name in ("msr", "blkparse", "blktrace", "fiu", "fio iolog"):
            data = samples.READABLE[name].data.removesuffix(samples.SUMMARY.encode())
            self.notes.clear()
            self.read(data[:-20] if name == "blktrace" else data[:data[:-1].rindex(b"\n") + 13])
            with self.subTest(name=name):
                self.assertIn("cut off: left out", " ".join(self.notes))

    def test_changed(self):
        """Any bytes anywhere: requests or an Error, nothing else."""
        rng = random.Random(3)
        for name, sample in samples.READABLE.items():
            for _ in range(DAMAGED):
                data = bytearray(sample.data)
                for _ in range(rng.choice((1, 3, 100))):
                    at = rng.randrange(len(data))
                    data[at:at + rng.randrange(3)] = rng.choice(
                        (b"", b"\0", b"\n", b",", b" ", b"9" * 25, b"-1", b"\xff", b"nan", b"1e9"))
                with self.subTest(name=name, data=bytes(data[:60])):
                    try:
                        found = self.read(bytes(data))
                    except tracefile.Error as error:
                        self.assertTrue(str(error).startswith(self.path + ": "), error)
                    else:
                        self.assertGreater(int(found.sectors.min()), 0)
                        self.assertGreaterEqual(int(found.sector.min()), 0)


class Shared(Case):
    """../shared/cases."""

    @staticmethod
    def foretold(_model, chunk, *_):
        """What observe would go on from."""
        return {"requests": len(chunk.time_ns), "seconds": float(chunk.time_ns[-1]) / 1e9}

    def test_all(self):
        """Each is tuned for and observed, or refused with the line that is meant. What a disk that
        is large enough would do is left out: it takes a minute for each."""
        if not os.path.isdir(SHARED):
            self.skipTest("no %s" % SHARED)
        for name in sorted(os.listdir(SHARED)):
            path = os.path.join(SHARED, name)
            if name.endswith(NO_TRACES) or os.path.isdir(path):
                continue
            with self.subTest(name=name):
                with mock.patch.object(observe, "predict", self.foretold):
                    ways = (self.tune(path), self.observe(path, LARGE))
                for status, _, err in ways:
                    self.assertEqual(status, 2 if name in SAID else 0, err)
                    self.assertIn(SAID.get(name, ""), err)
                if name not in SAID:
                    statistics = ways[0][1]["statistics"]
                    self.assertEqual(statistics["requests"], ways[1][1]["requests"])
                    self.assertAlmostEqual(100 * statistics["idle_share"], IDLE.get(name, 85),
                                           delta=0.1 if name in IDLE else 15)
