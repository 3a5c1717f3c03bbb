# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock scrub: its journal of coverage under every kind of crash, and the
command against a made-up sysfs. Takes some seconds.
"""

import contextlib
import io
import json
import os
import random
import signal
import struct
import tempfile
from unittest import mock

import fakedisk
from freeblock import ToolError, cli, fbstate
from freeblock.base import helpers, safe_file
from freeblock.commands import scrub
from freeblock.machine import badblocks, due, keeper, passes
from freeblock.tasks import scrub_port, scrub_state

DISK = {"id": "naa.5000", "sectors": 8 * 1000, "block_bytes": 4096, "blocks": 1000}


def subset(some, of):
    """Whether all bits of `some` are in `of`."""
    return scrub_state.contains(of, some)


class Case(fakedisk.Case):
    """With a state file of its own."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "state", "disk.coverage")

    def load(self, raw):
        """The map of a file with these bytes, and what was said; ToolError if refused."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as file:
            file.write(raw)
        journal, said = scrub_state.open_journal(self.path, DISK)
        journal.close()
        return bytes(journal.bits), said

    def written(self):
        """The file's bytes."""
        with open(self.path, "rb") as file:
            return file.read()


class Growth:
    """A journal that grows as a scrub does, and what was true after each save."""

    def __init__(self, path, saves, seed):
        self.journal, _ = scrub_state.open_journal(path, DISK)
        self.random = random.Random(seed)
        self.bits = bytearray(scrub_state.map_bytes(DISK["blocks"]))
        self.saved = []                 # (length of the file, map)
        for _ in range(saves):
            self.step()

    def step(self):
        """Some blocks more, a run and single ones; saved."""
        first = self.random.randrange(900)
        blocks = list(range(first, first + self.random.randrange(80)))
        for block in blocks + self.random.sample(range(1000), 5):
            self.bits[block // 8] |= 1 << block % 8
        self.journal.save(bytes(self.bits), 7)
        self.saved.append((self.journal.size, bytes(self.bits)))


class Crashes(Case):
    """Whatever becomes of the file, nothing is counted that was not delivered, and what
    was saved before the harm is there.

    Seen to fail with: no checksum of a record (a flipped bit counts a block); one without
    the nonce (another file's records count).
    """

    def setUp(self):
        super().setUp()
        grown = Growth(self.path, 6, 1)
        grown.journal.close()
        self.saved, self.raw = grown.saved, self.written()
        self.assertEqual(len(self.raw), self.saved[-1][0])

    def test_cut(self):
        """Cut short at each byte: what was saved by then, never less as it grows."""
        before = bytes(len(self.saved[0][1]))
        for length in range(self.saved[0][0], len(self.raw) + 1):
            bits, _ = self.load(self.raw[:length])
            least = [saved for size, saved in self.saved if size <= length][-1]
            self.assertTrue(subset(least, bits) and subset(bits, self.saved[-1][1]), length)
            self.assertTrue(subset(before, bits), length)
            before = bits
        self.assertEqual(before, self.saved[-1][1])

    def test_flipped(self):
        """A spoiled byte takes away its record at most."""
        truth = self.saved[-1][1]
        for at in range(scrub_state.HEADER, len(self.raw)):
            raw = bytearray(self.raw)
            raw[at] ^= 1 << at % 8
            bits, said = self.load(bytes(raw))
            self.assertTrue(subset(bits, truth), at)
            self.assertIn("no whole record", said)
            lost = scrub_state.count(truth) - scrub_state.count(bits)
            self.assertLess(lost, scrub_state.count(truth) // 2, at)

    def test_header(self):
        """Without a header one can rely on the file is kept aside, and nothing counts."""
        end = self.raw.index(b"\nend ") + len("\nend 12345678")
        for at in range(end):
            raw = bytearray(self.raw)
            raw[at] ^= 1
            bits, said = self.load(bytes(raw))
            self.assertEqual(scrub_state.count(bits), 0, at)
            self.assertIn("kept as %s.damaged-%d" % (self.path, at + 1), said)

    def test_other_file(self):
        """What an older file left behind the end is none of this one's."""
        grown = Growth(self.path + "2", 3, 77)
        grown.journal.close()
        with open(self.path + "2", "rb") as file:
            stale = file.read()[scrub_state.HEADER:]
        bits, said = self.load(self.raw + stale)
        self.assertEqual(bits, self.saved[-1][1])
        self.assertIn("%d of" % len(stale), said)


class Journals(Case):
    """Saving, compacting, passes, refusals."""

    def test_reopened(self):
        """It goes on across runs, and the file stays small."""
        truth = bytearray(scrub_state.map_bytes(1000))
        for seed in range(5):
            grown = Growth(self.path, 0, seed)
            self.assertEqual(grown.journal.bits, truth)
            grown.bits[:] = truth
            for _ in range(3):
                grown.step()
            truth = grown.bits
            grown.journal.close()
        with mock.patch.object(scrub_state, "SLACK", 0):
            grown = Growth(self.path, 0, 9)
            grown.bits[:] = truth
            for _ in range(100):
                grown.step()
                self.assertLess(os.path.getsize(self.path), 3 * len(truth) + 2000)
            grown.journal.close()
        self.assertEqual(self.load(self.written())[0], grown.bits)

    def test_crash_while_compacting(self):
        """Before the rename the old file counts, after it the new one: the same map."""
        grown = Growth(self.path, 4, 5)
        saved = bytes(grown.bits)
        for broken in ("new_file", "os.fsync", "os.replace", "sync_directory"):
            with mock.patch.object(scrub_state, "SLACK", -1 << 20), \
                    mock.patch("freeblock.base.safe_file." + broken, side_effect=OSError(5, "")):
                more = bytearray(grown.bits)
                more[0] |= 255
                with self.assertRaises(OSError):
                    grown.journal.save(bytes(more), 7)
            found = self.load_copy()
            self.assertTrue(subset(saved, found) and subset(found, more), broken)

    def test_full(self):
        """A save that failed half-way, for want of room, say, is made up for by the next.

        Seen to fail with save() that takes the map for saved before it is written."""
        grown, really = Growth(self.path, 2, 3), scrub_state.write_all

        def write(fd, data, offset):
            really(fd, data[:len(data) // 2], offset)
            raise OSError(28, "No space left on device")

        with mock.patch.object(scrub_state, "write_all", write), self.assertRaises(OSError):
            grown.step()
        self.assertTrue(subset(self.load_copy(), grown.bits))
        grown.step()
        self.assertEqual(self.load_copy(), grown.bits)
        grown.journal.close()

    def test_order(self):
        """What is saved is on stable storage before save() returns, a new file before it has
        its name.

        Seen to fail without os.fdatasync()."""
        events = []

        def note(name, function):
            def noting(*words):
                events.append(name)
                return function(*words)
            return noting

        grown = Growth(self.path, 0, 3)
        with contextlib.ExitStack() as stack:
            for where, name in ((scrub_state, "write_all"), (safe_file, "sync_directory")):
                stack.enter_context(mock.patch.object(where, name,
                                                      note(name, getattr(where, name))))
            for name in ("fsync", "fdatasync", "replace"):
                stack.enter_context(mock.patch.object(os, name, note(name, getattr(os, name))))
            grown.step()
            grown.step()
        self.assertEqual(events, ["fsync", "replace", "sync_directory", "fsync", "write_all",
                                  "fdatasync"])
        grown.journal.close()

    def load_copy(self):
        """The map of the file while it is open."""
        raw, bits = self.written(), bytearray(scrub_state.map_bytes(1000))
        header = scrub_state.parse_header("", raw[:scrub_state.HEADER])
        scrub_state.replay(raw, bytes.fromhex(header["nonce"]), bits)
        return bits

    def test_never_less(self):
        """A map that lacks what was saved is a fault, not a save."""
        grown = Growth(self.path, 2, 3)
        with self.assertRaises(ValueError):
            grown.journal.save(bytes(len(grown.bits)), 7)
        grown.journal.close()
        self.assertEqual(self.load(self.written())[0], grown.bits)

    def test_pass(self):
        """Another pass begins with nothing, and says its number."""
        grown = Growth(self.path, 2, 3)
        grown.journal.begin_pass()
        grown.journal.close()
        journal, _ = scrub_state.open_journal(self.path, DISK)
        self.assertEqual((scrub_state.count(journal.bits), journal.number), (0, 2))
        journal.close()

    def test_foreign(self):
        """Another disk's file is refused and left as it is."""
        Growth(self.path, 2, 3).journal.close()
        raw = self.written()
        for key, value, word in (("id", "naa.6", "disk naa.5000 there, naa.6 here"),
                                 ("sectors", 9, "sectors 8000"), ("block_bytes", 1, "4096")):
            with self.assertRaisesRegex(ToolError, word):
                scrub_state.open_journal(self.path, {**DISK, key: value})
        self.assertEqual(self.written(), raw)

    def test_links(self):
        """No file that a link names is read, written over or locked; what is in the way of the
        new file goes. Seen to fail: each of the three opened as usual."""
        other = os.path.join(self.folder, "other")
        for ending, refused in (("", True), (".lock", True), (".new", False)):
            path = os.path.join(self.folder, "link" + ending.replace(".", "-"))
            with open(other, "wb") as file:
                file.write(b"somebody else's")
            os.symlink(other, path + ending)
            if refused:
                with self.assertRaisesRegex(ToolError, "a symbolic link"):
                    scrub_state.open_journal(path, DISK)
            else:
                journal, _ = scrub_state.open_journal(path, DISK)
                journal.save(journal.bits, 1)
                journal.close()
            with open(other, "rb") as file:
                self.assertEqual(file.read(), b"somebody else's", ending)

    def test_two(self):
        """Only one may save to a file."""
        grown = Growth(self.path, 1, 3)
        with self.assertRaisesRegex(ToolError, "another freeblock scrub"):
            scrub_state.open_journal(self.path, DISK)
        grown.journal.close()


class Death(BaseException):
    """kill -9"""


class Kernel:
    """In place of scrub_port.Port: a scrubber that verifies some blocks at each look.

    script: what happens at which look, before the answer.
    """

    def __init__(self, disk, each=37, seed=1):
        self.disk, self.each, self.rng = disk, each, random.Random(seed)
        self.now, self.looks, self.script, self.restored = "idle", 0, {}, []
        self.words, self.reads, self.lost, self.began = [], 0, False, 1000
        self.bits = bytearray(scrub_state.map_bytes(1000))
        self.truth = bytearray(len(self.bits))      # delivered in this pass, ever
        self.blocks_bad, self.bad = 0, set()

    def identity(self):
        """As of DISK."""
        return dict(DISK)

    def find(self, _identity):
        """Unless it is lost; time passes."""
        return not self.lost or self.state() is not None

    def state(self):
        """Some progress, then the state."""
        self.looks += 1
        for event in self.script.pop(self.looks, ()):
            event(self)
        if self.lost:
            return None
        if self.now == "running":
            left = [b for b in range(1000) if not self.bits[b // 8] >> b % 8 & 1 and
                    b not in self.bad]
            for block in self.rng.sample(left, min(self.each, len(left))):
                self.bits[block // 8] |= 1 << block % 8
                self.truth[block // 8] |= 1 << block % 8
                self.reads += 1
            if len(left) <= self.each:
                self.now = "finished"
        return self.now

    def values(self):
        """As the kernel's file."""
        return {"state": self.now, "blocks_bad": self.blocks_bad, "first": 0, "sectors": 8000}

    def command(self, words):
        """start, stop ... A start that does not resume is a new pass."""
        self.words.append(words)
        first = words.split()[0]
        if first == "start" and "resume-coverage" not in words:
            self.new_pass()
        self.now = {"start": "running", "pause": "paused", "resume": "running",
                    "stop": "stopped", "deadline": self.now}[first]

    def new_pass(self):
        """Nothing has been verified in it."""
        self.began += 1
        self.bits, self.truth = bytearray(len(self.bits)), bytearray(len(self.bits))

    def coverage(self, _identity):
        """The map."""
        return None if self.lost else scrub_port.Coverage(self.known, bytes(self.bits))

    @property
    def known(self):
        """When this pass began, as far as the module remembers."""
        return 0 if self.now == "idle" else self.began

    def restore(self, _identity, covered):
        """Verified before."""
        if not subset(covered.bits, self.truth) or covered.began != self.began:
            raise AssertionError("the tool counts what was not delivered in this pass")
        self.bits[:] = covered.bits
        self.restored.append(scrub_state.count(covered.bits))

    def reload(self):
        """The module goes and comes back: it knows nothing."""
        self.now, self.bits = "idle", bytearray(len(self.bits))


class Commands(Case):
    """freeblock scrub against a made-up kernel."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000, 4096, {"id": "naa.5000"})
        self.tree.partition("sda", "sda1", 804, 400)
        self.kernel = Kernel(fbstate.Disk("sda"))
        self.patch(mock.patch.object(scrub, "Port", lambda disk: self.kernel),
                   mock.patch.object(scrub, "SAVE_S", 0), mock.patch.object(keeper, "SAVE_S", 0),
                   mock.patch.object(signal, "signal", self.catch))

    def catch(self, number, handler):
        """Handlers are called by the script, not by the system."""
        self.handler = (number, handler)

    def scrub(self, *words):
        """Status, output, errors."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(["scrub", "sda", *words, *(
                ("--state", self.path) if words[:1] in (("run",), ("start",)) else ())])
        return status, out.getvalue(), err.getvalue()

    def run_to(self, *more):
        """A run with an object."""
        status, out, err = self.scrub("run", "--quiet", "--before", "0", "--json", *more)
        return status, json.loads(out) if out else None, err

    def interrupt(self, _kernel):
        """SIGTERM."""
        self.handler[1](signal.SIGTERM, None)

    def test_run(self):
        """A pass from end to end; the next run begins another."""
        status, result, _ = self.run_to("--order", "staggered=128", "--segment", "1024")
        self.assertEqual((status, result["progress"]["done"], self.kernel.words),
                         (0, 1000, ["start staggered=128 segment=1024"]))
        status, result, err = self.run_to()
        self.assertEqual((status, result["progress"]["pass"], self.kernel.reads), (0, 2, 2000))
        self.assertIn("pass 2 begins", err)

    def test_on_record(self):
        """A pass over the whole disk is on record with those of freeblock.conf; one that was
        interrupted, or over a partition, is not. Seen to fail: the partition's; none recorded."""
        self.tree.write("sys/devices/sda/device/wwid", "naa.5000c500a1b2c3d4")
        self.kernel.script = {6: [self.interrupt]}
        self.run_to()
        self.assertIsNone(due.last_pass("sda"))
        part = mock.Mock(piece=mock.Mock(suffix=".800-408"), blocks=51, verified=lambda: 51)
        scrub.tell(self.kernel, part, mock.Mock(number=1), {})
        self.assertIsNone(due.last_pass("sda"))
        self.assertEqual(self.scrub("history")[:2],
                         (0, "no pass over the whole disk has ended yet\n"))
        self.tree.write("sys/kernel/freeblock/sda/state/cost",
                        "free reads add 0.61 +- 0.20 ms (3.1 %) to a read")
        with mock.patch.object(due.time, "time", lambda: 1e9):
            self.assertEqual(self.run_to()[0], 0)
        self.assertEqual(due.last_pass("sda"), 10 ** 9)
        self.assertRegex(self.scrub("history")[1],
                         r"^1970-.* to 2001-09-09 .*: 1000 blocks, 0 bad; free "
                         r"reads added 0.61 \+- 0.20 ms to a request\n$")
        (one,) = json.loads(self.scrub("history", "--json")[1])
        self.assertEqual((one["ended"], one["blocks"]), (10 ** 9, 1000))

    def test_history(self):
        """The last hundred; lines that are spoilt are passed over. Seen to fail: all kept."""
        self.tree.write("var/lib/freeblock/x_y.passes", "nonsense\n{}\n[]")
        self.assertEqual(passes.load("x/y"), [])
        for number in range(102):
            passes.add("x/y", **{**dict.fromkeys(passes.KEYS, 0), "ended": number})
        self.assertEqual([one["ended"] for one in passes.load("x/y")], list(range(2, 102)))
        self.assertEqual(passes.load("z"), [])

    def test_gate(self):
        """While the gate is closed the scrub is paused; one that somebody else paused stays so.

        Seen to fail: resumed though it was not paused here; not resumed."""
        why = {3: "too warm", 4: "too warm", 7: None}
        looks = []

        def closed():
            looks.append(None)
            if len(looks) == 12:
                self.kernel.now = "paused"
            if len(looks) == 15:
                self.kernel.now = "running"
            return why.get(len(looks))

        args = cli.make_parser("scrub").parse_args(
            ["scrub", "sda", "run", "--quiet", "--before", "0", "--state", self.path])
        args.gate = mock.Mock(why=closed)
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            self.assertEqual(scrub.run(args), 0)
        self.assertEqual(self.kernel.words, ["start", "pause", "resume"])
        self.assertEqual(err.getvalue().count("waiting: too warm"), 1)

    def test_gate_killed(self):
        """What was killed while the gate was closed has left the scrub paused: the next one
        resumes it. Seen to fail: it stayed paused, and the unit at work, for good."""
        self.kernel.now = "paused"
        args = cli.make_parser("scrub").parse_args(
            ["scrub", "sda", "run", "--quiet", "--before", "0", "--state", self.path])
        args.gate = mock.Mock(why=lambda: None)
        # a test that waits for good ends
        self.kernel.script = {200: [self.interrupt]}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(scrub.run(args), 0)
        self.assertEqual(self.kernel.words, ["resume"])

    def test_deadline(self):
        """The kernel is told it after a start, also after the module was loaded anew, and when a
        scrub is joined; a module that does not know it scrubs all the same.

        Seen to fail: a deadline for those alone that it starts itself."""
        def later(_kernel):
            self.clock += 3600

        self.clock = 1e9
        self.kernel.script = {6: [later], 8: [Kernel.reload], 12: [self.interrupt]}
        with mock.patch.object(scrub.time, "time", lambda: self.clock):
            self.run_to("--deadline", "2")
            told = [words for words in self.kernel.words if words.startswith("deadline")]
            self.assertEqual(told, ["deadline 172800", "deadline 169200"])
            self.kernel.now, self.kernel.words = "running", []
            self.assertEqual(self.scrub("start", "--deadline", "0.5")[0], 1)
            self.assertEqual(self.run_to("--deadline", "0.5")[0], 0)
        self.assertEqual(self.kernel.words, ["deadline 43200"])
        refused = mock.Mock(side_effect=ToolError("no such command"))

        def command(words):
            return refused() if words.startswith("deadline") else \
                Kernel.command(self.kernel, words)

        with mock.patch.object(self.kernel, "command", command):
            status, _, err = self.run_to("--deadline", "1")
        self.assertEqual((status, refused.call_count), (0, 1))
        self.assertIn("it goes on without a deadline: no such command", err)
        for words in (("run", "--deadline", "0"), ("run", "--deadline", "3651"),
                      ("stop", "--deadline", "1")):
            status, _, err = self.scrub(*words)
            self.assertEqual(status, 2)
            self.assertIn("--deadline", err)

    def test_interrupted(self):
        """The kernel is stopped, what it verified is saved; nothing is read twice."""
        self.kernel.script = {9: [self.interrupt]}
        status, result, _ = self.run_to()
        self.assertEqual(status, 143)
        saved = result["progress"]["done"]
        self.assertEqual((saved, self.kernel.now), (scrub_state.count(self.kernel.bits), "stopped"))
        self.kernel.reload()
        status, result, err = self.run_to()
        self.assertEqual((status, self.kernel.reads, self.kernel.restored[-1]), (0, 1000, saved))
        self.assertIn("%d of 1000 blocks were verified before" % saved, err)

    def test_joined(self):
        """A run that was killed: the kernel went on meanwhile, the next run joins.

        Seen to fail with begin() that starts whatever the state is."""
        def die(_kernel):
            raise Death

        self.kernel.script = {6: [die]}
        with self.assertRaises(Death):
            self.run_to()
        for _ in range(3):
            self.kernel.state()
        words = len(self.kernel.words)
        status, _, _ = self.run_to()
        self.assertEqual((status, len(self.kernel.words), self.kernel.reads), (0, words, 1000))

    def test_unplugged(self):
        """The disk goes and comes back, with the module's memory or without."""
        def lost(kernel):
            kernel.lost = True

        def back(kernel):
            kernel.lost = False

        self.kernel.script = {5: [lost], 9: [back], 12: [lost], 14: [back, Kernel.reload]}
        status, _, err = self.run_to()
        self.assertEqual(status, 0)
        self.assertIn("waiting: no disk naa.5000\n", err)
        self.assertLessEqual(self.kernel.reads, 1000 + self.kernel.each)

    def test_somebody_else(self):
        """Another scrub began: what was saved does not count for it."""
        def other(kernel):
            kernel.command("start")

        self.kernel.script = {8: [other], 20: [self.interrupt]}
        status, result, err = self.run_to()
        self.assertEqual((status, result["progress"]["pass"]), (143, 2))
        self.assertEqual(result["progress"]["done"], scrub_state.count(self.kernel.truth))
        self.assertIn("somebody began another scrub", err)

    def test_stopped(self):
        """Stopped by somebody: saved, and over."""
        self.kernel.script = {7: [lambda kernel: kernel.command("stop")]}
        status, result, _ = self.run_to()
        self.assertEqual((status, result["scrub"]["state"]), (0, "stopped"))
        self.assertEqual(result["progress"]["done"], scrub_state.count(self.kernel.bits))

    def test_crashes(self):
        """The tool dies in any of its writes, the kernel forgets: again and again. Nothing
        is counted that was not delivered (Kernel.restore looks), the pass ends, and at most
        one look's work is done again each time.

        Seen to fail with a journal that is written anew in its place, not renamed."""
        really, rng, deaths = scrub_state.write_all, random.Random(8), 0

        def write(fd, data, offset):
            really(fd, data[:rng.randrange(len(data) + 1)] if dying[0] == 0 else data, offset)
            dying[0] -= 1
            if dying[0] < 0:
                raise Death

        while True:
            dying = [rng.randrange(7)]
            with mock.patch.object(scrub_state, "write_all", write):
                try:
                    status, _, _ = self.run_to()
                    break
                except Death:
                    deaths += 1
            self.kernel.reload()
        self.assertEqual(status, 0)
        self.assertGreater(deaths, 3)
        self.assertLessEqual(self.kernel.reads, 1000 + deaths * self.kernel.each)

    def test_cannot_save(self):
        """What cannot be saved is said."""
        with mock.patch.object(os, "fdatasync", side_effect=OSError(5, "Input/output error")):
            status, _, err = self.run_to()
        self.assertEqual(status, 1)
        self.assertRegex(err, "disk.coverage: Input/output error; the kernel goes on, but noth")

    def test_told(self):
        """The journal is told when a pass is over, and only then."""
        with mock.patch.object(scrub.events, "send") as send:
            self.kernel.script = {9: [self.interrupt]}
            self.assertEqual(self.run_to()[0], 143)
            send.assert_not_called()
            self.assertEqual(self.run_to()[0], 0)
        send.assert_called_once_with("scrub_done", "sda", "pass 1 of the scrub is done: 1000 of "
                                     "1000 blocks verified, 0 could not be read",
                                     FREEBLOCK_BAD_BLOCKS=0)

    def test_bad(self):
        """Bad blocks are an exit status of their own, and are never verified: the pass is
        over nevertheless, and the next run begins another.

        Seen to fail with a pass that is over only when all of it is verified."""
        self.kernel.blocks_bad, self.kernel.bad = 2, {5, 77}
        status, result, _ = self.run_to()
        self.assertEqual((status, result["progress"]["done"]), (3, 998))
        self.assertEqual(self.run_to()[1]["progress"]["pass"], 2)

    def test_bad_on_record(self):
        """Blocks that could not be read are on record until a pass verifies them, or a person
        allows more. Seen to fail: those that are bad forgotten at the end of a pass."""
        self.tree.write("sys/kernel/freeblock/sda/state/bad_blocks", 2)
        self.tree.write("sys/kernel/debug/freeblock/sda/bad_blocks", "40 8 medium\n616 8 medium")
        self.kernel.blocks_bad, self.kernel.bad = 1, {77}
        with mock.patch.object(badblocks.time, "time", lambda: 1000):
            self.assertEqual(self.run_to()[0], 3)
        self.assertEqual(badblocks.load("naa.5000"), (0, {616: (8, 1000)}))
        self.assertEqual(self.scrub("allow")[:2], (0, "sda: 1 new bad blocks are allowed\n"))
        self.assertEqual(self.scrub("allow")[:2], (0, "sda: 0 new bad blocks are allowed\n"))

    def test_finished_alone(self):
        """The tool was killed, and the kernel came to the end: the next run says so, and
        does not begin another pass."""
        def die(_kernel):
            raise Death

        self.kernel.script = {6: [die]}
        with self.assertRaises(Death):
            self.run_to()
        while self.kernel.state() != "finished":
            pass
        status, result, _ = self.run_to()
        self.assertEqual((status, result["progress"]["done"], len(self.kernel.words)),
                         (0, 1000, 1))

    def test_commands(self):
        """Start, pause, resume, stop, in any state."""
        self.assertRegex(self.scrub("pause")[2], r"sda is not being scrubbed \(idle\).*start")
        self.assertEqual(self.scrub("start")[0], 0)
        self.assertRegex(self.scrub("start")[2], "being scrubbed already; run: freeblock scrub")
        for word in ("pause", "resume", "stop"):
            self.assertEqual(self.scrub(word)[:2], (0, ""))
        self.assertEqual(self.kernel.words, ["start", "pause", "resume", "stop"])
        self.assertRegex(self.scrub("status")[1], "^state stopped\n")

    def test_partition(self):
        """Whole blocks around it; its own file."""
        for given, words in (("sda1", "start 800 408"), ("/dev/sda", "start")):
            self.kernel.now = "idle"
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(cli.main(["scrub", given, "start"]), 0)
            self.assertEqual(self.kernel.words[-1], words)
        self.assertEqual(sorted(name for name in os.listdir(
            os.path.join(self.tree.root, scrub_state.FOLDER)) if name.endswith("coverage")),
            ["naa.5000.800-408.coverage", "naa.5000.coverage"])

    def test_refused(self):
        """What makes no sense, and what to do."""
        for words, pattern in ((["start", "--order", "random"], "--order: random is none of"),
                               (["start", "--order", "staggered=0"], "is none of"),
                               (["start", "--segment", "8"], "--segment needs --order stag"),
                               (["run", "--before", "1e9"], "--before: 1e.09 is not between")):
            status, _, err = self.scrub(*words)
            self.assertEqual(status, 2)
            self.assertRegex(err, pattern)
        self.tree.write("sys/kernel/freeblock/sda/granule_bytes", "")
        self.assertRegex(self.scrub("run")[2], "the loaded module is older .*; reboot, or run: ")

    def test_service(self):
        """A unit that starts this tool."""
        with mock.patch.object(helpers, "command", lambda: "/usr/bin/true"):
            status, out, err = self.scrub("install-service")
        self.assertEqual(status, 0)
        self.assertRegex(out, "ExecStart=/usr/bin/true scrub %i run --wait")
        self.assertIn("systemctl enable --now freeblock-scrub@sda", err)

    def test_service_program(self):
        """The unit is not printed of a program that is not for root to start at boot, in words
        that fit. Seen to fail: the program unchecked."""
        with tempfile.TemporaryDirectory() as folder:
            for name, said in (("freeblock", "everybody may write to .*|.* another user than root"),
                               ("free block", "udev and systemd would not take this path")):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="ascii") as file:
                    os.fchmod(file.fileno(), 0o777)
                with mock.patch.object(helpers, "command", lambda path=path: path):
                    status, out, err = self.scrub("install-service")
                self.assertEqual((status, out), (1, ""))
                self.assertRegex(err, r"\Afreeblock: .*(%s).*\. Install the packages \(make deb\), "
                                 r"or move it to where only root may change it\n\Z" % said)


class Ports(fakedisk.Case):
    """The kernel's files themselves."""

    def test_files(self):
        """What is read and written."""
        tree = self.tree
        tree.disk("sda", 1001, 4096)
        port = scrub_port.Port(fbstate.Disk("sda"))
        with self.assertRaisesRegex(ToolError, "this module has no scrubber"):
            port.state()
        tree.values("sys/kernel/freeblock/sda", {
            "scrub": "paused", "scrub_stats/order": "staggered",
            "scrub_stats/regions": 4, "scrub_stats/segment_kib": 64,
            "scrub_stats/blocks_total": 126, "scrub_stats/passes": 2})
        self.assertEqual(port.state(), "paused")
        self.assertEqual(list(port.values().items()), [
            ("state", "paused"), ("order", "staggered=4 segment=64"),
            ("blocks_total", 126), ("passes", 2)])
        self.assertEqual(port.identity(), {"id": "naa.sda", "sectors": 1001,
                                           "block_bytes": 4096, "blocks": 126})
        was = port.identity()
        self.assertIsNone(port.coverage(was))
        path = os.path.join(tree.root, "sys/kernel/freeblock/sda/coverage")
        # as tasks/job.c has it
        head = struct.pack("<8sIIQQII88s", b"fbcover", 1, 8, 126, 1234, 3, 0, b"naa.sda")
        self.assertEqual(len(head), 128)
        with open(path, "wb") as file:
            file.write(head + bytes(16))
        self.assertEqual(port.coverage(was), (1234, bytes(16)))
        port.restore(was, scrub_port.Coverage(99, b"\1" * 16))
        self.assertEqual(port.coverage(was), (99, b"\1" * 16))
        for other in ({"id": "naa.x"}, {"blocks": 125}, {"block_bytes": 512}):
            self.assertIsNone(port.coverage({**was, **other}))
        with open(path, "r+b") as file:
            file.write(b"x")
        with self.assertRaisesRegex(ToolError, "coverage: of a version"):
            port.coverage(was)
        self.assertTrue(port.find(was))
        tree.disk("sda", 77, 4096, {"id": "naa.other"})
        self.assertFalse(port.find(was))
        tree.disk("sdb", 1001, 4096, {"id": "naa.sda"})
        self.assertTrue(port.find(was))
        self.assertEqual(port.disk.name, "sdb")
        tree.disk("sdb", 1001, 8192, {"id": "naa.sda"})
        with self.assertRaisesRegex(ToolError, "sdb has another block size now"):
            port.find(was)
        tree.remove("sys/kernel/freeblock/sdb")
        self.assertFalse(port.find(was))
        port.disk = fbstate.Disk("sda")
        port.command("stop")
        self.assertEqual(fbstate.Disk("sda").read("scrub"), "stop")
        tree.write("sys/kernel/freeblock/sda/granule_bytes", "")
        self.assertIsNone(port.state())
