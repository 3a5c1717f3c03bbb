# SPDX-License-Identifier: GPL-2.0
"""Rows that `make bench-peers` has measured: latency, background and CPU beside peers."""

import json
import os

from freeblock import ToolError
from .bench_rows import Row

COMMAND = "make bench-peers"
# Words of a verdict's name: what the paper and the goal say
SAYS = (("instructions of a request", "5.4 / 5.1 % of the CPU = 1.06, whole system", "1.2"),
        ("% of one GHz with scan", "8-9 % of a 550 MHz Pentium III", "0.5"),
        ("background at equal p99", "", "5"), ("p99 with scan against without", "", "1.02"),
        ("p99 with scan against none", "", "1"))


def read(path):
    """The verdicts of peers.json: [] if it was not measured."""
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8") as file:
            return [(str(v["name"]), v["value"], v["least"], v["most"])
                    for v in json.load(file)["verdicts"]]
    except (ValueError, TypeError, KeyError) as error:
        raise ToolError("%s: not what bench-peers writes: %r" % (path, error)) from error


def row(name, value, least, most):
    """One verdict as a row."""
    paper, goal = next(((paper, goal) for words, paper, goal in SAYS if words in name), ("", ""))
    return Row(name, value, "%" if "%" in name else "times", paper, "", COMMAND, least, most,
               goal)


class Peers:
    """Rows of the project's table that need peers."""

    name = "peers"
    title = "Beside other schedulers: what make bench-peers has measured"

    @staticmethod
    def measure(_quick, out, _through):
        """What there is; measuring it takes hours."""
        return read(os.path.join(out, "peers.json"))

    @staticmethod
    def rows(verdicts):
        """One for each verdict, or one that says that there is none."""
        return [row(*verdict) for verdict in verdicts] or [
            Row("beside other schedulers", None, "times", command=COMMAND, least=2)]

    @staticmethod
    def pictures(_verdicts):
        """It has its own."""
        return ()
