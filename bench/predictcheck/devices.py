# SPDX-License-Identifier: GPL-2.0
"""The drives that predictions are compared with."""

import functools
import json
import os
import subprocess
from typing import NamedTuple

from freeblock import ToolError, UsageError, fbdrive, sim
from freeblock.prediction.device import Device
from .. import fidelity, replay
from .workloads import Disk

# The paper's cache (section 5): one segment of 128 KiB, write-through; reading ahead goes on
# until it is full, and (4.2) only a miss starts it
SEGMENT = 128 * 1024            # bytes
AS_PAPER = ("cache 1 %d 1", "write_cache off", "read_ahead segment", "read_ahead_on_hit off",
            "keep_passing off", "discard_read off")
PAPERS_DRIVE = "hp_c2490a"      # of tables 4 and 5; imported
# name: (drive of tools/mechdisk/drives, cached as the paper's)
OURS = {"atlas10k-paper": ("atlas10k", True), "atlas10k": ("atlas10k", False),
        "nearline16-paper": ("nearline16", True), "nearline16": ("nearline16", False)}


class Measured(NamedTuple):
    """A drive to measure: its name here, and its description."""

    name: str
    path: str

    @property
    def disk(self):
        """What generators must know of it."""
        return _disk(self.path)

    @property
    def device(self):
        """What the prediction knows of it."""
        return _device(self.path)


@functools.lru_cache()
def _disk(path):
    scalars, _ = fbdrive.records(path)
    sector = int(scalars.get("sector_bytes", ["512"])[0])
    return Disk(float(replay.drive_info(path)["sectors"] * sector), sector)


@functools.lru_cache()
def _device(path):
    return Device.from_drive(path)


def _write(source, name, cached, out):
    """A drive's description with the paper's cache, if wanted, in a file of its own."""
    scalars, _ = fbdrive.records(source)
    sectors = SEGMENT // int(scalars.get("sector_bytes", ["512"])[0])
    lines = [line % sectors if "%" in line else line for line in AS_PAPER]
    with open(source, encoding="utf-8") as file:
        text = file.read().rstrip("\n") + "\n" + "".join(line + "\n" for line in lines * cached)
    path = os.path.join(out, name + ".fbdrive")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return Measured(name, path)


def imported(out):
    """The paper's drive out of its facts, or None if they are not at hand."""
    folder = os.path.join(fidelity.DRIVES, PAPERS_DRIVE)
    if not os.path.isdir(folder):
        return None
    return _write(fidelity.Folder(folder).drive, PAPERS_DRIVE, True, out)


def names():
    """Of all drives there may be."""
    return [PAPERS_DRIVE, *OURS]


def find(wanted, out):
    """(drives of these names, what to say of those that cannot be had)"""
    os.makedirs(out, exist_ok=True)
    found, said = [], []
    for name in wanted:
        if name in OURS:
            drive, cached = OURS[name]
            found.append(_write(sim.drive_file(drive), name, cached, out))
            continue
        if name != PAPERS_DRIVE:
            raise UsageError("--drive %s: not one of %s" % (name, ", ".join(names())))
        drive = imported(out)
        if drive:
            found.append(drive)
        else:
            said.append("%s is left out: no %s (set FREEBLOCK_DRIVES)" % (
                name, os.path.join(os.path.normpath(fidelity.DRIVES), name)))
    return found, said


def measure(drive, case, policy, skip=0):
    """What `mechdisk-host queue` makes of a case's requests."""
    words = [replay.HOST, "queue", drive.path, "--policy", policy, "--binary", "--skip", str(skip)]
    words += ["--closed"] * case.requests.closed
    ran = subprocess.run(words, check=False, capture_output=True,
                         input=case.requests.records(drive.disk))
    if ran.returncode:
        raise ToolError("%s: %s" % (drive.name, ran.stderr.decode(errors="replace").strip().replace(
            "mechdisk-host: ", "", 1)))
    return json.loads(ran.stdout)
