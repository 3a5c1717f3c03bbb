# SPDX-License-Identifier: GPL-2.0
"""Openers, for open(): root writes in folders where others may have put a link. And a file that is
there whole, or as it was before.
"""

import contextlib
import errno
import os
import stat

from .. import ToolError


def new_file(path, flags):
    """Make the file: what a killed process has left there, or somebody else has put there, a link
    say, is neither written to nor followed."""
    flags |= os.O_EXCL
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        os.unlink(path)
        return os.open(path, flags, 0o644)


def no_link(path, flags):
    """Refuse a symbolic link: it would have root read, or write over, a file of somebody else's
    choice."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ToolError("%s: a symbolic link, which is not followed: name the file itself" %
                            path) from error
        raise


def _like(path, handle):
    """Mode and owner of a file that is about to be replaced, if there is one, for another."""
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(path)
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def sync_directory(path):
    """Names in a directory are on stable storage."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directory(path):
    """A directory and those above it, on stable storage."""
    missing = []
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for name in reversed(missing):
        with contextlib.suppress(FileExistsError):      # another process was faster
            os.mkdir(name, 0o755)
        sync_directory(os.path.dirname(name))


@contextlib.contextmanager
def _replacing(path, beside):
    """A new file, which takes the place of `path` when it is complete and on stable storage; until
    then, and if that fails, there is what was there."""
    try:
        with open(beside, "wb", opener=new_file) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        # a full disk has no name, and the other one is nobody's
        if isinstance(error, OSError) and error.filename in (None, beside):
            error.filename = path
        raise
    sync_directory(os.path.dirname(path) or ".")


def write_file(path, data, mode=None, owner=None):
    """Replace a file, in a directory that is made if it is missing. Nobody else may write to it,
    whatever the umask: units are among these; unless it is to have this mode and owner, (user,
    group)."""
    make_directory(os.path.dirname(path) or ".")
    with _replacing(path, path + ".new") as file:
        file.write(data)
        if owner:
            os.fchown(file.fileno(), *owner)
        if mode is not None:
            os.fchmod(file.fileno(), mode)


@contextlib.contextmanager
def whole_file(path):
    """A binary file to be written, which takes the place of `path` when it is complete. It has the
    mode of that, and the owner if it may. Of what is no file, a pipe say, nothing can take the
    place: it is written to."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    # not before: where /dev/stdout leads to if it is a pipe has no path
    path = os.path.realpath(path)
    with _replacing(path, "%s.%d.new" % (path, os.getpid())) as file:
        yield file
        _like(path, file.fileno())
