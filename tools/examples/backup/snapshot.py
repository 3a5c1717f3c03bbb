# SPDX-License-Identifier: GPL-2.0
"""Taking, watching and removing a persistent dm snapshot of a mounted origin.

The origin is a device "snapshot-origin" over one disk or partition, as LVM makes them; what
is written to it while it has a snapshot is first copied to the snapshot's store. It is suspended
while the snapshot begins, which freezes its file system: that is the point in time.
"""

import array
import errno
import os
import re
import stat
import subprocess
import time

from . import BackupError, cow

SYS = "/sys/dev/block"
UUID = "FREEBLOCK-BACKUP-"
# dmsetup VERB SNAPSHOT while ORIGIN is suspended: whatever becomes of the program, and of its
# terminal, ORIGIN is resumed
SUSPENDED = """
trap '' HUP INT PIPE QUIT TERM
origin=$1 verb=$2 snapshot=$3
shift 3
dmsetup suspend "$@" "$origin" && dmsetup "$verb" "$snapshot"
status=$?
dmsetup resume "$origin" || exit 9
exit $status
"""


def dmsetup(*words):
    """What dmsetup says; BackupError in its words."""
    done = _run(["dmsetup", *words])
    if done.returncode:
        raise BackupError("dmsetup %s: %s" % (words[0], _last(done.stdout)))
    return done.stdout.strip()


def _run(command, **options):
    environment = dict(os.environ, LC_ALL="C",
                       PATH=os.environ.get("PATH", "/bin") + ":/usr/sbin:/sbin")
    try:
        # a session of its own: a terminal's Ctrl-C is for the program alone
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=False, env=environment,
                              start_new_session=True, **options)
    except FileNotFoundError as error:
        raise BackupError("%s is not installed" % command[0]) from error


def _last(text):
    return (text.strip().splitlines() or ["no reason given"])[-1].strip()


def number_of(path):
    """A block device's "major:minor"."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise BackupError("%s: %s" % (path, "no such block device" if error.errno == errno.ENOENT
                                      else error.strerror)) from error
    if not stat.S_ISBLK(found.st_mode):
        raise BackupError("%s: not a block device" % path)
    return "%d:%d" % (os.major(found.st_rdev), os.minor(found.st_rdev))


def sectors_of(number):
    """A block device's length."""
    return int(_read("%s/%s/size" % (SYS, number)))


def node_of(number):
    """Its name in /dev."""
    return "/dev/" + os.path.basename(os.path.realpath("%s/%s" % (SYS, number)))


def _read(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read().strip()


class Origin:
    """A device "snapshot-origin", and the disk below it."""

    def __init__(self, name):
        self.name = name.removeprefix("/dev/mapper/")
        table = dmsetup("table", "--", self.name).split()
        if len(table) != 4 or table[0] != "0" or table[2] != "snapshot-origin":
            raise BackupError("%s is no snapshot-origin of one device (dmsetup table says: %s); "
                              "Documentation/examples.rst says how to make one" %
                              (self.name, " ".join(table)))
        self.sectors, self.below = int(table[1]), table[3]
        self.number = number_of("/dev/mapper/" + self.name)
        self.disk = node_of(self.below)
        if os.path.basename(self.disk).startswith(("dm-", "md")):
            raise BackupError("%s lies on %s, which is no disk or partition: freeblock reads those "
                              "only" % (self.name, self.disk))
        if self.sectors != sectors_of(self.below):
            raise BackupError("%s is shorter than %s" % (self.name, self.disk))

    def check_alone(self):
        """Nobody else may write to the disk: the snapshot would not hear of it."""
        holders = "%s/%s/holders" % (SYS, self.below)
        for holder in os.listdir(holders) if os.path.isdir(holders) else ():
            name = _read("/sys/class/block/%s/dm/name" % holder) if holder.startswith("dm-") else ""
            kinds = {line.split()[2] for line in dmsetup("table", "--", name).splitlines()} \
                if name else set()
            if not kinds or not kinds <= {"snapshot", "snapshot-origin"}:
                raise BackupError("%s has %s on it, too: its writes would not be seen" %
                                  (self.disk, name or holder))
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            if any(line.split()[2] == self.below for line in mounts):
                raise BackupError("%s itself is mounted: it is to be mounted through %s" %
                                  (self.disk, self.name))

    def flush(self):
        """Have the file system write what it has, so that it has less to do when suspended."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            for line in mounts:
                words = line.split()
                if words[2] == self.number:
                    _run(["sync", "-f", re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)),
                                               words[4])])
                    return

    def check_apart(self, image):
        """While it is suspended, dmsetup is to run; and the image is not to be in the image."""
        major, minor = map(int, self.number.split(":"))
        for path, what in ((os.path.dirname(image), "the image"), ("/", "the root file system")):
            if os.stat(path).st_dev == os.makedev(major, minor):
                raise BackupError("%s is on %s" % (what, self.name))


class Snapshot:
    """A snapshot of ours: its names, what it copied, how it is."""

    def __init__(self, origin, store, token, lock):
        self.origin, self.store, self.lock = origin, store, lock
        self.name = "freeblock-backup-" + token
        self.uuid = UUID + token
        self.path = "/dev/mapper/" + self.name

    def take(self, chunk_sectors):
        """Begin: the seconds that the origin was suspended for."""
        dmsetup("create", self.name, "--uuid", self.uuid, "--notable")
        try:
            # all that takes time is done here, while the origin is in use
            self.origin.flush()
            dmsetup("load", self.name, "--table", "0 %d snapshot %s %s P %d" % (
                self.origin.sectors, self.origin.below, number_of(self.store), chunk_sectors))
            return self._suspended("resume")
        except BaseException:
            self.remove()
            raise

    def _suspended(self, verb, *options):
        """A command about the snapshot while the origin is suspended: for how many seconds. If
        this program dies meanwhile, the backup's lock is held until the origin is resumed."""
        began = time.monotonic()
        done = _run(["sh", "-c", SUSPENDED, "sh", self.origin.name, verb, self.name, *options],
                    pass_fds=[self.lock])
        if done.returncode:
            raise BackupError("%s: %s" % (self.name, _last(done.stdout)))
        return time.monotonic() - began

    def there(self):
        """Whether it exists and is ours."""
        done = _run(["dmsetup", "info", "-c", "--noheadings", "-o", "uuid", "--", self.name])
        return done.returncode == 0 and done.stdout.strip() == self.uuid

    def active(self):
        """Whether it is there, ours and has begun."""
        done = _run(["dmsetup", "table", "--", self.name])
        return done.returncode == 0 and " snapshot " in done.stdout and self.there()

    def used(self):
        """(sectors used, all sectors) of its store. BackupError if it is of no use any more."""
        said = dmsetup("status", "--", self.name)
        match = re.search(r" snapshot (\d+)/(\d+) ", said + " ")
        if not match:
            raise Invalid("the snapshot is lost (dmsetup status: %s): its store, %s, was full or "
                          "failed" % (" ".join(said.split()[3:]) or "none", self.store))
        return int(match[1]), int(match[2])

    def table(self):
        """What was copied until now, or a little later."""
        fd = os.open(self.store, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
        try:
            sectors, room = sectors_of(number_of(self.store)), Room()
            return cow.read_table(lambda at, length: room.read(fd, at, length), sectors,
                                  self.origin.sectors)
        finally:
            os.close(fd)

    def remove(self):
        """End it. The origin is resumed with it: only then does it stop splitting its writes at
        the snapshot's chunks. Its file system need not be frozen."""
        if self.active():
            self._suspended("remove", "--nolockfs")
        elif self.there():
            dmsetup("remove", "--", self.name)


class Invalid(BackupError):
    """What was written since the snapshot was taken is not known any more."""


class Room:
    """Memory for reads past the page cache, which must be aligned."""

    ALIGNED = 4096

    def __init__(self):
        self.view = memoryview(b"")

    def read(self, fd, at, length):
        """Bytes of a device, as many as there are; valid until the next call."""
        if length > len(self.view):
            room = array.array("B", bytes(length + self.ALIGNED))
            skip = -room.buffer_info()[0] % self.ALIGNED
            self.view = memoryview(room)[skip:skip + length]
        return self.view[:os.preadv(fd, [self.view[:length]], at)]


def prepare_store(path, overwrite):
    """A store must be nobody's; its first chunk is cleared, so that a new table begins."""
    number_of(path)
    try:
        fd = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise BackupError("%s: %s" % (path, error.strerror)) from error
    try:
        head = os.pread(fd, 1 << 16, 0)
        if any(head) and not overwrite and not _was_store(head):
            raise BackupError("%s is not empty; --overwrite-cow if its content may go" % path)
        os.pwrite(fd, bytes(1 << 16), 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def _was_store(head):
    return head[:4] == cow.MAGIC.to_bytes(4, "little")
