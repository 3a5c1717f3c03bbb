# SPDX-License-Identifier: GPL-2.0
"""The hours at which scrubs may run, in local time: "22-6", "Mon..Fri 22:30-6, Sat,Sun 0-24".

A window belongs to the day on which it begins: Sat 22-6 ends on Sunday at 6.
"""

import re
import time

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MIN = 24 * 60
WEEK = frozenset(range(len(DAYS)))
WANT = ("hours, FROM-TO, that differ, as in 22-6 or 22:30-6; days before them, as in Sat,Sun 0-24 "
        "or Mon..Fri 22-6; several with a comma and a blank between them; or always")
SPAN = re.compile(r"(?:(\S+) +)?(\d{1,2})(?::(\d\d))?-(\d{1,2})(?::(\d\d))?", re.ASCII)


def _days(text):
    """Days of the week, from Monday = 0, of the words that systemd.time(7) has for them."""
    found = set()
    for word in text.split(","):
        first, dots, last = word.partition("..")
        last = last if dots else first
        if first not in DAYS or last not in DAYS:
            raise ValueError(WANT)
        begin, end = DAYS.index(first), DAYS.index(last)
        # Sat..Mon goes over the week's end
        found |= {(begin + n) % 7 for n in range((end - begin) % 7 + 1)}
    return frozenset(found)


def _minute(hour, minute):
    """Minute of the day; 24:00 is its end."""
    found = int(hour) * 60 + int(minute or 0)
    if int(minute or 0) > 59 or found > DAY_MIN:
        raise ValueError(WANT)
    return found


class Windows:
    """One or several."""

    def __init__(self, text):
        """ValueError if it makes no sense."""
        self.text, self.spans = " ".join(text.split()), []
        for one in self.text.split(", "):
            found = SPAN.fullmatch(one)
            if not found:
                raise ValueError(WANT)
            days, *times = found.groups()
            begin, end = _minute(*times[:2]), _minute(*times[2:])
            if begin == DAY_MIN or begin == end or \
                    (begin, end) == (0, DAY_MIN) and not days:
                raise ValueError(WANT)
            self.spans.append((_days(days) if days else WEEK, begin, end))

    def __str__(self):
        return self.text

    def __eq__(self, other):
        return isinstance(other, Windows) and self.spans == other.spans

    def __hash__(self):
        return hash(tuple(self.spans))

    def is_open(self, local):
        """Whether scrubs may run at a struct_time."""
        now = local.tm_hour * 60 + local.tm_min
        before = (local.tm_wday - 1) % 7
        return any(
            local.tm_wday in days and begin <= now < (end if end > begin else DAY_MIN) or
            begin > end > now and before in days for days, begin, end in self.spans)

    def next_s(self, local):
        """Seconds from a struct_time until the answer of is_open() may change, an hour at most."""
        now = local.tm_hour * 60 + local.tm_min
        edges = [edge for _, *edges in self.spans for edge in edges if edge > now]
        # a leap second is the 60th
        return (min(edges + [(local.tm_hour + 1) * 60]) - now) * 60 - min(local.tm_sec, 59)


def is_open(windows, now):
    """Whether scrubs may run at a moment; windows: None for always."""
    return windows is None or windows.is_open(time.localtime(now))


def open_s(windows, begin, end):
    """Seconds from one moment to another at which they may."""
    if windows is None:
        return max(end - begin, 0)
    found, now = 0, begin
    while now < end:
        local = time.localtime(now)
        step = min(windows.next_s(local), end - now)
        found += step if windows.is_open(local) else 0
        now += step
    return found
