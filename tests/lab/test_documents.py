#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Are the documents the code's? Each file in sysfs and debugfs, and each parameter of the
module, has an entry in Documentation/ABI, and each entry a file; each key of the files of
keys and values is told there. The examples of api.rst are short and are modules. The index
names each document. The files and functions that documents name are there. Ten seconds.
Prints TAP.

Seen to fail: the entry of idle_max_us left out; an entry of a file that there is not; the
key idle_reads not told; an example that calls no function, or one that is not exported, with
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
sys.path.insert(0, HERE)

import csource  # noqa: E402
import treetest  # noqa: E402
from treetest import read, report  # noqa: E402

ABI = "Documentation/ABI/testing/sysfs-block-freeblock"
EXAMPLE_LINES = 60
DISK = "/sys/kernel/freeblock/<disk>/"
SCHED = "/sys/block/<disk>/queue/iosched/"
DEBUG = "/sys/kernel/debug/freeblock/<disk>/"
PARAMETER = "/sys/module/freeblock/parameters/"


def sources():
    """The module's sources, one after the other."""
    return "\n".join(read(path) for folder in (".", "core", "disk", "sched", "tasks")
                     for path in sorted(glob.glob(os.path.join(TOP, folder, "*.c"))))


def files_made(text):
    """What the module makes, by the macros that define files."""
    text = re.sub(r"^#define (?:.*\\\n)*.*\n", "", text, flags=re.M)
    table = re.search(r"fb_tunables_attrs\[\] = \{(.*?)\n\};", text, re.S).group(1)
    attribute = r"__ATTR(?:_RO|_RW|_WO)?\((\w+)[,)]"
    made = {SCHED + name for name in re.findall(attribute, table)}
    rest = text.replace(table, "")
    of_disk = re.findall(attribute, rest) + \
        re.findall(r"^(?:static BIN_ATTR\w*|FB_SYSFS_\w+)\((\w+),", rest, re.M)
    made |= {DISK + name for name in of_disk}
    made |= {DEBUG + name for name in re.findall(r'debugfs_create_file\("(\w+)"', rest)}
    return made | {PARAMETER + name for name in re.findall(r"^module_param\((\w+),", rest, re.M)}


def files_told():
    """What there is an entry for."""
    return {what for what in re.findall(r"^What:\s+(\S+)$", read(ABI), re.M) if what != DISK}


def keys_made(text):
    """The keys of lines "key value" in what sysfs_emit() and its like are given."""
    found = set()
    for call in re.findall(r"sysfs_emit(?:_at)?\([^;]*;", text):
        for string in re.findall(r'"((?:[^"\\]|\\.)*)"', call):
            found |= set(re.findall(r"(?:^|\\n)([a-z]\w+)(?= %)", string))
    return found


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
    made, told = files_made(text), files_told()
    report("each file has an entry", sorted(made - told))
    report("each entry has a file", sorted(told - made))
    words = set(re.findall(r"\w+", read(ABI)))
    report("each key is told", sorted(keys_made(text) - words))
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
    for path in ["README.md"] + sorted(glob.glob("Documentation/*.rst", root_dir=TOP)):
        report("%s names what is there" % path, names_missing(read(path), words))
    check_examples()
    treetest.finish()


if __name__ == "__main__":
    main()
