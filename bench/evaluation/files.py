# SPDX-License-Identifier: GPL-2.0
"""Figure 7(c) of the paper: small files on a file system. It needs a kernel: the lab."""

import glob
import hashlib
import json
import os

from freeblock import ToolError
from freeblock.base.helpers import BUILD
from .. import labcells
from .paper import ATLAS
from .summary import Figure, Row
from .runs import kept

SCRIPT = os.path.join(labcells.LAB, "ext4.sh")
# The Atlas with a cache that reads ahead until the next command comes, as the real
# one does: assumed, ten segments of 187 KiB
CACHE = "cache 10 374 1\nread_ahead stream\nread_ahead_stop sector\nkeep_passing on"
# The guest needs a minute for so many
FULL = {"FOLDERS": "100", "FILES": "50", "READERS": "3", "READS": "800", "LINES": CACHE}
QUICK = {**FULL, "FOLDERS": "20", "READS": "200"}
UNKNOWN = "unknown"
# Classes of errors, ms, each command in the first that fits; what the paper has of them.
# Its drive and ours turn in 6 ms; a surprise cache hit is early by what was to be a seek.
CLASSES = (("within 150 us", -.15, .15, "76"),
           ("0.15 to 1.2 ms off", -1.2, 1.2, "5, overlap of bus and medium"),
           ("a turn late, 5.5 to 6.5 ms", 5.5, 6.5, "4"),
           ("a turn early, 5.5 to 6.5 ms", -6.5, -5.5, ""),
           ("early otherwise: surprise cache hits", -1e9, 0, "4, at 7.5 ms"))


def digest(settings):
    """Of all that a run depends on."""
    kernel = [path for name in ("freeblock.ko", "mechdisk.ko") for path in
              glob.glob(os.path.join(BUILD, "kernel-*", "**", name), recursive=True)]
    told = [sorted(settings.items()), labcells.checksum(*sorted(kernel), SCRIPT)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def read_errors(path):
    """[ms or None]: of each command, in order of completion."""
    errors = []
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            word = line.strip()
            if word != UNKNOWN and not word.lstrip("-").isdigit():
                raise ToolError("%s:%d: neither a number nor %s: '%s'" %
                                (path, number, UNKNOWN, word))
            errors.append(None if word == UNKNOWN else int(word) / 1e6)
    if not errors:
        raise ToolError("%s: no command" % path)
    return errors


def shares(errors):
    """{class: per cent of all commands}; each command is in one class."""
    rest = [e for e in errors if e is not None]
    known, found = len(rest), {}
    for name, low, high, _ in CLASSES:
        left = [e for e in rest if not low <= e <= high]
        found[name] = 100 * (len(rest) - len(left)) / len(errors)
        rest = left
    found["unknown before"] = 100 * (len(errors) - known) / len(errors)
    found["else"] = 100 - sum(found.values())
    return found


class Files(Figure):
    """Small files on ext4."""

    name = "files"
    title = "Figure 7(c): predictions for small files on ext4"

    @staticmethod
    def measure(quick, out, through):
        """The errors, kept."""
        settings = QUICK if quick else FULL
        path = os.path.join(out, "cells", "files-%s.json" % digest(settings))
        return kept(path, lambda: read_errors(os.path.join(labcells.run(
            SCRIPT, os.path.join(out, "ext4"), 900, through, variables=settings), "errors")))

    @staticmethod
    def rows(errors):
        """The paper's classes."""
        found = shares(errors)
        known = [e for e in errors if e is not None]
        papers = {name: paper for name, _, _, paper in CLASSES}
        papers["unknown before"] = "8: +-1.5 and +-4.5 ms, what follows a surprise"
        rows = [Row("small files: %s, of all commands, %s" % (name, ATLAS), share, "%",
                    papers.get(name, "")) for name, share in found.items()]
        rows.append(Row("small files: within 50 us, of the predicted ones, %s" % ATLAS,
                        100 * sum(abs(e) <= .05 for e in known) / max(len(known), 1), "%"))
        return rows

    @staticmethod
    def pictures(errors):
        """A histogram; its bins are 0.1 ms."""
        known = [round(10 * e) for e in errors if e is not None]
        yield "ext4", [{
            "title": "%d commands, %d of them predicted" % (len(errors), len(known)),
            "x": "reported - predicted, ms", "y": "share of commands per 0.1 ms", "log": True,
            "steps": True, "lines": {"ext4": [
                (n / 10 - .05, max(known.count(n), .5) / len(errors)) for n in range(-100, 101)]}}]
