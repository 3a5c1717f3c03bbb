# SPDX-License-Identifier: GPL-2.0
"""Tests of make bench-scrub's arithmetic (bench/scrubbench*.py, tests/lab/
scrubload.c and load.c's arguments) that need no machine. Every figure is worked out by
hand. A second."""

import os
import unittest

from bench import scrubbench, scrubbench_rows


def write(folder, name, data):
    """A file for the parser."""
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def row(peer, background, fg_mb_s, mean, scrub, **more):
    """Figures of a cell."""
    return {"drive": "d", "load": "sequential", "peer": peer, "background": background,
            "setting": "alone" if background == "none" else "idle 64k", "group": "g",
            "seconds": 10, "warmup": 5, "seed": 1, "fg_mb_s": fg_mb_s, "mean_ms": mean,
            "bg_mb_s": scrub, "sectors_read": 0, "sectors_verified": 0, "window_s": 10,
            "requests_per_s": 9, "errors": 0, "late_pm": 0, "disk_bytes": 10**10,
            "goal_ms": 0, "date": "2026-11-21", "commit": "c0ffee"} | more


class Detection(unittest.TestCase):
    """Seen to fail: an error met before the burst was there taken for its detection; a
    segment that ends where a run begins taken for a hit; bursts that nobody found left out
    of their number."""

    PLANTED = [(10, [(1000, 8), (1100, 16)]), (20, [(5000, 8)])]

    def test_first_of_a_burst(self):
        found = [(12.5, 1104, 8), (11.25, 1000, 128), (30, 4992, 16)]
        self.assertEqual(scrubbench_rows.detections(self.PLANTED, found), [1.25, 10])

    def test_only_what_overlaps(self):
        found = [(11, 992, 8), (12, 1008, 92), (13, 1116, 8), (21, 5008, 8)]
        self.assertEqual(scrubbench_rows.detections(self.PLANTED, found), [None, None])

    def test_row(self):
        """Of a run of 100 s: the second burst lasts from 20 s to its end."""
        got = scrubbench_rows.complete(
            row("bfq", "scrub", 1, 5, 1, found=[(12, 1000, 8)], seconds=95), 1, 1, self.PLANTED)
        self.assertEqual((got["bursts"], got["bursts_found"]), (2, 1))
        self.assertEqual(got["detect_least_s"], (2 + 80) / 2)
        self.assertEqual((got["detect_mean_s"], got["detect_max_s"]), (2, 2))


class Rows(unittest.TestCase):
    """Seen to fail: changes against mq-deadline taken from none's figures."""

    def made(self):
        figures = [row("none", "none", 2, 5, 0), row("mq-deadline", "none", 2.5, 4, 0),
                   row("bfq", "scrub", 1.5, 9, 7)]
        return {r["name"].partition(": ")[2]: r for r in scrubbench_rows.rows(figures)
                if r["peer"] == "bfq"}

    def test_against(self):
        got = self.made()
        self.assertAlmostEqual(got["foreground change against none"]["value"], -25)
        self.assertAlmostEqual(got["foreground change against mq-deadline"]["value"], -40)
        self.assertAlmostEqual(got["mean slowdown against none"]["value"], 4)
        self.assertAlmostEqual(got["mean slowdown against mq-deadline"]["value"], 5)
        self.assertEqual(got["scrub"]["value"], 7)

    def test_paper(self):
        got = self.made()
        self.assertEqual(got["scrub"]["paper"], 9.0)
        self.assertEqual(got["foreground change against none"]["paper"], -20.6)
        self.assertIsNone(got["foreground p50"]["paper"])


class Compared(unittest.TestCase):
    """Rows of two cells. Seen to fail: the quotient the other way round; what was
    read for the foreground taken for the scrubber's; twice the mean time."""

    @staticmethod
    def quotients(*figures):
        """{setting: value} of rows that compare."""
        return {r["setting"]: r for r in scrubbench_rows.compared(list(figures))}

    def test_against_bfq(self):
        ours = row("freeblock", "scrub", 1, 5, 12, setting="waiting, 1 ms")
        got = self.quotients(ours, row("bfq", "scrub", 1, 5, 4))
        self.assertAlmostEqual(got["waiting, 1 ms"]["value"], 3)
        self.assertEqual(self.quotients(ours), {})

    def test_media_reads(self):
        """10 s: 30 MB scrubbed at 3 MB/s, 10 MB of the foreground; 76.8 MB read or verified."""
        figures = row("freeblock", "scrub", 1, 5, 3, sectors_read=125000, sectors_verified=25000,
                      load="random")
        self.assertAlmostEqual(scrubbench_rows.complete(figures, 1000, 1, [])["media_per_byte"],
                               66.8 / 30)
        self.assertEqual(figures["disk_bytes"], 512000)
        figures["load"] = "bursts"
        self.assertAlmostEqual(scrubbench_rows.complete(figures, 1000, 1, [])["bg_mb_s"], 6.68)


class Cells(unittest.TestCase):
    """The matrix."""

    def test_range_of_a_task(self):
        settings = {s.name: s for s in scrubbench.settings("bursts")}
        for name, words in (("gaps only", "scan %d %d"),
                            ("scrub sequential, 1 ms", "scrub %d %d sequential"),
                            ("scrub staggered 128, 1 ms",
                             "scrub %d %d staggered=128 segment=64")):
            cell = scrubbench.Cell("atlas10k", "bursts", settings[name], 300, 1)
            self.assertEqual(cell.scrub(), words % scrubbench.RANGES["atlas10k"])


class Arguments(unittest.TestCase):
    """The command line."""

    def args(self, **more):
        return type("Args", (), {"drive": "atlas10k", "load": "random", "cell": "", "quick": False,
                                 "no_model": False,
                                 "seconds": 0, "seed": 1} | more)

    def test_no_model(self):
        """Freeblock's cells have no model then, and their rows' command says so. Seen to fail: the
        model all the same."""
        for no_model, model in ((False, "atlas10k.fbmodel"), (True, "")):
            cells = scrubbench.plan(self.args(no_model=no_model))
            self.assertEqual({c.setting.peer == "freeblock": c.variables()["model"]
                              for c in cells}, {False: "atlas10k.fbmodel", True: model})
            figures = [{**row("", "none", 1, 5, 0), **c.row({})} for c in cells]
            self.assertEqual({r["peer"] == "freeblock": r["command"]
                              for r in scrubbench_rows.rows(figures)},
                             {False: "make bench-scrub DRIVE=atlas10k LOAD=random",
                              True: "make bench-scrub DRIVE=atlas10k LOAD=random" +
                                    (" NO_MODEL=1" if no_model else "")})
