# SPDX-License-Identifier: GPL-2.0
"""Blocks of a disk for scan: a task of background.py that wants all of them but those that are
there already."""

import errno
import itertools

from .. import ToolError, background, fbstate

SOME = 64                       # records taken of a disk before others have their turn


def clear(bits, first, end):
    """Bits from `first` to before `end`, of a bytearray, are 0."""
    while first < end and first % 8:
        bits[first // 8] &= ~(1 << first % 8)
        first += 1
    whole = max(end - first, 0) // 8
    bits[first // 8:first // 8 + whole] = bytes(whole)
    for bit in range(first + 8 * whole, end):
        bits[bit // 8] &= ~(1 << bit % 8)


class Source:
    """A task on a disk that delivers the ranges `missing` of the ranges `whole`, both iterators of
    (first sector, sectors), whole blocks of the disk. The module is told of all, so that whoever
    looks at the task sees how much of the whole is done."""

    def __init__(self, disk, missing, whole):
        self.disk = disk
        self.gone = self.more = False
        path = fbstate.path("dev/" + disk)
        try:
            self.task = background.Task(path, flags=background.KEEP, name="scan", coverage=True)
        except background.Error as error:
            raise ToolError(self._refusal(error)) from error
        try:
            self._want(missing, whole)
            self.task.start()
        except BaseException as error:
            self.close()
            if isinstance(error, background.Error):
                raise ToolError(self._refusal(error)) from error
            raise

    def _want(self, missing, whole):
        geometry = self.task.geometry
        covered = bytearray(b"\xff" * (geometry.blocks // 8))
        if geometry.blocks % 8:
            covered.append((1 << geometry.blocks % 8) - 1)
        for first, sectors in missing:
            block = first // geometry.granule_sectors
            clear(covered, block, min(geometry.blocks,
                                      block + -(-sectors // geometry.granule_sectors)))
        self.task.set_coverage(covered)
        for first, sectors in whole:
            self.task.want(first, min(sectors, geometry.sectors - first), uncovered=True)

    def _refusal(self, error):
        hint = "; run it as root" if error.errno in (errno.EPERM, errno.EACCES) else ""
        return "%s: %s%s" % (self.disk, error, hint)

    def fileno(self):
        """For poll()."""
        return self.task.fileno()

    def records(self):
        """What has been read meanwhile, some of it; `more`: there may be more of it, for which
        poll() does not wait."""
        taken = 0
        try:
            for record in itertools.islice(self.task.ready(), SOME):
                self.gone = False
                taken += 1
                yield record
            self.more = taken == SOME
        except background.Error as error:
            self.gone = error.errno == errno.ENODEV
            if self.gone:
                return
            if error.errno == errno.ECANCELED:
                raise ToolError("%s: the task was stopped; the same command continues" %
                                self.disk) from error
            raise ToolError(self._refusal(error)) from error

    def close(self):
        """End the task: what was not read is read by nobody."""
        self.task.close()
