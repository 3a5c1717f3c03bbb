# SPDX-License-Identifier: GPL-2.0
"""Tests of what judges extractions: the true model of a drive, the drive of a model, the
judge of predictions. Takes some seconds."""

import os
import re
import tempfile
import unittest

import numpy as np

import layouts
import taptest
from freeblock import ToolError, sim
from freeblock.extraction.places import Layout
from freeblock.formats import fbdrive, fbmodel
from freeblock.sim import asdrive, truth

MADE = ("nearline16", "nearline24", "archive8", "x300", "cheetah9")


def facts(text):
    """A model's records but the last."""
    return [line for line in text.decode().splitlines()
            if line and not line.startswith(("#", "end "))]


def path_of(folder, name, text):
    """A file with that text."""
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text)
    return path


class Truth(unittest.TestCase):
    """The shipped drives and the models shipped with them."""

    def test_shipped(self):
        """Every record of the shipped model, and no other."""
        for name in MADE:
            with open(sim.model_file(name), "rb") as file:
                shipped = facts(file.read())
            self.assertEqual(sorted(facts(truth.model(sim.drive_file(name)))), sorted(shipped),
                             name)

    def test_spread(self):
        """Every shipped model says how much its drive's seeks vary. Seen to fail: none in
        one."""
        for name in sorted(os.listdir(os.path.join(taptest.TOP, "models"))):
            name = name.partition(".")[0]
            with open(sim.model_file(name), "rb") as file:
                said = [line for line in facts(file.read()) if line.startswith("seek_spread")]
            scalars, _ = fbdrive.records(sim.drive_file(name))
            self.assertEqual(said, ["seek_spread 1 %s" % scalars["noise"][1]], name)

    def test_runs(self):
        """Runs: what mechdisk refuses is told; the others have a model. Seen to fail: a surface
        that is spelt with zeros."""
        begin = "fbdrive 1\nperiod_ps 6000000000\nheads 2\nseek 1 1000000\n" \
            "run 0 0 in 9 100 0 0.1\nrun 1 8 out 9 100 0.5 0.1 spares=20\n"
        for record, why in (
                ("", None), ("run 0 9 in 1 9 0", "takes 7 to 9"), ("run 0 11 out 3 9 0 0", None),
                ("product \xe4", "not plain ASCII"),
                ("run 1 12 in 9 9 0 0\nrun 1 9 in 4 9 0 0", "track 12 of surface 1 is in run 2"),
                ("run 1 12 in 9 9 0 0\nrun 1 9 in 3 9 0 0", None), ("remap 1 5 880", None),
                ("repeat 2 9 0 1=7\nrepeat 19 2 0.1 0=65535 1=9", None),
                ("repeat 2 1 0 01=9", None),
                ("displacement 1 7\ninternal_activity 99 9 15", None)):
            with self.subTest(record), tempfile.TemporaryDirectory() as folder:
                path = path_of(folder, "d.fbdrive", (begin + record + "\n").encode("latin-1"))
                if why:
                    self.assertRaisesRegex(ToolError, "d.fbdrive: .*" + re.escape(why),
                                           fbdrive.check, path)
                else:
                    fbdrive.check(path)
                    truth.model(path)

    def test_map(self):
        """The model of a drive of runs has each LBN on a track as long as the drive has it, at its
        angle. Seen to fail: spares that slips do not use up."""
        text = "fbdrive 1\nperiod_ps 6000000000\nheads 3\nseek 1 900000\nseek 60 2000000\n" \
            "run 0 0 in 9 100 0 0.1\nrun 1 8 out 9 90 0.5 0.17 spares=20\n" \
            "run 2 3 in 7 110 1/3 0.12345678901 dead=5\nslip 1 7+3 200 300+95\nslip 2 9\n" \
            "repeat 3 3 0.3 1=85 2=107\nrun 0 59 out 12 77 0.9 0.9\ndisplacement 0 63 20\n"
        with tempfile.TemporaryDirectory() as folder:
            path = path_of(folder, "d.fbdrive", text.encode())
            layout = Layout.of_model(fbmodel.Model(truth.model(path), path))
            lbns = np.arange(truth.sectors(path))
            want = layouts.drive_places(layouts.host_program(), path, lbns)
        got = layout.locate(lbns)
        for name in ("zone", "slot", "spt"):
            np.testing.assert_array_equal(got[name], want[name], name)
        turns = got["start"] - want["start"]
        self.assertLess(np.max(np.abs(turns - np.round(turns))), 1e-9)

    def test_map_is_taken(self):
        """The scheduler takes the model of a drive of runs, and reads in its gaps. Seen to fail:
        seeks that take a third of the time."""
        text = "fbdrive 1\nperiod_ps 8333333333\nheads 2\nseek 1 900000\nseek 3000 9000000\n" \
            "head_switch_ns 1100000\nzero_latency on\nnoise laplace 30000\n" \
            "run 0 0 in 100 1200 0 0.131\nrun 1 0 in 95 1190 0.7 0.133\nrepeat 2 29 0.21\n"
        with tempfile.TemporaryDirectory() as folder:
            drive = path_of(folder, "d.fbdrive", text.encode())
            model = path_of(folder, "m.fbmodel", truth.model(drive))
            found = sim.simulate(drive=drive, model=model, task="fresh", seconds="20",
                                 preset="paper")
        self.assertGreater(found["free_mb_s"], 5)

    def test_begin(self):
        """A text's last beginning counts, as with mechdisk. Seen to fail: zones of the first."""
        with tempfile.TemporaryDirectory() as folder:
            path = path_of(folder, "d.fbdrive", b"fbdrive 1\nheads 3\nzone 0 9 50 0 0 0 0\n"
                           b"fbdrive 1\nheads 1\nzone 0 0 500 0 0 0 1\n")
            self.assertEqual(truth.sectors(path), 499)

    def test_slipped_spares(self):
        """Spares on every track, of which a zone's last LBNs leave some behind: the
        scheduler takes the model. Seen to fail: all slips in the model."""
        slips = " ".join("%d+2" % (track * 50 + 48) for track in range(60))
        with tempfile.TemporaryDirectory() as folder:
            drive = path_of(folder, "d.fbdrive", (
                "fbdrive 1\nperiod_ps 6000000000\nheads 2\nzone 0 29 50 0 0.2 0.3 180\n"
                "slip 0 %s\nseek 1 500000\nseek 29 900000\n" % slips).encode())
            text = truth.model(drive)
            model = path_of(folder, "m", text)
            self.assertEqual(facts(text)[-1], "slip 2898 2")
            self.assertGreater(sim.simulate(drive=drive, model=model, task="fresh",
                                            seconds="2", preset="paper")["requests_per_s"], 0)

    def test_one_cylinder(self):
        """It has no seeks, and model, drive of the model, simulator and predict know that. Seen to
        fail: the drive's seek record in the model, which nobody took then; a model that had to have
        one."""
        with tempfile.TemporaryDirectory() as folder:
            drive = path_of(folder, "d.fbdrive", (
                b"fbdrive 1\nperiod_ps 6000000000\nheads 4\nzone 0 0 9000 0 0.2 0.3 0\n"
                b"head_switch_ns 500000\nseek 1 900000\n"))
            text = truth.model(drive)
            self.assertNotIn(b"seek", text)
            model = path_of(folder, "m.fbmodel", text)
            again = path_of(folder, "again.fbdrive", asdrive.drive(model).encode())
            for one in (drive, again):
                self.assertEqual(sim.simulate(drive=one, model=model, task="scan", size="4k",
                                              whole="1")["task_done"], 1)
            for words in (("--drive", drive), ("--model", model)):
                status, said, wrong = taptest.freeblock(
                    "predict", *words, "--set", "request_rate=10/s", "arrival_process=poisson",
                    "request_size=8k", "read_fraction=67%", "data_span=all")
                self.assertEqual((status, wrong), (0, ""))
                self.assertNotIn("as if seeks varied", said)

    def test_not_a_drive(self):
        """A model is no description."""
        with self.assertRaisesRegex(ToolError, "not a drive's description"):
            truth.model(sim.model_file("toy"))


class AsDrive(unittest.TestCase):
    """A model, simulated as the drive that it describes."""

    def test_same_drive(self):
        """Without noise the model's drive serves a foreground as the true one does."""
        for name in ("toy", "cheetah9"):
            with tempfile.TemporaryDirectory() as folder:
                model = path_of(folder, "m", truth.model(sim.drive_file(name)))
                drive = path_of(folder, "d.fbdrive", asdrive.drive(model).encode())
                runs = [sim.simulate(drive=d, model=model, noise="off", task="fresh",
                                     seconds="20", preset="paper")
                        for d in (sim.drive_file(name), drive)]
            for key in ("requests_per_s", "free_mb_s"):
                self.assertAlmostEqual(runs[0][key] / runs[1][key], 1, delta=0.01,
                                       msg="%s %s" % (name, key))

    def test_slow(self):
        """Seeks to a slow region are predicted, on the drive and on its model's. Seen to fail: a
        model that does not say it, by which a fourth of the reads lose a turn."""
        with open(sim.drive_file("toy"), "rb") as file:
            text = file.read() + b"\nslow_region 500 999\n"
        with tempfile.TemporaryDirectory() as folder:
            true = path_of(folder, "true.fbdrive", text)
            model = path_of(folder, "m", truth.model(true))
            drive = path_of(folder, "d.fbdrive", asdrive.drive(model).encode())
            runs = [sim.simulate(drive=d, model=model, noise="off", task="fresh", seconds="10",
                                 preset="paper") for d in (true, drive)]
        self.assertGreater(runs[0]["ends_within_50us"], 0.99)
        self.assertEqual(runs[0]["requests"], runs[1]["requests"])

    def test_not_a_model(self):
        """A description is no model."""
        with self.assertRaisesRegex(ToolError, "not a model"):
            asdrive.drive(sim.drive_file("toy"))
