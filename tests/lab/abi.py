# SPDX-License-Identifier: GPL-2.0
"""Documentation/ABI: the files of sysfs and debugfs, and what is told of each. Used by tests."""

import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = "Documentation/ABI/testing"


def text():
    """All of it, one file after the other."""
    found = ""
    for path in sorted(glob.glob(os.path.join(TOP, FOLDER, "*"))):
        with open(path, encoding="ascii") as file:
            found += file.read() + "\n"
    return found


def entries(said):
    """[(files, {field: value}, description)] of each entry; a folder ends with a slash."""
    found = []
    for part in re.split(r"\n(?=What:)(?<!\S\n)", "\n" + said)[1:]:
        names = re.findall(r"^What:\s+(\S+)$", part, re.M)
        part = re.sub(r"^#.*\n", "", part, flags=re.M)
        head, _, description = part.partition("\nDescription:\n")
        # the fields of the description are its first paragraph
        first, _, rest = description.partition("\n\n")
        fields = dict(re.findall(r"^(\w+):\s+(\S.*)$", head, re.M))
        fields.update(re.findall(r"^\t\t(\w+):\s+(\S.*)$", first, re.M))
        found.append((names, fields, rest))
    return found


def numbers(said):
    """The names in debugfs' numbers, but for the scrub's, which are those of scan_stats/."""
    return re.findall(r"^\t\t((?:state|stats|scan_stats)/\w+)\t", said, re.M)


def files(said):
    """The names of all files."""
    return [name for names, _, _ in entries(said) for name in names if not name.endswith("/")]
