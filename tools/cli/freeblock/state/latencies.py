# SPDX-License-Identifier: GPL-2.0
"""How long a disk's foreground requests took: the module's histogram, four buckets to an octave,
from the file latency of debugfs. A histogram is {upper edge in ns: requests}.
"""

from .. import fbstate

OPERATIONS = {"read": "reads", "write": "writes", "fua": "FUA writes"}
# octaves, by their upper edges, that programs are shown; what took longer is in no bucket
OCTAVES = [1 << power for power in range(17, 36)]


def of(disk):
    """{operation: histogram}; {} if debugfs cannot be read. An older module counts fewer."""
    if fbstate.hidden():
        return {}
    lines = [line.split() for line in disk.table("latency").splitlines()]
    columns = len(lines[0]) if lines else 0
    return {operation: {int(words[0]): int(words[column]) for words in lines}
            for column, operation in zip(range(1, columns), OPERATIONS)}


def since(now, before):
    """What came in between. Counters that were reset meanwhile count from then on."""
    found = {}
    for operation, counts in now.items():
        old = before.get(operation, {})
        reset = any(old[edge] > counts.get(edge, 0) for edge in old)
        found[operation] = {edge: count - (0 if reset else old.get(edge, 0))
                            for edge, count in counts.items()}
    return found


def _lower(edge):
    """The lower edge of a bucket: its upper one is 5, 6, 7 or 8 quarters of a power of two."""
    quarter = 1 << max((edge - 1).bit_length() - 3, 0)
    return edge - quarter


def percentile_ns(counts, per_mille):
    """What so many of a thousand requests did not exceed, ns, as though a bucket's were spread over
    it; None: there are too few."""
    total = sum(counts.values())
    if total * (1000 - per_mille) < 1000:
        return None
    left = total * per_mille / 1000
    for edge in sorted(counts):
        if counts[edge] >= left:
            return _lower(edge) + (edge - _lower(edge)) * left / counts[edge]
        left -= counts[edge]
    return None


def slower(counts, limit_ns):
    """How many surely took longer."""
    return sum(count for edge, count in counts.items() if _lower(edge) >= limit_ns)


def summary(counts):
    """A histogram for programs."""
    found = {"n": sum(counts.values())}
    for name, per_mille in (("p50_ms", 500), ("p99_ms", 990), ("p999_ms", 999)):
        value = percentile_ns(counts, per_mille)
        found[name] = None if value is None else round(value / 1e6, 3)
    return found


def up_to(counts):
    """(upper edge in s, requests that took no longer) of each octave."""
    return [(edge / 1e9, sum(count for upper, count in counts.items() if upper <= edge))
            for edge in OCTAVES]
