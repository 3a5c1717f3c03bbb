# SPDX-License-Identifier: GPL-2.0
"""The module's files of a disk, and what to say when they are not there.

All that scan, scrub and status read in sysfs, debugfs and procfs goes through here, below
ROOT, where tests put a tree of their own. A file of sysfs holds one number, word or sentence;
tables are in debugfs, which may not be there and is for root.
"""

import argparse
import errno
import os
import re
import time

from . import NoDevice, ToolError
from .base import advice, helpers

ROOT = "/"
# The module makes a disk's folder soon after the disk got the scheduler: how long to wait for it
FOLDER_S, LOOK_S = 1, 0.01
KERNEL = "sys/kernel/freeblock"
DEBUG = "sys/kernel/debug/freeblock"
# idle reads as they are shown, and what each is called in debugfs' numbers
IDLE = {"wait_us": "state/idle_wait_us", "size_kib": "state/idle_size_kib",
        "mean_us": "state/idle_mean_ns", "max_us": "stats/idle_max_us",
        "requests": "stats/idle_requests", "collisions": "stats/idle_collisions",
        "reads": "stats/idle_reads_ended", "sectors": "stats/idle_sectors",
        "used_us": "stats/idle_used_us", "idle_us": "stats/idle_us"}
# the kernel's own tasks, and what each says of itself
JOBS = ("scan", "scrub")
JOB = ("first", "sectors", "block_sectors", "blocks_total", "blocks_verified",
       "blocks_before", "blocks_delivered", "blocks_flying", "blocks_bad", "blocks_skipped",
       "blocks_unverified", "rate_kib_s", "deadline", "began", "passes")
# of a task's line, behind its name and state
TASK = ("priority", "total", "done", "failed", "granule")
# of state/: files, for everybody; the rest of the numbers is in debugfs, for root
STATE = ("attached", "model", "mapped_sectors", "scheduling", "knowledge", "free_reads", "medium",
         "recovery", "cost", "idle", "bad_blocks", "alarms")


def path(*parts):
    """A path below ROOT."""
    return os.path.join(ROOT, *(part.lstrip("/") for part in parts))


def device_path(name):
    """Where a device is whose name need not have /dev before it. An empty one, as of a variable
    that is not set, is not all devices."""
    if not name:
        raise argparse.ArgumentTypeError("'': no device's name")
    return name if "/" in name else "/dev/" + name


def need_device(given):
    """NoDevice if there is nothing of this name; the path."""
    if not os.path.exists(path(device_path(given))):
        raise NoDevice(given)
    return device_path(given)


def read(*parts):
    """The text of a file without its last newline; None if it is not there, or has
    nothing to say now (ENODATA, ENODEV)."""
    try:
        with open(path(*parts), encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODATA, errno.ENODEV, errno.ENOTDIR,
                           errno.EINVAL, errno.EOPNOTSUPP):
            return None
        raise


def number(word):
    """A word as a number; sums of differences can be negative. None if it is none: what another
    version of the module says there is not known, as though the file were missing."""
    if re.fullmatch(r"-?[0-9]+", word):
        return int(word)
    return float(word) if re.fullmatch(r"-?[0-9]+\.[0-9]+", word) else None


def count(text):
    """A number of something; 0 if that is not what the text says, or there is none."""
    found = number(text or "")
    return max(found, 0) if isinstance(found, int) else 0


class Hidden(ToolError):
    """debugfs cannot be read."""


def hidden():
    """Why debugfs cannot be read, and what to do; None if it can."""
    try:
        os.listdir(path(DEBUG))
    except PermissionError:
        return "/%s cannot be read: run it as root" % DEBUG
    except OSError:
        return advice.with_run("/%s is not there" % DEBUG, advice.DEBUGFS)
    return None


def table(name, file):
    """The text of a disk's file in debugfs, "" if the disk went away; else Hidden."""
    why = hidden()
    if why:
        raise Hidden(why)
    return read(DEBUG, name, file) or ""


def numbers(name):
    """All of debugfs' numbers of a disk, of one moment: {name: text}; {} if they cannot be read."""
    text = None if hidden() else read(DEBUG, name, "numbers")
    return dict(line.partition(" ")[::2] for line in (text or "").splitlines())


def how_to_load(tried=False):
    """How the module is loaded into this kernel, in words. tried: modprobe has failed."""
    kernel = os.uname().release
    built = os.path.join(helpers.BUILD, "kernel-" + kernel, "freeblock", "freeblock.ko")
    known = "" if tried else read("lib/modules", kernel, "modules.dep") or ""
    return advice.load_module(known, helpers.TOP, built if helpers.IN_TREE else "",
                              os.path.exists(path("etc/redhat-release")))


def suited():
    """Disks that rotate, by what the kernel says, and have another scheduler."""
    folder = path("sys/block")
    return [name for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ())
            if os.path.isdir(os.path.join(folder, name, "device")) and
            read("sys/block", name, "queue/rotational") == "1" and
            Disk(name).scheduler() != "freeblock"]


def names():
    """The disks that the module knows."""
    folder = path(KERNEL)
    if not os.path.isdir(folder):
        raise ToolError("the module freeblock is not loaded; " + how_to_load())
    # one that begins with a dot is being made
    return sorted(name for name in os.listdir(folder)
                  if name[0] != "." and os.path.isdir(os.path.join(folder, name)))


class Disk:
    """A disk that the module knows, or knew: reading never fails because it went away."""

    def __init__(self, name):
        self.name = name

    def read(self, name):
        """One of its files in /sys/kernel/freeblock."""
        return read(KERNEL, self.name, name)

    def table(self, name):
        """One of its files in debugfs; Hidden, with what to do, if that cannot be read."""
        return table(self.name, name)

    def tasks(self):
        """Its tasks: {id: what the kernel's line says}; Hidden if debugfs cannot be read. A name
        may have blanks."""
        found = {}
        # a module of the kernel's may call its task anything: splitlines() ends lines at more
        for line in filter(None, self.table("tasks").split("\n")):
            words = line.split(" ")
            if len(words) < 8 or not words[0].isdigit():
                raise ToolError("%s: tasks: not understood: '%s'" % (self.name, line))
            task: dict = dict(zip(TASK, map(int, words[-5:])))
            task.update(name=" ".join(words[1:-6]), state=words[-6])
            found[int(words[0])] = task
        return found

    def value(self, name):
        """The same, a number; None without one."""
        text = self.read(name)
        return number(text) if text else None

    def state(self, key):
        """What holds now, one of STATE, in words; None if it is not known."""
        return self.read("state/" + key) or None

    def numbers(self):
        """What debugfs' numbers have as numbers, of one moment; {} if they cannot be read."""
        found = {key: number(text) for key, text in numbers(self.name).items()}
        return {key: value for key, value in found.items() if value is not None}

    def counters(self):
        """The counters since the disk was first seen, of one moment. They stand still while the
        disk has another scheduler: {} then."""
        return {key.partition("/")[2]: value for key, value in self.numbers().items()
                if key.startswith("stats/")} if self.attached() else {}

    def attached(self):
        """Whether freeblock is its scheduler."""
        return self.state("attached") == "1"

    def idle(self):
        """Idle reads: what they do now, and what they cost."""
        there = self.numbers()
        found = {key: there[name] for key, name in IDLE.items() if name in there}
        if self.state("idle"):
            found["state"] = self.state("idle")
        if "mean_us" in found:
            found["mean_us"] /= 1000
        return found

    def job(self, name):
        """The scan or the scrub: its state, then its numbers; {} if there is no such file. The
        state is read first: the numbers of one that is over are its last."""
        state = self.read(name) or None
        said = {key.partition("/")[2]: text for key, text in numbers(self.name).items()
                if key.startswith(name + "_stats/")}
        found = {"state": state, "order": said.get("order") or None,
                 **{key: number(said.get(key, "")) for key in JOB}}
        if number(said.get("regions", "")) and "segment_kib" in said and found["order"]:
            found["order"] = "%(order)s=%(regions)s segment=%(segment_kib)s" % said
        return {key: value for key, value in found.items() if value is not None}

    def write(self, name, text):
        """Write one of them; what the kernel refuses is said with its reason."""
        target = path(KERNEL, self.name, name)
        try:
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ToolError(refusal(self.name, "%s > %s" % (text.strip(), target),
                                    error)) from error

    def scheduler(self):
        """The scheduler in force; None if the disk is gone."""
        text = read("sys/block", self.name, "queue/scheduler")
        if text is None:
            return None
        return text.partition("[")[2].partition("]")[0] or text

    def is_there(self):
        """Whether the module has a folder for it, which comes soon after the scheduler."""
        folder = path(KERNEL, self.name)
        until = time.monotonic() + FOLDER_S
        # until then one of a former disk may have this name
        while (self.scheduler() == "freeblock" and time.monotonic() < until and
               (not os.path.isdir(folder) or self.state("attached") == "0")):
            time.sleep(LOOK_S)
        return os.path.isdir(folder)

    def identity(self):
        """What is the disk's own, whatever its name: unique id, sectors."""
        return {"id": self.read("id") or "-", "sectors": count(self.read("sectors"))}

    def granule_bytes(self):
        """Bytes of a block; 0: an older module without a model."""
        return count(self.read("granule_bytes"))

    def is_active(self, job):
        """Whether there is a scan or scrub that is not over."""
        return self.read(job) in ("running", "paused", "stopping")

    def hindrance(self):
        """Why no task advances now, and the command that ends that, or None; None if nothing
        hinders it."""
        why = self.state("scheduling")
        # the module keeps a disk's values when it goes
        if why is None or (why != "yes" and self.scheduler() is None):
            return "the disk is not there", None
        return None if why == "yes" else (why, advice.scheduling(why, self.name))

    def unmapped(self):
        """Why no map of the drive is used, though the disk is served, and the command that ends
        that, or None; None: one is used, or nothing is served."""
        level, _, why = (self.state("knowledge") or "").partition(": ")
        if level == "map" or not why or self.hindrance():
            return None
        return why, advice.knowledge(why, self.name)

    def stuck(self):
        """The same as one text."""
        found = self.hindrance()
        return found and advice.with_run(*found)


def refusal(disk, what, error):
    """An OSError of a file of the module, as a sentence with what to do."""
    hints = {
        errno.EACCES: "run it as root",
        errno.EPERM: "run it as root",
        errno.ENOENT: "this module has no such file: load the one of this source tree",
        errno.EINVAL: "the kernel log says why; run: " + advice.LOG,
        errno.EALREADY: "it is already paused or running, or there is nothing to pause, resume "
                        "or stop; run: freeblock status " + disk,
        errno.EBUSY: "another task or reader has it; run: freeblock status " + disk,
        errno.ENODEV: "the disk is gone; run: freeblock status",
    }
    hint = hints.get(error.errno)
    if error.errno == errno.ENOSPC:
        hint = "the module's memory is used up; wait for a task, or run: " + advice.memory(
            count(read("sys/module/freeblock/parameters/memory_mib")))
    return "%s: %s%s" % (what, error.strerror, "; " + hint if hint else "")


def need(name):
    """The disk of this name; a ToolError that says what to do first if it is not one of
    the module's."""
    name = name[len("/dev/"):] if name.startswith("/dev/") else name
    Disk(name).is_there()
    known = names()
    if name in known:
        return Disk(name)
    if os.path.isdir(path("sys/devices/virtual/block", name)):
        raise ToolError("%s is no disk but made by software, which has no scheduler of its own: "
                        "name the disks that hold it" % name)
    if os.path.isdir(path("sys/block", name)):
        raise ToolError("%s does not have the scheduler freeblock; run: %s" % (
            name, advice.ENABLE % name))
    raise NoDevice(name)


def blocks_of(name):
    """The disk of this name, whose blocks are known."""
    disk = need(name)
    if not disk.granule_bytes():
        raise ToolError("%s: the loaded module is older than this command, and needs a model; "
                        "reboot, or run: %s" % (name, advice.SETUP % name))
    return disk


def span(seconds):
    """A time for people: 3d04h, 2h05m, 4m10s."""
    if seconds is None:
        return "-"
    seconds = int(seconds)
    for unit, lower, big, small in ((86400, 3600, "d", "h"), (3600, 60, "h", "m"),
                                    (60, 1, "m", "s")):
        if seconds >= unit:
            return "%d%s%02d%s" % (seconds // unit, big, seconds % unit // lower, small)
    return "%ds" % seconds
