#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tests/check: can its counting be fooled? Prints TAP.

Each case is something that went wrong in a test run, and must come out as at
least one failure; the good cases must come out as none.
"""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile

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


def test_cmocka():
    skipping = GOOD.replace("[       OK ] two", "[  SKIPPED ] two")
    listed = skipping + "[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] two\n"
    for name, text, status, passed, skipped, failures in (
            ("all good", GOOD, 0, 2, 0, 0), ("two groups", GOOD + NAMED, 0, 4, 0, 0),
            ("one failed", FAILED, 2, 1, 0, 1), ("make hides it", FAILED, 0, 1, 0, 1),
            ("a crash in the middle, and make hides it", CRASHED, 0, 1, 0, None),
            ("a crash after a good group", GOOD + CRASHED, 2, 3, 0, None),
            ("a failure of make alone", GOOD, 2, 2, 0, 1), ("silence", "", 0, 0, 0, 1),
            ("sanitizer", GOOD + "==1==ERROR: AddressSanitizer: use-after-free\n", 1, 2, 0, None),
            ("sanitizer that goes on", GOOD + "x.c:3:1: runtime error: shift\n", 0, 2, 0, None),
            ("a skipped test", skipping, 0, 1, 1, 0), ("named once more", listed, 0, 1, 1, 0)):
        got = check.count_cmocka(text, status)
        report("cmocka: " + name, (got.passed, got.skipped) == (passed, skipped) and
               (len(got.failed) == failures if failures is not None else got.failed), vars(got))


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
        kept.TOP = before


def test_ways():
    with tempfile.NamedTemporaryFile("w+", suffix=".sh") as script:
        script.write("# lab: kernel=debug smp=4 timeout=9\n# lab: kernel=stock clock=icount\n")
        script.flush()
        report("two ways to run a script", check.ways(script.name) ==
               [{"kernel": "debug", "smp": 4, "timeout": 9},
                {"kernel": "stock", "clock": "icount"}])
        report("the way for the stock kernel is that for others",
               check.ways_on(script.name, ["7.x"]) == [{"kernel": "7.x", "clock": "icount"}])
    listed = [subprocess.run([os.path.join(HERE, "check"), "--list", "--set", word], text=True,
                             stdout=subprocess.PIPE, check=True).stdout.splitlines()
              for word in ("check", "soak")]
    for name, is_in in (("lab t-life (stock, icount)", [True, False]),
                        ("lab s-lift (stock, icount)", [False, True])):
        report("in make check, make soak: " + name, [name in names for names in listed] == is_in)


def test_needs():
    """What make has to make first is what the chosen tests need, and no kernel that none needs.
    Seen to fail: all of it for every choice."""
    for only, words in (("^python tune$", ""), ("^self documents$", "modules"),
                        ("^style$|^lab t-smoke .stock", "modules modules-debug"),
                        ("^lab t-moments .7.x", "modules-others"),
                        ("^lab t-life .rt", "modules-newest")):
        done = subprocess.run([os.path.join(HERE, "check"), "--needs", "--only", only,
                               *(["--kernels", "rt"] if ".rt" in only else [])], text=True,
                              stdout=subprocess.PIPE, check=False)
        report("needs of " + only, (done.returncode, done.stdout) == (0, words + "\n"), done.stdout)


test_cmocka()
test_tap()
test_commands()
test_signals()
test_kept()
test_ways()
test_needs()
finish()
