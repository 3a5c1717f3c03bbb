# SPDX-License-Identifier: GPL-2.0
"""The guest's part of tests/lab/power, beside t-power.sh.

    power_guest.py load DRIVE           the platters, from the memory shared with the host
    power_guest.py save DRIVE           and back, with the drive's log, when it is dead
    power_guest.py write SEED FIRST     write files and make them durable, and note what is
    power_guest.py list                 what is in those files
    power_guest.py scrub DISK SAVE_S SLACK      the tool, which notes what it has saved

The notes are in /tmp, which the host keeps: what a call that makes durable has returned for is
noted after it has returned, and what is tried before.
"""

import glob
import json
import mmap
import os
import random
import struct
import sys
import time

BLOCK = 4096
SECTOR = 512
ROOT = "/mnt/w"
NOTES = "/tmp/notes"
STATE = "/mnt/s"
# of the shared memory: mark, blocks, bytes of log; then numbers, blocks, log
HEAD = struct.Struct("<8sQQ")
MARK = b"platters"
STAMP = struct.Struct("<16sQII")     # name, generation, block, sector


# The platters

def shared():
    """The memory that is a file on the host."""
    for folder in glob.glob("/sys/bus/pci/devices/*"):
        with open(folder + "/vendor") as vendor, open(folder + "/device") as device:
            if (vendor.read(), device.read()) != ("0x1af4\n", "0x1110\n"):
                continue
        with open(folder + "/enable", "w") as enable:
            enable.write("1")
        fd = os.open(folder + "/resource2", os.O_RDWR)
        return mmap.mmap(fd, os.fstat(fd).st_size)
    raise SystemExit("no shared memory")


def whole(path):
    """A file of sysfs, which has no size."""
    with open(path, "rb") as file:
        return file.read()


def load(drive):
    """What the host says is on the platters."""
    memory = shared()
    mark, blocks, _ = HEAD.unpack_from(memory)
    if mark != MARK:
        raise SystemExit("the shared memory holds no platters")
    numbers = struct.unpack_from("<%dQ" % blocks, memory, HEAD.size)
    at = HEAD.size + 8 * blocks
    fd = os.open("/sys/kernel/mechdisk/%s/store" % drive, os.O_RDWR)
    for i, number in enumerate(numbers):
        page = memory[at + i * BLOCK:at + (i + 1) * BLOCK]
        if os.pwrite(fd, page, number * BLOCK) != BLOCK:
            raise SystemExit("block %d does not go to the platters" % number)
    os.close(fd)


def save(drive):
    """What was on them when the drive died, as the host saw it, and the log."""
    folder = "/sys/kernel/mechdisk/" + drive
    log = whole(folder + "/cut_log")
    raw = whole(folder + "/store_blocks")
    numbers = struct.unpack("<%dQ" % (len(raw) // 8), raw)
    memory = shared()
    need = HEAD.size + len(raw) + len(numbers) * BLOCK + len(log)
    if need > len(memory):
        raise SystemExit("%d bytes do not fit into the shared memory" % need)
    at = HEAD.size
    memory[at:at + len(raw)] = raw
    at += len(raw)
    fd = os.open(folder + "/store", os.O_RDONLY)
    for number in numbers:
        memory[at:at + BLOCK] = os.pread(fd, BLOCK, number * BLOCK)
        at += BLOCK
    os.close(fd)
    memory[at:at + len(log)] = log
    HEAD.pack_into(memory, 0, MARK, len(numbers), len(log))


# The writer

def note(*words):
    """A line of the notes."""
    fd = os.open(NOTES, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, (" ".join(map(str, words)) + "\n").encode())
    os.close(fd)


def content(name, generation, size):
    """The bytes of a whole file: each sector says what it is."""
    return b"".join(
        STAMP.pack(name.encode(), generation, size, sector).ljust(SECTOR,
                                                                  b"%c" % (97 + sector % 26))
        for sector in range((size + SECTOR - 1) // SECTOR))[:size]


def block_content(name, generation, block):
    """The bytes of a block of a file that is written in place."""
    return b"".join(STAMP.pack(name.encode(), generation, block, sector).ljust(SECTOR, b".")
                    for sector in range(BLOCK // SECTOR))


def sync_folder(path):
    """Make names durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


class Writer:
    """Writes files, makes most of them durable, and notes it."""

    PLACED, BLOCKS = 2, 32

    def __init__(self, seed, first):
        self.random = random.Random(seed)
        self.generation = first
        os.makedirs(ROOT, exist_ok=True)
        sync_folder(os.path.dirname(ROOT))
        self.page = mmap.mmap(-1, BLOCK)        # aligned, as O_DIRECT wants it

    def replace(self):
        """A whole file takes the place of its predecessor."""
        name, size = "f%d" % self.random.randrange(16), self.random.randrange(SECTOR, 48 << 10)
        data = content(name, self.generation, size)
        path = os.path.join(ROOT, name)
        note("try", name, self.generation, size)
        fd = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        while data:
            data = data[os.write(fd, data):]
        os.fsync(fd)
        os.close(fd)
        os.rename(path + ".new", path)
        sync_folder(ROOT)
        note("sync", name, self.generation, size)

    def place(self, flags):
        """A block is written in place: with fdatasync(), or past the page cache, where it is
        durable when the call returns, or in the drive's cache and durable with the next
        flush."""
        name = "%s%d" % ("d" if flags else "b", self.random.randrange(self.PLACED))
        path, block = os.path.join(ROOT, name), self.random.randrange(self.BLOCKS)
        if not os.path.exists(path):
            with open(path + ".new", "wb") as file:
                file.write(bytes(self.BLOCKS * BLOCK))
                file.flush()
                os.fsync(file.fileno())
            os.rename(path + ".new", path)
            sync_folder(ROOT)
        self.page[:] = block_content(name, self.generation, block)
        note("try", name, self.generation, block)
        fd = os.open(path, os.O_WRONLY | flags)
        os.pwrite(fd, self.page, block * BLOCK)
        if not flags:
            os.fdatasync(fd)
        os.close(fd)
        if flags != os.O_DIRECT:
            note("sync", name, self.generation, block)

    def run(self):
        """Until the power goes."""
        while True:
            self.generation += 1
            # The disk is idle now and then
            if not self.random.randrange(8):
                time.sleep(self.random.uniform(0.05, 0.3))
            self.random.choice((
                self.replace, lambda: self.place(0),
                lambda: self.place(os.O_DIRECT | os.O_DSYNC), lambda: self.place(os.O_DIRECT),
                lambda: self.place(os.O_DIRECT)))()


# What the files hold

def whole_generation(name, data):
    """Which content() a file has; None if it is none."""
    if len(data) < STAMP.size:
        return None
    _, generation, size, _ = STAMP.unpack_from(data)
    return generation if size == len(data) and data == content(name, generation, size) else None


def placed_generations(name, data):
    """The generation of each sector of a file that is written in place: 0: never written; None:
    neither."""
    for at in range(0, len(data), SECTOR):
        sector = data[at:at + SECTOR]
        if sector == bytes(SECTOR):
            yield 0
            continue
        generation = STAMP.unpack_from(sector)[1]
        block, number = at // BLOCK, at % BLOCK // SECTOR
        good = sector == block_content(name, generation, block)[number * SECTOR:][:SECTOR]
        yield generation if good else None


def list_files():
    """What is there, as JSON."""
    found = {}
    for name in sorted(os.listdir(ROOT)) if os.path.isdir(ROOT) else ():
        if name.endswith(".new"):
            continue
        data = whole(os.path.join(ROOT, name))
        if name[0] == "f":
            found[name] = [len(data), whole_generation(name, data)]
        else:
            found[name] = list(placed_generations(name, data))
    print(json.dumps(found))


# The tool

def keep(name, data):
    """What is claimed to be saved, whole or not at all."""
    with open("/tmp/%s.new" % name, "wb") as file:
        file.write(data)
    os.rename("/tmp/%s.new" % name, "/tmp/" + name)


def watched(function, kept):
    """A function after which something is kept."""
    def wrapper(self, *args):
        result = function(self, *args)
        kept(self)
        return result
    return wrapper


def scrub_disk(disk, save_s, slack):
    """freeblock scrub, which saves more often than it would."""
    sys.path[:0] = ["/bin/cli"]
    from freeblock import cli
    from freeblock.machine import keeper
    from freeblock.tasks import scrub_state
    keeper.SAVE_S = save_s
    scrub_state.SLACK = slack
    scrub_state.Journal.save = watched(scrub_state.Journal.save, lambda self: keep(
        "saved_coverage", bytes(self.bits)))
    os.makedirs(STATE, exist_ok=True)
    sys.exit(cli.main(["scrub", disk, "run", "--state", STATE + "/coverage", "--before", "0",
                       "--quiet"]))


def main(words):
    """One of those above."""
    if words[0] == "write":
        Writer(int(words[1]), int(words[2])).run()
    elif words[0] == "list":
        list_files()
    elif words[0] == "scrub":
        scrub_disk(words[1], float(words[2]), int(words[3]))
    else:
        {"load": load, "save": save}[words[0]](words[1])


if __name__ == "__main__":
    main(sys.argv[1:])
