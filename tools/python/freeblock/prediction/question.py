# SPDX-License-Identifier: GPL-2.0
"""What is asked: disks and loads, as files and attributes that can go to another process or
machine, and there become Device and Workload."""

import dataclasses
import functools
import json
from dataclasses import dataclass

from .. import ToolError, UsageError, jsontext, tracefile
from . import characterise, units
from .device import CacheSpec, Device
from .workload import Workload, check_value

# What is assumed of a disk whose model is all that is known: the read cache of today's
# nearline drives as drives.rst has it, behind SATA's 6 Gbit/s
ASSUMED = CacheSpec(segments=64, segment_bytes=4096 * 1024.0, read_ahead="segment",
                    read_ahead_bytes=2048 * 1024.0, read_ahead_on_hit=True, transfer_rate=600e6,
                    hit_overhead=50e-6, write_hit=50e-6, append_writes=True)
READ_AHEAD = ("none", "track", "cylinder", "segment", "stream")
SLOWEST, FASTEST = 1e6, 1e12    # --cache-rate
# Its order as Linux's mq-deadline has it: upwards, then from the lowest again
ALGORITHM = "clook"
# A data_span of the whole disk, whatever its size
WHOLE = "all"


@dataclass(frozen=True)
class Disk:
    """A file, and what it does not say."""

    path: str
    described: bool = False     # a .fbdrive, not a .fbmodel
    cache: CacheSpec = None     # of a model
    cache_from: str = "assumed"         # or options, drive

    def device(self):
        """A Device; ToolError, OSError."""
        if self.described:
            return Device.from_drive(self.path)
        device = Device.from_model(self.path, cache=self.cache, algorithm=ALGORITHM)
        if self.cache is None:
            return device
        return dataclasses.replace(device, bus_rate=self.cache.transfer_rate)


@dataclass(frozen=True)
class Load:
    """A workload: `name` is what people know it by."""

    name: str
    trace: str = None           # a file of requests
    part: str = None            # .. and which device, if it is of several
    unit: str = None            # .. and of its times, if it is not the format's
    file: str = None            # a JSON file of attributes
    changes: tuple = ()         # (attribute, value): of what these say, or all there is


def _segments(text):
    """16x512k, or off."""
    if text == "off":
        return None
    count, _, size = text.partition("x")
    return {"segments": units.number(count, "segments"),
            "segment_bytes": units.number(size, "bytes")}


def _read_ahead(text):
    """KIND or KIND:SIZE."""
    kind, colon, most = text.partition(":")
    if kind not in READ_AHEAD:
        raise ToolError("%r is not one of %s" % (kind, ", ".join(READ_AHEAD)))
    return {"read_ahead": kind, "read_ahead_bytes": units.number(most, "bytes") if colon else None}


def _flag(text):
    if text not in ("0", "1"):
        raise ToolError("%r is not 0 or 1" % text)
    return {"read_ahead_on_hit": text == "1"}


def _rate(text):
    rate = units.number(text, "bytes")
    if not SLOWEST <= rate <= FASTEST:
        raise ToolError("not within %g to %g bytes a second" % (SLOWEST, FASTEST))
    return {"transfer_rate": rate}


def _hit(text):
    took = units.number(text, "s")
    return {"hit_overhead": took, "write_hit": took}


def _writes(text):
    """off, or the number of segments that hold writes."""
    if text == "off":
        return {"write_policy": "through"}
    return {"write_policy": "back", "write_segments": units.number(text, "segments")}


# option: what its text says of a CacheSpec
CACHE_OPTIONS = {"cache": _segments, "read_ahead": _read_ahead, "read_ahead_on_hit": _flag,
                 "cache_rate": _rate, "cache_hit": _hit,
                 "write_cache": _writes}


def cache_spec(given):
    """A CacheSpec, or None, of options' texts; what is not given is as assumed."""
    said = {}
    for name, text in given.items():
        option = "--" + name.replace("_", "-")
        try:
            found = CACHE_OPTIONS[name](text)
        except ToolError as error:
            raise UsageError("%s %s: %s" % (option, text, error)) from error
        if found is None and len(given) > 1:
            raise UsageError("--cache off: nothing else can be said of it")
        if found is None:
            return None
        for attribute, value in found.items():
            if not isinstance(value, (str, bool, type(None))) and not 0 < value < float("inf"):
                raise UsageError("%s %s: %s must be over 0" % (option, text, attribute))
        said.update(found)
    for option, name in (("cache", "segments"), ("write_cache", "write_segments")):
        if said.get(name, 1) != int(said.get(name, 1)):
            raise UsageError("--%s %s: %g segments?" % (option.replace("_", "-"), given[option],
                                                        said[name]))
    found = dataclasses.replace(ASSUMED, **said)
    if found.write_segments > found.segments:
        raise UsageError("--write-cache %s: the cache has %d segments" % (
            given["write_cache"], found.segments))
    return found


def settings(words):
    """(attribute, value) of KEY=VALUE words; ToolError."""
    known = [each.name for each in dataclasses.fields(Workload)]
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError("--set %s: KEY=VALUE is expected" % word)
        if name not in known:
            raise UsageError("--set %s: no such attribute; there are %s" % (word, ", ".join(known)))
        if name in found:
            raise UsageError("--set %s: %s is set twice" % (word, name))
        try:
            found[name] = _value(name, value)
        except ToolError as error:
            raise UsageError("--set %s: %s" % (word, error)) from error
    return tuple(found.items())


def _value(name, said):
    """An attribute's value; "all" stays."""
    return said if name == "data_span" and said == WHOLE else units.attribute(name, said)


def read_json(path):
    """A workload's attributes from a file; ToolError names it, and the line."""
    try:
        with open(path, encoding="utf-8") as file:
            said = jsontext.parse(file.read())
    except json.JSONDecodeError as error:
        kind = "" if isinstance(error, jsontext.Refused) else "not JSON: "
        raise ToolError("%s: line %d: %s%s" % (path, error.lineno, kind, error.msg)) from error
    except UnicodeDecodeError as error:
        raise ToolError("%s: not JSON: %s" % (path, error)) from error
    if not isinstance(said, dict):
        raise ToolError("%s: attributes by name are expected, {...}" % path)
    return said


def workload(load, device):
    """The Workload of attributes for a disk."""
    said = {}
    if load.file:
        said = {name: _value(name, value) for name, value in read_json(load.file).items()}
    return _placed({**said, **dict(load.changes)}, device)


def changed(found, load, device):
    """A trace's Workload with the load's changes."""
    if not load.changes:
        return found
    return _placed({**found.to_dict(), **dict(load.changes)}, device)


def _placed(said, device):
    if said.get("data_span") == WHOLE:
        start = said.get("data_start", 0)
        check_value("data_start", start)
        said["data_span"] = device.capacity - start
    return Workload.from_dict(said)


def check_span(found, device, trace=None):
    """ToolError if a workload is not one of this disk."""
    last = trace.last_byte if trace else found.data_start + found.data_span
    if last > device.capacity:
        raise ToolError("a request ends at byte %.0f, %s has %.0f: is it this disk's?" % (
            last, device.name, device.capacity) if trace else
            "data_start + data_span is %.0f bytes, %s has %.0f" % (
                last, device.name, device.capacity))


def _read(load, wanted):
    """Traces' attributes by what is in `wanted`: (reach, service_time) pairs; one reading."""
    found = {key: characterise.Characteriser(*key) for key in wanted}
    for chunk in tracefile.read(load.trace, load.part, load.unit):
        for each in found.values():
            each.add(chunk)
    return {key: each.result() for key, each in found.items()}


def characterised(load, devices, service_time_of):
    """A characterise.Trace for each device, the file being read once, or twice if it may
    have bursts: what these are depends on how fast the disk is (3.2)."""
    reach = [characterise.reach_of(device) for device in devices]
    plain = _read(load, {(each, None) for each in reach})
    keys = [(each, None) for each in reach]
    for number, device in enumerate(devices):
        found = plain[keys[number]].workload
        if found.arrival_process == "poisson" and plain[keys[number]].last_byte <= device.capacity:
            keys[number] = (reach[number], service_time_of(device, found))
    if any(service for _, service in keys):
        plain.update(_read(load, {key for key in keys if key[1]}))
    return [dataclasses.replace(plain[key], workload=characterise.of_device(plain[key], device))
            for key, device in zip(keys, devices)]


@functools.lru_cache(maxsize=64)
def device_of(disk):
    """The same Device for each workload: it keeps what it has prepared."""
    return disk.device()
