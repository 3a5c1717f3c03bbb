# SPDX-License-Identifier: GPL-2.0
"""Whether freeblock may be started when a disk appears: not after it may have brought the machine
down.

When it is started, a mark is left, which goes after ten minutes or at a clean shutdown (timer and
service in tools/boot). A mark of another boot says that the machine went down in between: then it
stays off until somebody allows it again. So does `freeblock.off=1` on the kernel's command line,
for that boot.
"""

import collections
import contextlib
import datetime
import os

from .. import fbstate
from ..base import advice, safe_file, sealed
from . import kernel, records

FOLDER = "var/lib/freeblock/guard"
ARMED, HELD = (os.path.join(FOLDER, name) for name in ("armed.json", "held.json"))
WORD = "freeblock.off=1"
SYSTEMD = "run/systemd/system"
TIMER = "freeblock-passed.timer"
ALLOW = "to start it again run: " + advice.ALLOW

Verdict = collections.namedtuple("Verdict", "reason held")
Verdict.__doc__ = """reason: why it stays off; "": it may be started. held: whether that is to be
kept beyond this boot, from now on."""


def decide(cmdline, boot_id, armed, held):
    """The verdict.

    cmdline: the kernel's; boot_id: of this boot, "" if the system does not say; armed: the mark,
    {"boot_id", "time"}, or None; held: {"reason"}, or None."""
    if WORD in cmdline.split():
        return Verdict("%s is on the kernel's command line" % WORD, False)
    if held:
        return Verdict(held["reason"], False)
    if armed and (not boot_id or armed["boot_id"] != boot_id):
        return Verdict("the machine went down within ten minutes of %s, when it was started" %
                       armed["time"], True)
    return Verdict("", False)


def _read(name):
    """A file's content; None without it. One that is spoiled, as by a power cut, counts."""
    if fbstate.read(name) is None:
        return None
    found = {"boot_id": "", "time": "a time unknown", "reason": "no reason is known"}
    # an empty reason would be none
    found.update((key, value) for key, value in records.read(fbstate.path(name)).items()
                 if key in found and isinstance(value, str) and value)
    return found


def _remove(*names):
    folder = fbstate.path(FOLDER)
    for name in names:
        for path in (fbstate.path(name), fbstate.path(name + ".new")):
            if os.path.exists(path):
                os.unlink(path)
    if os.path.isdir(folder):
        safe_file.sync_directory(folder)
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def look():
    """The verdict as things are; nothing is changed."""
    return decide(fbstate.read("proc/cmdline") or "", sealed.boot_id(), _read(ARMED),
                  _read(HELD))


def words(why):
    """What is said when it stays off, and what can be done."""
    return "freeblock stays off: " + (why if WORD in why else "%s; %s" % (why, ALLOW))


def ask():
    """Whether it may be started: why not, or "". Then a mark is left until passed()."""
    verdict = look()
    if verdict.held:
        records.write(fbstate.path(HELD), {"reason": verdict.reason})
        _remove(ARMED)
    if not verdict.reason:
        arm()
    return verdict.reason


def arm():
    """Leave the mark, and have the ten minutes begin anew."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    records.write(fbstate.path(ARMED), {"boot_id": sealed.boot_id(), "time": now})
    if os.path.isdir(fbstate.path(SYSTEMD)):
        kernel.command(["systemctl", "--no-block", "restart", TIMER])


def passed():
    """Ten minutes have gone well, or the machine is shut down."""
    _remove(ARMED)


def allow():
    """Whatever was: it may be started again."""
    _remove(HELD, ARMED)
