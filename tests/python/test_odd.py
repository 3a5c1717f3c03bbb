# SPDX-License-Identifier: GPL-2.0
"""Whatever a file of the module or of the system says, a command that reads it ends with a
result or an error in words: each file that the ABI names, with each of some odd values. Takes
ten seconds.

Seen to fail: words where a number is expected, taken for numbers, by each command; a file that
is missing; the counters' differences; the size of a disk that is going away.
"""

import io
import contextlib
import itertools
import os
import re
from unittest import mock

import fakedisk
import fakemachine
from taptest import TOP
from freeblock import cli
from freeblock.commands import status

ABI = os.path.join(TOP, "Documentation", "ABI", "testing")
ODD = ("-8", "none", "", "9" * 40, "1.5", "a b\xe9", "0", None)
# where something else is expected than a number
USUAL = {"id": "naa.sda", "granule_bytes": 65536, "sectors": 8000000, "scan": "running",
         "scrub": "running", "idle_wait_us": "auto", "idle_size_kib": "auto",
         "model_status": "loaded: 7 bytes, 'ACME' 'D'", "state/attached": 1, "state/model": 1,
         "state/scheduling": "yes", "state/free_reads": "on", "state/idle": "waiting",
         "scrub_stats/blocks_total": 100, "scrub_stats/deadline": 2000000000,
         "scrub_stats/order": "near", "scan_stats/order": "near"}
SYSTEM = ("sys/devices/sda/stat", "sys/devices/sda/size", "sys/devices/sda/queue/scheduler",
          "sys/devices/sda/queue/write_cache", fakedisk.DEBUG + "sda/tasks",
          fakedisk.DEBUG + "sda/bad_blocks")
LOOKS = (("status", "--json"), ("status",), ("status", "--check"), ("top", "--once"), ("metrics",),
         ("scrub", "sda", "status"))


def files():
    """Those of a disk that the ABI has, and debugfs' numbers."""
    found = set()
    what = r"^What:\s+/sys/kernel/freeblock/<disk>/(\S+)$"
    for name, pattern in (("sysfs-kernel-freeblock", what),
                          ("sysfs-kernel-freeblock-state", what),
                          ("debugfs-freeblock", r"^\t\t((?:state|stats|scan_stats)/\w+)\t")):
        with open(os.path.join(ABI, name), encoding="utf-8") as file:
            found.update(re.findall(pattern, file.read(), re.M))
    return sorted(found | {name.replace("scan", "scrub") for name in found if "scan_stats" in name})


def run(words):
    """A command's status; its error, if it ends by one that nobody has caught."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            return cli.main(list(words))
        except Exception as error:
            return "%s: %s" % (type(error).__name__, error)


@contextlib.contextmanager
def saying(root, name, value):
    """A file, or a number, says this; None: it is not there."""
    path = os.path.join(root, fakedisk.DEBUG + "sda/numbers" if fakedisk.is_number(name) else name)
    before = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            before = file.read()
    if fakedisk.is_number(name):
        fakedisk.set_number(root, name, value)
    elif value is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(value + "\n" if value else "")
    elif before is not None:
        os.unlink(path)
    yield
    if before is not None:
        with open(path, "wb") as file:
            file.write(before)
    elif os.path.exists(path):
        os.unlink(path)


class Looks(fakedisk.Case):
    """Commands that only look at a disk."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000000, 65536)
        self.tree.values(fakedisk.KERNEL + "sda", {name: USUAL.get(name, 5) for name in files()})
        self.tree.write(fakedisk.DEBUG + "sda/tasks", "3 my scan running 4 62500 200 2 128")
        clock = itertools.count(100)
        self.patch(mock.patch("time.sleep"),
                   mock.patch.object(status.time, "monotonic", lambda: next(clock)))

    def test_values(self):
        """One file after the other."""
        self.assertGreater(len(files()), 100)
        wrong = []
        for name in [fakedisk.KERNEL + "sda/" + name for name in files()] + list(SYSTEM):
            for value in ODD:
                with saying(self.tree.root, name, value):
                    wrong += ["%s=%s: %s: %s" % (name, value, " ".join(words), said)
                              for words in LOOKS for said in [run(words)]
                              if not isinstance(said, int)]
        self.assertEqual(wrong[:5], [], len(wrong))


class Changes(fakemachine.Case):
    """Commands that set a disk up."""

    def test_values(self):
        """What sysfs and procfs say, and what somebody left in our files."""
        commands = (("setup", "/dev/sda", "--model", self.file, "--observe", "0"),
                    ("models", "list"), ("conf", "due"), ("off", "--all"))
        wrong = []
        for name in ("sys/block/sda/size", "sys/block/sda/device/vpd_pg80",
                     "sys/block/sda/queue/scheduler", "proc/sys/kernel/tainted",
                     "sys/block/sda/queue/iosched/target_slowdown_ppm",
                     "etc/udev/rules.d/90-freeblock.rules"):
            for value in ODD:
                os.makedirs(os.path.dirname(os.path.join(self.machine.root, name)), exist_ok=True)
                with saying(self.machine.root, name, value):
                    wrong += ["%s=%s: %s: %s" % (name, value, " ".join(words), said)
                              for words in commands for said in [run(words)]
                              if not isinstance(said, int)]
                run(("off", "--all"))
        self.assertEqual(wrong[:5], [], len(wrong))
