# SPDX-License-Identifier: GPL-2.0
"""Python and tools/freeblock for a guest, no more of them than its subcommands import.

Modules are compiled here: a guest whose instructions are counted would take seconds.
"""

import os
import py_compile
import subprocess
import tempfile

PYTHON = "/usr/bin/python3"
TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "tools")
# what starting and running use beyond imports; libraries of modules that have a fallback
# in the interpreter stay out
ALSO = ("encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_8",
        "inspect", "site", "_sitebuiltins")
FIND = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
for name, module in sorted(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path and path.endswith(".py"):
        print(path)
"""


def _compiled(source):
    with tempfile.TemporaryDirectory() as folder:
        path = py_compile.compile(source, os.path.join(folder, "out"), dfile=source, doraise=True,
                                  invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        with open(path, "rb") as file:
            return file.read()


def add(cpio, commands):
    """Put the interpreter, and /bin/freeblock with these subcommands, into an archive."""
    names = ["fbtools.cli"] + ["fbtools." + name for name in commands]
    found = subprocess.run([PYTHON, "-I", "-S", "-c", FIND, TOOLS, *names, *ALSO], check=True,
                           text=True, stdout=subprocess.PIPE).stdout.splitlines()
    for source in found:
        if source.startswith(TOOLS):
            target = "bin/" + os.path.relpath(source, TOOLS)
        else:
            target = "lib/" + os.path.relpath(source, "/usr/lib")
        cpio.data(target + "c", _compiled(source))
    # by which the interpreter knows its place
    cpio.directory("lib/python3.11/lib-dynload")
    cpio.program(PYTHON)
    cpio.file("bin/freeblock", os.path.join(TOOLS, "freeblock"), 0o755)
