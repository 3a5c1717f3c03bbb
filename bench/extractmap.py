# SPDX-License-Identifier: GPL-2.0
"""How much of a simulated drive a model has right, by angles alone.

A model by runs knows neither heads nor cylinders. What counts is at which angle an LBN ends: one
that is off by more than 50 us is wrong. The truth is asked of the simulated drive itself, whose
description may say what no model does.
"""

import numpy as np

from freeblock.extraction.phase import wrap
from freeblock.extraction.places import Layout
from freeblock.formats import fbdrive, fbmodel
from . import replay

LBNS = 40000            # chosen at random
WRONG_US = 50.0
KEYS = ("mapped_pct", "wrong_pct", "trusted_wrong_pct", "within_50us_pct", "disk_minutes",
        "free_ratio")


def located(path, own):
    """At which angles the drive's own blocks end: turns, and their slots a turn."""
    rows = np.array(replay.located(path, own), dtype=float).reshape(-1, 7)
    return rows[:, 6] + 1 / rows[:, 5]


def off_us(path, model, lbns):
    """How far off the model's angles of LBNs (of 512 bytes) are, us, a common offset apart."""
    scalars, _ = fbdrive.records(path)
    scale = int(scalars.get("sector_bytes", ["512"])[0]) // 512
    own = np.asarray(lbns) // scale
    at = Layout.of_model(model).locate(own * scale + scale - 1)
    off = wrap(at["start"] + 1 / at["spt"] - located(path, own))
    around = np.angle(np.mean(np.exp(2j * np.pi * off))) / (2 * np.pi)
    off = wrap(off - around)
    return wrap(off - np.median(off)) * model.number("period_ps") / 1e6


def judge(path, text, told=(), trusted=True):
    """mapped_pct: LBNs that the extraction does not name as doubtful; wrong_pct: of all, those that
    it does not name and that are wrong; trusted_wrong_pct: the same if the model is trusted."""
    model = fbmodel.Model(text, "the extracted model")
    sectors = model.number("sectors")
    lbns = np.unique(np.random.default_rng(4).integers(0, sectors, LBNS))
    named = np.zeros(len(lbns), bool)
    for first, last, *_ in told:
        named |= (lbns >= first) & (lbns <= last)
    holes = sum(last - first + 1 for first, last, *_ in told)
    wrong = (np.abs(off_us(path, model, lbns)) > WRONG_US) & ~named
    pct = 100 * float(wrong.mean())
    return {"mapped_pct": 100 * (1 - min(holes / sectors, 1)), "wrong_pct": pct,
            "trusted_wrong_pct": pct if trusted else 0.0}
