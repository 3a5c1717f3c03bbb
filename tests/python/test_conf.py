# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock.conf: what it says of which disk, every mistake with its line, and when scrubs
are started and stopped by it. The machine is a tree of files. Takes a second.
"""

import datetime
import json
import os
import re
import time
from unittest import mock

import processes
from taptest import TOP
from fakemachine import WWN, Case, missing_options
from freeblock import ToolError, fbstate
from freeblock.commands import scrub
from freeblock.drive import names, store
from freeblock.machine import badblocks, conf, due, gate, waits, window
from freeblock.machine.window import Windows

DAY = due.DAY_S
MONDAY = 4 * DAY                 # 1970-01-05
PAGE = os.path.join(TOP, "Documentation", "conf-format.rst")
EXAMPLE = os.path.join(TOP, "Documentation", "freeblock.conf")
MISTAKES = (
    ("scrub_every_days = 30\n", 1, "neither .section. nor key = value: scrub_every_days = 30"),
    ("[all]\nnonsense\n", 2, "neither .section. nor key = value: nonsense"),
    ("[all]\n[all]\n", 2, "is there twice"),
    ("[all]\norder = near\norder = near\n", 3, "order is said twice in .all."),
    ("[disk sda]\n", 1, "a section is .all., .wwn PATTERN."),
    ("[wwn ]\n", 1, "a section is"),
    ("[DEFAULT]\n", 1, "a section is"),
    ("# x\n\n[all]\nscrub_days = 3\n", 4, "scrub_days = 3: no such key; there are scrub_every"),
    ("[all]\nScrub_Every_Days = 3\n", 2, "no such key"),
    ("[all]\nscrub_every_days = 0\n", 2, "want a whole number from 1 to 3650, or never"),
    ("[all]\nscrub_every_days = 3651\n", 2, "want a whole number"),
    ("[all]\nscrub_every_days = 3.5\n", 2, "want a whole number"),
    ("[all]\nscrub_every_days = -3\n", 2, "want a whole number"),
    ("[all]\nscrub_every_days =\n", 2, "want a whole number"),
    ("[all]\nscrub_every_days = 3\n  4\n", 3, "neither .section. nor key = value: 4$"),
    ("  [all]\n  order = x\n", 2, "order = x: want"),
    ("[all] # [x]\norder = x\n", 2, "order = x: want"),
    ("[all]\norder = near\n\n[all] order = near\n", 4, ".all. order = near: no such key"),
    ("[all] x\norder = near\n", 1, "neither .section. nor key = value: .all. x$"),
    ("[all]\rorder = near\r", 1, "neither .section. nor key = value"),
    ("# a\u2028b\x0cc\n[all]\norder = x\n", 3, "order = x: want"),
    ("[\0]\norder = near\n", 1, "a section is .all."),
    ("[all]\nidle_mean_us = never\n", 2, "want a whole number from 0 to 10000000$"),
    ("[all]\npower = off\n", 2, "power = off: want respect or keep-awake$"),
    ("[all]\nidle_max_us = 999\n", 2, "want a whole number from 1000 to"),
    ("[all]\nforeground_cost_ppm = 0\n", 2, "want a whole number from 1 to 500000"),
    ("[all]\ntarget_slowdown_ppm = 1000001\n", 2, "want a whole number from 0 to 1000000"),
    ("[all]\nwindow = 22\n", 2, "want hours, FROM-TO, that differ"),
    ("[all]\nwindow = 22-25\n", 2, "want hours"),
    ("[all]\nwindow = 24-6\n", 2, "want hours"),
    ("[all]\nwindow = 6-6\n", 2, "want hours"),
    ("[all]\nwindow = 0-24\n", 2, "want hours"),
    ("[all]\nwindow = 22:60-6\n", 2, "want hours"),
    ("[all]\nwindow = 24:01-6\n", 2, "want hours"),
    ("[all]\nwindow = 22-6,12-13\n", 2, "several with a comma and a blank"),
    ("[all]\nwindow = 22-6, \n", 2, "want hours"),
    ("[all]\nwindow = Saturday 22-6\n", 2, "days before them, as in Sat,Sun 0-24"),
    ("[all]\nwindow = Sat..Foo 22-6\n", 2, "want hours"),
    ("[all]\nwindow = Mon.. 22-6\n", 2, "want hours"),
    ("[all]\nwindow =\n", 2, "want hours"),
    ("[all]\nmax_mb_s = fast\n", 2, "want MB/s, 0 to 4294"),
    ("[all]\nmax_mb_s = 4294.1\n", 2, "want MB/s, 0 to 4294"),
    ("[all]\nmax_mb_s = 0.01\n", 2, "at least 0.1 MB/s, or 0 for no limit"),
    ("[all]\nmax_concurrent = 0\n", 2, "want a whole number from 1 to 10000"),
    ("[all]\nmax_celsius = 101\n", 2, "want a whole number from 20 to 100"),
    ("[all]\ninhibit =\n", 2, "want a command"),
    ("[all]\ninhibit = true \0\n", 2, "want a command"),
    ("[all]\nmax_bad_blocks = 501\n", 2, "want a whole number from 1 to 500, or none"),
    ("[wwn naa.5*]\nmax_bad_disks = 3\n", 2, "a number for the machine, in .all."),
    # patterns that can match nothing
    ("[wwn x]\n", 1, "it can match no disk: a world-wide name is naa. or 0x and 16 or 32"),
    ("[wwn 0x5000c500a1b2c3d]\n", 1, "it can match no disk"),
    ("[wwn 0x5000c500a1b2c3g?]\n", 1, "it can match no disk"),
    ("[wwn t10.ATA*]\n", 1, "it can match no disk"),
    ("[wwn naa.[xyz]*]\n", 1, "it can match no disk"),
    ("[model ST16000NM001G-2KK103]\n", 1, r"16 letters .*: .model ST16000NM001G-2K\*.$"),
    ("[model ACME ST16000NM001G-2KK103]\n", 1, "it can match no disk: a product has 16"),
    ("[path /dev/sda]\n", 1, "a path is the name of a link in /dev/disk/by-id or /dev/disk/by-p"),
    ("[path sda]\n", 1, "a path is the name of a link"),
    ("[path /dev/disk/by-uuid/x]\n", 1, "a path is the name of a link"),
    ("[path by-id/ata-x/y]\n", 1, "a path is the name of a link"),
    ("[path ata-ACME DISK]\n", 1, "names of links have _ in place of blanks"),
    ("[path ata-ACME_DISK-part1]\n", 1, "a partition: leave out -part1$"),
    # values of which one excludes another
    ("[all]\nscrub_every_days = 7\ndeadline_days = 8\n", 3, "deadline_days = 8 and "
     "scrub_every_days = 7: the next pass would be due before the deadline$"),
    ("[all]\nscrub_every_days = 30\n[wwn naa.5*]\nidle_max_us = 1000\ndeadline_days = 31\n", 5,
     "deadline_days = 31 and scrub_every_days = 30"),
    ("[model ST*]\ndeadline_days = 31\n[all]\nscrub_every_days = 30\n", 4, "deadline_days = 31"),
    ("[all]\nidle_mean_us = 1001\nidle_max_us = 1000\n", 3, "no mean is more than the most"),
    ("[all]\norder = random\n", 2, "want sequential, near or staggered=REGIONS"),
    ("[all]\norder = staggered=0\n", 2, "want sequential"),
)


class Text(Case):
    """The file alone."""

    def load(self, text):
        """A file of this text."""
        return conf.load(self.machine.write("F", text.encode()))

    def test_mistakes(self):
        """Each with its line and the reason.

        Seen to fail: places counted from 0; a reader that takes any number of days; lines with
        the blanks before them; words behind a section that are passed over; places of splitlines();
        a section that is the parser's default; each pattern that matches nothing, and each
        contradiction."""
        for text, line, words in MISTAKES:
            with self.assertRaises(ToolError, msg=text) as caught:
                self.load(text)
            self.assertRegex(str(caught.exception), r"^\S*/F:%d: .*%s" % (line, words), text)

    def test_all_at_once(self):
        """Every bad line is named."""
        with self.assertRaises(ToolError) as caught:
            self.load("[all]\norder = x\n\n[wwn *]\nwindow = x\nidle_max_us = x\n[x]\n")
        self.assertEqual([os.path.basename(line.split(" ")[0])
                          for line in str(caught.exception).splitlines()],
                         ["F:2:", "F:5:", "F:6:", "F:7:"])

    def test_not_contradictory(self):
        """A section that is more special may set both keys; the pass is over when the next one is
        due, at the latest."""
        for text in ("[all]\nscrub_every_days = 7\ndeadline_days = 7\n",
                     "[all]\nscrub_every_days = never\ndeadline_days = 7\n",
                     "[all]\nscrub_every_days = 7\n[wwn naa.5*]\nscrub_every_days = 30\n"
                     "[wwn 0x50*]\ndeadline_days = 30\n",
                     "[model A*]\nscrub_every_days = 7\n[wwn naa.5*]\ndeadline_days = 30\n"):
            self.assertTrue(self.load(text), text)

    def test_values(self):
        """What is right is read as such."""
        found = self.load("""
; comment
[all]
scrub_every_days = never   # in a line, too
window=22-6
order = staggered=128
[model ST*]
window = always
deadline_days = 3650
idle_mean_us = 0
""")
        self.assertEqual([section.values for section in found.sections],
                         [{"scrub_every_days": None, "window": Windows("22-6"),
                           "order": "staggered=128"},
                          {"window": None, "deadline_days": 3650, "idle_mean_us": 0}])

    def test_not_text(self):
        """Bytes that are no text; a file that is not there; none at all; a mark of byte order,
        which other systems' editors leave.

        Seen to fail: that mark taken for a letter."""
        path = self.machine.write("x.conf", b"[all]\n# \xff\n")
        self.assertRaisesRegex(ToolError, "x.conf:2: not UTF-8", conf.load, path)
        self.assertEqual(self.do("conf", "check", "/nonexistent")[0], 1)
        # seen to fail: "well: 0 sections"
        status, said = self.do("conf", "check")
        self.assertEqual(status, 0)
        self.assertIn("it is not there", said)
        self.assertEqual(conf.load().sections, [])
        path = self.machine.write("x.conf", b"\xef\xbb\xbf[all]\r\norder = near\r\n")
        self.assertEqual(conf.load(path).sections, [conf.Section("all", "", {"order": "near"})])

    def test_folder(self):
        """Files of freeblock.conf.d come after it, by name; a mistake names its own file, and two
        files can contradict each other.

        Seen to fail: a file whose name does not end with .conf; places of the wrong file."""
        self.machine.write("etc/freeblock.conf", "[all]\norder = near\nidle_max_us = 5000\n")
        self.machine.write("etc/freeblock.conf.d/20.conf", "[all]\norder = sequential\n")
        self.machine.write("etc/freeblock.conf.d/10.conf", "\n[all]\norder = staggered=2\n")
        self.machine.write("etc/freeblock.conf.d/30.bak", "nonsense")
        said = conf.load().of(store.disk_of("sda"))
        self.assertEqual((said["order"], said["idle_max_us"]), ("sequential", 5000))
        status, out = self.do("conf", "check")
        self.assertEqual((status, [line.split("/")[-1] for line in out.splitlines()]),
                         (0, [name + ".conf: well: 1 sections"
                              for name in ("freeblock", "10", "20")]))
        self.machine.write("etc/freeblock.conf.d/10.conf", "\n[all]\n\nidle_mean_us = 5001\n")
        self.assertRegex(self.do("conf", "check")[1],
                         r"/10.conf:4: idle_mean_us = 5001 and idle_max_us = 5000: no mean")
        self.machine.write("etc/freeblock.conf.d/10.conf", "\n[all]\norder = x\n")
        self.machine.write("etc/freeblock.conf.d/20.conf", "[nobody]\n")
        self.assertRegex(self.do("conf", "check")[1], r"/10.conf:3: order = x: .*\n.*/20.conf:1: ")

    def test_unreadable(self):
        """A folder, and a link that leads nowhere, are mistakes, beside others; an empty file is
        none, and a hidden one is an editor's.

        Seen to fail: the link passed over; the folder, which hid the others' mistakes."""
        folder = "etc/freeblock.conf.d/"
        self.machine.write(folder + "10.conf", "")
        self.machine.write(folder + ".20.conf", "nonsense")
        os.symlink("nowhere", os.path.join(self.machine.root, folder, ".#10.conf"))
        self.assertEqual(self.do("conf", "check")[0], 0)
        os.symlink("nowhere", os.path.join(self.machine.root, folder, "30.conf"))
        os.mkdir(os.path.join(self.machine.root, folder, "40.conf"))
        self.machine.write(folder + "50.conf", "[nobody]\n")
        status, said = self.do("conf", "check")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"/30.conf: No such file .*\n.*/40.conf: Is a dir.*\n.*/50.conf:1: ")

    def test_page(self):
        """The page about the format has the keys that there are."""
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(set(re.findall(r"^``(\w+)``", text, re.M)), set(conf.KEYS))
        self.assertIn(".. literalinclude:: freeblock.conf\n", text)

    def test_example(self):
        """The example, which the page shows and the package ships, is right as it stands."""
        found = conf.load(EXAMPLE)
        self.assertEqual({section.kind for section in found.sections},
                         {"all", "wwn", "path", "model"})


class Disks(Case):
    """Which disks it is about."""

    def of(self, text, name="sda"):
        """What it says of the order."""
        return conf.load(self.machine.write("F", text)).of(store.disk_of(name))["order"]

    def test_patterns(self):
        """By world-wide name, as sysfs, lsblk and our metrics, by-id, hdparm and smartctl print it;
        by the names of links; by model; the last section that fits counts.

        Seen to fail: all names but sysfs's."""
        folder = os.path.join(self.machine.root, "dev/disk/by-path")
        os.makedirs(folder)
        os.symlink("../../sda", os.path.join(folder, "pci-0000:00:1f.2-ata-1"))
        os.symlink("../../sdaa", os.path.join(folder, "pci-0000:00:1f.2-ata-2"))
        for section, fits in (
                ("all", True), ("wwn " + WWN, True), ("wwn naa.5000c5*", True),
                ("wwn naa.5000C5*", True), ("wwn 5000c5*", True), ("wwn 0x5000c5*", True),
                ("wwn 0x" + WWN[4:], True), ("wwn wwn-0x" + WWN[4:], True),
                ("wwn 5 000c50 0a1b2c3d4", True), ("wwn eui.5000c5*", False),
                ("wwn 0x" + WWN[4:-1] + "5", False), ("model DISK 9", True),
                ("path /dev/disk/by-path/pci-*-ata-1", True), ("path by-path/*-ata-1", True),
                ("path /dev/disk/by-id/*-ata-1", False), ("path *", True),
                ("model ACME DISK*", True), ("model DISK", False), ("path pci-*-ata-1", True),
                ("path pci-*-ata-2", False)):
            self.assertEqual(self.of("[%s]\norder = near\n" % section),
                             "near" if fits else None, section)
        self.assertEqual(self.of("[model *]\norder = near\n[wwn *]\nidle_max_us = 1000\n"
                                 "[all]\norder = sequential\n[wwn *5]\norder = near\n"),
                         "sequential")

    def test_check(self):
        """A section that fits no disk of the machine is named; two that contradict each other on
        one are refused.

        Seen to fail: both, accepted without a word."""
        path = self.machine.write("x.conf", "[all]\norder = near\n\n[wwn 0x5000c5*]\n"
                                  "scrub_every_days = 7\n[model NO*]\ndeadline_days = 9\n")
        self.assertEqual(self.do("conf", "check", path), (
            0, "%s:6: [model NO*] fits no disk that is here\n%s: well: 3 sections\n" % (
                path, path)))
        path = self.machine.write("x.conf", "[wwn 0x5000c5*]\nscrub_every_days = 7\n"
                                  "[model DISK*]\ndeadline_days = 9\n")
        status, said = self.do("conf", "check", path)
        self.assertEqual(status, 1)
        self.assertIn("freeblock: sda: its sections set deadline_days = 9 and scrub_every_days = "
                      "7: the next pass", said)

    def test_apply(self):
        """Values go to the files of the disk; what the kernel refuses is said; a mistake changes
        nothing."""
        self.machine.command(["modprobe", "freeblock"])
        self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
        self.machine.write("etc/freeblock.conf", "[all]\nidle_mean_us = 7\nidle_max_us = x\n")
        before = self.tree()
        self.assertRegex(self.do("conf", "apply")[1], "freeblock.conf:3: idle_max_us = x")
        self.assertEqual(self.tree(), before)
        self.machine.write("etc/freeblock.conf", "[all]\nidle_mean_us = 7\n")
        self.assertEqual(self.do("conf", "apply"), (0, "sda: idle_mean_us 7\n"))
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sda/idle_mean_us"), "7\n")
        self.machine.write("etc/freeblock.conf", "[all]\nmax_mb_s = 6.2\n")
        self.assertEqual(self.do("conf", "apply"), (0, "sda: max_kib_s 6054\n"))
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sda/max_kib_s"), "6054\n")
        self.machine.write("etc/freeblock.conf", "[all]\npower = keep-awake\n")
        self.assertEqual(self.do("conf", "apply"), (0, "sda: power keep-awake\n"))
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sda/power"), "keep-awake\n")
        self.assertEqual(self.do("conf", "apply"), (0, ""))
        self.machine.unload()
        self.assertEqual(self.do("conf", "apply", "sda")[0], 1)

    def test_converge(self):
        """`freeblock apply` does what is not done yet, says so, and does nothing the next time.

        Seen to fail: --check that writes; status 3 of nothing."""
        self.assertEqual(self.do("apply"), (0, ""))
        self.machine.write("etc/freeblock.conf", "[all]\nenable = yes\nidle_mean_us = 700\n")
        before = self.tree()
        status, said = self.do("apply", "--check", "--diff")
        self.assertEqual((status, said), (3, "sda: scheduler mq-deadline -> freeblock\n"))
        self.assertEqual(self.tree(), before)
        status, said = self.do("apply")
        self.assertEqual((status, said.splitlines()[0]), (3, "sda: scheduler freeblock"))
        self.do("off", "sda")
        # seen to fail: the scheduler of afterwards as that of before
        self.assertEqual(self.do("apply", "--diff"),
                         (3, "sda: scheduler mq-deadline -> freeblock\n"))
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sda/idle_mean_us"), "700\n")
        self.assertEqual(self.do("apply"), (0, ""))
        self.machine.write("etc/freeblock.conf", "[all]\nenable = yes\nidle_mean_us = 800\n")
        self.assertEqual(self.do("apply", "--diff", "--check"),
                         (3, "sda: idle_mean_us 700 -> 800\n"))
        self.assertEqual(self.machine.read("sys/kernel/freeblock/sda/idle_mean_us"), "700\n")
        self.assertEqual(self.do("apply", "--diff"), (3, "sda: idle_mean_us 700 -> 800\n"))
        self.assertEqual(self.do("apply", "--diff"), (0, ""))
        self.machine.write("etc/freeblock.conf", "[all]\nidle_mean_us = x\n")
        self.assertEqual(self.do("apply")[0], 1)


class Decide(Case):
    """When scrubs begin and end."""

    def test_window(self):
        """Hours of the week (Monday's are 0 to 23), over midnight, too: its last minute is outside.

        Seen to fail: a window over midnight that begins on the day on which it ends; Sat..Mon
        taken for no day."""
        night = {day * 24 + hour for day in range(7) for hour in (22, 23, 0, 1)}
        for text, inside in (
                ("1-5", {day * 24 + hour for day in range(7) for hour in range(1, 5)}),
                ("22-2", night), ("Sat 22-2", {142, 143, 144, 145}), ("Sun 23-1", {167, 0}),
                ("Sat..Mon 0-24", {*range(120, 168), *range(24)}),
                ("Mon,Wed 1-2, Fri 3-24:00", {1, 49, *range(99, 120)})):
            found = Windows(text)
            self.assertEqual({hour for hour in range(168) if found.is_open(
                time.gmtime(MONDAY + hour * 3600))}, inside, text)
        found = Windows("22:30-6:15")
        for hour, minute, inside in ((22, 29, False), (22, 30, True), (6, 14, True),
                                     (6, 15, False)):
            self.assertEqual(found.is_open(time.gmtime(MONDAY + hour * 3600 + minute * 60)), inside)
        for text, minutes in (("23:59-0:00", [1439]), ("23-0, 23-24:00", list(range(1380, 1440)))):
            self.assertEqual([minute for minute in range(1440) if Windows(text).is_open(
                time.gmtime(MONDAY + minute * 60))], minutes)
        with mock.patch.object(window.time, "localtime", time.gmtime):
            for begin, end, seconds in ((0, 86400, 7.75 * 3600), (0, 60, 60), (22500, 81000, 0),
                                        (81030, 81040, 10), (9, 9, 0)):
                self.assertEqual(window.open_s(found, MONDAY + begin, MONDAY + end), seconds)

    def test_clock(self):
        """A window is as long as the clock makes it where that is put forward and back; a second
        that is too much ends.

        Seen to fail: the leap second, at which no time passed."""
        def put_back():
            os.environ.pop("TZ")
            time.tzset()

        self.addCleanup(put_back)
        os.environ["TZ"] = "CET-1CEST,M3.5.0,M10.5.0/3"
        time.tzset()
        for month, day, hours in ((3, 28, 7), (3, 27, 8), (10, 24, 9)):
            begin = datetime.datetime(2026, month, day, 12).timestamp()
            self.assertEqual(window.open_s(Windows("22-6"), begin, begin + DAY), hours * 3600)
        leap = time.struct_time((2016, 12, 31, 23, 59, 60, 5, 366, 0))
        self.assertEqual(Windows("22-6").next_s(leap), 1)

    def test_table(self):
        """Every combination that counts.

        Seen to fail: a pass that has begun and is not due yet by the day that the last one ended;
        a deadline that counts from the end of the last pass."""
        said = {"scrub_every_days": 30, "deadline_days": 5, "window": Windows("22-6")}
        new = {"first": 0, "began": None, "ended": None}
        done = {"first": 0, "began": None, "ended": 100 * DAY}
        half = {"first": 0, "began": 101 * DAY, "ended": 100 * DAY}
        never = {**said, "scrub_every_days": None}
        for words, record, day, hour, running, want in (
                (said, new, 1, 23, False, "start"), (said, new, 1, 12, False, ""),
                (said, new, 1, 23, True, ""), (said, new, 1, 12, True, "stop"),
                (said, new, 5, 12, False, "start"), (said, new, 5, 12, True, ""),
                (said, done, 129, 23, False, ""), (said, done, 129, 23, True, "stop"),
                (said, done, 130, 23, False, "start"), (said, done, 134, 12, False, ""),
                (said, done, 135, 12, False, "start"),
                ({**said, "deadline_days": None}, done, 999, 12, False, ""),
                (said, half, 102, 23, False, "start"), (said, half, 102, 12, True, "stop"),
                (never, new, 99, 23, False, ""), (never, half, 102, 23, True, "stop")):
            with mock.patch.object(window.time, "localtime", time.gmtime):
                self.assertEqual(due.decide(words, record, day * DAY + hour * 3600, running)[0],
                                 want, (words, record, day, hour, running))


class Scrubs(Case):
    """The timer's service and the unit's."""

    UNIT = "run/units/freeblock-due@sda.service"

    def setUp(self):
        super().setUp()
        self.machine.command(["modprobe", "freeblock"])
        self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\nwindow = 22-6\n")

    def at(self, day, hour):
        """The timer elapses then; what is said."""
        when = datetime.datetime(2026, 1, day, hour).timestamp()
        with mock.patch("time.time", return_value=when):
            return self.do("conf", "due")

    def test_window(self):
        """It begins at night, is stopped in the morning, and goes on the next night; a disk with
        another scheduler is left alone."""
        self.assertEqual(self.at(1, 12), (0, ""))
        self.assertEqual(self.at(1, 22), (0, "sda: scrub: start: it is due\n"))
        self.assertIn(self.UNIT, self.tree())
        self.assertEqual(self.at(1, 23), (0, ""))
        self.assertEqual(self.at(2, 6),
                         (0, "sda: scrub: stop: it is due, outside of its window\n"))
        self.assertNotIn(self.UNIT, self.tree())
        self.machine.write("sys/block/sda/queue/scheduler", "mq-deadline\n")
        self.assertEqual(self.at(2, 22), (0, ""))
        self.machine.write("sys/block/sda/queue/scheduler", "freeblock\n")
        self.assertEqual(self.at(2, 22)[1], "sda: scrub: start: it is due\n")

    def test_mistake(self):
        """Nothing is started or stopped by a file with a mistake."""
        self.at(1, 22)
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = never\nwindow = 1\n")
        before = self.tree()
        status, said = self.at(2, 12)
        self.assertEqual(status, 1)
        self.assertRegex(said, "freeblock.conf:3: window = 1")
        self.assertEqual(self.tree(), before)

    def test_refused(self):
        """What systemd says is passed on."""
        with mock.patch.object(self.machine, "systemctl", return_value=(5, "Unit not found")):
            status, said = self.at(1, 22)
        self.assertEqual(status, 1)
        self.assertRegex(said, "sda: scrub: start: it is due: Unit not found")

    def test_future(self):
        """The clock was ahead when a pass ended, or a record is of another world: from now on it
        counts as if that were now, which is said once; nobody waits for that day.

        Seen to fail: a scrub that is due in 2099."""
        self.at(1, 12)
        later = datetime.datetime(2099, 1, 1).timestamp()
        record = {"first": int(later), "began": None, "ended": int(later)}
        due.keep(store.disk_of("sda"), record)
        status, said = self.at(2, 23)
        self.assertEqual(status, 0)
        self.assertRegex(said, "^sda: scrub: its record is of 2099-01-01, and the clock says "
                         "2026-01-02: .* now\n$")
        now = int(datetime.datetime(2026, 1, 2, 23).timestamp())
        self.assertEqual(due.record_of(store.disk_of("sda")),
                         {"first": now, "began": None, "ended": now, "start": None})
        self.assertEqual(self.at(3, 23), (0, ""))
        with mock.patch("time.time", return_value=now + 30 * DAY):
            self.assertRegex(self.do("conf", "due")[1], "start: it is due")
        # a clock that goes back by some hours, as at its first setting, is none of that
        due.keep(store.disk_of("sda"), {**record, "first": now, "ended": now + 3600})
        self.assertNotIn("record", self.at(2, 23)[1])

    def test_concurrent(self):
        """No more scrubs at a time than a section that fits the disks has; those that are due for
        longest go first. Seen to fail: disks that the section does not fit counted, too."""
        for name in ("sdb", "sdc"):
            self.machine.disk(name, wwn="naa.5000c500a1b2c3%s0" % name[2])
            self.machine.write("sys/block/%s/queue/scheduler" % name, "freeblock\n")
        old = {"first": 1, "began": None, "ended": None}
        due.keep(store.disk_of("sdc"), old)
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n"
                           "[wwn *0]\nmax_concurrent = 1\n")
        status, said = self.at(1, 12)
        self.assertEqual((status, said.splitlines()), (0, [
            "sdc: scrub: start: it is due", "sda: scrub: start: it is due",
            "sdb: scrub: it is due, but waits: max_concurrent = 1: sdc are at work"]))
        due.passed("sdc")
        self.machine.command(["systemctl", "--no-block", "stop", "freeblock-due@sdc.service"])
        self.assertRegex(self.at(2, 12)[1], "sdb: scrub: start: it is due")

    def test_failed(self):
        """A disk whose unit fails at once does not keep the others from their turn.

        Seen to fail: it was due for longest, and had the only place at each look."""
        self.machine.disk("sdb", wwn="naa.5000c500a1b2c3b0")
        self.machine.write("sys/block/sdb/queue/scheduler", "freeblock\n")
        due.keep(store.disk_of("sda"), {"first": 1, "began": 2, "ended": None})
        self.machine.write("etc/freeblock.conf",
                           "[all]\nscrub_every_days = 30\nmax_concurrent = 1\n")
        really = self.machine.systemctl

        def fails(*words):
            return (3, "failed") if words[-2:] == ("is-active", "freeblock-due@sda.service") \
                else really(*words)

        with mock.patch.object(self.machine, "systemctl", fails):
            status, said = self.at(1, 12)
        self.assertEqual((status, said.splitlines()), (0, [
            "sdb: scrub: start: it is due",
            "sda: scrub: it is due, but waits: max_concurrent = 1: sdb are at work"]))

    def test_inhibit(self):
        """A command that says no, or nothing, keeps a scrub from starting. Seen to fail: the
        command of another disk; no limit to how long it takes."""
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n"
                           "inhibit = test $FREEBLOCK_DISK != sda\n")
        self.assertEqual(self.at(1, 12), (0, "sda: scrub: it is due, but waits: inhibit: status 1 "
                                          "of: test $FREEBLOCK_DISK != sda\n"))
        with mock.patch.object(gate, "ANSWER_S", .1):
            self.assertRegex(gate.inhibited("sleep 5", "sda"), "no answer within 0 s: sleep 5")
        self.assertIsNone(gate.inhibited("true", "sda"))
        # one that reads, one that prints much, one that is killed
        self.assertIsNone(gate.inhibited("! read line", "sda"))
        self.assertIsNone(gate.inhibited("head -c 1000000 /dev/zero", "sda"))
        self.assertRegex(gate.inhibited("kill -9 $$", "sda"), "status -9 of")

    def test_inhibit_ends(self):
        """A command that is too slow ends with all that it has started, whatever it says to that.

        Seen to fail: what it had started lived on, once a minute more of it."""
        path = os.path.join(self.folder, "children")
        command = "trap '' TERM; sleep 999 & echo $! > %s; sleep 999; true" % path
        with mock.patch.object(gate, "ANSWER_S", .5):
            self.assertRegex(gate.inhibited(command, "sda"), "no answer")
        with open(path, encoding="ascii") as file:
            child = file.read().strip()
        processes.wait_for(lambda: not processes.is_running(child))

    def test_too_warm(self):
        """A drive above max_celsius is not read until it is 2 degrees below; without a sensor it is
        not, either. Asked each minute."""
        said = {**conf.load().of(store.disk_of("sda")), "max_celsius": 50}
        clock = [0]
        one = gate.Gate("sda", said, lambda: clock[0])
        self.assertRegex(one.why(), "nothing measures .* modprobe drivetemp")
        for minute, degrees, held in ((1, 50, False), (2, 51, True), (3, 49, True), (4, 48, False),
                                      (5, 50, False)):
            self.machine.write("sys/block/sda/device/hwmon/hwmon3/temp1_input", "%d000\n" % degrees)
            clock[0] = 60 * minute
            self.assertEqual(bool(one.why()), held, (minute, degrees))
        self.machine.write("sys/block/sda/device/hwmon/hwmon3/temp1_input", "99000\n")
        clock[0] += 59
        self.assertIsNone(one.why())
        # seen to fail: the error of a drive that is going away, which ended all disks' service
        clock[0] += 1
        self.machine.write("sys/block/sda/device/hwmon/hwmon3/temp1_input", "")
        self.assertRegex(one.why(), "nothing measures")

    def fleet(self, *names):
        """Disks beside sda, served."""
        for number, name in enumerate(names):
            self.machine.disk(name, wwn="naa.5000c500a1b2c3%02d" % number)
            self.machine.write("sys/block/%s/queue/scheduler" % name, "freeblock\n")

    def bad(self, name, count, now, first=0, times=1):
        """So many bad blocks are listed, and somebody looks."""
        self.machine.write("sys/kernel/debug/freeblock/%s/bad_blocks" % name, "".join(
            "%d 8 medium %d\n" % (8 * block, times) for block in range(first, first + count)))
        badblocks.note(fbstate.Disk(name), names.key(store.disk_of(name)), now)

    def test_bad_blocks(self):
        """New bad blocks beyond their budget hold a scrub until somebody allows more; those of an
        earlier pass are not new. Seen to fail: all that were ever found counted; a scrub that
        starts again by itself the next day; those that were allowed counted."""
        self.machine.write("etc/freeblock.conf",
                           "[all]\nscrub_every_days = 30\nmax_bad_blocks = 2\n")
        began = int(datetime.datetime(2026, 1, 1, 12).timestamp())
        due.keep(store.disk_of("sda"), {"first": 1, "began": began, "ended": None})
        self.bad("sda", 40, began - 9)
        self.bad("sda", 42, began + 5)
        self.assertEqual(self.at(1, 13)[1], "sda: scrub: start: it is due\n")
        self.machine.command(["systemctl", "--no-block", "stop", "freeblock-due@sda.service"])
        self.bad("sda", 43, began + 6)
        said = "max_bad_blocks = 2: this pass has found 3 new bad blocks; run: freeblock scrub " \
            "sda allow"
        for day in (1, 5):
            self.assertEqual(self.at(day, 14)[1], "sda: scrub: it is due, but waits: %s\n" % said)
        self.assertEqual(waits.read("sda"), said)
        one = gate.Gate("sda", conf.load().of(store.disk_of("sda")), began=began)
        self.assertEqual(one.why(), said)
        with mock.patch("time.time", return_value=began + 9):
            self.assertEqual(badblocks.allow(WWN), 43)
        self.assertEqual(self.at(5, 15)[1], "sda: scrub: start: it is due\n")
        self.assertIsNone(waits.read("sda"))
        # a pass that has verified them, or md: the module lists them still. Seen to fail: new again
        badblocks.forget(WWN, lambda first: first < 80)
        self.assertEqual(len(badblocks.load(WWN)[1]), 33)
        self.bad("sda", 44, began + 20)
        self.assertEqual(len(badblocks.load(WWN)[1]), 34)
        # once more bad they are new, and so they are in the list of a module that was loaded since
        self.bad("sda", 44, began + 21, times=2)
        self.assertEqual(len(badblocks.load(WWN)[1]), 44)
        badblocks.forget(WWN, lambda first: first < 80)
        self.bad("sda", 0, began + 22)
        self.bad("sda", 44, began + 23)
        self.assertEqual(len(badblocks.load(WWN)[1]), 44)

    def test_bad_disks(self):
        """So for disks of a machine on which bad blocks were found within a day.

        Seen to fail: blocks counted for disks; a day of the calendar; of all time."""
        self.fleet("sdb", "sdc", "sdd")
        self.machine.write("etc/freeblock.conf",
                           "[all]\nscrub_every_days = 30\nmax_bad_disks = 2\n")
        noon = int(datetime.datetime(2026, 1, 1, 12).timestamp())
        for name, count, hours in (("sda", 9, 0), ("sda", 10, .1), ("sdb", 1, 23),
                                   ("sdc", 1, 24.5)):
            self.bad(name, count, noon + int(3600 * hours))
        said = conf.load().of(store.disk_of("sdd"))
        self.assertIsNone(badblocks.held("sdd", said, None))
        self.bad("sda", 1, noon + 3600, first=10)
        self.assertEqual(badblocks.held("sdd", said, None), "max_bad_disks = 2: new bad blocks on "
                         "3 disks within a day; run: freeblock scrub --all allow")
        badblocks.allow(names.key(store.disk_of("sdb")))
        self.assertIsNone(badblocks.held("sdd", said, None))
        self.assertIsNone(badblocks.held("sdd", {**said, "max_bad_disks": None}, None))

    def test_bad_record(self):
        """One that is spoilt counts as none. Seen to fail: a TypeError; blocks of no sectors."""
        for text in ("", "[]", "{}", "[" * 100000, '{"blocks": 3}', '{"blocks": [[1, 8]]}',
                     '{"blocks": [[1, 0, 5]]}', '{"blocks": [[-8, 8, 5]]}',
                     '{"blocks": [[1, 8, null]]}', '{"blocks": [[1, 8, 5]], "listed": [[1]]}',
                     '{"allowed": "", "blocks": [[1, 8, 5]]}'):
            self.machine.write("var/lib/freeblock/x.bad", text)
            self.assertEqual(badblocks.load("x"), (0, {}), text)

    def test_failing(self):
        """A drive whose SMART status is FAILED is left alone, unless it is named.

        Seen to fail: a smartctl that is missing counts as FAILED; [all] names it."""
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n")
        self.machine.smart = 8 | 64
        self.assertRegex(self.at(1, 12)[1], "sda: scrub: it is due, but waits: SMART says that the "
                         "drive is failing: .* freeblock scrub sda run\n$")
        self.assertEqual(scrub.meant(), ([], ["sda is left out: SMART says that the drive is "
                                              "failing: name it, if it is meant"]))
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n"
                           "[wwn %s]\nscrub_every_days = 30\n" % WWN)
        self.assertEqual(self.at(1, 12)[1], "sda: scrub: start: it is due\n")
        for status in (127, 124, 64, 2):
            self.machine.smart = status
            self.assertEqual(scrub.meant(), (["sda"], []), status)

    def test_pace(self):
        """A pass that is ahead of its pace waits until it is not; one that is behind goes on. Its
        window counts. Seen to fail: all hours of a day with a window; a wait that ends at once, or
        never."""
        day, began = 86400, datetime.datetime(2023, 11, 14).timestamp()
        said = {**conf.load().of(store.disk_of("sda")), "pace_days": 10}
        clock, share, now = [0], [0], [0]
        with mock.patch.object(time, "time", lambda: now[0]):
            for windows, steps in (
                    (None, ((0, .005, False), (0, .02, True), (.1, .012, True), (.2, .0199, False),
                            (.2, .0299, False), (.2, .031, True), (5, .4, False), (5, .52, True),
                            (10, .53, False), (11, .9, False))),
                    # four hours of each day, most of which are over at half past three
                    (Windows("0-4"), ((5, .53, True), (5.15, .56, False)))):
                one = gate.Gate("sda", {**said, "window": windows}, lambda: clock[0], began)
                self.assertIsNone(one.why(), "nobody has said how far it is")
                one.share = lambda: share[0]
                for days, done, waits in steps:
                    clock[0] += gate.EACH_S
                    now[0], share[0] = began + days * day, done
                    self.assertEqual(bool(one.why()), waits, (windows, days, done))
            clock[0], share[0] = clock[0] + gate.EACH_S, .7
            self.assertEqual(one.why(), "pace_days: 70.0 % of the blocks are verified, 59.0 % of "
                             "10 days are over")

    def test_even_pace(self):
        """A pass is spread over a month, and ends before it has to; unless somebody wants it as
        fast as may be, or disks wait for each other. Seen to fail: a pace without a scrub."""
        for text, pace in (("", None), ("scrub_every_days = 30", 27), ("scrub_every_days = 90", 30),
                           ("scrub_every_days = 30\ndeadline_days = 10", 9),
                           ("scrub_every_days = 1", 1), ("scrub_every_days = never", None),
                           ("scrub_every_days = 30\npace_days = none", None),
                           ("scrub_every_days = 30\npace_days = 3", 3),
                           ("scrub_every_days = 30\nmax_concurrent = 2", None)):
            self.machine.write("etc/freeblock.conf", "[all]\n%s\n" % text)
            self.assertEqual(conf.load().of(store.disk_of("sda"))["pace_days"], pace, text)

    def test_month(self):
        """A pass that is spread over 27 days begins each 30. Seen to fail: each 57."""
        self.machine.write("etc/freeblock.conf", "[all]\nscrub_every_days = 30\n")
        began = int(datetime.datetime(2026, 1, 1, 12).timestamp())
        due.keep(store.disk_of("sda"), {"first": 1, "began": began, "ended": None})
        with mock.patch("time.time", return_value=began + 27 * DAY):
            due.passed("sda")
        self.assertEqual(due.due_at(30, due.record_of(store.disk_of("sda"))), began + 30 * DAY)
        # one that took longer than that, one of which it is not known, and one by hand
        for start, ended, next_one in ((1, 40, 40), (None, 40, 70), (9, 10, 39)):
            with mock.patch("time.time", return_value=ended * DAY):
                due.passed("sda", start and start * DAY)
            self.assertEqual(due.due_at(30, due.record_of(store.disk_of("sda"))), next_one * DAY)

    def test_terabytes(self):
        """A disk is read no faster than max_tb_per_year, whatever the deadline is.

        Seen to fail: the pace, or the deadline, in its place; sectors for bytes."""
        self.machine.write("sys/block/sda/size", str(10 ** 13 // 512))
        now, clock = [0], [0]
        said = {**conf.load().of(store.disk_of("sda")), "max_tb_per_year": 100, "window": None}
        with mock.patch.object(time, "time", lambda: now[0]):
            for pace, days, done, waits_for in (
                    (None, 18, .6, "max_tb_per_year: 60.0 % .* 49.3 % of 36.5 days are over"),
                    (10, 18, .6, "max_tb_per_year: "), (40, 30, .8, "pace_days: 80.0 % "),
                    (None, 18, .45, None)):
                one = gate.Gate("sda", {**said, "pace_days": pace}, lambda: clock[0], 0,
                                1 * DAY if pace == 10 else None)
                one.share, now[0] = lambda done=done: done, days * DAY
                if waits_for:
                    self.assertRegex(one.why(), waits_for)
                else:
                    self.assertIsNone(one.why())
            now[0] = 1
            self.assertIsNone(gate.Gate("sda", {**said, "max_tb_per_year": None, "pace_days": None},
                                        began=0).why())

    def test_pace_ends(self):
        """A pass that began late keeps its deadline all the same, and goes on after it; a clock
        that is set back does not stop one for as long. Seen to fail: the deadline has no part in
        it; the time since a day to come."""
        day, began = 86400, datetime.datetime(2023, 11, 14).timestamp()
        said = {**conf.load().of(store.disk_of("sda")), "pace_days": 10}
        clock, now = [0], [began]
        with mock.patch.object(time, "time", lambda: now[0]):
            for deadline, steps in ((None, ((5, .6, True), (-3000, .6, True), (-2997, .29, False),
                                            (-2993, .75, True), (-2992, .75, False))),
                                    (began + 4 * day, ((1, .3, True), (3, .7, False),
                                                       (5, .9, False))),
                                    (began - day, ((0, .5, False),))):
                one = gate.Gate("sda", said, lambda: clock[0], began, deadline)
                for days, done, waits in steps:
                    clock[0] += gate.EACH_S
                    now[0] = began + days * day
                    one.share = lambda done=done: done
                    self.assertEqual(bool(one.why()), waits, (deadline, days, done))

    def run_unit(self, state, status, *more):
        """The unit's command; the scrub ends in this state."""
        def run(args):
            self.deadline = args.deadline
            self.assertEqual((args.device, args.action, args.order), ("/dev/sda", "run", "near"))
            self.assertEqual(missing_options(args, "scrub", "sda", "run"), set())
            self.machine.write("sys/kernel/freeblock/sda/scrub", state + "\n")
            if state == "finished":
                due.passed("sda")
            return status

        self.machine.write("etc/freeblock.conf", "\n".join((
            "[all]", "scrub_every_days = 30", "order = near", *more, "")))
        with mock.patch.object(scrub, "run", run):
            return self.do("conf", "scrub", "sda")[0]

    def record(self):
        """(whether a pass has begun, whether one has ended)"""
        record = due.record_of(store.disk_of("sda"))
        return record["began"] is not None, record["ended"] is not None

    def test_unit(self):
        """A pass that was interrupted is not over; one that came to its end is, be it with bad
        blocks; the next is due a month later."""
        self.assertEqual(self.run_unit("stopped", 143), 143)
        self.assertEqual(self.record(), (True, False))
        self.assertEqual(self.run_unit("stopped", 0), 1)
        self.assertEqual(self.record(), (True, False))
        self.assertEqual(self.run_unit("finished", 3), 3)
        self.assertEqual(self.record(), (False, True))
        self.assertEqual(self.do("conf", "due"), (0, ""))
        shown = json.loads(self.do("conf", "show", "--json")[1])
        self.assertEqual([(one["disk"], one["now"], one["why"]) for one in shown],
                         [("sda", None, "no scrub is due")])
        ended, next_one = (datetime.datetime.fromisoformat(shown[0][key])
                           for key in ("ended", "due"))
        self.assertEqual(round((next_one - ended).total_seconds() / DAY), 30)
        self.assertRegex(self.do("conf", "show", "sda")[1], "sda: scrub_every_days 30, pace_days "
                         "27, order near\n  scrubbed 2.*no scrub is due")

    def test_deadline(self):
        """The kernel's is that of the file: so many days after the pass was due; one that is late
        has a second.

        Seen to fail: days from the start of the unit; a deadline in the past."""
        self.run_unit("stopped", 143)
        self.assertIsNone(self.deadline)
        self.run_unit("stopped", 143, "deadline_days = 10")
        self.assertAlmostEqual(self.deadline, 10, places=3)
        disk = store.disk_of("sda")
        record = due.record_of(disk)
        due.keep(disk, {**record, "first": record["first"] - 4 * DAY})
        self.run_unit("stopped", 143, "deadline_days = 10")
        self.assertAlmostEqual(self.deadline, 6, places=3)
        due.keep(disk, {**record, "first": record["first"] - 11 * DAY})
        self.run_unit("stopped", 143, "deadline_days = 10")
        self.assertAlmostEqual(self.deadline * DAY, 1, places=3)

    def test_spoilt(self):
        """A record that is spoilt begins anew. Seen to fail: a TypeError for each of its values."""
        disk = store.disk_of("sda")
        for text in ("", "[]", '{"first": true}', '{"first": 8, "began": "9"}',
                     '{"first": 8, "ended": [9]}', '{"first": 8, "start": 1e999}'):
            os.makedirs(os.path.dirname(due.path_of(disk)), exist_ok=True)
            with open(due.path_of(disk), "w", encoding="ascii") as file:
                file.write(text)
            self.assertEqual(due.record_now(disk, 7)["first"], 7, text)

    def test_unnamed(self):
        """A disk that nothing names for good, as a reader of cards, does not keep the others from
        being shown.

        Seen to fail: its record looked for."""
        self.machine.disk("sdb", "")
        self.machine.write("sys/block/sdb/device/vpd_pg80", b"")
        status, said = self.do("conf", "show")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "sda: scrub_every_days 30(?s:.*)never scrubbed by it: the disk says "
                         "neither")
        shown = json.loads(self.do("conf", "show", "--json")[1])
        self.assertEqual([(one["disk"], one["due"] is None) for one in shown],
                         [("sda", False), ("sdb", True)])
