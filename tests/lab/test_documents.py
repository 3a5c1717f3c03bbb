#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""Are the documents the code's? (Documentation/ABI: test_abi.py.) The examples of api.rst are
short and are modules. The index names each document. The files and functions that documents
name are there. Ten seconds. Prints TAP.

Seen to fail: an example that calls no function, or one that is not exported, with
a callback of another type, of 60 lines; a document that the index does not name; a file
that has moved and a function that was renamed since a document named them.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]

import csource  # noqa: E402
import treetest  # noqa: E402
from freeblock import metrics  # noqa: E402
from treetest import read, report  # noqa: E402

EXAMPLE_LINES = 60


def sources():
    """The module's sources, one after the other."""
    return "\n".join(read(path) for folder in (".", "core", "disk", "sched", "tasks")
                     for path in sorted(glob.glob(os.path.join(TOP, folder, "*.c"))))


def names_missing(text, words):
    """Files and functions that a document names and that are not there."""
    paths = re.findall(r"(?<![\w./<-])(?:core|disk|include|models|sched|tasks|tests|tools)/"
                       r"[\w./-]*\w\.(?:[ch]|py|rst|sh)\b", text)
    names = re.findall(r"``(?:struct )?((?:fb|FB|dm|DM|freeblock|FREEBLOCK)_\w+)", text)
    return sorted({path for path in paths if not os.path.exists(os.path.join(TOP, path))} |
                  set(names) - words)


def compile_example(number, code, kernel, symbols):
    """What is wrong with a module, as a list."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(TOP, "include"), os.path.join(folder, "include"))
        with open(os.path.join(folder, "Kbuild"), "w", encoding="ascii") as file:
            file.write("obj-m := example%d.o\nccflags-y := -I$(src) -Werror\n" % number)
        with open(os.path.join(folder, "example%d.c" % number), "w", encoding="ascii") as file:
            file.write("// SPDX-License-Identifier: GPL-2.0\n" + code)
        done = subprocess.run(["make", "-C", kernel["KDIR"], "M=" + folder, "W=1",
                               "CONFIG_DEBUG_INFO_BTF_MODULES=",
                               "KBUILD_EXTRA_SYMBOLS=" + symbols, "modules"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if not done.returncode:
            return []
        return [line for line in done.stdout.splitlines() if re.match(r"ERROR:|.* error: ", line)] \
            or ["make fails"]


def check_examples():
    """The examples of api.rst, with the headers and symbols of the stock kernel's modules."""
    said = subprocess.run([os.path.join(HERE, "kernel"), "stock"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    kernel = dict(line.split("=", 1) for line in said.splitlines())
    build = os.environ.get("FREEBLOCK_BUILD") or os.path.join(TOP, "build")
    symbols = os.path.join(build, "kernel-" + kernel["KVER"], "freeblock", "Module.symvers")
    if not os.path.exists(symbols):
        report("examples of api.rst", ["no %s: make modules" % symbols])
        return
    examples = csource.examples(read("Documentation/api.rst"))
    report("api.rst has two examples", [] if len(examples) == 2 else ["%d" % len(examples)])
    for number, code in enumerate(examples, 1):
        lines = code.count("\n")
        report("example %d is short" % number,
               ["%d lines" % lines] if lines >= EXAMPLE_LINES else [])
        report("example %d is a module" % number,
               compile_example(number, code, kernel, symbols))


def main():
    """All checks."""
    text = sources()
    index = read("Documentation/index.rst")
    report("the index is complete",
           [name for name in sorted(os.listdir(os.path.join(TOP, "Documentation")))
            if name.endswith(".rst") and name != "index.rst" and "``%s``" % name not in index])
    words = set(re.findall(r"\w+", text + "".join(
        read(path) for path in glob.glob("**/*.h", root_dir=TOP, recursive=True)
        if not path.startswith("build/"))))
    words |= {os.path.splitext(os.path.basename(path))[0]
              for path in glob.glob("**/*.[ch]", root_dir=TOP, recursive=True)
              if not path.startswith("build/")}
    words |= set(metrics.names())
    # fields of the journal
    words |= set(re.findall(r"\bFREEBLOCK_\w+", read("tools/python/freeblock/machine/events.py")))
    for path in ["README.md"] + sorted(glob.glob("Documentation/*.rst", root_dir=TOP)):
        report("%s names what is there" % path, names_missing(read(path), words))
    check_examples()
    treetest.finish()


if __name__ == "__main__":
    main()
