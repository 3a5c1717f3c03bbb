# SPDX-License-Identifier: GPL-2.0
"""What a trial's windows say: the mean of paired differences, with Student's interval.

Each pair of windows, one with free reads and one without, gives one difference; what changes from
pair to pair, the time of day, is in both and cancels. The order within a pair is drawn, so that
what drifts within one adds to the spread and not to the mean.
"""

import math
import random

CONFIDENCE = 0.95
LEAST_PAIRS = 3


def orders(pairs, seed=None):
    """For each pair whether the window with free reads comes first: half of them, shuffled."""
    rng = random.Random(seed)
    drawn = [number % 2 == 0 for number in range(pairs)]
    if pairs % 2:
        drawn[-1] = rng.random() < 0.5
    rng.shuffle(drawn)
    return drawn


def within_t(t, freedom):
    """How likely a value of Student's t lies between -t and t: the finite series of Abramowitz
    and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    square, odd = math.cos(angle) ** 2, freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for step in range(odd, freedom - 1, 2):
        total += term
        term *= square * (step + 1) / (step + 2)
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def quantile_t(confidence, freedom):
    """The t with which within_t() is this."""
    low, high = 0.0, 1.0
    while within_t(high, freedom) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if within_t(middle, freedom) >= confidence else (middle, high)
    return high


def paired(with_reads, without):
    """How much larger values are with free reads: means, difference, its interval, and the same in
    per cent of the mean without. Pairs in which one is None do not count. None: too few."""
    pairs = [pair for pair in zip(with_reads, without) if None not in pair]
    count = len(pairs)
    if count < LEAST_PAIRS:
        return None
    mean_with, mean_without = (math.fsum(values) / count for values in zip(*pairs))
    mean = mean_with - mean_without
    spread = math.sqrt(math.fsum((one - other - mean) ** 2 for one, other in pairs) / (count - 1))
    half = quantile_t(CONFIDENCE, count - 1) * spread / math.sqrt(count)
    found = {"pairs": count, "with": mean_with, "without": mean_without, "more": mean,
             "low": mean - half, "high": mean + half}
    for key in ("more", "low", "high"):
        found[key + "_pct"] = 100 * found[key] / mean_without if mean_without > 0 else None
    return found


def verdict(cost, free_mb_s, limit_pct, why):
    """(word, sentence): within, above, undecided, nothing, unknown.

    cost: paired() of the latency of all requests; why: the module's words on its reads."""
    if not free_mb_s:
        return "nothing", "nothing was read in the windows with free reads: %s" % why
    if cost is None or cost["more_pct"] is None:
        return "unknown", "the foreground made too few requests to tell what free reads cost"
    span = "%+.1f %% (%+.1f to %+.1f)" % (cost["more_pct"], cost["low_pct"], cost["high_pct"])
    if cost["high_pct"] <= limit_pct:
        word, end = "within", "within the limit of %g %%" % limit_pct
    elif cost["low_pct"] > limit_pct:
        word, end = "above", "more than the limit of %g %%" % limit_pct
    else:
        word, end = "undecided", "which may be more than the limit of %g %% or not: more pairs " \
            "would tell" % limit_pct
    if cost["low"] <= 0 <= cost["high"]:
        span += ", which may be chance"
    return word, "requests take %s longer with free reads, %s" % (span, end)
