# SPDX-License-Identifier: GPL-2.0
"""A model that was measured of one drive, tried on another of its make: what the maker decided,
zones, skews, arm, is common; the speed of rotation and the defects are a drive's own. So the
period is measured anew, and the validation, whose reads the model has not seen, says whether the
rest fits: all of it, or the arm alone, with a layout of the drive's own.
Documentation/extract.rst, "Drives of one make".
"""

import os
import tempfile

from .. import ToolError
from ..drive import store
from ..formats import fbmodel
from . import validate
from .modeltext import NS_FIELDS, SEEK_KINDS

MAKE = ("vendor", "product")
MOST = 3                        # are tried, some half a minute each
# A drive's own, or measured of it: replaced
OWN = ("serial", "revision", "wwn", "period_ps")
SEED = 5000011                  # of the validation's reads: others than extractions use
# Own models do better than what is barely to be trusted (validate.py)
LEAST_CLOSE_PCT = 92.0
MOST_MISSES_PCT = 8.0


def is_of(model, who, sectors):
    """Whether it is of a drive of this make, size and firmware, or of no one firmware."""
    said = model.header
    return all(said.get(word) == who[word] for word in MAKE) and \
        said.get("sectors") == str(sectors) and \
        said.get("revision", who["revision"]) == who["revision"]


def check(models, who, sectors):
    """ToolError if one is of another make, or not whole."""
    for model in models:
        if not is_of(model, who, sectors):
            raise ToolError("%s: it is of another make, size or firmware than this drive: %s %s "
                            "%s, %d sectors" % (model.name, who["vendor"], who["product"],
                                            who["revision"], sectors))
        why = validate.refusal(model.name)
        if why:
            raise ToolError("%s: the scheduler would not load it: %s" % (model.name, why))


def _read(path):
    """A model, or None: it is spoiled, or none. A pipe of that name is not waited for."""
    try:
        return store.Model.of_file(path) if os.path.isfile(path) else None
    except (ToolError, OSError):
        return None


def candidates(who, sectors, folders):
    """Models of other drives of this make, size and firmware (or of no one firmware), the latter
    last, MOST of them; those that are spoiled, not whole or distrusted are passed over.

    who: as of identity.inquire()"""
    found = []
    for folder in folders:
        for name in store.models(folder):
            model = _read(os.path.join(folder, name))
            if model and is_of(model, who, sectors) and not model.header.get("distrusted") and \
                    not validate.refusal(model.name):
                found.append(model)
    return sorted(found, key=lambda model: "revision" not in model.header)[:MOST]


def adapted(model, who, period_ps):
    """Its text as this drive's."""
    lines = fbmodel.body(model.name, model.data).decode("ascii", "replace").splitlines()
    kept = [line for line in lines[1:]
            if line.split() and not line.startswith("#") and line.split()[0] not in OWN]
    own = ["%s %s" % (word, who[word]) for word in OWN if who.get(word)]
    return fbmodel.seal("\n".join(
        [lines[0], *fbmodel.comment_lines(["That of another drive of this make, %s, with this "
                                           "drive's own period" % os.path.basename(model.name)]),
         *own, "period_ps %d" % period_ps, *kept]).encode("ascii", "replace"))


def mechanics_of(model):
    """How its arm moves, as modeltext wants it, but for the period."""
    model.need("seek")
    moves = {name: model.number(name, 0) for name in NS_FIELDS}
    return {**moves, "zero_latency": model.text("zero_latency") == "yes",
            **{kind: model.points[kind] for kind in SEEK_KINDS}}


def fits(verdict):
    """Whether a model is about as good as the drive's own would be."""
    errors = verdict.total.errors_us
    close = sum(abs(error) <= verdict.bound_us for error in errors)
    return not verdict.reason and verdict.total.misses_pct <= MOST_MISSES_PCT and \
        100 * close >= LEAST_CLOSE_PCT * verdict.total.requests


def told(model, verdict):
    """How it did, in words."""
    return "%s: %.1f %% of %d reads within 50 us, %.1f %% lost or gained turns" % (
        model.name, verdict.total.within_50us_pct, verdict.total.requests,
        verdict.total.misses_pct)


def try_text(dev, text, phase, progress=None):
    """The Verdict about a text."""
    with tempfile.NamedTemporaryFile(suffix=".fbmodel") as draft:
        draft.write(text)
        draft.flush()
        return validate.validate(dev, draft.name, seed=SEED, jitter_us=phase.late_ns / 1000,
                                 progress=progress)
