# SPDX-License-Identifier: GPL-2.0
"""tools/examples/summarise: what was measured is merged, and what others have stays.

Seen to fail: the summary overwritten; an example's other values dropped.
"""

import json
import os
import subprocess
import tempfile
import unittest

import taptest

PROGRAM = os.path.join(taptest.TOP, "tools", "examples", "summarise")


class Summary(unittest.TestCase):
    def setUp(self):
        self.build = self.enterContext(tempfile.TemporaryDirectory())

    def leave(self, test, values):
        """What a lab test has left."""
        folder = os.path.join(self.build, "check", test, "files")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "examples.json"), "w") as out:
            json.dump(values, out)

    def summary(self, *files):
        subprocess.run([PROGRAM, "--build", self.build, *files], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(self.build, "examples", "summary.json")) as file:
            return json.load(file)

    def test_merged(self):
        self.leave("lab-t-one", {"one": {"found": 3}})
        self.leave("lab-b-one", {"one": {"cost": 0.5}})
        self.assertEqual(self.summary(), {"one": {"found": 3, "cost": 0.5}})

    def test_others_stay(self):
        os.makedirs(os.path.join(self.build, "examples"))
        with open(os.path.join(self.build, "examples", "summary.json"), "w") as out:
            json.dump({"other": {"a": 1}, "one": {"cost": 0.5, "found": 0}}, out)
        self.leave("lab-t-one", {"one": {"found": 3}})
        self.assertEqual(self.summary(), {"other": {"a": 1}, "one": {"cost": 0.5, "found": 3}})

    def test_named(self):
        self.leave("lab-t-one", {"one": {"found": 3}})
        self.leave("lab-t-two", {"two": {"found": 4}})
        name = os.path.join(self.build, "check", "lab-t-two", "files", "examples.json")
        self.assertEqual(self.summary(name), {"two": {"found": 4}})

    def test_nothing(self):
        subprocess.run([PROGRAM, "--build", self.build], check=True)
        self.assertFalse(os.path.exists(os.path.join(self.build, "examples")))
