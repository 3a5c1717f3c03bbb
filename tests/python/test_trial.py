#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock trial: its statistics on invented windows of which the truth is known, and the
command against a made-up sysfs whose disk has a load, until it is killed. Prints TAP; takes some
seconds.

Seen to fail: 1.96 in place of Student's t, and sqrt(n) forgotten (coverage); the window with free
reads always first (a drift is taken for a cost); a pause or a scheduler that the child is not told
of, a child that is killed with its parent, changes undone in the order in which they were made
(what is left after a kill).
"""

import contextlib
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "python"))

import fakedisk  # noqa: E402
import taptest  # noqa: E402
from freeblock import ToolError, cli, fbstate, trial, trial_stats, trial_undo  # noqa: E402
from freeblock.machine import kernel, loaded, lock  # noqa: E402

SYSFS, DEBUG = fakedisk.KERNEL + "sda/", fakedisk.DEBUG + "sda/"
DRAWS = 600


def windows(rng, pairs, cost, drift=0.0, order=None):
    """Latencies of windows: (with, without). Each pair has a level of its own, each window noise,
    and the second of a pair is later, by a drift."""
    drawn = trial_stats.orders(pairs, rng.random()) if order is None else order
    found = [], []
    for with_first in drawn:
        level = rng.gauss(20, 4)
        for with_reads in (with_first, not with_first):
            late = drift if with_reads != with_first else 0
            found[not with_reads].append(level + late + rng.gauss(0, 0.5) + cost * with_reads)
    return found


class Statistics(unittest.TestCase):
    """Intervals by what is known of them."""

    def test_quantiles_are_those_of_the_tables(self):
        """Student's t, two-sided, 95 %, as printed in tables."""
        for freedom, wanted in ((1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571),
                                (9, 2.262), (10, 2.228), (29, 2.045), (30, 2.042), (120, 1.980)):
            self.assertAlmostEqual(trial_stats.quantile_t(0.95, freedom), wanted, places=3)
        self.assertAlmostEqual(trial_stats.quantile_t(0.99, 7), 3.499, places=3)

    def test_interval_holds_the_truth_as_often_as_it_says(self):
        """95 of 100, within three standard deviations of so many draws, 2.7: neither too narrow nor
        too wide; with few pairs and many."""
        for pairs, cost in ((4, 0.7), (5, 0.0), (20, 0.7)):
            rng, held = random.Random(pairs), 0
            for _ in range(DRAWS):
                found = trial_stats.paired(*windows(rng, pairs, cost))
                held += found["low"] <= cost <= found["high"]
            self.assertTrue(92.3 <= 100 * held / DRAWS <= 97.7, (pairs, held))

    def test_drift_is_no_cost(self):
        """Of 2 ms between a pair's windows, four times their noise, the mean of 600 trials shows
        none: their standard deviation is at most 0.14 ms each, 0.006 of the mean."""
        rng = random.Random(3)
        costs = [trial_stats.paired(*windows(rng, 21, 0.3, 2.0))["more"] for _ in range(DRAWS)]
        self.assertTrue(0.28 <= sum(costs) / DRAWS <= 0.32, sum(costs) / DRAWS)

    def test_orders_are_balanced_and_drawn(self):
        """Half of the pairs begin with free reads, not always the same."""
        for pairs in (4, 7, 20):
            self.assertIn(sum(trial_stats.orders(pairs, 1)), (pairs // 2, (pairs + 1) // 2))
        self.assertEqual(trial_stats.orders(20, 5), trial_stats.orders(20, 5))
        drawn = {tuple(trial_stats.orders(20, seed)) for seed in range(10)}
        self.assertEqual(len(drawn), 10)
        firsts = sum(trial_stats.orders(4, seed)[0] for seed in range(400))
        self.assertTrue(170 <= firsts <= 230, firsts)

    def test_windows_without_requests_do_not_count(self):
        """Nor are two pairs enough."""
        found = trial_stats.paired([3, None, 5, 4, 6], [1, 1, None, 1, 1])
        self.assertEqual((found["pairs"], found["without"]), (3, 1))
        self.assertIsNone(trial_stats.paired([3, None, 4], [1, 1, 1]))
        self.assertIsNone(trial_stats.paired([1, 1, 1], [0, 0, 0])["more_pct"])

    def test_verdicts(self):
        """By the interval, not by the mean."""
        def judged(with_reads, without, limit=10):
            found = trial_stats.paired(with_reads, without)
            return trial_stats.verdict(found, 5.0, limit, "")

        word, words = judged([10.5, 10.6, 10.4, 10.5], [10] * 4)
        self.assertEqual(word, "within")
        self.assertIn("+5.0 % (+3.7 to +6.3)", words)
        self.assertNotIn("chance", words)
        self.assertEqual(judged([12, 12.1, 11.9, 12], [10] * 4)[0], "above")
        self.assertEqual(judged([11, 12, 10, 13], [10] * 4)[0], "undecided")
        word, words = judged([10.1, 9.9, 10.2, 9.9], [10] * 4)
        self.assertEqual(word, "within")
        self.assertIn("which may be chance", words)
        self.assertEqual(trial_stats.verdict(None, 5.0, 10, "")[0], "unknown")
        word, words = trial_stats.verdict(None, 0.0, 10, "no task")
        self.assertEqual(word, "nothing")
        self.assertIn("no task", words)


class World:
    """A disk with a load in a made-up sysfs: time passes when somebody sleeps. Requests take 10 ms,
    reads 1.5 ms longer while task 7 is read for, and that reads 20 MB/s."""

    def __init__(self, tree):
        self.tree = tree
        self.now = 0.0
        self.counters = dict.fromkeys(trial.COUNTERS, 0)
        self.reading, self.ends_at, self.sleeps = True, None, 0
        self.rng = random.Random(2)
        self.at_sleep = {}
        self.show()

    def show(self):
        """What the kernel would."""
        self.tree.counters("sda", **self.counters)
        over = self.ends_at is not None and self.now >= self.ends_at
        self.tree.write(DEBUG + "tasks", "" if over else "7 scrub %s 0 1000 10 0 128" % (
            "running" if self.reading else "paused"))

    def command(self):
        """What was written last."""
        said = self.tree.said(SYSFS + "tasks")
        if said.startswith(("pause", "resume")):
            self.reading = said.startswith("resume")
        self.show()

    def sleep(self, seconds):
        """In place of time.sleep."""
        self.now += seconds
        self.sleeps += 1
        for kind, mean_ms in (("read", 10 + 1.5 * self.reading), ("write", 10)):
            requests = round(50 * seconds)
            self.counters["fg_%ss" % kind] += requests
            self.counters["fg_%s_ns" % kind] += round(
                requests * (mean_ms + self.rng.gauss(0, 0.05)) * 1e6)
        if self.reading:
            self.counters["free_sectors"] += round(40000 * seconds)
        self.show()
        self.at_sleep.get(self.sleeps, lambda: None)()


class Tree(fakedisk.Tree):
    """That one, with what a tool has written."""

    def said(self, name):
        """A file's text."""
        with open(os.path.join(self.root, name), encoding="utf-8") as file:
            return file.read().strip()


class Command(unittest.TestCase):
    """freeblock trial sda."""

    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name)
        self.tree.disk("sda", 8000000, 65536, {"tasks": 1, "state/free_reads": "on",
                                               "state/idle": "reading", "scrub": "running"})
        self.world = World(self.tree)
        write = fbstate.Disk.write

        def written(disk, name, text):
            write(disk, name, text)
            self.world.command()

        for patch in self.tree.patches() + [
                mock.patch.object(fbstate.Disk, "write", written),
                mock.patch.object(time, "sleep", self.world.sleep),
                mock.patch.object(time, "monotonic", lambda: self.world.now)]:
            patch.start()
            self.addCleanup(patch.stop)

    def trial(self, *words):
        """(status, what it printed, what it complained)."""
        out, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complained):
            try:
                found = cli.main(["trial", "sda", "--seed", "1", *words])
            except SystemExit as error:
                found = error.code
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        return found, out.getvalue(), complained.getvalue()

    def test_what_is_told(self):
        """Reads and writes apart; what was paused goes on."""
        found, said, _ = self.trial("--pairs", "8", "--json")
        self.assertEqual(found, 0)
        result = json.loads(said)
        cost = result["cost_ms"]
        self.assertTrue(cost["reads"]["low"] <= 1.5 <= cost["reads"]["high"], cost)
        self.assertTrue(1.3 <= cost["reads"]["more"] <= 1.7, cost)
        self.assertTrue(cost["writes"]["low"] <= 0 <= cost["writes"]["high"], cost)
        self.assertAlmostEqual(cost["all"]["more"], 0.75, delta=0.1)
        self.assertAlmostEqual(result["free_mb_s"], 40000 * 512 / 1e6, places=6)
        self.assertEqual((result["verdict"], len(result["pairs"])), ("within", 8))
        self.assertEqual(sum(pair["with_first"] for pair in result["pairs"]), 4)
        self.assertEqual(self.tree.said(SYSFS + "tasks"), "resume 7")

    def test_for_people(self):
        """A table and a verdict; the limit decides the exit status."""
        found, said, complained = self.trial("--pairs", "8", "--limit", "2")
        self.assertEqual(found, 3)
        self.assertIn("verdict: requests take +7.", said)
        self.assertIn("more than the limit of 2 %", said)
        self.assertIn("all is as it was before", said)
        self.assertRegex(complained, r"pair 8 of 8: without free reads (9\.9|10\.)\d* ms; "
                                     r"with .* 20\.5 MB/s")

    def test_undecided(self):
        """A limit that is what it costs, in a trial of the same numbers."""
        cost = json.loads(self.trial("--pairs", "8", "--json")[1])["cost_ms"]["all"]
        self.world.rng = random.Random(2)
        found, said, _ = self.trial("--pairs", "8", "--limit", "%.3f" % cost["more_pct"])
        self.assertEqual(found, 4)
        self.assertIn("more pairs would tell", said)

    def test_interrupted(self):
        """What is known by then is told, and all is put back."""
        self.world.at_sleep = {17: lambda: os.kill(os.getpid(), signal.SIGTERM)}
        found, said, _ = self.trial("--pairs", "9", "--json")
        self.assertEqual(found, 143)
        result = json.loads(said)
        self.assertEqual((len(result["pairs"]), result["interrupted"]), (4, True))
        self.assertEqual(self.tree.said(SYSFS + "tasks"), "resume 7")

    def test_nothing_left(self):
        """A task that ends ends the trial."""
        self.world.ends_at = 8 * 25 + 1
        found, said, _ = self.trial("--pairs", "9", "--json")
        self.assertEqual(found, 0)
        self.assertEqual(json.loads(said)["notes"],
                         ["nothing was left to read after 4 of 9 pairs"])

    def test_counters_that_go(self):
        """Another scheduler, or a reset, and the disk is put back all the same."""
        for spoil in (lambda: self.tree.write(SYSFS + "state/attached", 0),
                      lambda: self.world.counters.update(fg_reads=0)):
            self.world.sleeps, self.world.at_sleep = 0, {5: spoil}
            found, said, complained = self.trial("--pairs", "4", "--quiet")
            self.assertEqual((found, said), (1, ""))
            self.assertIn("nothing is told", complained)
            self.assertEqual(self.tree.said(SYSFS + "tasks"), "resume 7")
            self.tree.write(SYSFS + "state/attached", 1)

    def test_others_who_read(self):
        """A window without free reads in which there were some does not count."""
        seed = next(n for n in range(9) if not trial_stats.orders(5, n)[0])
        self.world.at_sleep = {2: self.somebody_reads}
        _, said, _ = self.trial("--pairs", "5", "--json", "--seed", str(seed))
        result = json.loads(said)
        self.assertEqual((len(result["pairs"]), len(result["notes"])), (4, 1))

    def somebody_reads(self):
        """In this window."""
        self.world.counters["free_sectors"] += 8
        self.world.show()

    def test_usage(self):
        """What makes no sense is refused, before anything is changed."""
        for words in (["--pairs", "2"], ["--seconds", "0"], ["--limit", "-1"], ["--settle", "-1"],
                      ["--pairs", "x"]):
            found, _, complained = self.trial(*words)
            self.assertEqual(found, 2, words)
            self.assertIn(words[0], complained)
        self.assertFalse(self.tree.said(SYSFS + "tasks").startswith("pause"))

    def test_work(self):
        """What is to be started is not ignored where tasks run. Seen to fail: ignored."""
        found, _, complained = self.trial("--pairs", "4", "--work", "scan")
        self.assertEqual(found, 2)
        self.assertIn("--work scan: tasks are running on sda already", complained)
        self.assertFalse(self.tree.said(SYSFS + "tasks").startswith("pause"))

    def test_older_module(self):
        """One that needs a model: it says so, and what to do."""
        self.tree.write(SYSFS + "granule_bytes", "")
        found, _, complained = self.trial("--pairs", "4")
        self.assertEqual(found, 1)
        self.assertIn("the loaded module is older than this command", complained)

    def test_model(self):
        """The one that is kept of the disk is loaded; without one, or with one for other firmware,
        there is a trial, too.

        Seen to fail: a trial that wants a model; one that loads none."""
        for kept, is_loaded in ((True, True), (True, False), (False, False)):
            with contextlib.ExitStack() as stack:
                for patch in self.own():
                    stack.enter_context(patch)

                def load(*_, choose=trial.store.choose_scheduler, fits=is_loaded):
                    return choose("sda") or "loaded" if fits else None

                load = mock.Mock(side_effect=load)
                stack.enter_context(mock.patch.object(trial.store, "is_kept", return_value=kept))
                stack.enter_context(mock.patch.object(trial.store, "load", load))
                self.assertEqual(self.trial("--pairs", "4")[0], 0)
            self.assertEqual(load.call_count, int(kept))
            self.assertEqual(self.tree.said("sys/devices/sda/queue/scheduler"), "mq-deadline")

    def own(self):
        """A disk with another scheduler, without a task: what is started ends with the trial."""
        self.tree.write("sys/devices/sda/queue/scheduler", "[mq-deadline] freeblock none")
        self.tree.write(SYSFS + "scrub", "idle")

        def choose(name):
            self.assertEqual(name, "sda")
            self.tree.write("sys/devices/sda/queue/scheduler", "mq-deadline [freeblock] none")

        def tasks(_disk):
            said = self.tree.said(SYSFS + "scrub")
            return {7: {"state": "running" if self.world.reading else "paused"}} \
                if said.startswith("start") else {}

        return mock.patch.object(trial.store, "choose_scheduler", choose), \
            mock.patch.object(trial.status, "tasks", tasks)

    def test_scheduler_and_scrub_of_its_own(self):
        """Back at the end."""
        with contextlib.ExitStack() as stack:
            for patch in self.own():
                stack.enter_context(patch)
            found, said, _ = self.trial("--pairs", "4", "--json")
        self.assertEqual((found, json.loads(said)["work"]), (0, "scrub"))
        self.assertEqual(self.tree.said("sys/devices/sda/queue/scheduler"), "mq-deadline")
        self.assertEqual(self.tree.said(SYSFS + "scrub"), "stop")

    def test_keep(self):
        """Or not, if so asked."""
        with contextlib.ExitStack() as stack:
            for patch in self.own():
                stack.enter_context(patch)
            found, said, _ = self.trial("--pairs", "4", "--keep")
        self.assertEqual(found, 0)
        self.assertIn("the scheduler stays", said)
        self.assertEqual(self.tree.said("sys/devices/sda/queue/scheduler"),
                         "mq-deadline [freeblock] none")
        self.assertEqual(self.tree.said(SYSFS + "scrub"), "start")

    def test_killed(self):
        """Without a chance to put anything back itself."""
        with contextlib.ExitStack() as stack:
            for patch in self.own():
                stack.enter_context(patch)
            # a window without free reads is being measured
            self.world.at_sleep = {
                number: lambda: self.world.reading or os.kill(os.getpid(), signal.SIGKILL)
                for number in range(3, 9)}
            child = os.fork()
            if not child:
                try:
                    self.trial("--pairs", "4", "--quiet")
                finally:
                    os._exit(1)
            self.assertEqual(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGKILL)
        mock.patch.stopall()
        for _ in range(600):
            if self.tree.said("sys/devices/sda/queue/scheduler") == "mq-deadline":
                break
            time.sleep(0.1)
        self.assertEqual(self.tree.said("sys/devices/sda/queue/scheduler"), "mq-deadline")
        self.assertEqual(self.tree.said(SYSFS + "scrub"), "stop")
        self.assertEqual(self.tree.said(SYSFS + "tasks"), "resume 7")

    def test_two_at_once(self):
        """The second is refused, and changes nothing; no lock is left by the first.

        Seen to fail: two that pause and resume one another's tasks, and find a cost of neither."""
        second = []
        self.world.at_sleep = {3: lambda: second.append((
            self.trial("--pairs", "4"), self.tree.said(SYSFS + "tasks")))}
        found, said, _ = self.trial("--pairs", "8", "--json")
        (status, printed, complained), tasks = second[0]
        self.assertEqual((status, printed), (1, ""))
        self.assertRegex(complained, r"sda: another trial, setup or off of it is at work "
                         r"\(process %d\): wait" % os.getpid())
        self.assertEqual((found, json.loads(said)["notes"]), (0, []))
        self.assertIn(tasks, ("pause 7", "resume 7"))
        self.assertFalse(os.path.exists(fbstate.path(lock.DISKS)))

    def test_finished_scrub(self):
        """A trial does not throw away what is on record of a pass."""
        self.world.ends_at = 0
        self.world.show()
        self.tree.write(SYSFS + "scrub", "finished")
        found, _, complained = self.trial("--pairs", "4")
        self.assertEqual(found, 1)
        self.assertIn("--work scan", complained)

    def test_refused(self):
        """A scheduler that could not be chosen is not put back: another user is told why, and not
        that something was left changed.

        Seen to fail: a change that is kept in mind, though it was refused."""
        self.tree.write("sys/devices/sda/queue/scheduler", "mq-deadline")
        with mock.patch.object(trial.store, "choose_scheduler",
                               side_effect=ToolError("Permission denied")), \
                mock.patch.object(trial_undo, "_write", side_effect=OSError(13, "denied")):
            found, _, complained = self.trial("--pairs", "4")
        self.assertEqual(found, 1)
        self.assertIn("freeblock: Permission denied", complained)
        self.assertNotIn("put back", complained)

    def test_without_the_module(self):
        """It says what to do, if it cannot be loaded."""
        self.tree.remove("sys/kernel/freeblock")
        with mock.patch.object(kernel, "command", lambda *_: (1, "not found")):
            found, _, complained = self.trial()
        self.assertEqual(found, 1)
        self.assertRegex(complained, r"modprobe freeblock: not found.*repeat trial; run: ")
        self.assertNotIn("put back", complained)
        self.assertFalse(os.path.isdir(fbstate.path(fbstate.KERNEL)))

    def test_loads_the_module(self):
        """And unloads it at the end, with the scheduler put back before; not if it was there, or
        was to be kept, nor while another disk has the scheduler.

        Seen to fail: a module that stays; one unloaded that was there; the module first."""
        self.tree.write("sys/kernel/freeblock/sda/state/scheduling", "yes")
        for words, there, other, stays in (
                ((), False, False, False), ((), True, False, True),
                (("--keep",), False, False, True),
                ((), False, True, True)):
            with self.subTest(words=words, there=there, other=other), \
                    contextlib.ExitStack() as stack:
                for patch in self.own():
                    stack.enter_context(patch)
                self.tree.disk("sdb", 8000000, 65536, scheduler="mq-deadline [freeblock]" if other
                               else "[mq-deadline] freeblock")
                away = os.path.join(self.tree.root, "away")
                if not there:
                    os.rename(fbstate.path(fbstate.KERNEL), away)

                def command(words, away=away):
                    kernel_files = fbstate.path(fbstate.KERNEL)
                    os.rename(*((away, kernel_files) if words[0] == "modprobe" else
                                (kernel_files, away)))
                    self.tree.write("said", "%s, sda: %s" % (
                        words[0], self.tree.said("sys/devices/sda/queue/scheduler")))
                    return 0, ""

                stack.enter_context(mock.patch.object(kernel, "command", command))
                stack.enter_context(mock.patch.object(kernel, "is_loaded", trial.is_loaded))
                # its clock is another one, in which the disk's load goes on
                stack.enter_context(mock.patch.object(kernel, "patiently", lambda do, _: do()))
                found, said, _ = self.trial("--pairs", "4", *words)
                self.assertEqual((found, trial.is_loaded()), (0, stays))
                if not stays:
                    self.assertEqual(self.tree.said("said"), "rmmod, sda: mq-deadline")
                    os.rename(away, fbstate.path(fbstate.KERNEL))
                self.assertEqual("but that the module stays loaded" in said, other)
                self.assertEqual(loaded.is_for_trial(), other)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(fbstate.path(loaded.LOADED))

    def test_last_unloads_the_module(self):
        """One that another trial has loaded goes with the last of them; not one that somebody has
        loaded since.

        Nor does one of a disk that had the scheduler before, for which it is needed.

        Seen to fail: a trial that leaves what it has not loaded itself; one that counts on the note
        alone."""
        for ours, had in ((True, False), (False, False), (True, True)):
            with self.subTest(ours=ours, had=had), contextlib.ExitStack() as stack:
                for patch in self.own():
                    stack.enter_context(patch)
                if had:
                    self.tree.write("sys/devices/sda/queue/scheduler", "none [freeblock]")
                commands = []
                stack.enter_context(mock.patch.object(
                    kernel, "patiently",
                    lambda do, _, commands=commands: commands.append(do)))
                os.makedirs(fbstate.path("run/freeblock"), exist_ok=True)
                loaded.note()
                if not ours:
                    self.tree.write(loaded.LOADED, "1")
                undo = mock.Mock()
                trial.choose(mock.Mock(dir=""), "sda", undo)
                said = [call.args[0] for call in undo.say.call_args_list]
                self.assertEqual("module" in said, ours and not had)
                trial_undo.put_back("sda", "module")
                self.assertEqual(commands, [])
                self.assertTrue(os.path.exists(fbstate.path(loaded.LOADED)))
                trial_undo.put_back("sda", "scheduler mq-deadline")
                trial_undo.put_back("sda", "module")
                self.assertEqual(len(commands), 1)
                self.assertFalse(os.path.exists(fbstate.path(loaded.LOADED)))


class Together(unittest.TestCase):
    """Trials of two disks that load and unload the module, each while the other is half-way."""

    def setUp(self):
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name)
        self.away = os.path.join(self.tree.root, "away")
        for name in ("sda", "sdb"):
            self.tree.disk(name, 8000000, 65536, scheduler="[mq-deadline] freeblock")
            self.tree.write("sys/kernel/freeblock/%s/state/scheduling" % name, "yes")
        self.commands, self.children, self.meanwhile = [], [], None
        for patch in self.tree.patches() + [
                mock.patch.object(kernel, "command", self.command),
                mock.patch.object(kernel, "is_loaded", trial.is_loaded),
                mock.patch.object(kernel, "patiently", lambda do, _: do()),
                mock.patch.object(trial.store, "load", self.load)]:
            patch.start()
            self.addCleanup(patch.stop)
        os.makedirs(fbstate.path("run/freeblock"))
        self.unloaded()

    def unloaded(self):
        """The module's files are elsewhere."""
        os.rename(fbstate.path(fbstate.KERNEL), self.away)

    def command(self, words):
        """modprobe and rmmod; then something happens."""
        self.commands.append(words[0])
        if words[0] == "modprobe":
            os.rename(self.away, fbstate.path(fbstate.KERNEL))
        else:
            self.unloaded()
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return 0, ""

    def load(self, _directory, name, _scheduler):
        """The disk has the scheduler then."""
        self.tree.write("sys/devices/%s/queue/scheduler" % name, "mq-deadline [freeblock]")

    @staticmethod
    def choose(name):
        """What a trial of the disk has its child put back."""
        undo = mock.Mock()
        trial.choose(mock.Mock(dir=""), name, undo)
        return [call.args[0] for call in undo.say.call_args_list]

    def other(self):
        """A trial of sdb begins, and has some time."""
        self.commands = []
        child = os.fork()
        if not child:
            try:
                said = self.choose("sdb")
                self.tree.write("said", json.dumps([said, self.commands]))
            finally:
                os._exit(0)
        self.children.append(child)
        time.sleep(0.3)

    def said(self):
        """By the other: (what is to be put back, programs run)."""
        os.waitpid(self.children.pop(), 0)
        return json.loads(self.tree.said("said"))

    def test_loading(self):
        """The other comes when the module is there, but not yet noted: it goes with the last.

        Seen to fail: without the lock."""
        self.meanwhile = self.other
        self.assertEqual(self.choose("sda"), ["module", "scheduler mq-deadline"])
        self.assertEqual(self.said(), [["module", "scheduler mq-deadline"], []])
        self.assertFalse(os.path.exists(fbstate.path(lock.MODULE)))

    def test_unloading(self):
        """The other comes while the module goes: it loads it anew, and its note stays.

        Seen to fail: an unload without the lock."""
        self.choose("sda")
        trial_undo.put_back("sda", "scheduler mq-deadline")
        self.meanwhile = self.other
        trial_undo.put_back("sda", "module")
        self.assertEqual(self.said(), [["module", "scheduler mq-deadline"], ["modprobe"]])
        self.assertTrue(loaded.is_for_trial())

    def test_made_its_own(self):
        """setup comes meanwhile: the module stays, though no disk has the scheduler yet.

        Seen to fail: a trial that goes by what it was to put back alone."""
        self.choose("sda")
        loaded.forget()
        trial_undo.put_back("sda", "scheduler mq-deadline")
        trial_undo.put_back("sda", "module")
        self.assertEqual(self.commands, ["modprobe"])

    def test_both_end(self):
        """The second finds the module gone, which is well.

        Seen to fail: it is told that the module stays."""
        self.choose("sda")
        trial_undo.put_back("sda", "scheduler mq-deadline")
        trial_undo.put_back("sda", "module")
        with contextlib.redirect_stderr(io.StringIO()) as complained, \
                mock.patch.object(kernel, "command", lambda _: (1, "not loaded")):
            trial_undo.put_back("sda", "module")
        self.assertEqual((complained.getvalue(), trial.is_loaded()), ("", False))

    def test_killed_meanwhile(self):
        """A trial that is killed before it could note the module has it unloaded all the same.

        Seen to fail: a note that is made only when the module is there."""
        child = os.fork()
        if not child:
            self.meanwhile = lambda: os.kill(os.getpid(), signal.SIGKILL)
            try:
                self.choose("sda")
            finally:
                os._exit(1)
        self.assertEqual(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGKILL)
        self.assertTrue(trial.is_loaded())
        trial_undo.put_back("sda", "module")
        self.assertFalse(trial.is_loaded() or os.path.exists(fbstate.path(loaded.LOADED)))

    def test_patience(self):
        """Whoever waits too long says for whom."""
        with lock.of_module(), mock.patch.object(lock, "PATIENCE_S", 0.01), \
                self.assertRaisesRegex(ToolError, r"module.*\(process %d\): wait" % os.getpid()):
            self.choose("sdb")


if __name__ == "__main__":
    taptest.main()
