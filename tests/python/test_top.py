# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock top against a made-up sysfs, and a made-up screen. Takes a
second.
"""

import curses
from unittest import mock

import fakedisk
import taptest
from freeblock.commands import top

SYSFS = fakedisk.KERNEL + "sda/"


class Screen:
    """What curses' would show: the lines of each page; keys come from a list."""

    def __init__(self, size, keys, between):
        self.size, self.keys, self.between = size, list(keys), between
        self.pages = []
        self.waits_ms = None

    def timeout(self, milliseconds):
        """How long getch() waits."""
        self.waits_ms = milliseconds

    def erase(self):
        """A new page."""
        self.pages.append([])

    def getmaxyx(self):
        """Lines and columns."""
        return self.size

    def addnstr(self, row, column, text, width):
        """A line, as a terminal of that size takes it."""
        assert row < self.size[0] and column + width < self.size[1]
        self.pages[-1].append(text[:width])

    def refresh(self):
        """It is shown."""

    def getch(self):
        """The next key; -1: none came in time."""
        self.between()
        return self.keys.pop(0)


class Top(fakedisk.Case):
    """One disk being scrubbed, one that another scheduler has."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000000, 65536, {
            "tasks": 1, "state/free_reads": "on", "state/idle": "reading",
            "state/cost": "free reads add 0.61 +- 0.20 ms (3.1 %) to a read"})
        self.tree.disk("sdb", 1000, "", {"state/attached": 0, "tasks": 2})
        self.tree.disk("sdc", 1000, "", {"state/attached": 0})
        self.tree.write(SYSFS + "scrub", "running")
        self.tree.values(SYSFS + "scrub_stats", {
            "sectors": 8000000, "block_sectors": 128, "blocks_total": 62500, "blocks_before": 0,
            "blocks_delivered": 15625, "rate_kib_s": 1000})
        self.now = {"free_sectors": 1000, "idle_sectors": 500, "prepend_sectors": 100,
                    "separate_sectors": 300, "hurried_sectors": 10, "promoted_sectors": 0,
                    "idle_us": 0, "idle_used_us": 0,
                    "fg_requests": 100, "miss_prepend": 1, "miss_separate": 1, "miss_after": 0,
                    "miss_fg": 3, "guard_trips": 0}
        self.tree.counters("sda", **self.now)
        self.clock = 50.0
        self.patch(mock.patch.object(top.time, "sleep", self.passes),
                   mock.patch.object(top.costs.time, "monotonic", lambda: self.clock))

    def passes(self, seconds=2):
        """In each second 4000 sectors, of those sent three quarters in idle time, half of which is
        used, and 20 requests."""
        self.clock += seconds
        for name, more in (("free_sectors", 4000), ("idle_sectors", 3300),
                           ("prepend_sectors", 200), ("separate_sectors", 700),
                           ("hurried_sectors", 150), ("promoted_sectors", 50), ("idle_us", 600000),
                           ("idle_used_us", 300000), ("fg_requests", 20)):
            self.now[name] += int(more * seconds)
        self.tree.counters("sda", **self.now)

    def once(self, *words):
        """What it prints."""
        code, out, err = taptest.freeblock("top", "--once", *words)
        self.assertEqual((code, err), (0, ""))
        return out.splitlines()

    def test_once(self):
        """Seen to fail: rates since the start; the whole of idle time taken for that used."""
        self.assertEqual(self.once(), [
            "sda      2.0 MB/s, 75 % of it in idle time",
            "         foreground 20.0/s; free reads add 0.61 +- 0.20 ms (3.1 %) to a read",
            "         scrub running, 25.0 %, left 50m00s; tasks: 1",
            "         gaps: on; idle time: reading, 50 % of it used",
            "sdb      tasks that wait: 2",
            "         not scheduling: another scheduler",
            "         run: echo freeblock > /sys/block/sdb/queue/scheduler"])
        self.assertEqual(len(self.once("/dev/sdc")), 3)

    def test_narrow(self):
        """Nothing is cut off at 80 columns, whatever the module says: long texts go on in the next
        line, and what is to be run has a line of its own.

        Seen to fail: lines that are not wrapped; the command behind the reason."""
        self.tree.values(SYSFS + "state", {
            "free_reads": "off: the drive orders, as its write cache is in use",
            "idle": "paused: the maximum slowdown allowed is shorter than any read"})
        page = self.once()
        self.assertLessEqual(max(map(len, page)), 80)
        self.assertIn("shorter than any read, 50 % of it used", " ".join(" ".join(page).split()))
        for why, command in (
                ("completions do not fit the model: wrong model, write cache, or busy host",
                 "freeblock setup /dev/sda"),
                ("the model is distrusted: only 60 % of 4000 reads ended within 50 us of the "
                 "predicted angle", "echo 1 > /sys/kernel/freeblock/sda/model_force"),
                ("no model", None)):
            self.tree.values(SYSFS + "state", {"knowledge": "none: " + why})
            page = self.once("sda")
            self.assertLessEqual(max(map(len, page)), 80)
            self.assertIn("knowledge: none: %s; idle time: paused" % why,
                          " ".join(" ".join(page).split()))
            self.assertEqual([line for line in page if "run:" in line],
                             ["         run: %s" % command] * bool(command))
        self.tree.values(SYSFS + "state", {"scheduling": "multipath member"})
        page = self.once("sda")
        self.assertIn("not scheduling: multipath member", " ".join(" ".join(page).split()))
        self.assertIn("         run: echo mq-deadline > /sys/block/sda/queue/scheduler", page)

    def test_unknown(self):
        """Counters that are not there, or were reset, show as such; a disk may come."""
        before = top.looks([])
        self.now["free_sectors"] = -8000
        self.tree.disk("sdd", 1000, "", {"tasks": 1})
        self.passes()
        page = top.View().page(top.looks([]), before)
        self.assertIn("sda      - MB/s, 75 % of it in idle time", page[0])
        self.assertEqual(len(page), 7)
        self.assertEqual(top.View().page([], before), [
            "no disk has the scheduler freeblock",
            "there is no rotating disk that could have it"])
        for name in ("sdb", "sdc"):
            self.tree.write("sys/devices/%s/queue/rotational" % name, "1")
            self.tree.write("sys/devices/%s/device/vendor" % name, "ACME")
            self.tree.write("sys/devices/%s/queue/scheduler" % name, "[none] freeblock")
        self.assertEqual(top.View().page([], before)[1],
                         "for sdb (or sdc) run: freeblock enable /dev/sdb")

    def test_screen(self):
        """A small one; resized; scrolled; until q. Seen to fail: lines as long as the screen is
        wide; scrolled beyond the end."""
        details = ord("v")
        screen = Screen((4, 30), [-1, curses.KEY_RESIZE, details, curses.KEY_DOWN, -1, ord("q")],
                        self.passes)
        top.watch(screen, [], 2)
        self.assertEqual(screen.waits_ms, 2000)
        self.assertEqual([len(page) for page in screen.pages], [2, 4, 4, 4, 4, 4])
        # does not fit: several disks a line, of which one is as wide as this screen
        self.assertEqual(screen.pages[2][1:], [
            "DISK    MB/s DONE ADD ms ", "sda      2.0  25%   0.61", "sdb        -    -      -!"])
        self.assertEqual(screen.pages[3][1:3], ["sda      2.0 MB/s, 75 % of it",
                                                "         in idle time"])
        self.assertEqual(screen.pages[4][1], "         in idle time")
        for size in ((1, 1), (1, 200), (2, 2), (500, 1000)):
            top.watch(Screen(size, [curses.KEY_PPAGE, curses.KEY_NPAGE, -1, *map(ord, "vsfvsfvq")],
                             self.passes), [], 2)
        # what the module says moves no cursor; seen to fail: it did
        self.tree.values(SYSFS + "state", {"idle": "reading \x1b[2J"})
        before = top.looks([])
        for view in (None, *top.VIEWS):
            self.assertTrue("".join(top.View(view).page(before, before)).isprintable(), view)
        screen = Screen((4, 90), [-1, ord("v"), ord("v"), *9 * [curses.KEY_NPAGE],
                                  curses.KEY_PPAGE, ord("q")], self.passes)
        top.watch(screen, [], 2)
        self.assertEqual(screen.pages[-2][-1], "2 disks, 2.0 MB/s, 0 bad blocks, 1 to look at")
        self.assertNotIn("2 disks, 2.0 MB/s, 0 bad blocks, 1 to look at", screen.pages[-1])

    def test_sixty(self):
        """Sixty disks on 24 lines of 80 columns, and a line each on a high screen; sorted, and
        filtered. Seen to fail: a cell of 27 columns; a filter that turns the order around."""
        for number in range(60):
            name = "sd%s%s" % ("abcdefgh"[number // 10], "abcdefghij"[number % 10])
            self.tree.disk(name, 8000000, 65536, {
                "state/bad_blocks": int(number == 33), "state/idle": "reading",
                "state/cost": "free reads add %d.00 +- 0.20 ms (3.1 %%) to a read" % number})
        self.tree.remove(fakedisk.KERNEL + "sda")
        self.tree.remove(fakedisk.KERNEL + "sdb")
        before = top.looks([])
        self.passes()
        now, view = top.looks([]), top.View()
        page = view.page(now, before, 79, 23)
        self.assertLessEqual((len(page), max(map(len, page))), (23, 79))
        self.assertEqual(sum("sd" in word for line in page for word in line.split()), 60)
        self.assertEqual(page[-1], "60 disks, - MB/s, 1 bad blocks, 1 to look at")
        page = view.page(now, before, 199, 62)
        self.assertEqual((len(page), page[1].split()[:2]), (62, ["sdaa", "idle"]))
        for keys, first, many in (("ss", "sdfj", 60), ("ssf", "sddd", 1), ("ff", "60", 0)):
            view = top.View("table")
            for key in keys:
                self.assertTrue(view.key(ord(key), 24))
            page = view.page(now, before, 199, 62)
            self.assertEqual((page[many and 1].split()[0], len(page) - 2), (first, many)
                             if many else ("DISK", 0), keys)

    def test_refused(self):
        """No terminal, no sense."""
        for words, why in ((("--seconds", "0"), "not between"), ((), "this is no terminal"),
                           (("/dev/sdx", "--once"), "sdx")):
            code, out, err = taptest.freeblock("top", *words)
            self.assertNotEqual(code, 0)
            self.assertEqual(out, "")
            self.assertIn(why, err)
