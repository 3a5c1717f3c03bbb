# SPDX-License-Identifier: GPL-2.0
"""Blocks of a disk for scan: a task of background.py that is fed as it takes them."""

import errno
import itertools

from . import ToolError, background, fbstate


class Source:
    """A task on a disk that delivers ranges: an iterator of (first sector, sectors), of the
    whole disk, whole blocks."""

    def __init__(self, disk, ranges):
        self.disk = disk
        self.ranges = ranges
        self.batch = []
        self.gone = False
        path = fbstate.path("dev/" + disk)
        try:
            self.task = background.Task(path, flags=background.KEEP, name="scan")
        except background.Error as error:
            raise ToolError(self._refusal(error)) from error
        try:
            self.feed()
            self.task.start()
        except BaseException as error:
            self.close()
            if isinstance(error, background.Error):
                raise ToolError(self._refusal(error)) from error
            raise

    def _refusal(self, error):
        hint = "; run it as root" if error.errno in (errno.EPERM, errno.EACCES) else ""
        return "%s: %s%s" % (self.disk, error, hint)

    def feed(self):
        """Declare more of the ranges, as many as can wait to be entered. There may be
        millions, when a scan goes on."""
        sectors = self.task.geometry.sectors
        while True:
            if not self.batch:
                some = itertools.islice(self.ranges, self.task.ranges_max)
                self.batch = [(first, min(count, sectors - first)) for first, count in some]
            if not self.batch:
                return
            try:
                self.task.want_ranges(self.batch)
            except background.Error as error:
                if error.errno == errno.ENOSPC:
                    return
                raise ToolError(self._refusal(error)) from error
            self.batch = []

    def fileno(self):
        """For poll()."""
        return self.task.fileno()

    def records(self):
        """What has been read meanwhile."""
        try:
            for record in self.task.ready():
                self.gone = False
                yield record
        except background.Error as error:
            self.gone = error.errno == errno.ENODEV
            if self.gone:
                return
            if error.errno == errno.ECANCELED:
                raise ToolError("%s: the task was stopped (freeblock status); the same command "
                                "goes on" % self.disk) from error
            raise ToolError(self._refusal(error)) from error

    def close(self):
        """End the task: what was not read is read by nobody."""
        self.task.close()
