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
ALL, READS, WRITES = "all", "reads", "writes"
# kind: {of which requests: measured over predicted response, that 5 and 95 of 100 do not exceed}
BANDS = {
    "bursts, random": {  # 23 all, 19 reads, 15 writes
        "all": (0.961, 1.112), "reads": (0.974, 1.112), "writes": (0.961, 1.105)},
    "bursts, random, write cache": {  # 7 all, 5 reads, 7 writes
        "all": (0.530, 1.809), "reads": (0.807, 1.000), "writes": (0.530, 1.809)},
    "bursts, runs": {  # 41 all, 32 reads, 29 writes
        "all": (0.312, 2.387), "reads": (0.176, 3.678), "writes": (0.312, 3.240)},
    "bursts, runs, write cache": {  # 18 all, 15 reads, 18 writes
        "all": (0.064, 41.689), "reads": (0.271, 36.558), "writes": (0.064, 64.676)},
    "closed, random": {  # 39 all, 31 reads, 30 writes
        "all": (0.993, 1.058), "reads": (0.955, 1.058), "writes": (0.962, 1.092)},
    "closed, random, write cache": {  # 17 all, 13 reads, 17 writes
        "all": (0.775, 2.360), "reads": (0.959, 1.887), "writes": (0.025, 3.028)},
    "closed, runs": {  # 44 all, 25 reads, 34 writes
        "all": (0.790, 1.365), "reads": (0.449, 1.365), "writes": (0.790, 1.620)},
    "closed, runs, hits": {  # 46 all, 46 reads, 34 writes
        "all": (0.824, 1.756), "reads": (0.738, 1.836), "writes": (0.871, 4.281)},
    "closed, runs, write cache": {  # 25 all, 17 reads, 25 writes
        "all": (0.610, 8.265), "reads": (0.771, 6.634), "writes": (0.130, 8.279)},
    "open, random": {  # 54 all, 41 reads, 35 writes
        "all": (0.977, 1.023), "reads": (0.962, 1.009), "writes": (0.977, 1.070)},
    "open, random, write cache": {  # 17 all, 9 reads, 17 writes
        "all": (0.802, 1.837), "reads": (0.897, 1.019), "writes": (0.099, 1.837)},
    "open, runs": {  # 56 all, 24 reads, 48 writes
        "all": (0.803, 1.834), "reads": (0.803, 1.984), "writes": (0.801, 1.542)},
    "open, runs, hits": {  # 65 all, 65 reads, 34 writes
        "all": (0.709, 2.456), "reads": (0.485, 2.341), "writes": (0.913, 7.139)},
    "open, runs, write cache": {  # 42 all, 26 reads, 42 writes
        "all": (0.409, 1.782), "reads": (0.408, 17.560), "writes": (0.087, 1.782)},
}
# kind: measured over predicted free bytes/s on a map on which all is wanted
FREE = {
    "gaps": (0.818, 1.000),  # of 87
    "idle, reads ahead": (0.655, 0.974),  # of 192
    "idle, stops": (0.412, 1.062),  # of 64
    "idle, write cache": (0.573, 1.212),  # of 41
}


def free_kind(device, workload):
    """What predictions of the free bandwidth are like in how far they are off: a key of FREE."""
    if workload.arrival_process in CLOSED and not workload.think_time:
        return "gaps"
    if device.cache and device.cache.write_policy == "back" and workload.read_fraction < 1:
        return "idle, write cache"
    ahead = device.cache and device.cache.read_ahead != "none"
    return "idle, reads ahead" if ahead else "idle, stops"


def kind(workload, found):
    """What predictions of a workload are like in how far they are off: a key of BANDS.
    found: the compose.Prediction."""
    arrival = "closed" if workload.arrival_process in CLOSED else \
        "bursts" if workload.arrival_process == "bursty" else "open"
    in_runs = workload.run_length is not None and workload.locality_fraction > 0
    alike = not in_runs and not workload.sparse_run_fraction and not workload.run_stride
    if found.writes_kept:
        return "%s, %s, write cache" % (arrival, "random" if alike else "runs")
    if alike:
        return arrival + ", random"
    if arrival != "bursts" and found.miss_prob < LEAST_MISSES:
        return arrival + ", runs, hits"
    return arrival + ", runs"


def response(workload, found, of=ALL):
    """(least, most) response, s, of a compose.Prediction: of all requests, of reads or of writes;
    None if it foretells none."""
    told = {ALL: found.response_time, READS: found.read_response,
            WRITES: found.write_response}[of]
    if told is None:
        return None
    low, high = BANDS[kind(workload, found)][of]
    return low * told, high * told
