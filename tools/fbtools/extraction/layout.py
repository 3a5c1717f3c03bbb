# SPDX-License-Identifier: GPL-2.0
"""Where a drive's units lie: places.py's queries, what makes zones of measured
tracks, and what makes a model's text of zones."""

from .modeltext import fbmodel
from .places import HOLE, MOVED, ORDERS, PLACE, TRACK, Layout, Zone

__all__ = ["HOLE", "MOVED", "ORDERS", "PLACE", "TRACK", "Layout", "Zone", "fbmodel"]
