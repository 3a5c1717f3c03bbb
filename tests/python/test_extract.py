# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock extract from the command line, at simulated drives: what it writes, that
it goes on after SIGKILL, that a wrong model is marked. Takes half a minute.

Seen to fail: a validation that compares a model with itself (marked); a state that is
not read (resumed).
"""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import taptest
from freeblock import ToolError, sim
from freeblock.extraction import validate
from freeblock.extraction.device import Device
from freeblock.extraction.state import State
from freeblock.sim import truth

PATIENCE_S = 300


class Extract(unittest.TestCase):
    """The toy drive, whole."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.model = self.at("toy.fbmodel")
        self.words = ["extract", "--simulated", sim.drive_file("toy"), "--no-translation",
                      "--state-dir", self.at("state"), "-o", self.model, "--json"]

    def at(self, name):
        """A path in the test's folder."""
        return os.path.join(self.folder, name)

    def good(self, code, out, err):
        """What every extraction of this drive has to come to."""
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        self.assertTrue(report["validation"]["trusted"])
        self.assertGreater(report["validation"]["shares"][-1]["within_50us_pct"], 98)
        self.assertEqual(report["layout"]["zones"], 3)
        self.assertEqual(report["layout"]["heads"], 4)
        return report

    def test_quick(self):
        """A model and nothing left behind; the scheduler makes of it what it makes of
        the truth."""
        report = self.good(*taptest.freeblock(*self.words))
        left = [name for _, _, names in os.walk(self.at("state")) for name in names
                if name.endswith(".json")]
        self.assertEqual(left, [])
        self.assertLess(report["disk_time_s"], 900)
        self.check_spread()
        with open(self.at("true"), "wb") as file:
            file.write(truth.model(sim.drive_file("toy")))
        rates = [sim.simulate(drive="toy", model=model, task="fresh", seconds="60",
                              preset="paper")["free_mb_s"]
                 for model in (self.model, self.at("true"))]
        self.assertAlmostEqual(rates[0] / rates[1], 1, delta=0.03)

    def check_spread(self):
        """The model says how much seeks vary, as well as a quick look tells. Seen to fail: not
        written."""
        with open(self.model, encoding="ascii") as file:
            said = [float(line.split()[2]) for line in file if line.startswith("seek_spread ")]
        self.assertGreater(len(said), 5)
        self.assertAlmostEqual(sum(said) / len(said), 30e3, delta=15e3)

    def test_resumed(self):
        """After SIGKILL it goes on with what it had."""
        command = [os.path.join(taptest.TOP, "tools", "freeblock"), *self.words, "--full"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + PATIENCE_S
            while "layout" not in self.stages() and process.poll() is None:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        self.assertFalse(os.path.exists(self.model))
        kept = self.stages()
        self.assertIn("layout", kept)
        report = self.good(*taptest.freeblock(*self.words, "--full"))
        self.assertTrue(any(note.startswith("resumed") for note in report["notes"]))

    def stages(self):
        """The stages of which something is kept."""
        for folder, _, names in os.walk(self.at("state")):
            if "extract.json" in names:
                with open(os.path.join(folder, "extract.json"), encoding="ascii") as file:
                    return json.load(file)["stages"]
        return {}

    def test_wrong_model(self):
        """A model of another drive of the same size is not trusted, and the reason is told."""
        lines = truth.model(sim.drive_file("toy")).decode()
        wrong = lines.replace("track_skew 0.1 ", "track_skew 0.13 ")
        self.assertNotEqual(lines, wrong)
        path = self.at("wrong")
        with open(path, "wb") as file:
            file.write(truth.seal(wrong.encode()))
        with Device.simulated(sim.drive_file("toy")) as dev:
            verdict = validate.validate(dev, path, requests=200)
        self.assertIn("ended within 50 us of the predicted angle", verdict.reason)

    def test_bad_sectors(self):
        """Some of the validation's reads fail: the others count. Most fail: it says so.

        Seen to fail: one bad sector ended an extraction at its end."""
        path = self.at("true")
        with open(path, "wb") as file:
            file.write(truth.model(sim.drive_file("toy")))
        for count, trusted in ((10000, True), (900000, False)):
            line = "medium_error 1000 %d recovery_ms=20" % count
            with Device.simulated(sim.drive_file("toy"), lines=[line]) as dev:
                if trusted:
                    verdict = validate.validate(dev, path, requests=200)
                    self.assertEqual(verdict.reason, "")
                    self.assertLess(verdict.total.requests, 600)
                else:
                    with self.assertRaisesRegex(ToolError, "reads failed"):
                        validate.validate(dev, path, requests=200)

    def test_refusals(self):
        """What is wrong with the words, and what to do."""
        for words, reason in ((["extract"], "specify DEVICE or --simulated FILE"),
                              (["extract", "--simulated", self.at("none")], "No such file"),
                              (["extract", self.at("none")], "none"),
                              (self.words + ["-o", self.at("none/m")], "no such directory"),
                              (self.words + ["-o", self.folder], "a directory"),
                              (self.words + ["--seed", "-1"], "less than 0"),
                              (self.words + ["--in-use"], "--in-use is for a device")):
            code, out, err = taptest.freeblock(*words, "--state-dir", self.at("state"))
            self.assertEqual((code, out), (taptest.status_of(err), ""))
            self.assertIn(reason, err)


class Kept(unittest.TestCase):
    """The state on disk."""

    def test_key(self):
        """Of another drive, or measured otherwise, nothing is used; a broken file is told."""
        with tempfile.TemporaryDirectory() as folder:
            state = State(folder, {"drive": 1})
            state.put("layout", {"part": [1, 2]}, 5)
            self.assertEqual(State(folder, {"drive": 1}).get("layout"), {"part": [1, 2]})
            self.assertEqual(State(folder, {"drive": 1}).disk_ns, 5)
            self.assertIsNone(State(folder, {"drive": 2}).get("layout"))
            self.assertIsNone(State(folder, {"drive": 1}, fresh=True).get("layout"))
            with open(state.path, "w", encoding="ascii") as file:
                file.write("{")
            with self.assertRaisesRegex(ToolError, "--fresh begins anew"):
                State(folder, {"drive": 1})
