# SPDX-License-Identifier: GPL-2.0
"""Traces of what a disk was asked, from several programs, read in chunks.

One reader for all tools: blktrace's binary files, blkparse's text, fio's
iolog (versions 2 and 3), the CSV of the MSR Cambridge traces; as they are, or
packed with gzip or xz. Memory does not grow with the trace.
"""

import collections

import numpy as np

from .. import ToolError

# Arrays of one length. time_ns: arrival; sector: of 512 bytes, the first;
# sectors: how many, at least 1; write: bool; response_ns: from arrival to
# completion, -1 where the trace does not tell. Times never go back.
Chunk = collections.namedtuple("Chunk", "time_ns sector sectors write response_ns")
TYPES = Chunk(np.int64, np.int64, np.int64, np.bool_, np.int64)


class Error(ToolError):
    """A trace that cannot be used: file, line (or another place), reason."""

    def __init__(self, path, place, reason):
        if isinstance(place, int):
            place = "line %d" % place
        super().__init__("%s: %s: %s" % (path, place, reason))


def make_chunk(*columns):
    """A chunk of anything that numpy makes arrays of."""
    return Chunk(*(np.asarray(column, kind) for column, kind in zip(columns, TYPES)))


def join(chunks):
    """Several chunks as one."""
    return Chunk(*(np.concatenate(columns) for columns in zip(*chunks)))


def take(chunk, which):
    """The requests of a chunk that an index, a slice or a mask names."""
    return Chunk(*(column[which] for column in chunk))


def in_order(path, chunks):
    """The same requests by time of arrival.

    Some traces have them in the order of completion. What belongs before a
    request may come up to a chunk after it; Error if it comes later still."""
    kept, last = None, None
    for chunk in chunks:
        length = len(chunk.time_ns)
        if not length:
            continue
        kept = chunk if kept is None else join((kept, chunk))
        kept = take(kept, np.argsort(kept.time_ns, kind="stable"))
        ready = max(len(kept.time_ns) - length, 0)
        if ready:
            last = check_start(path, kept, last, ready)
            yield take(kept, slice(ready))
            kept = take(kept, slice(ready, None))
    if kept is not None and len(kept.time_ns):
        check_start(path, kept, last, len(kept.time_ns))
        yield kept


def check_start(path, chunk, last, ready):
    """Error if a chunk begins before `last`; the time of its request number `ready`."""
    if last is not None and chunk.time_ns[0] < last:
        raise Error(path, "request at %.9f s" % (chunk.time_ns[0] / 1e9),
                    "comes more than a chunk of requests after one at %.9f s" % (last / 1e9))
    return chunk.time_ns[ready - 1]


def read(path, device=None):
    """Chunks of a trace's requests, by time of arrival. Error if anything in it is
    wrong, or nothing in it is a request.

    device: which of several in the file, as the file names it."""
    from .detect import reader  # pylint: disable=import-outside-toplevel,cyclic-import
    some = False
    for chunk in in_order(path, reader(path)(path, device)):
        some = True
        yield chunk
    if not some:
        raise Error(path, "the whole file", "no requests%s" % (
            " of device %s" % device if device else ""))
