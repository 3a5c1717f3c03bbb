# SPDX-License-Identifier: GPL-2.0
"""Where the pending requests of a busy disk are: the constants of prediction/freegap.py,
fitted to a process that is no disk of ours.

Its arm goes over [0, 1] in a + b sqrt(d), its platter turns in 1, its requests are points
anywhere; one is served after the other, `pending` wait. Seek and latency of what a policy
chooses are compared with the closed form, and the constants are those with the least
error. Run it: `PYTHONPATH=tools:tools/python /usr/bin/python3 -m research.predictcheck.depletion`.
"""

import itertools
import sys

import numpy as np

from freeblock.prediction import freegap

CURVES = ((0.2, 1.5), (0.12, 1.1), (0.15, 2.5))     # a, b, in turns
PENDING = (4, 9, 19)
TRANSFERS = (0.05, 0.4, 0.7)
STEPS = 15000
WINDOW = 0.6
SHARES = np.linspace(0.75, 1.0, 6)
TRIED = np.arange(0.0, 0.31, 0.05)
LONGER = (0.0, 0.15, 0.3)


def chosen(policy, seek, late):
    """Index of the policy's choice."""
    total = seek + late
    if policy == "sstf":
        return int(np.argmin(seek + 1e-9 * total))
    if policy == "sptf":
        return int(np.argmin(total))
    return int(np.argmin(np.where(total <= (1 + WINDOW) * total.min(), seek, np.inf)))


def process(policy, curve, pending, transfer, steps=STEPS, seed=1):
    """(mean seek, mean latency), turns, of the choices."""
    random = np.random.default_rng(seed)
    fresh = random.random((steps, 2))
    place, angle = random.random((2, pending))
    head, now, sums = 0.5, 0.0, np.zeros(2)
    for step in range(steps):
        seek = curve[0] + curve[1] * np.sqrt(np.abs(place - head))
        late = (angle - now - seek) % 1
        best = chosen(policy, seek, late)
        sums += seek[best], late[best]
        now = (now + seek[best] + late[best] + transfer) % 1
        head = place[best]
        place[best], angle[best] = fresh[step]
    return sums / steps


def seeks(curve, bins=freegap.BINS, heads=9, places=2000):
    """[head position, seek]: probabilities, on the grid of freegap."""
    at = (np.arange(places) + 0.5) / places
    rows = []
    for head in (np.arange(heads) + 0.5) / heads:
        time = (curve[0] + curve[1] * np.sqrt(np.abs(at - head))) * bins
        low = np.floor(time).astype(int)
        p = np.bincount(low, low + 1 - time, int((curve[0] + curve[1]) * bins) + 3)
        p[1:] += np.bincount(low, time - low, len(p))[:-1]
        rows.append(p / places)
    return np.array(rows)


def closed_form(policy, table, pending, k, share):
    """The same as process(), by freegap."""
    turn = freegap.BINS
    n = 1 + share * (pending - 1)
    table = freegap.depleted(table, turn, n, policy, WINDOW, k)
    choice = freegap.Choice(1 / turn, freegap.joint(table, turn, n, policy, WINDOW).mean(axis=0))
    return np.array([choice.seek, choice.latency])


def errors(policy, measured, k, share, longer):
    """[curve, n and transfer, (positioning, latency)]: relative errors."""
    rows = []
    for (curve, pending, transfer), (seek, late) in measured.items():
        found = closed_form(policy, seeks(curve), pending, k, share + longer * transfer)
        rows.append((found.sum() / (seek + late) - 1, found[1] / late - 1))
    return np.array(rows)


def fit(policy):
    """(k, share, longer, errors): the constants with the least mean square error."""
    measured = {key: process(policy, *key)
                for key in itertools.product(CURVES, PENDING, TRANSFERS)}
    found = {key: errors(policy, measured, *key)
             for key in itertools.product(TRIED, SHARES, LONGER)}
    best = min(found, key=lambda key: float((found[key] ** 2).mean()))
    return (*best, found[best])


def main():
    """Print the constants of each policy, and how well they fit."""
    for policy in freegap.MECHANICAL:
        k, share, longer, found = fit(policy)
        print("%-8s k %.2f share %.2f, %.2f more by turn; positioning within %.1f %% (rms %.1f), "
              "latency within %.1f %% (rms %.1f)" % (
                  policy, k, share, longer, *(value for column in 100 * found.T for value in
                                              (abs(column).max(), (column ** 2).mean() ** 0.5))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
