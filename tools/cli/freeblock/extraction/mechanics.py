# SPDX-License-Identifier: GPL-2.0
"""How long a drive's arm and head take to get from track to track, and its electronics
to begin and to report, by the minimum time between request completions (freeblock
paper, 4.2; Worthington et al. 1995), with nothing but reads.

Each trial says in one bit whether a move took longer than a limit (onebit.py); with two
commands at the drive it is the move alone (trials.py). On one track, with one command,
it is the time from its being sent until the drive is ready to read, plus that from a
unit's end to the report: nothing that a host sees depends on how these two share that
sum, since angles are known from reports alone. Each is taken for half of it.
"""

import numpy as np

from .. import ToolError
from . import trials
from .device import FUA, OVERLAP
from .modeltext import NS_FIELDS
from .onebit import Bits
from .phase import lower_edge, wrap

LONGEST_NS = 45e6       # of a move: a full stroke and more
SAME, SWITCH = 0, -1    # moves besides distances: none, and to another head of the cylinder
DENSE = 12000           # cylinders up to which all of the paper's distances are measured
STEP = 1.1              # from one distance to the next, beyond 500 cylinders, if more
LEAST = {"quick": 90, "full": 240}               # trials of each move
SEARCH_ROUNDS = 13      # trials that halve 45 ms down to a few tens of us
SURE_NS = {"quick": 7e3, "full": 3.5e3}         # standard error wanted of each mean
BUDGET_S = {"quick": 340, "full": 840}          # disk time that it may take
OVERHEAD = (8, 4, 60)   # batches for the overhead, those of them anywhere, trials of each
ROUND = 6                # trials of each move in a round
ROUND_LEAST = 60        # of all
ELSEWHERE = 0.04        # share of trials before which the head goes somewhere else
OVERTAKEN = 0.05        # share of trials whose order a drive may change
FAR_STROKE = 0.33       # seeks longer than that are made there and back
NEAR = 6                # so far along the list spreads are much the same
UNSURE_NS = 50e3        # a mean whose standard error is larger is none
SPREADS = 24            # spread records
SHORTEST_NS = 300e3     # of reads that are to tell whether the drive begins anywhere
SETTLE_NS = 500e3       # believed, since nothing is written: drives need 200 to 500 us


def distances(cylinders):
    """The paper's (4.2); on large drives, from 500 cylinders on, each a tenth more. Up to
    the full stroke over so many cylinders."""
    found = [*range(1, 11), *range(12, 21, 2), *range(25, 51, 5), *range(60, 101, 10),
             *range(125, 501, 25)]
    most = int(np.log(max(cylinders / 500, 1)) / np.log(STEP)) + 1
    found += range(600, cylinders, 100) if cylinders <= DENSE else \
        np.round(500 * STEP ** np.arange(1, most)).astype(int).tolist()
    return sorted({d for d in found if d < cylinders} | {cylinders - 1} - {0})


def _span(layout):
    """First and last cylinder that hold units whose angles are known, spares of the others
    apart."""
    known = np.flatnonzero(~layout.index.unmapped)
    begin, end = layout.index.first[known[0]], layout.index.first[known[-1] + 1]
    many = min(end - begin, 1000)
    first = layout.locate(begin + np.arange(many))["cyl"].min()
    last = layout.locate(np.arange(end - many, end))["cyl"].max()
    return int(first), int(last)


class Bench:
    """A drive on the bench: what all the measurements need."""

    def __init__(self, dev, layout, phase, seed=1):
        self.dev = dev
        self.layout = layout
        self.period = phase.period_ns
        self.random = np.random.default_rng(seed)
        self.noise_sd = float(np.std(np.concatenate(phase.late)))
        self.settled_ns = self.period / 4
        # a drive that changes the order of commands gets two at a time
        self.pairs = False

    def track(self):
        """A random track with units on it, by its cylinder and head."""
        for _ in range(100):
            at = self.layout.locate(self.random.integers(0, self.layout.blocks, 1))[0]
            if self.layout.block_at(at["cyl"], at["head"], 0.0) >= 0:
                return int(at["cyl"]), int(at["head"])
        raise ToolError("the layout has no track with units")

    def run(self, steps):
        """Trials of a chain of (cyl, head, gap, which)."""
        found = trials.run(self.dev, self.layout, self.period, self.noise_sd, steps,
                           self.settled_ns, self.random.random(), self.pairs)
        self.pairs = self.pairs or found.overtaken > OVERTAKEN * len(steps)
        return found


# ---- one track ----

def _one_track(bench, gaps):
    """Reads of one track, one at a time, so long after each other: (limits of those that count,
    from their being sent; how much later than the end before they are sent, ns), or None."""
    cyl, head = bench.track()
    blocks = trials.choose(bench.layout, np.full(len(gaps), cyl), np.full(len(gaps), head), gaps,
                           bench.period, bench.random.random())
    places = bench.layout.locate(blocks)
    jiggle = bench.random.uniform(0, bench.period / places["spt"]).astype(np.int64)
    found = bench.dev.run(bench.dev.ops(blocks, wait=jiggle))
    done, sent = found["done"].astype(np.float64), found["submit"].astype(np.float64)
    took, wait = np.diff(done) / bench.period, trials.waits(places)
    lost = np.round(took - wait - 1 / places["spt"][1:])
    off = (done - done[0]) / bench.period - places["start"] - 1 / places["spt"]
    middle = np.angle(np.mean(np.exp(2j * np.pi * off))) / (2 * np.pi)
    late = (wrap(off - middle) * bench.period)[1:]
    good = (found["status"][1:] == 0) & (found["status"][:-1] == 0) & (lost >= 0) & \
        (places["cyl"][1:] == cyl) & (places["head"][1:] == head)
    # those that lost a turn may have begun, and ended, in the midst of their unit
    clean = good & (lost == 0)
    if np.count_nonzero(clean) < 4:
        return None
    late -= lower_edge(late[clean])
    limit = done[1:] - late - bench.period / places["spt"][1:] - sent[1:]
    host = (wait + lost) * bench.period - limit
    good &= np.abs(late) < trials.STRAY_NS + 6 * bench.noise_sd
    return limit[good], float(np.median(host[good]))


def overhead(bench):
    """Overhead and report of a read, together."""
    bits, host = Bits(1, bench.period, bench.period), 0.0
    batches, anywhere, count = OVERHEAD
    which = np.zeros(count, dtype=int)
    for batch in range(batches):
        limits = bits.sample(0, count, bench.random) if batch < anywhere else \
            bits.aim(which, bench.random)
        got, host = _one_track(bench, np.maximum(limits + host, 0)) or (np.zeros(0), host)
        bits.add(which[:len(got)], got)
        bits.fit()
    if len(bits.limits[0]) < 0.3 * batches * count:
        raise ToolError("the overhead: %d of %d trials count: units are not where the layout "
                        "says" % (len(bits.limits[0]), batches * count))
    return float(bits.mean[0])


# ---- moves ----

class Moves:
    """How long seeks take, trial by trial, and moves within a cylinder; state() can be taken up
    again."""

    def __init__(self, bench, state=None):
        self.bench = bench
        self.first, self.last = _span(bench.layout)
        if self.first == self.last:
            raise ToolError("%s: all on one cylinder: there are no seeks to measure" %
                            bench.dev.name)
        within = [SAME, SWITCH] if bench.layout.heads > 1 else [SAME]
        self.list = np.array(within + distances(self.last - self.first + 1))
        # moves within a cylinder vary in their own ways
        places = np.arange(len(self.list)) / NEAR - 100 * (self.list == SAME)
        places += 100 * (self.list > 0)
        nearness = np.exp(-0.5 * np.subtract.outer(places, places) ** 2)
        self.bits = Bits(len(self.list), bench.period, LONGEST_NS, nearness)
        self.unit = bench.period / np.array([zone.spt for zone in bench.layout.zones])
        self.zones = np.array([zone.first_cyl for zone in bench.layout.zones])
        self.asked = np.zeros(len(self.list), dtype=int)
        self.rounds = 0
        if state and state.get("distances") == self.list.tolist():
            self.rounds = state["rounds"]
            self.asked = np.array(state["asked"])
            self.bits.limits = [np.array(limits, dtype=float) for limits in state["limits"]]

    def state(self):
        """For JSON."""
        return {"distances": self.list.tolist(), "rounds": self.rounds,
                "asked": self.asked.tolist(),
                "limits": [np.round(limits).astype(int).tolist() for limits in self.bits.limits]}

    def _order(self, wanted):
        """The round's trials, in a random order; full strokes there and back."""
        bundles = []
        for i in np.unique(wanted):
            count = np.count_nonzero(wanted == i)
            size = 2 if self.list[i] > FAR_STROKE * (self.last - self.first) else 1
            bundles += [[i] * min(size, count - at) for at in range(0, count, size)]
        return [bundles[i] for i in self.bench.random.permutation(len(bundles))]

    def _place(self, distance):
        """Where a seek of that distance can begin."""
        random = self.bench.random
        cyl = int(random.integers(self.first, self.last + 1))
        if not any(self._room(cyl, distance)):
            aside = int(random.integers(0, self.last - self.first + 1 - distance))
            cyl = self.first + aside if random.random() < 0.5 else self.last - aside
        return cyl, int(random.integers(0, self.bench.layout.heads))

    def unit_at(self, cyl):
        """What a unit takes to pass there, at least, ns."""
        return self.unit[np.searchsorted(self.zones, cyl, side="right") - 1]

    def _room(self, cyl, distance):
        """Whether a seek over that distance can go up, and down."""
        return cyl + distance <= self.last, cyl - distance >= self.first

    def _steps(self, wanted, aims):
        """A chain of these trials."""
        aims = {i: list(aims[wanted == i]) for i in np.unique(wanted)}
        bench, last = self.bench, 0.0
        cyl, head = self._place(1)
        steps = [(cyl, head, bench.period, -1)] * 2
        for bundle in self._order(wanted):
            for n, i in enumerate(bundle):
                distance = max(int(self.list[i]), 0)
                if not any(self._room(cyl, distance)) or \
                        (not n and bench.random.random() < ELSEWHERE):
                    cyl, head = self._place(distance)
                    steps.append((cyl, head, bench.period / 2, -1))
                elif bench.pairs or last < 2 * bench.settled_ns:
                    steps.append((cyl, head, bench.period / 2, -1))
                up, down = self._room(cyl, distance)
                if self.list[i] == SWITCH:
                    heads = bench.layout.heads
                    head = int((head + bench.random.integers(1, heads)) % heads)
                cyl += distance if up and (not down or bench.random.random() < 0.5) else -distance
                aim = aims[i].pop()
                steps.append((cyl, head, max(aim - self.unit_at(cyl) / 2, 0), i))
                last = aim
        return steps

    def round(self, wanted, aims):
        """A chain of trials, and what it says."""
        found = self.bench.run(self._steps(wanted, np.asarray(aims)))
        self.bits.add(found.which, found.limit)
        np.add.at(self.asked, wanted, 1)
        self.rounds += 1

    def _tried(self):
        """Trials of each distance that count."""
        return np.array([len(limits) for limits in self.bits.limits])

    def _possible(self):
        """Distances of which trials count: not those to tracks that hold no units."""
        return (self.asked < 40) | (self._tried() > self.asked / 5)

    def search(self, step):
        """Rounds of a trial of each distance, halving what is in doubt."""
        which = np.arange(len(self.list))
        while self.rounds < SEARCH_ROUNDS:
            step(0.1 * self.rounds / SEARCH_ROUNDS)
            orderly = not self.bench.pairs
            self.round(which, [float(self.bits.rough(i)) for i in which])
            # what has just been found out was of no use
            self.rounds -= orderly and self.bench.pairs
        good = np.count_nonzero(self._tried() >= SEARCH_ROUNDS / 2)
        if good < len(self.list) / 2:
            raise ToolError("the seek profile: only of %d of %d moves trials count: units are "
                            "not where the layout says" % (good, len(self.list)))

    def refine(self, sure_ns, least):
        """A round near the estimates, of those not sure enough or tried less than so many
        times; False: there are none."""
        bits = self.bits
        tried = self._tried()
        # what takes less than no time does not become surer
        doubt = np.flatnonzero(((bits.sure > sure_ns) | (tried < least)) & self._possible() &
                               (bits.mean > 0))
        if not len(doubt):
            return False
        # the least sure more often
        share = (bits.sure[doubt] / np.median(bits.sure[doubt])) ** 2
        times = max(ROUND, ROUND_LEAST / len(doubt)) * np.clip(share, 0.2, 3)
        wanted = np.repeat(doubt, np.ceil(times).astype(int))
        self.round(wanted, bits.aim(wanted, self.bench.random))
        return True

    def measure(self, sure_ns, least, budget_s, step=lambda share: None):
        """As sure as wanted, or as the time allows."""
        dev, bits = self.bench.dev, self.bits
        began = dev.disk_ns
        self.search(step)
        bits.fit()
        fitted = self.rounds
        while dev.disk_ns - began < budget_s * 1e9 and self.refine(sure_ns, least):
            if self.rounds >= 1.3 * fitted:
                bits.fit()
                fitted = self.rounds
            else:
                bits.settle()
            # what is left to do falls with the square of what is in doubt
            done = np.mean(np.minimum(sure_ns / bits.sure, 1) ** 2)
            step(max(done, (dev.disk_ns - began) / (budget_s * 1e9)))
        bits.fit()

    def _known(self):
        """Distances that could be measured."""
        return (self._tried() >= SEARCH_ROUNDS) & (self.bits.sure < UNSURE_NS)

    def within(self, move):
        """ns of a move within a cylinder; 0 if it could not be measured."""
        known = np.flatnonzero((self.list == move) & self._known())
        return max(float(self.bits.mean[known[0]]), 0.0) if len(known) else 0.0

    def means(self):
        """(cylinders, ns) of the distances that could be measured, but for what passes between
        any two commands."""
        pick, least = np.flatnonzero(self._known() & (self.list > 0)), self.within(SAME)
        return [(int(self.list[i]), max(float(self.bits.mean[i]) - least, 0.0)) for i in pick]

    def spreads(self):
        """(cylinders, ns) of the standard deviation, at some distances."""
        good = np.flatnonzero(self._known() & (self.list > 0))
        count = min(SPREADS, len(good))
        pick = good[np.unique(np.round(np.linspace(0, len(good) - 1, count)).astype(int))]
        return [(int(self.list[i]), float(self.bits.spread[i])) for i in pick]


# ---- zero-latency access ----

def _begins_inside(bench):
    """A read of units amid which the head is, right behind another one: whether it took one turn;
    None if it could not be made."""
    cyl, head = bench.track()
    at = int(bench.layout.block_at(cyl, head, bench.random.random()))
    _, _, spt, _ = bench.layout.track_base(cyl, head)
    length = min(bench.dev.longest, int(spt) // 2)
    first = min(max(at - length // 2, 0), bench.layout.blocks - length)
    if length / spt * bench.period < SHORTEST_NS:
        return None
    places = bench.layout.locate(first + np.arange(length))
    if np.any(places["cyl"] != cyl) or np.any(places["head"] != head) or \
            np.any(np.diff(places["slot"]) != 1):
        return None
    found = bench.dev.run(bench.dev.ops([at, at, first], [1, 1, length], [FUA, FUA, FUA | OVERLAP]))
    took = float(found["done"][2]) - float(found["done"][1])
    # else half of the length more
    return None if np.any(found["status"]) else \
        (took / bench.period - 1) * spt / length < 0.25


def zero_latency(bench, count=16):
    """Whether the drive begins with any of the sectors wanted: reads of up to half a track, in
    whose midst the head is, take one turn then. None: they are too short to tell."""
    votes = []
    for _ in range(4 * count):
        vote = _begins_inside(bench)
        votes += [vote] if vote is not None else []
        if len(votes) == count:
            break
    return bool(np.mean(votes) > 0.5) if len(votes) >= 4 else None


# ---- all of it ----

def measure(dev, layout, phase, mode="quick", state=None, keep=None, progress=None, seed=1,
            budget_s=None):
    """Mechanics of a drive whose layout and phase are known, as modeltext.fbmodel() wants them.
    What only writes would show is as of reads. state: what `keep` was last
    given in a run that was interrupted. keep(state) is called every some seconds;
    progress(share, text). budget_s: disk time for the moves, unless the mode's."""
    bench = Bench(dev, layout, phase, seed)
    step = progress or (lambda share, text: None)
    step(0, "overheads")
    total = overhead(bench)
    bench.settled_ns = total + 50e3
    moves = Moves(bench, state)

    def tick(share):
        step(share, "seek profile")
        if keep and moves.rounds % 10 == 0:
            keep(moves.state())

    moves.measure(SURE_NS[mode], LEAST[mode], budget_s or BUDGET_S[mode], tick)
    if keep:
        keep(moves.state())
    # of electronics that take no time what is measured may be less
    found = dict.fromkeys(NS_FIELDS, max(total, 0.0) / 2)
    found.update(head_switch_ns=max(moves.within(SWITCH) - moves.within(SAME), 0.0),
                 write_settle_ns=SETTLE_NS, seek=moves.means(), seek_spread=moves.spreads(),
                 zero_latency=bool(zero_latency(bench)))
    return found
