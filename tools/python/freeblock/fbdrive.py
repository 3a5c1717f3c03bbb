# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): read. What a record means is told by who
wants it: mechdisk, which has a reader of its own, says whether a text is right."""

import collections

from . import ToolError

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "slip", "remap", "seek", "overhead_ns")

# Numbers that others divide by, or count with: from, to
RANGES = {"heads": (1, 64), "period_ps": (10 ** 9, 10 ** 11), "physical_exponent": (0, 7),
          "surface_run": (1, 65535)}
MOST_SECTORS = 65535    # of a track


def lines(text):
    """The words of each record, in order. text: its lines, or the file."""
    for line in text:
        words = line.split("#")[0].split()
        if words:
            yield words


def records(path):
    """Scalar records {name: words}, and lists of words of the others by name."""
    scalars, lists = {}, collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for name, *words in lines(file):
            if name in SEVERAL:
                lists[name].append(words)
            else:
                scalars[name] = words
    if scalars.get("fbdrive") != ["1"]:
        raise ToolError("%s: not a drive's description (fbdrive 1)" % path)
    return scalars, lists


def _numbers(path, name, words, count):
    """The first words of a record as numbers."""
    if len(words) < count or not all(word.isascii() and word.isdecimal() for word in words[:count]):
        raise ToolError("%s: '%s': numbers wanted: %d" % (path, " ".join([name, *words]), count))
    return [int(word) for word in words[:count]]


def check(path, scalars, lists):
    """ToolError of records with which no drive could be reckoned with; mechdisk refuses more."""
    for name, (low, high) in RANGES.items():
        if name in scalars and not low <= _numbers(path, name, scalars[name], 1)[0] <= high:
            raise ToolError("%s: %s %s: not from %d to %d" % (path, name, scalars[name][0], low,
                                                              high))
    size = scalars.get("sector_bytes", ["512"])
    if size not in (["512"], ["4096"]):
        raise ToolError("%s: sector_bytes %s: neither 512 nor 4096" % (path, " ".join(size)))
    noise = scalars.get("noise", [])[1:]
    _numbers(path, "noise", noise, len(noise))
    end = 0
    for words in lists["zone"]:
        first, last, sectors = _numbers(path, "zone", words, 3)
        if first != end or last < first or not 1 <= sectors <= MOST_SECTORS:
            raise ToolError("%s: 'zone %s': cylinders do not go on from %d, or not from 1 to %d "
                            "sectors per track" % (path, " ".join(words), end, MOST_SECTORS))
        end = last + 1
    for words in lists["seek"]:
        if _numbers(path, "seek", words, 2)[0] < 1:
            raise ToolError("%s: 'seek %s': no distance" % (path, " ".join(words)))
