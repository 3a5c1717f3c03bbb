# SPDX-License-Identifier: GPL-2.0
"""Results of runs as a table."""

import os

# header, width, format, value of a result
COLUMNS = (
    ("req/s", 8, "%.1f", lambda r: r["requests_per_s"]),
    ("slow%", 6, "%.2f", lambda r: r.get("slowdown_pct")),
    ("order%", 6, "%.2f", lambda r: r["order"]["cost_pct"] if r.get("order", {}).get("followed")
     else None),
    ("mean_ms", 8, "%.2f", lambda r: r["response_ms"]["mean"]),
    ("p99_ms", 8, "%.1f", lambda r: r["response_ms"]["p99"]),
    ("read_ms", 8, "%.2f", lambda r: r["read_ms"]["mean"] or None),
    ("write_ms", 8, "%.2f", lambda r: r["write_ms"]["mean"] or None),
    ("util%", 6, "%.1f", lambda r: 100 * r["utilisation"]),
    ("in50us%", 7, "%.2f", lambda r: 100 * r["reports_within_50us"] if r.get("predicted")
     else None),
    ("free_MB/s", 9, "%.2f", lambda r: r.get("free_mb_s")),
    ("done%", 6, "%.2f", lambda r: 100 * r["task_done"] if "task_done" in r else None),
    ("scans/d", 8, "%.3f", lambda r: r.get("scans_per_day")),
    ("speed", 7, "%.0fx", lambda r: r["seconds"] / max(r["wall_s"], 1e-3)),
)


def shown(name, value):
    """A setting in the table."""
    text = str(value)
    if name in ("drive", "model"):
        text = os.path.splitext(os.path.basename(text))[0]
    return text


def table(varied, results):
    """Lines of a table; columns without any value are left out."""
    columns = [(head, width, [form % value(r) if value(r) is not None else "-" for r in results])
               for head, width, form, value in COLUMNS
               if any(value(r) is not None for r in results)]
    for name in reversed(varied):
        cells = [shown(name, r["settings"][name]) for r in results]
        columns.insert(0, (name, max(map(len, cells + [name])), cells))
    lines = ["  ".join("%*s" % (width, head) for head, width, _ in columns)]
    for i in range(len(results)):
        lines.append("  ".join("%*s" % (width, cells[i]) for _, width, cells in columns))
    return lines
