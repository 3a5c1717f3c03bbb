# SPDX-License-Identifier: GPL-2.0
"""What is known of a drive, before it becomes .fbdrive and .fbmodel text."""

from dataclasses import dataclass, field

from freeblock import ToolError
from freeblock.fbmodel import within


@dataclass
class Drive:
    """Units as in the formats: ns, ps, sectors, fractions of a turn.

    layout: dslayout.Layout; seek: [(cylinders, ns)] before a read;
    overhead_ns: kind of command -> (after a read, after a write);
    cache: (segments, sectors, write segments) or None."""

    layout: object
    name: str = ""
    vendor: str = ""
    product: str = ""
    period_ps: int = 0
    seek: list = field(default_factory=list)
    head_switch_ns: int = 0
    write_settle_ns: int = 0
    zero_latency: bool = False
    overhead_ns: dict = field(default_factory=dict)
    bus_ns: int = 0
    watermark_ppm: int = 0
    reselect_ns: int = 0
    extra_disconnect_ns: tuple = (0, 0, 0, 0, 0)
    completion_ns: tuple = (0, 0)
    write_move_ns: int = 0
    early_seek: bool = True
    firmware: str = "sptf"
    cache: tuple = None
    read_ahead: str = "none"
    read_ahead_max: int = 0
    read_ahead_on_hit: bool = False
    read_ahead_join: bool = False
    keep_passing: bool = False
    discard_read: bool = False
    stop_at_once: bool = False
    written_hits: bool = False
    append_writes: bool = False
    write_cache: str = "off"
    comments: list = field(default_factory=list)
    places: dict = field(default_factory=dict)      # field -> where its value stands

    def within(self, name, what, value, low, high):
        """The field's value, if the format can hold it."""
        where = self.places.get(name)
        return within("%s: %s" % (where, what) if where else what, value, low, high)


def check_identity(drive):
    """INQUIRY has room for vendor and product, and the formats have words."""
    for name, value, room in (("vendor", drive.vendor, 8), ("product", drive.product, 16)):
        if not 1 <= len(value) <= room or not value.isascii() or not value.isprintable() or \
                " " in value or "#" in value:
            raise ToolError("%s %r: 1 to %d printable characters without blanks or # (--vendor, "
                            "--product)" % (name, value, room))
