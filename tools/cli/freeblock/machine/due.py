# SPDX-License-Identifier: GPL-2.0
"""Which disks are to be scrubbed now, by freeblock.conf: started and stopped by a timer's service.

What is known of a disk's scrubs is in /var/lib/freeblock/due/<disk>.json: "first", when it was
first looked at; "began", when a pass that is not over began; "ended", when the last one ended;
"start", when that one began, if it is known. Seconds since 1970.
"""

import contextlib
import time

from .. import ToolError, fbstate
from ..drive import names, store
from . import book, enabled, gate, kernel, kinds, records, smart, waits, window
from .conf import names_of as conf_names

FOLDER = book.STATES + "/due"
UNIT = "freeblock-due@%s.service"
AT_WORK = ("active", "activating")
DAY_S = 86400


def due_at(every_days, record):
    """When the next pass is due; None: never. One that has begun is due since it was."""
    if every_days is None:
        return None
    if record["ended"] is None:
        return record["first"]
    return max(record["ended"], (record.get("start") or record["ended"]) + every_days * DAY_S)


def deadline_at(said, record):
    """When the pass that is due, or under way, should be over; None: no matter."""
    due, days = due_at(said["scrub_every_days"], record), said["deadline_days"]
    return None if due is None or days is None else due + days * DAY_S


def misses(windows, deadline, left_s, now):
    """Whether a scrub that has to read for so long (None: not known, but for a while), in its
    windows only, comes to its end after the deadline."""
    left_s = 1 if left_s is None else left_s
    return left_s > 0 and window.open_s(windows, now, deadline) < left_s


def decide(said, record, now, running):
    """What is to be done now: "start", "stop" or "", and why.

    said: as of Conf.of(); now: seconds since 1970."""
    due = due_at(said["scrub_every_days"], record)
    if due is None or now < due and record["began"] is None:
        return ("stop" if running else ""), "no scrub is due"
    deadline = deadline_at(said, record)
    late = deadline is not None and now >= deadline
    if not late and not window.is_open(said["window"], now):
        return ("stop" if running else ""), "it is due, outside of its window"
    why = "it is late, and goes on outside of its window, too" if late else "it is due"
    return ("" if running else "start"), why


def judge(disk, said, left_s, now):
    """(deadline, whether it will be missed) of the pass that is due, or under way; None if there is
    none. said: as of Conf.of(); left_s: as of misses()."""
    deadline = deadline_at(said, record_now(disk, now))
    return None if deadline is None else (
        deadline, misses(said["window"], deadline, left_s, now))


def late_words(deadline, now):
    """What is said of a pass that does."""
    return "the scrub %s its deadline, %s" % (
        "has missed" if now >= deadline else "will miss",
        time.strftime("%Y-%m-%d %H:%M", time.localtime(deadline)))


def path_of(disk):
    """Where a disk's record is."""
    return fbstate.path(FOLDER, names.key(disk) + ".json")


def record_of(disk):
    """What is known; a record that is spoiled begins anew."""
    said = records.read(path_of(disk))
    # "start" is missing in those of older versions
    found = {key: said.get(key) for key in ("first", "began", "ended", "start")}
    good = all(value is None or type(value) is int for value in found.values())
    return found if good and found["first"] is not None else None


def corrected(record, now):
    """A record's times are of another clock if they are of days to come: whatever they say was by
    now."""
    late = [value for value in record.values() if value is not None and value > now + DAY_S]
    if not late:
        return record
    return {key: value if value is None else min(value, now) for key, value in record.items()}


def _new(now):
    return {"first": now, "began": None, "ended": None, "start": None}


def record_now(disk, now):
    """What is known, or the beginning of it."""
    return corrected(record_of(disk) or _new(now), now)


def keep(disk, known):
    """To stable storage."""
    records.write(path_of(disk), known)


def _day(seconds):
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def unit_state(name):
    """What systemd says of its unit."""
    return kernel.command(["systemctl", "is-active", UNIT % name])[1]


def is_running(name):
    """Whether its unit is at work."""
    return unit_state(name) in AT_WORK


def disks():
    """Those that freeblock serves, and that will be known tomorrow."""
    return [disk for disk in enabled.served()
            if names.is_known(disk) and not kinds.unfit(disk["name"])]


def look(disk, conf, now=None):
    """(what is to be done, why, record, what is said of it)"""
    now = int(time.time()) if now is None else now
    record = record_now(disk, now)
    said = conf.of(disk)
    done, why = decide(said, record, now, is_running(disk["name"]))
    return done, why, record, said


def _crowd(disk, conf, running):
    """Why no more scrubs may run beside those of the disks that run: max_concurrent of a section
    that fits this one; None: one more may. running: names of disks -> what they are called."""
    names_of = conf_names(disk)
    for section in conf.sections:
        most = section.values.get("max_concurrent")
        if most is None or not section.fits(names_of):
            continue
        beside = sorted(name for name, called in running.items() if section.fits(called))
        if len(beside) >= most:
            return "max_concurrent = %d: %s are at work" % (most, ", ".join(beside))
    return None


def _failing(disk, conf):
    """Why a drive that is about to fail is not read as a whole; None: it is well, or meant."""
    why = None if conf.names_for_scrub(disk) else smart.failing(disk["name"])
    return why and "%s: set scrub_every_days in a section of its own if it is meant, or run: " \
        "freeblock scrub %s run" % (why, disk["name"])


def _longest_due_first(disk, conf, now, state):
    """The key by which disks are sorted. Those whose unit failed do not keep the others from their
    turn."""
    due = due_at(conf.of(disk)["scrub_every_days"], record_now(disk, now))
    return state == "failed", due is None, due, disk["name"]


def run(conf, only=None, now=None):
    """Start and stop what is to be; lines about it. ToolError if systemd refuses."""
    lines, wrong = [], []
    now = int(time.time()) if now is None else now
    found = disks()
    states = {disk["name"]: unit_state(disk["name"]) for disk in found}
    found.sort(key=lambda disk: _longest_due_first(disk, conf, now, states[disk["name"]]))
    running = {disk["name"]: conf_names(disk) for disk in found
               if states[disk["name"]] in AT_WORK}
    for disk in found:
        name = disk["name"]
        if only not in (None, name):
            continue
        done, why, record, said = look(disk, conf, now)
        before = record_of(disk)
        if said["scrub_every_days"] is not None and before != record:
            if before:
                lines.append("%s: scrub: its record is of %s, and the clock says %s: it counts as "
                             "of now" % (name, _day(max(filter(None, before.values()))), _day(now)))
            keep(disk, record)
        held = None
        if done == "start":
            # SMART last: it is a command to the drive
            held = _crowd(disk, conf, running) or \
                gate.Gate(name, said, began=record["began"]).why() or _failing(disk, conf)
        if name not in running:
            waits.note(name, held)
        if held:
            lines.append("%s: scrub: %s, but waits: %s" % (name, why, held))
        if not done or held:
            continue
        status, answer = kernel.command(["systemctl", "--no-block", done, UNIT % name])
        line = "%s: scrub: %s: %s" % (name, done, why)
        if status:
            wrong.append("%s: %s" % (line, answer))
        else:
            lines.append(line)
            running.pop(name, None)
            running.update({name: conf_names(disk)} if done == "start" else {})
    if wrong:
        raise ToolError("\n".join(wrong))
    return lines


def last_pass(name):
    """When the last whole pass of a disk's scrub ended; None: never, or that is not known."""
    with contextlib.suppress(ToolError, OSError):
        record = record_of(store.disk_of(name))
        return record and record["ended"]
    return None


def begin(disk):
    """A pass begins, or goes on; what is known of it."""
    now = int(time.time())
    record = record_of(disk) or _new(now)
    if record["began"] is None:
        record["began"] = now
        keep(disk, record)
    return record


def passed(name, start=None):
    """A pass over all of a disk that began then came to its end, whoever began it. One without a
    lasting name is not on record."""
    disk = store.disk_of(name)
    if not names.is_known(disk):
        return
    now = int(time.time())
    record = record_of(disk) or _new(now)
    keep(disk, {**record, "began": None, "ended": now, "start": record["began"] or start or None})
