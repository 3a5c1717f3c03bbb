# SPDX-License-Identifier: GPL-2.0
"""Whether the module was loaded for a trial, and is to go with the last of them."""

import contextlib
import os

from .. import fbstate

# That a trial has loaded the module, by the number that its files have since; the last trial
# that ends finds nobody else with the scheduler, and unloads it
LOADED = "run/freeblock/module"


def note():
    """The module was loaded for a trial, or is about to be."""
    with open(fbstate.path(LOADED), "w", encoding="ascii") as file:
        file.write(_instance())


def is_for_trial():
    """Whether the module that is there was loaded for a trial, and is to go with the last."""
    there = _instance()
    return there != "" and fbstate.read(LOADED) == there


def is_noted():
    """Whether a trial has loaded a module, and nobody has made it his own since."""
    return os.path.exists(fbstate.path(LOADED))


def forget():
    """It has gone, or is to stay when the trials end."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(fbstate.path(LOADED))


def _instance():
    with contextlib.suppress(FileNotFoundError):
        return str(os.stat(fbstate.path(fbstate.KERNEL)).st_ino)
    return ""
