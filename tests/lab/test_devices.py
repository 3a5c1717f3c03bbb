#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Words of "# lab-devices:", the order in which drivers are loaded, and how `make controllers`
counts what their scripts say. Prints TAP.

Seen to fail: a missed check counted as passed; modules in the order of their names (libahci behind
ahci).
"""

import importlib.machinery
import importlib.util
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import devices  # noqa: E402
import initramfs  # noqa: E402
import treetest  # noqa: E402
from treetest import TOP, report  # noqa: E402

_loader = importlib.machinery.SourceFileLoader("controllers",
                                               os.path.join(TOP, "tests", "controllers"))
controllers = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("controllers", _loader))
_loader.exec_module(controllers)

DEPENDS = {"ahci": ["libahci", "libata"], "libahci": ["libata"], "libata": ["scsi_mod"],
           "scsi_mod": []}
SAID = """\
ok ahci: scan: ends
not ok ahci: scan: blocks read - got '1', want '2'
not ok ahci: scan: failed: reads - got '3', want '1' # MISSED it reads again
ok uas: attach: takes it
ok unload freeblock
1..5
"""


def refused(word):
    """What is said of it; nothing: it is taken."""
    try:
        devices.Disk(word)
    except ValueError as error:
        return str(error)
    return ""


def equal(name, got, want):
    """A line of TAP."""
    report(name, [] if got == want else ["got %r, want %r" % (got, want)])


def main():
    for word, part in (("floppy", "no controller 'floppy'"), ("nvme:bad=x", "'bad=x' in"),
                       ("nvme:kind=odd", "'kind=odd' in"), ("nvme:name=n", "'name=n' in")):
        report("%s: refused" % word, [] if part in refused(word) else [refused(word) or "taken"])
    disk = devices.Disk("megasas:mib=3,bad=4803,kind=other")
    file = disk.node("d", "/f")["file"]
    equal("a bad sector", (disk.mib, file["driver"], file["inject-error"][0]["sector"],
                           file["inject-error"][0]["errno"]), (3, "blkdebug", 4803, 5))
    equal("none", devices.Disk("nvme").node("d", "/f")["file"]["driver"], "file")
    equal("what a driver needs comes first", initramfs.load_order(DEPENDS, ["ahci", "built-in"]),
          ["scsi_mod", "libata", "libahci", "ahci"])
    equal("how it is counted", controllers.cells({"problems": ["kernel log: Oops (line 3)\nmore"]},
                                                 SAID),
          {("ahci", "scan"): [1, 2], ("uas", "attach"): [1, 0], ("-", "run"): [1, 1]})
    treetest.finish()


if __name__ == "__main__":
    main()
