# SPDX-License-Identifier: GPL-2.0
"""All that an administrator wants to be told of a disk: what one look at it tells, and whether its
scrub meets the deadline of freeblock.conf, which is known while it waits for its hours, too.
"""

import contextlib
import time

from .. import ToolError
from ..drive import names, store
from ..state import health
from . import badblocks, conf, due, waits


def wanted():
    """What freeblock.conf says; None if that is not to be had, of which its timer tells."""
    with contextlib.suppress(ToolError, OSError):
        return conf.load()
    return None


def said_of(disk, said):
    """What that says of a disk of the module's; each key's default if that is not to be had."""
    with contextlib.suppress(ToolError, OSError):
        if said is not None:
            return said.of(store.disk_of(disk.name))
    return conf.DEFAULTS


def judged(disk, said, now):
    """due.judge() of a disk of the module's; None, too, if it has no name for good."""
    with contextlib.suppress(ToolError, OSError):
        identity = store.disk_of(disk.name)
        if said is not None and names.is_known(identity):
            return due.judge(identity, said.of(identity),
                             health.foretold_s(disk.job("scrub")), now)
    return None


def held(disk, said):
    """Why the pass under way waits for somebody, of a disk of the module's; None: it does not."""
    with contextlib.suppress(ToolError, OSError):
        identity = store.disk_of(disk.name)
        if said is not None and names.is_known(identity):
            return badblocks.held_now(disk.name, said.of(identity), due.record_of(identity))
    return None


def of_disk(disk, scrub_days, said, now=None):
    """As health.alarms(); said: as of wanted()."""
    now = time.time() if now is None else now
    found = health.alarms(disk, scrub_days, now)
    judgement = judged(disk, said, now)
    if judgement and not found.get("scrub_late"):
        deadline, missed = judgement
        found["scrub_late"] = due.late_words(deadline, now) if missed else None
    found["scrub_paused"] = waits.forgotten(disk, now)
    why = held(disk, said)
    if said is not None:
        found["scrub_held"] = why and "the scrub waits for approval: " + why
    return found
