# SPDX-License-Identifier: GPL-2.0
"""The passes of a disk's scrub that came to their end, in /var/lib/freeblock/<id>.passes: a line of
JSON each, the last hundred.
"""

import json
import math
import os

from .. import fbstate, jsontext
from ..extraction import journal

FOLDER = "var/lib/freeblock"
MOST = 100
# began, ended: seconds since 1970; blocks, bad, unverified; what free reads added to a request
WHOLE = ("began", "ended", "blocks", "bad", "unverified")
COST = ("added_ms", "error_ms")
KEYS = WHOLE + COST
LARGEST = 253402300800          # the year 10000, which has no date; no disk has that many blocks


def path_of(ident):
    """Where they are; ident: of the kernel's file id."""
    return fbstate.path(FOLDER, ident.replace("/", "_") + ".passes")


def _is_pass(said):
    """Whether these are the values of one."""
    whole, cost = [said[key] for key in WHOLE], [said[key] for key in COST]
    return all(isinstance(value, int) and 0 <= value < LARGEST for value in whole) and (
        cost == [None, None] or all(map(math.isfinite, cost)))


def load(ident):
    """A list, the oldest first; lines that are spoilt are passed over."""
    found = []
    try:
        with open(path_of(ident), encoding="ascii", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            said = jsontext.parse(line)
            if _is_pass(said):
                found.append({key: said[key] for key in KEYS})
        except (ValueError, KeyError, TypeError):
            continue
    return found


def add(ident, **facts):
    """One more. facts: KEYS."""
    found = load(ident)[-(MOST - 1):] + [{key: facts[key] for key in KEYS}]
    journal.make_directory(os.path.dirname(path_of(ident)))
    journal.write_file(path_of(ident), "".join(json.dumps(one) + "\n" for one in found).encode())
