# SPDX-License-Identifier: GPL-2.0
"""Regions to which each seek takes a turn more, as on some drives.

Of the ways over much the same distance each takes less than a turn more than the shortest; those to
such a region take more. Reads anywhere show the regions, more about their ends where these are.
"""

import numpy as np

from . import validate

READS = 600             # anywhere,
MORE = 100              # and about each end of a region,
NEAR = 0.01             # so far off, as a share of the disk
ALIKE = 30              # reads over much the same distance
TURNS = 1.1             # more than the shortest of these
LEAST = 6               # reads that came late, less those in time, of what is a region


def _ways(dev, layout, units):
    """(units, cylinders passed on the way there, ns that it took): those that followed another."""
    found = validate.measure(dev, units, np.ones(len(units), np.int64), True)
    took = np.diff(found["done"].astype(float))
    far = np.abs(np.diff(layout.locate(units)["cyl"].astype(np.int64)))
    good = (found["status"][1:] == 0) & (found["status"][:-1] == 0) & (took > 0) & (far > 1)
    good[validate.BATCH - 1::validate.BATCH] = False     # these began anew
    return units[1:][good], far[good], took[good]


def _late(far, took, turn):
    """Which ways took a turn longer than others as far."""
    order = np.argsort(far, kind="stable")
    late = np.zeros(len(far), bool)
    for some in np.array_split(order, max(len(order) // ALIKE, 1)):
        late[some] = took[some] > took[some].min() + TURNS * turn
    return late


def stretches(units, late):
    """[(first, last)] of units between which most came late."""
    order = np.argsort(units)
    units, gain = units[order], np.where(late[order], 1, -1)
    found = []
    while True:
        sums = np.concatenate(([0], np.cumsum(gain)))
        most = sums - np.minimum.accumulate(sums)
        end = int(np.argmax(most))
        if most[end] < LEAST:
            return sorted(found)
        begin = int(np.argmin(sums[:end + 1]))
        found.append((int(units[begin]), int(units[end - 1])))
        gain[begin:end] = -1


def find(dev, layout, turn, seed=1, tell=None):
    """stretches() of a drive; turn: ns."""
    def mapped(units):
        units = np.clip(units, 0, dev.blocks - 1).astype(np.int64)
        return units[~layout.index.unmapped[layout.index.zone_of(units)]]

    rng = np.random.default_rng(seed)
    if tell:
        tell(0, "regions of slow seeks")
    units, far, took = _ways(dev, layout, mapped(rng.integers(0, dev.blocks, READS)))
    ends = np.array(stretches(units, _late(far, took, turn)), float).ravel()
    if not len(ends):
        return []
    near = np.repeat(ends, MORE) + NEAR * dev.blocks * rng.uniform(-1, 1, MORE * len(ends))
    more = _ways(dev, layout, mapped(rng.permutation(near)))
    units, far, took = (np.concatenate(both) for both in zip((units, far, took), more))
    return stretches(units, _late(far, took, turn))


def marked(layout, found):
    """The layout with zones that are slow whose middle lies in such a stretch."""
    index = layout.index
    middle = (index.first[:-1] + index.first[1:]) // 2
    for first, last in found:
        for number in np.flatnonzero((middle >= first) & (middle <= last)):
            layout.zones[number].slow = True
    return layout
