# SPDX-License-Identifier: GPL-2.0
"""Changes to the running kernel, by somebody who need not wait for it: what hangs there cannot be
killed, and is left behind.
"""

import contextlib
import errno
import os
import re
import signal
import subprocess
import time

from .. import ToolError, fbstate

MODULE = "sys/module/freeblock"
DIED = 1 << 7                   # of /proc/sys/kernel/tainted: an oops or a BUG
PATIENCE_S = 60                 # requests under way end before a switch does
LOOK_S = 0.05
KILL_S = 1                      # until what was killed is gone


class NeedsReboot(ToolError):
    """The running kernel cannot be put back."""


def has_died():
    """Whether there was an oops since the boot: whatever is asked of the kernel may hang."""
    return bool(fbstate.count(fbstate.read("proc/sys/kernel/tainted")) & DIED)


def is_loaded():
    """Whether the module is there."""
    return os.path.isdir(fbstate.path(MODULE))


def command(words, text="", seconds=None):
    """A program of the system, given this to read: (status, what it said); 127: it is not there,
    124: it took longer."""
    try:
        done = subprocess.run(words, check=False, text=True, input=text, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        return 127, "%s: not found" % words[0]
    except subprocess.TimeoutExpired:
        return 124, "%s: no answer within %d s" % (words[0], seconds)
    return done.returncode, done.stdout.strip()


def shell(command, seconds, stdout=None, **env):
    """An administrator's command: its status; None: it took longer, and was killed with all that it
    had started."""
    # pylint: disable-next=consider-using-with
    child = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=stdout,
                             start_new_session=True, env={**os.environ, **env})
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            # what hangs in the kernel is left behind
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(KILL_S)


def _in_child(work):
    """Start it in a process of its own, which ends with the number of the OSError, or 0."""
    child = os.fork()
    if child:
        return child
    status = errno.EIO
    try:
        work()
        status = 0
    except OSError as error:
        status = error.errno or errno.EIO
    finally:
        os._exit(status)        # pylint: disable=protected-access


def patiently(work, what):
    """Do it in a process of its own; NeedsReboot if that does not end, OSError if it fails."""
    child, until = _in_child(work), time.monotonic() + PATIENCE_S
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until:
            raise NeedsReboot("%s hangs in the kernel (process %d)" % (what, child))
        time.sleep(LOOK_S)
    if not os.WIFEXITED(status):
        raise NeedsReboot("%s was killed by the kernel: dmesg says why" % what)
    if os.WEXITSTATUS(status):
        raise OSError(os.WEXITSTATUS(status), os.strerror(os.WEXITSTATUS(status)))


def switch(disk, scheduler):
    """Give a disk a scheduler, and wait for the module's folder of it. Linux 7 answers EBUSY while
    disks of its host come or go."""
    path = fbstate.path("sys/block", disk, "queue/scheduler")
    what = "%s > %s" % (scheduler, path)

    def write():
        with open(path, "w", encoding="utf-8") as file:
            file.write(scheduler + "\n")

    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            patiently(write, what)
            fbstate.Disk(disk).is_there()
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise ToolError("%s: %s" % (what, error.strerror)) from error
            if time.monotonic() > until:
                raise NeedsReboot("%s: %s" % (what, error.strerror)) from error
        time.sleep(LOOK_S)


def choose(disk):
    """Give a disk freeblock, the module loaded first if it is not, at boot say."""
    if fbstate.Disk(disk).scheduler() != "freeblock":
        if not is_loaded():
            load()
        switch(disk, "freeblock")


def _not_signed(said):
    """Whether a module was refused for its signature: a kernel that has locked itself, as with
    Secure Boot, says only that it is not permitted."""
    locked = re.search(r"\[(?!none)", fbstate.read("sys/kernel/security/lockdown") or "")
    return re.search("Key was rejected|Required key not available", said) or (
        locked and "Operation not permitted" in said)


def load():
    """Load the module. ToolError with what modprobe says."""
    status, said = command(["modprobe", "freeblock"])
    if not status and is_loaded():
        return
    if _not_signed(said):
        todo = ("the kernel does not know the key that it is signed with, and Secure Boot is on: "
                "mokutil --import /var/lib/dkms/mok.pub, reboot, and choose \"Enroll MOK\" on the "
                "blue screen")
    else:
        todo = fbstate.how_to_load(tried=True)
    raise ToolError("the module does not load (modprobe freeblock: %s); once it does, repeat "
                    "this; %s" % (said.replace("\n", "; ") or "status %d" % status, todo))


def unload():
    """Unload it; why not, if somebody uses it."""
    users = sorted(name for name in os.listdir(fbstate.path("sys/block"))
                   if fbstate.Disk(name).scheduler() == "freeblock")
    if users:
        return "other disks have the scheduler: " + ", ".join(users)

    def remove():
        if command(["rmmod", "freeblock"])[0]:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    try:
        patiently(remove, "rmmod freeblock")
    except OSError:
        if is_loaded():
            return "a program has /dev/freeblock open, or another module needs it"
    return None
