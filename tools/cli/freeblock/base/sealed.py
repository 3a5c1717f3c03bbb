# SPDX-License-Identifier: GPL-2.0
"""Objects of JSON in files that are whole and unchanged since they were written, or are refused."""

import json
import zlib

from .. import ToolError
from . import jsontext
from .safe_file import write_file

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Spoiled(ToolError):
    """A file that was not written whole, or that somebody edited."""


def boot_id():
    """Which boot this is; "" if the system does not say."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _check(content):
    return "%08x" % zlib.crc32(json.dumps(content, sort_keys=True).encode())


def write(path, version, content):
    """Replace a file by this object, with its checksum."""
    content = {"format": version, **content}
    write_file(path, json.dumps({**content, "check": _check(content)}, indent=1,
                                sort_keys=True).encode() + b"\n")


def read(path, version):
    """What was written; None if there is none. Spoiled if it is not that; ToolError if it is of
    another version."""
    try:
        with open(path, "rb") as file:
            content = jsontext.parse(file.read())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Spoiled("%s: not a journal: %s" % (path, error)) from error
    check = content.pop("check", None) if isinstance(content, dict) else None
    if check is None or check != _check(content):
        raise Spoiled("%s: its checksum is wrong: it is not used" % path)
    if content.pop("format", None) != version:
        raise ToolError("%s: of a version that this tool does not know" % path)
    return content
