# SPDX-License-Identifier: GPL-2.0
"""Tests of freeblock trial: what it shows of the module's trial, and its status."""

import json

import fakedisk
import taptest
from freeblock import fbstate

SYSFS = fbstate.KERNEL + "/sda/"
TABLE = """on 1
runs 1
control 0
stretch_us 4000000
stretches 4
blocks 40
on_us 640000000
held_us 160000000
limit_us 1000
limit_ppm 10000
level %d
left_us %d
stops %d
read 612000 200000 15400000 39740 4000 1
write -80000 400000 20100000 -3980 2000 0
slow 2000000 500000 100000 20000000 4000 0
all 381000 190000 16900000 22540 6000 1
"""
SAID = "free reads add 0.61 +- 0.20 ms (4.0 %) to a read"


class Trial(fakedisk.Case):
    """One disk."""

    def setUp(self):
        super().setUp()
        self.tree.disk("sda", 8000000, "", {"trial": 1})
        self.table()

    def table(self, said=SAID, level=0, left_us=0, stops=0):
        """What the module tells."""
        self.tree.write(SYSFS + "state/cost", said)
        self.tree.write(fakedisk.DEBUG + "sda/trial", TABLE % (level, left_us, stops))

    def test_shown(self):
        """The number that every command shows, and each kind's; not sure is not known.

        Seen to fail: a kind whose sign is lost; the share of all time."""
        self.assertEqual(taptest.freeblock("trial", "sda"), (0, """\
sda: free reads add 0.61 +- 0.20 ms (4.0 %) to a read
  it runs; without free reads: one in 4 stretches of 4.0 s, 25.0 % of its time so far
  reads   15.40 ms without free reads, +0.61 +- 0.20 ms (+4.0 %) with them, from 4000
  writes  20.10 ms without free reads, -0.08 +- 0.40 ms (-0.4 %) with them, from 2000: not sure yet
  both    16.90 ms without free reads, +0.38 +- 0.19 ms (+2.3 %) with them, from 6000
  slow    0.01 % of reads without free reads, +0.20 +- 0.05 % with them
  allowed: 1.00 ms a request and 1.0 %
  guard: nothing is stopped
""", ""))
        (one,) = json.loads(taptest.freeblock("trial", "--json")[1])
        self.assertEqual((one["cost"]["added_ms"], one["trial"]["write"]["added_ns"]),
                         (.61, -80000))

    def test_status(self):
        """0: no more than allowed, which is 1.154 ms; 3: more, or stopped; 4: not known.

        Seen to fail: a stop that counts as not known."""
        for said, level, want in ((SAID, 0, 0), ("not known", 0, 4), ("not measured", 0, 4),
                                  (SAID.replace("0.61", "1.15"), 0, 0),
                                  (SAID.replace("0.61", "1.16"), 0, 3),
                                  ("not known; stopped at 5.00 +- 0.40 ms (30.0 %)", 2, 3)):
            self.table(said, level, 540000000 * (level == 2), level)
            status, out, _ = taptest.freeblock("trial")
            self.assertEqual(status, want, said)
            self.assertIn(said, out)
        self.assertIn("  guard: free reads are stopped for 9m00s, stopped 2 times\n", out)

    def test_switch(self):
        """On and off; without debugfs the number alone. Seen to fail: --on that writes 0."""
        for word, text in (("--off", "0"), ("--on", "1")):
            self.assertEqual(taptest.freeblock("trial", "sda", word)[0], 0)
            self.assertEqual(fbstate.read(SYSFS + "trial"), text)
        self.tree.remove(fakedisk.DEBUG.rstrip("/"))
        self.assertEqual(taptest.freeblock("trial", "sda")[:2], (0, "sda: %s\n" % SAID))
