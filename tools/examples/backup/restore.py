# SPDX-License-Identifier: GPL-2.0
"""An image back on a device, and whether an image is as it was made."""

import errno
import os
import stat

from . import BackupError, files


def open_complete(path):
    """(paths, what it is of) of a complete image."""
    paths = files.Paths(path)
    about = files.load(paths.about)
    if not os.path.exists(paths.image) or not about:
        for there, why in ((paths.part, "it is not complete"),
                           (paths.invalid, "it is marked as invalid, %s.json says why" %
                            paths.invalid)):
            if os.path.exists(there):
                raise BackupError("%s: %s" % (there, why))
        raise BackupError("%s: no complete image with %s beside it" % (paths.image, paths.about))
    if os.stat(paths.image).st_size != about["bytes"]:
        raise BackupError("%s: not as long as it was" % paths.image)
    return paths, about


def pieces(paths, size):
    """(offset, data) of each MiB, which is as it was made; BackupError at the first that is not."""
    digests = files.read_sums(paths.sums, size)
    with open(paths.image, "rb") as image:
        for (at, length), wanted in zip(files.mibs(size), digests):
            data = files.read_all(image.fileno(), at, length, paths.image)
            if files.digest(data) != wanted:
                raise BackupError("%s: the MiB at byte %d is not what it was" % (paths.image, at))
            yield at, data


def check(args, progress, signals):
    """Compare an image with its digests."""
    paths, about = open_complete(args.image)
    for _, data in pieces(paths, about["bytes"]):
        signals.check()
        progress.add(len(data))
        progress.tell()
    return {"image": paths.image, "state": "good", "bytes": about["bytes"],
            "unreadable": about["unreadable"]}


def restore(args, progress, signals):
    """Write an image to a device, or to a file that is as long: after all of it was checked, so
    that a damaged one destroys nothing."""
    paths, about = open_complete(args.image)
    target = _open_target(args.device, about["bytes"])
    try:
        for _ in pieces(paths, about["bytes"]):
            signals.check()
        for at, data in pieces(paths, about["bytes"]):
            signals.check()
            left = memoryview(data)
            while left:
                done = os.pwrite(target, left, at)
                at, left = at + done, left[done:]
            progress.add(len(data))
            progress.tell()
        os.fsync(target)
    finally:
        os.close(target)
    return {"image": paths.image, "device": args.device, "state": "restored",
            "bytes": about["bytes"], "unreadable": about["unreadable"]}


def _open_target(path, size):
    try:
        # a block device in use, mounted or below others, is refused so
        block = stat.S_ISBLK(os.stat(path).st_mode)
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_EXCL if block else 0))
    except OSError as error:
        raise BackupError("%s: %s" % (path, "in use" if error.errno == errno.EBUSY else
                                      error.strerror)) from error
    there = os.lseek(fd, 0, os.SEEK_END)
    if there < size:
        os.close(fd)
        raise BackupError("%s: %d bytes, and the image has %d" % (path, there, size))
    return fd
