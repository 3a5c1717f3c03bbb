# SPDX-License-Identifier: GPL-2.0
"""The policies side by side: idle time used against collisions (the paper's figure 14)."""

import numpy as np

from . import policy
from .regress import Model

# Shares of the intervals that a policy is made to fire in
SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50, 0.60, 0.75, 0.90)
# The paper's: thresholds of AR in AR+Waiting, as quantiles of the predictions
COMBINED = (0.2, 0.4, 0.6, 0.8)


def point(result, parameter_s):
    """What the figure shows of a result."""
    return {"parameter_s": parameter_s, "collision_rate": result["collision_rate"],
            "fired_rate": result["fired_rate"], "idle_used": result["idle_used"]}


def curves(spool, lengths, moments, sizes):
    """{policy: points}, each a parameter with what it came to; and the AR model."""
    waits = [int(lengths.length_exceeded_by(share * lengths.count)) for share in SHARES]
    model = Model(moments)
    cuts = model.quantiles(spool, [1 - share for share in SHARES])
    jobs = [("oracle", wait, policy.oracle(sizes, wait)) for wait in waits]
    jobs += [("lossless", wait, policy.lossless(sizes, wait)) for wait in waits]
    jobs += [("waiting", wait, policy.waiting(sizes, wait)) for wait in waits]
    jobs += [("ar", cut, policy.autoregression(sizes, cut)) for cut in cuts]
    for share, cut in zip(COMBINED, model.quantiles(spool, COMBINED)):
        jobs += [("ar+waiting %d %%" % (100 * share), wait,
                  policy.autoregression(sizes, cut, wait)) for wait in waits]
    results = policy.simulate(spool, [rule for _, _, rule in jobs], model)
    found = {}
    for (name, parameter_ns, _), result in zip(jobs, results):
        found.setdefault(name, []).append(point(result, parameter_ns / 1e9))
    return found, model


def used_at(points, rate):
    """Idle time used at a collision rate, linear between the points; 0 at none. None beyond
    the last point: the policy does not go there."""
    known = sorted((one["collision_rate"], one["idle_used"]) for one in points)
    if rate > known[-1][0]:
        return None
    rates, used = zip(*([(0.0, 0.0)] + known))
    return float(np.interp(rate, rates, used))


def verdict(found):
    """Lossless Waiting against Oracle (least ratio of idle time used at the same collision
    rate), and Waiting against AR and AR+Waiting (least difference)."""
    lossless = [one["idle_used"] / used_at(found["oracle"], one["collision_rate"])
                for one in found["lossless"]
                if used_at(found["oracle"], one["collision_rate"])]
    result = {"lossless_of_oracle": min(lossless, default=None)}
    for name in found:
        if name.startswith("ar"):
            ahead = [used_at(found["waiting"], one["collision_rate"]) - one["idle_used"]
                     for one in found[name]
                     if used_at(found["waiting"], one["collision_rate"]) is not None]
            result["waiting_ahead_of_" + name] = min(ahead, default=None)
    return result
