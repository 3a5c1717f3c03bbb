# SPDX-License-Identifier: GPL-2.0
"""Pictures of an extracted drive: seek curve with spread, zones, skews, validation."""

import os

from ..plot import panels

HISTOGRAM_US = 200
BINS = 80


def _seek(path, mechanics):
    """Seek time over distance, with one standard deviation to both sides."""
    spread = dict(mechanics.get("seek_spread") or [])
    lines = {"mean": [(cyl, ns / 1e6) for cyl, ns in mechanics["seek"]]}
    for way, name in ((-1, "less"), (1, "more")):
        lines["one standard deviation " + name] = [
            (cyl, (ns + way * spread.get(cyl, 0)) / 1e6) for cyl, ns in mechanics["seek"]]
    lines["head switch"] = [(cyl, mechanics["head_switch_ns"] / 1e6) for cyl, _ in
                            mechanics["seek"]]
    panels(path, "Seek profile", [{"x": "cylinders", "y": "ms", "lines": lines}])


def _zones(path, layout, unit_sectors):
    """Sectors per track over cylinders, and where each zone's LBNs lie."""
    steps = {"sectors per track": []}
    capacity = []
    held = 0
    for zone in layout.zones:
        for cyl in (zone.first_cyl, zone.last_cyl):
            steps["sectors per track"].append((cyl, zone.spt * unit_sectors))
            if zone.head_spt:
                steps.setdefault("shortest track", []).append(
                    (cyl, min(zone.head_spt) * unit_sectors))
        capacity.append((zone.first_cyl, held * unit_sectors * 512 / 1e9))
        held += zone.slots(layout.heads) - zone.dead - zone.spares
    capacity.append((layout.cylinders, held * unit_sectors * 512 / 1e9))
    panels(path, "Zones", [
        {"title": "track length", "x": "cylinder", "y": "sectors of 512 bytes", "lines": steps},
        {"title": "capacity before a cylinder", "x": "cylinder", "y": "GB",
         "lines": {"LBNs": capacity}}])


def _skews(path, layout):
    """Skews of each zone, in turns."""
    lines = {"track skew": [(z.first_cyl, z.track_skew) for z in layout.zones],
             "cylinder skew": [(z.first_cyl, z.cyl_skew) for z in layout.zones]}
    starts = {"zone's first sector": [(z.first_cyl, z.angle) for z in layout.zones]}
    panels(path, "Skews", [
        {"title": "from track to track", "x": "cylinder", "y": "turns", "lines": lines,
         "points": True},
        {"title": "where zones begin", "x": "cylinder", "y": "turns", "lines": starts,
         "points": True}])


def _errors(path, verdict):
    """How far reads ended from where they were predicted, whole turns left out."""
    width = 2 * HISTOGRAM_US / BINS
    lines = {}
    for share in verdict.shares:
        if not share.errors_us:
            continue
        counts = [0] * BINS
        for error in share.errors_us:
            counts[min(max(int((error + HISTOGRAM_US) / width), 0), BINS - 1)] += 1
        lines["%s: %.1f %% within 50 us, %.1f %% turns lost" % (
            share.name, share.within_50us_pct, share.misses_pct)] = [
                (i * width - HISTOGRAM_US, 100 * count / len(share.errors_us))
                for i, count in enumerate(counts)]
    if lines:
        panels(path, "Validation: measured less predicted", [
            {"x": "us (what lies beyond is in the outermost bins)", "y": "% of the reads",
             "lines": lines, "steps": True}])


def draw(folder, layout, unit_sectors, mechanics, verdict=None):
    """All pictures as PNG files in a folder; their paths. mechanics: a dict as
    modeltext.fbmodel() takes it."""
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, name + ".png")
             for name in ("seek", "zones", "skews", "validation")}
    _seek(paths["seek"], mechanics)
    _zones(paths["zones"], layout, unit_sectors)
    _skews(paths["skews"], layout)
    if verdict:
        _errors(paths["validation"], verdict)
    return [path for path in paths.values() if os.path.exists(path)]
