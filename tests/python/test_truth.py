#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what judges extractions: the true model of a drive, the drive of a model, the
judge of predictions. Prints TAP; takes some seconds."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "python"))

import taptest  # noqa: E402
from freeblock import ToolError, asdrive, fbdrive, hosts, sim, truth  # noqa: E402

# Written by tools/make-drives, which knows nothing of truth.py
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
        for name in sorted(os.listdir(os.path.join(TOP, "models"))):
            name = name.partition(".")[0]
            with open(sim.model_file(name), "rb") as file:
                said = [line for line in facts(file.read()) if line.startswith("seek_spread")]
            scalars, _ = fbdrive.records(sim.drive_file(name))
            self.assertEqual(said, ["seek_spread 1 %s" % scalars["noise"][1]], name)

    def test_words(self):
        """Python takes no record, number of values or word that mechdisk does not take, and blames
        the same line and word; what it takes of a drive, mechdisk takes. The records are those of
        mechdisk's tables. Seen to fail: a record, a choice and a count that one of them lacks."""
        with open(os.path.join(TOP, "tools", "mechdisk", "mechdisk_text.c"),
                  encoding="ascii") as file:
            source = file.read()
        names = re.findall(r'MDT_(?:NUM|WORD)\("(\w+)"', source) + \
            re.findall(r"MDT_SWITCH\((\w+), \d", source) + re.findall(r'\{ "(\w+)", mdt_', source)
        self.assertEqual(sorted(fbdrive.SHAPES), sorted(names + ["fbdrive"]))
        host = hosts.program("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
        tried = [name + " 1" * count for name in names + ["nosuch", "heads_"]
                 for count in (0, 1, 2, 3, 5, 6, 7, 8, 9, 65)]
        every = set(re.findall(r'"([a-z_-]+)"', " ".join(re.findall(
            r"\[\] = \{([^{}]*), NULL", source)))) | {"nosuch"}
        tried += [" ".join([name, word, *["1"] * (count - 1)])
                  for name, (least, most, known) in fbdrive.SHAPES.items() if known
                  for word in sorted(every) for count in {least, most}]
        with tempfile.TemporaryDirectory() as folder:
            for line in tried:
                path = path_of(folder, "d.fbdrive", (
                    "fbdrive 1\nperiod_ps 6000000000\nheads 1\nzone 0 0 500 0 0 0 1\n%s\n" %
                    line).encode())
                said = subprocess.run([host, "info", path], check=False, capture_output=True,
                                      text=True).stderr
                blamed = re.search(r"line 5: '\S+' (?:is no record|is none of|takes)|"
                                   r"LBN and COUNT are missing", said)
                with self.subTest(line=line, said=said):
                    self.agrees(path, blamed and blamed[0])

    def agrees(self, path, blamed):
        """What Python says of a text: the same as mechdisk, where that blames words."""
        blamed = (blamed or "nothing").replace("LBN and COUNT are missing", "'medium_error' takes")
        try:
            fbdrive.records(path)
        except ToolError as error:
            if "line 5" in str(error):
                self.assertIn(blamed, str(error))
            else:
                self.assertEqual(blamed, "nothing", str(error))
        else:
            self.assertEqual(blamed, "nothing")

    def test_numbers(self):
        """What is to be a number, and is none, is blamed as mechdisk blames it; a byte that is no
        text, and a description without what all need, too. Seen to fail: words of Python's own."""
        path = sim.drive_file("toy")
        with open(path, "rb") as file:
            text = file.read()
        line = text.count(b"\n") + 1
        host = hosts.program("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
        with tempfile.TemporaryDirectory() as folder:
            for record, odd in (("jitter_ns x", "x"), ("slip 1 abc", "abc"), ("rpm_drift x y", "x"),
                                ("noise gauss x", "x"), ("zone 0 9 50 0 31/0 0 0", "31/0"),
                                ("head_switch_ns " + "9" * 26, "9" * 26), ("seed 1e3", "1e3")):
                with self.subTest(record):
                    odd_path = path_of(folder, "d.fbdrive", text + record.encode() + b"\n")
                    with self.assertRaisesRegex(ToolError, "line %d: '%s' is not a number" % (
                            line, re.escape(odd))):
                        fbdrive.records(odd_path)
                    said = subprocess.run([host, "info", odd_path], check=False,
                                          capture_output=True, text=True).stderr
                    self.assertIn("line %d: " % line, said)
            with self.assertRaisesRegex(ToolError, "line 1: .* is no record|not a drive's"):
                fbdrive.records(path_of(folder, "d.fbdrive", b"fbdrive\xff 1\n"))
            for record in (b"seed \xff\n", "product \xe4\n".encode()):
                with self.assertRaisesRegex(ToolError, "line %d: .* is not " % line):
                    fbdrive.records(path_of(folder, "d.fbdrive", text + record))
            bare = path_of(folder, "d.fbdrive", b"fbdrive 1\nheads 2\n")
            with self.assertRaisesRegex(ToolError, "no period_ps, no zone"):
                fbdrive.check(bare, *fbdrive.records(bare))

    def test_dead(self):
        """A zone's eighth value has a name. Seen to fail: no number."""
        with tempfile.TemporaryDirectory() as folder:
            path = path_of(folder, "d.fbdrive", b"fbdrive 1\nzone 0 9 50 0 0 0 0 dead=2\n")
            self.assertEqual(fbdrive.records(path)[1]["zone"][0][7], "dead=2")

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

    def test_not_a_model(self):
        """A description is no model."""
        with self.assertRaisesRegex(ToolError, "not a model"):
            asdrive.drive(sim.drive_file("toy"))


if __name__ == "__main__":
    taptest.main()
