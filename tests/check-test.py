#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tests/check: can its counting be fooled? Prints TAP.

Each case is something that went wrong in a test run, and must come out as at
least one failure; the good cases must come out as none.
"""

import argparse
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lab"))

from treetest import check as report, finish, program  # noqa: E402

check = program("tests/check")
kept = check.kept

GOOD = """\
[==========] Running 2 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
[       OK ] two
[==========] 2 test(s) run.
[  PASSED  ] 2 test(s).
"""
# cmocka 1.1.5 names the group since 1.1.6
NAMED = GOOD.replace("Running", "model: Running").replace("] 2 test(s) run",
                                                          "] model: 2 test(s) run")
FAILED = """\
[==========] Running 2 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- t.c:12: error: Failure!
[  FAILED  ] two
[==========] 2 test(s) run.
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] two

 1 FAILED TEST(S)
"""
CRASHED = "\n".join(GOOD.split("\n")[:4]) + "\nSegmentation fault\nmake: *** [check] Error 139\n"


def cmocka(name, text, status, passed, failures):
    got = check.count_cmocka(text, status)
    report("cmocka: " + name, got.passed == passed and
           (len(got.failed) == failures if failures is not None else got.failed),
           "%d passed, failed %s" % (got.passed, got.failed))


def test_cmocka():
    cmocka("all good", GOOD, 0, 2, 0)
    cmocka("two groups, one with a name", GOOD + NAMED, 0, 4, 0)
    cmocka("one failed", FAILED, 2, 1, 1)
    cmocka("one failed, and make hides it", FAILED, 0, 1, 1)
    cmocka("a crash in the middle", CRASHED, 2, 1, None)
    cmocka("a crash in the middle, and make hides it", CRASHED, 0, 1, None)
    cmocka("a crash after a good group", GOOD + CRASHED, 2, 3, None)
    cmocka("a failure of make alone", GOOD, 2, 2, 1)
    cmocka("silence", "", 0, 0, 1)
    cmocka("compiler error", "t.c:1: error: expected ';'\n", 2, 0, 1)
    cmocka("no tests in the group", "[==========] Running 0 test(s).\n", 0, 0, 1)
    cmocka("sanitizer", GOOD + "==1==ERROR: AddressSanitizer: heap-use-after-free\n", 1, 2, None)
    cmocka("sanitizer that goes on", GOOD + "x.c:3:1: runtime error: shift exponent 64\n", 0, 2,
           None)
    skipping = GOOD.replace("[       OK ] two", "[  SKIPPED ] two")
    got = check.count_cmocka(skipping, 0)
    report("cmocka: a skipped test is not a passed one",
           (got.passed, got.skipped, got.failed) == (1, 1, []), vars(got))
    got = check.count_cmocka(skipping + "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] two\n"
                             "\n 1 SKIPPED TEST(S)\n", 0)
    report("cmocka: nor is it counted twice",
           (got.passed, got.skipped, got.failed) == (1, 1, []), vars(got))


def test_tap():
    for name, text, status, passed, failures in (
            ("all good", "ok a\nok b\n1..2\n", 0, 2, 0),
            ("one failed", "ok a\nnot ok b - why\n1..2\n", 1, 1, 1),
            ("one failed, status 0", "ok a\nnot ok b - why\n1..2\n", 0, 1, 1),
            ("died early, status 0", "ok a\n", 0, 1, 1),
            ("died early", "ok a\n", 1, 1, 1),
            ("status only", "ok a\n1..1\n", 3, 1, 1),
            ("silence", "", 0, 0, 1)):
        got = check.count_tap(text, status)
        report("tap: " + name, (got.passed, len(got.failed)) == (passed, failures), vars(got))


PYTESTS = """
import unittest, pytest
class T(unittest.TestCase):
    def test_good(self):
        print("said")
    def test_bad(self):
        self.fail("because")
    def test_later(self):
        self.addCleanup(self.fail, "later")
    def test_parts(self):
        for n in range(3):
            with self.subTest(n):
                self.assertEqual(n, 0)
    @unittest.skip("no disk")
    def test_left(self):
        pass
    @pytest.mark.xfail(reason="by two", raises=AssertionError)
    def test_known(self):
        self.assertEqual(1, 2)
class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no")
    def test_never(self):
        pass
"""
SAID = ["not ok T.test_bad", "said", "ok T.test_good", "not ok T.test_known # MISSED by two",
        "not ok T.test_later", "ok T.test_left # SKIP no disk", "not ok T.test_parts",
        "not ok Setup.test_never", "1..7"]


def test_pytest():
    """tests/python/conftest.py: a line for each test, wherever it fails."""
    for name, text, status, said in (("each test has a line", PYTESTS, 1, SAID),
                                     ("a module that fails", "import nonesuch", 2, [
                                         "not ok collecting test_made.py"]),
                                     ("no test", "", 5, [])):
        with tempfile.TemporaryDirectory() as out:
            path = os.path.join(out, "test_made.py")
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            done = subprocess.run([*check.PYTEST, "-p", "conftest", path], text=True, check=False,
                                  stdout=subprocess.PIPE, cwd=out,
                                  env=dict(os.environ, PYTHONPATH=os.path.join(HERE, "python")))
        lines = [line for line in done.stdout.splitlines() if line[:1] not in ("#", "")]
        report("pytest: " + name, (done.returncode, lines) == (status, said), (done, lines))


def test_commands():
    with tempfile.TemporaryDirectory() as out:
        for name, command, limit in (
                ("a command that is not there", ["/nonexistent/command"], 5),
                ("a command that does not end", ["sh", "-c", "echo ok a; echo 1..1; sleep 60"], 1),
                ("a command that kills itself", ["sh", "-c", "echo ok a; kill -9 $$"], 5)):
            runner = check.Runner()
            with contextlib.redirect_stdout(io.StringIO()):
                runner.one(check.Test(name, command, check.count_tap, out, limit))
            report(name + " fails", len(runner.total.failed) >= 1, vars(runner.total))


def test_signals():
    """A check started under nohup, or in the background of a shell without job control."""
    before = {number: signal.signal(number, signal.SIG_IGN)
              for number in (signal.SIGHUP, signal.SIGINT)}
    with tempfile.TemporaryDirectory() as out:
        for number in before:
            got = check.Test("signals", ["sh", "-c", "kill -%d $$; echo ok survived; echo 1..1" %
                                         number], check.count_tap, out, 5).run()
            report("a test is not immune to %s because its check is" % number.name,
                   got.failed and not got.passed, vars(got))
    for number, old in before.items():
        signal.signal(number, old)


def test_lines():
    """What is printed of a run: a line for each test, what is missed and failed, the count.

    Seen to fail: missed promises counted as failures, or not at all."""
    with tempfile.TemporaryDirectory() as out:
        said = {"good": "ok a\n1..1", "known": "ok a\nnot ok p # MISSED by 2\n1..2",
                "bad": "not ok b\n1..1"}
        tests = [check.Test(name, ["echo", text], check.count_tap, out)
                 for name, text in said.items()]
        runner = check.Runner(tests, 1, os.path.join(out, "took.json"))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for test in tests:
                runner.one(test)
            status = runner.finish()
        lines = printed.getvalue().splitlines()
        # one that failed says what
        report("lines: one a test, with what is left", len(lines) == 3 + 1 + 4 + 1 and all(
            ", %d of 3, 0 min left] " % number in line
            for number, line in enumerate(lines[:3], 1)), lines)
        report("lines: what is missed is listed", "  known: p # MISSED by 2" in lines and
               runner.total.missed == ["known: p # MISSED by 2"], lines)
        report("lines: the last one counts", lines[-1] == "2 passed, 1 failed" and status == 1,
               lines)


class Planted(check.Test):
    """A test that says something, in a tree of its own."""

    def __init__(self, out, said="ok a\n1..1", name="lab t", own="tests/lab/t-a.sh"):
        super().__init__(name, ["echo", said], check.count_tap, out)
        self.own = own


def test_kept():
    """Which results hold. Seen to fail: keys without the tree, without EXCEPT, with what a draw,
    a failed or a skipping test came to; with what was changed while a test ran, or while make did;
    kept though nobody had made anything; a pattern that took the lab's own Python, too."""
    with tempfile.TemporaryDirectory() as tree, tempfile.TemporaryDirectory() as out:
        def write(path, text):
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                file.write(text)

        def holds(test, change=None, said=None, before=None, made=True):
            """Whether what a run says is kept, if then a file is written so."""
            results = kept.Results(os.path.join(out, "checked"),
                                   kept.tree() if made is True else made)
            if before:
                write(*before)
            with contextlib.redirect_stdout(io.StringIO()):
                check.Runner(results=results).one(said or test)
            if change:
                write(*change)
            return bool(kept.Results(os.path.join(out, "checked")).of(test))

        before, kept.TOP = kept.TOP, tree
        subprocess.run(["git", "init", "-q", tree], check=True)
        for path in ("core/a.c", "Documentation/a.rst", "tests/lab/t-a.sh", "tests/lab/t-b.sh",
                     "tests/lab/tap.py", "tools/cli/a.py"):
            write(path, "")
        draw = Planted(out)
        draw.draw = True
        for name, got, want in (
                ("one that passed", holds(Planted(out)), True),
                ("a file that it reads", holds(Planted(out), ("core/a.c", "1")), False),
                ("a file that is new", holds(Planted(out), ("core/b.c", "1")), False),
                ("its own file", holds(Planted(out), ("tests/lab/t-a.sh", "#")), False),
                ("what runs it", holds(Planted(out), ("tests/lab/tap.py", "1")), False),
                ("another test", holds(Planted(out), ("tests/lab/t-b.sh", "1")), True),
                ("a page", holds(Planted(out), ("Documentation/a.rst", "1")), True),
                ("another command", holds(Planted(out, "ok a\nok b\n1..2"), said=Planted(out)),
                 False),
                ("a draw", holds(draw), False),
                ("one that failed", holds(Planted(out, "not ok a\n1..1")), False),
                ("one that was skipped", holds(Planted(out, "ok a # SKIP no\n1..1")), False),
                ("no Python in the guest", holds(Planted(out), ("tools/cli/a.py", "1")), True)):
            report("kept: " + name, got == want)
        write("core/a.c", "3")
        report("kept: nothing was made", not holds(Planted(out, name="lab u"), made=None))
        asked = os.path.join(out, "asked.json")
        kept.ask(asked)
        write("core/a.c", "2")
        report("kept: a change while make ran",
               not holds(Planted(out), made=kept.asked(asked)) and kept.asked(out) is None)
        report("kept: a change while it ran, taken back",
               not holds(Planted(out), ("core/a.c", "3"), before=("core/a.c", "4")))
        write("tests/lab/t-a.sh", "# lab-freeblock: scan\n")
        report("kept: Python in the guest", not holds(Planted(out), ("tools/cli/a.py", "2")))
        write("tests/lab/t-a.sh", "# reads: Documentation/*\n")
        report("kept: it says what it reads", holds(Planted(out), ("core/a.c", "3")) and
               not holds(Planted(out), ("Documentation/a.rst", "2")))
        write("tests/lab/t-a.sh", "# reads: *\n")
        report("kept: it reads all", not holds(Planted(out), ("Documentation/a.rst", "3")))
        with mock.patch.dict(os.environ, {"CFLAGS": "-O0"}):
            other = kept.machine()
        report("kept: how it is compiled", other != kept.machine())
        runner = check.Runner()
        with contextlib.redirect_stdout(io.StringIO()):
            runner.before({Planted(out): {"passed": 3, "missed": ["p"], "seconds": 9, "day": ""}})
        report("kept: its checks count", (runner.total.passed, runner.total.missed) ==
               (3, ["lab t: p"]), vars(runner.total))
        kept.TOP = before


def test_ways():
    with tempfile.NamedTemporaryFile("w+", suffix=".sh") as script:
        script.write("# lab: kernel=stock clock=icount\n#  lab: kernel=debug smp=4 timeout=9\n")
        script.flush()
        found = check.ways(script.name)
        report("two ways to run a script", found ==
               [{"kernel": "stock", "clock": "icount"},
                {"kernel": "debug", "smp": 4, "timeout": 9}], found)
    listed = [subprocess.run([os.path.join(HERE, "check"), "--list", "--set", word], text=True,
                             stdout=subprocess.PIPE, check=True).stdout.splitlines()
              for word in ("check", "soak")]
    for name, is_in in (("lab t-life (stock, icount)", [True, False]),
                        ("lab t-life (debug, real, soak, 4 CPUs)", [False, True]),
                        ("lab s-bad (stock, icount)", [False, True])):
        report("in make check, make soak: " + name, [name in names for names in listed] == is_in)


def test_needs():
    """What make has to make first is what the chosen tests need, and no kernel that none needs.
    Seen to fail: all of it for every choice."""
    for only, words in (("^python tune$", ""), ("^self documents$", "modules"),
                        ("^style$|^lab t-smoke .stock", "modules modules-debug"),
                        ("^lab t-core .7.x", "modules-others"),
                        ("^lab t-life .rt", "modules-newest")):
        done = subprocess.run([os.path.join(HERE, "check"), "--needs", "--only", only,
                               *(["--kernels", "rt"] if ".rt" in only else [])], text=True,
                              stdout=subprocess.PIPE, check=False)
        report("needs of " + only, (done.returncode, done.stdout) == (0, words + "\n"), done.stdout)


def test_kernels():
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "t-x.sh")
        with open(script, "w") as file:
            file.write("# lab: kernel=debug smp=4\n# lab: kernel=stock clock=icount\n")
        report("the way for the stock kernel is that for others",
               check.ways_on(script, ["6.1", "7.x"]) ==
               [{"kernel": "6.1", "clock": "icount"}, {"kernel": "7.x", "clock": "icount"}])
        report("the race kernel has four CPUs and a real clock, and takes its time",
               check.ways_on(script, ["race"]) ==
               [{"kernel": "race", "clock": "real", "smp": 4, "timeout": check.CHECKING_TIMEOUT}])
        args = argparse.Namespace(build=folder, out=folder, scale=1, kernels=["6.1", "6.12", "7.x"])
        tests = [check.LabTest(script, way, args) for way in check.ways_on(script, args.kernels)]
        none = tests[1].count("lab: no 6.12 kernel\n", check.NO_KERNEL)
        report("a kernel that is not to be had is a skip",
               (none.passed, none.failed, none.skipped) == (0, [], 1))
        report("and a run without a result is not",
               tests[1].count("", 1).failed and not tests[1].count("", 1).skipped)


test_cmocka()
test_tap()
test_pytest()
test_commands()
test_signals()
test_lines()
test_kept()
test_ways()
test_needs()
test_kernels()
finish()
