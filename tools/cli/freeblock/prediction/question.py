# SPDX-License-Identifier: GPL-2.0
"""What is asked: disks and loads, as files and attributes that can go to another process or
machine, and there become Device and Workload."""

import dataclasses
import functools
import json
import shlex
from dataclasses import dataclass

from .. import ToolError, UsageError, tracefile
from ..base import jsontext
from . import characterise, units
from .device import CacheSpec, Device
from .workload import Workload, check_value

# What is assumed of a disk whose model is all that is known: the read cache of today's
# nearline drives as drives.rst has it, behind SATA's 6 Gbit/s
ASSUMED = CacheSpec(segments=64, segment_bytes=4096 * 1024.0, read_ahead="segment",
                    read_ahead_bytes=2048 * 1024.0, read_ahead_on_hit=True, transfer_rate=600e6,
                    hit_overhead=50e-6)
READ_AHEAD = ("none", "track", "cylinder", "segment", "stream")
SLOWEST, FASTEST = 1e6, 1e12    # --cache-rate
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
        device = Device.from_model(self.path, cache=self.cache)
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
    return {"hit_overhead": units.number(text, "s")}


def _writes(text):
    """off; what holds writes is not computed."""
    if text != "off":
        raise ToolError("a cache that holds writes is not computed; freeblock sim --drive FILE "
                        "--set 'write_cache back' simulates it")
    return {}


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
        if found is None and len(set(given) - {"write_cache"}) > 1:
            raise UsageError("--cache off: nothing else can be said of it")
        if found is None:
            return None
        for attribute, value in found.items():
            if not isinstance(value, (str, bool, type(None))) and not 0 < value < float("inf"):
                raise UsageError("%s %s: %s must be over 0" % (option, text, attribute))
        said.update(found)
    if said.get("segments", 1) != int(said.get("segments", 1)):
        raise UsageError("--cache %s: %g segments?" % (given["cache"], said["segments"]))
    return dataclasses.replace(ASSUMED, **said)


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


def workload_of(load, device):
    """(the Workload for a disk, characterise.Trace or None)."""
    said, trace = {}, None
    if load.trace:
        trace = characterised(load, device)
        if not load.changes:
            return trace.workload, trace
        said = trace.workload.to_dict()
    if load.file:
        said = {name: _value(name, value) for name, value in read_json(load.file).items()}
    return _placed({**said, **dict(load.changes)}, device), trace


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


def check_cache(disk, load, device, found):
    """ToolError of a cache that answers writes before they are on the medium."""
    if device.cache is None or device.cache.write_policy != "back" or found.read_fraction == 1:
        return
    raise ToolError("%s: a cache that holds writes is not computed; simulate it: %s" % (
        disk.path, simulation(disk, load, found)))


def characterised(load, device):
    """characterise.Trace of a load's file for a device."""
    chunk = tracefile.join(list(tracefile.read(load.trace, load.part, load.unit)))
    return characterise.characterise(chunk, characterise.reach_of(device))


@functools.lru_cache(maxsize=64)
def device_of(disk):
    """The same Device for each workload: it keeps what it has prepared."""
    return disk.device()


# What the simulator is asked instead

def simulation(disk, load, found):
    """The command that simulates a disk under a workload, a whole scan riding along."""
    if load.trace and not disk.described:
        more = (("--device", load.part), ("--unit", load.unit))
        return shlex.join(["freeblock", "observe", "--trace", load.trace, "--model", disk.path] + [
            word for pair in more if pair[1] for word in pair])
    words = ["freeblock", "sim", "--drive", disk.path if disk.described else "FILE.fbdrive"]
    if load.trace:
        words += ["--arrivals", load.trace]
    elif found.has_runs:
        words += ["--arrivals", "FILE"]
    elif found.arrival_process in ("closed", "constant-closed"):
        words += ["--outstanding", "%d" % (found.outstanding or 1), "--think",
                  "%g" % (1e3 * found.think_time)]
    else:
        words += ["--rate", "%.6g" % found.rate]
        if found.arrival_process == "bursty":
            words += ["--burst", "%d" % round(found.requests_per_burst)]
    if "--arrivals" not in words:
        words += ["--reads", "%.4g" % found.read_fraction, "--size",
                  "exp:" * (found.request_size_cv2 >= 0.25) + "%dk" % max(
                      round(found.request_size / 1024), 1)]
    return shlex.join(words + ["--task", "scan", "--whole", "1"])
