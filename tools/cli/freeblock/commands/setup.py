# SPDX-License-Identifier: GPL-2.0
"""setup: what enable does, and a model of the disk, measured.

Asks nothing. Each step is journaled before it is taken (machine/book.py), with what was found, so
that `freeblock off` can put it back, whenever setup ended. Documentation/setup.rst.
"""

import json
import os
import sys
import tempfile
from types import SimpleNamespace

from .. import ToolError, fbstate, need_at_most_one, need_defaults, need_range
from ..base import helpers, safe_file
from ..drive import names, sgio, store, sysfs
from ..machine import book, conf, guard, kernel, kinds, lock, steps, units
from ..state import costs

OBSERVE_S = 30
MAX_COST_MS = 50                # idle_max_us by default
# Where somebody may put models of other drives
MODELS = book.STATES + "/models"


STATUSES = {130: "Interrupted; setup continues from there, off puts everything back."}
EXAMPLES = (
    ("freeblock setup /dev/sda", "Measure a disk and give it the scheduler, now and at each boot."),
    ("freeblock setup /dev/sda --model sda.fbmodel --no-boot",
     "With a model that is there, and until the next boot only."),
)


def add_parser(subparsers):
    """Add `setup`."""
    parser = subparsers.add_parser(
        "setup", help="measure a drive, and use the scheduler for it",
        description="Like freeblock enable --measure-now for one disk. Checks whether the drive "
        "suits, measures it, estimates background MB/s and cost from its present load, and uses "
        "the scheduler now and after each boot. After an interruption the same command continues; "
        "'freeblock off' undoes it.")
    parser.add_argument("disk", metavar="DISK", help="/dev/sdX, as root")
    add_measuring(parser)
    add_common(parser)
    parser.set_defaults(run=run, idle_only=False)


def add_measuring(parser):
    """Options of what is measured."""
    parser.add_argument("--model", metavar="FILE", help="the disk's model; nothing is "
                        "measured")
    parser.add_argument("--measure", action="store_true", help="measure even if a model of the "
                        "disk, or of its make, is installed")
    parser.add_argument("--in-use", action="store_true", help="measure a disk in use: its users "
                        "are slowed down, and the result is less exact")
    parser.add_argument("--force", action="store_true", help="continue with a disk that is "
                        "refused, or a model with too many wrong predictions")
    parser.add_argument("--observe", type=int, default=OBSERVE_S, metavar="S", help="record the "
                        "disk's requests for S seconds (%(default)s); 0: do not")


def add_common(parser):
    """Those of enable, too."""
    parser.add_argument("--no-boot", action="store_true", help="until the next boot only")
    parser.add_argument("--max-cost", type=float, metavar="MS", help="maximum mean latency "
                        "that background reads may add to a request of others (1, or that of "
                        "freeblock.conf)")
    parser.add_argument("--program", metavar="PATH", default=helpers.command(),
                        help="program that is started at boot (this command)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--json", action="store_true", help="print the result as a JSON object")


def whole_disk(path):
    """sdX, by any of its names."""
    return store.disk_of(path)["name"]


# ---- does it suit?

def unsuited(disk, in_use, measured):
    """Why freeblock should leave this disk alone: Refusals. measured: it is going to be."""
    from ..drive import ata  # pylint: disable=import-outside-toplevel
    from ..extraction import refuse  # pylint: disable=import-outside-toplevel
    dev = sgio.Disk("/dev/" + disk.name)
    try:
        node = sysfs.of_node("/dev/" + disk.name)
        found = refuse.check(dev, node, in_use)
        way = ata.way(dev, node)
    finally:
        dev.close()
    if measured:
        found += refuse.check_way(way)
    others = paths(disk)
    if others:
        found.append(refuse.Refusal(
            "multipath", "%s are the same disk by another path" % ", ".join(others),
            "the paths of a multipath device are served as by mq-deadline: leave it alone"))
    return found


def _same(one, other):
    return names.is_known(one) and names.same(one, other)


def check_machine(options):
    """ToolError if nothing can be set up on this machine."""
    conf.load()
    if guard.WORD in (fbstate.read("proc/cmdline") or "").split():
        raise ToolError("%s is on the kernel's command line: boot without it first" % guard.WORD)
    if not options.no_boot and os.path.abspath(fbstate.ROOT) == "/":
        units.check_program(options.program)
    if kernel.has_died():
        raise ToolError("this kernel has had an oops (dmesg says where): reboot first")


def check_no_boot():
    """ToolError if a disk with a model would be started at boot all the same."""
    if units.chooses_scheduler(fbstate.ROOT):
        raise ToolError("--no-boot: the start at boot is enabled already, for all disks that have "
                        "a model: freeblock off --all, or freeblock models disable, first")


def paths(disk):
    """Other names of the same disk."""
    return [other["name"] for other in store.disks()
            if other["name"] != disk.name and _same(other, disk.identity)]


def check(disk, options):
    """ToolError with all reasons against this disk; nothing has been changed yet."""
    check_machine(options)
    if options.no_boot:
        check_no_boot()
    # a disk that is set up is in use: only measuring minds, unless freeblock gives it idle time
    in_use = options.in_use or options.model or steps.DISK["measure"].holds(disk) or \
        sysfs.is_served("/dev/" + disk.name)
    found = unsuited(disk, in_use, not options.model and (
        options.measure or not steps.fitting_model(disk)))
    if found and not options.force:
        raise ToolError("%s does not suit:\n%s%s" % (disk.name, "\n".join(
            "  %s\n    (%s)" % (one.reason, one.todo) for one in found),
            "" if kinds.unfit(disk.name) or paths(disk) else
            "\nfreeblock enable /dev/%s serves it without a model, in idle time" % disk.name))
    if options.model:
        given(disk)
    for one in found:
        disk.notes.append("not minded (--force): " + one.reason)


# ---- the model

def given(disk):
    """The model of --model; ToolError if it is not this disk's, or not to be trusted."""
    model = store.Model.of_file(disk.options.model)
    model.check(disk.identity)
    _trusted(model.header.get("distrusted"), disk.options)
    return model


def measure(disk, draft, states):
    """Have its model in the file `draft`, by measuring if there is none; ToolError if it is not
    to be trusted."""
    options = disk.options
    if options.model:
        safe_file.write_file(draft, given(disk).data)
    elif steps.fitting_model(disk) and not options.measure:
        disk.notes.append("%s was there: the disk was not measured again (--measure does it)" %
                          steps.model_path(disk.identity))
    else:
        _extract(disk, draft, states)


def _of_its_make(disk):
    """Models of other drives that may fit this one."""
    from ..extraction import shared  # pylint: disable=import-outside-toplevel
    return [] if disk.options.measure else shared.candidates(
        disk.identity, disk.identity["sectors"],
        [steps.models_folder(), fbstate.path(MODELS), helpers.data("models")])


def _extract(disk, draft, states):
    from ..extraction import pipeline  # pylint: disable=import-outside-toplevel
    from . import extract  # pylint: disable=import-outside-toplevel
    options, models = disk.options, _of_its_make(disk)
    args = SimpleNamespace(
        device="/dev/" + disk.name, simulated=None, out=disk.measured, full=False,
        quick=False, no_translation=False, in_use=options.in_use,
        force=options.force, fresh=False, seed=1, quiet=options.quiet,
        budget=None, like=[model.name for model in models])
    if models:
        text, told = pipeline.find_shared(args, models, states)
        disk.notes.extend("tried a model of its make: " + words for words in told)
        if text:
            disk.notes.append("the last one fits, with the drive's own period, and is used: the "
                              "disk was not measured further (--measure does it)")
            safe_file.write_file(draft, text)
            return
    report = pipeline.extract(args, states)
    try:
        report["model"] = "the drive is measured"
        if not options.json:
            extract.show(report)
        verdict = report["validation"]
        _trusted(None if verdict["trusted"] else verdict["reason"], options)
        os.replace(disk.measured, draft)
    finally:
        if os.path.exists(disk.measured):
            os.unlink(disk.measured)


def _trusted(why, options):
    if why and not options.force:
        raise ToolError("the model is not trusted: %s. Were disk and host quiet? Measure again, "
                        "add --force to use it all the same, or have the disk served without: "
                        "freeblock enable" % why)


def observe_now(disk):
    """What freeblock would bring and cost as the disk is used now; None if that is not to be
    had, which is said."""
    options = disk.options
    if not options.observe:
        return None
    from . import observe  # pylint: disable=import-outside-toplevel
    model = disk.draft if os.path.exists(disk.draft) else steps.model_path(disk.identity)
    try:
        with tempfile.TemporaryDirectory(prefix="freeblock-setup-") as folder:
            found = observe.judge(model, observe.recorded(
                "/dev/" + disk.name, options.observe, os.path.join(folder, "recording"),
                options.quiet), quiet=options.quiet)
    except ToolError as error:
        disk.notes.append("what it will bring and cost is not known, for %s; when the disk is used "
                          "run: freeblock observe /dev/%s" % (error, disk.name))
        return None
    if not options.json:
        observe.show(found)
    return found


# ---- all of it

def take(step, journal_of, disk):
    """Take a step that was not taken, was interrupted, or holds no more."""
    before = journal_of.find(step.name)
    if before and before["done"]:
        if step.holds(disk):
            return False
        if not step.keeps_found:
            step.undo(disk, before["found"])
            journal_of.drop(step.name)
    journal_of.take(step.name, step.found(disk))
    step.do(disk)
    journal_of.done(step.name)
    return True


def announced(step, disk):
    """What is done next, for people."""
    model = disk.options.model or not disk.options.measure and steps.fitting_model(disk)
    return "take the model " + model if step.name == "measure" and model else step.says


def setup(disk):
    """All steps; what to say of it."""
    options = disk.options
    taken, seen = [], None
    mine = book.Book(disk.key, disk.identity)
    machine = book.machine()
    for step in steps.ORDER:
        if step.name in steps.AT_BOOT and options.no_boot:
            continue
        if step.name == "scheduler" and not step.holds(disk):
            seen = observe_now(disk)
        if not options.quiet and not options.json:
            print("%s: %s" % (disk.name, announced(step, disk)), file=sys.stderr, flush=True)
        if take(step, machine if step.name in steps.MACHINE else mine, disk):
            taken.append(step.name)
    return {"disk": disk.name, "id": disk.key, "steps": taken, "observed": seen,
            "notes": disk.notes, "cost": costs.cost(disk.kernel)}


def show(done):
    """For people."""
    for note in done["notes"]:
        print("- " + note)
    print("%s: %s; freeblock off /dev/%s puts everything back" % (
        done["disk"], "set up" if done["steps"] else "was set up already", done["disk"]))
    show_cost(done)


def show_cost(done):
    """What free reads cost, as every command says it; for the first minutes, who will say it."""
    print("  %s%s" % (costs.short(done["cost"]), "" if done["cost"]["known"] else
                      "; freeblock status /dev/%s says what is measured" % done["disk"]))


def check_words(args):
    """Refuse options that contradict each other."""
    need_range("--observe", args.observe, 0)
    need_range("--max-cost", 0 if args.max_cost is None else args.max_cost, 0, MAX_COST_MS)
    need_at_most_one((args.measure, "--measure"), (args.model, "--model"))
    if args.no_boot:
        need_defaults(args, "is for a start at boot: not with --no-boot", program=helpers.command())


def run(args):
    """The subcommand."""
    check_words(args)
    done = set_up(args)
    if args.json:
        print(json.dumps(done, indent=1))
    else:
        show(done)
    return 0


def set_up(args):
    """All of it, for args.disk; what to say of it."""
    name = whole_disk(args.disk)
    disk = steps.Disk(store.disk_of(name), name, args, measure)
    names.key(disk.identity)        # its error, if nothing names it for good
    check(disk, args)
    with book.locked(), lock.of_disk(name, "%s: setup or off of it is at work" % name):
        try:
            return setup(disk)
        except (ToolError, OSError, KeyboardInterrupt):
            print("freeblock: %s is set up in part: freeblock setup /dev/%s continues, freeblock "
                  "off /dev/%s puts everything back" % (name, name, name), file=sys.stderr)
            raise
