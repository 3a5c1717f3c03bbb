#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""Kbuild refuses a 32-bit kernel, says why, and lets others and "make clean" pass. Prints TAP.

Seen to fail: Kbuild without the check (the 32-bit kernel is accepted, and its module does not
link: 64-bit divisions); with a check of CONFIG_64BIT alone (clean)."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def main():
    said = subprocess.run([os.path.join(HERE, "kernel"), "stock"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    kdir = dict(line.split("=", 1) for line in said.splitlines())["KDIR"]
    failed = 0
    with tempfile.TemporaryDirectory() as tree:
        shutil.copy(os.path.join(TOP, "Kbuild"), tree)
        # -n with sources missing: Kbuild is read, nothing is compiled
        for name, words, wanted in (
                ("a 32-bit kernel is refused", ["modules", "CONFIG_64BIT="], True),
                ("a 64-bit kernel is not", ["modules"], False),
                ("nor is cleaning", ["clean"], False)):
            done = subprocess.run(["make", "-n", "-C", kdir, "M=" + tree, *words], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            refused = "freeblock needs a 64-bit kernel" in done.stdout
            good = refused == wanted and (done.returncode != 0 or not refused)
            failed += not good
            print("ok " + name if good else "not ok %s - %s" % (name, done.stdout[-300:]))
    print("1..3")
    return 1 if failed else 0


sys.exit(main())
