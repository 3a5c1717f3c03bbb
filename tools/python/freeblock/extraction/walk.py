# SPDX-License-Identifier: GPL-2.0
"""Every track of a drive, by nothing but when reads end.

The walk goes from the first unit to the last. Where a run of tracks begins (run.py),
each is measured by itself until the number of heads, the lengths and the skews are
known; from there on the next tracks are predicted and two reads of each, its last unit
and the one after, confirm that it ends there and lies at that angle: some 1.2 turns a
track. What is not as predicted is looked at closely: a slip, a block that lives
elsewhere, or the end of the run.

Blocks in the midst of tracks that live elsewhere do not show so; a second pass reads
whole tracks and looks for those that take longer than their like.

    found = walk(dev, phase, state, progress, save)
    layout = found.layout()
"""

import numpy as np

from .. import ToolError
from .border import Border
from .found import Found
from .run import Odd, Room, Run, across, count_heads, fit, phase_of
from .scan import scan
from .track import FINE, STRAYS, USUAL_SPT, Lost, Reader, Surveyed, Surveyor, wrap

BATCH = (8, 512)        # tracks predicted at once
ALIKE = 132             # tracks, all with one step between them, that tell of one head
MOST_LEARN = 300        # tracks looked at for a pattern
MOST_LOST = 16          # units where a run begins that are on no line
MOST_ODD = 8            # tracks in a row that are not as predicted
RETRIES = 6             # readings of one batch looked at again before it is cut
SAVE_NS = 5e9           # disk time between savings


class Walk:
    """The walk so far. state: what JSON can say of it."""

    def __init__(self, dev, phase, state=None, heads=None):
        self.dev = dev
        self.reader = Reader(dev, phase)
        self.surveyor = Surveyor(self.reader)
        self.expected_heads = heads
        self.heads = None
        self.known_heads = False
        self.runs = []
        self.away = []          # (block, angle, run)
        self.bad = set()
        self.open = False       # whether the last run may go on
        self.batch = BATCH[0]
        self.lost = 0           # units in this run's beginning that are on no line
        self.row = []           # the run before each of the last tracks, all odd
        self.trial = None       # (tracks until it is believed, run and position before)
        self.scanned = [0, 0]   # run and track up to which the second pass is done
        self.reader.calibrate(phase.block)
        if state:
            self._resume(state)

    # ---- state

    def state(self):
        """As what from_dict() of its parts and __init__() take."""
        return {"runs": [run.as_dict() for run in self.runs], "open": self.open,
                "away": self.away, "bad": sorted(self.bad), "heads": self.heads,
                "known_heads": self.known_heads, "blocks": self.dev.blocks,
                "scanned": self.scanned}

    def _resume(self, state):
        if state["blocks"] != self.dev.blocks:
            raise ToolError("the saved state is of a drive with %d blocks, this one has %d" %
                            (state["blocks"], self.dev.blocks))
        self.runs = [Run.from_dict(run) for run in state["runs"]]
        self.away = [tuple(away) for away in state["away"]]
        self.bad = set(state["bad"])
        self.open, self.heads = state["open"], state["heads"]
        self.known_heads, self.scanned = state["known_heads"], list(state["scanned"])
        if self.runs and self.runs[0].done:
            self._align()

    def _align(self):
        """The angle that counts as 0 may be another than when the state was saved."""
        tracks = self.runs[0].tracks()[:16]
        edges = self.reader.edges(tracks["first"], self.reader.slot_repeats(1 / tracks["spt"][0]))
        off = wrap(edges - (tracks["start"] + (tracks["slot"] + 1) / tracks["spt"]))
        off = off[~np.isnan(off)]
        self.reader.shift = float(off[0] + np.median(wrap(off - off[0])))

    @property
    def next(self):
        """The first unit not yet known."""
        return self.runs[-1].next if self.runs else 0

    @property
    def run(self):
        """The last run."""
        return self.runs[-1]

    def step(self):
        """A little further."""
        if not self.open:
            self._begin(self.next)
        elif not self._chain():
            self._examine()

    # ---- where a run begins

    def _period(self):
        """Tracks after which lengths may repeat."""
        return 2 * (self.heads or self.expected_heads or 1)

    def _begin(self, first):
        """A new run: tracks one by one until they follow a law."""
        tracks = []
        while True:
            if first < self.dev.blocks:
                first = self._one_more(tracks, first)
            ended = first >= self.dev.blocks
            if ended and not tracks:
                return
            must = ended or self._must_know(len(tracks))
            if self._may_know(len(tracks)) or must:
                found = self._deduce(tracks, must)
                if found:
                    break
            if ended or len(tracks) > MOST_LEARN:
                raise Lost("no law of tracks from block %d on" % tracks[0].first)
        self.runs.append(self._run_of(tracks, *found))
        if len(self.runs) > 1:
            self._settle_border()
        self.lost = 0
        self.open = self.run.next < self.dev.blocks
        self.batch = BATCH[0]

    def _settle_border(self):
        """Between the last two runs."""
        old, new = self.runs[-2:]
        end = old.next
        strays = Border(self.reader, old, new).settle()
        # what was thought of these before; the second pass looks again
        self.away = [away for away in self.away if not old.next <= away[0] < end]
        for run, blocks in zip((-2, -1), strays):
            self.note_strays(blocks, len(self.runs) + run)

    def _one_more(self, tracks, first):
        """Measure a track; the unit that the next begins with."""
        spt = tracks[-1].spt if tracks else self.run.spt[0] if self.runs else None
        like = tracks[-self._period()] if len(tracks) >= self._period() else \
            tracks[-1] if tracks else None
        found = self._track(first, like.spt if like else spt, like.count if like else spt)
        end = found.first + found.count
        room = self._has_room(tracks, found.count)
        if found.count > STRAYS or (end >= self.dev.blocks and not room):
            tracks += found.split()
            return end
        # too short for a track: a track's end, or its beginning, lives elsewhere
        strays = list(range(found.first, end))
        if room:
            if tracks:
                tracks[-1].strays += strays
                tracks[-1].count += found.count
            else:
                self._lengthen(found.count)
                self.note_strays(strays, len(self.runs) - 1)
            return end
        found = self.surveyor.track(end, spt, (like.count if like else spt) - len(strays))
        found.first -= len(strays)
        found.count += len(strays)
        found.angle -= len(strays) / found.spt
        found.strays = strays + found.strays
        tracks.append(found)
        return found.first + found.count

    def _track(self, first, spt, count):
        """A track, or one unit alone if it is on no line with those behind it."""
        try:
            return self.surveyor.track(first, spt, count)
        except Lost:
            unread = self._unreadable(first)
            if unread:
                found = self.surveyor.track(first + unread, spt, count)
                found.first -= unread
                found.count += unread
                found.angle -= unread / found.spt
                found.strays = list(range(first, first + unread)) + found.strays
                return found
            self.lost += 1
            if not spt or self.lost > MOST_LOST:
                raise
            edge = self.reader.edges([first], self.reader.fine_repeats(1 / spt))[0]
            return Surveyed(first, 1, spt, float(edge))

    def _unreadable(self, first):
        """How many units from one on cannot be read; 0 if all of some are so."""
        edges = self.reader.edges(np.arange(first, min(first + MOST_LOST, self.dev.blocks)), 1)
        good = np.flatnonzero(~np.isnan(edges))
        return int(good[0]) if len(good) else 0

    def _has_room(self, tracks, count):
        """Whether the last track has slots for so many units more."""
        if tracks:
            usual = max([track.slots for track in tracks[:-1]], default=tracks[-1].spt)
            return tracks[-1].slots + count <= usual
        odd = self.runs and self.run.odd.get(self.run.done - 1)
        if not odd:
            return False
        spt = self.run.spt[int(self.run.place(self.run.done - 1))]
        return odd.slot + odd.count + sum(slots for _, slots in odd.holes) + count <= spt

    def _may_know(self, count):
        if self.heads:
            return count >= 2 * self.heads + 2
        # counting heads takes long: less often, the more tracks there are
        return count >= 8 and count % max(count // 8, 1) == 0

    def _must_know(self, count):
        """Whether so many tracks would follow a law if it were one run."""
        heads = self.heads or self.expected_heads
        return bool(heads) and count >= 4 * heads + 6

    def _deduce(self, tracks, must):
        """(law, heads, head0, slots) of the tracks if they follow one, or if it must be of
        the first of them; None: not yet."""
        spt = np.array([track.spt for track in tracks])
        starts = np.array([track.angle for track in tracks]) - 1 / spt
        unit = 1 / spt.min()
        room = Room(unit, self.reader.fine_error(unit) + 0.05 * unit)
        heads = self.heads or self._count_heads(starts, spt, room, must)
        if not heads:
            return None
        for count in range(len(tracks), 0 if must else len(tracks) - 1, -1):
            found = self._law(starts[:count], spt[:count], heads, room)
            if found:
                self.heads = heads
                return found
        return None

    def _count_heads(self, starts, spt, room, ended):
        heads = count_heads(starts, spt, room)
        if heads and heads > 1 and (len(starts) >= 4 * heads + 4 or
                                    ended and not self.expected_heads):
            self.known_heads = True
            return heads
        if ended and self.expected_heads:
            return self.expected_heads
        enough = 2 * self.expected_heads + 2 if self.expected_heads else ALIKE
        if ended or (heads == 1 and len(starts) >= enough):
            return self.expected_heads or 1
        return None

    @staticmethod
    def _law(starts, spt, heads, room):
        """(law, heads, head0, slots, count) if all these tracks follow one."""
        found = phase_of(starts, heads, room)
        if not found:
            # not even one cylinder
            step = float(np.diff(starts[:2])[0] % 1) if len(starts) > 1 else 0.0
            law = fit(starts, spt, heads, 0, (step, step))
            return (law[0], heads, 0, law[1]) if law else None
        laws = [fit(starts, spt, heads, found[0], (found[1], skew))
                for skew in across(starts, heads, found[0])]
        laws = [law for law in laws if law]
        if not laws:
            return None
        # few tracks begin late because their first slots hold nothing
        law = min(laws, key=lambda law: np.count_nonzero(law[1][1:]))
        return law[0], heads, found[0], law[1]

    def _run_of(self, tracks, law, heads, head0, slots):
        """A run of the first of these tracks, and its pattern."""
        tracks = tracks[:len(slots)]
        joined = [track for track in tracks if track.slots > track.spt]
        # two may by chance
        if not self.runs and (len(joined) > 1 or any(
                track.slots > 2 * track.spt for track in joined)):
            raise ToolError("units %d to %d lie on one line of %.1f turns: without skews tracks "
                            "cannot be told apart by timing" % (
                                joined[0].first, joined[0].first + joined[0].count - 1,
                                joined[0].slots / joined[0].spt))
        spt, tail = self._pattern(tracks, heads, head0, slots)
        run = Run(tracks[0].first, heads, head0, spt, tail, law, next=tracks[0].first)
        for track, slot in zip(tracks, slots):
            run.accept_odd(Odd(int(slot), track.count, track.holes))
            self.note_strays(track.strays, len(self.runs))
        # as many single readings would tell as much
        run.learn(np.repeat(np.arange(run.done), FINE), np.zeros(FINE * run.done))
        return run

    @staticmethod
    def _pattern(tracks, heads, head0, slots):
        """Slots per turn, and slots without units at the end, of two cylinders' tracks."""
        period = 2 * heads
        seen = [[] for _ in range(period)]
        for i, (track, slot) in enumerate(zip(tracks, slots)):
            tail = track.spt - int(slot) - track.slots
            seen[(head0 + i) % period].append((track.spt, max(tail, 0)))
        plain = all(a[0][0] == b[0][0] for a, b in zip(seen, seen[heads:]) if a and b)
        for place in range(period):
            other = (place + heads) % period if plain else period - 1 - place
            seen[place] += seen[other]
        everything = sum(seen, [])
        seen = [both or everything for both in seen]
        tails = [tail for _, tail in everything]
        return ([max(set(s), key=s.count)
                 for s in ([spt for spt, _ in both] for both in seen)],
                # slips make some longer and some shorter: of two that of most tracks
                [max(set(s), key=lambda tail, s=s: (s.count(tail), tails.count(tail)))
                 for s in ([tail for _, tail in both] for both in seen)])

    def note_strays(self, blocks, run):
        """These blocks of a run live elsewhere: where?"""
        known = {block for block, _, _ in self.away}
        blocks = [block for block in blocks if block not in known]
        if not blocks:
            return
        spt = self.runs[run].spt[0] if run < len(self.runs) else USUAL_SPT
        repeats = self.reader.slot_repeats(1 / spt, 0.3)
        for block, edge in zip(blocks, self.reader.edges(blocks, repeats)):
            if np.isnan(edge):
                self.bad.add(block)
            else:
                self.away.append((block, float(edge), run))

    # ---- tracks as predicted

    def _ops(self, tracks):
        """Each track's last unit and the one behind it."""
        blocks = np.empty(2 * len(tracks), dtype=np.int64)
        blocks[0::2] = tracks["first"] + tracks["count"] - 1
        blocks[1::2] = blocks[0::2] + 1
        return blocks

    @staticmethod
    def _predict(tracks, after):
        """The edges of those, and the room that each has: turns."""
        edges = np.empty(2 * len(tracks))
        edges[0::2] = tracks["start"] + (tracks["slot"] + tracks["count"]) / tracks["spt"]
        edges[1::2] = after["start"] + (after["slot"] + 1) / after["spt"]
        unit = np.repeat(1 / tracks["spt"], 2)
        return edges, unit

    def _chain(self):
        """Confirm some tracks; whether all were as predicted."""
        run = self.run
        tracks = run.expect(self.batch + 1)
        tracks = tracks[tracks["first"] < self.dev.blocks]
        tracks, after = tracks[:-1], tracks[1:]
        if not len(tracks):
            return False
        blocks = self._ops(tracks)
        edges, unit = self._predict(tracks, after)
        off = wrap(self.reader.angles(blocks) - edges)
        index = run.done + np.arange(len(tracks))
        off = self._settle(run, index, blocks, off, unit, tracks)
        if off is None:
            return True
        good = self._good(off, unit, tracks)
        wrong = np.flatnonzero(~good)
        right = len(tracks) if not len(wrong) else wrong[0] // 2
        if right:
            self.row = []
        run.accept(tracks[:right])
        self._grow_batch(right, len(tracks))
        return right == len(tracks)

    def _grow_batch(self, right, all_of_them):
        if right == all_of_them:
            self.batch = min(2 * self.batch, BATCH[1])
        elif right < self.batch // 2:
            self.batch = max(self.batch // 2, BATCH[0])
        if self.trial:
            self.trial[0] -= right
            if self.trial[0] <= 0:
                self.trial = None

    def _good(self, off, unit, tracks):
        """Which readings are as predicted: (late, never early). On a track that has slots
        to spare, not so late that a slot may have been passed over."""
        late = self.reader.late
        spare = tracks["slot"] + tracks["count"] < tracks["spt"]
        most = late + 0.3 * unit
        most[0::2] = np.where(spare, 0.75 * unit[0::2], most[0::2])
        with np.errstate(invalid="ignore"):
            return (off > -0.35 * unit) & (off < most)

    def _settle(self, run, index, blocks, off, unit, tracks):
        """Learn from readings, and repeat those that are not as predicted: the earliest
        of several counts. None: what was predicted was wrong."""
        with np.errstate(invalid="ignore"):
            rough = np.abs(off) < self.reader.late + 3 * unit
        upto = np.argmin(rough) if not rough.all() else len(rough)
        on = np.repeat(index, 2)
        on[1::2] += 1
        if upto >= 4:
            before = np.concatenate((run.start(index), run.start(index[-1:] + 1)))
            run.learn(on[:upto], off[:upto] - self.reader.mean_late)
            moved = np.concatenate((run.start(index), run.start(index[-1:] + 1))) - before
            off = off - moved[on - index[0]]
            if self._check_spt(run, index, off, tracks, upto):
                return None
        for _ in range(RETRIES):
            wrong = np.flatnonzero(~self._good(off, unit, tracks))
            if not len(wrong):
                break
            look = wrong[:16]
            again = self._again(blocks[look], off[look], unit[look])
            better = wrap(again - off[look]) < 0
            off[look] = np.where(np.isnan(off[look]) | better, again, off[look])
            if not self._good(off, unit, tracks)[look[0]]:
                break
        return off

    def _again(self, blocks, off, unit):
        """How far off the law units are by the earliest of many readings."""
        repeats = self.reader.slot_repeats(unit[0])
        seen = self.reader.angles(np.tile(blocks, repeats)).reshape(repeats, -1)
        return self._from_law(blocks, seen, off)

    def _from_law(self, blocks, seen, off):
        """Earliest readings, relative to the law."""
        run = self.run
        tracks = run.expect(self.batch + 1)
        which = np.searchsorted(tracks["first"], blocks, side="right") - 1
        track = tracks[which]
        edge = track["start"] + (track["slot"] + blocks - track["first"] + 1) / track["spt"]
        late = wrap(seen - edge)
        bad = np.isnan(late)
        return np.where(bad.all(axis=0), np.nan, np.where(bad, np.inf, late).min(axis=0)) \
            + 0 * off

    def _check_spt(self, run, index, off, tracks, upto):
        both = upto // 2
        if both < 2:
            return False
        # a track's first unit is the reading before its last one's
        spread = off[2:2 * both:2] - off[1:2 * both - 1:2]
        share = tracks["spt"][1:both] / np.maximum(tracks["count"][1:both], 1)
        return run.check_spt(index[1:both], spread * share, self.reader.late)

    # ---- tracks that are not

    @staticmethod
    def _slot(edge, track):
        """In which slot of a track a unit ends at that edge, which may be somewhat late."""
        slots = wrap(edge - track["start"]) % 1 * track["spt"] - 1
        return int(np.floor(slots + 0.4)) % int(track["spt"])

    def _examine(self):
        """The next track is not as predicted."""
        run = self.run
        self.row.append(run.as_dict())
        if len(self.row) > MOST_ODD:
            self.runs[-1] = Run.from_dict(self.row[0])
            self._close()
            return
        here = run.expect(1)[0]
        spt = int(here["spt"])
        try:
            found = self.surveyor.track(run.next, spt, int(here["count"]), most=spt)
        except Lost:
            self._close()
            return
        slot = self._slot(found.angle, here)
        if found.count > spt:
            # the next run's first track begins where this one's units would go on
            before = self.run
            self._close()
            if self.run is before:
                before.accept_odd(Odd(slot, found.count))
            return
        if found.spt != here["spt"] or slot + found.slots > here["spt"]:
            self._close()
            return
        self._accept_found(found, slot)
        self.batch = max(self.batch // 2, BATCH[0])
        if found.after is None:
            self.open = False
        else:
            self._go_on(found, slot)

    def _accept_found(self, found, slot):
        self.note_strays(found.strays, len(self.runs) - 1)
        self.run.accept_odd(Odd(slot, found.count, found.holes))

    def _go_on(self, found, slot):
        """After an odd track: which is the next one?"""
        run = self.run
        if np.isnan(found.after):
            # it cannot be read, which the next step meets, too
            return
        next_slot = self._slot(found.after, run.expect(1)[0])
        if next_slot <= STRAYS and self._second(run.next, next_slot):
            if next_slot:
                self._odd_start(next_slot)
            return
        if self._stray_start(found, slot):
            return
        for skipped in range(1, 2 * run.heads):
            track = run.expect(skipped + 1)[-1]
            if not self._slot(found.after, track):
                self.trial = [run.heads + 1, run.as_dict()]
                for _ in range(skipped):
                    run.accept_odd(Odd(0, 0))
                return
        self._close()

    def _second(self, first, slot):
        """Whether the unit behind the next track's first one, which seems to lie in that
        slot, follows it; at the disk's end, whether the first lies in slot 0."""
        if first + 1 >= self.dev.blocks:
            return not slot
        edge = self.reader.edges([first + 1], self.reader.slot_repeats(1 / self.run.spt[0], 0.5))
        if np.isnan(edge[0]):
            return True
        return 0 < self._slot(edge[0], self.run.expect(1)[0]) - slot <= STRAYS

    def _odd_start(self, slot):
        """The next track's first slots hold nothing."""
        here = self.run.expect(1)[0]
        found = self.surveyor.track(self.run.next, int(here["spt"]),
                                    int(here["count"]) - slot, most=int(here["spt"]))
        if found.spt != here["spt"] or slot + found.slots > here["spt"]:
            self._close()
            return
        self._accept_found(found, slot)
        if found.after is None:
            self.open = False

    def _stray_start(self, found, slot):
        """Whether units behind the track's last one live elsewhere, and the track after
        them is as it should be."""
        run = self.run
        first = run.next
        blocks = np.arange(first, min(first + STRAYS + 1, self.dev.blocks))
        if len(blocks) < 2:
            # the disk's last unit
            if len(blocks) and slot + found.slots < found.spt:
                self._lengthen(1)
                self.note_strays(blocks.tolist(), len(self.runs) - 1)
                return True
            return False
        edges = self.reader.edges(blocks, self.reader.slot_repeats(1 / run.spt[0], 0.5))
        for i in range(1, len(blocks)):
            at = self._slot(edges[i], run.expect(1)[0])
            if at not in (0, i):
                continue
            strays = list(range(first, first + i))
            if at == 0 and slot + found.slots + i <= found.spt:
                self._lengthen(i)
                self.note_strays(strays, len(self.runs) - 1)
                return True
            if at == i:
                rest = self.surveyor.track(first + i, found.spt, run.expect(1)[0]["count"] - i,
                                           most=found.spt)
                rest.count += i
                if rest.spt != found.spt or rest.slots > found.spt:
                    return False
                self.note_strays(strays, len(self.runs) - 1)
                self._accept_found(rest, 0)
                return True
        return False

    def _lengthen(self, units):
        """The track just accepted has some units more."""
        run = self.run
        odd = run.odd.pop(run.done - 1)
        run.done -= 1
        run.next -= odd.count
        odd.count += units
        run.accept_odd(odd)

    def _close(self):
        """The run ends here, or where it was doubtful whether it goes on."""
        if self.trial:
            self.runs[-1] = Run.from_dict(self.trial[1])
        self.trial = None
        self.row = []
        self.open = False

    # ---- result

    def found(self):
        """All of it."""
        return Found(self.runs, self.away, self.heads, self.known_heads, self.bad)


def walk(dev, phase, state=None, progress=None, save=None, heads=None):
    """Every track of the drive: Found. `heads`: what the drive says, for one whose skews
    do not tell; progress(fraction, text); save(state) is called every few seconds of
    disk time with what to give as `state` to go on from there."""
    job = Walk(dev, phase, state, heads)
    saved = dev.disk_ns

    def report(fraction, text):
        nonlocal saved
        if progress:
            progress(fraction, text)
        if save and dev.disk_ns - saved > SAVE_NS:
            save(job.state())
            saved = dev.disk_ns

    while job.next < dev.blocks:
        job.step()
        report(0.5 * job.next / dev.blocks, "tracks")
    for done in scan(job):
        report(0.5 + 0.5 * done, "blocks that live elsewhere")
    if save:
        save(job.state())
    return job.found()
