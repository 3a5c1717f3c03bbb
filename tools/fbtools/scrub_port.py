# SPDX-License-Identifier: GPL-2.0
"""The kernel's scrubber of a disk: /sys/kernel/freeblock/<disk>/scrub and coverage."""

import re

from . import ToolError, fbstate, scrub_state

ORDERS = re.compile(r"^(sequential|near|staggered=[1-9]\d*)$")
ACTIVE = ("running", "paused", "stopping")


class Port:
    """What the scrubber of one disk is told and asked."""

    def __init__(self, disk):
        self.disk = disk

    def state(self):
        """idle, running, paused, stopping, stopped, finished; None: no disk, or no model."""
        if not self.disk.is_there() or not self.disk.granule_bytes():
            return None
        text = self.disk.read("scrub")
        if text is None:
            raise ToolError("%s: this module has no scrubber: load the one of this source tree" %
                            self.disk.name)
        return str(fbstate.pairs(text).get("state", "idle"))

    def values(self):
        """All that it says of itself."""
        return self.disk.pairs("scrub")

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
        """Whether this disk is there with its model; its name may have changed meanwhile."""
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
                raise ToolError("%s has a model with another block size now: what is saved does "
                                "not fit it" % name)
            return other == identity
        return False

    def coverage(self, blocks):
        """The map: a bit for each block that has been verified in this pass; None if there
        is none now."""
        try:
            with open(fbstate.path(fbstate.KERNEL, self.disk.name, "coverage"), "rb") as file:
                raw = file.read()
        except OSError:
            return None
        wanted = scrub_state.map_bytes(blocks)
        return raw.ljust(wanted, b"\0") if 0 < len(raw) <= wanted else None

    def restore(self, bits):
        """Take these blocks for verified; before start."""
        path = fbstate.path(fbstate.KERNEL, self.disk.name, "coverage")
        try:
            with open(path, "r+b", buffering=0) as file:
                scrub_state.write_all(file.fileno(), bits, 0)
        except OSError as error:
            raise ToolError(fbstate.refusal(self.disk.name, path, error)) from error
