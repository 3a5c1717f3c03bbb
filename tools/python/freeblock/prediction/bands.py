# SPDX-License-Identifier: GPL-2.0
"""How far predictions of the response time are off: bands that hold nine times of ten, by kind of
workload and length of the queue, and what is not foretold at all. Not in the paper.

They were learnt from drives and workloads that were drawn at random and that nothing was tuned for,
each served by the simulated drive (make validate-predict RANDOM=2000 SEED=19 prints them anew).
They say nothing of a workload's attributes that are wrong, nor of a drive that is not as its model
says.
"""

LEAST_MISSES = 0.99     # of the requests, where caches hardly matter
CLOSED = ("closed", "constant-closed")
ALL, READS, WRITES = "all", "reads", "writes"
# Up to where a queue is short, and from where on little more of a load, or of an error, makes it
# endless: utilisation; response over service
LIGHT, FULL = (0.6, 2.0), (0.85, 4.0)
LIGHT_KEPT = 0.4        # .. of the mechanism, below a cache that holds writes
# A band whose upper end is that many times the lower says more than a number in it would, and so
# does one that was learnt from fewer cases than that
MOST_WIDE, LEAST_CASES = 3.0, 10
# kind: {of which requests: measured over predicted response that 5 and 95 of 100 do not exceed, and
# cases}
BANDS = {
    "alone, random": {
        "all": (0.996, 1.005, 107), "reads": (0.996, 1.006, 83), "writes": (0.996, 1.007, 75)},
    "alone, random, write cache": {
        "all": (0.675, 1.286, 27), "reads": (0.920, 1.281, 27), "writes": (0.025, 1.237, 27)},
    "alone, random, write cache, writes alone": {
        "all": (0.998, 1.013, 10), "writes": (0.998, 1.013, 10)},
    "alone, runs": {
        "all": (0.977, 1.100, 118), "reads": (0.936, 1.021, 58), "writes": (0.985, 1.209, 101)},
    "alone, runs, hits": {
        "all": (0.866, 1.312, 113), "reads": (0.810, 1.312, 113), "writes": (0.965, 1.167, 71)},
    "alone, runs, write cache, busy": {
        "all": (0.196, 1.570, 13), "reads": (0.924, 1.503, 13), "writes": (0.038, 3.292, 13)},
    "alone, runs, write cache, full": {
        "all": (0.600, 1.515, 4), "reads": (0.577, 1.151, 4), "writes": (0.039, 3.488, 4)},
    "alone, runs, write cache, light": {
        "all": (0.760, 5.870, 13), "reads": (0.780, 6.053, 13), "writes": (0.116, 1.110, 13)},
    "alone, runs, write cache, writes alone, busy": {
        "all": (0.986, 1.027, 6), "writes": (0.986, 1.027, 6)},
    "alone, runs, write cache, writes alone, full": {
        "all": (0.687, 1.196, 4), "writes": (0.687, 1.196, 4)},
    "alone, runs, write cache, writes alone, light": {
        "all": (0.279, 1.064, 9), "writes": (0.279, 1.064, 9)},
    "bursts, random": {
        "all": (0.965, 1.183, 86), "reads": (0.931, 1.153, 71), "writes": (0.961, 1.323, 50)},
    "bursts, random, write cache": {
        "all": (0.421, 1.809, 25), "reads": (0.454, 1.384, 17), "writes": (0.353, 1.809, 25)},
    "bursts, runs, busy": {
        "all": (0.489, 4.524, 50), "reads": (0.233, 4.524, 34), "writes": (0.756, 5.911, 39)},
    "bursts, runs, full": {
        "all": (0.526, 2.181, 97), "reads": (0.314, 2.102, 81), "writes": (0.526, 3.240, 70)},
    "bursts, runs, light": {
        "all": (0.627, 2.949, 16), "reads": (0.312, 2.949, 11), "writes": (0.875, 2.563, 9)},
    "bursts, runs, write cache": {
        "all": (0.411, 42.875, 58), "reads": (0.430, 9.274, 44), "writes": (0.225, 64.676, 58)},
    "closed, random": {
        "all": (0.929, 1.075, 63), "reads": (0.905, 1.058, 50), "writes": (0.916, 1.213, 43)},
    "closed, random, write cache": {
        "all": (0.434, 2.360, 16), "reads": (0.452, 1.887, 16), "writes": (0.335, 3.028, 16)},
    "closed, random, write cache, writes alone": {
        "all": (0.901, 1.159, 7), "writes": (0.901, 1.159, 7)},
    "closed, runs": {
        "all": (0.620, 1.620, 63), "reads": (0.134, 1.576, 37), "writes": (0.762, 1.821, 50)},
    "closed, runs, hits": {
        "all": (0.813, 1.847, 72), "reads": (0.309, 1.836, 72), "writes": (0.951, 2.625, 45)},
    "closed, runs, write cache": {
        "all": (0.266, 20.890, 22), "reads": (0.333, 24.404, 22), "writes": (0.019, 17.365, 22)},
    "closed, runs, write cache, writes alone": {
        "all": (0.848, 2.270, 11), "writes": (0.848, 2.270, 11)},
    "open, random": {
        "all": (0.982, 1.012, 235), "reads": (0.980, 1.011, 181), "writes": (0.985, 1.016, 161)},
    "open, random, write cache, busy": {
        "all": (0.392, 1.144, 22), "reads": (0.468, 1.132, 22), "writes": (0.089, 1.180, 22)},
    "open, random, write cache, full": {
        "all": (0.685, 1.000, 1), "reads": (0.677, 1.000, 1), "writes": (0.704, 1.000, 1)},
    "open, random, write cache, light": {
        "all": (0.613, 1.132, 15), "reads": (0.726, 1.007, 15), "writes": (0.099, 1.351, 15)},
    "open, random, write cache, writes alone, busy": {
        "all": (0.565, 1.837, 19), "writes": (0.565, 1.837, 19)},
    "open, random, write cache, writes alone, light": {
        "all": (0.794, 1.034, 10), "writes": (0.794, 1.034, 10)},
    "open, runs, busy": {
        "all": (0.794, 1.834, 60), "reads": (0.603, 1.984, 29), "writes": (0.769, 1.976, 48)},
    "open, runs, full": {
        "all": (0.562, 1.817, 10), "reads": (0.858, 1.092, 4), "writes": (0.562, 1.817, 8)},
    "open, runs, hits, busy": {
        "all": (0.670, 3.591, 60), "reads": (0.235, 2.185, 60), "writes": (0.476, 5.041, 36)},
    "open, runs, hits, full": {
        "all": (0.097, 7.091, 56), "reads": (0.093, 6.940, 56), "writes": (0.107, 7.139, 35)},
    "open, runs, hits, light": {
        "all": (0.898, 1.196, 128), "reads": (0.575, 1.106, 128), "writes": (0.913, 1.460, 76)},
    "open, runs, light": {
        "all": (0.963, 1.248, 181), "reads": (0.956, 1.106, 80), "writes": (0.963, 1.426, 144)},
    "open, runs, write cache, busy": {
        "all": (0.192, 2.611, 49), "reads": (0.296, 8.566, 49), "writes": (0.044, 4.010, 49)},
    "open, runs, write cache, full": {
        "all": (0.161, 2.072, 9), "reads": (0.483, 2.650, 9), "writes": (0.023, 1.415, 9)},
    "open, runs, write cache, light": {
        "all": (0.409, 1.513, 57), "reads": (0.410, 2.523, 57), "writes": (0.097, 2.528, 57)},
    "open, runs, write cache, writes alone, busy": {
        "all": (0.230, 10.060, 27), "writes": (0.230, 10.060, 27)},
    "open, runs, write cache, writes alone, full": {
        "all": (0.235, 1.000, 1), "writes": (0.235, 1.000, 1)},
    "open, runs, write cache, writes alone, light": {
        "all": (0.628, 2.070, 31), "writes": (0.628, 2.070, 31)},
}
# kind: measured over predicted free bytes/s on a map on which all is wanted
FREE = {
    "gaps": (0.841, 1.009),  # of 87
    "idle, reads ahead": (0.818, 1.048),  # of 192
    "idle, stops": (0.813, 1.160),  # of 64
    "idle, write cache": (0.508, 1.008),  # of 41
}
# measured over predicted days of a whole scan in gaps and in idle time: of 36 (TABLE=days), but for
# the one in twenty that is lowest, and highest
DAYS = (0.84, 1.25)


def free_kind(device, workload):
    """What predictions of the free bandwidth are like in how far they are off: a key of FREE."""
    if workload.arrival_process in CLOSED and not workload.think_time:
        return "gaps"
    if device.cache and device.cache.write_policy == "back" and workload.read_fraction < 1:
        return "idle, write cache"
    ahead = device.cache and device.cache.read_ahead != "none"
    return "idle, reads ahead" if ahead else "idle, stops"


def _arrivals(workload):
    """How requests come: "alone" is one at a time."""
    if workload.arrival_process in CLOSED:
        one = workload.arrival_process == "constant-closed" or workload.outstanding == 1
        return "alone" if one else "closed"
    return "bursts" if workload.arrival_process == "bursty" else "open"


def _queue(found):
    """How long the queue is: "light", "busy", "full"."""
    if found.response_time is None:
        return "full"
    longer = 1.0 if found.writes_kept else found.response_time / found.service_time
    if found.utilisation > FULL[0] or longer > FULL[1]:
        return "full"
    light = LIGHT_KEPT if found.writes_kept else LIGHT[0]
    return "busy" if found.utilisation > light or longer > LIGHT[1] else "light"


def kind(workload, found):
    """What predictions of a workload are like in how far they are off: a key of BANDS.
    found: the compose.Prediction."""
    arrivals = _arrivals(workload)
    in_runs = workload.run_length is not None and workload.locality_fraction > 0
    alike = not in_runs and not workload.sparse_run_fraction and not workload.run_stride
    words = [arrivals, "random" if alike else "runs"]
    if found.writes_kept:
        words.append("write cache")
        if arrivals != "bursts" and not workload.read_fraction:
            words.append("writes alone")
    elif not alike and arrivals != "bursts" and found.miss_prob < LEAST_MISSES:
        words.append("hits")
    if {"open": not alike or found.writes_kept, "alone": not alike and found.writes_kept,
            "bursts": not alike and not found.writes_kept}.get(arrivals):
        words.append(_queue(found))
    return ", ".join(words)


def band(name, of=ALL):
    """(low, high, cases) of a kind; of one that has never been drawn the widest of all."""
    every = [each[of] for each in BANDS.values() if of in each]
    return BANDS.get(name, {}).get(of) or (min(one[0] for one in every),
                                           max(one[1] for one in every), 0)


def doubtful(workload, found, of=ALL):
    """Why nothing but the band is told of a prediction; None if its number is worth something."""
    name = kind(workload, found)
    low, high, cases = band(name, of)
    if cases < LEAST_CASES:
        return "%s: seen in %d cases only" % (name, cases)
    if high <= MOST_WIDE * low:
        return None
    return "%s: responses were %.2f to %.2f times what is reckoned" % (name, low, high)


def response(workload, found, of=ALL):
    """(least, most) response, s, of a compose.Prediction: of all requests, of reads or of writes;
    None if it foretells none."""
    told = {ALL: found.response_time, READS: found.read_response,
            WRITES: found.write_response}[of]
    if told is None:
        return None
    low, high, _ = band(kind(workload, found), of)
    return low * told, high * told
