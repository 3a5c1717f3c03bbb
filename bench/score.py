# SPDX-License-Identifier: GPL-2.0
"""How far predicted response times are from measured ones.

The demerit figure (Ruemmler and Wilkes, "An introduction to disk drive
modeling", 1994) is the root mean square of the horizontal distance between the
two cumulative distributions. It is computed as DiskSim's rms tool does: both
distributions are histograms of whole microseconds whose buckets' tops are 0, 1,
2, ... and then grow by 1 %, and the distance is taken at 10,000 heights between
points joined by straight lines. It compares distributions; the paired errors
compare request by request.
"""

import bisect
import itertools
import math

from freeblock import ToolError

BUCKETS = 1750
HEIGHTS = 10000
PAIRED_GOOD_NS = 300 * 1000


def bucket_tops():
    """Tops of the histogram's buckets, us."""
    top = 0
    for _ in range(BUCKETS):
        yield top
        top += 1 + top // 100


# A time has to be below the last bucket's top
LONGEST_US = max(bucket_tops()) - 1


def distribution(times_ns):
    """Points (us, share below) of the cumulative distribution, up to share 1."""
    times = sorted(ns // 1000 for ns in times_ns)
    points = []
    for top in bucket_tops():
        below = bisect.bisect_left(times, top)
        points.append((top, below / len(times)))
        if below == len(times):
            return points
    raise ToolError("a response time of %d us is beyond the last bucket" % times[-1])


def quantiles(points):
    """Time below which each share k/HEIGHTS lies, us, k = 1 .. HEIGHTS."""
    low, high = iter(points), itertools.islice(points, 1, None)
    (x0, y0), (x1, y1) = next(low), next(high)
    for k in range(1, HEIGHTS + 1):
        share = k / HEIGHTS
        while y1 < share - 1e-12:
            (x0, y0), (x1, y1) = next(low), next(high)
        yield x0 + (share - y0) / (y1 - y0) * (x1 - x0)


def demerit_ms(measured_ns, predicted_ns):
    """The demerit figure, ms."""
    squares = sum((a - b) ** 2 for a, b in zip(quantiles(distribution(measured_ns)),
                                               quantiles(distribution(predicted_ns))))
    return math.sqrt(squares / HEIGHTS) / 1000


def compare(measured_ns, predicted_ns):
    """All figures, by name; times in ms, shares in percent."""
    if len(measured_ns) != len(predicted_ns):
        raise ValueError("%d measured, %d predicted" % (len(measured_ns), len(predicted_ns)))
    count = len(measured_ns)
    errors = sorted(abs(a - b) for a, b in zip(measured_ns, predicted_ns))
    demerit = demerit_ms(measured_ns, predicted_ns)
    mean = sum(measured_ns) / count / 1e6
    return {
        "requests": count,
        "mean_measured_ms": mean,
        "mean_predicted_ms": sum(predicted_ns) / count / 1e6,
        "demerit_ms": demerit,
        "demerit_pct": 100 * demerit / mean,
        "paired_median_ms": errors[count // 2] / 1e6,
        "paired_p90_ms": errors[int(0.9 * count)] / 1e6,
        "paired_mean_ms": sum(errors) / count / 1e6,
        "paired_within_300us_pct": 100 * sum(e < PAIRED_GOOD_NS for e in errors) / count,
    }
