# SPDX-License-Identifier: GPL-2.0
"""Programs for guests: tests/lab/NAME.c, or the example in C, or in Python, of
Documentation/NAME.rst. One that includes libfreeblock's header is made with its sources. With
"@32" behind its name a program is made for 32 bits, and called NAME32.
"""

import glob
import os
import re
import subprocess
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LIBRARY = os.path.join(TOP, "tools", "lib")
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")


def examples(text, begin="#include"):
    """The literal blocks of a document that begin with an #include, as C, or with something
    else."""
    found = []
    for block in re.findall(r"::\n\n((?:[ \t]+[^\n]*\n|\n)+)", text):
        code = textwrap.dedent(block.expandtabs(8)).strip("\n") + "\n"
        if code.startswith(begin):
            found.append(code)
    return found


def example(text, begin="#include"):
    """The first of them."""
    found = examples(text, begin)
    if not found:
        raise ValueError("no example that begins with %s" % begin)
    return found[0]


def script(name):
    """The example in Python of Documentation/NAME."""
    with open(os.path.join(TOP, "Documentation", name)) as file:
        return example(file.read(), "import ")


def source(name):
    """(a file's path, the C in it)"""
    if name.endswith(".rst"):
        path = os.path.join(TOP, "Documentation", name)
        with open(path) as file:
            return path, example(file.read())
    path = os.path.join(HERE, name)
    with open(path) as file:
        return path, file.read()


def compile_static(name, folder):
    """The program made of `name` (user-device.rst -> folder/user-device), its path."""
    name, _, bits = name.partition("@")
    path, code = source(name)
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, name.rpartition(".")[0] + bits)
    # gcc-multilib, which would have asm/ elsewhere, cannot stand beside a cross compiler
    width = ["-m32", "-D_FILE_OFFSET_BITS=64", "-idirafter",
             "/usr/include/x86_64-linux-gnu"] if bits else []
    library = ["-I", LIBRARY, *sorted(glob.glob(os.path.join(LIBRARY, "*.c")))] \
        if "<freeblock/freeblock.h>" in code else []
    done = subprocess.run(["cc", *FLAGS, *width, "-I", os.path.join(TOP, "include"), "-I", HERE,
                           *library,
                           "-o", "%s.%d" % (out, os.getpid()), "-x", "c", "-", "-lpthread"],
                          input=code, text=True, check=False)
    if done.returncode:
        raise SystemExit("csource: %s does not compile" % path)
    os.rename("%s.%d" % (out, os.getpid()), out)
    return out
