# SPDX-License-Identifier: GPL-2.0
"""Where a drive's units lie: places.py's queries, compress.py's making of zones
from measured tracks, modeltext.py's making of a model's text from zones."""

from .compress import compress, find_order
from .modeltext import fbmodel
from .places import HOLE, MOVED, ORDERS, PLACE, TRACK, Layout, Zone

__all__ = ["HOLE", "MOVED", "ORDERS", "PLACE", "TRACK", "Layout", "Zone", "compress", "fbmodel",
           "find_order"]
