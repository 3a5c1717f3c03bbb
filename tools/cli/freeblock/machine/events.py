# SPDX-License-Identifier: GPL-2.0
"""Events that an administrator wants to be told of once, for the journal: each kind has a message
id, by which journalctl finds it and tools/boot/freeblock.catalog explains it.

What has been told is in /run/freeblock/events.json, so that a state that lasts is one event. The
module's counters do not outlive a boot either.
"""

import contextlib
import os
import sys
import syslog
import time

from .. import fbstate
from ..base import advice
from ..base.streams import one_line
from ..drive import names
from . import alarms, badblocks, due, enabled, kernel, records, stopped, waits

# kind: (message id, priority)
KINDS = {
    "bad_blocks": ("6b6e1337896a4caeb38c95ef7c936c76", syslog.LOG_CRIT),
    "scrub_done": ("6286c2c0d8784473a990fa53ddcd8b32", syslog.LOG_NOTICE),
    "scrub_held": ("b19293ce041b4979bc6aa9bb8b150e12", syslog.LOG_WARNING),
    "scrub_late": ("b929b6a7e4ac429086b7552c47ea720c", syslog.LOG_WARNING),
    "scrub_paused": ("3db5583c4f454bffa3a2a1bc49aff052", syslog.LOG_WARNING),
    "distrusted": ("dbe5f5138bb2472e9207af026b5f0bd1", syslog.LOG_WARNING),
    "stopped": ("923a32aeb7f54f7d8fa6bc7351a9a8f8", syslog.LOG_WARNING),
    "kept_off": ("2d54e979843c403fac4290bdab6ca415", syslog.LOG_WARNING),
}
JOURNAL = "run/systemd/journal"
TOLD = "run/freeblock/events.json"
# what state/knowledge gives as a reason when the module does not believe the model
DISTRUST = (advice.DISTRUSTED, advice.MODEL[0])
SECTORS = 8                     # named at most
ON_ERROR_S = 60                 # how long a command may take


def send(kind, name, text, **fields):
    """Tell the journal of a disk (sdX), where there is one; else the system's log."""
    ident, priority = KINDS[kind]
    text = "%s: %s" % (name, " ".join(text.split()))
    if os.path.isdir(fbstate.path(JOURNAL)):
        values = {"MESSAGE_ID": ident, "MESSAGE": text, "PRIORITY": priority,
                  "SYSLOG_IDENTIFIER": "freeblock", "FREEBLOCK_DISK": name,
                  "FREEBLOCK_WWN": (fbstate.read("sys/block", name, "device/wwid") or "-").strip(),
                  **fields}
        status, said = kernel.command(["logger", "--journald"],
                                      # a line is a field
                              "".join("%s=%s\n" % (field, one_line(str(value)))
                                      for field, value in values.items()))
        if not status:
            return
        # a unit's errors are in the journal, too
        print("freeblock: %s (without its message id: %s)" % (
            text, said or "logger: status %d" % status), file=sys.stderr)
    if fbstate.ROOT == "/":
        syslog.openlog("freeblock", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(priority, text)


def forget():
    """Nothing was told: freeblock is off."""
    for path in (TOLD, TOLD + ".new"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fbstate.path(path))
    waits.forget()
    with contextlib.suppress(OSError):
        os.rmdir(fbstate.path(os.path.dirname(TOLD)))


def _on_error(name, command, count):
    """Run the administrator's command; that it fails goes to the unit's errors."""
    status = kernel.shell(command, ON_ERROR_S, FREEBLOCK_DISK=name,
                          FREEBLOCK_BAD_BLOCKS=str(count))
    if status != 0:
        why = "no end within %d s" % ON_ERROR_S if status is None else "status %d" % status
        print("freeblock: %s: on_error: %s of: %s" % (name, why, one_line(command)),
              file=sys.stderr)


def _bad(disk, said, before):
    """Blocks that could not be read since the last look; how many there are in all."""
    count = disk.value("state/bad_blocks")
    if not isinstance(count, int):
        return before
    # fewer: the module was loaded anew
    more = count - (before if isinstance(before, int) and before <= count else 0)
    if more:
        known = [] if fbstate.hidden() else disk.table("bad_blocks").splitlines()[-SECTORS:]
        send("bad_blocks", disk.name, "%d block%s could not be read, %d since the module was "
             "loaded%s" % (more, "s" * (more != 1), count, "; among them the sectors " +
                           ", ".join(line.split()[0] for line in known) if known else ""),
             FREEBLOCK_BAD_BLOCKS=count)
        if said["on_error"]:
            _on_error(disk.name, said["on_error"], more)
    return count


def _late(disk, conf, before, now):
    """The pass that is due, or under way, will miss its deadline: which one that is."""
    judgement = alarms.judged(disk, conf, now)
    if not judgement or not judgement[1]:
        return before
    deadline = judgement[0]
    if deadline != before:
        send("scrub_late", disk.name, due.late_words(deadline, now),
             FREEBLOCK_DEADLINE=int(deadline))
    return deadline


def _held(disk, conf, before):
    """The pass under way waits for somebody; whether it does."""
    why = alarms.held(disk, conf)
    if why and not before:
        send("scrub_held", disk.name, "the scrub waits for approval: " + why)
    return bool(why)


def _paused(disk, before, now):
    """The scrub is paused for long, and no program holds it; whether it is."""
    waits.look(disk, now)
    why = waits.forgotten(disk, now)
    if why and not before:
        send("scrub_paused", disk.name, why)
    return bool(why)


def _distrusted(disk, before):
    """The module does not believe the model: why."""
    why, _ = disk.unmapped() or ("", None)
    why = why if why.startswith(DISTRUST) else None
    if why and why != before:
        send("distrusted", disk.name, why)
    return why


def _stopped(disk, identity, before):
    """Free reads are stopped for good, which is kept over a boot; whether they are."""
    said = stopped.words(disk)
    if said and not before:
        stopped.keep(identity, said)
        send("stopped", disk.name, "free reads are " + said)
    elif before and not said:
        stopped.forget(identity)
    return bool(said)


def watch(conf, now=None):
    """Look at all disks that have the scheduler, and tell what is new."""
    now = int(time.time()) if now is None else now
    before, told = records.read(fbstate.path(TOLD)), {}
    for identity in enabled.served():
        disk = fbstate.Disk(identity["name"])
        if not names.is_known(identity):
            continue
        key = names.key(identity)
        old = before.get(key, {})
        badblocks.note(disk, key, now)
        told[key] = {"bad_blocks": _bad(disk, conf.of(identity), old.get("bad_blocks")),
                     "held": _held(disk, conf, old.get("held")),
                     "paused": _paused(disk, old.get("paused"), now),
                     "late": _late(disk, conf, old.get("late"), now),
                     "distrusted": _distrusted(disk, old.get("distrusted")),
                     "stopped": _stopped(disk, identity, old.get("stopped"))}
    if told != before:
        records.write(fbstate.path(TOLD), told)
