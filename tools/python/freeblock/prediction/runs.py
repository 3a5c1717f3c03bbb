# SPDX-License-Identifier: GPL-2.0
"""Requests of a run behind its first, without a cache: what the head passes between them
must come round again. Not in the paper.

With zero-latency access a request may end amid its sectors, where it began, nearly a turn
before the next one's first: then the next is quick, and ends at its last sector. So
requests of a run depend on each other; the *state* after one is the angle by which the
head is past its end.
"""

import functools

import numpy as np

from .access import Access
from .distribution import spread_rows

CELLS = 48              # of angles: state 0 is exactly at the end, 1 + i in the i-th cell
FOLLOWED = 32           # requests of a run that are followed one by one


class Run:
    """Runs on `tracks` of requests of `counts` sectors, as likely as `weights`.

    angle: turns that pass from a request's end until the head is told to go on, or CELLS
    probabilities of the angles that do."""

    def __init__(self, tracks, counts, weights, angle):
        self.tracks, self.weights = tracks, weights
        self.accesses = [Access(tracks, count) for count in counts]
        self.angle = angle
        # who ends amid a transfer is no farther back than its longest part
        longest = float(np.max(np.max(counts) / tracks.sectors))
        self.reach = 1.0 if np.ndim(angle) else min(longest, 1.0)
        centres = 1 - self.reach + (np.arange(CELLS) + 0.5) / CELLS * self.reach
        if np.ndim(angle):
            self.landings = centres
        elif tracks.zero_latency:
            self.landings = np.append(angle, angle + centres)
        else:
            self.landings = np.array([angle])

    def _cells(self, angles):
        """States of angles in turns."""
        cell = ((angles - 1 + self.reach) / self.reach * CELLS).astype(np.int64)
        return np.where(angles < 1e-9, 0, 1 + np.clip(cell, 0, CELLS - 1))

    @functools.cached_property
    def _behind(self):
        return [access.behind(self.landings) for access in self.accesses]

    def _places(self, state):
        """How likely the landings are after a state."""
        if not np.ndim(self.angle):
            return state[:len(self.landings)]
        # two cells' sum begins in the next cell as often as not
        spread = np.fft.irfft(np.fft.rfft(state[1:]) * np.fft.rfft(self.angle), CELLS)
        return state[0] * self.angle + (spread + np.roll(spread, 1)) / 2

    @functools.cached_property
    def _steps(self):
        """[landing, state after it]"""
        steps = np.zeros((len(self.landings), CELLS + 1))
        zone = self.tracks.weights[:, None, None, None]
        for share, (weight, _, beyond) in zip(self.weights, self._behind):
            at = self._cells(beyond) + (CELLS + 1) * np.arange(len(self.landings))[:, None]
            steps += share * np.bincount(at.ravel(), (weight * zone).ravel(),
                                         steps.size).reshape(steps.shape)
        return steps / steps.sum(axis=1, keepdims=True)

    def _first(self):
        """States after the first request of a run, whose landing was anywhere."""
        state = np.zeros(CELLS + 1)
        for share, access in zip(self.weights, self.accesses):
            weight, beyond = access.first_states()
            state += share * np.bincount(
                self._cells(beyond).ravel(),
                (weight * self.tracks.weights[:, None, None, None]).ravel(), CELLS + 1)
        return state / state.sum()

    def places(self, requests):
        """How likely the landings are, on average over a run of so many requests but its
        first."""
        if not self.tracks.zero_latency:
            return self._places(np.append(1.0, np.zeros(CELLS)))
        state, found = self._first(), []
        for _ in range(int(np.clip(round(requests) - 1, 1, FOLLOWED))):
            found.append(self._places(state))
            state = found[-1] @ self._steps
        # requests alternate for long: those not followed are like the last two
        rest = max(round(requests) - 1 - len(found), 0)
        return (np.sum(found, axis=0) + rest * np.mean(found[-2:], axis=0)) / (len(found) + rest)

    def probabilities(self, requests, step):
        """Of the time from when the head is told to go on to the report, without the report's
        own."""
        places, turn = self.places(requests)[:, None], self.tracks.turn
        size = len(self.tracks.weights)
        rows = []
        for weight, time, _ in self._behind:
            time = (time * turn).reshape(size, -1)
            rows.append(self.tracks.weights @ spread_rows(
                time, time, (weight * places).reshape(size, -1) + 1e-300, step))
        p = np.zeros(max(len(row) for row in rows))
        for share, row in zip(self.weights, rows):
            p[:len(row)] += share * row
        return p
