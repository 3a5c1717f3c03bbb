#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules modules-others
# reads: tools/* include/* tests/lab/kernel Kbuild Makefile
"""Can tools/check-btf fail? Our header as it is must fit the stock kernel, and
those of other series; with one declaration spoilt it must not, and the spoilt
one must be named. Prints TAP."""

import os
import re
import subprocess
import tempfile

import treetest
from treetest import TOP, check

HEADER = os.path.join(TOP, "include", "compat", "fb_elevator.h")

# name, what to replace (regular expression), by what, what the report must name
PLANTED = (
    ("two members of the ops swapped",
     r"(\tvoid \(\*prepare_request\).*?;\n)(\tvoid \(\*finish_request\).*?;\n)", r"\2\1",
     "finish_request"),
    ("two members of the same type swapped by name",
     r"(\*elevator_name;\n)(\tconst char )(\*elevator_alias;\n)", r"\3\2\1", "elevator_alias"),
    ("a member left out", r"\tsize_t icq_align;\n", "", "icq_align"),
    ("an argument of another type",
     r"(\(\*insert_requests\).*?)FB_ELV_INSERT_T flags", r"\1unsigned int flags",
     "insert_requests"),
    ("an argument missing", r"(\(\*completed_request\)\(struct request \*rq), u64 now", r"\1",
     "completed_request"),
    ("a bit field grown", r"registered:1", "registered:2", "registered"),
    ("an array of another length", r"#define ELV_HASH_BITS 6", "#define ELV_HASH_BITS 7", "hash"),
    ("enumerators swapped", r"(ELEVATOR_FRONT_MERGE\s*= )1(,.*?ELEVATOR_BACK_MERGE\s*= )2",
     r"\g<1>2\g<2>1", "ELEVATOR_FRONT_MERGE"),
    ("a function's argument", r"(void elv_rb_del\(struct )rb_root( \*root)", r"\1rb_node\2",
     "elv_rb_del"),
    ("a function the kernel lacks", r"\n#endif /\* FB_COMPAT_ELEVATOR_H \*/",
     "\nvoid elv_no_such(struct request *rq);\n#endif", "elv_no_such"),
)
# series, and one of these for what it has of its own
OTHERS = (
    ("6.12", ("flags left out", r"\tunsigned long flags;\n", "", "flags")),
    ("7.x", ("tags left out", r"\tstruct elevator_tags \*et;\n", "", "et")),
)
NO_KERNEL = 3


def find_kernel(kind):
    """What tests/lab/kernel says; None if Debian has none any more."""
    done = subprocess.run([os.path.join(TOP, "tests/lab/kernel"), kind], text=True, check=False,
                          stdout=subprocess.PIPE)
    if done.returncode == NO_KERNEL:
        return None
    done.check_returncode()
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def check_btf(kernel, header, out):
    done = subprocess.run([os.path.join(TOP, "tools", "check-btf"), "--kdir", kernel["KDIR"],
                           "--image", kernel["KIMAGE"], "--header", header, "--out", out,
                           "--root", kernel.get("KROOT", "")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.returncode, done.stdout


def main():
    with open(HEADER) as file:
        good = file.read()
    with tempfile.TemporaryDirectory() as folder:
        header = os.path.join(folder, "fb_elevator.h")
        out = os.path.join(folder, "out")
        for kind, planted in (("stock", PLANTED), *((k, (p,)) for k, p in OTHERS)):
            kernel = find_kernel(kind)
            if not kernel:
                check("the header fits the %s kernel # SKIP no such kernel" % kind, True, "")
                continue
            code, text = check_btf(kernel, HEADER, out)
            check("the header fits the %s kernel" % kind, code == 0, text)
            for name, old, new, names in planted:
                spoilt, places = re.subn(old, new, good, flags=re.S, count=1)
                if not places or spoilt == good:
                    check("planted: " + name, False, "the header has no such place any more")
                    continue
                with open(header, "w") as file:
                    file.write(spoilt)
                code, text = check_btf(kernel, header, out)
                check("planted: " + name, code == 1 and names in text, text)
    treetest.finish()


main()
