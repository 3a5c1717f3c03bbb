# SPDX-License-Identifier: GPL-2.0
"""Tables for people."""


def number(value, form="%.4g"):
    """A number, or - for none."""
    return "-" if value is None else form % value


def lines(head, rows, left=(0,)):
    """Lines of a table: the columns of these numbers to the left, the others to the right."""
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return ["  ".join(cell.ljust(width) if n in left else cell.rjust(width)
                      for n, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in cells]
