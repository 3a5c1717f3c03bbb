# SPDX-License-Identifier: GPL-2.0
"""Tests of bench/score.py: figures computed by hand, and those of the
script that came with the data of real drives."""

import csv
import importlib.util
import os

import pytest

from taptest import TOP
from bench import score, traces

DRIVES = os.environ.get("FREEBLOCK_DRIVES") or os.path.join(TOP, "..", "shared", "data", "drives")
# Their script takes whole microseconds of a rounded product; ours are exact.
TOLERANCE_MS = 0.002


def us(*times):
    """Nanoseconds."""
    return [int(1000 * t) for t in times]


def test_demerit():
    """Below 100 us the buckets are 1 us wide, so that quantiles are known:
    all at 10 us are 10 + p.

    Seen to fail: buckets that grow by 10 %; a first bucket of 2 us; quantiles
    at the bucket's bottom; a time counted below itself."""
    assert score.demerit_ms(us(5, 7, 9), us(9, 5, 7)) == 0
    assert score.demerit_ms(us(*[10] * 8), us(*[30] * 8)) == pytest.approx(0.020, abs=1e-12)
    # Half at 10 (10 + 2p) and half at 20 (19 + 2p), all at 20 (20 + p): the
    # integral of (p - 10)^2 to 1/2 and of (p - 1)^2 from there is 571/12.
    assert score.demerit_ms(us(10, 20), us(20, 20)) == pytest.approx((571 / 12) ** 0.5 / 1000,
                                                                     abs=1e-6)
    # both in the bucket of 102 and 103 us
    assert score.demerit_ms(us(102), us(103)) == 0


def theirs():
    """The module score.py that lies beside the data."""
    spec = importlib.util.spec_from_file_location("theirs", os.path.join(DRIVES, "score.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def predictions():
    """Files of DiskSim's."""
    folder = os.path.join(DRIVES, "disksim-pred")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


@pytest.mark.parametrize("name", predictions() or [None])
def test_against_theirs(name):
    """One file of DiskSim's predictions, by both."""
    if name is None:
        pytest.skip("no %s; set FREEBLOCK_DRIVES" % DRIVES)
    drive = name.split(".")[0]
    with open(os.path.join(DRIVES, "disksim-pred", name), encoding="ascii") as file:
        predicted_ms = [row[-1] for row in csv.reader(file)][1:]
    records = traces.read(os.path.join(DRIVES, "disks", drive, drive + ".trace"))
    measured = [record.response_ns for record in records][:len(predicted_ms)]
    ours = score.demerit_ms(measured, [1000 * traces.nanoseconds(ms) for ms in predicted_ms])
    assert ours == pytest.approx(
        theirs().demerit([ns / 1e6 for ns in measured], [float(ms) for ms in predicted_ms]),
        abs=TOLERANCE_MS)
