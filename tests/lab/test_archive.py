#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""What a guest is given must not depend on the folder of the checkout: instructions are its
clock, and a path of another length is another draw of all that it measures. Prints TAP.

Seen to fail: modules and programs compiled without -ffile-prefix-map, Python without dfile.
"""

import importlib.machinery
import importlib.util
import mmap
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
_loader = importlib.machinery.SourceFileLoader("lab", os.path.join(HERE, "lab"))
lab = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab", _loader))
_loader.exec_module(lab)

# one of each way to bring a program
SCRIPTS = ("t-stream.sh", "t-sg.sh", "t-user.sh", "t-resume.sh", "t-drive-host.sh")


def main():
    build = os.environ.get("FREEBLOCK_BUILD", os.path.join(TOP, "build"))
    failed = 0
    for script in SCRIPTS:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "initrd")
            args = lab.arguments([os.path.join(HERE, script), "--build", build])
            lab.write_run_archive(path, args, lab.kernel("stock"))
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0,
                                                     access=mmap.ACCESS_READ) as data:
                found = [folder for folder in (TOP, build) if data.find(folder.encode()) >= 0]
        failed += bool(found)
        print("not ok %s - has %s in it" % (script, found) if found else "ok " + script, flush=True)
    print("1..%d" % len(SCRIPTS))
    return 1 if failed else 0


sys.exit(main())
