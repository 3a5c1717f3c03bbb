# SPDX-License-Identifier: GPL-2.0
"""Is the extracted model right? Requests that were not used in the fit, predicted and measured.

The predictions are those of the scheduler's own code (tools/judge), made from the file
that was written: what is judged is what will be believed.
"""

import subprocess
from dataclasses import asdict, dataclass, field

import numpy as np

from .. import ToolError
from ..base import helpers
from ..formats import fbmodel
from .device import FUA, OVERLAP
from .places import Layout

# The phase is believed after 16 consistent completions, and taken over 32 (core/head.h)
WARM_UP = 64
BATCH = 100
# Longest request, bytes: short enough that look-ahead and bus do not matter
LONGEST = 65536
# Of "local" requests: mean distance as a share of the disk
NEAR = 0.002
# A model worse than this is marked: free reads would lose more turns than they bring blocks
LEAST_WITHIN_PCT = 85.0
MOST_MISSES_PCT = 15.0
MOST_FAILED = 0.05      # of the reads, which meet bad sectors
CLOSE_US = 50.0


@dataclass
class Share:
    """How well one kind of request was predicted."""

    name: str
    requests: int = 0
    unpredicted: int = 0
    within_50us_pct: float = 0.0
    within_100us_pct: float = 0.0
    error_p50_us: float = 0.0
    error_p99_us: float = 0.0
    misses_pct: float = 0.0
    errors_us: list = field(default_factory=list, repr=False)


@dataclass
class Verdict:
    """Validation as a whole; `reason` says why the model is not to be trusted, if so."""

    shares: list
    total: Share
    bound_us: float
    reason: str = ""

    def as_dict(self):
        """For JSON, without the single errors."""
        shares = [{key: value for key, value in asdict(share).items() if key != "errors_us"}
                  for share in self.shares + [self.total]]
        return {"shares": shares, "bound_us": self.bound_us, "trusted": not self.reason,
                "reason": self.reason}


def _sizes(rng, dev, count):
    most = max(min(LONGEST // (512 * dev.unit_sectors), dev.longest), 1)
    return np.minimum(rng.geometric(min(1.0, 4 / most), count), most)


class _Mapped:
    """The units whose angles a model's file says, one stretch behind the other."""

    def __init__(self, path, unit_sectors):
        with open(path, "rb") as file:
            index = Layout.of_model(fbmodel.Model(file.read(), path)).index
        held = np.where(index.unmapped, 0, index.held // unit_sectors)
        self.first = index.first[:-1] // unit_sectors
        self.base = np.concatenate(([0], np.cumsum(held)))
        self.unmapped = index.unmapped

    @property
    def blocks(self):
        """How many."""
        return int(self.base[-1])

    def place(self, number):
        """The blocks of such numbers."""
        zone = np.searchsorted(self.base, number, side="right") - 1
        return self.first[zone] + number - self.base[zone]

    def holds(self, blocks):
        """Which blocks are of it."""
        return ~self.unmapped[np.searchsorted(self.first, blocks, side="right") - 1]


def _random(rng, dev, mapped, count):
    sizes = _sizes(rng, dev, count)
    return (rng.random(count) * (mapped.blocks - sizes)).astype(np.int64), sizes


def _local(rng, dev, mapped, count):
    sizes = _sizes(rng, dev, count)
    away = rng.laplace(0, NEAR * mapped.blocks, count).astype(np.int64)
    places = rng.integers(0, mapped.blocks) + np.cumsum(away)
    room = mapped.blocks - int(sizes.max())
    folded = np.abs(places) % (2 * room)        # reflected at both ends
    return np.minimum(np.where(folded < room, folded, 2 * room - folded), room), sizes


def measure(dev, blocks, sizes, overlap):
    """RESULTs of these reads, run in batches."""
    parts = []
    for first in range(0, len(blocks), BATCH):
        ops = dev.ops(blocks[first:first + BATCH], sizes[first:first + BATCH],
                      flags=FUA | (OVERLAP if overlap else 0))
        ops["flags"][:1] = FUA          # a batch begins at an idle drive
        parts.append(dev.run(ops))
    return np.concatenate(parts)


def _judged(model_path, text):
    """What the scheduler's model code makes of a model's file and of these reads: the process."""
    program = helpers.program("tools/judge", "judge", "freeblock-judge")
    return subprocess.run([program, model_path], input=text, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def refusal(model_path):
    """Why the scheduler would not load a model; "" if it would."""
    done = _judged(model_path, "")
    return done.stderr.strip() if done.returncode else ""


def judge(model_path, unit_sectors, blocks, sizes, results):
    """What the scheduler would have predicted: (error_ns, turns) per command; nan: nothing.

    Of two commands at the drive at once the one reported first was served first."""
    order = np.argsort(results["done"], kind="stable")
    text = "".join("%d %d R %d %d\n" % row for row in zip(
        results["submit"][order], results["done"][order], blocks[order] * unit_sectors,
        sizes[order] * unit_sectors))
    done = _judged(model_path, text)
    if done.returncode:
        raise ToolError("the model cannot be judged: %s" % done.stderr.strip())
    out = np.full((len(blocks), 2), np.nan)
    for row, line in zip(order, done.stdout.splitlines()):
        if line != "-":
            out[row] = [float(word) for word in line.split()[1:]]
    return out[:, 0], out[:, 1]


def _share(name, errors_ns, turns):
    """What could not be predicted was not predicted well: the scheduler would not have known
    where the head is."""
    known = ~np.isnan(errors_ns)
    errors, right = np.abs(errors_ns) / 1000, turns == 0
    share = Share(name, len(errors_ns), int((~known).sum()))
    share.within_50us_pct = 100 * float((right & (errors <= 50)).mean())
    share.within_100us_pct = 100 * float((right & (errors <= 100)).mean())
    if known.any():
        share.error_p50_us, share.error_p99_us = (
            float(x) for x in np.percentile(errors[known], [50, 99]))
        share.misses_pct = 100 * float((~right[known]).mean())
        share.errors_us = [float(x) for x in errors_ns[known] / 1000]
    return share


def _reason(total, bound_us):
    close = 100 * float((np.abs(total.errors_us) <= bound_us).sum()) / total.requests
    if close < LEAST_WITHIN_PCT:
        return "only %.1f %% of %d reads ended within %d us of the predicted angle" % (
            close, total.requests, bound_us)
    if total.misses_pct > MOST_MISSES_PCT:
        return "%.1f %% of %d reads lost or gained turns" % (total.misses_pct, total.requests)
    return ""


def validate(dev, model_path, requests=400, seed=1, jitter_us=0.0, progress=None):
    """A Verdict about the model in a file: random, local and queued reads, `requests` each, of what
    it has mapped.

    jitter_us: late noise of the completions that was measured; wider bounds are stated."""
    rng = np.random.default_rng(seed)
    kinds = (("random", _random, False), ("local", _local, False), ("queued", _random, True))
    mapped = _Mapped(model_path, dev.unit_sectors)
    plan = [(None, *_random(rng, dev, mapped, WARM_UP), False)]
    plan += [(name, *draw(rng, dev, mapped, requests), overlap) for name, draw, overlap in kinds]
    plan = [(name, mapped.place(numbers), sizes, overlap) for name, numbers, sizes, overlap in plan]
    results = []
    for number, (name, blocks, sizes, overlap) in enumerate(plan):
        if progress:
            progress(number / len(plan), "validating: %s reads" % (name or "first"))
        results.append(measure(dev, blocks, sizes, overlap))
    bad = np.concatenate(results)["status"] != 0
    if bad.mean() > MOST_FAILED:
        raise ToolError("%d of the validation's reads failed: see the kernel's log" % bad.sum())
    errors, turns = judge(model_path, dev.unit_sectors,
                          np.concatenate([blocks for _, blocks, _, _ in plan]),
                          np.concatenate([sizes for _, _, sizes, _ in plan]),
                          np.concatenate(results))
    at = np.cumsum([0] + [len(blocks) for _, blocks, _, _ in plan])
    # nobody knows where a bad sector has left the head, or a hole, up to the second read behind it
    ends = np.concatenate([blocks + sizes - 1 for _, blocks, sizes, _ in plan])
    bad |= ~mapped.holds(ends)
    counts = np.convolve(bad, [1, 1, 1])[:len(bad)] == 0
    kept = [counts[at[i]:at[i + 1]] for i in range(len(plan))]
    shares = [_share(name, errors[at[i]:at[i + 1]][kept[i]], turns[at[i]:at[i + 1]][kept[i]])
              for i, (name, _, _, _) in enumerate(plan) if name]
    total = _share("all", errors[at[1]:][counts[at[1]:]], turns[at[1]:][counts[at[1]:]])
    bound_us = CLOSE_US + max(0.0, jitter_us - 20)
    return Verdict(shares, total, bound_us, _reason(total, bound_us))
