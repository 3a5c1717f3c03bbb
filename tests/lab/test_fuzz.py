#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of tests/fuzz/run: can it be fooled? Programs that only pretend to be targets say what
libFuzzer says. Prints TAP.

Seen to fail: a replay that counts all its inputs as run whatever the program says; a crash's
status ignored; a second run that begins at 0.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(TOP, "tests", "fuzz", "run")
TARGET = "record"
PRETENDS = """\
#!/bin/sh
# replay: files are named; fuzzing: folders
for word; do
	case $word in
	-artifact_prefix=*)	prefix=${word#*=}; fuzz=1 ;;
	-*)			;;
	*)			if [ ! "$fuzz" ]; then
					if %(bad)s; then echo crash; exit 77; fi
					echo "Executed $word in 0 ms"
				fi ;;
	esac
done
echo "deep: %(deep)d"
[ "$fuzz" ] || exit 0
echo "stat::number_of_executed_units: %(inputs)d"
if [ %(crash)d = 1 ]; then
	echo bad > "${prefix}crash-1"
	echo "Test unit written to ${prefix}crash-1"
	exit 77
fi
exit %(status)d
"""

count = failed = 0


def report(name, good, detail=""):
    """One line of TAP."""
    global count, failed
    count += 1
    failed += not good
    print("ok " + name if good else "not ok %s - %s" % (name, detail.replace("\n", " | ")),
          flush=True)


class Case:
    """A target that pretends, and what comes out."""

    def __init__(self, folder, kept=2, **how):
        self.folder = folder
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
        corpus = os.path.join(folder, "corpus", TARGET)
        os.makedirs(corpus, exist_ok=True)
        for number in range(kept):
            with open(os.path.join(corpus, "input%d" % number), "w", encoding="ascii") as file:
                file.write("x")
        self.pretend(**how)

    def pretend(self, bad="false", deep=1, inputs=1000, crash=0, status=0):
        """Write the program."""
        path = os.path.join(self.folder, "bin", TARGET)
        with open(path, "w", encoding="ascii") as file:
            file.write(PRETENDS % {"bad": bad, "deep": deep, "inputs": inputs, "crash": crash,
                                   "status": status})
        os.chmod(path, 0o755)

    def run(self, *arguments):
        """Its status and what it said."""
        done = subprocess.run([RUN, "--programs", os.path.join(self.folder, "bin"), "--corpus",
                               os.path.join(self.folder, "corpus"), "--out",
                               os.path.join(self.folder, "out"), "--target", TARGET, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.returncode, done.stdout

    def summary(self):
        """What summary.json says of the target."""
        with open(os.path.join(self.folder, "out", "summary.json"), encoding="ascii") as file:
            return json.load(file)[0]


def check(name, passed, **how):
    """One run as in make check, of which so many of two checks pass."""
    with tempfile.TemporaryDirectory() as folder:
        status, said = Case(folder, **how).run("--check", "--seconds", "1")
        report("check: " + name, said.count("\nok ") + said.startswith("ok ") == passed and
               bool(status) == (passed < 2), said)


def test_check():
    """What make check would say."""
    check("all good", 2)
    check("an input of the kept corpus crashes", 1, bad="[ $(basename $word) = input1 ]")
    check("all inputs are refused", 1, deep=0)
    check("no kept corpus", 1, kept=0)
    check("a new input crashes", 1, crash=1)
    check("no new input", 1, inputs=2)
    check("a program that ends with an error", 1, status=1)
    with tempfile.TemporaryDirectory() as folder:
        said = Case(folder, crash=1).run("--check", "--seconds", "1")[1]
        path = os.path.join(folder, "out", TARGET, "crashes", "crash-1")
        report("check: the input is there, and named", os.path.exists(path) and path in said, said)


def test_long():
    """What make fuzz would do."""
    with tempfile.TemporaryDirectory() as folder:
        case = Case(folder)
        status, said = case.run("--inputs", "2500")
        report("long: until there are so many inputs", status == 0 and
               case.summary()["inputs"] == 3000 and case.summary()["crashes"] == 0, said)
        case.run("--inputs", "3500")
        report("long: goes on", case.summary()["inputs"] == 4000, str(case.summary()))
        case.pretend(crash=1, bad="true")
        status, said = case.run("--inputs", "9000")
        report("long: a crash ends it", status == 1 and case.summary()["crashes"] == 1 and
               case.summary()["inputs"] == 5000, said)
        status, said = case.run("--inputs", "9000")
        report("long: a crash that is still there", status == 1 and "crash-1" in said and
               case.summary()["inputs"] == 5000, said)
        case.pretend()
        status, said = case.run("--inputs", "6000")
        report("long: a crash that was repaired", status == 0 and
               case.summary() == dict(case.summary(), inputs=6000, crashes=0), said)
        case.run("--inputs", "1000", "--fresh")
        report("long: begins anew", case.summary()["inputs"] == 1000, str(case.summary()))


def test_kept():
    """The kept corpus is small."""
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in
               os.walk(os.path.join(TOP, "tests", "fuzz", "corpus")) for name in names)
    report("the kept corpus is small", 0 < size < 300 << 10, "%d bytes" % size)


def main():
    """All tests."""
    test_check()
    test_long()
    test_kept()
    print("1..%d" % count)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
