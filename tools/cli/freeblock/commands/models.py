# SPDX-License-Identifier: GPL-2.0
"""The models of this machine's disks, and their loading when disks appear."""

import contextlib
import json
import os
import sys
import syslog

from .. import ToolError, UsageError, fbstate
from ..base import helpers, safe_file
from ..base.streams import one_line
from ..drive import journal, names, restoring, store
from ..formats import fbmodel
from ..machine import alarms, conf, enabled, events, guard, kernel, kinds, lock, stopped, \
    units


def run_enable(args):
    """`models enable`."""
    changed = units.enable(args.root, os.path.abspath(args.program), args.scheduler, args.dir)
    units.tell(args.root)
    if os.path.abspath(args.root) == "/":
        guard.allow()
    print("%s: models are loaded when disks appear%s; modes are put back at boot" % (
        "enabled" if changed else "enabled already",
        ", which get the scheduler freeblock" if args.scheduler else
        " with the scheduler freeblock (--scheduler: they get it)"))
    if not os.path.isdir(fbstate.path("run/systemd/system")) and os.path.abspath(args.root) == "/":
        print("no systemd here: have your init run this at boot, after the local file systems: "
              "%s restore; and for each disk: %s models load --at-boot%s sdX" % (
                  args.program, args.program, " --scheduler" if args.scheduler else ""))
    return 0


def run_disable(args):
    """`models disable`."""
    found = units.disable(args.root)
    units.tell(args.root)
    print("disabled" if found else "disabled already")
    return 0


def run_renew(args):
    """`models renew`."""
    changed = units.renew(args.root, os.path.abspath(args.program))
    if changed:
        units.tell(args.root)
    print("renewed" if changed else "nothing to renew")
    return 0


# ---- the models

@contextlib.contextmanager
def _alone(args, file):
    """Keep checks and setup away from the disk whose model this is, if it is here."""
    here = [disk["name"] for disk in store.disks()
            if names.is_known(disk) and store.file_name(disk) == file]
    with contextlib.ExitStack() as stack:
        # others take models from there only
        if here and args.dir == store.DIRECTORY:
            stack.enter_context(lock.of_disk(here[0], "%s: a check, setup or off of it is at work" %
                                             here[0]))
        yield


def run_install(args):
    """`models install`."""
    model = store.Model.of_file(args.file)
    if args.disk:
        disk = store.disk_of(args.disk)
        model.check(disk)
    else:
        disk = {field: model.header.get(field, "") for field in
                ("wwn", "serial", "vendor", "product", "revision")}
        if not disk["wwn"] or not disk["revision"]:
            raise ToolError("%s does not say of which drive it is (wwn, revision): say --disk sdX" %
                            args.file)
    with _alone(args, store.file_name(disk)):
        print("installed: %s" % store.install(args.dir, model, disk))
    if model.header.get("distrusted"):
        print("it is distrusted: %s" % model.header["distrusted"])
    return 0


def run_compile(args):
    """`models compile`."""
    table = fbmodel.table(args.file)
    if args.output:
        with safe_file.whole_file(args.output) as file:
            file.write(table)
    else:
        sys.stdout.buffer.write(table)
    return 0


def run_remove(args):
    """`models remove`."""
    if args.name not in store.models(args.dir):
        raise ToolError("%s: no such model in %s" % (args.name, args.dir))
    with _alone(args, args.name):
        os.unlink(os.path.join(args.dir, args.name))
        safe_file.sync_directory(args.dir)
    return 0


def run_list(args):
    """`models list`."""
    here = {}
    for disk in store.disks():
        try:
            here[store.file_name(disk)] = disk["name"]
        except ToolError:
            pass        # nothing names it for good
    kept = [_listed(args.dir, name, here.get(name)) for name in store.models(args.dir)]
    if args.json:
        print(json.dumps(kept, indent=1))
        return 0
    for one in kept:
        text = one["error"] or "%s %s, %s sectors" % (one["vendor"] or "", one["product"] or "",
                                                      one["sectors"] or "?")
        state = "%s, %s" % (one["disk"], "loaded" if one["loaded"] else "not loaded")
        print(one_line("%s: %s; %s" % (one["name"], text, state if one["disk"] else "not here")))
    if not kept:
        print("no models in %s" % args.dir)
    return 0


def _listed(directory, name, disk):
    """What is said of a model."""
    one = {"name": name, "path": os.path.join(directory, name), "vendor": None, "product": None,
           "revision": None, "sectors": None, "distrusted": None, "error": None, "disk": disk,
           "loaded": bool(disk) and fbstate.Disk(disk).state("model") == "1"}
    try:
        header = store.Model.of_file(one["path"]).header
        one.update({key: header.get(key) for key in ("vendor", "product", "revision",
                                                     "distrusted")})
        sectors = header.get("sectors", "")
        one["sectors"] = int(sectors) if sectors.isdecimal() else None
    except ToolError as error:
        one["error"] = str(error)
    except OSError as error:
        one["error"] = error.strerror
    return one


def _restore(name, directory, say):
    """A disk that an extraction left changed before a crash is put right first."""
    books = journal.all_of(directory)
    try:
        key = names.key(store.disk_of(name)) if books else None
    except ToolError:
        return
    restoring.restore([book for book in books if book.name == key], say=say)


def _say(args, line, fine=True):
    line = one_line(line)
    print(line if fine else "freeblock: " + line, file=sys.stdout if fine else sys.stderr)
    if args.syslog:
        syslog.openlog("freeblock", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_INFO if fine else syslog.LOG_ERR, line)


def _settings(args, disk):
    """What freeblock.conf says of a disk's costs, and what they came to before the boot."""
    said = stopped.restore(store.disk_of(disk))
    if said:
        _say(args, "%s: free reads stay %s" % (disk, said), False)
    for change in conf.apply(store.disk_of(disk)["name"], conf.load()):
        _say(args, "%s: %s %s" % (disk, change.key, change.new))


def _is_wanted(args, disk):
    """Whether a disk gets the scheduler though there is no model of it: it is enabled."""
    # a file with a mistake enables nothing, and disables nothing
    said = alarms.wanted() or conf.Conf([])
    return args.at_boot and args.scheduler and not kinds.unfit(disk["name"]) and \
        enabled.is_enabled(disk, said.of(disk))


def _starts(args, disk):
    """Whether there is anything to start: a model of the disk, or that it is enabled."""
    return _is_wanted(args, disk) or store.choose(args.dir, disk)


def _load(args, name):
    """Load a disk's model, and choose the scheduler for one that is enabled; a line about it;
    None: neither is to be."""
    disk = store.disk_of(name)
    wanted = _is_wanted(args, disk)
    try:
        line = store.load(args.dir, name, args.scheduler and kernel.choose) \
            if names.is_known(disk) else None
    except ToolError as error:
        if not wanted:
            raise
        # served all the same, without the map
        _say(args, str(error), False)
        line = None
    if line or not wanted:
        return line
    kernel.choose(disk["name"])
    return "%s: it is served in idle time, without a model" % disk["name"]


def run_load(args):
    """`models load`."""
    status = 0
    for disk in args.disks:
        try:
            _restore(disk, args.journals, lambda line: _say(args, line))
            why = args.at_boot and _starts(args, store.disk_of(disk)) and guard.ask()
            if why:
                status = max(status, 1)
                _say(args, "%s: %s" % (disk, guard.words(why)), False)
                events.send("kept_off", store.disk_of(disk)["name"], "freeblock stays off: " + why)
                continue
            line = _load(args, disk)
            if line:
                _say(args, line)
                if args.at_boot and args.scheduler:
                    _settings(args, disk)
            else:
                print("%s: there is no model of it in %s" % (disk, args.dir))
        except (ToolError, OSError) as error:
            status = max(status, 2 if isinstance(error, UsageError) else 1)
            _say(args, str(error), False)
    return status


def run_check(args):
    """`models check`."""
    from ..machine import checks  # pylint: disable=import-outside-toplevel
    disks = [store.disk_of(name) for name in args.disks] or [
        disk for disk in enabled.served() if names.is_known(disk)]
    status = 0
    for disk in disks:
        try:
            words, changed = checks.check(disk, args.dir, bool(args.disks))
            if changed or args.disks:
                print(one_line("%s: %s" % (disk["name"], words)))
        except (ToolError, OSError) as error:
            status = 1
            print(one_line("freeblock: %s" % error), file=sys.stderr)
    return status


EXAMPLES = (
    ("freeblock models list", "List the models that are kept, and which are loaded."),
    ("freeblock models install sda.fbmodel --disk sda", "Keep a model for a disk."),
    ("freeblock models load --scheduler sda", "Load it, and choose the scheduler freeblock."),
    ("freeblock models check sda", "Check that the drive still fits its model."),
    ("freeblock models enable --scheduler", "Do that at each boot, for each disk with a model."),
)


def add_parser(subparsers):
    """Add `models`."""
    parser = subparsers.add_parser(
        "models", help="install models of drives, and load them when disks appear",
        description="Models are kept under the drive's world-wide name and firmware revision.")
    kinds = parser.add_subparsers(dest="models", required=True, metavar="WHAT")

    def add(name, run, text):
        kind = kinds.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        # what was enabled with another is renewed and disabled without being told
        if name not in ("compile", "renew", "disable"):
            kind.add_argument("--dir", metavar="DIR", default=store.DIRECTORY,
                              help="where models are kept (%(default)s)")
        kind.set_defaults(run=run)
        return kind

    kind = add("list", run_list, "show the models that are kept")
    kind.add_argument("--json", action="store_true", help="print a JSON list of objects")
    kind = add("install", run_install, "keep a model")
    kind.add_argument("file", metavar="FILE", help="an .fbmodel")
    kind.add_argument("--disk", metavar="DISK", help="it is this disk's, sdX or /dev/sdX (if the "
                      "model does not say)")
    kind = add("compile", run_compile, "write the table that the kernel takes")
    kind.add_argument("file", metavar="FILE", help="an .fbmodel")
    kind.add_argument("-o", "--output", metavar="TABLE", help="where it goes (standard output)")
    kind = add("remove", run_remove, "forget a model")
    kind.add_argument("name", metavar="NAME", help="as listed")
    kind = add("load", run_load, "load the models of disks into the kernel")
    kind.add_argument("disks", metavar="DISK", nargs="+", help="sdX, or /dev/sdX")
    kind.add_argument("--scheduler", action="store_true", help="choose freeblock for them, too")
    kind.add_argument("--syslog", action="store_true", help="say it in the system's log, too")
    kind.add_argument("--at-boot", action="store_true", help="not if the guard keeps it off "
                      "(freeblock guard)")
    kind.add_argument("--journals", metavar="DIR", default=journal.DIRECTORY,
                      help="journals of changed modes; those of the disk are put back first "
                      "(%(default)s)")
    kind = add("check", run_check, "read whether disks that serve are as their models describe; "
               "runs that are not are dropped and measured again")
    kind.add_argument("disks", metavar="DISK", nargs="*", help="sdX, or /dev/sdX (all that have "
                      "the scheduler; what is not mapped is then measured now and then only)")
    kind = add("enable", run_enable, "load models when disks appear, and put back modes at boot")
    kind.add_argument("--scheduler", action="store_true",
                      help="and choose freeblock for disks that have a model or are enabled")
    kind.add_argument("--program", metavar="PATH", default=helpers.command(),
                      help="what udev and systemd start (this command)")
    kind.add_argument("--root", metavar="DIR", default="/", help="install below this directory (/)")
    kind = add("renew", run_renew, "have what another version enabled as this one would enable it")
    kind.add_argument("--program", metavar="PATH", default=helpers.command(),
                      help="whose it is (this command)")
    kind.add_argument("--root", metavar="DIR", default="/", help="renew below this directory (/)")
    kind = add("disable", run_disable, "undo `enable`")
    kind.add_argument("--root", metavar="DIR", default="/", help="remove below this directory (/)")
