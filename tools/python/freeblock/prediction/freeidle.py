# SPDX-License-Identifier: GPL-2.0
"""What reads in idle time bring (Documentation/idle.rst), with the module's defaults. Not in the
paper.

The Waiting policy: when nobody has asked for anything for a while, one read follows the other until
somebody does. Poisson's idle periods have exponential lengths, so that of what is left behind a
threshold t and the way s of the first read exp(-rate (t + s)) is used. Who comes meets a read, and
those behind him in his busy period wait as long: of all requests on the mean exp(-rate t) times
what is left of a read. The threshold is such that this stays below a goal.

Reads of a drive that reads ahead follow each other at the medium's rate and are short. Else a
track takes a turn and the way to the next one, each read loses what passes until it is understood,
the time that it has to spare, and half a granule, and who comes to a track too late, by the spread
of seeks, loses a turn. With
zero-latency access that costs less, but the read ends where nobody has foreseen, and until the
head is found again reads follow by LBN and take a turn each.

With a write-back cache the medium is idle when the cache is empty, which the host can only reckon:
a margin makes one first read in two come before that.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .freeyield import FreeSettings, granule_bytes

GOAL = 1e-3             # s, what idle reads may cost a request on the mean (idle_mean_us)
# .. of which so much is made use of, as charges vary: of a drive that reads ahead, of another one
KEPT = {True: 0.8, False: 0.85}
SIZE = 65536            # bytes of a read at least
LANDINGS = 3            # tracks nearby of which a read takes the one that it can begin on first
# Of reads by LBN, those that end where the head is known again; turns that a first read takes
# longer, as many begin with the head unknown; of what a request waits, how much a busy drive makes
# good, as it then chooses among more: with a cache, and without any. All but that with one were
# set by runs of cheetah9, the Atlas 10K and atlas10k-hs08 at 35 and 70 requests/s, seeds 1 to 5
FOUND, UNFOUND = 1.0, 1.0
MADE_GOOD = {True: 0.75, False: 1.0}
# What is left out between such reads (core/idle/learnt.h) spares of a turn and the reading: set by
# whole scans of cheetah9 with a cache
LEFT_OUT = 0.75
SEND = 50e-6            # s that a read has to spare (core/idle_order.h)
LEAST_REST = 1e-6       # s that who meets a read waits at least
LATE = 0.5              # of the first reads behind writes (core/destage.c); set by whole scans


class IdleReads(NamedTuple):
    """rate: bytes/s that they read if all idle times began so, and used: of the idle time, arrays
    as Begins has them; wait: s, the threshold; read_time: s of a read."""

    rate: np.ndarray
    used: np.ndarray
    wait: float
    read_time: float


def stream_rate(device):
    """Bytes/s of reading on over the data, where the head is anywhere in them."""
    share = device.zone_weights()
    turn, heads = device.revolution_time, device.heads
    zones = device.zones
    lost = (zones.track_skew * (heads - 1) + zones.cylinder_skew) / heads
    track = zones.bytes / (device.zone_cylinders * heads)
    return float(share @ (track / (turn * (1 + lost))))


def first_way(device):
    """s from an idle time's beginning to the first block of a map on which all is wanted: to
    another head or cylinder, and half a granule's passing."""
    granule = granule_bytes(device, FreeSettings())
    move = max(device.track_switch, device.cylinder_switch)
    return device.read_overhead + move + granule / 2 / stream_rate(device)


def reads_ahead(device):
    """Whether the drive reads ahead."""
    return bool(device.cache and device.cache.read_ahead != "none")


class _Reads(NamedTuple):
    """Reads one behind the other. time, square: s and s^2, means; held: bytes of each; behind:
    share that begins with the head unknown."""

    time: float
    square: float
    held: float
    behind: float = 0.0

    @property
    def rest(self):
        """s that who comes amid one waits on the mean."""
        return self.square / self.time / 2


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


def _by_lbn(device, held):
    """_Reads of a drive that orders reads and cached writes alone, so that nobody knows where its
    head is: each begins where the one before it ended, and has just missed that."""
    turn, track = device.revolution_time, device.track_bytes()
    if device.zero_latency:
        # what passes first is read first; the end of a track costs its skew
        took = turn * (1 + held / track * float(device.zone_weights() @ device.zones.track_skew))
        return _Reads(took, took ** 2, held)
    # what is read over what that costs, its square, is most if reading takes as long as the wait
    held *= 2 ** max(math.floor(math.log2(track / held)), 0)
    took = LEFT_OUT * turn * (1 + held / track)
    return _Reads(took, took ** 2, held)


def _reads(device, ends=0.0, ordered=False):
    """The _Reads of idle times, of which `ends` a second end; ordered: behind writes in the drive's
    cache."""
    held = max(SIZE, granule_bytes(device, FreeSettings()))
    if reads_ahead(device):
        took = held / stream_rate(device)
        return _Reads(took, took ** 2, held)
    if ordered:
        return _by_lbn(device, held)
    turn, track = device.revolution_time, device.track_bytes()
    tau = turn * granule_bytes(device, FreeSettings()) / track
    move = device.track_switch if device.heads > 1 else device.cylinder_switch
    # a track's reads; what is left over is mostly left for another time
    count = max(track / held, 1.0)
    each = (turn + move) / count + device.read_overhead + device.read_report + SEND + tau / 2
    # a switch of heads always takes as long; each heads-th track is another cylinder's
    lost = late(device, tau) / count / device.heads
    times = [(1 - lost, each), (lost, each + turn)]
    if device.zero_latency:
        times = _found_again(times, each + turn * (1 - 1 / count), turn + move, ends)
    return _Reads(sum(share * took for share, took in times),
                  sum(share * took ** 2 for share, took in times), held,
                  times[2][0] if device.zero_latency else 0.0)


def _found_again(times, slow, by_lbn, ends):
    """(share, s) of reads of a drive with zero-latency access, where late ones (the second of
    `times`) take `slow` s, and those behind them by_lbn s, until one of FOUND of these finds the
    head, or somebody comes, who ends idle times `ends` times a second."""
    lost = times[1][0]
    behind = lost / (lost + FOUND + ends * times[0][1])
    return [((1 - lost) * (1 - behind), times[0][1]), (lost * (1 - behind), slow),
            (behind, by_lbn)]


def undisturbed(device):
    """Bytes/s of reads one behind the other while nobody asks for anything."""
    reads = _reads(device)
    return reads.held / reads.time


def margin(spread):
    """s that idle reads wait for a cache to be empty too long, if how long it takes has such a
    standard deviation (s): normal, and LATE of them come before."""
    normal = NormalDist()
    at = normal.inv_cdf(1 - LATE)
    return spread * (normal.pdf(at) + at * (1 - LATE))


class Begins(NamedTuple):
    """Where idle times begin: arrays, equal shares of them. more: s that the way to the first block
    is longer than on a map on which all is wanted; back: s that the way from there to a request is;
    rate: bytes/s of reading on there, over the disk's mean."""

    more: np.ndarray
    back: np.ndarray
    rate: np.ndarray


HERE = Begins(np.zeros(1), np.zeros(1), np.ones(1))


class Idle(NamedTuple):
    """Idle times. share: of the time, in which the medium has nothing to do; ends: 1/s at which
    they end; spread: s, standard deviation of a destage, if there is a write-back cache."""

    share: float
    ends: float
    spread: float = None


def _way(device, idle, reads):
    """s to the first block of a map on which all is wanted, but for what all reads take."""
    if idle.spread and not reads_ahead(device):
        return device.read_overhead
    return first_way(device) + UNFOUND * reads.behind * device.revolution_time


def idle_reads(device, idle, begins=HERE, kept=None):
    """The IdleReads of an Idle. kept: of the goal, what is made use of; None: as KEPT says."""
    kept = KEPT[reads_ahead(device)] if kept is None else kept
    reads = _reads(device, idle.ends, bool(idle.spread))
    until = _way(device, idle, reads) + begins.more
    took = reads.time / begins.rate if reads_ahead(device) else reads.time
    # who comes before the first block has been read waits for that, else for what is left of one
    early = -np.expm1(-idle.ends * until)
    rest = np.mean(early * (until + took) / 2 + (1 - early) * reads.rest + begins.back)
    # the way back may be shorter than the way that it is in place of
    rest = max(float(rest), LEAST_REST)
    alone = not idle.spread and not reads_ahead(device)
    rest *= 1 - MADE_GOOD[not alone] * (1 - idle.share) ** 2
    hit = min(1.0, kept * GOAL / rest)
    used = hit * (1 - early)
    if idle.spread and reads_ahead(device):
        used = used * math.exp(-idle.ends * margin(idle.spread))
    # busy periods are longer by as much
    share = max(idle.share * (1 - idle.ends * hit * rest), 0.0)
    return IdleReads(share * used * reads.held / took, used, -math.log(hit) / idle.ends,
                     reads.time)
