# SPDX-License-Identifier: GPL-2.0
"""conf: check /etc/freeblock.conf, show and set what it says, and scrub what is due by it."""

import json
import time
from types import SimpleNamespace

from .. import ToolError, fbstate
from ..base.streams import one_line
from ..drive import names, store
from ..machine import conf, due, events, gate
from ..tasks import scrub_state
from . import scrub


# of conf scrub
STATUSES = scrub.STATUSES
EXAMPLES = (
    ("freeblock conf check", "Check /etc/freeblock.conf."),
    ("freeblock conf check new.conf", "Check a file before it is installed."),
    ("freeblock conf show sda", "Show the settings of a disk, and when it is scrubbed next."),
    ("freeblock conf apply", "Set them on all disks that have the scheduler."),
)


def add_parser(subparsers):
    """Add `conf`."""
    parser = subparsers.add_parser(
        "conf", help="check and show /etc/freeblock.conf",
        description="freeblock.conf(5) sets how often disks are scrubbed, when, and at what "
        "cost. A file with a mistake is ignored as a whole.")
    kinds = parser.add_subparsers(dest="action", required=True, metavar="WHAT")

    def add(name, run, text):
        kind = kinds.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        kind.set_defaults(run=run, file=None)
        return kind

    kind = add("check", run_check, "check the files, and name each wrong line")
    kind.add_argument("file", nargs="?", metavar="FILE", help="(/%s)" % conf.FILE)
    kind = add("show", run_show, "show the settings of disks, and when they are scrubbed")
    kind.add_argument("disk", nargs="?", metavar="DISK", help="sdX; all that are here")
    kind.add_argument("--json", action="store_true", help="print a JSON list of objects")
    kind = add("apply", run_apply, "set the limits of disks that have the scheduler")
    kind.add_argument("disk", nargs="?", metavar="DISK", help="sdX; all of them")
    add("due", run_due, "start scrubs that are due, stop those outside of their window (for the "
        "timer)")
    kind = add("scrub", run_scrub, "scrub a disk with the settings of freeblock.conf (for the "
               "unit)")
    kind.add_argument("disk", metavar="DISK", help="sdX")
    parser.set_defaults(json=False)


def run_check(args):
    """`conf check`."""
    found = conf.load(args.file)
    disks = list(store.disks())
    for disk in disks:
        for one, other, why in conf.contradictions(found.of(disk)):
            raise ToolError("%s: its sections set %s = %d and %s = %d: %s" % (
                disk["name"], one, found.of(disk)[one], other, found.of(disk)[other], why))
    for section in found.sections:
        if not any(section.fits(conf.names_of(disk)) for disk in disks) and section.kind != "all":
            print("%s: [%s %s] fits no disk that is here" % (
                one_line(section.where()), section.kind, section.pattern))
    read = [args.file] if args.file else conf.files()
    for path in read:
        print("%s: well: %d sections" % (
            one_line(path), sum(section.path == path for section in found.sections)))
    if not read:
        print("%s: it is not there: the module's defaults hold, and no scrub is started" %
              one_line(fbstate.path(conf.FILE)))
    return 0


def _date(seconds):
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M", time.localtime(seconds))


def _shown(disk, said):
    if not names.is_known(disk):
        return {"disk": disk["name"], "settings": said.of(disk), "began": None, "ended": None,
                "due": None, "now": None, "why": names.UNKNOWN}
    done, why, record, values = due.look(disk, said)
    return {"disk": disk["name"], "settings": values, "began": _date(record["began"]),
            "ended": _date(record["ended"]),
            "due": _date(due.due_at(values["scrub_every_days"], record)),
            "now": done or None, "why": why}


def run_show(args):
    """`conf show`."""
    said = conf.load()
    shown = [_shown(disk, said) for disk in
             ([store.disk_of(args.disk)] if args.disk else store.disks())]
    if args.json:
        print(json.dumps(shown, indent=1, default=str))
        return 0
    for one in shown:
        words = ["%s %s" % (key, value) for key, value in one["settings"].items()
                 if value != conf.DEFAULTS[key]]
        print("%s: %s" % (one["disk"], ", ".join(words) or "nothing is said of it"))
        if one["due"]:
            print("  scrubbed %s, due %s: %s" % (one["ended"] or "never", one["due"], one["why"]))
        elif one["settings"]["scrub_every_days"] is not None:
            print("  never scrubbed by it: " + one["why"])
    return 0


def run_apply(args):
    """`conf apply`."""
    said = conf.load()
    for disk in [store.disk_of(args.disk)] if args.disk else due.disks():
        for change in conf.apply(disk["name"], said):
            print("%s: %s %s" % (disk["name"], change.key, change.new))
    return 0


def run_due(_args):
    """`conf due`."""
    # a file that cannot be read silences nothing that it has no part in
    said = conf.Conf([])
    try:
        said = conf.load()
        for line in due.run(said):
            print(line)
    finally:
        events.watch(said)
    return 0


def run_scrub(args):
    """`conf scrub`."""
    disk = store.disk_of(args.disk)
    name = disk["name"]
    said = conf.load().of(disk)
    record = due.begin(disk)
    deadline = due.deadline_at(said, record)
    status = scrub.run(SimpleNamespace(
        device="/dev/" + name, action="run", all=False, order=said["order"], segment=None,
        # one that is late has a second
        deadline=deadline and max(deadline - time.time(), 1) / due.DAY_S,
        state=scrub_state.path_of(names.key(disk)), wait=False, before=5, json=False, quiet=True,
        gate=gate.Gate(name, said, began=record["began"], deadline=deadline)))
    if status in (0, scrub.BAD_BLOCKS) and fbstate.Disk(name).read("scrub") != "finished":
        raise ToolError("%s: somebody stopped the scrub: it goes on when it is due" % name)
    return status
