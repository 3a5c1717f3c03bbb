# SPDX-License-Identifier: GPL-2.0
"""Traces of what a disk was asked, from several programs, read in chunks.

One reader for all tools, which recognises what it is given: detect.py. As
they are, or packed with gzip, xz or bzip2. Memory does not grow with the trace.
"""

import collections

import numpy as np

from .. import UsageError

# Arrays of one length. time_ns: arrival; sector: of 512 bytes, the first;
# sectors: how many, at least 1; write: bool; response_ns: from arrival to
# completion, -1 where the trace does not tell. Times never go back.
Chunk = collections.namedtuple("Chunk", "time_ns sector sectors write response_ns")
TYPES = Chunk(np.int64, np.int64, np.int64, np.bool_, np.int64)


class Error(UsageError):
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


NS = {"ns": 1, "100ns": 100, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9}
# What no disk does for the whole length of a trace: requests/s that are not sequential, bytes/s,
# seconds from one request to the next, seconds of a response on the mean
MOST_RANDOM, MOST_BYTES, MOST_GAP_S, LEAST_RESPONSE_S, MOST_RESPONSE_S = 2000, 1e9, 2, 1e-5, 60
LEAST_REQUESTS = 20
NEAR_SECTORS = 2048
SECTOR = 512
FAR_SECTORS = 1 << 53


class Plausible:
    """Whether a disk can have done what a trace says, all in all."""

    def __init__(self):
        self.requests = self.jumps = self.sectors = self.answered = 0
        self.first = self.last = None
        self.end = 0
        self.response_ns = 0.0

    def add(self, chunk):
        """The next requests."""
        ends = chunk.sector + chunk.sectors
        before = np.concatenate(([self.end], ends[:-1]))
        self.jumps += int((np.abs(chunk.sector - before) > NEAR_SECTORS).sum())
        self.end = int(ends[-1])
        self.requests += len(ends)
        self.sectors += int(chunk.sectors.sum())
        known = chunk.response_ns >= 0
        self.answered += int(known.sum())
        self.response_ns += float(chunk.response_ns[known].sum())
        self.first = int(chunk.time_ns[0]) if self.first is None else self.first
        self.last = int(chunk.time_ns[-1])

    def doubt(self, sure):
        """What no disk does; None if all is well."""
        if self.requests < LEAST_REQUESTS:
            return None
        seconds = max((self.last - self.first) / 1e9, 1e-9)
        response = self.response_ns / 1e9 / self.answered if self.answered else MOST_RESPONSE_S
        for too_much, what in (
                (self.jumps > MOST_RANDOM * seconds,
                 "%d requests anywhere in %.3g s" % (self.jumps, seconds)),
                (self.sectors * SECTOR > MOST_BYTES * seconds,
                 "%.3g MB in %.3g s" % (self.sectors * SECTOR / 1e6, seconds)),
                (not LEAST_RESPONSE_S <= response <= MOST_RESPONSE_S,
                 "responses of %.3g s on the mean" % response),
                (not sure and seconds > MOST_GAP_S * self.requests,
                 "%.3g s from each request to the next" % (seconds / self.requests))):
            if too_much:
                return what
        return None

    def check(self, source):
        """Error where the unit of the times may be another; a note where it is known."""
        doubt = None if source.unit_ns else self.doubt(source.sure)
        if doubt and not source.sure:
            raise source.error("the whole file", "%s: no disk in use is like that; say in which "
                               "unit the times are, --unit ns, us, ms or s" % doubt)
        if doubt:
            source.note("%s: more than one disk, or none that turns" % doubt)


def read(path, device=None, unit=None, note=None):
    """Chunks of a trace's requests, by time of arrival. Error if anything in it is
    wrong, or nothing in it is a request.

    device: which of several in the file, as the file names it. unit: of its times, a
    key of NS. note: a function that takes what a user should know (on standard error)."""
    # pylint: disable-next=import-outside-toplevel,cyclic-import
    from . import detect, text
    source = text.Input(path, device, NS.get(unit), note or text.on_stderr)
    seen = Plausible()
    for chunk in in_order(path, detect.reader(path)(source)):
        if (chunk.sector < 0).any() or (chunk.sector + chunk.sectors > FAR_SECTORS).any():
            raise Error(path, "request %d or later" % (seen.requests + 1),
                        "beyond sector %d" % FAR_SECTORS)
        seen.add(chunk)
        yield chunk
    if not seen.requests:
        raise Error(path, "the whole file", "no requests%s" % (
            " of device %s" % device if device else ""))
    seen.check(source)
