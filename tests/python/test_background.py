# SPDX-License-Identifier: GPL-2.0
"""Tests of background.py, libfreeblock for Python: its own structures against the header; whole
runs against a made-up module (tests/unit/lib/fake.c, which judges what it is handed by the
header), interruptions. What the library does is tested in tests/unit/lib. Takes some seconds.

Seen to fail: a field of 4 bytes declared as 8; a constant off by one; the ranges' address taken
of a copy; data that the next record overwrites.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import csource
import taptest
from taptest import TOP
from freeblock import background

FAKE = os.path.join(taptest.BUILD, "unit-lib", "fake.so")
STRUCTURES = {"struct fb_options": background.Options, "struct fb_record": background.RawRecord,
              "struct fb_range": background.RawRange, "struct fb_task_geometry":
              background.RawGeometry, "struct fb_task_progress": background.RawProgress}
SIZES = {"bits": background.BITS, "reason": background.REASON, "probes": background.PROBE_CALL}
CONSTANTS = {
    "FREEBLOCK_BITS_MAX": "BITS_MAX", "FREEBLOCK_PROBES_MAX": "PROBES_MAX",
    "FREEBLOCK_PROBE_ALONE": "ALONE", "FREEBLOCK_PROBE_NEXT": "NEXT",
    "FREEBLOCK_PROBE_MEDIUM": "FROM_MEDIUM", "FB_REST": "REST",
    **{"FREEBLOCK_IOC_" + name: "IOC_" + name for name in ("SET_COVERAGE", "REASON", "PROBE")},
    **{"FB_" + name: name for name in (
        "MEDIUM", "NO_DATA", "KEEP", "EVENTS", "COVERAGE", "PROBES", "UNCOVERED", "NEAR",
        "SEQUENTIAL", "STAGGERED", "NEW", "RUNNING", "PAUSED", "FINISHED", "STOPPED", "BLOCKS",
        "CAUGHT_UP", "OK", "UNREADABLE", "UNTRIED", "UNVERIFIED")},
}


def setUpModule():
    """The made-up module, and the library."""
    taptest.build_library()


def ask_c(expressions):
    """What C says these are."""
    code = "#include <stddef.h>\n#include <stdio.h>\n#include <freeblock/freeblock.h>\n" \
        "#include \"uapi/freeblock.h\"\n" \
        "int main(void) {%s}" % "".join('printf("%%llu ", (unsigned long long)%s);' % one
                                        for one in expressions)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "p")
        subprocess.run(["cc", "-I", os.path.join(TOP, "include"), "-I", os.path.join(
            TOP, "tools", "lib"), "-x", "c", "-o", program, "-"], input=code, text=True, check=True)
        said = subprocess.run([program], check=True, text=True, capture_output=True).stdout
    return [int(word) for word in said.split()]


class Header(unittest.TestCase):
    """Is it what the headers say?"""

    def test_all(self):
        """Each field's place and length, sizes, numbers of calls, flags and so on."""
        want = {}
        for name, structure in STRUCTURES.items():
            want["sizeof(%s)" % name] = ctypes.sizeof(structure)
            for field, _ in structure._fields_:
                place = getattr(structure, field)
                want["offsetof(%s, %s)" % (name, field)] = place.offset
                want["sizeof(((%s *)0)->%s)" % (name, field)] = place.size
        want.update(("sizeof(struct freeblock_ioc_%s)" % name, layout.size)
                    for name, layout in SIZES.items())
        want["sizeof(struct freeblock_probe)"] = background.PROBE.size
        want.update((name, getattr(background, ours)) for name, ours in CONSTANTS.items())
        self.assertEqual(dict(zip(want, ask_c(want))), want)


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
        self.assertRegex(done.stderr, "another disk: 'naa.5000' there, 'naa.6' here")

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

    def test_refused(self):
        """What is not there, is no option, or comes too late; and many ranges at once.

        Seen to fail: a task that is closed, handed to the library."""
        done = run("""
            from freeblock import background
            task = background.Task("/dev/zero", coverage=True, priority=-4)
            print(task.want_ranges([(8 * i, 8, 1 << 63) for i in range(20)]))
            held = [(task.next(), task.next())[0] for _ in range(10)]
            assert {record.user_data for record in held} == {1 << 63}
            assert len({bytes(record.data) for record in held}) == 10
            task.close()
            for call in (lambda: background.Task("/dev/nowhere"), task.next, task.progress,
                         lambda: background.Task("/dev/zero", name="a name of sixteen"),
                         lambda: background.Task("/dev/zero", prioriy=3)):
                try:
                    call()
                except (background.Error, TypeError) as error:
                    print(error)
            """)
        self.assertEqual((done.stderr, done.stdout.splitlines()), ("", [
            "20", "/dev/nowhere: No such file or directory", *["the task is closed"] * 2,
            "options: 'a name of sixteen' has more than 15 characters",
            "no such option: prioriy"]))

    def test_scan_source(self):
        """scan's source wants what is missing of the whole, and says what was refused.

        Seen to fail: bits of the last byte that no block has; a range taken for covered."""
        done = run("""
            import os, sys
            from freeblock import ToolError, background, fbstate
            from freeblock.tasks import scan_source
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
