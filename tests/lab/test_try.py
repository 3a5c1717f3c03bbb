#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""make try, as typed at a terminal of 80 columns, on a host that is late: QEMU is stopped for 40 ms
out of 100, as by a host with other work. The simulated drive must not look late for that: the disk
is set up, is scrubbed, and stays scheduled. A minute or two. Prints TAP.

Seen to fail: idle time of the guest that passes in the host's time (-icount sleep=on): "not
scheduling: completions do not fit the model".
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import patience
import treetest
from treetest import TOP, report

LIMIT_S = 240           # for one answer
ROWS, COLUMNS = 24, 80
STOPPED_S, RUNNING_S = 0.04, 0.06
PROMPT = "try# "
# of the guest's time; of the whole disk it takes two minutes
SCRUB_S = 30
# what the shell asks a terminal
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A person at make try."""

    def __init__(self):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        build = os.environ.get("BUILD", os.path.join(TOP, "build"))
        self.process = subprocess.Popen([os.path.join(TOP, "tools", "try"), build], stdin=slave,
                                        stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.master = master
        self.text = ""

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:         # EIO: all of it has ended
            data = b""
        if not data:
            return self.process.wait(30) is not None
        self.text += ESCAPE.sub("", data.decode(errors="replace").replace("\r", ""))
        return False

    def until(self, words):
        """What is shown until these words are; None if they never are."""
        work = patience.Work(self.process.pid)

        def shown(seconds):
            ended = words not in self.text and self._read(seconds)
            return ended or words in self.text

        patience.wait(shown, LIMIT_S * patience.scale(), work.charge, lambda: len(self.text))
        before, found, self.text = self.text.partition(words)
        return before if found else None

    def do(self, command):
        """Type a command; what it answers."""
        os.write(self.master, command.encode() + b"\n")
        return (self.until(PROMPT) or "").partition("\n")[2]

    def end(self):
        """Leave; the exit status."""
        os.write(self.master, b"exit\n")
        self.until("never shown")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()


def guest_of(pid):
    """QEMU, a child of `pid`."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def hold_up(pids, ended):
    """A host that gives them no time, again and again."""
    while not ended.wait(RUNNING_S):
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if number == signal.SIGSTOP:
                time.sleep(STOPPED_S)


def check(terminal):
    """All that is typed."""
    said = terminal.until(PROMPT)
    disk = re.search(r"simulated disk, /dev/(sd[a-z])", said or "")
    report("a prompt", [] if disk else [said or terminal.text])
    if not disk:
        return
    disk = disk[1]
    ended = threading.Event()
    holder = threading.Thread(target=hold_up, args=(guest_of(terminal.process.pid), ended))
    holder.start()
    try:
        said = terminal.do("freeblock setup /dev/%s --observe 0 --quiet" % disk)
        report("set up", [] if "puts everything back" in said else [said])
        said = terminal.do("freeblock scrub /dev/%s start" % disk)
        report("scrubbed", [] if "started" in said else [said])
        terminal.do("sleep %d" % SCRUB_S)
        said = terminal.do("freeblock status %s" % disk)
        report("still scheduling", [] if "scheduler freeblock, scheduling\n" in said else [said])
        said = terminal.do("freeblock top --once")
        report("top: whole lines", [line for line in said.splitlines() if len(line) > COLUMNS] +
               [] if re.search(r"foreground \S+; (cost: not known|free reads add .*)\n", said)
               else [said])
        said = terminal.do("dmesg | grep -c 'freeblock: .*scheduled as by'")
        report("no complaint in the log", [] if said.strip() == "0" else [said])
    finally:
        ended.set()
        holder.join()
    report("it ends", [] if terminal.end() == 0 else [terminal.text])


def main():
    """The test."""
    terminal = Terminal()
    try:
        check(terminal)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(terminal.process.pid, signal.SIGKILL)
    treetest.finish()


if __name__ == "__main__":
    main()
