# SPDX-License-Identifier: GPL-2.0
"""The constants of prediction/policies.py, from an abstract process: n requests on [0, 1],
uniform, one at a time served by a policy and replaced by a fresh one.

No drive is in it: positions are numbers, seeks a function of their distance, a turn is 1.
Run as a module (PYTHONPATH=python
python3 -m research.predictcheck.abstract, in tools/) it prints the tables;
tests/python/test_predict_queue.py derives some of them again.
"""

import numpy as np

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995)
MEAN_SEEKS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)      # turns
# A seek of a tenth of the mean one at least, the rest with the root of the distance, whose
# mean is 8/15 over two uniform positions.
LEAST_SEEK = 0.1
AFTER = 0.06            # turns from the end of positioning to the next choice, mean
SEED = 1


def seek_of(mean):
    """A seek's turns by the share of the span it goes; `mean` over two random positions."""
    return lambda distance: mean * (LEAST_SEEK + (1 - LEAST_SEEK) * 15 / 8 * np.sqrt(distance))


def _to_nearest_ahead(distance, forwards):
    """LOOK's cost: what is behind comes after all that is ahead, the nearest first."""
    ahead = np.where(forwards[:, None], distance, -distance)
    return np.where(ahead >= 0, ahead, 2 - ahead)


def distances(policy, count, replicas=400, steps=800, seed=SEED):
    """How far the head goes for each of many choices of `policy` (look, clook, sstf)."""
    draw = np.random.default_rng(seed)
    at, head = draw.random((replicas, count)), draw.random(replicas)
    forwards, rows = np.ones(replicas, bool), np.arange(replicas)
    found = []
    warm = 50 + 12 * count
    for step in range(warm + steps):
        distance = at - head[:, None]
        cost = {"clook": lambda d: d % 1, "sstf": np.abs,
                "look": lambda d, ahead=forwards: _to_nearest_ahead(d, ahead)}[policy](distance)
        chosen = cost.argmin(axis=1)
        to = at[rows, chosen]
        if step >= warm:
            found.append(np.abs(to - head))
        forwards, head = to >= head, to
        at[rows, chosen] = draw.random(replicas)
    return np.concatenate(found)


def sptf_costs(mean_seek, count, window=0.0, replicas=300, steps=400, seed=SEED):
    """Turns of positioning of each of many choices of SPTF; with a window of SPTF-SW: who seeks
    least of those within 1 + window of the least cost."""
    draw, seek = np.random.default_rng(seed), seek_of(mean_seek)
    at, angle = draw.random((replicas, count)), draw.random((replicas, count))
    head, platter, rows = draw.random(replicas), draw.random(replicas), np.arange(replicas)
    found = []
    warm = 50 + 12 * count
    for step in range(warm + steps):
        moving = seek(np.abs(at - head[:, None]))
        cost = moving + (angle - platter[:, None] - moving) % 1
        near = cost <= (1 + window) * cost.min(axis=1)[:, None]
        chosen = np.where(near, moving if window else cost, np.inf).argmin(axis=1)
        if step >= warm:
            found.append(cost[rows, chosen])
        head = at[rows, chosen]
        platter += cost[rows, chosen] + AFTER * draw.exponential(size=replicas)
        at[rows, chosen], angle[rows, chosen] = draw.random(replicas), draw.random(replicas)
    return np.concatenate(found)


class _Open:
    """Many open queues side by side: places, angles, and which of `room` are taken."""

    def __init__(self, draw, replicas, room):
        self.draw, self.rows = draw, np.arange(replicas)
        self.at, self.angle = np.zeros((2, replicas, room))
        self.taken = np.zeros((replicas, room), dtype=bool)
        self.head, self.platter = draw.random((2, replicas))

    def come(self, rows):
        """One more request for each of these queues."""
        free = (~self.taken[rows]).argmax(axis=1)
        self.taken[rows, free] = True
        self.at[rows, free], self.angle[rows, free] = self.draw.random((2, len(rows)))

    def serve(self, policy, seek):
        """Turns that the next of each takes."""
        distance = np.abs(self.at - self.head[:, None])
        moving = seek(distance)
        cost = moving + (self.angle - self.platter[:, None] - moving) % 1
        chosen = np.where(self.taken, cost if policy == "sptf" else distance, np.inf).argmin(1)
        took = cost[self.rows, chosen] + AFTER * self.draw.exponential(size=len(self.rows))
        self.head = self.at[self.rows, chosen]
        self.taken[self.rows, chosen] = False
        self.platter = self.platter + took
        return took


def opened(policy, seek, rate, replicas=400, steps=900, room=100, seed=SEED):
    """(mean response in turns, share of the time that is busy) of an open queue (sstf, sptf) with
    Poisson arrivals of `rate` a turn."""
    draw = np.random.default_rng(seed)
    queues = _Open(draw, replicas, room)
    busy = idle = left = 0.0
    warm = steps // 2
    for step in range(warm + steps):
        empty = np.flatnonzero(~queues.taken.any(axis=1))
        pause = draw.exponential(size=len(empty)) / rate
        queues.platter[empty] += pause
        queues.come(empty)
        took = queues.serve(policy, seek)
        came = draw.poisson(rate * took)
        for number in range(came.max()):
            queues.come(np.flatnonzero(came > number))
        if step >= warm:
            busy, idle = busy + took.sum(), idle + pause.sum()
            left += queues.taken.sum()
    return left / (steps * replicas) / rate, busy / (busy + idle)


def fresh_means(mean_seek, counts, samples=400000, seed=SEED + 1):
    """Mean of the least positioning time of `count` fresh requests, for each of `counts`."""
    draw = np.random.default_rng(seed)
    moving = seek_of(mean_seek)(np.abs(draw.random(samples) - draw.random(samples)))
    cost = np.sort(moving + draw.random(samples))
    tail = 1 - np.arange(samples) / samples
    return np.array([np.diff(cost, prepend=0.0) @ tail ** count for count in counts])


def worth(mean_seek, count):
    """How many fresh requests have the same mean least positioning time as `count` of which
    all but one were left over by SPTF; over `count`."""
    wanted = sptf_costs(mean_seek, count).mean()
    tried = count * np.geomspace(0.4, 1.8, 60)
    means = fresh_means(mean_seek, tried)
    return float(np.interp(-wanted, -means, tried) / count)


def by_lot(mean_seek, count, window=0.6, samples=50000, seed=SEED + 2):
    """What policies._SW_BY_LOT is a mean of: how far SPTF-SW's mean cost is on the way from SPTF's
    to that of a choice by lot among those within the window of the least."""
    draw, seek = np.random.default_rng(seed), seek_of(mean_seek)
    fresh = (samples, max(round(count * 0.75), 2))      # what `count` are worth, nearly
    cost = seek(np.abs(draw.random(fresh) - draw.random((samples, 1)))) + draw.random(fresh)
    least = cost.min(axis=1)
    near = cost <= (1 + window) * least[:, None]
    lot = (cost * near).sum(axis=1) / near.sum(axis=1)
    more = sptf_costs(mean_seek, count, window).mean() - sptf_costs(mean_seek, count).mean()
    return float(more / (lot.mean() - least.mean()))


def sstf_quantiles(count):
    """Of SSTF's distance, at SHARES."""
    return np.quantile(distances("sstf", count), SHARES)


def main():
    """The tables."""
    _print("_SSTF", [sstf_quantiles(count) * (count + 1) for count in COUNTS])
    print("# by_lot(0.9, 2 .. 32): %s" % ", ".join(
        "%.2f" % by_lot(0.9, count) for count in (2, 4, 8, 16, 32)))
    for run in (2, 4, 8, 16, 64):
        print("# turn_share(5, 1, %d, 0.2 .. 0.8): %s" % (run, ", ".join(
            "%.2f" % turn_share(5, 1, run, rho) for rho in (0.2, 0.4, 0.6, 0.8))))
    _print("_WORTH", [[1.0 if count == 1 else worth(mean, count) for count in COUNTS]
                      for mean in MEAN_SEEKS])


def turn_share(long, short, run, rho, steps=8000, replicas=300, seed=SEED):
    """What runqueue.run_correlation() is fitted to: how much of the variance between a run's `long`
    first service and the `short` ones after it shows in the delay of Poisson arrivals."""
    draw = np.random.default_rng(seed)
    times = np.array([long] + [short] * (run - 1), dtype=float)
    mean, cv2 = times.mean(), 0.04
    rate, wait, total = rho / mean, np.zeros(replicas), 0.0
    for step in range(steps):
        total += wait.mean() * (step >= steps // 4)
        took = times[step % run] * draw.gamma(1 / cv2, cv2, replicas)
        wait = np.maximum(wait + took - draw.exponential(1 / rate, replicas), 0.0)
    delay = total / (steps - steps // 4)
    alike = mean ** 2 + cv2 * np.mean(times ** 2)
    return (delay * 2 * (1 - rho) / rate - alike) / times.var()


def _print(name, rows):
    """A table as policies.py has it."""
    print("%s = np.array((" % name)
    for row in rows:
        words = ["%.5f" % x for x in row]
        print("    (%s,\n     %s)," % (", ".join(words[:7]), ", ".join(words[7:])))
    print("))")


if __name__ == "__main__":
    main()
