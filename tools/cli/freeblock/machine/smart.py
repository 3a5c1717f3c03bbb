# SPDX-License-Identifier: GPL-2.0
"""Whether a drive says of itself that it is about to fail, by smartctl where that is installed."""

from . import kernel

ANSWER_S = 20
FAILING = 1 << 3                # of smartctl's exit status
NO_ANSWER = (124, 127)          # of kernel.command()


def failing(name):
    """What SMART has against reading all of a disk; None: nothing, or nothing can tell. A drive
    that sleeps is not woken."""
    status, _ = kernel.command(["smartctl", "-n", "standby,0", "-H", "/dev/" + name],
                               seconds=ANSWER_S)
    return "SMART says that the drive is failing" \
        if status not in NO_ANSWER and status & FAILING else None
