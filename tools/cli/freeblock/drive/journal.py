# SPDX-License-Identifier: GPL-2.0
"""What mode pages were before an extraction changed them, on stable storage.

A file for each disk, in a directory that outlives a boot. It is complete and on the disk
before the first change (written beside, flushed, renamed, and the directory flushed), and goes
when all is put back. A lock, which ends with its process, however that ends, says that
somebody is at it.
"""

import datetime
import fcntl
import os

from .. import ToolError
from ..base import sealed
from ..base.safe_file import make_directory, sync_directory

DIRECTORY = "/var/lib/freeblock/modes"
ENDING = ".json"
FORMAT = 1


class Busy(ToolError):
    """Another process changes, or puts back, this disk's modes."""


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
        sealed.write(self.path, FORMAT, {
            "identity": identity, "device": device, "boot_id": sealed.boot_id(),
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "pid": os.getpid(),
            "pages": {"%02x" % code: {"before": before.hex(), "mask": mask.hex()}
                      for code, (before, mask) in pages.items()}})

    def read(self):
        """What was written, pages as above; None if there is none. ToolError if it is spoiled."""
        content = sealed.read(self.path, FORMAT)
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
