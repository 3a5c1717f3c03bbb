# SPDX-License-Identifier: GPL-2.0
"""Tests of the extraction in service (freeblock.extraction.inservice), at simulated drives that
others read meanwhile. Takes half a minute.

Expected: the angles at which the simulated drive has its LBNs (mechdisk-host locate), none of them
more than 50 us off; a probe that was not alone is not used; of a chain, the times between reads
that followed each other.

Seen to fail with: probes that were not alone taken; a pair taken with others in between; ends that
were read again left out of their order; after a signal, what was not done left out, or given the
results of others.
"""

import errno

import numpy as np
import serveddrive
import test_extract_runs as runs
from freeblock import ToolError, background
from freeblock.extraction import inservice, runfind
from freeblock.extraction.device import FUA, NOT_VALID, OVERLAP, WRITE
from freeblock.extraction.phase import Phase, wrap


class Asked(inservice.InService):
    """Whose identity the simulated drive says; the kernel remembers none."""

    def __init__(self, dev, task):
        self.simulated = dev
        super().__init__("served", task, dev.unit_sectors, clock=task)

    def cdb(self, *words, **more):
        return self.simulated.cdb(*words, **more)


class Served(runs.Runs):
    """A drive of runs that others read."""

    def served(self, path, **options):
        """(InService, Device, Task) of a drive."""
        dev, task = serveddrive.simulated(path, **options)
        self.addCleanup(dev.close)
        return Asked(dev, task), dev, task

    def test_found(self):
        """All of its runs, though one read in six is disturbed, at a cost that is counted."""
        path = self.drive(runs.UNLIKE)
        serv, dev, task = self.served(path, gap_s=0.03, wait_s=0.015)
        phase = Phase.measure(serv)
        found = runfind.Finder(serv, phase).find()
        self.right(path, dev, found)
        self.assertGreater(serv.again, 50)
        self.assertGreater(task.late, 50)
        self.assertLess(task.late_ns / task.others, 3e6)
        self.assertLess(dev.now() - task.began_ns, 60e9)
        self.assertLess(serv.disk_ns, dev.now() - task.began_ns - task.busy_ns)

    def test_disturbed(self):
        """Ends of one block lie whole turns apart, those that are no read's are not there."""
        serv, dev, task = self.served(self.drive(runs.UNLIKE), gap_s=0.02, wait_s=0.005)
        done = np.sort(serv.run(serv.ops([dev.blocks // 2] * 200))["done"].astype(float))
        self.assertGreater(serv.again, 20)
        self.assertGreater(task.others, 20)
        turn = 8333333.333 / (1 + 41e-6)
        self.assertLess(np.abs(np.diff(done) / turn - np.round(np.diff(done) / turn)).max(), 0.05)

    def test_chain(self):
        """Of reads that overlap elsewhere, the times between two that followed each other."""
        path = self.drive(runs.UNLIKE)
        places = np.random.default_rng(3).integers(0, 10 ** 6, 150)
        flags = np.where(np.arange(150) > 0, FUA | OVERLAP, FUA)
        took = []
        for options in ({}, {"gap_s": 0.05, "wait_s": 0.01, "between": 0.05}):
            serv, _, task = self.served(path, **options)
            found = serv.run(serv.ops(places, flags=flags))
            took.append(np.diff(found["done"].astype(float)))
            self.assertTrue((found["submit"][1:] < found["done"][:-1]).all())
        self.assertGreater(task.others, 20)
        self.assertGreater(serv.again, 5)
        # a move that just misses its sector takes a turn more, or not
        off = np.abs(took[0] - took[1])
        self.assertLess(np.median(off), 60e3)
        self.assertGreater(np.count_nonzero(off < 200e3), 140)

    def test_refused(self):
        """What is no read from the medium is not carried out; what fails is a result."""
        serv, dev, task = self.served(self.drive(runs.UNLIKE))
        found = serv.run(serv.ops([1, 2, 3, 4], flags=[FUA, 0, FUA, FUA], op=[0, 0, WRITE, 0],
                                  count=[1, 1, 1, 2]))
        self.assertEqual(found["status"].tolist(), [0, NOT_VALID, NOT_VALID, NOT_VALID])
        self.assertEqual(serv.probes, 1)
        task.probe = lambda places, _: [background.Probe(
            places[0][0], 8, background.UNREADABLE, 5, 9, 0)]
        self.assertEqual(serv.run(serv.ops([dev.blocks - 1]))["status"].tolist(), [3])

    def test_sent_twice(self):
        """A signal ends a call before any of its probes is done, or behind some: what was not done
        is sent again, and each result is that of its own read."""
        serv, dev, task = self.served(self.drive(runs.UNLIKE))
        whole, ends = task.probe, iter((None, 3, None, 1))

        def cut(places, seconds):
            some = next(ends, len(places))
            if some is None:
                raise background.Error(errno.EINTR, "a signal")
            return whole(places[:some], seconds)

        task.probe = cut
        blocks = np.arange(0, dev.blocks, dev.blocks // 9)
        found = serv.run(serv.ops(blocks))
        self.assertEqual(found["status"].tolist(), [0] * len(blocks))
        self.assertEqual(serv.probes, len(blocks))
        # again, the drive to itself: the angles are theirs
        off = found["done"].astype(float) - serv.run(serv.ops(blocks))["done"]
        turn = 8333333.333 / (1 + 41e-6)
        self.assertLess(np.ptp(wrap((off - off[0]) / turn)), 0.05)

    def test_never(self):
        """A disk that is never idle is said to be."""
        serv, dev, task = self.served(self.drive(runs.UNLIKE))
        task.probe = lambda _places, seconds: task.sleep(seconds) or []
        task.progress = lambda: background.Progress(0, "the disk has another scheduler",
                                                    *[0] * 8)
        with self.assertRaisesRegex(ToolError, "another scheduler; the same command goes on"):
            serv.run(serv.ops([dev.blocks // 2]))


# those of the base class have run
for name in [name for name in dir(runs.Runs) if name.startswith("test_")]:
    setattr(Served, name, None)
