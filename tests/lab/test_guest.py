#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
# reads: tests/lab/* tools/* core/* include/* disk_model* fb_bitmap* Makefile Kbuild models/*
"""Can a lab run fail? Boots the stock kernel with scripts that misbehave,
and looks whether the lab says so. Prints TAP."""

import json
import os
import subprocess
import tempfile

import treetest

# name, script, exit status wanted, words that the result's problems must have
CASES = (
    ("a report in the log and a module held",
     '. /lab/lib.sh\nload_module null_blk\n'
     '( trap "" TERM HUP; exec sleep 1000 < /dev/nullb0 ) &\n'
     'echo "BUG: KASAN: use-after-free in planted+0x1/0x2" > /dev/kmsg\n'
     'ok "nothing to see"\ndone_testing\n', 125,
     ("KASAN", "null_blk cannot be removed")),
    ("a script that dies", '. /lab/lib.sh\nset -e\nok first\nfalse\nok second\ndone_testing\n',
     1, ()),
    ("a failed check", '. /lab/lib.sh\nexpect_eq sum $((1 + 1)) 3\ndone_testing\n', 1, ()),
    ("a guest that crashes", 'echo c > /proc/sysrq-trigger\n', 125, ("kernel log",)),
    ("a guest that does not end", 'while :; do :; done\n', 125, ("no end after",)),
)

with tempfile.TemporaryDirectory() as folder:
    for number, (name, text, status, words) in enumerate(CASES):
        script = os.path.join(folder, "planted.sh")
        with open(script, "w") as out:
            out.write(text)
        where = os.path.join(folder, str(number))
        done = subprocess.run([os.path.join(treetest.TOP, "tests/lab/lab"), script, "--out",
                               where, "--quiet", "--timeout",
                               "15" if "does not end" in name else "120"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              text=True)
        try:
            with open(os.path.join(where, "result.json")) as file:
                problems = " ".join(json.load(file)["problems"])
        except OSError:
            problems = "no result"
        good = done.returncode == status and all(word in problems for word in words) and \
            bool(words) == bool(problems)
        treetest.check(name, good, "status %d, problems: %s" % (done.returncode, problems[:500]))
treetest.finish()
