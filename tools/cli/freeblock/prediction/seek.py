# SPDX-License-Identifier: GPL-2.0
"""Seeks: how far (eq. 4), and how long (eq. 2).

Requests are uniform over bytes, so distances follow from the cylinders' capacities; on one zone
that is the paper's uniform range of cylinders. Cylinders are whole: requests on one cylinder have
distance 0, to which the paper's eq. 2 gives the time a.
"""

import numpy as np

from .distribution import STEP, Dist

PLACES = 160            # of either end of a seek
GOLDEN = 0.6180339887


def seek_time(device, distance, write=False):
    """s, of cylinders (an array): straight between the curve's points; a write's with settling."""
    if write and device.write_seek_time is not None:
        points, times = device.write_seek_distance, device.write_seek_time
    else:
        points, times = device.seek_distance, device.seek_time
    settle = device.write_settle if write and device.write_seek_time is None else 0.0
    return np.maximum(np.interp(distance, np.append(0, points), np.append(0, times)) + settle, 0.0)


def move_time(device, distance, write=False):
    """(s to the same head, s to another one) of whole cylinders (an array)."""
    switch = max(device.track_switch + write * device.write_settle, 0.0)
    same = np.where(distance < 1, 0.0, seek_time(device, distance, write))
    return same, np.maximum(same, switch)


def distances(device, workload):
    """Whole cylinders between two accesses of a workload, sorted: each as likely."""
    first, size = workload.data_start, workload.data_span
    number = np.arange(PLACES)
    here = np.floor(device.cylinder_of(first + (number + 0.5) / PLACES * size))
    # by the golden ratio: no two pairs are equally far from each other
    there = np.floor(device.cylinder_of(first + (number + GOLDEN * number % 1) / PLACES * size))
    return np.sort(np.abs(here[:, None] - there[None, :]).ravel())


def move(device, workload, pending=1, write=False, step=STEP):
    """Dist of the time until the head is on the track of one of n pending random requests: eq. 2
    with eq. 4, whose (1 - y / C)^(n + 1) is the chance of two accesses to the (n + 1) / 2; heads
    are as likely as each other. `pending` need not be whole. To slow zones it is a turn more."""
    far = distances(device, workload)
    longer = np.arange(len(far), -1, -1) / len(far)
    weight = -np.diff(longer ** ((pending + 1) / 2))
    same, other = move_time(device, far, write)
    share = 1 / device.heads
    times = np.concatenate((same, other))
    weight = np.concatenate((weight * share, weight * (1 - share)))
    slow = float(device.zones.slow @ device.zone_weights(workload))
    if slow:
        turns = np.tile((far > 1) * device.revolution_time, 2)
        times = np.concatenate((times, times + turns))
        weight = np.concatenate((weight * (1 - slow), weight * slow))
    return Dist.of(times, weight, step)
