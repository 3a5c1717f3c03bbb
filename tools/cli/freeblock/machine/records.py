# SPDX-License-Identifier: GPL-2.0
"""Records of ours, each an object of JSON in a file, on stable storage when it is written."""

import json

from ..base import safe_file


def read(path):
    """What one says; {} if there is none, or it is spoilt."""
    try:
        with open(path, "rb") as file:
            said = json.loads(file.read())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def write(path, content):
    """Replace it."""
    safe_file.write_file(path, json.dumps(content).encode() + b"\n")
