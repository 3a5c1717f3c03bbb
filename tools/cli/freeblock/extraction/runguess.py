# SPDX-License-Identifier: GPL-2.0
"""What the next runs may be like: surfaces come again, so what followed the same runs before."""

from dataclasses import dataclass

from .phase import wrap

BACK = 400              # runs looked at for the same sequence
CONTEXT = 48            # runs in a row that are compared at most
SURE = 6                # runs in a row that were seen before: what follows is sure to be next
ALONE = 2               # tracks that may stand alone between pieces of a run
OTHERS = 24             # kinds that are tried besides


@dataclass
class Kind:
    """A kind of run: track length, tracks, skew; seen: how often; number: among the kinds,
    and the role in which it was seen first."""

    spt: int
    tracks: int
    skew: float
    seen: int = 1
    number: int = 0

    def learn(self, skew):
        """Another one's skew."""
        self.seen += 1
        self.skew = (self.skew + wrap(skew - self.skew) / min(self.seen, 16)) % 1


class Guesses:
    """The kinds of the runs seen so far. Each run has a *role*, such as to be of the third surface,
    which goes on where its tracks become shorter: roles come again in the same order."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.kinds = []
        self.order = []         # numbers of kinds, and their roles
        self.roles = []
        self.latest = {}        # role: the number of the last kind that had it
        self.length = 0         # of the sequence that was seen before, when it was last asked for
        self.rest = 0           # tracks that are left of the last run, if it was cut short
        self._by = {}

    def _kind(self, run):
        """The number of a run's kind."""
        room = 2 * self.tolerance / max(run.tracks - 1, 1)
        same = self._by.setdefault((run.spt, run.tracks), [])
        for number in same:
            if abs(wrap(self.kinds[number].skew - run.skew)) <= room:
                self.kinds[number].learn(run.skew)
                return number
        number = len(self.kinds)
        same.append(number)
        self.kinds.append(Kind(run.spt, run.tracks, run.skew, number=number))
        return number

    def _like(self, run, kind):
        """Whether a run has a kind's tracks, though fewer or more of them."""
        room = 2 * self.tolerance / max(run.tracks - 1, 1)
        return run.spt == kind.spt and abs(wrap(run.skew - kind.skew)) <= room

    def _is_piece(self, run, expected):
        """Whether a run is a piece of what was expected, or what stands alone between two. What is
        left of it is expected next."""
        if not self.rest:
            for kind, role in expected:
                if self._like(run, kind) and run.tracks < kind.tracks:
                    self.rest = kind.tracks - run.tracks
                    self.order.append(kind.number)
                    self.roles.append(role)
                    return True
            return False
        if run.tracks > ALONE and (run.tracks > self.rest + ALONE or not self._like(
                run, self.kinds[self.order[-1]])):
            self.rest = 0
            return False
        self.rest = max(self.rest - run.tracks, 0)
        return True

    def add(self, run, role=None):
        """A run that was found; role: if it was guessed."""
        expected = self.ahead(1) if role is None else []
        if self._is_piece(run, expected):
            return
        number = self._kind(run)
        if role is None:
            role = self._role(number, run, expected)
        self.order.append(number)
        self.roles.append(role)
        self.latest[role] = number

    def _role(self, number, run, expected):
        """That of a run of a kind: what was expected, unless little is known of what comes and
        another has such runs now."""
        wanted = [role for kind, role in expected if kind.tracks == run.tracks]
        others = [role for role, latest in self.latest.items() if latest == number]
        known = wanted + others if self.length >= SURE else others + wanted
        return known[0] if known else number

    def drop(self):
        """Forget the last run."""
        self.rest = 0
        self.order.pop()
        self.roles.pop()

    def _matches(self):
        """[(length of the sequence before it that is like the last runs, place)], best first."""
        roles, last, found = self.roles, len(self.roles) - 1, []
        for place in range(last - 1, max(last - BACK, -1), -1):
            length = 0
            while length < CONTEXT and length <= place and \
                    roles[place - length] == roles[last - length]:
                length += 1
            if length:
                found.append((length, place))
                if length == CONTEXT:
                    break
        return sorted(found, key=lambda match: (-match[0], -match[1]))

    def ahead(self, many):
        """The next runs' kinds and roles, so many, if what precedes was seen before; else []."""
        matches = self._matches()
        self.length = matches[0][0] if matches else 0
        if not matches:
            return []
        place, last = matches[0][1], len(self.roles) - 1
        # surfaces that were alike at first have one role, and may be of several kinds now
        places = [place + 1 + i % (last - place) for i in range(many)]
        left = []
        if self.rest:
            kind = self.kinds[self.order[-1]]
            left = [(Kind(kind.spt, self.rest, kind.skew), self.roles[-1])]
        return left + [(self.kinds[self.order[place]], self.roles[place])
                       for place in places[:many - len(left)]]

    def candidates(self):
        """Kinds that the next run may be of, the likeliest first."""
        order, found = self.order, []
        for _, place in self._matches()[:2]:
            found.append(order[place + 1])
        found += order[-1:] + order[-2 * OTHERS:][::-1]
        return [self.kinds[number] for number in dict.fromkeys(found)][:OTHERS]
