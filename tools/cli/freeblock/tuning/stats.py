# SPDX-License-Identifier: GPL-2.0
"""Statistics of idle intervals: of the paper's section V.A, what tells whether to wait."""

import numpy as np

SECOND_NS = 10 ** 9
LONGEST_SHARES = (0.01, 0.05, 0.10, 0.15, 0.20, 0.50)
# Waits that the figures are told for, s
WAITS_S = (0.001, 0.01, 0.1, 1.0, 10.0)


def remaining(ordered, waited_s):
    """How much longer the disk stays idle after so long: on the mean, in 99 of 100 cases, the share
    of all idle time, and of the intervals. ordered: ascending, ns."""
    waited = waited_s * SECOND_NS
    left = ordered[np.searchsorted(ordered, waited, "right"):] - waited
    return {"waited_s": waited_s, "expected_s": left.mean() / SECOND_NS if len(left) else None,
            "percentile_1_s": left[len(left) // 100] / SECOND_NS if len(left) else None,
            "usable": left.sum() / ordered.sum(), "longer": len(left) / len(ordered)}


def share_of_longest(ordered, share):
    """Share of the idle time that is in the longest `share` of the intervals."""
    number = share * len(ordered)
    whole = int(number)
    above = ordered[len(ordered) - whole:].sum()
    # part of one more interval
    return (above + (number - whole) * ordered[len(ordered) - whole - 1]) / ordered.sum()


def summary(trace):
    """All of the section's figures."""
    ordered = np.sort(trace.idle_ns).astype(float)
    spread = float(ordered.std(ddof=1)) if len(ordered) > 1 else 0.0
    return {"requests": trace.requests, "duration_s": trace.duration_ns / SECOND_NS,
            "intervals": len(ordered), "idle_share": ordered.sum() / trace.duration_ns,
            "modelled_requests": trace.modelled, "mean_s": ordered.mean() / SECOND_NS,
            "variance_s2": (spread / SECOND_NS) ** 2, "cov": spread / ordered.mean(),
            "longest_s": ordered[-1] / SECOND_NS,
            "longest": [{"intervals": share, "idle_time": share_of_longest(ordered, share)}
                        for share in LONGEST_SHARES],
            "remaining": [remaining(ordered, wait) for wait in WAITS_S]}
