# SPDX-License-Identifier: GPL-2.0
"""Tests of libfreeblock as it is built and installed: what it exports and needs, its header in
C and C++, the documented example, its manual, which is made of the header. What it does is tested
in tests/unit/lib. Takes some seconds.

Seen to fail: a function that the map lacks; one without a page of the manual; a header that
uses a C name of C++.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import csource
import taptest
from test_background import expected

LIB = os.path.join(taptest.TOP, "tools", "lib")
HEADER = os.path.join(LIB, "freeblock", "freeblock.h")
BUILT = os.path.join(taptest.BUILD, "lib")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")


def setUpModule():
    """The library, and the made-up module."""
    taptest.build_library()


def run(*command, **environment):
    """Output and errors of a command that must succeed."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **environment}, check=False)
    if done.returncode:
        raise AssertionError("%s: %s" % (" ".join(command), done.stdout))
    return done.stdout


def read(path):
    """A file's text."""
    with open(path, encoding="utf-8") as file:
        return file.read()


class Case(unittest.TestCase):
    """With a folder of its own."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def path(self, name, text=None):
        """A file there, written if there is a text."""
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path


class Library(Case):
    """The binary interface."""

    def test_symbols(self):
        """Exported is what the header declares, with a version, and nothing else."""
        declared = set(re.findall(r"^(?:struct |const |int |long |void )[^;{]*?\b(fb_\w+)\(",
                                  read(HEADER), re.M))
        self.assertGreater(len(declared), 15)
        out = run("nm", "-D", "--defined-only", os.path.join(BUILT, "libfreeblock.so"))
        exported = {line.split()[2] for line in out.splitlines() if " A " not in line}
        self.assertEqual(exported, {name + "@@FREEBLOCK_1" for name in declared})
        archive = run("nm", "--defined-only", "-g", os.path.join(BUILT, "libfreeblock.a"))
        names = set(re.findall(r" [A-Z] (\S+)$", archive, re.M))
        self.assertEqual({name for name in names - declared
                          if not name.startswith(("fb_library_", "fb_records_"))}, set())

    def test_needs(self):
        """The C library only; the name that programs look for."""
        out = run("readelf", "-d", os.path.join(BUILT, "libfreeblock.so"))
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", out)) - {"ld-linux-x86-64.so.2"}
        self.assertEqual(needed, {"libc.so.6"})
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.*)\]", out), ["libfreeblock.so.1"])

    def test_sizes(self):
        """The first version's structures have the sizes for ever that programs compiled in."""
        code = read(HEADER) + "_Static_assert(sizeof(struct fb_options) >= 48 && sizeof(struct " \
            "fb_task_progress) >= 64 && sizeof(struct fb_range) == 24, \"first version\");\n"
        run("cc", "-std=c11", "-fsyntax-only", self.path("sizes.c", code))

    def test_header(self):
        """Alone, in C and C++, by the compilers that are here, without warnings."""
        tried = 0
        for compiler, standards in (("gcc", ("c99", "c11")), ("clang", ("c99",)),
                                    ("g++", ("c++11", "c++17")), ("clang++", ("c++11",))):
            for standard in standards if shutil.which(compiler) else ():
                name = "alone" + (".cpp" if "++" in standard else ".c")
                source = self.path(name, "#include <freeblock/freeblock.h>\n"
                                   "int main(void) { fb_close(fb_open(\"/dev/sda\", NULL)); "
                                   "return FB_REST == 0; }\n")
                run(compiler, "-std=" + standard, *STRICT, "-I", LIB, source, "-o",
                    self.path("alone"), os.path.join(BUILT, "libfreeblock.a"), "-lpthread")
                tried += 1
        self.assertGreaterEqual(tried, 2)


class Installed(Case):
    """make install-lib, and the documented example built with what it installs."""

    def setUp(self):
        super().setUp()
        # another build folder: freeblock.pc is of this installation
        run("make", "-s", "-C", LIB, "install", "BUILD=" + self.path("build"),
            "DESTDIR=" + self.path("root"), "PREFIX=/opt/x")
        self.root = self.path("root/opt/x")

    def flags(self):
        """What pkg-config says of it."""
        if not shutil.which("pkg-config"):
            return ["-I" + self.root + "/include", "-L" + self.root + "/lib", "-lfreeblock"]
        return run("pkg-config", "--cflags", "--libs", "freeblock",
                   PKG_CONFIG_LIBDIR=self.root + "/lib/pkgconfig",
                   PKG_CONFIG_SYSROOT_DIR=self.path("root")).split()

    def test_example(self):
        """It copies, stopped and begun again; the Python example goes on with its file."""
        source = self.path("copy.c", csource.source("libfreeblock.rst")[1])
        run("cc", "-std=gnu11", *STRICT, source, "-o", self.path("copy"), *self.flags())
        fake = taptest.build_library()
        words = ["/dev/zero", self.path("out"), self.path("coverage")]
        environment = dict(os.environ, LD_PRELOAD=fake, FAKE_START="99", FAKE_STOP_AFTER="70",
                           LD_LIBRARY_PATH=self.root + "/lib",
                           PYTHONPATH=os.path.join(taptest.TOP, "tools", "cli"))
        first = subprocess.run([self.path("copy"), *words], env=environment, text=True,
                               capture_output=True, check=False)
        self.assertEqual((first.returncode, first.stderr),
                         (1, "records: stopped before all was delivered\n"))
        for other in ([self.path("copy")], [sys.executable, "-c",
                                            csource.script("libfreeblock.rst")]):
            for name in ("out", "coverage"):
                shutil.copy(self.path(name), self.path(name + "2"))
            done = subprocess.run([*other, words[0], words[1] + "2", words[2] + "2"], text=True,
                                  env=environment, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(self.path("out2"), "rb") as file:
                self.assertEqual(file.read(), expected(1000, 99))

    def test_manual(self):
        """Each function has a page, by its name; none has warnings."""
        pages = glob.glob(os.path.join(self.root, "share/man/man3/*.3"))
        declared = set(re.findall(r"\b(fb_\w+);", read(os.path.join(LIB, "freeblock.map"))))
        self.assertEqual({os.path.basename(page)[:-2] for page in pages},
                         declared | {"libfreeblock"})
        for page in pages:
            text = read(page)
            name = os.path.basename(page)[:-2]
            if name != "libfreeblock":
                self.assertRegex(text, r"(?s)\.Sh SYNOPSIS.*\.Fo %s\b.*\.Sh (DESCR|RETURN)" % name)
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        run("mandoc", "-T", "lint", "-W", "warning", *pages)
