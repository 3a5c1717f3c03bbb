#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# needs: modules
"""`make modules KDIR=` for a kernel that nobody has tried: built if its private structures are as
we declare them, refused by name if not, or if there is nothing to compare them with. The headers
are the stock kernel's under another release, and the module is a small one. Prints TAP.

Seen to fail: build-modules without check-btf (a kernel with other structures gets a module, and so
does one that nothing is known of).
"""

import os
import shutil
import subprocess
import tempfile

import otherkernel
import treetest
from treetest import TOP, report

RELEASE = "6.13.5-other"
# What make modules takes
PARTS = ("Makefile", "include", "tools")


def checkout(folder):
    """A tree to build the module in."""
    os.mkdir(folder)
    for name in PARTS:
        source, target = os.path.join(TOP, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)
    otherkernel.small_module(folder)


def make(tree, kdir):
    """(status, whether there is a module, what was said)"""
    build = os.path.join(tree, "build")
    done = subprocess.run(["make", "--no-print-directory", "-C", tree, "modules", "KDIR=" + kdir,
                           "BUILD=" + build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    module = os.path.join(build, "kernel-" + RELEASE, "freeblock", "freeblock.ko")
    return done.returncode, os.path.exists(module), done.stdout


def refused(name, tree, kdir, *words):
    """One line of TAP: the kernel is refused, in these words, and no module is there."""
    status, module, said = make(tree, kdir)
    missing = [word for word in words if word not in said]
    report(name, [] if status and not module and not missing else
           ["status %d, %s module: %s" % (status, "a" if module else "no",
                                          " ".join(said.split())[-400:])])


def kmod(tree, kdir, *words):
    """(status, what was said) of make kmod."""
    done = subprocess.run([os.path.join(tree, "tools/build/make-kmod"), os.path.join(tree, "build"),
                           kdir, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def signed(tree, kdir):
    """A module for other hosts carries its signature; a key that is none leaves what is there.
    Seen to fail: a module that is not signed."""
    key, cert = (os.path.join(tree, name) for name in ("key.pem", "cert.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=lab",
                    "-keyout", key, "-out", cert], check=True, stderr=subprocess.DEVNULL)
    module = os.path.join(tree, "build", "kmod", RELEASE, "freeblock.ko")
    status, said = kmod(tree, kdir, key, cert)
    found = subprocess.run(["modinfo", "-F", "signer", module], text=True, check=False,
                           stdout=subprocess.PIPE).stdout
    report("make-kmod signs", [] if (status, found) == (0, "lab\n") else [said[-400:]])
    for name, words, why in (
            ("a key that is not there", (key + "2", cert), "key.pem2: cannot be read"),
            ("a key that is none", (__file__, cert), "cannot be signed with them")):
        before = os.stat(module).st_ino
        status, said = kmod(tree, kdir, *words)
        report(name, [] if status == 2 and why in said and os.stat(module).st_ino == before
               else [said[-400:]])


def main():
    stock = otherkernel.stock()
    with tempfile.TemporaryDirectory() as folder:
        tree, kdir = os.path.join(folder, "tree"), os.path.join(folder, "headers")
        checkout(tree)
        otherkernel.headers(kdir, RELEASE, stock["KDIR"])
        refused("no image of the kernel: refused, and said what was looked for", tree, kdir,
                RELEASE, kdir + "/vmlinux", "/boot/vmlinuz-" + RELEASE,
                "/lib/modules/%s/vmlinuz" % RELEASE)
        elf = otherkernel.image(stock["KIMAGE"])
        otherkernel.give_image(kdir, elf)
        status, module, said = make(tree, kdir)
        report("its structures fit: the module is built", [] if not status and module and
               "freeblock for " + RELEASE in said else [" ".join(said.split())[-400:]])
        signed(tree, kdir)
        otherkernel.give_image(kdir, elf, fits=False)
        refused("they do not fit: refused, and the module of before is gone", tree, kdir,
                "struct elevator_queue differs", "freeblock does not support " + RELEASE)
    treetest.finish()


if __name__ == "__main__":
    main()
