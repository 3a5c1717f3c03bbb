# SPDX-License-Identifier: GPL-2.0
"""Programs in C for guests: tests/lab/NAME.c, or the example of Documentation/NAME.rst. With
"@32" behind its name a program is made for 32 bits, and called NAME32."""

import os
import re
import subprocess
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")


def examples(text):
    """The literal blocks of a document that begin with an #include, as C."""
    found = []
    for block in re.findall(r"::\n\n((?:[ \t]+[^\n]*\n|\n)+)", text):
        code = textwrap.dedent(block.expandtabs(8)).strip("\n") + "\n"
        if code.startswith("#include"):
            found.append(code)
    return found


def example(text):
    """The first of them."""
    found = examples(text)
    if not found:
        raise ValueError("no example in C")
    return found[0]


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
    width = ["-m32", "-D_FILE_OFFSET_BITS=64"] if bits else []
    done = subprocess.run(["cc", *FLAGS, *width, "-I", os.path.join(TOP, "include"), "-I", HERE,
                           "-o", "%s.%d" % (out, os.getpid()), "-x", "c", "-", "-lpthread"],
                          input=code, text=True, check=False)
    if done.returncode:
        raise SystemExit("csource: %s does not compile" % path)
    os.rename("%s.%d" % (out, os.getpid()), out)
    return out
