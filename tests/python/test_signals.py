#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tools that were started under nohup, or by a script in the background: SIGHUP and SIGINT are
ignored there. Prints TAP.

SIGHUP stays so, for that is what nohup is for. SIGINT ends and saves where a tool says so, who
ever started it; an extraction, which has not asked for it, is ended by SIGTERM.
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
import taptest  # noqa: E402

# what each sets up; then it says so, and after each line that it reads what has come
BACKUP = """
from backup import passes
signals = passes.Signals()
came = lambda: signals.came
"""
EXTRACT = """
from freeblock.extraction import modes
signals = modes._Signals()
signals.catch()
came = lambda: None
"""
LOOP = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    print(came(), flush=True)
"""


def ignoring():
    """As nohup, and a shell without job control."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Ignored(unittest.TestCase):
    """Seen to fail: backup with a handler for SIGHUP whatever it was, and with none for SIGINT
    if it was ignored; an extraction that catches SIGHUP that was ignored."""

    def start(self, text, before=ignoring):
        """A process of these words, ready."""
        path = os.pathsep.join(os.path.join(TOP, "tools", part) for part in ("python", "examples"))
        process = subprocess.Popen([sys.executable, "-c", text + LOOP], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   preexec_fn=before, env=dict(os.environ, PYTHONPATH=path))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def after(self, process, number):
        """What it says has come, after this signal; "" if it has ended."""
        process.send_signal(number)
        try:
            # past the buffer: what it still held would fail at close(), with the process gone
            os.write(process.stdin.fileno(), b"\n")
        except BrokenPipeError:
            pass
        return process.stdout.readline().strip()

    def test_backup(self):
        """SIGHUP is not for it, SIGINT is."""
        process = self.start(BACKUP)
        self.assertEqual(self.after(process, signal.SIGHUP), "None")
        self.assertEqual(self.after(process, signal.SIGINT), "2")

    def test_backup_in_a_terminal(self):
        """SIGHUP ends it, too, where it can go on later."""
        process = self.start(BACKUP, None)
        self.assertEqual(self.after(process, signal.SIGHUP), "1")

    def test_extract(self):
        """Both stay ignored; SIGTERM ends it, on its way out of what it is in."""
        process = self.start(EXTRACT)
        self.assertEqual(self.after(process, signal.SIGHUP), "None")
        self.assertEqual(self.after(process, signal.SIGINT), "None")
        self.assertEqual(self.after(process, signal.SIGTERM), "")
        self.assertGreater(process.wait(), 0)


class Runner(unittest.TestCase):
    """taptest.main(): what it says of a script's tests, and signals."""

    def script(self, text, *words):
        """Status and lines of a script with these tests, started in the background."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test_made.py")
            with open(path, "w", encoding="ascii") as file:
                file.write("import os, signal, sys, unittest\nsys.path.insert(0, %r)\n"
                           "import taptest\n%s\nsignal.alarm(60)\ntaptest.main()\n" % (HERE, text))
            done = subprocess.run([sys.executable, path, *words], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  preexec_fn=ignoring, check=False)
        return done.returncode, [line for line in done.stdout.splitlines()
                                 if line[:1] not in ("#", "")]

    def test_signals(self):
        """They are as in a terminal. Seen to fail: taptest.main() that leaves them as they are."""
        self.assertEqual(self.script("""
class T(unittest.TestCase):
    def test_interrupt(self):
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
    def test_hangup(self):
        self.assertEqual(signal.getsignal(signal.SIGHUP), signal.SIG_DFL)
"""), (0, ["ok T.test_hangup", "ok T.test_interrupt", "1..2"]))

    BAD = """
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
class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no")
    def test_never(self):
        pass
def test_plain():
    assert 1 == 2
"""

    def test_failures(self):
        """Each test has one line, wherever it fails; then the status is 1."""
        self.assertEqual(self.script(self.BAD), (1, [
            "not ok T.test_bad", "said", "ok T.test_good", "not ok T.test_later",
            "ok T.test_left # SKIP no disk", "not ok T.test_parts", "not ok Setup.test_never",
            "not ok test_plain", "1..7"]))

    def test_named(self):
        """Arguments name tests; one that is not there is a failure."""
        self.assertEqual(self.script(self.BAD, "T.test_good"),
                         (0, ["said", "ok T.test_good", "1..1"]))
        status, said = self.script(self.BAD, "T.test_none")
        self.assertEqual((status, said[-1]), (1, "1..0"))

    def test_none(self):
        """No test at all is a failure."""
        self.assertEqual(self.script("")[0], 1)


if __name__ == "__main__":
    taptest.main()
