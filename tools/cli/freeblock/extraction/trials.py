# SPDX-License-Identifier: GPL-2.0
"""Chains of reads of one unit, each so placed that it tells something of the move to it.

With two commands at the drive the next move begins when the last sector of the one
before has passed under the head: host, bus and firmware do not show. A chain is one
batch; each of its reads is a trial of the way from the one before.
"""

from dataclasses import dataclass

import numpy as np

from .device import FUA, OVERLAP

# A read that ends so much later than its place and the noise explain was delayed by
# something else, or its place is not where the layout says.
STRAY_NS = 60e3


@dataclass
class Chain:
    """What a chain is to visit: arrays of the tracks, of the time (ns) from the end of
    the read before to the beginning of the next, and whose trial each read is (-1: it
    only brings the head there)."""

    cyl: np.ndarray
    head: np.ndarray
    gap: np.ndarray
    which: np.ndarray

    @classmethod
    def of(cls, steps):
        """A chain of (cyl, head, gap, which)."""
        cyl, head, gap, which = zip(*steps)
        return cls(np.array(cyl), np.array(head), np.array(gap, dtype=float), np.array(which))

@dataclass
class Trials:
    """What came of a chain, of its trials that count: whose, and the limit (onebit.py);
    and how many did not since the drive changed their order."""

    which: np.ndarray
    limit: np.ndarray
    overtaken: int


def choose(layout, chain, period, begin):
    """The blocks of a chain that begins at an angle."""
    _, _, spt, start = layout.track_base(chain.cyl, chain.head)
    slots = np.empty(len(spt))
    end = begin
    for i, (of, first, gap) in enumerate(zip(spt.tolist(), start.tolist(),
                                             (chain.gap / period).tolist())):
        slot = np.ceil((end + gap - first) % 1 * of - 1e-6) % of
        slots[i] = slot
        end = first + (slot + 1) / of
    blocks = layout.block_at(chain.cyl, chain.head, (start + slots / spt) % 1)
    # a track without units: stay where we are, which is no trial
    for i in np.flatnonzero(blocks < 0):
        blocks[i] = blocks[i - 1] if i and blocks[i - 1] >= 0 else layout.blocks // 2
    return blocks


def waits(places):
    """Turns from the end of each read's unit to the beginning of the next one's."""
    ends = places["start"] + 1 / places["spt"]
    return (places["start"][1:] - ends[:-1] + 1e-7) % 1 - 1e-7


def spared(found, settled_ns):
    """Which commands of a chain were at the drive in time: `settled_ns` after they were
    sent the one before was still at work; and which came neither before their turn nor
    after it."""
    done = found["done"].astype(np.int64)
    order = np.diff(done) > 0
    early = found["submit"][1:].astype(np.int64) + int(settled_ns) <= done[:-1]
    return early, order & np.append(order[1:], True)


def run(dev, layout, period, noise_sd, chain, settled_ns, begin=0.0, pairs=False):
    """Have a chain carried out; Trials. noise_sd: of the ends' instants, ns;
    settled_ns: what the drive needs to understand a command, and to report one; pairs:
    what is no trial waits until the drive has nothing to do."""
    blocks = choose(layout, chain, period, begin)
    places = layout.locate(blocks)
    flags = FUA | np.where(pairs & (chain.which < 0), 0, OVERLAP)
    found = dev.run(dev.ops(blocks, flags=flags))
    took = np.diff((found["done"] - found["done"][0]).astype(np.float64)) / period
    wait, unit = waits(places), 1 / places["spt"][1:]
    turns = np.round(took - wait - unit)
    left = (took - wait - unit - turns) * period
    turns -= layout.extra_turns(places)
    early, order = spared(found, settled_ns)
    good = (found["status"][1:] == 0) & (found["status"][:-1] == 0) & early & order
    good &= (chain.which[1:] >= 0) & (turns >= 0)
    good &= (places["cyl"][1:] == chain.cyl[1:]) & (places["cyl"][:-1] == chain.cyl[:-1])
    good &= (places["head"][1:] == chain.head[1:]) & (places["head"][:-1] == chain.head[:-1])
    width = STRAY_NS + 5 * noise_sd
    # a drive that starts in the midst of a unit ends there, too
    steady = good & (left < width) & (left > -width - unit * period)
    limit = (wait + turns) * period + _amend(left, noise_sd, steady)
    return Trials(chain.which[1:][steady], limit[steady], int(np.count_nonzero(~order)))


def _amend(left, noise_sd, good):
    """What to add to limits because the layout's angles are a little off: as much of what
    is left of the ends' times as is not their noise."""
    count = np.count_nonzero(good)
    if count < 10:
        return np.zeros(len(left))
    seen = (1.4826 * np.median(np.abs(left[good] - np.median(left[good])))) ** 2
    noise = 2 * noise_sd ** 2
    layout = max(seen - noise, 0)
    # less shows by chance, too
    if layout < max((0.6 + 10 / np.sqrt(count)) * noise, 1e6):
        return np.zeros(len(left))
    return left * (layout / (layout + noise))
