# SPDX-License-Identifier: GPL-2.0
"""Tests of models that are shared by drives of one make: which are tried on a drive, that one which
fits is taken with the drive's own period, that others are not, and what setup makes of it. The
drives are simulated ones, drawn about the toy (drawn()). Takes ten seconds.
"""

import os
import random
import re
import tempfile
import unittest
from unittest import mock

from taptest import TOP
from fakemachine import WWN, Case, model
from freeblock import ToolError
from freeblock.drive import store
from freeblock.extraction import pipeline, shared
from freeblock.extraction.modeltext import NS_FIELDS, SEEK_KINDS
from freeblock.extraction.phase import Phase
from freeblock.formats import fbmodel

MODELS = os.path.join(TOP, "models")
TOY = os.path.join(MODELS, "toy.fbmodel")
WHO = {"vendor": "ACME", "product": "DISK 9", "revision": "0001", "serial": "SERIAL01",
       "wwn": WWN}


class Which(unittest.TestCase):
    """Which models are tried."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def keep(self, name, data):
        """A model there."""
        with open(os.path.join(self.folder, name + ".fbmodel"), "wb") as file:
            file.write(data)

    def names(self):
        """Of those that are tried."""
        return [os.path.basename(one.name)[0] for one in shared.candidates(
            WHO, 50129, ["/nonexistent", self.folder])]

    def test_make(self):
        """Of the same make, size and firmware, whoever's they are; those for any firmware last;
        none that is spoiled or distrusted; three of them.

        Seen to fail: firmware that is not looked at."""
        other = {"wwn": "naa.5000c500ffffffff", "serial": "OTHER"}
        self.keep("a", model(**other, revision=None))
        self.keep("b", model(**other))
        self.keep("c", model(**other, product="DISK 8"))
        self.keep("d", model(**other, revision="0002"))
        self.keep("e", model(**other, distrusted="so noisy"))
        self.keep("f", model(**other)[:-9])
        self.assertEqual(self.names(), ["b", "a"])
        self.assertEqual(shared.candidates(WHO, 50137, [self.folder]), [])
        for name in "ghi":
            self.keep(name, model(**other))
        self.assertEqual(self.names(), ["b", "g", "h"])

    def test_useless(self):
        """What no scheduler would load, and what is no file, is passed over: setup goes on with the
        others. Who names one to extract is told why, before anything is measured.

        Seen to fail: setup that ends at a model without zones; one that waits for a pipe."""
        whole = model(serial="OTHER").decode().splitlines()
        for name, missing in (("a", "zone"), ("b", "seek "), ("c", "zero_latency")):
            self.keep(name, fbmodel.seal("\n".join(
                line for line in whole if not line.startswith(missing)).encode()))
        self.keep("d", model(serial="OTHER", head_switch_ns="x"))
        os.mkfifo(os.path.join(self.folder, "e.fbmodel"))
        os.mkdir(os.path.join(self.folder, "f.fbmodel"))
        os.symlink("/dev/zero", os.path.join(self.folder, "g.fbmodel"))
        os.symlink("/nonexistent", os.path.join(self.folder, "h.fbmodel"))
        self.keep("i", model(serial="OTHER"))
        self.assertEqual(self.names(), ["i"])
        path = os.path.join(self.folder, "b.fbmodel")
        with self.assertRaisesRegex(ToolError, "b.fbmodel: the scheduler would not load.*seek"):
            shared.check([store.Model.of_file(path)], WHO, 50129)

    def test_letters(self):
        """Comments, and the file's name, may have letters that a model's text has not.

        Seen to fail: a traceback of the encoder."""
        self.keep("größe", fbmodel.seal(model().replace(b"\n", "\n  # Größe\n".encode(), 1)))
        before = store.Model.of_file(os.path.join(self.folder, "größe.fbmodel"))
        text = shared.adapted(before, WHO, 6000123456)
        self.assertIn(b"gr??e.fbmodel", text)
        self.assertEqual(store.Model(text, "after").zones, before.zones)

    def test_adapted(self):
        """It says what it is of, has this drive's period and names, and all else as it was."""
        self.keep("b", model(wwn="naa.5000c500ffffffff", serial="OTHER"))
        before = store.Model.of_file(os.path.join(self.folder, "b.fbmodel"))
        after = store.Model(shared.adapted(before, WHO, 6000123456), "after")
        self.assertEqual((after.zones, after.points), (before.zones, before.points))
        self.assertEqual(after.header, {**before.header, **{
            key: WHO[key] for key in ("wwn", "serial", "revision")}, "period_ps": "6000123456"})
        after.check({**WHO, "sectors": 50129})
        self.assertIn(b"# That of another drive of this make, b.fbmodel, with this drive's own",
                      after.data)


def _defects(rng, number, zone, heads):
    """Slips and remaps of a zone, of a tenth of its spares at most."""
    words = zone.split()
    first, last, spt, spares = int(words[1]), int(words[2]), int(words[3]), int(words[7])
    data = (last - first + 1) * heads * spt - spares
    slips = sorted(rng.sample(range(data), rng.randrange(spares // 10 + 1)))
    remaps = rng.sample(range(spares // 2), rng.randrange(spares // 20 + 1))
    lines = ["slip %d %s" % (number, " ".join(map(str, slips)))] if slips else []
    taken = set(slips)
    for at, block in zip(remaps, sorted(rng.sample(range(data), len(remaps)))):
        if block not in taken:
            lines.append("remap %d %d %d" % (number, block, data + spares // 2 + at))
    return lines


def drawn(text, seed, differs):
    """The description of a drive of this make: with another "period" (a relative standard deviation
    of 2e-4), or with "defects" of its own."""
    rng, lines, zones = random.Random(seed), [], []
    for line in text.splitlines():
        words = line.split()
        word = words[0] if words else ""
        if word == "zone":
            zones.append(line)
        elif word == "serial":
            words[1] = "MAKE%05d" % seed
        elif word == "seed":
            words[1] = str(seed)
        elif word == "period_ps" and differs == "period":
            words[1] = "%d" % (int(words[1]) * (1 + 2e-4 * max(-3, min(3, rng.gauss(0, 1)))))
        elif word in ("slip", "remap") and differs == "defects":
            continue
        lines.append(" ".join(words))
    if differs == "defects":
        heads = int(re.search(r"^heads (\d+)", text, re.M).group(1))
        for number, zone in enumerate(zones):
            lines += _defects(rng, number, zone, heads)
    return "\n".join(lines) + "\n"


class Drives(unittest.TestCase):
    """Simulated ones of the toy's make."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.toy = store.Model.of_file(TOY)

    def args(self, seed, kind, **more):
        """Of a drive that differs from the toy in this."""
        with open(os.path.join(TOP, "tools/mechdisk/drives/toy.fbdrive"), encoding="ascii") as file:
            text = drawn(file.read(), seed, kind)
        path = os.path.join(self.folder, "drawn.fbdrive")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return mock.Mock(simulated=path, device=None, in_use=False, force=False, seed=1, full=True,
                         no_translation=True, fresh=True, quiet=True,
                         budget=None, like=[],
                         out=os.path.join(self.folder, "own.fbmodel"),
                         **more)

    def test_fits(self):
        """A drive that turns at another speed: its model is the toy's with its own period, to a
        millionth.

        Seen to fail: the toy's period."""
        args = self.args(11, "period")
        text, told = pipeline.find_shared(args, [self.toy], self.folder)
        found = store.Model(text, "found")
        with open(args.simulated, encoding="ascii") as file:
            period = int(file.read().partition("\nperiod_ps ")[2].split()[0])
        self.assertGreater(abs(period / self.toy.number("period_ps") - 1), 2e-5)
        self.assertLess(abs(found.number("period_ps") / period - 1), 1e-6)
        self.assertEqual(found.header["serial"], "MAKE00011")
        self.assertEqual(found.zones, self.toy.zones)
        self.assertRegex(told[0], r"toy.fbmodel: 9\d\.\d % of 1\d+ reads within 50 us")

    def test_does_not_fit(self):
        """A drive with defects of its own: none is taken.

        Seen to fail: fits() that is always so."""
        text, told = pipeline.find_shared(self.args(12, "defects"), [self.toy], self.folder)
        self.assertIsNone(text)
        self.assertEqual(len(told), 1)

    def borrowed(self, args, models):
        """(moves, notes) of an extraction that has found the true layout."""
        class Found:
            """The toy's, with an arm."""

            @staticmethod
            def to_model(_identity, moves):
                """Its text."""
                text = fbmodel.body("toy", self.toy.data).decode()
                lines = [line for line in text.splitlines() if line.strip() and
                         line.split()[0] not in ("period_ps", *NS_FIELDS, *SEEK_KINDS)]
                lines[1:1] = ["period_ps %d" % moves["period_ps"]] + [
                    "%s %d" % (name, moves[name]) for name in NS_FIELDS] + [
                    "%s %d %d" % (kind, *point) for kind in SEEK_KINDS for point in moves[kind]]
                return fbmodel.seal("\n".join(lines).encode())

        with pipeline.open_device(args) as dev:
            args.like = [one.name for one in models]
            work = pipeline.Extraction(dev, args, os.path.join(self.folder, "states"))
            found = work.borrow_mechanics(Phase.measure(dev), Found)
        return found, work.notes

    def test_arm(self):
        """With a layout of its own the arm is that of another drive of the make, unless it moves
        otherwise: the first model that fits.

        Seen to fail: an arm that is taken whatever the reads say."""
        data = self.toy.data.decode().splitlines()[:-1]
        slower = os.path.join(self.folder, "slower.fbmodel")
        with open(slower, "wb") as file:
            file.write(fbmodel.seal("\n".join(
                "seek %s %d" % (line.split()[1], int(line.split()[2]) * 2)
                if line.startswith("seek ") else line for line in data).encode()))
        slow = store.Model.of_file(slower)
        args = self.args(11, "period")
        found, notes = self.borrowed(args, [slow, self.toy])
        self.assertEqual(found["seek"], self.toy.points["seek"])
        self.assertRegex(notes[0], "the arm is another than that of .*slower.fbmodel: ")
        self.assertRegex(notes[1], "the arm is that of .*toy.fbmodel: 9")
        self.assertIsNone(self.borrowed(args, [slow])[0])

    def test_other_make(self):
        """--like of another make is refused."""
        args = self.args(13, "period")
        args.like = [os.path.join(MODELS, "atlas10k.fbmodel")]
        self.assertRaisesRegex(ToolError, "of another make, size or firmware than this drive",
                               pipeline.extract, args, self.folder)


class Setup(Case):
    """What setup makes of it."""

    def setUp(self):
        super().setUp()
        path = os.path.join(self.machine.root, "var/lib/freeblock/models/one.fbmodel")
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(model(wwn="naa.5000c500ffffffff", serial="OTHER"))
        self.path = path

    def setup(self, *more):
        """Of the disk."""
        return self.do("setup", "/dev/sda", "--observe", "0", *more)

    def test_used(self):
        """One that fits is used, and nothing else is measured; off leaves the one that it was
        made of."""
        before = self.tree()
        with mock.patch.object(pipeline, "find_shared", return_value=(model(), ["so well"])), \
                mock.patch.object(pipeline, "extract", side_effect=AssertionError):
            status, said = self.setup()
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "- tried a model of its make: so well\n- the last one fits")
        self.assertEqual(self.tree()["etc/freeblock/models/%s-0001.fbmodel" % WWN], model())
        self.assertEqual(self.do("off", "--all")[0], 0)
        self.assertEqual(self.tree(), before)

    def test_measured(self):
        """If none fits, or --measure says so, the disk is measured; in the first case it is tried
        whether at least the arm is the same."""
        def extract(args, _states):
            self.like = args.like
            with open(args.out, "wb") as file:
                file.write(model())
            return {"validation": {"trusted": True}}

        with mock.patch.object(pipeline, "extract", extract):
            with mock.patch.object(pipeline, "find_shared", return_value=(None, ["badly"])):
                self.assertEqual(self.setup("--json")[0], 0)
                self.assertEqual(self.like, [self.path])
            self.do("off", "--all")
            with mock.patch.object(pipeline, "find_shared", side_effect=AssertionError):
                self.assertEqual(self.setup("--json", "--measure")[0], 0)
                self.assertEqual(self.like, [])
        self.assertEqual(self.setup("--measure", "--model", self.file)[0], 2)
