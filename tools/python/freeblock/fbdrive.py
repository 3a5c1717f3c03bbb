# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): read. What a record means is told by who
wants it: mechdisk, which has a reader of its own, says whether a text is right."""

import collections

from . import ToolError

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "slip", "remap", "seek", "overhead_ns")


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
