# SPDX-License-Identifier: GPL-2.0
"""Tests of the events that the journal gets: each when it happens, once, with its message id, and
that the catalog explains each. The machine is a tree of files; logger(1) is a stand-in, and the
real one is tried by tests/install. Takes a second.
"""

import contextlib
import io
import os
import re
import time
from unittest import mock

from taptest import TOP
from fakemachine import WWN, Case
from freeblock import fbstate
from freeblock.drive import store
from freeblock.machine import due, events, waits
from freeblock.machine.window import Windows

CATALOG = os.path.join(TOP, "tools", "boot", "freeblock.catalog")
PAGE = os.path.join(TOP, "Documentation", "monitoring.rst")
KERNEL = "sys/kernel/freeblock/sda/"
NOW = 1800000000
DAY = due.DAY_S


class Told(Case):
    """What the journal gets."""

    def setUp(self):
        super().setUp()
        os.makedirs(os.path.join(self.machine.root, events.JOURNAL))
        self.machine.command(["modprobe", "freeblock"])
        self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
        self.machine.write("etc/freeblock.conf",
                           "[all]\nscrub_every_days = 30\ndeadline_days = 10\n")

    def told(self, now=NOW):
        """What the timer's service tells then: [(kind, message)]."""
        del self.machine.told[:]
        with mock.patch("time.time", return_value=now):
            status, said = self.do("conf", "due")
        self.assertEqual(status, 0, said)
        return self.kinds()

    def kinds(self):
        """Of what was told last."""
        kinds = {ident: kind for kind, (ident, _) in events.KINDS.items()}
        for one in self.machine.told:
            self.assertEqual((one["FREEBLOCK_DISK"], one["FREEBLOCK_WWN"],
                              one["SYSLOG_IDENTIFIER"]), ("sda", WWN, "freeblock"))
            self.assertEqual(int(one["PRIORITY"]), events.KINDS[kinds[one["MESSAGE_ID"]]][1])
        return [(kinds[one["MESSAGE_ID"]], one["MESSAGE"]) for one in self.machine.told]

    def test_bad_blocks(self):
        """Each that is new, once; a module that is loaded anew begins to count anew.

        Seen to fail: the count of all, at each look; a smaller count that is none."""
        self.assertEqual(self.told(), [])
        for count, more in ((2, 2), (2, None), (3, 1), (0, None), (1, 1), (1, None)):
            self.machine.write(KERNEL + "state/bad_blocks", "%d\n" % count)
            self.assertEqual(
                [message.partition(",")[0] for _, message in self.told()],
                ["sda: %d block%s could not be read" % (more, "s" * (more > 1))] if more else [])
        self.machine.write("sys/kernel/debug/freeblock/sda/bad_blocks",
                           "88 8 medium\n800 8 medium\n")
        self.machine.write(KERNEL + "state/bad_blocks", "3\n")
        self.assertEqual(self.told(), [("bad_blocks", "sda: 2 blocks could not be read, 3 since "
                                        "the module was loaded; among them the sectors 88, 800")])
        self.assertEqual(self.machine.told[0]["FREEBLOCK_BAD_BLOCKS"], "3")

    def test_on_error(self):
        """The administrator's command gets the disk and how many blocks are new, once; one that
        fails, or does not end, is named. Seen to fail: run at each look; the count of all."""
        ran = os.path.join(self.machine.root, "ran")
        self.machine.write("etc/freeblock.conf", "[all]\non_error = echo $FREEBLOCK_DISK "
                           "$FREEBLOCK_BAD_BLOCKS >> %s\n" % ran)
        for count in (2, 2, 5):
            self.machine.write(KERNEL + "state/bad_blocks", "%d\n" % count)
            self.do("conf", "due")
        self.assertEqual(self.machine.read("ran"), "sda 2\nsda 3\n")
        for command, why in (("exit 7", "status 7 of: exit 7"), ("sleep 9", "no end within 0 s")):
            self.machine.write("etc/freeblock.conf", "[all]\non_error = %s\n" % command)
            count += 1
            self.machine.write(KERNEL + "state/bad_blocks", "%d\n" % count)
            with mock.patch.object(events, "ON_ERROR_S", .2):
                self.assertIn("sda: on_error: " + why, self.do("conf", "due")[1])

    def test_one_field(self):
        """A value is a field's, whatever is in it. Seen to fail: another field, of the disk's own
        making."""
        self.machine.write("sys/block/sda/device/wwid", "t10.A\nPRIORITY=0\n")
        events.send("kept_off", "sda", "for\nthis\x1b[2J")
        (told,) = self.machine.told
        self.assertEqual((told["PRIORITY"], told["FREEBLOCK_WWN"], told["MESSAGE"]), (
            str(events.KINDS["kept_off"][1]), r"t10.A\nPRIORITY=0", r"sda: for this\x1b[2J"))
        os.rmdir(os.path.join(self.machine.root, events.JOURNAL))
        events.send("kept_off", "sda", "without a journal nothing is sent")
        self.assertEqual(len(self.machine.told), 1)

    def test_conf(self):
        """A configuration that cannot be read silences no bad block. Seen to fail: nothing told."""
        self.assertEqual(self.told(), [])
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = often\n")
        self.machine.write(KERNEL + "state/bad_blocks", "2\n")
        status, said = self.do("conf", "due")
        self.assertEqual(status, 1)
        self.assertIn("freeblock.conf:2: ", said)
        self.assertEqual([kind for kind, _ in self.kinds()], ["bad_blocks"])

    def scrubbing(self, left_s, state="running", lasted_s=600):
        """A scrub of that remaining time, by its rate since it was started."""
        self.machine.write(KERNEL + "scrub", state + "\n")
        for name, value in (("blocks_total", left_s + lasted_s), ("blocks_before", 0),
                            ("blocks_delivered", lasted_s), ("block_sectors", 2),
                            ("rate_kib_s", 1)):
            self.machine.write(KERNEL + "scrub_stats/" + name, "%d\n" % value)

    def test_late(self):
        """When it will miss, or has missed, the deadline of freeblock.conf, once a pass."""
        self.assertEqual(self.told(), [])
        due.keep(store.disk_of("sda"), {"first": NOW, "began": NOW, "ended": None})
        self.scrubbing(9 * DAY)
        self.assertEqual(self.told(), [])
        # a rate of some minutes may be any
        self.scrubbing(11 * DAY, lasted_s=599)
        self.assertEqual(self.told(), [])
        self.scrubbing(11 * DAY)
        kind, message = self.told()[0]
        self.assertEqual(kind, "scrub_late")
        self.assertEqual(message, "sda: the scrub will miss its deadline, " + time.strftime(
            "%Y-%m-%d %H:%M", time.localtime(NOW + 10 * DAY)))
        self.scrubbing(9 * DAY)
        self.assertEqual(self.told(), [])
        self.scrubbing(11 * DAY)
        self.assertEqual(self.told(), [])
        # the next pass, of which nobody has begun anything
        self.scrubbing(1, "idle")
        due.keep(store.disk_of("sda"), {"first": NOW, "began": None, "ended": NOW})
        self.assertEqual(self.told(NOW + 40 * DAY - 1), [])
        self.assertRegex(self.told(NOW + 40 * DAY)[0][1], "the scrub has missed its deadline")

    def test_held(self):
        """A scrub that waits for somebody, once, and for whoever asks; not before a pass begins.

        Seen to fail: at each look."""
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n"
                           "max_bad_blocks = 1\n")
        self.machine.write(KERNEL + "state/attached", "1\n")
        self.machine.write("sys/kernel/debug/freeblock/sda/bad_blocks", "0 8 medium\n8 8 medium\n")
        self.assertEqual(self.told(), [])
        due.keep(store.disk_of("sda"), {"first": NOW, "began": NOW, "ended": None})
        said = "the scrub waits for approval: max_bad_blocks = 1: this pass has found 2 new bad " \
            "blocks; run: freeblock scrub sda allow"
        self.assertEqual(self.told(), [("scrub_held", "sda: " + said)])
        self.assertEqual(self.told(), [])
        self.assertEqual(self.check(NOW)[::2], (1, None))
        self.assertIn(said, self.do("status", "--check")[1])
        self.assertRegex(self.do("metrics")[1], r'freeblock_alarm{.*alarm="scrub_held"} 1')

    def test_paused(self):
        """A scrub that is paused for more than a day, once; not one that a program holds, nor one
        that has been resumed. Seen to fail: at each look; the pause before counted."""
        self.machine.write(KERNEL + "state/attached", "1\n")
        for day, state, held, told in (
                (0, "paused", None, 0), (1, "paused", None, 0), (1.1, "running", None, 0),
                (1.2, "paused", None, 0), (2, "paused", None, 0), (2.3, "paused", None, 1),
                (2.4, "paused", None, 0), (2.5, "paused", "too warm", 0), (3.6, "paused", None, 0),
                (4.7, "paused", None, 1)):
            self.machine.write(KERNEL + "scrub", state + "\n")
            waits.note("sda", held)
            now = int(NOW + day * DAY)
            said = "the scrub is paused for 1d02h; run: freeblock scrub sda resume"
            self.assertEqual(self.told(now), [("scrub_paused", "sda: " + said)] * told, day)
            if told:
                with mock.patch("time.time", return_value=now):
                    self.assertEqual(self.do("status", "--check"),
                                     (1, "FREEBLOCK WARNING - sda: %s\n" % said))
        self.machine.write(KERNEL + "scrub", "running\n")
        with mock.patch("time.time", return_value=now):
            self.assertNotIn("paused", self.do("status", "--check")[1])

    def check(self, now):
        """What status --check and metrics say then of the scrub: (status, line, alarm)."""
        with mock.patch("time.time", return_value=now):
            status, line = self.do("status", "--check")
            page = self.do("metrics")[1]
        found = re.search(r'^freeblock_alarm{.*alarm="scrub_late".*} (.)$', page, re.M)
        return status, line.strip(), int(found.group(1)) if found else None

    def test_late_outside(self):
        """While a scrub waits for its hours it is late all the same, for whoever asks: stopped when
        the window closed, by its rate before; never begun, when no hour of the window is left.

        Seen to fail: well, as soon as the window has closed; no event before the deadline."""
        self.machine.write(KERNEL + "state/attached", "1\n")
        noon = int(time.mktime((2027, 1, 10, 12, 0, 0, 0, 0, -1)))
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n"
                           "deadline_days = 10\nwindow = 22-6\n")
        due.keep(store.disk_of("sda"), {"first": noon, "began": noon, "ended": None})
        # eight hours a night
        for nights, late in ((9.9, 0), (10.1, 1)):
            self.scrubbing(int(nights * 8 * 3600), "stopped")
            self.assertEqual([kind for kind, _ in self.told(noon)], ["scrub_late"] * late)
            status, line, alarm = self.check(noon)
            self.assertEqual((status, alarm), (late, late))
            if late:
                self.assertEqual(line, "FREEBLOCK WARNING - sda: the scrub will miss its deadline, "
                                 "2027-01-20 12:00")
        self.scrubbing(1, "idle")
        due.keep(store.disk_of("sda"), {"first": noon - DAY, "began": None, "ended": None})
        for hour, late in ((17.9, 0), (18.1, 1)):
            now = int(noon + 8 * DAY + hour * 3600)
            self.assertEqual((self.check(now)[2], len(self.told(now))), (late, late))
        # the others' alarms do not hang on freeblock.conf
        self.machine.write("etc/freeblock.conf", "[all]\ndeadline_days = soon\n")
        self.assertEqual(self.check(noon)[::2], (0, None))

    def test_distrusted(self):
        """When it becomes so, and again after it was well."""
        for why, told in (("", 0), ("the model is distrusted: so noisy", 1),
                          ("the model is distrusted: so noisy", 0), ("", 0),
                          ("completions do not fit the model: wrong model, write cache, or "
                           "busy host", 1), ("no model", 0)):
            self.machine.write(KERNEL + "state/knowledge", "none: %s\n" % why if why else "map\n")
            self.assertEqual(self.told(), [("distrusted", "sda: " + why)] * told)

    def test_stopped(self):
        """Stopped for good, it is told once a boot, and stopped again after a boot, until somebody
        acts, by freeblock or in the kernel's file.

        Seen to fail: a record that nobody writes back; one that outlives a resume; one that is
        written back where nothing is measured."""
        record = os.path.join(self.machine.root, "var/lib/freeblock/stopped", WWN)
        why = "stopped for good at 5.00 +- 0.40 ms (30.0 %)"
        self.machine.write("etc/freeblock/enabled/" + WWN, "")

        def boot(trial="1"):
            """What the kernel has in its file after the disk has appeared."""
            self.machine.boot(enabled=False)
            os.unlink(os.path.join(self.machine.root, events.TOLD))
            self.machine.command(["modprobe", "freeblock"])
            self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
            self.machine.write(KERNEL + "trial", trial)
            folder = os.path.join(self.machine.root, "journals")
            status, said = self.do("models", "load", "--at-boot", "--scheduler", "--dir", folder,
                                   "--journals", folder, "sda")
            self.assertEqual(status, 0, said)
            self.assertEqual("free reads stay " + why in said,
                             self.machine.read(KERNEL + "trial") == "stop")
            return self.machine.read(KERNEL + "trial")

        for said, told in (("not known", 0), ("not known; stopped at 5.00 +- 0.40 ms (30.0 %)", 0),
                           ("not known; " + why, 1), ("not known; " + why, 0)):
            self.machine.write(KERNEL + "state/cost", said + "\n")
            self.assertEqual(self.told(), [("stopped", "sda: free reads are " + why)] * told)
        for trial, held in (("1", "stop"), ("0", "0"), ("1", "stop")):
            self.assertEqual(boot(trial), held)
            self.told()
        self.machine.write(KERNEL + "state/cost", "not known; stopped for good\n")
        self.assertEqual(len(self.told()), 1)
        self.machine.write(KERNEL + "state/cost", "not known\n")
        self.assertEqual((self.told(), os.path.exists(record), boot()), ([], False, "1"))
        self.machine.write(KERNEL + "state/cost", "not known; " + why + "\n")
        self.told()
        self.assertTrue(os.path.exists(record))
        with mock.patch("freeblock.state.health.watched", return_value=[fbstate.Disk("sda")]):
            self.assertEqual(self.do("trial", "--on")[0], 0)
        self.assertFalse(os.path.exists(record))

    def test_kept_off(self):
        """The guard keeps a disk off at boot."""
        self.machine.write("sys/block/sda/queue/scheduler", "mq-deadline\n")
        self.machine.write("proc/cmdline", "quiet freeblock.off=1\n")
        directory = os.path.join(self.machine.root, "models")
        self.assertEqual(self.do("models", "install", self.file, "--dir", directory)[0], 0)
        del self.machine.told[:]
        self.assertEqual(self.do("models", "load", "--at-boot", "--scheduler", "--dir", directory,
                                 "--journals", directory, "sda")[0], 1)
        self.assertEqual(self.kinds(), [("kept_off", "sda: freeblock stays off: freeblock.off=1 is "
                                         "on the kernel's command line")])

    def test_logger(self):
        """What the journal does not take is said, and why: a unit's errors are in the journal, too.
        Seen to fail: a status that nobody looks at."""
        out = io.StringIO()
        with mock.patch.object(events.kernel, "command",
                               return_value=(1, "logger: no --journald")), \
                contextlib.redirect_stderr(out):
            events.send("kept_off", "sda", "it stays off")
        self.assertEqual(out.getvalue(), "freeblock: sda: it stays off (without its message id: "
                         "logger: no --journald)\n")

    def test_spoiled(self):
        """Whatever is in the file, it counts as nothing told. Seen to fail: a RecursionError."""
        for text in ("[" * 100000, "{", "[]", '{"x": 1}', "\xff"):
            self.machine.write(events.TOLD, text.encode("latin-1"))
            self.machine.write(KERNEL + "state/bad_blocks", "1\n")
            self.assertEqual([kind for kind, _ in self.told()], ["bad_blocks"], text[:20])

    def test_off(self):
        """Nothing is left of it when freeblock is off."""
        self.machine.write("sys/block/sda/queue/scheduler", "mq-deadline\n")
        self.machine.unload()
        os.unlink(os.path.join(self.machine.root, "etc/freeblock.conf"))
        before = self.tree()
        self.assertEqual(self.set_up()[0], 0)
        self.machine.write(KERNEL + "state/bad_blocks", "1\n")
        self.assertEqual(len(self.told()), 1)
        self.assertIn(events.TOLD, self.tree())
        self.assertEqual(self.do("off", "--all")[0], 0)
        self.assertEqual(self.tree(), before)


class Window(Case):
    """When a scrub is over that reads at some hours only."""

    def test_misses(self):
        """Hours inside count, those outside do not; by the minute.

        Seen to fail: a rate that holds day and night; whole hours."""
        noon = time.mktime((2026, 1, 10, 12, 30, 0, 0, 0, -1))
        for window, hours, until, missed in (
                (None, 5, 5, False), (None, 5, 4.99, True), (None, None, 1, False),
                (None, None, 0, True), (None, 0, -1, False), ("22-6", 1, 10.4, True),
                ("22-6", 1, 10.5, False), ("22-6", 9, 34.4, True), ("22-6", 9, 34.6, False),
                ("22-6", None, 9.4, True), ("22-6", None, 9.6, False),
                ("12-13", 0.5, 0.5, False), ("12-13", 0.6, 20, True),
                ("12-13", 0.6, 23.7, False)):
            self.assertEqual(due.misses(window and Windows(window), noon + until * 3600,
                                        None if hours is None else hours * 3600, noon), missed,
                             (window, hours, until))


class Catalog(Case):
    """What journalctl -x explains."""

    def test_all(self):
        """Each message has its entry, and its line on the page, and no other has."""
        with open(CATALOG, encoding="utf-8") as file:
            entries = re.findall(r"^-- ([0-9a-f]{32})\nSubject: .+\nDefined-By: freeblock\n",
                                 file.read(), re.M)
        ids = [ident for ident, _ in events.KINDS.values()]
        self.assertEqual(sorted(entries), sorted(ids))
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(sorted(re.findall(r"``([0-9a-f]{32})``", text)), sorted(ids))
