#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Is tests/fuzz/freeblock.txt, the description of freeblock for syzkaller, that of the present
interface? Each ioctl of include/uapi/freeblock.h, with its structure; each structure with its
fields, in order and of their length; each file of Documentation/ABI; and nothing else. Prints TAP.

Seen to fail: an ioctl more, or renamed; fields more, grown or in another order; a file more.
"""

import re

import abi
import treetest
from treetest import read, report

HEADER = "include/uapi/freeblock.h"
SYZLANG = "tests/fuzz/freeblock.txt"
OF_POLL = "freeblock_pollfd"    # the kernel's own structure, not ours
BITS = {"__u16": 16, "__u32": 32, "__s32": 32, "__aligned_u64": 64}


def header_structs(header):
    """{name: [(field, bits or the constant with the length of an array of bytes)]}"""
    found = {}
    code = re.sub(r"[ \t]*/\*.*?\*/", "", header, flags=re.S)
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", code, re.M | re.S):
        fields = re.findall(r"^\t(\w+) (\w+)(?:\[(\w+)\])?;$", body, re.M)
        found[name] = [(field, length or BITS[kind]) for kind, field, length in fields]
        if len(fields) != body.count(";"):
            found[name].append(("a field that the test does not understand", 0))
    return found


def header_calls(header):
    """{ioctl: structure or None}, by how the structures' descriptions begin."""
    calls = dict.fromkeys(re.findall(r"^#define (\w+) _IO[WR]*\(", header, re.M))
    for names, struct in re.findall(r"^/\*(?:\n \*)? ([A-Z_]+(?:, _[A-Z_]+)*)\b(?:(?!\*/).)*\*/\n"
                                    r"struct (freeblock_ioc_\w+) \{", header, re.M | re.S):
        for name in re.findall(r"[A-Z_]*_[A-Z]+", names):
            calls[name if name.startswith("FREE") else "FREEBLOCK_IOC" + name] = struct
    return calls


def described_length(kind):
    """Bits of a field by its type in syzlang, or its length as an array of bytes."""
    array = re.match(r"array\[int8, (\w+)\]", kind)
    if array:
        return array.group(1)
    if kind.startswith("ptr64["):
        return 64
    if kind.startswith("fd_"):
        return 32
    found = re.search(r"\bint(\d+)\b", kind)
    return int(found.group(1)) if found else 0


def described_structs(text):
    """The same as header_structs() of the description."""
    found = {}
    for name, body in re.findall(r"^(\w+) \{\n(.*?)^\}", text, re.M | re.S):
        fields = re.findall(r"^\t(\w+)\t+(\S.*?)(?:\t\(\w+\))?$", body, re.M)
        found[name] = [(field, described_length(kind)) for field, kind in fields]
    return found


def described_calls(text):
    """The same as header_calls(); a call whose names differ has the wrong structure."""
    found = {}
    for name, command, rest in re.findall(r"^ioctl\$(\w+)\(fd fd_freeblock, cmd const\[(\w+)\], "
                                          r"arg (.*)\)$", text, re.M):
        struct = re.match(r"ptr\[\w+, (\w+)\]$", rest)
        found[name] = struct.group(1) if struct else None if rest == "const[0]" else rest
        if name != command:
            found[name] = command
    return found


def differences(what, is_so, told):
    """What two dictionaries differ in."""
    return ["%s %s is %s, not %s" % (what, name, told.get(name, "missing"),
                                     is_so.get(name, "there"))
            for name in sorted(set(is_so) | set(told))
            if name not in is_so or name not in told or is_so[name] != told[name]]


def files(said):
    """The files of all entries, for the disk sda."""
    return {name.replace("<disk>", "sda") for name in abi.files(said)}


def problems(header, said, text):
    """Everything that does not fit."""
    told = described_structs(text)
    told.pop(OF_POLL, None)
    listed = re.search(r"^freeblock_files = (.*)$", text, re.M)
    listed = set(re.findall(r'"([^"]+)"', listed.group(1))) if listed else set()
    words = set(re.findall(r"\w+", header))
    return differences("ioctl", header_calls(header), described_calls(text)) + \
        differences("struct", header_structs(header), told) + \
        ["file %s" % name for name in sorted(files(said) ^ listed)] + \
        ["constant %s" % name for name in sorted(set(re.findall(r"\bFREEBLOCK_\w+", text)) - words)]


def main():
    """All checks."""
    header, said, text = read(HEADER), abi.text(), read(SYZLANG)
    report("the header has ioctls, structures and files",
           [] if len(header_calls(header)) > 10 and len(header_structs(header)) > 5 and
           len(files(said)) > 20 else ["too few are found"])
    report("the description is the interface's", problems(header, said, text))
    treetest.finish()


if __name__ == "__main__":
    main()
