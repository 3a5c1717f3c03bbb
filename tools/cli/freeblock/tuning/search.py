# SPDX-License-Identifier: GPL-2.0
"""The threshold and the size that scrub fastest within the goals (the paper's V.C)."""

import numpy as np

from . import policy

# Thresholds that are tried: 0, and 10 us to an hour in steps of 2 %
THRESHOLDS_US = np.unique(np.concatenate(([0], np.round(np.geomspace(
    10, 3600e6, int(np.log(360e6) / np.log(1.02)))).astype(np.int64))))


def within(result, goals):
    """Whether a result keeps both goals."""
    return result["mean_slowdown_us"] <= goals.mean_us and \
        result["max_slowdown_us"] <= goals.max_us


def shortest_threshold(trace, service, kib, goals):
    """A size's row with the shortest threshold that keeps the goals; wait_us None if none does.

    Longer thresholds mean less slowdown: a binary search."""
    low, high = 0, len(THRESHOLDS_US) - 1
    best: dict = {"wait_us": None}
    while low <= high:
        middle = (low + high) // 2
        wait_us = int(THRESHOLDS_US[middle])
        result = policy.waiting(trace, service, kib, wait_us * 1000)
        if within(result, goals):
            best, high = {"wait_us": wait_us, **result}, middle - 1
        else:
            low = middle + 1
    return {"size_kib": kib, **best}


def fixed_sizes(trace, service, goals, sizes_kib):
    """The row of each size whose requests end within the maximum: no foreground request waits
    longer than for one of them."""
    return [shortest_threshold(trace, service, kib, goals) for kib in sizes_kib
            if max(service.first(kib), service.next(kib)) <= goals.max_us * 1000]


def best_of(rows):
    """The fastest that scrubs at all; None if there is none."""
    useful = [one for one in rows if one["wait_us"] is not None and one["mb_s"] > 0]
    return max(useful, key=lambda one: one["mb_s"]) if useful else None
