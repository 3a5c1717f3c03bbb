# SPDX-License-Identifier: GPL-2.0
"""What mode pages were before an extraction changed them, on stable storage.

A file for each disk, in a directory that outlives a boot. It is complete and on the disk
before the first change (written beside, flushed, renamed, and the directory flushed), and goes
when all is put back. A lock, which ends with its process, however that ends, says that
somebody is at it.
"""

import datetime
import fcntl
import json
import os
import zlib

from .. import ToolError
from ..base import jsontext
from ..base.safe_file import make_directory, sync_directory, write_file

DIRECTORY = "/var/lib/freeblock/modes"
ENDING = ".json"
FORMAT = 1
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Busy(ToolError):
    """Another process changes, or puts back, this disk's modes."""


def boot_id():
    """Which boot this is; "" if the system does not say."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class Spoiled(ToolError):
    """A file that was not written whole, or that somebody edited."""


def _check(content):
    return "%08x" % zlib.crc32(json.dumps(content, sort_keys=True).encode())


def write_sealed(path, version, content):
    """Replace a file by this object, with its checksum."""
    content = {"format": version, **content}
    write_file(path, json.dumps({**content, "check": _check(content)}, indent=1,
                                sort_keys=True).encode() + b"\n")


def read_sealed(path, version):
    """What was written; None if there is none. Spoiled if it is not that; ToolError if it is of
    another version."""
    try:
        with open(path, "rb") as file:
            content = jsontext.parse(file.read())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Spoiled("%s: not a journal: %s" % (path, error)) from error
    check = content.pop("check", None) if isinstance(content, dict) else None
    if check is None or check != _check(content):
        raise Spoiled("%s: its checksum is wrong: it is not used" % path)
    if content.pop("format", None) != version:
        raise ToolError("%s: of a version that this tool does not know" % path)
    return content


class Journal:
    """A disk's file."""

    def __init__(self, directory, name):
        self.directory = directory
        self.name = name
        self.path = os.path.join(directory, name + ENDING)
        self._lock = None

    def lock(self):
        """Keep others away from this disk. Busy if there is one."""
        make_directory(self.directory)
        path = os.path.join(self.directory, self.name + ".lock")
        while True:
            # pylint: disable-next=consider-using-with
            lock = open(path, "a+", encoding="ascii")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # its owner may have removed the name between our open and our lock
                if os.path.exists(path) and os.path.samestat(os.fstat(lock.fileno()),
                                                             os.stat(path)):
                    break
            except BlockingIOError:
                lock.seek(0)
                who = lock.read().strip() or "unknown"
                lock.close()
                raise Busy("process %s works on this disk (lock %s): wait for it, or end it: it "
                           "puts the disk's modes back" % (who, path)) from None
            except FileNotFoundError:
                pass
            lock.close()
        lock.truncate(0)
        lock.write("%d\n" % os.getpid())
        lock.flush()
        self._lock = lock

    def unlock(self):
        """Let others. The name goes before the lock does, so that nobody holds another one."""
        if self._lock:
            os.unlink(self._lock.name)
            self._lock.close()
            self._lock = None

    def write(self, identity, device, pages):
        """`pages`: {code: (bytes before the change, mask of what may be changed)}."""
        write_sealed(self.path, FORMAT, {
            "identity": identity, "device": device, "boot_id": boot_id(),
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "pid": os.getpid(),
            "pages": {"%02x" % code: {"before": before.hex(), "mask": mask.hex()}
                      for code, (before, mask) in pages.items()}})

    def read(self):
        """What was written, pages as above; None if there is none. ToolError if it is spoiled."""
        content = read_sealed(self.path, FORMAT)
        if content is None:
            return None
        content["pages"] = {int(code, 16): (bytes.fromhex(page["before"]),
                                            bytes.fromhex(page["mask"]))
                            for code, page in content["pages"].items()}
        return content

    def remove(self):
        """All is put back."""
        if os.path.exists(self.path):
            os.unlink(self.path)
            sync_directory(self.directory)


def all_of(directory):
    """The journals in a directory."""
    if not os.path.isdir(directory):
        return []
    return [Journal(directory, name[:-len(ENDING)]) for name in sorted(os.listdir(directory))
            if name.endswith(ENDING)]
