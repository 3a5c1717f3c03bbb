# SPDX-License-Identifier: GPL-2.0
"""Requests from events: queued (Q), sent to the drive (D) and completed (C).

A completion belongs to the last request sent at its sector; what is sent
twice before it completes (requeued) counts from the last time. Completions of
what was sent before the trace began, and requests that it does not see
completed, are left out. A trace with one kind of event only has arrivals, and
no responses."""

import collections

import numpy as np

from . import make_chunk

# Arrays; complete: bool, else sent
Events = collections.namedtuple("Events", "time_ns sector sectors write complete")


def join(events):
    """Several as one."""
    return Events(*(np.concatenate(columns) for columns in zip(*events)))


def take(events, which):
    """Those that an index or a mask names."""
    return Events(*(column[which] for column in events))


def pairs(events):
    """(requests as a chunk, events sent that are not completed yet)"""
    # by sector, there by time; where both are equal a completion comes first: it
    # is of the request before
    order = np.lexsort((~events.complete, events.time_ns, events.sector))
    events = take(events, order)
    same = np.zeros(len(order), dtype=bool)
    same[:-1] = events.sector[1:] == events.sector[:-1]
    follows = np.zeros(len(order), dtype=bool)
    follows[:-1] = events.complete[1:]
    sent = np.flatnonzero(~events.complete & same & follows)
    chunk = make_chunk(events.time_ns[sent], events.sector[sent], events.sectors[sent],
                       events.write[sent], events.time_ns[sent + 1] - events.time_ns[sent])
    return chunk, take(events, ~events.complete & ~same)


def arrivals(batches, source, what):
    """Chunks of requests that come when the only events that there are say."""
    source.note("%s: no response times" % what)
    for events in batches:
        yield make_chunk(events.time_ns, events.sector, events.sectors, events.write,
                         np.full(len(events.time_ns), -1))


def counted(batches):
    """How many there are."""
    return sum(len(events.time_ns) for events in batches)


def unpaired(source, batches, sent, completed):
    """Chunks of a trace in which no request is both sent and completed."""
    if sent and completed:
        raise source.error("the whole file", "%d requests sent (D) and %d completed (C), and none "
                           "of them both" % (sent, completed))
    if sent:
        return arrivals(batches(b"D"), source, "requests sent (D), none completed (C)")
    queued = counted(batches(b"Q"))
    if queued and completed:
        raise source.error("the whole file", "requests queued (Q) and completed (C), none sent to "
                           "a drive (D), as of a stacked device (md, dm): trace its members")
    if completed:
        return arrivals(batches(b"C"), source, "completions (C) only, taken for arrivals")
    return arrivals(batches(b"Q"), source, "requests queued (Q) only, before they are merged") \
        if queued else ()


def requests(source, batches):
    """Chunks of requests, by time from one batch to the next; batches(actions) reads the batches
    of the events that are one of these actions."""
    open_yet, paired, sent, completed = None, 0, 0, 0
    for events in batches(b"DC"):
        completed += int(events.complete.sum())
        sent += int((~events.complete).sum())
        if open_yet is not None:
            events = join((open_yet, events))
        chunk, open_yet = pairs(events)
        paired += len(chunk.time_ns)
        yield chunk
    if not paired:
        yield from unpaired(source, batches, sent, completed)
