# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): read. Words that the format does not have
are refused here, as mechdisk does, which has a reader of its own; what a record means is told by
who wants it."""

import collections
import re

from . import ToolError

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "slip", "remap", "seek", "overhead_ns")

# Numbers that others divide by, or count with: from, to
RANGES = {"heads": (1, 64), "period_ps": (10 ** 9, 10 ** 11), "physical_exponent": (0, 7),
          "surface_run": (1, 65535)}
MOST_SECTORS = 65535    # of a track
MOST_WORDS = 66         # of a line

# What stands behind each record's name: how many values, least and most, and the words of which
# the first must be one (none: a number, or text)
_SWITCH, _WHERE = ("off", "on"), ("medium", "cache")
SHAPES = {
    **dict.fromkeys((
        "fbdrive", "vendor", "product", "revision", "serial", "sector_bytes", "physical_exponent",
        "period_ps", "rpm_error_ppm", "rpm_error_ppb", "seed", "heads", "surface_run",
        "head_switch_ns", "write_settle_ns", "write_move_ns", "bus_ns", "bus_watermark_ppm",
        "reselect_ns", "jitter_ns", "actuators", "read_ahead_least", "destage_delay_ns",
        "queue_depth", "hw_queues", "max_sectors", "seg_boundary", "max_segment_size",
        "timeout_ms", "journal_records"), (1, 1, ())),
    **dict.fromkeys((
        "zero_latency", "early_seek", "translate", "trim", "long_id", "mode_sense", "read_cache",
        "look_ahead", "read_ahead_on_hit", "read_ahead_join", "keep_passing", "discard_read",
        "written_hits", "append_writes", "heal_on_write"), (1, 1, _SWITCH)),
    **dict.fromkeys(("verify", "fua"), (1, 1, _WHERE)),
    **dict.fromkeys(("rpm_drift", "seek_drift", "outliers", "command_overhead_ns", "seek"),
                    (2, 2, ())),
    **dict.fromkeys(("zone_heads", "slip"), (2, MOST_WORDS - 1, ())),
    "order": (1, 1, ("plain", "serpentine", "serpentine-disk")),
    "bus_order": (1, 1, ("medium", "lbn")),
    "firmware": (1, 1, ("fcfs", "sptf", "clook", "sstf")),
    "queueing": (1, 1, ("tagged", "ncq")),
    "zoned": (1, 1, ("no", "vpd", "identify")),
    "power_mode": (1, 1, ("scsi", "low", "active", "idle", "standby", "untold")),
    "read_ahead_trigger": (1, 1, ("any", "same-track")),
    "read_ahead_stop": (1, 1, ("sector", "at-once")),
    "destage": (1, 1, ("eager", "idle")),
    "write_cache": (1, 1, ("off", "stream", "back")),
    "noise": (1, 2, ("off", "gauss", "laplace")),
    "read_ahead": (1, 2, ("none", "track", "cylinder", "segment", "stream")),
    "overhead_ns": (3, 3, ("read_hit", "read_miss", "write_hit", "write_miss")),
    "completion_overhead_ns": (1, 2, ()), "extra_disconnect_ns": (5, 5, ()),
    "internal_activity": (3, 3, ()), "cache": (3, 3, ()), "zone": (7, 8, ()),
    "remap": (3, 3, ()), "medium_error": (2, MOST_WORDS - 1, ())}
# Those that are "off" instead; the words behind which alone a second value may stand
OFF = ("internal_activity", "cache")
BEHIND = {"noise": ("gauss", "laplace"), "read_ahead": ("segment",)}
# Those whose values are text, and those without which nothing is known
TEXTS = ("vendor", "product", "revision", "serial")
NEEDED = ("period_ps", "heads")
BLANK = re.compile(r"[ \t\r\n]+")     # between words; any other white space is part of one
NUMBER = re.compile(r"-?([0-9]+)(?:\.[0-9]+)?(?:/0*[1-9][0-9]*|\+[0-9]+)?")


def lines(text):
    """The words of each record, in order. text: its lines, or the file."""
    return (words for _, words in _numbered(text))


def _shown(word):
    """A word as a message has it: of one line of plain ASCII."""
    return "".join(c if " " < c <= "~" else "?" for c in word)


def _numbered(text):
    """The number and the words of each record's line."""
    for number, line in enumerate(text, 1):
        words = [word for word in BLANK.split(line.split("#")[0]) if word]
        if words:
            yield number, words


def _wrong(name, values):
    """What is wrong with the words of a record; None: nothing."""
    if name not in SHAPES:
        return "'%s' is no record" % _shown(name)
    least, most, known = SHAPES[name]
    if name in OFF and values == ["off"]:
        return None
    if least <= len(values) <= most:
        if known and values[0] not in known:
            return "'%s' is none of %s" % (_shown(values[0]),
                                           " ".join("'%s'" % word for word in known))
        if len(values) == 1 or values[0] in BEHIND.get(name, values):
            return None
        most = 1
    return "'%s' takes %s, not %d" % (name, "%d value%s" % (
        least, "s" * (least != 1)) if least == most else "%d to %d values" % (least, most),
        len(values))


def _no_number(name, values):
    """The first value that is to be a number and is none, or too large a one, or text that no
    drive can say; None: none is."""
    if name in TEXTS:
        return next((value for value in values if value != _shown(value)), None)
    known = SHAPES[name][2] + (("off",) if name in OFF else ())
    values = values[1:] if values[:1] and values[0] in known else values
    for value in values[:2] if name == "medium_error" else values:
        found = NUMBER.fullmatch(value.removeprefix("dead="))
        if not found or int(found[1]) >= 1 << 64:
            return value
    return None


def records(path):
    """Scalar records {name: words}, and lists of words of the others by name."""
    scalars, lists = {}, collections.defaultdict(list)
    with open(path, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        found = list(_numbered(file))
    # what precedes the last such record does not count
    begin = max((i for i, (_, words) in enumerate(found) if words[0] == "fbdrive"), default=-1)
    if begin < 0 or found[begin][1] != ["fbdrive", "1"]:
        raise ToolError("%s: not a drive's description (fbdrive 1)" % path)
    for number, (name, *values) in found[begin:]:
        wrong = _wrong(name, values)
        if wrong:
            raise ToolError("%s: line %d: %s" % (path, number, wrong))
        odd = _no_number(name, values)
        if odd is not None:
            raise ToolError("%s: line %d: '%s' is %s" % (
                path, number, _shown(odd), "not plain ASCII" if name in TEXTS else "not a number"))
        if name in SEVERAL:
            lists[name].append(values)
        else:
            scalars[name] = values
    return scalars, lists


def _numbers(path, name, words, count):
    """The first words of a record as numbers."""
    if len(words) < count or not all(word.isascii() and word.isdecimal() for word in words[:count]):
        raise ToolError("%s: '%s': numbers wanted: %d" % (path, " ".join([name, *words]), count))
    return [int(word) for word in words[:count]]


def check(path, scalars, lists):
    """ToolError of records with which no drive could be reckoned with; mechdisk refuses more."""
    missing = [name for name in NEEDED if name not in scalars] + ["zone"] * (not lists["zone"])
    if missing:
        raise ToolError("%s: no %s" % (path, ", no ".join(missing)))
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
