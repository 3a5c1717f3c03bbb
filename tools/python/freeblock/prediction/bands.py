# SPDX-License-Identifier: GPL-2.0
"""How far predictions of the response time are off: bands that hold nine times of ten, by kind of
workload. Not in the paper.

They were learnt from drives and workloads that were drawn at random and that nothing was tuned for,
each served by the simulated drive (make validate-predict RANDOM=500 SEED=19 prints the table anew).
They say nothing of a workload's attributes that are wrong, nor of a drive that is not as its model
says.
"""

LEAST_MISSES = 0.99     # of the requests, where caches hardly matter
CLOSED = ("closed", "constant-closed")
# kind: measured over predicted response, that 5 and 95 of 100 do not exceed
BANDS = {
    "bursts, random": (0.961, 1.125),  # of 26
    "bursts, runs": (0.815, 4.052),  # of 63
    "closed, random": (0.894, 1.056),  # of 55
    "closed, runs": (0.922, 1.365),  # of 59
    "closed, runs, hits": (0.856, 1.326),  # of 63
    "open, random": (0.988, 1.015),  # of 84
    "open, runs": (0.846, 1.923),  # of 68
    "open, runs, hits": (0.689, 2.456),  # of 80
}


def kind(workload, miss_prob):
    """What predictions of a workload are like in how far they are off: a key of BANDS.
    miss_prob: share of the requests that no cache answers."""
    arrival = "closed" if workload.arrival_process in CLOSED else \
        "bursts" if workload.arrival_process == "bursty" else "open"
    in_runs = workload.run_length is not None and workload.locality_fraction > 0
    if not in_runs and not workload.sparse_run_fraction and not workload.run_stride:
        return arrival + ", random"
    if arrival != "bursts" and miss_prob < LEAST_MISSES:
        return arrival + ", runs, hits"
    return arrival + ", runs"


def response(workload, found):
    """(least, most) response, s, of a compose.Prediction; None if it foretells none."""
    if found.response_time is None:
        return None
    low, high = BANDS[kind(workload, found.miss_prob)]
    return low * found.response_time, high * found.response_time
