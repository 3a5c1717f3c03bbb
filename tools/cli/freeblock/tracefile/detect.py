# SPDX-License-Identifier: GPL-2.0
"""Which program wrote a trace."""

import lzma
import os
import re
import zlib

from . import Error, blktrace, columns, eventtext, iolog
from .text import BOM, open_binary, shown

BEGIN = 1 << 16
KNOWN = "neither blktrace, blkparse's text, the kernel's trace events, fio's iolog or log of " \
    "latencies, biosnoop, DiskSim's ASCII, nor a table of MSR, SPC, SYSTOR '17, Alibaba, Tencent " \
    "or FIU"
UTF16 = "a text in UTF-16: iconv -f UTF-16 -t UTF-8 FILE > NEW makes one that can be read"
# How files begin that others have to turn into something that can be read
OTHERS = (
    (b"\x17\x08\x44tracing", "trace-cmd's own file: trace-cmd report -i FILE > TEXT prints it"),
    (b"PERFILE2", "perf's own file: perf script -i FILE > TEXT prints it"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd: zstd -d FILE unpacks it"),
    (b"PK\x03\x04", "packed with zip: unzip FILE unpacks it"),
    (b"7z\xbc\xaf", "packed with 7z: unpack it first"),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
)
TAR_AT, TAR = 257, b"ustar"
# Of a line that blkparse -f FORMAT prints: a time, and what has happened
FORMATTED = re.compile(rb"(?:^|[\s,;])\d+\.\d{9}\b.*[\s,;][QGIDCMFPUXA][\s,;]|"
                       rb"[\s,;][QGIDCMFPUXA][\s,;].*\b\d+\.\d{9}(?:$|[\s,;])")
# .. of how fio calls its other logs
NO_LATENCIES = re.compile(r"_(slat|bw|iops)\.")
NO_ADDRESSES = re.compile(rb"\s*TIME\(ms\)\s+DISK\s+COMM\s+PID\s+LAT\(ms\)")


def beginning(path):
    """The first bytes of a file, unpacked."""
    with open_binary(path) as file:
        try:
            return file.read(BEGIN)
        except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
            if getattr(error, "errno", None) is not None:
                raise
            raise Error(path, "the packed file", str(error)) from error


def reader(path):
    """The function (source) -> chunks that reads this file."""
    found = known(path)
    if not found:
        line = beginning(path).removeprefix(BOM).lstrip().split(b"\n")[0]
        raise Error(path, 1, "%s: %s" % (KNOWN, shown(line)))
    return found


def known(path):
    """The same; None for what is none of the formats."""
    path = str(path)
    if blktrace.members(path):
        return blktrace.read
    begin = beginning(path)
    if blktrace.is_one(begin):
        return blktrace.read
    other = next((why for magic, why in OTHERS if begin.startswith(magic)), None)
    if begin[TAR_AT:TAR_AT + len(TAR)] == TAR:
        other = "a tar archive: tar -xf FILE unpacks it"
    if other:
        raise Error(path, "byte 0", other)
    return of_text(path, begin.removeprefix(BOM))


def of_text(path, begin):
    """The reader of a text that begins so, or None."""
    lines = begin.split(b"\n")
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    line = lines[first]
    if line.startswith(b"fio version"):
        return iolog.read
    if any(eventtext.BLKPARSE.start.match(one) for one in lines[first:first + 2]):
        return eventtext.reader(eventtext.BLKPARSE)
    if eventtext.KERNEL.start.search(begin):
        return eventtext.reader(eventtext.KERNEL)
    if NO_ADDRESSES.match(line):
        raise Error(path, first + 1, "biosnoop of bpftrace prints no sectors: that of bcc does")
    return of_table(path, lines, first)


def of_table(path, lines, first):
    """The reader of a table, or None."""
    line = lines[first]
    header = columns.of_header(line) if columns.HEAD.match(line) else None
    rest = [n for n in range(first + (header is not None), len(lines))
            if lines[n].strip() and not lines[n].lstrip().startswith(b"#")] or [first]
    form = header or columns.of_line(lines[rest[0]])
    if isinstance(form, str):
        raise Error(path, rest[0] + 1, form)
    other = form is columns.FIO_LOG and NO_LATENCIES.search(os.path.basename(path))
    if other:
        raise Error(path, rest[0] + 1, "by its name fio's log of %s: that of latencies, _clat, is "
                    "wanted" % other.group(1))
    if form:
        return columns.Reader(form, lines[rest[0]], rest[0] + 1, header is not None)
    if FORMATTED.search(line):
        raise Error(path, first + 1, "printed by blkparse -f, whose columns can be any: print it "
                    "without, blkparse -i NAME > FILE: %s" % shown(line))
    return None
