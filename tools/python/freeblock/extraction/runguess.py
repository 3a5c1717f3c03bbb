# SPDX-License-Identifier: GPL-2.0
"""What the next runs may be like: surfaces come again, so what followed the same runs before."""

from dataclasses import dataclass

from .track import wrap

BACK = 400              # runs looked at for the same sequence
CONTEXT = 48            # runs in a row that are compared at most
OTHERS = 8              # kinds that are tried besides


@dataclass
class Kind:
    """A kind of run: track length, number of tracks, skew; seen: how often."""

    spt: int
    tracks: int
    skew: float
    seen: int = 1

    def learn(self, skew):
        """Another one's skew."""
        self.seen += 1
        self.skew = (self.skew + wrap(skew - self.skew) / min(self.seen, 16)) % 1


class Guesses:
    """The kinds of the runs seen so far, in order."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.kinds = []
        self.order = []         # numbers of kinds
        self._by = {}

    def add(self, run):
        """A run that was found."""
        room = 2 * self.tolerance / max(run.tracks - 1, 1)
        for number in self._by.get((run.spt, run.tracks), ()):
            if abs(wrap(self.kinds[number].skew - run.skew)) <= room:
                self.kinds[number].learn(run.skew)
                self.order.append(number)
                return
        self._by.setdefault((run.spt, run.tracks), []).append(len(self.kinds))
        self.order.append(len(self.kinds))
        self.kinds.append(Kind(run.spt, run.tracks, run.skew))

    def drop(self):
        """Forget the last run."""
        self.order.pop()

    def _matches(self):
        """[(length of the sequence before it that is like the last runs, place)], best first."""
        order, last, found = self.order, len(self.order) - 1, []
        for place in range(last - 1, max(last - BACK, -1), -1):
            length = 0
            while length < CONTEXT and length <= place and \
                    order[place - length] == order[last - length]:
                length += 1
            if length:
                found.append((length, place))
                if length == CONTEXT:
                    break
        return sorted(found, key=lambda match: (-match[0], -match[1]))

    def ahead(self, many):
        """The next runs' kinds, so many, if what precedes was seen before; else []."""
        matches = self._matches()
        if not matches:
            return []
        place, last = matches[0][1], len(self.order) - 1
        return [self.kinds[self.order[place + 1 + i % (last - place)]] for i in range(many)]

    def candidates(self):
        """Kinds that the next run may be of, the likeliest first."""
        order, found = self.order, []
        for _, place in self._matches()[:2]:
            found.append(order[place + 1])
        found += order[-1:] + order[-2 * OTHERS:][::-1]
        return [self.kinds[number] for number in dict.fromkeys(found)][:OTHERS]
