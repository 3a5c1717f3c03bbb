# SPDX-License-Identifier: GPL-2.0
"""A drive in service, timed by probes of /dev/freeblock: a Device (device.py) for a disk that is
mounted, or busy.

Probes are reads in idle time, with the wait and the account of cost of all background reads, which
a foreground request holds back. Nobody is shut out, no mode of the drive is changed, and no command
but these reads is sent. One read is at the drive at a time, and what was not alone there is read
again. Of reads that overlap at other devices only the time from the end of the one before counts:
what the host needs between them is in it, so that the arm seems slower by that.
"""

import errno
import os
import time

import numpy

from .. import ToolError, background
from ..drive import names, sysfs
from .device import FUA, GOOD, MEDIUM, NOT_VALID, OVERLAP, READ, RESULT, Device

CALL = 64               # probes of a call
CALL_S = 10
TRIES = 1000            # for one read, or pair of them, to be alone
CHECK_CONDITION = 2
REFUSED = bytes([0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0])
INQUIRY = 0x12


class Busy(ToolError):
    """Nothing could be read, for so long."""


class Untouched:
    """The modes of a drive in service, in place of modes.Switched: nothing is changed."""

    def __init__(self):
        self.report = ["measured in service: no mode of the drive was changed"]

    @staticmethod
    def off(_name):
        """Whether what a mode is about is off: it is not asked."""
        return None


def _number(folder, *names):
    said = sysfs.line(folder, *names)
    return int(said) if said.isdigit() else 0


class InService:
    """A drive, as Device has it; `task` takes probes as background.Task does."""

    # how long the phase may go without a new anchor: there is little idle time
    refresh_ns = 10e9
    patience_s = 600        # without any probe
    ops = staticmethod(Device.ops)

    def __init__(self, name, task, unit_sectors, node=None, clock=time):
        self.name, self.task, self.node = name, task, node
        self._clock = clock         # that of the probes: monotonic_ns(), sleep()
        self.unit_sectors = unit_sectors
        self.unit_bytes = self.logical_bytes = 512 * unit_sectors
        if task.geometry.granule_sectors < unit_sectors:
            raise ToolError("%s: blocks of %d sectors are shorter than the disk's own" % (
                name, task.geometry.granule_sectors))
        self.longest = task.geometry.granule_sectors // unit_sectors
        self.blocks = task.geometry.sectors // unit_sectors
        self.disk_before_ns = self._spent_ns = 0
        self.probes = self.again = 0        # made; made in vain
        self.inquiry = names.inquire(self)

    @classmethod
    def open(cls, path):
        """The disk at a path; it has freeblock as its scheduler."""
        queue = "/sys/block/%s/queue" % os.path.basename(os.path.realpath(path))
        if not sysfs.is_served(path):
            raise ToolError("%s is in use: it is measured in service once freeblock serves it "
                            "(freeblock enable %s)" % (path, path))
        try:
            task = background.Task(path, flags=background.MEDIUM | background.KEEP, probes=True,
                                   name="learn")
            task.start()
        except background.Error as error:
            raise ToolError(str(error)) from error
        unit = max(_number(queue, "physical_block_size"), _number(queue, "logical_block_size"), 512)
        return cls(path, task, unit // 512, sysfs.of_node(path))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Want no more."""
        self.task.close()

    @property
    def disk_ns(self):
        """Time at the drive."""
        return self.disk_before_ns + self._spent_ns

    @property
    def clock_ns(self):
        """The clock of the results."""
        return self._clock.monotonic_ns()

    def cdb(self, cdb, data_out=b"", data_in=0):
        """INQUIRY as the kernel remembers its answer; the drive is asked for nothing."""
        name = "vpd_pg%02x" % cdb[2] if cdb[1] & 1 else "inquiry"
        try:
            with open(os.path.join(self.node or "", name), "rb") as file:
                said = file.read(data_in)
        except OSError:
            said = b""
        if cdb[0] != INQUIRY or data_out or not said:
            return CHECK_CONDITION, REFUSED, b""
        return 0, b"", said

    # ---- reads

    def run(self, ops):
        """As Device.run(). Reads without FUA, and what is no read, are not carried out."""
        results = numpy.zeros(len(ops), dtype=RESULT)
        odd = (ops["op"] != READ) | (ops["flags"] & FUA == 0) | (ops["count"] > self.longest)
        results["status"][odd] = NOT_VALID
        todo = numpy.flatnonzero(~odd)
        chained = (ops["flags"] & OVERLAP != 0) & (numpy.arange(len(ops)) > 0)
        at = 0
        while at < len(todo):
            # a read that is to wait begins a call, and so does a chain
            end = at + 1
            chain = end < len(todo) and chained[todo[end]]
            while end < len(todo) and not ops["wait"][todo[end]] and \
                    (chained[todo[end]] if chain else
                     not (end + 1 < len(todo) and chained[todo[end + 1]])):
                end += 1
            some = todo[at:end]
            (self._chain if chain else self._each)(ops, results, some)
            at = end
        return results

    def _send(self, ops, some):
        """The Probes that come of these ops, the first ones; at least one."""
        places = [(int(op["block"]) * self.unit_sectors, int(op["count"]) * self.unit_sectors)
                  for op in ops[some[:CALL]]]
        until = self.clock_ns + self.patience_s * 1e9
        while True:
            try:
                found = self.task.probe(places, CALL_S)
            except background.Error as error:
                if error.errno == errno.EINTR:
                    continue
                raise ToolError(str(error)) from error
            if found:
                break
            if self.clock_ns > until:
                raise Busy("%s: nothing could be read for %d s: %s; the same command goes on "
                           "from there" % (self.name, self.patience_s,
                                           self.task.progress().waiting_for))
        self.probes += len(found)
        self._spent_ns += sum(one.ended_ns - one.sent_ns for one in found)
        return found

    def _sleep(self, ops, first):
        if ops["wait"][first]:
            self._clock.sleep(ops["wait"][first] / 1e9)

    @staticmethod
    def _enter(results, number, found, shift=0):
        good = found.status == background.OK
        results[number] = (found.sent_ns + shift, found.ended_ns + shift,
                           GOOD if good else MEDIUM, 0)

    def _each(self, ops, results, some):
        """Reads that have nothing to do with each other: each alone at the drive."""
        self._sleep(ops, some[0])
        for _ in range(TRIES):
            left = []
            for at in range(0, len(some), CALL):
                part = some[at:at + CALL]
                found = self._send(ops, part)
                for number, one in zip(part, found):
                    if one.flags & background.ALONE or one.status != background.OK:
                        self._enter(results, number, one)
                    else:
                        left.append(number)
                        self.again += 1
                left += list(part[len(found):])
            some = numpy.array(left, dtype=numpy.int64)
            if not len(some):
                return
        raise ToolError("%s: the disk is so busy that no read was alone" % self.name)

    def _chain(self, ops, results, some):
        """Reads each of which is to follow the one before, nothing in between. Where something
        came the one before is read again, and the time to the next is entered as if it had
        followed the first: they end whole turns apart."""
        self._sleep(ops, some[0])
        known, tries, sent = 0, 0, 0        # how many are entered; when the last one was sent
        while known < len(some):
            tries += 1
            if tries > TRIES + len(some):
                raise ToolError("%s: the disk is so busy that no two reads followed each other" %
                                self.name)
            from_ = max(known - 1, 0)
            found = self._send(ops, some[from_:])
            shift = 0
            for number, one in enumerate(found, from_):
                alone = one.flags & background.ALONE or one.status != background.OK
                if not alone or number > from_ and not one.flags & background.NEXT:
                    self.again += 1
                    break
                if number < known:      # read again, for the next one
                    shift = int(results["done"][some[number]]) - one.ended_ns
                    continue
                self._enter(results, some[number], one, shift)
                if number:
                    # what overlaps is at the drive from when the one before was sent on
                    results["submit"][some[number]] = sent
                sent, known = one.sent_ns + shift, number + 1
