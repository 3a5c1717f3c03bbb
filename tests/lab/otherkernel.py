# SPDX-License-Identifier: GPL-2.0
"""Headers of a kernel that is not on this machine: those of the stock kernel under another
release, with an image of the stock kernel, or one whose private structures are others; and a
module that is compiled in no time."""

import os
import subprocess

import treetest
from treetest import TOP

CHECK_BTF = os.path.join(TOP, "tools", "build", "check-btf")
RELEASE = os.path.join("include", "generated", "utsrelease.h")
# A member of struct elevator_queue, in the strings of the image's type information
MEMBER, OTHER = b"\0elevator_data\0", b"\0elevator_dat2\0"
SMALL = """// SPDX-License-Identifier: GPL-2.0
#include "include/compat/fb_compat.h"
MODULE_LICENSE("GPL");
"""


def stock():
    """What tests/lab/kernel says of the stock kernel."""
    said = subprocess.run([os.path.join(TOP, "tests/lab/kernel"), "stock"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    return dict(line.split("=", 1) for line in said.splitlines())


def image(path):
    """The bytes of the ELF file in a kernel's image."""
    return treetest.program("tools/build/check-btf").extract_vmlinux(path)


def link_all(source, target, but):
    """A folder of links to all in another one but this."""
    os.mkdir(target)
    for name in os.listdir(source):
        if name != but:
            os.symlink(os.path.realpath(os.path.join(source, name)), os.path.join(target, name))


def headers(folder, release, kdir):
    """Makes a folder with the headers in kdir under another release, without an image."""
    place = ""
    for name in RELEASE.split("/"):
        link_all(os.path.join(kdir, place), os.path.join(folder, place), name)
        place = os.path.join(place, name)
    with open(os.path.join(folder, RELEASE), "w", encoding="ascii") as file:
        file.write('#define UTS_RELEASE "%s"\n' % release)


def give_image(folder, elf, fits=True):
    """Puts an image beside headers. One that does not fit has a struct elevator_queue of its
    own."""
    with open(os.path.join(folder, "vmlinux"), "wb") as file:
        file.write(elf if fits else elf.replace(MEMBER, OTHER))


def small_module(folder, spoilt=False):
    """Makes freeblock.ko one of a single file, in a copy of its sources. It may be spoilt."""
    with open(os.path.join(folder, "Kbuild"), "w", encoding="ascii") as file:
        file.write("obj-m := freeblock.o\nfreeblock-y := small.o\nccflags-y := -I$(src)\n")
    with open(os.path.join(folder, "small.c"), "w", encoding="ascii") as file:
        file.write(SMALL + "spoilt;\n" * spoilt)
