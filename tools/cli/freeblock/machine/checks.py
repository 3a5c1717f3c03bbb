# SPDX-License-Identifier: GPL-2.0
"""Whether disks that serve are still where their models say (extraction/recheck.py): looked at by a
timer's service, a little each time. What is not is dropped from the model, and measured anew.
checked.py has the record.
"""

import os
import random
import re
import time
import zlib

from .. import ToolError
from ..base import advice, safe_file
from ..drive import names, store
from ..extraction import inservice, recheck, shared
from ..extraction.phase import Phase
from ..formats import fbmodel
from . import checked, lock, records

PATIENCE_S = 60         # the drive may be busy, or asleep
HOLES_NS = 60e9         # disk time for what is not mapped:
SELDOM = 24             # at one look in so many, if this one and the last have found nothing
EACH_ZONE = 3           # reads, of a model for other firmware
NO_MODEL = "no model"


class Unfit(ToolError):
    """No model of the drive is right for its firmware."""


def _for_other_firmware(directory, disk):
    """Its newest model for other firmware, as one for this; None: it has none."""
    paths = [os.path.join(directory, name) for name in store.models(directory)
             if name.startswith(names.key(disk) + "-")]
    if not paths:
        return None
    old = store.Model.of_file(max(paths, key=os.path.getmtime))
    return store.Model(fbmodel.seal(re.sub(
        rb"(?m)^revision .*$", b"revision " + disk["revision"].encode(),
        fbmodel.body(old.name, old.data))), os.path.join(directory, store.file_name(disk)))


def _taken_over(dev, disk, model):
    """A Checked of a model for other firmware, with what is right of it; ToolError: too little."""
    text = model.data

    def use(now):
        nonlocal text
        text = now

    done = recheck.check(dev, model, use, random.randrange(1 << 30), EACH_ZONE * len(model.zones))
    if not done.mapped or not shared.fits(shared.try_text(dev, text, Phase.measure(dev))):
        raise Unfit("%s: the drive has other firmware, for which its model is wrong; run: %s" %
                    (disk["name"], advice.SETUP % disk["name"]))
    done.text = text
    return done


class _Use:
    """What has a disk's model replaced, on the disk and in the kernel, unless others did so."""

    def __init__(self, disk, path, directory):
        self.name, self.path, self.directory = disk["name"], path, directory
        self.now = self._kept()
        self.changed = False

    def _kept(self):
        """What is there; None: nothing."""
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def __call__(self, text):
        with lock.of_disk(self.name, "%s: setup or off of it is at work" % self.name):
            if self._kept() != self.now:
                raise ToolError("%s: it was changed meanwhile: nothing is replaced" % self.path)
            safe_file.write_file(self.path, text)
            self.now = text
            self.changed = True
            store.load(self.directory, self.name)


def _look(disk, model, use, holes):
    """A Checked of a disk."""
    with inservice.InService.open("/dev/" + disk["name"]) as dev:
        dev.patience_s = PATIENCE_S
        if use.now is not None:
            return recheck.check(dev, model, use, random.randrange(1 << 30), budget_ns=HOLES_NS,
                                 holes=holes)
        done = _taken_over(dev, disk, model)
    use(done.text)
    return done


def check(disk, directory, always):
    """Look at a disk, as of store.disk_of(): (what came of it, whether its model has changed).
    always: look for what is not mapped, too."""
    record = checked.read(disk)
    path = os.path.join(directory, store.file_name(disk))
    use = _Use(disk, path, directory)
    known = use.now is not None
    if not known and record.get("unfit") == disk["revision"] and not always:
        return NO_MODEL, False
    model = store.Model(use.now, path) if known else _for_other_firmware(directory, disk)
    if model is None:
        return NO_MODEL, False
    if model.header.get("distrusted", recheck.LOST) != recheck.LOST:
        return advice.DISTRUSTED + model.header["distrusted"], False
    model.check(disk)
    busy = record.get("since") and record["since"] == record["at"]
    try:
        words = _look(disk, model, use, always or busy or not random.randrange(SELDOM)).line()
    except inservice.Busy as error:
        words = str(error)
        if not use.changed:
            return words, False
    except Unfit:
        records.write(checked.path_of(disk), {**record, "unfit": disk["revision"]})
        raise
    except ToolError as error:
        if use.changed:
            _note(disk, record, use, known, str(error))
        raise
    _note(disk, record, use, known, words)
    return words, use.changed


def _note(disk, record, use, known, words):
    """Put a look on record."""
    record.update(at=int(time.time()), words=words)
    if use.changed:
        record.update(since=record["at"], changed=words)
        # off removes what was made here, and no model that somebody has put in its place
        if not known or record.get("made") == os.path.basename(use.path):
            record.update(made=os.path.basename(use.path), crc32=zlib.crc32(use.now))
    records.write(checked.path_of(disk), record)
