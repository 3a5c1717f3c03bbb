# SPDX-License-Identifier: GPL-2.0
"""What the cells of make bench-scrub come to: only text and numbers."""

import os
import re

from freeblock import ToolError
from . import peersum

SECTOR = 512


def counters(text, ending):
    """"key value" lines of that part of a snapshot (load.c) whose path ends so."""
    for part in re.split(r"^== ", text, flags=re.M)[1:]:
        path, _, content = part.partition("\n")
        if path.endswith(ending):
            return peersum.keys(content)
    return {}


def found_errors(folder):
    """[(s since the start, first sector, sectors)]: what the scrubber met."""
    found = []
    for line in peersum.read_text(os.path.join(folder, "found")).splitlines():
        ns, first, count = map(int, line.split())
        found.append((ns / 1e9, first, count))
    return found


def detections(planted, found):
    """Seconds from each burst to the first error met in it; None: not met.

    planted: [(second, [(first, count), ...])]; found as of found_errors(). A range in
    LBNs counts from its first to its last sector: between runs nothing is bad."""
    times = []
    for second, runs in planted:
        met = [at - second for at, first, count in found if at >= second and any(
            first < run + length and run < first + count for run, length in runs)]
        times.append(min(met) if met else None)
    return times


def foreground(folder):
    """Sums of what the loads said, and their latencies."""
    parts, latencies = [], []
    while os.path.exists(os.path.join(folder, "fg%d.said" % len(parts))):
        name = os.path.join(folder, "fg%d" % len(parts))
        parts.append(peersum.keys(peersum.read_text(name + ".said")))
        if os.path.exists(name + ".lat"):
            latencies += peersum.read_latencies(name + ".lat")
    return {key: sum(part[key] for part in parts) for key in ("requests", "bytes", "errors")}, \
        latencies


def scrubbed_bytes(folder, begin, end):
    """Of the window: a program's, or blocks that freeblock's task delivered; of two tasks
    those of the one that had more."""
    said = peersum.keys(peersum.read_text(os.path.join(folder, "bg.said")))
    if said:
        return said["bytes"]
    granule = int(peersum.read_text(os.path.join(folder, "granule_bytes")) or 0)
    delivered = [[counters(text, "/numbers").get(name, 0) for text in (begin, end)]
                 for name in peersum.DELIVERED]
    return max(last - first for first, last in delivered) * granule


def cell_figures(folder):
    """The figures of one cell out of what the guest left in its folder."""
    lacking = peersum.read_text(os.path.join(folder, "lacking")).strip()
    if lacking:
        return {"lacking": lacking}
    begin = peersum.read_text(os.path.join(folder, "snap.begin"))
    end = peersum.read_text(os.path.join(folder, "snap.end"))
    window = peersum.snapshot(end)["now_ns"] - peersum.snapshot(begin)["now_ns"]
    drive = peersum.keys(peersum.read_text(os.path.join(folder, "drive")))
    sums, latencies = foreground(folder)
    scrubbed = scrubbed_bytes(folder, begin, end)
    media = [counters(text, "/stats") for text in (begin, end)]
    figures = {
        "window_s": window / 1e9,
        "requests_per_s": sums["requests"] * 1e9 / window,
        "fg_mb_s": sums["bytes"] * 1e3 / window,
        "scrub_mb_s": scrubbed * 1e3 / window,
        "fg_errors": sums["errors"],
        "drive_busy_pct": 100 * (media[1]["busy_ns"] - media[0]["busy_ns"]) / window,
        "sectors_read": media[1]["sectors_read"] - media[0]["sectors_read"],
        "sectors_verified": media[1]["sectors_verified"] - media[0]["sectors_verified"],
        "late_pm": 1000 * drive["late_over_10us"] / max(1, drive["commands"]),
        "found": found_errors(folder),
    }
    figures.update(peersum.latency_figures(latencies))
    return figures


def with_disk(row, sectors, sector_bytes):
    """The row of a cell, with what takes the disk to tell: its size (sectors of 512
    bytes), and what the drive read for each byte scrubbed. Foregrounds of reads only: what
    they read is not the scrubber's."""
    row["disk_bytes"] = sectors * SECTOR
    if "lacking" in row:
        return row
    read = (row["sectors_read"] + row["sectors_verified"]) * sector_bytes
    beside = read - row["fg_mb_s"] * row["window_s"] * 1e6
    if row["load"] == "bursts" and row["peer"] == "freeblock":
        # its own counters begin anew with each pass
        row["scrub_mb_s"] = max(0, beside / row["window_s"] / 1e6)
    scrubbed = row.get("scrub_mb_s", 0) * row.get("window_s", 0) * 1e6
    if scrubbed:
        row["media_per_byte"] = beside / scrubbed
    return row


def with_detections(row, planted):
    """The row of a cell, its errors by what was planted."""
    if not planted or "found" not in row:
        return row
    times = detections(planted, row["found"])
    met = sorted(t for t in times if t is not None)
    until_end = [row["warmup"] + row["seconds"] - second for second, _ in planted]
    least = [left if t is None else t for t, left in zip(times, until_end)]
    row.update(bursts=len(planted), bursts_found=len(met),
               detect_least_s=sum(least) / len(least))
    if met:
        row.update(detect_mean_s=sum(met) / len(met), detect_max_s=met[-1],
                   detect_median_s=peersum.percentile(met, 50))
    return row


def check(rows):
    """Names of rows that are no measurement, and why."""
    faults = []
    for row in rows:
        if "lacking" in row:
            continue
        name = "%s, %s, %s %s" % (row["drive"], row["load"], row["peer"], row["setting"])
        if row["fg_errors"] and row["load"] != "bursts":
            faults.append("%s: %d errors" % (name, row["fg_errors"]))
        if row["late_pm"] > peersum.MOST_LATE_PM:
            faults.append("%s: the drive was late with %.1f of 1000 commands" %
                          (name, row["late_pm"]))
        if not row["requests_per_s"] and row["load"] != "quiet":
            raise ToolError("%s: no foreground request in the window" % name)
    return faults
