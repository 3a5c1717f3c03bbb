# SPDX-License-Identifier: GPL-2.0
"""The .fbdrive text (Documentation/drive-format.rst): read. Words that the format does not have
are refused here, as mechdisk does, which has a reader of its own, and values that none may have
(fbdrive_values); what a record means is told by who wants it."""

import collections
import re

from . import ToolError, fbdrive_values
from .fbdrive_values import shown

# those that a text may have several of
SEVERAL = ("zone", "zone_heads", "run", "slip", "remap", "seek", "overhead_ns", "medium_error",
           "slow_region")
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
        "timeout_ms", "journal_records", "standby_timer_ms", "recovery_limit_ms",
        "link_wake_us", "shared_host"),
                    (1, 1, ())),
    **dict.fromkeys((
        "zero_latency", "early_seek", "translate", "trim", "unmap", "translated", "long_id",
        "mode_sense", "recovery_control", "read_cache", "look_ahead", "read_ahead_on_hit",
        "read_ahead_join", "keep_passing", "discard_read", "written_hits", "append_writes",
        "heal_on_write"), (1, 1, _SWITCH)),
    "verify": (1, 1, (*_WHERE, "nothing", "fails")),
    "fua": (1, 1, _WHERE),
    **dict.fromkeys(("rpm_drift", "seek_drift", "outliers", "command_overhead_ns", "seek"),
                    (2, 2, ())),
    **dict.fromkeys(("zone_heads", "slip"), (2, MOST_WORDS - 1, ())),
    "order": (1, 1, ("plain", "serpentine", "serpentine-disk")),
    "bus_order": (1, 1, ("medium", "lbn")),
    "firmware": (1, 3, ("fcfs", "sptf", "clook", "sstf")),
    "queueing": (1, 1, ("tagged", "ncq")),
    "interface": (1, 1, ("scsi", "sata")),
    "zoned": (1, 1, ("no", "vpd", "identify")),
    "power_mode": (1, 1, ("scsi", "low", "active", "idle", "idle_a", "idle_b", "idle_c",
                          "standby_y", "standby", "untold")),
    "read_ahead_trigger": (1, 1, ("any", "same-track")),
    "read_ahead_stop": (1, 1, ("sector", "at-once")),
    "destage": (1, 1, ("eager", "idle")),
    "write_cache": (1, 1, ("off", "stream", "back")),
    "noise": (1, 2, ("off", "gauss", "laplace")),
    "read_ahead": (1, 2, ("none", "track", "cylinder", "segment", "stream")),
    "overhead_ns": (3, 3, ("read_hit", "read_miss", "write_hit", "write_miss")),
    "completion_overhead_ns": (1, 2, ()), "extra_disconnect_ns": (5, 5, ()),
    "internal_activity": (3, 3, ()),
    "medium_scan": (3, 3, ()), "slow_region": (2, 2, ()), "cache": (3, 3, ()), "zone": (7, 8, ()),
    "run": (7, 9, ()), "repeat": (3, MOST_WORDS - 1, ()),
    "displacement": (1, 64, ()), "remap": (3, 3, ()), "medium_error": (2, MOST_WORDS - 1, ())}
# Those that are "off" instead; the words behind which alone a second value may stand
OFF = ("internal_activity", "medium_scan", "cache")
BEHIND = {"noise": ("gauss", "laplace"), "read_ahead": ("segment",)}
BLANK = re.compile(r"[ \t\r\n]+")     # between words; any other white space is part of one


class Words(list):
    """A record's values, and the number of its line."""

    def __init__(self, values, line):
        super().__init__(values)
        self.line = line


def lines(text):
    """The words of each record, in order. text: its lines, or the file."""
    return (words for _, words in _numbered(text))


def _numbered(text):
    """The number and the words of each record's line."""
    for number, line in enumerate(text, 1):
        words = [word for word in BLANK.split(line.split("#")[0]) if word]
        if words:
            yield number, words


def _check_shape(name, values):
    """ToolError if a record has a name, a number of values or a word that is none of its."""
    if len(values) >= MOST_WORDS:
        raise ToolError("more than %d words" % MOST_WORDS)
    if name not in SHAPES:
        raise ToolError("'%s' is no record" % shown(name))
    least, most, known = SHAPES[name]
    if name in OFF and values == ["off"]:
        return
    if name == "medium_error" and len(values) < least:
        raise ToolError("LBN and COUNT are missing")
    if least <= len(values) <= most:
        if known and values[0] not in known:
            raise ToolError("'%s' is none of %s" % (
                shown(values[0]), " ".join("'%s'" % word for word in known)))
        if len(values) == 1 or values[0] in BEHIND.get(name, values):
            return
        least = most = 1
    raise ToolError("'%s' takes %s, not %d" % (name, "%d value%s" % (
        least, "s" * (least != 1)) if least == most else "%d to %d values" % (least, most),
        len(values)))


def records(path):
    """Scalar records {name: Words}, and lists of Words of the others by name; for a repeat, the
    runs that it stands for."""
    scalars, lists = {}, collections.defaultdict(list)
    # a byte a character, whatever text they are meant as
    with open(path, encoding="latin-1", newline="\n") as file:
        found = list(_numbered(file))
    # what precedes the last such record does not count
    begin = max((i for i, (_, words) in enumerate(found) if words[0] == "fbdrive"), default=-1)
    if begin < 0 or found[begin][1] != ["fbdrive", "1"]:
        raise ToolError("%s: not a drive's description (fbdrive 1)" % path)
    for number, (name, *values) in found[begin:]:
        try:
            _check_shape(name, values)
            fbdrive_values.check(name, values, lists)
            again = fbdrive_values.repeated(values, lists) if name == "repeat" else ()
        except ToolError as error:
            raise ToolError("%s: line %d: %s" % (path, number, error)) from None
        if name == "repeat":
            lists["run"] += [Words(run, number) for run in again]
        elif name in SEVERAL:
            lists[name].append(Words(values, number))
        else:
            scalars[name] = Words(values, number)
    return scalars, lists
