#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Bugs that are planted: where, which, how they are named, and what counts as noticed. Seconds."""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import taptest  # noqa: E402

MUTANTS = os.path.join(taptest.TOP, "tests", "mutants")
sys.path.insert(0, MUTANTS)

import labrun  # noqa: E402
import operators  # noqa: E402
import unitrun  # noqa: E402

_loader = importlib.machinery.SourceFileLoader("mutants_run", os.path.join(MUTANTS, "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants_run", _loader))
_loader.exec_module(run)

SOURCE = """\
#define MOST 010u
#define bigger(a, b) ((a) > (b) ? (a) : (b))
static int count;
static int f(int x, int y)
{
	if (x <= 3 && !y)
		return -x;
	while (bigger(x + 1, y)) {
		count++;
		x <<= 1;
	}
	f(0,
	  y);
	count = bigger(x, y);
	count = bigger(x, y);
	return 1;
}
"""


def source_of(text):
    """A text as a file with its edits."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.c")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return operators.read(path, ["-std=gnu11"])


class Edits(unittest.TestCase):
    """Seen to fail: the argument of a macro left out; the condition in a macro's body negated
    where the macro is used."""

    def test_all(self):
        """Every edit of a small file, and no other."""
        source = source_of(SOURCE)
        found = {(SOURCE.count("\n", 0, one.start) + 1, one.operator, one.where,
                  SOURCE[one.start:one.end], one.after) for one in source.edits}
        condition, big = "x <= 3 && !y", "bigger(x + 1, y)"
        set_count = "count = bigger(x, y)"
        self.assertEqual(found, {
            (1, "parameter", "MOST", "010u", "16u"), (1, "parameter", "MOST", "010u", "4u"),
            (6, "relational", "f", "<=", "<"), (6, "relational", "f", "<=", ">"),
            (6, "constant", "f", "3", "4"), (6, "constant", "f", "3", "2"),
            (6, "logical", "f", "&&", "||"), (6, "logical", "f", "!", ""),
            (6, "negation", "f", condition, "!(%s)" % condition),
            (7, "arithmetic", "f", "-", ""),
            (8, "negation", "f", big, "!(%s)" % big),
            (8, "arithmetic", "f", "+", "-"),
            (8, "constant", "f", "1", "2"), (8, "constant", "f", "1", "0"),
            (9, "arithmetic", "f", "++", "--"), (9, "deletion", "f", "count++", "(void)0"),
            (10, "bitwise", "f", "<<=", ">>="), (10, "deletion", "f", "x <<= 1", "(void)0"),
            (10, "constant", "f", "1", "2"), (10, "constant", "f", "1", "0"),
            (12, "deletion", "f", "f(0,\n\t  y)", "(void)0"),
            (12, "constant", "f", "0", "1"), (12, "constant", "f", "0", "(-1)"),
            (14, "deletion", "f", set_count, "(void)0"),
            (15, "deletion", "f", set_count, "(void)0"),
            (16, "constant", "f", "1", "2"), (16, "constant", "f", "1", "0")})


class Draw(unittest.TestCase):
    """Seen to fail: an order by numbers of lines; the same name for two equal lines."""

    def test_moved(self):
        """What is drawn, and its names, stay when lines move."""
        def keys(text):
            return [one.key() for one in run.ranked("core/a.c", source_of(text), 7)]
        moved = SOURCE.replace("static int count;", "static int count;\n\n/* more */\n")
        self.assertEqual(keys(SOURCE), keys(moved))
        self.assertEqual(len(set(keys(SOURCE))), len(source_of(SOURCE).edits))

    def test_seed(self):
        """Another seed is another order; each line has its turn before one has two."""
        orders = [run.ranked("core/a.c", source_of(SOURCE), seed) for seed in (1, 2)]
        self.assertNotEqual(*([one.key() for one in order] for order in orders))
        for order in orders:
            self.assertEqual(sorted(one.line for one in order[:10]),
                             [1, 6, 7, 8, 9, 10, 12, 14, 15, 16])

    def test_shares(self):
        """All mutants are given out, by lines."""
        self.assertEqual(run.shares({"a": 100, "b": 50, "c": 49}, 10), {"a": 5, "b": 3, "c": 2})

    def test_result(self):
        """The text of a mutant, and the lines that are shown."""
        mutant = next(one for one in run.ranked("core/a.c", source_of(SOURCE), 1)
                      if one.edit.operator == "deletion" and one.line == 12)
        self.assertEqual(mutant.text.decode(), SOURCE.replace("f(0,\n\t  y);", "(void)0;"))
        self.assertEqual(mutant.key(), "core/a.c f\n-f(0,\n-y);\n+(void)0;")


class Equivalents(unittest.TestCase):
    """The list of those that behave like the original."""

    def read(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return run.equivalents(file.name)

    def test_read(self):
        """Comments are none, lines are compared without their indentation."""
        self.assertEqual(self.read("# a\n# b\n\ncore/a.c f 2\n-\tx < 3;\n+\tx <= 3;\nnever 3:\n"
                                   "it is even\n"),
                         {"core/a.c f 2\n-x < 3;\n+x <= 3;": "never 3: it is even"})

    def test_reason(self):
        """One without a reason is refused."""
        with self.assertRaises(unitrun.Broken):
            self.read("core/a.c f\n-\tx < 3;\n+\tx <= 3;\n")

    def test_kept(self):
        """Those of the tree can be read and name files of the tree."""
        for key in run.equivalents():
            self.assertTrue(os.path.exists(os.path.join(taptest.TOP, key.split()[0])), key)


# A lab that says what it is told to, and ends as it is told to. Its arguments are the lab's
FAKE = """\
while [ $# -gt 0 ]; do
	[ "$1" != --out ] || out=$2
	case $2 in
	MUTANTS=*) mutants=${2#MUTANTS=} ;;
	esac
	shift
done
mkdir -p "$out"
cd "$out" || exit
"""
OVER = "echo '{\"problems\": [%s], \"failed\": []}' > result.json\n"


class Fake(unittest.TestCase):
    """Guests that are a shell script."""

    def guests(self, text):
        """Guests of a lab that is `text`, which need a folder."""
        folder = tempfile.TemporaryDirectory()  # pylint: disable=R1732
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "fake")
        with open(path, "w", encoding="ascii") as file:
            file.write(FAKE + text)
        return folder.name, labrun.Guests(folder.name, "sh " + path)


class Noticed(Fake):
    """What a run of a script says of a mutant. Seen to fail: promises that are known to be missed
    taken for failures. Seen not to end: a kernel's log, or silence, that nobody looks at."""

    def run_fake(self, text):
        """What was noticed, if the lab is `text`."""
        folder, guests = self.guests(text)
        return guests.run(folder, "t-x.sh", ["freeblock.ko"], labrun.is_failure)

    def test_nothing(self):
        """A script that ends well, and misses a promise that is known to be missed."""
        self.assertEqual(self.run_fake("echo 'not ok it # MISSED by far'\n" + OVER % ""), "")

    def test_check(self):
        """A check that fails ends the guest at once."""
        self.assertEqual(self.run_fake("echo 'not ok it - got 1'; sleep 600"), "not ok it - got 1")

    def test_log(self):
        """So does a report in the log of a kernel that then hangs."""
        self.assertEqual(self.run_fake("echo '[   1.0] BUG: unable' > console.log; sleep 600"),
                         "kernel log: BUG")

    def test_silent(self):
        """And a guest that says nothing any more."""
        with unittest.mock.patch.object(labrun, "SILENT_CPU_S", 1):
            self.assertEqual(self.run_fake("echo > console.log; while :; do :; done"), "hangs")

    def test_problem(self):
        """What the lab itself finds."""
        self.assertEqual(self.run_fake(OVER % '"no end after 60 s"' + "exit 125"),
                         "no end after 60 s")

    def test_broken(self):
        """A lab that does not run is no verdict."""
        with self.assertRaises(unitrun.Broken):
            self.run_fake("exit 1")


class Together(Fake):
    """Several mutants in one guest. Seen to fail: a failed check counted for the next one too."""

    def judge(self, text):
        """Verdicts of four, if the lab does `text` with each of them."""
        bench = labrun.LabBench.__new__(labrun.LabBench)
        folder, bench.guests = self.guests("""
			for one in $mutants; do
				echo "# mutant $one"
				case $one in
				%s
				esac
				echo "# over $one in 1.0"
			done
			""" % text + OVER % "")
        bench.paths, bench.scripts = {labrun.QUICK: "quick.sh"}, {labrun.QUICK: "1"}
        bench.kept = run.Kept(os.path.join(folder, "results"))
        verdicts = {}
        bench.put = lambda mutant, script, noticed: verdicts.update({mutant: noticed})

        def built(folder, _):
            path = os.path.join(folder, "freeblock.ko")
            with open(path, "w", encoding="ascii"):
                return path

        bench.module = unittest.mock.Mock(link=built)
        bench.built = lambda folder, mutant: shutil.copy(built(folder, mutant), folder + "/a.ko")
        bench.judge(labrun.QUICK, folder, ["a", "b", "c", "d"], {})
        return verdicts

    def test_verdicts(self):
        """One fails a check, the next passes, the third takes the guest with it, and so the last
        meets another guest."""
        self.assertEqual(self.judge("""
				mutant0) echo "not ok it" ;;
				mutant2) echo '[  1.0] BUG: it' > console.log; sleep 600 ;;"""),
                         {"a": "not ok it", "b": "", "c": "kernel log: BUG", "d": ""})

    def test_original(self):
        """What fails with the module as it is is no judge."""
        for text in ("original) echo 'not ok it' ;;", "original) exit 1 ;;"):
            with self.assertRaises(unitrun.Broken):
                self.judge(text)


class Scripts(unittest.TestCase):
    """Which scripts a mutant meets."""

    def test_there(self):
        """What is named is there, and each folder has some."""
        for name in {name for names in labrun.SCRIPTS.values() for name in names}:
            self.assertTrue(os.path.exists(os.path.join(labrun.LAB, name + ".sh")), name)
        for name in labrun.SCRIPTS:
            self.assertTrue(os.path.exists(os.path.join(taptest.TOP, name)), name)
        self.assertEqual([name for name in labrun.FOLDERS if not labrun.SCRIPTS[name]], [])


class Summary(unittest.TestCase):
    """Seen to fail: a part that forgets the other."""

    def test_parts(self):
        """The core's at the top, the lab's beside it, and the sum."""
        core = {"mutants": 3, "killed": 2, "equivalent": 1, "survivors": [{"line": 1}]}
        lab = {"mutants": 5, "killed": 4, "equivalent": 0, "survivors": [{"line": 2}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            for part, summary in (("lab", lab), ("core", lab), ("core", core)):
                run.write_summary(path, part, summary)
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        self.assertEqual(found, dict(core, lab=lab, total={
            "mutants": 8, "killed": 6, "equivalent": 1}))


if __name__ == "__main__":
    taptest.main()
