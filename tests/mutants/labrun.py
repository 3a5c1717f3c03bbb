# SPDX-License-Identifier: GPL-2.0
"""The module with one object exchanged, and the lab's scripts as its judges.

Each script is run once with a module whose basic blocks tell that they were executed: so it is
known which scripts may see a mutant, and how long each takes. A script has noticed a mutant when
a check fails, when the kernel's log has a report, or when the guest does not come to its end.
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

from unitrun import TOP, Broken

LAB = os.path.join(TOP, "tests", "lab")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, LAB)

import logscan  # noqa: E402

FOLDERS = ("disk", "sched", "tasks")
# The quick ones of those that load freeblock: some half a minute of a CPU each
SCRIPTS = ("t-bad", "t-deadline", "t-drift", "t-idle", "t-input", "t-medium",
           "t-scan", "t-scrub", "t-sysfs", "t-tasks", "t-user", "t-verify", "t-waiting")
# What a file is about is seen best there; all others by their time
FIRST = {
    "disk/drive_query.c": ("t-verify",),
    "disk/hurry.c": ("t-deadline",),
    "disk/idle.c": ("t-idle",),
    "disk/upload.c": ("t-input",),
    "disk/verify.c": ("t-verify",),
    "disk/waiting.c": ("t-waiting",),
    "sched/tunables.c": ("t-input",),
    "tasks/coverage_file.c": ("t-scrub",),
    "tasks/user.c": ("t-user",),
    "tasks/user_queue.c": ("t-user",),
}
# A mutant meets so many scripts at most
MOST = 5
# As the lab's own limits: of a machine for itself
LEAST_S = 60
TIMES = 3
POLL_S = 2
COVER_BYTES = 1 << 20       # as in cover.c
CALL = "__sanitizer_cov_trace_pc"


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
        call(words, "ld", self.headers)
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


class Cover:
    """A module that tells which of its basic blocks were executed."""

    def __init__(self, module, folder, names):
        os.makedirs(folder, exist_ok=True)
        exchanged = {}
        for name in names:
            made = os.path.join(folder, name.replace("/", "-")[:-2] + ".o")
            if not module.compile(name, os.path.join(module.tree, name), made,
                                  "-fsanitize-coverage=trace-pc"):
                raise Broken("cannot compile %s to be covered" % name)
            module.check(name, made)
            exchanged[name] = made
        main, told = "freeblock_main.c", []
        with open(os.path.join(TOP, main), encoding="utf-8") as file:
            text, count = re.subn(
                r"module_exit\((\w+)\);",
                "void fb_cover_tell(void);\n"
                "static void __exit fb_cover_exit(void)\n{\n\t\\1();\n\tfb_cover_tell();\n}\n"
                "module_exit(fb_cover_exit);", file.read())
        if count != 1:
            raise Broken("%s has no module_exit()" % main)
        with open(os.path.join(folder, main), "w", encoding="utf-8") as file:
            file.write(text)
        for source in (os.path.join(folder, main), os.path.join(HERE, "cover.c")):
            made = os.path.join(folder, os.path.basename(source)[:-2] + ".o")
            if not module.compile(main, source, made):
                raise Broken("cannot compile " + source)
            module.check(main, made)
            told.append(made)
        exchanged[main] = told[0]
        self.path = module.link(folder, exchanged, told[1:])
        self.calls = self._calls()

    def _calls(self):
        """{bit in cover.c: lines, as (file, number), of that block's beginning}"""
        relocations = call(["readelf", "-rW", self.path], "readelf")
        text = re.search(r"'\.rela\.text'.*?\n\n", relocations + "\n\n", re.S).group(0)
        ends = [int(line.split()[0], 16) + 4 for line in text.splitlines() if CALL in line]
        said = call(["addr2line", "-a", "-i", "-j", ".text", "-e", self.path,
                     *("%x" % (end - 1) for end in ends)], "addr2line")
        symbols = call(["nm", self.path], "nm")
        here = int(re.search(r"^([0-9a-f]+) T %s$" % CALL, symbols, re.M).group(1), 16)
        found, lines = {}, None
        for line in said.splitlines():
            if line.startswith("0x"):
                lines = found.setdefault(int(line, 16) + 1 - here + COVER_BYTES // 2, set())
                continue
            place = re.search(r"/freeblock/([^:]+):(\d+)", "/" + line)
            if place:
                lines.add((os.path.normpath(place.group(1)), int(place.group(2))))
        return found

    def lines(self, log):
        """{(file, line): executed} of a guest's log."""
        bits = set()
        for word, value in re.findall(r"fb_cover ([0-9a-f]+) ([0-9a-f]+)$", log, re.M):
            value = int(value, 16)
            bits.update(int(word, 16) * 64 + i for i in range(64) if value >> i & 1)
        if not bits:
            raise Broken("the module did not tell what was executed")
        found = {}
        for bit, lines in self.calls.items():
            for line in lines:
                found[line] = found.get(line, False) or bit in bits
        return found


class Guests:
    """Runs of scripts with a module of ours."""

    def __init__(self, build, through):
        self.build, self.through = build, shlex.split(through or "")

    def run(self, folder, script, module, limit, hurry=True):
        """What was noticed, or ""; CPU seconds. In a hurry the first thing is enough."""
        out = os.path.join(folder, "guest")
        shutil.rmtree(out, ignore_errors=True)
        words = self.through + [
            sys.executable, os.path.join(LAB, "lab"), os.path.join(LAB, script + ".sh"), "--build",
            self.build, "--out", out, "--module", module, "--timeout", "%d" % limit, "--quiet"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, start_new_session=True) as process:
            noticed, ended = [], threading.Event()
            if hurry:
                threading.Thread(target=self._watch_log, args=(
                    process, os.path.join(out, "console.log"), ended, noticed)).start()
            for raw in process.stdout:
                line = raw.decode(errors="replace")
                if re.match(r"not ok\b", line) and not re.search(r"#\s*MISSED\b", line, re.I):
                    noticed.append(line.strip())
                    if hurry:
                        self._kill(process)
            _, status, usage = os.wait4(process.pid, 0)
            ended.set()
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = usage.ru_utime + usage.ru_stime
        if noticed:
            return noticed[0], seconds
        return self._result(out, process.returncode), seconds

    @staticmethod
    def _kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _watch_log(self, process, path, ended, noticed):
        """A guest whose kernel has reported something may hang for long."""
        while not ended.wait(POLL_S):
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                found = logscan.scan(file.read())
            if found:
                noticed.append("kernel log: " + found[0].kind)
                self._kill(process)
                return

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


class LabBench:
    """The module's objects, and what the lab's scripts execute and take."""

    def __init__(self, out, build, through, opened, units):
        self.out = os.path.join(out, "lab")
        os.makedirs(self.out, exist_ok=True)
        self.alone, self.kept = opened(self.out)
        # A bench of the unit tests, made when a file that they compile is drawn
        self.make_units, self.bench = units, None
        self.units = ()
        self.module = Module(build)
        self.guests = Guests(build, through)
        self.scripts = {name: self._digest(name) for name in SCRIPTS}

    @property
    def stages(self):
        return ("plain", "checked", "lab")

    @staticmethod
    def _digest(script):
        with open(os.path.join(LAB, script + ".sh"), "rb") as file:
            return digest_text(script, file.read())

    # what scripts execute

    def _stamp(self, script):
        return digest_text("traced", self.module.release, self.scripts[script])

    def trace(self, pool, sources, say):
        """Run each script that is new once with a module that tells what is executed."""
        todo = [name for name in SCRIPTS if self._stamp(name) not in self.kept.known]
        if not todo:
            return
        stale = [name for name in sources if not self.module.same(name)]
        if stale:
            raise Broken("%s is not what was built: make modules" % stale[0])
        say("building a module that tells what is executed")
        cover = Cover(self.module, os.path.join(self.out, "cover"), sorted(sources))

        def work(folder, script):
            self.kept.put(self._stamp(script), self._traced(folder, cover, script, sources))
            return script

        for number, script in enumerate(pool.map(work, todo), 1):
            say("looked what %s executes, %d of %d" % (script, number, len(todo)))

    def _traced(self, folder, cover, script, sources):
        """CPU seconds of a script and what it executes; a script that fails as it is has none."""
        problem, seconds = self.guests.run(folder, script, cover.path, 900, hurry=False)
        with open(os.path.join(folder, "guest", "files", "dmesg"), errors="replace",
                  encoding="utf-8") as log:
            executed = cover.lines(log.read())
        if problem:     # which may be that it is slower
            problem, seconds = self.guests.run(
                folder, script, os.path.join(self.module.tree, "freeblock.ko"), 900)
        lines = {}
        for (name, number), hit in executed.items():
            if name in sources:
                where, text = self._named(sources[name], number)
                of_function = lines.setdefault(name, {}).setdefault(where, {})
                of_function[text] = of_function.get(text, False) or hit
        return {"took": seconds, "fails": problem, "lines": lines}

    @staticmethod
    def _named(source, number):
        """A line's function and text, which it has wherever it moves."""
        where = next((name for name, (first, last) in source.functions.items()
                      if first <= number <= last), "")
        return where, source.text.split(b"\n")[number - 1].decode().strip()

    @functools.cached_property
    def traced(self):
        """What is known of each script that does not fail as it is."""
        found = {name: self.kept.known[self._stamp(name)] for name in SCRIPTS}
        return {name: one for name, one in found.items() if not one["fails"]}

    def tests_of(self, mutant, source):
        """Scripts that may see it, the likeliest and quickest first: those that execute one of
        its lines, or the beginning of its block; if that is not known, any of the file."""
        where = mutant.edit.where
        tables = {script: one["lines"].get(mutant.name, {}) for script, one in self.traced.items()}
        known = {text for table in tables.values() for text in table.get(where, {})}
        who = {script for script, table in tables.items()
               if any(hit for lines in table.values() for hit in lines.values())}
        if where in source.functions and known:
            first = source.functions[where][0]
            texts = [line.decode().strip() for line in source.text.split(b"\n")]
            begin = max((number for number in range(first, mutant.line + 1)
                         if texts[number - 1] in known), default=first)
            end = mutant.line + mutant.before.count("\n")
            wanted = set(texts[begin - 1:end]) & known
            who = {script for script, table in tables.items()
                   if any(table.get(where, {}).get(text) for text in wanted)}
        first = FIRST.get(mutant.name, ())
        return sorted(who, key=lambda name: (name not in first, self.traced[name]["took"]))[:MOST]

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
        if stage != "lab":
            return self.bench.left(stage, mutant, source) if mutant.name in self.units else []
        passed, killer = self.passed(mutant)
        return [] if killer else [name for name in self.tests_of(mutant, source)
                                  if name not in (passed or ())]

    def judge(self, stage, folder, mutant, source):
        """Run the tests of a stage that are left."""
        if stage != "lab":
            self.bench.judge(stage, folder, mutant, source)
            return
        passed = {name: self.scripts[name] for name in self.passed(mutant)[0] or []}
        made = self.compiled(folder, mutant)
        self.module.check(mutant.name, made)
        module = self.module.link(folder, {mutant.name: made})
        for script in self.left(stage, mutant, source):
            limit = max(LEAST_S, TIMES * self.traced[script]["took"])
            noticed, _ = self.guests.run(folder, script, module, limit)
            passed[script] = self.scripts[script]
            self.kept.put(self._judged(mutant), (script if noticed else "", passed, noticed))
            if noticed:
                break
