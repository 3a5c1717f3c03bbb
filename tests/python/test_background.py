# SPDX-License-Identifier: GPL-2.0
"""Tests of background.py, /dev/freeblock in Python: its structures against the header; the
bytes of each call; whole runs against a made-up module (tests/unit/lib/fake.c, which judges what
it is handed by the header), interruptions, files of coverage. Takes some seconds.

Seen to fail: a field of 4 bytes declared as 8; a constant off by one; the ranges' address taken
of a copy; records in the buffer not taken out of the saved coverage; the disk's id not compared;
checksum not looked at; parse() that takes the data from behind 32 bytes.
"""

import ctypes
import errno
import os
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import csource
import taptest
from taptest import TOP
from freeblock import background, coverage_file
from freeblock.background import Error

FAKE = os.path.join(taptest.BUILD, "unit-lib", "fake.so")
VECTOR = (b"FBCOVER\n" + bytes((1, 0, 0, 0, 184, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0)) +
          struct.pack("<QQQ128s", 99, 90, 12, b"naa.5000") + bytes.fromhex("e0fb0dbc00000000") +
          bytes.fromhex("010f2f3e7dc8"))
PLACE = coverage_file.Place(8, 99, 90, 12, "naa.5000")
CONSTANTS = {
    "FREEBLOCK_API_VERSION": "VERSION", "FREEBLOCK_FEATURE_EVENTS": "EVENTS",
    "FREEBLOCK_FEATURE_COVERAGE": "COVERAGE",
    "FREEBLOCK_FEATURE_PROBES": "PROBES", "FREEBLOCK_SETUP_MEDIUM": "MEDIUM",
    "FREEBLOCK_SETUP_NO_DATA": "NO_DATA", "FREEBLOCK_SETUP_KEEP": "KEEP",
    "FREEBLOCK_RANGES_UNCOVERED": "UNCOVERED", "FREEBLOCK_BITS_MAX": "BITS_MAX",
    "FREEBLOCK_REASON_LEN": "REASON_LEN", "FREEBLOCK_PROBES_MAX": "PROBES_MAX",
    "FREEBLOCK_PROBE_ALONE": "ALONE", "FREEBLOCK_PROBE_NEXT": "NEXT",
    "FREEBLOCK_PROBE_MEDIUM": "FROM_MEDIUM",
    **{"FREEBLOCK_ORDER_" + name: name for name in ("NEAR", "SEQUENTIAL", "STAGGERED")},
    **{"FREEBLOCK_STATE_" + name: name for name in (
        "NEW", "RUNNING", "PAUSED", "FINISHED", "STOPPED")},
    **{"FREEBLOCK_IOC_" + name: "IOC_" + name for name in (
        "API", "SETUP", "ADD", "REMOVE", "PROMOTE", "START", "PAUSE", "RESUME", "STOP", "URGENCY",
        "PROGRESS", "GET_COVERAGE", "SET_COVERAGE", "REASON", "PROBE")},
    **{"FREEBLOCK_RECORD_" + name: name for name in ("BLOCKS", "CAUGHT_UP")},
    **{"FREEBLOCK_STATUS_" + name: name for name in ("OK", "UNREADABLE", "UNTRIED")},
}


def setUpModule():
    """The made-up module, and the library."""
    taptest.build_library()


def ask_c(expressions):
    """What C says these are."""
    code = "#include <stddef.h>\n#include <stdio.h>\n#include \"uapi/freeblock.h\"\n" \
        "int main(void) {%s}" % "".join('printf("%%llu ", (unsigned long long)%s);' % one
                                        for one in expressions)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "p")
        subprocess.run(["cc", "-I", os.path.join(TOP, "include"), "-x", "c", "-o", program, "-"],
                       input=code, text=True, check=True)
        said = subprocess.run([program], check=True, text=True, capture_output=True).stdout
    return [int(word) for word in said.split()]


class Header(unittest.TestCase):
    """Is it what include/uapi/freeblock.h says?"""

    def test_layouts(self):
        """Each structure's size, each field's place and length."""
        asked, want = [], []
        for layout in background.LAYOUTS:
            asked.append("sizeof(struct %s)" % layout.name)
            want.append((layout.name, layout.size))
            for name, (offset, length) in layout.offsets().items():
                asked += ["offsetof(struct %s, %s)" % (layout.name, name),
                          "sizeof(((struct %s *)0)->%s)" % (layout.name, name)]
                want += [(layout.name + "." + name, offset), (layout.name + "." + name, length)]
        self.assertEqual([(name, said) for (name, _), said in zip(want, ask_c(asked))], want)

    def test_all_structures(self):
        """None is left out."""
        with open(os.path.join(TOP, "include/uapi/freeblock.h"), encoding="utf-8") as file:
            named = {line.split()[1] for line in file if line.startswith("struct ")}
        self.assertEqual(named, {layout.name for layout in background.LAYOUTS})

    def test_constants(self):
        """Numbers of calls, flags and so on."""
        self.assertEqual(dict(zip(CONSTANTS, ask_c(CONSTANTS))),
                         {name: getattr(background, ours) for name, ours in CONSTANTS.items()})

    def test_words(self):
        """C and Python say the same of what a task waits for."""
        library = ctypes.CDLL(os.path.join(taptest.BUILD, "lib", "libfreeblock.so.1"))
        library.fb_waiting_for.restype = ctypes.c_char_p
        last = ask_c(["FREEBLOCK_WAIT_ASLEEP"])[0]
        self.assertEqual([library.fb_waiting_for(i).decode() for i in range(last + 1)],
                         list(background.WAITING_FOR))
        self.assertIn("does not know", background.waiting_for(last + 1))


class Device:
    """In place of open(), ioctl() and read(): notes bytes, and answers as it is told."""

    def __init__(self):
        self.calls, self.reads, self.fails = [], [], {}

    def ioctl(self, _fd, number, argument):
        """Notes number, bytes, and the bytes that they point to."""
        raw = bytes(argument) if argument else b""
        more = b""
        if number == background.IOC_ADD:
            call = background.RANGES.unpack(raw)
            more = ctypes.string_at(call["ranges"], 24 * call["nranges"])
        if number in (background.IOC_SET_COVERAGE, background.IOC_GET_COVERAGE):
            call = background.BITS.unpack(raw)
            more = ctypes.string_at(call["bits"], (call["count"] + 7) // 8)
        self.calls.append((number, raw, more))
        if number in self.fails:
            raise OSError(self.fails[number], "no")
        if number == background.IOC_SETUP:
            argument[:] = background.SETUP.pack(sectors=90, start_sector=99, blocks=12,
                                                granule_sectors=8, record_bytes=4128, ranges_max=4)
        if number == background.IOC_REASON:
            argument[:] = background.REASON.pack(text=b"the kernel's words")

    def read(self, _fd, _size):
        """One of the answers."""
        answer = self.reads.pop(0)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer

    def task(self, case, **options):
        """A task here, on a file that stands for a block device."""
        for patch in (mock.patch.object(background, "DEVICE", "/dev/null"),
                      mock.patch.object(background.fcntl, "ioctl", self.ioctl),
                      mock.patch.object(background, "disk_id", lambda fd: "naa.5000")):
            patch.start()
            case.addCleanup(patch.stop)
        task = background.Task("/dev/zero", **options)
        case.addCleanup(task.close)
        patch = mock.patch.object(background.os, "read", self.read)
        patch.start()
        case.addCleanup(patch.stop)
        return task


def pack(first, count, status, data, user=0, kind=0, head=32):
    """A record."""
    return struct.pack("<HHIQQII", head, kind, status, first, user, count, len(data)) + \
        bytes(head - 32) + data


class Calls(unittest.TestCase):
    """The bytes of calls, written down by hand from the header."""

    def test_setup(self):
        """Handshake and set-up, with options."""
        device = Device()
        device.task(self, flags=background.KEEP, coverage=True, name="scan", priority=-4,
                    deadline_ns=1 << 40, buffer_kib=128, order=2, regions=3, segment_sectors=64,
                    foreground_ppm=5)
        api, setup = device.calls
        self.assertEqual(api, (0xc018fb00, struct.pack("<IIQQ", 24, 1, 2, 0), b""))
        self.assertEqual(setup[0], 0xc068fb01)
        head = struct.unpack("<IiIiQIIIIII16s24x16x", setup[1])
        self.assertEqual((head[0], *head[2:]),
                         (104, 4, -4, 1 << 40, 128, 2, 3, 64, 5, 0, b"scan".ljust(16, b"\0")))

    def test_ranges(self):
        """Ranges lie where the call says."""
        device = Device()
        task = device.task(self)
        task.want_ranges([(0, 5, 7), (61, None, 1 << 63)], uncovered=True)
        number, raw, more = device.calls[-1]
        size, each, _, count, flags = struct.unpack("<IIQII", raw)
        self.assertEqual((number, size, each, count, flags), (0x4018fb02, 24, 24, 2, 1))
        self.assertEqual(more, struct.pack("<QQQQQQ", 0, 5, 7, 61, 29, 1 << 63))
        device.fails[background.IOC_ADD] = errno.ENOSPC
        with self.assertRaises(Error) as raised:
            task.want(0, 5)
        self.assertEqual((raised.exception.errno, str(raised.exception)),
                         (errno.ENOSPC, "want: the kernel's words"))
        task.urgency(3, 17, 19)
        self.assertEqual(device.calls[-1][:2],
                         (0x4018fb09, struct.pack("<IiQII", 24, 3, 17, 19, 0)))

    def test_refused(self):
        """What is not there, or no option."""
        device = Device()
        with self.assertRaisesRegex(TypeError, "no such option: prioriy"):
            device.task(self, prioriy=3)
        with self.assertRaisesRegex(Error, "more than 15 characters"):
            device.task(self, name="a name of sixteen")
        with mock.patch.object(background, "DEVICE", "/dev/nowhere"), \
                self.assertRaisesRegex(Error, "^/dev/nowhere: No such.*; load the module free"):
            background.Task("/dev/zero")

    def test_records(self):
        """Records follow each other; longer headers, other types, and what cannot be one."""
        raw = pack(8, 16, 0, bytes(8192), 1 << 63) + pack(40, 8, 1, b"") + \
            pack(1, 1, 1, b"?", kind=77) + pack(0, 0, 0, b"", kind=1) + \
            pack(48, 8, 0, b"x" * 4096, head=48)
        device = Device()
        device.reads = [raw, errno.EAGAIN, pack(56, 8, 2, b"") + b"torn", b""]
        task = device.task(self)
        found = [(r.first, r.sectors, r.status, bytes(r.data), r.user_data, r.type)
                 for r in task.ready()]
        self.assertEqual(found, [(8, 16, 0, bytes(8192), 1 << 63, 0), (40, 8, 1, b"", 0, 0),
                                 (0, 0, 0, b"", 0, 1), (48, 8, 0, b"x" * 4096, 0, 0)])
        self.assertEqual(list(task.ready()), [])
        self.assertEqual(task.next().first, 56)
        with self.assertRaisesRegex(Error, "not understood"):
            task.next()
        for bad in (b"short", pack(0, 8, 0, b"x")[:-1], pack(0, 8, 0, b"")[:0] + struct.pack(
                "<HHIQQII", 24, 0, 0, 0, 0, 8, 0)):
            with self.assertRaisesRegex(Error, "not understood"):
                list(background.parse(bad))

    def test_late_event(self):
        """An event that lay in the buffer when more was wanted is not true any more; the next
        one is."""
        caught_up = pack(0, 0, 0, b"", kind=1)
        device = Device()
        task = device.task(self, flags=background.KEEP, events=True)
        device.reads = [pack(0, 8, 1, b"") + caught_up, pack(8, 8, 1, b"") + caught_up,
                        errno.EAGAIN]
        task.want(0, 8)
        self.assertEqual(task.next().first, 0)
        task.want(8, 8)
        device.fails[background.IOC_ADD] = errno.ENOSPC
        self.assertEqual(task.next().first, 8)
        self.assertEqual(len(device.reads), 1)
        with self.assertRaises(Error):
            task.want(16, 8)
        self.assertEqual([record.type for record in task.ready()], [background.CAUGHT_UP])
        self.assertEqual(list(task.ready()), [])

    def test_ends(self):
        """Time-out, disk gone, stopped, end."""
        device = Device()
        task = device.task(self)
        task.want(0, 5)
        with mock.patch.object(background.select, "poll"):
            device.reads = [errno.EAGAIN] * 100000
            with self.assertRaises(TimeoutError):
                task.next(timeout=0.01)
        device.reads = [errno.ENODEV, errno.ECANCELED, b""]
        for error, words in ((errno.ENODEV, "gone"), (errno.ECANCELED, "stopped before all")):
            with self.assertRaisesRegex(Error, words) as raised:
                task.next()
            self.assertEqual(raised.exception.errno, error)
        self.assertIsNone(task.next())


class Coverage(unittest.TestCase):
    """Files of coverage; tests/unit/lib/test_lib.c has the same bytes."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.folder, "coverage")

    def write(self, raw):
        """The file."""
        with open(self.path, "wb") as file:
            file.write(raw)

    def test_format(self):
        """Written, and read."""
        coverage_file.save(self.path, PLACE, [b"\x01\x0f"])
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), VECTOR)
        self.assertEqual(b"".join(coverage_file.load(self.path, PLACE)), b"\x01\x0f")
        self.assertEqual(os.listdir(self.folder), ["coverage"])

    def test_pieces(self):
        """More than is handled at once."""
        place = PLACE._replace(blocks=8 * 5000 - 3)
        with mock.patch.object(coverage_file, "CHUNK", 1024):
            coverage_file.save(self.path, place, [bytes(4096), b"\xff" * 903 + b"\x1f"])
            self.assertEqual(b"".join(coverage_file.load(self.path, place)),
                             bytes(4096) + b"\xff" * 903 + b"\x1f")

    def test_torn(self):
        """Any byte flipped, any length: refused, before the task is told anything."""
        device = Device()
        task = device.task(self, coverage=True)
        calls = len(device.calls)
        for at in set(range(len(VECTOR))) - set(range(180, 184)):
            raw = bytearray(VECTOR)
            raw[at] ^= 4
            self.write(raw)
            with self.assertRaises(Error) as raised:
                task.restore_coverage(self.path)
            self.assertEqual(raised.exception.errno, errno.EPROTONOSUPPORT if 8 <= at < 12
                             else errno.EBADMSG)
            self.assertRegex(str(raised.exception),
                             r"coverage: (version \d+ of|damaged|not a file)")
        for length in range(len(VECTOR)):
            self.write(VECTOR[:length])
            with self.assertRaisesRegex(Error, "cut short|damaged|not a file"):
                task.restore_coverage(self.path)
        self.write(VECTOR + b"x")
        with self.assertRaisesRegex(Error, "damaged"):
            task.restore_coverage(self.path)
        os.unlink(self.path)
        with self.assertRaises(Error) as raised:
            task.restore_coverage(self.path)
        self.assertEqual(raised.exception.errno, errno.ENOENT)
        self.assertEqual(len(device.calls), calls)
        self.write(VECTOR)
        task.restore_coverage(self.path)
        self.assertEqual(device.calls[-1][2], b"\x01\x0f")

    def test_other_disk(self):
        """Another disk, place, length, block size."""
        self.write(VECTOR)
        for name, value in (("disk", "naa.5001"), ("disk", ""), ("start_sector", 8),
                            ("sectors", 91), ("blocks", 13), ("granule_sectors", 16)):
            with self.assertRaisesRegex(Error, "another disk.*%s.*there" % name.split("_")[0]) as r:
                coverage_file.load(self.path, PLACE._replace(**{name: value}))
            self.assertEqual(r.exception.errno, errno.EXDEV)

    def test_save_fails(self):
        """What was there stays, and nothing else is left."""
        self.write(VECTOR)

        def chunks():
            yield b"\x01"
            raise Error(errno.ENOMEM, "no memory")

        with self.assertRaisesRegex(Error, "no memory"):
            coverage_file.save(self.path, PLACE, chunks())
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(), VECTOR)
        self.assertEqual(os.listdir(self.folder), ["coverage"])
        with self.assertRaisesRegex(Error, "/nowhere/x: No such file"):
            coverage_file.save("/nowhere/x", PLACE, [])


def expected(sectors, start):
    """What the made-up disk holds (fake_byte())."""
    inside = [(at ^ at >> 8) & 0xff for at in range(512)]
    found = bytearray()
    for sector in range(start, start + sectors):
        high = (sector * 2654435761 >> 7) & 0xff
        found += bytes(high ^ one for one in inside)
    return bytes(found)


def run(code, *words, **settings):
    """A Python program with the made-up module: its process."""
    environment = dict(os.environ, LD_PRELOAD=FAKE, PYTHONDONTWRITEBYTECODE="1",
                       PYTHONPATH=os.path.join(TOP, "tools", "cli"),
                       **{"FAKE_" + name.upper(): str(value) for name, value in settings.items()})
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *words], env=environment,
                          text=True, capture_output=True, check=False)


class Runs(unittest.TestCase):
    """Whole runs, against the made-up module."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.out = os.path.join(folder, "out")
        self.coverage = os.path.join(folder, "coverage")
        self.device = "/dev/zero"

    def content(self):
        """The copy."""
        with open(self.out, "rb") as file:
            return file.read()

    def test_example(self):
        """The document's example, from the start, and stopped again and again."""
        code = csource.script("libfreeblock.rst")
        for settings in ({}, {"start": 99}, {"strange": 1, "header_bytes": 48, "lazy": 3}):
            done = run(code, self.device, self.out, self.coverage, **settings)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.content(), expected(1000, settings.get("start", 0)))
            # all is covered: nothing to do
            os.unlink(self.out)
            done = run(code, self.device, self.out, self.coverage, **settings)
            self.assertEqual((done.returncode, done.stderr, self.content()), (0, "", b""))
            os.unlink(self.coverage)
        stops = 0
        while True:
            done = run(code, self.device, self.out, self.coverage, stop_after=70)
            if done.returncode == 0:
                break
            self.assertIn("stopped before all was delivered", done.stderr)
            stops += 1
            self.assertLess(stops, 5)
        self.assertEqual((self.content(), stops), (expected(1000, 0), 1))

    def test_other_disk(self):
        """It is refused, and nothing is read."""
        code = csource.script("libfreeblock.rst")
        self.assertEqual(run(code, self.device, self.out, self.coverage).returncode, 0)
        done = run(code, self.device, self.out, self.coverage, id="naa.6")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "another disk.*naa.5000 there, naa.6 here")

    def test_resume_anywhere(self):
        """Saved in the middle of a buffer: what waits there comes again, and nothing else."""
        done = run("""
            import sys
            from freeblock import background
            for records in range(1, 30):
                seen = set()
                with background.Task("/dev/zero", coverage=True) as task:
                    task.want()
                    for _ in range(records):
                        last = task.next().first
                        seen.add(last)
                    seen.remove(last)
                    task.save_coverage(sys.argv[1])
                with background.Task("/dev/zero", coverage=True) as task:
                    task.restore_coverage(sys.argv[1])
                    task.want(uncovered=True)
                    rest = [record.first for record in task]
                assert len(rest) == len(set(rest)) and not seen & set(rest), records
                assert len(rest) + len(seen) == task.geometry.blocks, records
            """, self.coverage, start=99)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_life(self):
        """Progress, pause, bad blocks, errors in the module's words."""
        done = run("""
            from freeblock import background
            with background.Task("/dev/zero", events=True, flags=background.KEEP) as task:
                task.want(0, 16, 7)
                task.start()
                task.pause()
                print(task.progress().state, task.progress().waiting_for)
                task.resume()
                got = sorted((task.next() for _ in range(2)), key=lambda r: r.first)
                print([(r.first, r.status, len(r.data), r.user_data) for r in got])
                print(task.next().type, task.progress().done)
                try:
                    task.next(timeout=0)
                except TimeoutError as error:
                    print(error.strerror)
                for call in (task.resume, lambda: task.want(4, 8), lambda: task.promote(0, 1001)):
                    try:
                        call()
                    except background.Error as error:
                        print(error)
            """, bad=8)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.splitlines(), [
            "2 the disk is busy and no gap fits", "[(0, 0, 4096, 7), (8, 1, 0, 7)]", "1 2",
            "no record yet", "resume: it is so already", "want: a range ends within a block",
            "promote: a range goes beyond the end"])

    def test_scan_source(self):
        """scan's source wants what is missing of the whole, and says what was refused.

        Seen to fail: bits of the last byte that no block has; a range taken for covered."""
        done = run("""
            import os, sys
            from freeblock import ToolError, background, fbstate, scan_source
            fbstate.ROOT = sys.argv[1]
            for missing in [(8 * i, 8) for i in range(125)], [(0, 8), (40, 160), (880, 120)]:
                source = scan_source.Source("sda", missing, [(0, 400), (400, 600)])
                wanted = [at for first, count in missing
                          for at in range(first, first + count, 8)]
                seen = []
                for _ in range(2000):
                    seen += [record.first for record in source.records()]
                    if len(seen) >= len(wanted) or source.gone:
                        break
                print(len(seen), sorted(seen) == wanted, source.gone)
                source.close()
            try:
                scan_source.Source("sdb", [], [])
            except ToolError as error:
                print(error)
            """, self.folder_with_disk())
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, "^125 True False\n36 True False\n"
                         "sdb: /.*/dev/sdb: No such file or directory\n$")

    def folder_with_disk(self):
        """A root with dev/sda."""
        root = os.path.dirname(self.out)
        os.makedirs(os.path.join(root, "dev"))
        with open(os.path.join(root, "dev", "sda"), "wb"):
            return root
