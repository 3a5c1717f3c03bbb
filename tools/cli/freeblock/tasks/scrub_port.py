# SPDX-License-Identifier: GPL-2.0
"""The kernel's scrubber of a disk: /sys/kernel/freeblock/<disk>/scrub and coverage."""

import collections
import re
import struct

from .. import ToolError, fbstate
from . import scrub_state

ORDERS = re.compile(r"^(sequential|near|staggered=[1-9]\d*)$")
# of the file "coverage"; the map follows
HEADER = struct.Struct("<8sIIQQII88s")
MAGIC, VERSION = b"fbcover\0", 1
Coverage = collections.namedtuple("Coverage", "began bits")
Coverage.__doc__ = "When a pass began, seconds since 1970, and the map of what it verified."
ACTIVE = ("running", "paused", "stopping")


class Port:
    """What the scrubber of one disk is told and asked."""

    def __init__(self, disk):
        self.disk = disk

    def state(self):
        """idle, running, paused, stopping, stopped, finished; None: no disk."""
        if not self.disk.is_there() or not self.disk.granule_bytes():
            return None
        state = self.disk.read("scrub")
        if state is None:
            raise ToolError("%s: this module has no scrubber: load the one of this source tree" %
                            self.disk.name)
        return state

    def values(self):
        """All that it says of itself."""
        found, why = self.disk.job("scrub"), fbstate.hidden()
        if why and found.get("state") != "idle":
            raise fbstate.Hidden(why)
        return found

    def command(self, words):
        """start ..., pause, resume, stop."""
        self.disk.write("scrub", words + "\n")

    def identity(self):
        """What the coverage is of."""
        found = self.disk.identity()
        block = self.disk.granule_bytes()
        if found["id"] == "-":
            found["id"] = "name.%s" % self.disk.name
        return {**found, "block_bytes": block,
                "blocks": (found["sectors"] * 512 + block - 1) // block if block else 0}

    def find(self, identity):
        """Whether this disk is there; its name may have changed meanwhile."""
        if self.identity() == identity:
            return True
        try:
            known = fbstate.names()
        except ToolError:
            return False
        for name in known:
            other = Port(fbstate.Disk(name)).identity()
            if other["id"] != identity["id"] or other["sectors"] != identity["sectors"]:
                continue
            self.disk = fbstate.Disk(name)
            if other["block_bytes"] and other != identity:
                raise ToolError("%s has another block size now, by its model: what is saved does "
                                "not fit it" % name)
            return other == identity
        return False

    def _file(self):
        return fbstate.path(fbstate.KERNEL, self.disk.name, "coverage")

    def coverage(self, identity):
        """When this pass began, and the map: a bit for each block that has been verified in
        it. None if there is none now, or a pass began while we looked."""
        try:
            with open(self._file(), "rb", buffering=0) as file:
                raw = file.read()
                file.seek(0)
                again = file.read(HEADER.size)
        except OSError:
            return None
        size = HEADER.size + scrub_state.map_bytes(identity["blocks"])
        if len(raw) != size or raw[:HEADER.size] != again:
            return None
        magic, version, granule, blocks, began, _, _, disk = HEADER.unpack(again)
        if magic != MAGIC or version != VERSION:
            raise ToolError("%s: of a version that this tool does not know" % self._file())
        if (disk.rstrip(b"\0").decode(), granule * 512, blocks) != (
                identity["id"], identity["block_bytes"], identity["blocks"]):
            return None
        return Coverage(began, raw[HEADER.size:])

    def restore(self, identity, covered):
        """Take these blocks for verified; before "start ... resume-coverage"."""
        raw = HEADER.pack(MAGIC, VERSION, identity["block_bytes"] // 512, identity["blocks"],
                          covered.began, 0, 0, identity["id"].encode()) + covered.bits
        try:
            with open(self._file(), "r+b", buffering=0) as file:
                scrub_state.write_all(file.fileno(), raw, 0)
        except OSError as error:
            raise ToolError(fbstate.refusal(self.disk.name, self._file(), error)) from error
