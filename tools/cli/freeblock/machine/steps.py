# SPDX-License-Identifier: GPL-2.0
"""The steps of a setup, in their order: what each finds, does, and how it is undone.

found() tells what is there before, as JSON can say it; undo() is given that, and works whether the
step was taken whole, in part, or not at all, and if it was undone before.
"""

import base64
import contextlib
import os
import shutil
import time
from dataclasses import dataclass, field

from .. import ToolError, fbstate
from ..base import advice, safe_file, sealed
from ..drive import names, store
from ..formats import fbmodel
from ..tasks import scrub_state
from . import badblocks, book, checked, conf, due, enabled, guard, kernel, lock, passes, stopped, \
    units, waits

STOP_S = 60                     # reads under way end before a task does
LOOK_S = 0.05


@dataclass
class Disk:
    """The disk that steps are about. `name`: sdX now; None: it is not here."""

    identity: dict
    name: str
    options: object = None      # of the command line: setup only
    measure: object = None      # (Disk, draft, folder of states): setup only
    notes: list = field(default_factory=list)

    @property
    def key(self):
        """For files: the same whatever the disk's name is."""
        return names.key(self.identity)

    @property
    def draft(self):
        """Where its model is before it is installed."""
        return fbstate.path(book.FOLDER, self.key + ".fbmodel")

    @property
    def measured(self):
        """And before it is known to be good."""
        return self.draft + ".measured"

    @property
    def kernel(self):
        """Its files of the module."""
        return fbstate.Disk(self.name)


def models_folder():
    """Where models are kept."""
    return fbstate.path(store.DIRECTORY)


def model_path(identity):
    """Where a disk's is."""
    return os.path.join(models_folder(), store.file_name(identity))


def fitting_model(disk):
    """The path of the model that is installed, if it is for a disk of these sectors; else ""."""
    path = model_path(disk.identity)
    try:
        store.Model.of_file(path).check(disk.identity)
    except (ToolError, OSError):
        return ""
    return path


def _bytes(path):
    """What is in a file; None: there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _kept(path):
    """A file or link, for a journal; None: there is none."""
    if os.path.islink(path):
        return {"link": os.readlink(path)}
    data = _bytes(path)
    if data is None:
        return None
    stat = os.stat(path)
    return {"data": base64.b64encode(data).decode("ascii"), "mode": stat.st_mode & 0o7777,
            "owner": [stat.st_uid, stat.st_gid]}


def _put_back(path, kept):
    """The file as it was; nothing is left of one that was being written."""
    folder = os.path.dirname(path)
    if kept is None and not os.path.isdir(folder):
        return
    safe_file.make_directory(folder)
    for name in (path, path + ".new"):
        if os.path.lexists(name) and (name != path or kept is None or "link" in kept):
            os.unlink(name)
    if kept and "link" in kept:
        os.symlink(kept["link"], path)
    elif kept:
        # older records have neither mode nor owner
        safe_file.write_file(path, base64.b64decode(kept["data"]), kept.get("mode"),
                           kept.get("owner"))
    safe_file.sync_directory(folder)


class Step:
    """One of them."""

    name = says = ""
    # What is said when it is taken back; else "undone: " and the same
    forgotten = ""
    # Whether, when it was taken and holds no more, what was found the first time still counts.
    # Else what is there now is what was there before: after a boot, or with other firmware
    keeps_found = False


class Measure(Step):
    """The model: measured, or taken from a file, and found good."""

    name, says = "measure", "measure the drive"
    # the model may have been taken from a file, or have been there
    forgotten = "forgotten: what was measured, if anything"

    @staticmethod
    def _states():
        return fbstate.path(book.STATES, "extract")

    def found(self, _disk):
        """What extractions of others have left there."""
        folder = self._states()
        return {"states": sorted(os.listdir(folder)) if os.path.isdir(folder) else []}

    @staticmethod
    def holds(disk):
        """Whether it need not be taken again: it is there, or installed, and no other is given
        or wanted."""
        kept = _bytes(disk.draft) or _bytes(fitting_model(disk))
        given = disk.options.model
        return kept is not None and not disk.options.measure and (
            not given or kept == _bytes(given))

    def do(self, disk):
        """Measure it."""
        disk.measure(disk, disk.draft, self._states())

    def undo(self, disk, found):
        """Forget what was measured."""
        folder = self._states()
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.startswith(disk.key + "-") and name not in found["states"]:
                shutil.rmtree(os.path.join(folder, name))
        for path in (disk.draft, disk.measured):
            _put_back(path, None)


class Install(Step):
    """The model is kept where it is looked for when the disk appears."""

    name, says = "model", "install the model"

    @staticmethod
    def found(disk):
        """The model that is there."""
        path = model_path(disk.identity)
        return {"model": _kept(path), "name": os.path.basename(path)}

    @staticmethod
    def holds(disk):
        """Firmware may have been updated in between: then it is another file."""
        return os.path.exists(model_path(disk.identity)) and not os.path.exists(disk.draft)

    @staticmethod
    def do(disk):
        """Install it."""
        if os.path.exists(disk.draft):
            model = store.Model.of_file(disk.draft)
            model.check(disk.identity)
            store.install(models_folder(), model, disk.identity)
            _put_back(disk.draft, None)

    @staticmethod
    def undo(disk, found):
        """The former one, or none; nothing that came of checks."""
        record = checked.read(disk.identity)
        made = os.path.join(models_folder(), os.path.basename(record.get("made", "")))
        if checked.is_made(record, made):
            _put_back(made, None)
        _put_back(os.path.join(models_folder(), found["name"]), found["model"])
        _put_back(checked.path_of(disk.identity), None)


class Module(Step):
    """The module is in the kernel. Of the machine."""

    name, says = "module", "load the module"

    @staticmethod
    def found(_disk):
        """Whether it was loaded, in this boot."""
        return {"loaded": kernel.is_loaded(), "boot_id": sealed.boot_id()}

    @staticmethod
    def holds(_disk):
        """Not after a boot."""
        return kernel.is_loaded()

    @staticmethod
    def do(_disk):
        """Load it if it is not."""
        with lock.of_module():
            if not kernel.is_loaded():
                kernel.load()

    @staticmethod
    def undo(disk, found):
        """Unload it if nobody uses it and it was not there before."""
        if not kernel.is_loaded() or \
                found["loaded"] and found["boot_id"] == sealed.boot_id():
            return
        with lock.of_module():
            why = kernel.unload()
        if why:
            disk.notes.append("the module stays loaded: " + why)


class Scheduler(Step):
    """The disk has the scheduler."""

    name, says = "scheduler", "choose the scheduler"

    @staticmethod
    def found(disk):
        """The one that it has, and its model in the kernel."""
        return {"scheduler": disk.kernel.scheduler()}

    @staticmethod
    def holds(disk):
        """Not after a boot, unless it was enabled."""
        return disk.kernel.scheduler() == "freeblock"

    @staticmethod
    def do(disk):
        """Choose it."""
        kernel.switch(disk.name, "freeblock")

    @staticmethod
    def undo(disk, found):
        """End the disk's tasks, then the former scheduler, unless somebody chose another one
        meanwhile."""
        if disk.name is None:
            return
        was, now = found["scheduler"], disk.kernel.scheduler()
        if now != "freeblock":
            if now not in (was, None):
                disk.notes.append("%s has the scheduler %s now, which somebody else chose: it "
                                  "stays (%s was found)" % (disk.name, now, was))
            return
        if was != "freeblock":
            end_tasks(disk)
            kernel.switch(disk.name, was)


def _trouble(disk):
    """Why the module does not serve a disk, or not by its map; None: it does, or need not."""
    why, unmapped = disk.kernel.stuck(), disk.kernel.unmapped()
    if why:
        return "the module leaves this disk alone: " + why
    return "the module does not use this model: " + advice.with_run(*unmapped) \
        if unmapped and unmapped[0] != "idle_only is set" else None


class Load(Step):
    """The kernel has the disk's model, and schedules by it."""

    name, says = "load", "load the model"
    # the former model need not be loaded in between, for which all tasks would be ended
    keeps_found = True

    @staticmethod
    def found(disk):
        """The model that the kernel has."""
        return {"model": _kept(fbstate.path(fbstate.KERNEL, disk.name, "model"))}

    @staticmethod
    def holds(disk):
        """Not after a boot, unless it was enabled; nor when another was installed."""
        known = _bytes(fbstate.path(fbstate.KERNEL, disk.name, "model"))
        return _trouble(disk) is None and known == fbmodel.table(model_path(disk.identity))

    @staticmethod
    def do(disk):
        """Load it; ToolError if the module leaves the disk alone all the same, or does not use it.
        One that was given up is tried again: the scheduler is chosen again, which tasks do not
        hinder."""
        path = fbstate.path(fbstate.KERNEL, disk.name, "model")
        if _bytes(path) == fbmodel.table(model_path(disk.identity)):
            kernel.switch(disk.name, "none")
            kernel.switch(disk.name, "freeblock")
        else:
            store.load(models_folder(), disk.name)
        why = _trouble(disk)
        if why:
            raise ToolError("%s: %s" % (disk.name, why))

    @staticmethod
    def undo(disk, found):
        """The former one. Without one the model stays in the module until that is unloaded, and
        is used by nobody, for the disk loses the scheduler."""
        table = base64.b64decode((found["model"] or {"data": ""})["data"])
        if table and disk.name is not None and disk.kernel.is_there():
            end_tasks(disk)
            store.upload(disk.name, table)


class Enabled(Step):
    """The disk is on record as enabled: with a model or without, at boot, too."""

    name, says = "enabled", "note that it is enabled"

    @staticmethod
    def _wanted(disk):
        cost_ms = getattr(disk.options, "max_cost", None)
        return enabled.text(getattr(disk.options, "idle_only", False), disk.options.no_boot,
                            None if cost_ms is None else round(1000 * cost_ms)).encode()

    @staticmethod
    def found(disk):
        """The record that is there."""
        return {"record": _kept(enabled.path_of(disk.identity))}

    def holds(self, disk):
        """Whether it says the same."""
        return _bytes(enabled.path_of(disk.identity)) == self._wanted(disk)

    def do(self, disk):
        """Note it. Somebody has acted, whatever it came to before."""
        stopped.forget(disk.identity)
        path = enabled.path_of(disk.identity)
        safe_file.write_file(path, self._wanted(disk))

    @staticmethod
    def undo(disk, found):
        """The former one, or none."""
        stopped.forget(disk.identity)
        _put_back(enabled.path_of(disk.identity), found["record"])


class Boot(Step):
    """At boot disks that are enabled, or have a model, get the scheduler. Of the machine."""

    name, says = "boot", "enable it at boot"

    FILES = (*units.FILES, *units.LINKS)

    def found(self, _disk):
        """The files that are there, and the directories that are not."""
        missing = set()
        for name in self.FILES:
            folder = os.path.dirname(name)
            while folder and not os.path.isdir(fbstate.path(folder)):
                missing.add(folder)
                folder = os.path.dirname(folder)
        return {"files": {name: _kept(fbstate.path(name)) for name in self.FILES},
                "missing": sorted(missing, reverse=True),
                "held": _kept(fbstate.path(guard.HELD))}

    @staticmethod
    def holds(disk):
        """Whether nobody has disabled it meanwhile, the guard does not keep it off, and it starts
        this program."""
        return not guard.look().reason and units.is_enabled(
            fbstate.ROOT, disk.options.program, True, store.DIRECTORY)

    @staticmethod
    def do(disk):
        """Enable it. From now on the guard watches."""
        units.enable(fbstate.ROOT, disk.options.program, True, store.DIRECTORY)
        units.tell(fbstate.ROOT)
        guard.allow()
        guard.arm()

    def undo(self, _disk, found):
        """The former files, or none. Of what a later version has renewed there are more."""
        for name, kept in {**dict.fromkeys(self.FILES), **found["files"]}.items():
            _put_back(fbstate.path(name), kept)
        for folder in found["missing"]:
            with contextlib.suppress(OSError):      # others use it, or it is gone
                os.rmdir(fbstate.path(folder))
        units.tell(fbstate.ROOT)
        guard.allow()
        _put_back(fbstate.path(guard.HELD), found["held"])


class Settings(Step):
    """What freeblock.conf says of the disk's costs."""

    name, says = "settings", "set what freeblock.conf says"

    @staticmethod
    def found(disk):
        """The values in force."""
        return {key: fbstate.read(where % disk.name) for key, where in conf.SETTINGS.items()}

    def holds(self, disk):
        """Whether they are as the file says."""
        said, found = conf.settings(disk.identity, conf.load()), self.found(disk)
        return all(found[key] == str(value) for key, value in said.items())

    @staticmethod
    def do(disk):
        """Set them."""
        conf.apply(disk.name, conf.load())

    @staticmethod
    def undo(disk, found):
        """The former ones, where the module still has them."""
        for key, value in found.items():
            path = disk.name and fbstate.path(conf.SETTINGS[key] % disk.name)
            if value is None or not path or not os.path.exists(path):
                continue
            if fbstate.read(path) != value:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(value + "\n")


class Scrub(Step):
    """What freeblock.conf says is due is started, now and later."""

    name, says = "scrub", "start what freeblock.conf says"
    keeps_found = True

    @staticmethod
    def _files(identity):
        """Coverage, of parts of the disk, too, the passes that ended, and bad blocks."""
        folder, name = os.path.split(scrub_state.path_of(names.key(identity)))
        others = [os.path.basename(path_of(names.key(identity)))
                  for path_of in (passes.path_of, badblocks.path_of)]
        return [one for one in sorted(os.listdir(folder)) if one.startswith((name, *others))]

    def found(self, disk):
        """What is on record of scrubs."""
        return {"record": _kept(due.path_of(disk.identity)),
                "coverage": self._files(disk.identity)}

    @staticmethod
    def holds(disk):
        """Whether there is nothing to start."""
        return not os.path.isdir(fbstate.path(guard.SYSTEMD)) or \
            due.look(disk.identity, conf.load())[0] != "start"

    @staticmethod
    def do(disk):
        """Start it if it is due."""
        if os.path.isdir(fbstate.path(guard.SYSTEMD)):
            disk.notes.extend(due.run(conf.load(), disk.name))

    @staticmethod
    def begin_to_end(keys):
        """Have the scrubs of these disks end side by side: each takes a second to save what it has
        come to. undo() waits."""
        keys = {*keys}
        running = [due.UNIT % disk["name"] for disk in store.disks()
                   if names.is_known(disk) and names.key(disk) in keys]
        if running and os.path.isdir(fbstate.path(guard.SYSTEMD)):
            kernel.command(["systemctl", "--no-block", "stop", *running])

    def undo(self, disk, found):
        """End it, and forget what it has come to."""
        if os.path.isdir(fbstate.path(guard.SYSTEMD)):
            kernel.command(["systemctl", "stop", due.UNIT % (disk.name or disk.identity["name"])])
        waits.note(disk.name or disk.identity["name"], None)
        record = due.path_of(disk.identity)
        folder, scrubbed = os.path.dirname(scrub_state.path_of(disk.key)), os.path.exists(record)
        for name in self._files(disk.identity):
            if name not in found["coverage"] and (scrubbed or name.endswith(badblocks.ENDING)):
                os.unlink(os.path.join(folder, name))
        _put_back(record, found["record"])


MACHINE = {step.name: step for step in (Module(), Boot())}
DISK = {step.name: step for step in (Measure(), Install(), Scheduler(), Load(), Enabled(),
                                     Settings(), Scrub())}
# As they are taken. The start at boot comes when all has worked once
ORDER = (DISK["measure"], DISK["model"], MACHINE["module"], DISK["scheduler"], DISK["load"],
         DISK["enabled"], DISK["settings"], MACHINE["boot"], DISK["scrub"])
# Those of a disk that nothing is measured of
PLAIN = tuple(step for step in ORDER if step.name not in ("measure", "model"))
# Those that a setup until the next boot leaves out
AT_BOOT = ("boot", "scrub")


def end_tasks(disk):
    """Stop scan and scrub, and programs' tasks where debugfs tells their numbers."""
    there = disk.kernel
    for job in fbstate.JOBS:
        if there.read(job) in ("running", "paused"):
            _told(there, job, "stop\n")
    numbers = []
    with contextlib.suppress(ToolError, ValueError):
        numbers = list(there.tasks())
    for number in numbers:
        _told(there, "tasks", "stop %d\n" % number)
    until = time.monotonic() + STOP_S
    while there.value("tasks") and time.monotonic() < until:
        time.sleep(LOOK_S)
    left = there.value("tasks")
    if left:
        disk.notes.append("%s: %d tasks go on: they wait until the disk has the scheduler again" %
                          (disk.name, left))


def _told(there, name, words):
    """A command to a task that may have just ended by itself."""
    def write():
        with open(fbstate.path(fbstate.KERNEL, there.name, name), "w", encoding="utf-8") as file:
            file.write(words)

    try:
        kernel.patiently(write, "%s > %s" % (words.strip(), name))
    except OSError:
        pass
