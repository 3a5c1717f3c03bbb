# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock probe with drives made of bytes, whose clock is the tests' own: what a report
says of honest drives and of others, and what it does not say. Takes a second.
"""

import json
import os
from unittest import mock

import fakedisk
import fakescsi
import taptest
from freeblock.commands import probe
from freeblock.drive import sgio

SENT = {0x12, 0x1a, 0x5a, 0x9e, 0x85, 0x88, 0x8f}       # nothing that writes
TURN_US, HIT_US, SLEEP_S = 8333, 90, 5


class Drive(fakescsi.Drive):
    """One that reads ahead, in a time of its own. More manners: no_fua, fua_lies, verify_lies,
    uncached, sleeps (after a minute without a command)."""

    def __init__(self, *manners):
        super().__init__(*manners)
        self.ns, self.last, self.blocks, self.log = 10 ** 9, None, 40000000, []
        self.idle_since = self.ns

    def cdb(self, cdb, data_out=b"", data_in=0):
        """READ and VERIFY take time."""
        if cdb[0] == 0x85:
            words = [n & 0xff for n in range(256)]
            words[255] = 0
            return 0, b"", b"".join(word.to_bytes(2, "little") for word in words)
        if cdb[0] not in (0x88, 0x8f):
            return super().cdb(cdb, data_out, data_in)
        self.log.append(bytes(cdb))
        first = int.from_bytes(cdb[2:10], "big")
        fua, verify = cdb[1] & 8, cdb[0] == 0x8f
        if fua and "no_fua" in self.manners:
            return self._sense(5, 0x24)
        asks = fua and "fua_lies" not in self.manners or \
            verify and "verify_lies" not in self.manners or "uncached" in self.manners
        near = self.last is not None and 0 <= first - self.last <= 512
        self.last = first
        sleeps = "sleeps" in self.manners and self.ns - self.idle_since > 60e9
        self.ns += 1000 * (HIT_US if near and not asks else TURN_US) + int(sleeps * SLEEP_S * 1e9)
        self.idle_since = self.ns
        return 0, b"", bytes(data_in)

    def sleep(self, seconds):
        """In place of time.sleep()."""
        self.ns += int(seconds * 1e9)

    def close(self):
        """As of sgio.Disk."""


class Probe(fakedisk.Case):
    """The command."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000, 4096)
        for file, value in {"device/vendor": "ACME", "device/model": "DISK 9", "device/rev": "1",
                            "device/wwid": "naa.5000c500a1b2c3d4", "device/queue_depth": 32,
                            "queue/rotational": 1}.items():
            self.tree.write("sys/devices/sda/" + file, value)

    def probe(self, drive, *words):
        """(the report, what was printed)"""
        path = os.path.join(self.tree.root, "report.json")
        with mock.patch.object(sgio, "Disk", lambda _: drive), \
                mock.patch.object(probe.time, "perf_counter_ns", lambda: drive.ns), \
                mock.patch.object(probe.time, "sleep", drive.sleep):
            status, out, err = taptest.freeblock("probe", "sda", "--report", path, "--quiet",
                                                 *words)
        self.assertEqual((status, err), (0, ""))
        with open(path, encoding="utf-8") as file:
            return json.load(file), out

    def test_honest(self):
        """Figures of a drive whose times are known; only reads were sent.

        Seen to fail: the first read of a block counted as one from the cache."""
        drive = Drive()
        found, out = self.probe(drive)
        times = found["behaviour"]
        self.assertLessEqual({cdb[0] for cdb in drive.log}, SENT)
        self.assertEqual((times["read_again_us"]["max"], times["read_fua_again_us"]["p50"],
                          times["verify_again_us"]["min"], times["read_ahead_us"]["p50"]),
                         (HIT_US, TURN_US, TURN_US, HIT_US))
        self.assertEqual((len(times["sequential_mb_s"]), len(times["after_idle_us"])), (20, 4))
        self.assertEqual(times["sequential_mb_s"][3], 1198.1)
        self.assertEqual(times["random_us"]["per_s"], 120.0)
        self.assertEqual(found["drive"]["modes"]["08"]["current"], fakescsi.CACHING.hex())
        self.assertEqual(found["drive"]["queue_depth"], 32)
        self.assertIn("READ with FUA of the same block: 8.3 ms: from the medium\n"
                      "VERIFY of the same block: 8.3 ms: from the medium\n"
                      "random reads: 120/s, 120/s with 32 at a time\n", out)

    def test_liars(self):
        """Drives that answer from the cache, refuse, or have none, are told apart; a drive that
        sleeps is seen. Seen to fail: a refusal ended the report."""
        for manner, words in (
                ("fua_lies", "READ with FUA of the same block: 0.1 ms: from the cache"),
                ("verify_lies", "VERIFY of the same block: 0.1 ms: from the cache"),
                ("no_fua", "READ with FUA: refused"),
                ("uncached", "VERIFY of the same block: 8.3 ms: not known: nothing")):
            found, out = self.probe(Drive(manner), "--minutes", "1")
            self.assertIn(words, out)
            self.assertEqual("refused" in found, manner == "no_fua")
            self.assertEqual(list(found["behaviour"]["after_idle_us"]), ["1", "10"])
        found, _ = self.probe(Drive("sleeps"))
        times = found["behaviour"]["after_idle_us"]
        self.assertEqual([times[key]["p50"] for key in ("10", "300")],
                         [TURN_US, TURN_US + 1000000 * SLEEP_S])

    def test_anonymous(self):
        """Nothing by which the unit or the machine is known.

        Seen to fail: words 108 to 111 of IDENTIFY DEVICE; page 83h."""
        found, _ = self.probe(Drive())
        words = found["drive"]["ata"]
        self.assertEqual((words[9:11], words[107:109], words[115:117]),
                         ([9, None], [107, None], [None, 116]))
        text = json.dumps(found)
        for own in ("SERIAL01", b"SERIAL01".hex(), fakescsi.WWN.hex(), os.uname().nodename, "sda"):
            self.assertNotIn(own, text)
        self.assertEqual((found["drive"]["vendor"], found["drive"]["product"]), ("ACME", "DISK 9"))

    def test_output(self):
        """Without --report it goes to standard output; a file is whole or not there."""
        drive = Drive()
        with mock.patch.object(sgio, "Disk", lambda _: drive), \
                mock.patch.object(probe.time, "perf_counter_ns", lambda: drive.ns), \
                mock.patch.object(probe.time, "sleep", drive.sleep):
            status, out, _ = taptest.freeblock("probe", "sda", "--quiet", "--minutes", "1")
            self.assertEqual((status, json.loads(out)["report"]), (0, 1))
            status, _, err = taptest.freeblock("probe", "sda", "--minutes", "0")
        self.assertEqual(status, 2)
        self.assertIn("--minutes", err)
