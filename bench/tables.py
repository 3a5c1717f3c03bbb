# SPDX-License-Identifier: GPL-2.0
"""Tables for people."""


def lines(rows, columns):
    """A line of heads, and one for each row; columns: (head, key, format), texts to the left."""
    cells = [[head for head, _, _ in columns]] + [
        ["-" if row.get(key) is None else form % row[key] for _, key, form in columns]
        for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return ["  ".join(cell.ljust(width) if form == "%s" else cell.rjust(width)
                      for cell, width, (_, _, form) in zip(line, widths, columns)).rstrip()
            for line in cells]
