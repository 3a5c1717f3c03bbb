# SPDX-License-Identifier: GPL-2.0
"""Tools that were started under nohup, or by a script in the background: SIGHUP and SIGINT are
ignored there.

SIGHUP stays so, for that is what nohup is for. SIGINT ends and saves where a tool says so, who
ever started it; an extraction, which has not asked for it, is ended by SIGTERM.
"""

import os
import signal
import subprocess
import sys
import unittest

from taptest import TOP

# what each sets up; then it says so, and after each line that it reads what has come
BACKUP = """
from backup import passes
signals = passes.Signals()
came = lambda: signals.came
"""
EXTRACT = """
from freeblock.drive import modes
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
        path = os.pathsep.join(os.path.join(TOP, "tools", part) for part in ("cli", "examples"))
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
