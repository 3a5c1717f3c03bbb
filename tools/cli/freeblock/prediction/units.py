# SPDX-License-Identifier: GPL-2.0
"""What people write for a workload's attributes, as numbers in SI units.

A plain number is in the attribute's own unit. A suffix must be one of that unit: what it
does not know is refused, never guessed.
"""

import re

from .. import ToolError
from .workload import unit_of

# As fio and dd have them: k is 1024, kB is 1000, KiB is 1024
_POWERS = {prefix: power for power, prefix in enumerate(("", "k", "m", "g", "t"))}
_SIZE = re.compile(r"(?:([kmgt])(ib|b)?|b)\Z", re.IGNORECASE)
_RATES = {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_FRACTIONS = {"%": 0.01}
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(.*)\Z", re.IGNORECASE | re.DOTALL)


def _size_factor(suffix):
    """Bytes; None if it is none of a size's suffixes."""
    found = _SIZE.match(suffix)
    if not found:
        return None
    prefix, ending = ((group or "").lower() for group in found.groups())
    return float((1000 if ending == "b" else 1024) ** _POWERS[prefix])


# unit of an attribute: factor of a suffix, what may be written
_KINDS: dict = {
    "bytes": (_size_factor, "a size: 512, 8k, 1M (of 1024), 16GB (of 1000), 1GiB"),
    "requests/s": (_RATES.get, "a rate: 120, 120/s, 600/min"),
    "s": (_TIMES.get, "a time: 0.01, 10ms, 500us"),
    "a fraction": (_FRACTIONS.get, "a fraction: 0.67, 67%"),
}


def number(text, unit):
    """What `text` says, in `unit` ("bytes", "requests/s", "s", "a fraction" or any other,
    which has no suffixes); ToolError with the reason."""
    factor_of, wanted = _KINDS.get(unit, ({}.get, "a number"))
    found = _NUMBER.match(text.strip())
    suffix = found.group(2).strip() if found else None
    factor = 1.0 if suffix == "" else factor_of(suffix) if found else None
    if factor is None:
        raise ToolError("%r is not %s" % (text, wanted))
    return float(found.group(1)) * factor


def attribute(name, said):
    """An attribute's value: as it is, or from text by its unit."""
    unit = unit_of(name)
    if not isinstance(said, str) or unit is None:
        return said
    try:
        value = number(said, unit)
    except ToolError as error:
        raise ToolError("%s (%s): %s" % (name, unit, error)) from error
    return int(value) if unit == "processes" and value.is_integer() else value
