# SPDX-License-Identifier: GPL-2.0
"""What the tests of scan, scrub and status have in place of a disk and its module: a tree
of sysfs files, a medium that delivers blocks in random order, a file system that a power
cut leaves in any state.
"""

import contextlib
import io
import os
import random
import re
import shutil
import signal
import tempfile
import unittest
from unittest import mock

from freeblock import background, fbstate
from freeblock.commands import scan
from freeblock.tasks import scan_file, scan_source

KERNEL, DEBUG = "sys/kernel/freeblock/", "sys/kernel/debug/freeblock/"
NUMBER = KERNEL + r"(\w+)/(state|stats|scan_stats|scrub_stats)/(\w+)$"
STATE = ["state/" + key for key in fbstate.STATE]
MAJORS = {"sda": "8:0", "sda1": "8:1", "sda2": "8:2", "sdb": "8:16"}


def is_number(path):
    """Whether the module has no such file in sysfs, but a line of debugfs' numbers."""
    found = re.match(NUMBER, path)
    return bool(found) and found.group(2) + "/" + found.group(3) not in STATE


def set_number(root, path, text):
    """Such a line; text None: there is none."""
    disk, group, key = re.match(NUMBER, path).groups()
    file, name = os.path.join(root, DEBUG + disk, "numbers"), group + "/" + key
    os.makedirs(os.path.dirname(file), exist_ok=True)
    lines = []
    if os.path.exists(file):
        with open(file, encoding="utf-8") as old:
            lines = [line for line in old.read().split("\n")
                     if line.split(" ")[0] not in ("", name)]
    with open(file, "w", encoding="utf-8") as new:
        new.writelines(line + "\n" for line in lines +
                       ([] if text is None else ["%s %s" % (name, text)]))


class Tree:
    """Files of sysfs below a folder."""

    def __init__(self, root):
        self.root = root
        os.makedirs(os.path.join(root, "sys/kernel/freeblock"), exist_ok=True)

    def patches(self):
        """Let the tools look here."""
        return [mock.patch.object(fbstate, "ROOT", self.root)]

    def write(self, name, text):
        """A file; an empty one where the kernel says ENODATA. What is no file of its own is a line
        of debugfs' numbers."""
        if is_number(name):
            set_number(self.root, name, text)
            return
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(text) + "\n" if text != "" else "")

    def remove(self, name):
        """A folder goes."""
        shutil.rmtree(os.path.join(self.root, name))

    def _link(self, name, target):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.symlink(os.path.join(self.root, target), path)

    def _device(self, name, where, sectors):
        self._link("sys/class/block/" + name, where)
        self._link("sys/dev/block/" + MAJORS.get(name, "253:" + name[-1]), where)
        self.write("dev/" + name, "")
        self.write(where + "/size", sectors)

    def values(self, folder, values):
        """Files of one value each."""
        for key, value in values.items():
            self.write("%s/%s" % (folder, key), value)

    def disk(self, name, sectors, block, values=(), scheduler="mq-deadline [freeblock] none"):
        """A disk with the scheduler, without tasks; values: other than the usual ones."""
        where = "sys/devices/" + name
        self._device(name, where, sectors)
        self._link("sys/block/" + name, where)
        self.write(where + "/queue/scheduler", scheduler)
        self.write(where + "/stat", "10 0 80 50 10 0 80 70 0 0 0")
        self.values(KERNEL + name, {
            "id": "naa.%s" % name, "sectors": sectors, "granule_bytes": block,
            "state/attached": 1, "state/model": 1, "state/scheduling": "yes", "tasks": 0,
            "state/bad_blocks": 0, **dict(values)})
        self.values(DEBUG + name, {"tasks": "", "bad_blocks": ""})

    def counters(self, name, **counters):
        """Counters of a disk."""
        for key, value in counters.items():
            group = "state" if key in fbstate.STATE else "stats"
            self.write("%s%s/%s/%s" % (KERNEL, name, group, key), value)

    def partition(self, disk, name, start, sectors):
        """A partition."""
        where = "sys/devices/%s/%s" % (disk, name)
        self._device(name, where, sectors)
        self.write(where + "/partition", 1)
        self.write(where + "/start", start)

    def mapped(self, name, label, sectors):
        """A device-mapper device."""
        self._device(name, "sys/devices/" + name, sectors)
        self.write("sys/devices/%s/dm/name" % name, label)

    def mirror(self, name, sectors, members, level="raid1"):
        """An md array."""
        self._device(name, "sys/devices/" + name, sectors)
        self.write("sys/devices/%s/md/level" % name, level)
        for member, (offset, state) in members.items():
            folder = "sys/devices/%s/md/dev-%s/" % (name, member)
            self.write(folder + "offset", offset)
            self.write(folder + "state", state)


class Case(unittest.TestCase):
    """With a folder and a tree of its own."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.tree = Tree(os.path.join(self.folder, "root"))
        self.patch(*self.tree.patches())

    def patch(self, *patches):
        """For this test."""
        for patch in patches:
            self.enterContext(patch)


class Medium:
    """A disk's data, and a device that delivers it.

    stop_after: blocks, then `signal` comes; gone_for: reads that find the disk gone;
    bad: first sector of a block -> status; twice: blocks delivered that were before.
    """

    def __init__(self, sectors, block, seed=1):
        self.rng = random.Random(seed)
        self.sectors, self.block = sectors, block
        self.data = bytearray(self.rng.randbytes(sectors * 512))
        self.bad, self.stop_after, self.signal = {}, None, signal.SIGINT
        self.gone_for, self.twice, self.delivered = 0, 0, set()
        self.at_end = self.each = lambda: None

    def patches(self):
        """Let the tools read this one."""
        return [mock.patch.object(scan_source, "Source", self.source),
                mock.patch.object(scan, "POLL_S", 0.01)]

    def source(self, disk, missing, _whole):
        """In place of scan_source.Source."""
        return Source(self, disk, missing)


class Source:
    """Delivers batches of blocks in random order, joined where they follow each other."""

    def __init__(self, medium, disk, ranges):
        self.medium, self.disk, self.gone, self.more = medium, disk, False, False
        self.blocks = [lbn for first, count in ranges
                       for lbn in range(first, first + count, medium.block)]
        medium.rng.shuffle(self.blocks)
        self.read_end, self.write_end = os.pipe()
        os.write(self.write_end, b"x")
        self.done = 0

    def fileno(self):
        """For poll(): there is always something."""
        return self.read_end

    def records(self):
        """A few blocks."""
        medium = self.medium
        if medium.gone_for:
            medium.gone_for -= 1
            self.gone = True
            return
        self.gone = False
        batch = sorted(self.blocks[:3])
        del self.blocks[:3]
        for lbn in batch:
            count = min(medium.block, medium.sectors - lbn)
            medium.twice += lbn in medium.delivered
            status = medium.bad.get(lbn, 0)
            if status == 0:
                medium.delivered.add(lbn)
            self.done += 1
            if self.done == medium.stop_after:
                os.kill(os.getpid(), medium.signal)
            medium.each()
            data = bytes(medium.data[lbn * 512:(lbn + count) * 512])
            yield background.Record(lbn, count, status, memoryview(data), 0, background.BLOCKS)
        if not self.blocks:
            medium.at_end()

    def close(self):
        """The device is closed."""
        os.close(self.read_end)
        os.close(self.write_end)


class Cut(Exception):
    """The power is off."""


class PowerCut:
    """Notes what is written and what is synced, of one file; a sync may be the moment at
    which the power goes."""

    def __init__(self):
        self.durable, self.volatile = [], []
        self.armed = self.happened = False
        self.stack = contextlib.ExitStack()
        self.really = scan_file._write_all

    def __enter__(self):
        self.stack.enter_context(mock.patch.object(scan_file, "_write_all", self.write))
        self.stack.enter_context(mock.patch.object(os, "fdatasync", self.sync))
        self.stack.enter_context(mock.patch.object(os, "fsync", self.sync))
        return self

    def __exit__(self, *_):
        self.stack.close()

    def write(self, fd, data, offset):
        """In place of scan_file's."""
        self.volatile.append((offset, bytes(data)))
        self.really(fd, data, offset)

    def sync(self, _fd):
        """In place of os.fdatasync()."""
        if self.armed:
            self.happened = True
            raise Cut
        self.durable += self.volatile
        self.volatile = []

    def apply(self, path, rng):
        """Leave in the file what a power cut leaves: of what was not synced any pieces of
        eight bytes, or zeros, or what stood there before."""
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            header = file.read(4096)
        image = io.BytesIO(header.ljust(size, b"\0"))
        for offset, data in self.durable:
            image.seek(offset)
            image.write(data)
        for offset, data in self.volatile:
            for at in range(0, len(data), 8):
                image.seek(offset + at)
                image.write(rng.choice((data[at:at + 8], bytes(8), rng.randbytes(8))))
        with open(path, "wb") as file:
            file.write(image.getvalue()[:size])

