# SPDX-License-Identifier: GPL-2.0
"""Tests of make bench-scrub's arithmetic (bench/scrubbench*.py, tests/lab/
scrubload.c and load.c's arguments) that need no machine. Every figure is worked out by
hand. A second."""

import os
import subprocess
import tempfile
import unittest

from taptest import TOP
from freeblock import ToolError
from bench import labcells, scrubbench, scrubbench_rows, scrubbench_traces


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


class Faults(unittest.TestCase):
    """Rows not to be trusted, and cells that say nothing."""

    def test_faults(self):
        rows = [row("bfq", "scrub", 1, 5, 1, errors=2), row("bfq", "scrub", 1, 5, 1, late_pm=11),
                row("bfq", "scrub", 1, 5, 1),
                row("bfq", "scrub", 1, 5, 1, load="bursts", errors=2)]
        self.assertEqual(len(labcells.faults(rows)), 2)

    def test_void(self):
        """No request, though the disk is not left alone. Seen to fail: kept."""
        for load, void in ("random", True), ("quiet", False):
            cell = scrubbench.Cell("atlas10k", load, scrubbench.settings(load)[0], 10, 1)
            self.assertEqual(bool(cell.void({"requests_per_s": 0})), void)


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

    def test_paper_names_are_those_of_cells(self):
        known = {(load, s.peer, s.name) for load in scrubbench.LOADS
                 for s in scrubbench.settings(load)}
        for (*where, measure) in scrubbench_rows.PAPER:
            self.assertIn(tuple(where), known)
            self.assertIn(measure, {**scrubbench_rows.MEASURES, **scrubbench_rows.DETECTION})

    def test_goal(self):
        """3 ms slower than none, where 2 were allowed."""
        figures = [row("none", "none", 2, 5, 0), row("freeblock", "scrub", 2, 8, 1, goal_ms=2)]
        got = [r for r in scrubbench_rows.rows(figures)
               if r["measure"] == "mean slowdown against its goal"]
        self.assertEqual([r["value"] for r in got], [1.5])
        known = {s.name: s.goal_ms for s in scrubbench.settings("random")}
        self.assertEqual((known["waiting, 4 ms"], known["gaps + idle, 0.5 ms"],
                          known["gaps only"], known["idle 64k"]), (4, 0.5, 0, 0))

class Compared(unittest.TestCase):
    """Rows of two cells. Seen to fail: the quotient the other way round; what was
    read for the foreground taken for the scrubber's; twice the mean time."""

    @staticmethod
    def quotients(*figures):
        """{setting: value} of rows that compare."""
        return {r["setting"]: r for r in scrubbench_rows.compared(list(figures))}

    def test_against_bfq(self):
        ours = row("freeblock", "scrub", 1, 5, 12, setting="waiting, 1 ms",
                   load="replay-c6t8d0")
        got = self.quotients(ours, row("bfq", "scrub", 1, 5, 4, load="replay-c6t8d0"))
        self.assertAlmostEqual(got["waiting, 1 ms"]["value"], 3)
        self.assertAlmostEqual(got["waiting, 1 ms"]["paper"], 6.2)
        self.assertEqual(self.quotients(ours), {})

    def test_staggered(self):
        name = "verify default 64k 0 ms"
        got = self.quotients(
            row("none", "scrub", 0, None, 10, load="quiet", setting=name),
            row("none", "scrub", 0, None, 8, load="quiet", setting=name + " staggered 128"))
        self.assertAlmostEqual(got[name + " staggered 128"]["value"], 0.8)

    def test_media_reads(self):
        """10 s: 30 MB scrubbed at 3 MB/s, 10 MB of the foreground; 76.8 MB read or verified."""
        figures = row("freeblock", "scrub", 1, 5, 3, sectors_read=125000, sectors_verified=25000,
                      load="random")
        self.assertAlmostEqual(scrubbench_rows.complete(figures, 1000, 1, [])["media_per_byte"],
                               66.8 / 30)
        self.assertEqual(figures["disk_bytes"], 512000)
        figures["load"] = "bursts"
        self.assertAlmostEqual(scrubbench_rows.complete(figures, 1000, 1, [])["bg_mb_s"], 6.68)

    def test_latent(self):
        """10 GB at 10 MB/s take 1000 s: an error waits for 500 s on the mean."""
        self.assertAlmostEqual(scrubbench_rows.latent_days(row("bfq", "scrub", 1, 5, 10)),
                               500 / 86400)
        self.assertIsNone(scrubbench_rows.latent_days(row("bfq", "scrub", 1, 5, 0)))


class Traces(unittest.TestCase):
    """Excerpts. Seen to fail: the part after the best one; blocks cut instead of widened; a
    request that begins on the disk and ends behind it."""

    def test_window(self):
        """Parts of 10 s with 1, 4, 3, 9 requests; their mean is 4.25. The rest is none."""
        times = [100, 110, 111, 112, 113, 120, 121, 122] + [130 + i for i in range(9)] + [145]
        self.assertEqual(scrubbench_traces.window(times, 10), (1, 5))
        self.assertRaises(ToolError, scrubbench_traces.window, times, 50)

    def test_lines(self):
        requests = [(100.5, 8, 8, False), (101, 15, 2, True), (102, 1003, 9, False),
                    (103, 992, 16, False), (104, 0, 1 << 21, False)]
        got = scrubbench_traces.lines(requests[:4], 100, 1000)
        self.assertEqual(got, ["500000 R 8 8\n", "1000000 W 8 16\n", "2000000 R 0 16\n",
                               "3000000 R 984 16\n"])
        self.assertEqual(scrubbench_traces.lines(requests[4:], 104, 1 << 30),
                         ["0 R 0 %d\n" % (1 << 20)])

    def test_excerpt(self):
        """It begins with the part's first moment, not with its first request."""
        requests = [(0.0, 0, 8, False)] + [(10 + i, 8 * i, 8, False) for i in (3, 4)] + \
            [(21.0, 0, 8, False), (25.0, 0, 8, False), (30.0, 0, 8, False)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t")
            scrubbench_traces.write_excerpt(path, requests, 10, 10000)
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), "3000000 R 24 8\n4000000 R 32 8\n")

class Cells(unittest.TestCase):
    """The matrix."""

    def test_names_are_distinct(self):
        for load in scrubbench.LOADS:
            names = [(s.peer, s.name) for s in scrubbench.settings(load)]
            self.assertEqual(len(names), len(set(names)))

    def test_range_of_a_task(self):
        settings = {s.name: s for s in scrubbench.settings("bursts")}
        for name, words in (("gaps only", "scan %d %d"),
                            ("scrub sequential, 1 ms", "scrub %d %d sequential"),
                            ("scrub staggered 128, 1 ms",
                             "scrub %d %d staggered=128 segment=64")):
            cell = scrubbench.Cell("atlas10k", "bursts", settings[name], 300, 1)
            self.assertEqual(cell.scrub(), words % scrubbench.RANGES["atlas10k"])

class Programs(unittest.TestCase):
    """scrubload and load, on a file in place of a disk, refuse what makes no sense. What
    they do is the lab's part."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("load", "scrubload"):
            subprocess.run(["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror",
                            "-o", os.path.join(cls.folder.name, name),
                            os.path.join(TOP, "tests", "lab", name + ".c"), "-lm", "-lpthread"],
                           check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def said(self, *words):
        """Exit status and errors."""
        done = subprocess.run([os.path.join(self.folder.name, words[0]), *words[1:]], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stderr

    def test_watch(self):
        """A list of bad sectors: the numbers of its lines, each once."""
        path = os.path.join(self.folder.name, "bad")
        out = os.path.join(self.folder.name, "found")
        write(self.folder.name, "bad", "none\n16 8 medium\n24 8 medium\n32 8 medium\n16 again\n")
        status, _ = self.said("scrubload", "watch", path, "seconds=0", "out=" + out)
        self.assertEqual(status, 0)
        with open(out, encoding="ascii") as file:
            self.assertEqual(file.read(), "")
        status, _ = self.said("scrubload", "watch", path, "seconds=1", "out=" + out)
        self.assertEqual(status, 0)
        with open(out, encoding="ascii") as file:
            self.assertEqual([line.split()[1:] for line in file],
                             [["16", "1"], ["24", "1"], ["32", "1"]])


class Arguments(unittest.TestCase):
    """The command line."""

    def args(self, **more):
        return type("Args", (), {"drive": "atlas10k", "load": "random", "cell": "", "quick": False,
                                 "trace": "", "no_model": False,
                                 "seconds": 0, "seed": 1} | more)

    def test_cell(self):
        """Those that match, and those alone to compare with."""
        got = scrubbench.plan(self.args(cell="^bfq idle .m|near"))
        self.assertEqual({c.setting.name for c in got}, {"alone", "idle 1m", "scrub near, 1 ms"})

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

    def test_trace(self):
        """A file of the user's is the only load, unless others are named."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.csv")
            # 0.5 s apart, 4 KiB each, block after block; 128166372000000000: Windows' clock
            write(folder, "mine.csv", "".join(
                "%d,h,0,%s,%d,4096,100\n" % (128166372000000000 + i * 5000000,
                                             "Write" if i % 2 else "Read", i * 4096)
                for i in range(100)))
            args = self.args(load="", trace=path, seconds=5)
            cells = scrubbench.plan(args)
            self.assertEqual({c.load for c in cells}, {"replay-mine.csv"})
            scrubbench.give_traces(cells[:1], folder, args)
            with open(cells[0].trace, encoding="ascii") as file:
                got = file.read().splitlines()
        self.assertEqual(got[:2], ["0 R 0 8", "500000 W 8 8"])
        self.assertEqual(len(got), 20)
        self.assertEqual(cells[0].foreground(), "replay depth=1024 trace=/lab/files/" +
                         os.path.basename(cells[0].trace))

    def test_wrong(self):
        for more in ({"cell": "("}, {"cell": "no such"}, {"load": "heavy"}, {"drive": "floppy"}):
            self.assertRaises(ToolError, scrubbench.plan, self.args(**more))
