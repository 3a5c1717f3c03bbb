# SPDX-License-Identifier: GPL-2.0
"""Drives with a part of another's cylinders, of which a whole scan takes the simulator seconds."""

import os

from freeblock import fbdrive, sim, truth

SHORTER = 48            # of the cylinders, one is kept


def _zones(lines):
    """Zones with a part of their cylinders and spare sectors, in place; cylinders in all."""
    at = 0
    for words in lines:
        if words[0] == "zone":
            count = (int(words[2]) - int(words[1]) + 1) // SHORTER
            words[1:3] = str(at), str(at + count - 1)
            words[7:] = [str(int(spare) // SHORTER) for spare in words[7:]]
            at += count
    return at


def _kept(lines, cylinders):
    """Seeks as they are, as far as there are cylinders."""
    return [words for words in lines if words[0] != "seek" or int(words[1]) < cylinders]


def _stretched(lines, cylinders):
    """Seeks that take as long over the part of the cylinders that they go as they did, but for that
    of one cylinder: the foreground is then that of the whole drive."""
    found, last = [], 0
    for words in lines:
        if words[0] == "seek" and int(words[1]) > 1:
            distance = min(round(int(words[1]) / SHORTER), cylinders - 1)
            if distance <= max(last, 1):
                continue
            words, last = ["seek", str(distance)] + words[2:], distance
        found.append(words)
    return found


def make(name, out, stretch=False):
    """(.fbdrive, .fbmodel) of a drive of ours with a part of its cylinders, in a folder; stretch:
    as if these were all of them."""
    with open(sim.drive_file(name), encoding="utf-8") as file:
        lines = list(fbdrive.lines(file))
    cylinders = _zones(lines)
    lines = (_stretched if stretch else _kept)(lines, cylinders)
    paths = [os.path.join(out, "%s-short%s%s" % (name, "-stretched" * stretch, end))
             for end in (".fbdrive", ".fbmodel")]
    os.makedirs(out, exist_ok=True)
    with open(paths[0], "w", encoding="utf-8") as file:
        file.write("".join(" ".join(words) + "\n" for words in lines))
    with open(paths[1], "wb") as file:
        file.write(truth.model(paths[0]))
    return paths
