# SPDX-License-Identifier: GPL-2.0
"""The policies side by side: idle time used against collisions (the paper's figure 14)."""

import numpy as np

from . import policy
from .regress import Model

# Shares of the intervals that a policy is made to fire in: dense, for what is
# between two points is taken from the line between them
SHARES = [float(share) for share in np.geomspace(0.0005, 0.98, 100)]
FEWER = SHARES[::4]
# The paper's: thresholds of AR in AR+Waiting, as quantiles of the predictions
COMBINED = (0.2, 0.4, 0.6, 0.8)


def point(result, parameter_ns, spool):
    """What the figure shows of a result."""
    return {"parameter_s": parameter_ns / 1e9, "collision_rate": result["collision_rate"],
            "per_interval": result["collisions"] / spool.intervals,
            "idle_used": result["idle_used"]}


def jobs_of(spool, lengths, model, sizes):
    """[(name, parameter in ns, rule)]"""
    waits = [int(lengths.length_exceeded_by(share * lengths.count)) for share in SHARES] + [0]
    cuts = model.quantiles(spool, [1 - share for share in SHARES])
    jobs = [("oracle", wait, policy.oracle(sizes, wait)) for wait in waits]
    jobs += [("lossless", wait, policy.lossless(sizes, wait)) for wait in waits]
    jobs += [("waiting", wait, policy.waiting(sizes, wait)) for wait in waits]
    jobs += [("ar", cut, policy.autoregression(sizes, cut)) for cut in cuts]
    fewer = [int(lengths.length_exceeded_by(share * lengths.count)) for share in FEWER]
    for share, cut in zip(COMBINED, model.quantiles(spool, COMBINED)):
        jobs += [("ar+waiting %d %%" % (100 * share), wait,
                  policy.autoregression(sizes, cut, wait)) for wait in fewer]
    return jobs


def curves(spool, lengths, moments, sizes):
    """{policy: points}, each a parameter with what it came to; and the AR model."""
    model = Model(moments)
    jobs = jobs_of(spool, lengths, model, sizes)
    results = policy.simulate(spool, [rule for _, _, rule in jobs], model)
    found = {}
    for (name, parameter_ns, _), result in zip(jobs, results):
        found.setdefault(name, []).append(point(result, parameter_ns, spool))
    return found, model


def used_at(points, rate):
    """Idle time used at so many collisions per interval, linear between the points; None
    beyond them: the policy does not go there."""
    known = sorted((one["per_interval"], one["idle_used"]) for one in points)
    rates, used = zip(*known)
    if not rates[0] <= rate <= rates[-1]:
        return None
    return float(np.interp(rate, rates, used))


def pairs(points, others):
    """(idle time used, that of others at the same rate), of the points where there is one."""
    for one in points:
        other = used_at(others, one["per_interval"])
        if other is not None:
            yield one["idle_used"], other


def verdict(found):
    """At the same collision rate: the least share of Oracle's idle time that Lossless Waiting
    uses, and the least by which Waiting is ahead of AR and of AR+Waiting; None where
    they never have the same rate."""
    result = {"lossless_of_oracle": min(
        (used / most for used, most in pairs(found["lossless"], found["oracle"]) if most),
        default=None)}
    for name in found:
        if name.startswith("ar"):
            result["waiting_ahead_of_" + name] = min(
                (waiting - used for used, waiting in pairs(found[name], found["waiting"])),
                default=None)
    return result
