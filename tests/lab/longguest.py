# SPDX-License-Identifier: GPL-2.0
"""A guest that runs for long and says lines all the time; and the sum by which results are kept.

It has no limit but silence: one that has begun and then says nothing for so long, of a quiet
machine's seconds, is ended.
"""

import hashlib
import os
import signal
import subprocess
import threading
import time

import patience

WATCH_S = 5


def content_hash(*paths):
    """A short name for what some files hold."""
    key = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            key.update(file.read())
    return key.hexdigest()[:12]


class LongGuest:
    """A command, the lab, and its lines. `why`: why it was ended, if it was."""

    def __init__(self, out, silence_s):
        self.out = out
        self.silence_s = silence_s
        self.why = ""
        self.process = None
        self.heard = time.monotonic()

    def has_begun(self):
        """Until then it may be waiting for its turn."""
        return True

    def lines(self, command):
        """Yields them as they come; they are kept in lab.log, too."""
        os.makedirs(self.out, exist_ok=True)
        with open(os.path.join(self.out, "lab.log"), "w", buffering=1) as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", stdin=subprocess.DEVNULL, start_new_session=True)
            ended = threading.Event()
            threading.Thread(target=self._watch, args=(ended,), daemon=True).start()
            try:
                for line in self.process.stdout:
                    log.write(line)
                    self.heard = time.monotonic()
                    yield line.rstrip("\n")
                self.process.wait()
            finally:
                ended.set()
                self.stop()

    def stop(self):
        """At once."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _watch(self, ended):
        work, heard, silent = patience.Work(self.process.pid), self.heard, 0.0
        while not ended.wait(WATCH_S):
            silent = silent + work.charge(WATCH_S) if self.heard == heard else 0.0
            heard = self.heard
            if self.has_begun() and silent > self.silence_s:
                self.why = "silent for %d s" % silent
                self.stop()
                return
