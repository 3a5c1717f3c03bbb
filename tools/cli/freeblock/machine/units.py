# SPDX-License-Identifier: GPL-2.0
"""What udev and systemd are told, so that models are loaded when disks appear: files made from
tools/boot, below any root, and removed without a trace.
"""

import os
import pwd
import re

from .. import ToolError
from ..base import helpers, safe_file
from ..drive import store
from . import kernel

RULE = "etc/udev/rules.d/90-freeblock.rules"
UNITS = "etc/systemd/system/"
RESTORE, GUARD, DISK, PASSED, PASSED_TIMER, DUE, DUE_TIMER, CHECK, CHECK_TIMER, SCRUB, FAILED = (
    UNITS + name for name in (
        "freeblock-restore.service", "freeblock-guard.service", "freeblock-disk@.service",
        "freeblock-passed.service", "freeblock-passed.timer", "freeblock-due.service",
        "freeblock-due.timer", "freeblock-check.service", "freeblock-check.timer",
        "freeblock-due@.service", "freeblock-failed@.service"))
# What runs as long as it is enabled
RUNNING = tuple(os.path.basename(name) for name in (GUARD, DUE_TIMER, CHECK_TIMER))
# What systemctl enable would make
LINKS = {UNITS + "sysinit.target.wants/freeblock-restore.service": RESTORE,
         UNITS + "multi-user.target.wants/freeblock-guard.service": GUARD,
         UNITS + "timers.target.wants/freeblock-due.timer": DUE_TIMER,
         UNITS + "timers.target.wants/freeblock-check.timer": CHECK_TIMER}
FILES = (RULE, RESTORE, GUARD, DISK, PASSED, PASSED_TIMER, DUE, DUE_TIMER, CHECK, CHECK_TIMER,
         SCRUB, FAILED)
MARK = "# made by: freeblock models enable"
MADE = "# with the directories:"


def check_program(path, instead="give --program another"):
    """ToolError if it is not for root to start at boot: others may change it, or it lies in
    somebody's home, or udev and systemd would not take it without quoting. `instead` is what its
    user may do who does not want the packages."""
    if not _is_plain(path):
        raise ToolError("%s: udev and systemd would not take this path, for blanks and the like. "
                        "Install the packages (make deb), or %s" % (path, instead))
    homes = {os.path.realpath(user.pw_dir): user.pw_name for user in pwd.getpwall()
             if user.pw_uid == 0 or user.pw_uid >= 1000}
    homes.pop("/", None)
    for name in reversed(list(_passed(path))):
        found = os.stat(name)
        why = "%s belongs to another user than root" % name if found.st_uid else \
            "everybody may write to %s" % name if found.st_mode & 0o002 else \
            "%s is the home of %s" % (name, homes[name]) if name in homes else None
        if why:
            raise ToolError("%s is not started at boot: %s. Install the packages (make deb), or "
                            "%s" % (path, why, instead))


def _passed(path):
    """All names by which the kernel comes to a file: whoever changes a link on the way has another
    file started."""
    name, parts = "/", path.split("/")[::-1]
    while parts:
        part = parts.pop()
        name = os.path.normpath(os.path.join(name, part))
        if part in ("", ".", ".."):
            continue
        yield name
        # stat() of one that leads to itself fails
        if os.path.islink(name) and os.path.exists(name):
            parts += os.readlink(name).split("/")[::-1]
            name = "/" if os.readlink(name).startswith("/") else os.path.dirname(name)


def _is_plain(path):
    """Whether udev and systemd take a path without quoting."""
    return re.fullmatch(r"/[\w./+-]+", path, re.ASCII)


def _check_plain(path, option):
    """ToolError if udev and systemd would not take an option's path without quoting."""
    if not _is_plain(path):
        raise ToolError("%s: a rule of udev cannot name this path: give %s a link to it "
                        "without blanks and the like" % (path, option))


def _is_ours(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().startswith(MARK)
    except FileNotFoundError:
        return True


def _directories(root, made):
    """Make those that are missing for our files; all that we have ever made."""
    for name in (*FILES, *LINKS):
        folder = ""
        for part in os.path.dirname(name).split("/"):
            folder = os.path.join(folder, part)
            if not os.path.isdir(os.path.join(root, folder)):
                os.mkdir(os.path.join(root, folder), 0o755)
                made.append(folder)
    return made


def _made(root):
    """The directories that an earlier `enable` made."""
    try:
        with open(os.path.join(root, RULE), encoding="utf-8", errors="replace") as file:
            lines = [line[len(MADE):].split() for line in file if line.startswith(MADE)]
    except FileNotFoundError:
        return []
    return lines[0] if lines else []


def _texts(made, program, scheduler, directory):
    """(name, text) of all files."""
    words = {"@FREEBLOCK@": program, "@MADE@": "%s %s" % (MADE, " ".join(made)) if made else MADE,
             "@MARK@": MARK, "@SCHEDULER@": "--scheduler " if scheduler else "",
             "@DIR@": "--dir %s " % directory if directory != store.DIRECTORY else ""}
    for name in FILES:
        template = os.path.join(helpers.data("boot"), os.path.basename(name) + ".in")
        with open(template, encoding="utf-8") as file:
            text = file.read()
        for word, value in words.items():
            text = text.replace(word, value)
        yield name, text


def chooses_scheduler(root):
    """Whether disks with a model get the scheduler when they appear."""
    return os.path.exists(os.path.join(root, RULE)) and \
        "--scheduler " in (_text(os.path.join(root, DISK)) or "")


def is_enabled(root, program, scheduler, directory):
    """Whether enable() would find nothing to do."""
    return all(os.path.lexists(os.path.join(root, name)) for name in LINKS) and \
        all(_text(os.path.join(root, name)) == text
            for name, text in _texts(_made(root), program, scheduler, directory))


def enable(root, program, scheduler, directory):
    """Install rule and units; whether anything was otherwise before."""
    if os.path.abspath(root) == "/":
        check_program(program)
    _check_plain(program, "--program")
    _check_plain(directory, "--dir")
    return _install(root, (program, scheduler, directory), LINKS)


def _enabled_with(root):
    """What enable() was given, by whatever version; None: nothing is enabled."""
    text = _text(os.path.join(root, DISK))
    command = text and re.search(r"^ExecStart=(/\S+) (.*)", text, re.M)
    if not command:
        return None
    directory = re.search(r"--dir (\S+)", command[2])
    return (command[1], "--scheduler " in command[2],
            directory[1] if directory else store.DIRECTORY)


def renew(root, program):
    """Have what another version of this program installed as this one would, and nothing enabled
    that somebody has disabled since; whether anything was otherwise. ToolError if it is another
    program's."""
    words = _enabled_with(root)
    if words is None:
        return False
    if words[0] != program:
        raise ToolError("%s is started at boot, not %s: renew it by that one, or say models "
                        "enable" % (words[0], program))
    missing = [name for name in FILES if not os.path.lexists(os.path.join(root, name))]
    return _install(root, words, [name for name, target in LINKS.items() if target in missing])


def _install(root, words, links):
    """Rule, units and these links; whether anything was otherwise before."""
    for name in FILES:
        if not _is_ours(os.path.join(root, name)):
            raise ToolError("%s is there, and not ours: remove it first" %
                            os.path.join(root, name))
    changed = False
    for name, text in _texts(_directories(root, _made(root)), *words):
        changed = _replace(os.path.join(root, name), text) or changed
    for name in links:
        if not os.path.lexists(os.path.join(root, name)):
            os.symlink("../" + os.path.basename(LINKS[name]), os.path.join(root, name))
            changed = True
    return changed


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _replace(path, text):
    if _text(path) == text:
        return False
    safe_file.write_file(path, text.encode())
    return True


def disable(root):
    """Remove what enable() installed, and the directories that it made if nothing else is in
    them; whether there was anything."""
    made, found = _made(root), False
    for name in FILES:
        if not _is_ours(os.path.join(root, name)):
            raise ToolError("%s is not ours: left alone" % os.path.join(root, name))
    for name in (*LINKS, *reversed(FILES)):
        path = os.path.join(root, name)
        if os.path.lexists(path):
            os.unlink(path)
            found = True
    for folder in reversed(made):
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            pass        # others use it now
    return found


def end_check():
    """End a check of models that is at work: it holds a disk's lock while it replaces a model."""
    if os.path.isdir("/run/systemd/system"):
        kernel.command(["systemctl", "stop", os.path.basename(CHECK)])


def tell(root):
    """Have udev and systemd read what has changed, on the running system; what a unit that is
    gone would have done at shutdown is done."""
    if os.path.abspath(root) != "/":
        return
    if os.path.exists("/run/udev/control"):
        kernel.command(["udevadm", "control", "--reload"])
    if os.path.isdir("/run/systemd/system"):
        if os.path.exists(os.path.join(root, GUARD)):
            kernel.command(["systemctl", "daemon-reload"])
            kernel.command(["systemctl", "--no-block", "start", *RUNNING])
        else:
            kernel.command(["systemctl", "stop", *RUNNING, os.path.basename(PASSED_TIMER)])
            kernel.command(["systemctl", "daemon-reload"])
