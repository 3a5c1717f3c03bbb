# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst), read. Only mechdisk knows whether a text is
good: check() asks its host program."""

import collections
import re
import subprocess
from fractions import Fraction

from .. import ToolError
from ..base import helpers

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "run", "slip", "remap", "seek", "overhead_ns", "medium_error",
           "slow_region")
BLANK = re.compile(r"[ \t\r\n]+")     # between words; any other white space is part of one


def check(path):
    """ToolError with file, line and reason if a text describes no drive."""
    host = helpers.program("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
    done = subprocess.run([host, "info", path], check=False, text=True, errors="replace",
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise ToolError(done.stderr.strip().removeprefix("mechdisk-host: "))


def lines(text):
    """The words of each record, in order. text: its lines, or the file."""
    return filter(None, ([word for word in BLANK.split(line.split("#")[0]) if word]
                         for line in text))


def span(words):
    """(first sector, how many) of a slip's INDEX or INDEX+COUNT."""
    index, _, count = words.partition("+")
    return int(index), int(count or "1")


def options(run):
    """{name: number} of a run's NAME=N."""
    return {key: int(value) for key, _, value in (word.partition("=") for word in run[7:])}


def _repeated(values, runs):
    """The runs that a repeat stands for."""
    count, times, turn = int(values[0]), int(values[1]), Fraction(values[2])
    lengths = dict(word.split("=") for word in values[3:])
    lengths = {int(surface): sectors for surface, sectors in lengths.items()}
    found, tracks = list(runs[-count:]), collections.Counter()
    for run in found:
        tracks[int(run[0])] += int(run[3])
    for _ in range(count * times):
        surface, first, way, wide, sectors, angle, *more = found[-count]
        found.append([surface, str(int(first) + max(tracks.values())), way, wide,
                      lengths.get(int(surface), sectors), str((Fraction(angle) + turn) % 1), *more])
    return found[count:]


def records(path):
    """Scalar records {name: values}, and lists of values of the others by name; for a repeat, the
    runs that it stands for."""
    scalars, lists = {}, collections.defaultdict(list)
    # a byte a character, whatever text they are meant as
    with open(path, encoding="latin-1", newline="\n") as file:
        found = list(lines(file))
    # what precedes the last such record does not count
    begin = max((i for i, words in enumerate(found) if words[0] == "fbdrive"), default=-1)
    if begin < 0 or found[begin][1:] != ["1"]:
        raise ToolError("%s: not a drive's description (fbdrive 1)" % path)
    for name, *values in found[begin:]:
        if name == "repeat":
            lists["run"] += _repeated(values, lists["run"])
        elif name in SEVERAL:
            lists[name].append(values)
        else:
            scalars[name] = values
    return scalars, lists
