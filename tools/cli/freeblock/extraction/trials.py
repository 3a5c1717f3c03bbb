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
class Trials:
    """What came of a chain, of its trials that count: whose, and the limit (onebit.py);
    and how many did not since the drive changed their order."""

    which: np.ndarray
    limit: np.ndarray
    overtaken: int


def choose(layout, cyl, head, gap, period, begin):
    """The blocks on some tracks of a chain that begins at an angle, each so long (ns) after the
    one before."""
    _, _, spt, start = layout.track_base(cyl, head)
    slots = np.empty(len(spt))
    end = begin
    for i, (of, first, turns) in enumerate(zip(spt.tolist(), start.tolist(),
                                               (np.asarray(gap) / period).tolist())):
        slot = np.ceil((end + turns - first) % 1 * of - 1e-6) % of
        slots[i] = slot
        end = first + (slot + 1) / of
    blocks = layout.block_at(cyl, head, (start + slots / spt) % 1)
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


def run(dev, layout, period, noise_sd, steps, settled_ns, begin=0.0, pairs=False):
    """Have a chain carried out; Trials. steps: (cylinder, head, ns from the end of the read before
    to the beginning of this one, whose trial it is; -1: it only brings the head there);
    noise_sd: of the ends' instants, ns;
    settled_ns: what the drive needs to understand a command, and to report one; pairs:
    what is no trial waits until the drive has nothing to do."""
    cyl, head, gap, which = (np.array(column) for column in zip(*steps))
    blocks = choose(layout, cyl, head, gap, period, begin)
    places = layout.locate(blocks)
    flags = FUA | np.where(pairs & (which < 0), 0, OVERLAP)
    found = dev.run(dev.ops(blocks, flags=flags))
    took = np.diff((found["done"] - found["done"][0]).astype(np.float64)) / period
    wait, unit = waits(places), 1 / places["spt"][1:]
    turns = np.round(took - wait - unit)
    left = (took - wait - unit - turns) * period
    turns -= layout.extra_turns(places)
    early, order = spared(found, settled_ns)
    there = (found["status"] == 0) & (places["cyl"] == cyl) & (places["head"] == head)
    good = there[1:] & there[:-1] & early & order & (which[1:] >= 0) & (turns >= 0)
    width = STRAY_NS + 5 * noise_sd
    # a drive that starts in the midst of a unit ends there, too
    good &= (left < width) & (left > -width - unit * period)
    return Trials(which[1:][good], ((wait + turns) * period)[good],
                  int(np.count_nonzero(~order)))
