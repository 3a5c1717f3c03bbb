# SPDX-License-Identifier: GPL-2.0
"""Whether the records of a .fbdrive text agree, as mechdisk_check.c has it."""

import bisect
import collections

from . import ToolError
from .fbdrive_values import options, run_tracks, span

# Without which nothing is known
NEEDED = ("period_ps", "heads")
MOST_SECTORS = 2 ** 48


class _Zone:
    """A zone or run, and what is said of its sectors: records of the lists."""

    def __init__(self, number, record, belongs):
        self.number, self.record = number, record
        self.slips = [(*span(word), each) for each in belongs["slip"] for word in each[1:]]
        self.remaps = [(int(each[1]), int(each[2]), each) for each in belongs["remap"]]
        self.kind = "zone"
        self.dead = self.spares = self.sectors = 0

    @classmethod
    def of_zone(cls, number, record, heads, belongs):
        """A zone."""
        zone = cls(number, record, belongs)
        zone.spares = int(record[6])
        zone.dead = sum(int(word.removeprefix("dead=")) for word in record[7:])
        turn = [sum(int(word) for word in each[1:]) for each in belongs["zone_heads"]]
        zone.sectors = (int(record[1]) - int(record[0]) + 1) * \
            (turn[0] if turn else heads * int(record[2]))
        return zone

    @classmethod
    def of_run(cls, number, record, belongs):
        """A run: it gives the spares that its slips use up."""
        run, more = cls(number, record, belongs), options(record)
        run.kind = "run"
        run.sectors = int(record[3]) * int(record[4])
        run.dead = more.get("dead", 0)
        run.spares = more.get("spares", 0) + sum(count for _, count, _ in run.slips)
        return run

    def end(self):
        """The sector behind that of the zone's last LBN."""
        end = self.sectors - self.spares
        for index, count, _ in self.slips:
            if index >= end:
                break
            end += count
        return end

    def refused(self, record, why):
        """Why the zone's record is, or one of its slips or remaps."""
        return _refused(record, "%s %d: %s" % (self.kind, self.number, why))

    def check_room(self):
        """It keeps an LBN."""
        if self.dead + self.spares >= self.sectors:
            dead = "%d dead, " % self.dead if self.dead else ""
            raise self.refused(self.record, "%s%d spares, but only %d sectors" % (
                dead, self.spares, self.sectors))

    def check_slips(self):
        """They use up spares, as remaps do, and lie behind what is dead and inside the zone."""
        slipped = sum(count for _, count, _ in self.slips)
        if slipped + len(self.remaps) > self.spares:
            raise self.refused(self.record, "%d slips and %d remaps, but only %d spares" % (
                slipped, len(self.remaps), self.spares))
        for index, count, record in self.slips:
            if index < self.dead:
                raise self.refused(record, "slip %d is dead already" % index)
            if index + count > self.sectors:
                raise self.refused(record, "slip %d+%d lies beyond the %s's %d sectors" % (
                    index, count, self.kind, self.sectors))

    def _slipped(self, sector):
        i = bisect.bisect_right(self.slips, sector, key=lambda slip: slip[0]) - 1
        return i >= 0 and sector < self.slips[i][0] + self.slips[i][1]

    def check_remaps(self):
        """From an LBN's sector to a spare, neither slipped; no spare serves twice."""
        end = self.end()
        for start, to, record in self.remaps:
            if not self.dead <= start < end:
                raise self.refused(record, "remap %d, but LBNs are within %d to %d" % (
                    start, self.dead, end - 1))
            if not end <= to < self.sectors:
                raise self.refused(record, "remap to %d, but spares are within %d to %d" % (
                    to, end, self.sectors - 1))
            if self._slipped(start):
                raise self.refused(record, "sector %d is slipped and remapped" % start)
            if self._slipped(to):
                raise self.refused(record, "spare %d is slipped" % to)
        used = collections.Counter(to for _, to, _ in self.remaps)
        twice = max((to for to, times in used.items() if times > 1), default=None)
        if twice is not None:
            last = [record for _, to, record in self.remaps if to == twice][-1]
            raise self.refused(last, "spare %d used twice" % twice)


def _refused(record, why):
    return ToolError("line %d: %s" % (record.line, why))


def _check_runs(scalars, lists):
    """The arm has a surface for each run, and each track is of one run."""
    heads, runs = int(scalars["heads"][0]), lists["run"]
    if int(scalars.get("surface_run", ["1"])[0]) > 1 or \
            scalars.get("order", ["plain"]) != ["plain"]:
        raise ToolError("surface_run and order go with zone, not with run")
    for number, run in enumerate(runs):
        if int(run[0]) >= heads:
            raise _refused(run, "run %d: surface %d, but there are %d" % (
                number, int(run[0]), heads))
    places = sorted((int(run[0]), *run_tracks(run), number) for number, run in enumerate(runs))
    for (surface, _, last, before), (other, first, _, number) in zip(places, places[1:]):
        if surface == other and last >= first:
            raise _refused(runs[max(before, number)],
                           "run %d: track %d of surface %d is in run %d already" % (
                               max(before, number), first, surface, min(before, number)))


def _check_displacement(scalars, lists):
    displacement, heads = scalars.get("displacement"), int(scalars["heads"][0])
    if displacement and not lists["run"]:
        raise _refused(displacement, "displacement goes with run, not with zone")
    if displacement and len(displacement) != heads:
        raise _refused(displacement, "displacement of %d surfaces, but there are %d" % (
            len(displacement), heads))


def _check_heads(scalars, lists):
    heads = int(scalars["heads"][0])
    if int(scalars.get("surface_run", ["1"])[0]) > 1 and \
            scalars.get("order") == ["serpentine-disk"]:
        raise ToolError("surface_run goes with order plain or serpentine, not serpentine-disk")
    for each in lists["zone_heads"][-1:]:
        if len(each) - 1 != heads:
            raise _refused(each, "zone_heads names %d heads, but there are %d" % (
                len(each) - 1, heads))


def _check_layout(scalars, lists):
    """The drive's sectors."""
    _check_displacement(scalars, lists)
    if lists["run"]:
        _check_runs(scalars, lists)
    else:
        _check_heads(scalars, lists)
    belongs = collections.defaultdict(lambda: collections.defaultdict(list))
    for name in ("zone_heads", "slip", "remap"):
        for each in lists[name]:
            belongs[int(each[0])][name].append(each)
    zones = [_Zone.of_zone(number, record, int(scalars["heads"][0]), belongs[number])
             for number, record in enumerate(lists["zone"])] or \
        [_Zone.of_run(number, record, belongs[number])
         for number, record in enumerate(lists["run"])]
    for zone in zones:
        zone.check_room()
    for zone in zones:
        zone.check_slips()
        zone.check_remaps()
    sectors = sum(zone.sectors - zone.dead - zone.spares for zone in zones)
    if sectors >= MOST_SECTORS:
        raise ToolError("more than 2^48 sectors")
    return sectors


def last_cylinder(scalars, lists):
    """The innermost to which the arm goes."""
    if lists["zone"]:
        return int(lists["zone"][-1][1])
    displaced = [int(word) for word in scalars.get("displacement", [])] or [0] * 64
    return max(run_tracks(run)[1] + displaced[int(run[0])] for run in lists["run"])


def _check_places(scalars, lists, sectors):
    for each in lists["medium_error"]:
        if int(each[0]) + int(each[1]) > sectors:
            raise _refused(each, "medium error at %d: the drive has %d sectors" % (
                int(each[0]), sectors))
    busy, last = scalars.get("internal_activity", ["off"]), last_cylinder(scalars, lists)
    for each in lists["slow_region"]:
        if int(each[1]) > last:
            raise _refused(each, "slow region up to cylinder %d: the last is %d" % (
                int(each[1]), last))
    if busy != ["off"] and int(busy[2]) > last:
        raise _refused(busy, "internal activity at cylinder %d: the last is %d" % (
            int(busy[2]), last))


def _check_cache(scalars):
    kind, cache = scalars.get("write_cache", ["off"]), scalars.get("cache", ["off"])
    if kind != ["off"] and (cache == ["off"] or not int(cache[2])):
        raise _refused(kind, "write_cache, but there is no cache" if cache == ["off"] else
                       "write_cache, but the cache has no segments for writes")


def check(path, scalars, lists):
    """ToolError if there is no drive that all of the records, each good in itself, describe."""
    try:
        missing = [name for name in NEEDED if name not in scalars] + \
            ["zone"] * (not lists["zone"] and not lists["run"])
        if missing:
            raise ToolError("no " + ", no ".join(missing))
        if not lists["seek"]:
            raise ToolError("no seek time for distance 1")
        if int(lists["seek"][0][0]) != 1:
            raise _refused(lists["seek"][0], "no seek time for distance 1")
        _check_places(scalars, lists, _check_layout(scalars, lists))
        _check_cache(scalars)
    except ToolError as error:
        raise ToolError("%s: %s" % (path, error)) from None
