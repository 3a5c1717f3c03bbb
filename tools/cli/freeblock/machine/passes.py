# SPDX-License-Identifier: GPL-2.0
"""The passes of a disk's scrub that came to their end, in /var/lib/freeblock/<id>.passes: a line of
JSON each, the last hundred.
"""

import contextlib
import json

from .. import fbstate
from ..base import safe_file

FOLDER = "var/lib/freeblock"
MOST = 100
# began, ended: seconds since 1970; blocks, bad, unverified; what free reads added to a request
KEYS = ("began", "ended", "blocks", "bad", "unverified", "added_ms", "error_ms")


def path_of(ident):
    """Where they are; ident: of the kernel's file id."""
    return fbstate.path(FOLDER, ident.replace("/", "_") + ".passes")


def load(ident):
    """A list, the oldest first; lines that are spoilt are passed over."""
    found = []
    try:
        with open(path_of(ident), encoding="ascii", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = json.loads(line)
            found.append({key: said[key] for key in KEYS})
    return found


def add(ident, **facts):
    """One more. facts: KEYS."""
    found = load(ident)[-(MOST - 1):] + [{key: facts[key] for key in KEYS}]
    safe_file.write_file(path_of(ident), "".join(json.dumps(one) + "\n" for one in found).encode())
