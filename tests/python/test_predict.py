# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock predict: what it says, refuses and prints.
Takes some seconds.
"""

import dataclasses
import json
import math
import os
import random
import tempfile
import unittest
import warnings

import taptest
from taptest import TOP
from freeblock import ToolError, sim
from freeblock.formats.fbmodel import seal
from freeblock.prediction import answer, characterise, freeband, freeidle, paper, question, units
from freeblock.prediction.workload import ARRIVALS, Workload

ATLAS, TOY, NEARLINE = (os.path.join(TOP, "models", name + ".fbmodel")
                        for name in ("atlas10k", "toy", "nearline16"))
LOAD = {"request_rate": "60", "arrival_process": "poisson", "request_size": "8k",
        "read_fraction": "67%", "data_span": "all"}


def words(**changes):
    """LOAD as --set's words; None leaves one out."""
    said = {**LOAD, **changes}
    return ["--set"] + ["%s=%s" % item for item in said.items() if item[1] is not None]


def predict(*args):
    """Exit status, output, errors."""
    return taptest.freeblock("predict", "--quiet", *args)


def write_trace(path, capacity, rate=60, requests=600, seed=1):
    """Poisson arrivals of 8 KiB as an MSR trace."""
    rng, now = random.Random(seed), 0.0
    with open(path, "w", encoding="ascii") as file:
        for _ in range(requests):
            now += rng.expovariate(rate)
            file.write("%d,host,0,%s,%d,8192,100000\n" % (
                128166372003061629 + int(now * 1e7), rng.choice(("Read", "Read", "Write")),
                rng.randrange(capacity // 8192) * 8192))


class Folder(unittest.TestCase):
    """With a folder of its own."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def file(self, name, text=""):
        """A file's path."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def trace(self, name="t.csv", **more):
        """A trace that fits on the toy drive."""
        path = os.path.join(self.folder, name)
        write_trace(path, int(question.Disk(TOY).device().capacity), **more)
        return path


class Units(unittest.TestCase):
    """What may be written, and what not.

    Seen to fail: k taken for 1000, an unknown suffix for none."""

    def test_numbers(self):
        """By unit."""
        for unit, said in (
                ("bytes", {"512": 512, "8k": 8192, "8KiB": 8192, "8kB": 8000, "1M": 1 << 20,
                           "512B": 512, "1.5k": 1536, "16TB": 16e12, "1e3": 1000}),
                ("requests/s", {"120": 120, "120/s": 120, "600/min": 10, "0.5 /s": 0.5}),
                ("s", {"0.01": 0.01, "10ms": 0.01, "500us": 5e-4, "1h": 3600}),
                ("a fraction", {"0.67": 0.67, "67%": 0.67}), ("requests", {"4": 4})):
            for text, value in said.items():
                self.assertAlmostEqual(units.number(text, unit), value, msg=text)

    def test_refused(self):
        """Units of something else, or of nothing."""
        for unit, said in (("bytes", ("8q", "8ms", "8iB", "k", "", "8 k k", "0x10", "8k/s")),
                           ("requests/s", ("10ms", "10k", "10/d", "/s")),
                           ("s", ("10m", "10k", "1%")), ("a fraction", ("67k", "2/3")),
                           ("requests", ("4k", "4/s", "nan"))):
            for text in said:
                with self.assertRaises(ToolError, msg="%s: %r" % (unit, text)):
                    units.number(text, unit)


class Refused(Folder):
    """Bad input: exit status 1, or 2 if an option is wrong, nothing on standard output, the
    reason on the other.

    Seen to fail: traces not checked against the disk, a key set twice, exit status 0."""

    def refused(self, *args, says):
        """One command."""
        status, out, err = predict(*args)
        self.assertEqual((status, out), (taptest.status_of(err), ""), args)
        for part in (says,) if isinstance(says, str) else says:
            self.assertIn(part, err)
        self.assertNotIn("Traceback", err)
        self.assertNotIn("internal error", err)

    def test_arguments(self):
        """What contradicts itself or is not there."""
        self.refused(*words(), says="specify --model FILE or --drive FILE")
        self.refused("--model", ATLAS,
                     says="specify --trace FILE, --workload FILE or --set KEY=VALUE")
        self.refused("--drive", "nosuch", *words(), says="no drive nosuch")
        self.refused("--model", ATLAS, "--set", "request_rate", says="KEY=VALUE")
        self.refused("--model", ATLAS, "--set", "rate=3", says=("rate", "request_rate"))
        self.refused("--model", ATLAS, *words(), "request_rate=3", says="twice")
        self.refused("--model", ATLAS, TOY, TOY, "--pairs", *words(), says="3 disks but 1 work")
        self.refused("--model", ATLAS, "--device", "sda", *words(), says="--device")
        self.refused("--model", ATLAS, *words(), "--order", "nosuch", says=("nosuch", "clook"))
        self.refused("--model", ATLAS, *words(), "--policy", "nosuch", says=("nosuch", "sptf"))
        self.refused("--model", ATLAS, *words(), "--conservatism", "3k", says=("3k", "a time"))
        # seconds, where us were meant
        self.refused("--model", ATLAS, *words(), "--conservatism", "300",
                     says=("300.0 (s)", "0.01"))

    def test_drive(self):
        """A description with a word or value that the format does not have: its line, and the
        word. Seen to fail: taken, as were all but what the prediction reads, and reckoned with
        for ever."""
        with open(sim.drive_file("toy"), encoding="utf-8") as file:
            text = file.read()
        line = text.count("\n") + 1
        for record, says in (("rotatoin on", "'rotatoin' is no record"),
                             ("destage lazy", "'lazy' is none of 'eager' 'idle'"),
                             ("queue_depth 3 4", "'queue_depth' takes 1 value, not 2"),
                             ("rpm_error_ppm -999999", "'-999999' is not within -10000 to 10000"),
                             ("noise gauss 1000000000000", "'1000000000000' is not within 0 to"),
                             ("zone 1400 1 140 0 0 0 0", "'1' is not within 1400 to 10000000"),
                             ("slip 2 99999999999", "zone 2: slip 99999999999+1 lies beyond")):
            self.refused("--drive", self.file("odd.fbdrive", text + record + "\n"), *words(),
                         says=("odd.fbdrive: line %d: %s" % (line, says), "(with --set)"))

    def test_cache(self):
        """Its options. Seen to fail: a rate that took all memory."""
        for option, text, says in (
                ("--cache", "16", "''"), ("--cache", "0x512k", "segments must be over 0"),
                ("--cache", "1.5x512k", "1.5 segments"), ("--cache", "4x1q", "1q"),
                ("--read-ahead", "far", "far"), ("--read-ahead", "segment:0", "over 0"),
                ("--read-ahead-on-hit", "yes", "0 or 1"), ("--cache-rate", "3ms", "3ms"),
                ("--cache-rate", "1e-9", "not within 1e+06 to 1e+12"),
                ("--cache-hit", "0", "over 0"), ("--write-cache", "32", "write_cache back")):
            self.refused("--model", ATLAS, *words(), option, text, says=(option, says))
        self.refused("--model", ATLAS, *words(), "--cache", "off", "--read-ahead", "none",
                     says="--cache off")
        self.refused("--drive", "toy", *words(), "--cache", "off",
                     says="--cache needs --model FILE")

    def test_attributes(self):
        """Missing ones are named, units and ranges checked. Seen to fail: internal errors, or ever
        longer distributions."""
        for name in ("request_rate", "arrival_process", "request_size", "read_fraction",
                     "data_span"):
            self.refused("--model", ATLAS, *words(**{name: None}), says="missing: " + name)
        for changes, says in (
                ({"request_size": "8q"}, ("request_size", "8q", "a size")),
                ({"request_rate": "-5"}, ("request_rate", "-5", "requests/s")),
                ({"request_rate": "10ms"}, ("request_rate", "10ms", "a rate")),
                ({"read_fraction": "67"}, ("read_fraction", "67", "at most 1")),
                ({"arrival_process": "random"}, ("arrival_process", "random", "poisson")),
                ({"arrival_process": "closed"}, ("outstanding", "required")),
                ({"run_length": "4k"}, ("run_length", "4096", "request_size")),
                ({"requests_per_burst": "1e300"}, ("requests_per_burst", "at most 1e+06")),
                ({"requests_per_burst": "1e5", "burst_cv2": "1e5"}, ("100000.0", "burst_cv2")),
                ({"run_length": "1e300"}, ("run_length", "1e+300", "at most 1e+18")),
                ({"run_length": "1T"}, ("run_length", "more than data_span")),
                ({"outstanding": "1e400"}, ("outstanding", "at most")),
                ({"data_span": "16T"}, ("data_span", "ATLAS"))):
            self.refused("--model", ATLAS, *words(**changes), says=says)
        said = {**LOAD, "request_rate": 60}
        for changes, says in (
                ({"data_start": None}, ("data_start", "None", "is required")),
                ({"data_start": [1]}, ("data_start", "[1]", "not a number")),
                ({"request_rate": 10 ** 200}, ("request_rate", "at most 1e+09"))):
            path = self.file("w.json", json.dumps({**said, **changes}))
            self.refused("--model", ATLAS, "--workload", path, says=(path, *says))

    def test_files(self):
        """Broken ones, by name, line and reason. Seen to fail: the first of an attribute's two
        values forgotten, an internal error for a number of many digits, the drive's line after the
        workload's name."""
        for text, says in (("{", "line 1"), ("[1]", "attributes by name"),
                           ('\n{"a" 3}', "line 2"),
                           ('{"request_rate": "5 apples"}', ("request_rate", "5 apples")),
                           ('{"request_rate": 5}', "missing: "), ('{"x": 5}', "x"),
                           ('{"request_rate": 5,\n"data_span": 9,\n"request_rate": 6}',
                            "line 3: 'request_rate' is there twice"),
                           ('{\n"request_rate": %s}' % ("7" * 5000),
                            "line 2: a number of 5000 digits")):
            path = self.file("w.json", text)
            self.refused("--model", ATLAS, "--workload", path,
                         says=(path,) + ((says,) if isinstance(says, str) else says))
        self.refused("--model", ATLAS, "--workload", self.folder + "/none", says="/none: No such")
        bad = self.file("bad.json", '{"a" 3}')
        odd = self.file("odd.fbdrive", "fbdrive 1\n\nheads 99\n")
        self.refused("--drive", odd, "--workload", bad, says=odd + ": line 3: '99'")
        self.refused("--drive", "toy", "--workload", bad, says=bad + ": line 1: ")
        self.refused("--model", self.file("m", "hello\n"), *words(), says="/m: ")
        self.refused("--model", ATLAS, "--trace", self.file("t.csv", "hello\n"), says="t.csv")

    def test_other_disk(self):
        """A trace of a larger disk than the model's."""
        path = os.path.join(self.folder, "t.csv")
        write_trace(path, int(question.Disk(ATLAS).device().capacity))
        self.refused("--model", TOY, "--trace", path, says=("t.csv", "is it this disk's"))
        self.assertEqual(predict("--model", ATLAS, "--trace", path)[0], 0)

    def test_write_cache(self):
        """A drive whose cache holds writes: the command that simulates it, where there are writes.
        Seen to fail: told as if there were no such cache."""
        drive = sim.drive_file("archive8")
        self.refused("--drive", "archive8", *words(), says=(
            "holds writes is not computed", "freeblock sim --drive %s --rate 60 --reads 0.67 "
            "--size 8k --task scan --whole 1" % drive))
        self.assertEqual(predict("--drive", "archive8", *words(read_fraction="1"))[0], 0)
        self.refused("--drive", "archive8", "--trace", self.trace(), says="--arrivals")

    def test_crowd(self):
        """So many processes that think are not computed; simulated they can be."""
        self.refused("--model", ATLAS, *words(
            arrival_process="closed", outstanding="201", think_time="10ms"),
                     says="freeblock sim --outstanding 201 --think 10 ")


class Answers(Folder):
    """One disk, one workload.

    Seen to fail: never saturated; a key renamed; --order, --set over a trace or a file, and
    the cache's options without effect."""

    def one(self, *args):
        """The object of one command."""
        status, out, err = predict("--json", *args)
        self.assertEqual((status, err), (0, ""), args)
        return json.loads(out)

    def test_saturated(self):
        """More than the disk can do is an answer: at how much, and no time at all."""
        said = self.one("--model", TOY, *words(request_rate="100000"))
        for name, order in said["orders"].items():
            with self.subTest(name):
                self.assertTrue(order["saturated"])
                self.assertIsNone(order["response_ms"])
                self.assertIsNone(order["queue_ms"])
                self.assertGreater(order["saturated_at_per_s"], 10)
                self.assertLess(order["saturated_at_per_s"], 100000)
        status, out, _ = predict("--model", TOY, *words(request_rate="100000"))
        self.assertEqual(status, 0)
        self.assertRegex(out, r"saturated at \(requests/s\): fcfs at [0-9.]+, .* are 1e\+05")
        self.assertNotIn("nan", out)

    def numbers(self, said, path=""):
        """All numbers of an object, by path."""
        for name, value in said.items():
            if isinstance(value, dict):
                yield from self.numbers(value, path + name + ".")
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                yield path + name, value

    @staticmethod
    def any_load(rng):
        """Attributes at random, over all that is allowed; data on the whole disk."""
        def between(least, most):
            return math.exp(rng.uniform(math.log(least), math.log(most)))
        size = 512 * int(between(1, 4096))
        said = {"request_rate": between(1e-3, 2000), "request_size": size, "data_span": "all",
                "arrival_process": rng.choice(ARRIVALS), "read_fraction": rng.choice((0, 0.6, 1)),
                "request_size_cv2": rng.choice((0, 1)), "run_length": size * between(1, 50),
                "locality_fraction": rng.choice((0, 0.5, 1)), "run_stride": between(1e4, 1e8),
                "requests_per_sparse_run": between(1, 60),
                "sparse_run_fraction": rng.choice((0, 0.5)),
                "outstanding": rng.choice((1, 3, 50)), "think_time": rng.choice((0, 1e-4, 1))}
        if said["arrival_process"] == "bursty":
            said.update(requests_per_burst=between(1, 200), bursty_fraction=rng.random(),
                        burst_cv2=rng.choice((0, 2)),
                        burst_rate=said["request_rate"] * between(1, 1000))
        return tuple(said.items())

    def test_anything(self):
        """Whatever is allowed has an answer of finite numbers, none negative, and numpy has no
        complaints. Seen to fail: orders that saved more than short strides leave to save."""
        rng = random.Random(4)
        disks = [question.Disk(path, cache=cache) for path in (TOY, NEARLINE)
                 for cache in (None, question.ASSUMED)]
        for _ in range(16):
            load = question.Load("any", changes=self.any_load(rng))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                said = answer.answer((rng.choice(disks), load, answer.settings()))
            self.assertNotIn("error", said, load)
            for path, value in self.numbers(said):
                self.assertTrue(0 <= value < math.inf or path in (
                    "free.cost_pct", "free.slowdown_pct"), (path, value, load))

    def test_schema(self):
        """All keys that Documentation/predict.rst names, and no others."""
        with open(os.path.join(TOP, "Documentation", "predict.rst"), encoding="utf-8") as file:
            text = file.read()
        said = self.one("--model", TOY, "--trace", self.trace())
        for part in (said, said["orders"]["fcfs"], said["free"], said["trace"], said["cache"],
                     said["paper"]):
            for key in part:
                self.assertTrue("``%s``" % key in text, key)

    def test_short_tracks(self):
        """Tracks that hold hardly a granule whole are refused, with how long they are; such as hold
        two are not. Seen to fail: an error of an array's index."""
        with open(sim.drive_file("toy"), encoding="utf-8") as file:
            lines = [line for line in file if line.split()[:1] not in (["slip"], ["remap"])]
        for spt, told in ((6, "tracks of 3072 bytes"), (15, "tracks of 7680 bytes"), (16, None)):
            text = "".join("zone 0 1399 %d 0 0.1 0.2 0\n" % spt if line.startswith("zone 0 ")
                           else "" if line.startswith("zone ") else line for line in lines)
            path = self.file("short%d.fbdrive" % spt, text)
            for more in ({"request_rate": "10"}, {"arrival_process": "closed",
                                                  "outstanding": "10"}):
                status, out, err = predict("--drive", path, *words(
                    request_size="4k", **more))
                with self.subTest(spt=spt, more=more, out=out):
                    self.assertEqual(status, 1 if told else 0)
                    self.assertIn(told or "", err)
                    self.assertNotIn("internal error", err)

    def test_set_changes(self):
        """--set over a file's attributes."""
        path = self.file("w.json", json.dumps(LOAD))
        said = self.one("--model", ATLAS, "--workload", path, "--set", "request_rate=70")
        self.assertEqual(said["workload"]["request_rate"], 70)
        self.assertEqual(said["workload"]["request_size"], 8192)
        self.assertEqual(said["orders"], self.one(
            "--model", ATLAS, *words(request_rate="70"))["orders"])
        said = self.one("--model", TOY, "--trace", self.trace(), "--set", "request_rate=70")
        self.assertEqual(said["workload"]["request_rate"], 70)

    def test_order(self):
        """Whose response the line of a table has."""
        said = self.one("--model", TOY, *words(), "--order", "fcfs")
        self.assertEqual(said["order"], "fcfs")
        self.assertEqual(self.one("--model", TOY, *words())["order"], "clook")
        _, out, _ = predict("--model", TOY, TOY, *words(), "--order", "fcfs")
        self.assertIn(" %.2f " % said["orders"]["fcfs"]["response_ms"], out)

    def test_spread(self):
        """What a scan costs is as much by a shipped model as by its drive. Seen to fail: models
        without seek_spread, +0.0 %."""
        for name in ("atlas10k", "cheetah9", "nearline16", "toy"):
            model = os.path.join(TOP, "models", name + ".fbmodel")
            by_model, by_drive = (self.one(*disk, *words(request_rate="40"))["free"]["cost_pct"]
                                  for disk in (("--model", model), ("--drive", name)))
            self.assertGreater(by_drive, 0.3, name)
            self.assertAlmostEqual(by_model, by_drive, delta=0.1, msg=name)

    def test_no_spread(self):
        """A model that lacks it: the cost is unknown, not zero; all else is told. Seen to fail:
        unknown taken for 0."""
        with open(TOY, encoding="ascii") as file:
            text = "".join(line for line in file if not line.startswith("seek_spread"))
        path = self.file("m", seal(text.encode()).decode())
        told, free = (self.one("--model", disk, *words())["free"] for disk in (TOY, path))
        self.assertEqual((told["unknown"], free["unknown"]), ([], ["seek_spread"]))
        for key in ("cost_pct", "response_ms", "slowdown_pct"):
            self.assertIsNotNone(told[key], key)
            self.assertIsNone(free[key], key)
        for key in ("alone_ms", "fresh_mb_s", "idle_pct"):
            self.assertAlmostEqual(free[key] / told[key], 1, delta=0.1, msg=key)
        self.assertIn("unknown with a scan", predict("--model", path, *words())[1])
        self.assertIn(" unknown ", predict("--model", path, TOY, *words())[1])

    def test_cache(self):
        """Where it is known from is told, and it counts."""
        said = self.one("--model", ATLAS, *words())
        self.assertEqual(said["cache"]["told_by"], "assumed")
        self.assertIn("assumed", predict("--model", ATLAS, *words())[1])
        runs = words(run_length="64k", read_fraction="1")
        told = self.one("--model", ATLAS, *runs, "--cache", "4x256k")
        self.assertEqual((told["cache"]["told_by"], told["cache"]["segments"],
                          told["cache"]["segment_bytes"]), ("options", 4, 262144))
        off = self.one("--model", ATLAS, *runs, "--cache", "off")
        self.assertIsNone(off["cache"])
        self.assertLess(told["orders"]["fcfs"]["response_ms"],
                        0.8 * off["orders"]["fcfs"]["response_ms"])
        self.assertEqual(self.one("--drive", "atlas10k", *words())["orders"]["fcfs"]["miss_pct"],
                         100)

    def test_unknown(self):
        """Where requests in runs wait for each other the response is unknown, and why, with the
        reckoned one beside it in JSON; a lone run's is told. Seen to fail: a number all the
        same."""
        args = ["--model", ATLAS, *words(
            request_rate="100", run_length="64k", arrival_process="bursty",
            requests_per_burst="20", burst_rate="1000/s", bursty_fraction="90%")]
        out = predict(*args)[1]
        self.assertRegex(out, r"clook +[0-9.]+ +unknown +- ")
        self.assertRegex(out, r"unknown +fcfs, .*: requests in runs that come in bursts")
        self.assertIn("freeblock  response unknown", out)
        self.assertIn(" unknown ", predict("--model", TOY, *args)[1])
        said = self.one(*args)
        order = said["orders"]["clook"]
        for key in ("response_ms", "read_ms", "queue_ms", "queue_size"):
            self.assertIsNone(order[key], key)
        self.assertGreater(order["reckoned_ms"], order["service_ms"])
        self.assertEqual((said["free"]["unknown"], said["free"]["response_ms"]),
                         (["response"], None))
        for more, told in (({"arrival_process": "constant-closed"}, True),
                           ({"request_rate": "20"}, True), ({"request_rate": "190"}, False)):
            order = self.one("--model", ATLAS, *words(run_length="64k", **more))["orders"]["fcfs"]
            self.assertEqual(order["unknown"] is None, told, more)

    def test_simulate(self):
        """The command for what is not computed: of a trace observe's, or a drive's with it; of
        attributes one that the simulator takes."""
        trace = self.trace()
        self.assertEqual(self.one("--model", TOY, "--trace", trace)["simulate"],
                         "freeblock observe --trace %s --model %s" % (trace, TOY))
        said = self.one("--drive", "toy", *words(request_size_cv2="0.5", request_rate="20"))
        self.assertIn(said["simulate"], predict("--drive", "toy", *words(
            request_size_cv2="0.5", request_rate="20"))[1])
        ran = said["simulate"].replace("--whole 1", "--seconds 5 --json --quiet").split()
        status, out, err = taptest.freeblock(*ran[1:])
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(json.loads(out)[0]["free_mb_s"], 0)

    def test_several(self):
        """Each with each or pairs, a line each; one that is refused is named with its reason, once,
        and the others go on. Seen to fail: a path twice; --pairs ignored."""
        bad, good = self.file("bad.csv", "1,2\n"), self.trace()
        status, out, err = predict("--json", "--model", self.folder + "/none", TOY, "--trace", bad,
                                   good)
        rows = {(row["disk"], row["workload_from"]): row for row in map(
            json.loads, out.splitlines())}
        self.assertEqual((status, len(rows)), (1, 4))
        self.assertEqual([key for key, row in rows.items() if "error" not in row], [(TOY, good)])
        self.assertIn("line 1", rows[(TOY, bad)]["error"])
        self.assertIn("3 of 4", err)
        self.assertEqual(err.count(bad), 2)     # with either disk
        status, out, _ = predict("--model", TOY, ATLAS, "--trace", good)
        self.assertEqual((status, len(out.splitlines())), (0, 3))
        self.assertEqual(len({len(line) for line in out.splitlines()}), 1)
        out = predict("--json", "--pairs", "--model", TOY, ATLAS, "--trace", good, good)[1]
        self.assertEqual([json.loads(line)["disk"] for line in out.splitlines()], [TOY, ATLAS])


class Parts(unittest.TestCase):
    """Units, pauses, stand-ins, the paper's equations, with numbers that nothing computes."""

    @staticmethod
    def load(kind="poisson", rate=50.0, **more):
        """A workload."""
        return Workload(rate, kind, 8192.0, 1.0, 1e8, **more).check()

    def test_trace(self):
        """s are s, ms are ms; seven requests are few; responses far from all orders' are told.
        Seen to fail: pauses in ms; the first order's alone."""
        found = characterise.Trace(self.load(), 7, 100.0, 30.0, 1e9, 0.25, 0.75, True, 0.012)
        orders = {"fcfs": {"response_ms": 11}, "sptf": {"response_ms": 5},
                  "look": {"response_ms": None}}
        self.assertEqual(answer.trace_json(found, orders), {
            "requests": 7, "duration_s": 100, "pauses_s": 30, "mean_response_ms": 12,
            "caveat": "only 7 requests in 100 s: a trace of less than 500 requests or 30 s may not "
                      "be typical; record longer",
            "likely": True, "interleaved": 0.75, "bursty": True, "hot_half": 0.25})
        for time, of, likely in ((0.012, {"a": {"response_ms": 5}}, False), (None, orders, None),
                                 (0.012, {"a": {"response_ms": None}}, None)):
            found = dataclasses.replace(found, mean_response=time)
            self.assertEqual(answer.trace_json(found, of)["likely"], likely)

    def test_free(self):
        """Means over all the time, of which a quarter is pauses; bytes/s are MB/s. Seen to fail:
        idle stretches in s, busy in pauses."""
        toy = question.Disk(TOY).device()
        stands = answer.stand_in(self.load(rate=30.0, effective_request_rate=40.0), 0.008)
        found = dataclasses.replace(
            freeband.free_bandwidth(toy, stands[0]), fresh=2e6, idle_mean=0.025, gap_mean=0.006,
            latency_mean=0.003, utilisation=0.4, idle_fraction=0.6, response_alone=0.010,
            foreground_response=0.011, gaps_per_second=8.0)
        said = answer.free_json(found, toy, stands, None)
        for key, value in (("gaps_mb_s", 1.5), ("idle_ms", 25), ("gap_ms", 6), ("latency_ms", 3),
                           ("idle_pct", 70), ("alone_ms", 10), ("response_ms", 11),
                           ("cost_pct", 10), ("gaps_per_s", 6)):
            self.assertAlmostEqual(said[key], value, 9, key)
        idle = freeidle.idle_rate(toy, 0.6, 40.0) * 0.75 + freeidle.idle_rate(toy, 0.25, 0)
        self.assertAlmostEqual(said["idle_mb_s"], idle / 1e6, 9)
        self.assertAlmostEqual(said["days_least"] * answer.DAY_S * said["fresh_mb_s"] * 1e6,
                               toy.capacity, delta=1)

    def test_stand_in(self):
        """As many bytes a second, in one request a run; Poisson's for other arrivals; one process,
        which pauses for what is left of the time between two. Seen to fail: runs left as they are,
        their bytes or their rate; bursts not told."""
        for more, starts in (({}, 1), ({"run_length": 4 * 8192}, 0.25),
                             ({"run_length": 4 * 8192, "locality_fraction": 0.4}, 0.7),
                             ({"requests_per_sparse_run": 10, "sparse_run_fraction": 0.5}, 0.55)):
            load, roughly, found = answer.stand_in(
                self.load(effective_request_rate=80, **more), 0.01)
            self.assertEqual(roughly, ["runs"] * (starts < 1))
            self.assertAlmostEqual(found, starts)
            self.assertAlmostEqual(load.request_rate, 50 * starts)
            self.assertAlmostEqual(load.rate * load.request_size, 80 * 8192)
            self.assertFalse(load.has_runs)
        for kind, word in (("bursty", "bursts"), ("constant-open", "even spacing")):
            load, roughly, _ = answer.stand_in(self.load(
                kind, requests_per_burst=5, bursty_fraction=0.5), 0.01)
            self.assertEqual((load.arrival_process, roughly), ("poisson", [word]))
        for rate, pause in ((60, 1 / 60 - 0.01), (200, 0)):
            load, roughly, _ = answer.stand_in(self.load("constant-closed", rate), 0.01)
            self.assertEqual((load.outstanding, roughly), (1, []))
            self.assertAlmostEqual(load.think_time, pause)

    def test_paper(self):
        """Delays by arrivals, of 10 ms of service: as long again of Poisson's at a utilisation of
        1/2, none of constant ones until the disk is full, (n - 1) / 2 (S - A) of bursts. Seen to
        fail: constant arrivals for Poisson's."""
        for load, delay in (
                (self.load(), 0.010), (self.load(rate=100.0), math.inf),
                (self.load("constant-open"), 0), (self.load("constant-open", 101.0), math.inf),
                (self.load("constant-closed", 500.0), 0),
                (self.load("closed", outstanding=4), None),
                (self.load("bursty", requests_per_burst=5, bursty_fraction=0.5,
                           burst_rate=250.0), 0.5 * 2 * 0.006)):
            found = paper.queue_delay(load, 0.010)
            if delay in (None, math.inf):
                self.assertEqual(found, delay)
            else:
                self.assertAlmostEqual(found, delay)
