# SPDX-License-Identifier: GPL-2.0
"""What reads in idle time bring (Documentation/idle.rst), with the module's defaults. Not in the
paper.

The Waiting policy: when nothing has been asked for a while, one read follows the other until a
request comes. Poisson's idle periods have exponential lengths, so that of what is left behind a
threshold t and the way s of the first read exp(-rate (t + s)) is used. A request that comes meets a
read, and those behind it in its busy period wait as long: of all requests on the mean exp(-rate t)
times what is left of a read. The threshold is such that this stays below a goal.

Reads of a drive that reads ahead follow each other at the medium's rate and are short. Else a
track takes a turn and the way to the next one, and each read loses what passes until it is
understood, the time that it has to spare, and half a granule; one that comes to a track too late,
by the spread of seeks, loses a turn. With zero-latency access that costs less, but the head is then
where the model has not foreseen, and until it is found again reads follow by LBN, a turn each.
"""

import math

from .freeyield import FreeSettings, granule_bytes

GOAL = 1e-3             # s, what idle reads may cost a request on the mean (idle_mean_us)
# .. of which so much is made use of, as charges vary: of a drive that reads ahead, of another one
KEPT = {True: 0.8, False: 0.85}
SIZE = 65536            # bytes of a read at least
LANDINGS = 3            # tracks nearby of which a read takes the one that it can begin on first
# Of what a request waits, how much a busy drive makes good, as it then chooses among more: of a
# drive that reads ahead, of another one; by runs of cheetah9 and the Atlas 10K, seeds 1 to 5
MADE_GOOD = {True: 0.75, False: 1.0}
SEND = 50e-6            # s that a read has to spare (core/idle_order.h)
LEAST_REST = 1e-6       # s that a request waits at least which meets a read


def stream_rate(device):
    """Bytes/s of reading on over the data, where the head is anywhere in them."""
    zones, heads = device.zones, device.heads
    lost = (zones.track_skew * (heads - 1) + zones.cylinder_skew) / heads
    track = zones.bytes / (device.zone_cylinders * heads)
    return float(device.zone_weights() @ (track / (device.revolution_time * (1 + lost))))


def reads_ahead(device):
    """Whether the drive reads ahead."""
    return bool(device.cache and device.cache.read_ahead != "none")


def late(device, tau):
    """Chance that a read on another track begins too late, for errors of seeks that are Laplace's:
    there is slack of SEND and of the least of LANDINGS parts of a granule, which passes in
    tau s."""
    scale = device.seek_spread / math.sqrt(2)
    if not scale:
        return 0.0
    part = tau / scale
    mean = -math.expm1(-part) / part        # of exp(-slack / scale)
    for count in range(2, LANDINGS + 1):
        mean = count / part * (1 - mean)    # integrated by parts
    return mean / 2 * math.exp(-SEND / scale)


def _reads(device, ends):
    """([(share, s)] of reads one behind the other, bytes of each, share that begins with the head
    unknown). ends: 1/s at which idle times end."""
    granule = granule_bytes(device, FreeSettings())
    held = max(SIZE, granule)
    if reads_ahead(device):
        return [(1.0, held / stream_rate(device))], held, 0.0
    turn, track = device.revolution_time, device.track_bytes()
    tau, count = turn * granule / track, max(track / held, 1.0)
    move = device.track_switch if device.heads > 1 else device.cylinder_switch
    each = (turn + move) / count + device.read_overhead + device.read_report + SEND + tau / 2
    # a switch of heads always takes as long; each heads-th track is another cylinder's
    lost = late(device, tau) / count / device.heads
    if not device.zero_latency:
        return [(1 - lost, each), (lost, each + turn)], held, 0.0
    behind = lost / (lost + 1 + ends * each)
    return [((1 - lost) * (1 - behind), each), (lost * (1 - behind), each + turn * (1 - 1 / count)),
            (behind, turn + move)], held, behind


def idle_rate(device, share, ends):
    """Bytes/s that idle reads bring: of the time a share is idle, in periods that end `ends` times
    a second; 0 ends: all of it is."""
    times, held, behind = _reads(device, ends)
    took = sum(part * time for part, time in times)
    if not ends:
        return share * held / took
    # to another head or cylinder, and half a granule's passing
    way = device.read_overhead + max(device.track_switch, device.cylinder_switch) + \
        granule_bytes(device, FreeSettings()) / 2 / stream_rate(device) + \
        behind * device.revolution_time
    # a request that comes before the first block has been read waits for that, else for what is
    # left of one
    early = -math.expm1(-ends * way)
    left = sum(part * time ** 2 for part, time in times) / took / 2
    ahead = reads_ahead(device)
    rest = max(early * (way + took) / 2 + (1 - early) * left, LEAST_REST)
    rest *= 1 - MADE_GOOD[ahead] * (1 - share) ** 2
    hit = min(1.0, KEPT[ahead] * GOAL / max(rest, LEAST_REST))
    # busy periods are longer by as much
    return max(share * (1 - ends * hit * rest), 0.0) * hit * (1 - early) * held / took
