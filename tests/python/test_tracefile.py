# SPDX-License-Identifier: GPL-2.0
"""The readers of traces: samples written by hand, good and bad. Takes a second."""

import gzip
import lzma
import os
import struct
import tempfile
import unittest

from freeblock import tracefile
from freeblock.tracefile import detect, text

# 100 ns, bytes: LBNs 4 to 6 after 0.5 ms, which overlaps sectors at both ends
MSR = b"""128166372003061629,usr,1,Read,8192,4096,41286
128166372003066629,usr,1,Write,2560,1024,1963
"""
MSR_REQUESTS = [(0, 16, 8, False, 4128600), (500000, 5, 2, True, 196300)]
BLKPARSE = b"""  8,0    1        1     0.000001000  697  Q   R 223490 + 8 [kjournald]
  8,0    1        2     0.000002000  697  D   R 223490 + 8 [kjournald]
  8,0    1        3     0.000003500  697  D  WS 1000 + 16 [cc1 -o x]
  8,0    0        1     0.000900000    0  C  WS 1000 + 16 [0]
  8,0    0        2     0.001000000    0  C   R 223490 + 8 [0]
  8,0    0        3     0.002000000  697  m   N cfq697S put_queue
  8,0    0        4     0.003000000  697  D  FN [kworker/0:1H]
  8,0    0        5     0.004000000  697  D   D 4096 + 64 [fstrim]
  8,0    0        6     0.004500000    0  C   D 4096 + 64 [0]
  8,0    1        4     0.005000000  697  D   R 223490 + 8 [kjournald]
  8,0    0        7     0.006000000    0  C   R 77 + 8 [0]
  8,0    0        8     0.007000000    0  C   R 223490 + 8 [0]
CPU0 (8,0):
 Reads Queued:           1,        4KiB\t Writes Queued:           1,        8KiB
"""
BLKPARSE_REQUESTS = [(2000, 223490, 8, False, 998000), (3500, 1000, 16, True, 896500),
                     (5000000, 223490, 8, False, 2000000)]
IOLOG3 = b"""fio version 3 iolog
15 /dev/sda add
106 /dev/sda open
111 /dev/sda read 61440 4096
456 /dev/sda write 774144 512
700 /dev/sda sync 0 0
900 /dev/sda close
"""
IOLOG3_REQUESTS = [(111000, 120, 8, False, -1), (456000, 1512, 1, True, -1)]
IOLOG2 = b"""fio version 2 iolog
/dev/sda add
/dev/sda open
/dev/sda read 0 4096
/dev/sda wait 250 0
/dev/sda wait 150 0
/dev/sda write 4096 4096
/dev/sda close
"""
IOLOG2_REQUESTS = [(0, 0, 8, False, -1), (400000, 8, 8, True, -1)]


def in_pieces(path, size):
    """Chunks of a file that is read in pieces of about so many bytes."""
    return tracefile.in_order(path, detect.reader(path)(text.Input(path), size))


def rows(chunks):
    """All requests as tuples."""
    return [row for chunk in chunks for row in zip(*(column.tolist() for column in chunk))]


class Files(unittest.TestCase):
    """Tests that write files."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def put(self, data, name="trace"):
        """A file's path."""
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, data, device=None):
        """The requests of a trace."""
        return rows(tracefile.read(self.put(data), device))

    def refused(self, data, *words, device=None):
        """A trace is refused, with the file's name and these words."""
        path = self.put(data)
        with self.assertRaises(tracefile.Error) as caught:
            rows(tracefile.read(path, device))
        for word in (path + ": ", *words):
            self.assertIn(word, str(caught.exception))


class Texts(Files):
    """Four texts: what is in them, packed or in pieces."""

    def test_samples(self):
        """Each as it is, and packed."""
        for data, want in ((MSR, MSR_REQUESTS), (BLKPARSE, BLKPARSE_REQUESTS),
                           (IOLOG3, IOLOG3_REQUESTS), (IOLOG2, IOLOG2_REQUESTS)):
            for pack in (bytes, gzip.compress, lzma.compress):
                with self.subTest(data=data[:20], pack=pack.__name__):
                    self.assertEqual(self.read(pack(data)), want)

    def test_pieces(self):
        """Lines that a piece's end cuts, requests that complete in a later piece.

        Seen to fail: what is not completed in a piece forgotten."""
        for data, want in ((MSR, MSR_REQUESTS), (IOLOG3, IOLOG3_REQUESTS),
                           (BLKPARSE, BLKPARSE_REQUESTS)):
            for size in (70, 150, 1000):
                with self.subTest(data=data[:20], size=size):
                    self.assertEqual(sorted(rows(in_pieces(self.put(data), size))), want)

    def test_order(self):
        """By arrival, though written by completion. Seen to fail: not sorted."""
        lines = MSR.splitlines(True)
        found = self.read(lines[1] + lines[0])
        self.assertEqual([row[1] for row in found], [16, 5])

    def test_far_back(self):
        """A request that comes much too late in the file is no matter of order."""
        lines = [b"%d,h,0,Read,0,512,1\n" % time for time in (5, 6, 7, 8, 9, 1)]
        path = self.put(b"".join(lines))
        with self.assertRaises(tracefile.Error) as caught:
            rows(in_pieces(path, 2 * len(lines[0])))
        self.assertIn("comes more than a chunk", str(caught.exception))


class Devices(Files):
    """One of several is read, and only when it is named."""

    def test_msr(self):
        """HOSTNAME.DISK."""
        both = MSR + b"128166372003066629,usr,2,Write,0,512,1963\n"
        self.refused(both, "line 3", "a second device, usr.2, after usr.1", "--device")
        self.assertEqual(self.read(both, "usr.1"), MSR_REQUESTS)
        self.assertEqual(len(self.read(both, "usr.2")), 1)
        self.refused(both, "no requests of device usr.3", device="usr.3")

    def test_blkparse(self):
        """MAJOR,MINOR. Seen to fail: completions of the other device taken."""
        other = b"  8,16   1        3     0.000002500  697  D   R 223490 + 8 [x]\n" \
            b"  8,16   1        3     0.000005000  697  C   R 223490 + 8 [0]\n"
        lines = BLKPARSE.splitlines(True)
        both = b"".join(lines[:2]) + other + b"".join(lines[2:])
        self.refused(both, "line 3", "a second device, 8,16, after 8,0")
        self.assertEqual(self.read(both, "8,0"), BLKPARSE_REQUESTS)


class Bad(Files):
    """Refused with the line and the reason. Seen to fail: pandas' own checks of MSR lines,
    Python's of blkparse's numbers."""

    def test_line(self):
        """Lines are counted over pieces. Seen to fail: from the piece's begin."""
        path = self.put(MSR * 10 + b"x\n" + MSR)
        with self.assertRaises(tracefile.Error) as caught:
            rows(detect.reader(path)(text.Input(path), 200))
        self.assertIn("line 21: ", str(caught.exception))

    def test_msr(self):
        """Fields missing, too many, negative, too large, of the wrong kind."""
        for line, reason in ((b"1,2,3", "not TIMESTAMP"),
                             (b"1,h,1,Read,0,512,1,9", "not TIMESTAMP"),
                             (b"1,h,1,Read,-8,512,1", "not TIMESTAMP"),
                             (b"1,h,1,Look,0,512,1", "not TIMESTAMP"),
                             (b"1,h,1,Read,0,0,1", "no bytes"),
                             (b"1,h,1,Read,0,1e3,1", "not TIMESTAMP"),
                             (b"9999999999999999999,h,1,Read,0,512,1", "above"),
                             (b"1,h,1,Read,0,512,999999999999999999", "a response of"),
                             (b"1,h,,Read,0,512,1", "not TIMESTAMP")):
            with self.subTest(line=line):
                self.refused(MSR + line.replace(b"h,1", b"usr,1") + b"\n" + MSR, "line 3: ", reason)

    def test_blkparse(self):
        """A line that is none; a sector that is no number."""
        self.refused(BLKPARSE.replace(b"0.000900000", b"0.0009"), "line 4: ", "not MAJOR,MINOR")
        self.refused(BLKPARSE.replace(b"1000 + 16 [0]", b"1x00 + 16 [0]"), "line 4: ")
        self.refused(BLKPARSE.replace(b"1000 + 16 [0]", b"-100 + 16 [0]"), "line 4: ")
        self.refused(BLKPARSE.replace(b"1000 + 16 [0]", b"9" * 30 + b" + 16 [0]"), "line 4: ")

    def test_iolog(self):
        """Times that go back, unknown actions and versions, no times at all."""
        self.refused(IOLOG3.replace(b"456", b"110"), "line 5", "goes back from 111 to 110")
        self.refused(IOLOG3.replace(b"write", b"wrote"), "line 5", "unknown action wrote")
        self.refused(IOLOG3.replace(b"774144 512", b"774144"), "line 5", "not MICROSECONDS")
        self.refused(IOLOG3.replace(b"774144 512", b"774144 0"), "line 5", "no bytes")
        self.refused(IOLOG3.replace(b"774144", b"-1"), "line 5", "offset -1")
        self.refused(IOLOG3.replace(b"sion 3", b"sion 9"), "line 1", "versions 2 and 3")
        self.refused(IOLOG2.replace(b"wait", b"sync"), "it has no times")
        self.refused(IOLOG3.replace(b"sync", b"wait"), "line 6", "unknown action wait")


def record(order, time, sector, size, action, device=8 << 20, pdu=b"", magic=0x65617407):
    """A record of blktrace."""
    return struct.pack(order + "IIQQIIIIIHH", magic, 1, time, sector, size, action, 1, device, 0, 0,
                       len(pdu)) + pdu


READ, WRITE, NOTIFY = 1 << 16, 1 << 17, 1 << 26
Q, D, C = 1, 7, 8


def stream(order="<"):
    """Records like those of BLKPARSE, with what blktrace puts between them."""
    return b"".join((
        record(order, 0, 0, 0, NOTIFY | 2, pdu=b"x" * 16),
        record(order, 1000, 223490, 4096, READ | Q, pdu=b"abc"),
        record(order, 2000, 223490, 4096, READ | D),
        record(order, 3500, 1000, 8192, WRITE | D),
        record(order, 3600, 0, 0, WRITE | D),
        record(order, 4000, 4096, 8192, WRITE | 1 << 30 | D),
        record(order, 900000, 1000, 8192, WRITE | C),
        record(order, 1000000, 223490, 4096, READ | C),
        record(order, 5000000, 223490, 4096, READ | D),
        record(order, 7000000, 223490, 4096, READ | C)))


class Blktrace(Files):
    """The binary files."""

    def test_cpus(self):
        """A file per CPU: sent on one, completed on the other; any name stands for all.

        Seen to fail: files read one after the other."""
        self.put(b"", "a.blktrace.2")
        self.put(b"".join((record("<", 2000, 8, 512, READ | D), record("<", 4000, 8, 512, READ | D),
                           record("<", 6000, 99, 512, READ | D))), "a.blktrace.0")
        self.put(b"".join((record("<", 3000, 8, 512, READ | C),
                            record("<", 5000, 8, 512, READ | C))), "a.blktrace.1")
        for name in ("a", "a.blktrace.1"):
            found = rows(tracefile.read(os.path.join(self.folder.name, name)))
            self.assertEqual(found, [(2000, 8, 1, False, 1000), (4000, 8, 1, False, 1000)])

    def test_bad(self):
        """What is no record; another version."""
        whole = stream()
        self.refused(whole + b"0" * 48, "byte %d: no record" % len(whole))
        self.refused(whole[:64] + b"0" * 48 + whole[64:], "byte 64: no record")
        self.refused(record("<", 1, 8, 512, READ | D, magic=0x65617406), "version 6")
