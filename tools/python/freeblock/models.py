# SPDX-License-Identifier: GPL-2.0
"""The models of this machine's disks, and their loading when disks appear."""

import json
import os
import re
import subprocess
import sys
import syslog

from . import ToolError, fbstate, hosts, restore
from .extraction import identity as names
from .extraction import journal, store

RULE = "etc/udev/rules.d/90-freeblock.rules"
UNIT = "etc/systemd/system/freeblock-restore.service"
WANTED = "etc/systemd/system/sysinit.target.wants/freeblock-restore.service"
TEMPLATES = {RULE: "90-freeblock.rules.in", UNIT: "freeblock-restore.service.in"}
MARK = "# made by: freeblock models enable"
MADE = "# with the directories:"


# ---- enable, disable

def _plain(path):
    """A path that udev and systemd take without quoting."""
    if not re.fullmatch(r"/[\w./+-]+", path, re.ASCII):
        raise ToolError("%s: a rule of udev cannot name this path: give --program a link to it "
                        "without blanks and the like" % path)
    return path


def _is_ours(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().startswith(MARK)
    except FileNotFoundError:
        return True


def _directories(root, made):
    """Make those that are missing for our files; all that we have ever made."""
    for name in (RULE, UNIT, WANTED):
        folder = ""
        for part in os.path.dirname(name).split("/"):
            folder = os.path.join(folder, part)
            if not os.path.isdir(os.path.join(root, folder)):
                os.mkdir(os.path.join(root, folder), 0o755)
                made.append(folder)
    return made


def _made(root):
    """The directories that an earlier `enable` made."""
    try:
        with open(os.path.join(root, RULE), encoding="utf-8") as file:
            lines = [line[len(MADE):].split() for line in file if line.startswith(MADE)]
    except FileNotFoundError:
        return []
    return lines[0] if lines else []


def enable(root, program, scheduler, directory):
    """Install rule and unit; whether anything was otherwise before."""
    _plain(program)
    _plain(directory)
    for name in (RULE, UNIT):
        if not _is_ours(os.path.join(root, name)):
            raise ToolError("%s is there, and not ours: remove it first" %
                            os.path.join(root, name))
    made = _directories(root, _made(root))
    words = {"@FREEBLOCK@": program, "@MADE@": "%s %s" % (MADE, " ".join(made)) if made else MADE,
             "@MARK@": MARK, "@OPTIONS@": ("--scheduler " if scheduler else "") +
             ("--dir %s " % directory if directory != store.DIRECTORY else "")}
    changed = False
    for name, template in TEMPLATES.items():
        with open(os.path.join(hosts.data("udev"), template), encoding="utf-8") as file:
            text = file.read()
        for word, value in words.items():
            text = text.replace(word, value)
        changed = _replace(os.path.join(root, name), text) or changed
    link = os.path.join(root, WANTED)
    target = "../" + os.path.basename(UNIT)
    if not os.path.lexists(link):
        os.symlink(target, link)
        changed = True
    return changed


def _replace(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return False
    except FileNotFoundError:
        pass
    journal.write_file(path, text.encode())
    return True


def disable(root):
    """Remove what enable() installed, and the directories that it made if nothing else is in
    them; whether there was anything."""
    made, found = _made(root), False
    for name in (WANTED, UNIT, RULE):
        path = os.path.join(root, name)
        if name != WANTED and not _is_ours(path):
            raise ToolError("%s is not ours: left alone" % path)
        if os.path.lexists(path):
            os.unlink(path)
            found = True
    for folder in reversed(made):
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            pass        # others use it now
    return found


def tell(root):
    """Have udev and systemd read what has changed, on the running system."""
    if os.path.abspath(root) != "/":
        return
    for there, words in (("/run/udev/control", ["udevadm", "control", "--reload"]),
                         ("/run/systemd/system", ["systemctl", "daemon-reload"])):
        if os.path.exists(there):
            subprocess.run(words, check=False)


def run_enable(args):
    """`models enable`."""
    changed = enable(args.root, os.path.abspath(args.program), args.scheduler, args.dir)
    tell(args.root)
    print("%s: models are loaded when disks appear%s; modes are put back at boot" % (
        "enabled" if changed else "enabled already",
        ", which get the scheduler freeblock" if args.scheduler else
        " with the scheduler freeblock (--scheduler: they get it)"))
    if not os.path.isdir(fbstate.path("run/systemd/system")) and os.path.abspath(args.root) == "/":
        print("no systemd here: have your init run this at boot, after the local file systems: "
              "%s restore" % args.program)
    return 0


def run_disable(args):
    """`models disable`."""
    found = disable(args.root)
    tell(args.root)
    print("disabled" if found else "disabled already")
    return 0


# ---- the models

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
    print("installed: %s" % store.install(args.dir, model, disk))
    if model.header.get("distrusted"):
        print("it is distrusted: %s" % model.header["distrusted"])
    return 0


def run_remove(args):
    """`models remove`."""
    if args.name not in store.models(args.dir):
        raise ToolError("%s: no such model in %s" % (args.name, args.dir))
    os.unlink(os.path.join(args.dir, args.name))
    journal.sync_directory(args.dir)
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
        print("%s: %s; %s" % (one["name"], text, state if one["disk"] else "not here"))
    if not kept:
        print("no models in %s" % args.dir)
    return 0


def _listed(directory, name, disk):
    """What is said of a model."""
    one = {"name": name, "path": os.path.join(directory, name), "vendor": None, "product": None,
           "revision": None, "sectors": None, "distrusted": None, "error": None, "disk": disk,
           "loaded": bool(disk and fbstate.Disk(disk).state("model"))}
    try:
        header = store.Model.of_file(one["path"]).header
        one.update({key: header.get(key) for key in ("vendor", "product", "revision",
                                                     "distrusted")})
        sectors = header.get("sectors", "")
        one["sectors"] = int(sectors) if sectors.isdecimal() else None
    except ToolError as error:
        one["error"] = str(error)
    return one


def _restore(name, directory, say):
    """A disk that an extraction left changed before a crash is put right first."""
    books = journal.all_of(directory)
    try:
        key = names.key(store.disk_of(name)) if books else None
    except ToolError:
        return
    restore.restore([book for book in books if book.name == key], say=say)


def _say(args, line, fine=True):
    print(line if fine else "freeblock: " + line, file=sys.stdout if fine else sys.stderr)
    if args.syslog:
        syslog.openlog("freeblock", syslog.LOG_PID, syslog.LOG_DAEMON)
        syslog.syslog(syslog.LOG_INFO if fine else syslog.LOG_ERR, line)


def run_load(args):
    """`models load`."""
    fine = True
    for disk in args.disks:
        try:
            _restore(disk, args.state_dir, lambda line: _say(args, line))
            line = store.load(args.dir, disk, args.scheduler)
            if line:
                _say(args, line)
            else:
                print("%s: there is no model of it in %s" % (disk, args.dir))
        except (ToolError, OSError) as error:
            fine = False
            _say(args, str(error), False)
    return 0 if fine else 1


def add_parser(subparsers):
    """Add `models`."""
    parser = subparsers.add_parser(
        "models", help="keep models of disks, and load them when disks appear",
        description="Models are kept under the drive's world-wide name and firmware revision.")
    parser.set_defaults(dir=store.DIRECTORY)
    kinds = parser.add_subparsers(dest="models", required=True, metavar="WHAT")

    def add(name, run, text):
        kind = kinds.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        kind.add_argument("--dir", metavar="DIR", default=store.DIRECTORY,
                          help="where models are kept (%(default)s)")
        kind.set_defaults(run=run)
        return kind

    kind = add("list", run_list, "show the models that are kept")
    kind.add_argument("--json", action="store_true", help="as a list of objects")
    kind = add("install", run_install, "keep a model")
    kind.add_argument("file", metavar="FILE", help="an .fbmodel")
    kind.add_argument("--disk", metavar="sdX", help="it is this disk's (if the model does not say)")
    kind = add("remove", run_remove, "forget a model")
    kind.add_argument("name", metavar="NAME", help="as listed")
    kind = add("load", run_load, "load the models of disks into the kernel")
    kind.add_argument("disks", metavar="sdX", nargs="+", help="as in /sys/block")
    kind.add_argument("--scheduler", action="store_true", help="choose freeblock for them, too")
    kind.add_argument("--syslog", action="store_true", help="say it in the system's log, too")
    kind.add_argument("--state-dir", metavar="DIR", default=journal.DIRECTORY,
                      help="journals of changed modes; those of the disk are put back first "
                      "(%(default)s)")
    kind = add("enable", run_enable, "load models when disks appear, and put back modes at boot")
    kind.add_argument("--scheduler", action="store_true",
                      help="and choose freeblock for disks that have a model")
    kind.add_argument("--program", metavar="PATH", default=hosts.command(),
                      help="what udev and systemd start (this command)")
    kind.add_argument("--root", metavar="DIR", default="/", help="install below this directory")
    kind = add("disable", run_disable, "undo `enable`")
    kind.add_argument("--root", metavar="DIR", default="/", help="remove below this directory")
