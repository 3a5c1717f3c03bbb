# SPDX-License-Identifier: GPL-2.0
"""The .fbmodel text (Documentation/model-format.rst): sealed, read, and compiled."""

import subprocess
import zlib
from dataclasses import dataclass, field
from fractions import Fraction

from .. import ToolError
from ..base import helpers

# As in disk_model.h
MAX_CYLINDERS = 16777216
MAX_HEADS = 128
MAX_SPT = 65535
MAX_NS = 1000000000
MAX_ZONES = 65536
MAX_SEEKS = 4096
MAX_BYTES = 16 << 20
# 4 KiB, from 1 TiB on 128 KiB, and then so much that the
# map stays below 16 MiB.
SMALL_GRANULE, LARGE_GRANULE = 8, 256
LARGE_DRIVE = 1 << 31
MAX_GRANULES = 1 << 27

# Once each, before the first zone
HEADER = ("vendor", "product", "serial", "revision", "wwn", "distrusted", "sectors",
          "physical_sectors", "granule_sectors", "cylinders", "heads", "head_order", "surface_run",
          "period_ps", "head_switch_ns", "write_settle_ns", "zero_latency", "read_overhead_ns",
          "write_overhead_ns", "read_report_ns", "write_report_ns")
POINTS = ("seek", "write_seek", "seek_spread")
FIRST_LINE = b"fbmodel 1\n"
MOST_RUN = 65535


def within(what, value, low, high):
    """The value, if the format can hold it."""
    if not low <= value <= high:
        raise ToolError("%s is %s, which the format does not hold (%s to %s)" %
                        (what, value, low, high))
    return value


def granule_sectors(sectors, physical):
    """Granule of the coverage map."""
    granule = max(SMALL_GRANULE if sectors < LARGE_DRIVE else LARGE_GRANULE, physical)
    while sectors > MAX_GRANULES * granule and granule < 2048:
        granule *= 2
    return granule


def decimal_turn(turn):
    """A fraction of a turn with 18 decimals, shorter if it ends before."""
    digits = int(turn * 10 ** 18 + turn.__class__(1, 2)) % 10 ** 18
    return ("0.%018d" % digits).rstrip("0").rstrip(".")


def comment_lines(comments, width=78):
    """Comments as lines that begin with '#', broken at blanks."""
    lines = []
    for text in comments:
        line = "#"
        for word in text.split():
            if len(line) + 1 + len(word) > width and line != "#":
                lines.append(line)
                line = "#  "
            line += " " + word
        lines.append(line)
    return lines


def seal(text: bytes) -> bytes:
    """The text with its one, right end record."""
    if text and not text.endswith(b"\n"):
        text += b"\n"
    lines = text.splitlines(keepends=True)
    while lines and lines[-1].split()[:1] in ([b"end"], []):
        lines.pop()
    body = b"".join(lines)
    return body + b"end %d %08x\n" % (len(body), zlib.crc32(body))


def body(name, data):
    """The records of a sealed text, without the end record, which must be right."""
    if not data.startswith(FIRST_LINE) or len(data) > MAX_BYTES:
        raise ToolError("%s: not a model (fbmodel 1, Documentation/model-format.rst)" % name)
    text, _, end = data[:-1].rpartition(b"\n")
    text += b"\n"
    if not data.endswith(b"\n") or end != b"end %d %08x" % (len(text), zlib.crc32(text)):
        raise ToolError("%s: its end record is missing or wrong: it is cut short or was edited "
                        "(tools/fbmodel-seal)" % name)
    return text


def table(path):
    """The compiled table of a text, as the kernel takes it. ToolError: the text is at fault."""
    done = subprocess.run([helpers.program("tools/model", "model", "freeblock-model"), path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ToolError(said.removeprefix("freeblock-model: "))
    return done.stdout


@dataclass
class Zone:
    """A zone and the records that belong to it, all in sectors; angles in turns.

    head_spt: sectors per track by head, none where all have `spt`; slips: (sector, count);
    remaps: (sector, spare); unmapped: no angle is known; slow: seeks there take a turn more."""

    first: int
    last: int
    spt: int
    angle: Fraction
    track_skew: Fraction
    cyl_skew: Fraction
    dead: int
    spares: int
    head_spt: list = field(default_factory=list)
    slips: list = field(default_factory=list)
    remaps: list = field(default_factory=list)
    unmapped: bool = False
    slow: bool = False

    @classmethod
    def of_words(cls, words):
        """FIRST LAST spt N angle A track_skew T cyl_skew C dead N spares N [unmapped] [slow]"""
        said = dict(zip(words[2::2], words[3::2]))
        angle, track, cylinder = (Fraction(said[name]) for name in
                                  ("angle", "track_skew", "cyl_skew"))
        return cls(int(words[0]), int(words[1]), int(said["spt"]), angle, track, cylinder,
                   int(said["dead"]), int(said["spares"]), unmapped="unmapped" in words[14:],
                   slow="slow" in words[14:])


class Model:
    """What a sealed text says. header: texts by name; points: (cylinders, ns) by kind; zones.

    Its syntax is right; whether it is whole, and its numbers go together, the kernel says."""

    def __init__(self, data, name):
        self.data, self.name = data, name
        self.header, self.zones = {}, []
        self.points = {kind: [] for kind in POINTS}
        lines = body(name, data).decode("utf-8", "replace").splitlines()
        for number, line in enumerate(lines[1:], 2):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            reason = self._take(words[0], words[1:], line)
            if reason:
                raise ToolError("%s: line %d: '%s': %s" % (name, number, line.strip()[:60], reason))

    @classmethod
    def of_file(cls, path):
        """Read it. ToolError if it is none."""
        with open(path, "rb") as file:
            return cls(file.read(MAX_BYTES + 1), path)

    def _take(self, name, words, line):
        """Keep one record, or say what is wrong with it."""
        if name in HEADER:
            if name in self.header:
                return "said twice"
            self.header[name] = line.strip()[len(name):].strip()
            return ""
        try:
            return self._take_numbers(name, words)
        except (ValueError, ZeroDivisionError):
            return "a number of it is none"
        except (IndexError, KeyError):
            return "it is not whole, or stands before the first zone"

    def _take_numbers(self, name, words):
        """The same of a record of the seek profile or of the zones."""
        if name in POINTS:
            self.points[name].append((int(words[0]), int(words[1])))
        elif name == "zone":
            self.zones.append(Zone.of_words(words))
        elif name == "head_spt":
            self.zones[-1].head_spt += [int(word) for word in words[1:]]
        elif name == "slip":
            self.zones[-1].slips.append((int(words[0]), int(words[1]) if words[1:] else 1))
        elif name == "remap":
            self.zones[-1].remaps.append((int(words[0]), int(words[2])))
        else:
            return "the format has no such record"
        return ""

    def number(self, name, default=None):
        """A whole number of the header; `default`: what is meant where it is left out."""
        if name not in self.header and default is not None:
            return default
        text = self.text(name)
        if not (text.isascii() and text.isdecimal()):
            raise ToolError("%s: %s %s: not a whole number" % (self.name, name, text))
        return int(text)

    def surface_run(self):
        """The record of this name, as the module would take it."""
        run = self.number("surface_run", 1)
        if not 1 <= run <= MOST_RUN:
            raise ToolError("%s: surface_run %d: not from 1 to %d" % (self.name, run, MOST_RUN))
        if run > 1 and self.text("head_order") == "serpentine-disk":
            raise ToolError("%s: surface_run %d: goes with head_order plain or serpentine-zone" % (
                self.name, run))
        return run

    def text(self, name):
        """A record of the header that must be there."""
        if name not in self.header:
            raise ToolError("%s: not a whole model: no record %s" % (self.name, name))
        return self.header[name]

    def seeks(self):
        """Points of the seek profile. ToolError: there is none, or no zone. A disk of one cylinder
        has no seeks; who wants a curve all the same gets a switch of heads."""
        if self.number("cylinders", 0) == 1:
            self.need()
            return [(1, max(self.number("head_switch_ns", 0), 1))]
        self.need("seek")
        return self.points["seek"]

    def need(self, *kinds):
        """ToolError if there is no zone, or no point of one of these kinds."""
        for kind, found in (("zone", self.zones), *((kind, self.points[kind]) for kind in kinds)):
            if not found:
                raise ToolError("%s: not a whole model: no record %s" % (self.name, kind))
