#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Kernels that the lab builds: what is taken from the cache, what is said when Debian is out of
reach, that one which lacks what it is for is not built, and that what is kept for a guest of one
is not another's. Nothing is compiled, and nothing downloaded. Prints TAP.

Seen to fail: kernel-fetch that looks for a kernel where a source is meant; sort without -V (9.9
after 9.10); origin() that goes on without a source (status 2); options that did not take effect
only noted (the build goes on); rt's recipe without rt.config (the debug kernel's folder); kept()
that takes each file whose name begins with the release for an old one."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT_OF_REACH = 3
# What stands for a kernel's source: its configuration is what is asked for, but for KASAN
MAKEFILE = """all:
tinyconfig:
\ttouch .config
olddefconfig:
\tsed -i '/CONFIG_KASAN=/d' .config
"""
MERGE = "#!/bin/sh\nshift\ncat \"$@\" > .new && mv .new .config\n"

count = failed = 0


def check(name, good, reason=""):
    global count, failed
    count += 1
    failed += not good
    print("ok " + name if good else "not ok %s - %s" % (name, reason))


def run(cache, *command):
    """(status, what it prints, what it says) of a command with this cache."""
    done = subprocess.run([os.path.join(TOP, *command[0].split("/")), *command[1:]], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, "FREEBLOCK_CACHE": cache,
                               "DEBIAN_MIRROR": "http://127.0.0.1:9"})
    return done.returncode, done.stdout, done.stderr


def put(path, text="", mode=0o644):
    """Makes a file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, mode)


def source(cache, version):
    """Puts a source into the cache."""
    folder = os.path.join(cache, "source-7.x-" + version)
    put(os.path.join(folder, "tree", "Makefile"), MAKEFILE)
    put(os.path.join(folder, "tree", "scripts", "kconfig", "merge_config.sh"), MERGE, 0o755)
    with tarfile.open(os.path.join(folder, "linux.tar.xz"), "w:xz") as archive:
        archive.add(os.path.join(folder, "tree"), "linux")
    put(os.path.join(folder, "complete"))
    return os.path.join(folder, "linux.tar.xz")


def test_out_of_reach(cache):
    status, printed, said = run(cache, "tests/lab/kernel", "rt")
    check("a source that is out of reach: status 3, and why",
          status == OUT_OF_REACH and not printed and "cannot be reached" in said,
          (status, printed, said))


def test_cache(cache):
    put(os.path.join(cache, "kernel-7.x-9.99", "complete"))
    source(cache, "9.9-1")
    newest = source(cache, "9.10-1")
    put(os.path.join(cache, "source-7.x-9.11-1", "linux.tar.xz"))
    found = run(cache, "tools/kernel-fetch", "--source", "7.x")
    check("the newest whole source in the cache is taken, without Debian",
          found == (0, "VERSION=9.10-1\nTARBALL=%s\n" % newest, ""), found)


def folders(cache, kind):
    """Those of this kind of kernel in the cache."""
    return sorted(name for name in os.listdir(cache)
                  if name.startswith(kind + "-") and not name.endswith(".lock"))


def test_build(cache):
    for kind in ("debug-7.x", "rt"):
        status, printed, said = run(cache, "tests/lab/kernel", kind)
        check("%s: one without KASAN is none, and it says so" % kind,
              status == 1 and not printed and
              "a kernel without CONFIG_KASAN=y is not the one that is meant" in said and
              "compiling" not in said,
              (status, printed, said))
        names = folders(cache, kind)
        check("%s: its folder has the source's version in its name" % kind,
              len(names) == 1 and names[0].startswith(kind + "-9.10-1-"), names)
        tree = os.path.join(cache, names[0], "linux")
        put(os.path.join(tree, "include", "config", "kernel.release"), kind + "-release\n")
        put(os.path.join(cache, names[0], "complete"))
        status, printed, said = run(cache, "tests/lab/kernel", kind)
        check("%s: one that is whole is not built again" % kind,
              (status, said) == (0, "") and
              printed.splitlines() == ["KVER=%s-release" % kind, "KDIR=" + tree,
                                       "KIMAGE=%s/lab/bzImage" % tree, "KMODULES=%s/lab" % tree],
              (status, printed, said))
    hashes = {folders(cache, kind)[0].rsplit("-", 1)[1] for kind in ("debug-7.x", "rt")}
    check("they are not one kernel", len(hashes) == 2, hashes)


def test_kept(folder):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("lab", os.path.join(HERE, "lab"))
    lab = importlib.util.module_from_spec(importlib.util.spec_from_loader("lab", loader))
    loader.exec_module(lab)

    def keep(release, modules):
        return os.path.basename(lab.kept(
            folder, {"KVER": release, "KMODULES": modules, "KIMAGE": ""}, "base", [], put))

    before = [keep("9.9-rt", "a"), keep("9.9", "a")]
    old = keep("9.9", "b")
    after = [keep("9.9-rt", "a"), keep("9.9", "c")]
    found = sorted(os.listdir(os.path.join(folder, "lab")))
    check("what is kept replaces an old one of its own kernel only",
          found == sorted([*after, "base.lock"]) and after[0] == before[0] and old not in found,
          (before, old, found))


def main():
    with tempfile.TemporaryDirectory() as cache:
        test_out_of_reach(cache)
        test_cache(cache)
        test_build(cache)
    with tempfile.TemporaryDirectory() as folder:
        test_kept(folder)
    print("1..%d" % count)
    return 1 if failed else 0


sys.exit(main())
