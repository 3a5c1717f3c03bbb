# SPDX-License-Identifier: GPL-2.0
"""Making an image: the snapshot, the disk in freeblock's order, what was overwritten meanwhile.

A chunk of the origin is copied to the snapshot's store, and the exception that says so is on
the store, before the chunk is overwritten. So a block read from the disk either is as it was
when the snapshot was taken, or has an exception when the pass over the disk has ended. These are
read once more, through the snapshot; and they lie on the store, so that costs the disk
nothing.
"""

import errno
import os
import signal
import subprocess
import sys
import time

from freeblock import background

from . import BackupError, cow, files
from .cow import SECTOR
from .progress import Bytes
from .snapshot import Invalid, Origin, Room, Snapshot, prepare_store

POLL_S = 0.5
SAVE_S = 5.0            # of reading that a crash of the program may cost
WATCH_S = 5.0           # between looks at the snapshot
SHOWN = 20              # differences that are listed


class Interrupted(Exception):
    """A signal came."""


class Signals:
    """SIGINT, SIGTERM and SIGHUP end what runs at the next place where it can go on later; the
    last not if it is ignored, for that is what nohup is for. SIGINT is ignored in whatever a
    script starts in the background, where nobody has asked for it."""

    def __init__(self):
        self.came = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number, _frame):
        self.came = number

    def check(self):
        """Raise Interrupted if one came."""
        if self.came is not None:
            raise Interrupted


def boot_id():
    """Another one after each boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


class Backup:
    """One image being made, by this run of the program and perhaps earlier ones."""

    def __init__(self, args, signals):
        self.args, self.signals = args, signals
        self.paths = files.Paths(args.image)
        self.origin = Origin(args.origin)
        self.size = self.origin.sectors * SECTOR
        self.result = {"image": self.paths.image, "origin": self.origin.name,
                       "bytes": self.size, "resumed": False, "read_bytes": 0, "reread_bytes": 0}
        self.image = None
        self.snapshot = None
        self.watched, self.used = 0.0, (0, 1)
        self.state = files.State(self.paths)

    def run(self):
        """Make the image, or go on with it; what came of it."""
        began = time.monotonic()
        try:
            self._begin()
            try:
                self._passes()
            except Invalid as error:
                self._give_up(str(error))
                raise
        finally:
            if self.image:
                self.image.close()
            self.state.close()
        self.result["seconds"] = round(time.monotonic() - began, 3)
        return self.result

    def _passes(self):
        if self._at() == "reading":
            self._read_disk()
        if self._at() == "copied":
            self._read_again()
        if self._at() == "reread":
            self._sum()
        if self._at() == "finishing":
            self._finish()

    def _at(self):
        return self.state.values["state"]

    # ---- beginning, and going on ----

    def _begin(self):
        values = self.state.values
        if values and values["state"] == "taking":
            # nothing was read yet
            self._named(values).remove()
            self.state.forget()
            values = None
        if values:
            self._go_on(values)
        else:
            self._take()

    def _named(self, values):
        return Snapshot(self.origin, values["store"], values["token"], self.state.lock)

    def _take(self):
        if os.path.lexists(self.paths.image):
            raise BackupError("%s is there already" % self.paths.image)
        self.origin.check_alone()
        self.origin.check_apart(self.paths.image)
        room = os.statvfs(os.path.dirname(self.paths.image))
        if room.f_bavail * room.f_frsize < self.size:
            print("freeblock-backup: warning: %s has less room than %s is long" % (
                os.path.dirname(self.paths.image), self.origin.disk), file=sys.stderr)
        prepare_store(self.args.cow, self.args.overwrite_cow)
        self.state.save(state="taking", boot=boot_id(), token=os.urandom(4).hex(),
                        origin=self.origin.name, below=self.origin.below, bytes=self.size,
                        store=os.path.realpath(self.args.cow), unreadable=[])
        self.snapshot = self._named(self.state.values)
        # so that there is nothing left to do but to read when the snapshot is taken
        self.image = files.Image(self.paths.part, self.size, True)
        try:
            seconds = self.snapshot.take(self.args.chunk * 2)
        except BaseException:
            files.remove(self.paths.part)
            self.state.forget()
            raise
        self.state.save(state="reading", taken=round(time.time(), 3),
                        frozen_ms=round(seconds * 1e3, 1))

    def _go_on(self, values):
        for name, now in (("origin", self.origin.name), ("below", self.origin.below),
                          ("bytes", self.size), ("store", os.path.realpath(self.args.cow))):
            if values[name] != now:
                raise BackupError("%s was begun with another %s: %s, not %s" % (
                    self.paths.part, name, values[name], now))
        self.result["resumed"] = True
        self.snapshot = self._named(values)
        if values["state"] == "finishing":
            return
        needed = values["state"] != "reread" or self.args.verify
        why = "the machine was booted since" if values["boot"] != boot_id() else \
            "it was removed" if needed and not self.snapshot.active() else None
        if why:
            raise BackupError("the snapshot of %s is gone: %s. What was written to %s since is not "
                              "known, so this image cannot become complete: abort it and "
                              "begin anew" % (self.paths.part, why, self.origin.disk))
        self.image = files.Image(self.paths.part, self.size, False)

    def _give_up(self, reason):
        """The image cannot become complete: say so beside it, and leave nothing behind."""
        self.snapshot.remove()
        self.state.invalid(reason)

    # ---- the passes ----

    def _watch(self):
        """To be called often: whether the snapshot is still good."""
        self.signals.check()
        if time.monotonic() - self.watched >= WATCH_S:
            self.used = self.snapshot.used()
            self.watched = time.monotonic()

    def _store(self, more=""):
        """What a reader of the progress should know."""
        return "store %d %% full%s" % (100 * self.used[0] // self.used[1], more)

    def _progress(self, what, total, done=0):
        return Bytes(what, total, done, self.args.quiet)

    def _read_disk(self):
        with background.Task(self.origin.disk, coverage=True, name="backup",
                             priority=self.args.priority) as task:
            if self.result["resumed"] and os.path.exists(self.paths.coverage):
                task.restore_coverage(self.paths.coverage)
            task.want(uncovered=True)
            try:
                self._take_records(task)
            except background.Error as error:
                if error.errno in (errno.ECANCELED, errno.ENODEV):
                    raise BackupError("%s; the same command goes on" % error) from error
                raise
        self.state.save(state="copied", unreadable=self.state.values["unreadable"])

    def _take_records(self, task):
        """Until all has come; what has come is in the coverage, whatever ends this."""
        bad, saved = [], time.monotonic()
        missing = self._start(task)
        progress = self._progress("reading", self.size, self.size - missing)
        try:
            while missing:
                self._watch()
                try:
                    record = task.next(POLL_S)
                except TimeoutError:
                    progress.tell(lambda: self._store("; " + task.progress().waiting_for))
                    continue
                if record is None:
                    break
                self._keep(record, bad, progress)
                progress.tell(self._store)
                if time.monotonic() - saved >= SAVE_S:
                    task.save_coverage(self.paths.coverage)
                    saved = time.monotonic()
        finally:
            progress.end()
            task.save_coverage(self.paths.coverage)
        self.state.values["unreadable"] = sorted(bad)

    def _start(self, task):
        """Bytes that are wanted; 0: the last run had all, and did not come to say so."""
        try:
            task.start()
        except background.Error as error:
            if error.errno == errno.EINVAL and not task.progress().total:
                return 0
            raise
        told = task.progress()
        while told.entering:
            time.sleep(0.01)
            told = task.progress()
        return min(told.total * task.geometry.granule_sectors * SECTOR, self.size)

    def _keep(self, record, bad, progress):
        if record.status == background.OK:
            self.image.put(record.first, record.data)
        else:
            bad.append((record.first, record.sectors))
        progress.add(record.sectors * SECTOR)
        self.result["read_bytes"] += record.sectors * SECTOR

    def _read_again(self):
        """Chunks that have an exception."""
        table = self.snapshot.table()
        ranges = cow.plan(table, self.origin.sectors)
        progress = self._progress("reading what was overwritten",
                                  sum(sectors for _, sectors in ranges) * SECTOR)
        with self._reader() as reader:
            for first, sectors in ranges:
                self._watch()
                self.image.write(first, reader.read(first * SECTOR, sectors * SECTOR))
                progress.add(sectors * SECTOR)
                progress.tell(self._store)
        progress.end()
        # a snapshot that is good now was so all the time
        used, total = self.snapshot.used()
        bad = cow.without(self.state.values["unreadable"], ranges)
        self.state.save(state="reread", unreadable=bad, exceptions=len(table.chunks),
                        chunk_bytes=table.chunk_sectors * SECTOR, reread_bytes=progress.done,
                        store_used=used * SECTOR, store_bytes=total * SECTOR)

    def _reader(self):
        return Reader(self.snapshot)

    def _sum(self):
        """Digests; and all of the image against the snapshot, if asked to. Else nobody needs the
        snapshot any more, and the foreground is rid of what it costs."""
        if self.args.verify:
            self._verify()
        else:
            self.snapshot.remove()
        progress, digests = self._progress("summing", self.size), []
        for at, length in files.mibs(self.size):
            self.signals.check()
            digests.append(files.digest(self.image.read(at, length)))
            progress.add(length)
            progress.tell()
        progress.end()
        self.image.sync()
        files.write_sums(self.paths.sums, digests)
        self.state.save(state="finishing", verified=bool(self.args.verify))

    def _verify(self):
        """Compare, but for what could not be read."""
        bad, wrong = self.state.values["unreadable"], []
        progress = self._progress("verifying", self.size)
        _idle_class()
        with self._reader() as reader:
            for at, length in files.mibs(self.size):
                self._watch()
                if not _touches(bad, at, length) and \
                        reader.read(at, length).tobytes() != self.image.read(at, length):
                    wrong.append(at)
                progress.add(length)
                progress.tell(self._store)
        progress.end()
        if wrong:
            raise Invalid("the image differs from the snapshot in %d MiB, at byte %s%s" % (
                len(wrong), ", ".join(map(str, wrong[:SHOWN])),
                " ..." if len(wrong) > SHOWN else ""))

    def _finish(self):
        """The image gets its name. May come again after a crash."""
        values = self.state.values
        about = {name: values[name] for name in (
            "origin", "bytes", "taken", "frozen_ms", "unreadable", "verified", "exceptions",
            "chunk_bytes", "reread_bytes", "store_used", "store_bytes")}
        self.result.update(about, state="complete")
        files.replace(self.paths.about, files.text(state="complete", **about))
        if os.path.exists(self.paths.part):
            os.rename(self.paths.part, self.paths.image)
        self.snapshot.remove()
        self.state.forget()


class Reader:
    """The snapshot's content, not through the page cache: it would read ahead, from the disk."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self.fd = os.open(snapshot.path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
        self.room = Room()

    def read(self, at, length):
        """Bytes, valid until the next call; Invalid if that is why they cannot be had."""
        try:
            data = self.room.read(self.fd, at, length)
            if len(data) != length:
                raise OSError(errno.EIO, "ends too early", self.snapshot.path)
        except OSError:
            self.snapshot.used()
            raise
        return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def _idle_class():
    """Reads that the disk serves get the idle class. Who has no ionice pays a little."""
    subprocess.run(["ionice", "-c", "3", "-p", str(os.getpid())], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _touches(ranges, at, length):
    """Whether bytes lie in one of these (first sector, sectors)."""
    return any(first * SECTOR < at + length and at < (first + sectors) * SECTOR
               for first, sectors in ranges)


def abort(args):
    """Undo what a backup under way has made."""
    paths = files.Paths(args.image)
    state = files.State(paths)
    try:
        values = state.values
        if not values:
            raise BackupError("%s: nothing is under way" % paths.image)
        try:
            Snapshot(Origin(values["origin"]), values["store"], values["token"],
                     state.lock).remove()
        except BackupError:
            # after a boot there may be no such origin, and then there is no snapshot of it
            if values["boot"] == boot_id():
                raise
        files.remove(paths.part, paths.sums if not os.path.exists(paths.image) else "")
        state.forget()
    finally:
        state.close()
    return {"image": paths.image, "state": "aborted"}
