# SPDX-License-Identifier: GPL-2.0
"""Requests from events: sent to the drive (D) and completed (C).

A completion belongs to the last request sent at its sector; what is sent
twice before it completes (requeued) counts from the last time. Completions of
what was sent before the trace began, and requests that it does not see
completed, are left out."""

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


def requests(batches):
    """Chunks of requests from batches of events, by time from one batch to the next."""
    open_yet = None
    for events in batches:
        if open_yet is not None:
            events = join((open_yet, events))
        chunk, open_yet = pairs(events)
        yield chunk
