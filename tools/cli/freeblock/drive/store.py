# SPDX-License-Identifier: GPL-2.0
"""Models of this machine's disks: kept under the drive's name, loaded when it appears.

A model is kept as <world-wide name>-<firmware revision>.fbmodel: other firmware may place, and
move, differently. The directory is in /etc because disks appear before /var may be there,
because nothing writes to it but people and what they start, and because it belongs into a
backup of the machine's configuration.
"""

import os
import re

from .. import ToolError, UsageError, fbstate
from ..base import advice, safe_file
from ..formats import fbmodel
from ..state import placement
from . import names

DIRECTORY = "/etc/freeblock/models"
ENDING = ".fbmodel"
# how the kernel's reason ends when there are tasks on other blocks
AT_WORK = ": stop it first"


class Model(fbmodel.Model):
    """A model that is kept for a disk."""

    def check(self, disk):
        """ToolError if it is another drive's, or for other firmware."""
        for field in ("wwn", "serial", "vendor", "product", "revision"):
            mine = self.header.get(field)
            if mine is not None and mine != disk[field]:
                raise ToolError("%s: it is for %s %s, the disk has %s" % (
                    self.name, FIELD_NAMES.get(field, field), mine, disk[field] or "none"))
        if self.header.get("sectors") != str(disk["sectors"]):
            raise ToolError("%s: it is for %s sectors, the disk has %s" % (
                self.name, self.header.get("sectors", "no"), disk["sectors"]))


FIELD_NAMES = {"wwn": "the drive", "revision": "firmware"}


def disk_of(name):
    """What sysfs says of a disk: sdX, /dev/sdX or a link to that. UsageError if there is none."""
    given = name
    name = os.path.basename(os.path.realpath(fbstate.path(name))) if "/" in name else name
    if not re.fullmatch(r"[\w-]+", name, re.ASCII) or \
            not os.path.isdir(fbstate.path("sys/block", name)):
        # its error, if it is no block device
        name = placement.device_name(given)
        raise UsageError("%s: not a whole disk" % given)

    def line(what):
        return (fbstate.read("sys/block", name, what) or "").strip()

    wwn = line("device/wwid")
    return {"name": name, "vendor": line("device/vendor"), "product": line("device/model"),
            "revision": line("device/rev"), "serial": _serial(name),
            "wwn": wwn if wwn.startswith(("naa.", "eui.")) else "",
            "sectors": fbstate.count(line("size"))}


def _serial(name):
    """The unit serial number, from page 80h as the kernel keeps it."""
    try:
        with open(fbstate.path("sys/block", name, "device/vpd_pg80"), "rb") as file:
            page = file.read()
    except OSError:
        # of virtual disks
        return (fbstate.read("sys/block", name, "serial") or "").strip()
    return names.text(page[4:4 + int.from_bytes(page[2:4], "big")]) if len(page) > 4 else ""


def disks():
    """What sysfs says of all SCSI disks."""
    folder = fbstate.path("sys/block")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if os.path.exists(os.path.join(folder, name, "device", "vendor")):
            yield disk_of(name)


def file_name(identity):
    """What a disk's model is called."""
    return "%s-%s%s" % (names.key(identity), names.file_name(identity["revision"]) or "none",
                        ENDING)


def models(directory):
    """Names of the models that are kept; of a link that leads nowhere, too, but not of what might
    never end."""
    if not os.path.isdir(directory):
        return []
    return sorted(name for name in os.listdir(directory) if name.endswith(ENDING) and (
        os.path.isfile(os.path.join(directory, name)) or
        not os.path.exists(os.path.join(directory, name))))


def install(directory, model, identity):
    """Keep a model for a disk; the path. There is the old one, or the whole new one."""
    for field, mine in model.header.items():
        if field in ("wwn", "serial", "revision") and mine != identity[field]:
            raise ToolError("%s: it is for %s %s, and not for %s" % (
                model.name, FIELD_NAMES.get(field, field), mine, identity[field] or "none"))
    path = os.path.join(directory, file_name(identity))
    safe_file.write_file(path, model.data)
    return path


def choose(directory, disk):
    """The path of a disk's model. None: it has none. ToolError: only for other firmware."""
    wanted = file_name(disk)
    there = models(directory)
    if wanted in there:
        return os.path.join(directory, wanted)
    others = [name for name in there if name.startswith(names.key(disk) + "-")]
    if others:
        raise ToolError("%s has firmware %s, and there are models only for other firmware (%s): "
                        "measure it again; run: %s" % (
                            disk["name"], disk["revision"] or "(none)", ", ".join(others),
                            advice.SETUP % disk["name"]))
    return None


# ---- into the kernel

def upload(name, table):
    """Write a disk's model as the kernel takes it."""
    data = memoryview(table)
    with open(fbstate.path(fbstate.KERNEL, name, "model"), "wb", buffering=0) as file:
        while data:
            data = data[file.write(data):]


def load(directory, name, serve=None):
    """Load the model of disk `name`; a line about it; None: it has none. ToolError: it is
    refused.

    serve: called with its name once the model fits, to have freeblock chosen for it, too."""
    disk = disk_of(name)
    path = choose(directory, disk)
    if path is None:
        return None
    model = Model.of_file(path)
    model.check(disk)
    if serve:
        serve(disk["name"])
    kernel = fbstate.Disk(disk["name"])
    if not kernel.is_there():
        return "%s: its model is not loaded: it does not have the scheduler freeblock; run: %s" % (
            disk["name"], advice.CHOOSE % ("freeblock", disk["name"]))
    table = fbmodel.table(path)
    try:
        upload(disk["name"], table)
    except OSError as error:
        said = kernel.read("model_status") or ""
        # another writer's upload leaves no word there
        why = said if said.startswith("refused") else \
            error.strerror + "; the kernel log says why; run: " + advice.LOG
        if said.endswith(AT_WORK):
            why += "; run: " + advice.stop_tasks(kernel)
        raise ToolError("%s: %s: %s" % (disk["name"], path, why)) from error
    said = kernel.read("model_status") or ""
    if not said.startswith("loaded"):
        raise ToolError("%s: %s: %s" % (disk["name"], path, said))
    return "%s: %s: %s" % (disk["name"], path, said)
