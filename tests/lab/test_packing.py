#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does check-btf find the kernel in a bzImage, however it is packed? One is made here for
each packing that Linux 6.1 has, as its build makes them: all but gzip with the size behind the
stream (scripts/Makefile.lib). Prints TAP; two seconds.

Seen to fail: without lz4; gzip read without its last four bytes; the size left behind a stream
(lz4's program takes it for a block's); a packer's status that nobody looks at.
"""

import os
import gzip
import random
import shutil
import struct
import subprocess
import tempfile

import treetest

# packing: as scripts/Makefile.lib does it, and whether the size follows
PACKERS = {"gzip": (("gzip", "-n", "-f", "-9"), False), "bzip2": (("bzip2", "-9"), True),
           "xz": (("xz", "--check=crc32", "--x86", "--lzma2=dict=8MiB"), True),
           "lzma": (("lzma", "-9"), True), "lz4": (("lz4", "-l", "-9"), True),
           "lzop": (("lzop", "-9"), True), "zstd": (("zstd", "-19"), True),
           "none": (("cat",), False)}
SETUP_SECTORS = 3
OFFSET = 0x90                   # of the payload in the part that is not the setup's


def kernel():
    """An ELF file's bytes, more than one block of lz4's legacy frame (8 MiB)."""
    drawn = random.Random(1)
    return b"\x7fELF" + b"".join(drawn.randbytes(64) * 32 for _ in range(4500))


def image(path, payload):
    """A bzImage with this payload, by Documentation/x86/boot.rst; bytes follow it."""
    head = bytearray((SETUP_SECTORS + 1) * 512)
    head[0x1f1] = SETUP_SECTORS
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, OFFSET, len(payload))
    with open(path, "wb") as file:
        file.write(bytes(head) + b"\xcc" * OFFSET + payload + b"\xdd" * 4096)


def packed(words, with_size, data):
    """What stands in the image."""
    done = subprocess.run([*words], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout
    return done + struct.pack("<I", len(data)) if with_size else done


def refusal(module, path):
    """What it says of an image that it cannot read; "" if it reads it."""
    try:
        module.extract_vmlinux(path)
    except module.Error as error:
        return str(error)
    return ""


def arm64(module, path):
    """Its Image, plain and packed for EFI, and one without type information. Seen to fail: the
    first bytes that look like type information."""
    info = b"\x9f\xeb\x01\x00" + struct.pack("<IIIII", 24, 0, 40, 40, 20) + bytes(60)
    plain = bytearray(b"MZ" + bytes(4096))
    plain[0x38:0x3c] = b"ARM\x64"
    decoy = b"\x9f\xeb\x01\x00" + struct.pack("<IIIII", 24, 0, 40, 48, 20)
    packed_image = gzip.compress(bytes(plain) + decoy + info + bytes(99))
    head = b"MZ\0\0zimg" + struct.pack("<II", 64, len(packed_image))
    results = []
    for name, data in (("arm64's Image", bytes(plain) + decoy + info + bytes(99)),
                       ("packed for EFI", head.ljust(64, b"\0") + packed_image)):
        with open(path, "wb") as file:
            file.write(data)
        said = refusal(module, path)
        results.append((name, not said and module.extract_vmlinux(path) == info, said))
    with open(path, "wb") as file:
        file.write(bytes(plain) + decoy)
    said = refusal(module, path)
    results.append(("an Image without type information", "has no type information" in said, said))
    return results


def main():
    """All checks."""
    module, data, results = treetest.program("tools/build/check-btf"), kernel(), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vmlinuz")

        def refused(name, payload, words):
            image(path, payload)
            said = refusal(module, path)
            results.append((name, words in said, said))

        for name, (words, with_size) in PACKERS.items():
            if not shutil.which(words[0]):
                results.append(("packed with %s # SKIP no %s here" % (name, words[0]), True, ""))
                continue
            payload = packed(words, with_size, data)
            image(path, payload)
            said = refusal(module, path)
            results.append(("packed with " + name,
                            not said and module.extract_vmlinux(path) == data, said))
            # lz4's legacy frames have no checksum
            if name not in ("none", "lz4"):
                spoilt = bytearray(payload)
                spoilt[len(payload) // 2:len(payload) // 2 + 256] = bytes(256)
                refused("packed with %s, and spoilt" % name, bytes(spoilt), "it does not unpack")
            if name != "none":
                refused("packed with %s, and cut short" % name, payload[:len(payload) // 2],
                        "it does not unpack")
        image(path, data)
        os.truncate(path, os.path.getsize(path) // 2)
        said = refusal(module, path)
        results.append(("a file that is cut short", "it is cut short" in said, said))
        refused("packed by something new", b"NEWPACK1" + data[:100], "it begins with 4e 45 57")
        results += arm64(module, path)
    for name, fine, said in results:
        treetest.check(name, fine, said or "other bytes")
    treetest.finish()


main()
