# SPDX-License-Identifier: GPL-2.0
"""Tables of rows that are dictionaries."""

from freeblock.base import table


def lines(rows, columns):
    """A line of heads, and one for each row; columns: (head, key, format), texts to the left."""
    return table.lines(
        [head for head, _, _ in columns],
        [[table.number(row.get(key), form) for _, key, form in columns] for row in rows],
        [n for n, (_, _, form) in enumerate(columns) if form == "%s"])
