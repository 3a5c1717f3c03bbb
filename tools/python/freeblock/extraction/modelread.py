# SPDX-License-Identifier: GPL-2.0
"""A .fbmodel text as header facts and a Layout of 512-byte LBNs."""

from .. import ToolError
from .places import ORDERS, Layout, Zone

POINTS = ("seek", "write_seek", "seek_spread")


def _zone(words):
    """Of a zone record's words."""
    said = dict(zip(words[2::2], words[3::2]))
    return Zone(int(words[0]), int(words[1]), int(said["spt"]), float(said["angle"]),
                float(said["track_skew"]), float(said["cyl_skew"]), int(said["dead"]),
                int(said["spares"]))


def _take(header, zones, name, words):
    """One record."""
    if name == "zone":
        zones.append(_zone(words))
    elif name == "head_spt":
        zones[-1].head_spt = (zones[-1].head_spt or []) + [int(word) for word in words[1:]]
    elif name == "slip":
        zones[-1].slips.append((int(words[0]), int(words[1]) if len(words) > 1 else 1))
    elif name == "remap":
        zones[-1].remaps.append((int(words[0]), int(words[2])))
    elif name in POINTS:
        header.setdefault(name, []).append((int(words[0]), int(words[1])))
    else:
        header[name] = " ".join(words)


def read(text):
    """(header, Layout): numbers of the header as texts, points of POINTS as pairs."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    header, zones = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        try:
            _take(header, zones, words[0], words[1:])
        except (ValueError, IndexError, KeyError) as error:
            raise ToolError("line %d of the model: %s" % (number, error)) from error
    if header.get("fbmodel") != "1" or not zones or header.get("head_order") not in ORDERS:
        raise ToolError("not a model's text")
    return header, Layout(int(header["heads"]), int(header["cylinders"]), header["head_order"],
                          zones)
