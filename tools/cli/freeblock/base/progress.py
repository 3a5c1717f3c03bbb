# SPDX-License-Identifier: GPL-2.0
"""How far something is: its rate, the time left, a line now and then. What is counted, and the
words, are those of whoever has it done.
"""

import collections
import time


class Progress:
    """So much of `total` is done; a number of any unit. The rate is that since the beginning, or
    of the last `window_s` seconds of the clock. The line is a statusline.Line."""

    def __init__(self, total, done, line, window_s=None, clock=time.monotonic):
        self.total, self.clock, self._window_s = total, clock, window_s
        self._line = line
        self.begin(done)

    def begin(self, done):
        """So much was done before; from now on counts for the rate."""
        self.done = self.began_with = done
        self.start = self.clock()
        self._seen = collections.deque([(self.start, done)])

    def set(self, done):
        """So much is done now."""
        self.done = done
        now = self.clock()
        if self._window_s and now - self._seen[-1][0] >= 1:
            self._seen.append((now, done))
            while len(self._seen) > 2 and now - self._seen[1][0] >= self._window_s:
                self._seen.popleft()

    def share(self):
        """Of all, 0 to 1."""
        return self.done / self.total if self.total else 1.0

    def rate(self):
        """So much a second."""
        (at, done), now = self._seen[0], self.clock()
        return (self.done - done) / (now - at) if now > at else 0.0

    def eta(self):
        """Seconds left at this rate; None if it stands still."""
        rate = self.rate()
        return (self.total - self.done) / rate if rate > 0 else None

    def show(self, text):
        """Write the line that text() makes, if it is time for it."""
        self._line.show(text)

    def end(self):
        """There is no more to say."""
        self._line.end()
