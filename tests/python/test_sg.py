# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock sg without a SCSI device: what it refuses; and of traces, which
the simulator takes, too. What it does with a device is tested in the lab
(tests/lab/t-sg.sh).
"""

import json
import os
import stat
import tempfile
import unittest
from unittest import mock

import taptest
from freeblock import ToolError, sim
from freeblock.commands import sg

MODEL = os.path.join(taptest.TOP, "models", "atlas10k.fbmodel")
TINY = {"drive": os.path.join(taptest.TOP, "tests", "lab", "files", "tiny.fbdrive"),
        "model": os.path.join(taptest.TOP, "tests", "lab", "files", "tiny.fbmodel"),
        "noise": "off", "set": "jitter_ns 0", "policy": "none", "preset": "paper"}
TINY_SECTORS = 50129
TINY_TURN_MS = 6


def freeblock(*words):
    """A subcommand's status, output and errors."""
    return taptest.freeblock("sg", *words)


class Case(unittest.TestCase):
    """With a folder of its own."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def file(self, text):
        """The name of a file with this text."""
        path = os.path.join(self.folder, "trace")
        with open(path, "wb") as file:
            file.write(text)
        return path


class Refusals(Case):
    """Messages name what is wrong, and what to do."""

    def refused(self, pattern, *words, status=1):
        """It ends with this status and message, and nothing printed."""
        ended, out, err = freeblock(*words)
        self.assertEqual((ended, out), (status, ""), err)
        self.assertRegex(err, pattern)

    def test_devices(self):
        """Nothing but /dev/sgX will do."""
        for path, pattern in (("/dev/null", r"^freeblock: /dev/null: not a SCSI generic.*lsscsi"),
                              (MODEL, "not a SCSI generic device"),
                              (self.folder, "not a SCSI generic device")):
            self.refused(pattern, path, "--model", MODEL)
        self.refused("sg0: no such block device", self.folder + "/sg0", "--model", MODEL, status=2)

    def test_block_device(self):
        """A disk's block device is told apart, and its number named."""
        path = os.path.join(self.folder, "disk")
        try:
            os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(8, 16))
        except PermissionError:
            self.skipTest("making a device takes root")
        self.refused(r"a block device: name the SCSI generic.*/sys/dev/block/8:16/", path,
                     "--model", MODEL)

    def test_settings(self):
        """The program's own, and the simulator's: status 2."""
        sgx = "/dev/null"
        for words, pattern in (
                (["--model", self.folder + "/none"], "none: No such file"),
                (["--model", self.file(b"fbmodel 2\n")], r"trace:\d: ")):
            self.refused(pattern, sgx, *words)
        for words, pattern in (
                (["--model", MODEL, "--report-us", "-1"], "--report-us: not a number from 0 to"),
                (["--model", MODEL, "--report-us", "nan"], "--report-us: nan is not a number"),
                (["--model", MODEL, "--timeout", "0"], "--timeout: less than one"),
                (["--model", MODEL, "--timeout", "soon"], "--timeout: soon is not a number"),
                (["--model", MODEL, "--size", "3"], "--size: '3' is not a multiple"),
                (["--model", MODEL, "--outstanding", "0"], "--outstanding: 0 is not between"),
                (["--model", MODEL, "--whole", "1"], "--whole: there is no task")):
            self.refused(pattern, sgx, *words, status=2)

    def test_simulated(self):
        """What only a simulated drive has is no setting."""
        sg.build_host()
        for word in ("drive=atlas10k", "set=noise off", "noise=off"):
            with self.assertRaisesRegex(ToolError, "only a simulated drive has that"):
                sg.run_host(["device=/dev/sg999", "model=" + MODEL, word], True)


class Runs(Case):
    """What becomes of what the program says; in its place is one that says it at once."""

    def setUp(self):
        super().setUp()
        result = sim.simulate(**{**TINY, "policy": "sptf", "task": "scan", "seconds": "2"})
        result["device"] = {"timeouts": 2, "indirect": 0}
        result["errors"]["free"] = 3
        self.result = json.dumps(result)
        self.host = os.path.join(self.folder, "host")

    def run_fake(self, text, *words):
        """Status, output and errors with a shell script in the program's place."""
        with open(self.host, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n%s\n" % text)
        os.chmod(self.host, 0o755)
        with mock.patch.object(sg, "build_host", return_value=self.host):
            return freeblock("/dev/null", "--model", MODEL, *words)

    def test_result(self):
        """A table and what should not be; or the object."""
        script = "echo progress 0.5 >&2\ncat <<E\n%s\nE" % self.result
        status, out, err = self.run_fake(script)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^ +req/s +mean_ms.*free_MB/s.*\n +\d")
        self.assertEqual(out.splitlines()[2:], ["3 free reads met bad sectors",
                                                "2 commands took too long"])
        status, out, _ = self.run_fake(script, "--json")
        self.assertEqual((status, json.loads(out)), (0, json.loads(self.result)))

    def test_lost(self):
        """Results of the time before are shown, and the reason."""
        status, out, err = self.run_fake("cat <<E\n%s\nE\necho freeblock-sg: it is gone >&2\n"
                                         "exit 1" % self.result)
        self.assertEqual((status, err), (1, "freeblock: it is gone\n"))
        self.assertIn("req/s", out)

    def test_dead(self):
        """Nothing is shown of a program that said nothing."""
        status, out, err = self.run_fake("exit 3")
        self.assertEqual((status, out, err), (1, "", "freeblock: freeblock-sg: status 3\n"))

    def test_interrupt(self):
        """It goes to the program, whose results are waited for.

        Seen to fail: a command that dies of the interrupt itself."""
        # Ctrl-C is a signal to both
        script = "trap 'cat <<E\n%s\nE\nexit 0' INT\nkill -INT $PPID\nkill -INT $$" % self.result
        status, out, err = self.run_fake(script)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("req/s", out)

    def test_words(self):
        """Options become settings."""
        status, _, err = self.run_fake(
            'echo "$@" >&2', "--reads", ".5", "--allow-writes", "--confirm", "A B", "--direct",
            "--report-us", "5", "--timeout", "9", "--crc", "c", "--outstanding", "3")
        self.assertEqual(status, 1)
        self.assertEqual(err, "freeblock: --progress device=/dev/null model=%s outstanding=3 "
                         "reads=.5 confirm=A B report_us=5 timeout_ms=9 crc=c allow_writes=1 "
                         "direct=1\n" % MODEL)


class Traces(Case):
    """Requests that come as recorded."""

    def trace(self, text, **settings):
        """A run of the tiny drive."""
        return sim.simulate(**{**TINY, "trace": self.file(text), **settings})

    def test_times(self):
        """The platter turns on until the request comes.

        Seen to fail: times in tenths of a millisecond."""
        first = self.trace(b"0 0 8 R\n")["response_ms"]["max"]
        for later in (1, 2.5, 5, 11):
            ms = self.trace(b"%g 0 8 R\n" % later)["response_ms"]["max"]
            # the same but for the turning; transfer is below a turn
            self.assertAlmostEqual(0, (first - ms - later + .001) % TINY_TURN_MS, delta=.002)

    def test_requests(self):
        """All come, in both directions, whatever lies between the lines; then it ends."""
        r = self.trace(b"# of nothing\n\n1 8 8 R # one\n  2.25\t16 16 W\r\n1e2 %d 1 R" %
                       (TINY_SECTORS - 1))
        self.assertEqual(r["requests"], 3)
        self.assertAlmostEqual(r["foreground_mb_s"] * r["seconds"] * 1e6, 25 * 512, delta=1)
        self.assertGreater(r["seconds"], .1)
        self.assertLess(r["seconds"], .2)

    def test_end(self):
        """It may also end before."""
        text = b"".join(b"%d 0 8 R\n" % (10 * i) for i in range(100))
        self.assertEqual(self.trace(text)["requests"], 100)
        self.assertEqual(self.trace(text, requests="40")["requests"], 40)

    def test_task(self):
        """A scan rides along.

        The requests come in bursts: without a queue there is no gap."""
        text = b"".join(b"%d %d 8 R\n" % (50 * (i // 5), i * 7919 % 50000) for i in range(500))
        r = self.trace(text, policy="sptf", task="scan", conservatism_us="100")
        self.assertEqual(r["requests"], 500)
        self.assertGreater(r["task_done"], .05)

    def test_refused(self):
        """Each with file and line."""
        for text, pattern in (
                (b"0 0 8\n", r"trace:1: not MILLISECONDS LBN SECTORS R\|W: '0 0 8'"),
                (b"\n0 0 8 X\n", "trace:2: not MILL"),
                (b"0 0 8 R x\n", "trace:1: not MILL"),
                (b"0 0 8 RW\n", "trace:1: not MILL"),
                (b"0 -1 8 R\n", "trace:1: not MILL"),
                (b"-1 0 8 R\n", "trace:1: not MILL"),
                (b"nan 0 8 R\n", "trace:1: "),
                (b"1e11 0 8 R\n", "trace:1: 1e.11 ms are more than 1e.10"),
                (b"5 0 8 R\n4 0 8 R\n", "trace:2: earlier than the request before"),
                (b"0 0 0 R\n", "trace:1: 0 sectors, not 1 to 2048"),
                (b"0 0 2049 R\n", "trace:1: 2049 sectors, not 1 to 2048"),
                (b"0 %d 2 R\n" % (TINY_SECTORS - 1), "trace:1: sectors .* beyond the disk's"),
                (b"0 99999999999999999999999 1 R\n", "trace:1: "),
                (b"# nothing\n", "trace: no requests"),
                (b"0 0 8 R\n\0", "trace: a byte 0: not a text")):
            with self.assertRaisesRegex(ToolError, pattern, msg=text):
                self.trace(text)
        with self.assertRaisesRegex(ToolError, "rate: the trace says when"):
            self.trace(b"0 0 8 R\n", rate="10")

    def test_blocks(self):
        """A drive of 4096-byte blocks takes whole ones."""
        trace = self.file(b"0 8 8 R\n1 12 8 R\n")
        with self.assertRaisesRegex(ToolError, "trace:2: not whole blocks of the disk, 8 sectors"):
            sim.simulate(drive="nearline16", trace=trace)


class Errors(Case):
    """Bad sectors; of the scheduler's core, so the simulator shows them as well.

    Seen to fail: a foreground request that fails with the free read before it; blocks
    given up because they were read with a bad one."""

    BAD = (803, 1610, 2411, 3202)
    BLOCKS = 500

    def scan(self, *lines, **settings):
        """A scan of the first blocks to its end."""
        sets = [("set", line) for line in lines]
        job = {**TINY, "policy": "sptf-sw", "noise": "laplace", "task": "scan", "whole": "1",
               "range": "0+%d" % (8 * self.BLOCKS), "conservatism_us": "100", "reads": "1",
               "rate": "30", "idle": "on", "size": "4k", "seconds": "200", **settings}
        return sim.run_jobs([sim.complete(list(job.items()) + sets)])[0]

    def bad(self, lbns, more="", recovery_ms=20):
        """Lines of a drive's description."""
        return ["medium_error %d 1 recovery_ms=%d%s" % (lbn, recovery_ms, more) for lbn in lbns]

    def skipped(self, r, blocks):
        """The scan has read all but these."""
        self.assertEqual(r["map"], "whole")
        self.assertEqual(r["errors"]["blocks_skipped"], blocks)
        self.assertAlmostEqual(r["task_done"] * self.BLOCKS, self.BLOCKS - blocks, delta=.01)

    def test_scan(self):
        """Blocks with a bad sector are given up, no other, wherever the drive says it is."""
        for more in ("", " info=0", " asc=15", " asc=15 info=0"):
            for seed in range(3):
                r = self.scan(*self.bad(self.BAD, more), seed=str(seed))
                self.skipped(r, len(self.BAD))
                self.assertGreaterEqual(r["errors"]["free"], len(self.BAD))

    def test_foreground(self):
        """Requests for good sectors do not fail, those for bad ones do."""
        good = b"".join(b"%d %d 8 R\n" % (50 * (i // 5), 200 * (i * 7 % 250) + 96)
                        for i in range(20000))
        for more in ("", " info=0"):
            # some just before a request: reads that are prepended to it meet them
            r = self.scan(*self.bad(range(91, 10000, 200), more), trace=self.file(good), range="",
                          whole="0", separate="0", rate="0")
            self.assertGreaterEqual(r["errors"]["free"], 5)
            self.assertEqual(r["requests"], 20000)
            self.assertEqual(r["errors"]["foreground"], 0)
            own = b"".join(b"%d %d 8 R\n" % (100 * i, 800 if i % 4 else 16) for i in range(40))
            r = self.scan(*self.bad([803], more), trace=self.file(own), task="none", whole="0",
                          rate="0")
            self.assertEqual((r["requests"], r["errors"]["foreground"]), (10, 30))
