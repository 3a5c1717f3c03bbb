# SPDX-License-Identifier: GPL-2.0
"""The values of one .fbdrive record: what mechdisk_text.c takes, and what it says of the rest."""

import collections
import re
from fractions import Fraction

from . import ToolError

CYLINDERS = 10 ** 7
INDEX = (2 ** 64 - 1) // 8      # of a sector within its zone
COUNT = 2 ** 32 - 1             # of neighbouring sectors
RUNS = 262144                   # most of them, repeated ones counted each time
SURFACE = 63                    # the last
DIRECTIONS = ("in", "out")
SECTORS = 16777216              # of the cache's segments
ERRORS = ("unc", "idnf", "abrt")        # kinds of them
MOST_BAD = 64                   # medium_error records
MOST_SLOW = 16                  # slow_region records
AGEING = {"age_ns": 4000000, "bound_ms": 600000}     # most of each of firmware's options
LINK_NS = 10 ** 7
COMMAND_NS = 10 ** 8
FRACTION = re.compile(r"0|0\.[0-9]{1,18}|([0-9]+)/([0-9]+)")

# From, to of each number that stands behind the record's name, and behind its word if it has one
RANGES = {
    "physical_exponent": [(0, 7)], "period_ps": [(10 ** 9, 10 ** 11)],
    "rpm_error_ppm": [(-10 ** 4, 10 ** 4)], "rpm_error_ppb": [(-10 ** 7, 10 ** 7)],
    "rpm_drift": [(-10 ** 4, 10 ** 4), (1, 10 ** 6)],
    "seek_drift": [(-200000, 200000), (1, 10 ** 6)],
    "seed": [(0, 2 ** 64 - 1)], "heads": [(1, 64)], "surface_run": [(1, 65535)],
    "head_switch_ns": [(0, COMMAND_NS)], "write_settle_ns": [(-COMMAND_NS, COMMAND_NS)],
    "write_move_ns": [(0, COMMAND_NS)], "noise": [(0, 10 ** 7)],
    "outliers": [(0, 10 ** 6), (0, 10 ** 9)],
    "command_overhead_ns": [(0, COMMAND_NS)] * 2, "overhead_ns": [(0, COMMAND_NS)] * 2,
    "bus_ns": [(0, 10 ** 6)], "bus_watermark_ppm": [(0, 10 ** 6)], "reselect_ns": [(0, LINK_NS)],
    "extra_disconnect_ns": [(0, LINK_NS)] * 5, "completion_overhead_ns": [(0, LINK_NS)] * 2,
    "jitter_ns": [(0, 10 ** 5)], "actuators": [(1, 4)], "read_ahead": [(1, SECTORS)],
    "read_ahead_least": [(0, SECTORS)], "destage_delay_ns": [(0, 10 ** 10)],
    "queue_depth": [(1, 32)], "hw_queues": [(1, 64)], "max_sectors": [(8, 65535)],
    "max_segment_size": [(4096, 2 ** 31)], "timeout_ms": [(100, 600000)],
    "journal_records": [(0, 4194304)], "standby_timer_ms": [(0, 86400000)],
    "recovery_limit_ms": [(0, 65535)], "link_wake_us": [(0, 10 ** 6)],
    "shared_host": [(0, 15)]}
# Most characters of those that are text
TEXTS = {"vendor": 8, "product": 16, "revision": 4, "serial": 20}


def shown(word):
    """A word as a message has it: of one line of plain ASCII, and not all of a long one."""
    return "".join(c if " " < c <= "~" else "?" for c in word[:32])


def _blame(word, why):
    return ToolError("'%s' %s" % (shown(word), why))


def _digits(word):
    """The number that digits say; None if it has more than 64 bits, or they are none."""
    if not word.isascii() or not word.isdecimal() or len(word.lstrip("0")) > 20:
        return None
    value = int(word.lstrip("0") or "0")
    return value if value < 2 ** 64 else None


def number(word, low, high):
    """A word's number; ToolError if it is none, or not one from low to high."""
    value = _digits(word[1:] if low < 0 and word.startswith("-") else word)
    if value is None:
        raise _blame(word, "is not a number")
    value = -value if word.startswith("-") else value
    if not low <= value <= high:
        raise _blame(word, "is not within %d to %d" % (low, high))
    return value


def _fraction(word):
    found = FRACTION.fullmatch(word)
    over, under = (_digits(part or "") for part in found.groups()) if found else (None, None)
    if not found or "/" in word and (over is None or under is None or not over < under <= COUNT):
        raise _blame(word, "is not a fraction of a turn (a/b or 0.ddd, below 1)")


def span(words):
    """(first sector, how many) of INDEX or INDEX+COUNT, a slip's; of what has been checked."""
    index, _, count = words.partition("+")
    return int(index), int(count or "1")


def _text(name, word):
    if len(word) > TEXTS[name]:
        raise _blame(word, "is longer than %d characters" % TEXTS[name])
    if any(not " " < c <= "~" for c in word):
        raise _blame(word, "is not plain ASCII")


def _sector_bytes(values, _):
    if values[0] not in ("512", "4096"):
        raise _blame(values[0], "is neither 512 nor 4096")


def _seg_boundary(values, _):
    value = number(values[0], 4096, 2 ** 32)
    if value & (value - 1):
        raise _blame(values[0], "is not a power of two")


def _internal_activity(values, _):
    if values != ["off"]:
        period = number(values[0], 10, 86400000)
        number(values[1], 1, min(period - 1, 60000))
        number(values[2], 0, CYLINDERS)


def _medium_scan(values, _):
    if values != ["off"]:
        number(values[0], 1, 86400000)
        number(values[2], number(values[1], 0, 10 ** 6), 10 ** 6)


def _slow_region(values, before):
    if len(before["slow_region"]) == MOST_SLOW:
        raise ToolError("more than %d slow regions" % MOST_SLOW)
    number(values[1], number(values[0], 0, CYLINDERS), CYLINDERS)


def _cache(values, _):
    if values != ["off"]:
        segments = number(values[0], 1, 64)
        number(values[1], 8, SECTORS)
        number(values[2], 0, segments)


def _firmware(values, _):
    for word in values[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise _blame(word, "is not key=value")
        if values[0] == "fcfs":
            raise _blame(word, "is of no use: fcfs serves the oldest first")
        if key not in AGEING:
            raise _blame(word, "is no option")
        if key == "age_ns" and values[0] != "sptf":
            raise _blame(word, "is of no use: only sptf goes by time")
        number(value, 0, AGEING[key])


def _zone(values, before):
    zones = before["zone"]
    if before["run"]:
        raise ToolError("zone behind run: a drive has either")
    begin = int(zones[-1][1]) + 1 if zones else 0
    first = number(values[0], 0, CYLINDERS)
    number(values[1], first, CYLINDERS)
    number(values[2], 1, 65535)
    for word in values[3:6]:
        _fraction(word)
    number(values[6], 0, INDEX)
    for word in values[7:]:
        key, equals, value = word.partition("=")
        if not equals or key != "dead":
            raise _blame(word, "is no option" if equals else "is not key=value")
        number(value, 0, INDEX)
    if first != begin:
        raise ToolError("zone %d starts at cylinder %d, not at %d" % (len(zones), first, begin))


def run_tracks(values):
    """(first, last) track of a run; of what has been checked."""
    first, tracks = int(values[1]), int(values[3])
    return (first - tracks + 1, first) if values[2] == "out" else (first, first + tracks - 1)


def options(values):
    """{name: number} of a run's NAME=N; of what has been checked."""
    return {key: int(value) for key, _, value in (word.partition("=") for word in values[7:])}


def _run(values, before):
    if before["zone"]:
        raise ToolError("run behind zone: a drive has either")
    if len(before["run"]) == RUNS:
        raise ToolError("more than %d runs" % RUNS)
    number(values[0], 0, SURFACE)
    first = number(values[1], 0, CYLINDERS)
    if values[2] not in DIRECTIONS:
        raise _blame(values[2], "is none of " + " ".join("'%s'" % known for known in DIRECTIONS))
    tracks = number(values[3], 1, CYLINDERS)
    number(values[4], 1, 65535)
    for word in values[5:7]:
        _fraction(word)
    for word in values[7:]:
        key, equals, value = word.partition("=")
        if not equals or key not in ("dead", "spares"):
            raise _blame(word, "is no option" if equals else "is not key=value")
        number(value, 0, INDEX)
    if values[2] == "out" and tracks > first + 1:
        raise ToolError("%d tracks outwards from track %d: there are %d" % (
            tracks, first, first + 1))
    if values[2] == "in" and first + tracks - 1 > CYLINDERS:
        raise ToolError("%d tracks inwards from track %d: the last is %d" % (
            tracks, first, CYLINDERS))


def _repeat_lengths(words, tracks):
    """{surface: sectors} of SURFACE=SECTORS, of surfaces that have tracks."""
    lengths = {}
    for word in words:
        surface, equals, sectors = word.partition("=")
        if not equals:
            raise _blame(word, "is not SURFACE=SECTORS")
        if not tracks[number(surface, 0, SURFACE)]:
            raise _blame(surface, "is a surface that the runs do not have")
        lengths[int(surface)] = number(sectors, 1, 65535)
    return lengths


def repeated(values, before):
    """The runs, each a list of values, that a repeat stands for."""
    runs = before["run"]
    if not runs:
        raise ToolError("no run yet")
    count = number(values[0], 1, len(runs))
    times = number(values[1], 1, RUNS)
    _fraction(values[2])
    tracks = collections.Counter()
    for run in runs[-count:]:
        tracks[int(run[0])] += int(run[3])
    lengths, shift = _repeat_lengths(values[3:], tracks), max(tracks.values())
    found, pattern, turn = [], runs[-count:], Fraction(values[2])
    for again in range(count * times):
        if len(runs) + len(found) == RUNS:
            raise ToolError("more than %d runs" % RUNS)
        surface, first, way, wide, sectors, angle, *more = pattern[again % count] \
            if again < count else found[-count]
        if shift + run_tracks((surface, first, way, wide))[1] > CYLINDERS:
            raise ToolError("surface %d has tracks beyond track %d then" % (
                int(surface), CYLINDERS))
        found.append([surface, str(int(first) + shift), way, wide,
                      str(lengths.get(int(surface), sectors)),
                      str((Fraction(angle) + turn) % 1), *more])
    return found


def _displacement(values, _):
    for word in values:
        number(word, 0, 65535)


def _in_zone(word, before, same=None):
    """The zone or run, given before, of a record; those called `same` are in their zones'
    order."""
    if not before["zone"] and not before["run"]:
        raise ToolError("no zone yet")
    low = int(before[same][-1][0]) if same and before[same] else 0
    return number(word, low, len(before["zone"] or before["run"]) - 1)


def _zone_heads(values, before):
    if before["run"]:
        raise ToolError("zone_heads goes with zone, not with run")
    zone, given, heads = _in_zone(values[0], before), before["zone_heads"], len(values) - 1
    if given and len(given[-1]) - 1 != heads:
        raise ToolError("%d heads, but %d in the zone_heads before" % (heads, len(given[-1]) - 1))
    if any(int(each[0]) == zone for each in given):
        raise ToolError("zone %d has a zone_heads already" % zone)
    longest = int(before["zone"][zone][2])
    if max([number(word, 1, longest) for word in values[1:]]) != longest:
        raise ToolError("zone %d: no head has the zone's %d sectors" % (zone, longest))


def _slip(values, before):
    zone, low = _in_zone(values[0], before, "slip"), 0
    if before["slip"] and int(before["slip"][-1][0]) == zone:
        low = sum(span(before["slip"][-1][-1]))
    for word in values[1:]:
        index, plus, count = word.partition("+")
        count = number(count, 1, COUNT) if plus else 1
        low = number(index, low, INDEX) + count


def _remap(values, before):
    zone, low = _in_zone(values[0], before, "remap"), 0
    if before["remap"] and int(before["remap"][-1][0]) == zone:
        low = int(before["remap"][-1][1]) + 1
    number(values[1], low, INDEX)
    number(values[2], 0, INDEX)


def _seek(values, before):
    number(values[0], int(before["seek"][-1][0]) + 1 if before["seek"] else 1, CYLINDERS)
    number(values[1], 0, 10 ** 9)


def _bad_option(word):
    key, equals, value = word.partition("=")
    most = {"recovery_ms": (0, 600000), "info": (0, 1), "times": (1, COUNT - 1)}
    if not equals:
        raise _blame(word, "is not key=value")
    if key == "asc":
        if value not in ("11", "15"):
            raise _blame(word, "is neither 11 nor 15")
    elif key == "error":
        if value not in ERRORS:
            raise _blame(value, "is none of " + " ".join("'%s'" % known for known in ERRORS))
    elif key not in most:
        raise _blame(word, "is no option")
    elif (key, value) != ("times", "always"):
        number(value, *most[key])


def _medium_error(values, before):
    if len(before["medium_error"]) == MOST_BAD:
        raise ToolError("more than %d medium errors" % MOST_BAD)
    number(values[1], 1, INDEX - number(values[0], 0, INDEX - 1))
    for word in values[2:]:
        _bad_option(word)


_RULES = {"sector_bytes": _sector_bytes, "firmware": _firmware,
          "seg_boundary": _seg_boundary, "cache": _cache,
          "internal_activity": _internal_activity, "medium_scan": _medium_scan,
          "slow_region": _slow_region, "zone": _zone, "zone_heads": _zone_heads,
          "run": _run, "displacement": _displacement, "slip": _slip,
          "remap": _remap, "seek": _seek, "medium_error": _medium_error}


def check(name, values, before):
    """ToolError with the reason if a record of the right number of words has a wrong one.
    before: the lists of records that precede it, by name."""
    if name in TEXTS:
        _text(name, values[0])
    elif name in _RULES:
        _RULES[name](values, before)
    else:
        ranges = RANGES.get(name, [])
        numbers = values[1:] if name in ("noise", "read_ahead", "overhead_ns") else values
        for word, (low, high) in zip(numbers, ranges):
            number(word, low, high)
