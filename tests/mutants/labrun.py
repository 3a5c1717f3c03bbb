# SPDX-License-Identifier: GPL-2.0
"""The module with one object exchanged, and the lab's scripts as its judges.

First comes quick.sh, which takes several modules into one guest, then the scripts that are
about the mutated file. A script has noticed a mutant when a check fails, when the kernel's log
has a report, or when the guest does not come to its end.
"""

import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

from unitrun import TOP, Broken

LAB = os.path.join(TOP, "tests", "lab")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, LAB)

import logscan  # noqa: E402
import patience  # noqa: E402

FOLDERS = ("disk", "sched", "tasks")
QUICK = "quick"
# Mutants that meet quick.sh in one guest, so long as each can be unloaded
TOGETHER = 8
# Scripts that are about a file, the quickest first; what is about a folder comes after them
SCRIPTS = {
    "disk/cookie.c": ("t-tasks",),
    "disk/coverage.c": ("t-tasks",),
    "disk/disk.c": ("t-sysfs",),
    "disk/recovery.c": ("t-recovery",),
    "disk/drive_query.c": ("t-rest", "t-asleep", "t-verify", "s-lift"),
    "disk/free_read.c": ("t-user", "t-sysfs"),
    "disk/late.c": ("t-deadline", "t-waiting"),
    "disk/idle.c": ("t-cache", "t-idle"),
    "disk/memory.c": ("t-input",),
    "disk/reader.c": ("t-data",),
    "disk/task_choice.c": ("t-tasks", "t-deadline"),
    "disk/upload.c": ("t-input",),
    "disk/verify.c": ("t-verify", "t-medium"),
    "disk": ("t-medium", "t-life"),
    "sched/background.c": ("t-merge", "t-others"),
    "sched/inflight.c": ("t-sysfs", "t-trace", "t-cache"),
    "sched/host.c": ("s-lift", "t-sysfs"),
    "sched/order.c": ("t-order",),
    "sched/pool.c": ("t-merge",),
    "sched/slots.c": ("t-depth",),
    "sched/tunables.c": ("t-order", "t-input"),
    "sched": ("t-scan", "t-numbers"),
    "tasks/coverage_file.c": ("t-scrub",),
    "tasks/job.c": ("t-scrub",),
    "tasks/task.c": ("t-deadline", "t-sysfs"),
    "disk/probe.c": ("t-probe",),
    "tasks/user.c": ("t-user", "t-probe"),
    "tasks/user_check.c": ("t-user",),
    "tasks": ("t-tasks", "t-life"),
}
# A guest is not waited for that says nothing for so long, in seconds of a CPU, or at all
SILENT_CPU_S = 60
SILENT_S = 600
POLL_S = 2


def digest_text(*parts):
    """A hash of texts and bytes, as in run."""
    made = hashlib.sha256()
    for part in parts:
        made.update((part if isinstance(part, bytes) else part.encode()) + b"\0")
    return made.hexdigest()[:16]


def call(words, what, folder=None):
    """Run a program that must succeed; what it said."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, cwd=folder)
    if done.returncode:
        raise Broken("%s: %s" % (what, done.stdout[-800:]))
    return done.stdout


class Module:
    """What kbuild did for the stock kernel, to be done again with other sources."""

    def __init__(self, build):
        said = call([os.path.join(LAB, "kernel"), "stock"], "no stock kernel")
        kernel = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        self.headers, self.release = kernel["KDIR"], kernel["KVER"]
        self.tree = os.path.join(build, "kernel-" + self.release, "freeblock")
        if not os.path.exists(os.path.join(self.tree, "freeblock.ko")):
            raise Broken("no freeblock.ko in %s: make modules" % self.tree)

    def same(self, name):
        """Whether the build has this file as it is in the tree."""
        with open(os.path.join(TOP, name), "rb") as one:
            with open(os.path.join(self.tree, name), "rb") as other:
                return one.read() == other.read()

    def commands(self, name):
        """Words of what compiled a file, and of what looked at its object afterwards."""
        folder, base = os.path.split(os.path.join(self.tree, name))
        with open(os.path.join(folder, ".%s.o.cmd" % base[:-2]), encoding="utf-8") as file:
            line = file.readline().partition(":=")[2]
        compiled, _, checked = line.partition(" ; ")
        return ([word for word in shlex.split(compiled) if not word.startswith("-Wp,-MMD")],
                shlex.split(checked))

    def headers_of(self, name):
        """Arguments for a parser of one of the files."""
        words, found = self.commands(name)[0], []
        for word, after in zip(words, words[1:]):
            if word == "-include":
                found += [word, after]
            elif word[:2] == "-I":
                found.append("-I" + os.path.normpath(os.path.join(self.headers, word[2:])))
            elif word[:2] == "-D" or word in ("-nostdinc", "-fshort-wchar") or word[:5] == "-std=":
                found.append(word)
        return found + ["-w"]

    def compile(self, name, source, made, *extra):
        """An object of a source in place of one of the files; False if it does not compile."""
        words = self.commands(name)[0]
        words[words.index("-o") + 1] = made
        words[-1] = source
        done = subprocess.run(words + list(extra) + ["-w"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False, cwd=self.headers)
        return not done.returncode

    def check(self, name, made):
        """objtool, without which a kernel does not take an object's returns and unwinding."""
        words = self.commands(name)[1]
        if words:
            call(words[:-1] + [made], "objtool", self.headers)

    def link(self, folder, exchanged, extra=()):
        """freeblock.ko with other objects for those of some files; its path."""
        objects = {os.path.join(self.tree, name[:-2] + ".o"): made
                   for name, made in exchanged.items()}
        with open(os.path.join(self.tree, "freeblock.mod"), encoding="utf-8") as file:
            words = [objects.get(word, word) for word in file.read().split()]
        whole = os.path.join(folder, "freeblock.o")
        call(["ld", "-m", "elf_x86_64", "-z", "noexecstack", "-r", "-o", whole, *words, *extra],
             "ld", self.headers)
        with open(os.path.join(self.tree, ".freeblock.ko.cmd"), encoding="utf-8") as file:
            words = shlex.split(file.readline().partition(":=")[2].partition(";")[0])
        made = os.path.join(folder, "freeblock.ko")
        objects = {os.path.join(self.tree, "freeblock.o"): whole,
                   os.path.join(self.tree, "freeblock.mod.o"): self.described(folder, whole)}
        words = [objects.get(word, word) for word in words]
        words[words.index("-o") + 1] = made
        # many of them must fit into a guest
        call(words + ["--strip-debug"], "ld", self.headers)
        return made

    @functools.cached_property
    def versions(self):
        """Of what the kernel exports."""
        with open(os.path.join(self.headers, "Module.symvers"), encoding="ascii") as file:
            return {words[1]: words[0] for words in map(str.split, file)}

    def described(self, folder, whole):
        """The object that says the versions of what the module needs of the kernel: another one
        if it needs more than what was built, a thunk of one more register above all."""
        name = "freeblock.mod.c"
        with open(os.path.join(self.tree, name), encoding="utf-8") as file:
            text = file.read()
        needed = call(["nm", "-u", "--format=just-symbols", whole], "nm").split()
        more = ['\t{ %s, "%s" },\n' % (self.versions[one], one) for one in needed
                if one in self.versions and '"%s"' % one not in text]
        if not more:
            return os.path.join(self.tree, "freeblock.mod.o")
        source = os.path.join(folder, name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(re.sub(r'(__section\("__versions"\) = \{\n)',
                              lambda found: found.group(1) + "".join(more), text))
        made = os.path.join(folder, "freeblock.mod.o")
        if not self.compile(name, source, made):
            raise Broken("cannot compile " + source)
        return made


class Guests:
    """Runs of scripts with modules of ours."""

    def __init__(self, build, through):
        self.build, self.through = build, shlex.split(through or "")

    def run(self, folder, script, modules, heard, *words):
        """Run a script; what ended the guest before its time, or what the lab found, or "".
        heard(line) says why a line is the end already, or ""."""
        out = os.path.join(folder, "guest")
        shutil.rmtree(out, ignore_errors=True)
        words = self.through + [
            sys.executable, os.path.join(LAB, "lab"), script, "--build", self.build, "--out", out,
            *(word for module in modules for word in ("--module", module)), *words]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, start_new_session=True) as process:
            watch = Watch(process, os.path.join(out, "console.log"))
            for raw in process.stdout:
                line = raw.decode(errors="replace").rstrip()
                watch.lines += 1
                why = heard(line)
                if why:
                    watch.kill(why)
            process.wait()
            watch.ended.set()
        return watch.noticed or self._result(out, process.returncode)

    @staticmethod
    def _result(out, status):
        """What the lab found, or ""."""
        path = os.path.join(out, "result.json")
        if not os.path.exists(path):
            raise Broken("the lab did not run: status %d" % status)
        if not status:
            return ""
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        return (result["problems"] or result["failed"] or ["status %d" % status])[0].split("\n")[0]


class Watch:
    """Ends a guest whose kernel has reported something, or that says nothing any more."""

    def __init__(self, process, console):
        self.process, self.console = process, console
        self.lines, self.noticed, self.ended = 0, "", threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def kill(self, why):
        """At once, with all that it has started."""
        self.noticed = self.noticed or why
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _watch(self):
        work = patience.Work(self.process.pid)
        said, cpu_s, began = -1, 0, 0
        while not self.ended.wait(POLL_S):
            if not os.path.exists(self.console):    # waits for its turn
                continue
            with open(self.console, encoding="utf-8", errors="replace") as file:
                found = logscan.scan(file.read())
            used = work.look()[0]
            if said != self.lines:
                said, cpu_s, began = self.lines, used, time.monotonic()
            if found:
                self.kill("kernel log: " + found[0].kind)
            elif used - cpu_s > SILENT_CPU_S or time.monotonic() - began > SILENT_S:
                self.kill("hangs")


def is_failure(line):
    """The line, if it says that a check failed, and is no promise that is known to be missed."""
    failed = re.match(r"not ok\b", line) and not re.search(r"#\s*MISSED\b", line, re.I)
    return line if failed else ""


class LabBench:
    """The module's objects, and the scripts."""

    # where time is short, each meets what is most likely to notice it before any meets the rest
    stages = ("plain", "checked", QUICK, "first", "lab")

    def __init__(self, out, build, through, opened, units):
        self.out = os.path.join(out, "lab")
        os.makedirs(self.out, exist_ok=True)
        self.alone, self.kept = opened(self.out)
        # A bench of the unit tests, made when a file that they compile is drawn
        self.make_units, self.bench = units, None
        self.units = ()
        self.module = Module(build)
        self.guests = Guests(build, through)
        names = {name for names in SCRIPTS.values() for name in names}
        self.paths = {name: os.path.join(LAB, name + ".sh") for name in names}
        self.paths[QUICK] = os.path.join(HERE, "quick.sh")
        self.scripts = {name: self._digest(path) for name, path in self.paths.items()}

    @staticmethod
    def _digest(path):
        with open(path, "rb") as file:
            return digest_text(file.read())

    @staticmethod
    def tests_of(mutant):
        """Scripts that may see it, besides quick.sh."""
        names = SCRIPTS.get(mutant.name, ()) + SCRIPTS[mutant.name.split("/")[0]]
        return list(dict.fromkeys(names))

    # mutants

    def compiled(self, folder, mutant):
        """Its object, or None."""
        source = os.path.join(folder, os.path.basename(mutant.name))
        at = mutant.edit.start + len(mutant.edit.after.encode())
        # the numbers of the lines behind it are in the code
        gone = b"\n" * (mutant.before.count("\n") - mutant.after.count("\n"))
        with open(source, "wb") as file:
            file.write(mutant.text[:at] + gone + mutant.text[at:])
        made = source[:-2] + ".o"
        there = "-ffile-prefix-map=%s/=%s/" % (folder, os.path.dirname(mutant.name))
        return made if self.module.compile(mutant.name, source, made, "-g0", there) else None

    def code(self, folder, mutant):
        """A hash of its object code, or None if it does not compile."""
        stamp = digest_text("code", self.module.release, mutant.name, mutant.text)
        if stamp not in self.kept.known:
            made = self.compiled(folder, mutant)
            with open(made or os.devnull, "rb") as file:
                self.kept.put(stamp, digest_text(file.read()) if made else None)
        return self.kept.known[stamp]

    def with_units(self, mutants):
        """Have the unit tests, if they compile a file of these."""
        self.units = [one.name for one in mutants if os.path.basename(one.name) in
                      ("cookie.c", "record.c", "user_check.c")]
        if self.units:
            self.bench = self.make_units()

    def _judged(self, mutant):
        return digest_text("judged", self.module.release, mutant.name, mutant.text)

    def passed(self, mutant):
        """Scripts that did not notice it, and as they are now would not, or None; its killer."""
        if mutant.name in self.units:
            passed, killer = self.bench.passed(mutant)
            if killer:
                return passed, killer
        killer, passed = self.kept.known.get(self._judged(mutant), (None, {}))[:2]
        passed = [name for name, one in passed.items() if self.scripts.get(name) == one]
        return (passed, killer) if not killer or killer in passed else (None, None)

    def left(self, stage, mutant, source):
        """Tests of a stage that are to be run."""
        if stage in ("plain", "checked"):
            return self.bench.left(stage, mutant, source) if mutant.name in self.units else []
        passed, killer = self.passed(mutant)
        tests = self.tests_of(mutant)
        tests = {QUICK: [QUICK], "first": tests[:1]}.get(stage, tests)
        return [] if killer else [name for name in tests if name not in (passed or ())]

    def batches(self, stage, mutants):
        """Those that are judged together."""
        size = TOGETHER if stage == QUICK else 1
        return [mutants[at:at + size] for at in range(0, len(mutants), size)]

    def judge(self, stage, folder, mutants, sources):
        """Run the tests of a stage that are left."""
        if stage == QUICK:
            self._judge_quick(folder, mutants)
            return
        for mutant in mutants:
            if stage in ("first", "lab"):
                self._judge_lab(stage, folder, mutant, sources[mutant.name])
            else:
                self.bench.judge(stage, folder, [mutant], sources)

    def built(self, folder, mutant):
        """Its module."""
        made = self.compiled(folder, mutant)
        self.module.check(mutant.name, made)
        return self.module.link(folder, {mutant.name: made})

    def put(self, mutant, script, noticed):
        """A verdict."""
        passed = {name: self.scripts[name] for name in self.passed(mutant)[0] or []}
        passed[script] = self.scripts[script]
        self.kept.put(self._judged(mutant), (script if noticed else "", passed, noticed))

    def _judge_lab(self, stage, folder, mutant, source):
        module = self.built(folder, mutant)
        for script in self.left(stage, mutant, source):
            noticed = self.guests.run(folder, self.paths[script], [module], is_failure)
            self.put(mutant, script, noticed)
            if noticed:
                break

    def _judge_quick(self, folder, mutants):
        """quick.sh says which one it is about. One that the guest does not come through has the
        guest for itself from there on: those behind it get another one. The module as it is goes
        first, once."""
        todo, paths, passes = {}, {}, digest_text("passes", self.scripts[QUICK])
        if passes not in self.kept.known:
            todo["original"] = None
            paths["original"] = os.path.join(folder, "original.ko")
            os.replace(self.module.link(folder, {}), paths["original"])
        for number, mutant in enumerate(mutants):
            name = "mutant%d" % number
            todo[name], paths[name] = mutant, os.path.join(folder, name + ".ko")
            os.replace(self.built(folder, mutant), paths[name])
        while todo:
            now, found = [], {}

            def over(name, noticed):
                mutant = todo.pop(name)
                if mutant:
                    self.put(mutant, QUICK, noticed)
                elif noticed:
                    return "the module as it is: " + noticed
                else:
                    self.kept.put(passes, True)
                return ""

            def heard(line, now=now, found=found, over=over):
                words = line.split()
                if words[:2] == ["#", "mutant"]:
                    now.append(words[2])
                elif words[:2] == ["#", "over"]:
                    return over(now[-1], found.get(now.pop(), ""))
                elif is_failure(line) and now:
                    found.setdefault(now[-1], line)
                return ""

            problem = self.guests.run(folder, self.paths[QUICK], [paths[name] for name in todo],
                                      heard, "--set", "MUTANTS=" + " ".join(todo))
            if now:
                problem = over(now[-1], found.get(now[-1]) or problem or "ends")
                if problem:
                    raise Broken("quick.sh: " + problem)
            elif todo or problem.startswith("the module as it is"):
                raise Broken("quick.sh: " + problem)
