# SPDX-License-Identifier: GPL-2.0
"""What came of the looks at a disk's model while it serves (machine/checks.py), on record in
/var/lib/freeblock/checks/<disk>.json: "at", "words" of the last look; "since", "changed" of the
last one that found a change; "unfit": firmware for which no model is right; "made", "crc32":
the model that was taken over from other firmware. Seconds since 1970.
"""

import contextlib
import time
import zlib

from .. import ToolError, fbstate
from ..drive import names, store
from . import book, records

FOLDER = book.STATES + "/checks"
KINDS = {"at": int, "words": str, "since": int, "changed": str, "unfit": str, "made": str,
         "crc32": int}


def path_of(identity):
    """Where a disk's record is."""
    return fbstate.path(FOLDER, names.key(identity) + ".json")


def read(identity):
    """A disk's record; {}: there is none, or it is spoilt."""
    found = records.read(path_of(identity)) if names.is_known(identity) else {}
    right = all(isinstance(found.get(key, kind()), kind) for key, kind in KINDS.items())
    looked = {"at", "words"} <= found.keys() or not {"at", "words", "since"} & found.keys()
    return found if right and looked and ("since" in found) == ("changed" in found) else {}


def is_made(record, path):
    """Whether a model is still the one that was taken over from other firmware."""
    try:
        with open(path, "rb") as file:
            return zlib.crc32(file.read()) == record.get("crc32")
    except OSError:
        return False


def last(name):
    """The same of sdX, which may be gone."""
    with contextlib.suppress(ToolError):
        return read(store.disk_of(name))
    return {}


def lines(record):
    """For people."""
    for what, at, words in (("checked", "at", "words"), ("changed", "since", "changed")):
        if at in record and (at == "at" or record[at] != record["at"]):
            yield "map %s %s: %s" % (what, time.strftime(
                "%Y-%m-%d %H:%M", time.localtime(record[at])), record[words])
