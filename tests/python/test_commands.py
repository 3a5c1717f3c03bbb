# SPDX-License-Identifier: GPL-2.0
# reads: *
"""Tests of what the two commands offer: freeblock what an administrator uses, freeblock-bench
what it is measured with.

Seen to fail: a module of the product that imports one of bench; a new command of
freeblock-bench that freeblock does not know of.
"""

import contextlib
import errno
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import taptest
from freeblock import ToolError, cli
from freeblock.base import helpers

TOOLS = os.path.join(taptest.TOP, "tools")
TINY = os.path.join(taptest.TOP, "tests", "lab", "files", "tiny.fbmodel")


def run(command, *words, env=None):
    """Status, output and errors of a command."""
    done = subprocess.run([os.path.join(TOOLS, command), *words], text=True, check=False, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def offered(command):
    """The commands that its help names."""
    status, out, _ = run(command, "--help")
    assert status == 0
    return set(re.findall(r"^    ([a-z][\w-]*)(?: |$)", out, re.M))


# restore, of two disks whose modes are put back by writing down which; argv: tools, folder
RESTORE = """
import os, sys
sys.path.insert(0, os.path.join(sys.argv[1], "cli"))
from freeblock import cli
from freeblock.drive import restoring

def put_back(book, look):
    with open(os.path.join(sys.argv[2], "done"), "a") as file:
        file.write(book.name)
    return True, book.name + ": put back"

restoring.restore_one = put_back
sys.exit(cli.main(["restore", "--journals", sys.argv[2]]))
"""

# Much output; argv: tools
PRINT = """
import os, sys
from unittest import mock
sys.path.insert(0, os.path.join(sys.argv[1], "cli"))
from freeblock import cli

def much(args):
    for _ in range(20000):
        print("nine char")
    return 0

with mock.patch("freeblock.commands.metrics.run", much):
    sys.exit(cli.main(["metrics"]))
"""

# A command that does something, and then has status 3; argv: tools, what it does
GONE = """
import os, sys
from unittest import mock
sys.path.insert(0, os.path.join(sys.argv[1], "cli"))
from freeblock import UsageError, cli

def do(args):
    exec(sys.argv[2])
    return 3

with mock.patch("freeblock.commands.metrics.run", do):
    sys.exit(cli.main(["metrics"]))
"""


def shell(line, **more):
    """Status, output and errors of a line of shell in tools/."""
    done = subprocess.run(["sh", "-c", line], cwd=TOOLS, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stdout, done.stderr


class Output(unittest.TestCase):
    """Where it goes, and does not."""

    LOST = (("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor"))

    def test_lost(self):
        """A command that prints what it found has failed if that cannot be written. Seen to fail:
        status 0 of a descriptor that is closed, 120 of a disk that is full."""
        for words in ("--version", "--help", "metrics", "models list", "metrics --help"):
            for where, why in self.LOST:
                self.assertEqual(shell("./freeblock %s %s" % (words, where)), (
                    1, "", "freeblock: standard output: %s\n" % why), words)
        self.assertEqual(shell("./freeblock-bench --help > /dev/full"), (
            1, "", "freeblock-bench: standard output: No space left on device\n"))
        # what is wrong with a command line is no less so
        self.assertEqual(shell("./freeblock tune > /dev/full")[0], 2)

    def test_work(self):
        """What is more than its words goes on to its end, and says then that they were lost. Seen
        to fail: the second disk's modes, not put back."""
        for how, why in (*self.LOST, ("2> /dev/full", None), ("2>&-", None)):
            with tempfile.TemporaryDirectory() as folder:
                for name in ("a", "b"):
                    with open(os.path.join(folder, name + ".json"), "wb"):
                        pass
                status, out, err = shell(
                    'exec /usr/bin/python3 -Bu -c "$RESTORE" . "$FOLDER" ' + how,
                    env=dict(os.environ, RESTORE=RESTORE, FOLDER=folder))
                with open(os.path.join(folder, "done"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "ab")
            self.assertEqual((status, err), (
                1, "freeblock: standard output: %s\n" % why) if why else (0, ""))
            self.assertEqual(out, "" if why else "a: put back\nb: put back\n")

    def test_gone(self):
        """A reader that goes away ends a command without a word; the status of one that says it in
        its status stays. Seen to fail: "Exception ignored ... BrokenPipeError"; status 1 of the
        latter, which is a warning."""
        for words, status in (("--help", 1), ("metrics", 1), ("status --check", 3)):
            self.assertEqual(shell("(sleep .2; ./freeblock %s; echo $? >&2) | true" % words)[1:],
                             ("", "%d\n" % status), words)

    def test_gone_errors(self):
        """A reader of the errors that goes away, as the tee of `2>&1 | tee` at Ctrl-C, changes
        neither what is done nor the exit status. Seen to fail: status 1 of each, and the undoing
        that ends at the first thing that it has to tell."""
        for what, status in (("raise KeyboardInterrupt", 130), ("raise UsageError('no')", 2),
                             ("print('undoing', file=sys.stderr)", 3)):
            got = shell('{ sleep .2; /usr/bin/python3 -Bc "$GONE" . "$DO" 2>&1; echo $? >&2; } |'
                        ' true', env=dict(os.environ, GONE=GONE, DO=what))
            self.assertEqual(got[1:], ("", "%d\n" % status), what)

    def test_patient(self):
        """A pipe that is full, and that somebody else has made non-blocking, is waited for. Seen
        to fail: "Resource temporarily unavailable", and no more than 64 KiB."""
        # the descriptor is made so where the command finds it; the reader comes late
        make = "import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])"
        status, out, err = shell(
            '{ /usr/bin/python3 -c "$MAKE" /usr/bin/python3 -Bc "$PRINT" .; echo $? >&2; } |'
            ' (sleep .5; wc -c)', env=dict(os.environ, MAKE=make, PRINT=PRINT))
        self.assertEqual((status, out, err), (0, "200000\n", "0\n"))

    def test_encoding(self):
        """A name that the output's encoding does not have is printed escaped, in results and in
        errors. Seen to fail: UnicodeEncodeError."""
        for name, encoding, said in ((b"r\xe9gl\xe9", "utf-8", r"r\udce9gl\udce9"),
                                     (b"r\xe9gl\xe9", "ascii", r"r\udce9gl\udce9"),
                                     ("réglé".encode(), "ascii", r"r\xe9gl\xe9"),
                                     ("réglé".encode(), "utf-8", "réglé")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(os.fsencode(folder), name)
                with open(path, "wb") as file:
                    file.write(b"[all]\n")
                env = {**os.environb, b"NAME": path, b"PYTHONIOENCODING": encoding.encode()}
                status, out, err = shell('./freeblock conf check "$NAME"', env=env)
                self.assertEqual((status, err), (0, ""))
                self.assertTrue(out.startswith("%s/%s: well" % (folder, said)), out)
                self.assertEqual(shell('./freeblock conf check "$NAME"x', env=env), (
                    1, "", "freeblock: %s/%sx: No such file or directory\n" % (folder, said)))

    def test_system(self):
        """What the system refuses is a line, with the file's name if there is one. Seen to fail: a
        traceback of EMFILE, which has none."""
        full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        for error, said in ((full, "Too many open files"),
                            (OSError(errno.ENFILE, "Too many open files in system"),
                             "Too many open files in system"),
                            (OSError(errno.ENOSPC, "No space"), "what is written: No space"),
                            (OSError(errno.EMFILE, "Too many", "/x"), "/x: Too many"),
                            (TimeoutError("no answer"), "no answer")):
            with mock.patch("freeblock.commands.metrics.page_of", side_effect=error):
                self.assertEqual(taptest.freeblock("metrics"), (1, "", "freeblock: %s\n" % said))
        with mock.patch.object(cli, "make_parser", side_effect=full):
            self.assertEqual(taptest.freeblock("metrics")[2], "freeblock: Too many open files\n")

    def test_names(self):
        """A name of several lines, or that moves the cursor, is printed in one. Seen to fail: each
        of these as it is."""
        odd, said = "a\nb\x1b[2J\r", r"a\nb\x1b[2J\r"
        with tempfile.TemporaryDirectory() as folder:
            path, shown = os.path.join(folder, odd), os.path.join(folder, said)
            with open(path, "w", encoding="ascii") as file:
                file.write("[all]\n")
            taken = taptest.freeblock("conf", "check", path)
            self.assertEqual(taken, (0, shown + ": well: 1 sections\n", ""))
            self.assertEqual(taptest.freeblock("conf", "check", path + "x"), (
                1, "", "freeblock: %sx: No such file or directory\n" % shown))
            os.rename(path, path + ".fbmodel")
            out = taptest.freeblock("models", "list", "--dir", folder)[1]
            self.assertEqual(out.count("\n"), 1)
            self.assertTrue(out.startswith(said + ".fbmodel: "), out)
            os.rename(path + ".fbmodel", path + ".json")
            status, out, _ = taptest.freeblock("restore", "--journals", folder)
            self.assertEqual((status, out.count("\n")), (1, 1))
            self.assertTrue(out.startswith(said + ": not put back: "), out)
            for words, refused in ((("tune", "--stats"), 2),
                                   (("predict", "--set", "request_rate=1", "--model"), 1)):
                status, _, err = taptest.freeblock(*words, path + ".json")
                self.assertEqual((status, "\x1b" in err), (refused, False), err)

    def test_not_mixed(self):
        """A file that is opened takes no closed descriptor's place, and gets nothing that was
        meant for that. Seen to fail: errors on standard output."""
        self.assertEqual(shell("./freeblock restore no-disk 2>&-"), (2, "", ""))
        status, out, err = shell("./freeblock top <&-")
        self.assertEqual((status, out), (1, ""))
        self.assertNotIn("Traceback", err)


class Houses(unittest.TestCase):
    """Who offers what."""

    def test_apart(self):
        """No command is offered by both."""
        ours, lab = offered("freeblock"), offered("freeblock-bench")
        self.assertLess({"extract", "models", "scan", "scrub", "sim", "status"}, ours)
        self.assertFalse(ours & lab)

    def test_where(self):
        """Asked for a command of the other, freeblock says where it is."""
        lab = offered("freeblock-bench")
        self.assertEqual(set(cli.RESEARCH), lab)
        for word in sorted(lab):
            status, out, err = taptest.freeblock(word, "--help")
            self.assertEqual((status, out), (2, ""))
            self.assertRegex(err, "^freeblock: '%s' .* tools/freeblock-bench, in a checkout\n$" %
                             word)

    def test_whole_words(self):
        """What begins like an option is none, of any program. Seen to fail: argparse's default."""
        for command in ("freeblock sim --sec 1", "freeblock models install --di x y",
                        "freeblock-bench bench --out x", "examples/freeblock-backup check --js x"):
            words = command.split()
            status, out, err = run(*words)
            self.assertEqual((status, out), (2, ""), command)
            self.assertIn("unrecognized arguments: " + words[-2 - command.count(" y")], err)

    def test_no_name(self):
        """A name that is empty, as of a shell's variable that is not set, is refused. Seen to fail:
        restore, which took it for all disks; setup, which said ": no such disk"."""
        for command in ("extract", "restore"):
            status, out, err = run("freeblock", command, "")
            self.assertEqual((status, out), (2, ""))
            self.assertIn("argument DEVICE: '': no device's name", err)
        for command in ("setup", "off", "trial"):
            status, out, err = run("freeblock", command, "")
            self.assertEqual(status, 2)
            self.assertRegex(err, "\\Afreeblock: '' behind %s: an empty word: " % command)

    def test_empty(self):
        """No word is empty, whatever it would mean. Seen to fail: metrics on standard output, not
        in the file; the settings of all disks applied."""
        for words, where in ((("metrics", "-o", ""), "behind -o"),
                             (("metrics", "--output="), "behind --output"),
                             (("conf", "apply", ""), "behind apply"),
                             (("status", ""), "behind status"),
                             (("tune", "", "--stats"), "behind tune")):
            self.assertEqual(taptest.freeblock(*words), (
                2, "", "freeblock: '' %s: an empty word: is a variable of the shell not set?\n" %
                where))

    def test_no_effect(self):
        """An option that would do nothing is refused, and why. Seen to fail: each of them."""
        for words, why in (
                ("tune x -o y", "--output is for --record"),
                ("tune x --stats --sizes 64", "--sizes is for what --stats leaves out"),
                ("status --check --json", "--json is not for --check, which says one line, and at "
                 "once"),
                ("status --check --seconds 5", "--seconds is not for --check, which says one line, "
                 "and at once"),
                ("scrub sda stop --state x", "--state is for run and start"),
                ("scrub sda status --order near", "--order is for run and start"),
                ("scrub sda start --wait", "--wait is for run"),
                ("scrub sda pause --json", "--json is for run, status, history and bad"),
                ("observe --trace x --seconds 5", "--seconds is for a recording: not with --trace"),
                ("observe --trace x -o y", "--output is for a recording: not with --trace"),
                ("setup sda --no-boot --program /opt/x",
                 "--program is for a start at boot: not with --no-boot")):
            self.assertEqual(taptest.freeblock(*words.split()), (2, "", "freeblock: %s\n" % why))
        status, _, err = run("freeblock", "models", "disable", "--dir", "x")
        self.assertEqual(status, 2)
        self.assertIn("unrecognized arguments: --dir x", err)

    def test_units(self):
        """What systemd starts are commands that there are, and each unit names the manual page of
        one. Seen to fail: a unit that says "models load --boot"; one without a page."""
        folder = os.path.join(TOOLS, "boot")
        units = [name for name in os.listdir(folder) if name.endswith((".service.in", ".timer.in"))]
        self.assertGreater(len(units), 7)
        pages = {"man:freeblock-%s(1)" % word for word in offered("freeblock")}
        for name in units:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            said = re.search(r"^Documentation=(.*)$", text, re.M)
            self.assertTrue(said and set(said.group(1).split()) <= pages |
                            {"man:freeblock.conf(5)"}, name)
            for words in re.findall(r"^Exec\w+=@FREEBLOCK@ (.*)$", text, re.M):
                words = words.replace("@OPTIONS@", "--scheduler ").replace("%i", "sda").split()
                self.assertTrue(cli.make_parser(words[0]).parse_args(words).run, name)

    def test_spaces(self):
        """A checkout in a folder that make cannot work in is told so. Seen to fail: "building
        multiple external modules is not supported"."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a b", "a:b"):
                os.mkdir(os.path.join(folder, name))
                shutil.copy(os.path.join(taptest.TOP, "Makefile"), os.path.join(folder, name))
                done = subprocess.run(["make", "help"], cwd=os.path.join(folder, name), text=True,
                                      check=False, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 2)
                self.assertIn("no spaces or colons in a folder's name", done.stdout)
                with mock.patch.object(helpers, "TOP", os.path.join(folder, name)), \
                        self.assertRaisesRegex(ToolError, "no spaces or colons"):
                    helpers.build("tools/sim", "freeblock-sim")

    def test_alone(self):
        """The product runs where there is nothing but its package, all of whose modules load."""
        each = ("import importlib, pkgutil, sys; sys.path.insert(0, sys.argv[1]); import freeblock;"
                "[importlib.import_module(m.name) for m in"
                " pkgutil.walk_packages(freeblock.__path__, 'freeblock.')];"
                "print(*sorted({n.partition('.')[0] for n in sys.modules} &"
                " {'bench', 'taptest', 'lab', 'tests'}))")
        done = subprocess.run([sys.executable, "-I", "-c", each, os.path.join(TOOLS, "cli")],
                              text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (0, "\n"), done.stderr)

    def test_without_numpy(self):
        """What needs numpy says which package is missing; all else, the help of what needs it
        included, works without. Seen to fail: tracebacks of observe's and setup's imports, and of
        extract; a numpy that is there and does not load, called missing."""
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "numpy.py")
            without = dict(os.environ, PYTHONPATH=folder)
            with open(fake, "w", encoding="ascii") as file:
                file.write("raise ModuleNotFoundError(\"No module named 'numpy'\", "
                           "name='numpy')\n")
            for words in ("--version", "--help", "setup --help", "observe --help",
                          "restore --journals " + folder, "metrics", "models list"):
                status, out, err = run("freeblock", *words.split(), env=without)
                self.assertEqual((status, err), (0, ""), words)
                self.assertTrue(out)
            for words in ("extract --simulated /dev/null -o /dev/null", "tune /dev/null",
                          "predict --model %s --set interarrival=1s" % TINY,
                          "observe --model %s --trace /dev/null" % TINY):
                self.assertEqual(run("freeblock", *words.split(), env=without), (
                    1, "", "freeblock: %s needs the Debian package python3-numpy, which is not "
                    "installed\n" % words.split()[0]))
            with open(fake, "w", encoding="ascii") as file:
                file.write("import no_such\n")
            status, _, err = run("freeblock", "tune", "/dev/null", env=without)
            self.assertIn("No module named 'no_such'", err)
            self.assertNotIn("python3-numpy", err)


class Mistakes(unittest.TestCase):
    """One wording for a mistake, whichever command it is made with, exit status 2, and nothing is
    built before.

    Seen to fail: four wordings for a disk that is not there, exit status 1; scan, which asked for
    -o first; "say one of"; "whose requests are they?"; sim and sg, which were built first."""

    # Each command that is given a device, by its name; status --check ends as plugins do
    DEVICE = ("calibrate %s -o x", "conf show %s", "conf apply %s", "conf scrub %s", "extract %s",
              "canary %s", "enable %s", "scrub %s history",
              "metrics %s", "models load %s", "models install {tiny} --disk %s", "observe %s",
              "observe %s --model /nope", "off %s", "probe %s", "repair %s",
              "restore %s", "scan %s", "scan %s -o x",
              "scan %s --verify /nope", "scrub %s run", "scrub %s start", "scrub %s status",
              "scrub %s bad",
              "scrub %s install-service", "setup %s",
              "sg %s --model /nope", "sg %s --model {tiny} --policy x", "status %s",
              "top %s --once", "trial %s", "tune --record 5 %s -o x",
              "tune x --apply %s --model nearline16")
    NO_DEVICE = ("apply", "guard", "predict", "sim")
    MISSING = {
        "canary": "the following arguments are required: DISK",
        "calibrate": "the following arguments are required: DISK, -o/--output",
        "conf": "the following arguments are required: WHAT",
        "enable": "specify DISK or --all",
        "extract": "specify DEVICE or --simulated FILE",
        "guard": "the following arguments are required: WHAT",
        "models": "the following arguments are required: WHAT",
        "observe": "specify DISK or --trace FILE",
        "off": "specify DISK or --all",
        "predict": "specify --model FILE or --drive FILE",
        "probe": "the following arguments are required: DISK",
        "repair": "the following arguments are required: DISK",
        "scan": "the following arguments are required: DEVICE",
        "scrub": "specify DEVICE or --all",
        "setup": "the following arguments are required: DISK",
        "sg": "the following arguments are required: /dev/sgX, --model",
        "tune": "specify TRACE or --record SECONDS DISK",
    }
    # These do something without an argument
    ALL = {"apply", "metrics", "restore", "sim", "status", "top", "trial"}
    OTHERS = (
        ("extract /dev/null --simulated x", "specify only one of DEVICE, --simulated FILE"),
        ("observe /dev/null --trace x", "specify only one of DISK, --trace FILE"),
        ("setup /dev/nope --measure --model x", "specify only one of --measure, --model"),
        ("off sda --all", "specify only one of DISK, --all"),
        ("trial --on --off", "specify only one of --on, --off"),
        ("tune x --record 5 sda", "specify only one of TRACE, --record SECONDS DISK"),
        ("tune x --model a --service 1+1", "specify only one of --model, --service"),
        ("predict --drive toy", "specify --trace FILE, --workload FILE or --set KEY=VALUE"),
        ("observe --trace x", "--trace needs --model FILE"),
        ("predict --drive toy --device 8,0 --set request_rate=1", "--device needs --trace FILE"),
        ("tune --record 5 /dev/null", "--record needs -o FILE"),
        ("status --scrub-days 3", "--scrub-days needs --check"),
        ("sim --jobs 0", "--jobs: 0 is less than 1"),
        ("tune x --jobs 0", "--jobs: 0 is less than 1"),
        ("extract --simulated x --seed -1", "--seed: -1 is less than 0"),
        ("status --seconds -1", "--seconds: -1 is not between 0 and 3600"),
        ("top --seconds 0", "--seconds: 0 is not between 0.1 and 3600"),
        ("metrics --scrub-days 0", "--scrub-days: 0 is not over 0 and at most 36500"),
        ("sim --policy x", "--policy: x is none of clook, sstf, sptf, sptf-sw, none, auto"),
        ("sim --policy auto,x --rate 3", "--policy: x is none of clook, sstf, sptf, sptf-sw, "
                                         "none, auto"),
        ("sim --hold 2", "--hold: 2 is none of 0, 1"),
        ("sim --rate 5,x", "--rate: x is not a number"),
        ("scan /dev/null -o x", "/dev/null: not a block device"),
        ("setup /dev/null", "/dev/null: not a block device"),
        ("trial /dev/null", "/dev/null: not a block device"),
        ("status /dev/null", "/dev/null: not a block device"),
    )

    def said(self, line):
        """The last line of errors, without the program's name; nothing is built, or printed."""
        with mock.patch.object(helpers, "build", side_effect=AssertionError(line)):
            try:
                status, out, err = taptest.freeblock(*line.split())
            except SystemExit as error:
                status, out, err = error.code, "", self.errors.getvalue()
        self.assertEqual((status, out), (2, ""), line)
        return re.sub(r"\Afreeblock[a-z ]*: (?:error: )?", "", err.splitlines()[-1])

    def setUp(self):
        self.errors = io.StringIO()
        holder = contextlib.redirect_stderr(self.errors)
        holder.__enter__()
        self.addCleanup(holder.__exit__, None, None, None)

    def test_no_device(self):
        """A device that is not there."""
        named = {line.split()[0] for line in self.DEVICE}
        self.assertEqual(named | set(self.NO_DEVICE), offered("freeblock"))
        for line in self.DEVICE:
            for name in ("/dev/nope", "nope"):
                self.assertEqual(self.said(line.replace("{tiny}", TINY) % name),
                                 "/dev/nope: no such block device", line)
        status, out, err = taptest.freeblock("status", "--check", "/dev/nope")
        self.assertEqual((status, out, err), (
            3, "FREEBLOCK UNKNOWN - /dev/nope: no such block device\n", ""))

    def test_missing(self):
        """Nothing is said of what is to be done."""
        self.assertEqual(set(self.MISSING) | self.ALL, offered("freeblock"))
        for command, words in self.MISSING.items():
            status, out, err = run("freeblock", command)
            self.assertEqual((status, out), (2, ""))
            self.assertRegex(err, r"(?:\A|\n)freeblock[a-z ]*: (?:error: )?%s\n\Z" %
                             re.escape(words))

    def test_others(self):
        """What excludes each other, what is missing beside an option, what is out of bounds."""
        for line, words in self.OTHERS:
            self.assertEqual(self.said(line), words, line)

    def test_build(self):
        """What is built is announced, with how much of it is done; once.

        Seen to fail: a minute without a line."""
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, FREEBLOCK_BUILD=folder)
            words = ("from freeblock.base import helpers; helpers.program('tools/tune', 'tune', "
                     "'replay.so')")
            said = [subprocess.run(["/usr/bin/python3", "-Bc", words], env=env, text=True,
                                   check=True, cwd=os.path.join(TOOLS, "cli"),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
                    for _ in range(2)]
        self.assertEqual(said, ["freeblock: building replay.so, once: 1 files\n", ""])
        for target, name in (("lib", "libfreeblock"), ("examples", "array_scrub")):
            done = subprocess.run(["make", "-n", target], cwd=taptest.TOP, text=True, check=True,
                                  stdout=subprocess.PIPE)
            self.assertIn("echo '%s: " % name, done.stdout)
