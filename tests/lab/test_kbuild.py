#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""Kbuild refuses a 32-bit kernel, says why, and lets others and "make clean" pass. Prints TAP.

Seen to fail: Kbuild without the check (the 32-bit kernel is accepted, and its module does not
link: 64-bit divisions); with a check of CONFIG_64BIT alone (clean)."""

import os
import shutil
import subprocess
import tempfile

import otherkernel
import treetest
from treetest import TOP, report



def main():
    kdir = otherkernel.stock()["KDIR"]
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
            report(name, [] if good else [done.stdout[-300:]])
    treetest.finish()


main()
