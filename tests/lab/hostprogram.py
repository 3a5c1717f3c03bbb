# SPDX-License-Identifier: GPL-2.0
"""Programs of the host that a guest gets. What would start a service that looks at the machine's
own disks is not installed, but unpacked in the cache."""

import fcntl
import glob
import os
import shutil
import subprocess
import sys

# smartmontools comes with smartd
UNPACKED = {"smartctl": "smartmontools"}


def cache():
    """Where tests/lab/kernel keeps what it has fetched, too."""
    return os.environ.get("FREEBLOCK_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "freeblock")


def _unpack(package, keep):
    os.makedirs(keep, exist_ok=True)
    with open(os.path.join(keep, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(keep, "usr")):
            print("lab: fetching %s into %s (unpacked, not installed)" % (package, keep),
                  file=sys.stderr)
            subprocess.run(["apt-get", "-q", "download", package], cwd=keep, stdout=sys.stderr,
                           check=True)
            for file in glob.glob(os.path.join(keep, "*.deb")):
                subprocess.run(["dpkg", "-x", file, keep], check=True)
                os.remove(file)


def path(name):
    """A program's file; ends the lab if there is none."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin")
    if not found and name in UNPACKED:
        keep = os.path.join(cache(), UNPACKED[name])
        _unpack(UNPACKED[name], keep)
        found = shutil.which(name, path=os.path.join(keep, "usr", "sbin"))
    if not found:
        sys.exit("lab: no program %s: run make setup" % name)
    return found
