# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): read. Whether one is right the simulated
drive's own reader says; what a record means is told by who wants it."""

import collections
import re
import subprocess
from fractions import Fraction

from . import ToolError, hosts

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "run", "slip", "remap", "seek", "overhead_ns", "medium_error",
           "slow_region")
BLANK = re.compile(r"[ \t\r\n]+")     # between words; any other white space is part of one


def lines(text):
    """The words of each record, in order. text: its lines, or the file."""
    for line in text:
        words = [word for word in BLANK.split(line.split("#")[0]) if word]
        if words:
            yield words


def span(words):
    """(first sector, how many) of INDEX or INDEX+COUNT, a slip's."""
    index, _, count = words.partition("+")
    return int(index), int(count or "1")


def options(values):
    """{name: number} of a run's NAME=N."""
    return {key: int(value) for key, _, value in (word.partition("=") for word in values[7:])}


def _repeated(values, runs):
    """The runs, each a list of values, that a repeat stands for."""
    count, times, turn = int(values[0]), int(values[1]), Fraction(values[2])
    lengths = {int(surface): sectors for surface, _, sectors in (
        word.partition("=") for word in values[3:])}
    tracks = collections.Counter()
    for run in runs[-count:]:
        tracks[int(run[0])] += int(run[3])
    found = runs[-count:]
    for again in range(count * times):
        surface, first, way, wide, sectors, angle, *more = found[again]
        found.append([surface, str(int(first) + max(tracks.values())), way, wide,
                      lengths.get(int(surface), sectors) if again < count else sectors,
                      str((Fraction(angle) + turn) % 1), *more])
    return found[count:]


def _check(path):
    """ToolError if the simulated drive does not take a text."""
    host = hosts.program("tools/mechdisk/host", "mechdisk-host", "mechdisk-host")
    done = subprocess.run([host, "info", path], check=False, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        raise ToolError(done.stderr.strip().removeprefix("mechdisk-host: "))


def records(path):
    """Scalar records {name: values}, and lists of values of the others by name; for a repeat, the
    runs that it stands for. ToolError if no drive is described there."""
    scalars, lists = {}, collections.defaultdict(list)
    # a byte a character, whatever text they are meant as
    with open(path, encoding="latin-1", newline="\n") as file:
        found = list(lines(file))
    _check(path)
    # what precedes the last such record does not count
    begin = max(i for i, words in enumerate(found) if words[0] == "fbdrive")
    for name, *values in found[begin:]:
        if name == "repeat":
            lists["run"] += _repeated(values, lists["run"])
        elif name in SEVERAL:
            lists[name].append(values)
        else:
            scalars[name] = values
    return scalars, lists
