# SPDX-License-Identifier: GPL-2.0
"""Golden runs of the simulator: a change that is not meant to change behaviour changes none of
them, bit for bit. Takes 5 s.

A commit that does mean to writes them anew (pytest -s --update), and says which figures moved,
and why: those are printed. Seen to fail: FB_DESTAGE_BARES 9, FB_SEARCH_STRIDE 7,
FB_POLICY_BATCH 15.
"""

import hashlib
import json
import os

from freeblock import sim

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sim_golden.json")
# what a person compares
FIGURES = ("requests", "free_mb_s", "response_ms.mean", "response_ms.p99", "idle.mean_us")
# policy x load x drive x cache x task x errors; each 10 s of disk time but for those that say so
CELLS = """
drive=atlas10k policy=clook depth=2
drive=atlas10k policy=sstf depth=2
drive=atlas10k policy=sptf task=scan
drive=atlas10k policy=sptf-sw task=scan preset=paper
drive=atlas10k policy=auto task=scan
drive=atlas10k policy=auto task=scan depth=2 hold=0
drive=atlas10k policy=auto task=scan separate=0
drive=atlas10k policy=auto task=scan value=count weight=flat
drive=atlas10k policy=auto task=scan rate=60
drive=atlas10k policy=auto task=scan rate=30 knowledge=none
drive=atlas10k policy=auto task=scan locality=streams:2 size=64k
drive=atlas10k policy=auto task=scan locality=zipf
drive=atlas10k policy=auto task=scan start=random:0.9
drive=atlas10k policy=auto task=fresh rate=100 burst=5
drive=atlas10k policy=none
drive=atlas10k policy=auto task=scan outstanding=64
drive=cheetah9 policy=auto task=scan
drive=cheetah9 policy=auto task=scan rate=40 idle_command=verify
drive=cheetah9 policy=auto task=scan conservatism_us=300
drive=nearline16 policy=auto task=scan rate=24
drive=nearline16 policy=auto task=scan rate=48 knowledge=none
drive=nearline16 policy=auto task=scan rate=79 fsync=0.5
drive=nearline16 policy=auto task=scan rate=24 order=sequential
drive=nearline16 policy=auto task=scan rate=24 order=staggered:128
drive=nearline16 policy=auto task=trickle:50 outstanding=4
drive=nearline16 policy=auto task=scan locality=append:2 reads=0.5
drive=nearline16-wc policy=auto task=scan rate=24
drive=nearline16-wc policy=auto task=scan rate=48 knowledge=none
drive=nearline16-wc policy=auto task=scan rate=79
drive=nearline16-wc policy=auto task=scan rate=24 idle_command=verify
drive=nearline16-wc policy=auto task=scan rate=24 start=random:0.9
drive=nearline16-wc policy=auto task=scan rate=24 locality=streams:4 seconds=60
drive=nearline16-wc policy=auto task=scan rate=24 fua=0.3 fsync=0.3
drive=nearline16-wc policy=auto task=scan rate=24 burst=5
drive=nearline16-wc policy=auto task=scan depth=2 rate=48
drive=nearline16-wc policy=none rate=48
drive=archive8 policy=auto task=scan rate=24
drive=x300 policy=auto task=scan rate=48
drive=atlas10k policy=auto task=scan range=0+102400 seconds=60 BAD
drive=atlas10k policy=auto task=scan range=0+102400 seconds=60 rate=30 BAD
drive=atlas10k policy=auto task=scan range=0+102400 seconds=60 rate=30 knowledge=none BAD info=0
"""
# sectors of the last ones that cannot be read
BAD = (803, 20010, 20011, *range(30000, 100000, 7000))


def run_all():
    """{cell: {"digest": ..., figure: value}}"""
    names = CELLS.strip().split("\n")
    return {name: told(result) for name, result in
            zip(names, sim.run_jobs([sim.complete(job(name)) for name in names]))}


def job(name):
    """A cell's settings."""
    words, bad, how = name.partition(" BAD")
    named = {"seed": "1", "seconds": "10", **dict(word.split("=", 1) for word in words.split())}
    return [*named.items()] + [("set", "medium_error %d 1 recovery_ms=20%s" % (lbn, how))
                               for lbn in BAD if bad]


def told(result):
    """A result's digest, and its figures."""
    result = {key: value for key, value in result.items() if key not in ("wall_s", "settings")}
    text = json.dumps(result, sort_keys=True)
    figures = {"digest": hashlib.sha256(text.encode()).hexdigest()[:16]}
    for figure in FIGURES:
        value = result
        for key in figure.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            figures[figure] = value
    return figures


def moved(kept, got):
    """Lines, of the cells that are others now."""
    return ["%s: %s" % (name, ", ".join(
        "%s %s -> %s" % (key, kept.get(name, {}).get(key), value)
        for key, value in figures.items() if kept.get(name, {}).get(key) != value))
            for name, figures in got.items() if kept.get(name) != figures]


def test_equal(request):
    """Each run is what it was."""
    with open(KEPT, encoding="ascii") as file:
        kept = json.load(file)
    got = run_all()
    if request.config.option.update:
        print("\n".join(moved(kept, got)))
        with open(KEPT, "w", encoding="ascii") as file:
            json.dump(got, file, indent=0)
            file.write("\n")
        return
    assert list(kept) == list(got)
    assert not moved(kept, got), "pytest -s --update writes them anew"
