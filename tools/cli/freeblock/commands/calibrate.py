# SPDX-License-Identifier: GPL-2.0
"""calibrate: a model with what the running scheduler has learnt of its drive.

Period and seek times of the model are replaced by those that the module tracks (debugfs,
Documentation/ABI/testing/debugfs-freeblock); all else stays as it is.
"""


from .. import ToolError, fbstate
from ..base import safe_file
from ..drive import store
from ..formats import fbmodel
from ..state import placement

SEEKS = (b"seek", b"write_seek")
# Below this many trials, of all distances together, nothing is known.
TRIALS = 100


class Calibration:
    """What the module says: values by name, bands as (first, last, values)."""

    def __init__(self, disk, text):
        self.values, self.bands = {}, []
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["band"]:
                self.bands.append(self._band(disk, line, words))
            elif len(words) == 2:
                self.values[words[0]] = words[1]
        if "model_period_ps" not in self.values:
            raise ToolError("%s: calibration: %s" % (disk, text.strip() or "empty"))

    @staticmethod
    def _band(disk, line, words):
        try:
            first, last = int(words[1]), int(words[2])
            named = {key: int(value) for key, value in zip(words[3::2], words[4::2])}
            return first, last, {key: named[key] for key in ("trials", "shift_ppm", "error_ppm")}
        except (IndexError, ValueError, KeyError) as error:
            raise ToolError("%s: calibration: not understood: '%s'" % (disk, line)) from error

    def trials(self):
        """Completions that told something of seeks."""
        return sum(values["trials"] for _, _, values in self.bands)

    def seek_ns(self, cylinders, ns):
        """What a seek takes that the model says takes `ns`."""
        for first, last, values in self.bands:
            if first <= cylinders <= last:
                return max(0, round(ns * (1 + values["shift_ppm"] / 1e6)))
        raise ToolError("calibration: no band of %d cylinders" % cylinders)


def _period_ps(disk, found):
    """The tracked period; None if there is none to trust."""
    if found.values.get("phase") != "locked":
        return None
    try:
        return int(found.values["period_ps"])
    except (KeyError, ValueError) as error:
        raise ToolError("%s: calibration: no period_ps" % disk) from error


def calibrated(disk, name, data, found):
    """The new model's text, and what was changed in it, in words."""
    period, done, lines = _period_ps(disk, found), [], []
    enough = found.trials() >= TRIALS
    for line in fbmodel.body(name, data).splitlines(keepends=True):
        words = line.split()
        if words[:1] == [b"period_ps"]:
            if words[1:] != [found.values["model_period_ps"].encode()]:
                raise ToolError("%s: period_ps %s: the module has another model, of %s" % (
                    name, words[1].decode(), found.values["model_period_ps"]))
            if period:
                done.append("period_ps %s -> %d" % (words[1].decode(), period))
                line = b"period_ps %d\n" % period
        elif words[:1] and words[0] in SEEKS and enough:
            line = b"%s %s %d\n" % (words[0], words[1],
                                   found.seek_ns(int(words[1]), int(words[2])))
        lines.append(line)
    if enough:
        done.append("seeks " + ", ".join(
            "%+.2f %% from %d" % (values["shift_ppm"] / 1e4, first)
            for first, _, values in found.bands if values["trials"]) + " cylinders on")
    return lines, done


def read_model(disk, name):
    """The model to begin with: a file, or the one kept for the disk."""
    path = name or store.choose(store.DIRECTORY, store.disk_of(disk))
    if not path:
        raise ToolError("%s: no model of it in %s: name the file" % (disk, store.DIRECTORY))
    with open(path, "rb") as file:
        return path, file.read()


EXAMPLES = (
    ("freeblock calibrate sda -o sda-new.fbmodel",
     "Write a model with the seek times that the module has measured since it was loaded."),
)


def add_parser(subparsers):
    """Add `calibrate`."""
    parser = subparsers.add_parser(
        "calibrate", help="write a model with the seek times that the module has learnt",
        description="Write a model like the one given, or the one kept for the disk, with the "
        "rotation period and the seek times that the module found for DISK. Needs debugfs, "
        "and some minutes of foreground work before.")
    parser.add_argument("disk", metavar="DISK", help="sdX, or /dev/sdX")
    parser.add_argument("model", nargs="?", metavar="MODEL.fbmodel",
                        help="the model in force (the one kept for the disk)")
    parser.add_argument("-o", "--output", required=True, metavar="NEW.fbmodel",
                        help="where the new model goes")
    parser.set_defaults(run=run)


def run(args):
    """Read, correct, write, say what was done."""
    disk = fbstate.need(placement.device_name(args.disk)).name
    found = Calibration(disk, fbstate.table(disk, "calibration"))
    name, data = read_model(disk, args.model)
    lines, done = calibrated(disk, name, data, found)
    if not done:
        raise ToolError("%s: nothing learnt yet: phase %s, %d trials of seeks (%d are needed)" % (
            disk, found.values.get("phase", "unknown"), found.trials(), TRIALS))
    with safe_file.whole_file(args.output) as file:
        file.write(fbmodel.seal(b"".join(lines)))
    print("\n".join(done))
    return 0
