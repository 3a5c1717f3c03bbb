# SPDX-License-Identifier: GPL-2.0
"""The threshold and the size that scrub fastest within the goals (the paper's V.C).

Longer thresholds mean less slowdown, so that for each size a binary search finds
the shortest one that keeps the mean. All sizes are searched at once: each step is
one reading of the trace.
"""

import numpy as np

from . import policy

# The size that policies are compared with: the least that costs no more (the
# paper, figure 4)
LEAST_KIB = 64
# Thresholds that are tried: 0, and 10 us to an hour in steps of 2 %
THRESHOLDS_US = np.unique(np.concatenate(([0], np.round(np.geomspace(
    10, 3600e6, int(np.log(360e6) / np.log(1.02)))).astype(np.int64))))
FACTORS = (1.05, 1.1, 1.25, 1.5, 2.0, 4.0)
MORE_KIB = (16, 64, 256)
SWITCHES_S = (0.1, 0.5, 2.0, 10.0, 60.0)


def within(result, goals):
    """Whether a result keeps both goals."""
    return result["mean_slowdown_us"] <= goals.mean_us and \
        result["max_slowdown_us"] <= goals.max_us


def sizes_allowed(service, goals, sizes_kib):
    """The sizes whose requests end within the maximum: no foreground request can wait
    longer than for one of them."""
    return [kib for kib in sizes_kib
            if max(service.first(kib), service.next(kib)) <= goals.max_us * 1000]


def shortest_thresholds(spool, many, goals):
    """For each Sizes of a list (threshold in us, result of Waiting), with the shortest
    threshold that keeps the goals; None where none does."""
    low = [0] * len(many)
    high = [len(THRESHOLDS_US) - 1] * len(many)
    best = [None] * len(many)
    while True:
        todo = [n for n in range(len(many)) if low[n] <= high[n]]
        if not todo:
            return best
        tried = {n: (low[n] + high[n]) // 2 for n in todo}
        results = policy.simulate(spool, [policy.waiting(
            many[n], int(THRESHOLDS_US[tried[n]]) * 1000) for n in todo])
        for n, result in zip(todo, results):
            if within(result, goals):
                best[n] = int(THRESHOLDS_US[tried[n]]), result
                high[n] = tried[n] - 1
            else:
                low[n] = tried[n] + 1


def row(approach, kib, found, **more):
    """A result with its settings."""
    if found is None:
        return {"approach": approach, "size_kib": kib, "wait_us": None, **more}
    return {"approach": approach, "size_kib": kib, "wait_us": found[0], **more, **found[1]}


def fixed_sizes(spool, service, goals, sizes_kib):
    """The best of each size, in order."""
    allowed = sizes_allowed(service, goals, sizes_kib)
    found = shortest_thresholds(spool, [policy.fixed(service, kib) for kib in allowed], goals)
    return [row("fixed", kib, one) for kib, one in zip(allowed, found)]


def best_of(rows):
    """The fastest that scrubs at all; None if there is none."""
    useful = [one for one in rows if one["wait_us"] is not None and one["mb_s"] > 0]
    return max(useful, key=lambda one: one["mb_s"]) if useful else None


def fastest(spool, goals, variants):
    """The best of several variants: [(approach, kib, Sizes, settings)]."""
    variants = [one for one in variants if one[2].longest_ns <= goals.max_us * 1000]
    found = shortest_thresholds(spool, [one[2] for one in variants], goals)
    rows = [row(name, kib, one, **more) for (name, kib, _, more), one in zip(variants, found)]
    return best_of(rows)


def adaptive(spool, service, goals, sizes_kib, best):
    """The best exponential, linear and swapping approach, each None if there is none.

    As in the paper: the factor by the exponential approach, the constant for that
    factor by the linear one; swapping begins with the best fixed size."""
    allowed = sizes_allowed(service, goals, sizes_kib)
    if not allowed or not best:
        return {"exponential": None, "linear": None, "swapping": None}
    most = max(allowed)
    starts = sorted({min(allowed), best["size_kib"]})
    exponential = fastest(spool, goals, [
        ("exponential", start, policy.growing(service, start, factor, 0, most),
         {"factor": factor}) for start in starts for factor in FACTORS])
    linear = exponential and fastest(spool, goals, [
        ("linear", exponential["size_kib"],
         policy.growing(service, exponential["size_kib"], exponential["factor"], more, most),
         {"factor": exponential["factor"], "more_kib": more}) for more in MORE_KIB])
    swapped = fastest(spool, goals, [
        ("swapping", best["size_kib"],
         policy.swapping(service, best["size_kib"], int(switch * 1e9), most),
         {"switch_s": switch}) for switch in SWITCHES_S])
    return {"exponential": exponential, "linear": linear, "swapping": swapped}


def sizes_of(service, one, most_kib):
    """The Sizes that a row of fixed_sizes() or adaptive() stands for."""
    if one["approach"] == "swapping":
        return policy.swapping(service, one["size_kib"], int(one["switch_s"] * 1e9), most_kib)
    if "factor" in one:
        return policy.growing(service, one["size_kib"], one["factor"], one.get("more_kib", 0),
                              most_kib)
    return policy.fixed(service, one["size_kib"])


def tradeoff(spool, service, rows, most_kib):
    """{label: results of thresholds}: the paper's figure 15."""
    waits = [int(wait) for wait in THRESHOLDS_US[::20]]
    found = {}
    for one in rows:
        sizes = sizes_of(service, one, most_kib)
        results = policy.simulate(spool, [policy.waiting(sizes, wait * 1000) for wait in waits])
        found["%s %d KiB" % (one["approach"], one["size_kib"])] = [
            {"wait_us": wait, **result} for wait, result in zip(waits, results)]
    return found


def figure_rows(fixed, best, varying):
    """What figure 15 shows: the smallest, the best and the largest size, what varies."""
    rows = {one["size_kib"]: one for one in (fixed[:1] + fixed[-1:] + ([best] if best else []))}
    return [rows[kib] for kib in sorted(rows)] + [one for one in varying.values() if one]
