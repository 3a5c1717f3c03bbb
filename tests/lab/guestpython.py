# SPDX-License-Identifier: GPL-2.0
"""Python and tools/freeblock for a guest, no more of them than its subcommands, and what
else is asked for, import.

Modules are compiled here: a guest whose instructions are counted would take seconds.
"""

import os
import py_compile
import subprocess
import tempfile

import initramfs

PYTHON = "/usr/bin/python3"
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(TOP, "tools")
# of Debian, such as numpy
PACKAGES = "/usr/lib/python3/dist-packages"
# what starting and running use beyond imports; libraries of modules that have a fallback
# in the interpreter stay out
ALSO = ("encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_8",
        "inspect", "locale", "site", "_sitebuiltins")
FIND = """
import importlib, sys
sys.path[:0] = [sys.argv[1] + "/tools/cli", sys.argv[1]]
sys.path.append("%s")
for name in sys.argv[2:]:
    importlib.import_module(name)
for name, module in sorted(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path:
        print(path)
""" % PACKAGES
# libraries without which a module that imports them fails
NO_FALLBACK = ("_bz2", "_contextvars", "_ctypes", "_curses", "_decimal", "_lzma",
               "_multiprocessing", "mmap")
# Debian's plain variants of libraries whose default may be forty times as large
PLAIN = {"libblas.so.3": "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
         "liblapack.so.3": "/usr/lib/x86_64-linux-gnu/lapack/liblapack.so.3"}


def _compiled(source, name):
    """Its code, which knows itself by the guest's `name`: the checkout's would be of another
    length in another folder, and so would the guest's instructions be others."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with tempfile.TemporaryDirectory() as folder:
        path = py_compile.compile(source, os.path.join(folder, "out"), dfile="/" + name,
                                  doraise=True, invalidation_mode=mode)
        with open(path, "rb") as file:
            return file.read()


def _libraries(source):
    """What a library of Python needs, plain where there is a choice: names and files."""
    found, queue = {}, [source]
    while queue:
        for path in initramfs.libraries(queue.pop()):
            name = os.path.basename(path)
            if name.startswith("libopenblas") or name in found:
                continue
            plain = PLAIN.get(name)
            found[name] = plain if plain and os.path.exists(plain) else path
            if found[name] == plain:
                queue.append(plain)
    return found


def _add_library(cpio, source):
    """A module that is a library."""
    cpio.file("lib/" + os.path.relpath(source, "/usr/lib"), source)
    for name, path in sorted(_libraries(source).items()):
        cpio.file("lib/x86_64-linux-gnu/" + name, os.path.realpath(path), 0o755)


def _wanted(path):
    """Libraries of modules that have a fallback in the interpreter stay out."""
    return path.endswith(".py") or path.startswith(PACKAGES) or \
        os.path.basename(path).partition(".")[0] in NO_FALLBACK


def _library(build):
    """libfreeblock, which background.py loads."""
    # the lock is that of tools/cli/freeblock
    subprocess.run(["flock", os.path.join(build, "tools-lib.lock"), "make", "-s",
                    "--no-print-directory", "-C", os.path.join(TOOLS, "lib"),
                    "BUILD=" + os.path.abspath(build)], check=True)
    return os.path.join(build, "lib", "libfreeblock.so")


def add(cpio, commands, modules, build):
    """Put the interpreter, /bin/freeblock with these subcommands, and further modules,
    into an archive. build: the build folder."""
    names = ["freeblock.cli"] + ["freeblock.commands." + name for name in commands] + list(modules)
    found = subprocess.run([PYTHON, "-I", "-S", "-c", FIND, TOP, *names, *ALSO], check=True,
                           text=True, stdout=subprocess.PIPE).stdout.splitlines()
    for source in filter(_wanted, found):
        if source.endswith(".so"):
            _add_library(cpio, source)
        elif source.startswith(TOP):
            name = "bin/" + os.path.relpath(source, TOOLS if source.startswith(TOOLS) else TOP)
            cpio.data(name + "c", _compiled(source, name))
        else:
            name = "lib/" + os.path.relpath(source, "/usr/lib")
            cpio.data(name + "c", _compiled(source, name))
    # by which the interpreter knows its place
    cpio.directory("lib/python3.11/lib-dynload")
    cpio.program(PYTHON)
    cpio.file("bin/freeblock", os.path.join(TOOLS, "freeblock"), 0o755)
    if os.path.join(TOOLS, "cli", "freeblock", "background.py") in found:
        cpio.file("lib/x86_64-linux-gnu/libfreeblock.so.1", _library(build), 0o755)
    if "setup" in commands:
        for name in sorted(os.listdir(os.path.join(TOOLS, "boot"))):
            cpio.file("bin/cli/freeblock/data/boot/" + name,
                      os.path.join(TOOLS, "boot", name), 0o644)
    # where an installed package has its programs in C: those that the script asks for are in /bin
    cpio.link("bin/cli/freeblock/helpers", "/bin")
