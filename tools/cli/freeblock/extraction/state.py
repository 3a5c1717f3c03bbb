# SPDX-License-Identifier: GPL-2.0
"""What an extraction has found so far, on disk: an interrupted one goes on from there."""

import json
import os

from .. import ToolError
from ..base import jsontext
from ..base.safe_file import make_directory, write_file

VERSION = 3


def plain(value):
    """numpy's numbers, for JSON."""
    return value.item()


class State:
    """Results of stages, by name; each of them something that JSON can say.

    A state belongs to a drive and to how it is measured: of another it is not used."""

    def __init__(self, folder, key, fresh=False):
        self.path = os.path.join(os.path.abspath(folder), "extract.json")
        self.resumed = False
        self._said = {"version": VERSION, "key": key, "disk_ns": 0, "stages": {}}
        try:
            make_directory(os.path.abspath(folder))
        except OSError as error:
            raise ToolError("%s: %s; --state-dir names another folder" % (folder, error.strerror)
                            ) from error
        if not fresh:
            self._load(key)

    def _load(self, key):
        try:
            with open(self.path, encoding="ascii") as file:
                said = jsontext.parse(file.read())
                if not isinstance(said, dict):
                    raise ValueError("not an object")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise ToolError("%s: not the state of an extraction (%s); --fresh begins anew" %
                            (self.path, error)) from error
        if said.get("version") == VERSION and said.get("key") == key:
            self._said, self.resumed = said, bool(said.get("stages"))

    @property
    def disk_ns(self):
        """Disk time until the last save."""
        return self._said["disk_ns"]

    def get(self, stage):
        """What put() was given, or None."""
        return self._said["stages"].get(stage)

    def put(self, stage, value, disk_ns):
        """Keep a stage's result, final or so far."""
        self._said["stages"][stage] = value
        self._said["disk_ns"] = disk_ns
        write_file(self.path, json.dumps(self._said, default=plain).encode("ascii"))

    def only(self, stage, value, disk_ns):
        """Keep one stage's result, and forget all others."""
        self._said["stages"] = {}
        self.put(stage, value, disk_ns)

    def end(self):
        """The extraction is complete: nothing is to be resumed."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
